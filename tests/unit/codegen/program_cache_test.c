/* Which programs serve a request: a hash only finds candidates. */
#include "codegen/program_cache.h"

#include "ir/text/text.h"
#include "tests/support/suite.h"

#include <string.h>

static laze_context *context;
static laze_graph *graph;
static laze_program *program;
static laze_program_cache *cache;
static laze_error error;

static void setup(void) {
  static const char text[] = "laze 1\ngraph @g(%x: f32[3]) -> f32[3] {\n  %0 = neg %x : f32[3]\n  return %0\n}\n";
  laze_size_table *sizes;
  ck_assert_int_eq(laze_context_create(NULL, &context, &error), LAZE_OK);
  ck_assert_msg(laze_graph_parse(context, text, (int64_t)strlen(text), "g", &graph, &error) == LAZE_OK, "%s",
                error.message);
  ck_assert_int_eq(laze_size_table_create(context, &sizes, &error), LAZE_OK);
  ck_assert_int_eq(laze_program_create(context, sizes, &program, &error), LAZE_OK);
  ck_assert_int_eq(laze_program_cache_get(context, &cache, &error), LAZE_OK);
}

static void teardown(void) {
  laze_program_release(program);
  laze_graph_destroy(graph);
  laze_context_release(context);
}

/* A program of another backend would compute with other kernels than those that were asked for. Keys hold the backend's
 * name, and may meet; here they are made to. */
START_TEST(the_key_alone_does_not_make_a_hit) {
  int64_t bindings[1];
  char name[] = "first";
  laze_graph_bindings(graph, bindings, 1);
  laze_program_request first = laze_program_request_make(name, graph, bindings);
  laze_program_cache_keep(cache, &first, program);
  memset(name, 'x', sizeof name - 1); /* the cache has a copy */
  first.backend = "first";
  laze_program_request second = laze_program_request_make("second", graph, bindings);
  ck_assert_ptr_null(laze_program_cache_find(cache, &second));
  second.key = first.key;
  ck_assert_ptr_null(laze_program_cache_find(cache, &second));
  laze_program *found = laze_program_cache_find(cache, &first);
  ck_assert_ptr_eq(found, program);
  laze_program_release(found);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("program_cache");
  TCase *test = tcase_create("program_cache");
  tcase_add_checked_fixture(test, setup, teardown);
  tcase_add_test(test, the_key_alone_does_not_make_a_hit);
  suite_add_tcase(suite, test);
  return test_run_suite(suite);
}
