/* Checking a trace: the function is traced again for other values, and the two graphs are walked side by side.
 *
 *   for x        %2 = exp %1    model.c:4        for -x       %2 = log %1    model.c:6
 */
#include "lazy/tracing/check.h"

#include "base/arena.h"
#include "base/dtype.h"
#include "ir/attribute.h"
#include "ir/graph.h"
#include "ir/op.gen.h"
#include "laze/trace.h"
#include "runtime/array.h"

#include <string.h>

/* Indices have to stay where they are allowed, so that integers only change places. */
static void change(const laze_type *type, const char *from, char *to, int64_t count) {
  const int64_t size = laze_dtype_size(type->dtype);
  const bool inexact = laze_dtype_is_inexact(type->dtype);
  for (int64_t i = 0; i < count; i++) {
    if (type->dtype == LAZE_BOOL) {
      to[i] = !from[i];
    } else if (inexact) {
      laze_scalar scalar = laze_scalar_load(type->dtype, from, i);
      scalar.value.real = -scalar.value.real;
      laze_scalar_store(scalar, type->dtype, to, i);
    } else {
      memcpy(to + i * size, from + (count - 1 - i) * size, (size_t)size);
    }
  }
}

laze_tensor *laze_other_values(laze_tensor *tensor) {
  laze_array *array, *other = NULL;
  laze_error error;
  laze_tensor *result = NULL;
  if (laze_tensor_to_array(tensor, &array, &error) != LAZE_OK) return laze_tensor_from_array(NULL);
  if (laze_array_create(array->context, array->type.dtype, laze_array_sizes(array), &other, &error) == LAZE_OK) {
    const int64_t count = laze_array_bytes(array) / laze_dtype_size(array->type.dtype);
    change(&array->type, laze_array_data(array), laze_array_writable(other), count);
    result = laze_tensor_from_array(other);
  }
  laze_array_release(array);
  laze_array_release(other);
  return result ? result : laze_tensor_from_array(NULL);
}

/* --- Comparing --- */

static bool same_types(const laze_node *a, const laze_node *b) {
  if (a->result_count != b->result_count) return false;
  for (int32_t i = 0; i < a->result_count; i++)
    if (!laze_type_equal(a->types[i], b->types[i])) return false; /* both tables made the same sizes in one order */
  return true;
}

/* Values of the two graphs, by their place in them. */
typedef struct {
  const laze_graph *first, *second;
  int32_t *places[2]; /* by node: its place among parameters and nodes */
} comparison;

static bool same_value(const comparison *self, laze_value a, laze_value b) {
  return a.result == b.result && self->places[0][a.node] == self->places[1][b.node];
}

static bool same_node(const comparison *self, const laze_node *a, const laze_node *b) {
  if (a->op != b->op || a->operand_count != b->operand_count || !same_types(a, b)) return false;
  for (int32_t i = 0; i < a->operand_count; i++)
    if (!same_value(self, a->operands[i], b->operands[i])) return false;
  for (int32_t i = 0; i < laze_op_get(a->op)->attribute_count; i++)
    if (!laze_attribute_equal(&a->attributes[i], &b->attributes[i])) return false;
  return true;
}

/* The node as a message has it: what is called, and where; of a constant, who uses it first. */
static void describe(const laze_graph *graph, int64_t place, laze_text *out) {
  if (place >= graph->body->node_count) {
    laze_text_append(out, "nothing more");
    return;
  }
  const int32_t number = graph->body->nodes[place];
  const laze_node *node = &graph->nodes[number], *user = NULL;
  for (int64_t i = place + 1; node->op == LAZE_OP_CONSTANT && i < graph->body->node_count && !user; i++) {
    const laze_node *other = &graph->nodes[graph->body->nodes[i]];
    for (int32_t k = 0; k < other->operand_count && !user; k++)
      if (other->operands[k].node == number) user = other;
  }
  laze_text_append(out, laze_op_get(node->op)->name);
  if (user) laze_text_format(out, " for %s", laze_op_get(user->origin ? user->origin : user->op)->name);
  const laze_node *placed = user ? user : node;
  if (placed->location.file) laze_text_format(out, " (%s)", placed->location.file);
}

static laze_status differ(const comparison *self, int64_t place, laze_error *error) {
  laze_text texts[2];
  const laze_graph *graphs[] = {self->first, self->second};
  for (int i = 0; i < 2; i++) {
    laze_text_init(&texts[i], self->first->context);
    describe(graphs[i], place, &texts[i]);
  }
  const laze_status status = laze_fail(error, LAZE_FAILED_PRECONDITION,
                                       "the graph depends on values: node %lld is %s at first, and %s for other values "
                                       "of the inputs; what a program decides by a value is baked in",
                                       (long long)place, laze_text_get(&texts[0]), laze_text_get(&texts[1]));
  for (int i = 0; i < 2; i++) laze_text_deinit(&texts[i]);
  return status;
}

static bool find_places(const laze_graph *graph, laze_arena *arena, int32_t **out) {
  int32_t place = 0;
  *out = laze_arena_alloc_array(arena, graph->node_count, sizeof **out);
  if (!*out) return false;
  for (int64_t i = 0; i < graph->body->parameter_count; i++) (*out)[graph->body->parameters[i]] = place++;
  for (int64_t i = 0; i < graph->body->node_count; i++) (*out)[graph->body->nodes[i]] = place++;
  return true;
}

static laze_status compare(const comparison *self, laze_error *error) {
  const laze_block *a = self->first->body, *b = self->second->body;
  const int64_t most = a->node_count > b->node_count ? a->node_count : b->node_count;
  for (int64_t i = 0; i < most; i++)
    if (i >= a->node_count || i >= b->node_count ||
        !same_node(self, &self->first->nodes[a->nodes[i]], &self->second->nodes[b->nodes[i]]))
      return differ(self, i, error);
  for (int64_t i = 0; i < a->result_count; i++)
    if (!same_value(self, a->results[i], b->results[i]))
      return laze_fail(error, LAZE_FAILED_PRECONDITION,
                       "the graph depends on values: result %lld is another value for other values of the inputs",
                       (long long)i);
  return LAZE_OK;
}

laze_status laze_trace_compare(const laze_graph *first, const laze_graph *second, laze_error *error) {
  if (!first || !second) return laze_fail(error, LAZE_INVALID_ARGUMENT, "laze_trace_compare: a graph is NULL");
  comparison self = {.first = first, .second = second};
  laze_arena arena;
  laze_arena_init(&arena, first->context);
  laze_status status = LAZE_OK;
  if (first->body->parameter_count != second->body->parameter_count)
    status = laze_fail(error, LAZE_FAILED_PRECONDITION,
                       "the graph depends on values: it has other inputs for random numbers each time");
  else if (!find_places(first, &arena, &self.places[0]) || !find_places(second, &arena, &self.places[1]))
    status = laze_fail_memory(error, "comparing traces", -1);
  if (status == LAZE_OK) status = compare(&self, error);
  laze_arena_deinit(&arena);
  return status;
}
