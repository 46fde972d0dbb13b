/* Whether a value is computed in the groups of its uses, and doing so.
 *
 *   %0 = exp %x       all uses in one group, at maps it can express, and cheaper there than a store and loads: joins
 *   %1 = permute %0   movement: its uses become uses of %0, at other maps
 */
#include "codegen/schedule/fuse.h"

#include "codegen/schedule/group.h"
#include "codegen/schedule/join.h"
#include "codegen/schedule/kind.h"

/* Whether evaluating at this map repeats, for each element of an axis that lies outside the axes it depends on, what
 * costs something: more than a cheap operator, or a number from nothing. Axes further in cost nothing: the value is
 * computed before their loops. */
static laze_status repeats(laze_scheduler *scheduler, laze_group_builder *group, int32_t node_index,
                           const laze_map *given, bool *out) {
  const laze_node *node = &scheduler->graph->nodes[node_index];
  const laze_join *join = laze_schedule_join_of(node->op);
  *out = false;
  if (join->is_made || (join->computes && laze_schedule_is_cheap(scheduler, node_index))) return LAZE_OK;
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
  const laze_join *join = laze_schedule_join_of(node->op);
  return join->is_made || (join->computes && node->types[0]->rank == 0);
}

/* Why a use, by itself, keeps its node from joining: LAZE_SPLIT_OFF where nothing does. */
static laze_status objection(laze_scheduler *scheduler, int32_t node_index, const laze_use *use, bool alone,
                             laze_split *out) {
  const laze_node *node = &scheduler->graph->nodes[node_index];
  const laze_group_builder *group = use->group;
  bool repeated = false;
  *out = LAZE_SPLIT_OFF;
  if (!use->map || !laze_group_rules_of(group)->grow) {
    *out = LAZE_SPLIT_OPERAND;
    return LAZE_OK;
  }
  if (!laze_schedule_join_of(node->op)->reduces)
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

laze_status laze_schedule_try_fuse(laze_scheduler *scheduler, int32_t node_index, bool *done, laze_split *why) {
  const laze_node *node = &scheduler->graph->nodes[node_index];
  laze_use *uses = scheduler->uses[node_index];
  const laze_join *join = laze_schedule_join_of(node->op);
  bool reduction = join->reduces, checked = !join->indexes, possible = true;
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

laze_status laze_schedule_fuse_uses(laze_scheduler *scheduler, int32_t node_index, bool *done) {
  for (laze_use *use = scheduler->uses[node_index]; use; use = use->next) {
    int32_t instance;
    LAZE_TRY(laze_group_rules_of(use->group)->grow(scheduler, use, node_index, &instance, done));
    if (!*done) {
      scheduler->uses[node_index] = use;
      return LAZE_OK;
    }
    laze_schedule_fill_use(use, instance);
  }
  return LAZE_OK;
}

laze_status laze_schedule_pass_uses(laze_scheduler *scheduler, int32_t node_index, bool *done, laze_split *why) {
  const laze_node *node = &scheduler->graph->nodes[node_index];
  int64_t count = 0;
  for (laze_use *use = scheduler->uses[node_index]; use; use = use->next) count++;
  const laze_map **maps = laze_arena_alloc_array(scheduler->arena, count, sizeof *maps);
  if (!maps) return laze_scheduler_memory_error(scheduler);
  int64_t index = 0;
  *done = false;
  *why = LAZE_SPLIT_VIEW;
  for (laze_use *use = scheduler->uses[node_index]; use; use = use->next) {
    laze_needs needs;
    bool possible;
    maps[index] = NULL;
    if (!use->map && !(use->flat && laze_schedule_join_of(node->op)->keeps_order)) return LAZE_OK;
    if (use->map) {
      const laze_group_rules *rules = laze_group_rules_of(use->group);
      LAZE_TRY(laze_schedule_needs(scheduler, use->group, node, use->map, &needs, &possible));
      *why = possible ? LAZE_SPLIT_FACTOR : LAZE_SPLIT_VIEW;
      if (possible && rules->reads) LAZE_TRY(rules->reads(scheduler, use, node_index, needs.maps[0], &possible));
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
