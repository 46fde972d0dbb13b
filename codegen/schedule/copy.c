/* Groups that copy: a concatenation of many pieces is put together by one step of the runtime's copy kernel.
 *
 *   %0 = cat [%x0, ..., %x99], dim=0     reads each %xi whole; sizes: 100, bytes of a row, and each one's part of it
 *
 * Pieces that have groups of their own end here as well where all of those turn out to do nothing but copy.
 */
#include "codegen/schedule/group.h"
#include "codegen/schedule/join.h"
#include "codegen/schedule/kind.h"
#include "codegen/schedule/pieces.h"
#include "shape_inference/rules.h"

#include <string.h>

/* Values in the order in which they follow each other in the result. */
typedef struct {
  laze_value *items;
  int64_t count, capacity;
} value_list;

static laze_status append(laze_scheduler *scheduler, value_list *list, laze_value value) {
  if (list->count == list->capacity) {
    int64_t capacity = list->capacity ? 2 * list->capacity : 2 * LAZE_PIECES_MAX_GROUPS;
    laze_value *items = laze_arena_alloc_array(scheduler->arena, capacity, sizeof *items);
    if (!items) return laze_scheduler_memory_error(scheduler);
    if (list->count > 0) memcpy(items, list->items, (size_t)list->count * sizeof *items);
    list->items = items;
    list->capacity = capacity;
  }
  list->items[list->count++] = value;
  return LAZE_OK;
}

/* Whether a value is itself a concatenation along the same axis, with the same dtype. */
static laze_status continues(const laze_pieces *pieces, laze_value value, bool *out) {
  const laze_node *node = laze_graph_node(pieces->scheduler->graph, value);
  const laze_type *type = pieces->node->types[0];
  int axis;
  *out = laze_schedule_join_of(node->op)->concatenation && node->types[0]->rank == type->rank &&
         node->types[0]->dtype == type->dtype;
  if (!*out) return LAZE_OK;
  LAZE_TRY(laze_pieces_axis(pieces->scheduler, node, &axis));
  *out = axis == pieces->axis;
  return LAZE_OK;
}

/* What the result is put together from, through concatenations in each other. Whoever else uses those has them stored;
 * this does not. */
static laze_status find_sources(const laze_pieces *pieces, value_list *out) {
  value_list open = {0};
  *out = (value_list){0};
  for (int32_t i = pieces->node->operand_count; i-- > 0;)
    LAZE_TRY(append(pieces->scheduler, &open, pieces->node->operands[i]));
  while (open.count > 0) {
    laze_value value = open.items[--open.count];
    const laze_node *node = laze_graph_node(pieces->scheduler->graph, value);
    bool further;
    LAZE_TRY(continues(pieces, value, &further));
    if (!further && laze_pieces_has(pieces, value)) LAZE_TRY(append(pieces->scheduler, out, value));
    for (int32_t i = node->operand_count; further && i-- > 0;)
      LAZE_TRY(append(pieces->scheduler, &open, node->operands[i]));
  }
  return LAZE_OK;
}

/* Whether all sources have the result's dtype, so that bytes can be copied. */
static bool is_copy(const laze_pieces *pieces, const value_list *sources) {
  for (int64_t i = 0; i < sources->count; i++)
    if (laze_graph_type(pieces->scheduler->graph, sources->items[i])->dtype != pieces->node->types[0]->dtype)
      return false;
  return true;
}

/* A group that copies the sources; `sizes`, of runtime/copy_kernel.h, are still to get each one's part of a row. */
static laze_status begin_copy(const laze_pieces *pieces, laze_value root, const value_list *sources, laze_split why,
                              laze_group_builder **out) {
  laze_scheduler *scheduler = pieces->scheduler;
  laze_group_builder *builder = laze_arena_alloc_zero(scheduler->arena, sizeof *builder);
  laze_size *sizes = laze_arena_alloc_array(scheduler->arena, sources->count + 2, sizeof *sizes);
  if (!builder || !sizes) return laze_scheduler_memory_error(scheduler);
  *out = builder;
  builder->sources = sources->items;
  builder->sizes = sizes;
  builder->group = (laze_group){.kind = LAZE_GROUP_COPY,
                                .split = why,
                                .root = root,
                                .read_count = (int32_t)sources->count,
                                .write_count = 1,
                                .sizes = sizes,
                                .size_count = (int32_t)sources->count + 2,
                                .label = laze_op_get(pieces->node->op)->name};
  builder->group.writes = &builder->group.root;
  sizes[0] = builder->group.read_count;
  LAZE_TRY(laze_pieces_multiply(scheduler, pieces->node->types[0]->sizes[pieces->axis], pieces->row, &sizes[1]));
  LAZE_TRY(laze_pieces_multiply(scheduler, pieces->rows, sizes[1], &builder->group.domain));
  return laze_pieces_multiply(scheduler, builder->group.domain, 2, &builder->group.bytes);
}

static laze_status claim(laze_scheduler *scheduler, int32_t node_index, laze_split why, bool *done,
                         const char **refusal) {
  laze_pieces pieces;
  value_list sources;
  laze_group_builder *group = NULL;
  (void)refusal; /* other kinds store any concatenation */
  *done = false;
  if (scheduler->options->kernels_only || !laze_schedule_join_of(scheduler->graph->nodes[node_index].op)->concatenation)
    return LAZE_OK;
  LAZE_TRY(laze_pieces_begin(scheduler, node_index, &pieces));
  LAZE_TRY(find_sources(&pieces, &sources));
  *done = sources.count > LAZE_PIECES_MAX_GROUPS && is_copy(&pieces, &sources);
  if (!*done) return LAZE_OK;
  LAZE_TRY(begin_copy(&pieces, (laze_value){node_index, 0}, &sources, why, &group));
  laze_schedule_add_group(scheduler, group);
  for (int32_t i = 0; i < group->group.read_count; i++) {
    laze_size along = laze_graph_type(scheduler->graph, group->sources[i])->sizes[pieces.axis];
    LAZE_TRY(laze_pieces_multiply(scheduler, along, pieces.row, &group->sizes[2 + i]));
    LAZE_TRY(laze_schedule_add_use(scheduler, group, -1, i, group->sources[i], NULL));
    scheduler->uses[group->sources[i].node]->flat = true;
  }
  return LAZE_OK;
}

/* Whether a finished group does nothing but copy a value, or its beginning, to one place. */
static laze_status is_plain(laze_scheduler *scheduler, laze_group_builder *group, bool *out) {
  const laze_instance *pass = &group->instances[0], *load = &group->instances[1];
  laze_mapper mapper = laze_scheduler_mapper(scheduler, group);
  const laze_map *from, *to;
  *out = !group->piece->outer && group->piece->rows == 1 && group->instance_count == 2 &&
         load->kind == LAZE_INSTANCE_LOAD &&
         laze_graph_type(scheduler->graph, load->value)->dtype == laze_graph_type(scheduler->graph, pass->value)->dtype;
  if (!*out) return LAZE_OK;
  LAZE_TRY(laze_map_normalise(&mapper, load->map, &from));
  LAZE_TRY(laze_map_normalise(&mapper, pass->map, &to));
  return laze_map_equal(&mapper, from, to, out);
}

laze_status laze_schedule_merge_copies(laze_scheduler *scheduler, laze_group_builder **groups) {
  laze_group_builder *first = *groups, *copy = NULL;
  laze_pieces pieces;
  value_list sources = {0};
  bool plain = true;
  int32_t next = 0;
  for (laze_group_builder *group = first; group && plain; group = group->next) {
    LAZE_TRY(is_plain(scheduler, group, &plain));
    if (plain) LAZE_TRY(append(scheduler, &sources, group->instances[1].value));
  }
  if (!plain) return LAZE_OK;
  LAZE_TRY(laze_pieces_begin(scheduler, first->group.root.node, &pieces));
  LAZE_TRY(begin_copy(&pieces, first->group.root, &sources, first->group.split, &copy));
  laze_size bytes = laze_dtype_size(pieces.node->types[0]->dtype);
  for (laze_group_builder *group = first; group; group = group->next)
    LAZE_TRY(laze_pieces_multiply(scheduler, group->piece->width, bytes, &copy->sizes[2 + next++]));
  *groups = copy;
  return LAZE_OK;
}

static laze_status emit(laze_scheduler *scheduler, laze_group_builder *group) {
  group->group.reads = group->sources;
  return laze_group_emit_root(scheduler, group);
}

const laze_group_rules laze_group_copy = {.claim = claim, .emit = emit};
