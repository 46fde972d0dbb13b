/* Conversion between reals and text in the "C" locale, whatever the program has chosen. */
#include "base/real.h"

#include "base/dtype_table.h"
#include "base/half.h"

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

void laze_real_format(char *buffer, size_t size, char conversion, int precision, double value) {
  locale_scope scope = enter_plain_locale();
  const char *format = conversion == 'e' ? "%.*e" : conversion == 'f' ? "%.*f" : "%.*g";
  snprintf(buffer, size, format, precision, value);
  leave_plain_locale(scope);
}

/* Straight to the dtype's own type: through double a float would be rounded twice. */
#define PARSE_BOOL(id, c_type)
#define PARSE_SIGNED(id, c_type)
#define PARSE_UNSIGNED(id, c_type)
#define PARSE_FLOAT(id, c_type) value = _Generic((c_type)0, float : strtof, double : strtod)(text, end)
#define PARSE_COMPLEX(id, c_type)
#define PARSE_HALF(id, c_type) value = (double)laze_half_load_##id(laze_half_store_##id(strtof(text, end)))
#define PARSE(with, id, name, kind, bits, digits, c_type, ...)                                                         \
  case LAZE_##id: PARSE_##kind(id, c_type); break;

double laze_real_parse(laze_dtype dtype, const char *text, char **end) {
  locale_scope scope = enter_plain_locale();
  double value = 0;
  if (end) *end = (char *)text;
  switch (dtype) { LAZE_DTYPES(PARSE, ) }
  leave_plain_locale(scope);
  return value;
}
