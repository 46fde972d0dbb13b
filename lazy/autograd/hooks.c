/* Hooks: how they are registered (laze/gradient_node.h), and how a pass calls them.
 *
 * Those of a node are looked up before the first one is called: one that is removed by another is not called any more,
 * one that is registered meanwhile is called in the next pass.
 */
#include "lazy/autograd/hooks.h"

#include "laze/gradient_node.h"
#include "lazy/autograd/call_out.h"
#include "lazy/autograd/gradient.h"
#include "lazy/autograd/nodes.h"
#include "lazy/autograd/slot.h"
#include "lazy/lazy.h"
#include "lazy/thread.h"
#include "lazy/value/cell.h"
#include "lazy/value/handle.h"

/* --- calling them --- */

/* The hooks that a node has in a place, referenced; an array of the context. */
typedef struct {
  laze_grad_hook **items;
  int32_t count;
} hook_list;

static laze_status find_hooks(laze_lazy *lazy, const laze_grad_node *node, laze_hook_place place, hook_list *out,
                              laze_error *error) {
  int32_t count = 0;
  for (laze_grad_hook *hook = node->hooks; hook; hook = hook->next) count += hook->place == place;
  *out = (hook_list){.items = NULL};
  if (count == 0) return LAZE_OK;
  out->items = laze_alloc_array(lazy->context, count, sizeof(laze_grad_hook *));
  if (!out->items) return laze_fail_memory(error, "hooks of a gradient", count);
  for (laze_grad_hook *hook = node->hooks; hook; hook = hook->next) {
    if (hook->place != place) continue;
    laze_callback_retain(&hook->callback);
    out->items[out->count++] = hook;
  }
  return LAZE_OK;
}

static void free_hooks(laze_lazy *lazy, hook_list *hooks) {
  for (int32_t i = 0; i < hooks->count; i++) laze_callback_release(lazy, &hooks->items[i]->callback);
  laze_free(lazy->context, hooks->items);
}

/* A tensor in the place of a gradient, which has to be of the same type. */
static laze_status replace(laze_thread_state *thread, laze_tensor *replacement, laze_gradient *gradient,
                           laze_error *error) {
  laze_gradient given;
  laze_type types[2];
  char text[2][128];
  if (!replacement) return LAZE_OK;
  LAZE_TRY(laze_gradient_from_handle(thread, "a hook", replacement, &given, error));
  laze_cell_type(given.cell, &types[0]);
  laze_status status = LAZE_OK;
  if (!gradient->cell) {
    status = laze_fail(error, LAZE_INVALID_ARGUMENT, "a hook gave a gradient in a place where there is none");
  } else {
    laze_cell_type(gradient->cell, &types[1]);
    if (!laze_type_equal(&types[0], &types[1]))
      status = laze_fail(error, LAZE_INVALID_ARGUMENT,
                         "a hook gave a gradient that is %s for one that is %s; shape and dtype must be equal",
                         laze_type_format(NULL, &types[0], text[0], sizeof text[0]),
                         laze_type_format(NULL, &types[1], text[1], sizeof text[1]));
  }
  if (status != LAZE_OK) {
    laze_gradient_release(thread->lazy, &given);
    return status;
  }
  laze_gradient_release(thread->lazy, gradient);
  *gradient = given;
  return LAZE_OK;
}

/* Whether the caller's code has written to the gradient that it was given. */
static bool is_written(const laze_gradient *gradient, laze_tensor *handle) {
  const laze_slot *slot = handle ? laze_handle_slot(handle) : NULL;
  return slot && slot->storage->cell != gradient->cell;
}

static laze_status call_hook(laze_thread_state *thread, laze_grad_hook *hook, laze_tensor *gradient, bool records,
                             laze_tensor **replacement, laze_error *error) {
  laze_call_out out = {.what = "a hook"};
  *replacement = NULL;
  laze_call_out_begin(&out, thread, &hook->callback, records);
  const laze_status status = hook->of_tensor(hook->callback.self, gradient, replacement, &out.error);
  return laze_call_out_end(&out, status, error);
}

static laze_status call_tensor_hook(laze_thread_state *thread, laze_grad_hook *hook, laze_gradient *gradient,
                                    bool records, laze_error *error) {
  laze_tensor *handle, *replacement;
  if (!hook->node || !gradient->cell) return LAZE_OK;
  LAZE_TRY(laze_gradient_handles(thread, gradient, 1, &handle, error));
  laze_status status = call_hook(thread, hook, handle, records, &replacement, error);
  if (!replacement && is_written(gradient, handle)) replacement = handle;
  if (status == LAZE_OK) status = replace(thread, replacement, gradient, error);
  laze_gradient_handles_drop(thread, &handle, 1);
  return status;
}

/* What it writes to the gradient stays. */
static laze_status call_leaf_hook(laze_thread_state *thread, laze_grad_hook *hook, const laze_grad_node *leaf,
                                  bool records, laze_error *error) {
  laze_tensor *handle, *replacement;
  if (!hook->node || !leaf->gradient) return LAZE_OK;
  LAZE_TRY(laze_gradient_of_leaf(thread, leaf, &handle, error));
  const laze_status status = call_hook(thread, hook, handle, records, &replacement, error);
  laze_gradient_handles_drop(thread, &handle, 1);
  return status;
}

laze_status laze_hooks_of_tensors(laze_thread_state *thread, laze_grad_node *node, laze_gradient *results, bool records,
                                  laze_error *error) {
  hook_list hooks;
  LAZE_TRY(find_hooks(thread->lazy, node, LAZE_HOOK_OF_TENSOR, &hooks, error));
  laze_status status = LAZE_OK;
  for (int32_t i = 0; i < hooks.count && status == LAZE_OK; i++)
    status = call_tensor_hook(thread, hooks.items[i], &results[hooks.items[i]->result], records, error);
  free_hooks(thread->lazy, &hooks);
  return status;
}

laze_status laze_hooks_of_leaf(laze_thread_state *thread, laze_grad_node *leaf, bool records, laze_error *error) {
  hook_list hooks;
  LAZE_TRY(find_hooks(thread->lazy, leaf, LAZE_HOOK_OF_LEAF, &hooks, error));
  laze_status status = LAZE_OK;
  for (int32_t i = 0; i < hooks.count && status == LAZE_OK; i++)
    status = call_leaf_hook(thread, hooks.items[i], leaf, records, error);
  free_hooks(thread->lazy, &hooks);
  return status;
}

/* Gradients of a node, as its hooks are called with them. `replaced` are those that hooks may replace. */
typedef struct {
  laze_grad_node *node;
  laze_gradient *operands, *results, *replaced;
  int32_t replaced_count;
  laze_tensor **handles; /* of operands, of results, and room for replacements; of the context */
} node_gradients;

static laze_status call_with_handles(laze_thread_state *thread, laze_grad_hook *hook, const node_gradients *at,
                                     bool records, laze_error *error) {
  laze_tensor **results = at->handles + at->node->operand_count, **given = results + at->node->result_count;
  const laze_node_hook_call call = {.struct_size = sizeof call,
                                    .operand_count = at->node->operand_count,
                                    .result_count = at->node->result_count,
                                    .operands = at->operands ? at->handles : NULL,
                                    .results = results,
                                    .replacements = given};
  laze_call_out out = {.what = "a hook of a node"};
  laze_call_out_begin(&out, thread, &hook->callback, records);
  laze_status status = hook->of_node(hook->callback.self, &call, &out.error);
  status = laze_call_out_end(&out, status, error);
  laze_tensor **replaced = at->operands ? at->handles : results;
  for (int32_t i = 0; i < at->node->result_count && at->operands && status == LAZE_OK; i++)
    if (is_written(&at->results[i], results[i]))
      status = laze_fail(error, LAZE_FAILED_PRECONDITION,
                         "a hook of a node wrote to the gradient of result %d, from which those of the operands were "
                         "computed before it was called; write to these, or register it before the node",
                         (int)i);
  for (int32_t i = 0; i < at->replaced_count && status == LAZE_OK; i++) {
    if (!given[i] && is_written(&at->replaced[i], replaced[i])) given[i] = replaced[i];
    status = replace(thread, given[i], &at->replaced[i], error);
  }
  return status;
}

static laze_status call_node_hook(laze_thread_state *thread, laze_grad_hook *hook, const node_gradients *at,
                                  bool records, laze_error *error) {
  const int32_t operands = at->node->operand_count, results = at->node->result_count;
  for (int32_t i = 0; i < operands + results + at->replaced_count; i++) at->handles[i] = NULL;
  if (!hook->node) return LAZE_OK;
  laze_status status =
      at->operands ? laze_gradient_handles(thread, at->operands, operands, at->handles, error) : LAZE_OK;
  LAZE_TRY(status);
  status = laze_gradient_handles(thread, at->results, results, at->handles + operands, error);
  if (status == LAZE_OK) status = call_with_handles(thread, hook, at, records, error);
  laze_gradient_handles_drop(thread, at->handles, operands + results);
  return status;
}

static laze_status call_node_hooks(laze_thread_state *thread, node_gradients *at, laze_hook_place place, bool records,
                                   laze_error *error) {
  hook_list hooks;
  laze_context *context = thread->lazy->context;
  LAZE_TRY(find_hooks(thread->lazy, at->node, place, &hooks, error));
  if (hooks.count == 0) return LAZE_OK;
  const int64_t room = at->node->operand_count + (int64_t)at->node->result_count + at->replaced_count;
  at->handles = laze_alloc_array(context, room, sizeof *at->handles);
  laze_status status = at->handles ? LAZE_OK : laze_fail_memory(error, "hooks of a gradient", room);
  for (int32_t i = 0; i < hooks.count && status == LAZE_OK; i++)
    status = call_node_hook(thread, hooks.items[i], at, records, error);
  laze_free(context, at->handles);
  free_hooks(thread->lazy, &hooks);
  return status;
}

laze_status laze_hooks_of_results(laze_thread_state *thread, laze_grad_node *node, laze_gradient *results, bool records,
                                  laze_error *error) {
  node_gradients at = {.node = node, .results = results, .replaced = results, .replaced_count = node->result_count};
  return call_node_hooks(thread, &at, LAZE_HOOK_OF_RESULTS, records, error);
}

laze_status laze_hooks_of_operands(laze_thread_state *thread, laze_grad_node *node, laze_gradient *operands,
                                   laze_gradient *results, bool records, laze_error *error) {
  node_gradients at = {.node = node,
                       .operands = operands,
                       .results = results,
                       .replaced = operands,
                       .replaced_count = node->operand_count};
  return call_node_hooks(thread, &at, LAZE_HOOK_OF_OPERANDS, records, error);
}

bool laze_hooks_are_behind(const laze_grad_node *node) {
  for (const laze_grad_hook *hook = node->hooks; hook; hook = hook->next)
    if (hook->place == LAZE_HOOK_OF_OPERANDS) return true;
  return false;
}

/* --- registering them --- */

/* A hook of what stands at `edge`; takes `model`'s code and data, releases the latter on failure. */
static laze_status add_hook(laze_lazy *lazy, laze_edge edge, const laze_grad_hook *model, int64_t *id,
                            laze_error *error) {
  laze_grad_hook *hook = laze_callback_create(lazy, sizeof *hook, model->callback.self, model->callback.release);
  if (!hook) return laze_fail_memory(error, "a hook", sizeof *hook);
  hook->place = model->place;
  hook->result = edge.result;
  hook->of_tensor = model->of_tensor;
  hook->of_node = model->of_node;
  if (!laze_grad_hook_add(lazy, edge.node, hook)) {
    hook->callback.release = NULL; /* the caller's, who says so */
    laze_callback_release(lazy, &hook->callback);
    return laze_fail_memory(error, "a hook", sizeof *hook);
  }
  if (id) *id = hook->id;
  return LAZE_OK;
}

static laze_status check_hooked(const laze_slot *slot, laze_hook_place place, laze_error *error) {
  if (!slot->grad_node)
    return laze_fail(error, LAZE_FAILED_PRECONDITION,
                     "laze_tensor_register_hook: the tensor does not require a gradient (laze_tensor_require_grad)");
  if (place == LAZE_HOOK_OF_LEAF && !laze_grad_node_is_leaf(slot->grad_node))
    return laze_fail(error, LAZE_FAILED_PRECONDITION,
                     "laze_tensor_register_hook: the tensor is no leaf, whose gradient alone is accumulated");
  return LAZE_OK;
}

static laze_status register_tensor_hook(laze_thread_state *thread, laze_tensor *tensor, const laze_grad_hook *model,
                                        int64_t *id, laze_error *error) {
  laze_slot *slot;
  LAZE_TRY(laze_grad_slot(thread, "laze_tensor_register_hook", tensor, &slot, error));
  LAZE_TRY(check_hooked(slot, model->place, error));
  return add_hook(thread->lazy, laze_slot_edge(slot), model, id, error);
}

static laze_status check_code(const char *function, bool has_code, int32_t when, laze_error *error) {
  if (!has_code) return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: the hook is NULL", function);
  if (when == 0 || when == 1) return LAZE_OK;
  return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: when is %d; it is one of the constants LAZE_HOOK_...", function,
                   (int)when);
}

laze_status laze_tensor_register_hook(laze_tensor *tensor, int32_t when, laze_tensor_hook hook, void *self,
                                      void (*release)(void *self), int64_t *id, laze_error *error) {
  const laze_grad_hook model = {.callback = {.self = self, .release = release},
                                .place = when == LAZE_HOOK_ACCUMULATED ? LAZE_HOOK_OF_LEAF : LAZE_HOOK_OF_TENSOR,
                                .of_tensor = hook};
  laze_thread_state *thread;
  laze_status status = laze_grad_lock(__func__, tensor, &thread, error);
  if (status == LAZE_OK) {
    status = check_code(__func__, hook != NULL, when, error);
    if (status == LAZE_OK) status = register_tensor_hook(thread, tensor, &model, id, error);
    laze_lazy_unlock(thread->lazy);
  }
  if (status != LAZE_OK && release) release(self);
  return status;
}

laze_status laze_gradient_node_register_hook(laze_gradient_node *node, int32_t when, laze_node_hook hook, void *self,
                                             void (*release)(void *self), int64_t *id, laze_error *error) {
  const laze_grad_hook model = {.callback = {.self = self, .release = release},
                                .place = when == LAZE_HOOK_BEHIND ? LAZE_HOOK_OF_OPERANDS : LAZE_HOOK_OF_RESULTS,
                                .of_node = hook};
  laze_lazy *lazy;
  laze_edge edge;
  laze_status status = laze_grad_lock_node(__func__, node, &lazy, &edge, error);
  if (status == LAZE_OK) {
    status = check_code(__func__, hook != NULL, when, error);
    if (status == LAZE_OK && laze_grad_node_is_leaf(edge.node))
      status = laze_fail(error, LAZE_FAILED_PRECONDITION,
                         "%s: the node is a leaf's; use laze_tensor_register_hook() with the tensor", __func__);
    if (status == LAZE_OK) status = add_hook(lazy, edge, &model, id, error);
    laze_lazy_unlock(lazy);
  }
  if (status != LAZE_OK && release) release(self);
  return status;
}

laze_status laze_hook_remove(laze_context *context, int64_t id, laze_error *error) {
  if (error) *error = (laze_error){.code = LAZE_OK};
  laze_lazy *lazy = laze_lazy_get(context);
  if (!lazy) return laze_fail_memory(error, "hooks", -1);
  pthread_mutex_lock(&lazy->lock);
  laze_grad_hook *hook = laze_grad_hook_find(lazy, id);
  if (hook) laze_grad_hook_remove(lazy, hook);
  laze_lazy_unlock(lazy);
  if (hook) return LAZE_OK;
  return laze_fail(error, LAZE_NOT_FOUND, "laze_hook_remove: there is no hook %lld (any more)", (long long)id);
}
