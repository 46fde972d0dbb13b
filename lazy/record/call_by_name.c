/* Boxed calls: the operator is found by name and by what its arguments accept, or given by its number, then recorded
 * like any other. */
#include "base/float_control.h"
#include "ir/schema.h"
#include "laze/call.h"
#include "lazy/lazy.h"
#include "lazy/record/call_each.h"
#include "lazy/record/named_call.h"
#include "lazy/value/handle.h"
#include "lazy/value/pending.h"

#include <string.h>

static laze_lazy *lazy_of(const laze_argument *argument) {
  if (argument->kind == LAZE_PASS_TENSOR) return laze_handle_lazy(argument->value.tensor);
  laze_lazy *lazy = NULL;
  bool is_list = argument->kind == LAZE_PASS_TENSORS && argument->value.tensors;
  for (int32_t i = 0; is_list && i < argument->count && !lazy; i++) lazy = laze_handle_lazy(argument->value.tensors[i]);
  for (int32_t i = 0; argument->kind == LAZE_PASS_SIZES && argument->value.sizes && i < argument->count && !lazy; i++)
    lazy = laze_handle_lazy(argument->value.sizes[i].tensor);
  return lazy;
}

/* The lazy object of the first tensor, or else of the context. */
static laze_lazy *find_lazy(laze_context *context, const laze_named_call *given) {
  for (int32_t i = 0; i < given->count; i++) {
    laze_lazy *lazy = lazy_of(&given->arguments[i]);
    if (lazy) return lazy;
  }
  return laze_lazy_get(context);
}

static laze_tensor *fail_call(laze_lazy *lazy, const laze_named_call *given, laze_op op, laze_error *error) {
  if (op != LAZE_OP_NONE) laze_op_rename_error(error, given->called);
  if (given->location.file) (void)laze_error_prefix(error, "%s:%d", given->location.file, (int)given->location.line);
  laze_thread_state *thread = laze_lazy_lock(lazy);
  if (!thread) return laze_handle_out_of_memory();
  laze_tensor *handle = laze_handle_fail(thread, error);
  laze_lazy_unlock(lazy);
  return handle;
}

static int32_t record(const laze_named_frame *pack, const laze_named_call *given, laze_op op, laze_tensor **results) {
  laze_frame frame = {.context = pack->arena.context,
                      .called = given->called,
                      .op = op,
                      .operand_count = pack->operand_count,
                      .operands = pack->operands,
                      .segments = pack->segments,
                      .attributes = pack->attributes,
                      .sizes = pack->sizes,
                      .size_count = pack->size_count,
                      .location = given->location};
  return laze_frame_record(&frame, results);
}

static laze_status refuse_results(const laze_op_info *info, int32_t count, int32_t capacity, laze_error *error) {
  return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s gives %d results, but there is room for %d; give room for as many",
                   info->name, (int)count, (int)capacity);
}

/* Records a call whose results are counted only then. */
static int32_t record_counted(laze_lazy *lazy, const laze_named_frame *pack, const laze_named_call *given, laze_op op,
                              laze_tensor **results, int32_t capacity) {
  laze_tensor *found[LAZE_MAX_LISTED];
  laze_error error;
  int32_t count = record(pack, given, op, found);
  if (count > capacity) {
    (void)refuse_results(laze_op_get(op), count, capacity, &error);
    results[0] = fail_call(lazy, given, op, &error);
    return 1;
  }
  memcpy(results, found, (size_t)count * sizeof *results);
  return count;
}

/* Gives what was recorded to the destinations of a form. */
static int32_t give(const laze_named_call *given, laze_tensor **results, int32_t count) {
  laze_tensor *first = laze_results_give_at(given->form, given->called, given->destinations, results, count,
                                            given->location.file, given->location.line);
  const bool given_away = first == given->destinations[0];
  results[0] = first;
  for (int32_t i = 1; i < count && given_away; i++) results[i] = given->destinations[i];
  return given_away ? count : 1;
}

static int32_t call_by_name(laze_context *context, laze_named_call *given, laze_tensor **results, int32_t capacity) {
  laze_lazy *lazy = find_lazy(context, given);
  if (!lazy) {
    results[0] = laze_handle_out_of_memory();
    return 1;
  }
  laze_error error;
  laze_op op = LAZE_OP_NONE;
  laze_named_frame pack = {0};
  laze_arena_init(&pack.arena, lazy->context);
  laze_status status = given->op == LAZE_OP_NONE ? laze_named_call_form(given, &pack.arena, &error) : LAZE_OK;
  if (status == LAZE_OK) status = laze_named_call_match(given, &pack.arena, &op, &error);
  if (status == LAZE_OK) status = laze_named_call_check_form(given, op, &error);
  const laze_op_info *info = laze_op_get(op);
  if (status == LAZE_OK && info->result_count > capacity)
    status = refuse_results(info, info->result_count, capacity, &error);
  if (status == LAZE_OK) status = laze_named_call_pack(&pack, info, given, &error);
  int32_t count = 1;
  if (status != LAZE_OK)
    results[0] = fail_call(lazy, given, op, &error);
  else if (info->result_count < 0)
    count = record_counted(lazy, &pack, given, op, results, capacity);
  else
    count = record(&pack, given, op, results);
  if (status == LAZE_OK && given->form) count = give(given, results, count);
  laze_named_frame_end(&pack);
  return count;
}

static int32_t record_call(laze_context *context, laze_named_call *given, laze_tensor **results, int32_t capacity) {
  laze_float_control caller;
  laze_float_control_enter(&caller);
  int32_t count = call_by_name(context, given, results, capacity);
  laze_float_control_leave(&caller);
  return count;
}

int32_t laze_call_by_name_at(laze_context *context, const char *name, const laze_argument *arguments,
                             int32_t argument_count, laze_tensor **results, int32_t capacity, const char *file,
                             int32_t line) {
  if (capacity < 1 || !results) return 0;
  if (laze_calls_each(name)) {
    const laze_call_site site = {.name = name, .file = file, .line = line};
    return laze_call_each(context, &site, arguments, argument_count, results, capacity);
  }
  laze_named_call given = {.name = name,
                           .arguments = arguments,
                           .count = arguments ? argument_count : 0,
                           .location = {.file = file, .line = line}};
  return record_call(context, &given, results, capacity);
}

int32_t laze_call_by_name(laze_context *context, const char *name, const laze_argument *arguments,
                          int32_t argument_count, laze_tensor **results, int32_t capacity) {
  return laze_call_by_name_at(context, name, arguments, argument_count, results, capacity, NULL, 0);
}

static laze_tensor *refuse_number(laze_context *context, int32_t number, laze_location location) {
  const laze_named_call none = {.location = location};
  laze_lazy *lazy = laze_lazy_get(context);
  laze_error error;
  const laze_status status =
      laze_fail(&error, LAZE_NOT_FOUND,
                "laze_call_by_number: %d is the number of no operator; laze_operator_number() gives those there are",
                (int)number);
  return lazy && status != LAZE_OK ? fail_call(lazy, &none, LAZE_OP_NONE, &error) : laze_handle_out_of_memory();
}

int32_t laze_call_by_number_at(laze_context *context, int32_t number, const laze_argument *arguments,
                               int32_t argument_count, laze_tensor **results, int32_t capacity, const char *file,
                               int32_t line) {
  if (capacity < 1 || !results) return 0;
  const laze_location location = {.file = file, .line = line};
  const laze_operator *operator= laze_operator_at(number);
  if (!operator) {
    results[0] = refuse_number(context, number, location);
    return 1;
  }
  const char *name = laze_operator_name(operator);
  laze_named_call given = {.name = name,
                           .called = name,
                           .op = operator->op,
                           .arguments = arguments,
                           .count = arguments ? argument_count : 0,
                           .location = location};
  return record_call(context, &given, results, capacity);
}

int32_t laze_call_by_number(laze_context *context, int32_t number, const laze_argument *arguments,
                            int32_t argument_count, laze_tensor **results, int32_t capacity) {
  return laze_call_by_number_at(context, number, arguments, argument_count, results, capacity, NULL, 0);
}
