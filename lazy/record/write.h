/* Writes in place: a tensor gets a value of the frame that is being recorded. Nothing is computed and no value changes:
 * the tensor has another cell from then on, and a history that leads through what was recorded.
 *
 *   add_(x, y)       %0 = add x, y                              x: cell of %0, version + 1, edge of %0's gradient
 *   copy_(x[1], y)   %0 = slice_scatter x, unsqueeze y, 1:2     x: the same of this %0; x[1]: the cell of y
 *
 * In two parts, so that nothing has changed where one of several writes fails: laze_write_prepare() for each, which
 * refuses and records, then laze_write_commit() for each. Implemented in lazy/views/write.c. Called with the context's
 * lock held. */
#ifndef LAZE_LAZY_RECORD_WRITE_H
#define LAZE_LAZY_RECORD_WRITE_H

#include "ir/op.h"
#include "laze/tensor.h"

typedef struct laze_grad_node laze_grad_node;
typedef struct laze_record_state laze_record_state;
typedef struct laze_slot laze_slot;
typedef struct laze_thread_state laze_thread_state;

typedef struct laze_write {
  const char *name; /* what messages name */
  laze_tensor *destination;
  laze_value value;  /* of the frame: broadcast and converted by laze_write_prepare() to what the destination is */
  laze_value base;   /* found by that: the next value of whose memory the destination is, */
  laze_value origin; /* and of whose history it has */
  laze_location location;
  const struct laze_write *before; /* of the same call, to the same memory; NULL: there is none */
} laze_write;

/* Refuses a value that does not broadcast to the destination's shape, and a destination that may not be written to:
 * while gradients are recorded, a leaf that requires one, a view of such a leaf, one of several views that a call gave,
 * or a view that was made where none are recorded (LAZE_FAILED_PRECONDITION); always, a view of which several elements
 * are one place (LAZE_INVALID_ARGUMENT). A value of another dtype is converted to that of the destination. Changes
 * nothing but the frame. */
LAZE_MUST_USE laze_status laze_write_prepare(laze_record_state *state, laze_write *write, laze_error *error);
/* The part of that which asks what the tensor is, and not what it gets but for whether that has a history. */
LAZE_MUST_USE laze_status laze_write_check(const laze_thread_state *thread, const char *name, const laze_slot *slot,
                                           const laze_grad_node *written, laze_error *error);
/* The destination has the value, and its history where gradients are recorded. */
void laze_write_commit(laze_record_state *state, const laze_write *write);

#endif
