/* What became of inputs, and what outputs are, as the function's call has left them:
 *
 *   stand-in of x: another cell than at first         x is written to
 *   output: a view whose base is x's stand-in         made again from x
 *   output: a view of an intermediate                 made again from that, if other outputs are views of it, too
 */
#include "ir/attribute.h"
#include "ir/op.gen.h"
#include "lazy/aot/aot.h"
#include "lazy/lazy.h"
#include "lazy/thread.h"
#include "lazy/tracing/tracer.h"
#include "lazy/value/cell.h"
#include "lazy/value/failure.h"
#include "lazy/value/handle.h"

static laze_open_trace *open_trace(const laze_aot_trace *self) {
  return (laze_open_trace *)self->thread->tracer;
}

static laze_status find_slot(const laze_aot_trace *self, const char *what, int32_t index, laze_tensor *tensor,
                             laze_slot **out, laze_error *error) {
  if (tensor == laze_handle_out_of_memory()) return laze_fail_memory(error, "what a function gives", -1);
  *out = tensor && laze_handle_lazy(tensor) == self->aot->lazy ? laze_handle_slot(tensor) : NULL;
  if (!*out)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "laze_aot_compile: %s %d is %s when the function returns", what,
                     (int)index, tensor ? "a released handle, or of another context" : "NULL");
  LAZE_TRY(laze_slot_refresh(self->thread, *out, error));
  laze_cell *cell = (*out)->storage->cell;
  if (cell->state != LAZE_CELL_ERROR) return LAZE_OK;
  cell->value.failure->reported = true;
  return laze_fail(error, cell->value.failure->code, "%s", cell->value.failure->message);
}

/* --- inputs --- */

/* Where axes come from, through permutations, one behind the other. */
static void follow_axes(const laze_node *node, int32_t *axes, int rank) {
  const laze_attribute *dims = &node->attributes[LAZE_PERMUTE_DIMS];
  for (int i = 0; i < rank; i++) {
    const int64_t axis = dims->value.items[axes[i]];
    axes[i] = (int32_t)(axis < 0 ? axis + rank : axis);
  }
}

/* Whether movements from an input to a value, all of one kind, give it as it was (transposed twice, say), or it has no
 * elements. */
static bool is_undone(const laze_graph *graph, laze_value value, laze_value input) {
  const laze_type *type = laze_graph_type(graph, value);
  int32_t axes[LAZE_MAX_RANK];
  if (!laze_type_equal(type, laze_graph_type(graph, input))) return false;
  for (int i = 0; i < type->rank; i++)
    if (type->sizes[i] == 0) return true;
  bool permutes = true, reshapes = true;
  for (int i = 0; i < type->rank; i++) axes[i] = i;
  while (value.node != input.node) {
    const laze_node *node = laze_graph_node(graph, value);
    if (node->op != LAZE_OP_PERMUTE && node->op != LAZE_OP_RESHAPE) return false;
    permutes &= node->op == LAZE_OP_PERMUTE;
    reshapes &= node->op == LAZE_OP_RESHAPE;
    if (permutes) follow_axes(node, axes, type->rank);
    value = node->operands[0];
  }
  for (int i = 0; i < type->rank && !reshapes; i++) permutes &= axes[i] == i;
  return permutes || reshapes;
}

/* Whether the stand-in has another value than at first. */
static laze_status find_change(const laze_aot_trace *self, const laze_slot *slot, laze_cell *before, bool *changed,
                               laze_error *error) {
  laze_traced_cell now, then;
  *changed = slot->storage->cell != before;
  if (!*changed) return LAZE_OK;
  LAZE_TRY(laze_open_trace_find(open_trace(self), before, &then, error));
  LAZE_TRY(laze_open_trace_find(open_trace(self), slot->storage->cell, &now, error));
  *changed = !is_undone(open_trace(self)->graph, now.value, then.value);
  return LAZE_OK;
}

/* Flags of how it was written to, and where its new value is set. */
static void describe_change(laze_aot_given *given, int32_t written, bool changed, bool has_history) {
  const bool assigned = written & LAZE_WRITTEN_ASSIGNED;
  int32_t flags = 0;
  if (changed) flags |= LAZE_AOT_MUTATES_DATA;
  if (changed && assigned) flags |= LAZE_AOT_MUTATES_STORAGE;
  if (changed && !(written & ~LAZE_WRITTEN_NO_GRAD)) flags |= LAZE_AOT_MUTATED_NO_GRAD;
  if (changed && !(written & ~(LAZE_WRITTEN_DETACHED | LAZE_WRITTEN_ASSIGNED))) flags |= LAZE_AOT_MUTATED_HIDDEN;
  const bool metadata = given->facts.flags & LAZE_AOT_MUTATES_METADATA;
  if (changed || metadata)
    given->facts.mutation = metadata || assigned || has_history ? LAZE_AOT_AFTER : LAZE_AOT_IN_GRAPH;
  given->facts.flags |= flags;
}

static laze_status find_input(laze_aot_trace *self, int32_t place, laze_error *error) {
  laze_aot *aot = self->aot;
  const int32_t index = aot->differents[place];
  laze_aot_given *given = &aot->inputs[index];
  laze_slot *slot;
  laze_type type, before;
  bool changed;
  LAZE_TRY(find_slot(self, "input", index, self->stand_ins[place], &slot, error));
  const int32_t written = laze_open_trace_written(open_trace(self), slot->storage);
  if (laze_storage_is_view(slot->storage) || (slot->storage->cell != self->cells[place] && written == 0))
    return laze_fail(
        error, LAZE_UNSUPPORTED,
        "laze_aot_compile: input %d is given the memory of another tensor (laze_tensor_set), which a graph "
        "does not have; write to it (laze_tensor_write), or give the other as an output",
        (int)index);
  LAZE_TRY(find_change(self, slot, self->cells[place], &changed, error));
  laze_cell_type(self->cells[place], &before);
  laze_slot_type(slot, &type);
  if (laze_type_is_unknown(&type))
    return laze_fail(error, LAZE_UNSUPPORTED,
                     "laze_aot_compile: input %d is assigned a value whose sizes follow from values", (int)index);
  given->resized = changed && !laze_type_equal(&type, &before);
  const bool requires = laze_slot_requires_grad(slot);
  const bool flipped = !changed && requires != (self->edges[place].node != NULL);
  if (flipped && requires)
    return laze_fail(
        error, LAZE_UNSUPPORTED,
        "laze_aot_compile: input %d is made to require a gradient by the function, whose graph has none for "
        "it; make it require one before",
        (int)index);
  if (given->resized || flipped) given->facts.flags |= LAZE_AOT_MUTATES_METADATA;
  const laze_edge edge = laze_slot_edge(slot);
  const bool has_history = edge.node != self->edges[place].node || edge.result != self->edges[place].result;
  describe_change(given, written, changed, has_history);
  if (changed) given->facts.result = aot->value_count++;
  if (changed && has_history && requires) given->facts.tangent = aot->tangent_count++;
  return LAZE_OK;
}

/* What comes twice has the facts of the first. */
static void copy_input(const laze_aot *aot, laze_aot_given *given) {
  const laze_aot_given *first = &aot->inputs[given->facts.same_as];
  if (first == given) return;
  given->facts = first->facts;
  given->resized = first->resized;
}

/* --- outputs --- */

/* The input whose stand-in has this storage; -1: none. */
static int32_t find_origin(const laze_aot_trace *self, const laze_storage *storage) {
  for (int32_t d = 0; d < self->aot->different_count; d++)
    if (laze_handle_slot(self->stand_ins[d])->storage == storage) return self->aot->differents[d];
  return -1;
}

static laze_storage *storage_of(const laze_tensor *tensor) {
  return laze_handle_slot(tensor)->storage;
}

/* Whose memory an output is. */
static laze_storage *base_of(const laze_tensor *tensor) {
  laze_storage *storage = storage_of(tensor);
  return laze_storage_is_view(storage) ? storage->view->base : storage;
}

/* The base of an output among those of intermediates, which is added where it is not there: with a handle of its own
 * where the function has let go of it. */
static laze_status find_base(laze_aot_trace *self, laze_storage *storage, int32_t *out, laze_error *error) {
  laze_aot *aot = self->aot;
  for (*out = 0; *out < aot->base_count; (*out)++)
    if (self->base_storages[*out] == storage) return LAZE_OK;
  laze_tensor *handle =
      storage->slot ? laze_slot_handle(storage->slot) : laze_handle_create(self->thread, storage->cell);
  if (handle == laze_handle_out_of_memory()) return laze_fail_memory(error, "a base of views", -1);
  if (!storage->slot) laze_handle_set_edge(aot->lazy, handle, laze_storage_edge(storage));
  self->base_storages[aot->base_count] = storage;
  self->bases[aot->base_count++] = handle;
  return LAZE_OK;
}

/* How the output lies, and the steps to it from what it is a view of. */
static void take_recipe(laze_aot_made *made, laze_storage *storage, bool replays) {
  const laze_view *view = storage->view;
  laze_type type;
  made->kind = storage->kind;
  if (!view || view->unsized) return;
  made->detached = laze_storage_is_view(storage) && view->origin != view->base;
  if (replays && view->last) {
    view->last->references++;
    made->steps = view->last;
  }
  laze_cell_type(storage->cell, &type);
  made->strided = !replays && laze_view_geometry(storage, &type, &made->geometry);
}

static bool is_custom(const laze_slot *slot) {
  return slot->grad_node && slot->grad_node->function;
}

/* The first of so many outputs that is this tensor; -1: none. */
static int32_t find_output(const laze_aot_trace *self, const laze_storage *storage, int32_t count) {
  for (int32_t i = 0; i < count; i++)
    if (storage_of(self->outputs[i]) == storage) return i;
  return -1;
}

/* How many different outputs are in the memory of that storage. */
static int32_t count_aliases(const laze_aot_trace *self, const laze_storage *base) {
  int32_t count = 0;
  for (int32_t i = 0; i < self->aot->output_count; i++)
    count += base_of(self->outputs[i]) == base && find_output(self, storage_of(self->outputs[i]), i) < 0;
  return count;
}

static laze_status find_kind(laze_aot_trace *self, int32_t index, const laze_slot *slot, laze_error *error) {
  laze_aot_output *facts = &self->aot->outputs[index].facts;
  laze_storage *storage = slot->storage, *base = base_of(self->outputs[index]);
  const int32_t input = find_origin(self, base);
  facts->kind = LAZE_AOT_NON_ALIAS;
  facts->of = input >= 0 ? input : find_output(self, storage, index);
  if (input >= 0 && storage == base)
    facts->kind = LAZE_AOT_IS_INPUT;
  else if (input < 0 && facts->of >= 0)
    facts->kind = LAZE_AOT_ALIAS_OF_OUTPUT;
  else if (laze_storage_is_view(storage) && storage->view->unsized)
    facts->of = -1;
  else if (laze_storage_is_view(storage) && is_custom(slot)) {
    facts->kind = LAZE_AOT_CUSTOM_VIEW;
    facts->of = -1;
  } else if (input >= 0)
    facts->kind = LAZE_AOT_ALIAS_OF_INPUT;
  else if (!laze_storage_is_view(storage))
    return LAZE_OK;
  else if ((facts->of = find_output(self, base, self->aot->output_count)) >= 0)
    facts->kind = LAZE_AOT_ALIAS_OF_OUTPUT;
  else if (count_aliases(self, base) == 1)
    facts->kind = LAZE_AOT_UNSAFE_VIEW;
  else {
    facts->kind = LAZE_AOT_ALIAS_OF_INTERMEDIATE;
    return find_base(self, base, &facts->of, error);
  }
  return LAZE_OK;
}

static laze_status find_output_facts(laze_aot_trace *self, int32_t index, laze_error *error) {
  laze_aot *aot = self->aot;
  laze_aot_made *made = &aot->outputs[index];
  const laze_slot *slot = laze_handle_slot(self->outputs[index]);
  made->facts = (laze_aot_output){.struct_size = sizeof made->facts, .of = -1, .result = -1, .tangent = -1};
  made->facts.requires_grad = laze_slot_requires_grad(slot);
  LAZE_TRY(find_kind(self, index, slot, error));
  const int32_t kind = made->facts.kind;
  const bool replays =
      kind == LAZE_AOT_ALIAS_OF_INPUT || kind == LAZE_AOT_ALIAS_OF_INTERMEDIATE || kind == LAZE_AOT_ALIAS_OF_OUTPUT;
  made->repeats = kind == LAZE_AOT_ALIAS_OF_OUTPUT && storage_of(self->outputs[made->facts.of]) == slot->storage;
  if (!made->repeats) take_recipe(made, slot->storage, replays);
  if (replays || kind == LAZE_AOT_IS_INPUT) return LAZE_OK;
  made->facts.result = aot->value_count++;
  if (made->facts.requires_grad) made->facts.tangent = aot->tangent_count++;
  return LAZE_OK;
}

/* --- all of it --- */

/* Room for what is known of outputs, as many as there are. */
static laze_status count_outputs(laze_aot_trace *self, laze_error *error) {
  laze_aot *aot = self->aot;
  while (self->gives_fewer && aot->output_count > 0 && !self->outputs[aot->output_count - 1]) aot->output_count--;
  aot->outputs = laze_alloc_zero(aot->context, (aot->output_count + (int64_t)1) * (int64_t)sizeof *aot->outputs);
  return aot->outputs ? LAZE_OK : laze_fail_memory(error, "a compiled function", -1);
}

static laze_status find_outputs(laze_aot_trace *self, laze_error *error) {
  laze_aot *aot = self->aot;
  laze_slot *slot;
  LAZE_TRY(count_outputs(self, error));
  for (int32_t i = 0; i < aot->output_count; i++)
    LAZE_TRY(find_slot(self, "output", i, self->outputs[i], &slot, error));
  for (int32_t i = 0; i < aot->output_count; i++) LAZE_TRY(find_output_facts(self, i, error));
  aot->first_base = aot->value_count;
  aot->value_count += aot->base_count;
  for (int32_t b = 0; b < aot->base_count; b++)
    if (laze_slot_requires_grad(laze_handle_slot(self->bases[b]))) aot->tangent_count++;
  return LAZE_OK;
}

laze_status laze_aot_find_facts(laze_aot_trace *self, laze_error *error) {
  laze_aot *aot = self->aot;
  laze_status status = LAZE_OK;
  laze_thread_state *thread = laze_lazy_lock(aot->lazy);
  if (!thread) return laze_fail_memory(error, "a compiled function", -1);
  const laze_error *failure = &open_trace(self)->failure; /* of a call in the function: the trace lacks it */
  if (failure->code != LAZE_OK) status = laze_fail(error, failure->code, "%s", failure->message);
  for (int32_t d = 0; d < aot->different_count && status == LAZE_OK; d++) status = find_input(self, d, error);
  for (int32_t i = 0; i < aot->input_count && status == LAZE_OK; i++) copy_input(aot, &aot->inputs[i]);
  aot->first_offset = aot->value_count;
  aot->seed_count = (int32_t)open_trace(self)->seed_count;
  aot->value_count += aot->seed_count;
  if (status == LAZE_OK) status = find_outputs(self, error);
  laze_lazy_unlock(aot->lazy);
  return status;
}
