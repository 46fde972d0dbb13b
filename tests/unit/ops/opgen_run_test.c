/* Runs opgen as the build does: what it writes, that it writes the same bytes each time, and what it answers to wrong
 * usage. */
#include "tests/support/suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#define TABLES SOURCE_ROOT "/ops/native_functions/*.yaml"
#define RULES " --rules '" SOURCE_ROOT "/ops/rules.yaml' "
#define FEATURES "'" SOURCE_ROOT "/tests/unit/ops/features.yaml' "

static char directory[] = "/tmp/laze-opgen-XXXXXX";

/* Runs a shell command in a fresh directory ("." is it) and returns its exit status. */
static int run(const char *command) {
  char text[8192];
  const int size = snprintf(text, sizeof(text), "cd '%s' && { %s; } >output 2>&1", directory, command);
  ck_assert_int_lt(size, (int)sizeof(text));
  const int status = system(text);
  ck_assert(WIFEXITED(status));
  return WEXITSTATUS(status);
}

/* Fails the test with the command's output unless it ends with `expected`. */
static void expect(const char *command, int expected) {
  const int status = run(command);
  if (status == expected) return;
  static char output[8192];
  char path[4096];
  snprintf(path, sizeof(path), "%s/output", directory);
  FILE *file = fopen(path, "r");
  ck_assert_ptr_nonnull(file);
  output[fread(output, 1, sizeof(output) - 1, file)] = '\0';
  fclose(file);
  ck_abort_msg("%s\nended with %d, expected %d:\n%s", command, status, expected, output);
}

static void set_up(void) {
  memcpy(strrchr(directory, '-') + 1, "XXXXXX", 6);
  ck_assert_ptr_nonnull(mkdtemp(directory));
}

static void tear_down(void) {
  char command[4096];
  snprintf(command, sizeof(command), "rm -rf '%s'", directory);
  ck_assert_int_eq(system(command), 0);
}

/* Two builds of one source must give the same library, and a person comparing two versions of generated code must see
 * only what changed. */
START_TEST(writes_the_same_bytes) {
  expect(OPGEN RULES "--output a " TABLES, 0);
  expect(OPGEN RULES "--output b " TABLES, 0);
  expect("diff -r a b", 0);
}
END_TEST

/* A formula or an operator more changes the files of its own table, and those that have something of all operators:
 * a person who compares two versions looks at few lines, and a build compiles few files. */
START_TEST(row_1_22_generated_code_is_deterministic_and_split_in_stable_shards) {
#define GENERATE OPGEN RULES " $(for table in derivatives/*.yaml; do echo --derivatives $table; done) --output "
  expect("cp -r '" SOURCE_ROOT "/ops/derivatives' '" SOURCE_ROOT "/ops/native_functions' .", 0);
  expect(GENERATE "a native_functions/*.yaml", 0);
  expect(GENERATE "b native_functions/*.yaml", 0);
  expect("diff -r a b", 0);
  expect("sed -i 's/self: grad . conj(result)$/self: conj(result) * grad/' derivatives/functions.yaml", 0);
  expect(GENERATE "c native_functions/*.yaml", 0);
  expect("diff -rq a c >changed; test \"$(sed 's,^Files a/,,; s, and .*,,' changed)\" = ir/derivative_functions.gen.c",
         0);
  expect("printf '\\n- func: zzz(Tensor self) -> Tensor\\n  composite: neg(self)\\n' >>native_functions/zeta.yaml", 0);
  expect(GENERATE "d native_functions/*.yaml", 0);
  expect("diff -rq c d >changed; grep -E '_[a-z_]+\\.gen\\.[ch]' changed | grep -vE '_zeta\\.gen' >others; cat others; "
         "test "
         "! -s others",
         0);
  expect("grep _zeta.gen.c changed", 0);
}
END_TEST

/* Ninja would build everything again if files changed their time. */
START_TEST(leaves_equal_files_alone) {
  expect(OPGEN RULES "--output a " FEATURES, 0);
  expect("touch -d 2001-01-01 a/ir/op.gen.h a/ir/op.gen.c && echo '/* */' >>a/ir/op.gen.c", 0);
  expect(OPGEN RULES "--output a " FEATURES, 0);
  expect("test \"$(date -r a/ir/op.gen.h +%Y)\" = 2001", 0);
  expect("test \"$(date -r a/ir/op.gen.c +%Y)\" != 2001", 0);
}
END_TEST

/* The build runs opgen once per folder; the two ways must not differ, and --list names every file. */
START_TEST(writes_one_folder) {
  expect(OPGEN RULES "--output all " FEATURES, 0);
  expect(OPGEN RULES "--only ir --output one " FEATURES, 0);
  expect("diff -r all/ir one", 0);
  expect(OPGEN RULES FEATURES
         " --list >listed && (cd all && find . -type f | sed 's,^./,,') | sort >found && sort listed | diff - found",
         0);
}
END_TEST

/* The real operators use a part of the expression language; code for the rest must compile as well, without warnings
 * that the library's build would show. */
START_TEST(code_for_every_construct_compiles) {
  expect(OPGEN RULES "--output . " FEATURES, 0);
  expect("for file in ir/*.c codegen/interp/*.c codegen/schedule/*.c lazy/*.c tests/support/*.c; do " COMPILER
         " -std=c11 -D_GNU_SOURCE -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wundef -Werror"
         " -fsyntax-only -I. -Iinclude -I" SOURCE_ROOT " -I" SOURCE_ROOT "/include $file || exit 1; done",
         0);
}
END_TEST

/* Generated code names the line it comes from, and no line is longer than the project's own. */
START_TEST(code_is_readable) {
  expect(OPGEN RULES "--output . " TABLES, 0);
  expect("grep -q '^/. ops/native_functions/arithmetic.yaml:[0-9]*: mul.Scalar' ir/composite_arithmetic.gen.c", 0);
  expect("! grep -rvh '^#line' ir lazy codegen include tests | grep -nE '^.{121,}'", 0);
  expect("test $(wc -l <lazy/functions_arithmetic.gen.c) -lt 2000", 0);
}
END_TEST

/* A compiler that does not take an entry's text must name the entry, whose line a person can mend, and a debugger show
 * it; code that no entry wrote keeps its own place, or breakpoints would land on other lines than they say. */
START_TEST(code_names_the_line_it_comes_from) {
  expect("printf -- '- func: _cut(Tensor self) -> Tensor\n  class: elementwise\n  compute: float\n  eval:\n    float: "
         "\"self +\"\n  lower: cut\n' >cut.yaml && " OPGEN RULES "--output cut cut.yaml",
         0);
  expect("! " COMPILER " -std=c11 -fsyntax-only -Icut -I" SOURCE_ROOT " -I" SOURCE_ROOT
         "/include cut/codegen/interp/eval.gen.c 2>message && grep -q '^cut.yaml:5:' message",
         0);
  expect(OPGEN RULES "--output . " FEATURES, 0);
  expect(
      "for file in ir/*.c codegen/interp/*.c; do awk '/^#line [0-9]+ .*gen\\.c/ { seen = 1; if ($2 != FNR + 1 || $3 != "
      "\"\\\"\" FILENAME \"\\\"\") exit 1 }' $file || exit 1; done && grep -q '^#line .*eval.gen.c' "
      "codegen/interp/eval.gen.c && grep -q '^#line .*features.yaml' ir/composite_features.gen.c ir/inference.gen.c",
      0);
}
END_TEST

/* A list of defaults has its own items and no other. */
START_TEST(default_lists_are_whole) {
  expect(OPGEN RULES "--output . " FEATURES, 0);
  expect(
      "cat lazy/functions_*.gen.c | tr -s ' \n' ' ' >all && grep -qF '(const laze_size[]){1, 1}, 2)' all && grep -qF "
      "'(const laze_size[]){3}, 1)' all",
      0);
}
END_TEST

/* What a reader of the header is told: the call, names that C has taken, and lines as long as they may be. */
START_TEST(headers_tell_calls) {
  expect(OPGEN RULES "--output . " FEATURES, 0);
  expect("cd include/laze/functions && grep -qF ' *   laze_sum(self, dim, keepdim), laze_sum_with(self, dim, keepdim, "
         "dtype); dim: or LAZE_ALL_DIMS' features.h && grep -qF 'results[1]: high.' features.h",
         0);
  expect("! grep -q 'laze_neg_with' include/laze/functions/features.h", 0); /* nothing to leave out: one form */
  expect("grep -qF '#include \"laze/functions/features.h\"' include/laze/functions.h", 0);
  expect("test ! -e include/laze/functions/control.h", 0); /* nothing in it that users call */
  expect("grep -qE '^.{120}$' ir/*.c lazy/*.c include/laze/functions/*.h", 0);
  expect(
      "printf -- '- func: taken(Tensor self, int count, int auto, int context, Tensor[] if) -> Tensor\n  class: "
      "movement\n  shape: cat(if, count)\n  dtype: same(self)\n  interpret: cat\n  lower: cat\n' >taken.yaml && " OPGEN
          RULES "--output taken taken.yaml && grep -qF 'int64_t count_, int64_t auto_, int64_t context_,' "
      "taken/include/laze/functions/taken.h && grep -qF 'laze_tensor *const *if_, int32_t if__count' "
      "taken/include/laze/functions/taken.h",
      0);
}
END_TEST

START_TEST(writes_nothing_when_tables_are_wrong) {
  expect(OPGEN RULES "--output a '" SOURCE_ROOT "/tests/unit/ops/bad/unknown_key.yaml'", 1);
  expect("test ! -e a", 0);
}
END_TEST

START_TEST(refuses_wrong_usage) {
  expect(OPGEN, 2);
  expect(OPGEN RULES "--output a", 2);
  expect(OPGEN " --output a " FEATURES, 2);
  expect(OPGEN RULES FEATURES, 2);
  expect(OPGEN " --colour", 2);
  expect(OPGEN RULES "--only nowhere --output a " FEATURES, 2);
}
END_TEST

START_TEST(reports_files_it_cannot_use) {
  expect(OPGEN RULES
         "--check missing.yaml 2>message; test $? = 1 && grep -q '^missing.yaml:1: cannot be read: ' message",
         0);
  expect(OPGEN " --rules missing.yaml --check " FEATURES, 1);
  expect("echo text >file", 0);
  expect(OPGEN RULES "--output file " FEATURES, 1);
}
END_TEST

/* A file that is cut off because the disk is full would be built from. */
START_TEST(reports_what_it_cannot_write) {
  expect(OPGEN RULES "--output a " FEATURES, 0);
  expect("ln -sf /dev/full a/ir/op.gen.h", 0);
  expect(OPGEN RULES
         "--output a " FEATURES
         "2>message; test $? = 1 && grep -q 'op.gen.h:.*cannot be written: No space left on device' message",
         0);
}
END_TEST

/* The name of a rule that nobody wrote would otherwise be a fault of generated code. */
START_TEST(rules_have_functions) {
  expect("printf 'shape:\\n  - same(Tensor self)\\n  - reduse(Tensor self)\\ndtype:\\n  - sam(Tensor self)\\n' "
         ">rules.yaml; " OPGEN " --rules rules.yaml --rule-functions '" SOURCE_ROOT
         "/shape_inference/rules.h' --check '" SOURCE_ROOT "/tests/unit/ops/bad/alias.yaml' 2>message; test $? = 1",
         0);
  expect("grep -q '^rules.yaml:3: shape rule \"reduse\" has no function; .*did you mean \"reduce\"' message", 0);
  expect("grep -q '^rules.yaml:5: dtype rule \"sam\" has no function; .*did you mean \"same\"' message", 0);
  expect("! grep -q 'shape rule \"same\"' message", 0);
}
END_TEST

START_TEST(answers_help) {
  expect(OPGEN " --help | grep -q -- --rules", 0);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("opgen");
  TCase *cases = tcase_create("runs");
  tcase_set_timeout(cases, 0);
  tcase_add_checked_fixture(cases, set_up, tear_down);
  tcase_add_test(cases, writes_the_same_bytes);
  tcase_add_test(cases, row_1_22_generated_code_is_deterministic_and_split_in_stable_shards);
  tcase_add_test(cases, leaves_equal_files_alone);
  tcase_add_test(cases, writes_one_folder);
  tcase_add_test(cases, code_for_every_construct_compiles);
  tcase_add_test(cases, code_is_readable);
  tcase_add_test(cases, default_lists_are_whole);
  tcase_add_test(cases, code_names_the_line_it_comes_from);
  tcase_add_test(cases, headers_tell_calls);
  tcase_add_test(cases, writes_nothing_when_tables_are_wrong);
  tcase_add_test(cases, refuses_wrong_usage);
  tcase_add_test(cases, reports_files_it_cannot_use);
  tcase_add_test(cases, reports_what_it_cannot_write);
  tcase_add_test(cases, rules_have_functions);
  tcase_add_test(cases, answers_help);
  suite_add_tcase(suite, cases);
  return test_run_suite(suite);
}
