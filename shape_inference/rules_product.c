/* Shapes of matrix products: [n, k] x [k, m] ──> [n, m], and the same for each matrix of a batch. */
#include "shape_inference/rules_internal.h"

static laze_status check_matrices(laze_inference *inference, const laze_type *self, const laze_type *mat2, int rank) {
  if (self->rank == rank && mat2->rank == rank) return LAZE_OK;
  return laze_fail(inference->error, LAZE_INVALID_ARGUMENT,
                   "%s: self is %s and mat2 is %s; both must have %d dimensions", inference->operator_name,
                   laze_show(inference, self).text, laze_show(inference, mat2).text, rank);
}

/* Axis `a` of self must be as long as axis `b` of mat2. */
static laze_status check_equal(laze_inference *inference, const laze_type *self, int a, const laze_type *mat2, int b) {
  bool same;
  LAZE_TRY(laze_infer_require_equal(inference, self->sizes[a], mat2->sizes[b], &same));
  if (same) return LAZE_OK;
  return laze_fail(inference->error, LAZE_INVALID_ARGUMENT,
                   "%s: shapes %s and %s do not multiply: axis %d of self has size %s and axis %d of mat2 has size %s; "
                   "make them equal",
                   inference->operator_name, laze_show(inference, self).text, laze_show(inference, mat2).text, a,
                   laze_show_size(inference, self->sizes[a]).text, b, laze_show_size(inference, mat2->sizes[b]).text);
}

laze_status laze_shape_mm(laze_inference *inference, const laze_type *self, const laze_type *mat2, laze_type *out) {
  LAZE_TRY(check_matrices(inference, self, mat2, 2));
  LAZE_TRY(check_equal(inference, self, 1, mat2, 0));
  out->rank = 2;
  out->sizes[0] = self->sizes[0];
  out->sizes[1] = mat2->sizes[1];
  return laze_infer_check_elements(inference, out);
}

laze_status laze_shape_bmm(laze_inference *inference, const laze_type *self, const laze_type *mat2, laze_type *out) {
  LAZE_TRY(check_matrices(inference, self, mat2, 3));
  LAZE_TRY(check_equal(inference, self, 0, mat2, 0));
  LAZE_TRY(check_equal(inference, self, 2, mat2, 1));
  out->rank = 3;
  out->sizes[0] = laze_size_is_constant(mat2->sizes[0]) ? mat2->sizes[0] : self->sizes[0];
  out->sizes[1] = self->sizes[1];
  out->sizes[2] = mat2->sizes[2];
  return laze_infer_check_elements(inference, out);
}
