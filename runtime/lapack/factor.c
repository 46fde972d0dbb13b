/* Factors of square matrices and what is solved with them.
 *
 * Elements lie by rows, and LAPACK reads by columns, which is the transpose: what is symmetric, and equations of
 * triangular matrices, are told to it the other way round. The rest is copied.
 *
 *   A X = B  by rows   is   X' A' = B'  by columns
 */
#include "runtime/lapack/matrix_internal.h"

#include <string.h>

static laze_status run_cholesky(const matrix_work *work, laze_error *error) {
  const laze_matrix_tensor *a = &work->call->operands[0];
  int32_t n = (int32_t)matrix_rows(a), leading = matrix_leading(n), info = 0;
  memcpy(work->out[0], work->in[0], (size_t)(n * (int64_t)n * work->element));
  work->lapack->cholesky(work->call->upper ? "L" : "U", &n, work->out[0], &leading, &info, 1);
  LAZE_TRY(matrix_check_info(info, error));
  matrix_clear_triangle(work->out[0], n, n, !work->call->upper, work->element);
  memcpy(work->out[1], &info, sizeof info);
  if (info == 0 || !work->call->check) return LAZE_OK;
  return laze_fail(error, LAZE_INVALID_ARGUMENT,
                   "matrix %lld of the batch is not positive-definite: its leading minor of order %d is not; "
                   "linalg_cholesky_ex tells without failing",
                   (long long)work->index, (int)info);
}

const matrix_kernel matrix_kernel_cholesky = {{2}, {2, 0}, 1, 2, false, NULL, run_cholesky};

static matrix_scratch measure_lu(const laze_matrix_call *call) {
  return (matrix_scratch){.copies = matrix_rows(&call->operands[0]) * matrix_columns(&call->operands[0])};
}

static laze_status run_lu(const matrix_work *work, laze_error *error) {
  const laze_matrix_tensor *a = &work->call->operands[0];
  int32_t m = (int32_t)matrix_rows(a), n = (int32_t)matrix_columns(a), leading = matrix_leading(m), info = 0;
  if (work->call->unpivoted)
    return laze_fail(error, LAZE_UNSUPPORTED, "factors without pivots are not there; pass pivot=true");
  matrix_transpose(work->in[0], work->copies, m, n, work->element);
  work->lapack->lu(&m, &n, work->copies, &leading, (int32_t *)(void *)work->out[1], &info);
  LAZE_TRY(matrix_check_info(info, error));
  matrix_transpose(work->copies, work->out[0], n, m, work->element);
  memcpy(work->out[2], &info, sizeof info);
  if (info == 0 || !work->call->check) return LAZE_OK;
  return laze_fail(
      error, LAZE_INVALID_ARGUMENT,
      "matrix %lld of the batch is singular: element %d of the diagonal of its factor U is 0; the functions "
      "that end in _ex tell without failing",
      (long long)work->index, (int)info);
}

const matrix_kernel matrix_kernel_lu = {{2}, {2, 1, 0}, 1, 3, false, measure_lu, run_lu};

/* The matrix and, where it is to the left, the other side. */
static matrix_scratch measure_solve(const laze_matrix_call *call) {
  const laze_matrix_tensor *a = &call->operands[0], *b = &call->operands[2];
  return (matrix_scratch){.copies = matrix_rows(a) * matrix_rows(a) + matrix_rows(b) * matrix_columns(b)};
}

static laze_status check_pivots(const matrix_work *work, int64_t count, int64_t n, laze_error *error) {
  const int32_t *pivots = (const int32_t *)(const void *)work->in[1];
  for (int64_t i = 0; i < count; i++)
    if (pivots[i] < 1 || pivots[i] > n)
      return laze_fail(error, LAZE_INVALID_ARGUMENT,
                       "matrix %lld of the batch: pivot %lld is %d, expected 1 to %lld, as factors have them",
                       (long long)work->index, (long long)i, (int)pivots[i], (long long)n);
  return LAZE_OK;
}

/* Conjugates a matrix where it has imaginary parts. */
static void conjugate(const matrix_work *work, char *matrix, int64_t count) {
  laze_dtype part = laze_dtype_part(work->call->operands[0].dtype);
  for (int64_t i = 1; i < 2 * count && work->is_complex; i += 2)
    laze_scalar_store(laze_scalar_real(-laze_scalar_load(part, matrix, i).value.real), part, matrix, i);
}

/* From the right it is X' that LAPACK solves for, by A', or, where A is to be adjoint, by the conjugate of A: then X
 * and B are conjugated instead. */
static laze_status run_lu_solve(const matrix_work *work, laze_error *error) {
  const laze_matrix_call *call = work->call;
  const laze_matrix_tensor *b = &call->operands[2];
  int64_t rows = matrix_rows(b), columns = matrix_columns(b);
  int32_t n = (int32_t)matrix_rows(&call->operands[0]), others = (int32_t)(call->right ? rows : columns);
  int32_t leading = matrix_leading(n), info = 0;
  char *other = call->right ? work->out[0] : work->copies + n * (int64_t)n * work->element;
  LAZE_TRY(check_pivots(work, n, n, error));
  if (n == 0 || others == 0) return LAZE_OK;
  matrix_transpose(work->in[0], work->copies, n, n, work->element);
  if (call->right)
    memcpy(other, work->in[2], (size_t)(rows * columns * work->element));
  else
    matrix_transpose(work->in[2], other, rows, columns, work->element);
  if (call->right && call->adjoint) conjugate(work, other, rows * columns);
  work->lapack->lu_solve(call->right == call->adjoint ? "N"
                         : call->right                ? "T"
                                                      : matrix_adjoint(work),
                         &n, &others, work->copies, &leading, (const int32_t *)(const void *)work->in[1], other,
                         &leading, &info, 1);
  if (!call->right) matrix_transpose(other, work->out[0], columns, rows, work->element);
  if (call->right && call->adjoint) conjugate(work, other, rows * columns);
  return matrix_check_info(info, error);
}

const matrix_kernel matrix_kernel_lu_solve = {{2, 1, 2}, {2}, 3, 1, false, measure_solve, run_lu_solve};

static matrix_scratch measure_unpack(const laze_matrix_call *call) {
  return (matrix_scratch){.integers = matrix_rows(&call->operands[0])};
}

/* P has a 1 where row i of the product L U goes to: the exchanges of the pivots, one after the other. */
static void write_permutation(const matrix_work *work, int64_t rows, int64_t count) {
  const int32_t *pivots = (const int32_t *)(const void *)work->in[1];
  for (int64_t i = 0; i < rows; i++) work->integers[i] = (int32_t)i;
  for (int64_t i = 0; i < count; i++) {
    int32_t other = pivots[i] - 1, moved = work->integers[i];
    work->integers[i] = work->integers[other];
    work->integers[other] = moved;
  }
  memset(work->out[0], 0, (size_t)(rows * rows * work->element));
  for (int64_t i = 0; i < rows; i++)
    laze_scalar_store(laze_scalar_real(1.0), work->call->operands[0].dtype, work->out[0], work->integers[i] * rows + i);
}

static laze_status run_lu_unpack(const matrix_work *work, laze_error *error) {
  const laze_matrix_call *call = work->call;
  laze_dtype dtype = call->operands[0].dtype;
  int64_t rows = matrix_rows(&call->operands[0]), columns = matrix_columns(&call->operands[0]);
  int64_t lesser = matrix_lesser(rows, columns), element = work->element;
  if (call->results[0].rank >= 2) {
    LAZE_TRY(check_pivots(work, lesser, rows, error));
    write_permutation(work, rows, lesser);
  }
  if (call->results[1].rank < 2) return LAZE_OK;
  for (int64_t i = 0; i < rows; i++)
    memcpy(work->out[1] + i * lesser * element, work->in[0] + i * columns * element, (size_t)(lesser * element));
  matrix_clear_triangle(work->out[1], rows, lesser, true, element);
  for (int64_t i = 0; i < lesser; i++) laze_scalar_store(laze_scalar_real(1.0), dtype, work->out[1], i * lesser + i);
  memcpy(work->out[2], work->in[0], (size_t)(lesser * columns * element));
  matrix_clear_triangle(work->out[2], lesser, columns, false, element);
  return LAZE_OK;
}

const matrix_kernel matrix_kernel_lu_unpack = {{2, 1}, {2, 2, 2}, 2, 3, true, measure_unpack, run_lu_unpack};

static laze_status run_triangular(const matrix_work *work, laze_error *error) {
  const laze_matrix_call *call = work->call;
  const laze_matrix_tensor *b = &call->operands[1];
  int32_t n = (int32_t)matrix_rows(&call->operands[0]), leading = matrix_leading(n);
  int32_t rows = (int32_t)matrix_rows(b), columns = (int32_t)matrix_columns(b), other = matrix_leading(columns);
  double one[2]; /* also of c128 */
  (void)error;
  laze_scalar_store(laze_scalar_real(1.0), call->operands[0].dtype, one, 0);
  memcpy(work->out[0], work->in[1], (size_t)(rows * (int64_t)columns * work->element));
  work->lapack->triangular(call->right ? "L" : "R", call->upper ? "L" : "U", "N", call->unit ? "U" : "N", &columns,
                           &rows, one, work->in[0], &leading, work->out[0], &other, 1, 1, 1, 1);
  return LAZE_OK;
}

const matrix_kernel matrix_kernel_triangular = {{2, 2}, {2}, 2, 1, false, NULL, run_triangular};

/* 32 columns at a time is what LAPACK does. */
static matrix_scratch measure_ldl(const laze_matrix_call *call) {
  int64_t n = matrix_rows(&call->operands[0]);
  return (matrix_scratch){.copies = n * n, .work = n * 32};
}

static laze_status run_ldl(const matrix_work *work, laze_error *error) {
  int32_t n = (int32_t)matrix_rows(&work->call->operands[0]), leading = matrix_leading(n), info = 0;
  matrix_transpose(work->in[0], work->copies, n, n, work->element);
  laze_lapack_sytrf *factor = work->call->hermitian ? work->lapack->ldl_hermitian : work->lapack->ldl;
  factor("L", &n, work->copies, &leading, (int32_t *)(void *)work->out[1], work->work, &work->work_count, &info, 1);
  LAZE_TRY(matrix_check_info(info, error));
  matrix_transpose(work->copies, work->out[0], n, n, work->element);
  matrix_clear_triangle(work->out[0], n, n, true, work->element);
  memcpy(work->out[2], &info, sizeof info);
  if (info == 0 || !work->call->check) return LAZE_OK;
  return laze_fail(error, LAZE_INVALID_ARGUMENT,
                   "matrix %lld of the batch is singular: block %d of its factor D is 0; linalg_ldl_factor_ex tells "
                   "without failing",
                   (long long)work->index, (int)info);
}

const matrix_kernel matrix_kernel_ldl = {{2}, {2, 1, 0}, 1, 3, false, measure_ldl, run_ldl};

/* A negative pivot stands for two rows: it names a row from 1 to n all the same, and comes twice. */
static laze_status check_ldl_pivots(const matrix_work *work, int64_t n, laze_error *error) {
  const int32_t *pivots = (const int32_t *)(const void *)work->in[1];
  for (int64_t i = 0; i < n; i++) {
    int64_t row = pivots[i] < 0 ? -(int64_t)pivots[i] : pivots[i];
    bool pairs = pivots[i] > 0 || (i + 1 < n && pivots[i + 1] == pivots[i]);
    if (row < 1 || row > n || !pairs)
      return laze_fail(error, LAZE_INVALID_ARGUMENT,
                       "matrix %lld of the batch: pivot %lld is %d, expected 1 to %lld, or twice -1 to -%lld, as "
                       "linalg_ldl_factor gives them",
                       (long long)work->index, (long long)i, (int)pivots[i], (long long)n, (long long)n);
    i += pivots[i] < 0;
  }
  return LAZE_OK;
}

static laze_status run_ldl_solve(const matrix_work *work, laze_error *error) {
  const laze_matrix_tensor *b = &work->call->operands[2];
  int64_t rows = matrix_rows(b), columns = matrix_columns(b);
  int32_t n = (int32_t)rows, others = (int32_t)columns, leading = matrix_leading(n), info = 0;
  char *other = work->copies + n * (int64_t)n * work->element;
  LAZE_TRY(check_ldl_pivots(work, n, error));
  if (n == 0 || others == 0) return LAZE_OK;
  matrix_transpose(work->in[0], work->copies, n, n, work->element);
  matrix_transpose(work->in[2], other, rows, columns, work->element);
  laze_lapack_sytrs *solve = work->call->hermitian ? work->lapack->ldl_hermitian_solve : work->lapack->ldl_solve;
  solve("L", &n, &others, work->copies, &leading, (const int32_t *)(const void *)work->in[1], other, &leading, &info,
        1);
  matrix_transpose(other, work->out[0], columns, rows, work->element);
  return matrix_check_info(info, error);
}

const matrix_kernel matrix_kernel_ldl_solve = {{2, 1, 2}, {2}, 3, 1, false, measure_solve, run_ldl_solve};
