/* Functions: nodes that call the caller's code in place of formulas.
 *
 *   attach      node of the function: edges to its inputs, what is saved, backward and jvp
 *   backward    gradients of outputs ──backward──> gradients of inputs
 *   once        the same, and what it gives comes from a node that only refuses to be differentiated
 *   tangents    zeros for the inputs, which come from a node whose gradients are given by jvp:
 *               tangents of inputs ──jvp──> tangents of outputs
 */
#include "lazy/autograd/function.h"

#include "base/checked.h"
#include "base/dtype.h"
#include "lazy/autograd/call_out.h"
#include "lazy/autograd/capture.h"
#include "lazy/autograd/slot.h"
#include "lazy/lazy.h"
#include "lazy/record/reuse.h"
#include "lazy/thread.h"
#include "lazy/value/cell.h"
#include "lazy/value/handle.h"
#include "lazy/value/view.h"

#include <string.h>

#define MAX_COUNT (1 << (32 - LAZE_SLOT_INDEX_BITS)) /* results that an edge can name */

/* --- nodes --- */

/* What a new node is made of. */
typedef struct {
  const char *name;
  int32_t operand_count, result_count, saved_count;
  int64_t type_words;
  void *self;
  void (*release)(void *self);
} node_parts;

/* With one reference; NULL: memory is out, and nothing was released. Types are the caller's to fill in. */
static laze_grad_node *make_node(laze_lazy *lazy, const node_parts *parts) {
  const int64_t name = (int64_t)strlen(parts->name) + 1, padded = (name + 7) & -8;
  const int64_t function_size =
      (int64_t)sizeof(laze_grad_function) + padded + parts->saved_count * (int64_t)sizeof(laze_edge);
  const int64_t size = (int64_t)sizeof(laze_grad_node) + parts->operand_count * (int64_t)sizeof(laze_edge) +
                       parts->saved_count * (int64_t)sizeof(laze_saved) + parts->type_words * (int64_t)sizeof(int64_t);
  laze_grad_node *node = laze_grad_node_create(lazy, size);
  if (!node) return NULL;
  laze_grad_function *function = laze_callback_create(lazy, function_size, parts->self, parts->release);
  if (!function) {
    laze_edge_release(lazy, (laze_edge){node, 0});
    return NULL;
  }
  memcpy(function->name, parts->name, (size_t)name);
  function->saved_edges = (laze_edge *)(void *)((char *)(function + 1) + padded);
  node->function = function;
  node->operand_count = parts->operand_count;
  node->result_count = parts->result_count;
  node->saved_count = parts->saved_count;
  node->edges = (laze_edge *)(void *)(node + 1);
  node->saved = (laze_saved *)(void *)(node->edges + parts->operand_count);
  node->types = (const int64_t *)(void *)(node->saved + parts->saved_count);
  return node;
}

static int64_t *write_type(int64_t *words, const laze_type *type) {
  *words++ = laze_type_word(type);
  for (int k = 0; k < type->rank; k++) *words++ = type->sizes[k];
  return words;
}

/* The words of `count` types. */
static int64_t count_words(const int64_t *words, int32_t count) {
  const int64_t *next = words;
  laze_type type;
  for (int32_t i = 0; i < count; i++) next = laze_grad_type_read(next, &type);
  return next - words;
}

/* A node from the gradients of a function's outputs to those of its inputs, whose operands come from `given`. */
static laze_grad_node *make_reverse(laze_lazy *lazy, const laze_grad_node *of, const laze_gradient *given) {
  const int64_t operands = count_words(of->types, of->operand_count);
  const int64_t results = count_words(of->types + operands, of->result_count);
  const node_parts parts = {.name = of->function->name,
                            .operand_count = of->result_count,
                            .result_count = of->operand_count,
                            .type_words = operands + results};
  laze_grad_node *node = make_node(lazy, &parts);
  if (!node) return NULL;
  int64_t *words = (int64_t *)(void *)(node->saved + node->saved_count);
  memcpy(words, of->types + operands, (size_t)results * sizeof *words);
  memcpy(words + results, of->types, (size_t)operands * sizeof *words);
  for (int32_t i = 0; i < node->operand_count; i++) node->edges[i] = laze_edge_retain(given[i].history);
  return node;
}

/* --- running --- */

laze_status laze_saved_check(const laze_grad_node *node, const laze_saved *saved, laze_error *error) {
  const int64_t version = saved->storage ? laze_storage_version(saved->storage) : saved->version;
  if (version == saved->version) return LAZE_OK;
  return laze_fail(error, LAZE_FAILED_PRECONDITION,
                   "%s: a tensor that its gradient needs was changed after it was used: it is at version %lld, and was "
                   "at version %lld; change it after the backward pass, or use a copy",
                   laze_grad_node_name(node), (long long)version, (long long)saved->version);
}

laze_status laze_released_check(const laze_grad_node *node, laze_error *error) {
  if (!node->released) return LAZE_OK;
  return laze_fail(error, LAZE_FAILED_PRECONDITION,
                   "%s: what its gradient needs was let go of by an earlier backward pass; ask that one to keep the "
                   "graph (LAZE_RETAIN_GRAPH)",
                   laze_grad_node_name(node));
}

/* Handles for a call, in one array of the context: what is given, what was saved, and room for results. */
typedef struct {
  const laze_function_request *asked;
  laze_grad_node *owner; /* whose code it is: the node, or of a tangent's node the function's */
  bool is_jvp, records;
  laze_tensor **given, **saved, **results;
  int32_t given_count, saved_count, result_count;
} function_call;

static laze_status make_given(laze_thread_state *thread, function_call *call, laze_error *error) {
  const int64_t *words = call->asked->node->types;
  laze_type type;
  for (int32_t i = 0; i < call->asked->node->operand_count; i++) words = laze_grad_type_read(words, &type);
  for (int32_t i = 0; i < call->given_count; i++) {
    laze_gradient gradient = call->asked->given[i];
    words = laze_grad_type_read(words, &type);
    const bool fills = !gradient.cell && type.kind != LAZE_TYPE_NONE && laze_dtype_is_inexact(type.dtype) &&
                       !(call->owner->function->flags & LAZE_FUNCTION_ABSENT);
    if (fills) LAZE_TRY(laze_gradient_fill(thread, &type, 0, &gradient, error));
    if (!call->records) gradient.history.node = NULL;
    const laze_status status = laze_gradient_handles(thread, &gradient, 1, &call->given[i], error);
    if (fills) laze_gradient_release(thread->lazy, &gradient);
    LAZE_TRY(status);
  }
  return LAZE_OK;
}

static laze_status make_saved(laze_thread_state *thread, function_call *call, laze_error *error) {
  for (int32_t i = 0; i < call->saved_count; i++) {
    const laze_saved *saved = &call->owner->saved[i];
    LAZE_TRY(laze_saved_check(call->owner, saved, error));
    const laze_gradient as_one = {saved->cell,
                                  call->records ? call->owner->function->saved_edges[i] : (laze_edge){NULL, 0}};
    LAZE_TRY(laze_gradient_handles(thread, &as_one, 1, &call->saved[i], error));
  }
  return LAZE_OK;
}

static laze_status call_code(laze_thread_state *thread, function_call *call, laze_gradient *results,
                             laze_error *error) {
  laze_grad_function *function = call->owner->function;
  const laze_function_code code = call->is_jvp ? function->jvp : function->backward;
  const laze_function_call passed = {.struct_size = sizeof passed,
                                     .input_count = call->owner->operand_count,
                                     .output_count = call->owner->result_count,
                                     .saved_count = call->saved_count,
                                     .given = call->given,
                                     .saved = call->saved,
                                     .needed = call->is_jvp ? NULL : call->asked->needed,
                                     .keeps = call->asked->keeps};
  laze_call_out out = {.what = function->name};
  laze_call_out_begin(&out, thread, &function->callback, call->records);
  laze_status status = code(function->callback.self, &passed, call->results, &out.error);
  status = laze_call_out_end(&out, status, error);
  for (int32_t i = 0; i < call->result_count && status == LAZE_OK; i++)
    if (call->results[i])
      status = laze_gradient_from_handle(thread, function->name, call->results[i], &results[i], error);
  return status;
}

/* Has gradients come from a node, which takes the place of their own histories; its reference is taken over. */
static void set_histories(laze_lazy *lazy, laze_grad_node *node, laze_gradient *gradients) {
  for (int32_t i = 0; i < node->result_count; i++) {
    laze_edge_release(lazy, gradients[i].history);
    gradients[i].history = gradients[i].cell ? laze_edge_retain((laze_edge){node, i}) : (laze_edge){NULL, 0};
  }
  laze_edge_release(lazy, (laze_edge){node, 0});
}

/* What a function gives that cannot be differentiated comes from a node that says so. */
static laze_status refuse_histories(laze_thread_state *thread, const function_call *call, laze_gradient *results,
                                    laze_error *error) {
  laze_grad_node *node = make_reverse(thread->lazy, call->asked->node, call->asked->given);
  if (!node) return laze_fail_memory(error, "what a gradient needs", -1);
  node->function->forward = laze_edge_retain((laze_edge){call->asked->node, 0});
  set_histories(thread->lazy, node, results);
  return LAZE_OK;
}

/* Zeros, whose gradients jvp gives. */
static laze_status give_zeros(laze_thread_state *thread, const laze_function_request *asked, laze_gradient *out,
                              laze_error *error) {
  const int64_t *words = asked->node->types;
  laze_type type;
  for (int32_t i = 0; i < asked->node->operand_count; i++) {
    words = laze_grad_type_read(words, &type);
    if (asked->needed[i]) LAZE_TRY(laze_gradient_fill(thread, &type, 0, &out[i], error));
  }
  laze_grad_node *node = make_reverse(thread->lazy, asked->node, asked->given);
  if (!node) return laze_fail_memory(error, "what a gradient needs", -1);
  node->function->forward = laze_edge_retain((laze_edge){asked->node, 0});
  node->function->jvp = asked->node->function->jvp;
  set_histories(thread->lazy, node, out);
  return LAZE_OK;
}

static laze_status run_call(laze_thread_state *thread, function_call *call, laze_gradient *out, laze_error *error) {
  const laze_grad_function *function = call->owner->function;
  LAZE_TRY(laze_released_check(call->owner, error));
  LAZE_TRY(make_given(thread, call, error));
  LAZE_TRY(make_saved(thread, call, error));
  LAZE_TRY(call_code(thread, call, out, error));
  const bool refuses = call->asked->records && function->flags & LAZE_FUNCTION_ONCE;
  return refuses ? refuse_histories(thread, call, out, error) : LAZE_OK;
}

laze_status laze_function_run(laze_thread_state *thread, const laze_function_request *asked, laze_gradient *out,
                              laze_error *error) {
  laze_grad_function *function = asked->node->function;
  laze_context *context = thread->lazy->context;
  if (asked->for_tangents && function->jvp && !function->forward.node) return give_zeros(thread, asked, out, error);
  function_call call = {.asked = asked, .owner = function->forward.node ? function->forward.node : asked->node};
  call.is_jvp = function->forward.node != NULL;
  call.records = asked->records && !(call.owner->function->flags & LAZE_FUNCTION_ONCE);
  if (call.is_jvp ? !function->jvp : !function->backward)
    return laze_fail(error, LAZE_UNSUPPORTED, "%s: its gradient cannot be differentiated", function->name);
  call.given_count = asked->node->result_count;
  call.saved_count = call.owner->saved_count;
  call.result_count = asked->node->operand_count;
  const int64_t count = (int64_t)call.given_count + call.saved_count + call.result_count;
  laze_tensor **handles = laze_alloc_zero(context, (count + 1) * (int64_t)sizeof *handles);
  if (!handles) return laze_fail_memory(error, "the call of a function", count);
  call.given = handles;
  call.saved = handles + call.given_count;
  call.results = call.saved + call.saved_count;
  const laze_status status = run_call(thread, &call, out, error);
  laze_gradient_handles_drop(thread, handles, call.given_count + call.saved_count);
  laze_free(context, handles);
  return status;
}

/* --- attaching --- */

static const char attach_name[] = "laze_function_attach";

static laze_status check_options(const laze_function_options *options, laze_error *error) {
  if (!options || options->struct_size < sizeof *options)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: options are NULL, or struct_size is not set", attach_name);
  if (!options->name || !*options->name)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: the function has no name", attach_name);
  const bool missing = (options->input_count > 0 && !options->inputs) ||
                       (options->output_count > 0 && !options->outputs) ||
                       (options->saved_count > 0 && !options->saved);
  const bool wrong = options->input_count < 0 || options->output_count < 1 || options->saved_count < 0;
  if (missing || wrong)
    return laze_fail(error, LAZE_INVALID_ARGUMENT,
                     "%s: %s: inputs, outputs or what is saved is NULL, or a count is wrong; there is one output at "
                     "least",
                     attach_name, options->name);
  if (options->output_count >= MAX_COUNT)
    return laze_fail(error, LAZE_UNSUPPORTED, "%s: %s: there are %d outputs; at most %d can have gradients",
                     attach_name, options->name, (int)options->output_count, MAX_COUNT - 1);
  return LAZE_OK;
}

/* Looks up each tensor, whose sizes are known then. The lock may be free meanwhile. */
static laze_status check_tensors(laze_thread_state *thread, laze_tensor *const *tensors, int32_t count, bool optional,
                                 laze_error *error) {
  for (int32_t i = 0; i < count; i++)
    if (tensors[i] || !optional) LAZE_TRY(laze_grad_find_sizes(attach_name, thread, tensors[i], NULL, error));
  return LAZE_OK;
}

static bool is_any_required(laze_tensor *const *tensors, int32_t count) {
  for (int32_t i = 0; i < count; i++)
    if (tensors[i] && laze_handle_slot(tensors[i])->grad_node) return true;
  return false;
}

static int64_t *write_types(laze_tensor *const *tensors, int32_t count, int64_t *words) {
  for (int32_t i = 0; i < count; i++) {
    laze_type type = {.kind = LAZE_TYPE_NONE};
    if (tensors[i]) laze_cell_type(laze_handle_slot(tensors[i])->storage->cell, &type);
    words = write_type(words, &type);
  }
  return words;
}

static int64_t count_type_words(laze_tensor *const *tensors, int32_t count) {
  int64_t words = 0;
  for (int32_t i = 0; i < count; i++) words += 1 + (tensors[i] ? laze_handle_slot(tensors[i])->storage->cell->rank : 0);
  return words;
}

/* A saved output's gradient goes to the node itself, of which that is no reference. */
static laze_edge saved_edge(const laze_function_options *options, laze_grad_node *node, laze_tensor *tensor) {
  const laze_slot *slot = laze_handle_slot(tensor);
  for (int32_t i = 0; i < options->output_count && !slot->grad_node; i++)
    if (options->outputs[i] == tensor) return (laze_edge){node, i};
  return laze_edge_retain(laze_slot_edge(slot));
}

static void fill_node(laze_lazy *lazy, const laze_function_options *options, laze_grad_node *node) {
  int64_t *words = (int64_t *)(void *)(node->saved + node->saved_count);
  words = write_types(options->inputs, options->input_count, words);
  (void)write_types(options->outputs, options->output_count, words);
  for (int32_t i = 0; i < options->input_count; i++)
    if (options->inputs[i]) node->edges[i] = laze_edge_retain(laze_slot_edge(laze_handle_slot(options->inputs[i])));
  for (int32_t i = 0; i < options->saved_count; i++) {
    if (!options->saved[i]) continue;
    laze_storage *storage = laze_handle_slot(options->saved[i])->storage;
    laze_saved_keep(lazy, &node->saved[i], storage->cell, storage);
    node->function->saved_edges[i] = saved_edge(options, node, options->saved[i]);
  }
  node->function->flags = options->flags;
  node->function->backward = options->backward;
  node->function->jvp = options->jvp;
}

static bool is_dirty(const laze_function_options *options, int32_t output) {
  return options->dirty && options->dirty[output];
}

/* An input that was written to, as calls in place may write. */
static laze_status check_dirty(const laze_function_options *options, int32_t output, laze_error *error) {
  const laze_slot *slot = laze_handle_slot(options->outputs[output]);
  const char *what = "no input";
  for (int32_t i = 0; i < options->input_count; i++)
    if (options->inputs[i] == options->outputs[output]) what = NULL;
  if (!what && slot->grad_node && laze_grad_node_is_leaf(slot->grad_node)) what = "a leaf that requires a gradient";
  if (!what && laze_storage_is_view(slot->storage)) what = "a view, whose base would have to follow";
  if (!what) return LAZE_OK;
  return laze_fail(error, LAZE_FAILED_PRECONDITION,
                   "%s: %s: output %d is said to be dirty, and is %s; give a new tensor as the output", attach_name,
                   options->name, (int)output, what);
}

/* An output's gradient goes to the node, if it can have one. */
static laze_status connect(laze_thread_state *thread, const laze_function_options *options, laze_grad_node *node,
                           int32_t output, laze_error *error) {
  laze_tensor *tensor = options->outputs[output];
  laze_slot *slot = laze_handle_slot(tensor);
  bool is_input = slot->grad_node != NULL;
  for (int32_t i = 0; i < options->input_count; i++) is_input |= options->inputs[i] == tensor;
  const bool constant =
      (options->constant && options->constant[output]) || !laze_dtype_is_inexact(slot->storage->cell->dtype);
  if (is_input && !is_dirty(options, output)) tensor = laze_handle_create(thread, slot->storage->cell);
  if (tensor == laze_handle_out_of_memory()) return laze_fail_memory(error, "an output", -1);
  options->outputs[output] = tensor;
  if (!constant && is_dirty(options, output))
    laze_grad_retained_move(thread->lazy, laze_slot_edge(slot), (laze_edge){node, output});
  if (!constant) laze_handle_set_edge(thread->lazy, tensor, (laze_edge){node, output});
  return LAZE_OK;
}

/* `attached` says whether the function's data is the node's. */
static laze_status attach(laze_thread_state *thread, const laze_function_options *options, bool *attached,
                          laze_error *error) {
  for (int round = 0; round < 2; round++) { /* the second time nothing has to be found, so that the lock stays */
    LAZE_TRY(check_tensors(thread, options->inputs, options->input_count, true, error));
    LAZE_TRY(check_tensors(thread, options->outputs, options->output_count, false, error));
    LAZE_TRY(check_tensors(thread, options->saved, options->saved_count, true, error));
  }
  for (int32_t i = 0; i < options->output_count; i++)
    if (is_dirty(options, i)) LAZE_TRY(check_dirty(options, i, error));
  if (!laze_thread_tracks(thread) || !is_any_required(options->inputs, options->input_count)) return LAZE_OK;
  const node_parts parts = {.name = options->name,
                            .operand_count = options->input_count,
                            .result_count = options->output_count,
                            .saved_count = options->saved_count,
                            .type_words = count_type_words(options->inputs, options->input_count) +
                                          count_type_words(options->outputs, options->output_count),
                            .self = options->self,
                            .release = options->release};
  laze_grad_node *node = make_node(thread->lazy, &parts);
  if (!node) return laze_fail_memory(error, "what a gradient needs", -1);
  *attached = true;
  fill_node(thread->lazy, options, node);
  laze_capture_node(thread, node);
  laze_status status = LAZE_OK;
  for (int32_t i = 0; i < options->output_count && status == LAZE_OK; i++)
    status = connect(thread, options, node, i, error);
  laze_edge_release(thread->lazy, (laze_edge){node, 0});
  return status;
}

static laze_tensor *first_tensor(const laze_function_options *options) {
  for (int32_t i = 0; i < options->input_count; i++)
    if (options->inputs[i]) return options->inputs[i];
  return options->outputs[0];
}

laze_status laze_function_attach(const laze_function_options *options, laze_error *error) {
  laze_thread_state *thread;
  bool attached = false;
  laze_status status = check_options(options, error);
  if (status == LAZE_OK) status = laze_grad_lock(attach_name, first_tensor(options), &thread, error);
  if (status == LAZE_OK) {
    status = attach(thread, options, &attached, error);
    laze_lazy_unlock(thread->lazy);
  }
  if (!attached && options && options->release) options->release(options->self);
  return status;
}
