/* Functions compiled ahead of time (rows 4.1 to 4.13): compiled calls do what calls do. */
#include "tests/support/failing_allocator.h"
#include "tests/support/suite.h"

#include <laze/aot.h>
#include <laze/laze.h>
#include <laze/opaque.h>

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static laze_context *context;
static laze_scope *scope;
static laze_error error;

static void set_up(void) {
  laze_context_options options = {.struct_size = sizeof options, .cache_directory = "", .debug = "", .threads = 1};
  ck_assert_int_eq(laze_context_create(&options, &context, NULL), LAZE_OK);
  scope = laze_scope_begin(context);
}

static void tear_down(void) {
  (void)laze_scope_end(scope);
  laze_context_release(context);
}

#define assert_ok(call) ck_assert_msg((call) == LAZE_OK, "%s", error.message)
#define assert_fails(call, code, text)                                                                                 \
  do {                                                                                                                 \
    ck_assert_int_eq((call), (code));                                                                                  \
    ck_assert_msg(strstr(error.message, (text)) != NULL, "\"%s\" in: %s", (text), error.message);                      \
  } while (0)

static int64_t metric(const char *name) {
  int64_t value = -1;
  assert_ok(laze_metric_read(context, name, &value, &error));
  return value;
}

static laze_tensor *matrix(int64_t rows, int64_t columns, float from) {
  laze_tensor *x = laze_reshape(laze_arange(context, rows * columns, LAZE_F32), LAZE_SHAPE(rows, columns));
  return laze_add(laze_div(x, (double)(rows * columns)), from);
}

static laze_tensor *leaf(laze_tensor *tensor) {
  laze_tensor *detached = laze_clone(laze_detach(tensor));
  assert_ok(laze_tensor_require_grad(detached, 1, &error));
  return detached;
}

/* Elements of a tensor of f32, at most 64 of them, as text: equal where the bits are. */
static const char *text_of(laze_tensor *tensor) {
  static char texts[8][2048];
  static int next;
  char *text = texts[next++ % 8];
  size_t size;
  ck_assert_ptr_nonnull(tensor);
  ck_assert_msg(laze_tensor_format(tensor, text, sizeof texts[0], &size, &error) == LAZE_OK, "%s", error.message);
  return text;
}

#define assert_same(a, b) ck_assert_str_eq(text_of(a), text_of(b))

static void assert_near(laze_tensor *a, laze_tensor *b) {
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

static laze_aot_output output_of(const laze_aot *aot, int32_t index) {
  laze_aot_output facts = {.struct_size = sizeof facts};
  assert_ok(laze_aot_get_output(aot, index, &facts, &error));
  return facts;
}

static laze_aot_input input_of(const laze_aot *aot, int32_t index) {
  laze_aot_input facts = {.struct_size = sizeof facts};
  assert_ok(laze_aot_get_input(aot, index, &facts, &error));
  return facts;
}

static const char *graph_text(const laze_aot *aot, int32_t which) {
  static char text[1 << 16];
  assert_ok(laze_graph_format(laze_aot_graph(aot, which), text, sizeof text, NULL, &error));
  return text;
}

/* --- 4.1 --- */

static laze_status gives_new(void *self, laze_tensor *const *in, laze_tensor **out, laze_error *failure) {
  (void)self, (void)failure;
  out[0] = laze_exp(in[0]);
  return LAZE_OK;
}

START_TEST(row_4_1_an_output_of_its_own) {
  laze_tensor *x = matrix(2, 3, 0), *y;
  laze_aot *aot = compile(gives_new, NULL, &x, 1, 1);
  ck_assert_int_eq(output_of(aot, 0).kind, LAZE_AOT_NON_ALIAS);
  ck_assert_int_eq(output_of(aot, 0).result, 0);
  assert_ok(laze_aot_call(aot, &x, 1, &y, 1, &error));
  assert_near(y, laze_exp(x));
  laze_aot_release(aot);
}
END_TEST

static laze_status gives_input(void *self, laze_tensor *const *in, laze_tensor **out, laze_error *failure) {
  (void)self, (void)failure;
  out[0] = in[1];
  out[1] = laze_add(in[0], in[1]);
  return LAZE_OK;
}

/* A returned input is the same tensor: whoever compares handles, or writes to it, sees that. */
START_TEST(row_4_1_an_output_that_is_an_input) {
  laze_tensor *inputs[] = {matrix(2, 3, 0), matrix(2, 3, 1)}, *outputs[2];
  laze_aot *aot = compile(gives_input, NULL, inputs, 2, 2);
  ck_assert_int_eq(output_of(aot, 0).kind, LAZE_AOT_IS_INPUT);
  ck_assert_int_eq(output_of(aot, 0).of, 1);
  ck_assert_int_eq(output_of(aot, 0).result, -1);
  assert_ok(laze_aot_call(aot, inputs, 2, outputs, 2, &error));
  ck_assert_ptr_eq(outputs[0], inputs[1]);
  laze_aot_release(aot);
}
END_TEST

static laze_status gives_views(void *self, laze_tensor *const *in, laze_tensor **out, laze_error *failure) {
  (void)self, (void)failure;
  out[0] = laze_t(laze_slice(in[0], 1, 1, 3, 1));
  out[1] = laze_detach(laze_select(in[0], 0, 1));
  return LAZE_OK;
}

START_TEST(row_4_1_an_alias_of_an_input) {
  laze_tensor *x = matrix(2, 3, 0), *outputs[2];
  laze_aot *aot = compile(gives_views, NULL, &x, 1, 2);
  for (int i = 0; i < 2; i++) {
    ck_assert_int_eq(output_of(aot, i).kind, LAZE_AOT_ALIAS_OF_INPUT);
    ck_assert_int_eq(output_of(aot, i).of, 0);
  }
  assert_ok(laze_aot_call(aot, &x, 1, outputs, 2, &error));
  assert_same(outputs[0], laze_t(laze_slice(x, 1, 1, 3, 1)));
  laze_fill_(outputs[0], 7); /* writes to x, too, of which the other output is a view */
  assert_near(laze_slice(x, 1, 1, 3, 1), laze_full(context, LAZE_SHAPE(2, 2), 7, LAZE_F32));
  assert_near(laze_slice(outputs[1], 0, 1, 3, 1), laze_full(context, 2, 7, LAZE_F32));
  laze_aot_release(aot);
}
END_TEST

static laze_status gives_parts(void *self, laze_tensor *const *in, laze_tensor **out, laze_error *failure) {
  const bool *base = self;
  (void)failure;
  laze_tensor *y = laze_exp(in[0]);
  out[0] = laze_t(y);
  out[1] = laze_select(y, 0, 0);
  if (*base) out[2] = y;
  return LAZE_OK;
}

/* Views of one intermediate are views of one tensor behind the call as well: it is a result besides, or an output. */
START_TEST(row_4_1_aliases_of_an_intermediate) {
  for (int base = 0; base < 2; base++) {
    bool returned = base == 1;
    laze_tensor *x = matrix(2, 3, 0), *outputs[3];
    laze_aot *aot = compile(gives_parts, &returned, &x, 1, 2 + base);
    for (int i = 0; i < 2; i++) {
      ck_assert_int_eq(output_of(aot, i).kind, returned ? LAZE_AOT_ALIAS_OF_OUTPUT : LAZE_AOT_ALIAS_OF_INTERMEDIATE);
      ck_assert_int_eq(output_of(aot, i).of, returned ? 2 : 0);
    }
    ck_assert_int_eq(laze_aot_base_count(aot), returned ? 0 : 1);
    const char *text = graph_text(aot, LAZE_AOT_JOINT);
    ck_assert_msg(strstr(text, returned ? "-> (output)" : "-> (base)") != NULL, "%.200s", text);
    assert_ok(laze_aot_call(aot, &x, 1, outputs, 2 + base, &error));
    assert_near(outputs[0], laze_t(laze_exp(x)));
    laze_fill_(outputs[1], 7);
    assert_near(laze_select(outputs[0], 1, 0), laze_full(context, 3, 7, LAZE_F32));
    laze_aot_release(aot);
  }
}
END_TEST

static laze_status gives_one_part(void *self, laze_tensor *const *in, laze_tensor **out, laze_error *failure) {
  (void)self, (void)failure;
  out[0] = laze_t(laze_exp(in[0]));
  return LAZE_OK;
}

/* A view of what nobody else has is a tensor of its own, but keeps the strides by which `view` decides. */
START_TEST(row_4_1_an_unsafe_view) {
  laze_tensor *x = matrix(2, 3, 0), *y;
  laze_aot *aot = compile(gives_one_part, NULL, &x, 1, 1);
  ck_assert_int_eq(output_of(aot, 0).kind, LAZE_AOT_UNSAFE_VIEW);
  ck_assert_int_eq(laze_aot_base_count(aot), 0);
  assert_ok(laze_aot_call(aot, &x, 1, &y, 1, &error));
  assert_near(y, laze_t(laze_exp(x)));
  ck_assert_int_ne(laze_tensor_status(laze_view(y, LAZE_SHAPE(6))), LAZE_OK);
  ck_assert_int_ne(laze_tensor_status(laze_view(laze_t(laze_exp(x)), LAZE_SHAPE(6))), LAZE_OK);
  laze_fill_(y, 7);
  assert_same(y, laze_full(context, LAZE_SHAPE(3, 2), 7, LAZE_F32));
  laze_aot_release(aot);
}
END_TEST

static laze_status triples(void *self, const laze_function_call *call, laze_tensor **results, laze_error *failure) {
  (void)self, (void)failure;
  results[0] = laze_reshape(laze_mul(call->given[0], 3), LAZE_SHAPE(2, 3));
  return LAZE_OK;
}

static laze_status gives_custom_view(void *self, laze_tensor *const *in, laze_tensor **out, laze_error *failure) {
  (void)self;
  const int32_t before = laze_set_grad_enabled(context, 0);
  out[0] = laze_view(in[0], LAZE_SHAPE(6));
  (void)laze_set_grad_enabled(context, before);
  const laze_function_options options = {.struct_size = sizeof options,
                                         .name = "tripled",
                                         .input_count = 1,
                                         .output_count = 1,
                                         .inputs = in,
                                         .outputs = out,
                                         .backward = triples};
  return laze_function_attach(&options, failure);
}

/* A view whose gradient the caller computes cannot be made again from its input: that gradient would be lost. */
START_TEST(row_4_1_a_custom_view) {
  laze_tensor *x = leaf(matrix(2, 3, 0)), *y;
  laze_aot *aot = compile(gives_custom_view, NULL, &x, 1, 1);
  ck_assert_int_eq(output_of(aot, 0).kind, LAZE_AOT_CUSTOM_VIEW);
  ck_assert_int_ge(output_of(aot, 0).tangent, 0);
  assert_ok(laze_aot_call(aot, &x, 1, &y, 1, &error));
  assert_ok(laze_backward(laze_sum(y), &error));
  assert_same(laze_tensor_grad(x), laze_full(context, LAZE_SHAPE(2, 3), 3, LAZE_F32));
  laze_aot_release(aot);
}
END_TEST

/* Whoever does not know how many outputs a function has leaves room. */
START_TEST(a_function_may_give_fewer_outputs) {
  const laze_aot_options options = {.struct_size = sizeof options, .flags = LAZE_AOT_FEWER_OUTPUTS};
  laze_tensor *x = matrix(2, 3, 0), *outputs[2];
  laze_aot *aot;
  assert_ok(laze_aot_compile(gives_views, NULL, &x, 1, 100, &options, &aot, &error));
  ck_assert_int_eq(laze_aot_output_count(aot), 2);
  assert_ok(laze_aot_call(aot, &x, 1, outputs, 2, &error));
  assert_same(outputs[1], laze_select(x, 0, 1));
  laze_aot_release(aot);
}
END_TEST

static laze_status gives_twice(void *self, laze_tensor *const *in, laze_tensor **out, laze_error *failure) {
  (void)self, (void)failure;
  out[0] = out[1] = laze_exp(in[0]);
  out[2] = out[3] = laze_t(laze_neg(in[0]));
  return LAZE_OK;
}

START_TEST(row_4_1_an_output_that_comes_twice) {
  laze_tensor *x = matrix(2, 3, 0), *outputs[4];
  laze_aot *aot = compile(gives_twice, NULL, &x, 1, 4);
  assert_ok(laze_aot_call(aot, &x, 1, outputs, 4, &error));
  ck_assert_ptr_eq(outputs[0], outputs[1]);
  ck_assert_ptr_eq(outputs[2], outputs[3]);
  assert_same(outputs[3], laze_t(laze_neg(x)));
  laze_aot_release(aot);
}
END_TEST

static laze_status call_named(const char *name, laze_tensor *tensor, laze_tensor **out) {
  const laze_argument arguments[] = {{.kind = LAZE_PASS_TENSOR, .value.tensor = tensor},
                                     {.kind = LAZE_PASS_DTYPE, .value.integer = LAZE_I32}};
  (void)laze_call_by_name(context, name, arguments, strcmp(name, "alias") == 0 ? 1 : 2, out, 1);
  return laze_tensor_status(*out);
}

/* A view without a step, one of other bits, several that a call gives, and one made where nothing is recorded. */
static laze_status gives_odd_views(void *self, laze_tensor *const *in, laze_tensor **out, laze_error *failure) {
  (void)self, (void)failure;
  laze_tensor *parts[2];
  const laze_argument unbound = {.kind = LAZE_PASS_TENSOR, .value.tensor = in[0]};
  const int32_t before = laze_set_grad_enabled(context, 0);
  out[0] = laze_t(in[0]);
  (void)laze_set_grad_enabled(context, before);
  (void)laze_call_by_name(context, "unbind", &unbound, 1, parts, 2);
  out[1] = parts[1];
  const laze_status status = call_named("alias", in[0], &out[2]);
  return status == LAZE_OK ? call_named("view.dtype", in[0], &out[3]) : status;
}

/* Each way to make a view is one to make it again. */
START_TEST(row_4_1_any_view_is_made_again) {
  laze_tensor *x = laze_clone(matrix(2, 3, 0.5f)), *outputs[4], *bits;
  laze_aot *aot = compile(gives_odd_views, NULL, &x, 1, 4);
  for (int i = 0; i < 4; i++) ck_assert_int_eq(output_of(aot, i).kind, LAZE_AOT_ALIAS_OF_INPUT);
  assert_ok(laze_aot_call(aot, &x, 1, outputs, 4, &error));
  laze_fill_(x, 7);
  assert_same(outputs[0], laze_full(context, LAZE_SHAPE(3, 2), 7, LAZE_F32));
  assert_same(outputs[1], laze_full(context, 3, 7, LAZE_F32));
  assert_same(outputs[2], x);
  ck_assert_int_eq(call_named("view.dtype", x, &bits), LAZE_OK);
  assert_same(outputs[3], bits);
  laze_aot_release(aot);
}
END_TEST

static laze_status flattens(void *self, laze_tensor *const *in, laze_tensor **out, laze_error *failure) {
  (void)self, (void)failure;
  out[0] = laze_reshape(in[0], 6);
  return LAZE_OK;
}

/* Strides of the input decide what a function gives: a view, or a copy. */
START_TEST(row_4_1_strides_decide_what_is_a_view) {
  laze_tensor *x = laze_clone(matrix(2, 3, 0)), *inputs[] = {x, laze_t(x)}, *y;
  for (int i = 0; i < 2; i++) {
    laze_aot *aot = compile(flattens, NULL, &inputs[i], 1, 1);
    ck_assert_int_eq(output_of(aot, 0).kind, i ? LAZE_AOT_NON_ALIAS : LAZE_AOT_ALIAS_OF_INPUT);
    assert_ok(laze_aot_call(aot, &inputs[i], 1, &y, 1, &error));
    assert_same(y, laze_reshape(inputs[i], 6));
    laze_fill_(y, (float)(5 + i));
    laze_aot_release(aot);
  }
  assert_same(x, laze_full(context, LAZE_SHAPE(2, 3), 5, LAZE_F32));
}
END_TEST

static laze_status writes_a_part_of_a_part(void *self, laze_tensor *const *in, laze_tensor **out, laze_error *failure) {
  (void)self;
  out[0] = laze_select(in[0], 0, 1);
  return laze_tensor_write(laze_select(in[0], 1, 0), laze_full(context, 2, 9, LAZE_F32), failure);
}

/* An input that is a part of another tensor is written to as that part, whatever its strides. */
START_TEST(row_4_5_writes_to_inputs_that_are_views_reach_their_base) {
  laze_tensor *bases[2], *outputs[2];
  for (int compiled = 0; compiled < 2; compiled++) {
    bases[compiled] = laze_clone(matrix(4, 4, 0));
    laze_tensor *part = laze_t(laze_slice(laze_slice(bases[compiled], 0, 1, 3, 1), 1, 1, 4, 2));
    if (compiled) {
      laze_aot *aot = compile(writes_a_part_of_a_part, NULL, &part, 1, 1);
      assert_ok(laze_aot_call(aot, &part, 1, &outputs[1], 1, &error));
      laze_aot_release(aot);
    } else {
      assert_ok(writes_a_part_of_a_part(NULL, &part, &outputs[0], &error));
    }
    laze_mul_(bases[compiled], 2);
  }
  assert_same(bases[0], bases[1]);
  assert_same(outputs[0], outputs[1]);
}
END_TEST

/* --- 4.2, 4.3 --- */

static laze_status reads(void *self, laze_tensor *const *in, laze_error *failure) {
  (void)self, (void)in, (void)failure;
  return LAZE_OK;
}

static laze_status writes(void *self, laze_tensor *const *in, laze_error *failure) {
  (void)self;
  return laze_tensor_write(in[0], laze_mul(in[0], 2), failure);
}

static laze_status writes_to_a_part(void *self, laze_tensor *const *in, laze_error *failure) {
  (void)self;
  return laze_tensor_write(laze_select(in[0], 0, 0), laze_full(context, 3, 2, LAZE_F32), failure);
}

static laze_status writes_quietly(void *self, laze_tensor *const *in, laze_error *failure) {
  const int32_t before = laze_set_grad_enabled(context, 0);
  const laze_status status = writes(self, in, failure);
  (void)laze_set_grad_enabled(context, before);
  return status;
}

static laze_status writes_detached(void *self, laze_tensor *const *in, laze_error *failure) {
  (void)self;
  laze_tensor *alias = laze_detach(in[0]);
  return laze_tensor_write(alias, laze_mul(alias, 2), failure);
}

static laze_status writes_both_ways(void *self, laze_tensor *const *in, laze_error *failure) {
  const laze_status status = writes_detached(self, in, failure);
  return status == LAZE_OK ? writes_quietly(self, in, failure) : status;
}

static laze_status writes_a_gradient(void *self, laze_tensor *const *in, laze_error *failure) {
  (void)self;
  return laze_tensor_write(in[0], laze_mul(in[1], 2), failure);
}

static laze_status assigns(void *self, laze_tensor *const *in, laze_error *failure) {
  (void)self;
  return laze_tensor_assign_error(in[0], laze_mul(laze_detach(in[0]), 2), failure);
}

static laze_status requires_no_more(void *self, laze_tensor *const *in, laze_error *failure) {
  (void)self;
  return laze_tensor_require_grad(in[0], 0, failure);
}

static laze_status requires_for_a_while(void *self, laze_tensor *const *in, laze_error *failure) {
  const laze_status status = laze_tensor_require_grad(in[0], 1, failure);
  return status == LAZE_OK ? requires_no_more(self, in, failure) : status;
}

static laze_status transposes_twice(void *self, laze_tensor *const *in, laze_error *failure) {
  (void)self;
  return laze_tensor_write(in[0], laze_t(laze_t(in[0])), failure);
}

static laze_status flattens_and_back(void *self, laze_tensor *const *in, laze_error *failure) {
  (void)self;
  return laze_tensor_write(in[0], laze_reshape(laze_reshape(in[0], 6), LAZE_SHAPE(2, 3)), failure);
}

static laze_status transposes_a_square(void *self, laze_tensor *const *in, laze_error *failure) {
  (void)self;
  return laze_tensor_write(in[2], laze_t(in[2]), failure);
}

static laze_status assigns_and_back(void *self, laze_tensor *const *in, laze_error *failure) {
  laze_tensor *before = laze_tensor_from_data(context, LAZE_F32, LAZE_SHAPE(2, 3), (float[6]){0}, 6 * sizeof(float));
  laze_status status = laze_tensor_assign_error(before, in[0], failure);
  if (status == LAZE_OK) status = assigns(self, in, failure);
  return status == LAZE_OK ? laze_tensor_assign_error(in[0], before, failure) : status;
}

static laze_status resizes(void *self, laze_tensor *const *in, laze_error *failure) {
  (void)self, (void)failure;
  return laze_tensor_status(laze_out(in[3], laze_mul(in[0], 2)));
}

static laze_status resizes_and_back(void *self, laze_tensor *const *in, laze_error *failure) {
  (void)self, (void)failure;
  laze_tensor *empty = laze_zeros(context, 0, LAZE_F32);
  (void)laze_out(in[3], laze_reshape(empty, LAZE_SHAPE(0, 5)));
  return laze_tensor_status(laze_out(in[3], empty));
}

enum { NOT_REQUIRED, REQUIRED_LEAF, REQUIRED_RESULT };
enum {
  DATA = LAZE_AOT_MUTATES_DATA,
  METADATA = LAZE_AOT_MUTATES_METADATA,
  STORAGE = LAZE_AOT_MUTATES_STORAGE,
  NO_GRAD = LAZE_AOT_MUTATED_NO_GRAD,
  HIDDEN = LAZE_AOT_MUTATED_HIDDEN,
  LEAF = LAZE_AOT_LEAF,
  REQUIRES = LAZE_AOT_REQUIRES_GRAD
};

typedef laze_status (*mutation)(void *self, laze_tensor *const *in, laze_error *failure);

/* What a function does to one of its inputs, which may require a gradient, and what it is found to have done. */
static const struct {
  const char *name;
  mutation mutate;
  int input, kind;
  int32_t flags, mutation;
} mutations[] = {
    {"reads", reads, 0, NOT_REQUIRED, LEAF, LAZE_AOT_KEPT},
    {"reads a leaf", reads, 0, REQUIRED_LEAF, LEAF | REQUIRES, LAZE_AOT_KEPT},
    {"reads a result", reads, 0, REQUIRED_RESULT, REQUIRES, LAZE_AOT_KEPT},
    {"writes", writes, 0, NOT_REQUIRED, LEAF | DATA, LAZE_AOT_IN_GRAPH},
    {"writes to a result", writes, 0, REQUIRED_RESULT, REQUIRES | DATA, LAZE_AOT_AFTER},
    {"writes to a part", writes_to_a_part, 0, NOT_REQUIRED, LEAF | DATA, LAZE_AOT_IN_GRAPH},
    {"writes to a part of a result", writes_to_a_part, 0, REQUIRED_RESULT, REQUIRES | DATA, LAZE_AOT_AFTER},
    {"writes what requires", writes_a_gradient, 0, NOT_REQUIRED, LEAF | DATA, LAZE_AOT_AFTER},
    {"writes quietly", writes_quietly, 0, NOT_REQUIRED, LEAF | DATA | NO_GRAD, LAZE_AOT_IN_GRAPH},
    {"writes quietly to a leaf", writes_quietly, 0, REQUIRED_LEAF, LEAF | REQUIRES | DATA | NO_GRAD, LAZE_AOT_IN_GRAPH},
    {"writes quietly to a result", writes_quietly, 0, REQUIRED_RESULT, REQUIRES | DATA | NO_GRAD, LAZE_AOT_IN_GRAPH},
    {"writes detached", writes_detached, 0, REQUIRED_LEAF, LEAF | REQUIRES | DATA | HIDDEN, LAZE_AOT_IN_GRAPH},
    {"writes both ways", writes_both_ways, 0, REQUIRED_LEAF, LEAF | REQUIRES | DATA, LAZE_AOT_IN_GRAPH},
    {"assigns", assigns, 0, NOT_REQUIRED, LEAF | DATA | STORAGE | HIDDEN, LAZE_AOT_AFTER},
    {"assigns to a leaf", assigns, 0, REQUIRED_LEAF, LEAF | REQUIRES | DATA | STORAGE | HIDDEN, LAZE_AOT_AFTER},
    {"requires no more", requires_no_more, 0, REQUIRED_LEAF, LEAF | REQUIRES | METADATA, LAZE_AOT_AFTER},
    {"resizes", resizes, 3, NOT_REQUIRED, LEAF | DATA | METADATA, LAZE_AOT_AFTER},
    {"transposes a square", transposes_a_square, 2, NOT_REQUIRED, LEAF | DATA, LAZE_AOT_IN_GRAPH},
    /* 4.6: what is set and undone is as if it had not been */
    {"requires for a while", requires_for_a_while, 0, NOT_REQUIRED, LEAF, LAZE_AOT_KEPT},
    {"transposes twice", transposes_twice, 0, NOT_REQUIRED, LEAF, LAZE_AOT_KEPT},
    {"flattens and back", flattens_and_back, 0, NOT_REQUIRED, LEAF, LAZE_AOT_KEPT},
    {"assigns and back", assigns_and_back, 0, NOT_REQUIRED, LEAF, LAZE_AOT_KEPT},
    {"resizes and back", resizes_and_back, 3, NOT_REQUIRED, LEAF, LAZE_AOT_KEPT},
};

static laze_status mutates(void *self, laze_tensor *const *in, laze_tensor **out, laze_error *failure) {
  const mutation *mutate = self;
  out[0] = laze_add(laze_sum(laze_mul(laze_detach(in[0]), 3)), laze_sum(in[1]));
  const laze_status status = (*mutate)(NULL, in, failure);
  if (status == LAZE_OK) out[1] = laze_sin(in[0]);
  return status;
}

/* Inputs of the table: of two rows, the one that is changed mostly, one that requires a gradient, a square, and one
 * without elements. */
static void make_inputs(int kind, laze_tensor **inputs) {
  laze_tensor *x = laze_clone(matrix(2, 3, 0.5f));
  inputs[0] = kind == NOT_REQUIRED ? x : kind == REQUIRED_LEAF ? leaf(x) : laze_mul(leaf(x), 1.5);
  inputs[1] = leaf(matrix(2, 3, 2));
  inputs[2] = laze_clone(matrix(2, 2, 0));
  inputs[3] = laze_zeros(context, 0, LAZE_F32);
}

static void check_row(int row, bool shows_flags) {
  laze_tensor *inputs[4];
  mutation mutate = mutations[row].mutate;
  make_inputs(mutations[row].kind, inputs);
  laze_aot *aot = compile(mutates, &mutate, inputs, 4, 2);
  const laze_aot_input facts = input_of(aot, mutations[row].input);
  if (shows_flags)
    ck_assert_msg(facts.flags == mutations[row].flags, "%s: flags %#x", mutations[row].name, (unsigned)facts.flags);
  else
    ck_assert_msg(facts.mutation == mutations[row].mutation, "%s: set at %d", mutations[row].name, facts.mutation);
  ck_assert_msg((facts.result >= 0) == ((facts.flags & DATA) != 0), "%s: result %d", mutations[row].name, facts.result);
  laze_aot_release(aot);
}

enum { ROWS = sizeof mutations / sizeof *mutations };

START_TEST(row_4_2_what_becomes_of_inputs) {
  check_row(_i, true);
}
END_TEST

START_TEST(row_4_3_where_mutations_are_set) {
  check_row(_i, false);
}
END_TEST

/* What was undone is neither a result of the graph nor written to anything. */
START_TEST(row_4_6_what_is_undone_is_no_mutation) {
  for (int row = 0; row < ROWS; row++) {
    laze_tensor *inputs[4], *outputs[2];
    mutation mutate = mutations[row].mutate;
    if (mutations[row].mutation != LAZE_AOT_KEPT) continue;
    make_inputs(mutations[row].kind, inputs);
    laze_aot *aot = compile(mutates, &mutate, inputs, 4, 2);
    ck_assert_ptr_null(strstr(graph_text(aot, LAZE_AOT_JOINT), "mutation("));
    assert_ok(laze_aot_call(aot, inputs, 4, outputs, 2, &error));
    assert_near(outputs[1], laze_sin(inputs[0]));
    laze_aot_release(aot);
  }
}
END_TEST

/* --- 4.5 --- */

/* Each row of the table, called as it is and compiled: the same inputs, outputs and gradients. */
START_TEST(row_4_5_mutations_are_those_of_a_call) {
  laze_tensor *inputs[2][4], *outputs[2][2];
  mutation mutate = mutations[_i].mutate;
  for (int compiled = 0; compiled < 2; compiled++) {
    make_inputs(mutations[_i].kind, inputs[compiled]);
    if (compiled) {
      laze_aot *aot = compile(mutates, &mutate, inputs[1], 4, 2);
      assert_ok(laze_aot_call(aot, inputs[1], 4, outputs[1], 2, &error));
      laze_aot_release(aot);
    } else {
      assert_ok(mutates(&mutate, inputs[0], outputs[0], &error));
    }
    assert_ok(laze_backward(laze_add(outputs[compiled][0], laze_sum(outputs[compiled][1])), &error));
  }
  for (int i = 0; i < 4; i++) {
    assert_near(inputs[0][i], inputs[1][i]);
    ck_assert_msg(laze_tensor_requires_grad(inputs[0][i]) == laze_tensor_requires_grad(inputs[1][i]),
                  "%s: input %d requires a gradient: %d", mutations[_i].name, i,
                  laze_tensor_requires_grad(inputs[1][i]));
    ck_assert_int_eq(laze_tensor_is_leaf(inputs[0][i]), laze_tensor_is_leaf(inputs[1][i]));
    laze_tensor *gradients[] = {laze_tensor_grad(inputs[0][i]), laze_tensor_grad(inputs[1][i])};
    ck_assert_msg(!gradients[0] == !gradients[1], "%s: gradient of input %d", mutations[_i].name, i);
    if (gradients[0]) assert_near(gradients[0], gradients[1]);
  }
  for (int i = 0; i < 2; i++) assert_near(outputs[0][i], outputs[1][i]);
}
END_TEST

static laze_status writes_and_gives(void *self, laze_tensor *const *in, laze_tensor **out, laze_error *failure) {
  (void)self, (void)failure;
  out[0] = laze_select(in[0], 1, 0);
  laze_mul_(in[0], in[1]);
  out[1] = laze_t(in[0]);
  laze_tensor *y = laze_add(in[0], in[1]);
  out[2] = laze_select(y, 0, 1);
  out[3] = laze_t(y);
  return LAZE_OK;
}

/* Views that the call gives follow what is written to their bases behind it, and so do gradients. */
START_TEST(row_4_5_aliases_share_memory_and_history) {
  laze_tensor *leaves[2][2], *outputs[2][4];
  for (int compiled = 0; compiled < 2; compiled++) {
    leaves[compiled][0] = leaf(matrix(2, 3, 0.5f));
    leaves[compiled][1] = leaf(matrix(2, 3, 2));
    laze_tensor *inputs[] = {laze_mul(leaves[compiled][0], 1.5), leaves[compiled][1]};
    if (compiled) {
      laze_aot *aot = compile(writes_and_gives, NULL, inputs, 2, 4);
      ck_assert_int_eq(output_of(aot, 0).kind, LAZE_AOT_ALIAS_OF_INPUT);
      ck_assert_int_eq(output_of(aot, 3).kind, LAZE_AOT_ALIAS_OF_INTERMEDIATE);
      assert_ok(laze_aot_call(aot, inputs, 2, outputs[1], 4, &error));
      laze_aot_release(aot);
    } else {
      assert_ok(writes_and_gives(NULL, inputs, outputs[0], &error));
    }
    laze_mul_(inputs[0], 3);                               /* outputs 0 and 1 are views of it */
    laze_mul_(laze_select(outputs[compiled][3], 0, 0), 5); /* output 2 has an element of this */
    laze_tensor *loss = laze_sum(laze_square(outputs[compiled][0]));
    for (int i = 1; i < 4; i++) loss = laze_add(loss, laze_sum(laze_square(outputs[compiled][i])));
    assert_ok(laze_backward(loss, &error));
  }
  for (int i = 0; i < 4; i++) assert_near(outputs[0][i], outputs[1][i]);
  for (int i = 0; i < 2; i++)
    assert_near(laze_div(laze_tensor_grad(leaves[0][i]), 100), laze_div(laze_tensor_grad(leaves[1][i]), 100));
}
END_TEST

/* --- a model: dropout, and statistics that are written to --- */

typedef struct {
  int64_t seed, offset;
} draws;

/* in: x, w1, w2, running mean. */
static laze_status model(void *self, laze_tensor *const *in, laze_tensor **out, laze_error *failure) {
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

static void make_model(laze_tensor **inputs) {
  inputs[0] = matrix(6, 4, -0.5f);
  inputs[1] = leaf(matrix(4, 8, 0.25f));
  inputs[2] = leaf(matrix(8, 3, -1));
  inputs[3] = laze_zeros(context, 8, LAZE_F32);
}

/* Steps of a training, compiled and not; the cheapest cut draws the mask again, from what the forward pass began with.
 */
START_TEST(row_4_10_a_model_trains_as_it_does_uncompiled) {
  const laze_aot_options options = {.struct_size = sizeof options, .partition = _i};
  laze_tensor *inputs[2][4];
  draws state = {7, 100};
  laze_aot *aot;
  for (int compiled = 0; compiled < 2; compiled++) make_model(inputs[compiled]);
  assert_ok(laze_aot_compile(model, &state, inputs[1], 4, 2, &options, &aot, &error));
  ck_assert_int_eq(input_of(aot, 3).mutation, LAZE_AOT_IN_GRAPH);
  ck_assert_int_eq(laze_aot_random_count(aot), 1);
  for (int step = 0; step < 3; step++) {
    laze_tensor *outputs[2][2];
    assert_ok(model(&state, inputs[0], outputs[0], &error));
    assert_ok(laze_aot_call(aot, inputs[1], 4, outputs[1], 2, &error));
    state.offset += 48; /* one number an element of the hidden layer */
    for (int i = 0; i < 2; i++) {
      assert_ok(laze_backward(outputs[i][1], &error));
      for (int k = 1; k < 3; k++) {
        const int32_t before = laze_set_grad_enabled(context, 0);
        assert_ok(laze_tensor_write(inputs[i][k], laze_sub(inputs[i][k], laze_mul(laze_tensor_grad(inputs[i][k]), 0.1)),
                                    &error));
        (void)laze_set_grad_enabled(context, before);
        assert_ok(laze_tensor_set_grad(inputs[i][k], NULL, &error));
      }
    }
    for (int k = 0; k < 2; k++) assert_near(outputs[0][k], outputs[1][k]);
    for (int k = 1; k < 4; k++) assert_near(inputs[0][k], inputs[1][k]);
  }
  laze_aot_release(aot);
}
END_TEST

/* New numbers in each run, the same ones where seed and offset are, and offsets that go in and come out. */
START_TEST(row_4_10_random_state_is_an_input_and_a_result) {
  laze_tensor *inputs[4], *outputs[3][2];
  draws state = {7, 100};
  int64_t seed, offset;
  make_model(inputs);
  laze_aot *aot = compile(model, &state, inputs, 4, 2);
  const char *text = graph_text(aot, LAZE_AOT_FORWARD);
  ck_assert_ptr_nonnull(strstr(text, "%seed: i64[], %offset: i64[]"));
  ck_assert_ptr_nonnull(strstr(text, "mutation(offset)"));
  for (int run = 0; run < 3; run++) {
    if (run == 2) assert_ok(laze_aot_set_random(aot, 0, 7, 100, &error));
    assert_ok(laze_aot_call(aot, inputs, 4, outputs[run], 2, &error));
    assert_ok(laze_aot_get_random(aot, 0, &seed, &offset, &error));
    ck_assert_int_eq(seed, 7);
    ck_assert_int_eq(offset, run == 1 ? 196 : 148);
  }
  ck_assert_str_ne(text_of(outputs[0][0]), text_of(outputs[1][0]));
  assert_same(outputs[0][0], outputs[2][0]);
  assert_fails(laze_aot_set_random(aot, 1, 7, 100, &error), LAZE_OUT_OF_RANGE, "random state 1 of a compiled");
  laze_aot_release(aot);
}
END_TEST

/* --- 4.4 --- */

START_TEST(row_4_4_mutations_and_bases_have_their_places) {
  laze_tensor *x = leaf(matrix(2, 3, 0.5f)), *inputs[] = {laze_mul(x, 1), leaf(matrix(2, 3, 2))};
  laze_aot *aot = compile(writes_and_gives, NULL, inputs, 2, 4);
  const char *text = graph_text(aot, LAZE_AOT_FORWARD);
  ck_assert_msg(strstr(text, "signature (parameter, parameter) -> (mutation(arg0), base, saved") != NULL, "%.300s",
                text);
  ck_assert_ptr_nonnull(
      strstr(graph_text(aot, LAZE_AOT_JOINT), "-> (mutation(arg0), base, gradient(arg0), gradient(arg1))"));
  ck_assert_int_eq(input_of(aot, 0).result, 0);
  ck_assert_int_eq(input_of(aot, 0).tangent, 0);
  ck_assert_int_eq(laze_aot_tangent_count(aot), 2);
  ck_assert_int_eq(input_of(aot, 1).gradient, 1);
  laze_aot_release(aot);
}
END_TEST

/* --- 4.8 --- */

/* A chain of products: what an earlier layer saved is read before a later gradient is written. */
static laze_status chain(void *self, laze_tensor *const *in, laze_tensor **out, laze_error *failure) {
  (void)self, (void)failure;
  laze_tensor *hidden = in[0];
  for (int i = 1; i < 4; i++) hidden = laze_tanh(laze_matmul(hidden, in[i]));
  out[0] = laze_exp(hidden);
  return LAZE_OK;
}

static void run_chain(int32_t flags, int32_t pass_flags, laze_tensor **gradients) {
  laze_tensor *inputs[4], *y, *tangent;
  const laze_aot_options options = {.struct_size = sizeof options, .flags = flags};
  laze_aot *aot;
  laze_aot_saved *saved;
  for (int i = 0; i < 4; i++) inputs[i] = leaf(matrix(8, 8, -0.4f));
  assert_ok(laze_aot_compile(chain, NULL, inputs, 4, 1, &options, &aot, &error));
  assert_ok(laze_aot_forward(aot, inputs, 4, &y, 1, &saved, &error));
  const char *before = text_of(y);
  const char *first = text_of(inputs[0]);
  tangent = matrix(8, 8, 0);
  assert_ok(laze_aot_backward(saved, &tangent, 1, pass_flags, gradients, 4, &error));
  for (int i = 0; i < 4; i++) (void)text_of(gradients[i]);
  ck_assert_str_eq(text_of(y), before);
  ck_assert_str_eq(text_of(inputs[0]), first);
  laze_aot_saved_release(saved);
  laze_aot_release(aot);
}

/* Gradients are written to what the forward pass saved, where nobody can see it. */
START_TEST(row_4_8_saved_buffers_are_donated) {
  laze_tensor *gradients[2][4];
  run_chain(LAZE_AOT_NO_DONATION, 0, gradients[0]);
  ck_assert_int_eq(metric("buffers_donated"), 0);
  run_chain(0, LAZE_RETAIN_GRAPH, gradients[1]);
  ck_assert_int_eq(metric("buffers_donated"), 0);
  run_chain(0, 0, gradients[1]);
  ck_assert_int_gt(metric("buffers_donated"), 0);
  for (int i = 0; i < 4; i++) assert_same(gradients[0][i], gradients[1][i]);
}
END_TEST

static laze_status gives_all(void *self, laze_tensor *const *in, laze_tensor **out, laze_error *failure) {
  (void)self, (void)failure;
  laze_tensor *hidden = in[0];
  for (int i = 1; i < 4; i++) out[i - 1] = hidden = laze_tanh(laze_matmul(hidden, in[i]));
  return LAZE_OK;
}

/* What the caller has is never written to: not an output that is saved as well, nor an input. */
START_TEST(row_4_8_a_tensor_of_the_callers_never_changes) {
  laze_tensor *inputs[4], *outputs[3], *tangents[3], *gradients[4];
  char before[7][2048];
  laze_aot_saved *saved;
  for (int i = 0; i < 4; i++) inputs[i] = leaf(matrix(8, 8, -0.4f));
  laze_aot *aot = compile(gives_all, NULL, inputs, 4, 3);
  assert_ok(laze_aot_forward(aot, inputs, 4, outputs, 3, &saved, &error));
  for (int i = 0; i < 3; i++) tangents[i] = matrix(8, 8, 0);
  for (int i = 0; i < 7; i++) snprintf(before[i], sizeof before[i], "%s", text_of(i < 4 ? inputs[i] : outputs[i - 4]));
  assert_ok(laze_aot_backward(saved, tangents, 3, 0, gradients, 4, &error));
  for (int i = 0; i < 4; i++) (void)text_of(gradients[i]);
  for (int i = 0; i < 7; i++) ck_assert_str_eq(text_of(i < 4 ? inputs[i] : outputs[i - 4]), before[i]);
  ck_assert_int_eq(metric("buffers_donated"), 0);
  assert_fails(laze_aot_backward(saved, tangents, 3, 0, gradients, 4, &error), LAZE_FAILED_PRECONDITION, "used up");
  laze_aot_saved_release(saved);
  laze_aot_release(aot);
}
END_TEST

/* --- 4.9 --- */

/* The graph was compiled for gradients in row-major order, which is all the layout that values have: those that lie
 * otherwise to see (transposed, expanded, a part of another) are right as well. */
START_TEST(row_4_9_gradients_of_any_layout_are_right) {
  laze_tensor *inputs[4], *y, *wanted[4], *found[4];
  laze_tensor *tangents[] = {laze_t(matrix(8, 8, 1)), laze_expand(matrix(1, 8, 1), LAZE_SHAPE(8, 8)),
                             laze_slice(matrix(16, 8, 1), 0, 1, LAZE_NONE, 2)};
  for (int i = 0; i < 4; i++) inputs[i] = leaf(matrix(8, 8, -0.4f));
  laze_aot *aot = compile(chain, NULL, inputs, 4, 1);
  for (int t = 0; t < 3; t++) {
    laze_aot_saved *saved;
    assert_ok(laze_aot_forward(aot, inputs, 4, &y, 1, &saved, &error));
    assert_ok(laze_aot_backward(saved, &tangents[t], 1, LAZE_RETAIN_GRAPH, found, 4, &error));
    laze_tensor *copy = laze_clone(tangents[t]);
    assert_ok(laze_aot_backward(saved, &copy, 1, 0, wanted, 4, &error));
    for (int i = 0; i < 4; i++) assert_same(found[i], wanted[i]);
    assert_ok(laze_aot_call(aot, inputs, 4, &y, 1, &error));
    assert_ok(laze_grad(&y, &tangents[t], 1, inputs, 4, 0, found, &error));
    for (int i = 0; i < 4; i++) assert_same(found[i], wanted[i]);
    laze_aot_saved_release(saved);
  }
  laze_aot_release(aot);
}
END_TEST

/* --- 4.11 --- */

/* A graph has no writes, only one final value for each input: what says otherwise is refused. */
START_TEST(row_4_11_an_input_has_one_final_value) {
  static const char *const bad[][2] = {
      {"(buffer, input) -> (mutation(x), mutation(x))", "results 0 and 1 are both mutations of x"},
      {"(buffer, input) -> (mutation(y), output)", "result 0 is f32[2] and a mutation of y, which is f32[3]"},
      {"(buffer, input) -> (output, mutation(x))", "result 1 is mutation behind output"},
      {"(buffer, input) -> (mutation(z), output)", "mutation of z, which is no input"},
      {"(buffer, mutation) -> (output, output)", "input 1 cannot be mutation"},
  };
  for (size_t i = 0; i <= sizeof bad / sizeof *bad; i++) {
    const bool good = i == sizeof bad / sizeof *bad;
    char text[512];
    laze_graph *graph;
    const int size = snprintf(text, sizeof text,
                              "laze 1\nsignature %s\ngraph @g(%%x: f32[2], %%y: f32[3]) -> f32[2], f32[2] {\n"
                              "  %%0 = exp %%x\n  return %%0, %%0\n}\n",
                              good ? "(buffer, input) -> (mutation(x), output)" : bad[i][0]);
    if (good) {
      assert_ok(laze_graph_parse(context, text, size, "good.lz", &graph, &error));
      assert_ok(laze_graph_verify(graph, &error));
      laze_graph_release(graph);
    } else {
      assert_fails(laze_graph_parse(context, text, size, "bad.lz", &graph, &error), LAZE_INVALID_ARGUMENT, bad[i][1]);
    }
  }
}
END_TEST

/* However often a function writes, its graph has one result for each input that it wrote to. */
static laze_status writes_often(void *self, laze_tensor *const *in, laze_tensor **out, laze_error *failure) {
  (void)self, (void)failure;
  for (int i = 0; i < 3; i++) {
    laze_mul_(in[0], 2);
    laze_add_(laze_select(in[0], 0, 1), laze_select(in[1], 0, 0));
    laze_neg_(in[1]);
  }
  out[0] = laze_add(in[0], in[1]);
  return LAZE_OK;
}

START_TEST(row_4_11_graphs_of_functions_that_write_are_functional) {
  laze_tensor *inputs[2][2], *outputs[2];
  for (int i = 0; i < 4; i++) inputs[i / 2][i % 2] = laze_clone(matrix(2, 3, (float)(i % 2)));
  laze_aot *aot = compile(writes_often, NULL, inputs[1], 2, 1);
  assert_ok(laze_graph_verify(laze_aot_graph(aot, LAZE_AOT_JOINT), &error));
  ck_assert_ptr_nonnull(
      strstr(graph_text(aot, LAZE_AOT_JOINT), "(buffer, buffer) -> (mutation(arg0), mutation(arg1), output)"));
  assert_ok(writes_often(NULL, inputs[0], &outputs[0], &error));
  assert_ok(laze_aot_call(aot, inputs[1], 2, &outputs[1], 1, &error));
  assert_same(outputs[0], outputs[1]);
  for (int i = 0; i < 2; i++) assert_same(inputs[0][i], inputs[1][i]);
  laze_aot_release(aot);
}
END_TEST

/* --- 4.13 --- */

enum { HITS, MISSES, BYPASSES };

static void count_cache(int64_t *counts) {
  counts[HITS] = metric("aot_cache_hits");
  counts[MISSES] = metric("aot_cache_misses");
  counts[BYPASSES] = metric("aot_cache_bypasses");
}

/* Which of the three a compilation is counted as. */
static int compile_counted(laze_traced_function function, laze_tensor *const *inputs, int32_t count,
                           const laze_aot_options *options) {
  int64_t before[3], after[3];
  laze_aot *aot;
  count_cache(before);
  assert_ok(laze_aot_compile(function, NULL, inputs, count, 1, options, &aot, &error));
  laze_aot_release(aot);
  count_cache(after);
  ck_assert_int_eq(after[0] + after[1] + after[2], before[0] + before[1] + before[2] + 1);
  for (int i = 0; i < 3; i++)
    if (after[i] != before[i]) return i;
  return -1;
}

static laze_status chain_and_more(void *self, laze_tensor *const *in, laze_tensor **out, laze_error *failure) {
  const laze_status status = chain(self, in, out, failure);
  out[0] = laze_add(out[0], 1);
  return status;
}

/* Everything that the compiled graphs depend on is part of the key. */
START_TEST(row_4_13_flipping_one_setting_misses) {
  laze_tensor *inputs[4], *others[4];
  const laze_backend *interpreter;
  assert_ok(laze_backend_find(context, "interp", &interpreter, &error));
  const laze_aot_options options[] = {
      {.struct_size = sizeof *options},
      {.struct_size = sizeof *options, .partition = LAZE_PARTITION_MIN_CUT},
      {.struct_size = sizeof *options, .flags = LAZE_AOT_NO_DONATION},
      {.struct_size = sizeof *options, .input_names = (const char *const[]){"x", "a", "b", "c"}},
      {.struct_size = sizeof *options, .name = "chain"},
      {.struct_size = sizeof *options, .backend = interpreter},
  };
  const int different = laze_backend_at(0) == interpreter ? 5 : 6;
  for (int i = 0; i < 4; i++) inputs[i] = leaf(matrix(8, 8, -0.4f));
  for (int i = 0; i < different; i++) {
    ck_assert_int_eq(compile_counted(chain, inputs, 4, &options[i]), MISSES);
    ck_assert_int_eq(compile_counted(chain, inputs, 4, &options[i]), HITS);
  }
  ck_assert_int_eq(compile_counted(chain_and_more, inputs, 4, NULL), MISSES);
  for (int flipped = 0; flipped < 4; flipped++) {
    for (int i = 0; i < 4; i++) others[i] = leaf(matrix(8, 8, (float)i));
    if (flipped == 1) others[2] = laze_detach(others[2]);         /* requires no gradient */
    if (flipped == 2) others[2] = laze_mul(others[2], 1);         /* is no leaf */
    if (flipped == 3) others[0] = laze_t(laze_detach(others[0])); /* lies otherwise */
    ck_assert_int_eq(compile_counted(chain, others, 4, NULL), flipped ? MISSES : HITS);
    ck_assert_int_eq(compile_counted(chain, others, 4, NULL), HITS);
  }
  const int32_t before = laze_set_grad_enabled(context, 0);
  ck_assert_int_eq(compile_counted(chain, inputs, 4, NULL), MISSES);
  (void)laze_set_grad_enabled(context, before);
}
END_TEST

static laze_status doubles(void *self, const laze_opaque_call *call, laze_error *failure) {
  (void)self, (void)failure;
  const float *from = call->operands[0].data;
  float *to = call->results[0].data;
  for (int i = 0; i < 6; i++) to[i] = 2 * from[i];
  return LAZE_OK;
}

static laze_status calls_kernel(void *self, laze_tensor *const *in, laze_tensor **out, laze_error *failure) {
  (void)self, (void)failure;
  const laze_ints integers = {0};
  const laze_reals reals = {0};
  const laze_strings strings = {0};
  (void)laze_opaque_record(context, "doubles", in, 1, integers, reals, strings, out, 1);
  return LAZE_OK;
}

/* What a registered kernel does is not in the graph, so that equal graphs may be different programs. */
START_TEST(row_4_13_unsafe_graphs_bypass_the_cache) {
  laze_tensor *x = matrix(2, 3, 0);
  const laze_opaque_options kernel = {.struct_size = sizeof kernel, .name = "doubles", .run = doubles};
  const laze_aot_options options = {.struct_size = sizeof options, .flags = LAZE_AOT_NO_CACHE};
  assert_ok(laze_opaque_register(context, &kernel, &error));
  for (int i = 0; i < 2; i++) ck_assert_int_eq(compile_counted(calls_kernel, &x, 1, NULL), BYPASSES);
  for (int i = 0; i < 2; i++) ck_assert_int_eq(compile_counted(gives_new, &x, 1, &options), BYPASSES);
  ck_assert_int_eq(compile_counted(gives_new, &x, 1, NULL), MISSES);
}
END_TEST

/* What was compiled once is not compiled again: a hit takes both graphs as they are, also when the first user is gone,
 * and another process finds the kernels on disk. */
START_TEST(row_4_13_a_warm_process_compiles_nothing) {
  char folder[] = "/tmp/laze-aot-XXXXXX", command[64];
  ck_assert_ptr_nonnull(mkdtemp(folder));
  for (int process = 0; process < 2; process++) {
    const laze_context_options options = {
        .struct_size = sizeof options, .cache_directory = folder, .debug = "", .threads = 1};
    laze_context *outer = context;
    assert_ok(laze_context_create(&options, &context, &error));
    laze_scope *own = laze_scope_begin(context);
    for (int round = 0; round < 2; round++) {
      laze_tensor *inputs[4], *y;
      for (int i = 0; i < 4; i++) inputs[i] = leaf(matrix(8, 8, -0.4f));
      for (int i = 0; i < 4; i++) (void)text_of(inputs[i]);
      const int64_t kernels = metric("kernels_compiled"), programs = metric("program_cache_hits");
      laze_aot *aot = compile(chain, NULL, inputs, 4, 1);
      if (process + round > 0) ck_assert_int_eq(metric("kernels_compiled"), kernels);
      if (round > 0) ck_assert_int_eq(metric("program_cache_hits"), programs); /* which nobody asked */
      assert_ok(laze_aot_call(aot, inputs, 4, &y, 1, &error));
      assert_ok(laze_backward(laze_sum(y), &error));
      (void)text_of(laze_tensor_grad(inputs[0]));
      laze_aot_release(aot);
    }
    (void)laze_scope_end(own);
    laze_context_release(context);
    context = outer;
  }
  snprintf(command, sizeof command, "rm -r %s", folder);
  ck_assert_int_eq(system(command), 0);
}
END_TEST

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
               "input 0 is written to, and shares memory with input 1");
  ck_assert_ptr_null(aot);
  aot = compile(writes_to_first, NULL, apart, 2, 1);
  shared[1] = laze_view(shared[0], LAZE_SHAPE(2, 3));
  assert_fails(laze_aot_call(aot, shared, 2, &y, 1, &error), LAZE_UNSUPPORTED, "shares memory with input 1");
  ck_assert_ptr_null(y);
  assert_same(shared[0], x);
  laze_aot_release(aot);
  shared[1] = laze_t(shared[0]);
  aot = compile(gives_views, NULL, shared, 2, 2); /* nobody writes */
  laze_aot_release(aot);
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
  Suite *suite = suite_create("aot");
  TCase *tests = tcase_create("all");
  tcase_set_timeout(tests, 300);
  tcase_add_checked_fixture(tests, set_up, tear_down);
  tcase_add_test(tests, row_4_1_an_output_of_its_own);
  tcase_add_test(tests, row_4_1_an_output_that_is_an_input);
  tcase_add_test(tests, row_4_1_an_alias_of_an_input);
  tcase_add_test(tests, row_4_1_aliases_of_an_intermediate);
  tcase_add_test(tests, row_4_1_an_unsafe_view);
  tcase_add_test(tests, row_4_1_a_custom_view);
  tcase_add_test(tests, row_4_1_an_output_that_comes_twice);
  tcase_add_test(tests, row_4_1_any_view_is_made_again);
  tcase_add_test(tests, row_4_1_strides_decide_what_is_a_view);
  tcase_add_test(tests, row_4_5_writes_to_inputs_that_are_views_reach_their_base);
  tcase_add_test(tests, a_function_may_give_fewer_outputs);
  tcase_add_loop_test(tests, row_4_2_what_becomes_of_inputs, 0, ROWS);
  tcase_add_loop_test(tests, row_4_3_where_mutations_are_set, 0, ROWS);
  tcase_add_test(tests, row_4_4_mutations_and_bases_have_their_places);
  tcase_add_loop_test(tests, row_4_5_mutations_are_those_of_a_call, 0, ROWS);
  tcase_add_test(tests, row_4_5_aliases_share_memory_and_history);
  tcase_add_test(tests, row_4_6_what_is_undone_is_no_mutation);
  tcase_add_test(tests, row_4_8_saved_buffers_are_donated);
  tcase_add_test(tests, row_4_8_a_tensor_of_the_callers_never_changes);
  tcase_add_test(tests, row_4_9_gradients_of_any_layout_are_right);
  tcase_add_loop_test(tests, row_4_10_a_model_trains_as_it_does_uncompiled, 0, 2);
  tcase_add_test(tests, row_4_10_random_state_is_an_input_and_a_result);
  tcase_add_test(tests, row_4_11_an_input_has_one_final_value);
  tcase_add_test(tests, row_4_11_graphs_of_functions_that_write_are_functional);
  tcase_add_test(tests, row_4_13_flipping_one_setting_misses);
  tcase_add_test(tests, row_4_13_unsafe_graphs_bypass_the_cache);
  tcase_add_test(tests, row_4_13_a_warm_process_compiles_nothing);
  tcase_add_test(tests, inputs_that_share_memory_are_refused_where_one_is_written_to);
  tcase_add_test(tests, inputs_that_come_twice_are_one);
  tcase_add_test(tests, calls_that_do_not_fit_are_refused);
  tcase_add_test(tests, faults_of_the_function_are_errors);
  tcase_add_test(tests, passes_use_up_what_was_saved);
  tcase_add_test(tests, calls_leave_nothing_but_outputs_in_the_scope);
  tcase_add_test(tests, memory_may_run_out_at_any_point);
  suite_add_tcase(suite, tests);
  return test_run_suite(suite);
}
