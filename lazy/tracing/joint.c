/* Joint graphs of a function and its gradients (laze_trace_joint):
 *
 *   inputs ──> function ──> outputs ──┐
 *                tangents, as inputs ─┴─> laze_grad ──> gradients of inputs that require one
 */
#include "laze/trace.h"

#include "base/context.h"
#include "laze/autograd.h"
#include "lazy/lazy.h"
#include "lazy/thread.h"
#include "lazy/tracing/tracer.h"
#include "lazy/value/cell.h"
#include "lazy/value/handle.h"
#include "lazy/value/view.h"

/* An input more for the open trace, of an output's type: a tensor of zeros. */
static laze_status add_tangent(laze_thread_state *thread, laze_tensor *output, laze_tensor **out, laze_error *error) {
  laze_open_trace *trace = (laze_open_trace *)thread->tracer;
  laze_slot *slot = laze_handle_slot(output);
  laze_type type;
  laze_value value;
  LAZE_TRY(laze_slot_refresh(thread, slot, error));
  laze_cell_type(slot->storage->cell, &type);
  if (laze_type_is_unknown(&type))
    return laze_fail(error, LAZE_UNSUPPORTED, "laze_trace_joint: an output has sizes that follow from values");
  LAZE_TRY(laze_graph_add_parameter(trace->graph, trace->graph->body, "tangent", &type, &value, error));
  return laze_open_trace_stand_in(trace, value, out, error);
}

typedef struct {
  laze_lazy *lazy;
  int32_t input_count, output_count, tangent_count, gradient_count;
  laze_tensor **traced;               /* inputs */
  laze_tensor **results;              /* outputs, then gradients */
  laze_tensor **roots, **tangents;    /* outputs that have a history */
  laze_tensor **targets, **gradients; /* inputs that require a gradient */
  laze_role *outputs;                 /* what they are for */
  bool *trained;                      /* by input: it requires a gradient */
} joint_call;

/* Outputs have to be tensors before they are asked anything. */
static laze_status check_outputs(const joint_call *call, laze_error *error) {
  for (int32_t i = 0; i < call->output_count; i++) {
    if (call->results[i] && laze_tensor_status(call->results[i]) != LAZE_OK)
      return laze_fail(error, laze_tensor_status(call->results[i]), "%s", laze_tensor_error(call->results[i]));
    if (!call->results[i] || laze_handle_lazy(call->results[i]) != call->lazy || !laze_handle_slot(call->results[i]))
      return laze_fail(error, LAZE_INVALID_ARGUMENT,
                       "laze_trace_joint: output %d is NULL, released or of another context", (int)i);
  }
  return LAZE_OK;
}

static laze_status add_tangents(joint_call *call, laze_error *error) {
  LAZE_TRY(check_outputs(call, error));
  for (int32_t i = 0; i < call->output_count; i++)
    if (laze_tensor_requires_grad(call->results[i])) call->roots[call->tangent_count++] = call->results[i];
  laze_thread_state *thread = laze_lazy_lock(call->lazy);
  if (!thread) return laze_fail_memory(error, "a joint trace", -1);
  laze_status status = LAZE_OK;
  for (int32_t i = 0; i < call->tangent_count && status == LAZE_OK; i++)
    status = add_tangent(thread, call->roots[i], &call->tangents[i], error);
  laze_lazy_unlock(call->lazy);
  return status;
}

static laze_tensor *zeros_like(laze_context *context, laze_tensor *tensor) {
  const laze_argument argument = {.kind = LAZE_PASS_TENSOR, .value.tensor = laze_detach(tensor)};
  laze_tensor *result;
  (void)laze_call_by_name(context, "zeros_like", &argument, 1, &result, 1);
  return result;
}

/* Inputs on which no output depends have gradients of zeros. */
static laze_status find_gradients(joint_call *call, laze_error *error) {
  for (int32_t i = 0; i < call->input_count; i++)
    if (laze_tensor_requires_grad(call->traced[i])) call->targets[call->gradient_count++] = call->traced[i];
  if (call->tangent_count > 0 && call->gradient_count > 0)
    LAZE_TRY(laze_grad(call->roots, call->tangents, call->tangent_count, call->targets, call->gradient_count,
                       LAZE_ALLOW_UNUSED, call->gradients, error));
  for (int32_t i = 0; i < call->gradient_count; i++)
    call->results[call->output_count + i] =
        call->gradients[i] ? call->gradients[i] : zeros_like(call->lazy->context, call->targets[i]);
  return LAZE_OK;
}

/* Parameters are the inputs that require a gradient, and a loss is an output of no dimensions that has a history. */
static laze_status sign(const joint_call *call, const laze_role *outputs, const bool *trained, laze_graph *graph,
                        laze_error *error) {
  const int32_t inputs = laze_graph_input_count(graph), results = laze_graph_result_count(graph);
  laze_role *roles = laze_alloc_array(call->lazy->context, (int64_t)inputs + results, sizeof *roles);
  if (!roles) return laze_fail_memory(error, "a signature", -1);
  int32_t gradient = call->output_count;
  for (int32_t i = 0; i < call->output_count; i++) roles[inputs + i] = outputs[i];
  for (int32_t i = 0; i < inputs; i++) {
    roles[i] = (laze_role){.kind = i >= inputs - call->tangent_count ? LAZE_SIGNATURE_TANGENT
                                   : i >= call->input_count          ? LAZE_SIGNATURE_RANDOM
                                   : trained[i]                      ? LAZE_SIGNATURE_PARAMETER
                                                                     : LAZE_SIGNATURE_INPUT};
    if (roles[i].kind == LAZE_SIGNATURE_PARAMETER)
      roles[inputs + gradient++] =
          (laze_role){.kind = LAZE_SIGNATURE_GRADIENT, .of = laze_graph_node(graph, laze_graph_input(graph, i))->name};
  }
  const laze_status status = laze_graph_set_signature(graph, roles, inputs, roles + inputs, results, error);
  laze_free(call->lazy->context, roles);
  return status;
}

static laze_status trace(joint_call *call, laze_traced_function function, void *self, laze_tensor *const *inputs,
                         const laze_trace_options *options, laze_graph **out, laze_error *error) {
  laze_context *context = call->lazy->context;
  laze_error unwanted;
  LAZE_TRY(laze_trace_begin(context, inputs, call->input_count, options, call->traced, error));
  laze_status status =
      laze_traced_function_call("laze_trace_joint", context, function, self, call->traced, call->results, error);
  if (status == LAZE_OK) status = add_tangents(call, error);
  if (status == LAZE_OK) status = find_gradients(call, error);
  if (status == LAZE_OK) {
    for (int32_t i = 0; i < call->output_count; i++)
      call->outputs[i] =
          (laze_role){.kind = laze_tensor_rank(call->results[i]) == 0 && laze_tensor_requires_grad(call->results[i])
                                  ? LAZE_SIGNATURE_LOSS
                                  : LAZE_SIGNATURE_OUTPUT};
    for (int32_t i = 0; i < call->input_count; i++) call->trained[i] = laze_tensor_requires_grad(call->traced[i]);
    status = laze_trace_end(context, call->results, call->output_count + call->gradient_count, out, error);
    return status == LAZE_OK ? sign(call, call->outputs, call->trained, *out, error) : status;
  }
  const laze_status dropped = laze_trace_end(context, NULL, 0, NULL, &unwanted);
  (void)dropped;
  return status;
}

static laze_status trace_in_scope(joint_call *call, laze_traced_function function, void *self,
                                  laze_tensor *const *inputs, const laze_trace_options *options, laze_graph **out,
                                  laze_error *error) {
  const int64_t in = call->input_count, made = call->output_count;
  laze_tensor **room = laze_alloc_zero(call->lazy->context, (4 * in + 3 * made) * (int64_t)sizeof *room);
  if (!room) return laze_fail_memory(error, "a joint trace", -1);
  call->traced = room;
  call->targets = call->traced + in;
  call->gradients = call->targets + in;
  call->results = call->gradients + in;
  call->roots = call->results + made + in;
  call->tangents = call->roots + made;
  call->outputs = laze_alloc_array(call->lazy->context, made, sizeof *call->outputs);
  call->trained = laze_alloc_array(call->lazy->context, in, sizeof *call->trained);
  const laze_status status = call->outputs && call->trained ? trace(call, function, self, inputs, options, out, error)
                                                            : laze_fail_memory(error, "a joint trace", -1);
  laze_free(call->lazy->context, call->outputs);
  laze_free(call->lazy->context, call->trained);
  laze_free(call->lazy->context, room);
  return status;
}

laze_status laze_trace_joint(laze_traced_function function, void *self, laze_tensor *const *inputs, int32_t input_count,
                             int32_t output_count, const laze_trace_options *options, laze_graph **out,
                             laze_joint *counts, laze_error *error) {
  if (out) *out = NULL;
  if (!function || !out || !counts || counts->struct_size < sizeof *counts || input_count < 1 || output_count < 1 ||
      !inputs)
    return laze_fail(error, LAZE_INVALID_ARGUMENT,
                     "laze_trace_joint: function, inputs, out and counts must not be NULL, counts have their "
                     "struct_size, and there is an input and an output at least");
  laze_lazy *lazy = laze_handle_lazy(inputs[0]);
  if (!lazy) lazy = laze_lazy_get(NULL);
  laze_scope *scope = lazy ? laze_scope_begin(lazy->context) : NULL;
  if (!scope) return laze_fail_memory(error, "a trace", -1);
  joint_call call = {.lazy = lazy, .input_count = input_count, .output_count = output_count};
  laze_status status = trace_in_scope(&call, function, self, inputs, options, out, error);
  status = laze_traced_scope_end(scope, status, out, error);
  if (status == LAZE_OK)
    *counts = (laze_joint){sizeof *counts, call.output_count, call.tangent_count, call.gradient_count, 0};
  return status;
}
