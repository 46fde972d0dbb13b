/* Signatures: a role for each input and each result.
 *
 *   signature (parameter, input, tangent) -> (loss, gradient(w))
 *   graph @joint(%w: f32[2], %x: f32[2], %t: f32[]) -> f32[], f32[2] {
 *
 * Results of a forward graph stand in the order in which whoever runs it takes them: what inputs are changed to, the
 * function's own, bases of what aliases, gradients, saved tensors, saved sizes. A graph has no writes: what it would
 * change is one result more, the last value of that input, which whoever runs the graph copies there.
 */
#include "ir/signature.h"

#include <string.h>

typedef struct {
  const char *name;
  bool of_input, of_result; /* which side may have it */
  bool names_input;         /* it is of an input, which `of` names */
  int32_t place;            /* of results: the order in which they stand */
} role_info;

static const role_info roles[] = {
    [LAZE_SIGNATURE_INPUT] = {"input", true, false, false, 0},
    [LAZE_SIGNATURE_PARAMETER] = {"parameter", true, false, false, 0},
    [LAZE_SIGNATURE_BUFFER] = {"buffer", true, false, false, 0},
    [LAZE_SIGNATURE_RANDOM] = {"random", true, false, false, 0},
    [LAZE_SIGNATURE_TANGENT] = {"tangent", true, false, false, 0},
    [LAZE_SIGNATURE_MUTATION] = {"mutation", false, true, true, 0},
    [LAZE_SIGNATURE_OUTPUT] = {"output", false, true, false, 1},
    [LAZE_SIGNATURE_LOSS] = {"loss", false, true, false, 1},
    [LAZE_SIGNATURE_GRADIENT] = {"gradient", false, true, true, 3},
    [LAZE_SIGNATURE_BASE] = {"base", false, true, false, 2},
    [LAZE_SIGNATURE_SAVED] = {"saved", true, true, false, 4},
    [LAZE_SIGNATURE_SIZE] = {"size", true, true, false, 5},
};
enum { ROLE_COUNT = sizeof roles / sizeof *roles };

const char *laze_role_name(int32_t kind) {
  return kind < 0 || kind >= ROLE_COUNT ? NULL : roles[kind].name;
}

int32_t laze_role_find(const char *name, int32_t length) {
  for (int32_t i = 0; i < ROLE_COUNT; i++)
    if (strlen(roles[i].name) == (size_t)length && memcmp(roles[i].name, name, (size_t)length) == 0) return i;
  return -1;
}

static bool is_word(const char *name) {
  for (const char *c = name; *c; c++) {
    const bool letter = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || *c == '_';
    if (!letter && (c == name || !((*c >= '0' && *c <= '9') || *c == '.'))) return false;
  }
  return *name && strcmp(name, "inf") != 0 && strcmp(name, "nan") != 0;
}

/* The node of an input; NULL: none has that name. */
static const laze_node *find_input(const laze_graph *graph, const char *name) {
  for (int64_t i = 0; i < graph->body->parameter_count; i++) {
    const laze_node *node = &graph->nodes[graph->body->parameters[i]];
    if (strcmp(node->name, name) == 0) return node;
  }
  return NULL;
}

static laze_status check_role(const laze_graph *graph, const char *side, int32_t index, const laze_role *role,
                              laze_error *error) {
  const bool input = *side == 'i';
  const char *name = laze_role_name(role->kind);
  if (!name || !(input ? roles[role->kind].of_input : roles[role->kind].of_result))
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "signature of %s: %s %d cannot be %s", graph->name, side, (int)index,
                     name ? name : "of a kind that there is not");
  if (roles[role->kind].names_input != (role->of != NULL) || (role->of && !is_word(role->of)))
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "signature of %s: %s %d is %s, which %s", graph->name, side,
                     (int)index, name, roles[role->kind].names_input ? "names an input" : "names nothing");
  if (role->kind == LAZE_SIGNATURE_MUTATION && !find_input(graph, role->of))
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "signature of %s: %s %d is a mutation of %s, which is no input",
                     graph->name, side, (int)index, role->of);
  return LAZE_OK;
}

/* Whether a value may be copied to an input: one without elements takes its shape. */
static bool can_be_copied(const laze_type *value, const laze_type *input) {
  bool empty = false;
  for (int i = 0; i < input->rank; i++) empty |= input->sizes[i] == 0;
  return empty ? value->dtype == input->dtype : laze_type_equal(value, input);
}

/* Mutations are one copy to each input, of its type. */
static laze_status check_mutation(const laze_graph *graph, const laze_role *results, int32_t index, laze_error *error) {
  const char *name = results[index].of;
  const laze_type *value = laze_graph_type(graph, graph->body->results[index]);
  const laze_type *input = find_input(graph, name)->types[0];
  char text[2][128];
  for (int32_t i = 0; i < index; i++)
    if (results[i].kind == LAZE_SIGNATURE_MUTATION && strcmp(results[i].of, name) == 0)
      return laze_fail(error, LAZE_INVALID_ARGUMENT,
                       "signature of %s: results %d and %d are both mutations of %s; an input has one final value",
                       graph->name, (int)i, (int)index, name);
  if (can_be_copied(value, input)) return LAZE_OK;
  return laze_fail(error, LAZE_INVALID_ARGUMENT,
                   "signature of %s: result %d is %s and a mutation of %s, which is %s; both are of one type",
                   graph->name, (int)index, laze_type_format(graph->sizes, value, text[0], sizeof text[0]), name,
                   laze_type_format(graph->sizes, input, text[1], sizeof text[1]));
}

static laze_status check(const laze_graph *graph, const laze_role *inputs, int32_t input_count,
                         const laze_role *results, int32_t result_count, laze_error *error) {
  if (input_count != graph->body->parameter_count || result_count != graph->body->result_count ||
      (input_count > 0 && !inputs) || (result_count > 0 && !results))
    return laze_fail(error, LAZE_INVALID_ARGUMENT,
                     "signature of %s: it has %d inputs and %d results, but the graph %lld and %lld", graph->name,
                     (int)input_count, (int)result_count, (long long)graph->body->parameter_count,
                     (long long)graph->body->result_count);
  for (int32_t i = 0; i < input_count; i++) LAZE_TRY(check_role(graph, "input", i, &inputs[i], error));
  for (int32_t i = 0; i < result_count; i++) LAZE_TRY(check_role(graph, "result", i, &results[i], error));
  for (int32_t i = 0; i < result_count; i++)
    if (results[i].kind == LAZE_SIGNATURE_MUTATION) LAZE_TRY(check_mutation(graph, results, i, error));
  for (int32_t i = 1; i < result_count; i++)
    if (roles[results[i].kind].place < roles[results[i - 1].kind].place)
      return laze_fail(error, LAZE_INVALID_ARGUMENT,
                       "signature of %s: result %d is %s behind %s; the order is mutations, outputs, bases, gradients, "
                       "saved tensors, saved sizes",
                       graph->name, (int)i, laze_role_name(results[i].kind), laze_role_name(results[i - 1].kind));
  return LAZE_OK;
}

laze_status laze_signature_check(const laze_graph *graph, laze_error *error) {
  const laze_signature *signature = graph->signature;
  if (!signature) return LAZE_OK;
  return check(graph, signature->inputs, signature->input_count, signature->results, signature->result_count, error);
}

static laze_role *copy_roles(laze_graph *graph, const laze_role *from, int32_t count) {
  laze_role *copy = laze_arena_alloc_array(&graph->arena, count, sizeof *copy);
  for (int32_t i = 0; copy && i < count; i++) {
    copy[i] = from[i];
    if (from[i].of && !(copy[i].of = laze_arena_copy_string(&graph->arena, from[i].of))) return NULL;
  }
  return copy;
}

laze_status laze_graph_set_signature(laze_graph *graph, const laze_role *inputs, int32_t input_count,
                                     const laze_role *results, int32_t result_count, laze_error *error) {
  if (!graph) return laze_fail(error, LAZE_INVALID_ARGUMENT, "laze_graph_set_signature: the graph is NULL");
  LAZE_TRY(check(graph, inputs, input_count, results, result_count, error));
  laze_signature *signature = laze_arena_alloc(&graph->arena, sizeof *signature);
  if (!signature) return laze_fail_memory(error, "a signature", sizeof *signature);
  *signature = (laze_signature){copy_roles(graph, inputs, input_count), copy_roles(graph, results, result_count),
                                input_count, result_count};
  if (!signature->inputs || !signature->results) return laze_fail_memory(error, "a signature", -1);
  graph->signature = signature;
  return LAZE_OK;
}

laze_role laze_graph_input_role(const laze_graph *graph, int32_t index) {
  const laze_signature *signature = graph ? graph->signature : NULL;
  if (!signature || index < 0 || index >= signature->input_count) return (laze_role){LAZE_SIGNATURE_INPUT, 0, NULL};
  return signature->inputs[index];
}

laze_role laze_graph_result_role(const laze_graph *graph, int32_t index) {
  const laze_signature *signature = graph ? graph->signature : NULL;
  if (!signature || index < 0 || index >= signature->result_count) return (laze_role){LAZE_SIGNATURE_OUTPUT, 0, NULL};
  return signature->results[index];
}

static void print_roles(laze_text *text, const laze_role *items, int32_t count) {
  laze_text_append(text, "(");
  for (int32_t i = 0; i < count; i++) {
    laze_text_format(text, "%s%s", i ? ", " : "", laze_role_name(items[i].kind));
    if (items[i].of) laze_text_format(text, "(%s)", items[i].of);
  }
  laze_text_append(text, ")");
}

void laze_signature_print(laze_text *text, const laze_graph *graph) {
  if (!graph->signature) return;
  laze_text_append(text, "signature ");
  print_roles(text, graph->signature->inputs, graph->signature->input_count);
  laze_text_append(text, " -> ");
  print_roles(text, graph->signature->results, graph->signature->result_count);
  laze_text_append(text, "\n");
}

laze_status laze_signature_copy(const laze_graph *from, laze_graph *to, laze_error *error) {
  const laze_signature *signature = from->signature;
  if (!signature) return LAZE_OK;
  return laze_graph_set_signature(to, signature->inputs, signature->input_count, signature->results,
                                  signature->result_count, error);
}
