/* Cuts a joint graph of a function and its gradients in two (laze_graph_partition):
 *
 *   joint      (x, w, dy) -> y, dx, dw        forward    (x, w) -> y, saved ...
 *     y  = tanh(x * w)                 =>     backward   (saved ..., dy) -> dx, dw
 *     dx = dy * (1 - y * y) * w ...
 *
 * What depends on a tangent is computed backward, what outputs need forward. Between them are values that only
 * gradients need. The default saves what of the forward pass the rest uses. The cheapest cut saves fewer bytes: a value
 * is saved, or computed again from others that are, where that is cheap; it is found as a cut through a graph in which
 * each value is an edge as wide as its bytes.
 */
#include "laze/graph.h"

#include "base/arena.h"
#include "base/dtype.h"
#include "ir/flow.h"
#include "ir/graph.h"
#include "ir/op.gen.h"

#include <stdio.h>

/* So that all values together are less than what no cut goes through; no memory has as much. */
#define MOST_BYTES (LAZE_FLOW_UNBOUNDED >> 32)

typedef struct {
  const laze_graph *joint;
  laze_arena arena;
  int32_t primal_count, output_count;
  int32_t *offsets; /* by node: the number of its result 0 among all values */
  int32_t value_count;
  bool *tangent; /* by node: it depends on one */
  bool *forward; /* by node: an output needs it */
  bool *needed;  /* by node: a gradient needs it */
  bool *saved;   /* by value */
} partition;

static int32_t number_of(const partition *self, laze_value value) {
  return self->offsets[value.node] + value.result;
}

static const laze_node *node_of(const partition *self, int32_t number) {
  return &self->joint->nodes[number];
}

/* --- Who needs what --- */

static void mark_needed(const partition *self, bool *marks) {
  const laze_block *body = self->joint->body;
  for (int64_t i = body->node_count; i-- > 0;) {
    const laze_node *node = node_of(self, body->nodes[i]);
    if (!marks[body->nodes[i]]) continue;
    for (int32_t k = 0; k < node->operand_count; k++) marks[node->operands[k].node] = true;
  }
}

static void mark_tangents(const partition *self) {
  const laze_block *body = self->joint->body;
  for (int64_t i = self->primal_count; i < body->parameter_count; i++) self->tangent[body->parameters[i]] = true;
  for (int64_t i = 0; i < body->node_count; i++) {
    const laze_node *node = node_of(self, body->nodes[i]);
    for (int32_t k = 0; k < node->operand_count; k++)
      self->tangent[body->nodes[i]] |= self->tangent[node->operands[k].node];
  }
}

static laze_status classify(partition *self, laze_error *error) {
  const laze_graph *joint = self->joint;
  mark_tangents(self);
  for (int64_t i = 0; i < joint->body->result_count; i++) {
    const bool is_output = i < self->output_count;
    const int32_t node = joint->body->results[i].node;
    (is_output ? self->forward : self->needed)[node] = true;
    if (is_output && self->tangent[node])
      return laze_fail(error, LAZE_INVALID_ARGUMENT,
                       "laze_graph_partition: output %lld depends on a tangent; outputs come before gradients",
                       (long long)i);
  }
  mark_needed(self, self->forward);
  mark_needed(self, self->needed);
  return LAZE_OK;
}

/* --- What is saved --- */

/* A value that the backward graph is not given, and copies. */
static bool is_free(const laze_node *node) {
  return node->op == LAZE_OP_CONSTANT;
}

/* Calls `visit` with each value of the forward side that is used where a tangent came in, or is a gradient itself. */
static laze_status each_used(partition *self,
                             laze_status (*visit)(partition *self, laze_value value, void *data, laze_error *error),
                             void *data, laze_error *error) {
  const laze_block *body = self->joint->body;
  for (int64_t i = 0; i < body->node_count; i++) {
    const laze_node *node = node_of(self, body->nodes[i]);
    if (!self->needed[body->nodes[i]] || !self->tangent[body->nodes[i]]) continue;
    for (int32_t k = 0; k < node->operand_count; k++)
      if (!self->tangent[node->operands[k].node] && !is_free(node_of(self, node->operands[k].node)))
        LAZE_TRY(visit(self, node->operands[k], data, error));
  }
  for (int64_t i = self->output_count; i < body->result_count; i++)
    if (!self->tangent[body->results[i].node] && !is_free(node_of(self, body->results[i].node)))
      LAZE_TRY(visit(self, body->results[i], data, error));
  return LAZE_OK;
}

/* Forward values are saved where they are used; others are computed backward. */
static laze_status save_forward(partition *self, laze_value value, void *data, laze_error *error) {
  (void)data, (void)error;
  const laze_node *node = node_of(self, value.node);
  if (node->op == LAZE_OP_PARAMETER || self->forward[value.node]) self->saved[number_of(self, value)] = true;
  return LAZE_OK;
}

static laze_status save_default(partition *self, laze_error *error) {
  const laze_block *body = self->joint->body;
  LAZE_TRY(each_used(self, save_forward, NULL, error));
  for (int64_t i = 0; i < body->node_count; i++) {
    const laze_node *node = node_of(self, body->nodes[i]);
    if (!self->needed[body->nodes[i]] || self->tangent[body->nodes[i]] || self->forward[body->nodes[i]]) continue;
    for (int32_t k = 0; k < node->operand_count; k++)
      if (!is_free(node_of(self, node->operands[k].node))) LAZE_TRY(save_forward(self, node->operands[k], NULL, error));
  }
  return LAZE_OK;
}

static int64_t bytes_of(const laze_type *type) {
  int64_t bytes = type->kind == LAZE_TYPE_TENSOR ? laze_dtype_size(type->dtype) : 0;
  for (int i = 0; i < type->rank; i++) bytes *= type->sizes[i]; /* fits: the type was checked */
  return bytes;
}

/* Whether computing it once more costs little: about as much as reading it would. */
static bool is_cheap(const laze_node *node) {
  const laze_op_class op_class = laze_op_get(node->op)->op_class;
  return op_class == LAZE_CLASS_ELEMENTWISE || op_class == LAZE_CLASS_MOVEMENT || op_class == LAZE_CLASS_CREATION ||
         op_class == LAZE_CLASS_RANDOM;
}

/* Two vertices a value: where it comes in, 2 v, and where it goes on, 2 v + 1; then source and sink. */
static laze_status connect_used(partition *self, laze_value value, void *data, laze_error *error) {
  laze_flow *flow = data;
  return laze_flow_connect(flow, 2 * number_of(self, value) + 1, 2 * self->value_count + 1, LAZE_FLOW_UNBOUNDED, error);
}

/* An input is there anyway, and saving it takes nothing but its name. */
static laze_status connect_node(partition *self, laze_flow *flow, int32_t number, laze_error *error) {
  const laze_node *node = node_of(self, number);
  const bool is_input = node->op == LAZE_OP_PARAMETER, stays = self->forward[number] && !is_cheap(node);
  for (int32_t r = 0; r < node->result_count; r++) {
    const int32_t in = 2 * (self->offsets[number] + r);
    int64_t bytes = bytes_of(node->types[r]);
    if (bytes > MOST_BYTES) bytes = MOST_BYTES;
    LAZE_TRY(laze_flow_connect(flow, in, in + 1, is_input || bytes == 0 ? 1 : 2 * bytes, error));
    if (is_input || stays) LAZE_TRY(laze_flow_connect(flow, 2 * self->value_count, in, LAZE_FLOW_UNBOUNDED, error));
    for (int32_t k = 0; k < node->operand_count; k++)
      if (!is_free(node_of(self, node->operands[k].node)))
        LAZE_TRY(laze_flow_connect(flow, 2 * number_of(self, node->operands[k]) + 1, in, LAZE_FLOW_UNBOUNDED, error));
  }
  return LAZE_OK;
}

static laze_status cut(partition *self, laze_flow *flow, laze_error *error) {
  const laze_block *body = self->joint->body;
  for (int32_t i = 0; i < self->primal_count; i++) LAZE_TRY(connect_node(self, flow, body->parameters[i], error));
  for (int64_t i = 0; i < body->node_count; i++) {
    const int32_t number = body->nodes[i];
    if (self->needed[number] && !self->tangent[number] && !is_free(node_of(self, number)))
      LAZE_TRY(connect_node(self, flow, number, error));
  }
  LAZE_TRY(each_used(self, connect_used, flow, error));
  (void)laze_flow_run(flow, 2 * self->value_count, 2 * self->value_count + 1);
  for (int32_t v = 0; v < self->value_count; v++)
    self->saved[v] = laze_flow_reaches(flow, 2 * v) && !laze_flow_reaches(flow, 2 * v + 1);
  return LAZE_OK;
}

static laze_status save_cheapest(partition *self, laze_error *error) {
  laze_flow flow;
  if (self->value_count > INT32_MAX / 2 - 1)
    return laze_fail(error, LAZE_OUT_OF_RANGE, "laze_graph_partition: %d values are too many", (int)self->value_count);
  laze_status status = laze_flow_init(&flow, self->joint->context, 2 * self->value_count + 2, error);
  if (status == LAZE_OK) status = cut(self, &flow, error);
  laze_flow_deinit(&flow);
  return status;
}

/* --- The two graphs --- */

/* One of them while it is made. */
typedef struct {
  const partition *from;
  laze_graph *graph;
  laze_value *values;   /* by value of the joint graph: what it is here; LAZE_VALUE_NONE: not there */
  bool *wanted;         /* by node of the joint graph: still to be appended */
  laze_value *operands; /* of the node at hand */
} half;

static laze_status add_parameter(half *self, laze_value value, const char *name, laze_error *error) {
  return laze_graph_add_parameter(self->graph, self->graph->body, name, laze_graph_type(self->from->joint, value),
                                  &self->values[number_of(self->from, value)], error);
}

/* Marks what a value needs, up to what is there. */
static void want(half *self, laze_value value) {
  if (laze_value_is_none(self->values[number_of(self->from, value)])) self->wanted[value.node] = true;
}

static void want_operands(half *self) {
  const laze_block *body = self->from->joint->body;
  for (int64_t i = body->node_count; i-- > 0;) {
    const laze_node *node = node_of(self->from, body->nodes[i]);
    for (int32_t k = 0; self->wanted[body->nodes[i]] && k < node->operand_count; k++) want(self, node->operands[k]);
  }
}

static const char *copy_text(half *self, const char *text) {
  return text ? laze_arena_copy_string(&self->graph->arena, text) : NULL;
}

static laze_status append(half *self, int32_t number, laze_error *error) {
  const laze_node *node = node_of(self->from, number);
  laze_call call = laze_node_call(node);
  laze_value results[8];
  for (int32_t k = 0; k < node->operand_count; k++)
    self->operands[k] = self->values[number_of(self->from, node->operands[k])];
  call.operands = self->operands;
  call.name = copy_text(self, call.name);
  call.location.file = copy_text(self, call.location.file);
  call.location.node = 0;
  if ((node->name && !call.name) || (node->location.file && !call.location.file))
    return laze_fail_memory(error, "a graph", -1);
  LAZE_TRY(laze_graph_append(self->graph, self->graph->body, &call, results, error));
  for (int32_t r = 0; r < node->result_count; r++) self->values[self->from->offsets[number] + r] = results[r];
  self->wanted[number] = false;
  return LAZE_OK;
}

static laze_status append_wanted(half *self, laze_error *error) {
  const laze_block *body = self->from->joint->body;
  want_operands(self);
  for (int64_t i = 0; i < body->node_count; i++)
    if (self->wanted[body->nodes[i]]) LAZE_TRY(append(self, body->nodes[i], error));
  return LAZE_OK;
}

/* Appends a wanted node behind what is wanted for it. `stack` has room for each operand of the graph. */
static laze_status append_behind(half *self, int32_t number, int32_t *stack, laze_error *error) {
  int64_t depth = 0;
  stack[depth++] = number;
  while (depth > 0) {
    const int32_t top = stack[depth - 1];
    const laze_node *node = node_of(self->from, top);
    const int64_t before = depth;
    for (int32_t k = 0; k < node->operand_count && self->wanted[top]; k++)
      if (self->wanted[node->operands[k].node]) stack[depth++] = node->operands[k].node;
    if (depth > before) continue;
    if (self->wanted[top]) LAZE_TRY(append(self, top, error));
    depth--;
  }
  return LAZE_OK;
}

/* The same with what is computed again as late as can be, so that it is there no longer than it is needed. */
static laze_status append_wanted_late(half *self, laze_error *error) {
  const laze_graph *joint = self->from->joint;
  int64_t room = 1;
  for (int64_t i = 0; i < joint->node_count; i++) room += joint->nodes[i].operand_count;
  int32_t *stack = laze_alloc_array(joint->context, room, sizeof *stack);
  if (!stack) return laze_fail_memory(error, "a partition", -1);
  laze_status status = LAZE_OK;
  want_operands(self);
  for (int64_t i = 0; i < joint->body->node_count && status == LAZE_OK; i++)
    if (self->wanted[joint->body->nodes[i]] && self->from->tangent[joint->body->nodes[i]])
      status = append_behind(self, joint->body->nodes[i], stack, error);
  laze_free(joint->context, stack);
  return status == LAZE_OK ? append_wanted(self, error) : status; /* gradients that depend on no tangent */
}

static laze_status begin_half(partition *from, const char *name, half *out, laze_error *error) {
  int32_t most = 1;
  for (int64_t i = 0; i < from->joint->node_count; i++)
    if (from->joint->nodes[i].operand_count > most) most = from->joint->nodes[i].operand_count;
  *out = (half){.from = from,
                .values = laze_arena_alloc_array(&from->arena, from->value_count, sizeof *out->values),
                .wanted = laze_arena_alloc_zero(&from->arena, from->joint->node_count),
                .operands = laze_arena_alloc_array(&from->arena, most, sizeof *out->operands)};
  if (!out->values || !out->wanted || !out->operands) return laze_fail_memory(error, "a partition", -1);
  for (int32_t v = 0; v < from->value_count; v++) out->values[v] = LAZE_VALUE_NONE;
  return laze_graph_create(from->joint->context, name, &out->graph, error);
}

/* Calls for each saved value, in the order of the joint graph. */
static laze_status each_saved(const partition *self, half *target,
                              laze_status (*visit)(half *target, laze_value value, laze_error *error),
                              laze_error *error) {
  for (int64_t n = 0; n < self->joint->node_count; n++)
    for (int32_t r = 0; r < self->joint->nodes[n].result_count; r++)
      if (self->saved[self->offsets[n] + r]) LAZE_TRY(visit(target, (laze_value){(int32_t)n, r}, error));
  return LAZE_OK;
}

static laze_status want_saved(half *target, laze_value value, laze_error *error) {
  (void)error;
  want(target, value);
  return LAZE_OK;
}

static laze_status add_saved(half *target, laze_value value, laze_error *error) {
  char name[32];
  snprintf(name, sizeof name, "saved%lld", (long long)target->graph->body->parameter_count);
  const laze_node *node = node_of(target->from, value.node);
  return add_parameter(target, value, node->op == LAZE_OP_PARAMETER ? node->name : name, error);
}

/* Outputs, then what is saved. */
static laze_status set_forward_results(half *self, laze_partition *out, laze_error *error) {
  const partition *from = self->from;
  const laze_graph *joint = from->joint;
  laze_value *results =
      laze_alloc_array(joint->context, (int64_t)from->output_count + from->value_count, sizeof *results);
  if (!results) return laze_fail_memory(error, "the results of a graph", -1);
  int32_t count = 0;
  for (; count < from->output_count; count++)
    results[count] = self->values[number_of(from, joint->body->results[count])];
  for (int64_t n = 0; n < joint->node_count; n++)
    for (int32_t r = 0; r < joint->nodes[n].result_count; r++) {
      const int32_t v = from->offsets[n] + r;
      if (!from->saved[v]) continue;
      results[count++] = self->values[v];
      if (joint->nodes[n].op != LAZE_OP_PARAMETER) out->saved_bytes += bytes_of(joint->nodes[n].types[r]);
    }
  out->saved_count = count - from->output_count;
  const laze_status status = laze_block_set_results(self->graph, self->graph->body, results, count, error);
  laze_free(joint->context, results);
  return status;
}

/* Inputs are what they were, and results outputs, then what is saved. */
static laze_status sign_forward(const partition *self, laze_graph *graph, laze_error *error) {
  const laze_block *body = graph->body;
  laze_role *roles = laze_alloc_array(graph->context, body->parameter_count + body->result_count, sizeof *roles);
  if (!roles) return laze_fail_memory(error, "a signature", -1);
  laze_role *results = roles + body->parameter_count;
  for (int32_t i = 0; i < body->parameter_count; i++) roles[i] = laze_graph_input_role(self->joint, i);
  for (int32_t i = 0; i < body->result_count; i++)
    results[i] =
        i < self->output_count ? laze_graph_result_role(self->joint, i) : (laze_role){.kind = LAZE_SIGNATURE_SAVED};
  const laze_status status = laze_graph_set_signature(graph, roles, (int32_t)body->parameter_count, results,
                                                      (int32_t)body->result_count, error);
  laze_free(graph->context, roles);
  return status;
}

/* Inputs are what is saved, then tangents, and results what they were. */
static laze_status sign_backward(const partition *self, laze_graph *graph, laze_error *error) {
  const laze_block *body = graph->body;
  const int64_t tangents = self->joint->body->parameter_count - self->primal_count;
  laze_role *roles = laze_alloc_array(graph->context, body->parameter_count + body->result_count, sizeof *roles);
  if (!roles) return laze_fail_memory(error, "a signature", -1);
  laze_role *results = roles + body->parameter_count;
  for (int64_t i = 0; i < body->parameter_count; i++)
    roles[i] =
        (laze_role){.kind = i < body->parameter_count - tangents ? LAZE_SIGNATURE_SAVED : LAZE_SIGNATURE_TANGENT};
  for (int32_t i = 0; i < body->result_count; i++)
    results[i] = laze_graph_result_role(self->joint, self->output_count + i);
  const laze_status status = laze_graph_set_signature(graph, roles, (int32_t)body->parameter_count, results,
                                                      (int32_t)body->result_count, error);
  laze_free(graph->context, roles);
  return status;
}

static laze_status make_forward(partition *self, laze_partition *out, laze_error *error) {
  const laze_block *body = self->joint->body;
  half forward;
  LAZE_TRY(begin_half(self, "forward", &forward, error));
  out->forward = forward.graph;
  for (int32_t i = 0; i < self->primal_count; i++) {
    const laze_value value = {body->parameters[i], 0};
    LAZE_TRY(add_parameter(&forward, value, node_of(self, value.node)->name, error));
  }
  for (int32_t i = 0; i < self->output_count; i++) want(&forward, body->results[i]);
  LAZE_TRY(each_saved(self, &forward, want_saved, error));
  LAZE_TRY(append_wanted(&forward, error));
  LAZE_TRY(set_forward_results(&forward, out, error));
  return sign_forward(self, forward.graph, error);
}

static laze_status make_backward(partition *self, laze_partition *out, laze_error *error) {
  const laze_block *body = self->joint->body;
  const int64_t gradients = body->result_count - self->output_count;
  half backward;
  LAZE_TRY(begin_half(self, "backward", &backward, error));
  out->backward = backward.graph;
  LAZE_TRY(each_saved(self, &backward, add_saved, error));
  for (int64_t i = self->primal_count; i < body->parameter_count; i++) {
    const laze_value value = {body->parameters[i], 0};
    LAZE_TRY(add_parameter(&backward, value, node_of(self, value.node)->name, error));
  }
  for (int64_t i = self->output_count; i < body->result_count; i++) want(&backward, body->results[i]);
  LAZE_TRY(append_wanted_late(&backward, error));
  laze_value *results = laze_arena_alloc_array(&self->arena, gradients, sizeof *results);
  if (!results) return laze_fail_memory(error, "the results of a graph", -1);
  for (int64_t i = 0; i < gradients; i++)
    results[i] = backward.values[number_of(self, body->results[self->output_count + i])];
  LAZE_TRY(laze_block_set_results(backward.graph, backward.graph->body, results, gradients, error));
  return sign_backward(self, backward.graph, error);
}

static laze_status check(const laze_graph *joint, int32_t output_count, int32_t tangent_count, int32_t mode,
                         const laze_partition *out, laze_error *error) {
  if (!joint || !out || out->struct_size < sizeof *out)
    return laze_fail(error, LAZE_INVALID_ARGUMENT,
                     "laze_graph_partition: joint or out is NULL, or struct_size is not sizeof(laze_partition)");
  if (output_count < 0 || output_count > joint->body->result_count || tangent_count < 0 ||
      tangent_count > joint->body->parameter_count)
    return laze_fail(error, LAZE_INVALID_ARGUMENT,
                     "laze_graph_partition: %d outputs and %d tangents, but graph %s has %lld results and %lld inputs",
                     (int)output_count, (int)tangent_count, joint->name, (long long)joint->body->result_count,
                     (long long)joint->body->parameter_count);
  if (mode != LAZE_PARTITION_DEFAULT && mode != LAZE_PARTITION_MIN_CUT)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "laze_graph_partition: there is no mode %d", (int)mode);
  bool whole = laze_size_symbol_count(joint->sizes) == 0;
  for (int64_t i = 0; i < joint->node_count; i++) whole &= joint->nodes[i].region_count == 0;
  if (whole) return LAZE_OK;
  return laze_fail(error, LAZE_UNSUPPORTED,
                   "laze_graph_partition: graph %s has regions, or sizes that are no numbers; trace it for numbers",
                   joint->name);
}

static laze_status prepare(partition *self, laze_error *error) {
  const int64_t count = self->joint->node_count;
  int64_t values = 0;
  self->offsets = laze_arena_alloc_array(&self->arena, count, sizeof *self->offsets);
  self->tangent = laze_arena_alloc_zero(&self->arena, count);
  self->forward = laze_arena_alloc_zero(&self->arena, count);
  self->needed = laze_arena_alloc_zero(&self->arena, count);
  if (!self->offsets || !self->tangent || !self->forward || !self->needed)
    return laze_fail_memory(error, "a partition", -1);
  for (int64_t i = 0; i < count; i++) {
    self->offsets[i] = (int32_t)values;
    values += self->joint->nodes[i].result_count;
  }
  self->value_count = (int32_t)values; /* results of a graph fit, as its nodes do */
  self->saved = laze_arena_alloc_zero(&self->arena, values);
  return self->saved ? LAZE_OK : laze_fail_memory(error, "a partition", -1);
}

laze_status laze_graph_partition(const laze_graph *joint, int32_t output_count, int32_t tangent_count, int32_t mode,
                                 laze_partition *out, laze_error *error) {
  LAZE_TRY(check(joint, output_count, tangent_count, mode, out, error));
  *out = (laze_partition){.struct_size = sizeof *out};
  partition self = {.joint = joint,
                    .primal_count = (int32_t)joint->body->parameter_count - tangent_count,
                    .output_count = output_count};
  laze_arena_init(&self.arena, joint->context);
  laze_status status = prepare(&self, error);
  if (status == LAZE_OK) status = classify(&self, error);
  if (status == LAZE_OK)
    status = mode == LAZE_PARTITION_MIN_CUT ? save_cheapest(&self, error) : save_default(&self, error);
  if (status == LAZE_OK) status = make_forward(&self, out, error);
  if (status == LAZE_OK) status = make_backward(&self, out, error);
  laze_arena_deinit(&self.arena);
  if (status == LAZE_OK) return LAZE_OK;
  laze_graph_release(out->forward);
  laze_graph_release(out->backward);
  *out = (laze_partition){.struct_size = sizeof *out};
  return status;
}
