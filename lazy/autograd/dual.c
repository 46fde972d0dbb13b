/* Levels of forward mode (laze/autograd.h): tensors that carry tangents, over laze_jvp().
 *
 *   make     primal ──(leaf)──clone──> source ──clone──> dual       the level keeps the source and its tangent
 *   unpack   y ──> laze_jvp(y; sources of the level, their tangents)
 *
 * So a dual may be written to. A primal that requires a gradient stays part of its history, so that a level inside
 * another is differentiated by the duals of that one. */
#include "laze/autograd.h"

#include "base/context.h"
#include "lazy/autograd/slot.h"
#include "lazy/lazy.h"
#include "lazy/thread.h"
#include "lazy/value/handle.h"

struct laze_dual_level {
  laze_context *context;             /* retained */
  laze_tensor **sources, **tangents; /* retained */
  int64_t count, source_capacity, tangent_capacity;
  bool creates; /* tangents have histories: of primals, or of an outer level's duals */
};

laze_status laze_dual_level_begin(laze_context *context, const laze_dual_level *outer, laze_dual_level **out,
                                  laze_error *error) {
  if (out) *out = NULL;
  if (!out) return laze_fail(error, LAZE_INVALID_ARGUMENT, "laze_dual_level_begin: there is no room for the level");
  laze_lazy *lazy = laze_lazy_get(context);
  laze_dual_level *made = lazy ? laze_alloc_zero(lazy->context, sizeof *made) : NULL;
  if (!made) return laze_fail_memory(error, "a level of duals", sizeof *made);
  made->context = lazy->context;
  made->creates = outer != NULL;
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
  const bool follows = laze_tensor_requires_grad(primal);
  laze_tensor *from = follows ? primal : laze_detach(primal);
  if (!follows) LAZE_TRY(laze_tensor_require_grad(from, 1, error));
  void *sources = level->sources, *tangents = level->tangents;
  LAZE_TRY(
      laze_grow(level->context, &sources, &level->source_capacity, level->count + 1, sizeof *level->sources, error));
  level->sources = sources;
  LAZE_TRY(
      laze_grow(level->context, &tangents, &level->tangent_capacity, level->count + 1, sizeof *level->tangents, error));
  level->tangents = tangents;
  laze_tensor *source = copy(level, from);
  *out = copy(level, source);
  if (laze_tensor_status(*out) != LAZE_OK)
    return laze_fail(error, laze_tensor_status(*out), "laze_dual_make: %s", laze_tensor_error(*out));
  level->creates |= follows || laze_tensor_requires_grad(tangent);
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

laze_status laze_dual_unpack(laze_dual_level *level, laze_tensor *tensor, laze_tensor **primal, laze_tensor **tangent,
                             laze_error *error) {
  if (primal) *primal = NULL;
  if (tangent) *tangent = NULL;
  if (!level || !tensor || !primal || !tangent)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "laze_dual_unpack: level, tensor or room for results is NULL");
  if (laze_tensor_status(tensor) != LAZE_OK)
    return laze_fail(error, laze_tensor_status(tensor), "%s", laze_tensor_error(tensor));
  if (laze_tensor_requires_grad(tensor) && level->count > 0)
    LAZE_TRY(laze_jvp(&tensor, 1, level->sources, level->tangents, (int32_t)level->count,
                      level->creates ? LAZE_CREATE_GRAPH : 0, tangent, error));
  *primal = level->creates ? tensor : laze_detach(tensor);
  return LAZE_OK;
}
