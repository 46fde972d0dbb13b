/* Writing at places that an index names: many elements in one place, in the order of the index on any number of
 * threads; an index that is out of range; and no copy of what nobody reads any more. */
#include "tests/conformance/conformance.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PLACES = 5, ROWS = 3000, COLUMNS = 600 };

static laze_context *open_context(int backend, int32_t threads) {
  laze_context *context;
  const char *name = laze_backend_at(backend)->name;
  laze_context_options options = {
      .struct_size = sizeof options, .backend = name, .threads = threads, .cache_directory = "", .debug = "verify"};
  ck_assert_int_eq(laze_context_create(&options, &context, NULL), LAZE_OK);
  return context;
}

/* Sums and last ones, as a plain loop has them. */
static void expect(const int64_t *index, const float *source, float *sums, float *last) {
  for (int64_t r = 0; r < ROWS; r++)
    for (int64_t c = 0; c < COLUMNS; c++) {
      int64_t to = (index[r] < 0 ? index[r] + PLACES : index[r]) * COLUMNS + c;
      sums[to] += source[r * COLUMNS + c];
      last[to] = source[r * COLUMNS + c];
    }
}

/* Rounding makes every other order of sums visible. */
START_TEST(many_in_one_place_go_in_order) {
  static float x[PLACES * COLUMNS], source[ROWS * COLUMNS], sums[PLACES * COLUMNS], last[PLACES * COLUMNS];
  static int64_t index[ROWS];
  for (int i = 0; i < ROWS; i++) index[i] = (int64_t)i * 7919 % PLACES - (i % 3 == 0 ? PLACES : 0);
  for (int i = 0; i < ROWS * COLUMNS; i++) source[i] = (float)((double)i * 7919.0 - 1e6 * (i % 17)) / 3.0f;
  memset(sums, 0, sizeof sums);
  memset(last, 0, sizeof last);
  expect(index, source, sums, last);
  for (int32_t threads = 1; threads < 4; threads += 2) {
    laze_context *context = open_context(_i, threads);
    const laze_backend *backend = laze_backend_at(_i);
    laze_buffer *outputs[4];
    laze_executable *executable = conformance_compile(
        context, backend,
        "graph @g(%x: f32[5,600], %i: i64[3000], %y: f32[3000,600]) -> f32[5,600], f32[5,600], f32[5,600], f32[5,600] "
        "{\n"
        "  %0 = index_add %x, dim=0, index=%i, source=%y\n  %1 = index_copy %x, dim=0, index=%i, source=%y\n"
        "  %2 = unsqueeze %i, dim=1\n  %3 = expand %2, size=[3000,600]\n"
        "  %4 = scatter_add %x, dim=0, index=%3, src=%y\n  %5 = scatter %x, dim=0, index=%3, src=%y\n"
        "  return %0, %1, %4, %5\n}\n");
    laze_buffer *inputs[] = {conformance_buffer(context, backend, x, sizeof x),
                             conformance_buffer(context, backend, index, sizeof index),
                             conformance_buffer(context, backend, source, sizeof source)};
    conformance_execute(backend, executable, inputs, outputs);
    for (int i = 0; i < 4; i++) ck_assert_mem_eq(outputs[i]->data, i % 2 ? last : sums, sizeof sums);
    for (int i = 0; i < 3; i++) laze_buffer_release(inputs[i]);
    for (int i = 0; i < 4; i++) laze_buffer_release(outputs[i]);
    laze_executable_release(executable);
    laze_context_release(context);
  }
}
END_TEST

/* One kernel reads the index twice: the reduction in vector lanes, what is added to one place one after the other. */
START_TEST(an_index_less_its_least_goes_in_order) {
  static float ones[ROWS], counts[PLACES], x[PLACES];
  static int64_t index[ROWS];
  laze_context *context = open_context(_i, 1);
  const laze_backend *backend = laze_backend_at(_i);
  laze_buffer *outputs[1];
  for (int i = 0; i < ROWS; i++) {
    ones[i] = 1;
    index[i] = 40 + i * 7 % PLACES;
    counts[index[i] - 40] += 1;
  }
  laze_executable *executable =
      conformance_compile(context, backend,
                          "graph @g(%x: f32[5], %i: i64[3000], %y: f32[3000]) -> f32[5] {\n"
                          "  %0 = amin %i\n  %1 = sub %i, %0\n  %2 = scatter_add %x, dim=0, index=%1, src=%y\n"
                          "  return %2\n}\n");
  laze_buffer *inputs[] = {conformance_buffer(context, backend, x, sizeof x),
                           conformance_buffer(context, backend, index, sizeof index),
                           conformance_buffer(context, backend, ones, sizeof ones)};
  conformance_execute(backend, executable, inputs, outputs);
  ck_assert_mem_eq(outputs[0]->data, counts, sizeof counts);
  for (int i = 0; i < 3; i++) laze_buffer_release(inputs[i]);
  laze_buffer_release(outputs[0]);
  laze_executable_release(executable);
  laze_context_release(context);
}
END_TEST

/* Each call is over %x: f32[3,2], %l: i64[4], %s: f32[4,2], %i: i64[2,2] and %y: f32[2,2]. */
static const struct {
  const char *call, *message;
} refused[] = {
    {"index_add %x, dim=0, index=%l, source=%s",
     "index_add: index 3 at position 2 is out of range for an axis of size 3"},
    {"index_copy %x, dim=0, index=%l, source=%s", "index_copy: index 3 at position 2"},
    {"index_fill %x, dim=0, index=%l, value=1", "index_fill: index 3 at position 2"},
    {"scatter %x, dim=0, index=%i, src=%y", "scatter: index -4 at position 1 is out of range for an axis of size 3"},
    {"scatter_add %x, dim=1, index=%i, src=%y",
     "scatter_add: index -4 at position 1 is out of range for an axis of size 2"},
    {"scatter_reduce %x, dim=0, index=%i, src=%y, reduce=\"mean\"", "scatter_reduce: index -4 at position 1"},
};

START_TEST(an_index_out_of_range_is_named) {
  static const int64_t list[] = {0, -3, 3, 9}, index[] = {1, -4, 0, 8};
  static const float x[6] = {0}, s[8] = {0}, y[4] = {0};
  const laze_backend *backend = laze_backend_at(_i);
  for (size_t k = 0; k < sizeof refused / sizeof *refused; k++) {
    laze_context *context = open_context(_i, 1);
    char text[512];
    laze_error error;
    laze_buffer *output;
    snprintf(text, sizeof text,
             "graph @g(%%x: f32[3,2], %%l: i64[4], %%s: f32[4,2], %%i: i64[2,2], %%y: f32[2,2]) -> f32[3,2] {\n"
             "  %%0 = %s\n  return %%0\n}\n",
             refused[k].call);
    laze_executable *executable = conformance_compile(context, backend, text);
    laze_buffer *inputs[] = {
        conformance_buffer(context, backend, x, sizeof x), conformance_buffer(context, backend, list, sizeof list),
        conformance_buffer(context, backend, s, sizeof s), conformance_buffer(context, backend, index, sizeof index),
        conformance_buffer(context, backend, y, sizeof y)};
    laze_run request = {.inputs = inputs, .outputs = &output};
    ck_assert_int_eq(backend->execute(executable, &request, &error), LAZE_OUT_OF_RANGE);
    ck_assert_msg(strstr(error.message, refused[k].message) != NULL, "%s", error.message);
    for (int i = 0; i < 5; i++) laze_buffer_release(inputs[i]);
    laze_executable_release(executable);
    laze_context_release(context);
  }
}
END_TEST

/* Otherwise a sum over a million rows in a thousand steps would copy its table in each of them. */
START_TEST(what_nobody_reads_any_more_is_not_copied) {
  laze_context *context = open_context(_i, 1);
  const laze_backend *backend = laze_backend_at(_i);
  const int64_t table = 1000 * 64 * 4;
  laze_executable *executable = conformance_compile(
      context, backend,
      "graph @g(%x: f32[1000,64], %i: i64[9], %y: f32[9,64]) -> f32[1000] {\n  %0 = neg %x\n"
      "  %1 = index_add %0, dim=0, index=%i, source=%y\n  %2 = index_add %1, dim=0, index=%i, source=%y\n"
      "  %3 = sum %2, dim=[1]\n  return %3\n}\n");
  if (test_fuses(backend)) ck_assert_int_lt(laze_executable_temporary_bytes(executable), table + table / 8);
  laze_executable_release(executable);
  laze_context_release(context);
}
END_TEST

int main(void) {
  TCase *tests = tcase_create("scatter");
  tcase_set_timeout(tests, 120);
  conformance_add(tests, many_in_one_place_go_in_order);
  conformance_add(tests, an_index_less_its_least_goes_in_order);
  conformance_add(tests, an_index_out_of_range_is_named);
  conformance_add(tests, what_nobody_reads_any_more_is_not_copied);
  return conformance_main(tests);
}
