/* Walks the nodes of a graph in order, into regions, without recursion:
 *
 *   BLOCK body                 a block starts; its parameters come before its nodes
 *     NODE %0                  a node without regions, or one with, before its regions
 *     NODE %1
 *       BLOCK ... BLOCK_END    each of its regions
 *     NODE_END %1              only for nodes with regions
 *   BLOCK_END body
 *   DONE
 */
#ifndef LAZE_IR_WALK_H
#define LAZE_IR_WALK_H

#include "ir/graph.h"

typedef enum {
  LAZE_WALK_BLOCK,
  LAZE_WALK_NODE,
  LAZE_WALK_NODE_END,
  LAZE_WALK_BLOCK_END,
  LAZE_WALK_DONE,
} laze_walk_event;

typedef struct laze_walk_frame {
  const laze_block *block;
  int64_t next;   /* index of the node to visit next in the block, or of the one whose regions are being visited */
  int32_t region; /* the region of that node to visit next; -1 outside nodes with regions */
  bool alone;     /* and no other after it */
} laze_walk_frame;

typedef struct laze_walk {
  const laze_graph *graph;
  int depth; /* number of open frames */
  bool entering;
  /* What the last event is about. */
  const laze_block *block;
  int32_t node;
  laze_walk_frame frames[LAZE_MAX_NESTING + 1];
} laze_walk;

void laze_walk_begin(laze_walk *walk, const laze_graph *graph);
/* The same for one block of it, which is the outermost one of the walk. */
void laze_walk_begin_block(laze_walk *walk, const laze_graph *graph, const laze_block *block);
/* The graph must not nest deeper than LAZE_MAX_NESTING (laze_graph_add_region sees to that). */
laze_walk_event laze_walk_next(laze_walk *walk);
/* After NODE: leaves out its regions, and NODE_END. */
void laze_walk_skip(laze_walk *walk);

/* After NODE: visits region `region` alone. */
void laze_walk_choose(laze_walk *walk, int32_t region);

/* At BLOCK and inside a region: the node whose region it is, -1 in the body. */
static inline int32_t laze_walk_owner(const laze_walk *walk) {
  if (walk->depth < 2) return -1;
  const laze_walk_frame *frame = &walk->frames[walk->depth - 2];
  return frame->block->nodes[frame->next];
}

#endif
