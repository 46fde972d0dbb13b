/* lazec run: inputs, results as text and as files, sizes, backends, metrics. */
#include "tests/tools/lazec_runner.h"

#include "ir/graph.h"
#include "tests/support/deep_fold.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A graph that returns its input, so that what is shown is what was given. */
static void write_identity(const char *dtype, const char *sizes) {
  char text[256];
  snprintf(text, sizeof text, "laze 1\ngraph @id(%%x: %s[%s]) -> %s[%s] {\n  return %%x\n}\n", dtype, sizes, dtype,
           sizes);
  write_text("id.lz", text);
}

typedef struct {
  const char *dtype, *sizes, *elements, *shown;
} shown_case;

static const shown_case shown_cases[] = {
    {"f32", "3", "1,2.5,-3", "[ 1.0  2.5 -3.0]\n"},
    {"f32", "3", " nan , -inf,\tinf", "[ nan -inf  inf]\n"},
    {"f32", "2", "0x1p-3,-0", "[0.125  -0.0]\n"},
    /* digits that tell neighbours apart, and no more */
    {"f32", "2", "0.1,16777217", "[       0.1 16777216.0]\n"},
    {"f64", "2", "0.1,0.30000000000000004", "[                0.1 0.30000000000000004]\n"},
    {"f32", "2", "1e-45,3.4028235e38", "[        1e-45 3.4028235e+38]\n"},
    {"f64", "1", "123456789012", "[123456789012.0]\n"},
    {"f32", "2", "100,784", "[100.0 784.0]\n"},
    {"i32", "2", "-2147483648,2147483647", "[-2147483648  2147483647]\n"},
    {"i64", "2", "-9223372036854775808,7", "[-9223372036854775808                    7]\n"},
    {"bool", "4", "true,false,1,0", "[ true false  true false]\n"},
    {"f32", "", "2.5", "2.5\n"},
    {"f32", "2,3", "7", "[[7.0 7.0 7.0]\n [7.0 7.0 7.0]]\n"}, /* one element stands for all */
    {"i32", "2,2,2", "arange", "[[[0 1]\n  [2 3]]\n\n [[4 5]\n  [6 7]]]\n"},
    {"i64", "0", "", "[]\n"},
    {"i64", "1000000000,0", "", "[]\n"}, /* empty, with many rows that must not be walked */
    {"i64", "1001", "arange", "[   0    1    2 ...  998  999 1000]\n"},
    {"bool", "2,600", "false",
     "[[false false false ... false false false]\n [false false false ... false false false]]\n"},
    {"i32", "8,200", "0",
     "[[0 0 0 ... 0 0 0]\n [0 0 0 ... 0 0 0]\n [0 0 0 ... 0 0 0]\n ...\n [0 0 0 ... 0 0 0]\n [0 0 0 ... 0 0 0]\n "
     "[0 0 0 ... 0 0 0]]\n"},
};

START_TEST(elements_are_read_and_shown) {
  const shown_case *given = &shown_cases[_i];
  char input[256], expected[1024];
  write_identity(given->dtype, given->sizes);
  snprintf(input, sizeof input, "x=%s[%s]:%s", given->dtype, given->sizes, given->elements);
  snprintf(expected, sizeof expected, "result 0: %s[%s]\n%s", given->dtype, given->sizes, given->shown);
  LAZEC("run", "id.lz", "--input", input);
  lazec_expect(0, expected, "");
}
END_TEST

/* What counts is not rounded unless somebody asks: 2^24 + 1 is the first integer that f32 lacks. */
START_TEST(sizes_and_positions_are_integers) {
  static const char *const backends[] = {"interp", "llvm"};
  write_text("size.lz", "laze 1\ngraph @g(%x: f32[n]) -> i64[], i64[], f32[] {\n  %0 = size_tensor value=16777217\n"
                        "  %1 = size_tensor value=n+16777216\n  %2 = size_tensor value=16777217, dtype=f32\n"
                        "  return %0, %1, %2\n}\n");
  for (int i = 0; i < 1 + lazec_has_llvm(); i++) {
    LAZEC("run", "size.lz", "-i", "x=f32[3]:0", "--backend", backends[i]);
    lazec_expect(0, "result 0: i64[]\n16777217\nresult 1: i64[]\n16777219\nresult 2: f32[]\n16777216.0\n", "");
    LAZEC_INPUT("laze 1\ngraph @g() -> i64[2] {\n  %0 = iota size=[2]\n  return %0\n}\n", "run", "-", "--backend",
                backends[i]);
    lazec_expect(0, "result 0: i64[2]\n[0 1]\n", "");
  }
  LAZEC_INPUT("laze 1\ngraph @g() -> i64[] {\n  %0 = size_tensor value=9223372036854775807\n  return %0\n}\n", "run",
              "-");
  ck_assert_int_eq(lazec_code, 1);
  ck_assert_ptr_nonnull(strstr(lazec_err, "size_tensor: the value is beyond 2^62"));
}
END_TEST

START_TEST(long_rows_are_wrapped) {
  write_identity("i64", "30");
  LAZEC("run", "id.lz", "-i", "x=i64[30]:arange");
  lazec_expect(0,
               "result 0: i64[30]\n[ 0  1  2  3  4  5  6  7  8  9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25\n 26 "
               "27 28 29]\n",
               "");
}
END_TEST

/* Bug reports quote seeds: they mean the same numbers on every machine and in every version. */
START_TEST(random_elements_are_the_same_everywhere) {
  LAZEC_INPUT("laze 1\ngraph @id(%x: bool[16], %y: i32[6], %z: f32[3], %w: f64[2], %v: i64[3]) -> "
              "bool[16], i32[6], f32[3], f64[2], i64[3] {\n  return %x, %y, %z, %w, %v\n}\n",
              "run", "-", "-i", "x=bool[16]:random:1", "-i", "y=i32[6]:random:1", "-i", "z=f32[3]:random:1", "-i",
              "w=f64[2]:random:1", "-i", "v=i64[3]:random:1");
  lazec_expect(
      0,
      "result 0: bool[16]\n[ true false false  true  true false false  true  true false false  true  true\n"
      " false false  true]\nresult 1: i32[6]\n[95 44 38 11  9 86]\nresult 2: f32[3]\n[0.22119743  0.5894918  "
      "0.9655976]\nresult 3: f64[2]\n[0.22119744564720323  0.5894917865536962]\nresult 4: i64[3]\n[95 44 38]\n",
      "");
}
END_TEST

START_TEST(random_elements_depend_on_the_seed_alone) {
  write_identity("f32", "n");
  LAZEC("run", "id.lz", "-i", "x=f32[100]:random:1", "-o", "a.npy");
  lazec_expect(0, "", "");
  LAZEC("run", "id.lz", "-i", "x=f32[100]:random:1", "-o", "b.npy");
  expect_same_files("a.npy", "b.npy");
  LAZEC("run", "id.lz", "-i", "x=f32[100]:random:2", "-o", "b.npy");
  size_t size;
  char *a = read_bytes("a.npy", &size), *b = read_bytes("b.npy", &size);
  ck_assert_mem_ne(a, b, size);
  for (size_t i = size - 400; i < size; i += 4) {
    float value;
    memcpy(&value, a + i, sizeof value);
    ck_assert(value >= 0 && value < 1);
  }
  free(a);
  free(b);
}
END_TEST

/* What is written can be read, and is what NumPy writes. */
START_TEST(files_round_trip) {
  static const char header[] = "\x93NUMPY\x01\x00\x76\x00{'descr': '<f4', 'fortran_order': False, 'shape': (2, 1), }";
  static const float elements[2] = {1.5f, -2};
  write_identity("f32", "n,m");
  LAZEC("run", "id.lz", "--input", "x=f32[2,1]:1.5,-2", "--output", "x.npy");
  lazec_expect(0, "", "");
  size_t size;
  char *bytes = read_bytes("x.npy", &size);
  ck_assert_uint_eq(size, 128 + sizeof elements);
  ck_assert_mem_eq(bytes, header, sizeof header - 1);
  ck_assert_mem_eq(bytes + 128, elements, sizeof elements);
  free(bytes);
  LAZEC("run", "id.lz", "--input", "x=@x.npy", "--output", "y.npy");
  lazec_expect(0, "", "");
  expect_same_files("x.npy", "y.npy");
  LAZEC("run", "id.lz", "--input", "x=@y.npy");
  lazec_expect(0, "result 0: f32[2,1]\n[[ 1.5]\n [-2.0]]\n", "");
}
END_TEST

START_TEST(several_results_go_to_files_in_order) {
  write_text("two.lz", "laze 1\ngraph @two(%x: i64[n], %y: f32[]) -> f32[], i64[n], f32[] {\n  return %y, %x, %y\n}\n");
  LAZEC("run", "two.lz", "-i", "x=i64[2]:1,2", "-i", "y=f32[]:3", "-o", "a.npy", "-o", "-", "-o", "b.npy");
  lazec_expect(0, "result 1: i64[2]\n[1 2]\n", "");
  expect_same_files("a.npy", "b.npy");
  LAZEC("run", "two.lz", "-i", "y=f32[]:3", "-i", "x=i64[2]:1,2");
  lazec_expect(0, "result 0: f32[]\n3.0\nresult 1: i64[2]\n[1 2]\nresult 2: f32[]\n3.0\n", "");
}
END_TEST

START_TEST(a_graph_is_read_from_standard_input) {
  LAZEC_INPUT("laze 1\ngraph @add(%x: f32[n], %y: f32[n]) -> f32[n] {\n  %0 = add %x, %y\n  return %0\n}\n", "run", "-",
              "-i", "x=f32[2]:1,2", "-i", "y=f32[2]:10,20");
  lazec_expect(0, "result 0: f32[2]\n[11.0 22.0]\n", "");
}
END_TEST

/* A size that no input gives is given by --dim; expressions of sizes are checked. */
START_TEST(sizes_are_bound) {
  write_text("ramp.lz", "laze 1\ngraph @ramp() -> i64[n] {\n  %0 = iota size=[n], dim=0, dtype=i64\n  return %0\n}\n");
  LAZEC("run", "ramp.lz", "--dim", "n=4");
  lazec_expect(0, "result 0: i64[4]\n[0 1 2 3]\n", "");
  LAZEC("run", "ramp.lz", "--dim=n=1");
  lazec_expect(0, "result 0: i64[1]\n[0]\n", "");
  LAZEC("run", "ramp.lz", "--dim=n=0");
  lazec_expect(0, "result 0: i64[0]\n[]\n", "");
  LAZEC("run", "ramp.lz");
  lazec_expect(1, "", "lazec: size n: no input gives it; give it with --dim n=NUMBER\n");
  write_text("twice.lz", "laze 1\ngraph @twice(%x: f32[n*2], %y: f32[n]) -> f32[n*2] {\n  return %x\n}\n");
  LAZEC("run", "twice.lz", "-i", "x=f32[4]:1", "-i", "y=f32[2]:0");
  lazec_expect(0, "result 0: f32[4]\n[1.0 1.0 1.0 1.0]\n", "");
  LAZEC("run", "twice.lz", "-i", "x=f32[7]:1", "-i", "y=f32[2]:0");
  lazec_expect(1, "", "lazec: input x: f32[7] was given, but f32[n*2] is declared: axis 0 has size 7, not 4\n");
}
END_TEST

/* A size in an attribute, and a graph that was typed on an assumption about its size. */
START_TEST(assumptions_about_sizes_are_checked) {
  write_text("squeeze.lz", "laze 1\ngraph @g(%x: i64[n,2]) -> i64[n,2] {\n  %0 = squeeze %x, dim=0\n  return %0\n}\n");
  LAZEC("run", "squeeze.lz", "-i", "x=i64[2,2]:arange");
  lazec_expect(0, "result 0: i64[2,2]\n[[0 1]\n [2 3]]\n", "");
  LAZEC("run", "squeeze.lz", "-i", "x=i64[1,2]:arange");
  lazec_expect(
      1, "",
      "lazec: graph g: its types hold where n != 1, which n=1 contradicts; write the graph with these sizes as "
      "numbers, or as hints (sizes n=...)\n");
  write_text(
      "expand.lz",
      "laze 1\ngraph @g(%x: i64[1,m], %y: i64[n]) -> i64[n,m] {\n  %0 = expand %x, size=[n, m]\n  return %0\n}\n");
  LAZEC("run", "expand.lz", "-i", "x=i64[1,2]:5,6", "-i", "y=i64[2]:0");
  lazec_expect(0, "result 0: i64[2,2]\n[[5 6]\n [5 6]]\n", "");
}
END_TEST

static void write_loop(void) {
  write_text("loop.lz", "laze 1\n"
                        "graph @loop(%x: f32[n], %i: i64[]) -> f32[n], i64[] {\n"
                        "  %0 = constant 10 : i64[]\n"
                        "  %1:3 = while [%x, %i, %0] (%2: f32[n], %3: i64[], %4: i64[]) {\n"
                        "    %5 = lt %3, %4\n"
                        "    return %5\n"
                        "  } (%6: f32[n], %7: i64[], %8: i64[]) {\n"
                        "    %9 = add %6, %6\n"
                        "    %10 = constant 1 : i64[]\n"
                        "    %11 = add %7, %10\n"
                        "    return %9, %11, %8\n"
                        "  }\n"
                        "  return %1#0, %1#1\n"
                        "}\n");
}

/* Regions run on either backend. */
START_TEST(a_loop_runs) {
  write_loop();
  LAZEC("run", "loop.lz", "-i", "x=f32[3]:1,2,3", "-i", "i=i64[]:7");
  lazec_expect(0, "result 0: f32[3]\n[ 8.0 16.0 24.0]\nresult 1: i64[]\n10\n", "");
}
END_TEST

/* An index that is out of range fails when the graph runs, and says which. */
START_TEST(a_bad_index_is_an_error) {
  write_text(
      "rows.lz",
      "laze 1\ngraph @rows(%x: f32[n], %i: i64[m]) -> f32[m] {\n  %0 = index_select %x, %i, dim=0\n  return %0\n}\n");
  LAZEC("run", "rows.lz", "-i", "x=f32[3]:5,6,7", "-i", "i=i64[2]:2,0");
  lazec_expect(0, "result 0: f32[2]\n[7.0 5.0]\n", "");
  LAZEC("run", "rows.lz", "-i", "x=f32[3]:5,6,7", "-i", "i=i64[2]:2,3");
  ck_assert_int_eq(lazec_code, 1);
  ck_assert_str_eq(lazec_out, "");
  ck_assert_ptr_nonnull(strstr(lazec_err, "3"));
}
END_TEST

static void run_example(const char *backend, const char *prefix) {
  char first[32], second[32];
  snprintf(first, sizeof first, "%s0.npy", prefix);
  snprintf(second, sizeof second, "%s1.npy", prefix);
  LAZEC("run", lazec_example("mlp.lz"), "--backend", backend, "-i", "x=f32[17,64]:random:1", "-i",
        "w1=f32[64,32]:random:2", "-i", "b1=f32[32]:-8", "-i", "w2=f32[32,10]:random:3", "-i", "b2=f32[10]:random:4",
        "-o", first, "-o", second);
  lazec_expect(0, "", "");
}

/* Products, sums and choices are exact between the backends; the probabilities are not compared. */
START_TEST(backends_agree_in_bits) {
  run_example("interp", "i");
  if (!lazec_has_llvm()) return;
  run_example("llvm", "l");
  expect_same_files("i0.npy", "l0.npy");
  for (int i = 0; i < 2; i++) {
    LAZEC("run", lazec_example("dense.lz"), "--backend", i ? "llvm" : "interp", "-i", "x=f32[5,784]:random:1", "-i",
          "w=f32[784,10]:random:2", "-i", "b=f32[10]:random:3", "-o", i ? "ld.npy" : "id.npy");
    lazec_expect(0, "", "");
  }
  expect_same_files("id.npy", "ld.npy");
}
END_TEST

static long metric(const char *name) {
  size_t length = strlen(name);
  for (const char *line = lazec_err; line && *line; line = strchr(line, '\n')) {
    line += *line == '\n';
    if (strncmp(line, name, length) == 0 && line[length] == ' ') return strtol(line + length, NULL, 10);
  }
  ck_abort_msg("no metric %s in:\n%s", name, lazec_err);
  return -1;
}

START_TEST(metrics_are_one_a_line) {
  static const char *const names[] = {"nodes_recorded",   "nodes_executed",    "trace_cache_hits", "trace_cache_misses",
                                      "kernels_compiled", "kernel_cache_hits", "disk_cache_hits",  "fallbacks",
                                      "peak_bytes",       "time_trace_us",     "time_plan_us",     "time_compile_us",
                                      "time_run_us"};
  write_text("sum.lz", "laze 1\ngraph @sum(%x: f32[n]) -> f32[] {\n  %0 = sum %x\n  return %0\n}\n");
  LAZEC("run", "sum.lz", "-i", "x=f32[8]:arange", "--backend", "interp", "--metrics");
  ck_assert_int_eq(lazec_code, 0);
  ck_assert_str_eq(lazec_out, "result 0: f32[]\n28.0\n");
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) ck_assert_int_ge(metric(names[i]), 0);
  ck_assert_int_eq(metric("nodes_executed"), 1);
  ck_assert_int_eq(metric("kernels_compiled"), 0);
  for (const char *line = lazec_err; *line; line = strchr(line, '\n') + 1) {
    char name[64], rest[64];
    long long value;
    ck_assert_ptr_nonnull(strchr(line, '\n'));
    ck_assert_int_eq(sscanf(line, "%63[a-z0-9_] %lld%63[^\n]", name, &value, rest), 2);
  }
}
END_TEST

/* The same for programs that read JSON; the option alone is enough. */
START_TEST(row_5_19_metrics_are_one_object) {
  write_text("sum.lz", "laze 1\ngraph @sum(%x: f32[n]) -> f32[] {\n  %0 = sum %x\n  return %0\n}\n");
  LAZEC("run", "sum.lz", "-i", "x=f32[8]:arange", "--backend", "interp", "--json");
  ck_assert_int_eq(lazec_code, 0);
  ck_assert_str_eq(lazec_out, "result 0: f32[]\n28.0\n");
  ck_assert_int_eq(strncmp(lazec_err, "{\"nodes_recorded\": ", 19), 0);
  ck_assert_ptr_nonnull(strstr(lazec_err, "\"graph_nodes\": {\"count\": 1, \"total\": 1, "));
  ck_assert_str_eq(lazec_err + strlen(lazec_err) - 4, "}}}\n");
}
END_TEST

/* Graphviz reads what names may hold: quotes and backslashes are escaped. Regions are clusters. */
START_TEST(row_5_20_a_picture_has_nodes_regions_and_arrows) {
  write_loop();
  LAZEC("print", "loop.lz", "--dot");
  ck_assert_int_eq(lazec_code, 0);
  ck_assert_int_eq(strncmp(lazec_out, "digraph \"", 9), 0);
  ck_assert_ptr_nonnull(strstr(lazec_out, "subgraph cluster_1 {\n"));
  ck_assert_ptr_nonnull(strstr(lazec_out, " -> r0"));
  int depth = 0;
  for (const char *c = lazec_out; *c; c++) depth += *c == '{' ? 1 : *c == '}' ? -1 : 0;
  ck_assert_int_eq(depth, 0);
  write_text("place.lz", "laze 1\ngraph @g(%x: f32[2]) -> f32[2], i64[2] {\n  %0:2 = sort %x loc(\"a\\\"b\\\\c\")\n"
                         "  return %0#0, %0#1\n}\n");
  LAZEC("print", "place.lz", "--dot", "--graph", "g");
  ck_assert_int_eq(lazec_code, 0);
  ck_assert_msg(strstr(lazec_out, "\\na\\\"b\\\\c\"]") != NULL, "%s", lazec_out);
  ck_assert_ptr_nonnull(strstr(lazec_out, " -> r0 [label=\"#1\"]\n"));
  LAZEC("print", "place.lz", "--dot", "--list");
  ck_assert_int_eq(lazec_code, 2);
}
END_TEST

/* What has no native code yet runs on the interpreter in the middle of the graph, and is counted; a loop is native. */
START_TEST(fallbacks_are_counted) {
  if (!lazec_has_llvm()) return;
  char *fold = test_deep_fold(LAZE_MAX_NESTING - 1), text[16384];
  snprintf(text, sizeof text, "laze 1\n%s", fold);
  free(fold);
  write_text("fold.lz", text);
  LAZEC("run", "fold.lz", "-i", "c=bool[]:1", "-i", "x=f32[3]:1,2,3", "-i", "i=f32[]:7", "--backend", "llvm",
        "--metrics");
  ck_assert_int_eq(lazec_code, 0);
  ck_assert_int_gt(metric("fallbacks"), 0);
  write_loop();
  LAZEC("run", "loop.lz", "-i", "x=f32[3]:1,2,3", "-i", "i=i64[]:7", "--backend", "llvm", "--metrics");
  ck_assert_int_eq(lazec_code, 0);
  ck_assert_int_eq(metric("fallbacks"), 0);
  LAZEC("run", lazec_example("softmax.lz"), "-i", "x=f32[4,5]:random:1", "--backend", "llvm", "--metrics");
  ck_assert_int_eq(metric("fallbacks"), 0);
}
END_TEST

/* What is there already is copied, however many pieces there are: code for each would be compiled for seconds. */
START_TEST(pieces_are_copied) {
  if (!lazec_has_llvm()) return;
  char text[2048] = "laze 1\ngraph @g(%x: f32[2]) -> f32[200] {\n  %0 = cat [%x";
  for (int i = 1; i < 100; i++) strcat(text, ", %x");
  write_text("pieces.lz", strcat(text, "]\n  return %0\n}\n"));
  LAZEC("run", "pieces.lz", "-i", "x=f32[2]:arange", "--backend", "llvm", "--metrics", "-o", "pieces.npy");
  ck_assert_int_eq(lazec_code, 0);
  ck_assert_int_eq(metric("fallbacks"), 0);
  ck_assert_int_eq(metric("kernels_compiled"), 0);
}
END_TEST

/* A second process finds the kernels of the first, also for another size. */
START_TEST(kernels_are_kept_on_disk) {
  if (!lazec_has_llvm()) return;
  LAZEC("run", lazec_example("softmax.lz"), "-i", "x=f32[4,5]:random:1", "--backend", "llvm", "--metrics");
  ck_assert_int_eq(lazec_code, 0);
  ck_assert_int_gt(metric("kernels_compiled"), 0);
  LAZEC("run", lazec_example("softmax.lz"), "-i", "x=f32[7,9]:random:1", "--backend", "llvm", "--metrics");
  ck_assert_int_eq(lazec_code, 0);
  ck_assert_int_eq(metric("kernels_compiled"), 0);
  ck_assert_int_gt(metric("disk_cache_hits"), 0);
}
END_TEST

int main(void) {
  TCase *tests = tcase_create("run");
  tcase_add_loop_test(tests, elements_are_read_and_shown, 0, (int)(sizeof shown_cases / sizeof *shown_cases));
  tcase_add_test(tests, sizes_and_positions_are_integers);
  tcase_add_test(tests, long_rows_are_wrapped);
  tcase_add_test(tests, random_elements_depend_on_the_seed_alone);
  tcase_add_test(tests, random_elements_are_the_same_everywhere);
  tcase_add_test(tests, files_round_trip);
  tcase_add_test(tests, pieces_are_copied);
  tcase_add_test(tests, several_results_go_to_files_in_order);
  tcase_add_test(tests, a_graph_is_read_from_standard_input);
  tcase_add_test(tests, sizes_are_bound);
  tcase_add_test(tests, assumptions_about_sizes_are_checked);
  tcase_add_test(tests, a_loop_runs);
  tcase_add_test(tests, a_bad_index_is_an_error);
  tcase_add_test(tests, backends_agree_in_bits);
  tcase_add_test(tests, metrics_are_one_a_line);
  tcase_add_test(tests, row_5_19_metrics_are_one_object);
  tcase_add_test(tests, row_5_20_a_picture_has_nodes_regions_and_arrows);
  tcase_add_test(tests, fallbacks_are_counted);
  tcase_add_test(tests, kernels_are_kept_on_disk);
  return lazec_run_suite(tests, "lazec run");
}
