/* What compiled functions keep and share: buffers, random state, graphs, their cache (rows 4.8 to 4.13). */
#include "tests/unit/tracing/aot_support.h"

#include <laze/opaque.h>

#include <stdlib.h>

/* --- a model: dropout, and statistics that are written to --- */

/* Steps of a training, compiled and not; the cheapest cut draws the mask again, from what the forward pass began with.
 */
START_TEST(row_4_10_a_model_trains_as_it_does_uncompiled) {
  const laze_aot_options options = {.struct_size = sizeof options, .partition = _i};
  laze_tensor *inputs[2][4];
  draws state = {7, 100};
  laze_aot *aot;
  for (int compiled = 0; compiled < 2; compiled++) make_model(inputs[compiled]);
  assert_ok(laze_aot_compile(model, &state, inputs[1], 4, 2, &options, &aot, &error));
  ck_assert_int_eq(input_of(aot, 3).mutation, LAZE_AOT_IN_GRAPH);
  ck_assert_int_eq(laze_aot_random_count(aot), 1);
  for (int step = 0; step < 3; step++) {
    laze_tensor *outputs[2][2];
    assert_ok(model(&state, inputs[0], outputs[0], &error));
    assert_ok(laze_aot_call(aot, inputs[1], 4, outputs[1], 2, &error));
    state.offset += 48; /* one number an element of the hidden layer */
    for (int i = 0; i < 2; i++) {
      assert_ok(laze_backward(outputs[i][1], &error));
      for (int k = 1; k < 3; k++) {
        const int32_t before = laze_set_grad_enabled(context, 0);
        assert_ok(laze_tensor_write(inputs[i][k], laze_sub(inputs[i][k], laze_mul(laze_tensor_grad(inputs[i][k]), 0.1)),
                                    &error));
        (void)laze_set_grad_enabled(context, before);
        assert_ok(laze_tensor_set_grad(inputs[i][k], NULL, &error));
      }
    }
    for (int k = 0; k < 2; k++) assert_near(outputs[0][k], outputs[1][k]);
    for (int k = 1; k < 4; k++) assert_near(inputs[0][k], inputs[1][k]);
  }
  laze_aot_release(aot);
}
END_TEST

/* New numbers in each run, the same ones where seed and offset are, and offsets that go in and come out. */
START_TEST(row_4_10_random_state_is_an_input_and_a_result) {
  laze_tensor *inputs[4], *outputs[3][2];
  draws state = {7, 100};
  int64_t seed, offset;
  make_model(inputs);
  laze_aot *aot = compile(model, &state, inputs, 4, 2);
  const char *text = graph_text(aot, LAZE_AOT_FORWARD);
  ck_assert_ptr_nonnull(strstr(text, "%seed: i64[], %offset: i64[]"));
  ck_assert_ptr_nonnull(strstr(text, "mutation(offset)"));
  for (int run = 0; run < 3; run++) {
    if (run == 2) assert_ok(laze_aot_set_random(aot, 0, 7, 100, &error));
    assert_ok(laze_aot_call(aot, inputs, 4, outputs[run], 2, &error));
    assert_ok(laze_aot_get_random(aot, 0, &seed, &offset, &error));
    ck_assert_int_eq(seed, 7);
    ck_assert_int_eq(offset, run == 1 ? 196 : 148);
  }
  ck_assert_str_ne(text_of(outputs[0][0]), text_of(outputs[1][0]));
  assert_same(outputs[0][0], outputs[2][0]);
  assert_fails(laze_aot_set_random(aot, 1, 7, 100, &error), LAZE_OUT_OF_RANGE, "random state 1 of a compiled");
  laze_aot_release(aot);
}
END_TEST

/* --- 4.8 --- */

static void run_chain(int32_t flags, int32_t pass_flags, laze_tensor **gradients) {
  laze_tensor *inputs[4], *y, *tangent;
  const laze_aot_options options = {.struct_size = sizeof options, .flags = flags};
  laze_aot *aot;
  laze_aot_saved *saved;
  for (int i = 0; i < 4; i++) inputs[i] = leaf(matrix(8, 8, -0.4f));
  assert_ok(laze_aot_compile(chain, NULL, inputs, 4, 1, &options, &aot, &error));
  assert_ok(laze_aot_forward(aot, inputs, 4, &y, 1, &saved, &error));
  const char *before = text_of(y);
  const char *first = text_of(inputs[0]);
  tangent = matrix(8, 8, 0);
  assert_ok(laze_aot_backward(saved, &tangent, 1, pass_flags, gradients, 4, &error));
  for (int i = 0; i < 4; i++) (void)text_of(gradients[i]);
  ck_assert_str_eq(text_of(y), before);
  ck_assert_str_eq(text_of(inputs[0]), first);
  laze_aot_saved_release(saved);
  laze_aot_release(aot);
}

/* Gradients are written to what the forward pass saved, where nobody can see it. */
START_TEST(row_4_8_saved_buffers_are_donated) {
  laze_tensor *gradients[2][4];
  run_chain(LAZE_AOT_NO_DONATION, 0, gradients[0]);
  ck_assert_int_eq(metric("buffers_donated"), 0);
  run_chain(0, LAZE_RETAIN_GRAPH, gradients[1]);
  ck_assert_int_eq(metric("buffers_donated"), 0);
  run_chain(0, 0, gradients[1]);
  ck_assert_int_gt(metric("buffers_donated"), 0);
  for (int i = 0; i < 4; i++) assert_same(gradients[0][i], gradients[1][i]);
}
END_TEST

static laze_status gives_all(void *self, laze_tensor *const *in, laze_tensor **out, laze_error *failure) {
  (void)self, (void)failure;
  laze_tensor *hidden = in[0];
  for (int i = 1; i < 4; i++) out[i - 1] = hidden = laze_tanh(laze_matmul(hidden, in[i]));
  return LAZE_OK;
}

/* What the caller has is never written to: not an output that is saved as well, nor an input. */
START_TEST(row_4_8_a_tensor_of_the_callers_never_changes) {
  laze_tensor *inputs[4], *outputs[3], *tangents[3], *gradients[4];
  char before[7][2048];
  laze_aot_saved *saved;
  for (int i = 0; i < 4; i++) inputs[i] = leaf(matrix(8, 8, -0.4f));
  laze_aot *aot = compile(gives_all, NULL, inputs, 4, 3);
  assert_ok(laze_aot_forward(aot, inputs, 4, outputs, 3, &saved, &error));
  for (int i = 0; i < 3; i++) tangents[i] = matrix(8, 8, 0);
  for (int i = 0; i < 7; i++) snprintf(before[i], sizeof before[i], "%s", text_of(i < 4 ? inputs[i] : outputs[i - 4]));
  assert_ok(laze_aot_backward(saved, tangents, 3, 0, gradients, 4, &error));
  for (int i = 0; i < 4; i++) (void)text_of(gradients[i]);
  for (int i = 0; i < 7; i++) ck_assert_str_eq(text_of(i < 4 ? inputs[i] : outputs[i - 4]), before[i]);
  ck_assert_int_eq(metric("buffers_donated"), 0);
  assert_fails(laze_aot_backward(saved, tangents, 3, 0, gradients, 4, &error), LAZE_FAILED_PRECONDITION, "used up");
  laze_aot_saved_release(saved);
  laze_aot_release(aot);
}
END_TEST

/* --- 4.9 --- */

/* The graph was compiled for gradients in row-major order, which is all the layout that values have: those that lie
 * otherwise to see (transposed, expanded, a part of another) are right as well. */
START_TEST(row_4_9_gradients_of_any_layout_are_right) {
  laze_tensor *inputs[4], *y, *wanted[4], *found[4];
  laze_tensor *tangents[] = {laze_t(matrix(8, 8, 1)), laze_expand(matrix(1, 8, 1), LAZE_SHAPE(8, 8)),
                             laze_slice(matrix(16, 8, 1), 0, 1, LAZE_NONE, 2)};
  for (int i = 0; i < 4; i++) inputs[i] = leaf(matrix(8, 8, -0.4f));
  laze_aot *aot = compile(chain, NULL, inputs, 4, 1);
  for (int t = 0; t < 3; t++) {
    laze_aot_saved *saved;
    assert_ok(laze_aot_forward(aot, inputs, 4, &y, 1, &saved, &error));
    assert_ok(laze_aot_backward(saved, &tangents[t], 1, LAZE_RETAIN_GRAPH, found, 4, &error));
    laze_tensor *copy = laze_clone(tangents[t]);
    assert_ok(laze_aot_backward(saved, &copy, 1, 0, wanted, 4, &error));
    for (int i = 0; i < 4; i++) assert_same(found[i], wanted[i]);
    assert_ok(laze_aot_call(aot, inputs, 4, &y, 1, &error));
    assert_ok(laze_grad(&y, &tangents[t], 1, inputs, 4, 0, found, &error));
    for (int i = 0; i < 4; i++) assert_same(found[i], wanted[i]);
    laze_aot_saved_release(saved);
  }
  laze_aot_release(aot);
}
END_TEST

/* --- 4.11 --- */

/* A graph has no writes, only one final value for each input: what says otherwise is refused. */
START_TEST(row_4_11_an_input_has_one_final_value) {
  static const char *const bad[][2] = {
      {"(buffer, input) -> (mutation(x), mutation(x))", "results 0 and 1 are both mutations of x"},
      {"(buffer, input) -> (mutation(y), output)", "result 0 is f32[2] and a mutation of y, which is f32[3]"},
      {"(buffer, input) -> (output, mutation(x))", "result 1 is mutation behind output"},
      {"(buffer, input) -> (mutation(z), output)", "mutation of z, which is no input"},
      {"(buffer, mutation) -> (output, output)", "input 1 cannot be mutation"},
  };
  for (size_t i = 0; i <= sizeof bad / sizeof *bad; i++) {
    const bool good = i == sizeof bad / sizeof *bad;
    char text[512];
    laze_graph *graph;
    const int size = snprintf(text, sizeof text,
                              "laze 1\nsignature %s\ngraph @g(%%x: f32[2], %%y: f32[3]) -> f32[2], f32[2] {\n"
                              "  %%0 = exp %%x\n  return %%0, %%0\n}\n",
                              good ? "(buffer, input) -> (mutation(x), output)" : bad[i][0]);
    if (good) {
      assert_ok(laze_graph_parse(context, text, size, "good.lz", &graph, &error));
      assert_ok(laze_graph_verify(graph, &error));
      laze_graph_release(graph);
    } else {
      assert_fails(laze_graph_parse(context, text, size, "bad.lz", &graph, &error), LAZE_INVALID_ARGUMENT, bad[i][1]);
    }
  }
}
END_TEST

/* However often a function writes, its graph has one result for each input that it wrote to. */
static laze_status writes_often(void *self, laze_tensor *const *in, laze_tensor **out, laze_error *failure) {
  (void)self, (void)failure;
  for (int i = 0; i < 3; i++) {
    laze_mul_(in[0], 2);
    laze_add_(laze_select(in[0], 0, 1), laze_select(in[1], 0, 0));
    laze_neg_(in[1]);
  }
  out[0] = laze_add(in[0], in[1]);
  return LAZE_OK;
}

START_TEST(row_4_11_graphs_of_functions_that_write_are_functional) {
  laze_tensor *inputs[2][2], *outputs[2];
  for (int i = 0; i < 4; i++) inputs[i / 2][i % 2] = laze_clone(matrix(2, 3, (float)(i % 2)));
  laze_aot *aot = compile(writes_often, NULL, inputs[1], 2, 1);
  assert_ok(laze_graph_verify(laze_aot_graph(aot, LAZE_AOT_JOINT), &error));
  ck_assert_ptr_nonnull(
      strstr(graph_text(aot, LAZE_AOT_JOINT), "(buffer, buffer) -> (mutation(arg0), mutation(arg1), output)"));
  assert_ok(writes_often(NULL, inputs[0], &outputs[0], &error));
  assert_ok(laze_aot_call(aot, inputs[1], 2, &outputs[1], 1, &error));
  assert_same(outputs[0], outputs[1]);
  for (int i = 0; i < 2; i++) assert_same(inputs[0][i], inputs[1][i]);
  laze_aot_release(aot);
}
END_TEST

/* --- 4.13 --- */

enum { HITS, MISSES, BYPASSES };

static void count_cache(int64_t *counts) {
  counts[HITS] = metric("aot_cache_hits");
  counts[MISSES] = metric("aot_cache_misses");
  counts[BYPASSES] = metric("aot_cache_bypasses");
}

/* Which of the three a compilation is counted as. */
static int compile_counted(laze_traced_function function, laze_tensor *const *inputs, int32_t count,
                           const laze_aot_options *options) {
  int64_t before[3], after[3];
  laze_aot *aot;
  count_cache(before);
  assert_ok(laze_aot_compile(function, NULL, inputs, count, 1, options, &aot, &error));
  laze_aot_release(aot);
  count_cache(after);
  ck_assert_int_eq(after[0] + after[1] + after[2], before[0] + before[1] + before[2] + 1);
  for (int i = 0; i < 3; i++)
    if (after[i] != before[i]) return i;
  return -1;
}

static laze_status chain_and_more(void *self, laze_tensor *const *in, laze_tensor **out, laze_error *failure) {
  const laze_status status = chain(self, in, out, failure);
  out[0] = laze_add(out[0], 1);
  return status;
}

/* Everything that the compiled graphs depend on is part of the key. */
START_TEST(row_4_13_flipping_one_setting_misses) {
  laze_tensor *inputs[4], *others[4];
  const laze_backend *interpreter;
  assert_ok(laze_backend_find(context, "interp", &interpreter, &error));
  const laze_aot_options options[] = {
      {.struct_size = sizeof *options},
      {.struct_size = sizeof *options, .partition = LAZE_PARTITION_MIN_CUT},
      {.struct_size = sizeof *options, .flags = LAZE_AOT_NO_DONATION},
      {.struct_size = sizeof *options, .input_names = (const char *const[]){"x", "a", "b", "c"}},
      {.struct_size = sizeof *options, .name = "chain"},
      {.struct_size = sizeof *options, .backend = interpreter},
  };
  const int different = laze_backend_at(0) == interpreter ? 5 : 6;
  for (int i = 0; i < 4; i++) inputs[i] = leaf(matrix(8, 8, -0.4f));
  for (int i = 0; i < different; i++) {
    ck_assert_int_eq(compile_counted(chain, inputs, 4, &options[i]), MISSES);
    ck_assert_int_eq(compile_counted(chain, inputs, 4, &options[i]), HITS);
  }
  ck_assert_int_eq(compile_counted(chain_and_more, inputs, 4, NULL), MISSES);
  for (int flipped = 0; flipped < 4; flipped++) {
    for (int i = 0; i < 4; i++) others[i] = leaf(matrix(8, 8, (float)i));
    if (flipped == 1) others[2] = laze_detach(others[2]);         /* requires no gradient */
    if (flipped == 2) others[2] = laze_mul(others[2], 1);         /* is no leaf */
    if (flipped == 3) others[0] = laze_t(laze_detach(others[0])); /* lies otherwise */
    ck_assert_int_eq(compile_counted(chain, others, 4, NULL), flipped ? MISSES : HITS);
    ck_assert_int_eq(compile_counted(chain, others, 4, NULL), HITS);
  }
  const int32_t before = laze_set_grad_enabled(context, 0);
  ck_assert_int_eq(compile_counted(chain, inputs, 4, NULL), MISSES);
  (void)laze_set_grad_enabled(context, before);
}
END_TEST

static laze_status doubles(void *self, const laze_opaque_call *call, laze_error *failure) {
  (void)self, (void)failure;
  const float *from = call->operands[0].data;
  float *to = call->results[0].data;
  for (int i = 0; i < 6; i++) to[i] = 2 * from[i];
  return LAZE_OK;
}

static laze_status calls_kernel(void *self, laze_tensor *const *in, laze_tensor **out, laze_error *failure) {
  (void)self, (void)failure;
  const laze_ints integers = {0};
  const laze_reals reals = {0};
  const laze_strings strings = {0};
  (void)laze_opaque_record(context, "doubles", in, 1, integers, reals, strings, out, 1);
  return LAZE_OK;
}

/* What a registered kernel does is not in the graph, so that equal graphs may be different programs. */
START_TEST(row_4_13_unsafe_graphs_bypass_the_cache) {
  laze_tensor *x = matrix(2, 3, 0);
  const laze_opaque_options kernel = {.struct_size = sizeof kernel, .name = "doubles", .run = doubles};
  const laze_aot_options options = {.struct_size = sizeof options, .flags = LAZE_AOT_NO_CACHE};
  assert_ok(laze_opaque_register(context, &kernel, &error));
  for (int i = 0; i < 2; i++) ck_assert_int_eq(compile_counted(calls_kernel, &x, 1, NULL), BYPASSES);
  for (int i = 0; i < 2; i++) ck_assert_int_eq(compile_counted(gives_new, &x, 1, &options), BYPASSES);
  ck_assert_int_eq(compile_counted(gives_new, &x, 1, NULL), MISSES);
}
END_TEST

/* What was compiled once is not compiled again: a hit takes both graphs as they are, also when the first user is gone,
 * and another process finds the kernels on disk. */
START_TEST(row_4_13_a_warm_process_compiles_nothing) {
  char folder[] = "/tmp/laze-aot-XXXXXX", command[64];
  ck_assert_ptr_nonnull(mkdtemp(folder));
  for (int process = 0; process < 2; process++) {
    const laze_context_options options = {
        .struct_size = sizeof options, .cache_directory = folder, .debug = "", .threads = 1};
    laze_context *outer = context;
    assert_ok(laze_context_create(&options, &context, &error));
    laze_scope *own = laze_scope_begin(context);
    for (int round = 0; round < 2; round++) {
      laze_tensor *inputs[4], *y;
      for (int i = 0; i < 4; i++) inputs[i] = leaf(matrix(8, 8, -0.4f));
      for (int i = 0; i < 4; i++) (void)text_of(inputs[i]);
      const int64_t kernels = metric("kernels_compiled"), programs = metric("program_cache_hits");
      laze_aot *aot = compile(chain, NULL, inputs, 4, 1);
      if (process + round > 0) ck_assert_int_eq(metric("kernels_compiled"), kernels);
      if (round > 0) ck_assert_int_eq(metric("program_cache_hits"), programs); /* which nobody asked */
      assert_ok(laze_aot_call(aot, inputs, 4, &y, 1, &error));
      assert_ok(laze_backward(laze_sum(y), &error));
      (void)text_of(laze_tensor_grad(inputs[0]));
      laze_aot_release(aot);
    }
    (void)laze_scope_end(own);
    laze_context_release(context);
    context = outer;
  }
  snprintf(command, sizeof command, "rm -r %s", folder);
  ck_assert_int_eq(system(command), 0);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("aot state");
  TCase *tests = tcase_create("all");
  tcase_set_timeout(tests, 300);
  tcase_add_checked_fixture(tests, set_up, tear_down);
  tcase_add_test(tests, row_4_8_saved_buffers_are_donated);
  tcase_add_test(tests, row_4_8_a_tensor_of_the_callers_never_changes);
  tcase_add_test(tests, row_4_9_gradients_of_any_layout_are_right);
  tcase_add_loop_test(tests, row_4_10_a_model_trains_as_it_does_uncompiled, 0, 2);
  tcase_add_test(tests, row_4_10_random_state_is_an_input_and_a_result);
  tcase_add_test(tests, row_4_11_an_input_has_one_final_value);
  tcase_add_test(tests, row_4_11_graphs_of_functions_that_write_are_functional);
  tcase_add_test(tests, row_4_13_flipping_one_setting_misses);
  tcase_add_test(tests, row_4_13_unsafe_graphs_bypass_the_cache);
  tcase_add_test(tests, row_4_13_a_warm_process_compiles_nothing);
  suite_add_tcase(suite, tests);
  return test_run_suite(suite);
}
