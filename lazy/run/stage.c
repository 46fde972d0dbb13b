/* One definer after the other, the oldest first:
 *
 *   mask ── count ── size_from u0 ── gather f32[u0]      count runs, u0 is 5 from then on
 *                                    gather f32[5]       an ordinary graph
 */
#include "lazy/run/stage.h"

#include "base/dtype.h"
#include "ir/op.gen.h"
#include "lazy/lazy.h"
#include "lazy/run/materialise.h"
#include "lazy/run/trace.h"
#include "lazy/thread.h"
#include "lazy/value/failure.h"
#include "lazy/value/pending.h"
#include "runtime/buffer.h"

laze_pending *laze_trace_definer(const laze_trace *trace) {
  for (int64_t i = trace->node_count; i-- > 0;)
    if (trace->nodes[i]->unknown && laze_pending_defines(trace->nodes[i]) != 0) return trace->nodes[i];
  return NULL;
}

static laze_status read_number(const laze_pending *definer, int64_t *out, laze_error *error) {
  const laze_attribute *attributes = definer->attributes;
  const laze_cell *value = definer->operands[0];
  int64_t index = attributes[LAZE_SIZE_FROM_INDEX].value.integer;
  int64_t low = attributes[LAZE_SIZE_FROM_LOW].value.integer, high = attributes[LAZE_SIZE_FROM_HIGH].value.integer;
  laze_scalar number = value->state == LAZE_CELL_SCALAR
                           ? value->value.scalar
                           : laze_scalar_load(value->dtype, value->value.buffer->data, index);
  *out = laze_size_saturate(number.value.integer);
  if (*out >= low && *out <= high) return LAZE_OK;
  laze_op called = definer->origin != LAZE_OP_NONE ? definer->origin : definer->op;
  laze_status status =
      laze_fail(error, LAZE_OUT_OF_RANGE, "%s: a size is %lld, but must be from %lld to %lld",
                laze_op_get(called)->base, (long long)number.value.integer, (long long)low, (long long)high);
  if (!definer->location.file) return status;
  return laze_error_prefix(error, "%s:%d", definer->location.file, (int)definer->location.line);
}

static laze_status resolve(laze_lazy *lazy, laze_pending *definer, int64_t number, laze_error *error) {
  laze_buffer *buffer;
  LAZE_TRY(laze_buffer_create(lazy->context, sizeof number, &buffer, error));
  *(int64_t *)buffer->data = number;
  laze_unknowns_note(&lazy->unknowns, definer, number);
  laze_cell_resolve(lazy, &definer->cells[0], buffer);
  return LAZE_OK;
}

static void fail(laze_thread_state *thread, laze_pending *definer, const laze_error *error) {
  laze_failure *failure = laze_failure_create(thread->lazy, error);
  laze_scope_note(thread, failure);
  if (failure) laze_cell_fail(thread->lazy, &definer->cells[0], failure);
  laze_failure_release(thread->lazy, failure);
}

static laze_status run_value(laze_thread_state *thread, laze_cell *value, laze_error *error) {
  if (!laze_cell_is_pending(value)) return LAZE_OK;
  value->node->selected = ++thread->lazy->mark;
  return laze_materialise_selected(thread, value->node->selected, false, error);
}

laze_status laze_run_definer(laze_thread_state *thread, laze_pending *definer, laze_error *error) {
  laze_lazy *lazy = thread->lazy;
  laze_cell *cell = &definer->cells[0];
  int64_t number;
  laze_error wrong;
  laze_cell_retain(cell);
  laze_status status = run_value(thread, definer->operands[0], error);
  bool pending = laze_cell_is_pending(cell); /* another thread may have been faster */
  if (status == LAZE_OK && pending && definer->operands[0]->state != LAZE_CELL_ERROR) {
    if (read_number(definer, &number, &wrong) == LAZE_OK)
      status = resolve(lazy, definer, number, error);
    else
      fail(thread, definer, &wrong);
    if (status == LAZE_OK) laze_unknowns_spread(thread);
  }
  laze_cell_spread_failures(lazy, lazy->oldest);
  laze_cell_release(lazy, cell);
  return status;
}
