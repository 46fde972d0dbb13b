/* What compiled functions refuse, and what they leave where something goes wrong. */
#include "tests/support/failing_allocator.h"
#include "tests/unit/tracing/aot_support.h"

/* --- what is refused --- */

static laze_status writes_to_first(void *self, laze_tensor *const *in, laze_tensor **out, laze_error *failure) {
  (void)self;
  out[0] = laze_exp(in[1]);
  return laze_tensor_write(in[0], laze_mul(in[0], 2), failure);
}

/* Of two inputs in one memory none is written to: the graph has each on its own. */
START_TEST(inputs_that_share_memory_are_refused_where_one_is_written_to) {
  laze_tensor *x = matrix(2, 3, 0), *y, *shared[] = {laze_clone(x), NULL}, *apart[] = {laze_clone(x), laze_clone(x)};
  laze_aot *aot;
  shared[1] = laze_t(shared[0]);
  assert_fails(laze_aot_compile(writes_to_first, NULL, shared, 2, 1, NULL, &aot, &error), LAZE_UNSUPPORTED,
               "input 0 is written to, and may have elements in common with input 1");
  ck_assert_ptr_null(aot);
  aot = compile(writes_to_first, NULL, apart, 2, 1);
  shared[1] = laze_view(shared[0], LAZE_SHAPE(2, 3));
  assert_fails(laze_aot_call(aot, shared, 2, &y, 1, &error), LAZE_UNSUPPORTED, "in common with input 1");
  ck_assert_ptr_null(y);
  assert_same(shared[0], x);
  laze_aot_release(aot);
  shared[1] = laze_t(shared[0]);
  aot = compile(gives_views, NULL, shared, 2, 2); /* nobody writes */
  laze_aot_release(aot);
}
END_TEST

/* Buffers are pieces of one allocation in many programs: that one is written to does not concern the other, and the
 * tensor that both are of gets value and history as without compiling. */
START_TEST(pieces_that_share_no_element_are_inputs_like_others) {
  for (int axis = 0; axis < 2; axis++) { /* rows, and columns */
    laze_tensor *leaves[2], *bases[2], *y[2];
    for (int compiled = 0; compiled < 2; compiled++) {
      laze_aot *aot = NULL;
      leaves[compiled] = leaf(matrix(4, 4, 0.5f));
      bases[compiled] = laze_mul(leaves[compiled], leaves[compiled]);
      laze_tensor *base = bases[compiled],
                  *pieces[] = {laze_slice(base, axis, 0, 2, 1), laze_slice(base, axis, 2, 4, 1)};
      if (compiled) aot = compile(writes_to_first, NULL, pieces, 2, 1);
      if (aot)
        assert_ok(laze_aot_call(aot, pieces, 2, &y[compiled], 1, &error));
      else
        assert_ok(writes_to_first(NULL, pieces, &y[compiled], &error));
      laze_tensor *loss = laze_add(laze_sum(laze_mul(base, base)), laze_sum(y[compiled]));
      assert_ok(laze_backward(loss, &error));
      laze_aot_release(aot);
    }
    assert_near(y[1], y[0]);
    assert_near(bases[1], bases[0]);
    assert_near(laze_tensor_grad(leaves[1]), laze_tensor_grad(leaves[0]));
  }
}
END_TEST

/* A tensor that is passed twice is one input, also where it is written to, and gets one gradient. */
START_TEST(inputs_that_come_twice_are_one) {
  laze_tensor *x = leaf(matrix(2, 3, 0.5f)), *inputs[] = {x, x}, *outputs[2], *other[] = {x, leaf(matrix(2, 3, 0))};
  laze_aot *aot = compile(gives_input, NULL, inputs, 2, 2);
  ck_assert_int_eq(input_of(aot, 1).same_as, 0);
  ck_assert_int_eq(laze_graph_input_count(laze_aot_graph(aot, LAZE_AOT_FORWARD)), 1);
  assert_ok(laze_aot_call(aot, inputs, 2, outputs, 2, &error));
  assert_same(outputs[1], laze_mul(x, 2));
  assert_ok(laze_backward(laze_sum(outputs[1]), &error));
  assert_same(laze_tensor_grad(x), laze_full(context, LAZE_SHAPE(2, 3), 2, LAZE_F32));
  assert_fails(laze_aot_call(aot, other, 2, outputs, 2, &error), LAZE_INVALID_ARGUMENT, "compile it for these inputs");
  laze_aot_release(aot);
  laze_tensor *twice[] = {laze_clone(x), NULL}, *y;
  twice[0] = twice[1] = laze_detach(twice[0]);
  aot = compile(writes_to_first, NULL, twice, 2, 1);
  assert_ok(laze_aot_call(aot, twice, 2, &y, 1, &error));
  assert_same(twice[1], laze_mul(laze_detach(x), 2));
  assert_near(y, laze_exp(laze_detach(x)));
  laze_aot_release(aot);
}
END_TEST

/* Inputs of a call are like those of the trace, or nothing happens. */
START_TEST(calls_that_do_not_fit_are_refused) {
  laze_tensor *x = matrix(2, 3, 0), *y = NULL, *bad[2], *none = NULL;
  laze_aot_saved *saved;
  laze_aot *aot = compile(gives_new, NULL, &x, 1, 1);
  bad[0] = matrix(3, 2, 0);
  assert_fails(laze_aot_call(aot, bad, 1, &y, 1, &error), LAZE_INVALID_ARGUMENT,
               "input 0 is f32[3,2] of strides (2,1), and the function was compiled for f32[2,3] of strides (3,1)");
  bad[0] = laze_t(matrix(3, 2, 0));
  assert_fails(laze_aot_call(aot, bad, 1, &y, 1, &error), LAZE_INVALID_ARGUMENT, "of strides (1,2)");
  bad[0] = leaf(matrix(2, 3, 0));
  assert_fails(laze_aot_call(aot, bad, 1, &y, 1, &error), LAZE_INVALID_ARGUMENT, "input 0 requires a gradient");
  assert_ok(laze_aot_forward(aot, bad, 1, &y, 1, &saved, &error)); /* which records none */
  ck_assert_ptr_null(saved);
  assert_fails(laze_aot_call(aot, &none, 1, &y, 1, &error), LAZE_INVALID_ARGUMENT, "NULL");
  assert_fails(laze_aot_call(aot, bad, 2, &y, 1, &error), LAZE_INVALID_ARGUMENT, "2 inputs and 1 outputs are given");
  assert_fails(laze_aot_call(aot, &x, 1, &y, 0, &error), LAZE_INVALID_ARGUMENT, "1 inputs and 0 outputs are given");
  assert_fails(laze_aot_call(NULL, &x, 1, &y, 1, &error), LAZE_INVALID_ARGUMENT, "must not be NULL");
  assert_fails(laze_aot_backward(NULL, &x, 1, 0, &y, 1, &error), LAZE_INVALID_ARGUMENT, "must not be NULL");
  ck_assert_ptr_null(y);
  laze_scope *inner = laze_scope_begin(context);
  bad[0] = matrix(2, 3, 0);
  (void)laze_scope_end(inner);
  assert_fails(laze_aot_call(aot, bad, 1, &y, 1, &error), LAZE_INVALID_ARGUMENT, "released");
  laze_aot_release(aot);
  laze_aot_release(NULL);
  laze_aot_saved_release(NULL);
}
END_TEST

static laze_tensor *outside;

static laze_status uses_outside(void *self, laze_tensor *const *in, laze_tensor **out, laze_error *failure) {
  (void)self, (void)failure;
  out[0] = laze_mul(in[0], outside);
  return LAZE_OK;
}

static laze_status fails_half_way(void *self, laze_tensor *const *in, laze_tensor **out, laze_error *failure) {
  (void)self, (void)failure;
  out[0] = laze_exp(in[0]);
  laze_mul_(in[0], 2);
  return LAZE_NOT_FOUND;
}

static laze_status gives_nothing(void *self, laze_tensor *const *in, laze_tensor **out, laze_error *failure) {
  (void)self, (void)in, (void)out, (void)failure;
  return LAZE_OK;
}

static laze_status releases_inputs(void *self, laze_tensor *const *in, laze_tensor **out, laze_error *failure) {
  (void)self, (void)failure;
  out[0] = laze_exp(in[0]);
  laze_tensor_take(in[0]);
  laze_tensor_release(in[0]);
  return LAZE_OK;
}

static laze_status begins_to_require(void *self, laze_tensor *const *in, laze_tensor **out, laze_error *failure) {
  (void)self;
  out[0] = laze_exp(in[0]);
  return laze_tensor_require_grad(in[0], 1, failure);
}

static laze_status sets_input(void *self, laze_tensor *const *in, laze_tensor **out, laze_error *failure) {
  (void)self;
  out[0] = laze_exp(in[0]);
  return laze_tensor_set(in[0], out[0], failure);
}

static laze_status keeps_all(void *self, laze_tensor *const *in, laze_tensor **out, laze_error *failure) {
  laze_tensor **kept = self;
  (void)failure;
  out[0] = laze_exp(in[0]);
  kept[0] = laze_tensor_retain(in[0]);
  kept[1] = laze_tensor_retain(out[0]);
  return LAZE_OK;
}

static laze_status compiles(void *self, laze_tensor *const *in, laze_tensor **out, laze_error *failure) {
  laze_aot *aot = NULL;
  (void)self;
  out[0] = in[0];
  return laze_aot_compile(gives_new, NULL, in, 1, 1, NULL, &aot, failure);
}

/* What goes wrong in a function is an error that says so, and leaves inputs, mode and trace as they were. */
START_TEST(faults_of_the_function_are_errors) {
  laze_tensor *x = leaf(matrix(2, 3, 0)), *y, *kept[2];
  laze_aot *aot;
  outside = leaf(matrix(2, 3, 1));
  assert_fails(laze_aot_compile(uses_outside, NULL, &x, 1, 1, NULL, &aot, &error), LAZE_UNSUPPORTED,
               "mul.Tensor is called with a tensor from outside that requires a gradient");
  assert_fails(laze_aot_compile(fails_half_way, NULL, &x, 1, 1, NULL, &aot, &error), LAZE_NOT_FOUND,
               "laze_aot_compile: the function failed with NOT_FOUND");
  assert_fails(laze_aot_compile(gives_nothing, NULL, &x, 1, 1, NULL, &aot, &error), LAZE_INVALID_ARGUMENT,
               "output 0 is NULL");
  assert_fails(laze_aot_compile(releases_inputs, NULL, &x, 1, 1, NULL, &aot, &error), LAZE_INVALID_ARGUMENT,
               "input 0 is a released handle");
  assert_fails(laze_aot_compile(compiles, NULL, &x, 1, 1, NULL, &aot, &error), LAZE_FAILED_PRECONDITION,
               "a trace is open");
  laze_tensor *plain = laze_detach(x);
  assert_fails(laze_aot_compile(begins_to_require, NULL, &plain, 1, 1, NULL, &aot, &error), LAZE_UNSUPPORTED,
               "input 0 is made to require a gradient");
  assert_fails(laze_aot_compile(sets_input, NULL, &plain, 1, 1, NULL, &aot, &error), LAZE_UNSUPPORTED,
               "input 0 is given the memory of another tensor");
  const laze_aot_options options = {.struct_size = sizeof options, .partition = 7};
  assert_fails(laze_aot_compile(gives_new, NULL, &x, 1, 1, &options, &aot, &error), LAZE_INVALID_ARGUMENT,
               "no partition 7");
  assert_fails(laze_aot_compile(NULL, NULL, &x, 1, 1, NULL, &aot, &error), LAZE_INVALID_ARGUMENT, "must not be NULL");
  ck_assert_ptr_null(aot);
  assert_same(x, leaf(matrix(2, 3, 0)));
  outside = laze_detach(outside);
  aot = compile(uses_outside, NULL, &x, 1, 1);
  assert_ok(laze_aot_call(aot, &x, 1, &y, 1, &error));
  assert_same(y, laze_mul(x, outside));
  laze_aot_release(aot);
  aot = compile(gives_nothing, NULL, &x, 1, 0);
  assert_ok(laze_aot_call(aot, &x, 1, NULL, 0, &error));
  laze_aot_release(aot);
  aot = compile(keeps_all, kept, &x, 1, 1);
  laze_mul_(kept[1], 2);
  assert_near(kept[1], laze_mul(laze_exp(x), 2));
  for (int i = 0; i < 2; i++) laze_tensor_release(kept[i]);
  assert_ok(laze_aot_call(aot, &x, 1, &y, 1, &error));
  assert_near(y, laze_exp(x));
  laze_aot_release(aot);
}
END_TEST

/* A pass that keeps what was saved may be followed by another; one that does not, or gradients of gradients, say so. */
START_TEST(passes_use_up_what_was_saved) {
  laze_tensor *inputs[4], *y, *first, *gradient;
  for (int i = 0; i < 4; i++) inputs[i] = leaf(matrix(8, 8, -0.4f));
  laze_aot *aot = compile(chain, NULL, inputs, 4, 1);
  assert_ok(laze_aot_call(aot, inputs, 4, &y, 1, &error));
  laze_aot_release(aot); /* the history has it */
  laze_tensor *loss = laze_sum(y);
  assert_ok(laze_grad(&loss, NULL, 1, inputs, 1, LAZE_RETAIN_GRAPH, &first, &error));
  assert_ok(laze_grad(&loss, NULL, 1, inputs, 1, LAZE_CREATE_GRAPH, &gradient, &error));
  assert_same(first, gradient);
  laze_tensor *sum = laze_sum(gradient);
  laze_tensor *second;
  ck_assert_int_ne(laze_grad(&sum, NULL, 1, inputs, 1, 0, &second, &error), LAZE_OK);
  assert_ok(laze_grad(&loss, NULL, 1, inputs, 1, 0, &gradient, &error));
  assert_same(first, gradient);
  assert_fails(laze_grad(&loss, NULL, 1, inputs, 1, 0, &gradient, &error), LAZE_FAILED_PRECONDITION,
               "earlier backward");
}
END_TEST

/* A scope that lasts (Python's, say) does not fill with what calls need on the way. */
/* Where the next tensor's slot is among all (lazy/value/handle_table.h): slots that are free are used first. */
static int64_t next_slot(void) {
  laze_tensor *tensor = laze_tensor_take(laze_zeros(context, 1, LAZE_F32));
  laze_tensor_release(tensor);
  return (int64_t)((uintptr_t)tensor % (1 << 26));
}

START_TEST(calls_leave_nothing_but_outputs_in_the_scope) {
  laze_tensor *x = laze_mul(leaf(matrix(2, 3, 0.5f)), 1), *inputs[] = {x, leaf(matrix(2, 3, 1))}, *outputs[4];
  laze_aot *aot = compile(writes_and_gives, NULL, inputs, 2, 4);
  const int64_t before = next_slot();
  for (int step = 0; step < 600; step++) {
    assert_ok(laze_aot_call(aot, inputs, 2, outputs, 4, &error));
    laze_tensor *loss = laze_tensor_take(laze_sum(outputs[3]));
    if (step % 100 == 0) assert_ok(laze_backward_with(&loss, NULL, 1, LAZE_RETAIN_GRAPH, &error));
    laze_tensor_release(loss);
    for (int i = 0; i < 4; i++) laze_tensor_release(laze_tensor_take(outputs[i]));
  }
  ck_assert_int_lt(next_slot(), before + 100);
  laze_aot_release(aot);
}
END_TEST

/* Memory may be out at any call: an error, and nothing is lost. */
START_TEST(memory_may_run_out_at_any_point) {
  for (int64_t at = 1;; at += 1 + at / 15) {
    test_failing_allocator state = {0};
    laze_context *before = context;
    laze_tensor *inputs[4], *outputs[2] = {NULL};
    laze_aot *aot = NULL;
    laze_error failure;
    draws drawn = {7, 100};
    ck_assert_int_eq(test_failing_context(&state, "interp", "", "", &context), LAZE_OK);
    laze_scope *own = laze_scope_begin(context);
    make_model(inputs);
    ck_assert_int_eq(laze_tensors_materialise(inputs, 4, &error), LAZE_OK);
    state.refuse_at = state.calls + at;
    laze_status status = laze_aot_compile(model, &drawn, inputs, 4, 2, NULL, &aot, &failure);
    if (status == LAZE_OK) status = laze_aot_call(aot, inputs, 4, outputs, 2, &failure);
    if (status == LAZE_OK) status = laze_backward(outputs[1], &failure);
    const bool reached = state.calls >= state.refuse_at;
    laze_aot_release(aot);
    (void)laze_scope_end(own);
    laze_context_release(context);
    context = before;
    ck_assert_int_eq(state.live, 0);
    if (!reached) break;
    ck_assert_msg(status == LAZE_OK || status == LAZE_OUT_OF_MEMORY, "%d: %s", status, failure.message);
  }
}
END_TEST

int main(void) {
  Suite *suite = suite_create("aot faults");
  TCase *tests = tcase_create("all");
  tcase_set_timeout(tests, 300);
  tcase_add_checked_fixture(tests, set_up, tear_down);
  tcase_add_test(tests, inputs_that_share_memory_are_refused_where_one_is_written_to);
  tcase_add_test(tests, pieces_that_share_no_element_are_inputs_like_others);
  tcase_add_test(tests, inputs_that_come_twice_are_one);
  tcase_add_test(tests, calls_that_do_not_fit_are_refused);
  tcase_add_test(tests, faults_of_the_function_are_errors);
  tcase_add_test(tests, passes_use_up_what_was_saved);
  tcase_add_test(tests, calls_leave_nothing_but_outputs_in_the_scope);
  tcase_add_test(tests, memory_may_run_out_at_any_point);
  suite_add_tcase(suite, tests);
  return test_run_suite(suite);
}
