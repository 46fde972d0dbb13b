/* Elementwise operators on everything that there is: all elements of the dtypes of 8 and 16 bits for an operator of one
 * tensor, all pairs of 8 bits for one of two. Both backends give the same bits; where the operator's entry leaves
 * room for differences, both are near to right values (tests/support/references.h): where they are rounded to 16 bits,
 * for they are computed with more, as near as that rounding leaves them.
 *
 *   x:  0 1 2 3 ... 65535            x:  0 0 0 ... 0   1 1 ... 255
 *                                    y:  0 1 2 ... 255 0 1 ... 255
 */
#include "ir/op.gen.h"
#include "tests/support/random_call.h"
#include "tests/support/references.h"
#include "tests/support/run.h"
#include "tests/support/suite.h"

#include <check.h>
#include <string.h>

enum { ELEMENTS = 1 << 16 };

typedef struct {
  laze_context *context;
  const laze_backend *interp, *llvm;
} session;

static session begin(void) {
  session self = {.context = test_context(NULL)};
  ck_assert_int_eq(laze_backend_find(self.context, "interp", &self.interp, NULL), LAZE_OK);
  ck_assert_int_eq(laze_backend_find(self.context, "llvm", &self.llvm, NULL), LAZE_OK);
  return self;
}

/* NULL where the operator does not take the dtype. */
static laze_graph *call_of(const session *self, laze_op op, laze_dtype dtype) {
  laze_graph *graph;
  laze_error error;
  test_caller caller;
  laze_value operands[2], result;
  int32_t count = laze_op_get(op)->segment_count;
  ck_assert_int_eq(laze_graph_create(self->context, "call", &graph, &error), LAZE_OK);
  test_caller_init(&caller, graph, &(test_random){0});
  for (int32_t i = 0; i < count; i++) operands[i] = test_caller_parameter(&caller, dtype, 1, (int64_t[]){ELEMENTS}, 0);
  if (laze_record_call(&caller.builder.recorder, op, operands, count, NULL, &result, &error) == LAZE_OK) {
    ck_assert_int_eq(laze_block_set_results(graph, graph->body, &result, 1, &error), LAZE_OK);
    return graph;
  }
  laze_graph_destroy(graph);
  return NULL;
}

/* Element k of operand i: the bits of k, or one half of them. */
static void fill(const test_arrays *inputs, laze_dtype dtype) {
  for (int32_t i = 0; i < inputs->count; i++) {
    unsigned char *data = inputs->buffers[i]->data;
    for (int32_t k = 0; k < ELEMENTS; k++) {
      int32_t bits = inputs->count == 2 && i == 0 ? k >> 8 : k;
      for (int64_t byte = 0; byte < laze_dtype_size(dtype); byte++) *data++ = (unsigned char)(bits >> (8 * byte));
    }
  }
}

static const void *element(const test_arrays *arrays, int32_t i, int32_t k) {
  return (const char *)arrays->buffers[i]->data + k * laze_dtype_size((laze_dtype)arrays->types[i].dtype);
}

static void check_same(laze_op op, laze_dtype dtype, const test_arrays *inputs, const test_arrays *expected,
                       const test_arrays *got) {
  laze_dtype result = (laze_dtype)expected->types[0].dtype;
  int64_t at = test_first_difference(result, expected->buffers[0]->data, got->buffers[0]->data, ELEMENTS);
  char x[64], y[64] = "", a[64], b[64];
  if (at < 0) return;
  ck_abort_msg("%s(%s %s) of %s: interp gives %s, llvm %s", laze_op_get(op)->name,
               test_element_text(dtype, element(inputs, 0, (int32_t)at), x),
               inputs->count > 1 ? test_element_text(dtype, element(inputs, 1, (int32_t)at), y) : "",
               laze_dtype_name(dtype), test_element_text(result, element(expected, 0, (int32_t)at), a),
               test_element_text(result, element(got, 0, (int32_t)at), b));
}

/* Half a unit from rounding to 16 bits, and what 2 units of a longer format add to it. */
static double bound_of(const test_reference *reference, laze_dtype result) {
  return laze_dtype_size(result) <= 2 ? 0.502 : test_reference_bound(reference);
}

static void check_near(laze_op op, laze_dtype dtype, const test_arrays *inputs, const test_arrays *got,
                       const char *backend) {
  const test_reference *reference = test_reference_find(op);
  laze_dtype result = (laze_dtype)got->types[0].dtype;
  ck_assert_msg(reference, "%s is not in tests/support/references.c", laze_op_get(op)->name);
  for (int32_t k = 0; k < ELEMENTS; k++) {
    double operands[2] = {0}, value = test_element_as_double(result, element(got, 0, k));
    for (int32_t i = 0; i < inputs->count; i++) operands[i] = test_element_as_double(dtype, element(inputs, i, k));
    long double exact = test_reference_value(reference, operands[0], operands[1]);
    double distance = test_reference_distance(reference, result, value, exact);
    ck_assert_msg(distance <= bound_of(reference, result), "%s of %s on %s: f(%a, %a) = %a, not %.9Lg: %.3f units",
                  laze_op_get(op)->name, laze_dtype_name(dtype), backend, operands[0], operands[1], value, exact,
                  distance);
  }
}

static bool is_exact(laze_op op, const test_arrays *got) {
  return laze_op_get(op)->exact || !laze_dtype_is_float((laze_dtype)got->types[0].dtype);
}

/* Whether the operator takes the dtype. */
static bool check(const session *self, laze_op op, laze_dtype dtype) {
  laze_graph *graph = call_of(self, op, dtype);
  test_arrays inputs, expected, got;
  laze_error error;
  if (!graph) return false;
  test_inputs(self->context, graph, &(test_random){0}, &(test_range){.low = 0, .high = 1}, &inputs);
  fill(&inputs, dtype);
  laze_status status = test_run(self->context, self->interp, graph, NULL, &inputs, &expected, &error);
  ck_assert_msg(status == LAZE_OK, "%s: %s", laze_op_get(op)->name, error.message);
  status = test_run(self->context, self->llvm, graph, NULL, &inputs, &got, &error);
  ck_assert_msg(status == LAZE_OK, "%s: %s", laze_op_get(op)->name, error.message);
  if (is_exact(op, &got)) {
    check_same(op, dtype, &inputs, &expected, &got);
  } else {
    check_near(op, dtype, &inputs, &expected, "interp");
    check_near(op, dtype, &inputs, &got, "llvm");
  }
  test_arrays_release(&inputs);
  test_arrays_release(&expected);
  test_arrays_release(&got);
  laze_graph_destroy(graph);
  return true;
}

/* Every bit pattern of the dtype is a value, and there are few enough of them. */
static bool is_small(laze_dtype dtype, int64_t most_bytes) {
  return laze_dtype_is_valid(dtype) && dtype != LAZE_BOOL && laze_dtype_size(dtype) <= most_bytes;
}

/* How many calls there were: by operators of so many tensors and nothing else, in dtypes of at most so many bytes. */
static int check_all(int32_t operands, int64_t most_bytes) {
  session self = begin();
  int calls = 0, alike = 0;
  for (laze_op op = 1; op < laze_op_count; op++) {
    const laze_op_info *info = laze_op_get(op);
    if (info->op_class != LAZE_CLASS_ELEMENTWISE || info->segment_count != operands || info->attribute_count > 0)
      continue;
    if (!test_has_turn(alike++)) continue;
    for (laze_dtype dtype = 1; dtype < LAZE_DTYPE_BOUND; dtype++)
      if (is_small(dtype, most_bytes)) calls += check(&self, op, dtype);
  }
  laze_context_release(self.context);
  return calls;
}

START_TEST(one_tensor) {
  ck_assert_int_ge(check_all(1, 2), test_count(60));
}
END_TEST

START_TEST(two_tensors) {
  ck_assert_int_ge(check_all(2, 1), test_count(30));
}
END_TEST

int main(void) {
  Suite *suite = suite_create("exhaustive");
  TCase *tests = tcase_create("every element");
  tcase_set_timeout(tests, 0);
  tcase_add_test(tests, one_tensor);
  tcase_add_test(tests, two_tensors);
  suite_add_tcase(suite, tests);
  return test_run_suite(suite);
}
