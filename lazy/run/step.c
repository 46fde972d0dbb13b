/* The end of a scope: what it computes, returns and warns of. */
#include "lazy/lazy.h"
#include "lazy/run/materialise.h"
#include "lazy/run/run_state.h"
#include "lazy/thread.h"

/* Whether the scope may be ended here and now. */
static laze_status check_innermost(const laze_thread_state *thread, const laze_scope *handle, const char *function,
                                   laze_error *error) {
  const laze_open_scope *scope = laze_scope_find(handle);
  if (!scope)
    return laze_fail(error, LAZE_FAILED_PRECONDITION, "%s: this scope has ended already: end each scope once",
                     function);
  if (scope == thread->scope) return LAZE_OK;
  return laze_fail(error, LAZE_FAILED_PRECONDITION,
                   "%s: this scope is not the innermost one of this thread: end scopes in reverse order, on the "
                   "thread that began them",
                   function);
}

/* Says so when held values of one scope after the other stay pending: each step then computes all steps before it. */
static bool grows(laze_thread_state *thread) {
  enum { GROWING_SCOPES = 100, GROWN_NODES = 1000 };
  bool grown = thread->backlog.nodes > thread->run->scope_nodes;
  thread->run->growing_scopes = grown ? thread->run->growing_scopes + 1 : 0;
  thread->run->scope_nodes = thread->backlog.nodes;
  if (thread->run->growing_scopes < GROWING_SCOPES || thread->backlog.nodes < GROWN_NODES) return false;
  thread->run->growing_scopes = 0;
  return true;
}

/* `step`: where it ends a step, which computes held values; NULL: it does not. */
static laze_status end_innermost(laze_thread_state *thread, const laze_force *step, laze_error *error) {
  laze_error run_error;
  laze_status run = step ? laze_materialise_held(thread, step, &run_error) : LAZE_OK;
  laze_status status = laze_scope_unread_error(thread->scope, error);
  if (status == LAZE_OK && run != LAZE_OK) status = laze_fail(error, run, "%s", run_error.message);
  laze_scope_drop(thread, thread->scope);
  return status;
}

static laze_status end_scope(laze_scope *handle, const laze_force *step, const char *function, laze_error *error) {
  if (error) error->code = LAZE_OK, error->message[0] = 0;
  if (!handle)
    return laze_fail(error, LAZE_OUT_OF_MEMORY, "%s: the scope is NULL: there was no memory to begin it", function);
  laze_lazy *lazy = laze_handle_lazy((const laze_tensor *)handle);
  if (!lazy) return check_innermost(NULL, handle, function, error);
  laze_context *context = lazy->context;
  laze_thread_state *thread = laze_lazy_lock(lazy);
  if (!thread) return laze_fail_memory(error, "a thread's state", sizeof *thread);
  laze_status status = check_innermost(thread, handle, function, error);
  if (status != LAZE_OK) {
    laze_lazy_unlock(lazy);
    return status;
  }
  status = end_innermost(thread, step, error);
  long long pending = grows(thread) ? (long long)thread->backlog.nodes : 0;
  laze_lazy_unlock(lazy);
  if (pending > 0)
    laze_log_advice(context, LAZE_ADVICE_GROWTH,
                    "100 scopes in a row each left more to compute than the one before, %lld operators by now: values "
                    "that outlive a scope stay pending after laze_scope_end; end steps with laze_step_end",
                    pending);
  laze_context_release(context);
  return status;
}

laze_status laze_scope_end_error(laze_scope *scope, laze_error *error) {
  return end_scope(scope, NULL, __func__, error);
}
laze_status laze_scope_end(laze_scope *scope) {
  return end_scope(scope, NULL, __func__, NULL);
}
laze_status laze_step_end_at(laze_scope *scope, laze_error *error, const char *file, int32_t line) {
  const laze_force force = {LAZE_FORCE_STEP, "laze_step_end", file, line};
  return end_scope(scope, &force, force.function, error);
}
laze_status laze_step_end(laze_scope *scope, laze_error *error) {
  return laze_step_end_at(scope, error, NULL, 0);
}
