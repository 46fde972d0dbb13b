/* Joint graphs of forward and backward pass, and how they are cut in two (row 4.7). */
#include "ir/signature.h"
#include "tests/support/failing_allocator.h"
#include "tests/unit/tracing/support.h"

#include <laze/trace.h>

/* Two layers with a long elementwise part, of which a partition may compute much again. */
static laze_status layers(void *self, laze_tensor *const *in, laze_tensor **out, laze_error *failure) {
  (void)self, (void)failure;
  laze_tensor *hidden = laze_matmul(in[0], in[1]);
  laze_tensor *curved = laze_mul(laze_sigmoid(laze_mul(hidden, 1.5)), laze_exp(laze_neg(laze_square(hidden))));
  out[0] = laze_matmul(laze_tanh(curved), in[2]);
  out[1] = laze_mean(laze_square(out[0]));
  return LAZE_OK;
}

static laze_array *array_of(laze_tensor *tensor) {
  laze_array *array;
  assert_ok(laze_tensor_to_array(tensor, &array, &error));
  return array;
}

static void run(laze_graph *graph, laze_array *const *inputs, laze_array **outputs) {
  laze_compiled *compiled;
  assert_ok(laze_graph_verify(graph, &error));
  assert_ok(laze_compile_graph(graph, NULL, &compiled, &error));
  assert_ok(laze_compiled_run(compiled, inputs, laze_graph_input_count(graph), outputs, laze_graph_result_count(graph),
                              &error));
  laze_compiled_release(compiled);
}

static laze_graph *trace_layers(laze_tensor **inputs, laze_joint *counts) {
  laze_graph *joint;
  inputs[0] = matrix(6, 4, -0.5f);
  inputs[1] = leaf(matrix(4, 8, 0.25f));
  inputs[2] = leaf(matrix(8, 3, -1));
  *counts = (laze_joint){.struct_size = sizeof *counts};
  assert_ok(laze_trace_joint(layers, NULL, inputs, 3, 2, NULL, &joint, counts, &error));
  ck_assert_int_eq(counts->tangent_count, 2);
  ck_assert_int_eq(counts->gradient_count, 2);
  ck_assert_int_eq(laze_graph_input_count(joint), 5);
  ck_assert_int_eq(laze_graph_result_count(joint), 4);
  return joint;
}

/* Forward and backward together give what backward() does, and what is saved in between is less with the cut. */
START_TEST(row_4_7_partitions_compute_the_same_and_the_cut_saves_less) {
  laze_tensor *inputs[3], *outputs[2], *gradients[2];
  laze_joint counts;
  int64_t saved[2];
  laze_graph *joint = trace_layers(inputs, &counts);
  laze_tensor *tangents[] = {matrix(6, 3, 1), laze_full(context, LAZE_SHAPE_SCALAR, 2, LAZE_F32)};
  assert_ok(layers(NULL, inputs, outputs, &error));
  assert_ok(laze_grad(outputs, tangents, 2, inputs + 1, 2, 0, gradients, &error));
  laze_array *wanted[] = {array_of(outputs[0]), array_of(outputs[1]), array_of(gradients[0]), array_of(gradients[1])};
  for (int mode = LAZE_PARTITION_DEFAULT; mode <= LAZE_PARTITION_MIN_CUT; mode++) {
    laze_partition cut = {.struct_size = sizeof cut};
    laze_array *given[3], *between[32] = {NULL}, *backward[34], *found[2] = {NULL};
    assert_ok(laze_graph_partition(joint, counts.output_count, counts.tangent_count, mode, &cut, &error));
    saved[mode] = cut.saved_bytes;
    for (int i = 0; i < 3; i++) given[i] = array_of(inputs[i]);
    ck_assert_int_eq(laze_graph_input_count(cut.forward), 3);
    ck_assert_int_eq(laze_graph_result_count(cut.forward), 2 + cut.saved_count);
    run(cut.forward, given, between);
    for (int i = 0; i < cut.saved_count; i++) backward[i] = between[2 + i];
    for (int i = 0; i < 2; i++) backward[cut.saved_count + i] = array_of(tangents[i]);
    run(cut.backward, backward, found);
    laze_array *got[] = {between[0], between[1], found[0], found[1]};
    for (int i = 0; i < 4; i++) {
      ck_assert_int_eq(laze_array_bytes(got[i]), laze_array_bytes(wanted[i]));
      const float *a = laze_array_data(got[i]), *b = laze_array_data(wanted[i]);
      for (int64_t k = 0; k < laze_array_bytes(got[i]) / 4; k++) ck_assert_float_eq_tol(a[k], b[k], 1e-5f);
    }
    for (int i = 0; i < 3; i++) laze_array_release(given[i]);
    for (int i = 0; i < 2; i++) laze_array_release(backward[cut.saved_count + i]), laze_array_release(found[i]);
    for (int i = 0; i < 2 + cut.saved_count; i++) laze_array_release(between[i]);
    laze_graph_release(cut.forward);
    laze_graph_release(cut.backward);
  }
  ck_assert_msg(saved[1] < saved[0], "default saves %lld bytes, the cut %lld", (long long)saved[0],
                (long long)saved[1]);
  for (int i = 0; i < 4; i++) laze_array_release(wanted[i]);
  laze_graph_release(joint);
}
END_TEST

enum { WIDTH = 16, ROWS = 32, LAYERS = 3, BLOCK_PARAMETERS = 6 };

/* Some layers of a transformer, which share their weights, and their loss. */
static laze_status transformer(void *self, laze_tensor *const *in, laze_tensor **out, laze_error *failure) {
  (void)self, (void)failure;
  laze_tensor *x = in[0];
  for (int i = 0; i < LAYERS; i++) {
    laze_tensor *n = laze_layer_norm(x, WIDTH, NULL, NULL, 1e-5, true);
    laze_tensor *scores = laze_matmul(laze_matmul(n, in[1]), laze_t(laze_matmul(n, in[2])));
    x = laze_add(x, laze_matmul(laze_softmax(laze_mul(scores, 0.25), 1), laze_matmul(n, in[3])));
    n = laze_layer_norm(x, WIDTH, NULL, NULL, 1e-5, true);
    x = laze_add(x, laze_matmul(laze_gelu(laze_matmul(n, in[4])), in[5]));
  }
  out[0] = laze_mean(laze_square(x));
  return LAZE_OK;
}

/* Bytes of tensors that forward and backward graph take at most, beyond what was there before. */
static int64_t peak_of(const laze_partition *cut, laze_array *const *inputs) {
  laze_array *all[128] = {NULL}, *gradients[BLOCK_PARAMETERS] = {NULL}, **saved = all + 1;
  int64_t before, peak;
  const float one = 1;
  laze_metric_reset(context);
  assert_ok(laze_metric_read(context, "peak_bytes", &before, &error));
  run(cut->forward, inputs, all);
  laze_array_release(all[0]);
  assert_ok(
      laze_array_from_data(context, LAZE_F32, LAZE_SHAPE_SCALAR, &one, sizeof one, &saved[cut->saved_count], &error));
  run(cut->backward, saved, gradients);
  assert_ok(laze_metric_read(context, "peak_bytes", &peak, &error));
  for (int i = 0; i <= cut->saved_count; i++) laze_array_release(saved[i]);
  for (int i = 0; i < laze_graph_result_count(cut->backward); i++) laze_array_release(gradients[i]);
  return peak - before;
}

/* What is saved less must be memory that is not there at the peak, when the backward pass has temporaries of its own.
 */
START_TEST(row_4_7_the_peak_of_a_transformer_step_is_lower_with_the_cut) {
  laze_tensor *inputs[] = {
      matrix(ROWS, WIDTH, -0.5f),        leaf(matrix(WIDTH, WIDTH, -0.25f)),    leaf(matrix(WIDTH, WIDTH, -0.75f)),
      leaf(matrix(WIDTH, WIDTH, -0.5f)), leaf(matrix(WIDTH, 4 * WIDTH, -0.5f)), leaf(matrix(4 * WIDTH, WIDTH, -0.5f))};
  laze_array *arrays[BLOCK_PARAMETERS];
  laze_joint counts = {.struct_size = sizeof counts};
  laze_graph *joint;
  int64_t peaks[2];
  assert_ok(laze_trace_joint(transformer, NULL, inputs, BLOCK_PARAMETERS, 1, NULL, &joint, &counts, &error));
  for (int i = 0; i < BLOCK_PARAMETERS; i++) arrays[i] = array_of(inputs[i]);
  for (int mode = LAZE_PARTITION_DEFAULT; mode <= LAZE_PARTITION_MIN_CUT; mode++) {
    laze_partition cut = {.struct_size = sizeof cut};
    assert_ok(laze_graph_partition(joint, counts.output_count, counts.tangent_count, mode, &cut, &error));
    peaks[mode] = peak_of(&cut, arrays);
    laze_graph_release(cut.forward);
    laze_graph_release(cut.backward);
  }
  ck_assert_msg(peaks[1] < peaks[0], "at the peak %lld bytes, with the cut %lld", (long long)peaks[0],
                (long long)peaks[1]);
  for (int i = 0; i < BLOCK_PARAMETERS; i++) laze_array_release(arrays[i]);
  laze_graph_release(joint);
}
END_TEST

/* What costs is computed once: the products of the forward pass are in the forward graph alone. */
START_TEST(row_4_7_products_are_not_computed_again) {
  static char text[1 << 16];
  laze_tensor *inputs[3];
  laze_joint counts;
  laze_graph *joint = trace_layers(inputs, &counts);
  laze_partition cut = {.struct_size = sizeof cut};
  int products = 0;
  assert_ok(
      laze_graph_partition(joint, counts.output_count, counts.tangent_count, LAZE_PARTITION_MIN_CUT, &cut, &error));
  assert_ok(laze_graph_format(cut.backward, text, sizeof text, NULL, &error));
  for (const char *at = text; (at = strstr(at, " = mm ")) != NULL; at++) products++;
  ck_assert_int_le(products, 3); /* dw of both layers, and what goes through the second */
  ck_assert_ptr_nonnull(strstr(text, "%tangent: f32[6,3]"));
  laze_graph_release(cut.forward);
  laze_graph_release(cut.backward);
  laze_graph_release(joint);
}
END_TEST

/* Whoever runs a forward graph finds what it returns by its place, and by its name. */
START_TEST(row_4_4_forward_results_are_in_order) {
  laze_tensor *inputs[3];
  laze_joint counts;
  laze_graph *joint = trace_layers(inputs, &counts);
  laze_partition cut = {.struct_size = sizeof cut};
  assert_ok(laze_graph_partition(joint, counts.output_count, counts.tangent_count, 0, &cut, &error));
  ck_assert_int_eq(laze_graph_result_role(cut.forward, 0).kind, LAZE_SIGNATURE_OUTPUT);
  ck_assert_int_eq(laze_graph_result_role(cut.forward, 1).kind, LAZE_SIGNATURE_LOSS);
  for (int i = 2; i < 2 + cut.saved_count; i++)
    ck_assert_int_eq(laze_graph_result_role(cut.forward, i).kind, LAZE_SIGNATURE_SAVED);
  laze_role inputs_of[] = {{0}, {0}, {0}}, results_of[32] = {{.kind = LAZE_SIGNATURE_SAVED}};
  results_of[1].kind = LAZE_SIGNATURE_OUTPUT;
  for (int i = 2; i < 2 + cut.saved_count; i++) results_of[i].kind = LAZE_SIGNATURE_SAVED;
  assert_fails(laze_graph_set_signature(cut.forward, inputs_of, 3, results_of, 2 + cut.saved_count, &error),
               LAZE_INVALID_ARGUMENT, "result 1 is output behind saved");
  laze_graph_release(cut.forward);
  laze_graph_release(cut.backward);
  laze_graph_release(joint);
}
END_TEST

/* What is what is in the file: another program knows parameters, gradients and the loss. */
START_TEST(row_4_12_signatures_name_parameters_gradients_and_loss) {
  static char text[1 << 16];
  laze_tensor *inputs[3];
  laze_joint counts;
  size_t size;
  laze_graph *joint = trace_layers(inputs, &counts), *again;
  assert_ok(laze_graph_format(joint, text, sizeof text, &size, &error));
  ck_assert_msg(strstr(text, "signature (input, parameter, parameter, tangent, tangent) -> (output, loss, "
                             "gradient(arg1), gradient(arg2))\n") != NULL,
                "%.200s", text);
  assert_ok(laze_graph_parse(context, text, (int64_t)size, NULL, &again, &error));
  ck_assert_int_eq(laze_graph_input_role(again, 1).kind, LAZE_SIGNATURE_PARAMETER);
  ck_assert_int_eq(laze_graph_result_role(again, 2).kind, LAZE_SIGNATURE_GRADIENT);
  ck_assert_str_eq(laze_graph_result_role(again, 2).of, "arg1");
  laze_graph_release(again);
  laze_graph_release(joint);
}
END_TEST

/* A signature that is not the graph's is refused, with its line. */
START_TEST(wrong_signatures_are_refused) {
  static const char *const bad[][2] = {
      {"signature (input) -> (output)", "it has 1 inputs and 1 results"},
      {"signature (input, loss) -> (output)", "input 1 cannot be loss"},
      {"signature (input, input) -> (mutation)", "names an input"},
      {"signature (input, input) -> (mutation(z))", "which is no input"},
      {"signature (input, input) -> (output(x))", "names nothing"},
      {"signature (input, weight) -> (output)", "such as parameter"},
      {"signature (input, input)", "'->'"},
  };
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    char text[512];
    laze_graph *graph;
    const int size = snprintf(
        text, sizeof text, "laze 1\n%s\ngraph @g(%%x: f32[2], %%y: f32[2]) -> f32[2] {\n  return %%x\n}\n", bad[i][0]);
    assert_fails(laze_graph_parse(context, text, size, "bad.lz", &graph, &error), LAZE_INVALID_ARGUMENT, bad[i][1]);
    ck_assert_ptr_nonnull(strstr(error.message, "bad.lz:"));
  }
}
END_TEST

/* Wrong counts, modes and graphs are refused, and leave nothing. */
START_TEST(what_cannot_be_cut_is_refused) {
  static const char dependent[] = "laze 1\n"
                                  "graph @g(%x: f32[2], %t: f32[2]) -> f32[2], f32[2] {\n"
                                  "  %0 = mul %x, %t\n"
                                  "  return %0, %0\n"
                                  "}\n";
  static const char open[] = "laze 1\ngraph @g(%x: f32[n], %t: f32[n]) -> f32[n], f32[n] {\n  return %x, %t\n}\n";
  laze_graph *graph;
  laze_partition cut = {.struct_size = sizeof cut};
  assert_ok(laze_graph_parse(context, dependent, sizeof dependent - 1, NULL, &graph, &error));
  assert_fails(laze_graph_partition(graph, 3, 1, 0, &cut, &error), LAZE_INVALID_ARGUMENT, "2 results");
  assert_fails(laze_graph_partition(graph, 1, 1, 7, &cut, &error), LAZE_INVALID_ARGUMENT, "mode 7");
  assert_fails(laze_graph_partition(graph, 1, 1, 0, &cut, &error), LAZE_INVALID_ARGUMENT, "depends on a tangent");
  ck_assert_ptr_null(cut.forward);
  laze_graph_release(graph);
  assert_ok(laze_graph_parse(context, open, sizeof open - 1, NULL, &graph, &error));
  assert_fails(laze_graph_partition(graph, 1, 1, 0, &cut, &error), LAZE_UNSUPPORTED, "no numbers");
  cut.struct_size = 1;
  assert_fails(laze_graph_partition(graph, 1, 1, 0, &cut, &error), LAZE_INVALID_ARGUMENT, "struct_size");
  laze_graph_release(graph);
}
END_TEST

static laze_status ignores(void *self, laze_tensor *const *in, laze_tensor **out, laze_error *failure) {
  (void)self, (void)failure;
  out[0] = laze_mul(in[0], in[1]);
  return LAZE_OK;
}

/* An input that nothing depends on has a gradient of zeros, and one is there for each that requires it. */
START_TEST(unused_inputs_have_gradients_of_zeros) {
  laze_tensor *inputs[] = {leaf(matrix(2, 2, 0)), matrix(2, 2, 1), leaf(matrix(3, 1, 0))};
  laze_joint counts = {.struct_size = sizeof counts};
  laze_graph *joint;
  laze_value_type type;
  assert_ok(laze_trace_joint(ignores, NULL, inputs, 3, 1, NULL, &joint, &counts, &error));
  ck_assert_int_eq(counts.gradient_count, 2);
  assert_ok(laze_graph_get_type(joint, laze_graph_result(joint, 2), &type, &error));
  ck_assert_int_eq(type.sizes[0], 3);
  laze_graph_release(joint);
  counts.struct_size = 0;
  assert_fails(laze_trace_joint(ignores, NULL, inputs, 3, 1, NULL, &joint, &counts, &error), LAZE_INVALID_ARGUMENT,
               "struct_size");
}
END_TEST

static laze_status lost_write(void *self, laze_tensor *const *in, laze_tensor **out, laze_error *failure) {
  (void)self, (void)failure;
  laze_tensor *y = laze_mul(in[0], 2);
  laze_add_(y, laze_zeros(context, 5, LAZE_F32));
  out[0] = y;
  return LAZE_OK;
}

static laze_status ends_the_trace(void *self, laze_tensor *const *in, laze_tensor **out, laze_error *failure) {
  const bool *another = self;
  laze_tensor *traced[1];
  out[0] = laze_exp(in[0]);
  laze_status status = laze_trace_end(context, NULL, 0, NULL, failure);
  if (status == LAZE_OK && *another) status = laze_trace_begin(context, in, 1, NULL, traced, failure);
  return status;
}

static laze_status says_nothing(void *self, laze_tensor *const *in, laze_tensor **out, laze_error *failure) {
  (void)self, (void)in, (void)out, (void)failure;
  return LAZE_NOT_FOUND;
}

/* What goes wrong in the function is an error of the trace, and the next one may begin. */
START_TEST(faults_of_the_function_are_errors) {
  laze_tensor *x = leaf(matrix(2, 2, 0)), *inputs[] = {x, x};
  laze_joint counts = {.struct_size = sizeof counts};
  laze_graph *joint;
  assert_fails(laze_trace_joint(lost_write, NULL, &x, 1, 1, NULL, &joint, &counts, &error), LAZE_INVALID_ARGUMENT,
               "laze_add: shapes");
  ck_assert_ptr_null(joint);
  for (int round = 0; round < 2; round++) {
    bool another = round == 1;
    assert_fails(laze_trace_joint(ends_the_trace, &another, &x, 1, 1, NULL, &joint, &counts, &error),
                 LAZE_FAILED_PRECONDITION, "laze_trace_joint: the function ended the trace");
    ck_assert_ptr_null(joint);
  }
  assert_fails(laze_trace_joint(says_nothing, NULL, &x, 1, 1, NULL, &joint, &counts, &error), LAZE_NOT_FOUND,
               "laze_trace_joint: the function failed with NOT_FOUND");
  assert_ok(laze_trace_joint(ignores, NULL, inputs, 2, 1, NULL, &joint, &counts, &error));
  laze_graph_release(joint);
}
END_TEST

/* A signature that counts other inputs or results than the graph could be saved, but not loaded. */
START_TEST(a_signature_goes_when_inputs_or_results_change) {
  static const char text[] = "laze 1\n"
                             "signature (parameter) -> (loss)\n"
                             "graph @g(%x: f32[2]) -> f32[2] {\n"
                             "  return %x\n"
                             "}\n";
  for (int round = 0; round < 3; round++) {
    char printed[512];
    size_t size;
    laze_graph *graph, *again;
    laze_value y;
    assert_ok(laze_graph_parse(context, text, sizeof text - 1, NULL, &graph, &error));
    const laze_value x = laze_graph_input(graph, 0);
    if (round == 0) assert_ok(laze_graph_add_input(graph, "y", LAZE_F32, LAZE_SHAPE(2), &y, &error));
    if (round == 1) assert_ok(laze_graph_set_results(graph, LAZE_VALUES(x, x), &error));
    if (round == 2) assert_ok(laze_graph_set_results(graph, LAZE_VALUES(x), &error)); /* as many */
    ck_assert_int_eq(laze_graph_input_role(graph, 0).kind,
                     round == 2 ? LAZE_SIGNATURE_PARAMETER : LAZE_SIGNATURE_INPUT);
    assert_ok(laze_graph_verify(graph, &error));
    assert_ok(laze_graph_format(graph, printed, sizeof printed, &size, &error));
    assert_ok(laze_graph_parse(context, printed, (int64_t)size, NULL, &again, &error));
    laze_graph_release(again);
    laze_graph_release(graph);
  }
}
END_TEST

/* And where one is of other counts all the same, the graph does not keep the rules. */
START_TEST(verifying_looks_at_the_signature) {
  static const char text[] =
      "laze 1\nsignature (parameter) -> (loss)\ngraph @g(%x: f32[2]) -> f32[2] {\n  return %x\n}\n";
  laze_graph *graph;
  assert_ok(laze_graph_parse(context, text, sizeof text - 1, NULL, &graph, &error));
  graph->signature->result_count = 0;
  assert_fails(laze_graph_verify(graph, &error), LAZE_INTERNAL, "1 inputs and 0 results");
  laze_graph_release(graph);
}
END_TEST

/* Memory may be out at any call: an error, no graphs, nothing lost. */
START_TEST(memory_may_run_out_at_any_point) {
  static const char text[] = "laze 1\n"
                             "graph @g(%x: f32[40], %t: f32[40]) -> f32[40], f32[40] {\n"
                             "  %0 = tanh %x\n"
                             "  %1 = mul %0, %0\n"
                             "  %2 = mul %t, %1\n"
                             "  return %0, %2\n"
                             "}\n";
  for (int64_t at = 1;; at++) {
    test_failing_allocator state = {0};
    laze_context *own;
    laze_graph *graph;
    laze_error failure;
    laze_partition cut = {.struct_size = sizeof cut};
    ck_assert_int_eq(test_failing_context(&state, "interp", "", "", &own), LAZE_OK);
    ck_assert_int_eq(laze_graph_parse(own, text, sizeof text - 1, NULL, &graph, NULL), LAZE_OK);
    state.refuse_at = state.calls + at;
    const laze_status status = laze_graph_partition(graph, 1, 1, LAZE_PARTITION_MIN_CUT, &cut, &failure);
    const bool reached = state.calls >= state.refuse_at;
    ck_assert((status == LAZE_OK) == (cut.forward && cut.backward));
    laze_graph_release(cut.forward);
    laze_graph_release(cut.backward);
    laze_graph_release(graph);
    laze_context_release(own);
    ck_assert_int_eq(state.live, 0);
    if (!reached) break;
    ck_assert_int_eq(status, LAZE_OUT_OF_MEMORY);
  }
}
END_TEST

int main(void) {
  Suite *suite = suite_create("joint");
  TCase *tests = tcase_create("all");
  tcase_set_timeout(tests, 300);
  tcase_add_checked_fixture(tests, set_up, tear_down);
  tcase_add_test(tests, row_4_7_partitions_compute_the_same_and_the_cut_saves_less);
  tcase_add_test(tests, row_4_7_the_peak_of_a_transformer_step_is_lower_with_the_cut);
  tcase_add_test(tests, row_4_7_products_are_not_computed_again);
  tcase_add_test(tests, row_4_4_forward_results_are_in_order);
  tcase_add_test(tests, row_4_12_signatures_name_parameters_gradients_and_loss);
  tcase_add_test(tests, wrong_signatures_are_refused);
  tcase_add_test(tests, what_cannot_be_cut_is_refused);
  tcase_add_test(tests, unused_inputs_have_gradients_of_zeros);
  tcase_add_test(tests, faults_of_the_function_are_errors);
  tcase_add_test(tests, a_signature_goes_when_inputs_or_results_change);
  tcase_add_test(tests, verifying_looks_at_the_signature);
  tcase_add_test(tests, memory_may_run_out_at_any_point);
  suite_add_tcase(suite, tests);
  return test_run_suite(suite);
}
