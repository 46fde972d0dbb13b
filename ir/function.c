/* What a function's sizes are where it is called:
 *
 *   function @f(%x: f32[n,m], %w: f32[m])          %0 = call @f %a, %b        with f32[8,k*2] and f32[k*2]
 *
 *   n = 8, m = k*2       from the first operand whose axis is the symbol alone
 *   m = k*2              asked of the second: equal, as a fact of the caller
 *   m != 1               asked when @f was made: asked again of k*2, and must be answered alike
 */
#include "ir/module_internal.h"

#include "ir/control.h"
#include "ir/graph_internal.h"

#include <string.h>

/* Sizes are numbers from 0 on, or words of expressions. What nodes of a function define stays unknown. */
#define UNKNOWN LAZE_SIZE_CONSTANT_MIN

typedef struct {
  const laze_graph *function, *caller;
  const laze_value *operands;
  laze_size *map;
} binder;

static const laze_node *parameter(const binder *self, int64_t index) {
  return &self->function->nodes[self->function->body->parameters[index]];
}

static laze_status mismatch(const binder *self, int32_t index, laze_error *error) {
  char given[256], wanted[256];
  const laze_type *type = laze_graph_type(self->caller, self->operands[index]);
  return laze_fail(error, LAZE_INVALID_ARGUMENT, "call: operand %d is %s, but parameter %%%s of @%s is %s", (int)index,
                   laze_type_format(self->caller->sizes, type, given, sizeof given), parameter(self, index)->name,
                   self->function->name,
                   laze_type_format(self->function->sizes, parameter(self, index)->types[0], wanted, sizeof wanted));
}

static laze_status ask(const binder *self, int32_t index, laze_size given, laze_size wanted, laze_error *error) {
  bool equal;
  LAZE_TRY(laze_size_ask_equal(self->caller->sizes, given, wanted, &equal, error));
  return equal ? LAZE_OK : mismatch(self, index, error);
}

/* Symbols that are an axis. */
static laze_status bind_symbols(const binder *self, int32_t index, laze_error *error) {
  const laze_type *given = laze_graph_type(self->caller, self->operands[index]);
  const laze_type *wanted = parameter(self, index)->types[0];
  if (given->kind != wanted->kind || given->dtype != wanted->dtype || given->rank != wanted->rank)
    return mismatch(self, index, error);
  for (int axis = 0; axis < wanted->rank; axis++) {
    if (laze_size_is_constant(wanted->sizes[axis])) continue;
    const laze_size_node *size = laze_size_get(self->function->sizes, wanted->sizes[axis]);
    if (size->kind == LAZE_SIZE_SYMBOL && self->map[size->symbol] == UNKNOWN)
      self->map[size->symbol] = given->sizes[axis];
  }
  return LAZE_OK;
}

static laze_status map_size(const laze_graph *function, laze_size_table *table, const laze_size *map, laze_size *size,
                            laze_error *error) {
  if (laze_size_is_constant(*size)) return LAZE_OK;
  return laze_size_import(table, function->sizes, *size, map, size, error);
}

static laze_status check_sizes(const binder *self, int32_t index, laze_error *error) {
  const laze_type *given = laze_graph_type(self->caller, self->operands[index]);
  laze_type wanted = *parameter(self, index)->types[0];
  LAZE_TRY(laze_function_map_type(self->function, self->caller->sizes, self->map, &wanted, error));
  for (int axis = 0; axis < wanted.rank; axis++)
    LAZE_TRY(ask(self, index, given->sizes[axis], wanted.sizes[axis], error));
  return LAZE_OK;
}

static laze_status refuse_fact(const binder *self, const laze_fact *fact, laze_error *error) {
  laze_text text, values;
  laze_text_init(&text, self->caller->context);
  laze_text_init(&values, self->caller->context);
  laze_fact_print(&text, self->function->sizes, fact);
  for (int64_t i = 0; i < laze_size_symbol_count(self->function->sizes); i++) {
    if (self->map[i] == UNKNOWN) continue;
    laze_text_format(&values, "%s%s=", values.size ? ", " : "", laze_size_symbol_name(self->function->sizes, i));
    laze_size_print(&values, self->caller->sizes, self->map[i]);
  }
  laze_status status = laze_fail(error, LAZE_INVALID_ARGUMENT,
                                 "call: the types of @%s hold where %s, which this call with %s contradicts; write a "
                                 "function for these sizes",
                                 self->function->name, laze_text_get(&text), laze_text_get(&values));
  laze_text_deinit(&text);
  laze_text_deinit(&values);
  return status;
}

static laze_status check_facts(const binder *self, laze_error *error) {
  int64_t count;
  const laze_fact *facts = laze_size_facts(self->function->sizes, &count);
  for (int64_t i = 0; i < count; i++) {
    laze_fact fact = facts[i];
    bool holds;
    if (laze_fact_is_defined(self->function->sizes, &fact)) continue; /* inlining asks it */
    LAZE_TRY(map_size(self->function, self->caller->sizes, self->map, &fact.a, error));
    LAZE_TRY(map_size(self->function, self->caller->sizes, self->map, &fact.b, error));
    LAZE_TRY(laze_size_ask(self->caller->sizes, fact, &holds, error));
    if (holds != fact.holds) return refuse_fact(self, &facts[i], error);
  }
  return LAZE_OK;
}

laze_status laze_function_bind(const laze_graph *function, const laze_graph *caller, const laze_value *operands,
                               int32_t count, laze_arena *arena, laze_size **map, laze_error *error) {
  int64_t symbols = laze_size_symbol_count(function->sizes);
  binder self = {function, caller, operands, laze_arena_alloc_array(arena, symbols, sizeof(laze_size))};
  *map = self.map;
  if (!self.map) return laze_fail_memory(error, "the sizes of a call", -1);
  for (int64_t i = 0; i < symbols; i++) self.map[i] = UNKNOWN;
  if (count != function->body->parameter_count)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "call: @%s takes %lld values, given %lld", function->name,
                     (long long)function->body->parameter_count, (long long)count);
  for (int32_t i = 0; i < count; i++) LAZE_TRY(bind_symbols(&self, i, error));
  for (int64_t i = 0; i < symbols; i++)
    if (self.map[i] == UNKNOWN && !laze_size_is_defined(function->sizes, laze_size_symbol_at(function->sizes, i)))
      return laze_fail(error, LAZE_INVALID_ARGUMENT,
                       "call: no parameter of @%s says what its size %s is; one needs it as an axis", function->name,
                       laze_size_symbol_name(function->sizes, i));
  for (int32_t i = 0; i < count; i++) LAZE_TRY(check_sizes(&self, i, error));
  return check_facts(&self, error);
}

laze_status laze_function_map_type(const laze_graph *function, laze_size_table *table, const laze_size *map,
                                   laze_type *type, laze_error *error) {
  for (int axis = 0; axis < type->rank; axis++) LAZE_TRY(map_size(function, table, map, &type->sizes[axis], error));
  return LAZE_OK;
}

/* A call is typed by its operands: a size that is found inside, while it runs, would have no name outside. */
static laze_status check_result(const laze_graph *function, int64_t index, laze_error *error) {
  const laze_type *type = laze_graph_type(function, function->body->results[index]);
  char text[256];
  for (int axis = 0; axis < type->rank; axis++)
    if (laze_size_is_defined(function->sizes, type->sizes[axis]))
      return laze_fail(error, LAZE_UNSUPPORTED,
                       "call: result %lld of @%s is %s, whose axis %d has a size that a value in it gives; return "
                       "that value, and take the size from it outside",
                       (long long)index, function->name, laze_type_format(function->sizes, type, text, sizeof text),
                       axis);
  return LAZE_OK;
}

laze_status laze_function_infer(const laze_graph *function, const laze_graph *caller, const laze_call *call,
                                laze_arena *arena, const laze_type *const **types, laze_error *error) {
  const laze_block *body = function->body;
  laze_size *map;
  if (body->result_count < 1)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "call: @%s returns nothing, so that calling it does nothing",
                     function->name);
  LAZE_TRY(laze_function_bind(function, caller, call->operands, call->operand_count, arena, &map, error));
  const laze_type **pointers = laze_arena_alloc_array(arena, body->result_count, sizeof *pointers);
  laze_type *mapped = laze_arena_alloc_array(arena, body->result_count, sizeof *mapped);
  if (!pointers || !mapped) return laze_fail_memory(error, "the types of a call", -1);
  for (int64_t i = 0; i < body->result_count; i++) {
    LAZE_TRY(check_result(function, i, error));
    mapped[i] = *laze_graph_type(function, body->results[i]);
    LAZE_TRY(laze_function_map_type(function, caller->sizes, map, &mapped[i], error));
    pointers[i] = &mapped[i];
  }
  *types = pointers;
  return LAZE_OK;
}

laze_status laze_module_append_call(laze_graph *graph, laze_block *block, const laze_graph *function,
                                    const laze_call *call, laze_value *first_result, laze_error *error) {
  const laze_type *const *types;
  if (!function->is_function)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "call: @%s is a graph; only functions are called", function->name);
  if (function->module != graph->module || function->module_index >= graph->module_index)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "call: @%s does not come before @%s in one module", function->name,
                     graph->name);
  LAZE_TRY(laze_function_infer(function, graph, call, &graph->arena, &types, error));
  return laze_graph_append_typed(graph, block, call, types, (int32_t)function->body->result_count, first_result, error);
}
