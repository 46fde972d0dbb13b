/* Functions compiled ahead of time: what becomes of inputs and outputs (rows 4.1 to 4.6). */
#include "tests/unit/tracing/aot_support.h"

/* --- 4.1 --- */

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
  suite_add_tcase(suite, tests);
  return test_run_suite(suite);
}
