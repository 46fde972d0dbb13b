/* Calls by name over lists: "_foreach_mul" of [a, b] and [c, 2.5] is "mul" of a and c, and of b and 2.5. Each element
 * is a call of its own, with its own history: one that requires a gradient makes none of the others require one. What
 * they have in common, the scheduler finds. */
#include "lazy/record/call_each.h"

#include "base/arena.h"
#include "base/context.h"
#include "ir/op.h"
#include "laze/argument.h"
#include "lazy/lazy.h"
#include "lazy/value/handle.h"

#include <string.h>

static const char prefix[] = "_foreach_";

bool laze_calls_each(const char *name) {
  return name && strncmp(name, prefix, sizeof prefix - 1) == 0;
}

/* Whether calls of that name, "mul" or "mul_", are of operators that have a form in place: those of elements. */
static bool is_of_elements(const char *name) {
  for (laze_op op = LAZE_OP_NONE + 1; op < laze_op_count; op++) {
    const laze_op_info *info = laze_op_get(op);
    const char *const forms[] = {info->name, info->base, laze_op_in_place(info)};
    for (int i = 0; i < 3 && info->in_place; i++) {
      const size_t length = strlen(name);
      if (strcmp(forms[i], name) == 0) return true;
      if (i == 2 && strncmp(forms[i], name, length) == 0 && forms[i][length] == '.') return true;
    }
  }
  return false;
}

static bool is_list(const laze_argument *argument) {
  return argument->kind == LAZE_PASS_TENSORS || argument->kind == LAZE_PASS_REALS ||
         argument->kind == LAZE_PASS_INTEGERS;
}

static laze_status check(const char *name, const laze_argument *arguments, int32_t count, int32_t capacity,
                         laze_error *error) {
  if (!is_of_elements(name + sizeof prefix - 1))
    return laze_fail(error, LAZE_NOT_FOUND,
                     "%.64s: no operator of elements is called %.64s; call the one that is meant for each tensor", name,
                     name + sizeof prefix - 1);
  if (count < 1 || arguments[0].kind != LAZE_PASS_TENSORS || arguments[0].count < 1 || !arguments[0].value.tensors)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%.64s: the first argument is a list of one tensor or more", name);
  for (int32_t i = 1; i < count; i++)
    if (is_list(&arguments[i]) && arguments[i].count != arguments[0].count)
      return laze_fail(error, LAZE_INVALID_ARGUMENT,
                       "%.64s: argument %d is a list of %d and the first of %d; lists are equally long", name, (int)i,
                       (int)arguments[i].count, (int)arguments[0].count);
  if (arguments[0].count <= capacity) return LAZE_OK;
  return laze_fail(error, LAZE_INVALID_ARGUMENT, "%.64s gives %d results, but there is room for %d", name,
                   (int)arguments[0].count, (int)capacity);
}

/* An argument of the call for one element. */
static laze_argument pick(const laze_argument *argument, int32_t index) {
  laze_argument one = {.name = argument->name};
  if (!is_list(argument)) return *argument;
  if (argument->kind == LAZE_PASS_TENSORS) {
    one.kind = LAZE_PASS_TENSOR;
    one.value.tensor = argument->value.tensors[index];
  } else {
    one.kind = LAZE_PASS_SCALAR;
    one.value.scalar = argument->kind == LAZE_PASS_REALS ? laze_scalar_real(argument->value.reals[index])
                                                         : laze_scalar_integer(argument->value.integers[index]);
  }
  return one;
}

static int32_t fail(laze_context *context, const laze_call_site *site, laze_error *error, laze_tensor **results) {
  laze_lazy *lazy = laze_lazy_get(context);
  laze_thread_state *thread = lazy ? laze_lazy_lock(lazy) : NULL;
  results[0] = laze_handle_out_of_memory();
  if (!thread) return 1;
  if (site->file) (void)laze_error_prefix(error, "%s:%d", site->file, (int)site->line);
  results[0] = laze_handle_fail(thread, error);
  laze_lazy_unlock(lazy);
  return 1;
}

int32_t laze_call_each(laze_context *context, const laze_call_site *site, const laze_argument *arguments, int32_t count,
                       laze_tensor **results, int32_t capacity) {
  laze_error error;
  laze_status status = check(site->name, arguments, arguments ? count : 0, capacity, &error);
  if (!context && status == LAZE_OK) {
    const laze_lazy *own = laze_handle_lazy(arguments[0].value.tensors[0]);
    context = own ? own->context : laze_context_default();
  }
  laze_argument *own = status == LAZE_OK ? laze_alloc_array(context, count, sizeof *own) : NULL;
  if (status == LAZE_OK && !own) status = laze_fail_memory(&error, "the arguments of a call", count);
  for (int32_t i = 0; status == LAZE_OK && i < arguments[0].count; i++) {
    for (int32_t k = 0; k < count; k++) own[k] = pick(&arguments[k], i);
    (void)laze_call_by_name_at(context, site->name + sizeof prefix - 1, own, count, &results[i], 1, site->file,
                               site->line);
  }
  if (own) laze_free(context, own);
  return status == LAZE_OK ? arguments[0].count : fail(context, site, &error, results);
}
