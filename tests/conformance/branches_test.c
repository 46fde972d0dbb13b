/* Branches that give results of other sizes, and sizes that are defined inside regions, on every backend and on loop
 * IR: what comes out for each branch and number, 0 and 1 among them, in loops and in each other; what is said where it
 * fails; and that one executable, in memory that does not grow with the rounds, serves all of it. */
#include "tests/conformance/conformance.h"

#include "base/metrics.h"
#include "tests/support/loop_backend.h"

#include <math.h>
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

enum { LENGTH = 12, MOST_OUTPUTS = 4 };
#define HEAD "graph @g(%x: f32[12], %k: i64[], %c: bool[]) "

static const laze_backend *backend_of(int index) {
  return index < test_region_backend_count() ? laze_backend_at(index) : &test_backend_loop;
}

static float element(int64_t i) {
  return (float)(i % 5) - 2;
}

typedef struct {
  laze_buffer *buffers[MOST_OUTPUTS];
  laze_type types[MOST_OUTPUTS];
} outcome;

static laze_status run(const laze_backend *backend, laze_executable *executable, int64_t k, bool c,
                       laze_run_report *report, outcome *out) {
  float x[LENGTH];
  for (int i = 0; i < LENGTH; i++) x[i] = element(i);
  laze_buffer *inputs[] = {conformance_buffer(context, laze_backend_at(0), x, sizeof x),
                           conformance_buffer(context, laze_backend_at(0), &k, sizeof k),
                           conformance_buffer(context, laze_backend_at(0), &c, sizeof c)};
  laze_run request = {.inputs = inputs, .outputs = out->buffers, .output_types = out->types, .report = report};
  laze_status status = backend->execute(executable, &request, &error);
  for (int i = 0; i < 3; i++) laze_buffer_release(inputs[i]);
  return status;
}

static float number(const outcome *out, int index) {
  return *(const float *)out->buffers[index]->data;
}

static void release(outcome *out, int count) {
  for (int i = 0; i < count; i++) laze_buffer_release(out->buffers[i]);
}

/* A result has the size that the branch gave that ran, the values behind it as well, and the next run another. */
START_TEST(each_branch_gives_its_size) {
  const laze_backend *backend = backend_of(_i);
  laze_executable *executable = conformance_compile(
      context, backend,
      HEAD "-> f32[u,2], f32[], i64[] {\n"
           "  %n = size_from %k, size=m, high=12\n"
           "  %0:2 = if %c, sizes=[u], axes=[0] {\n"
           "    %1 = slice %x, end=m\n    %2 = reshape %1, shape=[m, 1]\n    %3 = expand %2, size=[m, 2]\n"
           "    return %3, %n\n"
           "  } {\n"
           "    %4 = reshape %x, shape=[6, 2]\n    %5 = neg %4\n    %6 = constant 7 : i64[]\n    return %5, %6\n  }\n"
           "  %7 = mul %0#0, 2.0\n  %8 = sum %7\n  return %7, %8, %0#1\n}\n");
  for (int64_t k = 0; k <= LENGTH; k++)
    for (int c = 0; c < 2; c++) {
      outcome out;
      float sum = 0;
      int64_t rows = c ? k : LENGTH / 2;
      ck_assert_msg(run(backend, executable, k, c, NULL, &out) == LAZE_OK, "%s", error.message);
      ck_assert_int_eq(out.types[0].sizes[0], rows);
      ck_assert_int_eq(out.buffers[0]->size, rows * 2 * (int64_t)sizeof(float));
      for (int64_t i = 0; i < rows * 2; i++) {
        float wanted = 2 * (c ? element(i / 2) : -element(i));
        ck_assert_float_eq(((const float *)out.buffers[0]->data)[i], wanted);
        sum += wanted;
      }
      ck_assert_float_eq(number(&out, 1), sum); /* small integers: exact in any order */
      ck_assert_int_eq(*(const int64_t *)out.buffers[2]->data, c ? k : 7);
      release(&out, 3);
    }
  laze_executable_release(executable);
}
END_TEST

/* What a branch selects by values may be its result: a size of the region becomes one of the node. */
START_TEST(what_a_branch_selects_is_a_result) {
  const laze_backend *backend = backend_of(_i);
  laze_executable *executable = conformance_compile(
      context, backend,
      HEAD "-> f32[u], f32[] {\n"
           "  %0 = if %c, sizes=[u], axes=[0] {\n"
           "    %t = to %k, dtype=f32\n    %1 = gt %x, %t\n    %2 = masked_select %x, %1\n    %3 = mul %2, %2\n"
           "    return %3\n"
           "  } {\n    return %x\n  }\n"
           "  %4 = sum %0\n  return %0, %4\n}\n");
  for (int64_t k = -3; k <= 2; k++) {
    outcome out;
    int64_t count = 0;
    ck_assert_msg(run(backend, executable, k, true, NULL, &out) == LAZE_OK, "%s", error.message);
    for (int64_t i = 0; i < LENGTH; i++) {
      if (element(i) <= (float)k) continue;
      ck_assert_int_lt(count, out.types[0].sizes[0]);
      ck_assert_float_eq(((const float *)out.buffers[0]->data)[count++], element(i) * element(i));
    }
    ck_assert_int_eq(out.types[0].sizes[0], count);
    release(&out, 2);
  }
  laze_executable_release(executable);
}
END_TEST

/* A round of a loop has sizes of its own, and what it computes with them has place in the same memory. */
START_TEST(rounds_have_sizes_of_their_own) {
  const laze_backend *backend = backend_of(_i);
  laze_executable *executable = conformance_compile(
      context, backend,
      HEAD "-> f32[], i64[] {\n"
           "  %i = constant 0 : i64[]\n  %z = constant 0.0 : f32[]\n"
           "  %0:3 = while [%i, %z, %i] (%a: i64[], %s: f32[], %n: i64[]) {\n    %1 = lt %a, %k\n    return %1\n"
           "  } (%a: i64[], %s: f32[], %n: i64[]) {\n"
           "    %2 = remainder %a, 13\n    %3 = slice %x, end=%2\n    %4 = mul %3, 2.0\n"
           "    %5 = eq %2, 3\n"
           "    %6 = if %5, sizes=[v], axes=[0] {\n      return %4\n    } {\n"
           "      %7 = ge %4, 2.0\n      %8 = masked_select %4, %7\n      return %8\n    }\n"
           "    %9 = neg %6\n    %10 = sum %9\n    %11 = add %s, %10\n"
           "    %12 = size_tensor value=v\n    %13 = add %n, %12\n    %14 = add %a, 1\n    return %14, %11, %13\n  }\n"
           "  return %0#1, %0#2\n}\n");
  for (int64_t k = 0; k <= 60; k += 15) {
    outcome out;
    float sum = 0;
    int64_t count = 0;
    ck_assert_msg(run(backend, executable, k, false, NULL, &out) == LAZE_OK, "%s", error.message);
    for (int64_t a = 0; a < k; a++)
      for (int64_t i = 0; i < a % 13; i++) {
        if (a % 13 != 3 && element(i) < 1) continue;
        sum -= 2 * element(i);
        count++;
      }
    ck_assert_float_eq(number(&out, 0), sum);
    ck_assert_int_eq(*(const int64_t *)out.buffers[1]->data, count);
    release(&out, 2);
  }
  laze_executable_release(executable);
}
END_TEST

/* Rows of a scan, too: what is stacked has one size, what it is made of need not. */
START_TEST(rows_of_a_scan_have_sizes_of_their_own) {
  const laze_backend *backend = backend_of(_i);
  laze_executable *executable = conformance_compile(
      context, backend,
      HEAD "-> f32[], f32[4] {\n"
           "  %t = reshape %x, shape=[4, 3]\n  %z = constant 0.0 : f32[]\n"
           "  %0:2 = scan [%z], [%t] (%s: f32[], %row: f32[3]) {\n"
           "    %1 = gt %row, 0.0\n    %2 = masked_select %row, %1\n    %3 = sum %2\n    %4 = add %s, %3\n"
           "    return %4, %3\n  }\n  return %0#0, %0#1\n}\n");
  outcome out;
  float all = 0;
  ck_assert_msg(run(backend, executable, 0, false, NULL, &out) == LAZE_OK, "%s", error.message);
  for (int row = 0; row < 4; row++) {
    float sum = 0;
    for (int i = 0; i < 3; i++) sum += element(3 * row + i) > 0 ? element(3 * row + i) : 0;
    ck_assert_float_eq(((const float *)out.buffers[1]->data)[row], sum);
    all += sum;
  }
  ck_assert_float_eq(number(&out, 0), all);
  release(&out, 2);
  laze_executable_release(executable);
}
END_TEST

/* Of branches in branches the outer result has the size of the innermost that ran. */
START_TEST(branches_nest) {
  const laze_backend *backend = backend_of(_i);
  laze_executable *executable = conformance_compile(
      context, backend,
      HEAD "-> f32[u] {\n"
           "  %0 = if %c, sizes=[u], axes=[0] {\n"
           "    %1 = lt %k, 5\n"
           "    %2 = if %1, sizes=[v], axes=[0] {\n      %3 = slice %x, end=%k\n      return %3\n    } {\n"
           "      %4 = cat [%x, %x]\n      return %4\n    }\n"
           "    %5 = exp %2\n    %6 = cat [%5, %2]\n    return %6\n"
           "  } {\n    %7 = slice %x, start=11\n    return %7\n  }\n  return %0\n}\n");
  for (int64_t k = 0; k <= 6; k++)
    for (int c = 0; c < 2; c++) {
      outcome out;
      ck_assert_msg(run(backend, executable, k, c, NULL, &out) == LAZE_OK, "%s", error.message);
      int64_t inner = k < 5 ? k : 2 * LENGTH, rows = c ? 2 * inner : 1;
      ck_assert_int_eq(out.types[0].sizes[0], rows);
      for (int64_t i = 0; c && i < inner; i++)
        ck_assert_float_eq(((const float *)out.buffers[0]->data)[inner + i], element(i % LENGTH));
      release(&out, 1);
    }
  laze_executable_release(executable);
}
END_TEST

/* A number that does not fit, in a branch or a round, fails what comes of it: the loop stops, all that has the size is
 * missing, and the message names operator and number. */
START_TEST(failures_in_regions_are_named) {
  const laze_backend *backend = backend_of(_i);
  laze_executable *executable = conformance_compile(
      context, backend,
      HEAD
      "-> f32[u], f32[] {\n"
      "  %0 = if %c, sizes=[u], axes=[0] {\n"
      "    %1 = size_from %k, size=v, high=9\n    %2 = iota size=[v], dtype=f32\n    return %2\n"
      "  } {\n    return %x\n  }\n"
      "  %3 = exp %0\n"
      "  %i = constant 0 : i64[]\n  %z = constant 0.0 : f32[]\n"
      "  %4:2 = while [%i, %z] (%a: i64[], %s: f32[]) {\n    %5 = lt %a, %k\n    return %5\n"
      "  } (%a: i64[], %s: f32[]) {\n"
      "    %6 = size_from %a, size=w, high=5\n    %7 = iota size=[w], dtype=f32\n    %8 = sum %7\n    %9 = add %s, %8\n"
      "    %10 = add %a, 1\n    return %10, %9\n  }\n  return %3, %4#1\n}\n");
  static const struct {
    int64_t k;
    bool c;
    const char *part; /* of the message; NULL: it works */
  } cases[] = {{4, true, NULL},
               {10, true, "the size v would be 10; it must be from 0 to 9"},
               {-1, true, "the size v would be -1"},
               {10, false, "the size w would be 6; it must be from 0 to 5"},
               {6, true, NULL}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    laze_run_report report;
    outcome out;
    laze_status status = run(backend, executable, cases[i].k, cases[i].c, NULL, &out);
    ck_assert_msg((status == LAZE_OK) == !cases[i].part, "case %zu: %s", i, error.message);
    if (status == LAZE_OK) ck_assert_int_eq(out.types[0].sizes[0], cases[i].c ? cases[i].k : LENGTH);
    if (status == LAZE_OK)
      release(&out, 2);
    else
      ck_assert_msg(strstr(error.message, cases[i].part) && strstr(error.message, "size_from"), "%s", error.message);
    ck_assert_int_eq(run(backend, executable, cases[i].k, cases[i].c, &report, &out), LAZE_OK);
    ck_assert_int_eq(report.error_count, cases[i].part ? 1 : 0);
    for (int k = 0; k < 2; k++) ck_assert_msg(!out.buffers[k] == (cases[i].part != NULL), "case %zu, output %d", i, k);
    release(&out, 2);
    laze_run_report_deinit(&report);
  }
  laze_executable_release(executable);
}
END_TEST

/* Each round binds its sizes anew, in memory of the run that stays as large as the largest round needs. */
START_TEST(memory_does_not_grow_with_the_rounds) {
  const laze_backend *backend = backend_of(_i);
  laze_executable *executable = conformance_compile(
      context, backend,
      HEAD "-> i64[] {\n"
           "  %i = constant 0 : i64[]\n"
           "  %0:2 = while [%i, %i] (%a: i64[], %s: i64[]) {\n    %1 = lt %a, %k\n    return %1\n"
           "  } (%a: i64[], %s: i64[]) {\n"
           "    %2 = remainder %a, 100\n    %3 = size_from %2, size=w, high=100\n    %4 = iota size=[w]\n"
           "    %5:2 = sort %4\n    %6 = sum %5#0\n    %7 = add %s, %6\n    %8 = add %a, 1\n    return %8, %7\n  }\n"
           "  return %0#1\n}\n");
  int64_t peaks[2];
  for (int i = 0; i < 2; i++) {
    outcome out;
    int64_t rounds = i ? 5000 : 100, memory;
    ck_assert_msg(run(backend, executable, rounds, false, NULL, &out) == LAZE_OK, "%s", error.message);
    ck_assert_int_eq(*(const int64_t *)out.buffers[0]->data, rounds / 100 * 161700);
    memory = laze_metrics_get(laze_context_metrics(context), LAZE_METRIC_PEAK_BYTES);
    peaks[i] = memory;
    release(&out, 1);
  }
  ck_assert_int_eq(peaks[0], peaks[1]);
  laze_executable_release(executable);
}
END_TEST

/* What needs another size for each element is folded by a scan, whose rounds have places for it. The interpreter has
 * none, and refuses by name. */
START_TEST(a_fold_defines_sizes_natively) {
  static const char text[] = HEAD "-> f32[] {\n  %z = constant 0.0 : f32[]\n"
                                  "  %0:2 = reduce %x, [%z, %z], dim=[0] (%s: f32[], %t: f32[], %e: f32[]) {\n"
                                  "    %a = abs %e\n    %1 = to %a, dtype=i64\n    %2 = size_from %1, size=u\n"
                                  "    %3 = iota size=[u], dtype=f32\n    %4 = sum %3\n    %5 = add %4, %s\n"
                                  "    return %5, %t\n  }\n  return %0#0\n}\n";
  const laze_backend *backend = backend_of(_i);
  if (strcmp(backend->name, "interp") == 0) {
    laze_executable *executable;
    laze_graph *graph = conformance_parse(context, text);
    ck_assert_int_eq(laze_compile(context, backend, graph, &executable, &error), LAZE_UNSUPPORTED);
    ck_assert_msg(strstr(error.message, "a size is defined in a region of reduce") != NULL, "%s", error.message);
    laze_graph_destroy(graph);
    return;
  }
  laze_executable *executable = conformance_compile(context, backend, text);
  outcome out;
  float sum = 0;
  ck_assert_msg(run(backend, executable, 0, false, NULL, &out) == LAZE_OK, "%s", error.message);
  for (int i = 0; i < LENGTH; i++)
    for (int k = 0; k < fabsf(element(i)); k++) sum += (float)k;
  ck_assert_float_eq(number(&out, 0), sum);
  release(&out, 1);
  laze_executable_release(executable);
}
END_TEST

/* Folds that no loop of single elements can do are scans, over any axes, with what they capture: the rounds of a loop
 * for each element, in their order; what a reduction and a longer value give; a fold in a fold. */
START_TEST(folds_by_any_region_are_native) {
  const laze_backend *backend = backend_of(_i);
  laze_executable *executable = conformance_compile(
      context, backend,
      HEAD
      "-> f32[2], f32[3], f32[], f32[2, 0] {\n"
      "  %t = reshape %x, shape=[2, 3, 2]\n  %z = constant 0.0 : f32[]\n  %half = constant 0.5 : f32[]\n"
      "  %0 = reduce %t, [%z], dim=[1, 0] (%a: f32[], %e: f32[]) {\n"
      "    %1:2 = while [%a, %e] (%p: f32[], %q: f32[]) {\n      %2 = lt %p, %q\n      return %2\n"
      "    } (%p: f32[], %q: f32[]) {\n      %3 = mul %p, %half\n      %4 = add %3, 1.0\n      return %4, %q\n    }\n"
      "    return %1#0\n  }\n"
      "  %5 = reduce %t, [%z], dim=[-1, 0] (%a: f32[], %e: f32[]) {\n"
      "    %6 = expand %a, size=[2]\n    %7 = sum %6\n    %8 = sub %7, %e\n    return %8\n  }\n"
      "  %9 = reduce %x, [%z], dim=[0] (%a: f32[], %e: f32[]) {\n"
      "    %10 = expand %e, size=[3]\n"
      "    %11 = reduce %10, [%a], dim=[0] (%c: f32[], %d: f32[]) {\n"
      "      %12 = sum %d\n      %13 = mul %c, %half\n      %14 = add %13, %12\n      return %14\n    }\n"
      "    return %11\n  }\n"
      "  %none = zeros size=[2, 0, 3]\n"
      "  %15 = reduce %none, [%z], dim=[2] (%a: f32[], %e: f32[]) {\n    %16 = sum %e\n    return %16\n  }\n"
      "  return %0, %5, %9, %15\n}\n");
  const laze_program *program = laze_executable_program(executable);
  for (int32_t i = 0; i < laze_program_step_count(program) && strcmp(backend->name, "interp") != 0; i++)
    ck_assert_ptr_null(laze_program_step(program, i)->interpreted);
  outcome out;
  ck_assert_msg(run(backend, executable, 0, false, NULL, &out) == LAZE_OK, "%s", error.message);
  float climbed[2] = {0}, doubled[3] = {0}, all = 0;
  for (int i = 0; i < 12; i++) {
    float e = element(i), *climb = &climbed[i % 2], *twice = &doubled[i / 2 % 3];
    while (*climb < e) *climb = *climb * 0.5f + 1;
    *twice = 2 * *twice - e;
    for (int k = 0; k < 3; k++) all = all * 0.5f + e;
  }
  for (int i = 0; i < 2; i++) ck_assert_float_eq(((const float *)out.buffers[0]->data)[i], climbed[i]);
  for (int i = 0; i < 3; i++) ck_assert_float_eq(((const float *)out.buffers[1]->data)[i], doubled[i]);
  ck_assert_float_eq(*(const float *)out.buffers[2]->data, all);
  release(&out, 4);
  laze_executable_release(executable);
}
END_TEST

/* Folds of several states: the place of the largest element, mean and spread in one pass, a complex product. Branches
 * in the region are taken element by element, and nothing of it runs on the interpreter of a native program. */
START_TEST(folds_of_several_states_choose) {
  const laze_backend *backend = backend_of(_i);
  laze_executable *executable = conformance_compile(
      context, backend,
      HEAD
      "-> i64[4], f32[4], f32[4] {\n"
      "  %t = reshape %x, shape=[4, 3]\n  %z = constant 0.0 : f32[]\n  %i = constant 0 : i64[]\n"
      "  %low = constant -inf : f32[]\n"
      "  %0:3 = reduce %t, [%low, %i, %i], dim=[1] (%best: f32[], %at: i64[], %now: i64[], %e: f32[]) {\n"
      "    %1 = gt %e, %best\n"
      "    %2:2 = if %1 {\n      return %e, %now\n    } {\n      return %best, %at\n    }\n"
      "    %3 = add %now, 1\n    return %2#0, %2#1, %3\n  }\n"
      "  %4:3 = reduce %t, [%z, %z, %z], dim=[1] (%n: f32[], %mean: f32[], %m2: f32[], %e: f32[]) {\n"
      "    %5 = add %n, 1.0\n    %6 = sub %e, %mean\n    %7 = div %6, %5\n    %8 = add %mean, %7\n"
      "    %9 = sub %e, %8\n    %10 = mul %6, %9\n    %11 = add %m2, %10\n    return %5, %8, %11\n  }\n"
      "  %one = constant 1.0 : f32[]\n"
      "  %12:2 = reduce %t, [%one, %z], dim=[1] (%re: f32[], %im: f32[], %e: f32[]) {\n"
      "    %13 = mul %re, %e\n    %14 = sub %13, %im\n    %15 = mul %im, %e\n    %16 = add %re, %15\n"
      "    %17 = lt %14, 0.0\n"
      "    %18 = if %17 {\n      %19 = gt %16, 0.0\n      %20 = if %19 {\n        %21 = neg %16\n        return %21\n"
      "      } {\n        return %16\n      }\n      return %20\n    } {\n      return %16\n    }\n"
      "    return %14, %18\n  }\n"
      "  return %0#1, %4#2, %12#1\n}\n");
  const laze_program *program = laze_executable_program(executable);
  for (int32_t i = 0; i < laze_program_step_count(program) && strcmp(backend->name, "interp") != 0; i++)
    ck_assert_ptr_null(laze_program_step(program, i)->interpreted);
  outcome out;
  ck_assert_msg(run(backend, executable, 0, false, NULL, &out) == LAZE_OK, "%s", error.message);
  for (int row = 0; row < 4; row++) {
    float best = -INFINITY, n = 0, mean = 0, m2 = 0, re = 1, im = 0;
    int64_t at = 0;
    for (int i = 0; i < 3; i++) {
      float e = element(3 * row + i);
      if (e > best) at = i;
      if (e > best) best = e;
      n += 1;
      float before = e - mean;
      mean += before / n;
      m2 += before * (e - mean);
      float next = re * e - im;
      im = re + im * e;
      re = next;
      if (re < 0 && im > 0) im = -im;
    }
    ck_assert_int_eq(((const int64_t *)out.buffers[0]->data)[row], at);
    ck_assert_float_eq(((const float *)out.buffers[1]->data)[row], m2);
    ck_assert_float_eq(((const float *)out.buffers[2]->data)[row], im);
  }
  release(&out, 3);
  laze_executable_release(executable);
}
END_TEST

int main(void) {
  TCase *tests = tcase_create("branches");
  tcase_add_checked_fixture(tests, set_up, tear_down);
  int backends = test_region_backend_count() + (test_region_backend_count() > 1);
  tcase_add_loop_test(tests, each_branch_gives_its_size, 0, backends);
  tcase_add_loop_test(tests, what_a_branch_selects_is_a_result, 0, backends);
  tcase_add_loop_test(tests, rounds_have_sizes_of_their_own, 0, backends);
  tcase_add_loop_test(tests, rows_of_a_scan_have_sizes_of_their_own, 0, backends);
  tcase_add_loop_test(tests, branches_nest, 0, backends);
  tcase_add_loop_test(tests, failures_in_regions_are_named, 0, backends);
  tcase_add_loop_test(tests, memory_does_not_grow_with_the_rounds, 0, backends);
  tcase_add_loop_test(tests, folds_of_several_states_choose, 0, backends);
  tcase_add_loop_test(tests, folds_by_any_region_are_native, 0, backends);
  tcase_add_loop_test(tests, a_fold_defines_sizes_natively, 0, backends);
  return conformance_main(tests);
}
