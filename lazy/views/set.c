/* A tensor leaves its storage for a new one, which is a view of another tensor's:
 *
 *   x ──> storage ──> cell            x ─────┐                handle that goes ──> storage of x before
 *   y ──> storage ──> cell            y ──>  │  storage ──> cell
 *                                            └──> view of y
 */
#include "base/dtype.h"
#include "lazy/lazy.h"
#include "lazy/thread.h"
#include "lazy/value/cell.h"
#include "lazy/value/grad_node.h"
#include "lazy/value/handle.h"
#include "lazy/value/scope.h"
#include "lazy/value/view.h"
#include "lazy/views/sides.h"

static laze_status check(const laze_thread_state *thread, const laze_sides *sides, laze_error *error) {
  const laze_dtype dtype = sides->from->storage->cell->dtype;
  const bool requires_grad = laze_slot_requires_grad(sides->to);
  if (requires_grad && laze_thread_tracks(thread))
    return laze_fail(error, LAZE_FAILED_PRECONDITION,
                     "%s: the tensor requires a gradient; set it where no gradients are recorded", sides->function);
  if (requires_grad && laze_slot_is_leaf(sides->to) && !laze_dtype_is_inexact(dtype))
    return laze_fail(error, LAZE_INVALID_ARGUMENT,
                     "%s: the tensor requires a gradient and the source is of %s; only floats and complex numbers have "
                     "gradients",
                     sides->function, laze_dtype_name(dtype));
  return LAZE_OK;
}

/* Swaps what two slots of tensors stand for; each keeps its handle and who holds it. */
static void swap(laze_slot *a, laze_slot *b) {
  const laze_slot before = *a;
  laze_slot *const slots[] = {a, b};
  for (int i = 0; i < 2; i++) {
    laze_cell *cell = slots[i]->storage->cell;
    if (slots[i]->holding) laze_storage_hold(slots[i]->storage, -1);
    if (cell && slots[i]->scope && cell->depth == slots[i]->scope->depth) cell->depth = LAZE_NO_DEPTH;
  }
  a->storage = b->storage;
  a->grad_node = b->grad_node;
  a->grad_result = b->grad_result;
  b->storage = before.storage;
  b->grad_node = before.grad_node;
  b->grad_result = before.grad_result;
  for (int i = 0; i < 2; i++) {
    laze_cell *cell = slots[i]->storage->cell;
    slots[i]->storage->slot = slots[i];
    if (slots[i]->holding) laze_storage_hold(slots[i]->storage, 1);
    if (cell && slots[i]->scope && slots[i]->scope->depth < cell->depth) cell->depth = slots[i]->scope->depth;
  }
}

static laze_status set(laze_thread_state *thread, const laze_sides *sides, laze_error *error) {
  laze_lazy *lazy = thread->lazy;
  const bool stays_leaf = laze_slot_requires_grad(sides->to) && laze_slot_is_leaf(sides->to);
  const laze_edge leaf = {stays_leaf ? laze_grad_leaf_create(lazy) : NULL, 0};
  if (stays_leaf && !leaf.node) return laze_fail_memory(error, "a gradient", sizeof *leaf.node);
  laze_slot *other = laze_handle_slot(laze_handle_create(thread, sides->from->storage->cell));
  laze_status status = other ? laze_view_share(lazy, other, sides->from, true, error)
                             : laze_fail_memory(error, "a tensor", sizeof(laze_storage));
  if (status == LAZE_OK) {
    swap(sides->to, other);
    laze_slot_set_edge(lazy, sides->to, leaf);
  }
  if (other) laze_handle_drop(lazy, other);
  laze_edge_release(lazy, leaf);
  return status;
}

laze_status laze_tensor_set(laze_tensor *tensor, laze_tensor *source, laze_error *error) {
  laze_sides sides = {.function = __func__, .destination = tensor, .source = source};
  laze_thread_state *thread;
  laze_error failure;
  LAZE_TRY(laze_sides_lock(&sides, &thread, error));
  laze_status status = laze_sides_find(thread, &sides, &failure);
  if (status == LAZE_OK) status = laze_sides_check_values(&sides, &failure);
  if (status == LAZE_OK) status = check(thread, &sides, &failure);
  if (status == LAZE_OK) status = set(thread, &sides, &failure);
  if (status != LAZE_OK) laze_sides_report(thread, &sides, &failure, error);
  laze_lazy_unlock(thread->lazy);
  return status;
}
