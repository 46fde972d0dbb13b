/* Dinic's algorithm: levels by breadth, then paths along ascending levels, until the sink has no level. The path is a
 * list of edges, so that long graphs need no stack.
 *
 *   source ──> a ──> b ──> sink      level 0, 1, 2, 3; an edge whose way back has room is an edge as well
 */
#include "ir/flow.h"

#include <string.h>

laze_status laze_flow_init(laze_flow *flow, laze_context *context, int32_t vertex_count, laze_error *error) {
  *flow = (laze_flow){.context = context, .vertex_count = vertex_count};
  flow->first = laze_alloc_array(context, vertex_count, sizeof *flow->first);
  flow->level = laze_alloc_array(context, vertex_count, sizeof *flow->level);
  flow->at = laze_alloc_array(context, vertex_count, sizeof *flow->at);
  flow->queue = laze_alloc_array(context, vertex_count, sizeof *flow->queue);
  if (!flow->first || !flow->level || !flow->at || !flow->queue) return laze_fail_memory(error, "a cut", -1);
  memset(flow->first, -1, (size_t)vertex_count * sizeof *flow->first);
  return LAZE_OK;
}

void laze_flow_deinit(laze_flow *flow) {
  laze_free(flow->context, flow->edges);
  laze_free(flow->context, flow->first);
  laze_free(flow->context, flow->level);
  laze_free(flow->context, flow->at);
  laze_free(flow->context, flow->queue);
}

laze_status laze_flow_connect(laze_flow *flow, int32_t from, int32_t to, int64_t room, laze_error *error) {
  void *array = flow->edges;
  if (flow->edge_count > INT32_MAX - 2)
    return laze_fail(error, LAZE_OUT_OF_RANGE, "a cut of more than %d edges", INT32_MAX);
  LAZE_TRY(laze_grow(flow->context, &array, &flow->edge_capacity, flow->edge_count + 2, sizeof *flow->edges, error));
  flow->edges = array;
  const int32_t ends[] = {from, to};
  for (int i = 0; i < 2; i++) {
    flow->edges[flow->edge_count] = (laze_flow_edge){ends[1 - i], flow->first[ends[i]], i == 0 ? room : 0};
    flow->first[ends[i]] = (int32_t)flow->edge_count++;
  }
  return LAZE_OK;
}

/* Whether the sink can be reached; sets levels. */
static bool find_levels(laze_flow *flow, int32_t source, int32_t sink) {
  int32_t head = 0, tail = 0;
  memset(flow->level, -1, (size_t)flow->vertex_count * sizeof *flow->level);
  flow->level[source] = 0;
  flow->queue[tail++] = source;
  while (head < tail) {
    const int32_t vertex = flow->queue[head++];
    for (int32_t e = flow->first[vertex]; e >= 0; e = flow->edges[e].next) {
      const int32_t to = flow->edges[e].to;
      if (flow->edges[e].room == 0 || flow->level[to] >= 0) continue;
      flow->level[to] = flow->level[vertex] + 1;
      flow->queue[tail++] = to;
    }
  }
  return flow->level[sink] >= 0;
}

/* An edge from a vertex to the next level that has room; -1: none has any more. */
static int32_t next_edge(laze_flow *flow, int32_t vertex) {
  int32_t *e = &flow->at[vertex];
  while (*e >= 0 && (flow->edges[*e].room == 0 || flow->level[flow->edges[*e].to] != flow->level[vertex] + 1))
    *e = flow->edges[*e].next;
  return *e;
}

/* Lets as much flow along the path, whose edges are in the queue, as its narrowest edge has room for. */
static int64_t push_path(laze_flow *flow, int32_t length) {
  int64_t amount = INT64_MAX;
  for (int32_t i = 0; i < length; i++)
    if (flow->edges[flow->queue[i]].room < amount) amount = flow->edges[flow->queue[i]].room;
  for (int32_t i = 0; i < length; i++) {
    flow->edges[flow->queue[i]].room -= amount;
    flow->edges[flow->queue[i] ^ 1].room += amount;
  }
  return amount;
}

/* All paths along ascending levels. */
static int64_t push_level(laze_flow *flow, int32_t source, int32_t sink) {
  int64_t total = 0;
  int32_t vertex = source, length = 0;
  memcpy(flow->at, flow->first, (size_t)flow->vertex_count * sizeof *flow->at);
  for (;;) {
    const int32_t e = vertex == sink ? -1 : next_edge(flow, vertex);
    if (e >= 0) {
      flow->queue[length++] = e;
      vertex = flow->edges[e].to;
    } else if (vertex == sink) {
      total += push_path(flow, length);
      vertex = source;
      length = 0;
    } else if (length == 0) {
      return total;
    } else {
      flow->level[vertex] = -1; /* a dead end */
      vertex = flow->edges[flow->queue[--length] ^ 1].to;
    }
  }
}

int64_t laze_flow_run(laze_flow *flow, int32_t source, int32_t sink) {
  int64_t total = 0;
  while (find_levels(flow, source, sink) && total < LAZE_FLOW_UNBOUNDED) total += push_level(flow, source, sink);
  return total;
}
