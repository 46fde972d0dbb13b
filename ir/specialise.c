/* Replaces symbols by numbers:
 *
 *   graph @g(%x: f32[n,784]) -> f32[n] {          n=32
 *     %0 = sum %x, dim=[1] : f32[n]         =>    graph @g(%x: f32[32,784]) -> f32[32] {
 *     return %0                                     %0 = sum %x, dim=[1] : f32[32]
 *   }                                               ...
 *
 * The reverse of ir/symbolise.c. A graph read without hints was typed as if its symbols were large and different from
 * each other; where that mattered, a fact was recorded, and values that contradict one are refused: the operators in
 * the graph may be the wrong ones for them.
 */
#include "ir/specialise.h"

#include "ir/rewrite.h"

#include <stdio.h>

enum { TYPE_TEXT = 256 };

/* --- Finding the values --- */

typedef struct {
  const laze_graph *graph;
  const laze_type *types;
  int64_t *bindings;
  int64_t *givers; /* per symbol: the input its value came from; -1: the caller's */
} binder;

static const laze_node *input_node(const binder *self, int64_t input) {
  return &self->graph->nodes[self->graph->body->parameters[input]];
}

/* Ends a message about input `input` with what differs. */
static laze_status mismatch(const binder *self, int64_t input, const char *difference, laze_error *error) {
  const laze_node *node = input_node(self, input);
  char given[TYPE_TEXT], declared[TYPE_TEXT];
  return laze_fail(error, LAZE_INVALID_ARGUMENT, "input %s: %s was given, but %s is declared: %s", node->name,
                   laze_type_format(NULL, &self->types[input], given, sizeof given),
                   laze_type_format(self->graph->sizes, node->types[0], declared, sizeof declared), difference);
}

static laze_status bind_symbol(binder *self, int64_t input, int64_t symbol, int64_t value, laze_error *error) {
  const char *name = laze_size_symbol_name(self->graph->sizes, symbol);
  char difference[TYPE_TEXT];
  if (self->bindings[symbol] < 0) {
    self->bindings[symbol] = value;
    self->givers[symbol] = input;
  }
  if (self->bindings[symbol] == value) return LAZE_OK;
  if (self->givers[symbol] >= 0)
    snprintf(difference, sizeof difference, "%s is %lld here, but %lld in input %s", name, (long long)value,
             (long long)self->bindings[symbol], input_node(self, self->givers[symbol])->name);
  else
    snprintf(difference, sizeof difference, "%s is %lld here, but %lld was asked for", name, (long long)value,
             (long long)self->bindings[symbol]);
  return mismatch(self, input, difference, error);
}

static laze_status check_size(const binder *self, int64_t input, int axis, int64_t expected, laze_error *error) {
  int64_t given = self->types[input].sizes[axis];
  char difference[TYPE_TEXT];
  if (given == expected) return LAZE_OK;
  snprintf(difference, sizeof difference, "axis %d has size %lld, not %lld", axis, (long long)given,
           (long long)expected);
  return mismatch(self, input, difference, error);
}

/* Checks what needs no other input, and binds sizes that are a symbol alone. */
static laze_status bind_input(binder *self, int64_t input, laze_error *error) {
  const laze_type *declared = input_node(self, input)->types[0], *given = &self->types[input];
  char difference[TYPE_TEXT];
  if (declared->kind != given->kind) return mismatch(self, input, "tensors and tokens differ", error);
  if (declared->dtype != given->dtype) {
    snprintf(difference, sizeof difference, "the dtype is %s, not %s", laze_dtype_name(given->dtype),
             laze_dtype_name(declared->dtype));
    return mismatch(self, input, difference, error);
  }
  if (declared->rank != given->rank) {
    snprintf(difference, sizeof difference, "the rank is %d, not %d", given->rank, declared->rank);
    return mismatch(self, input, difference, error);
  }
  for (int axis = 0; axis < declared->rank; axis++) {
    laze_size size = declared->sizes[axis];
    if (laze_size_is_constant(size)) {
      LAZE_TRY(check_size(self, input, axis, size, error));
      continue;
    }
    const laze_size_node *node = laze_size_get(self->graph->sizes, size);
    if (node->kind == LAZE_SIZE_SYMBOL) LAZE_TRY(bind_symbol(self, input, node->symbol, given->sizes[axis], error));
  }
  return LAZE_OK;
}

/* Checks sizes that are expressions, once all symbols are known. */
static laze_status check_expressions(const binder *self, int64_t input, laze_error *error) {
  const laze_type *declared = input_node(self, input)->types[0];
  for (int axis = 0; axis < declared->rank; axis++) {
    int64_t value;
    LAZE_TRY(laze_size_evaluate(self->graph->sizes, declared->sizes[axis], self->bindings, &value, error));
    LAZE_TRY(check_size(self, input, axis, value, error));
  }
  return LAZE_OK;
}

static laze_status bind_all(binder *self, laze_error *error) {
  int64_t inputs = self->graph->body->parameter_count, symbols = laze_size_symbol_count(self->graph->sizes);
  for (int64_t i = 0; i < symbols; i++) self->givers[i] = -1;
  for (int64_t i = 0; i < inputs; i++) LAZE_TRY(bind_input(self, i, error));
  for (int64_t i = 0; i < symbols; i++)
    if (self->bindings[i] < 0 && !laze_size_is_defined(self->graph->sizes, laze_size_symbol_at(self->graph->sizes, i)))
      return LAZE_OK; /* expressions cannot be evaluated yet */
  for (int64_t i = 0; i < inputs; i++) LAZE_TRY(check_expressions(self, i, error));
  return LAZE_OK;
}

laze_status laze_graph_bind_inputs(const laze_graph *graph, const laze_type *types, int64_t *bindings,
                                   laze_error *error) {
  int64_t symbols = laze_size_symbol_count(graph->sizes);
  binder self = {.graph = graph, .types = types, .bindings = bindings};
  self.givers = laze_alloc_array(graph->context, symbols, sizeof *self.givers);
  if (!self.givers) return laze_fail_memory(error, "the sizes of a graph", -1);
  laze_status status = bind_all(&self, error);
  laze_free(graph->context, self.givers);
  return status;
}

/* --- Replacing symbols --- */

/* That there is a hook makes the rewrite copy the type instead of sharing it. */
static laze_status keep_type(laze_rewrite *rewrite, void *self, int32_t index, laze_type *type, laze_error *error) {
  (void)rewrite, (void)self, (void)index, (void)type, (void)error;
  return LAZE_OK;
}

static laze_status check_facts(const laze_graph *graph, const int64_t *bindings, laze_error *error) {
  const laze_fact *broken = laze_facts_first_broken(graph->sizes, bindings);
  laze_text fact, values;
  if (!broken) return LAZE_OK;
  laze_text_init(&fact, graph->context);
  laze_text_init(&values, graph->context);
  laze_fact_print(&fact, graph->sizes, broken);
  for (int64_t i = 0; i < laze_size_symbol_count(graph->sizes); i++)
    if (!laze_size_is_defined(graph->sizes, laze_size_symbol_at(graph->sizes, i)))
      laze_text_format(&values, "%s%s=%lld", values.size ? ", " : "", laze_size_symbol_name(graph->sizes, i),
                       (long long)bindings[i]);
  laze_status status = laze_fail(error, LAZE_INVALID_ARGUMENT,
                                 "graph %s: its types hold where %s, which %s contradicts; write the graph with these "
                                 "sizes as numbers, or as hints (sizes n=...)",
                                 graph->name, laze_text_get(&fact), laze_text_get(&values));
  laze_text_deinit(&fact);
  laze_text_deinit(&values);
  return status;
}

laze_status laze_graph_specialise(const laze_graph *graph, const int64_t *bindings, laze_graph **out,
                                  laze_error *error) {
  laze_rewrite_hooks hooks = {.parameter = keep_type, .numbers = bindings};
  for (int64_t i = 0; i < laze_size_symbol_count(graph->sizes); i++)
    if (bindings[i] < 0 && !laze_size_is_defined(graph->sizes, laze_size_symbol_at(graph->sizes, i)))
      return laze_fail(error, LAZE_INVALID_ARGUMENT, "graph %s: size %s has no value; give it one", graph->name,
                       laze_size_symbol_name(graph->sizes, i));
  LAZE_TRY(check_facts(graph, bindings, error));
  return laze_rewrite_graph(graph, &hooks, false, out, error);
}
