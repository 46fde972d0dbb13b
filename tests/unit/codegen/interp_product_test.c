/* Matrix products on the interpreter, and the composites over them. */
#include "tests/unit/codegen/interp_support.h"

#include <math.h>
#include <string.h>

static lab l;
static void setup(void) {
  lab_open(&l);
}
static void teardown(void) {
  lab_close(&l);
}

enum { DEEPEST = 3000 };

static double element(int i) {
  return 1.1 + (double)(i * 7919 % 1013) * 0.003 - (double)(i % 3);
}

/* A single rounding per step, which separate products and sums would not give, and the joins of the order; written down
 * a second time. */
#define DEFINE_CHAINS(type, fma)                                                                                       \
  static type chains_##type(const type *a, const type *b, int depth) {                                                 \
    type total = 0;                                                                                                    \
    for (int first = 0; first < depth; first += 1024) {                                                                \
      type sums[4] = {0};                                                                                              \
      for (int k = first; k < depth && k < first + 1024; k++) {                                                        \
        int chain = depth < 256 ? 0 : k % 4;                                                                           \
        sums[chain] = fma(a[k], b[k], sums[chain]);                                                                    \
      }                                                                                                                \
      type block = (sums[0] + sums[2]) + (sums[1] + sums[3]);                                                          \
      total = first ? total + block : block;                                                                           \
    }                                                                                                                  \
    return total;                                                                                                      \
  }
DEFINE_CHAINS(float, fmaf)
DEFINE_CHAINS(double, fma)

START_TEST(chains_of_every_depth) {
  static const int depths[] = {1, 7, 255, 256, 257, 1023, 1024, 1025, 2050, DEEPEST};
  static float a[DEEPEST], b[DEEPEST];
  static double c[DEEPEST], d[DEEPEST];
  for (int i = 0; i < DEEPEST; i++) {
    a[i] = (float)(c[i] = element(i));
    b[i] = (float)(d[i] = element(i + 77));
  }
  for (int i = 0; i < 10; i++) {
    teardown();
    setup();
    laze_value x = lab_input(&l, LAZE_F32, DIMS(1, depths[i]), a), y = lab_input(&l, LAZE_F32, DIMS(depths[i], 1), b);
    lab_run(&l, lab_binary(&l, "mm", x, y));
    lab_expect(&l, float, chains_float(a, b, depths[i]));
    laze_value v = lab_input(&l, LAZE_F64, DIMS(1, depths[i]), c), w = lab_input(&l, LAZE_F64, DIMS(depths[i], 1), d);
    lab_run(&l, lab_binary(&l, "mm", v, w));
    lab_expect(&l, double, chains_double(c, d, depths[i]));
  }
}
END_TEST

START_TEST(integers_wrap) {
  laze_value x = lab_input(&l, LAZE_I32, DIMS(1, 2), (int32_t[]){INT32_MAX, 1});
  laze_value y = lab_input(&l, LAZE_I32, DIMS(2, 1), (int32_t[]){2, 3});
  lab_run(&l, lab_binary(&l, "mm", x, y));
  lab_expect(&l, int32_t, 1);
}
END_TEST

START_TEST(batches) {
  laze_value x = lab_input(&l, LAZE_F64, DIMS(2, 1, 2), (double[]){1, 2, 3, 4});
  laze_value y = lab_input(&l, LAZE_F64, DIMS(2, 2, 2), (double[]){1, 0, 0, 1, 2, 0, 0, 2});
  lab_run(&l, lab_binary(&l, "bmm", x, y));
  lab_expect(&l, double, 1, 2, 6, 8);
}
END_TEST

/* A product over no elements is zero. */
START_TEST(no_depth) {
  laze_value x = lab_input(&l, LAZE_F32, DIMS(2, 0), NULL), y = lab_input(&l, LAZE_F32, DIMS(0, 2), NULL);
  lab_run(&l, lab_binary(&l, "mm", x, y));
  lab_expect(&l, float, 0, 0, 0, 0);
}
END_TEST

/* Every combination of ranks that matmul tells apart. */
START_TEST(matmul_of_ranks) {
  laze_value v = lab_input(&l, LAZE_F32, DIMS(2), (float[]){1, 2}),
             m = lab_input(&l, LAZE_F32, DIMS(2, 2), (float[]){1, 2, 3, 4});
  laze_value b = lab_input(&l, LAZE_F32, DIMS(2, 1, 2, 2), (float[]){1, 0, 0, 1, 0, 1, 1, 0});
  laze_value c = lab_input(&l, LAZE_F32, DIMS(2, 2, 1), (float[]){1, 2, 3, 4});
  lab_run(&l, lab_binary(&l, "matmul", v, v));
  lab_expect_dims(&l, NO_DIMS);
  lab_expect(&l, float, 5);
  lab_run(&l, lab_binary(&l, "matmul", v, m));
  lab_expect_dims(&l, DIMS(2));
  lab_expect(&l, float, 7, 10);
  lab_run(&l, lab_binary(&l, "matmul", m, v));
  lab_expect_dims(&l, DIMS(2));
  lab_expect(&l, float, 5, 11);
  lab_run(&l, lab_binary(&l, "matmul", b, m));
  lab_expect_dims(&l, DIMS(2, 1, 2, 2));
  lab_expect(&l, float, 1, 2, 3, 4, 3, 4, 1, 2);
  lab_run(&l, lab_binary(&l, "matmul", b, c));
  lab_expect_dims(&l, DIMS(2, 2, 2, 1));
  lab_expect(&l, float, 1, 2, 3, 4, 2, 1, 4, 3);
  lab_run(&l, lab_binary(&l, "matmul", v, c));
  lab_expect_dims(&l, DIMS(2, 1));
  lab_expect(&l, float, 5, 11);
}
END_TEST

START_TEST(refuses_other_inner_sizes) {
  laze_value a = lab_input(&l, LAZE_F32, DIMS(2, 3), (float[6]){0}),
             b = lab_input(&l, LAZE_F32, DIMS(2, 3), (float[6]){0}), out;
  ck_assert_int_eq(lab_try_call(&l, "matmul", (laze_value[]){a, b}, 2, NULL, &out), LAZE_INVALID_ARGUMENT);
  ck_assert_ptr_nonnull(strstr(l.error.message, "f32[2,3]"));
}
END_TEST

START_TEST(linear_addmm) {
  laze_value x = lab_input(&l, LAZE_F32, DIMS(1, 2), (float[]){1, 2});
  laze_value w = lab_input(&l, LAZE_F32, DIMS(3, 2), (float[]){1, 0, 0, 1, 1, 1});
  laze_value bias = lab_input(&l, LAZE_F32, DIMS(3), (float[]){10, 20, 30});
  lab_run(&l, lab_call(&l, "linear", (laze_value[]){x, w, bias}, 3, NULL));
  lab_expect(&l, float, 11, 22, 33);
  lab_run(&l, lab_call(&l, "addmm", (laze_value[]){bias, x, lab_unary(&l, "t", w)}, 3, NULL));
  lab_expect(&l, float, 11, 22, 33);
}
END_TEST

int main(void) {
  const TTest *const tests[] = {chains_of_every_depth,     integers_wrap, batches, no_depth, matmul_of_ranks,
                                refuses_other_inner_sizes, linear_addmm};
  return lab_main("interp_product", setup, teardown, tests, (int)(sizeof tests / sizeof *tests));
}
