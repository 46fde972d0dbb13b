/* Runs opgen on each table of bad/ and compares what it prints with the lines "#! " at the table's end: a person who
 * makes a mistake must learn where it is and what to write. Tables named derivative_ are of derivatives, of the
 * operators of derived.yaml. With LAZE_UPDATE=1 in the environment, the lines are
 * rewritten from what opgen prints. */
#include "tests/support/suite.h"

#include <check.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#define MAX_TABLES 100
#define MAX_TEXT 65536
#define HEADERS                                                                                                        \
  "--lowerings '" SOURCE_ROOT "/codegen/llvm/lowerings.h' --elements '" SOURCE_ROOT                                    \
  "/codegen/interp/eval_support.h' --interpreter '" SOURCE_ROOT "/codegen/interp/unit.h' --joins '" SOURCE_ROOT        \
  "/codegen/schedule/join.h' --composites '" SOURCE_ROOT "/ir/composite/product.c' --control-rules '" SOURCE_ROOT      \
  "/ir/control.h'"

static struct dirent **tables;
static int table_count;

static int is_table(const struct dirent *entry) {
  return strstr(entry->d_name, ".yaml") != NULL;
}

/* Runs a shell command; its output goes to `out`, its exit status is returned. */
static int run(const char *command, char *out) {
  FILE *pipe = popen(command, "r");
  ck_assert_ptr_nonnull(pipe);
  const size_t size = fread(out, 1, MAX_TEXT - 1, pipe);
  out[size] = '\0';
  const int status = pclose(pipe);
  ck_assert(WIFEXITED(status));
  return WEXITSTATUS(status);
}

static void run_opgen(const char *table, char *out) {
  char command[4096];
  const int size = snprintf(command, sizeof(command),
                            "cd '%s/tests/unit/ops/bad' && '%s' --rules '%s/ops/rules.yaml' --api "
                            "'%s/include/laze/tensor.h' " HEADERS " --check %s'%s' 2>&1",
                            SOURCE_ROOT, OPGEN, SOURCE_ROOT, SOURCE_ROOT,
                            strncmp(table, "derivative_", 11) == 0 ? "../derived.yaml --derivatives " : "", table);
  ck_assert_int_lt(size, (int)sizeof(command));
  ck_assert_msg(run(command, out) == 1, "%s: opgen did not end with status 1; it printed:\n%s", table, out);
}

/* Splits a table into what stands before its first "#! " line and the lines' text. */
static void read_expectation(const char *table, char *text, char *expected) {
  char path[4096], line[4096];
  snprintf(path, sizeof(path), "%s/tests/unit/ops/bad/%s", SOURCE_ROOT, table);
  FILE *file = fopen(path, "r");
  ck_assert_ptr_nonnull(file);
  *text = *expected = '\0';
  while (fgets(line, sizeof(line), file) != NULL) {
    if (strncmp(line, "#! ", 3) == 0)
      strncat(expected, line + 3, MAX_TEXT - strlen(expected) - 1);
    else
      strncat(text, line, MAX_TEXT - strlen(text) - 1);
  }
  fclose(file);
}

static void update(const char *table, const char *text, char *printed) {
  char path[4096];
  snprintf(path, sizeof(path), "%s/tests/unit/ops/bad/%s", SOURCE_ROOT, table);
  FILE *file = fopen(path, "w");
  ck_assert_ptr_nonnull(file);
  fputs(text, file);
  for (char *line = strtok(printed, "\n"); line != NULL; line = strtok(NULL, "\n")) fprintf(file, "#! %s\n", line);
  fclose(file);
}

START_TEST(prints_expected_errors) {
  static char printed[MAX_TEXT], text[MAX_TEXT], expected[MAX_TEXT];
  const char *table = tables[_i]->d_name;
  run_opgen(table, printed);
  read_expectation(table, text, expected);
  if (getenv("LAZE_UPDATE") != NULL)
    update(table, text, printed);
  else
    ck_assert_msg(strcmp(printed, expected) == 0, "%s: expected\n%sprinted\n%s", table, expected, printed);
}
END_TEST

int main(void) {
  table_count = scandir(SOURCE_ROOT "/tests/unit/ops/bad", &tables, is_table, alphasort);
  if (table_count < 20 || table_count > MAX_TABLES) {
    fprintf(stderr, "%d tables in tests/unit/ops/bad, expected 20 to %d\n", table_count, MAX_TABLES);
    return 1;
  }
  Suite *suite = suite_create("opgen errors");
  TCase *cases = tcase_create("tables");
  tcase_set_timeout(cases, 60);
  tcase_add_loop_test(cases, prints_expected_errors, 0, table_count);
  suite_add_tcase(suite, cases);
  return test_run_suite(suite);
}
