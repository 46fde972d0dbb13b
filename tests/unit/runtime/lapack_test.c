/* LAPACK as a library that is opened when first needed, and what must not reach it. */
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
  ck_assert_int_eq(laze_lapack_open(1, &lapack, &error), LAZE_UNSUPPORTED);
  ck_assert_ptr_nonnull(strstr(error.message, "/nowhere/liblapack.so"));
  ck_assert_ptr_nonnull(strstr(error.message, "install"));
  setenv(LAZE_LAPACK_VARIABLE, "libm.so.6:liblapack.so.3:libopenblas.so.0",
         1); /* the first has none of the functions */
  ck_assert_int_eq(laze_lapack_open(1, &lapack, &error), LAZE_OK);
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

int main(void) {
  Suite *suite = suite_create("lapack");
  TCase *tests = tcase_create("opens");
  tcase_add_checked_fixture(tests, setup, teardown);
  const TTest *const all[] = {a_missing_library_is_said_with_its_remedy, a_side_beyond_32_bits_is_refused,
                              unpacking_needs_no_library, no_matrices_ask_for_no_library, pivots_must_be_rows};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) tcase_add_test(tests, all[i]);
  suite_add_tcase(suite, tests);
  return test_run_suite(suite);
}
