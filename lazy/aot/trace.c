/* The joint graph of a function that is compiled ahead of time:
 *
 *   inputs ──> leaves ──> stand-ins ──> function ──> mutated inputs, offsets, outputs, bases ──┐
 *                │                                     tangents, as inputs of the graph ───────┴─> laze_grad
 *                └── what gradients are asked for
 *
 * A stand-in lies as the input does, so that what is a view of one is a view of the other, and is no leaf where the
 * input is none, so that both may be written to. */
#include "base/checked.h"
#include "ir/builder.h"
#include "ir/op.gen.h"
#include "lazy/aot/aot.h"
#include "lazy/autograd/capture.h"
#include "lazy/lazy.h"
#include "lazy/record/layers.h"
#include "lazy/record/record_state.h"
#include "lazy/thread.h"
#include "lazy/tracing/tracer.h"
#include "lazy/value/cell.h"
#include "lazy/value/handle.h"

#include <string.h>

static laze_status lock(const laze_aot *aot, laze_thread_state **out, laze_error *error) {
  *out = laze_lazy_lock(aot->lazy);
  return *out ? LAZE_OK : laze_fail_memory(error, "a compiled function", -1);
}

static laze_open_trace *open_trace(const laze_thread_state *thread) {
  return (laze_open_trace *)thread->tracer;
}

/* --- what the function is given --- */

/* Has the gradient of a stand-in go on to that of the leaf, from a node of its own. */
static laze_status pass_on(laze_thread_state *thread, const laze_slot *leaf, laze_tensor *stand_in, laze_error *error) {
  laze_record_state *state = thread->record;
  laze_type type;
  laze_cell_type(leaf->storage->cell, &type);
  laze_cell_retain(leaf->storage->cell);
  laze_status status = laze_frame_push(state, leaf->storage->cell, &type, error);
  if (status == LAZE_OK) state->values[0].edge = laze_edge_retain(laze_slot_edge(leaf));
  if (status == LAZE_OK) status = laze_history_pass_on(state, (laze_value){0, 0}, (laze_location){0}, error);
  if (status == LAZE_OK) laze_handle_set_edge(thread->lazy, stand_in, state->values[0].edge);
  laze_frame_clear(state);
  return status;
}

static bool is_row_major(const laze_geometry *geometry) {
  int64_t stride = 1;
  for (int i = geometry->rank; i-- > 0;) {
    if (geometry->sizes[i] > 1 && geometry->strides[i] != stride) return false;
    stride *= geometry->sizes[i];
  }
  return true;
}

static laze_status make_stand_in(laze_aot_trace *self, int32_t place, laze_error *error) {
  const laze_aot_given *given = &self->aot->inputs[self->aot->differents[place]];
  const laze_slot *leaf = laze_handle_slot(self->leaves[place]);
  laze_cell *cell = leaf->storage->cell;
  laze_tensor *stand_in = laze_handle_create(self->thread, cell);
  if (stand_in == laze_handle_out_of_memory()) return laze_fail_memory(error, "an input", -1);
  laze_slot *slot = laze_handle_slot(stand_in);
  self->stand_ins[place] = stand_in;
  self->cells[place] = cell;
  laze_cell_retain(cell);
  laze_geometry geometry = given->geometry;
  geometry.offset = 0;
  if (!is_row_major(&geometry)) LAZE_TRY(laze_view_lay(self->thread->lazy, slot, &geometry, error));
  if (leaf->grad_node && given->facts.flags & LAZE_AOT_LEAF)
    laze_handle_set_edge(self->thread->lazy, stand_in, laze_slot_edge(leaf));
  else if (leaf->grad_node)
    LAZE_TRY(pass_on(self->thread, leaf, stand_in, error));
  self->edges[place] = laze_edge_retain(laze_slot_edge(slot));
  return LAZE_OK;
}

static laze_status make_stand_ins(laze_aot_trace *self, laze_error *error) {
  laze_aot *aot = self->aot;
  laze_status status = LAZE_OK;
  LAZE_TRY(lock(aot, &self->thread, error));
  for (int32_t d = 0; d < aot->different_count && status == LAZE_OK; d++) status = make_stand_in(self, d, error);
  for (int32_t i = 0; i < aot->input_count && status == LAZE_OK; i++)
    self->passed[i] = self->stand_ins[aot->inputs[i].place];
  laze_lazy_unlock(aot->lazy);
  return status;
}

/* --- the call --- */

/* What a call followed from besides inputs would get no gradient. */
static laze_status check_history(const laze_aot_trace *self, const laze_capture *capture, uint64_t oldest,
                                 laze_error *error) {
  if (capture->out_of_memory) return laze_fail_memory(error, "the history of a function", -1);
  for (int64_t i = 0; i < capture->count; i++) {
    const laze_grad_node *node = capture->nodes[i];
    for (int32_t k = 0; k < node->operand_count; k++) {
      const laze_grad_node *from = node->edges[k].node;
      bool known = !from || from->number > oldest;
      for (int32_t d = 0; d < self->aot->different_count && !known; d++) known = from == self->edges[d].node;
      if (!known)
        return laze_fail(error, LAZE_UNSUPPORTED,
                         "laze_aot_compile: %s is called with a tensor from outside that requires a gradient, which it "
                         "would not get; make it an input of the function, or detach it (laze_detach)",
                         laze_grad_node_name(node));
    }
  }
  return LAZE_OK;
}

static laze_status call_function(laze_aot_trace *self, laze_traced_function function, void *data, laze_error *error) {
  laze_aot *aot = self->aot;
  laze_capture capture;
  laze_thread_state *thread = self->thread;
  LAZE_TRY(lock(aot, &thread, error));
  const uint64_t oldest = aot->lazy->grad_nodes;
  const bool no_grad = thread->no_grad, inference = thread->inference;
  laze_capture_begin(&capture, thread);
  laze_lazy_unlock(aot->lazy);
  laze_status status =
      laze_traced_function_call("laze_aot_compile", aot->context, function, data, self->passed, self->outputs, error);
  pthread_mutex_lock(&aot->lazy->lock);
  laze_capture_end(&capture, thread);
  thread->no_grad = no_grad; /* whatever the function left */
  thread->inference = inference;
  if (status == LAZE_OK) status = check_history(self, &capture, oldest, error);
  laze_capture_release(&capture, aot->lazy);
  laze_lazy_unlock(aot->lazy);
  return status;
}

/* --- results --- */

/* The tensors that the joint graph gives, and what they are for. */
typedef struct {
  laze_tensor **tensors;
  laze_role *roles;
  laze_tensor **roots, **tangents; /* by tangent */
  laze_tensor **targets, **gradients;
} joint_results;

static laze_role output_role(laze_tensor *tensor) {
  const bool is_loss = laze_tensor_rank(tensor) == 0 && laze_tensor_requires_grad(tensor);
  return (laze_role){.kind = is_loss ? LAZE_SIGNATURE_LOSS : LAZE_SIGNATURE_OUTPUT};
}

static void place_result(const laze_aot *aot, joint_results *out, int32_t result, int32_t tangent,
                         laze_tensor *tensor) {
  out->tensors[result] = tensor;
  if (tangent < 0) return;
  out->roots[tangent] = tensor;
  aot->tangent_results[tangent] = result;
}

static void place_results(const laze_aot_trace *self, joint_results *out) {
  const laze_aot *aot = self->aot;
  int32_t tangent = 0;
  for (int32_t d = 0; d < aot->different_count; d++) {
    const laze_aot_given *given = &aot->inputs[aot->differents[d]];
    if (given->facts.result < 0) continue;
    place_result(aot, out, given->facts.result, given->facts.tangent, self->stand_ins[d]);
    if (given->facts.tangent >= 0) tangent++;
  }
  for (int32_t i = 0; i < aot->output_count; i++) {
    const laze_aot_output *facts = &aot->outputs[i].facts;
    if (facts->result < 0) continue;
    place_result(aot, out, facts->result, facts->tangent, self->outputs[i]);
    out->roles[facts->result] = output_role(self->outputs[i]);
    if (facts->tangent >= 0) tangent++;
  }
  for (int32_t b = 0; b < aot->base_count; b++) {
    const bool required = aot->tangent_count > 0 && laze_tensor_requires_grad(self->bases[b]);
    place_result(aot, out, aot->first_base + b, required ? tangent++ : -1, self->bases[b]);
    out->roles[aot->first_base + b] = (laze_role){.kind = LAZE_SIGNATURE_BASE};
  }
}

/* How many numbers a call draws at most. */
static laze_status count_draws(const laze_graph *graph, int64_t *out, laze_error *error) {
  *out = 0;
  for (int64_t i = 0; i < graph->node_count; i++) {
    laze_size elements;
    if (graph->nodes[i].op != LAZE_OP_PHILOX) continue;
    LAZE_TRY(laze_type_elements(NULL, graph->nodes[i].types[0], &elements, error));
    if (elements > *out) *out = elements;
  }
  return LAZE_OK;
}

/* The offset that a run leaves behind: as far behind the one that it begins with as the last number drawn. */
static laze_status make_offset(laze_open_trace *trace, const laze_traced_seed *seed, int64_t draws, int64_t *distance,
                               laze_tensor **out, laze_error *error) {
  laze_value both[2] = {seed->offset_input}, sum;
  laze_builder builder;
  if (laze_value_is_none(seed->offset_input))
    return laze_fail(error, LAZE_UNSUPPORTED,
                     "laze_aot_compile: random numbers have a seed that is a number, and no "
                     "such offset; pass both as numbers, or both as tensors");
  if (laze_add_overflows(seed->farthest, draws, distance))
    return laze_fail(error, LAZE_OUT_OF_RANGE, "laze_aot_compile: offsets of random numbers lie 2^63 apart");
  laze_builder_init(&builder, trace->graph, trace->graph->body);
  LAZE_TRY(laze_record_number(&builder.recorder, LAZE_I64, laze_scalar_integer(*distance), &both[1], error));
  LAZE_TRY(laze_record_call(&builder.recorder, LAZE_OP_ADD, both, 2, NULL, &sum, error));
  return laze_open_trace_stand_in(trace, sum, out, error);
}

static laze_status make_offsets(const laze_aot *aot, joint_results *out, laze_error *error) {
  laze_thread_state *thread;
  int64_t draws = 0;
  if (aot->seed_count == 0) return LAZE_OK;
  LAZE_TRY(lock(aot, &thread, error));
  laze_open_trace *trace = open_trace(thread);
  laze_status status = count_draws(trace->graph, &draws, error);
  for (int32_t i = 0; i < aot->seed_count && status == LAZE_OK; i++) {
    aot->random[2 * i] = trace->seeds[i].seed;
    aot->random[2 * i + 1] = trace->seeds[i].offset;
    status =
        make_offset(trace, &trace->seeds[i], draws, &aot->advances[i], &out->tensors[aot->first_offset + i], error);
  }
  laze_lazy_unlock(aot->lazy);
  return status;
}

/* An input of the graph for how a result counts. */
static laze_status add_tangent(laze_thread_state *thread, laze_tensor *root, laze_tensor **out, laze_error *error) {
  laze_open_trace *trace = open_trace(thread);
  laze_slot *slot = laze_handle_slot(root);
  laze_type type;
  laze_value value;
  LAZE_TRY(laze_slot_refresh(thread, slot, error));
  laze_cell_type(slot->storage->cell, &type);
  if (laze_type_is_unknown(&type))
    return laze_fail(error, LAZE_UNSUPPORTED,
                     "laze_aot_compile: an output that requires a gradient has sizes that follow from values; ask for "
                     "its size where it is made, or detach it");
  LAZE_TRY(laze_graph_add_parameter(trace->graph, trace->graph->body, "tangent", &type, &value, error));
  return laze_open_trace_stand_in(trace, value, out, error);
}

static laze_status add_tangents(const laze_aot *aot, joint_results *out, laze_error *error) {
  laze_thread_state *thread;
  laze_status status = LAZE_OK;
  LAZE_TRY(lock(aot, &thread, error));
  for (int32_t i = 0; i < aot->tangent_count && status == LAZE_OK; i++)
    status = add_tangent(thread, out->roots[i], &out->tangents[i], error);
  laze_lazy_unlock(aot->lazy);
  return status;
}

static laze_tensor *zeros_like(const laze_aot *aot, laze_tensor *tensor) {
  const laze_argument argument = {.kind = LAZE_PASS_TENSOR, .value.tensor = laze_detach(tensor)};
  laze_tensor *result;
  (void)laze_call_by_name(aot->context, "zeros_like", &argument, 1, &result, 1);
  return result;
}

/* The gradients of inputs, zeros where nothing depends on one. */
static laze_status add_gradients(const laze_aot_trace *self, joint_results *out, laze_error *error) {
  laze_aot *aot = self->aot;
  if (aot->tangent_count == 0) return LAZE_OK;
  for (int32_t d = 0; d < aot->different_count; d++) {
    const int32_t input = aot->differents[d];
    if (!laze_tensor_requires_grad(self->leaves[d])) continue;
    aot->gradient_inputs[aot->gradient_count] = input;
    out->targets[aot->gradient_count++] = self->leaves[d];
  }
  if (aot->gradient_count == 0) return LAZE_OK;
  LAZE_TRY(laze_grad(out->roots, out->tangents, aot->tangent_count, out->targets, aot->gradient_count,
                     LAZE_ALLOW_UNUSED, out->gradients, error));
  for (int32_t g = 0; g < aot->gradient_count; g++)
    out->tensors[aot->value_count + g] = out->gradients[g] ? out->gradients[g] : zeros_like(aot, out->targets[g]);
  for (int32_t i = 0; i < aot->input_count; i++)
    for (int32_t g = 0; g < aot->gradient_count; g++)
      if (aot->gradient_inputs[g] == aot->inputs[i].facts.same_as) aot->inputs[i].facts.gradient = g;
  return LAZE_OK;
}

/* --- the graph --- */

static const char *input_name(const laze_graph *graph, int32_t index) {
  return laze_graph_node(graph, laze_graph_input(graph, index))->name;
}

/* Parameters are trained, and buffers written to. */
static int32_t input_kind(const laze_aot *aot, int32_t index, int32_t count) {
  if (index >= count - aot->tangent_count) return LAZE_SIGNATURE_TANGENT;
  if (index >= aot->different_count) return LAZE_SIGNATURE_RANDOM;
  const laze_aot_input *facts = &aot->inputs[aot->differents[index]].facts;
  if (facts->flags & LAZE_AOT_REQUIRES_GRAD) return LAZE_SIGNATURE_PARAMETER;
  return facts->result >= 0 ? LAZE_SIGNATURE_BUFFER : LAZE_SIGNATURE_INPUT;
}

static laze_status sign(const laze_aot *aot, joint_results *results, laze_graph *graph, laze_error *error) {
  const int32_t count = laze_graph_input_count(graph);
  if (count != aot->different_count + 2 * aot->seed_count + aot->tangent_count)
    return laze_fail(error, LAZE_UNSUPPORTED,
                     "laze_aot_compile: the backward pass draws random numbers of a seed of "
                     "its own; draw them in the forward pass");
  laze_role *inputs = laze_alloc_array(aot->context, count, sizeof *inputs);
  if (!inputs) return laze_fail_memory(error, "a signature", -1);
  for (int32_t i = 0; i < count; i++) inputs[i] = (laze_role){.kind = input_kind(aot, i, count)};
  for (int32_t d = 0; d < aot->different_count; d++) {
    const laze_aot_input *facts = &aot->inputs[aot->differents[d]].facts;
    if (facts->result >= 0)
      results->roles[facts->result] = (laze_role){.kind = LAZE_SIGNATURE_MUTATION, .of = input_name(graph, d)};
    if (facts->gradient >= 0)
      results->roles[aot->value_count + facts->gradient] =
          (laze_role){.kind = LAZE_SIGNATURE_GRADIENT, .of = input_name(graph, d)};
  }
  for (int32_t i = 0; i < aot->seed_count; i++)
    results->roles[aot->first_offset + i] =
        (laze_role){.kind = LAZE_SIGNATURE_MUTATION, .of = input_name(graph, aot->different_count + 2 * i + 1)};
  const laze_status status =
      laze_graph_set_signature(graph, inputs, count, results->roles, aot->value_count + aot->gradient_count, error);
  laze_free(aot->context, inputs);
  return status;
}

static laze_status make_results(laze_aot_trace *self, joint_results *results, laze_error *error) {
  place_results(self, results);
  LAZE_TRY(make_offsets(self->aot, results, error));
  LAZE_TRY(add_tangents(self->aot, results, error));
  return add_gradients(self, results, error);
}

/* Where no input requires a gradient, nobody asks how outputs count. */
static void drop_tangents(laze_aot *aot) {
  for (int32_t i = 0; i < aot->input_count; i++)
    if (aot->inputs[i].facts.flags & LAZE_AOT_REQUIRES_GRAD) return;
  for (int32_t i = 0; i < aot->input_count; i++) aot->inputs[i].facts.tangent = -1;
  for (int32_t i = 0; i < aot->output_count; i++) aot->outputs[i].facts.tangent = -1;
  aot->tangent_count = 0;
}

static laze_status allocate_results(laze_aot *aot, joint_results *out, laze_error *error) {
  drop_tangents(aot);
  const int64_t most = (int64_t)aot->value_count + aot->different_count;
  const int64_t tensors = most + 2 * (int64_t)aot->tangent_count + 2 * (int64_t)aot->different_count;
  out->tensors = laze_alloc_zero(aot->context, (tensors + 1) * (int64_t)sizeof *out->tensors);
  out->roles = laze_alloc_zero(aot->context, (most + 1) * (int64_t)sizeof *out->roles);
  aot->tangent_results = laze_alloc_array(aot->context, aot->tangent_count, sizeof *aot->tangent_results);
  aot->random = laze_alloc_zero(aot->context, (2 * (int64_t)aot->seed_count + 1) * (int64_t)sizeof *aot->random);
  aot->advances = laze_alloc_zero(aot->context, (aot->seed_count + (int64_t)1) * (int64_t)sizeof *aot->advances);
  if (!out->tensors || !out->roles || !aot->tangent_results || !aot->random || !aot->advances)
    return laze_fail_memory(error, "a compiled function", -1);
  out->roots = out->tensors + most;
  out->tangents = out->roots + aot->tangent_count;
  out->targets = out->tangents + aot->tangent_count;
  out->gradients = out->targets + aot->different_count;
  return LAZE_OK;
}

/* From the open trace, which is closed. */
static laze_status end_trace(laze_aot_trace *self, laze_graph **out, laze_error *error) {
  laze_aot *aot = self->aot;
  joint_results results = {0};
  laze_error unwanted;
  laze_status status = laze_aot_find_facts(self, error);
  if (status == LAZE_OK) status = allocate_results(aot, &results, error);
  if (status == LAZE_OK) status = make_results(self, &results, error);
  if (status == LAZE_OK) {
    status = laze_trace_end(aot->context, results.tensors, aot->value_count + aot->gradient_count, out, error);
    if (status == LAZE_OK) status = sign(aot, &results, *out, error);
  } else {
    const laze_status dropped = laze_trace_end(aot->context, NULL, 0, NULL, &unwanted);
    (void)dropped;
  }
  laze_free(aot->context, results.tensors);
  laze_free(aot->context, results.roles);
  return status;
}

static laze_status trace(laze_aot_trace *self, laze_traced_function function, void *data, laze_tensor *const *different,
                         const laze_trace_options *options, laze_graph **out, laze_error *error) {
  laze_aot *aot = self->aot;
  laze_error unwanted;
  LAZE_TRY(laze_trace_begin(aot->context, different, aot->different_count, options, self->leaves, error));
  laze_status status = make_stand_ins(self, error);
  if (status == LAZE_OK) status = call_function(self, function, data, error);
  if (status == LAZE_OK) return end_trace(self, out, error);
  const laze_status dropped = laze_trace_end(aot->context, NULL, 0, NULL, &unwanted);
  (void)dropped;
  return status;
}

static laze_status allocate(laze_aot_trace *self, laze_tensor ***different, const char ***names, laze_error *error) {
  const laze_aot *aot = self->aot;
  const int64_t in = aot->different_count, made = aot->output_count;
  laze_tensor **room =
      laze_alloc_zero(aot->context, (3 * in + aot->input_count + 2 * made + 1) * (int64_t)sizeof *room);
  self->leaves = room;
  self->cells = laze_alloc_zero(aot->context, (in + 1) * (int64_t)sizeof *self->cells);
  self->edges = laze_alloc_zero(aot->context, (in + 1) * (int64_t)sizeof *self->edges);
  self->base_storages = laze_alloc_zero(aot->context, (made + 1) * (int64_t)sizeof *self->base_storages);
  *names = laze_alloc_zero(aot->context, (in + 1) * (int64_t)sizeof **names);
  if (!room || !self->cells || !self->edges || !self->base_storages || !*names)
    return laze_fail_memory(error, "a trace", -1);
  self->stand_ins = room + in;
  *different = self->stand_ins + in;
  self->passed = *different + in;
  self->outputs = self->passed + aot->input_count;
  self->bases = self->outputs + made;
  return LAZE_OK;
}

static void release(laze_aot_trace *self, const char **names) {
  laze_aot *aot = self->aot;
  pthread_mutex_lock(&aot->lazy->lock);
  for (int32_t d = 0; d < aot->different_count && self->cells && self->edges; d++) {
    laze_cell_release(aot->lazy, self->cells[d]);
    laze_edge_release(aot->lazy, self->edges[d]);
  }
  laze_lazy_unlock(aot->lazy);
  laze_free(aot->context, self->leaves);
  laze_free(aot->context, self->cells);
  laze_free(aot->context, self->edges);
  laze_free(aot->context, self->base_storages);
  laze_free(aot->context, names);
}

laze_status laze_aot_trace_function(laze_aot *aot, laze_traced_function function, void *self,
                                    laze_tensor *const *inputs, const laze_aot_options *options, laze_graph **out,
                                    laze_error *error) {
  laze_aot_trace tracing = {.aot = aot, .gives_fewer = options->flags & LAZE_AOT_FEWER_OUTPUTS};
  laze_tensor **different = NULL;
  const char **names = NULL;
  laze_status status = allocate(&tracing, &different, &names, error);
  for (int32_t d = 0; d < aot->different_count && status == LAZE_OK; d++) {
    different[d] = inputs[aot->differents[d]];
    if (options->input_names) names[d] = options->input_names[aot->differents[d]];
  }
  const laze_trace_options passed = {
      .struct_size = sizeof passed, .name = options->name ? options->name : "aot", .input_names = names};
  if (status == LAZE_OK) status = trace(&tracing, function, self, different, &passed, out, error);
  release(&tracing, names);
  return status;
}
