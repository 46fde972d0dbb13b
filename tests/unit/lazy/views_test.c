/* Views and writes in place: values in whatever order they are forced, what is kept, and what lets go of what. */
#include "laze/laze.h"
#include "tests/unit/lazy/support.h"

static laze_context *new_interpreter(void) {
  laze_context_options options = {
      .struct_size = sizeof options, .backend = "interp", .cache_directory = "", .threads = 1};
  laze_context *context;
  ck_assert_int_eq(laze_context_create(&options, &context, NULL), LAZE_OK);
  return context;
}

static laze_tensor *floats(laze_context *context, laze_ints shape, const float *data, size_t size) {
  return laze_tensor_from_data(context, LAZE_F32, shape, data, size);
}
#define FLOATS(context, shape, ...) floats(context, shape, __VA_ARGS__, sizeof(__VA_ARGS__))

static void write_to(laze_tensor *destination, laze_tensor *source) {
  laze_error error;
  ck_assert_msg(laze_tensor_write(destination, source, &error) == LAZE_OK, "%s", error.message);
}

static void expect_floats(laze_tensor *tensor, const float *expected, size_t size) {
  float got[64];
  ck_assert_uint_le(size, sizeof got);
  ck_assert_msg(laze_tensor_read(tensor, LAZE_F32, got, size) == LAZE_OK, "%s", laze_tensor_error(tensor));
  for (size_t i = 0; i < size / sizeof *got; i++) ck_assert_float_eq(got[i], expected[i]);
}
#define EXPECT(tensor, ...) expect_floats(tensor, __VA_ARGS__, sizeof(__VA_ARGS__))

static int64_t metric_of(laze_context *context, const char *name) {
  int64_t value = -1;
  ck_assert_int_eq(laze_metric_read(context, name, &value, NULL), LAZE_OK);
  return value;
}

/* What was recorded before a write has the old value, whichever is computed first. */
START_TEST(case_c01_reads_before_a_write_have_the_old_value) {
  laze_context *context = new_interpreter();
  for (int order = 0; order < 2; order++) {
    laze_scope *scope = laze_scope_begin(context);
    laze_tensor *x = FLOATS(context, LAZE_SHAPE(2), (float[]){1, 2});
    laze_tensor *r = laze_add(x, 10.0);
    write_to(laze_narrow(x, 0, 0, 1), FLOATS(context, LAZE_SHAPE(1), (float[]){9}));
    if (order == 0) EXPECT(r, (float[]){11, 12});
    EXPECT(x, (float[]){9, 2});
    EXPECT(r, (float[]){11, 12});
    ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
  }
  laze_context_release(context);
}
END_TEST

START_TEST(a_tensor_tells_whether_it_is_a_view) {
  laze_context *context = new_interpreter();
  laze_scope *scope = laze_scope_begin(context);
  laze_tensor *x = FLOATS(context, LAZE_SHAPE(2), (float[]){1, 2});
  laze_tensor *row = laze_unsqueeze(x, 0);
  ck_assert_int_eq(laze_tensor_is_view(row), 1);
  ck_assert_int_eq(laze_tensor_is_view(x), 0); /* what others are views of is none */
  ck_assert_int_eq(laze_tensor_is_view(laze_clone(row)), 0);
  ck_assert_int_eq(laze_tensor_is_view(laze_add(row, 1)), 0);
  ck_assert_int_eq(laze_tensor_is_view(NULL), 0);
  ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
  laze_context_release(context);
}
END_TEST

START_TEST(case_c02_a_write_to_every_second_element_converts) {
  laze_context *context = new_interpreter();
  laze_scope *scope = laze_scope_begin(context);
  const int32_t zeros[6] = {0};
  laze_tensor *y = laze_tensor_from_data(context, LAZE_I32, LAZE_SHAPE(6), zeros, sizeof zeros);
  laze_tensor *seconds = laze_select(laze_reshape(y, LAZE_SHAPE(3, 2)), 1, 0);
  write_to(seconds, FLOATS(context, LAZE_SHAPE(3), (float[]){1.5F, 3.5F, 5.5F}));
  EXPECT(y, (float[]){1, 0, 3, 0, 5, 0});
  ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
  laze_context_release(context);
}
END_TEST

/* as_strided is of the memory, of which the view is only a part. */
START_TEST(case_c04_as_strided_of_a_view_reaches_all_of_the_base) {
  laze_context *context = new_interpreter();
  laze_scope *scope = laze_scope_begin(context);
  laze_tensor *x = FLOATS(context, LAZE_SHAPE(10), (float[]){0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  laze_tensor *v = laze_narrow(x, 0, 2, 8), *all = laze_as_strided(v, LAZE_SHAPE(10), LAZE_INTS(1), 0);
  EXPECT(all, (float[]){0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  EXPECT(laze_as_strided(v, LAZE_SHAPE(2), LAZE_INTS(1), LAZE_NONE), (float[]){2, 3}); /* from where the view begins */
  write_to(laze_select(all, 0, 3), laze_tensor_from_scalar(context, LAZE_F32, -3.0));
  EXPECT(v, (float[]){2, -3, 4, 5, 6, 7, 8, 9});
  ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
  laze_context_release(context);
}
END_TEST

/* The source is what it is before the write, also where it is partly the destination. */
START_TEST(case_c06_an_overlapping_source_is_a_snapshot) {
  laze_context *context = new_interpreter();
  laze_scope *scope = laze_scope_begin(context);
  laze_tensor *a = FLOATS(context, LAZE_SHAPE(3, 3), (float[]){0, 1, 2, 3, 4, 5, 6, 7, 8});
  write_to(laze_narrow(a, 1, 1, 2), laze_narrow(a, 1, 0, 2));
  EXPECT(a, (float[]){0, 0, 1, 3, 3, 4, 6, 6, 7});
  ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
  laze_context_release(context);
}
END_TEST

START_TEST(case_c07_a_row_is_written_from_what_it_was) {
  enum { COLUMNS = 100 };
  laze_context *context = new_interpreter();
  laze_scope *scope = laze_scope_begin(context);
  float data[2 * COLUMNS], got[2 * COLUMNS];
  for (int i = 0; i < 2 * COLUMNS; i++) data[i] = (float)i;
  laze_tensor *x = floats(context, LAZE_SHAPE(2, COLUMNS), data, sizeof data), *row = laze_select(x, 0, 0);
  write_to(row, laze_roll(row, 5, 0));
  ck_assert_int_eq(laze_tensor_read(x, LAZE_F32, got, sizeof got), LAZE_OK);
  for (int i = 0; i < COLUMNS; i++) {
    ck_assert_float_eq(got[i], data[(i + COLUMNS - 5) % COLUMNS]);
    ck_assert_float_eq(got[COLUMNS + i], data[COLUMNS + i]);
  }
  ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
  laze_context_release(context);
}
END_TEST

/* What was lent keeps its bytes; the tensor has others. */
START_TEST(row_5_17_a_buffer_that_was_lent_does_not_change) {
  laze_context *context = new_interpreter();
  laze_scope *scope = laze_scope_begin(context);
  laze_export lent, new_value;
  laze_tensor *x = FLOATS(context, LAZE_SHAPE(3), (float[]){1, 2, 3}), *v = laze_narrow(x, 0, 1, 2);
  ck_assert_int_eq(laze_tensor_export(x, &lent, NULL), LAZE_OK);
  write_to(v, FLOATS(context, LAZE_SHAPE(1), (float[]){7}));
  ck_assert_float_eq(((const float *)lent.data)[1], 2);
  ck_assert_int_eq(laze_tensor_export(x, &new_value, NULL), LAZE_OK);
  ck_assert_float_eq(((const float *)new_value.data)[1], 7);
  laze_export_release(&lent);
  laze_export_release(&new_value);
  ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
  laze_context_release(context);
}
END_TEST

/* reshape copies where strides do not allow a view; view says so instead. */
START_TEST(row_5_17_strides_decide_between_views_and_copies) {
  laze_context *context = new_interpreter();
  laze_scope *scope = laze_scope_begin(context);
  laze_tensor *x = FLOATS(context, LAZE_SHAPE(2, 2), (float[]){1, 2, 3, 4}), *t = laze_t(x);
  laze_tensor *copy = laze_reshape(t, LAZE_SHAPE(4)), *same = laze_reshape(x, LAZE_SHAPE(4));
  write_to(x, FLOATS(context, LAZE_SHAPE(1), (float[]){0}));
  EXPECT(copy, (float[]){1, 3, 2, 4});
  EXPECT(same, (float[]){0, 0, 0, 0});
  laze_tensor *refused = laze_view(t, LAZE_SHAPE(4));
  ck_assert_int_eq(laze_tensor_status(refused), LAZE_INVALID_ARGUMENT);
  ck_assert_ptr_nonnull(strstr(laze_tensor_error(refused), "use reshape"));
  ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
  laze_context_release(context);
}
END_TEST

/* A row of a large tensor that is gone keeps its own elements, and not those of the tensor. */
START_TEST(row_5_17_a_part_lets_go_of_what_it_was_part_of) {
  enum { ROWS = 1000, COLUMNS = 1000 };
  laze_context *context = new_interpreter();
  laze_scope *outer = laze_scope_begin(context), *scope = laze_scope_begin(context);
  float *data = calloc((size_t)ROWS * COLUMNS, sizeof *data);
  laze_tensor *x =
      laze_tensor_from_data(context, LAZE_F32, LAZE_SHAPE(ROWS, COLUMNS), data, sizeof *data * ROWS * COLUMNS);
  laze_tensor *row = laze_tensor_retain(laze_select(laze_add(x, 1.0), 0, 7));
  free(data);
  ck_assert_int_eq(laze_step_end(scope, NULL), LAZE_OK);
  ck_assert_int_lt(metric_of(context, "current_bytes"), (int64_t)ROWS * COLUMNS);
  write_to(row, laze_mul(row, 2.0));
  float got[COLUMNS];
  ck_assert_int_eq(laze_tensor_read(row, LAZE_F32, got, sizeof got), LAZE_OK);
  ck_assert_float_eq(got[5], 2);
  laze_tensor_release(row);
  ck_assert_int_eq(laze_scope_end(outer), LAZE_OK);
  laze_context_release(context);
}
END_TEST

/* A buffer that is filled row by row, with views of it that stay: each step computes what is new, and no more. */
START_TEST(row_5_17_steps_that_write_do_not_grow) {
  laze_context *context = new_interpreter();
  laze_scope *outer = laze_scope_begin(context);
  float zeros[16] = {0};
  laze_tensor *table = floats(context, LAZE_SHAPE(8, 2), zeros, sizeof zeros);
  laze_tensor *kept[2] = {laze_tensor_retain(laze_narrow(table, 0, 0, 5)),
                          laze_tensor_retain(laze_narrow(table, 0, 3, 5))};
  for (int i = 0; i < 400; i++) {
    laze_scope *scope = laze_scope_begin(context);
    laze_tensor *row = laze_select(table, 0, i % 8);
    write_to(row, laze_add(row, 1.0));
    ck_assert_int_eq(laze_step_end(scope, NULL), LAZE_OK);
  }
  ck_assert_int_lt(metric_of(context, "nodes_executed"), 400 * 12);
  EXPECT(kept[0], (float[]){50, 50, 50, 50, 50, 50, 50, 50, 50, 50});
  EXPECT(kept[1], (float[]){50, 50, 50, 50, 50, 50, 50, 50, 50, 50});
  laze_tensor_release(kept[0]);
  laze_tensor_release(kept[1]);
  ck_assert_int_eq(laze_scope_end(outer), LAZE_OK);
  laze_context_release(context);
}
END_TEST

/* Sizes that a value defines: a part of them is a value, and what it is a part of may be written to; what is all of
 * its base needs no sizes. */
START_TEST(row_5_17_a_view_of_unknown_size_says_that_it_is_no_more) {
  laze_context *context = new_interpreter();
  laze_scope *scope = laze_scope_begin(context);
  laze_error error;
  laze_tensor *x = FLOATS(context, LAZE_SHAPE(3), (float[]){1, -2, 3});
  laze_tensor *positive = laze_masked_select(x, laze_gt(x, 0.0)), *part = laze_unsqueeze(positive, 0),
              *whole = laze_detach(positive);
  ck_assert_int_eq(laze_tensor_write(part, laze_neg(part), &error), LAZE_FAILED_PRECONDITION);
  ck_assert_ptr_nonnull(strstr(error.message, "sizes follow from values"));
  write_to(positive, FLOATS(context, LAZE_SHAPE(1), (float[]){7}));
  write_to(whole, laze_mul(whole, 2.0));
  EXPECT(positive, (float[]){14, 14});
  EXPECT(whole, (float[]){14, 14});
  float got[2];
  ck_assert_int_eq(laze_tensor_read(part, LAZE_F32, got, sizeof got), LAZE_FAILED_PRECONDITION);
  ck_assert_ptr_nonnull(strstr(laze_tensor_error(part), "laze_tensor_size"));
  ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
  laze_context_release(context);
}
END_TEST

int main(void) {
  const TTest *const tests[] = {
      a_tensor_tells_whether_it_is_a_view,
      case_c01_reads_before_a_write_have_the_old_value,
      case_c02_a_write_to_every_second_element_converts,
      case_c04_as_strided_of_a_view_reaches_all_of_the_base,
      case_c06_an_overlapping_source_is_a_snapshot,
      case_c07_a_row_is_written_from_what_it_was,
      row_5_17_a_buffer_that_was_lent_does_not_change,
      row_5_17_strides_decide_between_views_and_copies,
      row_5_17_a_part_lets_go_of_what_it_was_part_of,
      row_5_17_steps_that_write_do_not_grow,
      row_5_17_a_view_of_unknown_size_says_that_it_is_no_more,
  };
  Suite *suite = suite_create("views");
  TCase *group = tcase_create("views");
  tcase_set_timeout(group, 120);
  for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) tcase_add_test(group, tests[i]);
  suite_add_tcase(suite, group);
  return test_run_suite(suite);
}
