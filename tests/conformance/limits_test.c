/* Groups end where their tables do: chains as long, sums of as many inputs, shapes of as many axes as a kernel takes,
 * and a few more, give what the interpreter gives for one node at a time. */
#include "tests/conformance/conformance.h"

#include "ir/text/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Compares the backend under test with the reference, bit for bit. */
static void check(int backend_index, const char *text) {
  const laze_backend *backend = laze_backend_at(backend_index), *reference;
  laze_context *context = test_context("verify");
  laze_graph *graph = NULL;
  laze_error error;
  test_arrays inputs, expected, got;
  char difference[256];
  test_random random = {.state = 7};
  ck_assert_int_eq(laze_backend_find(context, "interp", &reference, &error), LAZE_OK);
  laze_status status = laze_graph_parse(context, text, (int64_t)strlen(text), "test", &graph, &error);
  ck_assert_msg(status == LAZE_OK, "%s\n%s", error.message, text);
  test_inputs(context, graph, &random, &(test_range){.low = -2, .high = 2}, &inputs);
  ck_assert_msg(test_run(context, reference, graph, NULL, &inputs, &expected, &error) == LAZE_OK, "%s", error.message);
  ck_assert_msg(test_run(context, backend, graph, NULL, &inputs, &got, &error) == LAZE_OK, "%s", error.message);
  ck_assert_msg(test_arrays_same(&expected, &got, difference, sizeof difference), "%s\n%s", difference, text);
  test_arrays_release(&inputs);
  test_arrays_release(&expected);
  test_arrays_release(&got);
  laze_graph_destroy(graph);
  laze_context_release(context);
}

static char text[65536];
static size_t length;

static void begin(void) {
  length = (size_t)sprintf(text, "laze 1\n");
}
__attribute__((format(printf, 1, 2))) static void append(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  length += (size_t)vsnprintf(text + length, sizeof text - length, format, arguments);
  va_end(arguments);
  ck_assert_uint_lt(length, sizeof text);
}

/* LAZE_GROUP_MAX_WEIGHT: each step is one instance, and each third reads what came two before. */
START_TEST(chains_end) {
  static const int counts[] = {1, 63, 64, 65, 187, 188, 189, 190, 191, 192, 193, 194, 400};
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
    begin();
    append("graph @chain(%%x: f32[5]) -> f32[5] {\n  %%v0 = neg %%x\n  %%v1 = abs %%v0\n");
    for (int k = 2; k < counts[i] + 2; k++)
      if (k % 3 == 0)
        append("  %%v%d = sub %%v%d, %%v%d\n", k, k - 1, k - 2);
      else
        append("  %%v%d = %s %%v%d\n", k, k % 2 ? "neg" : "abs", k - 1);
    append("  return %%v%d\n}\n", counts[i] + 1);
    check(_i, text);
  }
}
END_TEST

/* LAZE_GROUP_MAX_READS: every input is a buffer of the kernel. */
START_TEST(inputs_end) {
  static const int counts[] = {2, 7, 8, 9, 22, 23, 24, 25, 26, 49};
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
    begin();
    append("graph @inputs(");
    for (int k = 0; k < counts[i]; k++) append("%s%%x%d: f32[3]", k ? ", " : "", k);
    append(") -> f32[3] {\n  %%s1 = add %%x0, %%x1\n");
    for (int k = 2; k < counts[i]; k++) append("  %%s%d = add %%s%d, %%x%d\n", k, k - 1, k);
    append("  return %%s%d\n}\n", counts[i] - 1);
    check(_i, text);
  }
}
END_TEST

/* Pieces of one `cat`, and results of one kernel. */
START_TEST(pieces_and_results_end) {
  static const int counts[] = {1, 7, 8, 9, 17};
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
    begin();
    append("graph @pieces(%%x: f32[3]) -> f32[%d]", 3 * counts[i]);
    for (int k = 0; k < counts[i]; k++) append(", f32[3]");
    append(" {\n  %%v0 = exp %%x\n");
    for (int k = 1; k < counts[i]; k++) append("  %%v%d = neg %%v%d\n", k, k - 1);
    append("  %%c = cat [");
    for (int k = 0; k < counts[i]; k++) append("%s%%v%d", k ? ", " : "", k);
    append("]\n  return %%c");
    for (int k = 0; k < counts[i]; k++) append(", %%v%d", k);
    append("\n}\n");
    check(_i, text);
  }
}
END_TEST

/* "f32[...]" with the sizes [first, end), or in reverse. */
static void append_type(const int64_t *sizes, int first, int end, bool reversed) {
  append("f32[");
  for (int i = first; i < end; i++)
    append("%s%lld", i > first ? "," : "", (long long)sizes[reversed ? end - 1 - (i - first) : i]);
  append("]");
}
static void append_reversal(int rank) {
  append("dims=[");
  for (int axis = rank; axis-- > 0;) append("%d%s", axis, axis ? ", " : "]\n");
}

/* LAZE_MAX_AXES and LAZE_MAX_RANK: axes in reverse order, so that none of them merge, one that is broadcast, and
 * reductions along the outermost and the innermost. */
START_TEST(axes_end) {
  for (int rank = 2; rank <= LAZE_MAX_RANK; rank++) {
    int64_t sizes[LAZE_MAX_RANK];
    for (int i = 0; i < rank; i++) sizes[i] = i == 0 || i % 3 == 1 ? 2 : i == rank - 1 ? 3 : 1;
    begin();
    append("graph @axes(%%x: ");
    append_type(sizes, 0, rank, false);
    append(", %%y: f32[%lld]) -> ", (long long)sizes[rank - 1]);
    append_type(sizes, 0, rank, false);
    append(", ");
    append_type(sizes, 0, rank, true);
    append(", ");
    append_type(sizes, 1, rank - 1, false);
    append(", ");
    append_type(sizes, 1, rank, true);
    append(" {\n  %%0 = mul %%x, %%y\n  %%1 = permute %%x, ");
    append_reversal(rank);
    append("  %%2 = neg %%1\n  %%3 = sum %%0, dim=[0, -1]\n  %%4 = sum %%2, dim=[-1]\n");
    append("  return %%0, %%2, %%3, %%4\n}\n");
    check(_i, text);
  }
}
END_TEST

/* Regions within regions, as deep as graphs go, are run one way and the other. */
START_TEST(regions_end) {
  begin();
  append("graph @regions(%%c: bool[], %%x: f32[2]) -> f32[2], f32[2] {\n");
  for (int branch = 0; branch < 2; branch++) {
    append("  %%n%d = logical_not %%c\n  %%r%d = if %%%s, [%%c, %%x] (%%c: bool[], %%x: f32[2]) {\n", branch, branch,
           branch ? "c" : "n0");
    for (int i = 1; i < LAZE_MAX_NESTING; i++)
      append("  %%y = neg %%x\n  %%r = if %%c, [%%c, %%y] (%%c: bool[], %%x: f32[2]) {\n");
    append("  %%y = exp %%x\n  return %%y\n");
    for (int i = 1; i < LAZE_MAX_NESTING; i++)
      append("} (%%c: bool[], %%x: f32[2]) {\n  return %%x\n}\n  %%z = abs %%r\n  return %%z\n");
    append("} (%%c: bool[], %%x: f32[2]) {\n  return %%x\n}\n");
  }
  append("  return %%r0, %%r1\n}\n");
  check(_i, text);
}
END_TEST

int main(void) {
  TCase *tests = tcase_create("limits");
  conformance_add(tests, chains_end);
  conformance_add(tests, inputs_end);
  conformance_add(tests, pieces_and_results_end);
  conformance_add(tests, axes_end);
  conformance_add(tests, regions_end);
  return conformance_main(tests);
}
