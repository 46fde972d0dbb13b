/* Movement, indexing and creation on the interpreter. */
#include "tests/unit/codegen/interp_support.h"

#include <string.h>

static lab l;
static void setup(void) {
  lab_open(&l);
}
static void teardown(void) {
  lab_close(&l);
}

static laze_value counting(int rank, const int64_t *dims) {
  static int32_t data[256];
  for (int i = 0; i < 256; i++) data[i] = i;
  return lab_input(&l, LAZE_I32, rank, dims, data);
}

static laze_value with_sizes(const char *name, laze_value a, const laze_size *sizes, int count) {
  laze_attribute attribute = laze_attribute_sizes(sizes, count);
  return lab_call(&l, name, &a, 1, &attribute);
}

START_TEST(expands) {
  lab_run(&l, with_sizes("expand", counting(DIMS(2, 1)), SIZES(2, -1, 3), 3));
  lab_expect_dims(&l, DIMS(2, 2, 3));
  lab_expect(&l, int32_t, 0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1);
}
END_TEST

START_TEST(permutes) {
  laze_attribute dims = laze_attribute_integers(SIZES(2, 0, -2), 3);
  laze_value a = counting(DIMS(2, 2, 3));
  lab_run(&l, lab_call(&l, "permute", &a, 1, &dims));
  lab_expect_dims(&l, DIMS(3, 2, 2));
  lab_expect(&l, int32_t, 0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11);
}
END_TEST

START_TEST(reshapes) {
  lab_run(&l, with_sizes("reshape", counting(DIMS(2, 3)), SIZES(3, -1), 2));
  lab_expect_dims(&l, DIMS(3, 2));
  lab_expect(&l, int32_t, 0, 1, 2, 3, 4, 5);
}
END_TEST

static laze_value slice(laze_value a, int64_t dim, laze_size start, laze_size end, int64_t step) {
  laze_attribute attributes[] = {laze_attribute_integer(dim), laze_attribute_size(start), laze_attribute_size(end),
                                 laze_attribute_integer(step)};
  return lab_call(&l, "slice.Tensor", &a, 1, attributes);
}

/* Ends count from the back and are cut to the axis, as in Python. */
START_TEST(slices) {
  laze_value a = counting(DIMS(3, 5));
  lab_run(&l, slice(a, 1, 1, -1, 2));
  lab_expect(&l, int32_t, 1, 3, 6, 8, 11, 13);
  lab_run(&l, slice(a, 0, -2, 100, 1));
  lab_expect(&l, int32_t, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14);
  lab_run(&l, slice(a, 1, -100, 1, 1));
  lab_expect(&l, int32_t, 0, 5, 10);
  lab_run(&l, slice(a, 0, 7, 9, 1));
  ck_assert_int_eq(l.outputs[0]->size, 0);
}
END_TEST

START_TEST(joins) {
  laze_value parts[] = {counting(DIMS(2, 1)), counting(DIMS(2, 0)), counting(DIMS(2, 2))};
  laze_attribute dim = laze_attribute_integer(-1);
  lab_run(&l, lab_call(&l, "cat", parts, 3, &dim));
  lab_expect_dims(&l, DIMS(2, 3));
  lab_expect(&l, int32_t, 0, 0, 1, 1, 2, 3);
  laze_value mixed[] = {counting(DIMS(1)), lab_input(&l, LAZE_F32, DIMS(1), (float[]){0.5f})};
  lab_run(&l, lab_call(&l, "cat", mixed, 2, NULL));
  lab_expect(&l, float, 0, 0.5f);
}
END_TEST

START_TEST(gathers) {
  laze_value a = counting(DIMS(2, 3)), index = lab_input(&l, LAZE_I64, DIMS(2, 2), (int64_t[]){2, 0, -1, 1});
  laze_attribute dim = laze_attribute_integer(1);
  lab_run(&l, lab_call(&l, "gather", (laze_value[]){a, index}, 2, &dim));
  lab_expect(&l, int32_t, 2, 0, 5, 4);
}
END_TEST

START_TEST(selects_slices) {
  laze_value a = counting(DIMS(2, 3, 2)), index = lab_input(&l, LAZE_I64, DIMS(2), (int64_t[]){2, -3});
  laze_attribute dim = laze_attribute_integer(1);
  lab_run(&l, lab_call(&l, "index_select", (laze_value[]){a, index}, 2, &dim));
  lab_expect_dims(&l, DIMS(2, 2, 2));
  lab_expect(&l, int32_t, 4, 5, 0, 1, 10, 11, 6, 7);
}
END_TEST

/* The lowest bad position is reported, and nothing outside is read. */
START_TEST(reports_bad_indices) {
  laze_value a = counting(DIMS(3)), index = lab_input(&l, LAZE_I64, DIMS(4), (int64_t[]){0, 3, -4, 1});
  laze_value out =
      lab_call(&l, "index_select", (laze_value[]){a, index}, 2, (laze_attribute[]){laze_attribute_integer(0)});
  ck_assert_int_eq(lab_try_run(&l, &out, 1), LAZE_OUT_OF_RANGE);
  ck_assert_ptr_nonnull(strstr(l.error.message, "index 3"));
  ck_assert_ptr_nonnull(strstr(l.error.message, "position 1"));
}
END_TEST

START_TEST(reports_indices_into_nothing) {
  laze_value a = counting(DIMS(0, 2)), index = lab_input(&l, LAZE_I64, DIMS(1), (int64_t[]){0});
  laze_value out =
      lab_call(&l, "index_select", (laze_value[]){a, index}, 2, (laze_attribute[]){laze_attribute_integer(0)});
  ck_assert_int_eq(lab_try_run(&l, &out, 1), LAZE_OUT_OF_RANGE);
}
END_TEST

START_TEST(counts) {
  laze_attribute attributes[] = {laze_attribute_sizes(SIZES(2, 3), 2), laze_attribute_integer(1),
                                 laze_attribute_dtype(LAZE_F32)};
  lab_run(&l, lab_call(&l, "iota", NULL, 0, attributes));
  lab_expect(&l, float, 0, 1, 2, 0, 1, 2);
  laze_attribute size[] = {laze_attribute_size(12), laze_attribute_dtype(LAZE_F64)};
  lab_run(&l, lab_call(&l, "size_tensor", NULL, 0, size));
  lab_expect(&l, double, 12);
}
END_TEST

/* An input, a constant and a repeated result are outputs too. */
START_TEST(outputs_may_be_anything) {
  laze_value a = counting(DIMS(2)), b, sum;
  ck_assert_int_eq(laze_record_number(&l.builder.recorder, LAZE_I32, laze_scalar_integer(5), &b, &l.error), LAZE_OK);
  sum = lab_binary(&l, "add.Tensor", a, b);
  ck_assert_int_eq(lab_try_run(&l, (laze_value[]){sum, a, b, sum}, 4), LAZE_OK);
  lab_expect(&l, int32_t, 5, 6);
  ck_assert_int_eq(((int32_t *)l.outputs[1]->data)[1], 1);
  ck_assert_int_eq(((int32_t *)l.outputs[2]->data)[0], 5);
  ck_assert_int_eq(((int32_t *)l.outputs[3]->data)[1], 6);
}
END_TEST

int main(void) {
  const TTest *const tests[] = {expands,
                                permutes,
                                reshapes,
                                slices,
                                joins,
                                gathers,
                                selects_slices,
                                counts,
                                reports_bad_indices,
                                reports_indices_into_nothing,
                                outputs_may_be_anything};
  return lab_main("interp_movement", setup, teardown, tests, (int)(sizeof tests / sizeof *tests));
}
