/* A sync of sizes selects the nodes that define them, and computes those:
 *
 *   mask ── count ── size_from u0      selected: the graph ends here, and every f32[u0] learns the number
 *     └──── gather ──────┘  f32[u0]    is still pending
 */
#include "lazy/run/size_sync.h"

#include "lazy/lazy.h"
#include "lazy/run/materialise.h"
#include "lazy/thread.h"
#include "lazy/value/pending.h"

static void select_definer(void *self, laze_pending *definer) {
  definer->selected = *(const uint64_t *)self;
}

static void select_with_value(void *self, laze_pending *definer) {
  const laze_cell *value = definer->operands[0];
  select_definer(self, definer);
  if (laze_cell_is_pending(value)) value->node->selected = definer->selected;
}

static laze_status run_selected(laze_thread_state *thread, uint64_t selection, laze_error *error) {
  laze_metrics_add(laze_context_metrics(thread->lazy->context), LAZE_METRIC_SIZE_SYNCS, 1);
  const laze_force force = {.reason = LAZE_FORCE_SIZE, .function = "laze_tensor_size"};
  return laze_materialise_selected(thread, selection, false, &force, error);
}

laze_status laze_sync_cell(laze_thread_state *thread, laze_cell *cell, laze_error *error) {
  laze_lazy *lazy = thread->lazy;
  if (cell->state != LAZE_CELL_UNKNOWN) return LAZE_OK;
  uint64_t selection = ++lazy->mark;
  LAZE_TRY(laze_unknowns_each_definer(lazy, cell->sizes, cell->rank, select_definer, &selection, error));
  return run_selected(thread, selection, error);
}

laze_status laze_sync_select(laze_lazy *lazy, const laze_size *sizes, int32_t count, uint64_t *selection,
                             laze_error *error) {
  *selection = ++lazy->mark;
  return laze_unknowns_each_definer(lazy, sizes, count, select_with_value, selection, error);
}

laze_status laze_sync_selected(laze_thread_state *thread, uint64_t selection, bool *found, laze_error *error) {
  *found = false;
  for (const laze_pending *node = thread->lazy->newest; node && !*found; node = node->older)
    *found = node->selected == selection;
  return *found ? run_selected(thread, selection, error) : LAZE_OK;
}
