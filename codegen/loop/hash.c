/* The hash of a kernel's loop IR: everything that decides on its code but the target. It names the kernel. */
#include "codegen/loop/loop.h"

#include <string.h>

/* Raised when the meaning of an instruction changes, so that objects on disk are not taken for what they are not. */
#define LOOP_VERSION 1

static laze_hash hash_operator(laze_op op, laze_hash seed) {
  const char *name = op == LAZE_OP_NONE ? "" : laze_op_get(op)->name;
  return laze_hash_combine(seed, laze_hash_bytes(name, strlen(name)));
}

static laze_hash hash_instruction(const laze_loop_kernel *kernel, const laze_loop_instruction *i, laze_hash seed) {
  uint64_t fields = (uint64_t)i->code | (uint64_t)i->dtype << 8 | (uint64_t)i->compute << 16 |
                    (uint64_t)i->flags << 24 | (uint64_t)i->order << 32 | (uint64_t)i->initial << 40;
  laze_hash hash = laze_hash_add(seed, fields);
  hash = laze_hash_add(hash, (uint64_t)i->imm);
  hash = laze_hash_add(hash, (uint64_t)i->count);
  for (int32_t k = 0; k < i->count; k++) hash = laze_hash_add(hash, (uint64_t)kernel->operands[i->first + k]);
  return hash_operator(i->op, hash);
}

laze_hash laze_loop_hash(const laze_loop_kernel *kernel) {
  laze_hash hash = {LOOP_VERSION, 0};
  hash = laze_hash_add(hash, (uint64_t)kernel->buffer_count << 32 | (uint64_t)kernel->instruction_count);
  hash = laze_hash_add(hash, (uint64_t)kernel->size_count << 32 | (uint64_t)kernel->check_count);
  for (int32_t i = 0; i < kernel->buffer_count; i++)
    hash = laze_hash_add(hash, (uint64_t)kernel->buffers[i].dtype << 1 | kernel->buffers[i].written);
  for (int32_t i = 0; i < kernel->instruction_count; i++)
    hash = hash_instruction(kernel, &kernel->instructions[i], hash);
  return hash;
}
