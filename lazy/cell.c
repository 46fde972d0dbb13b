/* Cells and the nodes that compute them, in blocks of the context's pool:
 *
 *   a cell that stands alone    cell | sizes
 *   a node                      node | cells | operands | attributes | sizes | what attributes refer to | segments
 *
 * A cell keeps its node, a node keeps its operands' cells. Once no referenced cell of a node is pending, the node lets
 * go of its operands and leaves the context's list; once none is referenced, its block is given back.
 */
#include "base/checked.h"
#include "lazy/lazy.h"

#include <string.h>

#define RESULT_BYTES_MAX (INT64_C(1) << 40)

static void set_type(laze_cell *cell, const laze_type *type, int64_t *sizes) {
  cell->kind = type->kind;
  cell->dtype = type->dtype;
  cell->rank = type->rank;
  cell->sizes = sizes;
  for (int i = 0; i < type->rank; i++) sizes[i] = type->sizes[i];
}

static int64_t alone_size(int rank) {
  return (int64_t)sizeof(laze_cell) + rank * (int64_t)sizeof(int64_t);
}

laze_cell *laze_cell_create(laze_lazy *lazy, laze_cell_state state, const laze_type *type) {
  laze_cell *cell = laze_pool_take(&lazy->pool, alone_size(type->rank));
  if (!cell) return NULL;
  *cell = (laze_cell){.references = 1, .depth = LAZE_NO_DEPTH, .state = (uint8_t)state};
  set_type(cell, type, (int64_t *)(cell + 1));
  return cell;
}

void laze_cell_retain(laze_cell *cell) {
  if (cell->references++ == 0) cell->node->referenced++;
}

static void list_remove(laze_lazy *lazy, laze_pending *node) {
  if (!node->listed) return;
  node->listed = false;
  *(node->newer ? &node->newer->older : &lazy->newest) = node->older;
  *(node->older ? &node->older->newer : &lazy->oldest) = node->newer;
  laze_lazy_recorder *recorder = node->recorder;
  recorder->pending_nodes--;
  recorder->pending_bytes -= node->bytes;
  if (recorder->cut_nodes > recorder->pending_nodes) recorder->cut_nodes = recorder->pending_nodes;
  if (recorder->cut_bytes > recorder->pending_bytes) recorder->cut_bytes = recorder->pending_bytes;
}

static bool has_pending_result(const laze_pending *node) {
  for (int i = 0; i < node->result_count; i++)
    if (node->cells[i].references > 0 && laze_cell_is_pending(&node->cells[i])) return true;
  return false;
}

/* Puts a node that needs its operands no longer on the list of those to clean up, linked by `older`. */
static void settle(laze_lazy *lazy, laze_pending *node, laze_pending **dying) {
  if (node->dying || (node->referenced > 0 && has_pending_result(node))) return;
  list_remove(lazy, node);
  node->dying = true;
  node->older = *dying;
  *dying = node;
}

static void drop_reference(laze_lazy *lazy, laze_cell *cell, laze_pending **dying) {
  if (--cell->references > 0) return;
  if (cell->state == LAZE_CELL_BUFFER) laze_lazy_drop_buffer(lazy, cell->value.buffer);
  if (cell->state == LAZE_CELL_ERROR) laze_failure_release(lazy, cell->value.failure);
  if (!cell->node) {
    laze_pool_give(&lazy->pool, cell, alone_size(cell->rank));
    return;
  }
  cell->node->referenced--;
  settle(lazy, cell->node, dying);
}

static void clean_up(laze_lazy *lazy, laze_pending *dying) {
  while (dying) {
    laze_pending *node = dying;
    dying = node->older;
    int32_t count = node->operand_count;
    node->operand_count = 0;
    for (int32_t i = 0; i < count; i++) drop_reference(lazy, node->operands[i], &dying);
    node->dying = false;
    if (node->referenced == 0) laze_pool_give(&lazy->pool, node, node->block_size);
  }
}

void laze_cell_release(laze_lazy *lazy, laze_cell *cell) {
  laze_pending *dying = NULL;
  if (!cell) return;
  drop_reference(lazy, cell, &dying);
  clean_up(lazy, dying);
}

void laze_cell_resolve(laze_lazy *lazy, laze_cell *cell, laze_buffer *buffer) {
  laze_pending *dying = NULL;
  cell->state = LAZE_CELL_BUFFER;
  cell->value.buffer = buffer;
  settle(lazy, cell->node, &dying);
  clean_up(lazy, dying);
}

void laze_cell_type(const laze_cell *cell, laze_type *out) {
  out->kind = cell->kind;
  out->dtype = cell->dtype;
  out->rank = cell->rank;
  for (int i = 0; i < cell->rank; i++) out->sizes[i] = cell->sizes[i];
}

int64_t laze_cell_elements(const laze_cell *cell) {
  int64_t elements = 1; /* fits: inference refuses types whose bytes do not */
  for (int i = 0; i < cell->rank; i++) elements *= cell->sizes[i];
  return elements;
}

bool laze_cell_is_held(const laze_cell *cell) {
  return cell->holds > 0 || (cell->node && cell->depth < cell->node->recorder->scope->depth);
}

static bool attribute_has_items(const laze_attribute *attribute) {
  return attribute->kind == LAZE_ARGUMENT_INT_LIST || attribute->kind == LAZE_ARGUMENT_SIZE_LIST;
}

/* Bytes an attribute refers to. */
static int64_t attribute_payload(const laze_attribute *attribute) {
  if (!attribute->present) return 0;
  if (attribute_has_items(attribute)) return attribute->count * (int64_t)sizeof(laze_size);
  if (attribute->kind == LAZE_ARGUMENT_STRING) return (int64_t)strlen(attribute->value.string) + 1;
  if (attribute->kind == LAZE_ARGUMENT_DATA) return attribute->value.data.size;
  return 0;
}

static int64_t round_up(int64_t bytes) {
  return (bytes + 7) & -8;
}

/* Copies what the attribute refers to behind `cursor`; returns the new cursor. */
static char *copy_payload(laze_attribute *attribute, char *cursor) {
  int64_t bytes = attribute_payload(attribute);
  if (bytes == 0) return cursor;
  const void *from = attribute->kind == LAZE_ARGUMENT_STRING ? (const void *)attribute->value.string
                     : attribute->kind == LAZE_ARGUMENT_DATA ? attribute->value.data.bytes
                                                             : (const void *)attribute->value.items;
  memcpy(cursor, from, (size_t)bytes);
  if (attribute->kind == LAZE_ARGUMENT_STRING)
    attribute->value.string = cursor;
  else if (attribute->kind == LAZE_ARGUMENT_DATA)
    attribute->value.data.bytes = cursor;
  else
    attribute->value.items = (const laze_size *)(void *)cursor;
  return cursor + round_up(bytes);
}

/* Segments that are all 1 are stored as NULL, so that equal calls have one form. */
static int32_t stored_segments(const laze_op_info *info, const laze_call *call) {
  for (int32_t i = 0; call->segments && i < info->segment_count; i++)
    if (call->segments[i] != 1) return info->segment_count;
  return 0;
}

/* Bytes of the node's block; -1 when they do not fit. */
static int64_t node_size(const laze_op_info *info, const laze_call *call, const laze_type *types) {
  int64_t size = (int64_t)sizeof(laze_pending) + info->result_count * (int64_t)sizeof(laze_cell) +
                 call->operand_count * (int64_t)sizeof(laze_cell *) +
                 info->attribute_count * (int64_t)sizeof(laze_attribute) +
                 round_up(stored_segments(info, call) * (int64_t)sizeof(int32_t));
  for (int i = 0; i < info->result_count; i++) size += types[i].rank * (int64_t)sizeof(int64_t);
  for (int i = 0; i < info->attribute_count; i++)
    if (laze_add_overflows(size, round_up(attribute_payload(&call->attributes[i])), &size)) return -1;
  return size;
}

/* Bytes of a result as the budget counts them: cut at a terabyte, so that sums over all nodes fit. */
static int64_t result_bytes(const laze_cell *cell) {
  int64_t bytes = laze_cell_elements(cell) * laze_dtype_size(cell->dtype);
  return bytes < RESULT_BYTES_MAX ? bytes : RESULT_BYTES_MAX;
}

/* Fills in everything behind the node and its cells. */
static void fill_node(laze_pending *node, const laze_op_info *info, const laze_call *call, const laze_type *types) {
  const laze_frame_value *values = node->recorder->values;
  char *cursor = (char *)(node->cells + info->result_count);
  node->operands = (laze_cell **)(void *)cursor;
  for (int32_t i = 0; i < call->operand_count; i++) {
    node->operands[i] = values[call->operands[i].node].cell;
    laze_cell_retain(node->operands[i]);
  }
  cursor += call->operand_count * (int64_t)sizeof(laze_cell *);
  laze_attribute *attributes = (laze_attribute *)(void *)cursor;
  node->attributes = attributes;
  cursor += info->attribute_count * (int64_t)sizeof(laze_attribute);
  for (int i = 0; i < info->result_count; i++) {
    laze_cell *cell = &node->cells[i];
    *cell = (laze_cell){.node = node, .references = 1, .depth = LAZE_NO_DEPTH, .state = LAZE_CELL_PENDING};
    set_type(cell, &types[i], (int64_t *)(void *)cursor);
    cursor += types[i].rank * (int64_t)sizeof(int64_t);
    node->bytes += result_bytes(cell);
  }
  for (int i = 0; i < info->attribute_count; i++) {
    attributes[i] = call->attributes[i];
    cursor = copy_payload(&attributes[i], cursor);
  }
  int32_t segments = stored_segments(info, call);
  if (segments == 0) return;
  memcpy(cursor, call->segments, (size_t)segments * sizeof(int32_t));
  node->segments = (const int32_t *)(void *)cursor;
}

laze_pending *laze_pending_create(laze_lazy_recorder *recorder, const laze_call *call, const laze_type *types) {
  laze_lazy *lazy = recorder->lazy;
  const laze_op_info *info = laze_op_get(call->op);
  int64_t size = node_size(info, call, types);
  laze_pending *node = size < 0 ? NULL : laze_pool_take(&lazy->pool, size);
  if (!node) return NULL;
  *node = (laze_pending){.older = lazy->newest,
                         .recorder = recorder,
                         .location = call->location,
                         .block_size = size,
                         .operand_count = call->operand_count,
                         .result_count = info->result_count,
                         .referenced = info->result_count,
                         .op = call->op,
                         .origin = call->origin,
                         .listed = true};
  fill_node(node, info, call, types);
  *(lazy->newest ? &lazy->newest->newer : &lazy->oldest) = node;
  lazy->newest = node;
  recorder->pending_nodes++;
  recorder->pending_bytes += node->bytes;
  laze_metrics_add(laze_context_metrics(lazy->context), LAZE_METRIC_NODES_RECORDED, 1);
  return node;
}
