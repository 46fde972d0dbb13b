/* Symbols that a node of the graph defines while it runs:
 *
 *   %0 = size_from %n, size=u0, low=0, high=8     u0 is within 0 to 8, and min(u0, 4) within 0 to 4
 *   %1 = slice %x, end=u0                         f32[min(u0, n)] is defined as well
 */
#include "shape_inference/size_internal.h"

#include <stdio.h>

laze_status laze_size_fresh_symbol(laze_size_table *table, const char *prefix, laze_size *out, laze_error *error) {
  char name[64];
  int64_t number = table->defined_count;
  do snprintf(name, sizeof name, "%s%lld", prefix, (long long)number++);
  while (laze_size_find_symbol(table, name) != 0 || laze_size_name_is_reserved(name)); /* u8 is a dtype */
  return laze_size_symbol(table, name, out, error);
}

/* Bounds of expressions that were built before, over the symbol at `index`. Operands come before users, so that of a
 * new symbol there is nothing to look at. */
static void follow(laze_size_table *table, int64_t index) {
  const int64_t symbol = table->nodes[index].symbol;
  for (int64_t i = index + 1; i < table->node_count; i++) {
    laze_size_node *node = &table->nodes[i];
    if (node->kind == LAZE_SIZE_SYMBOL || node->first > symbol || node->last < symbol) continue;
    laze_size_range range = laze_size_range_apply(node->kind, laze_size_get_range(table, node->left),
                                                  laze_size_get_range(table, node->right));
    node->low = range.low;
    node->high = range.high;
    node->defined = laze_size_is_defined(table, node->left) || laze_size_is_defined(table, node->right);
  }
}

static laze_status check(const laze_size_table *table, laze_size symbol, int64_t low, int64_t high, laze_error *error) {
  if (laze_size_is_constant(symbol) || laze_size_get(table, symbol)->kind != LAZE_SIZE_SYMBOL)
    return laze_fail(
        error, LAZE_INVALID_ARGUMENT,
        "what a value defines is one size with a name of its own, such as u0, no number and no expression");
  const laze_size_node *node = laze_size_get(table, symbol);
  if (low > high || low < LAZE_SIZE_CONSTANT_MIN || high > LAZE_SIZE_CONSTANT_MAX)
    return laze_fail(error, LAZE_INVALID_ARGUMENT,
                     "the size %s would be from %lld to %lld; give bounds within 2^62, the lower one first", node->name,
                     (long long)low, (long long)high);
  if (table->hints[node->symbol] >= 0)
    return laze_fail(error, LAZE_INVALID_ARGUMENT,
                     "the size %s has the value %lld already; a value defines a size of its own", node->name,
                     (long long)table->hints[node->symbol]);
  if (!node->defined || (node->low == low && node->high == high)) return LAZE_OK;
  return laze_fail(error, LAZE_INVALID_ARGUMENT,
                   "the size %s is defined already, from %lld to %lld; a value defines a size of its own", node->name,
                   (long long)node->low, (long long)node->high);
}

laze_status laze_size_define(laze_size_table *table, laze_size symbol, int64_t low, int64_t high, laze_error *error) {
  LAZE_TRY(check(table, symbol, low, high, error));
  laze_size_node *node = &table->nodes[laze_size_index(symbol)];
  if (node->defined) return LAZE_OK;
  node->defined = true;
  node->low = low;
  node->high = high;
  table->defined_count++;
  follow(table, laze_size_index(symbol));
  return LAZE_OK;
}

int64_t laze_size_defined_count(const laze_size_table *table) {
  return table ? table->defined_count : 0;
}
