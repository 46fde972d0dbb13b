/* Kernels that are compiled together, into one object. */
#ifndef LAZE_CODEGEN_NATIVE_KERNEL_BATCH_H
#define LAZE_CODEGEN_NATIVE_KERNEL_BATCH_H

#include "codegen/loop/loop.h"
#include "codegen/native/generator.h"
#include "runtime/disk_cache.h"

/* At most so many: LLVM's fixed cost is shared, and memory while compiling stays bounded. */
enum { LAZE_KERNEL_BATCH_MAX = 64, LAZE_KERNEL_SYMBOL_SIZE = 48 };
/* Loop instructions that take LLVM some tenths of a second: nobody is told of its work, and nothing stops it, while it
 * has a batch. */
enum { LAZE_KERNEL_BATCH_INSTRUCTIONS = 256 };

typedef struct laze_kernel_batch {
  laze_target target;
  int32_t count;
  int64_t instructions;                                 /* of all its loops */
  const laze_loop_kernel *loops[LAZE_KERNEL_BATCH_MAX]; /* borrowed */
  laze_hash keys[LAZE_KERNEL_BATCH_MAX];
  char symbols[LAZE_KERNEL_BATCH_MAX][LAZE_KERNEL_SYMBOL_SIZE];
  const char *symbol_pointers[LAZE_KERNEL_BATCH_MAX];
  laze_disk_entry entries[LAZE_KERNEL_BATCH_MAX]; /* keys and symbols once more, as they go to disk */
} laze_kernel_batch;

/* An empty one. */
void laze_kernel_batch_init(laze_kernel_batch *batch, const laze_target *target);
/* What a kernel of the batch is found by. */
laze_hash laze_kernel_batch_key(const laze_kernel_batch *batch, const laze_loop_kernel *loop);
/* The batch must have room. */
void laze_kernel_batch_add(laze_kernel_batch *batch, const laze_loop_kernel *loop, laze_hash key);
/* Whether no other kernel should come in. */
bool laze_kernel_batch_is_full(const laze_kernel_batch *batch);
void laze_kernel_batch_clear(laze_kernel_batch *batch);
bool laze_kernel_batch_has(const laze_kernel_batch *batch, laze_hash key);
/* Generates its code. The generator must be open. */
LAZE_MUST_USE laze_status laze_kernel_batch_generate(const laze_kernel_batch *batch, const laze_generator *generator,
                                                     laze_context *context, laze_llvm_output kind, laze_text *out,
                                                     laze_error *error);

/* Text of the batches that would hold the kernels, or the bytes of the one object; LAZE_UNSUPPORTED where an object
 * would have to hold more kernels than a batch does. Nothing is run or cached. Thread-safe. */
LAZE_MUST_USE laze_status laze_kernel_batches_emit(laze_generator *generator, const laze_target *target,
                                                   laze_context *context, const laze_loop_kernel *const *loops,
                                                   int32_t count, laze_llvm_output kind, laze_text *out,
                                                   laze_error *error);

#endif
