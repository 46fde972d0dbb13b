/* Inside the lazy layer: what the files of this folder share.
 *
 *   laze_tensor *   a handle: the number of a slot, with its generation                    handle_table.h, handle.c
 *     -> storage    what an assignment changes                                                       handle.c
 *       -> cell     one immutable value: pending, in a buffer, a number, or an error                 cell.c
 *         -> node   a recorded operator; its result cells are part of it                             node.c
 *
 * A call records nodes (frame.c, expand.c), or finds those of the step before again (reuse.c). A read, a step's end or
 * the budget materialises (materialise.c): the nodes that the wanted cells need are written down as a *trace*, a
 * sequence of words (trace.c), whose hash finds the executable (trace_cache.c); on a miss the trace becomes a graph and
 * is compiled, and miss.c can say why.
 *
 * A cell is *held* when a retained or assigned handle has it, or when it belongs to a scope that is not its thread's
 * innermost. Held cells that are computed on the way become buffers; others are recomputed if they are read later.
 * A value that fails (an index out of range) becomes an error, and so does what depends on it; everything else that the
 * run wanted is stored. The error is noted in the scope, until a read returns it. Cells for which there was no memory,
 * or no code, stay pending, so that a later read tries again.
 *
 * Threads. One lock per context guards everything below; it is not held while code is compiled or runs, nor while a
 * buffer's release callback is called. So threads record one call at a time, any thread may use values that another
 * recorded (a node belongs to no thread, only remembers which recorder counts it), and two threads that read the same
 * pending value at once both compute it. An uncontended lock costs about 20 ns of a call. Objects come from free lists
 * of the context (pool.c), so that a steady loop allocates nothing.
 */
#ifndef LAZE_LAZY_LAZY_H
#define LAZE_LAZY_LAZY_H

#include "base/cache.h"
#include "ir/op.h"
#include "laze/tensor.h"
#include "lazy/pool.h"
#include "runtime/backend.h"

#include <pthread.h>

typedef struct laze_lazy laze_lazy;
typedef struct laze_lazy_recorder laze_lazy_recorder;
typedef struct laze_open_scope laze_open_scope;

/* An error that handles, cells and scopes share. */
typedef struct laze_failure {
  int32_t references;
  bool reported; /* a read has returned it */
  laze_status code;
  char message[];
} laze_failure;

/* An error of a tensor. Once its text was given out, it stays for as long as the tensor lives. */
typedef struct laze_quote {
  struct laze_quote *next;
  laze_failure *failure; /* referenced */
  bool given_out;
} laze_quote;

typedef enum { LAZE_CELL_PENDING, LAZE_CELL_BUFFER, LAZE_CELL_SCALAR, LAZE_CELL_ERROR } laze_cell_state;

#define LAZE_NO_DEPTH INT32_MAX

typedef struct laze_cell {
  struct laze_pending *node; /* the node this cell is part of; NULL for one that stands alone */
  union {
    laze_buffer *buffer;   /* BUFFER */
    laze_scalar scalar;    /* SCALAR: converted to `dtype` when it enters a run */
    laze_failure *failure; /* ERROR */
  } value;
  const int64_t *sizes; /* behind the cell in its block */
  int32_t references;   /* of storages, operands and runs */
  int32_t holds;        /* of storages that are held */
  int32_t depth;        /* of the outermost scope that has a handle of it, LAZE_NO_DEPTH if none */
  uint8_t state;        /* laze_cell_state */
  uint8_t dtype, rank;
  uint8_t kind;   /* laze_type_kind */
  uint64_t mark;  /* the trace in which it is input `number` */
  int32_t number; /* in a count of what a cut frees: references that would go */
} laze_cell;

/* A recorded operator. One block holds it, its cells, operands, segments, attributes and what they refer to. */
typedef struct laze_pending {
  struct laze_pending *older, *newer; /* the context's nodes with pending results, in the order of recording */
  laze_lazy_recorder *recorder;       /* in whose budget it counts */
  laze_cell **operands;               /* each referenced */
  const int32_t *segments;            /* NULL: each is 1 */
  const laze_attribute *attributes;
  laze_location location;
  int64_t block_size;
  int64_t bytes;     /* of its results */
  uint64_t mark;     /* the trace in which it is node `position` */
  uint64_t selected; /* the cut that stores it */
  int32_t position;
  int32_t operand_count;
  int32_t result_count;
  int32_t referenced;           /* result cells that are referenced */
  const int64_t *operand_types; /* for the script: laze_type_word() and sizes of each operand */
  laze_op op, origin;
  bool listed, dying;
  bool predicted; /* a script has it, also while nothing references it */
  laze_cell cells[];
} laze_pending;

typedef struct laze_storage {
  laze_cell *cell;
  int32_t references;
  int32_t holds;   /* handles that are retained or assigned */
  int64_t version; /* counts assignments */
} laze_storage;

/* What a handle stands for, a tensor's or a scope's (lazy/handle_table.h). */
typedef struct laze_slot_chunk laze_slot_chunk;
typedef struct laze_slot {
  laze_lazy *lazy;        /* never changes */
  laze_storage *storage;  /* NULL: of a scope */
  struct laze_slot *next; /* of its scope, or of the free list */
  laze_open_scope *scope; /* NULL once the scope has ended; of a scope itself */
  laze_quote *errors;     /* of reads, the last one first */
  uint64_t generation;    /* odd: in use */
  uint32_t index;
  int32_t retains;
  bool assigned, holding;
} laze_slot;

#define LAZE_FRAME_RESULTS 8 /* results an operator has at most when called on tensors */
#define LAZE_SCOPE_ERRORS 16 /* errors a scope remembers at most */

/* What a scope's handle stands for until it ends. */
struct laze_open_scope {
  laze_lazy *lazy;
  laze_lazy_recorder *recorder;
  laze_open_scope *outer;
  laze_slot *slot; /* of its own handle; NULL: the scope that is always there */
  laze_slot *slots;
  laze_failure *errors[LAZE_SCOPE_ERRORS]; /* in order of appearance */
  int32_t error_count;
  int32_t depth;      /* 0: the scope that is always there */
  bool out_of_memory; /* an error that there was no memory to note */
};

/* A value of the frame being recorded: an operand, or what an expansion has recorded so far. */
typedef struct laze_frame_value {
  laze_cell *cell; /* referenced */
  laze_type type;
} laze_frame_value;

/* The call that recorded a node. */
typedef struct laze_trace_site {
  laze_op called; /* the composite it came from, or its own operator */
  laze_location location;
} laze_trace_site;

/* Arrays that are reused from one trace to the next. */
typedef struct laze_trace {
  uint64_t mark;
  laze_pending **nodes; /* newest first */
  int64_t node_count, node_capacity;
  laze_trace_site *sites; /* by position; of this recording, as others may share the executable */
  int64_t site_capacity;
  laze_cell **leaves; /* inputs, by number */
  int64_t leaf_count, leaf_capacity;
  laze_cell **outputs;
  int64_t output_count, output_capacity;
  uint64_t *words;
  int64_t word_count, word_capacity;
  laze_buffer **buffers; /* of inputs, then of outputs */
  int64_t buffer_capacity;
} laze_trace;

#define LAZE_SCRIPT_DEPTHS 4   /* scopes deeper than this are not predicted */
#define LAZE_SCRIPT_NODES 4096 /* nor what is recorded in a scope after so many nodes */

/* What was recorded in the last scope of a depth, in order: the prediction of what the next one records. */
typedef struct laze_script {
  laze_pending **nodes;
  int64_t count, capacity;
  int64_t next; /* position of the next node in this scope */
} laze_script;

/* What a thread has while it uses a context. Never freed before the context: a thread that ends leaves it to the next
 * new one, and its nodes live on by their references. */
struct laze_lazy_recorder {
  laze_lazy *lazy;
  laze_lazy_recorder *next; /* of the context */
  bool in_use;
  laze_open_scope root, *scope; /* the outermost and the innermost scope */
  int64_t pending_nodes, pending_bytes;
  int64_t cut_nodes, cut_bytes; /* what was pending after the last cut: the budget counts from there */
  int64_t unpaid_bytes;         /* what was pending when a cut for its bytes would not have paid */
  int64_t scope_nodes;          /* pending after the last scope's end */
  int32_t growing_scopes;       /* how many scopes in a row left more pending than the one before */
  int64_t missed_nodes;         /* of the last graph that was not found */
  int32_t longer_misses;        /* how many misses in a row were each of a longer graph */
  laze_frame_value *values;
  int64_t value_count, value_capacity;
  const laze_type **types;
  int64_t type_capacity;
  laze_value *operands;
  int64_t operand_capacity;
  laze_trace trace;
  laze_script scripts[LAZE_SCRIPT_DEPTHS]; /* by depth of the scope */
};

struct laze_lazy {
  laze_context *context; /* borrowed: this object is part of it */
  pthread_key_t key;     /* of the thread's recorder */
  pthread_mutex_t lock;  /* guards what follows */
  laze_pool pool;
  laze_slot *free_slots;
  laze_slot_chunk *slot_chunks;
  laze_lazy_recorder *recorders;
  laze_pending *newest, *oldest;
  uint64_t mark;
  int64_t budget_nodes, budget_bytes;
  laze_cache *traces;          /* lazy/trace_cache.h */
  const laze_backend *backend; /* NULL before the first run */
  laze_buffer **garbage;       /* buffers to release once the lock is free */
  int64_t garbage_count, garbage_capacity;
};

/* lazy.c. The lazy object of a context (NULL: the default context); NULL when memory is out. */
laze_lazy *laze_lazy_get(laze_context *context);
/* Locks and gives the calling thread's recorder; NULL, unlocked, when memory is out. */
laze_lazy_recorder *laze_lazy_lock(laze_lazy *lazy);
/* Unlocks and releases the buffers that were dropped meanwhile. */
void laze_lazy_unlock(laze_lazy *lazy);
/* Has `buffer` released by the next unlock. */
void laze_lazy_drop_buffer(laze_lazy *lazy, laze_buffer *buffer);

/* All of what follows is called with the lock held. */

/* cell.c. New cells have one reference. NULL when memory is out. */
laze_cell *laze_cell_create(laze_lazy *lazy, laze_cell_state state, const laze_type *type);
void laze_cell_retain(laze_cell *cell);
/* Frees what nothing refers to any more, however long the chain behind it. NULL is ignored. */
void laze_cell_release(laze_lazy *lazy, laze_cell *cell);
/* Gives a pending cell its value (takes the reference over) and lets go of what computed it. */
void laze_cell_resolve(laze_lazy *lazy, laze_cell *cell, laze_buffer *buffer);
/* Makes a pending cell an error, which keeps its type; takes a reference of `failure`. What depends on it does not
 * notice: laze_cell_spread_failures() does. */
void laze_cell_fail(laze_lazy *lazy, laze_cell *cell, laze_failure *failure);
/* Makes errors of the pending cells, of node `oldest` (NULL: none) and newer ones, that depend on one. */
void laze_cell_spread_failures(laze_lazy *lazy, laze_pending *oldest);
void laze_cell_type(const laze_cell *cell, laze_type *out);
/* Gives a new cell its type; `sizes` is where it keeps the sizes. */
void laze_cell_set_type(laze_cell *cell, const laze_type *type, int64_t *sizes);
static inline int64_t laze_type_word(const laze_type *type) {
  return (int64_t)type->kind | (int64_t)type->dtype << 8 | (int64_t)type->rank << 16;
}
int64_t laze_cell_elements(const laze_cell *cell);
static inline bool laze_cell_is_pending(const laze_cell *cell) {
  return cell->state == LAZE_CELL_PENDING;
}
/* Whether a run that computes this cell has to store it. */
bool laze_cell_is_held(const laze_cell *cell);
/* The cell of a node's result. */
static inline int32_t laze_cell_result(const laze_cell *cell) {
  return (int32_t)(cell - cell->node->cells);
}

/* node.c. Records a node with these result types; the call's operands are values of the recorder's frame. Its cells
 * have one reference each, for the caller. NULL when memory is out. */
laze_pending *laze_pending_create(laze_lazy_recorder *recorder, const laze_call *call, const laze_type *types);

/* Makes a filled node, whose operator, attributes and types are the call's, the newest of the context: sets its
 * operands and its location, makes its results pending. The part of creating a node that recording it again repeats. */
void laze_pending_link(laze_pending *node, const laze_call *call);

/* reuse.c. The node recorded at this place of the last scope, if it is this call over operands of the same types; NULL
 * otherwise. Its types need no inference, and it can itself be linked again if nothing references it. */
laze_pending *laze_script_predict(laze_lazy_recorder *recorder, const laze_call *call);
/* Moves to the next place, for which `node` is predicted from now on. */
void laze_script_advance(laze_lazy_recorder *recorder, laze_pending *node);
/* A scope of this depth begins. */
void laze_script_restart(laze_lazy_recorder *recorder, int32_t depth);
/* Forgets everything. */
void laze_script_clear(laze_lazy_recorder *recorder);

/* expand.c. Records a call whose operands are values of the recorder's frame, expanding composites; the results are
 * further values of the frame. */
LAZE_MUST_USE laze_status laze_lazy_record(laze_lazy_recorder *recorder, const laze_call *call, laze_value *results,
                                           laze_error *error);
/* Appends a value to the frame; takes over a reference of `cell`, also on failure. */
LAZE_MUST_USE laze_status laze_frame_push(laze_lazy_recorder *recorder, laze_cell *cell, const laze_type *type,
                                          laze_error *error);
/* Releases the frame's values. */
void laze_frame_clear(laze_lazy_recorder *recorder);

/* failure.c */
laze_failure *laze_failure_create(laze_lazy *lazy, const laze_error *error);
void laze_failure_release(laze_lazy *lazy, laze_failure *failure); /* NULL is ignored */
/* Puts a failure in front of a list, in which equal messages stand once, and in the place of one whose text was not
 * given out; returns the message as the list keeps it. Without memory it is not kept. */
const char *laze_quotes_put(laze_lazy *lazy, laze_quote **quotes, laze_failure *failure);
void laze_quotes_clear(laze_lazy *lazy, laze_quote **quotes);

/* handle.c. A handle of `cell` in the recorder's innermost scope; takes a reference of its own. */
laze_tensor *laze_handle_create(laze_lazy_recorder *recorder, laze_cell *cell);
/* A handle of an error; `failure` is borrowed. */
laze_tensor *laze_handle_create_error(laze_lazy_recorder *recorder, laze_failure *failure);
/* Notes `error` in the innermost scope and gives a handle that stands for it. */
laze_tensor *laze_handle_fail(laze_lazy_recorder *recorder, const laze_error *error);
/* The scope's part of releasing: frees the slots of a scope that ends, or detaches those that are retained. */
void laze_handle_release_scope(laze_lazy *lazy, laze_open_scope *scope);

/* scope.c. Notes an error (borrowed; NULL: memory was out) in the innermost scope. */
void laze_scope_note(laze_lazy_recorder *recorder, laze_failure *failure);
/* Ends a scope without reading its errors. */
void laze_scope_drop(laze_lazy_recorder *recorder, laze_open_scope *scope);

/* materialise.c. The backend of the context, found on first use. */
LAZE_MUST_USE laze_status laze_lazy_backend(laze_lazy *lazy, const laze_backend **out, laze_error *error);
/* Computes `cell` and the held cells on the way; the lock is released meanwhile and taken again. */
LAZE_MUST_USE laze_status laze_materialise_cell(laze_lazy_recorder *recorder, laze_cell *cell, laze_error *error);
/* Computes the held cells of this recorder in one graph. */
LAZE_MUST_USE laze_status laze_materialise_held(laze_lazy_recorder *recorder, laze_error *error);
/* Computes the results of the nodes with this selection, and stores nothing else. */
LAZE_MUST_USE laze_status laze_materialise_selected(laze_lazy_recorder *recorder, uint64_t selection,
                                                    laze_error *error);

/* Whether more is pending than the recorder's budget allows: asked for each call, and so inlined. */
static inline bool laze_budget_is_used_up(const laze_lazy_recorder *recorder) {
  const laze_lazy *lazy = recorder->lazy;
  return (lazy->budget_nodes > 0 && recorder->pending_nodes - recorder->cut_nodes > lazy->budget_nodes) ||
         (lazy->budget_bytes > 0 && recorder->pending_bytes - recorder->cut_bytes > lazy->budget_bytes);
}
/* budget.c. Cuts the graph of a recorder whose budget is used up; `newest` is what was recorded last. */
void laze_budget_cut(laze_lazy_recorder *recorder, laze_pending *newest);

#endif
