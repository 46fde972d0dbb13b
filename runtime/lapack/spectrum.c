/* Eigenvalues and singular values of matrices, and their vectors. All of them are copied to columns and back.
 *
 *   A = V diag(values) V'  (symmetric or Hermitian)      A V = V diag(values)      A = U [m,k] diag(S [k]) Vh [k,n]
 */
#include "runtime/lapack/matrix_internal.h"

#include <math.h>

enum { BLOCK = 32 }; /* columns that LAPACK works on at a time */

static matrix_scratch measure_eigen(const laze_matrix_call *call) {
  int64_t n = matrix_rows(&call->operands[0]);
  bool vectors = call->results[1].rank >= 2, is_complex = laze_dtype_is_complex(call->operands[0].dtype);
  matrix_scratch scratch = {.copies = n * n, .work = 1 + n * (BLOCK + 2), .integers = vectors ? 3 + 5 * n : 1};
  if (vectors) scratch.work = matrix_greater(scratch.work, 1 + 6 * n + 2 * n * n);
  if (is_complex) scratch.reals = vectors ? 1 + 5 * n + 2 * n * n : 1 + n;
  return scratch;
}

/* Of what is not finite there are no eigenvalues: they are NaN, as PyTorch's are. */
static laze_status run_eigen(const matrix_work *work, laze_error *error) {
  const laze_matrix_call *call = work->call;
  const laze_lapack *lapack = work->lapack;
  int32_t n = (int32_t)matrix_rows(&call->operands[0]), leading = matrix_leading(n), info = 0;
  const char *vectors = call->results[1].rank >= 2 ? "V" : "N", *triangle = call->upper ? "U" : "L";
  if (n == 0) return LAZE_OK;
  if (!matrix_is_finite(work->in[0], n * (int64_t)n, call->operands[0].dtype)) {
    matrix_fill(work->out[0], n, (double)NAN, call->results[0].dtype);
    if (*vectors == 'V') matrix_fill(work->out[1], n * (int64_t)n, (double)NAN, call->results[1].dtype);
    return LAZE_OK;
  }
  matrix_transpose(work->in[0], work->copies, n, n, work->element);
  if (work->is_complex)
    lapack->eigen_complex(vectors, triangle, &n, work->copies, &leading, work->out[0], work->work, &work->work_count,
                          work->reals, &work->real_count, work->integers, &work->integer_count, &info, 1, 1);
  else
    lapack->eigen(vectors, triangle, &n, work->copies, &leading, work->out[0], work->work, &work->work_count,
                  work->integers, &work->integer_count, &info, 1, 1);
  if (*vectors == 'V') matrix_transpose(work->copies, work->out[1], n, n, work->element);
  return matrix_check_converged(work, info, error);
}

const matrix_kernel matrix_kernel_eigen = {{2}, {1, 2}, 1, 2, false, measure_eigen, run_eigen};

/* The matrix and the vectors; beside them the parts of values. */
static matrix_scratch measure_spectrum(const laze_matrix_call *call) {
  int64_t n = matrix_rows(&call->operands[0]);
  return (matrix_scratch){.copies = 2 * n * n, .work = n * (BLOCK + 4), .reals = 2 * n};
}

/* Values of a real matrix come as two lists, and of two conjugate ones, which are neighbours, the vectors as their real
 * part and the imaginary part of the first. */
static void pair_parts(const matrix_work *work, const char *vectors, int64_t n) {
  laze_dtype part = work->call->operands[0].dtype, dtype = work->call->results[0].dtype;
  for (int64_t j = 0, first = 0; j < n; j++) {
    double imaginary = laze_scalar_load(part, work->reals, n + j).value.real;
    double real = laze_scalar_load(part, work->reals, j).value.real;
    double sign = imaginary == 0 ? 0 : j > 0 && first == j - 1 ? -1 : 1;
    laze_scalar_store(laze_scalar_complex(real, imaginary), dtype, work->out[0], j);
    first = sign > 0 ? j : -1;
    int64_t column = sign < 0 ? j - 1 : j;
    for (int64_t i = 0; vectors && i < n; i++) {
      real = laze_scalar_load(part, vectors, column * n + i).value.real;
      imaginary = sign != 0 ? sign * laze_scalar_load(part, vectors, (column + 1) * n + i).value.real : 0;
      laze_scalar_store(laze_scalar_complex(real, imaginary), dtype, work->out[1], i * n + j);
    }
  }
}

static laze_status run_spectrum(const matrix_work *work, laze_error *error) {
  const laze_matrix_call *call = work->call;
  const laze_lapack *lapack = work->lapack;
  int32_t n = (int32_t)matrix_rows(&call->operands[0]), leading = matrix_leading(n), one = 1, info = 0;
  bool wanted = call->results[1].rank >= 2;
  const char *right = wanted ? "V" : "N";
  char *vectors = work->copies + n * (int64_t)n * work->element, *imaginary = work->reals;
  if (n == 0) return LAZE_OK;
  LAZE_TRY(matrix_check_finite(work, 0, error));
  matrix_transpose(work->in[0], work->copies, n, n, work->element);
  if (work->is_complex) {
    lapack->spectrum_complex("N", right, &n, work->copies, &leading, work->out[0], NULL, &one, vectors, &leading,
                             work->work, &work->work_count, work->reals, &info, 1, 1);
    if (wanted) matrix_transpose(vectors, work->out[1], n, n, work->element);
  } else {
    imaginary += n * work->element;
    lapack->spectrum("N", right, &n, work->copies, &leading, work->reals, imaginary, NULL, &one, vectors, &leading,
                     work->work, &work->work_count, &info, 1, 1);
    pair_parts(work, wanted ? vectors : NULL, n);
  }
  return matrix_check_converged(work, info, error);
}

const matrix_kernel matrix_kernel_spectrum = {{2}, {1, 2}, 1, 2, false, measure_spectrum, run_spectrum};

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
  matrix_scratch scratch = {.copies = m * n + m * left + right * n,
                            .work = (left > 0 ? lesser * (4 * lesser + 7) : 7 * lesser) + 3 * lesser + greater * BLOCK,
                            .integers = 8 * lesser};
  if (laze_dtype_is_complex(call->operands[0].dtype))
    scratch.reals = left > 0 ? lesser * (5 * lesser + 7 + 2 * greater) : 7 * lesser;
  return scratch;
}

/* Of a matrix without elements. */
static void write_identities(const matrix_work *work, int64_t left, int64_t right) {
  const laze_matrix_tensor *a = &work->call->operands[0];
  if (left > 0) matrix_identity(work->out[0], matrix_rows(a), left, a->dtype);
  if (right > 0) matrix_identity(work->out[2], right, matrix_columns(a), a->dtype);
}

static laze_status run_svd(const matrix_work *work, laze_error *error) {
  const laze_matrix_call *call = work->call;
  const laze_lapack *lapack = work->lapack;
  int32_t m = (int32_t)matrix_rows(&call->operands[0]), n = (int32_t)matrix_columns(&call->operands[0]), info = 0;
  int64_t left, right;
  count_vectors(call, &left, &right);
  char *u = work->copies + m * (int64_t)n * work->element, *vh = u + m * left * work->element;
  int32_t leading = matrix_leading(m), leading_vh = matrix_leading(right);
  bool vectors = call->results[0].rank >= 2, full = vectors && (left > right ? left : right) > matrix_lesser(m, n);
  const char *which = !vectors ? "N" : full ? "A" : "S";
  if (m == 0 || n == 0) {
    write_identities(work, left, right);
    return LAZE_OK;
  }
  LAZE_TRY(matrix_check_finite(work, 0, error));
  matrix_transpose(work->in[0], work->copies, m, n, work->element);
  if (work->is_complex)
    lapack->svd_complex(which, &m, &n, work->copies, &leading, work->out[1], u, &leading, vh, &leading_vh, work->work,
                        &work->work_count, work->reals, work->integers, &info, 1);
  else
    lapack->svd(which, &m, &n, work->copies, &leading, work->out[1], u, &leading, vh, &leading_vh, work->work,
                &work->work_count, work->integers, &info, 1);
  LAZE_TRY(matrix_check_converged(work, info, error));
  if (!vectors) return LAZE_OK;
  matrix_transpose(u, work->out[0], left, m, work->element);
  matrix_transpose(vh, work->out[2], n, right, work->element);
  return LAZE_OK;
}

const matrix_kernel matrix_kernel_svd = {{2}, {2, 1, 2}, 1, 3, false, measure_svd, run_svd};
