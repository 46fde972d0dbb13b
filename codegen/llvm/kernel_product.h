/* A matrix product as it is being lowered: kernel_matrix.c walks over it, kernel_tile.c computes a tile of C,
 * kernel_panel.c brings A and B into shape, kernel_row.c has another way for few rows. */
#ifndef LAZE_CODEGEN_LLVM_KERNEL_PRODUCT_H
#define LAZE_CODEGEN_LLVM_KERNEL_PRODUCT_H

#include "codegen/llvm/kernel.h"

#include <string.h>

#define LAZE_COPY_ROWS 48 /* fewest rows for which copying a contiguous B pays off */

/* A tile of C: what is computed in registers at once. */
typedef struct laze_tile {
  int rows, vectors; /* vectors: registers of its width, which is the panel's */
} laze_tile;
#define LAZE_TILE_ROWS 6
#define LAZE_TILE_VECTORS 4
#define LAZE_TILE_SUMS 24 /* registers, most */
#define LAZE_PART_ROWS 72 /* most rows whose chains are kept on the stack; a multiple of a tile's */
/* Rows for which columns of so many panels take turns in pieces of so many k, so that B is read along its rows: their
 * chains have to fit where those of a part do. */
#define LAZE_FEW_ROWS 8
#define LAZE_FEW_PANELS 8
#define LAZE_FEW_DEPTH 32
#define LAZE_SPAN 128 /* most k of a chain that tiles take at once: so much of a panel stays in the nearest cache */

/* How a matrix lies along an axis: the last digit's stride, and for further ones the extent of the one below and the
 * stride. */
typedef struct laze_product_axis {
  LLVMValueRef last, extents[LAZE_LOOP_PRODUCT_DIGITS], strides[LAZE_LOOP_PRODUCT_DIGITS];
  int count; /* of further ones */
} laze_product_axis;

/* The panel's columns where they have digits, in runs that differ in the last digit alone: run r has those from
 * starts[r] up to starts[r + 1], and begins at places[r]. */
typedef struct laze_product_runs {
  LLVMValueRef starts, places, count; /* addresses of i64s; an i64 */
} laze_product_runs;

typedef struct laze_product {
  laze_llvm_kernel *l;
  laze_dtype dtype;
  LLVMTypeRef element, vector;
  int lanes; /* of a register */
  laze_tile tile;
  int64_t a, b, c; /* buffers */
  LLVMValueRef operands[LAZE_LOOP_PRODUCT_FIXED];
  laze_product_axis k, j, result; /* depth and columns of B, columns of C */
  LLVMValueRef is_chain, chains;  /* whether an element is one chain; how many it is in a block */
  /* The block of k, of which `column` and `masks` say which columns are at hand. */
  LLVMValueRef block_k, block_depth, column, masks[LAZE_TILE_VECTORS];
  LLVMValueRef is_full;                /* whether the panel has all columns of a full one, an i1 */
  LLVMValueRef is_wide;                /* whether it has more than one register's, an i1 */
  bool is_narrow;                      /* tiles are one register wide, some of whose columns may not be there */
  laze_product_runs runs, result_runs; /* of B and of C */
  LLVMValueRef few;                    /* whether there are few rows, an i1; NULL: it makes no difference */
  /* The piece of the block: its first k in that, how many it has, and whether it is the last one. */
  LLVMValueRef piece_k, piece_depth, is_last;
  LLVMValueRef panel_place; /* of the panel among those that take turns */
  /* B's panel: where its first k is, and elements from one chain to the next and from one k of a chain to the next. */
  LLVMValueRef panel, panel_chain, panel_stride;
  LLVMValueRef first_row, row_end; /* the part, of A and C */
  /* A, in row 0: likewise. */
  LLVMValueRef a_start, a_chain, a_step;
  /* The span: `depth` k of a chain, the first of which is there in row 0 of A, and in B. */
  LLVMValueRef depth, span_a, span_b;
  LLVMValueRef out, out_row; /* where sums go: address of row 0, elements from one row to the next */
  LLVMValueRef resumes;      /* whether they begin with what is there */
} laze_product;

/* Whether B's panels are copied, an i1; NULL: they are in any case. */
LLVMValueRef laze_product_copies_b(const laze_product *p);
/* Sets what `p` says of its panel for the block and column at hand, after copying what has to be copied. */
LAZE_MUST_USE laze_status laze_product_prepare_b(laze_product *p, LLVMValueRef copies);
/* Sets what `p` says of A's rows for the block at hand, after copying it where rows lie next to each other, so that k
 * do not lie far apart. */
LAZE_MUST_USE laze_status laze_product_prepare_a(laze_product *p);
/* Notes how the panel's columns lie, where they have digits. */
LAZE_MUST_USE laze_status laze_product_find_runs(laze_product *p);
/* Loops over runs and the registers of each; gives the register's first column in the panel, which of its columns the
 * run has, and where it lies from the matrix's row on. */
typedef struct laze_product_walk {
  laze_counted_loop runs, registers;
  LLVMValueRef column, mask, place;
} laze_product_walk;
LAZE_MUST_USE laze_status laze_product_open_runs(laze_product *p, const laze_product_runs *runs, LLVMValueRef stride,
                                                 laze_product_walk *out);
void laze_product_close_runs(laze_product *p, laze_product_walk *walk);

/* A condition's two sides; what comes next follows both. */
typedef struct laze_product_branch {
  LLVMBasicBlockRef other, after;
} laze_product_branch;
laze_product_branch laze_product_open_branch(const laze_product *p, LLVMValueRef condition);
void laze_product_other_side(const laze_product *p, laze_product_branch at);
void laze_product_close_branch(const laze_product *p, laze_product_branch at);

/* All rows of the part, a tile at a time. */
LAZE_MUST_USE laze_status laze_product_tiles(laze_product *p);

/* Whether the whole block is computed without a copy of B, by laze_product_rows, an i1; NULL: it never is. */
LLVMValueRef laze_product_takes_rows(const laze_product *p);
LAZE_MUST_USE laze_status laze_product_rows(const laze_product *p);

/* Room on the stack for a part's chains. */
LLVMValueRef laze_product_partial(const laze_product *p);
/* A register of C = the block's total, to which C is added first where it holds the blocks before. */
void laze_product_add_total(const laze_product *p, LLVMValueRef total, LLVMValueRef to, LLVMValueRef mask);

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
static inline LLVMValueRef choose(const laze_product *p, LLVMValueRef condition, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildSelect(p->l->e.builder, condition, a, b, "");
}
static inline LLVMValueRef at_least_one(const laze_product *p, LLVMValueRef value) {
  LLVMValueRef one = number(p, 1);
  return choose(p, LLVMBuildICmp(p->l->e.builder, LLVMIntSLT, value, one, ""), one, value);
}
/* The address `elements` further on. */
static inline LLVMValueRef advance(const laze_product *p, LLVMValueRef pointer, LLVMValueRef elements) {
  return LLVMBuildGEP2(p->l->e.builder, p->element, pointer, &elements, 1, "");
}
/* The address of register `v` from a row's address on. */
static inline LLVMValueRef at_register(const laze_product *p, LLVMValueRef pointer, int v) {
  return advance(p, pointer, number(p, (int64_t)v * p->lanes));
}
/* A count of k, divided by the number of chains: 1, or 4. */
static inline LLVMValueRef laze_product_by_chains(const laze_product *p, LLVMValueRef count) {
  LLVMValueRef shift = LLVMBuildSelect(p->l->e.builder, p->is_chain, number(p, 0), number(p, 2), "");
  return LLVMBuildLShr(p->l->e.builder, count, shift, "");
}
/* The same number, of which LLVM knows no more: what it works out about a counter in all loops within (in Loop Strength
 * Reduction) takes longer than the rest of a product, and only the innermost loop gains by it. */
static inline LLVMValueRef laze_product_opaque(const laze_product *p, LLVMValueRef counter) {
  LLVMTypeRef i64 = LLVMTypeOf(counter), type = LLVMFunctionType(i64, &i64, 1, false);
  LLVMValueRef nothing =
      LLVMGetInlineAsm(type, "", 0, "=r,0", strlen("=r,0"), false, false, LLVMInlineAsmDialectATT, false);
  return LLVMBuildCall2(p->l->e.builder, type, nothing, &counter, 1, "");
}
/* Columns of a full panel, which a chain's tile is as wide as. */
static inline int64_t laze_product_width(const laze_product *p) {
  return (int64_t)p->lanes * p->tile.vectors;
}
/* The sum of two elements of C. */
static inline LLVMValueRef laze_product_add(const laze_product *p, LLVMValueRef a, LLVMValueRef b) {
  return laze_dtype_is_float(p->dtype) ? LLVMBuildFAdd(p->l->e.builder, a, b, "") : add(p, a, b);
}
/* Where the kernel's scratch is. */
static inline LLVMValueRef laze_product_scratch(const laze_product *p) {
  return LLVMGetParam(p->l->function, 3);
}
/* As laze_llvm_splat etc., for this product's number of lanes. */
LLVMValueRef laze_product_splat(const laze_product *p, LLVMValueRef scalar);
LLVMValueRef laze_product_lane_numbers(const laze_product *p, LLVMTypeRef element);
/* Lanes below `remaining`, an i64 that may be negative. */
LLVMValueRef laze_product_mask(const laze_product *p, LLVMValueRef remaining);

#endif
