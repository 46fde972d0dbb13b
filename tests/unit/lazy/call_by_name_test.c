#include "laze/schema.h"
#include "support.h"

START_TEST(overloads_follow_the_arguments) {
  laze_context *context = new_context();
  laze_scope *scope = laze_scope_begin(context);
  laze_tensor *x = filled(context, 2, 3);
  laze_argument tensors[] = {pass(x), pass(x)}, number[] = {pass(x), pass_real(2)};
  ck_assert_float_eq(first(call("mul", tensors, 2), 2), 9);
  ck_assert_float_eq(first(call("mul", number, 2), 2), 6);
  laze_argument integer[] = {pass(x), {.kind = LAZE_PASS_INTEGER, .value.integer = 4}};
  ck_assert_float_eq(first(call("mul", integer, 2), 2), 12);
  laze_argument given_default[] = {pass(x), pass(x), {.kind = LAZE_PASS_DEFAULT}};
  ck_assert_float_eq(first(call("add.Tensor", given_default, 3), 2), 6);
  ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
  laze_context_release(context);
}
END_TEST

/* Names that an operator without the argument has, too: "sum" is sum and sum.dim_IntList. */
START_TEST(reductions_take_their_dims_by_base_name) {
  static const char *const names[] = {"sum", "mean", "var", "any", "all", "prod"};
  const int64_t zero[] = {0};
  const float elements[] = {1, 2, 3, 5, 8, 13};
  const double expected[][3] = {{6, 10, 16}, {3, 5, 8}, {8, 18, 50}, {1, 1, 1}, {1, 1, 1}, {5, 16, 39}};
  laze_context *context = new_context();
  laze_scope *scope = laze_scope_begin(context);
  laze_tensor *x = laze_tensor_from_data(context, LAZE_F32, LAZE_SHAPE(2, 3), elements, sizeof elements);
  laze_argument list[] = {pass(x), {.kind = LAZE_PASS_INTEGERS, .count = 1, .value.integers = zero}};
  laze_argument integer[] = {pass(x), {.kind = LAZE_PASS_INTEGER, .value.integer = 0}};
  for (int i = 0; i < 6; i++) {
    float by_list[3], by_integer[3];
    ck_assert_int_eq(laze_tensor_read(call(names[i], list, 2), LAZE_F32, by_list, sizeof by_list), LAZE_OK);
    ck_assert_int_eq(laze_tensor_read(call(names[i], integer, 2), LAZE_F32, by_integer, sizeof by_integer), LAZE_OK);
    for (int k = 0; k < 3; k++) {
      ck_assert_msg(by_list[k] == (float)expected[i][k], "%s: %g", names[i], by_list[k]);
      ck_assert_msg(by_integer[k] == (float)expected[i][k], "%s: %g", names[i], by_integer[k]);
    }
  }
  laze_tensor *largest[2];
  float values[3];
  ck_assert_int_eq(laze_call_by_name(context, "max", integer, 2, largest, 2), 2);
  ck_assert_int_eq(laze_tensor_read(largest[0], LAZE_F32, values, sizeof values), LAZE_OK);
  for (int k = 0; k < 3; k++) ck_assert(values[k] == elements[3 + k]);
  ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
  laze_context_release(context);
}
END_TEST

/* Nobody has the handle of what a number became: where no scope is open, it would stay for ever. */
START_TEST(numbers_are_given_back) {
  enum { CALLS = 10000 }; /* more than are kept to be recorded again */
  laze_context *context = new_context();
  int64_t before = 0, behind = 0;
  laze_tensor *x = laze_tensor_take(filled(context, 2, 3));
  laze_argument number[] = {pass(x), pass_real(2)};
  for (int i = 0; i < 2 * CALLS; i++) {
    laze_tensor_release(laze_tensor_take(call("maximum", number, 2)));
    if (i == CALLS) ck_assert_int_eq(laze_metric_read(context, "node_bytes", &before, NULL), LAZE_OK);
  }
  ck_assert_int_eq(laze_metric_read(context, "node_bytes", &behind, NULL), LAZE_OK);
  ck_assert_int_eq(behind, before);
  laze_tensor_release(x);
  laze_context_release(context);
}
END_TEST

/* As in text and expressions: of the dtype of the floating tensor beside it, if there is one. */
START_TEST(numbers_become_tensors) {
  laze_context *context = new_context();
  laze_scope *scope = laze_scope_begin(context);
  const double wide[] = {1.5, -2}, sum = 1.5 + 0.1;
  const int64_t whole[] = {7, -7};
  double read[2];
  laze_tensor *x = laze_tensor_from_data(context, LAZE_F64, LAZE_SHAPE(2), wide, sizeof wide);
  laze_tensor *n = laze_tensor_from_data(context, LAZE_I64, LAZE_SHAPE(2), whole, sizeof whole);
  laze_argument tenth[] = {pass(x), pass_real(0.1)};
  laze_argument two[] = {pass(n), {.kind = LAZE_PASS_INTEGER, .value.integer = 2}};
  ck_assert_int_eq(laze_tensor_dtype(call("maximum", tenth, 2)), LAZE_F64);
  ck_assert_int_eq(laze_tensor_read(call("maximum", tenth, 2), LAZE_F64, read, sizeof read), LAZE_OK);
  ck_assert(read[0] == 1.5 && read[1] == 0.1);
  ck_assert_int_eq(laze_tensor_read(call("add.Tensor", tenth, 2), LAZE_F64, read, sizeof read), LAZE_OK);
  ck_assert(read[0] == sum);
  ck_assert_int_eq(laze_tensor_dtype(call("maximum", two, 2)), LAZE_I64);
  ck_assert_int_eq(laze_tensor_read(call("maximum", two, 2), LAZE_F64, read, sizeof read), LAZE_OK);
  ck_assert(read[0] == 7 && read[1] == 2);
  ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
  laze_context_release(context);
}
END_TEST

START_TEST(wrong_calls_are_errors) {
  laze_context *context = new_context();
  laze_scope *scope = laze_scope_begin(context);
  laze_tensor *x = filled(context, 2, 3), *result = NULL;
  laze_argument one[] = {pass(x)};
  laze_argument wrong[] = {pass(x), {.kind = LAZE_PASS_STRING, .value.string = "x"}};
  laze_argument many[] = {pass(x), pass(x), pass(x)};
  ck_assert(strstr(laze_tensor_error(call("no_such_operator", one, 1)), "there is no operator 'no_such_operator'"));
  ck_assert(strstr(laze_tensor_error(call("mul.Tensor", one, 1)), "'other' is missing"));
  ck_assert(strstr(laze_tensor_error(call("mul.Tensor", wrong, 2)), "'other' is Tensor, given a string"));
  ck_assert(strstr(laze_tensor_error(call("neg", many, 3)), "more arguments than it takes (1)"));
  /* Each operator of the name, and what it lacks. */
  const char *refused = laze_tensor_error(call("mul", wrong, 2));
  ck_assert_ptr_nonnull(strstr(refused, "mul: no overload takes these arguments:"));
  ck_assert_ptr_nonnull(
      strstr(refused, "mul.Tensor(Tensor self, Tensor other) -> Tensor: argument 'other' is Tensor, "));
  ck_assert_ptr_nonnull(
      strstr(refused, "mul.Scalar(Tensor self, Scalar other) -> Tensor: argument 'other' is Scalar, "));
  laze_argument crowd[70] = {pass(x)};
  ck_assert(strstr(laze_tensor_error(call("cat", crowd, 70)), "70 arguments were passed"));
  ck_assert(strstr(laze_tensor_error(call(NULL, one, 1)), "NULL"));
  laze_argument no_list[] = {{.kind = LAZE_PASS_TENSORS, .count = 2}, {.kind = LAZE_PASS_INTEGER}};
  ck_assert_int_eq(laze_tensor_rank(call("cat", no_list, 2)), -1);
  laze_argument no_items[] = {pass(x), {.kind = LAZE_PASS_INTEGERS, .count = 2}};
  ck_assert(strstr(laze_tensor_error(call("sum.dim_IntList", no_items, 2)), "'dim': 2 integers at"));
  laze_tensor *histogram[2];
  laze_argument no_range[] = {pass(x), {.name = "range", .kind = LAZE_PASS_INTEGERS, .count = -1}};
  ck_assert_int_eq(laze_call_by_name(context, "histogram.bin_ct", no_range, 2, histogram, 2), 1);
  ck_assert_msg(strstr(laze_tensor_error(histogram[0]), "'range': -1 integers at") != NULL, "%s",
                laze_tensor_error(histogram[0]));
  laze_argument no_number[] = {pass(x), {.kind = LAZE_PASS_SCALAR, .value.scalar = {.dtype = 77}}};
  ck_assert(strstr(laze_tensor_error(call("mul.Scalar", no_number, 2)), "dtype 77"));
  ck_assert_int_eq(laze_call_by_name(context, "neg", one, 1, &result, 0), 0);
  ck_assert_ptr_null(result);
  ck_assert_int_eq(laze_call_by_name(context, "neg", NULL, 0, &result, 1), 1);
  ck_assert_int_eq(laze_tensor_rank(result), -1);
  ck_assert_int_ne(laze_scope_end(scope), LAZE_OK);
  laze_context_release(context);
}
END_TEST

/* One integer stands for a list where the schema gives the list's length, as in int[1] dim, and for no other list. */
START_TEST(an_integer_stands_for_a_list_of_known_length) {
  laze_context *context = new_context();
  laze_scope *scope = laze_scope_begin(context);
  laze_tensor *x = filled(context, 3, 2);
  laze_argument sum[] = {pass(x), {.kind = LAZE_PASS_INTEGER, .value.integer = 0}};
  laze_tensor *total = call("sum.dim_IntList", sum, 2);
  ck_assert_int_eq(laze_tensor_rank(total), 0);
  ck_assert_float_eq(first(total, 1), 6);
  ck_assert(strstr(laze_tensor_error(call("permute", sum, 2)), "'dims'"));
  laze_argument real[] = {pass(x), pass_real(0)};
  ck_assert(strstr(laze_tensor_error(call("sum.dim_IntList", real, 2)), "'dim'"));
  ck_assert_int_ne(laze_scope_end(scope), LAZE_OK);
  laze_context_release(context);
}
END_TEST

/* What the schema's kinds take: numbers for a float, whole numbers for a bool or an int, text for a string. */
START_TEST(arguments_have_the_kind_of_the_schema) {
  laze_context *context = new_context();
  laze_scope *scope = laze_scope_begin(context);
  laze_tensor *x = filled(context, 3, 4);
  laze_argument mode[] = {pass(filled(context, 3, 7)), pass(x), {.kind = LAZE_PASS_STRING, .value.string = "floor"}};
  ck_assert_float_eq(first(call("div.Tensor_mode", mode, 3), 3), 1);
  mode[2] = (laze_argument){.kind = LAZE_PASS_DEFAULT};
  ck_assert_float_eq(first(call("div.Tensor_mode", mode, 3), 3), 1.75f);
  mode[2] = (laze_argument){.kind = LAZE_PASS_STRING, .value.string = NULL};
  ck_assert(strstr(laze_tensor_error(call("div.Tensor_mode", mode, 3)), "'rounding_mode'"));
  laze_argument keep[] = {
      pass(x), {.kind = LAZE_PASS_INTEGER, .value.integer = 0}, {.kind = LAZE_PASS_INTEGER, .value.integer = 5}};
  ck_assert_int_eq(laze_tensor_rank(call("sum.dim_IntList", keep, 3)), 1); /* any number but 0 is true */
  laze_argument lists[] = {{.kind = LAZE_PASS_TENSORS, .count = 2, .value.tensors = (laze_tensor *[]){x, x}},
                           {.kind = LAZE_PASS_INTEGER, .value.integer = 0}};
  ck_assert_int_eq(laze_tensor_size(call("cat", lists, 2), 0), 6);
  lists[0].count = 0;
  ck_assert(strstr(laze_tensor_error(call("cat", lists, 2)), "cat"));
  ck_assert_int_ne(laze_scope_end(scope), LAZE_OK);
  laze_context_release(context);
}
END_TEST

/* A list may have tensors that are absent, numbers may be whole or not, and an empty list is of any kind. */
START_TEST(lists_have_the_kind_of_the_schema) {
  laze_context *context = new_context();
  laze_scope *scope = laze_scope_begin(context);
  static const double ends[] = {0, 8};
  static const int64_t whole[] = {0, 8}, last = -1;
  static const char *const words[] = {"a", "b"}, *const missing[] = {"a", NULL};
  laze_tensor *x = filled(context, 3, 4), *results[2];
  laze_tensor *index = laze_tensor_from_data(context, LAZE_I64, LAZE_SHAPE_SCALAR, &last, sizeof last);
  laze_argument indices[] = {pass(x), {.kind = LAZE_PASS_TENSORS, .count = 1, .value.tensors = &index}};
  ck_assert_int_eq(laze_tensor_rank(call("index", indices, 2)), laze_tensor_rank(x) - 1);
  indices[1].value.tensors = (laze_tensor *[]){NULL};
  ck_assert(strstr(laze_tensor_error(call("index", indices, 2)), "no tensor among the indices"));
  ck_assert(
      strstr(laze_tensor_error(call("cat", indices + 1, 1)), "'tensors' is Tensor[], given a list of tensors and"));
  laze_argument range[] = {pass(x), {.name = "range", .kind = LAZE_PASS_REALS, .count = 2, .value.reals = ends}};
  ck_assert_int_eq(laze_call_by_name(context, "histogram", range, 2, results, 2), 2);
  ck_assert_int_eq(laze_tensor_size(results[0], 0), 100);
  range[1] = (laze_argument){.name = "range", .kind = LAZE_PASS_INTEGERS, .count = 2, .value.integers = whole};
  ck_assert_int_eq(laze_call_by_name(context, "histogram", range, 2, results, 2), 2);
  range[1].count = 0;
  ck_assert(strstr(laze_tensor_error(call("histogram", range, 2)), "range has 0 numbers"));
  range[1] = (laze_argument){.name = "range", .kind = LAZE_PASS_STRINGS, .count = 2, .value.strings = words};
  ck_assert(strstr(laze_tensor_error(call("histogram.bin_ct", range, 2)), "float[]?, given a list of strings"));
  range[1].value.strings = missing;
  ck_assert(strstr(laze_tensor_error(call("histogram.bin_ct", range, 2)), "given what no argument takes"));
  range[1] = (laze_argument){.name = "range", .kind = LAZE_PASS_REALS, .count = 2};
  ck_assert(strstr(laze_tensor_error(call("histogram.bin_ct", range, 2)), "given what no argument takes"));
  ck_assert_int_ne(laze_scope_end(scope), LAZE_OK);
  laze_context_release(context);
}
END_TEST

/* A number beside tensors without dimensions is no more than one: PyTorch keeps int32 there, too. */
START_TEST(numbers_leave_dtypes_alone) {
  laze_context *context = new_context();
  laze_scope *scope = laze_scope_begin(context);
  for (int32_t dtype = LAZE_I32; dtype <= LAZE_I64; dtype++) {
    laze_argument arguments[] = {pass(laze_tensor_from_scalar(context, dtype, laze_scalar_integer(3))),
                                 {.kind = LAZE_PASS_SCALAR, .value.scalar = laze_scalar_integer(-9)}};
    ck_assert_int_eq(laze_tensor_dtype(call("maximum", arguments, 2)), dtype);
    arguments[1].value.scalar = laze_scalar_real(0.5);
    ck_assert_int_eq(laze_tensor_dtype(call("maximum", arguments, 2)), LAZE_F32);
  }
  ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
  laze_context_release(context);
}
END_TEST

/* Results that have no room are an error, not a write behind the caller's array. */
/* As in PyTorch: atan2(2, x) and maximum(2, 3) are slips. A Scalar says where a number may come first, and seeds stand
 * behind the "*". */
START_TEST(numbers_stand_for_tensors_behind_an_operand) {
  laze_context *context = new_context();
  laze_scope *scope = laze_scope_begin(context);
  laze_tensor *x = filled(context, 2, 3);
  laze_argument front[] = {pass_real(6), pass(x)}, numbers[] = {pass_real(6), pass_real(2)},
                behind[] = {pass(x), pass_real(1)};
  laze_argument named[] = {{.name = "other", .kind = LAZE_PASS_REAL, .value.real = 1},
                           {.name = "self", .kind = LAZE_PASS_TENSOR, .value.tensor = x}};
  static const char *const taking[] = {"add", "sub", "mul", "div", "floor_divide", "remainder", "pow"};
  static const float expected[][2] = {{9, 8}, {3, 4}, {18, 12}, {2, 3}, {2, 3}, {0, 0}, {216, 36}};
  static const char *const refusing[] = {"atan2", "maximum", "eq", "rsub", "logical_and"};
  for (int i = 0; i < 7; i++) ck_assert_float_eq(first(call(taking[i], front, 2), 2), expected[i][0]);
  for (int i = 0; i < 5; i++) ck_assert_float_eq(first(call(taking[i], numbers, 2), 1), expected[i][1]);
  for (int i = 5; i < 7; i++) /* as in PyTorch, where arithmetic alone takes two numbers */
    ck_assert_ptr_nonnull(strstr(laze_tensor_error(call(taking[i], numbers, 2)), "no argument is a tensor"));
  for (int i = 0; i < 5; i++) {
    const char *message = laze_tensor_error(call(refusing[i], front, 2));
    ck_assert_msg(strstr(message, refusing[i]) && strstr(message, "'self' is Tensor, given a number"), "%s", message);
    ck_assert_ptr_nonnull(strstr(laze_tensor_error(call(refusing[i], numbers, 2)), "only behind another operand"));
    ck_assert_str_eq(laze_tensor_error(call(refusing[i], behind, 2)), "");
    ck_assert_str_eq(laze_tensor_error(call(refusing[i], named, 2)), "");
  }
  const int64_t two[] = {2};
  laze_argument random[] = {{.kind = LAZE_PASS_INTEGERS, .count = 1, .value.integers = two},
                            {.name = "seed", .kind = LAZE_PASS_INTEGER, .value.integer = 3},
                            {.name = "offset", .kind = LAZE_PASS_INTEGER, .value.integer = 0}};
  ck_assert_str_eq(laze_tensor_error(call("rand", random, 3)), "");
  ck_assert_int_ne(laze_scope_end(scope), LAZE_OK);
  laze_context_release(context);
}
END_TEST

START_TEST(results_need_room) {
  laze_context *context = new_context();
  laze_scope *scope = laze_scope_begin(context);
  laze_tensor *x = filled(context, 3, 4), *results[3] = {x, x, x};
  laze_argument arguments[] = {pass(x), {.kind = LAZE_PASS_INTEGER, .value.integer = 0}};
  ck_assert_int_eq(laze_call_by_name(context, "max.dim", arguments, 2, results, 2), 2);
  ck_assert_int_eq(laze_tensor_dtype(results[1]), LAZE_I64);
  ck_assert_ptr_eq(results[2], x);
  results[1] = x;
  ck_assert_int_eq(laze_call_by_name(context, "max.dim", arguments, 2, results, 1), 1);
  ck_assert_ptr_eq(results[1], x);
  ck_assert_ptr_nonnull(strstr(laze_tensor_error(results[0]), "gives 2 results, but there is room for 1"));
  ck_assert_int_ne(laze_scope_end(scope), LAZE_OK);
  laze_context_release(context);
}
END_TEST

/* By its number an operator is called as by its name, checks and messages included; it is one of a name's overloads,
 * which arguments choose no more. */
START_TEST(numbers_call_operators) {
  laze_context *context = new_context();
  laze_scope *scope = laze_scope_begin(context);
  laze_tensor *x = laze_tensor_from_data(context, LAZE_F32, LAZE_SHAPE(2), (float[]){1, 2}, 8), *y;
  const laze_argument pair[] = {{.kind = LAZE_PASS_TENSOR, .value.tensor = x},
                                {.kind = LAZE_PASS_TENSOR, .value.tensor = x}},
                      named[] = {{.kind = LAZE_PASS_TENSOR, .value.tensor = x},
                                 {.name = "dim", .kind = LAZE_PASS_INTEGER, .value.integer = 0}};
  const int32_t add = laze_operator_number("add.Tensor"), softmax = laze_operator_number("softmax.int");
  float sums[2], shares[2];
  ck_assert(add >= 0 && laze_operator_at(add) == laze_operator_find("add.Tensor"));
  ck_assert_int_eq(laze_call_by_number(context, add, pair, 2, &y, 1), 1);
  ck_assert_int_eq(laze_tensor_read(y, LAZE_F32, sums, sizeof sums), LAZE_OK);
  ck_assert(sums[0] == 2 && sums[1] == 4);
  ck_assert_int_eq(laze_call_by_number_at(context, softmax, named, 2, &y, 1, "here.c", 7), 1);
  ck_assert_int_eq(laze_tensor_read(y, LAZE_F32, shares, sizeof shares), LAZE_OK);
  ck_assert(shares[0] < shares[1]);
  ck_assert_int_eq(laze_call_by_number_at(context, add, named, 2, &y, 1, "here.c", 7), 1);
  ck_assert_ptr_nonnull(strstr(laze_tensor_error(y), "here.c:7: add.Tensor: "));
  ck_assert_int_eq(laze_tensor_status(y), LAZE_INVALID_ARGUMENT);
  ck_assert_int_eq(laze_operator_number("add"), -1); /* no whole name */
  ck_assert_int_eq(laze_operator_number(NULL), -1);
  const int32_t none[] = {-1, laze_operator_count(), INT32_MAX, INT32_MIN};
  for (int i = 0; i < 4; i++) {
    ck_assert_int_eq(laze_call_by_number(context, none[i], pair, 2, &y, 1), 1);
    ck_assert_ptr_nonnull(strstr(laze_tensor_error(y), "is the number of no operator"));
    ck_assert_int_eq(laze_tensor_status(y), LAZE_NOT_FOUND);
  }
  ck_assert_int_eq(laze_call_by_number(context, add, pair, 2, NULL, 1), 0);
  ck_assert_int_eq(laze_call_by_number(context, add, pair, 2, &y, 0), 0);
  ck_assert_int_eq(laze_scope_end(scope), LAZE_OK); /* every error was read */
  laze_context_release(context);
}
END_TEST

int main(void) {
  const TTest *const tests[] = {overloads_follow_the_arguments,
                                reductions_take_their_dims_by_base_name,
                                numbers_become_tensors,
                                numbers_are_given_back,
                                wrong_calls_are_errors,
                                an_integer_stands_for_a_list_of_known_length,
                                arguments_have_the_kind_of_the_schema,
                                lists_have_the_kind_of_the_schema,
                                numbers_leave_dtypes_alone,
                                numbers_stand_for_tensors_behind_an_operand,
                                results_need_room,
                                numbers_call_operators};
  return run_tests("call_by_name", tests, sizeof tests / sizeof *tests);
}
