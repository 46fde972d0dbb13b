/* From loop IR to kernels that run.
 *
 *   key = hash of the loop IR and the target
 *     in this process?  ── yes ─> kernel
 *     on disk?          ── yes ─> load the object, keep all kernels in it
 *     otherwise                   the generator compiles all that are left in batches; load them; write them to disk
 */
#include "codegen/native/kernel_store.h"

#include "codegen/native/kernel_batch.h"
#include "codegen/native/kernel_code.h"
#include "codegen/native/target.h"

#include <string.h>

/* Of the kernel cache. */
enum { MAX_KERNELS = 8192, MAX_KERNEL_BYTES = 128 << 20 };

static void retain_kernel(void *object) {
  laze_kernel_retain(object);
}
static void release_kernel(void *object) {
  laze_kernel_release(object);
}

static void destroy_store(void *object) {
  laze_kernel_store *store = object;
  laze_cache_destroy(store->kernels);
  laze_disk_cache_close(store->disk);
  laze_generator_deinit(&store->generator);
  pthread_mutex_destroy(&store->lock);
  laze_free(store->context, store);
}

static laze_status create_store(laze_context *context, void **out, laze_error *error) {
  const laze_cache_options options = {MAX_KERNELS, MAX_KERNEL_BYTES, retain_kernel, release_kernel};
  laze_kernel_store *store = laze_alloc_zero(context, sizeof *store);
  if (!store) return laze_fail_memory(error, "the kernel store", sizeof *store);
  store->context = context;
  store->target = laze_target_host();
  laze_generator_init(&store->generator);
  pthread_mutex_init(&store->lock, NULL);
  laze_status status = laze_cache_create(context, &options, &store->kernels, error);
  if (status != LAZE_OK)
    destroy_store(store);
  else
    *out = store;
  return status;
}

laze_status laze_kernel_store_get(laze_context *context, laze_kernel_store **out, laze_error *error) {
  static const laze_context_object_class class = {LAZE_CONTEXT_KERNELS, create_store, destroy_store};
  void *object;
  laze_status status = laze_context_object(context, &class, &object, error);
  *out = object;
  return status;
}

/* Everything but the kernel's key that decides on code: the builds of the generator and its LLVM, and the ABI. */
static laze_status identify(laze_text *out, laze_error *error) {
  LAZE_TRY(laze_generator_identity(out, error));
  laze_text_format(out, " abi %d", LAZE_KERNEL_ABI_VERSION);
  return laze_text_check(out, error);
}

static laze_disk_cache *open_disk(laze_kernel_store *store) {
  laze_text identity;
  laze_disk_cache *disk = NULL;
  laze_text_init(&identity, store->context);
  if (identify(&identity, NULL) == LAZE_OK) disk = laze_disk_cache_open(store->context, laze_text_get(&identity));
  laze_text_deinit(&identity);
  return disk;
}

static laze_disk_cache *get_disk(laze_kernel_store *store) {
  pthread_mutex_lock(&store->lock);
  if (!store->disk_opened) store->disk = open_disk(store);
  store->disk_opened = true;
  laze_disk_cache *disk = store->disk;
  pthread_mutex_unlock(&store->lock);
  return disk;
}

/* Finding */

static laze_kernel *find_in_process(laze_kernel_store *store, laze_hash key) {
  return laze_cache_find(store->kernels, key, NULL, NULL);
}

/* Loads an object and caches the kernels in it. */
static laze_status adopt(laze_kernel_store *store, const laze_disk_module *from, bool is_disk, laze_error *error) {
  laze_kernel_code *code;
  LAZE_TRY(laze_kernel_code_load(store->context, from->object, from->object_size, from->entry_count, &code, error));
  laze_status status = LAZE_OK;
  for (int64_t i = 0; i < from->entry_count && status == LAZE_OK; i++) {
    laze_kernel *kernel;
    status = laze_kernel_code_find(code, from->entries[i].key, from->entries[i].symbol, &kernel, error);
    if (status != LAZE_OK) break;
    if (is_disk) atomic_store(&kernel->from_disk, true);
    laze_cache_insert(store->kernels, from->entries[i].key, kernel, laze_kernel_weight(kernel));
    laze_kernel_release(kernel);
  }
  laze_kernel_code_release(code);
  return status;
}

/* What is wrong with what lies there is a warning: its kernels are compiled again. */
static laze_kernel *find_on_disk(laze_kernel_store *store, laze_hash key) {
  laze_disk_module *found = laze_disk_cache_find(get_disk(store), key);
  laze_error error;
  if (!found) return NULL;
  if (adopt(store, found, true, &error) != LAZE_OK)
    laze_log_message(store->context, LAZE_LOG_WARNING, "disk cache: %s; compiling again", error.message);
  laze_disk_module_destroy(found);
  return find_in_process(store, key);
}

/* Compiling */

static laze_status generate(laze_kernel_store *store, const laze_kernel_batch *batch, laze_llvm_output kind,
                            laze_text *out, laze_error *error) {
  return laze_kernel_batch_generate(batch, &store->generator, store->context, kind, out, error);
}

static void dump(laze_kernel_store *store, const laze_kernel_batch *batch, laze_debug_switch which,
                 laze_llvm_output kind) {
  laze_text text;
  if (!laze_context_debug(store->context, which)) return;
  laze_text_init(&text, store->context);
  if (generate(store, batch, kind, &text, NULL) == LAZE_OK)
    laze_log_text(store->context, LAZE_LOG_DEBUG, laze_debug_name(which), laze_text_get(&text));
  laze_text_deinit(&text);
}

/* Not where the generator runs another LLVM than the cache is for. */
static void keep_on_disk(laze_kernel_store *store, const laze_disk_module *made) {
  if (store->generator.is_identified)
    laze_disk_cache_store(get_disk(store), made->entries, made->entry_count, made->object, made->object_size);
  else
    laze_log_message(store->context, LAZE_LOG_INFO,
                     "disk cache: kernels are not kept, for LLVM is not the one that laze was linked with");
}

static laze_status compile_batch(laze_kernel_store *store, const laze_kernel_batch *batch, laze_error *error) {
  laze_text object;
  if (batch->count == 0) return LAZE_OK;
  LAZE_TRY(laze_generator_open(&store->generator, error));
  dump(store, batch, LAZE_DEBUG_LLVM, LAZE_LLVM_IR);
  dump(store, batch, LAZE_DEBUG_ASM, LAZE_LLVM_ASSEMBLY);
  laze_text_init(&object, store->context);
  laze_status status = generate(store, batch, LAZE_LLVM_OBJECT, &object, error);
  const laze_disk_module made = {
      .entries = batch->entries, .entry_count = batch->count, .object = object.data, .object_size = object.size};
  if (status == LAZE_OK) status = adopt(store, &made, false, error);
  if (status == LAZE_OK) {
    laze_metrics_add(laze_context_metrics(store->context), LAZE_METRIC_KERNELS_COMPILED, batch->count);
    keep_on_disk(store, &made);
  }
  laze_text_deinit(&object);
  return status;
}

/* A kernel that came along with another one from disk counts as found there the first time it is asked for. */
static void count_hit(laze_kernel_store *store, laze_kernel *kernel) {
  bool from_disk = kernel && atomic_exchange(&kernel->from_disk, false);
  laze_metrics_add(laze_context_metrics(store->context),
                   from_disk ? LAZE_METRIC_DISK_CACHE_HITS : LAZE_METRIC_KERNEL_CACHE_HITS, 1);
}

/* Leaves *out NULL where the kernel is to be compiled. The batch has room for one more. */
static void find_or_request(laze_kernel_store *store, const laze_loop_kernel *loop, laze_hash key,
                            laze_kernel_batch *batch, laze_kernel **out) {
  *out = find_in_process(store, key);
  bool requested = !*out && laze_kernel_batch_has(batch, key);
  if (!*out && !requested) *out = find_on_disk(store, key);
  if (*out || requested)
    count_hit(store, *out);
  else
    laze_kernel_batch_add(batch, loop, key);
}

/* Compiles what has been requested and takes it for kernels [first, end), before others push it out of the cache. */
static laze_status compile_and_take(laze_kernel_store *store, laze_kernel_batch *batch, const laze_hash *keys,
                                    int32_t first, int32_t end, laze_kernel **out, laze_error *error) {
  LAZE_TRY(compile_batch(store, batch, error));
  laze_kernel_batch_clear(batch);
  for (int32_t i = first; i < end; i++) {
    if (!out[i]) out[i] = find_in_process(store, keys[i]);
    if (!out[i])
      return laze_fail(error, LAZE_OUT_OF_MEMORY,
                       "a kernel was dropped from the cache before it was used; compile on fewer threads at once");
  }
  return LAZE_OK;
}

static laze_status get_all(laze_kernel_store *store, const laze_loop_kernel *const *loops, int32_t count,
                           laze_hash *keys, laze_kernel_batch *batch, laze_kernel **out, laze_error *error) {
  int32_t taken = 0;
  laze_kernel_batch_init(batch, &store->target);
  LAZE_TRY(laze_context_report(store->context, "compile", 0, count, error));
  for (int32_t i = 0; i < count; i++) {
    keys[i] = laze_kernel_batch_key(batch, loops[i]);
    find_or_request(store, loops[i], keys[i], batch, &out[i]);
    if (!laze_kernel_batch_is_full(batch)) continue;
    LAZE_TRY(compile_and_take(store, batch, keys, taken, i + 1, out, error));
    taken = i + 1;
    LAZE_TRY(laze_context_report(store->context, "compile", taken, count, error));
  }
  LAZE_TRY(compile_and_take(store, batch, keys, taken, count, out, error));
  return laze_context_report(store->context, "compile", count, count, error);
}

laze_status laze_kernel_store_find(laze_kernel_store *store, const laze_loop_kernel *const *loops, int32_t count,
                                   laze_kernel **out, laze_error *error) {
  int64_t start = laze_clock();
  memset(out, 0, (size_t)count * sizeof *out);
  laze_hash *keys = laze_alloc_array(store->context, count, sizeof *keys);
  laze_kernel_batch *batch = laze_alloc(store->context, sizeof *batch);
  laze_status status = LAZE_OK;
  if (!keys || !batch) status = laze_fail_memory(error, "finding kernels", -1);
  if (status == LAZE_OK) status = get_all(store, loops, count, keys, batch, out, error);
  for (int32_t i = 0; i < count && status != LAZE_OK; i++) {
    laze_kernel_release(out[i]);
    out[i] = NULL;
  }
  laze_free(store->context, keys);
  laze_free(store->context, batch);
  laze_metrics_add(laze_context_metrics(store->context), LAZE_METRIC_TIME_COMPILE_US, laze_clock() - start);
  return status;
}

/* Programs that are saved */

static laze_status find_identity(const laze_kernel_store *store, laze_hash *out, laze_error *error) {
  laze_text identity;
  laze_text_init(&identity, store->context);
  const laze_status status = identify(&identity, error);
  *out = laze_hash_bytes(laze_text_get(&identity), (size_t)identity.size);
  laze_text_deinit(&identity);
  return status;
}

static laze_status pack_batch(laze_kernel_store *store, laze_kernel_batch *batch, laze_disk_pack *pack,
                              laze_error *error) {
  laze_text object;
  if (batch->count == 0) return LAZE_OK;
  LAZE_TRY(laze_generator_open(&store->generator, error));
  if (!store->generator.is_identified) {
    laze_kernel_batch_clear(batch); /* what it makes is of another LLVM than the pack says */
    return LAZE_OK;
  }
  laze_text_init(&object, store->context);
  laze_status status = generate(store, batch, LAZE_LLVM_OBJECT, &object, error);
  const laze_disk_module made = {
      .entries = batch->entries, .entry_count = batch->count, .object = object.data, .object_size = object.size};
  if (status == LAZE_OK) status = laze_disk_pack_add(pack, &made, error);
  laze_text_deinit(&object);
  laze_kernel_batch_clear(batch);
  return status;
}

static laze_status pack_all(laze_kernel_store *store, const laze_loop_kernel *const *loops, int32_t count,
                            laze_kernel_batch *batch, laze_disk_pack *pack, laze_error *error) {
  for (int32_t i = 0; i < count; i++) {
    const laze_hash key = laze_kernel_batch_key(batch, loops[i]);
    if (laze_disk_pack_has(pack, key) || laze_kernel_batch_has(batch, key)) continue;
    laze_disk_module *found = laze_disk_cache_find(get_disk(store), key);
    if (found) {
      const laze_status status = laze_disk_pack_add(pack, found, error);
      laze_disk_module_destroy(found);
      LAZE_TRY(status);
      continue;
    }
    laze_kernel_batch_add(batch, loops[i], key);
    if (laze_kernel_batch_is_full(batch)) LAZE_TRY(pack_batch(store, batch, pack, error));
  }
  return pack_batch(store, batch, pack, error);
}

laze_status laze_kernel_store_pack(laze_kernel_store *store, const laze_loop_kernel *const *loops, int32_t count,
                                   laze_disk_pack *pack, laze_error *error) {
  if (find_identity(store, &pack->identity, NULL) != LAZE_OK) return LAZE_OK;
  pack->target = store->target.key;
  laze_kernel_batch *batch = laze_alloc(store->context, sizeof *batch);
  if (!batch) return laze_fail_memory(error, "saving kernels", sizeof *batch);
  laze_kernel_batch_init(batch, &store->target);
  const laze_status status = pack_all(store, loops, count, batch, pack, error);
  laze_free(store->context, batch);
  return status;
}

static bool has_all(laze_kernel_store *store, const laze_disk_module *module) {
  bool has = true;
  for (int64_t i = 0; i < module->entry_count && has; i++) {
    laze_kernel *kernel = find_in_process(store, module->entries[i].key);
    has = kernel != NULL;
    laze_kernel_release(kernel);
  }
  return has;
}

laze_status laze_kernel_store_unpack(laze_kernel_store *store, const void *bytes, int64_t size, laze_error *error) {
  laze_disk_reader reader = {.context = store->context, .target = store->target.key, .bytes = bytes, .size = size};
  laze_disk_module *module;
  if (find_identity(store, &reader.identity, NULL) != LAZE_OK) reader.identity = (laze_hash){0, 0};
  LAZE_TRY(laze_disk_reader_begin(&reader, error));
  for (;;) {
    LAZE_TRY(laze_disk_reader_next(&reader, &module, error));
    if (!module) return LAZE_OK;
    const laze_status status = has_all(store, module) ? LAZE_OK : adopt(store, module, false, error);
    laze_disk_module_destroy(module);
    LAZE_TRY(status);
  }
}
