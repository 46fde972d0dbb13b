/* A copy of a table: what was built over one graph's sizes can be kept when the graph goes. */
#include "shape_inference/size_internal.h"

#include <string.h>

/* Copies `count` elements into an array of the same capacity; false when memory is out. */
static bool copy_array(laze_context *context, void **out, const void *from, int64_t count, int64_t capacity,
                       int64_t element_size) {
  *out = NULL;
  if (!from) return true;
  *out = laze_alloc_array(context, capacity, element_size);
  if (*out && count > 0) memcpy(*out, from, (size_t)(count * element_size));
  return *out != NULL;
}

static bool copy_names(laze_size_table *copy) {
  int64_t bytes = 0;
  for (int64_t i = 0; i < copy->symbol_count; i++)
    bytes += laze_arena_rounded((int64_t)strlen(laze_size_symbol_name(copy, i)) + 1);
  if (bytes > 0 && !laze_arena_reserve(&copy->names, bytes)) return false;
  for (int64_t i = 0; i < copy->node_count; i++) {
    laze_size_node *node = &copy->nodes[i];
    if (node->kind != LAZE_SIZE_SYMBOL) continue;
    node->name = laze_arena_copy_string(&copy->names, node->name);
    if (!node->name) return false;
  }
  return true;
}

laze_status laze_size_table_copy(const laze_size_table *table, laze_size_table **out, laze_error *error) {
  laze_context *context = table->context;
  laze_size_table *copy;
  LAZE_TRY(laze_size_table_create(context, &copy, error));
  bool fits = copy_array(context, (void **)&copy->nodes, table->nodes, table->node_count, table->node_capacity,
                         sizeof *copy->nodes) &&
              copy_array(context, (void **)&copy->slots, table->slots, table->slot_count, table->slot_count,
                         sizeof *copy->slots) &&
              copy_array(context, (void **)&copy->symbols, table->symbols, table->symbol_count, table->symbol_capacity,
                         sizeof *copy->symbols) &&
              copy_array(context, (void **)&copy->hints, table->hints, table->symbol_count, table->hint_capacity,
                         sizeof *copy->hints) &&
              copy_array(context, (void **)&copy->facts, table->facts, table->fact_count, table->fact_capacity,
                         sizeof *copy->facts) &&
              copy_array(context, (void **)&copy->carried, table->carried, table->carried_count,
                         table->carried_capacity, sizeof *copy->carried) &&
              copy_array(context, (void **)&copy->fact_slots, table->fact_slots, table->fact_slot_count,
                         table->fact_slot_count, sizeof *copy->fact_slots);
  copy->node_count = fits ? table->node_count : 0;
  copy->node_capacity = table->node_capacity;
  copy->slot_count = table->slot_count;
  copy->symbol_count = table->symbol_count;
  copy->symbol_capacity = table->symbol_capacity;
  copy->hint_capacity = table->hint_capacity;
  copy->hint_count = table->hint_count;
  copy->defined_count = table->defined_count;
  copy->fact_count = table->fact_count;
  copy->fact_capacity = table->fact_capacity;
  copy->carried_count = table->carried_count;
  copy->carried_capacity = table->carried_capacity;
  copy->fact_slot_count = table->fact_slot_count;
  if (fits && copy_names(copy)) {
    *out = copy;
    return LAZE_OK;
  }
  laze_size_table_destroy(copy);
  return laze_fail_memory(error, "a copy of the sizes of a graph", -1);
}

int64_t laze_size_table_words(const laze_size_table *table, uint64_t *words) {
  enum { WORDS = 3 };
  for (int64_t i = 0; i < table->node_count && words; i++) {
    const laze_size_node *node = &table->nodes[i];
    bool symbol = node->kind == LAZE_SIZE_SYMBOL;
    *words++ = (uint64_t)node->kind | (uint64_t)(symbol ? node->symbol : 0) << 8;
    *words++ = symbol ? 0 : (uint64_t)node->left;
    *words++ = symbol ? 0 : (uint64_t)node->right;
  }
  return table->node_count * WORDS;
}
