/* The operators that a program has declared: by name, in the context, each with kernels for backends and code for keys.
 *
 *   operator "mine::scale" ── schema
 *      kernels   NULL ──> hook    "llvm" ──> hook       which of them counts is decided when one comes
 *      types     hook                                   \ together an immutable *routine*, which is registered as a
 *      code      [AUTOGRAD] ──> hook                    / kernel of that name (laze/opaque.h)
 *
 * Hooks, routines and operators are refcounted: whoever calls code of the caller's has a reference and no lock.
 * Thread-safe; one lock for the registry, under which nothing is released. */
#ifndef LAZE_LAZY_LIBRARY_REGISTRY_H
#define LAZE_LAZY_LIBRARY_REGISTRY_H

#include "laze/library.h"
#include "lazy/library/schema.h"

#include <pthread.h>
#include <stdatomic.h>

enum { LAZE_KEY_COUNT = LAZE_KEY_AUTOGRAD + 1 };

/* Code of the caller's. */
typedef struct laze_library_hook {
  struct laze_library_hook *next; /* while it waits to be released */
  _Atomic int64_t references;
  laze_context *context; /* borrowed */
  union {
    laze_library_kernel kernel;
    laze_library_types types;
    laze_library_code code;
    laze_library_backward backward;
  } function;
  void *self;
  void (*release)(void *self);
} laze_library_hook;

typedef struct laze_library_backend {
  struct laze_library_backend *next;
  laze_library_hook *kernel; /* referenced */
  char *name;                /* NULL: every other */
} laze_library_backend;

typedef struct laze_library_operator {
  struct laze_library_operator *next; /* of the registry */
  _Atomic int64_t references;
  laze_context *context; /* borrowed */
  laze_arena arena;
  laze_library_schema schema;
  bool removed; /* guarded by the registry's lock, as what follows */
  laze_library_backend *kernels;
  laze_library_hook *types, *code[LAZE_KEY_COUNT];
  struct laze_library_routine *routine; /* registered now; a reference */
} laze_library_operator;

/* What the kernel of an operator's name calls. Immutable. */
typedef struct laze_library_routine {
  struct laze_library_routine *next; /* while it waits to be released */
  _Atomic int64_t references;
  laze_library_operator *op;         /* referenced */
  laze_library_hook *kernel, *types; /* referenced; types may be NULL */
} laze_library_routine;

typedef struct laze_library {
  laze_context *context;
  pthread_mutex_t lock; /* of what follows */
  laze_library_operator *operators;
  laze_library_hook *code[LAZE_KEY_COUNT]; /* in place of the fallbacks */
  _Atomic int32_t mode, checks;
} laze_library;

LAZE_MUST_USE laze_status laze_library_get(laze_context *context, laze_library **out, laze_error *error);
/* The operator of that name, retained. LAZE_NOT_FOUND: there is none. */
LAZE_MUST_USE laze_status laze_library_find(laze_library *library, const char *name, laze_library_operator **out,
                                            laze_error *error);
/* The code at a key, retained: the operator's own, or else what stands for all; NULL: the fallback. */
laze_library_hook *laze_library_code_at(laze_library *library, laze_library_operator *op, int32_t key);
/* What the operator's kernel for the context's backend calls, retained; NULL: it has none. */
laze_library_routine *laze_library_routine_of(laze_library *library, laze_library_operator *op);

/* With one reference; NULL when memory is out. */
laze_library_hook *laze_library_hook_create(laze_context *context, void *self, void (*release)(void *self));
/* NULL is ignored by all of them. */
laze_library_hook *laze_library_hook_retain(laze_library_hook *hook);
void laze_library_hook_release(laze_library_hook *hook);
void laze_library_operator_release(laze_library_operator *op);
void laze_library_routine_release(laze_library_routine *routine);

/* What the kernel of a routine is, for laze_opaque_register(); `self` is a routine (lazy/library/kernel.c). */
laze_status laze_library_routine_run(void *self, const laze_opaque_call *call, laze_error *error);
laze_status laze_library_routine_infer(void *self, const laze_opaque_call *call, laze_opaque_type *results,
                                       laze_error *error);
/* Whether results have the type of the first operand, so that nobody has to ask. */
bool laze_library_routine_is_plain(const laze_library_routine *routine);

#endif
