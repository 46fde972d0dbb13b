/* Traces (laze/trace.h), row by row of docs/systems.md: what a function does with tensors is a graph of its own. */
#include "ir/op.h"
#include "tests/support/failing_allocator.h"
#include "tests/unit/tracing/support.h"

#include <laze/schema.h>
#include <laze/trace.h>

#include <unistd.h>

static laze_tensor *floats(laze_ints shape, const float *data, size_t count) {
  return laze_tensor_from_data(context, LAZE_F32, shape, data, count * sizeof *data);
}

static laze_tensor *three(float a, float b, float c) {
  const float data[] = {a, b, c};
  return floats(LAZE_SHAPE(3), data, 3);
}

/* The text of a graph; borrowed until the next. */
static const char *text_of(const laze_graph *graph) {
  static char text[16384];
  assert_ok(laze_graph_format(graph, text, sizeof text, NULL, &error));
  return text;
}

static bool has(const laze_graph *graph, const char *words) {
  return strstr(text_of(graph), words) != NULL;
}

static int count_of(const laze_graph *graph, const char *words) {
  int count = 0;
  for (const char *at = text_of(graph); (at = strstr(at, words)) != NULL; at += strlen(words)) count++;
  return count;
}

static laze_graph *trace(laze_traced_function function, void *self, laze_tensor *const *inputs, int32_t input_count,
                         int32_t output_count, int32_t flags) {
  laze_graph *graph;
  const laze_trace_options options = {.struct_size = sizeof options, .flags = flags};
  assert_ok(laze_trace_call(function, self, inputs, input_count, output_count, &options, &graph, &error));
  assert_ok(laze_graph_verify(graph, &error));
  return graph;
}

/* Runs a graph of one result on tensors; the result as floats. */
static void run(laze_graph *graph, laze_tensor *const *inputs, int32_t count, float *out, size_t size) {
  laze_compiled *compiled;
  laze_tensor *result;
  assert_ok(laze_compile_graph(graph, NULL, &compiled, &error));
  assert_ok(laze_compiled_call(compiled, inputs, count, &result, 1, &error));
  ck_assert_msg(laze_tensor_read(result, LAZE_F32, out, size) == LAZE_OK, "%s", laze_tensor_error(result));
  laze_compiled_release(compiled);
}

/* --- 3.1 --- */

static laze_status scale_and_relu(void *self, laze_tensor *const *in, laze_tensor **out, laze_error *failure) {
  (void)self, (void)failure;
  laze_tensor *scaled = laze_mul(in[0], in[1]);
  out[0] = laze_relu(scaled);
  return LAZE_OK;
}

/* A node a call, with its place and named inputs; what a call consists of is there once, as what it was recorded as. */
START_TEST(row_3_1_calls_are_nodes_with_places_and_names) {
  laze_tensor *inputs[] = {three(1, -2, 3), three(2, 2, 2)};
  static const char *const input_names[] = {"x", "scale"}, *const output_names[] = {"positive"};
  const laze_trace_options options = {
      .struct_size = sizeof options, .name = "scaled", .input_names = input_names, .output_names = output_names};
  laze_graph *graph;
  laze_node_info info = {.struct_size = sizeof info};
  assert_ok(laze_trace_call(scale_and_relu, NULL, inputs, 2, 1, &options, &graph, &error));
  ck_assert(has(graph, "graph @scaled(%x: f32[3], %scale: f32[3]) -> f32[3] {"));
  ck_assert_int_eq(count_of(graph, " = mul "), 1);
  ck_assert_int_eq(count_of(graph, " = maximum "), 1);
  ck_assert_int_eq(count_of(graph, "relu"), 0);
  ck_assert(has(graph, "name(\"positive\") loc("));
  assert_ok(laze_graph_get_node(graph, laze_graph_result(graph, 0).node, &info, &error));
  ck_assert_str_eq(info.operator_name, "maximum");
  ck_assert_str_eq(info.origin, "relu");
  ck_assert_ptr_nonnull(strstr(info.file, "traces_test.c:"));
  laze_graph_release(graph);
}
END_TEST

/* The same tensor given twice is two inputs: another run may give two. */
START_TEST(row_3_1_equal_inputs_stay_two) {
  laze_tensor *x = three(1, 2, 3), *inputs[] = {x, x};
  float got[3];
  laze_graph *graph = trace(scale_and_relu, NULL, inputs, 2, 1, 0);
  laze_tensor *others[] = {three(1, 2, 3), three(10, 10, -10)};
  run(graph, others, 2, got, sizeof got);
  ck_assert_float_eq(got[1], 20);
  ck_assert_float_eq(got[2], 0);
  laze_graph_release(graph);
}
END_TEST

/* What nobody needs is not in the graph, whatever else was recorded meanwhile. */
START_TEST(row_3_1_what_is_not_needed_is_left_out) {
  laze_tensor *x = three(1, 2, 3), *traced[1];
  laze_graph *graph;
  assert_ok(laze_trace_begin(context, &x, 1, NULL, traced, &error));
  laze_tensor *y = laze_exp(traced[0]);
  (void)laze_log(traced[0]);
  (void)laze_sin(x); /* of a tensor from outside */
  assert_ok(laze_trace_end(context, &y, 1, &graph, &error));
  ck_assert_int_eq(laze_graph_node_count(graph), 1);
  ck_assert_int_eq(laze_graph_input_count(graph), 1);
  laze_graph_release(graph);
}
END_TEST

/* --- 3.2 --- */

static laze_status early_and_late(void *self, laze_tensor *const *in, laze_tensor **out, laze_error *failure) {
  (void)self, (void)failure;
  out[0] = laze_softmax(laze_silu(in[0]), 0);
  return LAZE_OK;
}

/* Which operators are recorded as their parts is the table's: each is a node, or has an expansion. */
START_TEST(row_3_2_operators_are_nodes_or_their_parts) {
  for (int32_t i = 0; i < laze_operator_count(); i++) {
    const char *name = laze_operator_name(laze_operator_at(i));
    const laze_op_info *info = laze_op_get(laze_op_find(name));
    ck_assert_msg(info->infer || info->expand, "%s can neither be a node nor be expanded", name);
  }
  laze_tensor *x = three(1, 2, 3);
  laze_graph *graph = trace(early_and_late, NULL, &x, 1, 1, 0);
  ck_assert_int_eq(count_of(graph, "silu"), 0);     /* as its parts */
  ck_assert_int_eq(count_of(graph, "_softmax"), 1); /* kept whole for backends that have it */
  laze_graph_release(graph);
}
END_TEST

/* What cannot be in a graph is named, with its place; the call itself goes on. */
START_TEST(row_3_2_what_cannot_be_traced_is_named) {
  laze_tensor *x = three(1, -2, 3), *traced[1];
  laze_graph *graph;
  laze_tensor *outside = laze_masked_select(x, laze_gt(x, 0)); /* its size is not known */
  assert_ok(laze_trace_begin(context, &x, 1, NULL, traced, &error));
  laze_tensor *y = laze_add(laze_sum(traced[0]), laze_exp(outside));
  assert_fails(laze_trace_end(context, &y, 1, &graph, &error), LAZE_UNSUPPORTED, "exp: a tensor from outside");
  ck_assert_ptr_nonnull(strstr(error.message, "traces_test.c:"));
  ck_assert_ptr_null(graph);
  float got[2];
  ck_assert_int_eq(laze_tensor_read(y, LAZE_F32, got, sizeof got), LAZE_OK);
}
END_TEST

/* --- 3.3 --- */

static laze_status update(void *self, laze_tensor *const *in, laze_tensor **out, laze_error *failure) {
  laze_tensor *state = self;
  const laze_status status = laze_tensor_assign_error(state, laze_add(state, in[0]), failure);
  out[0] = laze_mul(state, 2);
  return status;
}

/* Writes are values: the graph has none, and computes what the function did. */
START_TEST(row_3_3_writes_are_recorded_as_the_values_they_give) {
  laze_tensor *state = laze_tensor_retain(three(1, 1, 1)), *x = three(1, 2, 3);
  float got[3];
  laze_graph *graph = trace(update, state, &x, 1, 1, 0);
  ck_assert_int_eq(count_of(graph, " = add "), 1);
  ck_assert_int_eq(count_of(graph, "= constant [1.0, 1.0, 1.0]"), 1); /* the value before the write */
  laze_tensor *other = three(9, 9, 9);
  run(graph, &other, 1, got, sizeof got);
  ck_assert_float_eq(got[0], 20);
  ck_assert_int_eq(laze_tensor_read(state, LAZE_F32, got, sizeof got), LAZE_OK);
  ck_assert_float_eq(got[2], 4); /* written once, while it was traced */
  laze_graph_release(graph);
  laze_tensor_release(state);
}
END_TEST

static laze_status write_through_views(void *self, laze_tensor *const *in, laze_tensor **out, laze_error *failure) {
  (void)self, (void)failure;
  laze_tensor *base = laze_clone(in[0]), *first = laze_slice(base, 0, 0, 2, 1), *last = laze_slice(base, 0, 1, 3, 1);
  laze_add_(last, 10);
  laze_mul_(in[0], 5); /* of the function's own */
  out[0] = base;
  out[1] = first; /* a view from before the write, which sees it */
  return LAZE_OK;
}

/* Writes through views are what they come to: the graph has neither, and a view that is returned has seen them. */
START_TEST(row_3_3_writes_through_views_are_functional) {
  laze_tensor *x = three(1, 2, 3), *other = three(4, 5, 6), *results[2];
  laze_compiled *compiled;
  float got[3];
  laze_graph *graph = trace(write_through_views, NULL, &x, 1, 2, LAZE_TRACE_CHECK | LAZE_TRACE_STRICT);
  assert_ok(laze_compile_graph(graph, NULL, &compiled, &error));
  assert_ok(laze_compiled_call(compiled, &other, 1, results, 2, &error));
  ck_assert_int_eq(laze_tensor_read(results[0], LAZE_F32, got, sizeof got), LAZE_OK);
  ck_assert_float_eq(got[0], 4);
  ck_assert_float_eq(got[1], 15);
  ck_assert_float_eq(got[2], 16);
  ck_assert_int_eq(laze_tensor_read(results[1], LAZE_F32, got, 2 * sizeof *got), LAZE_OK);
  ck_assert_float_eq(got[0], 4);
  ck_assert_float_eq(got[1], 15);
  ck_assert_int_eq(laze_tensor_read(x, LAZE_F32, got, sizeof got), LAZE_OK);
  ck_assert_float_eq(got[2], 3);
  laze_compiled_release(compiled);
  laze_graph_release(graph);
}
END_TEST

/* A graph changes no memory: who wrote to what others have, a state or an input, is told so, with the line. */
START_TEST(row_3_3_a_write_to_what_others_have_is_warned_of) {
  laze_tensor *state = laze_tensor_retain(three(1, 1, 1)), *x = three(1, 2, 3), *traced[1];
  laze_graph *graph;
  char place[256];
  for (int round = 0; round < 3; round++) {
    *logged = 0;
    assert_ok(laze_trace_begin(context, &x, 1, NULL, traced, &error));
    snprintf(place, sizeof place, "%s:%d: laze_add_: what is written to ", __FILE__, __LINE__ + 2);
    laze_tensor *written = round == 0 ? laze_select(state, 0, 1) : traced[0];
    if (round < 2) laze_add_(written, 5);
    if (round == 2) assert_ok(laze_tensor_assign_error(state, traced[0], &error));
    assert_ok(laze_trace_end(context, &traced[0], 1, &graph, &error));
    ck_assert_msg(strstr(logged, round < 2 ? place : "laze_tensor_assign_error: what") == logged, "%s", logged);
    ck_assert_msg(strstr(logged, round == 1 ? "is input arg0 and" : "is from outside of the trace and") != NULL, "%s",
                  logged);
    laze_graph_release(graph);
  }
  laze_tensor_release(state);
}
END_TEST

static laze_status write_to_its_own(void *self, laze_tensor *const *in, laze_tensor **out, laze_error *failure) {
  (void)self, (void)failure;
  out[0] = laze_mul(in[0], 2);
  laze_add_(laze_slice(out[0], 0, 0, 2, 1), 1);
  laze_add_(out[0], 1);
  return LAZE_OK;
}

/* What a function made is its own, and its views are in the graph: there is nothing to warn of. */
START_TEST(row_3_3_writes_to_own_values_are_silent) {
  laze_tensor *x = three(1, 2, 3);
  laze_graph_release(trace(write_to_its_own, NULL, &x, 1, 1, LAZE_TRACE_CHECK | LAZE_TRACE_STRICT));
  ck_assert_str_eq(logged, "");
}
END_TEST

/* --- 3.4 --- */

static laze_status factories(void *self, laze_tensor *const *in, laze_tensor **out, laze_error *failure) {
  (void)self, (void)failure;
  out[0] = laze_add(in[0], laze_arange(context, 3, LAZE_F64));
  out[1] = laze_to(in[0], LAZE_BF16);
  return LAZE_OK;
}

/* What a factory was told is in the text, one attribute each. */
START_TEST(row_3_4_options_of_factories_are_attributes) {
  laze_tensor *x = three(1, 2, 3);
  laze_graph *graph = trace(factories, NULL, &x, 1, 2, 0);
  ck_assert(has(graph, "dtype=f64"));
  ck_assert(has(graph, "dtype=bf16 : bf16[3]"));
  ck_assert(has(graph, "size=[3]"));
  laze_graph_release(graph);
}
END_TEST

static laze_status noise(void *self, laze_tensor *const *in, laze_tensor **out, laze_error *failure) {
  const int64_t *state = self;
  (void)failure;
  laze_tensor *first = laze_rand(context, 3, state[0], state[1], LAZE_F32);
  laze_tensor *second = laze_rand(context, 3, state[0], state[1] + 3, LAZE_F32);
  out[0] = laze_add(in[0], laze_add(first, laze_mul(second, 10)));
  return LAZE_OK;
}

/* Random state is an input: a graph that always gave the same numbers would be useless for dropout. */
START_TEST(row_3_4_random_state_is_an_input) {
  int64_t state[] = {7, 100}, others[] = {8, 40};
  laze_tensor *x = three(0, 0, 0), *expected[1];
  float wanted[3], got[3];
  laze_graph *graph = trace(noise, state, &x, 1, 1, 0);
  ck_assert(has(graph, "(%arg0: f32[3], %seed: i64[], %offset: i64[])"));
  for (int round = 0; round < 2; round++) {
    int64_t *numbers = round ? others : state;
    assert_ok(noise(numbers, &x, expected, &error));
    ck_assert_int_eq(laze_tensor_read(expected[0], LAZE_F32, wanted, sizeof wanted), LAZE_OK);
    laze_tensor *inputs[] = {x, laze_tensor_from_scalar(context, LAZE_I64, laze_scalar_integer(numbers[0])),
                             laze_tensor_from_scalar(context, LAZE_I64, laze_scalar_integer(numbers[1]))};
    run(graph, inputs, 3, got, sizeof got);
    for (int i = 0; i < 3; i++) ck_assert_float_eq(got[i], wanted[i]);
  }
  laze_graph_release(graph);
}
END_TEST

/* --- 3.5 --- */

static laze_status layer(void *self, laze_tensor *const *in, laze_tensor **out, laze_error *failure) {
  (void)failure;
  out[0] = laze_softmax(laze_matmul(in[0], self), 1);
  return LAZE_OK;
}

/* A trace is a file that another program reads, checks and runs on other inputs of the same shapes. */
START_TEST(row_3_5_a_trace_is_saved_loaded_and_run) {
  char directory[] = "/tmp/laze-traces-XXXXXX", path[64], beside[80];
  float weights[5 * 4], data[2 * 5], wanted[8], got[8];
  for (int i = 0; i < 20; i++) weights[i] = (float)(i % 7) / 7;
  for (int i = 0; i < 10; i++) data[i] = (float)i;
  laze_tensor *w = floats(LAZE_SHAPE(5, 4), weights, 20), *x = floats(LAZE_SHAPE(2, 5), data, 10), *expected[1];
  laze_graph *graph = trace(layer, w, &x, 1, 1, LAZE_TRACE_CHECK), *again;
  ck_assert_ptr_nonnull(mkdtemp(directory));
  snprintf(path, sizeof path, "%s/layer.lz", directory);
  snprintf(beside, sizeof beside, "%s.weights", path);
  assert_ok(laze_graph_save(graph, path, &error));
  assert_ok(laze_graph_load(context, path, NULL, &again, &error));
  assert_ok(laze_graph_compare(graph, again, &error));
  for (int i = 0; i < 10; i++) data[i] = (float)(i * i) / 50;
  laze_tensor *other = floats(LAZE_SHAPE(2, 5), data, 10);
  assert_ok(layer(w, &other, expected, &error));
  ck_assert_int_eq(laze_tensor_read(expected[0], LAZE_F32, wanted, sizeof wanted), LAZE_OK);
  run(again, &other, 1, got, sizeof got);
  ck_assert_mem_eq(got, wanted, sizeof got); /* the same kernels in the same order */
  ck_assert_int_eq(unlink(beside) | unlink(path) | rmdir(directory), 0);
  laze_graph_release(graph);
  laze_graph_release(again);
}
END_TEST

/* Weights are not copied into the graph. */
START_TEST(row_3_5_tensors_from_outside_are_constants_by_reference) {
  float weights[20] = {1}, data[10] = {2};
  laze_tensor *w = floats(LAZE_SHAPE(5, 4), weights, 20), *x = floats(LAZE_SHAPE(2, 5), data, 10);
  laze_export export;
  int64_t bytes;
  laze_graph *graph = trace(layer, w, &x, 1, 1, 0);
  assert_ok(laze_tensor_export(w, &export, &error));
  const laze_value constant = {laze_graph_node_at(graph, 0), 0};
  ck_assert_ptr_eq(laze_graph_constant(graph, constant, &bytes), export.data);
  laze_export_release(&export);
  laze_graph_release(graph);
}
END_TEST

/* A value from outside that was not computed yet is, when the trace ends. */
START_TEST(row_3_5_pending_tensors_from_outside_are_computed) {
  float weights[20] = {1}, data[10] = {2};
  laze_tensor *w = laze_add(floats(LAZE_SHAPE(5, 4), weights, 20), 1), *x = floats(LAZE_SHAPE(2, 5), data, 10);
  laze_graph *graph = trace(layer, w, &x, 1, 1, 0);
  ck_assert_int_eq(count_of(graph, "add"), 0);
  ck_assert_int_eq(count_of(graph, "constant"), 1);
  laze_graph_release(graph);
}
END_TEST

static laze_status branch(void *self, laze_tensor *const *in, laze_tensor **out, laze_error *failure) {
  (void)self, (void)failure;
  if (laze_tensor_item(laze_sum(in[0])) > 0)
    out[0] = laze_exp(in[0]);
  else
    out[0] = laze_cos(in[0]);
  return LAZE_OK;
}

static laze_status bake(void *self, laze_tensor *const *in, laze_tensor **out, laze_error *failure) {
  (void)self, (void)failure;
  out[0] = laze_mul(in[0], laze_tensor_item(laze_select(in[0], 0, 1)));
  return LAZE_OK;
}

/* Control flow that was baked in is reported: as a warning, as an error, and with both source lines. */
START_TEST(row_3_5_control_flow_that_was_baked_in_is_reported) {
  laze_tensor *x = three(1, 2, 3);
  laze_trace_options options = {.struct_size = sizeof options};
  laze_graph *graph = trace(branch, NULL, &x, 1, 1, 0);
  ck_assert(has(graph, " = exp "));
  ck_assert_msg(strstr(logged, "was read while it was traced") && strstr(logged, "sum"), "%s", logged);
  laze_graph_release(graph);
  options.flags = LAZE_TRACE_STRICT;
  assert_fails(laze_trace_call(branch, NULL, &x, 1, 1, &options, &graph, &error), LAZE_FAILED_PRECONDITION,
               "was read while it was traced");
  ck_assert_ptr_null(graph);
  options.flags = LAZE_TRACE_CHECK;
  assert_fails(laze_trace_call(branch, NULL, &x, 1, 1, &options, &graph, &error), LAZE_FAILED_PRECONDITION, "is exp (");
  const char *first = strstr(error.message, "traces_test.c:");
  ck_assert_ptr_nonnull(first);
  ck_assert_ptr_nonnull(strstr(first + 1, "traces_test.c:"));
  ck_assert_ptr_nonnull(strstr(error.message, "cos ("));
}
END_TEST

/* And so is a number. */
START_TEST(row_3_5_constants_that_were_baked_in_are_reported) {
  laze_tensor *x = three(1, 2, 3);
  laze_graph *graph;
  const laze_trace_options options = {.struct_size = sizeof options, .flags = LAZE_TRACE_CHECK};
  assert_fails(laze_trace_call(bake, NULL, &x, 1, 1, &options, &graph, &error), LAZE_FAILED_PRECONDITION,
               "constant for mul");
}
END_TEST

/* Reading what does not follow from inputs is nobody's business. */
START_TEST(row_3_5_other_reads_are_allowed) {
  laze_tensor *x = three(1, 2, 3), *w = three(1, 1, 1), *traced[1];
  const laze_trace_options options = {.struct_size = sizeof options, .flags = LAZE_TRACE_STRICT};
  laze_graph *graph;
  assert_ok(laze_trace_begin(context, &x, 1, &options, traced, &error));
  laze_tensor *y = laze_add(traced[0], w);
  ck_assert_double_eq(laze_tensor_item(laze_select(w, 0, 0)), 1);
  assert_ok(laze_trace_end(context, &y, 1, &graph, &error));
  ck_assert_str_eq(logged, "");
  laze_graph_release(graph);
}
END_TEST

static laze_status pick(void *self, laze_tensor *const *in, laze_tensor **out, laze_error *failure) {
  (void)self, (void)failure;
  out[0] = laze_mul(laze_masked_select(in[0], laze_gt(in[0], 0)), 2);
  return LAZE_OK;
}

/* Sizes that values say are sizes of the graph: another input has another number of elements above 0. */
START_TEST(row_3_5_sizes_that_values_say_stay_open) {
  laze_tensor *x = three(1, -2, 3), *others = three(-1, -1, 4);
  float got[1];
  laze_graph *graph = trace(pick, NULL, &x, 1, 1, LAZE_TRACE_CHECK | LAZE_TRACE_STRICT);
  ck_assert(has(graph, "size_from"));
  run(graph, &others, 1, got, sizeof got);
  ck_assert_float_eq(got[0], 8);
  laze_graph_release(graph);
}
END_TEST

/* --- 3.6 --- */

static laze_status gradient(void *self, laze_tensor *const *in, laze_tensor **out, laze_error *failure) {
  (void)self;
  laze_tensor *loss = laze_sum(laze_mul(laze_tanh(in[0]), in[1]));
  out[1] = loss;
  return laze_grad(&loss, NULL, 1, in, 1, 0, out, failure);
}

/* A function that asks for gradients is one graph with them: the tracer is below autograd, which is not in it twice. */
START_TEST(row_3_6_gradients_are_nodes_like_others) {
  laze_tensor *inputs[] = {three(0.5f, -1, 2), three(1, 2, 3)}, *expected[2];
  float wanted[3], got[3];
  assert_ok(laze_tensor_require_grad(inputs[0], 1, &error));
  laze_graph *graph = trace(gradient, NULL, inputs, 2, 2, LAZE_TRACE_CHECK | LAZE_TRACE_STRICT);
  ck_assert_int_eq(count_of(graph, " = tanh "), 1);
  ck_assert_int_eq(laze_graph_input_count(graph), 2);
  laze_tensor *others[] = {three(1, 0.25f, -1), three(-1, 5, 0.5f)};
  laze_compiled *compiled;
  laze_tensor *results[2];
  assert_ok(laze_compile_graph(graph, NULL, &compiled, &error));
  assert_ok(laze_compiled_call(compiled, others, 2, results, 2, &error));
  assert_ok(laze_tensor_require_grad(others[0], 1, &error));
  assert_ok(gradient(NULL, others, expected, &error));
  ck_assert_int_eq(laze_tensor_read(expected[0], LAZE_F32, wanted, sizeof wanted), LAZE_OK);
  ck_assert_int_eq(laze_tensor_read(results[0], LAZE_F32, got, sizeof got), LAZE_OK);
  for (int i = 0; i < 3; i++) ck_assert_float_eq_tol(got[i], wanted[i], 1e-6f);
  laze_compiled_release(compiled);
  laze_graph_release(graph);
}
END_TEST

static laze_status train(void *self, laze_tensor *const *in, laze_tensor **out, laze_error *failure) {
  laze_tensor *w = self;
  laze_tensor *loss = laze_sum(laze_square(laze_sub(laze_mul(in[0], w), 1)));
  laze_status status = laze_tensor_set_grad(w, NULL, failure);
  if (status == LAZE_OK) status = laze_backward(loss, failure);
  if (status == LAZE_OK) out[0] = laze_sub(laze_detach(w), laze_mul(laze_tensor_grad(w), 0.1));
  return status;
}

/* The same by laze_backward(), for a leaf from outside. */
START_TEST(row_3_6_a_training_step_is_one_graph) {
  laze_tensor *w = laze_tensor_retain(three(1, 1, 1)), *x = three(1, 2, 3);
  float got[3];
  assert_ok(laze_tensor_require_grad(w, 1, &error));
  laze_graph *graph = trace(train, w, &x, 1, 1, LAZE_TRACE_CHECK);
  laze_tensor *other = three(0, 1, 2);
  run(graph, &other, 1, got, sizeof got);
  ck_assert_float_eq(got[0], 1);                   /* 1 - 0.1 * 2 * 0 * (0 - 1) */
  ck_assert_float_eq(got[1], 1);                   /* 1 - 0.1 * 2 * 1 * (1 - 1) */
  ck_assert_float_eq_tol(got[2], 1 - 0.4f, 1e-6f); /* 1 - 0.1 * 2 * 2 * (2 - 1) */
  laze_graph_release(graph);
  laze_tensor_release(w);
}
END_TEST

/* --- Whatever is wrong --- */

static laze_status fails(void *self, laze_tensor *const *in, laze_tensor **out, laze_error *failure) {
  (void)self, (void)in, (void)out;
  if (failure) snprintf(failure->message, sizeof failure->message, "the function's own error");
  if (failure) failure->code = LAZE_OUT_OF_RANGE;
  return LAZE_OUT_OF_RANGE;
}

static laze_status wrong_shapes(void *self, laze_tensor *const *in, laze_tensor **out, laze_error *failure) {
  (void)self, (void)failure;
  out[0] = laze_exp(laze_matmul(in[0], in[0]));
  out[0] = laze_add(out[0], laze_zeros(context, 5, LAZE_F32));
  return LAZE_OK;
}

static laze_status forgets(void *self, laze_tensor *const *in, laze_tensor **out, laze_error *failure) {
  (void)self, (void)in, (void)out, (void)failure;
  return LAZE_OK;
}

/* The trace ends whatever happens, so that the next one may begin; nothing that others have is changed. */
START_TEST(errors_end_the_trace) {
  laze_tensor *x = three(1, 2, 3), *traced[2];
  laze_graph *graph;
  assert_fails(laze_trace_call(fails, NULL, &x, 1, 1, NULL, &graph, &error), LAZE_OUT_OF_RANGE, "own error");
  laze_tensor *two = laze_reshape(laze_arange(context, 6, LAZE_F32), LAZE_SHAPE(2, 3));
  assert_fails(laze_trace_call(wrong_shapes, NULL, &two, 1, 1, NULL, &graph, &error), LAZE_INVALID_ARGUMENT, "matmul");
  assert_fails(laze_trace_call(forgets, NULL, &x, 1, 1, NULL, &graph, &error), LAZE_INVALID_ARGUMENT,
               "output 0 is NULL");
  assert_fails(laze_trace_end(context, &x, 1, &graph, &error), LAZE_FAILED_PRECONDITION, "no trace is open");
  assert_ok(laze_trace_begin(context, &x, 1, NULL, traced, &error));
  assert_fails(laze_trace_begin(context, &x, 1, NULL, traced + 1, &error), LAZE_FAILED_PRECONDITION, "a trace is open");
  assert_ok(laze_trace_end(context, NULL, 0, NULL, &error)); /* dropped */
  laze_tensor *none = NULL;
  assert_fails(laze_trace_begin(context, &none, 1, NULL, traced, &error), LAZE_INVALID_ARGUMENT, "NULL");
  const laze_trace_options old = {.struct_size = 4};
  assert_fails(laze_trace_begin(context, &x, 1, &old, traced, &error), LAZE_INVALID_ARGUMENT, "struct_size");
  laze_graph_release(trace(early_and_late, NULL, &x, 1, 1, 0));
}
END_TEST

static laze_status lost_write(void *self, laze_tensor *const *in, laze_tensor **out, laze_error *failure) {
  (void)self, (void)failure;
  laze_add_(in[0], laze_zeros(context, 5, LAZE_F32));
  out[0] = laze_exp(in[0]);
  return LAZE_OK;
}

static laze_status handled_failure(void *self, laze_tensor *const *in, laze_tensor **out, laze_error *failure) {
  (void)self, (void)failure;
  ck_assert_int_ne(laze_tensor_status(laze_matmul(in[0], laze_zeros(context, 5, LAZE_F32))), LAZE_OK);
  out[0] = laze_exp(in[0]);
  return LAZE_OK;
}

/* The handle of a failed write is seldom looked at: without the error there would be a graph that lacks the write. */
START_TEST(a_failed_call_that_nobody_read_fails_the_trace) {
  laze_tensor *x = three(1, 2, 3);
  laze_graph *graph;
  assert_fails(laze_trace_call(lost_write, NULL, &x, 1, 1, NULL, &graph, &error), LAZE_INVALID_ARGUMENT,
               "laze_add: shapes");
  ck_assert_ptr_null(graph);
  laze_graph_release(trace(handled_failure, NULL, &x, 1, 1, 0)); /* the function knows of it */
}
END_TEST

static laze_status says_nothing(void *self, laze_tensor *const *in, laze_tensor **out, laze_error *failure) {
  (void)self, (void)in, (void)out, (void)failure;
  return LAZE_NOT_FOUND;
}

/* A message of before would be taken for this failure's. */
START_TEST(a_failure_without_a_message_is_given_one) {
  laze_tensor *x = three(1, 2, 3);
  laze_graph *graph;
  error = (laze_error){LAZE_OK, "of before"};
  assert_fails(laze_trace_call(says_nothing, NULL, &x, 1, 1, NULL, &graph, &error), LAZE_NOT_FOUND,
               "laze_trace_call: the function failed with NOT_FOUND");
  ck_assert_int_eq(error.code, LAZE_NOT_FOUND);
}
END_TEST

static laze_status ends_the_trace(void *self, laze_tensor *const *in, laze_tensor **out, laze_error *failure) {
  const bool *another = self;
  laze_tensor *traced[1];
  out[0] = laze_exp(in[0]);
  laze_status status = laze_trace_end(context, NULL, 0, NULL, failure);
  if (status == LAZE_OK && *another) status = laze_trace_begin(context, in, 1, NULL, traced, failure);
  return status;
}

/* A graph of whatever trace is open would not be the function's. */
START_TEST(a_function_that_ends_its_trace_is_refused) {
  laze_tensor *x = three(1, 2, 3);
  laze_graph *graph;
  for (int round = 0; round < 2; round++) {
    bool another = round == 1;
    assert_fails(laze_trace_call(ends_the_trace, &another, &x, 1, 1, NULL, &graph, &error), LAZE_FAILED_PRECONDITION,
                 "ended the trace");
    ck_assert_ptr_null(graph);
  }
  laze_graph_release(trace(early_and_late, NULL, &x, 1, 1, 0));
}
END_TEST

/* Whoever releases what was to be made, whatever the status, releases nothing of before. */
START_TEST(wrong_arguments_leave_nothing_in_out) {
  laze_tensor *x = three(1, 2, 3);
  laze_graph *const graph = trace(early_and_late, NULL, &x, 1, 1, 0);
  laze_graph *out = graph;
  laze_compiled *compiled, *made;
  assert_ok(laze_compile_graph(graph, NULL, &compiled, &error));
  made = compiled;
  assert_fails(laze_trace_call(NULL, NULL, &x, 1, 1, NULL, &out, &error), LAZE_INVALID_ARGUMENT, "must not be NULL");
  ck_assert_ptr_null(out);
  assert_fails(laze_compile_graph(NULL, NULL, &made, &error), LAZE_INVALID_ARGUMENT, "must not be NULL");
  ck_assert_ptr_null(made);
  laze_compiled_release(compiled);
  laze_graph_release(graph);
}
END_TEST

/* A context that goes with an open trace takes it along. */
START_TEST(an_open_trace_goes_with_its_context) {
  test_failing_allocator state = {0};
  laze_context *own;
  laze_tensor *x, *traced[1];
  ck_assert_int_eq(test_failing_context(&state, "interp", "", "", &own), LAZE_OK);
  laze_scope *inner = laze_scope_begin(own);
  x = laze_ones(own, 3, LAZE_F32);
  assert_ok(laze_trace_begin(own, &x, 1, NULL, traced, &error));
  (void)laze_exp(traced[0]);
  ck_assert_int_eq(laze_scope_end(inner), LAZE_OK);
  laze_context_release(own);
  ck_assert_int_eq(state.live, 0);
}
END_TEST

static laze_context *traced_context;
static laze_status several(void *self, laze_tensor *const *in, laze_tensor **out, laze_error *failure) {
  (void)self, (void)failure;
  (void)laze_exp_(in[0]);
  laze_tensor *noisy = laze_add(in[0], laze_rand(traced_context, 3, 1, 2, LAZE_F32));
  out[0] = laze_softmax(laze_mul(noisy, laze_ones(traced_context, 3, LAZE_F32)), 0);
  return LAZE_OK;
}

/* Memory may be out at any call: an error, and nothing lost. */
START_TEST(memory_may_run_out_at_any_point) {
  for (int64_t at = 1;; at++) {
    test_failing_allocator state = {0};
    laze_graph *graph = NULL;
    laze_error failure;
    ck_assert_int_eq(test_failing_context(&state, "interp", "", "", &traced_context), LAZE_OK);
    laze_scope *inner = laze_scope_begin(traced_context);
    const float data[] = {1, 2, 3};
    laze_tensor *x = laze_tensor_from_data(traced_context, LAZE_F32, LAZE_SHAPE(3), data, sizeof data);
    state.refuse_at = state.calls + at;
    const laze_status status = laze_trace_call(several, NULL, &x, 1, 1, NULL, &graph, &failure);
    const bool reached = state.calls >= state.refuse_at;
    ck_assert((status == LAZE_OK) == (graph != NULL));
    state.refuse_at = 0;
    if (graph) ck_assert_int_eq(count_of(graph, " = exp "), 1); /* a write that had no memory is not left out */
    ck_assert_msg(status == LAZE_OK || status == LAZE_OUT_OF_MEMORY, "%s", failure.message);
    laze_graph_release(graph);
    (void)laze_scope_end(inner);
    laze_context_release(traced_context);
    ck_assert_int_eq(state.live, 0);
    if (!reached) break;
  }
}
END_TEST

int main(void) {
  Suite *suite = suite_create("traces");
  TCase *tests = tcase_create("all");
  tcase_set_timeout(tests, 300);
  tcase_add_checked_fixture(tests, set_up, tear_down);
  tcase_add_test(tests, row_3_1_calls_are_nodes_with_places_and_names);
  tcase_add_test(tests, row_3_1_equal_inputs_stay_two);
  tcase_add_test(tests, row_3_1_what_is_not_needed_is_left_out);
  tcase_add_test(tests, row_3_2_operators_are_nodes_or_their_parts);
  tcase_add_test(tests, row_3_2_what_cannot_be_traced_is_named);
  tcase_add_test(tests, row_3_3_writes_are_recorded_as_the_values_they_give);
  tcase_add_test(tests, row_3_3_writes_through_views_are_functional);
  tcase_add_test(tests, row_3_3_a_write_to_what_others_have_is_warned_of);
  tcase_add_test(tests, row_3_3_writes_to_own_values_are_silent);
  tcase_add_test(tests, row_3_4_options_of_factories_are_attributes);
  tcase_add_test(tests, row_3_4_random_state_is_an_input);
  tcase_add_test(tests, row_3_5_a_trace_is_saved_loaded_and_run);
  tcase_add_test(tests, row_3_5_tensors_from_outside_are_constants_by_reference);
  tcase_add_test(tests, row_3_5_pending_tensors_from_outside_are_computed);
  tcase_add_test(tests, row_3_5_control_flow_that_was_baked_in_is_reported);
  tcase_add_test(tests, row_3_5_constants_that_were_baked_in_are_reported);
  tcase_add_test(tests, row_3_5_other_reads_are_allowed);
  tcase_add_test(tests, row_3_5_sizes_that_values_say_stay_open);
  tcase_add_test(tests, row_3_6_gradients_are_nodes_like_others);
  tcase_add_test(tests, row_3_6_a_training_step_is_one_graph);
  tcase_add_test(tests, errors_end_the_trace);
  tcase_add_test(tests, a_failed_call_that_nobody_read_fails_the_trace);
  tcase_add_test(tests, a_failure_without_a_message_is_given_one);
  tcase_add_test(tests, a_function_that_ends_its_trace_is_refused);
  tcase_add_test(tests, wrong_arguments_leave_nothing_in_out);
  tcase_add_test(tests, an_open_trace_goes_with_its_context);
  tcase_add_test(tests, memory_may_run_out_at_any_point);
  suite_add_tcase(suite, tests);
  return test_run_suite(suite);
}
