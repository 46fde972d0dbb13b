/* The registry of a context: a list of the names and versions that there were, of which the last of a name may have a
 * kernel.
 *
 *   "scale" 1   gone: what was compiled has its own reference
 *   "scale" 2   ──> kernel
 *
 * A version says which function a recorded call means, and stands in the call: programs are found by it. So no two
 * kernels of a name ever share one. */
#include "ir/opaque.h"

#include "base/dtype.h"
#include "ir/op.gen.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef struct registration {
  struct registration *next;  /* newest first */
  laze_opaque_kernel *kernel; /* NULL: unregistered */
  int32_t version;
  char name[];
} registration;

typedef struct {
  laze_context *context;
  pthread_mutex_t lock; /* of the list */
  registration *newest;
} registry;

static laze_status registry_create(laze_context *context, void **out, laze_error *error) {
  registry *made = laze_alloc_zero(context, sizeof *made);
  if (!made) return laze_fail_memory(error, "the registry of kernels", sizeof *made);
  made->context = context;
  pthread_mutex_init(&made->lock, NULL);
  *out = made;
  return LAZE_OK;
}

static void registry_destroy(void *object) {
  registry *own = object;
  for (registration *entry = own->newest, *next; entry; entry = next) {
    next = entry->next;
    laze_opaque_kernel_release(entry->kernel);
    laze_free(own->context, entry);
  }
  pthread_mutex_destroy(&own->lock);
  laze_free(own->context, own);
}

static laze_status find_registry(laze_context *context, registry **out, laze_error *error) {
  static const laze_context_object_class class = {LAZE_CONTEXT_OPAQUE, registry_create, registry_destroy};
  void *object = NULL;
  *out = NULL;
  if (!context) context = laze_context_default();
  if (!context) return laze_fail_memory(error, "the default context", -1);
  LAZE_TRY(laze_context_object(context, &class, &object, error));
  *out = object;
  return LAZE_OK;
}

/* The newest of that name; NULL: there never was one. */
static registration *find_newest(const registry *own, const char *name) {
  registration *entry = own->newest;
  while (entry && strcmp(entry->name, name) != 0) entry = entry->next;
  return entry;
}

static bool has_version(const registry *own, const char *name, int64_t version) {
  for (const registration *entry = own->newest; entry; entry = entry->next)
    if (entry->version == version && strcmp(entry->name, name) == 0) return true;
  return false;
}

/* --- Kernels --- */

void laze_opaque_kernel_retain(laze_opaque_kernel *kernel) {
  atomic_fetch_add_explicit(&kernel->references, 1, memory_order_relaxed);
}

void laze_opaque_kernel_release(laze_opaque_kernel *kernel) {
  if (!kernel || atomic_fetch_sub_explicit(&kernel->references, 1, memory_order_acq_rel) > 1) return;
  laze_context *context = kernel->context;
  if (kernel->release) kernel->release(kernel->self);
  laze_free(context, kernel->name);
  laze_free(context, kernel);
}

static laze_status create_kernel(laze_context *context, const laze_opaque_options *options, laze_opaque_kernel **out,
                                 laze_error *error) {
  size_t size = strlen(options->name) + 1;
  laze_opaque_kernel *kernel = laze_alloc_zero(context, sizeof *kernel);
  char *name = laze_alloc(context, (int64_t)size);
  if (!kernel || !name) {
    laze_free(context, kernel);
    laze_free(context, name);
    return laze_fail_memory(error, "a kernel", -1);
  }
  memcpy(name, options->name, size);
  atomic_init(&kernel->references, 1);
  kernel->context = context;
  kernel->name = name;
  kernel->version = options->version;
  kernel->result_count = options->result_count ? options->result_count : 1;
  kernel->infer = options->infer;
  kernel->run = options->run;
  kernel->self = options->self;
  kernel->release = options->release;
  *out = kernel;
  return LAZE_OK;
}

/* --- Registering --- */

static laze_status check_options(const laze_opaque_options *options, laze_error *error) {
  if (!options || options->struct_size != sizeof *options)
    return laze_fail(error, LAZE_INVALID_ARGUMENT,
                     "laze_opaque_register: struct_size is %zu, expected %zu; set it to sizeof(laze_opaque_options)",
                     options ? options->struct_size : (size_t)0, sizeof *options);
  if (!options->name || !*options->name)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "laze_opaque_register: the kernel has no name; set `name`");
  if (!options->run)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "laze_opaque_register: kernel '%.64s' has no function; set `run`",
                     options->name);
  if (options->version < 0 || options->result_count < 0 || options->result_count > LAZE_OPAQUE_MAX_RESULTS)
    return laze_fail(error, LAZE_INVALID_ARGUMENT,
                     "laze_opaque_register: kernel '%.64s' has version %d and %d results, expected 0 or more, and 1 to "
                     "%d",
                     options->name, (int)options->version, (int)options->result_count, LAZE_OPAQUE_MAX_RESULTS);
  return LAZE_OK;
}

/* Puts the kernel in front; the lock is held. */
static laze_status add(registry *own, laze_opaque_kernel *kernel, laze_error *error) {
  const registration *newest = find_newest(own, kernel->name);
  if (newest && newest->kernel)
    return laze_fail(error, LAZE_FAILED_PRECONDITION,
                     "laze_opaque_register: there is a kernel '%.64s' already, of version %d; unregister it first",
                     kernel->name, (int)newest->version);
  if (kernel->version == 0) {
    for (const registration *entry = own->newest; entry; entry = entry->next)
      if (strcmp(entry->name, kernel->name) == 0 && entry->version > kernel->version) kernel->version = entry->version;
    if (kernel->version == INT32_MAX)
      return laze_fail(error, LAZE_OUT_OF_RANGE,
                       "laze_opaque_register: kernel '%.64s' has no version left; give it another name", kernel->name);
    kernel->version++;
  }
  if (has_version(own, kernel->name, kernel->version))
    return laze_fail(error, LAZE_FAILED_PRECONDITION,
                     "laze_opaque_register: there was a kernel '%.64s' of version %d, which compiled programs may "
                     "still call; give another version, or 0",
                     kernel->name, (int)kernel->version);
  size_t size = strlen(kernel->name) + 1;
  registration *entry = laze_alloc(own->context, (int64_t)(sizeof *entry + size));
  if (!entry) return laze_fail_memory(error, "a kernel", -1);
  *entry = (registration){.next = own->newest, .kernel = kernel, .version = kernel->version};
  memcpy(entry->name, kernel->name, size);
  own->newest = entry;
  return LAZE_OK;
}

laze_status laze_opaque_register(laze_context *context, const laze_opaque_options *options, laze_error *error) {
  registry *own = NULL;
  laze_opaque_kernel *kernel = NULL;
  LAZE_TRY(check_options(options, error)); /* who it belongs to is not known */
  laze_status status = find_registry(context, &own, error);
  if (status == LAZE_OK) status = create_kernel(own->context, options, &kernel, error);
  if (!kernel && options->release) options->release(options->self);
  if (status != LAZE_OK) return status;
  pthread_mutex_lock(&own->lock);
  status = add(own, kernel, error);
  pthread_mutex_unlock(&own->lock);
  if (status != LAZE_OK) laze_opaque_kernel_release(kernel);
  return status;
}

laze_status laze_opaque_unregister(laze_context *context, const char *name, laze_error *error) {
  registry *own;
  laze_opaque_kernel *kernel = NULL;
  if (!name) return laze_fail(error, LAZE_INVALID_ARGUMENT, "laze_opaque_unregister: the name is NULL");
  LAZE_TRY(find_registry(context, &own, error));
  pthread_mutex_lock(&own->lock);
  registration *entry = find_newest(own, name);
  if (entry) {
    kernel = entry->kernel;
    entry->kernel = NULL;
  }
  pthread_mutex_unlock(&own->lock);
  if (!kernel)
    return laze_fail(error, LAZE_NOT_FOUND,
                     "laze_opaque_unregister: there is no kernel '%.64s'; one is unregistered once, by the name it was "
                     "registered with",
                     name);
  laze_opaque_kernel_release(kernel); /* without the lock: `release` is the caller's */
  return LAZE_OK;
}

laze_status laze_opaque_find(laze_context *context, const char *name, int64_t version, laze_opaque_kernel **out,
                             laze_error *error) {
  registry *own;
  LAZE_TRY(find_registry(context, &own, error));
  pthread_mutex_lock(&own->lock);
  const registration *entry = find_newest(own, name);
  laze_opaque_kernel *kernel = entry ? entry->kernel : NULL;
  int32_t there = kernel ? kernel->version : 0;
  bool found = kernel && (version == 0 || version == there);
  if (found) laze_opaque_kernel_retain(kernel);
  pthread_mutex_unlock(&own->lock);
  *out = found ? kernel : NULL;
  if (found) return LAZE_OK;
  if (there)
    return laze_fail(error, LAZE_NOT_FOUND,
                     "opaque: kernel '%.64s' has version %d, and version %lld was recorded; record it again", name,
                     (int)there, (long long)version);
  return laze_fail(error, LAZE_NOT_FOUND,
                   "opaque: there is no kernel '%.64s' in this context; laze_opaque_register() gives it one", name);
}

/* --- Calling --- */

void laze_opaque_fill_lists(const laze_attribute *attributes, const char **strings, laze_opaque_call *out) {
  const laze_attribute *integers = &attributes[LAZE_OPAQUE_INTEGERS], *reals = &attributes[LAZE_OPAQUE_REALS],
                       *texts = &attributes[LAZE_OPAQUE_STRINGS];
  out->integers = (laze_ints){integers->value.items, integers->count};
  out->reals = (laze_reals){reals->value.reals, reals->count};
  for (int32_t i = 0; i < texts->count; i++)
    strings[i] = i ? strings[i - 1] + strlen(strings[i - 1]) + 1 : texts->value.string;
  out->strings = (laze_strings){strings, texts->count};
}

/* Names the kernel in what it said, or says that it failed. */
static laze_status name_failure(const laze_opaque_kernel *kernel, laze_status status, laze_error *error) {
  if (!error) return status;
  error->code = status;
  error->message[sizeof error->message - 1] = 0;
  if (!*error->message)
    return laze_fail(error, status, "kernel '%.64s' failed: %s", kernel->name, laze_status_name(status));
  return laze_error_prefix(error, "kernel '%.64s'", kernel->name);
}

static laze_status check_type(const laze_opaque_kernel *kernel, int32_t index, const laze_opaque_type *type,
                              laze_error *error) {
  bool absent = type->dtype == LAZE_DTYPE_NONE;
  bool good = absent || (laze_dtype_is_valid(type->dtype) && type->rank >= 0 && type->rank <= LAZE_OPAQUE_MAX_RANK);
  laze_type checked;
  if (!good)
    return laze_fail(error, LAZE_INVALID_ARGUMENT,
                     "kernel '%.64s': its rule gives result %d dtype %d and rank %d, expected a dtype, and 0 to %d",
                     kernel->name, (int)index, (int)type->dtype, (int)type->rank, LAZE_OPAQUE_MAX_RANK);
  if (absent) return LAZE_OK;
  return laze_type_init(&checked, kernel->name, type->dtype, type->rank, type->sizes, error);
}

laze_status laze_opaque_check_rule(const laze_opaque_kernel *kernel, int32_t operand_count, laze_error *error) {
  if (kernel->infer || operand_count > 0) return LAZE_OK;
  return laze_fail(
      error, LAZE_INVALID_ARGUMENT,
      "opaque: kernel '%.64s' has no rule for types, and no operand whose type results could have; register it "
      "with `infer`, or pass it a tensor",
      kernel->name);
}

laze_status laze_opaque_find_types(const laze_opaque_kernel *kernel, const laze_opaque_call *call,
                                   laze_opaque_type *results, laze_error *error) {
  const laze_opaque_tensor *first = call->operands;
  memset(results, 0, (size_t)call->result_count * sizeof *results);
  LAZE_TRY(laze_opaque_check_rule(kernel, call->operand_count, error));
  if (error) *error = (laze_error){LAZE_OK, ""};
  laze_status status = kernel->infer ? kernel->infer(kernel->self, call, results, error) : LAZE_OK;
  if (status != LAZE_OK) return name_failure(kernel, status, error);
  for (int32_t i = 0; i < call->result_count; i++) {
    if (!kernel->infer) {
      results[i].dtype = first->dtype;
      results[i].rank = first->rank;
      memcpy(results[i].sizes, first->sizes, (size_t)first->rank * sizeof *first->sizes);
    }
    LAZE_TRY(check_type(kernel, i, &results[i], error));
  }
  return LAZE_OK;
}

static bool is_of_type(const laze_opaque_tensor *tensor, const laze_opaque_type *type) {
  if (tensor->dtype != type->dtype) return false;
  if (type->dtype == LAZE_DTYPE_NONE) return true;
  return tensor->rank == type->rank &&
         memcmp(tensor->sizes, type->sizes, (size_t)type->rank * sizeof *type->sizes) == 0;
}

laze_status laze_opaque_kernel_run(const laze_opaque_kernel *kernel, const laze_opaque_call *call, laze_error *error) {
  laze_opaque_type types[LAZE_OPAQUE_MAX_RESULTS];
  laze_opaque_call asked = *call;
  if (call->result_count != kernel->result_count)
    return laze_fail(error, LAZE_INVALID_ARGUMENT,
                     "kernel '%.64s' gives %d results, and the graph has %d of it; record the call again", kernel->name,
                     (int)kernel->result_count, (int)call->result_count);
  asked.results = NULL;
  LAZE_TRY(laze_opaque_find_types(kernel, &asked, types, error));
  for (int32_t i = 0; i < call->result_count; i++)
    if (!is_of_type(&call->results[i], &types[i]))
      return laze_fail(
          error, LAZE_INVALID_ARGUMENT,
          "kernel '%.64s' gives result %d another dtype or shape for these operands than the graph says; its rule must "
          "go by dtypes, sizes and lists alone",
          kernel->name, (int)i);
  *error = (laze_error){LAZE_OK, ""};
  laze_status status = kernel->run(kernel->self, call, error);
  return status == LAZE_OK ? LAZE_OK : name_failure(kernel, status, error);
}
