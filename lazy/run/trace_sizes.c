/* Unknown sizes as a trace has them. What number a symbol has in the context's table depends on what was recorded
 * before; in a trace it depends on the trace alone:
 *
 *   recorded     size_from u7,  f32[min(u7,8)]       step after step other symbols
 *   the trace    size_from u0,  f32[min(u0,8)]       the same words
 */
#include "lazy/run/trace_sizes.h"

#include "ir/attribute.h"
#include "ir/op.gen.h"
#include "lazy/lazy.h"
#include "lazy/value/pending.h"

void laze_size_mapping_deinit(laze_size_mapping *mapping, laze_context *context) {
  laze_free(context, mapping->symbols);
  laze_free(context, mapping->items);
  *mapping = (laze_size_mapping){0};
}

laze_status laze_size_mapping_define(laze_size_mapping *mapping, laze_lazy *lazy, const laze_pending *definer,
                                     laze_size *out, laze_error *error) {
  const laze_size_table *from = lazy->unknowns.table;
  void *array = mapping->symbols;
  LAZE_TRY(laze_grow(lazy->context, &array, &mapping->symbol_capacity, laze_size_symbol_count(from),
                     sizeof *mapping->symbols, error));
  mapping->symbols = array;
  LAZE_TRY(laze_size_fresh_symbol(mapping->to, "u", out, error));
  mapping->symbols[laze_size_get(from, laze_pending_defines(definer))->symbol] = *out;
  return laze_size_define(mapping->to, *out, definer->attributes[LAZE_SIZE_FROM_LOW].value.integer,
                          definer->attributes[LAZE_SIZE_FROM_HIGH].value.integer, error);
}

laze_status laze_size_mapping_map(laze_size_mapping *mapping, laze_lazy *lazy, laze_size size, laze_size *out,
                                  laze_error *error) {
  *out = size;
  if (laze_size_is_constant(size)) return LAZE_OK;
  return laze_size_import(mapping->to, lazy->unknowns.table, size, mapping->symbols, out, error);
}

laze_status laze_size_mapping_attribute(laze_size_mapping *mapping, laze_lazy *lazy, const laze_attribute *attribute,
                                        laze_attribute *out, laze_error *error) {
  const laze_size *sizes;
  int32_t count;
  *out = *attribute;
  if (!laze_attribute_find_sizes(attribute, &sizes, &count) || count == 0) return LAZE_OK;
  void *array = mapping->items;
  LAZE_TRY(laze_grow(lazy->context, &array, &mapping->item_capacity, count, sizeof *mapping->items, error));
  mapping->items = array;
  for (int32_t i = 0; i < count; i++)
    LAZE_TRY(laze_size_mapping_map(mapping, lazy, sizes[i], &mapping->items[i], error));
  if (attribute->kind == LAZE_ARGUMENT_SIZE)
    out->value.size = mapping->items[0];
  else
    out->value.items = mapping->items;
  return LAZE_OK;
}
