/* Makes a new graph from another, node by node: the way every pass works.
 *
 * The source's blocks are walked in order. Each node is offered to the `node` hook, which may replace it by recording
 * other nodes in `target` or by naming values that are there already; otherwise it is copied with its operands mapped.
 * What is copied shares attributes and types with the source, so that copying a node costs one small allocation: the
 * target lives no longer than the source until laze_graph_take (ir/graph_internal.h) moves the memory.
 */
#ifndef LAZE_IR_REWRITE_H
#define LAZE_IR_REWRITE_H

#include "ir/graph.h"
#include "ir/walk.h"

typedef struct laze_rewrite laze_rewrite;

typedef struct laze_rewrite_hooks {
  void *self;
  /* Replaces node `number` of the source: sets *replaced and maps its results with laze_rewrite_map. Nodes with regions
   * are offered to `region`. NULL: none is replaced. */
  laze_status (*node)(laze_rewrite *rewrite, void *self, int32_t number, bool *replaced, laze_error *error);
  /* Puts a region of node `number`, which has some, in its place: sets *region to the region's number. Its parameters
   * become the node's operands, and the node's results what it returns. NULL: no node is replaced so. */
  laze_status (*region)(laze_rewrite *rewrite, void *self, int32_t number, int32_t *region, laze_error *error);
  /* Node `number`, which has regions, is about to be copied: may record what it reads, and open blocks around its
   * regions by setting rewrite->block. NULL: none are. */
  laze_status (*open)(laze_rewrite *rewrite, void *self, int32_t number, laze_error *error);
  /* Its regions are in rewrite->block, and are copies: may give them to another node, leave the blocks that `open` has
   * opened, set *replaced and map the results. NULL: the node is copied. */
  laze_status (*close)(laze_rewrite *rewrite, void *self, int32_t number, laze_block *const *regions, bool *replaced,
                       laze_error *error);
  /* Whether source node `number`, with its regions, goes on existing; NULL: every one does. */
  bool (*keep)(const laze_rewrite *rewrite, void *self, int32_t number);
  /* Changes the type that parameter `index` of a block gets; NULL: it keeps the source's. */
  laze_status (*parameter)(laze_rewrite *rewrite, void *self, int32_t index, laze_type *type, laze_error *error);
  /* Hears of `count` more symbols in a table of the target's own, which the node at hand defines; NULL: nobody does. */
  laze_status (*defined)(laze_rewrite *rewrite, void *self, int32_t count, laze_error *error);
  /* Changes the sides of a fact that a target with a table of its own takes along; NULL: they stay. */
  laze_status (*fact)(laze_rewrite *rewrite, void *self, laze_fact *fact, laze_error *error);
  /* Where the target has a table of its own: the number of each of the source's symbols, but defined ones. NULL: the
   * source has defined ones alone. */
  const int64_t *numbers;
} laze_rewrite_hooks;

struct laze_rewrite {
  const laze_graph *source;
  laze_graph *target;
  const laze_rewrite_hooks *hooks;
  laze_block *block; /* of the target, being filled */
  laze_walk walk;    /* through the source */
  int64_t *offsets;  /* of each source node's results in `values` */
  laze_value *values;
  laze_size *sizes; /* by symbol of the source: what stands for it in a table of the target's own, or, in one table,
                       where the definer went; NULL: all are as they are */
  const char *file, *file_copy; /* the last name of a source file met, and what stands for it in the target */
  laze_value *operands;         /* scratch for one node */
  int64_t operand_capacity;
  laze_block *regions[LAZE_MAX_NESTING + 1][4]; /* of the nodes being copied, by depth */
  bool in_place[LAZE_MAX_NESTING + 1];          /* by depth: the region stands in its node's place */
};

/* `share_sizes`: the target shares the source's size table, and copies need no inference. Otherwise the target owns a
 * fresh table, every node is inferred anew, and its location names the source's node. Symbols become the numbers that
 * the hooks have; those that nodes define become new ones, of the same name where it is free, and sizes in attributes
 * and in types of parameters are expressions over these. */
LAZE_MUST_USE laze_status laze_rewrite_graph(const laze_graph *source, const laze_rewrite_hooks *hooks,
                                             bool share_sizes, laze_graph **out, laze_error *error);

/* The value of the target that stands for one of the source. */
static inline laze_value laze_rewrite_value(const laze_rewrite *rewrite, laze_value value) {
  return rewrite->values[rewrite->offsets[value.node] + value.result];
}
/* Says which values of the target stand for the results of a source node. */
void laze_rewrite_map(laze_rewrite *rewrite, int32_t number, const laze_value *values);
/* A source node as a call with mapped operands, valid until the next one. */
LAZE_MUST_USE laze_status laze_rewrite_call(laze_rewrite *rewrite, int32_t number, laze_call *out, laze_error *error);

#endif
