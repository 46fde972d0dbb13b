/* From pending cells to buffers:
 *
 *   take the trace -> look it up -> (a miss: copy a graph, compile it) -> run -> cells become buffers
 *                     locked        copying locked, compiling not        not     locked
 *
 * A run goes on when values fail, and reports which outputs failed with them: those cells become errors.
 *
 * What the unlocked part needs is referenced before: outputs by their cells, inputs by their buffers. Should another
 * thread resolve a cell meanwhile, its buffer stays and ours goes.
 */
#include "lazy/run/materialise.h"

#include "base/dtype.h"
#include "base/float_control.h"
#include "ir/graph.h"
#include "lazy/lazy.h"
#include "lazy/run/compile.h"
#include "lazy/run/donate.h"
#include "lazy/run/miss.h"
#include "lazy/run/run_state.h"
#include "lazy/run/save.h"
#include "lazy/run/trace_cache.h"
#include "lazy/thread.h"
#include "lazy/value/failure.h"
#include "lazy/value/pending.h"
#include "runtime/backend.h"
#include "runtime/buffer.h"

#include <string.h>

/* One block holds all numbers of a run. */
typedef struct {
  _Atomic int64_t references;
  laze_context *context;
  int64_t numbers[];
} number_block;

static void block_release(void *self, void *data) {
  (void)data;
  number_block *block = self;
  if (atomic_fetch_sub_explicit(&block->references, 1, memory_order_acq_rel) == 1) laze_free(block->context, block);
}

static int64_t count_scalars(const laze_trace *trace) {
  int64_t count = 0;
  for (int64_t i = 0; i < trace->leaf_count; i++) count += trace->leaves[i]->state == LAZE_CELL_SCALAR;
  return count;
}

/* Makes buffers of the numbers among the inputs. */
static laze_status wrap_scalars(laze_trace *trace, laze_context *context, int64_t count, laze_error *error) {
  int64_t size = (int64_t)sizeof(number_block) + count * (int64_t)sizeof(int64_t);
  number_block *block = laze_alloc(context, size);
  if (!block) return laze_fail_memory(error, "numbers of a graph", size);
  block->references = 1;
  block->context = context;
  laze_status status = LAZE_OK;
  int64_t *number = block->numbers;
  for (int64_t i = 0; i < trace->leaf_count && status == LAZE_OK; i++) {
    const laze_cell *cell = trace->leaves[i];
    if (cell->state != LAZE_CELL_SCALAR) continue;
    laze_scalar_store(laze_cell_scalar(cell), cell->dtype, number, 0);
    status = laze_buffer_borrow(context, number++, laze_dtype_size(cell->dtype), block_release, block,
                                &trace->buffers[i], error);
    if (status == LAZE_OK) atomic_fetch_add_explicit(&block->references, 1, memory_order_relaxed);
  }
  block_release(block, NULL);
  return status;
}

/* Then the cell keeps the buffer for the run. */
static bool is_donated(const laze_trace *trace, int64_t input) {
  return trace->donated_count > 0 && trace->donated[input];
}

/* References everything the run needs. Clean up with unprepare(), also on failure. */
static laze_status prepare(laze_trace *trace, laze_lazy *lazy, laze_error *error) {
  void *array = trace->buffers;
  int64_t count = trace->leaf_count + trace->output_count;
  laze_status status = laze_grow(lazy->context, &array, &trace->buffer_capacity, count, sizeof *trace->buffers, error);
  if (status != LAZE_OK) {
    trace->leaf_count = trace->output_count = 0;
    return status;
  }
  trace->buffers = array;
  memset(trace->buffers, 0, (size_t)count * sizeof *trace->buffers);
  laze_trace_donate(trace, lazy);
  for (int64_t i = 0; i < trace->output_count; i++) laze_cell_retain(trace->outputs[i]);
  for (int64_t i = 0; i < trace->leaf_count; i++) {
    if (trace->leaves[i]->state != LAZE_CELL_BUFFER) continue;
    trace->buffers[i] = trace->leaves[i]->value.buffer;
    if (!is_donated(trace, i)) laze_buffer_retain(trace->buffers[i]);
  }
  int64_t scalars = count_scalars(trace);
  return scalars > 0 ? wrap_scalars(trace, lazy->context, scalars, error) : LAZE_OK;
}

static void unprepare(laze_trace *trace, laze_lazy *lazy) {
  for (int64_t i = 0; i < trace->leaf_count; i++)
    if (trace->buffers[i] && !is_donated(trace, i)) laze_lazy_drop_buffer(lazy, trace->buffers[i]);
  for (int64_t i = 0; i < trace->output_count; i++) laze_cell_release(lazy, trace->outputs[i]);
  laze_trace_end_donation(trace, lazy);
}

/* A trace on its way to a result. */
typedef struct {
  laze_trace trace;
  const laze_force *force;
  laze_hash key;
  laze_executable *executable; /* NULL: to be compiled from `graph` */
  laze_graph *graph;
  bool grows;             /* the last of many misses, each of a longer graph */
  laze_run_report report; /* which outputs failed */
} materialisation;

enum { LONGER_MISSES = 32 };

/* Notes that a graph of so many nodes was not found; whether it is the last of many that were each longer than the one
 * before. */
static bool grows(laze_run_state *state, int64_t nodes) {
  state->longer_misses = nodes > state->missed_nodes ? state->longer_misses + 1 : 0;
  state->missed_nodes = nodes;
  if (state->longer_misses < LONGER_MISSES) return false;
  state->longer_misses = 0;
  return true;
}

/* Finds the executable, or copies the graph from which to compile it. */
static laze_status look_up(materialisation *work, laze_thread_state *thread, laze_text *explanation,
                           laze_error *error) {
  laze_lazy *lazy = thread->lazy;
  laze_trace *trace = &work->trace;
  laze_metrics *metrics = laze_context_metrics(lazy->context);
  work->key = laze_hash_bytes(trace->words, (size_t)trace->word_count * sizeof *trace->words);
  work->executable = laze_trace_cache_find(lazy->traces, work->key, trace->words, trace->word_count);
  laze_metrics_add(metrics, work->executable ? LAZE_METRIC_TRACE_CACHE_HITS : LAZE_METRIC_TRACE_CACHE_MISSES, 1);
  if (work->executable) return LAZE_OK;
  work->grows = grows(thread->run, trace->node_count);
  if (laze_context_debug(lazy->context, LAZE_DEBUG_MISS) || laze_context_save_directory(lazy->context))
    laze_miss_explain(trace, lazy->traces, explanation);
  return laze_trace_graph(trace, lazy, &work->graph, error);
}

/* Compiles if need be, and runs, without the lock. */
static laze_status run_unlocked(materialisation *work, laze_thread_state *thread, const laze_text *explanation,
                                laze_error *error) {
  laze_lazy *lazy = thread->lazy;
  laze_trace *trace = &work->trace;
  laze_trace_start_run(trace, thread);
  laze_lazy_unlock(lazy);
  if (explanation->size > 0 && laze_context_debug(lazy->context, LAZE_DEBUG_MISS))
    laze_log_message(lazy->context, LAZE_LOG_INFO, "%s", laze_text_get(explanation));
  if (work->graph && laze_context_save_directory(lazy->context))
    laze_save_graph(lazy, work->graph, work->key, work->force, laze_text_get(explanation));
  if (work->grows)
    laze_log_advice(lazy->context, LAZE_ADVICE_LONGER,
                    "%d graphs in a row were each longer than the one before, and so compiled anew, this one of %lld "
                    "operators: is something recorded again that was computed? LAZE_DEBUG=miss shows where they differ",
                    LONGER_MISSES, (long long)trace->node_count);
  laze_status status = work->executable ? LAZE_OK : laze_lazy_compile(lazy, work->graph, &work->executable, error);
  laze_sites sites = laze_trace_sites(trace);
  laze_run run = {.inputs = trace->buffers,
                  .outputs = trace->buffers + trace->leaf_count,
                  .donated = trace->donated_count > 0 ? trace->donated : NULL,
                  .for_updates = true,
                  .overwritten = &trace->overwritten,
                  .sites = &sites,
                  .report = &work->report};
  if (status == LAZE_OK) status = lazy->backend->execute(work->executable, &run, error);
  pthread_mutex_lock(&lazy->lock);
  laze_trace_end_run(trace);
  return status;
}

/* Reads the numbers among the outputs that sizes are; whether there are some. */
static bool note_numbers(const laze_trace *trace, laze_lazy *lazy) {
  bool found = false;
  for (int64_t i = 0; i < trace->output_count; i++) {
    const laze_buffer *buffer = trace->buffers[trace->leaf_count + i];
    const laze_cell *cell = trace->outputs[i];
    if (!buffer || !laze_cell_is_pending(cell) || !cell->node->unknown || laze_pending_defines(cell->node) == 0)
      continue;
    laze_unknowns_note(&lazy->unknowns, cell->node, laze_scalar_load(LAZE_I64, buffer->data, 0).value.integer);
    found = true;
  }
  return found;
}

/* Gives an output with unknown sizes those that it has. */
static laze_status learn_output(laze_lazy *lazy, laze_cell *cell, const laze_buffer *buffer, laze_error *error) {
  LAZE_TRY(laze_unknowns_learn(lazy, cell, error));
  laze_type type;
  laze_size elements = -1;
  laze_cell_type(cell, &type);
  if (cell->state == LAZE_CELL_PENDING) LAZE_TRY(laze_type_elements(NULL, &type, &elements, error));
  if (elements >= 0 && elements * laze_dtype_size(type.dtype) <= buffer->size) return LAZE_OK;
  return laze_fail(error, LAZE_INTERNAL, "%s gave %lld bytes, but sizes that were found say otherwise",
                   laze_op_get(cell->node->op)->name, (long long)buffer->size);
}

/* A pending output gets its buffer, whose reference is taken over. */
static void publish_value(laze_thread_state *thread, laze_cell *cell, laze_buffer *buffer) {
  laze_lazy *lazy = thread->lazy;
  laze_error error;
  if (cell->state != LAZE_CELL_UNKNOWN || learn_output(lazy, cell, buffer, &error) == LAZE_OK) {
    laze_cell_resolve(lazy, cell, buffer);
    return;
  }
  laze_failure *failure = laze_failure_create(lazy, &error);
  laze_scope_note(thread, failure);
  if (failure) laze_cell_fail(lazy, cell, failure);
  laze_failure_release(lazy, failure);
  laze_lazy_drop_buffer(lazy, buffer);
}

/* The outputs that error `cause` of the report has kept from being computed are errors from now on. */
static void publish_failure(const materialisation *work, laze_thread_state *thread, int32_t cause) {
  const laze_trace *trace = &work->trace;
  laze_failure *failure = laze_failure_create(thread->lazy, &work->report.errors[cause]);
  laze_scope_note(thread, failure);
  for (int64_t i = 0; i < trace->output_count && failure; i++)
    if (work->report.causes[i] == cause && laze_cell_is_pending(trace->outputs[i]))
      laze_cell_fail(thread->lazy, trace->outputs[i], failure);
  laze_failure_release(thread->lazy, failure);
}

/* Gives the outputs their buffers or their errors. Those for which there was no memory stay pending, and the first such
 * error is returned. */
static laze_status publish(materialisation *work, laze_thread_state *thread, laze_error *error) {
  const laze_trace *trace = &work->trace;
  const laze_run_report *report = &work->report;
  const laze_error *first = NULL;
  laze_trace_keep_sites(thread->lazy);
  bool found = note_numbers(trace, thread->lazy);
  for (int64_t i = 0; i < trace->output_count; i++) {
    laze_buffer *buffer = trace->buffers[trace->leaf_count + i];
    if (buffer && laze_cell_is_pending(trace->outputs[i]))
      publish_value(thread, trace->outputs[i], buffer);
    else if (buffer)
      laze_lazy_drop_buffer(thread->lazy, buffer);
  }
  if (found) laze_unknowns_spread(thread);
  for (int32_t cause = 0; cause < report->error_count; cause++) {
    bool passes = report->errors[cause].code == LAZE_OUT_OF_MEMORY; /* there may be some at the next try */
    if (!passes) publish_failure(work, thread, cause);
    if (passes && !first) first = &report->errors[cause];
  }
  if (report->error_count > 0) laze_cell_spread_failures(thread->lazy, thread->lazy->oldest);
  return first ? laze_fail(error, first->code, "%s", first->message) : LAZE_OK;
}

/* `start` is when the trace began to be taken. */
static laze_status run_trace(materialisation *work, laze_thread_state *thread, int64_t start, laze_error *error) {
  laze_lazy *lazy = thread->lazy;
  laze_trace *trace = &work->trace;
  laze_metrics *metrics = laze_context_metrics(lazy->context);
  laze_text explanation;
  laze_text_init(&explanation, lazy->context);
  if (work->force->reason < LAZE_FORCE_BUDGET) /* the others have counted it themselves */
    laze_metrics_add(metrics, LAZE_METRIC_RUNS_FOR_READ + work->force->reason, 1);
  laze_status status = look_up(work, thread, &explanation, error);
  if (status == LAZE_OK) {
    status = prepare(trace, lazy, error);
    const int64_t time = laze_clock() - start;
    laze_metrics_add(metrics, LAZE_METRIC_TIME_TRACE_US, time);
    laze_metrics_sample(metrics, LAZE_SAMPLE_TRACE_NS, time);
    if (status == LAZE_OK) status = run_unlocked(work, thread, &explanation, error);
    if (status == LAZE_OK) status = publish(work, thread, error);
    unprepare(trace, lazy);
  }
  if (work->graph && work->executable)
    laze_trace_cache_insert(lazy->traces, work->key, trace->words, trace->word_count, work->executable);
  laze_graph_destroy(work->graph);
  laze_executable_release(work->executable);
  laze_text_deinit(&explanation);
  if (status != LAZE_OK) return status;
  laze_metrics_sample(metrics, LAZE_SAMPLE_WAIT_NS, laze_clock() - start);
  laze_metrics_add(metrics, LAZE_METRIC_NODES_RECOMPUTED, trace->recomputed);
  return status;
}

/* Takes the trace, again where another thread's run has to end first, which may compute what is wanted. */
static laze_status take(laze_trace *trace, laze_thread_state *thread, const laze_trace_wish *wish,
                        const laze_backend *backend, laze_error *error) {
  bool waited = true;
  laze_status status = LAZE_OK;
  if (wish->cell) laze_cell_retain(wish->cell); /* while others have the lock */
  while (waited && status == LAZE_OK) {
    trace->output_count = 0;
    if (wish->cell && !laze_cell_is_pending(wish->cell)) break;
    status = laze_trace_take(trace, thread, wish, backend, error);
    if (status == LAZE_OK) status = laze_trace_await_writer(trace, thread, &waited, error);
  }
  if (wish->cell) laze_cell_release(thread->lazy, wish->cell);
  return status;
}

static laze_status materialise(laze_thread_state *thread, const laze_trace_wish *wish, const laze_force *force,
                               laze_error *error) {
  laze_lazy *lazy = thread->lazy;
  int64_t start = laze_clock();
  const laze_backend *backend;
  LAZE_TRY(laze_lazy_backend(lazy, &backend, error));
  /* The thread's arrays are taken along, because callbacks during the run may use laze on this thread. */
  materialisation work = {.trace = thread->run->trace, .force = force};
  memset(&thread->run->trace, 0, sizeof thread->run->trace);
  laze_status status = take(&work.trace, thread, wish, backend, error);
  if (status == LAZE_OK && work.trace.output_count > 0) status = run_trace(&work, thread, start, error);
  laze_run_report_deinit(&work.report);
  laze_trace_deinit(&thread->run->trace, lazy->context);
  thread->run->trace = work.trace;
  return status;
}

/* Numbers are converted as they enter a run; of the entries, only a read has set the mode before. */
static laze_status materialise_guarded(laze_thread_state *thread, const laze_trace_wish *wish, const laze_force *force,
                                       laze_error *error) {
  laze_float_control caller;
  laze_float_control_enter(&caller);
  laze_status status = materialise(thread, wish, force, error);
  laze_float_control_leave(&caller);
  return status;
}

laze_status laze_materialise_cell(laze_thread_state *thread, laze_cell *cell, const laze_force *force,
                                  laze_error *error) {
  if (!laze_cell_is_pending(cell)) return LAZE_OK;
  return materialise(thread, &(laze_trace_wish){.cell = cell}, force, error);
}

laze_status laze_materialise_held(laze_thread_state *thread, const laze_force *force, laze_error *error) {
  if (thread->backlog.nodes == 0) return LAZE_OK;
  return materialise_guarded(thread, &(laze_trace_wish){.held = true}, force, error);
}

laze_status laze_materialise_selected(laze_thread_state *thread, uint64_t selection, bool held, const laze_force *force,
                                      laze_error *error) {
  return materialise_guarded(thread, &(laze_trace_wish){.selection = selection, .held = held}, force, error);
}
