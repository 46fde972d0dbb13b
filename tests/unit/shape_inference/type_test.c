/* Types: construction, limits, and the text form. */
#include "shape_inference/type.h"
#include "tests/support/suite.h"

#include <check.h>
#include <string.h>

static laze_context *context;
static laze_size_table *table;
static laze_error error;

static void setup(void) {
  ck_assert_int_eq(laze_context_create(NULL, &context, NULL), LAZE_OK);
  ck_assert_int_eq(laze_size_table_create(context, &table, NULL), LAZE_OK);
}

static void teardown(void) {
  laze_size_table_destroy(table);
  laze_context_release(context);
}

static void check_round_trip(const char *source, const char *expected) {
  const char *cursor = source;
  laze_type type, again;
  ck_assert_msg(laze_type_parse(table, &cursor, &type, &error) == LAZE_OK, "%s: %s", source, error.message);
  ck_assert_str_eq(cursor, "");
  laze_text text;
  laze_text_init(&text, context);
  laze_type_print(&text, table, &type);
  ck_assert_str_eq(laze_text_get(&text), expected);
  char buffer[80];
  ck_assert_str_eq(laze_type_format(table, &type, buffer, sizeof buffer), expected);
  cursor = expected;
  ck_assert_int_eq(laze_type_parse(table, &cursor, &again, &error), LAZE_OK);
  ck_assert(laze_type_equal(&type, &again));
  laze_text_deinit(&text);
}

START_TEST(text_form) {
  check_round_trip("f32[n,784]", "f32[n,784]");
  check_round_trip("i64[]", "i64[]");
  check_round_trip("token", "token");
  check_round_trip("none", "none");
  check_round_trip("bool[ n + 1 , min(n, 4) ]", "bool[n+1,min(n, 4)]");
  check_round_trip("f64[4611686018427387904,0]", "f64[4611686018427387904,0]");
}
END_TEST

static void check_refused(laze_size_table *with, const char *source, laze_status status, const char *part) {
  const char *cursor = source;
  laze_type type;
  ck_assert_msg(laze_type_parse(with, &cursor, &type, &error) == status, "%s: %s", source, error.message);
  ck_assert_msg(strstr(error.message, part) != NULL, "%s: message is: %s", source, error.message);
  ck_assert_ptr_eq(cursor, source);
}

START_TEST(bad_text_is_refused) {
  check_refused(table, "", LAZE_INVALID_ARGUMENT, "dtype");
  check_refused(table, "f33[2]", LAZE_INVALID_ARGUMENT, "dtype");
  check_refused(table, "float32float32float32[2]", LAZE_INVALID_ARGUMENT, "dtype");
  check_refused(table, "f32", LAZE_INVALID_ARGUMENT, "\"[\"");
  check_refused(table, "f32[", LAZE_INVALID_ARGUMENT, "expected");
  check_refused(table, "f32[2", LAZE_INVALID_ARGUMENT, "\"]\"");
  check_refused(table, "f32[2,]", LAZE_INVALID_ARGUMENT, "expected");
  check_refused(table, "f32[-1]", LAZE_OUT_OF_RANGE, "size -1");
  check_refused(table, "f32[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]", LAZE_OUT_OF_RANGE, "16 dimensions");
  check_refused(table, "bool[1099511627776,1099511627776]", LAZE_OUT_OF_RANGE, "too large");
  check_refused(NULL, "f32[n]", LAZE_INVALID_ARGUMENT, "constant sizes");
}
END_TEST

START_TEST(construction) {
  laze_type type;
  int64_t sizes[] = {2, 3}, negative[] = {2, -3}, huge[] = {(int64_t)1 << 31, (int64_t)1 << 31};
  int64_t most[] = {(int64_t)1 << 59}, empty[] = {(int64_t)1 << 40, (int64_t)1 << 40, 0};
  ck_assert_int_eq(laze_type_init(&type, "x", LAZE_F32, 2, sizes, &error), LAZE_OK);
  ck_assert(type.kind == LAZE_TYPE_TENSOR && type.dtype == LAZE_F32 && type.rank == 2 && type.sizes[1] == 3);
  ck_assert_int_eq(laze_type_init(&type, "x", LAZE_F32, 0, NULL, &error), LAZE_OK);
  ck_assert_int_eq(laze_type_init(&type, "x", LAZE_F64, 1, most, &error), LAZE_OK);
  ck_assert_int_eq(laze_type_init(&type, "x", LAZE_F64, 3, empty, &error), LAZE_OK);
  ck_assert_int_eq(laze_type_init(&type, "x", 99, 2, sizes, &error), LAZE_INVALID_ARGUMENT);
  ck_assert_int_eq(laze_type_init(&type, "x", LAZE_F32, 2, NULL, &error), LAZE_INVALID_ARGUMENT);
  ck_assert_int_eq(laze_type_init(&type, "x", LAZE_F32, 17, sizes, &error), LAZE_OUT_OF_RANGE);
  ck_assert_int_eq(laze_type_init(&type, "x", LAZE_F32, -1, sizes, &error), LAZE_OUT_OF_RANGE);
  ck_assert_int_eq(laze_type_init(&type, "x", LAZE_F32, 2, negative, &error), LAZE_OUT_OF_RANGE);
  /* Refused for bool too: converting it to f64 must not overflow. */
  ck_assert_int_eq(laze_type_init(&type, "input x", LAZE_BOOL, 2, huge, &error), LAZE_OUT_OF_RANGE);
  ck_assert_str_eq(error.message,
                   "input x: shape bool[2147483648,2147483648] is too large; its elements must number at "
                   "most 2^59, which at 8 bytes are 2^62");
}
END_TEST

START_TEST(equality_and_elements) {
  laze_type a, b;
  int64_t sizes[] = {2, 3};
  laze_size elements;
  ck_assert_int_eq(laze_type_init(&a, "a", LAZE_F32, 2, sizes, &error), LAZE_OK);
  b = a;
  b.sizes[5] = 9; /* beyond the rank: means nothing */
  ck_assert(laze_type_equal(&a, &b));
  b.sizes[1] = 4;
  ck_assert(!laze_type_equal(&a, &b));
  b = a;
  b.dtype = LAZE_F64;
  ck_assert(!laze_type_equal(&a, &b));
  b = a;
  b.kind = LAZE_TYPE_TOKEN;
  ck_assert(!laze_type_equal(&a, &b));
  ck_assert_int_eq(laze_type_elements(NULL, &a, &elements, &error), LAZE_OK);
  ck_assert_int_eq(elements, 6);
}
END_TEST

/* Messages have room for a part of a long shape, and no more. */
START_TEST(formatting_is_cut) {
  laze_type type;
  const char *cursor = "f32[123456,n,123456]";
  ck_assert_int_eq(laze_type_parse(table, &cursor, &type, &error), LAZE_OK);
  char buffer[9];
  ck_assert_str_eq(laze_type_format(table, &type, buffer, sizeof buffer), "f32[1234");
  type.sizes[1] = 7;
  for (int64_t size = 1; size <= (int64_t)sizeof buffer; size++)
    ck_assert_int_eq((int64_t)strlen(laze_type_format(NULL, &type, buffer, size)), size - 1);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("type");
  TCase *cases = tcase_create("type");
  tcase_add_checked_fixture(cases, setup, teardown);
  tcase_add_test(cases, text_form);
  tcase_add_test(cases, bad_text_is_refused);
  tcase_add_test(cases, construction);
  tcase_add_test(cases, equality_and_elements);
  tcase_add_test(cases, formatting_is_cut);
  suite_add_tcase(suite, cases);
  return test_run_suite(suite);
}
