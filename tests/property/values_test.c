/* Random modules with sizes that values give, lists of indices and numbers, kernels of the program, absent results,
 * functions and regions (tests/support/random_text.c): their text and rules, native code against the interpreter, the
 * interpreter of loop IR against it, and fused against one kernel per node, in bits. */
#include "ir/text/text.h"
#include "tests/property/check_graphs.h"
#include "tests/support/loop_backend.h"
#include "tests/support/suite.h"

#include <check.h>
#include <string.h>

static const test_text_options values = {.values = true};

static laze_context *create_context(const char *debug) {
  laze_context *context = test_context(debug);
  test_register_kernels(context);
  return context;
}

static const laze_backend *interp(laze_context *context) {
  const laze_backend *backend;
  ck_assert_int_eq(laze_backend_find(context, "interp", &backend, NULL), LAZE_OK);
  return backend;
}

static void check_text(const laze_module *module, uint64_t seed, const laze_print_options *options) {
  laze_text text, difference;
  laze_module *again;
  laze_error error;
  laze_text_init(&text, module->context);
  laze_text_init(&difference, module->context);
  laze_module_print(&text, module, options);
  const laze_text_source source = {.text = laze_text_get(&text), .size = text.size, .file = "printed"};
  laze_status status = laze_module_parse(module->context, &source, &again, &error);
  ck_assert_msg(status == LAZE_OK, "seed %llu: %s\n%s", (unsigned long long)seed, error.message, laze_text_get(&text));
  ck_assert_msg(laze_module_equal(module, again, &difference), "seed %llu: %s\n%s", (unsigned long long)seed,
                laze_text_get(&difference), laze_text_get(&text));
  laze_module_destroy(again);
  laze_text_deinit(&text);
  laze_text_deinit(&difference);
}

START_TEST(modules_are_valid_and_read_back) {
  laze_context *context = create_context(NULL);
  uint64_t first = (uint64_t)test_setting("LAZE_TEST_SEED", 1);
  for (uint64_t seed = first; seed < first + 400; seed++) {
    laze_error error;
    laze_module *module = test_random_module(context, seed, &values);
    ck_assert_msg(laze_module_verify(module, &error) == LAZE_OK, "seed %llu: %s", (unsigned long long)seed,
                  error.message);
    check_text(module, seed, &(laze_print_options){0});
    check_text(module, seed, &(laze_print_options){.hexadecimal = true});
    laze_module_destroy(module);
  }
  laze_context_release(context);
}
END_TEST

START_TEST(native_code_gives_the_interpreters_bits) {
  test_way a = {create_context(NULL), NULL, NULL}, b = {create_context("verify"), laze_backend_at(0), NULL};
  a.backend = interp(a.context);
  test_check_programs(&a, &b, &values, 100, strcmp(b.backend->name, "interp") != 0);
  laze_context_release(a.context);
  laze_context_release(b.context);
}
END_TEST

START_TEST(loops_give_the_interpreters_bits) {
  test_way a = {create_context(NULL), NULL, NULL}, b = {create_context("verify"), &test_backend_loop, NULL};
  a.backend = interp(a.context);
  test_check_programs(&a, &b, &values, 200, true);
  laze_context_release(a.context);
  laze_context_release(b.context);
}
END_TEST

START_TEST(fusion_changes_no_bit) {
  test_way a = {create_context(NULL), &test_backend_loop, NULL},
           b = {create_context("nofusion"), &test_backend_loop, NULL};
  test_check_programs(&a, &b, &values, 100, true);
  laze_context_release(a.context);
  laze_context_release(b.context);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("values");
  TCase *tests = tcase_create("random modules");
  tcase_set_timeout(tests, 0);
  tcase_add_test(tests, modules_are_valid_and_read_back);
  tcase_add_test(tests, native_code_gives_the_interpreters_bits);
  tcase_add_test(tests, loops_give_the_interpreters_bits);
  tcase_add_test(tests, fusion_changes_no_bit);
  suite_add_tcase(suite, tests);
  return test_run_suite(suite);
}
