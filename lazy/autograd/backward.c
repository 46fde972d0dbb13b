/* A backward pass: every node on the way from the roots, youngest first, gives the gradients of its operands.
 *
 *   nodes       9 mul    7 exp    4 leaf of x    2 leaf of w         found by a walk over edges, sorted by number
 *   gradients   9.0      7.0      4.0            2.0                 of each result, added up as they come
 *
 * A node is recorded in a frame of its own: the values that it has saved, types for those that it has not, and the
 * gradients of its results; then its formulas, through the recorder that composites use. Nothing is computed. Where the
 * caller's code is called, in hooks and functions, there is no frame, and the lock is free.
 *
 * What leaves and others keep changes at the end, when every node was reached, so that a pass that fails has changed
 * nothing; hooks on what was accumulated come then, and if one fails, everything is put back.
 */
#include "lazy/autograd/backward.h"

#include "base/checked.h"
#include "base/dtype.h"
#include "ir/composite/composite.h"
#include "ir/composite/support.h"
#include "ir/derivative.h"
#include "ir/op.gen.h"
#include "lazy/autograd/anomaly.h"
#include "lazy/autograd/checkpoint.h"
#include "lazy/autograd/function.h"
#include "lazy/autograd/hooks.h"
#include "lazy/lazy.h"
#include "lazy/record/expander.h"
#include "lazy/record/record_state.h"
#include "lazy/record/write.h"
#include "lazy/run/size_sync.h"
#include "lazy/thread.h"
#include "lazy/value/cell.h"
#include "lazy/value/failure.h"
#include "lazy/value/handle.h"
#include "lazy/value/pending.h"
#include "lazy/value/view.h"

#include <stdlib.h>

/* A gradient that is to be added to what is kept, and what puts that back. */
typedef struct {
  laze_edge place; /* referenced */
  laze_gradient gradient;
  enum { NOT_STORED, REPLACED, WRITTEN } stored;
  laze_slot *before;    /* REPLACED: what was kept, owned; NULL: nothing */
  laze_storage *memory; /* WRITTEN: that of what is kept, referenced, */
  laze_cell *value;     /* and its value before, referenced */
} kept_gradient;

typedef struct {
  laze_thread_state *thread;
  laze_lazy *lazy;
  const laze_backward_pass *asked;
  laze_grad_node **nodes; /* by falling numbers */
  int64_t *firsts;        /* of each, which of `gradients` is its first result's */
  bool *wanted;           /* of each, whether a gradient is asked for there or behind it */
  bool *reached;          /* of each, whether its gradients were recorded */
  int64_t count, capacity;
  laze_gradient *gradients;
  int64_t gradient_count;
  laze_value *operands; /* of the node that is being recorded, with results and gradients */
  laze_value *given;    /* of each of its operands, its gradient */
  kept_gradient *kept;
  int64_t kept_count, kept_capacity;
  int32_t *segments;
  int64_t operand_capacity, given_capacity, segment_capacity;
  bool failed;          /* a value that was used had failed when it ran */
  laze_pending *newest; /* what was recorded last before; NULL: nothing, or the lock has been free since */
} backward;

/* --- which nodes --- */

static laze_status add_node(backward *self, laze_grad_node *node, laze_error *error) {
  if (!node || node->mark == self->lazy->mark) return LAZE_OK;
  void *array = self->nodes;
  LAZE_TRY(laze_grow(self->lazy->context, &array, &self->capacity, self->count + 1, sizeof(laze_grad_node *), error));
  self->nodes = array;
  node->mark = self->lazy->mark;
  self->nodes[self->count++] = node;
  return LAZE_OK;
}

static int by_falling_number(const void *left, const void *right) {
  const laze_grad_node *a = *(laze_grad_node *const *)left, *b = *(laze_grad_node *const *)right;
  return (a->number < b->number) - (a->number > b->number);
}

static laze_status find_nodes(backward *self, laze_error *error) {
  self->lazy->mark++;
  for (int32_t i = 0; i < self->asked->root_count; i++) LAZE_TRY(add_node(self, self->asked->roots[i].node, error));
  for (int64_t i = 0; i < self->count; i++)
    for (int32_t k = 0; k < self->nodes[i]->operand_count; k++)
      LAZE_TRY(add_node(self, self->nodes[i]->edges[k].node, error));
  if (self->count > 0) qsort(self->nodes, (size_t)self->count, sizeof(laze_grad_node *), by_falling_number);
  return LAZE_OK;
}

/* The place of a node, or -1. */
static int64_t find_place(const backward *self, const laze_grad_node *node) {
  int64_t low = 0, high = self->count;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (self->nodes[middle]->number > node->number)
      low = middle + 1;
    else
      high = middle;
  }
  return low < self->count && self->nodes[low] == node ? low : -1;
}

/* Where the gradient of an edge adds up; NULL: nobody asks for it. */
static laze_gradient *find_gradient(const backward *self, laze_edge edge) {
  const int64_t place = edge.node ? find_place(self, edge.node) : -1;
  return place < 0 || !self->wanted[place] ? NULL : &self->gradients[self->firsts[place] + edge.result];
}

static void mark_wanted(backward *self) {
  for (int32_t i = 0; i < self->asked->target_count; i++) {
    const int64_t place = self->asked->targets[i].node ? find_place(self, self->asked->targets[i].node) : -1;
    if (place >= 0) self->wanted[place] = true;
  }
  for (int64_t i = self->count; i-- > 0;) {
    const laze_grad_node *node = self->nodes[i];
    if (!self->asked->targets) self->wanted[i] = true;
    for (int32_t k = 0; k < node->operand_count && !self->wanted[i]; k++)
      if (node->edges[k].node) self->wanted[i] = self->wanted[find_place(self, node->edges[k].node)];
  }
}

static laze_status make_room(backward *self, laze_error *error) {
  laze_context *context = self->lazy->context;
  self->firsts = laze_alloc_array(context, self->count, sizeof *self->firsts);
  self->wanted = laze_alloc_array(context, self->count, sizeof *self->wanted);
  self->reached = laze_alloc_zero(context, self->count * (int64_t)sizeof *self->reached);
  if (!self->firsts || !self->wanted || !self->reached) return laze_fail_memory(error, "a backward pass", self->count);
  for (int64_t i = 0; i < self->count; i++) {
    self->wanted[i] = false;
    self->firsts[i] = self->gradient_count;
    self->gradient_count += self->nodes[i]->result_count;
  }
  self->gradients = laze_alloc_array(context, self->gradient_count, sizeof *self->gradients);
  if (!self->gradients) return laze_fail_memory(error, "a backward pass", self->gradient_count);
  for (int64_t i = 0; i < self->gradient_count; i++) self->gradients[i] = (laze_gradient){.cell = NULL};
  return LAZE_OK;
}

/* --- a node's frame --- */

static laze_status push_value(backward *self, laze_cell *cell, const laze_type *type, laze_edge edge, laze_value *out,
                              laze_error *error) {
  laze_record_state *state = self->thread->record;
  *out = (laze_value){(int32_t)state->value_count, 0};
  if (laze_type_is_unknown(type)) state->sizes = self->lazy->unknowns.table;
  if (cell && cell->state == LAZE_CELL_ERROR) {
    if (laze_cell_lacks_type(cell))
      return laze_fail(error, cell->value.failure->code, "%s", cell->value.failure->message);
    self->failed = true;
  }
  if (cell) laze_cell_retain(cell);
  LAZE_TRY(laze_frame_push(state, cell, type, error));
  if (self->asked->creates_history) state->values[out->node].edge = laze_edge_retain(edge);
  return LAZE_OK;
}

/* Whether a gradient can belong to a result. */
static bool has_history(const laze_grad_node *node, int32_t result, laze_dtype dtype) {
  return laze_op_get(node->op)->derivative->differentiable >> result & 1 && laze_dtype_is_inexact(dtype);
}

static laze_status push_saved(backward *self, laze_grad_node *node, laze_error *error) {
  const int64_t *words = node->types;
  for (int32_t i = 0; i < node->operand_count + node->result_count; i++) {
    const laze_saved *saved = &node->saved[i];
    const bool is_operand = i < node->operand_count;
    laze_edge edge = {NULL, 0};
    laze_type type;
    words = laze_grad_type_read(words, &type);
    if (is_operand)
      edge = node->edges[i];
    else if (has_history(node, i - node->operand_count, type.dtype))
      edge = (laze_edge){node, i - node->operand_count};
    self->operands[i] = LAZE_VALUE_NONE;
    if (type.kind == LAZE_TYPE_NONE && is_operand) continue;
    if (saved->cell) laze_cell_type(saved->cell, &type);
    LAZE_TRY(laze_saved_check(node, saved, error));
    LAZE_TRY(push_value(self, saved->held ? saved->cell : NULL, &type, edge, &self->operands[i], error));
  }
  return LAZE_OK;
}

static laze_status push_zeros(laze_recorder *recorder, const laze_type *type, laze_value *out, laze_error *error) {
  const laze_type copy = *type;
  return laze_compose_full(recorder, (laze_dtype)copy.dtype, laze_scalar_integer(0), copy.sizes, copy.rank, out, error);
}

/* The gradients of the node's results that there are. */
static laze_status push_gradients(backward *self, const laze_grad_node *node, int64_t place, laze_error *error) {
  const int32_t before = node->operand_count + node->result_count;
  for (int32_t i = 0; i < node->result_count; i++) {
    const laze_gradient *gradient = &self->gradients[self->firsts[place] + i];
    laze_value *out = &self->operands[before + i];
    laze_type type;
    *out = LAZE_VALUE_NONE;
    if (!gradient->cell) continue;
    laze_cell_type(gradient->cell, &type);
    LAZE_TRY(push_value(self, gradient->cell, &type, gradient->history, out, error));
  }
  return LAZE_OK;
}

static laze_status reserve_arrays(backward *self, const laze_grad_node *node, int32_t segments, laze_error *error) {
  laze_context *context = self->lazy->context;
  void *operands = self->operands, *given = self->given, *numbers = self->segments;
  const int64_t count = node->operand_count + 2 * (int64_t)node->result_count; /* and once more for a formula's call */
  LAZE_TRY(laze_grow(context, &operands, &self->operand_capacity, 2 * count, sizeof *self->operands, error));
  self->operands = operands;
  LAZE_TRY(laze_grow(context, &given, &self->given_capacity, 2 * (int64_t)node->operand_count + 1, sizeof *self->given,
                     error));
  self->given = given;
  LAZE_TRY(laze_grow(context, &numbers, &self->segment_capacity, segments, sizeof *self->segments, error));
  self->segments = numbers;
  return LAZE_OK;
}

/* The node's call with the segments that formulas have besides: gradients that there are not are zeros, or absent. */
static laze_status extend_call(backward *self, laze_recorder *recorder, const laze_grad_node *node,
                               const laze_gradient_formula *formula, laze_call *out, laze_error *error) {
  const int32_t own = laze_op_get(node->op)->segment_count, before = node->operand_count + node->result_count;
  laze_value *operands = self->operands + before + node->result_count;
  int32_t count = before;
  for (int32_t i = 0; i < own; i++) self->segments[i] = node->segments ? node->segments[i] : 1;
  for (int32_t i = 0; i < node->result_count; i++) {
    laze_value *gradient = &self->operands[before + i];
    const laze_value result = self->operands[node->operand_count + i];
    const bool absent = laze_value_is_none(*gradient) && formula->absent >> i & 1;
    if (laze_value_is_none(*gradient) && !absent)
      LAZE_TRY(push_zeros(recorder, &self->thread->record->values[result.node].type, gradient, error));
    self->segments[own + i] = 1;
    self->segments[own + node->result_count + i] = absent ? -1 : 1;
    if (!absent) operands[count++] = *gradient;
  }
  for (int32_t i = 0; i < before; i++) operands[i] = self->operands[i];
  *out = (laze_call){.op = node->op,
                     .operand_count = count,
                     .operands = operands,
                     .segments = self->segments,
                     .attributes = node->attributes,
                     .location = node->location};
  return LAZE_OK;
}

/* The operands in a segment of the node: how many, and the first of them. */
static int32_t segment_of(const laze_grad_node *node, int32_t segment, int32_t *first) {
  *first = 0;
  for (int32_t i = 0; i < segment; i++) {
    const int32_t count = node->segments ? node->segments[i] : 1;
    if (count > 0) *first += count;
  }
  return node->segments ? node->segments[segment] : 1;
}

/* Whether a gradient of one of some segments (bits) is asked for. */
static bool wants_any(const backward *self, const laze_grad_node *node, uint64_t segments) {
  for (int32_t segment = 0; segment < laze_op_get(node->op)->segment_count; segment++) {
    int32_t first;
    const int32_t count = segment_of(node, segment, &first);
    for (int32_t i = 0; segments >> segment & 1 && i < count; i++)
      if (find_gradient(self, node->edges[first + i])) return true;
  }
  return false;
}

/* Records one formula, if somebody asks for what it gives, and puts its results where their operands are. */
static laze_status record_formula(backward *self, laze_recorder *recorder, const laze_grad_node *node,
                                  const laze_gradient_formula *formula, laze_error *error) {
  laze_value *results = self->given + node->operand_count;
  laze_call call;
  int32_t next = 0;
  if (!wants_any(self, node, formula->gives)) return LAZE_OK;
  LAZE_TRY(extend_call(self, recorder, node, formula, &call, error));
  LAZE_TRY(laze_gradient_record(recorder, formula, &call, results, error));
  for (int32_t segment = 0; segment < laze_op_get(node->op)->segment_count; segment++) {
    int32_t first;
    const int32_t count = segment_of(node, segment, &first);
    for (int32_t i = 0; formula->gives >> segment & 1 && i < count; i++) self->given[first + i] = results[next++];
  }
  return LAZE_OK;
}

static laze_status add_up(backward *self, laze_recorder *recorder, laze_value value, laze_gradient *sum,
                          laze_error *error) {
  laze_record_state *state = self->thread->record;
  if (sum->cell) {
    laze_value before;
    laze_type type;
    laze_cell_type(sum->cell, &type);
    LAZE_TRY(push_value(self, sum->cell, &type, sum->history, &before, error));
    LAZE_TRY(laze_compose_binary(recorder, LAZE_OP_ADD, before, value, &value, error));
    laze_gradient_release(self->lazy, sum);
  }
  const laze_frame_value *found = &state->values[value.node];
  laze_cell_retain(found->cell);
  *sum = (laze_gradient){found->cell, laze_edge_retain(found->edge)};
  return LAZE_OK;
}

/* Makes what a node gives fit its operands. It is given to them when all fit, so that it can be begun anew. */
static laze_status fit(backward *self, laze_recorder *recorder, const laze_grad_node *node, laze_error *error) {
  for (int32_t i = 0; i < node->operand_count; i++) {
    if (laze_value_is_none(self->given[i]) || !find_gradient(self, node->edges[i])) continue;
    const laze_type type = self->thread->record->values[self->operands[i].node].type;
    LAZE_TRY(laze_gradient_fit(recorder, self->given[i], &type, &self->given[i], error));
  }
  return LAZE_OK;
}

static laze_status give(backward *self, laze_recorder *recorder, const laze_grad_node *node, laze_error *error) {
  for (int32_t i = 0; i < node->operand_count; i++) {
    laze_gradient *sum = find_gradient(self, node->edges[i]);
    if (!sum || laze_value_is_none(self->given[i])) continue;
    LAZE_TRY(add_up(self, recorder, self->given[i], sum, error));
  }
  return LAZE_OK;
}

/* Takes what a node gives out of the frame, to `out`, where it is not given to its operands yet. */
static void take_out(const backward *self, const laze_grad_node *node, laze_gradient *out) {
  for (int32_t i = 0; i < node->operand_count; i++) {
    if (laze_value_is_none(self->given[i]) || !find_gradient(self, node->edges[i])) continue;
    const laze_frame_value *found = &self->thread->record->values[self->given[i].node];
    laze_cell_retain(found->cell);
    out[i] = (laze_gradient){found->cell, laze_edge_retain(found->edge)};
  }
}

/* Whether a gradient is asked for that no formula gives, although there is one. */
static bool wants_missing(const backward *self, const laze_grad_node *node) {
  const laze_derivative *derivative = laze_op_get(node->op)->derivative;
  uint64_t given = derivative->constant;
  if (!derivative->not_implemented) return false;
  for (int32_t i = 0; i < derivative->gradient_count; i++) given |= derivative->gradients[i].gives;
  return wants_any(self, node, ~given);
}

static laze_status check_node(const backward *self, const laze_grad_node *node, laze_error *error) {
  const laze_op_info *info = laze_op_get(node->op);
  LAZE_TRY(laze_released_check(node, error));
  if (node->lost)
    return laze_fail(error, LAZE_OUT_OF_RANGE,
                     "%s: a size among its arguments was not known when it was called, and cannot be computed from "
                     "what was found",
                     info->name);
  for (int32_t i = 0; i < node->definer_count; i++)
    if (node->definers[i]->state == LAZE_CELL_ERROR)
      return laze_fail(error, node->definers[i]->value.failure->code, "%s", node->definers[i]->value.failure->message);
  if (wants_missing(self, node))
    return laze_fail(error, LAZE_UNSUPPORTED, "%s: its gradient is not implemented: %s", info->name,
                     info->derivative->not_implemented);
  return LAZE_OK;
}

/* The node's frame, from its values to the gradients of its operands, which go to `out` if that is not NULL. */
static laze_status record_node(backward *self, laze_grad_node *node, int64_t place, laze_gradient *out,
                               laze_error *error) {
  const laze_derivative *derivative = laze_op_get(node->op)->derivative;
  const int32_t segments = laze_op_get(node->op)->segment_count + 2 * node->result_count;
  laze_expander expander;
  LAZE_TRY(check_node(self, node, error)); /* each time, as the lock may have been free since the last */
  LAZE_TRY(reserve_arrays(self, node, segments, error));
  if (node->unknown) self->thread->record->sizes = self->lazy->unknowns.table;
  LAZE_TRY(push_saved(self, node, error));
  laze_expander_init(&expander, self->thread->record, node->location, node->op);
  expander.tracks = self->asked->creates_history;
  laze_status status = push_gradients(self, node, place, error);
  for (int32_t i = 0; i < node->operand_count; i++) self->given[i] = LAZE_VALUE_NONE;
  for (int32_t i = 0; i < derivative->gradient_count && status == LAZE_OK; i++)
    status = record_formula(self, &expander.recorder, node, &derivative->gradients[i], error);
  if (status == LAZE_OK) status = fit(self, &expander.recorder, node, error);
  if (status == LAZE_OK && !out) status = give(self, &expander.recorder, node, error);
  laze_expander_deinit(&expander);
  if (status == LAZE_OK && out) take_out(self, node, out);
  return status;
}

/* A frame that gives a node's operands what was found for them. */
static laze_status record_given(backward *self, laze_grad_node *node, const laze_gradient *found, laze_error *error) {
  const int64_t *words = node->types;
  laze_expander expander;
  laze_type type;
  LAZE_TRY(reserve_arrays(self, node, 1, error));
  laze_expander_init(&expander, self->thread->record, node->location, node->op);
  expander.tracks = self->asked->creates_history;
  laze_status status = LAZE_OK;
  for (int32_t i = 0; i < node->operand_count && status == LAZE_OK; i++) {
    words = laze_grad_type_read(words, &type);
    self->given[i] = LAZE_VALUE_NONE;
    if (!found[i].cell) continue;
    const laze_edge none = {NULL, 0};
    if (node->saved && !node->function && node->saved[i].cell) laze_cell_type(node->saved[i].cell, &type);
    status = push_value(self, NULL, &type, none, &self->operands[i], error);
    laze_cell_type(found[i].cell, &type);
    if (status == LAZE_OK) status = push_value(self, found[i].cell, &type, found[i].history, &self->given[i], error);
  }
  expander.recorder.sizes = self->thread->record->sizes;
  if (status == LAZE_OK) status = fit(self, &expander.recorder, node, error);
  if (status == LAZE_OK) status = give(self, &expander.recorder, node, error);
  laze_expander_deinit(&expander);
  return status;
}

static bool has_gradient(const backward *self, int64_t place) {
  for (int32_t i = 0; i < self->nodes[place]->result_count; i++)
    if (self->gradients[self->firsts[place] + i].cell) return true;
  return false;
}

/* Finds the number of a size that a formula has to know, so that the node can be recorded anew. */
static bool find_size(backward *self, laze_status *status, laze_error *error) {
  laze_record_state *state = self->thread->record;
  laze_size sides[2];
  uint64_t selection;
  bool found = false;
  if (!state->sizes || !laze_size_take_question(state->sizes, sides)) return false;
  *status = laze_sync_select(self->lazy, sides, 2, &selection, error);
  laze_frame_clear(state);
  self->newest = NULL;
  if (*status == LAZE_OK) *status = laze_sync_selected(self->thread, selection, &found, error);
  return *status == LAZE_OK && found;
}

/* Has a gradient added to what is kept at `place` when the pass is over. */
static laze_status keep_later(backward *self, laze_grad_node *place, const laze_gradient *gradient, laze_error *error) {
  void *array = self->kept;
  LAZE_TRY(
      laze_grow(self->lazy->context, &array, &self->kept_capacity, self->kept_count + 1, sizeof *self->kept, error));
  self->kept = array;
  laze_cell_retain(gradient->cell);
  self->kept[self->kept_count++] = (kept_gradient){
      .place = laze_edge_retain((laze_edge){place, 0}),
      .gradient = {gradient->cell, laze_edge_retain(gradient->history)},
  };
  return LAZE_OK;
}

/* The gradients of a node's results are what they are: hooks of their tensors, and what keeps them. */
static laze_status reach_results(backward *self, laze_grad_node *node, laze_gradient *gradients, laze_error *error) {
  const bool records = self->asked->creates_history;
  if (node->hooks) LAZE_TRY(laze_hooks_of_tensors(self->thread, node, gradients, records, error));
  for (const laze_grad_retained *retained = node->retained; retained; retained = retained->next)
    if (gradients[retained->result].cell)
      LAZE_TRY(keep_later(self, retained->place.node, &gradients[retained->result], error));
  if (node->hooks) LAZE_TRY(laze_hooks_of_results(self->thread, node, gradients, records, error));
  return LAZE_OK;
}

/* What a node gives its operands, by its formulas or its function, to `out`; NULL: it is given to them already. */
static laze_status find_given(backward *self, laze_grad_node *node, int64_t place, laze_gradient *out,
                              laze_error *error) {
  laze_status status;
  if (!node->function) {
    do {
      status = record_node(self, node, place, out, error);
    } while (status != LAZE_OK && find_size(self, &status, error));
    laze_frame_clear(self->thread->record);
    return status;
  }
  int32_t *needed = laze_alloc_array(self->lazy->context, node->operand_count + 1, sizeof *needed);
  if (!needed) return laze_fail_memory(error, "a backward pass", node->operand_count);
  for (int32_t i = 0; i < node->operand_count; i++) needed[i] = find_gradient(self, node->edges[i]) != NULL;
  const laze_function_request asked = {.node = node,
                                       .given = &self->gradients[self->firsts[place]],
                                       .needed = needed,
                                       .records = self->asked->creates_history,
                                       .keeps = self->asked->keeps_saved,
                                       .for_tangents = self->asked->for_tangents};
  status = laze_function_run(self->thread, &asked, out, error);
  laze_free(self->lazy->context, needed);
  return status;
}

/* A node whose gradients the caller's code computes or sees on their way. */
static laze_status reach_slowly(backward *self, laze_grad_node *node, int64_t place, laze_error *error) {
  laze_context *context = self->lazy->context;
  const bool records = self->asked->creates_history;
  laze_gradient *found = laze_alloc_zero(context, (node->operand_count + 1) * (int64_t)sizeof *found);
  if (!found) return laze_fail_memory(error, "a backward pass", node->operand_count);
  laze_status status = find_given(self, node, place, found, error);
  if (status == LAZE_OK)
    status = laze_hooks_of_operands(self->thread, node, found, &self->gradients[self->firsts[place]], records, error);
  if (status == LAZE_OK && self->thread->anomaly) status = laze_anomaly_watch(self->thread, node, found, error);
  self->newest = NULL;
  if (status == LAZE_OK) do {
      status = record_given(self, node, found, error);
    } while (status != LAZE_OK && find_size(self, &status, error));
  laze_frame_clear(self->thread->record);
  for (int32_t i = 0; i < node->operand_count; i++) laze_gradient_release(self->lazy, &found[i]);
  laze_free(context, found);
  return status;
}

/* A hook or a function may begin a pass itself, but not through what the one that calls it lets go of. */
static laze_status enter_node(backward *self, laze_grad_node *node, int64_t place, laze_error *error) {
  if (node->in_use)
    return laze_fail(
        error, LAZE_FAILED_PRECONDITION,
        "%s: a backward pass that is not over goes through it, and lets go of what its gradient needs; ask "
        "that pass to keep the graph (LAZE_RETAIN_GRAPH), or begin this one after it",
        laze_grad_node_name(node));
  node->in_use = !self->asked->keeps_saved && !laze_grad_node_is_leaf(node);
  self->reached[place] = true;
  return LAZE_OK;
}

static laze_status reach_node(backward *self, laze_grad_node *node, int64_t place, laze_error *error) {
  laze_gradient *gradients = &self->gradients[self->firsts[place]];
  LAZE_TRY(enter_node(self, node, place, error));
  if (node->hooks || node->retained) LAZE_TRY(reach_results(self, node, gradients, error));
  if (node->hooks) self->newest = NULL;
  if (!laze_grad_node_is_leaf(node)) {
    if (node->dropped) {
      LAZE_TRY(laze_checkpoint_fill(self->thread, node->checkpoint, gradients, node->result_count, error));
      self->newest = NULL;
    }
    const bool slowly = node->function || laze_hooks_are_behind(node) || self->thread->anomaly;
    return slowly ? reach_slowly(self, node, place, error) : find_given(self, node, place, NULL, error);
  }
  const bool keeps = !self->asked->found && node->handles > 0 && !node->resting;
  return keeps ? keep_later(self, node, gradients, error) : LAZE_OK;
}

static laze_status reach_all(backward *self, laze_error *error) {
  for (int64_t i = 0; i < self->count; i++)
    if (self->wanted[i] && has_gradient(self, i)) LAZE_TRY(reach_node(self, self->nodes[i], i, error));
  return LAZE_OK;
}

/* --- what is kept --- */

/* The gradient takes the place of what is kept. */
static laze_status replace_kept(backward *self, kept_gradient *kept, laze_error *error) {
  laze_slot *own = laze_slot_create_kept(self->lazy, kept->gradient.cell);
  if (!own) return laze_fail_memory(error, "a gradient", -1);
  laze_slot_set_edge(self->lazy, own, kept->gradient.history);
  kept->before = kept->place.node->gradient;
  kept->place.node->gradient = own;
  kept->stored = REPLACED;
  return LAZE_OK;
}

/* Writes the gradient to what is kept, which everybody sees who has asked for that. *done false: that cannot be written
 * to, as what expand gives. */
static laze_status write_kept(backward *self, kept_gradient *kept, bool *done, laze_error *error) {
  const laze_slot *own = kept->place.node->gradient;
  laze_thread_state *thread = self->thread;
  laze_write write = {.name = "a backward pass", .destination = laze_slot_handle(own)};
  laze_type type;
  const bool no_grad = thread->no_grad;
  thread->no_grad = true;
  laze_cell_type(kept->gradient.cell, &type);
  laze_status status = push_value(self, kept->gradient.cell, &type, (laze_edge){NULL, 0}, &write.value, error);
  if (status == LAZE_OK) status = laze_write_prepare(thread->record, &write, error);
  *done = status == LAZE_OK;
  if (*done) {
    kept->memory = own->storage->view ? own->storage->view->base : own->storage;
    kept->memory->references++;
    kept->value = kept->memory->cell;
    laze_cell_retain(kept->value);
    kept->stored = WRITTEN;
    laze_write_commit(thread->record, &write);
  }
  thread->no_grad = no_grad;
  laze_frame_clear(thread->record);
  return status == LAZE_INVALID_ARGUMENT || status == LAZE_FAILED_PRECONDITION ? LAZE_OK : status;
}

/* A leaf whose data was set has a gradient of what it was before, until that is taken away. */
static laze_status check_kept(const laze_type *kept, const laze_cell *added, laze_error *error) {
  laze_type type;
  char text[2][128];
  laze_cell_type(added, &type);
  if (laze_type_equal(kept, &type) || laze_type_is_unknown(kept) || laze_type_is_unknown(&type)) return LAZE_OK;
  return laze_fail(
      error, LAZE_FAILED_PRECONDITION,
      "laze_backward: a gradient of %s is to be added to one of %s, from before the data of its tensor was "
      "set; take that away first",
      laze_type_format(NULL, &type, text[0], sizeof text[0]), laze_type_format(NULL, kept, text[1], sizeof text[1]));
}

/* Adds a gradient to what is kept already. */
static laze_status add_kept(backward *self, kept_gradient *kept, laze_error *error) {
  const laze_slot *own = kept->place.node->gradient;
  laze_expander expander;
  laze_value before;
  laze_type type;
  LAZE_TRY(laze_slot_refresh(self->thread, kept->place.node->gradient, error));
  laze_cell_type(own->storage->cell, &type);
  LAZE_TRY(check_kept(&type, kept->gradient.cell, error));
  laze_expander_init(&expander, self->thread->record, kept->place.node->location, LAZE_OP_NONE);
  expander.tracks = self->asked->creates_history;
  laze_status status = push_value(self, own->storage->cell, &type, laze_slot_edge(own), &before, error);
  if (status == LAZE_OK) status = add_up(self, &expander.recorder, before, &kept->gradient, error);
  laze_expander_deinit(&expander);
  laze_frame_clear(self->thread->record);
  return status;
}

/* What has a history is another tensor than what was kept before. */
static laze_status store(backward *self, kept_gradient *kept, laze_error *error) {
  bool written = false;
  if (kept->place.node->gradient) {
    LAZE_TRY(add_kept(self, kept, error));
    if (!self->asked->creates_history) LAZE_TRY(write_kept(self, kept, &written, error));
  }
  return written ? LAZE_OK : replace_kept(self, kept, error);
}

static laze_status store_all(backward *self, laze_error *error) {
  for (int64_t i = 0; i < self->kept_count; i++) LAZE_TRY(store(self, &self->kept[i], error));
  for (int64_t i = 0; i < self->kept_count; i++) {
    laze_grad_node *place = self->kept[i].place.node;
    if (!place->hooks) continue;
    self->newest = NULL;
    LAZE_TRY(laze_hooks_of_leaf(self->thread, place, self->asked->creates_history, error));
  }
  return LAZE_OK;
}

/* Lets go of what puts back what was kept before, which `failed` does. */
static void settle_kept(laze_lazy *lazy, kept_gradient *kept, bool failed) {
  if (kept->stored == REPLACED && failed)
    laze_grad_leaf_set(lazy, kept->place.node, kept->before);
  else if (kept->stored == REPLACED && kept->before)
    laze_handle_drop(lazy, kept->before);
  if (kept->stored == WRITTEN) {
    if (failed) laze_storage_write(lazy, kept->memory, kept->value);
    laze_cell_release(lazy, kept->value);
    laze_storage_release(lazy, kept->memory);
  }
  laze_gradient_release(lazy, &kept->gradient);
  laze_edge_release(lazy, kept->place);
}

/* Ends the pass: on failure what was kept before is put back, otherwise nodes let go of what they have saved. */
static void settle(backward *self, bool failed) {
  for (int64_t i = 0; i < self->kept_count; i++) settle_kept(self->lazy, &self->kept[i], failed);
  for (int64_t i = 0; i < self->count && self->reached; i++) {
    laze_grad_node *node = self->nodes[i];
    if (!self->reached[i] || laze_grad_node_is_leaf(node)) continue;
    if (!self->asked->keeps_saved) node->in_use = false;
    if (!failed && !self->asked->keeps_saved) laze_grad_node_release_saved(self->lazy, node);
    if (node->checkpoint) laze_checkpoint_drop(self->lazy, node->checkpoint);
  }
}

/* Puts the roots' gradients where they begin. */
static laze_status begin(backward *self, laze_error *error) {
  laze_status status = LAZE_OK;
  laze_expander expander;
  laze_expander_init(&expander, self->thread->record, (laze_location){0}, LAZE_OP_NONE);
  expander.tracks = self->asked->creates_history;
  for (int32_t i = 0; i < self->asked->root_count && status == LAZE_OK; i++) {
    laze_gradient *gradient = &self->asked->root_gradients[i], *sum = find_gradient(self, self->asked->roots[i]);
    laze_value value;
    laze_type type;
    if (!sum) continue;
    laze_cell_type(gradient->cell, &type);
    status = push_value(self, gradient->cell, &type, gradient->history, &value, error);
    if (status == LAZE_OK) status = add_up(self, &expander.recorder, value, sum, error);
  }
  laze_expander_deinit(&expander);
  laze_frame_clear(self->thread->record);
  return status;
}

static void hand_over(backward *self) {
  for (int32_t i = 0; i < self->asked->target_count && self->asked->found; i++) {
    const laze_gradient *gradient = find_gradient(self, self->asked->targets[i]);
    self->asked->found[i] = (laze_gradient){.cell = NULL};
    if (!gradient || !gradient->cell) continue;
    laze_cell_retain(gradient->cell);
    self->asked->found[i] = (laze_gradient){gradient->cell, laze_edge_retain(gradient->history)};
  }
}

static void finish(backward *self) {
  laze_context *context = self->lazy->context;
  for (int64_t i = 0; self->gradients && i < self->gradient_count; i++)
    laze_gradient_release(self->lazy, &self->gradients[i]);
  for (int32_t i = 0; i < self->asked->root_count; i++) {
    laze_gradient_release(self->lazy, &self->asked->root_gradients[i]);
    laze_edge_release(self->lazy, self->asked->roots[i]);
  }
  for (int32_t i = 0; i < self->asked->target_count; i++) laze_edge_release(self->lazy, self->asked->targets[i]);
  laze_free(context, self->nodes);
  laze_free(context, self->firsts);
  laze_free(context, self->wanted);
  laze_free(context, self->reached);
  laze_free(context, self->kept);
  laze_free(context, self->gradients);
  laze_free(context, self->operands);
  laze_free(context, self->given);
  laze_free(context, self->segments);
}

/* A hook may begin a pass, also the one that called it, which then would never end. */
static laze_status check_depth(const laze_thread_state *thread, laze_error *error) {
  enum { MOST_PASSES = 16 };
  if (thread->passes <= MOST_PASSES) return LAZE_OK;
  return laze_fail(error, LAZE_FAILED_PRECONDITION,
                   "a backward pass is the %dth inside of another; a hook must not begin the pass that called it",
                   (int)thread->passes);
}

laze_status laze_backward_run(laze_thread_state *thread, const laze_backward_pass *pass, laze_error *error) {
  backward self = {.thread = thread, .lazy = thread->lazy, .asked = pass, .newest = thread->lazy->newest};
  for (int32_t i = 0; i < pass->root_count; i++) (void)laze_edge_retain(pass->roots[i]); /* the rest hangs on these */
  for (int32_t i = 0; i < pass->target_count; i++) (void)laze_edge_retain(pass->targets[i]); /* but what is unused */
  thread->passes++;
  laze_status status = check_depth(thread, error);
  if (status == LAZE_OK) status = find_nodes(&self, error);
  if (status == LAZE_OK) status = make_room(&self, error);
  if (status == LAZE_OK) mark_wanted(&self);
  if (status == LAZE_OK) status = begin(&self, error);
  if (status == LAZE_OK) status = reach_all(&self, error);
  if (status == LAZE_OK) status = store_all(&self, error);
  laze_frame_clear(thread->record);
  settle(&self, status != LAZE_OK);
  if (self.failed) laze_cell_spread_failures(self.lazy, self.newest ? self.newest->newer : self.lazy->oldest);
  if (status == LAZE_OK) hand_over(&self);
  finish(&self);
  thread->passes--;
  return status;
}
