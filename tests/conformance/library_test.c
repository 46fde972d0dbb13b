/* Operators that a program declares: the same on every backend, inside of graphs, and what is wrong with one is an
 * error of its results and of nothing else. Rows 2.1 to 2.6 of docs/systems.md. */
#include "ir/text/text.h"
#include "laze/laze.h"
#include "tests/conformance/conformance.h"
#include "tests/support/backends.h"
#include "tests/support/failing_allocator.h"
#include "tests/support/run.h"
#include "tests/unit/lazy/support.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

static laze_context *context;
static laze_scope *scope;
static laze_error error;
static _Atomic int calls, releases;
static char logged[1024];
static int warnings;

static void note_warning(void *self, int32_t severity, const char *message) {
  (void)self;
  if (severity > LAZE_LOG_WARNING) return;
  warnings++;
  snprintf(logged, sizeof logged, "%s", message);
}

static void begin(int backend) {
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

static void end(laze_status expected) {
  ck_assert_int_eq(laze_scope_end(scope), expected);
  ck_assert_int_eq(metric(context, "autograd_nodes_alive"), 0);
  laze_context_release(context);
}

static void note_release(void *self) {
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

static int64_t count_elements(const laze_opaque_tensor *tensor) {
  int64_t count = 1;
  for (int32_t i = 0; i < tensor->rank; i++) count *= tensor->sizes[i];
  return count;
}

/* --- operators of the tests --- */

/* mine::scale(Tensor x, float by=2.0) -> Tensor */
static laze_status scale_kernel(void *self, const laze_library_kernel_call *call, laze_error *failure) {
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
static laze_status add_in_place(void *self, const laze_library_kernel_call *call, laze_error *failure) {
  float *x = call->arguments[0].value.tensors->data;
  const float *y = call->arguments[1].value.tensors->data;
  (void)self, (void)failure;
  calls++;
  if (call->result_count > 0) ck_assert_ptr_eq(call->results[0].data, (void *)x);
  for (int64_t i = 0; i < count_elements(call->arguments[0].value.tensors); i++) x[i] += y[i];
  return LAZE_OK;
}

static laze_status copy_kernel(void *self, const laze_library_kernel_call *call, laze_error *failure) {
  const laze_opaque_tensor *x = call->arguments[0].value.tensors;
  (void)self, (void)failure;
  calls++;
  memcpy(call->results[0].data, x->data, (size_t)count_elements(x) * 4);
  return LAZE_OK;
}

static void define(const char *schema, const char *name, laze_library_kernel kernel, void *self) {
  expect_status(LAZE_OK, laze_library_define(context, schema, &error));
  if (kernel) expect_status(LAZE_OK, laze_library_implement(context, name, NULL, kernel, self, note_release, &error));
}

static void define_scale(void) {
  define("mine::scale(Tensor x, float by=2.0) -> Tensor", "mine::scale", scale_kernel, NULL);
}

static laze_tensor *call_with(const char *name, const laze_argument *arguments, int32_t count) {
  laze_tensor *results[8] = {NULL};
  ck_assert_int_ge(laze_library_call(context, name, arguments, count, results, 8), 1);
  return results[0];
}
#define call_of(name, ...)                                                                                             \
  call_with(name, (const laze_argument[]){__VA_ARGS__},                                                                \
            (int32_t)(sizeof((const laze_argument[]){__VA_ARGS__}) / sizeof(laze_argument)))

static laze_argument named(const char *name, laze_argument argument) {
  argument.name = name;
  return argument;
}

static laze_tensor *leaf(int64_t count, float value) {
  laze_tensor *x = filled(context, count, value);
  expect_status(LAZE_OK, laze_tensor_require_grad(x, 1, &error));
  return x;
}

/* --- 2.1: running --- */

START_TEST(row_2_1_an_operator_with_a_kernel_alone_runs) {
  begin(_i);
  define_scale();
  for (int64_t count = 3; count < 7; count++) {
    laze_tensor *x = filled(context, count, 2);
    laze_tensor *y = laze_add(call_of("mine::scale", pass(laze_mul(x, 3)), named("by", pass_real(0.5))), x);
    ck_assert_int_eq(laze_tensor_size(y, 0), count);
    ck_assert_float_eq(first(laze_neg(y), count), -5);
  }
  ck_assert_int_eq(calls, 4);
  ck_assert_int_eq(metric(context, "graphs_run"), 4);
  ck_assert_int_eq(metric(context, "program_cache_hits"), 3); /* sizes are no part of what is compiled */
  ck_assert_float_eq(first(call_of("mine::scale", pass(filled(context, 2, 4))), 2), 8); /* the default */
  end(LAZE_OK);
  ck_assert_int_eq(releases, 1);
}
END_TEST

/* A kernel of its own for the backend counts, whichever came first; the calls' results say which ran. */
START_TEST(row_2_1_a_backend_has_a_kernel_of_its_own) {
  static double three = 3, five = 5;
  begin(_i);
  define("mine::scale(Tensor x, float by=2.0) -> Tensor", "mine::scale", scale_kernel, &three);
  laze_tensor *x = filled(context, 2, 1);
  ck_assert_float_eq(first(call_of("mine::scale", pass(x)), 2), 6);
  laze_tensor *pending = call_of("mine::scale", pass(x), pass_real(7));
  expect_status(LAZE_OK, laze_library_implement(context, "mine::scale", laze_backend_at(_i)->name, scale_kernel, &five,
                                                note_release, &error));
  ck_assert_float_eq(first(call_of("mine::scale", pass(x)), 2), 10);
  ck_assert_int_eq(laze_tensor_materialise(pending), LAZE_NOT_FOUND); /* of the kernel before, and never compiled */
  const char *other = laze_backend_at(_i)->name;
  expect_status(LAZE_FAILED_PRECONDITION,
                laze_library_implement(context, "mine::scale", other, scale_kernel, NULL, note_release, &error));
  expect_text(error.message, "has a kernel for that backend already");
  ck_assert_int_eq(releases, 1); /* of what was refused */
  expect_status(LAZE_NOT_FOUND,
                laze_library_implement(context, "mine::scale", "abacus", scale_kernel, NULL, note_release, &error));
  ck_assert_int_eq(releases, 2);
  end(LAZE_OK);
}
END_TEST

/* Has the call done by operators of laze. */
static laze_status by_operators(void *self, const laze_library_dispatch *call, laze_tensor **results,
                                laze_error *failure) {
  (void)failure;
  ck_assert_int_eq(call->argument_count, 2);
  ck_assert_int_eq(call->arguments[1].kind, LAZE_PASS_REAL); /* defaults are filled in */
  calls += 100;
  if (self) ck_assert_int_eq(call->key, *(int32_t *)self);
  results[0] = laze_mul(call->arguments[0].value.tensor, call->arguments[1].value.real);
  return LAZE_OK;
}

static laze_status halved(void *self, const laze_library_dispatch *call, laze_tensor **results, laze_error *failure) {
  laze_argument arguments[2] = {call->arguments[0], call->arguments[1]};
  laze_library_dispatch next = *call;
  (void)self;
  calls += 1000;
  arguments[1].value.real /= 2;
  next.arguments = arguments;
  return laze_library_redispatch(&next, results, failure);
}

START_TEST(row_2_1_a_plugin_overrides_a_fallback) {
  int32_t backend = LAZE_KEY_BACKEND;
  begin(_i);
  define_scale();
  laze_tensor *x = filled(context, 2, 1);
  expect_status(LAZE_OK,
                laze_library_override(context, "mine::scale", backend, by_operators, &backend, note_release, &error));
  ck_assert_float_eq(first(call_of("mine::scale", pass(x)), 2), 2);
  ck_assert_int_eq(calls, 100);
  /* For every operator, above the one for this alone. */
  for (int32_t key = LAZE_KEY_FUNCTIONALIZE; key <= LAZE_KEY_AUTOGRAD; key++)
    expect_status(LAZE_OK, laze_library_override(context, NULL, key, halved, NULL, NULL, &error));
  ck_assert_float_eq(first(call_of("mine::scale", pass(x), pass_real(8)), 2), 1);
  ck_assert_int_eq(calls, 3200);
  expect_status(LAZE_FAILED_PRECONDITION,
                laze_library_override(context, NULL, LAZE_KEY_VIEWS, halved, NULL, note_release, &error));
  expect_status(LAZE_OK, laze_library_restore(context, "mine::scale", backend, &error));
  ck_assert_int_eq(releases, 2);
  ck_assert_float_eq(first(call_of("mine::scale", pass(x), pass_real(8)), 2), 1);
  ck_assert_int_eq(calls, 6201); /* the kernel again */
  expect_status(LAZE_NOT_FOUND, laze_library_restore(context, "mine::scale", backend, &error));
  expect_status(LAZE_INVALID_ARGUMENT, laze_library_override(context, NULL, 4, halved, NULL, NULL, &error));
  expect_status(LAZE_NOT_FOUND, laze_library_override(context, "mine::no", 0, halved, NULL, NULL, &error));
  end(LAZE_OK);
}
END_TEST

/* --- 2.2: modes --- */

static void set_mode(int32_t mode) {
  expect_status(LAZE_OK, laze_library_set_fallback(context, mode, NULL, &error));
}

START_TEST(row_2_2_nothing_is_silent) {
  begin(_i);
  define_scale();
  laze_tensor *x = leaf(2, 3), *y = call_of("mine::scale", pass(x));
  ck_assert_int_eq(laze_tensor_requires_grad(y), 0);
  ck_assert_ptr_null(laze_tensor_gradient_node(y));
  expect_status(LAZE_OK, laze_backward(laze_sum(laze_mul(y, x)), &error));
  ck_assert_float_eq(first(laze_tensor_grad(x), 2), 6);
  ck_assert_int_eq(warnings, 0);
  end(LAZE_OK);
}
END_TEST

START_TEST(row_2_2_a_warning_comes_backward_and_once) {
  begin(_i);
  define_scale();
  set_mode(LAZE_FALLBACK_WARN);
  laze_tensor *x = leaf(2, 3), *y = call_of("mine::scale", pass(laze_mul(x, 1)));
  ck_assert_float_eq(first(y, 2), 6);
  ck_assert_int_eq(laze_tensor_requires_grad(y), 1);
  ck_assert_int_eq(warnings, 0); /* forward is silent */
  expect_status(LAZE_OK, laze_backward(laze_sum(laze_add(laze_mul(y, y), laze_mul(x, 5))), &error));
  ck_assert_int_eq(warnings, 1);
  expect_text(logged, "mine::scale");
  ck_assert_float_eq(first(laze_tensor_grad(x), 2), 5); /* what comes another way is there */
  end(LAZE_OK);
}
END_TEST

START_TEST(row_2_2_an_error_comes_backward) {
  begin(_i);
  define_scale();
  set_mode(LAZE_FALLBACK_ERROR);
  laze_tensor *x = leaf(2, 3), *y = call_of("mine::scale", pass(x));
  ck_assert_float_eq(first(y, 2), 6);
  expect_status(LAZE_UNSUPPORTED, laze_backward(laze_sum(y), &error));
  expect_text(error.message, "mine::scale");
  ck_assert_ptr_null(laze_tensor_grad(x));
  int32_t before = -1;
  expect_status(LAZE_OK, laze_library_set_fallback(context, LAZE_FALLBACK_NOTHING, &before, &error));
  ck_assert_int_eq(before, LAZE_FALLBACK_ERROR);
  expect_status(LAZE_INVALID_ARGUMENT, laze_library_set_fallback(context, 3, NULL, &error));
  end(LAZE_OK);
}
END_TEST

/* --- 2.3: warnings, branch by branch --- */

static laze_status join_kernel(void *self, const laze_library_kernel_call *call, laze_error *failure) {
  const laze_library_value *list = &call->arguments[1];
  float sum = *(const float *)call->arguments[0].value.tensors->data;
  (void)self, (void)failure;
  for (int32_t i = 0; i < list->count; i++) sum += *(const float *)list->value.tensors[i].data;
  if (call->arguments[2].kind != LAZE_PASS_NONE) sum += *(const float *)call->arguments[2].value.tensors->data;
  *(float *)call->results[0].data = sum;
  return LAZE_OK;
}

START_TEST(row_2_3_edges_come_from_all_tensor_arguments) {
  begin(_i);
  define("mine::join(Tensor x, Tensor[] more, Tensor? last=None) -> Tensor", "mine::join", join_kernel, NULL);
  set_mode(LAZE_FALLBACK_WARN);
  laze_tensor *items[] = {leaf(1, 2), filled(context, 1, 3), leaf(1, 4)};
  const laze_argument list = {.kind = LAZE_PASS_TENSORS, .count = 3, .value.tensors = items};
  laze_tensor *y = call_of("mine::join", pass(filled(context, 1, 1)), list, pass(leaf(1, 5)));
  ck_assert_float_eq(first(y, 1), 15);
  laze_gradient_node *node = laze_tensor_gradient_node(y);
  ck_assert_str_eq(laze_gradient_node_name(node), "mine::join");
  ck_assert_int_eq(laze_gradient_node_operand_count(node), 5);
  for (int32_t i = 0; i < 5; i++) {
    laze_gradient_node *next = laze_gradient_node_next(node, i, NULL);
    ck_assert_int_eq(next != NULL, i == 1 || i == 3 || i == 4);
    laze_gradient_node_release(next);
  }
  laze_gradient_node_release(node);
  ck_assert_float_eq(first(call_of("mine::join", pass(filled(context, 1, 1)), list), 1), 10);
  end(LAZE_OK);
}
END_TEST

START_TEST(row_2_3_what_is_written_gets_no_node) {
  begin(_i);
  define("mine::add_(Tensor(a!) x, Tensor y) -> Tensor(a!)", "mine::add_", add_in_place, NULL);
  set_mode(LAZE_FALLBACK_WARN);
  laze_tensor *x = filled(context, 2, 1), *y = leaf(2, 3);
  ck_assert_ptr_eq(call_of("mine::add_", pass(x), pass(y)), x);
  ck_assert_float_eq(first(x, 2), 4);
  ck_assert_int_eq(laze_tensor_requires_grad(x), 0);
  ck_assert_ptr_null(laze_tensor_gradient_node(x));
  end(LAZE_OK);
}
END_TEST

START_TEST(row_2_3_what_requires_a_gradient_already_gets_a_hook) {
  begin(_i);
  define_scale();
  set_mode(LAZE_FALLBACK_WARN);
  expect_status(LAZE_OK,
                laze_library_override(context, "mine::scale", LAZE_KEY_BACKEND, by_operators, NULL, NULL, &error));
  laze_tensor *x = leaf(2, 3), *y = call_of("mine::scale", pass(x), pass_real(4));
  laze_gradient_node *node = laze_tensor_gradient_node(y);
  ck_assert_str_ne(laze_gradient_node_name(node), "mine::scale"); /* that of what it consists of */
  laze_gradient_node_release(node);
  expect_status(LAZE_OK, laze_backward(laze_sum(y), &error));
  ck_assert_int_eq(warnings, 1);
  expect_text(logged, "mine::scale");
  ck_assert_float_eq(first(laze_tensor_grad(x), 2), 4); /* and the gradient is right */
  end(LAZE_OK);
}
END_TEST

/* --- 2.4: what is not implemented --- */

static laze_status both_types(void *self, const laze_library_kernel_call *call, laze_opaque_type *results,
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

static laze_status both_kernel(void *self, const laze_library_kernel_call *call, laze_error *failure) {
  (void)self, (void)failure;
  memset(call->results[0].data, 0, (size_t)count_elements(&call->results[0]) * 4);
  *(int64_t *)call->results[1].data = 7;
  memset(call->results[2].data, 0, 8);
  return LAZE_OK;
}

START_TEST(row_2_4_only_floats_and_complex_numbers_have_a_history) {
  laze_tensor *results[3];
  int64_t number;
  begin(_i);
  define("mine::both(Tensor x) -> (Tensor values, Tensor count, Tensor phase)", "mine::both", both_kernel, NULL);
  expect_status(LAZE_OK, laze_library_infer(context, "mine::both", both_types, NULL, note_release, &error));
  expect_status(LAZE_OK, laze_library_override(context, "mine::both", LAZE_KEY_AUTOGRAD, laze_library_not_implemented,
                                               NULL, NULL, &error));
  const laze_argument x = pass(leaf(2, 3));
  ck_assert_int_eq(laze_library_call(context, "mine::both", &x, 1, results, 3), 3);
  ck_assert_int_eq(laze_tensor_requires_grad(results[0]), 1);
  ck_assert_int_eq(laze_tensor_requires_grad(results[1]), 0);
  ck_assert_int_eq(laze_tensor_requires_grad(results[2]), 1);
  ck_assert_int_eq(laze_tensor_read(results[1], LAZE_I64, &number, sizeof number), LAZE_OK);
  ck_assert_int_eq(number, 7);
  const laze_argument plain = pass(filled(context, 2, 3)); /* nobody asks for gradients */
  ck_assert_int_eq(laze_library_call(context, "mine::both", &plain, 1, results, 3), 3);
  ck_assert_int_eq(laze_tensor_requires_grad(results[0]), 0);
  ck_assert_int_eq(laze_library_call(context, "mine::both", &plain, 1, results, 2), 1);
  expect_text(laze_tensor_error(results[0]), "gives 3 results, but there is room for 2");
  end(LAZE_INVALID_ARGUMENT);
}
END_TEST

START_TEST(row_2_4_tangents_are_refused) {
  begin(_i);
  define_scale();
  set_mode(LAZE_FALLBACK_ERROR);
  laze_tensor *x = leaf(2, 3), *tangent = filled(context, 2, 1), *y = call_of("mine::scale", pass(x)), *result;
  expect_status(LAZE_UNSUPPORTED, laze_jvp(&y, 1, &x, &tangent, 1, 0, &result, &error));
  expect_text(error.message, "mine::scale");
  end(LAZE_OK);
}
END_TEST

START_TEST(row_2_4_writes_are_checked_and_rebase_histories) {
  begin(_i);
  define("mine::add_(Tensor(a!) x, Tensor y) -> Tensor(a!)", "mine::add_", add_in_place, NULL);
  set_mode(LAZE_FALLBACK_ERROR);
  laze_tensor *w = leaf(2, 3), *y = filled(context, 2, 1);
  laze_tensor *failed = call_of("mine::add_", pass(w), pass(y));
  expect_text(laze_tensor_error(failed), "mine::add_: argument 'x', a leaf");
  ck_assert_float_eq(first(w, 2), 3);
  laze_set_grad_enabled(context, 0);
  ck_assert_ptr_eq(call_of("mine::add_", pass(w), pass(y)), w); /* where no gradients are recorded, it may */
  laze_set_grad_enabled(context, 1);
  ck_assert_float_eq(first(w, 2), 4);
  /* What is written to follows from the call, and through a view so does its base. */
  laze_tensor *base = laze_mul(filled(context, 4, 1), 1), *part = laze_slice(base, 0, 0, 2, 1);
  ck_assert_ptr_eq(call_of("mine::add_", pass(part), pass(w)), part);
  ck_assert_int_eq(laze_tensor_requires_grad(base), 1);
  ck_assert_float_eq(first(base, 4), 5);
  expect_status(LAZE_UNSUPPORTED, laze_backward(laze_sum(base), &error));
  expect_text(error.message, "mine::add_");
  end(LAZE_FAILED_PRECONDITION);
}
END_TEST

/* --- 2.5: views --- */

START_TEST(row_2_5_a_view_is_written_to_by_nobody) {
  static const int32_t modes[] = {LAZE_FALLBACK_NOTHING, LAZE_FALLBACK_WARN, LAZE_FALLBACK_ERROR};
  begin(_i);
  define("mine::peek(Tensor(a) x) -> Tensor(a)", "mine::peek", copy_kernel, NULL);
  for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
    set_mode(modes[i]);
    laze_tensor *x = laze_mul(leaf(2, 3), 1), *v = call_of("mine::peek", pass(x));
    ck_assert_float_eq(first(v, 2), 3);
    ck_assert_int_eq(laze_tensor_write(v, filled(context, 2, 9), &error), LAZE_FAILED_PRECONDITION);
    expect_text(error.message, "a view is written to that a declared operator gave");
    laze_set_grad_enabled(context, 0);
    ck_assert_int_eq(laze_tensor_write(v, filled(context, 2, 9), &error), LAZE_FAILED_PRECONDITION);
    ck_assert_int_eq(laze_tensor_assign_error(v, filled(context, 2, 9), &error), LAZE_FAILED_PRECONDITION);
    laze_set_grad_enabled(context, 1);
    expect_text(laze_tensor_error(laze_add_(v, 1)), "declared operator");
    ck_assert_float_eq(first(v, 2), 3);
    ck_assert_float_eq(first(x, 2), 3);
  }
  end(LAZE_FAILED_PRECONDITION);
}
END_TEST

/* A write to the argument is one to the view: what was kept of it for gradients has changed. */
START_TEST(row_2_5_versions_are_those_of_the_argument) {
  begin(_i);
  define("mine::peek(Tensor(a) x) -> Tensor(a)", "mine::peek", copy_kernel, NULL);
  laze_tensor *x = filled(context, 2, 3), *w = leaf(2, 1), *v = call_of("mine::peek", pass(x));
  laze_tensor *y = laze_mul(v, w);
  expect_status(LAZE_OK, laze_tensor_write(x, filled(context, 2, 9), &error));
  expect_status(LAZE_FAILED_PRECONDITION, laze_backward(laze_sum(y), &error));
  ck_assert_float_eq(first(y, 2), 3); /* recorded before */
  ck_assert_int_ne(laze_tensor_materialise(v), LAZE_OK);
  expect_text(laze_tensor_error(v), "call the operator after the write");
  end(LAZE_OK);
}
END_TEST

START_TEST(row_2_5_only_the_first_may_share) {
  static const char *const wrong[] = {
      "mine::f(Tensor x, Tensor(a) y) -> Tensor(a)",
      "mine::f(Tensor(a) x) -> (Tensor, Tensor(a))",
      "mine::f(Tensor(a) x, Tensor(a) y) -> Tensor(a)",
      "mine::f(Tensor(a)[] x) -> Tensor(a)",
  };
  begin(_i);
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    expect_status(LAZE_UNSUPPORTED, laze_library_define(context, wrong[i], &error));
    expect_text(error.message, wrong[i]);
  }
  expect_status(LAZE_INVALID_ARGUMENT, laze_library_define(context, "mine::f(Tensor(a!) x) -> Tensor(a)", &error));
  expect_status(LAZE_INVALID_ARGUMENT, laze_library_define(context, "mine::f(Tensor x) -> Tensor(a)", &error));
  end(LAZE_OK);
}
END_TEST

/* --- 2.6: functionalisation --- */

START_TEST(row_2_6_pending_writes_are_seen) {
  begin(_i);
  define_scale();
  define("mine::add_(Tensor(a!) x, Tensor y) -> Tensor(a!)", "mine::add_", add_in_place, NULL);
  laze_tensor *x = filled(context, 4, 1), *part = laze_slice(x, 0, 0, 2, 1);
  laze_add_(x, 2);
  ck_assert_float_eq(first(call_of("mine::scale", pass(part)), 2), 6); /* the view is brought up to date first */
  laze_tensor *old = call_of("mine::scale", pass(x));
  ck_assert_ptr_eq(call_of("mine::add_", pass(part), pass(filled(context, 2, 10))), part);
  ck_assert_float_eq(first(x, 4), 13);  /* through the view */
  ck_assert_float_eq(first(old, 4), 6); /* recorded before */
  ck_assert_int_eq(metric(context, "graphs_run"), 3);
  end(LAZE_OK);
}
END_TEST

static laze_status pass_by(void *self, const laze_library_dispatch *call, laze_tensor **results, laze_error *failure) {
  (void)self;
  return laze_library_redispatch(call, results, failure);
}

START_TEST(row_2_6_schemas_that_write_or_share_are_refused) {
  begin(_i);
  define("mine::add_(Tensor(a!) x, Tensor y) -> Tensor(a!)", "mine::add_", add_in_place, NULL);
  define("mine::peek(Tensor(a) x) -> Tensor(a)", "mine::peek", copy_kernel, NULL);
  define_scale();
  expect_status(LAZE_OK, laze_library_override(context, NULL, LAZE_KEY_VIEWS, pass_by, NULL, NULL, &error));
  laze_tensor *x = filled(context, 2, 1);
  expect_text(laze_tensor_error(call_of("mine::add_", pass(x), pass(x))), "mine::add_: its schema writes to arguments");
  expect_text(laze_tensor_error(call_of("mine::peek", pass(x))), "mine::peek: its schema writes");
  ck_assert_float_eq(first(call_of("mine::scale", pass(x)), 2), 2);
  ck_assert_float_eq(first(x, 2), 1);
  ck_assert_int_eq(calls, 1);
  end(LAZE_UNSUPPORTED);
}
END_TEST

/* --- 1.21: kernels and code that do what they may not --- */

/* What a bad kernel does is chosen by its argument. */
static laze_status bad_kernel(void *self, const laze_library_kernel_call *call, laze_error *failure) {
  const laze_opaque_tensor *x = call->arguments[0].value.tensors;
  float *to = call->results[0].data;
  (void)self, (void)failure;
  memcpy(to, x->data, (size_t)count_elements(x) * sizeof *to);
  switch (call->arguments[1].value.integer) {
  case 1: ((float *)x->data)[0] = 7; break;                                          /* an operand */
  case 2: to[count_elements(x)] = 7; break;                                          /* behind the result */
  case 3: to[-1] = 7; break;                                                         /* before it */
  case 4: ((laze_opaque_tensor *)(uintptr_t)call->results)[0].data = x->data; break; /* an exchange */
  case 5: ((laze_opaque_tensor *)(uintptr_t)x)->data = to; break;
  case 6: ((float *)x->data)[count_elements(x)] = 7; break;
  }
  return LAZE_OK;
}

START_TEST(row_1_21_bad_kernels_are_caught) {
  static const char *const said[] = {"",
                                     "it changed operand 0",
                                     "it wrote outside of result 0",
                                     "it wrote outside of result 0",
                                     "it exchanged the memory",
                                     "it exchanged the memory",
                                     "it wrote outside of operand 0"};
  begin(_i);
  define("mine::bad(Tensor x, int how) -> Tensor", "mine::bad", bad_kernel, NULL);
  laze_tensor *x = laze_tensor_retain(filled(context, 16, 3));
  for (int how = 1; how <= 6; how++) {
    laze_argument which = {.kind = LAZE_PASS_INTEGER, .value.integer = how};
    laze_tensor *y = call_of("mine::bad", pass(x), which), *fine = laze_mul(x, 2);
    ck_assert_int_eq(laze_tensor_materialise(y), LAZE_FAILED_PRECONDITION);
    expect_text(laze_tensor_error(y), "mine::bad");
    expect_text(laze_tensor_error(y), said[how]);
    ck_assert_float_eq(first(fine, 16), 6);
    ck_assert_float_eq(first(x, 16), 3); /* nothing was harmed */
  }
  ck_assert_int_eq(laze_library_check_kernels(context, 0), 1);
  ck_assert_int_eq(laze_library_check_kernels(context, 1), 0);
  laze_tensor_release(x);
  end(LAZE_OK);
}
END_TEST

static laze_status bad_code(void *self, const laze_library_dispatch *call, laze_tensor **results, laze_error *failure) {
  laze_tensor *x = call->arguments[0].value.tensor;
  (void)failure;
  switch (*(int *)self) {
  case 0: results[0] = x; break;
  case 1: results[0] = laze_slice(x, 0, 0, 1, 1); break;
  case 2:
    results[0] = laze_mul(x, 2);
    laze_add_(x, 1);
    break;
  case 3:
    results[0] = laze_mul(x, 2);
    (void)laze_tensor_assign(x, laze_mul(x, 3));
    break;
  case 4: break;
  case 5: results[0] = laze_mul(x, 2); return LAZE_IO_ERROR;
  case 6: results[0] = laze_mul(x, 2); break;
  }
  return LAZE_OK;
}

START_TEST(row_1_21_bad_code_is_caught) {
  static const char *const said[] = {"gave memory of an argument as result 0",
                                     "gave memory of an argument as result 0",
                                     "changed tensor 0",
                                     "changed tensor 0",
                                     "gave no result 0",
                                     "its code failed: IO_ERROR"};
  int how;
  begin(_i);
  define_scale();
  define("mine::peek(Tensor(a) x) -> Tensor(a)", "mine::peek", copy_kernel, NULL);
  define("mine::add_(Tensor(a!) x, Tensor y) -> Tensor(a!)", "mine::add_", add_in_place, NULL);
  expect_status(LAZE_OK, laze_library_override(context, NULL, LAZE_KEY_VIEWS, bad_code, &how, NULL, &error));
  for (how = 0; how < 6; how++) {
    laze_tensor *failed = call_of("mine::scale", pass(filled(context, 2, 3)));
    expect_text(laze_tensor_error(failed), "mine::scale: ");
    expect_text(laze_tensor_error(failed), said[how]);
  }
  laze_tensor *x = filled(context, 2, 3);
  expect_text(laze_tensor_error(call_of("mine::peek", pass(x))), "gave memory of its own as result 0");
  expect_text(laze_tensor_error(call_of("mine::add_", pass(x), pass(x))), "gave a new tensor as result 0");
  how = 1;
  ck_assert_float_eq(first(call_of("mine::peek", pass(x)), 1), 3); /* a view it is */
  how = 6;
  ck_assert_float_eq(first(call_of("mine::scale", pass(x)), 2), 6);
  end(LAZE_FAILED_PRECONDITION);
}
END_TEST

/* --- arguments --- */

static char seen[400];

static laze_status show_kernel(void *self, const laze_library_kernel_call *call, laze_error *failure) {
  size_t length = 0;
  (void)self, (void)failure;
  for (int32_t i = 0; i < call->argument_count; i++) {
    const laze_library_value *value = &call->arguments[i];
    char *end = seen + length;
    const size_t room = sizeof seen - length;
    switch (value->kind) {
    case LAZE_PASS_NONE: length += (size_t)snprintf(end, room, "none "); break;
    case LAZE_PASS_TENSOR: length += (size_t)snprintf(end, room, "tensor "); break;
    case LAZE_PASS_TENSORS: length += (size_t)snprintf(end, room, "%d tensors ", (int)value->count); break;
    case LAZE_PASS_INTEGER: length += (size_t)snprintf(end, room, "int %d ", (int)value->value.integer); break;
    case LAZE_PASS_BOOL: length += (size_t)snprintf(end, room, "bool %d ", (int)value->value.integer); break;
    case LAZE_PASS_DTYPE:
      length += (size_t)snprintf(end, room, "%s ", laze_dtype_name((laze_dtype)value->value.integer));
      break;
    case LAZE_PASS_REAL: length += (size_t)snprintf(end, room, "real %g ", value->value.real); break;
    case LAZE_PASS_STRING: length += (size_t)snprintf(end, room, "'%s' ", value->value.string); break;
    case LAZE_PASS_INTEGERS:
      length += (size_t)snprintf(end, room, "%d ints to %d ", (int)value->count,
                                 value->count ? (int)value->value.integers[value->count - 1] : -1);
      break;
    case LAZE_PASS_REALS:
      length += (size_t)snprintf(end, room, "%d reals to %g ", (int)value->count,
                                 value->count ? value->value.reals[value->count - 1] : -1);
      break;
    case LAZE_PASS_STRINGS:
      length += (size_t)snprintf(end, room, "%d strings to '%s' ", (int)value->count,
                                 value->count ? value->value.strings[value->count - 1] : "");
      break;
    default: length += (size_t)snprintf(end, room, "? ");
    }
  }
  memcpy(call->results[0].data, call->arguments[0].value.tensors->data, 4);
  return LAZE_OK;
}

START_TEST(arguments_of_every_type_reach_the_kernel) {
  static const int64_t two[] = {8, 9};
  static const double reals[] = {0.5, 1.5};
  static const char *const strings[] = {"one", "two"};
  begin(_i);
  define("mine::show.all(Tensor x, Tensor? y, Tensor[] list, Scalar s, int i, SymInt n, float f, bool b, ScalarType d, "
         "str t, int[2] pair, SymInt[]? sizes, float[] reals, str[] strings, *, Scalar later=3, int? no=None, "
         "float e=1.5e-3, str q=\"so\", bool yes=True, int[] ones=[1, 2], ScalarType g=f64) -> Tensor",
         "mine::show.all", show_kernel, NULL);
  laze_tensor *x = filled(context, 1, 1), *pair[] = {x, x};
  const laze_argument all[] = {pass(x),
                               {.kind = LAZE_PASS_NONE},
                               {.kind = LAZE_PASS_TENSORS, .count = 2, .value.tensors = pair},
                               {.kind = LAZE_PASS_BOOL, .value.integer = 1},
                               {.kind = LAZE_PASS_INTEGER, .value.integer = -4},
                               {.kind = LAZE_PASS_INTEGER, .value.integer = 5},
                               {.kind = LAZE_PASS_INTEGER, .value.integer = 6},
                               {.kind = LAZE_PASS_INTEGER, .value.integer = 1},
                               {.kind = LAZE_PASS_DTYPE, .value.integer = LAZE_I32},
                               {.kind = LAZE_PASS_STRING, .value.string = "text"},
                               {.kind = LAZE_PASS_INTEGER, .value.integer = 3},
                               {.kind = LAZE_PASS_INTEGERS, .count = 2, .value.integers = two},
                               {.kind = LAZE_PASS_REALS, .count = 2, .value.reals = reals},
                               {.kind = LAZE_PASS_STRINGS, .count = 2, .value.strings = strings}};
  ck_assert_float_eq(first(call_with("mine::show.all", all, 14), 1), 1);
  ck_assert_str_eq(seen, "tensor none 2 tensors bool 1 int -4 int 5 real 6 bool 1 i32 'text' 2 ints to 3 2 ints to 9 "
                         "2 reals to 1.5 2 strings to 'two' int 3 none real 0.0015 'so' bool 1 2 ints to 2 f64 ");
  /* A number that is a Scalar is an input: another one compiles nothing. */
  laze_argument others[15];
  memcpy(others, all, sizeof all);
  others[14] = named("later", pass_real(0.25));
  const int64_t misses = metric(context, "trace_cache_misses");
  for (int i = 0; i < 3; i++) {
    others[14].value.real = i + 0.25;
    ck_assert_float_eq(first(call_with("mine::show.all", others, 15), 1), 1);
    expect_text(seen, i == 2 ? "real 2.25" : "real ");
  }
  ck_assert_int_eq(metric(context, "trace_cache_misses"), misses + 1);
  end(LAZE_OK);
}
END_TEST

START_TEST(wrong_arguments_are_errors) {
  begin(_i);
  define_scale();
  laze_tensor *x = filled(context, 2, 1), *none = NULL;
  const laze_argument text = {.kind = LAZE_PASS_STRING, .value.string = "half"};
  expect_text(laze_tensor_error(call_of("mine::scale", pass(x), text)), "the schema is mine::scale(Tensor x");
  expect_text(laze_tensor_error(call_of("mine::scale", named("by", pass_real(1)))), "mine::scale");
  expect_text(laze_tensor_error(call_of("mine::scale", pass_real(1))), "mine::scale");
  expect_text(laze_tensor_error(call_of("mine::scale", pass(none))), "argument 'x' is NULL");
  expect_text(laze_tensor_error(call_of("mine::scale", pass(x), named("to", pass_real(1)))), "mine::scale");
  expect_text(laze_tensor_error(call_of("mine::unheard", pass(x))), "there is no operator 'mine::unheard'");
  expect_text(laze_tensor_error(call_of("mine::unheard", pass(x))), "library_test.c:"); /* where it was called */
  laze_context *other = new_context();
  laze_scope *own = laze_scope_begin(other);
  expect_text(laze_tensor_error(call_of("mine::scale", pass(filled(other, 2, 1)))), "of another context");
  ck_assert_int_eq(laze_scope_end(own), LAZE_OK);
  laze_context_release(other);
  laze_tensor *failed = call_of("mine::scale", pass(call_of("mine::unheard", pass(x))));
  expect_text(laze_tensor_error(failed), "there is no operator 'mine::unheard'"); /* is passed on */
  ck_assert_int_eq(calls, 0);
  ck_assert_float_eq(first(call_of("mine::scale", pass(x)), 2), 2);
  end(LAZE_INVALID_ARGUMENT);
}
END_TEST

START_TEST(wrong_schemas_are_errors) {
  static const char *const wrong[] = {
      "",
      "scale(Tensor x) -> Tensor",
      "mine::(Tensor x) -> Tensor",
      "mine::f",
      "mine::f(",
      "mine::f(Tensor) -> Tensor",
      "mine::f(Tensor x -> Tensor",
      "mine::f(Tensor x) Tensor",
      "mine::f(Tensor x) -> Tensor and more",
      "mine::f(Tensor x) -> int",
      "mine::f(Tensor x) -> Tensor[]",
      "mine::f(Tensor x) -> Tensor?",
      "mine::f(Tensor x) -> ()",
      "mine::f(Quaternion x) -> Tensor",
      "mine::f(bool[] x) -> Tensor",
      "mine::f(Tensor x, Tensor x) -> Tensor",
      "mine::f(Tensor x=1) -> Tensor",
      "mine::f(int x=half) -> Tensor",
      "mine::f(int x=99999999999999999999) -> Tensor",
      "mine::f(float x=1e) -> Tensor",
      "mine::f(int x=None) -> Tensor",
      "mine::f(str x=\"open) -> Tensor",
      "mine::f(int[] x=[1, 2) -> Tensor",
      "mine::f(ScalarType x=f31) -> Tensor",
      "mine::f(Tensor(a!)[] x) -> ()",
      "mine::f(Tensor(!) x) -> ()",
      "mine::f.(Tensor x) -> Tensor",
      "mine::f(Tensor x) -> (Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor)",
      "mine::f(int[99999999999999999999] x) -> Tensor",
  };
  char text[64];
  size_t needed;
  begin(_i);
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    const laze_status status = laze_library_define(context, wrong[i], &error);
    ck_assert_msg(status == LAZE_INVALID_ARGUMENT || status == LAZE_UNSUPPORTED, "%s", wrong[i]);
    expect_text(error.message, "laze_library_define: ");
  }
  expect_status(LAZE_INVALID_ARGUMENT, laze_library_define(context, NULL, &error));
  char *longest = malloc(10000);
  memset(longest, 'x', 9999);
  longest[9999] = 0;
  expect_status(LAZE_INVALID_ARGUMENT, laze_library_define(context, longest, &error));
  free(longest);
  define_scale();
  expect_status(LAZE_FAILED_PRECONDITION, laze_library_define(context, "mine::scale(Tensor x) -> Tensor", &error));
  expect_text(error.message, "there is an operator 'mine::scale' already");
  expect_status(LAZE_OK, laze_library_get_schema(context, "mine::scale", text, sizeof text, &needed, &error));
  ck_assert_str_eq(text, "mine::scale(Tensor x, float by=2.0) -> Tensor");
  expect_status(LAZE_OK, laze_library_get_schema(context, "mine::scale", text, 5, NULL, &error));
  ck_assert_str_eq(text, "mine");
  expect_status(LAZE_OK, laze_library_get_schema(context, "mine::scale", NULL, 0, &needed, &error));
  ck_assert_uint_eq(needed, 45);
  expect_status(LAZE_NOT_FOUND, laze_library_get_schema(context, "mine::f", text, sizeof text, NULL, &error));
  end(LAZE_OK);
}
END_TEST

/* --- failures --- */

START_TEST(a_failing_kernel_is_an_error_of_its_results) {
  begin(_i);
  define_scale();
  laze_tensor *x = filled(context, 2, 1),
              *failed = laze_tensor_retain(laze_add(call_of("mine::scale", pass(x), pass_real(-1)), 1)),
              *fine = laze_tensor_retain(laze_add(call_of("mine::scale", pass(x), pass_real(3)), 1));
  ck_assert_int_eq(laze_step_end(scope, &error), LAZE_IO_ERROR);
  scope = laze_scope_begin(context);
  expect_text(laze_tensor_error(failed), "kernel 'mine::scale': the pump is off");
  ck_assert_float_eq(first(fine, 2), 4);
  laze_tensor_release(failed), laze_tensor_release(fine);
  end(LAZE_OK);
}
END_TEST

static laze_status wrong_types(void *self, const laze_library_kernel_call *call, laze_opaque_type *results,
                               laze_error *failure) {
  (void)failure;
  results[0] = (laze_opaque_type){LAZE_F32, 1, {call->arguments[0].value.tensors->sizes[0] + ++*(int *)self}};
  return LAZE_OK;
}

START_TEST(a_rule_that_changes_its_mind_is_an_error) {
  int more = 0;
  begin(_i);
  define_scale();
  expect_status(LAZE_OK, laze_library_infer(context, "mine::scale", wrong_types, &more, NULL, &error));
  laze_tensor *y = call_of("mine::scale", pass(filled(context, 3, 1)));
  ck_assert_int_eq(laze_tensor_size(y, 0), 4);
  ck_assert_int_eq(laze_tensor_materialise(y), LAZE_INVALID_ARGUMENT);
  expect_text(laze_tensor_error(y), "another dtype or shape");
  ck_assert_int_eq(calls, 0);
  expect_status(LAZE_FAILED_PRECONDITION,
                laze_library_infer(context, "mine::scale", wrong_types, &more, note_release, &error));
  ck_assert_int_eq(releases, 1);
  end(LAZE_OK);
}
END_TEST

/* Taken back while a graph that uses it is pending: what was compiled keeps the kernel, what was not is an error. */
START_TEST(operators_are_taken_back) {
  begin(_i);
  laze_tensor *x = filled(context, 2, 1);
  expect_status(LAZE_NOT_FOUND, laze_library_remove(context, "mine::scale", &error));
  expect_status(LAZE_OK, laze_library_define(context, "mine::scale(Tensor x, float by=2.0) -> Tensor", &error));
  expect_text(laze_tensor_error(call_of("mine::scale", pass(x))), "it has no kernel for this backend");
  expect_status(LAZE_OK,
                laze_library_implement(context, "mine::scale", NULL, scale_kernel, NULL, note_release, &error));
  ck_assert_float_eq(first(call_of("mine::scale", pass(x)), 2), 2);
  laze_tensor *compiled = call_of("mine::scale", pass(x)), *pending = laze_neg(call_of("mine::scale", pass(x)));
  expect_status(LAZE_OK, laze_library_remove(context, "mine::scale", &error));
  ck_assert_int_eq(releases, 0);
  ck_assert_float_eq(first(compiled, 2), 2);
  ck_assert_int_eq(laze_tensor_materialise(pending), LAZE_NOT_FOUND);
  expect_text(laze_tensor_error(pending), "mine::scale");
  ck_assert_float_eq(first(x, 2), 1);
  expect_text(laze_tensor_error(call_of("mine::scale", pass(x))), "there is no operator");
  static double three = 3;
  define("mine::scale(Tensor x, float by=2.0) -> Tensor", "mine::scale", scale_kernel, &three);
  ck_assert_float_eq(first(call_of("mine::scale", pass(x)), 2), 6);
  ck_assert_float_eq(first(compiled, 2), 2);
  end(LAZE_NOT_FOUND);
  ck_assert_int_eq(releases, 2);
}
END_TEST

START_TEST(sizes_that_values_give_are_found) {
  begin(_i);
  define_scale();
  float data[] = {1, 0, 3, 0};
  laze_tensor *x = laze_tensor_from_data(context, LAZE_F32, LAZE_SHAPE(4), data, sizeof data);
  laze_tensor *some = laze_masked_select(x, laze_ne(x, 0)), *y = call_of("mine::scale", pass(some));
  ck_assert_int_eq(metric(context, "size_syncs"), 0); /* a result like the argument needs no sizes */
  ck_assert_float_eq(first(y, 2), 2);
  define("mine::both(Tensor x) -> (Tensor values, Tensor count, Tensor phase)", "mine::both", both_kernel, NULL);
  expect_status(LAZE_OK, laze_library_infer(context, "mine::both", both_types, NULL, NULL, &error));
  laze_tensor *other = laze_masked_select(x, laze_eq(x, 0)), *z = call_of("mine::both", pass(other));
  ck_assert_int_eq(laze_tensor_size(z, 0), 2); /* a rule of its own does */
  ck_assert_float_eq(first(z, 2), 0);
  end(LAZE_OK);
}
END_TEST

/* --- text and traces --- */

static laze_status parse(const char *text, laze_graph **out) {
  return laze_graph_parse(context, text, (int64_t)strlen(text), "test.lz", out, &error);
}

START_TEST(calls_are_read_and_printed) {
  static const char in_text[] = "laze 1\n"
                                "graph @g(%x: f32[3]) -> f32[3] {\n"
                                "  %0 = opaque [%x], name=\"mine::scale\", reals=[0.5] : f32[3]\n"
                                "  return %0\n"
                                "}\n",
                    printed[] = "laze 1\n"
                                "graph @g(%x: f32[3]) -> f32[3] {\n"
                                "  %0 = opaque [%x], name=\"mine::scale\", reals=[0.5], version=1, dtypes=[\"f32\"], "
                                "ranks=[1], sizes=[3] : f32[3]\n"
                                "  return %0\n"
                                "}\n",
                    strange[] = "laze 1\n"
                                "graph @g(%x: f32[3]) -> f32[3] {\n"
                                "  %0 = opaque [%x, %x], name=\"mine::scale\", integers=[-7], version=1, "
                                "dtypes=[\"f32\"], ranks=[1], sizes=[3] : f32[3]\n"
                                "  return %0\n"
                                "}\n";
  laze_graph *graph;
  laze_text text;
  test_arrays inputs, outputs;
  test_random random = {.state = 1};
  const test_range range = {.low = 0, .high = 0};
  begin(_i);
  expect_status(LAZE_NOT_FOUND, parse(in_text, &graph));
  expect_text(error.message, "test.lz:3:");
  expect_text(error.message, "there is no kernel 'mine::scale'");
  define_scale();
  expect_status(LAZE_OK, parse(in_text, &graph));
  laze_text_init(&text, context);
  laze_graph_print(&text, graph, true);
  ck_assert_str_eq(laze_text_get(&text), printed);
  laze_text_deinit(&text);
  laze_graph_destroy(graph);
  expect_status(LAZE_OK, parse(printed, &graph));
  laze_graph_destroy(graph);
  /* What text says may be no call of that schema. */
  expect_status(LAZE_OK, parse(strange, &graph));
  test_inputs(context, graph, &random, &range, &inputs);
  expect_status(LAZE_INVALID_ARGUMENT, test_run(context, laze_backend_at(_i), graph, NULL, &inputs, &outputs, &error));
  expect_text(error.message, "none of a call of mine::scale(Tensor x");
  ck_assert_int_eq(calls, 0);
  test_arrays_release(&inputs);
  laze_graph_destroy(graph);
  end(LAZE_OK);
}
END_TEST

/* --- gradients of the program's --- */

static laze_status scale_backward(void *self, const laze_library_gradient_call *call, laze_tensor **results,
                                  laze_error *failure) {
  (void)self, (void)failure;
  calls += 10000;
  ck_assert_int_eq(call->argument_count, 2);
  ck_assert_int_eq(call->input_count, 1);
  ck_assert_int_eq(call->output_count, 1);
  ck_assert_ptr_eq(call->arguments[0].value.tensor, call->inputs[0]);
  if (call->needed[0]) results[0] = laze_mul(call->given[0], call->arguments[1].value.real);
  return LAZE_OK;
}

START_TEST(gradients_are_what_the_program_says) {
  begin(_i);
  define_scale();
  expect_status(LAZE_OK,
                laze_library_differentiate(context, "mine::scale", scale_backward, NULL, note_release, &error));
  laze_tensor *x = leaf(2, 3), *y = call_of("mine::scale", pass(x), pass_real(5)), *result;
  expect_status(LAZE_OK,
                laze_backward_with(&(laze_tensor *){laze_sum(laze_mul(y, y))}, NULL, 1, LAZE_CREATE_GRAPH, &error));
  ck_assert_float_eq(first(laze_tensor_grad(x), 2), 150); /* 2 y 5 */
  laze_tensor *one = filled(context, 2, 1);
  expect_status(LAZE_OK, laze_jvp(&y, 1, &x, &one, 1, 0, &result, &error));
  ck_assert_float_eq(first(result, 2), 5);
  ck_assert_int_eq(laze_tensor_requires_grad(call_of("mine::scale", pass(filled(context, 2, 1)))), 0);
  expect_status(LAZE_FAILED_PRECONDITION,
                laze_library_differentiate(context, "mine::scale", scale_backward, NULL, note_release, &error));
  ck_assert_int_eq(releases, 1);
  define("mine::add_(Tensor(a!) x, Tensor y) -> Tensor(a!)", "mine::add_", add_in_place, NULL);
  expect_status(LAZE_UNSUPPORTED,
                laze_library_differentiate(context, "mine::add_", scale_backward, NULL, note_release, &error));
  ck_assert_int_eq(releases, 2);
  laze_tensor_require_grad(x, 0, &error) == LAZE_OK ? (void)0 : ck_abort_msg("%s", error.message);
  end(LAZE_OK);
  ck_assert_int_eq(releases, 5);
}
END_TEST

/* --- memory --- */

/* What a program does with operators, in a context whose memory runs out somewhere: no crash, nothing left, and the
 * right number or a status. */
static laze_status run_program(test_failing_allocator *state, int backend, float *value) {
  const laze_status none = LAZE_OUT_OF_MEMORY;
  laze_status status = test_failing_context(state, laze_backend_at(backend)->name, "noarenas", "", &context);
  if (status != LAZE_OK) return none;
  scope = laze_scope_begin(context);
  laze_set_grad_enabled(context, 1);
  status = laze_library_define(context, "mine::scale(Tensor x, float by=2.0) -> Tensor", &error);
  const laze_status given =
      laze_library_implement(context, "mine::scale", NULL, scale_kernel, NULL, note_release, &error);
  if (status == LAZE_OK) status = given;
  const laze_status gradient =
      laze_library_differentiate(context, "mine::scale", scale_backward, NULL, note_release, &error);
  if (status == LAZE_OK) status = gradient;
  laze_tensor *x = filled(context, 2, 3), *y = NULL;
  if (status == LAZE_OK) status = laze_tensor_require_grad(x, 1, &error);
  if (status == LAZE_OK) {
    const laze_argument arguments[] = {pass(x), pass_real(5)};
    laze_library_call(context, "mine::scale", arguments, 2, &y, 1);
    status = laze_backward(laze_sum(y), &error);
  }
  float data[2] = {0, 0};
  laze_tensor *grad = status == LAZE_OK ? laze_tensor_grad(x) : NULL;
  if (grad) status = laze_tensor_read(grad, LAZE_F32, data, sizeof data);
  *value = data[0];
  (void)laze_scope_end(scope);
  laze_context_release(context);
  return grad ? status : none;
}

START_TEST(memory_may_run_out_at_any_point) {
  if (test_fuses(laze_backend_at(_i))) return; /* a compilation for each allocation; the calls are the same ones */
  for (int all_after = 0; all_after < 2; all_after++) {
    bool done = false;
    for (int64_t at = 1; !done; at++) {
      test_failing_allocator state = {.refuse_at = at, .refuse_all_after = all_after};
      float value = 0;
      releases = 0;
      const laze_status status = run_program(&state, _i, &value);
      ck_assert_msg(state.live == 0, "%lld blocks are left when allocation %lld fails", (long long)state.live,
                    (long long)at);
      if (status == LAZE_OK) ck_assert_float_eq(value, 5);
      ck_assert_msg(releases == 2 || status != LAZE_OK, "%d of 2 are released", (int)releases);
      done = state.calls < at;
      ck_assert_msg(status == LAZE_OK || !done, "it fails although there is memory");
    }
  }
}
END_TEST

/* --- threads --- */

static void *run_often(void *unused) {
  for (int i = 0; i < 40; i++) {
    laze_scope *own = laze_scope_begin(context);
    laze_tensor *x = filled(context, 5, 2), *y = call_of("mine::scale", pass(x), pass_real(1.5));
    ck_assert_float_eq(first(laze_add(y, x), 5), 5);
    ck_assert_int_eq(laze_scope_end(own), LAZE_OK);
  }
  return unused;
}

START_TEST(threads_share_operators) {
  pthread_t threads[4];
  laze_error own;
  begin(_i);
  define_scale();
  for (int i = 0; i < 4; i++) ck_assert_int_eq(pthread_create(&threads[i], NULL, run_often, NULL), 0);
  for (int i = 0; i < 100; i++) {
    ck_assert_int_eq(laze_library_define(context, "other::f(Tensor x, float by) -> Tensor", &own), LAZE_OK);
    ck_assert_int_eq(laze_library_implement(context, "other::f", NULL, scale_kernel, NULL, note_release, &own),
                     LAZE_OK);
    ck_assert_int_eq(laze_library_override(context, "other::f", LAZE_KEY_VIEWS, pass_by, NULL, note_release, &own),
                     LAZE_OK);
    ck_assert_int_eq(laze_library_remove(context, "other::f", &own), LAZE_OK);
  }
  for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
  ck_assert_int_eq(calls, 160);
  ck_assert_int_eq(releases, 200);
  end(LAZE_OK);
}
END_TEST

int main(void) {
  const TTest *const all[] = {row_2_1_an_operator_with_a_kernel_alone_runs,
                              row_2_1_a_backend_has_a_kernel_of_its_own,
                              row_2_1_a_plugin_overrides_a_fallback,
                              row_2_2_nothing_is_silent,
                              row_2_2_a_warning_comes_backward_and_once,
                              row_2_2_an_error_comes_backward,
                              row_2_3_edges_come_from_all_tensor_arguments,
                              row_2_3_what_is_written_gets_no_node,
                              row_2_3_what_requires_a_gradient_already_gets_a_hook,
                              row_2_4_only_floats_and_complex_numbers_have_a_history,
                              row_2_4_tangents_are_refused,
                              row_2_4_writes_are_checked_and_rebase_histories,
                              row_2_5_a_view_is_written_to_by_nobody,
                              row_2_5_versions_are_those_of_the_argument,
                              row_2_5_only_the_first_may_share,
                              row_2_6_pending_writes_are_seen,
                              row_2_6_schemas_that_write_or_share_are_refused,
                              row_1_21_bad_kernels_are_caught,
                              row_1_21_bad_code_is_caught,
                              arguments_of_every_type_reach_the_kernel,
                              wrong_arguments_are_errors,
                              wrong_schemas_are_errors,
                              a_failing_kernel_is_an_error_of_its_results,
                              a_rule_that_changes_its_mind_is_an_error,
                              operators_are_taken_back,
                              sizes_that_values_give_are_found,
                              calls_are_read_and_printed,
                              gradients_are_what_the_program_says,
                              memory_may_run_out_at_any_point,
                              threads_share_operators};
  TCase *tests = tcase_create("library");
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) conformance_add(tests, all[i]);
  return conformance_main(tests);
}
