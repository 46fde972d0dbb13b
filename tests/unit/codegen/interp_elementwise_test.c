/* Elementwise operators on the interpreter: what they mean at the edges, broadcasting, and promotion. */
#include "tests/unit/codegen/interp_support.h"

#include <math.h>
#include <string.h>

static lab l;
static void setup(void) {
  lab_open(&l);
}
static void teardown(void) {
  lab_close(&l);
}

static laze_value f32s(int count, const float *data) {
  return lab_input(&l, LAZE_F32, DIMS(count), data);
}
static laze_value i32s(int count, const int32_t *data) {
  return lab_input(&l, LAZE_I32, DIMS(count), data);
}
static laze_value i64s(int count, const int64_t *data) {
  return lab_input(&l, LAZE_I64, DIMS(count), data);
}
static laze_value bools(int count, const uint8_t *data) {
  return lab_input(&l, LAZE_BOOL, DIMS(count), data);
}

/* Integers wrap: overflow must neither trap nor depend on optimisation. */
START_TEST(integers_wrap) {
  laze_value a = i32s(3, (int32_t[]){INT32_MAX, INT32_MIN, 70000}), b = i32s(3, (int32_t[]){1, -1, 70000});
  lab_run(&l, lab_binary(&l, "add.Tensor", a, b));
  lab_expect(&l, int32_t, INT32_MIN, INT32_MAX, 140000);
  lab_run(&l, lab_binary(&l, "mul.Tensor", a, b));
  lab_expect(&l, int32_t, INT32_MAX, INT32_MIN, 605032704);
  lab_run(&l, lab_unary(&l, "neg", a));
  lab_expect(&l, int32_t, -INT32_MAX, INT32_MIN, -70000);
}
END_TEST

/* No division traps: by zero gives 0, and the lowest integer divided by -1 stays itself. */
START_TEST(integer_division) {
  laze_value a = i64s(5, (int64_t[]){7, -7, 7, 5, INT64_MIN}), b = i64s(5, (int64_t[]){2, 2, -2, 0, -1});
  lab_run(&l, lab_binary(&l, "floor_divide", a, b));
  lab_expect(&l, int64_t, 3, -4, -4, 0, INT64_MIN);
  lab_run(&l, lab_binary(&l, "trunc_divide", a, b));
  lab_expect(&l, int64_t, 3, -3, -3, 0, INT64_MIN);
  lab_run(&l, lab_binary(&l, "remainder.Tensor", a, b));
  lab_expect(&l, int64_t, 1, 1, -1, 0, 0);
  lab_run(&l, lab_binary(&l, "fmod.Tensor", a, b));
  lab_expect(&l, int64_t, 1, -1, 1, 0, 0);
}
END_TEST

START_TEST(integer_powers) {
  laze_value a = i64s(6, (int64_t[]){3, -2, 1, -1, 5, 0}), b = i64s(6, (int64_t[]){40, 3, -7, -3, -1, 0});
  lab_run(&l, lab_binary(&l, "pow.Tensor_Tensor", a, b));
  lab_expect(&l, int64_t, -6289078614652622815, -8, 1, -1, 0, 1);
}
END_TEST

/* A NaN on either side wins. */
START_TEST(nan_wins) {
  laze_value a = f32s(4, (float[]){NAN, 1, 2, -0.0f}), b = f32s(4, (float[]){1, NAN, 3, 0.0f});
  const float *got = lab_run(&l, lab_binary(&l, "maximum", a, b));
  ck_assert(isnan(got[0]) && isnan(got[1]) && got[2] == 3);
  got = lab_run(&l, lab_binary(&l, "minimum", a, b));
  ck_assert(isnan(got[0]) && isnan(got[1]) && got[2] == 2);
}
END_TEST

START_TEST(float_remainders) {
  laze_value a = f32s(4, (float[]){5.5f, -5.5f, 5.5f, -4.0f}), b = f32s(4, (float[]){2, 2, -2, 2});
  lab_run(&l, lab_binary(&l, "remainder.Tensor", a, b));
  lab_expect(&l, float, 1.5f, 0.5f, -0.5f, -0.0f);
  lab_run(&l, lab_binary(&l, "fmod.Tensor", a, b));
  lab_expect(&l, float, 1.5f, -1.5f, 1.5f, -0.0f);
}
END_TEST

START_TEST(shifts) {
  laze_value a = i32s(5, (int32_t[]){1, -8, 1, -1, 5}), b = i32s(5, (int32_t[]){4, 1, 32, 40, -1});
  lab_run(&l, lab_binary(&l, "bitwise_left_shift.Tensor", a, b));
  lab_expect(&l, int32_t, 16, -16, 0, 0, 0);
  lab_run(&l, lab_binary(&l, "bitwise_right_shift.Tensor", a, b));
  lab_expect(&l, int32_t, 0, -4, 0, -1, 0);
}
END_TEST

START_TEST(bools_are_logic) {
  laze_value a = bools(4, (uint8_t[]){0, 0, 1, 1}), b = bools(4, (uint8_t[]){0, 1, 0, 1});
  lab_run(&l, lab_binary(&l, "add.Tensor", a, b));
  lab_expect(&l, uint8_t, 0, 1, 1, 1);
  lab_run(&l, lab_binary(&l, "mul.Tensor", a, b));
  lab_expect(&l, uint8_t, 0, 0, 0, 1);
  lab_run(&l, lab_unary(&l, "logical_not", a));
  lab_expect(&l, uint8_t, 1, 1, 0, 0);
}
END_TEST

static laze_value convert(laze_value a, laze_dtype dtype) {
  laze_attribute attribute = laze_attribute_dtype(dtype);
  return lab_call(&l, "to.dtype", &a, 1, &attribute);
}

/* Truncation, with the lowest integer for what does not fit; a NaN is true. */
START_TEST(conversions) {
  laze_value a = f32s(6, (float[]){1.9f, -1.9f, NAN, 3e9f, -3e9f, 0.0f});
  lab_run(&l, convert(a, LAZE_I32));
  lab_expect(&l, int32_t, 1, -1, INT32_MIN, INT32_MIN, INT32_MIN, 0);
  lab_run(&l, convert(a, LAZE_I64));
  lab_expect(&l, int64_t, 1, -1, INT64_MIN, 3000000000, -3000000000, 0);
  lab_run(&l, convert(a, LAZE_BOOL));
  lab_expect(&l, uint8_t, 1, 1, 1, 1, 1, 0);
  laze_value wide = i64s(2, (int64_t[]){(1ll << 32) + 7, (1ll << 24) + 1});
  lab_run(&l, convert(wide, LAZE_I32));
  lab_expect(&l, int32_t, 7, (1 << 24) + 1);
  lab_run(&l, convert(wide, LAZE_F32));
  lab_expect(&l, float, 4294967296.0f, 16777216.0f);
}
END_TEST

/* Operands of different dtypes and shapes meet: [2,1] i32 with [3] f32 is [2,3] f32. */
START_TEST(broadcasts_and_promotes) {
  laze_value a = lab_input(&l, LAZE_I32, DIMS(2, 1), (int32_t[]){10, 20});
  laze_value b = lab_input(&l, LAZE_F32, DIMS(3), (float[]){0.5f, 1.5f, 2.5f});
  lab_run(&l, lab_binary(&l, "add.Tensor", a, b));
  lab_expect_dims(&l, DIMS(2, 3));
  lab_expect(&l, float, 10.5f, 11.5f, 12.5f, 20.5f, 21.5f, 22.5f);
  lab_run(&l, lab_binary(&l, "lt.Tensor", b, a));
  lab_expect(&l, uint8_t, 1, 1, 1, 1, 1, 1);
}
END_TEST

/* Rows longer than the block in which converted operands are held. */
START_TEST(long_converted_rows) {
  enum { COUNT = 1300 };
  int32_t a[COUNT];
  for (int i = 0; i < COUNT; i++) a[i] = i;
  laze_value half = lab_input(&l, LAZE_F32, NO_DIMS, (float[]){0.5f});
  const float *got = lab_run(&l, lab_binary(&l, "mul.Tensor", i32s(COUNT, a), half));
  for (int i = 0; i < COUNT; i++) ck_assert(got[i] == 0.5f * (float)i);
}
END_TEST

START_TEST(chooses_elements) {
  laze_value condition = bools(3, (uint8_t[]){1, 0, 1});
  laze_value a = f32s(3, (float[]){1, 2, 3}), b = i32s(3, (int32_t[]){7, 8, 9});
  lab_run(&l, lab_call(&l, "where.self", (laze_value[]){condition, a, b}, 3, NULL));
  lab_expect(&l, float, 1, 8, 3);
}
END_TEST

/* f32 is computed in double and rounded once, so the nearest float is the answer. */
START_TEST(functions_round_once) {
  float x[] = {0.1f, 1.0f, 2.5f};
  const float *got = lab_run(&l, lab_unary(&l, "exp", f32s(3, x)));
  for (int i = 0; i < 3; i++) ck_assert(got[i] == (float)exp((double)x[i]));
  got = lab_run(&l, lab_unary(&l, "sqrt", i32s(2, (int32_t[]){2, 9})));
  ck_assert(got[0] == sqrtf(2) && got[1] == 3);
}
END_TEST

START_TEST(no_elements) {
  laze_value a = lab_input(&l, LAZE_F32, DIMS(2, 0), NULL), b = f32s(1, (float[]){1});
  lab_run(&l, lab_binary(&l, "add.Tensor", a, b));
  lab_expect_dims(&l, DIMS(2, 0));
  ck_assert_int_eq(l.outputs[0]->size, 0);
}
END_TEST

/* An operator without a meaning for a dtype is refused when it is recorded. */
START_TEST(refuses_dtypes) {
  laze_value a = bools(1, (uint8_t[]){1}), out;
  ck_assert_int_ne(lab_try_call(&l, "sub.Tensor", (laze_value[]){a, a}, 2, NULL, &out), LAZE_OK);
  ck_assert_ptr_nonnull(strstr(l.error.message, "sub"));
}
END_TEST

int main(void) {
  const TTest *const tests[] = {integers_wrap,           integer_division, integer_powers,       nan_wins,
                                float_remainders,        shifts,           bools_are_logic,      conversions,
                                long_converted_rows,     chooses_elements, functions_round_once, no_elements,
                                broadcasts_and_promotes, refuses_dtypes};
  return lab_main("interp_elementwise", setup, teardown, tests, (int)(sizeof tests / sizeof *tests));
}
