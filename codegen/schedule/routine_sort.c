/* What sorting asks of runtime/sort_kernel.h. */
#include "codegen/schedule/routine.h"

#include "ir/op.gen.h"
#include "runtime/sort_kernel.h"
#include "shape_inference/inference.h"
#include "shape_inference/rules.h"

static laze_status describe_rows(laze_routine_call *call, int64_t dim, laze_error *error) {
  laze_size_table *table = call->graph->sizes;
  const laze_type *type = laze_graph_type(call->graph, call->node->operands[0]);
  laze_inference inference = {table, laze_op_get(call->node->op)->name, error};
  laze_size elements, inner, outer, each;
  int axis;
  LAZE_TRY(laze_infer_axis(&inference, dim, type->rank, &axis));
  int behind = type->rank > 0 ? axis + 1 : 0;
  LAZE_TRY(laze_type_elements(table, type, &elements, error));
  LAZE_TRY(laze_size_product(table, type->sizes, axis, &outer, error));
  LAZE_TRY(laze_size_product(table, type->sizes + behind, type->rank - behind, &inner, error));
  call->sizes[0] = type->rank > 0 ? type->sizes[axis] : 1;
  call->sizes[1] = inner;
  call->sizes[2] = type->rank > 0 ? call->node->types[0]->sizes[axis] : 1;
  call->size_count = 3;
  LAZE_TRY(laze_size_binary(table, LAZE_SIZE_MUL, outer, inner, &call->domain, error));
  LAZE_TRY(laze_size_binary(table, LAZE_SIZE_MUL, call->sizes[0], LAZE_SORT_SCRATCH, &call->scratch, error));
  /* A pass over keys and places for each byte, besides reading elements and writing results. */
  each = laze_dtype_size(type->dtype);
  LAZE_TRY(
      laze_size_estimate(table, LAZE_SIZE_MUL, elements, 2 * each + (laze_size)sizeof(int64_t), &call->bytes, error));
  return laze_size_estimate(table, LAZE_SIZE_MUL, elements, LAZE_SORT_SCRATCH * each, &call->operations, error);
}

static laze_status create_kernel(const laze_graph *graph, const laze_node *node, bool descending, int32_t results,
                                 laze_kernel **out, laze_error *error) {
  laze_dtype dtype = laze_graph_type(graph, node->operands[0])->dtype;
  return laze_sort_kernel_create(graph->context, dtype, descending, results > 1, out, error);
}

static laze_status describe(laze_routine_call *call, laze_error *error) {
  return describe_rows(call, call->node->attributes[LAZE_SORT_DIM].value.integer, error);
}

static laze_status create(const laze_graph *graph, const laze_node *node, int32_t results, laze_kernel **out,
                          laze_error *error) {
  return create_kernel(graph, node, node->attributes[LAZE_SORT_DESCENDING].value.integer != 0, results, out, error);
}

static laze_status describe_head(laze_routine_call *call, laze_error *error) {
  return describe_rows(call, call->node->attributes[LAZE__SORTED_HEAD_DIM].value.integer, error);
}

static laze_status create_head(const laze_graph *graph, const laze_node *node, int32_t results, laze_kernel **out,
                               laze_error *error) {
  const bool descending = node->attributes[LAZE__SORTED_HEAD_DESCENDING].value.integer != 0;
  return create_kernel(graph, node, descending, results, out, error);
}

const laze_routine laze_routine_sort = {.describe = describe, .create = create};
const laze_routine laze_routine_sorted_head = {.describe = describe_head, .create = create_head};
