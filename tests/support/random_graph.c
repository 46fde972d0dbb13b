#include "tests/support/random_graph.h"

#include "ir/op.gen.h"
#include "tests/support/random_call.h"
#include "tests/support/run.h"

/* What shows the sign and the other bits of a NaN, which no operator promises (docs/semantics.md). */
static bool shows_bits(laze_op op) {
  return op == LAZE_OP__BITCAST || op == LAZE_OP_VIEW_DTYPE || op == LAZE_OP_VIEW_COPY_DTYPE || op == LAZE_OP_SIGNBIT ||
         op == LAZE_OP_COPYSIGN || op == LAZE_OP_COPYSIGN_SCALAR;
}

/* Classes are drawn first: most operators are elementwise, but the others are where graphs are cut. */
static laze_op random_operator(test_random *random, const test_graph_options *options) {
  static const uint8_t classes[] = {
      LAZE_CLASS_ELEMENTWISE, LAZE_CLASS_ELEMENTWISE, LAZE_CLASS_ELEMENTWISE, LAZE_CLASS_ELEMENTWISE,
      LAZE_CLASS_MOVEMENT,    LAZE_CLASS_MOVEMENT,    LAZE_CLASS_MOVEMENT,    LAZE_CLASS_REDUCTION,
      LAZE_CLASS_REDUCTION,   LAZE_CLASS_INDEXING,    LAZE_CLASS_CREATION,    LAZE_CLASS_COMPOSITE,
      LAZE_CLASS_COMPOSITE,   LAZE_CLASS_COMPOSITE,   LAZE_CLASS_PRODUCT,     LAZE_CLASS_SCAN};
  uint8_t wanted = classes[test_random_below(random, sizeof classes)];
  for (;;) {
    laze_op op = (laze_op)(1 + test_random_below(random, laze_op_count - 1));
    const laze_op_info *info = laze_op_get(op);
    if (info->op_class != wanted || !test_is_callable(op)) continue;
    if (options->exact && !info->exact) continue;
    if ((options->exact || options->hides_bits) && shows_bits(op)) continue;
    return op;
  }
}

/* The last value, and now and then others: what nothing uses, so that most of the graph is alive, or anything. */
static bool choose_outputs(test_caller *caller) {
  laze_value outputs[12];
  int64_t count = 1;
  outputs[0] = caller->pool[caller->count - 1];
  for (int32_t i = caller->count - 1; i-- > 0 && count < 10;)
    if (!caller->used[i] && laze_graph_node(caller->graph, caller->pool[i])->op != LAZE_OP_PARAMETER)
      outputs[count++] = caller->pool[i];
  if (test_random_one_in(caller->random, 2)) count = 1 + test_random_below(caller->random, count);
  if (test_random_one_in(caller->random, 3))
    outputs[count++] = caller->pool[test_random_below(caller->random, caller->count)];
  return laze_block_set_results(caller->graph, caller->graph->body, outputs, count, NULL) == LAZE_OK;
}

laze_graph *test_random_graph(laze_context *context, test_random *random, const test_graph_options *options) {
  laze_graph *graph;
  test_caller caller;
  laze_error error;
  if (laze_graph_create(context, "random", &graph, &error) != LAZE_OK) return NULL;
  test_caller_init(&caller, graph, random);
  caller.shapes = options->shapes;
  caller.dtype = options->dtype;
  /* What is exact of real numbers need not be of complex ones, whose magnitude, say, is a root. Moves and arithmetic of
   * those are exact, and compared bit for bit where fusion alone differs. */
  caller.real = options->exact;
  if (options->shapes == TEST_SHAPES_LARGE) caller.most_elements = 400000;
  int64_t calls = options->least_calls + test_random_below(random, options->most_calls - options->least_calls + 1);
  for (int64_t attempts = 0; calls > 0 && attempts < 400; attempts++) {
    if (graph->body->parameter_count > TEST_MAX_VALUES - TEST_CALL_OPERANDS) break;
    bool called = test_random_call(&caller, random_operator(random, options), &error) == LAZE_OK;
    calls -= called && caller.count > 0;
  }
  if (caller.count > 0 && choose_outputs(&caller)) return graph;
  laze_graph_destroy(graph);
  return NULL;
}
