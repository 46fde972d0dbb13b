/* Answers to questions about sizes, each kept as a fact that whatever is compiled rests on:
 *
 *   n == 1 ?   constants        decided at once, no fact
 *              hints            compared at the hinted values, and kept: "n != 1"
 *              no hints         compared at values that are assumed for all symbols, equality being answered by no
 *
 * Another run may use what was compiled where all facts hold at its sizes. */
#include "shape_inference/size.h"

#include "shape_inference/size_internal.h"

#include <string.h>

enum { FIRST_FACT_SLOTS = 32 };

static int32_t *find_fact_slot(const laze_size_table *table, laze_fact_kind kind, laze_size a, laze_size b) {
  uint64_t mask = (uint64_t)table->fact_slot_count - 1;
  for (uint64_t at = laze_hash_mix(laze_hash_mix((uint64_t)a, (uint64_t)b), (uint64_t)kind);; at++) {
    int32_t *slot = &table->fact_slots[at & mask];
    if (*slot < 0) return slot;
    const laze_fact *fact = &table->facts[*slot];
    if (fact->kind == kind && fact->a == a && fact->b == b) return slot;
  }
}

static laze_status grow_fact_slots(laze_size_table *table, laze_error *error) {
  int64_t count = table->fact_slot_count ? table->fact_slot_count * 2 : FIRST_FACT_SLOTS;
  int32_t *slots = laze_alloc_array(table->context, count, sizeof *slots);
  if (!slots) return laze_fail_memory(error, "the hash table of facts", count * (int64_t)sizeof *slots);
  memset(slots, 0xff, (size_t)count * sizeof *slots);
  laze_free(table->context, table->fact_slots);
  table->fact_slots = slots;
  table->fact_slot_count = count;
  for (int64_t i = 0; i < table->fact_count; i++)
    *find_fact_slot(table, table->facts[i].kind, table->facts[i].a, table->facts[i].b) = (int32_t)i;
  return LAZE_OK;
}

static bool compare(laze_fact_kind kind, int64_t a, int64_t b) {
  return kind == LAZE_FACT_EQUAL ? a == b : a <= b;
}

/* What a symbol without a hint is taken for when an order is asked: large, odd, and different for each, so that the
 * answers of one table agree with each other. */
static int64_t assumed_value(int64_t symbol) {
  return ((int64_t)1 << 20) + 7 + symbol * 7918;
}

static laze_status answer(laze_size_table *table, laze_fact_kind kind, laze_size a, laze_size b, bool *out,
                          laze_error *error) {
  bool hinted = laze_size_has_hints(table);
  *out = false;
  if (!hinted && kind == LAZE_FACT_EQUAL) return LAZE_OK;
  int64_t *assumed = NULL;
  if (!hinted) {
    assumed = laze_alloc_array(table->context, table->symbol_count, sizeof *assumed);
    if (!assumed) return laze_fail_memory(error, "assumed sizes", -1);
    for (int64_t i = 0; i < table->symbol_count; i++) assumed[i] = assumed_value(i);
  }
  laze_size_evaluator evaluator;
  laze_size_evaluator_init(&evaluator, table, hinted ? table->hints : assumed);
  int64_t x, y;
  laze_status status = laze_size_evaluator_run(&evaluator, a, &x, error);
  if (status == LAZE_OK) status = laze_size_evaluator_run(&evaluator, b, &y, error);
  if (status == LAZE_OK) *out = compare(kind, x, y);
  laze_size_evaluator_deinit(&evaluator);
  laze_free(table->context, assumed);
  /* Assumed values may overflow where real ones do not; "no" is then as good an answer, and checked when bound. */
  return status == LAZE_OUT_OF_RANGE && !hinted ? LAZE_OK : status;
}

static laze_status ask_recorded(laze_size_table *table, laze_fact_kind kind, laze_size a, laze_size b, bool *out,
                                laze_error *error) {
  if (table->fact_count * 2 >= table->fact_slot_count) LAZE_TRY(grow_fact_slots(table, error));
  int32_t *slot = find_fact_slot(table, kind, a, b);
  if (*slot < 0) {
    laze_fact fact = {.kind = kind, .a = a, .b = b};
    LAZE_TRY(answer(table, kind, a, b, &fact.holds, error));
    LAZE_TRY(laze_grow(table->context, (void **)&table->facts, &table->fact_capacity, table->fact_count + 1,
                       sizeof *table->facts, error));
    *slot = (int32_t)table->fact_count;
    table->facts[table->fact_count++] = fact;
  }
  *out = table->facts[*slot].holds;
  return LAZE_OK;
}

laze_status laze_size_ask_equal(laze_size_table *table, laze_size a, laze_size b, bool *out, laze_error *error) {
  *out = a == b;
  if (*out || (laze_size_is_constant(a) && laze_size_is_constant(b))) return LAZE_OK;
  laze_size_range difference;
  bool known;
  LAZE_TRY(laze_size_difference_range(table, a, b, &difference, &known, error));
  if (known && (difference.low > 0 || difference.high < 0)) return LAZE_OK;
  /* The question is symmetric: asked in either order it is one fact. Constants come second. */
  return a < b ? ask_recorded(table, LAZE_FACT_EQUAL, a, b, out, error)
               : ask_recorded(table, LAZE_FACT_EQUAL, b, a, out, error);
}

laze_status laze_size_ask_less_equal(laze_size_table *table, laze_size a, laze_size b, bool *out, laze_error *error) {
  *out = a <= b;
  if (laze_size_is_constant(a) && laze_size_is_constant(b)) return LAZE_OK;
  laze_size_range difference;
  bool known;
  LAZE_TRY(laze_size_difference_range(table, a, b, &difference, &known, error));
  *out = known && difference.high <= 0;
  if (*out || (known && difference.low > 0)) return LAZE_OK;
  return ask_recorded(table, LAZE_FACT_LESS_EQUAL, a, b, out, error);
}

laze_status laze_size_set_hint(laze_size_table *table, int64_t symbol, int64_t value, laze_error *error) {
  if (symbol < 0 || symbol >= table->symbol_count)
    return laze_fail(error, LAZE_OUT_OF_RANGE, "size symbol %lld does not exist; there are %lld", (long long)symbol,
                     (long long)table->symbol_count);
  const laze_size_node *node = laze_size_get(table, table->symbols[symbol]);
  if (value < node->low || value > node->high)
    return laze_fail(error, LAZE_OUT_OF_RANGE, "the size %s cannot be %lld; it must be between %lld and %lld",
                     node->name, (long long)value, (long long)node->low, (long long)node->high);
  table->hint_count += table->hints[symbol] < 0;
  table->hints[symbol] = value;
  return LAZE_OK;
}

int64_t laze_size_hint(const laze_size_table *table, int64_t symbol) {
  return table->hints[symbol];
}

bool laze_size_has_hints(const laze_size_table *table) {
  return table && table->symbol_count > 0 && table->hint_count == table->symbol_count;
}

const laze_fact *laze_size_facts(const laze_size_table *table, int64_t *count) {
  *count = table ? table->fact_count : 0;
  return table ? table->facts : NULL;
}

const laze_fact *laze_facts_first_broken(const laze_size_table *table, const int64_t *bindings) {
  if (!table || table->fact_count == 0) return NULL;
  laze_size_evaluator evaluator;
  laze_size_evaluator_init(&evaluator, table, bindings);
  const laze_fact *broken = NULL;
  for (int64_t i = 0; i < table->fact_count && !broken; i++) {
    const laze_fact *fact = &table->facts[i];
    int64_t a, b;
    bool known = laze_size_evaluator_run(&evaluator, fact->a, &a, NULL) == LAZE_OK &&
                 laze_size_evaluator_run(&evaluator, fact->b, &b, NULL) == LAZE_OK;
    if (!known || compare(fact->kind, a, b) != fact->holds) broken = fact;
  }
  laze_size_evaluator_deinit(&evaluator);
  return broken;
}

bool laze_facts_hold(const laze_size_table *table, const int64_t *bindings) {
  return laze_facts_first_broken(table, bindings) == NULL;
}
