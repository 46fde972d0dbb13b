/* Compiled graphs as bytes (laze/compile.h): another process runs them without compiling, and whatever is wrong with
 * the bytes is said. */
#include "base/hash.h"
#include "laze/compile.h"
#include "tests/support/failing_allocator.h"
#include "tests/support/status.h"
#include "tests/support/suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Of the format: docs at the top of codegen/compiled_file.c. */
enum { CHECKSUM = 72, CODE_SIZE = 48, HEADER = 128 };

static laze_context *context;
static laze_error error;

/* A process of its own, as far as kernels go: nothing is on disk. */
static laze_context *create_context(void) {
  laze_context *made;
  laze_context_options options = {.struct_size = sizeof options, .cache_directory = "", .debug = "", .threads = 1};
  ck_assert_int_eq(laze_context_create(&options, &made, NULL), LAZE_OK);
  return made;
}

static void set_up(void) {
  context = create_context();
}

static void tear_down(void) {
  laze_context_release(context);
}

static int64_t metric(laze_context *of, const char *name) {
  int64_t value;
  assert_ok(laze_metric_read(of, name, &value, &error));
  return value;
}

/* Weights that stand beside the text, and a size that no input gives. */
static laze_compiled *compile(int backend) {
  laze_graph *graph;
  laze_compiled *compiled;
  int64_t n;
  laze_value x, w, sum, size, product;
  float weights[20];
  for (int i = 0; i < 20; i++) weights[i] = (float)i / 4;
  assert_ok(laze_graph_create(context, "saved", &graph, &error));
  assert_ok(laze_graph_size(graph, "n", &n, &error));
  assert_ok(laze_graph_size(graph, "unused", &(int64_t){0}, &error));
  int64_t k;
  assert_ok(laze_graph_size(graph, "k", &k, &error));
  assert_ok(laze_graph_add_input(graph, "x", LAZE_F32, LAZE_SHAPE(n, 20), &x, &error));
  assert_ok(laze_graph_add_constant(graph, LAZE_F32, LAZE_SHAPE(20), weights, sizeof weights, &w, &error));
  assert_ok(laze_graph_record(graph, "mul", LAZE_VALUES(x, w), &product, &error));
  assert_ok(laze_graph_record(graph, "exp", LAZE_VALUES(product), &sum, &error));
  const laze_argument ones[] = {{.kind = LAZE_PASS_INTEGERS, .count = 1, .value.integers = &k}};
  const laze_graph_call call = {
      .struct_size = sizeof call, .name = "ones", .arguments = ones, .argument_count = 1, .label = "ones"};
  assert_ok(laze_graph_record_call(graph, &call, &size, 1, NULL, &error));
  assert_ok(laze_graph_set_results(graph, LAZE_VALUES(sum, size), &error));
  const laze_compile_options options = {.struct_size = sizeof options,
                                        .backend = laze_backend_at(backend),
                                        .sizes = LAZE_SHAPE(-1, 7, 3).items,
                                        .size_count = 3};
  assert_ok(laze_compile_graph(graph, &options, &compiled, &error));
  laze_graph_release(graph);
  return compiled;
}

/* Runs it on n rows of its context; what results is copied to `out`, and how many threes there are checked. */
static void run(laze_compiled *compiled, laze_context *of, int64_t n, float *out) {
  laze_array *x, *y[2] = {NULL};
  float data[100];
  for (int i = 0; i < 100; i++) data[i] = (float)i / 100;
  assert_ok(laze_array_from_data(of, LAZE_F32, LAZE_SHAPE(n, 20), data, (size_t)n * 80, &x, &error));
  assert_ok(laze_compiled_run(compiled, &x, 1, y, 2, &error));
  assert_ok(laze_array_read(y[0], LAZE_F32, out, (size_t)n * 80, &error));
  ck_assert_int_eq(laze_array_sizes(y[1]).items[0], 3);
  laze_array_release(x);
  for (int i = 0; i < 2; i++) laze_array_release(y[i]);
}

/* Bytes in memory that may be changed. */
static char *serialise(int backend, size_t *size) {
  laze_compiled *compiled = compile(backend);
  laze_array *bytes;
  float result[100];
  run(compiled, context, 1, result);
  run(compiled, context, 4, result);
  assert_ok(laze_compiled_serialise(compiled, &bytes, &error));
  *size = (size_t)laze_array_bytes(bytes);
  char *copy = malloc(*size);
  ck_assert_ptr_nonnull(copy);
  memcpy(copy, laze_array_data(bytes), *size);
  laze_array_release(bytes);
  laze_compiled_release(compiled);
  return copy;
}

/* As if whoever wrote them had meant it. */
static void sign(char *bytes, size_t size) {
  memset(bytes + CHECKSUM, 0, sizeof(laze_hash));
  const laze_hash checksum = laze_hash_bytes(bytes, size);
  memcpy(bytes + CHECKSUM, &checksum, sizeof checksum);
}

/* What a plugin saves for: no code generator runs where it is loaded, for any size that was run before, or a new one.
 */
START_TEST(loaded_graphs_run_without_compiling) {
  size_t size;
  char *bytes = serialise(_i, &size);
  laze_compiled *first = compile(_i), *loaded;
  laze_context *other = create_context();
  assert_ok(laze_compiled_deserialise(other, bytes, size, LAZE_LOAD_EXACT, &loaded, &error));
  free(bytes);
  for (int64_t n = 1; n <= 5; n++) {
    float expected[100], found[100];
    run(first, context, n, expected);
    run(loaded, other, n, found);
    ck_assert_mem_eq(expected, found, (size_t)n * 80);
  }
  ck_assert_int_eq(metric(other, "kernels_compiled"), 0);
  ck_assert_str_eq(laze_graph_name(laze_compiled_graph(loaded)), "saved");
  laze_compiled_release(first);
  laze_compiled_release(loaded);
  laze_context_release(other);
}
END_TEST

/* Files are found, and appear whole; what is none is said by name. */
START_TEST(files_go_both_ways) {
  laze_compiled *compiled = compile(_i), *loaded;
  char path[64];
  float expected[100], found[100];
  snprintf(path, sizeof path, "/tmp/laze_saved_test_%d", (int)getpid());
  assert_ok(laze_compiled_save(compiled, path, &error));
  assert_ok(laze_compiled_load(context, path, 0, &loaded, &error));
  run(compiled, context, 2, expected);
  run(loaded, context, 2, found);
  ck_assert_mem_eq(expected, found, 160);
  laze_compiled_release(loaded);
  unlink(path);
  assert_fails(laze_compiled_load(context, path, 0, &loaded, &error), LAZE_NOT_FOUND, path);
  ck_assert_ptr_null(loaded);
  assert_fails(laze_compiled_load(context, "/tmp", 0, &loaded, &error), LAZE_IO_ERROR, "/tmp");
  assert_fails(laze_compiled_save(compiled, "/nowhere/at/all", &error), LAZE_IO_ERROR, "/nowhere/at/all");
  laze_compiled_release(compiled);
}
END_TEST

/* Code of another machine is no code: refused where the caller wants that, and otherwise made anew. */
START_TEST(code_of_another_machine_is_not_run) {
  size_t size;
  uint64_t code_size;
  char *bytes = serialise(0, &size);
  memcpy(&code_size, bytes + CODE_SIZE, sizeof code_size);
  if (code_size > 0) { /* the build has the native backend, and says what its code is of */
    char *code = bytes + size - (code_size + 63) / 64 * 64;
    for (int part = 0; part < 2; part++) { /* build, processor */
      laze_context *other = create_context();
      laze_compiled *loaded;
      float result[100];
      code[16 * part] ^= 1;
      sign(bytes, size);
      assert_fails(laze_compiled_deserialise(other, bytes, size, LAZE_LOAD_EXACT, &loaded, &error),
                   LAZE_FAILED_PRECONDITION, part == 0 ? "another build" : "another processor");
      assert_ok(laze_compiled_deserialise(other, bytes, size, 0, &loaded, &error));
      run(loaded, other, 3, result);
      ck_assert_int_gt(metric(other, "kernels_compiled"), 0);
      code[16 * part] ^= 1;
      laze_compiled_release(loaded);
      laze_context_release(other);
    }
  }
  free(bytes);
}
END_TEST

/* Bytes that are cut off or changed are refused, whatever they say of themselves. */
START_TEST(damaged_bytes_are_refused) {
  size_t size;
  char *bytes = serialise(_i, &size), *copy = malloc(size);
  laze_compiled *loaded;
  ck_assert_ptr_nonnull(copy);
  for (size_t length = 0; length < size; length += 1 + length / 16)
    ck_assert_int_eq(laze_compiled_deserialise(context, bytes, length, 0, &loaded, &error), LAZE_DATA_LOSS);
  for (size_t i = 0; i < size; i += 1 + i / 64) {
    memcpy(copy, bytes, size);
    copy[i] ^= 0x41;
    ck_assert_int_ne(laze_compiled_deserialise(context, copy, size, 0, &loaded, &error), LAZE_OK);
    ck_assert_ptr_null(loaded);
  }
  for (size_t i = 0; i < size; i += 1 + i / 128) { /* any status will do, as long as nothing else happens */
    memcpy(copy, bytes, size);
    copy[i] ^= i % 3 == 0 ? 0xff : 1;
    sign(copy, size);
    if (laze_compiled_deserialise(context, copy, size, 0, &loaded, &error) == LAZE_OK) laze_compiled_release(loaded);
  }
  for (int part = 0; part < 5; part++) { /* sizes of parts that lie */
    static const uint64_t lies[] = {UINT64_MAX, UINT64_MAX - 63, INT64_MAX, 1 << 20, 0};
    for (int i = 0; i < 5; i++) {
      memcpy(copy, bytes, size);
      memcpy(copy + 16 + 8 * part, &lies[i], sizeof lies[i]);
      sign(copy, size);
      if (laze_compiled_deserialise(context, copy, size, 0, &loaded, &error) == LAZE_OK) laze_compiled_release(loaded);
    }
  }
  memcpy(copy, bytes, size);
  copy[8] = 9;
  assert_fails(laze_compiled_deserialise(context, copy, size, 0, &loaded, &error), LAZE_UNSUPPORTED, "format 9");
  assert_fails(laze_compiled_deserialise(context, NULL, size, 0, &loaded, &error), LAZE_INVALID_ARGUMENT, "NULL");
  assert_fails(laze_compiled_deserialise(context, bytes, SIZE_MAX, 0, &loaded, &error), LAZE_INVALID_ARGUMENT, "size");
  free(bytes);
  free(copy);
}
END_TEST

/* Saving and loading on the interpreter, in a context whose memory fails at each allocation in turn. */
START_TEST(memory_may_run_out_at_any_point) {
  size_t size;
  char *bytes = serialise(1, &size);
  for (int64_t at = 1;; at++) {
    test_failing_allocator state = {0};
    laze_context *own;
    laze_compiled *loaded = NULL;
    laze_array *again = NULL;
    laze_error failure;
    ck_assert_int_eq(test_failing_context(&state, "interp", "", "", &own), LAZE_OK);
    state.refuse_at = state.calls + at;
    laze_status status = laze_compiled_deserialise(own, bytes, size, 0, &loaded, &failure);
    if (status == LAZE_OK) status = laze_compiled_serialise(loaded, &again, &failure);
    const bool reached = state.calls >= state.refuse_at;
    laze_array_release(again);
    laze_compiled_release(loaded);
    laze_context_release(own);
    ck_assert_int_eq(state.live, 0);
    if (!reached) break;
    ck_assert(status == LAZE_OUT_OF_MEMORY || status == LAZE_OK); /* caches do without */
  }
  free(bytes);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("saved");
  TCase *tests = tcase_create("all");
  int backends = 0;
  while (laze_backend_at(backends)) backends++;
  tcase_set_timeout(tests, 300);
  tcase_add_checked_fixture(tests, set_up, tear_down);
  tcase_add_loop_test(tests, loaded_graphs_run_without_compiling, 0, backends);
  tcase_add_loop_test(tests, files_go_both_ways, 0, backends);
  tcase_add_test(tests, code_of_another_machine_is_not_run);
  tcase_add_loop_test(tests, damaged_bytes_are_refused, 0, backends);
  tcase_add_test(tests, memory_may_run_out_at_any_point);
  suite_add_tcase(suite, tests);
  return test_run_suite(suite);
}
