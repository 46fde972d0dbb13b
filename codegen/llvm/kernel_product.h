/* A matrix product as it is being lowered: kernel_matrix.c walks over it, kernel_tile.c computes a tile of C,
 * kernel_panel.c brings B into shape. */
#ifndef LAZE_CODEGEN_LLVM_KERNEL_PRODUCT_H
#define LAZE_CODEGEN_LLVM_KERNEL_PRODUCT_H

#include "codegen/llvm/kernel.h"

#define LAZE_PRODUCT_PACKS 48 /* fewest rows for which copying a contiguous B pays off */

/* A tile of C: what is computed in registers at once. */
typedef struct laze_tile {
  int rows, vectors; /* vectors: registers of its width, which is the panel's */
  int chains;        /* for each element of C */
} laze_tile;
#define LAZE_TILE_ROWS 6
#define LAZE_TILE_VECTORS 4
#define LAZE_TILE_SUMS 24 /* registers, most */
#define LAZE_PASS_ROWS 72 /* most rows whose chains are kept on the stack; a multiple of a tile's */

/* The instruction's operands, in their order; those of digits follow. */
enum {
  A_OFFSET,
  A_ROW,
  A_K,
  B_OFFSET,
  B_K,
  B_COLUMN,
  C_OFFSET,
  C_ROW,
  ROWS,
  COLUMNS,
  DEPTH,
  FIRST_COLUMN,
  OPERAND_COUNT
};

/* How B lies along an axis: the last digit's stride, and for further ones the extent of the one below and the stride.
 */
typedef struct laze_product_axis {
  LLVMValueRef last, extents[LAZE_LOOP_PRODUCT_DIGITS], strides[LAZE_LOOP_PRODUCT_DIGITS];
  int count; /* of further ones */
} laze_product_axis;

typedef struct laze_product {
  laze_llvm_kernel *l;
  laze_dtype dtype;
  LLVMTypeRef element, vector;
  int lanes; /* of a register */
  laze_tile tile;
  int64_t a, b, c; /* buffers */
  LLVMValueRef operands[OPERAND_COUNT];
  laze_product_axis k, j;          /* of B: depth and columns */
  LLVMValueRef is_chain, chains;   /* whether an element is one chain; how many it is in a block */
  LLVMValueRef first_row, row_end; /* of A and C */
  /* Of the panel and the k being worked on: `depth` of them from first_k on, a_step and b_step elements apart. */
  LLVMValueRef column, first_k, depth, a_step, b_step, masks[LAZE_TILE_VECTORS];
  LLVMValueRef k_step;                            /* from one of them to the next: 1, or how many chains there are */
  LLVMValueRef run_starts, run_places, run_count; /* of the panel's columns, where they have digits (kernel_panel.c) */
  LLVMValueRef panel, panel_stride;               /* B: address of its first element, elements from one k to the next */
  LLVMValueRef out, out_row; /* where sums go: address of row 0, elements from one row to the next */
  LLVMValueRef adds;         /* whether they are added to what is there; NULL: they are not */
} laze_product;

/* How B's panels are read: where they lie if `packs` (an i1) is false, from a copy if it is true or NULL. */
LLVMValueRef laze_product_packs(const laze_product *p);
/* Sets panel and panel_stride for the block and column of `p`, copying what has to be copied. */
LAZE_MUST_USE laze_status laze_product_panel(laze_product *p, LLVMValueRef packs);
/* Notes how the panel's columns lie, where they have digits. */
LAZE_MUST_USE laze_status laze_product_find_runs(laze_product *p);
/* Whether B's columns are known to lie next to each other, all of them. */
bool laze_product_contiguous(const laze_product *p);
/* Whether chains are taken in passes (kernel_matrix.c). */
bool laze_product_in_passes(const laze_product *p);

/* All rows of the panel, a tile at a time. */
LAZE_MUST_USE laze_status laze_product_tiles(laze_product *p);

/* Whether B is read by digits. */
static inline bool laze_product_has_digits(const laze_product *p) {
  return p->k.count + p->j.count > 0;
}
/* Whether a stride or extent is a constant of the kernel, and 1. */
static inline bool is_one(LLVMValueRef value) {
  return LLVMIsAConstantInt(value) && LLVMConstIntGetSExtValue(value) == 1;
}
static inline LLVMValueRef number(const laze_product *p, int64_t value) {
  return laze_llvm_i64_constant(p->l, value);
}
static inline LLVMValueRef add(const laze_product *p, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildAdd(p->l->e.builder, a, b, "");
}
static inline LLVMValueRef subtract(const laze_product *p, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildSub(p->l->e.builder, a, b, "");
}
static inline LLVMValueRef multiply(const laze_product *p, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildMul(p->l->e.builder, a, b, "");
}
static inline LLVMValueRef smaller(const laze_product *p, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildSelect(p->l->e.builder, LLVMBuildICmp(p->l->e.builder, LLVMIntSLT, a, b, ""), a, b, "");
}
/* The address `elements` further on. */
static inline LLVMValueRef advance(const laze_product *p, LLVMValueRef pointer, LLVMValueRef elements) {
  return LLVMBuildGEP2(p->l->e.builder, p->element, pointer, &elements, 1, "");
}
/* The address of register `v` from a row's address on. */
static inline LLVMValueRef at_register(const laze_product *p, LLVMValueRef pointer, int v) {
  return advance(p, pointer, number(p, (int64_t)v * p->lanes));
}
/* Columns of a full panel, which a chain's tile is as wide as. */
static inline int64_t laze_product_width(const laze_product *p) {
  return (int64_t)p->lanes * p->tile.vectors;
}
/* The sum of two elements of C. */
static inline LLVMValueRef laze_product_add(const laze_product *p, LLVMValueRef a, LLVMValueRef b) {
  return laze_dtype_is_float(p->dtype) ? LLVMBuildFAdd(p->l->e.builder, a, b, "") : add(p, a, b);
}
/* As laze_llvm_splat etc., for this product's number of lanes. */
LLVMValueRef laze_product_splat(const laze_product *p, LLVMValueRef scalar);
LLVMValueRef laze_product_lane_numbers(const laze_product *p, LLVMTypeRef element);
/* Lanes below `remaining`, an i64 that may be negative. */
LLVMValueRef laze_product_mask(const laze_product *p, LLVMValueRef remaining);

#endif
