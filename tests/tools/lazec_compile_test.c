/* lazec print, check, compile, and what --help and --version say. */
#include "tests/tools/lazec_runner.h"

#include "ir/graph.h"
#include "tests/support/deep_fold.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const examples[] = {"dense.lz", "softmax.lz", "mlp.lz"};
enum { EXAMPLE_COUNT = sizeof examples / sizeof *examples };

static const char loose[] = "laze 1\n"
                            "// loosely written\n"
                            "graph @g(%x: f32[n,3], %bias: f32[3]) -> f32[n,3] {\n"
                            "  %y = add.Tensor %x,%bias\n"
                            "  %z = relu %y\n"
                            "  return %z\n"
                            "}\n";

START_TEST(print_is_canonical) {
  static const char canonical[] = "laze 1\n"
                                  "graph @g(%x: f32[n,3], %bias: f32[3]) -> f32[n,3] {\n"
                                  "  %0 = add %x, %bias : f32[n,3]\n"
                                  "  %1 = constant 0.0 : f32[]\n"
                                  "  %2 = maximum %1, %0 : f32[n,3]\n"
                                  "  return %2\n"
                                  "}\n";
  LAZEC_INPUT(loose, "print", "-");
  lazec_expect(0, canonical, "");
  LAZEC_INPUT(canonical, "print", "-");
  lazec_expect(0, canonical, "");
}
END_TEST

START_TEST(printed_examples_print_the_same_again) {
  LAZEC("print", lazec_example(examples[_i]));
  ck_assert_int_eq(lazec_code, 0);
  ck_assert_str_eq(lazec_err, "");
  char *first = strdup(lazec_out);
  LAZEC_INPUT(first, "print", "-");
  lazec_expect(0, first, "");
  free(first);
}
END_TEST

/* Constants in every form are one graph: the file is written whole, with the text beside it, and read again. */
START_TEST(constants_are_printed_in_other_forms) {
  static const char text[] =
      "laze 1\ngraph @g() -> f32[3], f32[2] {\n  %0 = constant [1.0, nan(0x7fc00001), -0.0] : f32[3]\n"
      "  %1 = constant [1.0, 2.0] : f32[2]\n  return %0, %1\n}\n";
  LAZEC_INPUT(text, "print", "-", "--hex", "--above", "2");
  ck_assert_ptr_nonnull(strstr(lazec_out, "%0 = constant hex=\"0000803f0100c07f00000080\" : f32[3]\n"));
  ck_assert_ptr_nonnull(strstr(lazec_out, "%1 = constant [1.0, 2.0] : f32[2]\n"));
  char *hexadecimal = strdup(lazec_out);
  LAZEC_INPUT(hexadecimal, "print", "-");
  lazec_expect(0, text, "");
  free(hexadecimal);
  ck_assert_int_eq(mkdir("model", 0700), 0);
  LAZEC_INPUT(text, "print", "-", "--above=0", "--weights", "model/g.bin", "-o", "model/g.lz");
  lazec_expect(0, "", "");
  LAZEC("print", "model/g.lz");
  lazec_expect(0, text, "");
  size_t size;
  char *bytes = read_bytes("model/g.bin", &size);
  ck_assert_uint_eq(size, 72);
  ck_assert_mem_eq(bytes, "\0\0\x80\x3f\1\0\xc0\x7f\0\0\0\x80", 12);
  free(bytes);
  ck_assert_int_eq(truncate("model/g.bin", 71), 0);
  LAZEC("run", "model/g.lz");
  lazec_expect(1, "",
               "lazec: model/g.lz:4:22: constant: file \"g.bin\" has 71 bytes, but 8 at offset 64 are expected\n");
  ck_assert_int_eq(remove("model/g.bin") | remove("model/g.lz") | remove("model"), 0);
}
END_TEST

/* Nothing is written where something is wrong, and what was there before stays. */
START_TEST(weights_that_cannot_be_written_leave_nothing) {
  write_text("g.lz", loose);
  LAZEC("print", "g.lz", "--weights", "no/such/g.bin", "-o", "no/such/out.lz");
  lazec_expect(1, "", "lazec: no/such/g.bin: cannot be written (No such file or directory)\n");
  LAZEC("print", "g.lz", "--weights", "a/g.bin", "-o", "out.lz");
  ck_assert_int_eq(lazec_code, 2);
  ck_assert_ptr_nonnull(strstr(lazec_err, "--weights a/g.bin: is in another folder than out.lz"));
  LAZEC("print", "g.lz", "--weights", "g.bin", "--hex");
  ck_assert_ptr_nonnull(strstr(lazec_err, "--hex and --weights: one of the two is expected"));
  LAZEC("print", "g.lz", "--above", "3");
  ck_assert_ptr_nonnull(strstr(lazec_err, "--above: --hex or --weights is expected with it"));
  LAZEC("print", "g.lz", "--hex", "--above", "many");
  ck_assert_ptr_nonnull(strstr(lazec_err, "--above many: a number of elements is expected"));
  ck_assert_int_ne(access("g.bin", F_OK), 0);
}
END_TEST

/* Messages of a run say what the front end called the node. */
START_TEST(errors_of_a_run_say_the_label) {
  write_text("g.lz",
             "laze 1\ngraph @g(%t: f32[3], %i: i64[1]) {\n"
             "  %0 = index_select %t, %i, dim=0 name(\"tokens/Gather\") loc(\"model.onnx:7\")\n  return %0\n}\n");
  LAZEC("run", "g.lz", "-i", "t=f32[3]:0", "-i", "i=i64[1]:5");
  ck_assert_int_eq(lazec_code, 1);
  ck_assert_msg(strstr(lazec_err, "lazec: model.onnx:7: \"tokens/Gather\": index_select: index 5 ") == lazec_err, "%s",
                lazec_err);
  LAZEC("compile", "g.lz", "--emit", "schedule", "--backend", "llvm");
  if (lazec_has_llvm())
    ck_assert_ptr_nonnull(strstr(lazec_out, "from index_select \"tokens/Gather\" (model.onnx:7)\n"));
}
END_TEST

static const char module[] = "laze 1\n"
                             "function @scale(%x: f32[n]) -> f32[n] {\n"
                             "  %0 = constant 2.0 : f32[]\n"
                             "  %1 = mul %x, %0 : f32[n]\n"
                             "  return %1\n"
                             "}\n"
                             "\n"
                             "graph @main(%x: f32[3]) -> f32[3] {\n"
                             "  %0 = call @scale %x : f32[3]\n"
                             "  %1 = call @scale %0 : f32[3] name(\"again\")\n"
                             "  return %1\n"
                             "}\n"
                             "\n"
                             "graph @other(%y: f32[m]) -> f32[m] {\n"
                             "  %0 = neg %y : f32[m]\n"
                             "  return %0\n"
                             "}\n";

/* A file of graphs and functions is printed as it is, or one of its graphs without calls, or what there is. */
START_TEST(modules_are_printed) {
  LAZEC_INPUT(module, "print", "-");
  lazec_expect(0, module, "");
  static const char main_graph[] = "laze 1\n"
                                   "graph @main(%x: f32[3]) -> f32[3] {\n"
                                   "  %0 = constant 2.0 : f32[]\n"
                                   "  %1 = mul %x, %0 : f32[3]\n"
                                   "  %2 = constant 2.0 : f32[] name(\"again\")\n"
                                   "  %3 = mul %1, %2 : f32[3] name(\"again\")\n"
                                   "  return %3\n"
                                   "}\n";
  LAZEC_INPUT(module, "print", "-", "--graph", "main");
  lazec_expect(0, main_graph, "");
  static const char list[] = "function @scale(%x: f32[n]) -> f32[n]\n"
                             "graph @main(%x: f32[3]) -> f32[3]\n"
                             "graph @other(%y: f32[m]) -> f32[m]\n";
  LAZEC_INPUT(module, "print", "-", "--list");
  lazec_expect(0, list, "");
  LAZEC_INPUT(module, "check", "-", "--list");
  lazec_expect(0, list, "");
  LAZEC_INPUT(module, "check", "-");
  lazec_expect(0, "", "");
  LAZEC_INPUT(module, "print", "-", "--graph", "scale");
  lazec_expect(
      1, "",
      "lazec: standard input: @scale is a function, which takes any sizes; a graph is expected; the graphs are "
      "@main, @other\n");
}
END_TEST

START_TEST(a_graph_is_chosen_by_name) {
  write_text("m.lz", module);
  LAZEC("run", "m.lz", "-i", "x=f32[3]:1,2,3");
  lazec_expect(0, "result 0: f32[3]\n[ 4.0  8.0 12.0]\n", "");
  LAZEC("run", "m.lz", "--graph", "other", "-i", "y=f32[2]:1,2");
  lazec_expect(0, "result 0: f32[2]\n[-1.0 -2.0]\n", "");
  LAZEC("compile", "m.lz", "--graph=other", "--emit=ir");
  ck_assert_ptr_nonnull(strstr(lazec_out, "graph @other(%y: f32[s0])"));
  LAZEC("run", "m.lz", "--graph", "third");
  lazec_expect(1, "", "lazec: m.lz: there is no graph @third; the graphs are @main, @other\n");
  write_text("m.lz", "laze 1\ngraph @a() {\n  return\n}\ngraph @b() {\n  return\n}\n");
  LAZEC("compile", "m.lz", "--emit=ir");
  lazec_expect(1, "", "lazec: m.lz: a graph must be named, for none is @main; the graphs are @a, @b\n");
  LAZEC("print", "m.lz");
  ck_assert_int_eq(lazec_code, 0);
}
END_TEST

START_TEST(check_is_silent_about_right_graphs) {
  LAZEC("check", lazec_example(examples[_i]));
  lazec_expect(0, "", "");
}
END_TEST

START_TEST(check_names_line_and_column) {
  LAZEC_INPUT("laze 1\ngraph @g(%x: f32[2], %y: f32[3]) -> f32[2] {\n  %0 = add %x, %y\n  return %0\n}\n", "check",
              "-");
  ck_assert_int_eq(lazec_code, 1);
  ck_assert_str_eq(lazec_out, "");
  ck_assert_msg(strncmp(lazec_err, "lazec: standard input:3:", 24) == 0, "%s", lazec_err);
  ck_assert_ptr_nonnull(strstr(lazec_err, ": add: shapes f32[2] and f32[3]")); /* as it is written */
  ck_assert_ptr_nonnull(strstr(lazec_err, "f32[3]"));
  LAZEC_INPUT(NULL, "check", "-"); /* empty */
  ck_assert_int_eq(lazec_code, 1);
}
END_TEST

START_TEST(emitted_ir_is_a_graph) {
  LAZEC("compile", lazec_example(examples[_i]), "--emit", "ir");
  ck_assert_int_eq(lazec_code, 0);
  ck_assert_str_eq(lazec_err, "");
  ck_assert_ptr_nonnull(strstr(lazec_out, "graph @"));
  ck_assert_ptr_null(strstr(lazec_out, "softmax %")); /* late composites are expanded by now */
  char *first = strdup(lazec_out);
  LAZEC_INPUT(first, "check", "-");
  lazec_expect(0, "", "");
  free(first);
}
END_TEST

/* Code is generic in sizes: the same for every value of a size that nothing was asked about. */
START_TEST(emitted_code_does_not_depend_on_sizes) {
  if (!lazec_has_llvm()) return;
  LAZEC("compile", lazec_example("dense.lz"), "--emit=llvm", "-o", "any.ll");
  lazec_expect(0, "", "");
  LAZEC("compile", lazec_example("dense.lz"), "--emit=llvm", "-o", "given.ll", "--dim", "n=1000");
  lazec_expect(0, "", "");
  expect_same_files("any.ll", "given.ll");
  size_t size;
  char *text = read_bytes("any.ll", &size);
  ck_assert_ptr_nonnull(strstr(text, "define void @laze_"));
  free(text);
}
END_TEST

START_TEST(every_form_is_emitted) {
  if (!lazec_has_llvm()) return;
  LAZEC("compile", lazec_example(examples[_i]), "--emit", "schedule");
  ck_assert_int_eq(lazec_code, 0);
  ck_assert_ptr_nonnull(strstr(lazec_out, "kernel 0"));
  LAZEC("compile", lazec_example(examples[_i]), "--emit", "asm");
  ck_assert_int_eq(lazec_code, 0);
  ck_assert_ptr_nonnull(strstr(lazec_out, ".globl\tlaze_"));
  LAZEC("compile", lazec_example(examples[_i]), "--emit", "obj", "--output", "g.o");
  lazec_expect(0, "", "");
  size_t size;
  char *bytes = read_bytes("g.o", &size);
  ck_assert_uint_gt(size, 64);
  ck_assert_mem_eq(bytes,
                   "\x7f"
                   "ELF",
                   4);
  LAZEC("compile", lazec_example(examples[_i]), "--emit", "obj"); /* standard output is a file here */
  ck_assert_int_eq(lazec_code, 0);
  if (size < sizeof lazec_out) ck_assert_uint_eq(lazec_out_size, size);
  free(bytes);
}
END_TEST

/* What the runtime copies is a kernel in an object, which must do without the runtime. */
START_TEST(concatenations_are_in_the_object) {
  static const char text[] = "laze 1\ngraph @g(%x: f32[4], %y: f32[3]) -> f32[7] {\n  %0 = cat [%x, %y]\n"
                             "  return %0\n}\n";
  if (!lazec_has_llvm()) return;
  LAZEC_INPUT(text, "compile", "-", "--emit", "asm");
  ck_assert_int_eq(lazec_code, 0);
  ck_assert_ptr_nonnull(strstr(lazec_out, ".globl\tlaze_"));
  ck_assert_ptr_null(strstr(lazec_out, "not here"));
  LAZEC_INPUT(text, "compile", "-", "--emit", "obj", "-o", "g.o");
  lazec_expect(0, "", "");
}
END_TEST

/* What is more than kernels, alone, beside a kernel, or with others inside: the runtime goes through its regions, whose
 * kernels are there. */
static const struct {
  const char *operator, * body, *reason;
} no_kernels[] = {
    {"while",
     "  %0 = while [%x] (%a: f32[]) {\n    %1 = lt %a, 10\n    return %1\n  } (%b: f32[]) {\n"
     "    %2 = add %b, 1\n    return %2\n  }\n",
     "runs kernels of its regions in turns"},
    {"if",
     "  %y = exp %x\n  %c = lt %y, 2\n  %0 = if %c, [%y] (%a: f32[]) {\n    return %a\n  } (%b: f32[]) {\n"
     "    %2 = neg %b\n    return %2\n  }\n",
     "runs kernels of its regions in turns"},
    {"scan", /* what the fold is, because of its region */
     "  %v = reshape %x, shape=[1]\n  %0 = reduce %v, [%x], dim=[0] (%s: f32[], %e: f32[]) {\n"
     "    %1 = amax %s\n    %2 = add %1, %e\n    return %2\n  }\n",
     "runs kernels of its regions in turns"},
    {"dynamic_update",
     "  %v = full size=[4], fill_value=1.0\n  %w = reshape %x, shape=[1]\n  %i = constant 2 : i64[]\n"
     "  %u = dynamic_update %v, %w, %i, dim=0\n  %0 = sum %u\n",
     "writes a part of a value"},
};

/* An object of the other kernels is one that nobody can call. */
START_TEST(what_is_more_than_kernels_is_in_no_object) {
  char text[512];
  const char *operator= no_kernels[_i].operator;
  if (!lazec_has_llvm()) return;
  snprintf(text, sizeof text, "laze 1\ngraph @g(%%x: f32[]) -> f32[] {\n%s  return %%0\n}\n", no_kernels[_i].body);
  LAZEC_INPUT(text, "compile", "-", "--emit", "obj", "-o", "g.o");
  ck_assert_int_eq(lazec_code, 1);
  ck_assert_ptr_nonnull(strstr(lazec_err, operator));
  ck_assert_ptr_nonnull(strstr(lazec_err, no_kernels[_i].reason));
  ck_assert_int_ne(access("g.o", F_OK), 0);
  static const char *const forms[] = {"llvm", "asm"};
  for (int i = 0; i < 2; i++) {
    LAZEC_INPUT(text, "compile", "-", "--emit", forms[i]);
    ck_assert_int_eq(lazec_code, 0);
    ck_assert_ptr_null(strstr(lazec_out, "not here"));
  }
  LAZEC_INPUT(text, "compile", "-", "--emit", "schedule");
  ck_assert_int_eq(lazec_code, 0);
  ck_assert_ptr_nonnull(strstr(lazec_out, operator));
}
END_TEST

/* Nor is one without what the interpreter runs; text says what it lacks. */
START_TEST(what_the_interpreter_runs_is_in_no_object) {
  static const char *const forms[] = {"llvm", "asm"};
  if (!lazec_has_llvm()) return;
  char *fold = test_deep_fold(LAZE_MAX_NESTING - 1), text[16384];
  snprintf(text, sizeof text, "laze 1\n%s", fold);
  free(fold);
  for (int i = 0; i < 2; i++) {
    LAZEC_INPUT(text, "compile", "-", "--emit", forms[i]);
    ck_assert_int_eq(lazec_code, 0);
    ck_assert_ptr_nonnull(strstr(lazec_out, "not here, for the interpreter runs it: reduce"));
  }
  LAZEC_INPUT(text, "compile", "-", "--emit", "schedule");
  ck_assert_int_eq(lazec_code, 0);
  ck_assert_ptr_nonnull(strstr(lazec_out, "interpreted: its region does more than compute elements"));
}
END_TEST

START_TEST(a_graph_without_kernels_is_no_object) {
  if (!lazec_has_llvm()) return;
  LAZEC_INPUT("laze 1\ngraph @g(%x: f32[3]) -> f32[3] {\n  return %x\n}\n", "compile", "-", "--emit", "obj", "-o",
              "g.o");
  ck_assert_int_eq(lazec_code, 1);
  ck_assert_ptr_nonnull(strstr(lazec_err, "has no kernels"));
  ck_assert_int_ne(access("g.o", F_OK), 0);
}
END_TEST

/* A file that is there is replaced whole, also behind a link, and stays as private as it was. */
START_TEST(output_replaces_a_file) {
  struct stat info;
  write_text("old.txt", "something old");
  ck_assert_int_eq(chmod("old.txt", 0600), 0);
  ck_assert_int_eq(system("ln -s old.txt link.txt"), 0);
  LAZEC("compile", lazec_example("dense.lz"), "--emit", "ir", "-o", "link.txt");
  lazec_expect(0, "", "");
  ck_assert_int_eq(lstat("link.txt", &info), 0);
  ck_assert(S_ISLNK(info.st_mode));
  ck_assert_int_eq(stat("old.txt", &info), 0);
  ck_assert_int_eq(info.st_mode & 0777, 0600);
  size_t size;
  char *text = read_bytes("old.txt", &size);
  ck_assert_int_eq(strncmp(text, "laze 1\n", 7), 0);
  free(text);
}
END_TEST

START_TEST(help_names_every_command) {
  static const char *const commands[] = {"run", "print", "check", "compile"};
  LAZEC("--help");
  ck_assert_int_eq(lazec_code, 0);
  ck_assert_str_eq(lazec_err, "");
  char *help = strdup(lazec_out), line[32], usage[32];
  for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
    snprintf(line, sizeof line, "\n  %s ", commands[i]);
    ck_assert_msg(strstr(help, line) != NULL, "no %s in:\n%s", commands[i], help);
    LAZEC(commands[i], "--help");
    ck_assert_int_eq(lazec_code, 0);
    snprintf(usage, sizeof usage, "Usage: lazec %s ", commands[i]);
    ck_assert_int_eq(strncmp(lazec_out, usage, strlen(usage)), 0);
  }
  free(help);
  LAZEC("--version");
  ck_assert_int_eq(lazec_code, 0);
  ck_assert_int_eq(strncmp(lazec_out, "lazec 0.", 8), 0);
}
END_TEST

/* Elements that lie side by side are loaded as one vector. By gathering them results would be the same, and take many
 * times as long. */
START_TEST(neighbours_are_loaded_together) {
  if (!lazec_has_llvm()) return;
  LAZEC_INPUT("laze 1\ngraph @g(%x: f32[n], %y: f32[n]) -> f32[n] {\n  %0 = add %x, %y\n  return %0\n}\n", "compile",
              "-", "--emit=llvm");
  ck_assert_int_eq(lazec_code, 0);
  ck_assert_ptr_nonnull(strstr(lazec_out, "load <16 x float>"));
  ck_assert_ptr_nonnull(strstr(lazec_out, "store <16 x float>"));
  ck_assert_ptr_null(strstr(lazec_out, "gather"));
  ck_assert_ptr_null(strstr(lazec_out, "scatter"));
}
END_TEST

int main(void) {
  TCase *tests = tcase_create("compile");
  tcase_add_test(tests, print_is_canonical);
  tcase_add_loop_test(tests, printed_examples_print_the_same_again, 0, EXAMPLE_COUNT);
  tcase_add_test(tests, modules_are_printed);
  tcase_add_test(tests, a_graph_is_chosen_by_name);
  tcase_add_test(tests, constants_are_printed_in_other_forms);
  tcase_add_test(tests, weights_that_cannot_be_written_leave_nothing);
  tcase_add_test(tests, errors_of_a_run_say_the_label);
  tcase_add_loop_test(tests, check_is_silent_about_right_graphs, 0, EXAMPLE_COUNT);
  tcase_add_test(tests, check_names_line_and_column);
  tcase_add_loop_test(tests, emitted_ir_is_a_graph, 0, EXAMPLE_COUNT);
  tcase_add_test(tests, emitted_code_does_not_depend_on_sizes);
  tcase_add_loop_test(tests, every_form_is_emitted, 0, EXAMPLE_COUNT);
  tcase_add_test(tests, concatenations_are_in_the_object);
  tcase_add_loop_test(tests, what_is_more_than_kernels_is_in_no_object, 0,
                      (int)(sizeof no_kernels / sizeof *no_kernels));
  tcase_add_test(tests, what_the_interpreter_runs_is_in_no_object);
  tcase_add_test(tests, a_graph_without_kernels_is_no_object);
  tcase_add_test(tests, output_replaces_a_file);
  tcase_add_test(tests, help_names_every_command);
  tcase_add_test(tests, neighbours_are_loaded_together);
  return lazec_run_suite(tests, "lazec compile");
}
