/* What the named orders promise, through the public interface, on every backend: a row of a product has bits of its own
 * that neither the other rows, nor the layout of operands, nor the number of threads change, and errors stay within
 * bounds that docs/semantics.md gives. */
#include "tests/conformance/conformance.h"

#include <laze/laze.h>

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ROWS = 130 };

static laze_context *context;
static bool native;

static void open_context(int backend, int32_t threads) {
  const char *name = laze_backend_at(backend)->name;
  const laze_context_options options = {
      .struct_size = sizeof options, .backend = name, .threads = threads, .cache_directory = "", .debug = ""};
  ck_assert_int_eq(laze_context_create(&options, &context, NULL), LAZE_OK);
  native = strcmp(name, "llvm") == 0;
}

/* Nothing ran anywhere else than it was meant to. */
static void close_context(void) {
  int64_t fallbacks = -1;
  ck_assert_int_eq(laze_metric_read(context, "fallbacks", &fallbacks, NULL), LAZE_OK);
  ck_assert_int_eq(fallbacks, 0);
  laze_context_release(context);
}

/* Numbers of both signs whose sums depend on the order; also of a double's last bits. */
static double number(int64_t i) {
  return (double)((uint64_t)i * 2654435761u % 100003u) / 70001.0 - 0.6;
}

typedef struct {
  laze_dtype dtype;
  size_t size;
} kind;
static const kind kinds[] = {{LAZE_F32, sizeof(float)}, {LAZE_F64, sizeof(double)}};

static void *make_numbers(kind of, int64_t count, int64_t seed) {
  char *data = malloc((size_t)(count + 1) * of.size);
  ck_assert_ptr_nonnull(data);
  for (int64_t i = 0; i < count; i++) {
    double value = number(i + seed);
    float single = (float)value;
    memcpy(data + (size_t)i * of.size, of.size == sizeof single ? (const void *)&single : &value, of.size);
  }
  return data;
}

static laze_tensor *matrix(kind of, int64_t rows, int64_t columns, const void *data) {
  return laze_tensor_from_data(context, of.dtype, LAZE_SHAPE(rows, columns), data, (size_t)(rows * columns) * of.size);
}

/* The matrix, stored by columns: what is computed with is the transpose of what is stored. */
static laze_tensor *by_columns(kind of, int64_t rows, int64_t columns, const char *data) {
  char *stored = malloc((size_t)(rows * columns + 1) * of.size);
  ck_assert_ptr_nonnull(stored);
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < columns; j++)
      memcpy(stored + (size_t)(j * rows + i) * of.size, data + (size_t)(i * columns + j) * of.size, of.size);
  laze_tensor *transposed = matrix(of, columns, rows, stored);
  free(stored);
  return laze_t(transposed);
}

/* Operands of the products below: a[rows, depth], b[depth, columns]. */
typedef struct {
  kind of;
  int64_t rows, depth, columns;
  const char *a, *b;
} operands;

static laze_tensor *plain_a(const operands *o) {
  return matrix(o->of, o->rows, o->depth, o->a);
}
static laze_tensor *plain_b(const operands *o) {
  return matrix(o->of, o->depth, o->columns, o->b);
}
static laze_tensor *column_of_b(const operands *o, int64_t column) {
  return laze_select(plain_b(o), 1, column);
}

static laze_tensor *by_mm(const operands *o) {
  return laze_mm(plain_a(o), plain_b(o));
}
static laze_tensor *by_mm_of_columns(const operands *o) {
  return laze_mm(plain_a(o), by_columns(o->of, o->depth, o->columns, o->b));
}
static laze_tensor *by_mm_of_a_by_columns(const operands *o) {
  return laze_mm(by_columns(o->of, o->rows, o->depth, o->a), plain_b(o));
}
static laze_tensor *by_mm_of_both(const operands *o) {
  return laze_mm(by_columns(o->of, o->rows, o->depth, o->a), by_columns(o->of, o->depth, o->columns, o->b));
}
static laze_tensor *by_bmm(const operands *o) {
  laze_tensor *a = laze_expand(plain_a(o), LAZE_SHAPE(2, o->rows, o->depth));
  laze_tensor *b = laze_expand(plain_b(o), LAZE_SHAPE(2, o->depth, o->columns));
  return laze_select(laze_bmm(a, b), 0, 1);
}
static laze_tensor *by_matmul(const operands *o) {
  laze_tensor *a = laze_reshape(plain_a(o), LAZE_SHAPE(1, o->rows, o->depth));
  return laze_select(laze_matmul(a, plain_b(o)), 0, 0);
}
static laze_tensor *by_linear(const operands *o) {
  return laze_linear(plain_a(o), laze_t(by_columns(o->of, o->depth, o->columns, o->b)), NULL);
}
static laze_tensor *side_by_side(laze_tensor *const *columns, int64_t count) {
  return laze_cat(columns, (int32_t)count, 1);
}
/* Each column by itself. */
static laze_tensor *by_mv(const operands *o) {
  laze_tensor *columns[8];
  for (int64_t j = 0; j < o->columns; j++)
    columns[j] = laze_reshape(laze_mv(plain_a(o), column_of_b(o, j)), LAZE_SHAPE(o->rows, 1));
  return side_by_side(columns, o->columns);
}
/* Each element of the last row by itself. */
static laze_tensor *by_dot(const operands *o) {
  laze_tensor *elements[8], *row = laze_select(plain_a(o), 0, o->rows - 1);
  for (int64_t j = 0; j < o->columns; j++)
    elements[j] = laze_reshape(laze_dot(row, column_of_b(o, j)), LAZE_SHAPE(1, 1));
  return side_by_side(elements, o->columns);
}

typedef struct {
  const char *name;
  laze_tensor *(*product)(const operands *o);
  bool single; /* takes columns one at a time */
  bool last;   /* gives the last row alone */
} way;
static const way ways[] = {
    {"mm", by_mm, false, false},
    {"mm, b by columns", by_mm_of_columns, false, false},
    {"mm, a by columns", by_mm_of_a_by_columns, false, false},
    {"mm, both by columns", by_mm_of_both, false, false},
    {"bmm", by_bmm, false, false},
    {"matmul", by_matmul, false, false},
    {"linear", by_linear, false, false},
    {"mv", by_mv, true, false},
    {"dot", by_dot, true, true},
};

/* Runs a product and compares with the rows wanted, those of the same numbers in `wanted`. */
static void compare(const way *by, const operands *o, const char *wanted) {
  int64_t rows = by->last ? 1 : o->rows;
  size_t row = (size_t)o->columns * o->of.size, size = (size_t)rows * row;
  char *got = malloc(size);
  ck_assert_ptr_nonnull(got);
  laze_scope *scope = laze_scope_begin(context);
  laze_tensor *result = by->product(o);
  ck_assert_msg(laze_tensor_read(result, o->of.dtype, got, size) == LAZE_OK, "%s: %s", by->name,
                laze_tensor_error(result));
  ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
  const char *first = by->last ? wanted + (size_t)(o->rows - 1) * row : wanted;
  ck_assert_msg(memcmp(got, first, size) == 0, "%s of %s[%lld,%lld] and [%lld,%lld]: not the bits that every row has",
                by->name, laze_dtype_name(o->of.dtype), (long long)o->rows, (long long)o->depth, (long long)o->depth,
                (long long)o->columns);
  free(got);
}

/* Every row by itself, on the first backend: what all others have to equal. */
static char *rows_alone(const operands *all) {
  size_t row = (size_t)all->columns * all->of.size;
  char *wanted = malloc((size_t)all->rows * row);
  ck_assert_ptr_nonnull(wanted);
  for (int64_t i = 0; i < all->rows; i++) {
    operands one = *all;
    one.rows = 1;
    one.a = all->a + (size_t)(i * all->depth) * all->of.size;
    laze_scope *scope = laze_scope_begin(context);
    laze_tensor *result = by_mm(&one);
    ck_assert_int_eq(laze_tensor_read(result, all->of.dtype, wanted + (size_t)i * row, row), LAZE_OK);
    ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
  }
  return wanted;
}

/* One row and 130 rows, in every product and layout, on one thread and on two: the same bits. */
START_TEST(a_row_has_bits_of_its_own) {
  static const int64_t depths[] = {1, 63, 255, 256, 257, 1023, 1024, 1025, 1030, 2047, 2051};
  static const int64_t rows[] = {1, 2, 6, 47, 48, 64, 73, MOST_ROWS}, widths[] = {5, 1, 16, 17, 70};
  int count = (int)(sizeof ways / sizeof *ways);
  bool fast = strcmp(laze_backend_at(_i)->name, "llvm") == 0; /* all sizes there, some on an interpreter */
  for (int d = 0; d < 11; d += fast ? 1 : 2)
    for (int k = 0; k < 2; k++) {
      operands o = {.of = kinds[k], .rows = MOST_ROWS, .depth = depths[d], .columns = widths[(d + k) % 5]};
      if (d % 3 == 0) o.columns = 5; /* narrow enough for products that take one column at a time */
      char *a = make_numbers(o.of, o.rows * o.depth, 1), *b = make_numbers(o.of, o.depth * o.columns, 17);
      o.a = a, o.b = b;
      open_context(0, 1);
      char *wanted = rows_alone(&o);
      close_context();
      open_context(_i, 1 + d % 2);
      for (int r = 0; r < 8; r += fast ? 1 : 3)
        for (int w = 0; w < count; w++) {
          o.rows = rows[r];
          if (!ways[w].single || o.columns <= 5) compare(&ways[w], &o, wanted);
        }
      close_context();
      free(wanted);
      free(a);
      free(b);
    }
}
END_TEST

static double read_number(laze_tensor *tensor) {
  double value = NAN;
  ck_assert_msg(laze_tensor_read(tensor, LAZE_F64, &value, sizeof value) == LAZE_OK, "%s", laze_tensor_error(tensor));
  return value;
}

static laze_tensor *mean(laze_tensor *x, laze_ints dim) {
  return laze_mean_dim(x, dim, false);
}

static laze_tensor *reduced(laze_tensor *x, laze_ints dim) {
  return laze_sum_dim(x, dim, false);
}

/* The same number over and over is the hardest sum: every rounding goes the same way. */
START_TEST(sums_of_equal_numbers_stay_accurate) {
  open_context(_i, 1);
  const int64_t n = native ? INT64_C(1) << 24 : 1 << 18;
  const double exact = (double)0.1f * (double)n;
  laze_scope *scope = laze_scope_begin(context);
  laze_tensor *tenth = laze_tensor_from_scalar(context, LAZE_F32, 0.1);
  laze_tensor *columns = laze_expand(tenth, LAZE_SHAPE(n, 2)), *flat = laze_expand(tenth, LAZE_SHAPE(n));
  laze_tensor *nested = laze_expand(tenth, LAZE_SHAPE(n / 64, 2, 64));
  laze_tensor *short_rows = laze_expand(tenth, LAZE_SHAPE(n / 4, 2, 4, 3));
  const struct {
    const char *name;
    laze_tensor *sum;
  } sums[] = {
      {"axis 0 of [n,2]", laze_select(reduced(columns, LAZE_SHAPE(0)), 0, 1)},
      {"all of [n]", laze_sum(flat)},
      {"axes 0 and 2 of [n/64,2,64]", laze_select(reduced(nested, LAZE_SHAPE(0, 2)), 0, 1)},
      {"axes 0 and 2 of [n/4,2,4,3]", laze_select(laze_select(reduced(short_rows, LAZE_SHAPE(0, 2)), 0, 1), 0, 2)},
      {"the mean of axis 0, times n", laze_mul(laze_select(mean(columns, LAZE_SHAPE(0)), 0, 0), (double)n)},
  };
  for (int i = 0; i < 5; i++) {
    double error = fabs(read_number(sums[i].sum) - exact) / exact;
    ck_assert_msg(error < 2e-6, "sum over %s: relative error %g", sums[i].name, error);
  }
  ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
  close_context();
}
END_TEST

/* A variance is a sum of squares about a sum. */
START_TEST(variances_of_many_stay_accurate) {
  open_context(_i, 1);
  const int64_t n = native ? INT64_C(1) << 22 : 1 << 16;
  const float pair[] = {0.1f, 0.3f};
  const double half = ((double)pair[1] - (double)pair[0]) / 2;
  laze_scope *scope = laze_scope_begin(context);
  laze_tensor *two = laze_tensor_from_data(context, LAZE_F32, LAZE_SHAPE(1, 2, 1), pair, sizeof pair);
  laze_tensor *many = laze_expand(two, LAZE_SHAPE(n, 2, 3));
  double var = read_number(laze_select(laze_var_dim_with(many, LAZE_INTS(0, 1), false, 0), 0, 2));
  ck_assert_msg(fabs(var - half * half) < 2e-6 * half * half, "variance %.9g, expected %.9g", var, half * half);
  ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
  close_context();
}
END_TEST

/* |computed - exact| <= (block + levels) u sum |x|: u one rounding, a chain of a block's, and the tree's. */
static void check_sum(const float *x, int64_t rows, int64_t columns) {
  const double u = (double)FLT_EPSILON / 2;
  float *sums = malloc((size_t)columns * sizeof *sums);
  ck_assert_ptr_nonnull(sums);
  for (int axis = 0; axis < 2; axis++) {
    /* Axis 0 of [rows, columns], in blocks of 64; then axis 1 of the same elements as [columns, rows], in lanes of 128
     * elements that are joined in 4 steps. */
    laze_scope *scope = laze_scope_begin(context);
    laze_tensor *source =
        laze_tensor_from_data(context, LAZE_F32, axis ? LAZE_SHAPE(columns, rows) : LAZE_SHAPE(rows, columns), x,
                              (size_t)(rows * columns) * sizeof *x);
    laze_tensor *sum = reduced(source, LAZE_SHAPE(axis));
    ck_assert_int_eq(laze_tensor_read(sum, LAZE_F32, sums, (size_t)columns * sizeof *sums), LAZE_OK);
    ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
    for (int64_t j = 0; j < columns; j++) {
      double exact = 0, size = 0;
      for (int64_t i = 0; i < rows; i++) {
        double value = axis ? x[j * rows + i] : x[i * columns + j];
        exact += value;
        size += fabs(value);
      }
      double levels = ceil(log2(1 + (double)rows / (axis ? 2048 : 64))), chain = axis ? 128 + 4 : 64;
      double bound = (chain + levels) * u * size;
      ck_assert_msg(fabs(sums[j] - exact) <= bound, "axis %d of %lld by %lld, element %lld: error %g, bound %g", axis,
                    (long long)rows, (long long)columns, (long long)j, fabs(sums[j] - exact), bound);
    }
  }
  free(sums);
}

START_TEST(errors_of_sums_grow_with_the_logarithm) {
  static const int64_t rows[] = {1, 64, 65, 1000, 4097, 70000, 300000};
  open_context(_i, 1);
  for (int i = 0; i < 7; i++)
    for (int positive = 0; positive < 2; positive++) {
      float *x = make_numbers(kinds[0], rows[i] * 3, 5);
      for (int64_t k = 0; positive && k < rows[i] * 3; k++) x[k] = fabsf(x[k]);
      check_sum(x, rows[i], 3);
      free(x);
    }
  close_context();
}
END_TEST

/* |computed - exact| <= (K/1024 + 256 + 2) u sum |ab|, and 255 u below 256. */
START_TEST(errors_of_products_stay_within_their_bound) {
  static const int64_t depths[] = {255, 256, 1024, 5000, 100000};
  const double u = (double)FLT_EPSILON / 2;
  open_context(_i, 1);
  for (int d = 0; d < 5; d++) {
    int64_t depth = depths[d];
    float *a = make_numbers(kinds[0], depth, 3), *b = make_numbers(kinds[0], depth, 91), got;
    laze_scope *scope = laze_scope_begin(context);
    laze_tensor *x = laze_tensor_from_data(context, LAZE_F32, LAZE_SHAPE(depth), a, (size_t)depth * sizeof *a);
    laze_tensor *y = laze_tensor_from_data(context, LAZE_F32, LAZE_SHAPE(depth), b, (size_t)depth * sizeof *b);
    laze_tensor *dot = laze_dot(x, y);
    ck_assert_int_eq(laze_tensor_read(dot, LAZE_F32, &got, sizeof got), LAZE_OK);
    ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
    double exact = 0, size = 0;
    for (int64_t k = 0; k < depth; k++) {
      exact += (double)a[k] * (double)b[k];
      size += fabs((double)a[k] * (double)b[k]);
    }
    double bound = (depth < 256 ? 255 : (double)depth / 1024 + 258) * u * size;
    ck_assert_msg(fabs((double)got - exact) <= bound, "depth %lld: error %g, bound %g", (long long)depth,
                  fabs((double)got - exact), bound);
    free(a);
    free(b);
  }
  close_context();
}
END_TEST

/* One chain would stop at 2^24, where adding 1 no longer changes a float. */
START_TEST(many_ones_are_counted) {
  open_context(_i, 1);
  const int64_t n = native ? INT64_C(1) << 25 : INT64_C(1) << 24 | 1024;
  laze_scope *scope = laze_scope_begin(context);
  laze_tensor *one = laze_tensor_from_scalar(context, LAZE_F32, 1.0);
  laze_tensor *ones = laze_expand(one, LAZE_SHAPE(n));
  ck_assert(read_number(laze_dot(ones, ones)) == (double)n);
  ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
  close_context();
}
END_TEST

int main(void) {
  TCase *tests = tcase_create("order");
  conformance_add(tests, a_row_has_bits_of_its_own);
  conformance_add(tests, sums_of_equal_numbers_stay_accurate);
  conformance_add(tests, variances_of_many_stay_accurate);
  conformance_add(tests, errors_of_sums_grow_with_the_logarithm);
  conformance_add(tests, errors_of_products_stay_within_their_bound);
  conformance_add(tests, many_ones_are_counted);
  return conformance_main(tests);
}
