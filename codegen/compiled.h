/* What is in a compiled graph (laze/compile.h), for whoever saves it. */
#ifndef LAZE_CODEGEN_COMPILED_H
#define LAZE_CODEGEN_COMPILED_H

#include "laze/compile.h"

#include <stdbool.h>

const laze_backend *laze_compiled_backend(const laze_compiled *compiled);
/* What the caller said of its sizes, by symbol; -1: nothing. */
const int64_t *laze_compiled_given(const laze_compiled *compiled);
/* Calls `visit` with each combination of numbers that is bound; `graph` has them for its sizes, and `is_new` is false
 * where one before is the same program. Called without a lock; what is borrowed lives for the call. */
typedef laze_status (*laze_bound_visitor)(void *self, const int64_t *numbers, const laze_graph *graph, bool is_new,
                                          laze_error *error);
LAZE_MUST_USE laze_status laze_compiled_each(laze_compiled *compiled, laze_bound_visitor visit, void *self,
                                             laze_error *error);
/* Has it bound to these numbers. */
LAZE_MUST_USE laze_status laze_compiled_bind(laze_compiled *compiled, const int64_t *numbers, laze_error *error);

#endif
