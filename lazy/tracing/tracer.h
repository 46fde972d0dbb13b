/* A trace that is open: the graph so far, and which value of it a cell is. Called with the context's lock held. */
#ifndef LAZE_LAZY_TRACING_TRACER_H
#define LAZE_LAZY_TRACING_TRACER_H

#include "ir/graph.h"
#include "laze/trace.h"
#include "lazy/run/trace_sizes.h"
#include "lazy/value/tracer.h"

typedef struct laze_thread_state laze_thread_state;

/* A cell that is a value of the graph; referenced, so that no other has its address. */
typedef struct laze_traced_cell {
  laze_cell *cell; /* NULL: the slot is free */
  laze_value value;
  bool depends; /* on inputs, so that it differs from run to run */
} laze_traced_cell;

/* A seed, and the offset of the first draw under it: inputs of the graph. */
typedef struct laze_traced_seed {
  int64_t seed, offset;
  int64_t farthest;                    /* how far behind that a later draw begins */
  laze_value seed_input, offset_input; /* the second is none before it is known */
} laze_traced_seed;

/* A base that was given another cell. */
typedef struct laze_traced_write {
  const laze_storage *base; /* borrowed: it may be gone, and another there */
  int32_t how;              /* laze_written, of all times */
} laze_traced_write;

typedef struct laze_open_trace {
  laze_tracer tracer; /* first: an open trace is a laze_tracer */
  laze_thread_state *thread;
  laze_graph *graph; /* owned */
  const void *owner; /* the call of a function that it is of; NULL: laze_trace_begin() opened it */
  laze_traced_cell *slots;
  int64_t slot_count, cell_count; /* a power of two, at most half full */
  laze_cell **captured;           /* from outside, by the parameters that stand for them; the map has references */
  int32_t *captured_parameters;
  int64_t captured_count, captured_capacity, parameter_capacity;
  laze_traced_seed *seeds;
  int64_t seed_count, seed_capacity;
  int64_t current_seed; /* whose offset comes next; -1: none */
  laze_traced_write *writes;
  int64_t write_count, write_capacity;
  laze_size_mapping sizes;
  laze_value *operands; /* of the node at hand */
  int64_t operand_capacity;
  laze_location place; /* of the last node as it was, and as the graph has it */
  const char *place_text;
  bool strict;
  laze_error failure; /* of the first call that could not be traced; code LAZE_OK: none */
  laze_error read;    /* what was read first */
  laze_error write;   /* what was written to first that others may have */
} laze_open_trace;

/* An open trace for a graph, of which it becomes the owner, also on failure. */
LAZE_MUST_USE laze_status laze_open_trace_create(laze_thread_state *thread, laze_graph *graph, laze_open_trace **out,
                                                 laze_error *error);
/* Closes it; NULL is ignored. The graph goes with it unless it was taken out. */
void laze_open_trace_destroy(laze_open_trace *trace);
/* The cell is this value from now on; whether it depends on inputs. */
LAZE_MUST_USE laze_status laze_open_trace_put(laze_open_trace *trace, laze_cell *cell, laze_value value, bool depends,
                                              laze_error *error);
/* What a cell is; one from outside becomes a parameter. */
LAZE_MUST_USE laze_status laze_open_trace_find(laze_open_trace *trace, laze_cell *cell, laze_traced_cell *out,
                                               laze_error *error);

/* A tensor of the current scope that stands for a value of the graph, and has zeros for its own. */
LAZE_MUST_USE laze_status laze_open_trace_stand_in(laze_open_trace *trace, laze_value value, laze_tensor **out,
                                                   laze_error *error);
/* How the base was written to while the trace was open: laze_written, of all times; 0: it was not. */
int32_t laze_open_trace_written(const laze_open_trace *trace, const laze_storage *base);

/* What follows is called without the lock, by `caller`, whose name messages begin with. */

/* Calls a function in the trace that the thread has just opened, which is to be open still when it returns. A failure
 * has a message, also where the function gave none. Whoever calls ends the trace. */
LAZE_MUST_USE laze_status laze_traced_function_call(const char *caller, laze_context *context,
                                                    laze_traced_function function, void *self,
                                                    laze_tensor *const *inputs, laze_tensor **outputs,
                                                    laze_error *error);
/* Ends the scope around it. A call that failed in there, which nobody read, is an error, for the graph lacks it:
 * without LAZE_OK there is no graph. */
LAZE_MUST_USE laze_status laze_traced_scope_end(laze_scope *scope, laze_status status, laze_graph **graph,
                                                laze_error *error);

#endif
