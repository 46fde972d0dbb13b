/* Orthogonal factors of matrices, or unitary ones, as products of reflections. All of them are copied to columns and
 * back.
 *
 *   A [m,n] = Q [m,k] R [k,n]      Q = (1 - tau0 v0 v0')(1 - tau1 v1 v1') ...      k = min(m, n)
 */
#include "runtime/lapack/matrix_internal.h"

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
  work->lapack->reflect(call->right ? "R" : "L", call->adjoint ? matrix_adjoint(work) : "N", &rows, &columns, &k,
                        reflections, &leading, work->in[1], work->copies, &other, work->work, &work->work_count, &info,
                        1, 1);
  matrix_transpose(work->copies, work->out[0], columns, rows, work->element);
  return matrix_check_info(info, error);
}

const matrix_kernel matrix_kernel_reflect = {{2, 1, 2}, {2}, 3, 1, false, measure_reflect, run_reflect};
