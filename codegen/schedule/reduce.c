/* Reductions joining a group.
 *
 * The operand's axes, without those of size 1 and with neighbours of one kind joined, are runs, kept or reduced:
 *
 *   sum over axes 1 and 2 of f32[n, a, b, c]     runs  n kept | a*b reduced | c kept        order: rows
 *   sum over axis 1 of f32[n, c]                 runs  n kept | c reduced                   order: lanes16
 *
 * The result's map gives the kept runs their components. The reduced runs need one domain axis each:
 *   - a group that has none yet gets new ones (a reduction at the end of its producers, with an epilogue after it);
 *   - or, where the group's domain has axes that the result does not depend on, those are the reduced ones: the result
 *     is broadcast back over what it was reduced from, as in softmax;
 *   - or they are the ones an earlier reduction of the group runs over.
 * Otherwise the reduction does not fit the group's loops and is stored.
 */
#include "codegen/schedule/group.h"

typedef struct {
  laze_size sizes[LAZE_MAX_RANK];
  bool reduced[LAZE_MAX_RANK];
  int count;
} run_list;

/* Which axes a reduction node reduces: none listed means all. */
static void reduced_axes(const laze_node *node, int rank, bool *out) {
  const laze_op_info *info = laze_op_get(node->op);
  const laze_attribute *dim = &node->attributes[laze_op_argument(info, "dim")->position];
  for (int axis = 0; axis < rank; axis++) out[axis] = !dim->present || dim->count == 0;
  for (int32_t i = 0; dim->present && i < dim->count && rank > 0; i++)
    out[dim->value.items[i] < 0 ? dim->value.items[i] + rank : dim->value.items[i]] = true;
}

static laze_status find_runs(laze_mapper *mapper, const laze_node *node, const laze_type *type, run_list *runs) {
  bool reduced[LAZE_MAX_RANK], after_reduced = false;
  reduced_axes(node, type->rank, reduced);
  runs->count = 0;
  for (int axis = 0; axis < type->rank; axis++) {
    bool one = type->sizes[axis] == 1;
    int last = runs->count - 1;
    bool continues = last >= 0 && runs->reduced[last] == reduced[axis];
    /* Behind reduced axes an axis of size 1 decides on the order: a kept one, and a reduced one that would begin a run.
     * Others make no difference to the result: not asking about them lets one program serve a batch of any size, one
     * included. */
    if (after_reduced && !(reduced[axis] && continues)) LAZE_TRY(laze_size_is_one(mapper, type->sizes[axis], &one));
    if (one) continue;
    after_reduced = after_reduced || reduced[axis];
    if (continues) {
      LAZE_TRY(laze_size_binary(mapper->sizes, LAZE_SIZE_MUL, runs->sizes[last], type->sizes[axis], &runs->sizes[last],
                                mapper->error));
    } else {
      runs->sizes[runs->count] = type->sizes[axis];
      runs->reduced[runs->count++] = reduced[axis];
    }
  }
  return LAZE_OK;
}

/* Marks the axes that the map depends on. */
static void mark_used(const laze_map *map, bool *used) {
  for (int32_t i = 0; i < map->rank; i++)
    for (int32_t t = 0; t < map->components[i].term_count; t++) used[map->components[i].terms[t].axis] = true;
}

/* Whether an axis of the domain, by number, is the one that a reduction over `extent` runs over. */
static laze_status is_reduced_axis(laze_mapper *mapper, const laze_group_builder *group, int32_t number,
                                   laze_size extent, bool *out) {
  const laze_axis *axis = &mapper->domain->axes[number];
  *out = (!group->has_reduction || axis->reduced) && axis->extent == extent;
  if (*out || (group->has_reduction && !axis->reduced)) return LAZE_OK;
  return laze_size_ask_equal(mapper->sizes, axis->extent, extent, out, mapper->error);
}

/* Finds the group's axes for the reduced runs among those the result does not use. *fits is false where there are such
 * axes but they do not match. An axis of one element that the result does not use is one that it keeps: f32[n,1] summed
 * over axis 0. */
static laze_status match_axes(laze_mapper *mapper, const laze_group_builder *group, const run_list *runs,
                              const bool *used, int32_t *axes, bool *fits) {
  const laze_domain *domain = mapper->domain;
  int found = 0, wanted = 0;
  laze_size extents[LAZE_MAX_RANK];
  *fits = true;
  for (int run = 0; run < runs->count; run++)
    if (runs->reduced[run]) extents[wanted++] = runs->sizes[run];
  for (int32_t i = 0; i < domain->order_count && *fits; i++) {
    const laze_axis *axis = &domain->axes[domain->order[i]];
    bool matches = false;
    if (used[domain->order[i]]) {
      *fits = !axis->reduced;
      continue;
    }
    if (found < wanted) LAZE_TRY(is_reduced_axis(mapper, group, domain->order[i], extents[found], &matches));
    if (matches)
      axes[found++] = domain->order[i];
    else if (axis->reduced)
      *fits = false;
    else
      LAZE_TRY(laze_size_is_one(mapper, axis->extent, fits));
  }
  *fits = *fits && found == wanted;
  return LAZE_OK;
}

/* Adds an axis for each reduced run; none, and false, where the domain has no room for all. */
static bool add_axes(laze_domain *domain, const run_list *runs, int32_t *axes) {
  int wanted = 0, found = 0;
  for (int run = 0; run < runs->count; run++) wanted += runs->reduced[run];
  if (domain->axis_count + wanted > LAZE_MAX_AXES) return false;
  for (int run = 0; run < runs->count; run++)
    if (runs->reduced[run]) axes[found++] = laze_domain_add_axis(domain, runs->sizes[run], -1);
  return true;
}

/* Whether the result's map leaves out no axis of the domain, but perhaps some of one element. */
static laze_status uses_all(laze_mapper *mapper, const bool *used, bool *out) {
  *out = true;
  for (int32_t i = 0; i < mapper->domain->order_count && *out; i++) {
    int32_t axis = mapper->domain->order[i];
    if (!used[axis]) LAZE_TRY(laze_size_is_one(mapper, mapper->domain->axes[axis].extent, out));
  }
  return LAZE_OK;
}

static laze_status find_axes(laze_mapper *mapper, laze_group_builder *group, const run_list *runs, const laze_map *kept,
                             int32_t *axes, bool *possible) {
  bool used[LAZE_MAX_AXES] = {false}, all_used = true;
  mark_used(kept, used);
  if (group->instance_count > 0) { /* where the group ends in the reduction there is nothing to match */
    LAZE_TRY(match_axes(mapper, group, runs, used, axes, possible));
    if (*possible || group->has_reduction) return LAZE_OK;
    LAZE_TRY(uses_all(mapper, used, &all_used));
  }
  *possible = all_used && add_axes(mapper->domain, runs, axes);
  return LAZE_OK;
}

/* The operand's map over its runs: kept components from the result, reduced ones from the axes. */
static laze_status operand_map(laze_mapper *mapper, const run_list *runs, const laze_map *kept, const int32_t *axes,
                               const laze_map **out) {
  laze_component components[LAZE_MAX_RANK];
  int next_kept = 0, next_reduced = 0;
  for (int run = 0; run < runs->count; run++) {
    if (!runs->reduced[run]) {
      components[run] = kept->components[next_kept++];
      continue;
    }
    laze_term term = {axes[next_reduced++], 1};
    const laze_term *copy = laze_arena_copy(mapper->arena, &term, sizeof term);
    if (!copy) return laze_fail_memory(mapper->error, "a schedule", sizeof term);
    components[run] = (laze_component){.terms = copy, .term_count = 1, .dynamic = -1};
  }
  return laze_map_create(mapper, runs->sizes, components, runs->count, NULL, out);
}

/* An operand may split the axes that it sees apart, as windows do: places are the same then, but for those of lanes16,
 * which depend on the extent of the last run. */
static void mark_reduced(laze_domain *domain, const run_list *runs, const int32_t *axes, laze_order order) {
  for (int i = 0, found = 0; i < runs->count; i++) {
    if (!runs->reduced[i]) continue;
    laze_axis *axis = &domain->axes[axes[found++]];
    axis->reduced = true;
    axis->whole = axis->whole || (order == LAZE_ORDER_LANES16 && i == runs->count - 1);
  }
}

laze_status laze_schedule_reduction_needs(laze_scheduler *scheduler, laze_group_builder *group, const laze_node *node,
                                          const laze_map *map, laze_needs *out, bool *possible) {
  laze_mapper mapper = laze_scheduler_mapper(scheduler, group);
  run_list runs;
  laze_size kept_sizes[LAZE_MAX_RANK];
  int32_t axes[LAZE_MAX_RANK];
  int kept_count = 0;
  LAZE_TRY(find_runs(&mapper, node, laze_graph_type(scheduler->graph, node->operands[0]), &runs));
  for (int run = 0; run < runs.count; run++)
    if (!runs.reduced[run]) kept_sizes[kept_count++] = runs.sizes[run];
  laze_order order = runs.count > 0 && !runs.reduced[runs.count - 1] ? LAZE_ORDER_ROWS : LAZE_ORDER_LANES16;
  const laze_map *kept;
  LAZE_TRY(laze_map_refine(&mapper, map, kept_sizes, kept_count, &kept));
  *possible = kept != NULL && kept->guards == NULL && (!group->has_reduction || group->order == order);
  for (int32_t i = 0; *possible && i < kept->rank; i++) *possible = kept->components[i].dynamic < 0;
  /* A run of nothing: one element, and no axis. The reduction still combines it with the initial value. */
  if (*possible) LAZE_TRY(find_axes(&mapper, group, &runs, kept, axes, possible));
  if (!*possible) return LAZE_OK;
  mark_reduced(mapper.domain, &runs, axes, order);
  group->has_reduction = true;
  group->order = order;
  out->kind = LAZE_INSTANCE_REDUCE;
  out->count = 1;
  return operand_map(&mapper, &runs, kept, axes, &out->maps[0]);
}
