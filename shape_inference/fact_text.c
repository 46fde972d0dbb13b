/* Facts in messages: "n != 1", and of a run, with the numbers that it has for sizes that no value gives:
 *
 *   u0*s1 = s2   where s1 = 4 and s2 = 12      "u0*4 = 12"
 */
#include "shape_inference/size.h"

void laze_fact_print(laze_text *text, const laze_size_table *table, const laze_fact *fact) {
  laze_size_show(text, table, fact->a);
  if (fact->kind == LAZE_FACT_EQUAL)
    laze_text_append(text, fact->holds ? " = " : " != ");
  else
    laze_text_append(text, fact->holds ? " <= " : " > ");
  laze_size_show(text, table, fact->b);
}

/* Numbers and symbols of `to` that stand for the symbols of `from`. */
static laze_status map_symbols(laze_size_table *to, const laze_size_table *from, const int64_t *bindings,
                               laze_size *map) {
  for (int64_t i = 0; i < laze_size_symbol_count(from); i++) {
    laze_size symbol = laze_size_symbol_at(from, i);
    const laze_size_node *node = laze_size_get(from, symbol);
    map[i] = laze_size_from_number(bindings[i]);
    if (!laze_size_is_defined(from, symbol)) continue;
    LAZE_TRY(laze_size_symbol(to, node->name, &map[i], NULL));
    LAZE_TRY(laze_size_define(to, map[i], node->low, node->high, NULL));
  }
  return LAZE_OK;
}

static laze_status print_with_numbers(laze_text *text, laze_size_table *to, const laze_size_table *from,
                                      const laze_fact *fact, const int64_t *bindings, laze_size *map) {
  laze_fact shown = *fact;
  LAZE_TRY(map_symbols(to, from, bindings, map));
  if (!laze_size_is_constant(fact->a)) LAZE_TRY(laze_size_import(to, from, fact->a, map, &shown.a, NULL));
  if (!laze_size_is_constant(fact->b)) LAZE_TRY(laze_size_import(to, from, fact->b, map, &shown.b, NULL));
  laze_fact_print(text, to, &shown);
  return LAZE_OK;
}

void laze_fact_print_at(laze_text *text, const laze_size_table *table, const laze_fact *fact, const int64_t *bindings) {
  laze_size_table *to = NULL;
  laze_size *map = laze_alloc_array(text->context, laze_size_symbol_count(table), sizeof *map);
  bool printed = map && laze_size_table_create(text->context, &to, NULL) == LAZE_OK &&
                 print_with_numbers(text, to, table, fact, bindings, map) == LAZE_OK;
  if (!printed) laze_fact_print(text, table, fact);
  laze_size_table_destroy(to);
  laze_free(text->context, map);
}
