/* Functions of matrices over batches: each operand is broadcast to the common batch, each matrix is one call.
 *
 *   A [2,1, n,n]   B [3, n,k]   ──>   X [2,3, n,k]      A of batch element (i, j) is the i-th, B the j-th
 */
#include "runtime/lapack/matrix_internal.h"

#include "shape_inference/type.h"

#include <math.h>
#include <string.h>

static const matrix_kernel *const kernels[LAZE_MATRIX_FUNCTION_COUNT] = {
    [LAZE_MATRIX_CHOLESKY] = &matrix_kernel_cholesky,
    [LAZE_MATRIX_LU] = &matrix_kernel_lu,
    [LAZE_MATRIX_LU_SOLVE] = &matrix_kernel_lu_solve,
    [LAZE_MATRIX_LU_UNPACK] = &matrix_kernel_lu_unpack,
    [LAZE_MATRIX_TRIANGULAR] = &matrix_kernel_triangular,
    [LAZE_MATRIX_QR] = &matrix_kernel_qr,
    [LAZE_MATRIX_HOUSEHOLDER] = &matrix_kernel_householder,
    [LAZE_MATRIX_REFLECT] = &matrix_kernel_reflect,
    [LAZE_MATRIX_EIGEN] = &matrix_kernel_eigen,
    [LAZE_MATRIX_SPECTRUM] = &matrix_kernel_spectrum,
    [LAZE_MATRIX_SVD] = &matrix_kernel_svd,
    [LAZE_MATRIX_LDL] = &matrix_kernel_ldl,
    [LAZE_MATRIX_LDL_SOLVE] = &matrix_kernel_ldl_solve,
    [LAZE_MATRIX_LEAST] = &matrix_kernel_least,
    [LAZE_MATRIX_EXPONENTIAL] = &matrix_kernel_exponential,
};

enum { TILE = 16 };

static void move(const char *from, char *to, int64_t element) {
  if (element == 4)
    memcpy(to, from, 4);
  else if (element == 8)
    memcpy(to, from, 8);
  else
    memcpy(to, from, 16);
}

/* In tiles, so that both sides stay in the cache. */
void matrix_transpose(const char *from, char *to, int64_t rows, int64_t columns, int64_t element) {
  for (int64_t i = 0; i < rows; i += TILE)
    for (int64_t j = 0; j < columns; j += TILE)
      for (int64_t k = i; k < rows && k < i + TILE; k++)
        for (int64_t l = j; l < columns && l < j + TILE; l++)
          move(from + (k * columns + l) * element, to + (l * rows + k) * element, element);
}

void matrix_clear_triangle(char *matrix, int64_t rows, int64_t columns, bool above, int64_t element) {
  for (int64_t i = 0; i < rows; i++) {
    int64_t start = above ? matrix_lesser(i + 1, columns) : 0, end = above ? columns : matrix_lesser(i, columns);
    memset(matrix + (i * columns + start) * element, 0, (size_t)((end - start) * element));
  }
}

void matrix_identity(char *matrix, int64_t rows, int64_t columns, laze_dtype dtype) {
  int64_t element = laze_dtype_size(dtype);
  memset(matrix, 0, (size_t)(rows * columns * element));
  for (int64_t i = 0; i < matrix_lesser(rows, columns); i++)
    laze_scalar_store(laze_scalar_real(1.0), dtype, matrix, i * columns + i);
}

bool matrix_is_finite(const char *matrix, int64_t count, laze_dtype dtype) {
  const int64_t parts = laze_dtype_is_complex(dtype) ? 2 : 1;
  for (int64_t i = 0; i < parts * count; i++)
    if (!isfinite(laze_scalar_load(laze_dtype_part(dtype), matrix, i).value.real)) return false;
  return true;
}

void matrix_fill(char *matrix, int64_t count, double number, laze_dtype dtype) {
  for (int64_t i = 0; i < count; i++) laze_scalar_store(laze_scalar_real(number), dtype, matrix, i);
}

laze_status matrix_check_finite(const matrix_work *work, int operand, laze_error *error) {
  const laze_matrix_tensor *a = &work->call->operands[operand];
  if (matrix_is_finite(work->in[operand], matrix_rows(a) * matrix_columns(a), a->dtype)) return LAZE_OK;
  return laze_fail(error, LAZE_INVALID_ARGUMENT,
                   "matrix %lld of the batch has elements that are infinite or NaN; numbers were expected",
                   (long long)work->index);
}

laze_status matrix_check_converged(const matrix_work *work, int32_t info, laze_error *error) {
  LAZE_TRY(matrix_check_info(info, error));
  if (info == 0) return LAZE_OK;
  return laze_fail(error, LAZE_INVALID_ARGUMENT,
                   "matrix %lld of the batch: the iteration did not converge (%d left); its elements may differ too "
                   "much in size",
                   (long long)work->index, (int)info);
}

laze_status matrix_check_info(int32_t info, laze_error *error) {
  if (info >= 0) return LAZE_OK;
  return laze_fail(error, LAZE_INTERNAL, "LAPACK refuses its argument %d", -(int)info);
}

/* The sizes that the batches of all operands have in common, aligned from the back. */
typedef struct {
  int rank;
  int64_t dims[LAZE_MAX_RANK];
  int64_t count;
} matrix_batch;

static int batch_rank(const laze_matrix_tensor *tensor, int own) {
  return tensor->rank > own ? tensor->rank - own : 0;
}

static matrix_batch find_batch(const matrix_kernel *kernel, const laze_matrix_call *call) {
  matrix_batch batch = {.count = 1};
  for (int i = 0; i < kernel->operand_count; i++) {
    int rank = batch_rank(&call->operands[i], kernel->operand_axes[i]);
    if (rank > batch.rank) batch.rank = rank;
  }
  for (int i = 0; i < batch.rank; i++) batch.dims[i] = 1;
  for (int i = 0; i < kernel->operand_count; i++) {
    int rank = batch_rank(&call->operands[i], kernel->operand_axes[i]);
    for (int k = 0; k < rank; k++)
      if (call->operands[i].dims[k] != 1) batch.dims[batch.rank - rank + k] = call->operands[i].dims[k];
  }
  for (int i = 0; i < batch.rank; i++) /* once it is 0 it stays so, and no product of what follows overflows */
    batch.count = batch.dims[i] == 0 || batch.count == 0 ? 0 : batch.count * batch.dims[i];
  return batch;
}

/* Where the part of a tensor begins that belongs to an element of the batch. */
static char *find_part(const matrix_batch *batch, const laze_matrix_tensor *tensor, int own, int64_t index) {
  int rank = batch_rank(tensor, own);
  int64_t offset = 0, stride = laze_dtype_size(tensor->dtype);
  if (tensor->rank < own || rank > batch->rank) return tensor->data; /* not wanted */
  for (int i = rank; i < tensor->rank; i++) stride *= tensor->dims[i];
  for (int i = 1; i <= rank; i++) {
    int64_t size = batch->dims[batch->rank - i], at = index % size;
    index /= size;
    if (tensor->dims[rank - i] != 1) offset += at * stride;
    stride *= tensor->dims[rank - i];
  }
  return tensor->data + offset;
}

/* LAPACK counts in 32 bits. */
static laze_status check_sizes(const matrix_kernel *kernel, const laze_matrix_call *call, laze_error *error) {
  for (int i = 0; i < kernel->operand_count; i++) {
    const laze_matrix_tensor *tensor = &call->operands[i];
    for (int k = batch_rank(tensor, kernel->operand_axes[i]); k < tensor->rank; k++)
      if (tensor->dims[k] >= INT32_MAX)
        return laze_fail(error, LAZE_UNSUPPORTED, "a matrix has a side of %lld; LAPACK takes less than %d",
                         (long long)tensor->dims[k], INT32_MAX);
  }
  return LAZE_OK;
}

static laze_status run_all(const matrix_kernel *kernel, const matrix_batch *batch, matrix_work *work,
                           laze_error *error) {
  const laze_matrix_call *call = work->call;
  for (work->index = 0; work->index < batch->count; work->index++) {
    for (int i = 0; i < kernel->operand_count; i++)
      work->in[i] = find_part(batch, &call->operands[i], kernel->operand_axes[i], work->index);
    for (int i = 0; i < kernel->result_count; i++)
      work->out[i] = find_part(batch, &call->results[i], kernel->result_axes[i], work->index);
    LAZE_TRY(kernel->run(work, error));
  }
  return LAZE_OK;
}

/* Gives a function its scratch: copies, then work, then reals, then integers, each with one more than asked for. */
static laze_status run_with_scratch(const matrix_kernel *kernel, const matrix_batch *batch, matrix_work *work,
                                    laze_error *error) {
  int64_t part = laze_dtype_size(laze_dtype_part(work->call->operands[0].dtype));
  matrix_scratch scratch = kernel->measure ? kernel->measure(work->call) : (matrix_scratch){0};
  int64_t most = matrix_greater(matrix_greater(scratch.work, scratch.reals), scratch.integers);
  if (most >= INT32_MAX)
    return laze_fail(error, LAZE_UNSUPPORTED,
                     "the matrix needs a work space of %lld elements; LAPACK takes less than %d; use a smaller one",
                     (long long)most, INT32_MAX);
  int64_t elements = (scratch.copies + scratch.work + 2) * work->element, reals = (scratch.reals + 1) * part;
  int64_t bytes = elements + reals + (scratch.integers + 1) * (int64_t)sizeof(int32_t);
  char *memory = laze_alloc(work->call->context, bytes);
  if (!memory) return laze_fail_memory(error, "the work space of LAPACK", bytes);
  work->copies = memory;
  work->work = memory + scratch.copies * work->element;
  work->work_count = (int32_t)scratch.work + 1;
  work->reals = memory + elements;
  work->real_count = (int32_t)scratch.reals + 1;
  work->integers = (int32_t *)(void *)(memory + elements + reals);
  work->integer_count = (int32_t)scratch.integers + 1;
  laze_status status = run_all(kernel, batch, work, error);
  laze_free(work->call->context, memory);
  return status;
}

/* The letter in front of LAPACK's routines. */
static char kind_of(laze_dtype dtype) {
  bool is_double = laze_dtype_part(dtype) == LAZE_F64;
  return laze_dtype_is_complex(dtype) ? (is_double ? 'z' : 'c') : is_double ? 'd' : 's';
}

laze_status laze_matrix_run(laze_matrix_function function, const laze_matrix_call *call, laze_error *error) {
  const matrix_kernel *kernel = kernels[function];
  matrix_batch batch = find_batch(kernel, call);
  laze_dtype dtype = call->operands[0].dtype;
  matrix_work work = {.call = call, .element = laze_dtype_size(dtype), .is_complex = laze_dtype_is_complex(dtype)};
  if (batch.count == 0) return LAZE_OK;
  LAZE_TRY(check_sizes(kernel, call, error));
  if (!kernel->alone) LAZE_TRY(laze_lapack_open(kind_of(dtype), &work.lapack, error));
  return run_with_scratch(kernel, &batch, &work, error);
}
