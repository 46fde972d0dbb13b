/* Arguments by name, and calls of every operator there is with what no operator takes: front ends pass on whatever
 * their users write. */
#include "laze/schema.h"
#include "support.h"

#include <stdbool.h>

static laze_context *context;
static laze_scope *scope;

static void begin(void) {
  context = new_context();
  scope = laze_scope_begin(context);
}

/* `expected`: of the scope. */
static void end(bool fails) {
  ck_assert_int_eq(laze_scope_end(scope) != LAZE_OK, fails);
  laze_context_release(context);
}

static laze_tensor *matrix(void) {
  const float elements[] = {1, -2, 3, 5.5f, 8, 13};
  return laze_tensor_from_data(context, LAZE_F32, LAZE_SHAPE(2, 3), elements, sizeof elements);
}

/* In the test's own context, also where no argument is a tensor. */
static laze_tensor *call_here(const char *name, const laze_argument *arguments, int32_t count) {
  laze_tensor *results[4];
  ck_assert_int_ge(laze_call_by_name(context, name, arguments, count, results, 4), 1);
  return results[0];
}

static laze_argument named(const char *name, laze_argument argument) {
  argument.name = name;
  return argument;
}

static laze_argument whole(int32_t kind, int64_t value) {
  return (laze_argument){.kind = kind, .value.integer = value};
}

static laze_argument text(const char *value) {
  return (laze_argument){.kind = LAZE_PASS_STRING, .value.string = value};
}

static laze_argument number(laze_scalar value) {
  return (laze_argument){.kind = LAZE_PASS_SCALAR, .value.scalar = value};
}

/* Both tensors have the same type and the same elements. */
static void assert_same(const char *op, laze_tensor *a, laze_tensor *b) {
  double values[2][16];
  int64_t count = laze_tensor_elements(a);
  ck_assert_msg(count > 0 && count <= 16, "%s: %s", op, laze_tensor_error(a));
  ck_assert_msg(laze_tensor_elements(b) == count, "%s: %s", op, laze_tensor_error(b));
  ck_assert_int_eq(laze_tensor_dtype(a), laze_tensor_dtype(b));
  ck_assert_int_eq(laze_tensor_rank(a), laze_tensor_rank(b));
  size_t size = (size_t)count * sizeof(double);
  ck_assert_int_eq(laze_tensor_read(a, LAZE_F64, values[0], size), LAZE_OK);
  ck_assert_int_eq(laze_tensor_read(b, LAZE_F64, values[1], size), LAZE_OK);
  ck_assert_msg(memcmp(values[0], values[1], size) == 0, "%s", op);
}

/* Every kind that can be passed, by position and by name in the opposite order. */
START_TEST(names_stand_for_positions) {
  begin();
  laze_tensor *x = matrix(), *y = filled(context, 3, 2), *both[] = {x, x};
  const int64_t one[] = {1};
  laze_argument tensors = {.kind = LAZE_PASS_TENSORS, .count = 2, .value.tensors = both};
  laze_argument integers = {.kind = LAZE_PASS_INTEGERS, .count = 1, .value.integers = one};
  const struct {
    const char *op;
    int32_t count;
    laze_argument arguments[4];
  } calls[] = {
      {"sub.Tensor", 3, {named("self", pass(x)), named("other", pass(y)), named("alpha", pass_real(2))}},
      {"cat", 2, {named("tensors", tensors), named("dim", whole(LAZE_PASS_INTEGER, 1))}},
      {"sum",
       4,
       {named("self", pass(x)), named("dim", integers), named("keepdim", whole(LAZE_PASS_BOOL, 1)),
        named("dtype", whole(LAZE_PASS_DTYPE, LAZE_F64))}},
      {"div", 3, {named("self", pass(x)), named("other", pass(y)), named("rounding_mode", text("floor"))}},
      {"argmax",
       3,
       {named("self", pass(x)), named("dim", whole(LAZE_PASS_NONE, 0)), named("keepdim", whole(LAZE_PASS_BOOL, 0))}},
      {"arange",
       4,
       {named("start", number(laze_scalar_integer(1))), named("end", number(laze_scalar_real(2.5))),
        named("step", number(laze_scalar_real(0.5))), named("dtype", whole(LAZE_PASS_DTYPE, LAZE_F32))}},
      {"narrow",
       4,
       {named("self", pass(x)), named("dim", whole(LAZE_PASS_INTEGER, 1)), named("start", whole(LAZE_PASS_INTEGER, 1)),
        named("length", number(laze_scalar_integer(2)))}},
  };
  for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
    laze_argument by_position[4], by_name[4];
    for (int32_t k = 0; k < calls[i].count; k++) {
      by_position[k] = named(NULL, calls[i].arguments[k]);
      by_name[k] = calls[i].arguments[calls[i].count - 1 - k];
    }
    assert_same(calls[i].op, call_here(calls[i].op, by_position, calls[i].count),
                call_here(calls[i].op, by_name, calls[i].count));
  }
  end(false);
}
END_TEST

/* Names skip what has a default, and are behind positions. */
START_TEST(names_leave_out_what_has_a_default) {
  begin();
  laze_tensor *x = matrix();
  laze_argument keep[] = {pass(x), named("keepdim", whole(LAZE_PASS_BOOL, 1))};
  laze_tensor *total = call_here("sum.dim_IntList", keep, 2);
  ck_assert_int_eq(laze_tensor_rank(total), 2);
  ck_assert_float_eq(first(total, 1), 28.5f);
  laze_argument of_default[] = {pass(x), named("dim", whole(LAZE_PASS_DEFAULT, 0)),
                                named("keepdim", whole(LAZE_PASS_BOOL, 0))};
  ck_assert_int_eq(laze_tensor_rank(call_here("sum.dim_IntList", of_default, 3)), 0);
  /* The names alone say which operator is meant. */
  laze_argument dims[] = {pass(x), named("dim", whole(LAZE_PASS_INTEGER, 0))};
  ck_assert_int_eq(laze_tensor_rank(call_here("sum", dims, 2)), 1);
  end(false);
}
END_TEST

static void refuses(const char *op, const laze_argument *arguments, int32_t count, const char *part) {
  laze_tensor *result = call_here(op, arguments, count);
  ck_assert_int_eq(laze_tensor_rank(result), -1);
  ck_assert_msg(strstr(laze_tensor_error(result), part) != NULL, "'%s' lacks '%s'", laze_tensor_error(result), part);
}

START_TEST(wrong_names_are_errors_that_list_the_arguments) {
  begin();
  laze_tensor *x = matrix();
  laze_argument unknown[] = {pass(x), pass(x), named("beta", pass_real(2))};
  refuses("sub.Tensor", unknown, 3, "it has no argument 'beta'");
  refuses("sub.Tensor", unknown, 3, "sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1)");
  refuses("sub", unknown, 3, "sub.Scalar(Tensor self, Scalar other, ");
  unknown[2].name = "";
  refuses("sub.Tensor", unknown, 3, "it has no argument ''");
  unknown[2].name = "alph";
  refuses("sub.Tensor", unknown, 3, "it has no argument 'alph'");
  laze_argument twice[] = {pass(x), pass(x), named("self", pass(x))};
  refuses("sub.Tensor", twice, 3, "argument 'self' is passed twice");
  laze_argument named_twice[] = {pass(x), named("other", pass(x)), named("other", pass(x))};
  refuses("sub.Tensor", named_twice, 3, "argument 'other' is passed twice");
  laze_argument behind[] = {named("self", pass(x)), pass(x)};
  refuses("sub.Tensor", behind, 2, "argument 1 is passed by position behind 'self'");
  laze_argument without[] = {pass(x), named("start", whole(LAZE_PASS_INTEGER, 0)),
                             named("length", whole(LAZE_PASS_INTEGER, 1))};
  refuses("narrow", without, 3, "argument 'dim' is missing");
  end(true);
}
END_TEST

/* A language with bools, dtypes and None of its own can say which it means, and none stands for another. */
START_TEST(kinds_are_told_apart) {
  begin();
  laze_tensor *x = matrix();
  laze_argument boolean[] = {pass(x), named("dim", whole(LAZE_PASS_BOOL, 1))};
  refuses("sum.dim_IntList", boolean, 2, "argument 'dim' is int[]?, given a bool");
  laze_argument integer[] = {pass(x), named("keepdim", number(laze_scalar_integer(1)))};
  refuses("sum.dim_IntList", integer, 2, "argument 'keepdim' is bool, given an integer");
  laze_argument dtype[] = {pass(x), named("keepdim", whole(LAZE_PASS_DTYPE, LAZE_F32))};
  refuses("sum.dim_IntList", dtype, 2, "argument 'keepdim' is bool, given a dtype");
  laze_argument none[] = {pass(x), whole(LAZE_PASS_NONE, 0)};
  refuses("sub.Tensor", none, 2, "argument 'other' is Tensor, given none");
  laze_argument no_dtype[] = {pass(x), named("dtype", whole(LAZE_PASS_DTYPE, 77))};
  refuses("sum.dim_IntList", no_dtype, 2, "77");
  laze_argument no_kind[] = {pass(x), whole(99, 0)};
  refuses("sub.Tensor", no_kind, 2, "argument 'other'");
  laze_argument negative[] = {{.kind = LAZE_PASS_TENSORS, .count = -1}};
  refuses("cat", negative, 1, "argument 'tensors'");
  laze_argument truth[] = {pass(x), whole(LAZE_PASS_BOOL, 1)};
  ck_assert_float_eq(first(call_here("mul", truth, 2), 6), 1);
  ck_assert_int_eq(laze_tensor_dtype(call_here("mul", truth, 2)), LAZE_F32); /* a number */
  end(true);
}
END_TEST

/* What is wrong with a call itself is told from what its values are refused for. */
START_TEST(a_call_can_be_matched_without_being_made) {
  begin();
  laze_tensor *x = matrix();
  laze_error error;
  laze_argument apart[] = {pass(x), pass(filled(context, 2, 1))}, wrong[] = {pass(x), text("x")};
  ck_assert_int_eq(laze_call_match("sub", apart, 2, 0, &error), LAZE_OK); /* whose shapes do not fit */
  ck_assert_int_eq(laze_call_match("sub", wrong, 2, 0, &error), LAZE_INVALID_ARGUMENT);
  ck_assert_ptr_nonnull(strstr(error.message, "argument 'other' is Tensor, given a string"));
  ck_assert_int_eq(laze_call_match("no_such_operator", apart, 2, 0, NULL), LAZE_NOT_FOUND);
  ck_assert_int_eq(laze_call_match(NULL, apart, 2, 0, &error), LAZE_INVALID_ARGUMENT);
  ck_assert_str_eq(error.message, "laze_call_match: the operator's name is NULL");
  ck_assert_int_eq(laze_call_match("sub", NULL, 2, 0, NULL), LAZE_INVALID_ARGUMENT);
  /* alpha stands behind the "*". */
  laze_argument alpha[] = {pass(x), pass(x), pass_real(2)};
  ck_assert_int_eq(laze_call_match("sub.Tensor", alpha, 3, 0, NULL), LAZE_OK);
  ck_assert_int_eq(laze_call_match("sub.Tensor", alpha, 3, 1, &error), LAZE_INVALID_ARGUMENT);
  ck_assert_ptr_nonnull(strstr(error.message, "more arguments than it takes (2)"));
  alpha[2].name = "alpha";
  ck_assert_int_eq(laze_call_match("sub.Tensor", alpha, 3, 1, NULL), LAZE_OK);
  end(false);
}
END_TEST

START_TEST(messages_name_the_place_of_the_call) {
  begin();
  laze_tensor *x = matrix(), *result;
  laze_argument one[] = {pass(x)}, apart[] = {pass(x), pass(filled(context, 2, 1))};
  ck_assert_int_eq(laze_call_by_name_at(context, "sub.Tensor", one, 1, &result, 1, "model.py", 7), 1);
  ck_assert_msg(strncmp(laze_tensor_error(result), "model.py:7: sub.Tensor: ", 24) == 0, "%s",
                laze_tensor_error(result));
  ck_assert_int_eq(laze_call_by_name_at(context, "sub", apart, 2, &result, 1, "model.py", 8), 1);
  ck_assert_msg(strncmp(laze_tensor_error(result), "model.py:8: sub: ", 17) == 0, "%s", laze_tensor_error(result));
  end(true);
}
END_TEST

static bool can_be_left_out(const laze_operator_argument *argument) {
  return argument->default_value || argument->optional;
}

static bool takes_nothing(const laze_operator *op) {
  for (int32_t i = 0; i < laze_operator_argument_count(op); i++)
    if (!can_be_left_out(laze_operator_argument_at(op, i))) return false;
  return true;
}

static void assert_refused(const laze_operator *op, const laze_argument *arguments, int32_t count, const char *part) {
  laze_tensor *results[8];
  const char *name = laze_operator_name(op);
  ck_assert_msg(laze_call_by_name(context, name, arguments, count, results, 8) == 1, "%s", name);
  ck_assert_msg(laze_tensor_rank(results[0]) == -1, "%s: '%s' is no error", name, part);
  ck_assert_msg(strstr(laze_tensor_error(results[0]), part) != NULL, "%s: '%s' lacks '%s'", name,
                laze_tensor_error(results[0]), part);
}

/* Of each operator: called with nothing, with an unknown name, with more than it takes, and with each of its arguments
 * in a kind that no argument has. */
START_TEST(every_operator_refuses_what_it_does_not_take) {
  begin();
  for (int32_t i = 0; i < laze_operator_count(); i++) {
    const laze_operator *op = laze_operator_at(i);
    laze_argument arguments[70] = {named("no_such_argument", pass_real(1))};
    if (!takes_nothing(op)) assert_refused(op, NULL, 0, "is missing");
    assert_refused(op, arguments, 1, "it has no argument 'no_such_argument'");
    int32_t count = laze_operator_argument_count(op);
    ck_assert_int_lt(count, 64);
    for (int32_t k = 0; k <= count; k++) arguments[k] = whole(LAZE_PASS_DEFAULT, 0);
    assert_refused(op, arguments, count + 1, "more arguments than it takes");
    for (int32_t k = 0; k < count; k++) {
      const char *name = laze_operator_argument_at(op, k)->name;
      arguments[0] = named(name, whole(99, 0));
      assert_refused(op, arguments, 1, name);
    }
  }
  end(true);
}
END_TEST

/* What is passed for an argument, in each kind there is, is taken or refused, whatever the operator. */
START_TEST(every_argument_of_every_operator_meets_every_kind) {
  begin();
  laze_tensor *x = matrix(), *list[] = {x, NULL}, *results[8];
  const int64_t far[] = {INT64_MAX, INT64_MIN, 0};
  const laze_argument kinds[] = {
      pass(x),
      pass(NULL),
      {.kind = LAZE_PASS_TENSORS, .count = 2, .value.tensors = list},
      {.kind = LAZE_PASS_TENSORS, .count = 0},
      number(laze_scalar_boolean(true)),
      number((laze_scalar){.dtype = 77}),
      whole(LAZE_PASS_INTEGER, INT64_MIN),
      pass_real(1e300),
      {.kind = LAZE_PASS_INTEGERS, .count = 3, .value.integers = far},
      {.kind = LAZE_PASS_INTEGERS, .count = -3},
      text("no such mode"),
      whole(LAZE_PASS_BOOL, 7),
      whole(LAZE_PASS_DTYPE, -1),
      whole(LAZE_PASS_NONE, 0),
  };
  for (int32_t i = 0; i < laze_operator_count(); i++) {
    const laze_operator *op = laze_operator_at(i);
    for (int32_t k = 0; k < laze_operator_argument_count(op); k++) {
      for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; kind++) {
        laze_argument arguments[2] = {named(laze_operator_argument_at(op, k)->name, kinds[kind]),
                                      named("self", pass(x))};
        int32_t given = laze_call_by_name(context, laze_operator_name(op), arguments, k == 0 ? 1 : 2, results, 8);
        ck_assert_int_ge(given, 1);
        ck_assert((laze_tensor_rank(results[0]) >= 0) == (laze_tensor_error(results[0])[0] == 0));
      }
    }
  }
  end(true);
}
END_TEST

int main(void) {
  const TTest *const tests[] = {names_stand_for_positions,
                                names_leave_out_what_has_a_default,
                                wrong_names_are_errors_that_list_the_arguments,
                                kinds_are_told_apart,
                                a_call_can_be_matched_without_being_made,
                                messages_name_the_place_of_the_call,
                                every_operator_refuses_what_it_does_not_take,
                                every_argument_of_every_operator_meets_every_kind};
  return run_tests("named_call", tests, sizeof tests / sizeof *tests);
}
