/* Nodes in the C interface (laze/gradient_node.h). Their handles are slots of the table of handles, as tensors' are,
 * which have an edge and no storage. */
#include "lazy/autograd/nodes.h"

#include "lazy/lazy.h"
#include "lazy/value/handle.h"
#include "lazy/value/view.h"

static laze_slot *find_slot(const laze_gradient_node *node) {
  laze_slot *slot = laze_slot_at((const laze_tensor *)node);
  const bool is_node = slot && slot->grad_node && !slot->storage;
  return is_node && laze_slot_handle(slot) == (const laze_tensor *)node ? slot : NULL;
}

laze_status laze_grad_lock_node(const char *function, laze_gradient_node *node, laze_lazy **lazy, laze_edge *out,
                                laze_error *error) {
  if (error) *error = (laze_error){.code = LAZE_OK};
  *lazy = laze_handle_lazy((const laze_tensor *)node);
  if (*lazy) {
    pthread_mutex_lock(&(*lazy)->lock);
    const laze_slot *slot = find_slot(node);
    if (slot) *out = laze_slot_edge(slot);
    if (slot) return LAZE_OK;
    pthread_mutex_unlock(&(*lazy)->lock);
  }
  return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: the node is NULL, or a released handle", function);
}

/* A handle of an edge's node, which keeps the context as a retained tensor does. Locked. */
static laze_gradient_node *make_handle(laze_lazy *lazy, laze_edge edge) {
  laze_slot *slot = edge.node ? laze_slot_take(&lazy->slots) : NULL;
  if (!slot) return NULL;
  slot->grad_node = laze_edge_retain(edge).node;
  slot->grad_result = (uint32_t)edge.result % (UINT32_C(1) << (32 - LAZE_SLOT_INDEX_BITS));
  laze_context_retain(lazy->context);
  return (laze_gradient_node *)laze_slot_handle(slot);
}

laze_gradient_node *laze_tensor_gradient_node(laze_tensor *tensor) {
  laze_lazy *lazy = laze_handle_lazy(tensor);
  laze_thread_state *thread = lazy ? laze_lazy_lock(lazy) : NULL;
  if (!thread) return NULL;
  laze_slot *slot = laze_handle_slot(tensor);
  const bool found = slot && laze_slot_refresh(thread, slot, NULL) == LAZE_OK;
  const bool has_node = found && slot->grad_node && !laze_grad_node_is_leaf(slot->grad_node);
  laze_gradient_node *node = has_node ? make_handle(lazy, laze_slot_edge(slot)) : NULL;
  laze_lazy_unlock(lazy);
  return node;
}

void laze_gradient_node_release(laze_gradient_node *node) {
  laze_lazy *lazy;
  laze_edge edge;
  if (!node || laze_grad_lock_node(__func__, node, &lazy, &edge, NULL) != LAZE_OK) return;
  laze_slot *slot = find_slot(node);
  laze_context *context = lazy->context;
  slot->grad_node = NULL;
  laze_slot_give(&lazy->slots, slot);
  laze_edge_release(lazy, edge);
  laze_lazy_unlock(lazy);
  laze_context_release(context);
}

const char *laze_gradient_node_name(laze_gradient_node *node) {
  laze_lazy *lazy;
  laze_edge edge;
  if (laze_grad_lock_node(__func__, node, &lazy, &edge, NULL) != LAZE_OK) return "";
  const char *name = laze_grad_node_name(edge.node);
  laze_lazy_unlock(lazy);
  return name;
}

int64_t laze_gradient_node_number(laze_gradient_node *node) {
  laze_lazy *lazy;
  laze_edge edge;
  if (laze_grad_lock_node(__func__, node, &lazy, &edge, NULL) != LAZE_OK) return 0;
  const int64_t number = (int64_t)edge.node->number;
  laze_lazy_unlock(lazy);
  return number;
}

int32_t laze_gradient_node_operand_count(laze_gradient_node *node) {
  laze_lazy *lazy;
  laze_edge edge;
  if (laze_grad_lock_node(__func__, node, &lazy, &edge, NULL) != LAZE_OK) return 0;
  const int32_t count = edge.node->operand_count;
  laze_lazy_unlock(lazy);
  return count;
}

laze_gradient_node *laze_gradient_node_next(laze_gradient_node *node, int32_t operand, int32_t *result) {
  laze_lazy *lazy;
  laze_edge edge;
  if (laze_grad_lock_node(__func__, node, &lazy, &edge, NULL) != LAZE_OK) return NULL;
  const bool exists = operand >= 0 && operand < edge.node->operand_count;
  const laze_edge next = exists ? edge.node->edges[operand] : (laze_edge){NULL, 0};
  laze_gradient_node *made = make_handle(lazy, next);
  laze_lazy_unlock(lazy);
  if (result) *result = next.result;
  return made;
}
