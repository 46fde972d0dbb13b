/* Makes a graph generic in its sizes: constants become symbols, and every node is inferred anew.
 *
 *   graph @g(%x: f32[32,784]) -> f32[32] {        sizes s0=32, s1=784
 *     %0 = sum %x, dim=[1] : f32[32]       =>     graph @g(%x: f32[s0,s1]) -> f32[s0] {
 *     return %0                                     %0 = sum %x, dim=[1] : f32[s0]
 *   }                                               ...
 *
 * Sizes that values define (ir/defined_size.h) are symbols already and stay. Equal values get symbols of their own:
 * whether two are equal is asked, and recorded, where a rule needs to know.
 */
#include "ir/attribute.h"
#include "ir/control.h"
#include "ir/defined_size.h"
#include "ir/op.gen.h"
#include "ir/rewrite.h"

#include <stdio.h>
#include <string.h>

typedef struct {
  int64_t *values; /* of the symbols so far; -1 for defined ones */
  int64_t count, capacity;
  int64_t next_name;
  const laze_type *checked_source, *checked_target; /* the last pair of types found to agree */
} symboliser;

static laze_status add_symbol(laze_rewrite *rewrite, symboliser *state, bool listed, laze_size *size,
                              laze_error *error) {
  char name[32];
  if (!laze_size_is_symbolised(*size, listed)) return LAZE_OK;
  LAZE_TRY(laze_grow(rewrite->source->context, (void **)&state->values, &state->capacity, state->count + 1,
                     sizeof *state->values, error));
  do snprintf(name, sizeof name, "s%lld", (long long)state->next_name++);
  while (laze_size_find_symbol(rewrite->target->sizes, name) != 0);
  int64_t value = *size;
  LAZE_TRY(laze_size_symbol(rewrite->target->sizes, name, size, error));
  LAZE_TRY(laze_size_set_hint(rewrite->target->sizes, state->count, value, error));
  state->values[state->count++] = value;
  return LAZE_OK;
}

/* Counts the symbols that a node defines, which the rewrite has made. */
static laze_status add_defined(laze_rewrite *rewrite, void *self, int32_t count, laze_error *error) {
  symboliser *state = self;
  LAZE_TRY(laze_grow(rewrite->source->context, (void **)&state->values, &state->capacity, state->count + count,
                     sizeof *state->values, error));
  for (int32_t i = 0; i < count; i++) state->values[state->count++] = -1;
  return LAZE_OK;
}

static laze_status map_parameter(laze_rewrite *rewrite, void *self, int32_t index, laze_type *type, laze_error *error) {
  int32_t owner = laze_walk_owner(&rewrite->walk);
  for (int i = 0; owner < 0 && i < type->rank; i++) LAZE_TRY(add_symbol(rewrite, self, false, &type->sizes[i], error));
  if (owner < 0) return LAZE_OK;
  const laze_node *node = &rewrite->source->nodes[owner];
  bool sliced;
  int32_t operand = laze_control_parameter_operand(node, index, &sliced);
  if (operand < 0 || operand >= node->operand_count) return LAZE_OK;
  *type = *laze_graph_type(rewrite->target, laze_rewrite_value(rewrite, node->operands[operand]));
  if (sliced) memmove(type->sizes, type->sizes + 1, (size_t)--type->rank * sizeof *type->sizes);
  return LAZE_OK;
}

static bool has_data(const laze_node *node, int32_t count) {
  for (int32_t i = 0; i < count; i++)
    if (node->attributes[i].kind == LAZE_ARGUMENT_DATA) return true;
  return false;
}

/* The attributes with symbols for sizes; the lists are copied to the target's arena. */
static laze_status map_attributes(laze_rewrite *rewrite, symboliser *state, const laze_node *node, laze_call *call,
                                  laze_error *error) {
  int32_t count = laze_op_get(node->op)->attribute_count;
  if (count == 0 || has_data(node, count)) return LAZE_OK;
  laze_arena *arena = &rewrite->target->arena;
  laze_attribute *attributes = laze_arena_copy(arena, call->attributes, count * (int64_t)sizeof *attributes);
  if (!attributes) return laze_fail_memory(error, "attributes", -1);
  for (int32_t i = 0; i < count; i++) {
    bool listed = attributes[i].kind == LAZE_ARGUMENT_SIZE_LIST;
    laze_size *sizes;
    int32_t size_count;
    LAZE_TRY(laze_attribute_own_sizes(&attributes[i], arena, &sizes, &size_count, error));
    for (int32_t k = 0; k < size_count; k++) LAZE_TRY(add_symbol(rewrite, state, listed, &sizes[k], error));
  }
  call->attributes = attributes;
  return LAZE_OK;
}

/* The symbolic type must have the original sizes at the symbols' values. */
static laze_status check_type(laze_rewrite *rewrite, symboliser *state, const laze_node *node, const laze_type *type,
                              const laze_type *symbolic, laze_error *error) {
  if (type == state->checked_source && symbolic == state->checked_target) return LAZE_OK;
  bool agree = type->kind == symbolic->kind && type->dtype == symbolic->dtype && type->rank == symbolic->rank;
  for (int i = 0; agree && i < type->rank; i++) {
    int64_t value = symbolic->sizes[i];
    if (laze_size_is_defined(rewrite->target->sizes, value)) continue; /* the run knows */
    if (!laze_size_is_constant(value))
      LAZE_TRY(laze_size_evaluate(rewrite->target->sizes, symbolic->sizes[i], state->values, &value, error));
    agree = value == type->sizes[i];
  }
  state->checked_source = type;
  state->checked_target = symbolic;
  if (agree) return LAZE_OK;
  char before[200], after[200];
  return laze_fail(error, LAZE_INTERNAL, "%s: with symbols its type is %s, which is not %s; its shape rule is at fault",
                   laze_op_get(node->op)->name, laze_type_format(rewrite->target->sizes, symbolic, after, sizeof after),
                   laze_type_format(rewrite->source->sizes, type, before, sizeof before));
}

static laze_status map_node(laze_rewrite *rewrite, void *self, int32_t number, bool *replaced, laze_error *error) {
  symboliser *state = self;
  const laze_node *node = &rewrite->source->nodes[number];
  laze_call call;
  laze_value *results = rewrite->values + rewrite->offsets[number];
  LAZE_TRY(laze_rewrite_call(rewrite, number, &call, error));
  LAZE_TRY(map_attributes(rewrite, state, node, &call, error));
  LAZE_TRY(laze_graph_append(rewrite->target, rewrite->block, &call, results, error));
  for (int32_t i = 0; i < node->result_count; i++)
    LAZE_TRY(check_type(rewrite, state, node, node->types[i], laze_graph_type(rewrite->target, results[i]), error));
  *replaced = true;
  return LAZE_OK;
}

static laze_status map_fact(laze_rewrite *rewrite, void *self, laze_fact *fact, laze_error *error) {
  LAZE_TRY(add_symbol(rewrite, self, false, &fact->a, error));
  return add_symbol(rewrite, self, false, &fact->b, error);
}

laze_status laze_graph_symbolise(const laze_graph *graph, laze_graph **out, const int64_t **bindings,
                                 laze_error *error) {
  symboliser state = {0};
  laze_rewrite_hooks hooks = {
      .self = &state, .node = map_node, .parameter = map_parameter, .defined = add_defined, .fact = map_fact};
  laze_graph *symbolic;
  if (laze_size_symbol_count(graph->sizes) > laze_size_defined_count(graph->sizes))
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "graph %s: has symbolic sizes already; symbolise one of constants",
                     graph->name);
  laze_status status = laze_rewrite_graph(graph, &hooks, false, &symbolic, error);
  if (status == LAZE_OK) {
    *bindings = laze_arena_copy(&symbolic->arena, state.values, state.count * (int64_t)sizeof *state.values);
    if (!*bindings) status = laze_fail_memory(error, "the values of symbols", -1);
    if (status == LAZE_OK)
      *out = symbolic;
    else
      laze_graph_destroy(symbolic);
  }
  laze_free(graph->context, state.values);
  return status;
}

typedef struct {
  int64_t *values;
  int64_t count, capacity;
} binding_list;

static void add_binding(binding_list *list, laze_size size, bool listed) {
  if (!laze_size_is_symbolised(size, listed)) return;
  if (list->count < list->capacity) list->values[list->count] = size;
  list->count++;
}

static void add_defined_bindings(binding_list *list, const laze_node *node) {
  laze_call call = laze_node_call(node);
  int32_t count;
  (void)laze_call_defined_sizes(&call, &count);
  for (int32_t i = 0; i < count; i++) {
    if (list->count < list->capacity) list->values[list->count] = -1;
    list->count++;
  }
}

static void add_node_bindings(binding_list *list, const laze_node *node) {
  int32_t count = laze_op_get(node->op)->attribute_count;
  if (count == 0 || node->region_count > 0 || has_data(node, count)) return;
  for (int32_t i = 0; i < count; i++) {
    const laze_attribute *attribute = &node->attributes[i];
    if (!attribute->present) continue;
    if (attribute->kind == LAZE_ARGUMENT_SIZE) add_binding(list, attribute->value.size, false);
    for (int32_t k = 0; attribute->kind == LAZE_ARGUMENT_SIZE_LIST && k < attribute->count; k++)
      add_binding(list, attribute->value.items[k], true);
  }
}

int64_t laze_graph_bindings(const laze_graph *graph, int64_t *bindings, int64_t capacity) {
  binding_list list = {bindings, 0, capacity};
  laze_walk walk;
  laze_walk_begin(&walk, graph);
  for (laze_walk_event event; (event = laze_walk_next(&walk)) != LAZE_WALK_DONE;) {
    const laze_node *node = event == LAZE_WALK_NODE || event == LAZE_WALK_NODE_END ? &graph->nodes[walk.node] : NULL;
    if (node && (event == LAZE_WALK_NODE_END || node->region_count == 0)) add_defined_bindings(&list, node);
    if (event == LAZE_WALK_NODE) add_node_bindings(&list, node);
    for (int64_t i = 0; event == LAZE_WALK_BLOCK && walk.block->depth == 0 && i < walk.block->parameter_count; i++) {
      const laze_type *type = graph->nodes[walk.block->parameters[i]].types[0];
      for (int axis = 0; axis < type->rank; axis++) add_binding(&list, type->sizes[axis], false);
    }
  }
  const laze_fact *fact;
  for (int64_t i = 0; (fact = laze_size_carried_fact(graph->sizes, i)); i++) {
    add_binding(&list, fact->a, false);
    add_binding(&list, fact->b, false);
  }
  return list.count;
}
