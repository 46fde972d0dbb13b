/* Answers to questions about sizes, each kept as a fact that whatever is compiled rests on:
 *
 *   n == 1 ?   constants        decided at once, no fact
 *              hints            compared at the hinted values, and kept: "n != 1"
 *              no hints         compared at values that are assumed for all symbols, equality being answered by no
 *   u == 1 ?   defined          no; kept where the asker says what it goes on with
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

static bool is_defined(const laze_size_table *table, laze_size a, laze_size b) {
  return laze_size_is_defined(table, a) || laze_size_is_defined(table, b);
}

/* The fact is one that copies take along, whoever asked it first. */
static laze_status mark_carried(laze_size_table *table, int32_t fact, bool defined, laze_error *error) {
  bool listed = table->facts[fact].carried;
  table->facts[fact].carried = true;
  if (listed || !defined) return LAZE_OK;
  LAZE_TRY(laze_grow(table->context, (void **)&table->carried, &table->carried_capacity, table->carried_count + 1,
                     sizeof *table->carried, error));
  table->carried[table->carried_count++] = fact;
  return LAZE_OK;
}

/* `given`: the asker goes on with fact.holds where the sizes are defined. */
static laze_status ask_recorded(laze_size_table *table, laze_fact fact, bool given, bool *out, laze_error *error) {
  bool defined = is_defined(table, fact.a, fact.b);
  if (table->fact_count * 2 >= table->fact_slot_count) LAZE_TRY(grow_fact_slots(table, error));
  int32_t *slot = find_fact_slot(table, fact.kind, fact.a, fact.b);
  if (*slot < 0 && defined && !given) {
    *out = false;
    return LAZE_OK;
  }
  if (defined && table->asks) {
    table->question = fact;
    return laze_fail(error, LAZE_FAILED_PRECONDITION, "it depends on a size that is not known yet");
  }
  if (*slot < 0) {
    if (!defined) LAZE_TRY(answer(table, fact.kind, fact.a, fact.b, &fact.holds, error));
    LAZE_TRY(laze_grow(table->context, (void **)&table->facts, &table->fact_capacity, table->fact_count + 1,
                       sizeof *table->facts, error));
    *slot = (int32_t)table->fact_count;
    table->facts[table->fact_count++] = fact;
    table->facts[*slot].carried = false;
  }
  *out = table->facts[*slot].holds;
  return fact.carried ? mark_carried(table, *slot, defined, error) : LAZE_OK;
}

/* Whether the expressions alone decide, and how. */
static laze_status decide(laze_size_table *table, laze_fact_kind kind, laze_size a, laze_size b, bool *decided,
                          bool *out, laze_error *error) {
  laze_size_range difference;
  bool known;
  *out = compare(kind, a, b);
  *decided = (laze_size_is_constant(a) && laze_size_is_constant(b)) || (kind == LAZE_FACT_EQUAL && a == b);
  if (*decided) return LAZE_OK;
  LAZE_TRY(laze_size_difference_range(table, a, b, &difference, &known, error));
  if (kind == LAZE_FACT_EQUAL) {
    *out = false;
    *decided = known && (difference.low > 0 || difference.high < 0);
  } else {
    *out = known && difference.high <= 0;
    *decided = *out || (known && difference.low > 0);
  }
  return LAZE_OK;
}

static laze_status ask(laze_size_table *table, laze_fact question, bool given, bool *out, laze_error *error) {
  bool decided;
  LAZE_TRY(decide(table, question.kind, question.a, question.b, &decided, out, error));
  if (decided) return LAZE_OK;
  /* Equality is symmetric: asked in either order it is one fact. Constants come second. */
  if (question.kind == LAZE_FACT_EQUAL && question.a > question.b) {
    laze_size first = question.b;
    question.b = question.a;
    question.a = first;
  }
  return ask_recorded(table, question, given, out, error);
}

laze_status laze_size_ask(laze_size_table *table, laze_fact question, bool *out, laze_error *error) {
  return ask(table, question, true, out, error);
}

laze_status laze_size_ask_equal(laze_size_table *table, laze_size a, laze_size b, bool *out, laze_error *error) {
  return ask(table, (laze_fact){.kind = LAZE_FACT_EQUAL, .a = a, .b = b}, false, out, error);
}

laze_status laze_size_ask_less_equal(laze_size_table *table, laze_size a, laze_size b, bool *out, laze_error *error) {
  return ask(table, (laze_fact){.kind = LAZE_FACT_LESS_EQUAL, .a = a, .b = b}, false, out, error);
}

laze_status laze_size_set_hint(laze_size_table *table, int64_t symbol, int64_t value, laze_error *error) {
  if (symbol < 0 || symbol >= table->symbol_count)
    return laze_fail(error, LAZE_OUT_OF_RANGE, "size symbol %lld does not exist; there are %lld", (long long)symbol,
                     (long long)table->symbol_count);
  const laze_size_node *node = laze_size_get(table, table->symbols[symbol]);
  if (value < node->low || value > node->high)
    return laze_fail(error, LAZE_OUT_OF_RANGE, "the size %s cannot be %lld; it must be between %lld and %lld",
                     node->name, (long long)value, (long long)node->low, (long long)node->high);
  if (node->defined)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "the size %s comes from a value; it has no number before the run",
                     node->name);
  table->hint_count += table->hints[symbol] < 0;
  table->hints[symbol] = value;
  return LAZE_OK;
}

int64_t laze_size_hint(const laze_size_table *table, int64_t symbol) {
  return table->hints[symbol];
}

bool laze_size_has_hints(const laze_size_table *table) {
  return table && table->hint_count > 0 && table->hint_count == table->symbol_count - table->defined_count;
}

void laze_size_table_set_asking(laze_size_table *table) {
  table->asks = true;
}

bool laze_size_take_question(laze_size_table *table, laze_size sides[2]) {
  sides[0] = table->question.a;
  sides[1] = table->question.b;
  table->question = (laze_fact){0};
  return !laze_size_is_constant(sides[0]) || !laze_size_is_constant(sides[1]);
}

const laze_fact *laze_size_facts(const laze_size_table *table, int64_t *count) {
  *count = table ? table->fact_count : 0;
  return table ? table->facts : NULL;
}

const laze_fact *laze_size_carried_fact(const laze_size_table *table, int64_t index) {
  return table && index < table->carried_count ? &table->facts[table->carried[index]] : NULL;
}

laze_status laze_size_carry_fact(laze_size_table *table, laze_fact fact, laze_error *error) {
  bool holds;
  LAZE_TRY(laze_size_ask(table, fact, &holds, error));
  if (holds == fact.holds) return LAZE_OK;
  laze_text text;
  laze_text_init(&text, table->context);
  laze_fact_print(&text, table, &fact);
  laze_status status = laze_fail(error, LAZE_INVALID_ARGUMENT,
                                 "%s: what was recorded holds where %s, which these sizes contradict; record it for "
                                 "these sizes",
                                 fact.asker ? fact.asker : "a size that a value gives", laze_text_get(&text));
  laze_text_deinit(&text);
  return status;
}

bool laze_fact_is_defined(const laze_size_table *table, const laze_fact *fact) {
  return is_defined(table, fact->a, fact->b);
}

static bool holds(laze_size_evaluator *evaluator, const laze_fact *fact) {
  int64_t a, b;
  return laze_size_evaluator_run(evaluator, fact->a, &a, NULL) == LAZE_OK &&
         laze_size_evaluator_run(evaluator, fact->b, &b, NULL) == LAZE_OK && compare(fact->kind, a, b) == fact->holds;
}

bool laze_fact_holds(const laze_size_table *table, const laze_fact *fact, const int64_t *bindings) {
  laze_size_evaluator evaluator;
  laze_size_evaluator_init(&evaluator, table, bindings);
  bool answer = holds(&evaluator, fact);
  laze_size_evaluator_deinit(&evaluator);
  return answer;
}

const laze_fact *laze_facts_first_broken(const laze_size_table *table, const int64_t *bindings) {
  if (!table || table->fact_count == 0) return NULL;
  laze_size_evaluator evaluator;
  laze_size_evaluator_init(&evaluator, table, bindings);
  const laze_fact *broken = NULL;
  for (int64_t i = 0; i < table->fact_count && !broken; i++) {
    const laze_fact *fact = &table->facts[i];
    bool later = table->defined_count > 0 && is_defined(table, fact->a, fact->b);
    if (!later && !holds(&evaluator, fact)) broken = fact;
  }
  laze_size_evaluator_deinit(&evaluator);
  return broken;
}

bool laze_facts_hold(const laze_size_table *table, const int64_t *bindings) {
  return laze_facts_first_broken(table, bindings) == NULL;
}
