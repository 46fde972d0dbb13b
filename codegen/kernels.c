/* From loop IR to kernels that run.
 *
 *   key = hash of the loop IR
 *     in this process?  ── yes ─> kernel
 *     on disk?          ── yes ─> load the object, keep all kernels in it
 *     otherwise                   LLVM compiles all that are left in one module; load it; write it to disk
 *
 * LLVM lives in a module of its own that is opened at the first kernel nobody has: a warm process never loads it.
 */
#include "codegen/codegen_state.h"

#include "codegen/compile_gate.h"
#include "codegen/target.h"
#include "runtime/build_id.h"
#include "runtime/object_loader.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* Kernels in one module: LLVM's fixed cost is shared, and memory while compiling stays bounded. */
enum { MODULE_KERNELS = 64, SYMBOL_SIZE = 48 };

/* An object in memory, kept by the kernels in it. */
typedef struct {
  _Atomic int64_t references;
  laze_context *context; /* borrowed */
  laze_object *object;
  int32_t kernel_count; /* that share it */
} loaded_code;

static void release_code(void *object) {
  loaded_code *code = object;
  if (atomic_fetch_sub_explicit(&code->references, 1, memory_order_acq_rel) != 1) return;
  laze_object_destroy(code->object);
  laze_free(code->context, code);
}

static laze_status load_code(laze_context *context, const void *bytes, int64_t size, int64_t kernel_count,
                             loaded_code **out, laze_error *error) {
  laze_object_options options = laze_object_options_from_environment();
  loaded_code *made = laze_alloc_zero(context, sizeof *made);
  if (!made) return laze_fail_memory(error, "a kernel's code", sizeof *made);
  made->references = 1;
  made->context = context;
  made->kernel_count = (int32_t)kernel_count;
  laze_status status = laze_object_load(context, bytes, size, &options, &made->object, error);
  if (status != LAZE_OK)
    laze_free(context, made);
  else
    *out = made;
  return status;
}

/* The kernel `symbol` of loaded code. */
static laze_status create_kernel(loaded_code *code, laze_hash key, const char *symbol, laze_kernel **out,
                                 laze_error *error) {
  void *address = laze_object_find(code->object, symbol);
  laze_kernel_function function;
  if (!address) return laze_fail(error, LAZE_DATA_LOSS, "a compiled module lacks its kernel %s", symbol);
  memcpy(&function, &address, sizeof function); /* ISO C has no conversion between the two kinds of pointer */
  atomic_fetch_add(&code->references, 1);
  LAZE_TRY(laze_kernel_create(code->context, symbol, function, NULL, code, release_code, out, error));
  (*out)->key = key;
  (*out)->bytes = laze_object_size(code->object) / (code->kernel_count > 0 ? code->kernel_count : 1);
  laze_kernel_count(*out);
  return LAZE_OK;
}

/* Opens the LLVM module; under the lock. */
static laze_status open_llvm(laze_codegen *codegen, laze_error *error) {
  char buffer[4096];
  const char *path = laze_llvm_generator_path(buffer, sizeof buffer);
  if (!path)
    return laze_fail(error, LAZE_UNSUPPORTED,
                     "the LLVM code generator is not installed beside this library; install it, or use backend interp");
  void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!handle) return laze_fail(error, LAZE_UNSUPPORTED, "the LLVM code generator cannot be opened: %s", dlerror());
  void *symbol = dlsym(handle, LAZE_LLVM_GENERATOR_SYMBOL);
  laze_llvm_generator_function function;
  if (!symbol) return laze_fail(error, LAZE_UNSUPPORTED, "%s is not laze's code generator", path);
  memcpy(&function, &symbol, sizeof function);
  const laze_llvm_generator *table = function();
  if (table->version != LAZE_LLVM_GENERATOR_VERSION)
    return laze_fail(error, LAZE_UNSUPPORTED, "%s is of another version (%d, expected %d): install both from one build",
                     path, (int)table->version, LAZE_LLVM_GENERATOR_VERSION);
  codegen->llvm = table;
  laze_compile_gate_arm(); /* before the exit handlers of an LLVM that is a shared library */
  return LAZE_OK;
}

static laze_status get_llvm(laze_codegen *codegen, const laze_llvm_generator **out, laze_error *error) {
  laze_compile_pass pass;
  pthread_mutex_lock(&codegen->lock); /* first: others log under it, and may call exit() in their log */
  laze_status status = laze_compile_gate_enter(&pass, error);
  if (status == LAZE_OK) {
    if (!codegen->llvm) status = open_llvm(codegen, error);
    laze_compile_gate_leave(&pass);
  }
  *out = codegen->llvm;
  pthread_mutex_unlock(&codegen->lock);
  return status;
}

/* Everything but the kernel's key that decides on code: the build of the generator, the ABI, the processor. */
static laze_disk_cache *open_disk(laze_codegen *codegen) {
  char buffer[4096], build_id[LAZE_BUILD_ID_SIZE];
  const char *path = laze_llvm_generator_path(buffer, sizeof buffer);
  laze_error error;
  if (!path || laze_build_id_read(path, build_id, &error) != LAZE_OK) return NULL;
  laze_text identity;
  laze_text_init(&identity, codegen->context);
  laze_text_format(&identity, "%s abi %d ", build_id, LAZE_KERNEL_ABI_VERSION);
  laze_target_describe(&identity);
  laze_disk_cache *disk = NULL;
  if (laze_text_check(&identity, NULL) == LAZE_OK)
    disk = laze_disk_cache_open(codegen->context, laze_text_get(&identity));
  laze_text_deinit(&identity);
  return disk;
}

static laze_disk_cache *get_disk(laze_codegen *codegen) {
  pthread_mutex_lock(&codegen->lock);
  if (!codegen->disk_opened) codegen->disk = open_disk(codegen);
  codegen->disk_opened = true;
  laze_disk_cache *disk = codegen->disk;
  pthread_mutex_unlock(&codegen->lock);
  return disk;
}

/* Finding */

static laze_kernel *find_in_process(laze_codegen *codegen, laze_hash key) {
  return laze_cache_find(codegen->kernels, key, NULL, NULL);
}

/* Loads a module from disk and caches every kernel in it. What is wrong with it is a warning: the kernels are compiled
 * again. */
static laze_status adopt_module(laze_codegen *codegen, const laze_disk_module *module, laze_error *error) {
  loaded_code *code;
  laze_status status =
      load_code(codegen->context, module->object, module->object_size, module->entry_count, &code, error);
  if (status != LAZE_OK) return status;
  for (int64_t i = 0; i < module->entry_count && status == LAZE_OK; i++) {
    laze_kernel *kernel;
    status = create_kernel(code, module->entries[i].key, module->entries[i].symbol, &kernel, error);
    if (status != LAZE_OK) break;
    atomic_store(&kernel->from_disk, true);
    laze_cache_insert(codegen->kernels, module->entries[i].key, kernel, laze_kernel_weight(kernel));
    laze_kernel_release(kernel);
  }
  release_code(code);
  return status;
}

static laze_kernel *find_on_disk(laze_codegen *codegen, laze_hash key) {
  laze_disk_module *module = laze_disk_cache_find(get_disk(codegen), key);
  laze_error error;
  if (!module) return NULL;
  if (adopt_module(codegen, module, &error) != LAZE_OK)
    laze_log_message(codegen->context, LAZE_LOG_WARNING, "disk cache: %s; compiling again", error.message);
  laze_disk_module_destroy(module);
  return find_in_process(codegen, key);
}

/* Compiling */

typedef struct {
  int32_t count;
  const laze_loop_kernel *loops[MODULE_KERNELS];
  laze_hash keys[MODULE_KERNELS];
  char symbols[MODULE_KERNELS][SYMBOL_SIZE];
  const char *symbol_pointers[MODULE_KERNELS];
  laze_disk_entry entries[MODULE_KERNELS];
} module_request;

static void add_request(module_request *request, const laze_loop_kernel *loop, laze_hash key) {
  char digits[33];
  int32_t i = request->count++;
  laze_hash_format(key, digits);
  snprintf(request->symbols[i], SYMBOL_SIZE, "laze_%s", digits);
  request->loops[i] = loop;
  request->keys[i] = key;
  request->symbol_pointers[i] = request->symbols[i];
  request->entries[i] = (laze_disk_entry){key, request->symbols[i]};
}

static laze_status adopt_request(laze_codegen *codegen, const module_request *request, const laze_text *object,
                                 laze_error *error) {
  loaded_code *code;
  laze_status status = load_code(codegen->context, object->data, object->size, request->count, &code, error);
  if (status != LAZE_OK) return status;
  for (int32_t i = 0; i < request->count && status == LAZE_OK; i++) {
    laze_kernel *kernel;
    status = create_kernel(code, request->keys[i], request->symbols[i], &kernel, error);
    if (status != LAZE_OK) break;
    laze_cache_insert(codegen->kernels, request->keys[i], kernel, laze_kernel_weight(kernel));
    laze_kernel_release(kernel);
  }
  release_code(code);
  return status;
}

/* No callback but the allocator's runs inside of the gate. */
static laze_status generate(laze_codegen *codegen, const laze_llvm_generator *llvm, const module_request *request,
                            laze_llvm_output kind, laze_text *out, laze_error *error) {
  laze_compile_pass pass;
  LAZE_TRY(laze_compile_gate_enter(&pass, error));
  laze_status status =
      llvm->compile(codegen->context, request->loops, request->symbol_pointers, request->count, kind, out, error);
  laze_compile_gate_leave(&pass);
  return status;
}

static void dump(laze_codegen *codegen, const laze_llvm_generator *llvm, const module_request *request,
                 laze_debug_switch which, laze_llvm_output kind) {
  laze_text text;
  if (!laze_context_debug(codegen->context, which)) return;
  laze_text_init(&text, codegen->context);
  if (generate(codegen, llvm, request, kind, &text, NULL) == LAZE_OK)
    laze_log_text(codegen->context, LAZE_LOG_DEBUG, laze_debug_name(which), laze_text_get(&text));
  laze_text_deinit(&text);
}

static laze_status compile_request(laze_codegen *codegen, const module_request *request, laze_error *error) {
  const laze_llvm_generator *llvm;
  laze_text object;
  if (request->count == 0) return LAZE_OK;
  LAZE_TRY(get_llvm(codegen, &llvm, error));
  dump(codegen, llvm, request, LAZE_DEBUG_LLVM, LAZE_LLVM_IR);
  dump(codegen, llvm, request, LAZE_DEBUG_ASM, LAZE_LLVM_ASSEMBLY);
  laze_text_init(&object, codegen->context);
  laze_status status = generate(codegen, llvm, request, LAZE_LLVM_OBJECT, &object, error);
  if (status == LAZE_OK) status = adopt_request(codegen, request, &object, error);
  if (status == LAZE_OK) {
    laze_metrics_add(laze_context_metrics(codegen->context), LAZE_METRIC_KERNELS_COMPILED, request->count);
    laze_disk_cache_store(get_disk(codegen), request->entries, request->count, object.data, object.size);
  }
  laze_text_deinit(&object);
  return status;
}

static bool is_requested(const module_request *request, laze_hash key) {
  for (int32_t i = 0; i < request->count; i++)
    if (laze_hash_equal(request->keys[i], key)) return true;
  return false;
}

/* A kernel that another one's module brought along from disk counts as found there the first time it is asked for. */
static void count_hit(laze_codegen *codegen, laze_kernel *kernel) {
  bool from_disk = kernel && atomic_exchange(&kernel->from_disk, false);
  laze_metrics_add(laze_context_metrics(codegen->context),
                   from_disk ? LAZE_METRIC_DISK_CACHE_HITS : LAZE_METRIC_KERNEL_CACHE_HITS, 1);
}

/* Leaves *out NULL where the kernel is to be compiled. The request has room for one more. */
static void find_or_request(laze_codegen *codegen, const laze_loop_kernel *loop, laze_hash key, module_request *request,
                            laze_kernel **out) {
  *out = find_in_process(codegen, key);
  bool requested = !*out && is_requested(request, key);
  if (!*out && !requested) *out = find_on_disk(codegen, key);
  if (*out || requested)
    count_hit(codegen, *out);
  else
    add_request(request, loop, key);
}

/* Compiles what has been requested and takes it for kernels [first, end), before others push it out of the cache. */
static laze_status compile_and_take(laze_codegen *codegen, module_request *request, const laze_hash *keys,
                                    int32_t first, int32_t end, laze_kernel **out, laze_error *error) {
  LAZE_TRY(compile_request(codegen, request, error));
  request->count = 0;
  for (int32_t i = first; i < end; i++) {
    if (!out[i]) out[i] = find_in_process(codegen, keys[i]);
    if (!out[i])
      return laze_fail(error, LAZE_OUT_OF_MEMORY,
                       "a kernel was dropped from the cache before it was used; compile on fewer threads at once");
  }
  return LAZE_OK;
}

static laze_status get_all(laze_codegen *codegen, const laze_loop_kernel *const *loops, int32_t count, laze_hash *keys,
                           module_request *request, laze_kernel **out, laze_error *error) {
  int32_t taken = 0;
  request->count = 0;
  for (int32_t i = 0; i < count; i++) {
    keys[i] = laze_loop_hash(loops[i]);
    find_or_request(codegen, loops[i], keys[i], request, &out[i]);
    if (request->count < MODULE_KERNELS) continue;
    LAZE_TRY(compile_and_take(codegen, request, keys, taken, i + 1, out, error));
    taken = i + 1;
  }
  return compile_and_take(codegen, request, keys, taken, count, out, error);
}

laze_status laze_kernels_get(laze_codegen *codegen, const laze_loop_kernel *const *loops, int32_t count,
                             laze_kernel **out, laze_error *error) {
  int64_t start = laze_clock();
  memset(out, 0, (size_t)count * sizeof *out);
  laze_hash *keys = laze_alloc_array(codegen->context, count, sizeof *keys);
  module_request *request = laze_alloc(codegen->context, sizeof *request);
  laze_status status = LAZE_OK;
  if (!keys || !request) status = laze_fail_memory(error, "finding kernels", count);
  if (status == LAZE_OK) status = get_all(codegen, loops, count, keys, request, out, error);
  for (int32_t i = 0; i < count && status != LAZE_OK; i++) {
    laze_kernel_release(out[i]);
    out[i] = NULL;
  }
  laze_free(codegen->context, keys);
  laze_free(codegen->context, request);
  laze_metrics_add(laze_context_metrics(codegen->context), LAZE_METRIC_TIME_COMPILE_US, laze_clock() - start);
  return status;
}

/* Appends what has been requested, as one module, and starts the next. */
static laze_status emit_request(laze_codegen *codegen, const laze_llvm_generator *llvm, module_request *request,
                                laze_llvm_output kind, laze_text *out, laze_error *error) {
  laze_status status = generate(codegen, llvm, request, kind, out, error);
  request->count = 0;
  return status;
}

laze_status laze_kernels_emit(laze_codegen *codegen, const laze_loop_kernel *const *loops, int32_t count,
                              laze_llvm_output kind, laze_text *out, laze_error *error) {
  const laze_llvm_generator *llvm;
  LAZE_TRY(get_llvm(codegen, &llvm, error));
  module_request *request = laze_alloc(codegen->context, sizeof *request);
  if (!request) return laze_fail_memory(error, "finding kernels", count);
  request->count = 0;
  laze_status status = LAZE_OK;
  for (int32_t i = 0; i < count && status == LAZE_OK; i++) {
    laze_hash key = laze_loop_hash(loops[i]);
    if (is_requested(request, key)) continue;
    if (request->count == MODULE_KERNELS && kind == LAZE_LLVM_OBJECT)
      status = laze_fail(error, LAZE_UNSUPPORTED,
                         "the graph needs more than %d different kernels, which do not go into one object; split it",
                         MODULE_KERNELS);
    else if (request->count == MODULE_KERNELS)
      status = emit_request(codegen, llvm, request, kind, out, error);
    if (status == LAZE_OK) add_request(request, loops[i], key);
  }
  if (status == LAZE_OK) status = emit_request(codegen, llvm, request, kind, out, error);
  laze_free(codegen->context, request);
  return status;
}
