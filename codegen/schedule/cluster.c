/* Deciding where each value is computed, from the last node to the first.
 *
 *   %0 = exp %x          used by %1 only, elementwise     in the group of %1
 *   %1 = sum %0, dim=[1] returned                         stored: starts a group; %0 joins its loops
 *
 * Users wait as `laze_use` entries at the node they use. When the node's turn comes all of them are known:
 *   - movement passes each use on to the operand, with another map;
 *   - a node all of whose uses are in one group, at maps that group can express, joins it;
 *   - scalars and numbers from nothing are computed in every group that uses them;
 *   - anything else is stored and starts a group; its uses become loads.
 */
#include "codegen/schedule/schedule_internal.h"
#include "codegen/node_site.h"

#include "ir/op.gen.h"

#include <string.h>

static laze_status memory_error(const laze_scheduler *scheduler) {
  return laze_fail_memory(scheduler->error, "a schedule", -1);
}

bool laze_schedule_is_inline_constant(const laze_graph *graph, laze_value value) {
  const laze_node *node = laze_graph_node(graph, value);
  if (node->op != LAZE_OP_CONSTANT) return false;
  for (int axis = 0; axis < node->types[0]->rank; axis++)
    if (node->types[0]->sizes[axis] != 1) return false;
  return true;
}

static laze_status new_group(laze_scheduler *scheduler, laze_group_kind kind, laze_value root, laze_split split,
                             laze_group_builder **out) {
  laze_group_builder *group = laze_arena_alloc_zero(scheduler->arena, sizeof *group);
  if (!group) return memory_error(scheduler);
  group->group.kind = kind;
  group->group.root = root;
  group->group.split = split;
  group->next = scheduler->group_of_root[root.node];
  scheduler->group_of_root[root.node] = group;
  scheduler->group_count++;
  *out = group;
  return LAZE_OK;
}

/* Arrays of groups grow in the arena: what they leave behind is bounded by what they end up with. */
static bool grow_in_arena(laze_scheduler *scheduler, void **array, int64_t *capacity, int64_t needed,
                          int64_t element_size) {
  if (needed <= *capacity) return true;
  int64_t wanted = *capacity ? *capacity * 2 : 4;
  void *grown = laze_arena_alloc_array(scheduler->arena, wanted, element_size);
  if (!grown) return false;
  if (*array) memcpy(grown, *array, (size_t)(*capacity * element_size));
  *array = grown;
  *capacity = wanted;
  return true;
}

laze_status laze_schedule_add_instance(laze_scheduler *scheduler, laze_group_builder *group, laze_instance_kind kind,
                                       laze_value value, const laze_map *map, int32_t *out) {
  if (!grow_in_arena(scheduler, (void **)&group->instances, &group->instance_capacity, group->instance_count + 1,
                     sizeof *group->instances))
    return memory_error(scheduler);
  laze_instance *instance = &group->instances[group->instance_count];
  *instance = (laze_instance){.kind = kind, .value = value, .map = map, .store = -1, .next_of_node = -1};
  *out = (int32_t)group->instance_count++;
  group->elements += kind == LAZE_INSTANCE_ELEMENT || kind == LAZE_INSTANCE_REDUCE;
  group->load_count += kind == LAZE_INSTANCE_LOAD;
  for (const laze_guard *guard = map->guards; guard; guard = guard->next) group->guard_count++;
  if (scheduler->latest[value.node].group == group && kind != LAZE_INSTANCE_CHECK)
    instance->next_of_node = scheduler->latest[value.node].first;
  if (kind != LAZE_INSTANCE_CHECK) {
    scheduler->latest[value.node].group = group;
    scheduler->latest[value.node].first = *out;
  }
  return LAZE_OK;
}

/* An instance of `value` in `group` at an equal map, or -1. */
static laze_status find_instance(laze_scheduler *scheduler, laze_group_builder *group, laze_value value,
                                 const laze_map *map, int32_t *out) {
  laze_mapper mapper = laze_scheduler_mapper(scheduler, group);
  const laze_map *wanted;
  *out = -1;
  if (scheduler->latest[value.node].group != group) return LAZE_OK;
  LAZE_TRY(laze_map_normalise(&mapper, map, &wanted));
  for (int32_t i = scheduler->latest[value.node].first; i >= 0; i = group->instances[i].next_of_node) {
    laze_instance *instance = &group->instances[i];
    LAZE_TRY(laze_map_normalise(&mapper, instance->map, &instance->map));
    bool equal;
    if (instance->value.result != value.result) continue;
    LAZE_TRY(laze_map_equal(&mapper, instance->map, wanted, &equal));
    if (!equal) continue;
    *out = i;
    return LAZE_OK;
  }
  return LAZE_OK;
}

laze_status laze_schedule_add_use(laze_scheduler *scheduler, laze_group_builder *group, int32_t instance, int32_t slot,
                                  laze_value operand, const laze_map *map) {
  laze_use *use = laze_arena_alloc(scheduler->arena, sizeof *use), *last = scheduler->uses[operand.node];
  if (!use) return memory_error(scheduler);
  bool counted = !last || last->group != group || last->map != map;
  *use = (laze_use){last, group, map, instance, slot, operand.result, counted, false};
  scheduler->uses[operand.node] = use;
  group->open_count += counted;
  return LAZE_OK;
}

static void fill_slot(const laze_use *use, int32_t instance) {
  use->group->open_count -= use->counted;
  if (use->instance >= 0) use->group->instances[use->instance].operands[use->slot] = instance;
}

/* A use that reads the whole value from memory. Fallbacks do so by number. */
static void read_whole(const laze_use *use, laze_value value) {
  if (use->flat) use->group->sources[use->slot] = value;
}

/* Loads for the uses of a stored value. */
static laze_status load_uses(laze_scheduler *scheduler, int32_t node) {
  for (laze_use *use = scheduler->uses[node]; use; use = use->next) {
    laze_value value = {node, use->result};
    int32_t instance;
    if (!use->map) {
      read_whole(use, value);
      continue;
    }
    LAZE_TRY(find_instance(scheduler, use->group, value, use->map, &instance));
    if (instance < 0)
      LAZE_TRY(laze_schedule_add_instance(scheduler, use->group, LAZE_INSTANCE_LOAD, value, use->map, &instance));
    fill_slot(use, instance);
  }
  return LAZE_OK;
}

static laze_status number_check(laze_scheduler *scheduler, laze_group_builder *group, laze_instance *instance) {
  if (!grow_in_arena(scheduler, (void **)&group->checked, &group->check_capacity, group->group.check_count + 1,
                     sizeof *group->checked))
    return memory_error(scheduler);
  instance->check = group->group.check_count;
  group->checked[group->group.check_count++] = instance->value.node;
  group->group.checked = group->checked;
  return LAZE_OK;
}

/* Gives a gather's source map its checked index, and the instance that checks it. */
static laze_status attach_check(laze_scheduler *scheduler, laze_group_builder *group, const laze_node *node,
                                laze_value value, const laze_map *map, laze_needs *needs) {
  laze_component components[LAZE_MAX_RANK];
  const laze_map *source = needs->maps[0];
  laze_mapper mapper = laze_scheduler_mapper(scheduler, group);
  int32_t check = -1;
  LAZE_TRY(laze_schedule_add_instance(scheduler, group, LAZE_INSTANCE_CHECK, value, map, &check));
  LAZE_TRY(number_check(scheduler, group, &group->instances[check]));
  group->instances[check].operand_count = 1;
  group->instances[check].size = needs->size;
  group->instances[check].position = needs->maps[1];
  LAZE_TRY(laze_schedule_add_use(scheduler, group, check, 0, node->operands[1], needs->maps[1]));
  memcpy(components, source->components, (size_t)source->rank * sizeof *components);
  components[needs->axis].dynamic = needs->check = check;
  return laze_map_create(&mapper, source->sizes, components, source->rank, NULL, &needs->maps[0]);
}

/* Keeps where each piece of a concatenation holds: the guard its map was given. */
static laze_status attach_pieces(laze_scheduler *scheduler, laze_instance *instance, const laze_needs *needs) {
  instance->pieces = laze_arena_alloc_array(scheduler->arena, needs->count, sizeof *instance->pieces);
  if (!instance->pieces) return memory_error(scheduler);
  for (int32_t i = 0; i < needs->count; i++) instance->pieces[i] = needs->maps[i]->guards;
  return LAZE_OK;
}

/* Makes the instance of a node in a group and registers what it needs. */
static laze_status place(laze_scheduler *scheduler, laze_group_builder *group, int32_t node_index, int32_t result,
                         const laze_map *map, laze_needs *needs, int32_t *out) {
  const laze_node *node = &scheduler->graph->nodes[node_index];
  laze_value value = {node_index, result};
  if (needs->kind == LAZE_INSTANCE_IOTA) map = needs->maps[0];
  LAZE_TRY(laze_schedule_add_instance(scheduler, group, needs->kind, value, map, out));
  int32_t operands = needs->indexed ? 1 : needs->count;
  group->instances[*out].operand_count = operands;
  group->instances[*out].size = needs->size;
  if (needs->kind == LAZE_INSTANCE_SELECT) LAZE_TRY(attach_pieces(scheduler, &group->instances[*out], needs));
  if (needs->indexed) {
    LAZE_TRY(attach_check(scheduler, group, node, value, map, needs));
    /* Checked also where the source is the same all along the axis, so that no load needs the index. */
    group->instances[*out].operands[1] = needs->check;
    group->instances[*out].operand_count = 2;
  }
  for (int32_t i = 0; i < operands; i++)
    LAZE_TRY(laze_schedule_add_use(scheduler, group, *out, i, node->operands[i], needs->maps[i]));
  return LAZE_OK;
}

/* Whether evaluating at this map repeats what is no cheap operator for each element of an axis that lies outside the
 * axes it depends on. Axes further in cost nothing: the value is computed before their loops. */
static laze_status repeats(laze_scheduler *scheduler, laze_group_builder *group, int32_t node_index,
                           const laze_map *given, bool *out) {
  const laze_node *node = &scheduler->graph->nodes[node_index];
  *out = false;
  if (laze_op_get(node->op)->op_class == LAZE_CLASS_ELEMENTWISE && laze_schedule_is_cheap(scheduler, node_index))
    return LAZE_OK;
  laze_mapper mapper = laze_scheduler_mapper(scheduler, group);
  const laze_map *map;
  LAZE_TRY(laze_map_normalise(&mapper, given, &map));
  bool used[LAZE_MAX_AXES] = {false};
  for (int32_t i = 0; i < map->rank; i++) {
    if (map->components[i].dynamic >= 0) return LAZE_OK;
    for (int32_t t = 0; t < map->components[i].term_count; t++) used[map->components[i].terms[t].axis] = true;
  }
  for (int32_t i = 0; i < group->domain.order_count; i++) {
    if (used[group->domain.order[i]]) continue;
    for (int32_t j = i + 1; j < group->domain.order_count; j++)
      if (used[group->domain.order[j]] && !group->domain.axes[group->domain.order[j]].reduced) *out = true;
  }
  return LAZE_OK;
}

static int64_t weight_of(const laze_group_builder *group) {
  return group->instance_count + group->guard_count + group->open_count;
}

static bool is_duplicable(const laze_node *node) {
  laze_op_class op_class = laze_op_get(node->op)->op_class;
  bool scalar = node->types[0]->rank == 0;
  return node->op == LAZE_OP_IOTA || node->op == LAZE_OP_SIZE_TENSOR || (op_class == LAZE_CLASS_ELEMENTWISE && scalar);
}

/* Why a use, by itself, keeps its node from joining: LAZE_SPLIT_OFF where nothing does. */
static laze_status objection(laze_scheduler *scheduler, int32_t node_index, const laze_use *use, bool alone,
                             laze_split *out) {
  const laze_node *node = &scheduler->graph->nodes[node_index];
  const laze_group_builder *group = use->group;
  bool repeated = false;
  *out = LAZE_SPLIT_OFF;
  if (!use->map || group->group.kind != LAZE_GROUP_LOOPS) {
    *out = LAZE_SPLIT_OPERAND;
    return LAZE_OK;
  }
  if (laze_op_get(node->op)->op_class != LAZE_CLASS_REDUCTION)
    LAZE_TRY(repeats(scheduler, use->group, node_index, use->map, &repeated));
  if (!alone && !is_duplicable(node))
    *out = LAZE_SPLIT_SHARED;
  else if (weight_of(group) >= LAZE_GROUP_MAX_WEIGHT || group->load_count >= LAZE_GROUP_MAX_READS)
    *out = LAZE_SPLIT_SIZE;
  else if (repeated)
    *out = LAZE_SPLIT_REPEATED;
  return LAZE_OK;
}

/* Whether all uses, which lie in one group, are at the same elements: two maps would be two reductions. */
static laze_status same_map(laze_scheduler *scheduler, const laze_use *uses, bool *out) {
  laze_mapper mapper = laze_scheduler_mapper(scheduler, uses->group);
  const laze_map *first, *other;
  *out = true;
  LAZE_TRY(laze_map_normalise(&mapper, uses->map, &first));
  for (const laze_use *use = uses->next; use && *out; use = use->next) {
    LAZE_TRY(laze_map_normalise(&mapper, use->map, &other));
    LAZE_TRY(laze_map_equal(&mapper, first, other, out));
  }
  return LAZE_OK;
}

/* Whether all uses, which lie in one group, are better served from memory. */
static laze_status weigh(laze_scheduler *scheduler, int32_t node_index, laze_split *out) {
  int32_t instances;
  bool dear;
  LAZE_TRY(laze_schedule_weigh(scheduler, node_index, &instances, &dear));
  if (dear)
    *out = LAZE_SPLIT_DEAR;
  else if (weight_of(scheduler->uses[node_index]->group) + instances > LAZE_GROUP_MAX_WEIGHT)
    *out = LAZE_SPLIT_SIZE;
  return LAZE_OK;
}

/* Whether an indexed node that joins at these needs has each of its indices checked: those at which no element is
 * computed would not be. */
static laze_status checks_all(laze_scheduler *scheduler, laze_group_builder *group, const laze_needs *needs,
                              bool *out) {
  laze_mapper mapper = laze_scheduler_mapper(scheduler, group);
  const laze_map *indices;
  LAZE_TRY(laze_map_normalise(&mapper, needs->maps[1], &indices));
  LAZE_TRY(laze_map_covers(&mapper, indices, out));
  for (int32_t i = 0; i < group->domain.order_count && *out; i++) {
    laze_size extent = group->domain.axes[group->domain.order[i]].extent;
    if (!laze_map_uses(indices, group->domain.order[i]))
      LAZE_TRY(laze_size_ask_less_equal(mapper.sizes, 1, extent, out, mapper.error));
  }
  return LAZE_OK;
}

/* Tries to compute all uses of a node inside the groups they are in. *done is false, with *why set, where it must be
 * stored. Nothing but splits of axes is changed then. */
static laze_status try_join(laze_scheduler *scheduler, int32_t node_index, bool *done, laze_split *why) {
  const laze_node *node = &scheduler->graph->nodes[node_index];
  laze_use *uses = scheduler->uses[node_index];
  bool reduction = laze_op_get(node->op)->op_class == LAZE_CLASS_REDUCTION, possible = true;
  bool checked = laze_op_get(node->op)->op_class != LAZE_CLASS_INDEXING;
  *done = false;
  for (laze_use *use = uses; use; use = use->next) {
    LAZE_TRY(objection(scheduler, node_index, use, use->group == uses->group, why));
    if (*why != LAZE_SPLIT_OFF) return LAZE_OK;
  }
  if (!reduction && !is_duplicable(node)) LAZE_TRY(weigh(scheduler, node_index, why));
  if (*why != LAZE_SPLIT_OFF) return LAZE_OK;
  *why = reduction ? LAZE_SPLIT_REDUCTION : LAZE_SPLIT_VIEW;
  if (reduction) LAZE_TRY(same_map(scheduler, uses, &possible));
  /* A reduction changes the domain when it is asked; once is enough, for its uses are at one map. */
  for (laze_use *use = uses; use && possible && !(reduction && use != uses); use = use->next) {
    laze_needs needs;
    LAZE_TRY(laze_schedule_needs(scheduler, use->group, node, use->map, &needs, &possible));
    if (possible && !checked) LAZE_TRY(checks_all(scheduler, use->group, &needs, &checked));
  }
  if (possible && !checked) *why = LAZE_SPLIT_CHECK;
  *done = possible && checked;
  return LAZE_OK;
}

/* Computes the node in the groups of its uses. A split made for one use may leave another that can no longer be
 * expressed: *done is then false, and only such uses are left, to be loads. */
static laze_status join_uses(laze_scheduler *scheduler, int32_t node_index, bool *done) {
  const laze_node *node = &scheduler->graph->nodes[node_index];
  for (laze_use *use = scheduler->uses[node_index]; use; use = use->next) {
    laze_value value = {node_index, use->result};
    laze_needs needs;
    bool possible;
    int32_t instance = -1;
    if (node->op != LAZE_OP_IOTA) /* whose instances are at another map than their uses */
      LAZE_TRY(find_instance(scheduler, use->group, value, use->map, &instance));
    if (instance < 0) {
      LAZE_TRY(laze_schedule_needs(scheduler, use->group, node, use->map, &needs, &possible));
      if (!possible) {
        scheduler->uses[node_index] = use;
        *done = false;
        return LAZE_OK;
      }
      LAZE_TRY(place(scheduler, use->group, node_index, use->result, use->map, &needs, &instance));
    }
    fill_slot(use, instance);
  }
  return LAZE_OK;
}

/* Movement: every use becomes a use of the operand. *done is false where a group cannot express some map. */
static laze_status pass_uses(laze_scheduler *scheduler, int32_t node_index, bool *done) {
  const laze_node *node = &scheduler->graph->nodes[node_index];
  int64_t count = 0;
  for (laze_use *use = scheduler->uses[node_index]; use; use = use->next) count++;
  const laze_map **maps = laze_arena_alloc_array(scheduler->arena, count, sizeof *maps);
  if (!maps) return memory_error(scheduler);
  int64_t index = 0;
  *done = false;
  for (laze_use *use = scheduler->uses[node_index]; use; use = use->next) {
    laze_needs needs;
    bool possible;
    maps[index] = NULL;
    if (!use->map && !(use->flat && laze_schedule_keeps_order(node->op))) return LAZE_OK;
    if (use->map) {
      LAZE_TRY(laze_schedule_needs(scheduler, use->group, node, use->map, &needs, &possible));
      if (!possible) return LAZE_OK;
      maps[index] = needs.maps[0];
    }
    index++;
  }
  index = 0;
  for (laze_use *use = scheduler->uses[node_index]; use; use = use->next) {
    use->group->open_count -= use->counted;
    LAZE_TRY(laze_schedule_add_use(scheduler, use->group, use->instance, use->slot, node->operands[0], maps[index++]));
    scheduler->uses[node->operands[0].node]->flat = use->flat;
  }
  *done = true;
  return LAZE_OK;
}

/* Groups for stored values */

static laze_status fallback_group(laze_scheduler *scheduler, int32_t node_index, const char *why) {
  const laze_node *node = &scheduler->graph->nodes[node_index];
  laze_group_builder *group = NULL;
  LAZE_TRY(new_group(scheduler, LAZE_GROUP_FALLBACK, (laze_value){node_index, 0}, LAZE_SPLIT_PRODUCT, &group));
  group->group.interpreted = why;
  for (int32_t i = 0; i < node->operand_count; i++)
    LAZE_TRY(laze_schedule_add_use(scheduler, group, -1, i, node->operands[i], NULL));
  return LAZE_OK;
}

/* A matrix product's domain has the axes (batch,) rows, columns, depth; they never split. */
static laze_status matrix_group(laze_scheduler *scheduler, int32_t node_index) {
  const laze_node *node = &scheduler->graph->nodes[node_index];
  laze_group_builder *group = NULL;
  LAZE_TRY(new_group(scheduler, LAZE_GROUP_MATRIX, (laze_value){node_index, 0}, LAZE_SPLIT_PRODUCT, &group));
  laze_mapper mapper = laze_scheduler_mapper(scheduler, group);
  bool batched = node->op == LAZE_OP_BMM;
  const laze_type *types[3] = {laze_graph_type(scheduler->graph, node->operands[0]),
                               laze_graph_type(scheduler->graph, node->operands[1]), node->types[0]};
  laze_component axes[4]; /* batch, rows, columns, depth */
  laze_size extents[4] = {batched ? types[2]->sizes[0] : 1, types[2]->sizes[batched], types[2]->sizes[batched + 1],
                          types[0]->sizes[batched + 1]};
  for (int i = 0; i < 4; i++) {
    laze_term *term = laze_arena_alloc(scheduler->arena, sizeof *term);
    if (!term) return memory_error(scheduler);
    *term = (laze_term){laze_domain_add_axis(&group->domain, extents[i], -1), 1};
    group->domain.axes[term->axis].reduced = true; /* not to be split */
    axes[i] = (laze_component){.terms = term, .term_count = 1, .dynamic = -1};
  }
  static const int axes_of[3][2] = {{1, 3}, {3, 2}, {1, 2}};
  const laze_map *maps[3];
  for (int i = 0; i < 3; i++) {
    laze_component components[3] = {axes[0], axes[axes_of[i][0]], axes[axes_of[i][1]]};
    LAZE_TRY(laze_map_create(&mapper, types[i]->sizes, batched ? components : components + 1, types[i]->rank, NULL,
                             &maps[i]));
  }
  int32_t instance;
  LAZE_TRY(laze_schedule_add_instance(scheduler, group, LAZE_INSTANCE_MATRIX, group->group.root, maps[2], &instance));
  group->instances[instance].operand_count = 2;
  for (int32_t i = 0; i < 2; i++)
    LAZE_TRY(laze_schedule_add_use(scheduler, group, instance, i, node->operands[i], maps[i]));
  return LAZE_OK;
}

laze_status laze_schedule_add_write(laze_scheduler *scheduler, laze_group_builder *group, int32_t instance) {
  if (!grow_in_arena(scheduler, (void **)&group->writes, &group->write_capacity, group->group.write_count + 1,
                     sizeof *group->writes))
    return memory_error(scheduler);
  group->instances[instance].store = group->group.write_count;
  group->writes[group->group.write_count++] = group->instances[instance].value;
  group->group.writes = group->writes;
  return LAZE_OK;
}

/* An iota's map gives its value, so that one which is stored needs an instance at the place it is stored to. */
static laze_status place_root(laze_scheduler *scheduler, laze_group_builder *group, int32_t node_index,
                              const laze_map *map, laze_needs *needs, int32_t *out) {
  laze_value value = {node_index, 0};
  int32_t iota;
  if (needs->kind != LAZE_INSTANCE_IOTA) return place(scheduler, group, node_index, 0, map, needs, out);
  LAZE_TRY(laze_schedule_add_instance(scheduler, group, LAZE_INSTANCE_PASS, value, map, out));
  LAZE_TRY(place(scheduler, group, node_index, 0, map, needs, &iota));
  group->instances[*out].operand_count = 1;
  group->instances[*out].operands[0] = iota;
  return LAZE_OK;
}

/* A group that ends in this node, over its elements as one flat axis. */
static laze_status loops_group(laze_scheduler *scheduler, int32_t node_index, laze_split why) {
  const laze_node *node = &scheduler->graph->nodes[node_index];
  laze_group_builder *group = NULL;
  LAZE_TRY(new_group(scheduler, LAZE_GROUP_LOOPS, (laze_value){node_index, 0}, why, &group));
  laze_mapper mapper = laze_scheduler_mapper(scheduler, group);
  laze_size elements;
  const laze_map *map;
  laze_needs needs;
  bool possible;
  int32_t instance;
  LAZE_TRY(laze_type_elements(scheduler->graph->sizes, node->types[0], &elements, scheduler->error));
  LAZE_TRY(laze_map_flat(&mapper, elements, &map));
  LAZE_TRY(laze_schedule_needs(scheduler, group, node, map, &needs, &possible));
  if (!possible) return fallback_group(scheduler, node_index, "no loops give its elements in order");
  if (needs.pass_through) needs.kind = LAZE_INSTANCE_PASS;
  LAZE_TRY(place_root(scheduler, group, node_index, map, &needs, &instance));
  return laze_schedule_add_write(scheduler, group, instance);
}

static laze_status store(laze_scheduler *scheduler, int32_t node_index, laze_split why) {
  const laze_node *node = &scheduler->graph->nodes[node_index];
  laze_op_class op_class = laze_op_get(node->op)->op_class;
  LAZE_TRY(load_uses(scheduler, node_index));
  if (node->op == LAZE_OP_CAT) {
    bool possible;
    LAZE_TRY(laze_schedule_store_pieces(scheduler, node_index, why, &possible));
    return possible ? LAZE_OK : fallback_group(scheduler, node_index, "its pieces lie too deep in each other");
  }
  if (op_class == LAZE_CLASS_PRODUCT) return matrix_group(scheduler, node_index);
  if (node->region_count > 0) return fallback_group(scheduler, node_index, "it has regions");
  if (node->result_count != 1) return fallback_group(scheduler, node_index, "it has several results");
  return loops_group(scheduler, node_index, why);
}

/* A returned value that its only group computes once for each of its elements, in the domain's own order, is stored on
 * the way instead of being computed in a group of its own. */
static bool stores_on_the_way(const laze_scheduler *scheduler, int32_t node_index) {
  const laze_use *uses = scheduler->uses[node_index];
  if (!uses || !uses->map || uses->group->group.kind != LAZE_GROUP_LOOPS) return false;
  const laze_instance *root = &uses->group->instances[0];
  for (const laze_use *use = uses; use; use = use->next)
    if (use->group != uses->group || use->map != root->map) return false;
  return root->kind == LAZE_INSTANCE_ELEMENT && uses->group->group.write_count < LAZE_GROUP_MAX_READS;
}

static laze_status visit_output(laze_scheduler *scheduler, int32_t node_index, bool *done) {
  laze_split why;
  *done = false;
  const laze_node *node = &scheduler->graph->nodes[node_index];
  if (laze_op_get(node->op)->op_class != LAZE_CLASS_ELEMENTWISE || !stores_on_the_way(scheduler, node_index))
    return LAZE_OK;
  laze_group_builder *group = scheduler->uses[node_index]->group;
  LAZE_TRY(try_join(scheduler, node_index, done, &why));
  if (!*done) return LAZE_OK;
  LAZE_TRY(join_uses(scheduler, node_index, done));
  return *done ? laze_schedule_add_write(scheduler, group, scheduler->latest[node_index].first) : LAZE_OK;
}

static laze_status visit_constant(laze_scheduler *scheduler, int32_t node_index) {
  laze_value value = {node_index, 0};
  if (!laze_schedule_is_inline_constant(scheduler->graph, value)) return load_uses(scheduler, node_index);
  for (laze_use *use = scheduler->uses[node_index]; use; use = use->next) {
    int32_t instance;
    laze_instance_kind kind = use->group->group.kind == LAZE_GROUP_LOOPS ? LAZE_INSTANCE_CONSTANT : LAZE_INSTANCE_LOAD;
    if (!use->map) {
      read_whole(use, value);
      continue;
    }
    LAZE_TRY(laze_schedule_add_instance(scheduler, use->group, kind, value, use->map, &instance));
    fill_slot(use, instance);
  }
  return LAZE_OK;
}

static laze_status visit(laze_scheduler *scheduler, int32_t node_index) {
  const laze_node *node = &scheduler->graph->nodes[node_index];
  bool output = scheduler->is_output[node_index], done = false;
  laze_split why = output ? LAZE_SPLIT_OUTPUT : LAZE_SPLIT_OFF;
  if (node->op == LAZE_OP_PARAMETER) return load_uses(scheduler, node_index);
  if (node->op == LAZE_OP_CONSTANT) return visit_constant(scheduler, node_index);
  if (!scheduler->uses[node_index] && !output) return LAZE_OK;
  if (scheduler->options->no_fusion) return store(scheduler, node_index, why);
  if (!output && node->op == LAZE_OP_CAT) LAZE_TRY(laze_schedule_flatten_pieces(scheduler, node_index, &done));
  if (done) return LAZE_OK;
  if (output && scheduler->uses[node_index]) LAZE_TRY(visit_output(scheduler, node_index, &done));
  if (!output && laze_schedule_passes_through(node->op)) {
    why = LAZE_SPLIT_VIEW;
    LAZE_TRY(pass_uses(scheduler, node_index, &done));
  } else if (!output) {
    LAZE_TRY(try_join(scheduler, node_index, &done, &why));
    if (done) LAZE_TRY(join_uses(scheduler, node_index, &done));
  }
  return done ? LAZE_OK : store(scheduler, node_index, why);
}

/* Says with an error which call could not be scheduled. */
static laze_status visit_named(laze_scheduler *scheduler, int32_t node_index) {
  laze_status status = visit(scheduler, node_index);
  laze_site site = laze_node_site(&scheduler->graph->nodes[node_index]);
  if (status != LAZE_OK) (void)laze_site_name(scheduler->error, &site);
  return status;
}

static laze_status visit_all(laze_scheduler *scheduler, laze_arena *scratch) {
  const laze_block *body = scheduler->graph->body;
  for (int64_t i = 0; i < body->result_count; i++) scheduler->is_output[body->results[i].node] = true;
  LAZE_TRY(laze_schedule_find_costs(scheduler, scratch));
  for (int64_t i = body->node_count; i-- > 0;) LAZE_TRY(visit_named(scheduler, body->nodes[i]));
  for (int64_t i = 0; i < body->parameter_count; i++) LAZE_TRY(visit(scheduler, body->parameters[i]));
  return LAZE_OK;
}

/* Finishing: groups in the order of their roots, each lowered. */

static laze_status finish_fallback(laze_scheduler *scheduler, laze_group_builder *group) {
  const laze_node *node = laze_graph_node(scheduler->graph, group->group.root);
  group->group.reads = node->operands;
  group->group.read_count = node->operand_count;
  group->group.domain = 1;
  group->group.label = laze_op_get(node->op)->name;
  return laze_emit_root(scheduler, group);
}

static laze_status finish_copy(laze_scheduler *scheduler, laze_group_builder *group) {
  group->group.reads = group->sources;
  return laze_emit_root(scheduler, group);
}

static laze_status finish(laze_scheduler *scheduler, laze_schedule *out) {
  const laze_block *body = scheduler->graph->body;
  int64_t count = 0;
  out->groups = laze_arena_alloc_array(scheduler->arena, scheduler->group_count, sizeof *out->groups);
  if (!out->groups) return memory_error(scheduler);
  for (int64_t i = 0; i < body->node_count; i++) {
    laze_group_builder *group = scheduler->group_of_root[body->nodes[i]];
    if (group && group->piece && !scheduler->options->kernels_only)
      LAZE_TRY(laze_schedule_merge_copies(scheduler, &group));
    for (; group; group = group->next) {
      if (group->group.kind == LAZE_GROUP_FALLBACK)
        LAZE_TRY(finish_fallback(scheduler, group));
      else if (group->group.kind == LAZE_GROUP_COPY)
        LAZE_TRY(finish_copy(scheduler, group));
      else if (group->group.kind == LAZE_GROUP_MATRIX)
        LAZE_TRY(laze_schedule_emit_matrix(scheduler, group));
      else
        LAZE_TRY(laze_schedule_emit(scheduler, group));
      out->groups[count++] = &group->group;
    }
  }
  out->group_count = (int32_t)count;
  return LAZE_OK;
}

laze_status laze_schedule_build(laze_graph *graph, laze_arena *arena, const laze_schedule_options *options,
                                laze_schedule *out, laze_error *error) {
  laze_scheduler scheduler = {.graph = graph, .arena = arena, .error = error, .options = options};
  laze_arena scratch;
  laze_arena_init(&scratch, graph->context);
  scheduler.uses = laze_arena_alloc_zero(&scratch, graph->node_count * (int64_t)sizeof *scheduler.uses);
  scheduler.is_output = laze_arena_alloc_zero(&scratch, graph->node_count);
  scheduler.group_of_root =
      laze_arena_alloc_zero(&scratch, graph->node_count * (int64_t)sizeof *scheduler.group_of_root);
  scheduler.latest = laze_arena_alloc_zero(&scratch, graph->node_count * (int64_t)sizeof *scheduler.latest);
  scheduler.listed = laze_arena_alloc_zero(&scratch, graph->node_count * (int64_t)sizeof *scheduler.listed);
  laze_status status = LAZE_OK;
  if (!scheduler.uses || !scheduler.is_output || !scheduler.group_of_root || !scheduler.latest || !scheduler.listed)
    status = memory_error(&scheduler);
  if (status == LAZE_OK) status = visit_all(&scheduler, &scratch);
  if (status == LAZE_OK) status = finish(&scheduler, out);
  laze_arena_deinit(&scratch);
  return status;
}
