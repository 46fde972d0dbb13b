#include "codegen/codegen_state.h"

enum { MAX_PROGRAMS = 1024, MAX_KERNELS = 8192 };
enum { MAX_PROGRAM_BYTES = 128 << 20, MAX_KERNEL_BYTES = 128 << 20 };

static void retain_program(void *object) {
  laze_cached_program *cached = object;
  atomic_fetch_add_explicit(&cached->references, 1, memory_order_relaxed);
}
static void release_program(void *object) {
  laze_cached_program_release(object);
}
static void retain_kernel(void *object) {
  laze_kernel_retain(object);
}
static void release_kernel(void *object) {
  laze_kernel_release(object);
}

static void destroy_codegen(void *object) {
  laze_codegen *codegen = object;
  laze_cache_destroy(codegen->programs); /* before the kernels they use: either order is right, this one is cheaper */
  laze_cache_destroy(codegen->kernels);
  laze_disk_cache_close(codegen->disk);
  pthread_mutex_destroy(&codegen->lock);
  /* The LLVM module stays open: closing a library that ran static constructors is not safe in every process. */
  laze_free(codegen->context, codegen);
}

static laze_status fill_codegen(laze_codegen *codegen, laze_error *error) {
  const laze_cache_options programs = {MAX_PROGRAMS, MAX_PROGRAM_BYTES, retain_program, release_program};
  const laze_cache_options kernels = {MAX_KERNELS, MAX_KERNEL_BYTES, retain_kernel, release_kernel};
  LAZE_TRY(laze_cache_create(codegen->context, &programs, &codegen->programs, error));
  return laze_cache_create(codegen->context, &kernels, &codegen->kernels, error);
}

static laze_status create_codegen(laze_context *context, void **out, laze_error *error) {
  laze_codegen *codegen = laze_alloc_zero(context, sizeof *codegen);
  if (!codegen) return laze_fail_memory(error, "the code generator's state", sizeof *codegen);
  codegen->context = context;
  pthread_mutex_init(&codegen->lock, NULL);
  laze_status status = fill_codegen(codegen, error);
  if (status != LAZE_OK)
    destroy_codegen(codegen);
  else
    *out = codegen;
  return status;
}

laze_codegen *laze_codegen_get(laze_context *context, laze_error *error) {
  return laze_context_object(context, LAZE_SLOT_CODEGEN, create_codegen, destroy_codegen, error);
}

void laze_cached_program_release(laze_cached_program *cached) {
  if (atomic_fetch_sub_explicit(&cached->references, 1, memory_order_acq_rel) != 1) return;
  laze_context *context = cached->graph->context;
  laze_metrics_add(laze_context_metrics(context), LAZE_METRIC_PROGRAM_CACHE_BYTES, -cached->bytes);
  laze_program_release(cached->program);
  laze_graph_destroy(cached->graph);
  laze_free(context, cached);
}

void laze_codegen_keep_program(laze_codegen *codegen, laze_hash key, const laze_graph *graph, laze_program *program) {
  laze_graph *copy;
  if (laze_graph_copy(graph, &copy, NULL) != LAZE_OK) return;
  laze_graph_trim(copy);
  laze_cached_program *cached = laze_alloc(codegen->context, sizeof *cached);
  if (!cached) {
    laze_graph_destroy(copy);
    return;
  }
  laze_graph_give_to_context(copy);
  *cached = (laze_cached_program){
      .references = 1, .bytes = (int64_t)sizeof *cached + laze_graph_bytes(copy), .program = program, .graph = copy};
  laze_metrics_add(laze_context_metrics(codegen->context), LAZE_METRIC_PROGRAM_CACHE_BYTES, cached->bytes);
  laze_program_retain(program);
  laze_cache_insert(codegen->programs, key, cached, cached->bytes + laze_program_bytes(program));
  laze_cached_program_release(cached);
}
