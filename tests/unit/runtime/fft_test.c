/* Fourier transforms beside their definition, a sum of n products for each of n values; and FFTW as a library that is
 * opened when first needed. */
#include "runtime/fft/transform.h"
#include "tests/support/failing_allocator.h"
#include "tests/support/suite.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  double re, im;
} pair;

enum { RANK = 3, MOST = 6 * 131 * 2 };

static laze_context *context;
static laze_error error;

static void setup(void) {
  ck_assert_int_eq(laze_context_create(NULL, &context, NULL), LAZE_OK);
}

static void teardown(void) {
  laze_context_release(context);
}

static int64_t count_of(const int64_t *sizes) {
  return sizes[0] * sizes[1] * sizes[2];
}

static int64_t stride_of(const int64_t *sizes, int axis) {
  return axis == 0 ? sizes[1] * sizes[2] : axis == 1 ? sizes[2] : 1;
}

/* One axis by definition: X[k] = sum of x[j] e^(sign 2 pi i j k / n). */
static void define_axis(pair *x, const int64_t *sizes, int axis, int sign) {
  const double turn = 8 * atan(1.0);
  const int64_t n = sizes[axis], stride = stride_of(sizes, axis);
  pair row[131];
  for (int64_t first = 0; first < count_of(sizes); first++) {
    if (first / stride % n != 0) continue;
    for (int64_t k = 0; k < n; k++) {
      row[k] = (pair){0, 0};
      for (int64_t j = 0; j < n; j++) {
        const double angle = sign * turn * (double)(j * k % n) / (double)n;
        const double re = cos(angle), im = sin(angle);
        const pair value = x[first + j * stride];
        row[k].re += value.re * re - value.im * im;
        row[k].im += value.re * im + value.im * re;
      }
    }
    for (int64_t k = 0; k < n; k++) x[first + k * stride] = row[k];
  }
}

/* Elements as a transform has them: pairs, or real parts alone. */
static void pack(const pair *from, int64_t count, bool real, bool is_double, void *to) {
  const int parts = real ? 1 : 2;
  for (int64_t i = 0; i < count * parts; i++) {
    const double part = i % parts == 0 ? from[i / parts].re : from[i / parts].im;
    if (is_double)
      ((double *)to)[i] = part;
    else
      ((float *)to)[i] = (float)part;
  }
}

/* The first elements of the last axis in the list. */
static int64_t keep_half(pair *x, const int64_t *sizes, int axis, int64_t kept) {
  const int64_t stride = stride_of(sizes, axis);
  int64_t next = 0;
  for (int64_t i = 0; i < count_of(sizes); i++)
    if (i / stride % sizes[axis] < kept) x[next++] = x[i];
  return next;
}

static void compare(const void *got, const void *wanted, int64_t parts, bool is_double, const char *what, int64_t n) {
  double largest = 0, worst = 0;
  for (int64_t i = 0; i < parts; i++) {
    const double a = is_double ? ((const double *)got)[i] : (double)((const float *)got)[i];
    const double b = is_double ? ((const double *)wanted)[i] : (double)((const float *)wanted)[i];
    largest = fmax(largest, fabs(b));
    worst = fmax(worst, isfinite(a) ? fabs(a - b) : INFINITY);
  }
  ck_assert_msg(worst <= largest * (is_double ? 64 * 0x1p-52 : 16 * 0x1p-23), "%s of %d points in %s: %g beside %g",
                what, (int)n, is_double ? "f64" : "f32", worst, largest);
}

/* Operand and result of a transform whose points have `sizes`, by definition. */
static void define(const laze_transform *transform, const int64_t *sizes, int64_t half, pair *in, pair *out) {
  const int last = transform->axes[transform->axis_count - 1];
  const bool back = transform->kind == LAZE_TRANSFORM_TO_REAL;
  const int sign = transform->kind == LAZE_TRANSFORM_COMPLEX && !transform->forward ? 1 : -1;
  double points = 1;
  for (int64_t i = 0; i < count_of(sizes); i++) {
    in[i] = (pair){(double)(rand() % 1000) / 100 - 5, 0};
    if (transform->kind == LAZE_TRANSFORM_COMPLEX) in[i].im = (double)(rand() % 1000) / 100 - 5;
  }
  memcpy(out, in, (size_t)count_of(sizes) * sizeof *in);
  for (int i = 0; i < transform->axis_count; i++) {
    define_axis(out, sizes, transform->axes[i], sign);
    points *= (double)sizes[transform->axes[i]];
  }
  if (back) { /* from the spectrum to what it is of, times the points */
    pair signal[MOST];
    memcpy(signal, in, (size_t)count_of(sizes) * sizeof *in);
    memcpy(in, out, (size_t)count_of(sizes) * sizeof *in);
    for (int64_t i = 0; i < count_of(sizes); i++) out[i] = (pair){signal[i].re * points, 0};
  }
  keep_half(back ? in : out, sizes, last, half);
  const double scale = transform->scale == LAZE_TRANSFORM_ROOT   ? sqrt(points)
                       : transform->scale == LAZE_TRANSFORM_MEAN ? points
                                                                 : 1;
  for (int64_t i = 0; i < count_of(sizes); i++) out[i] = (pair){out[i].re / scale, out[i].im / scale};
}

static void check_transform(laze_transform transform, const int64_t *sizes, bool whole, const char *what) {
  pair in[MOST], out[MOST];
  double operand[2 * MOST], kept[2 * MOST], result[2 * MOST], wanted[2 * MOST];
  const int last = transform.axes[transform.axis_count - 1];
  const bool halves = transform.kind != LAZE_TRANSFORM_COMPLEX && !whole;
  int64_t halved[RANK] = {sizes[0], sizes[1], sizes[2]};
  if (halves) halved[last] = sizes[last] / 2 + 1;
  const bool from_real = transform.kind == LAZE_TRANSFORM_FROM_REAL, to_real = transform.kind == LAZE_TRANSFORM_TO_REAL;
  transform.context = context;
  transform.rank = RANK;
  transform.in_sizes = to_real ? halved : sizes;
  transform.out_sizes = to_real ? sizes : halved;
  transform.in = (const char *)operand;
  transform.out = (char *)result;
  define(&transform, sizes, halved[last], in, out);
  pack(in, count_of(transform.in_sizes), from_real, transform.is_double, operand);
  pack(out, count_of(transform.out_sizes), to_real, transform.is_double, wanted);
  memcpy(kept, operand, sizeof kept);
  memset(result, 0xff, sizeof result); /* NaN */
  ck_assert_msg(laze_transform_run(&transform, &error) == LAZE_OK, "%s", error.message);
  ck_assert_mem_eq(kept, operand,
                   (size_t)(count_of(transform.in_sizes) * (from_real ? 1 : 2) * (transform.is_double ? 8 : 4)));
  compare(result, wanted, count_of(transform.out_sizes) * (to_real ? 1 : 2), transform.is_double, what, sizes[last]);
}

static void check_kinds(laze_transform transform, const int64_t *sizes) {
  for (int scale = 0; scale < 3; scale++) {
    transform.scale = (laze_transform_scale)scale;
    transform.kind = LAZE_TRANSFORM_COMPLEX;
    transform.forward = true;
    check_transform(transform, sizes, true, "a transform");
    transform.forward = false;
    check_transform(transform, sizes, true, "an inverse");
    transform.kind = LAZE_TRANSFORM_FROM_REAL;
    check_transform(transform, sizes, false, "half a spectrum");
    check_transform(transform, sizes, true, "a spectrum");
    transform.kind = LAZE_TRANSFORM_TO_REAL;
    check_transform(transform, sizes, false, "a signal of half a spectrum");
    check_transform(transform, sizes, true, "a signal of a spectrum");
  }
}

static const int64_t lengths[] = {1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13,  14, 15,
                                  16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28,  29, 30,
                                  31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 53, 97, 127, 131};

/* Of every length, and of primes, for which FFTW has other ways; in the middle, so that batches are on both sides. */
START_TEST(an_axis_is_transformed_as_defined) {
  for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
    const int64_t sizes[RANK] = {2, lengths[i], 3};
    const int axes[] = {1};
    check_kinds((laze_transform){.is_double = _i != 0, .axis_count = 1, .axes = axes}, sizes);
  }
}
END_TEST

/* In any order: the last one in the list is the one of which a half is enough. */
START_TEST(several_axes_are_transformed_as_defined) {
  static const int orders[][RANK] = {{0, 1, 2}, {2, 1, 0}, {1, 0}, {2, 0}, {0, 2}};
  static const int64_t shapes[][RANK] = {{2, 3, 4}, {4, 5, 3}, {7, 1, 8}, {1, 2, 1}, {5, 6, 7}};
  for (size_t i = 0; i < sizeof orders / sizeof *orders; i++)
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++)
      check_kinds((laze_transform){.is_double = _i != 0, .axis_count = i < 2 ? 3 : 2, .axes = orders[i]}, shapes[k]);
}
END_TEST

static laze_status run_small(bool is_double, laze_context *with) {
  static const int64_t sizes[1] = {4};
  static const int axes[1] = {0};
  static double in[8], out[8];
  const laze_transform transform = {.context = with,
                                    .forward = true,
                                    .is_double = is_double,
                                    .rank = 1,
                                    .axis_count = 1,
                                    .axes = axes,
                                    .in_sizes = sizes,
                                    .out_sizes = sizes,
                                    .in = (const char *)in,
                                    .out = (char *)out};
  return laze_transform_run(&transform, &error);
}

/* Each test is a process of its own, so that nothing is open yet. */
START_TEST(a_missing_library_is_said_with_its_remedy) {
  setenv(LAZE_FFTW_VARIABLE, "/nonexistent:libm.so.6", 1); /* the second has none of the functions */
  ck_assert_int_eq(run_small(true, context), LAZE_UNSUPPORTED);
  ck_assert_ptr_nonnull(strstr(error.message, "/nonexistent:libm.so.6"));
  ck_assert_ptr_nonnull(strstr(error.message, "libfftw3-double3"));
  ck_assert_int_eq(run_small(false, context), LAZE_UNSUPPORTED);
  ck_assert_ptr_nonnull(strstr(error.message, "libfftw3-single3"));
  setenv(LAZE_FFTW_VARIABLE, "libfftw3f.so.3", 1); /* each dtype has a library of its own */
  ck_assert_int_eq(run_small(false, context), LAZE_OK);
  ck_assert_int_eq(run_small(true, context), LAZE_UNSUPPORTED);
  unsetenv(LAZE_FFTW_VARIABLE);
  ck_assert_int_eq(run_small(true, context), LAZE_OK);
}
END_TEST

/* Nothing to transform asks for no library, nor do no axes. */
START_TEST(nothing_asks_for_no_library) {
  const int64_t none[2] = {0, 3}, some[1] = {2};
  const int axes[1] = {1};
  double in[4] = {1, 2, 3, 4}, out[4];
  laze_transform transform = {.context = context,
                              .is_double = true,
                              .rank = 2,
                              .axis_count = 1,
                              .axes = axes,
                              .in_sizes = none,
                              .out_sizes = none};
  setenv(LAZE_FFTW_VARIABLE, "/nonexistent", 1);
  ck_assert_int_eq(laze_transform_run(&transform, &error), LAZE_OK);
  transform.rank = 1;
  transform.axis_count = 0;
  transform.in_sizes = transform.out_sizes = some;
  transform.in = (const char *)in;
  transform.out = (char *)out;
  ck_assert_int_eq(laze_transform_run(&transform, &error), LAZE_OK);
  ck_assert_mem_eq(in, out, sizeof in);
}
END_TEST

/* FFTW ends the process where it gets no memory: what it may take is asked for first. */
START_TEST(memory_that_is_out_is_a_status) {
  test_failing_allocator state = {0};
  laze_context *failing = NULL;
  ck_assert_int_eq(test_failing_context(&state, NULL, NULL, "", &failing), LAZE_OK);
  state.refuse_at = state.calls + 1;
  ck_assert_int_eq(run_small(true, failing), LAZE_OUT_OF_MEMORY);
  ck_assert_int_eq(run_small(true, failing), LAZE_OK);
  laze_context_release(failing);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("fft");
  TCase *tests = tcase_create("transforms");
  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_set_timeout(tests, 120);
  tcase_add_loop_test(tests, an_axis_is_transformed_as_defined, 0, 2);
  tcase_add_loop_test(tests, several_axes_are_transformed_as_defined, 0, 2);
  const TTest *const all[] = {a_missing_library_is_said_with_its_remedy, nothing_asks_for_no_library,
                              memory_that_is_out_is_a_status};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) tcase_add_test(tests, all[i]);
  suite_add_tcase(suite, tests);
  return test_run_suite(suite);
}
