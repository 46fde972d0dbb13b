/* Sizes of a frame that tensors say: numbers where they are known, and symbols of the definers that are recorded for
 * them otherwise, one for each value. */
#include "ir/defined_size.h"
#include "lazy/lazy.h"
#include "lazy/record/expander.h"
#include "lazy/record/frame.h"
#include "lazy/record/record_state.h"
#include "lazy/thread.h"
#include "lazy/value/cell.h"
#include "lazy/value/pending.h"

/* Element `index` of the value, by the symbol that stands for it already if there is one. */
static laze_status size_from(laze_expander *expander, const laze_size_source *source, laze_size *out,
                             laze_error *error) {
  laze_record_state *state = expander->state;
  laze_lazy *lazy = state->thread->lazy;
  const laze_pending *definer =
      laze_unknowns_definer_of(lazy, state->values[source->value.node].cell, source->index, source->low, source->high);
  if (!definer) return laze_record_size_from(&expander->recorder, source, out, error);
  state->sizes = expander->recorder.sizes = lazy->unknowns.table;
  *out = laze_pending_defines(definer);
  return LAZE_OK;
}

static laze_status whole_list(laze_expander *expander, const laze_frame_size *size, laze_size_source source,
                              laze_error *error) {
  const laze_type *type = laze_recorder_type(&expander->recorder, source.value);
  int64_t length = type->rank == 1 ? type->sizes[0] : -1;
  if (!laze_size_is_constant(length) || length < 0 || length > size->room)
    return laze_fail(error, LAZE_INVALID_ARGUMENT,
                     "sizes come from a tensor of one dim and a length of at most %d that is known, such as i64[2]",
                     (int)size->room);
  for (source.index = 0; source.index < length; source.index++)
    LAZE_TRY(size_from(expander, &source, &size->items[source.index], error));
  size->attribute->count = (int32_t)length;
  return LAZE_OK;
}

laze_status laze_record_frame_size(laze_record_state *state, const laze_frame_size *size, laze_value value,
                                   const laze_call *call, laze_error *error) {
  laze_expander expander;
  laze_size_source source = {.value = value, .low = LAZE_SIZE_CONSTANT_MIN, .high = LAZE_SIZE_CONSTANT_MAX};
  if (size->items) source.low = 0; /* a shape, in which a number below 0 is an error of whoever reads it */
  laze_expander_init(&expander, state, call->location, call->op);
  laze_status status = LAZE_OK;
  if (size->items && size->item < 0)
    status = whole_list(&expander, size, source, error);
  else
    status =
        size_from(&expander, &source, size->items ? &size->items[size->item] : &size->attribute->value.size, error);
  laze_expander_deinit(&expander);
  return status;
}
