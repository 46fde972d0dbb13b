/* Shapes of operators that align their operands' axes from the right, and of those that make a shape from sizes:
 *
 *   f32[   3, 1]
 *   f32[n, 1, 4]   ──>   f32[n, 3, 4]
 */
#include "shape_inference/rules_internal.h"

/* Whether a size is 1. One that a value defines is not taken to be. */
static laze_status is_one(laze_inference *inference, laze_size size, bool *out) {
  *out = false;
  return laze_size_is_defined(inference->sizes, size) ? LAZE_OK : laze_infer_equal(inference, size, 1, out);
}

/* Whether a value defines one of them, so that nothing but equality is left to hope for where none is 1. */
static bool has_to_fit(const laze_inference *inference, laze_size a, laze_size b) {
  return laze_size_is_defined(inference->sizes, a) || laze_size_is_defined(inference->sizes, b);
}

/* The common size of an axis, of which a value defines one. Whether the other is 1 comes first: a graph that serves any
 * sizes has a symbol for that, too. */
static laze_status join_defined(laze_inference *inference, laze_size a, laze_size b, bool *fits, laze_size *out) {
  *out = a;
  LAZE_TRY(is_one(inference, b, fits));
  if (*fits) return LAZE_OK;
  *out = b;
  LAZE_TRY(is_one(inference, a, fits));
  if (*fits) return LAZE_OK;
  if (!laze_size_is_constant(b)) *out = a; /* of two that are equal, the one that says more */
  return laze_infer_require_equal(inference, a, b, fits);
}

/* The common size of an axis, or *fits false. */
static laze_status join_sizes(laze_inference *inference, laze_size a, laze_size b, bool *fits, laze_size *out) {
  *fits = true;
  *out = a;
  if (a == b || b == 1) return LAZE_OK;
  if (a != 1) {
    if (has_to_fit(inference, a, b)) return join_defined(inference, a, b, fits, out);
    LAZE_TRY(laze_infer_equal(inference, a, b, fits));
    if (*fits && laze_size_is_constant(b)) *out = b; /* of two that are equal, the one that says more */
    if (*fits) return LAZE_OK;
    LAZE_TRY(laze_infer_equal(inference, b, 1, fits));
    if (*fits) return LAZE_OK;
    LAZE_TRY(laze_infer_equal(inference, a, 1, fits));
  }
  *out = b;
  return LAZE_OK;
}

static laze_status fail_broadcast(laze_inference *inference, const laze_type *so_far, const laze_type *operand,
                                  int from_end) {
  laze_type other = *operand; /* both with their dtype, or neither */
  if (so_far->dtype == LAZE_DTYPE_NONE) other.dtype = LAZE_DTYPE_NONE;
  laze_size a = so_far->sizes[so_far->rank - from_end], b = operand->sizes[operand->rank - from_end];
  int axis = so_far->rank == operand->rank ? operand->rank - from_end : -from_end;
  return laze_fail(inference->error, LAZE_INVALID_ARGUMENT,
                   "%s: shapes %s and %s do not broadcast: axis %d has sizes %s and %s; make them equal or one of "
                   "them 1",
                   inference->operator_name, laze_show(inference, so_far).text, laze_show(inference, &other).text, axis,
                   laze_show_size(inference, a).text, laze_show_size(inference, b).text);
}

/* `dtype`: of what `out` holds so far, for messages. */
static laze_status broadcast_unequal(laze_inference *inference, const laze_type *operand, laze_dtype dtype,
                                     laze_type *out) {
  laze_type so_far = {.kind = LAZE_TYPE_TENSOR, .dtype = (uint8_t)dtype};
  laze_copy_shape(out, &so_far);
  int rank = operand->rank > out->rank ? operand->rank : out->rank;
  out->rank = (uint8_t)rank;
  for (int i = 1; i <= rank; i++) {
    laze_size *size = &out->sizes[rank - i];
    if (i > so_far.rank) {
      *size = operand->sizes[operand->rank - i];
    } else if (i > operand->rank) {
      *size = so_far.sizes[so_far.rank - i];
    } else {
      bool fits;
      LAZE_TRY(join_sizes(inference, so_far.sizes[so_far.rank - i], operand->sizes[operand->rank - i], &fits, size));
      if (!fits) return fail_broadcast(inference, &so_far, operand, i);
    }
  }
  return laze_infer_check_elements(inference, out);
}

/* The cases that nearly every call is: equal shapes, and something with a number. */
static inline bool broadcasts_at_once(const laze_type *operand, laze_type *out) {
  if (operand->rank == 0) return true;
  if (out->rank == 0) {
    laze_copy_shape(operand, out);
    return true;
  }
  if (operand->rank != out->rank) return false;
  for (int i = 0; i < operand->rank; i++)
    if (operand->sizes[i] != out->sizes[i]) return false;
  return true;
}

laze_status laze_infer_broadcast_into(laze_inference *inference, const laze_type *operand, laze_type *out) {
  if (broadcasts_at_once(operand, out)) return LAZE_OK;
  return broadcast_unequal(inference, operand, out->dtype, out);
}

laze_status laze_shape_broadcast(laze_inference *inference, const laze_type *const *operands, int32_t operand_count,
                                 laze_type *out) {
  out->rank = 0;
  for (int32_t i = 0; i < operand_count; i++) {
    if (!operands[i] || broadcasts_at_once(operands[i], out)) continue;
    /* With two operands, what there is so far is the first of them; of several it has no dtype of its own. */
    laze_dtype dtype = i == 1 && operands[0] ? operands[0]->dtype : LAZE_DTYPE_NONE;
    LAZE_TRY(broadcast_unequal(inference, operands[i], dtype, out));
  }
  return LAZE_OK;
}

laze_status laze_shape_same(laze_inference *inference, const laze_type *self, laze_type *out) {
  (void)inference; /* every rule has it */
  laze_copy_shape(self, out);
  return LAZE_OK;
}

laze_status laze_shape_along(laze_inference *inference, const laze_type *self, int64_t dim, laze_type *out) {
  int axis;
  laze_copy_shape(self, out);
  return laze_infer_axis(inference, dim, self->rank, &axis);
}

laze_status laze_shape_size_value(laze_inference *inference, laze_size value, laze_type *out) {
  bool within = !laze_size_is_constant(value) || (value > LAZE_SIZE_CONSTANT_MIN && value <= LAZE_SIZE_CONSTANT_MAX);
  if (within) return laze_shape_scalar(inference, out);
  return laze_fail(inference->error, LAZE_OUT_OF_RANGE,
                   "%s: the value is beyond 2^62, where sizes end; write a constant for a number that is no size",
                   inference->operator_name);
}

laze_status laze_shape_size_from(laze_inference *inference, const laze_type *value, laze_size size, int64_t index,
                                 int64_t low, int64_t high, laze_type *out) {
  bool there = index == 0;
  if (value->rank > 1 || !laze_dtype_is_index(value->dtype))
    return laze_fail(inference->error, LAZE_INVALID_ARGUMENT,
                     "%s: a size comes from %s of at most one dim, not from %s", inference->operator_name,
                     laze_dtype_list(laze_dtype_index_set(), LAZE_NAME_SHORT, " or ").text,
                     laze_show(inference, value).text);
  if (value->rank == 1) LAZE_TRY(laze_infer_require_less_equal(inference, index + 1, value->sizes[0], &there));
  if (index < 0 || !there)
    return laze_fail(inference->error, LAZE_OUT_OF_RANGE, "%s: %s has no element %lld", inference->operator_name,
                     laze_show(inference, value).text, (long long)index);
  if (!inference->sizes)
    return laze_fail(inference->error, LAZE_UNSUPPORTED, "%s: the graph has no table of sizes",
                     inference->operator_name);
  LAZE_TRY(laze_infer_named(inference, laze_size_define(inference->sizes, size, low, high, inference->error)));
  return laze_shape_scalar(inference, out);
}

laze_status laze_shape_scalar(laze_inference *inference, laze_type *out) {
  (void)inference;
  out->rank = 0;
  return LAZE_OK;
}

laze_status laze_shape_sizes(laze_inference *inference, laze_size_list size, laze_type *out) {
  LAZE_TRY(laze_infer_check_rank(inference, size.count));
  out->rank = (uint8_t)size.count;
  for (int i = 0; i < size.count; i++) {
    LAZE_TRY(laze_infer_check_size(inference, size.items[i], i));
    out->sizes[i] = size.items[i];
  }
  return laze_infer_check_elements(inference, out);
}

laze_status laze_shape_iota(laze_inference *inference, laze_size_list size, int64_t dim, laze_type *out) {
  LAZE_TRY(laze_shape_sizes(inference, size, out));
  int axis;
  return laze_infer_axis(inference, dim, out->rank, &axis);
}

static laze_status expand_axis(laze_inference *inference, const laze_type *self, int axis, laze_size size,
                               laze_size *out) {
  laze_size old = self->sizes[axis];
  bool fits;
  *out = old;
  if (size == -1) return LAZE_OK;
  LAZE_TRY(laze_infer_check_size(inference, size, axis));
  *out = size;
  if (old == size || old == 1) return LAZE_OK;
  const bool must_fit = has_to_fit(inference, old, size);
  LAZE_TRY(must_fit ? is_one(inference, old, &fits) : laze_infer_equal(inference, old, size, &fits));
  if (!fits)
    LAZE_TRY(must_fit ? laze_infer_require_equal(inference, old, size, &fits)
                      : laze_infer_equal(inference, old, 1, &fits));
  if (fits) return LAZE_OK;
  return laze_fail(inference->error, LAZE_INVALID_ARGUMENT,
                   "%s: axis %d of %s has size %s and cannot become %s; only axes of size 1 expand, -1 keeps an axis",
                   inference->operator_name, axis, laze_show(inference, self).text, laze_show_size(inference, old).text,
                   laze_show_size(inference, size).text);
}

laze_status laze_shape_expand(laze_inference *inference, const laze_type *self, laze_size_list size, laze_type *out) {
  int added = size.count - self->rank;
  if (added < 0)
    return laze_fail(inference->error, LAZE_INVALID_ARGUMENT,
                     "%s: %d sizes for %s; give at least as many sizes as the operand has dimensions",
                     inference->operator_name, size.count, laze_show(inference, self).text);
  LAZE_TRY(laze_infer_check_rank(inference, size.count));
  out->rank = (uint8_t)size.count;
  for (int i = 0; i < size.count; i++) {
    if (i >= added) {
      LAZE_TRY(expand_axis(inference, self, i - added, size.items[i], &out->sizes[i]));
      continue;
    }
    if (size.items[i] == -1 && self->rank > 0)
      return laze_fail(inference->error, LAZE_INVALID_ARGUMENT,
                       "%s: size -1 at position %d would keep an axis that %s does not have; give its size",
                       inference->operator_name, i, laze_show(inference, self).text);
    LAZE_TRY(laze_infer_check_size(inference, size.items[i], i));
    out->sizes[i] = size.items[i];
  }
  return laze_infer_check_elements(inference, out);
}
