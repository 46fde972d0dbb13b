/* The machine that runs, as a target: found without LLVM, so that a warm process knows its kernels' keys. */
#ifndef LAZE_CODEGEN_NATIVE_TARGET_H
#define LAZE_CODEGEN_NATIVE_TARGET_H

#include "codegen/llvm/generator.h"

/* Its key differs between any two x86-64 processors for which LLVM could generate different code, and between machines
 * of different names on others. Thread-safe. */
laze_target laze_target_host(void);
/* The key of a kernel for a target; `loop` is the hash of its loop IR. */
static inline laze_hash laze_target_kernel_key(const laze_target *target, laze_hash loop) {
  return laze_hash_combine(loop, target->key);
}

#endif
