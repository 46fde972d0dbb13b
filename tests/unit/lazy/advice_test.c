/* Warnings that a program gets which asked for none: on standard error, once, and nothing else. */
#include "codegen/codegen.h"
#include "laze/laze.h"
#include "laze/trace.h"
#include "runtime/program.h"
#include "support.h"

#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static laze_context *context;
static char said[1 << 16];

/* What `program` writes to standard error, with LAZE_LOG and LAZE_DEBUG set so. */
static const char *listen(void (*program)(void), const char *level, const char *debug) {
  level ? setenv("LAZE_LOG", level, 1) : unsetenv("LAZE_LOG");
  laze_context_options options = {
      .struct_size = sizeof options, .backend = "interp", .cache_directory = "", .debug = debug, .threads = 1};
  ck_assert_int_eq(laze_context_create(&options, &context, NULL), LAZE_OK);
  FILE *file = tmpfile();
  int own = dup(2);
  fflush(stderr);
  dup2(fileno(file), 2);
  program();
  fflush(stderr);
  dup2(own, 2);
  close(own);
  rewind(file);
  said[fread(said, 1, sizeof said - 1, file)] = 0;
  fclose(file);
  laze_context_release(context);
  return said;
}

static int count(const char *text, const char *part) {
  int found = 0;
  for (; (text = strstr(text, part)) != NULL; text += strlen(part)) found++;
  return found;
}

static void exceed_budget(void) {
  laze_set_budget(context, 10, 0);
  laze_scope *scope = laze_scope_begin(context);
  laze_tensor *x = filled(context, 2, 1);
  for (int i = 0; i < 100; i++) x = laze_neg(x);
  (void)laze_scope_end(scope);
}

START_TEST(a_budget_cut_is_said_once) {
  const char *text = listen(exceed_budget, NULL, "");
  ck_assert_int_eq(count(text, "exceeds the budget"), 1);
  ck_assert_int_eq(count(text, "laze: warning: "), 1);
  ck_assert_int_eq(count(text, "\n"), 1);
  ck_assert_int_eq(count(text, "LAZE_LOG=off"), 1);
  ck_assert_str_eq(listen(exceed_budget, "off", ""), "");
  ck_assert_int_gt(count(listen(exceed_budget, "all", ""), "exceeds the budget"), 5);
  ck_assert_int_gt(count(listen(exceed_budget, "off", "miss"), "exceeds the budget"), 5); /* a switch says all */
}
END_TEST

START_TEST(an_unknown_level_is_an_error) {
  setenv("LAZE_LOG", "loud", 1);
  laze_error error;
  ck_assert_int_eq(laze_context_create(NULL, &context, &error), LAZE_INVALID_ARGUMENT);
  ck_assert_str_eq(error.message, "LAZE_LOG=loud: expected once, off or all");
}
END_TEST

static int steps;
static laze_status (*end)(laze_scope *scope, laze_error *error);

/* Updates a parameter at each step, and never reads it. */
static void train(void) {
  laze_scope *outer = laze_scope_begin(context);
  laze_tensor *weight = laze_tensor_retain(filled(context, 2, 1));
  for (int i = 0; i < steps; i++) {
    laze_scope *scope = laze_scope_begin(context);
    laze_tensor *gradient = laze_mul(laze_neg(weight), laze_exp(weight));
    ck_assert_int_eq(laze_tensor_assign(weight, laze_add(weight, laze_mul(gradient, gradient))), LAZE_OK);
    ck_assert_int_eq(end(scope, NULL), LAZE_OK);
  }
  laze_tensor_release(weight);
  ck_assert_int_eq(laze_scope_end(outer), LAZE_OK);
}

/* The mistake: every step's graph stays pending. */
START_TEST(growth_over_scopes_is_said_once) {
  end = laze_scope_end_error;
  steps = 1000;
  const char *text = listen(train, NULL, "");
  ck_assert_msg(count(text, "end steps with laze_step_end") == 1 && count(text, "\n") == 1, "%s", text);
  steps = 50; /* few enough to be meant */
  ck_assert_str_eq(listen(train, NULL, ""), "");
  end = laze_step_end;
  steps = 1000;
  ck_assert_str_eq(listen(train, NULL, ""), "");
}
END_TEST

/* Each step reads what it computed from the beginning. */
static void compute_again(void) {
  for (int length = 1; length < 100; length++) {
    laze_scope *scope = laze_scope_begin(context);
    laze_tensor *x = filled(context, 2, 1);
    for (int i = 0; i < length; i++) x = laze_neg(x);
    (void)first(x, 2);
    (void)laze_scope_end(scope);
  }
}

START_TEST(graphs_that_become_longer_are_said_once) {
  const char *text = listen(compute_again, NULL, "");
  ck_assert_msg(count(text, "each longer than the one before") == 1 && count(text, "\n") == 1, "%s", text);
}
END_TEST

/* What a program decides by a value while it is traced is in the graph for good. */
static void bake_in(void) {
  for (int i = 0; i < 3; i++) {
    laze_scope *scope = laze_scope_begin(context);
    laze_tensor *x = filled(context, 2, 1), *traced, *y;
    laze_graph *graph;
    ck_assert_int_eq(laze_trace_begin(context, &x, 1, NULL, &traced, NULL), LAZE_OK);
    y = first(traced, 2) > 0 ? laze_exp(traced) : laze_neg(traced);
    ck_assert_int_eq(laze_trace_end(context, &y, 1, &graph, NULL), LAZE_OK);
    laze_graph_release(graph);
    (void)laze_scope_end(scope);
  }
}

START_TEST(a_value_that_is_baked_in_is_said_once) {
  const char *text = listen(bake_in, NULL, "");
  ck_assert_msg(count(text, "is baked into the graph") == 1 && count(text, "\n") == 1, "%s", text);
  ck_assert_str_eq(listen(bake_in, "off", ""), "");
}
END_TEST

static void nothing(const laze_kernel_arguments *arguments, int64_t from, int64_t to, void *scratch) {
  (void)arguments, (void)from, (void)to, (void)scratch;
}

/* A program of one step that has no native code. */
static void run_fallback(int runs) {
  laze_size_table *sizes;
  laze_program *program;
  laze_executable *executable;
  laze_kernel *kernel;
  ck_assert_int_eq(laze_size_table_create(context, &sizes, NULL), LAZE_OK);
  ck_assert_int_eq(laze_program_create(context, sizes, &program, NULL), LAZE_OK);
  ck_assert_int_eq(laze_kernel_create(context, "nothing", nothing, NULL, NULL, NULL, &kernel, NULL), LAZE_OK);
  laze_step step = {.kernel = kernel, .domain = 1, .label = "odd_operator", .interpreted = "it is odd"};
  ck_assert_int_eq(laze_program_add_step(program, &step, NULL), LAZE_OK);
  ck_assert_int_eq(laze_executable_create(program, NULL, NULL, &executable, NULL), LAZE_OK);
  for (int i = 0; i < runs; i++) ck_assert_int_eq(laze_executable_run(executable, &(laze_run){0}, NULL), LAZE_OK);
  laze_executable_release(executable);
  laze_program_release(program);
  laze_kernel_release(kernel);
}
static void run_fallback_rarely(void) {
  run_fallback(15);
}
static void run_fallback_in_loops(void) {
  run_fallback(100);
  run_fallback(100);
}

START_TEST(a_fallback_in_a_loop_is_said_once) {
  ck_assert_str_eq(listen(run_fallback_rarely, NULL, ""), "");
  const char *text = listen(run_fallback_in_loops, NULL, "");
  ck_assert_msg(count(text, "odd_operator among them") == 1 && count(text, "\n") == 1, "%s", text);
}
END_TEST

/* Why graphs were not found */

static void run_chain(int64_t size, int negations, int exponentials) {
  laze_scope *scope = laze_scope_begin(context);
  laze_tensor *x = filled(context, size, 1);
  for (int i = 0; i < negations; i++) x = laze_neg(x);
  for (int i = 0; i < exponentials; i++) x = laze_exp(x);
  (void)first(x, size);
  (void)laze_scope_end(scope);
}

static void miss_in_all_ways(void) {
  run_chain(2, 4, 0);
  run_chain(2, 7, 0);
  run_chain(2, 3, 0);
  run_chain(3, 9, 0);
  run_chain(2, 0, 4);
  run_chain(5, 9, 0);
}

START_TEST(a_miss_says_what_is_new) {
  const char *const expected[] = {
      "(4 nodes): new graph, the first one\n",
      "(7 nodes): the same up to node 3, then longer\n",
      "(3 nodes): the same up to node 2, where the cached graph goes on\n",
      "(9 nodes): the same operators up to node 6, then longer; first difference: node 0, neg at ",
      "(4 nodes): new graph\n",
      "(9 nodes): node 0, neg at ",
  };
  const char *text = listen(miss_in_all_ways, NULL, "miss");
  for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
    const char *found = strstr(text, expected[i]);
    ck_assert_msg(found != NULL, "'%s' is not in '%s'", expected[i], text);
    text = found;
  }
}
END_TEST

/* There is no handle that could hold the reason: each stands for "out of memory". */
static void exhaust_keys(void) {
  enum { MOST = 4096 };
  pthread_key_t keys[MOST];
  int count = 0;
  while (count < MOST && pthread_key_create(&keys[count], NULL) == 0) count++;
  for (int i = 0; i < 2; i++) ck_assert_str_ne(laze_tensor_error(laze_zeros(context, LAZE_SHAPE(2), LAZE_F32)), "");
  while (count > 0) pthread_key_delete(keys[--count]);
  laze_scope *scope = laze_scope_begin(context);
  ck_assert_str_eq(laze_tensor_error(laze_zeros(context, LAZE_SHAPE(2), LAZE_F32)), ""); /* tried again */
  ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
}

START_TEST(why_a_context_has_no_tensors_is_said_once) {
  const char *text = listen(exhaust_keys, NULL, "");
  ck_assert_int_eq(count(text, "no tensor can be made in this context: too many contexts"), 1);
  ck_assert_int_eq(count(text, "\n"), 1);
}
END_TEST

int main(void) {
  const TTest *const tests[] = {a_budget_cut_is_said_once,
                                an_unknown_level_is_an_error,
                                growth_over_scopes_is_said_once,
                                graphs_that_become_longer_are_said_once,
                                a_value_that_is_baked_in_is_said_once,
                                a_fallback_in_a_loop_is_said_once,
                                a_miss_says_what_is_new,
                                why_a_context_has_no_tensors_is_said_once};
  return run_tests("advice", tests, sizeof tests / sizeof *tests);
}
