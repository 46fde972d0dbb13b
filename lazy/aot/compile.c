/* Compiling functions ahead of time, and what is known of one that was (laze/aot.h). */
#include "base/context.h"
#include "ir/graph.h"
#include "lazy/aot/aot.h"
#include "lazy/lazy.h"
#include "lazy/thread.h"
#include "lazy/tracing/tracer.h"

/* --- programs --- */

void laze_aot_program_release(laze_aot_program *program) {
  if (!program || atomic_fetch_sub_explicit(&program->references, 1, memory_order_acq_rel) != 1) return;
  laze_compiled_release(program->forward);
  laze_compiled_release(program->backward);
  laze_graph_release(program->joint);
  laze_free(program->context, program->words);
  laze_free(program->context, program);
}

/* A graph is the context's, as the cache is, and so must not keep it. */
static laze_status compile_graph(const laze_aot_options *options, laze_graph *graph, laze_compiled **out,
                                 laze_error *error) {
  const laze_compile_options passed = {.struct_size = sizeof passed, .backend = options->backend};
  return laze_compile_graph(graph, &passed, out, error);
}

/* Cut in two; where nothing requires a gradient, the joint graph is the forward one. Graphs are the caller's. */
static laze_status cut(const laze_aot *aot, laze_graph *joint, const laze_aot_options *options, laze_partition *out,
                       laze_error *error) {
  *out = (laze_partition){.struct_size = sizeof *out};
  if (aot->gradient_count > 0)
    return laze_graph_partition(joint, aot->value_count, aot->tangent_count, options->partition, out, error);
  laze_graph_retain(joint);
  out->forward = joint;
  return LAZE_OK;
}

static laze_status fill(laze_aot_program *program, const laze_aot *aot, laze_graph *joint,
                        const laze_aot_options *options, laze_error *error) {
  laze_partition parts;
  LAZE_TRY(cut(aot, joint, options, &parts, error));
  program->saved_count = parts.saved_count;
  program->donates = !(options->flags & LAZE_AOT_NO_DONATION);
  if (parts.forward != joint) laze_graph_give_to_context(parts.forward);
  if (parts.backward) laze_graph_give_to_context(parts.backward);
  laze_status status = compile_graph(options, parts.forward, &program->forward, error);
  if (status == LAZE_OK && parts.backward) status = compile_graph(options, parts.backward, &program->backward, error);
  laze_graph_release(parts.forward);
  laze_graph_release(parts.backward);
  return status;
}

laze_status laze_aot_program_create(const laze_aot *aot, laze_graph *joint, const laze_aot_options *options,
                                    uint64_t *words, int64_t word_count, laze_aot_program **out, laze_error *error) {
  laze_aot_program *program = laze_alloc_zero(aot->context, sizeof *program);
  *out = NULL;
  if (!program) {
    laze_free(aot->context, words);
    return laze_fail_memory(error, "a compiled function", sizeof *program);
  }
  program->references = 1;
  program->context = aot->context;
  program->words = words;
  program->word_count = word_count;
  laze_graph_retain(joint);
  program->joint = joint;
  const laze_status status = fill(program, aot, joint, options, error);
  if (status == LAZE_OK)
    *out = program;
  else
    laze_aot_program_release(program);
  return status;
}

/* --- life --- */

void laze_aot_retain(laze_aot *aot) {
  if (aot) atomic_fetch_add_explicit(&aot->references, 1, memory_order_relaxed);
}

void laze_aot_release(laze_aot *aot) {
  if (!aot || atomic_fetch_sub_explicit(&aot->references, 1, memory_order_acq_rel) != 1) return;
  laze_context *context = aot->context;
  pthread_mutex_lock(&aot->lazy->lock);
  for (int32_t i = 0; aot->outputs && i < aot->output_count; i++)
    laze_view_step_release(aot->lazy, aot->outputs[i].steps);
  laze_lazy_unlock(aot->lazy);
  laze_aot_program_release(aot->program);
  laze_free(context, aot->inputs);
  laze_free(context, aot->outputs);
  laze_free(context, aot->differents);
  laze_free(context, aot->tangent_results);
  laze_free(context, aot->gradient_inputs);
  laze_free(context, aot->random);
  laze_free(context, aot->advances);
  laze_free(context, aot);
  laze_context_release(context);
}

static laze_status create(laze_lazy *lazy, int32_t input_count, int32_t output_count, laze_aot **out,
                          laze_error *error) {
  laze_context *context = lazy->context;
  laze_aot *aot = laze_alloc_zero(context, sizeof *aot);
  if (!aot) return laze_fail_memory(error, "a compiled function", sizeof *aot);
  *out = aot;
  aot->references = 1;
  aot->context = context;
  aot->lazy = lazy;
  laze_context_retain(context);
  aot->input_count = input_count;
  aot->output_count = output_count;
  aot->inputs = laze_alloc_zero(context, (input_count + (int64_t)1) * (int64_t)sizeof *aot->inputs);
  aot->differents = laze_alloc_zero(context, (input_count + (int64_t)1) * (int64_t)sizeof *aot->differents);
  aot->gradient_inputs = laze_alloc_zero(context, (input_count + (int64_t)1) * (int64_t)sizeof *aot->gradient_inputs);
  if (!aot->inputs || !aot->differents || !aot->gradient_inputs)
    return laze_fail_memory(error, "a compiled function", -1);
  return LAZE_OK;
}

/* --- compiling --- */

static laze_status look(laze_aot *aot, laze_tensor *const *inputs, laze_error *error) {
  LAZE_TRY(laze_tensors_materialise(inputs, aot->input_count, error));
  laze_thread_state *thread = laze_lazy_lock(aot->lazy);
  if (!thread) return laze_fail_memory(error, "a compiled function", -1);
  const laze_status status = laze_aot_look("laze_aot_compile", thread, inputs, aot->input_count, aot->inputs, error);
  laze_lazy_unlock(aot->lazy);
  for (int32_t i = 0; i < aot->input_count && status == LAZE_OK; i++)
    if (aot->inputs[i].facts.same_as == i) aot->differents[aot->different_count++] = i;
  return status;
}

static laze_status check_shared(const laze_aot *aot, laze_tensor *const *inputs, laze_error *error) {
  pthread_mutex_lock(&aot->lazy->lock);
  const laze_status status = laze_aot_check_shared("laze_aot_compile", inputs, aot->inputs, aot->input_count, error);
  laze_lazy_unlock(aot->lazy);
  return status;
}

/* In a scope of its own, with which everything goes that the trace made. */
static laze_status trace(laze_aot *aot, laze_traced_function function, void *self, laze_tensor *const *inputs,
                         const laze_aot_options *options, laze_graph **out, laze_error *error) {
  laze_scope *scope = laze_scope_begin(aot->context);
  *out = NULL;
  if (!scope) return laze_fail_memory(error, "a trace", -1);
  laze_status status = look(aot, inputs, error);
  if (status == LAZE_OK) status = laze_aot_trace_function(aot, function, self, inputs, options, out, error);
  if (status == LAZE_OK) status = check_shared(aot, inputs, error);
  return laze_traced_scope_end(scope, status, out, error);
}

static laze_status compile(laze_aot *aot, laze_traced_function function, void *self, laze_tensor *const *inputs,
                           const laze_aot_options *options, laze_error *error) {
  laze_aot_options found = *options;
  laze_graph *joint;
  if (!found.backend) LAZE_TRY(laze_backend_find(aot->context, NULL, &found.backend, error));
  LAZE_TRY(trace(aot, function, self, inputs, &found, &joint, error));
  laze_status status = laze_graph_verify(joint, error);
  laze_graph_give_to_context(joint);
  if (status == LAZE_OK) status = laze_aot_program_find(aot, joint, &found, &aot->program, error);
  laze_graph_release(joint);
  return status;
}

static laze_status check_arguments(laze_traced_function function, laze_tensor *const *inputs, int32_t input_count,
                                   int32_t output_count, const laze_aot_options *options, laze_error *error) {
  if (!function || input_count < 0 || output_count < 0 || (input_count > 0 && !inputs))
    return laze_fail(error, LAZE_INVALID_ARGUMENT,
                     "laze_aot_compile: function, inputs and out must not be NULL, nor a count negative");
  if (options->struct_size < sizeof *options)
    return laze_fail(error, LAZE_INVALID_ARGUMENT,
                     "laze_aot_compile: struct_size is %zu; set it to sizeof(laze_aot_options)", options->struct_size);
  if (options->partition != LAZE_PARTITION_DEFAULT && options->partition != LAZE_PARTITION_MIN_CUT)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "laze_aot_compile: there is no partition %d",
                     (int)options->partition);
  if (options->flags & ~(LAZE_AOT_NO_CACHE | LAZE_AOT_NO_DONATION | LAZE_AOT_FEWER_OUTPUTS))
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "laze_aot_compile: there are no flags %#x",
                     (unsigned)options->flags);
  return LAZE_OK;
}

laze_status laze_aot_compile(laze_traced_function function, void *self, laze_tensor *const *inputs, int32_t input_count,
                             int32_t output_count, const laze_aot_options *options, laze_aot **out, laze_error *error) {
  static const laze_aot_options defaults = {.struct_size = sizeof defaults};
  laze_aot *aot = NULL;
  if (out) *out = NULL;
  if (!options) options = &defaults;
  if (!out) return laze_fail(error, LAZE_INVALID_ARGUMENT, "laze_aot_compile: out is NULL");
  LAZE_TRY(check_arguments(function, inputs, input_count, output_count, options, error));
  laze_lazy *lazy = input_count > 0 ? laze_handle_lazy(inputs[0]) : NULL;
  if (!lazy) lazy = laze_lazy_get(NULL);
  if (!lazy) return laze_fail_memory(error, "a compiled function", -1);
  laze_status status = create(lazy, input_count, output_count, &aot, error);
  if (status == LAZE_OK) status = compile(aot, function, self, inputs, options, error);
  if (status == LAZE_OK)
    *out = aot;
  else
    laze_aot_release(aot);
  return status;
}

/* --- questions --- */

laze_status laze_aot_get_input(const laze_aot *aot, int32_t index, laze_aot_input *out, laze_error *error) {
  if (!aot || !out || out->struct_size < sizeof *out)
    return laze_fail(error, LAZE_INVALID_ARGUMENT,
                     "laze_aot_get_input: aot or out is NULL, or struct_size is not sizeof(laze_aot_input)");
  if (index < 0 || index >= aot->input_count)
    return laze_fail(error, LAZE_OUT_OF_RANGE, "laze_aot_get_input: input %d of %d", (int)index, (int)aot->input_count);
  *out = aot->inputs[index].facts;
  return LAZE_OK;
}

laze_status laze_aot_get_output(const laze_aot *aot, int32_t index, laze_aot_output *out, laze_error *error) {
  if (!aot || !out || out->struct_size < sizeof *out)
    return laze_fail(error, LAZE_INVALID_ARGUMENT,
                     "laze_aot_get_output: aot or out is NULL, or struct_size is not sizeof(laze_aot_output)");
  if (index < 0 || index >= aot->output_count)
    return laze_fail(error, LAZE_OUT_OF_RANGE, "laze_aot_get_output: output %d of %d", (int)index,
                     (int)aot->output_count);
  *out = aot->outputs[index].facts;
  return LAZE_OK;
}

int32_t laze_aot_input_count(const laze_aot *aot) {
  return aot ? aot->input_count : 0;
}

int32_t laze_aot_output_count(const laze_aot *aot) {
  return aot ? aot->output_count : 0;
}

int32_t laze_aot_base_count(const laze_aot *aot) {
  return aot ? aot->base_count : 0;
}

int32_t laze_aot_tangent_count(const laze_aot *aot) {
  return aot && aot->program->backward ? aot->tangent_count : 0;
}

int32_t laze_aot_gradient_count(const laze_aot *aot) {
  return aot ? aot->gradient_count : 0;
}

const laze_graph *laze_aot_graph(const laze_aot *aot, int32_t which) {
  if (!aot) return NULL;
  const laze_aot_program *program = aot->program;
  if (which == LAZE_AOT_JOINT) return program->joint;
  if (which == LAZE_AOT_FORWARD) return laze_compiled_graph(program->forward);
  return which == LAZE_AOT_BACKWARD && program->backward ? laze_compiled_graph(program->backward) : NULL;
}

/* --- random state --- */

static laze_status check_random(const laze_aot *aot, int32_t index, laze_error *error) {
  if (aot && index >= 0 && index < aot->seed_count) return LAZE_OK;
  return laze_fail(error, aot ? LAZE_OUT_OF_RANGE : LAZE_INVALID_ARGUMENT,
                   "random state %d of a compiled function that has %d", (int)index, aot ? (int)aot->seed_count : 0);
}

int32_t laze_aot_random_count(const laze_aot *aot) {
  return aot ? aot->seed_count : 0;
}

laze_status laze_aot_get_random(laze_aot *aot, int32_t index, int64_t *seed, int64_t *offset, laze_error *error) {
  LAZE_TRY(check_random(aot, index, error));
  pthread_mutex_lock(&aot->lazy->lock);
  if (seed) *seed = aot->random[2 * index];
  if (offset) *offset = aot->random[2 * index + 1];
  laze_lazy_unlock(aot->lazy);
  return LAZE_OK;
}

laze_status laze_aot_set_random(laze_aot *aot, int32_t index, int64_t seed, int64_t offset, laze_error *error) {
  LAZE_TRY(check_random(aot, index, error));
  pthread_mutex_lock(&aot->lazy->lock);
  aot->random[2 * index] = seed;
  aot->random[2 * index + 1] = offset;
  laze_lazy_unlock(aot->lazy);
  return LAZE_OK;
}
