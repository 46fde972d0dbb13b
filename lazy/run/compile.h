/* The lazy layer's door to the backend: the one place that knows codegen/. */
#ifndef LAZE_LAZY_RUN_COMPILE_H
#define LAZE_LAZY_RUN_COMPILE_H

#include "base/text.h"

typedef struct laze_backend laze_backend;
typedef struct laze_executable laze_executable;
typedef struct laze_graph laze_graph;
typedef struct laze_lazy laze_lazy;

/* The backend of the context, found on first use; borrowed. Call it locked. */
LAZE_MUST_USE laze_status laze_lazy_backend(laze_lazy *lazy, const laze_backend **out, laze_error *error);
/* Compiles a graph for that backend, which was found before; a reference for the caller. Call it unlocked. */
LAZE_MUST_USE laze_status laze_lazy_compile(laze_lazy *lazy, const laze_graph *graph, laze_executable **out,
                                            laze_error *error);
/* The code of a graph, as laze_compile_emit() gives it. Call it unlocked. */
LAZE_MUST_USE laze_status laze_lazy_emit(laze_lazy *lazy, const laze_graph *graph, laze_save_form form, laze_text *out,
                                         laze_error *error);

#endif
