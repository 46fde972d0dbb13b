/* The sorting kernel against a sort of pairs by the C library, over widths, lengths around those where its way of
 * sorting changes, and strides. */
#include "runtime/sort_kernel.h"

#include "base/dtype.h"
#include "tests/support/suite.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  double real;
  int64_t integer, place;
} pair;

static bool of_floats, above_signed, descending; /* above_signed: u64, whose bits order as unsigned */

static int compare_values(const pair *a, const pair *b) {
  if (above_signed)
    return ((uint64_t)a->integer > (uint64_t)b->integer) - ((uint64_t)a->integer < (uint64_t)b->integer);
  if (!of_floats) return (a->integer > b->integer) - (a->integer < b->integer);
  if (isnan(a->real) || isnan(b->real)) return !!isnan(a->real) - !!isnan(b->real);
  return (a->real > b->real) - (a->real < b->real);
}

static int compare(const void *x, const void *y) {
  const pair *a = x, *b = y;
  int order = descending ? compare_values(b, a) : compare_values(a, b);
  return order ? order : (a->place > b->place) - (a->place < b->place);
}

/* Numbers of all sizes with many equal ones, zeros of both signs, NaNs and the ends of the dtype. */
static void fill(laze_dtype dtype, char *data, int64_t count) {
  uint64_t state = 88172645463325252u;
  for (int64_t i = 0; i < count; i++) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    laze_scalar scalar = laze_scalar_integer((int64_t)(state >> (state % 64)) * (state % 3 ? 1 : -1));
    if (state % 11 == 0) scalar = laze_dtype_lowest(dtype);
    if (state % 13 == 0) scalar = laze_dtype_highest(dtype);
    if (laze_dtype_is_float(dtype)) {
      static const double some[] = {0.0, -0.0, 1e-40, -1e-300, 0.5, -3.75};
      if (state % 5 == 0) scalar = laze_scalar_real(some[state % 6]);
      if (state % 17 == 0) scalar = laze_scalar_real(state % 2 ? (double)NAN : -(double)NAN);
    }
    laze_scalar_store(scalar, dtype, data, i);
  }
}

enum { LONGEST = 5000, MOST = 10100 };
static char data[MOST * 8], values[MOST * 8];
static int64_t places[MOST];
static uint64_t scratch[LONGEST * LAZE_SORT_SCRATCH / 8];
static pair expected[LONGEST];

/* A row, and the first `kept` of its order from `kept_first` on. */
typedef struct {
  int64_t first, count, kept_first, kept, stride;
} test_row;

static void check_row(laze_dtype dtype, test_row row, bool with_places) {
  int64_t size = laze_dtype_size(dtype);
  for (int64_t i = 0; i < row.count; i++) {
    laze_scalar scalar = laze_scalar_load(dtype, data, row.first + i * row.stride);
    expected[i] = (pair){of_floats ? scalar.value.real : 0, of_floats ? 0 : scalar.value.integer, i};
  }
  qsort(expected, (size_t)row.count, sizeof *expected, compare);
  for (int64_t i = 0; i < row.kept; i++) {
    int64_t at = row.kept_first + i * row.stride, from = row.first + expected[i].place * row.stride;
    ck_assert_msg(!with_places || places[at] == expected[i].place,
                  "%s, %d of %d elements %d apart: place %d is %d, expected %d", laze_dtype_name(dtype), (int)row.kept,
                  (int)row.count, (int)row.stride, (int)i, (int)places[at], (int)expected[i].place);
    ck_assert_int_eq(memcmp(values + at * size, data + from * size, (size_t)size), 0);
  }
}

static void check_sort(laze_context *context, laze_dtype dtype, int64_t outer, int64_t count, int64_t stride,
                       int64_t kept, bool with_places) {
  laze_kernel *kernel;
  const int64_t sizes[] = {count, stride, kept}, rows = outer * stride, middle = rows / 2;
  void *buffers[] = {data, values, places};
  ck_assert_int_le(outer * count * stride, MOST);
  ck_assert_int_eq(laze_sort_kernel_create(context, dtype, descending, with_places, &kernel, NULL), LAZE_OK);
  fill(dtype, data, outer * count * stride);
  const laze_kernel_arguments arguments = {buffers, sizes, NULL, kernel->closure, NULL, NULL};
  kernel->function(&arguments, middle, rows, scratch); /* as threads share rows */
  kernel->function(&arguments, 0, middle, scratch);
  for (int64_t row = 0; row < rows; row++) {
    int64_t before = row / stride * stride, inner = row % stride;
    check_row(dtype, (test_row){before * count + inner, count, before * kept + inner, kept, stride}, with_places);
  }
  laze_kernel_release(kernel);
}

static const laze_dtype dtypes[] = {LAZE_BOOL, LAZE_I8,  LAZE_U8,  LAZE_I16,  LAZE_I32, LAZE_I64, LAZE_U16,
                                    LAZE_U32,  LAZE_U64, LAZE_F16, LAZE_BF16, LAZE_F32, LAZE_F64};

/* A test of its own for each dtype: each has seconds. */
START_TEST(sorts) {
  static const int64_t counts[] = {0,  1,  2,  3,  8,   9,   16,  17,  32,  33,     39,
                                   40, 41, 64, 65, 128, 129, 255, 256, 257, LONGEST};
  const laze_dtype dtype = dtypes[_i];
  laze_context *context;
  ck_assert_int_eq(laze_context_create(NULL, &context, NULL), LAZE_OK);
  of_floats = laze_dtype_is_float(dtype);
  above_signed = dtype == LAZE_U64;
  for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
    for (int down = 0; down < 2; down++) {
      descending = down;
      /* All of a row, its head, and as little of a long one as candidates are looked for. */
      const int64_t kept[] = {counts[c], (counts[c] + 1) / 2, counts[c] / 9, counts[c] > 0};
      for (int k = 0; k < 4; k++) {
        for (int with_places = 0; with_places < 2; with_places++)
          check_sort(context, dtype, 2, counts[c], 1, kept[k], with_places != 0);
        if (counts[c] < 300) check_sort(context, dtype, 3, counts[c], 5, kept[k], true);
      }
    }
  laze_context_release(context);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("sort kernel");
  TCase *tests = tcase_create("sorts");
  tcase_add_loop_test(tests, sorts, 0, (int)(sizeof dtypes / sizeof *dtypes));
  suite_add_tcase(suite, tests);
  return test_run_suite(suite);
}
