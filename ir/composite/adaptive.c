/* Means and largest elements of parts: each of the last axes in so many windows that cover it, whatever its size.
 *
 *   part i of p, of an axis of n elements:   floor(i * n / p) up to ceil((i + 1) * n / p)
 *
 *   n = 6, p = 3    0 1 | 2 3 | 4 5                  p divides n: a reshape, and the mean of its places
 *   n = 5, p = 3    0 1 | 1 2 3 | 3 4                otherwise each part has as many places as the longest one may
 * need, 0 1 . | 1 2 3 | 3 4 .            elements chosen by index, of which those behind the part are 0
 */
#include "ir/composite/window.h"

#include "ir/composite.gen.h"
#include "ir/composite/support.h"
#include "ir/op.gen.h"

typedef struct {
  laze_recorder *recorder;
  const laze_call *call;
  laze_type type; /* of self */
  int dims;
  laze_size parts[LAZE_MAX_WINDOW_DIMS];
  laze_error *error;
} parting;

/* The size of self that is parted along a dim. */
static laze_size size_of(const parting *p, int dim) {
  return p->type.sizes[p->type.rank - p->dims + dim];
}

static laze_status fail_part(const parting *p, int dim) {
  const laze_inference inference = {p->recorder->sizes, laze_compose_name(p->call), p->error};
  return laze_fail(p->error, LAZE_INVALID_ARGUMENT,
                   "%s: dim %d of %s in %s parts; expected 0 parts or more, and 1 element or more",
                   inference.operator_name, p->type.rank - p->dims + dim, laze_show(&inference, &p->type).text,
                   laze_show_size(&inference, p->parts[dim]).text);
}

static laze_status read_parts(parting *p) {
  const laze_attribute *list = &p->call->attributes[0];
  if (!laze_dtype_is_float(p->type.dtype))
    return laze_fail(p->error, LAZE_INVALID_ARGUMENT, "%s: self is %s, expected a float; convert it with to(f32) first",
                     laze_compose_name(p->call), laze_dtype_name(p->type.dtype));
  if (p->type.rank != p->dims + 1 && p->type.rank != p->dims + 2)
    return laze_fail(p->error, LAZE_INVALID_ARGUMENT, "%s: self has %d dims, expected %d or %d",
                     laze_compose_name(p->call), p->type.rank, p->dims + 1, p->dims + 2);
  if (list->count != p->dims && list->count != 1)
    return laze_fail(p->error, LAZE_INVALID_ARGUMENT, "%s: output_size has %d numbers, expected %d",
                     laze_compose_name(p->call), list->count, p->dims);
  for (int i = 0; i < p->dims; i++) {
    bool any = true, fits = true;
    p->parts[i] = list->value.items[list->count == 1 ? 0 : i];
    if (laze_size_is_constant(p->parts[i])) fits = p->parts[i] >= 0;
    if (fits) LAZE_TRY(laze_size_must_be_at_most(p->recorder, 1, size_of(p, i), &any, p->error));
    if (!fits || !any) return fail_part(p, i);
  }
  return LAZE_OK;
}

/* Parts of equal sizes */

/* Each of the last axes as [parts, places]: [n, c, 6, 8] in 3 by 2 is [n, c, 3, 2, 2, 4]. *divide is false where some
 * parts differ. */
static laze_status find_equal(const parting *p, laze_size *sizes, bool *divide) {
  int first = p->type.rank - p->dims;
  for (int i = 0; i < first; i++) sizes[i] = p->type.sizes[i];
  *divide = true;
  for (int i = 0; i < p->dims && *divide; i++) {
    laze_size whole, *part = &sizes[first + 2 * i];
    *divide = p->parts[i] != 0;
    if (!*divide) return LAZE_OK;
    part[0] = p->parts[i];
    LAZE_TRY(laze_size_arithmetic(p->recorder, '/', size_of(p, i), part[0], &part[1], p->error));
    LAZE_TRY(laze_size_arithmetic(p->recorder, '*', part[0], part[1], &whole, p->error));
    LAZE_TRY(laze_size_is_equal(p->recorder, whole, size_of(p, i), divide, p->error));
  }
  return LAZE_OK;
}

static laze_status mean_of_equal(const parting *p, const laze_size *sizes, laze_value *out) {
  laze_size axes[LAZE_MAX_WINDOW_DIMS];
  int first = p->type.rank - p->dims;
  for (int i = 0; i < p->dims; i++) axes[i] = first + 2 * i + 1;
  laze_attribute attributes[] = {laze_attribute_integers(axes, p->dims), laze_attribute_boolean(false),
                                 laze_attribute_absent(LAZE_ARGUMENT_DTYPE)};
  LAZE_TRY(laze_compose_reshape(p->recorder, p->call->operands[0], sizes, first + 2 * p->dims, out, p->error));
  return laze_record_call(p->recorder, LAZE_OP_MEAN_DIM, out, 1, attributes, out, p->error);
}

/* Parts of other sizes */

/* What lies where along one axis: places[places, parts] are indices of elements, inside[places, parts] says whether
 * they are the part's, and lengths[parts] how many are. */
typedef struct {
  laze_size sizes[2]; /* places, parts */
  laze_value places, inside, lengths;
} part_table;

/* (i * n + further) / parts for each part i, or i + 1. */
static laze_status find_bound(const parting *p, int dim, const part_table *table, bool end, laze_value *out) {
  laze_recorder *recorder = p->recorder;
  laze_value size, parts, less;
  laze_size count = p->parts[dim] == 0 ? 1 : p->parts[dim]; /* of no part there is no bound */
  LAZE_TRY(laze_compose_size(recorder, size_of(p, dim), &size, p->error));
  LAZE_TRY(laze_compose_size(recorder, count, &parts, p->error));
  LAZE_TRY(laze_compose_iota(recorder, table->sizes, 2, 1, LAZE_I64, out, p->error));
  if (end) LAZE_TRY(laze_compose_with_number(recorder, LAZE_OP_ADD, *out, laze_scalar_integer(1), out, p->error));
  LAZE_TRY(laze_compose_binary(recorder, LAZE_OP_MUL, *out, size, out, p->error));
  if (end) {
    LAZE_TRY(laze_compose_with_number(recorder, LAZE_OP_SUB, parts, laze_scalar_integer(1), &less, p->error));
    LAZE_TRY(laze_compose_binary(recorder, LAZE_OP_ADD, *out, less, out, p->error));
  }
  return laze_compose_binary(recorder, LAZE_OP_FLOOR_DIVIDE, *out, parts, out, p->error);
}

static laze_status find_places(const parting *p, int dim, part_table *out) {
  laze_recorder *recorder = p->recorder;
  laze_value start, end, place;
  laze_size count = p->parts[dim] == 0 ? 1 : p->parts[dim];
  LAZE_TRY(laze_size_binary(recorder->sizes, LAZE_SIZE_CEIL_DIV, size_of(p, dim), count, &out->sizes[0], p->error));
  LAZE_TRY(laze_size_arithmetic(recorder, '+', out->sizes[0], 1, &out->sizes[0], p->error));
  out->sizes[1] = p->parts[dim];
  LAZE_TRY(find_bound(p, dim, out, false, &start));
  LAZE_TRY(find_bound(p, dim, out, true, &end));
  LAZE_TRY(laze_compose_iota(recorder, out->sizes, 2, 0, LAZE_I64, &place, p->error));
  LAZE_TRY(laze_compose_binary(recorder, LAZE_OP_ADD, start, place, &place, p->error));
  LAZE_TRY(laze_compose_binary(recorder, LAZE_OP_LT, place, end, &out->inside, p->error));
  laze_value chosen[3] = {out->inside, place, start};
  LAZE_TRY(laze_record_call(recorder, LAZE_OP_WHERE_SELF, chosen, 3, NULL, &out->places, p->error));
  LAZE_TRY(laze_compose_binary(recorder, LAZE_OP_SUB, end, start, &out->lengths, p->error));
  LAZE_TRY(laze_compose_slice(recorder, out->lengths, 0, 0, 1, &out->lengths, p->error));
  return laze_compose_reshape(recorder, out->lengths, &out->sizes[1], 1, &out->lengths, p->error);
}

/* Axes of one element behind the others. */
static laze_status add_axes(const parting *p, int count, laze_value *value) {
  for (int i = 0; i < count; i++) {
    laze_attribute dim = laze_attribute_integer(-1);
    LAZE_TRY(laze_record_call(p->recorder, LAZE_OP_UNSQUEEZE, value, 1, &dim, value, p->error));
  }
  return LAZE_OK;
}

/* Makes two axes of one, [places, parts], of which those behind a part are a number. */
static laze_status choose(const parting *p, int axis, const part_table *table, laze_scalar behind, laze_value *value) {
  laze_type type = laze_compose_type(p->recorder, *value);
  laze_size all, sizes[LAZE_MAX_RANK];
  laze_value list, chosen[3] = {table->inside};
  laze_attribute dim = laze_attribute_integer(axis);
  LAZE_TRY(laze_size_product(p->recorder->sizes, table->sizes, 2, &all, p->error));
  LAZE_TRY(laze_compose_reshape(p->recorder, table->places, &all, 1, &list, p->error));
  LAZE_TRY(
      laze_record_call(p->recorder, LAZE_OP_INDEX_SELECT, (laze_value[]){*value, list}, 2, &dim, &chosen[1], p->error));
  for (int i = 0; i < type.rank; i++) sizes[i + (i > axis)] = type.sizes[i];
  sizes[axis] = table->sizes[0];
  sizes[axis + 1] = table->sizes[1];
  LAZE_TRY(laze_compose_reshape(p->recorder, chosen[1], sizes, type.rank + 1, &chosen[1], p->error));
  LAZE_TRY(add_axes(p, type.rank - axis - 1, &chosen[0]));
  LAZE_TRY(laze_record_number(p->recorder, type.dtype, behind, &chosen[2], p->error));
  return laze_record_call(p->recorder, LAZE_OP_WHERE_SELF, chosen, 3, NULL, value, p->error);
}

static laze_status mean_of_parts(const parting *p, laze_value *out) {
  laze_windows windows = {.dims = p->dims};
  laze_size axes[LAZE_MAX_WINDOW_DIMS];
  laze_value lengths[LAZE_MAX_WINDOW_DIMS];
  *out = p->call->operands[0];
  for (int i = p->dims; i-- > 0;) {
    part_table table;
    LAZE_TRY(find_places(p, i, &table));
    LAZE_TRY(choose(p, p->type.rank - p->dims + i, &table, laze_scalar_integer(0), out));
    LAZE_TRY(laze_compose_to(p->recorder, table.lengths, p->type.dtype, &lengths[i], p->error));
    LAZE_TRY(add_axes(p, p->dims - 1 - i, &lengths[i]));
  }
  laze_windows_places(&windows, p->type.rank + p->dims, axes);
  laze_attribute attributes[] = {laze_attribute_integers(axes, p->dims), laze_attribute_boolean(false),
                                 laze_attribute_dtype(p->type.dtype)};
  LAZE_TRY(laze_record_call(p->recorder, LAZE_OP_SUM_DIM_INTLIST, out, 1, attributes, out, p->error));
  for (int i = 0; i < p->dims; i++)
    LAZE_TRY(laze_compose_binary(p->recorder, LAZE_OP_DIV, *out, lengths[i], out, p->error));
  return LAZE_OK;
}

static laze_status pool_parts(laze_recorder *recorder, const laze_call *call, int dims, laze_value *results,
                              laze_error *error) {
  parting p = {recorder, call, laze_compose_type(recorder, call->operands[0]), dims, {0}, error};
  laze_size sizes[LAZE_MAX_RANK];
  bool equal;
  LAZE_TRY(read_parts(&p));
  LAZE_TRY(find_equal(&p, sizes, &equal));
  return equal ? mean_of_equal(&p, sizes, results) : mean_of_parts(&p, results);
}

laze_status laze_composite_adaptive_avg_pool1d(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                               laze_error *error) {
  return pool_parts(recorder, call, 1, results, error);
}
laze_status laze_composite__adaptive_avg_pool2d(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                                laze_error *error) {
  return pool_parts(recorder, call, 2, results, error);
}
laze_status laze_composite__adaptive_avg_pool3d(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                                laze_error *error) {
  return pool_parts(recorder, call, 3, results, error);
}

/* Largest elements, and their numbers among those of the axes */

static laze_status largest_of_parts(const parting *p, laze_value *results) {
  const laze_windows windows = {.dims = p->dims};
  const laze_dtype dtype = (laze_dtype)p->type.dtype;
  laze_value elements = p->call->operands[0], numbers;
  LAZE_TRY(
      laze_compose_element_numbers(p->recorder, p->type.sizes + p->type.rank - p->dims, p->dims, &numbers, p->error));
  for (int i = p->dims; i-- > 0;) {
    part_table table;
    LAZE_TRY(find_places(p, i, &table));
    LAZE_TRY(choose(p, p->type.rank - p->dims + i, &table, laze_dtype_lowest(dtype), &elements));
    LAZE_TRY(choose(p, i, &table, laze_scalar_integer(INT64_MAX), &numbers));
  }
  LAZE_TRY(laze_compose_over_places(p->recorder, &windows, LAZE_OP_AMAX, elements, &results[0], p->error));
  return laze_compose_largest_number(p->recorder, &windows, elements, numbers, results[0], &results[1], p->error);
}

static laze_status pool_largest(laze_recorder *recorder, const laze_call *call, int dims, laze_value *results,
                                laze_error *error) {
  parting p = {recorder, call, laze_compose_type(recorder, call->operands[0]), dims, {0}, error};
  LAZE_TRY(read_parts(&p));
  return largest_of_parts(&p, results);
}

laze_status laze_composite_adaptive_max_pool1d(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                               laze_error *error) {
  return pool_largest(recorder, call, 1, results, error);
}
laze_status laze_composite_adaptive_max_pool2d(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                               laze_error *error) {
  return pool_largest(recorder, call, 2, results, error);
}
laze_status laze_composite_adaptive_max_pool3d(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                               laze_error *error) {
  return pool_largest(recorder, call, 3, results, error);
}
