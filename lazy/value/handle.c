/* Handles: what they hold, and what retaining, releasing and assigning them does. */
#include "lazy/value/handle.h"

#include "lazy/lazy.h"
#include "lazy/thread.h"
#include "lazy/value/cell.h"
#include "lazy/value/failure.h"
#include "lazy/value/grad_node.h"
#include "lazy/value/view.h"

static laze_storage *storage_create(laze_lazy *lazy, laze_cell *cell) {
  laze_storage *storage = laze_pool_take(&lazy->pool, sizeof *storage);
  if (!storage) return NULL;
  *storage = (laze_storage){.cell = cell, .references = 1};
  laze_cell_retain(cell);
  return storage;
}

/* A slot of no scope, with a storage of its own. */
static laze_slot *slot_create(laze_lazy *lazy, laze_cell *cell) {
  laze_slot *slot = laze_slot_take(&lazy->slots);
  laze_storage *storage = slot ? storage_create(lazy, cell) : NULL;
  if (!storage) {
    if (slot) laze_slot_give(&lazy->slots, slot);
    return NULL;
  }
  storage->slot = slot;
  slot->storage = storage;
  slot->scope = NULL;
  slot->next = NULL;
  return slot;
}

laze_tensor *laze_handle_create(laze_thread_state *thread, laze_cell *cell) {
  laze_open_scope *scope = thread->scope;
  laze_slot *slot = slot_create(thread->lazy, cell);
  if (!slot) {
    laze_scope_note(thread, NULL);
    return laze_handle_out_of_memory();
  }
  slot->storage->inference = thread->inference;
  slot->scope = scope;
  slot->next = scope->slots;
  scope->slots = slot;
  if (scope->depth < cell->depth) cell->depth = scope->depth;
  return laze_slot_handle(slot);
}

laze_edge laze_slot_edge(const laze_slot *slot) {
  return (laze_edge){slot->grad_node, (int32_t)slot->grad_result};
}

laze_grad_node *laze_slot_grad_place(const laze_slot *slot) {
  laze_grad_node *place = laze_grad_place(laze_slot_edge(slot));
  return place ? place : slot->storage->grad_node;
}

void laze_slot_keep_grad(laze_lazy *lazy, laze_slot *slot, laze_grad_node *leaf) {
  const laze_edge old = {slot->storage->grad_node, 0};
  laze_grad_node_enter(leaf);
  if (leaf) leaf->resting = true;
  if (old.node) old.node->resting = false;
  slot->storage->grad_node = laze_edge_retain((laze_edge){leaf, 0}).node;
  laze_grad_node_leave(lazy, old.node);
  laze_edge_release(lazy, old);
}

void laze_slot_set_edge(laze_lazy *lazy, laze_slot *slot, laze_edge edge) {
  const laze_edge old = laze_slot_edge(slot);
  if (!slot->kept) laze_grad_node_enter(edge.node);
  slot->grad_node = laze_edge_retain(edge).node;
  slot->grad_result = (uint32_t)edge.result % (UINT32_C(1) << (32 - LAZE_SLOT_INDEX_BITS));
  if (!slot->kept) laze_grad_node_leave(lazy, old.node);
  laze_edge_release(lazy, old);
}

void laze_handle_set_edge(laze_lazy *lazy, laze_tensor *tensor, laze_edge edge) {
  laze_slot *slot = laze_handle_slot(tensor);
  if (slot) laze_slot_set_edge(lazy, slot, edge);
}

laze_tensor *laze_handle_create_error(laze_thread_state *thread, laze_failure *failure) {
  static const laze_type no_type = {0};
  laze_cell *cell = laze_cell_create(thread->lazy, LAZE_CELL_ERROR, &no_type);
  if (!cell) {
    laze_scope_note(thread, NULL);
    return laze_handle_out_of_memory();
  }
  cell->value.failure = failure;
  failure->references++;
  laze_tensor *handle = laze_handle_create(thread, cell);
  laze_cell_release(thread->lazy, cell);
  return handle;
}

laze_tensor *laze_handle_fail(laze_thread_state *thread, const laze_error *error) {
  laze_failure *failure = laze_failure_create(thread->lazy, error);
  laze_scope_note(thread, failure);
  if (!failure) return laze_handle_out_of_memory();
  laze_tensor *handle = laze_handle_create_error(thread, failure);
  laze_failure_release(thread->lazy, failure);
  return handle;
}

/* Counts the handle among those that hold its storage, or no longer. */
static void update_holding(laze_slot *slot) {
  bool holding = slot->retains > 0 || slot->assigned || slot->kept;
  if (holding == slot->holding) return;
  slot->holding = holding;
  laze_storage_hold(slot->storage, holding ? 1 : -1);
}

laze_slot *laze_slot_create_kept(laze_lazy *lazy, laze_cell *cell) {
  laze_slot *slot = slot_create(lazy, cell);
  if (!slot) return NULL;
  slot->kept = true;
  update_holding(slot);
  return slot;
}

/* The cell that a handle keeps: that of its base where it has none. */
static laze_cell *kept_cell(const laze_slot *slot) {
  const laze_storage *storage = slot->storage;
  return storage->cell ? storage->cell : storage->view->base->cell;
}

static void slot_free(laze_lazy *lazy, laze_slot *slot) {
  slot->retains = 0;
  slot->assigned = false;
  slot->unsaid = false;
  if (!slot->kept) laze_grad_node_leave(lazy, slot->grad_node);
  slot->kept = false;
  laze_slot_keep_grad(lazy, slot, NULL);
  update_holding(slot);
  laze_view_leave(lazy, slot->storage, laze_slot_edge(slot));
  laze_storage_release(lazy, slot->storage);
  slot->grad_node = NULL;
  if (slot->errors) laze_quotes_clear(lazy, &slot->errors);
  slot->storage = NULL;
  slot->scope = NULL;
  laze_slot_give(&lazy->slots, slot);
}

/* A step ends behind its kernels, and these have taken the caches for what they read and wrote. */
static void prefetch(const laze_slot *slot) {
  if (!slot) return;
  __builtin_prefetch(slot->storage, 1);
  if (slot->next) __builtin_prefetch(slot->next, 1);
}

void laze_handle_release_scope(laze_lazy *lazy, laze_open_scope *scope) {
  for (laze_slot *slot = scope->slots, *next; slot; slot = next) {
    next = slot->next;
    prefetch(next);
    laze_cell *cell = kept_cell(slot);
    if (cell->depth == scope->depth) cell->depth = LAZE_NO_DEPTH;
    if (slot->retains > 0) {
      slot->scope = NULL;
      slot->next = NULL;
    } else {
      slot_free(lazy, slot);
    }
  }
  scope->slots = NULL;
}

laze_tensor *laze_tensor_retain(laze_tensor *tensor) {
  laze_lazy *lazy = laze_handle_lazy(tensor);
  if (!lazy) return tensor;
  pthread_mutex_lock(&lazy->lock);
  laze_slot *slot = laze_handle_slot(tensor);
  bool first = slot && slot->retains++ == 0;
  if (first) update_holding(slot);
  pthread_mutex_unlock(&lazy->lock);
  if (first) laze_context_retain(lazy->context);
  return tensor;
}

/* Takes the handle off its scope's list. */
static void leave_scope(laze_slot *slot) {
  laze_open_scope *scope = slot->scope;
  if (!scope) return;
  laze_slot **place = &scope->slots; /* the newest stand first */
  while (*place != slot) place = &(*place)->next;
  *place = slot->next;
  laze_cell *cell = kept_cell(slot);
  if (cell->depth == scope->depth) cell->depth = LAZE_NO_DEPTH;
  slot->scope = NULL;
  slot->next = NULL;
}

void laze_handle_drop(laze_lazy *lazy, laze_slot *slot) {
  if (slot->retains > 0) return;
  leave_scope(slot);
  slot_free(lazy, slot);
}

laze_tensor *laze_tensor_take(laze_tensor *tensor) {
  laze_lazy *lazy = laze_handle_lazy(laze_tensor_retain(tensor));
  if (!lazy) return tensor;
  pthread_mutex_lock(&lazy->lock);
  laze_slot *slot = laze_handle_slot(tensor);
  if (slot) leave_scope(slot);
  pthread_mutex_unlock(&lazy->lock);
  return tensor;
}

void laze_tensor_release(laze_tensor *tensor) {
  laze_lazy *lazy = laze_handle_lazy(tensor);
  if (!lazy) return;
  laze_context *context = lazy->context;
  pthread_mutex_lock(&lazy->lock);
  laze_slot *slot = laze_handle_slot(tensor);
  bool last = slot && slot->retains > 0 && --slot->retains == 0;
  if (last) {
    update_holding(slot);
    if (!slot->scope) slot_free(lazy, slot);
  }
  laze_lazy_unlock(lazy);
  if (last) laze_context_release(context);
}

void laze_tensor_replace(laze_tensor **place, laze_tensor *value) {
  if (!place) return;
  laze_tensor *old = *place;
  *place = laze_tensor_retain(value); /* first: it may be the same one */
  laze_tensor_release(old);
}

void laze_storage_write(laze_lazy *lazy, laze_storage *storage, laze_cell *cell) {
  const laze_slot *slot = storage->slot;
  laze_cell *old = storage->cell;
  laze_cell_retain(cell);
  if (storage->holds > 0) {
    old->holds--;
    cell->holds++;
  }
  if (slot && slot->scope && old->depth == slot->scope->depth) old->depth = LAZE_NO_DEPTH;
  if (slot && slot->scope && slot->scope->depth < cell->depth) cell->depth = slot->scope->depth;
  storage->cell = cell;
  storage->version++;
  laze_cell_release(lazy, old);
  laze_views_outdate(lazy, storage);
}

void laze_handle_assign(laze_lazy *lazy, laze_slot *destination, const laze_slot *source) {
  laze_storage_write(lazy, destination->storage, source->storage->cell);
  destination->assigned = true;
  update_holding(destination);
}
