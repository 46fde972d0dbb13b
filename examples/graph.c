/* A graph of one dense layer, built by hand, compiled once with an open batch size, and run for three sizes. Needs no
 * lazy tensors: graph.h, compile.h and buffer.h alone. */
#include <laze/compile.h>
#include <stdio.h>

enum { FEATURES = 4, CLASSES = 3, LARGEST = 64 };

static const float weights[FEATURES][CLASSES] = {{1, 0, -1}, {0, 1, 0}, {2, 0, 1}, {0, -1, 1}};

/* softmax(x @ w), over the classes. */
static laze_status build(laze_graph *graph, laze_error *error) {
  int64_t n;
  laze_value x, w, product, result;
  laze_status status = laze_graph_size(graph, "n", &n, error);
  if (status == LAZE_OK) status = laze_graph_add_input(graph, "x", LAZE_F32, LAZE_SHAPE(n, FEATURES), &x, error);
  if (status == LAZE_OK) /* by reference: static memory needs no release */
    status = laze_graph_borrow_constant(graph, LAZE_F32, LAZE_SHAPE(FEATURES, CLASSES), weights, sizeof weights, NULL,
                                        NULL, &w, error);
  if (status == LAZE_OK) status = laze_graph_record(graph, "mm", LAZE_VALUES(x, w), &product, error);
  if (status != LAZE_OK) return status;
  const laze_argument arguments[] = {{.kind = LAZE_PASS_VALUE, .value.value = product},
                                     {.name = "dim", .kind = LAZE_PASS_INTEGER, .value.integer = 1}};
  const laze_graph_call call = {.struct_size = sizeof call,
                                .name = "softmax",
                                .arguments = arguments,
                                .argument_count = 2,
                                .label = "classes",
                                .file = __FILE__,
                                .line = __LINE__};
  status = laze_graph_record_call(graph, &call, &result, 1, NULL, error);
  return status == LAZE_OK ? laze_graph_set_results(graph, LAZE_VALUES(result), error) : status;
}

/* The probability of each class, for `n` equal rows, written to memory of ours. */
static laze_status run(laze_compiled *dense, int64_t n, laze_error *error) {
  float rows[LARGEST][FEATURES], classes[LARGEST][CLASSES];
  laze_array *x = NULL, *y = NULL;
  for (int64_t i = 0; i < n; i++)
    for (int k = 0; k < FEATURES; k++) rows[i][k] = (float)k / 2;
  laze_status status =
      laze_array_borrow(NULL, LAZE_F32, LAZE_SHAPE(n, FEATURES), rows, (size_t)n * sizeof *rows, NULL, NULL, &x, error);
  if (status == LAZE_OK)
    status = laze_array_borrow(NULL, LAZE_F32, LAZE_SHAPE(n, CLASSES), classes, (size_t)n * sizeof *classes, NULL, NULL,
                               &y, error);
  if (status == LAZE_OK) status = laze_compiled_run(dense, &x, 1, &y, 1, error);
  if (status == LAZE_OK)
    printf("%2lld rows, the last: %.3f %.3f %.3f\n", (long long)n, classes[n - 1][0], classes[n - 1][1],
           classes[n - 1][2]);
  laze_array_release(x);
  laze_array_release(y);
  return status;
}

int main(void) {
  laze_graph *graph = NULL;
  laze_compiled *dense = NULL;
  laze_error error;
  char text[1024];
  laze_status status = laze_graph_create(NULL, "dense", &graph, &error);
  if (status == LAZE_OK) status = build(graph, &error);
  if (status == LAZE_OK) status = laze_graph_format(graph, text, sizeof text, NULL, &error);
  if (status == LAZE_OK) printf("%s", text);
  if (status == LAZE_OK) status = laze_compile_graph(graph, NULL, &dense, &error);
  for (int64_t n = 1; n <= LARGEST && status == LAZE_OK; n *= 8) status = run(dense, n, &error);
  laze_compiled_release(dense);
  laze_graph_release(graph);
  if (status != LAZE_OK) fprintf(stderr, "%s\n", error.message);
  return status != LAZE_OK;
}
