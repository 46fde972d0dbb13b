/* Handles of values: what a slot of the table of handles holds. All functions are called with the context's lock held,
 * and none fails: where memory is out they note it in the scope and give the handle that stands for that. */
#ifndef LAZE_LAZY_VALUE_HANDLE_H
#define LAZE_LAZY_VALUE_HANDLE_H

#include "base/status.h"
#include "laze/tensor.h"
#include "lazy/value/grad_node.h"

typedef struct laze_cell laze_cell;
typedef struct laze_failure laze_failure;
typedef struct laze_lazy laze_lazy;
typedef struct laze_open_scope laze_open_scope;
typedef struct laze_slot laze_slot;
typedef struct laze_thread_state laze_thread_state;
typedef struct laze_view laze_view;

/* What a write changes. A handle has its own; views (lazy/value/view.h) and what gradients need refer to it besides. */
typedef struct laze_storage {
  laze_cell *cell;  /* referenced; NULL: of a view that has to be recorded again, or nobody needs it any more */
  laze_slot *slot;  /* the handle; NULL: it is gone */
  laze_view *view;  /* owned; NULL: it is a base */
  laze_view *views; /* of a base */
  int64_t version;  /* of a base: counts writes */
  laze_grad_node *grad_node; /* the edge of one whose handle is gone, while views follow it; while the handle is there,
                                a leaf that keeps a gradient although the tensor requires none. Referenced */
  int32_t grad_result;
  int32_t references;
  int32_t holds;           /* handles that are retained or assigned: its own, and those of views that lean on it */
  uint32_t followers : 29; /* views with a handle whose origin it is */
  uint32_t inference : 1;  /* made where histories are not recorded, and never part of one */
  uint32_t kind : 2;       /* laze_view_kind, of what is or was a view */
} laze_storage;

/* view.c */
void laze_storage_release(laze_lazy *lazy, laze_storage *storage);

/* A tensor that nobody has a handle of, and whose edge counts as no tensor of the caller's; takes a reference of its
 * own. laze_handle_drop() frees it. NULL: memory is out. */
laze_slot *laze_slot_create_kept(laze_lazy *lazy, laze_cell *cell);
/* A handle of `cell` in the thread's innermost scope; takes a reference of its own. */
laze_tensor *laze_handle_create(laze_thread_state *thread, laze_cell *cell);
/* Where the gradient of a slot's tensor goes. */
laze_edge laze_slot_edge(const laze_slot *slot);
/* Where its gradient is kept, which a tensor that requires none may have, too; NULL: it keeps none. */
laze_grad_node *laze_slot_grad_place(const laze_slot *slot);
/* Has a gradient kept at `leaf`, of which it takes a reference, although the tensor requires none; NULL: no more. */
void laze_slot_keep_grad(laze_lazy *lazy, laze_slot *slot, laze_grad_node *leaf);
/* Has the gradient of a handle, which may be none, go to `edge`, of which it takes a reference. */
void laze_handle_set_edge(laze_lazy *lazy, laze_tensor *tensor, laze_edge edge);
/* A handle of an error; `failure` is borrowed. */
laze_tensor *laze_handle_create_error(laze_thread_state *thread, laze_failure *failure);
/* Notes `error` in the innermost scope and gives a handle that stands for it. */
laze_tensor *laze_handle_fail(laze_thread_state *thread, const laze_error *error);
/* The destination's value is the source's from now on; both are slots of tensors. */
void laze_handle_assign(laze_lazy *lazy, laze_slot *destination, const laze_slot *source);
/* A base has `cell` from now on, of which a reference is taken; its views have none. */
void laze_storage_write(laze_lazy *lazy, laze_storage *storage, laze_cell *cell);
/* One handle more, or less, holds the storage, and so its cell; view.c. */
void laze_storage_hold(laze_storage *storage, int change);
/* Has the gradient of a slot go to `edge`, of which it takes a reference. */
void laze_slot_set_edge(laze_lazy *lazy, laze_slot *slot, laze_edge edge);
/* Frees the slot of a handle that nobody has: it leaves its scope. One that is retained stays. */
void laze_handle_drop(laze_lazy *lazy, laze_slot *slot);
/* The scope's part of releasing: frees the slots of a scope that ends, or detaches those that are retained. */
void laze_handle_release_scope(laze_lazy *lazy, laze_open_scope *scope);

#endif
