/* A call of a declared operator on its way through the keys (laze/library.h), and what stands at each where nobody has
 * put other code. Called without the context's lock. */
#ifndef LAZE_LAZY_LIBRARY_DISPATCH_H
#define LAZE_LAZY_LIBRARY_DISPATCH_H

#include "lazy/library/registry.h"

/* What the keys know of a call; that of a key below may differ. */
typedef struct laze_library_state {
  laze_library *library;
  laze_library_operator *op;
  laze_arena *arena;          /* of the call */
  const laze_argument *bound; /* one for each argument of the schema */
  bool is_functional;         /* what is written is given as values, in `written`, and nothing shares memory */
  bool refuses_gradients;     /* values get a history whose passes are errors */
  laze_tensor **written;      /* one for each of the schema's writes; NULL at first */
  const char *file;
  int32_t line;
} laze_library_state;

/* Gives a call to the code at a key, or to the fallback. */
LAZE_MUST_USE laze_status laze_library_enter(const laze_library_state *state, int32_t key, laze_tensor **results,
                                             laze_error *error);

/* The fallbacks. */
laze_status laze_library_fallback_autograd(void *self, const laze_library_dispatch *call, laze_tensor **results,
                                           laze_error *error);
laze_status laze_library_fallback_views(void *self, const laze_library_dispatch *call, laze_tensor **results,
                                        laze_error *error);
laze_status laze_library_fallback_functionalize(void *self, const laze_library_dispatch *call, laze_tensor **results,
                                                laze_error *error);
laze_status laze_library_fallback_backend(void *self, const laze_library_dispatch *call, laze_tensor **results,
                                          laze_error *error);

/* Gives values a history that comes from all tensors among the arguments, and whose passes are errors that name the
 * operator; of floats and complex numbers, where an argument requires a gradient. */
LAZE_MUST_USE laze_status laze_library_refuse_gradients(const laze_library_state *state, laze_tensor **values,
                                                        int32_t count, laze_error *error);
/* Names the operator in what code of the caller's said, which may be nothing. */
LAZE_MUST_USE laze_status laze_library_name_failure(const laze_library_state *state, laze_status status,
                                                    laze_error *error);
/* The status of an error handle that a function of laze has given, which counts as read then. */
LAZE_MUST_USE laze_status laze_library_pass_on(laze_tensor *handle, laze_error *error);

/* What code at a key may not do (lazy/library/inspect.c): what its arguments were before it, and the check behind it.
 */
typedef struct laze_library_inspection {
  int32_t count; /* of tensors among the arguments */
  laze_tensor **tensors;
  const void **storages;
  int64_t *versions;
} laze_library_inspection;
LAZE_MUST_USE laze_status laze_library_inspect_before(const laze_library_state *state, laze_library_inspection *out,
                                                      laze_error *error);
LAZE_MUST_USE laze_status laze_library_inspect_behind(const laze_library_state *state,
                                                      const laze_library_inspection *before,
                                                      laze_tensor *const *results, laze_error *error);

#endif
