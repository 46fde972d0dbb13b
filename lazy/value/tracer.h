/* Who follows what a thread records and reads: the open trace of lazy/tracing/. Called with the context's lock held. */
#ifndef LAZE_LAZY_VALUE_TRACER_H
#define LAZE_LAZY_VALUE_TRACER_H

#include <stdint.h>

typedef struct laze_cell laze_cell;
typedef struct laze_storage laze_storage;

/* How a tensor came to its new value: by a write that has a history, where none is recorded, through a detached tensor
 * that shares its memory, or by an assignment. */
typedef enum {
  LAZE_WRITTEN_TRACKED = 1,
  LAZE_WRITTEN_NO_GRAD = 2,
  LAZE_WRITTEN_DETACHED = 4,
  LAZE_WRITTEN_ASSIGNED = 8,
} laze_written;

typedef struct laze_tracer laze_tracer;
struct laze_tracer {
  /* A caller takes a cell's value. */
  void (*read)(laze_tracer *self, const laze_cell *cell);
  /* A call is given a number, the cell, for the argument of that name. */
  void (*number)(laze_tracer *self, const char *argument, laze_cell *cell);
  /* A tensor of this value is written to, by the call of that name (`file` NULL: its place is not known). */
  void (*overwrite)(laze_tracer *self, const laze_cell *before, const char *name, const char *file, int32_t line);
  /* A base is given another cell. */
  void (*write)(laze_tracer *self, const laze_storage *base, laze_written how);
  /* The thread, or its context, ends. */
  void (*drop)(laze_tracer *self);
};

#endif
