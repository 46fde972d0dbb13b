/* Constants in hexadecimal and in files beside the text: every bit as it was, and nothing read that the type does not
 * say. */
#include "tests/unit/ir/ir_test.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static char directory[64];

static void write_bytes(const char *name, const void *bytes, size_t size) {
  char path[128];
  snprintf(path, sizeof path, "%s/%s", directory, name);
  FILE *file = fopen(path, "wb");
  ck_assert_ptr_nonnull(file);
  ck_assert_uint_eq(fwrite(bytes, 1, size, file), size);
  ck_assert_int_eq(fclose(file), 0);
}

static laze_status read_text(const char *text, laze_graph **out) {
  const laze_text_source source = {.text = text, .size = (int64_t)strlen(text), .file = "e.lz", .directory = directory};
  error.message[0] = 0;
  return laze_graph_read(context, &source, NULL, out, &error);
}

static char *print_with(const laze_graph *graph, const laze_print_options *options) {
  laze_text text;
  laze_text_init(&text, context);
  laze_graph_print_with(&text, graph, options);
  ck_assert(!text.failed);
  return text.data;
}

static const char numbers[] = "laze 1\n"
                              "graph @g() -> f32[6], f64[2], i64[2], i32[2], bool[3], f32[], f32[0], f32[2,1] {\n"
                              "  %0 = constant [nan, nan(0xffc00001), nan(0x7f800001), -0.0, 1e-45, 2.0] : f32[6]\n"
                              "  %1 = constant [nan(0x7ff0000000000001), 0.1] : f64[2]\n"
                              "  %2 = constant [-9223372036854775808, 258] : i64[2]\n"
                              "  %3 = constant [-2147483648, 7] : i32[2]\n"
                              "  %4 = constant [true, false, true] : bool[3]\n"
                              "  %5 = constant 3.4028235e+38 : f32[]\n"
                              "  %6 = constant [] : f32[0]\n"
                              "  %7 = constant [1.0, 2.0] : f32[2,1]\n"
                              "  return %0, %1, %2, %3, %4, %5, %6, %7\n"
                              "}\n";

static const char hexadecimal[] = "laze 1\n"
                                  "graph @g() -> f32[6], f64[2], i64[2], i32[2], bool[3], f32[], f32[0], f32[2,1] {\n"
                                  "  %0 = constant hex=\"0000c07f0100c0ff0100807f000000800100000000000040\" : f32[6]\n"
                                  "  %1 = constant hex=\"010000000000f07f9a9999999999b93f\" : f64[2]\n"
                                  "  %2 = constant hex=\"00000000000000800201000000000000\" : i64[2]\n"
                                  "  %3 = constant hex=\"0000008007000000\" : i32[2]\n"
                                  "  %4 = constant hex=\"010001\" : bool[3]\n"
                                  "  %5 = constant hex=\"ffff7f7f\" : f32[]\n"
                                  "  %6 = constant [] : f32[0]\n"
                                  "  %7 = constant hex=\"0000803f00000040\" : f32[2,1]\n"
                                  "  return %0, %1, %2, %3, %4, %5, %6, %7\n"
                                  "}\n";

/* Bytes stand lowest first, whatever the machine; upper case is read as well. */
START_TEST(hexadecimal_is_bit_exact) {
  laze_graph *graph = parse(numbers), *again = parse(hexadecimal);
  assert_equal_graphs(graph, again);
  char *printed = print_with(graph, &(laze_print_options){.hexadecimal = true});
  ck_assert_str_eq(printed, hexadecimal);
  laze_free(context, printed);
  printed = print_with(again, &(laze_print_options){0});
  ck_assert_str_eq(printed, numbers);
  laze_free(context, printed);
  /* Only what is larger than asked. */
  printed = print_with(graph, &(laze_print_options){.hexadecimal = true, .large = 5});
  ck_assert_ptr_nonnull(strstr(printed, "%0 = constant hex=\"0000c07f"));
  ck_assert_ptr_nonnull(strstr(printed, "%4 = constant [true, false, true]"));
  laze_free(context, printed);
  laze_graph_destroy(graph);
  laze_graph_destroy(again);
  graph = parse("laze 1\ngraph @g() {\n  %0 = constant hex=\"ABcdEF80\" : i32[]\n  return\n}\n");
  ck_assert_mem_eq(laze_node_constant(&graph->nodes[0])->bytes, "\xab\xcd\xef\x80", 4);
  laze_graph_destroy(graph);
}
END_TEST

/* The file holds what the printer says, and reading both gives the same graph and key as numbers do. */
START_TEST(a_file_is_as_good_as_numbers) {
  laze_graph *graph = parse(numbers), *again;
  laze_weights weights = {.context = context};
  char *printed = print_with(graph, &(laze_print_options){.large = 2, .file = "w \"1\".bin", .weights = &weights});
  ck_assert_ptr_nonnull(strstr(printed, "%0 = constant file=\"w \\\"1\\\".bin\", offset=0, length=24 : f32[6]"));
  ck_assert_ptr_nonnull(strstr(printed, "%4 = constant file=\"w \\\"1\\\".bin\", offset=64, length=3 : bool[3]"));
  ck_assert_int_eq(weights.count, 2);
  ck_assert_int_eq(weights.size, 67);
  char bytes[67] = {0};
  for (int i = 0; i < 2; i++)
    memcpy(bytes + weights.items[i].offset, weights.items[i].bytes, (size_t)weights.items[i].size);
  write_bytes("w \"1\".bin", bytes, sizeof bytes);
  assert_ok(read_text(printed, &again));
  assert_equal_graphs(graph, again);
  laze_graph_destroy(again);
  /* One bit of the file is one of the graph. */
  bytes[20] ^= 1;
  write_bytes("w \"1\".bin", bytes, sizeof bytes);
  assert_ok(read_text(printed, &again));
  ck_assert(!laze_graph_equal(graph, again, NULL));
  ck_assert(!laze_hash_equal(laze_graph_hash(graph, true), laze_graph_hash(again, true)));
  laze_graph_destroy(again);
  laze_free(context, printed);
  laze_weights_deinit(&weights);
  laze_graph_destroy(graph);
}
END_TEST

/* Large elements are in memory once, however many graphs are made from the one that was read, and after it. */
START_TEST(graphs_share_large_constants) {
  static char bytes[4096 * 4];
  memset(bytes, 0x3f, sizeof bytes);
  write_bytes("large.bin", bytes, sizeof bytes);
  laze_graph *graph, *copy, *symbolic;
  const int64_t *values;
  laze_pass_options options = {0};
  assert_ok(read_text("laze 1\ngraph @g(%x: f32[4096]) -> f32[4096], f32[4096] {\n"
                      "  %0 = constant file=\"large.bin\" : f32[4096]\n  %1 = add %x, %0\n"
                      "  return %1, %0\n}\n",
                      &graph));
  const void *place = laze_node_constant(laze_graph_node(graph, graph->body->results[1]))->bytes;
  assert_ok(laze_graph_copy(graph, &copy, &error));
  laze_graph_destroy(graph);
  assert_ok(laze_graph_symbolise(copy, &symbolic, &values, &error));
  laze_graph_destroy(copy);
  assert_ok(laze_passes_run(&symbolic, &options, &error));
  const laze_data *data = laze_node_constant(laze_graph_node(symbolic, symbolic->body->results[1]));
  ck_assert_ptr_eq(data->bytes, place);
  ck_assert_mem_eq(data->bytes, bytes, sizeof bytes);
  ck_assert_int_gt(laze_graph_bytes(symbolic), (int64_t)sizeof bytes);
  laze_graph_destroy(symbolic);
}
END_TEST

#define GIVEN(form) "laze 1\ngraph @g() {\n  %0 = constant " form "\n  return\n}\n"

static const struct {
  const char *text, *message;
} malformed[] = {
    {GIVEN("hex=\"0000803\" : f32[]"), "e.lz:3:22: constant: 7 hexadecimal digits are no whole number of bytes"},
    {GIVEN("hex=\"0000803f\" : f32[2]"), "e.lz:3:22: constant: hex has bytes: 4, but f32[2] takes 8 bytes"},
    {GIVEN("hex=\"0000803f00\" : f32[]"), "e.lz:3:22: constant: hex has bytes: 5, but f32[] takes 4 bytes"},
    {GIVEN("hex=\"0000g03f\" : f32[]"), "e.lz:3:26: constant: expected a hexadecimal digit, found 'g'"},
    {GIVEN("hex=\"000080 f\" : f32[]"), "e.lz:3:28: constant: expected a hexadecimal digit, found ' '"},
    {GIVEN("hex=\"0102\" : bool[2]"), "e.lz:3:22: constant: element 1 is 0x02; the byte of a bool is 00 or 01"},
    {GIVEN("hex=\"00"), "e.lz:3:21: expected a string"},
    {GIVEN("hex=00 : bool[]"), "e.lz:3:21: expected a string, found '00'"},
    {GIVEN("hex=\"00\", hex=\"00\" : bool[]"), "e.lz:3:27: constant: has its elements already"},
    {GIVEN("hex=\"00\", file=\"a.bin\" : bool[]"), "e.lz:3:27: constant: has its elements already"},
    {GIVEN("hex=\"00\", offset=1 : bool[]"), "e.lz:3:27: constant: 'offset' stands behind file="},
    {GIVEN("offset=1, file=\"a.bin\" : bool[]"), "e.lz:3:17: constant: 'offset' stands behind file="},
    {GIVEN("data=\"00\" : bool[]"), "e.lz:3:17: expected elements, or hex=, file=, offset= or length=, found 'data'"},
    {GIVEN("hex=\"00\" : token"), "e.lz:3:22: constant: write one number"},
    {GIVEN("hex=\"00\" : bool[n]"), "e.lz:3:22: constant: bool[n] has no number of elements"},
    {GIVEN("hex=\"00\""), "e.lz:4:3: expected ':' and the constant's type"},
    {GIVEN("file=\"a.bin\", offset=-1 : bool[]"), "e.lz:3:38: expected a number of bytes"},
    {GIVEN("file=\"a.bin\", offset=9223372036854775808 : bool[]"), "e.lz:3:38: expected a number of bytes"},
    {GIVEN("file=\"a.bin\", offset=1, offset=1 : bool[]"), "e.lz:3:48: constant: offset or length stands here twice"},
    {GIVEN("file=\"a.bin\", length=4 : f32[2]"), "e.lz:3:22: constant: length is 4, but f32[2] takes 8 bytes"},
    {GIVEN("file=\"a.bin\" : f32[2]"),
     "e.lz:3:22: constant: without offset and length all of the file is meant; its size is 10, but f32[2] takes 8 "
     "bytes"},
    {GIVEN("file=\"a.bin\", offset=4 : f32[2]"),
     "e.lz:3:22: constant: file \"a.bin\" has 10 bytes, but 8 at offset 4 are expected"},
    {GIVEN("file=\"a.bin\", offset=9223372036854775807 : f32[2]"), "e.lz:3:22: constant: file \"a.bin\" has 10 bytes"},
    {GIVEN("file=\"a.bin\", offset=0 : f64[576460752303423488]"), "e.lz:3:22: constant: file \"a.bin\" has 10 bytes"},
    {GIVEN("file=\"a.bin\", length=10 : bool[10]"), "e.lz:3:22: constant: element 2 is 0x02; the byte of a bool"},
    {GIVEN("file=\"missing.bin\" : f32[2]"), "e.lz:3:22: file \"missing.bin\": cannot be opened (No such file"},
    {GIVEN("file=\"sub\" : f32[2]"), "e.lz:3:22: file \"sub\": is a folder; a regular file is expected"},
    {GIVEN("file=\"../a.bin\" : f32[2]"), "e.lz:3:22: file \"../a.bin\": expected a path below the folder of the text"},
    {GIVEN("file=\"/dev/zero\", length=8 : f32[2]"), "e.lz:3:22: file \"/dev/zero\": expected a path below"},
    {GIVEN("file=\"link\", offset=0 : f32[2]"), "e.lz:3:22: file \"link\": is reached by a symbolic link"},
    {GIVEN("file=\"a\\q\" : f32[2]"), "e.lz:3:22: unknown escape in a string"},
};

START_TEST(malformed_constants_are_located) {
  laze_graph *graph = NULL;
  ck_assert_int_ne(read_text(malformed[_i].text, &graph), LAZE_OK);
  ck_assert_ptr_null(graph);
  ck_assert_msg(strncmp(error.message, malformed[_i].message, strlen(malformed[_i].message)) == 0,
                "case %d: got      '%s'\nexpected '%s'", _i, error.message, malformed[_i].message);
}
END_TEST

/* Text from memory names no folder, and so it reads no file. */
START_TEST(text_without_a_folder_reads_no_file) {
  const char *text = GIVEN("file=\"a.bin\", offset=0 : f32[2]");
  laze_graph *graph;
  assert_error(laze_graph_parse(context, text, (int64_t)strlen(text), "e.lz", &graph, &error),
               "e.lz:3:22: constant: this text is read without a folder");
}
END_TEST

static void make_directory(void) {
  char path[128], target[128];
  set_up();
  snprintf(directory, sizeof directory, "/tmp/laze-constants-XXXXXX");
  ck_assert_ptr_nonnull(mkdtemp(directory));
  write_bytes("a.bin", "\0\1\2\3\4\5\6\7\0\0", 10);
  snprintf(path, sizeof path, "%s/sub", directory);
  ck_assert_int_eq(mkdir(path, 0700), 0);
  snprintf(path, sizeof path, "%s/link", directory);
  snprintf(target, sizeof target, "%s/a.bin", directory);
  ck_assert_int_eq(symlink(target, path), 0);
}

static void remove_directory(void) {
  static const char *const names[] = {"a.bin", "sub", "link", "w \"1\".bin", "large.bin"};
  char path[128];
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    snprintf(path, sizeof path, "%s/%s", directory, names[i]);
    (void)remove(path);
  }
  ck_assert_int_eq(rmdir(directory), 0);
  tear_down();
}

int main(void) {
  Suite *suite = suite_create("constant_text");
  TCase *tests = tcase_create("constant_text");
  tcase_add_checked_fixture(tests, make_directory, remove_directory);
  tcase_add_test(tests, hexadecimal_is_bit_exact);
  tcase_add_test(tests, a_file_is_as_good_as_numbers);
  tcase_add_test(tests, graphs_share_large_constants);
  tcase_add_loop_test(tests, malformed_constants_are_located, 0, (int)(sizeof malformed / sizeof *malformed));
  tcase_add_test(tests, text_without_a_folder_reads_no_file);
  suite_add_tcase(suite, tests);
  return test_run_suite(suite);
}
