/* What modules may not do to their reader: take much memory or stack, or grow without bound; and what is damaged, or
 * read with too little memory, is refused. */
#include "tests/unit/ir/module_test.h"

#include <pthread.h>
#include <stdio.h>
#include <time.h>

/* Functions @f0 to @f<count>, each of which calls the one before `times` times; a graph that calls the last. */
static char *write_chain(int count, int times, const char *first) {
  size_t room = 256 + (size_t)count * (96 + (size_t)times * 48);
  char *text = malloc(room), *at = text;
  ck_assert_ptr_nonnull(text);
  at += sprintf(at, "laze 1\nfunction @f0(%%0: f32[n]) {\n%s}\n", first);
  for (int i = 1; i <= count; i++) {
    at += sprintf(at, "function @f%d(%%0: f32[n]) {\n", i);
    for (int k = 1; k <= times; k++) at += sprintf(at, "  %%%d = call @f%d %%%d\n", k, i - 1, k - 1);
    at += sprintf(at, "  return %%%d\n}\n", times);
  }
  at += sprintf(at, "graph @g(%%x: f32[4]) {\n  %%0 = call @f%d %%x\n  return %%0\n}\n", count);
  ck_assert_int_lt(at - text, (ptrdiff_t)room);
  return text;
}

/* A chain of thirty functions of two calls each would be 2^30 nodes, or, of functions without nodes, as many steps. */
START_TEST(calls_that_multiply_are_bounded) {
  static const char *const first[] = {"  %1 = neg %0\n  return %1\n", "  return %0\n"};
  for (int i = 0; i < 2; i++) {
    char *text = write_chain(30, 2, first[i]);
    laze_module *module = parse_module(text);
    laze_graph *chosen, *graph;
    assert_ok(laze_module_choose(module, NULL, &chosen, &error));
    assert_error(laze_module_inline(chosen, &graph, &error),
                 i ? "graph g: its calls make more than 1048576 nodes, those of @f" : "nodes, those of @f");
    laze_module_destroy(module);
    free(text);
  }
}
END_TEST

static void *run_deep(void *unused) {
  enum { DEPTH = 20000 };
  (void)unused;
  char *text = write_chain(DEPTH, 1, "  %1 = neg %0\n  return %1\n");
  laze_module *module = parse_module(text);
  laze_graph *graph = inlined(module, NULL);
  ck_assert_int_eq(graph->node_count, 2);
  char *printed = print_module(module);
  laze_free(context, printed);
  laze_graph_destroy(graph);
  laze_module_destroy(module);
  free(text);
  return NULL;
}

/* A chain of calls as deep as there are functions needs no more stack than one. */
START_TEST(chains_of_calls_need_no_stack) {
  pthread_attr_t attributes;
  pthread_t thread;
  ck_assert_int_eq(pthread_attr_init(&attributes), 0);
  ck_assert_int_eq(pthread_attr_setstacksize(&attributes, 512 * 1024), 0);
  ck_assert_int_eq(pthread_create(&thread, &attributes, run_deep, NULL), 0);
  ck_assert_int_eq(pthread_join(thread, NULL), 0);
  ck_assert_int_eq(pthread_attr_destroy(&attributes), 0);
}
END_TEST

/* Names do not grow with the depth of calls. */
START_TEST(names_of_deep_calls_stay_short) {
  char *text = malloc(200000), *at = text;
  at += sprintf(at, "laze 1\nfunction @f0(%%x: f32[n]) {\n  %%0 = neg %%x name(\"own\")\n  return %%0\n}\n");
  for (int i = 1; i <= 1000; i++)
    at +=
        sprintf(at, "function @f%d(%%x: f32[n]) {\n  %%0 = call @f%d %%x name(\"level\")\n  return %%0\n}\n", i, i - 1);
  sprintf(at, "graph @g(%%x: f32[4]) {\n  %%0 = call @f1000 %%x\n  return %%0\n}\n");
  laze_module *module = parse_module(text);
  laze_graph *graph = inlined(module, NULL);
  ck_assert_uint_lt(strlen(graph->nodes[1].name), 256);
  ck_assert_ptr_nonnull(strstr(graph->nodes[1].name, "own"));
  laze_graph_destroy(graph);
  laze_module_destroy(module);
  free(text);
}
END_TEST

/* Each call of a function that has a large constant refers to the same bytes. */
START_TEST(calls_share_constants) {
  char *text = malloc(20000), *at = text;
  at += sprintf(at, "laze 1\nfunction @f(%%x: f32[1000]) {\n  %%0 = constant hex=\"");
  for (int i = 0; i < 1000; i++) at += sprintf(at, "0000803f");
  at += sprintf(at, "\" : f32[1000]\n  %%1 = add %%x, %%0\n  return %%1\n}\ngraph @g(%%x: f32[1000]) {\n");
  for (int i = 0; i < 100; i++)
    at += i ? sprintf(at, "  %%%d = call @f %%%d\n", i, i - 1) : sprintf(at, "  %%0 = call @f %%x\n");
  sprintf(at, "  return %%99\n}\n");
  laze_module *module = parse_module(text);
  laze_graph *graph = inlined(module, NULL);
  const void *bytes = NULL;
  for (int64_t i = 0; i < graph->node_count; i++) {
    const laze_data *data = laze_node_constant(&graph->nodes[i]);
    if (data && bytes) ck_assert_ptr_eq(data->bytes, bytes);
    if (data) bytes = data->bytes;
  }
  ck_assert_int_eq(graph->node_count, 201);
  laze_module_destroy(module);
  ck_assert_int_lt(graph->arena.bytes, 200 * 4000);
  laze_graph_destroy(graph);
  free(text);
}
END_TEST

/* Front ends make functions by the thousand, most of a few nodes, which all stay while the module does. */
START_TEST(small_functions_take_little) {
  laze_module *module = parse_module("laze 1\nfunction @f(%x: f32[n,m]) -> f32[n,m] {\n  %0 = neg %x : f32[n,m]\n"
                                     "  %1 = add %x, %0 : f32[n,m]\n  return %1\n}\n"
                                     "graph @g(%x: f32[4,5]) {\n  %0 = call @f %x\n  return %0\n}\n");
  ck_assert_int_lt(laze_graph_bytes(module->graphs[0]), 3500);
  laze_module_destroy(module);
}
END_TEST

/* Damaged text is refused or is some valid module, whose graph can be had or is refused; it never crashes. */
START_TEST(damaged_modules_never_crash) {
  unsigned seed = (unsigned)time(NULL);
  int parsed = 0, had = 0;
  size_t length = strlen(layers);
  printf("damaged_modules_never_crash: seed %u\n", seed);
  srand(seed);
  for (int round = 0; round < 20000; round++) {
    static const char likely[] = "%@()[]{}:,=#-\"0n\n \\.fgxw";
    char text[sizeof layers];
    laze_module *module;
    laze_graph *chosen, *graph;
    memcpy(text, layers, sizeof layers);
    for (int flips = 1 + rand() % 3; flips > 0; flips--) {
      size_t at = (size_t)rand() % length, from = (size_t)rand() % length, count = (size_t)rand() % 40;
      if (rand() % 4 == 0 && at + count < length && from + count < length)
        memmove(text + at, text + from, count); /* a piece of another line */
      else
        text[at] = likely[(size_t)rand() % (sizeof likely - 1)];
    }
    if (read_module(text, &module) != LAZE_OK) continue;
    parsed++;
    ck_assert_msg(laze_module_verify(module, &error) == LAZE_OK, "%s: %s", error.message, text);
    char *printed = print_module(module);
    laze_module_destroy(parse_module(printed));
    laze_free(context, printed);
    if (laze_module_choose(module, NULL, &chosen, &error) == LAZE_OK &&
        laze_module_inline(chosen, &graph, &error) == LAZE_OK) {
      had++;
      ck_assert_msg(laze_graph_verify(graph, &error) == LAZE_OK, "%s: %s", error.message, text);
      laze_graph_destroy(graph);
    }
    laze_module_destroy(module);
  }
  ck_assert_int_gt(parsed, 0);
  ck_assert_int_gt(had, 0);
}
END_TEST

static const char with_all[] = "laze 1\n"
                               "function @f(%x: f32[n]) {\n"
                               "  %0 = constant hex=\"" HEX64 HEX64 HEX64 HEX64 "\" : i64[32]\n"
                               "  %1 = exp %x name(\"own\") loc(\"place\")\n"
                               "  return %1, %0\n"
                               "}\n"
                               "function @h(%x: f32[n,m], %c: bool[]) {\n"
                               "  %0 = if %c, [%x] (%i: f32[n,m]) {\n"
                               "    %1 = reshape %i, shape=[n*m]\n"
                               "    %2:2 = call @f %1 name(\"inner\")\n"
                               "    %3 = reshape %2#0, shape=[n, m]\n"
                               "    return %3\n"
                               "  } (%i: f32[n,m]) {\n"
                               "    return %i\n"
                               "  }\n"
                               "  return %0\n"
                               "}\n"
                               "function @s(%x: f32[n], %k: i64[]) {\n"
                               "  %0 = size_from %k, size=u\n"
                               "  %1 = slice %x, end=u\n"
                               "  %2 = sum %1\n"
                               "  return %2\n"
                               "}\n"
                               "graph @main(%x: f32[k,3], %c: bool[], %v: f32[k], %i: i64[]) {\n"
                               "  %0 = call @h %x, %c name(\"outer\") loc(\"outside\")\n"
                               "  %1 = call @h %0, %c\n"
                               "  %2 = call @s %v, %i\n"
                               "  return %1, %2\n"
                               "}\n"
                               "graph @empty() {\n  return\n}\n";

/* Reads, prints and inlines. */
static laze_status use_module(laze_context *starved) {
  const laze_text_source source = {.text = with_all, .size = sizeof with_all - 1, .file = "m.lz"};
  laze_module *module = NULL;
  laze_graph *chosen, *graph = NULL;
  laze_text text;
  laze_text_init(&text, starved);
  laze_status status = laze_module_parse(starved, &source, &module, &error);
  if (status == LAZE_OK) status = laze_module_verify(module, &error);
  if (status == LAZE_OK) laze_module_print(&text, module, &(laze_print_options){.hexadecimal = true});
  if (status == LAZE_OK) status = laze_text_check(&text, &error);
  if (status == LAZE_OK) status = laze_module_choose(module, NULL, &chosen, &error);
  if (status == LAZE_OK) status = laze_module_inline(chosen, &graph, &error);
  if (status == LAZE_OK) status = laze_graph_verify(graph, &error);
  laze_text_deinit(&text);
  laze_graph_destroy(graph);
  laze_module_destroy(module);
  return status;
}

/* Wherever memory runs out, the failure is reported and nothing leaks or is left half done. */
START_TEST(survives_running_out_of_memory) {
  for (int64_t allowed = 0;; allowed++) {
    test_failing_allocator memory;
    laze_context *starved = starve(&memory, allowed);
    laze_status status = use_module(starved);
    laze_context_release(starved);
    ck_assert_int_eq(memory.live, 0);
    if (status == LAZE_OK) break;
    ck_assert_msg(status == LAZE_OUT_OF_MEMORY, "after %lld allocations: %s", (long long)allowed, error.message);
  }
}
END_TEST

static void add_tests(TCase *tests) {
  tcase_add_test(tests, calls_that_multiply_are_bounded);
  tcase_add_test(tests, chains_of_calls_need_no_stack);
  tcase_add_test(tests, names_of_deep_calls_stay_short);
  tcase_add_test(tests, calls_share_constants);
  tcase_add_test(tests, small_functions_take_little);
  tcase_add_test(tests, damaged_modules_never_crash);
  tcase_add_test(tests, survives_running_out_of_memory);
}

int main(void) {
  return run_suite("module limits", add_tests);
}
