/* What generated composites record, seen through graphs in text form: the parser expands composites as it builds. */
#include "ir/builder.h"
#include "ir/composite.gen.h"
#include "ir/graph.h"
#include "ir/op.gen.h"
#include "ir/text/text.h"
#include "tests/support/suite.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static laze_context *context;
static laze_error error;
static laze_graph *graph;
static laze_builder builder;

static void set_up(void) {
  ck_assert_int_eq(laze_context_create(NULL, &context, &error), LAZE_OK);
  ck_assert_int_eq(laze_graph_create(context, "g", &graph, &error), LAZE_OK);
  laze_builder_init(&builder, graph, graph->body);
}

static void tear_down(void) {
  laze_graph_destroy(graph);
  laze_context_release(context);
}

static void require(laze_status status) {
  ck_assert_msg(status == LAZE_OK, "%s", error.message);
}

static laze_value parameter(laze_dtype dtype, int rank, const int64_t *sizes) {
  laze_type type;
  laze_value value;
  require(laze_type_init(&type, "parameter", dtype, rank, sizes, &error));
  require(laze_graph_add_parameter(graph, graph->body, NULL, &type, &value, &error));
  return value;
}

static laze_value number(laze_scalar scalar) {
  laze_value value;
  require(laze_record_number(&builder.recorder, scalar.dtype, scalar, &value, &error));
  return value;
}

static laze_value record(laze_op op, const laze_value *operands, int32_t count, const laze_attribute *attributes) {
  laze_value results[2];
  require(laze_record_call(&builder.recorder, op, operands, count, attributes, results, &error));
  return results[0];
}

static laze_dtype dtype_of(laze_value value) {
  return (laze_dtype)laze_graph_type(graph, value)->dtype;
}

/* The operators recorded so far, parameters and constants aside: "to.dtype mul.Tensor". */
static const char *recorded(void) {
  static char text[1000];
  text[0] = '\0';
  for (int64_t i = 0; i < graph->node_count; i++) {
    const laze_node *node = &graph->nodes[i];
    if (node->op == LAZE_OP_PARAMETER || node->op == LAZE_OP_CONSTANT) continue;
    if (text[0] != '\0') strncat(text, " ", sizeof(text) - strlen(text) - 1);
    strncat(text, laze_op_get(node->op)->name, sizeof(text) - strlen(text) - 1);
  }
  return text;
}

static const int64_t two_by_three[] = {2, 3};

/* A number that a user passes must not widen a tensor's dtype, unless it is of a higher category. */
START_TEST(numbers_are_weak) {
  static const struct {
    laze_dtype tensor, expected;
    bool real;
  } cases[] = {{LAZE_F32, LAZE_F32, true}, {LAZE_F64, LAZE_F64, true},   {LAZE_I32, LAZE_I32, false},
               {LAZE_I64, LAZE_F32, true}, {LAZE_BOOL, LAZE_I64, false}, {LAZE_F32, LAZE_F32, false}};
  for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
    const laze_value operands[] = {parameter(cases[i].tensor, 2, two_by_three),
                                   number(cases[i].real ? laze_scalar_real(0.5) : laze_scalar_integer(3))};
    const laze_value result = record(LAZE_OP_MUL_SCALAR, operands, 2, NULL);
    ck_assert_msg(dtype_of(result) == cases[i].expected, "case %d: %s", (int)i, laze_dtype_name(dtype_of(result)));
  }
}
END_TEST

/* The same for a literal in an entry: relu is maximum(self, 0). */
START_TEST(literals_are_weak) {
  const laze_dtype dtypes[] = {LAZE_F32, LAZE_F64, LAZE_I32, LAZE_I64};
  for (size_t i = 0; i < 4; i++) {
    const laze_value self = parameter(dtypes[i], 2, two_by_three);
    ck_assert_int_eq(dtype_of(record(LAZE_OP_RELU, &self, 1, NULL)), dtypes[i]);
  }
  ck_assert_str_eq(recorded(), "maximum maximum maximum maximum");
}
END_TEST

/* A number that is compared, chosen or converted is a constant of the dtype that it is to have: a conversion of it
 * would be a node that every step records. */
START_TEST(literals_are_constants_at_once) {
  const laze_dtype dtypes[] = {LAZE_F32, LAZE_F64, LAZE_I32, LAZE_I64};
  for (size_t i = 0; i < 4; i++) {
    const laze_value operands[] = {parameter(LAZE_F32, 2, two_by_three), parameter(LAZE_BOOL, 1, two_by_three),
                                   parameter(LAZE_I64, 1, two_by_three)};
    const laze_attribute axis = laze_attribute_integer(1), dtype = laze_attribute_dtype(dtypes[i]);
    ck_assert_int_eq(dtype_of(record(LAZE_OP__CLASS_PLACES, operands, 3, &axis)), LAZE_I64);
    ck_assert_int_eq(dtype_of(record(LAZE_OP_ZEROS_LIKE, operands, 1, &dtype)), dtypes[i]);
  }
  ck_assert_str_eq(recorded(), "where.self lt.Tensor size_tensor where.self expand where.self lt.Tensor size_tensor "
                               "where.self expand where.self lt.Tensor size_tensor where.self expand where.self "
                               "lt.Tensor size_tensor where.self expand");
}
END_TEST

/* A primitive with `when` expands exactly in the forms that the condition names. */
START_TEST(condition_decides_expansion) {
  laze_value operands[] = {parameter(LAZE_F32, 2, two_by_three), parameter(LAZE_F32, 2, two_by_three), {0}};
  const int32_t segments[] = {1, 1, -1};
  ck_assert(!laze_must_expand_add(
      &(laze_call){.op = LAZE_OP_ADD, .operand_count = 2, .operands = operands, .segments = segments}));
  record(LAZE_OP_ADD, operands, 2, NULL);
  ck_assert_str_eq(recorded(), "add.Tensor");
  operands[2] = number(laze_scalar_real(2));
  ck_assert(laze_must_expand_add(&(laze_call){.op = LAZE_OP_ADD, .operand_count = 3, .operands = operands}));
  const laze_value sum = record(LAZE_OP_ADD, operands, 3, NULL);
  ck_assert_str_eq(recorded(), "add.Tensor to.dtype mul.Tensor add.Tensor");
  ck_assert_int_eq(dtype_of(sum), LAZE_F32);
  /* What the expansion recorded says where it came from; what was recorded as it is does not. */
  ck_assert_int_eq(graph->nodes[sum.node].origin, LAZE_OP_ADD);
}
END_TEST

/* An argument that was left out is neither recorded nor given its default. */
START_TEST(absent_arguments_stay_absent) {
  laze_value operands[] = {parameter(LAZE_F32, 2, two_by_three), number(laze_scalar_real(2)), {0}};
  record(LAZE_OP_SUB_SCALAR, operands, 2, NULL);
  ck_assert_str_eq(recorded(), "to.dtype sub.Tensor");
  record(LAZE_OP_CLAMP, operands, 2, NULL);
  ck_assert_str_eq(recorded(), "to.dtype sub.Tensor to.dtype maximum");
}
END_TEST

/* The outermost composite is the origin, through any depth, and it is put back when an expansion fails. */
START_TEST(outermost_composite_is_the_origin) {
  const laze_value self = parameter(LAZE_F32, 2, two_by_three);
  const laze_value mean = record(LAZE_OP_MEAN, &self, 1, NULL);
  ck_assert_int_eq(graph->nodes[mean.node].op, LAZE_OP_DIV);
  ck_assert_int_eq(graph->nodes[mean.node].origin, LAZE_OP_MEAN);
  ck_assert_int_eq(builder.recorder.origin, LAZE_OP_NONE);
  const laze_size far[] = {7};
  const laze_attribute attributes[] = {laze_attribute_integers(far, 1), laze_attribute_boolean(false),
                                       laze_attribute_absent(LAZE_ARGUMENT_DTYPE)};
  laze_value result;
  ck_assert_int_ne(laze_record_call(&builder.recorder, LAZE_OP_MEAN_DIM, &self, 1, attributes, &result, &error),
                   LAZE_OK);
  ck_assert_ptr_nonnull(strstr(error.message, "7"));
  ck_assert_int_eq(builder.recorder.origin, LAZE_OP_NONE);
}
END_TEST

/* A late composite is one node until the pass that expands it. */
START_TEST(late_composites_wait) {
  const laze_value self = parameter(LAZE_F32, 2, two_by_three);
  const laze_attribute attributes[] = {laze_attribute_integer(1), laze_attribute_boolean(false)};
  record(LAZE_OP__SOFTMAX, &self, 1, attributes);
  ck_assert_str_eq(recorded(), "_softmax");
  builder.expand_late = true;
  const laze_value result = record(LAZE_OP__SOFTMAX, &self, 1, attributes);
  ck_assert_str_eq(recorded(), "_softmax _amax sub.Tensor exp sum.dim_IntList div.Tensor");
  ck_assert_int_eq(laze_graph_type(graph, result)->rank, 2);
  ck_assert_int_eq(laze_graph_type(graph, result)->sizes[1], 3);
}
END_TEST

START_TEST(several_results_are_returned) {
  const laze_value self = parameter(LAZE_F32, 2, two_by_three);
  const laze_attribute attributes[] = {laze_attribute_integer(1), laze_attribute_boolean(false)};
  laze_value results[2];
  require(laze_record_call(&builder.recorder, LAZE_OP_MAX_DIM, &self, 1, attributes, results, &error));
  ck_assert_int_eq(dtype_of(results[0]), LAZE_F32);
  ck_assert_int_eq(dtype_of(results[1]), LAZE_I64);
}
END_TEST

/* The generated index is what finding by name relies on. */
START_TEST(index_is_sorted) {
  for (int i = 1; i < LAZE_OP_COUNT - 1; i++) {
    const laze_op before = laze_ops_by_name[i - 1], after = laze_ops_by_name[i];
    const int order = strcmp(laze_op_get(before)->base, laze_op_get(after)->base);
    ck_assert(order < 0 || (order == 0 && before < after));
  }
  ck_assert_int_eq(laze_op_count, LAZE_OP_COUNT);
}
END_TEST

/* Each row of the table agrees with its own arguments: positions count up, and absent parts are absent. */
START_TEST(table_is_consistent) {
  for (laze_op op = 1; op < LAZE_OP_COUNT; op++) {
    const laze_op_info *info = laze_op_get(op);
    int32_t segments = 0, attributes = 0;
    for (int32_t i = 0; i < info->argument_count; i++) {
      const laze_argument_info *argument = &info->arguments[i];
      ck_assert_int_eq(argument->position, laze_argument_is_operand(argument->kind) ? segments++ : attributes++);
      if (argument->has_default && argument->default_value.kind != LAZE_ARGUMENT_LITERAL)
        ck_assert_msg(argument->default_value.kind == argument->kind, "%s: %s", info->name, argument->name);
    }
    ck_assert_int_eq(segments, info->segment_count);
    ck_assert_int_eq(attributes, info->attribute_count);
    ck_assert_msg((info->op_class == LAZE_CLASS_ELEMENTWISE) == (info->compute_dtypes != 0), "%s", info->name);
    ck_assert_msg(info->op_class != LAZE_CLASS_COMPOSITE || info->expand != NULL, "%s", info->name);
    ck_assert_msg(info->op_class != LAZE_CLASS_REDUCTION || info->combine != LAZE_OP_NONE, "%s", info->name);
    ck_assert_msg(!info->late || (info->infer != NULL && info->expand != NULL), "%s", info->name);
  }
}
END_TEST

int main(void) {
  Suite *suite = suite_create("composites");
  TCase *cases = tcase_create("composites");
  tcase_add_checked_fixture(cases, set_up, tear_down);
  tcase_add_test(cases, numbers_are_weak);
  tcase_add_test(cases, literals_are_weak);
  tcase_add_test(cases, literals_are_constants_at_once);
  tcase_add_test(cases, condition_decides_expansion);
  tcase_add_test(cases, absent_arguments_stay_absent);
  tcase_add_test(cases, outermost_composite_is_the_origin);
  tcase_add_test(cases, late_composites_wait);
  tcase_add_test(cases, several_results_are_returned);
  tcase_add_test(cases, index_is_sorted);
  tcase_add_test(cases, table_is_consistent);
  suite_add_tcase(suite, cases);
  return test_run_suite(suite);
}
