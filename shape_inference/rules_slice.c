/* Slices: where the bounds lie.
 *
 *   slice f32[n], start=-3, end=n    bounds count from the end and are clamped by facts: f32[3] where 3 <= n
 *   slice f32[n], end=u0             a value defines u0: no fact, but f32[min(u0, n)] where u0 is 0 or more
 */
#include "shape_inference/rules_internal.h"

static int64_t clamp_constant(int64_t bound, int64_t size) {
  if (bound < 0) bound += size;
  if (bound < 0) return 0;
  return bound > size ? size : bound;
}

/* bound, at least `low` (else `low`) and at most `high` (else `high`). */
static laze_status clamp_size(laze_inference *inference, laze_size bound, laze_size low, laze_size high,
                              laze_size *out) {
  bool inside;
  if (!laze_size_has_hints(inference->sizes)) {
    LAZE_TRY(laze_infer_binary(inference, LAZE_SIZE_MIN, bound, high, out));
    return laze_infer_binary(inference, LAZE_SIZE_MAX, *out, low, out);
  }
  *out = low;
  LAZE_TRY(laze_infer_less_equal(inference, low, bound, &inside));
  if (!inside) return LAZE_OK;
  LAZE_TRY(laze_infer_less_equal(inference, bound, high, &inside));
  *out = inside ? bound : high;
  return LAZE_OK;
}

/* Counts a negative bound from the end. */
static laze_status wrap_bound(laze_inference *inference, laze_size bound, laze_size size, laze_size *out) {
  bool from_start;
  if (bound > LAZE_SIZE_CONSTANT_MAX) bound = LAZE_SIZE_CONSTANT_MAX; /* callers write "the end" as INT64_MAX */
  *out = bound;
  LAZE_TRY(laze_infer_less_equal(inference, 0, bound, &from_start));
  return from_start ? LAZE_OK : laze_infer_binary(inference, LAZE_SIZE_ADD, bound, size, out);
}

static bool any_defined(const laze_inference *inference, laze_size a, laze_size b) {
  return laze_size_is_defined(inference->sizes, a) || laze_size_is_defined(inference->sizes, b);
}

/* Counts a bound that may turn out to be negative from the end: max(b, 0) + min(max(-b, 0), 1) * (b + size), where the
 * factor is 1 for a negative b and 0 otherwise. */
static laze_status wrap_defined(laze_inference *inference, laze_size bound, laze_size size, laze_size *out) {
  bool from_start;
  laze_size negative, wrapped;
  if (bound > LAZE_SIZE_CONSTANT_MAX) bound = LAZE_SIZE_CONSTANT_MAX; /* callers write "the end" as INT64_MAX */
  *out = bound;
  LAZE_TRY(
      laze_infer_named(inference, laze_size_ask_less_equal(inference->sizes, 0, bound, &from_start, inference->error)));
  if (from_start) return LAZE_OK;
  LAZE_TRY(laze_infer_subtract(inference, 0, bound, &negative));
  LAZE_TRY(laze_infer_binary(inference, LAZE_SIZE_MAX, negative, 0, &negative));
  LAZE_TRY(laze_infer_binary(inference, LAZE_SIZE_MIN, negative, 1, &negative));
  LAZE_TRY(laze_infer_binary(inference, LAZE_SIZE_ADD, bound, size, &wrapped));
  LAZE_TRY(laze_infer_binary(inference, LAZE_SIZE_MUL, negative, wrapped, &wrapped));
  LAZE_TRY(laze_infer_binary(inference, LAZE_SIZE_MAX, bound, 0, out));
  return laze_infer_binary(inference, LAZE_SIZE_ADD, *out, wrapped, out);
}

/* A bound within [0, size]. */
static laze_status place_defined(laze_inference *inference, laze_size bound, laze_size size, laze_size *out) {
  LAZE_TRY(wrap_defined(inference, bound, size, out));
  LAZE_TRY(laze_infer_binary(inference, LAZE_SIZE_MIN, *out, size, out));
  return laze_infer_binary(inference, LAZE_SIZE_MAX, *out, 0, out);
}

/* Bounds among which is a defined size: right for every number that the run may find, and nothing is asked. */
static laze_status defined_bounds(laze_inference *inference, laze_size size, const laze_size *start,
                                  const laze_size *end, laze_size *first, laze_size *length) {
  laze_size last = size;
  *first = 0;
  if (start) LAZE_TRY(place_defined(inference, *start, size, first));
  if (end) LAZE_TRY(place_defined(inference, *end, size, &last));
  LAZE_TRY(laze_infer_subtract(inference, last, *first, length));
  return laze_infer_binary(inference, LAZE_SIZE_MAX, *length, 0, length);
}

static laze_status symbolic_bounds(laze_inference *inference, laze_size size, const laze_size *start,
                                   const laze_size *end, int64_t step, laze_size *first, laze_size *length) {
  laze_size last = size;
  *first = 0;
  if (start) {
    LAZE_TRY(wrap_bound(inference, *start, size, first));
    LAZE_TRY(clamp_size(inference, *first, 0, size, first));
  }
  if (end) LAZE_TRY(wrap_bound(inference, *end, size, &last));
  /* first <= size, so that clamping to [first, size] is clamping to [0, size] and then to what follows `first`. */
  if (end) LAZE_TRY(clamp_size(inference, last, *first, size, &last));
  LAZE_TRY(laze_infer_subtract(inference, last, *first, length));
  return laze_infer_binary(inference, LAZE_SIZE_CEIL_DIV, *length, step, length);
}

laze_status laze_slice_bounds(laze_inference *inference, laze_size size, const laze_size *start, const laze_size *end,
                              int64_t step, laze_size *first, laze_size *length) {
  if (step < 1)
    return laze_fail(inference->error, LAZE_OUT_OF_RANGE, "%s: step %lld; a slice's step is 1 or more",
                     inference->operator_name, (long long)step);
  step = laze_size_saturate(step);
  bool constant =
      laze_size_is_constant(size) && (!start || laze_size_is_constant(*start)) && (!end || laze_size_is_constant(*end));
  bool defined = any_defined(inference, size, start ? *start : 0) || any_defined(inference, 0, end ? *end : 0);
  if (defined) {
    LAZE_TRY(defined_bounds(inference, size, start, end, first, length));
    return laze_infer_binary(inference, LAZE_SIZE_CEIL_DIV, *length, step, length);
  }
  if (!constant) return symbolic_bounds(inference, size, start, end, step, first, length);
  int64_t from = start ? clamp_constant(*start, size) : 0, to = end ? clamp_constant(*end, size) : size;
  *first = from;
  *length = to > from ? (to - from - 1) / step + 1 : 0;
  return LAZE_OK;
}

laze_status laze_shape_slice(laze_inference *inference, const laze_type *self, int64_t dim, const laze_size *start,
                             const laze_size *end, int64_t step, laze_type *out) {
  int axis;
  laze_size first;
  if (self->rank == 0)
    return laze_fail(inference->error, LAZE_INVALID_ARGUMENT,
                     "%s: %s has no axis to slice; pass a tensor with at least one dimension", inference->operator_name,
                     laze_show(inference, self).text);
  LAZE_TRY(laze_infer_axis(inference, dim, self->rank, &axis));
  laze_copy_shape(self, out);
  return laze_slice_bounds(inference, self->sizes[axis], start, end, step, &first, &out->sizes[axis]);
}
