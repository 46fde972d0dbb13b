/* Random graphs with loops and branches inside each other (tests/support/random_text.c): native code against the
 * interpreter, in bits, and fused against one kernel per node. What goes around a loop is what it computed, its own
 * parameters in any order, several times or unchanged, and constants; a branch may give what it got. Slices are read
 * and written where the counter says, of values that are needed later or not. Now and then an index is out of range, in
 * which case both name the same call and position. */
#include "tests/property/check_graphs.h"
#include "tests/support/loop_backend.h"
#include "tests/support/suite.h"

#include <check.h>
#include <string.h>

static const test_text_options regions = {.values = false};

static const laze_backend *find(laze_context *context, const char *name) {
  const laze_backend *backend;
  ck_assert_int_eq(laze_backend_find(context, name, &backend, NULL), LAZE_OK);
  return backend;
}

START_TEST(native_regions_give_the_interpreters_bits) {
  test_way a = {test_context(NULL), NULL, NULL}, b = {test_context("verify"), NULL, NULL};
  a.backend = find(a.context, "interp");
  b.backend = laze_backend_at(0);
  test_check_programs(&a, &b, &regions, 150, strcmp(b.backend->name, "interp") != 0);
  laze_context_release(a.context);
  laze_context_release(b.context);
}
END_TEST

/* Later iterations first, so that a slice which is written must not be read behind. */
START_TEST(loops_in_any_order_give_the_same_bits) {
  test_way a = {test_context(NULL), NULL, NULL}, b = {test_context(NULL), &test_backend_loop, NULL};
  a.backend = find(a.context, "interp");
  test_check_programs(&a, &b, &regions, 150, true);
  laze_context_release(a.context);
  laze_context_release(b.context);
}
END_TEST

START_TEST(branches_that_are_known_give_the_same_bits) {
  test_way a = {test_context(NULL), NULL, "branches"}, b = {test_context("verify"), NULL, NULL};
  a.backend = b.backend = find(a.context, "interp");
  test_check_programs(&a, &b, &regions, 60, false);
  laze_context_release(a.context);
  laze_context_release(b.context);
}
END_TEST

START_TEST(fusion_changes_no_bit_inside_regions) {
  test_way a = {test_context(NULL), laze_backend_at(0), NULL}, b = {test_context("nofusion"), laze_backend_at(0), NULL};
  test_check_programs(&a, &b, &regions, 60, strcmp(b.backend->name, "interp") != 0);
  laze_context_release(a.context);
  laze_context_release(b.context);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("regions");
  TCase *tests = tcase_create("random regions");
  tcase_set_timeout(tests, 0);
  tcase_add_test(tests, native_regions_give_the_interpreters_bits);
  tcase_add_test(tests, loops_in_any_order_give_the_same_bits);
  tcase_add_test(tests, branches_that_are_known_give_the_same_bits);
  tcase_add_test(tests, fusion_changes_no_bit_inside_regions);
  suite_add_tcase(suite, tests);
  return test_run_suite(suite);
}
