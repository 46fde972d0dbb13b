/* Loop IR: one kernel as structured loops over scalar operations. The scheduler writes it, the LLVM lowering
 * and, in tests, a small interpreter (tests/support/loop_interpreter.h) read it, and nothing else stands between them.
 *
 * A kernel is a flat array of instructions; loops nest by LOOP ... END. Each instruction that produces a value is named
 * by its index; a value may be used after it, inside the loop (or the loops within) that holds it, or after a loop only
 * if it stands outside. Semantics are scalar: one iteration after the other. A loop marked LANES promises that its
 * iterations touch disjoint stores and are independent but for accumulators, so that a lowering may run 16 of them in
 * vector lanes; accumulators have a named order, so the result has the same bits either way.
 *
 * Code is a function of the loop IR and the target alone: it holds dtypes, structure, stride classes (an offset that
 * adds the induction variable itself has stride 1; one that multiplies it by a SIZE has a run-time stride), baked small
 * extents and orders, never sizes, pointers or names. Its hash is the kernel's key.
 */
#ifndef LAZE_CODEGEN_LOOP_LOOP_H
#define LAZE_CODEGEN_LOOP_LOOP_H

#include "base/arena.h"
#include "base/hash.h"
#include "base/text.h"
#include "ir/op.h"

typedef enum {
  /* Structure */
  LAZE_LOOP_BEGIN, /* (extent) -> i64 induction variable from 0; flags: LAZE_LOOP_LANES, LAZE_LOOP_RANGE */
  LAZE_LOOP_END,   /* () closes the innermost open loop */
  /* Index values: i64, uniform or varying */
  LAZE_LOOP_INDEX_CONSTANT, /* imm */
  LAZE_LOOP_INDEX_SIZE,     /* run-time integer number imm of the kernel's arguments */
  LAZE_LOOP_INDEX_ADD,      /* (a, b), wrapping never happens: offsets fit */
  LAZE_LOOP_INDEX_SUB,
  LAZE_LOOP_INDEX_MUL,
  LAZE_LOOP_INDEX_FLOOR_DIV, /* (a, b), b > 0; not inside a LANES loop on its induction variable */
  LAZE_LOOP_INDEX_MOD,       /* likewise */
  LAZE_LOOP_INDEX_MIN,
  LAZE_LOOP_INDEX_MAX,
  LAZE_LOOP_INDEX_LESS, /* (a, b) -> bool: a < b */
  LAZE_LOOP_AND,        /* (bool, bool) -> bool */
  /* Data */
  LAZE_LOOP_CONSTANT, /* -> dtype; imm: its bits, zero-extended */
  LAZE_LOOP_LOAD,     /* (offset [, guard]) -> dtype of buffer imm; where the guard is false, 0 and no access */
  LAZE_LOOP_STORE,    /* (offset, value [, guard]) to buffer imm */
  LAZE_LOOP_ELEMENT,  /* (operands...) -> result dtype `dtype`; op computes in dtype `compute`; operands have it */
  LAZE_LOOP_CONVERT,  /* (value) -> dtype, as `to` does; also turns an i64 index value into data and back */
  LAZE_LOOP_BITCAST,  /* (value) -> dtype, of the same width: the same bits */
  LAZE_LOOP_CHECK,    /* (index, size, position) -> a valid index: negative wraps once; out of range notes a failure for
                         check imm at `position` and gives 0 (size may then be 0: callers guard loads by size) */
  LAZE_LOOP_CHECK_SLICE, /* (index, size, position, length) likewise, where `length` elements from there on, at most
                            `size`, must lie in the axis */
  /* Reductions, in a named order (codegen/order.h): lanes16 where UPDATE stands in a LANES loop, else rows; and scans,
     in the order `sequence` */
  LAZE_LOOP_ACCUMULATOR, /* -> accumulator of dtype, op combines, `order`, `initial`; stands before the loops that
                            update it; one loop holds its UPDATEs, and accumulators of one loop stand side by side */
  LAZE_LOOP_UPDATE,      /* (accumulator, value, induction variable of the innermost reduced loop): iteration r of a run
                            of that loop takes the run's r-th place */
  LAZE_LOOP_RESULT,      /* (accumulator) -> dtype; after those loops, in a sequence behind an UPDATE in its loop */
  /* Variables: what an iteration hands to the next, in their order. No LANES loop lies between one and its uses */
  LAZE_LOOP_VARIABLE, /* (value) -> variable of dtype that holds it; stands before the loops that set it */
  LAZE_LOOP_GET,      /* (variable) -> what it holds now */
  LAZE_LOOP_SET,      /* (variable, value) */
  /* Matrix product of a block, each element in the order of products (codegen/order.h) */
  LAZE_LOOP_MATRIX, /* (a offset, a row stride, a k stride, b offset, b k stride, b column stride, c offset, c row
                       stride, rows, columns, depth, first column [, extent, stride, ...]), imm: a laze_loop_product;
                       dtype. Row i, column j of the block is c[c offset + i * c row stride + j], with the factors of
                       column first column + j. b's strides are those of the last digit of k and of the column; for
                       each further digit of k, then of the column, follows the extent of the one below and its stride:
                       k = (k2 * e1 + k1) * e0 + k0 lies at k0 * s0 + k1 * s1 + k2 * s2. Where c's columns have
                       digits, too, those come last; the last one's stride is 1, and column first column + j of row i
                       lies where they say from c offset + i * c row stride on */
} laze_loop_code;

/* What imm of a MATRIX holds: its buffers, and how many digits k and the column have in b, and the column in c, beside
 * the last. */
typedef struct laze_loop_product {
  int32_t a, b, c, depth_digits, column_digits, result_digits;
} laze_loop_product;
/* A MATRIX's operands, in their order; those of digits follow. */
enum {
  LAZE_PRODUCT_A_OFFSET,
  LAZE_PRODUCT_A_ROW,
  LAZE_PRODUCT_A_K,
  LAZE_PRODUCT_B_OFFSET,
  LAZE_PRODUCT_B_K,
  LAZE_PRODUCT_B_COLUMN,
  LAZE_PRODUCT_C_OFFSET,
  LAZE_PRODUCT_C_ROW,
  LAZE_PRODUCT_ROWS,
  LAZE_PRODUCT_COLUMNS,
  LAZE_PRODUCT_DEPTH,
  LAZE_PRODUCT_FIRST_COLUMN,
  LAZE_LOOP_PRODUCT_FIXED
};
#define LAZE_LOOP_PRODUCT_DIGITS 9 /* most, of all of them */
#define LAZE_LOOP_PRODUCT_MOST (LAZE_LOOP_PRODUCT_FIXED + 2 * LAZE_LOOP_PRODUCT_DIGITS)

/* The kernel's scratch has room for a panel of b: for so many k at a time, as far as a block has some. */
#define LAZE_PANEL_ROWS 64
#define LAZE_PANEL_BYTES (LAZE_PANEL_ROWS * 256) /* 4 of the largest registers wide */
/* Behind that, where a's rows and not its k are known to lie next to each other, it has room for all of a's rows and as
 * many k. */

static inline int64_t laze_loop_pack_product(const laze_loop_product *p) {
  return p->a | (int64_t)p->b << 16 | (int64_t)p->c << 32 | (int64_t)p->depth_digits << 48 |
         (int64_t)p->column_digits << 52 | (int64_t)p->result_digits << 56;
}
static inline laze_loop_product laze_loop_read_product(int64_t imm) {
  return (laze_loop_product){(int32_t)(imm & 0xffff),   (int32_t)(imm >> 16 & 0xffff), (int32_t)(imm >> 32 & 0xffff),
                             (int32_t)(imm >> 48 & 15), (int32_t)(imm >> 52 & 15),     (int32_t)(imm >> 56 & 15)};
}

#define LAZE_LOOP_LANES 1 /* iterations may run in vector lanes */
#define LAZE_LOOP_RANGE                                                                                                \
  2 /* runs from the call's begin to its end instead of 0 to extent; exactly one, outermost loop */

typedef struct laze_loop_instruction {
  uint8_t code;    /* laze_loop_code */
  uint8_t dtype;   /* of the result, the stored value or the product */
  uint8_t compute; /* ELEMENT */
  uint8_t flags;   /* BEGIN */
  laze_op op;      /* ELEMENT, ACCUMULATOR */
  uint8_t order, initial;
  int32_t first, count; /* operands: kernel->operands[first ... first + count) */
  int64_t imm;
} laze_loop_instruction;

typedef struct laze_loop_buffer {
  uint8_t dtype;
  bool written;
} laze_loop_buffer;

/* A kernel in loop IR. Lives in the arena it was made from. Built by one thread, then read-only. */
typedef struct laze_loop_kernel {
  laze_arena *arena; /* borrowed */
  laze_loop_instruction *instructions;
  int32_t instruction_count, instruction_capacity;
  int32_t *operands;
  int32_t operand_count, operand_capacity;
  laze_loop_buffer *buffers; /* read ones first, then written ones */
  int32_t buffer_count, buffer_capacity;
  int32_t size_count; /* run-time integers */
  int32_t check_count;
  bool failed; /* memory ran out while emitting: checked once by laze_loop_finish */
} laze_loop_kernel;

void laze_loop_init(laze_loop_kernel *kernel, laze_arena *arena);
int32_t laze_loop_add_buffer(laze_loop_kernel *kernel, laze_dtype dtype, bool written);
/* Appends an instruction and returns its index; -1 once memory is out (which later calls accept). */
int32_t laze_loop_emit(laze_loop_kernel *kernel, laze_loop_instruction instruction, const int32_t *operands,
                       int32_t count);
/* LAZE_OUT_OF_MEMORY when an emit failed. */
LAZE_MUST_USE laze_status laze_loop_finish(const laze_loop_kernel *kernel, laze_error *error);

/* Short forms. */
int32_t laze_loop_begin(laze_loop_kernel *kernel, int32_t extent, int flags);
void laze_loop_end(laze_loop_kernel *kernel);
int32_t laze_loop_index(laze_loop_kernel *kernel, laze_loop_code code, int32_t a, int32_t b);
int32_t laze_loop_index_constant(laze_loop_kernel *kernel, int64_t value);
int32_t laze_loop_index_size(laze_loop_kernel *kernel, int32_t number);
int32_t laze_loop_constant(laze_loop_kernel *kernel, laze_dtype dtype, laze_scalar value);
int32_t laze_loop_load(laze_loop_kernel *kernel, int32_t buffer, int32_t offset, int32_t guard /* -1: none */);
void laze_loop_store(laze_loop_kernel *kernel, int32_t buffer, int32_t offset, int32_t value, int32_t guard);
int32_t laze_loop_element(laze_loop_kernel *kernel, laze_op op, laze_dtype compute, laze_dtype result,
                          const int32_t *operands, int32_t count);
int32_t laze_loop_convert(laze_loop_kernel *kernel, int32_t value, laze_dtype dtype);
int32_t laze_loop_bitcast(laze_loop_kernel *kernel, int32_t value, laze_dtype dtype);

/* The dtype of value `index` (i64 for index values, bool for predicates). */
laze_dtype laze_loop_dtype(const laze_loop_kernel *kernel, int32_t index);

/* The kernel's key: a hash of everything above, with operators by name, so that it is stable across builds. */
laze_hash laze_loop_hash(const laze_loop_kernel *kernel);
void laze_loop_print(laze_text *text, const laze_loop_kernel *kernel);
/* Checks structure, operand dtypes, scoping and the rules of each instruction; LAZE_INTERNAL with the first fault. */
LAZE_MUST_USE laze_status laze_loop_verify(const laze_loop_kernel *kernel, laze_error *error);

#endif
