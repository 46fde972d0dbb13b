/* A concatenation that is stored: one group for each piece, which writes its elements where they belong.
 *
 *   %0 = cat [%x, %y], dim=0 : f32[7,5]        kernel 0: rows 0 to 3 of %0, from %x
 *   %x: f32[4,5]  %y: f32[3,5]                 kernel 1: rows 4 to 6 of %0, from %y
 *
 * What a piece is computed from joins its group like any other, so that nothing asks for each element in which piece it
 * lies, and the kernels of equal pieces are one. A concatenation that is nothing but a piece of another hands its own
 * pieces on: a chain of them, or a frame around a matrix, is as many kernels as it has pieces. Many pieces are copied
 * by one step.
 */
#include "codegen/schedule/schedule_internal.h"

#include "ir/op.gen.h"
#include "shape_inference/rules.h"

#include <string.h>

enum {
  /* Concatenations along different axes in each other, whose pieces are written to the outermost one. */
  MOST_DEPTH = 6,
  /* Where a piece begins is a sum of the sizes before it, and all these sums are a quadratic amount of work. More
   * pieces are stored and copied by one step, which adds up their sizes when it runs. */
  MOST_GROUPS = 64,
};

static laze_status memory_error(const laze_scheduler *scheduler) {
  return laze_fail_memory(scheduler->error, "a schedule", -1);
}

/* A concatenation while its pieces are laid out. */
typedef struct {
  laze_scheduler *scheduler;
  const laze_node *node;
  int axis;
  laze_size rows, inner; /* elements outside and inside the axis */
  laze_size row;         /* bytes in a row of one element along the axis */
  laze_size low;         /* of the next piece along the axis */
} piece_layout;

static laze_status times(laze_scheduler *scheduler, laze_size a, laze_size b, laze_size *out) {
  return laze_size_binary(scheduler->graph->sizes, LAZE_SIZE_MUL, a, b, out, scheduler->error);
}

static laze_status start_layout(laze_scheduler *scheduler, int32_t node_index, piece_layout *out) {
  const laze_node *node = &scheduler->graph->nodes[node_index];
  const laze_type *type = node->types[0];
  laze_inference inference = {scheduler->graph->sizes, "cat", scheduler->error};
  *out = (piece_layout){.scheduler = scheduler, .node = node};
  LAZE_TRY(laze_cat_axis(&inference, type, node->attributes[LAZE_CAT_DIM].value.integer, &out->axis));
  LAZE_TRY(laze_size_product(inference.sizes, type->sizes, out->axis, &out->rows, inference.error));
  LAZE_TRY(laze_size_product(inference.sizes, type->sizes + out->axis + 1, type->rank - out->axis - 1, &out->inner,
                             inference.error));
  return times(scheduler, out->inner, laze_dtype_size(type->dtype), &out->row);
}

/* Operands without elements are no pieces; those of another rank have none. */
static bool has_elements(const piece_layout *layout, laze_value operand) {
  const laze_type *type = laze_graph_type(layout->scheduler->graph, operand);
  bool any = type->rank == layout->node->types[0]->rank;
  for (int axis = 0; axis < type->rank; axis++) any = any && type->sizes[axis] != 0;
  return any;
}

/* Where the operand lies, and moves on to the next one. */
static laze_status next_piece(piece_layout *layout, int32_t operand, laze_piece *out) {
  laze_size_table *sizes = layout->scheduler->graph->sizes;
  laze_error *error = layout->scheduler->error;
  laze_size along = laze_graph_type(layout->scheduler->graph, layout->node->operands[operand])->sizes[layout->axis];
  laze_size all = layout->node->types[0]->sizes[layout->axis];
  *out = (laze_piece){.rows = layout->rows};
  LAZE_TRY(times(layout->scheduler, along, layout->inner, &out->width));
  LAZE_TRY(times(layout->scheduler, all, layout->inner, &out->pitch));
  LAZE_TRY(times(layout->scheduler, layout->low, layout->inner, &out->start));
  return laze_size_binary(sizes, LAZE_SIZE_ADD, layout->low, along, &layout->low, error);
}

/* Puts a piece of a piece into the concatenation around. Along the same axis it is a piece of that one. */
static laze_status nest_piece(laze_scheduler *scheduler, const laze_piece *outer, laze_piece *piece) {
  piece->outer = outer;
  piece->depth = outer->depth + 1;
  if (piece->rows != outer->rows || piece->pitch != outer->width) return LAZE_OK;
  piece->outer = outer->outer;
  piece->depth = outer->depth;
  piece->pitch = outer->pitch;
  return laze_size_binary(scheduler->graph->sizes, LAZE_SIZE_ADD, outer->start, piece->start, &piece->start,
                          scheduler->error);
}

/* From a piece's elements to those of the concatenation that is stored. NULL: impossible. */
static laze_status place_map(laze_mapper *mapper, const laze_piece *piece, const laze_map *map, const laze_map **out) {
  for (; piece && map; piece = piece->outer) {
    const laze_size from[2] = {piece->rows, piece->width}, to[2] = {piece->rows, piece->pitch};
    const laze_component start = {.dynamic = -1, .offset = piece->start};
    const laze_map *own;
    LAZE_TRY(laze_map_refine(mapper, map, from, 2, &own));
    map = NULL;
    if (!own) continue;
    laze_component components[2] = {own->components[0]};
    LAZE_TRY(laze_component_add(mapper, &own->components[1], &start, &components[1]));
    LAZE_TRY(laze_map_create(mapper, to, components, 2, NULL, &map));
  }
  *out = map;
  return LAZE_OK;
}

/* A group that writes a piece of `target`. It waits for the piece once its use is added. */
static laze_status begin_group(laze_scheduler *scheduler, laze_value target, const laze_piece *piece,
                               laze_group_builder *group, bool *possible) {
  laze_mapper mapper = laze_scheduler_mapper(scheduler, group);
  const laze_map *map, *place = NULL;
  laze_size elements;
  int32_t instance;
  group->group.kind = LAZE_GROUP_LOOPS;
  group->group.root = target;
  group->piece = laze_arena_copy(scheduler->arena, piece, sizeof *piece);
  if (!group->piece) return memory_error(scheduler);
  LAZE_TRY(
      laze_size_binary(scheduler->graph->sizes, LAZE_SIZE_MUL, piece->rows, piece->width, &elements, scheduler->error));
  LAZE_TRY(laze_map_flat(&mapper, elements, &map));
  LAZE_TRY(place_map(&mapper, piece, map, &place));
  *possible = place != NULL;
  if (!place) return LAZE_OK;
  LAZE_TRY(laze_schedule_add_instance(scheduler, group, LAZE_INSTANCE_PASS, target, map, &instance));
  group->instances[instance].place = place;
  group->instances[instance].operand_count = 1;
  return laze_schedule_add_write(scheduler, group, instance);
}

/* Groups for all pieces of a concatenation, in the order of its operands and not yet known to anyone; each is a piece
 * of `outer`, or of what is stored. */
static laze_status begin_groups(laze_scheduler *scheduler, int32_t node_index, laze_value target,
                                const laze_piece *outer, laze_group_builder **groups, bool *possible) {
  piece_layout layout;
  LAZE_TRY(start_layout(scheduler, node_index, &layout));
  *possible = true;
  for (int32_t i = 0; i < layout.node->operand_count && *possible; i++) {
    laze_piece piece;
    if (!has_elements(&layout, layout.node->operands[i])) continue;
    LAZE_TRY(next_piece(&layout, i, &piece));
    if (outer) LAZE_TRY(nest_piece(scheduler, outer, &piece));
    *possible = piece.depth <= MOST_DEPTH;
    groups[i] = laze_arena_alloc_zero(scheduler->arena, sizeof **groups);
    if (!groups[i]) return memory_error(scheduler);
    if (*possible) LAZE_TRY(begin_group(scheduler, target, &piece, groups[i], possible));
  }
  return LAZE_OK;
}

/* Links the groups in place of *link and lets them wait for their pieces. */
static laze_status link_groups(laze_scheduler *scheduler, int32_t node_index, laze_group_builder **groups,
                               laze_split why, laze_group_builder **link) {
  const laze_node *node = &scheduler->graph->nodes[node_index];
  laze_group_builder *rest = *link;
  for (int32_t i = 0; i < node->operand_count; i++) {
    if (!groups[i]) continue;
    groups[i]->group.split = why;
    LAZE_TRY(laze_schedule_add_use(scheduler, groups[i], 0, 0, node->operands[i], groups[i]->instances[0].map));
    *link = groups[i];
    link = &groups[i]->next;
    scheduler->group_count++;
  }
  *link = rest;
  return LAZE_OK;
}

/* Copying */

/* Values in the order in which they follow each other in the result. */
typedef struct {
  laze_value *items;
  int64_t count, capacity;
} value_list;

static laze_status append(laze_scheduler *scheduler, value_list *list, laze_value value) {
  if (list->count == list->capacity) {
    int64_t capacity = list->capacity ? 2 * list->capacity : 2 * MOST_GROUPS;
    laze_value *items = laze_arena_alloc_array(scheduler->arena, capacity, sizeof *items);
    if (!items) return memory_error(scheduler);
    if (list->count > 0) memcpy(items, list->items, (size_t)list->count * sizeof *items);
    list->items = items;
    list->capacity = capacity;
  }
  list->items[list->count++] = value;
  return LAZE_OK;
}

/* Whether a value is itself a concatenation along the layout's axis, with the same dtype. */
static laze_status continues(const piece_layout *layout, laze_value value, bool *out) {
  const laze_node *node = laze_graph_node(layout->scheduler->graph, value);
  const laze_type *type = layout->node->types[0];
  laze_inference inference = {layout->scheduler->graph->sizes, "cat", layout->scheduler->error};
  int axis;
  *out = node->op == LAZE_OP_CAT && node->types[0]->rank == type->rank && node->types[0]->dtype == type->dtype;
  if (!*out) return LAZE_OK;
  LAZE_TRY(laze_infer_axis(&inference, node->attributes[LAZE_CAT_DIM].value.integer, type->rank, &axis));
  *out = axis == layout->axis;
  return LAZE_OK;
}

/* What the result is put together from, through concatenations in each other. Whoever else uses those has them stored;
 * this does not. */
static laze_status find_sources(const piece_layout *layout, value_list *out) {
  value_list open = {0};
  *out = (value_list){0};
  for (int32_t i = layout->node->operand_count; i-- > 0;)
    LAZE_TRY(append(layout->scheduler, &open, layout->node->operands[i]));
  while (open.count > 0) {
    laze_value value = open.items[--open.count];
    const laze_node *node = laze_graph_node(layout->scheduler->graph, value);
    bool further;
    LAZE_TRY(continues(layout, value, &further));
    if (!further && has_elements(layout, value)) LAZE_TRY(append(layout->scheduler, out, value));
    for (int32_t i = node->operand_count; further && i-- > 0;)
      LAZE_TRY(append(layout->scheduler, &open, node->operands[i]));
  }
  return LAZE_OK;
}

/* Whether all sources have the result's dtype, so that bytes can be copied. */
static bool is_copy(const piece_layout *layout, const value_list *sources) {
  for (int64_t i = 0; i < sources->count; i++)
    if (laze_graph_type(layout->scheduler->graph, sources->items[i])->dtype != layout->node->types[0]->dtype)
      return false;
  return true;
}

/* A group that copies the sources; `sizes`, of runtime/copy_kernel.h, are still to get each one's part of a row. */
static laze_status begin_copy(const piece_layout *layout, laze_value root, const value_list *sources, laze_split why,
                              laze_group_builder **out) {
  laze_scheduler *scheduler = layout->scheduler;
  laze_group_builder *builder = laze_arena_alloc_zero(scheduler->arena, sizeof *builder);
  laze_size *sizes = laze_arena_alloc_array(scheduler->arena, sources->count + 2, sizeof *sizes);
  if (!builder || !sizes) return memory_error(scheduler);
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
                                .label = laze_op_get(layout->node->op)->name};
  builder->group.writes = &builder->group.root;
  sizes[0] = builder->group.read_count;
  LAZE_TRY(times(scheduler, layout->node->types[0]->sizes[layout->axis], layout->row, &sizes[1]));
  LAZE_TRY(times(scheduler, layout->rows, sizes[1], &builder->group.domain));
  return times(scheduler, builder->group.domain, 2, &builder->group.bytes);
}

/* Copies the sources once they are stored. */
static laze_status copy_group(const piece_layout *layout, laze_value root, const value_list *sources, laze_split why) {
  laze_scheduler *scheduler = layout->scheduler;
  laze_group_builder *builder = NULL;
  LAZE_TRY(begin_copy(layout, root, sources, why, &builder));
  scheduler->group_of_root[root.node] = builder;
  scheduler->group_count++;
  for (int32_t i = 0; i < builder->group.read_count; i++) {
    laze_size along = laze_graph_type(scheduler->graph, builder->sources[i])->sizes[layout->axis];
    LAZE_TRY(times(scheduler, along, layout->row, &builder->sizes[2 + i]));
    LAZE_TRY(laze_schedule_add_use(scheduler, builder, -1, i, builder->sources[i], NULL));
    scheduler->uses[builder->sources[i].node]->flat = true;
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
  piece_layout layout;
  value_list sources = {0};
  bool plain = true;
  int32_t next = 0;
  for (laze_group_builder *group = first; group && plain; group = group->next) {
    LAZE_TRY(is_plain(scheduler, group, &plain));
    if (plain) LAZE_TRY(append(scheduler, &sources, group->instances[1].value));
  }
  if (!plain) return LAZE_OK;
  LAZE_TRY(start_layout(scheduler, first->group.root.node, &layout));
  LAZE_TRY(begin_copy(&layout, first->group.root, &sources, first->group.split, &copy));
  laze_size bytes = laze_dtype_size(layout.node->types[0]->dtype);
  for (laze_group_builder *group = first; group; group = group->next)
    LAZE_TRY(times(scheduler, group->piece->width, bytes, &copy->sizes[2 + next++]));
  *groups = copy;
  return LAZE_OK;
}

static laze_status allocate(laze_scheduler *scheduler, int32_t node_index, laze_group_builder ***out) {
  int64_t count = scheduler->graph->nodes[node_index].operand_count;
  *out = laze_arena_alloc_zero(scheduler->arena, count * (int64_t)sizeof **out);
  return *out ? LAZE_OK : memory_error(scheduler);
}

laze_status laze_schedule_store_pieces(laze_scheduler *scheduler, int32_t node_index, laze_split why, bool *possible) {
  laze_value root = {node_index, 0};
  laze_group_builder **groups;
  piece_layout layout;
  value_list sources;
  *possible = true;
  LAZE_TRY(start_layout(scheduler, node_index, &layout));
  LAZE_TRY(find_sources(&layout, &sources));
  if (sources.count > MOST_GROUPS && !scheduler->options->kernels_only && is_copy(&layout, &sources))
    return copy_group(&layout, root, &sources, why);
  LAZE_TRY(allocate(scheduler, node_index, &groups));
  LAZE_TRY(begin_groups(scheduler, node_index, root, NULL, groups, possible));
  if (!*possible) return LAZE_OK;
  return link_groups(scheduler, node_index, groups, why, &scheduler->group_of_root[node_index]);
}

laze_status laze_schedule_flatten_pieces(laze_scheduler *scheduler, int32_t node_index, bool *done) {
  const laze_node *node = &scheduler->graph->nodes[node_index];
  const laze_use *use = scheduler->uses[node_index];
  laze_group_builder *group = use->group, **groups, **link;
  /* The whole value, in its own order, goes into the piece as it is. */
  *done = !use->next && use->map && node->operand_count <= MOST_GROUPS && group->piece &&
          use->map == group->instances[0].map && use->instance == 0 &&
          node->types[0]->dtype == laze_graph_type(scheduler->graph, group->group.root)->dtype;
  if (!*done) return LAZE_OK;
  LAZE_TRY(allocate(scheduler, node_index, &groups));
  LAZE_TRY(begin_groups(scheduler, node_index, group->group.root, group->piece, groups, done));
  if (!*done) return LAZE_OK;
  link = &scheduler->group_of_root[group->group.root.node];
  while (*link != group) link = &(*link)->next;
  *link = group->next;
  scheduler->group_count--;
  return link_groups(scheduler, node_index, groups, group->group.split, link);
}
