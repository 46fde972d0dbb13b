/* What a caller can get wrong, and sizes at the edge of what there is: an error that says what, or the right numbers,
 * the same from every backend. */
#include "tests/support/backends.h"
#include "laze/laze.h"
#include "tests/unit/lazy/support.h"
#include "tests/support/suite.h"

#include <check.h>
#include <math.h>
#include <stdio.h>

static const float numbers[] = {1, 2, 3, 4, 5, 6};
static laze_context *context;
static laze_scope *scope;

static void begin(int backend) {
  laze_context_options options = {
      .struct_size = sizeof options, .backend = laze_backend_at(backend)->name, .cache_directory = ""};
  ck_assert_int_eq(laze_context_create(&options, &context, NULL), LAZE_OK);
  scope = laze_scope_begin(context);
}

static void end(void) {
  (void)laze_scope_end(scope);
  laze_context_release(context);
}

static laze_tensor *matrix(void) {
  return laze_tensor_from_data(context, LAZE_F32, LAZE_SHAPE(2, 3), numbers, sizeof numbers);
}
static laze_tensor *empty(int64_t rows, int64_t columns) {
  return laze_zeros(context, LAZE_SHAPE(rows, columns), LAZE_F32);
}

/* Computing fails, with a message that has `part` in it. */
static void check_fails(laze_tensor *tensor, const char *part) {
  ck_assert_int_ne(laze_tensor_materialise(tensor), LAZE_OK);
  ck_assert_msg(strstr(laze_tensor_error(tensor), part) != NULL, "'%s' does not say '%s'", laze_tensor_error(tensor),
                part);
}

static void check_values(laze_tensor *tensor, int count, const double *expected) {
  double values[16];
  ck_assert_msg(laze_tensor_read(tensor, LAZE_F64, values, (size_t)count * sizeof *values) == LAZE_OK, "%s",
                laze_tensor_error(tensor));
  for (int i = 0; i < count; i++) ck_assert_msg(values[i] == expected[i], "%d: %g", i, values[i]);
}

/* There is no largest of no elements: -inf or the lowest integer would be a number that nobody gave. */
START_TEST(the_largest_of_no_elements_is_an_error_that_names_the_axis) {
  begin(_i);
  check_fails(laze_amax(empty(3, 0), 1, false), "laze_amax: axis 1 of f32[3,0] has no element");
  check_fails(laze_argmin(empty(3, 0), LAZE_NONE, false), "laze_argmin: axis 0 of f32[0] has no element");
  check_fails(laze_max(empty(0, 2)), "laze_max: axis 0 of f32[0,2] has no element");
  /* Nothing is chosen where the result is empty as well. */
  check_values(laze_amax(empty(3, 0), 0, false), 0, NULL);
  end();
}
END_TEST

/* They contain amax, and are defined all the same. */
START_TEST(softmax_of_an_empty_axis_is_empty_and_logsumexp_minus_infinity) {
  begin(_i);
  check_values(laze_softmax(empty(3, 0), 1), 0, NULL);
  check_values(laze_log_softmax(empty(3, 0), 1), 0, NULL);
  check_values(laze_logsumexp(empty(2, 0), 1, false), 2, (double[]){-INFINITY, -INFINITY});
  check_fails(laze_softmax(matrix(), 2), "laze_softmax: axis 2 is out of range for rank 2");
  end();
}
END_TEST

/* A kernel reads it as 0 or 1 and would compute with other bytes. */
START_TEST(a_bool_is_a_byte_0_or_1) {
  begin(_i);
  const unsigned char bytes[] = {1, 0, 7};
  check_fails(laze_tensor_from_data(context, LAZE_BOOL, LAZE_SHAPE(3), bytes, 3), "element 2 is the byte 7");
  check_fails(laze_tensor_borrow(context, LAZE_BOOL, LAZE_SHAPE(3), bytes, 3, NULL, NULL), "element 2 is the byte 7");
  const laze_scalar five = {.dtype = LAZE_BOOL, .value.integer = 5};
  check_values(laze_tensor_from_scalar(context, LAZE_I64, five), 1, (double[]){1});
  check_values(laze_add(laze_ones(context, LAZE_SHAPE(1), LAZE_F32), five), 1, (double[]){2});
  end();
}
END_TEST

static void count_release(void *self) {
  ++*(int *)self;
}

START_TEST(borrowed_memory_is_aligned) {
  begin(_i);
  int released = 0;
  check_fails(
      laze_tensor_borrow(context, LAZE_F32, LAZE_SHAPE(2), (const char *)numbers + 1, 8, count_release, &released),
      "is not aligned to the 4 bytes of a f32");
  ck_assert_int_eq(released, 1);
  end();
}
END_TEST

/* As callers write "to the end", and what follows from sums and products of such numbers. */
START_TEST(a_slice_takes_bounds_and_steps_of_any_size) {
  begin(_i);
  check_values(laze_slice(matrix(), 1, 1, INT64_MAX, 1), 4, (double[]){2, 3, 5, 6});
  check_values(laze_slice(matrix(), 1, INT64_MIN, LAZE_NONE, INT64_MAX), 2, (double[]){1, 4});
  laze_tensor *ones = laze_exp(laze_neg(laze_zeros(context, LAZE_SHAPE(2, 3), LAZE_F32)));
  check_values(laze_neg(laze_slice(ones, 1, INT64_MIN, LAZE_NONE, INT64_MAX)), 2, (double[]){-1, -1});
  check_values(laze_slice(matrix(), 0, INT64_MAX, INT64_MIN, 1), 0, NULL);
  laze_argument arguments[] = {pass(matrix()),
                               {.kind = LAZE_PASS_INTEGER, .value.integer = 0},
                               {.kind = LAZE_PASS_DEFAULT},
                               {.kind = LAZE_PASS_INTEGER, .value.integer = INT64_MAX}};
  check_values(call("slice", arguments, 4), 6, (double[]){1, 2, 3, 4, 5, 6});
  end();
}
END_TEST

/* Their product is 0, but those of some of their sizes do not fit 64 bits. */
START_TEST(tensors_without_elements_may_have_huge_sizes) {
  begin(_i);
  laze_tensor *x = laze_tensor_from_data(context, LAZE_F32, LAZE_SHAPE(INT64_C(1) << 62, 7, 0), NULL, 0);
  ck_assert_int_eq(laze_tensor_elements(x), 0);
  check_values(laze_exp(laze_add(x, x)), 0, NULL);
  check_values(laze_sum(x), 1, (double[]){0});
  check_values(x, 0, NULL);
  end();
}
END_TEST

START_TEST(attributes_are_checked_before_they_are_cut_to_size) {
  begin(_i);
  laze_argument to[] = {pass(matrix()), {.kind = LAZE_PASS_INTEGER, .value.integer = (INT64_C(1) << 32) + LAZE_F32}};
  check_fails(call("to.dtype", to, 2), "argument 'dtype' is 4294967308, which is no dtype");
  check_fails(laze_to(matrix(), 256 + LAZE_F64), "laze_to: argument 'dtype' is 269, which is no dtype");
  check_fails(laze_reshape(matrix(), LAZE_SHAPE(INT64_MIN)),
              "laze_reshape: argument 'shape': number 0 is -9223372036854775808");
  check_fails(laze_iota(context, LAZE_SHAPE(2, 3), INT32_MAX, LAZE_I64),
              "laze_iota: axis 2147483647 is out of range for rank 2");
  end();
}
END_TEST

/* A number that is no size must not become the nearest one: a zero elsewhere makes any shape small, and the tensor
 * would have a size that nobody asked for. What is refused is named as it was written. */
START_TEST(a_number_that_is_no_size_is_refused_by_its_own_name) {
  const int64_t most = INT64_C(1) << 62;
  begin(_i);
  check_fails(laze_eye_rectangular(context, 0, INT64_MAX, LAZE_F32),
              "laze_eye_rectangular: axis 1 has size 9223372036854775807; sizes are 0 to 2^62");
  check_fails(laze_eye_rectangular(context, most + 1, 0, LAZE_F32),
              "laze_eye_rectangular: axis 0 has size 4611686018427387905");
  check_fails(laze_eye(context, INT64_MAX, LAZE_F32), "laze_eye: axis 0 has size 9223372036854775807");
  check_fails(laze_eye_rectangular(context, 0, INT64_MIN, LAZE_F32),
              "laze_eye_rectangular: axis 1 has size -2^62 or less; sizes are 0 to 2^62");
  ck_assert_int_eq(laze_tensor_size(laze_eye_rectangular(context, 0, most, LAZE_F32), 1), most);
  laze_argument sides[] = {{.kind = LAZE_PASS_INTEGER}, {.kind = LAZE_PASS_INTEGER, .value.integer = INT64_MAX}};
  check_fails(call("eye", sides, 2), "eye: axis 1 has size 9223372036854775807");
  check_fails(laze_select(matrix(), 0, INT64_MAX), "index 9223372036854775807 is out of range for dim 0");
  check_fails(laze_select(matrix(), 0, INT64_MIN), "index -2^62 or less is out of range for dim 0");
  check_fails(laze_narrow(matrix(), 0, 1, INT64_MAX), "start 1 and length 9223372036854775807 do not lie within dim 0");
  check_fails(laze_zeros(context, LAZE_SHAPE(0, INT64_MAX), LAZE_F32), "number 1 is 9223372036854775807");
  check_fails(laze_full(context, LAZE_SHAPE(0, most + 1), 1.0, LAZE_F32), "number 1 is 4611686018427387905");
  check_fails(laze_expand(empty(0, 3), LAZE_SHAPE(INT64_MAX, 0, 3)), "number 0 is 9223372036854775807");
  check_fails(laze_linspace(context, 0.0, 1.0, INT64_MAX, LAZE_F32),
              "laze_linspace: axis 0 has size 9223372036854775807");
  check_fails(laze_arange(context, INT64_MAX, LAZE_I64), "laze_arange: from 0 to 9223372036854775807 by 1");
  check_fails(laze_size_tensor(context, most + 1, LAZE_I64), "laze_size_tensor: the value is beyond 2^62");
  check_values(laze_size_tensor(context, most, LAZE_I64), 1, (double[]){(double)most});
  check_values(laze_slice(matrix(), 0, 1, INT64_MAX, 1), 3, (double[]){4, 5, 6});
  end();
}
END_TEST

/* No load needs the index where all rows are one: it is checked all the same. */
START_TEST(an_index_into_a_broadcast_axis_is_checked) {
  begin(_i);
  const int64_t bad[] = {0, 4}, good[] = {3, -4};
  laze_tensor *rows = laze_expand(laze_full(context, LAZE_SHAPE(1, 2), 5.0, LAZE_F32), LAZE_SHAPE(4, 2));
  check_fails(laze_index_select(rows, 0, laze_tensor_from_data(context, LAZE_I64, LAZE_SHAPE(2), bad, sizeof bad)),
              "index_select: index 4 at position 1 is out of range for an axis of size 4");
  check_values(laze_index_select(rows, 0, laze_tensor_from_data(context, LAZE_I64, LAZE_SHAPE(2), good, sizeof good)),
               4, (double[]){5, 5, 5, 5});
  end();
}
END_TEST

/* The caller wrote eye and knows of no iota. */
START_TEST(a_message_names_the_operator_that_was_called) {
  begin(_i);
  check_fails(laze_eye(context, -1, LAZE_F32), "laze_eye: axis 0 has size -1");
  check_fails(laze_mul(matrix(), laze_zeros(context, LAZE_SHAPE(2), LAZE_F32)),
              "laze_mul: shapes f32[2,3] and f32[2] do not broadcast: axis -1 has sizes 3 and 2");
  check_fails(laze_index_select(empty(0, 3), 0, laze_zeros(context, LAZE_SHAPE(1), LAZE_I64)),
              "is out of range for an axis of size 0, which has nothing to index");
  end();
}
END_TEST

/* Whoever reads a message looks for a function that he called: the one with options or a place is the same. */
START_TEST(a_message_names_the_function_that_was_called) {
  begin(_i);
  laze_tensor *released = laze_tensor_retain(matrix()), *two = laze_zeros(context, LAZE_SHAPE(2), LAZE_F32);
  laze_tensor *both[] = {matrix(), two};
  laze_error error;
  check_fails(laze_softmax(two, 3), ": laze_softmax: axis 3");
  check_fails(laze_cat(both, 2, 0), ": laze_cat: ");
  check_fails(laze_stack(both, 2, 0), ": laze_stack: ");
  check_fails(laze_linear(two, matrix(), NULL), ": laze_linear: ");
  check_fails(laze_add_with(two, matrix(), 2.0), ": laze_add: ");
  check_fails(laze_add(two, NULL), ": laze_add: argument 'other' is NULL");
  check_fails(laze_tensor_from_data(context, LAZE_F32, LAZE_SHAPE(2), NULL, 8), "laze_tensor_from_data: data is NULL");
  check_fails(laze_tensor_borrow(context, LAZE_F32, LAZE_SHAPE(2), NULL, 8, NULL, NULL),
              "laze_tensor_borrow: data is NULL");
  check_fails(laze_tensor_from_scalar(context, 99, 1.0), "laze_tensor_from_scalar: ");
  float data[2];
  ck_assert_int_eq(laze_tensor_read(two, LAZE_F32, data, 4), LAZE_INVALID_ARGUMENT);
  ck_assert_str_eq(laze_tensor_error(two), "laze_tensor_read: f32[2] read as f32 takes 8 bytes, but size is 4");
  ck_assert(isnan(laze_tensor_item(two)));
  ck_assert_str_eq(laze_tensor_error(two), "laze_tensor_item: the tensor is f32[2]; it must have one element");
  ck_assert_int_eq(laze_tensor_assign_error(two, NULL, &error), LAZE_INVALID_ARGUMENT);
  ck_assert_str_eq(error.message, "laze_tensor_assign_error: the source is NULL");
  ck_assert_int_eq(laze_step_end(NULL, &error), LAZE_OUT_OF_MEMORY);
  ck_assert_msg(strncmp(error.message, "laze_step_end: ", 15) == 0, "%s", error.message);
  laze_tensor_release(released);
  end();
}
END_TEST

/* What is called by name has the name that the caller wrote. */
START_TEST(a_message_names_the_operator_as_it_was_written) {
  begin(_i);
  laze_argument arguments[] = {pass(matrix()), {.kind = LAZE_PASS_INTEGER, .value.integer = 4}};
  ck_assert_str_eq(laze_tensor_error(call("softmax", arguments, 2)),
                   "softmax: axis 4 is out of range for rank 2; use -2 to 1");
  ck_assert_str_eq(laze_tensor_error(call("softmax.int", arguments, 2)),
                   "softmax.int: axis 4 is out of range for rank 2; use -2 to 1");
  end();
}
END_TEST

/* An assignment that says what was wrong has reported it: the scope has nothing left to say. */
START_TEST(an_assignment_returns_its_own_error) {
  begin(_i);
  laze_error error;
  laze_scope *inner = laze_scope_begin(context);
  laze_tensor *x = matrix();
  ck_assert_int_eq(laze_tensor_assign_error(x, laze_zeros(context, LAZE_SHAPE(2), LAZE_F32), &error),
                   LAZE_INVALID_ARGUMENT);
  ck_assert_msg(strstr(error.message, "the destination is f32[2,3] and the source f32[2]") != NULL, "%s",
                error.message);
  ck_assert_int_eq(laze_tensor_assign_error(x, laze_mm(x, x), &error), LAZE_INVALID_ARGUMENT); /* passed on */
  ck_assert_msg(strstr(error.message, "laze_mm: ") != NULL, "%s", error.message);
  ck_assert_int_eq(laze_scope_end(inner), LAZE_OK);
  inner = laze_scope_begin(context);
  x = matrix();
  ck_assert_int_eq(laze_tensor_assign_error(x, matrix(), &error), LAZE_OK);
  ck_assert_int_eq(error.code, LAZE_OK);
  ck_assert_int_eq(laze_tensor_assign(x, NULL), LAZE_INVALID_ARGUMENT); /* without a place for it: the scope's */
  ck_assert_int_eq(laze_scope_end(inner), LAZE_INVALID_ARGUMENT);
  end();
}
END_TEST

/* A caller may keep the text while it goes on using the tensor. */
START_TEST(the_text_of_an_error_lives_as_long_as_the_tensor) {
  begin(_i);
  float data[6];
  const char *texts[20];
  laze_tensor *x = matrix();
  for (size_t i = 0; i < 20; i++) {
    for (int again = 0; again < 3; again++)
      ck_assert_int_eq(laze_tensor_read(x, LAZE_F32, data, i), LAZE_INVALID_ARGUMENT);
    texts[i] = laze_tensor_error(x);
  }
  for (int i = 0; i < 20; i++) {
    char size[32];
    snprintf(size, sizeof size, "size is %d", i);
    ck_assert_msg(strstr(texts[i], size) != NULL, "%s", texts[i]);
  }
  for (int i = 0; i < 1000; i++) { /* the same text once more is no other */
    ck_assert_int_eq(laze_tensor_read(x, LAZE_F32, data, 3), LAZE_INVALID_ARGUMENT);
    ck_assert_ptr_eq(laze_tensor_error(x), texts[3]);
  }
  int64_t nine = 9;
  laze_tensor *index = laze_tensor_from_data(context, LAZE_I64, LAZE_SHAPE(1), &nine, sizeof nine);
  laze_tensor *kept = laze_tensor_retain(laze_index_select(x, 0, index));
  ck_assert_int_eq(laze_tensor_materialise(kept), LAZE_OUT_OF_RANGE);
  const char *text = laze_tensor_error(kept);
  ck_assert_int_eq(laze_tensor_assign(kept, laze_zeros(context, LAZE_SHAPE(1, 3), LAZE_F32)), LAZE_OK);
  ck_assert_msg(strstr(text, "index 9") != NULL, "%s", text);
  check_values(kept, 3, (double[]){0, 0, 0});
  laze_tensor_release(kept);
  end();
}
END_TEST

/* What one line compiled another line runs, perhaps as another composite's part: an error is that of the call that
 * failed, and not of the one that came first. */
START_TEST(an_error_of_a_run_names_the_call_that_failed) {
  begin(_i);
  const int64_t good[] = {1, 0}, bad[] = {0, 4};
  char expected[3][200];
  laze_tensor *rows[3];
  for (int k = 0; k < 3; k++) {
    int64_t hits, before;
    laze_tensor *table = matrix();
    laze_tensor *index = laze_tensor_from_data(context, LAZE_I64, LAZE_SHAPE(2), k == 0 ? good : bad, sizeof good);
    const char *called = k < 2 ? "embedding" : "index_select";
    int line = __LINE__ + 1;
    if (k == 0) rows[k] = laze_embedding(table, index);
    if (k == 1) rows[k] = laze_embedding(table, index);
    if (k == 2) rows[k] = laze_index_select(table, 0, laze_reshape(index, LAZE_SHAPE(2)));
    if (k == 2) rows[k] = laze_reshape(rows[k], LAZE_SHAPE(2, 3));
    snprintf(expected[k], sizeof expected[k], "%s:%d: %s: index 4 at position 1 is out of range for an axis of size 2",
             __FILE__, line + k, called);
    ck_assert_int_eq(laze_metric_read(context, "trace_cache_hits", &before, NULL), LAZE_OK);
    if (k == 0)
      check_values(rows[k], 6, (double[]){4, 5, 6, 1, 2, 3});
    else
      check_fails(rows[k], expected[k]);
    ck_assert_int_eq(laze_metric_read(context, "trace_cache_hits", &hits, NULL), LAZE_OK);
    ck_assert_int_eq(hits - before, k > 0); /* otherwise nothing was shared */
  }
  end();
}
END_TEST

/* Nor does the place in memory decide: the line is that of the value which is to be stored. */
START_TEST(no_memory_names_the_call_whose_value_was_to_be_stored) {
  begin(_i);
  char expected[200];
  laze_tensor *wide = laze_expand(laze_ones(context, LAZE_SHAPE(1, 1), LAZE_F32), LAZE_SHAPE(3000000, 3000000));
  laze_tensor *product = laze_mm(wide, wide);
  bool stored = !test_fuses(laze_backend_at(_i)); /* what is expanded */
  snprintf(expected, sizeof expected, "%s:%d: %s: its value f32[3000000,3000000]: no memory", __FILE__,
           __LINE__ - (stored ? 4 : 3), stored ? "expand" : "mm");
  check_fails(product, expected);
  check_values(laze_sum(matrix()), 1, (double[]){21}); /* nothing else suffers */
  end();
}
END_TEST

/* A scope is looked up, not followed: nothing that was freed is looked at. */
START_TEST(a_scope_that_is_ended_twice_is_an_error) {
  begin(_i);
  laze_error error;
  laze_scope *inner = laze_scope_begin(context);
  ck_assert_int_eq(laze_scope_end(inner), LAZE_OK);
  ck_assert_int_eq(laze_scope_end_error(inner, &error), LAZE_FAILED_PRECONDITION);
  ck_assert_str_eq(error.message, "laze_scope_end_error: this scope has ended already: end each scope once");
  ck_assert_str_eq(laze_scope_error(inner), "");
  check_values(laze_sum(matrix()), 1, (double[]){21});
  end();
}
END_TEST

/* A scope remembers a number of errors; those that reads have returned must not keep later ones out. */
START_TEST(many_errors_that_were_read_do_not_hide_the_one_that_was_not) {
  begin(_i);
  laze_error error;
  laze_scope *inner = laze_scope_begin(context);
  for (int i = 0; i < 100; i++) check_fails(laze_mm(matrix(), matrix()), "mm");
  (void)laze_permute(matrix(), LAZE_INTS(0));
  ck_assert_int_eq(laze_scope_end_error(inner, &error), LAZE_INVALID_ARGUMENT);
  ck_assert_msg(strstr(error.message, "laze_permute: 1 dims for f32[2,3]") != NULL, "%s", error.message);
  end();
}
END_TEST

START_TEST(missing_places_for_results_are_errors) {
  laze_error error;
  ck_assert_int_eq(laze_context_create(NULL, NULL, &error), LAZE_INVALID_ARGUMENT);
  ck_assert_str_eq(error.message, "laze_context_create: out is NULL");
  ck_assert_int_eq(laze_metric_read(NULL, "peak_bytes", NULL, &error), LAZE_INVALID_ARGUMENT);
  ck_assert_str_eq(error.message, "laze_metric_read: value is NULL");
  ck_assert_int_eq(laze_npy_read(NULL, "array.npy", NULL, &error), LAZE_INVALID_ARGUMENT);
  ck_assert_str_eq(error.message, "laze_npy_read: out is NULL: expected where the array goes");
  ck_assert_int_eq(laze_npy_write("array.npy", NULL, &error), LAZE_INVALID_ARGUMENT);
  laze_metric_each(NULL, NULL, NULL);
}
END_TEST

/* A list says how many items there are; without them there is nothing to read. */
START_TEST(a_list_without_items_is_an_error) {
  begin(_i);
  for (int32_t count = 1; count < 4; count++) {
    laze_ints none = {NULL, count};
    check_fails(laze_permute(matrix(), none), "laze_permute: argument 'dims'");
    check_fails(laze_zeros(context, none, LAZE_F32), "laze_zeros: argument 'size'");
  }
  end();
}
END_TEST

/* Who wants no results gives no place for them. The call is checked all the same, and its error is the scope's. */
START_TEST(results_may_be_left_out) {
  begin(_i);
  laze_argument argument = {.kind = LAZE_PASS_TENSOR, .value.tensor = matrix()};
  ck_assert_int_eq(laze_call_by_name(context, "neg", &argument, 1, NULL, 1), 0);
  laze_max_dim(matrix(), 1, false, NULL);
  ck_assert_str_eq(laze_scope_error(scope), "");
  laze_max_dim(matrix(), 7, false, NULL);
  ck_assert_msg(strstr(laze_scope_error(scope), "laze_max_dim") != NULL, "%s", laze_scope_error(scope));
  end();
}
END_TEST

int main(void) {
  const TTest *const on_each[] = {the_largest_of_no_elements_is_an_error_that_names_the_axis,
                                  softmax_of_an_empty_axis_is_empty_and_logsumexp_minus_infinity,
                                  a_bool_is_a_byte_0_or_1,
                                  borrowed_memory_is_aligned,
                                  a_slice_takes_bounds_and_steps_of_any_size,
                                  tensors_without_elements_may_have_huge_sizes,
                                  attributes_are_checked_before_they_are_cut_to_size,
                                  a_number_that_is_no_size_is_refused_by_its_own_name,
                                  a_message_names_the_operator_that_was_called,
                                  a_message_names_the_function_that_was_called,
                                  a_message_names_the_operator_as_it_was_written,
                                  an_assignment_returns_its_own_error,
                                  the_text_of_an_error_lives_as_long_as_the_tensor,
                                  an_index_into_a_broadcast_axis_is_checked,
                                  an_error_of_a_run_names_the_call_that_failed,
                                  no_memory_names_the_call_whose_value_was_to_be_stored,
                                  a_scope_that_is_ended_twice_is_an_error,
                                  many_errors_that_were_read_do_not_hide_the_one_that_was_not,
                                  a_list_without_items_is_an_error,
                                  results_may_be_left_out};
  Suite *suite = suite_create("bad input");
  TCase *tests = tcase_create("each backend");
  for (size_t i = 0; i < sizeof on_each / sizeof *on_each; i++)
    tcase_add_loop_test(tests, on_each[i], 0, test_backend_count());
  tcase_add_test(tests, missing_places_for_results_are_errors);
  suite_add_tcase(suite, tests);
  return test_run_suite(suite);
}
