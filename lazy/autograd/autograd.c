/* Gradients in the C interface (laze/autograd.h). */
#include "laze/autograd.h"

#include "base/dtype.h"
#include "ir/composite/composite.h"
#include "lazy/autograd/backward.h"
#include "lazy/lazy.h"
#include "lazy/record/expander.h"
#include "lazy/record/record_state.h"
#include "lazy/run/budget.h"
#include "lazy/thread.h"
#include "lazy/value/cell.h"
#include "lazy/value/failure.h"
#include "lazy/value/handle.h"

/* The slot of a tensor whose call did not fail. Called locked. */
static laze_status find_slot(const laze_lazy *lazy, const char *function, laze_tensor *tensor, laze_slot **out,
                             laze_error *error) {
  *out = laze_handle_lazy(tensor) == lazy ? laze_handle_slot(tensor) : NULL;
  if (!tensor) return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: a tensor is NULL", function);
  if (!*out)
    return laze_fail(error, LAZE_INVALID_ARGUMENT,
                     "%s: a tensor is a released handle or of another context; retain one that is used after its scope",
                     function);
  const laze_cell *cell = (*out)->storage->cell;
  if (cell->state == LAZE_CELL_ERROR && laze_cell_lacks_type(cell))
    return laze_fail(error, cell->value.failure->code, "%s", cell->value.failure->message);
  return LAZE_OK;
}

/* Locks the context of a tensor and gives the thread's state. */
static laze_status lock_context(const char *function, laze_tensor *tensor, laze_thread_state **out, laze_error *error) {
  if (error) *error = (laze_error){.code = LAZE_OK};
  laze_lazy *lazy = laze_handle_lazy(tensor);
  *out = lazy ? laze_lazy_lock(lazy) : NULL;
  if (*out) return LAZE_OK;
  return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: the tensor is NULL, or its call failed for want of memory",
                   function);
}

static bool is_leaf(const laze_slot *slot) {
  return !slot->grad_node || laze_grad_node_is_leaf(slot->grad_node);
}

static laze_status require(laze_lazy *lazy, laze_tensor *tensor, bool required, laze_error *error) {
  laze_slot *slot;
  LAZE_TRY(find_slot(lazy, "laze_tensor_require_grad", tensor, &slot, error));
  const laze_dtype dtype = slot->storage->cell->dtype;
  if (required && !laze_dtype_is_inexact(dtype))
    return laze_fail(error, LAZE_INVALID_ARGUMENT,
                     "laze_tensor_require_grad: the tensor is of %s; only floats and complex numbers have gradients",
                     laze_dtype_name(dtype));
  if (!required && !is_leaf(slot))
    return laze_fail(error, LAZE_FAILED_PRECONDITION,
                     "laze_tensor_require_grad: the tensor follows from others that require gradients; laze_detach() "
                     "gives one that does not");
  if (required == (slot->grad_node != NULL)) return LAZE_OK;
  laze_edge edge = {required ? laze_grad_leaf_create(lazy) : NULL, 0};
  if (required && !edge.node) return laze_fail_memory(error, "a gradient", sizeof *edge.node);
  laze_handle_set_edge(lazy, tensor, edge);
  laze_edge_release(lazy, edge);
  return LAZE_OK;
}

laze_status laze_tensor_require_grad(laze_tensor *tensor, int32_t requires_grad, laze_error *error) {
  laze_thread_state *thread;
  LAZE_TRY(lock_context(__func__, tensor, &thread, error));
  const laze_status status = require(thread->lazy, tensor, requires_grad != 0, error);
  laze_lazy_unlock(thread->lazy);
  return status;
}

/* What a question about a slot answers; false for what is no tensor. */
static int32_t ask(laze_tensor *tensor, bool (*question)(const laze_slot *slot)) {
  laze_lazy *lazy = laze_handle_lazy(tensor);
  if (!lazy) return 0;
  pthread_mutex_lock(&lazy->lock);
  const laze_slot *slot = laze_handle_slot(tensor);
  const bool answer = slot && question(slot);
  pthread_mutex_unlock(&lazy->lock);
  return answer;
}

static bool has_edge(const laze_slot *slot) {
  return slot->grad_node != NULL;
}

int32_t laze_tensor_requires_grad(laze_tensor *tensor) {
  return ask(tensor, has_edge);
}

int32_t laze_tensor_is_leaf(laze_tensor *tensor) {
  return ask(tensor, is_leaf);
}

laze_tensor *laze_tensor_grad(laze_tensor *tensor) {
  laze_thread_state *thread;
  if (lock_context(__func__, tensor, &thread, NULL) != LAZE_OK) return NULL;
  const laze_slot *slot = laze_handle_slot(tensor);
  const laze_grad_node *leaf =
      slot && slot->grad_node && laze_grad_node_is_leaf(slot->grad_node) ? slot->grad_node : NULL;
  laze_tensor *handle = leaf && leaf->gradient ? laze_handle_create(thread, leaf->gradient) : NULL;
  if (handle && leaf->history.node) laze_handle_set_edge(thread->lazy, handle, leaf->history);
  laze_lazy_unlock(thread->lazy);
  return handle;
}

/* Whether a gradient fits what it is for. */
static laze_status check_gradient(const char *function, const laze_cell *tensor, const laze_cell *gradient,
                                  laze_error *error) {
  laze_type types[2];
  char text[2][128];
  laze_cell_type(tensor, &types[0]);
  laze_cell_type(gradient, &types[1]);
  if (laze_type_equal(&types[0], &types[1])) return LAZE_OK;
  return laze_fail(error, LAZE_INVALID_ARGUMENT,
                   "%s: the gradient is %s and its tensor %s; shape and dtype must be equal", function,
                   laze_type_format(NULL, &types[1], text[1], sizeof text[1]),
                   laze_type_format(NULL, &types[0], text[0], sizeof text[0]));
}

static laze_status set_grad(laze_lazy *lazy, laze_tensor *tensor, laze_tensor *gradient, laze_error *error) {
  laze_slot *slot, *given = NULL;
  LAZE_TRY(find_slot(lazy, "laze_tensor_set_grad", tensor, &slot, error));
  if (!slot->grad_node || !is_leaf(slot))
    return laze_fail(error, LAZE_FAILED_PRECONDITION,
                     "laze_tensor_set_grad: the tensor is no leaf; laze_tensor_require_grad() makes one");
  if (gradient) LAZE_TRY(find_slot(lazy, "laze_tensor_set_grad", gradient, &given, error));
  if (given) LAZE_TRY(check_gradient("laze_tensor_set_grad", slot->storage->cell, given->storage->cell, error));
  laze_cell *cell = given ? given->storage->cell : NULL;
  if (cell) laze_cell_retain(cell);
  laze_edge history = {NULL, 0};
  if (given) history = laze_edge_retain(laze_slot_edge(given));
  laze_grad_leaf_set(lazy, slot->grad_node, cell, history);
  return LAZE_OK;
}

laze_status laze_tensor_set_grad(laze_tensor *tensor, laze_tensor *gradient, laze_error *error) {
  laze_thread_state *thread;
  LAZE_TRY(lock_context(__func__, tensor, &thread, error));
  const laze_status status = set_grad(thread->lazy, tensor, gradient, error);
  laze_lazy_unlock(thread->lazy);
  return status;
}

laze_tensor *laze_detach(laze_tensor *tensor) {
  laze_thread_state *thread;
  if (lock_context(__func__, tensor, &thread, NULL) != LAZE_OK) return tensor;
  const laze_slot *slot = laze_handle_slot(tensor);
  laze_tensor *handle = slot ? laze_handle_create(thread, slot->storage->cell) : tensor;
  laze_lazy_unlock(thread->lazy);
  return handle;
}

int32_t laze_set_grad_enabled(laze_context *context, int32_t enabled) {
  laze_lazy *lazy = laze_lazy_get(context);
  laze_thread_state *thread = lazy ? laze_lazy_lock(lazy) : NULL;
  if (!thread) return 1;
  const int32_t before = !thread->no_grad;
  thread->no_grad = !enabled;
  laze_lazy_unlock(lazy);
  return before;
}

/* The gradient of a result that has one element. */
static laze_status make_one(laze_thread_state *thread, const laze_cell *cell, laze_gradient *out, laze_error *error) {
  laze_type type;
  laze_value value;
  laze_expander expander;
  laze_cell_type(cell, &type);
  for (int i = 0; i < type.rank; i++)
    if (type.sizes[i] != 1)
      return laze_fail(
          error, LAZE_INVALID_ARGUMENT,
          "laze_backward: the tensor has more than one element; give its gradient (laze_backward_with), or "
          "add its elements up");
  if (laze_dtype_is_complex(type.dtype))
    return laze_fail(error, LAZE_INVALID_ARGUMENT,
                     "laze_backward: the tensor is complex; give its gradient "
                     "(laze_backward_with)");
  laze_expander_init(&expander, thread->record, (laze_location){0}, LAZE_OP_NONE);
  laze_status status = laze_record_number(&expander.recorder, type.dtype, laze_scalar_integer(1), &value, error);
  if (status == LAZE_OK) status = laze_compose_expand(&expander.recorder, value, type.sizes, type.rank, &value, error);
  laze_expander_deinit(&expander);
  if (status == LAZE_OK) {
    out->cell = thread->record->values[value.node].cell;
    laze_cell_retain(out->cell);
  }
  laze_frame_clear(thread->record);
  return status;
}

/* What a pass begins with, of one tensor. */
static laze_status find_root(laze_thread_state *thread, laze_tensor *tensor, laze_tensor *gradient, laze_edge *root,
                             laze_gradient *out, laze_error *error) {
  laze_slot *slot, *given;
  LAZE_TRY(find_slot(thread->lazy, "laze_backward", tensor, &slot, error));
  if (!slot->grad_node)
    return laze_fail(error, LAZE_FAILED_PRECONDITION,
                     "laze_backward: the tensor does not follow from one that requires a gradient "
                     "(laze_tensor_require_grad)");
  *root = laze_slot_edge(slot);
  if (!gradient) return make_one(thread, slot->storage->cell, out, error);
  LAZE_TRY(find_slot(thread->lazy, "laze_backward", gradient, &given, error));
  LAZE_TRY(check_gradient("laze_backward", slot->storage->cell, given->storage->cell, error));
  laze_cell_retain(given->storage->cell);
  *out = (laze_gradient){given->storage->cell, laze_edge_retain(laze_slot_edge(given))};
  return LAZE_OK;
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
  laze_tensor *const *outputs, *const *gradients, *const *inputs;
  int32_t output_count, input_count, flags;
  laze_tensor **results; /* NULL: leaves get the gradients */
} request;

static laze_status find_targets(laze_lazy *lazy, const request *asked, laze_edge *targets, laze_error *error) {
  for (int32_t i = 0; i < asked->input_count; i++) {
    laze_slot *slot;
    LAZE_TRY(find_slot(lazy, "laze_grad", asked->inputs[i], &slot, error));
    if (!slot->grad_node)
      return laze_fail(error, LAZE_FAILED_PRECONDITION,
                       "laze_grad: input %d does not require a gradient (laze_tensor_require_grad)", (int)i);
    targets[i] = laze_slot_edge(slot);
  }
  return LAZE_OK;
}

static laze_status hand_over(laze_thread_state *thread, const request *asked, laze_gradient *found, laze_error *error) {
  laze_status status = LAZE_OK;
  for (int32_t i = 0; i < asked->input_count && status == LAZE_OK; i++)
    if (!found[i].cell && !(asked->flags & LAZE_ALLOW_UNUSED))
      status = laze_fail(error, LAZE_FAILED_PRECONDITION,
                         "laze_grad: no output depends on input %d; LAZE_ALLOW_UNUSED gives none for it", (int)i);
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
  if (asked->results) status = find_targets(thread->lazy, asked, arrays->targets, error);
  for (; roots < asked->output_count && status == LAZE_OK; roots++)
    status = find_root(thread, asked->outputs[roots], asked->gradients ? asked->gradients[roots] : NULL,
                       &arrays->roots[roots], &arrays->root_gradients[roots], error);
  if (status != LAZE_OK) {
    for (int32_t i = 0; i < roots; i++) laze_gradient_release(thread->lazy, &arrays->root_gradients[i]);
    return status;
  }
  const bool creates = asked->flags & LAZE_CREATE_GRAPH;
  const laze_backward_pass pass = {.root_count = asked->output_count,
                                   .roots = arrays->roots,
                                   .root_gradients = arrays->root_gradients,
                                   .target_count = asked->input_count,
                                   .targets = asked->results ? arrays->targets : NULL,
                                   .found = arrays->found,
                                   .keeps_saved = creates || asked->flags & LAZE_RETAIN_GRAPH,
                                   .creates_history = creates};
  LAZE_TRY(laze_backward_run(thread, &pass, error));
  return asked->results ? hand_over(thread, asked, arrays->found, error) : LAZE_OK;
}

static laze_status record_pass(const char *function, const request *asked, laze_error *error) {
  laze_error own;
  if (!error) error = &own;
  for (int32_t i = 0; asked->results && i < asked->input_count; i++) asked->results[i] = NULL;
  if (asked->output_count < 1 || !asked->outputs || (asked->results && (asked->input_count < 1 || !asked->inputs)))
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: no tensors are given", function);
  laze_thread_state *thread;
  LAZE_TRY(lock_context(function, asked->outputs[0], &thread, error));
  laze_lazy *lazy = thread->lazy;
  pass_arrays arrays = {NULL, NULL, NULL, NULL};
  laze_status status = make_arrays(lazy->context, asked->output_count, asked->input_count, &arrays, error);
  if (status == LAZE_OK) status = run_pass(thread, asked, &arrays, error);
  free_arrays(lazy->context, &arrays);
  if (laze_backlog_exceeds(&thread->backlog, &lazy->budget)) laze_budget_cut(thread, lazy->newest);
  laze_lazy_unlock(lazy);
  return status;
}

laze_status laze_backward(laze_tensor *tensor, laze_error *error) {
  return laze_backward_with(&tensor, NULL, 1, 0, error);
}

laze_status laze_backward_with(laze_tensor *const *tensors, laze_tensor *const *gradients, int32_t count, int32_t flags,
                               laze_error *error) {
  const request asked = {.outputs = tensors, .gradients = gradients, .output_count = count, .flags = flags};
  return record_pass("laze_backward", &asked, error);
}

laze_status laze_grad(laze_tensor *const *outputs, laze_tensor *const *gradients, int32_t output_count,
                      laze_tensor *const *inputs, int32_t input_count, int32_t flags, laze_tensor **results,
                      laze_error *error) {
  const request asked = {.outputs = outputs,
                         .gradients = gradients,
                         .output_count = output_count,
                         .inputs = inputs,
                         .input_count = input_count,
                         .flags = flags,
                         .results = results};
  if (!results) return laze_fail(error, LAZE_INVALID_ARGUMENT, "laze_grad: there is no room for results");
  return record_pass("laze_grad", &asked, error);
}
