/* Open scopes: what a scope's handle stands for until it ends. All functions are called with the context's lock held.
 */
#ifndef LAZE_LAZY_VALUE_SCOPE_H
#define LAZE_LAZY_VALUE_SCOPE_H

#include "base/status.h"
#include "laze/tensor.h"

typedef struct laze_failure laze_failure;
typedef struct laze_lazy laze_lazy;
typedef struct laze_slot laze_slot;
typedef struct laze_thread_state laze_thread_state;

#define LAZE_SCOPE_MAX_ERRORS 16 /* errors a scope remembers at most */

/* From the context's pool, owned by its thread, which ends it. */
typedef struct laze_open_scope {
  laze_lazy *lazy;
  laze_thread_state *thread;
  struct laze_open_scope *outer;
  laze_slot *slot;                             /* of its own handle; NULL: the scope that is always there */
  laze_slot *slots;                            /* of the handles that belong to it, the last one first */
  laze_failure *errors[LAZE_SCOPE_MAX_ERRORS]; /* in order of appearance; referenced */
  int32_t error_count;
  int32_t depth;      /* 0: the scope that is always there */
  int64_t recorded;   /* nodes recorded in it so far, as the script of its depth counts them */
  bool out_of_memory; /* an error that there was no memory to note */
} laze_open_scope;

/* The open scope of a handle of this context; NULL: it has ended, or is no scope. */
laze_open_scope *laze_scope_find(const laze_scope *handle);
/* Notes an error (borrowed; NULL: memory was out) in the innermost scope. */
void laze_scope_note(laze_thread_state *thread, laze_failure *failure);
/* The first error that no read has returned; LAZE_OK if there is none. */
LAZE_MUST_USE laze_status laze_scope_unread_error(const laze_open_scope *scope, laze_error *error);
/* Ends a scope, its thread's innermost, without reading its errors. */
void laze_scope_drop(laze_thread_state *thread, laze_open_scope *scope);

#endif
