#include "base/real.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>

/* The calling thread's locale while a number is converted. In the C library of GNU the "C" locale is a constant. */
typedef struct {
  locale_t plain, before;
} locale_scope;

static locale_scope enter_plain_locale(void) {
  locale_scope scope = {.plain = newlocale(LC_ALL_MASK, "C", (locale_t)0)};
  if (scope.plain) scope.before = uselocale(scope.plain);
  return scope;
}

static void leave_plain_locale(locale_scope scope) {
  if (!scope.plain) return;
  uselocale(scope.before);
  freelocale(scope.plain);
}

void laze_real_format(char *buffer, size_t size, int precision, double value) {
  locale_scope scope = enter_plain_locale();
  snprintf(buffer, size, "%.*g", precision, value);
  leave_plain_locale(scope);
}

float laze_real_parse_f32(const char *text, char **end) {
  locale_scope scope = enter_plain_locale();
  float value = strtof(text, end);
  leave_plain_locale(scope);
  return value;
}

double laze_real_parse_f64(const char *text, char **end) {
  locale_scope scope = enter_plain_locale();
  double value = strtod(text, end);
  leave_plain_locale(scope);
  return value;
}
