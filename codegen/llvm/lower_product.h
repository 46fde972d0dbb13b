/* A matrix product as it is being lowered: lower_matrix.c computes, lower_panel.c brings B into shape. */
#ifndef LAZE_CODEGEN_LLVM_LOWER_PRODUCT_H
#define LAZE_CODEGEN_LLVM_LOWER_PRODUCT_H

#include "codegen/llvm/lower_internal.h"

#define LAZE_PRODUCT_VECTORS 4 /* most registers of a panel's width */
#define LAZE_PRODUCT_SLAB 256  /* most depth of a panel copied to the stack; a multiple of every register's lanes */
#define LAZE_PRODUCT_PACKS 48  /* fewest rows for which copying a contiguous B pays off */

/* The instruction's operands, in their order. */
enum { A_OFFSET, A_ROW, A_K, B_OFFSET, B_K, B_COLUMN, C_OFFSET, C_ROW, ROWS, COLUMNS, DEPTH, OPERAND_COUNT };

typedef struct laze_product {
  laze_lower *l;
  laze_dtype dtype;
  LLVMTypeRef element, vector;
  int lanes, vectors; /* of a register; registers of a panel */
  int64_t a, b, c;    /* buffers */
  LLVMValueRef operands[OPERAND_COUNT];
  /* Of the panel and slab being worked on. */
  LLVMValueRef column, slab, slab_depth, masks[LAZE_PRODUCT_VECTORS];
  LLVMValueRef resumed[LAZE_PRODUCT_VECTORS]; /* which columns of C hold sums to go on from: none in the first slab */
  LLVMValueRef panel, panel_stride;           /* B: address of its first element, elements from k to k + 1 */
} laze_product;

/* How B's panels are read: where they lie if `packs` (an i1) is false, from a copy if it is true or NULL. */
LLVMValueRef laze_product_packs(const laze_product *p);
/* Sets panel and panel_stride for the slab and column of `p`, copying what has to be copied. */
LAZE_MUST_USE laze_status laze_product_panel(laze_product *p, LLVMValueRef packs);

static inline LLVMValueRef number(const laze_product *p, int64_t value) {
  return laze_lower_integer(p->l, value);
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
/* As laze_lower_splat etc., for this product's number of lanes. */
LLVMValueRef laze_product_splat(const laze_product *p, LLVMValueRef scalar);
LLVMValueRef laze_product_lane_numbers(const laze_product *p, LLVMTypeRef element);
/* Lanes below `remaining`, an i64 that may be negative. */
LLVMValueRef laze_product_mask(const laze_product *p, LLVMValueRef remaining);

#endif
