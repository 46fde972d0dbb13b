/* Few rows of C where B's k lie next to each other (B is another matrix's transpose, as the weights of a linear layer
 * are), and an element is four chains in a block. Registers hold four neighbouring k of each of some columns, as they
 * lie in B, so that nothing is transposed and nothing but A goes through the scratch:
 *
 *   register of B    k0 k1 k2 k3 of column j | k0 k1 k2 k3 of column j + 1 | ...
 *   times, of A      k0 k1 k2 k3             | k0 k1 k2 k3                 | ...
 *   sum              chains 0 1 2 3          | chains 0 1 2 3              | ...     joined at the block's end
 *
 *   for j in columns, a tile at a time
 *     for i in rows, a tile at a time           A's rows of a tile alternate, four k of each
 *       for k in the block, a line of memory at a time; of the next lines some are asked for
 *         for each four k of the line
 *           sums of the tile += A[i .., k ..] B[k .., j ..]
 *       the k that are left, with lanes masked
 *       join the chains in C
 *
 * A tile that would pass the last column or row repeats that one: what it computes has the same bits.
 */
#include "codegen/llvm/kernel_product.h"

#include "codegen/order.h"

#include <assert.h>

enum {
  CHAINS = LAZE_PRODUCT_LANES,
  LINE_BYTES = 64,
  AHEAD_BYTES = 512, /* how far ahead lines are asked for; 1024 measured alike */
  TILE_ROWS = 8,     /* most */
  TILE_COLUMNS = 8,  /* most: of one row, whose speed is that of loads, as many as there are registers for addresses */
  TILE_SUMS = 16,    /* registers, most */
  MOST_ROWS = 16,    /* more are worth copying B for */
};

static_assert(MOST_ROWS * sizeof(double) * LAZE_PANEL_ROWS <= LAZE_PANEL_BYTES, "A fits where a panel of B does");
static_assert(MOST_ROWS % TILE_ROWS == 0, "and so it does with rows repeated");

typedef struct {
  const laze_product *p;
  laze_product fours, totals;                    /* `p` with registers of four k, and of what goes to a row of C */
  int rows, columns, registers;                  /* registers: of a row */
  LLVMValueRef whole_depth;                      /* k of the block of which all chains have as many */
  LLVMValueRef a, row_length;                    /* A as tiles read it; elements from one row's to the next's */
  LLVMValueRef b[TILE_COLUMNS];                  /* where columns begin */
  LLVMValueRef first_row, first_column, rows_at; /* of the tile; where its rows of A begin */
  LLVMValueRef sums[TILE_SUMS];
} row_tile;

LLVMValueRef laze_product_takes_rows(const laze_product *p) {
  LLVMBuilderRef builder = p->l->e.builder;
  if (!laze_dtype_is_float(p->dtype) || p->lanes < CHAINS) return NULL;
  if (laze_product_has_digits(p) || p->result.count > 0) return NULL;
  if (!is_one(p->operands[LAZE_PRODUCT_B_K]) || is_one(p->operands[LAZE_PRODUCT_B_COLUMN])) return NULL;
  LLVMValueRef few = LLVMBuildICmp(builder, LLVMIntSLE, p->operands[LAZE_PRODUCT_ROWS], number(p, MOST_ROWS), "");
  return LLVMBuildAnd(builder, few, LLVMBuildNot(builder, p->is_chain, ""), "");
}

/* To a multiple of a power of two. */
static LLVMValueRef round_down(const laze_product *p, LLVMValueRef value, int64_t of) {
  return LLVMBuildAnd(p->l->e.builder, value, number(p, -of), "");
}

/* Rows that so many columns leave registers for: half of all are sums, one row aside. */
static int rows_beside(const laze_product *p, int columns) {
  const int rows = p->l->unit.register_count / 2 * p->lanes / (columns * CHAINS);
  return rows < TILE_ROWS ? rows : TILE_ROWS;
}

static row_tile new_tile(const laze_product *p, bool is_one_row) {
  row_tile made = {.p = p, .fours = *p, .totals = *p, .rows = 1, .columns = TILE_COLUMNS};
  if (!is_one_row) {
    if (rows_beside(p, made.columns) < TILE_ROWS) made.columns /= 2;
    made.rows = rows_beside(p, made.columns);
  }
  made.registers = made.columns * CHAINS / p->lanes;
  made.fours.lanes = CHAINS;
  made.fours.vector = LLVMVectorType(p->element, CHAINS);
  made.totals.lanes = made.columns;
  made.totals.vector = LLVMVectorType(p->element, (unsigned)made.columns);
  return made;
}

static LLVMValueRef shuffle(const laze_product *p, LLVMValueRef a, LLVMValueRef b, const int *lanes, int count) {
  LLVMTypeRef i32 = LLVMInt32TypeInContext(p->l->e.context);
  LLVMValueRef numbers[TILE_COLUMNS * CHAINS];
  for (int k = 0; k < count; k++) numbers[k] = LLVMConstInt(i32, (uint64_t)lanes[k], false);
  return LLVMBuildShuffleVector(p->l->e.builder, a, b, LLVMConstVector(numbers, (unsigned)count), "");
}

/* One vector of as many, all alike, by joining neighbours; `parts` is written over. */
static LLVMValueRef concatenate(const laze_product *p, LLVMValueRef *parts, int count) {
  int lanes[TILE_COLUMNS * CHAINS];
  for (int k = 0; k < TILE_COLUMNS * CHAINS; k++) lanes[k] = k;
  for (; count > 1; count /= 2)
    for (int k = 0; k < count / 2; k++) {
      const int width = (int)LLVMGetVectorSize(LLVMTypeOf(parts[2 * k]));
      parts[k] = shuffle(p, parts[2 * k], parts[2 * k + 1], lanes, 2 * width);
    }
  return parts[0];
}

/* Four neighbouring k; those that the mask leaves out are 0. */
static LLVMValueRef load_four(const row_tile *t, LLVMValueRef from, LLVMValueRef mask) {
  return laze_llvm_vector_load(t->p->l, t->fours.vector, from, mask, laze_dtype_size(t->p->dtype));
}

/* Register `v` of B, at k. */
static LLVMValueRef load_columns(const row_tile *t, int v, LLVMValueRef k, LLVMValueRef mask) {
  LLVMValueRef parts[TILE_COLUMNS];
  const int count = t->p->lanes / CHAINS;
  for (int c = 0; c < count; c++) parts[c] = load_four(t, advance(t->p, t->b[v * count + c], k), mask);
  return concatenate(t->p, parts, count);
}

/* Four lanes, over and over. */
static LLVMValueRef repeat(const row_tile *t, LLVMValueRef four) {
  int lanes[TILE_COLUMNS * CHAINS];
  for (int k = 0; k < t->p->lanes; k++) lanes[k] = k % CHAINS;
  return shuffle(t->p, four, LLVMGetPoison(LLVMTypeOf(four)), lanes, t->p->lanes);
}

/* Where `row` of the tile has its four k from k on. */
static LLVMValueRef row_at(const row_tile *t, LLVMValueRef row, LLVMValueRef k) {
  const laze_product *p = t->p;
  LLVMValueRef place = add(p, multiply(p, k, number(p, t->rows)), multiply(p, row, number(p, CHAINS)));
  return advance(p, t->rows_at, place);
}

/* Multiplies and adds four k. */
static void emit_step(row_tile *t, LLVMValueRef k) {
  LLVMValueRef columns[TILE_COLUMNS];
  for (int v = 0; v < t->registers; v++) columns[v] = load_columns(t, v, k, NULL);
  for (int r = 0; r < t->rows; r++) {
    LLVMValueRef factor = repeat(t, load_four(t, row_at(t, number(t->p, r), k), NULL));
    for (int v = 0; v < t->registers; v++) {
      LLVMValueRef *sum = &t->sums[r * t->registers + v];
      *sum = laze_llvm_fma(&t->p->l->e, factor, columns[v], *sum);
    }
  }
}

/* Asks for what the tile reads some lines later. */
static void prefetch(const row_tile *t, LLVMValueRef k) {
  const laze_product *p = t->p;
  LLVMValueRef ahead = add(p, k, number(p, AHEAD_BYTES / laze_dtype_size(p->dtype)));
  for (int c = 0; c < t->columns; c++) laze_llvm_prefetch(p->l, advance(p, t->b[c], ahead), LAZE_PREFETCH_SOON);
}

/* The block's k of which all chains have one, a line at a time. */
static laze_status emit_lines(row_tile *t) {
  const laze_product *p = t->p;
  LLVMValueRef *slots[TILE_SUMS], line = number(p, LINE_BYTES / laze_dtype_size(p->dtype));
  const int count = t->rows * t->registers;
  for (int s = 0; s < count; s++) slots[s] = &t->sums[s];
  laze_counted_loop lines = {.slots = slots, .slot_count = count}, steps = lines;
  LAZE_TRY(laze_counted_loop_open(p->l, &lines, number(p, 0), t->whole_depth));
  LLVMValueRef k = laze_product_opaque(p, lines.counter), end = smaller(p, add(p, k, line), t->whole_depth);
  prefetch(t, k);
  LAZE_TRY(laze_counted_loop_open(p->l, &steps, k, end));
  emit_step(t, laze_product_opaque(p, steps.counter));
  laze_counted_loop_close(p->l, &steps, number(p, CHAINS));
  laze_counted_loop_close(p->l, &lines, line);
  return LAZE_OK;
}

/* Fewer than four k at the block's end, maybe none. */
typedef struct {
  LLVMValueRef k, mask, columns[TILE_COLUMNS];
} block_rest;

/* Where there are none, what lies before is read with all lanes masked: what follows may not be mapped, which would
 * take long. */
static block_rest load_rest(const row_tile *t) {
  const laze_product *p = t->p;
  LLVMValueRef left = subtract(p, p->block_depth, t->whole_depth);
  LLVMValueRef is_none = LLVMBuildICmp(p->l->e.builder, LLVMIntEQ, left, number(p, 0), "");
  block_rest made = {.k = subtract(p, t->whole_depth, choose(p, is_none, number(p, CHAINS), number(p, 0))),
                     .mask = laze_product_mask(&t->fours, left)};
  for (int v = 0; v < t->registers; v++) made.columns[v] = load_columns(t, v, made.k, made.mask);
  return made;
}

/* Adds the rest to a row's sums, of which those stay what they are that have no such k: -0 and NaN, too. */
static void add_rest(const row_tile *t, const block_rest *rest, LLVMValueRef row, LLVMValueRef *sums) {
  LLVMValueRef factor = repeat(t, load_four(t, row_at(t, row, rest->k), rest->mask)), mask = repeat(t, rest->mask);
  for (int v = 0; v < t->registers; v++) {
    LLVMValueRef next = laze_llvm_fma(&t->p->l->e, factor, rest->columns[v], sums[v]);
    sums[v] = choose(t->p, mask, next, sums[v]);
  }
}

/* The block's totals of a row: halves of each column's lanes are added, twice. */
static LLVMValueRef join_chains(const row_tile *t, LLVMValueRef *sums) {
  const laze_product *p = t->p;
  LLVMValueRef joined = concatenate(p, sums, t->registers);
  for (int half = CHAINS / 2; half >= 1; half /= 2) {
    int first[TILE_COLUMNS * CHAINS], second[TILE_COLUMNS * CHAINS];
    for (int k = 0; k < t->columns * half; k++) {
      first[k] = k / half * 2 * half + k % half;
      second[k] = first[k] + half;
    }
    LLVMValueRef poison = LLVMGetPoison(LLVMTypeOf(joined));
    joined = laze_product_add(p, shuffle(p, joined, poison, first, t->columns * half),
                              shuffle(p, joined, poison, second, t->columns * half));
  }
  return joined;
}

/* A row's sums, as they are before the rest, to C. */
static void finish_row(const row_tile *t, const block_rest *rest, LLVMValueRef row, LLVMValueRef *sums) {
  const laze_product *p = t->p;
  add_rest(t, rest, row, sums);
  LLVMValueRef at = multiply(p, add(p, t->first_row, row), p->operands[LAZE_PRODUCT_C_ROW]);
  LLVMValueRef start = add(p, p->operands[LAZE_PRODUCT_C_OFFSET], t->first_column);
  LLVMValueRef mask = laze_product_mask(&t->totals, subtract(p, p->operands[LAZE_PRODUCT_COLUMNS], t->first_column));
  laze_product_add_total(&t->totals, join_chains(t, sums), laze_llvm_pointer(p->l, p->c, add(p, start, at)), mask);
}

/* Rows one after the other, from the stack: code for each of them would be most of the kernel's. */
static laze_status finish_rows(const row_tile *t, const block_rest *rest) {
  const laze_product *p = t->p;
  const int64_t size = laze_dtype_size(p->dtype);
  LLVMValueRef kept = laze_product_partial(p), sums[TILE_COLUMNS];
  for (int s = 0; s < t->rows * t->registers; s++)
    laze_llvm_vector_store(p->l, t->sums[s], advance(p, kept, number(p, (int64_t)s * p->lanes)), NULL, size);
  laze_counted_loop rows = {0};
  LLVMValueRef left = subtract(p, p->operands[LAZE_PRODUCT_ROWS], t->first_row);
  LAZE_TRY(laze_counted_loop_open(p->l, &rows, number(p, 0), smaller(p, left, number(p, t->rows))));
  LLVMValueRef row = laze_product_opaque(p, rows.counter);
  for (int v = 0; v < t->registers; v++) {
    LLVMValueRef place = add(p, multiply(p, row, number(p, t->registers)), number(p, v));
    LLVMValueRef from = advance(p, kept, multiply(p, place, number(p, p->lanes)));
    sums[v] = laze_llvm_vector_load(p->l, p->vector, from, NULL, size);
  }
  finish_row(t, rest, row, sums);
  laze_counted_loop_close(p->l, &rows, number(p, 1));
  return LAZE_OK;
}

static laze_status emit_tile(row_tile *t) {
  const laze_product *p = t->p;
  t->rows_at = advance(p, t->a, multiply(p, t->first_row, t->row_length));
  for (int s = 0; s < t->rows * t->registers; s++) t->sums[s] = LLVMConstNull(p->vector);
  LAZE_TRY(emit_lines(t));
  const block_rest rest = load_rest(t);
  if (t->rows > 1) return finish_rows(t, &rest);
  finish_row(t, &rest, number(p, 0), t->sums);
  return LAZE_OK;
}

static laze_status emit_columns(row_tile *t) {
  const laze_product *p = t->p;
  laze_counted_loop columns = {0}, rows = {0};
  LLVMValueRef stride = p->operands[LAZE_PRODUCT_B_COLUMN], width = number(p, t->columns);
  LLVMValueRef first = add(p, p->operands[LAZE_PRODUCT_B_OFFSET], p->block_k);
  LLVMValueRef start =
      laze_llvm_pointer(p->l, p->b, add(p, first, multiply(p, p->operands[LAZE_PRODUCT_FIRST_COLUMN], stride)));
  LLVMValueRef last = subtract(p, p->operands[LAZE_PRODUCT_COLUMNS], number(p, 1));
  LAZE_TRY(laze_counted_loop_open(p->l, &columns, number(p, 0), p->operands[LAZE_PRODUCT_COLUMNS]));
  t->first_column = laze_product_opaque(p, columns.counter);
  for (int c = 0; c < t->columns; c++)
    t->b[c] = advance(p, start, multiply(p, smaller(p, add(p, t->first_column, number(p, c)), last), stride));
  LAZE_TRY(laze_counted_loop_open(p->l, &rows, number(p, 0), p->operands[LAZE_PRODUCT_ROWS]));
  t->first_row = laze_product_opaque(p, rows.counter);
  LAZE_TRY(emit_tile(t));
  laze_counted_loop_close(p->l, &rows, number(p, t->rows));
  laze_counted_loop_close(p->l, &columns, width);
  return LAZE_OK;
}

static LLVMValueRef load_from_a(const row_tile *t, LLVMValueRef from, LLVMValueRef k) {
  const laze_product *p = t->p;
  LLVMValueRef mask = laze_product_mask(&t->fours, subtract(p, p->block_depth, k)),
               stride = p->operands[LAZE_PRODUCT_A_K];
  if (is_one(stride)) return load_four(t, advance(p, from, k), mask);
  LLVMValueRef lanes = laze_product_lane_numbers(&t->fours, laze_llvm_i64_type(p->l));
  LLVMValueRef offsets =
      multiply(p, add(p, lanes, laze_product_splat(&t->fours, k)), laze_product_splat(&t->fours, stride));
  return laze_llvm_gather(p->l, t->fours.vector, advance(p, from, offsets), mask, laze_dtype_size(p->dtype));
}

/* A row into the scratch. */
static laze_status copy_row(const row_tile *t, LLVMValueRef from, LLVMValueRef to) {
  const laze_product *p = t->p;
  laze_counted_loop depth = {0};
  LAZE_TRY(laze_counted_loop_open(p->l, &depth, number(p, 0), p->block_depth));
  LLVMValueRef k = laze_product_opaque(p, depth.counter), place = advance(p, to, multiply(p, k, number(p, t->rows)));
  laze_llvm_vector_store(p->l, load_from_a(t, from, k), place, NULL, laze_dtype_size(p->dtype));
  laze_counted_loop_close(p->l, &depth, number(p, CHAINS));
  return LAZE_OK;
}

/* Brings A's rows of a tile next to each other, and repeats the last one as far as the last tile reads. */
static laze_status copy_rows(const row_tile *t, LLVMValueRef source) {
  const laze_product *p = t->p;
  laze_counted_loop rows = {0};
  LLVMValueRef count = p->operands[LAZE_PRODUCT_ROWS], last = subtract(p, count, number(p, 1));
  LLVMValueRef end = round_down(p, add(p, count, number(p, t->rows - 1)), t->rows);
  LAZE_TRY(laze_counted_loop_open(p->l, &rows, number(p, 0), end));
  LLVMValueRef row = laze_product_opaque(p, rows.counter), first = round_down(p, row, t->rows);
  LLVMValueRef place = multiply(p, subtract(p, row, first), number(p, CHAINS));
  LLVMValueRef from = advance(p, source, multiply(p, smaller(p, row, last), p->operands[LAZE_PRODUCT_A_ROW]));
  LAZE_TRY(copy_row(t, from, advance(p, t->a, add(p, multiply(p, first, t->row_length), place))));
  laze_counted_loop_close(p->l, &rows, number(p, 1));
  return LAZE_OK;
}

/* Rows of which tiles take one at a time are read where they lie, where their k lie next to each other. */
static laze_status prepare_rows(row_tile *t) {
  const laze_product *p = t->p;
  LLVMValueRef k = multiply(p, p->block_k, p->operands[LAZE_PRODUCT_A_K]);
  LLVMValueRef source = laze_llvm_pointer(p->l, p->a, add(p, p->operands[LAZE_PRODUCT_A_OFFSET], k));
  t->a = source;
  t->row_length = p->operands[LAZE_PRODUCT_A_ROW];
  if (t->rows == 1 && is_one(p->operands[LAZE_PRODUCT_A_K])) return LAZE_OK;
  t->a = laze_product_scratch(p);
  t->row_length = round_down(p, add(p, p->block_depth, number(p, CHAINS - 1)), CHAINS);
  return copy_rows(t, source);
}

static laze_status emit_block(const laze_product *p, bool is_one_row) {
  row_tile t = new_tile(p, is_one_row);
  t.whole_depth = round_down(p, p->block_depth, CHAINS);
  LAZE_TRY(prepare_rows(&t));
  return emit_columns(&t);
}

laze_status laze_product_rows(const laze_product *p) {
  if (is_one(p->operands[LAZE_PRODUCT_ROWS])) return emit_block(p, true);
  LLVMValueRef is_one_row = LLVMBuildICmp(p->l->e.builder, LLVMIntEQ, p->operands[LAZE_PRODUCT_ROWS], number(p, 1), "");
  laze_product_branch at = laze_product_open_branch(p, is_one_row);
  LAZE_TRY(emit_block(p, true));
  laze_product_other_side(p, at);
  LAZE_TRY(emit_block(p, false));
  laze_product_close_branch(p, at);
  return LAZE_OK;
}
