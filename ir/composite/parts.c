/* Tensors cut into parts along a dim, each of which is a slice:
 *
 *   f32[7]   split by 3         [0, 3) [3, 6) [6, 7)
 *            tensor_split in 3  [0, 3) [3, 5) [5, 7)
 *            split at 2, 5      [0, 2) [2, 5) [5, 7)
 *
 * How many parts there are has to be known when the call is made. */
#include "ir/composite/composite.h"

#include "ir/composite.gen.h"
#include "ir/composite/support.h"
#include "ir/op.gen.h"

typedef struct {
  laze_recorder *recorder;
  const laze_call *call;
  laze_value self;
  laze_type type;
  int axis;
  laze_value *results;
  int32_t count;
} cutter;

static laze_status begin(laze_recorder *recorder, const laze_call *call, int64_t dim, laze_value *results, cutter *out,
                         laze_error *error) {
  *out = (cutter){.recorder = recorder, .call = call, .self = call->operands[0], .results = results};
  out->type = laze_compose_type(recorder, out->self);
  if (out->type.rank == 0)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: got a tensor without dims, expected at least one",
                     laze_compose_name(call));
  results[0] = LAZE_VALUE_NONE;
  return laze_compose_axis(recorder, call, dim, out->type.rank, &out->axis, error);
}

static laze_size axis_size(const cutter *c) {
  return c->type.sizes[c->axis];
}

static laze_status check_count(const cutter *c, int64_t count, laze_error *error) {
  if (count >= 1 && count <= LAZE_MAX_LISTED) return LAZE_OK;
  return laze_fail(error, LAZE_UNSUPPORTED, "%s: it would give %lld parts, expected 1 to %d",
                   laze_compose_name(c->call), (long long)count, LAZE_MAX_LISTED);
}

static laze_status add(cutter *c, laze_size start, laze_size end, laze_error *error) {
  laze_value *out = &c->results[c->count];
  LAZE_TRY(laze_compose_slice(c->recorder, c->self, c->axis, start, end, out, error));
  c->results[++c->count] = LAZE_VALUE_NONE;
  return LAZE_OK;
}

/* A size that decides how many parts there are. */
static laze_status need_number(const cutter *c, laze_size size, laze_error *error) {
  bool empty;
  if (laze_size_is_constant(size)) return LAZE_OK;
  LAZE_TRY(laze_size_is_equal(c->recorder, size, 0, &empty, error)); /* lazily, that finds it */
  return laze_fail(error, LAZE_UNSUPPORTED,
                   "%s: how many parts there are depends on a size that is not known when the call is made; use "
                   "narrow, or split_with_sizes",
                   laze_compose_name(c->call));
}

/* Parts of `size` indices, of which the last may have fewer; of nothing, one. */
static laze_status cut_every(cutter *c, int64_t size, laze_error *error) {
  const int64_t whole = axis_size(c), count = whole == 0 ? 1 : (whole - 1) / size + 1;
  LAZE_TRY(check_count(c, count, error));
  for (int64_t i = 0; i < count; i++) {
    const int64_t start = i * size;
    LAZE_TRY(add(c, start, whole - start < size ? whole : start + size, error));
  }
  return LAZE_OK;
}

laze_status laze_composite_split(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                 laze_error *error) {
  const laze_size size = call->attributes[LAZE_SPLIT_SPLIT_SIZE].value.size;
  cutter c;
  LAZE_TRY(begin(recorder, call, call->attributes[LAZE_SPLIT_DIM].value.integer, results, &c, error));
  LAZE_TRY(need_number(&c, size, error));
  LAZE_TRY(need_number(&c, axis_size(&c), error));
  if (size < 0 || (size == 0 && axis_size(&c) > 0))
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: parts of %lld indices of a dim of %lld; expected 1 or more",
                     laze_compose_name(call), (long long)size, (long long)axis_size(&c));
  return cut_every(&c, size > 0 ? size : 1, error);
}

laze_status laze_composite_chunk(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                 laze_error *error) {
  const int64_t chunks = call->attributes[LAZE_CHUNK_CHUNKS].value.integer;
  cutter c;
  LAZE_TRY(begin(recorder, call, call->attributes[LAZE_CHUNK_DIM].value.integer, results, &c, error));
  LAZE_TRY(need_number(&c, axis_size(&c), error));
  if (chunks < 1)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: chunks is %lld, expected 1 or more", laze_compose_name(call),
                     (long long)chunks);
  if (axis_size(&c) > 0) return cut_every(&c, (axis_size(&c) - 1) / chunks + 1, error);
  LAZE_TRY(check_count(&c, chunks, error));
  for (int64_t i = 0; i < chunks; i++) LAZE_TRY(add(&c, 0, 0, error));
  return LAZE_OK;
}

laze_status laze_composite_split_with_sizes(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                            laze_error *error) {
  const laze_attribute *sizes = &call->attributes[LAZE_SPLIT_WITH_SIZES_SPLIT_SIZES];
  const laze_inference inference = {recorder->sizes, laze_compose_name(call), error};
  laze_size start = 0, end;
  bool fits = true;
  cutter c;
  LAZE_TRY(begin(recorder, call, call->attributes[LAZE_SPLIT_WITH_SIZES_DIM].value.integer, results, &c, error));
  LAZE_TRY(check_count(&c, sizes->count, error));
  for (int32_t i = 0; i < sizes->count && fits; i++) {
    LAZE_TRY(laze_size_must_be_at_most(recorder, 0, sizes->value.items[i], &fits, error));
    if (!fits) break;
    LAZE_TRY(laze_size_arithmetic(recorder, '+', start, sizes->value.items[i], &end, error));
    LAZE_TRY(add(&c, start, end, error));
    start = end;
  }
  if (fits) LAZE_TRY(laze_size_must_equal(recorder, start, axis_size(&c), &fits, error));
  if (fits) return LAZE_OK;
  return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: sizes of parts must be 0 or more, and make up dim %d of %s",
                   inference.operator_name, c.axis, laze_show(&inference, &c.type).text);
}

/* As many parts as `sections` says; the first ones have one index more where the size is no multiple. */
static laze_status cut_evenly(cutter *c, int64_t sections, laze_error *error) {
  laze_size least, rest, start = 0, end;
  LAZE_TRY(check_count(c, sections, error));
  LAZE_TRY(laze_size_arithmetic(c->recorder, '/', axis_size(c), sections, &least, error));
  LAZE_TRY(laze_size_binary(c->recorder->sizes, LAZE_SIZE_MOD, axis_size(c), sections, &rest, error));
  for (int64_t i = 0; i < sections; i++) {
    laze_size more;
    LAZE_TRY(laze_size_binary(c->recorder->sizes, LAZE_SIZE_MIN, i + 1, rest, &more, error));
    LAZE_TRY(laze_size_arithmetic(c->recorder, '*', least, i + 1, &end, error));
    LAZE_TRY(laze_size_arithmetic(c->recorder, '+', end, more, &end, error));
    LAZE_TRY(add(c, start, end, error));
    start = end;
  }
  return LAZE_OK;
}

/* Cut in front of each index: as slices have it, negative ones count from the back. */
static laze_status cut_at(cutter *c, const laze_attribute *indices, laze_error *error) {
  laze_size start = 0;
  LAZE_TRY(check_count(c, (int64_t)indices->count + 1, error));
  for (int32_t i = 0; i < indices->count; i++) {
    LAZE_TRY(add(c, start, indices->value.items[i], error));
    start = indices->value.items[i];
  }
  return add(c, start, axis_size(c), error);
}

laze_status laze_composite_tensor_split_sections(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                                 laze_error *error) {
  const laze_size sections = call->attributes[LAZE_TENSOR_SPLIT_SECTIONS_SECTIONS].value.size;
  cutter c;
  LAZE_TRY(begin(recorder, call, call->attributes[LAZE_TENSOR_SPLIT_SECTIONS_DIM].value.integer, results, &c, error));
  LAZE_TRY(need_number(&c, sections, error));
  return cut_evenly(&c, sections, error);
}

laze_status laze_composite_tensor_split_indices(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                                laze_error *error) {
  cutter c;
  LAZE_TRY(begin(recorder, call, call->attributes[LAZE_TENSOR_SPLIT_INDICES_DIM].value.integer, results, &c, error));
  return cut_at(&c, &call->attributes[LAZE_TENSOR_SPLIT_INDICES_INDICES], error);
}

/* A dim by its name: the first argument is a number of equal parts, or a list of indices. */
static laze_status split_named(laze_recorder *recorder, const laze_call *call, int least, int axis, laze_value *results,
                               laze_error *error) {
  const laze_attribute *how = &call->attributes[0];
  const int rank = laze_recorder_type(recorder, call->operands[0])->rank;
  bool fits;
  cutter c;
  if (rank < least)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: got a tensor of %d dims, expected at least %d",
                     laze_compose_name(call), rank, least);
  LAZE_TRY(begin(recorder, call, axis < rank ? axis : 0, results, &c, error));
  if (how->kind == LAZE_ARGUMENT_INT_LIST) return cut_at(&c, how, error);
  LAZE_TRY(check_count(&c, how->value.integer, error));
  laze_size rest;
  LAZE_TRY(laze_size_binary(recorder->sizes, LAZE_SIZE_MOD, axis_size(&c), how->value.integer, &rest, error));
  LAZE_TRY(laze_size_must_equal(recorder, rest, 0, &fits, error));
  if (fits) return cut_evenly(&c, how->value.integer, error);
  const laze_inference inference = {recorder->sizes, laze_compose_name(call), error};
  return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: dim %d of %s is not made of %lld equal parts; use tensor_split",
                   inference.operator_name, c.axis, laze_show(&inference, &c.type).text, (long long)how->value.integer);
}

laze_status laze_composite_hsplit_int(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                      laze_error *error) {
  return split_named(recorder, call, 1, 1, results, error);
}

laze_status laze_composite_hsplit_array(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                        laze_error *error) {
  return split_named(recorder, call, 1, 1, results, error);
}

laze_status laze_composite_vsplit_int(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                      laze_error *error) {
  return split_named(recorder, call, 2, 0, results, error);
}

laze_status laze_composite_vsplit_array(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                        laze_error *error) {
  return split_named(recorder, call, 2, 0, results, error);
}

laze_status laze_composite_dsplit_int(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                      laze_error *error) {
  return split_named(recorder, call, 3, 2, results, error);
}

laze_status laze_composite_dsplit_array(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                        laze_error *error) {
  return split_named(recorder, call, 3, 2, results, error);
}

laze_status laze_composite_unbind_int(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                      laze_error *error) {
  cutter c;
  LAZE_TRY(begin(recorder, call, call->attributes[LAZE_UNBIND_INT_DIM].value.integer, results, &c, error));
  LAZE_TRY(need_number(&c, axis_size(&c), error));
  LAZE_TRY(check_count(&c, axis_size(&c), error));
  LAZE_TRY(cut_every(&c, 1, error));
  for (int32_t i = 0; i < c.count; i++)
    LAZE_TRY(laze_compose_drop_axis(recorder, results[i], c.axis, &results[i], error));
  return LAZE_OK;
}

/* The index along each dim of a place: floor_divide by the elements of the dims behind, remainder by its size. */
laze_status laze_composite_unravel_index(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                         laze_error *error) {
  const laze_attribute *shape = &call->attributes[LAZE_UNRAVEL_INDEX_SHAPE];
  const laze_type type = laze_compose_type(recorder, call->operands[0]);
  if (laze_dtype_is_float((laze_dtype)type.dtype) || type.dtype == LAZE_BOOL)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: indices are %s, expected integers", laze_compose_name(call),
                     laze_dtype_name((laze_dtype)type.dtype));
  if (shape->count < 1 || shape->count > LAZE_MAX_RANK)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: shape has %d dims, expected 1 to %d", laze_compose_name(call),
                     shape->count, LAZE_MAX_RANK);
  laze_value places;
  LAZE_TRY(laze_compose_to(recorder, call->operands[0], LAZE_I64, &places, error));
  for (int32_t i = 0; i < shape->count; i++) {
    laze_size behind;
    laze_value size;
    LAZE_TRY(laze_size_product(recorder->sizes, shape->value.items + i + 1, shape->count - i - 1, &behind, error));
    LAZE_TRY(laze_compose_size(recorder, behind, &size, error));
    LAZE_TRY(laze_compose_binary(recorder, LAZE_OP_FLOOR_DIVIDE, places, size, &results[i], error));
    LAZE_TRY(laze_compose_size(recorder, shape->value.items[i], &size, error));
    LAZE_TRY(laze_compose_binary(recorder, LAZE_OP_REMAINDER, results[i], size, &results[i], error));
  }
  results[shape->count] = LAZE_VALUE_NONE;
  return LAZE_OK;
}
