/* The front door of codegen: from a graph to something that runs. */
#ifndef LAZE_CODEGEN_CODEGEN_H
#define LAZE_CODEGEN_CODEGEN_H

#include "ir/graph.h"
#include "laze/compile.h"
#include "runtime/backend.h"

/* Compiles a graph whose sizes are all constants. A program compiled earlier for a graph that differs only in sizes is
 * reused when every fact it rests on holds for the new sizes; then no pass and no code generator runs. Thread-safe; the
 * graph, which must be of `context`, is borrowed. *out is owned by the caller. */
LAZE_MUST_USE laze_status laze_compile(laze_context *context, const laze_backend *backend, const laze_graph *graph,
                                       laze_executable **out, laze_error *error);

/* Who called the nodes of a graph that was given to laze_compile, for its runs (laze_run); borrows the graph. */
laze_sites laze_graph_sites(const laze_graph *graph);

/* What laze_compile would produce, in a form to read; see laze_emit_kind. */
LAZE_MUST_USE laze_status laze_compile_emit(laze_context *context, const laze_backend *backend, const laze_graph *graph,
                                            laze_emit_kind kind, laze_text *out, laze_error *error);

/* The graph after all passes, symbolised: what the backend gets. Owned by the caller; *bindings, the values of its
 * symbols, lives as long. For `lazec --emit ir`. */
LAZE_MUST_USE laze_status laze_compile_passes(laze_context *context, const laze_graph *graph, laze_graph **out,
                                              const int64_t **bindings, laze_error *error);

/* Whether the backend has native code for all of the graph, with numbers for its sizes: LAZE_UNSUPPORTED names what it
 * has not. */
LAZE_MUST_USE laze_status laze_compile_check_native(laze_context *context, const laze_backend *backend,
                                                    const laze_graph *graph, laze_error *error);

/* Adds the code that the graph, with numbers for its sizes, is compiled to to a pack; nothing, where the backend has
 * none. */
LAZE_MUST_USE laze_status laze_compile_pack(laze_context *context, const laze_backend *backend, const laze_graph *graph,
                                            laze_disk_pack *pack, laze_error *error);

#endif
