/* Orthogonal factors of matrices: reflections, eigenvectors, singular vectors. All of them are copied to columns and
 * back.
 *
 *   A [m,n] = Q [m,k] R [k,n]      A = Q diag(values) Q'      A = U [m,k] diag(S [k]) Vh [k,n]      k = min(m, n)
 */
#include "runtime/lapack/matrix_internal.h"

#include <math.h>
#include <string.h>

enum { BLOCK = 32 }; /* columns that LAPACK works on at a time */

static matrix_scratch measure_qr(const laze_matrix_call *call) {
  int64_t m = matrix_rows(&call->operands[0]), n = matrix_columns(&call->operands[0]);
  return (matrix_scratch){.copies = m * n, .work = n * BLOCK};
}

static laze_status run_qr(const matrix_work *work, laze_error *error) {
  const laze_matrix_tensor *a = &work->call->operands[0];
  int32_t m = (int32_t)matrix_rows(a), n = (int32_t)matrix_columns(a), leading = matrix_leading(m), info = 0;
  if (m == 0 || n == 0) return LAZE_OK;
  matrix_transpose(work->in[0], work->copies, m, n, work->element);
  work->lapack->qr(&m, &n, work->copies, &leading, work->out[1], work->work, &work->work_count, &info);
  matrix_transpose(work->copies, work->out[0], n, m, work->element);
  return matrix_check_info(info, error);
}

const matrix_kernel matrix_kernel_qr = {{2}, {2, 1}, 1, 2, false, measure_qr, run_qr};

static laze_status run_householder(const matrix_work *work, laze_error *error) {
  const laze_matrix_tensor *a = &work->call->operands[0];
  int32_t m = (int32_t)matrix_rows(a), n = (int32_t)matrix_columns(a), leading = matrix_leading(m), info = 0;
  int32_t k = (int32_t)matrix_columns(&work->call->operands[1]);
  if (m == 0 || n == 0) return LAZE_OK;
  matrix_transpose(work->in[0], work->copies, m, n, work->element);
  work->lapack->householder(&m, &n, &k, work->copies, &leading, work->in[1], work->work, &work->work_count, &info);
  matrix_transpose(work->copies, work->out[0], n, m, work->element);
  return matrix_check_info(info, error);
}

const matrix_kernel matrix_kernel_householder = {{2, 1}, {2}, 2, 1, false, measure_qr, run_householder};

/* The matrix that is multiplied and the reflections; beside each block its triangular factor. */
static matrix_scratch measure_reflect(const laze_matrix_call *call) {
  const laze_matrix_tensor *a = &call->operands[0], *c = &call->operands[2];
  int64_t rows = matrix_rows(c), columns = matrix_columns(c);
  return (matrix_scratch){.copies = rows * columns + matrix_rows(a) * matrix_columns(a),
                          .work = matrix_greater(rows, columns) * BLOCK + 65 * 64};
}

static laze_status run_reflect(const matrix_work *work, laze_error *error) {
  const laze_matrix_call *call = work->call;
  const laze_matrix_tensor *a = &call->operands[0], *c = &call->operands[2];
  int32_t rows = (int32_t)matrix_rows(c), columns = (int32_t)matrix_columns(c), other = matrix_leading(rows);
  int32_t order = (int32_t)matrix_rows(a), k = (int32_t)matrix_columns(&call->operands[1]), info = 0;
  int32_t leading = matrix_leading(order);
  char *reflections = work->copies + rows * (int64_t)columns * work->element;
  if (rows == 0 || columns == 0) return LAZE_OK;
  matrix_transpose(work->in[2], work->copies, rows, columns, work->element);
  matrix_transpose(work->in[0], reflections, order, matrix_columns(a), work->element);
  work->lapack->reflect(call->right ? "R" : "L", call->transpose ? "T" : "N", &rows, &columns, &k, reflections,
                        &leading, work->in[1], work->copies, &other, work->work, &work->work_count, &info, 1, 1);
  matrix_transpose(work->copies, work->out[0], columns, rows, work->element);
  return matrix_check_info(info, error);
}

const matrix_kernel matrix_kernel_reflect = {{2, 1, 2}, {2}, 3, 1, false, measure_reflect, run_reflect};

/* Iterations need numbers: with others some of LAPACK's functions do not end, or end the process. */
static laze_status check_finite(const matrix_work *work, int64_t count, laze_error *error) {
  if (matrix_is_finite(work->in[0], count, work->call->operands[0].dtype)) return LAZE_OK;
  return laze_fail(error, LAZE_INVALID_ARGUMENT,
                   "matrix %lld of the batch has elements that are infinite or NaN; numbers were expected",
                   (long long)work->index);
}

static laze_status check_converged(const matrix_work *work, int32_t info, laze_error *error) {
  LAZE_TRY(matrix_check_info(info, error));
  if (info == 0) return LAZE_OK;
  return laze_fail(error, LAZE_INVALID_ARGUMENT,
                   "matrix %lld of the batch: the iteration did not converge (%d left); its elements may differ too "
                   "much in size",
                   (long long)work->index, (int)info);
}

static matrix_scratch measure_eigen(const laze_matrix_call *call) {
  int64_t n = matrix_rows(&call->operands[0]);
  bool vectors = call->results[1].rank >= 2;
  return (matrix_scratch){.copies = n * n,
                          .work = vectors ? 1 + 6 * n + 2 * n * n : 1 + n * (BLOCK + 2),
                          .integers = vectors ? 3 + 5 * n : 1};
}

static void fill_nan(char *data, int64_t count, laze_dtype dtype) {
  for (int64_t i = 0; i < count; i++) laze_scalar_store(laze_scalar_real((double)NAN), dtype, data, i);
}

/* Of what is not finite there are no eigenvalues: they are NaN, as PyTorch's are. */
static laze_status run_eigen(const matrix_work *work, laze_error *error) {
  const laze_matrix_call *call = work->call;
  int32_t n = (int32_t)matrix_rows(&call->operands[0]), leading = matrix_leading(n), info = 0;
  bool vectors = call->results[1].rank >= 2;
  if (n == 0) return LAZE_OK;
  if (!matrix_is_finite(work->in[0], n * (int64_t)n, call->operands[0].dtype)) {
    fill_nan(work->out[0], n, call->operands[0].dtype);
    if (vectors) fill_nan(work->out[1], n * (int64_t)n, call->operands[0].dtype);
    return LAZE_OK;
  }
  matrix_transpose(work->in[0], work->copies, n, n, work->element);
  work->lapack->eigen(vectors ? "V" : "N", call->upper ? "U" : "L", &n, work->copies, &leading, work->out[0],
                      work->work, &work->work_count, work->integers, &work->integer_count, &info, 1, 1);
  if (vectors) matrix_transpose(work->copies, work->out[1], n, n, work->element);
  return check_converged(work, info, error);
}

const matrix_kernel matrix_kernel_eigen = {{2}, {1, 2}, 1, 2, false, measure_eigen, run_eigen};

/* Columns of U and rows of Vh; 0 where they are not wanted. */
static void count_vectors(const laze_matrix_call *call, int64_t *left, int64_t *right) {
  bool vectors = call->results[0].rank >= 2;
  *left = vectors ? matrix_columns(&call->results[0]) : 0;
  *right = vectors ? matrix_rows(&call->results[2]) : 0;
}

static matrix_scratch measure_svd(const laze_matrix_call *call) {
  int64_t m = matrix_rows(&call->operands[0]), n = matrix_columns(&call->operands[0]), left, right;
  int64_t lesser = matrix_lesser(m, n), greater = matrix_greater(m, n);
  count_vectors(call, &left, &right);
  return (matrix_scratch){.copies = m * n + m * left + right * n,
                          .work = (left > 0 ? lesser * (4 * lesser + 7) : 7 * lesser) + 3 * lesser + greater * BLOCK,
                          .integers = 8 * lesser};
}

static laze_status run_svd(const matrix_work *work, laze_error *error) {
  const laze_matrix_call *call = work->call;
  int32_t m = (int32_t)matrix_rows(&call->operands[0]), n = (int32_t)matrix_columns(&call->operands[0]), info = 0;
  int64_t left, right;
  count_vectors(call, &left, &right);
  char *u = work->copies + m * (int64_t)n * work->element, *vh = u + m * left * work->element;
  int32_t leading = matrix_leading(m), leading_vh = matrix_leading(right);
  bool vectors = call->results[0].rank >= 2, full = vectors && (left > right ? left : right) > matrix_lesser(m, n);
  if (m == 0 || n == 0) {
    if (left > 0) matrix_identity(work->out[0], m, left, call->operands[0].dtype);
    if (right > 0) matrix_identity(work->out[2], right, n, call->operands[0].dtype);
    return LAZE_OK;
  }
  LAZE_TRY(check_finite(work, m * (int64_t)n, error));
  matrix_transpose(work->in[0], work->copies, m, n, work->element);
  work->lapack->svd(!vectors ? "N"
                    : full   ? "A"
                             : "S",
                    &m, &n, work->copies, &leading, work->out[1], u, &leading, vh, &leading_vh, work->work,
                    &work->work_count, work->integers, &info, 1);
  LAZE_TRY(check_converged(work, info, error));
  if (!vectors) return LAZE_OK;
  matrix_transpose(u, work->out[0], left, m, work->element);
  matrix_transpose(vh, work->out[2], n, right, work->element);
  return LAZE_OK;
}

const matrix_kernel matrix_kernel_svd = {{2}, {2, 1, 2}, 1, 3, false, measure_svd, run_svd};
