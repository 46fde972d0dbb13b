/* What computing a value again costs, against storing it once. Costs are for one element, in vector instructions:
 *
 *   a load, a guard, an exact operator, a check     1
 *   an inexact function (exp, tanh, ...)            8     against an add: 0.18 ns and 0.02 ns an element in cache
 *   a store, and memory meanwhile                   4
 *
 *   compute(v)  = its operator + what computes each of its operands; 1 for what is stored in any case
 *   again       = k compute(v)                      at k different maps
 *   stored      = compute(v) + 4 + k                once, then a load for each map
 *
 * A value is stored where that is less. Between different maps nothing can be shared, so that k is what makes sums of
 * shifted slices dear; a use that is the same along the innermost axis is computed ahead of that loop and costs
 * nothing. A concatenation inside a kernel is computed from all of its pieces for each element, one that is stored from
 * one.
 */
#include "codegen/schedule/group.h"

#include "codegen/schedule/join.h"

enum {
  COST_FUNCTION = 8,
  COST_STORE = 4,
  COST_MOST = 1000, /* more is not told apart */
  MAPS_MOST = 32,   /* nor are more maps */
};

/* Whether computing a value of that cost at `maps` maps is dearer than storing it. */
static bool is_dear(int32_t cost, int32_t once, int32_t maps) {
  return maps * cost > once + COST_STORE + maps;
}

/* What reaches an operand's value: it is loaded where it is stored in any case, or will be, because operators that move
 * elements ask for it at several maps. */
static int32_t operand_cost(const laze_scheduler *scheduler, laze_value operand) {
  const laze_node *node = &scheduler->graph->nodes[operand.node];
  int32_t cost = scheduler->costs[operand.node], moved = scheduler->moved[operand.node];
  if (node->types[0]->rank == 0) return 0; /* the same for all elements */
  if (scheduler->returned[operand.node] > 0 || (moved > 1 && is_dear(cost, cost, moved))) return cost > 0;
  return cost;
}

/* The sum over distinct operands, or the dearest one. */
static int32_t operands_cost(const laze_scheduler *scheduler, const laze_node *node, bool dearest) {
  int32_t cost = 0;
  for (int32_t i = 0; i < node->operand_count; i++) {
    bool again = false;
    for (int32_t k = 0; k < i && i < LAZE_MAX_OPERANDS; k++)
      again = again || laze_value_equal(node->operands[k], node->operands[i]);
    int32_t one = operand_cost(scheduler, node->operands[i]);
    if (dearest)
      cost = one > cost ? one : cost;
    else if (!again && cost < COST_MOST)
      cost += one;
  }
  return cost;
}

static int32_t node_cost(const laze_scheduler *scheduler, int32_t node_index) {
  const laze_node *node = &scheduler->graph->nodes[node_index];
  const laze_join *join = laze_schedule_join_of(node->op);
  if (node->region_count > 0 || node->result_count != 1) return 1;
  if (join->pass_through) return operands_cost(scheduler, node, false);
  if (join->concatenation) return operands_cost(scheduler, node, false) + node->operand_count;
  if (join->indexes || join->pads) return operands_cost(scheduler, node, false) + 1;
  if (!join->computes) /* read from memory, or a number of its own */
    return !laze_schedule_is_inline_constant(scheduler->graph, (laze_value){node_index, 0});
  return operands_cost(scheduler, node, false) + (laze_op_get(node->op)->exact ? 1 : COST_FUNCTION);
}

/* Counts the node among the moves of its operands. */
static void count_moves(laze_scheduler *scheduler, int32_t node_index) {
  const laze_node *node = &scheduler->graph->nodes[node_index];
  const laze_join *join = laze_schedule_join_of(node->op);
  if (!join->pass_through && !join->concatenation && !join->indexes && !join->pads) return;
  for (int32_t i = 0; i < node->operand_count; i++)
    if (scheduler->moved[node->operands[i].node] < MAPS_MOST) scheduler->moved[node->operands[i].node]++;
}

laze_status laze_schedule_prepare_costs(laze_scheduler *scheduler, laze_arena *arena) {
  int64_t count = scheduler->graph->node_count;
  scheduler->costs = laze_arena_alloc_zero(arena, count * (int64_t)sizeof *scheduler->costs);
  scheduler->moved = laze_arena_alloc_zero(arena, count * (int64_t)sizeof *scheduler->moved);
  if (scheduler->costs && scheduler->moved) return LAZE_OK;
  return laze_fail_memory(scheduler->error, "a schedule", -1);
}

void laze_schedule_find_costs(laze_scheduler *scheduler, const laze_block *block) {
  for (int64_t i = 0; i < block->node_count; i++) count_moves(scheduler, block->nodes[i]);
  for (int64_t i = 0; i < block->parameter_count; i++) scheduler->costs[block->parameters[i]] = 1;
  for (int64_t i = 0; i < block->node_count; i++) {
    int32_t cost = node_cost(scheduler, block->nodes[i]);
    scheduler->costs[block->nodes[i]] = cost < COST_MOST ? cost : COST_MOST;
  }
}

bool laze_schedule_is_cheap(const laze_scheduler *scheduler, int32_t node_index) {
  return scheduler->costs[node_index] < COST_FUNCTION;
}

static bool uses_axis(const laze_component *component, int32_t axis) {
  for (int32_t i = 0; i < component->term_count; i++)
    if (component->terms[i].axis == axis) return true;
  return component->dynamic >= 0;
}

/* Whether what is computed at the map differs along the innermost axis. */
static bool is_innermost(const laze_domain *domain, const laze_map *map) {
  if (domain->order_count == 0) return false;
  int32_t axis = domain->order[domain->order_count - 1];
  for (int32_t i = 0; i < map->rank; i++)
    if (uses_axis(&map->components[i], axis)) return true;
  for (const laze_guard *guard = map->guards; guard; guard = guard->next)
    if (uses_axis(&guard->component, axis)) return true;
  return false;
}

/* Different maps among uses in one group. `all` counts them, `inner` those that the innermost loop computes. */
static laze_status count_maps(laze_scheduler *scheduler, const laze_use *uses, int32_t *all, int32_t *inner) {
  const laze_map *maps[MAPS_MOST];
  laze_mapper mapper = laze_scheduler_mapper(scheduler, uses->group);
  *all = *inner = 0;
  for (const laze_use *use = uses; use && *all < MAPS_MOST; use = use->next) {
    const laze_map *map;
    bool known = false;
    LAZE_TRY(laze_map_normalise(&mapper, use->map, &map));
    for (int32_t i = 0; i < *all && !known; i++) LAZE_TRY(laze_map_equal(&mapper, maps[i], map, &known));
    if (known) continue;
    maps[(*all)++] = map;
    *inner += is_innermost(mapper.domain, map);
  }
  return LAZE_OK;
}

laze_status laze_schedule_weigh(laze_scheduler *scheduler, int32_t node_index, int32_t *instances, bool *dear) {
  const laze_node *node = &scheduler->graph->nodes[node_index];
  const laze_use *uses = scheduler->uses[node_index];
  int32_t maps, inner, cost = scheduler->costs[node_index];
  LAZE_TRY(count_maps(scheduler, uses, &maps, &inner));
  bool concatenates = laze_schedule_join_of(node->op)->concatenation != NULL;
  int32_t once = concatenates ? operands_cost(scheduler, node, true) : cost;
  int32_t each = 1 + node->operand_count + (concatenates ? node->operand_count : 0);
  *instances = maps * each;
  *dear = is_dear(cost, once, inner);
  return LAZE_OK;
}
