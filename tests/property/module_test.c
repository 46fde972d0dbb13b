/* A random graph as a function of a module: what is printed reads back as an equal module, and a graph that only calls
 * the function is, once inlined, the random graph. */
#include "ir/text/text.h"
#include "tests/property/check_graphs.h"
#include "tests/support/suite.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

typedef struct {
  laze_context *context;
  int64_t inlined;
} state;

/* "%r:2 = call @f %a, %b", and the return. `parameters` is "(%a: f32[n], %b: ...". */
static void write_call(laze_text *text, const char *parameters, int64_t results) {
  laze_text_append(text, "  %result");
  if (results != 1) laze_text_format(text, ":%lld", (long long)results);
  laze_text_append(text, " = call @f");
  int count = 0;
  for (const char *at = parameters; *at && *at != '\n'; at++) {
    if (at[0] == '-' && at[1] == '>') break;
    if (*at != '%') continue;
    laze_text_format(text, "%s%.*s", count++ ? ", " : " ", (int)strcspn(at, ":"), at);
  }
  laze_text_append(text, "\n  return ");
  for (int64_t i = 0; i < results; i++)
    laze_text_format(text, results == 1 ? "%%result" : i ? ", %%result#%lld" : "%%result#%lld", (long long)i);
  laze_text_append(text, "\n}\n");
}

/* The printed graph as a function, and a graph of the same inputs, sizes too, that calls it. */
static void write_module(laze_text *text, const char *printed, int64_t results) {
  const char *sizes = printed + strlen("laze 1\n"), *graph = strstr(sizes, "graph @"), *parameters = strchr(graph, '(');
  const char *end = strstr(parameters, " -> ");
  int length = (int)(graph - sizes);
  laze_text_format(text, "laze 1\n%.*sfunction @f", length, sizes);
  laze_text_append(text, parameters);
  laze_text_format(text, "%.*sgraph @g", length, sizes);
  laze_text_append_bytes(text, parameters, end - parameters);
  laze_text_append(text, " {\n");
  write_call(text, parameters, results);
}

static laze_status read_module(laze_context *context, const laze_text *text, laze_module **out, laze_error *error) {
  const laze_text_source source = {.text = laze_text_get(text), .size = text->size, .file = "module"};
  return laze_module_parse(context, &source, out, error);
}

static bool reads_back(laze_context *context, const laze_module *module, char *message, size_t size) {
  laze_text text, difference;
  laze_module *again;
  laze_error error;
  laze_text_init(&text, context);
  laze_text_init(&difference, context);
  laze_module_print(&text, module, &(laze_print_options){0});
  laze_status status = read_module(context, &text, &again, &error);
  bool equal = status == LAZE_OK && laze_module_equal(module, again, &difference);
  if (!equal)
    snprintf(message, size, "does not read back: %s", status == LAZE_OK ? laze_text_get(&difference) : error.message);
  if (status == LAZE_OK) laze_module_destroy(again);
  laze_text_deinit(&text);
  laze_text_deinit(&difference);
  return equal;
}

static bool inlines_to(laze_context *context, const laze_module *module, const laze_graph *graph, char *message,
                       size_t size) {
  laze_graph *chosen, *inlined;
  laze_text difference;
  laze_error error;
  laze_status status = laze_module_choose(module, NULL, &chosen, &error);
  if (status == LAZE_OK) status = laze_module_inline(chosen, &inlined, &error);
  if (status != LAZE_OK) snprintf(message, size, "is not inlined: %s", error.message);
  if (status != LAZE_OK) return false;
  laze_text_init(&difference, context);
  bool equal = laze_graph_equal(graph, inlined, &difference);
  if (!equal) snprintf(message, size, "inlined, it is another graph: %s", laze_text_get(&difference));
  bool valid = laze_graph_verify(inlined, &error) == LAZE_OK;
  if (!valid) snprintf(message, size, "inlined, it is not valid: %s", error.message);
  bool same = laze_hash_equal(laze_graph_hash(graph, true), laze_graph_hash(inlined, true));
  if (equal && !same) snprintf(message, size, "inlined, it has another key");
  laze_text_deinit(&difference);
  laze_graph_destroy(inlined);
  return equal && valid && same;
}

static bool check_one(state *self, const laze_graph *graph, char *message, size_t size) {
  laze_text printed, text;
  laze_module *module;
  laze_error error;
  if (graph->body->result_count == 0) return true;
  laze_text_init(&printed, self->context);
  laze_text_init(&text, self->context);
  laze_graph_print(&printed, graph, true);
  write_module(&text, laze_text_get(&printed), graph->body->result_count);
  laze_status status = read_module(self->context, &text, &module, &error);
  /* Sizes that stand in attributes alone cannot be said by a call. */
  bool right = status != LAZE_OK && strstr(error.message, "call: no parameter of @f says what its size") != NULL;
  if (status != LAZE_OK && !right) snprintf(message, size, "%s\n%.900s", error.message, laze_text_get(&text));
  if (status == LAZE_OK) {
    right = laze_module_verify(module, &error) == LAZE_OK;
    if (!right) snprintf(message, size, "%s", error.message);
    right = right && reads_back(self->context, module, message, size) &&
            inlines_to(self->context, module, graph, message, size);
    laze_module_destroy(module);
    self->inlined++;
  }
  laze_text_deinit(&printed);
  laze_text_deinit(&text);
  return right;
}

static bool functions_are_their_graphs(void *data, const laze_graph *graph, uint64_t seed, char *message, size_t size) {
  state *self = data;
  laze_graph *symbolic;
  const int64_t *bindings;
  laze_error error;
  (void)seed;
  if (!check_one(self, graph, message, size)) return false;
  if (laze_graph_symbolise(graph, &symbolic, &bindings, &error) != LAZE_OK) {
    snprintf(message, size, "cannot be made symbolic: %s", error.message);
    return false;
  }
  bool right = check_one(self, symbolic, message, size);
  laze_graph_destroy(symbolic);
  return right;
}

START_TEST(calling_a_random_graph_is_the_graph) {
  state self = {.context = test_context(NULL)};
  test_check_graphs(self.context, 500, &(test_graph_options){1, 30, false, TEST_SHAPES_SMALL, LAZE_DTYPE_NONE, false},
                    functions_are_their_graphs, &self);
  ck_assert_int_gt(self.inlined, test_count(520)); /* those of constant sizes, and some of the 500 symbolic ones */
  laze_context_release(self.context);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("modules");
  TCase *tests = tcase_create("random modules");
  tcase_set_timeout(tests, 0);
  tcase_add_test(tests, calling_a_random_graph_is_the_graph);
  suite_add_tcase(suite, tests);
  return test_run_suite(suite);
}
