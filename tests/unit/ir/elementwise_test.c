#include "tests/unit/ir/ir_test.h"

static laze_type tensor(laze_dtype dtype, int rank, int64_t size) {
  laze_type type = {.kind = LAZE_TYPE_TENSOR, .dtype = (uint8_t)dtype, .rank = (uint8_t)rank};
  for (int i = 0; i < rank; i++) type.sizes[i] = size;
  return type;
}

static laze_status infer(laze_op op, laze_type a, laze_type b, const laze_attribute *attributes, laze_type *out) {
  const laze_type *types[] = {&a, &b};
  laze_value operands[2] = {{0, 0}, {1, 0}};
  int32_t segments[] = {1, 1, -1, -1};
  int32_t count = laze_op_get(op)->segment_count;
  laze_call call = {.op = op,
                    .operands = operands,
                    .operand_count = count > 2 ? 2 : count,
                    .segments = count > 2 ? segments : NULL,
                    .attributes = attributes};
  laze_inference inference = {NULL, laze_op_get(op)->name, &error};
  return laze_infer_elementwise(&inference, &call, types, out);
}

START_TEST(promotes_and_broadcasts) {
  laze_type out;
  assert_ok(infer(LAZE_OP_ADD, tensor(LAZE_I64, 1, 3), tensor(LAZE_F32, 2, 3), NULL, &out));
  ck_assert_int_eq(out.dtype, LAZE_F32);
  ck_assert_int_eq(out.rank, 2);
  ck_assert_int_eq(out.sizes[0], 3);
  /* A tensor without dimensions does not widen one with dimensions. */
  assert_ok(infer(LAZE_OP_ADD, tensor(LAZE_F32, 1, 3), tensor(LAZE_F64, 0, 0), NULL, &out));
  ck_assert_int_eq(out.dtype, LAZE_F32);
  assert_error(infer(LAZE_OP_ADD, tensor(LAZE_F32, 1, 3), tensor(LAZE_F32, 1, 4), NULL, &out), "add.Tensor");
}
END_TEST

START_TEST(result_dtype_follows_the_class) {
  laze_type out;
  assert_ok(infer(LAZE_OP_LT, tensor(LAZE_F32, 1, 3), tensor(LAZE_I32, 1, 3), NULL, &out));
  ck_assert_int_eq(out.dtype, LAZE_BOOL);
  assert_ok(infer(LAZE_OP_DIV, tensor(LAZE_I64, 1, 3), tensor(LAZE_I32, 1, 3), NULL, &out));
  ck_assert_int_eq(out.dtype, LAZE_F32);
  laze_attribute dtype = laze_attribute_dtype(LAZE_I32);
  assert_ok(infer(LAZE_OP_TO_DTYPE, tensor(LAZE_F64, 1, 3), tensor(LAZE_F64, 1, 3), &dtype, &out));
  ck_assert_int_eq(out.dtype, LAZE_I32);
}
END_TEST

START_TEST(operands_enter_in_the_compute_dtype) {
  laze_type a = tensor(LAZE_BOOL, 1, 2), b = tensor(LAZE_I32, 1, 2), c = tensor(LAZE_F64, 1, 2);
  const laze_type *types[] = {&a, &b, &c};
  laze_value operands[3] = {{0, 0}, {0, 0}, {0, 0}};
  laze_call call = {.op = LAZE_OP_WHERE_SELF, .operands = operands, .operand_count = 3};
  ck_assert_int_eq(laze_call_compute_dtype(&call, types, 0), LAZE_BOOL);
  ck_assert_int_eq(laze_call_compute_dtype(&call, types, 1), LAZE_F64);
  call = (laze_call){.op = LAZE_OP_LT, .operands = operands, .operand_count = 2};
  ck_assert_int_eq(laze_call_compute_dtype(&call, types + 1, 0), LAZE_F64);
  call = (laze_call){.op = LAZE_OP_TO_DTYPE, .operands = operands, .operand_count = 1};
  ck_assert_int_eq(laze_call_compute_dtype(&call, types + 1, 0), LAZE_I32);
}
END_TEST

/* What an entry has no element expression for is refused when it is recorded, not when it runs. */
START_TEST(refuses_dtypes_and_conditions) {
  laze_type out;
  assert_error(infer(LAZE_OP_SUB, tensor(LAZE_BOOL, 1, 2), tensor(LAZE_BOOL, 1, 2), NULL, &out),
               "sub.Tensor: not defined for bool, the dtype its operands are promoted to; it takes "
               "i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64");
  laze_type number = tensor(LAZE_F32, 0, 0);
  const laze_type *types[] = {&number, &number, &number};
  laze_value operands[3] = {{0, 0}, {0, 0}, {0, 0}};
  laze_call call = {.op = LAZE_OP_WHERE_SELF, .operands = operands, .operand_count = 3};
  laze_inference inference = {NULL, "where.self", &error};
  assert_error(laze_infer_elementwise(&inference, &call, types, &out), "the condition is f32, expected bool");
}
END_TEST

static void add_tests(TCase *tests) {
  tcase_add_test(tests, promotes_and_broadcasts);
  tcase_add_test(tests, result_dtype_follows_the_class);
  tcase_add_test(tests, operands_enter_in_the_compute_dtype);
  tcase_add_test(tests, refuses_dtypes_and_conditions);
}

int main(void) {
  return run_suite("elementwise", add_tests);
}
