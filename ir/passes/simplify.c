/* Drops operators that do nothing, exactly: no NaN, infinity, signed zero or rounding changes.
 *
 *   %0 = permute %x, dims=[1, 0]          %1 is %x, %2 is %x: users take it instead
 *   %1 = permute %0, dims=[1, 0]
 *   %2 = mul %1, 1.0
 *
 * One look at each node in order is enough for chains, because operands are simplified before their users. A rule is a
 * pure function of a node; a replacement must have the node's type. x + 0.0 stays (it turns -0.0 into 0.0), x + -0.0
 * and x - 0.0 go.
 */
#include "ir/passes/passes.h"

#include "ir/graph_internal.h"
#include "ir/op.gen.h"
#include "ir/rewrite.h"

#include <string.h>

typedef struct {
  enum { KEEP, TAKE_VALUE, RECORD_CALL } kind;
  laze_value value;
  laze_call call;
  laze_attribute attribute;
  laze_size items[LAZE_MAX_RANK];
} replacement;

typedef void (*rule)(const laze_graph *graph, const laze_call *call, const laze_type *type, replacement *out);

static void take_if_same_type(const laze_graph *graph, laze_value value, const laze_type *type, replacement *out) {
  const laze_type *has = laze_graph_type(graph, value);
  if (has != type && !laze_type_equal(has, type)) return;
  out->kind = TAKE_VALUE;
  out->value = value;
}

/* Operators that are the identity whenever the type stays. */
static void take_operand(const laze_graph *graph, const laze_call *call, const laze_type *type, replacement *out) {
  take_if_same_type(graph, call->operands[0], type, out);
}

/* The call with one other operand and attribute. */
static void record(const laze_call *call, laze_value *operand, const laze_attribute *attribute, replacement *out) {
  out->kind = RECORD_CALL;
  out->call = *call;
  out->value = *operand;
  out->call.operands = &out->value;
  out->attribute = *attribute;
  out->call.attributes = &out->attribute;
}

/* Whether both have the same number of elements in the same words, so that the shape rule says the same of both. */
static bool same_elements(const laze_graph *graph, const laze_type *a, const laze_type *b) {
  laze_size x, y;
  return laze_type_elements(graph->sizes, a, &x, NULL) == LAZE_OK &&
         laze_type_elements(graph->sizes, b, &y, NULL) == LAZE_OK && x == y;
}

/* reshape(reshape(x)) reads the same elements as reshape(x). */
static void simplify_reshape(const laze_graph *graph, const laze_call *call, const laze_type *type, replacement *out) {
  const laze_node *inner = laze_graph_node(graph, call->operands[0]);
  take_operand(graph, call, type, out);
  if (out->kind != KEEP || inner->op != LAZE_OP_RESHAPE) return;
  laze_value source = inner->operands[0];
  take_if_same_type(graph, source, type, out);
  if (out->kind == KEEP && same_elements(graph, laze_graph_type(graph, source), inner->types[0]))
    record(call, &source, &call->attributes[0], out);
}

static int64_t permuted_axis(const laze_attribute *dims, int64_t axis, int rank) {
  int64_t source = dims->value.items[axis];
  return source < 0 ? source + rank : source;
}

static bool is_identity(const laze_attribute *dims, int rank) {
  for (int axis = 0; axis < rank; axis++)
    if (permuted_axis(dims, axis, rank) != axis) return false;
  return true;
}

static void simplify_permute(const laze_graph *graph, const laze_call *call, const laze_type *type, replacement *out) {
  const laze_attribute *dims = &call->attributes[0];
  const laze_node *inner = laze_graph_node(graph, call->operands[0]);
  if (is_identity(dims, type->rank)) {
    take_operand(graph, call, type, out);
  } else if (inner->op == LAZE_OP_PERMUTE) {
    laze_value source = inner->operands[0];
    for (int axis = 0; axis < type->rank; axis++)
      out->items[axis] = permuted_axis(inner->attributes, permuted_axis(dims, axis, type->rank), type->rank);
    laze_attribute composed = *dims;
    composed.value.items = out->items;
    if (is_identity(&composed, type->rank))
      take_if_same_type(graph, source, type, out);
    else
      record(call, &source, &composed, out);
  }
}

/* Whether the value is a constant whose elements all have the bits of `wanted`. */
static bool is_filled_with(const laze_graph *graph, laze_value value, laze_scalar wanted) {
  const laze_node *node = laze_graph_node(graph, value);
  const laze_data *data = laze_node_constant(node);
  if (!data || data->size == 0) return false;
  laze_dtype dtype = node->types[0]->dtype;
  int64_t size = laze_dtype_size(dtype);
  char element[16] = {0};
  laze_scalar_store(wanted, dtype, element, 0);
  for (int64_t i = 0; i < data->size; i += size)
    if (memcmp((const char *)data->bytes + i, element, (size_t)size) != 0) return false;
  return true;
}

static bool is_float(const laze_type *type) {
  return laze_dtype_is_float(type->dtype);
}

/* Whose product with 1 has a term with 0 in each part, and whose sum with a 0 has one sign of it in each. */
static bool is_complex(const laze_type *type) {
  return laze_dtype_is_complex(type->dtype);
}

static void simplify_mul(const laze_graph *graph, const laze_call *call, const laze_type *type, replacement *out) {
  for (int i = 0; i < 2 && out->kind == KEEP && !is_complex(type); i++)
    if (is_filled_with(graph, call->operands[1 - i], laze_scalar_integer(1)))
      take_if_same_type(graph, call->operands[i], type, out);
}

static void simplify_div(const laze_graph *graph, const laze_call *call, const laze_type *type, replacement *out) {
  if (!is_complex(type) && is_filled_with(graph, call->operands[1], laze_scalar_integer(1)))
    take_if_same_type(graph, call->operands[0], type, out);
}

/* x + -0.0 for floats, x + 0 for integers. An integer zero becomes +0.0 where the sum is a float. */
static void simplify_add(const laze_graph *graph, const laze_call *call, const laze_type *type, replacement *out) {
  for (int i = 0; i < 2 && call->operand_count == 2 && out->kind == KEEP && !is_complex(type); i++) {
    const laze_type *other = laze_graph_type(graph, call->operands[1 - i]);
    if (is_float(type) != is_float(other)) continue;
    laze_scalar zero = is_float(type) ? laze_scalar_real(-0.0) : laze_scalar_integer(0);
    if (is_filled_with(graph, call->operands[1 - i], zero)) take_if_same_type(graph, call->operands[i], type, out);
  }
}

/* x - 0.0, which keeps -0.0. */
static void simplify_sub(const laze_graph *graph, const laze_call *call, const laze_type *type, replacement *out) {
  if (call->operand_count == 2 && is_filled_with(graph, call->operands[1], laze_scalar_integer(0)))
    take_if_same_type(graph, call->operands[0], type, out);
}

static void simplify_where(const laze_graph *graph, const laze_call *call, const laze_type *type, replacement *out) {
  for (int side = 0; side < 2 && out->kind == KEEP; side++)
    if (is_filled_with(graph, call->operands[0], laze_scalar_boolean(side == 0)))
      take_if_same_type(graph, call->operands[1 + side], type, out);
}

/* The part of a pair is there already; of what is real it is all. */
static void simplify_real(const laze_graph *graph, const laze_call *call, const laze_type *type, replacement *out) {
  const laze_node *inner = laze_graph_node(graph, call->operands[0]);
  take_operand(graph, call, type, out);
  if (out->kind == KEEP && (inner->op == LAZE_OP_COMPLEX || inner->op == LAZE_OP_TO_DTYPE))
    take_if_same_type(graph, inner->operands[0], type, out);
}

static void simplify_imag(const laze_graph *graph, const laze_call *call, const laze_type *type, replacement *out) {
  const laze_node *inner = laze_graph_node(graph, call->operands[0]);
  if (inner->op == LAZE_OP_COMPLEX) take_if_same_type(graph, inner->operands[1], type, out);
}

/* Both parts of one number. */
static void simplify_complex(const laze_graph *graph, const laze_call *call, const laze_type *type, replacement *out) {
  const laze_node *real = laze_graph_node(graph, call->operands[0]), *imag = laze_graph_node(graph, call->operands[1]);
  if (real->op == LAZE_OP_REAL && imag->op == LAZE_OP_IMAG && laze_value_equal(real->operands[0], imag->operands[0]))
    take_if_same_type(graph, real->operands[0], type, out);
}

/* There and back: each float of 16 bits is an f32 and an f64. */
static void simplify_to(const laze_graph *graph, const laze_call *call, const laze_type *type, replacement *out) {
  const laze_node *inner = laze_graph_node(graph, call->operands[0]);
  take_operand(graph, call, type, out);
  if (out->kind == KEEP && inner->op == LAZE_OP_TO_DTYPE && laze_dtype_is_half(type->dtype) &&
      (inner->types[0]->dtype == LAZE_F32 || inner->types[0]->dtype == LAZE_F64))
    take_if_same_type(graph, inner->operands[0], type, out);
}

/* NULL: nothing is simplified. */
static rule find_rule(laze_op op) {
  static const struct {
    laze_op op;
    rule rule;
  } rules[] = {
      {LAZE_OP_RESHAPE, simplify_reshape}, {LAZE_OP_EXPAND, take_operand}, {LAZE_OP_PERMUTE, simplify_permute},
      {LAZE_OP_TO_DTYPE, simplify_to},     {LAZE_OP_MUL, simplify_mul},    {LAZE_OP_DIV, simplify_div},
      {LAZE_OP_ADD, simplify_add},         {LAZE_OP_SUB, simplify_sub},    {LAZE_OP_WHERE_SELF, simplify_where},
      {LAZE_OP_REAL, simplify_real},       {LAZE_OP_IMAG, simplify_imag},  {LAZE_OP_COMPLEX, simplify_complex},
  };
  for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
    if (rules[i].op == op) return rules[i].rule;
  return NULL;
}

static laze_status simplify_node(laze_rewrite *rewrite, void *self, int32_t number, bool *replaced, laze_error *error) {
  const laze_node *node = &rewrite->source->nodes[number];
  replacement found;
  laze_call call;
  (void)self;
  const rule simplify = find_rule(node->op);
  if (!simplify) return LAZE_OK;
  found.kind = KEEP;
  LAZE_TRY(laze_rewrite_call(rewrite, number, &call, error));
  simplify(rewrite->target, &call, node->types[0], &found);
  if (found.kind == RECORD_CALL) {
    LAZE_TRY(laze_graph_append(rewrite->target, rewrite->block, &found.call, &found.value, error));
    /* The rule may say the same size in other words; then the node stays, and the new one is dropped as dead. */
    if (!laze_type_equal(laze_graph_type(rewrite->target, found.value), node->types[0])) found.kind = KEEP;
  }
  *replaced = found.kind != KEEP;
  if (*replaced) laze_rewrite_map(rewrite, number, &found.value);
  return LAZE_OK;
}

/* Looks for a first node to replace, so that a graph that stays is not copied. */
static bool any_simplification(const laze_graph *graph) {
  replacement found;
  for (int64_t i = 0; i < graph->node_count; i++) {
    const laze_node *node = &graph->nodes[i];
    const rule simplify = find_rule(node->op);
    if (!simplify) continue;
    laze_call call = laze_node_call(node);
    found.kind = KEEP;
    simplify(graph, &call, node->types[0], &found);
    if (found.kind != KEEP) return true;
  }
  return false;
}

laze_status laze_pass_simplify(const laze_graph *graph, const laze_pass_options *options, laze_graph **out,
                               laze_error *error) {
  laze_rewrite_hooks hooks = {.node = simplify_node};
  (void)options;
  return any_simplification(graph) ? laze_rewrite_graph(graph, &hooks, true, out, error) : LAZE_OK;
}
