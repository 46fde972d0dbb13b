/* Composites written by hand: what they refuse, with a message that names the operator, the values and what to do. */
#include "tests/unit/ir/ir_test.h"

#include <stdio.h>

static const struct {
  const char *parameters, *call, *message; /* NULL: accepted */
} cases[] = {
    {"%x: f32[3], %y: f32[3]", "dot %x, %y", NULL},
    {"%x: f32[3,1], %y: f32[3]", "dot %x, %y", "dot: operand 0 has 2 dims, expected 1"},
    {"%x: f32[3], %y: f32[]", "dot %x, %y", "dot: operand 1 has 0 dims, expected 1"},
    {"%x: f32[2,3], %y: f32[3]", "mv %x, %y", NULL},
    {"%x: f32[3], %y: f32[3]", "mv %x, %y", "mv: operand 0 has 1 dims, expected 2"},
    {"%x: f32[2,3], %y: f32[3,1]", "mv %x, %y", "mv: operand 1 has 2 dims, expected 1"},
    {"%x: f32[], %y: f32[3]", "matmul %x, %y", "expected at least one dim each"},
    {"%x: f32[3], %y: f32[]", "matmul %x, %y", "expected at least one dim each"},
    {"%x: f32[2,3], %y: f32[4,3]", "matmul %x, %y", "matmul"},
    {"%x: f32[2,3]", "t %x", NULL},
    {"%x: f32[]", "t %x", NULL},
    {"%x: f32[2,3,4]", "t %x", "t: got a tensor of 3 dims, expected at most 2"},
    {"%x: f32[2,3,4]", "flatten %x, start_dim=1, end_dim=1", NULL},
    {"%x: f32[2,3,4]", "flatten %x, start_dim=2, end_dim=1", "start_dim 2 comes after end_dim 1"},
    {"%x: f32[2,3,4]", "flatten %x, start_dim=-1, end_dim=-3", "comes after end_dim"},
    {"%x: f32[2,3,4]", "flatten %x, start_dim=3", "3"},
    {"%x: f32[2,3,4]", "flatten %x, end_dim=-4", "-4"},
    {"%x: f32[1,3,1]", "squeeze.dims %x, dim=[0, -1]", NULL},
    {"%x: f32[1,3,1]", "squeeze.dims %x, dim=[3]", "3"},
    {"%x: f32[1,3,1]", "squeeze.dims %x, dim=[-4]", "-4"},
    {"%x: f32[2,3]", "select %x, dim=0, index=1", NULL},
    {"%x: f32[]", "select %x, dim=0, index=0", "without dims"},
    {"%x: f32[2,3]", "select %x, dim=0, index=2", "index 2 is out of range for dim 0 of f32[2,3]"},
    {"%x: f32[2,3]", "narrow %x, dim=1, start=1, length=2", NULL},
    {"%x: f32[2,3]", "narrow %x, dim=1, start=1, length=3", "start 1 and length 3 do not lie within dim 1"},
    {"%x: f32[2,3]", "narrow %x, dim=1, start=-1, length=2", "start -1 and length 2 do not lie within dim 1"},
    {"%x: f32[2,3]", "narrow %x, dim=1, start=0, length=-1", "narrow"},
    {"%x: f32[2], %y: f32[3]", "stack [%x, %y]", "stack: tensor 0 is f32[2] but tensor 1 is f32[3]"},
    {"%x: f32[2]", "stack []", "stack: got no tensor"},
    {"%x: f32[3,4], %i: i64[2]", "embedding %x, %i", NULL},
    {"%x: f32[3], %i: i64[2]", "embedding %x, %i", "weight has 1 dims, expected 2"},
    {"%x: f32[3,4,5], %i: i64[2]", "embedding %x, %i", "weight has 3 dims, expected 2"},
    {"%x: i64[2]", "one_hot %x, num_classes=3", NULL},
    {"%x: f32[2]", "one_hot %x, num_classes=3", "one_hot: self is f32"},
    {"", "linspace start=0, end=1, steps=0", NULL},
    {"", "linspace start=0, end=1, steps=-1", "linspace: steps is -1"},
    {"", "arange end=5", NULL},
    {"", "arange start=0, end=5, step=0", "arange"},
    {"", "arange start=2147483646, end=2147483648, dtype=i32", NULL},
    {"", "arange start=2147483646, end=2147483649, dtype=i32",
     "not all of these fit in i32, which holds -2147483648 to"},
    {"", "arange start=5, end=0", "arange: from 5 to 0 by 1 in i64: the step does not lead there"},
    {"%x: f32[2,3]", "clamp %x", "clamp: neither min nor max is there"},
    {"%x: i64[2,3]", "add %x, %x, alpha=0.5", "add: alpha is a real number, but the result is i64"},
    {"%x: i64[2,3]", "sub %x, %x, alpha=true", "sub: alpha is a bool, but the result is i64"},
    {"%x: f32[4], %y: f32[2,3]", "addmm %x, %y, %y", "addmm"},
    {"%x: f32[4], %y: f32[3,3]", "addmm %x, %y, %y", "addmm: shapes f32[3,3] and f32[4] do not broadcast"},
    {"%x: f64[3], %y: f32[3,3]", "addmm %x, %y, %y", "addmm: self is f64[3] and the product f32[3,3]"},
    {"%s: i64[], %o: i64[]", "rand %s, %o, size=[2]", NULL},
    {"%s: f32[], %o: i64[]", "rand %s, %o, size=[2]", "seed is f32[], expected i64[]"},
    {"%s: i64[], %o: i64[1]", "rand %s, %o, size=[2]", "offset is i64[1], expected i64[]"},
    {"%s: i64[], %o: i64[]", "rand %s, %o, size=[2], dtype=i32", "dtype is i32"},
    {"%x: f32[2,3], %m: f32[2,3]", "div %x, %m, rounding_mode=\"up\"", "rounding_mode is 'up'"},
};

START_TEST(composites_say_what_is_wrong) {
  char text[512];
  laze_graph *graph = NULL;
  int length = snprintf(text, sizeof text, "laze 1\ngraph @g(%s) {\n  %%0 = %s\n  return\n}\n", cases[_i].parameters,
                        cases[_i].call);
  error.message[0] = 0;
  laze_status status = laze_graph_parse(context, text, length, "t.lz", &graph, &error);
  if (cases[_i].message) {
    ck_assert_msg(status != LAZE_OK && strstr(error.message, cases[_i].message), "%s: '%s' lacks '%s'", cases[_i].call,
                  error.message, cases[_i].message);
  } else {
    ck_assert_msg(status == LAZE_OK, "%s: %s", cases[_i].call, error.message);
    assert_ok(laze_graph_verify(graph, &error));
  }
  laze_graph_destroy(graph);
}
END_TEST

static void add_tests(TCase *tests) {
  tcase_add_loop_test(tests, composites_say_what_is_wrong, 0, (int)(sizeof cases / sizeof *cases));
}

int main(void) {
  return run_suite("composites", add_tests);
}
