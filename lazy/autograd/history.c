/* The layer that leaves a history behind (lazy/value/grad_node.h) for calls whose operands require gradients.
 *
 *   softplus(x)   no formula of its own, but an expansion: its calls are differentiated, each by itself
 *   mul(x, w)     a formula: recorded as ever, whatever it expands to; a node keeps what the formulas need that will
 *                 be asked for, and the result's gradient goes to that node
 *   x == w        results that no gradient can belong to: recorded, and nothing more
 *   ormqr(a, b, c)   neither: an error, as a gradient that is silently none would be wrong
 *
 * One block holds all of a node:
 *
 *   node | edges of operands | saved operands and results | attributes | definers of sizes in these | types | what
 *   attributes refer to | segments
 */
#include "base/checked.h"
#include "base/dtype.h"
#include "ir/attribute.h"
#include "ir/derivative.h"
#include "ir/op.gen.h"
#include "lazy/autograd/capture.h"
#include "lazy/lazy.h"
#include "lazy/record/expander.h"
#include "lazy/record/layers.h"
#include "lazy/record/record_state.h"
#include "lazy/thread.h"
#include "lazy/value/cell.h"
#include "lazy/value/grad_node.h"
#include "lazy/value/handle.h"
#include "lazy/value/pending.h"
#include "lazy/value/unknown.h"

#include <string.h>

/* A call that leaves a node behind. */
typedef struct {
  laze_record_state *state;
  const laze_op_info *info;
  const laze_call *call;
  const laze_value *results;
  int32_t result_count;
  uint64_t wanted;   /* bit i: a gradient of segment i is asked for */
  uint64_t operands; /* bit i: values of segment i are needed for that */
  uint32_t kept;     /* bit i: result i is */
  int32_t definers;  /* of sizes in the attributes; one may come several times */
} history;

static int64_t round_up(int64_t bytes) {
  return (bytes + 7) & -8;
}

static laze_frame_value *value_of(const history *self, laze_value value) {
  return &self->state->values[value.node];
}

/* The segment in which an operand is. */
static int32_t segment_of(const history *self, int32_t operand) {
  int32_t segment = 0;
  for (int32_t end = 0; segment < self->info->segment_count; segment++) {
    const int32_t size = self->call->segments ? self->call->segments[segment] : 1;
    if (size > 0) end += size;
    if (operand < end) break;
  }
  return segment;
}

static const char *segment_name(const laze_op_info *info, int32_t segment) {
  for (int32_t i = 0; i < info->argument_count; i++)
    if (laze_argument_is_operand(info->arguments[i].kind) && info->arguments[i].position == segment)
      return info->arguments[i].name;
  return "";
}

/* What is asked for, and what that needs. An operand that requires a gradient needs a formula. */
static laze_status find_needs(history *self, laze_error *error) {
  const laze_derivative *derivative = self->info->derivative;
  uint64_t given = derivative->constant;
  for (int32_t i = 0; i < self->call->operand_count; i++)
    if (!laze_value_is_none(self->call->operands[i]) && value_of(self, self->call->operands[i])->edge.node)
      self->wanted |= UINT64_C(1) << segment_of(self, i);
  for (int32_t i = 0; i < derivative->gradient_count; i++) {
    const laze_gradient_formula *formula = &derivative->gradients[i];
    given |= formula->gives;
    if ((formula->gives & self->wanted) == 0) continue;
    self->operands |= formula->operands;
    self->kept |= formula->results;
  }
  const uint64_t missing = self->wanted & ~given;
  self->wanted &= ~derivative->constant;
  if (missing == 0 || derivative->not_implemented) return LAZE_OK;
  return laze_fail(error, LAZE_UNSUPPORTED,
                   "%s: argument '%s' requires a gradient, for which there is no formula; detach it, or call this "
                   "where no gradients are recorded",
                   self->info->name, segment_name(self->info, __builtin_ctzll(missing)));
}

static int32_t count_values(const history *self) {
  return self->call->operand_count + self->result_count;
}

static laze_value nth_value(const history *self, int32_t index) {
  const int32_t operands = self->call->operand_count;
  return index < operands ? self->call->operands[index] : self->results[index - operands];
}

/* Whether the value is needed, and not its type alone. */
static bool is_read(const history *self, int32_t index) {
  const int32_t operands = self->call->operand_count;
  return index < operands ? self->operands >> segment_of(self, index) & 1 : self->kept >> (index - operands) & 1;
}

static void count_definer(void *self, laze_pending *definer) {
  (void)definer;
  ((history *)self)->definers++;
}

static void keep_definer(void *self, laze_pending *definer) {
  laze_grad_node *node = self;
  node->definers[node->definer_count++] = &definer->cells[0];
  laze_cell_retain(&definer->cells[0]);
}

/* What defines the sizes that attributes have and that are not known yet. */
static laze_status each_definer(const history *self, void (*visit)(void *visitor, laze_pending *definer), void *visitor,
                                laze_error *error) {
  laze_record_state *state = self->state;
  for (int i = 0; i < self->info->attribute_count && state->sizes; i++) {
    const laze_size *sizes;
    int32_t count;
    if (!laze_attribute_find_sizes(&self->call->attributes[i], &sizes, &count)) continue;
    LAZE_TRY(laze_unknowns_each_definer(state->thread->lazy, sizes, count, visit, visitor, error));
  }
  return LAZE_OK;
}

static int64_t node_size(const history *self) {
  const int32_t count = count_values(self);
  int64_t size = (int64_t)sizeof(laze_grad_node) + self->call->operand_count * (int64_t)sizeof(laze_edge) +
                 count * (int64_t)(sizeof(laze_saved) + sizeof(int64_t)) +
                 self->info->attribute_count * (int64_t)sizeof(laze_attribute) +
                 self->definers * (int64_t)sizeof(laze_cell *) +
                 round_up(self->info->segment_count * (int64_t)sizeof(int32_t));
  for (int32_t i = 0; i < count; i++)
    if (!laze_value_is_none(nth_value(self, i)))
      size += value_of(self, nth_value(self, i))->type.rank * (int64_t)sizeof(int64_t);
  for (int32_t i = 0; i < self->info->attribute_count; i++)
    if (laze_add_overflows(size, round_up(laze_attribute_payload_bytes(&self->call->attributes[i])), &size)) return -1;
  return size;
}

/* A type with sizes that are not known yet is the cell's, which will know them. */
static void save_value(const history *self, laze_saved *saved, int32_t index) {
  const laze_frame_value *value = value_of(self, nth_value(self, index));
  if (is_read(self, index)) {
    laze_saved_keep(self->state->thread->lazy, saved, value->cell, value->storage);
  } else if (laze_type_is_unknown(&value->type)) {
    saved->cell = value->cell;
    laze_cell_retain(saved->cell);
  }
}

static int64_t *write_types(const history *self, int64_t *words) {
  for (int32_t i = 0; i < count_values(self); i++) {
    static const laze_type none = {.kind = LAZE_TYPE_NONE};
    const laze_value value = nth_value(self, i);
    const laze_type *type = laze_value_is_none(value) ? &none : &value_of(self, value)->type;
    *words++ = laze_type_word(type);
    for (int k = 0; k < type->rank; k++) *words++ = type->sizes[k];
  }
  return words;
}

static void fill_node(const history *self, laze_grad_node *node) {
  const laze_call *call = self->call;
  node->op = call->op;
  node->location = call->location;
  node->operand_count = call->operand_count;
  node->result_count = self->result_count;
  node->saved_count = count_values(self);
  node->edges = (laze_edge *)(void *)(node + 1);
  node->saved = (laze_saved *)(void *)(node->edges + call->operand_count);
  node->attributes = (laze_attribute *)(void *)(node->saved + count_values(self));
  node->definers = (laze_cell **)(void *)(node->attributes + self->info->attribute_count);
  int64_t *words = (int64_t *)(void *)(node->definers + self->definers);
  node->types = words;
  char *cursor = (char *)write_types(self, words);
  for (int32_t i = 0; i < call->operand_count; i++)
    if (!laze_value_is_none(call->operands[i]))
      node->edges[i] = laze_edge_retain(value_of(self, call->operands[i])->edge);
  for (int32_t i = 0; i < count_values(self); i++)
    if (!laze_value_is_none(nth_value(self, i))) save_value(self, &node->saved[i], i);
  for (int32_t i = 0; i < self->info->attribute_count; i++) {
    node->attributes[i] = call->attributes[i];
    laze_attribute_copy_payload(&node->attributes[i], cursor);
    cursor += round_up(laze_attribute_payload_bytes(&node->attributes[i]));
  }
  if (!call->segments) return;
  memcpy(cursor, call->segments, (size_t)self->info->segment_count * sizeof(int32_t));
  node->segments = (const int32_t *)(void *)cursor;
}

/* Whether a gradient can belong to a result. */
static bool is_differentiable(const history *self, int32_t result) {
  return self->info->derivative->differentiable >> result & 1 &&
         laze_dtype_is_inexact(value_of(self, self->results[result])->type.dtype);
}

/* What was made in inference mode cannot be kept: nobody would notice its changes. */
static laze_status check_kept(const history *self, laze_error *error) {
  for (int32_t i = 0; i < self->call->operand_count; i++) {
    if (laze_value_is_none(self->call->operands[i]) || !is_read(self, i)) continue;
    const laze_storage *storage = value_of(self, self->call->operands[i])->storage;
    if (storage && storage->inference)
      return laze_fail(error, LAZE_FAILED_PRECONDITION,
                       "%s: argument '%s' was made in inference mode, and its value is needed for gradients; use a "
                       "copy that is made outside of it",
                       self->info->name, segment_name(self->info, segment_of(self, i)));
  }
  return LAZE_OK;
}

/* Formulas that are not known to be right for complex results must not give wrong gradients silently. */
static laze_status check_complex(const history *self, laze_error *error) {
  if (self->info->derivative->is_complex || self->info->derivative->not_implemented) return LAZE_OK;
  for (int32_t i = 0; i < self->result_count; i++)
    if (is_differentiable(self, i) && laze_dtype_is_complex(value_of(self, self->results[i])->type.dtype))
      return laze_fail(error, LAZE_UNSUPPORTED,
                       "%s: the result is complex and requires a gradient, for which its formula is not meant; detach "
                       "the arguments, or call this where no gradients are recorded",
                       self->info->name);
  return LAZE_OK;
}

/* Has the results' gradients go to a node of the call. */
static laze_status leave_node(history *self, laze_error *error) {
  laze_lazy *lazy = self->state->thread->lazy;
  bool any = false;
  for (int32_t i = 0; i < self->result_count; i++) any |= is_differentiable(self, i);
  if (!any) return LAZE_OK;
  LAZE_TRY(find_needs(self, error));
  if (self->wanted == 0) return LAZE_OK;
  LAZE_TRY(check_complex(self, error));
  LAZE_TRY(check_kept(self, error));
  LAZE_TRY(each_definer(self, count_definer, self, error));
  const int64_t size = node_size(self);
  laze_grad_node *node = size < 0 ? NULL : laze_grad_node_create(lazy, size);
  if (!node) return laze_fail_memory(error, "what a gradient needs", size);
  fill_node(self, node);
  laze_capture_node(self->state->thread, node);
  if (self->definers > 0) {
    laze_grad_node_note_unknown(lazy, node);
    const laze_status status = each_definer(self, keep_definer, node, error);
    if (status != LAZE_OK) laze_edge_release(lazy, (laze_edge){node, 0});
    LAZE_TRY(status);
  }
  for (int32_t i = 0; i < self->result_count; i++) {
    laze_frame_value *value = value_of(self, self->results[i]);
    const laze_edge old = value->edge;
    if (!is_differentiable(self, i)) continue;
    value->edge = laze_edge_retain((laze_edge){node, i});
    laze_edge_release(lazy, old);
  }
  laze_edge_release(lazy, (laze_edge){node, 0});
  return LAZE_OK;
}

/* Whether the call is differentiated as what it consists of: a composite without formula, and forms of a primitive
 * that its formulas are not for. */
static bool is_sum_of_parts(const laze_op_info *info, const laze_call *call) {
  if (info->must_expand && info->must_expand(call)) return true;
  return !info->derivative && info->expand && info->op_class == LAZE_CLASS_COMPOSITE;
}

/* A primitive that has no derivative at all. */
static laze_status check_derivative(const history *self, laze_error *error) {
  for (int32_t i = 0; i < self->result_count; i++)
    if (laze_dtype_is_inexact(value_of(self, self->results[i])->type.dtype))
      return laze_fail(error, LAZE_UNSUPPORTED,
                       "%s: an argument requires a gradient, but this operator has none; detach it, or call this where "
                       "no gradients are recorded",
                       self->info->name);
  return LAZE_OK;
}

laze_status laze_layer_autograd(laze_record_state *state, const laze_call *call, laze_layers below, laze_value *results,
                                laze_error *error) {
  const laze_op_info *info = laze_op_get(call->op);
  if (is_sum_of_parts(info, call)) return laze_record_expansion(state, call, true, results, error);
  laze_value own[LAZE_PENDING_MAX_RESULTS]; /* the caller's room for results may be that of its operands */
  LAZE_TRY(laze_layers_record(state, call, below, own, error));
  history self = {.state = state, .info = info, .call = call, .results = own};
  self.result_count = info->result_count >= 0 ? info->result_count : laze_call_result_count(call);
  if (info->derivative != &laze_derivative_none)
    LAZE_TRY(info->derivative ? leave_node(&self, error) : check_derivative(&self, error));
  for (int32_t i = 0; i < self.result_count; i++) results[i] = own[i];
  return LAZE_OK;
}

laze_status laze_history_pass_on(laze_record_state *state, laze_value value, laze_location location,
                                 laze_error *error) {
  const laze_attribute dtype = laze_attribute_dtype(state->values[value.node].type.dtype);
  const laze_call call = {
      .op = LAZE_OP_TO_DTYPE, .operand_count = 1, .operands = &value, .attributes = &dtype, .location = location};
  history self = {.state = state, .info = laze_op_get(call.op), .call = &call, .results = &value, .result_count = 1};
  return leave_node(&self, error);
}
