/* From a node of a graph to a unit that the interpreter can run, and running it: values get numbers, sizes become
 * indices, regions are laid out behind each other (unit.h). */
#include "codegen/interp/unit.h"

#include "codegen/node_site.h"
#include "codegen/order.h"
#include "ir/attribute.h"
#include "ir/op.gen.h"

#include <stddef.h>
#include <string.h>

/* A block that is still to be flattened. */
typedef struct {
  const laze_block *from;
  interp_block *to;
  int depth;
} pending_block;

/* While a unit is made. Nodes inside regions have numbers within [low, high]; `first_values[number - low]` is the value
 * of such a node's first result. */
typedef struct {
  const laze_graph *graph;
  interp_unit *unit;
  pending_block *pending;
  int64_t pending_count, pending_capacity;
  int32_t *first_values;
  int64_t low, high;
} flattening;

static laze_context *context_of(const flattening *f) {
  return f->unit->arena.context;
}

static laze_status add_sizes(flattening *f, const laze_size *sizes, int32_t count, int64_t *first, laze_error *error) {
  interp_unit *unit = f->unit;
  LAZE_TRY(laze_grow(context_of(f), (void **)&unit->sizes, &unit->size_capacity, unit->size_count + count + 1,
                     sizeof *unit->sizes, error));
  *first = unit->size_count;
  for (int32_t i = 0; i < count; i++) unit->sizes[unit->size_count++] = sizes[i];
  return LAZE_OK;
}

static laze_status add_value(flattening *f, const laze_type *type, int32_t *out, laze_error *error) {
  interp_unit *unit = f->unit;
  interp_value value = {.dtype = type->dtype, .rank = type->rank};
  if (type->kind == LAZE_TYPE_TOKEN)
    return laze_fail(error, LAZE_UNSUPPORTED, "the interpreter runs operators on tensors, not on tokens");
  LAZE_TRY(add_sizes(f, type->sizes, type->rank, &value.first_size, error));
  LAZE_TRY(laze_grow(context_of(f), (void **)&unit->values, &unit->value_capacity, unit->value_count + 1,
                     sizeof *unit->values, error));
  *out = (int32_t)unit->value_count;
  unit->values[unit->value_count++] = value;
  return LAZE_OK;
}

/* Numbers the node among those that may fail, where it is one. */
static laze_status add_check(flattening *f, const laze_node *node, interp_node *out, laze_error *error) {
  interp_unit *unit = f->unit;
  if (out->info->effect != LAZE_EFFECT_MAY_FAIL) return LAZE_OK;
  LAZE_TRY(laze_grow(context_of(f), (void **)&unit->checked, &unit->check_capacity, unit->check_count + 1,
                     sizeof *unit->checked, error));
  out->check = (int32_t)unit->check_count;
  unit->checked[unit->check_count++] = laze_node_origin(node);
  return LAZE_OK;
}

static void *take(flattening *f, int64_t count, int64_t size) {
  void *memory = laze_arena_alloc_array(&f->unit->arena, count, size);
  if (memory) memset(memory, 0, (size_t)(count * size));
  return memory;
}

/* Copies attributes; sizes become indices into the unit's sizes. */
static laze_status copy_attributes(flattening *f, const laze_node *node, interp_node *out, laze_error *error) {
  int32_t count = laze_op_get(node->op)->attribute_count;
  laze_arena *arena = &f->unit->arena;
  laze_attribute *copies = laze_arena_copy(arena, node->attributes, count * (int64_t)sizeof *copies);
  if (!copies) return laze_fail_memory(error, "attributes", -1);
  for (int32_t i = 0; i < count; i++) {
    laze_attribute *copy = &copies[i];
    int64_t bytes = laze_attribute_payload_bytes(copy), first = 0;
    if (bytes > 0) {
      void *payload = laze_arena_alloc(arena, bytes);
      if (!payload) return laze_fail_memory(error, "what an attribute refers to", bytes);
      laze_attribute_copy_payload(copy, payload);
    }
    if (!copy->present || copy->kind != LAZE_ARGUMENT_SIZE) continue;
    LAZE_TRY(add_sizes(f, &node->attributes[i].value.size, 1, &first, error));
    copy->value.size = first;
  }
  out->attributes = copies;
  return LAZE_OK;
}

/* The element functions of elementwise operators, reductions and scans. */
static laze_status find_eval(flattening *f, const laze_node *node, interp_node *out, laze_error *error) {
  const laze_op_info *info = out->info;
  if (info->combine != LAZE_OP_NONE) {
    out->eval = laze_eval_find(info->combine, laze_reduction_state(info, node->types[0]->dtype));
  } else if (info->compute != LAZE_COMPUTE_NONE) {
    laze_call call = laze_node_call(node);
    const laze_type *types[LAZE_EVAL_MAX_OPERANDS];
    laze_dtype *compute = take(f, LAZE_EVAL_MAX_OPERANDS, sizeof *compute);
    if (!compute) return laze_fail_memory(error, "an operator", -1);
    if (node->operand_count < 1 || node->operand_count > LAZE_EVAL_MAX_OPERANDS)
      return laze_fail(error, LAZE_UNSUPPORTED, "%s: the interpreter takes 1 to %d operands", info->name,
                       LAZE_EVAL_MAX_OPERANDS);
    for (int32_t i = 0; i < node->operand_count; i++) types[i] = laze_graph_type(f->graph, node->operands[i]);
    for (int32_t i = 0; i < node->operand_count; i++) compute[i] = laze_call_compute_dtype(&call, types, i);
    bool rounds = info->compute != LAZE_COMPUTE_SELECT && info->compute != LAZE_COMPUTE_CONVERT;
    out->compute = compute;
    out->computed = node->types[0]->dtype;
    if (rounds) out->computed = laze_dtype_computes(out->computed);
    out->eval = info->compute == LAZE_COMPUTE_CONVERT
                    ? laze_eval_find_conversion(types[0]->dtype, node->types[0]->dtype)
                    : laze_eval_find(node->op, compute[node->operand_count - 1]);
  } else {
    return LAZE_OK;
  }
  if (out->eval) return LAZE_OK;
  return laze_fail(error, LAZE_UNSUPPORTED, "%s: not defined for these dtypes (result %s)", info->name,
                   laze_dtype_name(node->types[0]->dtype));
}

static laze_status add_regions(flattening *f, const laze_node *node, interp_node *out, int depth, laze_error *error) {
  if (depth >= INTERP_MAX_DEPTH)
    return laze_fail(error, LAZE_UNSUPPORTED, "%s: regions nest more than %d deep", out->info->name, INTERP_MAX_DEPTH);
  out->regions = take(f, node->region_count, sizeof *out->regions);
  if (!out->regions) return laze_fail_memory(error, "regions", -1);
  LAZE_TRY(laze_grow(context_of(f), (void **)&f->pending, &f->pending_capacity, f->pending_count + node->region_count,
                     sizeof *f->pending, error));
  for (int32_t i = 0; i < node->region_count; i++)
    f->pending[f->pending_count++] = (pending_block){node->regions[i], &out->regions[i], depth + 1};
  return LAZE_OK;
}

/* Everything of a node but its operands. */
static laze_status flatten_node(flattening *f, const laze_node *node, interp_node *out, int depth, laze_error *error) {
  int32_t *results = take(f, node->result_count, sizeof *results);
  *out = (interp_node){.info = laze_op_get(node->op),
                       .op = node->op,
                       .operand_count = node->operand_count,
                       .result_count = node->result_count,
                       .first_count = node->segments ? node->segments[0] : 1,
                       .results = results,
                       .execute = interp_find_execute(node->op)};
  if (!results) return laze_fail_memory(error, "a node", -1);
  if (!out->execute && !interp_find_control(node->op))
    return laze_fail(error, LAZE_UNSUPPORTED, "%s: the interpreter has no function for it", out->info->name);
  for (int32_t i = 0; i < node->result_count; i++) LAZE_TRY(add_value(f, node->types[i], &results[i], error));
  LAZE_TRY(copy_attributes(f, node, out, error));
  LAZE_TRY(add_check(f, node, out, error));
  if (node->op == LAZE_OP_OPAQUE) LAZE_TRY(interp_find_opaque(f->unit, out, error));
  LAZE_TRY(find_eval(f, node, out, error));
  return node->region_count ? add_regions(f, node, out, depth, error) : LAZE_OK;
}

/* The unit's values for values of nodes inside regions. */
static laze_status map_values(flattening *f, const laze_value *values, int64_t count, const int32_t **out,
                              laze_error *error) {
  int32_t *mapped = take(f, count, sizeof *mapped);
  if (!mapped) return laze_fail_memory(error, "operands", -1);
  for (int64_t i = 0; i < count; i++) {
    bool inside =
        values[i].node >= f->low && values[i].node <= f->high && f->first_values[values[i].node - f->low] >= 0;
    if (!inside)
      return laze_fail(error, LAZE_INTERNAL, "a region uses value %d, which is not of its block", values[i].node);
    mapped[i] = f->first_values[values[i].node - f->low] + values[i].result;
  }
  *out = mapped;
  return LAZE_OK;
}

static laze_status flatten_block(flattening *f, pending_block block, laze_error *error) {
  const laze_block *from = block.from;
  interp_block *to = block.to;
  int32_t *parameters = take(f, from->parameter_count, sizeof *parameters);
  to->nodes = take(f, from->node_count, sizeof *to->nodes);
  if (!parameters || !to->nodes) return laze_fail_memory(error, "a region", -1);
  to->parameters = parameters;
  to->parameter_count = (int32_t)from->parameter_count;
  to->node_count = (int32_t)from->node_count;
  to->result_count = (int32_t)from->result_count;
  for (int64_t i = 0; i < from->parameter_count; i++) {
    LAZE_TRY(add_value(f, f->graph->nodes[from->parameters[i]].types[0], &parameters[i], error));
    f->first_values[from->parameters[i] - f->low] = parameters[i];
  }
  for (int64_t i = 0; i < from->node_count; i++) {
    const laze_node *node = &f->graph->nodes[from->nodes[i]];
    interp_node *flat = &to->nodes[i];
    LAZE_TRY(flatten_node(f, node, flat, block.depth, error));
    LAZE_TRY(map_values(f, node->operands, node->operand_count, &flat->operands, error));
    f->first_values[from->nodes[i] - f->low] = node->result_count ? flat->results[0] : 0;
  }
  return map_values(f, from->results, from->result_count, &to->results, error);
}

/* The range of node numbers inside a node's regions, at any depth. */
static laze_status find_range(flattening *f, laze_error *error) {
  f->low = INT64_MAX;
  f->high = -1;
  for (int64_t next = 0; next < f->pending_count; next++) {
    const laze_block *block = f->pending[next].from;
    for (int64_t i = 0; i < block->parameter_count + block->node_count; i++) {
      int64_t number = i < block->parameter_count ? block->parameters[i] : block->nodes[i - block->parameter_count];
      const laze_node *node = &f->graph->nodes[number];
      if (number < f->low) f->low = number;
      if (number > f->high) f->high = number;
      LAZE_TRY(laze_grow(context_of(f), (void **)&f->pending, &f->pending_capacity,
                         f->pending_count + node->region_count, sizeof *f->pending, error));
      for (int32_t k = 0; k < node->region_count; k++)
        f->pending[f->pending_count++] = (pending_block){.from = node->regions[k]};
    }
  }
  return LAZE_OK;
}

static laze_status flatten_regions(flattening *f, laze_error *error) {
  int64_t roots = f->pending_count;
  LAZE_TRY(find_range(f, error));
  f->pending_count = roots;
  int64_t span = f->high < f->low ? 0 : f->high - f->low + 1;
  f->first_values = laze_alloc_array(context_of(f), span, sizeof *f->first_values);
  if (!f->first_values) return laze_fail_memory(error, "a region", -1);
  for (int64_t i = 0; i < span; i++) f->first_values[i] = -1;
  for (int64_t next = 0; next < f->pending_count; next++) {
    pending_block block = f->pending[next];
    LAZE_TRY(flatten_block(f, block, error));
  }
  return LAZE_OK;
}

static laze_status flatten(flattening *f, const laze_node *node, laze_error *error) {
  int32_t *operands = take(f, node->operand_count, sizeof *operands);
  if (!operands) return laze_fail_memory(error, "a node", -1);
  for (int32_t i = 0; i < node->operand_count; i++)
    LAZE_TRY(add_value(f, laze_graph_type(f->graph, node->operands[i]), &operands[i], error));
  LAZE_TRY(flatten_node(f, node, &f->unit->root, 0, error));
  f->unit->root.operands = operands;
  f->unit->outside_count = node->operand_count + node->result_count;
  return node->region_count ? flatten_regions(f, error) : LAZE_OK;
}

/* Bytes that the arena of a node without regions takes, so that a step needs one allocation and no arena block: graphs
 * have up to millions of nodes. Constants are no steps; their elements, if any, go to a block. */
static int64_t storage_size(const laze_node *node) {
  int32_t attributes = laze_op_get(node->op)->attribute_count;
  int64_t pieces = 4, bytes = (node->operand_count + node->result_count) * (int64_t)sizeof(int32_t) +
                              LAZE_EVAL_MAX_OPERANDS * (int64_t)sizeof(laze_dtype) +
                              attributes * (int64_t)sizeof(laze_attribute);
  for (int32_t i = 0; i < attributes; i++) {
    bytes += node->attributes[i].count * (int64_t)sizeof(laze_size);
    pieces += node->attributes[i].count > 0;
  }
  return bytes + pieces * (int64_t) _Alignof(max_align_t);
}

laze_status interp_unit_create(const laze_graph *graph, const laze_node *node, interp_unit **out, laze_error *error) {
  laze_context *context = graph->context;
  int64_t storage = storage_size(node);
  interp_unit *unit = laze_alloc(context, (int64_t)sizeof *unit + storage);
  if (!unit) return laze_fail_memory(error, "a step of the interpreter", sizeof *unit);
  *unit = (interp_unit){0};
  laze_arena_init(&unit->arena, context);
  unit->storage_size = storage;
  unit->arena.cursor = unit->storage;
  unit->arena.end = unit->storage + storage;
  flattening f = {.graph = graph, .unit = unit};
  laze_status status = flatten(&f, node, error);
  laze_free(context, f.pending);
  laze_free(context, f.first_values);
  laze_trim(context, (void **)&unit->values, &unit->value_capacity, unit->value_count, sizeof *unit->values);
  laze_trim(context, (void **)&unit->sizes, &unit->size_capacity, unit->size_count, sizeof *unit->sizes);
  if (status != LAZE_OK)
    interp_unit_destroy(unit);
  else
    *out = unit;
  return status;
}

void interp_unit_destroy(void *memory) {
  interp_unit *unit = memory;
  if (!unit) return;
  laze_context *context = unit->arena.context;
  laze_free(context, unit->values);
  laze_free(context, unit->sizes);
  laze_free(context, unit->checked);
  for (interp_opaque *use = unit->opaques; use; use = use->next) laze_opaque_kernel_release(use->kernel);
  laze_arena_deinit(&unit->arena);
  laze_free(context, unit);
}

int64_t interp_unit_bytes(const interp_unit *unit) {
  return (int64_t)sizeof *unit + unit->storage_size + unit->arena.bytes +
         unit->value_capacity * (int64_t)sizeof *unit->values + unit->size_capacity * (int64_t)sizeof *unit->sizes;
}

void interp_run_unit(const interp_run *run) {
  const interp_node *root = &run->unit->root;
  if (root->execute)
    root->execute(run, root);
  else
    interp_execute_control(run, root);
}
