/* Assignments: what is compared, where that takes the sizes of values that are not computed yet, and who is told of an
 * error. */
#include "lazy/lazy.h"
#include "lazy/record/layers.h"
#include "lazy/record/record_state.h"
#include "lazy/run/size_sync.h"
#include "lazy/thread.h"
#include "lazy/value/cell.h"
#include "lazy/value/failure.h"
#include "lazy/value/handle.h"

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
  if (to->state == LAZE_CELL_ERROR && laze_cell_lacks_type(to)) return to->value.failure;
  return from->state == LAZE_CELL_ERROR ? from->value.failure : NULL;
}

/* Sizes have to be known to be compared, unless both follow from the same values. The lock may be free meanwhile. */
static laze_status find_sizes(laze_thread_state *thread, laze_tensor *destination, laze_slot **to, laze_tensor *source,
                              laze_slot **from, laze_error *error) {
  laze_type types[2];
  laze_cell *cells[] = {(*to)->storage->cell, (*from)->storage->cell};
  laze_cell_type(cells[0], &types[0]);
  laze_cell_type(cells[1], &types[1]);
  if (laze_type_equal(&types[0], &types[1])) return LAZE_OK;
  laze_status status = LAZE_OK;
  for (int i = 0; i < 2; i++) laze_cell_retain(cells[i]);
  for (int i = 0; i < 2 && status == LAZE_OK; i++) status = laze_sync_cell(thread, cells[i], error);
  for (int i = 0; i < 2; i++) laze_cell_release(thread->lazy, cells[i]);
  if (status == LAZE_OK) status = find_side(thread->lazy, "destination", destination, to, error);
  return status == LAZE_OK ? find_side(thread->lazy, "source", source, from, error) : status;
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

/* The destination follows from what the source does from now on, unless it is a leaf, which it stays. */
static laze_status take_history(laze_thread_state *thread, laze_tensor *destination, const laze_slot *to,
                                const laze_slot *source, laze_error *error) {
  if (to->grad_node && laze_grad_node_is_leaf(to->grad_node)) return LAZE_OK;
  if (!source->grad_node || !laze_grad_node_is_leaf(source->grad_node) || thread->no_grad) {
    laze_handle_set_edge(thread->lazy, destination, thread->no_grad ? (laze_edge){NULL, 0} : laze_slot_edge(source));
    return LAZE_OK;
  }
  laze_record_state *state = thread->record;
  laze_type type;
  laze_cell_type(source->storage->cell, &type);
  laze_cell_retain(source->storage->cell);
  laze_status status = laze_frame_push(state, source->storage->cell, &type, error);
  if (status == LAZE_OK) state->values[0].edge = laze_edge_retain(laze_slot_edge(source));
  if (status == LAZE_OK) status = laze_history_pass_on(state, (laze_value){0, 0}, (laze_location){0}, error);
  if (status == LAZE_OK) laze_handle_set_edge(thread->lazy, destination, state->values[0].edge);
  laze_frame_clear(state);
  return status;
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
  if (status == LAZE_OK) status = find_sizes(thread, destination, &to, source, &from, &failure);
  if (status == LAZE_OK) status = check_assign(to, from, &failure);
  if (status == LAZE_OK) status = take_history(thread, destination, to, from, &failure);
  if (status == LAZE_OK)
    laze_handle_assign(lazy, to, from);
  else
    report_assign(thread, to && from ? passed_on(to->storage->cell, from->storage->cell) : NULL, &failure, error);
  laze_lazy_unlock(lazy);
  return status;
}

laze_status laze_tensor_assign(laze_tensor *destination, laze_tensor *source) {
  return laze_tensor_assign_error(destination, source, NULL);
}
