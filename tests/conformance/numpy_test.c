/* What NumPy gives (numpy.txt, written by record_numpy.py), on every backend: bits, or within the distance that a case
 * states. */
#include "tests/conformance/conformance.h"

#include "ir/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct {
  FILE *file;
  char *line;
  size_t capacity;
} reader;

static bool next_line(reader *from) {
  if (getline(&from->line, &from->capacity, from->file) < 0) return false;
  from->line[strcspn(from->line, "\n")] = 0;
  return true;
}

/* "f32[2,3] 3f800000 ..." into the next array. */
static void read_array(laze_context *context, const char *text, test_arrays *into) {
  laze_error error;
  int32_t i = into->count++;
  ck_assert_int_eq(laze_type_parse(NULL, &text, &into->types[i], &error), LAZE_OK);
  int64_t count = test_elements(&into->types[i]), width = laze_dtype_size(into->types[i].dtype);
  ck_assert_int_eq(laze_buffer_create(context, count * width, &into->buffers[i], &error), LAZE_OK);
  for (int64_t k = 0; k < count; k++) {
    char *end;
    uint64_t bits = strtoull(text, &end, 16);
    ck_assert_msg(end != text, "too few elements");
    memcpy((char *)into->buffers[i]->data + k * width, &bits, (size_t)width);
    text = end;
  }
  ck_assert_msg(*text == 0, "too many elements: %s", text);
}

static void check_result(const char *name, double tolerance, const test_arrays *expected, const test_arrays *got) {
  ck_assert_int_eq(expected->count, got->count);
  for (int32_t i = 0; i < got->count; i++) {
    laze_dtype dtype = expected->types[i].dtype;
    ck_assert_msg(laze_type_equal(&expected->types[i], &got->types[i]), "%s: output %d has another type", name, (int)i);
    for (int64_t k = 0; k < test_elements(&expected->types[i]); k++) {
      char left[64], right[64];
      const char *a = (const char *)expected->buffers[i]->data + k * laze_dtype_size(dtype),
                 *b = (const char *)got->buffers[i]->data + k * laze_dtype_size(dtype);
      bool same = test_same_bits(dtype, a, b);
      if (!same && tolerance > 0)
        same = test_ulp_distance(dtype, test_element_as_double(dtype, b),
                                 (long double)test_element_as_double(dtype, a)) <= tolerance;
      ck_assert_msg(same, "%s: output %d, element %lld: NumPy gives %s, this %s", name, (int)i, (long long)k,
                    test_element_text(dtype, a, left), test_element_text(dtype, b, right));
    }
  }
}

/* Reads one case, whose first line is at hand, and runs it. */
static void check_case(laze_context *context, const laze_backend *backend, reader *from) {
  char name[64], graph_text[4096] = "";
  double tolerance;
  test_arrays inputs = {0}, expected = {0}, got;
  laze_error error;
  laze_graph *graph;
  ck_assert_int_eq(sscanf(from->line, "case %63s %lf", name, &tolerance), 2);
  while (next_line(from) && strcmp(from->line, "end")) {
    if (!strncmp(from->line, "input ", 6))
      read_array(context, from->line + 6, &inputs);
    else if (!strncmp(from->line, "output ", 7))
      read_array(context, from->line + 7, &expected);
    else
      strcat(strcat(graph_text, from->line), "\n");
  }
  laze_status status = laze_graph_parse(context, graph_text, (int64_t)strlen(graph_text), name, &graph, &error);
  ck_assert_msg(status == LAZE_OK, "%s: %s", name, error.message);
  status = test_run(context, backend, graph, NULL, &inputs, &got, &error);
  ck_assert_msg(status == LAZE_OK, "%s: %s", name, error.message);
  check_result(name, tolerance, &expected, &got);
  test_arrays_release(&inputs);
  test_arrays_release(&expected);
  test_arrays_release(&got);
  laze_graph_destroy(graph);
}

START_TEST(results_are_those_of_numpy) {
  laze_context *context = test_context(NULL);
  reader from = {.file = fopen(LAZE_TEST_NUMPY, "r")};
  int cases = 0;
  ck_assert_ptr_nonnull(from.file);
  for (; next_line(&from); cases++) check_case(context, laze_backend_at(_i), &from);
  ck_assert_int_gt(cases, 60);
  free(from.line);
  fclose(from.file);
  laze_context_release(context);
}
END_TEST

int main(void) {
  TCase *tests = tcase_create("numpy");
  conformance_add(tests, results_are_those_of_numpy);
  return conformance_main(tests);
}
