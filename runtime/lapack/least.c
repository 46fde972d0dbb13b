/* Least squares: the X of least length for which |A X - B| is least.
 *
 *   A [m,n]   B [m,k]   ──>   X [n,k]   residuals [k]   rank   singular values [min(m,n)]
 *
 *   gels   by Q R, A having full rank           gelss   by singular values
 *   gelsy  by Q R with columns exchanged        gelsd   the same, divided into parts
 */
#include "runtime/lapack/matrix_internal.h"

#include <float.h>
#include <string.h>

enum { BLOCK = 64, LEAF = 33, LEVELS = 28 }; /* gelsd: parts of up to 32 columns, each level twice as many of them */

typedef struct {
  int64_t m, n, columns, lesser, greater;
} least_sizes;

static least_sizes sizes_of(const laze_matrix_call *call) {
  least_sizes sizes = {.m = matrix_rows(&call->operands[0]),
                       .n = matrix_columns(&call->operands[0]),
                       .columns = matrix_columns(&call->operands[1])};
  sizes.lesser = matrix_lesser(sizes.m, sizes.n);
  sizes.greater = matrix_greater(sizes.m, sizes.n);
  return sizes;
}

/* What the documentation of any of the four asks for, and what blocks take. */
static matrix_scratch measure_least(const laze_matrix_call *call) {
  least_sizes s = sizes_of(call);
  int64_t leaves = 2 * LEAF + 8 * LEVELS;
  matrix_scratch scratch = {.copies = s.m * s.n + s.greater * s.columns,
                            .work = BLOCK * (s.greater + s.columns + 2) + 8 * s.greater + 2 * s.columns,
                            .reals = 5 * s.greater,
                            .integers = s.greater};
  if (call->driver != 'd') return scratch;
  scratch.work += s.lesser * (12 + leaves + s.columns) + LEAF * LEAF;
  scratch.reals +=
      s.lesser * (10 + leaves) + 3 * LEAF * s.columns + LEAF * LEAF + s.greater * (1 + s.columns) + 2 * s.columns;
  scratch.integers += s.lesser * (3 * LEVELS + 11);
  return scratch;
}

/* The part of the largest singular value that others must be above. */
static double bound_of(const laze_matrix_call *call) {
  double epsilon = laze_dtype_part(call->operands[0].dtype) == LAZE_F64 ? DBL_EPSILON : (double)FLT_EPSILON;
  return call->rcond < 0 ? epsilon * (double)sizes_of(call).greater : call->rcond;
}

/* Calls the routine; B is where X comes. */
static int32_t solve(const matrix_work *work, void *b, int32_t *rank) {
  const laze_lapack *lapack = work->lapack;
  least_sizes s = sizes_of(work->call);
  int32_t m = (int32_t)s.m, n = (int32_t)s.n, k = (int32_t)s.columns, info = 0;
  int32_t lda = matrix_leading(s.m), ldb = matrix_leading(s.greater);
  const int32_t *count = &work->work_count;
  void *a = work->copies, *scratch = work->work, *values = work->out[3];
  double rcond[2];
  bool is_complex = work->is_complex;
  laze_scalar_store(laze_scalar_real(bound_of(work->call)), laze_dtype_part(work->call->operands[0].dtype), rcond, 0);
  memset(work->integers, 0, (size_t)work->integer_count * sizeof *work->integers); /* every column may be exchanged */
  switch (work->call->driver) {
  case 's': lapack->least("N", &m, &n, &k, a, &lda, b, &ldb, scratch, count, &info, 1); break;
  case 'y':
    if (is_complex)
      lapack->least_y_complex(&m, &n, &k, a, &lda, b, &ldb, work->integers, rcond, rank, scratch, count, work->reals,
                              &info);
    else
      lapack->least_y(&m, &n, &k, a, &lda, b, &ldb, work->integers, rcond, rank, scratch, count, &info);
    break;
  case 'S':
    if (is_complex)
      lapack->least_s_complex(&m, &n, &k, a, &lda, b, &ldb, values, rcond, rank, scratch, count, work->reals, &info);
    else
      lapack->least_s(&m, &n, &k, a, &lda, b, &ldb, values, rcond, rank, scratch, count, &info);
    break;
  default:
    if (is_complex)
      lapack->least_d_complex(&m, &n, &k, a, &lda, b, &ldb, values, rcond, rank, scratch, count, work->reals,
                              work->integers, &info);
    else
      lapack->least_d(&m, &n, &k, a, &lda, b, &ldb, values, rcond, rank, scratch, count, work->integers, &info);
  }
  return info;
}

/* Sums of squares of A X - B by column, which is there in `rest` by rows. */
static void write_residuals(const matrix_work *work, char *rest) {
  laze_dtype dtype = work->call->operands[0].dtype;
  least_sizes s = sizes_of(work->call);
  int32_t m = (int32_t)s.m, n = (int32_t)s.n, k = (int32_t)s.columns;
  int32_t leading = matrix_leading(n), others = matrix_leading(k);
  double one[2], minus_one[2]; /* also of c128 */
  laze_scalar_store(laze_scalar_real(1.0), dtype, one, 0);
  laze_scalar_store(laze_scalar_real(-1.0), dtype, minus_one, 0);
  memcpy(rest, work->in[1], (size_t)(s.m * s.columns * work->element));
  if (k > 0 && n > 0)
    work->lapack->multiply("N", "N", &k, &m, &n, one, work->out[0], &others, work->in[0], &leading, minus_one, rest,
                           &others, 1, 1);
  for (int64_t j = 0; j < s.columns; j++) {
    double sum = 0;
    for (int64_t i = 0; i < s.m; i++) {
      laze_scalar element = laze_scalar_load(dtype, rest, i * s.columns + j);
      sum += element.value.real * element.value.real + element.imaginary * element.imaginary;
    }
    laze_scalar_store(laze_scalar_real(sum), work->call->results[1].dtype, work->out[1], j);
  }
}

static laze_status check_solved(const matrix_work *work, int32_t info, laze_error *error) {
  if (info <= 0 || work->call->driver != 's') return matrix_check_converged(work, info, error);
  return laze_fail(error, LAZE_INVALID_ARGUMENT,
                   "matrix %lld of the batch has no full rank: element %d of the diagonal of its triangle is 0; use "
                   "driver \"gelsy\", \"gelsd\" or \"gelss\"",
                   (long long)work->index, (int)info);
}

static laze_status run_least(const matrix_work *work, laze_error *error) {
  least_sizes s = sizes_of(work->call);
  char *b = work->copies + s.m * s.n * work->element;
  int32_t rank = 0;
  LAZE_TRY(matrix_check_finite(work, 0, error));
  LAZE_TRY(matrix_check_finite(work, 1, error));
  if (s.lesser > 0) {
    matrix_transpose(work->in[0], work->copies, s.m, s.n, work->element);
    for (int64_t j = 0; j < s.columns; j++)
      for (int64_t i = 0; i < s.m; i++)
        memcpy(b + (j * s.greater + i) * work->element, work->in[1] + (i * s.columns + j) * work->element,
               (size_t)work->element);
    LAZE_TRY(check_solved(work, solve(work, b, &rank), error));
    for (int64_t j = 0; j < s.columns; j++)
      for (int64_t i = 0; i < s.n; i++)
        memcpy(work->out[0] + (i * s.columns + j) * work->element, b + (j * s.greater + i) * work->element,
               (size_t)work->element);
  } else {
    memset(work->out[0], 0, (size_t)(s.n * s.columns * work->element));
  }
  int64_t found = rank;
  if (work->call->driver != 's') memcpy(work->out[2], &found, sizeof found);
  if (s.m > s.n && work->call->driver != 'y') write_residuals(work, b);
  return LAZE_OK;
}

const matrix_kernel matrix_kernel_least = {{2, 2}, {2, 1, 0, 1}, 2, 4, false, measure_least, run_least};
