/* Machine code from a relocatable object into memory, without a linker and without LLVM.
 *
 * Takes ELF64 objects as the code generator writes them: position-independent, small code model, only calls to a fixed
 * list of imports. Bytes are treated as a stranger's: a damaged object is an error, never a crash while loading. (What
 * the code does when called is another matter: the disk cache checks where objects come from.) Memory is never writable
 * and executable at once.
 *
 *   object                      mapping
 *   .text, .text.*         ->   code         r-x   followed by a trampoline for each import
 *   .rodata, .rodata.*     ->   constants    r--
 *   .data, .bss            ->   variables    rw-
 *   the rest (.eh_frame, notes, debug information) stays out
 */
#ifndef LAZE_RUNTIME_OBJECT_LOADER_H
#define LAZE_RUNTIME_OBJECT_LOADER_H

#include "base/context.h"

/* Most bytes of a mapping. */
#define LAZE_OBJECT_MAX (INT64_C(256) << 20)

typedef struct laze_object laze_object;

/* A symbol that objects may leave undefined. */
typedef struct laze_object_import {
  const char *name;
  const void *address; /* of any distance */
} laze_object_import;

typedef struct laze_object_options {
  const laze_object_import *imports; /* may be NULL when import_count is 0; need not outlive the call */
  int import_count;
  bool hide_from_debugger; /* do not register with GDB's JIT interface (a copy of the object) */
  bool perf_map;           /* append names to /tmp/perf-<pid>.map, for perf */
} laze_object_options;

/* Reads which options the environment asks for (LAZE_PERF_MAP=1); the rest is zero. */
laze_object_options laze_object_options_from_environment(void);

/* Maps, relocates and protects an object; keeps nothing of `bytes`, which need no alignment. `options` may be NULL. On
 * success *out is the caller's. LAZE_DATA_LOSS: the object is damaged; LAZE_UNSUPPORTED: it is not of the kind above,
 * or the system allows no executable memory; LAZE_OUT_OF_MEMORY. Thread-safe. */
LAZE_MUST_USE laze_status laze_object_load(laze_context *context, const void *bytes, int64_t size,
                                           const laze_object_options *options, laze_object **out, laze_error *error);
/* Address of a global function or variable, or NULL; valid as long as the object. Thread-safe. */
void *laze_object_find(const laze_object *object, const char *symbol);
/* Bytes mapped. */
int64_t laze_object_size(const laze_object *object);
/* No code of the object may be running; NULL is ignored. */
void laze_object_destroy(laze_object *object);

#endif
