/* Sizes that values give, on every backend and on loop IR: what comes out for each number, among them 0, 1, negative
 * ones and ones that are equal by chance; what is said of numbers that do not fit; and what it costs to run with
 * others. */
#include "tests/conformance/conformance.h"

#include "base/metrics.h"
#include "codegen/interp/interp.h"
#include "ir/op.gen.h"
#include "tests/support/loop_backend.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

static laze_context *context;
static laze_error error;

static void set_up(void) {
  context = test_context(NULL);
}
static void tear_down(void) {
  laze_context_release(context);
}

enum { MAX_VALUES = 80, LENGTH = 12, NUMBERS = 4 };

static const laze_backend *backend_of(int index) {
  return index < test_backend_count() ? laze_backend_at(index) : &test_backend_loop;
}

/* A graph of x: f32[12] and numbers a, b, n, m: i64[], which returns every value that a node of `body` gives, or, where
 * `results` is NULL, the last one alone. */
static laze_executable *compile(const laze_backend *backend, const char *body, int *results) {
  int count = 0;
  char text[2048];
  laze_value values[MAX_VALUES];
  laze_executable *executable = NULL;
  snprintf(text, sizeof text,
           "graph @g(%%x: f32[12], %%a: i64[], %%b: i64[], %%n: i64[], %%m: i64[]) {\n%s  return\n}\n", body);
  laze_graph *graph = conformance_parse(context, text);
  for (int64_t i = 0; i < graph->body->node_count; i++)
    if (!laze_node_constant(&graph->nodes[graph->body->nodes[i]]))
      values[count++] = (laze_value){graph->body->nodes[i], 0};
  const int first = results ? 0 : count - 1;
  if (results) *results = count;
  ck_assert_int_eq(laze_block_set_results(graph, graph->body, values + first, count - first, &error), LAZE_OK);
  ck_assert_msg(laze_graph_verify(graph, &error) == LAZE_OK, "%s", error.message);
  ck_assert_msg(laze_compile(context, backend, graph, &executable, &error) == LAZE_OK, "%s", error.message);
  laze_graph_destroy(graph);
  return executable;
}

static void make_inputs(const int64_t *numbers, laze_buffer **inputs) {
  float x[LENGTH];
  for (int i = 0; i < LENGTH; i++) x[i] = (float)i - 3;
  inputs[0] = conformance_buffer(context, laze_backend_at(0), x, sizeof x);
  for (int i = 0; i < NUMBERS; i++)
    inputs[1 + i] = conformance_buffer(context, laze_backend_at(0), &numbers[i], sizeof *numbers);
}

static void release(laze_buffer **buffers, int count) {
  for (int i = 0; i < count; i++) laze_buffer_release(buffers[i]);
}

/* The results of one run; `types` tell how large they are. */
typedef struct {
  laze_buffer *buffers[MAX_VALUES];
  laze_type types[MAX_VALUES];
} outcome;

static laze_status run(const laze_backend *backend, laze_executable *executable, const int64_t *numbers,
                       laze_run_report *report, outcome *out) {
  laze_buffer *inputs[1 + NUMBERS];
  make_inputs(numbers, inputs);
  laze_run request = {.inputs = inputs, .outputs = out->buffers, .output_types = out->types, .report = report};
  laze_status status = backend->execute(executable, &request, &error);
  release(inputs, 1 + NUMBERS);
  return status;
}

static int64_t clamp(int64_t bound) {
  if (bound < 0) bound += LENGTH;
  return bound < 0 ? 0 : bound > LENGTH ? LENGTH : bound;
}

static void compare(const outcome *got, const outcome *wanted, int count, const int64_t *numbers) {
  for (int i = 0; i < count; i++) {
    ck_assert_msg(laze_type_equal(&got->types[i], &wanted->types[i]), "result %d at %lld %lld %lld", i,
                  (long long)numbers[0], (long long)numbers[1], (long long)numbers[2]);
    int64_t bytes = test_elements(&got->types[i]) * laze_dtype_size(got->types[i].dtype);
    ck_assert_int_eq(got->buffers[i]->size, bytes);
    ck_assert_msg(bytes == 0 || memcmp(got->buffers[i]->data, wanted->buffers[i]->data, (size_t)bytes) == 0,
                  "result %d at %lld %lld %lld", i, (long long)numbers[0], (long long)numbers[1],
                  (long long)numbers[2]);
  }
}

/* The slices as C has them: a length by itself could be wrong on all backends alike. */
static void check_slices(const outcome *got, const int64_t *numbers, const int *places) {
  int64_t first = clamp(numbers[0]), last = clamp(numbers[1]);
  const outcome *o = got;
  ck_assert_int_eq(o->types[places[0]].sizes[0], last);
  ck_assert_int_eq(o->types[places[1]].sizes[0], last > first ? last - first : 0);
  for (int64_t i = 0; i < o->types[places[1]].sizes[0]; i++)
    ck_assert_float_eq(((const float *)o->buffers[places[1]]->data)[i], (float)(first + i) - 3);
}

/* Bounds and sizes that are inputs: one executable serves every number, nothing is compiled on the way, nothing falls
 * back, and all backends agree in every bit. */
START_TEST(one_executable_serves_every_number) {
  const char *body = "  %0 = slice %x, end=%b\n  %1 = slice %x, start=%a, end=%b\n  %2 = mul %0, 2.0\n"
                     "  %3 = sum %1\n  %4 = cat [%0, %x, %1]\n  %5 = exp %4\n"
                     "  %6 = iota size=[%n, 3], dim=0, dtype=f32\n  %7 = exp %6\n  %8 = sum %7, dim=[0]\n"
                     "  %9 = reshape %7, shape=[3, %n]\n  %10 = sum %9, dim=[1]\n  %11 = expand %x, size=[%n, 12]\n"
                     "  %12 = add %11, %x\n  %13 = mul %m, 3\n  %14 = stack [%n, %13]\n"
                     "  %15 = reshape %7, shape=%14\n  %16 = add %15, 1.0\n"; /* a shape that is computed */
  const laze_backend *backend = backend_of(_i);
  laze_metrics *metrics = laze_context_metrics(context);
  int count, same;
  laze_executable *executable = compile(backend, body, &count);
  laze_executable *reference = compile(&laze_backend_interp, body, &same);
  int64_t compiled = laze_metrics_get(metrics, LAZE_METRIC_KERNELS_COMPILED);
  ck_assert_int_eq(count, same);
  int places[2] = {1, 4}; /* behind the definers of %b; of %a and %b */
  for (int64_t a = -14; a <= 14; a += 2)
    for (int64_t b = -13; b <= 13; b++) {
      const int64_t numbers[NUMBERS] = {a == 14 ? INT64_MAX : a, b == -13 ? INT64_MIN : b, (a + b + 28) % 6, 1};
      outcome got, wanted;
      ck_assert_msg(run(backend, executable, numbers, NULL, &got) == LAZE_OK, "%s", error.message);
      ck_assert_msg(run(&laze_backend_interp, reference, numbers, NULL, &wanted) == LAZE_OK, "%s", error.message);
      compare(&got, &wanted, count, numbers);
      const int64_t real[] = {a, b == -13 ? -LENGTH : b};
      check_slices(&got, real, places);
      release(got.buffers, count);
      release(wanted.buffers, count);
    }
  ck_assert_int_eq(laze_metrics_get(metrics, LAZE_METRIC_KERNELS_COMPILED), compiled);
  ck_assert_int_eq(laze_metrics_get(metrics, LAZE_METRIC_FALLBACKS), 0);
  laze_executable_release(executable);
  laze_executable_release(reference);
}
END_TEST

/* A product that is computed for nothing but a reshape: its memory is known later than it could run. */
START_TEST(what_is_returned_waits_for_its_size) {
  const char *body = "  %0 = reshape %x, shape=[4, 3]\n  %1 = permute %0, dims=[1, 0]\n  %2 = mm %0, %1\n"
                     "  %3 = reshape %2, shape=[%n, 4]\n";
  const laze_backend *backend = backend_of(_i);
  laze_executable *executable = compile(backend, body, NULL);
  laze_executable *reference = compile(&laze_backend_interp, body, NULL);
  for (int64_t n = 3; n <= 5; n++) {
    const int64_t numbers[NUMBERS] = {0, 0, n, 0};
    outcome got, wanted;
    const laze_status status = run(&laze_backend_interp, reference, numbers, NULL, &wanted);
    ck_assert_int_eq(status == LAZE_OK, n == 4);
    ck_assert_int_eq(run(backend, executable, numbers, NULL, &got), status);
    if (status != LAZE_OK) continue;
    compare(&got, &wanted, 1, numbers);
    release(got.buffers, 1);
    release(wanted.buffers, 1);
  }
  ck_assert_int_eq(laze_metrics_get(laze_context_metrics(context), LAZE_METRIC_FALLBACKS), 0);
  laze_executable_release(executable);
  laze_executable_release(reference);
}
END_TEST

/* Values once, of as many elements as an input says, none and one among them: every step of it is the same on all
 * backends, native where the backend is, and the counts are those of 0, 1, 2, 0, 1, ... */
START_TEST(each_value_stands_once) {
  const char *body = "  %0 = slice %x, end=%b\n  %1 = remainder %0, 3.0\n"
                     "  %2:3 = unique_consecutive %1, return_inverse=true, return_counts=true\n"
                     "  %3:3 = unique %1, return_inverse=true, return_counts=true\n";
  const laze_backend *backend = backend_of(_i);
  int count, same;
  laze_executable *executable = compile(backend, body, &count);
  laze_executable *reference = compile(&laze_backend_interp, body, &same);
  ck_assert_int_eq(count, same);
  for (int64_t b = 0; b <= LENGTH; b++) {
    const int64_t numbers[NUMBERS] = {0, b, 0, 0};
    outcome got, wanted;
    ck_assert_msg(run(backend, executable, numbers, NULL, &got) == LAZE_OK, "%s", error.message);
    ck_assert_msg(run(&laze_backend_interp, reference, numbers, NULL, &wanted) == LAZE_OK, "%s", error.message);
    compare(&got, &wanted, count, numbers);
    const int64_t *counts = got.buffers[count - 1]->data, groups = got.types[count - 1].sizes[0];
    ck_assert_int_eq(groups, b < 3 ? b : 3);
    for (int64_t i = 0; i < groups; i++) ck_assert_int_eq(counts[i], (b + 2 - i) / 3);
    release(got.buffers, count);
    release(wanted.buffers, count);
  }
  ck_assert_int_eq(laze_metrics_get(laze_context_metrics(context), LAZE_METRIC_FALLBACKS), 0);
  laze_executable_release(executable);
  laze_executable_release(reference);
}
END_TEST

/* A number that does not fit fails what depends on it, and says which and why; the rest is computed. */
START_TEST(numbers_that_do_not_fit_fail_what_needs_them) {
  static const struct {
    const char *body;
    int64_t n;
    const char *message; /* of the last result; NULL: it is there */
  } cases[] = {
      {"  %0 = exp %x\n  %1 = iota size=[%n]\n", -1, "size_from: the size u0 would be -1; it must be from 0"},
      {"  %0 = exp %x\n  %1 = iota size=[%n]\n", 0, NULL},
      {"  %0 = exp %x\n  %1 = size_from %n, size=u, low=1, high=8\n  %2 = iota size=[u]\n", 9, "from 1 to 8"},
      {"  %0 = exp %x\n  %1 = reshape %x, shape=[%n, 4]\n", 3, NULL},
      {"  %0 = exp %x\n  %1 = reshape %x, shape=[%n, 4]\n", 4,
       "does not hold (the sides are 16 and 12), as reshape needs it"},
      {"  %0 = exp %x\n  %1 = reshape %x, shape=[%n, -1]\n", 4, NULL},
      {"  %0 = exp %x\n  %1 = reshape %x, shape=[%n, -1]\n", 5, "does not hold"},
      {"  %0 = exp %x\n  %1 = reshape %x, shape=[%n, -1]\n", 0, "does not hold"},
      {"  %0 = exp %x\n  %1 = iota size=[%n], dtype=f32\n  %2 = add %x, %1\n", 12, NULL},
      {"  %0 = exp %x\n  %1 = iota size=[%n], dtype=f32\n  %2 = add %x, %1\n", 11, "as add.Tensor needs it"},
      {"  %0 = exp %x\n  %1 = iota size=[%n], dtype=f32\n  %2 = amax %1\n", 1, NULL},
      {"  %0 = exp %x\n  %1 = iota size=[%n], dtype=f32\n  %2 = amax %1\n", 0, "does not hold"},
      {"  %0 = exp %x\n  %1 = select %x, dim=0, index=%n\n", -12, NULL},
      {"  %0 = exp %x\n  %1 = select %x, dim=0, index=%n\n", -13, "does not hold"},
      {"  %0 = exp %x\n  %1 = select %x, dim=0, index=%n\n", 12, "does not hold"},
      {"  %0 = exp %x\n  %1 = narrow %x, dim=0, start=%n, length=%m\n", 11, NULL},
      {"  %0 = exp %x\n  %1 = narrow %x, dim=0, start=%n, length=%m\n", 12, "does not hold"},
      {"  %0 = exp %x\n  %1 = iota size=[%n, 2]\n  %2 = squeeze %1\n", 2, NULL},
      {"  %0 = exp %x\n  %1 = iota size=[%n, 2]\n  %2 = squeeze %1\n", 1, "does not hold"},
      {"  %0 = exp %x\n  %1 = iota size=[%n], dtype=f32\n  %2 = _window %1, dim=0, size=3\n", 3, NULL},
      {"  %0 = exp %x\n  %1 = iota size=[%n], dtype=f32\n  %2 = _window %1, dim=0, size=3\n", 2, "as _window needs it"},
      {"  %0 = exp %x\n  %1 = iota size=[1, %n], dtype=f32\n  %2 = avg_pool1d %1, kernel_size=3, padding=1, "
       "ceil_mode=true\n",
       1, NULL},
      {"  %0 = exp %x\n  %1 = iota size=[%n, %n, %n]\n", (int64_t)1 << 30, ""},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const int64_t numbers[NUMBERS] = {0, 0, cases[i].n, 1};
    laze_run_report report = {0};
    outcome got;
    int count;
    laze_executable *executable = compile(backend_of(_i), cases[i].body, &count);
    ck_assert_msg(run(backend_of(_i), executable, numbers, &report, &got) == LAZE_OK, "case %d: %s", (int)i,
                  error.message);
    ck_assert_ptr_nonnull(got.buffers[0]);
    ck_assert_float_eq(((const float *)got.buffers[0]->data)[3], 1);
    if (!cases[i].message) {
      ck_assert_ptr_null(report.causes);
    } else {
      ck_assert_ptr_null(got.buffers[count - 1]);
      ck_assert_int_ge(report.causes[count - 1], 0);
      const char *message = report.errors[report.causes[count - 1]].message;
      ck_assert_msg(strstr(message, cases[i].message) != NULL, "case %d: %s", (int)i, message);
    }
    release(got.buffers, count);
    laze_run_report_deinit(&report);
    if (cases[i].message) ck_assert_int_ne(run(backend_of(_i), executable, numbers, NULL, &got), LAZE_OK);
    laze_executable_release(executable);
  }
}
END_TEST

/* What a run took for its sizes is given back: a loop over numbers does not grow. */
START_TEST(memory_does_not_grow) {
  int count;
  laze_executable *executable = compile(backend_of(_i),
                                        "  %0 = slice %x, end=%b\n  %1 = exp %0\n  %2 = sum %1\n"
                                        "  %3 = iota size=[%n]\n  %4 = reshape %3, shape=[%m]\n",
                                        &count);
  laze_metrics *metrics = laze_context_metrics(context);
  int64_t before = 0;
  for (int64_t i = 0; i < 200; i++) {
    const int64_t numbers[NUMBERS] = {0, i % 13, i % 7, i % 5}; /* every other run fails at the reshape */
    outcome got;
    if (run(backend_of(_i), executable, numbers, NULL, &got) == LAZE_OK) release(got.buffers, count);
    if (i == 100) before = laze_metrics_get(metrics, LAZE_METRIC_CURRENT_BYTES);
  }
  ck_assert_int_eq(laze_metrics_get(metrics, LAZE_METRIC_CURRENT_BYTES), before);
  laze_executable_release(executable);
}
END_TEST

typedef struct {
  const laze_backend *backend;
  laze_executable *executable;
  int number, count;
  bool right;
} worker;

static void *run_often(void *self) {
  worker *me = self;
  me->right = true;
  for (int64_t i = 0; i < 50 && me->right; i++) {
    const int64_t numbers[NUMBERS] = {0, (i + me->number) % 13, 0, 0};
    laze_buffer *inputs[1 + NUMBERS];
    outcome got;
    make_inputs(numbers, inputs);
    laze_run request = {.inputs = inputs, .outputs = got.buffers, .output_types = got.types};
    me->right = me->backend->execute(me->executable, &request, NULL) == LAZE_OK;
    release(inputs, 1 + NUMBERS);
    if (!me->right) break;
    me->right = got.types[1].sizes[0] == numbers[1];
    for (int64_t k = 0; k < numbers[1] && me->right; k++)
      me->right = ((const float *)got.buffers[me->count - 1]->data)[k] == 2 * ((float)k - 3);
    release(got.buffers, me->count);
  }
  return NULL;
}

/* What is bound while a run goes on is the run's: the same executable runs with other numbers at once. */
START_TEST(threads_run_with_different_numbers) {
  enum { THREADS = 4 };
  worker workers[THREADS];
  pthread_t threads[THREADS];
  int count;
  laze_executable *executable = compile(backend_of(_i), "  %0 = slice %x, end=%b\n  %1 = mul %0, 2.0\n", &count);
  for (int i = 0; i < THREADS; i++) {
    workers[i] = (worker){backend_of(_i), executable, i, count, false};
    ck_assert_int_eq(pthread_create(&threads[i], NULL, run_often, &workers[i]), 0);
  }
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  for (int i = 0; i < THREADS; i++) ck_assert_msg(workers[i].right, "thread %d", i);
  laze_executable_release(executable);
}
END_TEST

/* A region may use a size that was defined before it, and define one itself. */
START_TEST(regions_use_sizes_from_outside) {
  static const char format[] = "graph @g(%%c: bool[], %%k: i64[]) -> f32[] {\n  %%0 = size_from %%k, size=u, high=12\n"
                               "  %%1 = iota size=[u], dtype=f32\n"
                               "  %%2 = if %%c, [%%1, %%k] (%%p: f32[u], %%q: i64[]) {\n    %%3 = exp %%p\n"
                               "    %%4 = sum %%3\n    return %%4\n  } (%%p: f32[u], %%q: i64[]) {\n"
                               "    %%5 = slice %%p, end=%s\n    %%6 = sum %%5\n    return %%6\n  }\n  return %%2\n}\n";
  static const char *const ends[] = {"u", "%q"};
  const laze_backend *backend = backend_of(_i);
  const bool defines_within = _i < test_region_backend_count() || backend == &test_backend_loop;
  for (int i = 0; i < (defines_within ? 2 : 1); i++) {
    char text[1024];
    snprintf(text, sizeof text, format, ends[i]);
    laze_executable *executable = conformance_compile(context, backend, text);
    for (int64_t k = 0; k < 5; k++) {
      bool condition = false;
      laze_buffer *output, *inputs[] = {conformance_buffer(context, laze_backend_at(0), &condition, 1),
                                        conformance_buffer(context, laze_backend_at(0), &k, sizeof k)};
      conformance_execute(backend, executable, inputs, &output);
      ck_assert_float_eq(*(const float *)output->data, (float)(k * (k - 1) / 2));
      laze_buffer_release(output);
      release(inputs, 2);
    }
    laze_executable_release(executable);
  }
}
END_TEST

int main(void) {
  TCase *tests = tcase_create("sizes");
  tcase_add_checked_fixture(tests, set_up, tear_down);
  int backends = test_backend_count() + (test_backend_count() > 1);
  tcase_add_loop_test(tests, one_executable_serves_every_number, 0, backends);
  tcase_add_loop_test(tests, what_is_returned_waits_for_its_size, 0, backends);
  tcase_add_loop_test(tests, each_value_stands_once, 0, backends);
  tcase_add_loop_test(tests, numbers_that_do_not_fit_fail_what_needs_them, 0, backends);
  tcase_add_loop_test(tests, memory_does_not_grow, 0, backends);
  tcase_add_loop_test(tests, threads_run_with_different_numbers, 0, backends);
  tcase_add_loop_test(tests, regions_use_sizes_from_outside, 0, backends);
  return conformance_main(tests);
}
