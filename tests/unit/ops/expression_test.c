/* The expression language: how tightly operators bind, and where a fault is. */
#include "ops/opgen/expression.h"
#include "tests/support/suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static gen_report report;
static const gen_place start = {"t.yaml", 10, "op"};

/* Writes a tree with every operation in brackets. */
static void write(const gen_expression *expression, char *out, size_t size) {
  const size_t used = strlen(out);
  if (expression->form == FORM_CALL || expression->form == FORM_LIST) {
    snprintf(out + used, size - used, "%s[", expression->form == FORM_CALL ? expression->text : "");
    for (int i = 0; i < expression->count; i++) {
      if (i > 0) strncat(out, ",", size - strlen(out) - 1);
      if (expression->keywords[i] != NULL)
        snprintf(out + strlen(out), size - strlen(out), "%s=", expression->keywords[i]);
      write(expression->items[i], out, size);
    }
    strncat(out, "]", size - strlen(out) - 1);
  } else if (expression->count > 0) {
    snprintf(out + used, size - used, "(%s", expression->text);
    for (int i = 0; i < expression->count; i++) {
      strncat(out, " ", size - strlen(out) - 1);
      write(expression->items[i], out, size);
    }
    strncat(out, ")", size - strlen(out) - 1);
  } else {
    snprintf(out + used, size - used, "%s", expression->text);
  }
}

static void assert_tree(const char *text, const char *expected) {
  char out[1000] = "";
  const gen_expression *expression = expression_parse(text, start, &report);
  ck_assert_msg(expression != NULL, "refused: %s", text);
  write(expression, out, sizeof(out));
  ck_assert_str_eq(out, expected);
}

START_TEST(binds_as_c_does) {
  assert_tree("a + b * c - d", "(- (+ a (* b c)) d)");
  assert_tree("a / b / c", "(/ (/ a b) c)");
  assert_tree("-a * b", "(* (- a) b)");
  assert_tree("a < b + 1 && !c || d == e", "(|| (&& (< a (+ b 1)) (! c)) (== d e))");
  assert_tree("a ? b : c ? d : e", "(? a b (? c d e))");
  assert_tree("(a + b) * c", "(* (+ a b) c)");
}
END_TEST

START_TEST(reads_calls_and_lists) {
  assert_tree("f()", "f[]");
  assert_tree("add.Tensor(a, other=[b, -1], dtype=f32)", "add.Tensor[a,other=[b,-1],dtype=f32]");
  assert_tree("f(\n  a,\n  b)", "f[a,b]");
  assert_tree("[]", "[]");
}
END_TEST

/* A sign before a number is part of it: defaults and lists want literals. */
START_TEST(reads_numbers) {
  const gen_expression *number = expression_parse("-9223372036854775807", start, &report);
  ck_assert(number->form == FORM_INTEGER && number->integer == -INT64_MAX);
  number = expression_parse("-1.5e-3", start, &report);
  ck_assert(number->form == FORM_REAL && number->real == -1.5e-3);
  number = expression_parse("1.", start, &report); /* as C and YAML write it; an integer would make another dtype */
  ck_assert(number->form == FORM_REAL && number->real == 1);
  number = expression_parse("2e0", start, &report);
  ck_assert(number->form == FORM_REAL && number->real == 2);
  ck_assert_int_eq(expression_parse("f64", start, &report)->form, FORM_DTYPE);
  ck_assert_int_eq(expression_parse("true", start, &report)->form, FORM_BOOL);
  ck_assert_int_eq(expression_parse("none", start, &report)->form, FORM_NONE);
  ck_assert_str_eq(expression_parse("'a b'", start, &report)->text, "a b");
}
END_TEST

START_TEST(reads_programs) {
  const gen_program *program = program_parse("\na = f(x)\n\nb, c = g(a)\nreturn b, c\n", start, &report);
  ck_assert_ptr_nonnull(program);
  ck_assert_int_eq(program->count, 2);
  ck_assert_int_eq(program->statements[1].count, 2);
  ck_assert_str_eq(program->statements[1].variables[1]->name, "c");
  ck_assert_int_eq(program->result_count, 2);
  /* Lines count from the place of the text, for messages. */
  ck_assert_int_eq(program->statements[0].value->line, 11);
  ck_assert_int_eq(program->results[0]->line, 14);
  ck_assert_int_eq(program_parse("f(x)", start, &report)->result_count, 1);
}
END_TEST

START_TEST(refuses_what_is_no_expression) {
  static const char *const texts[] = {"",      "a +",   "f(a",   "f(a,)", "[a",    "a ? b", "a b",    "f(x=1, 2)",
                                      "1.2.3", "'open", "a @ b", ")",     "a = b", "1e999", "a ? : b"};
  for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
    ck_assert_msg(expression_parse(texts[i], start, &report) == NULL, "accepted: %s", texts[i]);
  ck_assert_ptr_null(program_parse("a = f(x)\nf(a)", start, &report));
  ck_assert_ptr_null(program_parse("a = f(x)", start, &report));
  ck_assert_ptr_null(program_parse("return a\nb = c", start, &report));
  ck_assert_int_eq(report.errors, (int)(sizeof(texts) / sizeof(*texts)) + 3);
}
END_TEST

/* Nesting is bounded, so that no text can exhaust the stack. */
START_TEST(bounds_nesting) {
  static char text[200001];
  memset(text, '(', 100000);
  memset(text + 100000, ')', 100000);
  ck_assert_ptr_null(expression_parse(text, start, &report));
  memset(text, '-', 200000);
  ck_assert_ptr_null(expression_parse(text, start, &report));
  /* 64 deep, the whole being the first, and not one more. */
  for (int count = 63; count <= 64; count++) {
    const char *const marks[] = {"(%.*sa%.*s)", "-%.*sa"};
    static const char opening[] = "((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((",
                      closing[] = "))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))",
                      signs[] = "----------------------------------------------------------------";
    snprintf(text, sizeof text, marks[0], count - 1, opening, count - 1, closing);
    ck_assert_int_eq(expression_parse(text, start, &report) != NULL, count == 63);
    snprintf(text, sizeof text, marks[1], count - 1, signs);
    ck_assert_int_eq(expression_parse(text, start, &report) != NULL, count == 63);
  }
}
END_TEST

static void set_up(void) {
  report.errors = 0;
}

int main(void) {
  Suite *suite = suite_create("expression");
  TCase *cases = tcase_create("expression");
  tcase_add_checked_fixture(cases, set_up, NULL);
  tcase_add_test(cases, binds_as_c_does);
  tcase_add_test(cases, reads_calls_and_lists);
  tcase_add_test(cases, reads_numbers);
  tcase_add_test(cases, reads_programs);
  tcase_add_test(cases, refuses_what_is_no_expression);
  tcase_add_test(cases, bounds_nesting);
  suite_add_tcase(suite, cases);
  return test_run_suite(suite);
}
