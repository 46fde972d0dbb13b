/* Operators that the tests of laze/library.h declare, on any backend. */
#ifndef LAZE_TESTS_CONFORMANCE_LIBRARY_SUPPORT_H
#define LAZE_TESTS_CONFORMANCE_LIBRARY_SUPPORT_H

#include "laze/laze.h"
#include "tests/conformance/conformance.h"
#include "tests/support/backends.h"
#include "tests/unit/lazy/support.h"

#include <stdatomic.h>
#include <stdio.h>

static laze_context *context;
static laze_scope *scope;
static laze_error error;
static _Atomic int calls, releases;
static char logged[1024];
static int warnings;

static inline void note_warning(void *self, int32_t severity, const char *message) {
  (void)self;
  if (severity > LAZE_LOG_WARNING) return;
  warnings++;
  snprintf(logged, sizeof logged, "%s", message);
}

static inline void begin(int backend) {
  laze_context_options options = {.struct_size = sizeof options,
                                  .backend = laze_backend_at(backend)->name,
                                  .cache_directory = "",
                                  .threads = 2,
                                  .log = note_warning};
  ck_assert_int_eq(laze_context_create(&options, &context, NULL), LAZE_OK);
  scope = laze_scope_begin(context);
  calls = releases = 0;
  warnings = 0;
  laze_library_check_kernels(context, 1);
}

static inline void end(laze_status expected) {
  ck_assert_int_eq(laze_scope_end(scope), expected);
  ck_assert_int_eq(metric(context, "autograd_nodes_alive"), 0);
  laze_context_release(context);
}

static inline void note_release(void *self) {
  (void)self;
  releases++;
}

#define expect_status(status, call)                                                                                    \
  do {                                                                                                                 \
    error.message[0] = 0;                                                                                              \
    const laze_status given = (call);                                                                                  \
    ck_assert_msg(given == (status), "%s: %s", laze_status_name(given), error.message);                                \
  } while (0)
#define expect_text(text, part)                                                                                        \
  do {                                                                                                                 \
    const char *whole = (text);                                                                                        \
    ck_assert_msg(strstr(whole, part) != NULL, "\"%s\" lacks \"%s\"", whole, part);                                    \
  } while (0)

static inline int64_t count_elements(const laze_opaque_tensor *tensor) {
  int64_t count = 1;
  for (int32_t i = 0; i < tensor->rank; i++) count *= tensor->sizes[i];
  return count;
}

/* mine::scale(Tensor x, float by=2.0) -> Tensor */
static inline laze_status scale_kernel(void *self, const laze_library_kernel_call *call, laze_error *failure) {
  const laze_opaque_tensor *x = call->arguments[0].value.tensors;
  const float *from = x->data;
  float *to = call->results[0].data;
  const double factor = self ? *(const double *)self : 1;
  calls++;
  ck_assert_int_eq(call->argument_count, 2);
  ck_assert_int_eq(call->arguments[0].kind, LAZE_PASS_TENSOR);
  ck_assert_int_eq(call->arguments[1].kind, LAZE_PASS_REAL);
  if (call->arguments[1].value.real < 0) {
    snprintf(failure->message, sizeof failure->message, "the pump is off");
    return LAZE_IO_ERROR;
  }
  for (int64_t i = 0; i < count_elements(x); i++) to[i] = (float)(from[i] * call->arguments[1].value.real * factor);
  return LAZE_OK;
}

/* mine::add_(Tensor(a!) x, Tensor y) -> Tensor(a!) */
static inline laze_status add_in_place(void *self, const laze_library_kernel_call *call, laze_error *failure) {
  float *x = call->arguments[0].value.tensors->data;
  const float *y = call->arguments[1].value.tensors->data;
  (void)self, (void)failure;
  calls++;
  if (call->result_count > 0) ck_assert_ptr_eq(call->results[0].data, (void *)x);
  for (int64_t i = 0; i < count_elements(call->arguments[0].value.tensors); i++) x[i] += y[i];
  return LAZE_OK;
}

static inline laze_status copy_kernel(void *self, const laze_library_kernel_call *call, laze_error *failure) {
  const laze_opaque_tensor *x = call->arguments[0].value.tensors;
  (void)self, (void)failure;
  calls++;
  memcpy(call->results[0].data, x->data, (size_t)count_elements(x) * 4);
  return LAZE_OK;
}

static inline void define(const char *schema, const char *name, laze_library_kernel kernel, void *self) {
  expect_status(LAZE_OK, laze_library_define(context, schema, &error));
  if (kernel) expect_status(LAZE_OK, laze_library_implement(context, name, NULL, kernel, self, note_release, &error));
}

static inline void define_scale(void) {
  define("mine::scale(Tensor x, float by=2.0) -> Tensor", "mine::scale", scale_kernel, NULL);
}

static inline laze_tensor *call_with(const char *name, const laze_argument *arguments, int32_t count) {
  laze_tensor *results[8] = {NULL};
  ck_assert_int_ge(laze_library_call(context, name, arguments, count, results, 8), 1);
  return results[0];
}
#define call_of(name, ...)                                                                                             \
  call_with(name, (const laze_argument[]){__VA_ARGS__},                                                                \
            (int32_t)(sizeof((const laze_argument[]){__VA_ARGS__}) / sizeof(laze_argument)))

static inline laze_argument named(const char *name, laze_argument argument) {
  argument.name = name;
  return argument;
}

static inline laze_tensor *leaf(int64_t count, float value) {
  laze_tensor *x = filled(context, count, value);
  expect_status(LAZE_OK, laze_tensor_require_grad(x, 1, &error));
  return x;
}

static inline void set_mode(int32_t mode) {
  expect_status(LAZE_OK, laze_library_set_fallback(context, mode, NULL, &error));
}

static inline laze_status both_kernel(void *self, const laze_library_kernel_call *call, laze_error *failure) {
  (void)self, (void)failure;
  memset(call->results[0].data, 0, (size_t)count_elements(&call->results[0]) * 4);
  *(int64_t *)call->results[1].data = 7;
  memset(call->results[2].data, 0, 8);
  return LAZE_OK;
}

static inline laze_status pass_by(void *self, const laze_library_dispatch *call, laze_tensor **results,
                                  laze_error *failure) {
  (void)self;
  return laze_library_redispatch(call, results, failure);
}

static inline laze_status both_types(void *self, const laze_library_kernel_call *call, laze_opaque_type *results,
                                     laze_error *failure) {
  const laze_opaque_tensor *x = call->arguments[0].value.tensors;
  (void)self, (void)failure;
  ck_assert_ptr_null(x->data);
  ck_assert_ptr_null(call->results);
  results[0] = (laze_opaque_type){LAZE_F32, 1, {x->sizes[0]}};
  results[1] = (laze_opaque_type){LAZE_I64, 0, {0}};
  results[2] = (laze_opaque_type){LAZE_C64, 1, {1}};
  return LAZE_OK;
}

#endif
