/* Sizes that no memory holds: an error that names them, after which everything else goes on. */
#include "tests/support/suite.h"

#include <laze/laze.h>

#include <check.h>
#include <stdlib.h>
#include <string.h>

static laze_context *context;
static laze_scope *scope;

static void set_up(void) {
  laze_context_options options = {.struct_size = sizeof options, .cache_directory = ""};
  ck_assert_int_eq(laze_context_create(&options, &context, NULL), LAZE_OK);
  scope = laze_scope_begin(context);
}

static void tear_down(void) {
  laze_context_release(context);
}

static void assert_usable(void) {
  float data[2] = {1, 2}, got[2];
  laze_tensor *x = laze_tensor_from_data(context, LAZE_F32, LAZE_SHAPE(2), data, sizeof data);
  laze_tensor *y = laze_mul(laze_add(x, x), x);
  ck_assert_msg(laze_tensor_read(y, LAZE_F32, got, sizeof got) == LAZE_OK, "%s", laze_tensor_error(y));
  ck_assert_float_eq(got[1], 8);
}

/* More elements than a size can be: refused when it is recorded. */
START_TEST(impossible_shapes_are_refused) {
  const int64_t huge = INT64_C(1) << 62;
  laze_tensor *one = laze_ones(context, LAZE_SHAPE(1), LAZE_F32);
  laze_tensor *refused[] = {laze_zeros(context, LAZE_SHAPE(huge), LAZE_F32),
                            laze_zeros(context, LAZE_SHAPE(huge, huge), LAZE_F32),
                            laze_expand(one, LAZE_SHAPE(huge, 4)),
                            laze_zeros(context, LAZE_SHAPE(-5), LAZE_F32),
                            laze_zeros(context, LAZE_SHAPE(INT64_MAX), LAZE_F32),
                            laze_zeros(context, LAZE_SHAPE(INT64_MIN), LAZE_F32)};
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
    ck_assert_int_eq(laze_tensor_rank(refused[i]), -1);
    ck_assert_str_ne(laze_tensor_error(refused[i]), "");
    /* And passed on, not lost. */
    ck_assert_int_eq(laze_tensor_rank(laze_add(refused[i], one)), -1);
  }
  assert_usable();
  ck_assert_int_ne(laze_scope_end(scope), LAZE_OK);
}
END_TEST

/* Possible as a type, impossible as memory: an error of the read. */
START_TEST(a_read_without_memory_fails_alone) {
  float number;
  laze_tensor *x = laze_ones(context, LAZE_SHAPE(1), LAZE_F32);
  laze_tensor *large = laze_exp(laze_expand(x, LAZE_SHAPE(INT64_C(1) << 40, 64)));
  laze_tensor *kept = laze_tensor_retain(laze_add(x, x));
  ck_assert_int_eq(laze_tensor_size(large, 0), INT64_C(1) << 40);
  ck_assert_int_eq(laze_tensor_materialise(large), LAZE_OUT_OF_MEMORY);
  ck_assert_ptr_nonnull(strstr(laze_tensor_error(large), "bytes"));
  assert_usable();
  ck_assert_int_eq(laze_tensor_read(kept, LAZE_F32, &number, sizeof number), LAZE_OK);
  ck_assert_float_eq(number, 2);
  laze_tensor_release(kept);
  ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
}
END_TEST

/* An intermediate value is as impossible as a result; and what reads it has no value. */
START_TEST(an_intermediate_without_memory_fails_alone) {
  float number;
  laze_tensor *x = laze_ones(context, LAZE_SHAPE(INT64_C(1) << 20, 1), LAZE_F32),
              *y = laze_ones(context, LAZE_SHAPE(1, INT64_C(1) << 30), LAZE_F32);
  laze_tensor *product = laze_mm(x, y);
  laze_tensor *total = laze_amax(laze_mm(product, laze_permute(y, LAZE_INTS(1, 0))), LAZE_ALL_DIMS, false);
  ck_assert_int_eq(laze_tensor_read(total, LAZE_F32, &number, sizeof number), LAZE_OUT_OF_MEMORY);
  assert_usable();
  ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
}
END_TEST

/* The caller's data is looked at only when its size is right. */
START_TEST(data_of_another_size_is_refused) {
  float data[2] = {1, 2};
  laze_tensor *wrong = laze_tensor_from_data(context, LAZE_F32, LAZE_SHAPE(INT64_C(1) << 61), data, sizeof data);
  ck_assert_int_eq(laze_tensor_rank(wrong), -1);
  wrong = laze_tensor_from_data(context, LAZE_F32, LAZE_SHAPE(3), data, sizeof data);
  ck_assert_int_eq(laze_tensor_rank(wrong), -1);
  assert_usable();
  ck_assert_int_ne(laze_scope_end(scope), LAZE_OK);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("memory");
  TCase *tests = tcase_create("no memory");
  tcase_set_timeout(tests, 0);
  tcase_add_checked_fixture(tests, set_up, tear_down);
  tcase_add_test(tests, impossible_shapes_are_refused);
  tcase_add_test(tests, a_read_without_memory_fails_alone);
  tcase_add_test(tests, an_intermediate_without_memory_fails_alone);
  tcase_add_test(tests, data_of_another_size_is_refused);
  suite_add_tcase(suite, tests);
  return test_run_suite(suite);
}
