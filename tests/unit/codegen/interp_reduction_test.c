/* Reductions on the interpreter: the named orders to the bit, against a second implementation that takes one element at
 * a time and follows the words of codegen/order.h. */
#include "tests/support/order_sums.h"
#include "tests/unit/codegen/interp_support.h"

#include <math.h>
#include <string.h>
#include <stdlib.h>

static lab l;
static void setup(void) {
  lab_open(&l);
}
static void teardown(void) {
  lab_close(&l);
}

/* Numbers whose sum depends on the order. */
static float noise(int i) {
  return (float)((i * 7919 + 13) % 1009) * 0.37f - 150.0f + 1.0f / (float)(i + 1);
}

static laze_value noise_input(int rank, const int64_t *dims, float **data) {
  int64_t count = 1;
  for (int i = 0; i < rank; i++) count *= dims[i];
  *data = malloc((size_t)count * sizeof **data);
  for (int i = 0; i < count; i++) (*data)[i] = noise(i);
  return lab_input(&l, LAZE_F32, rank, dims, *data);
}

static laze_value reduce(const char *name, laze_value a, const laze_size *dims, int count, bool keepdim) {
  laze_attribute attributes[] = {laze_attribute_integers(dims, count), laze_attribute_boolean(keepdim),
                                 laze_attribute_absent(LAZE_ARGUMENT_DTYPE)};
  return lab_call(&l, name, &a, 1, attributes);
}

/* One block, whole ones, and trees that are not balanced; 16 does not divide 5001 evenly. */
START_TEST(lanes_over_blocks) {
  static const int counts[] = {2047, 2048, 2049, 4096, 5001, 8193, 14336, 22529, 40000};
  for (int i = 0; i < 9; i++) {
    float *x;
    laze_value a = noise_input(DIMS(counts[i]), &x);
    lab_run(&l, reduce("sum.dim_IntList", a, SIZES(0), 1, false));
    lab_expect(&l, float, test_sum_lanes(x, (test_layout){1, 0, counts[i], 1}));
    free(x);
  }
}
END_TEST

START_TEST(lanes_for_each_row) {
  float *x;
  laze_value a = noise_input(DIMS(3, 37), &x);
  lab_run(&l, reduce("sum.dim_IntList", a, SIZES(-1), 1, true));
  lab_expect_dims(&l, DIMS(3, 1));
  test_layout row = {1, 0, 37, 1};
  lab_expect(&l, float, test_sum_lanes(x, row), test_sum_lanes(x + 37, row), test_sum_lanes(x + 74, row));
  free(x);
}
END_TEST

/* Reduced axes around a kept one: the first is an outer loop of the lanes. */
START_TEST(lanes_within_an_outer_run) {
  float *x;
  laze_value a = noise_input(DIMS(4, 2, 21), &x);
  lab_run(&l, reduce("sum.dim_IntList", a, SIZES(0, 2), 2, false));
  test_layout at = {4, 42, 21, 1};
  lab_expect(&l, float, test_sum_lanes(x, at), test_sum_lanes(x + 21, at));
  free(x);
}
END_TEST

/* Blocks go on from one run to the next, and end inside a run: each takes 128 places here, or 2080. */
START_TEST(blocks_go_on_over_runs) {
  float *x;
  laze_value a = noise_input(DIMS(37, 2, 100), &x);
  lab_run(&l, reduce("sum.dim_IntList", a, SIZES(0, 2), 2, false));
  test_layout at = {37, 200, 100, 1};
  lab_expect(&l, float, test_sum_lanes(x, at), test_sum_lanes(x + 100, at));
  free(x);
  laze_value b = noise_input(DIMS(5, 2, 2050), &x);
  lab_run(&l, reduce("sum.dim_IntList", b, SIZES(0, 2), 2, false));
  test_layout wide = {5, 4100, 2050, 1};
  lab_expect(&l, float, test_sum_lanes(x, wide), test_sum_lanes(x + 2050, wide));
  free(x);
}
END_TEST

/* The kept axis between has size 1, so both reduced axes are one run of 63. */
START_TEST(axes_of_size_one_do_not_count) {
  float *x;
  laze_value a = noise_input(DIMS(3, 1, 21), &x);
  lab_run(&l, reduce("sum.dim_IntList", a, SIZES(0, 2), 2, false));
  lab_expect(&l, float, test_sum_lanes(x, (test_layout){1, 0, 63, 1}));
  free(x);
  laze_value b = noise_input(DIMS(2, 150, 1), &x);
  lab_run(&l, reduce("sum.dim_IntList", b, SIZES(1), 1, false));
  test_layout row = {1, 0, 150, 1};
  lab_expect(&l, float, test_sum_lanes(x, row), test_sum_lanes(x + 150, row));
  free(x);
}
END_TEST

/* More rows than a block, more columns than the interpreter takes at once. */
START_TEST(rows_side_by_side) {
  enum { COLUMNS = 300 };
  static const int rows[] = {64, 65, 128, 131, 400};
  for (int k = 0; k < 5; k++) {
    float *x, wanted[COLUMNS];
    laze_value a = noise_input(DIMS(rows[k], COLUMNS), &x);
    lab_run(&l, reduce("sum.dim_IntList", a, SIZES(0), 1, false));
    for (int i = 0; i < COLUMNS; i++) wanted[i] = test_sum_rows(x + i, (test_layout){1, 0, rows[k], COLUMNS});
    lab_expect_bytes(&l, wanted, sizeof wanted);
    free(x);
  }
}
END_TEST

START_TEST(rows_within_an_outer_run) {
  float *x, wanted[6];
  laze_value a = noise_input(DIMS(5, 2, 70, 3), &x);
  lab_run(&l, reduce("sum.dim_IntList", a, SIZES(0, 2), 2, false));
  lab_expect_dims(&l, DIMS(2, 3));
  for (int i = 0; i < 6; i++) wanted[i] = test_sum_rows(x + i / 3 * 210 + i % 3, (test_layout){5, 420, 70, 3});
  lab_expect_bytes(&l, wanted, sizeof wanted);
  free(x);
}
END_TEST

START_TEST(nothing_to_reduce) {
  laze_value one = lab_input(&l, LAZE_F32, DIMS(3, 1), (float[]){1, 2, 3});
  lab_run(&l, reduce("sum.dim_IntList", one, SIZES(1), 1, false));
  lab_expect(&l, float, 1, 2, 3);
  laze_value scalar = lab_input(&l, LAZE_F32, NO_DIMS, (float[]){4});
  lab_run(&l, reduce("prod.dims", scalar, NULL, 0, false));
  lab_expect(&l, float, 4);
}
END_TEST

/* Reducing no elements gives what the reduction starts from; keeping none gives nothing. */
START_TEST(no_elements) {
  laze_value a = lab_input(&l, LAZE_F32, DIMS(2, 0), NULL);
  lab_run(&l, reduce("sum.dim_IntList", a, SIZES(1), 1, false));
  lab_expect(&l, float, 0, 0);
  lab_run(&l, reduce("prod.dims", a, SIZES(1), 1, false));
  lab_expect(&l, float, 1, 1);
  lab_run(&l, reduce("sum.dim_IntList", a, SIZES(0), 1, false));
  ck_assert_int_eq(l.outputs[0]->size, 0);
}
END_TEST

/* Integers and bool are summed in i64, so that a sum of many small numbers does not wrap. */
START_TEST(integers_are_widened) {
  laze_value a = lab_input(&l, LAZE_I32, DIMS(2), (int32_t[]){INT32_MAX, INT32_MAX});
  lab_run(&l, lab_unary(&l, "sum", a));
  lab_expect(&l, int64_t, 2ll * INT32_MAX);
  laze_value b = lab_input(&l, LAZE_BOOL, DIMS(3), (uint8_t[]){1, 0, 1});
  lab_run(&l, lab_unary(&l, "sum", b));
  lab_expect(&l, int64_t, 2);
}
END_TEST

START_TEST(extremes_and_logic) {
  laze_value a = lab_input(&l, LAZE_F32, DIMS(2, 3), (float[]){1, NAN, 3, -1, -7, -2});
  laze_attribute last[] = {laze_attribute_integers(SIZES(1), 1), laze_attribute_boolean(false)};
  const float *got = lab_run(&l, lab_call(&l, "amax", &a, 1, last));
  ck_assert(isnan(got[0]) && got[1] == -1);
  laze_value b = lab_input(&l, LAZE_F32, DIMS(2, 2), (float[]){0, 0, 0, -0.5f});
  lab_run(&l, lab_call(&l, "any.dims", &b, 1, last));
  lab_expect(&l, uint8_t, 0, 1);
  lab_run(&l, lab_unary(&l, "all", b));
  lab_expect(&l, uint8_t, 0);
}
END_TEST

int main(void) {
  const TTest *const tests[] = {lanes_over_blocks,
                                lanes_for_each_row,
                                lanes_within_an_outer_run,
                                axes_of_size_one_do_not_count,
                                blocks_go_on_over_runs,
                                rows_side_by_side,
                                rows_within_an_outer_run,
                                nothing_to_reduce,
                                no_elements,
                                integers_are_widened,
                                extremes_and_logic};
  return lab_main("interp_reduction", setup, teardown, tests, (int)(sizeof tests / sizeof *tests));
}
