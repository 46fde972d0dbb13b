/* Scans joining a group. Seen as [before, along, behind], each element of the result is the state after one more
 * element along its axis, so that this axis is run through in turn, inside all others:
 *
 *   cumsum over axis 1 of f32[n, a, c]     for n, for c in lanes, state; for a: state += x[n, a, c], store it
 *   cumsum over axis 1 of f32[n, a]        for n, state; for a: ...       one element after the other
 *
 * The axis counts as reduced, which makes it innermost, and stays whole. A scan joins a group where its own axis is one
 * of the group's, run through from the first element to the last, and where every other axis of the group is one of the
 * result's: then each state is computed once. Scans along one axis share its loop; reductions have loops of their own,
 * in another order, and do not.
 */
#include "codegen/schedule/group.h"

/* The result as the view [before, along, behind]. */
enum { BEFORE, ALONG, BEHIND, VIEW_RANK };

static laze_status find_view(laze_mapper *mapper, const laze_type *type, int axis, laze_size view[VIEW_RANK]) {
  for (int i = 0; i < VIEW_RANK; i++) view[i] = 1;
  for (int i = 0; i < type->rank; i++) {
    laze_size *product = &view[i < axis ? BEFORE : i > axis ? BEHIND : ALONG];
    LAZE_TRY(laze_size_binary(mapper->sizes, LAZE_SIZE_MUL, *product, type->sizes[i], product, mapper->error));
  }
  return LAZE_OK;
}

/* The axis of the domain that the component is, from its first element to its last; -1: it is none. */
static laze_status whole_axis(laze_mapper *mapper, const laze_component *component, laze_size extent, int32_t *out) {
  *out = -1;
  if (component->term_count != 1 || component->offset != 0 || component->terms[0].coefficient != 1) return LAZE_OK;
  int32_t axis = component->terms[0].axis;
  bool whole = mapper->domain->axes[axis].extent == extent;
  if (!whole)
    LAZE_TRY(laze_size_ask_equal(mapper->sizes, mapper->domain->axes[axis].extent, extent, &whole, mapper->error));
  if (whole) *out = axis;
  return LAZE_OK;
}

/* Whether the map depends on every axis of the domain, and on `along` through one component alone. */
static bool is_run_once(const laze_domain *domain, const laze_map *map, int32_t along) {
  int32_t uses = 0;
  for (int32_t i = 0; i < map->rank; i++)
    for (int32_t t = 0; t < map->components[i].term_count; t++) uses += map->components[i].terms[t].axis == along;
  for (int32_t i = 0; i < domain->order_count; i++)
    if (domain->order[i] != along && !laze_map_uses(map, domain->order[i])) return false;
  return uses <= 1;
}

/* The axis that scans of the group go along; -1: it has none. */
static int32_t axis_in_turn(const laze_group_builder *group) {
  for (int32_t i = 0; i < group->domain.order_count && group->order == LAZE_ORDER_SEQUENCE; i++)
    if (group->domain.axes[group->domain.order[i]].reduced) return group->domain.order[i];
  return -1;
}

/* Whether a line of one element is computed for each point of the domain, once, or there is no point at all: then the
 * scan needs no axis of the domain. */
static laze_status is_short(laze_mapper *mapper, const laze_size view[VIEW_RANK], bool once, bool *out) {
  *out = false;
  if (once) LAZE_TRY(laze_size_is_one(mapper, view[ALONG], out));
  for (int i = 0; i < VIEW_RANK && !*out; i++)
    LAZE_TRY(laze_size_ask_less_equal(mapper->sizes, view[i], 0, out, mapper->error));
  return LAZE_OK;
}

/* Finds the axis along which the scan goes, a new one for lines of one element. -1: the group has none for it. */
static laze_status find_axis(laze_mapper *mapper, laze_group_builder *group, const laze_size view[VIEW_RANK],
                             const laze_map *own, int32_t *out) {
  laze_domain *domain = mapper->domain;
  int32_t shared = axis_in_turn(group);
  *out = -1;
  if (group->has_reduction && shared < 0) return LAZE_OK;
  LAZE_TRY(whole_axis(mapper, &own->components[ALONG], view[ALONG], out));
  if (*out >= 0 && (!is_run_once(domain, own, *out) || (shared >= 0 && shared != *out))) *out = -1;
  if (*out >= 0) return LAZE_OK;
  bool is_line_short = false, fits = shared < 0 || domain->axes[shared].extent == 1;
  if (fits) LAZE_TRY(is_short(mapper, view, is_run_once(domain, own, shared), &is_line_short));
  if (is_line_short) *out = shared >= 0 ? shared : laze_domain_add_axis(domain, 1, -1);
  return LAZE_OK;
}

/* Whether nothing lies behind the axis, so that lanes would lie across it. */
static laze_status is_last(laze_mapper *mapper, const laze_type *type, int axis, bool *out) {
  *out = true;
  for (int i = axis + 1; i < type->rank && *out; i++) LAZE_TRY(laze_size_is_one(mapper, type->sizes[i], out));
  return LAZE_OK;
}

laze_status laze_schedule_scan_needs(laze_scheduler *scheduler, laze_group_builder *group, const laze_node *node,
                                     const laze_map *map, laze_needs *out, bool *possible) {
  laze_mapper mapper = laze_scheduler_mapper(scheduler, group);
  const laze_op_info *info = laze_op_get(node->op);
  laze_inference inference = {mapper.sizes, info->base, mapper.error};
  const laze_type *type = node->types[0];
  const laze_map *own;
  laze_size view[VIEW_RANK];
  int32_t along;
  int axis;
  int64_t dim = node->attributes[laze_op_argument(info, "dim")->position].value.integer;
  *possible = false;
  LAZE_TRY(laze_infer_axis(&inference, dim, type->rank, &axis));
  LAZE_TRY(find_view(&mapper, type, axis, view));
  LAZE_TRY(laze_map_refine(&mapper, map, view, VIEW_RANK, &own));
  if (!own || own->guards) return LAZE_OK;
  for (int32_t i = 0; i < own->rank; i++)
    if (own->components[i].dynamic >= 0) return LAZE_OK;
  LAZE_TRY(find_axis(&mapper, group, view, own, &along));
  if (along < 0) return LAZE_OK;
  if (!group->has_reduction) LAZE_TRY(is_last(&mapper, type, axis, &group->serial));
  group->domain.axes[along].reduced = group->domain.axes[along].whole = true;
  group->has_reduction = true;
  group->order = LAZE_ORDER_SEQUENCE;
  out->kind = LAZE_INSTANCE_SCAN;
  out->count = 1;
  out->maps[0] = own;
  *possible = true;
  return LAZE_OK;
}
