/* A graph as a program: its values, numbered when they are first asked for, and a step for each group or node.
 *
 *   graph                                   program
 *     %0 = mm %x, %w                          value 0 input, 1 input, 2 output, 3 temporary
 *     %1 = add %0, %b  (returned)             step 0: the kernel of a group    reads 0, 1   writes 3
 *                                             step 1: ...
 *
 * Last it says which outputs fail with which nodes.
 */
#include "codegen/program_builder.h"

#include "codegen/interp/interp.h"
#include "codegen/node_site.h"
#include "codegen/schedule/join.h"
#include "codegen/schedule/routine.h"
#include "codegen/schedule/schedule.h"
#include "ir/control.h"
#include "ir/defined_size.h"
#include "ir/op.gen.h"
#include "ir/walk.h"
#include "runtime/copy_kernel.h"

#include <stdlib.h>
#include <string.h>

static int32_t *slot(const laze_program_builder *builder, laze_value value) {
  return &builder->values[builder->first[value.node] + value.result];
}

static laze_status number_values(laze_program_builder *builder, laze_error *error) {
  int64_t total = 0, count = builder->graph->node_count;
  builder->first = laze_arena_alloc_array(&builder->arena, count, sizeof *builder->first);
  if (!builder->first) return laze_fail_memory(error, "the values of a graph", -1);
  for (int64_t i = 0; i < count; i++) {
    builder->first[i] = total;
    total += builder->graph->nodes[i].result_count;
  }
  builder->values = laze_arena_alloc_array(&builder->arena, total, sizeof *builder->values);
  if (!builder->values) return laze_fail_memory(error, "the values of a graph", -1);
  for (int64_t i = 0; i < total; i++) builder->values[i] = -1;
  return LAZE_OK;
}

static laze_status add_value(const laze_program_builder *builder, laze_value_role role, laze_value value,
                             laze_error *error) {
  const laze_node *node = laze_graph_node(builder->graph, value);
  static const laze_type nothing = {.kind = LAZE_TYPE_TENSOR, .dtype = LAZE_BOOL, .rank = 1};
  const void *data = role == LAZE_ROLE_CONSTANT ? laze_node_constant(node)->bytes : NULL;
  const laze_type *type = node->types[value.result];
  if (type->kind == LAZE_TYPE_NONE) type = &nothing; /* an absent result is a value without elements */
  return laze_program_add_value(builder->program, role, type, data, slot(builder, value), error);
}

/* An input or constant that is returned, or a value returned twice, is one value under several output numbers. */
static laze_status add_outputs(laze_program_builder *builder, laze_error *error) {
  const laze_block *body = builder->graph->body;
  for (int64_t i = 0; i < body->result_count; i++) {
    laze_value value = body->results[i];
    bool constant = laze_node_constant(laze_graph_node(builder->graph, value)) != NULL;
    if (*slot(builder, value) < 0 && !constant) {
      LAZE_TRY(add_value(builder, LAZE_ROLE_OUTPUT, value, error));
      continue;
    }
    int32_t number;
    LAZE_TRY(laze_program_builder_value(builder, value, &number, error));
    LAZE_TRY(laze_program_add_output_alias(builder->program, number, error));
  }
  return LAZE_OK;
}

/* What a run executes, however the backend groups it: every node of the body but constants. */
static int64_t count_executed(const laze_graph *graph) {
  int64_t count = graph->body->node_count;
  for (int64_t i = 0; i < graph->body->node_count; i++)
    count -= laze_node_constant(&graph->nodes[graph->body->nodes[i]]) != NULL;
  return count;
}

/* Nodes that may fail, and which outputs fail with them. */

enum { MAX_CHECKED = 4096 }; /* of more, every output is taken to need each: looking is quadratic */

static int compare_numbers(const void *a, const void *b) {
  int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
  return (x > y) - (x < y);
}

/* Lists the numbers, in the graph that was compiled, of nodes that may fail: ascending, each once. */
static laze_status list_checked(laze_program_builder *builder, int32_t **out, int64_t *count, laze_error *error) {
  const laze_graph *graph = builder->graph;
  int64_t found = 0, kept = 0;
  for (int64_t i = 0; i < graph->node_count; i++)
    found += laze_op_get(graph->nodes[i].op)->effect == LAZE_EFFECT_MAY_FAIL;
  *count = 0;
  *out = laze_arena_alloc_array(&builder->arena, found, sizeof **out);
  if (!*out) return laze_fail_memory(error, "the checks of a graph", -1);
  if (found == 0) return LAZE_OK;
  for (int64_t i = 0; i < graph->node_count; i++)
    if (laze_op_get(graph->nodes[i].op)->effect == LAZE_EFFECT_MAY_FAIL)
      (*out)[(*count)++] = graph->nodes[i].location.node;
  qsort(*out, (size_t)*count, sizeof **out, compare_numbers);
  for (int64_t i = 0; i < *count; i++)
    if (kept == 0 || (*out)[kept - 1] != (*out)[i]) (*out)[kept++] = (*out)[i];
  *count = kept;
  return LAZE_OK;
}

/* A node's mask with those of the definers of its sizes. */
typedef struct {
  const int32_t *definers;
  const uint64_t *masks;
  uint64_t mask;
} size_masks;

static void add_definer_mask(void *self, int64_t symbol) {
  size_masks *sizes = self;
  sizes->mask |= sizes->masks[sizes->definers[symbol]];
}

/* Bit k of masks[node]: the node, or what it needs, may fail as numbers[k], of at most 64. No regions. */
static laze_status spread(const laze_program_builder *builder, const int32_t *numbers, int64_t count, uint64_t *masks,
                          laze_error *error) {
  const laze_graph *graph = builder->graph;
  const laze_block *body = graph->body;
  memset(masks, 0, (size_t)graph->node_count * sizeof *masks);
  for (int64_t n = 0; n < body->node_count; n++) {
    const laze_node *node = &graph->nodes[body->nodes[n]];
    uint64_t *mask = &masks[body->nodes[n]];
    size_masks sizes = {builder->definers, masks, 0};
    LAZE_TRY(laze_node_each_defined(graph, node, add_definer_mask, &sizes, error));
    *mask = sizes.mask;
    for (int32_t i = 0; i < node->operand_count; i++) *mask |= masks[node->operands[i].node];
    if (laze_op_get(node->op)->effect != LAZE_EFFECT_MAY_FAIL) continue;
    for (int64_t k = 0; k < count; k++)
      if (numbers[k] == node->location.node) *mask |= (uint64_t)1 << k;
  }
  return LAZE_OK;
}

static bool has_regions(const laze_graph *graph) {
  for (int64_t i = 0; i < graph->node_count; i++)
    if (graph->nodes[i].region_count > 0) return true;
  return false;
}

static laze_status set_checks(laze_program_builder *builder, laze_error *error) {
  const laze_graph *graph = builder->graph;
  int32_t *checked;
  int64_t count;
  LAZE_TRY(list_checked(builder, &checked, &count, error));
  /* After a failure regions do not run, and what they would give is missing whatever it needs. */
  if (count == 0 || count > MAX_CHECKED || has_regions(graph))
    return laze_program_set_checks(builder->program, checked, count, NULL, error);
  int64_t words = (count + 63) / 64, results = graph->body->result_count;
  uint64_t *masks = laze_arena_alloc_array(&builder->arena, graph->node_count, sizeof *masks);
  uint64_t *depends = laze_arena_alloc_array(&builder->arena, results, words * (int64_t)sizeof *depends);
  if (!masks || !depends) return laze_fail_memory(error, "the checks of a graph", -1);
  for (int64_t w = 0; w < words; w++) {
    LAZE_TRY(spread(builder, checked + 64 * w, count - 64 * w < 64 ? count - 64 * w : 64, masks, error));
    for (int64_t i = 0; i < results; i++) depends[i * words + w] = masks[graph->body->results[i].node];
  }
  return laze_program_set_checks(builder->program, checked, count, depends, error);
}

/* A `reduce` runs its region for each element: one kernel, or one step of the interpreter, whose memory is planned. */
static laze_status find_definers(laze_program_builder *builder, laze_error *error) {
  const laze_graph *graph = builder->graph;
  int reduces = 0; /* around the node at hand */
  LAZE_TRY(laze_graph_find_definers(graph, &builder->arena, &builder->definers, error));
  if (laze_size_defined_count(graph->sizes) == 0) return LAZE_OK;
  laze_walk walk;
  laze_walk_begin(&walk, graph);
  for (laze_walk_event event; (event = laze_walk_next(&walk)) != LAZE_WALK_DONE;) {
    if (event != LAZE_WALK_NODE && event != LAZE_WALK_NODE_END) continue;
    const laze_node *node = &graph->nodes[walk.node];
    laze_site site = laze_node_site(node);
    if (node->op == LAZE_OP_REDUCE) reduces += event == LAZE_WALK_NODE ? 1 : -1;
    if (event == LAZE_WALK_NODE_END || reduces == 0 || !laze_node_defines_size(node)) continue;
    laze_status status = laze_fail(
        error, LAZE_UNSUPPORTED,
        "a size is defined in a region of reduce, which runs for each element and whose memory is planned before; "
        "define the size before the reduce, or go along the axis with scan");
    (void)laze_site_name(error, &site);
    return status;
  }
  return LAZE_OK;
}

laze_status laze_program_builder_begin(laze_program_builder *builder, const laze_graph *graph, laze_error *error) {
  laze_size_table *sizes;
  memset(builder, 0, sizeof *builder);
  builder->graph = graph;
  laze_arena_init(&builder->arena, graph->context);
  LAZE_TRY(laze_size_table_copy(graph->sizes, &sizes, error));
  LAZE_TRY(laze_program_create(graph->context, sizes, &builder->program, error));
  LAZE_TRY(find_definers(builder, error));
  LAZE_TRY(number_values(builder, error));
  laze_program_set_node_count(builder->program, count_executed(graph));
  for (int64_t i = 0; i < graph->body->parameter_count; i++)
    LAZE_TRY(add_value(builder, LAZE_ROLE_INPUT, (laze_value){graph->body->parameters[i], 0}, error));
  LAZE_TRY(add_outputs(builder, error));
  return set_checks(builder, error);
}

laze_status laze_program_builder_value(laze_program_builder *builder, laze_value value, int32_t *out,
                                       laze_error *error) {
  bool constant = laze_node_constant(laze_graph_node(builder->graph, value)) != NULL;
  if (*slot(builder, value) < 0)
    LAZE_TRY(add_value(builder, constant ? LAZE_ROLE_CONSTANT : LAZE_ROLE_TEMPORARY, value, error));
  *out = *slot(builder, value);
  return LAZE_OK;
}

/* Steps */

laze_status laze_program_builder_add_node(laze_program_builder *builder, int32_t number, const char *why,
                                          laze_error *error) {
  const laze_node *node = &builder->graph->nodes[number];
  int32_t *operands = laze_arena_alloc_array(&builder->arena, node->operand_count, sizeof *operands);
  if (laze_node_reads_size(node)) return laze_program_builder_add_definer(builder, number, error);
  int32_t *results = laze_arena_alloc_array(&builder->arena, node->result_count, sizeof *results);
  if (!operands || !results) return laze_fail_memory(error, "a step", -1);
  for (int32_t i = 0; i < node->operand_count; i++)
    LAZE_TRY(laze_program_builder_value(builder, node->operands[i], &operands[i], error));
  for (int32_t i = 0; i < node->result_count; i++)
    LAZE_TRY(laze_program_builder_value(builder, (laze_value){number, i}, &results[i], error));
  return laze_interp_add_step(builder->program, builder->graph, node, operands, results, why, error);
}

/* The sizes that a node defines, in the program's table. */
static laze_status find_defined(const laze_program_builder *builder, const laze_node *node, laze_step_size *out,
                                laze_error *error) {
  laze_call call = laze_node_call(node);
  int32_t count;
  const laze_size *sizes = laze_call_defined_sizes(&call, &count);
  for (int32_t i = 0; i < count; i++) {
    out[i] = (laze_step_size){0};
    if (node->region_count > 0) laze_control_defined_place(node, i, &out[i].result, &out[i].axis);
    LAZE_TRY(laze_size_import(laze_program_sizes(builder->program), builder->graph->sizes, sizes[i], NULL, &out[i].size,
                              error));
  }
  return LAZE_OK;
}

laze_status laze_program_builder_add_definer(laze_program_builder *builder, int32_t number, laze_error *error) {
  const laze_node *node = &builder->graph->nodes[number];
  const laze_size index = node->attributes[LAZE_SIZE_FROM_INDEX].value.integer;
  const laze_origin origin = laze_node_origin(node);
  laze_step_size defines;
  int32_t buffers[2];
  laze_step step = {.buffers = buffers,
                    .buffer_count = 2,
                    .write_count = 1,
                    .sizes = &index,
                    .size_count = 1,
                    .domain = 1,
                    .defines = &defines,
                    .define_count = 1,
                    .label = laze_op_get(node->op)->name,
                    .origins = &origin,
                    .origin_count = 1};
  LAZE_TRY(laze_program_builder_value(builder, node->operands[0], &buffers[0], error));
  LAZE_TRY(laze_program_builder_value(builder, (laze_value){number, 0}, &buffers[1], error));
  LAZE_TRY(find_defined(builder, node, &defines, error));
  return laze_program_add_step(builder->program, &step, error);
}

/* The place of a node among those of the group. */
static int32_t place_of(const laze_group *group, int32_t node) {
  int32_t place = 0;
  while (place < group->node_count - 1 && group->nodes[place].node != node) place++;
  return place;
}

/* Where what the step computes, writes and checks comes from. */
static laze_status add_origins(const laze_program_builder *builder, laze_arena *arena, const laze_group *group,
                               laze_step *step, laze_error *error) {
  laze_origin *origins = laze_arena_alloc_array(arena, group->node_count, sizeof *origins);
  int32_t *makers = laze_arena_alloc_array(arena, group->write_count, sizeof *makers);
  int32_t *checks = laze_arena_alloc_array(arena, group->check_count, sizeof *checks);
  if (!origins || !makers || !checks) return laze_fail_memory(error, "a step", -1);
  for (int32_t i = 0; i < group->node_count; i++)
    origins[i] = laze_node_origin(&builder->graph->nodes[group->nodes[i].node]);
  for (int32_t i = 0; i < group->write_count; i++) makers[i] = place_of(group, group->writes[i].node);
  for (int32_t i = 0; i < group->check_count; i++) checks[i] = place_of(group, group->checked[i]);
  step->origins = origins;
  step->origin_count = group->node_count;
  step->makers = makers;
  step->checks = checks;
  step->check_count = group->check_count;
  return LAZE_OK;
}

static laze_status add_kernel_step(laze_program_builder *builder, const laze_group *group, laze_kernel *kernel,
                                   laze_error *error) {
  int32_t count = group->read_count + group->write_count;
  int32_t *buffers = laze_arena_alloc_array(&builder->arena, count, sizeof *buffers);
  if (!buffers) return laze_fail_memory(error, "a step", -1);
  for (int32_t i = 0; i < count; i++) {
    laze_value value = i < group->read_count ? group->reads[i] : group->writes[i - group->read_count];
    LAZE_TRY(laze_program_builder_value(builder, value, &buffers[i], error));
  }
  laze_step step = {.kernel = kernel,
                    .buffers = buffers,
                    .buffer_count = count,
                    .write_count = group->write_count,
                    .sizes = group->sizes,
                    .size_count = group->size_count,
                    .domain = group->domain,
                    .scratch = group->scratch,
                    .rows = group->rows,
                    .bytes = group->bytes,
                    .label = group->label};
  if (group->updates) {
    step.updates = true;
    LAZE_TRY(laze_program_builder_value(builder, group->updated, &step.updated, error));
  }
  LAZE_TRY(add_origins(builder, &builder->arena, group, &step, error));
  LAZE_TRY(laze_size_estimate(laze_program_sizes(builder->program), LAZE_SIZE_ADD, group->bytes, group->operations,
                              &step.work, error));
  return laze_program_add_step(builder->program, &step, error);
}

/* The numbers of values in the program, in scratch. */
static laze_status number_all(laze_program_builder *builder, const laze_value *values, int64_t count, int32_t **out,
                              laze_error *error) {
  *out = laze_arena_alloc_array(&builder->arena, count, sizeof **out);
  if (!*out) return laze_fail_memory(error, "a step", -1);
  for (int64_t i = 0; i < count; i++) LAZE_TRY(laze_program_builder_value(builder, values[i], &(*out)[i], error));
  return LAZE_OK;
}

/* The step's integers: how many of the operands its first argument is, and the size of the last operand's first axis,
 * along which a `scan` goes. */
static void find_control_sizes(const laze_program_builder *builder, const laze_node *node, laze_size sizes[2]) {
  const laze_type *last = laze_graph_type(builder->graph, node->operands[node->operand_count - 1]);
  sizes[0] = node->segments ? node->segments[0] : 1;
  sizes[1] = last->rank > 0 ? last->sizes[0] : 1;
}

static laze_status add_control_step(laze_program_builder *builder, int32_t number, laze_error *error) {
  const laze_node *node = &builder->graph->nodes[number];
  const laze_origin origin = laze_node_origin(node);
  laze_call call = laze_node_call(node);
  int32_t count = node->operand_count + node->result_count, defined, *buffers;
  laze_size sizes[2];
  laze_value *values = laze_arena_alloc_array(&builder->arena, count, sizeof *values);
  (void)laze_call_defined_sizes(&call, &defined);
  laze_step_size *defines = laze_arena_alloc_array(&builder->arena, defined, sizeof *defines);
  if (!values || !defines) return laze_fail_memory(error, "a step", -1);
  for (int32_t i = 0; i < count; i++)
    values[i] = i < node->operand_count ? node->operands[i] : (laze_value){number, i - node->operand_count};
  LAZE_TRY(number_all(builder, values, count, &buffers, error));
  LAZE_TRY(find_defined(builder, node, defines, error));
  find_control_sizes(builder, node, sizes);
  laze_step step = {.buffers = buffers,
                    .buffer_count = count,
                    .write_count = node->result_count,
                    .sizes = sizes,
                    .size_count = 2,
                    .domain = 1,
                    .label = laze_op_get(node->op)->name,
                    .origins = &origin,
                    .origin_count = 1,
                    .needs_success = true,
                    .defines = defines,
                    .define_count = defined,
                    .control = laze_schedule_join_of(node->op)->control,
                    .region_count = node->region_count};
  return laze_program_begin_control(builder->program, &step, error);
}

static laze_status begin_region(laze_program_builder *builder, const laze_block *block, laze_error *error) {
  int32_t *parameters = laze_arena_alloc_array(&builder->arena, block->parameter_count, sizeof *parameters);
  if (!parameters) return laze_fail_memory(error, "a region", -1);
  for (int64_t i = 0; i < block->parameter_count; i++) {
    laze_value value = {block->parameters[i], 0};
    LAZE_TRY(add_value(builder, LAZE_ROLE_PARAMETER, value, error));
    parameters[i] = *slot(builder, value);
  }
  return laze_program_begin_region(builder->program, parameters, (int32_t)block->parameter_count, error);
}

static laze_status end_region(laze_program_builder *builder, const laze_block *block, laze_error *error) {
  int32_t *results;
  LAZE_TRY(number_all(builder, block->results, block->result_count, &results, error));
  return laze_program_end_region(builder->program, results, (int32_t)block->result_count, error);
}

laze_status laze_program_builder_begin_control(laze_program_builder *builder, int32_t number, laze_error *error) {
  LAZE_TRY(add_control_step(builder, number, error));
  builder->open[builder->open_count].node = number;
  builder->open[builder->open_count].ends = NULL;
  builder->open[builder->open_count++].region = 0;
  return begin_region(builder, builder->graph->nodes[number].regions[0], error);
}

static laze_status add_group(laze_program_builder *builder, const laze_group *group, laze_kernel *kernel,
                             laze_error *error) {
  if (kernel) return add_kernel_step(builder, group, kernel, error);
  if (group->defines_size) return laze_program_builder_add_definer(builder, group->root.node, error);
  if (group->interpreted) return laze_program_builder_add_node(builder, group->root.node, group->interpreted, error);
  if (group->control) {
    LAZE_TRY(laze_program_builder_begin_control(builder, group->root.node, error));
    builder->open[builder->open_count - 1].ends = group->region_ends;
    return LAZE_OK;
  }
  const laze_node *node = laze_graph_node(builder->graph, group->root);
  if (group->routine && !group->routine->create)
    return laze_program_builder_add_node(builder, group->root.node, NULL, error);
  if (group->routine)
    LAZE_TRY(group->routine->create(builder->graph, node, group->write_count, &kernel, error));
  else
    LAZE_TRY(laze_copy_kernel_create(builder->graph->context, &kernel, error));
  laze_status status = add_kernel_step(builder, group, kernel, error);
  laze_kernel_release(kernel);
  return status;
}

laze_status laze_program_builder_end_region(laze_program_builder *builder, laze_error *error) {
  int32_t top = builder->open_count - 1;
  const laze_node *node = &builder->graph->nodes[builder->open[top].node];
  LAZE_TRY(end_region(builder, node->regions[builder->open[top].region], error));
  if (++builder->open[top].region < node->region_count)
    return begin_region(builder, node->regions[builder->open[top].region], error);
  builder->open_count--;
  return laze_program_end_control(builder->program, error);
}

static bool ends_region(const laze_program_builder *builder) {
  int32_t top = builder->open_count - 1;
  return top >= 0 && builder->open[top].ends[builder->open[top].region] == builder->group_count;
}

laze_status laze_program_builder_add_group(laze_program_builder *builder, const laze_group *group, laze_kernel *kernel,
                                           laze_error *error) {
  LAZE_TRY(add_group(builder, group, kernel, error));
  builder->group_count++;
  while (ends_region(builder)) LAZE_TRY(laze_program_builder_end_region(builder, error));
  return LAZE_OK;
}

laze_status laze_program_builder_end(laze_program_builder *builder, laze_status status, laze_program **out,
                                     laze_error *error) {
  if (status == LAZE_OK) status = laze_program_find_stages(builder->program, error);
  laze_arena_deinit(&builder->arena);
  *out = status == LAZE_OK ? builder->program : NULL;
  if (status == LAZE_OK) laze_program_finish(builder->program);
  if (status != LAZE_OK) laze_program_release(builder->program);
  builder->program = NULL;
  return status;
}
