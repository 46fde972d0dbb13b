/* Loops down columns, natively and interpreted, in bits: strips of lanes around a serial loop, which run in lockstep
 * and share the walk over the rows. Columns around one strip, a step of several and a step and a bit; rows around a
 * block of the order. All in registers of each width, which decide on how many strips there are. */
#include "tests/unit/codegen/kernel_runner.h"
#include "tests/support/suite.h"

#include <check.h>

static const laze_dtype dtypes[] = {LAZE_F32, LAZE_F64, LAZE_I32, LAZE_I64, LAZE_I8,  LAZE_I16,
                                    LAZE_U8,  LAZE_U16, LAZE_U32, LAZE_U64, LAZE_BOOL};
static const int64_t widths[] = {0, 1, 16, 17, 33, 64, 127, 128, 129, 145, 300};
static const int64_t depths[] = {0, 1, 63, 64, 65, 330};
enum {
  DTYPES = sizeof dtypes / sizeof *dtypes,
  COLUMN_COUNT = sizeof widths / sizeof *widths,
  DEPTH_COUNT = sizeof depths / sizeof *depths
};

static int32_t binary(runner *r, laze_loop_code code, int32_t a, int32_t b) {
  return laze_loop_index(&r->kernel, code, a, b);
}

/* Element (i, j) of rows of `columns`. */
static int32_t element(runner *r, int32_t i, int32_t columns, int32_t j) {
  return binary(r, LAZE_LOOP_INDEX_ADD, binary(r, LAZE_LOOP_INDEX_MUL, i, columns), j);
}

/* Buffers of one element a column come after those of one an element. */
static void compare(runner *r, int elements, int columns) {
  for (int e = 0; e < DEPTH_COUNT * COLUMN_COUNT; e++) {
    int64_t rows = depths[e % DEPTH_COUNT], width = widths[e / DEPTH_COUNT];
    r->sizes[0] = rows, r->sizes[1] = width;
    for (int b = 0; b < elements; b++) r->lengths[b] = rows * width;
    for (int b = 0; b < columns; b++) r->lengths[elements + b] = width;
    runner_fill(r, e % 2);
    runner_compare(r, width / 4, width);
  }
}

/* One accumulator over two serial loops in each other, so that its blocks go on from run to run. */
static void build_reduction(runner *r, const runner_reduction *which, laze_dtype dtype) {
  laze_loop_kernel *k = &r->kernel;
  laze_loop_add_buffer(k, dtype, false);
  laze_loop_add_buffer(k, dtype, true);
  int32_t rows = laze_loop_index_size(k, 0), columns = laze_loop_index_size(k, 1);
  int32_t j = laze_loop_begin(k, columns, LAZE_LOOP_RANGE | LAZE_LOOP_LANES);
  int32_t sum = runner_accumulator(r, which->op, dtype, LAZE_ORDER_ROWS, which->initial);
  int32_t o = laze_loop_begin(k, laze_loop_index_constant(k, 2), 0);
  int32_t i = laze_loop_begin(k, rows, 0);
  int32_t shared = laze_loop_load(k, 0, binary(r, LAZE_LOOP_INDEX_MUL, o, i), -1);
  int32_t value = laze_loop_load(k, 0, element(r, i, columns, j), -1);
  runner_update(r, sum, runner_op(r, which->op, dtype, value, shared), i);
  laze_loop_end(k);
  laze_loop_end(k);
  laze_loop_store(k, 1, j, runner_result(r, sum), -1);
  laze_loop_end(k);
}

START_TEST(test_reductions) {
  const runner_reduction *which = &runner_reductions[_i % RUNNER_REDUCTIONS];
  for (int d = 0; d < DTYPES; d++) {
    if (dtypes[d] == LAZE_BOOL ? !which->boolean : !which->number) continue;
    runner r;
    runner_open(&r, (uint64_t)(500 + 10 * _i + d));
    build_reduction(&r, which, dtypes[d]);
    if (runner_set_width(&r, _i / RUNNER_REDUCTIONS)) {
      runner_compile(&r);
      compare(&r, 1, 1);
    }
    runner_close(&r);
  }
}
END_TEST

/* Three passes over the rows, as a normalisation takes: two accumulators side by side, one that needs their results,
 * and a scan that stores at each element. */
static void build_stages(runner *r, laze_dtype dtype) {
  laze_loop_kernel *k = &r->kernel;
  for (int b = 0; b < 3; b++) laze_loop_add_buffer(k, dtype, b > 0);
  int32_t rows = laze_loop_index_size(k, 0), columns = laze_loop_index_size(k, 1);
  int32_t j = laze_loop_begin(k, columns, LAZE_LOOP_RANGE | LAZE_LOOP_LANES);
  int32_t sum = runner_accumulator(r, "add.Tensor", dtype, LAZE_ORDER_ROWS, LAZE_INITIAL_ZERO);
  int32_t most = runner_accumulator(r, "maximum", dtype, LAZE_ORDER_ROWS, LAZE_INITIAL_LOWEST);
  int32_t i = laze_loop_begin(k, rows, 0);
  int32_t value = laze_loop_load(k, 0, element(r, i, columns, j), -1);
  runner_update(r, sum, value, i);
  runner_update(r, most, value, i);
  laze_loop_end(k);
  int32_t middle = runner_op(r, "sub.Tensor", dtype, runner_result(r, sum), runner_result(r, most));
  int32_t spread = runner_accumulator(r, "add.Tensor", dtype, LAZE_ORDER_ROWS, LAZE_INITIAL_ZERO);
  i = laze_loop_begin(k, rows, 0);
  int32_t off = runner_op(r, "sub.Tensor", dtype, laze_loop_load(k, 0, element(r, i, columns, j), -1), middle);
  runner_update(r, spread, runner_op(r, "mul.Tensor", dtype, off, off), i);
  laze_loop_end(k);
  laze_loop_store(k, 2, j, runner_result(r, spread), -1);
  int32_t running = runner_accumulator(r, "add.Tensor", dtype, LAZE_ORDER_SEQUENCE, LAZE_INITIAL_ZERO);
  i = laze_loop_begin(k, rows, 0);
  int32_t at = element(r, i, columns, j);
  runner_update(r, running, runner_op(r, "mul.Tensor", dtype, laze_loop_load(k, 0, at, -1), middle), i);
  laze_loop_store(k, 1, at, runner_result(r, running), -1);
  laze_loop_end(k);
  laze_loop_end(k);
}

START_TEST(test_stages) {
  for (int d = 0; d < DTYPES; d++) {
    if (dtypes[d] == LAZE_BOOL) continue;
    runner r;
    runner_open(&r, (uint64_t)(700 + 10 * _i + d));
    build_stages(&r, dtypes[d]);
    if (runner_set_width(&r, _i)) {
      runner_compile(&r);
      compare(&r, 2, 1);
    }
    runner_close(&r);
  }
}
END_TEST

/* Strips that share an accumulator, too: its blocks end inside a run, at places that no step of several strips has. */
static void build_shared(runner *r) {
  laze_loop_kernel *k = &r->kernel;
  laze_loop_add_buffer(k, LAZE_F32, false);
  laze_loop_add_buffer(k, LAZE_F32, true);
  int32_t runs = laze_loop_index_size(k, 0), columns = laze_loop_index_size(k, 1);
  int32_t row = laze_loop_begin(k, laze_loop_index_constant(k, 1), LAZE_LOOP_RANGE);
  int32_t total = runner_accumulator(r, "add.Tensor", LAZE_F32, LAZE_ORDER_LANES16, LAZE_INITIAL_ZERO);
  int32_t o = laze_loop_begin(k, runs, 0);
  int32_t j = laze_loop_begin(k, columns, LAZE_LOOP_LANES);
  int32_t sum = runner_accumulator(r, "add.Tensor", LAZE_F32, LAZE_ORDER_ROWS, LAZE_INITIAL_ZERO);
  int32_t i = laze_loop_begin(k, laze_loop_index_constant(k, 3), 0);
  runner_update(r, sum, laze_loop_load(k, 0, binary(r, LAZE_LOOP_INDEX_ADD, element(r, o, columns, j), i), -1), i);
  laze_loop_end(k);
  runner_update(r, total, runner_result(r, sum), j);
  laze_loop_end(k);
  laze_loop_end(k);
  laze_loop_store(k, 1, row, runner_result(r, total), -1);
  laze_loop_end(k);
}

START_TEST(test_shared) {
  static const int64_t shapes[][2] = {{1, 5000}, {129, 17}, {70, 100}, {43, 300}, {30, 129}};
  runner r;
  runner_open(&r, (uint64_t)(900 + _i));
  build_shared(&r);
  if (runner_set_width(&r, _i)) {
    runner_compile(&r);
    for (int s = 0; s < (int)(sizeof shapes / sizeof *shapes); s++) {
      r.sizes[0] = shapes[s][0], r.sizes[1] = shapes[s][1];
      r.lengths[0] = shapes[s][0] * shapes[s][1] + 2, r.lengths[1] = 1;
      runner_fill(&r, false);
      runner_compare(&r, 0, 1);
    }
  }
  runner_close(&r);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("llvm_columns");
  TCase *tests = tcase_create("native against interpreted");
  tcase_set_timeout(tests, 120);
  tcase_add_loop_test(tests, test_reductions, 0, RUNNER_REDUCTIONS * RUNNER_WIDTHS);
  tcase_add_loop_test(tests, test_stages, 0, RUNNER_WIDTHS);
  tcase_add_loop_test(tests, test_shared, 0, RUNNER_WIDTHS);
  suite_add_tcase(suite, tests);
  return test_run_suite(suite);
}
