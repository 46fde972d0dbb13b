/* Runs one kernel in loop IR twice, interpreted and native, on copies of the same buffers, and compares every bit. */
#ifndef LAZE_TESTS_UNIT_CODEGEN_KERNEL_RUNNER_H
#define LAZE_TESTS_UNIT_CODEGEN_KERNEL_RUNNER_H

#include "codegen/llvm/generator.h"
#include "codegen/loop/loop.h"
#include "codegen/native/target.h"
#include "codegen/order.h"
#include "runtime/kernel.h"
#include "runtime/object_loader.h"

#define RUNNER_MAX_BUFFERS 8
#define RUNNER_MAX_SIZES 16

typedef struct {
  laze_context *context;
  laze_arena arena;
  laze_loop_kernel kernel;
  laze_object *object;
  laze_kernel_function function;
  int64_t lengths[RUNNER_MAX_BUFFERS]; /* elements */
  void *interpreted[RUNNER_MAX_BUFFERS], *native[RUNNER_MAX_BUFFERS];
  int64_t sizes[RUNNER_MAX_SIZES];
  uint64_t random;
  const laze_target *target; /* NULL: the processor that runs the test */
} runner;

/* The code generator, linked in. */
const laze_llvm_generator *laze_llvm_generator_get(void);
/* Runs it for the processor that runs the test. */
laze_status runner_generate(laze_context *context, const laze_loop_kernel *const *kernels, const char *const *symbols,
                            int32_t count, laze_llvm_output kind, laze_text *out, laze_error *error);

void runner_open(runner *r, uint64_t seed);
void runner_close(runner *r);
/* Compiles for registers narrower than this processor's widest, of which there are half as many: 1 for AVX2, 2 for 16
 * bytes, 0 for what the processor has. False where it cannot run that. */
enum { RUNNER_WIDTHS = 3 };
bool runner_set_width(runner *r, int width);
/* Verifies and compiles; fails the test with the kernel's text when either refuses. */
void runner_compile(runner *r);
/* Random 64 bits, and a number in [0, below). */
uint64_t runner_bits(runner *r);
int64_t runner_below(runner *r, int64_t below);
/* Gives every buffer `lengths` random elements: small numbers, and now and then NaN, infinities, zeros of both signs,
 * subnormals and extreme integers where `wild`. */
void runner_fill(runner *r, bool wild);
/* Runs both on [begin, end) and fails the test at the first bit that differs (two NaN are equal). Filled before. */
void runner_compare(runner *r, int64_t begin, int64_t end);
/* The failure of the first check that both noted in the last comparison. */
extern laze_kernel_failure runner_failure;

/* Reductions, and which dtypes they have. */
typedef struct {
  const char *op;
  laze_initial initial;
  bool boolean, number;
} runner_reduction;
enum { RUNNER_REDUCTIONS = 6 };
extern const runner_reduction runner_reductions[RUNNER_REDUCTIONS];

int32_t runner_op(runner *r, const char *op, laze_dtype dtype, int32_t a, int32_t b);
int32_t runner_accumulator(runner *r, const char *op, laze_dtype dtype, laze_order order, laze_initial initial);
void runner_update(runner *r, int32_t accumulator, int32_t value, int32_t loop);
int32_t runner_result(runner *r, int32_t accumulator);

#endif
