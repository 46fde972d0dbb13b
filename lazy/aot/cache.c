/* Programs that were compiled ahead of time, by their joint graphs and what else they depend on:
 *
 *   joint graph ┐
 *   layouts     ├─ words, hash ──> cache of the context ── same words and graph ──> program
 *   options     ┘                        │ miss
 *                                        └──> cut, compile, put there
 *
 * A graph that calls kernels that programs register is not looked for: what they do is not in it. */
#include "base/cache.h"
#include "base/context.h"
#include "ir/graph.h"
#include "ir/op.gen.h"
#include "lazy/aot/aot.h"
#include "lazy/lazy.h"
#include "lazy/thread.h"

#include <string.h>

enum { MOST_PROGRAMS = 256 };
#define MOST_BYTES (INT64_C(64) << 20)

static void retain(void *object) {
  laze_aot_program *program = object;
  atomic_fetch_add_explicit(&program->references, 1, memory_order_relaxed);
}

static void release(void *object) {
  laze_aot_program_release(object);
}

static laze_status create(laze_context *context, void **out, laze_error *error) {
  const laze_cache_options options = {MOST_PROGRAMS, MOST_BYTES, retain, release};
  laze_cache *cache;
  LAZE_TRY(laze_cache_create(context, &options, &cache, error));
  *out = cache;
  return LAZE_OK;
}

static void destroy(void *object) {
  laze_cache_destroy(object);
}

static laze_status find_cache(laze_context *context, laze_cache **out, laze_error *error) {
  static const laze_context_object_class class = {LAZE_CONTEXT_AOT, create, destroy};
  void *object;
  LAZE_TRY(laze_context_object(context, &class, &object, error));
  *out = object;
  return LAZE_OK;
}

/* --- the words --- */

typedef struct {
  uint64_t *words; /* NULL: they are counted */
  int64_t count;
} word_list;

static void add(word_list *list, uint64_t word) {
  if (list->words) list->words[list->count] = word;
  list->count++;
}

static void add_name(word_list *list, const char *name) {
  const laze_hash hash = laze_hash_bytes(name, strlen(name));
  add(list, hash.low);
  add(list, hash.high);
}

static void add_input(word_list *list, const laze_aot_given *given) {
  const laze_geometry *geometry = &given->geometry;
  add(list, (uint64_t)(uint32_t)given->facts.flags << 32 | (uint64_t)geometry->dtype << 8 | geometry->rank);
  for (int i = 0; i < geometry->rank; i++) {
    add(list, (uint64_t)geometry->sizes[i]);
    add(list, (uint64_t)geometry->strides[i]);
  }
}

/* What the graph and its inputs are called, and what inputs and results are for: whoever gets the graphs sees it. */
static void add_signature(word_list *list, const laze_graph *joint) {
  add_name(list, laze_graph_name(joint));
  for (int32_t i = 0; i < laze_graph_input_count(joint); i++) {
    add_name(list, laze_graph_node(joint, laze_graph_input(joint, i))->name);
    add(list, (uint64_t)laze_graph_input_role(joint, i).kind);
  }
  for (int32_t i = 0; i < laze_graph_result_count(joint); i++) {
    const laze_role role = laze_graph_result_role(joint, i);
    add(list, (uint64_t)role.kind);
    if (role.of) add_name(list, role.of);
  }
}

/* Everything besides the graph. There is one way to compute, so that there is nothing to say about determinism. */
static void add_all(word_list *list, const laze_aot *aot, const laze_graph *joint, const laze_aot_options *options,
                    bool tracks) {
  const int32_t counts[] = {aot->different_count, aot->value_count, aot->tangent_count, aot->gradient_count};
  for (int i = 0; i < 4; i++) add(list, (uint64_t)counts[i]);
  add(list, (uint64_t)options->partition << 32 | (uint32_t)(options->flags & LAZE_AOT_NO_DONATION));
  add(list, (uint64_t)(uintptr_t)options->backend);
  add(list, tracks);
  for (int32_t d = 0; d < aot->different_count; d++) add_input(list, &aot->inputs[aot->differents[d]]);
  add_signature(list, joint);
}

static laze_status make_words(const laze_aot *aot, const laze_graph *joint, const laze_aot_options *options,
                              word_list *out, laze_error *error) {
  laze_thread_state *thread = laze_lazy_lock(aot->lazy);
  if (!thread) return laze_fail_memory(error, "a compiled function", -1);
  const bool tracks = laze_thread_tracks(thread);
  laze_lazy_unlock(aot->lazy);
  word_list counted = {0};
  add_all(&counted, aot, joint, options, tracks);
  *out = (word_list){.words = laze_alloc_array(aot->context, counted.count, sizeof *out->words)};
  if (!out->words) return laze_fail_memory(error, "a compiled function", -1);
  add_all(out, aot, joint, options, tracks);
  return LAZE_OK;
}

/* --- looking --- */

typedef struct {
  const word_list *words;
  const laze_graph *joint;
} wanted;

static bool matches(void *self, void *object) {
  const wanted *looked = self;
  const laze_aot_program *program = object;
  const word_list *words = looked->words;
  return program->word_count == words->count &&
         memcmp(program->words, words->words, (size_t)words->count * sizeof *words->words) == 0 &&
         laze_graph_equal(program->joint, looked->joint, NULL);
}

/* Whether what the graph computes is not all in it. */
static bool is_unsafe(const laze_graph *graph) {
  for (int64_t i = 0; i < graph->node_count; i++)
    if (graph->nodes[i].op == LAZE_OP_OPAQUE) return true;
  return false;
}

static int64_t bytes_of(const laze_aot_program *program) {
  int64_t bytes = (int64_t)sizeof *program + program->word_count * (int64_t)sizeof *program->words;
  bytes += laze_graph_bytes(program->joint) + laze_graph_bytes(laze_compiled_graph(program->forward));
  return bytes + (program->backward ? laze_graph_bytes(laze_compiled_graph(program->backward)) : 0);
}

static void count(const laze_aot *aot, laze_metric metric) {
  laze_metrics_add(laze_context_metrics(aot->context), metric, 1);
}

static laze_status find_or_create(laze_aot *aot, laze_graph *joint, const laze_aot_options *options,
                                  const word_list *words, laze_aot_program **out, laze_error *error) {
  laze_cache *cache;
  wanted looked = {words, joint};
  const laze_hash graph = laze_graph_hash(joint, true);
  const laze_hash key =
      laze_hash_combine(graph, laze_hash_bytes(words->words, (size_t)words->count * sizeof *words->words));
  laze_status status = find_cache(aot->context, &cache, error);
  *out = status == LAZE_OK ? laze_cache_find(cache, key, matches, &looked) : NULL;
  if (status != LAZE_OK || *out) {
    laze_free(aot->context, words->words);
    if (*out) count(aot, LAZE_METRIC_AOT_CACHE_HITS);
    return status;
  }
  count(aot, LAZE_METRIC_AOT_CACHE_MISSES);
  LAZE_TRY(laze_aot_program_create(aot, joint, options, words->words, words->count, out, error));
  laze_cache_insert(cache, key, *out, bytes_of(*out));
  return LAZE_OK;
}

laze_status laze_aot_program_find(laze_aot *aot, laze_graph *joint, const laze_aot_options *options,
                                  laze_aot_program **out, laze_error *error) {
  word_list words;
  if (options->flags & LAZE_AOT_NO_CACHE || is_unsafe(joint)) {
    count(aot, LAZE_METRIC_AOT_CACHE_BYPASSES);
    return laze_aot_program_create(aot, joint, options, NULL, 0, out, error);
  }
  LAZE_TRY(make_words(aot, joint, options, &words, error));
  return find_or_create(aot, joint, options, &words, out, error);
}
