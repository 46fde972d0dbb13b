/* What autograd from declarations does, a test for each row of docs/systems.md. */
#include "laze/laze.h"
#include "tests/unit/autograd/support.h"

/* A composite without formula, whose parts are differentiated; a formula; and a comparison. */
START_TEST(row_1_1_three_kinds_of_operator) {
  autograd_fixture at = begin();
  laze_tensor *x = leaf(&at, (float[]){0.5f, -2}), *w = constant(&at, (float[]){3, 4});
  laze_tensor *product = laze_mul(x, w), *composite = laze_logit(laze_sigmoid(product), LAZE_NONE),
              *compared = laze_gt(product, w);
  ck_assert(laze_tensor_requires_grad(product) && laze_tensor_requires_grad(composite));
  ck_assert(!laze_tensor_requires_grad(compared));
  backward(laze_sum(composite));
  expect(laze_tensor_grad(x), 1e-5f, (float[]){3, 4}); /* logit undoes sigmoid */
  end(&at);
}
END_TEST

/* Where a limit touches an element, the gradient is that of PyTorch, and not half of it: images have many zeros. */
START_TEST(limits_that_touch) {
  autograd_fixture at = begin();
  laze_tensor *x = leaf(&at, (float[]){0, 6, -3, 3, 1});
  const struct {
    laze_tensor *result;
    float expected[5];
  } cases[] = {{laze_relu(x), {0, 1, 0, 1, 1}},
               {laze_relu6(x), {0, 0, 0, 1, 1}},
               {laze_clamp(x, 0, 6), {1, 1, 0, 1, 1}},
               {laze_clamp_min(x, 0), {1, 1, 0, 1, 1}},
               {laze_clamp_max(x, 0), {1, 0, 1, 0, 0}},
               {laze_hardtanh(x, 0, 3), {0, 0, 0, 0, 1}},
               {laze_mul(laze_hardsigmoid(x), 6), {1, 0, 0, 0, 1}},
               {laze_hardswish(x), {0.5f, 1, 0, 1, 5.0f / 6}}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    backward(laze_sum(cases[i].result));
    expect_all(laze_tensor_grad(x), cases[i].expected, 5, 1e-6f);
    ck_assert_int_eq(laze_tensor_set_grad(x, NULL, NULL), LAZE_OK);
  }
  end(&at);
}
END_TEST

/* A row that pads stays as it was made, and one that is seen often moves no faster where that was asked for. */
START_TEST(rows_of_an_embedding_that_count_otherwise) {
  autograd_fixture at = begin();
  laze_tensor *table = leaf(&at, (float[]){1, 2, 3, 4, 5, 6});
  laze_tensor *rows = laze_reshape(table, LAZE_INTS(3, 2)), *weights = constant(&at, (float[]){1, 2, 4, 8});
  const int64_t places[] = {0, 2, 2, 0};
  laze_tensor *indices = laze_tensor_from_data(at.context, LAZE_I64, LAZE_SHAPE(2, 2), places, sizeof places);
  const struct {
    int64_t padding;
    bool by_frequency;
    float expected[6];
  } cases[] = {{-1, false, {9, 9, 0, 0, 6, 6}},
               {0, false, {0, 0, 0, 0, 6, 6}},
               {-1, true, {4.5f, 4.5f, 0, 0, 3, 3}},
               {2, true, {4.5f, 4.5f, 0, 0, 0, 0}}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    laze_tensor *taken = laze_embedding_with(rows, indices, cases[i].padding, cases[i].by_frequency, false);
    backward(laze_sum(laze_mul(taken, laze_reshape(weights, LAZE_INTS(2, 2, 1)))));
    expect_all(laze_tensor_grad(table), cases[i].expected, 6, 0);
    ck_assert_int_eq(laze_tensor_set_grad(table, NULL, NULL), LAZE_OK);
  }
  end(&at);
}
END_TEST

/* A branch that is not taken may overflow, what is small may be the difference of what is not, and a magnitude has a
 * corner at 0: none of it reaches a gradient. The numbers are PyTorch's but for mish, of which it has no second
 * derivative at 100, and few digits at -100. */
START_TEST(far_from_0_gradients_are_finite) {
  autograd_fixture at = begin();
  enum { POINTS = 7 };
  const float points[POINTS] = {100, 1000, -100, -1000, -20.5f, 1, 0};
  const struct {
    const char *name;
    float first[POINTS], second[POINTS];
  } cases[] = {
      {"elu", {1, 1, 3.78e-44f, 0, 1.2501529e-9f, 1, 1}, {0, 0, 3.78e-44f, 0, 1.2501529e-9f, 0, 0}},
      {"celu", {1, 1, 3.78e-44f, 0, 1.2501529e-9f, 1, 1}, {0, 0, 3.78e-44f, 0, 1.2501529e-9f, 0, 0}},
      {"selu",
       {1.050701f, 1.050701f, 6.59e-44f, 0, 2.1978930e-9f, 1.050701f, 1.7580993f},
       {0, 0, 6.59e-44f, 0, 2.1978930e-9f, 0, 0}},
      {"softplus",
       {1, 1, 3.78e-44f, 0, 1.2501529e-9f, 0.7310586f, 0.5f},
       {0, 0, 0, 0, 1.2501529e-9f, 0.1966119f, 0.25f}},
      {"mish",
       {1, 1, -3.75e-42f, 0, -2.4377982e-8f, 1.0490363f, 0.6f},
       {0, 0, -3.71e-42f, 0, -2.3127829e-8f, 0.1846858f, 0.64f}},
      {"special_ndtr", {0, 0, 0, 0, 0, 0.2419707f, 0.3989423f}, {0, 0, 0, 0, 0, -0.2419707f, 0}},
      {"log_sigmoid", {3.78e-44f, 0, 1, 1, 1, 0.2689414f, 0.5f}, {0, 0, 0, 0, -1.2501529e-9f, -0.1966119f, -0.25f}},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    laze_error error;
    laze_tensor *x = leaf(&at, points), *result = NULL, *first = NULL, *second = NULL;
    laze_argument argument = {.kind = LAZE_PASS_TENSOR, .value.tensor = x};
    float got[2][POINTS];
    ck_assert_int_eq(laze_call_by_name(at.context, cases[i].name, &argument, 1, &result, 1), 1);
    laze_tensor *sum = laze_sum(result);
    ck_assert_msg(laze_grad(&sum, NULL, 1, &x, 1, LAZE_CREATE_GRAPH, &first, &error) == LAZE_OK, "%s", error.message);
    sum = laze_sum(first);
    ck_assert_msg(laze_grad(&sum, NULL, 1, &x, 1, 0, &second, &error) == LAZE_OK, "%s", error.message);
    ck_assert_int_eq(laze_tensor_read(first, LAZE_F32, got[0], sizeof got[0]), LAZE_OK);
    ck_assert_int_eq(laze_tensor_read(second, LAZE_F32, got[1], sizeof got[1]), LAZE_OK);
    for (int k = 0; k < POINTS; k++)
      for (int order = 0; order < 2; order++) {
        const float expected = order == 0 ? cases[i].first[k] : cases[i].second[k];
        ck_assert_msg(fabsf(got[order][k] - expected) <= 1e-6f * fabsf(expected) + 1e-42f,
                      "%s, derivative %d at %g: %g, expected %g", cases[i].name, order + 1, points[k], got[order][k],
                      expected);
      }
  }
  end(&at);
}
END_TEST

/* Expects the gradient of the sum of a result, for x; as PyTorch has it where a root has a corner or a pole. */
static void expect_gradient(laze_tensor *x, laze_tensor *result, const float *expected, size_t count) {
  ck_assert_str_eq(laze_tensor_error(result), "");
  backward(laze_sum(result));
  expect_all(laze_tensor_grad(x), expected, count, 1e-6f);
  ck_assert_int_eq(laze_tensor_set_grad(x, NULL, NULL), LAZE_OK);
}

START_TEST(where_a_norm_is_0_gradients_are_finite) {
  autograd_fixture at = begin();
  const double orders[] = {1.5, 2, 3};
  const float none[4] = {0}, one[4] = {1, 1, 1, 1}, steep[4] = {1e12f, 1e12f, 1e12f, 1e12f};
  laze_tensor *x = leaf(&at, (float[]){0, 0, 0, 0}), *rows = laze_reshape(x, LAZE_INTS(2, 2));
  laze_tensor *equal = leaf(&at, (float[]){3, 3, 3, 3}), *deviation = laze_std(equal, true);
  for (int i = 0; i < 3; i++) {
    expect_gradient(x, laze_cdist(rows, laze_detach(rows), orders[i], LAZE_NONE), none, 4);
    expect_gradient(x, laze_pdist(rows, orders[i]), none, 4);
  }
  expect_gradient(x, laze_normalize(rows, 2, 1, 1e-12), steep, 4);
  expect_gradient(x, laze_cosine_similarity(rows, rows, 1, 1e-8), none, 4);
  expect_gradient(equal, laze_add(laze_mul(deviation, 0), laze_sum(equal)), one, 4);
  end(&at);
}
END_TEST

START_TEST(losses_at_their_corners_have_gradients) {
  autograd_fixture at = begin();
  laze_tensor *x = leaf(&at, (float[]){0, 0, 1, 1}), *target = constant(&at, (float[]){0, 1, 1, 0});
  expect_gradient(x, laze_binary_cross_entropy(x, target, NULL, 2), (float[]){0, -1e12f, 0, 1e12f}, 4);
  expect_gradient(x, laze_binary_cross_entropy(x, target, NULL, 1), (float[]){0, -2.5e11f, 0, 2.5e11f}, 4);
  expect_gradient(x, laze_smooth_l1_loss(x, target, 2, 0), (float[]){0, -1, 0, 1}, 4);
  end(&at);
}
END_TEST

START_TEST(rows_that_see_nothing_have_gradients) {
  autograd_fixture at = begin();
  laze_tensor *x = leaf(&at, (float[]){1, 2, 3, 4}), *rows = laze_reshape(x, LAZE_INTS(2, 2));
  laze_tensor *mask = laze_reshape(constant(&at, (float[]){-INFINITY, -INFINITY, 0, -INFINITY}), LAZE_INTS(2, 2));
  laze_tensor *seen = laze_scaled_dot_product_attention(rows, rows, rows, mask, 0, false);
  expect_gradient(x, seen, (float[]){1, 1, 0, 0}, 4);
  end(&at);
}
END_TEST

START_TEST(of_equal_elements_the_gradient_is_that_of_pytorch) {
  autograd_fixture at = begin();
  laze_tensor *x = leaf(&at, (float[]){2, 1, 2, 5}), *same = constant(&at, (float[]){2, 3, 1, NAN});
  expect_gradient(x, laze_median(x), (float[]){0.5f, 0, 0.5f, 0}, 4);
  expect_gradient(x, laze_nanmedian(x), (float[]){0.5f, 0, 0.5f, 0}, 4);
  expect_gradient(x, laze_fmax(x, same), (float[]){1, 0, 1, 1}, 4);
  expect_gradient(x, laze_fmin(x, same), (float[]){1, 1, 0, 1}, 4);
  end(&at);
}
END_TEST

/* Arguments without a formula decide nothing: a condition, an index, a seed. */
START_TEST(row_1_2_only_arguments_with_a_formula_count) {
  autograd_fixture at = begin();
  laze_tensor *x = leaf(&at, (float[]){1, -1}), *plain = constant(&at, (float[]){1, -1});
  laze_tensor *chosen = laze_where(laze_gt(x, 0), plain, laze_neg(plain));
  ck_assert(!laze_tensor_requires_grad(chosen));
  ck_assert(!laze_tensor_requires_grad(laze_argmax(x, 0, false)));
  end(&at);
}
END_TEST

START_TEST(row_1_3_an_argument_without_formula_is_refused_forward) {
  autograd_fixture at = begin();
  laze_tensor *values[4];
  laze_tensor *x = leaf(&at, (float[]){1, 2, 3, 4, 5, 6, 7, 8, 9});
  int32_t count = laze_call_by_name(
      at.context, "linalg_ldl_factor_ex",
      (laze_argument[]){{.kind = LAZE_PASS_TENSOR, .value.tensor = laze_reshape(x, LAZE_INTS(3, 3))}}, 1, values, 4);
  ck_assert_int_ge(count, 1);
  ck_assert_msg(strstr(laze_tensor_error(values[0]), "linalg_ldl_factor_ex") != NULL &&
                    strstr(laze_tensor_error(values[0]), "gradient") != NULL,
                "%s", laze_tensor_error(values[0]));
  laze_set_grad_enabled(at.context, 0);
  ck_assert_str_eq(laze_tensor_error(laze_ceil(x)), "");
  laze_set_grad_enabled(at.context, 1);
  ck_assert_int_ne(laze_scope_end(at.scope), LAZE_OK); /* the error that nobody else asked for */
  laze_context_release(at.context);
}
END_TEST

START_TEST(row_1_4_some_results_never_require_a_gradient) {
  autograd_fixture at = begin();
  laze_tensor *x = leaf(&at, (float[]){1.5f, -2.5f});
  laze_tensor *none[] = {
      laze_zeros_like(x),      laze_argmax(x, 0, false),        laze_eq(x, x), laze_logical_not(x), laze_isnan(x),
      laze_floor_divide(x, 2), laze_count_nonzero(x, LAZE_NONE)};
  for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
    ck_assert_str_eq(laze_tensor_error(none[i]), "");
    ck_assert_msg(!laze_tensor_requires_grad(none[i]), "result %zu", i);
  }
  end(&at);
}
END_TEST

START_TEST(row_1_5_results_one_by_one) {
  autograd_fixture at = begin();
  laze_tensor *x = leaf(&at, (float[]){3, 1, 2}), *results[2];
  laze_sort(x, -1, false, results);
  ck_assert(laze_tensor_requires_grad(results[0]) && !laze_tensor_requires_grad(results[1]));
  backward(laze_sum(laze_mul(results[0], constant(&at, (float[]){10, 20, 30}))));
  expect(laze_tensor_grad(x), 0, (float[]){30, 10, 20});
  end(&at);
}
END_TEST

/* add needs types alone: nothing of the forward pass is kept. */
START_TEST(row_1_6_what_is_kept_follows_from_the_formula) {
  autograd_fixture at = begin();
  laze_tensor *x = large_leaf(&at), *one = laze_full(at.context, LAZE_SHAPE(LEAF_ELEMENTS), 1, LAZE_F32);
  laze_scope *inner = laze_scope_begin(at.context);
  laze_tensor *sum = laze_tensor_retain(laze_sum(laze_add(laze_reshape(x, LAZE_INTS(-1)), one)));
  ck_assert_int_eq(laze_step_end(inner, NULL), LAZE_OK);
  const int64_t of_sums = metric(at.context, "current_bytes");
  inner = laze_scope_begin(at.context);
  laze_tensor *square = laze_tensor_retain(laze_sum(laze_mul(laze_exp(x), laze_exp(x))));
  ck_assert_int_eq(laze_step_end(inner, NULL), LAZE_OK);
  ck_assert_int_ge(metric(at.context, "current_bytes") - of_sums, LEAF_ELEMENTS * (int64_t)sizeof(float));
  backward(square); /* and when it has been used, it goes */
  laze_tensor_release(square);
  laze_tensor_release(sum);
  ck_assert_int_eq(laze_tensor_set_grad(x, NULL, NULL), LAZE_OK);
  ck_assert_int_le(metric(at.context, "current_bytes"), of_sums);
  end(&at);
}
END_TEST

/* Of a product with one frozen side, the other side's operand is not kept. */
START_TEST(row_1_7_nothing_is_kept_for_what_needs_no_gradient) {
  autograd_fixture at = begin();
  laze_tensor *w = leaf(&at, (float[]){2, 3}), *frozen = constant(&at, (float[]){5, 7});
  laze_scope *inner = laze_scope_begin(at.context);
  laze_tensor *big =
      laze_add(laze_full(at.context, LAZE_SHAPE(LEAF_ELEMENTS, 2), 1, LAZE_F32), w); /* requires a gradient */
  laze_tensor *sum = laze_tensor_retain(laze_sum(laze_mul(big, frozen)));            /* needs `frozen`, not `big` */
  ck_assert_int_eq(laze_step_end(inner, NULL), LAZE_OK);
  ck_assert_int_lt(metric(at.context, "current_bytes"), LEAF_ELEMENTS);
  backward(sum);
  expect(laze_tensor_grad(w), 0, (float[]){5.0f * LEAF_ELEMENTS, 7.0f * LEAF_ELEMENTS});
  laze_tensor_release(sum);
  end(&at);
}
END_TEST

START_TEST(row_1_8_changes_and_second_passes_are_noticed) {
  autograd_fixture at = begin();
  laze_error error;
  laze_tensor *x = leaf(&at, (float[]){2, 3}), *w = constant(&at, (float[]){4, 5});
  laze_tensor *loss = laze_sum(laze_mul(x, w));
  ck_assert_int_eq(laze_tensor_assign(w, laze_add(w, 1)), LAZE_OK);
  ck_assert_int_eq(laze_backward(loss, &error), LAZE_FAILED_PRECONDITION);
  ck_assert_msg(strstr(error.message, "mul") && strstr(error.message, "version 1") &&
                    strstr(error.message, "version 0"),
                "%s", error.message);
  ck_assert_ptr_null(laze_tensor_grad(x));
  laze_tensor *again = laze_sum(laze_mul(x, x));
  backward(again);
  ck_assert_int_eq(laze_backward(again, &error), LAZE_FAILED_PRECONDITION);
  ck_assert_msg(strstr(error.message, "LAZE_RETAIN_GRAPH") != NULL, "%s", error.message);
  laze_tensor *kept = laze_sum(laze_mul(x, x));
  ck_assert_int_eq(laze_backward_with(&kept, NULL, 1, LAZE_RETAIN_GRAPH, &error), LAZE_OK);
  backward(kept);
  expect(laze_tensor_grad(x), 0, (float[]){12, 18}); /* three passes of 2 x */
  end(&at);
}
END_TEST

/* d/dt of softmax(x + t v) * exp(y + t w), beside finite differences. */
static void two_outputs(autograd_fixture *at, double t, bool requires_grad, laze_tensor *inputs[2],
                        laze_tensor *outputs[2]) {
  const float x[] = {0.5f, -1, 2}, v[] = {1, 0.5f, -2}, y[] = {0.25f, 1, -1}, w[] = {0, 3, 1};
  float moved[2][3];
  laze_error error;
  for (int i = 0; i < 3; i++) {
    moved[0][i] = (float)(x[i] + t * v[i]);
    moved[1][i] = (float)(y[i] + t * w[i]);
  }
  for (int i = 0; i < 2; i++) inputs[i] = constant_of(at, moved[i], 3);
  for (int i = 0; i < 2 && requires_grad; i++)
    ck_assert_int_eq(laze_tensor_require_grad(inputs[i], 1, &error), LAZE_OK);
  outputs[0] = laze_mul(laze_softmax(inputs[0], 0), laze_exp(inputs[1]));
  outputs[1] = laze_amax(laze_mul(inputs[0], inputs[0]), LAZE_INTS(0), false);
}

START_TEST(row_1_14_forward_mode) {
  autograd_fixture at = begin();
  laze_error error;
  laze_tensor *inputs[2], *outputs[2], *found[2], *none[2], *above[2], *below[2];
  const double step = 1e-2;
  two_outputs(&at, 0, true, inputs, outputs);
  laze_tensor *tangents[2] = {constant(&at, (float[]){1, 0.5f, -2}), constant(&at, (float[]){0, 3, 1})};
  ck_assert_msg(laze_jvp(outputs, 2, inputs, tangents, 2, 0, found, &error) == LAZE_OK, "%s", error.message);
  two_outputs(&at, step, false, none, above);
  two_outputs(&at, -step, false, none, below);
  for (int i = 0; i < 2; i++) {
    float numeric[3] = {0};
    ck_assert_int_eq(laze_tensor_read(laze_mul(laze_sub(above[i], below[i]), 0.5 / step), LAZE_F32, numeric,
                                      (i == 0 ? 3 : 1) * sizeof *numeric),
                     LAZE_OK);
    expect_all(found[i], numeric, i == 0 ? 3 : 1, 2e-3f);
  }
  /* The transposed product: <u, J v> = <J^T u, v>. */
  laze_tensor *u = constant(&at, (float[]){1, -2, 0.5f}), *gradient = NULL;
  tangents[1] = NULL;
  ck_assert_int_eq(laze_jvp(outputs, 1, inputs, tangents, 2, 0, found, &error), LAZE_OK);
  ck_assert_int_eq(laze_grad(outputs, &u, 1, inputs, 1, 0, &gradient, &error), LAZE_OK);
  float product = (float)laze_tensor_item(laze_sum(laze_mul(u, found[0])));
  expect(laze_sum(laze_mul(gradient, tangents[0])), 1e-5f, (float[]){product});
  end(&at);
}
END_TEST

START_TEST(row_1_16_gradients_have_gradients) {
  autograd_fixture at = begin();
  laze_error error;
  laze_tensor *x = leaf(&at, (float[]){0.5f, -2}), *first = NULL, *second = NULL;
  laze_tensor *cube = laze_sum(laze_mul(laze_mul(x, x), laze_exp(x)));
  ck_assert_msg(laze_grad(&cube, NULL, 1, &x, 1, LAZE_CREATE_GRAPH, &first, &error) == LAZE_OK, "%s", error.message);
  ck_assert(laze_tensor_requires_grad(first));
  laze_tensor *sum = laze_sum(first);
  ck_assert_msg(laze_grad(&sum, NULL, 1, &x, 1, 0, &second, &error) == LAZE_OK, "%s", error.message);
  const float points[] = {0.5f, -2};
  float expected[2];
  for (int i = 0; i < 2; i++) expected[i] = (points[i] * points[i] + 4 * points[i] + 2) * expf(points[i]);
  expect_all(second, expected, 2, 1e-5f);
  ck_assert(!laze_tensor_requires_grad(second));
  end(&at);
}
END_TEST

START_TEST(row_1_17_what_is_not_implemented_says_so_backward) {
  autograd_fixture at = begin();
  laze_error error;
  laze_tensor *x = leaf(&at, (float[]){2, 2}), *q = leaf(&at, (float[]){1, 2}), *found;
  laze_tensor *sum = laze_sum(laze_special_zeta(x, q));
  ck_assert_str_eq(laze_tensor_error(sum), "");
  ck_assert_int_eq(laze_backward(sum, &error), LAZE_UNSUPPORTED);
  ck_assert_msg(strstr(error.message, "special_zeta") != NULL, "%s", error.message);
  /* What is implemented of the same operator is not concerned. */
  sum = laze_sum(laze_special_zeta(x, q));
  ck_assert_int_eq(laze_grad(&sum, NULL, 1, &q, 1, 0, &found, &error), LAZE_OK);
  expect(found, 1e-5F, (float[]){-2.4041138F, -0.4041138F}); /* -2 zeta(3, q) */
  laze_tensor *part = laze_sum(laze_special_zeta(constant(&at, (float[]){2, 2}), q));
  ck_assert_int_eq(laze_backward(part, &error), LAZE_OK);
  end(&at);
}
END_TEST

/* i0 runs on complex numbers, and the formula of its gradient is that of real ones. */
START_TEST(row_1_18_complex_results_need_a_formula_for_them) {
  autograd_fixture at = begin();
  laze_error error;
  laze_tensor *x = laze_to(constant(&at, (float[]){1, 2}), LAZE_C64), *found = NULL;
  ck_assert_int_eq(laze_tensor_require_grad(x, 1, &error), LAZE_OK);
  laze_tensor *result = laze_i0(x);
  ck_assert_int_eq(laze_tensor_status(result), LAZE_UNSUPPORTED);
  ck_assert_msg(strstr(laze_tensor_error(result), "i0: the result is complex and requires a gradient") != NULL, "%s",
                laze_tensor_error(result));
  ck_assert_str_eq(laze_tensor_error(laze_i0(laze_detach(x))), "");
  laze_tensor *real = laze_sum(laze_real(laze_mul(x, laze_exp(x)))); /* what is on the list is not concerned */
  ck_assert_int_eq(laze_grad(&real, NULL, 1, &x, 1, 0, &found, &error), LAZE_OK);
  expect(laze_to(laze_real(found), LAZE_F32), 1e-5F, (float[]){2 * expf(1), 3 * expf(2)});
  end(&at);
}
END_TEST

/* What was computed from the storage before adds to nobody's gradient, and a hook on that is not called. */
START_TEST(row_1_20_another_storage_has_another_accumulator) {
  autograd_fixture at = begin();
  laze_error error;
  laze_tensor *x = leaf(&at, (float[]){1, 2}), *other = constant(&at, (float[]){5, 6, 7});
  laze_tensor *part = laze_slice(laze_detach(x), 0, 0, 1, 1), *before = laze_sum(laze_mul(x, x));
  backward(laze_sum(x));
  laze_tensor *first = laze_tensor_grad(x);
  ck_assert_int_eq(laze_tensor_set(x, other, &error), LAZE_FAILED_PRECONDITION);
  laze_set_grad_enabled(at.context, 0);
  ck_assert_int_eq(laze_tensor_set(x, laze_to(other, LAZE_I64), &error), LAZE_INVALID_ARGUMENT);
  ck_assert_msg(laze_tensor_set(x, other, &error) == LAZE_OK, "%s", error.message);
  laze_set_grad_enabled(at.context, 1);
  ck_assert(laze_tensor_requires_grad(x) && laze_tensor_is_leaf(x));
  ck_assert_ptr_null(laze_tensor_grad(x));
  backward(before);
  ck_assert_ptr_null(laze_tensor_grad(x));
  backward(laze_sum(laze_mul(x, x)));
  expect(laze_tensor_grad(x), 0, (float[]){10, 12, 14});
  expect(first, 0, (float[]){1, 1});
  ck_assert_int_eq(laze_tensor_write(laze_slice(other, 0, 0, 1, 1), laze_slice(other, 0, 2, 3, 1), &error), LAZE_OK);
  expect(x, 0, (float[]){7, 6, 7}); /* which shares memory with the source */
  expect(part, 0, (float[]){1});
  laze_tensor *own = laze_mul(other, 2);
  ck_assert_int_eq(laze_tensor_set(own, laze_slice(own, 0, 1, 3, 1), &error), LAZE_OK);
  ck_assert_int_eq(laze_tensor_set(own, own, &error), LAZE_OK);
  expect(own, 0, (float[]){12, 14});
  end(&at);
}
END_TEST

/* As x.data = other has it: what is a leaf keeps its gradient, its hooks and what was computed from it. */
START_TEST(row_1_20_other_data_has_the_same_accumulator) {
  autograd_fixture at = begin();
  laze_error error;
  laze_tensor *x = leaf(&at, (float[]){1, 2, 3}), *other = constant(&at, (float[]){5, 6, 7});
  laze_tensor *y = laze_mul(x, 2), *before = laze_sum(laze_mul(x, x));
  backward(laze_sum(x));
  ck_assert_msg(laze_tensor_set_data(x, other, &error) == LAZE_OK, "%s", error.message);
  ck_assert(laze_tensor_requires_grad(x) && laze_tensor_is_leaf(x));
  backward(before);
  expect(laze_tensor_grad(x), 0, (float[]){3, 5, 7});
  ck_assert_int_eq(laze_tensor_write(other, laze_mul(other, 2), &error), LAZE_OK);
  expect(x, 0, (float[]){10, 12, 14});
  ck_assert_int_eq(laze_tensor_set_data(x, laze_to(other, LAZE_I64), &error), LAZE_INVALID_ARGUMENT);
  ck_assert_int_eq(laze_tensor_set_data(y, laze_slice(other, 0, 0, 1, 1), &error), LAZE_INVALID_ARGUMENT);
  ck_assert_msg(strstr(error.message, "laze_tensor_set_data: the tensor is f32[3]") != NULL, "%s", error.message);
  ck_assert_int_eq(laze_tensor_set_data(x, laze_slice(other, 0, 0, 2, 1), &error), LAZE_OK);
  ck_assert_int_eq(laze_backward(laze_sum(x), &error), LAZE_FAILED_PRECONDITION);
  expect(laze_tensor_grad(x), 0, (float[]){3, 5, 7});
  ck_assert_int_eq(laze_tensor_set_grad(x, NULL, &error), LAZE_OK);
  backward(laze_sum(x));
  expect(laze_tensor_grad(x), 0, (float[]){1, 1});
  end(&at);
}
END_TEST

/* A tensor becomes the view that a form in place gives; one that forgets its history is a constant. */
START_TEST(forms_in_place_of_views) {
  autograd_fixture at = begin();
  laze_error error;
  laze_tensor *x = leaf(&at, (float[]){1, 2, 3}), *y = laze_mul(x, 2), *whole = laze_slice(y, 0, 0, 3, 1);
  ck_assert_ptr_eq(laze_unsqueeze_(y, 1), y);
  ck_assert_int_eq(laze_tensor_rank(y), 2);
  ck_assert_ptr_eq(laze_t_(y), y);
  backward(laze_sum(laze_mul(y, constant(&at, (float[]){1, 10, 100}))));
  expect(laze_tensor_grad(x), 0, (float[]){2, 20, 200});
  ck_assert_int_eq(laze_tensor_status(laze_unsqueeze_(x, 0)), LAZE_FAILED_PRECONDITION);
  ck_assert_int_eq(laze_tensor_rank(x), 1);
  laze_mul_(y, 10);
  expect(whole, 0, (float[]){20, 40, 60}); /* which it shares memory with */
  ck_assert_int_eq(laze_tensor_detach(whole, &error), LAZE_FAILED_PRECONDITION);
  laze_tensor *z = laze_mul(x, 3);
  ck_assert_int_eq(laze_tensor_detach(z, &error), LAZE_OK);
  ck_assert(!laze_tensor_requires_grad(z) && laze_tensor_is_leaf(z));
  end(&at);
}
END_TEST

/* Gradients of what was broadcast, of integers, and of numbers beside tensors have shape and dtype of their tensor. */
START_TEST(gradients_fit_their_tensors) {
  autograd_fixture at = begin();
  laze_tensor *x = leaf(&at, (float[]){1, 2, 3}), *wide = laze_full(at.context, LAZE_SHAPE(4, 3), 2, LAZE_F32);
  laze_tensor *row = laze_reshape(x, LAZE_INTS(1, 3));
  backward(laze_sum(laze_mul(laze_to(laze_mul(wide, row), LAZE_F64), 0.5)));
  expect(laze_tensor_grad(x), 0, (float[]){4, 4, 4});
  ck_assert_int_eq(laze_tensor_dtype(laze_tensor_grad(x)), LAZE_F32);
  end(&at);
}
END_TEST

/* A composite of floats of 16 bits is computed in f32: conversions on the way are differentiated as well. */
START_TEST(floats_of_16_bits_have_gradients) {
  autograd_fixture at = begin();
  laze_error error;
  laze_tensor *x = laze_to(constant(&at, (float[]){1, 2, 3}), LAZE_BF16);
  ck_assert_int_eq(laze_tensor_require_grad(x, 1, &error), LAZE_OK);
  laze_tensor *sum = laze_sum(laze_mul(x, x));
  ck_assert(laze_tensor_requires_grad(sum));
  backward(sum);
  ck_assert_int_eq(laze_tensor_dtype(laze_tensor_grad(x)), LAZE_BF16);
  expect(laze_tensor_grad(x), 0, (float[]){2, 4, 6});
  end(&at);
}
END_TEST

/* What the caller gets wrong is said, and changes nothing. */
START_TEST(wrong_calls_are_refused) {
  autograd_fixture at = begin();
  laze_error error;
  laze_tensor *x = leaf(&at, (float[]){1, 2}), *plain = constant(&at, (float[]){1, 2}), *found = NULL;
  laze_tensor *square = laze_mul(x, x), *three = constant(&at, (float[]){1, 2, 3}), *sum = laze_sum(square);
  ck_assert_int_eq(laze_backward(square, &error), LAZE_INVALID_ARGUMENT); /* more than one element */
  ck_assert_ptr_nonnull(strstr(error.message, "more than one element"));
  ck_assert_int_eq(laze_backward(laze_sum(plain), &error), LAZE_FAILED_PRECONDITION);
  ck_assert_int_eq(laze_backward_with(&square, &three, 1, 0, &error), LAZE_INVALID_ARGUMENT);
  ck_assert_ptr_nonnull(strstr(error.message, "f32[3]"));
  ck_assert_int_eq(laze_grad(&sum, NULL, 1, &plain, 1, 0, &found, &error), LAZE_FAILED_PRECONDITION);
  ck_assert_int_eq(laze_tensor_set_grad(x, three, &error), LAZE_INVALID_ARGUMENT);
  ck_assert_int_eq(laze_tensor_set_grad(square, plain, &error), LAZE_FAILED_PRECONDITION);
  ck_assert_int_eq(laze_tensor_require_grad(laze_argmax(x, 0, false), 1, &error), LAZE_INVALID_ARGUMENT);
  ck_assert_ptr_nonnull(strstr(error.message, "i64"));
  ck_assert_int_eq(laze_tensor_require_grad(square, 0, &error), LAZE_FAILED_PRECONDITION);
  ck_assert_int_eq(laze_backward(NULL, &error), LAZE_INVALID_ARGUMENT);
  ck_assert_int_eq(laze_backward_with(NULL, NULL, 0, 0, &error), LAZE_INVALID_ARGUMENT);
  laze_tensor *other = leaf(&at, (float[]){1, 2});
  ck_assert_int_eq(laze_grad(&sum, NULL, 1, &other, 1, LAZE_RETAIN_GRAPH, &found, &error), LAZE_FAILED_PRECONDITION);
  ck_assert_ptr_null(found);
  ck_assert_int_eq(laze_grad(&sum, NULL, 1, &other, 1, LAZE_RETAIN_GRAPH | LAZE_ALLOW_UNUSED, &found, &error), LAZE_OK);
  ck_assert_ptr_null(found);
  backward(sum);
  expect(laze_tensor_grad(x), 0, (float[]){2, 4});
  end(&at);
}
END_TEST

/* Forward, backward and update of a step are one graph, found again in each step, and nothing grows. */
START_TEST(a_training_step_is_one_graph) {
  autograd_fixture at = begin();
  laze_tensor *w = leaf(&at, (float[]){1, -1}), *target = constant(&at, (float[]){3, 4});
  int64_t nodes = 0, graphs = 0;
  for (int step = 0; step < 50; step++) {
    laze_scope *scope = laze_scope_begin(at.context);
    laze_tensor *error = laze_sub(w, target);
    backward(laze_mean(laze_mul(error, error)));
    laze_tensor *gradient = laze_tensor_grad(w);
    laze_set_grad_enabled(at.context, 0);
    ck_assert_int_eq(laze_tensor_assign(w, laze_sub(w, laze_mul(gradient, 0.4))), LAZE_OK);
    laze_set_grad_enabled(at.context, 1);
    ck_assert_int_eq(laze_tensor_set_grad(w, NULL, NULL), LAZE_OK);
    ck_assert_int_eq(laze_step_end(scope, NULL), LAZE_OK);
    if (step == 2) nodes = metric(at.context, "autograd_nodes_alive");
    if (step == 2) graphs = metric(at.context, "trace_cache_misses");
  }
  ck_assert_int_eq(metric(at.context, "graphs_run"), 50);
  ck_assert_int_eq(metric(at.context, "trace_cache_misses"), graphs);
  ck_assert_int_eq(metric(at.context, "autograd_nodes_alive"), nodes);
  expect(w, 1e-4f, (float[]){3, 4});
  end(&at);
}
END_TEST

/* Reading the loss first stores what backward needs: forward does not run twice. */
START_TEST(reading_the_loss_first_runs_forward_once) {
  autograd_fixture at = begin();
  laze_tensor *x = leaf(&at, (float[]){1, 2});
  laze_tensor *loss = laze_sum(laze_exp(laze_mul(x, x)));
  expect(loss, 1e-3f, (float[]){expf(1) + expf(4)});
  const int64_t before = metric(at.context, "nodes_executed");
  backward(loss);
  expect(laze_tensor_grad(x), 1e-3f, (float[]){2 * expf(1), 4 * expf(4)});
  ck_assert_int_lt(metric(at.context, "nodes_executed") - before, 12); /* backward alone */
  ck_assert_int_eq(metric(at.context, "graphs_run"), 2);
  end(&at);
}
END_TEST

/* A history that is as long as a program runs: walks and frees are loops, on a small stack. */
static void *run_long_chain(void *unused) {
  (void)unused;
  enum { LENGTH = 300000 };
  autograd_fixture at = begin();
  laze_set_budget(at.context, 0, 0);
  laze_tensor *x = leaf(&at, (float[]){1}), *y = x;
  for (int i = 0; i < LENGTH; i++) y = laze_neg(y);
  backward(y);
  expect(laze_tensor_grad(x), 0, (float[]){1});
  end(&at);
  return NULL;
}

START_TEST(long_histories_need_no_stack) {
  pthread_attr_t attributes;
  pthread_t thread;
  pthread_attr_init(&attributes);
  ck_assert_int_eq(pthread_attr_setstacksize(&attributes, 512 << 10), 0);
  ck_assert_int_eq(pthread_create(&thread, &attributes, run_long_chain, NULL), 0);
  ck_assert_int_eq(pthread_join(thread, NULL), 0);
}
END_TEST

/* An operand that failed when it ran gives gradients that failed, and no others. */
START_TEST(failed_values_give_failed_gradients) {
  autograd_fixture at = begin();
  laze_tensor *x = leaf(&at, (float[]){1, 2}), *y = leaf(&at, (float[]){3, 4});
  const int64_t far = 9;
  laze_tensor *index = laze_tensor_from_data(at.context, LAZE_I64, LAZE_SHAPE(1), &far, sizeof far);
  laze_tensor *bad = laze_index_select(constant(&at, (float[]){1, 2}), 0, index);
  ck_assert_int_ne(laze_tensor_materialise(bad), LAZE_OK);
  backward(laze_sum(laze_add(laze_mul(x, bad), laze_mul(y, y))));
  expect(laze_tensor_grad(y), 0, (float[]){6, 8});
  ck_assert_int_ne(laze_tensor_materialise(laze_tensor_grad(x)), LAZE_OK);
  end(&at);
}
END_TEST

/* sin(x) y in direction of both, and in a level inside of another its derivative in direction of x again. */
START_TEST(row_1_14_duals_carry_their_tangents) {
  autograd_fixture at = begin();
  laze_error error;
  laze_dual_level *outer, *inner;
  laze_tensor *x = constant(&at, (float[]){0.5F}), *y = constant(&at, (float[]){3}), *primal, *tangent;
  laze_tensor *one = constant(&at, (float[]){1}), *two = constant(&at, (float[]){2});
  ck_assert_int_eq(laze_dual_level_begin(at.context, &outer, &error), LAZE_OK);
  laze_tensor *a = laze_dual_make(outer, x, one), *b = laze_dual_make(outer, y, two);
  ck_assert_msg(laze_dual_unpack(outer, laze_mul(laze_sin(a), b), &primal, &tangent, &error) == LAZE_OK, "%s",
                error.message);
  expect(primal, 1e-6F, (float[]){3 * sinf(0.5F)});
  expect(tangent, 1e-6F, (float[]){3 * cosf(0.5F) + 2 * sinf(0.5F)});
  ck_assert(!laze_tensor_requires_grad(primal) && !laze_tensor_requires_grad(tangent));
  (void)laze_mul_(b, 10);
  ck_assert_int_eq(laze_dual_unpack(outer, b, &primal, &tangent, &error), LAZE_OK);
  expect(tangent, 0, (float[]){20}); /* what is written to a dual has a tangent, too */
  ck_assert_int_eq(laze_dual_level_begin(at.context, &inner, &error), LAZE_OK);
  laze_tensor *again = laze_dual_make(inner, a, one);
  ck_assert_int_eq(laze_dual_unpack(inner, laze_sin(again), &primal, &tangent, &error), LAZE_OK);
  laze_dual_level_end(inner);
  laze_tensor *second;
  ck_assert_int_eq(laze_dual_unpack(outer, tangent, &primal, &second, &error), LAZE_OK);
  expect(primal, 1e-6F, (float[]){cosf(0.5F)});
  expect(second, 1e-6F, (float[]){-sinf(0.5F)});
  ck_assert_int_eq(laze_dual_unpack(outer, y, &primal, &tangent, &error), LAZE_OK);
  expect(primal, 0, (float[]){3});
  ck_assert_ptr_null(tangent);
  ck_assert_int_eq(laze_dual_unpack(NULL, y, &primal, &tangent, &error), LAZE_INVALID_ARGUMENT);
  laze_dual_level_end(outer);
  end(&at);
}
END_TEST

/* A tangent is there exactly where a dual is behind a tensor, also where it is 0; and it has a history where something
 * else that requires a gradient is: a penalty on a derivative trains a model by that. */
START_TEST(what_a_tensor_follows_from_decides) {
  autograd_fixture at = begin();
  laze_error error;
  laze_dual_level *level;
  ck_assert_int_eq(laze_dual_level_begin(at.context, &level, &error), LAZE_OK);
  laze_tensor *x = constant(&at, (float[]){2}), *one = constant(&at, (float[]){1}), *w = leaf(&at, (float[]){3});
  laze_tensor *dual = laze_dual_make(level, x, one), *other = laze_mul(w, 2), *product = laze_mul(laze_mul(dual, w), w);
  const struct {
    laze_tensor *tensor;
    bool has_tangent, requires_grad;
    float primal, tangent;
  } cases[] = {
      {w, false, true, 3, 0},       {other, false, true, 6, 0},
      {x, false, false, 2, 0},      {laze_detach(dual), false, false, 2, 0},
      {dual, true, false, 2, 1},    {laze_floor(dual), true, false, 2, 0},
      {product, true, true, 18, 9},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    laze_tensor *primal, *tangent;
    ck_assert_msg(laze_dual_unpack(level, cases[i].tensor, &primal, &tangent, &error) == LAZE_OK, "%s", error.message);
    expect(primal, 0, (float[]){cases[i].primal});
    ck_assert_msg(!tangent == !cases[i].has_tangent, "case %zu", i);
    ck_assert_msg(laze_tensor_requires_grad(primal) == cases[i].requires_grad, "case %zu", i);
    if (!tangent) ck_assert_ptr_eq(primal, cases[i].tensor);
    if (!tangent) continue;
    expect(tangent, 0, (float[]){cases[i].tangent});
    ck_assert_msg(laze_tensor_requires_grad(tangent) == cases[i].requires_grad, "case %zu", i);
    if (cases[i].requires_grad) backward(tangent);
  }
  expect(laze_tensor_grad(w), 0, (float[]){6}); /* of the tangent w^2 */
  laze_dual_level_end(level);
  end(&at);
}
END_TEST

/* What has no tangent says why. */
START_TEST(what_is_no_dual_is_said) {
  autograd_fixture at = begin();
  laze_error error;
  laze_dual_level *level;
  laze_tensor *x = constant(&at, (float[]){1, 2}), *short_one = constant(&at, (float[]){1});
  ck_assert_int_eq(laze_dual_level_begin(at.context, &level, &error), LAZE_OK);
  ck_assert_ptr_nonnull(strstr(laze_tensor_error(laze_dual_make(level, x, short_one)), "shape and dtype"));
  laze_tensor *integers = laze_to(x, LAZE_I32);
  ck_assert_ptr_nonnull(strstr(laze_tensor_error(laze_dual_make(level, integers, integers)), "only floats"));
  ck_assert_int_eq(laze_tensor_status(laze_dual_make(NULL, x, x)), LAZE_INVALID_ARGUMENT);
  laze_set_grad_enabled(at.context, 0);
  ck_assert_ptr_nonnull(strstr(laze_tensor_error(laze_dual_make(level, x, x)), "no gradients are recorded"));
  laze_set_grad_enabled(at.context, 1);
  laze_dual_level_end(level);
  laze_dual_level_end(NULL);
  (void)laze_scope_end(at.scope); /* has the errors */
  at.scope = laze_scope_begin(at.context);
  end(&at);
}
END_TEST

int main(void) {
  const TTest *tests[] = {limits_that_touch,
                          row_1_14_duals_carry_their_tangents,
                          what_a_tensor_follows_from_decides,
                          what_is_no_dual_is_said,
                          rows_of_an_embedding_that_count_otherwise,
                          far_from_0_gradients_are_finite,
                          where_a_norm_is_0_gradients_are_finite,
                          losses_at_their_corners_have_gradients,
                          rows_that_see_nothing_have_gradients,
                          of_equal_elements_the_gradient_is_that_of_pytorch,

                          row_1_1_three_kinds_of_operator,
                          row_1_2_only_arguments_with_a_formula_count,
                          row_1_3_an_argument_without_formula_is_refused_forward,
                          row_1_4_some_results_never_require_a_gradient,
                          row_1_5_results_one_by_one,
                          row_1_6_what_is_kept_follows_from_the_formula,
                          row_1_7_nothing_is_kept_for_what_needs_no_gradient,
                          row_1_8_changes_and_second_passes_are_noticed,
                          row_1_14_forward_mode,
                          row_1_16_gradients_have_gradients,
                          row_1_17_what_is_not_implemented_says_so_backward,
                          row_1_18_complex_results_need_a_formula_for_them,
                          row_1_20_another_storage_has_another_accumulator,
                          row_1_20_other_data_has_the_same_accumulator,
                          forms_in_place_of_views,
                          gradients_fit_their_tensors,
                          floats_of_16_bits_have_gradients,
                          wrong_calls_are_refused,
                          a_training_step_is_one_graph,
                          reading_the_loss_first_runs_forward_once,
                          long_histories_need_no_stack,
                          failed_values_give_failed_gradients};
  return run_tests("gradients", tests, sizeof tests / sizeof *tests);
}
