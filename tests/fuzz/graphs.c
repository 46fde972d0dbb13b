/* Random graphs and modules whose every choice is made by the input (tests/support/random_graph.h, random_text.h), so
 * that a fuzzer can steer them: both interpreters give the same bits, and the text reads back. */
#include "ir/text/text.h"
#include "tests/fuzz/fuzz.h"
#include "tests/support/loop_backend.h"
#include "tests/support/random_graph.h"
#include "tests/support/random_text.h"
#include "tests/support/run.h"

#include <string.h>

static void check_text(const laze_graph *graph) {
  laze_text text;
  laze_graph *again;
  laze_error error = {0};
  laze_text_init(&text, graph->context);
  laze_graph_print(&text, graph, true);
  if (laze_graph_parse(graph->context, laze_text_get(&text), text.size, "printed", &again, &error) != LAZE_OK)
    fuzz_fail("what is printed is refused: %s\n%s", error.message, laze_text_get(&text));
  if (!laze_graph_equal(graph, again, NULL)) fuzz_fail("reads back as another graph:\n%s", laze_text_get(&text));
  laze_graph_destroy(again);
  laze_text_deinit(&text);
}

static void run(const laze_graph *graph) {
  laze_context *context = graph->context;
  const laze_backend *interp;
  laze_error errors[2] = {{0}, {0}};
  test_arrays inputs, left, right;
  test_random random = {.state = 7};
  test_range range = {.low = -4, .high = 4, .special = true};
  char message[256] = "";
  if (laze_backend_find(context, "interp", &interp, &errors[0]) != LAZE_OK) fuzz_fail("%s", errors[0].message);
  test_inputs(context, graph, &random, &range, &inputs);
  laze_status first = test_run(context, interp, graph, NULL, &inputs, &left, &errors[0]);
  laze_status second = test_run(context, &test_backend_loop, graph, NULL, &inputs, &right, &errors[1]);
  if (first != second || (first == LAZE_OK && !test_arrays_same(&left, &right, message, sizeof message))) {
    test_print_graph("this graph fails:", graph);
    fuzz_fail("the interpreter gives %s (%s), loops %s (%s) %s", laze_status_name(first), errors[0].message,
              laze_status_name(second), errors[1].message, message);
  }
  if (first == LAZE_OK) fuzz_note_accepted();
  test_arrays_release(&left);
  test_arrays_release(&right);
  test_arrays_release(&inputs);
}

/* Of a random module, which has regions, sizes that values give, kernels and functions, its graph. */
static laze_graph *read_random_module(laze_context *context, test_random *random) {
  laze_text text;
  laze_graph *graph;
  laze_error error = {0};
  test_register_kernels(context);
  laze_text_init(&text, context);
  test_write_random_module(&text, random, &(test_text_options){.values = true});
  laze_status status = laze_graph_parse(context, laze_text_get(&text), text.size, "random", &graph, &error);
  if (status != LAZE_OK) fuzz_fail("%s\n%s", error.message, laze_text_get(&text));
  laze_text_deinit(&text);
  return graph;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  laze_context *context = fuzz_context_create(NULL);
  test_random random = {.state = 1, .bytes = data, .left = size};
  test_graph_options options = {1, 12, true, TEST_SHAPES_SMALL, LAZE_DTYPE_NONE, false};
  laze_graph *graph = test_random_below(&random, 2) ? read_random_module(context, &random)
                                                    : test_random_graph(context, &random, &options);
  if (graph) {
    if (laze_graph_verify(graph, &(laze_error){0}) != LAZE_OK) fuzz_fail("a random graph is not valid");
    check_text(graph);
    run(graph);
    laze_graph_destroy(graph);
  }
  fuzz_context_destroy(context);
  return 0;
}
