/* Calls of operators by name, in a graph:
 *
 *   passed     %x, [0], keepdim=true             values, and what ir/argument.h has
 *   schema     self, dim, keepdim, dtype         of the operator that fits best
 *   recorded   %0 = sum.dim_IntList %x, ...      by the builder: a node, or what it consists of
 */
#include "laze/graph.h"

#include "base/float_control.h"
#include "ir/argument.h"
#include "ir/builder.h"
#include "ir/call_resolve.h"
#include "ir/graph.h"
#include "ir/schema.h"

#include <string.h>

/* A call on its way. */
typedef struct {
  laze_graph *graph;
  const laze_graph_call *given;
  const char *name;                                    /* what the caller wrote, or what has the number */
  const laze_argument *by_schema[LAZE_MOST_ARGUMENTS]; /* what is passed for each argument; NULL: nothing */
  laze_builder builder;
  laze_arena arena;
  laze_call call;
} graph_call;

static bool is_value(const laze_graph *graph, laze_value value) {
  return value.node >= 0 && value.node < graph->node_count && value.result >= 0 &&
         value.result < graph->nodes[value.node].result_count && laze_graph_type(graph, value)->kind != LAZE_TYPE_NONE;
}

/* --- Which operator --- */

static laze_passed_kind kind_of(const laze_argument *argument) {
  if (argument->kind == LAZE_PASS_VALUE) return LAZE_PASSED_TENSOR;
  if (argument->kind != LAZE_PASS_VALUES) return laze_argument_passed(argument);
  if (argument->count < 0 || (argument->count > 0 && !argument->value.values)) return LAZE_PASSED_OTHER;
  for (int32_t i = 0; i < argument->count; i++)
    if (laze_value_is_none(argument->value.values[i])) return LAZE_PASSED_OPTIONAL_LIST;
  return argument->count == 0 ? LAZE_PASSED_EMPTY_LIST : LAZE_PASSED_TENSOR_LIST;
}

/* Whether values are such of the graph; those without dimensions may stand for a Scalar. */
static laze_status check_values(const graph_call *self, laze_passed *passed, laze_error *error) {
  for (int32_t i = 0; i < self->given->argument_count; i++) {
    const laze_argument *argument = &self->given->arguments[i];
    const bool is_list = passed[i].kind == LAZE_PASSED_TENSOR_LIST || passed[i].kind == LAZE_PASSED_OPTIONAL_LIST;
    if (!is_list && argument->kind != LAZE_PASS_VALUE) continue;
    const laze_value *values = is_list ? argument->value.values : &argument->value.value;
    for (int32_t k = 0; k < (is_list ? argument->count : 1); k++) {
      if (is_list && laze_value_is_none(values[k])) continue;
      if (!is_value(self->graph, values[k]))
        return laze_fail(error, LAZE_INVALID_ARGUMENT, "%.64s: argument %d is (%d, %d), which is no value of graph %s",
                         self->name, (int)i, (int)values[k].node, (int)values[k].result, self->graph->name);
    }
    if (!is_list && laze_graph_type(self->graph, *values)->rank == 0) passed[i].kind = LAZE_PASSED_SCALAR_TENSOR;
  }
  return LAZE_OK;
}

static const char function_name[] = "laze_graph_record_call";

/* Parameters, constants and what has regions are made in other ways. */
static laze_status check_operator(const laze_op_info *info, laze_error *error) {
  bool other = info->op_class == LAZE_CLASS_STRUCTURE || info->op_class == LAZE_CLASS_CONTROL;
  for (int32_t i = 0; i < info->argument_count; i++) other |= info->arguments[i].kind == LAZE_ARGUMENT_DATA;
  if (!other) return LAZE_OK;
  return laze_fail(
      error, LAZE_UNSUPPORTED,
      "%s cannot be recorded by a call; laze_graph_parse() reads it as text, and laze_graph_add_input() and "
      "laze_graph_add_constant() make inputs and constants",
      info->name);
}

static laze_status resolve(graph_call *self, laze_error *error) {
  laze_passed passed[LAZE_MOST_ARGUMENTS];
  const laze_graph_call *given = self->given;
  LAZE_TRY(
      laze_arguments_list(function_name, self->name, given->arguments, given->argument_count, kind_of, passed, error));
  LAZE_TRY(check_values(self, passed, error));
  const laze_overload_call call = {.name = self->name,
                                   .positions = LAZE_POSITIONS_ALL,
                                   .passed = passed,
                                   .count = given->argument_count,
                                   .numbers_follow = true};
  if (given->op) self->call.op = given->op->op;
  LAZE_TRY(given->op ? laze_call_fit(&call, self->call.op, error) : laze_call_resolve(&call, &self->call.op, error));
  const laze_op_info *info = laze_op_get(self->call.op);
  for (int32_t i = 0; i < given->argument_count; i++)
    if (passed[i].kind != LAZE_PASSED_LEFT_OUT) self->by_schema[passed[i].argument] = &given->arguments[i];
  return check_operator(info, error);
}

/* --- What is passed --- */

static laze_promotion promotion_of(const graph_call *self) {
  laze_promotion promotion = {0};
  for (int32_t i = 0; i < self->given->argument_count; i++) {
    const laze_argument *argument = &self->given->arguments[i];
    const bool is_list = argument->kind == LAZE_PASS_VALUES;
    const laze_value *values = is_list ? argument->value.values : &argument->value.value;
    for (int32_t k = 0; (is_list || argument->kind == LAZE_PASS_VALUE) && k < (is_list ? argument->count : 1); k++)
      if (!laze_value_is_none(values[k]))
        laze_promotion_add(&promotion, laze_graph_type(self->graph, values[k]), false);
  }
  return promotion;
}

/* A number where a value is wanted becomes a constant. One for a Scalar keeps its dtype, which promotes as a plain
 * number's. */
static laze_status record_number(graph_call *self, const laze_argument_info *info, const laze_argument *argument,
                                 laze_value *out, laze_error *error) {
  const laze_scalar scalar = laze_argument_scalar(argument);
  const laze_promotion beside = promotion_of(self);
  const laze_dtype dtype =
      info->kind == LAZE_ARGUMENT_TENSOR ? laze_call_number_dtype(scalar.dtype, &beside) : scalar.dtype;
  return laze_record_number(&self->builder.recorder, dtype, scalar, out, error);
}

/* The operands of one argument, behind those before it. */
static laze_status pack_operand(graph_call *self, const laze_argument_info *info, const laze_argument *argument,
                                laze_value *operands, int32_t *segment, laze_error *error) {
  *segment = -1;
  if (!argument || argument->kind == LAZE_PASS_NONE) return LAZE_OK;
  if (laze_argument_is_operands(info->kind)) {
    *segment = argument->kind == LAZE_PASS_VALUES ? argument->count : 0; /* another empty list */
    for (int32_t i = 0; i < *segment; i++) operands[i] = argument->value.values[i];
    return LAZE_OK;
  }
  *segment = 1;
  if (argument->kind == LAZE_PASS_VALUE) {
    *operands = argument->value.value;
    return LAZE_OK;
  }
  return record_number(self, info, argument, operands, error);
}

static laze_status pack(graph_call *self, laze_error *error) {
  const laze_op_info *info = laze_op_get(self->call.op);
  int64_t room = info->argument_count;
  for (int32_t i = 0; i < self->given->argument_count; i++)
    if (self->given->arguments[i].kind == LAZE_PASS_VALUES) room += self->given->arguments[i].count;
  laze_value *operands = laze_arena_alloc_array(&self->arena, room, sizeof *operands);
  int32_t *segments = laze_arena_alloc_array(&self->arena, info->segment_count, sizeof *segments);
  laze_attribute *attributes = laze_arena_alloc_array(&self->arena, info->attribute_count, sizeof *attributes);
  if (!operands || !segments || !attributes) return laze_fail_memory(error, info->name, -1);
  for (int32_t i = 0; i < info->argument_count; i++) {
    const laze_argument_info *argument = &info->arguments[i];
    laze_status status;
    if (laze_argument_is_operand(argument->kind)) {
      int32_t *segment = &segments[argument->position];
      status = pack_operand(self, argument, self->by_schema[i], operands + self->call.operand_count, segment, error);
      if (*segment > 0) self->call.operand_count += *segment;
    } else {
      status = laze_argument_pack(&self->arena, self->graph->sizes, argument, self->by_schema[i],
                                  &attributes[argument->position], error);
    }
    if (status != LAZE_OK) return laze_error_prefix(error, "%s", info->name);
  }
  self->call.operands = operands;
  self->call.segments = segments;
  self->call.attributes = attributes;
  return LAZE_OK;
}

/* --- Recording --- */

/* What nodes refer to lives in the graph. */
static laze_status place(graph_call *self, laze_error *error) {
  const laze_graph_call *given = self->given;
  if (given->label) self->call.name = laze_arena_copy_string(&self->graph->arena, given->label);
  if (given->file)
    self->call.location =
        (laze_location){.file = laze_arena_copy_string(&self->graph->arena, given->file), .line = given->line};
  const bool failed = (given->label && !self->call.name) || (given->file && !self->call.location.file);
  return failed ? laze_fail_memory(error, "where a call stands", -1) : LAZE_OK;
}

/* How many results the call, recorded, has. */
static int32_t count_results(const graph_call *self, const laze_value *values) {
  const laze_op_info *info = laze_op_get(self->call.op);
  if (info->result_count >= 0) return info->result_count;
  return laze_op_lists_results(info) ? laze_count_listed(values) : laze_call_result_count(&self->call);
}

static laze_status record(graph_call *self, laze_value *results, int32_t capacity, int32_t *count, laze_error *error) {
  LAZE_TRY(resolve(self, error));
  LAZE_TRY(pack(self, error));
  LAZE_TRY(place(self, error));
  laze_value *values = laze_arena_alloc_array(&self->arena, LAZE_MAX_LISTED + 1, sizeof *values);
  if (!values) return laze_fail_memory(error, "the results of a call", -1);
  laze_recorder *recorder = &self->builder.recorder;
  LAZE_TRY(recorder->record(recorder, &self->call, values, error));
  *count = count_results(self, values);
  if (*count > capacity)
    return laze_fail(error, LAZE_INVALID_ARGUMENT,
                     "%s gives %d results, but there is room for %d; give room for as many",
                     laze_op_get(self->call.op)->name, (int)*count, (int)capacity);
  memcpy(results, values, (size_t)*count * sizeof *values);
  return LAZE_OK;
}

/* Refusals name what the caller wrote, and where. */
static laze_status say_where(const graph_call *self, laze_error *error) {
  const laze_graph_call *given = self->given;
  if (self->call.op != LAZE_OP_NONE) laze_op_rename_error(error, laze_op_get(self->call.op)->name);
  if (given->label) (void)laze_error_prefix(error, "\"%s\"", given->label);
  if (given->file && given->line > 0) return laze_error_prefix(error, "%s:%d", given->file, (int)given->line);
  if (given->file) return laze_error_prefix(error, "%s", given->file);
  const size_t length = sizeof function_name - 1; /* what lists arguments has said it already */
  if (error && strncmp(error->message, function_name, length) == 0) return error->code;
  return laze_error_prefix(error, "%s", function_name);
}

laze_status laze_graph_record_call(laze_graph *graph, const laze_graph_call *call, laze_value *results,
                                   int32_t capacity, int32_t *count, laze_error *error) {
  int32_t unwanted;
  if (!graph || !call || !results || (call->argument_count > 0 && !call->arguments))
    return laze_fail(error, LAZE_INVALID_ARGUMENT,
                     "laze_graph_record_call: graph, call, its arguments and results must not be NULL");
  if (call->struct_size < sizeof *call)
    return laze_fail(error, LAZE_INVALID_ARGUMENT,
                     "laze_graph_record_call: struct_size is %zu; set it to sizeof(laze_graph_call)",
                     call->struct_size);
  graph_call self = {.graph = graph, .given = call, .name = call->op ? laze_operator_name(call->op) : call->name};
  laze_builder_init(&self.builder, graph, graph->body);
  laze_arena_init(&self.arena, graph->context);
  laze_float_control caller;
  laze_float_control_enter(&caller); /* expansions compute with the numbers they are given */
  laze_status status = record(&self, results, capacity, count ? count : &unwanted, error);
  laze_float_control_leave(&caller);
  laze_arena_deinit(&self.arena);
  return status == LAZE_OK ? LAZE_OK : say_where(&self, error);
}

laze_status laze_graph_record(laze_graph *graph, const char *name, laze_values operands, laze_value *result,
                              laze_error *error) {
  laze_argument arguments[LAZE_MOST_ARGUMENTS];
  if (!graph || !result)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "laze_graph_record: graph and result must not be NULL");
  if (operands.count < 0 || operands.count > LAZE_MOST_ARGUMENTS || (operands.count > 0 && !operands.items))
    return laze_fail(error, LAZE_INVALID_ARGUMENT,
                     "laze_graph_record: %d operands at %p are no list of at most %d; use LAZE_VALUES",
                     (int)operands.count, (const void *)operands.items, LAZE_MOST_ARGUMENTS);
  for (int32_t i = 0; i < operands.count; i++)
    arguments[i] = (laze_argument){.kind = LAZE_PASS_VALUE, .value.value = operands.items[i]};
  const laze_graph_call call = {
      .struct_size = sizeof call, .name = name, .arguments = arguments, .argument_count = operands.count};
  return laze_graph_record_call(graph, &call, result, 1, NULL, error);
}
