/* Checkpoints, anomaly mode, and what metrics say of histories. */
#include "laze/laze.h"
#include "tests/unit/autograd/support.h"

enum { COUNT = 1 << 14, LAYERS = 6 };

typedef struct {
  int calls, released;
  bool changes;        /* records something else the second time */
  bool fails;          /* the second time */
  laze_tensor *weight; /* not among the inputs */
} block;

/* Some layers, each of which keeps a wide value for its gradient. */
static laze_status run_block(void *data, laze_tensor *const *inputs, laze_tensor **outputs, laze_error *error) {
  block *self = data;
  laze_tensor *x = inputs[0];
  self->calls++;
  if (self->fails && self->calls > 1) {
    snprintf(error->message, sizeof error->message, "not again");
    return LAZE_UNSUPPORTED;
  }
  for (int i = 0; i < LAYERS; i++) x = laze_sin(laze_mul(x, self->weight));
  outputs[0] = self->changes && self->calls > 1 ? laze_cos(x) : laze_exp(x);
  return LAZE_OK;
}

static void release_block(void *data) {
  ((block *)data)->released++;
}

static laze_tensor *checkpoint(block *self, laze_tensor *x) {
  laze_error error;
  laze_tensor *y = NULL;
  const laze_checkpoint_options options = {.struct_size = sizeof options,
                                           .input_count = 1,
                                           .output_count = 1,
                                           .inputs = &x,
                                           .outputs = &y,
                                           .code = run_block,
                                           .self = self,
                                           .release = release_block};
  ck_assert_msg(laze_checkpoint(&options, &error) == LAZE_OK, "%s", error.message);
  return y;
}

static laze_tensor *numbers(autograd_fixture *at, bool required) {
  laze_error error;
  laze_tensor *x = laze_linspace(at->context, -2, 2, COUNT, LAZE_F32);
  if (required) ck_assert_int_eq(laze_tensor_require_grad(x, 1, &error), LAZE_OK);
  return x;
}

static laze_tensor *scalar_leaf(autograd_fixture *at, float value) {
  return leaf_of(at, &value, 1);
}

static void read_all(laze_tensor *tensor, float *out, size_t count) {
  ck_assert_msg(laze_tensor_read(tensor, LAZE_F32, out, count * sizeof *out) == LAZE_OK, "%s",
                laze_tensor_error(tensor));
}

/* Gradients of the input and of a weight that the code uses besides, to the bit, whether forward and backward run as
 * one graph or forward is read first; and much less is kept. */
START_TEST(checkpoints_keep_less_and_give_equal_gradients) {
  for (int reads = 0; reads < 2; reads++) {
    static float gradients[2][2][COUNT];
    int64_t saved[2], peak[2];
    for (int checkpointed = 0; checkpointed < 2; checkpointed++) {
      autograd_fixture at = begin();
      laze_tensor *x = laze_tensor_retain(numbers(&at, true));
      block self = {.weight = scalar_leaf(&at, 1.25f)};
      laze_scope *inner = laze_scope_begin(at.context);
      laze_tensor *y = NULL;
      if (checkpointed)
        y = checkpoint(&self, x);
      else
        ck_assert_int_eq(run_block(&self, &x, &y, NULL), LAZE_OK);
      laze_tensor *loss = laze_tensor_retain(laze_sum(y));
      ck_assert_int_eq(laze_scope_end(inner), LAZE_OK);
      saved[checkpointed] = metric(at.context, "autograd_saved_bytes");
      if (reads) ck_assert_int_eq(laze_tensor_materialise(loss), LAZE_OK);
      peak[checkpointed] = metric(at.context, "current_bytes");
      backward(loss);
      read_all(laze_tensor_grad(x), gradients[checkpointed][0], COUNT);
      read_all(laze_tensor_grad(self.weight), gradients[checkpointed][1], 1);
      ck_assert_int_eq(self.calls, 1 + checkpointed);
      laze_tensor_release(loss);
      laze_tensor_release(x);
      end(&at);
      ck_assert_int_eq(self.released, checkpointed);
    }
    ck_assert_int_eq(memcmp(gradients[0], gradients[1], sizeof gradients[0]), 0);
    ck_assert_int_ge(saved[0], (2 * LAYERS + 1) * COUNT * (int64_t)sizeof(float));
    ck_assert_int_le(saved[1], 3 * COUNT * (int64_t)sizeof(float));
    if (reads) ck_assert_int_ge(peak[0] - peak[1], LAYERS * COUNT * (int64_t)sizeof(float));
  }
}
END_TEST

/* What is computed again is no part of what was computed the first time: it would be kept until then. */
START_TEST(nothing_is_merged_with_the_first_time) {
  autograd_fixture at = begin();
  int64_t executed[2];
  block blocks[2]; /* histories let go of them when the scope ends */
  for (int checkpointed = 0; checkpointed < 2; checkpointed++) {
    laze_tensor *x = numbers(&at, true), *y = NULL;
    block *self = &blocks[checkpointed];
    *self = (block){.weight = laze_detach(scalar_leaf(&at, 0.5f))};
    if (checkpointed)
      y = checkpoint(self, x);
    else
      ck_assert_int_eq(run_block(self, &x, &y, NULL), LAZE_OK);
    laze_tensor *loss = laze_sum(y);
    backward(loss);
    const int64_t before = metric(at.context, "nodes_executed");
    laze_tensor *both[] = {loss, laze_tensor_grad(x)};
    ck_assert_int_eq(laze_tensors_materialise(both, 2, NULL), LAZE_OK);
    executed[checkpointed] = metric(at.context, "nodes_executed") - before;
  }
  ck_assert_int_ge(executed[1] - executed[0], 2 * LAYERS);
  end(&at);
}
END_TEST

/* Passes that keep the history compute it again each time; second derivatives go through as well. */
START_TEST(checkpoints_serve_several_passes) {
  autograd_fixture at = begin();
  laze_error error;
  float expected[3], found[3];
  block blocks[2]; /* histories let go of them when the scope ends */
  for (int checkpointed = 0; checkpointed < 2; checkpointed++) {
    laze_tensor *x = leaf(&at, (float[]){0.5f, -1, 2}), *y = NULL, *first = NULL, *second = NULL;
    block *self = &blocks[checkpointed];
    *self = (block){.weight = scalar_leaf(&at, 1.5f)};
    if (checkpointed)
      y = checkpoint(self, x);
    else
      ck_assert_int_eq(run_block(self, &x, &y, NULL), LAZE_OK);
    laze_tensor *loss = laze_sum(y);
    for (int i = 0; i < 2; i++) {
      ck_assert_msg(laze_grad(&loss, NULL, 1, &x, 1, LAZE_CREATE_GRAPH, &first, &error) == LAZE_OK, "%s",
                    error.message);
      laze_tensor *sum = laze_sum(laze_mul(first, first));
      ck_assert_msg(laze_grad(&sum, NULL, 1, &x, 1, LAZE_RETAIN_GRAPH, &second, &error) == LAZE_OK, "%s",
                    error.message);
    }
    read_all(second, checkpointed ? found : expected, 3);
    backward(loss);
    ck_assert_int_eq(laze_backward(loss, &error), LAZE_FAILED_PRECONDITION);
    ck_assert_ptr_nonnull(strstr(error.message, "let go of"));
  }
  for (int i = 0; i < 3; i++) ck_assert_float_eq_tol(found[i], expected[i], 1e-5f * fabsf(expected[i]));
  end(&at);
}
END_TEST

/* A checkpoint inside of another one. */
static laze_status run_outer(void *data, laze_tensor *const *inputs, laze_tensor **outputs, laze_error *error) {
  (void)error;
  outputs[0] = laze_mul(checkpoint(data, laze_exp(inputs[0])), inputs[0]);
  return LAZE_OK;
}

START_TEST(checkpoints_may_be_nested) {
  autograd_fixture at = begin();
  laze_error error;
  float found[2][3];
  block blocks[2]; /* histories let go of them when the scope ends */
  for (int checkpointed = 0; checkpointed < 2; checkpointed++) {
    laze_tensor *x = leaf(&at, (float[]){0.5f, -1, 2}), *y = NULL;
    block *self = &blocks[checkpointed];
    *self = (block){.weight = scalar_leaf(&at, 1.5f)};
    const laze_checkpoint_options options = {.struct_size = sizeof options,
                                             .input_count = 1,
                                             .output_count = 1,
                                             .inputs = &x,
                                             .outputs = &y,
                                             .code = run_outer,
                                             .self = self};
    if (checkpointed) {
      ck_assert_msg(laze_checkpoint(&options, &error) == LAZE_OK, "%s", error.message);
    } else {
      laze_tensor *e = laze_exp(x), *inner = NULL;
      ck_assert_int_eq(run_block(self, &e, &inner, NULL), LAZE_OK);
      y = laze_mul(inner, x);
    }
    backward(laze_sum(y));
    read_all(laze_tensor_grad(x), found[checkpointed], 3);
  }
  ck_assert_int_eq(memcmp(found[0], found[1], sizeof found[0]), 0);
  end(&at);
}
END_TEST

START_TEST(what_checkpoints_get_wrong_is_said) {
  autograd_fixture at = begin();
  laze_error error;
  laze_tensor *x = leaf(&at, (float[]){0.5f, -1, 2}), *weight = constant(&at, (float[]){2});
  block changes = {.weight = weight, .changes = true}, fails = {.weight = weight, .fails = true};
  ck_assert_int_eq(laze_backward(laze_sum(checkpoint(&changes, x)), &error), LAZE_FAILED_PRECONDITION);
  ck_assert_msg(strstr(error.message, "call 12 was exp the first time, and is cos"), "%s", error.message);
  ck_assert_int_eq(laze_backward(laze_sum(checkpoint(&fails, x)), &error), LAZE_UNSUPPORTED);
  ck_assert_str_eq(error.message, "not again");
  ck_assert_ptr_null(laze_tensor_grad(x));
  block stale = {.weight = weight};
  laze_tensor *held = laze_tensor_retain(constant(&at, (float[]){1, 2, 3}));
  laze_tensor *loss = laze_sum(laze_mul(checkpoint(&stale, laze_mul(x, held)), x));
  ck_assert_int_eq(laze_tensor_assign(held, constant(&at, (float[]){1, 2, 4})), LAZE_OK);
  ck_assert_int_eq(laze_backward(loss, &error), LAZE_FAILED_PRECONDITION);
  laze_tensor_release(held);
  laze_checkpoint_options none = {.struct_size = sizeof none};
  ck_assert_int_eq(laze_checkpoint(&none, &error), LAZE_INVALID_ARGUMENT);
  end(&at);
  ck_assert_int_eq(changes.released + fails.released + stale.released, 3);
}
END_TEST

static laze_status give_nothing(void *data, laze_tensor *const *inputs, laze_tensor **outputs, laze_error *error) {
  (void)data, (void)inputs, (void)outputs, (void)error;
  return LAZE_OK;
}

/* Whoever calls it uses what is in `outputs` afterwards. */
START_TEST(an_output_that_is_not_set_is_an_error) {
  autograd_fixture at = begin();
  laze_error error;
  laze_tensor *x = numbers(&at, true), *y = x;
  const laze_checkpoint_options options = {.struct_size = sizeof options,
                                           .input_count = 1,
                                           .output_count = 1,
                                           .inputs = &x,
                                           .outputs = &y,
                                           .code = give_nothing};
  ck_assert_int_eq(laze_checkpoint(&options, &error), LAZE_INVALID_ARGUMENT);
  ck_assert_ptr_nonnull(strstr(error.message, "laze_checkpoint: the code gave no output 0"));
  ck_assert_ptr_null(y);
  end(&at);
}
END_TEST

START_TEST(success_says_nothing) {
  autograd_fixture at = begin();
  block code = {.weight = scalar_leaf(&at, 0.5f)};
  laze_tensor *x = numbers(&at, true), *y;
  const laze_checkpoint_options options = {.struct_size = sizeof options,
                                           .input_count = 1,
                                           .output_count = 1,
                                           .inputs = &x,
                                           .outputs = &y,
                                           .code = run_block,
                                           .self = &code};
  for (int i = 0; i < 3; i++) {
    laze_error error = {.code = LAZE_INTERNAL};
    ck_assert_int_eq(laze_checkpoint(&options, &error), LAZE_OK);
    ck_assert_int_eq(error.code, LAZE_OK);
    ck_assert_str_eq(error.message, "");
  }
  end(&at);
}
END_TEST

START_TEST(without_gradients_the_code_runs_once) {
  autograd_fixture at = begin();
  laze_tensor *x = numbers(&at, true);
  block self = {.weight = constant(&at, (float[]){2})};
  laze_set_grad_enabled(at.context, 0);
  laze_tensor *y = checkpoint(&self, x);
  laze_set_grad_enabled(at.context, 1);
  ck_assert(!laze_tensor_requires_grad(y));
  ck_assert(self.calls == 1 && self.released == 1);
  end(&at);
}
END_TEST

/* --- anomaly mode --- */

START_TEST(anomaly_mode_names_the_forward_line) {
  autograd_fixture at = begin();
  laze_tensor *x = leaf(&at, (float[]){0, 4}), *w = leaf(&at, (float[]){1, 1});
  ck_assert_int_eq(laze_set_anomaly_mode(at.context, 1), 0);
  ck_assert(laze_is_anomaly_mode(at.context));
  const int line = __LINE__ + 1;
  laze_tensor *root = laze_sqrt(laze_mul(x, x)); /* at 0: 0 times an infinite slope */
  backward(laze_sum(laze_mul(laze_mul(root, 0), w)));
  ck_assert_int_eq(laze_set_anomaly_mode(at.context, 0), 1);
  ck_assert_int_eq(laze_tensor_materialise(laze_tensor_grad(w)), LAZE_OK); /* which has none */
  laze_tensor *gradient = laze_tensor_grad(x);
  ck_assert_int_ne(laze_tensor_materialise(gradient), LAZE_OK);
  char place[64];
  snprintf(place, sizeof place, "checkpoints_test.c:%d, gave a NaN", line);
  ck_assert_msg(strstr(laze_tensor_error(gradient), place) && strstr(laze_tensor_error(gradient), "sqrt"), "%s",
                laze_tensor_error(gradient));
  end(&at);
}
END_TEST

/* It changes no gradient that is one, in any dtype, and histories of gradients stay. */
START_TEST(anomaly_mode_changes_nothing_else) {
  autograd_fixture at = begin();
  laze_error error;
  const laze_dtype dtypes[] = {LAZE_F16, LAZE_BF16, LAZE_F32, LAZE_F64, LAZE_C64, LAZE_C128};
  (void)laze_set_anomaly_mode(at.context, 1);
  for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++) {
    laze_tensor *x = laze_detach(laze_to(constant(&at, (float[]){1, 2}), dtypes[i])), *first = NULL, *second = NULL;
    ck_assert_int_eq(laze_tensor_require_grad(x, 1, &error), LAZE_OK);
    laze_tensor *cube = laze_real(laze_sum(laze_mul(x, laze_mul(x, x))));
    ck_assert_int_eq(laze_grad(&cube, NULL, 1, &x, 1, LAZE_CREATE_GRAPH, &first, &error), LAZE_OK);
    laze_tensor *sum = laze_real(laze_sum(first));
    ck_assert_msg(laze_grad(&sum, NULL, 1, &x, 1, 0, &second, &error) == LAZE_OK, "%s", error.message);
    expect(laze_to(laze_real(first), LAZE_F32), 0, (float[]){3, 12});
    expect(laze_to(laze_real(second), LAZE_F32), 0, (float[]){6, 12});
  }
  (void)laze_set_anomaly_mode(at.context, 0);
  end(&at);
}
END_TEST

/* --- metrics --- */

/* The classic: a sum of losses that is kept for reporting holds the history of every step. */
START_TEST(a_history_that_grows_is_seen) {
  autograd_fixture at = begin();
  laze_tensor *x = leaf(&at, (float[]){1, 2});
  int64_t nodes[2][3], bytes[2][3];
  for (int detached = 0; detached < 2; detached++) {
    laze_tensor *total = laze_tensor_retain(constant(&at, (float[]){0}));
    for (int step = 0; step < 3; step++) {
      laze_scope *scope = laze_scope_begin(at.context);
      laze_tensor *loss = laze_sum(laze_exp(x));
      laze_tensor_replace(&total, laze_add(total, detached ? laze_detach(loss) : loss));
      ck_assert_int_eq(laze_step_end(scope, NULL), LAZE_OK);
      nodes[detached][step] = metric(at.context, "autograd_nodes_alive");
      bytes[detached][step] = metric(at.context, "autograd_saved_bytes");
    }
    laze_tensor_release(total);
  }
  ck_assert_int_gt(nodes[0][1], nodes[0][0]);
  ck_assert_int_eq(nodes[0][2] - nodes[0][1], nodes[0][1] - nodes[0][0]);
  ck_assert_int_eq(bytes[0][2] - bytes[0][1], 2 * (int64_t)sizeof(float)); /* what exp keeps */
  ck_assert_int_eq(nodes[1][2], nodes[1][0]);
  ck_assert_int_eq(bytes[1][2], 0);
  ck_assert_int_eq(metric(at.context, "autograd_saved_bytes"), 0);
  end(&at);
}
END_TEST

int main(void) {
  const TTest *tests[] = {checkpoints_keep_less_and_give_equal_gradients,
                          nothing_is_merged_with_the_first_time,
                          checkpoints_serve_several_passes,
                          checkpoints_may_be_nested,
                          what_checkpoints_get_wrong_is_said,
                          an_output_that_is_not_set_is_an_error,
                          success_says_nothing,
                          without_gradients_the_code_runs_once,
                          anomaly_mode_names_the_forward_line,
                          anomaly_mode_changes_nothing_else,
                          a_history_that_grows_is_seen};
  return run_tests("checkpoints", tests, sizeof tests / sizeof *tests);
}
