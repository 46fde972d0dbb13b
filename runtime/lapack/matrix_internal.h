/* What functions of one matrix share with the loop over batches (matrix.c). */
#ifndef LAZE_RUNTIME_LAPACK_MATRIX_INTERNAL_H
#define LAZE_RUNTIME_LAPACK_MATRIX_INTERNAL_H

#include "base/dtype.h"
#include "runtime/lapack/lapack.h"
#include "runtime/lapack/matrix.h"

/* What a function takes besides operands and results: elements, parts of them (as many reals), integers. */
typedef struct matrix_scratch {
  int64_t copies, work, reals, integers;
} matrix_scratch;

/* One matrix of a batch. */
typedef struct matrix_work {
  const laze_matrix_call *call;
  const laze_lapack *lapack;
  int64_t element; /* bytes */
  bool is_complex;
  char *in[LAZE_MATRIX_MAX_TENSORS], *out[LAZE_MATRIX_MAX_TENSORS]; /* its parts of operands and results */
  char *copies, *work, *reals;
  int32_t *integers, work_count, real_count, integer_count;
  int64_t index; /* of the batch, for messages */
} matrix_work;

typedef struct matrix_kernel {
  int8_t operand_axes[LAZE_MATRIX_MAX_TENSORS], result_axes[LAZE_MATRIX_MAX_TENSORS]; /* of one matrix's part */
  int8_t operand_count, result_count;
  bool alone;                                              /* calls no function of LAPACK */
  matrix_scratch (*measure)(const laze_matrix_call *call); /* NULL: needs nothing */
  laze_status (*run)(const matrix_work *work, laze_error *error);
} matrix_kernel;

extern const matrix_kernel matrix_kernel_cholesky, matrix_kernel_lu, matrix_kernel_lu_solve, matrix_kernel_lu_unpack,
    matrix_kernel_triangular, matrix_kernel_qr, matrix_kernel_householder, matrix_kernel_reflect, matrix_kernel_eigen,
    matrix_kernel_spectrum, matrix_kernel_svd, matrix_kernel_ldl, matrix_kernel_ldl_solve, matrix_kernel_least,
    matrix_kernel_exponential;

static inline int64_t matrix_rows(const laze_matrix_tensor *tensor) {
  return tensor->dims[tensor->rank - 2];
}
static inline int64_t matrix_columns(const laze_matrix_tensor *tensor) {
  return tensor->dims[tensor->rank - 1];
}
static inline int64_t matrix_lesser(int64_t a, int64_t b) {
  return a < b ? a : b;
}
static inline int64_t matrix_greater(int64_t a, int64_t b) {
  return a > b ? a : b;
}
/* A leading dimension: LAPACK wants 1 at least. */
static inline int32_t matrix_leading(int64_t size) {
  return size > 1 ? (int32_t)size : 1;
}

/* Copies a matrix of `rows` by rows to one by columns, or, with rows and columns changed, back. */
void matrix_transpose(const char *from, char *to, int64_t rows, int64_t columns, int64_t element);
/* Writes zeros above the diagonal of a matrix by rows, or below it. */
void matrix_clear_triangle(char *matrix, int64_t rows, int64_t columns, bool above, int64_t element);
/* Writes ones to the diagonal and zeros elsewhere. */
void matrix_identity(char *matrix, int64_t rows, int64_t columns, laze_dtype dtype);
/* Whether all elements are numbers, none of them infinite. */
bool matrix_is_finite(const char *matrix, int64_t count, laze_dtype dtype);
/* Fails where a matrix that LAPACK would iterate on has others: some of its routines do not end then, or end the
 * process.
 */
laze_status matrix_check_finite(const matrix_work *work, int operand, laze_error *error);
/* Fails where `info` says that an iteration did not end, or an argument was wrong. */
laze_status matrix_check_converged(const matrix_work *work, int32_t info, laze_error *error);
/* Writes one number to all elements. */
void matrix_fill(char *matrix, int64_t count, double number, laze_dtype dtype);
/* The word for the conjugate transpose, which is the transpose of real elements. */
static inline const char *matrix_adjoint(const matrix_work *work) {
  return work->is_complex ? "C" : "T";
}
/* Fails with LAZE_INTERNAL where LAPACK says that an argument was wrong (info below 0). */
laze_status matrix_check_info(int32_t info, laze_error *error);

#endif
