/* Schemas as PyTorch writes them. */
#include "ops/opgen/schema.h"
#include "tests/support/suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

static gen_report report;
static gen_schema schema;

static void parse(const char *text) {
  report.errors = 0;
  ck_assert_msg(schema_parse(text, (gen_place){"t.yaml", 1, NULL}, false, &report, &schema), "%s", text);
  ck_assert_int_eq(report.errors, 0);
}

START_TEST(reads_names) {
  parse("add.Tensor(Tensor self) -> Tensor");
  ck_assert_str_eq(schema.name, "add.Tensor");
  ck_assert_str_eq(schema.base, "add");
  ck_assert_str_eq(schema.overload, "Tensor");
  parse(" _softmax(Tensor self) -> Tensor ");
  ck_assert_str_eq(schema.name, "_softmax");
  ck_assert_str_eq(schema.overload, "");
  ck_assert_str_eq(schema.text, "_softmax(Tensor self) -> Tensor");
}
END_TEST

/* Positions count operands and attributes apart: they index different arrays of a call. */
START_TEST(counts_positions) {
  parse("f(Tensor a, int b, Tensor? c, Tensor[] d, *, Scalar e=1, bool g=False) -> Tensor");
  const int expected[] = {0, 0, 1, 2, 3, 1};
  ck_assert_int_eq(schema.count, 6);
  for (int i = 0; i < 6; i++) ck_assert_int_eq(schema.arguments[i].position, expected[i]);
  ck_assert(!schema.arguments[3].keyword_only);
  ck_assert(schema.arguments[4].keyword_only && schema.arguments[5].keyword_only);
  ck_assert(schema.arguments[2].optional && !schema.arguments[4].optional);
}
END_TEST

START_TEST(reads_types) {
  static const struct {
    const char *text;
    gen_kind kind;
    bool optional;
    int size;
  } types[] = {
      {"Tensor", KIND_TENSOR, false, 0},
      {"Tensor?", KIND_TENSOR, true, 0},
      {"Tensor(a!)", KIND_TENSOR, false, 0},
      {"Tensor(a -> *)", KIND_TENSOR, false, 0},
      {"Tensor[]", KIND_TENSOR_LIST, false, 0},
      {"Tensor(a)[]", KIND_TENSOR_LIST, false, 0},
      {"Scalar", KIND_SCALAR, false, 0},
      {"Scalar?", KIND_SCALAR, true, 0},
      {"int", KIND_INT, false, 0},
      {"int?", KIND_INT, true, 0},
      {"int[]", KIND_INT_LIST, false, 0},
      {"int[2]", KIND_INT_LIST, false, 2},
      {"int[1]?", KIND_INT_LIST, true, 1},
      {"SymInt", KIND_SIZE, false, 0},
      {"SymInt[]?", KIND_SIZE_LIST, true, 0},
      {"float", KIND_FLOAT, false, 0},
      {"bool?", KIND_BOOL, true, 0},
      {"ScalarType?", KIND_DTYPE, true, 0},
      {"str", KIND_STRING, false, 0},
  };
  for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
    char text[100];
    snprintf(text, sizeof(text), "f(%s x) -> Tensor", types[i].text);
    parse(text);
    ck_assert_int_eq(schema.arguments[0].kind, types[i].kind);
    ck_assert_int_eq(schema.arguments[0].optional, types[i].optional);
    ck_assert_int_eq(schema.arguments[0].list_size, types[i].size);
  }
}
END_TEST

START_TEST(reads_defaults) {
  parse("f(int a=-9223372036854775808, float b=1, float c=-1e-05, bool d=True, str e=\"a, b\", ScalarType f=i64, "
        "int[2] g=3, int[] h=[], SymInt[] i=[1, -2], Scalar j=0.5, Tensor? k=None) -> Tensor");
  const gen_argument *a = schema.arguments;
  ck_assert(a[0].value.form == LITERAL_INTEGER && a[0].value.integer == INT64_MIN);
  ck_assert(a[1].value.form == LITERAL_REAL && a[1].value.real == 1.0);
  ck_assert(a[2].value.real == -1e-05);
  ck_assert(a[3].value.form == LITERAL_BOOL && a[3].value.integer == 1);
  ck_assert_str_eq(a[4].value.text, "a, b");
  ck_assert_str_eq(a[5].value.text, "i64");
  ck_assert(a[6].value.form == LITERAL_LIST && a[6].value.count == 2 && a[6].value.items[1] == 3);
  ck_assert(a[7].value.form == LITERAL_LIST && a[7].value.count == 0);
  ck_assert(a[8].value.count == 2 && a[8].value.items[1] == -2);
  ck_assert(a[9].value.form == LITERAL_REAL && argument_may_be_absent(&a[9]));
  ck_assert(a[10].has_default && a[10].value.form == LITERAL_NONE);
}
END_TEST

START_TEST(reads_results) {
  parse("f(Tensor self) -> (Tensor values, Tensor indices)");
  ck_assert_int_eq(schema.result_count, 2);
  ck_assert_str_eq(schema.result_names[1], "indices");
  parse("f(Tensor self) -> Tensor[]");
  ck_assert_int_eq(schema.result_count, -1);
  parse("f(Tensor self) -> ()");
  ck_assert_int_eq(schema.result_count, 0);
  parse("f(Tensor(a) self) -> Tensor(a)");
  ck_assert_int_eq(schema.result_count, 1);
}
END_TEST

/* A view shares memory with one argument; a result that is written to is no view. */
START_TEST(reads_aliases) {
  parse("f(Tensor other, Tensor(b) self) -> Tensor(b)[]");
  ck_assert_int_eq(schema.aliased, 1);
  ck_assert(!schema.arguments[1].written);
  parse("f_(Tensor(a!) self, Tensor other) -> Tensor(a!)");
  ck_assert_int_eq(schema.aliased, -1);
  ck_assert(schema.arguments[0].written && !schema.arguments[1].written);
  parse("f(Tensor self) -> Tensor");
  ck_assert_int_eq(schema.aliased, -1);
}
END_TEST

/* Any text cut short must be refused and never read beyond its end (the sanitizers watch). */
START_TEST(refuses_every_prefix) {
  const char *whole = "f.x(Tensor(a!) self, int[2]? dim=[0, 1], *, str s='a') -> (Tensor a, Tensor b)";
  char text[200];
  for (size_t size = 0; whole[size] != '\0'; size++) {
    snprintf(text, sizeof(text), "%.*s", (int)size, whole);
    ck_assert_msg(!schema_parse(text, (gen_place){"t.yaml", 1, NULL}, false, &report, &schema), "accepted: %s", text);
  }
}
END_TEST

int main(void) {
  Suite *suite = suite_create("schema");
  TCase *cases = tcase_create("schema");
  tcase_add_test(cases, reads_names);
  tcase_add_test(cases, counts_positions);
  tcase_add_test(cases, reads_types);
  tcase_add_test(cases, reads_defaults);
  tcase_add_test(cases, reads_results);
  tcase_add_test(cases, reads_aliases);
  tcase_add_test(cases, refuses_every_prefix);
  suite_add_tcase(suite, cases);
  return test_run_suite(suite);
}
