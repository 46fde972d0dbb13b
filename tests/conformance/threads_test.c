/* One executable on several threads, graphs compiled on several threads, and kernels that run on several threads. */
#include "tests/conformance/conformance.h"

#include "ir/text/text.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { THREADS = 4, ROUNDS = 20, SIZE = 1000 };

typedef struct {
  laze_context *context;
  const laze_backend *backend;
  laze_executable *executable;
  int number;
  bool right;
} worker;

static void *execute_often(void *self) {
  worker *me = self;
  me->right = true;
  for (int round = 0; round < ROUNDS && me->right; round++) {
    float x[SIZE];
    double sum = 0;
    for (int i = 0; i < SIZE; i++) x[i] = (float)((i * 7 + me->number * 13 + round) % 50);
    for (int i = 0; i < SIZE; i++) sum += 2 * (double)x[i];
    laze_buffer *input, *outputs[2];
    me->right =
        me->backend->allocate(me->context, sizeof x, &input, NULL) == LAZE_OK &&
        me->backend->copy_from_host(input, x, sizeof x, NULL) == LAZE_OK &&
        me->backend->execute(me->executable, &(laze_run){.inputs = &input, .outputs = outputs}, NULL) == LAZE_OK;
    if (!me->right) break;
    me->right = ((float *)outputs[0]->data)[3] == 2 * x[3] && (double)((float *)outputs[1]->data)[0] == sum;
    laze_buffer_release(input);
    for (int i = 0; i < 2; i++) laze_buffer_release(outputs[i]);
  }
  return NULL;
}

static void run_workers(worker *workers, void *(*function)(void *)) {
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; i++) ck_assert_int_eq(pthread_create(&threads[i], NULL, function, &workers[i]), 0);
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  for (int i = 0; i < THREADS; i++) ck_assert_msg(workers[i].right, "thread %d", i);
}

START_TEST(one_executable_runs_on_several_threads) {
  laze_context *context = test_context(NULL);
  const laze_backend *backend = laze_backend_at(_i);
  laze_executable *executable = conformance_compile(context, backend,
                                                    "graph @g(%x: f32[1000]) -> f32[1000], f32[] {\n"
                                                    "  %0 = add %x, %x\n  %1 = sum %0\n  return %0, %1\n}\n");
  worker workers[THREADS];
  for (int i = 0; i < THREADS; i++) workers[i] = (worker){context, backend, executable, i, false};
  run_workers(workers, execute_often);
  laze_executable_release(executable);
  laze_context_release(context);
}
END_TEST

/* Every thread its own graphs, some of them the same as another's. */
static void *compile_often(void *self) {
  worker *me = self;
  me->right = true;
  for (int round = 0; round < 6 && me->right; round++) {
    char text[512];
    laze_graph *graph;
    laze_error error;
    test_arrays inputs, outputs;
    test_random random = {.state = 1};
    int length = snprintf(text, sizeof text,
                          "laze 1\ngraph @g(%%x: f32[9]) -> f32[9] {\n  %%0 = mul %%x, %d\n  %%1 = %s %%0\n"
                          "  return %%1\n}\n",
                          round, me->number % 2 ? "neg" : "square");
    me->right = laze_graph_parse(me->context, text, length, "thread", &graph, &error) == LAZE_OK;
    if (!me->right) break;
    test_inputs(me->context, graph, &random, &(test_range){.low = 1, .high = 2}, &inputs);
    me->right = test_run(me->context, me->backend, graph, NULL, &inputs, &outputs, &error) == LAZE_OK;
    float x = ((float *)inputs.buffers[0]->data)[8] * (float)round;
    if (me->right) me->right = ((float *)outputs.buffers[0]->data)[8] == (me->number % 2 ? -x : x * x);
    test_arrays_release(&inputs);
    test_arrays_release(&outputs);
    laze_graph_destroy(graph);
  }
  return NULL;
}

START_TEST(several_threads_compile_at_once) {
  laze_context *context = test_context(NULL);
  worker workers[THREADS];
  for (int i = 0; i < THREADS; i++) workers[i] = (worker){context, laze_backend_at(_i), NULL, i, false};
  run_workers(workers, compile_often);
  laze_context_release(context);
}
END_TEST

/* Work that is worth threads gives the bits that one thread gives. */
START_TEST(the_number_of_threads_changes_no_bit) {
  static const char text[] =
      "graph @g(%x: f32[700,1031], %w: f32[1031,64]) -> f32[700,1031], f32[700], f32[1031], f32[], "
      "f32[700,64] {\n"
      "  %0 = tanh %x\n  %1 = sum %0, dim=[1]\n  %2 = sum %0, dim=[0]\n  %3 = sum %0\n"
      "  %4 = mm %0, %w\n  return %0, %1, %2, %3, %4\n}\n";
  test_arrays inputs, results[2];
  laze_context *contexts[2];
  char difference[256];
  for (int i = 0; i < 2; i++) {
    laze_context_options options = {
        .struct_size = sizeof options, .cache_directory = "", .debug = "", .threads = i ? 3 : 1};
    laze_error error;
    test_random random = {.state = 1};
    ck_assert_int_eq(laze_context_create(&options, &contexts[i], NULL), LAZE_OK);
    laze_graph *graph = conformance_parse(contexts[i], text);
    test_inputs(contexts[i], graph, &random, &(test_range){.low = -2, .high = 2}, &inputs);
    ck_assert_msg(test_run(contexts[i], laze_backend_at(_i), graph, NULL, &inputs, &results[i], &error) == LAZE_OK,
                  "%s", error.message);
    test_arrays_release(&inputs);
    laze_graph_destroy(graph);
  }
  ck_assert_msg(test_arrays_same(&results[0], &results[1], difference, sizeof difference), "%s", difference);
  for (int i = 0; i < 2; i++) {
    test_arrays_release(&results[i]);
    laze_context_release(contexts[i]);
  }
}
END_TEST

int main(void) {
  TCase *tests = tcase_create("threads");
  conformance_add(tests, one_executable_runs_on_several_threads);
  conformance_add(tests, several_threads_compile_at_once);
  conformance_add(tests, the_number_of_threads_changes_no_bit);
  return conformance_main(tests);
}
