/* Makes captured values explicit, once the regions of a node are there:
 *
 *   scan [%s], [%x] (%a, %row) { uses %w of the block around it   return %next, %y }
 *
 *   operands     %s  %w  %x          behind the list that holds what the node carries
 *   parameters   %a  %w' %row        in every region at the same place
 *   returned     %next  %w'  %y      by the region whose results go around; so the node's results
 */
#include "ir/capture.h"

#include "base/hash.h"
#include "ir/control.h"

#include <string.h>

/* Where captured values go. */
typedef struct {
  laze_graph *graph;
  laze_captures *captures;
  const laze_call *call;
  laze_block *const *regions;
  int32_t segment;   /* of the operands: behind it */
  int32_t before;    /* operands, up to there */
  int32_t at;        /* among parameters, and among results */
  int32_t returning; /* the region that returns them; -1: none does */
  laze_error *error;
} insertion;

static laze_status memory_error(laze_error *error) {
  return laze_fail_memory(error, "what regions use", -1);
}

/* The slot of a captured value, or the free one where it would go. */
static int32_t *find_slot(const laze_captures *captures, laze_value outside) {
  const uint64_t last = (uint64_t)captures->capacity * 2 - 1;
  uint64_t slot = laze_hash_mix((uint64_t)outside.node, (uint64_t)outside.result) & last;
  while (captures->slots[slot] >= 0 && !laze_value_equal(captures->items[captures->slots[slot]].outside, outside))
    slot = (slot + 1) & last;
  return &captures->slots[slot];
}

static laze_status grow(laze_captures *captures, laze_error *error) {
  const int32_t capacity = captures->capacity ? captures->capacity * 2 : 8;
  laze_capture *items = laze_arena_alloc_array(captures->arena, capacity, sizeof *items);
  int32_t *slots = laze_arena_alloc_array(captures->arena, capacity, 2 * sizeof *slots);
  if (!items || !slots) return memory_error(error);
  if (captures->count > 0) memcpy(items, captures->items, (size_t)captures->count * sizeof *items);
  memset(slots, 0xff, (size_t)capacity * 2 * sizeof *slots);
  captures->items = items;
  captures->slots = slots;
  captures->capacity = capacity;
  for (int32_t i = 0; i < captures->count; i++) *find_slot(captures, items[i].outside) = i;
  return LAZE_OK;
}

/* The item of a captured value, added where there is none. */
static laze_status find_capture(laze_captures *captures, laze_value outside, laze_capture **out, laze_error *error) {
  if (captures->count == captures->capacity) LAZE_TRY(grow(captures, error));
  int32_t *slot = find_slot(captures, outside);
  if (*slot < 0) {
    *slot = captures->count++;
    laze_capture *added = &captures->items[*slot];
    added->outside = outside;
    for (int i = 0; i < LAZE_MAX_REGIONS; i++) added->parameters[i] = -1;
  }
  *out = &captures->items[*slot];
  return LAZE_OK;
}

/* The parameter of a region that stands for a captured value, added where there is none. */
static laze_status find_parameter(laze_graph *graph, laze_capture *capture, laze_block *region, int number,
                                  laze_error *error) {
  laze_value parameter;
  if (capture->parameters[number] >= 0) return LAZE_OK;
  LAZE_TRY(laze_graph_add_parameter(graph, region, NULL, laze_graph_type(graph, capture->outside), &parameter, error));
  capture->parameters[number] = parameter.node;
  return LAZE_OK;
}

laze_status laze_capture_value(laze_graph *graph, laze_captures *captures, laze_block *region, int number,
                               laze_value outside, laze_value *out, laze_error *error) {
  laze_capture *captured;
  LAZE_TRY(find_capture(captures, outside, &captured, error));
  LAZE_TRY(find_parameter(graph, captured, region, number, error));
  *out = (laze_value){captured->parameters[number], 0};
  return LAZE_OK;
}

static int32_t segment_length(const laze_call *call, int32_t segment) {
  int32_t first, length = laze_call_segment(call, segment, &first);
  return length > 0 ? length : 0;
}

/* Puts the captured parameters, which were added last and in whatever order, where they belong. */
static laze_status order_parameters(const insertion *state, laze_block *block, int number) {
  const laze_captures *captures = state->captures;
  int64_t count = 0;
  for (int32_t i = 0; i < captures->count; i++)
    LAZE_TRY(find_parameter(state->graph, &captures->items[i], block, number, state->error));
  int64_t own = block->parameter_count - captures->count, at = state->at < own ? state->at : own;
  int32_t *ordered = laze_arena_alloc_array(captures->arena, block->parameter_count, sizeof *ordered);
  if (!ordered) return memory_error(state->error);
  for (int64_t i = 0; i < at; i++) ordered[count++] = block->parameters[i];
  for (int32_t i = 0; i < captures->count; i++) ordered[count++] = captures->items[i].parameters[number];
  for (int64_t i = at; i < own; i++) ordered[count++] = block->parameters[i];
  memcpy(block->parameters, ordered, (size_t)count * sizeof *ordered);
  return LAZE_OK;
}

/* A list with the captured values put in before item `at`. */
static laze_status insert(const insertion *state, const laze_value *values, int64_t count, int64_t at, int region,
                          laze_value **out) {
  const laze_captures *captures = state->captures;
  laze_value *list = laze_arena_alloc_array(captures->arena, count + captures->count, sizeof *list);
  if (!list) return memory_error(state->error);
  *out = list;
  for (int64_t i = 0; i < at; i++) *list++ = values[i];
  for (int32_t i = 0; i < captures->count; i++)
    *list++ = region < 0 ? captures->items[i].outside : (laze_value){captures->items[i].parameters[region], 0};
  for (int64_t i = at; i < count; i++) *list++ = values[i];
  return LAZE_OK;
}

static laze_status complete_regions(const insertion *state, int32_t count) {
  for (int number = 0; number < count; number++) LAZE_TRY(order_parameters(state, state->regions[number], number));
  if (state->returning < 0) return LAZE_OK;
  laze_block *block = state->regions[state->returning];
  int64_t at = state->at < block->result_count ? state->at : block->result_count;
  laze_value *results;
  LAZE_TRY(insert(state, block->results, block->result_count, at, state->returning, &results));
  return laze_block_set_results(state->graph, block, results, block->result_count + state->captures->count,
                                state->error);
}

/* The call with the captured values among its operands. */
static laze_status complete_call(const insertion *state, laze_call *out) {
  const laze_op_info *info = laze_op_get(state->call->op);
  laze_value *operands;
  int32_t *segments = laze_arena_alloc_array(state->captures->arena, info->segment_count, sizeof *segments);
  if (!segments) return memory_error(state->error);
  for (int32_t i = 0; i < info->segment_count; i++) segments[i] = state->call->segments ? state->call->segments[i] : 1;
  segments[state->segment] = state->at + state->captures->count;
  LAZE_TRY(insert(state, state->call->operands, state->call->operand_count, state->before, -1, &operands));
  *out = *state->call;
  out->operands = operands;
  out->operand_count += state->captures->count;
  out->segments = segments;
  return LAZE_OK;
}

/* Sizes in which the regions differ are the node's own. */
static laze_status define_sizes(const insertion *state, laze_call *call) {
  int32_t count = laze_op_get(call->op)->attribute_count;
  laze_arena *arena = state->captures->arena;
  if (count == 0) return LAZE_OK;
  laze_attribute *attributes = laze_arena_copy(arena, call->attributes, count * (int64_t)sizeof *attributes);
  if (!attributes) return memory_error(state->error);
  call->attributes = attributes;
  return laze_control_define_sizes(state->graph, arena, call->op, state->regions, attributes, state->error);
}

static laze_status list_results(const insertion *state, laze_value first, laze_value **results, int32_t *count) {
  int32_t all = state->graph->nodes[first.node].result_count,
          hidden = state->returning < 0 ? 0 : state->captures->count;
  *count = all - hidden;
  *results = laze_arena_alloc_array(state->captures->arena, *count, sizeof **results);
  if (!*results) return memory_error(state->error);
  for (int32_t i = 0; i < *count; i++) (*results)[i] = (laze_value){first.node, i < state->at ? i : i + hidden};
  return LAZE_OK;
}

laze_status laze_graph_append_capturing(laze_graph *graph, laze_block *block, const laze_call *call,
                                        laze_block *const *regions, laze_captures *captures, laze_value **results,
                                        int32_t *count, laze_error *error) {
  insertion state = {.graph = graph, .captures = captures, .call = call, .regions = regions, .error = error};
  laze_call completed = *call;
  laze_value first;
  laze_control_capturing(call->op, &state.segment, &state.returning);
  state.at = segment_length(call, state.segment);
  for (int32_t i = 0; i < state.segment; i++) state.before += segment_length(call, i);
  state.before += state.at;
  if (captures->count > 0) {
    LAZE_TRY(complete_regions(&state, laze_op_get(call->op)->region_count));
    LAZE_TRY(complete_call(&state, &completed));
  }
  LAZE_TRY(define_sizes(&state, &completed));
  LAZE_TRY(laze_graph_append_region_node(graph, block, &completed, regions, &first, error));
  return list_results(&state, first, results, count);
}
