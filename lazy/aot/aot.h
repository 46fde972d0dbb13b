/* Functions compiled ahead of time (laze/aot.h):
 *
 *   inputs.c    what is given: layouts, tensors that come twice, memory that two share
 *   trace.c     the function's call in an open trace, and its joint graph
 *   facts.c     what became of inputs, and what outputs are
 *   compile.c   joint graph ── cache.c ── partition ── program: two compiled graphs
 *   run.c       forward and backward
 *   epilogue.c  writes to inputs, and views that are made again
 *
 * A compiled function is immutable but for its random state; what it has of the graphs is shared by all that the cache
 * gives it to. */
#ifndef LAZE_LAZY_AOT_AOT_H
#define LAZE_LAZY_AOT_AOT_H

#include "base/hash.h"
#include "laze/aot.h"
#include "lazy/value/view.h"

typedef struct laze_cell laze_cell;
typedef struct laze_lazy laze_lazy;
typedef struct laze_thread_state laze_thread_state;

/* An input of the function. */
typedef struct laze_aot_given {
  laze_geometry geometry; /* dtype, sizes and strides */
  laze_aot_input facts;
  int32_t place; /* among the tensors that are different, and so of the graphs */
  bool resized;  /* its new value has another shape */
} laze_aot_given;

/* An output. */
typedef struct laze_aot_made {
  laze_aot_output facts;
  laze_view_step *steps; /* from what it is a view of: referenced; NULL: none */
  laze_geometry geometry;
  bool strided;  /* it lies as `geometry` says */
  bool detached; /* a view that shares no history */
  bool repeats;  /* the output `of` once more */
  uint32_t kind; /* laze_view_kind */
} laze_aot_made;

/* Two graphs, counted. */
typedef struct laze_aot_program {
  _Atomic int64_t references;
  laze_context *context; /* borrowed: the context's cache holds programs */
  laze_graph *joint;     /* what it is found by, besides `words` */
  uint64_t *words;       /* of the inputs and options */
  int64_t word_count;
  laze_compiled *forward, *backward; /* the second is NULL where nothing requires a gradient */
  int32_t saved_count;
  bool donates;
} laze_aot_program;

struct laze_aot {
  _Atomic int64_t references;
  laze_context *context; /* retained */
  laze_lazy *lazy;
  int32_t input_count, different_count, output_count, base_count, seed_count;
  int32_t value_count; /* results of the forward graph that are not saved: mutations, offsets, outputs, bases */
  int32_t tangent_count, gradient_count;
  int32_t first_base; /* result of the forward graph */
  int32_t first_offset;
  laze_aot_given *inputs;
  laze_aot_made *outputs;
  int32_t *differents;      /* an input of each different one */
  int32_t *tangent_results; /* of each tangent: the result of the forward graph */
  int32_t *gradient_inputs; /* of each gradient: the input */
  int64_t *random;          /* seed and offset of each; guarded by the context's lock */
  int64_t *advances;        /* how far a call moves each offset on */
  laze_aot_program *program;
};

/* --- inputs.c --- */

/* What is given, and which of it is the same. `inputs` has room for `count`. Inputs are computed, of one context. */
LAZE_MUST_USE laze_status laze_aot_look(const char *function, laze_thread_state *thread, laze_tensor *const *inputs,
                                        int32_t count, laze_aot_given *given, laze_error *error);
/* Refuses an input that is written to and may have elements in common with another. */
LAZE_MUST_USE laze_status laze_aot_check_shared(const char *function, laze_tensor *const *inputs,
                                                const laze_aot_given *given, int32_t count, laze_error *error);
/* Refuses inputs of a call that are not like those of the trace. */
LAZE_MUST_USE laze_status laze_aot_check_inputs(const laze_aot *aot, laze_thread_state *thread,
                                                laze_tensor *const *inputs, int32_t count, laze_error *error);

/* --- trace.c, facts.c --- */

/* What a trace of the function has. */
typedef struct laze_aot_trace {
  laze_aot *aot;
  laze_thread_state *thread; /* this one's, of the context */
  laze_tensor **leaves;      /* by different input: what gradients are asked for */
  laze_tensor **stand_ins;   /* by different input: what the function is given */
  laze_cell **cells;         /* and its value at first, referenced by the trace */
  laze_edge *edges;          /* and where its gradient went, referenced */
  laze_tensor **passed;      /* by input: its stand-in */
  laze_tensor **outputs;     /* what the function gave */
  laze_tensor **bases;       /* of intermediates, and their storages, borrowed */
  laze_storage **base_storages;
  bool gives_fewer; /* outputs than there is room for */
} laze_aot_trace;

/* Finds what became of inputs and what outputs are, once the function has returned and while the trace is open; bases
 * get handles. Locks. */
LAZE_MUST_USE laze_status laze_aot_find_facts(laze_aot_trace *trace, laze_error *error);
/* Traces the function; *out is its joint graph, signed. */
LAZE_MUST_USE laze_status laze_aot_trace_function(laze_aot *aot, laze_traced_function function, void *self,
                                                  laze_tensor *const *inputs, const laze_aot_options *options,
                                                  laze_graph **out, laze_error *error);

/* --- compile.c, cache.c --- */

/* The program of a joint graph, from the cache or compiled; *out is the caller's. */
LAZE_MUST_USE laze_status laze_aot_program_find(laze_aot *aot, laze_graph *joint, const laze_aot_options *options,
                                                laze_aot_program **out, laze_error *error);
void laze_aot_program_release(laze_aot_program *program); /* NULL is ignored */
/* Cuts and compiles; takes `words` over, also on failure. */
LAZE_MUST_USE laze_status laze_aot_program_create(const laze_aot *aot, laze_graph *joint,
                                                  const laze_aot_options *options, uint64_t *words, int64_t word_count,
                                                  laze_aot_program **out, laze_error *error);

/* --- epilogue.c --- */

/* Sets inputs to their new values, and makes the outputs; `values` are the results of the forward graph as tensors. */
LAZE_MUST_USE laze_status laze_aot_finish(laze_aot *aot, laze_tensor *const *inputs, laze_tensor *const *values,
                                          laze_tensor **outputs, laze_error *error);

#endif
