/* A product of blocks, C[rows, columns] = A[rows, depth] B[depth, columns], each element one chain of fused
 * multiply-adds with ascending k, from 0.
 *
 *   for j in columns, a panel (4 registers wide) at a time      masks: the last panel may be narrower
 *     for k0 in depth, a slab at a time
 *       copy B[k0 .., j ..] to the stack, where its columns are not contiguous or it is read often
 *       for i in rows, 6 at a time
 *         the block of C in registers: 0, or what C holds after the slab before (which resumes the chain)
 *         for k in slab: block[r][v] = fma(A[i + r, k], B[k, j + v], block[r][v])
 *
 * A block that would pass the last row repeats that row: the copies compute and store the same bits, so no variant for
 * fewer rows is needed. The last panel has a variant of one register's width where that is enough.
 */
#include "codegen/llvm/lower_product.h"

#define BLOCK_ROWS 6

/* A block of C in registers. */
typedef struct {
  int vectors;
  LLVMValueRef a[BLOCK_ROWS], c[BLOCK_ROWS]; /* addresses of rows */
  LLVMValueRef sums[BLOCK_ROWS * LAZE_PRODUCT_VECTORS];
} block;

static LLVMValueRef multiply_add(const laze_product *p, LLVMValueRef a, LLVMValueRef b, LLVMValueRef sum) {
  if (laze_dtype_is_float(p->dtype)) return laze_emit_fma(&p->l->e, a, b, sum);
  return LLVMBuildAdd(p->l->e.builder, LLVMBuildMul(p->l->e.builder, a, b, ""), sum, "");
}

/* Addresses of a block's rows, and the sums it starts from. */
static void open_block(const laze_product *p, block *out, LLVMValueRef row) {
  LLVMValueRef last = LLVMBuildSub(p->l->e.builder, p->operands[ROWS], number(p, 1), "");
  LLVMValueRef a = add(p, p->operands[A_OFFSET], multiply(p, p->slab, p->operands[A_K]));
  LLVMValueRef c = add(p, p->operands[C_OFFSET], p->column);
  for (int r = 0; r < BLOCK_ROWS; r++) {
    LLVMValueRef this_row = smaller(p, add(p, row, number(p, r)), last);
    out->a[r] = laze_lower_pointer(p->l, p->a, add(p, a, multiply(p, this_row, p->operands[A_ROW])));
    out->c[r] = laze_lower_pointer(p->l, p->c, add(p, c, multiply(p, this_row, p->operands[C_ROW])));
    for (int v = 0; v < out->vectors; v++) {
      LLVMValueRef pointer = at_register(p, out->c[r], v);
      out->sums[r * out->vectors + v] =
          laze_lower_vector_load(p->l, p->vector, pointer, p->resumed[v], laze_dtype_size(p->dtype));
    }
  }
}

static void close_block(const laze_product *p, const block *done) {
  for (int r = 0; r < BLOCK_ROWS; r++)
    for (int v = 0; v < done->vectors; v++)
      laze_lower_vector_store(p->l, done->sums[r * done->vectors + v], at_register(p, done->c[r], v), p->masks[v],
                              laze_dtype_size(p->dtype));
}

/* One k: `a` elements into the rows of A, `b` the address of B's row. */
static void emit_step(const laze_product *p, block *at, LLVMValueRef a, LLVMValueRef b) {
  LLVMValueRef columns[LAZE_PRODUCT_VECTORS];
  for (int v = 0; v < at->vectors; v++)
    columns[v] = laze_lower_vector_load(p->l, p->vector, at_register(p, b, v), p->masks[v], laze_dtype_size(p->dtype));
  for (int r = 0; r < BLOCK_ROWS; r++) {
    LLVMValueRef scalar = LLVMBuildLoad2(p->l->e.builder, p->element, advance(p, at->a[r], a), "");
    LLVMValueRef factor = laze_product_splat(p, scalar);
    for (int v = 0; v < at->vectors; v++) {
      LLVMValueRef *sum = &at->sums[r * at->vectors + v];
      *sum = multiply_add(p, factor, columns[v], *sum);
    }
  }
}

/* Where a loop over k stands. */
typedef struct {
  LLVMValueRef k, a, b;
} position;

/* The slab's depth: for each k, all of the block. Not unrolled: the loop's own instructions hide behind the 24
 * multiply-adds of one k (unrolling by 4 measured the same and took longer to compile). */
static void emit_depth_loop(const laze_product *p, block *sums) {
  LLVMBuilderRef builder = p->l->e.builder;
  LLVMBasicBlockRef before = LLVMGetInsertBlock(builder), header = laze_lower_block(p->l);
  LLVMBasicBlockRef body = laze_lower_block(p->l), exit = laze_lower_block(p->l);
  int count = 3 + BLOCK_ROWS * sums->vectors;
  position at = {number(p, 0), number(p, 0), p->panel};
  LLVMValueRef phis[3 + BLOCK_ROWS * LAZE_PRODUCT_VECTORS];
  LLVMValueRef *state[3 + BLOCK_ROWS * LAZE_PRODUCT_VECTORS] = {&at.k, &at.a, &at.b};
  for (int s = 3; s < count; s++) state[s] = &sums->sums[s - 3];
  LLVMBuildBr(builder, header);
  LLVMPositionBuilderAtEnd(builder, header);
  for (int s = 0; s < count; s++) {
    phis[s] = LLVMBuildPhi(builder, LLVMTypeOf(*state[s]), "");
    LLVMAddIncoming(phis[s], state[s], &before, 1);
    *state[s] = phis[s];
  }
  LLVMBuildCondBr(builder, LLVMBuildICmp(builder, LLVMIntSLT, at.k, p->slab_depth, ""), body, exit);
  LLVMPositionBuilderAtEnd(builder, body);
  emit_step(p, sums, at.a, at.b);
  at.k = add(p, at.k, number(p, 1));
  at.a = add(p, at.a, p->operands[A_K]);
  at.b = advance(p, at.b, p->panel_stride);
  LLVMBuildBr(builder, header);
  for (int s = 0; s < count; s++) {
    LLVMAddIncoming(phis[s], state[s], &body, 1);
    *state[s] = phis[s];
  }
  LLVMPositionBuilderAtEnd(builder, exit);
}

/* All rows of the panel and slab. */
static laze_status emit_rows(laze_product *p, int vectors) {
  laze_open_loop rows = {0};
  LAZE_TRY(laze_loop_open(p->l, &rows, number(p, 0), p->operands[ROWS]));
  block sums = {.vectors = vectors};
  open_block(p, &sums, rows.counter);
  emit_depth_loop(p, &sums);
  close_block(p, &sums);
  laze_loop_close(p->l, &rows, number(p, BLOCK_ROWS));
  return LAZE_OK;
}

/* One register's width where that is enough for the columns that are left. */
static laze_status emit_widths(laze_product *p) {
  LLVMBuilderRef builder = p->l->e.builder;
  LLVMBasicBlockRef wide = laze_lower_block(p->l), narrow = laze_lower_block(p->l), after = laze_lower_block(p->l);
  LLVMValueRef left = LLVMBuildSub(builder, p->operands[COLUMNS], p->column, "");
  LLVMBuildCondBr(builder, LLVMBuildICmp(builder, LLVMIntSGT, left, number(p, p->lanes), ""), wide, narrow);
  LLVMPositionBuilderAtEnd(builder, wide);
  LAZE_TRY(emit_rows(p, p->vectors));
  LLVMBuildBr(builder, after);
  LLVMPositionBuilderAtEnd(builder, narrow);
  LAZE_TRY(emit_rows(p, 1));
  LLVMBuildBr(builder, after);
  LLVMPositionBuilderAtEnd(builder, after);
  return LAZE_OK;
}

/* The slabs of one panel. Without depth there is one empty slab, which stores zeros. */
static laze_status emit_slabs(laze_product *p, LLVMValueRef packs) {
  LLVMBuilderRef builder = p->l->e.builder;
  laze_open_loop slabs = {0};
  LLVMValueRef depth = p->operands[DEPTH], one = number(p, 1), step = number(p, LAZE_PRODUCT_SLAB);
  LLVMValueRef end = LLVMBuildSelect(builder, LLVMBuildICmp(builder, LLVMIntSLT, depth, one, ""), one, depth, "");
  if (packs) step = LLVMBuildSelect(builder, packs, step, end, "");
  LAZE_TRY(laze_loop_open(p->l, &slabs, number(p, 0), end));
  p->slab = slabs.counter;
  p->slab_depth = smaller(p, step, LLVMBuildSub(builder, depth, slabs.counter, ""));
  LLVMValueRef resumes = LLVMBuildICmp(builder, LLVMIntSGT, p->slab, number(p, 0), "");
  for (int v = 0; v < p->vectors; v++)
    p->resumed[v] = LLVMBuildAnd(builder, p->masks[v], laze_product_splat(p, resumes), "");
  LAZE_TRY(laze_product_panel(p, packs));
  LAZE_TRY(emit_widths(p));
  laze_loop_close(p->l, &slabs, step);
  return LAZE_OK;
}

static laze_status emit_product(laze_product *p) {
  LLVMBuilderRef builder = p->l->e.builder;
  LLVMValueRef packs = laze_product_packs(p);
  laze_open_loop columns = {0};
  LAZE_TRY(laze_loop_open(p->l, &columns, number(p, 0), p->operands[COLUMNS]));
  p->column = columns.counter;
  LLVMValueRef left = LLVMBuildSub(builder, p->operands[COLUMNS], p->column, "");
  for (int v = 0; v < p->vectors; v++)
    p->masks[v] = laze_product_mask(p, LLVMBuildSub(builder, left, number(p, (int64_t)v * p->lanes), ""));
  LAZE_TRY(emit_slabs(p, packs));
  laze_loop_close(p->l, &columns, number(p, (int64_t)p->lanes * p->vectors));
  return LAZE_OK;
}

laze_status laze_lower_matrix(laze_lower *l, const laze_loop_instruction *i) {
  laze_product p = {.l = l, .dtype = i->dtype};
  p.a = i->imm & 0xffff;
  p.b = i->imm >> 16 & 0xffff;
  p.c = i->imm >> 32 & 0xffff;
  p.element = laze_emit_scalar_type(&l->e, i->dtype);
  p.lanes = l->unit.register_bytes / (int)laze_dtype_size(i->dtype);
  p.vectors = l->unit.register_count >= 32 ? LAZE_PRODUCT_VECTORS : LAZE_PRODUCT_VECTORS / 2;
  p.vector = LLVMVectorType(p.element, (unsigned)p.lanes);
  for (int k = 0; k < OPERAND_COUNT; k++) p.operands[k] = l->values[laze_operand(l, i, k)][0].value;
  return emit_product(&p);
}
