/* Kernels of the runtime that compute a node: what the scheduler has to know of one to make it a step of a program. */
#ifndef LAZE_CODEGEN_SCHEDULE_ROUTINE_H
#define LAZE_CODEGEN_SCHEDULE_ROUTINE_H

#include "ir/graph.h"
#include "runtime/kernel.h"

#define LAZE_ROUTINE_MAX_SIZES 16

/* One call: a node, and what it asks of the kernel. Its buffers are the node's operands, then its results, up to the
 * last that is read. */
typedef struct laze_routine_call {
  const laze_graph *graph;
  const laze_node *node;
  laze_size *sizes; /* the kernel's run-time integers, at most LAZE_ROUTINE_MAX_SIZES */
  int32_t size_count;
  laze_size domain;            /* iterations, which threads share */
  laze_size scratch;           /* bytes that one of them takes */
  laze_size bytes, operations; /* moved, computed: estimates */
} laze_routine_call;

typedef struct laze_routine {
  /* Fills the call but for graph and node. NULL: the interpreter's step is the kernel, and needs nothing. */
  laze_status (*describe)(laze_routine_call *call, laze_error *error);
  /* Makes the kernel that writes the first `results`, with one reference. */
  laze_status (*create)(const laze_graph *graph, const laze_node *node, int32_t results, laze_kernel **out,
                        laze_error *error);
} laze_routine;

extern const laze_routine laze_routine_sort, laze_routine_sorted_head, laze_routine_library, laze_routine_opaque;

#endif
