/* Brings the factors of a block into shape in the kernel's scratch: chains one after the other, and the k of each.
 *
 * A panel of B is as deep as the block and as wide as a full tile of C. Where columns lie next to each other and B is
 * read only a few times, it is used where it lies; otherwise it is copied:
 *
 *   columns next to each other   k by k
 *   k next to each other         squares of a register's lanes, transposed in registers (B is another matrix's
 *                                transpose, as the weights of a linear layer are)
 *   neither                      gathered
 *   digits                       in runs, of columns that differ in the last digit alone; of many runs, gathered
 *
 * A is copied, behind the panel, where its rows lie next to each other and its k do not.
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
  return !laze_product_has_digits(p) && is_one(p->operands[LAZE_PRODUCT_B_COLUMN]);
}

enum { MOST_RUNS = LAZE_LANES * LAZE_TILE_VECTORS, RUN_NUMBERS = 2 * MOST_RUNS + 1 };

static_assert(LAZE_PANEL_ROWS % LAZE_LANES == 0 && LAZE_LANES % LAZE_PRODUCT_LANES == 0,
              "squares end within what each chain has room for");

/* How many times LAZE_PANEL_ROWS k the scratch has room for. */
static LLVMValueRef scratch_units(const laze_product *p) {
  LLVMValueRef more = add(p, p->block_depth, number(p, LAZE_PANEL_ROWS - 1));
  return LLVMBuildUDiv(p->l->e.builder, more, number(p, LAZE_PANEL_ROWS), "");
}

/* Makes the scratch the panel. Squares write up to a multiple of a register's lanes of the block's k, of which each
 * chain has its share. */
static void use_scratch(laze_product *p) {
  const int64_t chain_rows = LAZE_PANEL_ROWS / LAZE_PRODUCT_LANES;
  p->panel = laze_product_scratch(p);
  p->panel_chain = multiply(p, scratch_units(p), number(p, chain_rows * laze_product_width(p)));
  p->panel_stride = number(p, laze_product_width(p));
}

/* The element that begins row k of the block, in what has its chains one after the other. */
static LLVMValueRef element_of(const laze_product *p, LLVMValueRef k, LLVMValueRef chain_step, LLVMValueRef step) {
  LLVMValueRef chain = LLVMBuildAnd(p->l->e.builder, k, subtract(p, p->chains, number(p, 1)), "");
  return add(p, multiply(p, chain, chain_step), multiply(p, laze_product_by_chains(p, k), step));
}

/* Where the panel has k of the block. */
static LLVMValueRef panel_at(const laze_product *p, LLVMValueRef k) {
  return advance(p, p->panel, element_of(p, k, p->panel_chain, p->panel_stride));
}

/* Asks for what the next panel has where this one has what lies at `from`. */
static void prefetch_next(const laze_product *p, LLVMValueRef from, LLVMValueRef column_stride) {
  LLVMValueRef next = multiply(p, number(p, laze_product_width(p)), column_stride);
  laze_llvm_prefetch(p->l, advance(p, from, next), LAZE_PREFETCH_LATER);
}

static void store_register(const laze_product *p, LLVMValueRef row, int v, LLVMValueRef value) {
  laze_llvm_vector_store(p->l, value, at_register(p, row, v), NULL, laze_dtype_size(p->dtype));
}

/* Register `v` of B's row at `row`; columns that do not exist read as 0. */
static LLVMValueRef load_columns(const laze_product *p, LLVMValueRef row, int v) {
  int64_t size = laze_dtype_size(p->dtype);
  if (is_one(p->operands[LAZE_PRODUCT_B_COLUMN])) {
    return laze_llvm_vector_load(p->l, p->vector, at_register(p, row, v), p->masks[v], size);
  }
  LLVMValueRef lanes = laze_product_lane_numbers(p, laze_llvm_i64_type(p->l));
  LLVMValueRef columns = add(p, lanes, laze_product_splat(p, number(p, (int64_t)v * p->lanes)));
  LLVMValueRef offsets = multiply(p, columns, laze_product_splat(p, p->operands[LAZE_PRODUCT_B_COLUMN]));
  return laze_llvm_gather(p->l, p->vector, advance(p, row, offsets), p->masks[v], size);
}

static laze_status copy_by_k(laze_product *p, LLVMValueRef source) {
  laze_counted_loop loop = {0};
  LAZE_TRY(laze_counted_loop_open(p->l, &loop, number(p, 0), p->block_depth));
  LLVMValueRef from = advance(p, source, multiply(p, loop.counter, p->operands[LAZE_PRODUCT_B_K]));
  LLVMValueRef to = panel_at(p, loop.counter);
  for (int v = 0; v < p->tile.vectors; v++) store_register(p, to, v, load_columns(p, from, v));
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
  LLVMValueRef left = subtract(p, p->operands[LAZE_PRODUCT_COLUMNS], p->column);
  LLVMValueRef last = subtract(p, left, number(p, 1));
  for (int c = 0; c < p->lanes; c++) {
    LLVMValueRef column = multiply(p, smaller(p, add(p, at.j, number(p, c)), last), p->operands[LAZE_PRODUCT_B_COLUMN]);
    LLVMValueRef from = advance(p, source, add(p, at.k, column));
    square[c] = load_column(p, from, subtract(p, p->block_depth, at.k));
  }
  transpose(p, square);
  for (int r = 0; r < p->lanes; r++)
    store_register(p, advance(p, panel_at(p, add(p, at.k, number(p, r))), at.j), 0, square[r]);
}

static laze_status copy_squares(laze_product *p, LLVMValueRef source) {
  laze_counted_loop depth = {0}, columns = {0};
  LLVMValueRef left = subtract(p, p->operands[LAZE_PRODUCT_COLUMNS], p->column), lanes = number(p, p->lanes);
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

/* A run ends where the last digit is through, or with the panel. */
static laze_status find_runs(laze_product *p, const laze_product_axis *axis, LLVMValueRef room,
                             laze_product_runs *out) {
  LLVMValueRef one = number(p, 1), count = number(p, 0),
               left = subtract(p, p->operands[LAZE_PRODUCT_COLUMNS], p->column);
  LLVMValueRef width = smaller(p, left, number(p, laze_product_width(p)));
  LLVMValueRef extent = axis->count ? axis->extents[0] : width;
  LLVMValueRef *slots[] = {&count};
  laze_counted_loop runs = {.slots = slots, .slot_count = 1};
  *out = (laze_product_runs){room, at_number(p, room, number(p, MOST_RUNS + 1)), NULL};
  LAZE_TRY(laze_counted_loop_open(p->l, &runs, number(p, 0), width));
  LLVMValueRef index = add(p, add(p, p->operands[LAZE_PRODUCT_FIRST_COLUMN], p->column), runs.counter);
  LLVMValueRef rest = axis->count ? subtract(p, extent, remainder_of(p, index, extent)) : width;
  LLVMBuildStore(p->l->e.builder, runs.counter, at_number(p, out->starts, count));
  LLVMBuildStore(p->l->e.builder, place_of(p, axis, index), at_number(p, out->places, count));
  count = add(p, count, one);
  laze_counted_loop_close(p->l, &runs, rest);
  LLVMBuildStore(p->l->e.builder, width, at_number(p, out->starts, count));
  out->count = count;
  return LAZE_OK;
}

laze_status laze_product_find_runs(laze_product *p) {
  const bool reads = laze_product_has_digits(p), writes = p->result.count > 0;
  if ((reads || writes) && !p->l->runs)
    p->l->runs = laze_llvm_stack(p->l, laze_llvm_i64_type(p->l), (uint64_t)2 * RUN_NUMBERS);
  if (reads) LAZE_TRY(find_runs(p, &p->j, p->l->runs, &p->runs));
  return writes ? find_runs(p, &p->result, at_number(p, p->l->runs, number(p, RUN_NUMBERS)), &p->result_runs) : LAZE_OK;
}

laze_status laze_product_open_runs(laze_product *p, const laze_product_runs *runs, LLVMValueRef stride,
                                   laze_product_walk *out) {
  *out = (laze_product_walk){.column = NULL};
  LAZE_TRY(laze_counted_loop_open(p->l, &out->runs, number(p, 0), runs->count));
  LLVMValueRef start = load_number(p, runs->starts, out->runs.counter);
  LLVMValueRef end = load_number(p, runs->starts, add(p, out->runs.counter, number(p, 1)));
  LLVMValueRef place = load_number(p, runs->places, out->runs.counter);
  LAZE_TRY(laze_counted_loop_open(p->l, &out->registers, start, end));
  out->column = out->registers.counter;
  out->mask = laze_product_mask(p, subtract(p, end, out->column));
  out->place = add(p, place, multiply(p, subtract(p, out->column, start), stride));
  return LAZE_OK;
}

void laze_product_close_runs(laze_product *p, laze_product_walk *walk) {
  laze_counted_loop_close(p->l, &walk->registers, number(p, p->lanes));
  laze_counted_loop_close(p->l, &walk->runs, number(p, 1));
}

/* A register of a run's elements; those that the mask leaves out are 0. */
static LLVMValueRef load_run(const laze_product *p, LLVMValueRef from, LLVMValueRef mask) {
  const int64_t size = laze_dtype_size(p->dtype);
  if (is_one(p->j.last)) {
    prefetch_next(p, from, number(p, 1));
    return laze_llvm_vector_load(p->l, p->vector, from, mask, size);
  }
  LLVMValueRef lanes = laze_product_lane_numbers(p, laze_llvm_i64_type(p->l));
  LLVMValueRef offsets = multiply(p, lanes, laze_product_splat(p, p->j.last));
  return laze_llvm_gather(p->l, p->vector, advance(p, from, offsets), mask, size);
}

/* A loop over the block's k: where each is in B, less its columns, and in the panel. Digits count along, for a division
 * takes longer than what is copied of a k. */
typedef struct {
  laze_counted_loop loop;
  LLVMValueRef digits[LAZE_LOOP_PRODUCT_DIGITS], place;
  LLVMValueRef *slots[LAZE_LOOP_PRODUCT_DIGITS + 1];
  LLVMValueRef from, to;
} depth_walk;

static laze_status open_depth(laze_product *p, depth_walk *out) {
  *out = (depth_walk){.place = number(p, 0)};
  LLVMValueRef index = p->block_k, stride = p->k.last;
  for (int d = 0; d < p->k.count; d++) {
    LLVMValueRef extent = at_least_one(p, p->k.extents[d]); /* without k there is none */
    out->digits[d] = remainder_of(p, index, extent);
    out->place = add(p, out->place, multiply(p, out->digits[d], stride));
    out->slots[d] = &out->digits[d];
    index = divide(p, index, extent);
    stride = p->k.strides[d];
  }
  out->place = add(p, out->place, multiply(p, index, stride));
  out->slots[p->k.count] = &out->place;
  out->loop = (laze_counted_loop){.slots = out->slots, .slot_count = p->k.count + 1};
  LAZE_TRY(laze_counted_loop_open(p->l, &out->loop, number(p, 0), p->block_depth));
  out->from = laze_llvm_pointer(p->l, p->b, add(p, p->operands[LAZE_PRODUCT_B_OFFSET], out->place));
  out->to = panel_at(p, out->loop.counter);
  return LAZE_OK;
}

/* A digit that is through begins anew, and the next one goes on. */
static void close_depth(laze_product *p, depth_walk *walk) {
  LLVMBuilderRef builder = p->l->e.builder;
  LLVMValueRef stride = p->k.last, goes_on = number(p, 1);
  walk->place = add(p, walk->place, stride);
  for (int d = 0; d < p->k.count; d++) {
    LLVMValueRef digit = add(p, walk->digits[d], goes_on), back = multiply(p, p->k.extents[d], stride);
    LLVMValueRef is_through = LLVMBuildICmp(builder, LLVMIntEQ, digit, p->k.extents[d], "");
    LLVMValueRef next = add(p, walk->place, subtract(p, p->k.strides[d], back));
    walk->place = LLVMBuildSelect(builder, is_through, next, walk->place, "");
    walk->digits[d] = LLVMBuildSelect(builder, is_through, number(p, 0), digit, "");
    goes_on = LLVMBuildZExt(builder, is_through, LLVMTypeOf(digit), "");
    stride = p->k.strides[d];
  }
  laze_counted_loop_close(p->l, &walk->loop, number(p, 1));
}

static laze_status copy_runs(laze_product *p) {
  depth_walk rows;
  laze_product_walk walk;
  LAZE_TRY(open_depth(p, &rows));
  LAZE_TRY(laze_product_open_runs(p, &p->runs, p->j.last, &walk));
  LLVMValueRef elements = load_run(p, advance(p, rows.from, walk.place), walk.mask);
  laze_llvm_vector_store(p->l, elements, advance(p, rows.to, walk.column), walk.mask, laze_dtype_size(p->dtype));
  laze_product_close_runs(p, &walk);
  close_depth(p, &rows);
  return LAZE_OK;
}

/* Notes where each of the panel's columns lies. */
static laze_status find_places(laze_product *p) {
  laze_product_walk walk;
  LLVMTypeRef i64 = laze_llvm_i64_type(p->l);
  if (!p->l->places) p->l->places = laze_llvm_stack(p->l, i64, MOST_RUNS + LAZE_LANES);
  LAZE_TRY(laze_product_open_runs(p, &p->runs, p->j.last, &walk));
  LLVMValueRef lanes = laze_product_lane_numbers(p, i64);
  LLVMValueRef places = add(p, laze_product_splat(p, walk.place), multiply(p, lanes, laze_product_splat(p, p->j.last)));
  laze_llvm_vector_store(p->l, places, at_number(p, p->l->places, walk.column), NULL, (int64_t)sizeof(int64_t));
  laze_product_close_runs(p, &walk);
  return LAZE_OK;
}

/* A register at a time, whatever runs its columns are of. */
static laze_status gather_columns(laze_product *p) {
  depth_walk rows;
  laze_counted_loop registers = {0};
  LLVMTypeRef places_type = LLVMVectorType(laze_llvm_i64_type(p->l), (unsigned)p->lanes);
  LLVMValueRef left = subtract(p, p->operands[LAZE_PRODUCT_COLUMNS], p->column);
  LAZE_TRY(find_places(p));
  LAZE_TRY(laze_counted_loop_open(p->l, &registers, number(p, 0), smaller(p, left, number(p, laze_product_width(p)))));
  LLVMValueRef mask = laze_product_mask(p, subtract(p, left, registers.counter));
  LLVMValueRef places = laze_llvm_vector_load(p->l, places_type, at_number(p, p->l->places, registers.counter), NULL,
                                              (int64_t)sizeof(int64_t));
  LAZE_TRY(open_depth(p, &rows));
  LLVMValueRef elements =
      laze_llvm_gather(p->l, p->vector, advance(p, rows.from, places), mask, laze_dtype_size(p->dtype));
  store_register(p, advance(p, rows.to, registers.counter), 0, elements);
  close_depth(p, &rows);
  laze_counted_loop_close(p->l, &registers, number(p, p->lanes));
  return LAZE_OK;
}

/* So many runs of a panel take longer to copy one by one. */
enum { MANY_RUNS = MOST_RUNS / 8 };

static laze_status copy_columns(laze_product *p) {
  LLVMValueRef many = LLVMBuildICmp(p->l->e.builder, LLVMIntSGT, p->runs.count, number(p, MANY_RUNS), "");
  laze_product_branch at = laze_product_open_branch(p, many);
  LAZE_TRY(gather_columns(p));
  laze_product_other_side(p, at);
  LAZE_TRY(copy_runs(p));
  laze_product_close_branch(p, at);
  return LAZE_OK;
}

/* Whether tiles compute columns that do not exist: of a panel that is not full, unless a narrow tile is enough for it.
 */
static LLVMValueRef passes_end(const laze_product *p) {
  LLVMBuilderRef builder = p->l->e.builder;
  return LLVMBuildAnd(builder, p->is_wide, LLVMBuildNot(builder, p->is_full, ""), "");
}

/* Fills such a panel with zeros: what lies there may be numbers that take the processor long. */
static laze_status clear_panel(laze_product *p) {
  laze_counted_loop depth = {0};
  laze_product_branch at = laze_product_open_branch(p, passes_end(p));
  LAZE_TRY(laze_counted_loop_open(p->l, &depth, number(p, 0), p->block_depth));
  for (int v = 0; v < p->tile.vectors; v++) store_register(p, panel_at(p, depth.counter), v, LLVMConstNull(p->vector));
  laze_counted_loop_close(p->l, &depth, number(p, 1));
  laze_product_other_side(p, at);
  laze_product_close_branch(p, at);
  return LAZE_OK;
}

/* Copies the block's panel, which begins at `source`, to the scratch. */
static laze_status copy_panel(laze_product *p, LLVMValueRef source) {
  const bool by_squares = is_one(p->operands[LAZE_PRODUCT_B_K]) && !is_contiguous(p);
  use_scratch(p);
  if (!laze_product_has_digits(p) && !by_squares) return copy_by_k(p, source);
  LAZE_TRY(clear_panel(p));
  return laze_product_has_digits(p) ? copy_columns(p) : copy_squares(p, source);
}

/* Whether the panel at hand is copied: also one that tiles would read past its end; but of few rows, where it would be
 * copied for each piece. */
static LLVMValueRef copies_panel(const laze_product *p, LLVMValueRef copies) {
  LLVMBuilderRef builder = p->l->e.builder;
  LLVMValueRef passes = passes_end(p);
  if (p->few) passes = LLVMBuildAnd(builder, passes, LLVMBuildNot(builder, p->few, ""), "");
  return LLVMBuildOr(builder, copies, passes, "");
}

LLVMValueRef laze_product_copies_b(const laze_product *p) {
  if (!is_contiguous(p)) return NULL;
  return LLVMBuildICmp(p->l->e.builder, LLVMIntSGE, p->operands[LAZE_PRODUCT_ROWS], number(p, LAZE_COPY_ROWS), "");
}

static LLVMValueRef join_values(const laze_product *p, LLVMValueRef values[2], LLVMBasicBlockRef from[2]) {
  LLVMValueRef joined = LLVMBuildPhi(p->l->e.builder, LLVMTypeOf(values[0]), "");
  LLVMAddIncoming(joined, values, from, 2);
  return joined;
}

laze_status laze_product_prepare_b(laze_product *p, LLVMValueRef copies) {
  LLVMBuilderRef builder = p->l->e.builder;
  LLVMValueRef column = add(p, p->operands[LAZE_PRODUCT_FIRST_COLUMN], p->column),
               stride = p->operands[LAZE_PRODUCT_B_K];
  LLVMValueRef k = multiply(p, p->block_k, stride), j = multiply(p, column, p->operands[LAZE_PRODUCT_B_COLUMN]);
  LLVMValueRef source = laze_llvm_pointer(p->l, p->b, add(p, p->operands[LAZE_PRODUCT_B_OFFSET], add(p, k, j)));
  if (!copies) return copy_panel(p, source);
  LLVMValueRef stride_in_place = multiply(p, stride, p->chains);
  LLVMBasicBlockRef copy = laze_llvm_add_block(p->l), after = laze_llvm_add_block(p->l);
  LLVMBasicBlockRef here = LLVMGetInsertBlock(builder);
  LLVMBuildCondBr(builder, copies_panel(p, copies), copy, after);
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

/* A. */

static bool copies_a(const laze_product *p) {
  return is_one(p->operands[LAZE_PRODUCT_A_ROW]) && !is_one(p->operands[LAZE_PRODUCT_A_K]) &&
         !is_one(p->operands[LAZE_PRODUCT_ROWS]);
}

/* Rows of a k lie next to each other, here and there. */
static laze_status copy_a(laze_product *p, LLVMValueRef source) {
  laze_counted_loop depth = {0}, rows = {0};
  const int64_t size = laze_dtype_size(p->dtype);
  LAZE_TRY(laze_counted_loop_open(p->l, &depth, number(p, 0), p->block_depth));
  LLVMValueRef from = advance(p, source, multiply(p, depth.counter, p->operands[LAZE_PRODUCT_A_K]));
  LLVMValueRef to = advance(p, p->a_start, element_of(p, depth.counter, p->a_chain, p->a_step));
  LAZE_TRY(laze_counted_loop_open(p->l, &rows, number(p, 0), p->operands[LAZE_PRODUCT_ROWS]));
  LLVMValueRef mask = laze_product_mask(p, subtract(p, p->operands[LAZE_PRODUCT_ROWS], rows.counter));
  LLVMValueRef elements = laze_llvm_vector_load(p->l, p->vector, advance(p, from, rows.counter), mask, size);
  laze_llvm_vector_store(p->l, elements, advance(p, to, rows.counter), mask, size);
  laze_counted_loop_close(p->l, &rows, number(p, p->lanes));
  laze_counted_loop_close(p->l, &depth, number(p, 1));
  return LAZE_OK;
}

laze_status laze_product_prepare_a(laze_product *p) {
  LLVMValueRef k = multiply(p, p->block_k, p->operands[LAZE_PRODUCT_A_K]);
  LLVMValueRef source = laze_llvm_pointer(p->l, p->a, add(p, p->operands[LAZE_PRODUCT_A_OFFSET], k));
  p->a_start = source;
  p->a_chain = p->operands[LAZE_PRODUCT_A_K];
  p->a_step = multiply(p, p->operands[LAZE_PRODUCT_A_K], p->chains);
  if (!copies_a(p)) return LAZE_OK;
  LLVMTypeRef byte = LLVMInt8TypeInContext(p->l->e.context);
  LLVMValueRef units = scratch_units(p), behind = multiply(p, units, number(p, LAZE_PANEL_BYTES));
  p->a_start = LLVMBuildGEP2(p->l->e.builder, byte, laze_product_scratch(p), &behind, 1, "");
  p->a_step = p->operands[LAZE_PRODUCT_ROWS];
  p->a_chain = multiply(p, multiply(p, units, number(p, LAZE_PANEL_ROWS / LAZE_PRODUCT_LANES)), p->a_step);
  return copy_a(p, source);
}
