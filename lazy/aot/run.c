/* Runs of functions that were compiled ahead of time:
 *
 *   call      check ── forward graph ── tensors of its results ── a node in histories ── epilogue.c
 *                             └── saved ────────────────────────────────┘
 *   backward  saved, tangents ── backward graph ── gradients
 */
#include "base/context.h"
#include "base/dtype.h"
#include "ir/graph.h"
#include "lazy/aot/aot.h"
#include "lazy/lazy.h"
#include "lazy/thread.h"
#include "lazy/value/handle.h"
#include "runtime/array.h"

#include <string.h>

struct laze_aot_saved {
  laze_aot *aot;        /* retained */
  laze_array **arrays;  /* NULL: a pass has used them; guarded by the context's lock */
  laze_tensor **handed; /* gradients that a node's pass was given last, which it only borrows */
};

/* --- what is saved --- */

static laze_array **take_arrays(laze_aot_saved *saved) {
  pthread_mutex_lock(&saved->aot->lazy->lock);
  laze_array **arrays = saved->arrays;
  saved->arrays = NULL;
  laze_lazy_unlock(saved->aot->lazy);
  return arrays;
}

static void release_arrays(const laze_aot *aot, laze_array **arrays, int64_t count) {
  for (int64_t i = 0; arrays && i < count; i++) laze_array_release(arrays[i]);
  laze_free(aot->context, arrays);
}

static void release_handed(laze_aot_saved *saved) {
  for (int32_t i = 0; i < saved->aot->gradient_count; i++) {
    laze_tensor_release(saved->handed[i]);
    saved->handed[i] = NULL;
  }
}

void laze_aot_saved_release(laze_aot_saved *saved) {
  if (!saved) return;
  laze_aot *aot = saved->aot;
  release_handed(saved);
  laze_free(aot->context, saved->handed);
  release_arrays(aot, saved->arrays, aot->program->saved_count);
  laze_free(aot->context, saved);
  laze_aot_release(aot);
}

static void release_saved(void *saved) {
  laze_aot_saved_release(saved);
}

/* Takes what a forward pass saved over, whose places in `results` are empty then. */
static laze_status save(laze_aot *aot, laze_array **results, laze_aot_saved **out, laze_error *error) {
  const int32_t count = aot->program->saved_count;
  laze_aot_saved *saved = laze_alloc_zero(aot->context, sizeof *saved);
  laze_array **arrays = laze_alloc_zero(aot->context, (count + (int64_t)1) * (int64_t)sizeof *arrays);
  laze_tensor **handed = laze_alloc_zero(aot->context, aot->gradient_count * (int64_t)sizeof(laze_tensor *));
  if (!saved || !arrays || !handed) {
    laze_free(aot->context, saved);
    laze_free(aot->context, arrays);
    laze_free(aot->context, handed);
    return laze_fail_memory(error, "what a backward pass needs", -1);
  }
  for (int32_t i = 0; i < count; i++) {
    arrays[i] = results[aot->value_count + i];
    results[aot->value_count + i] = NULL;
  }
  *saved = (laze_aot_saved){aot, arrays, handed};
  laze_aot_retain(aot);
  *out = saved;
  return LAZE_OK;
}

/* --- backward --- */

typedef struct {
  const laze_aot *aot;
  laze_array **inputs;  /* what is saved, then tangents */
  laze_array **results; /* gradients */
  int32_t *donated;
  int32_t input_count;
} backward_run;

static laze_status allocate_backward(backward_run *run, laze_error *error) {
  const laze_aot *aot = run->aot;
  run->input_count = aot->program->saved_count + aot->tangent_count;
  run->inputs = laze_alloc_zero(aot->context, (run->input_count + (int64_t)1) * (int64_t)sizeof *run->inputs);
  run->results = laze_alloc_zero(aot->context, (aot->gradient_count + (int64_t)1) * (int64_t)sizeof *run->results);
  run->donated = laze_alloc_zero(aot->context, (run->input_count + (int64_t)1) * (int64_t)sizeof *run->donated);
  return run->inputs && run->results && run->donated ? LAZE_OK : laze_fail_memory(error, "a backward pass", -1);
}

static void release_backward(backward_run *run) {
  release_arrays(run->aot, run->inputs, run->input_count);
  release_arrays(run->aot, run->results, run->aot->gradient_count);
  laze_free(run->aot->context, run->donated);
}

/* The arrays that were saved: another reference of each, or where the pass keeps none, all there is. */
static laze_status use_saved(backward_run *run, laze_aot_saved *saved, bool keeps, laze_error *error) {
  const laze_aot *aot = run->aot;
  const int32_t count = aot->program->saved_count;
  pthread_mutex_lock(&aot->lazy->lock);
  const bool used = !saved->arrays;
  for (int32_t i = 0; i < count && !used && keeps; i++) {
    run->inputs[i] = saved->arrays[i];
    laze_array_retain(run->inputs[i]);
  }
  laze_lazy_unlock(aot->lazy);
  if (used)
    return laze_fail(error, LAZE_FAILED_PRECONDITION,
                     "laze_aot_backward: what the forward pass saved was used up by an earlier backward pass; ask that "
                     "one to keep it (LAZE_RETAIN_GRAPH)");
  if (keeps) return LAZE_OK;
  laze_array **arrays = take_arrays(saved);
  for (int32_t i = 0; arrays && i < count; i++) {
    run->inputs[i] = arrays[i];
    run->donated[i] = aot->program->donates;
  }
  laze_free(aot->context, arrays);
  return arrays ? LAZE_OK
                : laze_fail(error, LAZE_FAILED_PRECONDITION,
                            "laze_aot_backward: another thread uses what the forward pass saved");
}

/* The array of a tangent, in row-major order whatever the tensor's strides; zeros for NULL. */
static laze_status take_tangent(const backward_run *run, int32_t index, laze_tensor *tangent, laze_array **out,
                                laze_error *error) {
  laze_graph *graph = laze_compiled_graph(run->aot->program->backward);
  const laze_type *type = laze_graph_type(graph, laze_graph_input(graph, run->aot->program->saved_count + index));
  if (!tangent) {
    LAZE_TRY(laze_array_create(run->aot->context, (laze_dtype)type->dtype, (laze_ints){type->sizes, type->rank}, out,
                               error));
    memset(laze_array_writable(*out), 0, (size_t)laze_array_bytes(*out));
    return LAZE_OK;
  }
  LAZE_TRY(laze_tensor_to_array(tangent, out, error));
  if (laze_type_equal(&(*out)->type, type)) return LAZE_OK;
  char text[2][128];
  return laze_fail(error, LAZE_INVALID_ARGUMENT,
                   "laze_aot_backward: tangent %d is %s, and the result that it is for %s; both are of one type",
                   (int)index, laze_type_format(NULL, &(*out)->type, text[0], sizeof text[0]),
                   laze_type_format(NULL, type, text[1], sizeof text[1]));
}

static laze_status run_backward(backward_run *run, laze_aot_saved *saved, laze_tensor *const *tangents, bool keeps,
                                laze_tensor **gradients, laze_error *error) {
  const laze_aot *aot = run->aot;
  LAZE_TRY(allocate_backward(run, error));
  for (int32_t i = 0; i < aot->tangent_count; i++)
    LAZE_TRY(take_tangent(run, i, tangents[i], &run->inputs[aot->program->saved_count + i], error));
  LAZE_TRY(use_saved(run, saved, keeps, error));
  LAZE_TRY(laze_compiled_run_donating(aot->program->backward, run->inputs, run->donated, run->input_count, run->results,
                                      aot->gradient_count, error));
  for (int32_t i = 0; i < aot->gradient_count; i++) gradients[i] = laze_tensor_from_array(run->results[i]);
  return LAZE_OK;
}

static laze_status run_pass(laze_aot_saved *saved, laze_tensor *const *tangents, bool keeps, laze_tensor **gradients,
                            laze_error *error) {
  backward_run run = {.aot = saved->aot};
  for (int32_t i = 0; i < saved->aot->gradient_count; i++) gradients[i] = NULL;
  const laze_status status = run_backward(&run, saved, tangents, keeps, gradients, error);
  release_backward(&run);
  return status;
}

laze_status laze_aot_backward(laze_aot_saved *saved, laze_tensor *const *tangents, int32_t tangent_count, int32_t flags,
                              laze_tensor **gradients, int32_t gradient_count, laze_error *error) {
  if (!saved || !tangents || !gradients)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "laze_aot_backward: saved, tangents and gradients must not be NULL");
  if (tangent_count != saved->aot->tangent_count || gradient_count != saved->aot->gradient_count)
    return laze_fail(error, LAZE_INVALID_ARGUMENT,
                     "laze_aot_backward: %d tangents and %d gradients are given; it takes %d and gives %d",
                     (int)tangent_count, (int)gradient_count, (int)saved->aot->tangent_count,
                     (int)saved->aot->gradient_count);
  if (flags & ~LAZE_RETAIN_GRAPH)
    return laze_fail(error, LAZE_INVALID_ARGUMENT,
                     "laze_aot_backward: flags are %#x; only LAZE_RETAIN_GRAPH is one, and a compiled backward pass "
                     "cannot be differentiated",
                     (unsigned)flags);
  return run_pass(saved, tangents, flags & LAZE_RETAIN_GRAPH, gradients, error);
}

/* --- forward --- */

typedef struct {
  laze_aot *aot;
  laze_tensor *const *inputs;
  laze_array **arrays;            /* of the graph's inputs */
  laze_array **results;           /* of the graph */
  laze_tensor **values;           /* results that are not saved, as tensors */
  laze_tensor **targets, **roots; /* what gradients are for, and what tangents are of */
  laze_tensor **outputs;
  int32_t array_count, result_count;
  laze_aot_saved *saved;
} forward_run;

static laze_status allocate_forward(forward_run *run, laze_error *error) {
  const laze_aot *aot = run->aot;
  const int64_t size = sizeof(void *);
  run->array_count = aot->different_count + 2 * aot->seed_count;
  run->result_count = aot->value_count + aot->program->saved_count;
  run->arrays = laze_alloc_zero(aot->context, (run->array_count + (int64_t)1) * size);
  run->results = laze_alloc_zero(aot->context, (run->result_count + (int64_t)1) * size);
  const int64_t tensors = (int64_t)aot->value_count + aot->gradient_count + aot->tangent_count + aot->output_count + 1;
  run->values = laze_alloc_zero(aot->context, tensors * size);
  if (!run->arrays || !run->results || !run->values) return laze_fail_memory(error, "a call", -1);
  run->targets = run->values + aot->value_count;
  run->roots = run->targets + aot->gradient_count;
  run->outputs = run->roots + aot->tangent_count;
  return LAZE_OK;
}

static void release_forward(forward_run *run) {
  release_arrays(run->aot, run->arrays, run->array_count);
  release_arrays(run->aot, run->results, run->result_count);
  laze_free(run->aot->context, run->values);
  laze_aot_saved_release(run->saved);
}

/* Looks at the inputs, and takes the random state, which moves on. */
static laze_status begin(const forward_run *run, int64_t *random, laze_error *error) {
  laze_aot *aot = run->aot;
  LAZE_TRY(laze_tensors_materialise(run->inputs, aot->input_count, error));
  laze_thread_state *thread = laze_lazy_lock(aot->lazy);
  if (!thread) return laze_fail_memory(error, "a call", -1);
  laze_status status = LAZE_OK;
  if (thread->tracer)
    status =
        laze_fail(error, LAZE_FAILED_PRECONDITION,
                  "laze_aot_call: a trace is open on this thread, whose graph would have the results for constants; "
                  "call the function itself there");
  if (status == LAZE_OK) status = laze_aot_check_inputs(aot, thread, run->inputs, aot->input_count, error);
  for (int32_t i = 0; i < aot->seed_count && status == LAZE_OK; i++) {
    random[2 * i] = aot->random[2 * i];
    random[2 * i + 1] = aot->random[2 * i + 1];
    aot->random[2 * i + 1] = (int64_t)((uint64_t)aot->random[2 * i + 1] + (uint64_t)aot->advances[i]);
  }
  laze_lazy_unlock(aot->lazy);
  return status;
}

static laze_status take_arrays_of(forward_run *run, const int64_t *random, laze_error *error) {
  const laze_aot *aot = run->aot;
  for (int32_t d = 0; d < aot->different_count; d++)
    LAZE_TRY(laze_tensor_to_array(run->inputs[aot->differents[d]], &run->arrays[d], error));
  for (int32_t i = 0; i < 2 * aot->seed_count; i++)
    LAZE_TRY(laze_array_from_data(aot->context, LAZE_I64, (laze_ints){NULL, 0}, &random[i], sizeof random[i],
                                  &run->arrays[aot->different_count + i], error));
  return LAZE_OK;
}

/* Outputs that were views of what nobody else has lie as these did. */
static laze_status lay_outputs(const forward_run *run, laze_error *error) {
  const laze_aot *aot = run->aot;
  laze_status status = LAZE_OK;
  pthread_mutex_lock(&aot->lazy->lock);
  for (int32_t i = 0; i < aot->output_count && status == LAZE_OK; i++) {
    const laze_aot_made *made = &aot->outputs[i];
    laze_slot *slot =
        made->strided && made->facts.result >= 0 ? laze_handle_slot(run->values[made->facts.result]) : NULL;
    if (slot) status = laze_view_lay(aot->lazy, slot, &made->geometry, error);
  }
  laze_lazy_unlock(aot->lazy);
  return status;
}

/* Tensors of results; offsets are none. */
static laze_status make_values(forward_run *run, laze_error *error) {
  const laze_aot *aot = run->aot;
  for (int32_t i = 0; i < aot->value_count; i++) {
    if (i >= aot->first_offset && i < aot->first_offset + aot->seed_count) continue;
    run->values[i] = laze_tensor_from_array(run->results[i]);
    if (laze_tensor_status(run->values[i]) != LAZE_OK) return laze_fail_memory(error, "a result", -1);
  }
  return lay_outputs(run, error);
}

/* A node's backward pass: the graph's, on the gradients of what tangents are of. */
static laze_status backward_of_node(void *self, const laze_function_call *call, laze_tensor **results,
                                    laze_error *error) {
  laze_aot_saved *saved = self;
  release_handed(saved);
  LAZE_TRY(run_pass(saved, call->given, call->keeps, results, error));
  for (int32_t i = 0; i < saved->aot->gradient_count; i++) saved->handed[i] = laze_tensor_take(results[i]);
  return LAZE_OK;
}

/* Has results follow from inputs in histories. */
static laze_status attach(forward_run *run, laze_error *error) {
  laze_aot *aot = run->aot;
  for (int32_t i = 0; i < aot->gradient_count; i++) run->targets[i] = run->inputs[aot->gradient_inputs[i]];
  for (int32_t i = 0; i < aot->tangent_count; i++) run->roots[i] = run->values[aot->tangent_results[i]];
  const laze_function_options options = {.struct_size = sizeof options,
                                         .name = laze_graph_name(aot->program->joint),
                                         .flags = LAZE_FUNCTION_ONCE | LAZE_FUNCTION_ABSENT,
                                         .input_count = aot->gradient_count,
                                         .output_count = aot->tangent_count,
                                         .inputs = run->targets,
                                         .outputs = run->roots,
                                         .backward = backward_of_node,
                                         .self = run->saved,
                                         .release = release_saved};
  run->saved = NULL; /* the node's, or released */
  LAZE_TRY(laze_function_attach(&options, error));
  for (int32_t i = 0; i < aot->tangent_count; i++) run->values[aot->tangent_results[i]] = run->roots[i];
  return LAZE_OK;
}

static laze_status run_forward(forward_run *run, bool attaches, laze_error *error) {
  laze_aot *aot = run->aot;
  int64_t *random = laze_alloc_array(aot->context, 2 * (int64_t)aot->seed_count, sizeof *random);
  laze_status status = random ? allocate_forward(run, error) : laze_fail_memory(error, "a call", -1);
  if (status == LAZE_OK) status = begin(run, random, error);
  if (status == LAZE_OK) status = take_arrays_of(run, random, error);
  laze_free(aot->context, random);
  LAZE_TRY(status);
  LAZE_TRY(
      laze_compiled_run(aot->program->forward, run->arrays, run->array_count, run->results, run->result_count, error));
  LAZE_TRY(make_values(run, error));
  if (aot->program->backward) LAZE_TRY(save(aot, run->results, &run->saved, error));
  if (aot->program->backward && attaches) LAZE_TRY(attach(run, error));
  return laze_aot_finish(aot, run->inputs, run->values, run->outputs, error);
}

static bool is_output(const forward_run *run, const laze_tensor *tensor) {
  for (int32_t i = 0; i < run->aot->output_count; i++)
    if (run->outputs[i] == tensor) return true;
  return false;
}

/* Tensors that are no outputs go at once: the scope may be one that never ends. */
static void drop_values(const forward_run *run, bool failed) {
  if (!run->values) return;
  pthread_mutex_lock(&run->aot->lazy->lock);
  for (int32_t i = 0; i < run->aot->value_count; i++) {
    laze_slot *slot = run->values[i] ? laze_handle_slot(run->values[i]) : NULL;
    if (slot && (failed || !is_output(run, run->values[i]))) laze_handle_drop(run->aot->lazy, slot);
  }
  laze_lazy_unlock(run->aot->lazy);
}

static laze_status call(const char *function, forward_run *run, int32_t input_count, laze_tensor **outputs,
                        int32_t output_count, bool attaches, laze_error *error) {
  const laze_aot *aot = run->aot;
  for (int32_t i = 0; outputs && i < output_count; i++) outputs[i] = NULL;
  if (!aot || (input_count > 0 && !run->inputs) || (output_count > 0 && !outputs))
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: aot, inputs and outputs must not be NULL", function);
  if (input_count != aot->input_count || output_count != aot->output_count)
    return laze_fail(error, LAZE_INVALID_ARGUMENT,
                     "%s: %d inputs and %d outputs are given; the function takes %d and gives %d", function,
                     (int)input_count, (int)output_count, (int)aot->input_count, (int)aot->output_count);
  const laze_status status = run_forward(run, attaches, error);
  drop_values(run, status != LAZE_OK);
  for (int32_t i = 0; i < output_count && status == LAZE_OK; i++) outputs[i] = run->outputs[i];
  return status;
}

laze_status laze_aot_call(laze_aot *aot, laze_tensor *const *inputs, int32_t input_count, laze_tensor **outputs,
                          int32_t output_count, laze_error *error) {
  forward_run run = {.aot = aot, .inputs = inputs};
  const laze_status status = call("laze_aot_call", &run, input_count, outputs, output_count, true, error);
  if (aot) release_forward(&run);
  return status;
}

laze_status laze_aot_forward(laze_aot *aot, laze_tensor *const *inputs, int32_t input_count, laze_tensor **outputs,
                             int32_t output_count, laze_aot_saved **saved, laze_error *error) {
  forward_run run = {.aot = aot, .inputs = inputs};
  if (saved) *saved = NULL;
  if (!aot || !saved) return laze_fail(error, LAZE_INVALID_ARGUMENT, "laze_aot_forward: aot or saved is NULL");
  const int32_t before = laze_set_grad_enabled(aot->context, 0);
  const laze_status status = call("laze_aot_forward", &run, input_count, outputs, output_count, false, error);
  (void)laze_set_grad_enabled(aot->context, before);
  if (status == LAZE_OK) {
    *saved = run.saved;
    run.saved = NULL;
  }
  release_forward(&run);
  return status;
}
