/* Native kernels against the loop interpreter, in bits, over shapes that hit every part of a loop: no iteration, one
 * lane, whole strips, one lane more, two strips and a bit, a block of 2048 and one more. */
#include "tests/unit/codegen/kernel_runner.h"
#include "codegen/interp/eval.h"
#include "codegen/order.h"
#include "tests/support/suite.h"

#include <check.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const int64_t extents[] = {0, 1, 15, 16, 17, 31, 33, 100, 2048, 2049, 5000, 8240};
#define EXTENT_COUNT ((int)(sizeof extents / sizeof extents[0]))
static const laze_dtype dtypes[] = {LAZE_F32, LAZE_F64, LAZE_I32, LAZE_I64,  LAZE_I8,  LAZE_I16, LAZE_U8,
                                    LAZE_U16, LAZE_U32, LAZE_U64, LAZE_BOOL, LAZE_F16, LAZE_BF16};
/* Floats of 16 bits are converted alone. */
enum { DTYPES = sizeof dtypes / sizeof *dtypes, COMPUTED = DTYPES - 2, NUMBERS = COMPUTED - 1 };

static int32_t binary(runner *r, laze_loop_code code, int32_t a, int32_t b) {
  return laze_loop_index(&r->kernel, code, a, b);
}

/* y[i] = relu(a[i] * b[i] + 1): the plainest kernel, also on parts of the range as threads run them. */
START_TEST(test_elementwise) {
  runner r;
  runner_open(&r, 1);
  laze_loop_kernel *k = &r.kernel;
  for (int b = 0; b < 3; b++) laze_loop_add_buffer(k, LAZE_F32, b == 2);
  int32_t one = laze_loop_constant(k, LAZE_F32, laze_scalar_real(1));
  int32_t i = laze_loop_begin(k, laze_loop_index_size(k, 0), LAZE_LOOP_RANGE | LAZE_LOOP_LANES);
  int32_t product = runner_op(&r, "mul.Tensor", LAZE_F32, laze_loop_load(k, 0, i, -1), laze_loop_load(k, 1, i, -1));
  int32_t zero = laze_loop_constant(k, LAZE_F32, laze_scalar_real(0));
  int32_t sum = runner_op(&r, "add.Tensor", LAZE_F32, product, one);
  laze_loop_store(k, 2, i, runner_op(&r, "maximum", LAZE_F32, sum, zero), -1);
  laze_loop_end(k);
  runner_compile(&r);
  for (int e = 0; e < EXTENT_COUNT; e++) {
    r.sizes[0] = r.lengths[0] = r.lengths[1] = r.lengths[2] = extents[e];
    runner_fill(&r, true);
    runner_compare(&r, 0, extents[e]);
    runner_fill(&r, true);
    runner_compare(&r, extents[e] / 3, extents[e] / 2);
  }
  runner_close(&r);
}
END_TEST

/* Every operator with an exact result, for every dtype it has: this is where a lowering and its `eval` meet. */
static const char *const exact_operators[] = {"add.Tensor",
                                              "sub.Tensor",
                                              "mul.Tensor",
                                              "div.Tensor",
                                              "floor_divide",
                                              "trunc_divide",
                                              "remainder.Tensor",
                                              "fmod.Tensor",
                                              "maximum",
                                              "minimum",
                                              "neg",
                                              "abs",
                                              "sign",
                                              "reciprocal",
                                              "eq.Tensor",
                                              "ne.Tensor",
                                              "lt.Tensor",
                                              "le.Tensor",
                                              "gt.Tensor",
                                              "ge.Tensor",
                                              "logical_and",
                                              "logical_or",
                                              "logical_xor",
                                              "logical_not",
                                              "bitwise_and.Tensor",
                                              "bitwise_or.Tensor",
                                              "bitwise_xor.Tensor",
                                              "bitwise_not",
                                              "bitwise_left_shift.Tensor",
                                              "bitwise_right_shift.Tensor",
                                              "isnan",
                                              "isinf",
                                              "isfinite",
                                              "ceil",
                                              "floor",
                                              "trunc",
                                              "round",
                                              "sqrt",
                                              "rsqrt",
                                              "pow.Tensor_Tensor",
                                              "philox"};
#define OPERATOR_COUNT ((int)(sizeof exact_operators / sizeof exact_operators[0]))

/* Whether operator and dtype go together and round alike (pow is exact on integers alone). */
static bool applies(laze_op op, laze_dtype dtype) {
  const laze_op_info *info = laze_op_get(op);
  if (info->compute == LAZE_COMPUTE_LOGICAL && dtype != LAZE_BOOL) return false;
  if (info->compute == LAZE_COMPUTE_BITS && dtype != LAZE_I64) return false;
  if (op == laze_op_find("pow.Tensor_Tensor") && laze_dtype_is_float(dtype)) return false;
  return laze_eval_find(op, dtype) != NULL;
}

/* Operands of a call that leaves out what may be left out (the alpha of add). */
static int32_t operand_count(laze_op op) {
  const laze_op_info *info = laze_op_get(op);
  int32_t count = 0;
  for (int32_t k = 0; k < info->argument_count; k++)
    count += laze_argument_is_operand(info->arguments[k].kind) && !info->arguments[k].optional;
  return count;
}

static void build_operator(runner *r, laze_op op, laze_dtype dtype) {
  laze_loop_kernel *k = &r->kernel;
  int32_t count = operand_count(op);
  laze_compute rule = laze_op_get(op)->compute;
  bool boolean = rule == LAZE_COMPUTE_COMPARE || rule == LAZE_COMPUTE_LOGICAL;
  laze_loop_add_buffer(k, dtype, false);
  laze_loop_add_buffer(k, dtype, false);
  laze_loop_add_buffer(k, boolean ? LAZE_BOOL : dtype, true);
  int32_t i = laze_loop_begin(k, laze_loop_index_size(k, 0), LAZE_LOOP_RANGE | LAZE_LOOP_LANES);
  int32_t operands[2] = {laze_loop_load(k, 0, i, -1), laze_loop_load(k, 1, i, -1)};
  int32_t value = laze_loop_element(k, op, dtype, boolean ? LAZE_BOOL : dtype, operands, count);
  laze_loop_store(k, 2, i, value, -1);
  laze_loop_end(k);
}

START_TEST(test_operators) {
  laze_op op = laze_op_find(exact_operators[_i]);
  ck_assert_msg(op != LAZE_OP_NONE, "no operator %s", exact_operators[_i]);
  int tried = 0;
  for (int d = 0; d < COMPUTED; d++) {
    if (!applies(op, dtypes[d])) continue;
    runner r;
    runner_open(&r, (uint64_t)(100 + _i));
    build_operator(&r, op, dtypes[d]);
    runner_compile(&r);
    r.sizes[0] = r.lengths[0] = r.lengths[1] = r.lengths[2] = 1003;
    runner_fill(&r, true);
    runner_compare(&r, 0, 1003);
    runner_close(&r);
    tried++;
  }
  ck_assert_int_gt(tried, 0);
}
END_TEST

/* Every conversion, with numbers outside the target's range. */
START_TEST(test_conversions) {
  for (int d = 0; d < DTYPES; d++) {
    runner r;
    runner_open(&r, (uint64_t)(200 + _i * 5 + d));
    laze_loop_kernel *k = &r.kernel;
    laze_loop_add_buffer(k, dtypes[_i], false);
    laze_loop_add_buffer(k, dtypes[d], true);
    int32_t i = laze_loop_begin(k, laze_loop_index_size(k, 0), LAZE_LOOP_RANGE | LAZE_LOOP_LANES);
    laze_loop_store(k, 1, i, laze_loop_convert(k, laze_loop_load(k, 0, i, -1), dtypes[d]), -1);
    laze_loop_end(k);
    runner_compile(&r);
    r.sizes[0] = r.lengths[0] = r.lengths[1] = 515;
    runner_fill(&r, true);
    runner_compare(&r, 0, 515);
    runner_close(&r);
  }
}
END_TEST

/* Offsets of each form within lanes: contiguous, run-time stride, constant stride, reversed, shared by all lanes, read
 * from memory; guarded and not; stores contiguous and strided. */
static void build_strides(runner *r, laze_dtype dtype) {
  laze_loop_kernel *k = &r->kernel;
  laze_loop_add_buffer(k, dtype, false);
  laze_loop_add_buffer(k, LAZE_I64, false);
  laze_loop_add_buffer(k, dtype, true);
  laze_loop_add_buffer(k, dtype, true);
  int32_t rows = laze_loop_index_size(k, 0), columns = laze_loop_index_size(k, 1), stride = laze_loop_index_size(k, 2);
  int32_t two = laze_loop_index_constant(k, 2), three = laze_loop_index_constant(k, 3);
  int32_t row = laze_loop_begin(k, rows, LAZE_LOOP_RANGE);
  int32_t start = binary(r, LAZE_LOOP_INDEX_MUL, row, columns);
  int32_t row_guard = binary(r, LAZE_LOOP_INDEX_LESS, row, two);
  int32_t j = laze_loop_begin(k, columns, LAZE_LOOP_LANES);
  int32_t here = binary(r, LAZE_LOOP_INDEX_ADD, start, j);
  int32_t guard = binary(r, LAZE_LOOP_INDEX_LESS, three, j);
  int32_t both = binary(r, LAZE_LOOP_AND, guard, row_guard);
  int32_t strided = binary(r, LAZE_LOOP_INDEX_MUL, j, stride);
  int32_t doubled = binary(r, LAZE_LOOP_INDEX_MUL, two, j);
  int32_t reversed = binary(r, LAZE_LOOP_INDEX_SUB, columns, j);
  int32_t found = laze_loop_load(k, 1, j, -1);
  int32_t clamped = binary(r, LAZE_LOOP_INDEX_MIN, binary(r, LAZE_LOOP_INDEX_MAX, found, two), here);
  int32_t values[] = {
      laze_loop_load(k, 0, here, -1),        laze_loop_load(k, 0, here, guard),    laze_loop_load(k, 0, strided, -1),
      laze_loop_load(k, 0, doubled, both),   laze_loop_load(k, 0, reversed, -1),   laze_loop_load(k, 0, row, -1),
      laze_loop_load(k, 0, row, guard),      laze_loop_load(k, 0, row, row_guard), laze_loop_load(k, 0, found, guard),
      laze_loop_load(k, 0, here, row_guard), laze_loop_load(k, 0, clamped, -1)};
  int32_t sum = values[0];
  for (int v = 1; v < 11; v++) sum = runner_op(r, "maximum", dtype, sum, values[v]);
  laze_loop_store(k, 2, here, sum, -1);
  laze_loop_store(k, 3, binary(r, LAZE_LOOP_INDEX_MUL, here, two), sum, guard);
  laze_loop_end(k);
  laze_loop_store(
      k, 3, binary(r, LAZE_LOOP_INDEX_ADD, binary(r, LAZE_LOOP_INDEX_MUL, row, two), laze_loop_index_constant(k, 1)),
      laze_loop_constant(k, dtype, laze_scalar_integer(1)), row_guard);
  laze_loop_end(k);
}

START_TEST(test_strides) {
  runner r;
  runner_open(&r, (uint64_t)(300 + _i));
  build_strides(&r, dtypes[_i]);
  runner_compile(&r);
  for (int e = 0; e < EXTENT_COUNT; e++) {
    int64_t rows = 3, columns = extents[e] > 200 ? 207 : extents[e];
    r.sizes[0] = rows;
    r.sizes[1] = columns;
    r.sizes[2] = 3;
    r.lengths[0] = r.lengths[2] = rows * columns + rows;
    r.lengths[1] = columns;
    r.lengths[3] = 2 * rows * columns + 2 * rows + 2;
    runner_fill(&r, true);
    for (int64_t c = 0; c < columns; c++)
      ((int64_t *)r.interpreted[1])[c] = ((int64_t *)r.native[1])[c] = runner_below(&r, rows * columns);
    runner_compare(&r, 0, rows);
  }
  runner_close(&r);
}
END_TEST

/* Rows of `outer` times `inner` elements, each reduced: the LANES loop inside a serial reduced loop, then a second pass
 * over the row with the result, as softmax does. Two accumulators share the loop. */
static void build_row_reduction(runner *r, const runner_reduction *which, laze_dtype dtype) {
  laze_loop_kernel *k = &r->kernel;
  laze_loop_add_buffer(k, dtype, false);
  laze_loop_add_buffer(k, dtype, true);
  laze_loop_add_buffer(k, dtype, true);
  int32_t rows = laze_loop_index_size(k, 0), outer = laze_loop_index_size(k, 1), inner = laze_loop_index_size(k, 2);
  int32_t row = laze_loop_begin(k, rows, LAZE_LOOP_RANGE);
  int32_t first = runner_accumulator(r, which->op, dtype, LAZE_ORDER_LANES16, which->initial);
  int32_t second = runner_accumulator(r, which->op, dtype, LAZE_ORDER_LANES16, which->initial);
  int32_t o = laze_loop_begin(k, outer, 0);
  int32_t line = binary(r, LAZE_LOOP_INDEX_ADD, binary(r, LAZE_LOOP_INDEX_MUL, row, outer), o);
  int32_t start = binary(r, LAZE_LOOP_INDEX_MUL, line, inner);
  int32_t j = laze_loop_begin(k, inner, LAZE_LOOP_LANES);
  int32_t value = laze_loop_load(k, 0, binary(r, LAZE_LOOP_INDEX_ADD, start, j), -1);
  runner_update(r, first, value, j);
  runner_update(r, second, runner_op(r, which->number && dtype != LAZE_BOOL ? "neg" : "logical_not", dtype, value, -1),
                j);
  laze_loop_end(k);
  laze_loop_end(k);
  int32_t result = runner_result(r, first);
  laze_loop_store(k, 1, row, runner_result(r, second), -1);
  int32_t again = laze_loop_begin(k, inner, LAZE_LOOP_LANES);
  int32_t offset = binary(r, LAZE_LOOP_INDEX_ADD, binary(r, LAZE_LOOP_INDEX_MUL, row, inner), again);
  laze_loop_store(k, 2, offset, runner_op(r, "maximum", dtype, result, laze_loop_load(k, 0, again, -1)), -1);
  laze_loop_end(k);
  laze_loop_end(k);
}

static void compare_row_reduction(runner *r) {
  for (int e = 0; e < EXTENT_COUNT; e++)
    for (int64_t outer = 0; outer < 3; outer++) {
      int64_t rows = 2, inner = extents[e];
      r->sizes[0] = rows, r->sizes[1] = outer, r->sizes[2] = inner;
      r->lengths[0] = rows * (outer ? outer : 1) * inner;
      r->lengths[1] = rows;
      r->lengths[2] = rows * inner;
      runner_fill(r, outer == 2);
      runner_compare(r, 0, rows);
    }
  /* Blocks that go on over many runs, and end inside one. */
  static const int64_t runs[][2] = {{129, 17}, {70, 100}, {43, 300}};
  for (int e = 0; e < 3; e++) {
    r->sizes[0] = 2, r->sizes[1] = runs[e][0], r->sizes[2] = runs[e][1];
    r->lengths[0] = 2 * runs[e][0] * runs[e][1];
    r->lengths[1] = 2;
    r->lengths[2] = 2 * runs[e][1];
    runner_fill(r, false);
    runner_compare(r, 0, 2);
  }
}

START_TEST(test_row_reductions) {
  const runner_reduction *which = &runner_reductions[_i];
  for (int d = 0; d < COMPUTED; d++) {
    if (dtypes[d] == LAZE_BOOL ? !which->boolean : !which->number) continue;
    runner r;
    runner_open(&r, (uint64_t)(400 + 10 * _i + d));
    build_row_reduction(&r, which, dtypes[d]);
    runner_compile(&r);
    compare_row_reduction(&r);
    runner_close(&r);
  }
}
END_TEST

/* A serial kernel: nothing in lanes, a rows accumulator in scalars, index division. */
START_TEST(test_serial) {
  runner r;
  runner_open(&r, 600);
  laze_loop_kernel *k = &r.kernel;
  laze_loop_add_buffer(k, LAZE_F32, false);
  laze_loop_add_buffer(k, LAZE_F32, true);
  int32_t rows = laze_loop_index_size(k, 0), columns = laze_loop_index_size(k, 1);
  int32_t i = laze_loop_begin(k, rows, LAZE_LOOP_RANGE);
  int32_t back = binary(&r, LAZE_LOOP_INDEX_SUB, i, columns);
  int32_t quotient = binary(&r, LAZE_LOOP_INDEX_FLOOR_DIV, back, columns);
  int32_t rest = binary(&r, LAZE_LOOP_INDEX_MOD, back, columns);
  int32_t bias = laze_loop_convert(k, binary(&r, LAZE_LOOP_INDEX_ADD, quotient, rest), LAZE_F32);
  int32_t sum = runner_accumulator(&r, "add.Tensor", LAZE_F32, LAZE_ORDER_ROWS, LAZE_INITIAL_ZERO);
  int32_t j = laze_loop_begin(k, columns, 0);
  int32_t at = binary(&r, LAZE_LOOP_INDEX_ADD, binary(&r, LAZE_LOOP_INDEX_MUL, i, columns), j);
  runner_update(&r, sum, laze_loop_load(k, 0, at, -1), j);
  laze_loop_end(k);
  laze_loop_store(k, 1, i, runner_op(&r, "add.Tensor", LAZE_F32, runner_result(&r, sum), bias), -1);
  laze_loop_end(k);
  runner_compile(&r);
  for (int e = 1; e < 8; e++) {
    r.sizes[0] = 9, r.sizes[1] = extents[e];
    r.lengths[0] = 9 * extents[e], r.lengths[1] = 9;
    runner_fill(&r, false);
    runner_compare(&r, 2, 9);
  }
  runner_close(&r);
}
END_TEST

/* y[i] = table[index[i]] with a bad index: both note the lowest position, whatever the lane, and read element 0. */
START_TEST(test_check) {
  bool lanes = _i == 1;
  runner r;
  runner_open(&r, 700);
  laze_loop_kernel *k = &r.kernel;
  laze_loop_add_buffer(k, LAZE_F32, false);
  laze_loop_add_buffer(k, LAZE_I64, false);
  laze_loop_add_buffer(k, LAZE_F32, true);
  k->check_count = 1;
  int32_t count = laze_loop_index_size(k, 0), size = laze_loop_index_size(k, 1);
  int32_t i = laze_loop_begin(k, count, LAZE_LOOP_RANGE | (lanes ? LAZE_LOOP_LANES : 0));
  /* Positions run backwards, so that the last failing iteration is the one to note. */
  int32_t operands[3] = {laze_loop_load(k, 1, i, -1), size, binary(&r, LAZE_LOOP_INDEX_SUB, count, i)};
  laze_loop_instruction check = {.code = LAZE_LOOP_CHECK, .dtype = LAZE_I64};
  int32_t index = laze_loop_emit(k, check, operands, 3);
  laze_loop_store(k, 2, i, laze_loop_load(k, 0, index, -1), -1);
  laze_loop_end(k);
  runner_compile(&r);
  for (int bad = -1; bad < 100; bad += 7) {
    r.sizes[0] = 100, r.sizes[1] = 10;
    r.lengths[0] = 10, r.lengths[1] = r.lengths[2] = 100;
    runner_fill(&r, false);
    for (int64_t e = 0; e < 100; e++)
      ((int64_t *)r.interpreted[1])[e] = ((int64_t *)r.native[1])[e] =
          bad >= 0 && (e == bad || e == bad / 2) ? (bad % 2 ? 10 : -11) : runner_below(&r, 20) - 10;
    runner_compare(&r, 0, 100);
    ck_assert_int_eq(runner_failure.position, bad < 0 ? INT64_MAX : 100 - bad);
  }
  runner_close(&r);
}
END_TEST

/* Random expressions over random loads: mixed dtypes, uniform and varying values, hoisting, nested serial loops. */
static int32_t random_expression(runner *r, const int32_t *offsets, int offset_count, const int32_t *guards) {
  static const char *const float_ops[] = {"add.Tensor", "mul.Tensor", "sub.Tensor", "maximum", "minimum", "div.Tensor"};
  static const char *const integer_ops[] = {"add.Tensor",   "mul.Tensor",       "bitwise_xor.Tensor",
                                            "floor_divide", "remainder.Tensor", "minimum"};
  int32_t pool[40];
  int count = 0;
  for (int n = 0; n < 5; n++)
    pool[count++] = laze_loop_load(&r->kernel, (int32_t)runner_below(r, 4), offsets[runner_below(r, offset_count)],
                                   runner_below(r, 3) ? -1 : guards[runner_below(r, 2)]);
  for (int n = 0; n < 12; n++) {
    int32_t a = pool[runner_below(r, count)], b = pool[runner_below(r, count)];
    laze_dtype dtype = laze_loop_dtype(&r->kernel, a);
    if (dtype == LAZE_BOOL) dtype = LAZE_F32;
    a = laze_loop_convert(&r->kernel, a, dtype);
    b = laze_loop_convert(&r->kernel, b, dtype);
    const char *const *ops = laze_dtype_is_float(dtype) ? float_ops : integer_ops;
    pool[count++] = runner_op(r, ops[runner_below(r, 6)], dtype, a, b);
    if (runner_below(r, 4) == 0) pool[count++] = runner_op(r, "lt.Tensor", dtype, a, b);
    if (runner_below(r, 4)) continue;
    int32_t last = pool[count - 1];
    pool[count++] = laze_loop_convert(&r->kernel, last, dtypes[runner_below(r, NUMBERS)]);
  }
  return pool[count - 1];
}

static void build_random(runner *r) {
  laze_loop_kernel *k = &r->kernel;
  for (int b = 0; b < 4; b++) laze_loop_add_buffer(k, dtypes[b < 2 ? b : runner_below(r, NUMBERS)], false);
  laze_loop_add_buffer(k, LAZE_F32, true);
  laze_loop_add_buffer(k, LAZE_I64, true);
  int32_t rows = laze_loop_index_size(k, 0), columns = laze_loop_index_size(k, 1), stride = laze_loop_index_size(k, 2);
  int32_t i = laze_loop_begin(k, rows, LAZE_LOOP_RANGE);
  int32_t start = binary(r, LAZE_LOOP_INDEX_MUL, i, columns);
  int32_t total = runner_accumulator(r, "add.Tensor", LAZE_F32, LAZE_ORDER_LANES16, LAZE_INITIAL_ZERO);
  int32_t j = laze_loop_begin(k, columns, LAZE_LOOP_LANES);
  int32_t here = binary(r, LAZE_LOOP_INDEX_ADD, start, j);
  int32_t offsets[5] = {here, i, binary(r, LAZE_LOOP_INDEX_MUL, j, stride), j, start};
  int32_t guards[2] = {binary(r, LAZE_LOOP_INDEX_LESS, i, j), binary(r, LAZE_LOOP_INDEX_LESS, i, stride)};
  int32_t sum = runner_accumulator(r, "add.Tensor", LAZE_F32, LAZE_ORDER_ROWS, LAZE_INITIAL_ZERO);
  bool nested = runner_below(r, 2) == 0;
  int32_t inner = nested ? laze_loop_begin(k, stride, 0) : -1;
  int32_t value = laze_loop_convert(k, random_expression(r, offsets, 5, guards), LAZE_F32);
  if (nested) {
    runner_update(r, sum, value, inner);
    laze_loop_end(k);
    value = runner_result(r, sum);
  }
  runner_update(r, total, value, j);
  laze_loop_store(k, 4, here, value, runner_below(r, 2) ? -1 : guards[0]);
  laze_loop_store(k, 5, here, laze_loop_convert(k, value, LAZE_I64), -1);
  laze_loop_end(k);
  laze_loop_store(k, 4, start, runner_result(r, total), guards[1] < 0 ? guards[0] : -1);
  laze_loop_end(k);
}

START_TEST(test_random) {
  uint64_t seed = 9000 + (uint64_t)_i;
  printf("random kernel: seed %d\n", (int)seed);
  runner r;
  runner_open(&r, seed);
  build_random(&r);
  runner_compile(&r);
  for (int e = 1; e < EXTENT_COUNT; e++) {
    int64_t columns = extents[e] > 200 ? 231 : extents[e];
    r.sizes[0] = 5, r.sizes[1] = columns, r.sizes[2] = 1 + runner_below(&r, 4);
    for (int b = 0; b < 6; b++) r.lengths[b] = 5 * columns + 5;
    runner_fill(&r, e % 2);
    runner_compare(&r, 0, 5);
  }
  runner_close(&r);
}
END_TEST

/* y = x + 1 of one dtype; the body of a module's kernels. */
static void build_increment(runner *r, laze_dtype dtype) {
  laze_loop_kernel *k = &r->kernel;
  laze_loop_add_buffer(k, dtype, true);
  int32_t i = laze_loop_begin(k, laze_loop_index_size(k, 0), LAZE_LOOP_RANGE | LAZE_LOOP_LANES);
  int32_t one = laze_loop_constant(k, dtype, laze_scalar_integer(1));
  laze_loop_store(k, 0, i, runner_op(r, "add.Tensor", dtype, laze_loop_load(k, 0, i, -1), one), -1);
  laze_loop_end(k);
}

/* Two kernels in one module, as text: each is a function of its own name, with the processor's registers allowed. */
START_TEST(test_module) {
  runner first, second;
  laze_text text;
  laze_error error = {0};
  runner_open(&first, 1);
  runner_open(&second, 2);
  build_increment(&first, LAZE_F32);
  build_increment(&second, LAZE_I64);
  laze_text_init(&text, first.context);
  const laze_loop_kernel *kernels[2] = {&first.kernel, &second.kernel};
  const char *symbols[2] = {"alpha", "beta"};
  laze_status status = runner_generate(first.context, kernels, symbols, 2, LAZE_LLVM_IR, &text, &error);
  ck_assert_msg(status == LAZE_OK, "%s", error.message);
  ck_assert_ptr_nonnull(strstr(laze_text_get(&text), "define void @alpha(ptr %0, i64 %1, i64 %2, ptr %3)"));
  ck_assert_ptr_nonnull(strstr(laze_text_get(&text), "define void @beta("));
  ck_assert_ptr_nonnull(strstr(laze_text_get(&text), "target-cpu"));
  laze_text_deinit(&text);
  runner_close(&first);
  runner_close(&second);
}
END_TEST

#if defined(__x86_64__)
/* Code is for the target that is handed in, whatever processor generates it: its name, its registers. */
START_TEST(test_target) {
  static const laze_target targets[2] = {
      {.vectors = {32, 16}, .has_fused_multiply_add = true, .cpu = "haswell", .features = "+avx2,+fma"},
      {.vectors = {64, 32},
       .has_fused_multiply_add = true,
       .converts_f16 = true,
       .cpu = "skylake-avx512",
       .features = "+avx512f,+fma"}};
  runner r;
  laze_error error = {0};
  runner_open(&r, 4);
  build_increment(&r, LAZE_F32);
  const laze_loop_kernel *kernel = &r.kernel;
  const char *symbol = "kernel";
  for (int i = 0; i < 2; i++) {
    const laze_llvm_request request = {&targets[i], &kernel, &symbol, 1, LAZE_LLVM_ASSEMBLY};
    laze_text text;
    laze_text_init(&text, r.context);
    ck_assert_msg(laze_llvm_generator_get()->compile(r.context, &request, &text, &error) == LAZE_OK, "%s",
                  error.message);
    ck_assert_int_eq(strstr(laze_text_get(&text), "%zmm") != NULL, i == 1);
    ck_assert(i == 1 || strstr(laze_text_get(&text), "%ymm"));
    laze_text_deinit(&text);
  }
  runner_close(&r);
}
END_TEST

/* Where there is none, LLVM would call fma() from the C library, which no object can. */
START_TEST(test_target_without_fused_multiply_add) {
  static const laze_target target = {.vectors = {16, 16}, .cpu = "nehalem", .features = ""};
  runner r;
  laze_text text;
  laze_error error = {0};
  runner_open(&r, 5);
  build_increment(&r, LAZE_F32);
  const laze_loop_kernel *kernel = &r.kernel;
  const char *symbol = "kernel";
  const laze_llvm_request request = {&target, &kernel, &symbol, 1, LAZE_LLVM_OBJECT};
  laze_text_init(&text, r.context);
  ck_assert_int_eq(laze_llvm_generator_get()->compile(r.context, &request, &text, &error), LAZE_UNSUPPORTED);
  ck_assert_ptr_nonnull(strstr(error.message, "nehalem"));
  laze_text_deinit(&text);
  runner_close(&r);
}
END_TEST
#endif

/* An operator that is no element operation has no lowering: an error, and nothing left behind. */
START_TEST(test_no_lowering) {
  runner r;
  laze_text text;
  laze_error error = {0};
  runner_open(&r, 3);
  laze_loop_kernel *k = &r.kernel;
  laze_loop_add_buffer(k, LAZE_F32, true);
  int32_t i = laze_loop_begin(k, laze_loop_index_size(k, 0), LAZE_LOOP_RANGE);
  int32_t value = laze_loop_load(k, 0, i, -1);
  laze_loop_store(k, 0, i, laze_loop_element(k, laze_op_find("mm"), LAZE_F32, LAZE_F32, &value, 1), -1);
  laze_loop_end(k);
  const laze_loop_kernel *kernel = k;
  const char *symbol = "kernel";
  laze_text_init(&text, r.context);
  ck_assert_int_eq(runner_generate(r.context, &kernel, &symbol, 1, LAZE_LLVM_OBJECT, &text, &error), LAZE_UNSUPPORTED);
  ck_assert_ptr_nonnull(strstr(error.message, "no lowering"));
  ck_assert_int_eq(text.size, 0);
  laze_text_deinit(&text);
  runner_close(&r);
}
END_TEST

static void *compile_many(void *dtype) {
  for (int n = 0; n < 5; n++) {
    runner r;
    laze_text text;
    runner_open(&r, 4);
    build_increment(&r, *(laze_dtype *)dtype);
    laze_text_init(&text, r.context);
    const laze_loop_kernel *kernel = &r.kernel;
    const char *symbol = "kernel";
    laze_status status = runner_generate(r.context, &kernel, &symbol, 1, LAZE_LLVM_OBJECT, &text, NULL);
    bool good = status == LAZE_OK && text.size > 0;
    laze_text_deinit(&text);
    runner_close(&r);
    if (!good) return dtype;
  }
  return NULL;
}

/* Threads compile at once: LLVM is only safe where nothing is shared between them. */
START_TEST(test_threads) {
  pthread_t threads[4];
  static laze_dtype which[4] = {LAZE_F32, LAZE_F64, LAZE_I32, LAZE_I64};
  for (int t = 0; t < 4; t++) ck_assert_int_eq(pthread_create(&threads[t], NULL, compile_many, &which[t]), 0);
  for (int t = 0; t < 4; t++) {
    void *failed = NULL;
    ck_assert_int_eq(pthread_join(threads[t], &failed), 0);
    ck_assert_ptr_null(failed);
  }
}
END_TEST

int main(void) {
  Suite *suite = suite_create("llvm_lower");
  TCase *tests = tcase_create("native against interpreted");
  tcase_set_timeout(tests, 120);
  tcase_add_test(tests, test_elementwise);
  tcase_add_loop_test(tests, test_operators, 0, OPERATOR_COUNT);
  tcase_add_loop_test(tests, test_conversions, 0, DTYPES);
  tcase_add_loop_test(tests, test_strides, 0, COMPUTED);
  tcase_add_loop_test(tests, test_row_reductions, 0, RUNNER_REDUCTIONS);
  tcase_add_test(tests, test_serial);
  tcase_add_loop_test(tests, test_check, 0, 2);
  tcase_add_loop_test(tests, test_random, 0, 40);
  tcase_add_test(tests, test_module);
  tcase_add_test(tests, test_no_lowering);
#if defined(__x86_64__)
  tcase_add_test(tests, test_target);
  tcase_add_test(tests, test_target_without_fused_multiply_add);
#endif
  tcase_add_test(tests, test_threads);
  suite_add_tcase(suite, tests);
  return test_run_suite(suite);
}
