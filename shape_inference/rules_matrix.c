/* Types of linear algebra: the last two axes are those of a matrix, the others count matrices.
 *
 *   A [b..., m,n]    Q [b..., m,k]    tau [b..., k]      k = min(m, n)
 */
#include "shape_inference/rules_internal.h"

#include <string.h>

enum { ROWS, COLUMNS, LESSER };

static laze_status check_matrix(laze_inference *inference, const laze_type *self) {
  if (self->rank >= 2) return LAZE_OK;
  return laze_fail(inference->error, LAZE_INVALID_ARGUMENT,
                   "%s: a matrix or a batch of matrices was expected, with 2 dimensions or more; got %s",
                   inference->operator_name, laze_show(inference, self).text);
}

/* `size` of one operand must be `expected`, which another has. */
static laze_status check_size(laze_inference *inference, const char *what, laze_size size, const laze_type *self,
                              laze_size expected, const laze_type *other) {
  bool same;
  LAZE_TRY(laze_infer_require_equal(inference, size, expected, &same));
  if (same) return LAZE_OK;
  return laze_fail(inference->error, LAZE_INVALID_ARGUMENT, "%s: %s of %s are %s, expected %s, as %s has them",
                   inference->operator_name, what, laze_show(inference, self).text,
                   laze_show_size(inference, size).text, laze_show_size(inference, expected).text,
                   laze_show(inference, other).text);
}

static laze_status check_square(laze_inference *inference, const laze_type *self) {
  bool same;
  LAZE_TRY(check_matrix(inference, self));
  LAZE_TRY(laze_infer_require_equal(inference, self->sizes[self->rank - 2], self->sizes[self->rank - 1], &same));
  if (same) return LAZE_OK;
  return laze_fail(inference->error, LAZE_INVALID_ARGUMENT,
                   "%s: a square matrix or a batch of square matrices was expected, got %s", inference->operator_name,
                   laze_show(inference, self).text);
}

/* The first `count` axes must be as long in both. */
static laze_status check_batch(laze_inference *inference, const laze_type *self, const laze_type *other, int count) {
  for (int i = 0; i < count; i++)
    LAZE_TRY(check_size(inference, "matrices", other->sizes[i], other, self->sizes[i], self));
  return LAZE_OK;
}

laze_status laze_shape_matrix(laze_inference *inference, const laze_type *self, laze_type *out) {
  LAZE_TRY(check_matrix(inference, self));
  laze_copy_shape(self, out);
  return LAZE_OK;
}

laze_status laze_shape_square(laze_inference *inference, const laze_type *self, laze_type *out) {
  LAZE_TRY(check_square(inference, self));
  laze_copy_shape(self, out);
  return LAZE_OK;
}

laze_status laze_shape_matrix_part(laze_inference *inference, const laze_type *self, laze_size_list sides, bool full,
                                   bool wanted, laze_type *out) {
  LAZE_TRY(check_matrix(inference, self));
  out->rank = 1;
  out->sizes[0] = 0;
  if (!wanted) return LAZE_OK;
  const laze_size *own = self->sizes + self->rank - 2;
  laze_size lesser;
  LAZE_TRY(laze_infer_binary(inference, LAZE_SIZE_MIN, own[0], own[1], &lesser));
  laze_copy_shape(self, out);
  out->rank = self->rank - 2 + sides.count;
  for (int32_t i = 0; i < sides.count; i++) {
    laze_size side = sides.items[i];
    if (side == LESSER && full) side = sides.items[1 - i];
    out->sizes[self->rank - 2 + i] = side == LESSER ? lesser : own[side];
  }
  return laze_infer_check_elements(inference, out);
}

laze_status laze_shape_square_rows(laze_inference *inference, const laze_type *self, laze_type *out) {
  LAZE_TRY(check_square(inference, self));
  laze_copy_shape(self, out);
  out->rank--;
  return LAZE_OK;
}

laze_status laze_shape_eigenvalues(laze_inference *inference, const laze_type *self, const char *UPLO, laze_type *out) {
  LAZE_TRY(laze_shape_square_rows(inference, self, out));
  if (strchr("LlUu", *UPLO) == NULL || *UPLO == '\0')
    return laze_fail(inference->error, LAZE_INVALID_ARGUMENT,
                     "%s: UPLO is \"%s\"; write \"L\" for the lower triangle or \"U\" for the upper one",
                     inference->operator_name, UPLO);
  return LAZE_OK;
}

laze_status laze_shape_singular_values(laze_inference *inference, const laze_type *self, const char *driver,
                                       laze_type *out) {
  const laze_size side = LESSER;
  if (driver)
    return laze_fail(inference->error, LAZE_UNSUPPORTED,
                     "%s: driver is \"%s\"; there is one way to compute singular values here; leave it out",
                     inference->operator_name, driver);
  return laze_shape_matrix_part(inference, self, (laze_size_list){&side, 1, true}, false, true, out);
}

laze_status laze_shape_factor_part(laze_inference *inference, const laze_type *self, const laze_type *pivots,
                                   laze_size_list sides, bool wanted, laze_type *out) {
  laze_type expected;
  laze_size lesser = LESSER;
  LAZE_TRY(laze_shape_matrix_part(inference, self, (laze_size_list){&lesser, 1, true}, false, true, &expected));
  if (pivots->rank != expected.rank)
    return laze_fail(inference->error, LAZE_INVALID_ARGUMENT,
                     "%s: pivots %s do not belong to %s; one for each row of each matrix was expected",
                     inference->operator_name, laze_show(inference, pivots).text, laze_show(inference, self).text);
  LAZE_TRY(check_batch(inference, self, pivots, self->rank - 2));
  LAZE_TRY(check_size(inference, "pivots", pivots->sizes[pivots->rank - 1], pivots, expected.sizes[expected.rank - 1],
                      self));
  return laze_shape_matrix_part(inference, self, sides, false, wanted, out);
}

laze_status laze_shape_householder(laze_inference *inference, const laze_type *self, const laze_type *tau,
                                   laze_type *out) {
  bool fits;
  LAZE_TRY(check_matrix(inference, self));
  const laze_size *own = self->sizes + self->rank - 2;
  LAZE_TRY(laze_infer_require_less_equal(inference, own[1], own[0], &fits));
  if (fits && tau->rank != self->rank - 1) fits = false;
  if (fits) LAZE_TRY(laze_infer_require_less_equal(inference, tau->sizes[tau->rank - 1], own[1], &fits));
  if (!fits)
    return laze_fail(
        inference->error, LAZE_INVALID_ARGUMENT,
        "%s: input is %s and tau is %s; matrices with no more columns than rows were expected, and for each "
        "of them a list of at most as many numbers as columns",
        inference->operator_name, laze_show(inference, self).text, laze_show(inference, tau).text);
  LAZE_TRY(check_batch(inference, self, tau, self->rank - 2));
  laze_copy_shape(self, out);
  return LAZE_OK;
}

laze_status laze_shape_reflected(laze_inference *inference, const laze_type *self, const laze_type *tau,
                                 const laze_type *other, bool left, laze_type *out) {
  bool fits;
  LAZE_TRY(check_matrix(inference, self));
  LAZE_TRY(check_matrix(inference, other));
  if (tau->rank != self->rank - 1 || other->rank != self->rank)
    return laze_fail(
        inference->error, LAZE_INVALID_ARGUMENT,
        "%s: input is %s, tau %s and other %s; all must have the same batch dimensions, input and other two "
        "more, and tau one more",
        inference->operator_name, laze_show(inference, self).text, laze_show(inference, tau).text,
        laze_show(inference, other).text);
  const laze_size *own = self->sizes + self->rank - 2;
  laze_size count = tau->sizes[tau->rank - 1], side = other->sizes[other->rank - (left ? 2 : 1)];
  LAZE_TRY(check_batch(inference, self, tau, self->rank - 2));
  LAZE_TRY(check_batch(inference, self, other, self->rank - 2));
  LAZE_TRY(laze_infer_require_less_equal(inference, count, own[1], &fits));
  if (fits) LAZE_TRY(laze_infer_require_less_equal(inference, count, own[0], &fits));
  if (!fits)
    return laze_fail(inference->error, LAZE_INVALID_ARGUMENT,
                     "%s: tau %s has more numbers than the matrices of input %s have rows or columns",
                     inference->operator_name, laze_show(inference, tau).text, laze_show(inference, self).text);
  LAZE_TRY(check_size(inference, left ? "rows" : "columns", side, other, own[0], self));
  laze_copy_shape(other, out);
  return LAZE_OK;
}

laze_status laze_shape_solution(laze_inference *inference, const laze_type *self, const laze_type *other, bool left,
                                laze_type *out) {
  LAZE_TRY(check_square(inference, self));
  LAZE_TRY(check_matrix(inference, other));
  laze_type batch = *self, second = *other;
  batch.rank -= 2;
  second.rank -= 2;
  const laze_size *own = other->sizes + other->rank - 2;
  LAZE_TRY(
      check_size(inference, left ? "rows" : "columns", own[left ? 0 : 1], other, self->sizes[self->rank - 1], self));
  out->rank = 0;
  LAZE_TRY(laze_infer_broadcast_into(inference, &batch, out));
  LAZE_TRY(laze_infer_broadcast_into(inference, &second, out));
  out->sizes[out->rank++] = own[0];
  out->sizes[out->rank++] = own[1];
  return laze_infer_check_elements(inference, out);
}

laze_status laze_shape_factor_solution(laze_inference *inference, const laze_type *self, const laze_type *pivots,
                                       const laze_type *other, bool left, laze_type *out) {
  const laze_size side = ROWS;
  LAZE_TRY(laze_shape_factor_part(inference, self, pivots, (laze_size_list){&side, 1, true}, true, out));
  return laze_shape_solution(inference, self, other, left, out);
}

/* X of A X = B in the sense of least squares: as many rows as A has columns. */
laze_status laze_shape_least_solution(laze_inference *inference, const laze_type *self, const laze_type *other,
                                      laze_type *out) {
  LAZE_TRY(check_matrix(inference, self));
  LAZE_TRY(check_matrix(inference, other));
  laze_type batch = *self, second = *other;
  batch.rank -= 2;
  second.rank -= 2;
  LAZE_TRY(check_size(inference, "rows", other->sizes[other->rank - 2], other, self->sizes[self->rank - 2], self));
  out->rank = 0;
  LAZE_TRY(laze_infer_broadcast_into(inference, &batch, out));
  LAZE_TRY(laze_infer_broadcast_into(inference, &second, out));
  out->sizes[out->rank++] = self->sizes[self->rank - 1];
  out->sizes[out->rank++] = other->sizes[other->rank - 1];
  return laze_infer_check_elements(inference, out);
}

/* Of what a driver does not find there are no elements. */
static laze_status find_least(laze_inference *inference, const laze_type *self, const laze_type *other, bool found,
                              laze_size last, laze_type *out) {
  LAZE_TRY(laze_shape_least_solution(inference, self, other, out));
  out->rank = found ? out->rank - 1 : 1;
  out->sizes[out->rank - 1] = found ? last : 0;
  return LAZE_OK;
}

laze_status laze_shape_least_residuals(laze_inference *inference, const laze_type *self, const laze_type *other,
                                       const char *driver, laze_type *out) {
  bool wide;
  LAZE_TRY(laze_shape_least_solution(inference, self, other, out));
  const laze_size *own = self->sizes + self->rank - 2;
  LAZE_TRY(laze_infer_less_equal(inference, own[0], own[1], &wide));
  return find_least(inference, self, other, !wide && strcmp(driver, "gelsy") != 0, other->sizes[other->rank - 1], out);
}

laze_status laze_shape_least_rank(laze_inference *inference, const laze_type *self, const laze_type *other,
                                  const char *driver, laze_type *out) {
  static const char *const drivers[] = {"gels", "gelsy", "gelsd", "gelss"};
  bool known = false, found = strcmp(driver, "gels") != 0;
  for (size_t i = 0; i < sizeof drivers / sizeof *drivers; i++) known = known || strcmp(driver, drivers[i]) == 0;
  if (!known)
    return laze_fail(inference->error, LAZE_INVALID_ARGUMENT,
                     "%s: driver is \"%s\"; write \"gels\", \"gelsy\", \"gelsd\" or \"gelss\"",
                     inference->operator_name, driver);
  LAZE_TRY(find_least(inference, self, other, found, 0, out));
  out->rank -= found;
  return LAZE_OK;
}

laze_status laze_shape_least_values(laze_inference *inference, const laze_type *self, const laze_type *other,
                                    const char *driver, laze_type *out) {
  laze_size lesser;
  LAZE_TRY(check_matrix(inference, self));
  const laze_size *own = self->sizes + self->rank - 2;
  LAZE_TRY(laze_infer_binary(inference, LAZE_SIZE_MIN, own[0], own[1], &lesser));
  return find_least(inference, self, other, !strcmp(driver, "gelsd") || !strcmp(driver, "gelss"), lesser, out);
}

laze_status laze_dtype_matrix(laze_inference *inference, const laze_type *const *tensors, int32_t tensor_count,
                              laze_dtype *out) {
  *out = tensors[0]->dtype;
  for (int32_t i = 0; i < tensor_count; i++) {
    laze_dtype dtype = tensors[i]->dtype;
    if (dtype != *out)
      return laze_fail(inference->error, LAZE_INVALID_ARGUMENT,
                       "%s: operands are %s and %s; linear algebra needs one dtype; convert one of them with to(%s)",
                       inference->operator_name, laze_show(inference, tensors[0]).text,
                       laze_show(inference, tensors[i]).text, laze_dtype_name(laze_dtype_convertible(*out, dtype)));
    if (!laze_dtype_is_inexact(dtype) || laze_dtype_is_half(dtype))
      return laze_fail(inference->error, LAZE_INVALID_ARGUMENT,
                       "%s: %s was given; f32, f64, c64 or c128 was expected; convert it with to(f32)",
                       inference->operator_name, laze_show(inference, tensors[i]).text);
  }
  return LAZE_OK;
}

laze_status laze_dtype_matrix_real(laze_inference *inference, const laze_type *self, laze_dtype *out) {
  LAZE_TRY(laze_dtype_matrix(inference, &self, 1, out));
  *out = laze_dtype_part(*out);
  return LAZE_OK;
}

laze_status laze_dtype_matrix_complex(laze_inference *inference, const laze_type *self, laze_dtype *out) {
  LAZE_TRY(laze_dtype_matrix(inference, &self, 1, out));
  *out = laze_dtype_paired(*out);
  return LAZE_OK;
}

laze_status laze_dtype_factor(laze_inference *inference, const laze_type *pivots, const laze_type *const *tensors,
                              int32_t tensor_count, laze_dtype *out) {
  LAZE_TRY(laze_dtype_matrix(inference, tensors, tensor_count, out));
  if (pivots->dtype == LAZE_I32) return LAZE_OK;
  return laze_fail(inference->error, LAZE_INVALID_ARGUMENT,
                   "%s: pivots are %s; i32 was expected, as factors have them; convert them with to(i32)",
                   inference->operator_name, laze_show(inference, pivots).text);
}
