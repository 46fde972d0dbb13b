/* The walk through the layers that want a call, top-down. */
#include "lazy/record/layers.h"

#include "lazy/lazy.h"
#include "lazy/record/record_state.h"
#include "lazy/thread.h"
#include "lazy/value/pending.h"

/* What depends on a value that failed fails with it, but not what the call records beside: a value that failed when it
 * ran has its type, so that the call is recorded as any other first. */
static laze_status fail_dependents(laze_record_state *state, const laze_call *call, laze_layers below,
                                   laze_value *results, laze_error *error) {
  laze_lazy *lazy = state->thread->lazy;
  laze_pending *newest = lazy->newest;
  laze_status status = laze_layers_record(state, call, below, results, error);
  laze_cell_spread_failures(lazy, newest ? newest->newer : lazy->oldest);
  return status;
}

typedef struct {
  laze_layers bit;
  laze_layer_function record;
} layer;

static const layer layers[] = {
    {LAZE_LAYER_FAILURE, fail_dependents},
    {LAZE_LAYER_AUTOGRAD, laze_layer_autograd},
    {LAZE_LAYER_EXPAND, laze_layer_expand},
    {LAZE_LAYER_TRACE, laze_layer_trace},
};

laze_status laze_layers_enter(laze_record_state *state, const laze_call *call, laze_layers wanted, laze_value *results,
                              laze_error *error) {
  const layer *topmost = layers;
  while (!(wanted & topmost->bit)) topmost++;
  return topmost->record(state, call, wanted & ~topmost->bit, results, error);
}
