/* The cheapest cut of a directed graph, by the largest flow (Dinic's algorithm): which edges to cut so that nothing
 * gets from the source to the sink. */
#ifndef LAZE_IR_FLOW_H
#define LAZE_IR_FLOW_H

#include "base/context.h"
#include "base/status.h"

#include <stdbool.h>

/* What no cut goes through. Sums of others are bounded by it. */
#define LAZE_FLOW_UNBOUNDED ((int64_t)1 << 61)

typedef struct laze_flow_edge {
  int32_t to, next; /* the next edge of where it comes from; -1: none */
  int64_t room;     /* what can still flow */
} laze_flow_edge;

/* Zero-initialise but for the context; laze_flow_deinit() frees it. */
typedef struct laze_flow {
  laze_context *context;
  laze_flow_edge *edges; /* each followed by the way back */
  int64_t edge_count, edge_capacity;
  int32_t *first; /* by vertex: its edges; -1: none */
  int32_t *level, *at, *queue;
  int32_t vertex_count;
} laze_flow;

LAZE_MUST_USE laze_status laze_flow_init(laze_flow *flow, laze_context *context, int32_t vertex_count,
                                         laze_error *error);
void laze_flow_deinit(laze_flow *flow);
LAZE_MUST_USE laze_status laze_flow_connect(laze_flow *flow, int32_t from, int32_t to, int64_t room, laze_error *error);
/* Finds the largest flow, and returns it. Afterwards laze_flow_reaches() tells on which side of the cut, which is the
 * one nearest to the source, a vertex is. */
int64_t laze_flow_run(laze_flow *flow, int32_t source, int32_t sink);
static inline bool laze_flow_reaches(const laze_flow *flow, int32_t vertex) {
  return flow->level[vertex] >= 0;
}

#endif
