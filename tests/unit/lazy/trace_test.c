#include "support.h"

static laze_context *context;

/* Runs `record` in a scope of its own, reads its result, and returns whether the trace was known. */
static int is_known(laze_tensor *(*record)(double number), double number) {
  int64_t hits = metric(context, "trace_cache_hits");
  laze_scope *scope = laze_scope_begin(context);
  laze_tensor *result = record(number);
  ck_assert_msg(laze_tensor_materialise(result) == LAZE_OK, "%s", laze_tensor_error(result));
  ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
  return metric(context, "trace_cache_hits") == hits + 1;
}

static laze_tensor *two_numbers(double number) {
  laze_tensor *x = filled(context, 2, 1);
  return add(scale(x, 0.5), scale(x, number));
}

/* The learning rate may change, and may equal another number by chance. */
START_TEST(numbers_are_inputs) {
  context = new_context();
  ck_assert(!is_known(two_numbers, 0.25));
  ck_assert(is_known(two_numbers, 0.125));
  ck_assert(is_known(two_numbers, 0.5));
  laze_scope *scope = laze_scope_begin(context);
  ck_assert_float_eq(first(two_numbers(0.25), 2), 0.75f);
  ck_assert_float_eq(first(two_numbers(2), 2), 2.5f);
  ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
  laze_context_release(context);
}
END_TEST

static laze_tensor *noise(double seed) {
  static const int64_t sizes[] = {4};
  laze_argument arguments[] = {
      {.kind = LAZE_PASS_INTEGERS, .count = 1, .value.integers = sizes},
      pass(laze_tensor_from_scalar(context, LAZE_I64, laze_scalar_integer((int64_t)seed))),
      pass(laze_tensor_from_scalar(context, LAZE_I64, laze_scalar_integer(0))),
  };
  return call("rand", arguments, 3);
}

/* The seed of random numbers is an input, too: another one gives other numbers from the same graph. */
START_TEST(seeds_are_inputs) {
  context = new_context();
  ck_assert(!is_known(noise, 1));
  ck_assert(is_known(noise, 2));
  laze_scope *scope = laze_scope_begin(context);
  const float one = first(noise(1), 4), again = first(noise(1), 4), two = first(noise(2), 4);
  ck_assert_float_eq(one, again);
  ck_assert_float_ne(one, two);
  ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
  laze_context_release(context);
}
END_TEST

static laze_tensor *of_size(double number) {
  return neg(filled(context, (int64_t)number, 1));
}
static laze_tensor *same_twice(double number) {
  laze_tensor *x = filled(context, 2, 1);
  return mul(x, number > 0 ? x : filled(context, 2, 1));
}
static laze_tensor *operand_order(double number) {
  laze_tensor *x = filled(context, 2, 1), *y = neg(x), *z = mul(x, x);
  return number > 0 ? add(y, z) : add(z, y);
}
/* The first input, or the node that has the same number but one. */
static laze_tensor *input_or_node(double number) {
  laze_tensor *x = filled(context, 2, 1), *y = neg(neg(x));
  return mul(y, number > 0 ? y : x);
}
static laze_tensor *of_dtype(double number) {
  return unary("neg", laze_tensor_from_scalar(context, number > 0 ? LAZE_F32 : LAZE_F64, laze_scalar_integer(1)));
}
static laze_tensor *with_attribute(double number) {
  const int64_t axis = (int64_t)number;
  laze_argument arguments[] = {pass(filled(context, 2, 1)),
                               {.kind = LAZE_PASS_INTEGERS, .count = 1, .value.integers = &axis}};
  return call("sum.dim_IntList", arguments, 2);
}
/* An optional number is present or not, on either side. */
static laze_tensor *with_optional(double number) {
  laze_argument arguments[] = {pass(filled(context, 2, 1)), {.kind = LAZE_PASS_DEFAULT}, {.kind = LAZE_PASS_DEFAULT}};
  arguments[number > 0 ? 1 : 2] = pass_real(0);
  return call("clamp", arguments, 3);
}
static laze_tensor *more_outputs(double number) {
  laze_tensor *x = filled(context, 2, 1), *y = neg(x);
  if (number > 0) laze_tensor_retain(y);
  laze_tensor *result = mul(y, y);
  (void)laze_tensor_materialise(result);
  if (number > 0) laze_tensor_release(y);
  return mul(neg(x), x);
}

/* Equal programs share a key, and each single change makes another. */
START_TEST(each_change_misses) {
  static const struct {
    laze_tensor *(*record)(double number);
    double one, other;
  } cases[] = {{of_size, 2, 3},  {same_twice, 1, 0},      {operand_order, 1, 0}, {input_or_node, 1, 0},
               {of_dtype, 1, 0}, {with_attribute, 0, -1}, {with_optional, 1, 0}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    context = new_context();
    ck_assert(!is_known(cases[i].record, cases[i].one));
    ck_assert(is_known(cases[i].record, cases[i].one));
    ck_assert_msg(!is_known(cases[i].record, cases[i].other), "case %zu", i);
    ck_assert(is_known(cases[i].record, cases[i].other));
    laze_context_release(context);
  }
}
END_TEST

/* Which values are stored is part of the key. */
START_TEST(outputs_are_part_of_the_key) {
  context = new_context();
  is_known(more_outputs, 0);
  int64_t misses = metric(context, "trace_cache_misses");
  is_known(more_outputs, 1);
  ck_assert_int_eq(metric(context, "trace_cache_misses"), misses + 1);
  laze_context_release(context);
}
END_TEST

/* Twice the same value, and two values that are equal, in and out. */
static laze_tensor *same_results(double number) {
  laze_tensor *x = filled(context, 2, 1), *y = laze_tensor_retain(neg(x)), *z = laze_tensor_retain(neg(x));
  laze_tensor *sum = add(y, number > 0 ? y : z);
  ck_assert_int_eq(laze_tensor_materialise(sum), LAZE_OK);
  laze_tensor_release(y);
  laze_tensor_release(z);
  return neg(filled(context, 2, 1));
}

/* Code may read a value once where it is used twice, and stores one where it is given out twice. */
START_TEST(row_5_12_aliases_are_part_of_the_key) {
  context = new_context();
  (void)is_known(same_results, 1);
  const int64_t misses = metric(context, "trace_cache_misses");
  (void)is_known(same_results, 1);
  ck_assert_int_eq(metric(context, "trace_cache_misses"), misses);
  (void)is_known(same_results, 0);
  ck_assert_int_eq(metric(context, "trace_cache_misses"), misses + 1);
  (void)is_known(same_twice, 1);
  (void)is_known(same_twice, 0);
  ck_assert_int_eq(metric(context, "trace_cache_misses"), misses + 3);
  laze_context_release(context);
}
END_TEST

static char logged[4096];
static void keep_log(void *self, int32_t severity, const char *message) {
  (void)self;
  (void)severity;
  if (strstr(message, "trace cache miss")) {
    strncpy(logged, message, sizeof logged - 1);
  }
}

static laze_context *new_explaining_context(void) {
  laze_context_options options = {.struct_size = sizeof options,
                                  .backend = "interp",
                                  .cache_directory = "",
                                  .threads = 1,
                                  .debug = "miss",
                                  .log = keep_log};
  laze_context *made = NULL;
  ck_assert_int_eq(laze_context_create(&options, &made, NULL), LAZE_OK);
  return made;
}

static laze_tensor *longer(double number) {
  laze_tensor *x = neg(filled(context, 2, 1));
  for (int i = 0; i < (int)number; i++) x = mul(x, x);
  return x;
}
static laze_tensor *other_operator(double number) {
  laze_tensor *x = neg(neg(filled(context, 2, 1)));
  return number > 0 ? mul(x, x) : add(x, x);
}

/* Each miss names the first difference from the nearest cached graph. */
START_TEST(misses_are_explained) {
  static const struct {
    laze_tensor *(*record)(double number);
    double one, other;
    const char *message;
  } cases[] = {
      {of_size, 2, 3,
       "node 0, neg: operand 0 is input 0 of type f32[3] where the cached graph has input 0 of type f32[2]"},
      {same_twice, 1, 0, "node 0, mul.Tensor: operand 1 is input 1 of type f32[2] where the cached graph has input 0"},
      {longer, 2, 3, "the same up to node 2, then longer"},
      {longer, 3, 2, "the same up to node 2, where the cached graph goes on"},
      {other_operator, 0, 1, "node 2, mul.Tensor: the cached graph has add.Tensor here"},
      {operand_order, 1, 0,
       "node 2, add.Tensor: operand 0 is the result of node 1 where the cached graph has the result of node 0"},
      {input_or_node, 1, 0, "node 2, mul.Tensor: operand 1 is input 0 where the cached graph has the result of node 1"},
      {with_attribute, 0, -1, "node 0, sum.dim_IntList: dim is [-1] where the cached graph has [0]"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    context = new_explaining_context();
    is_known(cases[i].record, cases[i].one);
    ck_assert_msg(strstr(logged, "new graph, the first one"), "%s", logged);
    is_known(cases[i].record, cases[i].other);
    ck_assert_msg(strstr(logged, cases[i].message), "case %zu: %s", i, logged);
    laze_context_release(context);
  }
}
END_TEST

int main(void) {
  const TTest *const tests[] = {numbers_are_inputs,
                                seeds_are_inputs,
                                each_change_misses,
                                outputs_are_part_of_the_key,
                                row_5_12_aliases_are_part_of_the_key,
                                misses_are_explained};
  return run_tests("trace", tests, sizeof tests / sizeof *tests);
}
