/* Calls of declared operators: their arguments, texts and gradients, and what is left where something goes wrong. */
#include "ir/text/text.h"
#include "tests/conformance/library_support.h"
#include "tests/support/failing_allocator.h"
#include "tests/support/run.h"

#include <pthread.h>

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
  expect_text(laze_tensor_error(call_of("mine::unheard", pass(x))), "library_support.h:"); /* where it was called */
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
  const TTest *const all[] = {arguments_of_every_type_reach_the_kernel,
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
  TCase *tests = tcase_create("library faults");
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) conformance_add(tests, all[i]);
  return conformance_main(tests);
}
