/* Deciding where each value is computed, from the last node to the first.
 *
 *   %0 = exp %x          used by %1 only, elementwise     in the group of %1
 *   %1 = sum %0, dim=[1] returned                         stored: starts a group; %0 joins its loops
 *
 * Users wait as `laze_use` entries at the node they use. When the node's turn comes all of them are known:
 *   - movement passes each use on to the operand, with another map;
 *   - a node all of whose uses are in one group, at maps that group can express, joins it;
 *   - scalars and numbers from nothing are computed in every group that uses them;
 *   - anything else is stored, by the kind of group that claims it (kind.h); its uses become loads.
 */
#include "codegen/node_site.h"
#include "codegen/schedule/arrange.h"
#include "codegen/schedule/bands.h"
#include "codegen/schedule/fuse.h"
#include "codegen/schedule/group.h"
#include "codegen/schedule/join.h"
#include "codegen/schedule/kind.h"
#include "ir/defined_size.h"

bool laze_schedule_is_inline_constant(const laze_graph *graph, laze_value value) {
  const laze_node *node = laze_graph_node(graph, value);
  if (!laze_node_constant(node)) return false;
  for (int axis = 0; axis < node->types[0]->rank; axis++)
    if (node->types[0]->sizes[axis] != 1) return false;
  return true;
}

static laze_status store(laze_scheduler *scheduler, int32_t node_index, laze_split why) {
  LAZE_TRY(laze_schedule_load_uses(scheduler, node_index));
  return laze_schedule_claim(scheduler, node_index, why);
}

/* A returned value that its only group computes once for each of its elements, in the domain's own order, is stored on
 * the way instead of being computed in a group of its own. */
static bool stores_on_the_way(const laze_scheduler *scheduler, int32_t node_index) {
  const laze_use *uses = scheduler->uses[node_index];
  if (!uses || !uses->map || !laze_group_rules_of(uses->group)->grow) return false;
  const laze_instance *root = &uses->group->instances[0];
  for (const laze_use *use = uses; use; use = use->next)
    if (use->group != uses->group || use->map != root->map) return false;
  return root->kind == LAZE_INSTANCE_ELEMENT && uses->group->group.write_count < LAZE_GROUP_MAX_READS;
}

static laze_status visit_output(laze_scheduler *scheduler, int32_t node_index, bool *done) {
  laze_split why;
  *done = false;
  const laze_node *node = &scheduler->graph->nodes[node_index];
  if (!laze_schedule_join_of(node->op)->computes || !stores_on_the_way(scheduler, node_index)) return LAZE_OK;
  laze_group_builder *group = scheduler->uses[node_index]->group;
  LAZE_TRY(laze_schedule_try_fuse(scheduler, node_index, done, &why));
  if (!*done) return LAZE_OK;
  LAZE_TRY(laze_schedule_fuse_uses(scheduler, node_index, done));
  return *done ? laze_schedule_add_write(scheduler, group, scheduler->latest[node_index].first) : LAZE_OK;
}

static laze_status visit_constant(laze_scheduler *scheduler, int32_t node_index) {
  laze_value value = {node_index, 0};
  if (!laze_schedule_is_inline_constant(scheduler->graph, value)) return laze_schedule_load_uses(scheduler, node_index);
  for (laze_use *use = scheduler->uses[node_index]; use; use = use->next) {
    int32_t instance;
    laze_instance_kind kind = laze_group_rules_of(use->group)->grow ? LAZE_INSTANCE_CONSTANT : LAZE_INSTANCE_LOAD;
    if (!use->map) {
      laze_schedule_read_whole(use, value);
      continue;
    }
    LAZE_TRY(laze_schedule_add_instance(scheduler, use->group, kind, value, use->map, &instance));
    laze_schedule_fill_use(use, instance);
  }
  return LAZE_OK;
}

static laze_status visit(laze_scheduler *scheduler, int32_t node_index) {
  const laze_node *node = &scheduler->graph->nodes[node_index];
  bool output = scheduler->returned[node_index] > 0, done = false;
  laze_split why = output ? LAZE_SPLIT_OUTPUT : LAZE_SPLIT_OFF;
  if (laze_node_constant(node)) return visit_constant(scheduler, node_index);
  if (laze_node_reads_size(node)) return store(scheduler, node_index, LAZE_SPLIT_PRODUCT); /* used as a size */
  if (!scheduler->uses[node_index] && !output) return LAZE_OK;
  if (scheduler->options->no_fusion || laze_schedule_is_forced(scheduler, node_index))
    return store(scheduler, node_index, why);
  if (!output && laze_schedule_join_of(node->op)->concatenation)
    LAZE_TRY(laze_schedule_flatten_pieces(scheduler, node_index, &done));
  if (done) return LAZE_OK;
  if (output && scheduler->uses[node_index]) LAZE_TRY(visit_output(scheduler, node_index, &done));
  if (!output && laze_schedule_join_of(node->op)->pass_through) {
    LAZE_TRY(laze_schedule_pass_uses(scheduler, node_index, &done, &why));
  } else if (!output) {
    LAZE_TRY(laze_schedule_try_fuse(scheduler, node_index, &done, &why));
    if (done) LAZE_TRY(laze_schedule_fuse_uses(scheduler, node_index, &done));
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

static laze_status visit_block(laze_scheduler *scheduler, const laze_block *block) {
  for (int64_t i = 0; i < block->result_count; i++) {
    int32_t *returned = &scheduler->returned[block->results[i].node];
    if (block->results[i].result >= *returned) *returned = block->results[i].result + 1;
  }
  laze_schedule_find_costs(scheduler, block);
  for (int64_t i = block->node_count; i-- > 0;) LAZE_TRY(visit_named(scheduler, block->nodes[i]));
  for (int64_t i = 0; i < block->parameter_count; i++)
    LAZE_TRY(laze_schedule_load_uses(scheduler, block->parameters[i]));
  return LAZE_OK;
}

/* The body, and the regions of every group that has some. No block uses values of another. */
static laze_status visit_all(laze_scheduler *scheduler, laze_arena *scratch) {
  const laze_graph *graph = scheduler->graph;
  int64_t most = 1, count = 0;
  for (int64_t i = 0; i < graph->node_count; i++) most += graph->nodes[i].region_count;
  const laze_block **blocks = laze_arena_alloc_array(scratch, most, sizeof *blocks);
  if (!blocks) return laze_scheduler_memory_error(scheduler);
  blocks[count++] = graph->body;
  for (int64_t next = 0; next < count; next++) {
    const laze_block *block = blocks[next];
    LAZE_TRY(visit_block(scheduler, block));
    for (int64_t i = 0; i < block->node_count; i++) {
      const laze_group_builder *group = scheduler->group_of_root[block->nodes[i]];
      if (!group || !group->group.control) continue;
      const laze_node *node = &graph->nodes[block->nodes[i]];
      for (int32_t region = 0; region < node->region_count; region++) blocks[count++] = node->regions[region];
    }
  }
  return LAZE_OK;
}

/* Finishing: groups in the order of their roots, each lowered, and behind one with regions the groups of these. */

typedef struct {
  const laze_block *block;
  laze_group *owner; /* whose region it is; NULL: the body */
  int32_t region;
  int64_t next; /* node of the block */
} finishing;

static laze_status finish_group(laze_scheduler *scheduler, laze_group_builder *group, bool in_body,
                                laze_schedule *out) {
  bool elsewhere = false; /* the body's alone: a region's results are no outputs of the program */
  if (group && in_body && !scheduler->options->no_fusion)
    LAZE_TRY(laze_schedule_write_returned(scheduler, group, &elsewhere));
  if (elsewhere) return LAZE_OK;
  if (group && group->piece && !scheduler->options->kernels_only)
    LAZE_TRY(laze_schedule_merge_copies(scheduler, &group));
  for (; group; group = group->next) {
    LAZE_TRY(laze_group_rules_of(group)->emit(scheduler, group));
    out->groups[out->group_count++] = &group->group;
  }
  return LAZE_OK;
}

/* The block that follows one whose groups are all there: the next region of its node, or the one around it. */
static void finish_block(const laze_scheduler *scheduler, finishing *stack, int *depth, const laze_schedule *out) {
  finishing *top = &stack[*depth - 1];
  if (top->owner) top->owner->region_ends[top->region] = out->group_count;
  const laze_node *node = top->owner ? laze_graph_node(scheduler->graph, top->owner->root) : NULL;
  if (node && top->region + 1 < node->region_count)
    *top = (finishing){.block = node->regions[top->region + 1], .owner = top->owner, .region = top->region + 1};
  else
    (*depth)--;
}

static laze_status finish(laze_scheduler *scheduler, laze_schedule *out) {
  finishing stack[LAZE_MAX_NESTING + 1] = {{.block = scheduler->graph->body}};
  int depth = 1;
  out->group_count = 0;
  out->groups = laze_arena_alloc_array(scheduler->arena, scheduler->group_count, sizeof *out->groups);
  if (!out->groups) return laze_scheduler_memory_error(scheduler);
  while (depth > 0) {
    finishing *top = &stack[depth - 1];
    if (top->next == top->block->node_count) {
      finish_block(scheduler, stack, &depth, out);
      continue;
    }
    int32_t number = top->block->nodes[top->next++];
    laze_group_builder *group = scheduler->group_of_root[number];
    LAZE_TRY(finish_group(scheduler, group, !top->owner, out));
    if (group && group->group.control)
      stack[depth++] =
          (finishing){.block = scheduler->graph->nodes[number].regions[0], .owner = &group->group, .region = 0};
  }
  return LAZE_OK;
}

laze_status laze_schedule_build(laze_graph *graph, laze_arena *arena, const laze_schedule_options *options,
                                laze_schedule *out, laze_error *error) {
  laze_scheduler scheduler = {.graph = graph, .arena = arena, .error = error, .options = options};
  laze_arena scratch;
  laze_arena_init(&scratch, graph->context);
  scheduler.uses = laze_arena_alloc_zero(&scratch, graph->node_count * (int64_t)sizeof *scheduler.uses);
  scheduler.returned = laze_arena_alloc_zero(&scratch, graph->node_count * (int64_t)sizeof *scheduler.returned);
  scheduler.group_of_root =
      laze_arena_alloc_zero(&scratch, graph->node_count * (int64_t)sizeof *scheduler.group_of_root);
  scheduler.latest = laze_arena_alloc_zero(&scratch, graph->node_count * (int64_t)sizeof *scheduler.latest);
  scheduler.listed = laze_arena_alloc_zero(&scratch, graph->node_count * (int64_t)sizeof *scheduler.listed);
  laze_status status = LAZE_OK;
  if (!scheduler.uses || !scheduler.returned || !scheduler.group_of_root || !scheduler.latest || !scheduler.listed)
    status = laze_scheduler_memory_error(&scheduler);
  if (status == LAZE_OK) status = laze_schedule_prepare_costs(&scheduler, &scratch);
  if (status == LAZE_OK) status = visit_all(&scheduler, &scratch);
  if (status == LAZE_OK) status = finish(&scheduler, out);
  if (status == LAZE_OK) status = laze_schedule_arrange(&scheduler, &scratch, out);
  if (status == LAZE_OK) laze_schedule_keep_rows(out);
  laze_arena_deinit(&scratch);
  return status;
}
