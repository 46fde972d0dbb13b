/* The walk as a stack of blocks: on top is the block being walked, with the number of its next node, or, while that
 * node's regions are visited, the number of the next region. */
#include "ir/walk.h"

static void enter(laze_walk *walk, const laze_block *block) {
  walk->frames[walk->depth++] = (laze_walk_frame){.block = block, .region = -1};
  walk->entering = true;
}

void laze_walk_begin_block(laze_walk *walk, const laze_graph *graph, const laze_block *block) {
  walk->graph = graph;
  walk->depth = 0;
  enter(walk, block);
}

void laze_walk_begin(laze_walk *walk, const laze_graph *graph) {
  laze_walk_begin_block(walk, graph, graph->body);
}

/* Inside a node with regions: its next region, or its end. */
static laze_walk_event next_region(laze_walk *walk, laze_walk_frame *frame) {
  int32_t number = frame->block->nodes[frame->next];
  const laze_node *node = &walk->graph->nodes[number];
  if (frame->region < node->region_count) {
    int32_t region = frame->region;
    frame->region = frame->alone ? node->region_count : region + 1;
    frame->alone = false;
    enter(walk, node->regions[region]);
    return laze_walk_next(walk);
  }
  frame->region = -1;
  frame->next++;
  walk->block = frame->block;
  walk->node = number;
  return LAZE_WALK_NODE_END;
}

laze_walk_event laze_walk_next(laze_walk *walk) {
  if (walk->depth == 0) return LAZE_WALK_DONE;
  laze_walk_frame *frame = &walk->frames[walk->depth - 1];
  walk->block = frame->block;
  if (walk->entering) {
    walk->entering = false;
    return LAZE_WALK_BLOCK;
  }
  if (frame->region >= 0) return next_region(walk, frame);
  if (frame->next == frame->block->node_count) {
    walk->depth--;
    return LAZE_WALK_BLOCK_END;
  }
  walk->node = frame->block->nodes[frame->next];
  if (walk->graph->nodes[walk->node].region_count > 0)
    frame->region = 0;
  else
    frame->next++;
  return LAZE_WALK_NODE;
}

void laze_walk_skip(laze_walk *walk) {
  laze_walk_frame *frame = &walk->frames[walk->depth - 1];
  if (frame->region < 0) return;
  frame->region = -1;
  frame->next++;
}

void laze_walk_choose(laze_walk *walk, int32_t region) {
  laze_walk_frame *frame = &walk->frames[walk->depth - 1];
  frame->region = region;
  frame->alone = true;
}
