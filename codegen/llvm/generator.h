/* What the code generator, a shared object that is opened on the first kernel no cache has, offers: one exported
 * function, `laze_llvm_generator_get`, that gives a table. This header does not include LLVM's. */
#ifndef LAZE_CODEGEN_LLVM_GENERATOR_H
#define LAZE_CODEGEN_LLVM_GENERATOR_H

#include "base/hash.h"
#include "base/text.h"

struct laze_loop_kernel;

#define LAZE_LLVM_GENERATOR_VERSION 5

typedef enum { LAZE_LLVM_OBJECT, LAZE_LLVM_IR, LAZE_LLVM_ASSEMBLY } laze_llvm_output;

/* What the target's vector registers allow. */
typedef struct laze_vector_unit {
  int register_bytes;
  int register_count;
} laze_vector_unit;

/* The machine that code is for. A value that whoever wants code finds once and hands in, so that the kernel's key and
 * the code speak of the same machine. */
typedef struct laze_target {
  laze_hash key; /* of all that decides on code: part of each kernel's key */
  laze_vector_unit vectors;
  bool has_fused_multiply_add;
  bool converts_f16; /* to f32 and back */
  /* LLVM's names, "skylake" and "+avx2,+fma"; NULL: those of the processor that runs, which follow from what `key` is
   * made of and are known to LLVM alone. */
  const char *cpu, *features;
} laze_target;

/* Kernel i becomes the function named `symbols[i]`, with runtime/kernel.h's signature. */
typedef struct laze_llvm_request {
  const laze_target *target;
  const struct laze_loop_kernel *const *kernels;
  const char *const *symbols;
  int32_t count;
  laze_llvm_output kind;
} laze_llvm_request;

typedef struct laze_llvm_generator {
  int32_t version;    /* LAZE_LLVM_GENERATOR_VERSION; checked by who opens it */
  uint64_t operators; /* LAZE_OP_NUMBERING: kernels name operators by number; checked, too */
  /* The file that LLVM was loaded from: the generator's own, or that of a shared library. Lives as long as it is
   * loaded. NULL: not known. Thread-safe. */
  const char *(*llvm_file)(void);
  /* Compiles kernels together. The bytes (of one object, or text) go to `out`. Thread-safe: each call has its own LLVM
   * context and target machine. LLVM's diagnostics become the error. */
  laze_status (*compile)(laze_context *context, const laze_llvm_request *request, laze_text *out, laze_error *error);
} laze_llvm_generator;

typedef const laze_llvm_generator *(*laze_llvm_generator_function)(void);
#define LAZE_LLVM_GENERATOR_SYMBOL "laze_llvm_generator_get"

#endif
