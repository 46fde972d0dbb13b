/* What the code generator, a shared object that is opened on the first kernel no cache has, offers: one exported
 * function, `laze_llvm_generator_get`, that gives a table. This header does not include LLVM's. */
#ifndef LAZE_CODEGEN_LLVM_GENERATOR_H
#define LAZE_CODEGEN_LLVM_GENERATOR_H

#include "codegen/loop/loop.h"

#define LAZE_LLVM_GENERATOR_VERSION 1

typedef enum { LAZE_LLVM_OBJECT, LAZE_LLVM_IR, LAZE_LLVM_ASSEMBLY } laze_llvm_output;

typedef struct laze_llvm_generator {
  int32_t version;          /* LAZE_LLVM_GENERATOR_VERSION; checked by who opens it */
  const char *llvm_version; /* "19.1.7" */
  /* Compiles `count` kernels into one module for the host's CPU; kernel i is the function named `symbols[i]`, with
   * runtime/kernel.h's signature. The bytes (object, or text) go to `out`. Thread-safe: each call has its own LLVM
   * context and target machine. LLVM's diagnostics become the error. */
  laze_status (*compile)(laze_context *context, const laze_loop_kernel *const *kernels, const char *const *symbols,
                         int32_t count, laze_llvm_output kind, laze_text *out, laze_error *error);
} laze_llvm_generator;

typedef const laze_llvm_generator *(*laze_llvm_generator_function)(void);
#define LAZE_LLVM_GENERATOR_SYMBOL "laze_llvm_generator_get"

#endif
