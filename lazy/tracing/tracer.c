/* The layer below all others: what is recorded as a node is appended to the graph of the open trace, too.
 *
 *   relu(x)  ──> expand ──> maximum(0, x) ──> node of the lazy graph
 *                                        └──> %1 = maximum %0, %x        loc of the call, origin relu
 *
 * So a call is in the graph once, as what it was recorded as, whatever layers it came through. Cells are known by their
 * address; those that are not known come from outside and become parameters, which laze_trace_end() turns into
 * constants.
 */
#include "lazy/tracing/tracer.h"

#include "base/arena.h"
#include "base/dtype.h"
#include "ir/attribute.h"
#include "ir/builder.h"
#include "ir/op.gen.h"
#include "lazy/lazy.h"
#include "lazy/record/layers.h"
#include "lazy/record/record_state.h"
#include "lazy/thread.h"
#include "lazy/value/cell.h"
#include "lazy/value/handle.h"
#include "lazy/value/pending.h"
#include "runtime/buffer.h"

#include <string.h>

enum { FIRST_SLOTS = 64, INLINE_SIZES = 64 };

/* --- Which value a cell is --- */

static laze_traced_cell *find_slot(const laze_open_trace *trace, const laze_cell *cell) {
  const uint64_t mask = (uint64_t)trace->slot_count - 1;
  for (uint64_t at = laze_hash_mix((uint64_t)(uintptr_t)cell, 1);; at++) {
    laze_traced_cell *slot = &trace->slots[at & mask];
    if (!slot->cell || slot->cell == cell) return slot;
  }
}

static laze_status grow(laze_open_trace *trace, laze_error *error) {
  const laze_open_trace old = *trace;
  laze_context *context = trace->thread->lazy->context;
  trace->slot_count = old.slot_count ? 2 * old.slot_count : FIRST_SLOTS;
  trace->slots = laze_alloc_zero(context, trace->slot_count * (int64_t)sizeof *trace->slots);
  if (!trace->slots) {
    trace->slots = old.slots;
    trace->slot_count = old.slot_count;
    return laze_fail_memory(error, "a trace", -1);
  }
  for (int64_t i = 0; i < old.slot_count; i++)
    if (old.slots[i].cell) *find_slot(trace, old.slots[i].cell) = old.slots[i];
  laze_free(context, old.slots);
  return LAZE_OK;
}

laze_status laze_open_trace_put(laze_open_trace *trace, laze_cell *cell, laze_value value, bool depends,
                                laze_error *error) {
  if (trace->cell_count * 2 >= trace->slot_count) LAZE_TRY(grow(trace, error));
  laze_traced_cell *slot = find_slot(trace, cell);
  if (!slot->cell) {
    laze_cell_retain(cell);
    trace->cell_count++;
  }
  *slot = (laze_traced_cell){cell, value, depends};
  return LAZE_OK;
}

/* A parameter for a cell from outside. */
static laze_status capture(laze_open_trace *trace, laze_cell *cell, laze_traced_cell *out, laze_error *error) {
  laze_context *context = trace->thread->lazy->context;
  laze_type type;
  void *cells = trace->captured, *parameters = trace->captured_parameters;
  laze_cell_type(cell, &type);
  if (laze_type_is_unknown(&type))
    return laze_fail(
        error, LAZE_UNSUPPORTED,
        "a tensor from outside of the trace has sizes that follow from values; compute it before the trace "
        "begins, or make it one of the inputs");
  LAZE_TRY(
      laze_grow(context, &cells, &trace->captured_capacity, trace->captured_count + 1, sizeof(laze_cell *), error));
  trace->captured = cells;
  LAZE_TRY(
      laze_grow(context, &parameters, &trace->parameter_capacity, trace->captured_count + 1, sizeof(int32_t), error));
  trace->captured_parameters = parameters;
  LAZE_TRY(laze_graph_add_parameter(trace->graph, trace->graph->body, NULL, &type, &out->value, error));
  LAZE_TRY(laze_open_trace_put(trace, cell, out->value, false, error));
  out->depends = false;
  trace->captured[trace->captured_count] = cell;
  trace->captured_parameters[trace->captured_count++] = out->value.node;
  return LAZE_OK;
}

laze_status laze_open_trace_find(laze_open_trace *trace, laze_cell *cell, laze_traced_cell *out, laze_error *error) {
  if (trace->slot_count > 0) {
    *out = *find_slot(trace, cell);
    if (out->cell) return LAZE_OK;
  }
  return capture(trace, cell, out, error);
}

/* --- Nodes --- */

/* The call's place as text, which a saved graph keeps. */
static laze_status find_place(laze_open_trace *trace, laze_location location, laze_location *out, laze_error *error) {
  *out = location;
  if (!location.file || location.line == 0) return LAZE_OK;
  if (!trace->place_text || location.file != trace->place.file || location.line != trace->place.line) {
    trace->place = location;
    trace->place_text = laze_arena_format(&trace->graph->arena, "%s:%d", location.file, (int)location.line);
    if (!trace->place_text) return laze_fail_memory(error, "where a call stands", -1);
  }
  *out = (laze_location){.file = trace->place_text};
  return LAZE_OK;
}

/* Attributes in the graph's table of sizes; lists go to the arena. */
static laze_status map_attributes(laze_open_trace *trace, const laze_pending *node, laze_arena *arena,
                                  const laze_attribute **out, laze_error *error) {
  laze_lazy *lazy = trace->thread->lazy;
  const int32_t count = laze_op_get(node->op)->attribute_count;
  laze_attribute *mapped = laze_arena_alloc_array(arena, count, sizeof *mapped);
  laze_size symbol;
  if (!mapped) return laze_fail_memory(error, "a trace", -1);
  if (laze_pending_defines(node) != 0) LAZE_TRY(laze_size_mapping_define(&trace->sizes, lazy, node, &symbol, error));
  for (int32_t i = 0; i < count; i++) {
    laze_size *owned;
    int32_t owned_count;
    LAZE_TRY(laze_size_mapping_attribute(&trace->sizes, lazy, &node->attributes[i], &mapped[i], error));
    LAZE_TRY(laze_attribute_own_sizes(&mapped[i], arena, &owned, &owned_count, error));
  }
  *out = mapped;
  return LAZE_OK;
}

/* Appends a node that was recorded. */
static laze_status append(laze_open_trace *trace, laze_pending *node, laze_arena *arena, laze_error *error) {
  const int32_t operand_count = laze_pending_call_operands(node);
  void *array = trace->operands;
  laze_value results[LAZE_PENDING_MAX_RESULTS];
  LAZE_TRY(laze_grow(trace->thread->lazy->context, &array, &trace->operand_capacity, operand_count, sizeof(laze_value),
                     error));
  trace->operands = array;
  bool depends = false;
  for (int32_t i = 0; i < operand_count; i++) {
    laze_traced_cell operand;
    LAZE_TRY(laze_open_trace_find(trace, node->operands[i], &operand, error));
    trace->operands[i] = operand.value;
    depends |= operand.depends;
  }
  laze_call call = {.op = node->op,
                    .operand_count = operand_count,
                    .operands = trace->operands,
                    .segments = node->segments,
                    .attributes = node->attributes,
                    .origin = node->origin};
  if (node->unknown) LAZE_TRY(map_attributes(trace, node, arena, &call.attributes, error));
  LAZE_TRY(find_place(trace, node->location, &call.location, error));
  LAZE_TRY(laze_graph_append(trace->graph, trace->graph->body, &call, results, error));
  for (int32_t i = 0; i < node->result_count; i++)
    LAZE_TRY(laze_open_trace_put(trace, &node->cells[i], results[i], depends, error));
  return LAZE_OK;
}

/* What cannot be traced fails the trace, not the call. */
laze_status laze_layer_trace(laze_record_state *state, const laze_call *call, laze_layers below, laze_value *results,
                             laze_error *error) {
  laze_open_trace *trace = (laze_open_trace *)state->thread->tracer;
  LAZE_TRY(laze_layers_record(state, call, below, results, error));
  if (trace->failure.code != LAZE_OK) return LAZE_OK;
  laze_pending *node = state->values[results[0].node].cell->node;
  laze_arena arena;
  laze_arena_init(&arena, state->thread->lazy->context);
  if (append(trace, node, &arena, &trace->failure) != LAZE_OK) {
    (void)laze_error_prefix(&trace->failure, "%s", laze_op_get(node->origin ? node->origin : node->op)->name);
    if (node->location.file)
      (void)laze_error_prefix(&trace->failure, "%s:%d", node->location.file, (int)node->location.line);
  }
  laze_arena_deinit(&arena);
  return LAZE_OK;
}

/* --- Reads, and random state --- */

static void note_read(laze_tracer *self, const laze_cell *cell) {
  laze_open_trace *trace = (laze_open_trace *)self;
  if (trace->read.code != LAZE_OK || trace->slot_count == 0) return;
  const laze_traced_cell *slot = find_slot(trace, cell);
  if (!slot->cell || !slot->depends) return;
  const laze_node *node = laze_graph_node(trace->graph, slot->value);
  trace->read.code =
      laze_fail(&trace->read, LAZE_FAILED_PRECONDITION,
                "the value of %s was read while it was traced: what the program did with it is baked into the graph; "
                "compute with tensors, or read after the trace",
                node->op == LAZE_OP_PARAMETER ? node->name : laze_op_get(node->op)->name);
  if (node->op != LAZE_OP_PARAMETER && node->location.file)
    (void)laze_error_prefix(&trace->read, "%s", node->location.file);
}

/* What came from the trace is its own, views of it too: they are recorded as they are after the write. Whoever has what
 * came from elsewhere saw the write, and will see none when the graph runs. */
static void note_overwrite(laze_tracer *self, const laze_cell *before, const char *name, const char *file,
                           int32_t line) {
  laze_open_trace *trace = (laze_open_trace *)self;
  if (trace->write.code != LAZE_OK) return;
  const laze_traced_cell *slot = trace->slot_count > 0 ? find_slot(trace, before) : NULL;
  const laze_node *node = slot && slot->cell ? laze_graph_node(trace->graph, slot->value) : NULL;
  if (node && node->op != LAZE_OP_PARAMETER) return;
  const char *input = node && slot->depends ? node->name : NULL;
  trace->write.code =
      laze_fail(&trace->write, LAZE_FAILED_PRECONDITION,
                "%s: what is written to %s%s and may have other users, which the graph will not change "
                "when it runs: it computes the value as of then; return that as an output, and assign it "
                "after the run",
                name, input ? "is input " : "is from outside of the trace", input ? input : "");
  if (file) (void)laze_error_prefix(&trace->write, "%s:%d", file, (int)line);
}

static laze_status add_input(laze_open_trace *trace, const char *name, laze_value *out, laze_error *error) {
  const laze_type type = {.kind = LAZE_TYPE_TENSOR, .dtype = LAZE_I64};
  return laze_graph_add_parameter(trace->graph, trace->graph->body, name, &type, out, error);
}

/* The inputs for a seed: those that it has already, or new ones. */
static laze_status take_seed(laze_open_trace *trace, int64_t seed, laze_value *out, laze_error *error) {
  void *array = trace->seeds;
  for (int64_t i = 0; i < trace->seed_count; i++)
    if (trace->seeds[i].seed == seed) {
      trace->current_seed = i;
      *out = trace->seeds[i].seed_input;
      return LAZE_OK;
    }
  LAZE_TRY(laze_grow(trace->thread->lazy->context, &array, &trace->seed_capacity, trace->seed_count + 1,
                     sizeof *trace->seeds, error));
  trace->seeds = array;
  LAZE_TRY(add_input(trace, "seed", out, error));
  trace->seeds[trace->seed_count] =
      (laze_traced_seed){.seed = seed, .seed_input = *out, .offset_input = LAZE_VALUE_NONE};
  trace->current_seed = trace->seed_count++;
  return LAZE_OK;
}

/* The offset that the first draw had is an input, and that of a later one lies as far from it as it did. */
static laze_status take_offset(laze_open_trace *trace, int64_t offset, laze_value *out, laze_error *error) {
  laze_traced_seed *seed = &trace->seeds[trace->current_seed];
  const int64_t distance = (int64_t)((uint64_t)offset - (uint64_t)seed->offset);
  laze_value both[2];
  laze_builder builder;
  if (laze_value_is_none(seed->offset_input)) {
    seed->offset = offset;
    LAZE_TRY(add_input(trace, "offset", &seed->offset_input, error));
    *out = seed->offset_input;
    return LAZE_OK;
  }
  *out = seed->offset_input;
  if (distance > seed->farthest) seed->farthest = distance;
  if (distance == 0) return LAZE_OK;
  both[0] = *out;
  laze_builder_init(&builder, trace->graph, trace->graph->body);
  LAZE_TRY(laze_record_number(&builder.recorder, LAZE_I64, laze_scalar_integer(distance), &both[1], error));
  return laze_record_call(&builder.recorder, LAZE_OP_ADD, both, 2, NULL, out, error);
}

static void note_number(laze_tracer *self, const char *argument, laze_cell *cell) {
  laze_open_trace *trace = (laze_open_trace *)self;
  laze_status status = trace->failure.code;
  laze_value value;
  const bool seed = strcmp(argument, "seed") == 0, offset = strcmp(argument, "offset") == 0;
  if (status != LAZE_OK || (!seed && !offset) || cell->state != LAZE_CELL_SCALAR || cell->dtype != LAZE_I64) return;
  const int64_t number = laze_cell_scalar(cell).value.integer;
  if (seed)
    status = take_seed(trace, number, &value, &trace->failure);
  else if (trace->current_seed >= 0)
    status = take_offset(trace, number, &value, &trace->failure);
  else
    return;
  if (status == LAZE_OK) status = laze_open_trace_put(trace, cell, value, true, &trace->failure);
}

/* --- Writes --- */

static laze_traced_write *find_write(const laze_open_trace *trace, const laze_storage *base) {
  for (int64_t i = trace->write_count; i-- > 0;)
    if (trace->writes[i].base == base) return &trace->writes[i];
  return NULL;
}

static void note_write(laze_tracer *self, const laze_storage *base, laze_written how) {
  laze_open_trace *trace = (laze_open_trace *)self;
  laze_traced_write *found = find_write(trace, base);
  void *array = trace->writes;
  if (trace->failure.code != LAZE_OK) return;
  if (!found) {
    if (laze_grow(trace->thread->lazy->context, &array, &trace->write_capacity, trace->write_count + 1,
                  sizeof *trace->writes, &trace->failure) != LAZE_OK)
      return;
    trace->writes = array;
    found = &trace->writes[trace->write_count++];
    *found = (laze_traced_write){.base = base};
  }
  found->how |= (int32_t)how;
}

int32_t laze_open_trace_written(const laze_open_trace *trace, const laze_storage *base) {
  const laze_traced_write *found = find_write(trace, base);
  return found ? found->how : 0;
}

/* --- Life --- */

laze_status laze_open_trace_stand_in(laze_open_trace *trace, laze_value value, laze_tensor **out, laze_error *error) {
  laze_thread_state *thread = trace->thread;
  const laze_type *type = laze_graph_type(trace->graph, value);
  laze_buffer *buffer;
  laze_size elements;
  LAZE_TRY(laze_type_elements(NULL, type, &elements, error));
  LAZE_TRY(laze_buffer_create(thread->lazy->context, elements * laze_dtype_size(type->dtype), &buffer, error));
  memset(buffer->data, 0, (size_t)buffer->size);
  laze_cell *cell = laze_cell_create(thread->lazy, LAZE_CELL_BUFFER, type);
  if (!cell) {
    laze_buffer_release(buffer);
    return laze_fail_memory(error, "a tensor of a trace", sizeof *cell);
  }
  cell->value.buffer = buffer;
  const laze_status status = laze_open_trace_put(trace, cell, value, true, error);
  if (status == LAZE_OK) *out = laze_handle_create(thread, cell);
  laze_cell_release(thread->lazy, cell);
  return status;
}

static void drop(laze_tracer *self) {
  laze_open_trace_destroy((laze_open_trace *)self);
}

laze_status laze_open_trace_create(laze_thread_state *thread, laze_graph *graph, laze_open_trace **out,
                                   laze_error *error) {
  laze_open_trace *trace = laze_alloc_zero(thread->lazy->context, sizeof *trace);
  *out = trace;
  if (!trace) {
    laze_graph_destroy(graph);
    return laze_fail_memory(error, "a trace", sizeof *trace);
  }
  laze_graph_give_to_context(graph);
  trace->tracer = (laze_tracer){
      .read = note_read, .number = note_number, .overwrite = note_overwrite, .write = note_write, .drop = drop};
  trace->thread = thread;
  trace->graph = graph;
  trace->sizes.to = graph->sizes;
  trace->current_seed = -1;
  return LAZE_OK;
}

void laze_open_trace_destroy(laze_open_trace *trace) {
  if (!trace) return;
  laze_lazy *lazy = trace->thread->lazy;
  if (trace->thread->tracer == &trace->tracer) trace->thread->tracer = NULL;
  for (int64_t i = 0; i < trace->slot_count; i++)
    if (trace->slots[i].cell) laze_cell_release(lazy, trace->slots[i].cell);
  laze_graph_destroy(trace->graph);
  laze_size_mapping_deinit(&trace->sizes, lazy->context);
  laze_free(lazy->context, trace->slots);
  laze_free(lazy->context, trace->captured);
  laze_free(lazy->context, trace->captured_parameters);
  laze_free(lazy->context, trace->seeds);
  laze_free(lazy->context, trace->writes);
  laze_free(lazy->context, trace->operands);
  laze_free(lazy->context, trace);
}
