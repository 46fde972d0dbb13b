/* What assignments and writes begin with, and who is told of an error. */
#include "lazy/views/sides.h"

#include "lazy/lazy.h"
#include "lazy/run/size_sync.h"
#include "lazy/thread.h"
#include "lazy/value/cell.h"
#include "lazy/value/failure.h"
#include "lazy/value/handle.h"
#include "lazy/value/view.h"

laze_status laze_sides_lock(const laze_sides *sides, laze_thread_state **out, laze_error *error) {
  if (error) *error = (laze_error){.code = LAZE_OK};
  const laze_tensor *none = laze_handle_out_of_memory();
  if (sides->destination == none || sides->source == none) /* noted when it arose */
    return laze_fail(error, LAZE_OUT_OF_MEMORY, "%s: there was no memory for one of the tensors", sides->function);
  laze_lazy *lazy = laze_handle_lazy(sides->destination ? sides->destination : sides->source);
  if (!lazy) lazy = laze_lazy_get(NULL); /* whose scope is told */
  *out = lazy ? laze_lazy_lock(lazy) : NULL;
  return *out ? LAZE_OK : laze_fail_memory(error, "a thread's state", sizeof **out);
}

static laze_status find_side(const laze_lazy *lazy, const char *function, const char *side, laze_tensor *tensor,
                             laze_slot **out, laze_error *error) {
  if (!tensor) return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: the %s is NULL", function, side);
  const laze_lazy *own = laze_handle_lazy(tensor);
  if (own && own != lazy)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: the %s belongs to another context than the destination",
                     function, side);
  *out = own ? laze_handle_slot(tensor) : NULL;
  if (*out) return LAZE_OK;
  return laze_fail(error, LAZE_INVALID_ARGUMENT,
                   "%s: the %s is a released handle; retain a tensor that is used after its scope", function, side);
}

laze_status laze_sides_find(laze_thread_state *thread, laze_sides *sides, laze_error *error) {
  sides->to = sides->from = NULL;
  LAZE_TRY(find_side(thread->lazy, sides->function, "destination", sides->destination, &sides->to, error));
  LAZE_TRY(find_side(thread->lazy, sides->function, "source", sides->source, &sides->from, error));
  return laze_slot_refresh(thread, sides->from, error);
}

laze_status laze_sides_find_sizes(laze_thread_state *thread, laze_sides *sides, laze_error *error) {
  laze_type types[2];
  laze_cell *cells[] = {sides->to->storage->cell, sides->from->storage->cell};
  laze_slot_type(sides->to, &types[0]);
  laze_slot_type(sides->from, &types[1]);
  if (!cells[0] || laze_type_equal(&types[0], &types[1])) return LAZE_OK; /* sizes of a view without cell are known */
  laze_status status = LAZE_OK;
  for (int i = 0; i < 2; i++) laze_cell_retain(cells[i]);
  for (int i = 0; i < 2 && status == LAZE_OK; i++) status = laze_sync_cell(thread, cells[i], error);
  for (int i = 0; i < 2; i++) laze_cell_release(thread->lazy, cells[i]);
  return status == LAZE_OK ? laze_sides_find(thread, sides, error) : status;
}

/* NULL: there is none. */
static laze_failure *passed_on(const laze_sides *sides) {
  if (!sides->to || !sides->from) return NULL;
  const laze_cell *to = sides->to->storage->cell, *from = sides->from->storage->cell;
  if (to && to->state == LAZE_CELL_ERROR && laze_cell_lacks_type(to)) return to->value.failure;
  return from && from->state == LAZE_CELL_ERROR ? from->value.failure : NULL;
}

laze_status laze_sides_check_values(const laze_sides *sides, laze_error *error) {
  const laze_failure *failure = passed_on(sides);
  return failure ? laze_fail(error, failure->code, "%s", failure->message) : LAZE_OK;
}

void laze_sides_report(laze_thread_state *thread, const laze_sides *sides, const laze_error *failure,
                       laze_error *error) {
  laze_failure *known = passed_on(sides);
  if (error) *error = *failure;
  if (error && known) known->reported = true;
  if (!error && !known) (void)laze_handle_fail(thread, failure);
}
