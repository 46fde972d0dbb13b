/* Walks the source and builds the target beside it:
 *
 *   source            values, by node and result          target
 *   %0 = exp %x       %x -> %a    (parameters copied)
 *   %1 = neg %0       %0 -> %5    (a hook recorded it)     %6 = neg %5   (copied, operands mapped)
 *
 * Types and attributes of what is copied are shared with the source until laze_graph_take moves its memory. */
#include "ir/rewrite.h"

#include "ir/attribute.h"
#include "ir/capture.h"
#include "ir/control.h"
#include "ir/defined_size.h"
#include "ir/graph_internal.h"
#include "ir/op.gen.h"

#include <string.h>

void laze_rewrite_map(laze_rewrite *rewrite, int32_t number, const laze_value *values) {
  memcpy(rewrite->values + rewrite->offsets[number], values,
         (size_t)rewrite->source->nodes[number].result_count * sizeof *values);
}

/* Maps results 0, 1, ... of a source node to those of one target node. */
static void map_node(laze_rewrite *rewrite, int32_t number, int32_t target) {
  laze_value *values = rewrite->values + rewrite->offsets[number];
  for (int32_t i = 0; i < rewrite->source->nodes[number].result_count; i++) values[i] = (laze_value){target, i};
}

/* Names of nodes and of source files may live in the source's arena, which a target of its own outlives. */
static laze_status copy_names(laze_rewrite *rewrite, laze_call *call, laze_error *error) {
  if (rewrite->target->sizes == rewrite->source->sizes) return LAZE_OK;
  if (call->name) {
    call->name = laze_arena_copy_string(&rewrite->target->arena, call->name);
    if (!call->name) return laze_fail_memory(error, "the name of a node", -1);
  }
  if (!call->location.file) return LAZE_OK;
  if (call->location.file != rewrite->file) {
    rewrite->file_copy = laze_arena_copy_string(&rewrite->target->arena, call->location.file);
    if (!rewrite->file_copy) return laze_fail_memory(error, "the name of a source file", -1);
    rewrite->file = call->location.file;
  }
  call->location.file = rewrite->file_copy;
  return LAZE_OK;
}

static laze_status import_size(laze_rewrite *rewrite, laze_size *size, laze_error *error) {
  const laze_size_table *from = rewrite->source->sizes;
  if (laze_size_is_defined(from, *size))
    return laze_size_import(rewrite->target->sizes, from, *size, rewrite->sizes, size, error);
  if (from == rewrite->target->sizes) return LAZE_OK;
  return laze_size_evaluate(from, *size, rewrite->hooks->numbers, size, error);
}

static laze_status import_sizes(laze_rewrite *rewrite, laze_size *sizes, int32_t count, laze_error *error) {
  for (int32_t i = 0; i < count; i++) LAZE_TRY(import_size(rewrite, &sizes[i], error));
  return LAZE_OK;
}

/* Has the target define what a node of the source does, where its table is its own. */
static laze_status define_sizes(laze_rewrite *rewrite, const laze_call *call, laze_error *error) {
  int32_t count;
  (void)laze_call_defined_sizes(call, &count);
  if (count == 0 || rewrite->target->sizes == rewrite->source->sizes) return LAZE_OK;
  LAZE_TRY(laze_call_define_sizes(call, rewrite->source->sizes, rewrite->target->sizes, rewrite->sizes, error));
  if (!rewrite->hooks->defined) return LAZE_OK;
  return rewrite->hooks->defined(rewrite, rewrite->hooks->self, count, error);
}

/* The call's attributes with sizes of the target's table, or with what stands for sizes that went. */
static laze_status import_attributes(laze_rewrite *rewrite, laze_call *call, laze_error *error) {
  int32_t count = laze_op_get(call->op)->attribute_count;
  laze_arena *arena = &rewrite->target->arena;
  if (!rewrite->sizes || count == 0) return LAZE_OK;
  LAZE_TRY(define_sizes(rewrite, call, error));
  laze_attribute *attributes = laze_arena_copy(arena, call->attributes, count * (int64_t)sizeof *attributes);
  if (!attributes) return laze_fail_memory(error, "attributes", -1);
  for (int32_t i = 0; i < count; i++) {
    laze_size *sizes;
    int32_t size_count;
    LAZE_TRY(laze_attribute_own_sizes(&attributes[i], arena, &sizes, &size_count, error));
    LAZE_TRY(import_sizes(rewrite, sizes, size_count, error));
  }
  call->attributes = attributes;
  return LAZE_OK;
}

laze_status laze_rewrite_call(laze_rewrite *rewrite, int32_t number, laze_call *out, laze_error *error) {
  const laze_node *node = &rewrite->source->nodes[number];
  LAZE_TRY(laze_grow(rewrite->source->context, (void **)&rewrite->operands, &rewrite->operand_capacity,
                     node->operand_count, sizeof *rewrite->operands, error));
  for (int32_t i = 0; i < node->operand_count; i++)
    rewrite->operands[i] = laze_rewrite_value(rewrite, node->operands[i]);
  *out = laze_node_call(node);
  out->operands = rewrite->operands;
  if (rewrite->target->sizes != rewrite->source->sizes) out->location.node = number + 1;
  LAZE_TRY(import_attributes(rewrite, out, error));
  return copy_names(rewrite, out, error);
}

typedef struct {
  const laze_rewrite *rewrite;
  bool replaced; /* a size was met for which another stands */
} replaced_finder;

static void look(void *self, int64_t symbol) {
  replaced_finder *finder = self;
  const laze_rewrite *rewrite = finder->rewrite;
  if (rewrite->sizes[symbol] != laze_size_symbol_at(rewrite->source->sizes, symbol)) finder->replaced = true;
}

/* Whether a node has no size for which another stands in the same table. */
static laze_status sizes_kept(const laze_rewrite *rewrite, const laze_node *node, bool *kept, laze_error *error) {
  replaced_finder finder = {rewrite, false};
  bool shared = rewrite->target->sizes == rewrite->source->sizes;
  if (shared && rewrite->sizes) LAZE_TRY(laze_node_each_defined(rewrite->source, node, look, &finder, error));
  *kept = !finder.replaced;
  return LAZE_OK;
}

/* Whether every operand has the type it had, so that the results have theirs. */
static bool operand_types_kept(const laze_rewrite *rewrite, const laze_node *node, const laze_value *operands) {
  if (rewrite->target->sizes != rewrite->source->sizes) return false;
  for (int32_t i = 0; i < node->operand_count; i++) {
    const laze_type *before = laze_graph_type(rewrite->source, node->operands[i]);
    const laze_type *now = laze_graph_type(rewrite->target, operands[i]);
    if (before != now && !laze_type_equal(before, now)) return false;
  }
  return true;
}

static laze_status copy_node(laze_rewrite *rewrite, int32_t number, laze_error *error) {
  const laze_node *node = &rewrite->source->nodes[number];
  laze_call call;
  laze_value first;
  bool kept;
  LAZE_TRY(laze_rewrite_call(rewrite, number, &call, error));
  LAZE_TRY(sizes_kept(rewrite, node, &kept, error));
  if (!kept || !operand_types_kept(rewrite, node, call.operands)) {
    laze_status status =
        laze_graph_append(rewrite->target, rewrite->block, &call, rewrite->values + rewrite->offsets[number], error);
    return status == LAZE_OK ? LAZE_OK : laze_node_name_error(node, error);
  }
  laze_node copy = *node;
  if (node->operand_count > 0)
    copy.operands =
        laze_arena_copy(&rewrite->target->arena, call.operands, node->operand_count * (int64_t)sizeof *call.operands);
  if (node->operand_count > 0 && !copy.operands) return laze_fail_memory(error, "a node", -1);
  LAZE_TRY(laze_graph_push_copy(rewrite->target, rewrite->block, &copy, &first, error));
  map_node(rewrite, number, first.node);
  return LAZE_OK;
}

/* Which region of the node at hand stands in its place, if one does. */
static laze_status choose_region(laze_rewrite *rewrite, laze_error *error) {
  int32_t region = -1;
  bool *in_place = &rewrite->in_place[rewrite->walk.block->depth + 1];
  *in_place = false;
  if (!rewrite->hooks->region) return LAZE_OK;
  LAZE_TRY(rewrite->hooks->region(rewrite, rewrite->hooks->self, rewrite->walk.node, &region, error));
  *in_place = region >= 0;
  if (*in_place) laze_walk_choose(&rewrite->walk, region);
  return LAZE_OK;
}

/* The parameters of a region in its node's place are the node's operands. */
static void map_parameters(laze_rewrite *rewrite) {
  const laze_block *block = rewrite->walk.block;
  const laze_node *node = &rewrite->source->nodes[laze_walk_owner(&rewrite->walk)];
  for (int32_t i = 0; i < block->parameter_count; i++) {
    bool sliced;
    int32_t operand = laze_control_parameter_operand(node, i, &sliced);
    laze_value value = laze_rewrite_value(rewrite, node->operands[operand]);
    laze_rewrite_map(rewrite, block->parameters[i], &value);
  }
}

/* The sizes that node `number` defines, whose region stands in its place, are those of what the region returns. */
static laze_status replace_sizes(laze_rewrite *rewrite, int32_t number, laze_error *error) {
  const laze_node *node = &rewrite->source->nodes[number];
  laze_size_table *sizes = rewrite->target->sizes;
  laze_call call = laze_node_call(node);
  int32_t count;
  const laze_size *defined = laze_call_defined_sizes(&call, &count);
  if (count > 0 && !rewrite->sizes) {
    int64_t symbols = laze_size_symbol_count(sizes);
    rewrite->sizes = laze_alloc_array(rewrite->source->context, symbols, sizeof *rewrite->sizes);
    if (!rewrite->sizes) return laze_fail_memory(error, "the sizes of a graph", -1);
    for (int64_t i = 0; i < symbols; i++) rewrite->sizes[i] = laze_size_symbol_at(sizes, i);
  }
  for (int32_t i = 0; i < count; i++) {
    int axis;
    laze_value value = {number, 0};
    laze_control_defined_place(node, i, &value.result, &axis);
    const laze_type *type = laze_graph_type(rewrite->target, laze_rewrite_value(rewrite, value));
    rewrite->sizes[laze_size_get(sizes, defined[i])->symbol] = type->sizes[axis];
  }
  return LAZE_OK;
}

/* And its results what the region returns. */
static laze_status map_results(laze_rewrite *rewrite, laze_error *error) {
  const laze_block *block = rewrite->walk.block;
  const laze_walk_frame *frame = &rewrite->walk.frames[rewrite->walk.depth - 1];
  int32_t number = frame->block->nodes[frame->next];
  laze_value *values = rewrite->values + rewrite->offsets[number];
  for (int64_t i = 0; i < block->result_count; i++) values[i] = laze_rewrite_value(rewrite, block->results[i]);
  return replace_sizes(rewrite, number, error);
}

static laze_status visit_node(laze_rewrite *rewrite, laze_error *error) {
  const laze_node *node = &rewrite->source->nodes[rewrite->walk.node];
  const laze_rewrite_hooks *hooks = rewrite->hooks;
  bool replaced = false;
  if (hooks->keep && !hooks->keep(rewrite, hooks->self, rewrite->walk.node)) {
    laze_walk_skip(&rewrite->walk);
    return LAZE_OK;
  }
  if (node->region_count > LAZE_MAX_REGIONS)
    return laze_fail(error, LAZE_INTERNAL, "%s: more regions than a rewrite holds", laze_op_get(node->op)->name);
  if (node->region_count > 0) LAZE_TRY(choose_region(rewrite, error));
  if (node->region_count > 0 && !rewrite->in_place[rewrite->walk.block->depth + 1] && hooks->open)
    return hooks->open(rewrite, hooks->self, rewrite->walk.node, error);
  if (node->region_count > 0) return LAZE_OK;
  if (hooks->node) LAZE_TRY(hooks->node(rewrite, hooks->self, rewrite->walk.node, &replaced, error));
  return replaced ? LAZE_OK : copy_node(rewrite, rewrite->walk.node, error);
}

static laze_status copy_parameter(laze_rewrite *rewrite, int32_t index, laze_error *error) {
  int32_t number = rewrite->walk.block->parameters[index];
  const laze_node *node = &rewrite->source->nodes[number];
  laze_type type = *node->types[0];
  laze_value value;
  if (rewrite->sizes) LAZE_TRY(import_sizes(rewrite, type.sizes, type.rank, error));
  if (rewrite->hooks->parameter)
    LAZE_TRY(rewrite->hooks->parameter(rewrite, rewrite->hooks->self, index, &type, error));
  if (rewrite->hooks->parameter || rewrite->sizes)
    LAZE_TRY(laze_graph_add_parameter(rewrite->target, rewrite->block, node->name, &type, &value, error));
  else
    LAZE_TRY(laze_graph_push_copy(rewrite->target, rewrite->block, node, &value, error));
  map_node(rewrite, number, value.node);
  return LAZE_OK;
}

static laze_status enter_block(laze_rewrite *rewrite, laze_error *error) {
  int depth = rewrite->walk.block->depth;
  if (depth > 0 && rewrite->in_place[depth]) {
    map_parameters(rewrite);
    return LAZE_OK;
  }
  if (depth == 0) {
    rewrite->block = rewrite->target->body;
  } else {
    /* The walk has already counted this region. */
    int32_t region = rewrite->walk.frames[rewrite->walk.depth - 2].region - 1;
    LAZE_TRY(laze_graph_add_region(rewrite->target, rewrite->block, &rewrite->block, error));
    rewrite->regions[depth][region] = rewrite->block;
  }
  for (int32_t i = 0; i < rewrite->walk.block->parameter_count; i++) LAZE_TRY(copy_parameter(rewrite, i, error));
  return LAZE_OK;
}

static laze_status leave_block(laze_rewrite *rewrite, laze_error *error) {
  const laze_block *block = rewrite->walk.block;
  if (block->depth > 0 && rewrite->in_place[block->depth]) return map_results(rewrite, error);
  LAZE_TRY(laze_grow(rewrite->source->context, (void **)&rewrite->operands, &rewrite->operand_capacity,
                     block->result_count, sizeof *rewrite->operands, error));
  for (int64_t i = 0; i < block->result_count; i++)
    rewrite->operands[i] = laze_rewrite_value(rewrite, block->results[i]);
  LAZE_TRY(laze_block_set_results(rewrite->target, rewrite->block, rewrite->operands, block->result_count, error));
  rewrite->block = rewrite->block->parent;
  return LAZE_OK;
}

static laze_status finish_regions(laze_rewrite *rewrite, laze_error *error) {
  int32_t number = rewrite->walk.node;
  int depth = rewrite->walk.block->depth + 1;
  laze_block *const *regions = rewrite->regions[depth];
  bool replaced = rewrite->in_place[depth];
  laze_call call;
  laze_value first;
  if (!replaced && rewrite->hooks->close)
    LAZE_TRY(rewrite->hooks->close(rewrite, rewrite->hooks->self, number, regions, &replaced, error));
  if (replaced) return LAZE_OK;
  LAZE_TRY(laze_rewrite_call(rewrite, number, &call, error));
  LAZE_TRY(laze_graph_append_region_node(rewrite->target, rewrite->block, &call, regions, &first, error));
  map_node(rewrite, number, first.node);
  return LAZE_OK;
}

static laze_status run(laze_rewrite *rewrite, laze_error *error) {
  laze_walk_begin(&rewrite->walk, rewrite->source);
  for (;;) {
    switch (laze_walk_next(&rewrite->walk)) {
    case LAZE_WALK_BLOCK: LAZE_TRY(enter_block(rewrite, error)); break;
    case LAZE_WALK_NODE: LAZE_TRY(visit_node(rewrite, error)); break;
    case LAZE_WALK_NODE_END: LAZE_TRY(finish_regions(rewrite, error)); break;
    case LAZE_WALK_BLOCK_END: LAZE_TRY(leave_block(rewrite, error)); break;
    default: return LAZE_OK;
    }
  }
}

/* What a composite asked while it expanded is in no node: the target's table takes it along. */
static laze_status carry_facts(laze_rewrite *rewrite, laze_error *error) {
  const laze_fact *carried;
  for (int64_t i = 0; rewrite->sizes && (carried = laze_size_carried_fact(rewrite->source->sizes, i)); i++) {
    laze_fact fact = *carried;
    LAZE_TRY(import_size(rewrite, &fact.a, error));
    LAZE_TRY(import_size(rewrite, &fact.b, error));
    if (rewrite->hooks->fact) LAZE_TRY(rewrite->hooks->fact(rewrite, rewrite->hooks->self, &fact, error));
    LAZE_TRY(laze_size_carry_fact(rewrite->target->sizes, fact, error));
  }
  return LAZE_OK;
}

/* The map, with room for every result, in one piece of memory. */
static laze_status make_map(laze_rewrite *rewrite, void **memory, laze_error *error) {
  const laze_graph *source = rewrite->source;
  int64_t results = 0, count = source->node_count;
  for (int64_t i = 0; i < count; i++) results += source->nodes[i].result_count;
  *memory = laze_alloc(source->context, count * (int64_t)sizeof(int64_t) + results * (int64_t)sizeof(laze_value));
  if (!*memory) return laze_fail_memory(error, "a pass's map of values", -1);
  rewrite->offsets = *memory;
  rewrite->values = (laze_value *)(void *)(rewrite->offsets + count);
  results = 0;
  for (int64_t i = 0; i < count; i++) {
    rewrite->offsets[i] = results;
    results += source->nodes[i].result_count;
  }
  return LAZE_OK;
}

/* What stands for the source's symbols, in a table of the target's own. */
static laze_status map_symbols(laze_rewrite *rewrite, laze_error *error) {
  const laze_graph *source = rewrite->source;
  int64_t count = laze_size_symbol_count(source->sizes);
  const int64_t *numbers = rewrite->hooks->numbers;
  if (count == 0 || rewrite->target->sizes == source->sizes) return LAZE_OK;
  if (!numbers && count > laze_size_defined_count(source->sizes))
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "graph %s: has symbolic sizes; give them numbers first",
                     source->name);
  rewrite->sizes = laze_alloc_array(source->context, count, sizeof *rewrite->sizes);
  if (!rewrite->sizes) return laze_fail_memory(error, "the sizes of a graph", -1);
  for (int64_t i = 0; i < count; i++) rewrite->sizes[i] = numbers ? laze_size_from_number(numbers[i]) : 0;
  return LAZE_OK;
}

laze_status laze_rewrite_graph(const laze_graph *source, const laze_rewrite_hooks *hooks, bool share_sizes,
                               laze_graph **out, laze_error *error) {
  laze_rewrite rewrite;
  void *memory = NULL;
  rewrite.source = source;
  rewrite.hooks = hooks;
  rewrite.target = NULL;
  rewrite.file = rewrite.file_copy = NULL;
  rewrite.operands = NULL;
  rewrite.sizes = NULL;
  rewrite.operand_capacity = 0;
  LAZE_TRY(laze_graph_create_sharing(source->context, source->name, share_sizes ? source->sizes : NULL, &rewrite.target,
                                     error));
  laze_status status = laze_grow(source->context, (void **)&rewrite.target->nodes, &rewrite.target->node_capacity,
                                 source->node_count, sizeof(laze_node), error);
  if (status == LAZE_OK) status = make_map(&rewrite, &memory, error);
  if (status == LAZE_OK) status = map_symbols(&rewrite, error);
  if (status == LAZE_OK) status = run(&rewrite, error);
  if (status == LAZE_OK) status = carry_facts(&rewrite, error);
  laze_free(source->context, memory);
  laze_free(source->context, rewrite.sizes);
  laze_free(source->context, rewrite.operands);
  if (status == LAZE_OK)
    *out = rewrite.target;
  else
    laze_graph_destroy(rewrite.target);
  return status;
}
