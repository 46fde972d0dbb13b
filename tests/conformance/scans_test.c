/* The order of scans (docs/semantics.md): one chain of f64 along the dim, wherever that lies, on any number of threads
 * and whatever is computed before and behind in the same loop. Each backend is held to a plain loop in C. */
#include "tests/conformance/conformance.h"

#include <laze/laze.h>

#include <stdlib.h>
#include <string.h>

enum { ROWS = 5, LENGTH = 700, COLUMNS = 37, COUNT = ROWS * LENGTH * COLUMNS };

static laze_context *open_context(int backend, int32_t threads) {
  const laze_context_options options = {.struct_size = sizeof options,
                                        .backend = laze_backend_at(backend)->name,
                                        .threads = threads,
                                        .cache_directory = "",
                                        .debug = ""};
  laze_context *context;
  ck_assert_int_eq(laze_context_create(&options, &context, NULL), LAZE_OK);
  return context;
}

static float *make_numbers(void) {
  float *numbers = malloc(sizeof(float) * COUNT);
  ck_assert_ptr_nonnull(numbers);
  for (int64_t i = 0; i < COUNT; i++) numbers[i] = (float)((i * 7919) % 1013) / 997.0f - 0.3f;
  return numbers;
}

static const int64_t sizes[3] = {ROWS, LENGTH, COLUMNS}, strides[3] = {LENGTH * COLUMNS, COLUMNS, 1};

/* One chain of f64 along `dim`, each state rounded once. */
static void expected_sums(const float *x, int dim, float *out) {
  for (int64_t i = 0; i < COUNT; i++) {
    if (i / strides[dim] % sizes[dim] > 0) continue;
    double state = 0;
    for (int64_t k = 0; k < sizes[dim]; k++) {
      state += x[i + k * strides[dim]];
      out[i + k * strides[dim]] = (float)state;
    }
  }
}

static void compare(const char *what, int dim, laze_tensor *sums, const float *expected) {
  float *got = malloc(sizeof(float) * COUNT);
  ck_assert_ptr_nonnull(got);
  ck_assert_int_eq(laze_tensor_read(sums, LAZE_F32, got, sizeof(float) * COUNT), LAZE_OK);
  for (int64_t i = 0; i < COUNT; i++)
    ck_assert_msg(memcmp(&got[i], &expected[i], sizeof *got) == 0, "%s, dim %d, element %ld: %.9g, expected %.9g", what,
                  dim, (long)i, got[i], expected[i]);
  free(got);
}

/* A sum of blocks, of f32, or in a tree would have other bits in most places. */
START_TEST(a_scan_is_one_chain) {
  float *numbers = make_numbers(), *expected = malloc(sizeof(float) * COUNT);
  ck_assert_ptr_nonnull(expected);
  for (int32_t threads = 1; threads <= 3; threads += 2) {
    laze_context *context = open_context(_i, threads);
    laze_tensor *x =
        laze_tensor_from_data(context, LAZE_F32, LAZE_SHAPE(ROWS, LENGTH, COLUMNS), numbers, sizeof(float) * COUNT);
    for (int dim = 0; dim < 3; dim++) {
      expected_sums(numbers, dim, expected);
      compare("alone", dim, laze_cumsum(x, dim), expected);
      compare("fused", dim, laze_neg(laze_cumsum(laze_neg(x), dim)), expected);
      compare("transposed", dim, laze_transpose(laze_cumsum(laze_transpose(x, 0, 2), 2 - dim), 0, 2), expected);
    }
    int64_t fallbacks = -1;
    ck_assert_int_eq(laze_metric_read(context, "fallbacks", &fallbacks, NULL), LAZE_OK);
    ck_assert_int_eq(fallbacks, 0);
    laze_context_release(context);
  }
  free(numbers);
  free(expected);
}
END_TEST

int main(void) {
  TCase *tests = tcase_create("scans");
  conformance_add(tests, a_scan_is_one_chain);
  return conformance_main(tests);
}
