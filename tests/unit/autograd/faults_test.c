/* What gradients do where something goes wrong or is unusual: sizes that are not known, memory that runs out, handles
 * that go, cycles, cuts. */
#include "laze/laze.h"
#include "laze/trace.h"
#include "tests/support/failing_allocator.h"
#include "tests/unit/autograd/support.h"

static laze_tensor *gradient_of(laze_tensor *output, laze_tensor *given, laze_tensor *input, int32_t flags) {
  laze_error error;
  laze_tensor *found = NULL;
  ck_assert_msg(laze_grad(&output, given ? &given : NULL, 1, &input, 1, flags, &found, &error) == LAZE_OK, "%s",
                error.message);
  return found;
}

/* --- sizes that are not known --- */

static laze_tensor *positive(laze_tensor *x) {
  return laze_masked_select(x, laze_gt(x, 0));
}

/* The first n elements along axis 0, where a tensor says n. */
static laze_tensor *first_of(autograd_fixture *at, laze_tensor *x, laze_tensor *count) {
  laze_tensor *result = NULL;
  const laze_argument arguments[] = {{.kind = LAZE_PASS_TENSOR, .value.tensor = x},
                                     {.kind = LAZE_PASS_INTEGER, .value.integer = 0},
                                     {.kind = LAZE_PASS_NONE},
                                     {.kind = LAZE_PASS_TENSOR, .value.tensor = count}};
  ck_assert_int_eq(laze_call_by_name(at->context, "slice", arguments, 4, &result, 1), 1);
  return result;
}

/* The loss is recorded, and in the second round run, before the pass: types and attributes that were kept have to say
 * the same in both. */
START_TEST(unknown_sizes_before_and_after_they_are_found) {
  autograd_fixture at = begin();
  for (int found = 0; found < 2; found++) {
    laze_tensor *x = leaf(&at, (float[]){1, -2, 3, -4, 5});
    laze_tensor *chosen = positive(laze_mul(x, x)), *some = positive(x);
    laze_tensor *loss = laze_add(laze_sum(laze_mul(some, some)), laze_sum(laze_narrow(chosen, 0, 1, 2)));
    if (found) expect(loss, 0, (float[]){35 + 4 + 9});
    backward(loss);
    expect(laze_tensor_grad(x), 0, (float[]){2, -4, 6 + 6, 0, 10});
  }
  end(&at);
}
END_TEST

/* The symbol of a step's size stands for another number in the next one: a history of the first step must not take up
 * what the second found. */
START_TEST(histories_keep_the_sizes_of_their_own_step) {
  autograd_fixture at = begin();
  laze_tensor *x = laze_tensor_retain(leaf(&at, (float[]){1, 2, 3, 4, 5, 6}));
  laze_tensor *losses[3];
  for (int i = 0; i < 3; i++) {
    laze_scope *scope = laze_scope_begin(at.context);
    const float above = (float)(2 * i);
    laze_tensor *length = laze_sum(laze_gt(laze_detach(x), above)); /* 6, 4, 2 */
    laze_tensor *first = first_of(&at, x, length);
    losses[i] = laze_tensor_retain(laze_sum(laze_mul(first, first)));
    ck_assert_int_eq(laze_step_end(scope, NULL), LAZE_OK);
  }
  for (int i = 0; i < 3; i++) {
    float expected[6] = {0};
    for (int k = 0; k < 6 - 2 * i; k++) expected[k] = (float)(2 * (k + 1));
    expect_all(gradient_of(losses[i], NULL, x, 0), expected, 6, 0);
    laze_tensor_release(losses[i]);
  }
  laze_tensor_release(x);
  end(&at);
}
END_TEST

/* More symbols than a table keeps: what was recorded before it was renewed has its sizes in the new one. */
START_TEST(histories_survive_a_new_table_of_sizes) {
  autograd_fixture at = begin();
  laze_set_budget(at.context, 0, 0);
  laze_tensor *x = leaf(&at, (float[]){1, 2, 3, 4, 5, 6});
  laze_scope *inner = laze_scope_begin(at.context); /* whose symbols go, so that those behind them get other numbers */
  for (int i = 0; i < 200; i++) (void)laze_sum(positive(laze_sub(laze_detach(x), (double)i)));
  laze_tensor *length = laze_sum(laze_gt(laze_detach(x), 2.5));
  laze_tensor *first = first_of(&at, x, length);
  laze_tensor *loss =
      laze_tensor_retain(laze_add(laze_sum(laze_mul(first, first)), laze_sum(positive(laze_mul(x, x)))));
  ck_assert_int_eq(laze_scope_end(inner), LAZE_OK);
  inner = laze_scope_begin(at.context);
  for (int i = 0; i < 700; i++) (void)laze_sum(positive(laze_sub(laze_detach(x), 0.25 * i)));
  ck_assert_int_eq(laze_scope_end(inner), LAZE_OK);
  for (int i = 0; i < 300; i++) (void)laze_sum(positive(laze_sub(laze_detach(x), 0.125 * i)));
  backward(loss);
  laze_tensor_release(loss);
  expect(laze_tensor_grad(x), 0, (float[]){4, 8, 12, 16, 10, 12});
  end(&at);
}
END_TEST

/* What is given for a tensor of unknown size, and one element that only a run can tell. */
START_TEST(gradients_are_given_for_unknown_sizes) {
  autograd_fixture at = begin();
  laze_error error;
  laze_tensor *x = leaf(&at, (float[]){1, -2, 3}), *found = NULL;
  laze_tensor *some = positive(laze_mul(x, 2)), *tangent = constant(&at, (float[]){10, 20, 30});
  laze_tensor *wrong = constant(&at, (float[]){1, 2, 3}), *right = constant(&at, (float[]){1, 2});
  ck_assert_int_eq(laze_backward_with(&some, &wrong, 1, 0, &error), LAZE_INVALID_ARGUMENT);
  ck_assert_msg(laze_backward_with(&some, &right, 1, LAZE_RETAIN_GRAPH, &error) == LAZE_OK, "%s", error.message);
  expect(laze_tensor_grad(x), 0, (float[]){2, 0, 4});
  laze_tensor *again = positive(laze_mul(x, 2));
  ck_assert_msg(laze_jvp(&again, 1, &x, &tangent, 1, 0, &found, &error) == LAZE_OK, "%s", error.message);
  expect(found, 0, (float[]){20, 60});
  laze_tensor *one = laze_masked_select(x, laze_gt(x, 2));
  ck_assert_msg(laze_backward(one, &error) == LAZE_OK, "%s", error.message);
  expect(laze_tensor_grad(x), 0, (float[]){2, 0, 5});
  ck_assert_int_eq(laze_backward(positive(x), &error), LAZE_INVALID_ARGUMENT); /* two elements */
  end(&at);
}
END_TEST

/* --- handles --- */

/* A leaf whose gradient's history leads to it, in all ways there are: nothing is left when its handle goes. */
START_TEST(a_gradient_of_its_own_leaf_keeps_nothing) {
  autograd_fixture at = begin();
  laze_error error;
  laze_scope *inner = laze_scope_begin(at.context);
  laze_tensor *x = leaf(&at, (float[]){1, 2}), *y = leaf(&at, (float[]){3, 4});
  ck_assert_int_eq(laze_tensor_set_grad(x, x, &error), LAZE_OK);
  expect(laze_tensor_grad(x), 0, (float[]){1, 2});
  ck_assert_int_eq(laze_tensor_set_grad(x, laze_mul(y, y), &error), LAZE_OK);
  ck_assert_int_eq(laze_tensor_set_grad(y, laze_mul(x, x), &error), LAZE_OK);
  laze_tensor *z = leaf(&at, (float[]){1, 2}), *cube = laze_sum(laze_mul(z, laze_mul(z, z)));
  ck_assert_int_eq(laze_backward_with(&cube, NULL, 1, LAZE_CREATE_GRAPH, &error), LAZE_OK);
  expect(gradient_of(laze_sum(laze_tensor_grad(z)), NULL, z, 0), 0, (float[]){6, 12});
  ck_assert_int_eq(laze_scope_end(inner), LAZE_OK);
  ck_assert_int_eq(metric(at.context, "autograd_nodes_alive"), 0);
  end(&at);
}
END_TEST

/* What a call gives is no leaf, even where its value is an operand's: it has a gradient of its own. */
START_TEST(results_that_are_operands_are_no_leaves) {
  autograd_fixture at = begin();
  laze_error error;
  laze_tensor *x = leaf(&at, (float[]){1, 2});
  laze_tensor *same[] = {laze_clone(x),        laze_alias(x),         laze_contiguous(x), laze_reshape(x, LAZE_INTS(2)),
                         laze_to(x, LAZE_F32), laze_flatten(x, 0, -1)};
  for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
    ck_assert_msg(laze_tensor_requires_grad(same[i]) && !laze_tensor_is_leaf(same[i]), "result %zu", i);
    ck_assert_int_eq(laze_tensor_require_grad(same[i], 0, &error), LAZE_FAILED_PRECONDITION);
    laze_tensor *loss = laze_sum(laze_mul(laze_mul(same[i], same[i]), x));
    expect(gradient_of(loss, NULL, same[i], LAZE_RETAIN_GRAPH), 0, (float[]){2, 8}); /* without the other way to x */
    expect(gradient_of(loss, NULL, x, 0), 0, (float[]){3, 12});
  }
  ck_assert_ptr_null(laze_tensor_grad(same[0]));
  end(&at);
}
END_TEST

/* An assigned tensor follows from what was assigned to it, and from nothing before; a leaf stays one. */
START_TEST(assignment_takes_the_history_along) {
  autograd_fixture at = begin();
  laze_tensor *x = leaf(&at, (float[]){1, 2}), *y = laze_mul(x, 2), *plain = constant(&at, (float[]){5, 6});
  laze_tensor *held = constant(&at, (float[]){0, 0});
  ck_assert_int_eq(laze_tensor_assign(y, plain), LAZE_OK);
  ck_assert(!laze_tensor_requires_grad(y));
  ck_assert_int_eq(laze_tensor_assign(y, laze_mul(x, 3)), LAZE_OK);
  expect(gradient_of(laze_sum(y), NULL, x, 0), 0, (float[]){3, 3});
  ck_assert_int_eq(laze_tensor_assign(held, x), LAZE_OK);
  ck_assert(laze_tensor_requires_grad(held) && !laze_tensor_is_leaf(held));
  expect(gradient_of(laze_sum(laze_mul(held, x)), NULL, held, 0), 0, (float[]){1, 2});
  ck_assert_int_eq(laze_tensor_assign(x, laze_mul(x, 10)), LAZE_OK);
  ck_assert(laze_tensor_is_leaf(x));
  backward(laze_sum(laze_mul(x, x)));
  expect(laze_tensor_grad(x), 0, (float[]){20, 40});
  end(&at);
}
END_TEST

/* Everything but the loss is gone when the pass begins; and a context goes while histories live. */
START_TEST(histories_outlive_scopes_and_end_with_the_context) {
  autograd_fixture at = begin();
  laze_error error;
  laze_tensor *x = laze_tensor_retain(leaf(&at, (float[]){1, 2}));
  laze_scope *inner = laze_scope_begin(at.context);
  laze_tensor *w = leaf(&at, (float[]){3, 4});
  laze_tensor *loss = laze_tensor_retain(laze_sum(laze_mul(laze_exp(laze_mul(x, 0)), laze_mul(x, w))));
  ck_assert_int_eq(laze_scope_end(inner), LAZE_OK);
  ck_assert_int_eq(laze_backward_with(&loss, NULL, 1, LAZE_RETAIN_GRAPH, &error), LAZE_OK);
  expect(laze_tensor_grad(x), 0, (float[]){3, 4});
  ck_assert_int_eq(laze_tensor_require_grad(x, 0, &error), LAZE_OK); /* in use: the graph has its node still */
  expect(laze_tensor_grad(x), 0, (float[]){3, 4});
  ck_assert_int_eq(laze_backward_with(&loss, NULL, 1, LAZE_RETAIN_GRAPH, &error), LAZE_OK);
  expect(laze_tensor_grad(x), 0, (float[]){3, 4}); /* to which nothing is added */
  ck_assert_int_eq(laze_scope_end(at.scope), LAZE_OK);
  laze_context_release(at.context);
  ck_assert_int_eq(laze_backward(loss, &error), LAZE_OK); /* retained handles keep the context */
  laze_tensor_release(x);
  laze_tensor_release(loss);
}
END_TEST

START_TEST(handles_that_are_none_are_refused) {
  autograd_fixture at = begin(), other = begin();
  laze_error error;
  laze_tensor *x = leaf(&at, (float[]){1, 2}), *far = leaf(&other, (float[]){1, 2}), *found[2] = {x, x};
  laze_tensor *loss = laze_sum(laze_mul(x, x)), *far_loss = laze_sum(far);
  laze_scope *inner = laze_scope_begin(at.context);
  laze_tensor *gone = laze_sum(x);
  ck_assert_int_eq(laze_scope_end(inner), LAZE_OK);
  ck_assert_int_eq(laze_backward(gone, &error), LAZE_INVALID_ARGUMENT);
  ck_assert_int_eq(laze_tensor_set_grad(x, gone, &error), LAZE_INVALID_ARGUMENT);
  ck_assert_int_eq(laze_tensor_set_grad(x, far, &error), LAZE_INVALID_ARGUMENT);
  ck_assert_int_eq(laze_grad(&loss, NULL, 1, &far, 1, 0, found, &error), LAZE_INVALID_ARGUMENT);
  ck_assert_ptr_null(found[0]);
  laze_tensor *both[] = {loss, far_loss}, *none[] = {NULL, NULL};
  ck_assert_int_eq(laze_backward_with(both, NULL, 2, 0, &error), LAZE_INVALID_ARGUMENT);
  ck_assert_int_eq(laze_backward_with(none, NULL, 2, 0, &error), LAZE_INVALID_ARGUMENT);
  ck_assert_int_eq(laze_jvp(&loss, 1, &x, &far, 1, 0, found, &error), LAZE_INVALID_ARGUMENT);
  ck_assert_int_eq(laze_jvp(&loss, 1, &x, &gone, 1, 0, found, &error), LAZE_INVALID_ARGUMENT);
  ck_assert_int_eq(laze_tensor_requires_grad(gone) + laze_tensor_requires_grad(NULL), 0);
  ck_assert_ptr_null(laze_tensor_grad(NULL));
  ck_assert_ptr_null(laze_tensor_grad(x));
  backward(loss); /* nothing of it was used up */
  expect(laze_tensor_grad(x), 0, (float[]){2, 4});
  end(&other);
  end(&at);
}
END_TEST

/* --- numbers of things --- */

/* Tangents that are all absent: nothing moves. */
START_TEST(directions_may_be_none) {
  autograd_fixture at = begin();
  laze_error error;
  laze_tensor *x = leaf(&at, (float[]){1, 2}), *y = laze_mul(x, x), *none = NULL, *found = NULL;
  ck_assert_msg(laze_jvp(&y, 1, &x, &none, 1, 0, &found, &error) == LAZE_OK, "%s", error.message);
  expect(found, 0, (float[]){0, 0});
  end(&at);
}
END_TEST

START_TEST(operands_and_roots_may_be_the_same) {
  autograd_fixture at = begin();
  laze_error error;
  laze_tensor *x = leaf(&at, (float[]){2, 3}), *y = laze_sum(laze_mul(x, x)), *roots[] = {y, y, y};
  ck_assert_int_eq(laze_backward_with(roots, NULL, 3, 0, &error), LAZE_OK);
  expect(laze_tensor_grad(x), 0, (float[]){12, 18});
  laze_tensor *inputs[] = {x, x}, *found[2], *leaves[] = {x, laze_sum(x)},
              *given[] = {constant(&at, (float[]){5, 6}), NULL};
  ck_assert_int_eq(laze_grad(leaves, given, 2, inputs, 2, 0, found, &error), LAZE_OK);
  expect(found[0], 0, (float[]){6, 7});
  expect(found[1], 0, (float[]){6, 7});
  end(&at);
}
END_TEST

/* Of many results only some are used; of many operands each has its part. */
START_TEST(many_operands_and_results) {
  autograd_fixture at = begin();
  enum { COUNT = 64 };
  laze_tensor *leaves[COUNT], *pieces[3];
  for (int i = 0; i < COUNT; i++) leaves[i] = leaf(&at, (float[]){(float)i, 1});
  laze_tensor *whole = laze_cat(leaves, COUNT, 0);
  backward(laze_sum(laze_mul(whole, whole)));
  for (int i = 0; i < COUNT; i++) expect(laze_tensor_grad(leaves[i]), 0, (float[]){2 * (float)i, 2});
  laze_tensor *x = leaf(&at, (float[]){1, 2, 3, 4, 5, 6});
  const laze_argument split[] = {{.kind = LAZE_PASS_TENSOR, .value.tensor = x},
                                 {.kind = LAZE_PASS_INTEGER, .value.integer = 2}};
  ck_assert_int_eq(laze_call_by_name(at.context, "split", split, 2, pieces, 3), 3);
  backward(laze_sum(laze_mul(pieces[2], pieces[0])));
  expect(laze_tensor_grad(x), 0, (float[]){5, 6, 0, 0, 1, 2});
  end(&at);
}
END_TEST

static laze_tensor *leaf_like(laze_tensor *value) {
  laze_error error;
  laze_tensor *tensor = laze_detach(value);
  ck_assert_msg(laze_tensor_require_grad(tensor, 1, &error) == LAZE_OK, "%s", error.message);
  return tensor;
}

/* Each side broadcasts along another axis, dtypes differ, and integers stand beside them: a gradient is of its own
 * tensor's shape and dtype all the same. */
START_TEST(both_sides_broadcast_in_all_dtypes) {
  autograd_fixture at = begin();
  const laze_dtype dtypes[] = {LAZE_F16, LAZE_BF16, LAZE_F32, LAZE_F64, LAZE_C64, LAZE_C128};
  const size_t count = sizeof dtypes / sizeof *dtypes;
  for (size_t i = 0; i < count * count; i++) {
    const laze_dtype left = dtypes[i % count], right = dtypes[i / count];
    laze_tensor *x = leaf_like(laze_to(laze_reshape(constant(&at, (float[]){1, 2, 3}), LAZE_INTS(3, 1)), left));
    laze_tensor *y = leaf_like(laze_to(laze_reshape(constant(&at, (float[]){4, 5}), LAZE_INTS(1, 2)), right));
    laze_tensor *whole = laze_mul(laze_mul(x, y), laze_to(constant(&at, (float[]){1, 2}), LAZE_I32));
    backward(laze_real(laze_sum(whole)));
    ck_assert_int_eq(laze_tensor_dtype(laze_tensor_grad(x)), left);
    ck_assert_int_eq(laze_tensor_dtype(laze_tensor_grad(y)), right);
    expect(laze_to(laze_real(laze_tensor_grad(x)), LAZE_F32), 0, (float[]){14, 14, 14});
    expect(laze_to(laze_real(laze_tensor_grad(y)), LAZE_F32), 0, (float[]){6, 12});
  }
  end(&at);
}
END_TEST

/* Lists of results and of operands, some of which are absent. */
START_TEST(lists_have_gradients_item_by_item) {
  autograd_fixture at = begin();
  laze_tensor *x = leaf(&at, (float[]){1, 2, 3, 4}), *y = leaf(&at, (float[]){5, 6}), *grid[2], *pieces[4],
              *found = NULL;
  laze_tensor *const sides[] = {x, y};
  const laze_argument mesh[] = {{.kind = LAZE_PASS_TENSORS, .count = 2, .value.tensors = sides}};
  ck_assert_int_eq(laze_call_by_name(at.context, "meshgrid", mesh, 1, grid, 2), 2);
  backward(laze_sum(laze_mul(grid[0], grid[1])));
  expect(laze_tensor_grad(x), 0, (float[]){11, 11, 11, 11});
  expect(laze_tensor_grad(y), 0, (float[]){10, 10});
  const laze_argument one[] = {{.kind = LAZE_PASS_TENSOR, .value.tensor = leaf_like(x)}};
  ck_assert_int_eq(laze_call_by_name(at.context, "unbind", one, 1, pieces, 4), 4);
  backward(laze_mul(pieces[3], pieces[1]));
  expect(laze_tensor_grad(one[0].value.tensor), 0, (float[]){0, 4, 0, 2});
  const int64_t twice[] = {1, 1};
  laze_tensor *square = leaf_like(laze_reshape(constant(&at, (float[]){1, 2, 3, 4}), LAZE_INTS(2, 2)));
  laze_tensor *const places[] = {NULL, laze_tensor_from_data(at.context, LAZE_I64, LAZE_SHAPE(2), twice, sizeof twice)};
  const laze_argument index[] = {{.kind = LAZE_PASS_TENSOR, .value.tensor = square},
                                 {.kind = LAZE_PASS_TENSORS, .count = 2, .value.tensors = places}};
  ck_assert_int_eq(laze_call_by_name(at.context, "index", index, 2, &found, 1), 1);
  backward(laze_sum(laze_mul(found, found)));
  expect(laze_tensor_grad(square), 0, (float[]){0, 8, 0, 16});
  end(&at);
}
END_TEST

/* An axis of size 0, and no axis at all, in each formula of a reduction. */
START_TEST(empty_and_scalar_tensors) {
  autograd_fixture at = begin();
  laze_error error;
  laze_tensor *empty = laze_zeros(at.context, LAZE_SHAPE(0, 3), LAZE_F32),
              *scalar = laze_full(at.context, LAZE_SHAPE(), 2, LAZE_F32);
  ck_assert_int_eq(laze_tensor_require_grad(empty, 1, &error), LAZE_OK);
  ck_assert_int_eq(laze_tensor_require_grad(scalar, 1, &error), LAZE_OK);
  laze_tensor *results[] = {laze_sum(empty),
                            laze_sum(laze_mean_dim(empty, LAZE_INTS(1), false)),
                            laze_sum(laze_amax(empty, LAZE_INTS(1), false)),
                            laze_sum(laze_prod(empty)),
                            laze_sum(laze_cumsum(empty, 0)),
                            laze_sum(laze_softmax(empty, 0)),
                            laze_sum(laze_cumprod(empty, 0)),
                            laze_sum(laze_logsumexp(empty, LAZE_INTS(1), false)),
                            laze_sum(laze_var_dim(empty, LAZE_INTS(1), false)),
                            laze_sum(laze_norm(empty, 2)),
                            laze_sum(laze_flip(empty, LAZE_INTS(0)))};
  for (size_t i = 0; i < sizeof results / sizeof *results; i++) {
    ck_assert_str_eq(laze_tensor_error(results[i]), "");
    laze_tensor *found = gradient_of(results[i], NULL, empty, 0);
    ck_assert_int_eq(laze_tensor_size(found, 0), 0);
    ck_assert_int_eq(laze_tensor_materialise(found), LAZE_OK);
  }
  laze_tensor *of_scalar[] = {
      laze_sum(scalar),       laze_amax(scalar, LAZE_INTS(0), false),      laze_prod(scalar),
      laze_cumsum(scalar, 0), laze_logsumexp(scalar, LAZE_INTS(0), false), laze_cumprod(scalar, 0)};
  for (size_t i = 0; i < sizeof of_scalar / sizeof *of_scalar; i++)
    expect(gradient_of(of_scalar[i], NULL, scalar, 0), 0, (float[]){1});
  end(&at);
}
END_TEST

/* --- cuts, and steps without end --- */

static float run_cut(int64_t nodes, bool reads) {
  autograd_fixture at = begin();
  laze_error error;
  laze_set_budget(at.context, nodes, 0);
  laze_tensor *x = leaf(&at, (float[]){0.5f, -0.25f, 1}), *y = x, *first = NULL;
  for (int i = 0; i < 20; i++) y = laze_mul(laze_sin(y), laze_exp(laze_add(y, x)));
  laze_tensor *loss = laze_sum(y);
  ck_assert_msg(laze_grad(&loss, NULL, 1, &x, 1, LAZE_CREATE_GRAPH, &first, &error) == LAZE_OK, "%s", error.message);
  if (reads) (void)laze_tensor_item(laze_sum(first));
  backward(laze_sum(laze_mul(first, first)));
  const float result = (float)laze_tensor_item(laze_sum(laze_tensor_grad(x)));
  end(&at);
  return result;
}

START_TEST(cuts_and_reads_change_nothing) {
  const float whole = run_cut(0, false);
  ck_assert(isfinite(whole) && whole != 0);
  const int64_t budgets[] = {1, 2, 7, 100};
  for (size_t i = 0; i < sizeof budgets / sizeof *budgets; i++)
    for (int reads = 0; reads < 2; reads++)
      ck_assert_msg(fabsf(run_cut(budgets[i], reads) - whole) <= 1e-4f * fabsf(whole), "budget %lld",
                    (long long)budgets[i]);
}
END_TEST

START_TEST(a_thousand_steps_grow_nothing) {
  autograd_fixture at = begin();
  laze_error error;
  laze_tensor *w = leaf(&at, (float[]){1, -1, 0.5f, 2});
  int64_t nodes = 0, bytes = 0;
  for (int step = 0; step < 1000; step++) {
    laze_scope *scope = laze_scope_begin(at.context);
    laze_tensor *some = laze_masked_select(w, laze_gt(w, (double)(step % 3) - 1)),
                *loss = laze_sum(laze_mul(some, some));
    ck_assert_int_eq(laze_backward_with(&loss, NULL, 1, step % 2 ? LAZE_CREATE_GRAPH : 0, &error), LAZE_OK);
    ck_assert_int_eq(laze_tensor_assign(w, laze_sub(w, laze_mul(laze_detach(laze_tensor_grad(w)), 0.0))), LAZE_OK);
    ck_assert_int_eq(laze_tensor_set_grad(w, NULL, NULL), LAZE_OK);
    ck_assert_int_eq(laze_step_end(scope, NULL), LAZE_OK);
    if (step == 12) nodes = metric(at.context, "autograd_nodes_alive"), bytes = metric(at.context, "current_bytes");
  }
  ck_assert_int_eq(metric(at.context, "autograd_nodes_alive"), nodes);
  ck_assert_int_eq(metric(at.context, "current_bytes"), bytes);
  end(&at);
}
END_TEST

/* --- threads --- */

enum { THREADS = 4, PASSES = 50 };
typedef struct {
  laze_context *context;
  laze_tensor *leaf, *shared;
} thread_job;

static void *run_passes(void *argument) {
  const thread_job *job = argument;
  laze_scope *scope = laze_scope_begin(job->context);
  for (int i = 0; i < PASSES; i++) {
    laze_tensor *loss = laze_sum(laze_mul(job->leaf, 2));
    if (laze_backward(loss, NULL) != LAZE_OK) return argument;
    if (laze_backward_with((laze_tensor *[]){job->shared}, NULL, 1, LAZE_RETAIN_GRAPH, NULL) != LAZE_OK)
      return argument;
    if (laze_tensor_item(laze_sum(positive(job->leaf))) != 3) return argument;
  }
  return laze_scope_end(scope) == LAZE_OK ? NULL : argument;
}

/* Passes of several threads over one leaf, and over a graph that another thread recorded, add up. */
START_TEST(threads_share_leaves_and_graphs) {
  autograd_fixture at = begin();
  laze_tensor *x = laze_tensor_retain(leaf(&at, (float[]){1, 2}));
  laze_tensor *some = positive(x);
  thread_job job = {at.context, x, laze_tensor_retain(laze_sum(laze_mul(some, some)))};
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; i++) ck_assert_int_eq(pthread_create(&threads[i], NULL, run_passes, &job), 0);
  for (int i = 0; i < THREADS; i++) {
    void *failed = NULL;
    ck_assert_int_eq(pthread_join(threads[i], &failed), 0);
    ck_assert_ptr_null(failed);
  }
  expect(laze_tensor_grad(x), 0, (float[]){THREADS * PASSES * 4.0f, THREADS * PASSES * 6.0f});
  laze_tensor_release(job.shared);
  laze_tensor_release(x);
  end(&at);
}
END_TEST

/* --- memory --- */

/* Forward, first and second derivatives, a direction, and unknown sizes, where any allocation may fail. Says whether
 * all of it went well; then the numbers are right. */
static bool run_program(test_failing_allocator *state) {
  laze_context *context;
  laze_tensor *first = NULL, *moved = NULL;
  float got[4] = {0};
  const float data[] = {1, 2};
  if (test_failing_context(state, "interp", "noarenas", "", &context) != LAZE_OK) return false;
  laze_scope *scope = laze_scope_begin(context);
  laze_tensor *x = laze_tensor_from_data(context, LAZE_F32, LAZE_SHAPE(2), data, sizeof data);
  bool good = laze_tensor_require_grad(x, 1, NULL) == LAZE_OK;
  laze_tensor *some = positive(x), *cube = laze_sum(laze_mul(laze_mul(x, x), laze_clone(x)));
  laze_tensor *loss = laze_sum(laze_mul(some, some));
  const bool reached = laze_backward(loss, NULL) == LAZE_OK;
  good &= reached;
  good &= laze_grad(&cube, NULL, 1, &x, 1, LAZE_CREATE_GRAPH, &first, NULL) == LAZE_OK;
  if (!good) ck_assert_ptr_null(first == x ? x : NULL);
  good &= laze_jvp(&cube, 1, &x, &x, 1, 0, &moved, NULL) == LAZE_OK;
  good = good && laze_backward(laze_sum(first), NULL) == LAZE_OK;
  good = good && laze_tensor_read(laze_tensor_grad(x), LAZE_F32, got, sizeof data) == LAZE_OK;
  good = good && laze_tensor_read(moved, LAZE_F32, &got[2], sizeof *got) == LAZE_OK;
  const bool ended = laze_step_end(scope, NULL) == LAZE_OK;
  good &= ended;
  int64_t alive = -1;
  ck_assert_int_eq(laze_metric_read(context, "autograd_nodes_alive", &alive, NULL), LAZE_OK);
  if (ended) ck_assert_int_eq(alive, 0);
  laze_context_release(context);
  if (good) ck_assert(got[0] == 8 && got[1] == 16 && got[2] == 27);
  return good;
}

static void fail_everywhere(bool all_after) {
  bool done = false;
  for (int64_t at = 1; !done; at++) {
    test_failing_allocator state = {.refuse_at = at, .refuse_all_after = all_after};
    const bool good = run_program(&state);
    ck_assert_msg(state.live == 0, "%lld blocks are left when allocation %lld fails", (long long)state.live,
                  (long long)at);
    done = state.calls < at;
    ck_assert_msg(good || !done, "it fails although there is memory");
  }
}

START_TEST(any_allocation_may_fail) {
  fail_everywhere(false);
}
END_TEST
START_TEST(memory_may_run_out_at_any_point) {
  fail_everywhere(true);
}
END_TEST

/* A message names the function that was called, and says so once: people search for that name in their program. */
START_TEST(messages_name_the_function_that_was_called) {
  autograd_fixture at = begin();
  laze_error error[12] = {{.code = LAZE_OK}};
  laze_tensor *x = leaf(&at, (float[]){1, 2}), *plain = constant(&at, (float[]){1, 2}), *found[2], *none = NULL;
  laze_tensor *const two[] = {laze_mul(x, x)}, *const one[] = {laze_sum(x)}, *const nothing[] = {NULL};
  const char *const names[] = {"laze_backward",
                               "laze_backward",
                               "laze_backward_with",
                               "laze_backward_into",
                               "laze_backward_into",
                               "laze_grad",
                               "laze_grad",
                               "laze_jvp",
                               "laze_tensors_materialise",
                               "laze_trace_begin",
                               "laze_tensor_set_grad",
                               "laze_tensor_set"};
  ck_assert_int_ne(laze_backward(two[0], &error[0]), LAZE_OK);
  ck_assert_int_ne(laze_backward(plain, &error[1]), LAZE_OK);
  ck_assert_int_ne(laze_backward_with(two, NULL, 1, 0, &error[2]), LAZE_OK);
  ck_assert_int_ne(laze_backward_into(one, NULL, 1, &plain, 1, 0, &error[3]), LAZE_OK);
  ck_assert_int_ne(laze_backward_into(two, NULL, 1, &x, 1, 0, &error[4]), LAZE_OK);
  ck_assert_int_ne(laze_grad(one, NULL, 1, &plain, 1, 0, found, &error[5]), LAZE_OK);
  ck_assert_int_ne(laze_grad(nothing, NULL, 1, &x, 1, 0, found, &error[6]), LAZE_OK);
  ck_assert_int_ne(laze_jvp(one, 1, &plain, &plain, 1, 0, found, &error[7]), LAZE_OK);
  ck_assert_int_ne(laze_tensors_materialise(nothing, 1, &error[8]), LAZE_OK);
  ck_assert_int_ne(laze_trace_begin(at.context, nothing, 1, NULL, found, &error[9]), LAZE_OK);
  ck_assert_int_ne(laze_tensor_set_grad(two[0], plain, &error[10]), LAZE_OK);
  ck_assert_int_ne(laze_tensor_set(x, none, &error[11]), LAZE_OK);
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    const size_t length = strlen(names[i]);
    ck_assert_msg(strncmp(error[i].message, names[i], length) == 0 && error[i].message[length] == ':',
                  "a message of %s: %s", names[i], error[i].message);
    ck_assert_msg(strncmp(error[i].message + length + 2, names[i], length) != 0, "said twice: %s", error[i].message);
  }
  end(&at);
}
END_TEST

int main(void) {
  const TTest *tests[] = {messages_name_the_function_that_was_called,
                          unknown_sizes_before_and_after_they_are_found,
                          histories_keep_the_sizes_of_their_own_step,
                          histories_survive_a_new_table_of_sizes,
                          gradients_are_given_for_unknown_sizes,
                          a_gradient_of_its_own_leaf_keeps_nothing,
                          results_that_are_operands_are_no_leaves,
                          assignment_takes_the_history_along,
                          histories_outlive_scopes_and_end_with_the_context,
                          handles_that_are_none_are_refused,
                          directions_may_be_none,
                          operands_and_roots_may_be_the_same,
                          many_operands_and_results,
                          both_sides_broadcast_in_all_dtypes,
                          lists_have_gradients_item_by_item,
                          empty_and_scalar_tensors,
                          cuts_and_reads_change_nothing,
                          a_thousand_steps_grow_nothing,
                          threads_share_leaves_and_graphs,
                          any_allocation_may_fail,
                          memory_may_run_out_at_any_point};
  return run_tests("faults", tests, sizeof tests / sizeof *tests);
}
