#include "base/dtype.h"

#include "tests/unit/base/base_test.h"

#include <math.h>

/* Names go both ways: text forms and command lines depend on it. */
START_TEST(names_round_trip) {
  static const laze_dtype all[] = {LAZE_BOOL, LAZE_I32, LAZE_I64, LAZE_F32, LAZE_F64};
  static const int64_t sizes[] = {1, 4, 8, 4, 8};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    ck_assert_int_eq(laze_dtype_find(laze_dtype_name(all[i])), all[i]);
    ck_assert_int_eq(laze_dtype_size(all[i]), sizes[i]);
  }
  ck_assert_int_eq(laze_dtype_find("f31"), LAZE_DTYPE_NONE);
  ck_assert_int_eq(laze_dtype_find(NULL), LAZE_DTYPE_NONE);
  ck_assert_str_eq(laze_dtype_name(-1), "none");
  ck_assert_int_eq(laze_dtype_size(99), 0);
}
END_TEST

/* C leaves conversions out of range undefined; here each has one answer. */
START_TEST(conversions_out_of_range) {
  static const struct {
    double value;
    int64_t as32, as64;
  } cases[] = {
      {NAN, INT32_MIN, INT64_MIN},
      {INFINITY, INT32_MIN, INT64_MIN},
      {-INFINITY, INT32_MIN, INT64_MIN},
      {2147483648.0, INT32_MIN, 2147483648},
      {2147483647.5, 2147483647, 2147483647},
      {-2147483648.9, -2147483648LL, -2147483648LL},
      {-2147483649.0, INT32_MIN, -2147483649LL},
      {9223372036854775808.0, INT32_MIN, INT64_MIN},
      {-1.9, -1, -1},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    ck_assert_int_eq(laze_convert_to_integer(cases[i].value, 32), cases[i].as32);
    ck_assert_int_eq(laze_convert_to_integer(cases[i].value, 64), cases[i].as64);
  }
}
END_TEST

/* An i64 scalar stored as f32 rounds once: through double it would round twice. */
START_TEST(integers_round_once) {
  int64_t value = (INT64_C(1) << 60) + (INT64_C(1) << 36) + 1; /* just above the middle of two floats */
  float stored;
  laze_scalar_store(laze_scalar_integer(value), LAZE_F32, &stored, 0);
  ck_assert(stored == (float)value);
  ck_assert(stored != (float)(double)value);
}
END_TEST

/* Equality is of bits: folding must not take -0.0 for 0.0, and may take a NaN for itself. */
START_TEST(scalars_compare_in_bits) {
  ck_assert(!laze_scalar_equal(laze_scalar_real(0.0), laze_scalar_real(-0.0)));
  ck_assert(laze_scalar_equal(laze_scalar_real(NAN), laze_scalar_real(NAN)));
  ck_assert(!laze_scalar_equal(laze_scalar_integer(1), laze_scalar_boolean(1)));
}
END_TEST

int main(void) {
  return RUN_SUITE("dtype", names_round_trip, conversions_out_of_range, integers_round_once, scalars_compare_in_bits);
}
