/* Taking a tensor's value: what reads, exports and printing begin with. */
#ifndef LAZE_LAZY_RUN_READ_H
#define LAZE_LAZY_RUN_READ_H

#include "laze/tensor.h"
#include "lazy/run/force.h"
#include "shape_inference/type.h"

typedef struct laze_buffer laze_buffer;
typedef struct laze_thread_state laze_thread_state;

/* A value that was computed, referenced: it needs no lock. */
typedef struct laze_value_out {
  laze_type type;
  laze_buffer *buffer; /* NULL: `scalar`, which is converted to the type's dtype as it is stored */
  laze_scalar scalar;
  laze_context *context; /* kept until laze_value_give() */
} laze_value_out;

/* Computes the tensor and takes its value, to be given back. Messages name the function of `force`. The error is told
 * to the caller, so that the scope does not report it; on failure *out is empty. Locks. */
LAZE_MUST_USE laze_status laze_value_take(const laze_force *force, laze_tensor *tensor, laze_value_out *out,
                                          laze_error *error);
/* Keeps the error of a read in its handle. A read that returns a status has reported it; otherwise it is the scope's.
 * Called locked. */
void laze_note_read_error(laze_thread_state *thread, laze_tensor *tensor, const laze_error *error, bool reported);
/* Gives it back and empties it; an empty one is ignored. Call it without the lock. */
void laze_value_give(laze_value_out *value);

#endif
