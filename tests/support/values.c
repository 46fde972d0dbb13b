#include "tests/support/values.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static double special_float(test_random *random, laze_dtype dtype) {
  if (!laze_dtype_is_float(dtype)) return 0;
  const int digits = laze_dtype_get(dtype)->digits, bias = laze_dtype_exponent_bias(dtype);
  const double smallest = ldexp(1, 1 - bias), tiny = ldexp(1, 2 - bias - digits);
  const double largest = ldexp(2 - ldexp(1, 1 - digits), bias);
  const double values[] = {NAN,          INFINITY,      -INFINITY, 0.0,      -0.0, tiny, -tiny, smallest / 2,
                           smallest,     -smallest,     largest,   -largest, 1.0,  -1.0, 0.5,   -0.5,
                           2147483647.0, -2147483648.0, 9.2e18,    -1e19,    1.5,  2.5,  3e9,   16777217.0};
  return values[test_random_below(random, sizeof values / sizeof *values)];
}

static int64_t special_integer(test_random *random, laze_dtype dtype) {
  const int64_t lowest = laze_dtype_lowest(dtype).value.integer, highest = laze_dtype_highest(dtype).value.integer;
  const int64_t values[] = {0, 1, -1, lowest, highest, lowest + 1, highest - 1, 2, -2, 63, 64, 31, 32, 1 << 24, 65536};
  return values[test_random_below(random, sizeof values / sizeof *values)];
}

static double ordinary_float(test_random *random, const test_range *range) {
  /* Whole and half numbers among the others: ties, equal operands, exact zeros.
   */
  if (test_random_one_in(random, 4)) {
    double whole = floor(range->low + test_random_unit(random) * (range->high - range->low));
    return whole < range->low ? range->low : whole;
  }
  return range->low + test_random_unit(random) * (range->high - range->low);
}

static void store(laze_dtype dtype, void *data, int64_t index, double real, int64_t integer) {
  laze_scalar value = laze_scalar_integer(integer);
  if (laze_dtype_is_float(dtype)) value = laze_scalar_real(real);
  if (dtype == LAZE_BOOL) value = laze_scalar_boolean(integer & 1);
  laze_scalar_store(value, dtype, data, index);
}

static void fill_element(test_random *random, laze_dtype dtype, const test_range *range, void *data, int64_t index) {
  bool special = range->special && test_random_one_in(random, 4);
  double real = special ? special_float(random, dtype) : ordinary_float(random, range);
  int64_t integer = special ? special_integer(random, dtype) : test_random_below(random, 21) - 10;
  if (range->below) integer = test_random_below(random, 2 * range->below) - range->below;
  store(dtype, data, index, real, integer);
}

/* Of complex numbers each part is drawn by itself. */
void test_fill(test_random *random, laze_dtype dtype, const test_range *range, void *data, int64_t count) {
  const laze_dtype part = laze_dtype_part(dtype);
  for (int64_t i = 0; i < (part == dtype ? count : 2 * count); i++) fill_element(random, part, range, data, i);
}

bool test_same_bits(laze_dtype dtype, const void *a, const void *b) {
  if (memcmp(a, b, (size_t)laze_dtype_size(dtype)) == 0) return true;
  const laze_dtype part = laze_dtype_part(dtype);
  if (part != dtype)
    return test_same_bits(part, a, b) &&
           test_same_bits(part, (const char *)a + laze_dtype_size(part), (const char *)b + laze_dtype_size(part));
  if (!laze_dtype_is_float(dtype)) return false;
  return isnan(test_element_as_double(dtype, a)) && isnan(test_element_as_double(dtype, b));
}

int64_t test_first_difference(laze_dtype dtype, const void *a, const void *b, int64_t count) {
  int64_t size = laze_dtype_size(dtype);
  for (int64_t i = 0; i < count; i++)
    if (!test_same_bits(dtype, (const char *)a + i * size, (const char *)b + i * size)) return i;
  return -1;
}

double test_element_as_double(laze_dtype dtype, const void *element) {
  return laze_scalar_as_real(laze_scalar_load(dtype, element, 0));
}

const char *test_element_text(laze_dtype dtype, const void *element, char buffer[64]) {
  uint64_t bits = 0;
  const laze_scalar value = laze_scalar_load(dtype, element, 0);
  if (laze_dtype_is_complex(dtype)) {
    snprintf(buffer, 64, "%.17g%+.17gj", value.value.real, value.imaginary);
    return buffer;
  }
  memcpy(&bits, element, (size_t)laze_dtype_size(dtype));
  if (laze_dtype_is_float(dtype))
    snprintf(buffer, 64, "%.17g (0x%" PRIx64 ")", test_element_as_double(dtype, element), bits);
  else
    snprintf(buffer, 64, "%" PRId64, value.value.integer);
  return buffer;
}

double test_ulp_distance(laze_dtype dtype, long double got, long double exact) {
  const int digits = laze_dtype_get(dtype)->digits, bias = laze_dtype_exponent_bias(dtype);
  const long double top = ldexpl(1, bias + 1);
  if (isnan(exact) || isnan(got)) return isnan(exact) && isnan(got) ? 0 : INFINITY;
  if (!signbit(got) != !signbit(exact)) return INFINITY;
  if (got == exact) return 0;
  if (exact == 0 || isinf(exact)) return INFINITY;
  if (fabsl(exact) > top) exact = copysignl(top, exact);
  if (isinf(got)) got = copysignl(top, got);
  int exponent = ilogbl(exact) - (fabsl(exact) == top) - (digits - 1);
  if (exponent < 2 - bias - digits) exponent = 2 - bias - digits; /* subnormal */
  return (double)(fabsl(got - exact) / ldexpl(1, exponent));
}
