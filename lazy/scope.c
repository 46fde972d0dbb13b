#include "lazy/lazy.h"

#include <string.h>

static laze_scope *scope_take(laze_lazy_recorder *recorder) {
  laze_scope *scope = recorder->ended;
  if (!scope) return laze_pool_take(&recorder->lazy->pool, sizeof *scope);
  recorder->ended = scope->outer;
  return scope;
}

laze_scope *laze_scope_begin(laze_context *context) {
  laze_lazy *lazy = laze_lazy_get(context);
  laze_lazy_recorder *recorder = lazy ? laze_lazy_lock(lazy) : NULL;
  if (!recorder) return NULL;
  laze_scope *scope = scope_take(recorder);
  if (scope) {
    *scope =
        (laze_scope){.lazy = lazy, .recorder = recorder, .outer = recorder->scope, .depth = recorder->scope->depth + 1};
    recorder->scope = scope;
    laze_script_restart(recorder, scope->depth);
    laze_context_retain(lazy->context);
  }
  laze_lazy_unlock(lazy);
  return scope;
}

/* Makes room for another error by forgetting one that a read has returned, but not the first. */
static void forget_reported(laze_lazy *lazy, laze_scope *scope) {
  for (int32_t i = 1; i < scope->error_count; i++) {
    if (!scope->errors[i]->reported) continue;
    laze_failure_release(lazy, scope->errors[i]);
    scope->error_count--;
    memmove(&scope->errors[i], &scope->errors[i + 1], (size_t)(scope->error_count - i) * sizeof *scope->errors);
    return;
  }
}

void laze_scope_note(laze_lazy_recorder *recorder, laze_failure *failure) {
  laze_scope *scope = recorder->scope;
  if (!failure) scope->out_of_memory = true;
  if (!failure) return;
  if (scope->error_count == LAZE_SCOPE_ERRORS) forget_reported(recorder->lazy, scope);
  if (scope->error_count == LAZE_SCOPE_ERRORS) return; /* the others are older, and the end returns the first */
  failure->references++;
  scope->errors[scope->error_count++] = failure;
}

/* The first error that no read has returned. */
static laze_status unread_error(const laze_scope *scope, laze_error *error) {
  for (int32_t i = 0; i < scope->error_count; i++) {
    const laze_failure *failure = scope->errors[i];
    if (!failure->reported) return laze_fail(error, failure->code, "%s", failure->message);
  }
  if (scope->out_of_memory) return laze_fail_memory(error, "tensors of this scope", -1);
  return LAZE_OK;
}

void laze_scope_drop(laze_lazy_recorder *recorder, laze_scope *scope) {
  laze_lazy *lazy = recorder->lazy;
  laze_handle_release_scope(lazy, scope);
  for (int32_t i = 0; i < scope->error_count; i++) laze_failure_release(lazy, scope->errors[i]);
  scope->error_count = 0;
  scope->out_of_memory = false;
  if (scope == &recorder->root) return;
  recorder->scope = scope->outer;
  scope->ended = true;
  scope->outer = recorder->ended;
  recorder->ended = scope;
}

/* Says so when held values of one scope after the other stay pending: each step then computes all steps before it. */
static bool grows(laze_lazy_recorder *recorder) {
  enum { GROWING_SCOPES = 100, GROWN_NODES = 1000 };
  bool grown = recorder->pending_nodes > recorder->scope_nodes;
  recorder->growing_scopes = grown ? recorder->growing_scopes + 1 : 0;
  recorder->scope_nodes = recorder->pending_nodes;
  if (recorder->growing_scopes < GROWING_SCOPES || recorder->pending_nodes < GROWN_NODES) return false;
  recorder->growing_scopes = 0;
  return true;
}

static laze_status end_scope(laze_scope *scope, bool step, const char *function, laze_error *error) {
  if (error) *error = (laze_error){.code = LAZE_OK};
  if (!scope)
    return laze_fail(error, LAZE_OUT_OF_MEMORY, "%s: the scope is NULL: there was no memory to begin it", function);
  laze_lazy *lazy = scope->lazy;
  laze_context *context = lazy->context;
  laze_lazy_recorder *recorder = laze_lazy_lock(lazy);
  if (!recorder) return laze_fail_memory(error, "a thread's recorder", sizeof *recorder);
  if (recorder->scope != scope) {
    bool ended = scope->ended;
    laze_lazy_unlock(lazy);
    if (ended)
      return laze_fail(error, LAZE_FAILED_PRECONDITION, "%s: this scope has ended already: end each scope once",
                       function);
    return laze_fail(error, LAZE_FAILED_PRECONDITION,
                     "%s: this scope is not the innermost one of this thread: end scopes in reverse order, on the "
                     "thread that began them",
                     function);
  }
  laze_error run_error;
  laze_status run = step ? laze_materialise_held(recorder, &run_error) : LAZE_OK;
  laze_status status = unread_error(scope, error);
  if (status == LAZE_OK && run != LAZE_OK) status = laze_fail(error, run, "%s", run_error.message);
  laze_scope_drop(recorder, scope);
  long long pending = grows(recorder) ? (long long)recorder->pending_nodes : 0;
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
  return end_scope(scope, false, __func__, error);
}
laze_status laze_scope_end(laze_scope *scope) {
  return end_scope(scope, false, __func__, NULL);
}
laze_status laze_step_end(laze_scope *scope, laze_error *error) {
  return end_scope(scope, true, __func__, error);
}

const char *laze_scope_error(laze_scope *scope) {
  if (!scope) return "out of memory: the scope could not begin";
  pthread_mutex_lock(&scope->lazy->lock);
  const char *message = scope->error_count > 0 ? scope->errors[0]->message
                        : scope->out_of_memory ? "out of memory for tensors of this scope"
                                               : "";
  pthread_mutex_unlock(&scope->lazy->lock);
  return message;
}
