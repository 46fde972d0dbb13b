/* A batch: loop kernels with the keys they are found by, and the names that follow from those.
 *
 *   loop IR, target ─ hash ─> key f276e60a...  symbol laze_f276e60a...   equal loops are one kernel
 */
#include "codegen/native/kernel_batch.h"

#include "codegen/native/target.h"

#include <stdio.h>

void laze_kernel_batch_init(laze_kernel_batch *batch, const laze_target *target) {
  batch->target = *target;
  laze_kernel_batch_clear(batch);
}

void laze_kernel_batch_clear(laze_kernel_batch *batch) {
  batch->count = 0;
  batch->instructions = 0;
}

bool laze_kernel_batch_is_full(const laze_kernel_batch *batch) {
  return batch->count == LAZE_KERNEL_BATCH_MAX || batch->instructions >= LAZE_KERNEL_BATCH_INSTRUCTIONS;
}

laze_hash laze_kernel_batch_key(const laze_kernel_batch *batch, const laze_loop_kernel *loop) {
  return laze_target_kernel_key(&batch->target, laze_loop_hash(loop));
}

void laze_kernel_batch_add(laze_kernel_batch *batch, const laze_loop_kernel *loop, laze_hash key) {
  char digits[33];
  int32_t i = batch->count++;
  laze_hash_format(key, digits);
  snprintf(batch->symbols[i], LAZE_KERNEL_SYMBOL_SIZE, "laze_%s", digits);
  batch->instructions += loop->instruction_count;
  batch->loops[i] = loop;
  batch->keys[i] = key;
  batch->symbol_pointers[i] = batch->symbols[i];
  batch->entries[i] = (laze_disk_entry){key, batch->symbols[i]};
}

bool laze_kernel_batch_has(const laze_kernel_batch *batch, laze_hash key) {
  for (int32_t i = 0; i < batch->count; i++)
    if (laze_hash_equal(batch->keys[i], key)) return true;
  return false;
}

laze_status laze_kernel_batch_generate(const laze_kernel_batch *batch, const laze_generator *generator,
                                       laze_context *context, laze_llvm_output kind, laze_text *out,
                                       laze_error *error) {
  const laze_llvm_request request = {.target = &batch->target,
                                     .kernels = batch->loops,
                                     .symbols = batch->symbol_pointers,
                                     .count = batch->count,
                                     .kind = kind};
  return laze_generator_run(generator, context, &request, out, error);
}

/* The kernels one after the other; a batch that is full is generated, and the next one begun. */
static laze_status emit_all(laze_kernel_batch *batch, const laze_generator *generator, laze_context *context,
                            const laze_loop_kernel *const *loops, int32_t count, laze_llvm_output kind, laze_text *out,
                            laze_error *error) {
  for (int32_t i = 0; i < count; i++) {
    laze_hash key = laze_kernel_batch_key(batch, loops[i]);
    if (laze_kernel_batch_has(batch, key)) continue;
    if (batch->count == LAZE_KERNEL_BATCH_MAX && kind == LAZE_LLVM_OBJECT)
      return laze_fail(error, LAZE_UNSUPPORTED,
                       "the graph needs more than %d different kernels, which do not go into one object; split it",
                       LAZE_KERNEL_BATCH_MAX);
    if (batch->count == LAZE_KERNEL_BATCH_MAX) {
      LAZE_TRY(laze_kernel_batch_generate(batch, generator, context, kind, out, error));
      laze_kernel_batch_clear(batch);
    }
    laze_kernel_batch_add(batch, loops[i], key);
  }
  return laze_kernel_batch_generate(batch, generator, context, kind, out, error);
}

laze_status laze_kernel_batches_emit(laze_generator *generator, const laze_target *target, laze_context *context,
                                     const laze_loop_kernel *const *loops, int32_t count, laze_llvm_output kind,
                                     laze_text *out, laze_error *error) {
  LAZE_TRY(laze_generator_open(generator, error));
  laze_kernel_batch *batch = laze_alloc(context, sizeof *batch);
  if (!batch) return laze_fail_memory(error, "finding kernels", -1);
  laze_kernel_batch_init(batch, target);
  laze_status status = emit_all(batch, generator, context, loops, count, kind, out, error);
  laze_free(context, batch);
  return status;
}
