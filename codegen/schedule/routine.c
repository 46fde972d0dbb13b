/* Groups of one node that a kernel of the runtime computes, written in C for what loops do not say.
 *
 *   %0, %1 = sort %x, dim=1      reads %x whole; sizes: elements of a row and how far apart they lie; iterations: rows
 */
#include "codegen/schedule/routine.h"

#include "codegen/schedule/group.h"
#include "codegen/schedule/join.h"
#include "codegen/schedule/kind.h"

/* A kernel that the program has registered, whatever it is: the step that calls it on the interpreter does so here. */
const laze_routine laze_routine_opaque = {0};
/* The same of functions that are another library's: the interpreter calls it on whole tensors. */
const laze_routine laze_routine_library = {0};

static laze_status claim(laze_scheduler *scheduler, int32_t node_index, laze_split why, bool *done,
                         const char **refusal) {
  const laze_routine *routine = laze_schedule_join_of(scheduler->graph->nodes[node_index].op)->routine;
  laze_group_builder *group = NULL;
  (void)why, (void)refusal; /* it would be stored in any case */
  if (!routine) return LAZE_OK;
  LAZE_TRY(laze_schedule_store_node(scheduler, LAZE_GROUP_ROUTINE, node_index, &group));
  group->group.routine = routine;
  *done = true;
  return LAZE_OK;
}

/* Results up to the last that is read or returned. */
static int32_t count_results(const laze_scheduler *scheduler, int32_t node_index) {
  int32_t count = scheduler->returned[node_index];
  for (const laze_use *use = scheduler->uses[node_index]; use; use = use->next)
    if (use->result >= count) count = use->result + 1;
  return count;
}

static laze_status emit(laze_scheduler *scheduler, laze_group_builder *builder) {
  laze_group *group = &builder->group;
  const laze_node *node = laze_graph_node(scheduler->graph, group->root);
  const int32_t count = count_results(scheduler, group->root.node);
  laze_value *writes = laze_arena_alloc_array(scheduler->arena, count, sizeof *writes);
  laze_size *sizes = laze_arena_alloc_zero(scheduler->arena, LAZE_ROUTINE_MAX_SIZES * (int64_t)sizeof *sizes);
  if (!writes || !sizes) return laze_scheduler_memory_error(scheduler);
  laze_routine_call call = {.graph = scheduler->graph, .node = node, .sizes = sizes};
  call.domain = 1;
  if (group->routine->describe) LAZE_TRY(group->routine->describe(&call, scheduler->error));
  LAZE_TRY(laze_schedule_emit_node(scheduler, builder));
  for (int32_t i = 0; i < count; i++) writes[i] = (laze_value){group->root.node, i};
  group->writes = writes;
  group->write_count = count;
  group->sizes = sizes;
  group->size_count = call.size_count;
  group->domain = call.domain;
  group->scratch = call.scratch;
  group->bytes = call.bytes;
  group->operations = call.operations;
  return LAZE_OK;
}

const laze_group_rules laze_group_routine = {.claim = claim, .emit = emit};
