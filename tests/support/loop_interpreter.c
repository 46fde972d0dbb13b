/* Runs a kernel one scalar iteration at a time: what the instructions mean, and nothing else.
 *
 *   begin i < n                 machine: a cell for each value, by instruction; loops by jumping from END to BEGIN
 *     v = load buffer 0, i        values[v] = *(buffer 0 + values[i])
 *   end                           i + 1 < limit ? to begin : on
 */
#include "tests/support/loop_interpreter.h"

#include "codegen/interp/eval.h"
#include "codegen/order.h"
#include "runtime/kernel.h"

#include <math.h>
#include <string.h>

#define FIELD(with, id, name, kind, bits, digits, c_type, ...) c_type id;
typedef union {
  int64_t index;
  uint8_t boolean;
  LAZE_DTYPES(FIELD, )
} cell;

/* Rows use lane 0 alone. */
typedef struct {
  cell block[LAZE_ORDER_LANES];
  cell levels[LAZE_ORDER_LEVELS][LAZE_ORDER_LANES]; /* totals of 2^k blocks, in use where `folded` has bit k */
  int64_t folded;                                   /* blocks in the levels */
  int64_t first;                                    /* the place where this run of the loop begins */
  int32_t loop;                                     /* that updates it; -1: none */
} accumulator;

typedef struct {
  const laze_loop_kernel *kernel;
  const laze_kernel_arguments *arguments;
  int64_t begin, end;
  cell *values;
  int32_t *partner; /* BEGIN: its END; END: its BEGIN; ACCUMULATOR: its state */
  int64_t *limit;   /* BEGIN: where the running loop stops */
  accumulator *accumulators;
  int32_t accumulator_count;
  laze_error *error;
} machine;

static const int32_t *operands_of(const machine *m, const laze_loop_instruction *i) {
  return m->kernel->operands + i->first;
}
static int64_t index_of(const machine *m, const laze_loop_instruction *i, int k) {
  return m->values[operands_of(m, i)[k]].index;
}
static bool boolean_of(const machine *m, const laze_loop_instruction *i, int k) {
  return m->values[operands_of(m, i)[k]].boolean;
}
static char *element_at(const machine *m, int64_t buffer, int64_t offset) {
  return (char *)m->arguments->buffers[buffer] + offset * laze_dtype_size(m->kernel->buffers[buffer].dtype);
}

static int64_t index_value(uint8_t code, int64_t a, int64_t b) {
  switch (code) {
  case LAZE_LOOP_INDEX_ADD: return (int64_t)((uint64_t)a + (uint64_t)b);
  case LAZE_LOOP_INDEX_SUB: return (int64_t)((uint64_t)a - (uint64_t)b);
  case LAZE_LOOP_INDEX_MUL: return (int64_t)((uint64_t)a * (uint64_t)b);
  case LAZE_LOOP_INDEX_FLOOR_DIV: return a >= 0 ? a / b : -((-(a + 1)) / b) - 1;
  case LAZE_LOOP_INDEX_MOD: return a % b < 0 ? a % b + b : a % b;
  case LAZE_LOOP_INDEX_MIN: return a < b ? a : b;
  default: return a > b ? a : b;
  }
}

static laze_status evaluate(machine *m, laze_op op, laze_dtype compute, const cell *const *inputs, int32_t count,
                            cell *result) {
  laze_eval_function function = laze_eval_find(op, compute);
  if (!function)
    return laze_fail(m->error, LAZE_UNSUPPORTED, "%s has no element function for %s", laze_op_get(op)->name,
                     laze_dtype_name(compute));
  const char *pointers[LAZE_EVAL_MAX_OPERANDS] = {0};
  int64_t strides[LAZE_EVAL_MAX_OPERANDS] = {0};
  for (int32_t k = 0; k < count && k < LAZE_EVAL_MAX_OPERANDS; k++) pointers[k] = (const char *)inputs[k];
  cell out = {0};
  function(1, pointers, strides, (char *)&out, 0);
  *result = out;
  return LAZE_OK;
}

static laze_status run_element(machine *m, const laze_loop_instruction *i, cell *result) {
  const cell *inputs[LAZE_EVAL_MAX_OPERANDS] = {0};
  for (int32_t k = 0; k < i->count && k < LAZE_EVAL_MAX_OPERANDS; k++) inputs[k] = &m->values[operands_of(m, i)[k]];
  return evaluate(m, i->op, i->compute, inputs, i->count, result);
}

static void run_convert(machine *m, const laze_loop_instruction *i, cell *result) {
  int32_t from = operands_of(m, i)[0];
  const char *pointer = (const char *)&m->values[from];
  int64_t stride = 0;
  cell out = {0};
  laze_eval_find_conversion(laze_loop_dtype(m->kernel, from), i->dtype)(1, &pointer, &stride, (char *)&out, 0);
  *result = out;
}

static void run_load(machine *m, const laze_loop_instruction *i, cell *result) {
  memset(result, 0, sizeof *result);
  if (i->count > 1 && !boolean_of(m, i, 1)) return;
  memcpy(result, element_at(m, i->imm, index_of(m, i, 0)), (size_t)laze_dtype_size(i->dtype));
}

static void run_store(machine *m, const laze_loop_instruction *i) {
  if (i->count > 2 && !boolean_of(m, i, 2)) return;
  memcpy(element_at(m, i->imm, index_of(m, i, 0)), &m->values[operands_of(m, i)[1]], (size_t)laze_dtype_size(i->dtype));
}

static void run_check(machine *m, const laze_loop_instruction *i, cell *result) {
  int64_t found = index_of(m, i, 0), size = index_of(m, i, 1), position = index_of(m, i, 2);
  int64_t index = found < 0 ? found + size : found, length = i->code == LAZE_LOOP_CHECK ? 1 : index_of(m, i, 3);
  bool valid = index >= 0 && index <= size - length;
  result->index = valid ? index : 0;
  laze_kernel_failure *failure = &m->arguments->failures[i->imm];
  if (!valid && position < failure->position) *failure = (laze_kernel_failure){position, found, size, length};
}

static cell initial_cell(const laze_loop_instruction *i) {
  cell start = {0};
  laze_scalar_store(laze_initial_value(i->initial, i->dtype), i->dtype, &start, 0);
  return start;
}

static laze_status combine(machine *m, const laze_loop_instruction *a, cell *into, const cell *value) {
  const cell *inputs[2] = {into, value};
  return evaluate(m, a->op, a->dtype, inputs, 2, into);
}

static void start_block(const machine *m, int32_t index) {
  accumulator *state = &m->accumulators[m->partner[index]];
  for (int l = 0; l < LAZE_ORDER_LANES; l++) state->block[l] = initial_cell(&m->kernel->instructions[index]);
}

static void run_accumulator(machine *m, int32_t index) {
  accumulator *state = &m->accumulators[m->partner[index]];
  state->folded = state->first = 0;
  start_block(m, index);
}

static laze_status combine_lanes(machine *m, const laze_loop_instruction *a, cell *into, const cell *values) {
  for (int l = 0; l < LAZE_ORDER_LANES; l++) LAZE_TRY(combine(m, a, &into[l], &values[l]));
  return LAZE_OK;
}

/* Counts the block in, as a binary counter carries. */
static laze_status fold(machine *m, int32_t index) {
  const laze_loop_instruction *a = &m->kernel->instructions[index];
  accumulator *state = &m->accumulators[m->partner[index]];
  int level = 0;
  for (; state->folded >> level & 1; level++) {
    LAZE_TRY(combine_lanes(m, a, state->levels[level], state->block));
    memcpy(state->block, state->levels[level], sizeof state->block);
  }
  memcpy(state->levels[level], state->block, sizeof state->block);
  state->folded++;
  start_block(m, index);
  return LAZE_OK;
}

static laze_status run_update(machine *m, const laze_loop_instruction *i) {
  const int32_t *operands = operands_of(m, i);
  const laze_loop_instruction *a = &m->kernel->instructions[operands[0]];
  accumulator *state = &m->accumulators[m->partner[operands[0]]];
  bool lanes = a->order == LAZE_ORDER_LANES16;
  int64_t place = state->first + m->values[operands[2]].index;
  if (a->order == LAZE_ORDER_SEQUENCE) return combine(m, a, &state->block[0], &m->values[operands[1]]);
  if (place / (lanes ? LAZE_ORDER_LANES_BLOCK : LAZE_ORDER_ROWS_BLOCK) > state->folded) LAZE_TRY(fold(m, operands[0]));
  return combine(m, a, &state->block[lanes ? place % LAZE_ORDER_LANES : 0], &m->values[operands[1]]);
}

/* A run of a loop is over: the next one's places begin behind it. */
static void take_places(machine *m, int32_t begin) {
  bool lanes = m->kernel->instructions[begin].flags & LAZE_LOOP_LANES;
  int64_t unit = lanes ? LAZE_ORDER_LANES_RUN : 1, taken = (m->limit[begin] + unit - 1) / unit * unit;
  for (int32_t k = 0; k < m->accumulator_count; k++)
    if (m->accumulators[k].loop == begin) m->accumulators[k].first += taken;
}

static laze_status run_result(machine *m, const laze_loop_instruction *i, cell *result) {
  int32_t index = operands_of(m, i)[0];
  const laze_loop_instruction *a = &m->kernel->instructions[index];
  accumulator *state = &m->accumulators[m->partner[index]];
  cell *total = state->block;
  for (int level = 0; level < LAZE_ORDER_LEVELS; level++) {
    if (!(state->folded >> level & 1)) continue;
    LAZE_TRY(combine_lanes(m, a, state->levels[level], total));
    total = state->levels[level];
  }
  if (a->order == LAZE_ORDER_LANES16)
    for (int half = LAZE_ORDER_LANES / 2; half >= 1; half /= 2)
      for (int l = 0; l < half; l++) LAZE_TRY(combine(m, a, &total[l], &total[l + half]));
  *result = total[0];
  return LAZE_OK;
}

#define FUSED_BOOL(type, x, y, sum) (type)((x && y) || sum)
#define FUSED_SIGNED(type, x, y, sum) (type)((uint64_t)x * (uint64_t)y + (uint64_t)sum)
#define FUSED_UNSIGNED FUSED_SIGNED
#define FUSED_FLOAT(type, x, y, sum) _Generic((type)0, float : fmaf, double : fma)(x, y, sum)
#define FUSED_HALF(type, x, y, sum) 0 /* verified: there is none */
#define FUSED_COMPLEX FUSED_HALF
#define FUSED(with, id, name, kind, bits, digits, c_type, ...)                                                         \
  case LAZE_##id: sum->id = FUSED_##kind(c_type, *(const c_type *)a, *(const c_type *)b, sum->id); break;

static void multiply_add(laze_dtype dtype, const void *a, const void *b, cell *sum) {
  switch (dtype) { LAZE_DTYPES(FUSED, ) }
}

#define SUM_BOOL(type, x, y) (type)(x || y)
#define SUM_SIGNED(type, x, y) (type)((uint64_t)x + (uint64_t)y)
#define SUM_UNSIGNED SUM_SIGNED
#define SUM_FLOAT(type, x, y) x + y
#define SUM_HALF(type, x, y) 0
#define SUM_COMPLEX SUM_HALF
#define SUM(with, id, name, kind, bits, digits, c_type, ...)                                                           \
  case LAZE_##id: sum->id = SUM_##kind(c_type, sum->id, other->id); break;

static void add(laze_dtype dtype, cell *sum, const cell *other) {
  switch (dtype) { LAZE_DTYPES(SUM, ) }
}

/* Where index `k` lies along an axis: the operand with the last digit's stride, and those of further ones from `first`
 * on. */
enum { UNIT_STRIDE = -1 };
static int64_t place_of(machine *m, const laze_loop_instruction *i, int64_t k, int32_t stride, int32_t first,
                        int32_t digits) {
  int64_t place = 0, last = stride == UNIT_STRIDE ? 1 : index_of(m, i, stride);
  for (int32_t d = 0; d < digits; d++) {
    const int64_t extent = index_of(m, i, first + 2 * d);
    place += k % extent * last;
    k /= extent;
    last = index_of(m, i, first + 2 * d + 1);
  }
  return place + k * last;
}

typedef struct {
  int64_t a, a_step, b; /* offsets of the first factors, elements from one of a's to the next */
  int64_t depth;
} element_of_product;

static cell run_product(machine *m, const laze_loop_instruction *i, element_of_product e) {
  const laze_loop_product product = laze_loop_read_product(i->imm);
  const int64_t chains = e.depth < LAZE_PRODUCT_CHAIN ? 1 : LAZE_PRODUCT_LANES;
  cell total = {0};
  for (int64_t first = 0; first < e.depth; first += LAZE_PRODUCT_BLOCK) {
    int64_t last = e.depth - first < LAZE_PRODUCT_BLOCK ? e.depth : first + LAZE_PRODUCT_BLOCK;
    cell sums[LAZE_PRODUCT_LANES] = {{0}};
    for (int64_t k = first; k < last; k++) {
      const int64_t place = place_of(m, i, k, LAZE_PRODUCT_B_K, LAZE_LOOP_PRODUCT_FIXED, product.depth_digits);
      multiply_add(i->dtype, element_at(m, product.a, e.a + k * e.a_step), element_at(m, product.b, e.b + place),
                   &sums[k % chains]);
    }
    for (int64_t half = chains / 2; half >= 1; half /= 2)
      for (int64_t l = 0; l < half; l++) add(i->dtype, &sums[l], &sums[l + half]);
    if (first == 0)
      total = sums[0];
    else
      add(i->dtype, &total, &sums[0]);
  }
  return total;
}

static void run_matrix(machine *m, const laze_loop_instruction *i) {
  const laze_loop_product product = laze_loop_read_product(i->imm);
  const int32_t further = LAZE_LOOP_PRODUCT_FIXED + 2 * product.depth_digits;
  const int32_t results = further + 2 * product.column_digits;
  int64_t o[LAZE_LOOP_PRODUCT_FIXED];
  for (int k = 0; k < LAZE_LOOP_PRODUCT_FIXED; k++) o[k] = index_of(m, i, k);
  for (int64_t row = 0; row < o[LAZE_PRODUCT_ROWS]; row++)
    for (int64_t column = 0; column < o[LAZE_PRODUCT_COLUMNS]; column++) {
      const int64_t place =
          place_of(m, i, o[LAZE_PRODUCT_FIRST_COLUMN] + column, LAZE_PRODUCT_B_COLUMN, further, product.column_digits);
      const cell sum =
          run_product(m, i,
                      (element_of_product){o[LAZE_PRODUCT_A_OFFSET] + row * o[LAZE_PRODUCT_A_ROW], o[LAZE_PRODUCT_A_K],
                                           o[LAZE_PRODUCT_B_OFFSET] + place, o[LAZE_PRODUCT_DEPTH]});
      int64_t out = column;
      if (product.result_digits > 0)
        out = place_of(m, i, o[LAZE_PRODUCT_FIRST_COLUMN] + column, UNIT_STRIDE, results, product.result_digits);
      memcpy(element_at(m, product.c, o[LAZE_PRODUCT_C_OFFSET] + row * o[LAZE_PRODUCT_C_ROW] + out), &sum,
             (size_t)laze_dtype_size(i->dtype));
    }
}

/* Enters a loop, or, if it has no iteration, leaves its END in *at to go on after. */
static void run_begin(machine *m, int32_t *at) {
  const laze_loop_instruction *i = &m->kernel->instructions[*at];
  bool range = i->flags & LAZE_LOOP_RANGE;
  m->values[*at].index = range ? m->begin : 0;
  m->limit[*at] = range ? m->end : index_of(m, i, 0);
  if (m->values[*at].index >= m->limit[*at]) *at = m->partner[*at];
}

static void run_end(machine *m, int32_t *at) {
  int32_t begin = m->partner[*at];
  if (++m->values[begin].index < m->limit[begin])
    *at = begin;
  else
    take_places(m, begin);
}

/* Runs the instruction at *at and leaves there the one before the next. */
static laze_status step(machine *m, int32_t *at) {
  const laze_loop_instruction *i = &m->kernel->instructions[*at];
  cell *result = &m->values[*at];
  switch (i->code) {
  case LAZE_LOOP_BEGIN: run_begin(m, at); break;
  case LAZE_LOOP_END: run_end(m, at); break;
  case LAZE_LOOP_INDEX_CONSTANT:
  case LAZE_LOOP_CONSTANT: result->index = i->imm; break;
  case LAZE_LOOP_INDEX_SIZE: result->index = m->arguments->sizes[i->imm]; break;
  case LAZE_LOOP_INDEX_LESS: result->boolean = index_of(m, i, 0) < index_of(m, i, 1); break;
  case LAZE_LOOP_AND: result->boolean = boolean_of(m, i, 0) && boolean_of(m, i, 1); break;
  case LAZE_LOOP_LOAD: run_load(m, i, result); break;
  case LAZE_LOOP_STORE: run_store(m, i); break;
  case LAZE_LOOP_ELEMENT: return run_element(m, i, result);
  case LAZE_LOOP_CONVERT: run_convert(m, i, result); break;
  case LAZE_LOOP_BITCAST: *result = m->values[operands_of(m, i)[0]]; break;
  case LAZE_LOOP_CHECK:
  case LAZE_LOOP_CHECK_SLICE: run_check(m, i, result); break;
  case LAZE_LOOP_ACCUMULATOR: run_accumulator(m, *at); break;
  case LAZE_LOOP_UPDATE: return run_update(m, i);
  case LAZE_LOOP_RESULT: return run_result(m, i, result);
  case LAZE_LOOP_VARIABLE:
  case LAZE_LOOP_GET: *result = m->values[operands_of(m, i)[0]]; break;
  case LAZE_LOOP_SET: m->values[operands_of(m, i)[0]] = m->values[operands_of(m, i)[1]]; break;
  case LAZE_LOOP_MATRIX: run_matrix(m, i); break;
  default: result->index = index_value(i->code, index_of(m, i, 0), index_of(m, i, 1));
  }
  return LAZE_OK;
}

/* Fills `partner` and counts accumulators. `limit` serves as the stack of open loops. */
static void pair_up(machine *m) {
  int32_t depth = 0;
  for (int32_t k = 0; k < m->kernel->instruction_count; k++) {
    switch (m->kernel->instructions[k].code) {
    case LAZE_LOOP_BEGIN: m->limit[depth++] = k; break;
    case LAZE_LOOP_END:
      m->partner[k] = (int32_t)m->limit[--depth];
      m->partner[m->partner[k]] = k;
      break;
    case LAZE_LOOP_ACCUMULATOR: m->partner[k] = m->accumulator_count++; break;
    default: break;
    }
  }
}

static void find_loops(machine *m) {
  for (int32_t k = 0; k < m->accumulator_count; k++) m->accumulators[k].loop = -1;
  for (int32_t k = 0; k < m->kernel->instruction_count; k++) {
    const laze_loop_instruction *i = &m->kernel->instructions[k];
    if (i->code != LAZE_LOOP_UPDATE) continue;
    m->accumulators[m->partner[operands_of(m, i)[0]]].loop = operands_of(m, i)[2];
  }
}

static laze_status run(machine *m, laze_arena *arena) {
  int64_t count = m->kernel->instruction_count;
  m->values = laze_arena_alloc_zero(arena, count * (int64_t)sizeof *m->values);
  m->partner = laze_arena_alloc_zero(arena, count * (int64_t)sizeof *m->partner);
  m->limit = laze_arena_alloc_zero(arena, count * (int64_t)sizeof *m->limit);
  if (!m->values || !m->partner || !m->limit) return laze_fail_memory(m->error, "interpreting a kernel", -1);
  pair_up(m);
  m->accumulators = laze_arena_alloc_zero(arena, m->accumulator_count * (int64_t)sizeof *m->accumulators);
  if (!m->accumulators) return laze_fail_memory(m->error, "interpreting a kernel", -1);
  find_loops(m);
  for (int32_t at = 0; at < m->kernel->instruction_count; at++) LAZE_TRY(step(m, &at));
  return LAZE_OK;
}

laze_status test_interpret_loop(const laze_loop_kernel *kernel, laze_context *context,
                                const laze_kernel_arguments *arguments, int64_t begin, int64_t end, laze_error *error) {
  laze_arena arena;
  laze_arena_init(&arena, context);
  machine m = {.kernel = kernel, .arguments = arguments, .begin = begin, .end = end, .error = error};
  laze_status status = run(&m, &arena);
  laze_arena_deinit(&arena);
  return status;
}
