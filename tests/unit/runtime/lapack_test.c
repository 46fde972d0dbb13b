/* LAPACK as a library that is opened when first needed, and what must not reach it. */
#include "base/dtype.h"
#include "runtime/lapack/lapack.h"
#include "runtime/lapack/matrix.h"
#include "tests/support/suite.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static laze_context *context;
static laze_error error;

static void setup(void) {
  ck_assert_int_eq(laze_context_create(NULL, &context, NULL), LAZE_OK);
}

static void teardown(void) {
  laze_context_release(context);
}

/* Each test is a process of its own, so that nothing is open yet. */
START_TEST(a_missing_library_is_said_with_its_remedy) {
  const laze_lapack *lapack = NULL;
  setenv(LAZE_LAPACK_VARIABLE, "/nowhere/liblapack.so:", 1);
  ck_assert_int_eq(laze_lapack_open('d', &lapack, &error), LAZE_UNSUPPORTED);
  ck_assert_ptr_nonnull(strstr(error.message, "/nowhere/liblapack.so"));
  ck_assert_ptr_nonnull(strstr(error.message, "install"));
  setenv(LAZE_LAPACK_VARIABLE, "libm.so.6:liblapack.so.3:libopenblas.so.0",
         1); /* the first has none of the functions */
  ck_assert_int_eq(laze_lapack_open('d', &lapack, &error), LAZE_OK);
  ck_assert(lapack->lu != NULL);
}
END_TEST

START_TEST(a_side_beyond_32_bits_is_refused) {
  const int64_t dims[2] = {1, (int64_t)1 << 40}, counts[1] = {1};
  laze_matrix_call call = {.context = context};
  call.operands[0] = (laze_matrix_tensor){LAZE_F32, 2, dims, NULL}; /* never read */
  call.results[0] = call.operands[0];
  call.results[1] = (laze_matrix_tensor){LAZE_I32, 1, counts, NULL};
  call.results[2] = (laze_matrix_tensor){LAZE_I32, 0, NULL, NULL};
  ck_assert_int_eq(laze_matrix_run(LAZE_MATRIX_LU, &call, &error), LAZE_UNSUPPORTED);
}
END_TEST

START_TEST(no_matrices_ask_for_no_library) {
  const int64_t dims[3] = {0, 3, 3}, counts[1] = {0};
  laze_matrix_call call = {.context = context};
  setenv(LAZE_LAPACK_VARIABLE, "/nowhere/liblapack.so", 1);
  call.operands[0] = (laze_matrix_tensor){LAZE_F64, 3, dims, NULL};
  call.results[0] = call.operands[0];
  call.results[1] = (laze_matrix_tensor){LAZE_I32, 1, counts, NULL};
  ck_assert_int_eq(laze_matrix_run(LAZE_MATRIX_CHOLESKY, &call, &error), LAZE_OK);
}
END_TEST

/* Taking factors apart is no affair of LAPACK's, and works where there is none. */
START_TEST(unpacking_needs_no_library) {
  const int64_t square[2] = {2, 2}, list[1] = {2};
  double factors[4] = {3, 1, 0.5, 2}, permutation[4], lower[4], upper[4];
  int32_t pivots[2] = {2, 2};
  laze_matrix_call call = {.context = context};
  setenv(LAZE_LAPACK_VARIABLE, "/nowhere/liblapack.so", 1);
  call.operands[0] = (laze_matrix_tensor){LAZE_F64, 2, square, (char *)factors};
  call.operands[1] = (laze_matrix_tensor){LAZE_I32, 1, list, (char *)pivots};
  call.results[0] = (laze_matrix_tensor){LAZE_F64, 2, square, (char *)permutation};
  call.results[1] = (laze_matrix_tensor){LAZE_F64, 2, square, (char *)lower};
  call.results[2] = (laze_matrix_tensor){LAZE_F64, 2, square, (char *)upper};
  ck_assert_int_eq(laze_matrix_run(LAZE_MATRIX_LU_UNPACK, &call, &error), LAZE_OK);
  ck_assert(permutation[1] == 1 && permutation[2] == 1 && lower[2] == 0.5 && lower[0] == 1 && upper[3] == 2);
}
END_TEST

/* Pivots are operands: with others than a factor's, rows outside of the matrix would be exchanged. */
START_TEST(pivots_must_be_rows) {
  const int64_t square[2] = {2, 2}, list[1] = {2};
  double factors[4] = {2, 1, 0.5, 3}, right[4] = {1, 2, 3, 4}, solution[4];
  const int32_t wrong[][2] = {{1, 3}, {0, 1}, {-1, 2}, {1, INT32_MIN}, {1, -2}};
  laze_matrix_call call = {.context = context};
  call.operands[0] = (laze_matrix_tensor){LAZE_F64, 2, square, (char *)factors};
  call.operands[2] = (laze_matrix_tensor){LAZE_F64, 2, square, (char *)right};
  call.results[0] = (laze_matrix_tensor){LAZE_F64, 2, square, (char *)solution};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    int32_t pivots[2] = {wrong[i][0], wrong[i][1]};
    call.operands[1] = (laze_matrix_tensor){LAZE_I32, 1, list, (char *)pivots};
    ck_assert_int_eq(laze_matrix_run(LAZE_MATRIX_LU_SOLVE, &call, &error), LAZE_INVALID_ARGUMENT);
    ck_assert_int_eq(laze_matrix_run(LAZE_MATRIX_LDL_SOLVE, &call, &error), LAZE_INVALID_ARGUMENT);
  }
}
END_TEST

/* Every kind of elements has every routine that it needs, and none that takes other arguments. */
START_TEST(kinds_of_elements_have_routines_of_their_own) {
  const laze_lapack *real = NULL, *complex = NULL;
  for (const char *kind = "sd"; *kind; kind++) {
    ck_assert_int_eq(laze_lapack_open(*kind, &real, &error), LAZE_OK);
    ck_assert_int_eq(laze_lapack_open(*kind == 's' ? 'c' : 'z', &complex, &error), LAZE_OK);
    ck_assert(real->cholesky && complex->cholesky && real->cholesky != complex->cholesky);
    ck_assert(real->svd && !real->svd_complex && !complex->svd && complex->svd_complex);
    ck_assert(real->ldl == real->ldl_hermitian && complex->ldl != complex->ldl_hermitian);
  }
}
END_TEST

enum { MOST = 70 };

/* Numbers that are no pattern of a matrix's rows, from -1 to 1, of any kind. */
static void fill(laze_dtype dtype, double *out, int64_t count, uint32_t seed) {
  for (int64_t i = 0; i < count; i++) {
    double parts[2];
    for (int k = 0; k < 2; k++) {
      seed = seed * 1664525u + 1013904223u;
      parts[k] = (double)(seed >> 8) / (1 << 23) - 1;
    }
    laze_scalar_store(laze_scalar_complex(parts[0], laze_dtype_is_complex(dtype) ? parts[1] : 0), dtype, out, i);
  }
}

/* Scratch is measured here and not asked of the library: the reference ends the process where it is too small. */
START_TEST(scratch_is_enough_for_every_shape) {
  static double a[2 * MOST * MOST], b[2 * MOST * MOST], results[3][2 * MOST * MOST];
  static const int64_t sides[] = {1, 2, 3, 26, 33, 70};
  static const laze_dtype dtypes[] = {LAZE_F32, LAZE_F64, LAZE_C64, LAZE_C128};
  laze_dtype dtype = dtypes[_i];
  int64_t rank;
  setenv("OPENBLAS_NUM_THREADS", "1", 1); /* of such small matrices threads only wait for each other */
  for (size_t i = 0; i < 6 * 6 * 5; i++) {
    const int64_t m = sides[i % 6], n = sides[i / 6 % 6], k = i / 36 == 4 ? 65 : 1, lesser = m < n ? m : n;
    const int64_t matrix[] = {m, n}, other[] = {m, k}, solution[] = {n, k}, residuals[] = {k}, values[] = {lesser};
    const int64_t left[] = {m, m}, right[] = {n, n};
    laze_dtype part = laze_dtype_part(dtype);
    laze_matrix_call call = {.context = context, .driver = "syySd"[i / 36], .rcond = -1};
    fill(dtype, a, m * n, (uint32_t)i);
    fill(dtype, b, m * k, (uint32_t)i + 1000);
    call.operands[0] = (laze_matrix_tensor){dtype, 2, matrix, (char *)a};
    call.operands[1] = (laze_matrix_tensor){dtype, 2, other, (char *)b};
    call.results[0] = (laze_matrix_tensor){dtype, 2, solution, (char *)results[0]};
    call.results[1] = (laze_matrix_tensor){part, 1, residuals, (char *)results[1]};
    call.results[2] = (laze_matrix_tensor){LAZE_I64, 0, NULL, (char *)&rank};
    call.results[3] = (laze_matrix_tensor){part, 1, values, (char *)results[2]};
    ck_assert_int_eq(laze_matrix_run(LAZE_MATRIX_LEAST, &call, &error), LAZE_OK);
    ck_assert(i < 36 || rank == lesser);
    call.results[0] = (laze_matrix_tensor){dtype, 2, left, (char *)results[0]};
    call.results[1] = (laze_matrix_tensor){part, 1, values, (char *)results[1]};
    call.results[2] = (laze_matrix_tensor){dtype, 2, right, (char *)results[2]};
    ck_assert_int_eq(laze_matrix_run(LAZE_MATRIX_SVD, &call, &error), LAZE_OK);
    if (m != n) continue;
    call.results[0] = (laze_matrix_tensor){part, 1, values, (char *)results[0]};
    call.results[1] = (laze_matrix_tensor){dtype, 2, matrix, (char *)results[1]};
    ck_assert_int_eq(laze_matrix_run(LAZE_MATRIX_EIGEN, &call, &error), LAZE_OK);
    call.results[0].dtype = call.results[1].dtype = laze_dtype_paired(dtype);
    ck_assert_int_eq(laze_matrix_run(LAZE_MATRIX_SPECTRUM, &call, &error), LAZE_OK);
  }
}
END_TEST

int main(void) {
  Suite *suite = suite_create("lapack");
  TCase *tests = tcase_create("opens");
  tcase_add_checked_fixture(tests, setup, teardown);
  const TTest *const all[] = {a_missing_library_is_said_with_its_remedy, a_side_beyond_32_bits_is_refused,
                              unpacking_needs_no_library, no_matrices_ask_for_no_library, pivots_must_be_rows};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) tcase_add_test(tests, all[i]);
  tcase_add_test(tests, kinds_of_elements_have_routines_of_their_own);
  tcase_add_loop_test(tests, scratch_is_enough_for_every_shape, 0, 4);
  suite_add_tcase(suite, tests);
  return test_run_suite(suite);
}
