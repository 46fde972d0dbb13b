/* Checks of code at keys: what it leaves of its arguments, and whether results share memory as the schema says.
 *
 *   schema                                    caught
 *   f(Tensor x) -> Tensor                     x has another value behind the call; the result is x, or a view of it
 *   f(Tensor(a) x) -> Tensor(a)               the result is no view of x
 *   f(Tensor(a!) x) -> Tensor(a!)             the result is not x
 */
#include "lazy/lazy.h"
#include "lazy/library/arguments.h"
#include "lazy/library/dispatch.h"
#include "lazy/value/handle.h"
#include "lazy/value/view.h"

static const laze_storage *storage_of(laze_tensor *tensor) {
  const laze_slot *slot = laze_handle_slot(tensor);
  return slot ? slot->storage : NULL;
}

static const laze_storage *base_of(laze_tensor *tensor) {
  const laze_storage *storage = storage_of(tensor);
  return storage && storage->view ? storage->view->base : storage;
}

static laze_status lock(const laze_library_state *state, laze_lazy **out, laze_error *error) {
  *out = laze_lazy_get(state->library->context);
  return *out && laze_lazy_lock(*out) ? LAZE_OK : laze_fail_memory(error, "a thread's state", -1);
}

laze_status laze_library_inspect_before(const laze_library_state *state, laze_library_inspection *out,
                                        laze_error *error) {
  const laze_library_schema *schema = &state->op->schema;
  laze_lazy *lazy;
  out->count = laze_library_tensors(schema, state->bound, NULL);
  out->tensors = laze_arena_alloc_array(state->arena, out->count, sizeof *out->tensors);
  out->storages = laze_arena_alloc_array(state->arena, out->count, sizeof *out->storages);
  out->versions = laze_arena_alloc_array(state->arena, out->count, sizeof *out->versions);
  if (!out->tensors || !out->storages || !out->versions) return laze_fail_memory(error, "the check of a call", -1);
  (void)laze_library_tensors(schema, state->bound, out->tensors);
  LAZE_TRY(lock(state, &lazy, error));
  for (int32_t i = 0; i < out->count; i++) {
    const laze_storage *storage = storage_of(out->tensors[i]);
    out->storages[i] = storage;
    out->versions[i] = storage ? laze_storage_version(storage) : 0;
  }
  laze_lazy_unlock(lazy);
  return LAZE_OK;
}

static laze_status wrong(const laze_library_state *state, const char *what, int32_t index, const char *remedy,
                         laze_error *error) {
  return laze_fail(error, LAZE_FAILED_PRECONDITION, "%s: its code %s %d, and the schema is %.200s; %s",
                   state->op->schema.name, what, (int)index, state->op->schema.text, remedy);
}

/* Whether a write to it is what the schema says: to itself, or to what shares its memory. */
static bool may_change(const laze_library_state *state, laze_tensor *tensor) {
  const laze_library_schema *schema = &state->op->schema;
  for (int32_t i = 0; i < schema->write_count; i++)
    if (base_of(state->bound[schema->writes[i]].value.tensor) == base_of(tensor)) return true;
  return false;
}

static laze_status check_arguments(const laze_library_state *state, const laze_library_inspection *before,
                                   laze_error *error) {
  for (int32_t i = 0; i < before->count; i++) {
    const laze_storage *storage = storage_of(before->tensors[i]);
    if (storage != before->storages[i]) return wrong(state, "released tensor", i, "it is the caller's", error);
    if (storage && laze_storage_version(storage) != before->versions[i] && !may_change(state, before->tensors[i]))
      return wrong(state, "changed tensor", i, "say so (\"Tensor(a!)\"), or leave it", error);
  }
  return LAZE_OK;
}

static laze_status check_fresh(const laze_library_state *state, const laze_library_inspection *before,
                               laze_tensor *result, int32_t index, laze_error *error) {
  for (int32_t i = 0; i < before->count; i++)
    if (base_of(before->tensors[i]) && base_of(result) == base_of(before->tensors[i]))
      return wrong(state, "gave memory of an argument as result", index,
                   "say so (\"Tensor(a)\" on both sides), or give a copy (laze_clone)", error);
  return LAZE_OK;
}

static laze_status check_result(const laze_library_state *state, const laze_library_inspection *before,
                                laze_tensor *result, int32_t index, laze_error *error) {
  const laze_library_schema *schema = &state->op->schema;
  const int32_t argument = schema->results[index];
  if (!storage_of(result)) return wrong(state, "gave no live tensor as result", index, "give one", error);
  if (argument >= 0) {
    if (result == state->bound[argument].value.tensor) return LAZE_OK;
    return wrong(state, "gave a new tensor as result", index, "give the argument that it is", error);
  }
  const bool shares = schema->is_view && index == 0 && !state->is_functional;
  if (!shares) return check_fresh(state, before, result, index, error);
  if (base_of(result) == base_of(state->bound[0].value.tensor)) return LAZE_OK;
  return wrong(state, "gave memory of its own as result", index, "give a view of the first argument", error);
}

laze_status laze_library_inspect_behind(const laze_library_state *state, const laze_library_inspection *before,
                                        laze_tensor *const *results, laze_error *error) {
  laze_lazy *lazy;
  LAZE_TRY(lock(state, &lazy, error));
  laze_status status = check_arguments(state, before, error);
  for (int32_t i = 0; i < state->op->schema.result_count && status == LAZE_OK; i++)
    status = check_result(state, before, results[i], i, error);
  laze_lazy_unlock(lazy);
  return status;
}
