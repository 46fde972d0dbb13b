/* Normalisations: which dims have one mean, and where the others are put in order.
 *
 *   layer_norm     [.., a, b], shape [a, b]   the last dims, one mean for each index of the others
 *   batch_norm     [N, C, ..] as [N, C, L]    dims 0 and 2, or means that are given
 *   instance_norm  [N, C, ..] as [N, C, L]    dim 2
 *   group_norm     [N, C, ..] as [N, G, C/G L]  dim 2
 */
#include "ir/composite/composite.h"

#include "ir/attribute.h"
#include "ir/composite.gen.h"
#include "ir/composite/support.h"
#include "ir/op.gen.h"

#include <math.h>

/* --- Layers --- */

/* Refuses what is there and has other sizes than the layer. */
static laze_status check_like(laze_recorder *recorder, const laze_call *call, laze_value value, laze_size_list sizes,
                              laze_error *error) {
  if (laze_value_is_none(value)) return LAZE_OK;
  const laze_type type = laze_compose_type(recorder, value);
  bool same = type.rank == sizes.count;
  for (int i = 0; same && i < type.rank; i++)
    LAZE_TRY(laze_size_must_equal(recorder, type.sizes[i], sizes.items[i], &same, error));
  if (same) return LAZE_OK;
  return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: weight or bias has another shape than what is normalised",
                   laze_compose_name(call));
}

/* The dims of a layer: the last ones, whose sizes have to be those of `shape`. */
static laze_status find_layer(laze_recorder *recorder, const laze_call *call, laze_size_list shape, int parameters,
                              laze_size *dims, laze_error *error) {
  const laze_type type = laze_compose_type(recorder, call->operands[0]);
  bool fits = shape.count > 0 && shape.count <= type.rank;
  for (int i = 0; fits && i < shape.count; i++) {
    dims[i] = type.rank - shape.count + i;
    LAZE_TRY(laze_size_must_equal(recorder, type.sizes[dims[i]], shape.items[i], &fits, error));
  }
  for (int i = 1; fits && i <= parameters; i++)
    LAZE_TRY(check_like(recorder, call, laze_call_operand(call, i), shape, error));
  if (fits) return LAZE_OK;
  return laze_fail(error, LAZE_INVALID_ARGUMENT,
                   "%s: normalized_shape has %d sizes, which are not those of the last dims of an input of %d",
                   laze_compose_name(call), (int)shape.count, type.rank);
}

static laze_status layer_norm(laze_recorder *recorder, const laze_call *call, laze_value *results, laze_error *error) {
  const laze_value operands[] = {call->operands[0], laze_call_operand(call, 1), laze_call_operand(call, 2)};
  const laze_size_list shape = laze_attribute_list(&call->attributes[LAZE_NATIVE_LAYER_NORM_NORMALIZED_SHAPE]);
  laze_size dims[LAZE_MAX_RANK];
  LAZE_TRY(find_layer(recorder, call, shape, 2, dims, error));
  laze_attribute attributes[] = {laze_attribute_integers(dims, shape.count),
                                 call->attributes[LAZE_NATIVE_LAYER_NORM_EPS]};
  return laze_record_call(recorder, LAZE_OP__LAYER_NORM, operands, 3, attributes, results, error);
}

laze_status laze_composite_native_layer_norm(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                             laze_error *error) {
  return layer_norm(recorder, call, results, error);
}

/* The attributes of layer_norm stand where those of native_layer_norm do. */
laze_status laze_composite_layer_norm(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                      laze_error *error) {
  laze_value all[3];
  LAZE_TRY(layer_norm(recorder, call, all, error));
  *results = all[0];
  return LAZE_OK;
}

laze_status laze_composite_rms_norm(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                    laze_error *error) {
  const laze_value operands[] = {call->operands[0], laze_call_operand(call, 1)};
  const laze_size_list shape = laze_attribute_list(&call->attributes[LAZE_RMS_NORM_NORMALIZED_SHAPE]);
  const laze_attribute *eps = &call->attributes[LAZE_RMS_NORM_EPS];
  const laze_type type = laze_compose_type(recorder, operands[0]);
  laze_size dims[LAZE_MAX_RANK];
  LAZE_TRY(find_layer(recorder, call, shape, 1, dims, error));
  laze_attribute attributes[] = {laze_attribute_integers(dims, shape.count), *eps};
  if (!eps->present) attributes[1] = laze_attribute_real(ldexp(1, 1 - laze_dtype_get((laze_dtype)type.dtype)->digits));
  return laze_record_call(recorder, LAZE_OP__RMS_NORM, operands, 2, attributes, results, error);
}

/* --- Channels --- */

/* The sizes N, C and L of [N, C, ..], where L is the number of elements of the other dims. */
static laze_status channel_sizes(laze_recorder *recorder, laze_value self, laze_size *out, laze_error *error) {
  const laze_type type = laze_compose_type(recorder, self);
  if (type.rank < 2)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: the input has %d dims, expected two at least: [N, C, ..]",
                     laze_op_get(recorder->origin)->name, type.rank);
  out[0] = type.sizes[0];
  out[1] = type.sizes[1];
  return laze_size_product(recorder->sizes, type.sizes + 2, type.rank - 2, &out[2], error);
}

laze_status laze_composite__by_channel_and_place(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                                 laze_error *error) {
  laze_size sizes[3];
  LAZE_TRY(channel_sizes(recorder, call->operands[0], sizes, error));
  return laze_compose_reshape(recorder, call->operands[0], sizes, 3, results, error);
}

/* [N, C, L], and checks that what belongs to channels has one number for each. */
static laze_status begin_channels(laze_recorder *recorder, const laze_call *call, int parameters, laze_value *out,
                                  laze_size *sizes, laze_error *error) {
  LAZE_TRY(channel_sizes(recorder, call->operands[0], sizes, error));
  for (int i = 1; i <= parameters; i++)
    LAZE_TRY(check_like(recorder, call, laze_call_operand(call, i), (laze_size_list){&sizes[1], 1, true}, error));
  return laze_compose_reshape(recorder, call->operands[0], sizes, 3, out, error);
}

/* Back to the shape of the input. */
static laze_status end_channels(laze_recorder *recorder, const laze_call *call, laze_value *value, laze_error *error) {
  const laze_type type = laze_compose_type(recorder, call->operands[0]);
  return laze_compose_reshape(recorder, *value, type.sizes, type.rank, value, error);
}

/* By the channels' own mean and variance over some dims of [N, C, L]: what comes of it, those means, and 1 over the
 * deviations. */
static laze_status by_own(laze_recorder *recorder, const laze_call *call, laze_value self, laze_size_list dims,
                          double eps, laze_value *out, laze_error *error) {
  const laze_value operands[] = {self, laze_call_operand(call, 1), laze_call_operand(call, 2)};
  laze_attribute attributes[] = {laze_attribute_integers(dims.items, dims.count), laze_attribute_real(eps)};
  return laze_record_call(recorder, LAZE_OP__BY_OWN_MEAN, operands, 3, attributes, out, error);
}

static laze_status by_given(laze_recorder *recorder, const laze_call *call, laze_value self, double eps,
                            laze_value *out, laze_error *error) {
  const laze_value operands[] = {self, laze_call_operand(call, 1), laze_call_operand(call, 2),
                                 laze_call_operand(call, 3), laze_call_operand(call, 4)};
  const laze_attribute attribute = laze_attribute_real(eps);
  if (!laze_value_is_none(operands[3]) && !laze_value_is_none(operands[4]))
    return laze_record_call(recorder, LAZE_OP__GIVEN_BY_CHANNEL, operands, 5, &attribute, out, error);
  return laze_fail(error, LAZE_INVALID_ARGUMENT,
                   "%s: there are no running_mean and running_var; pass both, or let it use those of the input",
                   laze_compose_name(call));
}

/* Nothing, in the dtype of the input: what there is to save where means were given. */
static laze_status nothing(laze_recorder *recorder, const laze_call *call, laze_value *out, laze_error *error) {
  const laze_size none = 0;
  LAZE_TRY(laze_record_number(recorder, (laze_dtype)laze_recorder_type(recorder, call->operands[0])->dtype,
                              laze_scalar_integer(0), out, error));
  return laze_compose_expand(recorder, *out, &none, 1, out, error);
}

/* A list of nothing has no channels, and is what comes of it. */
static laze_status is_nothing(laze_recorder *recorder, const laze_call *call, bool *out, laze_error *error) {
  const laze_type type = laze_compose_type(recorder, call->operands[0]);
  *out = type.rank == 1;
  return *out ? laze_size_may_equal(recorder, type.sizes[0], 0, out, error) : LAZE_OK;
}

static laze_status batch_norm(laze_recorder *recorder, const laze_call *call, bool training, double eps,
                              laze_value *results, laze_error *error) {
  static const laze_size dims[] = {0, 2};
  laze_value self;
  laze_size sizes[3];
  bool empty;
  LAZE_TRY(is_nothing(recorder, call, &empty, error));
  if (empty) {
    for (int i = 0; i < 3; i++) results[i] = call->operands[0];
    return LAZE_OK;
  }
  LAZE_TRY(begin_channels(recorder, call, 4, &self, sizes, error));
  if (training) {
    LAZE_TRY(by_own(recorder, call, self, (laze_size_list){dims, 2, true}, eps, results, error));
    for (int i = 1; i < 3; i++) LAZE_TRY(laze_compose_reshape(recorder, results[i], &sizes[1], 1, &results[i], error));
  } else {
    LAZE_TRY(by_given(recorder, call, self, eps, results, error));
    for (int i = 1; i < 3; i++) LAZE_TRY(nothing(recorder, call, &results[i], error));
  }
  return end_channels(recorder, call, results, error);
}

laze_status laze_composite_native_batch_norm(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                             laze_error *error) {
  return batch_norm(recorder, call, call->attributes[LAZE_NATIVE_BATCH_NORM_TRAINING].value.integer != 0,
                    call->attributes[LAZE_NATIVE_BATCH_NORM_EPS].value.real, results, error);
}

laze_status laze_composite_batch_norm(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                      laze_error *error) {
  laze_value all[3];
  LAZE_TRY(batch_norm(recorder, call, call->attributes[LAZE_BATCH_NORM_TRAINING].value.integer != 0,
                      call->attributes[LAZE_BATCH_NORM_EPS].value.real, all, error));
  *results = all[0];
  return LAZE_OK;
}

laze_status laze_composite_instance_norm(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                         laze_error *error) {
  static const laze_size dim = 2;
  const double eps = call->attributes[LAZE_INSTANCE_NORM_EPS].value.real;
  laze_value self, all[3];
  laze_size sizes[3];
  LAZE_TRY(begin_channels(recorder, call, 4, &self, sizes, error));
  if (call->attributes[LAZE_INSTANCE_NORM_USE_INPUT_STATS].value.integer)
    LAZE_TRY(by_own(recorder, call, self, (laze_size_list){&dim, 1, true}, eps, all, error));
  else
    LAZE_TRY(by_given(recorder, call, self, eps, all, error));
  *results = all[0];
  return end_channels(recorder, call, results, error);
}

/* --- Groups of channels --- */

/* [N, C, L] as [N, groups, C / groups * L], of which `results` are the norm and what it used. */
static laze_status group_norm(laze_recorder *recorder, const laze_call *call, int64_t groups, double eps,
                              laze_value *results, laze_error *error) {
  laze_value operands[] = {LAZE_VALUE_NONE, laze_call_operand(call, 1), laze_call_operand(call, 2)};
  laze_size sizes[3], grouped[3], rest = 0;
  bool divides = groups > 0;
  LAZE_TRY(begin_channels(recorder, call, 2, &operands[0], sizes, error));
  if (divides) {
    LAZE_TRY(laze_size_binary(recorder->sizes, LAZE_SIZE_MOD, sizes[1], groups, &rest, error));
    LAZE_TRY(laze_size_must_equal(recorder, rest, 0, &divides, error));
  }
  if (!divides)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: the channels cannot be parted into %lld groups",
                     laze_compose_name(call), (long long)groups);
  grouped[0] = sizes[0];
  grouped[1] = groups;
  LAZE_TRY(laze_size_arithmetic(recorder, '/', sizes[1], groups, &grouped[2], error));
  LAZE_TRY(laze_size_arithmetic(recorder, '*', grouped[2], sizes[2], &grouped[2], error));
  laze_attribute attributes[] = {laze_attribute_sizes(grouped, 3), laze_attribute_real(eps)};
  LAZE_TRY(laze_record_call(recorder, LAZE_OP__GROUP_NORM, operands, 3, attributes, results, error));
  return end_channels(recorder, call, results, error);
}

laze_status laze_composite_group_norm(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                      laze_error *error) {
  laze_value all[3];
  LAZE_TRY(group_norm(recorder, call, call->attributes[LAZE_GROUP_NORM_NUM_GROUPS].value.integer,
                      call->attributes[LAZE_GROUP_NORM_EPS].value.real, all, error));
  *results = all[0];
  return LAZE_OK;
}

laze_status laze_composite_native_group_norm(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                             laze_error *error) {
  static const int named[] = {LAZE_NATIVE_GROUP_NORM_N, LAZE_NATIVE_GROUP_NORM_C, LAZE_NATIVE_GROUP_NORM_HXW};
  laze_size sizes[3];
  bool same = true;
  LAZE_TRY(channel_sizes(recorder, call->operands[0], sizes, error));
  for (int i = 0; same && i < 3; i++)
    LAZE_TRY(laze_size_must_equal(recorder, call->attributes[named[i]].value.size, sizes[i], &same, error));
  if (!same)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: N, C and HxW are not the sizes of the input [N, C, ..]",
                     laze_compose_name(call));
  return group_norm(recorder, call, call->attributes[LAZE_NATIVE_GROUP_NORM_GROUP].value.integer,
                    call->attributes[LAZE_NATIVE_GROUP_NORM_EPS].value.real, results, error);
}

/* --- Neighbouring channels --- */

laze_status laze_composite_local_response_norm(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                               laze_error *error) {
  const laze_type type = laze_compose_type(recorder, call->operands[0]);
  laze_size sizes[3];
  if (type.rank < 3 || call->attributes[LAZE_LOCAL_RESPONSE_NORM_SIZE].value.integer < 1)
    return laze_fail(error, LAZE_INVALID_ARGUMENT,
                     "%s: got an input of %d dims and a size of %lld; expected three dims or more, and 1 or more",
                     laze_compose_name(call), type.rank,
                     (long long)call->attributes[LAZE_LOCAL_RESPONSE_NORM_SIZE].value.integer);
  LAZE_TRY(begin_channels(recorder, call, 0, results, sizes, error));
  LAZE_TRY(laze_record_call(recorder, LAZE_OP__LOCAL_RESPONSE_NORM, results, 1, call->attributes, results, error));
  return end_channels(recorder, call, results, error);
}
