/* Shape and dtype rules on constants and symbols. Types are written in their text form. */
#include "shape_inference/rules.h"
#include "tests/support/suite.h"

#include <check.h>
#include <string.h>

static laze_context *context;
static laze_size_table *table;
static laze_error error;
static laze_inference inference; /* with symbols */
static laze_inference constants; /* without a table, as the lazy layer calls */

static void setup(void) {
  ck_assert_int_eq(laze_context_create(NULL, &context, NULL), LAZE_OK);
  ck_assert_int_eq(laze_size_table_create(context, &table, NULL), LAZE_OK);
  inference = (laze_inference){table, "op", &error};
  constants = (laze_inference){NULL, "op", &error};
}

static void teardown(void) {
  laze_size_table_destroy(table);
  laze_context_release(context);
}

static laze_type type(const char *text) {
  laze_type out;
  const char *cursor = text;
  ck_assert_msg(laze_type_parse(table, &cursor, &out, &error) == LAZE_OK, "%s", error.message);
  return out;
}

/* Gives every symbol so far the next of `values`. */
static void hint(const int64_t *values) {
  for (int64_t i = 0; i < laze_size_symbol_count(table); i++)
    ck_assert_int_eq(laze_size_set_hint(table, i, values[i], &error), LAZE_OK);
}

static int64_t fact_count(void) {
  int64_t count;
  (void)laze_size_facts(table, &count);
  return count;
}

static void check_shape(laze_status status, const laze_type *out, const char *expected) {
  ck_assert_msg(status == LAZE_OK, "%s", error.message);
  laze_type named = *out, wanted = type(expected);
  named.kind = LAZE_TYPE_TENSOR;
  named.dtype = wanted.dtype;
  char text[200];
  ck_assert_msg(laze_type_equal(&named, &wanted), "%s, expected %s", laze_type_format(table, &named, text, sizeof text),
                expected);
}

static void check_error(laze_status status, laze_status expected, const char *message) {
  ck_assert_int_eq(status, expected);
  ck_assert_int_eq(error.code, expected);
  ck_assert_msg(strstr(error.message, message) != NULL, "message is: %s", error.message);
}

static laze_status broadcast(laze_inference *how, const char *a, const char *b, laze_type *out) {
  laze_type left = type(a), right = type(b);
  const laze_type *operands[] = {&left, &right};
  return laze_shape_broadcast(how, operands, 2, out);
}

START_TEST(broadcasting_constants) {
  laze_type out;
  check_shape(broadcast(&constants, "f32[2,3]", "f32[2,3]", &out), &out, "f32[2,3]");
  check_shape(broadcast(&constants, "f32[2,1]", "f32[3]", &out), &out, "f32[2,3]");
  check_shape(broadcast(&constants, "f32[3]", "f32[2,1]", &out), &out, "f32[2,3]");
  check_shape(broadcast(&constants, "f32[]", "f32[2,3]", &out), &out, "f32[2,3]");
  check_shape(broadcast(&constants, "f32[2,3]", "f32[]", &out), &out, "f32[2,3]");
  check_shape(broadcast(&constants, "f32[0,1]", "f32[1,5]", &out), &out, "f32[0,5]");
  check_shape(broadcast(&constants, "f32[]", "f32[]", &out), &out, "f32[]");
  check_shape(laze_shape_broadcast(&constants, NULL, 0, &out), &out, "f32[]");
}
END_TEST

START_TEST(broadcasting_errors_name_everything) {
  laze_type out;
  constants.operator_name = "add";
  check_error(broadcast(&constants, "f32[2,3]", "f32[4,3]", &out), LAZE_INVALID_ARGUMENT,
              "add: shapes f32[2,3] and f32[4,3] do not broadcast: axis 0 has sizes 2 and 4; make them equal or one of "
              "them 1");
  check_error(broadcast(&constants, "f32[5,2,3]", "i32[4]", &out), LAZE_INVALID_ARGUMENT, "axis -1 has sizes 3 and 4");
  check_error(broadcast(&constants, "f32[0]", "f32[2]", &out), LAZE_INVALID_ARGUMENT, "sizes 0 and 2");
  check_error(broadcast(&constants, "f32[1099511627776,1]", "f32[1,1099511627776]", &out), LAZE_OUT_OF_RANGE,
              "add: the result's shape [1099511627776,1099511627776] is too large");
  check_error(broadcast(&inference, "f32[n]", "f32[m]", &out), LAZE_INVALID_ARGUMENT, "sizes n and m");
}
END_TEST

/* Equal shapes ask nothing; different ones ask in an order that keeps what is known. */
START_TEST(broadcasting_symbols) {
  laze_type out;
  check_shape(broadcast(&inference, "f32[n,3]", "f32[n,3]", &out), &out, "f32[n,3]");
  check_shape(broadcast(&inference, "f32[n,1]", "f32[1,3]", &out), &out, "f32[n,3]");
  ck_assert_int_eq(fact_count(), 0);
  type("f32[n,m,k]");
  hint((int64_t[]){4, 4, 1});
  check_shape(broadcast(&inference, "f32[n]", "f32[m]", &out), &out, "f32[n]");
  check_shape(broadcast(&inference, "f32[n]", "f32[4]", &out), &out, "f32[4]");
  check_shape(broadcast(&inference, "f32[k]", "f32[n]", &out), &out, "f32[n]");
  check_shape(broadcast(&inference, "f32[7]", "f32[k]", &out), &out, "f32[7]");
  ck_assert(laze_facts_hold(table, (int64_t[]){4, 4, 1}));
  ck_assert(!laze_facts_hold(table, (int64_t[]){4, 5, 1}));
}
END_TEST

static laze_size_list list(const laze_size *items, int32_t count) {
  return (laze_size_list){items, count, true};
}
#define LIST(...)                                                                                                      \
  list((const laze_size[]){__VA_ARGS__}, (int32_t)(sizeof((const laze_size[]){__VA_ARGS__}) / sizeof(laze_size)))

START_TEST(reducing) {
  laze_type out, self = type("f32[2,3,n]"), scalar = type("f32[]");
  laze_size_list absent = {0};
  check_shape(laze_shape_reduce(&inference, &self, absent, false, &out), &out, "f32[]");
  check_shape(laze_shape_reduce(&inference, &self, list(NULL, 0), false, &out), &out, "f32[]");
  check_shape(laze_shape_reduce(&inference, &self, absent, true, &out), &out, "f32[1,1,1]");
  check_shape(laze_shape_reduce(&inference, &self, LIST(1), false, &out), &out, "f32[2,n]");
  check_shape(laze_shape_reduce(&inference, &self, LIST(-3, 2), true, &out), &out, "f32[1,3,1]");
  check_shape(laze_shape_reduce(&inference, &scalar, LIST(-1), true, &out), &out, "f32[]");
  check_error(laze_shape_reduce(&inference, &self, LIST(1, -2), false, &out), LAZE_INVALID_ARGUMENT,
              "axis 1 of f32[2,3,n] is listed twice");
  check_error(laze_shape_reduce(&inference, &self, LIST(3), false, &out), LAZE_OUT_OF_RANGE,
              "axis 3 is out of range for rank 3; use -3 to 2");
  check_error(laze_shape_reduce(&inference, &self, LIST(-4), false, &out), LAZE_OUT_OF_RANGE, "axis -4");
  laze_type empty = type("f32[0,2305843009213693952]"); /* no elements until the 0 is gone */
  check_error(laze_shape_reduce(&inference, &empty, LIST(0), false, &out), LAZE_OUT_OF_RANGE, "too large");
}
END_TEST

START_TEST(expanding) {
  laze_type out, self = type("f32[2,1]");
  check_shape(laze_shape_expand(&constants, &self, LIST(5, 2, 3), &out), &out, "f32[5,2,3]");
  check_shape(laze_shape_expand(&constants, &self, LIST(-1, 0), &out), &out, "f32[2,0]");
  check_shape(laze_shape_expand(&constants, &self, LIST(2, -1), &out), &out, "f32[2,1]");
  check_error(laze_shape_expand(&constants, &self, LIST(3, 1), &out), LAZE_INVALID_ARGUMENT,
              "axis 0 of f32[2,1] has size 2 and cannot become 3");
  check_error(laze_shape_expand(&constants, &self, LIST(2), &out), LAZE_INVALID_ARGUMENT, "at least as many sizes");
  check_error(laze_shape_expand(&constants, &self, LIST(-1, 2, 1), &out), LAZE_INVALID_ARGUMENT,
              "size -1 at position 0");
  check_error(laze_shape_expand(&constants, &self, LIST(2, -2), &out), LAZE_OUT_OF_RANGE, "size -2");
  check_error(laze_shape_expand(&constants, &self, LIST(2, (int64_t)1 << 60), &out), LAZE_OUT_OF_RANGE, "too large");
  laze_size many[17] = {0};
  check_error(laze_shape_expand(&constants, &self, list(many, 17), &out), LAZE_OUT_OF_RANGE, "17 dimensions");
  laze_size n = type("f32[n]").sizes[0];
  check_shape(laze_shape_expand(&inference, &self, LIST(2, n), &out), &out, "f32[2,n]");
  ck_assert_int_eq(fact_count(), 0);
}
END_TEST

START_TEST(permuting) {
  laze_type out, self = type("f32[2,3,n]");
  check_shape(laze_shape_permute(&inference, &self, LIST(2, 0, -2), &out), &out, "f32[n,2,3]");
  check_error(laze_shape_permute(&inference, &self, LIST(0, 1), &out), LAZE_INVALID_ARGUMENT, "2 dims for f32[2,3,n]");
  check_error(laze_shape_permute(&inference, &self, LIST(0, 1, -2), &out), LAZE_INVALID_ARGUMENT, "axis 1");
}
END_TEST

START_TEST(reshaping_constants) {
  laze_type out, self = type("f32[4,6]"), empty = type("f32[0,6]"), scalar = type("f32[]");
  check_shape(laze_shape_reshape(&constants, &self, LIST(2, -1, 3), &out), &out, "f32[2,4,3]");
  check_shape(laze_shape_reshape(&constants, &self, LIST(24), &out), &out, "f32[24]");
  check_shape(laze_shape_reshape(&constants, &scalar, LIST(1, -1), &out), &out, "f32[1,1]");
  check_shape(laze_shape_reshape(&constants, &empty, LIST(3, -1), &out), &out, "f32[3,0]");
  check_error(laze_shape_reshape(&constants, &empty, LIST(0, -1), &out), LAZE_INVALID_ARGUMENT,
              "f32[0,6] cannot become [0,-1]: any size would do");
  check_error(laze_shape_reshape(&constants, &self, LIST(5, -1), &out), LAZE_INVALID_ARGUMENT,
              "f32[4,6] cannot become [5,-1]");
  check_error(laze_shape_reshape(&constants, &self, LIST(5, 5), &out), LAZE_INVALID_ARGUMENT, "elements differ");
  check_error(laze_shape_reshape(&constants, &self, LIST(-1, -1), &out), LAZE_INVALID_ARGUMENT, "at most one");
  check_error(laze_shape_reshape(&constants, &self, LIST(-2, 12), &out), LAZE_OUT_OF_RANGE, "size -2");
  check_error(laze_shape_reshape(&constants, &self, LIST((int64_t)1 << 40, (int64_t)1 << 40), &out), LAZE_OUT_OF_RANGE,
              "too large");
}
END_TEST

START_TEST(reshaping_symbols) {
  laze_type out, self = type("f32[n,4,m]");
  laze_size n = self.sizes[0], m = self.sizes[2];
  check_shape(laze_shape_reshape(&inference, &self, LIST(-1), &out), &out, "f32[n*m*4]");
  check_shape(laze_shape_reshape(&inference, &self, LIST(2, -1), &out), &out, "f32[2,n*m*2]");
  check_shape(laze_shape_reshape(&inference, &self, LIST(m, 4, n), &out), &out, "f32[m,4,n]");
  ck_assert_int_eq(fact_count(), 0);
  check_shape(laze_shape_reshape(&inference, &self, LIST(n, -1), &out), &out, "f32[n,m*4]");
  ck_assert_int_eq(fact_count(), 1); /* that n is not 0 */
  check_error(laze_shape_reshape(&inference, &self, LIST(3, -1), &out), LAZE_INVALID_ARGUMENT, "no multiple");
}
END_TEST

START_TEST(reshaping_symbols_with_hints) {
  laze_type out, self = type("f32[n]");
  hint((int64_t[]){12});
  check_shape(laze_shape_reshape(&inference, &self, LIST(3, -1), &out), &out, "f32[3,floordiv(n, 3)]");
  check_shape(laze_shape_reshape(&inference, &self, LIST(3, 4), &out), &out, "f32[3,4]");
  ck_assert(laze_facts_hold(table, (int64_t[]){12}) && !laze_facts_hold(table, (int64_t[]){13}));
  check_error(laze_shape_reshape(&inference, &self, LIST(5, -1), &out), LAZE_INVALID_ARGUMENT, "no multiple");
}
END_TEST

static void check_bounds(int64_t size, const laze_size *start, const laze_size *end, int64_t step, int64_t first,
                         int64_t length) {
  laze_size f, l;
  ck_assert_int_eq(laze_slice_bounds(&constants, size, start, end, step, &f, &l), LAZE_OK);
  ck_assert_int_eq(f, first);
  ck_assert_int_eq(l, length);
}

/* The values are Python's: range(*slice(start, end, step).indices(size)). */
START_TEST(slicing_constants) {
  laze_size two = 2, seven = 7, minus = -3, far = INT64_MAX, back = -100;
  check_bounds(10, NULL, NULL, 1, 0, 10);
  check_bounds(10, &two, &seven, 1, 2, 5);
  check_bounds(10, &two, &seven, 2, 2, 3);
  check_bounds(10, &two, &far, 3, 2, 3);
  check_bounds(10, &minus, NULL, 1, 7, 3);
  check_bounds(10, &back, &minus, 1, 0, 7);
  check_bounds(10, &seven, &two, 1, 7, 0);
  check_bounds(10, &far, &far, 1, 10, 0);
  check_bounds(10, NULL, &back, 1, 0, 0);
  check_bounds(10, NULL, NULL, INT64_MAX, 0, 1);
  check_bounds(0, &two, &seven, 1, 0, 0);
  laze_type out, self = type("f32[4,10]"), scalar = type("f32[]");
  check_shape(laze_shape_slice(&constants, &self, -1, &two, &seven, 2, &out), &out, "f32[4,3]");
  check_error(laze_shape_slice(&constants, &self, 0, NULL, NULL, 0, &out), LAZE_OUT_OF_RANGE, "step 0");
  check_error(laze_shape_slice(&constants, &self, 0, NULL, NULL, -1, &out), LAZE_OUT_OF_RANGE, "step -1");
  check_error(laze_shape_slice(&constants, &scalar, 0, NULL, NULL, 1, &out), LAZE_INVALID_ARGUMENT, "no axis");
}
END_TEST

/* Symbolic bounds, evaluated, are the constant ones: with hints at the hints, without at every size. */
START_TEST(slicing_symbols) {
  static const int64_t bounds[] = {
      0, 2, 7, 100, -1, -3, -100, INT64_MAX, LAZE_SIZE_CONSTANT_MAX, LAZE_SIZE_CONSTANT_MIN};
  laze_size n = type("f32[n]").sizes[0];
  for (int hinted = 0; hinted < 2; hinted++)
    for (int64_t size = 0; size < 12; size++)
      for (int i = 0; i < 10; i++)
        for (int j = 0; j < 10; j++) {
          laze_size first, length, want_first, want_length;
          int64_t got_first, got_length, step = 1 + (i + j) % 3;
          if (hinted) hint(&size);
          ck_assert_int_eq(laze_slice_bounds(&constants, size, &bounds[i], &bounds[j], step, &want_first, &want_length),
                           LAZE_OK);
          laze_status status = laze_slice_bounds(&inference, n, &bounds[i], &bounds[j], step, &first, &length);
          ck_assert_msg(status == LAZE_OK, "%s", error.message);
          ck_assert_int_eq(laze_size_evaluate(table, first, &size, &got_first, &error), LAZE_OK);
          ck_assert_int_eq(laze_size_evaluate(table, length, &size, &got_length, &error), LAZE_OK);
          ck_assert_int_eq(got_first, want_first);
          ck_assert_int_eq(got_length, want_length);
          if (hinted) { /* each size asks anew */
            laze_size_table_destroy(table);
            ck_assert_int_eq(laze_size_table_create(context, &table, &error), LAZE_OK);
            inference.sizes = table;
            n = type("f32[n]").sizes[0];
          }
        }
}
END_TEST

START_TEST(concatenating) {
  laze_type out, a = type("f32[2,n]"), b = type("f32[3,n]"), c = type("f32[2,3,1]"), scalar = type("f32[]");
  check_shape(laze_shape_cat(&inference, (const laze_type *[]){&a, &b, &a}, 3, -2, &out), &out, "f32[7,n]");
  check_shape(laze_shape_cat(&inference, (const laze_type *[]){&a, &a}, 2, 1, &out), &out, "f32[2,n*2]");
  check_error(laze_shape_cat(&inference, (const laze_type *[]){&a, &b}, 2, 1, &out), LAZE_INVALID_ARGUMENT,
              "differ on axis 0: sizes 2 and 3");
  check_error(laze_shape_cat(&inference, (const laze_type *[]){&a, &c}, 2, 0, &out), LAZE_INVALID_ARGUMENT, "ranks");
  check_error(laze_shape_cat(&inference, (const laze_type *[]){&scalar}, 1, 0, &out), LAZE_INVALID_ARGUMENT, "0-d");
  check_error(laze_shape_cat(&inference, (const laze_type *[]){&a, &scalar}, 2, 0, &out), LAZE_INVALID_ARGUMENT,
              "tensor 1");
  check_error(laze_shape_cat(&inference, NULL, 0, 0, &out), LAZE_INVALID_ARGUMENT, "no tensors");
}
END_TEST

/* Whatever the rank of the others; of symbolic sizes only one that is 0 is an empty list, which becomes a fact. */
START_TEST(concatenating_leaves_out_empty_lists) {
  laze_type out, none = type("f32[0]"), matrix = type("f32[2,3]"), one = type("f32[1]"), list = type("f32[k]");
  int64_t count;
  check_shape(laze_shape_cat(&constants, (const laze_type *[]){&none, &matrix}, 2, 1, &out), &out, "f32[2,3]");
  check_shape(laze_shape_cat(&constants, (const laze_type *[]){&matrix, &none, &matrix}, 3, -2, &out), &out,
              "f32[4,3]");
  check_shape(laze_shape_cat(&constants, (const laze_type *[]){&none, &one}, 2, 0, &out), &out, "f32[1]");
  check_shape(laze_shape_cat(&constants, (const laze_type *[]){&none, &none}, 2, 1, &out), &out, "f32[0]");
  check_error(laze_shape_cat(&constants, (const laze_type *[]){&none, &one}, 2, 1, &out), LAZE_OUT_OF_RANGE, "axis 1");
  check_error(laze_shape_cat(&constants, (const laze_type *[]){&none, &matrix}, 2, 2, &out), LAZE_OUT_OF_RANGE,
              "axis 2");
  check_error(laze_shape_cat(&constants, (const laze_type *[]){&none, &one, &matrix}, 3, 0, &out),
              LAZE_INVALID_ARGUMENT, "ranks");
  check_error(laze_shape_cat(&inference, (const laze_type *[]){&list, &matrix}, 2, 0, &out), LAZE_INVALID_ARGUMENT,
              "ranks");
  check_shape(laze_shape_cat(&inference, (const laze_type *[]){&list, &list}, 2, 0, &out), &out, "f32[k*2]");
  laze_size_facts(table, &count);
  ck_assert_int_eq(count, 1); /* that k is not 0, asked where ranks differ */
}
END_TEST

START_TEST(concatenating_an_empty_list_of_symbolic_size) {
  laze_type out, list = type("f32[k]"), matrix = type("f32[2,3]");
  hint((int64_t[]){0});
  check_shape(laze_shape_cat(&inference, (const laze_type *[]){&list, &matrix}, 2, 1, &out), &out, "f32[2,3]");
  check_shape(laze_shape_cat(&inference, (const laze_type *[]){&list, &list}, 2, 3, &out), &out, "f32[0]");
}
END_TEST

START_TEST(indexing) {
  laze_type out, self = type("f32[4,5]"), index = type("i64[3,9]"), wide = type("i64[5,9]"), row = type("i32[7]");
  laze_type one = type("i64[]"), none = type("i64[0]"), floats = type("f32[3]"), scalar = type("f32[]");
  laze_dtype dtype;
  check_shape(laze_shape_gather(&constants, &self, 1, &index, &out), &out, "f32[3,9]");
  check_error(laze_shape_gather(&constants, &self, 1, &wide, &out), LAZE_INVALID_ARGUMENT, "on axis 0");
  check_error(laze_shape_gather(&constants, &self, 1, &row, &out), LAZE_INVALID_ARGUMENT, "different ranks");
  check_shape(laze_shape_index_select(&constants, &self, -1, &row, &out), &out, "f32[4,7]");
  check_shape(laze_shape_index_select(&constants, &self, 0, &one, &out), &out, "f32[1,5]");
  check_shape(laze_shape_index_select(&constants, &self, 0, &none, &out), &out, "f32[0,5]");
  check_shape(laze_shape_index_select(&constants, &scalar, 0, &one, &out), &out, "f32[]");
  check_error(laze_shape_index_select(&constants, &scalar, 0, &row, &out), LAZE_INVALID_ARGUMENT, "one element");
  check_error(laze_shape_index_select(&constants, &self, 0, &index, &out), LAZE_INVALID_ARGUMENT, "0 or 1");
  ck_assert_int_eq(laze_dtype_indexed(&constants, &self, &row, &dtype), LAZE_OK);
  ck_assert_int_eq(dtype, LAZE_F32);
  check_error(laze_dtype_indexed(&constants, &self, &floats, &dtype), LAZE_INVALID_ARGUMENT, "i32 or i64");
}
END_TEST

START_TEST(products) {
  laze_type out, a = type("f32[n,784]"), b = type("f32[784,10]"), c = type("f64[783,10]"), vector = type("f32[784]");
  laze_type x = type("f32[2,n,3]"), y = type("f32[2,3,m]"), z = type("f32[1,3,m]"), flags = type("bool[2,2]");
  laze_dtype dtype;
  check_shape(laze_shape_mm(&inference, &a, &b, &out), &out, "f32[n,10]");
  check_error(
      laze_shape_mm(&inference, &a, &c, &out), LAZE_INVALID_ARGUMENT,
      "op: shapes f32[n,784] and f64[783,10] do not multiply: axis 1 of self has size 784 and axis 0 of mat2 has "
      "size 783");
  check_error(laze_shape_mm(&inference, &a, &vector, &out), LAZE_INVALID_ARGUMENT, "2 dimensions");
  check_shape(laze_shape_bmm(&inference, &x, &y, &out), &out, "f32[2,n,m]");
  check_error(laze_shape_bmm(&inference, &x, &z, &out), LAZE_INVALID_ARGUMENT, "axis 0 of mat2 has size 1");
  laze_type tall = type("f32[1099511627776,1]"), long_row = type("f32[1,1099511627776]");
  check_error(laze_shape_mm(&inference, &tall, &long_row, &out), LAZE_OUT_OF_RANGE, "too large");
  ck_assert_int_eq(laze_dtype_product(&inference, &a, &b, &dtype), LAZE_OK);
  ck_assert_int_eq(dtype, LAZE_F32);
  check_error(laze_dtype_product(&inference, &a, &c, &dtype), LAZE_INVALID_ARGUMENT, "to(f64)");
  check_error(laze_dtype_product(&inference, &flags, &flags, &dtype), LAZE_INVALID_ARGUMENT, "bool");
}
END_TEST

START_TEST(given_sizes) {
  laze_type out, self = type("f32[n,2]");
  check_shape(laze_shape_sizes(&constants, LIST(2, 0), &out), &out, "f32[2,0]");
  check_shape(laze_shape_sizes(&constants, list(NULL, 0), &out), &out, "f32[]");
  check_shape(laze_shape_same(&inference, &self, &out), &out, "f32[n,2]");
  check_shape(laze_shape_scalar(&inference, &out), &out, "f32[]");
  check_error(laze_shape_sizes(&constants, LIST(2, -1), &out), LAZE_OUT_OF_RANGE, "axis 1 has size -1");
  check_error(laze_shape_sizes(&constants, LIST(INT64_MAX), &out), LAZE_OUT_OF_RANGE, "sizes are 0 to 2^62");
  check_error(laze_shape_sizes(&constants, LIST((int64_t)1 << 60), &out), LAZE_OUT_OF_RANGE, "too large");
  ck_assert_int_eq(laze_shape_sizes(&constants, LIST((int64_t)1 << 59), &out), LAZE_OK);
}
END_TEST

static laze_dtype promote(const char *a, bool a_is_number, const char *b, bool b_is_number) {
  laze_promotion promotion = {0};
  laze_type left = type(a), right = type(b);
  laze_promotion_add(&promotion, &left, a_is_number);
  laze_promotion_add(&promotion, &right, b_is_number);
  return laze_promotion_result(&promotion);
}

/* Each expectation is torch.result_type's. */
START_TEST(promotion) {
  ck_assert_int_eq(promote("i64[2]", false, "f32[2]", false), LAZE_F32);
  ck_assert_int_eq(promote("f32[2]", false, "f64[2]", false), LAZE_F64);
  ck_assert_int_eq(promote("i32[2]", false, "i64[2]", false), LAZE_I64);
  ck_assert_int_eq(promote("bool[2]", false, "i32[2]", false), LAZE_I32);
  ck_assert_int_eq(promote("f32[2]", false, "f64[]", false), LAZE_F32);
  ck_assert_int_eq(promote("i32[2]", false, "i64[]", false), LAZE_I32);
  ck_assert_int_eq(promote("i32[2]", false, "f64[]", false), LAZE_F64);
  ck_assert_int_eq(promote("bool[2]", false, "i32[]", false), LAZE_I32);
  ck_assert_int_eq(promote("i32[2]", false, "f64[]", true), LAZE_F32);
  ck_assert_int_eq(promote("f64[2]", false, "f64[]", true), LAZE_F64);
  ck_assert_int_eq(promote("i32[]", false, "i64[]", true), LAZE_I32);
  ck_assert_int_eq(promote("bool[2]", false, "i64[]", true), LAZE_I64);
  ck_assert_int_eq(promote("f32[]", false, "f64[]", false), LAZE_F64);
  ck_assert_int_eq(promote("i64[]", true, "f64[]", true), LAZE_F32);
  ck_assert_int_eq(promote("u16[2]", false, "i32[2]", false), LAZE_DTYPE_NONE);
  ck_assert_int_eq(promote("u16[2]", false, "i32[]", false), LAZE_U16);
  ck_assert_int_eq(promote("bool[2]", false, "u16[]", false), LAZE_DTYPE_NONE);
  ck_assert_int_eq(promote("u64[2]", false, "bool[]", false), LAZE_U64);
  ck_assert_int_eq(promote("u64[2]", false, "f32[]", false), LAZE_F32);
  ck_assert_int_eq(promote("u32[2]", false, "f16[2]", false), LAZE_F16);
  ck_assert_int_eq(promote("u16[2]", false, "i64[]", true), LAZE_U16);
  ck_assert_int_eq(promote("i32[2]", false, "u64[]", true), LAZE_I32);
  laze_promotion nothing = {0};
  ck_assert_int_eq(laze_promotion_result(&nothing), LAZE_DTYPE_NONE);
  ck_assert_int_eq(laze_float_dtype(LAZE_I64), LAZE_F32);
  ck_assert_int_eq(laze_float_dtype(LAZE_BOOL), LAZE_F32);
  ck_assert_int_eq(laze_float_dtype(LAZE_F64), LAZE_F64);
}
END_TEST

START_TEST(dtype_rules) {
  laze_type floats = type("f64[2]"), integers = type("i32[2]"), flags = type("bool[]");
  laze_dtype dtype;
  ck_assert(laze_dtype_sum(&constants, &floats, 0, &dtype) == LAZE_OK && dtype == LAZE_F64);
  ck_assert(laze_dtype_sum(&constants, &integers, 0, &dtype) == LAZE_OK && dtype == LAZE_I64);
  ck_assert(laze_dtype_sum(&constants, &flags, 0, &dtype) == LAZE_OK && dtype == LAZE_I64);
  ck_assert(laze_dtype_sum(&constants, &integers, LAZE_I32, &dtype) == LAZE_OK && dtype == LAZE_I32);
  ck_assert(laze_dtype_given(&constants, 0, &dtype) == LAZE_OK && dtype == LAZE_F32);
  ck_assert(laze_dtype_given(&constants, LAZE_I64, &dtype) == LAZE_OK && dtype == LAZE_I64);
  check_error(laze_dtype_given(&constants, 99, &dtype), LAZE_INVALID_ARGUMENT, "99 is no dtype");
  ck_assert(laze_dtype_given_or_same(&constants, 0, &integers, &dtype) == LAZE_OK && dtype == LAZE_I32);
  ck_assert(laze_dtype_given_or_same(&constants, LAZE_F32, &integers, &dtype) == LAZE_OK && dtype == LAZE_F32);
  ck_assert(laze_dtype_same(&constants, &flags, &dtype) == LAZE_OK && dtype == LAZE_BOOL);
  ck_assert(laze_dtype_index(&constants, &dtype) == LAZE_OK && dtype == LAZE_I64);
  ck_assert(laze_dtype_boolean(&constants, &dtype) == LAZE_OK && dtype == LAZE_BOOL);
  ck_assert(laze_dtype_float_only(&constants, &floats, &dtype) == LAZE_OK && dtype == LAZE_F64);
  check_error(laze_dtype_float_only(&constants, &integers, &dtype), LAZE_INVALID_ARGUMENT, "convert it with to(f32)");
  check_error(laze_dtype_bits(&constants, &floats, &dtype), LAZE_INVALID_ARGUMENT, "an integer or bool was expected");
  const laze_type *all[] = {&flags, &integers, &floats};
  ck_assert(laze_dtype_promote(&constants, all, 3, &dtype) == LAZE_OK && dtype == LAZE_F64);
  check_error(laze_dtype_promote(&constants, all, 0, &dtype), LAZE_INVALID_ARGUMENT, "no tensors");
}
END_TEST

/* A NULL error and a symbol without a table are answered, not crashed on. */
START_TEST(missing_parts) {
  laze_type out, a = type("f32[n]"), b = type("f32[m]");
  laze_inference silent = {table, "op", NULL};
  const laze_type *operands[] = {&a, &b};
  ck_assert_int_eq(laze_shape_broadcast(&silent, operands, 2, &out), LAZE_INVALID_ARGUMENT);
  ck_assert_int_eq(laze_shape_reduce(&silent, &a, LIST(4), false, &out), LAZE_OUT_OF_RANGE);
  check_error(laze_shape_broadcast(&constants, operands, 2, &out), LAZE_INTERNAL, "size table");
}
END_TEST

int main(void) {
  Suite *suite = suite_create("rules");
  TCase *cases = tcase_create("rules");
  tcase_add_checked_fixture(cases, setup, teardown);
  tcase_set_timeout(cases, 60);
  tcase_add_test(cases, broadcasting_constants);
  tcase_add_test(cases, broadcasting_errors_name_everything);
  tcase_add_test(cases, broadcasting_symbols);
  tcase_add_test(cases, reducing);
  tcase_add_test(cases, expanding);
  tcase_add_test(cases, permuting);
  tcase_add_test(cases, reshaping_constants);
  tcase_add_test(cases, reshaping_symbols);
  tcase_add_test(cases, reshaping_symbols_with_hints);
  tcase_add_test(cases, slicing_constants);
  tcase_add_test(cases, slicing_symbols);
  tcase_add_test(cases, concatenating);
  tcase_add_test(cases, concatenating_leaves_out_empty_lists);
  tcase_add_test(cases, concatenating_an_empty_list_of_symbolic_size);
  tcase_add_test(cases, indexing);
  tcase_add_test(cases, products);
  tcase_add_test(cases, given_sizes);
  tcase_add_test(cases, promotion);
  tcase_add_test(cases, dtype_rules);
  tcase_add_test(cases, missing_parts);
  suite_add_tcase(suite, cases);
  return test_run_suite(suite);
}
