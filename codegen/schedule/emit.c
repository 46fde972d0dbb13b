/* A finished group as loops.
 *
 *   constants, offsets that depend on no axis
 *   for each kept axis                          RANGE on the outermost; LANES on the innermost unless lanes16
 *     values that depend on the axes so far     so that nothing is computed further in than it must be
 *     for each stage of reductions
 *       accumulators
 *       for each reduced axis                   LANES on the innermost if lanes16
 *         values the stage's reductions need, updates
 *       results, values that depend on them
 *     for each reduced axis                     if something is stored at every element (softmax)
 *       values, stores
 *     stores
 *
 * A reduction's stage is one more than the latest stage its operand depends on: softmax has amax in stage 1, sum in 2.
 */
#include "codegen/schedule/schedule_internal.h"

#include "ir/op.gen.h"

#include <stdio.h>
#include <string.h>

typedef struct {
  laze_offset offset;
  int32_t base;    /* its value with the kept axes opened so far */
  int32_t partial; /* with the reduced axes as well */
} access_state;

typedef struct {
  laze_scheduler *scheduler;
  laze_group_builder *group;
  laze_loop_kernel *kernel;
  laze_size_numbers numbers;
  int32_t kept[LAZE_MAX_AXES], reduced[LAZE_MAX_AXES]; /* axes, outermost first */
  int32_t kept_count, reduced_count;
  int32_t induction[LAZE_MAX_AXES]; /* by axis */
  int32_t *order;                   /* instances, operands first */
  int32_t count;
  int32_t *value, *depth, *stage, *buffer; /* by instance */
  bool *needed;                            /* by instance: in the loops being emitted */
  access_state *loads, *stores;            /* by instance */
  int32_t stage_count;
  laze_error *error;
} loop_emitter;

static laze_instance *instance_at(const loop_emitter *emitter, int32_t index) { return &emitter->group->instances[index]; }

static bool has_access(const laze_instance *instance) {
  return instance->kind == LAZE_INSTANCE_LOAD || instance->kind == LAZE_INSTANCE_CHECK ||
         instance->kind == LAZE_INSTANCE_IOTA;
}

int32_t laze_emit_size(laze_scheduler *scheduler, laze_loop_kernel *kernel, laze_size_numbers *numbers,
                       laze_size size) {
  if (laze_size_is_constant(size)) return laze_loop_index_constant(kernel, size);
  int64_t number = 0;
  while (number < numbers->count && numbers->items[number] != size) number++;
  if (number == numbers->count) {
    if (number == numbers->capacity) {
      int64_t capacity = numbers->capacity ? numbers->capacity * 2 : 16;
      laze_size *items = laze_arena_alloc_array(scheduler->arena, capacity, sizeof *items);
      if (!items) {
        kernel->failed = true;
        return -1;
      }
      if (number > 0) memcpy(items, numbers->items, (size_t)number * sizeof *items);
      numbers->items = items;
      numbers->capacity = capacity;
    }
    numbers->items[numbers->count++] = size;
    kernel->size_count = (int32_t)numbers->count;
  }
  return laze_loop_index_size(kernel, (int32_t)number);
}

static int32_t emit_size(loop_emitter *emitter, laze_size size) {
  return laze_emit_size(emitter->scheduler, emitter->kernel, &emitter->numbers, size);
}

/* Order: depth-first from the first instance, with an explicit stack; a dynamic index comes before the load it moves. */

static int32_t next_dependency(const laze_instance *instance, int32_t which) {
  if (which < instance->operand_count) return instance->operands[which];
  which -= instance->operand_count;
  for (int32_t i = 0; i < instance->map->rank; i++) {
    if (instance->map->components[i].dynamic < 0) continue;
    if (which-- == 0) return instance->map->components[i].dynamic;
  }
  return -1;
}

static laze_status sort_instances(loop_emitter *emitter) {
  int64_t count = emitter->group->instance_count;
  laze_arena *arena = emitter->scheduler->arena;
  struct frame {
    int32_t instance, next;
  } *stack = laze_arena_alloc_array(arena, count + 1, sizeof *stack);
  bool *seen = laze_arena_alloc_zero(arena, count);
  if (!stack || !seen) return laze_fail_memory(emitter->error, "a schedule", count);
  for (int64_t root = 0; root < count; root++) {
    if (instance_at(emitter, (int32_t)root)->store < 0 || seen[root]) continue;
    int64_t top = 0;
    stack[0] = (struct frame){(int32_t)root, 0};
    seen[root] = true;
    while (top >= 0) {
      int32_t dependency = next_dependency(instance_at(emitter, stack[top].instance), stack[top].next++);
      if (dependency < 0) {
        emitter->order[emitter->count++] = stack[top--].instance;
      } else if (!seen[dependency]) {
        seen[dependency] = true;
        stack[++top] = (struct frame){dependency, 0};
      }
    }
  }
  return LAZE_OK;
}

/* Where each instance is computed */

static int32_t position_of(const loop_emitter *emitter, int32_t axis) {
  for (int32_t i = 0; i < emitter->kept_count; i++)
    if (emitter->kept[i] == axis) return i;
  for (int32_t i = 0; i < emitter->reduced_count; i++)
    if (emitter->reduced[i] == axis) return emitter->kept_count + i;
  return -1;
}

static int32_t component_depth(const loop_emitter *emitter, const laze_component *component, int32_t depth) {
  for (int32_t i = 0; i < component->term_count; i++) {
    int32_t position = position_of(emitter, component->terms[i].axis);
    if (position > depth) depth = position;
  }
  return depth;
}

static void place_instance(loop_emitter *emitter, int32_t index) {
  const laze_instance *instance = instance_at(emitter, index);
  int32_t depth = -1, stage = 0;
  if (has_access(instance)) depth = component_depth(emitter, &emitter->loads[index].offset.affine, depth);
  for (const laze_guard *guard = instance->map->guards; guard; guard = guard->next)
    depth = component_depth(emitter, &guard->component, depth);
  for (int32_t i = 0; instance->pieces && i < instance->operand_count; i++)
    depth = component_depth(emitter, &instance->pieces[i]->component, depth);
  for (int32_t i = 0, dependency; (dependency = next_dependency(instance, i)) >= 0; i++) {
    if (emitter->depth[dependency] > depth) depth = emitter->depth[dependency];
    if (emitter->stage[dependency] > stage) stage = emitter->stage[dependency];
  }
  if (instance->kind == LAZE_INSTANCE_REDUCE) {
    depth = emitter->kept_count - 1;
    stage++;
  }
  if (stage > emitter->stage_count) emitter->stage_count = stage;
  /* What is stored at each element of a reduced axis is computed there, also where it is the same for all of them. */
  if (instance->store >= 0 && instance->kind != LAZE_INSTANCE_REDUCE) {
    int32_t stored = component_depth(emitter, &emitter->stores[index].offset.affine, -1);
    if (stored >= emitter->kept_count && stored > depth) depth = stored;
  }
  /* A check notes a failure for the range its call runs, so it stands in the range loop. */
  if (instance->kind == LAZE_INSTANCE_CHECK && depth < 0 && emitter->kept_count > 0) depth = 0;
  emitter->depth[index] = depth;
  emitter->stage[index] = stage;
}

static laze_status prepare_instances(loop_emitter *emitter) {
  laze_mapper mapper = laze_scheduler_mapper(emitter->scheduler, emitter->group);
  for (int64_t i = 0; i < emitter->group->instance_count; i++) {
    laze_instance *instance = instance_at(emitter, (int32_t)i);
    LAZE_TRY(laze_map_normalise(&mapper, instance->map, &instance->map));
    emitter->loads[i] = emitter->stores[i] = (access_state){.base = -1, .partial = -1};
    if (has_access(instance)) LAZE_TRY(laze_map_offset(&mapper, instance->map, &emitter->loads[i].offset));
    if (instance->store >= 0) LAZE_TRY(laze_map_offset(&mapper, instance->map, &emitter->stores[i].offset));
    for (int32_t p = 0; instance->pieces && p < instance->operand_count; p++) {
      /* The guards of the pieces, with split axes rewritten, are those of a map that holds nothing else. */
      const laze_map *only_guard = &(laze_map){.guards = instance->pieces[p]}, *normalised;
      LAZE_TRY(laze_map_normalise(&mapper, only_guard, &normalised));
      instance->pieces[p] = normalised->guards;
    }
  }
  LAZE_TRY(sort_instances(emitter));
  for (int32_t i = 0; i < emitter->count; i++) place_instance(emitter, emitter->order[i]);
  return LAZE_OK;
}

/* Index values */

static int32_t add_index(loop_emitter *emitter, int32_t a, int32_t b) {
  if (a < 0) return b;
  return laze_loop_index(emitter->kernel, LAZE_LOOP_INDEX_ADD, a, b);
}

/* `value` times a coefficient, `value` itself where that is 1: the lowering reads stride classes off this form. */
static int32_t scale_index(loop_emitter *emitter, int32_t value, laze_size coefficient) {
  if (coefficient == 1) return value;
  return laze_loop_index(emitter->kernel, LAZE_LOOP_INDEX_MUL, value, emit_size(emitter, coefficient));
}

static int32_t value_or_zero(loop_emitter *emitter, int32_t value) {
  return value >= 0 ? value : laze_loop_index_constant(emitter->kernel, 0);
}

static int32_t component_value(loop_emitter *emitter, const laze_component *component) {
  int32_t value = component->offset == 0 ? -1 : emit_size(emitter, component->offset);
  for (int32_t i = 0; i < component->term_count; i++) {
    int32_t induction = emitter->induction[component->terms[i].axis];
    value = add_index(emitter, value, scale_index(emitter, induction, component->terms[i].coefficient));
  }
  return value_or_zero(emitter, value);
}

static void step_access(loop_emitter *emitter, access_state *access, int32_t axis) {
  for (int32_t i = 0; i < access->offset.affine.term_count; i++) {
    const laze_term *term = &access->offset.affine.terms[i];
    if (term->axis == axis)
      access->partial = add_index(emitter, access->partial,
                                  scale_index(emitter, emitter->induction[axis], term->coefficient));
  }
}

/* Adds the axis just opened to the offsets of everything needed in its loop. */
static void step_accesses(loop_emitter *emitter, int32_t axis) {
  for (int32_t i = 0; i < emitter->count; i++) {
    int32_t index = emitter->order[i];
    if (!emitter->needed[index]) continue;
    if (has_access(instance_at(emitter, index))) step_access(emitter, &emitter->loads[index], axis);
    if (instance_at(emitter, index)->store >= 0) step_access(emitter, &emitter->stores[index], axis);
  }
}

/* Values */

static int32_t guard_value(loop_emitter *emitter, const laze_guard *guard, int32_t all) {
  for (; guard; guard = guard->next) {
    int32_t component = component_value(emitter, &guard->component);
    int32_t below = laze_loop_index(emitter->kernel, LAZE_LOOP_INDEX_LESS, component,
                                    emit_size(emitter, guard->high));
    all = all < 0 ? below : laze_loop_index(emitter->kernel, LAZE_LOOP_AND, all, below);
    if (guard->low == 0) continue;
    int32_t next = laze_loop_index(emitter->kernel, LAZE_LOOP_INDEX_ADD, component,
                                   laze_loop_index_constant(emitter->kernel, 1));
    int32_t above =
        laze_loop_index(emitter->kernel, LAZE_LOOP_INDEX_LESS, emit_size(emitter, guard->low), next);
    all = laze_loop_index(emitter->kernel, LAZE_LOOP_AND, all, above);
  }
  return all;
}

/* Where an access lies: what the loops around it add up to, and the indices read from memory. */
static int32_t access_value(loop_emitter *emitter, int32_t index) {
  const laze_offset *offset = &emitter->loads[index].offset;
  int32_t at = emitter->loads[index].partial;
  for (int32_t i = 0; i < offset->dynamic_count; i++)
    at = add_index(emitter, at,
                   scale_index(emitter, emitter->value[offset->dynamics[i]], offset->coefficients[i]));
  return value_or_zero(emitter, at);
}

static int32_t load_value(loop_emitter *emitter, int32_t index) {
  const laze_instance *instance = instance_at(emitter, index);
  const laze_offset *offset = &emitter->loads[index].offset;
  int32_t at = access_value(emitter, index), guard = -1;
  for (int32_t i = 0; i < offset->dynamic_count; i++) {
    int32_t dynamic = emitter->value[offset->dynamics[i]];
    /* The axis may have no element at all. */
    int32_t size = emit_size(emitter, instance_at(emitter, offset->dynamics[i])->size);
    int32_t inside = laze_loop_index(emitter->kernel, LAZE_LOOP_INDEX_LESS, dynamic, size);
    guard = guard < 0 ? inside : laze_loop_index(emitter->kernel, LAZE_LOOP_AND, guard, inside);
  }
  guard = guard_value(emitter, instance->map->guards, guard);
  return laze_loop_load(emitter->kernel, emitter->buffer[index], at, guard);
}

static int32_t converted(loop_emitter *emitter, int32_t value, laze_dtype dtype) {
  if (value < 0 || laze_loop_dtype(emitter->kernel, value) == dtype) return value;
  return laze_loop_convert(emitter->kernel, value, dtype);
}

static int32_t element_value(loop_emitter *emitter, int32_t index) {
  const laze_instance *instance = instance_at(emitter, index);
  const laze_node *node = laze_graph_node(emitter->scheduler->graph, instance->value);
  const laze_type *types[LAZE_MAX_OPERANDS];
  int32_t operands[LAZE_MAX_OPERANDS];
  laze_call call = laze_node_call(node);
  laze_dtype result = node->types[0]->dtype, compute = result;
  if (laze_op_get(node->op)->compute == LAZE_COMPUTE_CONVERT)
    return converted(emitter, emitter->value[instance->operands[0]], result);
  for (int32_t i = 0; i < instance->operand_count; i++)
    types[i] = laze_graph_type(emitter->scheduler->graph, node->operands[i]);
  for (int32_t i = 0; i < instance->operand_count; i++) {
    compute = laze_call_compute_dtype(&call, types, i);
    operands[i] = converted(emitter, emitter->value[instance->operands[i]], compute);
  }
  return laze_loop_element(emitter->kernel, node->op, compute, result, operands, instance->operand_count);
}

static int32_t select_value(loop_emitter *emitter, int32_t index) {
  const laze_instance *instance = instance_at(emitter, index);
  laze_dtype dtype = laze_graph_type(emitter->scheduler->graph, instance->value)->dtype;
  int32_t last = instance->operand_count - 1;
  int32_t value = converted(emitter, emitter->value[instance->operands[last]], dtype);
  for (int32_t i = last; i-- > 0;) {
    const laze_guard *piece = instance->pieces[i];
    int32_t operands[3] = {laze_loop_index(emitter->kernel, LAZE_LOOP_INDEX_LESS,
                                           component_value(emitter, &piece->component),
                                           emit_size(emitter, piece->high)),
                           converted(emitter, emitter->value[instance->operands[i]], dtype), value};
    value = laze_loop_element(emitter->kernel, LAZE_OP_WHERE_SELF, dtype, dtype, operands, 3);
  }
  return value;
}

static int32_t check_value(loop_emitter *emitter, int32_t index) {
  const laze_instance *instance = instance_at(emitter, index);
  int32_t operands[3] = {converted(emitter, emitter->value[instance->operands[0]], LAZE_I64),
                         emit_size(emitter, instance->size),
                         value_or_zero(emitter, emitter->loads[index].partial)};
  laze_loop_instruction instruction = {
      .code = LAZE_LOOP_CHECK, .dtype = LAZE_I64, .imm = emitter->kernel->check_count++};
  return laze_loop_emit(emitter->kernel, instruction, operands, 3);
}

static int32_t constant_value(loop_emitter *emitter, int32_t index) {
  const laze_node *node = laze_graph_node(emitter->scheduler->graph, instance_at(emitter, index)->value);
  laze_dtype dtype = node->types[0]->dtype;
  laze_data data = node->attributes[LAZE_CONSTANT_DATA].value.data;
  return laze_loop_constant(emitter->kernel, dtype, laze_scalar_load(dtype, data.bytes, 0));
}

static void emit_instance(loop_emitter *emitter, int32_t index) {
  const laze_instance *instance = instance_at(emitter, index);
  laze_dtype dtype = laze_graph_type(emitter->scheduler->graph, instance->value)->dtype;
  int32_t *value = &emitter->value[index];
  switch (instance->kind) {
  case LAZE_INSTANCE_LOAD: *value = load_value(emitter, index); break;
  case LAZE_INSTANCE_CONSTANT: *value = constant_value(emitter, index); break;
  case LAZE_INSTANCE_ELEMENT: *value = element_value(emitter, index); break;
  case LAZE_INSTANCE_SELECT: *value = select_value(emitter, index); break;
  case LAZE_INSTANCE_CHECK: *value = check_value(emitter, index); break;
  case LAZE_INSTANCE_PASS: *value = emitter->value[instance->operands[0]]; break;
  case LAZE_INSTANCE_SIZE: *value = converted(emitter, emit_size(emitter, instance->size), dtype); break;
  case LAZE_INSTANCE_IOTA: *value = converted(emitter, access_value(emitter, index), dtype); break;
  case LAZE_INSTANCE_REDUCE:
  case LAZE_INSTANCE_MATRIX: break; /* by the loops around them */
  }
}

/* Emits what is needed at a depth; in the kept axes only what depends on reductions up to `stage` exactly. */
static void emit_values(loop_emitter *emitter, int32_t depth, int32_t stage) {
  for (int32_t i = 0; i < emitter->count; i++) {
    int32_t index = emitter->order[i];
    bool at_stage = depth >= emitter->kept_count || emitter->stage[index] == stage;
    if (emitter->needed[index] && emitter->depth[index] == depth && at_stage) emit_instance(emitter, index);
  }
}

/* Loops */

static bool lanes_on_reduced(const loop_emitter *emitter) {
  return emitter->group->has_reduction && emitter->group->order == LAZE_ORDER_LANES16;
}

static void open_kept(loop_emitter *emitter) {
  int32_t count = emitter->kept_count;
  for (int32_t i = 0; i < emitter->count; i++) {
    int32_t index = emitter->order[i];
    emitter->needed[index] = true;
    laze_size load = emitter->loads[index].offset.affine.offset, store = emitter->stores[index].offset.affine.offset;
    if (has_access(instance_at(emitter, index)) && load != 0)
      emitter->loads[index].partial = emit_size(emitter, load);
    if (instance_at(emitter, index)->store >= 0 && store != 0)
      emitter->stores[index].partial = emit_size(emitter, store);
  }
  if (count == 0) laze_loop_begin(emitter->kernel, laze_loop_index_constant(emitter->kernel, 1), LAZE_LOOP_RANGE);
  emit_values(emitter, -1, 0);
  for (int32_t i = 0; i < count; i++) {
    int32_t axis = emitter->kept[i];
    int flags = i == 0 ? LAZE_LOOP_RANGE : 0;
    if (i == count - 1 && !lanes_on_reduced(emitter)) flags |= LAZE_LOOP_LANES;
    int32_t extent = emit_size(emitter, emitter->group->domain.axes[axis].extent);
    emitter->induction[axis] = laze_loop_begin(emitter->kernel, extent, flags);
    step_accesses(emitter, axis);
    emit_values(emitter, i, 0);
  }
  for (int64_t i = 0; i < emitter->group->instance_count; i++) {
    emitter->loads[i].base = emitter->loads[i].partial;
    emitter->stores[i].base = emitter->stores[i].partial;
  }
}

/* Opens the reduced axes for what `needed` marks; returns the innermost induction variable. A reduction over nothing but
 * axes of size 1 still has one element. */
static int32_t open_reduced(loop_emitter *emitter) {
  int flags = lanes_on_reduced(emitter) ? LAZE_LOOP_LANES : 0;
  for (int64_t i = 0; i < emitter->group->instance_count; i++) {
    emitter->loads[i].partial = emitter->loads[i].base;
    emitter->stores[i].partial = emitter->stores[i].base;
  }
  if (emitter->reduced_count == 0)
    return laze_loop_begin(emitter->kernel, laze_loop_index_constant(emitter->kernel, 1), flags);
  int32_t induction = -1;
  for (int32_t i = 0; i < emitter->reduced_count; i++) {
    int32_t axis = emitter->reduced[i];
    int32_t extent = emit_size(emitter, emitter->group->domain.axes[axis].extent);
    induction = laze_loop_begin(emitter->kernel, extent, i == emitter->reduced_count - 1 ? flags : 0);
    emitter->induction[axis] = induction;
    step_accesses(emitter, axis);
    emit_values(emitter, emitter->kept_count + i, 0);
  }
  return induction;
}

static void close_reduced(loop_emitter *emitter) {
  for (int32_t i = 0; i < (emitter->reduced_count ? emitter->reduced_count : 1); i++) laze_loop_end(emitter->kernel);
}

/* Marks what the given instances need inside the reduced loops. Operands come before users in the order, so one walk
 * from the end reaches everything. */
static void mark_needed(loop_emitter *emitter) {
  for (int32_t i = emitter->count; i-- > 0;) {
    int32_t index = emitter->order[i];
    if (!emitter->needed[index]) continue;
    for (int32_t d = 0, dependency; (dependency = next_dependency(instance_at(emitter, index), d)) >= 0; d++)
      if (emitter->depth[dependency] >= emitter->kept_count) emitter->needed[dependency] = true;
  }
}

static void emit_stage(loop_emitter *emitter, int32_t stage) {
  laze_graph *graph = emitter->scheduler->graph;
  int64_t count = emitter->group->instance_count;
  memset(emitter->needed, 0, (size_t)count);
  for (int32_t i = 0; i < emitter->count; i++) {
    int32_t index = emitter->order[i];
    const laze_instance *instance = instance_at(emitter, index);
    if (instance->kind != LAZE_INSTANCE_REDUCE || emitter->stage[index] != stage) continue;
    const laze_op_info *info = laze_op_get(laze_graph_node(graph, instance->value)->op);
    laze_loop_instruction accumulator = {.code = LAZE_LOOP_ACCUMULATOR,
                                         .dtype = laze_graph_type(graph, instance->value)->dtype,
                                         .op = info->combine,
                                         .order = emitter->group->order,
                                         .initial = info->initial};
    emitter->value[index] = laze_loop_emit(emitter->kernel, accumulator, NULL, 0);
    int32_t operand = instance->operands[0];
    emitter->needed[operand] = emitter->depth[operand] >= emitter->kept_count;
  }
  mark_needed(emitter);
  int32_t induction = open_reduced(emitter);
  for (int32_t i = 0; i < emitter->count; i++) {
    int32_t index = emitter->order[i];
    const laze_instance *instance = instance_at(emitter, index);
    if (instance->kind != LAZE_INSTANCE_REDUCE || emitter->stage[index] != stage) continue;
    laze_dtype dtype = laze_graph_type(graph, instance->value)->dtype;
    int32_t operands[3] = {emitter->value[index],
                           converted(emitter, emitter->value[instance->operands[0]], dtype), induction};
    laze_loop_emit(emitter->kernel, (laze_loop_instruction){.code = LAZE_LOOP_UPDATE, .dtype = (uint8_t)dtype}, operands,
                   3);
  }
  close_reduced(emitter);
  for (int32_t i = 0; i < emitter->count; i++) {
    int32_t index = emitter->order[i];
    if (instance_at(emitter, index)->kind != LAZE_INSTANCE_REDUCE || emitter->stage[index] != stage) continue;
    laze_dtype dtype = laze_graph_type(graph, instance_at(emitter, index)->value)->dtype;
    laze_loop_instruction result = {.code = LAZE_LOOP_RESULT, .dtype = (uint8_t)dtype};
    emitter->value[index] = laze_loop_emit(emitter->kernel, result, &emitter->value[index], 1);
  }
  /* Values that depend on this stage and on no reduced axis. */
  memset(emitter->needed, 1, (size_t)count);
  for (int32_t depth = -1; depth < emitter->kept_count; depth++) emit_values(emitter, depth, stage);
}

static void emit_stores(loop_emitter *emitter, bool inside_reduced) {
  int32_t first_write = emitter->kernel->buffer_count - emitter->group->group.write_count;
  for (int32_t i = 0; i < emitter->count; i++) {
    int32_t index = emitter->order[i];
    const laze_instance *instance = instance_at(emitter, index);
    if (instance->store < 0 || (emitter->depth[index] >= emitter->kept_count) != inside_reduced) continue;
    laze_loop_store(emitter->kernel, first_write + instance->store,
                    value_or_zero(emitter, emitter->stores[index].partial), emitter->value[index], -1);
  }
}

/* Stores at every element, in loops of their own over the reduced axes. */
static void emit_element_stores(loop_emitter *emitter) {
  bool any = false;
  memset(emitter->needed, 0, (size_t)emitter->group->instance_count);
  for (int32_t i = 0; i < emitter->count; i++) {
    int32_t index = emitter->order[i];
    if (instance_at(emitter, index)->store < 0 || emitter->depth[index] < emitter->kept_count) continue;
    emitter->needed[index] = any = true;
  }
  if (!any) return;
  mark_needed(emitter);
  open_reduced(emitter);
  emit_stores(emitter, true);
  close_reduced(emitter);
}

/* The group's summary: sizes, domain, estimates, label. */

static laze_status count_work(loop_emitter *emitter) {
  laze_group_builder *group = emitter->group;
  laze_size_table *sizes = emitter->scheduler->graph->sizes;
  laze_size points = group->elements > 0 ? group->elements : 1;
  for (int32_t i = 0; i < group->domain.order_count; i++)
    LAZE_TRY(laze_size_binary(sizes, LAZE_SIZE_MUL, points, group->domain.axes[group->domain.order[i]].extent, &points,
                              emitter->error));
  group->group.operations = points;
  return LAZE_OK;
}

static laze_status count_bytes(laze_scheduler *scheduler, laze_group *group) {
  laze_size_table *sizes = scheduler->graph->sizes;
  group->bytes = 0;
  for (int32_t i = 0; i < group->read_count + group->write_count; i++) {
    laze_value value = i < group->read_count ? group->reads[i] : group->writes[i - group->read_count];
    const laze_type *type = laze_graph_type(scheduler->graph, value);
    laze_size elements;
    LAZE_TRY(laze_type_elements(sizes, type, &elements, scheduler->error));
    LAZE_TRY(laze_size_binary(sizes, LAZE_SIZE_MUL, elements, laze_dtype_size(type->dtype), &elements,
                              scheduler->error));
    LAZE_TRY(laze_size_binary(sizes, LAZE_SIZE_ADD, group->bytes, elements, &group->bytes, scheduler->error));
  }
  return LAZE_OK;
}

static laze_status write_label(loop_emitter *emitter) {
  char label[128];
  size_t length = 0;
  for (int32_t i = 0; i < emitter->count; i++) {
    const laze_instance *instance = instance_at(emitter, emitter->order[i]);
    if (instance->kind == LAZE_INSTANCE_LOAD || instance->kind == LAZE_INSTANCE_CONSTANT ||
        instance->kind == LAZE_INSTANCE_CHECK)
      continue;
    if (instance->kind == LAZE_INSTANCE_PASS && instance_at(emitter, instance->operands[0])->kind == LAZE_INSTANCE_IOTA)
      continue; /* where an iota is stored: the iota is counted */
    const char *name = laze_op_get(laze_graph_node(emitter->scheduler->graph, instance->value)->op)->base;
    emitter->group->group.node_count++;
    if (length + strlen(name) + 5 > sizeof label) {
      if (label[length - 1] != '.') length += (size_t)sprintf(label + length, "...");
      continue;
    }
    length += (size_t)sprintf(label + length, "%s%s", length ? "+" : "", name);
  }
  label[length] = 0;
  emitter->group->group.label = laze_arena_copy_string(emitter->scheduler->arena, label);
  return emitter->group->group.label ? LAZE_OK : laze_fail_memory(emitter->error, "a schedule", -1);
}

laze_status laze_emit_buffers(laze_scheduler *scheduler, laze_group_builder *group, const int32_t *order,
                              int32_t count, int32_t *buffer_of_instance) {
  laze_group *result = &group->group;
  laze_value *reads = laze_arena_alloc_array(scheduler->arena, count, sizeof *reads);
  if (!reads) return laze_fail_memory(scheduler->error, "a schedule", count);
  for (int32_t i = 0; i < count; i++) {
    const laze_instance *instance = &group->instances[order[i]];
    if (instance->kind != LAZE_INSTANCE_LOAD) continue;
    int32_t buffer = 0;
    while (buffer < result->read_count && !laze_value_equal(reads[buffer], instance->value)) buffer++;
    if (buffer == result->read_count) {
      reads[result->read_count++] = instance->value;
      laze_loop_add_buffer(result->kernel, laze_graph_type(scheduler->graph, instance->value)->dtype, false);
    }
    buffer_of_instance[order[i]] = buffer;
  }
  result->reads = reads;
  for (int32_t i = 0; i < result->write_count; i++)
    laze_loop_add_buffer(result->kernel, laze_graph_type(scheduler->graph, result->writes[i])->dtype, true);
  return count_bytes(scheduler, result);
}

static laze_status allocate(loop_emitter *emitter) {
  laze_arena *arena = emitter->scheduler->arena;
  int64_t count = emitter->group->instance_count;
  int32_t *numbers = laze_arena_alloc_zero(arena, 5 * count * (int64_t)sizeof *numbers);
  emitter->kernel = laze_arena_alloc(arena, sizeof *emitter->kernel);
  emitter->needed = laze_arena_alloc_zero(arena, count);
  emitter->loads = laze_arena_alloc_array(arena, count, sizeof *emitter->loads);
  emitter->stores = laze_arena_alloc_array(arena, count, sizeof *emitter->stores);
  if (!numbers || !emitter->kernel || !emitter->needed || !emitter->loads || !emitter->stores)
    return laze_fail_memory(emitter->error, "a schedule", count);
  emitter->order = numbers;
  emitter->value = numbers + count;
  emitter->depth = numbers + 2 * count;
  emitter->stage = numbers + 3 * count;
  emitter->buffer = numbers + 4 * count;
  laze_loop_init(emitter->kernel, arena);
  return LAZE_OK;
}

laze_status laze_schedule_emit(laze_scheduler *scheduler, laze_group_builder *group) {
  loop_emitter emitter = {.scheduler = scheduler, .group = group, .error = scheduler->error};
  for (int32_t i = 0; i < group->domain.order_count; i++) {
    int32_t axis = group->domain.order[i];
    if (group->domain.axes[axis].reduced)
      emitter.reduced[emitter.reduced_count++] = axis;
    else
      emitter.kept[emitter.kept_count++] = axis;
  }
  LAZE_TRY(allocate(&emitter));
  LAZE_TRY(prepare_instances(&emitter));
  group->group.kernel = emitter.kernel;
  LAZE_TRY(laze_emit_buffers(scheduler, group, emitter.order, emitter.count, emitter.buffer));
  open_kept(&emitter);
  for (int32_t stage = 1; stage <= emitter.stage_count; stage++) emit_stage(&emitter, stage);
  emit_element_stores(&emitter);
  emit_stores(&emitter, false);
  for (int32_t i = 0; i < (emitter.kept_count ? emitter.kept_count : 1); i++) laze_loop_end(emitter.kernel);
  LAZE_TRY(laze_loop_finish(emitter.kernel, scheduler->error));
  group->group.sizes = emitter.numbers.items;
  group->group.size_count = (int32_t)emitter.numbers.count;
  group->group.domain = emitter.kept_count ? group->domain.axes[emitter.kept[0]].extent : 1;
  LAZE_TRY(count_work(&emitter));
  return write_label(&emitter);
}
