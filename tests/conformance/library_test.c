/* Operators that a program declares: the same on every backend, inside of graphs, and what is wrong with one is an
 * error of its results and of nothing else. Rows 2.1 to 2.6 of docs/systems.md. */
#include "tests/conformance/library_support.h"

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
                              row_1_21_bad_code_is_caught};
  TCase *tests = tcase_create("library");
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) conformance_add(tests, all[i]);
  return conformance_main(tests);
}
