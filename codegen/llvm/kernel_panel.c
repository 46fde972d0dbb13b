/* Panels of B: as deep as a block, as wide as the tile of C, its chains one after the other and the rows of each too.
 * Where columns are contiguous and B is read only a few times, it is used where it lies; otherwise it is copied to the
 * kernel's scratch:
 *
 *   columns contiguous     row by row
 *   depth contiguous       16 columns by 16 k at a time, transposed in registers (B is another matrix's transpose, as
 *                          the weights of a linear layer are)
 *   neither                gathered
 *   digits                 in runs, of columns that differ in the last digit alone: a few registers for each
 */
#include "codegen/llvm/kernel_product.h"

#include "codegen/order.h"

#include <assert.h>

LLVMValueRef laze_product_splat(const laze_product *p, LLVMValueRef scalar) {
  LLVMTypeRef i32 = LLVMInt32TypeInContext(p->l->e.context);
  LLVMValueRef poison = LLVMGetPoison(LLVMVectorType(LLVMTypeOf(scalar), (unsigned)p->lanes));
  LLVMValueRef first = LLVMBuildInsertElement(p->l->e.builder, poison, scalar, LLVMConstInt(i32, 0, false), "");
  LLVMValueRef zeros = LLVMConstNull(LLVMVectorType(i32, (unsigned)p->lanes));
  return LLVMBuildShuffleVector(p->l->e.builder, first, poison, zeros, "");
}

LLVMValueRef laze_product_lane_numbers(const laze_product *p, LLVMTypeRef element) {
  LLVMValueRef numbers[LAZE_LANES];
  for (int k = 0; k < p->lanes; k++) numbers[k] = LLVMConstInt(element, (uint64_t)k, false);
  return LLVMConstVector(numbers, (unsigned)p->lanes);
}

LLVMValueRef laze_product_mask(const laze_product *p, LLVMValueRef remaining) {
  LLVMTypeRef i32 = LLVMInt32TypeInContext(p->l->e.context);
  LLVMValueRef count = LLVMBuildTrunc(p->l->e.builder, smaller(p, remaining, number(p, p->lanes)), i32, "");
  LLVMValueRef lanes = laze_product_lane_numbers(p, i32);
  return LLVMBuildICmp(p->l->e.builder, LLVMIntSLT, lanes, laze_product_splat(p, count), "");
}

/* Whether B's columns are known to lie next to each other, all of them. */
static bool is_contiguous(const laze_product *p) {
  return !laze_product_has_digits(p) && is_one(p->operands[B_COLUMN]);
}

static_assert(LAZE_LANES % LAZE_PRODUCT_LANES == 0, "chains are aligned to whole registers");

/* Makes the scratch the panel. Squares fill it up to a multiple of LAZE_LANES k, in each chain. */
static void use_scratch(laze_product *p) {
  LLVMValueRef unit = number(p, LAZE_PANEL_ROWS), more = number(p, LAZE_PANEL_ROWS - 1);
  LLVMValueRef units = LLVMBuildUDiv(p->l->e.builder, add(p, p->block_depth, more), unit, "");
  p->panel = LLVMGetParam(p->l->function, 3);
  p->panel_chain = multiply(p, units, number(p, LAZE_PANEL_ROWS / LAZE_PRODUCT_LANES * laze_product_width(p)));
  p->panel_stride = number(p, laze_product_width(p));
}

/* Where the panel has k of the block. */
static LLVMValueRef row_of(const laze_product *p, LLVMValueRef k) {
  LLVMBuilderRef builder = p->l->e.builder;
  LLVMValueRef chain = LLVMBuildAnd(builder, k, subtract(p, p->chains, number(p, 1)), "");
  LLVMValueRef at = laze_product_by_chains(p, k);
  return advance(p, p->panel, add(p, multiply(p, chain, p->panel_chain), multiply(p, at, p->panel_stride)));
}

static void store_row(const laze_product *p, LLVMValueRef row, int v, LLVMValueRef value) {
  laze_llvm_vector_store(p->l, value, at_register(p, row, v), NULL, laze_dtype_size(p->dtype));
}

/* Register `v` of B's row at `row`; columns that do not exist read as 0. */
static LLVMValueRef load_row(const laze_product *p, LLVMValueRef row, int v) {
  int64_t size = laze_dtype_size(p->dtype);
  if (is_one(p->operands[B_COLUMN]))
    return laze_llvm_vector_load(p->l, p->vector, at_register(p, row, v), p->masks[v], size);
  LLVMValueRef lanes = laze_product_lane_numbers(p, laze_llvm_i64_type(p->l));
  LLVMValueRef columns = add(p, lanes, laze_product_splat(p, number(p, (int64_t)v * p->lanes)));
  LLVMValueRef offsets = multiply(p, columns, laze_product_splat(p, p->operands[B_COLUMN]));
  return laze_llvm_gather(p->l, p->vector, advance(p, row, offsets), p->masks[v], size);
}

static laze_status copy_rows(laze_product *p, LLVMValueRef source) {
  laze_counted_loop loop = {0};
  LAZE_TRY(laze_counted_loop_open(p->l, &loop, number(p, 0), p->block_depth));
  LLVMValueRef from = advance(p, source, multiply(p, loop.counter, p->operands[B_K]));
  LLVMValueRef to = row_of(p, loop.counter);
  for (int v = 0; v < p->tile.vectors; v++) store_row(p, to, v, load_row(p, from, v));
  laze_counted_loop_close(p->l, &loop, number(p, 1));
  return LAZE_OK;
}

/* a0 b0 a1 b1 ..., from the lower or the upper halves. */
static LLVMValueRef interleave(const laze_product *p, LLVMValueRef a, LLVMValueRef b, bool upper) {
  LLVMTypeRef i32 = LLVMInt32TypeInContext(p->l->e.context);
  LLVMValueRef lanes[LAZE_LANES];
  for (int k = 0; k < p->lanes; k++)
    lanes[k] = LLVMConstInt(i32, (uint64_t)((upper ? p->lanes / 2 : 0) + k / 2 + k % 2 * p->lanes), false);
  return LLVMBuildShuffleVector(p->l->e.builder, a, b, LLVMConstVector(lanes, (unsigned)p->lanes), "");
}

/* A square of registers, in place. Interleaving register i with i + n/2 moves the top bit of the register's number to
 * the bottom of the lane's; after log2(n) rounds the two numbers have changed places. */
static void transpose(const laze_product *p, LLVMValueRef *square) {
  LLVMValueRef next[LAZE_LANES];
  int half = p->lanes / 2;
  for (int round = 1; round < p->lanes; round *= 2) {
    for (int k = 0; k < half; k++) {
      next[2 * k] = interleave(p, square[k], square[k + half], false);
      next[2 * k + 1] = interleave(p, square[k], square[k + half], true);
    }
    for (int k = 0; k < p->lanes; k++) square[k] = next[k];
  }
}

/* `left` elements of a column, those past it as 0. */
static LLVMValueRef load_column(const laze_product *p, LLVMValueRef from, LLVMValueRef left) {
  LLVMValueRef mask = laze_product_mask(p, left);
  return laze_llvm_vector_load(p->l, p->vector, from, mask, laze_dtype_size(p->dtype));
}

typedef struct {
  LLVMValueRef k, j;
} position_in_panel;

/* A square at depth k and column j of the panel. Columns past the last repeat it; depths past the last read as 0. */
static void copy_square(const laze_product *p, LLVMValueRef source, position_in_panel at) {
  LLVMValueRef square[LAZE_LANES];
  LLVMValueRef left = subtract(p, p->operands[COLUMNS], p->column);
  LLVMValueRef last = subtract(p, left, number(p, 1));
  for (int c = 0; c < p->lanes; c++) {
    LLVMValueRef column = multiply(p, smaller(p, add(p, at.j, number(p, c)), last), p->operands[B_COLUMN]);
    square[c] = load_column(p, advance(p, source, add(p, at.k, column)), subtract(p, p->block_depth, at.k));
  }
  transpose(p, square);
  for (int r = 0; r < p->lanes; r++)
    store_row(p, advance(p, row_of(p, add(p, at.k, number(p, r))), at.j), 0, square[r]);
}

static laze_status copy_squares(laze_product *p, LLVMValueRef source) {
  laze_counted_loop depth = {0}, columns = {0};
  LLVMValueRef left = subtract(p, p->operands[COLUMNS], p->column), lanes = number(p, p->lanes);
  LAZE_TRY(laze_counted_loop_open(p->l, &columns, number(p, 0), smaller(p, left, number(p, laze_product_width(p)))));
  LAZE_TRY(laze_counted_loop_open(p->l, &depth, number(p, 0), p->block_depth));
  copy_square(p, source, (position_in_panel){depth.counter, columns.counter});
  laze_counted_loop_close(p->l, &depth, lanes);
  laze_counted_loop_close(p->l, &columns, lanes);
  return LAZE_OK;
}

/* Digits. */

static LLVMValueRef divide(const laze_product *p, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildUDiv(p->l->e.builder, a, b, "");
}
static LLVMValueRef remainder_of(const laze_product *p, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildURem(p->l->e.builder, a, b, "");
}

/* Where an index lies along an axis. */
static LLVMValueRef place_of(const laze_product *p, const laze_product_axis *digits, LLVMValueRef index) {
  LLVMValueRef place = number(p, 0), stride = digits->last;
  for (int d = 0; d < digits->count; d++) {
    place = add(p, place, multiply(p, remainder_of(p, index, digits->extents[d]), stride));
    index = divide(p, index, digits->extents[d]);
    stride = digits->strides[d];
  }
  return add(p, place, multiply(p, index, stride));
}

static LLVMValueRef at_number(const laze_product *p, LLVMValueRef numbers, LLVMValueRef index) {
  return LLVMBuildGEP2(p->l->e.builder, laze_llvm_i64_type(p->l), numbers, &index, 1, "");
}
static LLVMValueRef load_number(const laze_product *p, LLVMValueRef numbers, LLVMValueRef index) {
  return LLVMBuildLoad2(p->l->e.builder, laze_llvm_i64_type(p->l), at_number(p, numbers, index), "");
}

/* A run ends where the last digit is through, or with the panel: run r has the panel's columns from starts[r] up to
 * starts[r + 1], from places[r] on. */
laze_status laze_product_find_runs(laze_product *p) {
  LLVMTypeRef i64 = laze_llvm_i64_type(p->l);
  LLVMValueRef one = number(p, 1), count = number(p, 0), left = subtract(p, p->operands[COLUMNS], p->column);
  LLVMValueRef width = smaller(p, left, number(p, laze_product_width(p))),
               extent = p->j.count ? p->j.extents[0] : width;
  LLVMValueRef *slots[] = {&count};
  laze_counted_loop runs = {.slots = slots, .slot_count = 1};
  if (!laze_product_has_digits(p)) return LAZE_OK;
  const uint64_t most = (uint64_t)LAZE_LANES * LAZE_TILE_VECTORS;
  if (!p->l->runs) p->l->runs = laze_llvm_stack(p->l, i64, 2 * most + 1);
  p->run_starts = p->l->runs;
  p->run_places = at_number(p, p->l->runs, number(p, (int64_t)most + 1));
  LAZE_TRY(laze_counted_loop_open(p->l, &runs, number(p, 0), width));
  LLVMValueRef index = add(p, add(p, p->operands[FIRST_COLUMN], p->column), runs.counter);
  LLVMValueRef rest = p->j.count ? subtract(p, extent, remainder_of(p, index, extent)) : width;
  LLVMBuildStore(p->l->e.builder, runs.counter, at_number(p, p->run_starts, count));
  LLVMBuildStore(p->l->e.builder, place_of(p, &p->j, index), at_number(p, p->run_places, count));
  count = add(p, count, one);
  laze_counted_loop_close(p->l, &runs, rest);
  LLVMBuildStore(p->l->e.builder, width, at_number(p, p->run_starts, count));
  p->run_count = count;
  return LAZE_OK;
}

/* A register of a run's elements; those that the mask leaves out are 0. */
static LLVMValueRef load_run(const laze_product *p, LLVMValueRef from, LLVMValueRef mask) {
  const int64_t size = laze_dtype_size(p->dtype);
  if (is_one(p->j.last)) return laze_llvm_vector_load(p->l, p->vector, from, mask, size);
  LLVMValueRef lanes = laze_product_lane_numbers(p, laze_llvm_i64_type(p->l));
  LLVMValueRef offsets = multiply(p, lanes, laze_product_splat(p, p->j.last));
  return laze_llvm_gather(p->l, p->vector, advance(p, from, offsets), mask, size);
}

static laze_status copy_runs(laze_product *p) {
  laze_counted_loop rows = {0}, runs = {0}, registers = {0};
  LLVMValueRef zero = number(p, 0), one = number(p, 1), lanes = number(p, p->lanes);
  LAZE_TRY(laze_counted_loop_open(p->l, &rows, zero, p->block_depth));
  LLVMValueRef k = add(p, p->block_k, rows.counter), to = row_of(p, rows.counter);
  LLVMValueRef from = laze_llvm_pointer(p->l, p->b, add(p, p->operands[B_OFFSET], place_of(p, &p->k, k)));
  LAZE_TRY(laze_counted_loop_open(p->l, &runs, zero, p->run_count));
  LLVMValueRef start = load_number(p, p->run_starts, runs.counter);
  LLVMValueRef end = load_number(p, p->run_starts, add(p, runs.counter, one));
  LLVMValueRef run = advance(p, from, load_number(p, p->run_places, runs.counter));
  LAZE_TRY(laze_counted_loop_open(p->l, &registers, start, end));
  LLVMValueRef mask = laze_product_mask(p, subtract(p, end, registers.counter));
  LLVMValueRef place = multiply(p, subtract(p, registers.counter, start), p->j.last);
  LLVMValueRef elements = load_run(p, advance(p, run, place), mask);
  laze_llvm_vector_store(p->l, elements, advance(p, to, registers.counter), mask, laze_dtype_size(p->dtype));
  laze_counted_loop_close(p->l, &registers, lanes);
  laze_counted_loop_close(p->l, &runs, one);
  laze_counted_loop_close(p->l, &rows, one);
  return LAZE_OK;
}

/* Copies the block's panel, which begins at `source`, to the scratch. */
static laze_status copy_panel(laze_product *p, LLVMValueRef source) {
  use_scratch(p);
  if (laze_product_has_digits(p)) return copy_runs(p);
  return is_one(p->operands[B_K]) && !is_contiguous(p) ? copy_squares(p, source) : copy_rows(p, source);
}

LLVMValueRef laze_product_packs(const laze_product *p) {
  if (!is_contiguous(p)) return NULL;
  return LLVMBuildICmp(p->l->e.builder, LLVMIntSGE, p->operands[ROWS], number(p, LAZE_PRODUCT_PACKS), "");
}

static LLVMValueRef join_values(const laze_product *p, LLVMValueRef values[2], LLVMBasicBlockRef from[2]) {
  LLVMValueRef joined = LLVMBuildPhi(p->l->e.builder, LLVMTypeOf(values[0]), "");
  LLVMAddIncoming(joined, values, from, 2);
  return joined;
}

laze_status laze_product_panel(laze_product *p, LLVMValueRef packs) {
  LLVMBuilderRef builder = p->l->e.builder;
  LLVMValueRef column = add(p, p->operands[FIRST_COLUMN], p->column), stride = p->operands[B_K];
  LLVMValueRef k = multiply(p, p->block_k, stride), j = multiply(p, column, p->operands[B_COLUMN]);
  LLVMValueRef source = laze_llvm_pointer(p->l, p->b, add(p, p->operands[B_OFFSET], add(p, k, j)));
  if (!packs) return copy_panel(p, source);
  LLVMValueRef stride_in_place = multiply(p, stride, p->chains);
  LLVMBasicBlockRef copy = laze_llvm_add_block(p->l), after = laze_llvm_add_block(p->l);
  LLVMBasicBlockRef here = LLVMGetInsertBlock(builder);
  LLVMBuildCondBr(builder, packs, copy, after);
  LLVMPositionBuilderAtEnd(builder, copy);
  LAZE_TRY(copy_panel(p, source));
  LLVMBasicBlockRef from[2] = {LLVMGetInsertBlock(builder), here};
  LLVMBuildBr(builder, after);
  LLVMPositionBuilderAtEnd(builder, after);
  p->panel = join_values(p, (LLVMValueRef[2]){p->panel, source}, from);
  p->panel_chain = join_values(p, (LLVMValueRef[2]){p->panel_chain, stride}, from);
  p->panel_stride = join_values(p, (LLVMValueRef[2]){p->panel_stride, stride_in_place}, from);
  return LAZE_OK;
}
