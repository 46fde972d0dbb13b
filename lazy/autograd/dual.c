/* Levels of forward mode (laze/autograd.h): tensors that carry tangents, over laze_jvp().
 *
 *   make     primal ──clone──> source ──clone──> dual       the level keeps the source and its tangent
 *   unpack   y ──> laze_jvp(y; sources of the level, their tangents)
 *
 * So a dual may be written to. The source is a leaf, unless the primal requires a gradient: then it stays part of that
 * history, so that a level inside another is differentiated by the duals of that one.
 *
 *   y = dual * w    its history leads to the source: it has a tangent; and to the leaf w: so has the tangent a history
 */
#include "laze/autograd.h"

#include "base/context.h"
#include "lazy/autograd/slot.h"
#include "lazy/lazy.h"
#include "lazy/thread.h"
#include "lazy/value/handle.h"
#include "lazy/value/view.h"

struct laze_dual_level {
  laze_context *context;             /* retained */
  laze_tensor **sources, **tangents; /* retained */
  int64_t count, source_capacity, tangent_capacity;
  bool creates; /* tangents that were given have histories */
};

laze_status laze_dual_level_begin(laze_context *context, laze_dual_level **out, laze_error *error) {
  if (out) *out = NULL;
  if (!out) return laze_fail(error, LAZE_INVALID_ARGUMENT, "laze_dual_level_begin: there is no room for the level");
  laze_lazy *lazy = laze_lazy_get(context);
  laze_dual_level *made = lazy ? laze_alloc_zero(lazy->context, sizeof *made) : NULL;
  if (!made) return laze_fail_memory(error, "a level of duals", sizeof *made);
  made->context = lazy->context;
  laze_context_retain(made->context);
  *out = made;
  return LAZE_OK;
}

void laze_dual_level_end(laze_dual_level *level) {
  if (!level) return;
  laze_context *context = level->context;
  for (int64_t i = 0; i < level->count; i++) {
    laze_tensor_release(level->sources[i]);
    laze_tensor_release(level->tangents[i]);
  }
  laze_free(context, level->sources);
  laze_free(context, level->tangents);
  laze_free(context, level);
  laze_context_release(context);
}

static laze_tensor *fail(const laze_dual_level *level, const laze_error *error) {
  laze_lazy *lazy = laze_lazy_get(level ? level->context : NULL);
  laze_thread_state *thread = lazy ? laze_lazy_lock(lazy) : NULL;
  if (!thread) return laze_handle_out_of_memory();
  laze_tensor *handle = laze_handle_fail(thread, error);
  laze_lazy_unlock(lazy);
  return handle;
}

static laze_status check_tangent(laze_tensor *primal, laze_tensor *tangent, laze_error *error) {
  laze_thread_state *thread;
  laze_slot *slot, *given;
  LAZE_TRY(laze_grad_lock("laze_dual_make", primal, &thread, error));
  laze_status status = laze_grad_find_sizes("laze_dual_make", thread, primal, tangent, error);
  if (status == LAZE_OK) status = laze_grad_slot(thread, "laze_dual_make", primal, &slot, error);
  if (status == LAZE_OK) status = laze_grad_slot(thread, "laze_dual_make", tangent, &given, error);
  if (status == LAZE_OK) status = laze_grad_check("laze_dual_make", slot->storage->cell, given->storage->cell, error);
  laze_lazy_unlock(thread->lazy);
  return status;
}

static laze_status check(const laze_dual_level *level, laze_tensor *primal, laze_tensor *tangent, laze_error *error) {
  if (!level || !primal || !tangent)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "laze_dual_make: level, primal or tangent is NULL");
  if (!laze_is_grad_enabled(level->context))
    return laze_fail(error, LAZE_FAILED_PRECONDITION,
                     "laze_dual_make: no gradients are recorded here, and tangents follow from what is recorded; make "
                     "duals, and compute with them, where gradients are (laze_set_grad_enabled)");
  LAZE_TRY(laze_tensor_status(primal));
  LAZE_TRY(laze_tensor_status(tangent));
  return check_tangent(primal, tangent, error);
}

static laze_tensor *copy(const laze_dual_level *level, laze_tensor *tensor) {
  const laze_argument argument = {.kind = LAZE_PASS_TENSOR, .value.tensor = tensor};
  laze_tensor *result = laze_handle_out_of_memory();
  (void)laze_call_by_name(level->context, "clone", &argument, 1, &result, 1);
  return result;
}

static laze_status make(laze_dual_level *level, laze_tensor *primal, laze_tensor *tangent, laze_tensor **out,
                        laze_error *error) {
  void *sources = level->sources, *tangents = level->tangents;
  LAZE_TRY(
      laze_grow(level->context, &sources, &level->source_capacity, level->count + 1, sizeof *level->sources, error));
  level->sources = sources;
  LAZE_TRY(
      laze_grow(level->context, &tangents, &level->tangent_capacity, level->count + 1, sizeof *level->tangents, error));
  level->tangents = tangents;
  laze_tensor *source = copy(level, primal);
  if (!laze_tensor_requires_grad(source)) LAZE_TRY(laze_tensor_require_grad(source, 1, error));
  *out = copy(level, source);
  if (laze_tensor_status(*out) != LAZE_OK)
    return laze_fail(error, laze_tensor_status(*out), "laze_dual_make: %s", laze_tensor_error(*out));
  level->creates |= laze_tensor_requires_grad(tangent);
  level->sources[level->count] = laze_tensor_retain(source);
  level->tangents[level->count++] = laze_tensor_retain(tangent);
  return LAZE_OK;
}

laze_tensor *laze_dual_make(laze_dual_level *level, laze_tensor *primal, laze_tensor *tangent) {
  laze_error error = {.code = LAZE_OK};
  laze_tensor *dual = NULL;
  if (check(level, primal, tangent, &error) == LAZE_OK && make(level, primal, tangent, &dual, &error) == LAZE_OK)
    return dual;
  if (error.code == LAZE_OK) return laze_tensor_status(primal) == LAZE_OK ? tangent : primal; /* errors are passed on */
  return fail(level, &error);
}

/* Where a history leads. */
typedef struct {
  bool sources; /* to those of the level */
  bool leaves;  /* to others */
} origins;

/* Marks the nodes of the level's sources. */
static laze_status mark_sources(laze_thread_state *thread, const laze_dual_level *level, uint64_t mark,
                                laze_error *error) {
  for (int64_t i = 0; i < level->count; i++) {
    laze_slot *slot;
    LAZE_TRY(laze_grad_slot(thread, "laze_dual_unpack", level->sources[i], &slot, error));
    slot->grad_node->mark = mark;
  }
  return LAZE_OK;
}

/* Visits what the node leads to and was not visited before. */
static laze_grad_node *visit(laze_grad_node *node, laze_grad_node *waiting, uint64_t source, uint64_t visited,
                             origins *out) {
  if (!node || node->mark == visited) return waiting;
  const bool is_source = node->mark == source;
  out->sources |= is_source;
  out->leaves |= !is_source && laze_grad_node_is_leaf(node);
  node->mark = visited;
  node->next = waiting;
  return node;
}

static laze_status find_origins(const laze_dual_level *level, laze_tensor *tensor, origins *out, laze_error *error) {
  laze_thread_state *thread;
  laze_slot *slot;
  *out = (origins){.sources = false};
  LAZE_TRY(laze_grad_lock("laze_dual_unpack", tensor, &thread, error));
  const uint64_t source = thread->lazy->mark + 1, visited = source + 1;
  thread->lazy->mark = visited;
  laze_status status = laze_grad_slot(thread, "laze_dual_unpack", tensor, &slot, error);
  if (status == LAZE_OK) status = mark_sources(thread, level, source, error);
  laze_grad_node *waiting = status == LAZE_OK ? visit(slot->grad_node, NULL, source, visited, out) : NULL;
  while (waiting) {
    const laze_grad_node *node = waiting;
    waiting = node->next;
    for (int32_t i = 0; i < node->operand_count; i++)
      waiting = visit(node->edges[i].node, waiting, source, visited, out);
  }
  laze_lazy_unlock(thread->lazy);
  return status;
}

laze_status laze_dual_unpack(laze_dual_level *level, laze_tensor *tensor, laze_tensor **primal, laze_tensor **tangent,
                             laze_error *error) {
  if (primal) *primal = NULL;
  if (tangent) *tangent = NULL;
  if (!level || !tensor || !primal || !tangent)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "laze_dual_unpack: level, tensor or room for results is NULL");
  if (laze_tensor_status(tensor) != LAZE_OK)
    return laze_fail(error, laze_tensor_status(tensor), "%s", laze_tensor_error(tensor));
  origins from;
  LAZE_TRY(find_origins(level, tensor, &from, error));
  const bool creates = level->creates || from.leaves;
  if (from.sources)
    LAZE_TRY(laze_jvp(&tensor, 1, level->sources, level->tangents, (int32_t)level->count,
                      creates ? LAZE_CREATE_GRAPH : 0, tangent, error));
  *primal = creates || !from.sources ? tensor : laze_detach(tensor);
  return LAZE_OK;
}
