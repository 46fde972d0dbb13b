/* Each rule of loop IR, broken one at a time: the verifier must say which instruction is at fault and why. */
#include "codegen/loop/loop.h"
#include "codegen/order.h"
#include "tests/support/suite.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static laze_arena arena;
static laze_loop_kernel kernel;
static int32_t size, range, offset, value;

/* One buffer read, one written, and an open RANGE loop with a loaded value. */
static void open_kernel(void) {
  laze_arena_init(&arena, laze_context_default());
  laze_loop_init(&kernel, &arena);
  laze_loop_add_buffer(&kernel, LAZE_F32, false);
  laze_loop_add_buffer(&kernel, LAZE_F32, true);
  size = laze_loop_index_size(&kernel, 0);
  range = laze_loop_begin(&kernel, size, LAZE_LOOP_RANGE);
  offset = laze_loop_index(&kernel, LAZE_LOOP_INDEX_MUL, range, size);
  value = laze_loop_load(&kernel, 0, offset, -1);
}

static int32_t emit(laze_loop_code code, laze_dtype dtype, int64_t imm, const int32_t *operands, int32_t count) {
  laze_loop_instruction instruction = {.code = (uint8_t)code, .dtype = (uint8_t)dtype, .imm = imm};
  return laze_loop_emit(&kernel, instruction, operands, count);
}

static int32_t accumulator(laze_order order) {
  laze_loop_instruction instruction = {
      .code = LAZE_LOOP_ACCUMULATOR, .dtype = LAZE_F32, .op = laze_op_find("add.Tensor"), .order = (uint8_t)order};
  return laze_loop_emit(&kernel, instruction, NULL, 0);
}

static void update(int32_t state, int32_t loop) {
  emit(LAZE_LOOP_UPDATE, LAZE_DTYPE_NONE, 0, (int32_t[]){state, value, loop}, 3);
}

static void element(const char *op, laze_dtype compute, laze_dtype result, int32_t a, int32_t b) {
  laze_loop_element(&kernel, laze_op_find(op), compute, result, (int32_t[]){a, b}, b < 0 ? 1 : 2);
}

static void break_nothing(void) {
  laze_loop_store(&kernel, 1, offset, value, -1);
}
static void break_end(void) {
  laze_loop_end(&kernel);
  laze_loop_end(&kernel);
}
static void break_open(void) {
  laze_loop_begin(&kernel, size, 0);
}
static void break_second_range(void) {
  laze_loop_end(&kernel);
  laze_loop_begin(&kernel, size, LAZE_LOOP_RANGE);
}
static void break_inner_range(void) {
  laze_loop_begin(&kernel, size, LAZE_LOOP_RANGE);
  laze_loop_end(&kernel);
}
static void break_nested_lanes(void) {
  laze_loop_begin(&kernel, size, LAZE_LOOP_LANES);
  laze_loop_begin(&kernel, size, LAZE_LOOP_LANES);
  laze_loop_end(&kernel);
  laze_loop_end(&kernel);
}
static void break_scope(void) {
  laze_loop_begin(&kernel, size, 0);
  int32_t inner = laze_loop_index_constant(&kernel, 1);
  laze_loop_end(&kernel);
  laze_loop_index(&kernel, LAZE_LOOP_INDEX_ADD, inner, size);
}
static void break_forward(void) {
  laze_loop_index(&kernel, LAZE_LOOP_INDEX_ADD, size, kernel.instruction_count + 1);
}
static void break_index_dtype(void) {
  laze_loop_index(&kernel, LAZE_LOOP_INDEX_ADD, size, value);
}
static void break_size(void) {
  emit(LAZE_LOOP_INDEX_SIZE, LAZE_I64, 7, NULL, 0);
}
static void break_size_dtype(void) {
  emit(LAZE_LOOP_INDEX_SIZE, LAZE_F32, 0, NULL, 0);
}
static void break_index_result(void) {
  emit(LAZE_LOOP_INDEX_ADD, LAZE_F32, 0, (int32_t[]){size, size}, 2);
}
static void break_size_operands(void) {
  emit(LAZE_LOOP_INDEX_SIZE, LAZE_I64, 0, &size, 1);
}
static void break_index_constant_dtype(void) {
  emit(LAZE_LOOP_INDEX_CONSTANT, LAZE_I32, 1, NULL, 0);
}
static void break_check_dtype(void) {
  emit(LAZE_LOOP_CHECK, LAZE_F32, 0, (int32_t[]){size, size, size}, 3);
}
static void break_buffer(void) {
  emit(LAZE_LOOP_LOAD, LAZE_F32, 2, &offset, 1);
}
static void break_buffer_dtype(void) {
  emit(LAZE_LOOP_LOAD, LAZE_F64, 0, &offset, 1);
}
static void break_read_only(void) {
  laze_loop_store(&kernel, 0, offset, value, -1);
}
static void break_store_dtype(void) {
  laze_loop_store(&kernel, 1, offset, size, -1);
}
static void break_guard(void) {
  laze_loop_load(&kernel, 0, offset, size);
}
static void break_operand_dtype(void) {
  element("add.Tensor", LAZE_F64, LAZE_F64, value, value);
}
static void break_result_dtype(void) {
  element("add.Tensor", LAZE_F32, LAZE_F64, value, value);
}
static void break_compare_dtype(void) {
  element("lt.Tensor", LAZE_F32, LAZE_F32, value, value);
}
static void break_arity(void) {
  element("add.Tensor", LAZE_F32, LAZE_F32, value, -1);
}
static void break_constant(void) {
  emit(LAZE_LOOP_CONSTANT, LAZE_I32, INT64_C(1) << 40, NULL, 0);
}
static void break_check_number(void) {
  emit(LAZE_LOOP_CHECK, LAZE_I64, 0, (int32_t[]){size, size, size}, 3);
}
static void break_accumulator_use(void) {
  element("add.Tensor", LAZE_F32, LAZE_F32, value, accumulator(0));
}
static void break_update_loop(void) {
  update(accumulator(LAZE_ORDER_ROWS), range);
}
static void break_update_order(void) {
  int32_t state = accumulator(LAZE_ORDER_LANES16);
  update(state, laze_loop_begin(&kernel, size, 0));
  laze_loop_end(&kernel);
}
static void break_lanes_between(void) {
  int32_t state = accumulator(LAZE_ORDER_ROWS);
  laze_loop_begin(&kernel, size, LAZE_LOOP_LANES);
  update(state, laze_loop_begin(&kernel, size, 0));
  laze_loop_end(&kernel);
  laze_loop_end(&kernel);
}
static void break_after_result(void) {
  int32_t state = accumulator(LAZE_ORDER_ROWS);
  emit(LAZE_LOOP_RESULT, LAZE_F32, 0, &state, 1);
  update(state, laze_loop_begin(&kernel, size, 0));
  laze_loop_end(&kernel);
}
static void break_two_loops(void) {
  int32_t state = accumulator(LAZE_ORDER_ROWS);
  update(state, laze_loop_begin(&kernel, size, 0));
  laze_loop_end(&kernel);
  update(state, laze_loop_begin(&kernel, size, 0));
  laze_loop_end(&kernel);
}
static void break_two_scopes(void) {
  int32_t outer = accumulator(LAZE_ORDER_ROWS);
  laze_loop_begin(&kernel, size, 0);
  int32_t inner = accumulator(LAZE_ORDER_ROWS), loop = laze_loop_begin(&kernel, size, 0);
  update(inner, loop);
  update(outer, loop);
  laze_loop_end(&kernel);
  laze_loop_end(&kernel);
}
static void break_result_scope(void) {
  int32_t state = accumulator(LAZE_ORDER_ROWS);
  laze_loop_begin(&kernel, size, 0);
  emit(LAZE_LOOP_RESULT, LAZE_F32, 0, &state, 1);
  laze_loop_end(&kernel);
}
static void break_sequence_before_update(void) {
  int32_t state = accumulator(LAZE_ORDER_SEQUENCE), loop = laze_loop_begin(&kernel, size, 0);
  emit(LAZE_LOOP_RESULT, LAZE_F32, 0, &state, 1);
  update(state, loop);
  laze_loop_end(&kernel);
}
static void break_sequence_outside(void) {
  int32_t state = accumulator(LAZE_ORDER_SEQUENCE);
  update(state, laze_loop_begin(&kernel, size, 0));
  laze_loop_end(&kernel);
  emit(LAZE_LOOP_RESULT, LAZE_F32, 0, &state, 1);
}
static void break_sequence_in_lanes(void) {
  int32_t state = accumulator(LAZE_ORDER_SEQUENCE);
  update(state, laze_loop_begin(&kernel, size, LAZE_LOOP_LANES));
  laze_loop_end(&kernel);
}
static void break_lanes_accumulator(void) {
  laze_loop_begin(&kernel, size, LAZE_LOOP_LANES);
  accumulator(LAZE_ORDER_LANES16);
  laze_loop_end(&kernel);
}
static void break_lanes_division(void) {
  int32_t lane = laze_loop_begin(&kernel, size, LAZE_LOOP_LANES);
  int32_t moved = laze_loop_index(&kernel, LAZE_LOOP_INDEX_ADD, lane, size);
  laze_loop_index(&kernel, LAZE_LOOP_INDEX_FLOOR_DIV, moved, size);
  laze_loop_end(&kernel);
}
static void break_varying_extent(void) {
  int32_t lane = laze_loop_begin(&kernel, size, LAZE_LOOP_LANES);
  laze_loop_begin(&kernel, lane, 0);
  laze_loop_end(&kernel);
  laze_loop_end(&kernel);
}
static void matrix(laze_loop_product product, int32_t count) {
  int32_t operands[LAZE_LOOP_PRODUCT_MOST];
  for (int k = 0; k < count; k++) operands[k] = size;
  emit(LAZE_LOOP_MATRIX, LAZE_F32, laze_loop_pack_product(&product), operands, count);
}
static void break_matrix(void) {
  matrix((laze_loop_product){.b = 1}, LAZE_LOOP_PRODUCT_FIXED); /* C is buffer 0, which is only read */
}
static void break_factor(void) {
  matrix((laze_loop_product){.b = 1, .c = 1}, LAZE_LOOP_PRODUCT_FIXED);
}
static void break_digits(void) {
  matrix((laze_loop_product){.c = 1, .depth_digits = 1}, LAZE_LOOP_PRODUCT_FIXED);
}
static void break_many_digits(void) {
  matrix((laze_loop_product){.c = 1, .depth_digits = 5, .column_digits = 4, .result_digits = 1},
         LAZE_LOOP_PRODUCT_MOST);
}
static void break_nothing_in_digits(void) {
  matrix((laze_loop_product){.c = 1, .depth_digits = 1, .column_digits = 2, .result_digits = 1},
         LAZE_LOOP_PRODUCT_FIXED + 8);
}
/* With the RANGE loop, which is open already. */
static void nest(int depth) {
  for (int i = 1; i < depth; i++) laze_loop_begin(&kernel, size, 0);
  for (int i = 1; i < depth; i++) laze_loop_end(&kernel);
}
static void break_nothing_16_deep(void) {
  nest(16);
}
static void break_depth(void) {
  nest(17);
}
static void break_operand_count(void) {
  laze_loop_element(&kernel, laze_op_find("add.Tensor"), LAZE_F32, LAZE_F32,
                    (int32_t[]){value, value, value, value, value}, 5);
}
static void break_variable_use(void) {
  element("add.Tensor", LAZE_F32, LAZE_F32, value, emit(LAZE_LOOP_VARIABLE, LAZE_F32, 0, &value, 1));
}
static void break_variable_of_value(void) {
  emit(LAZE_LOOP_GET, LAZE_F32, 0, &value, 1);
}
static void break_variable_dtype(void) {
  int32_t variable = emit(LAZE_LOOP_VARIABLE, LAZE_F32, 0, &value, 1);
  emit(LAZE_LOOP_SET, LAZE_F32, 0, (int32_t[]){variable, size}, 2);
}
static void break_variable_lanes(void) {
  int32_t variable = emit(LAZE_LOOP_VARIABLE, LAZE_F32, 0, &value, 1);
  laze_loop_begin(&kernel, size, LAZE_LOOP_LANES);
  emit(LAZE_LOOP_SET, LAZE_F32, 0, (int32_t[]){variable, value}, 2);
  laze_loop_end(&kernel);
}
static void break_nothing_variable_in_lanes(void) {
  laze_loop_begin(&kernel, size, LAZE_LOOP_LANES);
  int32_t variable = emit(LAZE_LOOP_VARIABLE, LAZE_F32, 0, &value, 1);
  laze_loop_begin(&kernel, size, 0);
  emit(LAZE_LOOP_SET, LAZE_F32, 0, (int32_t[]){variable, emit(LAZE_LOOP_GET, LAZE_F32, 0, &variable, 1)}, 2);
  laze_loop_end(&kernel);
  laze_loop_end(&kernel);
}
static void break_code(void) {
  emit((laze_loop_code)99, LAZE_F32, 0, NULL, 0);
}

static const struct {
  void (*build)(void);
  const char *message; /* part of it; NULL: accepted */
} cases[] = {{break_nothing, NULL},
             {break_end, "no loop is open"},
             {break_open, "still open"},
             {break_second_range, "more than one outermost loop"},
             {break_inner_range, "RANGE loop"},
             {break_nested_lanes, "inside a LANES loop"},
             {break_scope, "loop that has ended"},
             {break_forward, "after its use"},
             {break_index_dtype, "operand 1 is f32, expected i64"},
             {break_size, "size does not exist"},
             {break_size_dtype, "dtype is f32, expected i64"},
             {break_index_result, "dtype is f32, expected i64"},
             {break_size_operands, "1 operands"},
             {break_index_constant_dtype, "dtype is i32, expected i64"},
             {break_check_dtype, "dtype is f32, expected i64"},
             {break_buffer, "buffer does not exist"},
             {break_buffer_dtype, "another dtype"},
             {break_read_only, "only read"},
             {break_store_dtype, "operand 1 is i64, expected f32"},
             {break_guard, "operand 1 is i64, expected bool"},
             {break_operand_dtype, "operand 0 is f32, expected f64"},
             {break_result_dtype, "dtype is f64, expected f32"},
             {break_compare_dtype, "dtype is f32, expected bool"},
             {break_arity, "1 operands, but 'add.Tensor' has 2"},
             {break_constant, "bits beyond its dtype"},
             {break_check_number, "check number"},
             {break_accumulator_use, "not a value"},
             {break_update_loop, "innermost loop, after the accumulator"},
             {break_update_order, "others in a serial one"},
             {break_lanes_between, "between the accumulator and its update"},
             {break_after_result, "already taken"},
             {break_two_loops, "another loop updates its accumulator"},
             {break_two_scopes, "accumulators that stand in different loops"},
             {break_result_scope, "another loop than its accumulator"},
             {break_sequence_before_update, "before its update or outside the loop"},
             {break_sequence_outside, "before its update or outside the loop"},
             {break_sequence_in_lanes, "others in a serial one"},
             {break_lanes_accumulator, "stands inside a LANES loop"},
             {break_lanes_division, "use nested loops"},
             {break_varying_extent, "differs between lanes"},
             {break_matrix, "only read"},
             {break_factor, "writes one of its factors"},
             {break_digits, "12 operands, expected 14"},
             {break_many_digits, "too many digits"},
             {break_nothing_in_digits, NULL},
             {break_nothing_16_deep, NULL},
             {break_depth, "nest deeper than 16"},
             {break_operand_count, "5 operands"},
             {break_variable_use, "not a value"},
             {break_variable_of_value, "not a variable"},
             {break_variable_dtype, "operand 1 is i64, expected f32"},
             {break_variable_lanes, "between the variable and its use"},
             {break_nothing_variable_in_lanes, NULL},
             {break_code, "code does not exist"}};
#define CASE_COUNT ((int)(sizeof cases / sizeof cases[0]))

START_TEST(test_rules) {
  laze_error error = {0};
  open_kernel();
  cases[_i].build();
  if (cases[_i].build != break_end) laze_loop_end(&kernel);
  laze_status status = laze_loop_verify(&kernel, &error);
  if (!cases[_i].message) {
    ck_assert_msg(status == LAZE_OK, "%s", error.message);
  } else {
    ck_assert_int_eq(status, LAZE_INTERNAL);
    ck_assert_msg(strstr(error.message, cases[_i].message) != NULL, "case %d: %s", _i, error.message);
  }
  laze_arena_deinit(&arena);
}
END_TEST

/* A kernel without a RANGE loop would do nothing, silently. */
START_TEST(test_no_range) {
  laze_error error = {0};
  laze_arena_init(&arena, laze_context_default());
  laze_loop_init(&kernel, &arena);
  laze_loop_index_constant(&kernel, 1);
  ck_assert_int_eq(laze_loop_verify(&kernel, &error), LAZE_INTERNAL);
  ck_assert_ptr_nonnull(strstr(error.message, "no RANGE loop"));
  laze_arena_deinit(&arena);
}
END_TEST

/* A right kernel with instructions of nearly every kind. */
static void build_all_kinds(void) {
  open_kernel();
  int32_t less = laze_loop_index(&kernel, LAZE_LOOP_INDEX_LESS, offset, size);
  emit(LAZE_LOOP_AND, LAZE_BOOL, 0, (int32_t[]){less, less}, 2);
  emit(LAZE_LOOP_CONSTANT, LAZE_F32, 0, NULL, 0);
  emit(LAZE_LOOP_CONVERT, LAZE_F64, 0, &value, 1);
  emit(LAZE_LOOP_BITCAST, LAZE_I32, 0, &value, 1);
  kernel.check_count = 1;
  emit(LAZE_LOOP_CHECK, LAZE_I64, 0, (int32_t[]){offset, size, offset}, 3);
  emit(LAZE_LOOP_CHECK_SLICE, LAZE_I64, 0, (int32_t[]){offset, size, offset, size}, 4);
  element("add.Tensor", LAZE_F32, LAZE_F32, value, value);
  int32_t variable = emit(LAZE_LOOP_VARIABLE, LAZE_F32, 0, &value, 1);
  emit(LAZE_LOOP_SET, LAZE_F32, 0, (int32_t[]){variable, value}, 2);
  emit(LAZE_LOOP_GET, LAZE_F32, 0, &variable, 1);
  int32_t state = accumulator(LAZE_ORDER_ROWS);
  update(state, laze_loop_begin(&kernel, size, 0));
  laze_loop_end(&kernel);
  int32_t sum = emit(LAZE_LOOP_RESULT, LAZE_F32, 0, &state, 1);
  laze_loop_store(&kernel, 1, offset, sum, -1);
  laze_loop_end(&kernel);
}

static void assert_refused(const char *what, int32_t number) {
  laze_error error = {0};
  ck_assert_msg(laze_loop_verify(&kernel, &error) == LAZE_INTERNAL, "instruction %d, %s: accepted", number, what);
}

/* In each instruction of a right kernel an operand too many or too few, one that does not exist, and a number that does
 * not exist: a lowering trusts what it reads. */
START_TEST(every_instruction_is_checked) {
  build_all_kinds();
  laze_error error = {0};
  ck_assert_msg(laze_loop_verify(&kernel, &error) == LAZE_OK, "%s", error.message);
  /* Operands of their own, with one more behind them: an index, which nobody takes for a guard. */
  for (int32_t i = 0; i < kernel.instruction_count; i++) {
    laze_loop_instruction *at = &kernel.instructions[i], right = *at;
    int32_t own[12];
    memcpy(own, kernel.operands + at->first, (size_t)at->count * sizeof *own);
    own[at->count] = size;
    laze_loop_instruction spare = {.code = LAZE_LOOP_END};
    if (i > size) {
      laze_loop_emit(&kernel, spare, own, right.count + 1);
      at = &kernel.instructions[i];
      kernel.instruction_count--;
      at->first = kernel.operand_count - right.count - 1;
      at->count = right.count + 1;
      assert_refused("an operand too many", i);
      at->count = right.count;
      for (int32_t k = 0; k < right.count; k++) {
        const int32_t wrong[] = {-1, i, i + 1, kernel.instruction_count};
        for (size_t w = 0; w < sizeof wrong / sizeof *wrong; w++) {
          kernel.operands[at->first + k] = wrong[w];
          assert_refused("an operand that is not there yet", i);
        }
        kernel.operands[at->first + k] = own[k];
      }
    }
    if (right.count > 0) {
      at->count = right.count - 1;
      assert_refused("an operand too few", i);
    }
    *at = right;
    at->first = -1;
    assert_refused("operands before the list", i);
    at->first = kernel.operand_count - right.count + 1;
    assert_refused("operands behind the list", i);
    *at = right;
    int32_t limit = at->code == LAZE_LOOP_LOAD || at->code == LAZE_LOOP_STORE          ? kernel.buffer_count
                    : at->code == LAZE_LOOP_INDEX_SIZE                                 ? kernel.size_count
                    : at->code == LAZE_LOOP_CHECK || at->code == LAZE_LOOP_CHECK_SLICE ? kernel.check_count
                                                                                       : 0;
    for (int64_t wrong = -1; limit > 0 && wrong <= limit; wrong += limit + 1) {
      at->imm = wrong;
      assert_refused("a number that does not exist", i);
    }
    *at = right;
  }
  ck_assert_msg(laze_loop_verify(&kernel, &error) == LAZE_OK, "%s", error.message);
  laze_arena_deinit(&arena);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("loop_verify");
  TCase *tests = tcase_create("rules");
  tcase_add_loop_test(tests, test_rules, 0, CASE_COUNT);
  tcase_add_test(tests, test_no_range);
  tcase_add_test(tests, every_instruction_is_checked);
  suite_add_tcase(suite, tests);
  return test_run_suite(suite);
}
