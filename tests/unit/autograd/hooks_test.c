/* Hooks of tensors and nodes, gradients that are kept, passes into some inputs, modes. */
#include "laze/laze.h"
#include "tests/unit/autograd/support.h"

/* What a hook does, and what it has seen. */
typedef struct {
  autograd_fixture *at;
  double factor; /* 0: the gradient stays */
  const char *failure;
  char *log; /* of all hooks, in order */
  char name;
  float seen; /* the first element */
  int released;
  int64_t removes; /* a hook that it removes */
  bool halves;     /* gives a gradient of another dtype */
} watcher;

static void note(watcher *self) {
  const size_t length = strlen(self->log);
  self->log[length] = self->name;
  self->log[length + 1] = '\0';
}

static laze_status watch(void *data, laze_tensor *gradient, laze_tensor **replacement, laze_error *error) {
  watcher *self = data;
  float elements[8] = {0};
  note(self);
  if (self->failure) {
    snprintf(error->message, sizeof error->message, "%s", self->failure);
    return LAZE_FAILED_PRECONDITION;
  }
  if (self->removes) ck_assert_int_eq(laze_hook_remove(self->at->context, self->removes, NULL), LAZE_OK);
  ck_assert_int_eq(
      laze_tensor_read(gradient, LAZE_F32, elements, (size_t)laze_tensor_elements(gradient) * sizeof *elements),
      LAZE_OK);
  self->seen = elements[0];
  if (self->factor != 0) *replacement = laze_mul(gradient, self->factor);
  if (self->halves) *replacement = laze_to(gradient, LAZE_F16);
  return LAZE_OK;
}

static void count_release(void *data) {
  ((watcher *)data)->released++;
}

static int64_t hook(laze_tensor *tensor, int32_t when, watcher *self) {
  laze_error error;
  int64_t id = 0;
  ck_assert_msg(laze_tensor_register_hook(tensor, when, watch, self, count_release, &id, &error) == LAZE_OK, "%s",
                error.message);
  return id;
}

/* Each hook of a tensor gets what the one before gave, and what the last gave goes on. */
START_TEST(hooks_replace_in_the_order_of_registration) {
  autograd_fixture at = begin();
  char log[16] = "";
  watcher a = {.at = &at, .log = log, .name = 'a', .factor = 10}, b = {.at = &at, .log = log, .name = 'b', .factor = 3};
  watcher c = {.at = &at, .log = log, .name = 'c'}, leafs = {.at = &at, .log = log, .name = 'l', .factor = -1};
  laze_tensor *x = leaf(&at, (float[]){1, 2}), *y = laze_mul(x, 2);
  hook(y, LAZE_HOOK_GRADIENT, &a);
  hook(y, LAZE_HOOK_GRADIENT, &b);
  hook(y, LAZE_HOOK_GRADIENT, &c);
  hook(x, LAZE_HOOK_GRADIENT, &leafs);
  backward(laze_sum(y));
  ck_assert_str_eq(log, "abcl");
  ck_assert(a.seen == 1 && b.seen == 10 && c.seen == 30 && leafs.seen == 60);
  expect(laze_tensor_grad(x), 0, (float[]){-60, -60});
  end(&at);
  ck_assert_int_eq(a.released + b.released + c.released + leafs.released, 4);
}
END_TEST

/* What a hook says ends the pass; whatever was reached before it, gradients stay, and the history can be used again. */
START_TEST(a_hook_that_fails_changes_nothing) {
  autograd_fixture at = begin();
  laze_error error;
  char log[16] = "";
  watcher bad = {.at = &at, .log = log, .name = 'b', .failure = "no such luck"};
  laze_tensor *x = leaf(&at, (float[]){1, 2}), *w = leaf(&at, (float[]){5, 6}), *y = laze_mul(x, x);
  laze_tensor *before = constant(&at, (float[]){7, 7});
  ck_assert_int_eq(laze_tensor_set_grad(x, laze_clone(before), &error), LAZE_OK);
  for (int32_t when = LAZE_HOOK_GRADIENT; when <= LAZE_HOOK_ACCUMULATED; when++) {
    laze_tensor *loss = laze_sum(laze_mul(y, w)); /* the leaf of w is reached before that of x */
    const int64_t id = hook(x, when, &bad);
    ck_assert_int_eq(laze_backward_with(&loss, NULL, 1, LAZE_RETAIN_GRAPH, &error), LAZE_FAILED_PRECONDITION);
    ck_assert_str_eq(error.message, "no such luck");
    ck_assert_ptr_null(laze_tensor_grad(w));
    expect(laze_tensor_grad(x), 0, (float[]){7, 7});
    ck_assert_int_eq(laze_backward(loss, &error), LAZE_FAILED_PRECONDITION); /* which keeps nothing, when it succeeds */
    ck_assert_int_eq(laze_hook_remove(at.context, id, &error), LAZE_OK);
    ck_assert_int_eq(laze_backward_with(&loss, NULL, 1, LAZE_RETAIN_GRAPH, &error), LAZE_OK);
    ck_assert_int_eq(laze_tensor_set_grad(x, laze_clone(before), &error), LAZE_OK);
    ck_assert_int_eq(laze_tensor_set_grad(w, NULL, &error), LAZE_OK);
  }
  ck_assert_int_eq(bad.released, 2);
  ck_assert_int_eq(laze_hook_remove(at.context, 1, &error), LAZE_NOT_FOUND);
  end(&at);
}
END_TEST

START_TEST(hooks_can_be_removed_by_others) {
  autograd_fixture at = begin();
  char log[16] = "";
  watcher a = {.at = &at, .log = log, .name = 'a'}, b = {.at = &at, .log = log, .name = 'b'};
  laze_tensor *x = leaf(&at, (float[]){1, 2});
  const int64_t own = hook(x, LAZE_HOOK_GRADIENT, &a);
  a.removes = hook(x, LAZE_HOOK_GRADIENT, &b);
  backward(laze_sum(x));
  ck_assert_str_eq(log, "a");
  a.removes = own; /* itself, while it runs */
  backward(laze_sum(x));
  backward(laze_sum(x));
  ck_assert_str_eq(log, "aa");
  expect(laze_tensor_grad(x), 0, (float[]){3, 3});
  end(&at);
  ck_assert(a.released == 1 && b.released == 1);
}
END_TEST

/* It is called once for a pass, however many ways lead to the leaf, with all that has come together. */
START_TEST(hooks_on_what_was_accumulated) {
  autograd_fixture at = begin();
  char log[16] = "";
  watcher a = {.at = &at, .log = log, .name = 'a'};
  laze_error error;
  laze_tensor *x = leaf(&at, (float[]){1, 2}), *y = laze_mul(x, 3);
  hook(x, LAZE_HOOK_ACCUMULATED, &a);
  backward(laze_sum(laze_add(y, laze_mul(x, x))));
  ck_assert(a.seen == 5);
  backward(laze_sum(x));
  ck_assert(a.seen == 6);
  ck_assert_str_eq(log, "aa");
  ck_assert_int_eq(laze_tensor_register_hook(y, LAZE_HOOK_ACCUMULATED, watch, &a, count_release, NULL, &error),
                   LAZE_FAILED_PRECONDITION);
  ck_assert_ptr_nonnull(strstr(error.message, "no leaf"));
  ck_assert_int_eq(a.released, 1);
  end(&at);
}
END_TEST

static laze_status scale_replacements(void *data, const laze_node_hook_call *call, laze_error *error) {
  (void)error;
  watcher *self = data;
  note(self);
  const bool before = !call->operands;
  const int32_t count = before ? call->result_count : call->operand_count;
  for (int32_t i = 0; i < count; i++) {
    laze_tensor *gradient = before ? call->results[i] : call->operands[i];
    if (gradient) call->replacements[i] = laze_mul(gradient, self->factor);
  }
  return LAZE_OK;
}

START_TEST(nodes_have_names_operands_and_hooks) {
  autograd_fixture at = begin();
  char log[16] = "";
  watcher a = {.at = &at, .log = log, .name = 'a', .factor = 2}, b = {.at = &at, .log = log, .name = 'b', .factor = 5};
  watcher t = {.at = &at, .log = log, .name = 't'};
  laze_error error;
  int32_t result = -1;
  laze_tensor *x = leaf(&at, (float[]){1, 2}), *w = leaf(&at, (float[]){3, 4}), *y = laze_mul(x, w);
  laze_tensor *loss = laze_sum(y);
  laze_gradient_node *sum = laze_tensor_gradient_node(loss), *mul = laze_gradient_node_next(sum, 0, &result);
  laze_gradient_node *first = laze_gradient_node_next(mul, 0, NULL);
  ck_assert_str_eq(laze_gradient_node_name(mul), "mul.Tensor");
  ck_assert_str_eq(laze_gradient_node_name(first), "leaf");
  ck_assert_int_eq(laze_gradient_node_operand_count(mul), 2);
  ck_assert_int_eq(result, 0);
  ck_assert_int_lt(laze_gradient_node_number(mul), laze_gradient_node_number(sum));
  ck_assert_ptr_null(laze_gradient_node_next(mul, 2, NULL));
  ck_assert_ptr_null(laze_tensor_gradient_node(x));
  ck_assert_int_eq(
      laze_gradient_node_register_hook(first, LAZE_HOOK_BEFORE, scale_replacements, &a, NULL, NULL, &error),
      LAZE_FAILED_PRECONDITION);
  ck_assert_int_eq(
      laze_gradient_node_register_hook(mul, LAZE_HOOK_BEHIND, scale_replacements, &b, count_release, NULL, &error),
      LAZE_OK);
  ck_assert_int_eq(
      laze_gradient_node_register_hook(mul, LAZE_HOOK_BEFORE, scale_replacements, &a, count_release, NULL, &error),
      LAZE_OK);
  hook(y, LAZE_HOOK_GRADIENT, &t);
  backward(loss);
  ck_assert_str_eq(log, "tab");
  expect(laze_tensor_grad(x), 0, (float[]){30, 40});
  expect(laze_tensor_grad(w), 0, (float[]){10, 20});
  laze_gradient_node_release(sum);
  laze_gradient_node_release(mul);
  laze_gradient_node_release(first);
  ck_assert_str_eq(laze_gradient_node_name(mul), ""); /* stale */
  laze_gradient_node_release(mul);
  ck_assert_str_eq(laze_tensor_error((laze_tensor *)sum),
                   "the handle was released; retain a tensor that is used after its scope");
  end(&at);
  ck_assert(a.released == 1 && b.released == 1);
}
END_TEST

/* A replacement has to fit, or the next formula would compute nonsense. */
START_TEST(wrong_replacements_are_refused) {
  autograd_fixture at = begin();
  laze_error error;
  char log[16] = "";
  watcher a = {.at = &at, .log = log, .name = 'a', .halves = true};
  laze_tensor *x = leaf(&at, (float[]){1, 2}), *plain = constant(&at, (float[]){1, 2, 3}), *half = laze_to(x, LAZE_F16);
  const int64_t id = hook(x, LAZE_HOOK_GRADIENT, &a);
  ck_assert_int_eq(laze_backward(laze_sum(x), &error), LAZE_INVALID_ARGUMENT);
  ck_assert_msg(strstr(error.message, "f16[2] for one that is f32[2]") != NULL, "%s", error.message);
  ck_assert_int_eq(laze_hook_remove(at.context, id, &error), LAZE_OK);
  a.released = 0;
  ck_assert_int_eq(laze_tensor_register_hook(half, 7, watch, &a, count_release, NULL, &error), LAZE_INVALID_ARGUMENT);
  ck_assert_int_eq(laze_tensor_register_hook(plain, 0, watch, &a, count_release, NULL, &error),
                   LAZE_FAILED_PRECONDITION);
  ck_assert_int_eq(laze_tensor_register_hook(x, 0, NULL, &a, count_release, NULL, &error), LAZE_INVALID_ARGUMENT);
  ck_assert_int_eq(a.released, 3);
  end(&at);
}
END_TEST

/* --- gradients that are kept, and passes into some inputs --- */

START_TEST(results_can_keep_their_gradients) {
  autograd_fixture at = begin();
  laze_error error;
  laze_tensor *x = leaf(&at, (float[]){1, 2}), *y = laze_mul(x, x), *z = laze_mul(y, 3);
  ck_assert_int_eq(laze_tensor_retain_grad(y, &error), LAZE_OK);
  ck_assert_int_eq(laze_tensor_retain_grad(y, &error), LAZE_OK);
  ck_assert(laze_tensor_retains_grad(y) && !laze_tensor_retains_grad(z) && !laze_tensor_retains_grad(x));
  ck_assert_ptr_null(laze_tensor_grad(y));
  laze_tensor *loss = laze_sum(z);
  ck_assert_int_eq(laze_backward_with(&loss, NULL, 1, LAZE_RETAIN_GRAPH, &error), LAZE_OK);
  expect(laze_tensor_grad(y), 0, (float[]){3, 3});
  ck_assert_ptr_null(laze_tensor_grad(z));
  backward(loss);
  expect(laze_tensor_grad(y), 0, (float[]){6, 6});
  ck_assert_int_eq(laze_tensor_set_grad(y, NULL, &error), LAZE_OK);
  ck_assert_ptr_null(laze_tensor_grad(y));
  ck_assert_int_eq(laze_tensor_retain_grad(laze_detach(x), &error), LAZE_FAILED_PRECONDITION);
  end(&at);
}
END_TEST

/* A kept gradient whose history leads to the node that it is kept at goes with the node's last tensor. */
START_TEST(kept_gradients_keep_nothing_alive) {
  autograd_fixture at = begin();
  laze_error error;
  laze_scope *inner = laze_scope_begin(at.context);
  laze_tensor *x = leaf(&at, (float[]){1, 2}), *y = laze_mul(x, x), *loss = laze_sum(laze_mul(y, y));
  ck_assert_int_eq(laze_tensor_retain_grad(y, &error), LAZE_OK);
  ck_assert_int_eq(laze_backward_with(&loss, NULL, 1, LAZE_CREATE_GRAPH, &error), LAZE_OK);
  ck_assert(laze_tensor_requires_grad(laze_tensor_grad(y)));
  ck_assert_int_eq(laze_scope_end(inner), LAZE_OK);
  ck_assert_int_eq(metric(at.context, "autograd_nodes_alive"), 0);
  end(&at);
}
END_TEST

START_TEST(passes_into_some_inputs) {
  autograd_fixture at = begin();
  laze_error error;
  laze_tensor *x = leaf(&at, (float[]){1, 2}), *w = leaf(&at, (float[]){3, 4}), *y = laze_mul(x, w);
  laze_tensor *loss = laze_sum(laze_mul(y, y)), *inputs[] = {w, y};
  ck_assert_int_eq(laze_backward_into(&loss, NULL, 1, inputs, 2, LAZE_RETAIN_GRAPH, &error), LAZE_OK);
  ck_assert_ptr_null(laze_tensor_grad(x));
  expect(laze_tensor_grad(w), 0, (float[]){6, 32});
  expect(laze_tensor_grad(y), 0, (float[]){6, 16});
  ck_assert_int_eq(laze_backward_into(&loss, NULL, 1, inputs, 1, 0, &error), LAZE_OK);
  expect(laze_tensor_grad(w), 0, (float[]){12, 64});
  ck_assert_int_eq(laze_backward_into(&loss, NULL, 1, inputs, 0, 0, &error), LAZE_INVALID_ARGUMENT);
  end(&at);
}
END_TEST

/* Hooks come and go in any order, many of one tensor and of many tensors: those that are left are called in the order
 * in which they were registered. */
START_TEST(any_of_many_hooks_can_be_removed) {
  enum { HOOKS = 24 };
  autograd_fixture at = begin();
  laze_error error;
  char log[HOOKS + 1] = "";
  watcher watchers[HOOKS];
  int64_t ids[HOOKS];
  laze_tensor *x = leaf(&at, (float[]){1, 2}), *z = leaf(&at, (float[]){3, 4});
  for (int i = 0; i < HOOKS; i++) {
    watchers[i] = (watcher){.at = &at, .log = log, .name = (char)('a' + i)};
    ids[i] = hook(i % 8 == 7 ? z : x, LAZE_HOOK_GRADIENT, &watchers[i]);
  }
  const char removed[] = "axbwdeftlkm"; /* first, last, neighbours, more than half of what is left */
  for (const char *name = removed; *name; name++) {
    ck_assert_int_eq(laze_hook_remove(at.context, ids[*name - 'a'], &error), LAZE_OK);
    ck_assert_int_eq(laze_hook_remove(at.context, ids[*name - 'a'], &error), LAZE_NOT_FOUND);
    ck_assert_int_eq(watchers[*name - 'a'].released, 1);
  }
  watcher last = {.at = &at, .log = log, .name = '!'};
  hook(x, LAZE_HOOK_GRADIENT, &last);
  backward(laze_sum(laze_mul(x, 3)));
  ck_assert_str_eq(log, "cgijnoqrsuv!");
  end(&at);
}
END_TEST

static laze_status begin_again(void *data, laze_tensor *gradient, laze_tensor **replacement, laze_error *error) {
  (void)gradient, (void)replacement;
  laze_error refusal;
  ck_assert_int_eq(laze_backward(data, &refusal), LAZE_FAILED_PRECONDITION);
  ck_assert_ptr_nonnull(strstr(refusal.message, "a backward pass that is not over goes through it"));
  (void)error;
  return LAZE_OK;
}

/* What a pass lets go of is not gone through by another that begins inside of it: gradients would be added twice. */
START_TEST(a_pass_is_not_begun_inside_of_itself) {
  autograd_fixture at = begin();
  laze_error error;
  laze_tensor *x = leaf(&at, (float[]){1, 2}), *y = laze_mul(x, x), *loss = laze_sum(y);
  laze_tensor *hooked[] = {loss, y, x};
  for (int i = 0; i < 3; i++)
    ck_assert_int_eq(laze_tensor_register_hook(hooked[i], LAZE_HOOK_GRADIENT, begin_again, loss, NULL, NULL, &error),
                     LAZE_OK);
  backward(loss);
  expect(laze_tensor_grad(x), 0, (float[]){2, 4});
  ck_assert_int_eq(laze_backward(loss, &error), LAZE_FAILED_PRECONDITION);
  ck_assert_ptr_nonnull(strstr(error.message, "earlier backward pass"));
  end(&at);
}
END_TEST

START_TEST(unknown_flags_are_refused) {
  autograd_fixture at = begin();
  laze_tensor *x = leaf(&at, (float[]){1, 2}), *y = laze_sum(laze_mul(x, x)), *result;
  const int32_t flags[] = {8, -1};
  for (int i = 0; i < 2; i++) {
    laze_error error;
    ck_assert_int_eq(laze_backward_with(&y, NULL, 1, flags[i], &error), LAZE_INVALID_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(error.message, "laze_backward_with: flags are "));
    ck_assert_int_eq(laze_backward_into(&y, NULL, 1, &x, 1, flags[i], &error), LAZE_INVALID_ARGUMENT);
    ck_assert_int_eq(laze_grad(&y, NULL, 1, &x, 1, flags[i], &result, &error), LAZE_INVALID_ARGUMENT);
    ck_assert_int_eq(laze_jvp(&y, 1, &x, &x, 1, flags[i], &result, &error), LAZE_INVALID_ARGUMENT);
  }
  backward(y); /* nothing was used up */
  end(&at);
}
END_TEST

/* --- modes --- */

START_TEST(tensors_of_inference_mode_are_never_kept) {
  autograd_fixture at = begin();
  laze_error error;
  laze_tensor *x = leaf(&at, (float[]){1, 2});
  ck_assert(laze_is_grad_enabled(at.context) && !laze_is_inference_mode(at.context));
  ck_assert_int_eq(laze_set_inference_mode(at.context, 1), 0);
  ck_assert(!laze_is_grad_enabled(at.context) && laze_is_inference_mode(at.context));
  laze_tensor *y = laze_mul(x, 2);
  ck_assert_int_eq(laze_set_inference_mode(at.context, 0), 1);
  ck_assert(laze_tensor_is_inference(y) && !laze_tensor_is_inference(x) && !laze_tensor_requires_grad(y));
  ck_assert_int_eq(laze_tensor_require_grad(y, 1, &error), LAZE_FAILED_PRECONDITION);
  laze_tensor *sum = laze_add(x, y); /* whose gradient needs no value */
  expect(sum, 0, (float[]){3, 6});
  laze_scope *inner = laze_scope_begin(at.context);
  laze_tensor *product = laze_mul(x, y);
  ck_assert_ptr_nonnull(strstr(laze_tensor_error(product), "inference mode"));
  ck_assert_int_eq(laze_scope_end(inner), LAZE_FAILED_PRECONDITION);
  end(&at);
}
END_TEST

/* As PyTorch has it: what keeps a gradient keeps that of what the tensor is in the end. */
START_TEST(gradients_are_retained_across_writes) {
  autograd_fixture at = begin();
  laze_error error;
  char log[16] = "";
  watcher own = {.at = &at, .log = log, .name = 'v'};
  laze_tensor *x = leaf(&at, (float[]){1, 2, 3}), *three = constant(&at, (float[]){3, 3});
  laze_tensor *y = laze_mul(x, 1), *part = laze_slice(y, 0, 1, 3, 1), *stale = laze_slice(y, 0, 0, 2, 1);
  ck_assert_int_eq(laze_tensor_retain_grad(y, &error), LAZE_OK);
  ck_assert_int_eq(laze_tensor_retain_grad(part, &error), LAZE_OK);
  ck_assert_int_eq(laze_tensor_retain_grad(stale, &error), LAZE_OK);
  ck_assert_int_eq(laze_tensor_write(part, laze_mul(laze_clone(part), three), &error), LAZE_OK);
  hook(part, LAZE_HOOK_GRADIENT, &own);
  laze_tensor *loss = laze_add(laze_sum(y), laze_add(laze_sum(laze_mul(part, 10)), laze_sum(laze_mul(stale, 100))));
  backward(loss);
  ck_assert(own.seen == 10); /* of what the view is used for, and not of what its base is */
  expect(laze_tensor_grad(part), 0, (float[]){10, 10});
  expect(laze_tensor_grad(stale), 0, (float[]){100, 100});
  expect(laze_tensor_grad(x), 0, (float[]){101, 333, 33});
  ck_assert(laze_tensor_retains_grad(y) && laze_tensor_retains_grad(part));
  end(&at);
}
END_TEST

static laze_status double_in_place(void *self, laze_tensor *gradient, laze_tensor **replacement, laze_error *error) {
  (void)self, (void)replacement, (void)error;
  (void)laze_mul_(laze_slice(gradient, 0, 0, 1, 1), 2);
  return LAZE_OK;
}

/* Doubles a gradient of the operands, or of the results where `self` says so. */
static laze_status double_of_node(void *self, const laze_node_hook_call *call, laze_error *error) {
  const bool of_results = *(const bool *)self;
  (void)error;
  (void)laze_mul_(of_results ? call->results[0] : call->operands[0], 2);
  return LAZE_OK;
}

/* A hook that clips in place, say, must not be without effect: what it has written is what goes on. Only where nothing
 * would follow from it, the pass fails. */
START_TEST(what_hooks_write_to_gradients_goes_on) {
  autograd_fixture at = begin();
  laze_error error;
  bool of_results = true, of_operands = false;
  laze_tensor *x = leaf(&at, (float[]){1, 2}), *y = laze_mul(x, 3);
  ck_assert_int_eq(laze_tensor_register_hook(y, LAZE_HOOK_GRADIENT, double_in_place, NULL, NULL, NULL, &error),
                   LAZE_OK);
  backward(laze_sum(laze_mul(y, 10)));
  expect(laze_tensor_grad(x), 0, (float[]){60, 30});
  for (int when = LAZE_HOOK_BEFORE; when <= LAZE_HOOK_BEHIND; when++) {
    laze_tensor *z = laze_mul(x, 5);
    laze_gradient_node *node = laze_tensor_gradient_node(z);
    ck_assert_int_eq(laze_tensor_set_grad(x, NULL, &error), LAZE_OK);
    ck_assert_int_eq(laze_gradient_node_register_hook(node, when, double_of_node,
                                                      when == LAZE_HOOK_BEFORE ? &of_results : &of_operands, NULL, NULL,
                                                      &error),
                     LAZE_OK);
    backward(laze_sum(z));
    expect(laze_tensor_grad(x), 0, (float[]){10, 10});
    laze_gradient_node_release(node);
  }
  laze_tensor *late = laze_mul(x, 5);
  laze_gradient_node *node = laze_tensor_gradient_node(late);
  ck_assert_int_eq(
      laze_gradient_node_register_hook(node, LAZE_HOOK_BEHIND, double_of_node, &of_results, NULL, NULL, &error),
      LAZE_OK);
  ck_assert_int_eq(laze_backward(laze_sum(late), &error), LAZE_FAILED_PRECONDITION);
  ck_assert_ptr_nonnull(strstr(error.message, "wrote to the gradient of result 0"));
  expect(laze_tensor_grad(x), 0, (float[]){10, 10});
  laze_gradient_node_release(node);
  end(&at);
}
END_TEST

int main(void) {
  const TTest *tests[] = {gradients_are_retained_across_writes,
                          hooks_replace_in_the_order_of_registration,
                          a_hook_that_fails_changes_nothing,
                          hooks_can_be_removed_by_others,
                          hooks_on_what_was_accumulated,
                          nodes_have_names_operands_and_hooks,
                          wrong_replacements_are_refused,
                          results_can_keep_their_gradients,
                          kept_gradients_keep_nothing_alive,
                          passes_into_some_inputs,
                          tensors_of_inference_mode_are_never_kept,
                          any_of_many_hooks_can_be_removed,
                          a_pass_is_not_begun_inside_of_itself,
                          what_hooks_write_to_gradients_goes_on,
                          unknown_flags_are_refused};
  return run_tests("hooks", tests, sizeof tests / sizeof *tests);
}
