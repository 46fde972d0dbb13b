/* The two sides of a write: the tensor that is written to, and the one whose value it gets. Called with the context's
 * lock held, but for the one that takes it. */
#ifndef LAZE_LAZY_VIEWS_SIDES_H
#define LAZE_LAZY_VIEWS_SIDES_H

#include "base/status.h"
#include "laze/tensor.h"
#include "lazy/value/grad_node.h"

typedef struct laze_thread_state laze_thread_state;

typedef struct laze_sides {
  const char *function; /* which the caller called: for messages */
  laze_tensor *destination, *source;
  laze_slot *to, *from; /* theirs, found by laze_sides_find() */
} laze_sides;

/* Locks the context of the two and gives the thread's state. Where that fails, the error is told already. */
LAZE_MUST_USE laze_status laze_sides_lock(const laze_sides *sides, laze_thread_state **out, laze_error *error);
/* Finds the slots; that of the source has a cell then. */
LAZE_MUST_USE laze_status laze_sides_find(laze_thread_state *thread, laze_sides *sides, laze_error *error);
/* Finds sizes that have to be known to compare the two, unless both follow from the same values. The lock may be free
 * meanwhile. */
LAZE_MUST_USE laze_status laze_sides_find_sizes(laze_thread_state *thread, laze_sides *sides, laze_error *error);
/* The error that is passed on: the source's, or that of the call that should have made the destination. A destination
 * that failed when it ran has a type, and may get a new value. */
LAZE_MUST_USE laze_status laze_sides_check_values(const laze_sides *sides, laze_error *error);
/* Writes the source to the destination, of whose memory it may be (write.c). */
LAZE_MUST_USE laze_status laze_sides_write(laze_thread_state *thread, const laze_sides *sides, laze_error *error);
/* The tensor becomes what `other` is, whose handle goes, with the history that `edge` is. Its handle and who holds it
 * stay; other views of its memory do (set.c). */
void laze_slot_become(laze_lazy *lazy, laze_slot *tensor, laze_slot *other, laze_edge edge);
/* Tells of an error: the caller, if `error` is asked for; the scope otherwise, which knows of one that is passed on. */
void laze_sides_report(laze_thread_state *thread, const laze_sides *sides, const laze_error *failure,
                       laze_error *error);

#endif
