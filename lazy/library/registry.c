/* Declaring operators, and giving them kernels and code. What a change has to release waits until the lock is free. */
#include "lazy/library/registry.h"

#include "laze/compile.h"
#include "lazy/lazy.h"
#include "lazy/run/compile.h"
#include "runtime/backend.h"

#include <string.h>

/* --- hooks, routines, operators --- */

/* What a function takes over of the caller's. */
typedef struct {
  void *self;
  void (*release)(void *self);
} owned;

laze_library_hook *laze_library_hook_create(laze_context *context, void *self, void (*release)(void *self)) {
  laze_library_hook *hook = laze_alloc_zero(context, sizeof *hook);
  if (!hook) return NULL;
  atomic_init(&hook->references, 1);
  hook->context = context;
  hook->self = self;
  hook->release = release;
  return hook;
}

laze_library_hook *laze_library_hook_retain(laze_library_hook *hook) {
  if (hook) atomic_fetch_add_explicit(&hook->references, 1, memory_order_relaxed);
  return hook;
}

static bool drops_last(_Atomic int64_t *references) {
  return atomic_fetch_sub_explicit(references, 1, memory_order_acq_rel) == 1;
}

void laze_library_hook_release(laze_library_hook *hook) {
  if (!hook || !drops_last(&hook->references)) return;
  laze_context *context = hook->context;
  if (hook->release) hook->release(hook->self);
  laze_free(context, hook);
}

void laze_library_operator_release(laze_library_operator *op) {
  if (!op || !drops_last(&op->references)) return;
  laze_context *context = op->context;
  laze_arena_deinit(&op->arena);
  laze_free(context, op);
}

void laze_library_routine_release(laze_library_routine *routine) {
  if (!routine || !drops_last(&routine->references)) return;
  laze_context *context = routine->op->context;
  laze_library_hook_release(routine->kernel);
  laze_library_hook_release(routine->types);
  laze_library_operator_release(routine->op);
  laze_free(context, routine);
}

/* As laze_opaque_register() wants it. */
static void release_routine(void *self) {
  laze_library_routine_release(self);
}

/* --- the registry --- */

/* What is released once the lock is free. */
typedef struct {
  laze_library_hook *hooks;
  laze_library_routine *routines;
  laze_library_operator *op;
} garbage;

static void drop_hook(garbage *waiting, laze_library_hook **hook) {
  if (!*hook) return;
  (*hook)->next = waiting->hooks; /* whose only list it is on: a hook stands in one place */
  waiting->hooks = *hook;
  *hook = NULL;
}

static void drop_routine(garbage *waiting, laze_library_routine *routine) {
  if (!routine) return;
  routine->next = waiting->routines;
  waiting->routines = routine;
}

static void drop_operator(garbage *waiting, laze_library_operator *op) {
  for (laze_library_backend *backend = op->kernels, *next; backend; backend = next) {
    next = backend->next;
    drop_hook(waiting, &backend->kernel);
    laze_free(op->context, backend->name);
    laze_free(op->context, backend);
  }
  op->kernels = NULL;
  drop_hook(waiting, &op->types);
  for (int key = 0; key < LAZE_KEY_COUNT; key++) drop_hook(waiting, &op->code[key]);
  drop_routine(waiting, op->routine);
  op->routine = NULL;
  op->removed = true;
}

static void empty(garbage *waiting) {
  for (laze_library_hook *hook = waiting->hooks, *next; hook; hook = next) {
    next = hook->next;
    laze_library_hook_release(hook);
  }
  for (laze_library_routine *routine = waiting->routines, *next; routine; routine = next) {
    next = routine->next;
    laze_library_routine_release(routine);
  }
  laze_library_operator_release(waiting->op);
}

static laze_status library_create(laze_context *context, void **out, laze_error *error) {
  laze_library *made = laze_alloc_zero(context, sizeof *made);
  if (!made) return laze_fail_memory(error, "the registry of operators", sizeof *made);
  made->context = context;
  pthread_mutex_init(&made->lock, NULL);
#ifdef NDEBUG
  const int32_t checks = 0;
#else
  const int32_t checks = 1;
#endif
  atomic_init(&made->mode, LAZE_FALLBACK_NOTHING);
  atomic_init(&made->checks, checks);
  *out = made;
  return LAZE_OK;
}

static void library_destroy(void *object) {
  laze_library *library = object;
  garbage waiting = {0};
  for (int key = 0; key < LAZE_KEY_COUNT; key++) drop_hook(&waiting, &library->code[key]);
  for (laze_library_operator *op = library->operators, *next; op; op = next) {
    next = op->next;
    drop_operator(&waiting, op);
    waiting.op = op;
    empty(&waiting);
    waiting = (garbage){0};
  }
  empty(&waiting);
  pthread_mutex_destroy(&library->lock);
  laze_free(library->context, library);
}

laze_status laze_library_get(laze_context *context, laze_library **out, laze_error *error) {
  static const laze_context_object_class class = {LAZE_CONTEXT_LIBRARY, library_create, library_destroy};
  void *object = NULL;
  *out = NULL;
  if (!context) context = laze_context_default();
  if (!context) return laze_fail_memory(error, "the default context", -1);
  LAZE_TRY(laze_context_object(context, &class, &object, error));
  *out = object;
  return LAZE_OK;
}

/* The lock is held. */
static laze_library_operator *find(const laze_library *library, const char *name) {
  laze_library_operator *op = library->operators;
  while (op && strcmp(op->schema.name, name) != 0) op = op->next;
  return op;
}

static laze_status not_found(const char *name, laze_error *error) {
  return laze_fail(error, LAZE_NOT_FOUND,
                   "there is no operator '%.64s' in this context; laze_library_define() declares one", name);
}

laze_status laze_library_find(laze_library *library, const char *name, laze_library_operator **out, laze_error *error) {
  *out = NULL;
  if (!name) return laze_fail(error, LAZE_INVALID_ARGUMENT, "the operator's name is NULL");
  pthread_mutex_lock(&library->lock);
  laze_library_operator *op = find(library, name);
  if (op) atomic_fetch_add_explicit(&op->references, 1, memory_order_relaxed);
  pthread_mutex_unlock(&library->lock);
  *out = op;
  return op ? LAZE_OK : not_found(name, error);
}

laze_library_hook *laze_library_code_at(laze_library *library, laze_library_operator *op, int32_t key) {
  pthread_mutex_lock(&library->lock);
  laze_library_hook *hook = op->code[key] ? op->code[key] : library->code[key];
  (void)laze_library_hook_retain(hook);
  pthread_mutex_unlock(&library->lock);
  return hook;
}

laze_library_routine *laze_library_routine_of(laze_library *library, laze_library_operator *op) {
  pthread_mutex_lock(&library->lock);
  laze_library_routine *routine = op->routine;
  if (routine) atomic_fetch_add_explicit(&routine->references, 1, memory_order_relaxed);
  pthread_mutex_unlock(&library->lock);
  return routine;
}

/* --- declaring --- */

static laze_status create_operator(laze_context *context, const char *schema, laze_library_operator **out,
                                   laze_error *error) {
  laze_library_operator *op = laze_alloc_zero(context, sizeof *op);
  if (!op) return laze_fail_memory(error, "an operator", sizeof *op);
  atomic_init(&op->references, 1);
  op->context = context;
  laze_arena_init(&op->arena, context);
  *out = op;
  return laze_library_schema_parse(&op->arena, schema, &op->schema, error);
}

laze_status laze_library_define(laze_context *context, const char *schema, laze_error *error) {
  laze_library *library;
  laze_library_operator *op = NULL;
  LAZE_TRY(laze_library_get(context, &library, error));
  laze_status status = create_operator(library->context, schema, &op, error);
  if (status == LAZE_OK) {
    pthread_mutex_lock(&library->lock);
    if (find(library, op->schema.name)) {
      status = laze_fail(error, LAZE_FAILED_PRECONDITION,
                         "laze_library_define: there is an operator '%.64s' already; take it back first "
                         "(laze_library_remove)",
                         op->schema.name);
    } else {
      op->next = library->operators;
      library->operators = op;
      op = NULL;
    }
    pthread_mutex_unlock(&library->lock);
  }
  laze_library_operator_release(op);
  return status;
}

/* Takes the name of its kernel back. */
static void withdraw(const laze_library_operator *op) {
  if (!op->routine) return;
  const laze_status status = laze_opaque_unregister(op->context, op->schema.name, NULL);
  (void)status; /* somebody has taken it back by that name */
}

laze_status laze_library_remove(laze_context *context, const char *name, laze_error *error) {
  laze_library *library;
  garbage waiting = {0};
  if (!name) return laze_fail(error, LAZE_INVALID_ARGUMENT, "laze_library_remove: the operator's name is NULL");
  LAZE_TRY(laze_library_get(context, &library, error));
  pthread_mutex_lock(&library->lock);
  laze_library_operator **place = &library->operators;
  while (*place && strcmp((*place)->schema.name, name) != 0) place = &(*place)->next;
  waiting.op = *place;
  if (waiting.op) {
    *place = waiting.op->next;
    withdraw(waiting.op);
    drop_operator(&waiting, waiting.op);
  }
  pthread_mutex_unlock(&library->lock);
  const bool found = waiting.op != NULL;
  empty(&waiting);
  return found ? LAZE_OK : not_found(name, error);
}

laze_status laze_library_get_schema(laze_context *context, const char *name, char *text, size_t size, size_t *needed,
                                    laze_error *error) {
  laze_library *library;
  laze_library_operator *op;
  if (text && size > 0) *text = 0;
  LAZE_TRY(laze_library_get(context, &library, error));
  LAZE_TRY(laze_library_find(library, name, &op, error));
  const size_t length = strlen(op->schema.text), kept = length < size ? length : size - 1;
  if (text && size > 0) {
    memcpy(text, op->schema.text, kept);
    text[kept] = 0;
  }
  if (needed) *needed = length;
  laze_library_operator_release(op);
  return LAZE_OK;
}

/* --- kernels --- */

/* The name of the context's backend; NULL: there is none. */
static const char *backend_name(laze_context *context) {
  laze_lazy *lazy = laze_lazy_get(context);
  const laze_backend *backend = NULL;
  if (!lazy) return NULL;
  pthread_mutex_lock(&lazy->lock);
  const laze_status status = laze_lazy_backend(lazy, &backend, NULL);
  pthread_mutex_unlock(&lazy->lock);
  return status == LAZE_OK ? backend->name : NULL;
}

/* The kernel that counts on a backend; borrowed. */
static laze_library_hook *choose(const laze_library_operator *op, const char *backend) {
  laze_library_hook *other = NULL;
  for (const laze_library_backend *entry = op->kernels; entry; entry = entry->next) {
    if (entry->name && backend && strcmp(entry->name, backend) == 0) return entry->kernel;
    if (!entry->name) other = entry->kernel;
  }
  return other;
}

static laze_status create_routine(laze_library_operator *op, laze_library_hook *kernel, laze_library_routine **out,
                                  laze_error *error) {
  laze_library_routine *routine = laze_alloc_zero(op->context, sizeof *routine);
  if (!routine) return laze_fail_memory(error, "a kernel", sizeof *routine);
  atomic_init(&routine->references, 2); /* of the operator, and of the registered kernel */
  atomic_fetch_add_explicit(&op->references, 1, memory_order_relaxed);
  routine->op = op;
  routine->kernel = laze_library_hook_retain(kernel);
  routine->types = laze_library_hook_retain(op->types);
  *out = routine;
  return LAZE_OK;
}

/* Registers what the operator's kernel is now, if that is another than before. The lock is held. Where it fails there
 * is none. */
static laze_status renew(laze_library_operator *op, const char *backend, garbage *waiting, laze_error *error) {
  laze_library_hook *kernel = choose(op, backend);
  laze_library_routine *routine = NULL; /* a compiler does not know that a failure is never LAZE_OK */
  if (!kernel || (op->routine && op->routine->kernel == kernel && op->routine->types == op->types)) return LAZE_OK;
  LAZE_TRY(create_routine(op, kernel, &routine, error));
  withdraw(op);
  drop_routine(waiting, op->routine);
  op->routine = NULL;
  const int32_t results = laze_library_schema_own_results(&op->schema) + op->schema.write_count;
  const bool plain = laze_library_routine_is_plain(routine);
  const laze_opaque_options options = {.struct_size = sizeof options,
                                       .name = op->schema.name,
                                       .result_count = results,
                                       .infer = plain ? NULL : laze_library_routine_infer,
                                       .run = laze_library_routine_run,
                                       .self = routine,
                                       .release = release_routine};
  const laze_status status = laze_opaque_register(op->context, &options, error);
  if (status == LAZE_OK)
    op->routine = routine;
  else
    drop_routine(waiting, routine);
  return status;
}

/* One of what can be given to an operator. */
typedef struct {
  const char *function, *name, *backend;
  bool is_kernel; /* or its rule for types */
  laze_library_hook *hook;
} giving;

static laze_status already_there(const giving *self, laze_error *error) {
  return laze_fail(error, LAZE_FAILED_PRECONDITION,
                   "%s: operator '%.64s' has %s already; take the operator back first (laze_library_remove)",
                   self->function, self->name, self->is_kernel ? "a kernel for that backend" : "a rule for types");
}

static laze_status add_kernel(laze_library_operator *op, giving *self, laze_error *error) {
  for (const laze_library_backend *entry = op->kernels; entry; entry = entry->next)
    if (self->backend && entry->name ? strcmp(self->backend, entry->name) == 0 : self->backend == entry->name)
      return already_there(self, error);
  laze_library_backend *entry = laze_alloc_zero(op->context, sizeof *entry);
  char *name = self->backend ? laze_copy_string(op->context, self->backend) : NULL;
  if (!entry || (self->backend && !name)) {
    laze_free(op->context, entry);
    laze_free(op->context, name);
    return laze_fail_memory(error, "a kernel", -1);
  }
  *entry = (laze_library_backend){op->kernels, self->hook, name};
  self->hook = NULL;
  op->kernels = entry;
  return LAZE_OK;
}

/* Where it cannot be registered, it is the caller's to release. */
static void take_back(laze_library_operator *op, const giving *self, garbage *waiting) {
  if (!self->is_kernel) {
    drop_hook(waiting, &op->types);
    return;
  }
  laze_library_backend *entry = op->kernels;
  op->kernels = entry->next;
  drop_hook(waiting, &entry->kernel);
  laze_free(op->context, entry->name);
  laze_free(op->context, entry);
}

static laze_status add(laze_library_operator *op, giving *self, const char *backend, garbage *waiting,
                       laze_error *error) {
  if (self->is_kernel) {
    LAZE_TRY(add_kernel(op, self, error));
  } else {
    if (op->types) return already_there(self, error);
    op->types = self->hook;
    self->hook = NULL;
  }
  const laze_status status = renew(op, backend, waiting, error);
  if (status != LAZE_OK) take_back(op, self, waiting);
  return status;
}

static laze_status give(laze_library *library, giving *self, laze_error *error) {
  garbage waiting = {0};
  const laze_backend *wanted;
  if (!self->name) return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: the operator's name is NULL", self->function);
  if (self->backend) LAZE_TRY(laze_backend_find(library->context, self->backend, &wanted, error));
  const char *backend = backend_name(library->context);
  pthread_mutex_lock(&library->lock);
  laze_library_operator *op = find(library, self->name);
  const laze_status status = op ? add(op, self, backend, &waiting, error) : not_found(self->name, error);
  pthread_mutex_unlock(&library->lock);
  empty(&waiting);
  return status;
}

/* What both have in common; `hook` NULL: there was no memory, or no code. */
static laze_status begin(laze_context *context, const char *function, bool has_code, owned data, laze_library **library,
                         laze_library_hook **hook, laze_error *error) {
  laze_status status = laze_library_get(context, library, error);
  *hook = NULL;
  if (status == LAZE_OK && !has_code)
    status = laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: the function is NULL", function);
  if (status == LAZE_OK) {
    *hook = laze_library_hook_create((*library)->context, data.self, data.release);
    if (!*hook) status = laze_fail_memory(error, "an operator's code", -1);
  }
  if (!*hook && data.release) data.release(data.self);
  return status;
}

laze_status laze_library_implement(laze_context *context, const char *name, const char *backend,
                                   laze_library_kernel kernel, void *self, void (*release)(void *self),
                                   laze_error *error) {
  laze_library *library;
  giving given = {.function = __func__, .name = name, .backend = backend, .is_kernel = true};
  LAZE_TRY(begin(context, __func__, kernel != NULL, (owned){self, release}, &library, &given.hook, error));
  given.hook->function.kernel = kernel;
  const laze_status status = give(library, &given, error);
  laze_library_hook_release(given.hook);
  return status;
}

laze_status laze_library_infer(laze_context *context, const char *name, laze_library_types types, void *self,
                               void (*release)(void *self), laze_error *error) {
  laze_library *library;
  giving given = {.function = __func__, .name = name};
  LAZE_TRY(begin(context, __func__, types != NULL, (owned){self, release}, &library, &given.hook, error));
  given.hook->function.types = types;
  const laze_status status = give(library, &given, error);
  laze_library_hook_release(given.hook);
  return status;
}

/* --- code at keys --- */

static bool is_key(int32_t key) {
  return key >= 0 && key < LAZE_KEY_COUNT;
}

static laze_status no_key(const char *function, int32_t key, laze_error *error) {
  return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: there is no key %d; they are 0 to %d", function, (int)key,
                   LAZE_KEY_COUNT - 1);
}

/* Where the code of a key is; NULL: there is no such operator. The lock is held. */
static laze_library_hook **place_of(laze_library *library, const char *name, int32_t key) {
  laze_library_operator *op = name ? find(library, name) : NULL;
  if (name && !op) return NULL;
  return op ? &op->code[key] : &library->code[key];
}

static laze_status put(laze_library *library, const char *name, int32_t key, laze_library_hook **hook,
                       laze_error *error) {
  laze_status status = LAZE_OK;
  pthread_mutex_lock(&library->lock);
  laze_library_hook **place = place_of(library, name, key);
  if (!place) {
    status = not_found(name, error);
  } else if (*place) {
    status = laze_fail(error, LAZE_FAILED_PRECONDITION,
                       "laze_library_override: '%.64s' has code at key %d already; take that back first "
                       "(laze_library_restore)",
                       name ? name : "every operator", (int)key);
  } else {
    *place = *hook;
    *hook = NULL;
  }
  pthread_mutex_unlock(&library->lock);
  return status;
}

laze_status laze_library_override(laze_context *context, const char *name, int32_t key, laze_library_code code,
                                  void *self, void (*release)(void *self), laze_error *error) {
  laze_library *library;
  laze_library_hook *hook;
  LAZE_TRY(begin(context, __func__, code != NULL, (owned){self, release}, &library, &hook, error));
  hook->function.code = code;
  const laze_status status = is_key(key) ? put(library, name, key, &hook, error) : no_key(__func__, key, error);
  laze_library_hook_release(hook);
  return status;
}

laze_status laze_library_restore(laze_context *context, const char *name, int32_t key, laze_error *error) {
  laze_library *library;
  laze_library_hook *hook = NULL;
  if (!is_key(key)) return no_key(__func__, key, error);
  LAZE_TRY(laze_library_get(context, &library, error));
  pthread_mutex_lock(&library->lock);
  laze_library_hook **place = place_of(library, name, key);
  if (place) {
    hook = *place;
    *place = NULL;
  }
  pthread_mutex_unlock(&library->lock);
  const bool found = hook != NULL;
  laze_library_hook_release(hook);
  if (found) return LAZE_OK;
  return place ? laze_fail(error, LAZE_NOT_FOUND, "laze_library_restore: '%.64s' has no code at key %d",
                           name ? name : "every operator", (int)key)
               : not_found(name, error);
}

/* --- settings --- */

laze_status laze_library_set_fallback(laze_context *context, int32_t mode, int32_t *before, laze_error *error) {
  laze_library *library;
  if (mode < LAZE_FALLBACK_NOTHING || mode > LAZE_FALLBACK_ERROR)
    return laze_fail(error, LAZE_INVALID_ARGUMENT,
                     "laze_library_set_fallback: there is no mode %d; they are LAZE_FALLBACK_NOTHING, WARN and ERROR",
                     (int)mode);
  LAZE_TRY(laze_library_get(context, &library, error));
  const int32_t was = atomic_exchange(&library->mode, mode);
  if (before) *before = was;
  return LAZE_OK;
}

int32_t laze_library_check_kernels(laze_context *context, int32_t enabled) {
  laze_library *library;
  if (laze_library_get(context, &library, NULL) != LAZE_OK) return 0;
  return atomic_exchange(&library->checks, enabled != 0);
}
