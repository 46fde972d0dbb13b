/* Facts: what is decided without being recorded, what is recorded, and when a recorded set still holds. */
#include "shape_inference/size.h"
#include "tests/support/failing_allocator.h"
#include "tests/support/suite.h"

#include <check.h>
#include <string.h>

static test_failing_allocator memory;
static laze_context *context;
static laze_size_table *table;
static laze_error error;
static laze_size n, m;

static void setup(void) {
  memory = (test_failing_allocator){0};
  ck_assert_int_eq(test_failing_context(&memory, "interp", "", "", &context), LAZE_OK);
  ck_assert_int_eq(laze_size_table_create(context, &table, NULL), LAZE_OK);
  ck_assert_int_eq(laze_size_symbol(table, "n", &n, NULL), LAZE_OK);
  ck_assert_int_eq(laze_size_symbol(table, "m", &m, NULL), LAZE_OK);
}

static void teardown(void) {
  laze_size_table_destroy(table);
  laze_context_release(context);
  ck_assert_int_eq(memory.live, 0); /* whatever was asked */
}

static void set_hints(int64_t n_hint, int64_t m_hint) {
  ck_assert_int_eq(laze_size_set_hint(table, 0, n_hint, &error), LAZE_OK);
  ck_assert_int_eq(laze_size_set_hint(table, 1, m_hint, &error), LAZE_OK);
}

static laze_size build(laze_size_kind kind, laze_size a, laze_size b) {
  laze_size out;
  ck_assert_int_eq(laze_size_binary(table, kind, a, b, &out, &error), LAZE_OK);
  return out;
}

static bool equal(laze_size a, laze_size b) {
  bool out;
  ck_assert_msg(laze_size_ask_equal(table, a, b, &out, &error) == LAZE_OK, "%s", error.message);
  return out;
}

static bool less_equal(laze_size a, laze_size b) {
  bool out;
  ck_assert_msg(laze_size_ask_less_equal(table, a, b, &out, &error) == LAZE_OK, "%s", error.message);
  return out;
}

static int64_t fact_count(void) {
  int64_t count;
  (void)laze_size_facts(table, &count);
  return count;
}

/* A fact that always has the same answer would only make schedules miss. */
START_TEST(decided_questions_are_not_recorded) {
  laze_size n1 = build(LAZE_SIZE_ADD, n, 1), half = build(LAZE_SIZE_MOD, n, 4);
  ck_assert(equal(3, 3) && !equal(3, 4) && equal(n, n));
  ck_assert(!equal(n, n1));
  ck_assert(!equal(n, -1));
  ck_assert(!equal(half, 4));
  ck_assert(less_equal(3, 3) && !less_equal(4, 3));
  ck_assert(less_equal(0, n) && !less_equal(n1, n) && less_equal(n, n1) && less_equal(half, 3));
  ck_assert(less_equal(n, build(LAZE_SIZE_ADD, n, m)));
  ck_assert_int_eq(fact_count(), 0);
}
END_TEST

START_TEST(hints_answer_and_are_recorded_once) {
  set_hints(32, 32);
  ck_assert(laze_size_has_hints(table));
  ck_assert(equal(n, m) && equal(m, n));
  ck_assert(!equal(n, 1) && !equal(1, n));
  ck_assert(less_equal(n, 64));
  ck_assert(!less_equal(m, 8));
  ck_assert_int_eq(fact_count(), 4);
  int64_t count;
  const laze_fact *facts = laze_size_facts(table, &count);
  ck_assert(facts[0].kind == LAZE_FACT_EQUAL && facts[0].holds);
  ck_assert(facts[1].kind == LAZE_FACT_EQUAL && !facts[1].holds && facts[1].a == n && facts[1].b == 1);
  ck_assert(facts[2].kind == LAZE_FACT_LESS_EQUAL && facts[2].holds && facts[2].a == n && facts[2].b == 64);
}
END_TEST

START_TEST(facts_hold_where_answers_are_the_same) {
  set_hints(32, 32);
  ck_assert(equal(n, m));
  ck_assert(!equal(n, 1));
  int64_t same[] = {7, 7}, differ[] = {7, 8}, one[] = {1, 1}, bad[] = {-1, -1};
  ck_assert(laze_facts_hold(table, same));
  ck_assert_ptr_null(laze_facts_first_broken(table, same));
  ck_assert(!laze_facts_hold(table, differ));
  ck_assert(!laze_facts_hold(table, one));
  ck_assert(!laze_facts_hold(table, bad));
  int64_t count;
  ck_assert_ptr_eq(laze_facts_first_broken(table, one), laze_size_facts(table, &count) + 1);
}
END_TEST

START_TEST(overflow_breaks_facts) {
  set_hints(32, 32);
  ck_assert(less_equal(build(LAZE_SIZE_MUL, n, m), 4096));
  int64_t large[] = {(int64_t)1 << 40, (int64_t)1 << 40};
  ck_assert(!laze_facts_hold(table, large));
}
END_TEST

/* A graph that is built before its sizes are known: as if sizes were large and all different. */
START_TEST(without_hints_sizes_are_assumed_general) {
  ck_assert(!laze_size_has_hints(table));
  ck_assert(!equal(n, 1) && !equal(n, m) && !equal(n, 784));
  ck_assert(less_equal(2, n));
  ck_assert(!equal(build(LAZE_SIZE_MOD, n, 4), 0));
  ck_assert_int_eq(fact_count(), 5);
  int64_t general[] = {33, 34}, one[] = {1, 34};
  ck_assert(laze_facts_hold(table, general));
  ck_assert(!laze_facts_hold(table, one));
}
END_TEST

START_TEST(hints_are_checked) {
  ck_assert_int_eq(laze_size_set_hint(table, 2, 1, &error), LAZE_OUT_OF_RANGE);
  ck_assert_int_eq(laze_size_set_hint(table, -1, 1, &error), LAZE_OUT_OF_RANGE);
  ck_assert_int_eq(laze_size_set_hint(table, 0, -1, &error), LAZE_OUT_OF_RANGE);
  ck_assert_int_eq(laze_size_set_hint(table, 0, 4, &error), LAZE_OK);
  ck_assert(!laze_size_has_hints(table)); /* m has none yet */
  ck_assert_int_eq(laze_size_set_hint(table, 1, 4, &error), LAZE_OK);
  ck_assert(laze_size_has_hints(table));
}
END_TEST

/* Many facts pass through the growth of their hash table and keep their order. */
START_TEST(many_facts_keep_their_order) {
  set_hints(500, 2);
  for (int turn = 0; turn < 2; turn++)
    for (int64_t i = 1; i <= 1000; i++) ck_assert(less_equal(n, i) == (i >= 500));
  int64_t count;
  const laze_fact *facts = laze_size_facts(table, &count);
  ck_assert_int_eq(count, 1000);
  for (int64_t i = 0; i < count; i++) ck_assert_int_eq(facts[i].b, i + 1);
}
END_TEST

/* Bounds whose parts exceed 64 bits must not cancel into a wrong "always". */
START_TEST(large_bounds_decide_nothing_wrong) {
  laze_size small = build(LAZE_SIZE_MIN, m, 3), limit = LAZE_SIZE_CONSTANT_MAX;
  laze_size a = build(LAZE_SIZE_MUL, n, limit / 2), b = build(LAZE_SIZE_ADD, build(LAZE_SIZE_MUL, small, limit), limit);
  set_hints(4, 0);
  ck_assert(!less_equal(build(LAZE_SIZE_MUL, n, 3), 11));
  set_hints(1, 0);
  ck_assert(less_equal(a, b));
  ck_assert_int_eq(fact_count(), 2);
}
END_TEST

/* A copy means the same by every word and goes its own way from there. */
START_TEST(copied_tables_are_independent) {
  set_hints(32, 32);
  laze_size sum = build(LAZE_SIZE_ADD, n, m), again;
  ck_assert(equal(n, m));
  laze_size_table *copy, *original = table;
  ck_assert_int_eq(laze_size_table_copy(table, &copy, &error), LAZE_OK);
  table = copy;
  ck_assert_int_eq(build(LAZE_SIZE_ADD, n, m), sum);
  ck_assert_int_eq(laze_size_symbol(table, "m", &again, &error), LAZE_OK);
  ck_assert_int_eq(again, m);
  ck_assert(less_equal(n, 64));
  ck_assert_int_eq(fact_count(), 2);
  table = original;
  ck_assert_int_eq(fact_count(), 1);
  laze_size_table_destroy(copy);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("facts");
  TCase *cases = tcase_create("facts");
  tcase_add_checked_fixture(cases, setup, teardown);
  tcase_add_test(cases, decided_questions_are_not_recorded);
  tcase_add_test(cases, hints_answer_and_are_recorded_once);
  tcase_add_test(cases, facts_hold_where_answers_are_the_same);
  tcase_add_test(cases, overflow_breaks_facts);
  tcase_add_test(cases, without_hints_sizes_are_assumed_general);
  tcase_add_test(cases, hints_are_checked);
  tcase_add_test(cases, many_facts_keep_their_order);
  tcase_add_test(cases, large_bounds_decide_nothing_wrong);
  tcase_add_test(cases, copied_tables_are_independent);
  suite_add_tcase(suite, cases);
  return test_run_suite(suite);
}
