/* Launches: steps that call one kernel, a C function of the test, run at once where they need nothing of each other. */
#include "runtime/program.h"
#include "tests/support/status.h"
#include "tests/support/suite.h"

#include <check.h>
#include <string.h>

enum { STEPS = 7 };

static laze_context *context;
static laze_program *program;
static laze_kernel *kernel;
static laze_error error;
static laze_size width; /* a symbol: bound when the program is */

static void begin(int threads) {
  laze_context_options options = {.struct_size = sizeof options, .cache_directory = "", .threads = threads};
  laze_size_table *sizes;
  assert_ok(laze_context_create(&options, &context, &error));
  assert_ok(laze_size_table_create(context, &sizes, &error));
  assert_ok(laze_size_symbol(sizes, "n", &width, &error));
  assert_ok(laze_program_create(context, sizes, &program, &error));
}

static laze_kernel *create_kernel(laze_kernel_function function) {
  laze_kernel *created;
  assert_ok(laze_kernel_create(context, "test", function, NULL, NULL, NULL, &created, &error));
  return created;
}

static void begin_with(int threads, laze_kernel_function function) {
  begin(threads);
  kernel = create_kernel(function);
}

static void end(void) {
  laze_kernel_release(kernel);
  laze_program_release(program);
  laze_context_release(context);
}

static int32_t add_value(laze_value_role role, laze_size elements) {
  laze_type type = {.kind = LAZE_TYPE_TENSOR, .dtype = LAZE_F32, .rank = 1, .sizes = {elements}};
  int32_t value;
  assert_ok(laze_program_add_value(program, role, &type, NULL, &value, &error));
  return value;
}

/* A call of the kernel; the last buffer is written. Its size is `domain`, and its work what `step` says. */
static void add_step(const int32_t *buffers, int32_t count, laze_size domain, laze_step step) {
  step.kernel = kernel;
  step.buffers = buffers;
  step.buffer_count = count;
  step.write_count = 1;
  step.sizes = &domain;
  step.size_count = 1;
  step.domain = domain;
  step.label = "test";
  assert_ok(laze_program_add_step(program, &step, &error));
}

static laze_executable *finish(int64_t n) {
  laze_executable *executable = NULL;
  laze_program_finish(program);
  assert_ok(laze_executable_create(program, &n, NULL, &executable, &error));
  return executable;
}

static int64_t metric(const char *name) {
  int64_t value;
  assert_ok(laze_metric_read(context, name, &value, &error));
  return value;
}

static int64_t launches(const laze_executable *executable, int64_t instances) {
  laze_cost cost = {.struct_size = sizeof cost};
  laze_executable_add_cost(executable, &cost);
  ck_assert_int_eq(cost.instances, instances);
  return cost.kernels;
}

/* One check for all elements: where threads are watched each costs much. */
static void assert_elements(const laze_buffer *buffer, float value, int step) {
  const float *elements = buffer->data;
  int64_t i = 0, count = buffer->size / (int64_t)sizeof(float);
  while (i < count && elements[i] == value) i++;
  ck_assert_msg(i == count, "step %d, element %lld: %g, expected %g", step, (long long)i,
                i < count ? (double)elements[i] : 0, (double)value);
}

/* Adds 1 to what it writes, for each element of its domain; the first buffer is read, where there is one. */
static void increment(const laze_kernel_arguments *arguments, int64_t begin, int64_t end, void *scratch) {
  float *to = arguments->buffers[0];
  (void)scratch;
  for (int64_t i = begin; i < end; i++) to[i] += 1;
}

/* All iterations of all steps run, each once, however much longer one step is than another, and on however many
 * threads: parts begin and end inside of steps. */
START_TEST(a_launch_covers_each_domain_once) {
  static const int threads[] = {1, 2, 7};
  static const int64_t domains[STEPS] = {1, 70001, 64, 3, 200000, 65, 129};
  begin_with(threads[_i], increment);
  int32_t out[STEPS];
  for (int i = 0; i < STEPS; i++) out[i] = add_value(LAZE_ROLE_OUTPUT, domains[i]);
  for (int i = 0; i < STEPS; i++) add_step(&out[i], 1, domains[i], (laze_step){.work = domains[i] * 12});
  laze_executable *executable = finish(1);
  laze_buffer *places[STEPS], *outputs[STEPS];
  ck_assert_int_eq(launches(executable, STEPS), 1);
  for (int i = 0; i < STEPS; i++) {
    assert_ok(laze_buffer_create(context, domains[i] * (int64_t)sizeof(float), &places[i], &error));
    memset(places[i]->data, 0, (size_t)places[i]->size);
  }
  for (int round = 1; round <= 20; round++) {
    assert_ok(laze_executable_run(executable, &(laze_run){.outputs = outputs, .places = places}, &error));
    for (int i = 0; i < STEPS; i++) {
      assert_elements(places[i], (float)round, i);
      laze_buffer_release(outputs[i]);
    }
  }
  ck_assert_int_eq(metric("kernels_run"), 20);
  ck_assert_int_eq(metric("kernel_instances"), 20 * STEPS);
  for (int i = 0; i < STEPS; i++) laze_buffer_release(places[i]);
  laze_executable_release(executable);
  end();
}
END_TEST

/* The first buffer plus 1, to the last one. */
static void successor(const laze_kernel_arguments *arguments, int64_t begin, int64_t end, void *scratch) {
  const float *from = arguments->buffers[0];
  float *to = arguments->buffers[1];
  (void)scratch;
  for (int64_t i = begin; i < end; i++) to[i] = from[i] + 1;
}

enum { ELEMENTS = 1 << 16, WORK = 1 << 20 };

static laze_buffer *filled(float value) {
  laze_buffer *buffer;
  assert_ok(laze_buffer_create(context, ELEMENTS * (int64_t)sizeof(float), &buffer, &error));
  for (int i = 0; i < ELEMENTS; i++) ((float *)buffer->data)[i] = value;
  return buffer;
}

static void add_successor(int32_t from, int32_t to) {
  add_step((int32_t[]){from, to}, 2, ELEMENTS, (laze_step){.work = WORK});
}

/* Runs it again and again: its outputs are its input and these. */
static void check_sums(laze_executable *executable, float first, float second) {
  for (int round = 0; round < 20; round++) {
    laze_buffer *input = filled((float)round), *outputs[2];
    assert_ok(laze_executable_run(executable, &(laze_run){.inputs = &input, .outputs = outputs}, &error));
    assert_elements(outputs[0], (float)round + first, 0);
    assert_elements(outputs[1], (float)round + second, 1);
    laze_buffer_release(input);
    laze_buffer_release(outputs[0]);
    laze_buffer_release(outputs[1]);
  }
}

/* A chain has to be run link by link; what does not belong to it may run beside any link. */
START_TEST(a_chain_is_a_launch_for_each_link) {
  begin_with(7, successor);
  int32_t in = add_value(LAZE_ROLE_INPUT, ELEMENTS), t0 = add_value(LAZE_ROLE_TEMPORARY, ELEMENTS),
          t1 = add_value(LAZE_ROLE_TEMPORARY, ELEMENTS), other = add_value(LAZE_ROLE_OUTPUT, ELEMENTS),
          out = add_value(LAZE_ROLE_OUTPUT, ELEMENTS);
  add_successor(in, t0);
  add_successor(t0, t1);
  add_successor(in, other); /* beside the second link */
  add_successor(t1, out);
  laze_executable *executable = finish(1);
  ck_assert_int_eq(launches(executable, 4), 3);
  check_sums(executable, 1, 3);
  laze_executable_release(executable);
  end();
}
END_TEST

/* A value that a step reads is not written beside it: neither by another piece of it nor in place, where the reader
 * would see what is there later. */
START_TEST(what_is_read_is_not_written_beside) {
  begin_with(7, successor);
  int32_t in = add_value(LAZE_ROLE_INPUT, ELEMENTS), state = add_value(LAZE_ROLE_TEMPORARY, ELEMENTS),
          read = add_value(LAZE_ROLE_OUTPUT, ELEMENTS), updated = add_value(LAZE_ROLE_TEMPORARY, ELEMENTS),
          later = add_value(LAZE_ROLE_OUTPUT, ELEMENTS);
  add_successor(in, state);
  add_successor(state, read);
  add_step((int32_t[]){in, updated}, 2, ELEMENTS, (laze_step){.work = WORK, .updates = true, .updated = state});
  add_successor(updated, later);
  laze_executable *executable = finish(1);
  ck_assert_int_eq(launches(executable, 4), 4);
  ck_assert_int_eq(laze_executable_temporary_bytes(executable), ELEMENTS * 4); /* in place */
  check_sums(executable, 2, 2);
  laze_executable_release(executable);
  end();
}
END_TEST

START_TEST(pieces_stand_beside_each_other_and_not_beside_readers) {
  begin_with(2, successor);
  int32_t in = add_value(LAZE_ROLE_INPUT, ELEMENTS), whole = add_value(LAZE_ROLE_TEMPORARY, ELEMENTS),
          out = add_value(LAZE_ROLE_OUTPUT, ELEMENTS);
  add_successor(in, whole);
  add_successor(in, whole); /* another piece, as far as a program knows */
  add_successor(whole, out);
  add_successor(in, whole);
  laze_executable *executable = finish(1);
  ck_assert_int_eq(launches(executable, 4), 3);
  laze_executable_release(executable);
  end();
}
END_TEST

/* What one step reads for the last time is still read while the other writes: no place is both. The same steps with
 * kernels of their own run in turn and need one place less. */
START_TEST(places_are_apart_in_a_launch) {
  const bool together = _i > 0;
  begin_with(7, successor);
  laze_kernel *kernels[] = {kernel, create_kernel(successor), create_kernel(successor), create_kernel(successor)};
  int32_t in = add_value(LAZE_ROLE_INPUT, ELEMENTS), t[4], out = add_value(LAZE_ROLE_OUTPUT, ELEMENTS);
  for (int i = 0; i < 4; i++) t[i] = add_value(LAZE_ROLE_TEMPORARY, ELEMENTS);
  add_successor(in, t[0]);
  add_successor(in, t[1]);
  kernel = kernels[1];
  add_successor(t[0], t[2]);
  kernel = kernels[together ? 1 : 2];
  add_successor(t[1], t[3]);
  kernel = kernels[3];
  add_step((int32_t[]){t[2], t[3], out}, 3, 0, (laze_step){.work = 0});
  laze_executable *executable = finish(1);
  ck_assert_int_eq(launches(executable, 5), together ? 3 : 4);
  ck_assert_int_eq(laze_executable_temporary_bytes(executable), (together ? 4 : 3) * ELEMENTS * 4);
  laze_executable_release(executable);
  for (int i = 0; i < 3; i++) laze_kernel_release(kernels[i]);
  end();
}
END_TEST

/* Outputs in the memory of inputs that nobody needs: not of one that is read in the same launch, but of one that an
 * earlier launch read. */
START_TEST(donated_memory_is_not_read_beside) {
  enum { PAIRS = 3 };
  begin_with(7, successor);
  int32_t in[PAIRS], t[PAIRS], out[PAIRS];
  for (int i = 0; i < PAIRS; i++) in[i] = add_value(LAZE_ROLE_INPUT, ELEMENTS);
  for (int i = 0; i < PAIRS; i++) t[i] = add_value(LAZE_ROLE_OUTPUT, ELEMENTS);
  for (int i = 0; i < PAIRS; i++) out[i] = add_value(LAZE_ROLE_OUTPUT, ELEMENTS);
  for (int i = 0; i < PAIRS; i++) add_successor(in[i], t[i]);
  for (int i = 0; i < PAIRS; i++) add_successor(t[i], out[i]);
  laze_executable *executable = finish(1);
  ck_assert_int_eq(launches(executable, 2 * PAIRS), 2);
  static const bool donated[PAIRS] = {true, true, true};
  for (int round = 1; round <= 20; round++) {
    laze_buffer *inputs[PAIRS], *outputs[2 * PAIRS];
    bool overwritten = false;
    for (int i = 0; i < PAIRS; i++) inputs[i] = filled((float)i);
    const laze_run run = {.inputs = inputs, .outputs = outputs, .donated = donated, .overwritten = &overwritten};
    assert_ok(laze_executable_run(executable, &run, &error));
    ck_assert(overwritten);
    ck_assert_int_eq(metric("buffers_donated"), PAIRS * round);
    for (int i = 0; i < PAIRS; i++) {
      assert_elements(outputs[i], (float)i + 1, i);
      assert_elements(outputs[PAIRS + i], (float)i + 2, PAIRS + i);
      laze_buffer_release(inputs[i]);
      laze_buffer_release(outputs[i]);
      laze_buffer_release(outputs[PAIRS + i]);
    }
  }
  laze_executable_release(executable);
  end();
}
END_TEST

/* An index at every iteration but 0 of a domain of more than 1000. */
static void fail_where_long(const laze_kernel_arguments *arguments, int64_t begin, int64_t end, void *scratch) {
  (void)scratch;
  if (arguments->sizes[0] <= 1000 || end <= 1) return;
  const int64_t first = begin > 0 ? begin : 1;
  arguments->failures[0] = (laze_kernel_failure){.position = first, .index = -first, .size = 7, .length = 1};
}

/* Of checks that fail in a launch each is its own step's: the error names the node that comes first in the graph and
 * the lowest position, whatever part of it fails first; and only what depends on such a step has no value. */
START_TEST(failures_are_those_of_their_step) {
  static const int threads[] = {1, 2, 7};
  static const int64_t domains[STEPS] = {10, 20, 50000, 5, 40000, 1000, 60000};
  static const char *const called[STEPS] = {"a", "b", "c", "d", "e", "f", "g"};
  begin_with(threads[_i], fail_where_long);
  const int32_t first = 0;
  int32_t out[STEPS], nodes[STEPS];
  uint64_t depends[STEPS];
  for (int i = 0; i < STEPS; i++) {
    out[i] = add_value(LAZE_ROLE_OUTPUT, 1);
    nodes[i] = i + 1;
    depends[i] = (uint64_t)1 << i;
  }
  /* Steps stand in another order than the nodes. */
  for (int i = STEPS; i-- > 0;) {
    const laze_origin origin = {i + 1, called[i]};
    add_step(&out[i], 1, domains[i],
             (laze_step){
                 .work = domains[i] * 40, .origins = &origin, .origin_count = 1, .checks = &first, .check_count = 1});
  }
  assert_ok(laze_program_set_checks(program, nodes, STEPS, depends, &error));
  laze_executable *executable = finish(1);
  ck_assert_int_eq(launches(executable, STEPS), 1);
  for (int round = 0; round < 20; round++) {
    laze_buffer *outputs[STEPS];
    ck_assert_int_eq(laze_executable_run(executable, &(laze_run){.outputs = outputs}, &error), LAZE_OUT_OF_RANGE);
    ck_assert_msg(strstr(error.message, "c: index -1 at position 1 ") != NULL, "%s", error.message);
    laze_run_report report = {0};
    assert_ok(laze_executable_run(executable, &(laze_run){.outputs = outputs, .report = &report}, &error));
    for (int i = 0; i < STEPS; i++) {
      ck_assert_int_eq(outputs[i] == NULL, domains[i] > 1000);
      if (outputs[i])
        ck_assert_int_eq(report.causes[i], LAZE_CAUSE_NONE);
      else
        ck_assert_int_eq(report.errors[report.causes[i]].message[0], called[i][0]);
      laze_buffer_release(outputs[i]);
    }
    laze_run_report_deinit(&report);
  }
  laze_executable_release(executable);
  end();
}
END_TEST

/* A launch ends where it is enough work for all threads there may be, or holds as many steps as a call has room for:
 * so what it needs at once is bounded. */
START_TEST(launches_are_bounded) {
  static const struct {
    int64_t work;
    int steps, launches;
  } cases[] = {{1, 1300, 3}, {12 << 20, 5, 3}, {20 << 20, 3, 3}, {INT64_MAX, 3, 3}, {0, 10, 1}, {16 << 20, 4, 2}};
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    begin_with(2, increment);
    laze_buffer *outputs[1300];
    for (int i = 0; i < cases[k].steps; i++) {
      int32_t out = add_value(LAZE_ROLE_OUTPUT, 1);
      add_step(&out, 1, 1, (laze_step){.work = cases[k].work});
    }
    laze_executable *executable = finish(1);
    ck_assert_int_eq(launches(executable, cases[k].steps), cases[k].launches);
    assert_ok(laze_executable_run(executable, &(laze_run){.outputs = outputs}, &error));
    ck_assert_int_eq(metric("kernels_run"), cases[k].launches);
    for (int i = 0; i < cases[k].steps; i++) laze_buffer_release(outputs[i]);
    laze_executable_release(executable);
    end();
  }
}
END_TEST

/* A step without iterations is none of a launch's, and one that has no memory fails alone. */
START_TEST(a_step_without_work_is_left_out) {
  begin_with(2, increment);
  int32_t out[3];
  for (int i = 0; i < 3; i++) out[i] = add_value(LAZE_ROLE_OUTPUT, i == 1 ? width : 100000);
  for (int i = 0; i < 3; i++) add_step(&out[i], 1, i == 1 ? width : 100000, (laze_step){.work = WORK});
  laze_executable *executable = finish(0);
  laze_buffer *outputs[3];
  assert_ok(laze_executable_run(executable, &(laze_run){.outputs = outputs}, &error));
  ck_assert_int_eq(metric("kernels_run"), 1);
  ck_assert_int_eq(metric("kernel_instances"), 2);
  for (int i = 0; i < 3; i++) laze_buffer_release(outputs[i]);
  laze_executable_release(executable);
  const int64_t too_many = INT64_C(1) << 58;
  assert_ok(laze_executable_create(program, &too_many, NULL, &executable, &error));
  laze_run_report report = {0};
  assert_ok(laze_executable_run(executable, &(laze_run){.outputs = outputs, .report = &report}, &error));
  ck_assert_ptr_nonnull(outputs[0]);
  ck_assert_ptr_null(outputs[1]);
  ck_assert_ptr_nonnull(outputs[2]);
  laze_run_report_deinit(&report);
  for (int i = 0; i < 3; i++) laze_buffer_release(outputs[i]);
  laze_executable_release(executable);
  end();
}
END_TEST

typedef struct {
  int64_t done[8];
  int calls, stop_at; /* from 1; 0: never */
} watcher;

static int32_t watch(void *self, const laze_activity *activity) {
  watcher *state = self;
  state->done[state->calls % 8] = activity->done;
  return ++state->calls == state->stop_at;
}

/* Whoever watches is asked before each launch, by the step that it begins with, and may stop the run there. */
START_TEST(a_run_is_stopped_between_launches) {
  begin_with(2, successor);
  int32_t in = add_value(LAZE_ROLE_INPUT, ELEMENTS), t[3], out[3];
  for (int i = 0; i < 3; i++) t[i] = add_value(LAZE_ROLE_TEMPORARY, ELEMENTS);
  for (int i = 0; i < 3; i++) out[i] = add_value(LAZE_ROLE_OUTPUT, ELEMENTS);
  for (int i = 0; i < 3; i++) add_successor(in, t[i]);
  for (int i = 0; i < 3; i++) add_successor(t[i], out[i]);
  laze_executable *executable = finish(1);
  laze_buffer *input = filled(1), *outputs[3];
  const laze_run run = {.inputs = &input, .outputs = outputs};
  for (int stop_at = 0; stop_at <= 2; stop_at++) {
    watcher state = {.stop_at = stop_at};
    laze_context_watch(context, watch, &state);
    const int64_t before = metric("kernels_run");
    ck_assert_int_eq(laze_executable_run(executable, &run, &error), stop_at > 0 ? LAZE_CANCELLED : LAZE_OK);
    ck_assert_int_eq(metric("kernels_run") - before, stop_at > 0 ? stop_at - 1 : 2);
    ck_assert_int_eq(state.done[0], 0);
    if (stop_at != 1) ck_assert_int_eq(state.done[1], 3);
    if (stop_at == 0) ck_assert_int_eq(state.done[2], 6);
    for (int i = 0; i < 3; i++) {
      ck_assert_int_eq(outputs[i] == NULL, stop_at > 0);
      if (outputs[i]) assert_elements(outputs[i], 3, i);
      laze_buffer_release(outputs[i]);
    }
  }
  laze_context_watch(context, NULL, NULL);
  laze_buffer_release(input);
  laze_executable_release(executable);
  end();
}
END_TEST

int main(void) {
  Suite *suite = suite_create("launch");
  TCase *tests = tcase_create("launch");
  tcase_set_timeout(tests, 0);
  tcase_add_loop_test(tests, a_launch_covers_each_domain_once, 0, 3);
  tcase_add_test(tests, a_chain_is_a_launch_for_each_link);
  tcase_add_test(tests, what_is_read_is_not_written_beside);
  tcase_add_test(tests, pieces_stand_beside_each_other_and_not_beside_readers);
  tcase_add_loop_test(tests, places_are_apart_in_a_launch, 0, 2);
  tcase_add_test(tests, donated_memory_is_not_read_beside);
  tcase_add_loop_test(tests, failures_are_those_of_their_step, 0, 3);
  tcase_add_test(tests, launches_are_bounded);
  tcase_add_test(tests, a_step_without_work_is_left_out);
  tcase_add_test(tests, a_run_is_stopped_between_launches);
  suite_add_tcase(suite, tests);
  return test_run_suite(suite);
}
