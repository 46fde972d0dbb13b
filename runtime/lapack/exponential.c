/* The exponential of a matrix: its Taylor polynomial of degree 20 where the matrix is small, which the others are made
 * by halving, and squares afterwards.
 *
 *   B = A / 2^s      exp(B) = p0 + B^4 (p1 + B^4 (p2 + B^4 (p3 + B^4 p4)))      p of I, B, B^2, B^3      exp(A) =
 * exp(B)^(2^s)
 *
 * Elements lie by rows and are multiplied as if by columns: exp(A') = exp(A)'.
 */
#include "runtime/lapack/matrix_internal.h"

#include <math.h>
#include <string.h>

enum { DEGREE = 20, STEP = 4 };

static matrix_scratch measure_exponential(const laze_matrix_call *call) {
  int64_t n = matrix_rows(&call->operands[0]);
  return (matrix_scratch){.copies = (STEP + 2) * n * n};
}

/* out = a b + beta out */
static void multiply(const matrix_work *work, const void *a, const void *b, double beta, void *out) {
  laze_dtype dtype = work->call->operands[0].dtype;
  int32_t n = (int32_t)matrix_rows(&work->call->operands[0]), leading = matrix_leading(n);
  double one[2], other[2]; /* also of c128 */
  laze_scalar_store(laze_scalar_real(1.0), dtype, one, 0);
  laze_scalar_store(laze_scalar_real(beta), dtype, other, 0);
  work->lapack->multiply("N", "N", &n, &n, &n, one, a, &leading, b, &leading, other, out, &leading, 1, 1);
}

/* How often a matrix is halved until its columns are small: sums of magnitudes, where a polynomial of DEGREE leaves
 * less than a rounding. -1: it has none, for it is not finite. */
static int count_halvings(const matrix_work *work, int64_t n) {
  laze_dtype part = laze_dtype_part(work->call->operands[0].dtype);
  int64_t row = work->is_complex ? 2 * n : n;
  double greatest = 0, limit = part == LAZE_F64 ? 1 : 3;
  int exponent;
  for (int64_t i = 0; i < n; i++) {
    double sum = 0;
    for (int64_t j = 0; j < row; j++) sum += fabs(laze_scalar_load(part, work->in[0], i * row + j).value.real);
    if (!isfinite(sum)) return -1;
    if (sum > greatest) greatest = sum;
  }
  if (greatest <= limit) return 0;
  frexp(greatest / limit, &exponent);
  return exponent;
}

/* out = sum of a coefficient times a power, from the 0th on, which is the identity; `out` may be added to. */
static void add_powers(const matrix_work *work, char *const powers[], const double *coefficients, int count,
                       char *out) {
  laze_dtype part = laze_dtype_part(work->call->operands[0].dtype);
  int64_t n = matrix_rows(&work->call->operands[0]), stride = work->is_complex ? 2 : 1, parts = n * n * stride;
  for (int64_t i = 0; i < parts; i++) {
    double sum = laze_scalar_load(part, out, i).value.real;
    for (int k = 1; k < count; k++) sum += coefficients[k] * laze_scalar_load(part, powers[k], i).value.real;
    if (i % ((n + 1) * stride) == 0) sum += coefficients[0];
    laze_scalar_store(laze_scalar_real(sum), part, out, i);
  }
}

static void write_scaled(const matrix_work *work, int halvings, char *out) {
  laze_dtype part = laze_dtype_part(work->call->operands[0].dtype);
  int64_t n = matrix_rows(&work->call->operands[0]), parts = n * n * (work->is_complex ? 2 : 1);
  for (int64_t i = 0; i < parts; i++)
    laze_scalar_store(laze_scalar_real(ldexp(laze_scalar_load(part, work->in[0], i).value.real, -halvings)), part, out,
                      i);
}

static laze_status run_exponential(const matrix_work *work, laze_error *error) {
  int64_t n = matrix_rows(&work->call->operands[0]), bytes = n * n * work->element;
  int halvings = count_halvings(work, n);
  char *powers[STEP + 1] = {NULL}, *sum = work->copies + STEP * bytes, *next = sum + bytes;
  double coefficients[DEGREE + 1] = {1};
  (void)error;
  if (halvings < 0) matrix_fill(work->out[0], n * n, (double)NAN, work->call->results[0].dtype);
  if (halvings < 0 || n == 0) return LAZE_OK;
  for (int k = 1; k <= DEGREE; k++) coefficients[k] = coefficients[k - 1] / k;
  for (int k = 1; k <= STEP; k++) powers[k] = work->copies + (k - 1) * bytes;
  write_scaled(work, halvings, powers[1]);
  for (int k = 2; k <= STEP; k++) multiply(work, powers[k - 1], powers[1], 0, powers[k]);
  memset(sum, 0, (size_t)bytes);
  add_powers(work, powers, coefficients + DEGREE - STEP, STEP + 1, sum);
  for (int first = DEGREE - 2 * STEP; first >= 0 || halvings > 0; first -= STEP) {
    char *factor = first >= 0 ? powers[STEP] : sum, *turned = next;
    if (first < 0) halvings--;
    multiply(work, factor, sum, 0, next);
    if (first >= 0) add_powers(work, powers, coefficients + first, STEP, next);
    next = sum;
    sum = turned;
  }
  memcpy(work->out[0], sum, (size_t)bytes);
  return LAZE_OK;
}

const matrix_kernel matrix_kernel_exponential = {{2}, {2}, 1, 1, false, measure_exponential, run_exponential};
