/* What lazec says about bad command lines, bad files, bad inputs and a full disk. */
#include "tests/tools/lazec_runner.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { MOST = 12 };

typedef struct {
  const char *arguments[MOST];
  const char *message; /* the first line, without "lazec: " */
} error_case;

/* Graph @g(%x: f32[n,3], %y: f32[n]) in g.lz; text.npy is no array, short.npy a damaged one. */
static const error_case failures[] = {
    {{"run", "missing.lz"}, "missing.lz: cannot be opened (No such file or directory)"},
    {{"compile", "missing.lz", "--emit", "ir"}, "missing.lz: cannot be opened (No such file or directory)"},
    {{"run", "."}, ".: cannot be read (Is a directory)"},
    {{"check", "text.npy"}, "text.npy:1:1: expected 'laze 1' at the start, found 'hello'"},
    {{"run", "g.lz"}, "input x: is missing; give its f32[n,3] with --input x=@FILE.npy"},
    {{"run", "g.lz", "-i", "z=f32[1]:0"}, "input z: graph g has no such input; it has x, y"},
    {{"run", "g.lz", "-i", "y=f32[1]:0", "-i", "y=f32[1]:0"}, "input y: is given twice; once is expected"},
    {{"run", "g.lz", "-i", "x=f64[2,3]:0", "-i", "y=f32[2]:0"},
     "input x: f64[2,3] was given, but f32[n,3] is declared: the dtype is f64, not f32"},
    {{"run", "g.lz", "-i", "x=f32[2]:0", "-i", "y=f32[2]:0"},
     "input x: f32[2] was given, but f32[n,3] is declared: the rank is 1, not 2"},
    {{"run", "g.lz", "-i", "x=f32[2,4]:0", "-i", "y=f32[2]:0"},
     "input x: f32[2,4] was given, but f32[n,3] is declared: axis 1 has size 4, not 3"},
    {{"run", "g.lz", "-i", "x=f32[2,3]:0", "-i", "y=f32[5]:0"},
     "input y: f32[5] was given, but f32[n] is declared: n is 5 here, but 2 in input x"},
    {{"run", "g.lz", "-i", "x=f32[2,3]:0", "-i", "y=f32[2]:0", "--dim", "n=4"},
     "input x: f32[2,3] was given, but f32[n,3] is declared: n is 2 here, but 4 was asked for"},
    {{"run", "g.lz", "-i", "x=f32[2,3]:0", "-i", "y=f32[2]:0", "--dim", "k=4"},
     "--dim k=4: graph g has no size k; it has n"},
    {{"run", "g.lz", "-i", "x=f32[2,3]:0", "-i", "y=f32[2]:0", "--dim", "n=0"},
     "input x: f32[2,3] was given, but f32[n,3] is declared: n is 2 here, but 0 was asked for"},
    {{"run", "g.lz", "-i", "x=f32[2,3]:0", "-i", "y=f32[2]:0", "--dim", "n=9"},
     "input x: f32[2,3] was given, but f32[n,3] is declared: n is 2 here, but 9 was asked for"},
    {{"compile", "g.lz", "--emit", "ir", "--dim", "n=4", "--dim", "n=5"}, "--dim n=5: n was given as 4 before"},
    {{"run", "g.lz", "-i", "x=f32[2,3]:1,2"}, "input x: has 2 values; 6 are expected, or one for all of them"},
    {{"run", "g.lz", "-i", "x=f32[1,1]:1,2"}, "input x: has 2 values; 1 are expected, or one for all of them"},
    {{"run", "g.lz", "-i", "x=f32[2]:1,two"}, "input x: value 1 is 'two'; a number is expected"},
    {{"run", "g.lz", "-i", "x=f32[2]:1,"}, "input x: value 1 is ''; a number is expected"},
    {{"run", "g.lz", "-i", "x=f32[2]:1;2"}, "input x: value 0 is '1;2'; a number is expected"},
    {{"run", "g.lz", "-i", "x=i32[1]:2147483648"},
     "input x: value 0 is '2147483648'; an integer of 32 bits is expected"},
    {{"run", "g.lz", "-i", "x=i64[1]:9223372036854775808"},
     "input x: value 0 is '9223372036854775808'; an integer of 64 bits is expected"},
    {{"run", "g.lz", "-i", "x=i64[1]:1.5"}, "input x: value 0 is '1.5'; an integer of 64 bits is expected"},
    {{"run", "g.lz", "-i", "x=bool[1]:2"}, "input x: value 0 is '2'; true, false, 1 or 0 is expected"},
    {{"run", "g.lz", "-i", "x=f32[1]:random:z"},
     "input x: 'random:z': random:SEED is expected, with a number such as 1"},
    {{"run", "g.lz", "-i", "x=f32[2]"},
     "input x: 'f32[2]': ':' and the elements are expected after the type, as in f32[2]:1,2"},
    {{"run", "g.lz", "-i", "x=f15[2]:0"},
     "input x: type \"f15[2]:0\": a dtype "
     "(bool, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64, c64, c128) or \"token\" was expected"},
    {{"run", "g.lz", "-i", "x=f32[-1]:0"}, "input x: type \"f32[-1]:0\": axis 0 has size -1; sizes are 0 to 2^62"},
    {{"run", "g.lz", "-i", "x=f32[4611686018427387904,3]:0"},
     "input x: type: shape f32[4611686018427387904,3] is too large; its elements must number at most 2^59, which at 8 "
     "bytes are 2^62"},
    {{"run", "g.lz", "-i", "x=@missing.npy"}, "input x: missing.npy: cannot be opened (No such file or directory)"},
    {{"run", "g.lz", "-i", "x=@text.npy"}, "input x: text.npy: is no .npy file: it does not start with \\x93NUMPY"},
    {{"run", "g.lz", "-i", "x=@short.npy"}, "input x: short.npy: ends at byte 20, within the header of 118 bytes"},
    {{"run", "g.lz", "-i", "x=f32[1,3]:0", "-i", "y=f32[1]:0", "-o", "a", "-o", "b"},
     "2 --output for the 1 result of graph g; give one for each, '-' prints it"},
    {{"run", "g.lz", "-i", "x=f32[1,3]:0", "-i", "y=f32[1]:0", "-o", "no/such/folder"},
     "no/such/folder: cannot be written (No such file or directory)"},
    {{"compile", "g.lz", "--emit", "llvm", "--backend", "interp"},
     "the backend 'interp' runs graphs as they are and has no llvm to show: use the backend 'llvm'"},
};

static const error_case wrong_usages[] = {
    {{"bogus"}, "unknown command 'bogus'; --help lists them"},
    {{"--bogus"}, "unrecognized option '--bogus'"},
    {{"run", "g.lz", "--bogus"}, "unrecognized option '--bogus'"},
    {{"run", "g.lz", "more.lz"}, "one graph file is expected, not 'g.lz' and 'more.lz'"},
    {{"run", "g.lz", "--input", "x"}, "--input x: NAME=@FILE or NAME=TYPE:ELEMENTS is expected"},
    {{"run", "g.lz", "--input", "=f32[]:0"}, "--input =f32[]:0: NAME=@FILE or NAME=TYPE:ELEMENTS is expected"},
    {{"run", "g.lz", "--input"}, "option '--input' requires an argument"},
    {{"run", "g.lz", "--dim", "n"}, "--dim n: NAME=NUMBER is expected, such as n=8"},
    {{"run", "g.lz", "--dim", "n=-1"}, "--dim n=-1: NAME=NUMBER is expected, such as n=8"},
    {{"run", "g.lz", "--dim", "n=:"}, "--dim n=:: NAME=NUMBER is expected, such as n=8"},
    {{"run", "g.lz", "--dim", "n=/"}, "--dim n=/: NAME=NUMBER is expected, such as n=8"},
    {{"run", "g.lz", "--dim", "n=4611686018427387905"},
     "--dim n=4611686018427387905: NAME=NUMBER is expected, such as n=8"},
    {{"run", "g.lz", "--dim", "n=9223372036854775808"},
     "--dim n=9223372036854775808: NAME=NUMBER is expected, such as n=8"},
    {{"compile", "g.lz"}, "--emit is missing: ir, schedule, llvm, asm or obj"},
    {{"compile", "g.lz", "--emit", "exe"}, "--emit exe: ir, schedule, llvm, asm or obj is expected"},
};

static void write_files(void) {
  write_text("g.lz", "laze 1\ngraph @g(%x: f32[n,3], %y: f32[n]) -> f32[n] {\n  %0 = sum %x, dim=[1]\n"
                     "  %1 = add %0, %y\n  return %1\n}\n");
  write_text("text.npy", "hello, I am no array\n");
  FILE *file = fopen("short.npy", "wb");
  ck_assert_ptr_nonnull(file);
  ck_assert_uint_eq(fwrite("\x93NUMPY\x01\x00\x76\x00{'descr': ", 1, 20, file), 20);
  ck_assert_int_eq(fclose(file), 0);
}

START_TEST(failures_exit_with_1) {
  char expected[1024];
  write_files();
  lazec_run_with(NULL, NULL, failures[_i].arguments);
  snprintf(expected, sizeof expected, "lazec: %s\n", failures[_i].message);
  lazec_expect(1, "", expected);
  ck_assert_int_ne(access("a", F_OK), 0); /* nothing half done */
}
END_TEST

START_TEST(wrong_usage_exits_with_2) {
  char expected[1024];
  const char *command = wrong_usages[_i].arguments[0];
  bool known = strcmp(command, "run") == 0 || strcmp(command, "compile") == 0;
  const char *name[2] = {known ? " " : "", known ? command : ""};
  write_files();
  lazec_run_with(NULL, NULL, wrong_usages[_i].arguments);
  snprintf(expected, sizeof expected,
           "lazec%s%s: %s\nTry `lazec%s%s --help' or `lazec%s%s --usage' for more information.\n", name[0], name[1],
           wrong_usages[_i].message, name[0], name[1], name[0], name[1]);
  lazec_expect(2, "", expected);
}
END_TEST

START_TEST(a_missing_command_or_file_shows_the_usage) {
  static const char *const commands[] = {"run", "print", "check", "compile"};
  lazec_run_with(NULL, NULL, (const char *const[]){NULL});
  ck_assert_int_eq(lazec_code, 2);
  ck_assert_ptr_nonnull(strstr(lazec_err, "Usage: lazec [OPTION...] COMMAND"));
  for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
    LAZEC(commands[i]);
    ck_assert_int_eq(lazec_code, 2);
    ck_assert_ptr_nonnull(strstr(lazec_err, "Usage: lazec "));
    ck_assert_str_eq(lazec_out, "");
  }
}
END_TEST

/* The one device that is always full. */
START_TEST(a_full_disk_is_an_error) {
  static const char *const prints[][MOST] = {
      {"run", "g.lz", "-i", "x=f32[1,3]:0", "-i", "y=f32[1]:0"},
      {"print", "g.lz"},
      {"compile", "g.lz", "--emit", "ir"},
      {"--help"},
      {"--version"},
      {"run", "--help"},
  };
  if (access("/dev/full", W_OK) != 0) return;
  write_files();
  for (size_t i = 0; i < sizeof prints / sizeof *prints; i++) {
    lazec_run_with(NULL, "/dev/full", prints[i]);
    lazec_expect(1, "", "lazec: standard output: cannot be written (No space left on device)\n");
  }
  LAZEC("run", "g.lz", "-i", "x=f32[1,3]:0", "-i", "y=f32[1]:0", "-o", "/dev/full");
  lazec_expect(1, "", "lazec: /dev/full: cannot be written (No space left on device)\n");
  LAZEC("compile", "g.lz", "--emit", "ir", "-o", "/dev/full");
  lazec_expect(1, "", "lazec: /dev/full: cannot be written (No space left on device)\n");
}
END_TEST

/* No memory for a buffer: an error that names the size, whatever this machine has. */
START_TEST(a_tensor_larger_than_memory_is_an_error) {
  write_files();
  LAZEC("run", "g.lz", "-i", "x=f32[100000000000000,3]:0");
  ck_assert_int_eq(lazec_code, 1);
  ck_assert_ptr_nonnull(strstr(lazec_err, "lazec: input x: no memory for a tensor buffer of 1200000000000000 bytes"));
}
END_TEST

START_TEST(wrong_environment_is_an_error) {
  write_files();
  ck_assert_int_eq(setenv("LAZE_DEBUG", "nonsense", 1), 0);
  LAZEC("check", "g.lz");
  lazec_expect(1, "", "lazec: LAZE_DEBUG: unknown switch 'nonsense'; LAZE_DEBUG=help lists them\n");
}
END_TEST

int main(void) {
  TCase *tests = tcase_create("errors");
  tcase_add_loop_test(tests, failures_exit_with_1, 0, (int)(sizeof failures / sizeof *failures));
  tcase_add_loop_test(tests, wrong_usage_exits_with_2, 0, (int)(sizeof wrong_usages / sizeof *wrong_usages));
  tcase_add_test(tests, a_missing_command_or_file_shows_the_usage);
  tcase_add_test(tests, a_full_disk_is_an_error);
  tcase_add_test(tests, a_tensor_larger_than_memory_is_an_error);
  tcase_add_test(tests, wrong_environment_is_an_error);
  return lazec_run_suite(tests, "lazec errors");
}
