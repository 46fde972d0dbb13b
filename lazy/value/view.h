/* Views: tensors that share the memory of another, as PyTorch's users know them. No memory is shared underneath: a view
 * has its own cell, and a recipe, by which it is recorded again once its base was written to.
 *
 *   v = x[1:3].t()                 storage of v ──> view: slice, permute ──base──> storage of x ──> cell of x
 *   write 9 to v                   x: another cell, as slice_scatter gives it; v: the cell that was written;
 *                                  all other views of x: no cell. Who asks for one of these next records its steps on
 *                                  the cell that x has then (lazy/views/refresh.c)
 *
 * The *base* is whose cell the memory is: the tensor of which a chain of views begins. It knows the views that have a
 * handle, the fresh ones (those with a cell) in front, so that a write costs as many steps as views were recorded since
 * the last one. The *origin* is whose history a view follows: its base, or a detached view, which shares memory and no
 * history. A base without a handle keeps its cell and its edge for its views, until these can do without it: when none
 * is left, or when what is left shares nothing: then each becomes its own base, and keeps its strides alone. A view
 * that is held *leans* on its base where it has no cell, or its base no handle: then the base is held as well.
 *
 * All functions are called with the context's lock held. */
#ifndef LAZE_LAZY_VALUE_VIEW_H
#define LAZE_LAZY_VALUE_VIEW_H

#include "base/status.h"
#include "ir/op.h"
#include "lazy/value/handle.h"
#include "lazy/value/handle_table.h"
#include "shape_inference/type.h"

/* A movement that was recorded. Immutable; views of views have the steps of these in front of their own. */
typedef struct laze_view_step {
  struct laze_view_step *before; /* referenced; NULL: this is the first */
  int32_t references;
  int32_t count; /* of the steps up to here */
  bool repeats;  /* one of them gives several elements one place, as expand does */
  int64_t block_size;
  laze_op op;
  laze_attribute attributes[];
} laze_view_step;

/* How a view came about, which decides where it may be written to while gradients are recorded. */
typedef enum { LAZE_VIEW_DEFAULT, LAZE_VIEW_NO_GRAD, LAZE_VIEW_ONE_OF_SEVERAL } laze_view_kind;

/* Where its elements lie, as if the base were memory in row-major order: of its own dtype, counted in its elements. */
typedef struct laze_geometry {
  uint8_t dtype, rank;
  int64_t offset;
  int64_t sizes[LAZE_MAX_RANK], strides[LAZE_MAX_RANK];
} laze_geometry;

typedef struct laze_view {
  laze_storage *own;                 /* whose recipe it is */
  laze_storage *base;                /* referenced; `own`, without a reference: it was a view */
  laze_storage *origin;              /* referenced; NULL: it has a history of its own: detached, or its own base */
  struct laze_view *next, *previous; /* among the base's */
  laze_view_step *last;              /* referenced; NULL: no step, it is all of its base */
  uint64_t family;                   /* of the views that one call gave, which share nothing; 0: there are no others */
  bool listed;                       /* among the base's views: while its handle lives */
  bool whole;                        /* it is all of its base, and as that is: there are no steps */
  bool unsized; /* sizes of it follow from values: its steps are not known, so that it can be recorded again if `whole`
                 */
  bool foreign; /* the kernel of a declared operator gave it: unsized, and nobody knows its places */
  uint8_t dtype, rank;
  int64_t offset;
  int64_t extents[]; /* sizes, then strides; -1 each where it is unsized */
} laze_view;

/* What is known of a view that is to be made. */
typedef struct laze_view_recipe {
  laze_storage *parent; /* of which it is a view, maybe one itself */
  laze_view_step *last; /* a reference is taken */
  const laze_geometry *geometry;
  uint64_t family;
  laze_view_kind kind;
  bool detached, unsized, foreign, whole;
} laze_view_recipe;

/* Makes the slot, which was made just now and has its cell, a view. */
LAZE_MUST_USE laze_status laze_view_attach(laze_lazy *lazy, laze_slot *slot, const laze_view_recipe *recipe,
                                           laze_error *error);
/* Makes a slot, which was made just now with its cell, a view of all of another that has a cell. `detached`: with a
 * history of its own, which is none at first. */
LAZE_MUST_USE laze_status laze_view_share(laze_lazy *lazy, laze_slot *view, const laze_slot *of, bool detached,
                                          laze_error *error);
/* Has the slot's value, which is no view, lie as `geometry` says, as that of a view does whose base is gone. */
LAZE_MUST_USE laze_status laze_view_lay(laze_lazy *lazy, laze_slot *slot, const laze_geometry *geometry,
                                        laze_error *error);
/* Whether no element of one view is an element of the other, both of one base, as far as that is easy to see: they come
 * from one call that gives pieces, or lie one behind the other, or in other columns of a matrix. */
bool laze_views_apart(const laze_view *a, const laze_view *b);
/* A step behind others (NULL: the first) with a copy of the attributes; takes a reference of `before`. `repeats`: it
 * gives several elements one place. NULL: memory is out. */
laze_view_step *laze_view_step_create(laze_lazy *lazy, laze_view_step *before, laze_op op,
                                      const laze_attribute *attributes, bool repeats);
void laze_view_step_release(laze_lazy *lazy, laze_view_step *step); /* NULL is ignored */

/* Where the elements of a storage lie: of a base with this type, in row-major order. False: its sizes are not known. */
bool laze_view_geometry(const laze_storage *storage, const laze_type *type, laze_geometry *out);
/* The type of a slot's value, whether it has a cell or not. */
void laze_slot_type(const laze_slot *slot, laze_type *out);
/* Where the gradient of the slot's value goes, now that its base may have been written to: whether it requires one, and
 * whether it is a leaf. */
bool laze_slot_requires_grad(const laze_slot *slot);
bool laze_slot_is_leaf(const laze_slot *slot);

/* Gives the slot a cell if it is a view that has none: its steps are recorded again, in a frame of their own, so that
 * none may be under way. Fails for want of memory, and where the view is unsized and not whole. Implemented in
 * lazy/views/refresh.c. */
LAZE_MUST_USE laze_status laze_view_refresh(laze_thread_state *thread, laze_slot *slot, laze_error *error);
/* Asked wherever a value is wanted, and so inlined. */
LAZE_MUST_USE static inline laze_status laze_slot_refresh(laze_thread_state *thread, laze_slot *slot,
                                                          laze_error *error) {
  return slot->storage->cell ? LAZE_OK : laze_view_refresh(thread, slot, error);
}
/* The part of refreshing that cannot fail: the view has this cell (a reference is taken) and is fresh. */
void laze_view_renew(laze_lazy *lazy, laze_storage *storage, laze_cell *cell);
/* A base was given another cell: its views have none from now on. */
void laze_views_outdate(laze_lazy *lazy, laze_storage *base);
/* The handle of a storage goes, whose edge this is (taken over); the storage's reference is released after it. */
void laze_view_leave(laze_lazy *lazy, laze_storage *storage, laze_edge edge);
/* A view has a history of its own from now on, which is that of its handle. */
void laze_view_detach(laze_lazy *lazy, laze_storage *storage);
/* The view is its own base from now on. */
void laze_view_part(laze_lazy *lazy, laze_storage *storage);
/* Whether its memory is another's. */
static inline bool laze_storage_is_view(const laze_storage *storage) {
  return storage->view && storage->view->base != storage;
}
/* Whether it is a base, or all of one. */
static inline bool laze_storage_is_whole(const laze_storage *storage) {
  return !laze_storage_is_view(storage) || storage->view->whole;
}
/* Which writes the storage has seen: those to its base. */
static inline int64_t laze_storage_version(const laze_storage *storage) {
  return storage->view ? storage->view->base->version : storage->version;
}
/* Where the gradient of a storage's tensor goes, also when its handle has gone; and has it go somewhere else. */
laze_edge laze_storage_edge(const laze_storage *storage);
void laze_storage_set_edge(laze_lazy *lazy, laze_storage *storage, laze_edge edge);

#endif
