/* Handles: what they hold, and what retaining, releasing and assigning them does. */
#include "lazy/value/handle.h"

#include "lazy/lazy.h"
#include "lazy/thread.h"
#include "lazy/value/cell.h"
#include "lazy/value/failure.h"

static laze_storage *storage_create(laze_lazy *lazy, laze_cell *cell) {
  laze_storage *storage = laze_pool_take(&lazy->pool, sizeof *storage);
  if (!storage) return NULL;
  *storage = (laze_storage){.cell = cell, .references = 1};
  laze_cell_retain(cell);
  return storage;
}

static void storage_release(laze_lazy *lazy, laze_storage *storage) {
  if (--storage->references > 0) return;
  laze_cell_release(lazy, storage->cell);
  laze_pool_give(&lazy->pool, storage, sizeof *storage);
}

laze_tensor *laze_handle_create(laze_thread_state *thread, laze_cell *cell) {
  laze_lazy *lazy = thread->lazy;
  laze_open_scope *scope = thread->scope;
  laze_slot *slot = laze_slot_take(&lazy->slots);
  laze_storage *storage = slot ? storage_create(lazy, cell) : NULL;
  if (!storage) {
    if (slot) laze_slot_give(&lazy->slots, slot);
    laze_scope_note(thread, NULL);
    return laze_handle_out_of_memory();
  }
  slot->storage = storage;
  slot->scope = scope;
  slot->next = scope->slots;
  scope->slots = slot;
  if (scope->depth < cell->depth) cell->depth = scope->depth;
  return laze_slot_handle(slot);
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
  bool holding = slot->retains > 0 || slot->assigned;
  if (holding == slot->holding) return;
  laze_storage *storage = slot->storage;
  slot->holding = holding;
  storage->holds += holding ? 1 : -1;
  if (holding && storage->holds == 1) storage->cell->holds++;
  if (!holding && storage->holds == 0) storage->cell->holds--;
}

static void slot_free(laze_lazy *lazy, laze_slot *slot) {
  slot->retains = 0;
  slot->assigned = false;
  update_holding(slot);
  storage_release(lazy, slot->storage);
  if (slot->errors) laze_quotes_clear(lazy, &slot->errors);
  slot->storage = NULL;
  slot->scope = NULL;
  laze_slot_give(&lazy->slots, slot);
}

void laze_handle_release_scope(laze_lazy *lazy, laze_open_scope *scope) {
  for (laze_slot *slot = scope->slots, *next; slot; slot = next) {
    next = slot->next;
    laze_cell *cell = slot->storage->cell;
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
  laze_cell *cell = slot->storage->cell;
  if (cell->depth == scope->depth) cell->depth = LAZE_NO_DEPTH;
  slot->scope = NULL;
  slot->next = NULL;
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

/* The slot of one side of an assignment. */
static laze_status find_side(laze_lazy *lazy, const char *side, laze_tensor *tensor, laze_slot **out,
                             laze_error *error) {
  if (!tensor) return laze_fail(error, LAZE_INVALID_ARGUMENT, "laze_tensor_assign: the %s is NULL", side);
  const laze_lazy *own = laze_handle_lazy(tensor);
  if (own && own != lazy)
    return laze_fail(error, LAZE_INVALID_ARGUMENT,
                     "laze_tensor_assign: the %s belongs to another context than the destination", side);
  *out = own ? laze_handle_slot(tensor) : NULL;
  if (*out) return LAZE_OK;
  return laze_fail(error, LAZE_INVALID_ARGUMENT,
                   "laze_tensor_assign: the %s is a released handle; retain a tensor that is used after its scope",
                   side);
}

/* The error that an assignment passes on: the source's, or that of the call that should have made the destination. A
 * destination that failed when it ran has a type, and may get a new value. */
static laze_failure *passed_on(const laze_cell *to, const laze_cell *from) {
  if (to->state == LAZE_CELL_ERROR && to->dtype == LAZE_DTYPE_NONE) return to->value.failure;
  return from->state == LAZE_CELL_ERROR ? from->value.failure : NULL;
}

/* Why the two cannot be assigned. */
static laze_status check_assign(const laze_slot *destination, const laze_slot *source, laze_error *error) {
  laze_cell *to = destination->storage->cell, *from = source->storage->cell;
  const laze_failure *failure = passed_on(to, from);
  if (failure) return laze_fail(error, failure->code, "%s", failure->message);
  laze_type types[2];
  laze_cell_type(to, &types[0]);
  laze_cell_type(from, &types[1]);
  if (laze_type_equal(&types[0], &types[1])) return LAZE_OK;
  char text[2][128];
  return laze_fail(error, LAZE_INVALID_ARGUMENT,
                   "laze_tensor_assign: the destination is %s and the source %s; shape and dtype must be equal",
                   laze_type_format(NULL, &types[0], text[0], sizeof text[0]),
                   laze_type_format(NULL, &types[1], text[1], sizeof text[1]));
}

static void assign(laze_lazy *lazy, laze_slot *destination, laze_slot *source) {
  laze_storage *storage = destination->storage;
  laze_cell *old = storage->cell, *cell = source->storage->cell;
  laze_cell_retain(cell);
  if (storage->holds > 0) {
    old->holds--;
    cell->holds++;
  }
  if (destination->scope && old->depth == destination->scope->depth) old->depth = LAZE_NO_DEPTH;
  storage->cell = cell;
  storage->version++;
  destination->assigned = true;
  update_holding(destination);
  laze_cell_release(lazy, old);
}

/* The caller's error, if it is asked for; the scope's otherwise, where one that is passed on is already. */
static void report_assign(laze_thread_state *thread, laze_failure *passed_on, const laze_error *failure,
                          laze_error *error) {
  if (error) *error = *failure;
  if (error && passed_on) passed_on->reported = true;
  if (!error && !passed_on) (void)laze_handle_fail(thread, failure);
}

laze_status laze_tensor_assign_error(laze_tensor *destination, laze_tensor *source, laze_error *error) {
  if (error) *error = (laze_error){.code = LAZE_OK};
  const laze_tensor *none = laze_handle_out_of_memory();
  if (destination == none || source == none) /* noted when it arose */
    return laze_fail(error, LAZE_OUT_OF_MEMORY, "laze_tensor_assign: there was no memory for one of the tensors");
  laze_lazy *lazy = laze_handle_lazy(destination ? destination : source);
  if (!lazy) lazy = laze_lazy_get(NULL); /* whose scope is told */
  laze_thread_state *thread = lazy ? laze_lazy_lock(lazy) : NULL;
  if (!thread) return laze_fail_memory(error, "a thread's state", sizeof *thread);
  laze_error failure;
  laze_slot *to = NULL, *from = NULL;
  laze_status status = find_side(lazy, "destination", destination, &to, &failure);
  if (status == LAZE_OK) status = find_side(lazy, "source", source, &from, &failure);
  if (status == LAZE_OK) status = check_assign(to, from, &failure);
  if (status == LAZE_OK)
    assign(lazy, to, from);
  else
    report_assign(thread, to && from ? passed_on(to->storage->cell, from->storage->cell) : NULL, &failure, error);
  laze_lazy_unlock(lazy);
  return status;
}

laze_status laze_tensor_assign(laze_tensor *destination, laze_tensor *source) {
  return laze_tensor_assign_error(destination, source, NULL);
}
