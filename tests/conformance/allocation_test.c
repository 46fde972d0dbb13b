/* Any allocation may fail while a graph is read, compiled and run: the answer is an error or the right result, and
 * nothing is left behind. Arenas are switched off, so that each request to one is an allocation that can fail: with
 * them nearly all come from a block that is there already. */
#include "ir/specialise.h"
#include "ir/text/text.h"
#include "tests/conformance/conformance.h"
#include "tests/support/failing_allocator.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *const graphs[] = {
    /* elementwise, two reductions along one axis in one kernel, a value used again after them */
    "graph @softmax(%x: f32[3,5], %y: f32[5]) -> f32[3,5] {\n  %0 = mul %x, %y\n  %1 = softmax %0, dim=-1\n"
    "  return %1\n}\n",
    /* a product of matrices, its result used in loops, an output on the way */
    "graph @dense(%x: f32[2,3], %w: f32[3,4], %b: f32[4]) -> f32[2,4], f32[2] {\n  %0 = mm %x, %w\n"
    "  %1 = add %0, %b\n  %2 = relu %1\n  %3 = sum %2, dim=[1]\n  return %2, %3\n}\n",
    /* guards, strides and an index that is checked */
    "graph @moved(%x: f32[6], %i_below6: i64[4]) -> f32[4], f32[6] {\n  %0 = cat [%x, %x]\n  %1 = slice %0, step=2\n"
    "  %2 = index_select %1, %i_below6, dim=0\n  %3 = neg %2\n  return %3, %1\n}\n",
    /* regions, whose values go around */
    "graph @loop(%x: f32[4], %i_below2: i64[]) -> f32[4], i64[] {\n  %0:2 = while [%x, %i_below2] (%a: f32[4], %b: "
    "i64[]) "
    "{\n    %1 = lt %b, 3\n    return %1\n  } (%c: f32[4], %d: i64[]) {\n    %2 = mul %c, %c\n    %3 = add %d, 1\n"
    "    return %2, %3\n  }\n  return %0#0, %0#1\n}\n",
};
enum { GRAPHS = sizeof graphs / sizeof *graphs, MOST_TEXT = 2048 };

static char directory[64];

static void set_up(void) {
  snprintf(directory, sizeof directory, "/tmp/laze-allocation-XXXXXX");
  ck_assert_ptr_nonnull(mkdtemp(directory));
}
static void tear_down(void) {
  char command[128];
  snprintf(command, sizeof command, "rm -rf '%s'", directory);
  ck_assert_int_eq(system(command), 0);
}

typedef struct {
  const laze_backend *backend;
  const laze_graph *graph;
  test_arrays inputs, expected;
  const char *cache;
} allocation_trial;

/* Compiles and runs the graph in a context whose allocations fail as the state says. */
static laze_status try_once(const allocation_trial *trial, test_failing_allocator *state, laze_error *error) {
  laze_context *context;
  test_arrays got;
  char difference[256];
  if (test_failing_context(state, trial->backend->name, "noarenas", trial->cache, &context) != LAZE_OK)
    return LAZE_OUT_OF_MEMORY;
  laze_status status = test_run(context, trial->backend, trial->graph, NULL, &trial->inputs, &got, error);
  state->refuse_at = 0;
  if (status == LAZE_OK) {
    ck_assert_msg(test_arrays_same(&trial->expected, &got, difference, sizeof difference), "%s", difference);
    test_arrays_release(&got);
  }
  laze_context_release(context);
  ck_assert_msg(state->live == 0, "%lld blocks are left", (long long)state->live);
  return status;
}

/* Lets every `stride`-th allocation fail, one run for each. */
static void fail_everywhere(int backend, const char *cache, const char *text, int64_t stride, bool all_after) {
  laze_context *context = test_context(NULL);
  laze_graph *graph = conformance_parse(context, text);
  allocation_trial trial = {.backend = laze_backend_at(backend), .graph = graph, .cache = cache};
  test_random random = {.state = 1};
  laze_error error;
  test_inputs(context, graph, &random, &(test_range){.low = -2, .high = 2}, &trial.inputs);
  ck_assert_int_eq(test_run(context, trial.backend, graph, NULL, &trial.inputs, &trial.expected, &error), LAZE_OK);
  test_failing_allocator unlimited = {0};
  ck_assert_msg(try_once(&trial, &unlimited, &error) == LAZE_OK, "%s", error.message);
  unlimited.calls = 0; /* once more: now the cache has the kernels */
  ck_assert_msg(try_once(&trial, &unlimited, &error) == LAZE_OK, "%s", error.message);
  int64_t failed = 0, calls = unlimited.calls;
  for (int64_t at = 1; at <= calls; at += stride) {
    test_failing_allocator state = {.refuse_at = at, .refuse_all_after = all_after};
    laze_status status = try_once(&trial, &state, &error);
    ck_assert_msg(status == LAZE_OK || status == LAZE_OUT_OF_MEMORY, "allocation %lld: %s", (long long)at,
                  error.message);
    ck_assert_msg(status == LAZE_OK || !strstr(error.message, "needs 0 bytes"), "allocation %lld: %s", (long long)at,
                  error.message);
    failed += status != LAZE_OK;
  }
  /* Most allocations matter; without one of the others a result is just not kept for later. */
  ck_assert_int_gt(failed * stride * 2, calls);
  test_arrays_release(&trial.inputs);
  test_arrays_release(&trial.expected);
  laze_graph_destroy(graph);
  laze_context_release(context);
}

/* With a disk cache that has the kernels, so that a run takes no time in LLVM. */
START_TEST(any_allocation_may_fail) {
  for (int g = 0; g < GRAPHS; g++) fail_everywhere(_i, directory, graphs[g], 1, false);
}
END_TEST
START_TEST(memory_may_run_out_at_any_point) {
  for (int g = 0; g < GRAPHS; g++) fail_everywhere(_i, directory, graphs[g], 3, true);
}
END_TEST
START_TEST(compiling_may_run_out_of_memory) {
  for (int g = 0; g < GRAPHS; g++) fail_everywhere(_i, "", graphs[g], 37, false);
}
END_TEST

/* Gives every size of the inputs that is a symbol the value 3. */
static laze_status specialise(const laze_graph *graph, laze_error *error) {
  laze_type types[4];
  int64_t bindings[4] = {-1, -1, -1, -1};
  laze_graph *constant;
  ck_assert(graph->body->parameter_count <= 4 && laze_size_symbol_count(graph->sizes) <= 4);
  for (int64_t i = 0; i < graph->body->parameter_count; i++) {
    types[i] = *laze_graph_type(graph, (laze_value){graph->body->parameters[i], 0});
    for (int axis = 0; axis < types[i].rank; axis++)
      if (!laze_size_is_constant(types[i].sizes[axis])) types[i].sizes[axis] = 3;
  }
  LAZE_TRY(laze_graph_bind_inputs(graph, types, bindings, error));
  LAZE_TRY(laze_graph_specialise(graph, bindings, &constant, error));
  laze_graph_destroy(constant);
  return LAZE_OK;
}

/* Reads a graph and prints it into `out`, with allocations that fail as the state says. */
static laze_status read_once(test_failing_allocator *state, const char *text, char *out, laze_error *error) {
  laze_context *context;
  laze_graph *graph;
  laze_text printed;
  if (test_failing_context(state, "interp", "noarenas", "", &context) != LAZE_OK) return LAZE_OUT_OF_MEMORY;
  laze_status status = laze_graph_parse(context, text, (int64_t)strlen(text), "graph.lz", &graph, error);
  if (status == LAZE_OK) {
    laze_text_init(&printed, context);
    laze_graph_print(&printed, graph, true);
    status = laze_text_check(&printed, error);
    if (status == LAZE_OK) snprintf(out, MOST_TEXT, "%s", laze_text_get(&printed));
    if (status == LAZE_OK) status = specialise(graph, error);
    laze_text_deinit(&printed);
    laze_graph_destroy(graph);
  }
  laze_context_release(context);
  ck_assert_msg(state->live == 0, "%lld blocks are left", (long long)state->live);
  return status;
}

START_TEST(reading_may_run_out_of_memory) {
  /* typed on an assumption about its size, and a node of two results */
  static const char squeezed[] =
      "graph @squeezed(%x: i64[n,2]) -> i64[n], i64[n] {\n  %0 = squeeze %x, dim=0\n  %1:2 = max %0, dim=1\n"
      "  return %1#0, %1#1\n}\n";
  for (int g = 0; g <= GRAPHS; g++) {
    char text[MOST_TEXT], expected[MOST_TEXT], got[MOST_TEXT];
    laze_error error;
    snprintf(text, sizeof text, "laze 1\n%s", g < GRAPHS ? graphs[g] : squeezed);
    test_failing_allocator unlimited = {0};
    ck_assert_msg(read_once(&unlimited, text, expected, &error) == LAZE_OK, "%s", error.message);
    int64_t failed = 0, at = 1;
    for (bool done = false; !done; at++) {
      test_failing_allocator state = {.refuse_at = at};
      laze_status status = read_once(&state, text, got, &error);
      if (status == LAZE_OK) ck_assert_str_eq(got, expected);
      ck_assert_msg(status == LAZE_OK || status == LAZE_OUT_OF_MEMORY, "allocation %lld: %s", (long long)at,
                    error.message);
      failed += status != LAZE_OK;
      done = state.calls < at;
    }
    ck_assert_int_gt(failed * 2, at);
  }
}
END_TEST

int main(void) {
  TCase *tests = tcase_create("allocation");
  tcase_add_checked_fixture(tests, set_up, tear_down);
  conformance_add(tests, any_allocation_may_fail);
  conformance_add(tests, memory_may_run_out_at_any_point);
  conformance_add(tests, compiling_may_run_out_of_memory);
  tcase_add_test(tests, reading_may_run_out_of_memory);
  return conformance_main(tests);
}
