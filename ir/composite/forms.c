/* Elements in other places: dims moved, turned, repeated, cut in windows. All of it is made of movements, so that
 * nothing is copied where a kernel reads the result.
 *
 *   tile f32[2,3] twice along axis 1    reshape [2, 1, 3]    expand [2, 2, 3]    reshape [2, 6]
 *   repeat_interleave                   reshape [2, 3, 1]    expand [2, 3, 2]    reshape [2, 6]
 *   roll by 1                           the last element, and those in front of it
 */
#include "ir/composite/composite.h"

#include "ir/composite.gen.h"
#include "ir/composite/support.h"
#include "ir/op.gen.h"

laze_status laze_composite_sum_to_size(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                       laze_error *error) {
  const laze_attribute *size = &call->attributes[LAZE_SUM_TO_SIZE_SIZE];
  const laze_type type = laze_compose_type(recorder, call->operands[0]);
  const laze_inference inference = {recorder->sizes, laze_compose_name(call), error};
  const int before = type.rank - size->count;
  laze_size axes[LAZE_MAX_RANK];
  bool fits = before >= 0;
  int count = 0;
  for (int i = 0; i < type.rank && fits; i++) {
    bool kept = i >= before;
    if (kept) LAZE_TRY(laze_size_is_equal(recorder, type.sizes[i], size->value.items[i - before], &kept, error));
    if (!kept && i >= before) LAZE_TRY(laze_size_must_equal(recorder, size->value.items[i - before], 1, &fits, error));
    if (!kept) axes[count++] = i;
  }
  if (!fits)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: %s does not come of expanding what has the given size",
                     inference.operator_name, laze_show(&inference, &type).text);
  *results = call->operands[0];
  if (count == 0 && type.rank > 0) return LAZE_OK;
  laze_attribute attributes[] = {laze_attribute_integers(axes, count), laze_attribute_boolean(false),
                                 laze_attribute_absent(LAZE_ARGUMENT_DTYPE)};
  LAZE_TRY(laze_record_call(recorder, LAZE_OP_SUM_DIM_INTLIST, results, 1, attributes, results, error));
  if (count == before) return LAZE_OK; /* no axis of the size is a sum */
  return laze_compose_reshape(recorder, *results, size->value.items, size->count, results, error);
}

/* The size that stands for -1 among `sizes`, so that they make up `whole`. */
static laze_status infer_size(laze_recorder *recorder, const laze_call *call, laze_size whole, laze_size *sizes,
                              int count, laze_error *error) {
  laze_size others = 1, product;
  int unknown = -1;
  bool fits = true, empty;
  for (int i = 0; i < count; i++) {
    fits = fits && !(sizes[i] == -1 && unknown >= 0);
    if (sizes[i] == -1)
      unknown = i;
    else
      LAZE_TRY(laze_size_arithmetic(recorder, '*', others, sizes[i], &others, error));
  }
  if (unknown >= 0) {
    LAZE_TRY(laze_size_may_equal(recorder, others, 0, &empty, error));
    fits = fits && !empty;
    if (fits) LAZE_TRY(laze_size_arithmetic(recorder, '/', whole, others, &sizes[unknown], error));
  }
  if (fits) LAZE_TRY(laze_size_product(recorder->sizes, sizes, count, &product, error));
  if (fits) LAZE_TRY(laze_size_must_equal(recorder, product, whole, &fits, error));
  if (fits) return LAZE_OK;
  return laze_fail(error, LAZE_INVALID_ARGUMENT,
                   "%s: the sizes do not make up the dim; their product must be its size, and one may be -1",
                   laze_compose_name(call));
}

laze_status laze_composite_unflatten_int(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                         laze_error *error) {
  const laze_attribute *given = &call->attributes[LAZE_UNFLATTEN_INT_SIZES];
  const laze_type type = laze_compose_type(recorder, call->operands[0]);
  laze_size sizes[2 * LAZE_MAX_RANK];
  int axis, rank = 0;
  LAZE_TRY(laze_compose_axis(recorder, call, call->attributes[LAZE_UNFLATTEN_INT_DIM].value.integer, type.rank, &axis,
                             error));
  if (type.rank == 0 || given->count < 1 || type.rank - 1 + given->count > LAZE_MAX_RANK)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: %d sizes for one of %d dims; expected 1 or more, %d in all",
                     laze_compose_name(call), given->count, type.rank, LAZE_MAX_RANK);
  for (int i = 0; i < axis; i++) sizes[rank++] = type.sizes[i];
  for (int i = 0; i < given->count; i++) sizes[rank++] = given->value.items[i];
  LAZE_TRY(infer_size(recorder, call, type.sizes[axis], sizes + axis, given->count, error));
  for (int i = axis + 1; i < type.rank; i++) sizes[rank++] = type.sizes[i];
  return laze_compose_reshape(recorder, call->operands[0], sizes, rank, results, error);
}

laze_status laze_composite_movedim_intlist(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                           laze_error *error) {
  const laze_attribute *from = &call->attributes[LAZE_MOVEDIM_INTLIST_SOURCE],
                       *to = &call->attributes[LAZE_MOVEDIM_INTLIST_DESTINATION];
  const int rank = laze_recorder_type(recorder, call->operands[0])->rank;
  laze_size dims[LAZE_MAX_RANK] = {0};
  uint32_t moved = 0, taken = 0;
  bool distinct = from->count == to->count;
  for (int32_t i = 0; i < from->count && distinct; i++) {
    int source, destination;
    LAZE_TRY(laze_compose_axis(recorder, call, from->value.items[i], rank, &source, error));
    LAZE_TRY(laze_compose_axis(recorder, call, to->value.items[i], rank, &destination, error));
    distinct = !(moved >> source & 1) && !(taken >> destination & 1);
    moved |= 1u << source;
    taken |= 1u << destination;
    dims[destination] = source;
  }
  if (!distinct)
    return laze_fail(error, LAZE_INVALID_ARGUMENT,
                     "%s: source has %d dims and destination %d; expected as many, each of them once",
                     laze_compose_name(call), from->count, to->count);
  for (int axis = 0, other = 0; axis < rank; axis++) {
    if (taken >> axis & 1) continue;
    while (moved >> other & 1) other++;
    dims[axis] = other++;
  }
  return laze_compose_permute(recorder, call->operands[0], dims, rank, results, error);
}

static laze_status flip(laze_recorder *recorder, laze_value *value, const laze_size *axes, int count,
                        laze_error *error) {
  laze_attribute dims = laze_attribute_integers(axes, count);
  return laze_record_call(recorder, LAZE_OP_FLIP, value, 1, &dims, value, error);
}

laze_status laze_composite_rot90(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                 laze_error *error) {
  const laze_attribute *dims = &call->attributes[LAZE_ROT90_DIMS];
  const int rank = laze_recorder_type(recorder, call->operands[0])->rank;
  const int64_t turns = call->attributes[LAZE_ROT90_K].value.integer & 3;
  int from = 0, to = 0;
  if (dims->count == 2 && rank >= 2) {
    LAZE_TRY(laze_compose_axis(recorder, call, dims->value.items[0], rank, &from, error));
    LAZE_TRY(laze_compose_axis(recorder, call, dims->value.items[1], rank, &to, error));
  }
  if (from == to)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: %d dims of a tensor of %d; expected two different ones",
                     laze_compose_name(call), dims->count, rank);
  *results = call->operands[0];
  if (turns == 2) return flip(recorder, results, (laze_size[]){from, to}, 2, error);
  if (turns == 0) return LAZE_OK;
  LAZE_TRY(flip(recorder, results, (laze_size[]){turns == 1 ? to : from}, 1, error));
  return laze_compose_swap_axes(recorder, *results, from, to, results, error);
}

/* Index i of the axis becomes i + shift, round its end. */
static laze_status roll_axis(laze_recorder *recorder, laze_value *value, int axis, laze_size shift, laze_error *error) {
  const laze_size size = laze_recorder_type(recorder, *value)->sizes[axis];
  laze_attribute dim = laze_attribute_integer(axis);
  laze_size start, whole;
  laze_value parts[2];
  LAZE_TRY(laze_size_binary(recorder->sizes, LAZE_SIZE_MAX, size, 1, &whole, error));
  LAZE_TRY(laze_size_arithmetic(recorder, '-', 0, shift, &start, error));
  LAZE_TRY(laze_size_binary(recorder->sizes, LAZE_SIZE_MOD, start, whole, &start, error));
  if (start == 0) return LAZE_OK;
  LAZE_TRY(laze_compose_slice(recorder, *value, axis, start, size, &parts[0], error));
  LAZE_TRY(laze_compose_slice(recorder, *value, axis, 0, start, &parts[1], error));
  return laze_record_call(recorder, LAZE_OP_CAT, parts, 2, &dim, value, error);
}

laze_status laze_composite_roll(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                laze_error *error) {
  const laze_attribute *shifts = &call->attributes[LAZE_ROLL_SHIFTS], *dims = &call->attributes[LAZE_ROLL_DIMS];
  const laze_type type = laze_compose_type(recorder, call->operands[0]);
  laze_size elements;
  *results = call->operands[0];
  if (dims->count == 0 && shifts->count == 1) {
    LAZE_TRY(laze_size_product(recorder->sizes, type.sizes, type.rank, &elements, error));
    LAZE_TRY(laze_compose_reshape(recorder, *results, &elements, 1, results, error));
    LAZE_TRY(roll_axis(recorder, results, 0, shifts->value.items[0], error));
    return laze_compose_reshape(recorder, *results, type.sizes, type.rank, results, error);
  }
  if (dims->count != shifts->count || shifts->count == 0 || type.rank == 0)
    return laze_fail(error, LAZE_INVALID_ARGUMENT,
                     "%s: %d shifts for %d dims of a tensor of %d; expected one for each, of those that it has",
                     laze_compose_name(call), shifts->count, dims->count, type.rank);
  for (int32_t i = 0; i < dims->count; i++) {
    int axis;
    LAZE_TRY(laze_compose_axis(recorder, call, dims->value.items[i], type.rank, &axis, error));
    LAZE_TRY(roll_axis(recorder, results, axis, shifts->value.items[i], error));
  }
  return LAZE_OK;
}

/* Each element `times` times in a row along an axis. */
static laze_status repeat_within(laze_recorder *recorder, laze_value *value, int axis, laze_size times,
                                 laze_error *error) {
  laze_type type = laze_compose_type(recorder, *value);
  const int before = axis + 1;
  laze_size sizes[3];
  LAZE_TRY(laze_size_product(recorder->sizes, type.sizes, before, &sizes[0], error));
  LAZE_TRY(laze_size_product(recorder->sizes, type.sizes + before, type.rank - before, &sizes[2], error));
  sizes[1] = 1;
  LAZE_TRY(laze_compose_reshape(recorder, *value, sizes, 3, value, error));
  sizes[1] = times;
  LAZE_TRY(laze_compose_expand(recorder, *value, sizes, 3, value, error));
  LAZE_TRY(laze_size_arithmetic(recorder, '*', type.sizes[axis], times, &type.sizes[axis], error));
  return laze_compose_reshape(recorder, *value, type.sizes, type.rank, value, error);
}

static laze_status check_times(laze_recorder *recorder, const laze_call *call, laze_size times, laze_error *error) {
  const laze_inference inference = {recorder->sizes, laze_compose_name(call), error};
  bool fits;
  LAZE_TRY(laze_size_must_be_at_most(recorder, 0, times, &fits, error));
  if (fits) return LAZE_OK;
  return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: %s times was asked for, expected 0 or more",
                   inference.operator_name, laze_show_size(&inference, times).text);
}

/* Copies of the axes below `*end` whose number of times is not 1, in one expansion of as many of them as fit, so that a
 * gradient is one sum; `*end` moves to what is left.
 *
 *   [2, 3, 4], times [1, 5, 6]     reshape [2, 1, 3, 1, 4]     expand [2, 5, 3, 6, 4]     reshape [2, 15, 24] */
static laze_status repeat_axes(laze_recorder *recorder, laze_value *value, const laze_size *times, int *end,
                               laze_error *error) {
  laze_type type = laze_compose_type(recorder, *value);
  laze_size narrow[LAZE_MAX_RANK], wide[LAZE_MAX_RANK], extent = 1;
  int at = LAZE_MAX_RANK, axis = type.rank;
  while (axis > 0 && at > 2) { /* from the last axis on; the first place is for what stays as it is */
    axis--;
    LAZE_TRY(laze_size_arithmetic(recorder, '*', extent, type.sizes[axis], &extent, error));
    if (axis >= *end || times[axis] == 1) continue;
    at -= 2;
    narrow[at] = 1, narrow[at + 1] = extent;
    wide[at] = times[axis], wide[at + 1] = extent;
    LAZE_TRY(laze_size_arithmetic(recorder, '*', type.sizes[axis], times[axis], &type.sizes[axis], error));
    extent = 1;
  }
  *end = axis;
  for (int i = 0; i < axis; i++) LAZE_TRY(laze_size_arithmetic(recorder, '*', extent, type.sizes[i], &extent, error));
  at--;
  narrow[at] = wide[at] = extent;
  LAZE_TRY(laze_compose_reshape(recorder, *value, narrow + at, LAZE_MAX_RANK - at, value, error));
  LAZE_TRY(laze_compose_expand(recorder, *value, wide + at, LAZE_MAX_RANK - at, value, error));
  return laze_compose_reshape(recorder, *value, type.sizes, type.rank, value, error);
}

/* `times` for the last dims; more of them than the tensor has add dims in front. */
static laze_status repeat(laze_recorder *recorder, const laze_call *call, const laze_attribute *times, laze_value *out,
                          laze_error *error) {
  const laze_type type = laze_compose_type(recorder, call->operands[0]);
  const int added = times->count > type.rank ? times->count - type.rank : 0, rank = type.rank + added;
  laze_size sizes[LAZE_MAX_RANK], counts[LAZE_MAX_RANK];
  int end = rank;
  bool repeats = false;
  *out = call->operands[0];
  if (rank > LAZE_MAX_RANK)
    return laze_fail(error, LAZE_UNSUPPORTED, "%s: the result would have %d dims, at most %d are supported",
                     laze_compose_name(call), rank, LAZE_MAX_RANK);
  for (int i = 0; i < rank; i++) sizes[i] = i < added ? 1 : type.sizes[i - added];
  if (added > 0) LAZE_TRY(laze_compose_reshape(recorder, *out, sizes, rank, out, error));
  for (int i = 0; i < rank; i++) {
    const int given = i - (rank - times->count);
    counts[i] = given < 0 ? 1 : times->value.items[given];
    LAZE_TRY(check_times(recorder, call, counts[i], error));
    repeats |= counts[i] != 1;
  }
  while (repeats && end > 0) LAZE_TRY(repeat_axes(recorder, out, counts, &end, error));
  return LAZE_OK;
}

laze_status laze_composite_repeat(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                  laze_error *error) {
  const laze_attribute *repeats = &call->attributes[LAZE_REPEAT_REPEATS];
  const int rank = laze_recorder_type(recorder, call->operands[0])->rank;
  if (repeats->count < rank)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: %d numbers for %d dims; expected one for each, or use tile",
                     laze_compose_name(call), repeats->count, rank);
  return repeat(recorder, call, repeats, results, error);
}

laze_status laze_composite_tile(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                laze_error *error) {
  return repeat(recorder, call, &call->attributes[LAZE_TILE_DIMS], results, error);
}

laze_status laze_composite_repeat_interleave_self_int(laze_recorder *recorder, const laze_call *call,
                                                      laze_value *results, laze_error *error) {
  const laze_attribute *dim = &call->attributes[LAZE_REPEAT_INTERLEAVE_SELF_INT_DIM],
                       *size = &call->attributes[LAZE_REPEAT_INTERLEAVE_SELF_INT_OUTPUT_SIZE];
  const laze_size times = call->attributes[LAZE_REPEAT_INTERLEAVE_SELF_INT_REPEATS].value.size;
  laze_type type = laze_compose_type(recorder, call->operands[0]);
  laze_size elements;
  bool fits = true;
  int axis = 0;
  LAZE_TRY(check_times(recorder, call, times, error));
  *results = call->operands[0];
  if (!dim->present || type.rank == 0) {
    LAZE_TRY(laze_size_product(recorder->sizes, type.sizes, type.rank, &elements, error));
    LAZE_TRY(laze_compose_reshape(recorder, *results, &elements, 1, results, error));
  }
  if (dim->present) LAZE_TRY(laze_compose_axis(recorder, call, dim->value.integer, type.rank, &axis, error));
  LAZE_TRY(repeat_within(recorder, results, axis, times, error));
  type = laze_compose_type(recorder, *results);
  if (size->present) LAZE_TRY(laze_size_must_equal(recorder, size->value.size, type.sizes[axis], &fits, error));
  if (fits) return LAZE_OK;
  return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: output_size is not how many there are; leave it out",
                   laze_compose_name(call));
}

/* [.., size, windows, ..] of _window, with the places of a window last. */
laze_status laze_composite_unfold(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                  laze_error *error) {
  const laze_attribute *attributes = call->attributes;
  laze_attribute window[] = {laze_attribute_integer(0), attributes[LAZE_UNFOLD_SIZE], attributes[LAZE_UNFOLD_STEP],
                             laze_attribute_integer(1)};
  const int rank = laze_recorder_type(recorder, call->operands[0])->rank;
  laze_size order[LAZE_MAX_RANK + 1];
  int axis, next = 0;
  LAZE_TRY(laze_compose_axis(recorder, call, attributes[LAZE_UNFOLD_DIMENSION].value.integer, rank, &axis, error));
  *results = call->operands[0];
  if (rank == 0) LAZE_TRY(laze_compose_insert_axis(recorder, *results, 0, results, error));
  window[0].value.integer = axis;
  LAZE_TRY(laze_record_call(recorder, LAZE_OP__WINDOW, results, 1, window, results, error));
  if (rank == 0) return laze_compose_drop_axis(recorder, *results, 1, results, error);
  for (int i = 0; i <= rank; i++)
    if (i != axis) order[next++] = i;
  order[next] = axis;
  return laze_compose_permute(recorder, *results, order, rank + 1, results, error);
}

laze_status laze_composite_take_along_dim(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                          laze_error *error) {
  const laze_attribute *dim = &call->attributes[LAZE_TAKE_ALONG_DIM_DIM];
  laze_inference inference = {recorder->sizes, laze_compose_name(call), error};
  laze_value operands[2] = {call->operands[0], call->operands[1]};
  laze_type types[2], shape;
  laze_attribute gathered = laze_attribute_integer(0);
  int axis;
  for (int i = 0; i < 2; i++) types[i] = laze_compose_type(recorder, operands[i]);
  for (int i = 0; i < 2 && !dim->present; i++) {
    laze_size elements;
    LAZE_TRY(laze_size_product(recorder->sizes, types[i].sizes, types[i].rank, &elements, error));
    LAZE_TRY(laze_compose_reshape(recorder, operands[i], &elements, 1, &operands[i], error));
  }
  if (!dim->present) return laze_record_call(recorder, LAZE_OP_GATHER, operands, 2, &gathered, results, error);
  if (types[0].rank != types[1].rank)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: self has %d dims and indices %d; expected as many",
                     inference.operator_name, types[0].rank, types[1].rank);
  LAZE_TRY(laze_compose_axis(recorder, call, dim->value.integer, types[0].rank, &axis, error));
  gathered = laze_attribute_integer(axis);
  for (int i = 0; i < 2 && types[0].rank > 0; i++) {
    laze_type other = types[1 - i];
    other.sizes[axis] = types[i].sizes[axis];
    shape = types[i];
    LAZE_TRY(laze_infer_broadcast_into(&inference, &other, &shape));
    LAZE_TRY(laze_compose_expand(recorder, operands[i], shape.sizes, shape.rank, &operands[i], error));
  }
  return laze_record_call(recorder, LAZE_OP_GATHER, operands, 2, &gathered, results, error);
}
