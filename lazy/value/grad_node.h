/* The backward graph. A call one of whose operands requires a gradient leaves a node behind, which keeps what its
 * formulas need (ir/derivative.h), and edges to where the operands come from:
 *
 *   y = mul(x, w)      handle of y ──edge──> node of mul ──edges──> leaf of x, leaf of w
 *                                            saves w for x's gradient, x for w's
 *
 * A leaf is a node without formula: the gradient of a tensor is kept there, as a tensor of which those that the caller
 * asks for are views (lazy/value/view.h): all see what passes add and what is written. A function is a node whose
 * gradients the caller computes. Edges point from newer nodes to older ones (`number`), so that there are no cycles,
 * and a walk by falling numbers meets each node after all that use it. (The history of a leaf's gradient may lead back
 * to the leaf, but it goes with the leaf's last tensor.) All functions are called with the context's lock held.
 */
#ifndef LAZE_LAZY_VALUE_GRAD_NODE_H
#define LAZE_LAZY_VALUE_GRAD_NODE_H

#include "ir/op.h"
#include "laze/gradient_node.h"
#include "lazy/value/callback.h"

typedef struct laze_cell laze_cell;
typedef struct laze_grad_node laze_grad_node;
typedef struct laze_lazy laze_lazy;
typedef struct laze_slot laze_slot;
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
  bool dropped;          /* it would be, and is computed again for that (lazy/autograd/checkpoint.c) */
  int64_t bytes;         /* of what is held, as far as its sizes were known then */
  laze_storage *storage; /* of the tensor that it was, referenced; NULL: it was no tensor of the caller's */
  int64_t version;       /* of the storage then */
} laze_saved;

/* A hook: of a tensor, which is result `result` of the node, or of the node itself. */
typedef enum { LAZE_HOOK_OF_TENSOR, LAZE_HOOK_OF_LEAF, LAZE_HOOK_OF_RESULTS, LAZE_HOOK_OF_OPERANDS } laze_hook_place;

typedef struct laze_grad_hook {
  laze_callback callback;
  struct laze_grad_hook *next;     /* of the node, in the order in which they were registered; referenced */
  struct laze_grad_hook *previous; /* the same; of the first one: the last */
  laze_grad_node *node;            /* borrowed; NULL: it is registered no longer */
  int64_t id;
  laze_hook_place place;
  int32_t result;
  laze_tensor_hook of_tensor; /* of the first two places */
  laze_node_hook of_node;     /* of the others */
} laze_grad_hook;

/* A result whose gradient is kept although it is no leaf's: where, as if it were one. */
typedef struct laze_grad_retained {
  struct laze_grad_retained *next;
  laze_edge place; /* referenced */
  int32_t result;
} laze_grad_retained;

/* What a function's node calls instead of formulas. */
typedef struct laze_grad_function {
  laze_callback callback;
  laze_function_code backward; /* NULL: an error */
  laze_function_code jvp;      /* NULL: follows from backward */
  int32_t flags;
  laze_edge forward;      /* of the node of a function's tangents: that function's node, referenced */
  laze_edge *saved_edges; /* of what its node has saved, referenced but for those to the node itself */
  char name[];
} laze_grad_function;

/* Calls whose operands are not kept for their gradients, but computed again. Its data is there for as long as one of
 * its nodes is, which know it, and are known to it. */
typedef struct laze_grad_checkpoint {
  laze_callback callback;
  laze_checkpoint_code code;
  laze_grad_node **nodes; /* of its calls, in the order of recording, borrowed; NULL: it has gone. Of the context */
  int32_t node_count, nodes_alive, input_count, output_count;
  bool filled;        /* nodes have what was computed again */
  laze_saved *inputs; /* what it was called with; of no cell: NULL */
  bool *required;     /* of each, whether it required a gradient */
} laze_grad_checkpoint;

struct laze_grad_node {
  laze_grad_node *next; /* among those that are to be freed, or that a walk is to visit */
  int64_t references;   /* of edges: of handles, nodes, frames, and backward passes */
  int64_t block_size;
  uint64_t number; /* of the context, by age; 0: not yet */
  uint64_t mark;   /* the backward pass in which it is node `position` */
  int64_t position;
  laze_op op; /* LAZE_OP_NONE: a leaf, or a function */
  laze_location location;
  laze_grad_function *function; /* referenced; NULL: none */
  laze_grad_hook *hooks;        /* the first one */
  laze_grad_retained *retained;
  laze_grad_checkpoint *checkpoint; /* referenced; NULL: none */
  int32_t checkpoint_place;         /* in it */
  bool dropped;                     /* what it saved has to be computed again */
  int32_t operand_count, result_count, saved_count;
  laze_edge *edges;        /* of the operands; a leaf has none */
  laze_saved *saved;       /* of the operands, then of the results; of a function: what it says */
  const int64_t *types;    /* of operands and results: laze_type_word() and sizes */
  const int32_t *segments; /* NULL: each is 1 */
  laze_attribute *attributes;
  /* Of a node whose attributes have sizes that are not known yet: its neighbours among those, and what defines the
   * sizes, referenced, so that they stand for something (lazy/value/unknown.h). */
  laze_grad_node *older, *newer;
  laze_cell **definers;
  int32_t definer_count;
  bool unknown;
  bool lost;       /* of these sizes some cannot be computed */
  bool released;   /* what was saved is gone: a backward pass has used it */
  bool in_use;     /* a pass that is not over has reached it, and lets go of that at its end */
  bool resting;    /* of a leaf: its tensor requires no gradient, and nothing is added to the one that it keeps */
  int64_t handles; /* how many tensors of the caller's have their gradient here */
  laze_slot
      *gradient; /* of a leaf: what has come together so far, a tensor that nobody has a handle of; NULL: nothing */
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
  return node->op == LAZE_OP_NONE && !node->function;
}
/* The operator's name, or the function's, or "leaf". */
const char *laze_grad_node_name(const laze_grad_node *node);
/* The type that a node has of a value, and where the next one's stands. */
const int64_t *laze_grad_type_read(const int64_t *words, laze_type *out);

/* Keeps a value; `storage` may be NULL. */
void laze_saved_keep(laze_lazy *lazy, laze_saved *saved, laze_cell *cell, laze_storage *storage);
/* The tensor of `storage` gets another value: what the nodes behind `edge` that are younger than `since` have saved of
 * it stays right, as they were made for that value, and is no tensor's any more. */
void laze_grad_edge_disown(laze_lazy *lazy, laze_edge edge, uint64_t since, const laze_storage *storage);
/* Lets go of one, whatever it kept. */
void laze_saved_release(laze_lazy *lazy, laze_saved *saved);
/* Lets go of values that are needed, which can be computed again; of a tensor that somebody has it is remembered which
 * version it was. */
void laze_grad_node_drop_saved(laze_lazy *lazy, laze_grad_node *node);
/* Has a node belong to a checkpoint, at its place there. */
void laze_grad_checkpoint_enter(laze_grad_checkpoint *checkpoint, laze_grad_node *node, int32_t place);
/* Lets go of what a node has saved. */
void laze_grad_node_release_saved(laze_lazy *lazy, laze_grad_node *node);
/* The node has unknown sizes in its attributes, and references to what defines them: it learns their numbers. */
void laze_grad_node_note_unknown(laze_lazy *lazy, laze_grad_node *node);
/* A tensor of the caller's has its gradient at the node (NULL: nowhere), or has it there no longer: gradients that are
 * kept where no tensor is go, because nobody can ask for them. So a gradient whose history leads back to where it is
 * kept keeps nothing alive. */
void laze_grad_node_enter(laze_grad_node *node);
void laze_grad_node_leave(laze_lazy *lazy, laze_grad_node *node);
/* Where the gradient of a result is kept: the leaf itself, or a place beside the node; NULL: it is not. */
laze_grad_node *laze_grad_place(laze_edge edge);
/* Has the gradient of a result kept; false when memory is out. */
bool laze_grad_retain_result(laze_lazy *lazy, laze_edge edge);
/* A tensor whose gradient went to `from` has it at `to` from now on: so has the place where it is kept beside the node,
 * which is for what the tensor is then. */
void laze_grad_retained_move(laze_lazy *lazy, laze_edge from, laze_edge to);
/* Registers a hook with a node, behind those that it has; takes the reference over, unless memory is out (false). */
bool laze_grad_hook_add(laze_lazy *lazy, laze_grad_node *node, laze_grad_hook *hook);
/* The registered hook of that id, or NULL. */
laze_grad_hook *laze_grad_hook_find(const laze_lazy *lazy, int64_t id);
/* Has it called no more, unless it is being called. */
void laze_grad_hook_remove(laze_lazy *lazy, laze_grad_hook *hook);
/* Gives a leaf another gradient, which is taken over (laze_slot_create_kept()); NULL: none. */
void laze_grad_leaf_set(laze_lazy *lazy, laze_grad_node *leaf, laze_slot *gradient);

#endif
