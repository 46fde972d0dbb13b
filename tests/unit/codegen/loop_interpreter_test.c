/* What instructions mean, against plain C: above all the named orders, written down here a second time. */
#include "tests/support/loop_interpreter.h"

#include "codegen/order.h"
#include "runtime/kernel.h"
#include "tests/support/order_sums.h"
#include "tests/support/suite.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static laze_arena arena;
static laze_loop_kernel kernel;

static void open_kernel(int inputs) {
  laze_arena_init(&arena, laze_context_default());
  laze_loop_init(&kernel, &arena);
  for (int k = 0; k < inputs; k++) laze_loop_add_buffer(&kernel, LAZE_F32, false);
  laze_loop_add_buffer(&kernel, LAZE_F32, true);
}

static void run(void *const *buffers, const int64_t *sizes, int64_t begin, int64_t end, laze_kernel_failure *failures) {
  laze_error error = {0};
  laze_kernel_arguments arguments = {buffers, sizes, failures, NULL, NULL, NULL};
  ck_assert_msg(laze_loop_verify(&kernel, &error) == LAZE_OK, "%s", error.message);
  ck_assert_msg(test_interpret_loop(&kernel, laze_context_default(), &arguments, begin, end, &error) == LAZE_OK, "%s",
                error.message);
}

static float *make_numbers(int64_t count) {
  float *numbers = malloc(sizeof(float) * (size_t)(count + 1));
  ck_assert_ptr_nonnull(numbers);
  for (int64_t k = 0; k < count; k++) numbers[k] = (float)((k * 7919) % 1013) / 997.0f - 0.3f;
  return numbers;
}

/* out[0] = sum of the input in an order. */
static void build_sum(laze_order order) {
  open_kernel(1);
  int32_t count = laze_loop_index_size(&kernel, 0), one = laze_loop_index_constant(&kernel, 1);
  int32_t row = laze_loop_begin(&kernel, one, LAZE_LOOP_RANGE);
  laze_loop_instruction accumulator = {
      .code = LAZE_LOOP_ACCUMULATOR, .dtype = LAZE_F32, .op = laze_op_find("add.Tensor"), .order = (uint8_t)order};
  int32_t sum = laze_loop_emit(&kernel, accumulator, NULL, 0);
  int32_t j = laze_loop_begin(&kernel, count, order == LAZE_ORDER_LANES16 ? LAZE_LOOP_LANES : 0);
  int32_t update[3] = {sum, laze_loop_load(&kernel, 0, j, -1), j};
  laze_loop_emit(&kernel, (laze_loop_instruction){.code = LAZE_LOOP_UPDATE}, update, 3);
  laze_loop_end(&kernel);
  laze_loop_instruction result = {.code = LAZE_LOOP_RESULT, .dtype = LAZE_F32};
  laze_loop_store(&kernel, 1, row, laze_loop_emit(&kernel, result, &sum, 1), -1);
  laze_loop_end(&kernel);
}

/* The orders are part of what results mean: other bits here are other results everywhere. */
START_TEST(test_orders) {
  static const int64_t counts[] = {0, 1, 16, 63, 64, 65, 128, 2047, 2048, 2049, 5000};
  bool lanes = _i == 0;
  build_sum(lanes ? LAZE_ORDER_LANES16 : LAZE_ORDER_ROWS);
  for (int k = 0; k < 11; k++) {
    float *numbers = make_numbers(counts[k]), out = -1;
    void *buffers[2] = {numbers, &out};
    laze_kernel_failure failure = {.position = INT64_MAX};
    run(buffers, &counts[k], 0, 1, &failure);
    test_layout all = {1, 0, (int)counts[k], 1};
    float expected = lanes ? test_sum_lanes(numbers, all) : test_sum_rows(numbers, all);
    ck_assert_msg(memcmp(&out, &expected, sizeof out) == 0, "%ld: %.9g, expected %.9g", (long)counts[k], out, expected);
    free(numbers);
  }
  laze_arena_deinit(&arena);
}
END_TEST

/* A state of a sequence is what it was and the element, in no blocks: 0.1 added 200 times, with each sum stored. */
START_TEST(test_sequence) {
  enum { COUNT = 200 };
  open_kernel(1);
  int32_t count = laze_loop_index_size(&kernel, 0);
  laze_loop_begin(&kernel, laze_loop_index_constant(&kernel, 1), LAZE_LOOP_RANGE);
  laze_loop_instruction accumulator = {
      .code = LAZE_LOOP_ACCUMULATOR, .dtype = LAZE_F32, .op = laze_op_find("add.Tensor"), .order = LAZE_ORDER_SEQUENCE};
  int32_t sum = laze_loop_emit(&kernel, accumulator, NULL, 0);
  int32_t j = laze_loop_begin(&kernel, count, 0);
  int32_t update[3] = {sum, laze_loop_load(&kernel, 0, j, -1), j};
  laze_loop_emit(&kernel, (laze_loop_instruction){.code = LAZE_LOOP_UPDATE}, update, 3);
  laze_loop_instruction result = {.code = LAZE_LOOP_RESULT, .dtype = LAZE_F32};
  laze_loop_store(&kernel, 1, j, laze_loop_emit(&kernel, result, &sum, 1), -1);
  laze_loop_end(&kernel);
  laze_loop_end(&kernel);
  float numbers[COUNT], out[COUNT], expected = 0;
  for (int k = 0; k < COUNT; k++) numbers[k] = 0.1f;
  void *buffers[2] = {numbers, out};
  laze_kernel_failure failure = {.position = INT64_MAX};
  run(buffers, &(int64_t){COUNT}, 0, 1, &failure);
  for (int k = 0; k < COUNT; k++) {
    expected += 0.1f;
    ck_assert_msg(memcmp(&out[k], &expected, sizeof expected) == 0, "%d: %.9g, expected %.9g", k, out[k], expected);
  }
  laze_arena_deinit(&arena);
}
END_TEST

/* Only iterations of the call run; a guarded-off load reads nothing (its offset is far outside) and gives 0. */
START_TEST(test_range_and_guard) {
  open_kernel(1);
  int32_t count = laze_loop_index_size(&kernel, 0), limit = laze_loop_index_size(&kernel, 1);
  int32_t i = laze_loop_begin(&kernel, count, LAZE_LOOP_RANGE);
  int32_t guard = laze_loop_index(&kernel, LAZE_LOOP_INDEX_LESS, i, limit);
  int32_t far = laze_loop_index(&kernel, LAZE_LOOP_INDEX_MUL, i, laze_loop_index_constant(&kernel, INT64_C(1) << 50));
  int32_t pick = laze_loop_index(&kernel, LAZE_LOOP_INDEX_MIN, far, laze_loop_index_constant(&kernel, INT64_MAX));
  int32_t value = laze_loop_load(&kernel, 0, pick, guard);
  laze_loop_store(&kernel, 1, i, value, -1);
  laze_loop_end(&kernel);
  float input[1] = {5}, out[4] = {9, 9, 9, 9};
  void *buffers[2] = {input, out};
  int64_t sizes[2] = {4, 1};
  laze_kernel_failure failure = {.position = INT64_MAX};
  run(buffers, sizes, 0, 3, &failure);
  ck_assert(out[0] == 5 && out[1] == 0 && out[2] == 0 && out[3] == 9);
  laze_arena_deinit(&arena);
}
END_TEST

/* Negative indices wrap once; of two failures the lower position is kept, with the value found. */
START_TEST(test_check) {
  open_kernel(1);
  laze_loop_add_buffer(&kernel, LAZE_I64, false);
  kernel.check_count = 3;
  int32_t count = laze_loop_index_size(&kernel, 0), size = laze_loop_index_constant(&kernel, 3);
  int32_t i = laze_loop_begin(&kernel, count, LAZE_LOOP_RANGE);
  int32_t operands[3] = {laze_loop_load(&kernel, 2, i, -1), size, i};
  laze_loop_instruction check = {.code = LAZE_LOOP_CHECK, .dtype = LAZE_I64, .imm = 2};
  int32_t index = laze_loop_emit(&kernel, check, operands, 3);
  laze_loop_store(&kernel, 1, i, laze_loop_load(&kernel, 0, index, -1), -1);
  laze_loop_end(&kernel);
  float table[3] = {10, 11, 12}, out[5];
  int64_t indices[5] = {2, -3, -4, 3, -1}, sizes[1] = {5};
  void *buffers[3] = {table, out, indices};
  laze_kernel_failure failures[3];
  for (int k = 0; k < 3; k++) failures[k] = (laze_kernel_failure){.position = INT64_MAX};
  run(buffers, sizes, 0, 5, failures);
  ck_assert(out[0] == 12 && out[1] == 10 && out[2] == 10 && out[3] == 10 && out[4] == 12);
  ck_assert(failures[2].position == 2 && failures[2].index == -4 && failures[2].size == 3);
  ck_assert(failures[0].position == INT64_MAX && failures[1].position == INT64_MAX); /* those of other checks */
  laze_arena_deinit(&arena);
}
END_TEST

/* An element of a product, written down a second time. Multiplication and addition are fused: with a rounding between
 * them last bits would differ. */
static float multiply(const float *a, const float *b, int64_t step, int64_t depth) {
  float total = 0, lanes[4];
  if (depth < 256) {
    for (int64_t k = 0; k < depth; k++) total = fmaf(a[k], b[k * step], total);
    return total;
  }
  for (int64_t block = 0; block < depth; block += 1024) {
    for (int l = 0; l < 4; l++) {
      lanes[l] = 0;
      for (int64_t k = block + l; k < depth && k < block + 1024; k += 4) lanes[l] = fmaf(a[k], b[k * step], lanes[l]);
    }
    float sum = (lanes[0] + lanes[2]) + (lanes[1] + lanes[3]);
    total = block ? total + sum : sum;
  }
  return total;
}

/* Windows of a row: k = channel * 2 + place, and columns from the second on. */
START_TEST(test_digits) {
  enum { CHANNELS = 300, WIDTH = 7, PLACES = 2, FIRST = 1, COLUMNS = WIDTH - PLACES + 1 - FIRST };
  open_kernel(2);
  int32_t one = laze_loop_index_constant(&kernel, 1), zero = laze_loop_index_constant(&kernel, 0);
  int32_t width = laze_loop_index_constant(&kernel, WIDTH), places = laze_loop_index_constant(&kernel, PLACES);
  int32_t depth = laze_loop_index_constant(&kernel, CHANNELS * PLACES);
  int32_t columns = laze_loop_index_constant(&kernel, COLUMNS), first = laze_loop_index_constant(&kernel, FIRST);
  laze_loop_begin(&kernel, one, LAZE_LOOP_RANGE);
  int32_t operands[] = {zero, depth, one, zero, one, one, zero, columns, one, columns, depth, first, places, width};
  const laze_loop_product product = {.b = 1, .c = 2, .depth_digits = 1};
  laze_loop_instruction matrix = {.code = LAZE_LOOP_MATRIX, .dtype = LAZE_F32, .imm = laze_loop_pack_product(&product)};
  laze_loop_emit(&kernel, matrix, operands, sizeof operands / sizeof *operands);
  laze_loop_end(&kernel);
  float *a = make_numbers(CHANNELS * PLACES), *b = make_numbers(CHANNELS * WIDTH), out[COLUMNS];
  float windows[CHANNELS * PLACES];
  void *buffers[3] = {a, b, out};
  laze_kernel_failure failure = {.position = INT64_MAX};
  run(buffers, NULL, 0, 1, &failure);
  for (int j = 0; j < COLUMNS; j++) {
    for (int k = 0; k < CHANNELS * PLACES; k++) windows[k] = b[k / PLACES * WIDTH + k % PLACES + FIRST + j];
    float sum = multiply(a, windows, 1, CHANNELS * PLACES);
    ck_assert_msg(memcmp(&sum, &out[j], sizeof sum) == 0, "%d: %.9g", j, out[j]);
  }
  free(a);
  free(b);
}
END_TEST

START_TEST(test_matrix) {
  static const int64_t depths[] = {50, 255, 256, 257, 1023, 1024, 1025, 3000};
  const int64_t depth = depths[_i];
  open_kernel(2);
  int32_t size[4], zero = laze_loop_index_constant(&kernel, 0), one = laze_loop_index_constant(&kernel, 1);
  for (int k = 0; k < 3; k++) size[k] = laze_loop_index_size(&kernel, k);
  laze_loop_begin(&kernel, one, LAZE_LOOP_RANGE);
  int32_t operands[] = {zero, size[2], one, zero, size[1], one, zero, size[1], size[0], size[1], size[2], zero};
  const laze_loop_product product = {.b = 1, .c = 2};
  laze_loop_instruction matrix = {.code = LAZE_LOOP_MATRIX, .dtype = LAZE_F32, .imm = laze_loop_pack_product(&product)};
  laze_loop_emit(&kernel, matrix, operands, LAZE_LOOP_PRODUCT_FIXED);
  laze_loop_end(&kernel);
  float *a = make_numbers(3 * depth), *b = make_numbers(depth * 2), out[6];
  void *buffers[3] = {a, b, out};
  int64_t sizes[3] = {3, 2, depth};
  laze_kernel_failure failure = {.position = INT64_MAX};
  run(buffers, sizes, 0, 1, &failure);
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 2; j++) {
      float sum = multiply(a + i * depth, b + j, 2, depth);
      ck_assert_msg(memcmp(&sum, &out[i * 2 + j], sizeof sum) == 0, "%d, %d: %.9g", i, j, out[i * 2 + j]);
    }
  free(a);
  free(b);
  laze_arena_deinit(&arena);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("loop_interpreter");
  TCase *tests = tcase_create("meaning");
  tcase_add_loop_test(tests, test_orders, 0, 2);
  tcase_add_test(tests, test_sequence);
  tcase_add_test(tests, test_range_and_guard);
  tcase_add_test(tests, test_check);
  tcase_add_loop_test(tests, test_matrix, 0, 8);
  tcase_add_test(tests, test_digits);
  suite_add_tcase(suite, tests);
  return test_run_suite(suite);
}
