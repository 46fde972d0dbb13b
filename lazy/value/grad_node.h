/* The backward graph. A call one of whose operands requires a gradient leaves a node behind, which keeps what its
 * formulas need (ir/derivative.h), and edges to where the operands come from:
 *
 *   y = mul(x, w)      handle of y ──edge──> node of mul ──edges──> leaf of x, leaf of w
 *                                            saves w for x's gradient, x for w's
 *
 * A leaf is a node without formula: the gradient of a tensor is kept there. Edges point from newer nodes to older ones
 * (`number`), so that there are no cycles, and a walk by falling numbers meets each node after all that use it. (The
 * history of a leaf's gradient may lead back to the leaf, but it goes with the leaf's last tensor.) All functions are
 * called with the context's lock held.
 */
#ifndef LAZE_LAZY_VALUE_GRAD_NODE_H
#define LAZE_LAZY_VALUE_GRAD_NODE_H

#include "ir/op.h"

typedef struct laze_cell laze_cell;
typedef struct laze_grad_node laze_grad_node;
typedef struct laze_lazy laze_lazy;
typedef struct laze_storage laze_storage;

/* Where a value comes from, for gradients: a result of a node. */
typedef struct laze_edge {
  laze_grad_node *node; /* NULL: nowhere, it needs no gradient */
  int32_t result;
} laze_edge;

/* What is kept of an operand or a result. */
typedef struct laze_saved {
  laze_cell *cell;       /* referenced; NULL: of a type that `types` has, which is all that is needed */
  bool held;             /* its value is needed, so that runs store it */
  laze_storage *storage; /* of the tensor that it was, referenced; NULL: it was no tensor of the caller's */
  int64_t version;       /* of the storage then */
} laze_saved;

struct laze_grad_node {
  laze_grad_node *next; /* among those that are to be freed */
  int64_t references;   /* of edges: of handles, nodes, frames, and backward passes */
  int64_t block_size;
  uint64_t number; /* of the context, by age; 0: not yet */
  uint64_t mark;   /* the backward pass in which it is node `position` */
  int64_t position;
  laze_op op; /* LAZE_OP_NONE: a leaf */
  laze_location location;
  int32_t operand_count, result_count;
  laze_edge *edges;        /* of the operands; a leaf has none */
  laze_saved *saved;       /* of the operands, then of the results */
  const int64_t *types;    /* of these: laze_type_word() and sizes */
  const int32_t *segments; /* NULL: each is 1 */
  laze_attribute *attributes;
  /* Of a node whose attributes have sizes that are not known yet: its neighbours among those, and what defines the
   * sizes, referenced, so that they stand for something (lazy/value/unknown.h). */
  laze_grad_node *older, *newer;
  laze_cell **definers;
  int32_t definer_count;
  bool unknown;
  bool lost;           /* of these sizes some cannot be computed */
  bool released;       /* what was saved is gone: a backward pass has used it */
  int64_t handles;     /* of a leaf: how many tensors of the caller's it is the gradient's place of */
  laze_cell *gradient; /* of a leaf: what has come together so far, referenced and held; NULL: nothing */
  laze_edge history;   /* of that gradient */
};

static inline laze_edge laze_edge_retain(laze_edge edge) {
  if (edge.node) edge.node->references++;
  return edge;
}
/* Frees what nothing refers to any more, however long the chain behind it. */
void laze_edge_release(laze_lazy *lazy, laze_edge edge);

/* A node of `size` bytes, zeroed, with one reference, the youngest of the context; NULL: memory is out. */
laze_grad_node *laze_grad_node_create(laze_lazy *lazy, int64_t size);
/* A leaf: what keeps the gradient of a tensor. */
laze_grad_node *laze_grad_leaf_create(laze_lazy *lazy);
static inline bool laze_grad_node_is_leaf(const laze_grad_node *node) {
  return node->op == LAZE_OP_NONE;
}

/* Keeps a value; `storage` may be NULL. */
void laze_saved_keep(laze_saved *saved, laze_cell *cell, laze_storage *storage);
/* Lets go of what a node has saved. */
void laze_grad_node_release_saved(laze_lazy *lazy, laze_grad_node *node);
/* The node has unknown sizes in its attributes, and references to what defines them: it learns their numbers. */
void laze_grad_node_note_unknown(laze_lazy *lazy, laze_grad_node *node);
/* A tensor of the caller's has the leaf, or has it no longer: the gradient of a leaf that no tensor has goes, because
 * nobody can ask for it. So a gradient whose history leads to its own leaf keeps nothing alive. */
void laze_grad_leaf_enter(laze_grad_node *leaf);
void laze_grad_leaf_leave(laze_lazy *lazy, laze_grad_node *leaf);
/* Gives a leaf another gradient, whose reference of `cell` and of its history are taken over; NULL: none. */
void laze_grad_leaf_set(laze_lazy *lazy, laze_grad_node *leaf, laze_cell *cell, laze_edge history);

#endif
