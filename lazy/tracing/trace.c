/* Traces in the C interface (laze/trace.h):
 *
 *   begin   inputs computed, each as a cell of its own ── parameters of an empty graph ── layer on
 *   end     outputs found ── layer off ── what was captured is computed, and becomes constants ── dead nodes dropped
 */
#include "laze/trace.h"

#include "base/blob.h"
#include "base/context.h"
#include "base/dtype.h"
#include "ir/interface/interface.h"
#include "ir/op.gen.h"
#include "ir/pass.h"
#include "laze/autograd.h"
#include "lazy/lazy.h"
#include "lazy/run/materialise.h"
#include "lazy/thread.h"
#include "lazy/tracing/check.h"
#include "lazy/tracing/tracer.h"
#include "lazy/value/cell.h"
#include "lazy/value/failure.h"
#include "lazy/value/handle.h"
#include "lazy/value/view.h"
#include "runtime/buffer.h"

#include <string.h>

static const laze_trace_options no_options = {.struct_size = sizeof no_options};

static laze_status lock(const char *function, laze_context *context, laze_thread_state **out, laze_error *error) {
  laze_lazy *lazy = laze_lazy_get(context);
  *out = lazy ? laze_lazy_lock(lazy) : NULL;
  return *out ? LAZE_OK : laze_fail_memory(error, function, -1);
}

static void drop_trace(laze_context *context) {
  laze_thread_state *thread;
  if (lock("a trace", context, &thread, NULL) != LAZE_OK) return;
  if (thread->tracer) thread->tracer->drop(thread->tracer);
  laze_lazy_unlock(thread->lazy);
}

/* The slot of a tensor of this context. */
static laze_status find_slot(const char *function, laze_thread_state *thread, const char *what, int32_t index,
                             laze_tensor *tensor, laze_slot **out, laze_error *error) {
  *out = tensor && laze_handle_lazy(tensor) == thread->lazy ? laze_handle_slot(tensor) : NULL;
  if (tensor == laze_handle_out_of_memory())
    return laze_fail(error, LAZE_OUT_OF_MEMORY, "%s: there was no memory for %s %d", function, what, (int)index);
  if (!*out)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: %s %d is %s", function, what, (int)index,
                     tensor ? "a released handle, or of another context" : "NULL");
  LAZE_TRY(laze_slot_refresh(thread, *out, error));
  laze_cell *cell = (*out)->storage->cell;
  if (cell->state != LAZE_CELL_ERROR) return LAZE_OK;
  cell->value.failure->reported = true;
  return laze_fail(error, cell->value.failure->code, "%s", cell->value.failure->message);
}

/* --- Beginning --- */

/* A cell of its own with the same value, which is there. */
static laze_cell *copy_cell(laze_lazy *lazy, const laze_cell *cell) {
  laze_type type;
  laze_cell_type(cell, &type);
  laze_cell *copy = laze_cell_create(lazy, cell->state, &type);
  if (!copy) return NULL;
  copy->value = cell->value;
  if (cell->state == LAZE_CELL_BUFFER) laze_buffer_retain(copy->value.buffer);
  return copy;
}

/* Input `index` of the trace: a parameter, and a tensor that stands for it. */
static laze_status add_input(laze_open_trace *trace, const char *name, int32_t index, laze_tensor *tensor,
                             laze_tensor **traced, laze_error *error) {
  laze_lazy *lazy = trace->thread->lazy;
  laze_slot *slot;
  laze_type type;
  laze_value value;
  LAZE_TRY(find_slot("laze_trace_begin", trace->thread, "input", index, tensor, &slot, error));
  laze_cell_type(slot->storage->cell, &type);
  LAZE_TRY(laze_graph_add_parameter(trace->graph, trace->graph->body, name, &type, &value, error));
  laze_cell *cell = copy_cell(lazy, slot->storage->cell);
  if (!cell) return laze_fail_memory(error, "an input", sizeof *cell);
  const laze_status status = laze_open_trace_put(trace, cell, value, true, error);
  if (status == LAZE_OK) *traced = laze_handle_create(trace->thread, cell);
  laze_cell_release(lazy, cell);
  return status;
}

static laze_status open_trace(laze_thread_state *thread, laze_tensor *const *inputs, int32_t count,
                              const laze_trace_options *options, laze_tensor **traced, laze_error *error) {
  laze_graph *graph;
  laze_open_trace *trace;
  if (thread->tracer)
    return laze_fail(error, LAZE_FAILED_PRECONDITION,
                     "laze_trace_begin: a trace is open on this thread; end it before another begins");
  LAZE_TRY(laze_graph_create(thread->lazy->context, options->name ? options->name : "trace", &graph, error));
  LAZE_TRY(laze_open_trace_create(thread, graph, &trace, error));
  trace->strict = options->flags & LAZE_TRACE_STRICT;
  laze_status status = LAZE_OK;
  for (int32_t i = 0; i < count && status == LAZE_OK; i++)
    status = add_input(trace, options->input_names ? options->input_names[i] : NULL, i, inputs[i], &traced[i], error);
  if (status == LAZE_OK)
    thread->tracer = &trace->tracer;
  else
    laze_open_trace_destroy(trace);
  return status;
}

static laze_status check_options(const char *function, const laze_trace_options **options, laze_error *error) {
  if (!*options) *options = &no_options;
  if ((*options)->struct_size < sizeof **options)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: struct_size is %zu; set it to sizeof(laze_trace_options)",
                     function, (*options)->struct_size);
  if (!((*options)->flags & ~(LAZE_TRACE_STRICT | LAZE_TRACE_CHECK))) return LAZE_OK;
  return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: flags are %d; expected LAZE_TRACE_STRICT and LAZE_TRACE_CHECK",
                   function, (int)(*options)->flags);
}

laze_status laze_trace_begin(laze_context *context, laze_tensor *const *inputs, int32_t input_count,
                             const laze_trace_options *options, laze_tensor **traced, laze_error *error) {
  laze_thread_state *thread;
  if (input_count < 0 || (input_count > 0 && (!inputs || !traced)))
    return laze_fail(error, LAZE_INVALID_ARGUMENT,
                     "laze_trace_begin: inputs and traced must not be NULL, nor their count negative");
  LAZE_TRY(check_options("laze_trace_begin", &options, error));
  const laze_force force = {.reason = LAZE_FORCE_CALL, .function = "laze_trace_begin"};
  LAZE_TRY(laze_materialise_tensors(inputs, input_count, &force, error));
  LAZE_TRY(lock("laze_trace_begin", context, &thread, error));
  laze_status status = open_trace(thread, inputs, input_count, options, traced, error);
  const bool opened = status == LAZE_OK;
  laze_lazy_unlock(thread->lazy);
  for (int32_t i = 0; i < input_count && status == LAZE_OK; i++)
    if (laze_tensor_requires_grad(inputs[i])) status = laze_tensor_require_grad(traced[i], 1, error);
  if (status != LAZE_OK && opened) drop_trace(context);
  return status;
}

/* --- Ending --- */

static void release_buffer(void *buffer) {
  laze_buffer_release(buffer);
}

/* The elements of a captured cell: its buffer's memory, or a number in `room`. *blob is the caller's. */
static laze_status take_elements(laze_lazy *lazy, const laze_cell *cell, int64_t *room, laze_data *out,
                                 laze_error *error) {
  if (cell->state == LAZE_CELL_ERROR)
    return laze_fail(error, cell->value.failure->code, "a tensor from outside: %s", cell->value.failure->message);
  if (cell->state == LAZE_CELL_SCALAR) {
    laze_scalar_store(laze_cell_scalar(cell), cell->dtype, room, 0);
    *out = laze_data_of(room, laze_dtype_size(cell->dtype));
    return LAZE_OK;
  }
  laze_buffer *buffer = cell->value.buffer;
  *out = laze_data_of(buffer->data, laze_cell_elements(cell) * laze_dtype_size(cell->dtype));
  out->blob = laze_blob_borrow(lazy->context, buffer->data, release_buffer, buffer);
  if (!out->blob) return laze_fail_memory(error, "a constant", -1);
  laze_buffer_retain(buffer);
  return LAZE_OK;
}

/* Computes what was captured, and makes constants of it. Computing lets go of the lock. */
static laze_status bind_captured(laze_open_trace *trace, laze_error *error) {
  laze_lazy *lazy = trace->thread->lazy;
  const int64_t count = trace->captured_count;
  const laze_force force = {.reason = LAZE_FORCE_EXPORT, .function = "laze_trace_end"};
  laze_status status = LAZE_OK;
  for (int64_t i = 0; i < count && status == LAZE_OK; i++)
    status = laze_materialise_cell(trace->thread, trace->captured[i], &force, error);
  LAZE_TRY(status);
  laze_data *elements = laze_alloc_zero(lazy->context, count * (int64_t)(sizeof *elements + sizeof(int64_t)));
  if (!elements) return laze_fail_memory(error, "the constants of a trace", -1);
  int64_t *numbers = (int64_t *)(void *)(elements + count);
  for (int64_t i = 0; i < count && status == LAZE_OK; i++)
    status = take_elements(lazy, trace->captured[i], &numbers[i], &elements[i], error);
  if (status == LAZE_OK)
    status = laze_graph_bind_parameters(trace->graph, trace->captured_parameters, elements, count, error);
  for (int64_t i = 0; i < count; i++) laze_blob_release(elements[i].blob);
  laze_free(lazy->context, elements);
  return status;
}

/* The label of the node that gives an output. */
static laze_status name_output(laze_open_trace *trace, laze_value value, const char *name, laze_error *error) {
  laze_node *node = &trace->graph->nodes[value.node];
  if (!name || node->op == LAZE_OP_PARAMETER) return LAZE_OK;
  node->name = laze_arena_copy_string(&trace->graph->arena, name);
  return node->name ? LAZE_OK : laze_fail_memory(error, "the name of an output", -1);
}

static laze_status set_outputs(laze_open_trace *trace, laze_tensor *const *outputs, int32_t count,
                               const char *const *names, laze_error *error) {
  laze_lazy *lazy = trace->thread->lazy;
  laze_value *values = laze_alloc_array(lazy->context, count, sizeof *values);
  laze_slot *slot;
  laze_traced_cell output;
  if (!values) return laze_fail_memory(error, "the outputs of a trace", -1);
  laze_status status = LAZE_OK;
  for (int32_t i = 0; i < count && status == LAZE_OK; i++) {
    status = find_slot("laze_trace_end", trace->thread, "output", i, outputs[i], &slot, error);
    if (status == LAZE_OK) status = laze_open_trace_find(trace, slot->storage->cell, &output, error);
    if (status != LAZE_OK) break;
    values[i] = output.value;
    status = name_output(trace, output.value, names ? names[i] : NULL, error);
  }
  if (status == LAZE_OK) status = laze_block_set_results(trace->graph, trace->graph->body, values, count, error);
  laze_free(lazy->context, values);
  return status;
}

/* An output that is a view, whose base was written to, is recorded again: so the trace is open until outputs are found.
 */
static laze_status fill(laze_open_trace *trace, laze_tensor *const *outputs, int32_t count, const char *const *names,
                        laze_error *error) {
  laze_status status = trace->failure.code;
  if (status == LAZE_OK) status = set_outputs(trace, outputs, count, names, error);
  trace->thread->tracer = NULL;
  if (trace->failure.code != LAZE_OK) return laze_fail(error, trace->failure.code, "%s", trace->failure.message);
  LAZE_TRY(status);
  if (trace->strict && trace->read.code != LAZE_OK)
    return laze_fail(error, trace->read.code, "%s", trace->read.message);
  return bind_captured(trace, error);
}

/* What the program that was traced is warned of; code LAZE_OK: nothing. */
typedef struct {
  laze_error read, write;
} trace_warnings;

/* Takes the graph of the open trace, which is closed; *out NULL: it is dropped. */
static laze_status close_trace(laze_thread_state *thread, laze_tensor *const *outputs, int32_t count,
                               const char *const *names, laze_graph **out, trace_warnings *warnings,
                               laze_error *error) {
  laze_open_trace *trace = (laze_open_trace *)thread->tracer;
  if (!trace)
    return laze_fail(error, LAZE_FAILED_PRECONDITION,
                     "laze_trace_end: no trace is open on this thread; laze_trace_begin opens one");
  laze_status status = out ? fill(trace, outputs, count, names, error) : LAZE_OK;
  *warnings = (trace_warnings){trace->read, trace->write};
  if (status == LAZE_OK && out) {
    *out = trace->graph;
    laze_graph_take_from_context(trace->graph);
    trace->graph = NULL;
  }
  laze_open_trace_destroy(trace);
  return status;
}

static laze_status end_trace(laze_context *context, laze_tensor *const *outputs, int32_t count,
                             const char *const *names, laze_graph **out, laze_error *error) {
  static const laze_pass_options dead_nodes = {.only = "dead_nodes"};
  laze_thread_state *thread;
  trace_warnings warnings = {.read.code = LAZE_OK, .write.code = LAZE_OK};
  if (out) *out = NULL;
  if (count < 0 || (count > 0 && !outputs)) {
    drop_trace(context);
    return laze_fail(error, LAZE_INVALID_ARGUMENT,
                     "laze_trace_end: outputs must not be NULL, nor their count negative");
  }
  LAZE_TRY(lock("laze_trace_end", context, &thread, error));
  laze_status status = close_trace(thread, outputs, count, names, out, &warnings, error);
  laze_lazy_unlock(thread->lazy);
  if (status == LAZE_OK && out) status = laze_passes_run(out, &dead_nodes, error);
  const bool warns = status == LAZE_OK && out;
  if (warns && warnings.read.code != LAZE_OK)
    laze_log_advice(thread->lazy->context, LAZE_ADVICE_BAKED, "%s", warnings.read.message);
  if (warns && warnings.write.code != LAZE_OK)
    laze_log_message(thread->lazy->context, LAZE_LOG_WARNING, "%s", warnings.write.message);
  if (status != LAZE_OK && out) {
    laze_graph_release(*out);
    *out = NULL;
  }
  return status;
}

laze_status laze_trace_end(laze_context *context, laze_tensor *const *outputs, int32_t output_count, laze_graph **out,
                           laze_error *error) {
  return end_trace(context, outputs, output_count, NULL, out, error);
}

/* --- Functions --- */

/* Whether the open trace is the one of this call. */
static laze_status check_owner(const char *caller, laze_context *context, const void *owner, laze_error *error) {
  laze_thread_state *thread;
  LAZE_TRY(lock(caller, context, &thread, error));
  const laze_open_trace *trace = (const laze_open_trace *)thread->tracer;
  const bool same = trace && trace->owner == owner;
  laze_lazy_unlock(thread->lazy);
  if (same) return LAZE_OK;
  return laze_fail(error, LAZE_FAILED_PRECONDITION,
                   "%s: the function ended the trace that it was called in; leave laze_trace_end to %s", caller,
                   caller);
}

laze_status laze_traced_function_call(const char *caller, laze_context *context, laze_traced_function function,
                                      void *self, laze_tensor *const *inputs, laze_tensor **outputs,
                                      laze_error *error) {
  laze_thread_state *thread;
  laze_error said = {.code = LAZE_OK};
  LAZE_TRY(lock(caller, context, &thread, error));
  ((laze_open_trace *)thread->tracer)->owner = &said;
  laze_lazy_unlock(thread->lazy);
  const laze_status status = function(self, inputs, outputs, &said);
  if (status == LAZE_OK) return check_owner(caller, context, &said, error);
  if (*said.message) return laze_fail(error, status, "%s", said.message);
  return laze_fail(error, status, "%s: the function failed with %s and gave no message; write one into its error",
                   caller, laze_status_name(status));
}

laze_status laze_traced_scope_end(laze_scope *scope, laze_status status, laze_graph **graph, laze_error *error) {
  laze_error unread;
  const laze_status ended = laze_scope_end_error(scope, &unread);
  if (status == LAZE_OK && ended != LAZE_OK) status = laze_fail(error, ended, "%s", unread.message);
  if (status == LAZE_OK) return LAZE_OK;
  laze_graph_release(*graph);
  *graph = NULL;
  return status;
}

typedef struct {
  laze_traced_function function;
  void *self;
  laze_context *context;
  int32_t input_count, output_count;
  const laze_trace_options *options;
} traced_call;

/* Traces one call of the function, on `inputs`; `tensors` has room for what stands for them, and for outputs. */
static laze_status trace_call(const traced_call *call, laze_tensor *const *inputs, laze_tensor **tensors,
                              laze_graph **out, laze_error *error) {
  laze_tensor **outputs = tensors + call->input_count;
  LAZE_TRY(laze_trace_begin(call->context, inputs, call->input_count, call->options, tensors, error));
  for (int32_t i = 0; i < call->output_count; i++) outputs[i] = NULL;
  const laze_status status =
      laze_traced_function_call("laze_trace_call", call->context, call->function, call->self, tensors, outputs, error);
  if (status == LAZE_OK)
    return end_trace(call->context, outputs, call->output_count, call->options->output_names, out, error);
  drop_trace(call->context);
  return status;
}

/* Traces it once more for other values. */
static laze_status check_call(const traced_call *call, laze_tensor *const *inputs, laze_tensor **others,
                              laze_tensor **tensors, const laze_graph *first, laze_error *error) {
  laze_graph *second = NULL;
  for (int32_t i = 0; i < call->input_count; i++) {
    others[i] = laze_other_values(inputs[i]);
    if (laze_tensor_requires_grad(inputs[i])) LAZE_TRY(laze_tensor_require_grad(others[i], 1, error));
  }
  LAZE_TRY(trace_call(call, others, tensors, &second, error));
  const laze_status status = laze_trace_compare(first, second, error);
  laze_graph_release(second);
  return status == LAZE_OK ? LAZE_OK : laze_error_prefix(error, "laze_trace_call");
}

static laze_status trace_in_scope(const traced_call *call, laze_tensor *const *inputs, laze_graph **out,
                                  laze_error *error) {
  const int64_t count = 2 * (int64_t)call->input_count + call->output_count;
  laze_tensor **tensors = laze_alloc_zero(call->context, count * (int64_t)sizeof *tensors);
  if (!tensors) return laze_fail_memory(error, "the tensors of a trace", -1);
  laze_status status = trace_call(call, inputs, tensors, out, error);
  if (status == LAZE_OK && call->options->flags & LAZE_TRACE_CHECK)
    status = check_call(call, inputs, tensors + call->input_count + call->output_count, tensors, *out, error);
  laze_free(call->context, tensors);
  return status;
}

laze_status laze_trace_call(laze_traced_function function, void *self, laze_tensor *const *inputs, int32_t input_count,
                            int32_t output_count, const laze_trace_options *options, laze_graph **out,
                            laze_error *error) {
  if (out) *out = NULL;
  if (!function || !out || input_count < 0 || output_count < 0 || (input_count > 0 && !inputs))
    return laze_fail(error, LAZE_INVALID_ARGUMENT,
                     "laze_trace_call: function, inputs and out must not be NULL, nor a count negative");
  LAZE_TRY(check_options("laze_trace_call", &options, error));
  laze_lazy *lazy = input_count > 0 ? laze_handle_lazy(inputs[0]) : NULL;
  if (!lazy) lazy = laze_lazy_get(NULL);
  laze_scope *scope = lazy ? laze_scope_begin(lazy->context) : NULL;
  if (!scope) return laze_fail_memory(error, "a trace", -1);
  const traced_call call = {function, self, lazy->context, input_count, output_count, options};
  return laze_traced_scope_end(scope, trace_in_scope(&call, inputs, out, error), out, error);
}
