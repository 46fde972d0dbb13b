/* The tables as front ends see them (laze/schema.h): they make functions, keywords and documentation of nothing else.
 */
#include "laze/schema.h"

#include "tests/unit/ir/ir_test.h"

#include <stdio.h>

static const laze_operator_argument *argument_of(const char *name, int32_t index) {
  const laze_operator *op = laze_operator_find(name);
  ck_assert_msg(op != NULL, "%s", name);
  const laze_operator_argument *argument = laze_operator_argument_at(op, index);
  ck_assert_msg(argument != NULL, "%s: argument %d", name, index);
  return argument;
}

/* A front end takes all of them, each once. */
START_TEST(every_operator_that_can_be_called_is_there) {
  int32_t shown = 0;
  for (laze_op op = 1; op < laze_op_count; op++) {
    const laze_op_info *info = laze_op_get(op);
    bool called =
        info->op_class != LAZE_CLASS_CONTROL && info->op_class != LAZE_CLASS_STRUCTURE && op != LAZE_OP_CONSTANT;
    const laze_operator *found = laze_operator_find(info->name);
    if (info->base[0] == '_') /* internal, or PyTorch's: that the table says */
      ck_assert_msg(found == NULL || called, "%s", info->name);
    else
      ck_assert_msg((found != NULL) == called, "%s", info->name);
    if (found == NULL) continue;
    ck_assert_ptr_eq(laze_operator_at(shown++), found);
    ck_assert_str_eq(laze_operator_name(found), info->name);
    ck_assert_str_eq(laze_operator_base_name(found), info->base);
    ck_assert_str_eq(laze_operator_schema(found), info->schema);
    ck_assert_msg(laze_operator_doc(found)[0] != 0, "%s has no doc", info->name);
    ck_assert_int_eq(strncmp(laze_operator_function(found), "laze_", 5), 0);
  }
  ck_assert_int_eq(laze_operator_count(), shown);
  ck_assert_ptr_null(laze_operator_at(shown));
  ck_assert_ptr_null(laze_operator_at(-1));
}
END_TEST

/* A base name is no operator: which one it is depends on what is passed. */
START_TEST(operators_are_found_by_their_whole_name) {
  ck_assert_str_eq(laze_operator_function(laze_operator_find("add.Tensor")), "laze_add");
  static const char *const none[] = {"add", "sub", "", "add.", "~", "_window", "while", "parameter"};
  for (size_t i = 0; i < sizeof none / sizeof *none; i++) ck_assert_msg(!laze_operator_find(none[i]), "%s", none[i]);
  ck_assert_ptr_null(laze_operator_find(NULL));
}
END_TEST

/* Of every schema, each argument's type and default stand in its text, in order, so that help can show either. */
START_TEST(arguments_say_what_the_schema_says) {
  char text[256];
  for (int32_t i = 0; i < laze_operator_count(); i++) {
    const laze_operator *op = laze_operator_at(i);
    const char *rest = laze_operator_schema(op);
    for (int32_t k = 0; k < laze_operator_argument_count(op); k++) {
      const laze_operator_argument *argument = laze_operator_argument_at(op, k);
      const char *value = argument->default_value;
      snprintf(text, sizeof text, " %s%s%s", argument->name, value ? "=" : "", value ? value : "");
      rest = strstr(rest, text);
      ck_assert_msg(rest != NULL, "%s lacks '%s'", laze_operator_schema(op), text);
      ck_assert_int_eq(argument->optional, argument->type[strlen(argument->type) - 1] == '?');
    }
    ck_assert_ptr_null(laze_operator_argument_at(op, laze_operator_argument_count(op)));
    ck_assert_ptr_null(laze_operator_argument_at(op, -1));
  }
}
END_TEST

START_TEST(arguments_have_types_and_defaults) {
  const laze_operator_argument *dim = argument_of("sum.dim_IntList", 1);
  ck_assert_str_eq(dim->name, "dim");
  ck_assert_str_eq(dim->type, "int[1]?");
  ck_assert_str_eq(dim->default_value, "None");
  ck_assert_int_eq(dim->takes, LAZE_TAKES_INTEGERS);
  ck_assert(dim->list_size == 1 && dim->optional && !dim->keyword_only);
  const laze_operator_argument *dtype = argument_of("sum.dim_IntList", 3);
  ck_assert(dtype->takes == LAZE_TAKES_DTYPE && dtype->keyword_only && dtype->optional);
  const laze_operator_argument *alpha = argument_of("add.Tensor", 2);
  ck_assert(alpha->takes == LAZE_TAKES_SCALAR && alpha->keyword_only && !alpha->optional);
  ck_assert_str_eq(alpha->default_value, "1");
  ck_assert_ptr_null(argument_of("add.Tensor", 1)->default_value);
  ck_assert_int_eq(argument_of("cat", 0)->takes, LAZE_TAKES_TENSORS);
  ck_assert_int_eq(argument_of("cat", 1)->takes, LAZE_TAKES_INTEGER);
  ck_assert_int_eq(argument_of("var", 1)->takes, LAZE_TAKES_BOOL);
  ck_assert_int_eq(argument_of("div.Tensor_mode", 2)->takes, LAZE_TAKES_STRING);
  ck_assert_int_eq(argument_of("arange", 0)->takes, LAZE_TAKES_SCALAR); /* an attribute, which callers cannot tell */
  ck_assert_str_eq(argument_of("arange", 0)->type, "Scalar");
}
END_TEST

START_TEST(results_have_the_names_of_the_schema) {
  const laze_operator *max = laze_operator_find("max.dim"), *add = laze_operator_find("add.Tensor");
  ck_assert_int_eq(laze_operator_result_count(max), 2);
  ck_assert_str_eq(laze_operator_result_name(max, 0), "values");
  ck_assert_str_eq(laze_operator_result_name(max, 1), "indices");
  ck_assert_ptr_null(laze_operator_result_name(max, 2));
  ck_assert_ptr_null(laze_operator_result_name(max, -1));
  ck_assert_str_eq(laze_operator_result_name(add, 0), "");
}
END_TEST

/* A method is called on `self`, wherever that stands. */
START_TEST(methods_have_a_self) {
  static const char *const functions[] = {"cat", "arange", "linear", "pow.Scalar"};
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
    ck_assert_msg(!laze_operator_is_method(laze_operator_find(functions[i])), "%s", functions[i]);
  static const char *const methods[] = {"add.Tensor", "sum.dim_IntList", "where.self", "reshape"};
  for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
    ck_assert_msg(laze_operator_is_method(laze_operator_find(methods[i])), "%s", methods[i]);
}
END_TEST

static void add_tests(TCase *tests) {
  tcase_add_test(tests, every_operator_that_can_be_called_is_there);
  tcase_add_test(tests, operators_are_found_by_their_whole_name);
  tcase_add_test(tests, arguments_say_what_the_schema_says);
  tcase_add_test(tests, arguments_have_types_and_defaults);
  tcase_add_test(tests, results_have_the_names_of_the_schema);
  tcase_add_test(tests, methods_have_a_self);
}

int main(void) {
  return run_suite("schema", add_tests);
}
