/* Nodes. One block of the context's pool holds all of a node:
 *
 *   node | cells | operands | attributes | sizes of results | types of operands | what attributes refer to | segments
 *
 * The sizes of results stand there twice where some are unknown (lazy/value/unknown.c).
 */
#include "lazy/record/node.h"

#include "base/checked.h"
#include "base/dtype.h"
#include "ir/attribute.h"
#include "lazy/lazy.h"
#include "lazy/record/record_state.h"
#include "lazy/thread.h"
#include "lazy/value/pending.h"

#include <string.h>

#define MAX_RESULT_BYTES (INT64_C(1) << 40)

static int64_t round_up(int64_t bytes) {
  return (bytes + 7) & -8;
}

/* Segments that are all 1 are stored as NULL, so that equal calls have one form. */
static int32_t stored_segments(const laze_op_info *info, const laze_call *call) {
  for (int32_t i = 0; call->segments && i < info->segment_count; i++)
    if (call->segments[i] != 1) return info->segment_count;
  return 0;
}

/* Words of the operands' types: kind, dtype and rank, then the sizes. */
static int64_t operand_words(const laze_frame_value *values, const laze_call *call) {
  int64_t words = 0;
  for (int32_t i = 0; i < call->operand_count; i++) words += 1 + values[call->operands[i].node].type.rank;
  return words;
}

/* Bytes of the node's block; -1 when they do not fit. */
static int64_t node_size(const laze_record_state *state, const laze_op_info *info, const laze_call *call,
                         const laze_type *types, int32_t result_count) {
  int64_t size = (int64_t)sizeof(laze_pending) + result_count * (int64_t)sizeof(laze_cell) +
                 (call->operand_count + state->definer_count) * (int64_t)sizeof(laze_cell *) +
                 operand_words(state->values, call) * (int64_t)sizeof(int64_t) +
                 info->attribute_count * (int64_t)sizeof(laze_attribute) +
                 round_up(stored_segments(info, call) * (int64_t)sizeof(int32_t));
  int64_t times = state->unknown ? 2 : 1;
  for (int i = 0; i < result_count; i++) size += times * types[i].rank * (int64_t)sizeof(int64_t);
  for (int i = 0; i < info->attribute_count; i++)
    if (laze_add_overflows(size, round_up(laze_attribute_payload_bytes(&call->attributes[i])), &size)) return -1;
  return size;
}

/* Bytes of a result as the budget counts them: cut at a terabyte, so that sums over all nodes fit. What nobody knows is
 * not counted. */
static int64_t result_bytes(const laze_cell *cell) {
  for (int i = 0; i < cell->rank; i++)
    if (!laze_size_is_constant(cell->sizes[i])) return 0;
  int64_t bytes = laze_cell_elements(cell) * laze_dtype_size(cell->dtype);
  return bytes < MAX_RESULT_BYTES ? bytes : MAX_RESULT_BYTES;
}

static int64_t *write_operand_types(int64_t *words, const laze_frame_value *values, const laze_call *call) {
  for (int32_t i = 0; i < call->operand_count; i++) {
    const laze_type *type = &values[call->operands[i].node].type;
    *words++ = laze_type_word(type);
    for (int j = 0; j < type->rank; j++) *words++ = type->sizes[j];
  }
  return words;
}

/* Lays out what stays the same when the node is recorded again: attributes, types, segments. */
static void fill_node(laze_pending *node, const laze_op_info *info, const laze_call *call, const laze_type *types) {
  node->operands = (laze_cell **)(void *)(node->cells + node->result_count);
  laze_attribute *attributes = (laze_attribute *)(void *)(node->operands + call->operand_count + node->definer_count);
  node->attributes = attributes;
  int64_t *words = (int64_t *)(void *)(attributes + info->attribute_count);
  for (int i = 0; i < node->result_count; i++) {
    node->cells[i].node = node;
    laze_cell_set_type(&node->cells[i], &types[i], words);
    words += types[i].rank;
    node->bytes += result_bytes(&node->cells[i]);
  }
  if (node->unknown) words += words - (int64_t *)(void *)(attributes + info->attribute_count);
  node->operand_types = words;
  char *cursor = (char *)write_operand_types(words, node->thread->record->values, call);
  for (int i = 0; i < info->attribute_count; i++) {
    attributes[i] = call->attributes[i];
    laze_attribute_copy_payload(&attributes[i], cursor);
    cursor += round_up(laze_attribute_payload_bytes(&attributes[i]));
  }
  int32_t segments = stored_segments(info, call);
  if (segments == 0) return;
  memcpy(cursor, call->segments, (size_t)segments * sizeof(int32_t));
  node->segments = (const int32_t *)(void *)cursor;
}

/* What defines the sizes of its attributes are operands, too. */
static void link_unknown(laze_pending *node) {
  for (int32_t i = 0; i < node->definer_count; i++) {
    laze_cell *cell = node->thread->record->definers[i]->cells;
    node->operands[node->operand_count++] = cell;
    laze_cell_retain(cell);
  }
  laze_unknowns_begin(node->thread->lazy, node);
}

void laze_pending_link(laze_pending *node, const laze_call *call) {
  laze_thread_state *thread = node->thread;
  laze_lazy *lazy = thread->lazy;
  node->location = call->location;
  node->computed = false;
  node->operand_count = call->operand_count;
  for (int32_t i = 0; i < call->operand_count; i++) {
    node->operands[i] = thread->record->values[call->operands[i].node].cell;
    laze_cell_retain(node->operands[i]);
  }
  node->referenced = node->result_count;
  for (int i = 0; i < node->result_count; i++) {
    laze_cell *cell = &node->cells[i];
    cell->references = 1;
    cell->holds = 0;
    cell->depth = LAZE_NO_DEPTH;
    cell->state = LAZE_CELL_PENDING;
  }
  if (node->unknown) link_unknown(node);
  node->listed = true;
  node->newer = NULL;
  node->older = lazy->newest;
  *(lazy->newest ? &lazy->newest->newer : &lazy->oldest) = node;
  lazy->newest = node;
  laze_backlog_add(&thread->backlog, node->bytes);
  lazy->counts.recorded++;
}

laze_pending *laze_pending_create(laze_record_state *state, const laze_call *call, const laze_type *types) {
  const laze_op_info *info = laze_op_get(call->op);
  const int32_t result_count = laze_call_result_count(call);
  int64_t size = node_size(state, info, call, types, result_count);
  laze_pending *node = size < 0 ? NULL : laze_pool_take(&state->thread->lazy->pool, size);
  if (!node) return NULL;
  memset(node, 0, sizeof *node + (size_t)result_count * sizeof *node->cells);
  node->thread = state->thread;
  node->block_size = size;
  node->result_count = (int16_t)result_count;
  node->definer_count = (int16_t)state->definer_count;
  node->unknown = state->unknown;
  node->op = call->op;
  node->origin = call->origin;
  fill_node(node, info, call, types);
  laze_pending_link(node, call);
  return node;
}
