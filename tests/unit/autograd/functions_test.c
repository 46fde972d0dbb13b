/* Functions whose gradients the caller computes. */
#include "laze/laze.h"
#include "tests/unit/autograd/support.h"

/* y = x^2 w, with what its code was asked. */
typedef struct {
  int calls, released;
  int32_t needed[2];
  bool fails, gives_wrong, wants_absent, saw_absent;
} square;

static laze_status square_backward(void *data, const laze_function_call *call, laze_tensor **results,
                                   laze_error *error) {
  square *self = data;
  self->calls++;
  ck_assert_int_eq(call->input_count, 2);
  ck_assert_int_eq(call->saved_count, 2);
  for (int i = 0; i < 2; i++) self->needed[i] = call->needed[i];
  if (self->fails) {
    snprintf(error->message, sizeof error->message, "square will not");
    return LAZE_UNSUPPORTED;
  }
  self->saw_absent = call->output_count > 1 && !call->given[1];
  laze_tensor *x = call->saved[0], *w = call->saved[1], *given = call->given[0];
  if (call->needed[0]) results[0] = laze_mul(given, laze_mul(2, laze_mul(x, w)));
  if (call->needed[1]) results[1] = laze_mul(given, laze_mul(x, x));
  if (self->gives_wrong) results[0] = laze_reshape(results[0], LAZE_INTS(1, 1, 2));
  return LAZE_OK;
}

static laze_status square_jvp(void *data, const laze_function_call *call, laze_tensor **results, laze_error *error) {
  (void)error;
  ((square *)data)->calls++;
  laze_tensor *x = call->saved[0], *w = call->saved[1];
  results[0] =
      laze_add(laze_mul(call->given[0], laze_mul(2, laze_mul(x, w))), laze_mul(call->given[1], laze_mul(x, x)));
  return LAZE_OK;
}

static void square_release(void *data) {
  ((square *)data)->released++;
}

static laze_tensor *apply_with(autograd_fixture *at, square *self, laze_tensor *x, laze_tensor *w, int32_t flags,
                               laze_function_code jvp) {
  laze_error error;
  laze_set_grad_enabled(at->context, 0);
  laze_tensor *inputs[] = {x, w}, *output = laze_mul(laze_mul(x, x), w);
  laze_set_grad_enabled(at->context, 1);
  const laze_function_options options = {.struct_size = sizeof options,
                                         .name = "square",
                                         .flags = flags,
                                         .input_count = 2,
                                         .output_count = 1,
                                         .saved_count = 2,
                                         .inputs = inputs,
                                         .outputs = &output,
                                         .saved = inputs,
                                         .backward = square_backward,
                                         .jvp = jvp,
                                         .self = self,
                                         .release = square_release};
  ck_assert_msg(laze_function_attach(&options, &error) == LAZE_OK, "%s", error.message);
  return output;
}

static laze_tensor *apply(autograd_fixture *at, square *self, laze_tensor *x, laze_tensor *w) {
  return apply_with(at, self, x, w, 0, NULL);
}

START_TEST(backward_takes_gradients_to_inputs) {
  autograd_fixture at = begin();
  square self = {0};
  laze_tensor *x = leaf(&at, (float[]){1, 2}), *w = constant(&at, (float[]){3, 4});
  laze_tensor *y = apply(&at, &self, laze_mul(x, 1), w);
  ck_assert(laze_tensor_requires_grad(y) && !laze_tensor_is_leaf(y));
  laze_gradient_node *node = laze_tensor_gradient_node(y);
  ck_assert_str_eq(laze_gradient_node_name(node), "square");
  laze_gradient_node_release(node);
  backward(laze_sum(laze_mul(y, 10)));
  expect(laze_tensor_grad(x), 0, (float[]){60, 160});
  ck_assert(self.needed[0] && !self.needed[1]);
  ck_assert_int_eq(self.calls, 1);
  end(&at);
  ck_assert_int_eq(self.released, 1);
}
END_TEST

/* Nothing is attached where nothing can ask for it, and the data is given back at once. */
START_TEST(without_gradients_nothing_is_kept) {
  autograd_fixture at = begin();
  square self = {0};
  laze_tensor *plain = constant(&at, (float[]){1, 2}), *x = leaf(&at, (float[]){1, 2});
  ck_assert(!laze_tensor_requires_grad(apply(&at, &self, plain, plain)));
  ck_assert_int_eq(self.released, 1);
  laze_set_inference_mode(at.context, 1);
  ck_assert(!laze_tensor_requires_grad(apply(&at, &self, x, plain)));
  laze_set_inference_mode(at.context, 0);
  ck_assert_int_eq(self.released, 2);
  end(&at);
}
END_TEST

START_TEST(what_is_saved_is_checked_and_let_go_of) {
  autograd_fixture at = begin();
  laze_error error;
  square self = {0};
  laze_tensor *x = leaf(&at, (float[]){1, 2}), *w = laze_tensor_retain(constant(&at, (float[]){3, 4}));
  laze_tensor *loss = laze_sum(apply(&at, &self, x, w)), *again = laze_sum(apply(&at, &self, x, w));
  backward(loss);
  ck_assert_int_eq(laze_backward(loss, &error), LAZE_FAILED_PRECONDITION);
  ck_assert_ptr_nonnull(strstr(error.message, "let go of"));
  ck_assert_int_eq(laze_tensor_assign(w, constant(&at, (float[]){5, 5})), LAZE_OK);
  ck_assert_int_eq(laze_backward(again, &error), LAZE_FAILED_PRECONDITION);
  ck_assert_msg(strstr(error.message, "square") && strstr(error.message, "version 1"), "%s", error.message);
  laze_tensor_release(w);
  end(&at);
}
END_TEST

/* What backward consists of is differentiated, also by what was saved. */
START_TEST(functions_can_be_differentiated_twice) {
  autograd_fixture at = begin();
  laze_error error;
  square self = {0};
  laze_tensor *x = leaf(&at, (float[]){1, 2}), *w = leaf(&at, (float[]){3, 4}), *first = NULL, *second[2];
  laze_tensor *loss = laze_sum(apply(&at, &self, x, w)), *inputs[] = {x, w};
  ck_assert_int_eq(laze_grad(&loss, NULL, 1, &x, 1, LAZE_CREATE_GRAPH, &first, &error), LAZE_OK);
  laze_tensor *sum = laze_sum(laze_mul(first, first)); /* (2 x w)^2 */
  ck_assert_msg(laze_grad(&sum, NULL, 1, inputs, 2, 0, second, &error) == LAZE_OK, "%s", error.message);
  expect(second[0], 0, (float[]){72, 256});
  expect(second[1], 0, (float[]){24, 128});
  end(&at);
}
END_TEST

START_TEST(once_is_said_when_it_is_done_twice) {
  autograd_fixture at = begin();
  laze_error error;
  square self = {0};
  laze_tensor *x = leaf(&at, (float[]){1, 2}), *w = leaf(&at, (float[]){3, 4}), *first = NULL;
  laze_tensor *loss = laze_sum(apply_with(&at, &self, x, w, LAZE_FUNCTION_ONCE, NULL));
  ck_assert_int_eq(laze_grad(&loss, NULL, 1, &x, 1, LAZE_CREATE_GRAPH, &first, &error), LAZE_OK);
  expect(first, 0, (float[]){6, 16});
  ck_assert_int_eq(laze_backward(laze_sum(first), &error), LAZE_UNSUPPORTED);
  ck_assert_msg(strstr(error.message, "square") && strstr(error.message, "differentiated"), "%s", error.message);
  end(&at);
}
END_TEST

/* Forward mode: by jvp where there is one, by backward otherwise, and both say the same. */
START_TEST(tangents_follow_from_jvp_or_backward) {
  autograd_fixture at = begin();
  laze_error error;
  const laze_function_code jvps[] = {NULL, square_jvp, square_jvp};
  square squares[3] = {{0}}; /* histories let go of them when the scope ends */
  for (int i = 0; i < 3; i++) {
    square *self = &squares[i];
    laze_tensor *x = leaf(&at, (float[]){1, 2}), *w = leaf(&at, (float[]){3, 4}), *found = NULL;
    laze_tensor *inputs[] = {x, w}, *tangents[] = {constant(&at, (float[]){1, 10}), constant(&at, (float[]){2, 5})};
    laze_tensor *y = apply_with(&at, self, laze_mul(x, 1), w, i == 2 ? LAZE_FUNCTION_ONCE : 0, jvps[i]);
    laze_tensor *z = laze_mul(y, 2);
    ck_assert_msg(laze_jvp(&z, 1, inputs, tangents, 2, 0, &found, &error) == LAZE_OK, "%s", error.message);
    expect(found, 0, (float[]){2 * (6 + 2), 2 * (160 + 20)});
    ck_assert_int_eq(self->calls, 1);
    tangents[0] = NULL;
    ck_assert_int_eq(laze_jvp(&z, 1, inputs, tangents, 2, 0, &found, &error), LAZE_OK);
    expect(found, 0, (float[]){4, 40});
  }
  end(&at);
}
END_TEST

/* Two outputs, of which one is constant, and one is an input. */
START_TEST(outputs_one_by_one) {
  autograd_fixture at = begin();
  laze_error error;
  square self = {0};
  for (int absent = 0; absent < 2; absent++) {
    laze_tensor *x = leaf(&at, (float[]){1, 2}), *w = leaf(&at, (float[]){3, 4}), *inputs[] = {x, w};
    laze_set_grad_enabled(at.context, 0);
    laze_tensor *outputs[] = {laze_mul(laze_mul(x, x), w), x, laze_mul(x, 2), laze_argmax(x, 0, false)};
    laze_set_grad_enabled(at.context, 1);
    const laze_function_options options = {.struct_size = sizeof options,
                                           .name = "square",
                                           .flags = absent ? LAZE_FUNCTION_ABSENT : 0,
                                           .input_count = 2,
                                           .output_count = 4,
                                           .saved_count = 2,
                                           .inputs = inputs,
                                           .outputs = outputs,
                                           .saved = inputs,
                                           .constant = (int32_t[]){0, 0, 1, 0},
                                           .backward = square_backward,
                                           .self = &self};
    ck_assert_int_eq(laze_function_attach(&options, &error), LAZE_OK);
    ck_assert_ptr_ne(outputs[1], x);
    ck_assert(laze_tensor_is_leaf(x) && !laze_tensor_is_leaf(outputs[1]));
    ck_assert(!laze_tensor_requires_grad(outputs[2]) && !laze_tensor_requires_grad(outputs[3]));
    backward(laze_sum(outputs[0]));
    expect(laze_tensor_grad(x), 0, (float[]){6, 16});
    ck_assert_int_eq(self.saw_absent, absent);
  }
  end(&at);
}
END_TEST

/* A saved output has the function's own node, which must not keep itself. */
static laze_status exp_backward(void *data, const laze_function_call *call, laze_tensor **results, laze_error *error) {
  (void)data, (void)error;
  results[0] = laze_mul(call->given[0], call->saved[0]);
  return LAZE_OK;
}

START_TEST(saved_outputs_have_histories_and_keep_nothing) {
  autograd_fixture at = begin();
  laze_error error;
  laze_scope *inner = laze_scope_begin(at.context);
  laze_tensor *x = leaf(&at, (float[]){0.5f, 1}), *first = NULL, *second = NULL;
  laze_set_grad_enabled(at.context, 0);
  laze_tensor *y = laze_exp(x);
  laze_set_grad_enabled(at.context, 1);
  const laze_function_options options = {.struct_size = sizeof options,
                                         .name = "exp",
                                         .input_count = 1,
                                         .output_count = 1,
                                         .saved_count = 1,
                                         .inputs = &x,
                                         .outputs = &y,
                                         .saved = &y,
                                         .backward = exp_backward};
  ck_assert_int_eq(laze_function_attach(&options, &error), LAZE_OK);
  laze_tensor *loss = laze_sum(y);
  ck_assert_int_eq(laze_grad(&loss, NULL, 1, &x, 1, LAZE_CREATE_GRAPH, &first, &error), LAZE_OK);
  laze_tensor *sum = laze_sum(laze_mul(first, first));
  ck_assert_int_eq(laze_grad(&sum, NULL, 1, &x, 1, 0, &second, &error), LAZE_OK);
  expect(second, 1e-5f, (float[]){2 * expf(1), 2 * expf(2)});
  ck_assert_int_eq(laze_scope_end(inner), LAZE_OK);
  ck_assert_int_eq(metric(at.context, "autograd_nodes_alive"), 0);
  end(&at);
}
END_TEST

START_TEST(what_functions_get_wrong_is_said) {
  autograd_fixture at = begin();
  laze_error error;
  square self = {.fails = true};
  laze_tensor *x = leaf(&at, (float[]){1, 2}), *w = leaf(&at, (float[]){3, 4});
  laze_tensor *loss = laze_sum(apply(&at, &self, x, w));
  ck_assert_int_eq(laze_backward(loss, &error), LAZE_UNSUPPORTED);
  ck_assert_str_eq(error.message, "square will not");
  ck_assert_ptr_null(laze_tensor_grad(x));
  self.fails = false;
  self.gives_wrong = true; /* broadcasts from the input's shape: fitted */
  backward(loss);
  expect(laze_tensor_grad(x), 0, (float[]){6, 16});
  laze_function_options options = {.struct_size = sizeof options, .name = "", .release = square_release, .self = &self};
  ck_assert_int_eq(laze_function_attach(&options, &error), LAZE_INVALID_ARGUMENT);
  options.name = "f";
  ck_assert_int_eq(laze_function_attach(&options, &error), LAZE_INVALID_ARGUMENT);
  ck_assert_int_eq(self.released, 2);
  end(&at);
}
END_TEST

/* Lists of parameters are updated as one: a frozen one among them must not get a history, nor take it from others. */
START_TEST(row_1_19_lists_have_gradients_element_by_element) {
  autograd_fixture at = begin();
  laze_error error;
  laze_tensor *x = leaf(&at, (float[]){1, 2}), *frozen = constant(&at, (float[]){3}),
              *y = leaf(&at, (float[]){4, 5, 6});
  laze_tensor *left[] = {x, frozen, y}, *right[] = {laze_exp(x), y, frozen}, *found[3];
  const double numbers[] = {10, 20, 30};
  laze_argument arguments[] = {{.kind = LAZE_PASS_TENSORS, .count = 3, .value.tensors = left},
                               {.kind = LAZE_PASS_TENSORS, .count = 3, .value.tensors = right}};
  ck_assert_int_eq(laze_call_by_name(at.context, "_foreach_mul", arguments, 2, found, 3), 3);
  ck_assert(laze_tensor_requires_grad(found[0]) && laze_tensor_requires_grad(found[1]));
  arguments[1] = (laze_argument){.kind = LAZE_PASS_REALS, .count = 3, .value.reals = numbers};
  ck_assert_int_eq(laze_call_by_name(at.context, "_foreach_add.Scalar", arguments, 2, found, 3), 3);
  ck_assert(laze_tensor_requires_grad(found[0]) && !laze_tensor_requires_grad(found[1]));
  expect(found[1], 0, (float[]){23});
  left[0] = found[0], left[1] = found[1], left[2] = found[2];
  ck_assert_int_eq(laze_call_by_name(at.context, "_foreach_mul_", arguments, 2, found, 3), 3);
  backward(laze_add(laze_sum(found[0]), laze_sum(found[2])));
  expect(laze_tensor_grad(x), 0, (float[]){10, 10});
  expect(laze_tensor_grad(y), 0, (float[]){30, 30, 30});
  ck_assert_ptr_null(laze_tensor_grad(frozen));
  arguments[1].count = 2;
  ck_assert_int_eq(laze_call_by_name(at.context, "_foreach_add", arguments, 2, found, 3), 1);
  ck_assert_ptr_nonnull(
      strstr(laze_tensor_error(found[0]), "_foreach_add: argument 1 is a list of 2 and the first of 3"));
  ck_assert_int_eq(laze_call_by_name(at.context, "_foreach_mm", arguments, 2, found, 3), 1);
  ck_assert_ptr_nonnull(strstr(laze_tensor_error(found[0]), "no operator of elements is called mm"));
  (void)laze_scope_end_error(at.scope, &error); /* has the errors */
  at.scope = laze_scope_begin(at.context);
  end(&at);
}
END_TEST

static laze_status triple_backward(void *data, const laze_function_call *call, laze_tensor **results,
                                   laze_error *error) {
  (void)data, (void)error;
  results[0] = laze_mul(call->given[0], 3);
  return LAZE_OK;
}

/* Triples its input in place, and says so. */
static laze_status triple(autograd_fixture *at, laze_tensor **tensor, laze_error *error) {
  static const int32_t dirty = 1;
  laze_set_grad_enabled(at->context, 0);
  (void)laze_mul_(*tensor, 3);
  laze_set_grad_enabled(at->context, 1);
  return laze_function_attach(&(laze_function_options){.struct_size = sizeof(laze_function_options),
                                                       .name = "triple",
                                                       .input_count = 1,
                                                       .output_count = 1,
                                                       .inputs = (laze_tensor *[]){*tensor},
                                                       .outputs = tensor,
                                                       .backward = triple_backward,
                                                       .dirty = &dirty},
                              error);
}

/* A function that works in place gives its input, which has the function's history from then on: a new handle would
 * leave the caller's tensor with a history that is not that of its value. */
START_TEST(a_function_may_write_to_its_input) {
  autograd_fixture at = begin();
  laze_error error;
  laze_tensor *x = leaf(&at, (float[]){1, 2}), *y = laze_mul(x, 5), *given = y, *plain = constant(&at, (float[]){1, 2});
  laze_tensor *part = laze_slice(y, 0, 0, 1, 1);
  ck_assert_msg(triple(&at, &given, &error) == LAZE_OK, "%s", error.message);
  ck_assert_ptr_eq(given, y);
  expect(y, 0, (float[]){15, 30});
  backward(laze_add(laze_sum(y), laze_sum(part)));
  expect(laze_tensor_grad(x), 0, (float[]){30, 15});
  given = plain;
  ck_assert_int_eq(triple(&at, &given, &error), LAZE_OK); /* nothing to remember */
  ck_assert_ptr_eq(given, plain);
  given = x;
  ck_assert_int_eq(triple(&at, &given, &error), LAZE_FAILED_PRECONDITION);
  ck_assert_ptr_nonnull(strstr(error.message, "a leaf that requires a gradient"));
  given = laze_slice(laze_mul(x, 1), 0, 0, 1, 1);
  ck_assert_int_eq(triple(&at, &given, &error), LAZE_FAILED_PRECONDITION);
  ck_assert_ptr_nonnull(strstr(error.message, "a view"));
  end(&at);
}
END_TEST

int main(void) {
  const TTest *tests[] = {row_1_19_lists_have_gradients_element_by_element,
                          backward_takes_gradients_to_inputs,
                          without_gradients_nothing_is_kept,
                          what_is_saved_is_checked_and_let_go_of,
                          functions_can_be_differentiated_twice,
                          once_is_said_when_it_is_done_twice,
                          tangents_follow_from_jvp_or_backward,
                          outputs_one_by_one,
                          saved_outputs_have_histories_and_keep_nothing,
                          a_function_may_write_to_its_input,
                          what_functions_get_wrong_is_said};
  return run_tests("functions", tests, sizeof tests / sizeof *tests);
}
