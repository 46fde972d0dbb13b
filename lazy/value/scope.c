/* Scopes begin, note errors and go; run/step.c ends them for the caller. A thread's scopes are a stack, at whose bottom
 * is one that is always there:
 *
 *   root (depth 0) <- outer (1) <- innermost (2): new handles, and errors, are its own
 */
#include "lazy/value/scope.h"

#include "lazy/lazy.h"
#include "lazy/thread.h"
#include "lazy/value/failure.h"
#include "lazy/value/handle.h"

#include <string.h>

/* Makes a scope the thread's innermost; NULL: memory is out. */
static laze_scope *open_scope(laze_thread_state *thread) {
  laze_lazy *lazy = thread->lazy;
  laze_slot *slot = laze_slot_take(&lazy->slots);
  laze_open_scope *scope = slot ? laze_pool_take(&lazy->pool, sizeof *scope) : NULL;
  if (!scope) {
    if (slot) laze_slot_give(&lazy->slots, slot);
    return NULL;
  }
  *scope = (laze_open_scope){
      .lazy = lazy, .thread = thread, .outer = thread->scope, .slot = slot, .depth = thread->scope->depth + 1};
  slot->scope = scope;
  thread->scope = scope;
  laze_context_retain(lazy->context);
  return (laze_scope *)laze_slot_handle(slot);
}

laze_scope *laze_scope_begin(laze_context *context) {
  laze_lazy *lazy = laze_lazy_get(context);
  laze_thread_state *thread = lazy ? laze_lazy_lock(lazy) : NULL;
  if (!thread) return NULL;
  laze_scope *scope = open_scope(thread);
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

void laze_scope_note(laze_thread_state *thread, laze_failure *failure) {
  laze_open_scope *scope = thread->scope;
  if (!failure) scope->out_of_memory = true;
  if (!failure) return;
  if (scope->error_count == LAZE_SCOPE_MAX_ERRORS) forget_reported(thread->lazy, scope);
  if (scope->error_count == LAZE_SCOPE_MAX_ERRORS) return; /* the others are older, and the end returns the first */
  failure->references++;
  scope->errors[scope->error_count++] = failure;
}

laze_status laze_scope_unread_error(const laze_open_scope *scope, laze_error *error) {
  for (int32_t i = 0; i < scope->error_count; i++) {
    const laze_failure *failure = scope->errors[i];
    if (!failure->reported) return laze_fail(error, failure->code, "%s", failure->message);
  }
  if (scope->out_of_memory) return laze_fail_memory(error, "tensors of this scope", -1);
  return LAZE_OK;
}

void laze_scope_drop(laze_thread_state *thread, laze_open_scope *scope) {
  laze_lazy *lazy = thread->lazy;
  laze_handle_release_scope(lazy, scope);
  for (int32_t i = 0; i < scope->error_count; i++) laze_failure_release(lazy, scope->errors[i]);
  scope->error_count = 0;
  scope->out_of_memory = false;
  if (scope == &thread->root) return;
  thread->scope = scope->outer;
  scope->slot->scope = NULL;
  laze_slot_give(&lazy->slots, scope->slot);
  laze_pool_give(&lazy->pool, scope, sizeof *scope);
}

laze_open_scope *laze_scope_find(const laze_scope *handle) {
  const laze_slot *slot = laze_slot_at((const laze_tensor *)handle);
  return slot && laze_slot_is_scope(slot, handle) ? slot->scope : NULL;
}

const char *laze_scope_error(laze_scope *handle) {
  if (!handle) return "out of memory: the scope could not begin";
  laze_lazy *lazy = laze_handle_lazy((const laze_tensor *)handle);
  if (!lazy) return "";
  pthread_mutex_lock(&lazy->lock);
  const laze_open_scope *scope = laze_scope_find(handle);
  const char *message = !scope                   ? ""
                        : scope->error_count > 0 ? scope->errors[0]->message
                        : scope->out_of_memory   ? "out of memory for tensors of this scope"
                                                 : "";
  pthread_mutex_unlock(&lazy->lock);
  return message;
}
