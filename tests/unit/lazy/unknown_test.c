#include "support.h"

#include "lazy/lazy.h"

#include <pthread.h>

/* i64[]: how many elements of 0, 1, ... 7 are above `limit`; pending. */
static laze_tensor *count_above(laze_context *context, float limit) {
  float data[8] = {0, 1, 2, 3, 4, 5, 6, 7};
  laze_tensor *x = laze_tensor_from_data(context, LAZE_F32, LAZE_SHAPE(8), data, sizeof data);
  laze_tensor *bound = laze_tensor_from_data(context, LAZE_F32, LAZE_SHAPE(1), &limit, sizeof limit);
  return unary("sum", binary("gt.Tensor", x, bound));
}

/* The first n of 0, 1, ... 7, where a tensor says n. */
static laze_tensor *first_of(laze_context *context, laze_tensor *count) {
  float data[8] = {0, 1, 2, 3, 4, 5, 6, 7};
  laze_argument arguments[] = {pass(laze_tensor_from_data(context, LAZE_F32, LAZE_SHAPE(8), data, sizeof data)),
                               {.kind = LAZE_PASS_INTEGER, .value.integer = 0},
                               {.kind = LAZE_PASS_NONE},
                               pass(count)};
  return call("slice", arguments, 4);
}

/* f32[n, 2] of zeros. */
static laze_tensor *zeros(laze_context *context, laze_tensor *count) {
  const laze_size_item items[] = {{count, 0}, {NULL, 2}};
  laze_argument argument = {.kind = LAZE_PASS_SIZES, .count = 2, .value.sizes = items};
  laze_tensor *result;
  ck_assert_int_eq(laze_call_by_name(context, "zeros", &argument, 1, &result, 1), 1);
  return result;
}

static laze_tensor *shifted(laze_context *context, laze_tensor *count, int64_t by) {
  return add(count, laze_tensor_from_scalar(context, LAZE_I64, laze_scalar_integer(by)));
}

/* Whoever records does not wait: neither for the count, nor because a type has it. Asking for one size finds all, once,
 * and computes the numbers alone. */
START_TEST(sizes_are_computed_when_they_are_asked_for) {
  laze_context *context = new_context();
  laze_scope *scope = laze_scope_begin(context);
  laze_tensor *count = count_above(context, 4.5f);
  laze_tensor *x = first_of(context, count), *y = mul(add(x, x), first_of(context, count)), *z = zeros(context, count);
  ck_assert_int_eq(metric(context, "graphs_run"), 0);
  ck_assert_int_eq(laze_tensor_dtype(y), LAZE_F32);
  ck_assert_int_eq(laze_tensor_rank(z), 2);
  ck_assert_int_eq(laze_tensor_knows_size(z, 0), 0);
  ck_assert_int_eq(laze_tensor_knows_size(z, -1), 1);
  ck_assert_int_eq(metric(context, "graphs_run"), 0);
  ck_assert_int_eq(laze_tensor_size(y, 0), 3);
  ck_assert_int_eq(metric(context, "size_syncs"), 1);
  ck_assert_int_eq(laze_tensor_elements(x), 3); /* learned with it */
  ck_assert_int_eq(metric(context, "size_syncs"), 1);
  ck_assert_int_eq(laze_tensor_size(z, 0), 3);
  ck_assert_int_eq(laze_tensor_elements(z), 6);
  float data[3];
  ck_assert_int_eq(laze_tensor_read(y, LAZE_F32, data, sizeof data), LAZE_OK);
  ck_assert_float_eq(data[2], 8);
  ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
  laze_context_release(context);
}
END_TEST

/* A list of the sizes that a call names has room for none at first: two and more, one of them twice, are all found. */
START_TEST(the_first_call_may_name_several_sizes) {
  for (int32_t count = 2; count <= 6; count++) {
    laze_context *context = new_context();
    laze_scope *scope = laze_scope_begin(context);
    laze_size_item items[6];
    for (int32_t i = 0; i < count; i++)
      items[i] = (laze_size_item){i == 2 ? items[0].tensor : count_above(context, 6.5f - (float)(i % 3)), 0};
    laze_argument argument = {.kind = LAZE_PASS_SIZES, .count = count, .value.sizes = items};
    laze_tensor *result;
    ck_assert_int_eq(laze_call_by_name(context, "zeros", &argument, 1, &result, 1), 1);
    ck_assert_msg(laze_tensor_size(result, 0) == 1, "%s", laze_tensor_error(result));
    ck_assert_int_eq(laze_tensor_size(result, 1), 2);
    for (int32_t i = 2; i < count; i++) ck_assert_int_eq(laze_tensor_size(result, i), i == 2 ? 1 : 1 + i % 3);
    ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
    laze_context_release(context);
  }
}
END_TEST

/* A read finds the sizes on the way, and is no sync of its own. */
START_TEST(a_read_finds_sizes_too) {
  laze_context *context = new_context();
  laze_scope *scope = laze_scope_begin(context);
  laze_tensor *x = first_of(context, count_above(context, 5.5f));
  float data[8];
  ck_assert_int_eq(laze_tensor_read(x, LAZE_F32, data, 2 * sizeof *data), LAZE_OK);
  ck_assert_float_eq(data[1], 1);
  x = first_of(context, count_above(context, 5.5f));
  ck_assert_int_eq(laze_tensor_read(x, LAZE_F32, data, sizeof data), LAZE_INVALID_ARGUMENT);
  ck_assert_ptr_nonnull(strstr(laze_tensor_error(x), "f32[2] read as f32 takes 8 bytes, but size is 32"));
  ck_assert_float_eq(laze_tensor_item(first_of(context, count_above(context, 6.5f))), 0);
  laze_tensor *none = first_of(context, count_above(context, 7.5f));
  ck_assert_int_eq(laze_tensor_read(none, LAZE_F32, NULL, 0), LAZE_OK);
  laze_export lent;
  ck_assert_int_eq(laze_tensor_export(first_of(context, count_above(context, 3.5f)), &lent, NULL), LAZE_OK);
  ck_assert_int_eq(lent.sizes[0], 4);
  laze_export_release(&lent);
  ck_assert_int_eq(metric(context, "size_syncs"), 0);
  ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
  laze_context_release(context);
}
END_TEST

/* A size that is no size fails what depends on it, and nothing beside. */
START_TEST(a_wrong_size_is_an_error_of_what_depends_on_it) {
  laze_context *context = new_context();
  laze_scope *outer = laze_scope_begin(context), *scope = laze_scope_begin(context);
  laze_tensor *count = count_above(context, 4.5f);
  laze_tensor *wrong = laze_tensor_retain(zeros(context, shifted(context, count, -5)));
  laze_tensor *behind = laze_tensor_retain(unary("sum", wrong));
  laze_tensor *beside = laze_tensor_retain(zeros(context, shifted(context, count, -1)));
  ck_assert_int_eq(laze_step_end(scope, NULL), LAZE_OUT_OF_RANGE);
  ck_assert_int_eq(laze_tensor_elements(beside), 4);
  ck_assert_int_eq(laze_tensor_size(wrong, 0), -1);
  ck_assert_int_eq(laze_tensor_size(wrong, 1), 2);
  ck_assert_int_eq(laze_tensor_elements(wrong), -1);
  ck_assert_int_eq(laze_tensor_dtype(wrong), LAZE_F32);
  ck_assert_ptr_nonnull(strstr(laze_tensor_error(wrong), "-2"));
  ck_assert_str_eq(laze_tensor_error(behind), laze_tensor_error(wrong));
  ck_assert_str_eq(laze_tensor_error(neg(wrong)), laze_tensor_error(wrong));
  ck_assert_int_eq(laze_tensor_assign_error(beside, wrong, NULL), LAZE_OUT_OF_RANGE);
  ck_assert_int_eq(laze_tensor_elements(beside), 4);
  laze_tensor_release(wrong);
  laze_tensor_release(behind);
  laze_tensor_release(beside);
  (void)(laze_scope_end(outer) == LAZE_OK);
  laze_context_release(context);
}
END_TEST

/* Whether sizes agree has to be known to add: then the number is found, once, and the call recorded with it. */
START_TEST(a_rule_that_has_to_know_finds_the_size) {
  laze_context *context = new_context();
  laze_scope *scope = laze_scope_begin(context);
  laze_tensor *sum = add(first_of(context, count_above(context, 4.5f)), filled(context, 3, 10));
  ck_assert_int_eq(metric(context, "size_syncs"), 1);
  ck_assert_int_eq(laze_tensor_knows_size(sum, 0), 1);
  float data[3];
  ck_assert_int_eq(laze_tensor_read(sum, LAZE_F32, data, sizeof data), LAZE_OK);
  ck_assert_float_eq(data[2], 12);
  sum = add(first_of(context, count_above(context, 6.5f)), filled(context, 3, 10)); /* one element is repeated */
  ck_assert_int_eq(laze_tensor_size(sum, 0), 3);
  sum = add(first_of(context, count_above(context, 5.5f)), filled(context, 3, 10));
  ck_assert_ptr_nonnull(strstr(laze_tensor_error(sum), "f32[2]"));
  ck_assert_int_eq(laze_tensor_status(sum), LAZE_INVALID_ARGUMENT);
  ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
  laze_context_release(context);
}
END_TEST

static float sum_of_first(laze_context *context, float limit) {
  laze_scope *scope = laze_scope_begin(context);
  laze_tensor *x = first_of(context, count_above(context, limit));
  float sum = first(unary("sum", mul(add(x, x), x)), 1);
  ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
  return sum;
}

/* The same nodes step after step, whatever the numbers: 0 and 1 among them, and each found anew. */
START_TEST(steps_of_other_sizes_reuse_their_nodes) {
  laze_context *context = new_context();
  ck_assert_float_eq(sum_of_first(context, 4.5f), 10);
  int64_t nodes = metric(context, "nodes_recorded");
  for (int count = 0; count <= 8; count++) {
    float expected = 0;
    for (int i = 0; i < count; i++) expected += 2 * (float)(i * i);
    ck_assert_float_eq(sum_of_first(context, 7.5f - (float)count), expected);
  }
  ck_assert_int_eq(metric(context, "nodes_recorded"), 10 * nodes);
  /* But for the slice: while a handle keeps it pending, its end becomes a number. */
  ck_assert_int_eq(metric(context, "nodes_reused"), 9 * (nodes - 1));
  ck_assert_int_eq(metric(context, "trace_cache_misses"), 1);
  ck_assert_int_eq(metric(context, "size_syncs"), 0);
  laze_context_release(context);
}
END_TEST

/* What was recorded and never computed leaves nothing behind, however long it goes on, and values that stay pending
 * meanwhile keep their meaning. */
START_TEST(the_table_of_sizes_does_not_grow) {
  enum { ROUNDS = 3000 };
  laze_context *context = new_context();
  laze_scope *outer = laze_scope_begin(context);
  laze_tensor *kept = laze_tensor_retain(mul(first_of(context, count_above(context, 3.5f)), filled(context, 1, 2)));
  const laze_unknowns *unknowns = &laze_lazy_get(context)->unknowns;
  for (int i = 0; i < ROUNDS; i++) {
    laze_scope *scope = laze_scope_begin(context);
    for (int k = 0; k <= i % 3; k++) zeros(context, shifted(context, count_above(context, 3.5f), i % 5));
    ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
    ck_assert_int_lt(laze_size_symbol_count(unknowns->table), 600);
  }
  laze_tensor *twice = add(kept, kept);
  ck_assert_int_eq(laze_tensor_size(twice, 0), 4);
  float data[4];
  ck_assert_int_eq(laze_tensor_read(twice, LAZE_F32, data, sizeof data), LAZE_OK);
  ck_assert_float_eq(data[3], 12);
  laze_tensor_release(kept);
  ck_assert_int_eq(laze_scope_end(outer), LAZE_OK);
  laze_context_release(context);
}
END_TEST

/* An assignment compares sizes, and so finds them; not where they are the same anyway. */
START_TEST(assignments_compare_sizes) {
  laze_context *context = new_context();
  laze_scope *scope = laze_scope_begin(context);
  laze_tensor *count = count_above(context, 4.5f), *x = first_of(context, count), *y = neg(first_of(context, count));
  ck_assert_int_eq(laze_tensor_assign(x, y), LAZE_OK);
  ck_assert_int_eq(metric(context, "size_syncs"), 0);
  laze_tensor *three = filled(context, 3, 7), *four = filled(context, 4, 7);
  laze_error error;
  ck_assert_int_eq(laze_tensor_assign_error(four, x, &error), LAZE_INVALID_ARGUMENT);
  ck_assert_ptr_nonnull(strstr(error.message, "f32[4] and the source f32[3]"));
  ck_assert_int_eq(metric(context, "size_syncs"), 1);
  ck_assert_int_eq(laze_tensor_assign(three, x), LAZE_OK);
  float data[3];
  ck_assert_int_eq(laze_tensor_read(three, LAZE_F32, data, sizeof data), LAZE_OK);
  ck_assert_float_eq(data[2], -2);
  ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
  laze_context_release(context);
}
END_TEST

/* Places of what is not 0: none, one and all among them, in order, by the interpreter as well. */
START_TEST(nonzero_finds_places) {
  laze_context *context = new_context();
  for (int count = 0; count <= 8; count++) {
    laze_scope *scope = laze_scope_begin(context);
    float data[8] = {0, 1, 2, 3, 4, 5, 6, 7}, limit = 7.5f - (float)count;
    int64_t places[8];
    laze_tensor *x = laze_tensor_from_data(context, LAZE_F32, LAZE_SHAPE(8), data, sizeof data);
    laze_tensor *bound = laze_tensor_from_data(context, LAZE_F32, LAZE_SHAPE(1), &limit, sizeof limit);
    laze_tensor *mask = binary("gt.Tensor", x, bound);
    laze_tensor *rows = unary("nonzero", mask), *taken = binary("masked_select", x, mask);
    ck_assert_int_eq(laze_tensor_rank(rows), 2);
    ck_assert_int_eq(laze_tensor_read(rows, LAZE_I64, places, (size_t)count * sizeof *places), LAZE_OK);
    ck_assert_int_eq(laze_tensor_read(taken, LAZE_F32, data, (size_t)count * sizeof *data), LAZE_OK);
    for (int i = 0; i < count; i++) {
      ck_assert_int_eq(places[i], 8 - count + i);
      ck_assert_float_eq(data[i], (float)places[i]);
    }
    ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
  }
  ck_assert_int_eq(metric(context, "size_syncs"), 0);
  laze_context_release(context);
}
END_TEST

/* Two sizes that come from one number are one size, which nobody has to compute to compare: those of one mask,
 * and of shapes with its sum in them. */
START_TEST(sizes_of_one_number_are_the_same) {
  laze_context *context = new_context();
  laze_scope *scope = laze_scope_begin(context);
  float data[8] = {0, 1, 2, 3, 4, 5, 6, 7}, result[3];
  laze_tensor *x = laze_tensor_from_data(context, LAZE_F32, LAZE_SHAPE(8), data, sizeof data);
  laze_tensor *mask = binary("gt.Tensor", x, filled(context, 1, 4.5f));
  laze_tensor *a = binary("masked_select", x, mask), *b = binary("masked_select", neg(x), mask), *sum = mul(a, b);
  laze_tensor *rows = zeros(context, unary("sum", mask));
  laze_tensor *others = zeros(context, unary("sum", mask));
  ck_assert_int_eq(laze_tensor_has_size_of(a, 0, b, -1), 1);
  ck_assert_int_eq(laze_tensor_has_size_of(sum, 0, b, 0), 1);
  ck_assert_int_eq(laze_tensor_has_size_of(rows, 0, others, 0), 1);
  ck_assert_int_eq(laze_tensor_has_size_of(rows, 1, sum, 0), 0);
  ck_assert_int_eq(laze_tensor_has_size_of(a, 0, first_of(context, count_above(context, 4.5f)), 0), 0);
  ck_assert_int_eq(laze_tensor_has_size_of(a, 1, a, 1), 0);
  ck_assert_int_eq(laze_tensor_has_size_of(x, 0, neg(x), 0), 1);
  ck_assert_int_eq(laze_tensor_has_size_of(a, 0, NULL, 0), 0);
  ck_assert_int_eq(laze_tensor_size(rows, 1), 2); /* is known, whatever the other is */
  ck_assert_int_eq(metric(context, "size_syncs"), 0);
  ck_assert_int_eq(laze_tensor_read(sum, LAZE_F32, result, sizeof result), LAZE_OK);
  ck_assert_float_eq(result[2], -49);
  ck_assert_int_eq(laze_tensor_has_size_of(a, 0, b, 0), 1); /* as numbers, too */
  ck_assert_int_eq(metric(context, "size_syncs"), 0);
  ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
  laze_context_release(context);
}
END_TEST

/* What is selected by a mask, and a value beside it by the same; by another mask. Held beyond the step. */
static void select_by_two_masks(laze_context *context, laze_tensor **held, int round) {
  float data[8] = {0, 1, 2, 3, 4, 5, 6, 7};
  laze_scope *scope = laze_scope_begin(context);
  laze_tensor *x = laze_tensor_from_data(context, LAZE_F32, LAZE_SHAPE(8), data, sizeof data);
  laze_tensor *one = binary("gt.Tensor", x, filled(context, 1, (float)(round % 9) - 0.5f));
  laze_tensor *other = binary("lt.Tensor", x, filled(context, 1, (float)(round % 7) + 0.5f));
  laze_tensor_replace(&held[0], add(binary("masked_select", x, one), binary("masked_select", neg(x), one)));
  laze_tensor_replace(&held[1], binary("masked_select", x, other));
  laze_tensor_replace(&held[2], unary("nonzero", one));
  ck_assert_int_eq(laze_step_end(scope, NULL), LAZE_OK);
  ck_assert_int_eq(laze_tensor_size(held[0], 0), 8 - round % 9);
  ck_assert_int_eq(laze_tensor_size(held[1], 0), 1 + round % 7);
  ck_assert_int_eq(laze_tensor_size(held[2], 0), 8 - round % 9);
}

/* Steps whose masks select other numbers each time are one graph: no number enters it. */
START_TEST(steps_of_two_masks_are_one_graph) {
  laze_context *context = new_context();
  laze_tensor *held[3] = {0};
  for (int round = 0; round < 3; round++) select_by_two_masks(context, held, round);
  const int64_t misses = metric(context, "trace_cache_misses"), compiled = metric(context, "kernels_compiled");
  for (int round = 0; round < 100; round++) select_by_two_masks(context, held, round);
  ck_assert_int_eq(metric(context, "trace_cache_misses"), misses);
  ck_assert_int_eq(metric(context, "kernels_compiled"), compiled);
  ck_assert_int_eq(metric(context, "size_syncs"), 0);
  for (int i = 0; i < 3; i++) laze_tensor_release(held[i]);
  laze_context_release(context);
}
END_TEST

/* Numbers that are there already are sizes as they are. */
START_TEST(numbers_that_are_known_are_sizes) {
  laze_context *context = new_context();
  laze_scope *scope = laze_scope_begin(context);
  laze_tensor *three = laze_tensor_from_scalar(context, LAZE_I64, laze_scalar_integer(3));
  ck_assert_int_eq(laze_tensor_knows_size(zeros(context, three), 0), 1);
  int32_t two = 2;
  laze_tensor *stored = laze_tensor_from_data(context, LAZE_I32, LAZE_SHAPE_SCALAR, &two, sizeof two);
  ck_assert_int_eq(laze_tensor_knows_size(zeros(context, stored), 0), 1);
  ck_assert_int_eq(laze_tensor_size(zeros(context, stored), 0), 2);
  ck_assert_int_eq(metric(context, "graphs_run"), 0);
  const float half = 0.5f;
  laze_tensor *real = laze_tensor_from_data(context, LAZE_F32, LAZE_SHAPE_SCALAR, &half, sizeof half);
  ck_assert_int_ne(laze_tensor_status(zeros(context, real)), LAZE_OK);
  ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
  laze_context_release(context);
}
END_TEST

static laze_context *shared_context;
static laze_tensor *shared;

static void *ask_and_read(void *self) {
  float data[5];
  laze_scope *scope = laze_scope_begin(shared_context);
  laze_tensor *twice = add(shared, shared);
  for (int i = 0; i < 50; i++) sum_of_first(shared_context, 7.5f - (float)(i % 9));
  bool right = laze_tensor_size(twice, 0) == 5 && laze_tensor_read(twice, LAZE_F32, data, sizeof data) == LAZE_OK &&
               data[4] == 8;
  return laze_scope_end(scope) == LAZE_OK && right ? NULL : self;
}

/* Threads ask for, and compute, what one of them recorded. */
START_TEST(threads_share_unknown_sizes) {
  shared_context = new_context();
  laze_scope *scope = laze_scope_begin(shared_context);
  pthread_t threads[4];
  shared = laze_tensor_retain(first_of(shared_context, count_above(shared_context, 2.5f)));
  for (intptr_t i = 0; i < 4; i++)
    ck_assert_int_eq(pthread_create(&threads[i], NULL, ask_and_read, (void *)(i + 1)), 0);
  for (int i = 0; i < 4; i++) {
    void *result;
    ck_assert_int_eq(pthread_join(threads[i], &result), 0);
    ck_assert_ptr_null(result);
  }
  laze_tensor_release(shared);
  ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
  laze_context_release(shared_context);
}
END_TEST

int main(void) {
  const TTest *const tests[] = {sizes_are_computed_when_they_are_asked_for,
                                the_first_call_may_name_several_sizes,
                                a_read_finds_sizes_too,
                                a_wrong_size_is_an_error_of_what_depends_on_it,
                                a_rule_that_has_to_know_finds_the_size,
                                steps_of_other_sizes_reuse_their_nodes,
                                the_table_of_sizes_does_not_grow,
                                assignments_compare_sizes,
                                numbers_that_are_known_are_sizes,
                                nonzero_finds_places,
                                sizes_of_one_number_are_the_same,
                                steps_of_two_masks_are_one_graph,
                                threads_share_unknown_sizes};
  return run_tests("unknown", tests, sizeof tests / sizeof *tests);
}
