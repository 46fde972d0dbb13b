/* Leaving out the expressions of a table that nothing needs any more:
 *
 *   nodes    s0   s1   s0*s1   s0+1   s0*s1*4        needed: s0*s1*4, and symbols always
 *   becomes  s0   s1   s0*s1   s0*s1*4               the words of the last two are others than before
 */
#include "shape_inference/size_internal.h"

#include <string.h>

enum { DROPPED = -1, NEEDED = 0 };

laze_status laze_size_compaction_begin(laze_size_compaction *compaction, laze_size_table *table, laze_error *error) {
  *compaction = (laze_size_compaction){table, NULL};
  compaction->numbers = laze_alloc_array(table->context, table->node_count, sizeof *compaction->numbers);
  if (!compaction->numbers) return laze_fail_memory(error, "leaving out sizes", -1);
  for (int64_t i = 0; i < table->node_count; i++) compaction->numbers[i] = DROPPED;
  for (int64_t i = 0; i < table->symbol_count; i++) laze_size_compaction_need(compaction, table->symbols[i]);
  for (int64_t i = 0; i < table->fact_count; i++) {
    laze_size_compaction_need(compaction, table->facts[i].a);
    laze_size_compaction_need(compaction, table->facts[i].b);
  }
  return LAZE_OK;
}

void laze_size_compaction_deinit(laze_size_compaction *compaction) {
  laze_free(compaction->table->context, compaction->numbers);
}

void laze_size_compaction_need(laze_size_compaction *compaction, laze_size size) {
  if (!laze_size_is_constant(size)) compaction->numbers[laze_size_index(size)] = NEEDED;
}

laze_size laze_size_compaction_map(const laze_size_compaction *compaction, laze_size size) {
  return laze_size_is_constant(size) ? size : laze_size_from_index(compaction->numbers[laze_size_index(size)]);
}

static bool has_operands(const laze_size_node *node) {
  return node->kind != LAZE_SIZE_SYMBOL;
}

/* Numbers of what is needed, in the order there was. */
static int64_t renumber(laze_size_compaction *compaction) {
  const laze_size_table *table = compaction->table;
  int64_t count = 0;
  for (int64_t i = table->node_count; i-- > 0;) { /* users before operands */
    if (compaction->numbers[i] == DROPPED || !has_operands(&table->nodes[i])) continue;
    laze_size_compaction_need(compaction, table->nodes[i].left);
    laze_size_compaction_need(compaction, table->nodes[i].right);
  }
  for (int64_t i = 0; i < table->node_count; i++)
    if (compaction->numbers[i] != DROPPED) compaction->numbers[i] = (int32_t)count++;
  return count;
}

static void map(const laze_size_compaction *compaction, laze_size *size) {
  *size = laze_size_compaction_map(compaction, *size);
}

static void move_nodes(laze_size_compaction *compaction) {
  laze_size_table *table = compaction->table;
  for (int64_t i = 0; i < table->node_count; i++) {
    if (compaction->numbers[i] == DROPPED) continue;
    laze_size_node node = table->nodes[i];
    if (has_operands(&node)) {
      map(compaction, &node.left);
      map(compaction, &node.right);
    }
    table->nodes[compaction->numbers[i]] = node;
  }
}

void laze_size_compaction_finish(laze_size_compaction *compaction) {
  laze_size_table *table = compaction->table;
  laze_context *context = table->context;
  int64_t count = renumber(compaction);
  move_nodes(compaction);
  table->node_count = count;
  for (int64_t i = 0; i < table->symbol_count; i++) map(compaction, &table->symbols[i]);
  for (int64_t i = 0; i < table->fact_count; i++) {
    map(compaction, &table->facts[i].a);
    map(compaction, &table->facts[i].b);
  }
  /* Hash tables are made again should anything be added. */
  laze_free(context, table->slots);
  laze_free(context, table->fact_slots);
  table->slots = table->fact_slots = NULL;
  table->slot_count = table->fact_slot_count = 0;
  laze_trim(context, (void **)&table->nodes, &table->node_capacity, table->node_count, sizeof *table->nodes);
  laze_trim(context, (void **)&table->symbols, &table->symbol_capacity, table->symbol_count, sizeof *table->symbols);
  laze_trim(context, (void **)&table->hints, &table->hint_capacity, table->symbol_count, sizeof *table->hints);
  laze_trim(context, (void **)&table->facts, &table->fact_capacity, table->fact_count, sizeof *table->facts);
}
