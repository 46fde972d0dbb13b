/* Groups that fold a tensor by a region, in loop IR: its states are variables, and the region, which sees single
 * elements, is what a loop over the reduced axes does with them, in their order.
 *
 *   %0 = reduce %x, [%i], dim=[1] (%a, %b) { %1 = add %a, %b  return %1 }
 *
 *   for each kept axis                    RANGE on the outermost; LANES on the innermost where no reduced one follows
 *     state = %i
 *     for each reduced axis               ascending
 *       state = state + x[...]
 *     result[...] = state
 *
 * Kept and reduced axes that lie side by side are one loop. A region that does more than compute single elements is
 * scanned (rows.c). Both branches of an `if` in it are computed, which costs little and cannot fail, and `where`
 * takes of the two.
 */
#include "codegen/schedule/emit.h"
#include "codegen/schedule/group.h"
#include "codegen/schedule/join.h"
#include "codegen/schedule/kind.h"
#include "codegen/schedule/rows.h"
#include "ir/control.h"
#include "ir/op.h"
#include "ir/op.gen.h"
#include "ir/walk.h"

static bool is_single(const laze_type *type) {
  for (int axis = 0; axis < type->rank; axis++)
    if (type->sizes[axis] != 1) return false;
  return true;
}

/* Why loops cannot do what a region's node does; NULL: they can. */
static const char *find_node_refusal(const laze_graph *graph, const laze_node *node) {
  const laze_join *join = laze_schedule_join_of(node->op);
  if (node->region_count > 0 && node->op != LAZE_OP_IF) return "its region holds a loop";
  for (int32_t i = 0; i < node->result_count; i++)
    if (!is_single(node->types[i])) return "its region makes more than single elements";
  if (node->op == LAZE_OP_IF || laze_node_constant(node) || node->op == LAZE_OP_SIZE_TENSOR) return NULL;
  if (!join->computes && !join->pass_through) return "its region does more than compute elements";
  for (int32_t i = 0; i < node->operand_count; i++)
    if (!is_single(laze_graph_type(graph, node->operands[i]))) return "its region makes more than single elements";
  return node->operand_count <= LAZE_MAX_OPERANDS ? NULL : "its region calls an operator of too many operands";
}

const char *laze_schedule_find_fold_refusal(const laze_graph *graph, const laze_node *node) {
  const char *refusal = NULL;
  laze_walk walk;
  if (!laze_schedule_join_of(node->op)->folds) return NULL;
  laze_walk_begin_block(&walk, graph, node->regions[0]);
  for (laze_walk_event event; !refusal && (event = laze_walk_next(&walk)) != LAZE_WALK_DONE;)
    if (event == LAZE_WALK_NODE) refusal = find_node_refusal(graph, &graph->nodes[walk.node]);
  return refusal;
}

static laze_status claim(laze_scheduler *scheduler, int32_t node_index, laze_split why, bool *done,
                         const char **refusal) {
  const laze_node *node = &scheduler->graph->nodes[node_index];
  laze_group_builder *group = NULL;
  (void)why; /* it would be stored in any case */
  if (!laze_schedule_join_of(node->op)->folds) return LAZE_OK;
  *refusal = laze_schedule_find_fold_refusal(scheduler->graph, node);
  if (*refusal) return LAZE_OK;
  *done = true;
  return laze_schedule_store_node(scheduler, LAZE_GROUP_FOLD, node_index, &group);
}

/* Axes of the operand, joined where they lie side by side and are alike. */
typedef struct {
  laze_size extent, stride, kept_stride; /* in the operand; in the results */
  bool reduced;
} fold_axis;

typedef struct {
  laze_scheduler *scheduler;
  laze_group_builder *group;
  const laze_node *node;
  laze_loop_kernel *kernel;
  laze_size_numbers numbers;
  fold_axis axes[LAZE_MAX_RANK];
  int axis_count, kept_count;
  int32_t *buffers;    /* by operand; -1: a constant */
  int32_t *variables;  /* by state */
  int32_t first_write; /* buffer of the first result */
  int32_t *values;     /* of the region's nodes, and of those in its branches */
  int32_t *places;     /* by such a node, from `low` on: where its results begin among these */
  int32_t low;
  int64_t node_count; /* of the region and its branches */
} fold_emitter;

static int32_t emit_size(fold_emitter *e, laze_size size) {
  return laze_group_emit_size(e->scheduler, e->kernel, &e->numbers, size);
}

static laze_status multiply(const fold_emitter *e, laze_size *product, laze_size factor) {
  return laze_size_binary(e->scheduler->graph->sizes, LAZE_SIZE_MUL, *product, factor, product, e->scheduler->error);
}

/* Fills the axes, innermost last. */
static laze_status find_axes(fold_emitter *e) {
  const laze_type *type = laze_graph_type(e->scheduler->graph, e->node->operands[0]);
  const laze_attribute *dim = &e->node->attributes[LAZE_REDUCE_DIM];
  laze_size stride = 1, kept_stride = 1;
  for (int axis = 0; axis < type->rank; axis++) {
    fold_axis next = {.extent = type->sizes[axis]};
    fold_axis *last = e->axis_count > 0 ? &e->axes[e->axis_count - 1] : NULL;
    for (int32_t i = 0; i < dim->count; i++)
      next.reduced = next.reduced || dim->value.items[i] == axis || dim->value.items[i] + type->rank == axis;
    if (next.extent == 1) continue;
    if (last && last->reduced == next.reduced)
      LAZE_TRY(multiply(e, &last->extent, next.extent));
    else
      e->axes[e->axis_count++] = next;
  }
  for (int i = e->axis_count; i-- > 0;) {
    e->axes[i].stride = stride;
    e->axes[i].kept_stride = kept_stride;
    e->kept_count += !e->axes[i].reduced;
    LAZE_TRY(multiply(e, &stride, e->axes[i].extent));
    if (!e->axes[i].reduced) LAZE_TRY(multiply(e, &kept_stride, e->axes[i].extent));
  }
  return LAZE_OK;
}

/* Buffers of what is read: each operand once, and no constants. */
static laze_status add_buffers(fold_emitter *e) {
  laze_arena *arena = e->scheduler->arena;
  laze_group *group = &e->group->group;
  laze_value *reads = laze_arena_alloc_array(arena, e->node->operand_count, sizeof *reads);
  laze_value *writes = laze_arena_alloc_array(arena, e->node->result_count, sizeof *writes);
  e->buffers = laze_arena_alloc_array(arena, e->node->operand_count, sizeof *e->buffers);
  e->variables = laze_arena_alloc_array(arena, e->node->result_count, sizeof *e->variables);
  if (!reads || !writes || !e->buffers || !e->variables) return laze_scheduler_memory_error(e->scheduler);
  for (int32_t i = 0; i < e->node->operand_count; i++) {
    laze_value value = e->node->operands[i];
    int32_t buffer = 0;
    e->buffers[i] = -1;
    if (i > 0 && laze_schedule_is_inline_constant(e->scheduler->graph, value)) continue;
    while (buffer < group->read_count && !laze_value_equal(reads[buffer], value)) buffer++;
    if (buffer == group->read_count) {
      reads[group->read_count++] = value;
      laze_loop_add_buffer(e->kernel, laze_graph_type(e->scheduler->graph, value)->dtype, false);
    }
    e->buffers[i] = buffer;
  }
  e->first_write = group->read_count;
  for (int32_t i = 0; i < e->node->result_count; i++) {
    writes[i] = (laze_value){group->root.node, i};
    laze_loop_add_buffer(e->kernel, e->node->types[i]->dtype, true);
  }
  group->reads = reads;
  group->writes = writes;
  group->write_count = e->node->result_count;
  return LAZE_OK;
}

/* The nodes that a walk through the region has come to: parameters of a block, or one. */
static int64_t met_nodes(const laze_walk *walk, laze_walk_event event, const int32_t **out) {
  *out = event == LAZE_WALK_BLOCK ? walk->block->parameters : &walk->node;
  return event == LAZE_WALK_BLOCK ? walk->block->parameter_count : event == LAZE_WALK_NODE;
}

static laze_status make_values(fold_emitter *e) {
  const laze_graph *graph = e->scheduler->graph;
  const laze_block *region = e->node->regions[0];
  int32_t high = e->low = region->parameters[0];
  int64_t results = 0, place = 0;
  for (int pass = 0; pass < 2; pass++) {
    laze_walk walk;
    laze_walk_begin_block(&walk, graph, region);
    for (laze_walk_event event; (event = laze_walk_next(&walk)) != LAZE_WALK_DONE;) {
      const int32_t *numbers;
      int64_t count = met_nodes(&walk, event, &numbers);
      e->node_count += pass == 0 && event == LAZE_WALK_NODE;
      for (int64_t i = 0; i < count; i++) {
        if (numbers[i] < e->low) e->low = numbers[i];
        if (numbers[i] > high) high = numbers[i];
        if (pass == 0) results += graph->nodes[numbers[i]].result_count;
        if (pass == 0) continue;
        e->places[numbers[i] - e->low] = (int32_t)place;
        place += graph->nodes[numbers[i]].result_count;
      }
    }
    if (pass > 0) break;
    e->values = laze_arena_alloc_array(e->scheduler->arena, results, sizeof *e->values);
    e->places = laze_arena_alloc_array(e->scheduler->arena, (int64_t)high - e->low + 1, sizeof *e->places);
    if (!e->values || !e->places) return laze_scheduler_memory_error(e->scheduler);
  }
  return LAZE_OK;
}

static int32_t *value_of(const fold_emitter *e, laze_value value) {
  return &e->values[e->places[value.node - e->low] + value.result];
}

static int32_t emit_constant(const fold_emitter *e, const laze_node *node) {
  laze_dtype dtype = node->types[0]->dtype;
  return laze_loop_constant(e->kernel, dtype, laze_scalar_load(dtype, laze_node_constant(node)->bytes, 0));
}

static int32_t converted(const fold_emitter *e, int32_t value, laze_dtype dtype) {
  return laze_loop_dtype(e->kernel, value) == dtype ? value : laze_loop_convert(e->kernel, value, dtype);
}

static int32_t emit_element(const fold_emitter *e, const laze_node *node) {
  const laze_type *types[LAZE_MAX_OPERANDS];
  int32_t operands[LAZE_MAX_OPERANDS];
  laze_call call = laze_node_call(node);
  laze_dtype result = node->types[0]->dtype, compute = result;
  for (int32_t i = 0; i < node->operand_count; i++) {
    types[i] = laze_graph_type(e->scheduler->graph, node->operands[i]);
    operands[i] = *value_of(e, node->operands[i]);
  }
  if (laze_op_get(node->op)->compute == LAZE_COMPUTE_CONVERT) return converted(e, operands[0], result);
  for (int32_t i = 0; i < node->operand_count; i++) {
    compute = laze_call_compute_dtype(&call, types, i);
    operands[i] = converted(e, operands[i], compute);
  }
  laze_dtype computed = laze_dtype_is_half(result) ? compute : result;
  int32_t value = laze_loop_element(e->kernel, node->op, compute, computed, operands, node->operand_count);
  return converted(e, value, result);
}

static void emit_node(fold_emitter *e, int32_t number) {
  const laze_node *node = &e->scheduler->graph->nodes[number];
  int32_t *value = value_of(e, (laze_value){number, 0});
  if (laze_node_constant(node))
    *value = emit_constant(e, node);
  else if (node->op == LAZE_OP_SIZE_TENSOR)
    *value = converted(e, emit_size(e, node->attributes[LAZE_SIZE_TENSOR_VALUE].value.size), node->types[0]->dtype);
  else if (laze_schedule_join_of(node->op)->pass_through)
    *value = *value_of(e, node->operands[0]);
  else if (node->region_count == 0)
    *value = emit_element(e, node);
}

/* The parameters of a branch are what the `if` around it passes. */
static void enter_branch(const fold_emitter *e, const laze_walk *walk) {
  const laze_node *node = &e->scheduler->graph->nodes[laze_walk_owner(walk)];
  for (int32_t i = 0; i < walk->block->parameter_count; i++) {
    bool sliced;
    int32_t operand = laze_control_parameter_operand(node, i, &sliced);
    *value_of(e, (laze_value){walk->block->parameters[i], 0}) = *value_of(e, node->operands[operand]);
  }
}

/* Both branches of an `if` are there. */
static void select_results(const fold_emitter *e, int32_t number) {
  const laze_node *node = &e->scheduler->graph->nodes[number];
  for (int32_t i = 0; i < node->result_count; i++) {
    laze_dtype dtype = node->types[i]->dtype;
    const int32_t operands[] = {*value_of(e, node->operands[0]), *value_of(e, node->regions[0]->results[i]),
                                *value_of(e, node->regions[1]->results[i])};
    *value_of(e, (laze_value){number, i}) = laze_loop_element(e->kernel, LAZE_OP_WHERE_SELF, dtype, dtype, operands, 3);
  }
}

/* One element: the region. */
static void emit_region(fold_emitter *e, int32_t element) {
  const laze_block *region = e->node->regions[0];
  int32_t states = e->node->result_count;
  for (int32_t i = 0; i < states; i++) {
    laze_loop_instruction get = {.code = LAZE_LOOP_GET, .dtype = (uint8_t)e->node->types[i]->dtype};
    *value_of(e, (laze_value){region->parameters[i], 0}) = laze_loop_emit(e->kernel, get, &e->variables[i], 1);
  }
  *value_of(e, (laze_value){region->parameters[states], 0}) = element;
  laze_walk walk;
  laze_walk_begin_block(&walk, e->scheduler->graph, region);
  for (laze_walk_event event; (event = laze_walk_next(&walk)) != LAZE_WALK_DONE;) {
    if (event == LAZE_WALK_BLOCK && walk.block != region) enter_branch(e, &walk);
    if (event == LAZE_WALK_NODE) emit_node(e, walk.node);
    if (event == LAZE_WALK_NODE_END) select_results(e, walk.node);
  }
  for (int32_t i = 0; i < states; i++) {
    int32_t operands[2] = {e->variables[i], *value_of(e, region->results[i])};
    laze_loop_instruction set = {.code = LAZE_LOOP_SET, .dtype = (uint8_t)e->node->types[i]->dtype};
    laze_loop_emit(e->kernel, set, operands, 2);
  }
}

/* States begin with what was passed for them. */
static void emit_variables(fold_emitter *e) {
  for (int32_t i = 0; i < e->node->result_count; i++) {
    const laze_node *initial = laze_graph_node(e->scheduler->graph, e->node->operands[1 + i]);
    laze_loop_instruction variable = {.code = LAZE_LOOP_VARIABLE, .dtype = (uint8_t)e->node->types[i]->dtype};
    int32_t value = e->buffers[1 + i] < 0
                        ? emit_constant(e, initial)
                        : laze_loop_load(e->kernel, e->buffers[1 + i], laze_loop_index_constant(e->kernel, 0), -1);
    e->variables[i] = laze_loop_emit(e->kernel, variable, &value, 1);
  }
}

/* `offset` plus a loop's variable times a stride. */
static int32_t step(fold_emitter *e, int32_t offset, int32_t induction, laze_size stride) {
  int32_t term =
      stride == 1 ? induction : laze_loop_index(e->kernel, LAZE_LOOP_INDEX_MUL, induction, emit_size(e, stride));
  return offset < 0 ? term : laze_loop_index(e->kernel, LAZE_LOOP_INDEX_ADD, offset, term);
}

/* Opens the loops over reduced or over kept axes, and adds what they contribute to the offsets. Returns how many. */
static int open_loops(fold_emitter *e, bool reduced, int32_t *offset, int32_t *kept_offset) {
  int count = 0;
  bool lanes = e->axis_count > 0 && !e->axes[e->axis_count - 1].reduced;
  for (int i = 0; i < e->axis_count; i++) {
    if (e->axes[i].reduced != reduced) continue;
    int flags = !reduced && count == 0 ? LAZE_LOOP_RANGE : 0;
    if (lanes && i == e->axis_count - 1) flags |= LAZE_LOOP_LANES;
    int32_t induction = laze_loop_begin(e->kernel, emit_size(e, e->axes[i].extent), flags);
    *offset = step(e, *offset, induction, e->axes[i].stride);
    if (!reduced) *kept_offset = step(e, *kept_offset, induction, e->axes[i].kept_stride);
    count++;
  }
  if (reduced || count > 0) return count;
  laze_loop_begin(e->kernel, laze_loop_index_constant(e->kernel, 1), LAZE_LOOP_RANGE);
  return 1;
}

static int32_t or_zero(fold_emitter *e, int32_t offset) {
  return offset < 0 ? laze_loop_index_constant(e->kernel, 0) : offset;
}

static void emit_loops(fold_emitter *e) {
  int32_t offset = -1, kept_offset = -1;
  int kept = open_loops(e, false, &offset, &kept_offset);
  emit_variables(e);
  int reduced = open_loops(e, true, &offset, &kept_offset);
  emit_region(e, laze_loop_load(e->kernel, e->buffers[0], or_zero(e, offset), -1));
  for (int i = 0; i < reduced; i++) laze_loop_end(e->kernel);
  for (int32_t i = 0; i < e->node->result_count; i++) {
    laze_loop_instruction get = {.code = LAZE_LOOP_GET, .dtype = (uint8_t)e->node->types[i]->dtype};
    int32_t value = laze_loop_emit(e->kernel, get, &e->variables[i], 1);
    laze_loop_store(e->kernel, e->first_write + i, or_zero(e, kept_offset), value, -1);
  }
  for (int i = 0; i < kept; i++) laze_loop_end(e->kernel);
}

/* Estimates: an element read, and the region's operators, for each. */
static laze_status estimate(fold_emitter *e) {
  laze_size_table *sizes = e->scheduler->graph->sizes;
  laze_group *group = &e->group->group;
  const laze_type *type = laze_graph_type(e->scheduler->graph, e->node->operands[0]);
  laze_size points = 1;
  group->domain = 1;
  for (int i = e->axis_count; i-- > 0;) {
    if (!e->axes[i].reduced) group->domain = e->axes[i].extent;
    LAZE_TRY(laze_size_estimate(sizes, LAZE_SIZE_MUL, points, e->axes[i].extent, &points, e->scheduler->error));
  }
  LAZE_TRY(laze_size_estimate(sizes, LAZE_SIZE_MUL, points, laze_dtype_size(type->dtype), &group->bytes,
                              e->scheduler->error));
  return laze_size_estimate(sizes, LAZE_SIZE_MUL, points, e->node_count, &group->operations, e->scheduler->error);
}

static laze_status emit(laze_scheduler *scheduler, laze_group_builder *group) {
  fold_emitter emitter = {.scheduler = scheduler, .group = group};
  emitter.node = laze_graph_node(scheduler->graph, group->group.root);
  emitter.kernel = laze_arena_alloc(scheduler->arena, sizeof *emitter.kernel);
  if (!emitter.kernel) return laze_scheduler_memory_error(scheduler);
  laze_loop_init(emitter.kernel, scheduler->arena);
  LAZE_TRY(find_axes(&emitter));
  LAZE_TRY(add_buffers(&emitter));
  LAZE_TRY(make_values(&emitter));
  emit_loops(&emitter);
  LAZE_TRY(laze_loop_finish(emitter.kernel, scheduler->error));
  LAZE_TRY(estimate(&emitter));
  group->group.kernel = emitter.kernel;
  group->group.sizes = emitter.numbers.items;
  group->group.size_count = (int32_t)emitter.numbers.count;
  group->group.label = laze_op_get(emitter.node->op)->name;
  return laze_group_emit_root(scheduler, group);
}

const laze_group_rules laze_group_fold = {.claim = claim, .emit = emit};
