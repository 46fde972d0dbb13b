/* A tile of C in registers, for a span of one chain: each element as a chain of fused multiply-adds.
 *
 *   row r, register v:  sum = fma(A[i + r, k], B[k, j + v], sum)   for the chain's k, one after the other
 *
 * A tile that would pass the last row repeats that row: the copies compute and store the same bits, so no variant for
 * fewer rows is needed.
 */
#include "codegen/llvm/kernel_product.h"

typedef struct {
  laze_tile of;
  LLVMValueRef a[LAZE_TILE_ROWS], out[LAZE_TILE_ROWS]; /* addresses of rows */
  LLVMValueRef sums[LAZE_TILE_SUMS];
} tile;

static LLVMValueRef multiply_add(const laze_product *p, LLVMValueRef a, LLVMValueRef b, LLVMValueRef sum) {
  if (laze_dtype_is_float(p->dtype)) return laze_llvm_fma(&p->l->e, a, b, sum);
  return LLVMBuildAdd(p->l->e.builder, LLVMBuildMul(p->l->e.builder, a, b, ""), sum, "");
}

/* The address of a sum; made where it is used, so that it becomes part of the instruction. */
static LLVMValueRef sum_address(const laze_product *p, const tile *of, int s) {
  return at_register(p, of->out[s / of->of.vectors], s % of->of.vectors);
}

/* What the sums begin with: zeros, unless they resume. All of it is read before any is written: rows may repeat. */
static void begin_sums(const laze_product *p, tile *of) {
  LLVMBuilderRef builder = p->l->e.builder;
  const int count = of->of.rows * of->of.vectors;
  LLVMBasicBlockRef from[2] = {LLVMGetInsertBlock(builder), NULL};
  LLVMBasicBlockRef resume = laze_llvm_add_block(p->l), after = laze_llvm_add_block(p->l);
  LLVMBuildCondBr(builder, p->resumes, resume, after);
  LLVMPositionBuilderAtEnd(builder, resume);
  for (int s = 0; s < count; s++)
    of->sums[s] = laze_llvm_vector_load(p->l, p->vector, sum_address(p, of, s), p->masks[s % of->of.vectors],
                                        laze_dtype_size(p->dtype));
  from[1] = LLVMGetInsertBlock(builder);
  LLVMBuildBr(builder, after);
  LLVMPositionBuilderAtEnd(builder, after);
  for (int s = 0; s < count; s++) {
    LLVMValueRef values[2] = {LLVMConstNull(p->vector), of->sums[s]};
    of->sums[s] = LLVMBuildPhi(builder, p->vector, "");
    LLVMAddIncoming(of->sums[s], values, from, 2);
  }
}

/* Addresses of a tile's rows, and its sums. */
static void open_tile(const laze_product *p, tile *out, LLVMValueRef row) {
  LLVMValueRef last = subtract(p, p->row_end, number(p, 1));
  out->of = p->tile;
  for (int r = 0; r < out->of.rows; r++) {
    LLVMValueRef this_row = smaller(p, add(p, row, number(p, r)), last);
    out->a[r] = advance(p, p->span_a, multiply(p, this_row, p->operands[LAZE_PRODUCT_A_ROW]));
    out->out[r] = advance(p, p->out, multiply(p, this_row, p->out_row));
  }
  begin_sums(p, out);
}

static void store_tile(const laze_product *p, const tile *done) {
  for (int s = 0; s < done->of.rows * done->of.vectors; s++)
    laze_llvm_vector_store(p->l, done->sums[s], sum_address(p, done, s), p->masks[s % done->of.vectors],
                           laze_dtype_size(p->dtype));
}

/* Where a loop over k stands: the element of A's rows, the address of B's row. */
typedef struct {
  LLVMValueRef a, b;
} position;

static void emit_step(const laze_product *p, tile *at, position from) {
  LLVMValueRef columns[LAZE_TILE_VECTORS];
  for (int v = 0; v < at->of.vectors; v++) {
    LLVMValueRef mask = p->is_narrow ? p->masks[v] : NULL;
    columns[v] = laze_llvm_vector_load(p->l, p->vector, at_register(p, from.b, v), mask, laze_dtype_size(p->dtype));
  }
  for (int r = 0; r < at->of.rows; r++) {
    LLVMValueRef scalar = LLVMBuildLoad2(p->l->e.builder, p->element, advance(p, at->a[r], from.a), "");
    LLVMValueRef factor = laze_product_splat(p, scalar);
    for (int v = 0; v < at->of.vectors; v++) {
      LLVMValueRef *sum = &at->sums[r * at->of.vectors + v];
      *sum = multiply_add(p, factor, columns[v], *sum);
    }
  }
}

/* Not unrolled further: the loop's own instructions hide behind the multiply-adds (unrolling by 4 measured the same and
 * took longer to compile). */
static laze_status emit_depth_loop(const laze_product *p, tile *sums) {
  const int count = sums->of.rows * sums->of.vectors;
  position at = {number(p, 0), p->span_b};
  LLVMValueRef *slots[2 + LAZE_TILE_SUMS] = {&at.a, &at.b};
  for (int s = 0; s < count; s++) slots[2 + s] = &sums->sums[s];
  laze_counted_loop loop = {.slots = slots, .slot_count = 2 + count};
  LAZE_TRY(laze_counted_loop_open(p->l, &loop, number(p, 0), p->depth));
  emit_step(p, sums, at);
  at.a = add(p, at.a, p->a_step);
  at.b = advance(p, at.b, p->panel_stride);
  laze_counted_loop_close(p->l, &loop, number(p, 1));
  return LAZE_OK;
}

laze_status laze_product_tiles(laze_product *p) {
  laze_counted_loop rows = {0};
  LAZE_TRY(laze_counted_loop_open(p->l, &rows, p->first_row, p->row_end));
  tile sums;
  open_tile(p, &sums, laze_product_opaque(p, rows.counter));
  LAZE_TRY(emit_depth_loop(p, &sums));
  store_tile(p, &sums);
  laze_counted_loop_close(p->l, &rows, number(p, p->tile.rows));
  return LAZE_OK;
}
