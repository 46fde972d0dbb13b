/* Panels of B: as deep as the k at hand, as wide as the tile of C, rows one after the other. Where B lies so already
 * and is read only a few times, it is used in place; otherwise it is copied to the stack:
 *
 *   columns contiguous     row by row
 *   depth contiguous       16 columns by 16 k at a time, transposed in registers (B is another matrix's transpose, as
 *                          the weights of a linear layer are)
 *   neither                gathered
 *   digits                 in runs, of columns that differ in the last digit alone: a few registers for each
 */
#include "codegen/llvm/kernel_product.h"

#include "codegen/order.h"

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

bool laze_product_contiguous(const laze_product *p) {
  return !laze_product_has_digits(p) && is_one(p->operands[B_COLUMN]);
}

bool laze_product_in_passes(const laze_product *p) {
  return laze_product_has_digits(p) || laze_product_contiguous(p) || !is_one(p->operands[A_K]);
}

/* Room on the stack for a panel, shared by all products of the kernel: as many rows as a block has, or fewer than make
 * one. Both are multiples of every register's lanes. */
static LLVMValueRef stack_panel(laze_product *p) {
  laze_llvm_kernel *l = p->l;
  int chain = LAZE_PRODUCT_CHAIN * LAZE_TILE_VECTORS, rows = chain > LAZE_PRODUCT_BLOCK ? chain : LAZE_PRODUCT_BLOCK;
  unsigned bytes = (unsigned)(rows * l->unit.register_bytes);
  if (!l->panel) l->panel = laze_llvm_stack(l, LLVMInt8TypeInContext(l->e.context), bytes);
  return l->panel;
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

static laze_status copy_rows(laze_product *p, LLVMValueRef source, LLVMValueRef stack) {
  laze_counted_loop loop = {0};
  LAZE_TRY(laze_counted_loop_open(p->l, &loop, number(p, 0), p->depth));
  LLVMValueRef from = advance(p, source, multiply(p, loop.counter, p->b_step));
  LLVMValueRef to = advance(p, stack, multiply(p, loop.counter, number(p, laze_product_width(p))));
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

/* Every fourth of two registers, in the lower half of one. */
static LLVMValueRef every_fourth(const laze_product *p, LLVMValueRef a, LLVMValueRef b) {
  LLVMTypeRef i32 = LLVMInt32TypeInContext(p->l->e.context);
  LLVMValueRef lanes[LAZE_LANES];
  for (int k = 0; k < p->lanes; k++)
    lanes[k] = LLVMConstInt(i32, (uint64_t)(k < p->lanes / 2 ? LAZE_PRODUCT_LANES * k : 0), false);
  return LLVMBuildShuffleVector(p->l->e.builder, a, b, LLVMConstVector(lanes, (unsigned)p->lanes), "");
}

/* The column's elements of one chain, of which `left` are left: no more of the column is read than up to the last. */
static LLVMValueRef load_chain(const laze_product *p, LLVMValueRef from, LLVMValueRef left) {
  LLVMTypeRef i32 = LLVMInt32TypeInContext(p->l->e.context);
  LLVMValueRef lanes[LAZE_LANES], pieces[LAZE_PRODUCT_LANES], chains = number(p, LAZE_PRODUCT_LANES);
  LLVMValueRef span = subtract(p, multiply(p, left, chains), number(p, LAZE_PRODUCT_LANES - 1));
  for (int v = 0; v < LAZE_PRODUCT_LANES; v++)
    pieces[v] = load_column(p, at_register(p, from, v), subtract(p, span, number(p, (int64_t)v * p->lanes)));
  for (int k = 0; k < p->lanes; k++)
    lanes[k] = LLVMConstInt(i32, (uint64_t)(k < p->lanes / 2 ? k : k + p->lanes / 2), false);
  LLVMValueRef low = every_fourth(p, pieces[0], pieces[1]), high = every_fourth(p, pieces[2], pieces[3]);
  return LLVMBuildShuffleVector(p->l->e.builder, low, high, LLVMConstVector(lanes, (unsigned)p->lanes), "");
}

typedef struct {
  LLVMValueRef k, j;
} position_in_panel;
typedef LLVMValueRef (*column_function)(const laze_product *p, LLVMValueRef from, LLVMValueRef left);

/* A square at depth k and column j of the panel. Columns past the last repeat it; depths past the last read as 0. */
static void copy_square(const laze_product *p, column_function load, LLVMValueRef source, LLVMValueRef stack,
                        position_in_panel at) {
  LLVMValueRef square[LAZE_LANES];
  LLVMValueRef left = subtract(p, p->operands[COLUMNS], p->column);
  LLVMValueRef last = subtract(p, left, number(p, 1));
  for (int c = 0; c < p->lanes; c++) {
    LLVMValueRef column = multiply(p, smaller(p, add(p, at.j, number(p, c)), last), p->operands[B_COLUMN]);
    LLVMValueRef from = advance(p, source, add(p, multiply(p, at.k, p->b_step), column));
    square[c] = load(p, from, subtract(p, p->depth, at.k));
  }
  transpose(p, square);
  LLVMValueRef to = advance(p, stack, add(p, at.j, multiply(p, at.k, number(p, laze_product_width(p)))));
  for (int r = 0; r < p->lanes; r++) store_row(p, advance(p, to, number(p, r * laze_product_width(p))), 0, square[r]);
}

static laze_status copy_squares(laze_product *p, column_function load, LLVMValueRef source, LLVMValueRef stack) {
  laze_counted_loop depth = {0}, columns = {0};
  LLVMValueRef left = subtract(p, p->operands[COLUMNS], p->column), lanes = number(p, p->lanes);
  LAZE_TRY(laze_counted_loop_open(p->l, &columns, number(p, 0), smaller(p, left, number(p, laze_product_width(p)))));
  LAZE_TRY(laze_counted_loop_open(p->l, &depth, number(p, 0), p->depth));
  copy_square(p, load, source, stack, (position_in_panel){depth.counter, columns.counter});
  laze_counted_loop_close(p->l, &depth, lanes);
  laze_counted_loop_close(p->l, &columns, lanes);
  return LAZE_OK;
}

/* Passes take every fourth k where there are four chains, and every k where there is one. */
static laze_status copy_chain(laze_product *p, LLVMValueRef source, LLVMValueRef stack) {
  LLVMBuilderRef builder = p->l->e.builder;
  LLVMBasicBlockRef all = laze_llvm_add_block(p->l), some = laze_llvm_add_block(p->l),
                    after = laze_llvm_add_block(p->l);
  LLVMBuildCondBr(builder, p->is_chain, all, some);
  LLVMPositionBuilderAtEnd(builder, all);
  LAZE_TRY(copy_squares(p, load_column, source, stack));
  LLVMBuildBr(builder, after);
  LLVMPositionBuilderAtEnd(builder, some);
  LAZE_TRY(copy_squares(p, load_chain, source, stack));
  LLVMBuildBr(builder, after);
  LLVMPositionBuilderAtEnd(builder, after);
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

static laze_status copy_runs(laze_product *p, LLVMValueRef stack) {
  laze_counted_loop rows = {0}, runs = {0}, registers = {0};
  LLVMValueRef zero = number(p, 0), one = number(p, 1), lanes = number(p, p->lanes);
  LAZE_TRY(laze_counted_loop_open(p->l, &rows, zero, p->depth));
  LLVMValueRef k = add(p, p->first_k, multiply(p, rows.counter, p->k_step));
  LLVMValueRef from = laze_llvm_pointer(p->l, p->b, add(p, p->operands[B_OFFSET], place_of(p, &p->k, k)));
  LLVMValueRef to = advance(p, stack, multiply(p, rows.counter, number(p, laze_product_width(p))));
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
  p->panel = stack;
  p->panel_stride = number(p, laze_product_width(p));
  return LAZE_OK;
}

static laze_status copy_panel(laze_product *p, LLVMValueRef source) {
  LLVMValueRef stack = stack_panel(p);
  bool transposed = is_one(p->operands[B_K]) && !laze_product_contiguous(p);
  if (!transposed)
    LAZE_TRY(copy_rows(p, source, stack));
  else if (laze_product_in_passes(p))
    LAZE_TRY(copy_chain(p, source, stack));
  else
    LAZE_TRY(copy_squares(p, load_column, source, stack));
  p->panel = stack;
  p->panel_stride = number(p, laze_product_width(p));
  return LAZE_OK;
}

LLVMValueRef laze_product_packs(const laze_product *p) {
  if (!laze_product_contiguous(p)) return NULL;
  return LLVMBuildICmp(p->l->e.builder, LLVMIntSGE, p->operands[ROWS], number(p, LAZE_PRODUCT_PACKS), "");
}

laze_status laze_product_panel(laze_product *p, LLVMValueRef packs) {
  LLVMBuilderRef builder = p->l->e.builder;
  if (laze_product_has_digits(p)) return copy_runs(p, stack_panel(p));
  LLVMValueRef column = add(p, p->operands[FIRST_COLUMN], p->column);
  LLVMValueRef k = multiply(p, p->first_k, p->operands[B_K]), j = multiply(p, column, p->operands[B_COLUMN]);
  LLVMValueRef source = laze_llvm_pointer(p->l, p->b, add(p, p->operands[B_OFFSET], add(p, k, j)));
  if (!packs) return copy_panel(p, source);
  LLVMBasicBlockRef copy = laze_llvm_add_block(p->l), after = laze_llvm_add_block(p->l);
  LLVMBasicBlockRef here = LLVMGetInsertBlock(builder);
  LLVMBuildCondBr(builder, packs, copy, after);
  LLVMPositionBuilderAtEnd(builder, copy);
  LAZE_TRY(copy_panel(p, source));
  LLVMBasicBlockRef from[2] = {LLVMGetInsertBlock(builder), here};
  LLVMBuildBr(builder, after);
  LLVMPositionBuilderAtEnd(builder, after);
  LLVMValueRef panels[2] = {p->panel, source}, strides[2] = {p->panel_stride, p->b_step};
  p->panel = LLVMBuildPhi(builder, LLVMTypeOf(source), "");
  LLVMAddIncoming(p->panel, panels, from, 2);
  p->panel_stride = LLVMBuildPhi(builder, LLVMTypeOf(strides[1]), "");
  LLVMAddIncoming(p->panel_stride, strides, from, 2);
  return LAZE_OK;
}
