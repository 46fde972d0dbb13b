/* What the tests of the lazy layer share. Operators are called by name, so that a test needs no generated header. */
#ifndef LAZE_TESTS_UNIT_LAZY_SUPPORT_H
#define LAZE_TESTS_UNIT_LAZY_SUPPORT_H

#include "laze/tensor.h"
#include "tests/support/suite.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static inline laze_tensor *call(const char *name, const laze_argument *arguments, int32_t count) {
  laze_tensor *results[4];
  int32_t given = laze_call_by_name(NULL, name, arguments, count, results, 4);
  ck_assert_int_ge(given, 1);
  return results[0];
}

static inline laze_argument pass(laze_tensor *tensor) {
  return (laze_argument){.kind = LAZE_PASS_TENSOR, .value.tensor = tensor};
}

static inline laze_argument pass_real(double value) {
  return (laze_argument){.kind = LAZE_PASS_REAL, .value.real = value};
}

static inline laze_tensor *unary(const char *name, laze_tensor *self) {
  laze_argument arguments[] = {pass(self)};
  return call(name, arguments, 1);
}

static inline laze_tensor *binary(const char *name, laze_tensor *self, laze_tensor *other) {
  laze_argument arguments[] = {pass(self), pass(other)};
  return call(name, arguments, 2);
}

static inline laze_tensor *add(laze_tensor *self, laze_tensor *other) {
  return binary("add.Tensor", self, other);
}
static inline laze_tensor *mul(laze_tensor *self, laze_tensor *other) {
  return binary("mul.Tensor", self, other);
}
static inline laze_tensor *neg(laze_tensor *self) {
  return unary("neg", self);
}

static inline laze_tensor *scale(laze_tensor *self, double factor) {
  laze_argument arguments[] = {pass(self), pass_real(factor)};
  return call("mul.Scalar", arguments, 2);
}

/* A value that fails when it runs: index 9 of a tensor with fewer elements. */
static inline laze_tensor *out_of_range(laze_context *context, laze_tensor *self) {
  int64_t index = 9;
  laze_argument arguments[] = {
      pass(self),
      {.kind = LAZE_PASS_INTEGER, .value.integer = 0},
      pass(laze_tensor_from_data(context, LAZE_I64, LAZE_SHAPE(1), &index, sizeof index)),
  };
  return call("index_select", arguments, 3);
}

/* f32[count] with every element `value`. */
static inline laze_tensor *filled(laze_context *context, int64_t count, float value) {
  float *data = malloc((size_t)count * sizeof *data);
  for (int64_t i = 0; i < count; i++) data[i] = value;
  laze_tensor *tensor = laze_tensor_from_data(context, LAZE_F32, LAZE_SHAPE(count), data, (size_t)count * sizeof *data);
  free(data);
  return tensor;
}

/* The first element of a tensor of `count` elements. */
static inline float first(laze_tensor *tensor, int64_t count) {
  float *data = calloc((size_t)count, sizeof *data);
  laze_status status = laze_tensor_read(tensor, LAZE_F32, data, (size_t)count * sizeof *data);
  float value = data[0];
  free(data);
  ck_assert_msg(status == LAZE_OK, "read: %s", laze_tensor_error(tensor));
  return value;
}

static inline int64_t metric(laze_context *context, const char *name) {
  int64_t value = -1;
  ck_assert_int_eq(laze_metric_read(context, name, &value, NULL), LAZE_OK);
  return value;
}

/* A context of its own, without a disk cache. The interpreter runs what the lazy layer records, so that its tests say
 * nothing about the code generator. */
static inline laze_context *new_context(void) {
  laze_context_options options = {
      .struct_size = sizeof options, .backend = "interp", .cache_directory = "", .threads = 1};
  laze_context *context = NULL;
  ck_assert_int_eq(laze_context_create(&options, &context, NULL), LAZE_OK);
  return context;
}

/* Runs the tests of one file and gives main's result. */
static inline int run_tests(const char *name, const TTest *const *tests, size_t count) {
  Suite *suite = suite_create(name);
  TCase *group = tcase_create(name);
  tcase_set_timeout(group, 120);
  for (size_t i = 0; i < count; i++) tcase_add_test(group, tests[i]);
  suite_add_tcase(suite, group);
  return test_run_suite(suite);
}

#endif
