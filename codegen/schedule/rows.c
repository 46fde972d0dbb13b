/* A fold by a region that loops of loop IR cannot do (fold.c) is a scan along what is folded, in a scan along what is
 * kept, and so runs natively like any region:
 *
 *   %0 = reduce %x, [%i], dim=[1] (%a, %b) { %1 = while ... return %1 }
 *
 *   %0 = reshape %x, ...                       f32[kept, folded], in row-major order of the two kinds of axes
 *   %1:2 = scan [%i], [%0] (%s, %row) {
 *     %2 = scan [%s], [%row] (%a, %b) { %3 = while ... return %3 }
 *     return %s, %2
 *   }                                          a state stays as it was, and its end is stacked
 *   %4 = reshape %1#1, ...
 *
 * Such a region is rare, and each of its rounds runs kernels: nothing is won by more than one form.
 */
#include "codegen/schedule/rows.h"

#include "codegen/schedule/join.h"
#include "ir/builder.h"
#include "ir/op.gen.h"
#include "ir/rewrite.h"

/* By depth of a fold's region in the source. */
typedef struct {
  bool opened[LAZE_MAX_NESTING + 1]; /* it becomes a scan */
  laze_value rows[LAZE_MAX_NESTING + 1];
} row_folds;

/* How many blocks lie in each other, from a fold's region on. */
static int count_levels(const laze_graph *graph, const laze_node *node) {
  int deepest = 0;
  laze_walk walk;
  laze_walk_begin_block(&walk, graph, node->regions[0]);
  for (laze_walk_event event; (event = laze_walk_next(&walk)) != LAZE_WALK_DONE;)
    if (event == LAZE_WALK_BLOCK && walk.block->depth > deepest) deepest = walk.block->depth;
  return deepest - node->regions[0]->depth + 1;
}

/* A scan more around the region has to be within the limit; where it is not, the interpreter folds. */
static bool becomes_scan(const laze_rewrite *rewrite, const laze_node *node) {
  return laze_schedule_find_fold_refusal(rewrite->source, node) &&
         rewrite->block->depth + 1 + count_levels(rewrite->source, node) <= LAZE_MAX_NESTING;
}

static laze_status shape_to(laze_builder *builder, laze_value value, const laze_size *sizes, int32_t count,
                            laze_value *out, laze_error *error) {
  laze_attribute shape = laze_attribute_sizes(sizes, count);
  return laze_record_call(&builder->recorder, LAZE_OP_RESHAPE, &value, 1, &shape, out, error);
}

static laze_builder make_builder(laze_rewrite *rewrite, const laze_node *node) {
  laze_builder builder;
  laze_builder_init(&builder, rewrite->target, rewrite->block);
  builder.recorder.origin = node->origin == LAZE_OP_NONE ? node->op : node->origin;
  builder.recorder.location = node->location;
  builder.recorder.name = node->name;
  return builder;
}

static bool is_folded(const laze_node *node, int rank, int axis) {
  const laze_attribute *dim = &node->attributes[LAZE_REDUCE_DIM];
  for (int32_t i = 0; i < dim->count; i++)
    if (dim->value.items[i] == axis || dim->value.items[i] + rank == axis) return true;
  return false;
}

/* What is folded, as rows. */
static laze_status record_rows(laze_rewrite *rewrite, const laze_node *node, laze_value *out, laze_error *error) {
  laze_value self = laze_rewrite_value(rewrite, node->operands[0]);
  laze_type type = *laze_graph_type(rewrite->target, self);
  laze_size order[LAZE_MAX_RANK], rows[2] = {1, 1};
  int32_t count = 0;
  for (int folded = 0; folded < 2; folded++)
    for (int axis = 0; axis < type.rank; axis++) {
      if (is_folded(node, type.rank, axis) != (folded == 1)) continue;
      order[count++] = axis;
      LAZE_TRY(laze_size_binary(rewrite->target->sizes, LAZE_SIZE_MUL, rows[folded], type.sizes[axis], &rows[folded],
                                error));
    }
  laze_builder builder = make_builder(rewrite, node);
  laze_attribute dims = laze_attribute_integers(order, count);
  LAZE_TRY(laze_record_call(&builder.recorder, LAZE_OP_PERMUTE, &self, 1, &dims, &self, error));
  return shape_to(&builder, self, rows, 2, out, error);
}

/* Opens the outer scan's region: a parameter for each state, and one for a row. */
static laze_status open_rows(laze_rewrite *rewrite, void *self, int32_t number, laze_error *error) {
  const laze_node *node = &rewrite->source->nodes[number];
  row_folds *folds = self;
  int depth = node->regions[0]->depth;
  laze_value parameter;
  laze_block *outer;
  folds->opened[depth] = becomes_scan(rewrite, node);
  if (!folds->opened[depth]) return LAZE_OK;
  LAZE_TRY(record_rows(rewrite, node, &folds->rows[depth], error));
  LAZE_TRY(laze_graph_add_region(rewrite->target, rewrite->block, &outer, error));
  for (int32_t i = 0; i <= node->result_count; i++) {
    bool is_row = i == node->result_count;
    laze_value value = is_row ? folds->rows[depth] : laze_rewrite_value(rewrite, node->operands[1 + i]);
    laze_type type = *laze_graph_type(rewrite->target, value);
    if (is_row) type.sizes[0] = type.sizes[1];
    type.rank -= is_row;
    LAZE_TRY(laze_graph_add_parameter(rewrite->target, outer, NULL, &type, &parameter, error));
  }
  rewrite->block = outer;
  return LAZE_OK;
}

/* A scan in rewrite->block. `values`: the states, then what is scanned. */
static laze_status append_scan(laze_rewrite *rewrite, const laze_node *node, const laze_value *values,
                               laze_block *region, int32_t *out, laze_error *error) {
  const int32_t segments[] = {node->result_count, 1};
  laze_value first;
  laze_call call = laze_node_call(node);
  call.op = LAZE_OP_SCAN;
  call.operands = values;
  call.segments = segments;
  call.attributes = NULL;
  call.origin = node->origin == LAZE_OP_NONE ? node->op : node->origin;
  LAZE_TRY(laze_graph_append_region_node(rewrite->target, rewrite->block, &call, &region, &first, error));
  *out = first.node;
  return LAZE_OK;
}

/* The outer scan's region: a row is folded from the states on, and these stay as they were. */
static laze_status fold_row(laze_rewrite *rewrite, const laze_node *node, laze_block *region, laze_value *scratch,
                            laze_error *error) {
  laze_block *outer = rewrite->block;
  int32_t states = node->result_count, inner;
  for (int32_t i = 0; i <= states; i++) scratch[i] = (laze_value){outer->parameters[i], 0};
  LAZE_TRY(append_scan(rewrite, node, scratch, region, &inner, error));
  for (int32_t i = 0; i < states; i++) scratch[states + i] = (laze_value){inner, i};
  return laze_block_set_results(rewrite->target, outer, scratch, 2 * (int64_t)states, error);
}

/* The stacked ends of the states, in the shape of the fold's results. */
static laze_status take_ends(laze_rewrite *rewrite, int32_t number, int32_t scan, laze_value *scratch,
                             laze_error *error) {
  const laze_node *node = &rewrite->source->nodes[number];
  laze_builder builder = make_builder(rewrite, node);
  for (int32_t i = 0; i < node->result_count; i++) {
    laze_value stacked = {scan, node->result_count + i};
    LAZE_TRY(shape_to(&builder, stacked, node->types[i]->sizes, node->types[i]->rank, &scratch[i], error));
  }
  laze_rewrite_map(rewrite, number, scratch);
  return LAZE_OK;
}

static laze_status close_rows(laze_rewrite *rewrite, void *self, int32_t number, laze_block *const *regions,
                              bool *replaced, laze_error *error) {
  const laze_node *node = &rewrite->source->nodes[number];
  const row_folds *folds = self;
  int depth = node->regions[0]->depth;
  int32_t states = node->result_count, scan;
  laze_block *outer = rewrite->block;
  if (!folds->opened[depth]) return LAZE_OK;
  laze_value *scratch = laze_arena_alloc_array(&rewrite->target->arena, 2 * (int64_t)states + 1, sizeof *scratch);
  if (!scratch) return laze_fail_memory(error, "the states of a fold", 2 * (int64_t)states + 1);
  LAZE_TRY(fold_row(rewrite, node, regions[0], scratch, error));
  rewrite->block = outer->parent;
  for (int32_t i = 0; i < states; i++) scratch[i] = laze_rewrite_value(rewrite, node->operands[1 + i]);
  scratch[states] = folds->rows[depth];
  LAZE_TRY(append_scan(rewrite, node, scratch, outer, &scan, error));
  *replaced = true;
  return take_ends(rewrite, number, scan, scratch, error);
}

laze_status laze_schedule_scan_folds(const laze_graph *graph, laze_graph **out, laze_error *error) {
  row_folds self = {.opened = {false}};
  laze_rewrite_hooks hooks = {.self = &self, .open = open_rows, .close = close_rows};
  int64_t first = 0;
  *out = NULL;
  while (first < graph->node_count && !laze_schedule_find_fold_refusal(graph, &graph->nodes[first])) first++;
  if (first == graph->node_count) return LAZE_OK;
  LAZE_TRY(laze_rewrite_graph(graph, &hooks, true, out, error));
  if (!laze_context_debug(graph->context, LAZE_DEBUG_VERIFY)) return LAZE_OK;
  laze_status status = laze_graph_verify(*out, error);
  if (status == LAZE_OK) return LAZE_OK;
  laze_graph_destroy(*out);
  *out = NULL;
  return status;
}
