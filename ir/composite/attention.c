/* Scaled dot product attention: softmax(query key^T * scale + mask) value, and rows whose mask leaves nothing are 0.
 *
 *   query [.., l, e]   key [.., s, e]   value [.., s, v]      scores [.., l, s]      result [.., l, v]
 *
 * With enable_gqa, several heads of query (axis -3) share one of key and value, which is repeated for them. */
#include "ir/composite/composite.h"

#include "ir/composite.gen.h"
#include "ir/composite/support.h"
#include "ir/op.gen.h"

#include <math.h>

typedef struct {
  laze_recorder *recorder;
  const laze_call *call;
  laze_type query;
  laze_value tensors[3], mask; /* query, key, value */
  laze_error *error;
} attention;

static laze_status refuse(const attention *a, const char *expected) {
  const laze_inference inference = {a->recorder->sizes, laze_compose_name(a->call), a->error};
  laze_type types[3];
  for (int i = 0; i < 3; i++) types[i] = laze_compose_type(a->recorder, a->call->operands[i]);
  return laze_fail(a->error, LAZE_INVALID_ARGUMENT, "%s: query is %s, key %s and value %s; expected %s",
                   inference.operator_name, laze_show(&inference, &types[0]).text,
                   laze_show(&inference, &types[1]).text, laze_show(&inference, &types[2]).text, expected);
}

static laze_status check_tensors(const attention *a) {
  laze_type types[3];
  bool fits = true;
  for (int i = 0; i < 3; i++) {
    types[i] = laze_compose_type(a->recorder, a->tensors[i]);
    if (types[i].rank < 2 || types[i].dtype != types[0].dtype || !laze_dtype_is_float((laze_dtype)types[i].dtype))
      return refuse(a, "floats of one dtype with 2 dims or more");
  }
  LAZE_TRY(laze_size_must_equal(a->recorder, types[0].sizes[types[0].rank - 1], types[1].sizes[types[1].rank - 1],
                                &fits, a->error));
  if (fits)
    LAZE_TRY(laze_size_must_equal(a->recorder, types[1].sizes[types[1].rank - 2], types[2].sizes[types[2].rank - 2],
                                  &fits, a->error));
  return fits ? LAZE_OK : refuse(a, "query and key with rows of one size, and as many rows of key as of value");
}

/* Repeats the heads of key and value. */
static laze_status share_heads(attention *a) {
  for (int i = 1; i < 3; i++) {
    const laze_type type = laze_compose_type(a->recorder, a->tensors[i]);
    if (a->query.rank < 3 || type.rank < 3) return refuse(a, "3 dims or more with enable_gqa");
    const laze_size heads = a->query.sizes[a->query.rank - 3], own = type.sizes[type.rank - 3];
    laze_size times, all;
    bool fits;
    LAZE_TRY(laze_size_must_be_at_most(a->recorder, 1, own, &fits, a->error));
    if (fits) LAZE_TRY(laze_size_arithmetic(a->recorder, '/', heads, own, &times, a->error));
    if (fits) LAZE_TRY(laze_size_arithmetic(a->recorder, '*', times, own, &all, a->error));
    if (fits) LAZE_TRY(laze_size_must_equal(a->recorder, all, heads, &fits, a->error));
    if (!fits) return refuse(a, "as many heads of query as a multiple of those of key and value");
    laze_attribute attributes[] = {laze_attribute_size(times), laze_attribute_integer(-3),
                                   laze_attribute_absent(LAZE_ARGUMENT_SIZE)};
    LAZE_TRY(laze_record_call(a->recorder, LAZE_OP_REPEAT_INTERLEAVE_SELF_INT, &a->tensors[i], 1, attributes,
                              &a->tensors[i], a->error));
  }
  return LAZE_OK;
}

/* What each row may look at: those up to its own number. */
static laze_status find_earlier(const attention *a, laze_value *out) {
  const laze_type key = laze_compose_type(a->recorder, a->tensors[1]);
  const laze_size sizes[] = {a->query.sizes[a->query.rank - 2], key.sizes[key.rank - 2]};
  laze_value row, column;
  LAZE_TRY(laze_compose_iota(a->recorder, sizes, 2, 0, LAZE_I64, &row, a->error));
  LAZE_TRY(laze_compose_iota(a->recorder, sizes, 2, 1, LAZE_I64, &column, a->error));
  return laze_compose_binary(a->recorder, LAZE_OP_LE, column, row, out, a->error);
}

/* A mask of bools says where to look, one of floats is added. */
static laze_status apply_mask(const attention *a, laze_value mask, laze_value *scores) {
  const laze_dtype dtype = (laze_dtype)laze_recorder_type(a->recorder, mask)->dtype;
  laze_value operands[] = {mask, *scores, LAZE_VALUE_NONE};
  if (laze_dtype_is_float(dtype)) {
    LAZE_TRY(laze_compose_to(a->recorder, mask, (laze_dtype)a->query.dtype, &mask, a->error));
    return laze_compose_binary(a->recorder, LAZE_OP_ADD, *scores, mask, scores, a->error);
  }
  if (dtype != LAZE_BOOL)
    return laze_fail(a->error, LAZE_INVALID_ARGUMENT, "%s: attn_mask is %s, expected bool or the dtype of query",
                     laze_compose_name(a->call), laze_dtype_name(dtype));
  LAZE_TRY(
      laze_record_number(a->recorder, (laze_dtype)a->query.dtype, laze_scalar_real(-INFINITY), &operands[2], a->error));
  return laze_record_call(a->recorder, LAZE_OP_WHERE_SELF, operands, 3, NULL, scores, a->error);
}

/* With the mask, the scores have the shape of both: it may have more axes than they do. */
static laze_status score(const attention *a, bool causal, double scale, laze_value *out) {
  const int rank = laze_recorder_type(a->recorder, a->tensors[1])->rank;
  laze_value key, mask;
  LAZE_TRY(laze_compose_swap_axes(a->recorder, a->tensors[1], rank - 2, rank - 1, &key, a->error));
  LAZE_TRY(laze_compose_binary(a->recorder, LAZE_OP_MATMUL, a->tensors[0], key, out, a->error));
  LAZE_TRY(laze_compose_with_number(a->recorder, LAZE_OP_MUL, *out, laze_scalar_real(scale), out, a->error));
  if (causal) {
    LAZE_TRY(find_earlier(a, &mask));
    return apply_mask(a, mask, out);
  }
  return laze_value_is_none(a->mask) ? LAZE_OK : apply_mask(a, a->mask, out);
}

/* softmax over the last axis; a row of nothing but minus infinity is 0. */
static laze_status weigh(laze_recorder *recorder, laze_value scores, laze_value *out, laze_error *error) {
  const laze_type type = laze_compose_type(recorder, scores);
  laze_size last = -1;
  laze_attribute along[] = {laze_attribute_integers(&last, 1), laze_attribute_boolean(true)},
                 softmax[] = {laze_attribute_integer(-1), laze_attribute_absent(LAZE_ARGUMENT_DTYPE)};
  laze_value choice[3];
  LAZE_TRY(laze_compose_with_number(recorder, LAZE_OP_EQ, scores, laze_scalar_real(-INFINITY), &choice[0], error));
  LAZE_TRY(laze_record_call(recorder, LAZE_OP_ALL_DIMS, choice, 1, along, &choice[0], error));
  LAZE_TRY(laze_record_number(recorder, (laze_dtype)type.dtype, laze_scalar_integer(0), &choice[1], error));
  LAZE_TRY(laze_record_call(recorder, LAZE_OP_SOFTMAX_INT, &scores, 1, softmax, &choice[2], error));
  return laze_record_call(recorder, LAZE_OP_WHERE_SELF, choice, 3, NULL, out, error);
}

static laze_status find_scale(const attention *a, const laze_attribute *given, double *out) {
  const laze_size size = a->query.sizes[a->query.rank - 1];
  if (given->present) {
    *out = given->value.real;
    return LAZE_OK;
  }
  if (!laze_size_is_constant(size))
    return laze_fail(a->error, LAZE_UNSUPPORTED, "%s: scale has to be given where the size of rows is not known",
                     laze_compose_name(a->call));
  *out = 1 / sqrt((double)size);
  return LAZE_OK;
}

laze_status laze_composite_scaled_dot_product_attention(laze_recorder *recorder, const laze_call *call,
                                                        laze_value *results, laze_error *error) {
  const laze_attribute *attributes = call->attributes;
  const double dropout = attributes[LAZE_SCALED_DOT_PRODUCT_ATTENTION_DROPOUT_P].value.real;
  const bool causal = attributes[LAZE_SCALED_DOT_PRODUCT_ATTENTION_IS_CAUSAL].value.integer != 0;
  attention a = {.recorder = recorder, .call = call, .mask = laze_call_operand(call, 3), .error = error};
  const laze_attribute along[] = {laze_attribute_integer(-1), laze_attribute_absent(LAZE_ARGUMENT_DTYPE)};
  laze_value weights;
  double scale = 0;
  for (int i = 0; i < 3; i++) a.tensors[i] = call->operands[i];
  a.query = laze_compose_type(recorder, a.tensors[0]);
  LAZE_TRY(check_tensors(&a));
  if (causal && !laze_value_is_none(a.mask)) return refuse(&a, "attn_mask or is_causal, not both");
  if (dropout != 0)
    return laze_fail(error, LAZE_UNSUPPORTED, "%s: dropout_p is %g, expected 0: drop weights out yourself",
                     laze_compose_name(call), dropout);
  if (attributes[LAZE_SCALED_DOT_PRODUCT_ATTENTION_ENABLE_GQA].value.integer != 0) LAZE_TRY(share_heads(&a));
  LAZE_TRY(find_scale(&a, &attributes[LAZE_SCALED_DOT_PRODUCT_ATTENTION_SCALE], &scale));
  LAZE_TRY(score(&a, causal, scale, &weights));
  LAZE_TRY(laze_record_call(recorder, LAZE_OP__SAFE_SOFTMAX, &weights, 1, along, &weights, error));
  return laze_compose_binary(recorder, LAZE_OP_MATMUL, weights, a.tensors[2], results, error);
}

laze_status laze_composite__safe_softmax(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                         laze_error *error) {
  const laze_attribute *given = &call->attributes[LAZE__SAFE_SOFTMAX_DTYPE];
  const laze_type type = laze_compose_type(recorder, call->operands[0]);
  laze_value value = call->operands[0];
  int axis;
  LAZE_TRY(laze_compose_axis(recorder, call, call->attributes[LAZE__SAFE_SOFTMAX_DIM].value.integer, type.rank, &axis,
                             error));
  if (given->present) LAZE_TRY(laze_compose_to(recorder, value, (laze_dtype)given->value.integer, &value, error));
  if (type.rank == 0) {
    LAZE_TRY(laze_compose_insert_axis(recorder, value, 0, &value, error));
    LAZE_TRY(weigh(recorder, value, results, error));
    return laze_compose_drop_axis(recorder, *results, 0, results, error);
  }
  if (axis < type.rank - 1) LAZE_TRY(laze_compose_swap_axes(recorder, value, axis, type.rank - 1, &value, error));
  LAZE_TRY(weigh(recorder, value, results, error));
  if (axis == type.rank - 1) return LAZE_OK;
  return laze_compose_swap_axes(recorder, *results, axis, type.rank - 1, results, error);
}
