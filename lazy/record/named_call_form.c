/* Names of forms: which operator one is of, and which tensors get the results.
 *
 *   add_, add_.Tensor          add, add.Tensor, whose result goes to `self`
 *   add.out, add.Tensor_out    add, add.Tensor, whose result goes to the argument `out`, which makes a call of any name
 *                              such a form: add(x, y, out=z)
 */
#include "lazy/record/named_call.h"

#include "ir/op.gen.h"
#include "laze/call.h"

#include <string.h>

static bool is_operator(const char *name) {
  int32_t count;
  (void)laze_op_overloads(name, &count);
  return count > 0 || laze_op_find(name) != LAZE_OP_NONE;
}

/* Whether `form`, "add_.Tensor", is called `name`: so, or "add_". */
static bool is_called(const char *form, const char *name) {
  const size_t length = strlen(name);
  return strncmp(form, name, length) == 0 && (form[length] == 0 || (form[length] == '.' && strchr(name, '.') == NULL));
}

/* The operator whose form in place has the name; where several have, the base name of these. NULL: none has. */
static const char *find_in_place(const char *name) {
  const laze_op_info *found = NULL;
  for (laze_op op = LAZE_OP_NONE + 1; op < laze_op_count; op++) {
    const laze_op_info *info = laze_op_get(op);
    if (!info->in_place || !is_called(laze_op_in_place(info), name)) continue;
    if (found) return found->base;
    found = info;
  }
  return found ? found->name : NULL;
}

/* "add" of "add.out", "add.Tensor" of "add.Tensor_out", in the arena; NULL: no such operator, or no memory. */
static const char *without_out(const char *name, laze_arena *arena) {
  const size_t length = strlen(name);
  const bool is_out = length > 4 && (strcmp(name + length - 4, ".out") == 0 || strcmp(name + length - 4, "_out") == 0);
  char *copy = is_out && strchr(name, '.') ? laze_arena_alloc(arena, (int64_t)length) : NULL;
  if (!copy) return NULL;
  memcpy(copy, name, length - 4);
  copy[length - 4] = 0;
  return is_operator(copy) ? copy : NULL;
}

static bool is_out(const laze_argument *argument) {
  return argument->name && strcmp(argument->name, "out") == 0;
}

/* Takes the argument `out` away from the others. */
static laze_status take_out(laze_named_call *given, laze_arena *arena, laze_error *error) {
  const laze_argument *all = given->arguments;
  const int32_t count = given->count;
  laze_argument *others = laze_arena_alloc_array(arena, count, sizeof *others);
  if (!others) return laze_fail_memory(error, "the arguments of a call", -1);
  given->arguments = others;
  given->count = 0;
  for (int32_t i = 0; i < count; i++)
    if (!is_out(&all[i])) others[given->count++] = all[i];
  return LAZE_OK;
}

/* The tensors of `out`: one, or a list. */
static laze_status find_destinations(laze_named_call *given, const laze_argument *out, laze_error *error) {
  if (out->kind == LAZE_PASS_DEFAULT || out->kind == LAZE_PASS_NONE) return LAZE_OK;
  given->form = LAZE_OUT;
  given->destinations = out->kind == LAZE_PASS_TENSORS ? out->value.tensors : &out->value.tensor;
  given->destination_count = out->kind == LAZE_PASS_TENSORS ? out->count : 1;
  if (out->kind == LAZE_PASS_TENSOR || (out->kind == LAZE_PASS_TENSORS && out->count > 0 && out->value.tensors))
    return LAZE_OK;
  return laze_fail(error, LAZE_INVALID_ARGUMENT, "%.64s: argument 'out' is no tensor, and no list of tensors",
                   given->called);
}

laze_status laze_named_call_form(laze_named_call *given, laze_arena *arena, laze_error *error) {
  const laze_argument *out = NULL;
  given->called = given->name;
  for (int32_t i = 0; i < given->count && !out; i++) out = is_out(&given->arguments[i]) ? &given->arguments[i] : NULL;
  if (out) LAZE_TRY(find_destinations(given, out, error));
  if (out) LAZE_TRY(take_out(given, arena, error));
  if (!given->name || is_operator(given->name)) return LAZE_OK;
  const char *name = find_in_place(given->name);
  if (name && given->form == LAZE_OUT)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%.64s: it changes its tensor and has no argument 'out'",
                     given->called);
  if (name) given->form = LAZE_IN_PLACE;
  if (!name) name = without_out(given->name, arena);
  if (name) given->name = name;
  if (name && !given->form)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%.64s: argument 'out' is missing; pass the tensor for the result",
                     given->called);
  return LAZE_OK;
}

laze_status laze_named_call_check_form(laze_named_call *given, laze_op op, laze_error *error) {
  const laze_op_info *info = laze_op_get(op);
  if (given->form == LAZE_OUT && info->result_count != given->destination_count) {
    if (info->result_count < 1)
      return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s gives a list of results, for which there is no out",
                       info->name);
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s gives %d results, but 'out' has %d tensors; give as many",
                     info->name, (int)info->result_count, (int)given->destination_count);
  }
  if (given->form != LAZE_IN_PLACE) return LAZE_OK;
  if (!info->in_place)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%.64s: with these arguments it is %s, which has no form in place",
                     given->called, info->name);
  const int32_t target = laze_op_target(info);
  const laze_argument *argument = given->by_schema[target];
  if (!argument || argument->kind != LAZE_PASS_TENSOR)
    return laze_fail(error, LAZE_INVALID_ARGUMENT,
                     "%.64s: argument '%s' is the tensor that changes, and was given "
                     "something else",
                     given->called, info->arguments[target].name);
  given->destinations = &argument->value.tensor;
  given->destination_count = 1;
  return LAZE_OK;
}
