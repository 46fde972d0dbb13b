/* A concatenation that is stored: one group for each piece, which writes its elements where they belong.
 *
 *   %0 = cat [%x, %y], dim=0 : f32[7,5]        kernel 0: rows 0 to 3 of %0, from %x
 *   %x: f32[4,5]  %y: f32[3,5]                 kernel 1: rows 4 to 6 of %0, from %y
 *
 * What a piece is computed from joins its group like any other, so that nothing asks for each element in which piece it
 * lies, and the kernels of equal pieces are one. A concatenation that is nothing but a piece of another hands its own
 * pieces on: a chain of them, or a frame around a matrix, is as many kernels as it has pieces. (Many pieces are copied
 * by one step: copy.c.)
 */
#include "codegen/schedule/pieces.h"

#include "codegen/schedule/group.h"
#include "codegen/schedule/join.h"
#include "shape_inference/rules.h"

/* Concatenations along different axes in each other, whose pieces are written to the outermost one. */
enum { MOST_DEPTH = 6 };

laze_status laze_pieces_multiply(laze_scheduler *scheduler, laze_size a, laze_size b, laze_size *out) {
  return laze_size_binary(scheduler->graph->sizes, LAZE_SIZE_MUL, a, b, out, scheduler->error);
}

laze_status laze_pieces_axis(laze_scheduler *scheduler, const laze_node *node, int *out) {
  const laze_concatenation *concatenation = laze_schedule_join_of(node->op)->concatenation;
  laze_inference inference = {scheduler->graph->sizes, laze_op_get(node->op)->name, scheduler->error};
  return laze_cat_axis(&inference, node->types[0], node->attributes[concatenation->dim].value.integer, out);
}

laze_status laze_pieces_begin(laze_scheduler *scheduler, int32_t node_index, laze_pieces *out) {
  const laze_node *node = &scheduler->graph->nodes[node_index];
  const laze_type *type = node->types[0];
  laze_size_table *sizes = scheduler->graph->sizes;
  *out = (laze_pieces){.scheduler = scheduler, .node = node};
  LAZE_TRY(laze_pieces_axis(scheduler, node, &out->axis));
  LAZE_TRY(laze_size_product(sizes, type->sizes, out->axis, &out->rows, scheduler->error));
  LAZE_TRY(
      laze_size_product(sizes, type->sizes + out->axis + 1, type->rank - out->axis - 1, &out->inner, scheduler->error));
  return laze_pieces_multiply(scheduler, out->inner, laze_dtype_size(type->dtype), &out->row);
}

bool laze_pieces_has(const laze_pieces *pieces, laze_value operand) {
  const laze_type *type = laze_graph_type(pieces->scheduler->graph, operand);
  bool any = type->rank == pieces->node->types[0]->rank;
  for (int axis = 0; axis < type->rank; axis++) any = any && type->sizes[axis] != 0;
  return any;
}

/* Where the operand lies, and moves on to the next one. */
static laze_status next_piece(laze_pieces *pieces, int32_t operand, laze_piece *out) {
  laze_size_table *sizes = pieces->scheduler->graph->sizes;
  laze_error *error = pieces->scheduler->error;
  laze_size along = laze_graph_type(pieces->scheduler->graph, pieces->node->operands[operand])->sizes[pieces->axis];
  laze_size all = pieces->node->types[0]->sizes[pieces->axis];
  *out = (laze_piece){.rows = pieces->rows};
  LAZE_TRY(laze_pieces_multiply(pieces->scheduler, along, pieces->inner, &out->width));
  LAZE_TRY(laze_pieces_multiply(pieces->scheduler, all, pieces->inner, &out->pitch));
  LAZE_TRY(laze_pieces_multiply(pieces->scheduler, pieces->low, pieces->inner, &out->start));
  return laze_size_binary(sizes, LAZE_SIZE_ADD, pieces->low, along, &pieces->low, error);
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
  if (!group->piece) return laze_scheduler_memory_error(scheduler);
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
  laze_pieces pieces;
  LAZE_TRY(laze_pieces_begin(scheduler, node_index, &pieces));
  *possible = true;
  for (int32_t i = 0; i < pieces.node->operand_count && *possible; i++) {
    laze_piece piece;
    if (!laze_pieces_has(&pieces, pieces.node->operands[i])) continue;
    LAZE_TRY(next_piece(&pieces, i, &piece));
    if (outer) LAZE_TRY(nest_piece(scheduler, outer, &piece));
    *possible = piece.depth <= MOST_DEPTH;
    groups[i] = laze_arena_alloc_zero(scheduler->arena, sizeof **groups);
    if (!groups[i]) return laze_scheduler_memory_error(scheduler);
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

static laze_status allocate(laze_scheduler *scheduler, int32_t node_index, laze_group_builder ***out) {
  int64_t count = scheduler->graph->nodes[node_index].operand_count;
  *out = laze_arena_alloc_zero(scheduler->arena, count * (int64_t)sizeof **out);
  return *out ? LAZE_OK : laze_scheduler_memory_error(scheduler);
}

laze_status laze_schedule_store_pieces(laze_scheduler *scheduler, int32_t node_index, laze_split why, bool *possible) {
  laze_group_builder **groups;
  LAZE_TRY(allocate(scheduler, node_index, &groups));
  LAZE_TRY(begin_groups(scheduler, node_index, (laze_value){node_index, 0}, NULL, groups, possible));
  if (!*possible) return LAZE_OK;
  return link_groups(scheduler, node_index, groups, why, &scheduler->group_of_root[node_index]);
}

laze_status laze_schedule_flatten_pieces(laze_scheduler *scheduler, int32_t node_index, bool *done) {
  const laze_node *node = &scheduler->graph->nodes[node_index];
  const laze_use *use = scheduler->uses[node_index];
  laze_group_builder *group = use->group, **groups, **link;
  /* The whole value, in its own order, goes into the piece as it is. */
  *done = !use->next && use->map && node->operand_count <= LAZE_PIECES_MAX_GROUPS && group->piece &&
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
