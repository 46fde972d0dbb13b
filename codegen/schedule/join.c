/* What a node needs of its operands at an access map: for each class of operator, the operand's map.
 *
 *   permute      components change places
 *   flip         last index - component
 *   expand       components of broadcast axes go
 *   slice        component * step + start
 *   reshape      nothing: the view takes care of it
 *   cat          component - start of the piece, guarded
 *   index_select one component becomes an index read from memory; so for gather
 *   dynamic_slice  component + an index read from memory
 *   iota         made of the domain itself, without an operand; so for size_tensor
 */
#include "codegen/schedule/join.h"

#include "codegen/schedule/group.h"
#include "codegen/schedule/joiner.h"
#include "codegen/schedule/pieces.h"
#include "codegen/schedule/routine.h"
#include "ir/op.gen.h"
#include "runtime/program.h"
#include "shape_inference/rules.h"

static laze_status elementwise_needs(laze_joiner *join, laze_needs *out, bool *possible) {
  out->kind = LAZE_INSTANCE_ELEMENT;
  out->count = join->node->operand_count;
  *possible = out->count <= LAZE_MAX_OPERANDS;
  for (int32_t i = 0; i < out->count && *possible; i++) {
    LAZE_TRY(laze_map_broadcast(&join->mapper, join->map, join->type, operand_type(join, i), &out->maps[i]));
    *possible = out->maps[i] != NULL;
  }
  return LAZE_OK;
}

static laze_status reduction_needs(laze_joiner *join, laze_needs *out, bool *possible) {
  return laze_schedule_reduction_needs(join->scheduler, join->group, join->node, join->map, out, possible);
}

static laze_status scan_needs(laze_joiner *join, laze_needs *out, bool *possible) {
  return laze_schedule_scan_needs(join->scheduler, join->group, join->node, join->map, out, possible);
}

static laze_status reshape_needs(laze_joiner *join, laze_needs *out, bool *possible) {
  out->maps[0] = join->map;
  *possible = true;
  return LAZE_OK;
}

static laze_status bitcast_needs(laze_joiner *join, laze_needs *out, bool *possible) {
  out->kind = LAZE_INSTANCE_BITCAST;
  out->maps[0] = join->map;
  *possible = true;
  return LAZE_OK;
}

static laze_status expand_needs(laze_joiner *join, laze_needs *out, bool *possible) {
  LAZE_TRY(laze_map_broadcast(&join->mapper, join->map, join->type, operand_type(join, 0), &out->maps[0]));
  *possible = out->maps[0] != NULL;
  return LAZE_OK;
}

static laze_status permute_needs(laze_joiner *join, laze_needs *out, bool *possible) {
  const laze_map *own;
  const laze_size *dims = join->node->attributes[LAZE_PERMUTE_DIMS].value.items;
  LAZE_TRY(own_axes(join, &own));
  *possible = own != NULL;
  if (!own) return LAZE_OK;
  laze_component components[LAZE_MAX_RANK];
  int rank = join->type->rank;
  for (int axis = 0; axis < rank; axis++) {
    int64_t from = dims[axis] < 0 ? dims[axis] + rank : dims[axis];
    components[from] = own->components[axis];
  }
  return laze_map_create(&join->mapper, operand_type(join, 0)->sizes, components, rank, own->guards, &out->maps[0]);
}

/* A flipped component is the last index less the component. */
static laze_status flip_needs(laze_joiner *join, laze_needs *out, bool *possible) {
  const laze_type *operand = operand_type(join, 0);
  const laze_attribute *dims = &join->node->attributes[LAZE_FLIP_DIMS];
  const laze_map *own;
  LAZE_TRY(own_axes(join, &own));
  *possible = own != NULL;
  if (!own) return LAZE_OK;
  laze_component components[LAZE_MAX_RANK], last = {.dynamic = -1};
  for (int i = 0; i < operand->rank; i++) components[i] = own->components[i];
  for (int32_t i = 0; i < dims->count && operand->rank > 0; i++) {
    int64_t axis = dims->value.items[i] < 0 ? dims->value.items[i] + operand->rank : dims->value.items[i];
    LAZE_TRY(laze_size_binary(join->mapper.sizes, LAZE_SIZE_ADD, operand->sizes[axis], -1, &last.offset,
                              join->scheduler->error));
    LAZE_TRY(laze_component_scale(&join->mapper, &components[axis], -1, &components[axis]));
    LAZE_TRY(laze_component_add(&join->mapper, &components[axis], &last, &components[axis]));
  }
  return laze_map_create(&join->mapper, operand->sizes, components, operand->rank, own->guards, &out->maps[0]);
}

static const laze_size *optional_size(const laze_attribute *attribute) {
  return attribute->present ? &attribute->value.size : NULL;
}

static laze_status slice_needs(laze_joiner *join, laze_needs *out, bool *possible) {
  const laze_attribute *attributes = join->node->attributes;
  const laze_type *operand = operand_type(join, 0);
  const laze_map *own;
  LAZE_TRY(own_axes(join, &own));
  *possible = own != NULL;
  if (!own) return LAZE_OK;
  laze_inference inference = {join->scheduler->graph->sizes, "slice", join->scheduler->error};
  int axis;
  laze_size start, length;
  LAZE_TRY(laze_infer_axis(&inference, attributes[LAZE_SLICE_DIM].value.integer, operand->rank, &axis));
  LAZE_TRY(laze_slice_bounds(&inference, operand->sizes[axis], optional_size(&attributes[LAZE_SLICE_START]),
                             optional_size(&attributes[LAZE_SLICE_END]), attributes[LAZE_SLICE_STEP].value.integer,
                             &start, &length));
  laze_component components[LAZE_MAX_RANK];
  for (int i = 0; i < operand->rank; i++) components[i] = own->components[i];
  laze_component scaled, offset = {.dynamic = -1, .offset = start};
  laze_size step;
  LAZE_TRY(slice_step(join, operand->sizes[axis], attributes[LAZE_SLICE_STEP].value.integer, &step));
  LAZE_TRY(laze_component_scale(&join->mapper, &own->components[axis], step, &scaled));
  LAZE_TRY(laze_component_add(&join->mapper, &scaled, &offset, &components[axis]));
  return laze_map_create(&join->mapper, operand->sizes, components, operand->rank, own->guards, &out->maps[0]);
}

/* The map of one piece of a concatenation that begins at `low` along `axis`. An empty list, whose rank may be another,
 * has a guard that never holds. */
static laze_status piece_map(laze_joiner *join, const laze_map *own, int axis, laze_size low, const laze_type *piece,
                             const laze_map **out) {
  laze_size_table *sizes = join->scheduler->graph->sizes;
  laze_error *error = join->scheduler->error;
  laze_guard *guard = laze_arena_alloc_zero(join->mapper.arena, sizeof *guard);
  if (!guard) return laze_fail_memory(error, "a schedule", sizeof *guard);
  guard->next = own->guards;
  guard->component = own->components[axis];
  guard->low = low;
  LAZE_TRY(laze_size_binary(sizes, LAZE_SIZE_ADD, low, laze_cat_length(piece, join->type, axis), &guard->high, error));
  laze_component components[LAZE_MAX_RANK], offset = {.dynamic = -1};
  const bool same_rank = piece->rank == join->type->rank;
  for (int i = 0; i < piece->rank && same_rank; i++) components[i] = own->components[i];
  LAZE_TRY(laze_size_binary(sizes, LAZE_SIZE_MUL, low, -1, &offset.offset, error));
  LAZE_TRY(laze_component_add(&join->mapper, &own->components[axis], &offset, &components[same_rank ? axis : 0]));
  return laze_map_create(&join->mapper, piece->sizes, components, piece->rank, guard, out);
}

static laze_status cat_needs(laze_joiner *join, laze_needs *out, bool *possible) {
  const laze_map *own;
  laze_size_table *sizes = join->scheduler->graph->sizes;
  int axis;
  *possible = join->node->operand_count <= LAZE_GROUP_MAX_CAT;
  if (!*possible) return LAZE_OK;
  LAZE_TRY(own_axes(join, &own));
  *possible = own != NULL;
  if (!own) return LAZE_OK;
  LAZE_TRY(laze_pieces_axis(join->scheduler, join->node, &axis));
  *possible = own->components[axis].dynamic < 0;
  laze_size low = 0;
  out->kind = LAZE_INSTANCE_SELECT;
  out->count = join->node->operand_count;
  for (int32_t i = 0; i < out->count && *possible; i++) {
    LAZE_TRY(piece_map(join, own, axis, low, operand_type(join, i), &out->maps[i]));
    LAZE_TRY(laze_size_binary(sizes, LAZE_SIZE_ADD, low, laze_cat_length(operand_type(join, i), join->type, axis), &low,
                              join->scheduler->error));
  }
  return LAZE_OK;
}

static laze_status iota_needs(laze_joiner *join, laze_needs *out, bool *possible) {
  laze_inference inference = {join->scheduler->graph->sizes, "iota", join->scheduler->error};
  int axis;
  LAZE_TRY(laze_infer_axis(&inference, join->node->attributes[LAZE_IOTA_DIM].value.integer, join->type->rank, &axis));
  out->count = 0;
  if (join->type->rank == 0) { /* the only index there is */
    out->kind = LAZE_INSTANCE_SIZE;
    out->size = 0;
    *possible = true;
    return LAZE_OK;
  }
  out->kind = LAZE_INSTANCE_IOTA;
  const laze_map *own;
  LAZE_TRY(own_axes(join, &own));
  *possible = own != NULL;
  if (!own) return LAZE_OK;
  /* The value is the component along `axis`: a map of that one axis, whose offset is the component. */
  return laze_map_create(&join->mapper, &join->type->sizes[axis], &own->components[axis], 1, own->guards,
                         &out->maps[0]);
}

static laze_status size_needs(laze_joiner *join, laze_needs *out, bool *possible) {
  out->kind = LAZE_INSTANCE_SIZE;
  out->count = 0;
  out->size = join->node->attributes[LAZE_SIZE_TENSOR_VALUE].value.size;
  *possible = true;
  return LAZE_OK;
}

/* What both indexing operators need of their source: everything but where the index is read. *own is the map through
 * the node's axes. */
static laze_status indexed_needs(laze_joiner *join, int64_t dim, const laze_map **own, laze_needs *out,
                                 bool *possible) {
  const laze_type *source = operand_type(join, 0);
  laze_inference inference = {join->scheduler->graph->sizes, laze_op_get(join->node->op)->name, join->scheduler->error};
  LAZE_TRY(laze_infer_axis(&inference, dim, source->rank, &out->axis));
  LAZE_TRY(own_axes(join, own));
  /* Under a guard the index may be rubbish, so that checking it would report what is no error. */
  *possible = *own != NULL && (*own)->guards == NULL;
  if (!*possible) return LAZE_OK;
  static const laze_size one = 1; /* a scalar is indexed as if it had an axis of one element */
  int rank = source->rank > 0 ? source->rank : 1;
  const laze_size *sizes = source->rank > 0 ? source->sizes : &one;
  laze_component components[LAZE_MAX_RANK];
  for (int i = 0; i < rank; i++)
    if (i != out->axis) components[i] = (*own)->components[i];
  components[out->axis] =
      (laze_component){.dynamic = 0, .dynamic_coefficient = 1}; /* the caller fills in the instance */
  out->kind = LAZE_INSTANCE_PASS;
  out->count = 2;
  out->indexed = true;
  out->size = sizes[out->axis];
  return laze_map_create(&join->mapper, sizes, components, rank, NULL, &out->maps[0]);
}

/* The index has the result's shape. */
static laze_status gather_needs(laze_joiner *join, laze_needs *out, bool *possible) {
  return indexed_needs(join, join->node->attributes[LAZE_GATHER_DIM].value.integer, &out->maps[1], out, possible);
}

/* The index has one axis, or none: the component along the axis, which a scalar result has not. */
static laze_status index_select_needs(laze_joiner *join, laze_needs *out, bool *possible) {
  static const laze_component first = {.dynamic = -1};
  const laze_type *index = operand_type(join, 1);
  const laze_map *own;
  int64_t dim = join->node->attributes[LAZE_INDEX_SELECT_DIM].value.integer;
  LAZE_TRY(indexed_needs(join, dim, &own, out, possible));
  if (!*possible) return LAZE_OK;
  return laze_map_create(&join->mapper, index->sizes, out->axis < own->rank ? &own->components[out->axis] : &first,
                         index->rank, NULL, &out->maps[1]);
}

/* The start, which has no axis, is added to the component. */
static laze_status dynamic_slice_needs(laze_joiner *join, laze_needs *out, bool *possible) {
  const laze_type *source = operand_type(join, 0);
  const laze_map *own;
  laze_component components[LAZE_MAX_RANK];
  LAZE_TRY(indexed_needs(join, join->node->attributes[LAZE_DYNAMIC_SLICE_DIM].value.integer, &own, out, possible));
  *possible = *possible && own->components[out->axis].dynamic < 0;
  if (!*possible) return LAZE_OK;
  out->length = join->type->sizes[out->axis];
  for (int i = 0; i < source->rank; i++) components[i] = own->components[i];
  components[out->axis].dynamic = 0; /* the caller fills in the instance */
  components[out->axis].dynamic_coefficient = 1;
  LAZE_TRY(laze_map_create(&join->mapper, source->sizes, components, source->rank, NULL, &out->maps[0]));
  return laze_map_create(&join->mapper, NULL, NULL, 0, NULL, &out->maps[1]);
}

const laze_join laze_join_reshape = {.needs = reshape_needs, .pass_through = true, .keeps_order = true};
const laze_join laze_join_bitcast = {.needs = bitcast_needs, .computes = true};
const laze_join laze_join_expand = {.needs = expand_needs, .pass_through = true};
const laze_join laze_join_permute = {.needs = permute_needs, .pass_through = true};
const laze_join laze_join_flip = {.needs = flip_needs, .pass_through = true};
const laze_join laze_join_slice = {.needs = slice_needs, .pass_through = true};
const laze_join laze_join_cat = {.needs = cat_needs, .concatenation = &(const laze_concatenation){.dim = LAZE_CAT_DIM}};
const laze_join laze_join_iota = {.needs = iota_needs, .is_made = true, .has_own_map = true};
const laze_join laze_join_size_tensor = {.needs = size_needs, .is_made = true};
const laze_join laze_join_gather = {.needs = gather_needs, .indexes = true};
const laze_join laze_join_index_select = {.needs = index_select_needs, .indexes = true};
const laze_join laze_join_dynamic_slice = {.needs = dynamic_slice_needs, .indexes = true};
const laze_join laze_join_dynamic_update = {.updates = true};
const laze_join laze_join_scatter = {
    .scatter = &(const laze_scatter){.dim = LAZE__SCATTER_DIM, .reduce = LAZE__SCATTER_REDUCE}};
const laze_join laze_join_index_update = {.scatter = &(const laze_scatter){
                                              .dim = LAZE__INDEX_UPDATE_DIM,
                                              .reduce = LAZE__INDEX_UPDATE_REDUCE,
                                              .by_list = true,
                                          }};
const laze_join laze_join_reduce = {.folds = true};
const laze_join laze_join_mm = {.product = &(const laze_product){{"mk", "kn"}, "mn"}};
const laze_join laze_join_bmm = {.product = &(const laze_product){{"bmk", "bkn"}, "bmn"}};
const laze_join laze_join_sort = {.routine = &laze_routine_sort};
const laze_join laze_join_sorted_head = {.routine = &laze_routine_sorted_head};
const laze_join laze_join_linalg = {.routine = &laze_routine_library};
const laze_join laze_join_fft = {.routine = &laze_routine_library};
const laze_join laze_join_opaque = {.routine = &laze_routine_opaque};
const laze_join laze_join_if = {.control = &laze_step_control_if};
const laze_join laze_join_while = {.control = &laze_step_control_while};
const laze_join laze_join_scan = {.control = &laze_step_control_scan};

const laze_join *laze_schedule_join_of(laze_op op) {
  static const laze_join elementwise = {.needs = elementwise_needs, .computes = true},
                         reduction = {.needs = reduction_needs, .reduces = true},
                         scan = {.needs = scan_needs, .reduces = true}, none = {0};
  const laze_join *own = laze_join_find(op);
  switch (laze_op_get(op)->op_class) {
  case LAZE_CLASS_ELEMENTWISE: return &elementwise;
  case LAZE_CLASS_REDUCTION: return &reduction;
  case LAZE_CLASS_SCAN: return &scan;
  default: return own ? own : &none;
  }
}

laze_status laze_schedule_needs(laze_scheduler *scheduler, laze_group_builder *group, const laze_node *node,
                                const laze_map *map, laze_needs *out, bool *possible) {
  const laze_join *rules = laze_schedule_join_of(node->op);
  laze_joiner join = {scheduler, group, laze_scheduler_mapper(scheduler, group), node, map, node->types[0]};
  *out = (laze_needs){.count = 1, .pass_through = rules->pass_through};
  *possible = false;
  return rules->needs ? rules->needs(&join, out, possible) : LAZE_OK;
}

laze_value laze_schedule_behind_views(const laze_graph *graph, laze_value value) {
  for (;;) {
    const laze_node *node = laze_graph_node(graph, value);
    const laze_join *join = laze_schedule_join_of(node->op);
    if (!join->pass_through || !join->keeps_order) return value;
    value = node->operands[0];
  }
}
