/* What the tests of gradients share. */
#ifndef LAZE_TESTS_UNIT_AUTOGRAD_SUPPORT_H
#define LAZE_TESTS_UNIT_AUTOGRAD_SUPPORT_H

#include "laze/laze.h"
#include "tests/support/suite.h"

#include <check.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef struct autograd_fixture {
  laze_context *context;
  laze_scope *scope;
} autograd_fixture;

/* A context of its own, on the interpreter, without a disk cache, with a scope. */
static inline autograd_fixture begin(void) {
  laze_context_options options = {
      .struct_size = sizeof options, .backend = "interp", .cache_directory = "", .threads = 1};
  autograd_fixture at = {NULL, NULL};
  ck_assert_int_eq(laze_context_create(&options, &at.context, NULL), LAZE_OK);
  at.scope = laze_scope_begin(at.context);
  return at;
}

/* Nothing that was kept for gradients is left. */
static inline void end(autograd_fixture *at) {
  laze_error error;
  int64_t alive = -1;
  ck_assert_msg(laze_scope_end_error(at->scope, &error) == LAZE_OK, "%s", error.message);
  ck_assert_int_eq(laze_metric_read(at->context, "autograd_nodes_alive", &alive, NULL), LAZE_OK);
  ck_assert_int_eq(alive, 0);
  laze_context_release(at->context);
}

static inline laze_tensor *constant_of(autograd_fixture *at, const float *data, int64_t count) {
  return laze_tensor_from_data(at->context, LAZE_F32, LAZE_SHAPE(count), data, (size_t)count * sizeof *data);
}
#define constant(at, ...) constant_of(at, __VA_ARGS__, (int64_t)(sizeof(__VA_ARGS__) / sizeof(float)))

static inline laze_tensor *leaf_of(autograd_fixture *at, const float *data, int64_t count) {
  laze_error error;
  laze_tensor *tensor = constant_of(at, data, count);
  ck_assert_msg(laze_tensor_require_grad(tensor, 1, &error) == LAZE_OK, "%s", error.message);
  return tensor;
}
#define leaf(at, ...) leaf_of(at, __VA_ARGS__, (int64_t)(sizeof(__VA_ARGS__) / sizeof(float)))

/* A leaf large enough to be seen among the bytes that are held. */
enum { LEAF_ELEMENTS = 1 << 16 };
static inline laze_tensor *large_leaf(autograd_fixture *at) {
  float *data = calloc(LEAF_ELEMENTS, sizeof *data);
  laze_tensor *tensor = leaf_of(at, data, LEAF_ELEMENTS);
  free(data);
  return tensor;
}

static inline void backward(laze_tensor *tensor) {
  laze_error error;
  ck_assert_msg(laze_backward(tensor, &error) == LAZE_OK, "%s", error.message);
}

static inline void expect_all(laze_tensor *tensor, const float *expected, size_t count, float tolerance) {
  float *got = malloc(count * sizeof *got);
  ck_assert_ptr_nonnull(tensor);
  ck_assert_msg(laze_tensor_read(tensor, LAZE_F32, got, count * sizeof *got) == LAZE_OK, "%s",
                laze_tensor_error(tensor));
  for (size_t i = 0; i < count; i++)
    ck_assert_msg(fabsf(got[i] - expected[i]) <= tolerance * fmaxf(1, fabsf(expected[i])),
                  "element %zu: %g, expected %g", i, got[i], expected[i]);
  free(got);
}
#define expect(tensor, tolerance, ...) expect_all(tensor, __VA_ARGS__, sizeof(__VA_ARGS__) / sizeof(float), tolerance)

static inline int64_t metric(laze_context *context, const char *name) {
  int64_t value = -1;
  ck_assert_int_eq(laze_metric_read(context, name, &value, NULL), LAZE_OK);
  return value;
}

static inline int run_tests(const char *name, const TTest *const *tests, size_t count) {
  Suite *suite = suite_create(name);
  TCase *group = tcase_create(name);
  tcase_set_timeout(group, 120);
  for (size_t i = 0; i < count; i++) tcase_add_test(group, tests[i]);
  suite_add_tcase(suite, group);
  return test_run_suite(suite);
}

#endif
