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

static laze_status check_recorded(const laze_thread_state *thread, const laze_sides *sides, laze_error *error) {
  if (!laze_slot_requires_grad(sides->to) || !laze_thread_tracks(thread)) return LAZE_OK;
  return laze_fail(error, LAZE_FAILED_PRECONDITION,
                   "%s: the tensor requires a gradient; set it where no gradients are recorded", sides->function);
}

static laze_status check_dtype(const laze_sides *sides, laze_error *error) {
  const laze_dtype dtype = sides->from->storage->cell->dtype;
  if (!laze_slot_requires_grad(sides->to) || !laze_slot_is_leaf(sides->to) || laze_dtype_is_inexact(dtype))
    return LAZE_OK;
  return laze_fail(error, LAZE_INVALID_ARGUMENT,
                   "%s: the tensor requires a gradient and the source is of %s; only floats and complex numbers have "
                   "gradients",
                   sides->function, laze_dtype_name(dtype));
}

/* A history is of one shape and dtype; that of a leaf begins with it. */
static laze_status check_form(const laze_sides *sides, laze_error *error) {
  laze_type types[2];
  char text[2][128];
  laze_slot_type(sides->to, &types[0]);
  laze_slot_type(sides->from, &types[1]);
  if (!laze_slot_requires_grad(sides->to) || laze_slot_is_leaf(sides->to) || laze_type_equal(&types[0], &types[1]))
    return LAZE_OK;
  return laze_fail(error, LAZE_INVALID_ARGUMENT,
                   "%s: the tensor is %s, was computed from others that require gradients, and would become %s, which "
                   "these know nothing of; detach it first",
                   sides->function, laze_type_format(NULL, &types[0], text[0], sizeof text[0]),
                   laze_type_format(NULL, &types[1], text[1], sizeof text[1]));
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

void laze_slot_become(laze_lazy *lazy, laze_slot *tensor, laze_slot *other, laze_edge edge) {
  (void)laze_edge_retain(edge);
  swap(tensor, other);
  laze_slot_set_edge(lazy, tensor, edge);
  laze_handle_drop(lazy, other);
  laze_edge_release(lazy, edge);
}

/* With the history that `edge` is. */
static laze_status set(laze_thread_state *thread, const laze_sides *sides, laze_edge edge, laze_error *error) {
  laze_lazy *lazy = thread->lazy;
  laze_slot *other = laze_handle_slot(laze_handle_create(thread, sides->from->storage->cell));
  if (!other) return laze_fail_memory(error, "a tensor", sizeof(laze_storage));
  const laze_status status = laze_view_share(lazy, other, sides->from, true, error);
  if (status == LAZE_OK)
    laze_slot_become(lazy, sides->to, other, edge);
  else
    laze_handle_drop(lazy, other);
  return status;
}

static laze_status set_anew(laze_thread_state *thread, const laze_sides *sides, laze_error *error) {
  const bool stays_leaf = laze_slot_requires_grad(sides->to) && laze_slot_is_leaf(sides->to);
  LAZE_TRY(check_recorded(thread, sides, error));
  LAZE_TRY(check_dtype(sides, error));
  const laze_edge leaf = {stays_leaf ? laze_grad_leaf_create(thread->lazy) : NULL, 0};
  if (stays_leaf && !leaf.node) return laze_fail_memory(error, "a gradient", sizeof *leaf.node);
  const laze_status status = set(thread, sides, leaf, error);
  laze_edge_release(thread->lazy, leaf);
  return status;
}

static laze_status set_data(laze_thread_state *thread, const laze_sides *sides, laze_error *error) {
  LAZE_TRY(laze_slot_refresh(thread, sides->to, error)); /* or its edge may be out of date */
  LAZE_TRY(check_dtype(sides, error));
  LAZE_TRY(check_form(sides, error));
  return set(thread, sides, laze_slot_edge(sides->to), error);
}

static laze_status leave(laze_tensor *tensor, laze_tensor *source, const char *function,
                         laze_status (*how)(laze_thread_state *thread, const laze_sides *sides, laze_error *error),
                         laze_error *error) {
  laze_sides sides = {.function = function, .destination = tensor, .source = source};
  laze_thread_state *thread;
  laze_error failure;
  LAZE_TRY(laze_sides_lock(&sides, &thread, error));
  laze_status status = laze_sides_find(thread, &sides, &failure);
  if (status == LAZE_OK) status = laze_sides_check_values(&sides, &failure);
  if (status == LAZE_OK) status = how(thread, &sides, &failure);
  if (status != LAZE_OK) laze_sides_report(thread, &sides, &failure, error);
  laze_lazy_unlock(thread->lazy);
  return status;
}

laze_status laze_tensor_set(laze_tensor *tensor, laze_tensor *source, laze_error *error) {
  return leave(tensor, source, __func__, set_anew, error);
}

laze_status laze_tensor_set_data(laze_tensor *tensor, laze_tensor *source, laze_error *error) {
  return leave(tensor, source, __func__, set_data, error);
}
