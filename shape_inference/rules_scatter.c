/* Shapes of operators that write at computed places; the result has the shape of self:
 *
 *   scatter       self[n, m], index[i, j], src[i, j]     (i no longer than n but along dim)
 *   index_update  self[n, m], index[i], source[i, m]     (along dim 0)
 */
#include "shape_inference/rules_internal.h"

#include <string.h>

/* Complex numbers have no order, and two at one place are joined by their parts, of which no product is made. */
static laze_status check_reduce(laze_inference *inference, const laze_type *self, const char *reduce) {
  static const char *const names[] = {"none", "sum", "prod", "amax", "amin"};
  const int own = laze_dtype_is_complex((laze_dtype)self->dtype) ? 2 : (int)(sizeof names / sizeof *names);
  for (int i = 0; i < own; i++)
    if (strcmp(names[i], reduce) == 0) return LAZE_OK;
  if (own == 2)
    return laze_fail(
        inference->error, LAZE_UNSUPPORTED,
        "%s: reduce is '%s', and complex numbers at one place can be added alone ('sum'); multiply tensors "
        "with mul",
        inference->operator_name, reduce);
  return laze_fail(inference->error, LAZE_INVALID_ARGUMENT,
                   "%s: reduce is '%s', expected 'none', 'sum', 'prod', 'amax' or 'amin'", inference->operator_name,
                   reduce);
}

/* The axis that is written to. Composites give a scalar one. */
static laze_status written_axis(laze_inference *inference, const laze_type *self, int64_t dim, int *axis) {
  if (self->rank > 0) return laze_infer_axis(inference, dim, self->rank, axis);
  return laze_fail(inference->error, LAZE_INVALID_ARGUMENT, "%s: self %s has no dimensions; reshape it to one",
                   inference->operator_name, laze_show(inference, self).text);
}

static laze_status same_shape(laze_inference *inference, const laze_type *a, const laze_type *b, bool *out) {
  *out = a->rank == b->rank;
  for (int i = 0; i < a->rank && *out; i++)
    LAZE_TRY(laze_infer_require_equal(inference, a->sizes[i], b->sizes[i], out));
  return LAZE_OK;
}

laze_status laze_shape_scatter(laze_inference *inference, const laze_type *self, int64_t dim, const laze_type *index,
                               const laze_type *src, const char *reduce, laze_type *out) {
  bool fits;
  int axis;
  LAZE_TRY(check_reduce(inference, self, reduce));
  LAZE_TRY(written_axis(inference, self, dim, &axis));
  LAZE_TRY(same_shape(inference, index, src, &fits));
  if (!fits)
    return laze_fail(inference->error, LAZE_INVALID_ARGUMENT, "%s: index %s and src %s have different shapes",
                     inference->operator_name, laze_show(inference, index).text, laze_show(inference, src).text);
  fits = index->rank == self->rank;
  for (int i = 0; i < self->rank && fits; i++)
    if (i != axis) LAZE_TRY(laze_infer_require_less_equal(inference, index->sizes[i], self->sizes[i], &fits));
  laze_copy_shape(self, out);
  if (fits) return LAZE_OK;
  return laze_fail(inference->error, LAZE_INVALID_ARGUMENT,
                   "%s: index %s does not fit into self %s; it must have as many dimensions, and apart from axis %d at "
                   "most the same sizes",
                   inference->operator_name, laze_show(inference, index).text, laze_show(inference, self).text, axis);
}

laze_status laze_shape_index_update(laze_inference *inference, const laze_type *self, int64_t dim,
                                    const laze_type *index, const laze_type *source, const char *reduce,
                                    laze_type *out) {
  int axis;
  LAZE_TRY(check_reduce(inference, self, reduce));
  LAZE_TRY(written_axis(inference, self, dim, &axis));
  bool fits = index->rank == 1 && source->rank == self->rank;
  for (int i = 0; i < self->rank && fits; i++)
    LAZE_TRY(
        laze_infer_require_equal(inference, source->sizes[i], i == axis ? index->sizes[0] : self->sizes[i], &fits));
  laze_copy_shape(self, out);
  if (fits) return LAZE_OK;
  return laze_fail(
      inference->error, LAZE_INVALID_ARGUMENT,
      "%s: source %s does not fit into self %s at index %s; index must be a list, and source have the sizes "
      "of self but along axis %d, where it has one slice for each index",
      inference->operator_name, laze_show(inference, source).text, laze_show(inference, self).text,
      laze_show(inference, index).text, axis);
}
