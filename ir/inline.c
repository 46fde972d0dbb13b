/* Puts the nodes of functions in the place of their calls.
 *
 *   function @f(%x: f32[n]) -> f32[n] {        graph @g(%a: f32[4]) -> f32[4] {
 *     %0 = exp %x : f32[n]                       %0 = neg %a : f32[4]
 *     return %0                            =>    %1 = exp %0 : f32[4] name("layer1")
 *   }                                            return %1
 *   graph @g(%a: f32[4]) -> f32[4] {           }
 *     %0 = neg %a : f32[4]
 *     %1 = call @f %0 : f32[4] name("layer1")
 *     return %1
 *   }
 *
 * Two stacks stand for recursion: of activations, one for each call that is being inlined, with what its values and
 * sizes have become, and of blocks that are being copied, which are bodies of activations and regions.
 */
#include "ir/attribute.h"
#include "ir/capture.h"
#include "ir/defined_size.h"
#include "ir/graph_internal.h"
#include "ir/module_internal.h"
#include "ir/op.gen.h"
#include "ir/signature.h"

#include <string.h>

enum { MAX_RESULTS = 8, LONGEST_NAME = 200 };

typedef struct activation {
  struct activation *caller; /* NULL: of the graph itself */
  int32_t call_node;         /* in the caller's graph */
  const laze_graph *source;
  laze_size *map;   /* what its sizes have become; NULL: themselves */
  int64_t *offsets; /* of each node's results among `values` */
  laze_value *values;
  const char *name;  /* what its calls are called, NULL: nothing */
  const char *place; /* where a front end has the call from, NULL: nowhere */
} activation;

typedef struct {
  activation *activation;
  const laze_block *block;
  laze_block *target;
  int64_t next;   /* index in the block's nodes */
  int32_t region; /* to be copied next, of the node at `next`; -1: none */
  laze_block *regions[LAZE_MAX_REGIONS];
} frame;

typedef struct {
  laze_graph *target;
  laze_arena arena; /* sizes of calls */
  frame *frames;
  int64_t frame_count, frame_capacity;
  laze_value *operands; /* of one node */
  int64_t operand_capacity;
  int64_t inlined; /* calls, and nodes of functions */
  const char *file, *file_copy;
  laze_error *error;
} inliner;

/* Its memory is one piece: itself, offsets, values. */
static laze_status activate(inliner *self, const laze_graph *source, activation *caller, activation **out) {
  int64_t results = 0, count = source->node_count;
  for (int64_t i = 0; i < count; i++) results += source->nodes[i].result_count;
  int64_t bytes =
      (int64_t)sizeof(activation) + count * (int64_t)sizeof(int64_t) + results * (int64_t)sizeof(laze_value);
  activation *made = laze_alloc(source->context, bytes);
  if (!made) return laze_fail_memory(self->error, "a call that is being inlined", bytes);
  *made = (activation){.caller = caller, .source = source};
  made->offsets = (int64_t *)(void *)(made + 1);
  made->values = (laze_value *)(void *)(made->offsets + count);
  results = 0;
  for (int64_t i = 0; i < count; i++) {
    made->offsets[i] = results;
    results += source->nodes[i].result_count;
  }
  *out = made;
  return LAZE_OK;
}

static laze_value *results_of(const activation *active, int32_t node) {
  return active->values + active->offsets[node];
}

static laze_value mapped(const activation *active, laze_value value) {
  return results_of(active, value.node)[value.result];
}

static laze_status push_frame(inliner *self, activation *active, const laze_block *block, laze_block *target) {
  LAZE_TRY(laze_grow(self->target->context, (void **)&self->frames, &self->frame_capacity, self->frame_count + 1,
                     sizeof *self->frames, self->error));
  self->frames[self->frame_count++] = (frame){.activation = active, .block = block, .target = target, .region = -1};
  return LAZE_OK;
}

/* The values in the target that stand for `count` others, until the next call of this. */
static laze_status map_values(inliner *self, const activation *active, const laze_value *values, int64_t count) {
  LAZE_TRY(laze_grow(self->target->context, (void **)&self->operands, &self->operand_capacity, count,
                     sizeof *self->operands, self->error));
  for (int64_t i = 0; i < count; i++) self->operands[i] = mapped(active, values[i]);
  return LAZE_OK;
}

/* --- Nodes --- */

/* "caller/own", as long as a person would still read it. */
static laze_status name_in(inliner *self, const activation *active, const char *own, const char **out) {
  const char *outer = active->name;
  laze_arena *arena = &self->target->arena;
  *out = NULL;
  if (!own && !outer) return LAZE_OK;
  if (!own || !outer || strlen(outer) + strlen(own) >= LONGEST_NAME)
    *out = laze_arena_copy_string(arena, own ? own : outer);
  else
    *out = laze_arena_format(arena, "%s/%s", outer, own);
  return *out ? LAZE_OK : laze_fail_memory(self->error, "the name of a node", -1);
}

/* A node without a place of its own gets the call's: to a front end's user the function's text says less. */
static laze_status copy_location(inliner *self, const activation *active, laze_location *location) {
  if (active->place && location->line != 0) *location = (laze_location){.file = active->place};
  if (!location->file) return LAZE_OK;
  if (location->file != self->file) {
    self->file_copy = laze_arena_copy_string(&self->target->arena, location->file);
    if (!self->file_copy) return laze_fail_memory(self->error, "the name of a source file", -1);
    self->file = location->file;
  }
  location->file = self->file_copy;
  return LAZE_OK;
}

/* The function's sizes in attributes become the call's. One that a node of it defines is a new one in each call. */
static laze_status map_attributes(inliner *self, const activation *active, laze_call *call) {
  int32_t count = laze_op_get(call->op)->attribute_count;
  if (!active->map || count == 0) return LAZE_OK;
  LAZE_TRY(laze_call_define_sizes(call, active->source->sizes, self->target->sizes, active->map, self->error));
  laze_arena *arena = &self->target->arena;
  laze_attribute *attributes = laze_arena_copy(arena, call->attributes, count * (int64_t)sizeof *attributes);
  if (!attributes) return laze_fail_memory(self->error, "attributes", -1);
  for (int32_t i = 0; i < count; i++) {
    laze_size *sizes;
    int32_t size_count;
    LAZE_TRY(laze_attribute_own_sizes(&attributes[i], arena, &sizes, &size_count, self->error));
    for (int32_t k = 0; k < size_count; k++)
      if (!laze_size_is_constant(sizes[k]))
        LAZE_TRY(laze_size_import(self->target->sizes, active->source->sizes, sizes[k], active->map, &sizes[k],
                                  self->error));
  }
  call->attributes = attributes;
  return LAZE_OK;
}

/* The node as a call over values of the target. */
static laze_status make_call(inliner *self, const activation *active, const laze_node *node, laze_call *out) {
  LAZE_TRY(map_values(self, active, node->operands, node->operand_count));
  *out = laze_node_call(node);
  out->operands = self->operands;
  LAZE_TRY(name_in(self, active, node->name, &out->name));
  LAZE_TRY(copy_location(self, active, &out->location));
  return map_attributes(self, active, out);
}

/* Counts what calls make: without a bound a few lines would fill any memory. */
static laze_status spend(inliner *self, const activation *active) {
  if (!active->caller || ++self->inlined <= LAZE_MAX_INLINED) return LAZE_OK;
  return laze_fail(self->error, LAZE_OUT_OF_RANGE,
                   "graph %s: its calls make more than %lld nodes, those of @%s among them; call less often, or cut it "
                   "into several graphs",
                   self->target->name, (long long)LAZE_MAX_INLINED, active->source->name);
}

static laze_status copy_node(inliner *self, const frame *top, int32_t number) {
  const laze_node *node = &top->activation->source->nodes[number];
  laze_call call;
  laze_value results[MAX_RESULTS];
  LAZE_TRY(spend(self, top->activation));
  LAZE_TRY(make_call(self, top->activation, node, &call));
  laze_status status = laze_graph_append(self->target, top->target, &call, results, self->error);
  if (status != LAZE_OK) return laze_node_name_error(node, self->error);
  memcpy(results_of(top->activation, number), results, (size_t)node->result_count * sizeof *results);
  return LAZE_OK;
}

/* --- Blocks --- */

static laze_status copy_parameters(inliner *self, activation *active, const laze_block *block, laze_block *target) {
  for (int64_t i = 0; i < block->parameter_count; i++) {
    const laze_node *node = &active->source->nodes[block->parameters[i]];
    laze_type type = *node->types[0];
    if (active->map)
      LAZE_TRY(laze_function_map_type(active->source, self->target->sizes, active->map, &type, self->error));
    LAZE_TRY(laze_graph_add_parameter(self->target, target, node->name, &type, results_of(active, block->parameters[i]),
                                      self->error));
  }
  return LAZE_OK;
}

/* Puts a function's body on the stack, its parameters being the operands. */
static laze_status enter_call(inliner *self, const frame *top, int32_t number) {
  activation *caller = top->activation, *active;
  laze_block *target = top->target;
  const laze_node *node = &caller->source->nodes[number];
  const laze_graph *function = laze_call_function(caller->source, node);
  if (!function)
    return laze_fail(self->error, LAZE_INTERNAL, "graph %s: calls a function that is not in its module before it",
                     caller->source->name);
  laze_size *map;
  LAZE_TRY(map_values(self, caller, node->operands, node->operand_count));
  LAZE_TRY(
      laze_function_bind(function, self->target, self->operands, node->operand_count, &self->arena, &map, self->error));
  LAZE_TRY(activate(self, function, caller, &active));
  active->call_node = number;
  active->map = map;
  active->place = node->location.line == 0 && node->location.file ? node->location.file : caller->place;
  for (int64_t i = 0; i < function->body->parameter_count; i++)
    *results_of(active, function->body->parameters[i]) = self->operands[i];
  laze_status status = name_in(self, caller, node->name, &active->name);
  if (status == LAZE_OK) status = spend(self, active);
  if (status == LAZE_OK) status = push_frame(self, active, function->body, target);
  if (status != LAZE_OK) laze_free(self->target->context, active);
  return status;
}

static laze_status enter_region(inliner *self, frame *top) {
  activation *active = top->activation;
  const laze_block *region = active->source->nodes[top->block->nodes[top->next]].regions[top->region];
  laze_block *target;
  LAZE_TRY(laze_graph_add_region(self->target, top->target, &target, self->error));
  top->regions[top->region++] = target;
  LAZE_TRY(copy_parameters(self, active, region, target));
  return push_frame(self, active, region, target);
}

static laze_status finish_regions(inliner *self, frame *top) {
  int32_t number = top->block->nodes[top->next];
  const laze_node *node = &top->activation->source->nodes[number];
  laze_call call;
  laze_value first;
  LAZE_TRY(spend(self, top->activation));
  LAZE_TRY(make_call(self, top->activation, node, &call));
  LAZE_TRY(laze_graph_append_region_node(self->target, top->target, &call, top->regions, &first, self->error));
  for (int32_t i = 0; i < node->result_count; i++) results_of(top->activation, number)[i] = (laze_value){first.node, i};
  top->region = -1;
  top->next++;
  return LAZE_OK;
}

/* What composites asked of the sizes that a function defines. */
static laze_status carry_facts(inliner *self, const activation *active) {
  laze_size_table *sizes = self->target->sizes;
  const laze_size_table *from = active->source->sizes;
  const laze_fact *carried;
  for (int64_t i = 0; (carried = laze_size_carried_fact(from, i)); i++) {
    laze_fact fact = *carried;
    if (!laze_size_is_constant(fact.a))
      LAZE_TRY(laze_size_import(sizes, from, fact.a, active->map, &fact.a, self->error));
    if (!laze_size_is_constant(fact.b))
      LAZE_TRY(laze_size_import(sizes, from, fact.b, active->map, &fact.b, self->error));
    LAZE_TRY(laze_size_carry_fact(sizes, fact, self->error));
  }
  return LAZE_OK;
}

/* The block on top is copied. Of a function's body, the results stand for those of the call. */
static laze_status leave_block(inliner *self) {
  const frame top = self->frames[--self->frame_count];
  activation *active = top.activation;
  const bool is_body = top.block->depth == 0;
  laze_status status = LAZE_OK;
  if (is_body && active->caller) {
    laze_value *results = results_of(active->caller, active->call_node);
    for (int64_t i = 0; i < top.block->result_count; i++) results[i] = mapped(active, top.block->results[i]);
    status = carry_facts(self, active);
  } else {
    status = map_values(self, active, top.block->results, top.block->result_count);
    if (status == LAZE_OK)
      status = laze_block_set_results(self->target, top.target, self->operands, top.block->result_count, self->error);
  }
  if (is_body) laze_free(self->target->context, active);
  return status;
}

static laze_status step(inliner *self) {
  frame *top = &self->frames[self->frame_count - 1];
  if (top->region < 0 && top->next == top->block->node_count) return leave_block(self);
  int32_t number = top->block->nodes[top->next];
  const laze_node *node = &top->activation->source->nodes[number];
  if (node->region_count > LAZE_MAX_REGIONS ||
      (node->region_count == 0 && node->result_count > MAX_RESULTS && node->op != LAZE_OP_CALL))
    return laze_fail(self->error, LAZE_INTERNAL, "%s: more regions or results than inlining holds",
                     laze_op_get(node->op)->name);
  if (node->region_count > 0) {
    if (top->region < 0) top->region = 0;
    return top->region < node->region_count ? enter_region(self, top) : finish_regions(self, top);
  }
  top->next++;
  return node->op == LAZE_OP_CALL ? enter_call(self, top, number) : copy_node(self, top, number);
}

/* The activations that are still on the stack, whose bodies are there. */
static void release(inliner *self) {
  for (int64_t i = 0; i < self->frame_count; i++)
    if (self->frames[i].block->depth == 0) laze_free(self->target->context, self->frames[i].activation);
  laze_free(self->target->context, self->frames);
  laze_free(self->target->context, self->operands);
  laze_arena_deinit(&self->arena);
}

static laze_status run(inliner *self, const laze_graph *graph) {
  activation *active;
  LAZE_TRY(activate(self, graph, NULL, &active));
  laze_status status = push_frame(self, active, graph->body, self->target->body);
  if (status != LAZE_OK) {
    laze_free(graph->context, active);
    return status;
  }
  LAZE_TRY(copy_parameters(self, active, graph->body, self->target->body));
  while (self->frame_count > 0) LAZE_TRY(step(self));
  return LAZE_OK;
}

laze_status laze_module_inline(const laze_graph *graph, laze_graph **out, laze_error *error) {
  laze_error unwanted;
  laze_size_table *sizes;
  inliner self = {.error = error ? error : &unwanted};
  /* Its facts hold of the result, too, and each of its sizes is the same word. */
  LAZE_TRY(laze_size_table_copy(graph->sizes, &sizes, error));
  laze_status status = laze_graph_create_sharing(graph->context, graph->name, sizes, &self.target, error);
  if (status != LAZE_OK) {
    laze_size_table_destroy(sizes);
    return status;
  }
  self.target->shares_sizes = false;
  laze_arena_init(&self.arena, graph->context);
  status = run(&self, graph);
  if (status == LAZE_OK) status = laze_signature_copy(graph, self.target, self.error);
  release(&self);
  if (status == LAZE_OK)
    *out = self.target;
  else
    laze_graph_destroy(self.target);
  return status;
}
