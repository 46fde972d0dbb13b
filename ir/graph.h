/* Graphs: nodes in an arena, blocks that order them, values that connect them.
 *
 * A graph owns its arena: nodes, attributes, names and the size table die with it. Nodes are appended and never
 * removed: a pass makes a new graph (ir/rewrite.h). A block lists its nodes in an order in which operands come before
 * users; regions are blocks that belong to a node. Not thread-safe while being built; a finished graph may be read by
 * many threads.
 */
#ifndef LAZE_IR_GRAPH_H
#define LAZE_IR_GRAPH_H

#include "ir/op.h"
#include "laze/graph.h"

/* Regions nest at most this deep, so that every traversal works with a fixed stack (ir/walk.h). */
#define LAZE_MAX_NESTING 64

typedef struct laze_block laze_block;

typedef struct laze_node {
  laze_op op;
  laze_op origin; /* the composite it came from; outside equality */
  int32_t operand_count, result_count, region_count;
  const laze_value *operands;
  const int32_t *segments;          /* as in laze_call */
  const laze_attribute *attributes; /* info->attribute_count */
  const laze_type *const *types;    /* one per result; a type may be shared between nodes */
  laze_block **regions;
  const char *name;       /* of a parameter, or what a front end calls the node, or NULL; outside equality */
  laze_location location; /* outside equality */
} laze_node;

struct laze_block {
  laze_block *parent;  /* the block that holds the node whose region this is; NULL for the body */
  int32_t *parameters; /* nodes with op LAZE_OP_PARAMETER */
  int64_t parameter_count, parameter_capacity;
  int32_t *nodes; /* without parameters, operands before users */
  int64_t node_count, node_capacity;
  laze_value *results; /* what `return` gives */
  int64_t result_count;
  int32_t depth; /* 0: the body */
};

/* A blob that a graph holds. */
typedef struct laze_held {
  struct laze_held *next;
  struct laze_blob *blob;
  int64_t size;
} laze_held;

struct laze_graph {
  _Atomic int64_t references; /* of callers (laze/graph.h) */
  laze_context *context;      /* retained, unless borrows_context */
  bool borrows_context;       /* the context's own cache holds the graph */
  laze_arena arena;
  laze_size_table *sizes;
  const char *name;
  laze_node *nodes; /* by number, over all blocks */
  int64_t node_count, node_capacity;
  laze_block *body;
  struct laze_signature *signature;   /* what inputs and results are for (ir/signature.h); NULL: nothing is said */
  const laze_type *const *last_types; /* of the last node that needed a type of its own: the next may share it */
  laze_held *held;                    /* elements of constants that it shares with other graphs */
  const struct laze_module *module;   /* that has it (ir/module.h); NULL: none */
  int64_t module_index;               /* its place there: calls are of functions before it */
  bool is_function;                   /* only called */
  bool shares_sizes;                  /* the table is another graph's, while a pass rewrites that one */
};

/* The end of a graph that nobody shares. NULL is ignored. */
void laze_graph_destroy(laze_graph *graph);
/* Gives back the memory that is there for further nodes. */
void laze_graph_trim(laze_graph *graph);
/* Bytes it takes, without a table of sizes that it shares. */
int64_t laze_graph_bytes(const laze_graph *graph);
/* For a graph that an object of the context will hold: from now on it does not keep the context alive, which would be a
 * circle. The caller has a reference of its own. */
void laze_graph_give_to_context(laze_graph *graph);
/* Undoes that, for a graph that leaves the context's object. */
void laze_graph_take_from_context(laze_graph *graph);

/* Holds a blob (base/blob.h) of `size` bytes for as long as the graph lives. Nodes whose attributes have one make it do
 * so by themselves. */
LAZE_MUST_USE laze_status laze_graph_hold(laze_graph *graph, struct laze_blob *blob, int64_t size, laze_error *error);

/* Appends a parameter to a block (the body: an input of the graph). `name` is copied, NULL makes "arg<i>". */
LAZE_MUST_USE laze_status laze_graph_add_parameter(laze_graph *graph, laze_block *block, const char *name,
                                                   const laze_type *type, laze_value *out, laze_error *error);
/* Appends a node to `block`: infers its types; copies operands, attributes and strings. Does not expand composites: the
 * operator must have an `infer`. `results` receives info->result_count values. */
LAZE_MUST_USE laze_status laze_graph_append(laze_graph *graph, laze_block *block, const laze_call *call,
                                            laze_value *results, laze_error *error);
/* A new empty region below `parent`, to be filled and given to laze_graph_append_region_node. Regions see no values of
 * the blocks around them. Refused below LAZE_MAX_NESTING. */
LAZE_MUST_USE laze_status laze_graph_add_region(laze_graph *graph, laze_block *parent, laze_block **out,
                                                laze_error *error);
/* Appends a node with regions; its types follow from the regions and are checked by the operator's rule
 * (ir/control.h). *first_result is its result 0; how many it has stands in the node. */
LAZE_MUST_USE laze_status laze_graph_append_region_node(laze_graph *graph, laze_block *block, const laze_call *call,
                                                        laze_block *const *regions, laze_value *first_result,
                                                        laze_error *error);
/* Sets what the block returns; copied. */
LAZE_MUST_USE laze_status laze_block_set_results(laze_graph *graph, laze_block *block, const laze_value *values,
                                                 int64_t count, laze_error *error);

static inline const laze_node *laze_graph_node(const laze_graph *graph, laze_value value) {
  return &graph->nodes[value.node];
}
static inline const laze_type *laze_graph_type(const laze_graph *graph, laze_value value) {
  return graph->nodes[value.node].types[value.result];
}
/* The elements of a constant, which live as long as the node; NULL: it is none. */
const laze_data *laze_node_constant(const laze_node *node);
/* Puts the node's name, and the place that a front end gave, before the message; returns the error's code. */
laze_status laze_node_name_error(const laze_node *node, laze_error *error);
/* The node as a call, for rules and helpers that take one; borrows the node's arrays. */
laze_call laze_node_call(const laze_node *node);

/* A copy of a graph that shares nothing with it. All its symbols are defined by nodes. Owned by the caller. */
LAZE_MUST_USE laze_status laze_graph_copy(const laze_graph *graph, laze_graph **out, laze_error *error);

/* Structural equality: operators, attributes, wiring, types, regions, inputs and outputs; not names (of symbols
 * neither), locations and origins. Where they differ, the first difference is appended to `difference` (may be NULL).
 * False as well, without a difference, when memory is out. */
bool laze_graph_equal(const laze_graph *a, const laze_graph *b, laze_text *difference);
/* The same, but sizes that laze_graph_symbolise turns into symbols may differ: `b` can run what was compiled from the
 * symbolised `a`, with its own laze_graph_bindings, if the recorded facts hold. Facts that composites asked while they
 * expanded must be the same, too. */
bool laze_graph_equal_but_sizes(const laze_graph *a, const laze_graph *b, laze_text *difference);
/* The key of what laze_graph_equal compares, or, with `with_sizes` false, of what laze_graph_equal_but_sizes compares.
 * All zero when memory is out: keys are confirmed by comparison. */
laze_hash laze_graph_hash(const laze_graph *graph, bool with_sizes);

/* Whether laze_graph_symbolise makes a symbol of this size: a constant of 1 or more, so that a batch of one runs what
 * was compiled for others. A 1 in a list attribute (`listed`), which is mostly an axis that somebody put in, stays 1,
 * and so does 0, and what is 2^62 or more, which is how callers say "to the end". */
bool laze_size_is_symbolised(laze_size size, bool listed);
/* A copy in which every such constant in an input's type or in a size attribute becomes a symbol with that value as
 * hint, so that what is compiled from it is generic in sizes; symbols that nodes define stay, with -1 for a value.
 * Types are inferred anew. The sizes of operators with data
 * (`constant`) stay. `bindings` receives the symbols' values in order (allocated from the copy's arena). */
LAZE_MUST_USE laze_status laze_graph_symbolise(const laze_graph *graph, laze_graph **out, const int64_t **bindings,
                                               laze_error *error);
/* The sizes of a graph that laze_graph_symbolise would turn into symbols, in the same order: the bindings of a graph
 * that shares the structure of another. Writes at most `capacity`, returns how many there are. */
int64_t laze_graph_bindings(const laze_graph *graph, int64_t *bindings, int64_t capacity);

#endif
