/* Traces: the pending nodes that wanted cells need, written down as a sequence of words.
 *
 * Inputs are numbered by first use and nodes by position, so that a loop that records the same operators gives the same
 * words, whatever the memory behind them. Equal words mean: the same operators, attributes, wiring, input types,
 * result types, outputs and backend. The hash of the words is the key; comparing words confirms a hit.
 *
 *   backend and settings | node ... | output count | output ... | size ... | how many words of sizes
 *
 *   node       op and result count | operand count and segment count | operand ... | segments, two to a word |
 *              attribute ... | result type ...
 *   operand    2 * input + 1, followed by the input's type at its first use; or 2 * (256 * position + result)
 *   output     2 * (256 * position + result)
 *   type       kind, dtype and rank | size ...
 *   size       for each expression over unknown ones that occurs, in the order of the words that name them
 *              (lazy/run/trace_sizes.h): kind and number of the symbol | left | right
 *   attribute  kind, presence and count | what it holds, if present; bytes are padded with zeros
 */
#ifndef LAZE_LAZY_RUN_TRACE_H
#define LAZE_LAZY_RUN_TRACE_H

#include "base/context.h"
#include "lazy/run/trace_sizes.h"
#include "runtime/site.h"

typedef struct laze_backend laze_backend;
typedef struct laze_buffer laze_buffer;
typedef struct laze_cell laze_cell;
typedef struct laze_failure laze_failure;
typedef struct laze_graph laze_graph;
typedef struct laze_lazy laze_lazy;
typedef struct laze_pending laze_pending;
typedef struct laze_thread_state laze_thread_state;

/* Arrays that are reused from one trace to the next. Nodes and cells are borrowed. */
typedef struct laze_trace {
  uint64_t mark;
  laze_pending **nodes; /* newest first */
  int64_t node_count, node_capacity;
  laze_site *sites; /* room for the call behind each of the nodes */
  int64_t site_capacity;
  laze_cell **leaves; /* inputs, by number */
  int64_t leaf_count, leaf_capacity;
  laze_cell **outputs;
  int64_t output_count, output_capacity;
  uint64_t *words;
  int64_t word_count, word_capacity;
  laze_buffer **buffers; /* of inputs, then of outputs */
  int64_t buffer_capacity;
  int64_t recomputed;      /* nodes of a run before */
  laze_size_mapping sizes; /* to a table of the trace's own, where it has unknown ones */
  bool *donated;           /* by input: the run may write to its memory (donate.h) */
  int64_t donated_count, donated_capacity;
  laze_failure *loss; /* where some are donated: the error of what a run that ends half-way has lost; referenced */
  bool overwritten;   /* the run has begun to write to such memory; its thread's alone */
  laze_lazy *lazy;    /* while it runs, as what follows (trace_sites.c) */
  const laze_thread_state *thread;
  struct laze_trace *next_running;
  bool keeps_sites; /* `sites` is written, and the nodes may be gone */
} laze_trace;

/* What to compute: one of the three. */
typedef struct laze_trace_wish {
  laze_cell *cell;    /* this one, and held ones on the way; NULL: none in particular */
  bool held;          /* all held cells of the thread; with a selection: those on the way */
  uint64_t selection; /* the nodes with this selection; 0: none */
} laze_trace_wish;

/* Called with the lock held. Collects nodes, inputs and outputs and writes the words. */
LAZE_MUST_USE laze_status laze_trace_take(laze_trace *trace, laze_thread_state *thread, const laze_trace_wish *wish,
                                          const laze_backend *backend, laze_error *error);
/* Called with the lock held. Copies a trace into a graph; owned by the caller. */
LAZE_MUST_USE laze_status laze_trace_graph(const laze_trace *trace, laze_lazy *lazy, laze_graph **out,
                                           laze_error *error);
void laze_trace_deinit(laze_trace *trace, laze_context *context);

/* The trace runs without the lock, which is held at either end. Its outputs are referenced in between. */
void laze_trace_start_run(laze_trace *trace, const laze_thread_state *thread);
void laze_trace_end_run(laze_trace *trace);
/* Who called the nodes of the trace's graph, in the numbers of that graph (runtime/site.h): the calls of this
 * recording, as others may share the executable. Borrows the trace; asked while it runs, and locks. */
laze_sites laze_trace_sites(const laze_trace *trace);
/* Has all traces that run remember who called their nodes. Called with the lock held, before pending values get
 * results. */
void laze_trace_keep_sites(laze_lazy *lazy);

/* What an operand's word refers to. */
static inline bool laze_trace_is_input(uint64_t operand) {
  return operand & 1;
}
static inline int64_t laze_trace_input(uint64_t operand) {
  return (int64_t)(operand >> 1);
}
static inline int64_t laze_trace_position(uint64_t operand) {
  return (int64_t)(operand >> 9);
}
/* How many words stand before those of sizes. */
static inline int64_t laze_trace_output_end(const uint64_t *words, int64_t count) {
  return count - 1 - (int64_t)words[count - 1];
}

#endif
