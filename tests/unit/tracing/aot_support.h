/* Functions to compile ahead of time, and what is said of them. */
#ifndef LAZE_TESTS_TRACING_AOT_SUPPORT_H
#define LAZE_TESTS_TRACING_AOT_SUPPORT_H

#include "tests/unit/tracing/support.h"

#include <laze/aot.h>

/* Elements of a tensor of f32, at most 64 of them, as text: equal where the bits are. */
static inline const char *text_of(laze_tensor *tensor) {
  static char texts[8][2048];
  static int next;
  char *text = texts[next++ % 8];
  size_t size;
  ck_assert_ptr_nonnull(tensor);
  ck_assert_msg(laze_tensor_format(tensor, text, sizeof texts[0], &size, &error) == LAZE_OK, "%s", error.message);
  return text;
}

#define assert_same(a, b) ck_assert_str_eq(text_of(a), text_of(b))

static inline void assert_near(laze_tensor *a, laze_tensor *b) {
  float x[1024], y[1024];
  const size_t size = (size_t)laze_tensor_elements(a) * sizeof(float);
  ck_assert_int_eq(laze_tensor_elements(a), laze_tensor_elements(b));
  ck_assert_int_eq(laze_tensor_read(a, LAZE_F32, x, size), LAZE_OK);
  ck_assert_int_eq(laze_tensor_read(b, LAZE_F32, y, size), LAZE_OK);
  for (size_t i = 0; i < size / sizeof(float); i++) ck_assert_float_eq_tol(x[i], y[i], 1e-5f);
}

static laze_aot *compile(laze_traced_function function, void *self, laze_tensor *const *inputs, int32_t input_count,
                         int32_t output_count) {
  laze_aot *aot;
  assert_ok(laze_aot_compile(function, self, inputs, input_count, output_count, NULL, &aot, &error));
  return aot;
}

static inline laze_aot_output output_of(const laze_aot *aot, int32_t index) {
  laze_aot_output facts = {.struct_size = sizeof facts};
  assert_ok(laze_aot_get_output(aot, index, &facts, &error));
  return facts;
}

static inline laze_aot_input input_of(const laze_aot *aot, int32_t index) {
  laze_aot_input facts = {.struct_size = sizeof facts};
  assert_ok(laze_aot_get_input(aot, index, &facts, &error));
  return facts;
}

static inline const char *graph_text(const laze_aot *aot, int32_t which) {
  static char text[1 << 16];
  assert_ok(laze_graph_format(laze_aot_graph(aot, which), text, sizeof text, NULL, &error));
  return text;
}

/* --- functions --- */

static inline laze_status gives_new(void *self, laze_tensor *const *in, laze_tensor **out, laze_error *failure) {
  (void)self, (void)failure;
  out[0] = laze_exp(in[0]);
  return LAZE_OK;
}

static inline laze_status gives_input(void *self, laze_tensor *const *in, laze_tensor **out, laze_error *failure) {
  (void)self, (void)failure;
  out[0] = in[1];
  out[1] = laze_add(in[0], in[1]);
  return LAZE_OK;
}

static inline laze_status gives_views(void *self, laze_tensor *const *in, laze_tensor **out, laze_error *failure) {
  (void)self, (void)failure;
  out[0] = laze_t(laze_slice(in[0], 1, 1, 3, 1));
  out[1] = laze_detach(laze_select(in[0], 0, 1));
  return LAZE_OK;
}

static inline laze_status writes(void *self, laze_tensor *const *in, laze_error *failure) {
  (void)self;
  return laze_tensor_write(in[0], laze_mul(in[0], 2), failure);
}

static inline laze_status writes_and_gives(void *self, laze_tensor *const *in, laze_tensor **out, laze_error *failure) {
  (void)self, (void)failure;
  out[0] = laze_select(in[0], 1, 0);
  laze_mul_(in[0], in[1]);
  out[1] = laze_t(in[0]);
  laze_tensor *y = laze_add(in[0], in[1]);
  out[2] = laze_select(y, 0, 1);
  out[3] = laze_t(y);
  return LAZE_OK;
}

/* What a model draws from: dropout, and statistics that are written to. */
typedef struct {
  int64_t seed, offset;
} draws;

/* in: x, w1, w2, running mean. */
static inline laze_status model(void *self, laze_tensor *const *in, laze_tensor **out, laze_error *failure) {
  const draws *state = self;
  laze_tensor *hidden = laze_matmul(in[0], in[1]);
  laze_tensor *mean = laze_mean_dim(hidden, 0, false);
  const laze_status status =
      laze_tensor_write(in[3], laze_add(laze_mul(in[3], 0.9), laze_mul(laze_detach(mean), 0.1)), failure);
  laze_tensor *dropped = laze_dropout(laze_tanh(laze_sub(hidden, mean)), 0.5, true, state->seed, state->offset);
  out[0] = laze_matmul(dropped, in[2]);
  out[1] = laze_mean(laze_square(out[0]));
  return status;
}

static inline void make_model(laze_tensor **inputs) {
  inputs[0] = matrix(6, 4, -0.5f);
  inputs[1] = leaf(matrix(4, 8, 0.25f));
  inputs[2] = leaf(matrix(8, 3, -1));
  inputs[3] = laze_zeros(context, 8, LAZE_F32);
}

/* A chain of products: what an earlier layer saved is read before a later gradient is written. */
static inline laze_status chain(void *self, laze_tensor *const *in, laze_tensor **out, laze_error *failure) {
  (void)self, (void)failure;
  laze_tensor *hidden = in[0];
  for (int i = 1; i < 4; i++) hidden = laze_tanh(laze_matmul(hidden, in[i]));
  out[0] = laze_exp(hidden);
  return LAZE_OK;
}

#endif
