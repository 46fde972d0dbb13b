/* From the call to the key at the top, and from each key to the one below. */
#include "lazy/library/dispatch.h"

#include "lazy/lazy.h"
#include "lazy/library/arguments.h"
#include "lazy/value/handle.h"

#include <string.h>

static laze_library_dispatch describe(const laze_library_state *state, int32_t key) {
  const laze_library_schema *schema = &state->op->schema;
  return (laze_library_dispatch){.struct_size = sizeof(laze_library_dispatch),
                                 .context = state->library->context,
                                 .name = schema->name,
                                 .key = key,
                                 .argument_count = schema->argument_count,
                                 .result_count = schema->result_count,
                                 .arguments = state->bound,
                                 .file = state->file,
                                 .line = state->line,
                                 .state = state};
}

laze_status laze_library_name_failure(const laze_library_state *state, laze_status status, laze_error *error) {
  if (!error) return status;
  error->code = status;
  error->message[sizeof error->message - 1] = 0;
  if (!*error->message)
    return laze_fail(error, status, "%s: its code failed: %s", state->op->schema.name, laze_status_name(status));
  laze_error_name(error, state->op->schema.name);
  return status;
}

static laze_status check_results(const laze_library_state *state, laze_tensor *const *results, int32_t key,
                                 laze_error *error) {
  for (int32_t i = 0; i < state->op->schema.result_count; i++)
    if (!results[i])
      return laze_fail(error, LAZE_FAILED_PRECONDITION, "%s: its code at key %d gave no result %d",
                       state->op->schema.name, (int)key, (int)i);
  return LAZE_OK;
}

static laze_status call_code(const laze_library_state *state, int32_t key, laze_library_hook *hook,
                             laze_tensor **results, laze_error *error) {
  const laze_library_dispatch call = describe(state, key);
  const bool checks = atomic_load(&state->library->checks);
  laze_library_inspection before;
  laze_error said = {.code = LAZE_OK};
  if (checks) LAZE_TRY(laze_library_inspect_before(state, &before, error));
  const laze_status status = hook->function.code(hook->self, &call, results, &said);
  if (status != LAZE_OK) {
    if (error) *error = said;
    return laze_library_name_failure(state, status, error);
  }
  LAZE_TRY(check_results(state, results, key, error));
  return checks ? laze_library_inspect_behind(state, &before, results, error) : LAZE_OK;
}

laze_status laze_library_enter(const laze_library_state *state, int32_t key, laze_tensor **results, laze_error *error) {
  static const laze_library_code fallbacks[LAZE_KEY_COUNT] = {
      [LAZE_KEY_AUTOGRAD] = laze_library_fallback_autograd,
      [LAZE_KEY_VIEWS] = laze_library_fallback_views,
      [LAZE_KEY_FUNCTIONALIZE] = laze_library_fallback_functionalize,
      [LAZE_KEY_BACKEND] = laze_library_fallback_backend,
  };
  for (int32_t i = 0; i < state->op->schema.result_count; i++) results[i] = NULL;
  laze_library_hook *hook = laze_library_code_at(state->library, state->op, key);
  const laze_library_dispatch call = describe(state, key);
  const laze_status status =
      hook ? call_code(state, key, hook, results, error) : fallbacks[key](NULL, &call, results, error);
  laze_library_hook_release(hook);
  return status;
}

laze_status laze_library_redispatch(const laze_library_dispatch *call, laze_tensor **results, laze_error *error) {
  if (!call || call->struct_size < sizeof *call || !call->state || (!results && call->result_count > 0))
    return laze_fail(error, LAZE_INVALID_ARGUMENT,
                     "laze_library_redispatch: it takes the call that code at a key was given, and room for results");
  laze_library_state below = *(const laze_library_state *)call->state;
  if (call->key <= LAZE_KEY_BACKEND || call->key >= LAZE_KEY_COUNT)
    return laze_fail(error, LAZE_FAILED_PRECONDITION, "%s: there is no key below %d", below.op->schema.name,
                     (int)call->key);
  if (call->arguments != below.bound) {
    laze_argument *bound = laze_arena_alloc_array(below.arena, below.op->schema.argument_count, sizeof *bound);
    if (!bound) return laze_fail_memory(error, "a call", -1);
    LAZE_TRY(laze_library_bind(below.arena, &below.op->schema, call->arguments, call->argument_count, bound, error));
    below.bound = bound;
  }
  return laze_library_enter(&below, call->key - 1, results, error);
}

laze_status laze_library_pass_on(laze_tensor *handle, laze_error *error) {
  const laze_status status = laze_tensor_status(handle);
  return status == LAZE_OK ? LAZE_OK : laze_fail(error, status, "%s", laze_tensor_error(handle));
}

/* --- the call --- */

static laze_tensor *fail(laze_context *context, const char *file, int32_t line, laze_error *error) {
  laze_lazy *lazy = laze_lazy_get(context);
  laze_thread_state *thread = lazy ? laze_lazy_lock(lazy) : NULL;
  if (!thread) return laze_handle_out_of_memory();
  if (file && strncmp(error->message, file, strlen(file)) != 0)
    (void)laze_error_prefix(error, "%s:%d", file, (int)line);
  laze_tensor *handle = laze_handle_fail(thread, error);
  laze_lazy_unlock(lazy);
  return handle;
}

static laze_status check_room(const laze_library_schema *schema, laze_tensor *const *results, int32_t capacity,
                              laze_error *error) {
  if (schema->result_count <= capacity && (results || schema->result_count == 0)) return LAZE_OK;
  return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s gives %d results, but there is room for %d; give room for as many",
                   schema->name, (int)schema->result_count, (int)capacity);
}

/* A tensor of another context would be recorded there. */
static laze_status check_tensors(const laze_library_state *state, laze_error *error) {
  const laze_library_schema *schema = &state->op->schema;
  laze_lazy *lazy = laze_lazy_get(state->library->context);
  const int32_t count = laze_library_tensors(schema, state->bound, NULL);
  laze_tensor **tensors = laze_arena_alloc_array(state->arena, count, sizeof *tensors);
  if (!tensors || !lazy) return laze_fail_memory(error, "a call", -1);
  (void)laze_library_tensors(schema, state->bound, tensors);
  for (int32_t i = 0; i < count; i++)
    if (laze_handle_lazy(tensors[i]) != lazy)
      return laze_fail(error, LAZE_INVALID_ARGUMENT,
                       "%s: tensor %d is NULL, no tensor or one of another context than the operator's", schema->name,
                       (int)i);
  return LAZE_OK;
}

static laze_status call_operator(laze_library_state *state, const laze_argument *arguments, int32_t count,
                                 laze_tensor **results, int32_t capacity, laze_error *error) {
  const laze_library_schema *schema = &state->op->schema;
  laze_argument bound[LAZE_MOST_ARGUMENTS];
  LAZE_TRY(check_room(schema, results, capacity, error));
  LAZE_TRY(laze_library_bind(state->arena, schema, arguments, count, bound, error));
  state->bound = bound;
  LAZE_TRY(check_tensors(state, error));
  return laze_library_enter(state, LAZE_KEY_AUTOGRAD, results, error);
}

int32_t laze_library_call_at(laze_context *context, const char *name, const laze_argument *arguments,
                             int32_t argument_count, laze_tensor **results, int32_t capacity, const char *file,
                             int32_t line) {
  laze_library_state state = {.file = file, .line = line};
  laze_arena arena;
  laze_error error;
  int32_t count = 0;
  laze_status status = laze_library_get(context, &state.library, &error);
  if (status == LAZE_OK) status = laze_library_find(state.library, name, &state.op, &error);
  if (status == LAZE_OK) {
    laze_arena_init(&arena, state.library->context);
    state.arena = &arena;
    count = state.op->schema.result_count;
    status = call_operator(&state, arguments, argument_count, results, capacity, &error);
    laze_arena_deinit(&arena);
  }
  laze_library_operator_release(state.op);
  if (status == LAZE_OK) return count;
  laze_tensor *failed = fail(context, file, line, &error);
  if (!results || capacity < 1) return 0; /* its scope has the error */
  results[0] = failed;
  return 1;
}
