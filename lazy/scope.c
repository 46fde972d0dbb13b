#include "lazy/handle_table.h"

#include <string.h>

/* Makes a scope the recorder's innermost; NULL: memory is out. */
static laze_scope *open_scope(laze_lazy_recorder *recorder) {
  laze_lazy *lazy = recorder->lazy;
  laze_slot *slot = laze_slot_take(lazy);
  laze_open_scope *scope = slot ? laze_pool_take(&lazy->pool, sizeof *scope) : NULL;
  if (!scope) {
    if (slot) laze_slot_give(lazy, slot);
    return NULL;
  }
  *scope = (laze_open_scope){
      .lazy = lazy, .recorder = recorder, .outer = recorder->scope, .slot = slot, .depth = recorder->scope->depth + 1};
  slot->scope = scope;
  recorder->scope = scope;
  laze_script_restart(recorder, scope->depth);
  laze_context_retain(lazy->context);
  return (laze_scope *)laze_slot_handle(slot);
}

laze_scope *laze_scope_begin(laze_context *context) {
  laze_lazy *lazy = laze_lazy_get(context);
  laze_lazy_recorder *recorder = lazy ? laze_lazy_lock(lazy) : NULL;
  if (!recorder) return NULL;
  laze_scope *scope = open_scope(recorder);
  laze_lazy_unlock(lazy);
  return scope;
}

/* Makes room for another error by forgetting one that a read has returned, but not the first. */
static void forget_reported(laze_lazy *lazy, laze_open_scope *scope) {
  for (int32_t i = 1; i < scope->error_count; i++) {
    if (!scope->errors[i]->reported) continue;
    laze_failure_release(lazy, scope->errors[i]);
    scope->error_count--;
    memmove(&scope->errors[i], &scope->errors[i + 1], (size_t)(scope->error_count - i) * sizeof *scope->errors);
    return;
  }
}

void laze_scope_note(laze_lazy_recorder *recorder, laze_failure *failure) {
  laze_open_scope *scope = recorder->scope;
  if (!failure) scope->out_of_memory = true;
  if (!failure) return;
  if (scope->error_count == LAZE_SCOPE_ERRORS) forget_reported(recorder->lazy, scope);
  if (scope->error_count == LAZE_SCOPE_ERRORS) return; /* the others are older, and the end returns the first */
  failure->references++;
  scope->errors[scope->error_count++] = failure;
}

/* The first error that no read has returned. */
static laze_status unread_error(const laze_open_scope *scope, laze_error *error) {
  for (int32_t i = 0; i < scope->error_count; i++) {
    const laze_failure *failure = scope->errors[i];
    if (!failure->reported) return laze_fail(error, failure->code, "%s", failure->message);
  }
  if (scope->out_of_memory) return laze_fail_memory(error, "tensors of this scope", -1);
  return LAZE_OK;
}

void laze_scope_drop(laze_lazy_recorder *recorder, laze_open_scope *scope) {
  laze_lazy *lazy = recorder->lazy;
  laze_handle_release_scope(lazy, scope);
  for (int32_t i = 0; i < scope->error_count; i++) laze_failure_release(lazy, scope->errors[i]);
  scope->error_count = 0;
  scope->out_of_memory = false;
  if (scope == &recorder->root) return;
  recorder->scope = scope->outer;
  scope->slot->scope = NULL;
  laze_slot_give(lazy, scope->slot);
  laze_pool_give(&lazy->pool, scope, sizeof *scope);
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

/* The open scope of a handle; NULL: it has ended, or is no scope. Call it locked, with the handle's own context. */
static laze_open_scope *find_scope(const laze_scope *handle) {
  const laze_slot *slot = laze_slot_at((const laze_tensor *)handle);
  return slot && laze_slot_is_scope(slot, handle) ? slot->scope : NULL;
}

/* Whether the scope may be ended here and now. */
static laze_status check_innermost(const laze_lazy_recorder *recorder, const laze_scope *handle, const char *function,
                                   laze_error *error) {
  const laze_open_scope *scope = find_scope(handle);
  if (!scope)
    return laze_fail(error, LAZE_FAILED_PRECONDITION, "%s: this scope has ended already: end each scope once",
                     function);
  if (scope == recorder->scope) return LAZE_OK;
  return laze_fail(error, LAZE_FAILED_PRECONDITION,
                   "%s: this scope is not the innermost one of this thread: end scopes in reverse order, on the "
                   "thread that began them",
                   function);
}

static laze_status end_innermost(laze_lazy_recorder *recorder, bool step, laze_error *error) {
  laze_error run_error;
  laze_status run = step ? laze_materialise_held(recorder, &run_error) : LAZE_OK;
  laze_status status = unread_error(recorder->scope, error);
  if (status == LAZE_OK && run != LAZE_OK) status = laze_fail(error, run, "%s", run_error.message);
  laze_scope_drop(recorder, recorder->scope);
  return status;
}

static laze_status end_scope(laze_scope *handle, bool step, const char *function, laze_error *error) {
  if (error) *error = (laze_error){.code = LAZE_OK};
  if (!handle)
    return laze_fail(error, LAZE_OUT_OF_MEMORY, "%s: the scope is NULL: there was no memory to begin it", function);
  laze_lazy *lazy = laze_handle_lazy((const laze_tensor *)handle);
  if (!lazy) return check_innermost(NULL, handle, function, error);
  laze_context *context = lazy->context;
  laze_lazy_recorder *recorder = laze_lazy_lock(lazy);
  if (!recorder) return laze_fail_memory(error, "a thread's recorder", sizeof *recorder);
  laze_status status = check_innermost(recorder, handle, function, error);
  if (status != LAZE_OK) {
    laze_lazy_unlock(lazy);
    return status;
  }
  status = end_innermost(recorder, step, error);
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

const char *laze_scope_error(laze_scope *handle) {
  if (!handle) return "out of memory: the scope could not begin";
  laze_lazy *lazy = laze_handle_lazy((const laze_tensor *)handle);
  if (!lazy) return "";
  pthread_mutex_lock(&lazy->lock);
  const laze_open_scope *scope = find_scope(handle);
  const char *message = !scope                   ? ""
                        : scope->error_count > 0 ? scope->errors[0]->message
                        : scope->out_of_memory   ? "out of memory for tensors of this scope"
                                                 : "";
  pthread_mutex_unlock(&lazy->lock);
  return message;
}
