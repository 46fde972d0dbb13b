/* Losses of classes: where classes lie, and which of two ways a target says them.
 *
 *   self [N, C, ..]   target [N, ..] of integers   the class of each
 *                     target [N, C, ..] of floats  how likely each class is
 */
#include "ir/composite/composite.h"

#include "ir/attribute.h"
#include "ir/composite.gen.h"
#include "ir/composite/support.h"
#include "ir/op.gen.h"

laze_status laze_composite__along(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                  laze_error *error) {
  const laze_type self = laze_compose_type(recorder, call->operands[0]);
  const int rank = laze_recorder_type(recorder, call->operands[1])->rank;
  laze_size sizes[LAZE_MAX_RANK];
  int axis;
  LAZE_TRY(laze_compose_axis(recorder, call, call->attributes[LAZE__ALONG_AXIS].value.integer, rank, &axis, error));
  for (int i = 0; i < rank; i++) sizes[i] = i == axis ? self.sizes[0] : 1;
  return laze_compose_reshape(recorder, call->operands[0], sizes, rank, results, error);
}

/* A call of one of them: the axis of classes, and what passes on. */
typedef struct {
  laze_recorder *recorder;
  const laze_call *call;
  laze_type self, target;
  laze_value operands[3];
  int axis;
  int64_t reduction, ignored;
  double smoothing;
} classes;

static laze_status refuse(const classes *c, const char *what, laze_error *error) {
  return laze_fail(error, LAZE_INVALID_ARGUMENT,
                   "%s: %s; expected floats [N, C, ..], or [C], a target of integers without the classes' dim, and a "
                   "weight for each of C classes",
                   laze_compose_name(c->call), what);
}

static laze_status has_sizes(const classes *c, bool without, bool *same, laze_error *error) {
  *same = c->target.rank == c->self.rank - without;
  for (int i = 0, k = 0; *same && i < c->self.rank; i++) {
    if (without && i == c->axis) continue;
    LAZE_TRY(laze_size_must_equal(c->recorder, c->self.sizes[i], c->target.sizes[k++], same, error));
  }
  return LAZE_OK;
}

static laze_status check_weight(const classes *c, laze_error *error) {
  if (laze_value_is_none(c->operands[2])) return LAZE_OK;
  const laze_type type = laze_compose_type(c->recorder, c->operands[2]);
  bool same = type.rank == 1;
  if (same) LAZE_TRY(laze_size_must_equal(c->recorder, type.sizes[0], c->self.sizes[c->axis], &same, error));
  return same ? LAZE_OK : refuse(c, "the weight has another shape", error);
}

/* The attributes reduction and ignore_index are the first of all of them. */
static laze_status begin(laze_recorder *recorder, const laze_call *call, classes *out, laze_error *error) {
  *out = (classes){.recorder = recorder,
                   .call = call,
                   .self = laze_compose_type(recorder, call->operands[0]),
                   .target = laze_compose_type(recorder, call->operands[1]),
                   .operands = {call->operands[0], call->operands[1], laze_call_operand(call, 2)},
                   .reduction = call->attributes[LAZE_NLL_LOSS_ND_REDUCTION].value.integer,
                   .ignored = call->attributes[LAZE_NLL_LOSS_ND_IGNORE_INDEX].value.size};
  out->axis = out->self.rank > 1;
  if (!laze_size_is_constant(out->ignored))
    return laze_fail(error, LAZE_UNSUPPORTED, "%s: ignore_index is a size that is not known; pass a number",
                     laze_compose_name(call));
  if (out->self.rank == 0 || !laze_dtype_is_float((laze_dtype)out->self.dtype))
    return refuse(out, "self has no dims, or is of another dtype", error);
  return check_weight(out, error);
}

static laze_status check_indices(const classes *c, laze_error *error) {
  bool same = laze_dtype_category((laze_dtype)c->target.dtype) == LAZE_CATEGORY_INTEGER;
  if (same) LAZE_TRY(has_sizes(c, true, &same, error));
  return same ? LAZE_OK : refuse(c, "the target has another shape, or is of another dtype", error);
}

static laze_status by_index(const classes *c, laze_value *out, laze_error *error) {
  const laze_attribute attributes[] = {laze_attribute_integer(c->axis), laze_attribute_integer(c->reduction),
                                       laze_attribute_integer(c->ignored), laze_attribute_real(c->smoothing)};
  const laze_op op = c->smoothing > 0 ? LAZE_OP__CLASS_SMOOTHED : LAZE_OP__CLASS_NLL;
  LAZE_TRY(check_indices(c, error));
  return laze_record_call(c->recorder, op, c->operands, 3, attributes, out, error);
}

static laze_status nll_loss(laze_recorder *recorder, const laze_call *call, laze_value *results, laze_error *error) {
  classes c;
  LAZE_TRY(begin(recorder, call, &c, error));
  return by_index(&c, results, error);
}

laze_status laze_composite_nll_loss_nd(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                       laze_error *error) {
  return nll_loss(recorder, call, results, error);
}

laze_status laze_composite_nll_loss(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                    laze_error *error) {
  return nll_loss(recorder, call, results, error);
}

laze_status laze_composite_nll_loss2d(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                      laze_error *error) {
  return nll_loss(recorder, call, results, error);
}

laze_status laze_composite_cross_entropy_loss(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                              laze_error *error) {
  classes c;
  bool likely;
  LAZE_TRY(begin(recorder, call, &c, error));
  c.smoothing = call->attributes[LAZE_CROSS_ENTROPY_LOSS_LABEL_SMOOTHING].value.real;
  if (!(c.smoothing >= 0 && c.smoothing <= 1))
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: label_smoothing is %g, expected 0 to 1",
                     laze_compose_name(call), c.smoothing);
  likely = laze_dtype_is_float((laze_dtype)c.target.dtype);
  if (likely) LAZE_TRY(has_sizes(&c, false, &likely, error));
  const laze_attribute along[] = {laze_attribute_integer(c.axis), laze_attribute_absent(LAZE_ARGUMENT_DTYPE)};
  LAZE_TRY(laze_record_call(recorder, LAZE_OP_LOG_SOFTMAX_INT, c.operands, 1, along, c.operands, error));
  if (!likely) return by_index(&c, results, error);
  const laze_attribute attributes[] = {laze_attribute_integer(c.axis), laze_attribute_integer(c.reduction),
                                       laze_attribute_real(c.smoothing)};
  return laze_record_call(recorder, LAZE_OP__CLASS_PARTS, c.operands, 3, attributes, results, error);
}
