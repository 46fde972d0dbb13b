/* Writing at computed places, over two primitives: _scatter, which has an index for each element, and _index_update,
 * which has one for each slice of an axis.
 *
 *   scatter_add(x, 0, i, y)        _scatter(x, 0, i, y, "sum")       y cut to the sizes of i
 *   index_fill(x, 1, i, 2.0)       _index_update(x, 1, i, 2.0 expanded, "none")
 *   slice_scatter(x, y, 0, 1, 9)   _index_update(x, 0, 1 + iota, y, "none")
 *
 * A mean is a sum, divided by the number of elements that went into each place; without self, its places are set to
 * what changes no result before.
 */
#include "ir/composite/composite.h"

#include "ir/composite.gen.h"
#include "ir/composite/support.h"
#include "ir/op.gen.h"
#include "shape_inference/rules.h"

#include <string.h>

/* A call of one of the primitives. Operands have a dim at least. */
typedef struct {
  laze_op op;
  laze_value self, index, src;
  laze_type type; /* of self as it was given */
  int axis;
} scattering;

static laze_status give_dim(laze_recorder *recorder, laze_value *value, laze_error *error) {
  const laze_size one = 1;
  if (laze_recorder_type(recorder, *value)->rank > 0) return LAZE_OK;
  return laze_compose_reshape(recorder, *value, &one, 1, value, error);
}

/* The operator's self, dim and index, which all of them have first. */
static laze_status begin(laze_recorder *recorder, const laze_call *call, laze_op op, scattering *s, laze_error *error) {
  *s = (scattering){.op = op, .self = call->operands[0], .index = call->operands[1]};
  s->type = laze_compose_type(recorder, s->self);
  LAZE_TRY(laze_compose_axis(recorder, call, call->attributes[0].value.integer, s->type.rank, &s->axis, error));
  LAZE_TRY(give_dim(recorder, &s->self, error));
  return give_dim(recorder, &s->index, error);
}

static laze_status is_empty(laze_recorder *recorder, laze_value value, bool *out, laze_error *error) {
  const laze_type type = laze_compose_type(recorder, value);
  *out = false;
  for (int i = 0; i < type.rank && !*out; i++) LAZE_TRY(laze_size_is_equal(recorder, type.sizes[i], 0, out, error));
  return LAZE_OK;
}

/* Records the primitive; what it gives has the shape of self. An index of nothing changes nothing. */
static laze_status record(laze_recorder *recorder, const scattering *s, laze_value self, laze_value src,
                          const char *reduce, laze_value *out, laze_error *error) {
  laze_attribute attributes[] = {laze_attribute_integer(s->axis), laze_attribute_string(reduce)};
  laze_value operands[] = {self, s->index, src};
  bool nothing;
  LAZE_TRY(is_empty(recorder, s->index, &nothing, error));
  *out = self;
  if (!nothing) LAZE_TRY(laze_record_call(recorder, s->op, operands, 3, attributes, out, error));
  return s->type.rank > 0 ? LAZE_OK : laze_compose_reshape(recorder, *out, NULL, 0, out, error);
}

/* src as far as the index goes. */
static laze_status cut(laze_recorder *recorder, const laze_call *call, const scattering *s, laze_value *src,
                       laze_error *error) {
  LAZE_TRY(give_dim(recorder, src, error));
  const laze_type index = laze_compose_type(recorder, s->index), type = laze_compose_type(recorder, *src);
  const laze_inference inference = {recorder->sizes, laze_compose_name(call), error};
  bool fits = index.rank == type.rank;
  for (int i = 0; i < type.rank && fits; i++) {
    bool equal;
    LAZE_TRY(laze_size_is_equal(recorder, index.sizes[i], type.sizes[i], &equal, error));
    if (equal) continue;
    LAZE_TRY(laze_size_must_be_at_most(recorder, index.sizes[i], type.sizes[i], &fits, error));
    if (fits) LAZE_TRY(laze_compose_slice(recorder, *src, i, 0, index.sizes[i], src, error));
  }
  bool nothing;
  LAZE_TRY(is_empty(recorder, s->index, &nothing, error));
  if (fits || nothing) return LAZE_OK;
  return laze_fail(error, LAZE_INVALID_ARGUMENT,
                   "%s: index %s is larger than src %s; it must have as many dims, each at most as large",
                   inference.operator_name, laze_show(&inference, &index).text, laze_show(&inference, &type).text);
}

/* A value without dims, in self's dtype, at every place. */
static laze_status spread(laze_recorder *recorder, const scattering *s, laze_value value, laze_value *out,
                          laze_error *error) {
  laze_type type = laze_compose_type(recorder, s->op == LAZE_OP__SCATTER ? s->index : s->self);
  if (s->op != LAZE_OP__SCATTER) type.sizes[s->axis] = laze_recorder_type(recorder, s->index)->sizes[0];
  LAZE_TRY(laze_compose_to(recorder, value, (laze_dtype)s->type.dtype, out, error));
  return laze_compose_expand(recorder, *out, type.sizes, type.rank, out, error);
}

static laze_status spread_number(laze_recorder *recorder, const scattering *s, laze_scalar number, laze_value *out,
                                 laze_error *error) {
  laze_value value;
  LAZE_TRY(laze_record_number(recorder, (laze_dtype)s->type.dtype, number, &value, error));
  return spread(recorder, s, value, out, error);
}

/* What each way of reducing is made of, and what changes none of its results. */
typedef struct {
  const char *name, *reduce;
  bool is_mean;
} way;

static laze_status find_way(const laze_call *call, const char *name, const way **out, laze_error *error) {
  static const way ways[] = {{"sum", "sum", false},
                             {"prod", "prod", false},
                             {"mean", "sum", true},
                             {"amax", "amax", false},
                             {"amin", "amin", false}};
  bool by_list = call->op == LAZE_OP_INDEX_REDUCE;
  for (size_t i = by_list; i < sizeof ways / sizeof *ways; i++) {
    *out = &ways[i];
    if (strcmp(ways[i].name, name) == 0) return LAZE_OK;
  }
  return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: reduce is '%s', expected %s'prod', 'mean', 'amax' or 'amin'",
                   laze_compose_name(call), name, by_list ? "" : "'sum', ");
}

static laze_scalar identity_of(const way *how, laze_dtype dtype) {
  if (strcmp(how->reduce, "sum") == 0) return laze_scalar_integer(0);
  if (strcmp(how->reduce, "prod") == 0) return laze_scalar_integer(1);
  return strcmp(how->reduce, "amax") == 0 ? laze_dtype_lowest(dtype) : laze_dtype_highest(dtype);
}

/* total / the number of elements in each place, rounded down in integers; a place without any keeps its total. */
static laze_status divide_by_count(laze_recorder *recorder, const scattering *s, bool include_self, laze_value *total,
                                   laze_error *error) {
  laze_type type = laze_compose_type(recorder, s->self);
  laze_dtype dtype = (laze_dtype)s->type.dtype;
  laze_value start, ones, count;
  laze_attribute size = laze_attribute_sizes(type.sizes, type.rank);
  LAZE_TRY(laze_record_number(recorder, dtype, laze_scalar_integer(include_self), &start, error));
  LAZE_TRY(laze_record_call(recorder, LAZE_OP_EXPAND, &start, 1, &size, &start, error));
  LAZE_TRY(spread_number(recorder, s, laze_scalar_integer(1), &ones, error));
  LAZE_TRY(record(recorder, s, start, ones, "sum", &count, error));
  LAZE_TRY(laze_compose_with_number(recorder, LAZE_OP_MAXIMUM, count, laze_scalar_integer(1), &count, error));
  return laze_compose_binary(recorder, laze_dtype_is_float(dtype) ? LAZE_OP_DIV : LAZE_OP_FLOOR_DIVIDE, *total, count,
                             total, error);
}

static laze_status reduce(laze_recorder *recorder, const scattering *s, const way *how, bool include_self,
                          laze_value *result, laze_error *error) {
  laze_value self = s->self, none;
  if (!include_self) {
    LAZE_TRY(spread_number(recorder, s, identity_of(how, (laze_dtype)s->type.dtype), &none, error));
    LAZE_TRY(record(recorder, s, self, none, "none", &self, error));
    LAZE_TRY(give_dim(recorder, &self, error));
  }
  LAZE_TRY(record(recorder, s, self, s->src, how->reduce, result, error));
  return how->is_mean ? divide_by_count(recorder, s, include_self, result, error) : LAZE_OK;
}

/* scatter and its kin, whose src has an element for each index. */
static laze_status scatter(laze_recorder *recorder, const laze_call *call, const char *reduce, laze_value *results,
                           laze_error *error) {
  scattering s;
  LAZE_TRY(begin(recorder, call, LAZE_OP__SCATTER, &s, error));
  s.src = call->operands[2];
  LAZE_TRY(cut(recorder, call, &s, &s.src, error));
  return record(recorder, &s, s.self, s.src, reduce, results, error);
}

static laze_status scatter_value(laze_recorder *recorder, const laze_call *call, const char *reduce,
                                 laze_value *results, laze_error *error) {
  scattering s;
  LAZE_TRY(begin(recorder, call, LAZE_OP__SCATTER, &s, error));
  LAZE_TRY(spread(recorder, &s, call->operands[2], &s.src, error));
  return record(recorder, &s, s.self, s.src, reduce, results, error);
}

/* The older names for sum and prod. */
static laze_status find_old_way(const laze_call *call, const char *name, const char **out, laze_error *error) {
  bool adds = strcmp(name, "add") == 0;
  *out = adds ? "sum" : "prod";
  if (adds || strcmp(name, "multiply") == 0) return LAZE_OK;
  return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: reduce is '%s', expected 'add' or 'multiply'",
                   laze_compose_name(call), name);
}

laze_status laze_composite_scatter_src(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                       laze_error *error) {
  return scatter(recorder, call, "none", results, error);
}

laze_status laze_composite_scatter_value(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                         laze_error *error) {
  return scatter_value(recorder, call, "none", results, error);
}

laze_status laze_composite_scatter_add(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                       laze_error *error) {
  return scatter(recorder, call, "sum", results, error);
}

laze_status laze_composite_scatter_reduce(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                          laze_error *error) {
  const char *name;
  LAZE_TRY(find_old_way(call, call->attributes[LAZE_SCATTER_REDUCE_REDUCE].value.string, &name, error));
  return scatter(recorder, call, name, results, error);
}

laze_status laze_composite_scatter_value_reduce(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                                laze_error *error) {
  const char *name;
  LAZE_TRY(find_old_way(call, call->attributes[LAZE_SCATTER_VALUE_REDUCE_REDUCE].value.string, &name, error));
  return scatter_value(recorder, call, name, results, error);
}

laze_status laze_composite_scatter_reduce_two(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                              laze_error *error) {
  const laze_attribute *attributes = call->attributes;
  const way *how;
  scattering s;
  LAZE_TRY(find_way(call, attributes[LAZE_SCATTER_REDUCE_TWO_REDUCE].value.string, &how, error));
  LAZE_TRY(begin(recorder, call, LAZE_OP__SCATTER, &s, error));
  s.src = call->operands[2];
  LAZE_TRY(cut(recorder, call, &s, &s.src, error));
  return reduce(recorder, &s, how, attributes[LAZE_SCATTER_REDUCE_TWO_INCLUDE_SELF].value.integer != 0, results, error);
}

/* Slices */

/* The index is a list, or one number. A source without dims is a single slice. */
static laze_status begin_slices(laze_recorder *recorder, const laze_call *call, scattering *s, laze_error *error) {
  const laze_inference inference = {recorder->sizes, laze_compose_name(call), error};
  LAZE_TRY(begin(recorder, call, LAZE_OP__INDEX_UPDATE, s, error));
  s->src = call->operands[2];
  const laze_type index = laze_compose_type(recorder, s->index), source = laze_compose_type(recorder, s->src);
  if (source.rank > s->type.rank)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: source %s has more dims than self %s", inference.operator_name,
                     laze_show(&inference, &source).text, laze_show(&inference, &s->type).text);
  if (index.rank == 1) return LAZE_OK;
  return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: index %s has %d dims; it must have 0 or 1",
                   inference.operator_name, laze_show(&inference, &index).text, index.rank);
}

laze_status laze_composite_index_copy(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                      laze_error *error) {
  scattering s;
  LAZE_TRY(begin_slices(recorder, call, &s, error));
  LAZE_TRY(give_dim(recorder, &s.src, error));
  return record(recorder, &s, s.self, s.src, "none", results, error);
}

laze_status laze_composite_index_add(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                     laze_error *error) {
  laze_value alpha = laze_call_operand(call, 3);
  scattering s;
  LAZE_TRY(begin_slices(recorder, call, &s, error));
  LAZE_TRY(give_dim(recorder, &s.src, error));
  if (!laze_value_is_none(alpha)) {
    LAZE_TRY(laze_compose_to(recorder, alpha, (laze_dtype)s.type.dtype, &alpha, error));
    LAZE_TRY(laze_compose_binary(recorder, LAZE_OP_MUL, s.src, alpha, &s.src, error));
  }
  return record(recorder, &s, s.self, s.src, "sum", results, error);
}

laze_status laze_composite_index_reduce(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                        laze_error *error) {
  const laze_attribute *attributes = call->attributes;
  const way *how;
  scattering s;
  LAZE_TRY(find_way(call, attributes[LAZE_INDEX_REDUCE_REDUCE].value.string, &how, error));
  LAZE_TRY(begin_slices(recorder, call, &s, error));
  LAZE_TRY(give_dim(recorder, &s.src, error));
  return reduce(recorder, &s, how, attributes[LAZE_INDEX_REDUCE_INCLUDE_SELF].value.integer != 0, results, error);
}

static laze_status fill(laze_recorder *recorder, const laze_call *call, laze_value *results, laze_error *error) {
  scattering s;
  LAZE_TRY(begin_slices(recorder, call, &s, error));
  LAZE_TRY(spread(recorder, &s, call->operands[2], &s.src, error));
  return record(recorder, &s, s.self, s.src, "none", results, error);
}

laze_status laze_composite_index_fill_int_scalar(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                                 laze_error *error) {
  return fill(recorder, call, results, error);
}

laze_status laze_composite_index_fill_int_tensor(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                                 laze_error *error) {
  int rank = laze_recorder_type(recorder, call->operands[2])->rank;
  if (rank > 0)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: value has %d dims, expected a tensor without dims",
                     laze_compose_name(call), rank);
  return fill(recorder, call, results, error);
}

/* Views that are written to: a slice, a diagonal */

/* start, start + step, ... of `count` places. */
static laze_status count_places(laze_recorder *recorder, laze_size count, laze_size start, laze_size step,
                                laze_value *out, laze_error *error) {
  laze_attribute number[] = {laze_attribute_size(step), laze_attribute_dtype(LAZE_I64)};
  laze_value value;
  LAZE_TRY(laze_compose_iota(recorder, &count, 1, 0, LAZE_I64, out, error));
  LAZE_TRY(laze_record_call(recorder, LAZE_OP_SIZE_TENSOR, NULL, 0, number, &value, error));
  LAZE_TRY(laze_compose_binary(recorder, LAZE_OP_MUL, *out, value, out, error));
  number[0] = laze_attribute_size(start);
  LAZE_TRY(laze_record_call(recorder, LAZE_OP_SIZE_TENSOR, NULL, 0, number, &value, error));
  return laze_compose_binary(recorder, LAZE_OP_ADD, *out, value, out, error);
}

/* `src` must have the shape of the view that it takes the place of. */
static laze_status check_view(laze_recorder *recorder, const laze_call *call, const laze_type *view, laze_value src,
                              laze_error *error) {
  const laze_inference inference = {recorder->sizes, laze_compose_name(call), error};
  const laze_type type = laze_compose_type(recorder, src);
  bool same = type.rank == view->rank;
  for (int i = 0; i < type.rank && same; i++)
    LAZE_TRY(laze_size_must_equal(recorder, type.sizes[i], view->sizes[i], &same, error));
  if (same) return LAZE_OK;
  return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: src is %s, but takes the place of %s; the shapes must be equal",
                   inference.operator_name, laze_show(&inference, &type).text, laze_show(&inference, view).text);
}

static laze_status update(laze_recorder *recorder, laze_value self, int axis, laze_value index, laze_value src,
                          laze_value *out, laze_error *error) {
  const scattering s = {.op = LAZE_OP__INDEX_UPDATE, .index = index, .type.rank = 1, .axis = axis};
  LAZE_TRY(laze_compose_to(recorder, src, (laze_dtype)laze_recorder_type(recorder, self)->dtype, &src, error));
  return record(recorder, &s, self, src, "none", out, error);
}

static laze_status refuse_scalar(const laze_call *call, const laze_type *self, laze_error *error) {
  if (self->rank > 0) return LAZE_OK;
  return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: self has no dims, expected at least one",
                   laze_compose_name(call));
}

laze_status laze_composite_slice_scatter(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                         laze_error *error) {
  const laze_attribute *attributes = call->attributes, *start = &attributes[LAZE_SLICE_SCATTER_START],
                       *end = &attributes[LAZE_SLICE_SCATTER_END];
  laze_inference inference = {recorder->sizes, laze_compose_name(call), error};
  laze_size step = attributes[LAZE_SLICE_SCATTER_STEP].value.size, first, length;
  laze_type view = laze_compose_type(recorder, call->operands[0]);
  laze_value places;
  int axis;
  LAZE_TRY(refuse_scalar(call, &view, error));
  LAZE_TRY(
      laze_compose_axis(recorder, call, attributes[LAZE_SLICE_SCATTER_DIM].value.integer, view.rank, &axis, error));
  if (step < 1 || !laze_size_is_constant(step))
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: step is %s, expected a number of 1 or more",
                     inference.operator_name, laze_show_size(&inference, step).text);
  LAZE_TRY(laze_slice_bounds(&inference, view.sizes[axis], start->present ? &start->value.size : NULL,
                             end->present ? &end->value.size : NULL, step, &first, &length));
  view.sizes[axis] = length;
  LAZE_TRY(check_view(recorder, call, &view, call->operands[1], error));
  LAZE_TRY(count_places(recorder, length, first, step, &places, error));
  return update(recorder, call->operands[0], axis, places, call->operands[1], results, error);
}

laze_status laze_composite_select_scatter(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                          laze_error *error) {
  const laze_inference inference = {recorder->sizes, laze_compose_name(call), error};
  laze_size index = call->attributes[LAZE_SELECT_SCATTER_INDEX].value.size, last, least;
  laze_type self = laze_compose_type(recorder, call->operands[0]), view = self;
  laze_value places, src;
  bool inside;
  int axis;
  LAZE_TRY(refuse_scalar(call, &self, error));
  LAZE_TRY(laze_compose_axis(recorder, call, call->attributes[LAZE_SELECT_SCATTER_DIM].value.integer, self.rank, &axis,
                             error));
  LAZE_TRY(laze_size_arithmetic(recorder, '-', self.sizes[axis], 1, &last, error));
  LAZE_TRY(laze_size_arithmetic(recorder, '-', 0, self.sizes[axis], &least, error));
  LAZE_TRY(laze_size_must_be_at_most(recorder, index, last, &inside, error));
  if (inside) LAZE_TRY(laze_size_must_be_at_most(recorder, least, index, &inside, error));
  if (!inside)
    return laze_fail(error, LAZE_OUT_OF_RANGE, "%s: index %s is out of range for dim %d of %s", inference.operator_name,
                     laze_show_size(&inference, index).text, axis, laze_show(&inference, &self).text);
  view.rank = 0;
  for (int i = 0; i < self.rank; i++)
    if (i != axis) view.sizes[view.rank++] = self.sizes[i];
  LAZE_TRY(check_view(recorder, call, &view, call->operands[1], error));
  LAZE_TRY(laze_compose_insert_axis(recorder, call->operands[1], axis, &src, error));
  LAZE_TRY(count_places(recorder, 1, index, 1, &places, error));
  return update(recorder, call->operands[0], axis, places, src, results, error);
}

/* The dims of the diagonal go last and become one, along which its places are `columns + 1` apart. */
laze_status laze_composite_diagonal_scatter(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                            laze_error *error) {
  const laze_attribute *attributes = call->attributes;
  const int64_t offset = attributes[LAZE_DIAGONAL_SCATTER_OFFSET].value.integer;
  laze_type self = laze_compose_type(recorder, call->operands[0]), moved, flat;
  laze_size order[LAZE_MAX_RANK], back[LAZE_MAX_RANK], first, length, step;
  laze_value value, places;
  int a, b, rank = 0;
  LAZE_TRY(
      laze_compose_axis(recorder, call, attributes[LAZE_DIAGONAL_SCATTER_DIM1].value.integer, self.rank, &a, error));
  LAZE_TRY(
      laze_compose_axis(recorder, call, attributes[LAZE_DIAGONAL_SCATTER_DIM2].value.integer, self.rank, &b, error));
  if (a == b || offset > LAZE_MAX_ELEMENTS || offset < -LAZE_MAX_ELEMENTS)
    return laze_fail(error, LAZE_INVALID_ARGUMENT,
                     "%s: dim1 %d, dim2 %d and offset %lld name no diagonal; dims must differ", laze_compose_name(call),
                     a, b, (long long)offset);
  for (int i = 0; i < self.rank; i++)
    if (i != a && i != b) order[rank++] = i;
  order[rank] = a;
  order[rank + 1] = b;
  for (int i = 0; i < self.rank; i++) back[order[i]] = i;
  LAZE_TRY(laze_compose_permute(recorder, call->operands[0], order, self.rank, &value, error));
  moved = flat = laze_compose_type(recorder, value);
  LAZE_TRY(laze_compose_diagonal(recorder, self.sizes[a], self.sizes[b], offset, &first, &length, error));
  flat.rank = rank + 1;
  flat.sizes[rank] = length;
  LAZE_TRY(check_view(recorder, call, &flat, call->operands[1], error));
  LAZE_TRY(laze_size_arithmetic(recorder, '*', self.sizes[a], self.sizes[b], &flat.sizes[rank], error));
  LAZE_TRY(laze_size_arithmetic(recorder, '+', self.sizes[b], 1, &step, error));
  LAZE_TRY(laze_compose_reshape(recorder, value, flat.sizes, flat.rank, &value, error));
  LAZE_TRY(count_places(recorder, length, first, step, &places, error));
  LAZE_TRY(update(recorder, value, rank, places, call->operands[1], &value, error));
  LAZE_TRY(laze_compose_reshape(recorder, value, moved.sizes, moved.rank, &value, error));
  return laze_compose_permute(recorder, value, back, self.rank, results, error);
}
