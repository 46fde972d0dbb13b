#include "tests/unit/codegen/kernel_runner.h"

#include "codegen/order.h"
#include "tests/support/loop_interpreter.h"

#include <check.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

laze_kernel_failure runner_failure;

void runner_open(runner *r, uint64_t seed) {
  memset(r, 0, sizeof *r);
  r->context = laze_context_default();
  r->random = seed * 0x9E3779B97F4A7C15u + 1;
  laze_arena_init(&r->arena, r->context);
  laze_loop_init(&r->kernel, &r->arena);
}

static void release_buffers(runner *r) {
  for (int k = 0; k < RUNNER_MAX_BUFFERS; k++) {
    free(r->interpreted[k]);
    free(r->native[k]);
    r->interpreted[k] = r->native[k] = NULL;
  }
}

void runner_close(runner *r) {
  release_buffers(r);
  laze_object_destroy(r->object);
  laze_arena_deinit(&r->arena);
}

static void fail_with_kernel(runner *r, const char *what) {
  laze_text text;
  laze_text_init(&text, r->context);
  laze_loop_print(&text, &r->kernel);
  ck_abort_msg("%s\n%s", what, laze_text_get(&text));
}

laze_status runner_generate(laze_context *context, const laze_loop_kernel *const *kernels, const char *const *symbols,
                            int32_t count, laze_llvm_output kind, laze_text *out, laze_error *error) {
  const laze_target host = laze_target_host();
  const laze_llvm_request request = {&host, kernels, symbols, count, kind};
  return laze_llvm_generator_get()->compile(context, &request, out, error);
}

const runner_reduction runner_reductions[RUNNER_REDUCTIONS] = {
    {"add.Tensor", LAZE_INITIAL_ZERO, false, true}, {"mul.Tensor", LAZE_INITIAL_ONE, false, true},
    {"maximum", LAZE_INITIAL_LOWEST, true, true},   {"minimum", LAZE_INITIAL_HIGHEST, true, true},
    {"logical_or", LAZE_INITIAL_ZERO, true, false}, {"logical_and", LAZE_INITIAL_ONE, true, false}};

static const laze_target narrow_targets[RUNNER_WIDTHS - 1] = {
    {.vectors = {32, 16}, .has_fused_multiply_add = true, .cpu = "haswell", .features = "+avx2,+fma"},
    {.vectors = {16, 16}, .has_fused_multiply_add = true, .cpu = "haswell", .features = "+avx2,+fma"},
};

bool runner_set_width(runner *r, int width) {
  const laze_target host = laze_target_host();
  if (width > 0) r->target = &narrow_targets[width - 1];
  return width == 0 || (host.has_fused_multiply_add && host.vectors.register_bytes >= 32);
}

void runner_compile(runner *r) {
  laze_error error = {0};
  laze_text bytes;
  laze_text_init(&bytes, r->context);
  const laze_loop_kernel *kernel = &r->kernel;
  const char *symbol = "kernel";
  if (laze_loop_verify(kernel, &error) != LAZE_OK) fail_with_kernel(r, error.message);
  const laze_target host = laze_target_host();
  const laze_llvm_request request = {r->target ? r->target : &host, &kernel, &symbol, 1, LAZE_LLVM_OBJECT};
  if (laze_llvm_generator_get()->compile(r->context, &request, &bytes, &error) != LAZE_OK)
    fail_with_kernel(r, error.message);
  if (laze_object_load(r->context, bytes.data, bytes.size, NULL, &r->object, &error) != LAZE_OK)
    fail_with_kernel(r, error.message);
  void *address = laze_object_find(r->object, symbol);
  ck_assert_ptr_nonnull(address);
  memcpy(&r->function, &address, sizeof address);
  laze_text_deinit(&bytes);
}

uint64_t runner_bits(runner *r) {
  uint64_t x = r->random += 0x9E3779B97F4A7C15u;
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
  x = (x ^ x >> 27) * 0x94D049BB133111EBu;
  return x ^ x >> 31;
}

int64_t runner_below(runner *r, int64_t below) {
  return (int64_t)(runner_bits(r) % (uint64_t)below);
}

static double random_real(runner *r, bool wild) {
  static const double special[] = {NAN,          INFINITY,      -INFINITY, 0.0,  -0.0, 1e-310, 1e-40,
                                   2147483648.0, -2147483648.5, 9.3e18,    3e38, -1.0, 0.5,    2.5};
  if (wild && runner_below(r, 8) == 0) return special[runner_below(r, sizeof special / sizeof special[0])];
  return (double)runner_below(r, 2000001) / 1000000.0 - 1.0;
}

static int64_t random_integer(runner *r, bool wild) {
  static const int64_t special[] = {INT64_MIN, INT64_MAX, INT32_MIN, INT32_MAX, 0, -1, 1, 16777217};
  if (wild && runner_below(r, 6) == 0) return special[runner_below(r, sizeof special / sizeof special[0])];
  return runner_below(r, 41) - 20;
}

static void fill_buffer(runner *r, int32_t buffer, bool wild) {
  laze_dtype dtype = r->kernel.buffers[buffer].dtype;
  for (int64_t k = 0; k < r->lengths[buffer]; k++) {
    laze_scalar value = laze_dtype_is_float(dtype) ? laze_scalar_real(random_real(r, wild))
                                                   : laze_scalar_integer(random_integer(r, wild));
    if (dtype == LAZE_BOOL) value.value.integer &= 1;
    laze_scalar_store(value, dtype, r->interpreted[buffer], k);
  }
}

void runner_fill(runner *r, bool wild) {
  release_buffers(r);
  for (int32_t k = 0; k < r->kernel.buffer_count; k++) {
    size_t bytes = (size_t)(r->lengths[k] * laze_dtype_size(r->kernel.buffers[k].dtype));
    r->interpreted[k] = malloc(bytes + 1);
    r->native[k] = malloc(bytes + 1);
    ck_assert(r->interpreted[k] && r->native[k]);
    fill_buffer(r, k, wild);
    memcpy(r->native[k], r->interpreted[k], bytes);
  }
}

static bool same_element(laze_dtype dtype, const void *a, const void *b, int64_t k) {
  laze_scalar x = laze_scalar_load(dtype, a, k), y = laze_scalar_load(dtype, b, k);
  if (laze_dtype_is_float(dtype) && isnan(x.value.real) && isnan(y.value.real)) return true;
  return x.value.integer == y.value.integer; /* in bits */
}

static void compare_buffer(runner *r, int32_t buffer) {
  laze_dtype dtype = r->kernel.buffers[buffer].dtype;
  for (int64_t k = 0; k < r->lengths[buffer]; k++) {
    if (same_element(dtype, r->interpreted[buffer], r->native[buffer], k)) continue;
    laze_text text;
    laze_text_init(&text, r->context);
    laze_text_format(&text, "buffer %d element %" PRId64 " of %" PRId64 ": interpreted ", buffer, k,
                     r->lengths[buffer]);
    laze_text_append_scalar(&text, dtype, laze_scalar_load(dtype, r->interpreted[buffer], k));
    laze_text_append(&text, ", native ");
    laze_text_append_scalar(&text, dtype, laze_scalar_load(dtype, r->native[buffer], k));
    for (int s = 0; s < r->kernel.size_count; s++) laze_text_format(&text, " size%d=%" PRId64, s, r->sizes[s]);
    fail_with_kernel(r, laze_text_get(&text));
  }
}

static int64_t index_value(const runner *r, int32_t number) {
  const laze_loop_instruction *i = &r->kernel.instructions[number];
  if (i->code == LAZE_LOOP_INDEX_CONSTANT) return i->imm;
  ck_assert_int_eq(i->code, LAZE_LOOP_INDEX_SIZE);
  return r->sizes[i->imm];
}

/* What a product copies of its factors, and no byte more, so that a sanitizer sees what lies beyond: of the first one
 * where its rows are known to lie next to each other. */
static void *allocate_scratch(const runner *r) {
  int64_t bytes = 0;
  for (int32_t k = 0; k < r->kernel.instruction_count; k++) {
    const laze_loop_instruction *i = &r->kernel.instructions[k];
    if (i->code != LAZE_LOOP_MATRIX) continue;
    const int64_t depth = index_value(r, r->kernel.operands[i->first + LAZE_PRODUCT_DEPTH]);
    const int64_t block = depth < LAZE_PRODUCT_BLOCK ? depth : LAZE_PRODUCT_BLOCK;
    const int32_t *operands = r->kernel.operands + i->first;
    const laze_loop_instruction *step = &r->kernel.instructions[operands[LAZE_PRODUCT_A_ROW]];
    const bool copies = step->code == LAZE_LOOP_INDEX_CONSTANT && step->imm == 1;
    const int64_t rows = copies ? index_value(r, operands[LAZE_PRODUCT_ROWS]) : 0;
    bytes = LAZE_PANEL_BYTES + LAZE_PANEL_ROWS * rows * laze_dtype_size(i->dtype);
    bytes *= (block + LAZE_PANEL_ROWS - 1) / LAZE_PANEL_ROWS;
  }
  if (bytes == 0) return NULL;
  void *scratch = aligned_alloc(64, (size_t)bytes);
  ck_assert_ptr_nonnull(scratch);
  return scratch;
}

void runner_compare(runner *r, int64_t begin, int64_t end) {
  laze_error error = {0};
  enum { CHECKS = 4 };
  laze_kernel_failure interpreted[CHECKS], native[CHECKS];
  for (int k = 0; k < CHECKS; k++) interpreted[k] = native[k] = (laze_kernel_failure){.position = INT64_MAX};
  laze_kernel_arguments arguments = {r->interpreted, r->sizes, interpreted, NULL, NULL, NULL};
  ck_assert_int_le(r->kernel.check_count, CHECKS);
  if (test_interpret_loop(&r->kernel, r->context, &arguments, begin, end, &error) != LAZE_OK)
    fail_with_kernel(r, error.message);
  arguments.buffers = r->native;
  arguments.failures = native;
  void *scratch = allocate_scratch(r);
  r->function(&arguments, begin, end, scratch);
  free(scratch);
  for (int32_t k = 0; k < r->kernel.buffer_count; k++) compare_buffer(r, k);
  ck_assert_mem_eq(interpreted, native, sizeof native);
  runner_failure = native[0];
}

int32_t runner_op(runner *r, const char *op, laze_dtype dtype, int32_t a, int32_t b) {
  laze_op found = laze_op_find(op);
  ck_assert_msg(found != LAZE_OP_NONE, "no operator %s", op);
  laze_compute rule = laze_op_get(found)->compute;
  bool boolean = rule == LAZE_COMPUTE_COMPARE || rule == LAZE_COMPUTE_LOGICAL;
  return laze_loop_element(&r->kernel, found, dtype, boolean ? LAZE_BOOL : dtype, (int32_t[]){a, b}, b < 0 ? 1 : 2);
}

int32_t runner_accumulator(runner *r, const char *op, laze_dtype dtype, laze_order order, laze_initial initial) {
  laze_loop_instruction accumulator = {.code = LAZE_LOOP_ACCUMULATOR,
                                       .dtype = (uint8_t)dtype,
                                       .op = laze_op_find(op),
                                       .order = (uint8_t)order,
                                       .initial = (uint8_t)initial};
  return laze_loop_emit(&r->kernel, accumulator, NULL, 0);
}

void runner_update(runner *r, int32_t accumulator, int32_t value, int32_t loop) {
  laze_loop_instruction update = {.code = LAZE_LOOP_UPDATE};
  laze_loop_emit(&r->kernel, update, (int32_t[]){accumulator, value, loop}, 3);
}

int32_t runner_result(runner *r, int32_t accumulator) {
  laze_loop_instruction result = {.code = LAZE_LOOP_RESULT, .dtype = (uint8_t)laze_loop_dtype(&r->kernel, accumulator)};
  return laze_loop_emit(&r->kernel, result, &accumulator, 1);
}
