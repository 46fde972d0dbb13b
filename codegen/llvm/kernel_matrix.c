/* A product of blocks, C[rows, columns] = A[rows, depth] B[depth, columns], in the order of codegen/order.h:
 *
 *   for k0 in depth, a block at a time
 *     copy A[.., k0 ..] to the scratch, if its rows lie next to each other and its k do not
 *     for j in columns, a panel at a time                masks: the last panel may be narrower
 *       copy B[k0 .., j ..] to the scratch, if its columns do not lie next to each other or it is read often
 *       for i0 in rows, a part at a time
 *         for each chain of the block
 *           for k1 in the chain, a span at a time
 *             for i in the part, a tile at a time        kernel_tile.c
 *         join the chains in C, or send them there by runs where its columns have digits
 *
 * Of few rows B is read once, where it lies, and mostly for longer than anything is computed: several panels take turns
 * in pieces of a few k, so that it is read along its rows. Where its k lie next to each other, blocks of few rows go
 * another way: kernel_row.c.
 *
 * A chain is every fourth k of the block, in tiles 6 rows high and 4 registers wide; with 16 registers instead of 32
 * they are half as wide. Chains wait on the stack until they are joined. A depth that is one chain goes straight into
 * C, unless its columns have digits. What is read again and again lies near: a span of the panel in the first cache,
 * the panel and a part of A in the second.
 */
#include "codegen/llvm/kernel_product.h"

#include "codegen/order.h"

#include <assert.h>
#include <string.h>

static laze_tile tile_of(const laze_product *p) {
  int vectors = p->l->unit.register_count >= 32 ? LAZE_TILE_VECTORS : LAZE_TILE_VECTORS / 2;
  return (laze_tile){is_one(p->operands[LAZE_PRODUCT_ROWS]) ? 1 : LAZE_TILE_ROWS, vectors};
}

/* One column is computed as one row, C' = B' A': lanes lie along columns, and would have one to work on. */
static void turn_column(laze_product *p) {
  static const int turned[LAZE_LOOP_PRODUCT_FIXED] = {
      LAZE_PRODUCT_B_OFFSET, LAZE_PRODUCT_B_COLUMN, LAZE_PRODUCT_B_K,      LAZE_PRODUCT_A_OFFSET,
      LAZE_PRODUCT_A_K,      LAZE_PRODUCT_A_ROW,    LAZE_PRODUCT_C_OFFSET, LAZE_PRODUCT_C_ROW,
      LAZE_PRODUCT_COLUMNS,  LAZE_PRODUCT_ROWS,     LAZE_PRODUCT_DEPTH,    LAZE_PRODUCT_FIRST_COLUMN};
  LLVMValueRef given[LAZE_LOOP_PRODUCT_FIXED];
  int64_t a = p->a;
  if (!is_one(p->operands[LAZE_PRODUCT_COLUMNS]) || is_one(p->operands[LAZE_PRODUCT_ROWS]) ||
      !is_one(p->operands[LAZE_PRODUCT_C_ROW]))
    return;
  if (laze_product_has_digits(p) || p->result.count > 0) return;
  p->operands[LAZE_PRODUCT_B_OFFSET] =
      add(p, p->operands[LAZE_PRODUCT_B_OFFSET],
          multiply(p, p->operands[LAZE_PRODUCT_FIRST_COLUMN], p->operands[LAZE_PRODUCT_B_COLUMN]));
  p->operands[LAZE_PRODUCT_FIRST_COLUMN] = number(p, 0);
  memcpy(given, p->operands, sizeof given);
  for (int k = 0; k < LAZE_LOOP_PRODUCT_FIXED; k++) p->operands[k] = given[turned[k]];
  p->a = p->b;
  p->b = a;
}

laze_product_branch laze_product_open_branch(const laze_product *p, LLVMValueRef condition) {
  laze_product_branch made = {laze_llvm_add_block(p->l), laze_llvm_add_block(p->l)};
  LLVMBasicBlockRef first = laze_llvm_add_block(p->l);
  LLVMBuildCondBr(p->l->e.builder, condition, first, made.other);
  LLVMPositionBuilderAtEnd(p->l->e.builder, first);
  return made;
}
void laze_product_other_side(const laze_product *p, laze_product_branch at) {
  LLVMBuildBr(p->l->e.builder, at.after);
  LLVMPositionBuilderAtEnd(p->l->e.builder, at.other);
}
void laze_product_close_branch(const laze_product *p, laze_product_branch at) {
  LLVMBuildBr(p->l->e.builder, at.after);
  LLVMPositionBuilderAtEnd(p->l->e.builder, at.after);
}

static LLVMValueRef columns_left(const laze_product *p) {
  return subtract(p, p->operands[LAZE_PRODUCT_COLUMNS], p->column);
}

/* The panel's columns one register at a time. */
static laze_status emit_narrow(laze_product *p) {
  laze_counted_loop registers = {0};
  const laze_product wide = *p;
  LLVMValueRef left = columns_left(p);
  p->tile.vectors = 1;
  p->is_narrow = true;
  LAZE_TRY(
      laze_counted_loop_open(p->l, &registers, number(p, 0), smaller(p, left, number(p, laze_product_width(&wide)))));
  LLVMValueRef first = laze_product_opaque(p, registers.counter);
  p->masks[0] = laze_product_mask(p, subtract(p, left, first));
  p->span_b = advance(p, p->span_b, first);
  p->out = advance(p, p->out, first);
  LAZE_TRY(laze_product_tiles(p));
  laze_counted_loop_close(p->l, &registers, number(p, p->lanes));
  *p = wide;
  return LAZE_OK;
}

/* Tiles as wide as the panel, which has all its columns or was copied, and is as wide then; or, where one register is
 * enough for the columns that are left, or the panel's are used where they lie, narrow ones. */
static laze_status emit_widths(laze_product *p) {
  LLVMValueRef wide = p->is_wide;
  if (p->few) {
    LLVMValueRef copied = LLVMBuildNot(p->l->e.builder, p->few, "");
    wide = LLVMBuildAnd(p->l->e.builder, wide, LLVMBuildOr(p->l->e.builder, p->is_full, copied, ""), "");
  }
  laze_product_branch at = laze_product_open_branch(p, wide);
  LAZE_TRY(laze_product_tiles(p));
  laze_product_other_side(p, at);
  LAZE_TRY(emit_narrow(p));
  laze_product_close_branch(p, at);
  return LAZE_OK;
}

static_assert(LAZE_FEW_PANELS * LAZE_FEW_ROWS <= LAZE_PART_ROWS, "chains of several panels fit where those of one do");

LLVMValueRef laze_product_partial(const laze_product *p) {
  unsigned bytes = LAZE_PRODUCT_LANES * LAZE_PART_ROWS * LAZE_TILE_VECTORS * (unsigned)p->l->unit.register_bytes;
  if (!p->l->partial) p->l->partial = laze_llvm_stack(p->l, LLVMInt8TypeInContext(p->l->e.context), bytes);
  return p->l->partial;
}

/* The stack's room for a chain of a part's rows, addressed as if it began at row 0. */
static LLVMValueRef partial(const laze_product *p, LLVMValueRef chain) {
  LLVMValueRef rows = number(p, LAZE_PART_ROWS), place = chain;
  if (p->few) rows = choose(p, p->few, number(p, LAZE_FEW_ROWS), rows);
  if (p->few) place = add(p, chain, multiply(p, p->panel_place, number(p, LAZE_PRODUCT_LANES)));
  LLVMValueRef row = subtract(p, multiply(p, place, rows), p->first_row);
  return advance(p, laze_product_partial(p), multiply(p, row, number(p, laze_product_width(p))));
}

static LLVMValueRef partial_row(const laze_product *p, LLVMValueRef chain, LLVMValueRef row) {
  return advance(p, partial(p, chain), multiply(p, row, number(p, laze_product_width(p))));
}

/* C at the panel's first column, in row 0, where its columns have no digits. */
static LLVMValueRef result_start(const laze_product *p) {
  return laze_llvm_pointer(p->l, p->c, add(p, p->operands[LAZE_PRODUCT_C_OFFSET], p->column));
}

/* The block's total in one register. */
static LLVMValueRef join_chains(const laze_product *p, LLVMValueRef row, int v) {
  LLVMValueRef sums[LAZE_PRODUCT_LANES];
  for (int k = 0; k < LAZE_PRODUCT_LANES; k++)
    sums[k] = laze_llvm_vector_load(p->l, p->vector, at_register(p, partial_row(p, number(p, k), row), v), NULL,
                                    laze_dtype_size(p->dtype));
  for (int half = LAZE_PRODUCT_LANES / 2; half >= 1; half /= 2)
    for (int k = 0; k < half; k++) sums[k] = laze_product_add(p, sums[k], sums[k + half]);
  return sums[0];
}

void laze_product_add_total(const laze_product *p, LLVMValueRef total, LLVMValueRef to, LLVMValueRef mask) {
  const int64_t size = laze_dtype_size(p->dtype);
  LLVMValueRef adds = LLVMBuildICmp(p->l->e.builder, LLVMIntSGT, p->block_k, number(p, 0), "");
  LLVMValueRef read = LLVMBuildAnd(p->l->e.builder, mask, laze_product_splat(p, adds), "");
  LLVMValueRef before = laze_llvm_vector_load(p->l, p->vector, to, read, size);
  laze_llvm_vector_store(p->l, choose(p, adds, laze_product_add(p, before, total), total), to, mask, size);
}

/* Joins the part's chains: in C, or, where its columns have digits, in the first of them. */
static laze_status emit_join(laze_product *p) {
  laze_counted_loop rows = {0};
  LAZE_TRY(laze_counted_loop_open(p->l, &rows, p->first_row, p->row_end));
  LLVMValueRef first = partial_row(p, number(p, 0), rows.counter), out = NULL;
  if (p->result.count == 0)
    out = advance(p, result_start(p), multiply(p, rows.counter, p->operands[LAZE_PRODUCT_C_ROW]));
  for (int v = 0; v < p->tile.vectors; v++) {
    LLVMValueRef total = join_chains(p, rows.counter, v);
    if (p->result.count == 0)
      laze_product_add_total(p, total, at_register(p, out, v), p->masks[v]);
    else
      laze_llvm_vector_store(p->l, total, at_register(p, first, v), NULL, laze_dtype_size(p->dtype));
  }
  laze_counted_loop_close(p->l, &rows, number(p, 1));
  return LAZE_OK;
}

/* Sends totals, which are the first chain now, to columns of C that have digits. */
static laze_status emit_runs(laze_product *p) {
  laze_counted_loop rows = {0};
  laze_product_walk walk;
  LAZE_TRY(laze_counted_loop_open(p->l, &rows, p->first_row, p->row_end));
  LLVMValueRef row = multiply(p, rows.counter, p->operands[LAZE_PRODUCT_C_ROW]);
  LLVMValueRef out = laze_llvm_pointer(p->l, p->c, add(p, p->operands[LAZE_PRODUCT_C_OFFSET], row));
  LLVMValueRef totals = partial_row(p, number(p, 0), rows.counter);
  LAZE_TRY(laze_product_open_runs(p, &p->result_runs, number(p, 1), &walk));
  LLVMValueRef total =
      laze_llvm_vector_load(p->l, p->vector, advance(p, totals, walk.column), walk.mask, laze_dtype_size(p->dtype));
  laze_product_add_total(p, total, advance(p, out, walk.place), walk.mask);
  laze_product_close_runs(p, &walk);
  laze_counted_loop_close(p->l, &rows, number(p, 1));
  return LAZE_OK;
}

/* How many k of the piece a chain has. */
static LLVMValueRef chain_length(const laze_product *p, LLVMValueRef chain) {
  LLVMValueRef rest = subtract(p, add(p, subtract(p, p->piece_depth, chain), p->chains), number(p, 1));
  return laze_product_by_chains(p, rest);
}

/* Without k there is one empty span, which makes sums zeros. */
static laze_status emit_spans(laze_product *p, LLVMValueRef copies, LLVMValueRef chain) {
  laze_counted_loop spans = {0};
  LLVMValueRef length = chain_length(p, chain), most = at_least_one(p, length), span = number(p, LAZE_SPAN);
  LLVMValueRef before = laze_product_by_chains(p, p->piece_k);
  LLVMValueRef a = advance(p, p->a_start, multiply(p, chain, p->a_chain));
  LLVMValueRef b = advance(p, p->panel, multiply(p, chain, p->panel_chain));
  if (copies) span = choose(p, copies, span, most); /* what is read where it lies is too large for the cache anyway */
  LAZE_TRY(laze_counted_loop_open(p->l, &spans, number(p, 0), most));
  LLVMValueRef done = laze_product_opaque(p, spans.counter), at = add(p, before, done);
  p->depth = smaller(p, span, subtract(p, length, done));
  p->resumes = LLVMBuildICmp(p->l->e.builder, LLVMIntSGT, at, number(p, 0), "");
  p->span_a = advance(p, a, multiply(p, at, p->a_step));
  p->span_b = advance(p, b, multiply(p, at, p->panel_stride));
  LAZE_TRY(emit_widths(p));
  laze_counted_loop_close(p->l, &spans, span);
  return LAZE_OK;
}

static laze_status emit_chains(laze_product *p, LLVMValueRef copies) {
  laze_counted_loop chains = {0};
  LAZE_TRY(laze_counted_loop_open(p->l, &chains, number(p, 0), p->chains));
  LLVMValueRef chain = laze_product_opaque(p, chains.counter);
  p->out = partial(p, chain);
  p->out_row = number(p, laze_product_width(p));
  if (p->result.count == 0) {
    p->out = choose(p, p->is_chain, result_start(p), p->out);
    p->out_row = choose(p, p->is_chain, p->operands[LAZE_PRODUCT_C_ROW], p->out_row);
  }
  LAZE_TRY(emit_spans(p, copies, chain));
  laze_counted_loop_close(p->l, &chains, number(p, 1));
  return LAZE_OK;
}

/* Asks for the part of C in each row, which takes as long to arrive as a short depth to compute. */
static laze_status prefetch_result(laze_product *p) {
  laze_counted_loop rows = {0};
  laze_product_walk walk;
  laze_product_branch is_short = laze_product_open_branch(p, p->is_chain);
  LAZE_TRY(laze_counted_loop_open(p->l, &rows, p->first_row, p->row_end));
  LLVMValueRef row = multiply(p, rows.counter, p->operands[LAZE_PRODUCT_C_ROW]);
  if (p->result.count == 0) {
    for (int v = 0; v < p->tile.vectors; v++)
      laze_llvm_prefetch(p->l, at_register(p, advance(p, result_start(p), row), v), LAZE_PREFETCH_TO_WRITE);
  } else {
    LLVMValueRef out = laze_llvm_pointer(p->l, p->c, add(p, p->operands[LAZE_PRODUCT_C_OFFSET], row));
    LAZE_TRY(laze_product_open_runs(p, &p->result_runs, number(p, 1), &walk));
    laze_llvm_prefetch(p->l, advance(p, out, walk.place), LAZE_PREFETCH_TO_WRITE);
    laze_product_close_runs(p, &walk);
  }
  laze_counted_loop_close(p->l, &rows, number(p, 1));
  laze_product_other_side(p, is_short);
  laze_product_close_branch(p, is_short);
  return LAZE_OK;
}

/* Rows a part at a time, for whose chains there is room on the stack. */
static laze_status emit_parts(laze_product *p, LLVMValueRef copies) {
  laze_counted_loop parts = {0};
  LAZE_TRY(laze_counted_loop_open(p->l, &parts, number(p, 0), p->operands[LAZE_PRODUCT_ROWS]));
  p->first_row = laze_product_opaque(p, parts.counter);
  p->row_end = smaller(p, p->operands[LAZE_PRODUCT_ROWS], add(p, p->first_row, number(p, LAZE_PART_ROWS)));
  LAZE_TRY(prefetch_result(p));
  LAZE_TRY(emit_chains(p, copies));
  LLVMValueRef joins = LLVMBuildNot(p->l->e.builder, p->is_chain, "");
  if (p->few) joins = LLVMBuildAnd(p->l->e.builder, joins, p->is_last, "");
  laze_product_branch at = laze_product_open_branch(p, joins);
  LAZE_TRY(emit_join(p));
  laze_product_other_side(p, at);
  laze_product_close_branch(p, at);
  if (p->result.count > 0) LAZE_TRY(emit_runs(p));
  laze_counted_loop_close(p->l, &parts, number(p, LAZE_PART_ROWS));
  return LAZE_OK;
}

/* Panels of columns from one up to another. */
static laze_status emit_panels(laze_product *p, LLVMValueRef copies, LLVMValueRef from, LLVMValueRef to) {
  laze_counted_loop columns = {0};
  LLVMValueRef width = number(p, laze_product_width(p));
  LAZE_TRY(laze_counted_loop_open(p->l, &columns, from, to));
  p->column = laze_product_opaque(p, columns.counter);
  if (p->few) p->panel_place = LLVMBuildUDiv(p->l->e.builder, subtract(p, p->column, from), width, "");
  LLVMValueRef left = columns_left(p);
  p->is_wide = LLVMBuildICmp(p->l->e.builder, LLVMIntSGT, left, number(p, p->lanes), "");
  p->is_full = LLVMBuildICmp(p->l->e.builder, LLVMIntSGE, left, width, "");
  for (int v = 0; v < p->tile.vectors; v++)
    p->masks[v] = laze_product_mask(p, subtract(p, left, number(p, (int64_t)v * p->lanes)));
  LAZE_TRY(laze_product_find_runs(p));
  LAZE_TRY(laze_product_prepare_b(p, copies));
  LAZE_TRY(emit_parts(p, copies));
  laze_counted_loop_close(p->l, &columns, width);
  return LAZE_OK;
}

/* Panels that take turns, of few rows; otherwise one, and the block is one piece. */
static laze_status emit_turns(laze_product *p, LLVMValueRef copies) {
  laze_counted_loop groups = {0}, pieces = {0};
  const int64_t width = laze_product_width(p);
  LLVMValueRef columns = p->operands[LAZE_PRODUCT_COLUMNS], depth = p->block_depth;
  LLVMValueRef group = choose(p, p->few, number(p, LAZE_FEW_PANELS * width), number(p, width));
  LLVMValueRef piece = choose(p, p->few, number(p, LAZE_FEW_DEPTH), number(p, LAZE_PRODUCT_BLOCK));
  LAZE_TRY(laze_counted_loop_open(p->l, &groups, number(p, 0), columns));
  LAZE_TRY(laze_counted_loop_open(p->l, &pieces, number(p, 0), at_least_one(p, depth)));
  p->piece_k = laze_product_opaque(p, pieces.counter);
  LLVMValueRef end = add(p, p->piece_k, piece), first = laze_product_opaque(p, groups.counter);
  p->piece_depth = subtract(p, smaller(p, end, depth), p->piece_k);
  p->is_last = LLVMBuildICmp(p->l->e.builder, LLVMIntSGE, end, depth, "");
  LAZE_TRY(emit_panels(p, copies, first, smaller(p, columns, add(p, first, group))));
  laze_counted_loop_close(p->l, &pieces, piece);
  laze_counted_loop_close(p->l, &groups, group);
  return LAZE_OK;
}

/* Columns that have digits have no turns: then chains are joined in the first one. */
static laze_status emit_columns(laze_product *p) {
  LLVMValueRef copies = laze_product_copies_b(p);
  if (copies && p->result.count == 0) {
    LLVMValueRef most = number(p, LAZE_FEW_ROWS);
    p->few = LLVMBuildICmp(p->l->e.builder, LLVMIntSLE, p->operands[LAZE_PRODUCT_ROWS], most, "");
    return emit_turns(p, copies);
  }
  p->piece_k = number(p, 0);
  p->piece_depth = p->block_depth;
  return emit_panels(p, copies, number(p, 0), p->operands[LAZE_PRODUCT_COLUMNS]);
}

static laze_status emit_block(laze_product *p) {
  LLVMValueRef takes_rows = laze_product_takes_rows(p);
  laze_product_branch at = {0};
  if (takes_rows) {
    at = laze_product_open_branch(p, takes_rows);
    LAZE_TRY(laze_product_rows(p));
    laze_product_other_side(p, at);
  }
  LAZE_TRY(laze_product_prepare_a(p));
  LAZE_TRY(emit_columns(p));
  if (takes_rows) laze_product_close_branch(p, at);
  return LAZE_OK;
}

/* Blocks of k; without depth there is one empty block. */
static laze_status emit_blocks(laze_product *p) {
  laze_counted_loop blocks = {0};
  LLVMValueRef depth = p->operands[LAZE_PRODUCT_DEPTH];
  p->tile = tile_of(p);
  LAZE_TRY(laze_counted_loop_open(p->l, &blocks, number(p, 0), at_least_one(p, depth)));
  p->block_k = laze_product_opaque(p, blocks.counter);
  p->block_depth = smaller(p, number(p, LAZE_PRODUCT_BLOCK), subtract(p, depth, p->block_k));
  LAZE_TRY(emit_block(p));
  laze_counted_loop_close(p->l, &blocks, number(p, LAZE_PRODUCT_BLOCK));
  return LAZE_OK;
}

/* Further digits of an axis, which stand from operand `*first` on. */
static laze_product_axis read_digits(laze_llvm_kernel *l, const laze_loop_instruction *i, LLVMValueRef last,
                                     int32_t *first, int32_t count) {
  laze_product_axis made = {.last = last, .count = count};
  for (int32_t d = 0; d < count; d++, *first += 2) {
    made.extents[d] = l->values[laze_llvm_operand(l, i, *first)][0].value;
    made.strides[d] = l->values[laze_llvm_operand(l, i, *first + 1)][0].value;
  }
  return made;
}

laze_status laze_llvm_matrix(laze_llvm_kernel *l, const laze_loop_instruction *i) {
  const laze_loop_product read = laze_loop_read_product(i->imm);
  laze_product p = {.l = l, .dtype = i->dtype, .a = read.a, .b = read.b, .c = read.c};
  int32_t further = LAZE_LOOP_PRODUCT_FIXED;
  for (int k = 0; k < LAZE_LOOP_PRODUCT_FIXED; k++) p.operands[k] = l->values[laze_llvm_operand(l, i, k)][0].value;
  p.k = read_digits(l, i, p.operands[LAZE_PRODUCT_B_K], &further, read.depth_digits);
  p.j = read_digits(l, i, p.operands[LAZE_PRODUCT_B_COLUMN], &further, read.column_digits);
  p.result = read_digits(l, i, number(&p, 1), &further, read.result_digits);
  p.element = laze_llvm_scalar_type(&l->e, i->dtype);
  p.lanes = l->unit.register_bytes / (int)laze_dtype_size(i->dtype);
  if (p.lanes > LAZE_LANES) p.lanes = LAZE_LANES; /* more would fit of elements of one or two bytes */
  p.vector = LLVMVectorType(p.element, (unsigned)p.lanes);
  turn_column(&p);
  p.is_chain =
      LLVMBuildICmp(l->e.builder, LLVMIntSLT, p.operands[LAZE_PRODUCT_DEPTH], number(&p, LAZE_PRODUCT_CHAIN), "");
  p.chains = choose(&p, p.is_chain, number(&p, 1), number(&p, LAZE_PRODUCT_LANES));
  return emit_blocks(&p);
}
