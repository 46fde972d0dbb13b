/* The interface behind which backends differ: a table of functions, chosen at run time by name. All may be called from
 * any thread; what goes to *out is the caller's. */
#ifndef LAZE_RUNTIME_BACKEND_H
#define LAZE_RUNTIME_BACKEND_H

#include "base/text.h"
#include "runtime/disk_pack.h"
#include "runtime/program.h"

struct laze_graph;

/* What a compilation can be shown as. */
typedef enum {
  LAZE_EMIT_SCHEDULE, /* kernels with bytes, operations and the reason of each split, then their loop IR */
  LAZE_EMIT_LLVM,
  LAZE_EMIT_ASSEMBLY,
  LAZE_EMIT_OBJECT, /* bytes of a relocatable object */
} laze_emit_kind;

struct laze_backend {
  const char *name; /* "llvm", "interp" */
  const char *description;
  /* Memory of the device, and copies from and to the host; both backends of today use host memory. */
  laze_status (*allocate)(laze_context *context, int64_t size, laze_buffer **out, laze_error *error);
  laze_status (*copy_from_host)(laze_buffer *buffer, const void *data, int64_t size, laze_error *error);
  laze_status (*copy_to_host)(const laze_buffer *buffer, void *data, int64_t size, laze_error *error);
  /* Compiles a symbolised graph (ir/graph.h), after passes. The graph is borrowed; facts about sizes are asked of its
   * size table, and the program gets a copy of that table with them. */
  laze_status (*compile)(laze_context *context, struct laze_graph *graph, laze_program **out, laze_error *error);
  laze_status (*execute)(laze_executable *executable, const laze_run *run, laze_error *error);
  /* Text (or bytes) of what compile would produce; LAZE_UNSUPPORTED where the backend has none of that kind. */
  laze_status (*emit)(laze_context *context, struct laze_graph *graph, laze_emit_kind kind, laze_text *out,
                      laze_error *error);
  /* Whether compile would leave nothing to the interpreter: LAZE_UNSUPPORTED says what; NULL: it never does. */
  laze_status (*check)(laze_context *context, struct laze_graph *graph, laze_error *error);
  /* Adds the code that compile would need of this graph to a pack, and takes the code of one, without which a graph is
   * compiled as any other; NULL: the backend has none. LAZE_FAILED_PRECONDITION: it cannot run here. */
  laze_status (*pack)(laze_context *context, struct laze_graph *graph, laze_disk_pack *pack, laze_error *error);
  laze_status (*unpack)(laze_context *context, const void *bytes, int64_t size, laze_error *error);
};

/* The memory functions of a backend that computes in host memory: a buffer of `size` bytes, one reference, contents
 * undefined; copies of the first `size` bytes of a buffer, LAZE_OUT_OF_RANGE where it has fewer. Thread-safe for
 * different buffers. */
LAZE_MUST_USE laze_status laze_host_allocate(laze_context *context, int64_t size, laze_buffer **out, laze_error *error);
LAZE_MUST_USE laze_status laze_host_copy_from(laze_buffer *buffer, const void *data, int64_t size, laze_error *error);
LAZE_MUST_USE laze_status laze_host_copy_to(const laze_buffer *buffer, void *data, int64_t size, laze_error *error);

#endif
