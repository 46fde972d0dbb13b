/* Composites, from the tables and by hand, run on the interpreter. */
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

static laze_value f32s(int rank, const int64_t *dims, const float *data) {
  return lab_input(&l, LAZE_F32, rank, dims, data);
}
static laze_attribute literal(laze_scalar value) {
  return (laze_attribute){.kind = LAZE_ARGUMENT_LITERAL, .present = true, .value.literal = value};
}
static void expect_near(const float *wanted, int count) {
  ck_assert_int_eq(l.outputs[0]->size, count * 4);
  for (int i = 0; i < count; i++) ck_assert_float_eq_tol(((float *)l.outputs[0]->data)[i], wanted[i], 2e-6f);
}

/* The first of equal elements, and the first NaN before everything else. */
START_TEST(argmax_takes_the_first) {
  laze_value a = f32s(DIMS(3, 4), (float[]){1, 7, 7, 0, NAN, 9, NAN, 1, -1, -2, -3, -4});
  laze_attribute row[] = {laze_attribute_integer(1), laze_attribute_boolean(false)};
  lab_run(&l, lab_call(&l, "argmax", &a, 1, row));
  lab_expect(&l, int64_t, 1, 0, 0);
  lab_run(&l, lab_call(&l, "argmin", &a, 1, row));
  lab_expect(&l, int64_t, 3, 0, 3);
  laze_attribute all[] = {laze_attribute_absent(LAZE_ARGUMENT_INT), laze_attribute_boolean(true)};
  lab_run(&l, lab_call(&l, "argmax", &a, 1, all));
  lab_expect_dims(&l, DIMS(1, 1));
  lab_expect(&l, int64_t, 4);
}
END_TEST

START_TEST(argmax_of_nothing_is_refused) {
  laze_value a = f32s(DIMS(2, 0), NULL), out;
  laze_attribute row[] = {laze_attribute_integer(1), laze_attribute_boolean(false)};
  ck_assert_int_eq(lab_try_call(&l, "argmax", &a, 1, row, &out), LAZE_INVALID_ARGUMENT);
}
END_TEST

START_TEST(means_and_variances) {
  laze_value a = f32s(DIMS(2, 3), (float[]){1, 2, 6, 0, 0, 3});
  laze_attribute mean[] = {laze_attribute_integers(SIZES(1), 1), laze_attribute_boolean(true),
                           laze_attribute_absent(LAZE_ARGUMENT_DTYPE)};
  lab_run(&l, lab_call(&l, "mean.dim", &a, 1, mean));
  lab_expect_dims(&l, DIMS(2, 1));
  lab_expect(&l, float, 3, 1);
  laze_attribute var[] = {laze_attribute_integers(SIZES(1), 1), laze_attribute_boolean(false)};
  lab_run(&l, lab_call(&l, "var.correction", &a, 1, var));
  lab_expect(&l, float, 7, 3);
}
END_TEST

/* Large inputs do not overflow, and all-infinite rows of logsumexp stay infinite instead of NaN. */
START_TEST(softmax_family) {
  laze_value a = f32s(DIMS(2, 2), (float[]){1000, 1000, 0, 0.6931472f});
  laze_attribute along[] = {laze_attribute_integer(1), laze_attribute_boolean(false)};
  lab_run(&l, lab_call(&l, "_softmax", &a, 1, along));
  expect_near((float[]){0.5f, 0.5f, 1 / 3.f, 2 / 3.f}, 4);
  lab_run(&l, lab_call(&l, "_log_softmax", &a, 1, along));
  expect_near((float[]){-0.6931472f, -0.6931472f, -1.0986123f, -0.4054651f}, 4);
  laze_value b = f32s(DIMS(2, 2), (float[]){-INFINITY, -INFINITY, 0, 0});
  laze_attribute lse[] = {laze_attribute_integers(SIZES(1), 1), laze_attribute_boolean(false)};
  const float *got = lab_run(&l, lab_call(&l, "logsumexp", &b, 1, lse));
  ck_assert(got[0] == -INFINITY && fabsf(got[1] - 0.6931472f) < 1e-6f);
}
END_TEST

START_TEST(views) {
  laze_value a = lab_input(&l, LAZE_I32, DIMS(2, 1, 3), (int32_t[]){0, 1, 2, 3, 4, 5});
  lab_run(&l, lab_unary(&l, "squeeze", a));
  lab_expect_dims(&l, DIMS(2, 3));
  laze_attribute swap[] = {laze_attribute_integer(0), laze_attribute_integer(-1)};
  lab_run(&l, lab_call(&l, "transpose.int", &a, 1, swap));
  lab_expect_dims(&l, DIMS(3, 1, 2));
  lab_expect(&l, int32_t, 0, 3, 1, 4, 2, 5);
  laze_attribute pick[] = {laze_attribute_integer(2), laze_attribute_size(-1)};
  lab_run(&l, lab_call(&l, "select.int", &a, 1, pick));
  lab_expect_dims(&l, DIMS(2, 1));
  lab_expect(&l, int32_t, 2, 5);
  lab_run(&l, lab_unary(&l, "flatten.using_ints", a));
  lab_expect_dims(&l, DIMS(6));
  laze_attribute part[] = {laze_attribute_integer(-1), laze_attribute_size(1), laze_attribute_size(2)};
  lab_run(&l, lab_call(&l, "narrow", &a, 1, part));
  lab_expect(&l, int32_t, 1, 2, 4, 5);
  laze_attribute last = laze_attribute_integer(-1);
  lab_run(&l, lab_call(&l, "unsqueeze", &a, 1, &last));
  lab_expect_dims(&l, DIMS(2, 1, 3, 1));
}
END_TEST

/* The message has what the caller wrote. */
START_TEST(outside_of_a_dim_is_refused) {
  static const struct {
    const char *operator;
    int64_t start, length;
    const char *message;
  } calls[] = {
      {"select.int", 5, 0, "select.int: index 5 is out of range for dim 0 of f32[5]; expected -size to size - 1"},
      {"select.int", -6, 0, "select.int: index -6 is out of range"},
      {"select.int", INT64_MAX, 0, "select.int: index 9223372036854775807 is out of range"},
      {"narrow", -6, 1, "narrow: start -6 and length 1 do not lie within dim 0 of f32[5]"},
      {"narrow", 4, 2, "narrow: start 4 and length 2 do not lie"},
      {"narrow", 1, INT64_MAX, "narrow: start 1 and length 9223372036854775807 do not lie"},
      {"narrow", 0, -1, "narrow: start 0 and length -1 do not lie"},
  };
  laze_value a = f32s(DIMS(5), (float[]){1, 2, 3, 4, 5}), out;
  for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
    laze_attribute attributes[] = {laze_attribute_integer(0), laze_attribute_size(calls[i].start),
                                   laze_attribute_size(calls[i].length)};
    ck_assert_int_eq(lab_try_call(&l, calls[i].operator, & a, 1, attributes, &out), LAZE_OUT_OF_RANGE);
    ck_assert_msg(strstr(l.error.message, calls[i].message) != NULL, "expected '%s' in: %s", calls[i].message,
                  l.error.message);
  }
}
END_TEST

START_TEST(wrong_sequences_are_refused_by_name) {
  static const struct {
    double start, end, step;
    laze_dtype dtype;
    const char *message;
  } calls[] = {
      {0, INFINITY, 1, LAZE_F32, "from 0 to inf by 1 in f32: the numbers must be finite"},
      {0, 5, 0, LAZE_F32, "the step must not be 0"},
      {0, 5, 0.5, LAZE_I32, "from 0 to 5 by 0.5 in i32: the step becomes 0"},
      {0, 5, -1, LAZE_I64, "the step does not lead there"},
      {0, 1e30, 1, LAZE_I64, "from 0 to 1e+30 by 1 in i64: the numbers must fit i64"},
      {1e30, 2e30, 1e29, LAZE_I32, "the numbers must fit i64"},
      {0, 1e300, 1, LAZE_F64, "from 0 to 1e+300 by 1 in f64: no tensor has so many elements"},
      {0, 5, 1, LAZE_BOOL, "from 0 to 5 by 1 in bool"},
  };
  laze_value out;
  for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
    laze_attribute attributes[] = {literal(laze_scalar_real(calls[i].start)), literal(laze_scalar_real(calls[i].end)),
                                   literal(laze_scalar_real(calls[i].step)), laze_attribute_dtype(calls[i].dtype)};
    ck_assert_int_ne(lab_try_call(&l, "arange.start_step", NULL, 0, attributes, &out), LAZE_OK);
    ck_assert_msg(!strncmp(l.error.message, "arange", 6), "%s", l.error.message);
    ck_assert_msg(strstr(l.error.message, calls[i].message) != NULL, "expected '%s' in: %s", calls[i].message,
                  l.error.message);
  }
}
END_TEST

/* More tensors than one cat takes at a time. */
START_TEST(stacks) {
  laze_value parts[130];
  int32_t data[2] = {7, 9};
  parts[0] = lab_input(&l, LAZE_I32, DIMS(2), data);
  for (int i = 1; i < 130; i++) parts[i] = parts[0];
  laze_attribute dim = laze_attribute_integer(1);
  const int32_t *got = lab_run(&l, lab_call(&l, "stack", parts, 130, &dim));
  lab_expect_dims(&l, DIMS(2, 130));
  ck_assert(got[129] == 7 && got[130] == 9);
}
END_TEST

START_TEST(embedding_and_one_hot) {
  laze_value w = f32s(DIMS(3, 2), (float[]){0, 1, 10, 11, 20, 21});
  laze_value index = lab_input(&l, LAZE_I64, DIMS(2, 1), (int64_t[]){2, 0});
  lab_run(&l, lab_binary(&l, "embedding", w, index));
  lab_expect_dims(&l, DIMS(2, 1, 2));
  lab_expect(&l, float, 20, 21, 0, 1);
  laze_attribute classes = laze_attribute_integer(3);
  lab_run(&l, lab_call(&l, "one_hot", &index, 1, &classes));
  lab_expect_dims(&l, DIMS(2, 1, 3));
  lab_expect(&l, int64_t, 0, 0, 1, 1, 0, 0);
  laze_value out;
  ck_assert_int_eq(lab_try_call(&l, "one_hot", &index, 1, NULL, &out), LAZE_INVALID_ARGUMENT);
}
END_TEST

START_TEST(sequences) {
  laze_attribute none = laze_attribute_absent(LAZE_ARGUMENT_DTYPE);
  laze_attribute whole[] = {literal(laze_scalar_integer(5)), literal(laze_scalar_integer(-2)),
                            literal(laze_scalar_integer(-3)), none};
  lab_run(&l, lab_call(&l, "arange.start_step", NULL, 0, whole));
  lab_expect(&l, int64_t, 5, 2, -1);
  laze_attribute real[] = {literal(laze_scalar_real(1.5)), none};
  lab_run(&l, lab_call(&l, "arange", NULL, 0, real));
  lab_expect(&l, float, 0, 1);
  laze_attribute line[] = {literal(laze_scalar_integer(0)), literal(laze_scalar_real(0.3)), laze_attribute_integer(4),
                           none};
  const float *got = lab_run(&l, lab_call(&l, "linspace", NULL, 0, line));
  ck_assert(got[0] == 0 && got[3] == 0.3f && fabsf(got[1] - 0.1f) < 1e-7f);
  laze_attribute square[] = {laze_attribute_size(2), none};
  lab_run(&l, lab_call(&l, "eye", NULL, 0, square));
  lab_expect(&l, float, 1, 0, 0, 1);
}
END_TEST

/* Philox 4x32-10 with all words zero: the first of Random123's known answers is 6627e8d5 e169c58d. */
START_TEST(philox_known_answer) {
  laze_value zero = lab_input(&l, LAZE_I64, NO_DIMS, (int64_t[]){0});
  lab_run(&l, lab_binary(&l, "philox", zero, zero));
  lab_expect(&l, uint64_t, 0xe169c58d6627e8d5u);
}
END_TEST

/* An element depends on the seed and its counter alone: a later offset gives the tail of an earlier draw. */
START_TEST(random_numbers) {
  enum { COUNT = 20000 };
  laze_value seed = lab_input(&l, LAZE_I64, NO_DIMS, (int64_t[]){42}),
             zero = lab_input(&l, LAZE_I64, NO_DIMS, (int64_t[]){0});
  laze_value five = lab_input(&l, LAZE_I64, NO_DIMS, (int64_t[]){5});
  laze_attribute draw[] = {laze_attribute_sizes(SIZES(COUNT), 1), laze_attribute_absent(LAZE_ARGUMENT_DTYPE)};
  laze_value results[] = {lab_call(&l, "rand", (laze_value[]){seed, zero}, 2, draw),
                          lab_call(&l, "rand", (laze_value[]){seed, five}, 2, draw),
                          lab_call(&l, "randn", (laze_value[]){seed, zero}, 2, draw)};
  ck_assert_int_eq(lab_try_run(&l, results, 3), LAZE_OK);
  const float *u = l.outputs[0]->data, *later = l.outputs[1]->data, *normal = l.outputs[2]->data;
  double sum = 0, sum_normal = 0, squares = 0;
  for (int i = 0; i < COUNT; i++) {
    ck_assert(u[i] >= 0 && u[i] < 1 && isfinite(normal[i]));
    if (i >= 5) ck_assert(u[i] == later[i - 5]);
    sum += (double)u[i];
    sum_normal += (double)normal[i];
    squares += (double)normal[i] * (double)normal[i];
  }
  ck_assert_double_eq_tol(sum / COUNT, 0.5, 0.01);
  ck_assert_double_eq_tol(sum_normal / COUNT, 0, 0.03);
  ck_assert_double_eq_tol(squares / COUNT, 1, 0.05);
}
END_TEST

START_TEST(division_with_a_mode) {
  laze_value a = f32s(DIMS(2), (float[]){7, -7}), b = f32s(DIMS(1), (float[]){2}), out;
  laze_attribute mode = {.kind = LAZE_ARGUMENT_STRING, .present = true, .value.string = "floor"};
  lab_run(&l, lab_call(&l, "div.Tensor_mode", (laze_value[]){a, b}, 2, &mode));
  lab_expect(&l, float, 3, -4);
  mode.value.string = "trunc";
  lab_run(&l, lab_call(&l, "div.Tensor_mode", (laze_value[]){a, b}, 2, &mode));
  lab_expect(&l, float, 3, -3);
  mode.value.string = "up";
  ck_assert_int_eq(lab_try_call(&l, "div.Tensor_mode", (laze_value[]){a, b}, 2, &mode, &out), LAZE_INVALID_ARGUMENT);
}
END_TEST

int main(void) {
  const TTest *const tests[] = {argmax_takes_the_first,
                                argmax_of_nothing_is_refused,
                                means_and_variances,
                                softmax_family,
                                views,
                                outside_of_a_dim_is_refused,
                                wrong_sequences_are_refused_by_name,
                                stacks,
                                embedding_and_one_hot,
                                sequences,
                                philox_known_answer,
                                random_numbers,
                                division_with_a_mode};
  return lab_main("interp_composite", setup, teardown, tests, (int)(sizeof tests / sizeof *tests));
}
