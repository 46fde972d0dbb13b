/* Loops in tiles, where something is read across: one element after the other along an outer axis, and far apart
 * along the innermost, whose lines of memory would be read again for each of their elements.
 *
 *   out[i, j] = in[j, i]      for t in 0 ... ceil(i / 128) * ceil(j / 32)     RANGE: what threads share
 *                               for 128 i
 *                                 for 32 j                                    LANES
 *
 * The outermost of more axes is part of the range, too.
 */
#include "codegen/schedule/emit.h"

#include "codegen/schedule/group.h"

/* Elements of a tile along the innermost axis, and along the next, which is the one that is read along. */
static const int64_t sides[2] = {32, 128};
enum { FAR = 16 }; /* elements apart: a line of memory has one of them */

/* The position of the axis along which the load is contiguous, if that is an outer one; -1: it is none. */
static laze_status find_read_along(laze_loop_emitter *emitter, const laze_instance *load, int32_t *out) {
  laze_mapper mapper = laze_scheduler_mapper(emitter->scheduler, emitter->group);
  const int32_t last = emitter->kept_count - 1;
  const laze_map *map;
  laze_offset offset;
  LAZE_TRY(laze_map_normalise(&mapper, load->map, &map));
  LAZE_TRY(laze_map_offset(&mapper, map, &offset));
  const laze_size apart = laze_component_coefficient(&offset.affine, emitter->kept[last]);
  *out = -1;
  if (laze_size_is_constant(apart) && apart < FAR) return LAZE_OK;
  for (int32_t i = 0; i < last; i++)
    if (laze_component_coefficient(&offset.affine, emitter->kept[i]) == 1) *out = i;
  return LAZE_OK;
}

/* Whether the order of iterations may be another. */
static bool is_free(const laze_loop_emitter *emitter) {
  const laze_group_builder *group = emitter->group;
  bool free = !group->has_reduction && group->combine == LAZE_OP_NONE && !group->has_no_place &&
              !group->group.updates && group->group.check_count == 0;
  for (int32_t i = 0; i < emitter->kept_count; i++) free = free && !group->domain.axes[emitter->kept[i]].ordered;
  return free;
}

laze_status laze_group_find_tiles(laze_loop_emitter *emitter) {
  const laze_group_builder *group = emitter->group;
  const int32_t last = emitter->kept_count - 1;
  int32_t along = -1;
  if (last < 1 || !is_free(emitter)) return LAZE_OK;
  for (int64_t i = 0; i < group->instance_count && along < 0; i++)
    if (group->instances[i].kind == LAZE_INSTANCE_LOAD)
      LAZE_TRY(find_read_along(emitter, &group->instances[i], &along));
  if (along < 0) return LAZE_OK;
  emitter->tiled = true;
  const int32_t axis = emitter->kept[along];
  for (; along < last - 1; along++) emitter->kept[along] = emitter->kept[along + 1];
  emitter->kept[last - 1] = axis;
  return LAZE_OK;
}

static laze_status count_tiles(laze_loop_emitter *emitter, int32_t which) {
  const int32_t axis = emitter->kept[emitter->kept_count - 1 - which];
  return laze_size_binary(emitter->scheduler->graph->sizes, LAZE_SIZE_CEIL_DIV,
                          emitter->group->domain.axes[axis].extent, sides[which], &emitter->tiles[which],
                          emitter->error);
}

laze_status laze_group_count_tiles(laze_loop_emitter *emitter, laze_size *domain) {
  laze_size_table *sizes = emitter->scheduler->graph->sizes;
  const int32_t last = emitter->kept_count - 1;
  for (int32_t i = 0; i < 2; i++) LAZE_TRY(count_tiles(emitter, i));
  LAZE_TRY(laze_size_binary(sizes, LAZE_SIZE_MUL, emitter->tiles[0], emitter->tiles[1], domain, emitter->error));
  if (last < 2) return LAZE_OK;
  return laze_size_binary(sizes, LAZE_SIZE_MUL, *domain, emitter->group->domain.axes[emitter->kept[0]].extent, domain,
                          emitter->error);
}

/* What is left of `index` without the tile of an axis, whose first element is noted. */
static int32_t take_tile(laze_loop_emitter *emitter, int32_t index, int32_t which) {
  laze_loop_kernel *kernel = emitter->kernel;
  const int32_t count = laze_group_emit_own_size(emitter, emitter->tiles[which]);
  const int32_t tile = laze_loop_index(kernel, LAZE_LOOP_INDEX_MOD, index, count);
  emitter->tile_start[which] =
      laze_loop_index(kernel, LAZE_LOOP_INDEX_MUL, tile, laze_loop_index_constant(kernel, sides[which]));
  return laze_loop_index(kernel, LAZE_LOOP_INDEX_FLOOR_DIV, index, count);
}

int32_t laze_group_open_tiles(laze_loop_emitter *emitter, int32_t index) {
  for (int32_t i = 0; i < 2; i++) index = take_tile(emitter, index, i);
  return index;
}

int32_t laze_group_tile_extent(laze_loop_emitter *emitter, int32_t extent, int32_t which) {
  laze_loop_kernel *kernel = emitter->kernel;
  const int32_t rest = laze_loop_index(kernel, LAZE_LOOP_INDEX_SUB, extent, emitter->tile_start[which]);
  return laze_loop_index(kernel, LAZE_LOOP_INDEX_MIN, rest, laze_loop_index_constant(kernel, sides[which]));
}
