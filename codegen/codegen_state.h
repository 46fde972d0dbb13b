/* What codegen keeps per context: programs by graph structure, kernels by kernel key, objects on disk, and the LLVM
 * module once it was needed. */
#ifndef LAZE_CODEGEN_CODEGEN_STATE_H
#define LAZE_CODEGEN_CODEGEN_STATE_H

#include "base/cache.h"
#include "codegen/llvm/generator.h"
#include "ir/graph.h"
#include "runtime/disk_cache.h"
#include "runtime/program.h"

#include <pthread.h>

/* A program with the graph it was compiled from, by which a hit is confirmed. Refcounted, immutable. */
typedef struct laze_cached_program {
  _Atomic int64_t references;
  int64_t bytes;         /* without the program, which counts itself */
  laze_program *program; /* retained */
  laze_graph *graph;     /* owned: a copy */
} laze_cached_program;
void laze_cached_program_release(laze_cached_program *cached);

typedef struct laze_codegen {
  laze_context *context; /* borrowed: this structure is part of it */
  laze_cache *programs;  /* laze_cached_program by structure and backend */
  laze_cache *kernels;   /* laze_kernel by kernel key */
  pthread_mutex_t lock;  /* of what follows, each made on first use */
  bool disk_opened;
  laze_disk_cache *disk; /* NULL: none */
  const laze_llvm_generator *llvm;
} laze_codegen;

/* The context's codegen state, made on first use; borrowed. NULL when memory is out. */
laze_codegen *laze_codegen_get(laze_context *context, laze_error *error);

/* Keeps a program for graphs of the same structure. Without memory it is just not kept. */
void laze_codegen_keep_program(laze_codegen *codegen, laze_hash key, const laze_graph *graph, laze_program *program);

/* Finds or makes a kernel for each loop kernel: in this process, on disk, and what is left through LLVM, in one module.
 * `out[i]` is a new reference; on failure all are NULL. Thread-safe: several threads may compile at once. */
LAZE_MUST_USE laze_status laze_kernels_get(laze_codegen *codegen, const laze_loop_kernel *const *loops, int32_t count,
                                           laze_kernel **out, laze_error *error);
/* Text of the modules that would hold the kernels, or the bytes of the one object; LAZE_UNSUPPORTED where an object
 * would have to hold more kernels than a module does. Nothing is run or cached. Thread-safe. */
LAZE_MUST_USE laze_status laze_kernels_emit(laze_codegen *codegen, const laze_loop_kernel *const *loops, int32_t count,
                                            laze_llvm_output kind, laze_text *out, laze_error *error);

/* The path of this build's LLVM module, static or in `buffer`; NULL when there is none. */
const char *laze_llvm_generator_path(char *buffer, int64_t size);

#endif
