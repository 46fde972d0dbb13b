#include "tests/unit/ir/ir_test.h"

/* Names in files and from plugins go through these three. */
START_TEST(finds_operators_by_name) {
  ck_assert_int_eq(laze_op_find("add.Tensor"), LAZE_OP_ADD);
  ck_assert_int_eq(laze_op_find("mm"), LAZE_OP_MM);
  ck_assert_int_eq(laze_op_find("add"), LAZE_OP_NONE); /* several overloads */
  ck_assert_int_eq(laze_op_find("ad"), LAZE_OP_NONE);
  ck_assert_int_eq(laze_op_find("add.Tensors"), LAZE_OP_NONE);
  ck_assert_int_eq(laze_op_find(""), LAZE_OP_NONE);
  ck_assert_int_eq(laze_op_find("~"), LAZE_OP_NONE);
  for (laze_op op = 1; op < laze_op_count; op++) ck_assert_int_eq(laze_op_find(laze_op_get(op)->name), op);
}
END_TEST

START_TEST(walks_overloads_in_table_order) {
  ck_assert_int_eq(laze_op_overload("add", 0), LAZE_OP_ADD);
  ck_assert_int_eq(laze_op_overload("add", 1), LAZE_OP_ADD_SCALAR_TENSOR);
  ck_assert_int_eq(laze_op_overload("add", 2), LAZE_OP_ADD_SCALAR);
  ck_assert_int_eq(laze_op_overload("add", 3), LAZE_OP_NONE);
  ck_assert_int_eq(laze_op_overload("mm", 0), LAZE_OP_MM);
  ck_assert_int_eq(laze_op_overload("zzz", 0), LAZE_OP_NONE);
  const laze_argument_info *alpha = laze_op_argument(laze_op_get(LAZE_OP_ADD), "alpha");
  ck_assert_ptr_nonnull(alpha);
  ck_assert_int_eq(alpha->kind, LAZE_ARGUMENT_SCALAR);
  ck_assert_ptr_null(laze_op_argument(laze_op_get(LAZE_OP_ADD), "alph"));
}
END_TEST

START_TEST(segments_name_operands) {
  int32_t first, segments[] = {1, 3, -1, 2};
  laze_call call = {.operand_count = 6, .segments = segments};
  ck_assert_int_eq(laze_call_segment(&call, 1, &first), 3);
  ck_assert_int_eq(first, 1);
  ck_assert_int_eq(laze_call_segment(&call, 2, &first), -1);
  ck_assert_int_eq(laze_call_segment(&call, 3, &first), 2);
  ck_assert_int_eq(first, 4);
  call.segments = NULL;
  ck_assert_int_eq(laze_call_segment(&call, 2, &first), 1);
  ck_assert_int_eq(first, 2);
}
END_TEST

/* A call from outside is checked before rules see it, for they trust its layout. */
START_TEST(checks_calls_against_the_schema) {
  laze_value operands[3] = {{0, 0}, {0, 0}, {0, 0}};
  int32_t without_alpha[] = {1, 1, -1}, without_other[] = {1, -1, -1}, twice[] = {2, 1, -1};
  laze_call call = {.op = LAZE_OP_ADD, .operands = operands, .operand_count = 2, .segments = without_alpha};
  assert_ok(laze_call_check(&call, &error));
  call.segments = without_other;
  assert_error(laze_call_check(&call, &error), "add.Tensor: argument 'other' is missing");
  call.segments = twice;
  assert_error(laze_call_check(&call, &error), "add.Tensor: argument 'self' got 2 values, expected one");
  call.segments = without_alpha;
  call.operand_count = 3;
  assert_error(laze_call_check(&call, &error), "got 3 operands, but its segments name 2");
  laze_attribute wrong = laze_attribute_integer(3);
  laze_call permute = {.op = LAZE_OP_PERMUTE, .operands = operands, .operand_count = 1, .attributes = &wrong};
  assert_error(laze_call_check(&permute, &error), "permute: attribute 'dims' has kind");
  wrong = laze_attribute_absent(LAZE_ARGUMENT_INT_LIST);
  assert_error(laze_call_check(&permute, &error), "permute: attribute 'dims' is missing");
}
END_TEST

static void add_tests(TCase *tests) {
  tcase_add_test(tests, finds_operators_by_name);
  tcase_add_test(tests, walks_overloads_in_table_order);
  tcase_add_test(tests, segments_name_operands);
  tcase_add_test(tests, checks_calls_against_the_schema);
}

int main(void) {
  return run_suite("op", add_tests);
}
