/* Printing, and the key of a kernel. */
#include "codegen/loop/loop.h"
#include "codegen/order.h"
#include "tests/support/suite.h"

#include <check.h>
#include <stdlib.h>

static laze_arena arena;
static laze_loop_kernel kernel;

static void open_kernel(void) {
  laze_arena_init(&arena, laze_context_default());
  laze_loop_init(&kernel, &arena);
}
static void close_kernel(void) {
  laze_arena_deinit(&arena);
}

static int32_t add_element(int32_t a, int32_t b) {
  return laze_loop_element(&kernel, laze_op_find("add.Tensor"), LAZE_F32, LAZE_F32, (int32_t[]){a, b}, 2);
}

/* A kernel with most kinds of instructions. */
static void build(void) {
  laze_loop_add_buffer(&kernel, LAZE_F32, false);
  laze_loop_add_buffer(&kernel, LAZE_F32, true);
  int32_t rows = laze_loop_index_size(&kernel, 0), columns = laze_loop_index_size(&kernel, 1);
  int32_t i = laze_loop_begin(&kernel, rows, LAZE_LOOP_RANGE);
  laze_loop_instruction accumulator = {.code = LAZE_LOOP_ACCUMULATOR,
                                       .dtype = LAZE_F32,
                                       .op = laze_op_find("add.Tensor"),
                                       .order = LAZE_ORDER_LANES16,
                                       .initial = LAZE_INITIAL_ZERO};
  int32_t sum = laze_loop_emit(&kernel, accumulator, NULL, 0);
  int32_t start = laze_loop_index(&kernel, LAZE_LOOP_INDEX_MUL, i, columns);
  int32_t j = laze_loop_begin(&kernel, columns, LAZE_LOOP_LANES);
  int32_t at = laze_loop_index(&kernel, LAZE_LOOP_INDEX_ADD, start, j);
  int32_t guard = laze_loop_index(&kernel, LAZE_LOOP_INDEX_LESS, i, j);
  int32_t half = laze_loop_constant(&kernel, LAZE_F32, laze_scalar_real(0.5));
  int32_t value = add_element(laze_loop_load(&kernel, 0, at, guard), half);
  laze_loop_emit(&kernel, (laze_loop_instruction){.code = LAZE_LOOP_UPDATE}, (int32_t[]){sum, value, j}, 3);
  laze_loop_end(&kernel);
  int32_t total =
      laze_loop_emit(&kernel, (laze_loop_instruction){.code = LAZE_LOOP_RESULT, .dtype = LAZE_F32}, &sum, 1);
  laze_loop_store(&kernel, 1, i, total, -1);
  laze_loop_end(&kernel);
}

static const char expected[] = "kernel (b0: f32, b1: f32 written), sizes: 2 {\n"
                               "  %0 = size 0\n"
                               "  %1 = size 1\n"
                               "  loop %2 = range(%0) {\n"
                               "    %3 = accumulator add.Tensor from zero, lanes16 : f32\n"
                               "    %4 = index.mul %2, %1\n"
                               "    loop %5 = upto(%1) lanes {\n"
                               "      %6 = index.add %4, %5\n"
                               "      %7 = index.less %2, %5\n"
                               "      %8 = constant 0.5 : f32\n"
                               "      %9 = load b0[%6] if %7 : f32\n"
                               "      %10 = add.Tensor %9, %8 : f32\n"
                               "      update %3, %10, %5\n"
                               "    }\n"
                               "    %13 = result %3 : f32\n"
                               "    store b1[%2], %13\n"
                               "  }\n"
                               "}\n";

/* The dump is what one debugs with: exact text, so that a change of it is a decision. */
START_TEST(test_print) {
  laze_text text;
  laze_error error;
  open_kernel();
  build();
  ck_assert_int_eq(laze_loop_verify(&kernel, &error), LAZE_OK);
  laze_text_init(&text, laze_context_default());
  laze_loop_print(&text, &kernel);
  ck_assert_str_eq(laze_text_get(&text), expected);
  laze_text_deinit(&text);
  close_kernel();
}
END_TEST

/* Two builds of one kernel share the key, or nothing would ever be found in a cache. */
START_TEST(test_hash_equal) {
  open_kernel();
  build();
  laze_hash first = laze_loop_hash(&kernel);
  close_kernel();
  open_kernel();
  build();
  ck_assert(laze_hash_equal(first, laze_loop_hash(&kernel)));
  close_kernel();
}
END_TEST

/* Whatever changes the code changes the key: a cache must not give one kernel for another. */
START_TEST(test_hash_differs) {
  open_kernel();
  build();
  laze_hash first = laze_loop_hash(&kernel);
  laze_loop_instruction *last = &kernel.instructions[8], *accumulator = &kernel.instructions[3];
  switch (_i) {
  case 0: last->imm++; break;
  case 1: last->dtype = LAZE_F64; break;
  case 2: kernel.operands[kernel.instructions[10].first] = 8; break;
  case 3: kernel.instructions[5].flags = 0; break;
  case 4: accumulator->order = LAZE_ORDER_ROWS; break;
  case 5: accumulator->initial = LAZE_INITIAL_ONE; break;
  case 6: accumulator->op = laze_op_find("mul.Tensor"); break;
  case 7: kernel.buffers[0].dtype = LAZE_F64; break;
  case 8: kernel.buffers[0].written = true; break;
  case 9: kernel.size_count++; break;
  case 10: kernel.check_count++; break;
  case 11: kernel.instructions[10].compute = LAZE_F64; break;
  default: kernel.instruction_count--;
  }
  ck_assert(!laze_hash_equal(first, laze_loop_hash(&kernel)));
  close_kernel();
}
END_TEST

int main(void) {
  Suite *suite = suite_create("loop_text");
  TCase *tests = tcase_create("print and hash");
  tcase_add_test(tests, test_print);
  tcase_add_test(tests, test_hash_equal);
  tcase_add_loop_test(tests, test_hash_differs, 0, 13);
  suite_add_tcase(suite, tests);
  return test_run_suite(suite);
}
