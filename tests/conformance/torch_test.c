/* What PyTorch gives (torch.txt, written by record_torch.py), on every backend: every case agrees, but for those that
 * name a row of the table of differences in docs/semantics.md, each of which differs. So the table is complete, and
 * nothing in it is past. */
#include "ir/op.h"
#include "laze/schema.h"
#include "tests/conformance/conformance.h"
#include "tests/conformance/recorded.h"
#include "tests/support/random_call.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_ROWS = 128 };

typedef struct {
  char names[MAX_ROWS][64];
  int examples[MAX_ROWS];
  int count;
} row_list;

static recorded_file open_cases(void) {
  return recorded_open(LAZE_TEST_RECORDED "/torch.txt");
}

/* A call that no overload takes is refused for a reason that PyTorch did not have: the case is written wrongly. */
static bool is_understood(const laze_error *error) {
  return !strstr(error->message, "the schema is") && !strstr(error->message, "no overload");
}

static void count_example(row_list *rows, const char *row) {
  for (int i = 0; i < rows->count; i++) rows->examples[i] += !strcmp(rows->names[i], row);
}

/* Runs one case. False where it is not as it should be, which is printed. */
static bool check_case(laze_context *context, const laze_backend *backend, recorded_case *item) {
  test_arrays got;
  laze_error error = {0};
  char message[256];
  laze_status status = recorded_run(context, backend, item, &got, &error);
  bool differs = strcmp(item->row, "-") != 0;
  bool agrees = recorded_agrees(item, status, &got, message, sizeof message);
  bool right = is_understood(&error) && agrees != differs;
  if (!right)
    fprintf(stderr, "%s: %s %s %s\n", item->name,
            agrees ? "agrees, but is an example of" : "differs:", agrees ? item->row : message, error.message);
  test_arrays_release(&got);
  return right;
}

START_TEST(only_what_is_listed_differs_and_all_of_it_does) {
  laze_context *context = test_context(NULL);
  recorded_file from = open_cases();
  row_list rows = {.count = 0};
  int cases = 0, wrong = 0;
  bool interpreted = strcmp(laze_backend_at(_i)->name, "interp") == 0;
  while (recorded_next_line(&from)) {
    recorded_case item;
    if (!strncmp(from.line, "table ", 6)) continue;
    if (sscanf(from.line, "row %63s", rows.names[rows.count]) == 1) {
      ck_assert_int_lt(++rows.count, MAX_ROWS);
      continue;
    }
    recorded_read(context, &from, &item);
    count_example(&rows, item.row);
    if (interpreted || test_has_turn(cases)) wrong += !check_case(context, laze_backend_at(_i), &item);
    recorded_release(&item);
    cases++;
  }
  ck_assert_msg(wrong == 0, "%d of %d cases are not as the table of differences says", wrong, cases);
  for (int i = 0; i < rows.count; i++)
    ck_assert_msg(rows.examples[i] > 0, "row %s of the table has no example", rows.names[i]);
  ck_assert_int_gt(cases, 400);
  recorded_close(&from);
  laze_context_release(context);
}
END_TEST

START_TEST(the_page_has_the_table_that_was_recorded) {
  recorded_file from = open_cases(), page = recorded_open(LAZE_TEST_SEMANTICS);
  int lines = 0;
  bool more = true;
  while (more && !strstr(page.line ? page.line : "", "<!-- differences: made by")) more = recorded_next_line(&page);
  ck_assert_msg(more && recorded_next_line(&page) && *page.line == 0, "docs/semantics.md has no table of differences");
  while (recorded_next_line(&from)) {
    if (strncmp(from.line, "table ", 6)) continue;
    ck_assert(recorded_next_line(&page));
    ck_assert_msg(!strcmp(page.line, from.line + 6), "run ./dev differences: the page has\n%s\nand torch.txt\n%s",
                  page.line, from.line + 6);
    lines++;
  }
  ck_assert_int_gt(lines, 10);
  ck_assert(recorded_next_line(&page) && *page.line == 0);
  ck_assert(recorded_next_line(&page) && !strcmp(page.line, "<!-- differences: end -->"));
  recorded_close(&from);
  recorded_close(&page);
}
END_TEST

/* Operators that PyTorch has not, or that need what a case does not have. */
static bool is_peculiar(const char *name) {
  static const char names[] = " parameter call if while scan reduce opaque "
                              " constant iota size_tensor size_from "
                              " nonzero argwhere masked_select dynamic_slice dynamic_update "
                              " unique _unique2 unique_dim unique_consecutive "
                              " philox rand randn "
                              " rand_like randn_like randint randint_like randperm random "
                              " bernoulli uniform normal normal_functional log_normal exponential cauchy "
                              " geometric multinomial native_dropout dropout feature_dropout alpha_dropout "
                              " feature_alpha_dropout native_dropout_backward ";
  char word[72];
  snprintf(word, sizeof word, " %s ", name);
  return strstr(names, word) != NULL;
}

START_TEST(every_operator_is_compared) {
  recorded_file from = open_cases();
  bool *seen = calloc((size_t)laze_op_count, sizeof *seen);
  while (recorded_next_line(&from)) {
    char name[64];
    if (sscanf(from.line, "  %%r%*[0-9] = %63[a-z0-9_]", name) != 1 &&
        sscanf(from.line, "  %%%*[a-z]:%*d = %63[a-z0-9_]", name) != 1)
      continue;
    for (laze_op op = 1; op < laze_op_count; op++) seen[op] |= !strcmp(laze_op_get(op)->base, name);
  }
  for (laze_op op = 1; op < laze_op_count; op++) {
    const char *name = laze_op_get(op)->base;
    bool internal = *name == '_' && laze_operator_find(laze_op_get(op)->name) == NULL;
    bool exempt = internal ? !test_is_only_recorded(op) : is_peculiar(name);
    ck_assert_msg(seen[op] || exempt, "no case of record_torch.py has %s", name);
  }
  free(seen);
  recorded_close(&from);
}
END_TEST

int main(void) {
  TCase *tests = tcase_create("torch");
  conformance_add(tests, only_what_is_listed_differs_and_all_of_it_does);
  tcase_add_test(tests, the_page_has_the_table_that_was_recorded);
  tcase_add_test(tests, every_operator_is_compared);
  return conformance_main(tests);
}
