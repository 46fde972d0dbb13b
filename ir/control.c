/* Checks operators with regions against what each demands of them, and gives their results' types. Sizes of a region's
 * parameters must be those of what is passed: compared as expressions, so no fact about them is recorded. */
#include "ir/control.h"

#include "ir/attribute.h"
#include "ir/op.gen.h"

#include <string.h>

typedef struct control_call {
  const laze_graph *graph;
  laze_arena *arena;
  const laze_call *call;
  laze_block *const *regions;
  const laze_type *const **types;
  int32_t *count;
} control_call;

struct laze_control_rule {
  int32_t first_input; /* operand that becomes the regions' first parameter; -1: none does */
  bool slices;         /* what is behind the first list of operands is sliced */
  int32_t captured;    /* the list of operands that captured values join */
  int32_t returning;   /* the region that returns those; -1: none does */
  laze_status (*infer)(const control_call *control, laze_error *error);
};

static const char *name_of(const control_call *control) {
  return laze_op_get(control->call->op)->name;
}

static const laze_type *operand_type(const control_call *control, int32_t index) {
  return laze_graph_type(control->graph, control->call->operands[index]);
}

laze_status laze_graph_same_type(const laze_graph *graph, const laze_type *a, const laze_type *b, bool *same,
                                 laze_error *error) {
  *same = a == b || (a->kind == b->kind && a->dtype == b->dtype && a->rank == b->rank);
  if (a == b) return LAZE_OK;
  for (int i = 0; *same && i < a->rank; i++)
    if (a->sizes[i] != b->sizes[i]) LAZE_TRY(laze_size_ask_equal(graph->sizes, a->sizes[i], b->sizes[i], same, error));
  return LAZE_OK;
}

static bool has_defined(const laze_size_table *sizes, const laze_type *type) {
  bool defined = false;
  for (int i = 0; i < type->rank; i++) defined = defined || laze_size_is_defined(sizes, type->sizes[i]);
  return defined;
}

/* `what` and `index` say what has type `got`. */
static laze_status mismatch(const control_call *control, const char *what, int64_t index, const laze_type *got,
                            const laze_type *wanted, laze_error *error) {
  char got_text[256], wanted_text[256];
  const laze_size_table *sizes = control->graph->sizes;
  bool carried = laze_control_rule_find(control->call->op)->returning >= 0 && has_defined(sizes, got);
  return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: %s %lld has type %s, expected %s%s", name_of(control), what,
                   (long long)index, laze_type_format(sizes, got, got_text, sizeof got_text),
                   laze_type_format(sizes, wanted, wanted_text, sizeof wanted_text),
                   carried ? "; what goes around a loop keeps its size: carry the longest, and a count beside it" : "");
}

/* Refuses unless `got` is `wanted`. */
static laze_status expect_type(const control_call *control, const char *what, int64_t index, const laze_type *got,
                               const laze_type *wanted, laze_error *error) {
  bool same;
  LAZE_TRY(laze_graph_same_type(control->graph, got, wanted, &same, error));
  return same ? LAZE_OK : mismatch(control, what, index, got, wanted, error);
}

static laze_status expect_count(const control_call *control, const char *what, int64_t got, int64_t wanted,
                                laze_error *error) {
  if (got == wanted) return LAZE_OK;
  return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: %s: got %lld, expected %lld", name_of(control), what,
                   (long long)got, (long long)wanted);
}

static laze_status expect_inputs(const control_call *control, int32_t region, int32_t first, laze_error *error) {
  const laze_block *block = control->regions[region];
  LAZE_TRY(expect_count(control, "parameters of a region", block->parameter_count, control->call->operand_count - first,
                        error));
  for (int32_t i = 0; i < block->parameter_count; i++)
    LAZE_TRY(expect_type(control, "the parameter of a region at", i,
                         control->graph->nodes[block->parameters[i]].types[0], operand_type(control, first + i),
                         error));
  return LAZE_OK;
}

static laze_status alloc_types(const control_call *control, int64_t count, const laze_type ***out, laze_error *error) {
  if (count < 1)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: gives no result, expected at least one", name_of(control));
  *out = laze_arena_alloc_array(control->arena, count, sizeof **out);
  if (!*out) return laze_fail_memory(error, "result types", -1);
  *control->types = *out;
  *control->count = (int32_t)count;
  return LAZE_OK;
}

/* The results' types are those that region `region` returns. */
static laze_status returned_types(const control_call *control, int32_t region, const laze_type ***out,
                                  laze_error *error) {
  const laze_block *block = control->regions[region];
  LAZE_TRY(alloc_types(control, block->result_count, out, error));
  for (int64_t i = 0; i < block->result_count; i++) (*out)[i] = laze_graph_type(control->graph, block->results[i]);
  return LAZE_OK;
}

static const laze_type condition_type = {.kind = LAZE_TYPE_TENSOR, .dtype = LAZE_BOOL, .rank = 0};

/* --- Sizes that an `if` defines ---
 *
 *   %0:2 = if %c, ..., sizes=[u0], axes=[2]      results  f32[3,4]   f32[u0]
 *                                                axes         0 1        2
 */

static const laze_attribute *listed_sizes(const laze_attribute *attributes) {
  return &attributes[LAZE_IF_SIZES];
}

/* The symbol for axis `place` among those of all results; 0: the branches give one size. */
static laze_size find_listed(const laze_attribute *attributes, int64_t place) {
  const laze_attribute *axes = &attributes[LAZE_IF_AXES];
  for (int32_t i = 0; i < axes->count && i < listed_sizes(attributes)->count; i++)
    if (axes->value.items[i] == place) return listed_sizes(attributes)->value.items[i];
  return 0;
}

static int64_t low_of(const laze_size_table *sizes, laze_size size) {
  return laze_size_is_constant(size) ? size : laze_size_get(sizes, size)->low;
}
static int64_t high_of(const laze_size_table *sizes, laze_size size) {
  return laze_size_is_constant(size) ? size : laze_size_get(sizes, size)->high;
}

/* Makes a symbol one that is either size: from 0 on, whatever wider bounds the expressions have. */
static laze_status define_either(laze_size_table *sizes, laze_size symbol, laze_size a, laze_size b,
                                 laze_error *error) {
  int64_t low = low_of(sizes, a) < low_of(sizes, b) ? low_of(sizes, a) : low_of(sizes, b);
  int64_t high = high_of(sizes, a) > high_of(sizes, b) ? high_of(sizes, a) : high_of(sizes, b);
  if (low < 0) low = 0;
  if (high > LAZE_SIZE_CONSTANT_MAX) high = LAZE_SIZE_CONSTANT_MAX;
  if (laze_size_is_defined(sizes, symbol) && laze_size_get(sizes, symbol)->kind == LAZE_SIZE_SYMBOL)
    return LAZE_OK; /* inferred before, maybe when less was known of the branches */
  return laze_size_define(sizes, symbol, low, high, error);
}

/* Result `index` of type `a` in the first branch and `b` in the second; its first axis is number `place`. */
static laze_status either_type(const control_call *control, int64_t index, int64_t place, const laze_type *b,
                               const laze_type **type, laze_error *error) {
  const laze_type *a = *type;
  laze_size_table *sizes = control->graph->sizes;
  bool same = a->kind == b->kind && a->dtype == b->dtype && a->rank == b->rank;
  laze_type *either = NULL;
  for (int i = 0; same && i < a->rank; i++) {
    const laze_size symbol = find_listed(control->call->attributes, place + i);
    const laze_fact equal = {.holds = true, .a = a->sizes[i], .b = b->sizes[i], .asker = "if"};
    if (symbol == 0) LAZE_TRY(laze_size_ask(sizes, equal, &same, error));
    if (symbol == 0) continue;
    if (!either) either = laze_arena_copy(control->arena, a, sizeof *either);
    if (!either) return laze_fail_memory(error, "result types", sizeof *either);
    LAZE_TRY(define_either(sizes, symbol, a->sizes[i], b->sizes[i], error));
    either->sizes[i] = symbol;
  }
  if (either) *type = either;
  return same ? LAZE_OK : mismatch(control, "the result of the second region at", index, b, a, error);
}

static laze_status either_types(const control_call *control, const laze_type **types, laze_error *error) {
  const laze_attribute *attributes = control->call->attributes, *axes = &attributes[LAZE_IF_AXES];
  int64_t places = 0;
  for (int64_t i = 0; i < *control->count; i++) {
    const laze_type *second = laze_graph_type(control->graph, control->regions[1]->results[i]);
    LAZE_TRY(either_type(control, i, places, second, &types[i], error));
    places += types[i]->rank;
  }
  LAZE_TRY(expect_count(control, "items of axes (one for each of sizes)", axes->count, listed_sizes(attributes)->count,
                        error));
  for (int32_t i = 0; i < axes->count; i++)
    if (axes->value.items[i] < 0 || axes->value.items[i] >= places)
      return laze_fail(error, LAZE_OUT_OF_RANGE, "if: axes names axis %lld, and the results have %lld in all",
                       (long long)axes->value.items[i], (long long)places);
  return LAZE_OK;
}

static laze_status infer_if(const control_call *control, laze_error *error) {
  const laze_block *second = control->regions[1];
  LAZE_TRY(expect_type(control, "operand", 0, operand_type(control, 0), &condition_type, error));
  for (int32_t region = 0; region < 2; region++) LAZE_TRY(expect_inputs(control, region, 1, error));
  const laze_type **types;
  LAZE_TRY(returned_types(control, 0, &types, error));
  LAZE_TRY(expect_count(control, "results of the second region", second->result_count, *control->count, error));
  return either_types(control, types, error);
}

static laze_status infer_while(const control_call *control, laze_error *error) {
  const laze_block *condition = control->regions[0], *body = control->regions[1];
  for (int32_t region = 0; region < 2; region++) LAZE_TRY(expect_inputs(control, region, 0, error));
  LAZE_TRY(expect_count(control, "results of the condition", condition->result_count, 1, error));
  LAZE_TRY(expect_type(control, "the result of the condition at", 0,
                       laze_graph_type(control->graph, condition->results[0]), &condition_type, error));
  LAZE_TRY(expect_count(control, "results of the body", body->result_count, control->call->operand_count, error));
  const laze_type **types;
  LAZE_TRY(alloc_types(control, control->call->operand_count, &types, error));
  for (int32_t i = 0; i < control->call->operand_count; i++) {
    types[i] = operand_type(control, i);
    LAZE_TRY(expect_type(control, "the result of the body at", i, laze_graph_type(control->graph, body->results[i]),
                         types[i], error));
  }
  return LAZE_OK;
}

/* The type of the slices of an operand. */
static laze_status slice_type(const control_call *control, int32_t index, laze_type *out, laze_error *error) {
  *out = *operand_type(control, index);
  if (out->rank == 0)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "scan: input %d has no axis to go along, expected one at least",
                     (int)index);
  out->rank--;
  memmove(out->sizes, out->sizes + 1, (size_t)out->rank * sizeof *out->sizes);
  return LAZE_OK;
}

static laze_status same_length(const control_call *control, int32_t first, int32_t index, laze_error *error) {
  laze_size wanted = operand_type(control, first)->sizes[0], got = operand_type(control, index)->sizes[0];
  char texts[2][128];
  bool same = got == wanted;
  if (!same) LAZE_TRY(laze_size_ask_equal(control->graph->sizes, wanted, got, &same, error));
  if (same) return LAZE_OK;
  return laze_fail(error, LAZE_INVALID_ARGUMENT, "scan: inputs %s and %s differ along axis 0, which all go along",
                   laze_type_format(control->graph->sizes, operand_type(control, first), texts[0], sizeof texts[0]),
                   laze_type_format(control->graph->sizes, operand_type(control, index), texts[1], sizeof texts[1]));
}

/* What is returned behind the states, stacked along the inputs' axis. */
static laze_status stacked_type(const control_call *control, const laze_type *value, laze_size length,
                                const laze_type **out, laze_error *error) {
  laze_type *type = laze_arena_alloc_zero(control->arena, sizeof *type);
  if (!type) return laze_fail_memory(error, "result types", sizeof *type);
  if (value->rank == LAZE_MAX_RANK)
    return laze_fail(error, LAZE_UNSUPPORTED, "scan: what is stacked has %d axes, and tensors have no more",
                     LAZE_MAX_RANK);
  *type = *value;
  type->rank++;
  type->sizes[0] = length;
  memcpy(type->sizes + 1, value->sizes, (size_t)value->rank * sizeof *value->sizes);
  *out = type;
  return LAZE_OK;
}

static laze_status check_scan_region(const control_call *control, int32_t states, laze_error *error) {
  const laze_block *block = control->regions[0];
  int32_t operands = control->call->operand_count;
  if (states == operands)
    return laze_fail(error, LAZE_INVALID_ARGUMENT,
                     "scan: got no inputs, expected one at least, whose axis 0 says how "
                     "often the region runs");
  LAZE_TRY(expect_count(control, "parameters of the region (one per state, then one per input)", block->parameter_count,
                        operands, error));
  for (int32_t i = 0; i < operands; i++) {
    laze_type wanted = *operand_type(control, i);
    if (i >= states) LAZE_TRY(slice_type(control, i, &wanted, error));
    if (i > states) LAZE_TRY(same_length(control, states, i, error));
    LAZE_TRY(expect_type(control, "the parameter of a region at", i,
                         control->graph->nodes[block->parameters[i]].types[0], &wanted, error));
  }
  if (block->result_count >= states) return LAZE_OK;
  return laze_fail(error, LAZE_INVALID_ARGUMENT, "scan: the region returns %lld values, expected the %d states first",
                   (long long)block->result_count, (int)states);
}

static laze_status infer_scan(const control_call *control, laze_error *error) {
  const laze_block *block = control->regions[0];
  int32_t first, states = laze_call_segment(control->call, 0, &first);
  const laze_type **types;
  LAZE_TRY(check_scan_region(control, states, error));
  LAZE_TRY(alloc_types(control, block->result_count, &types, error));
  for (int32_t i = 0; i < *control->count; i++) {
    const laze_type *returned = laze_graph_type(control->graph, block->results[i]);
    types[i] = i < states ? operand_type(control, i) : NULL;
    if (i < states)
      LAZE_TRY(expect_type(control, "the result of the region at", i, returned, types[i], error));
    else
      LAZE_TRY(stacked_type(control, returned, operand_type(control, states)->sizes[0], &types[i], error));
  }
  return LAZE_OK;
}

/* Marks in `reduced` the axes of `self` that the call's `dim` names. */
static laze_status reduced_axes(const control_call *control, bool *reduced, laze_error *error) {
  const laze_attribute *dim = &control->call->attributes[0];
  laze_inference inference = {control->graph->sizes, name_of(control), error};
  int rank = operand_type(control, 0)->rank;
  for (int32_t i = 0; i < dim->count; i++) {
    int axis;
    LAZE_TRY(laze_infer_axis(&inference, dim->value.items[i], rank, &axis));
    if (rank > 0 && reduced[axis])
      return laze_fail(error, LAZE_INVALID_ARGUMENT, "reduce: axis %d is named twice in dim; name it once", axis);
    reduced[axis] = true;
  }
  return LAZE_OK;
}

static laze_status check_reduce_region(const control_call *control, laze_error *error) {
  const laze_block *block = control->regions[0];
  int32_t states = control->call->operand_count - 1;
  LAZE_TRY(expect_count(control, "parameters of the region (one per state, then an element)", block->parameter_count,
                        states + 1, error));
  LAZE_TRY(expect_count(control, "results of the region (one per state)", block->result_count, states, error));
  for (int32_t i = 0; i <= states; i++) {
    laze_type wanted = {.kind = LAZE_TYPE_TENSOR, .dtype = operand_type(control, i < states ? 1 + i : 0)->dtype};
    if (i < states) LAZE_TRY(expect_type(control, "operand", 1 + i, operand_type(control, 1 + i), &wanted, error));
    LAZE_TRY(expect_type(control, "the parameter of the region at", i,
                         control->graph->nodes[block->parameters[i]].types[0], &wanted, error));
    if (i < states)
      LAZE_TRY(expect_type(control, "the result of the region at", i,
                           laze_graph_type(control->graph, block->results[i]), &wanted, error));
  }
  return LAZE_OK;
}

static laze_status infer_reduce(const control_call *control, laze_error *error) {
  bool reduced[LAZE_MAX_RANK] = {false};
  const laze_type *self = operand_type(control, 0), **types;
  int32_t states = control->call->operand_count - 1;
  LAZE_TRY(check_reduce_region(control, error));
  LAZE_TRY(reduced_axes(control, reduced, error));
  LAZE_TRY(alloc_types(control, states, &types, error));
  for (int32_t i = 0; i < states; i++) {
    laze_type *type = laze_arena_alloc_zero(control->arena, sizeof *type);
    if (!type) return laze_fail_memory(error, "result types", sizeof *type);
    type->kind = LAZE_TYPE_TENSOR;
    type->dtype = operand_type(control, 1 + i)->dtype;
    for (int axis = 0; axis < self->rank; axis++)
      if (!reduced[axis]) type->sizes[type->rank++] = self->sizes[axis];
    types[i] = type;
  }
  return LAZE_OK;
}

const laze_control_rule laze_control_rule_if = {.first_input = 1, .captured = 1, .returning = -1, .infer = infer_if};
const laze_control_rule laze_control_rule_while = {.first_input = 0, .returning = 1, .infer = infer_while};
const laze_control_rule laze_control_rule_scan = {.first_input = 0, .slices = true, .infer = infer_scan};
const laze_control_rule laze_control_rule_reduce = {.first_input = -1, .captured = 1, .infer = infer_reduce};

laze_status laze_control_infer(const laze_graph *graph, laze_arena *arena, const laze_call *call,
                               laze_block *const *regions, const laze_type *const **types, int32_t *count,
                               laze_error *error) {
  const laze_control_rule *rule = laze_control_rule_find(call->op);
  control_call control = {graph, arena, call, regions, types, count};
  if (!rule)
    return laze_fail(error, LAZE_INTERNAL, "%s: was given regions and is no operator of class control",
                     laze_op_get(call->op)->name);
  return rule->infer(&control, error);
}

int32_t laze_control_parameter_operand(const laze_node *node, int32_t index, bool *sliced) {
  const laze_control_rule *rule = laze_control_rule_find(node->op);
  *sliced = false;
  if (!rule || rule->first_input < 0) return -1;
  laze_call call = laze_node_call(node);
  int32_t first;
  *sliced = rule->slices && index >= laze_call_segment(&call, 0, &first);
  return rule->first_input + index;
}

void laze_control_capturing(laze_op op, int32_t *segment, int32_t *returning) {
  const laze_control_rule *rule = laze_control_rule_find(op);
  *segment = rule ? rule->captured : 0;
  *returning = rule ? rule->returning : -1;
}

/* Whether two sizes of the branches differ for somebody. */
static laze_status may_differ(laze_size_table *sizes, laze_size a, laze_size b, bool *out, laze_error *error) {
  bool defined = laze_size_is_defined(sizes, a) || laze_size_is_defined(sizes, b), same = a == b;
  if (!same && laze_size_has_hints(sizes) && !defined) LAZE_TRY(laze_size_ask_equal(sizes, a, b, &same, error));
  *out = !same;
  return LAZE_OK;
}

typedef struct {
  laze_size *sizes;
  int64_t *axes;
  int32_t count;
} size_list;

/* Adds to the lists what result `index`, whose first axis is number `place`, has that is not in the attributes. */
static laze_status define_result(const laze_graph *graph, laze_block *const *regions, int64_t index, int64_t place,
                                 const laze_attribute *attributes, size_list *list, laze_error *error) {
  const laze_type *a = laze_graph_type(graph, regions[0]->results[index]);
  const laze_type *b = laze_graph_type(graph, regions[1]->results[index]);
  for (int i = 0; i < a->rank && a->rank == b->rank; i++) {
    bool differs;
    if (find_listed(attributes, place + i) != 0) continue;
    LAZE_TRY(may_differ(graph->sizes, a->sizes[i], b->sizes[i], &differs, error));
    if (!differs) continue;
    LAZE_TRY(laze_size_fresh_symbol(graph->sizes, "u", &list->sizes[list->count], error));
    LAZE_TRY(define_either(graph->sizes, list->sizes[list->count], a->sizes[i], b->sizes[i], error));
    list->axes[list->count++] = place + i;
  }
  return LAZE_OK;
}

laze_status laze_control_define_sizes(const laze_graph *graph, laze_arena *arena, laze_op op,
                                      laze_block *const *regions, laze_attribute *attributes, laze_error *error) {
  if (op != LAZE_OP_IF || regions[0]->result_count != regions[1]->result_count) return LAZE_OK;
  const laze_attribute given = *listed_sizes(attributes), axes = attributes[LAZE_IF_AXES];
  if (given.count != axes.count) return LAZE_OK; /* the rule says so */
  int64_t most = given.count, place = 0;
  for (int64_t i = 0; i < regions[0]->result_count; i++) most += laze_graph_type(graph, regions[0]->results[i])->rank;
  size_list list = {laze_arena_alloc_array(arena, most, sizeof *list.sizes),
                    laze_arena_alloc_array(arena, most, sizeof *list.axes), given.count};
  if (!list.sizes || !list.axes) return laze_fail_memory(error, "the sizes of an operator", -1);
  for (int32_t i = 0; i < given.count; i++) {
    list.sizes[i] = given.value.items[i];
    list.axes[i] = axes.value.items[i];
  }
  for (int64_t i = 0; i < regions[0]->result_count; i++) {
    LAZE_TRY(define_result(graph, regions, i, place, attributes, &list, error));
    place += laze_graph_type(graph, regions[0]->results[i])->rank;
  }
  if (list.count == given.count) return LAZE_OK;
  attributes[LAZE_IF_SIZES] =
      laze_attribute_of_list(LAZE_ARGUMENT_SIZE_LIST, (laze_size_list){list.sizes, list.count, true});
  attributes[LAZE_IF_AXES] =
      laze_attribute_of_list(LAZE_ARGUMENT_INT_LIST, (laze_size_list){list.axes, list.count, true});
  return LAZE_OK;
}

void laze_control_defined_place(const laze_node *node, int32_t index, int32_t *result, int *axis) {
  int64_t place = node->attributes[LAZE_IF_AXES].value.items[index];
  *result = 0;
  while (place >= node->types[*result]->rank) place -= node->types[(*result)++]->rank;
  *axis = (int)place;
}
