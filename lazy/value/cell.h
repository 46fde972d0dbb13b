/* A cell: one immutable value. It is counted by references; whoever creates or retains one releases it. All functions
 * are called with the context's lock held. */
#ifndef LAZE_LAZY_VALUE_CELL_H
#define LAZE_LAZY_VALUE_CELL_H

#include "shape_inference/type.h"

typedef struct laze_buffer laze_buffer;
typedef struct laze_failure laze_failure;
typedef struct laze_lazy laze_lazy;
typedef struct laze_pending laze_pending;

/* UNKNOWN: pending, as are some of its sizes (lazy/value/unknown.h). */
typedef enum {
  LAZE_CELL_PENDING,
  LAZE_CELL_BUFFER,
  LAZE_CELL_SCALAR,
  LAZE_CELL_ERROR,
  LAZE_CELL_UNKNOWN
} laze_cell_state;

#define LAZE_NO_DEPTH INT32_MAX

/* A number that is not complex, in less memory than a laze_scalar. */
typedef struct laze_cell_number {
  laze_dtype dtype;
  union {
    double real;
    int64_t integer;
  } value;
} laze_cell_number;

typedef struct laze_cell {
  laze_pending *node; /* the node this cell is part of (lazy/value/pending.h); NULL for one that stands alone */
  union {
    laze_buffer *buffer;     /* BUFFER */
    laze_cell_number number; /* SCALAR: converted to `dtype`, which is not complex, when it enters a run */
    laze_failure *failure;   /* ERROR */
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
  int32_t symbol; /* the number of the size symbol that its value last defined, counted from 1; 0: none */
} laze_cell;

/* A cell that stands alone, with one reference; its value is the caller's to fill in. NULL when memory is out. */
laze_cell *laze_cell_create(laze_lazy *lazy, laze_cell_state state, const laze_type *type);
void laze_cell_retain(laze_cell *cell);
/* Frees what nothing refers to any more, however long the chain behind it. NULL is ignored. */
void laze_cell_release(laze_lazy *lazy, laze_cell *cell);
/* Gives a pending cell its value (takes the reference over) and lets go of what computed it. */
void laze_cell_resolve(laze_lazy *lazy, laze_cell *cell, laze_buffer *buffer);
/* Makes a pending cell an error, which keeps its type, with -1 for sizes that nobody will know; takes a reference of
 * `failure`. What depends on it does not notice: laze_cell_spread_failures() does. */
void laze_cell_fail(laze_lazy *lazy, laze_cell *cell, laze_failure *failure);
/* Makes an error of a cell that has a buffer, whose contents are none of its any more; takes a reference of `failure`.
 */
void laze_cell_lose(laze_lazy *lazy, laze_cell *cell, laze_failure *failure);
/* Makes errors of the pending cells, of node `oldest` (NULL: none) and newer ones, that depend on one. */
void laze_cell_spread_failures(laze_lazy *lazy, laze_pending *oldest);

static inline void laze_cell_set_scalar(laze_cell *cell, laze_scalar scalar) {
  cell->value.number.dtype = scalar.dtype;
  cell->value.number.value.integer = scalar.value.integer;
}
static inline laze_scalar laze_cell_scalar(const laze_cell *cell) {
  laze_scalar scalar = {.dtype = cell->value.number.dtype};
  scalar.value.integer = cell->value.number.value.integer;
  return scalar;
}

void laze_cell_type(const laze_cell *cell, laze_type *out);
/* Gives a new cell its type; `sizes` is where it keeps the sizes. */
void laze_cell_set_type(laze_cell *cell, const laze_type *type, int64_t *sizes);
/* Of a cell whose sizes are known. */
int64_t laze_cell_elements(const laze_cell *cell);
static inline bool laze_cell_is_pending(const laze_cell *cell) {
  return (cell->state & 3) == LAZE_CELL_PENDING; /* or UNKNOWN */
}
/* Whether an error has no type to record from: the call that should have made it failed, or a size is not known. */
bool laze_cell_lacks_type(const laze_cell *cell);
/* Whether a run that computes this cell has to store it. */
bool laze_cell_is_held(const laze_cell *cell);

#endif
