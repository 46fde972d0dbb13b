/* Floats of 16 bits in native code: every one of them, and every f32 at which rounding to one could go wrong, with the
 * processor's conversions and without. The loop interpreter says what is right, by base/half.h. */
#include "base/half.h"
#include "tests/support/suite.h"
#include "tests/unit/codegen/kernel_runner.h"

#include <check.h>
#include <math.h>
#include <string.h>

static const laze_dtype halves[] = {LAZE_F16, LAZE_BF16};
static const laze_dtype others[] = {LAZE_BOOL, LAZE_U8,  LAZE_I8,  LAZE_I16, LAZE_I32, LAZE_I64,
                                    LAZE_U16,  LAZE_U32, LAZE_U64, LAZE_F32, LAZE_F64};
enum { HALVES = 2, OTHERS = sizeof others / sizeof *others, EVERY = 1 << 16 };

#if defined(__x86_64__)
/* One after the other as processors came; what has no F16C is run by every processor that has AVX2. */
static const laze_target targets[] = {
    {.vectors = {32, 16}, .has_fused_multiply_add = true, .cpu = "haswell", .features = "+avx2,+fma,-f16c"},
    {.vectors = {32, 16},
     .has_fused_multiply_add = true,
     .converts_f16 = true,
     .cpu = "haswell",
     .features = "+avx2,+fma,+f16c"},
    {.vectors = {64, 32},
     .has_fused_multiply_add = true,
     .converts_f16 = true,
     .cpu = "skylake-avx512",
     .features = "+avx512f,+fma,+f16c"},
    {.vectors = {64, 32},
     .has_fused_multiply_add = true,
     .converts_f16 = true,
     .cpu = "sapphirerapids",
     .features = "+avx512f,+avx512bf16,+avx512fp16,+fma,+f16c"}};
enum { WITHOUT_F16C, WITH_F16C, WITH_AVX512, WITH_ARITHMETIC, TARGETS };
#endif

/* The targets that the processor which runs the test has: NULL stands for itself. */
static int runnable(const laze_target *found[2]) {
  int count = 0;
  found[count++] = NULL;
#if defined(__x86_64__)
  if (laze_target_host().vectors.register_bytes >= 32) found[count++] = &targets[WITHOUT_F16C];
#endif
  return count;
}

static void open_conversion(runner *r, const laze_target *target, laze_dtype from, laze_dtype to) {
  runner_open(r, 1);
  r->target = target;
  laze_loop_kernel *k = &r->kernel;
  laze_loop_add_buffer(k, from, false);
  laze_loop_add_buffer(k, to, true);
  int32_t i = laze_loop_begin(k, laze_loop_index_size(k, 0), LAZE_LOOP_RANGE | LAZE_LOOP_LANES);
  laze_loop_store(k, 1, i, laze_loop_convert(k, laze_loop_load(k, 0, i, -1), to), -1);
  laze_loop_end(k);
}

static void set_length(runner *r, int64_t length) {
  r->sizes[0] = r->lengths[0] = r->lengths[1] = length;
  runner_fill(r, true);
}

/* All 65536 as f32, and back as they were. */
static void load_every(const laze_target *target, laze_dtype half, laze_dtype to) {
  runner r;
  open_conversion(&r, target, half, to);
  runner_compile(&r);
  set_length(&r, EVERY);
  for (int i = 0; i < EVERY; i++) ((uint16_t *)r.interpreted[0])[i] = ((uint16_t *)r.native[0])[i] = (uint16_t)i;
  runner_compare(&r, 0, EVERY);
  runner_close(&r);
}

/* Each float of 16 bits as f32, the middle between it and the next, and the neighbours of that middle. */
static void store_boundaries(const laze_target *target, laze_dtype half) {
  runner r;
  open_conversion(&r, target, LAZE_F32, half);
  runner_compile(&r);
  set_length(&r, 4 * EVERY);
  float *values = r.interpreted[0];
  for (int i = 0; i < EVERY; i++) {
    uint16_t here = (uint16_t)i;
    uint32_t bits, middle = half == LAZE_F16 ? 1u << 12 : 1u << 15;
    float value = (float)laze_scalar_load(half, &here, 0).value.real;
    memcpy(&bits, &value, sizeof bits);
    /* Subnormals of f16 are as far apart as the least of them is large: half of it is the middle. */
    float halfway = half == LAZE_F16 && (i & 0x7fff) < 0x400 ? value + copysignf(0x1p-25f, value)
                                                             : laze_float_of_bits(bits + middle);
    values[4 * i] = value;
    values[4 * i + 1] = halfway;
    values[4 * i + 2] = nextafterf(halfway, 0);
    values[4 * i + 3] = nextafterf(halfway, 2 * halfway);
  }
  memcpy(r.native[0], r.interpreted[0], 4 * EVERY * sizeof(float));
  runner_compare(&r, 0, 4 * EVERY);
  runner_close(&r);
}

START_TEST(conversions_are_exact) {
  const laze_target *found[2];
  int count = runnable(found);
  for (int t = 0; t < count; t++)
    for (int h = 0; h < HALVES; h++) {
      load_every(found[t], halves[h], LAZE_F32);
      load_every(found[t], halves[h], halves[1 - h]);
      store_boundaries(found[t], halves[h]);
    }
}
END_TEST

/* Numbers outside of each other's range among them. */
START_TEST(other_dtypes_go_by_f32) {
  const laze_target *found[2];
  int count = runnable(found);
  for (int t = 0; t < count; t++)
    for (int h = 0; h < HALVES; h++)
      for (int o = 0; o < OTHERS; o++) {
        runner r;
        load_every(found[t], halves[h], others[o]);
        open_conversion(&r, found[t], others[o], halves[h]);
        runner_compile(&r);
        set_length(&r, 2051);
        runner_compare(&r, 0, 2051);
        runner_close(&r);
      }
}
END_TEST

#if defined(__x86_64__)
/* z[i] = sqrt(x[i] * y[i]), rounded after each of them. */
static void build_two_operators(runner *r, laze_dtype half) {
  laze_loop_kernel *k = &r->kernel;
  for (int b = 0; b < 3; b++) laze_loop_add_buffer(k, half, b == 2);
  int32_t i = laze_loop_begin(k, laze_loop_index_size(k, 0), LAZE_LOOP_RANGE | LAZE_LOOP_LANES);
  int32_t x = laze_loop_convert(k, laze_loop_load(k, 0, i, -1), LAZE_F32);
  int32_t y = laze_loop_convert(k, laze_loop_load(k, 1, i, -1), LAZE_F32);
  int32_t product = laze_loop_convert(k, runner_op(r, "mul.Tensor", LAZE_F32, x, y), half);
  int32_t root = runner_op(r, "sqrt", LAZE_F32, laze_loop_convert(k, product, LAZE_F32), -1);
  laze_loop_store(k, 2, i, laze_loop_convert(k, root, half), -1);
  laze_loop_end(k);
}

static void print_code(runner *r, int target, laze_text *out) {
  const laze_loop_kernel *kernel = &r->kernel;
  const char *symbol = "kernel";
  const laze_llvm_request request = {&targets[target], &kernel, &symbol, 1, LAZE_LLVM_ASSEMBLY};
  laze_error error;
  laze_text_init(out, r->context);
  ck_assert_msg(laze_llvm_generator_get()->compile(r->context, &request, out, &error) == LAZE_OK, "%s", error.message);
}

static int occurrences(const char *text, const char *part) {
  int count = 0;
  for (; (text = strstr(text, part)); text += strlen(part)) count++;
  return count;
}

/* A kernel's object has nothing to call: on a processor without F16C LLVM would call __extendhfsf2, and the loader
 * would refuse the kernel. And bf16 is never left to the instruction that takes subnormals for zeros. */
START_TEST(code_is_vectors_and_calls_nothing) {
  for (int target = 0; target < TARGETS; target++)
    for (int h = 0; h < HALVES; h++) {
      runner r;
      laze_text text;
      runner_open(&r, 1);
      build_two_operators(&r, halves[h]);
      print_code(&r, target, &text);
      const char *code = laze_text_get(&text), *wide = target >= WITH_AVX512 ? "zmm" : "ymm";
      ck_assert_msg(!strstr(code, "call"), "target %d: %s", target, code);
      ck_assert_msg(!strstr(code, "hfsf") && !strstr(code, "sfhf"), "target %d: %s", target, code);
      ck_assert_msg(!strstr(code, "bf16"), "target %d: %s", target, code);
      ck_assert_msg(strstr(code, "vsqrtps"), "target %d: %s", target, code);
      ck_assert_int_gt(occurrences(code, wide), 4);
      bool converts = halves[h] == LAZE_F16 && target != WITHOUT_F16C;
      ck_assert_msg((strstr(code, "vcvtph2ps") != NULL) == converts, "target %d: %s", target, code);
      laze_text_deinit(&text);
      runner_close(&r);
    }
}
END_TEST
#endif

int main(void) {
  Suite *suite = suite_create("llvm_half");
  TCase *tests = tcase_create("floats of 16 bits in native code");
  tcase_set_timeout(tests, 120);
  tcase_add_test(tests, conversions_are_exact);
  tcase_add_test(tests, other_dtypes_go_by_f32);
#if defined(__x86_64__)
  tcase_add_test(tests, code_is_vectors_and_calls_nothing);
#endif
  suite_add_tcase(suite, tests);
  return test_run_suite(suite);
}
