/* The code generator as the native backend sees it: loop IR in, an object or text out. It lives in a shared object of
 * its own (codegen/llvm/), which is opened when a kernel is needed that no cache has: a warm process never loads it. */
#ifndef LAZE_CODEGEN_NATIVE_GENERATOR_H
#define LAZE_CODEGEN_NATIVE_GENERATOR_H

#include "codegen/llvm/generator.h"

#include <pthread.h>

typedef struct laze_generator {
  pthread_mutex_t lock;
  const laze_llvm_generator *table; /* NULL: not opened yet */
  bool is_identified;               /* open, and of the code that laze_generator_identity() names */
} laze_generator;

void laze_generator_init(laze_generator *generator);
/* The shared object stays open: closing one that ran static constructors is not safe in every process. */
void laze_generator_deinit(laze_generator *generator);

/* Opens it, the first time. LAZE_UNSUPPORTED where it is not installed, or of another build. Thread-safe. */
LAZE_MUST_USE laze_status laze_generator_open(laze_generator *generator, laze_error *error);
/* Generates code for some kernels, through the gate. The generator must be open. No callback but the allocator's runs
 * inside. Thread-safe. */
LAZE_MUST_USE laze_status laze_generator_run(const laze_generator *generator, laze_context *context,
                                             const laze_llvm_request *request, laze_text *out, laze_error *error);

/* Appends what names the code of the generator and of its LLVM: build ids, read from files of which none is loaded. An
 * LLVM that is a shared library is the one that this build was linked with; another may come in its place when the
 * generator is opened, if the process has one of that name. LAZE_NOT_FOUND, and others of laze_build_id_read(): there
 * is no telling. Thread-safe. */
LAZE_MUST_USE laze_status laze_generator_identity(laze_text *out, laze_error *error);
/* Whether the LLVM in `file`, from which an open generator has it, is the one that the identity names. */
bool laze_generator_names_llvm(const char *file);

/* Where this build's generator lies: a path, static or in `buffer`; NULL when there is none. */
const char *laze_generator_path(char *buffer, int64_t size);

#endif
