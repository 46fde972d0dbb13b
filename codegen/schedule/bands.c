/* Rows that groups hand on to each other.
 *
 *   group 0   scores = q . k'       writes rows of the scores
 *   group 1   weights = softmax     reads a row of the scores for each row of the weights that it writes
 *   group 2   weights . v           reads rows of the weights
 *
 * The three can be run a few rows at a time (runtime/program_bands.c). Each group says which rows its iterations go
 * through, and how they lie in its buffers; what no neighbour shares is forgotten in the end.
 */
#include "codegen/schedule/bands.h"

#include "codegen/schedule/group.h"

laze_status laze_group_set_rows(laze_scheduler *scheduler, laze_group *group, const laze_step_rows *rows) {
  const int64_t count = group->read_count + group->write_count;
  laze_step_rows *copy = laze_arena_copy(scheduler->arena, rows, sizeof *rows);
  if (!copy) return laze_scheduler_memory_error(scheduler);
  copy->buffers = laze_arena_copy(scheduler->arena, rows->buffers, count * (int64_t)sizeof *rows->buffers);
  if (!copy->buffers) return laze_scheduler_memory_error(scheduler);
  group->rows = copy;
  return LAZE_OK;
}

/* The axes that an iteration stands for one element of: of batches, or -1, and of rows. */
typedef struct {
  int32_t batch, row;
} row_axes;

/* How an access lies along these axes; no strides where it may stray from the row. */
static laze_row_strides find_strides(const laze_offset *offset, const laze_map *map, row_axes axes) {
  const laze_component *affine = &offset->affine;
  if (offset->dynamic_count > 0 || map->guards) return (laze_row_strides){0, 0};
  return (laze_row_strides){axes.batch < 0 ? 0 : laze_component_coefficient(affine, axes.batch),
                            laze_component_coefficient(affine, axes.row)};
}

/* Several accesses of one buffer have to lie alike. */
static void note_strides(laze_row_strides *known, bool *seen, laze_row_strides found) {
  if (*seen && (known->batch != found.batch || known->row != found.row)) found.row = 0;
  *known = found;
  *seen = true;
}

static void list_strides(const laze_loop_emitter *emitter, row_axes axes, laze_row_strides *strides, bool *seen) {
  const int32_t reads = emitter->group->group.read_count;
  for (int32_t i = 0; i < emitter->count; i++) {
    const int32_t index = emitter->order[i];
    const laze_instance *instance = laze_group_instance_at(emitter, index);
    if (instance->kind == LAZE_INSTANCE_LOAD) {
      const int32_t buffer = emitter->buffer[index];
      note_strides(&strides[buffer], &seen[buffer], find_strides(&emitter->loads[index].offset, instance->map, axes));
    }
    if (instance->store >= 0)
      note_strides(&strides[reads + instance->store], &seen[reads + instance->store],
                   find_strides(&emitter->stores[index].offset, instance->map, axes));
  }
}

laze_status laze_group_find_rows(laze_loop_emitter *emitter) {
  const laze_group *group = &emitter->group->group;
  const laze_axis *all = emitter->group->domain.axes;
  const int64_t count = group->read_count + group->write_count;
  const bool lanes_behind = emitter->kept_count > 1 || emitter->group->has_reduction;
  if (emitter->kept_count == 0 || emitter->range_around || !lanes_behind || group->updates) return LAZE_OK;
  laze_row_strides *strides = laze_arena_alloc_zero(emitter->scheduler->arena, count * (int64_t)sizeof *strides);
  bool *seen = laze_arena_alloc_zero(emitter->scheduler->arena, count);
  if (!strides || !seen) return laze_scheduler_memory_error(emitter->scheduler);
  const row_axes axes =
      emitter->joined ? (row_axes){emitter->kept[0], emitter->kept[1]} : (row_axes){-1, emitter->kept[0]};
  list_strides(emitter, axes, strides, seen);
  const laze_step_rows rows = {.batches = axes.batch < 0 ? 1 : all[axes.batch].extent,
                               .count = all[axes.row].extent,
                               .height = 1,
                               .blocks = 1,
                               .buffers = strides};
  return laze_group_set_rows(emitter->scheduler, &emitter->group->group, &rows);
}

/* Whether `to` reads by rows what `from` writes, and one of them is a product. */
static bool hands_on(const laze_group *from, const laze_group *to) {
  if (!from->rows || !to->rows || from->write_count != 1) return false;
  if (from->kind != LAZE_GROUP_MATRIX && to->kind != LAZE_GROUP_MATRIX) return false;
  bool found = false;
  for (int32_t i = 0; i < to->read_count; i++)
    found = found || (laze_value_equal(to->reads[i], from->writes[0]) && to->rows->buffers[i].row != 0);
  return found;
}

void laze_schedule_keep_rows(laze_schedule *schedule) {
  bool handed = false;
  for (int32_t i = 0; i < schedule->group_count; i++) {
    laze_group *group = schedule->groups[i];
    const bool hands = i + 1 < schedule->group_count && hands_on(group, schedule->groups[i + 1]);
    if (!hands && !handed) group->rows = NULL;
    handed = hands;
  }
}
