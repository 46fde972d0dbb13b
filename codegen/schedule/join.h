/* What operators mean to the scheduler: all that its files ask about one, in the words below. Those that move, make or
 * index elements and products name one of these in their entry (`lower: slice` is laze_join_slice); elementwise
 * operators, reductions and scans join by class. Constants and parameters compute nothing: the graph says which they
 * are. */
#ifndef LAZE_CODEGEN_SCHEDULE_JOIN_H
#define LAZE_CODEGEN_SCHEDULE_JOIN_H

#include "ir/op.h"

struct laze_joiner;
struct laze_needs;
struct laze_routine;
struct laze_step_control;

/* A matrix product, which is a kernel of its own: how operands and result lie, a letter for each axis.
 *
 *   result[b, m, n] = sum over k of operands[0][b, m, k] * operands[1][b, k, n]
 *
 * b, m, n and k stand for batch, rows, columns and depth; one that is nowhere has size 1. Operands have theirs in any
 * order. The columns come last in the result. */
typedef struct laze_product {
  const char *operands[2], *result; /* {"mk", "kn"}, "mn" */
} laze_product;

/* Operands one after the other: each element is one of some operand, and the result is stored piece by piece. */
typedef struct laze_concatenation {
  int32_t dim; /* the attribute that names the axis along which they lie */
} laze_concatenation;

/* Elements of operand 2 written into operand 0, along an axis where operand 1 says. */
typedef struct laze_scatter {
  int32_t dim, reduce; /* the attributes that name the axis, and how an element is joined with what is there */
  bool by_list;        /* an index for each slice; otherwise for each element */
} laze_scatter;

typedef struct laze_join {
  bool computes; /* each element, from those of its operands at the same place */
  bool reduces;  /* each element, from many of its operand */
  bool folds;    /* many elements of its operand to one, by its region */
  bool indexes;  /* each element is one of operand 0, where operand 1 says; every index is checked */
  bool updates;  /* operand 0 with operand 1 in it, where operand 2 says: written into it where nobody else reads it */
  bool pass_through;           /* nothing is computed: readers look through the node at its operand */
  bool pads;                   /* each element is one of operand 0, or operand 1 */
  bool keeps_order;            /* whose elements are these, in this order */
  bool is_made;                /* of no operand, for next to nothing: computed in every group that uses it */
  bool has_own_map;            /* the element is what its map says: instances are at another map than their uses */
  const laze_scatter *scatter; /* NULL: none */
  const laze_concatenation *concatenation; /* NULL: none */
  const laze_product *product;             /* NULL: none */
  const struct laze_routine *routine;      /* a kernel of the runtime computes the node; NULL: none does */
  const struct laze_step_control *control; /* how the runtime goes through regions; NULL: it does not */
  /* What the node needs of its operands at a map; *possible is false where no map says it. NULL: nothing does. */
  laze_status (*needs)(struct laze_joiner *join, struct laze_needs *out, bool *possible);
} laze_join;

extern const laze_join laze_join_reshape, laze_join_bitcast, laze_join_expand, laze_join_permute, laze_join_slice,
    laze_join_cat, laze_join_iota, laze_join_size_tensor, laze_join_gather, laze_join_index_select,
    laze_join_dynamic_slice, laze_join_dynamic_update, laze_join_scatter, laze_join_index_update, laze_join_reduce,
    laze_join_mm, laze_join_bmm, laze_join_sort, laze_join_sorted_head, laze_join_linalg, laze_join_fft,
    laze_join_opaque, laze_join_if, laze_join_while, laze_join_scan, laze_join_flip, laze_join_window, laze_join_pad;

/* How an operator joins: never NULL. One that does not at all has neither needs nor a product nor control. */
const laze_join *laze_schedule_join_of(laze_op op);

/* NULL where operators join by class or not at all. Generated. */
const laze_join *laze_join_find(laze_op op);

#endif
