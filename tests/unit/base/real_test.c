/* Numbers in text under a locale that writes a decimal comma: a program that calls setlocale() must read graphs and
 * caches that others wrote, and print what they can read. */
#include "base/real.h"

#include "base/text.h"
#include "tests/support/suite.h"

#include <check.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* LC_NUMERIC of a locale with decimal comma, as localedef writes it; few machines have one installed. */
static const unsigned char comma_numeric[] = {
    0x14, 0x11, 0x03, 0x20, 6,   0, 0,    0, 0x20, 0, 0,    0, 0x22, 0,   0,   0,   0x24, 0,
    0,    0,    0x28, 0,    0,   0, 0x2c, 0, 0,    0, 0x30, 0, 0,    0,   ',', 0,   '.',  0,
    3,    3,    0,    0,    ',', 0, 0,    0, '.',  0, 0,    0, 'U',  'T', 'F', '-', '8',  0,
};

static char folder[] = "/tmp/laze-locale-XXXXXX";

/* False where the C library has other locale files; it then has no decimal comma to be wrong about. */
static bool use_decimal_comma(void) {
  char path[80];
  ck_assert_ptr_nonnull(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/comma", folder);
  ck_assert_int_eq(mkdir(path, 0700), 0);
  snprintf(path, sizeof path, "%s/comma/LC_NUMERIC", folder);
  FILE *file = fopen(path, "wb");
  ck_assert_ptr_nonnull(file);
  ck_assert_uint_eq(fwrite(comma_numeric, 1, sizeof comma_numeric, file), sizeof comma_numeric);
  ck_assert_int_eq(fclose(file), 0);
  setenv("LOCPATH", folder, 1);
  bool found = setlocale(LC_NUMERIC, "comma") != NULL;
  unlink(path);
  snprintf(path, sizeof path, "%s/comma", folder);
  rmdir(path);
  rmdir(folder);
  return found;
}

START_TEST(a_decimal_comma_of_the_program_does_not_reach_numbers) {
  char digits[40], *end;
  if (use_decimal_comma()) { /* it is a decimal comma: the test would pass without one */
    snprintf(digits, sizeof digits, "%.1f", 0.5);
    ck_assert_str_eq(digits, "0,5");
  }
  laze_real_format(digits, sizeof digits, 'g', 3, -1.25);
  ck_assert_str_eq(digits, "-1.25");
  laze_real_format(digits, sizeof digits, 'e', 3, -1.25);
  ck_assert_str_eq(digits, "-1.250e+00");
  laze_real_format(digits, sizeof digits, 'f', 3, -1.25);
  ck_assert_str_eq(digits, "-1.250");
  ck_assert_double_eq(laze_real_parse(LAZE_F64, "2.5,", &end), 2.5);
  ck_assert_str_eq(end, ",");
  ck_assert_double_eq(laze_real_parse(LAZE_F32, "-0.125]", &end), -0.125);
  ck_assert_str_eq(end, "]");
  laze_text text;
  laze_text_init(&text, laze_context_default());
  laze_text_append_scalar(&text, LAZE_F64, laze_scalar_real(0.1));
  ck_assert_str_eq(laze_text_get(&text), "0.1");
  laze_text_deinit(&text);
  /* The program's own locale is back. */
  ck_assert_str_eq(setlocale(LC_NUMERIC, NULL), strcmp(localeconv()->decimal_point, ",") == 0 ? "comma" : "C");
}
END_TEST

int main(void) {
  Suite *suite = suite_create("reals in text");
  TCase *tests = tcase_create("locale");
  tcase_add_test(tests, a_decimal_comma_of_the_program_does_not_reach_numbers);
  suite_add_tcase(suite, tests);
  return test_run_suite(suite);
}
