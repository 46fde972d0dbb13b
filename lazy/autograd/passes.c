/* Backward passes in the C interface (laze/autograd.h): what a caller asks, as the roots and targets of a pass. */
#include "laze/autograd.h"

#include "base/dtype.h"
#include "lazy/autograd/backward.h"
#include "lazy/autograd/slot.h"
#include "lazy/lazy.h"
#include "lazy/run/budget.h"
#include "lazy/thread.h"
#include "lazy/value/cell.h"
#include "lazy/value/handle.h"
#include "lazy/value/view.h"

/* The gradient of a result that has one element. */
static laze_status make_one(laze_thread_state *thread, const char *function, const laze_cell *cell, laze_gradient *out,
                            laze_error *error) {
  for (int i = 0; i < cell->rank; i++)
    if (cell->sizes[i] != 1)
      return laze_fail(error, LAZE_INVALID_ARGUMENT,
                       "%s: the tensor has more than one element; give its gradient (laze_backward_with), or add its "
                       "elements up",
                       function);
  if (laze_dtype_is_complex(cell->dtype))
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: the tensor is complex; give its gradient (laze_backward_with)",
                     function);
  laze_type type;
  laze_cell_type(cell, &type);
  return laze_gradient_fill(thread, &type, 1, out, error);
}

/* Arrays of a pass, of the context. */
typedef struct {
  laze_edge *roots, *targets;
  laze_gradient *root_gradients, *found;
} pass_arrays;

static laze_status make_arrays(laze_context *context, int32_t roots, int32_t targets, pass_arrays *out,
                               laze_error *error) {
  out->roots = laze_alloc_zero(context, roots * (int64_t)sizeof *out->roots);
  out->root_gradients = laze_alloc_zero(context, roots * (int64_t)sizeof *out->root_gradients);
  out->targets = laze_alloc_zero(context, (targets + 1) * (int64_t)sizeof *out->targets);
  out->found = laze_alloc_zero(context, (targets + 1) * (int64_t)sizeof *out->found);
  if (out->roots && out->root_gradients && out->targets && out->found) return LAZE_OK;
  return laze_fail_memory(error, "a backward pass", roots + targets);
}

static void free_arrays(laze_context *context, pass_arrays *arrays) {
  laze_free(context, arrays->roots);
  laze_free(context, arrays->root_gradients);
  laze_free(context, arrays->targets);
  laze_free(context, arrays->found);
}

/* What a caller asks of a pass. */
typedef struct {
  const char *function; /* which the caller called: for messages */
  laze_tensor *const *outputs, *const *gradients, *const *inputs;
  int32_t output_count, input_count, flags;
  laze_tensor **results; /* NULL: gradients are added to those that are kept */
} request;

/* What a pass begins with, of one tensor. */
static laze_status find_root(laze_thread_state *thread, const request *asked, int32_t index, laze_edge *root,
                             laze_gradient *out, laze_error *error) {
  const char *function = asked->function;
  laze_tensor *tensor = asked->outputs[index], *gradient = asked->gradients ? asked->gradients[index] : NULL;
  laze_slot *slot, *given;
  LAZE_TRY(laze_grad_slot(thread, function, tensor, &slot, error));
  if (!slot->grad_node)
    return laze_fail(error, LAZE_FAILED_PRECONDITION,
                     "%s: the tensor does not follow from one that requires a gradient (laze_tensor_require_grad)",
                     function);
  *root = laze_slot_edge(slot);
  if (!gradient) return make_one(thread, function, slot->storage->cell, out, error);
  LAZE_TRY(laze_grad_slot(thread, function, gradient, &given, error));
  LAZE_TRY(laze_grad_check(function, slot->storage->cell, given->storage->cell, error));
  laze_cell_retain(given->storage->cell);
  *out = (laze_gradient){given->storage->cell, laze_edge_retain(laze_slot_edge(given))};
  return LAZE_OK;
}

/* The targets keep their gradients from now on. */
static laze_status keep_targets(laze_lazy *lazy, const request *asked, const laze_edge *targets, laze_error *error) {
  for (int32_t i = 0; i < asked->input_count; i++)
    if (!laze_grad_retain_result(lazy, targets[i])) return laze_fail_memory(error, "a gradient", -1);
  return LAZE_OK;
}

static laze_status find_targets(laze_thread_state *thread, const request *asked, laze_edge *targets,
                                laze_error *error) {
  for (int32_t i = 0; i < asked->input_count; i++) {
    laze_slot *slot;
    LAZE_TRY(laze_grad_slot(thread, asked->function, asked->inputs[i], &slot, error));
    if (!slot->grad_node)
      return laze_fail(error, LAZE_FAILED_PRECONDITION,
                       "%s: input %d does not require a gradient (laze_tensor_require_grad)", asked->function, (int)i);
    targets[i] = laze_slot_edge(slot);
  }
  return LAZE_OK;
}

static laze_status hand_over(laze_thread_state *thread, const request *asked, laze_gradient *found, laze_error *error) {
  laze_status status = LAZE_OK;
  for (int32_t i = 0; i < asked->input_count && status == LAZE_OK; i++)
    if (!found[i].cell && !(asked->flags & LAZE_ALLOW_UNUSED))
      status =
          laze_fail(error, LAZE_FAILED_PRECONDITION,
                    "%s: no output depends on input %d; LAZE_ALLOW_UNUSED gives none for it", asked->function, (int)i);
  for (int32_t i = 0; i < asked->input_count; i++) {
    if (found[i].cell && status == LAZE_OK) {
      asked->results[i] = laze_handle_create(thread, found[i].cell);
      if (found[i].history.node) laze_handle_set_edge(thread->lazy, asked->results[i], found[i].history);
    }
    laze_gradient_release(thread->lazy, &found[i]);
  }
  return status;
}

static laze_status run_pass(laze_thread_state *thread, const request *asked, pass_arrays *arrays, laze_error *error) {
  laze_status status = LAZE_OK;
  int32_t roots = 0;
  for (int32_t i = 0; i < asked->output_count; i++)
    LAZE_TRY(laze_grad_find_sizes(asked->function, thread, asked->outputs[i],
                                  asked->gradients ? asked->gradients[i] : NULL, error));
  status = find_targets(thread, asked, arrays->targets, error);
  if (status == LAZE_OK && !asked->results) status = keep_targets(thread->lazy, asked, arrays->targets, error);
  for (; roots < asked->output_count && status == LAZE_OK; roots++)
    status = find_root(thread, asked, roots, &arrays->roots[roots], &arrays->root_gradients[roots], error);
  if (status != LAZE_OK) {
    for (int32_t i = 0; i < roots; i++) laze_gradient_release(thread->lazy, &arrays->root_gradients[i]);
    return status;
  }
  const bool creates = asked->flags & LAZE_CREATE_GRAPH;
  const laze_backward_pass pass = {.root_count = asked->output_count,
                                   .roots = arrays->roots,
                                   .root_gradients = arrays->root_gradients,
                                   .target_count = asked->input_count,
                                   .targets = asked->input_count > 0 ? arrays->targets : NULL,
                                   .found = asked->results ? arrays->found : NULL,
                                   .keeps_saved = creates || asked->flags & LAZE_RETAIN_GRAPH,
                                   .creates_history = creates};
  LAZE_TRY(laze_backward_run(thread, &pass, error));
  return asked->results ? hand_over(thread, asked, arrays->found, error) : LAZE_OK;
}

static laze_status check_flags(const request *asked, laze_error *error) {
  const int32_t known = LAZE_RETAIN_GRAPH | LAZE_CREATE_GRAPH | LAZE_ALLOW_UNUSED;
  if (!(asked->flags & ~known)) return LAZE_OK;
  return laze_fail(error, LAZE_INVALID_ARGUMENT,
                   "%s: flags are %d; expected LAZE_RETAIN_GRAPH, LAZE_CREATE_GRAPH and LAZE_ALLOW_UNUSED",
                   asked->function, (int)asked->flags);
}

static laze_status record_pass(const request *asked, laze_error *error) {
  laze_error own;
  if (!error) error = &own;
  for (int32_t i = 0; asked->results && i < asked->input_count; i++) asked->results[i] = NULL;
  const bool lacks_inputs = (asked->results && asked->input_count < 1) || (asked->input_count > 0 && !asked->inputs);
  if (asked->output_count < 1 || !asked->outputs || asked->input_count < 0 || lacks_inputs)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: no tensors are given", asked->function);
  LAZE_TRY(check_flags(asked, error));
  laze_thread_state *thread;
  LAZE_TRY(laze_grad_lock(asked->function, asked->outputs[0], &thread, error));
  laze_lazy *lazy = thread->lazy;
  pass_arrays arrays = {NULL, NULL, NULL, NULL};
  laze_status status = make_arrays(lazy->context, asked->output_count, asked->input_count, &arrays, error);
  if (status == LAZE_OK) status = run_pass(thread, asked, &arrays, error);
  free_arrays(lazy->context, &arrays);
  if (laze_backlog_exceeds(&thread->backlog, &lazy->budget)) laze_budget_cut(thread, lazy->newest);
  laze_lazy_unlock(lazy);
  return status;
}

/* --- tangents: the gradient of gradients, for what these are given for
 *
 *   gradients   g = J^T u     of the inputs, for u = 0 that require gradients themselves
 *   tangents    J t           of u, for the tangents t as what is given for g
 */

typedef struct {
  laze_edge *outputs, *leaves; /* of the outputs, and of what is given for them */
  laze_gradient *zeros, *tangents;
  laze_edge *inputs, *reached; /* of the inputs, and of those gradients of theirs that there are */
  laze_gradient *gradients, *given;
} jvp_arrays;

static laze_status fill_zeros(laze_thread_state *thread, const laze_cell *like, laze_gradient *out, laze_error *error) {
  laze_type type;
  laze_cell_type(like, &type);
  return laze_gradient_fill(thread, &type, 0, out, error);
}

static laze_status find_outputs(laze_thread_state *thread, const request *asked, jvp_arrays *arrays,
                                laze_error *error) {
  for (int32_t i = 0; i < asked->output_count; i++) {
    laze_slot *slot;
    LAZE_TRY(laze_grad_slot(thread, "laze_jvp", asked->outputs[i], &slot, error));
    if (!slot->grad_node)
      return laze_fail(error, LAZE_FAILED_PRECONDITION,
                       "laze_jvp: output %d does not follow from a tensor that requires a gradient", (int)i);
    arrays->outputs[i] = laze_slot_edge(slot);
    LAZE_TRY(fill_zeros(thread, slot->storage->cell, &arrays->zeros[i], error));
    arrays->leaves[i].node = laze_grad_leaf_create(thread->lazy);
    if (!arrays->leaves[i].node) return laze_fail_memory(error, "a tangent", -1);
    arrays->zeros[i].history = laze_edge_retain(arrays->leaves[i]);
  }
  return LAZE_OK;
}

/* The gradients that there are, with the tangents for which their own are asked. */
static laze_status give_tangents(laze_thread_state *thread, const request *asked, jvp_arrays *arrays, int32_t *count,
                                 laze_error *error) {
  for (int32_t i = 0; i < asked->input_count; i++) {
    laze_slot *slot, *input;
    if (!asked->gradients[i] || !arrays->gradients[i].history.node) continue;
    LAZE_TRY(laze_grad_slot(thread, "laze_jvp", asked->gradients[i], &slot, error));
    LAZE_TRY(laze_grad_slot(thread, "laze_jvp", asked->inputs[i], &input, error));
    LAZE_TRY(laze_grad_check("laze_jvp", input->storage->cell, slot->storage->cell, error));
    arrays->reached[*count] = arrays->gradients[i].history;
    laze_cell_retain(slot->storage->cell);
    arrays->given[(*count)++] = (laze_gradient){slot->storage->cell, laze_edge_retain(laze_slot_edge(slot))};
  }
  return LAZE_OK;
}

static laze_status run_jvp(laze_thread_state *thread, const request *asked, jvp_arrays *arrays, laze_error *error) {
  int32_t count = 0;
  for (int32_t i = 0; i < asked->input_count; i++)
    if (asked->gradients[i])
      LAZE_TRY(laze_grad_find_sizes("laze_jvp", thread, asked->inputs[i], asked->gradients[i], error));
  LAZE_TRY(find_targets(thread, asked, arrays->inputs, error));
  LAZE_TRY(find_outputs(thread, asked, arrays, error));
  const laze_backward_pass gradients = {.root_count = asked->output_count,
                                        .roots = arrays->outputs,
                                        .root_gradients = arrays->zeros,
                                        .target_count = asked->input_count,
                                        .targets = arrays->inputs,
                                        .found = arrays->gradients,
                                        .keeps_saved = true,
                                        .creates_history = true,
                                        .for_tangents = true};
  LAZE_TRY(laze_backward_run(thread, &gradients, error));
  LAZE_TRY(give_tangents(thread, asked, arrays, &count, error));
  const laze_backward_pass tangents = {.root_count = count,
                                       .roots = arrays->reached,
                                       .root_gradients = arrays->given,
                                       .target_count = asked->output_count,
                                       .targets = arrays->leaves,
                                       .found = arrays->tangents,
                                       .keeps_saved = true,
                                       .creates_history = asked->flags & LAZE_CREATE_GRAPH};
  LAZE_TRY(laze_backward_run(thread, &tangents, error));
  for (int32_t i = 0; i < asked->output_count; i++) {
    laze_slot *slot = laze_handle_slot(asked->outputs[i]); /* the lock may have been free meanwhile */
    if (slot) LAZE_TRY(laze_slot_refresh(thread, slot, error));
    if (!arrays->tangents[i].cell && slot)
      LAZE_TRY(fill_zeros(thread, slot->storage->cell, &arrays->tangents[i], error));
    if (!arrays->tangents[i].cell)
      return laze_fail(error, LAZE_INVALID_ARGUMENT, "laze_jvp: output %d was released meanwhile", (int)i);
  }
  for (int32_t i = 0; i < asked->output_count; i++) {
    asked->results[i] = laze_handle_create(thread, arrays->tangents[i].cell);
    if (arrays->tangents[i].history.node)
      laze_handle_set_edge(thread->lazy, asked->results[i], arrays->tangents[i].history);
  }
  return LAZE_OK;
}

static laze_status make_jvp_arrays(laze_context *context, int32_t outputs, int32_t inputs, jvp_arrays *out,
                                   laze_error *error) {
  const int64_t edges = 2 * ((int64_t)outputs + inputs), gradients = edges;
  laze_edge *edge = laze_alloc_zero(context, edges * (int64_t)sizeof *edge);
  laze_gradient *gradient = laze_alloc_zero(context, gradients * (int64_t)sizeof *gradient);
  *out = (jvp_arrays){.outputs = edge, .zeros = gradient};
  if (!edge || !gradient) return laze_fail_memory(error, "tangents", edges);
  out->leaves = edge + outputs;
  out->inputs = out->leaves + outputs;
  out->reached = out->inputs + inputs;
  out->tangents = gradient + outputs;
  out->gradients = out->tangents + outputs;
  out->given = out->gradients + inputs;
  return LAZE_OK;
}

static void free_jvp_arrays(laze_lazy *lazy, const request *asked, jvp_arrays *arrays) {
  const int32_t count = 2 * (asked->output_count + asked->input_count);
  for (int32_t i = 0; arrays->leaves && i < count; i++) laze_gradient_release(lazy, &arrays->zeros[i]);
  for (int32_t i = 0; arrays->leaves && i < asked->output_count; i++) laze_edge_release(lazy, arrays->leaves[i]);
  laze_free(lazy->context, arrays->outputs);
  laze_free(lazy->context, arrays->zeros);
}

laze_status laze_jvp(laze_tensor *const *outputs, int32_t output_count, laze_tensor *const *inputs,
                     laze_tensor *const *tangents, int32_t input_count, int32_t flags, laze_tensor **results,
                     laze_error *error) {
  const request asked = {.function = __func__,
                         .outputs = outputs,
                         .gradients = tangents,
                         .output_count = output_count,
                         .inputs = inputs,
                         .input_count = input_count,
                         .flags = flags,
                         .results = results};
  for (int32_t i = 0; results && i < output_count; i++) results[i] = NULL;
  if (output_count < 1 || input_count < 1 || !outputs || !inputs || !tangents || !results)
    return laze_fail(error, LAZE_INVALID_ARGUMENT,
                     "laze_jvp: outputs, inputs, tangents or room for results is missing");
  LAZE_TRY(check_flags(&asked, error));
  laze_thread_state *thread;
  LAZE_TRY(laze_grad_lock("laze_jvp", outputs[0], &thread, error));
  jvp_arrays arrays;
  laze_status status = make_jvp_arrays(thread->lazy->context, output_count, input_count, &arrays, error);
  if (status == LAZE_OK) status = run_jvp(thread, &asked, &arrays, error);
  free_jvp_arrays(thread->lazy, &asked, &arrays);
  if (laze_backlog_exceeds(&thread->backlog, &thread->lazy->budget)) laze_budget_cut(thread, thread->lazy->newest);
  laze_lazy_unlock(thread->lazy);
  return status;
}

laze_status laze_backward(laze_tensor *tensor, laze_error *error) {
  const request asked = {.function = __func__, .outputs = &tensor, .output_count = 1};
  return record_pass(&asked, error);
}

laze_status laze_backward_with(laze_tensor *const *tensors, laze_tensor *const *gradients, int32_t count, int32_t flags,
                               laze_error *error) {
  const request asked = {
      .function = __func__, .outputs = tensors, .gradients = gradients, .output_count = count, .flags = flags};
  return record_pass(&asked, error);
}

laze_status laze_backward_into(laze_tensor *const *tensors, laze_tensor *const *gradients, int32_t count,
                               laze_tensor *const *inputs, int32_t input_count, int32_t flags, laze_error *error) {
  const request asked = {.function = __func__,
                         .outputs = tensors,
                         .gradients = gradients,
                         .output_count = count,
                         .inputs = inputs,
                         .input_count = input_count,
                         .flags = flags};
  if (input_count < 1) return laze_fail(error, LAZE_INVALID_ARGUMENT, "laze_backward_into: there are no inputs");
  return record_pass(&asked, error);
}

laze_status laze_grad(laze_tensor *const *outputs, laze_tensor *const *gradients, int32_t output_count,
                      laze_tensor *const *inputs, int32_t input_count, int32_t flags, laze_tensor **results,
                      laze_error *error) {
  const request asked = {.function = __func__,
                         .outputs = outputs,
                         .gradients = gradients,
                         .output_count = output_count,
                         .inputs = inputs,
                         .input_count = input_count,
                         .flags = flags,
                         .results = results};
  if (!results) return laze_fail(error, LAZE_INVALID_ARGUMENT, "laze_grad: there is no room for results");
  return record_pass(&asked, error);
}
