/* Regions on the interpreter: if, while, reduce, and one inside another. */
#include "tests/unit/codegen/interp_support.h"

#include <string.h>

static lab l;
static void setup(void) {
  lab_open(&l);
}
static void teardown(void) {
  lab_close(&l);
}

/* Starts a region below `parent`; what is recorded from now on goes into it. */
static laze_block *open_region(laze_block *parent) {
  laze_block *block;
  ck_assert_int_eq(laze_graph_add_region(l.graph, parent, &block, &l.error), LAZE_OK);
  l.builder.block = block;
  return block;
}

static laze_value parameter(laze_block *block, laze_dtype dtype, int rank, const int64_t *dims) {
  laze_type type;
  laze_value value;
  ck_assert_int_eq(laze_type_init(&type, "a parameter", dtype, rank, dims, &l.error), LAZE_OK);
  ck_assert_int_eq(laze_graph_add_parameter(l.graph, block, NULL, &type, &value, &l.error), LAZE_OK);
  return value;
}

static void close_region(laze_block *block, const laze_value *results, int count) {
  ck_assert_int_eq(laze_block_set_results(l.graph, block, results, count, &l.error), LAZE_OK);
  l.builder.block = block->parent;
}

static laze_value region_node(laze_op op, const laze_value *operands, int count, const int32_t *segments,
                              const laze_attribute *attributes, laze_block *const *regions) {
  laze_call call = {
      .op = op, .operand_count = count, .operands = operands, .segments = segments, .attributes = attributes};
  laze_value first;
  laze_status status = laze_graph_append_region_node(l.graph, l.builder.block, &call, regions, &first, &l.error);
  ck_assert_msg(status == LAZE_OK, "%s", l.error.message);
  return first;
}

static laze_value number(laze_dtype dtype, int64_t value) {
  laze_value out;
  ck_assert_int_eq(laze_record_number(&l.builder.recorder, dtype, laze_scalar_integer(value), &out, &l.error), LAZE_OK);
  return out;
}

static laze_value make_if(laze_value condition, laze_value x, int64_t first, int64_t second) {
  laze_block *regions[2], *outside = l.builder.block;
  for (int i = 0; i < 2; i++) {
    regions[i] = open_region(outside);
    laze_value p = parameter(regions[i], LAZE_I64, NO_DIMS);
    laze_value sum = lab_binary(&l, "add.Tensor", p, number(LAZE_I64, i == 0 ? first : second));
    close_region(regions[i], &sum, 1);
  }
  const laze_attribute attributes[] = {[LAZE_IF_SIZES] = {.kind = LAZE_ARGUMENT_SIZE_LIST, .present = true},
                                       [LAZE_IF_AXES] = {.kind = LAZE_ARGUMENT_INT_LIST, .present = true}};
  return region_node(LAZE_OP_IF, (laze_value[]){condition, x}, 2, (int32_t[]){1, 1}, attributes, regions);
}

START_TEST(runs_the_branch_that_holds) {
  laze_value yes = lab_input(&l, LAZE_BOOL, NO_DIMS, (uint8_t[]){1}),
             no = lab_input(&l, LAZE_BOOL, NO_DIMS, (uint8_t[]){0});
  laze_value x = lab_input(&l, LAZE_I64, NO_DIMS, (int64_t[]){5});
  laze_value results[] = {make_if(yes, x, 10, 20), make_if(no, x, 10, 20)};
  ck_assert_int_eq(lab_try_run(&l, results, 2), LAZE_OK);
  ck_assert_int_eq(*(int64_t *)l.outputs[0]->data, 15);
  ck_assert_int_eq(*(int64_t *)l.outputs[1]->data, 25);
}
END_TEST

/* Fibonacci: the body returns its own parameters in another order, which a copy in place would destroy. Carries
 * (i, a, b) while i < n, with a and b as rows of two. */
START_TEST(carries_values_around) {
  laze_value i = lab_input(&l, LAZE_I64, NO_DIMS, (int64_t[]){0});
  laze_value a = lab_input(&l, LAZE_I64, DIMS(2), (int64_t[]){0, 0}),
             b = lab_input(&l, LAZE_I64, DIMS(2), (int64_t[]){1, 2});
  laze_block *regions[2], *outside = l.builder.block;
  for (int r = 0; r < 2; r++) {
    regions[r] = open_region(outside);
    laze_value pi = parameter(regions[r], LAZE_I64, NO_DIMS);
    laze_value pa = parameter(regions[r], LAZE_I64, DIMS(2)), pb = parameter(regions[r], LAZE_I64, DIMS(2));
    laze_value more = LAZE_VALUE_NONE, next[3];
    if (r == 0) {
      more = lab_binary(&l, "lt.Tensor", pi, number(LAZE_I64, 10));
      close_region(regions[r], &more, 1);
    } else {
      next[0] = lab_binary(&l, "add.Tensor", pi, number(LAZE_I64, 1));
      next[1] = pb;
      next[2] = lab_binary(&l, "add.Tensor", pa, pb);
      close_region(regions[r], next, 3);
    }
  }
  laze_value first = region_node(LAZE_OP_WHILE, (laze_value[]){i, a, b}, 3, (int32_t[]){3}, NULL, regions);
  laze_value results[] = {{first.node, 1}, {first.node, 2}};
  ck_assert_int_eq(lab_try_run(&l, results, 2), LAZE_OK);
  lab_expect(&l, int64_t, 55, 110);
  ck_assert_int_eq(((int64_t *)l.outputs[1]->data)[1], 178);
}
END_TEST

/* Two states: the sum, and the last element, which shows the order; with a branch inside the region. */
static laze_value make_reduce(laze_value self, laze_value zero, const laze_size *dims, int count) {
  laze_block *region = open_region(l.builder.block);
  laze_value sum = parameter(region, LAZE_I64, NO_DIMS), last = parameter(region, LAZE_I64, NO_DIMS);
  laze_value element = parameter(region, LAZE_I64, NO_DIMS);
  laze_value odd = lab_binary(&l, "eq.Tensor", lab_binary(&l, "remainder.Tensor", element, number(LAZE_I64, 2)),
                              number(LAZE_I64, 1));
  laze_value chosen = make_if(odd, element, 100, 0);
  laze_value next[] = {lab_binary(&l, "add.Tensor", sum, chosen), element};
  (void)last;
  close_region(region, next, 2);
  laze_attribute dim = laze_attribute_integers(dims, count);
  return region_node(LAZE_OP_REDUCE, (laze_value[]){self, zero, zero}, 3, (int32_t[]){1, 2}, &dim, &region);
}

START_TEST(folds_in_row_major_order) {
  laze_value self = lab_input(&l, LAZE_I64, DIMS(2, 2, 2), (int64_t[]){1, 2, 3, 4, 5, 6, 7, 8});
  laze_value zero = lab_input(&l, LAZE_I64, NO_DIMS, (int64_t[]){0});
  laze_value first = make_reduce(self, zero, SIZES(0, 2), 2);
  laze_value results[] = {first, {first.node, 1}};
  ck_assert_int_eq(lab_try_run(&l, results, 2), LAZE_OK);
  lab_expect(&l, int64_t, 1 + 2 + 5 + 6 + 200, 3 + 4 + 7 + 8 + 200);
  ck_assert_int_eq(((int64_t *)l.outputs[1]->data)[0], 6);
  ck_assert_int_eq(((int64_t *)l.outputs[1]->data)[1], 8);
}
END_TEST

START_TEST(folds_nothing) {
  laze_value self = lab_input(&l, LAZE_I64, DIMS(2, 0), NULL), start = lab_input(&l, LAZE_I64, NO_DIMS, (int64_t[]){9});
  laze_value first = make_reduce(self, start, SIZES(1), 1);
  lab_run(&l, first);
  lab_expect(&l, int64_t, 9, 9);
}
END_TEST

int main(void) {
  const TTest *const tests[] = {runs_the_branch_that_holds, carries_values_around, folds_in_row_major_order,
                                folds_nothing};
  return lab_main("interp_control", setup, teardown, tests, (int)(sizeof tests / sizeof *tests));
}
