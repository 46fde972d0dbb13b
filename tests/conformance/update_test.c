/* Slices that are read and written where a value says: what they give, what they leave alone, what they refuse, and how
 * much memory they take. A value that nobody reads any more is written to where it is; any other is copied first. */
#include "tests/conformance/conformance.h"

#include <stdio.h>
#include <string.h>

enum { ELEMENTS = 8 };

/* Of a graph over %x: f32[4,2] and %i: i64[]. */
typedef struct {
  const char *what, *body; /* behind the header, whose results are `results` */
  const char *results;
  float expected[2][ELEMENTS]; /* for i = 1 and x = 0, 1, 2, ... */
  int count;                   /* of results */
  int copies;                  /* that native code makes of what is overwritten */
} example;

#define STATE "f32[4,2]"

static const example examples[] = {
    {"a slice",
     "%0 = dynamic_slice %x, %i, dim=0, length=2\n %1 = add %0, %0\n return %1\n",
     "f32[2,2]",
     {{4, 6, 8, 10}},
     1,
     0},
    {"a slice from the back",
     "%0 = sub %i, 3\n %1 = dynamic_slice %x, %0, dim=0, length=2\n return %1\n",
     "f32[2,2]",
     {{4, 5, 6, 7}},
     1,
     0},
    {"slices of two axes",
     "%0 = dynamic_slice %x, %i, dim=0, length=2\n %1 = dynamic_slice %0, %i, dim=1, length=1\n return %1\n",
     "f32[2,1]",
     {{3, 5}},
     1,
     0},
    {"an input is not written to",
     "%0 = full size=[1,2], fill_value=9.0\n %1 = dynamic_update %x, %0, %i, dim=0\n return %1\n",
     STATE,
     {{0, 1, 9, 9, 4, 5, 6, 7}},
     1,
     1},
    {"an old value that is returned",
     "%0 = neg %x\n %1 = full size=[1,2], fill_value=9.0\n %2 = dynamic_update %0, %1, %i, dim=0\n return %0, %2\n",
     STATE ", " STATE,
     {{-0.0f, -1, -2, -3, -4, -5, -6, -7}, {-0.0f, -1, 9, 9, -4, -5, -6, -7}},
     2,
     1},
    {"an old value that is read later",
     "%0 = neg %x\n %1 = full size=[1,2], fill_value=9.0\n %2 = dynamic_update %0, %1, %i, dim=0\n"
     " %3 = sum %2, dim=[1]\n %4 = sum %0, dim=[1]\n %5 = sub %3, %4\n return %5\n",
     "f32[4]",
     {{0, 23, 0, 0}},
     1,
     1},
    {"one place for a chain",
     "%0 = neg %x\n %1 = full size=[1,2], fill_value=9.0\n %2 = dynamic_update %0, %1, %i, dim=0\n"
     " %k = constant -1 : i64[]\n %3 = dynamic_update %2, %1, %k, dim=0\n %4 = sum %3, dim=[1]\n return %4\n",
     "f32[4]",
     {{-1, 18, -9, 18}},
     1,
     0},
    {"what is written comes from what is overwritten",
     "%0 = neg %x\n %1 = dynamic_slice %0, %i, dim=0, length=3\n %k = constant 0 : i64[]\n"
     " %2 = dynamic_update %0, %1, %k, dim=0\n %3 = sum %2, dim=[1]\n return %3\n",
     "f32[4]",
     {{-5, -9, -13, -13}},
     1,
     0},
    {"a state that stays in its place",
     "%k = constant 0 : i64[]\n"
     " %0:2 = while [%k, %x] (%a: i64[], %s: f32[4,2]) {\n  %c = lt %a, 3\n  return %c\n } (%a: i64[], %s: f32[4,2]) "
     "{\n"
     "  %r = dynamic_slice %s, %a, dim=0, length=1\n  %n = neg %r\n  %t = dynamic_update %s, %n, %a, dim=0\n"
     "  %b = add %a, 1\n  return %b, %t\n }\n %1 = sum %0#1, dim=[1]\n return %1\n",
     "f32[4]",
     {{-1, -5, -9, 13}},
     1,
     1},
    {"a state that is returned as another too",
     "%k = constant 0 : i64[]\n"
     " %0:3 = while [%k, %x, %x] (%a: i64[], %s: f32[4,2], %o: f32[4,2]) {\n  %c = lt %a, 2\n  return %c\n }"
     " (%a: i64[], %s: f32[4,2], %o: f32[4,2]) {\n"
     "  %r = dynamic_slice %s, %a, dim=0, length=1\n  %n = neg %r\n  %t = dynamic_update %s, %n, %a, dim=0\n"
     "  %b = add %a, 1\n  return %b, %t, %s\n }\n return %0#1, %0#2\n",
     STATE ", " STATE,
     {{-0.0f, -1, -2, -3, 4, 5, 6, 7}, {-0.0f, -1, 2, 3, 4, 5, 6, 7}},
     2,
     2},
    {"a state of which rows are stacked",
     "%0:2 = scan [%x], [%x] (%s: f32[4,2], %r: f32[2]) {\n  %n = reshape %r, shape=[1,2]\n  %m = neg %n\n"
     "  %k = constant 0 : i64[]\n  %t = dynamic_update %s, %m, %k, dim=0\n  return %t, %t\n }\n"
     " %1 = sum %0#1, dim=[1]\n return %0#0, %1\n",
     STATE ", f32[4,2]",
     {{-6, -7, 2, 3, 4, 5, 6, 7}, {12, 14, 10, 12, 8, 10, 6, 8}},
     2,
     1},
};
enum { EXAMPLES = sizeof examples / sizeof *examples };

static laze_executable *compile(laze_context *context, const laze_backend *backend, const char *results,
                                const char *body) {
  char text[1024];
  int length = snprintf(text, sizeof text, "graph @g(%%x: f32[4,2], %%i: i64[]) -> %s {\n %s}\n", results, body);
  ck_assert_int_lt(length, (int)sizeof text);
  return conformance_compile(context, backend, text);
}

static laze_status run(laze_context *context, const laze_backend *backend, laze_executable *executable, int64_t index,
                       laze_buffer **outputs, laze_error *error) {
  float x[ELEMENTS];
  for (int i = 0; i < ELEMENTS; i++) x[i] = (float)i;
  laze_buffer *inputs[] = {conformance_buffer(context, backend, x, sizeof x),
                           conformance_buffer(context, backend, &index, sizeof index)};
  laze_status status = backend->execute(executable, &(laze_run){.inputs = inputs, .outputs = outputs}, error);
  ck_assert_mem_eq(inputs[0]->data, x, sizeof x);
  for (int i = 0; i < 2; i++) laze_buffer_release(inputs[i]);
  return status;
}

static void check_example(laze_context *context, const laze_backend *backend, const example *item) {
  laze_executable *executable = compile(context, backend, item->results, item->body);
  laze_buffer *outputs[2] = {NULL, NULL};
  laze_error error;
  /* Twice: a run leaves nothing behind. */
  for (int repeat = 0; repeat < 2; repeat++) {
    ck_assert_msg(run(context, backend, executable, 1, outputs, &error) == LAZE_OK, "%s: %s", item->what,
                  error.message);
    for (int i = 0; i < item->count; i++) {
      const float *got = outputs[i]->data;
      for (int64_t k = 0; k < outputs[i]->size / 4; k++)
        ck_assert_msg(got[k] == item->expected[i][k], "%s: result %d, element %lld: %g", item->what, i, (long long)k,
                      (double)got[k]);
      laze_buffer_release(outputs[i]);
    }
  }
  laze_executable_release(executable);
}

START_TEST(slices_and_updates_are_where_the_value_says) {
  const laze_backend *backend = laze_backend_at(_i);
  laze_context *context = test_context("verify");
  for (int k = 0; k < EXAMPLES; k++) check_example(context, backend, &examples[k]);
  laze_context_release(context);
}
END_TEST

/* A copy of a large state in each round of a loop is what makes a program slow without a word: the metric tells, and is
 * 0 where nobody needs the old value any more. */
START_TEST(row_5_17_copies_of_writes_are_counted) {
  const laze_backend *backend = laze_backend_at(_i);
  laze_context *context = test_context("verify");
  for (int k = 0; k < EXAMPLES; k++) {
    laze_executable *executable = compile(context, backend, examples[k].results, examples[k].body);
    laze_buffer *outputs[2] = {NULL, NULL};
    int64_t copies;
    laze_metric_reset(context);
    ck_assert_int_eq(run(context, backend, executable, 1, outputs, NULL), LAZE_OK);
    ck_assert_int_eq(laze_metric_read(context, "write_copies", &copies, NULL), LAZE_OK);
    /* The interpreter makes each value anew, and so has no updates. */
    const int64_t expected = strcmp(backend->name, "llvm") == 0 ? examples[k].copies : 0;
    ck_assert_msg(copies == expected, "%s: %lld copies", examples[k].what, (long long)copies);
    for (int i = 0; i < examples[k].count; i++) laze_buffer_release(outputs[i]);
    laze_executable_release(executable);
  }
  laze_context_release(context);
}
END_TEST

/* What a program takes for temporaries, of a state that fills many places. */
static int64_t temporary_bytes(laze_context *context, const laze_backend *backend, const char *text) {
  laze_executable *executable = conformance_compile(context, backend, text);
  int64_t bytes = laze_executable_temporary_bytes(executable);
  laze_executable_release(executable);
  return bytes;
}

/* Otherwise each round of a loop copies all of a state of which it writes a row. */
START_TEST(what_nobody_reads_any_more_is_written_to_where_it_is) {
  const laze_backend *backend = laze_backend_at(_i);
  laze_context *context = test_context("verify");
  const int64_t state = 1000 * 64 * 4;
  int64_t chain = temporary_bytes(
      context, backend,
      "graph @g(%x: f32[1000,64], %r: f32[1,64], %i: i64[]) -> f32[1000] {\n  %0 = neg %x\n"
      "  %1 = dynamic_update %0, %r, %i, dim=0\n  %2 = dynamic_update %1, %r, %i, dim=0\n  %3 = sum %2, dim=[1]\n"
      "  return %3\n}\n");
  int64_t loop = temporary_bytes(
      context, backend,
      "graph @g(%x: f32[1000,64], %i: i64[]) -> i64[], f32[1000,64] {\n"
      "  %0:2 = while [%i, %x] (%a: i64[], %s: f32[1000,64]) {\n    %1 = lt %a, 9\n    return %1\n  }"
      " (%a: i64[], %s: f32[1000,64]) {\n    %2 = dynamic_slice %s, %a, dim=0, length=1\n    %3 = neg %2\n"
      "    %4 = dynamic_update %s, %3, %a, dim=0\n    %5 = add %a, 1\n    return %5, %4\n  }\n"
      "  return %0#0, %0#1\n}\n");
  if (strcmp(backend->name, "llvm") == 0) { /* others have no schedule, which says so */
    ck_assert_int_lt(chain, state + state / 8);
    ck_assert_int_lt(loop, state + state / 8);
  }
  laze_context_release(context);
}
END_TEST

/* What a region returns is read behind its last step: an update there may not take its place, or the next round begins
 * with what was written. */
START_TEST(what_goes_around_beside_its_update_is_kept) {
  const laze_backend *backend = laze_backend_at(_i);
  laze_context *context = test_context("verify");
  const float x[] = {1, 2, 3}, t[] = {1, 1, 1, 1, 1, 1};
  laze_executable *executable = conformance_compile(
      context, backend,
      "graph @g(%x: f32[3], %t: f32[2,3]) -> f32[3], f32[2,3] {\n"
      "  %0:2 = scan [%x], [%t] (%s: f32[3], %r: f32[3]) {\n    %1 = sum %r, dim=[0], keepdim=true\n"
      "    %2 = add %1, %s\n    %z = constant 0 : i64[]\n    %3 = dynamic_slice %2, %z, dim=0, length=1\n"
      "    %4 = neg %3\n    %5 = dynamic_update %2, %4, %z, dim=0\n    return %2, %5\n  }\n"
      "  return %0#0, %0#1\n}\n");
  laze_buffer *outputs[2], *inputs[] = {conformance_buffer(context, backend, x, sizeof x),
                                        conformance_buffer(context, backend, t, sizeof t)};
  conformance_execute(backend, executable, inputs, outputs);
  const float states[] = {7, 8, 9}, rows[] = {-4, 5, 6, -7, 8, 9};
  ck_assert_mem_eq(outputs[0]->data, states, sizeof states);
  ck_assert_mem_eq(outputs[1]->data, rows, sizeof rows);
  for (int i = 0; i < 2; i++) {
    laze_buffer_release(outputs[i]);
    laze_buffer_release(inputs[i]);
  }
  laze_executable_release(executable);
  laze_context_release(context);
}
END_TEST

static void check_refused(laze_context *context, const laze_backend *backend, const char *body, const char *results,
                          int64_t index, const char *operator) {
  laze_executable *executable = compile(context, backend, results, body);
  laze_buffer *output;
  laze_error error;
  char expected[64];
  ck_assert_int_eq(run(context, backend, executable, index, &output, &error), LAZE_OUT_OF_RANGE);
  snprintf(expected, sizeof expected, "3 elements from index %lld on", (long long)index);
  ck_assert_msg(strstr(error.message, expected) && strstr(error.message, operator) &&
                    strstr(error.message, "0 to 1, or -4 to -3"),
                "%s", error.message);
  ck_assert_int_eq(run(context, backend, executable, 1, &output, &error), LAZE_OK);
  laze_buffer_release(output);
  laze_executable_release(executable);
}

/* A slice is inside or refused: its start is not moved. */
START_TEST(what_is_not_inside_is_refused) {
  static const int64_t bad[] = {2, 4, -1, -2, -5, INT64_MAX, INT64_MIN};
  const laze_backend *backend = laze_backend_at(_i);
  laze_context *context = test_context("verify");
  for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
    check_refused(context, backend, "%0 = dynamic_slice %x, %i, dim=0, length=3\n return %0\n", "f32[3,2]", bad[k],
                  "dynamic_slice");
    check_refused(context, backend,
                  "%0 = full size=[3,2], fill_value=1.0\n %1 = dynamic_update %x, %0, %i, dim=0\n return %1\n",
                  "f32[4,2]", bad[k], "dynamic_update");
  }
  laze_context_release(context);
}
END_TEST

/* Nothing is read or written, so that no start is wrong; what is updated by nothing is still there. */
START_TEST(nothing_is_everywhere) {
  const laze_backend *backend = laze_backend_at(_i);
  laze_context *context = test_context("verify");
  laze_executable *slice =
      compile(context, backend, "f32[0,2]", "%0 = dynamic_slice %x, %i, dim=0, length=0\n return %0\n");
  laze_executable *update =
      compile(context, backend, STATE,
              "%0 = full size=[0,2], fill_value=1.0\n %1 = dynamic_update %x, %0, %i, dim=0\n return %1\n");
  laze_buffer *output;
  laze_error error;
  ck_assert_int_eq(run(context, backend, slice, 77, &output, &error), LAZE_OK);
  ck_assert_int_eq(output->size, 0);
  laze_buffer_release(output);
  ck_assert_int_eq(run(context, backend, update, 77, &output, &error), LAZE_OK);
  for (int i = 0; i < ELEMENTS; i++) ck_assert(((const float *)output->data)[i] == (float)i);
  laze_buffer_release(output);
  laze_executable_release(slice);
  laze_executable_release(update);
  laze_context_release(context);
}
END_TEST

int main(void) {
  TCase *tests = tcase_create("update");
  conformance_add(tests, slices_and_updates_are_where_the_value_says);
  conformance_add(tests, row_5_17_copies_of_writes_are_counted);
  conformance_add(tests, what_nobody_reads_any_more_is_written_to_where_it_is);
  conformance_add(tests, what_goes_around_beside_its_update_is_kept);
  conformance_add(tests, what_is_not_inside_is_refused);
  conformance_add(tests, nothing_is_everywhere);
  return conformance_main(tests);
}
