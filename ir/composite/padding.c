/* What stands around a tensor, taken from its own elements:
 *
 *   a b c d, 2 in front, 1 behind      reflect      c b | a b c d | c
 *                                      replicate    a a | a b c d | d
 *                                      circular     c d | a b c d | a
 *
 * In front and behind are slices of the axis, turned or repeated; negative numbers cut off. */
#include "ir/composite/composite.h"

#include "ir/composite.gen.h"
#include "ir/composite/support.h"
#include "ir/op.gen.h"

#include <string.h>

typedef enum { REFLECT, REPLICATE, CIRCULAR } filling;

typedef struct {
  laze_recorder *recorder;
  const laze_call *call;
  filling how;
  int axis;
  laze_size size; /* of the axis */
} border;

static laze_status refuse(const border *b, const laze_type *type, laze_error *error) {
  static const char *const limits[] = {"less than its size", "any number where it has an element", "at most its size"};
  const laze_inference inference = {b->recorder->sizes, laze_compose_name(b->call), error};
  return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: padding of dim %d of %s must be %s", inference.operator_name,
                   b->axis, laze_show(&inference, type).text, limits[b->how]);
}

static laze_status turn(const border *b, laze_value *value, laze_error *error) {
  laze_size axis = b->axis;
  laze_attribute dims = laze_attribute_integers(&axis, 1);
  return laze_record_call(b->recorder, LAZE_OP_FLIP, value, 1, &dims, value, error);
}

/* `width` elements in front (side 0) or behind. */
static laze_status fill(const border *b, laze_value self, int side, laze_size width, laze_value *out,
                        laze_error *error) {
  laze_type type = laze_compose_type(b->recorder, self);
  laze_size from = b->how == REFLECT ? 1 : 0, start = 0, end;
  bool fits;
  LAZE_TRY(laze_size_arithmetic(b->recorder, '+', b->how == REPLICATE ? 1 : width, from, &end, error));
  LAZE_TRY(laze_size_must_be_at_most(b->recorder, end, b->size, &fits, error));
  if (!fits) return refuse(b, &type, error);
  if ((side == 1) != (b->how == CIRCULAR)) { /* the last elements, counted from the end */
    LAZE_TRY(laze_size_arithmetic(b->recorder, '-', b->size, end, &start, error));
    LAZE_TRY(laze_size_arithmetic(b->recorder, '-', b->size, from, &end, error));
  } else {
    start = from;
  }
  LAZE_TRY(laze_compose_slice(b->recorder, self, b->axis, start, end, out, error));
  if (b->how == REFLECT) return turn(b, out, error);
  type.sizes[b->axis] = width;
  return b->how == REPLICATE ? laze_compose_expand(b->recorder, *out, type.sizes, type.rank, out, error) : LAZE_OK;
}

/* Cuts off what negative numbers ask for. */
static laze_status crop(const border *b, laze_value self, const laze_size around[2], laze_value *out,
                        laze_error *error) {
  laze_size kept[2] = {0, b->size};
  bool cut, fits;
  for (int side = 0; side < 2; side++) {
    LAZE_TRY(laze_size_may_be_at_most(b->recorder, around[side], -1, &cut, error));
    if (cut)
      LAZE_TRY(laze_size_arithmetic(b->recorder, side == 0 ? '-' : '+', kept[side], around[side], &kept[side], error));
  }
  LAZE_TRY(laze_size_must_be_at_most(b->recorder, kept[0], kept[1], &fits, error));
  const laze_type type = laze_compose_type(b->recorder, self);
  return fits ? laze_compose_slice(b->recorder, self, b->axis, kept[0], kept[1], out, error) : refuse(b, &type, error);
}

/* What lies around is that of the whole axis, and of what was cut for the circular kind. */
static laze_status pad_axis(border *b, laze_value self, const laze_size around[2], laze_value *out, laze_error *error) {
  laze_attribute dim = laze_attribute_integer(b->axis);
  laze_value parts[3], middle;
  int32_t count = 0;
  LAZE_TRY(crop(b, self, around, &middle, error));
  if (b->how == CIRCULAR) {
    self = middle;
    b->size = laze_recorder_type(b->recorder, self)->sizes[b->axis];
  }
  for (int side = 0; side < 2; side++) {
    bool cut;
    if (side == 1) parts[count++] = middle;
    LAZE_TRY(laze_size_may_be_at_most(b->recorder, around[side], 0, &cut, error));
    if (!cut) LAZE_TRY(fill(b, self, side, around[side], &parts[count++], error));
  }
  return laze_record_call(b->recorder, LAZE_OP_CAT, parts, count, &dim, out, error);
}

/* `dims`: how many last dims of those that a tensor has beside a batch and channels; 0: as `pad` says. */
static laze_status pad(laze_recorder *recorder, const laze_call *call, filling how, int dims, laze_value *out,
                       laze_error *error) {
  const laze_attribute *around = &call->attributes[0];
  laze_type type = laze_compose_type(recorder, call->operands[0]);
  border b = {.recorder = recorder, .call = call, .how = how};
  if (dims == 0) dims = around->count / 2;
  if (around->count != 2 * dims || type.rank < dims + 1 || type.rank > dims + 2)
    return laze_fail(error, LAZE_INVALID_ARGUMENT,
                     "%s: %d numbers for a tensor of %d dims; expected two for each but the first, or first two, dims",
                     laze_compose_name(call), around->count, type.rank);
  *out = call->operands[0];
  for (int i = 0; i < dims; i++) {
    b.axis = type.rank - 1 - i;
    b.size = type.sizes[b.axis];
    LAZE_TRY(pad_axis(&b, *out, &around->value.items[2 * i], out, error));
  }
  return LAZE_OK;
}

laze_status laze_composite_reflection_pad1d(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                            laze_error *error) {
  return pad(recorder, call, REFLECT, 1, results, error);
}

laze_status laze_composite_reflection_pad2d(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                            laze_error *error) {
  return pad(recorder, call, REFLECT, 2, results, error);
}

laze_status laze_composite_reflection_pad3d(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                            laze_error *error) {
  return pad(recorder, call, REFLECT, 3, results, error);
}

laze_status laze_composite_replication_pad1d(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                             laze_error *error) {
  return pad(recorder, call, REPLICATE, 1, results, error);
}

laze_status laze_composite_replication_pad2d(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                             laze_error *error) {
  return pad(recorder, call, REPLICATE, 2, results, error);
}

laze_status laze_composite_replication_pad3d(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                             laze_error *error) {
  return pad(recorder, call, REPLICATE, 3, results, error);
}

laze_status laze_composite__pad_circular(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                         laze_error *error) {
  return pad(recorder, call, CIRCULAR, 0, results, error);
}

static laze_status pad_constant(laze_recorder *recorder, const laze_call *call, laze_value *out, laze_error *error) {
  const laze_attribute *value = &call->attributes[LAZE_PAD_VALUE];
  laze_value operands[2] = {call->operands[0]};
  const laze_dtype dtype = (laze_dtype)laze_recorder_type(recorder, call->operands[0])->dtype;
  LAZE_TRY(laze_record_number(recorder, dtype, laze_scalar_real(value->present ? value->value.real : 0), &operands[1],
                              error));
  return laze_record_call(recorder, LAZE_OP_CONSTANT_PAD_ND, operands, 2, &call->attributes[LAZE_PAD_PAD], out, error);
}

laze_status laze_composite_pad(laze_recorder *recorder, const laze_call *call, laze_value *results, laze_error *error) {
  static const char *const modes[] = {"reflect", "replicate", "circular"};
  const laze_attribute *value = &call->attributes[LAZE_PAD_VALUE];
  const char *mode = call->attributes[LAZE_PAD_MODE].value.string;
  if (strcmp(mode, "constant") == 0) return pad_constant(recorder, call, results, error);
  for (int how = REFLECT; how <= CIRCULAR; how++) {
    if (strcmp(mode, modes[how]) != 0) continue;
    if (!value->present || value->value.real == 0) return pad(recorder, call, (filling)how, 0, results, error);
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: value is %g, which mode \"%s\" does not use; leave it out",
                     laze_compose_name(call), value->value.real, modes[how]);
  }
  return laze_fail(error, LAZE_INVALID_ARGUMENT,
                   "%s: mode is \"%.16s\", expected \"constant\", \"reflect\", \"replicate\" or \"circular\"",
                   laze_compose_name(call), mode);
}
