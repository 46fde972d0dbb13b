/* Forms of calls that give their results to tensors there are: add_(x, y), t_(x), and add(x, y, out=z).
 *
 *   %0 = add x, y          the call is recorded as any other: what it is made from keeps its values, so that tensors
 *   x: cell of %0          that share them, or are both operand and destination, need no care
 *
 *   %0 = permute x         the result is a view of the tensor, which becomes that: no element is written
 *
 * All results are looked at before the first is given: where one is refused, no tensor changes. */
#include "base/dtype.h"
#include "ir/attribute.h"
#include "ir/op.gen.h"
#include "laze/call.h"
#include "lazy/lazy.h"
#include "lazy/record/expander.h"
#include "lazy/record/record_state.h"
#include "lazy/record/write.h"
#include "lazy/run/budget.h"
#include "lazy/thread.h"
#include "lazy/value/cell.h"
#include "lazy/value/failure.h"
#include "lazy/value/handle.h"
#include "lazy/value/pending.h"
#include "lazy/value/view.h"
#include "lazy/views/sides.h"

/* What becomes of a tensor: it gets the value, or is the view that the result is, or was that already. */
typedef enum { WRITTEN, BECOMES, STAYS } outcome;

/* A call whose results are given away. */
typedef struct {
  int32_t form, count;
  const char *name; /* what messages name */
  laze_tensor *const *destinations, *const *results;
  laze_location location;
  laze_failure *passed_on; /* the error that a result or a destination stands for already */
  outcome outcomes[LAZE_PENDING_MAX_RESULTS];
  bool takes_shape[LAZE_PENDING_MAX_RESULTS];
  laze_write writes[LAZE_PENDING_MAX_RESULTS];
} giving;

/* --- what is refused --- */

static laze_status check_dtype(const giving *self, const laze_type *to, const laze_type *from, laze_error *error) {
  if (laze_dtype_category(from->dtype) <= laze_dtype_category(to->dtype)) return LAZE_OK;
  return laze_fail(error, LAZE_INVALID_ARGUMENT,
                   "%s: the result is %s and cannot be cast to %s, the dtype of the tensor that gets it; convert that "
                   "tensor first, or keep the result as a tensor of its own",
                   self->name, laze_dtype_name(from->dtype), laze_dtype_name(to->dtype));
}

static laze_status check_shape(const giving *self, const laze_type *to, const laze_type *from, laze_error *error) {
  bool equal = to->rank == from->rank;
  for (int i = 0; equal && i < to->rank; i++) equal = to->sizes[i] == from->sizes[i];
  if (equal) return LAZE_OK;
  char text[2][128];
  return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: the result is %s and the tensor that gets it %s; %s", self->name,
                   laze_type_format(NULL, from, text[0], sizeof text[0]),
                   laze_type_format(NULL, to, text[1], sizeof text[1]),
                   self->form == LAZE_IN_PLACE ? "its shape stays as it is, so that nothing broadcasts it"
                                               : "give one of that shape, or one without elements, which takes it");
}

/* A tensor without elements has no shape to keep, unless it shares memory. */
static bool takes_shape(const giving *self, const laze_storage *storage, const laze_type *type) {
  bool empty = false;
  for (int i = 0; i < type->rank; i++) empty = empty || type->sizes[i] == 0;
  return self->form == LAZE_OUT && empty && !storage->view && !storage->views;
}

static laze_status check_gradients(const giving *self, const laze_sides *sides, laze_error *error) {
  if (self->form != LAZE_OUT || (!laze_slot_requires_grad(sides->to) && !sides->from->grad_node)) return LAZE_OK;
  return laze_fail(error, LAZE_FAILED_PRECONDITION,
                   "%s: %s requires a gradient, and out= leaves no history behind; call it without out, or where no "
                   "gradients are recorded",
                   self->name, laze_slot_requires_grad(sides->to) ? "the tensor that gets the result" : "an argument");
}

static laze_failure *failure_of(const laze_slot *slot) {
  const laze_cell *cell = slot->storage->cell;
  return cell && cell->state == LAZE_CELL_ERROR && laze_cell_lacks_type(cell) ? cell->value.failure : NULL;
}

static laze_status check_types(giving *self, const laze_sides *sides, int32_t index, laze_error *error) {
  laze_type to, from;
  laze_slot_type(sides->to, &to);
  laze_slot_type(sides->from, &from);
  LAZE_TRY(check_dtype(self, &to, &from, error));
  self->takes_shape[index] = takes_shape(self, sides->to->storage, &to);
  return self->takes_shape[index] ? LAZE_OK : check_shape(self, &to, &from, error);
}

/* The handle of a result goes, so that nothing else may need it. */
static laze_status check_alone(const giving *self, int32_t index, laze_error *error) {
  for (int32_t i = 0; i < self->count; i++)
    if (self->results[index] == self->destinations[i] || (i < index && self->results[index] == self->results[i]))
      return laze_fail(error, LAZE_INVALID_ARGUMENT,
                       "%s: result %d is %s; each result goes to one tensor, and is none of those that get one",
                       self->name, (int)index,
                       self->results[index] == self->destinations[i] ? "a tensor that gets one" : "given twice");
  return LAZE_OK;
}

static const laze_storage *memory_of(const laze_slot *slot) {
  return laze_storage_is_view(slot->storage) ? slot->storage->view->base : slot->storage;
}

/* A form in place gives a view of its tensor where the operator's results are views, and for nothing else. */
static outcome outcome_of(const giving *self, const laze_sides *sides) {
  const laze_view *view = sides->from->storage->view, *own = sides->to->storage->view;
  if (self->form != LAZE_IN_PLACE || !laze_storage_is_view(sides->from->storage) ||
      view->base != memory_of(sides->to))
    return WRITTEN;
  return view->last == (own ? own->last : NULL) && !view->unsized ? STAYS : BECOMES;
}

/* A tensor becomes a view of itself: its history is the view's. One without is what a leaf keeps. */
static laze_status check_view(const giving *self, const laze_thread_state *thread, const laze_sides *sides,
                              laze_error *error) {
  LAZE_TRY(laze_write_check(thread, self->name, sides->to, sides->from->grad_node, error));
  if (laze_thread_tracks(thread) || laze_slot_is_leaf(sides->to)) return LAZE_OK;
  return laze_fail(error, LAZE_FAILED_PRECONDITION,
                   "%s: the tensor was computed from others that require gradients, and its shape changes where none "
                   "are recorded; call it where they are, or on a detached tensor",
                   self->name);
}

/* Finds the sizes, too, that have to be known. */
static laze_status check(giving *self, laze_thread_state *thread, int32_t index, laze_error *error) {
  laze_sides sides = {.function = self->name, .destination = self->destinations[index], .source = self->results[index]};
  LAZE_TRY(laze_sides_find(thread, &sides, error));
  LAZE_TRY(check_alone(self, index, error));
  self->passed_on = failure_of(sides.from);
  if (!self->passed_on) self->passed_on = failure_of(sides.to);
  if (self->passed_on) return self->passed_on->code;
  self->outcomes[index] = outcome_of(self, &sides);
  if (self->outcomes[index] == STAYS) return LAZE_OK;
  if (self->outcomes[index] == BECOMES) return check_view(self, thread, &sides, error);
  LAZE_TRY(laze_sides_find_sizes(thread, &sides, error));
  if (laze_thread_tracks(thread)) LAZE_TRY(check_gradients(self, &sides, error));
  return check_types(self, &sides, index, error);
}

/* --- what is given --- */

/* The result as a value of the frame. What the call has kept of the tensor that gets it is the value before. */
static laze_status push_result(laze_thread_state *thread, const laze_slot *to, laze_tensor *result, laze_value *out,
                               laze_error *error) {
  laze_slot *slot = laze_handle_slot(result);
  laze_record_state *state = thread->record;
  laze_cell *cell = slot->storage->cell;
  laze_type type;
  laze_cell_type(cell, &type);
  if (laze_type_is_unknown(&type)) state->sizes = thread->lazy->unknowns.table;
  laze_cell_retain(cell);
  *out = (laze_value){(int32_t)state->value_count, 0};
  LAZE_TRY(laze_frame_push(state, cell, &type, error));
  state->values[out->node].edge = laze_edge_retain(laze_slot_edge(slot));
  laze_grad_edge_disown(thread->lazy, laze_slot_edge(slot), state->grad_nodes, to->storage);
  return LAZE_OK;
}

/* The result in the dtype of the tensor that gets it, of which nothing else stays. */
static laze_status convert(laze_record_state *state, laze_write *write, laze_error *error) {
  laze_type type;
  laze_slot_type(laze_handle_slot(write->destination), &type);
  const laze_attribute dtype = laze_attribute_dtype(type.dtype);
  laze_expander expander;
  write->base = write->origin = write->value;
  if (state->values[write->value.node].type.dtype == dtype.value.integer) return LAZE_OK;
  laze_expander_init(&expander, state, write->location, LAZE_OP_NONE);
  laze_status status =
      laze_record_call(&expander.recorder, LAZE_OP_TO_DTYPE, &write->value, 1, &dtype, &write->value, error);
  laze_expander_deinit(&expander);
  write->base = write->origin = write->value;
  return status;
}

/* The last write before `index` to the same memory, whose value the next one goes on from. */
static const laze_write *find_before(const giving *self, int32_t index) {
  const laze_storage *memory = memory_of(laze_handle_slot(self->destinations[index]));
  for (int32_t i = index; i-- > 0;)
    if (self->outcomes[i] == WRITTEN && memory_of(laze_handle_slot(self->destinations[i])) == memory)
      return &self->writes[i];
  return NULL;
}

/* A result's handle goes, which nobody else knows. */
static void commit(giving *self, laze_thread_state *thread, int32_t index) {
  laze_slot *result = laze_handle_slot(self->results[index]), *tensor = laze_handle_slot(self->destinations[index]);
  const laze_slot *history = laze_thread_tracks(thread) ? result : tensor;
  if (self->outcomes[index] == BECOMES) {
    laze_slot_become(thread->lazy, tensor, result, laze_slot_edge(history));
    return;
  }
  laze_handle_drop(thread->lazy, result);
  if (self->outcomes[index] == WRITTEN) laze_write_commit(thread->record, &self->writes[index]);
}

static laze_status give(giving *self, laze_thread_state *thread, laze_error *error) {
  for (int32_t i = 0; i < self->count; i++) LAZE_TRY(check(self, thread, i, error));
  for (int32_t i = 0; i < self->count; i++) {
    if (self->outcomes[i] != WRITTEN) continue;
    laze_write *write = &self->writes[i];
    *write = (laze_write){.name = self->name,
                          .destination = self->destinations[i],
                          .location = self->location,
                          .before = find_before(self, i)};
    LAZE_TRY(push_result(thread, laze_handle_slot(write->destination), self->results[i], &write->value, error));
    LAZE_TRY(self->takes_shape[i] ? convert(thread->record, write, error)
                                  : laze_write_prepare(thread->record, write, error));
  }
  for (int32_t i = 0; i < self->count; i++) commit(self, thread, i);
  return LAZE_OK;
}

static laze_tensor *fail(const giving *self, laze_thread_state *thread, laze_error *error) {
  if (self->passed_on) return laze_handle_create_error(thread, self->passed_on);
  if (self->location.file) laze_error_prefix(error, "%s:%d", self->location.file, (int)self->location.line);
  return laze_handle_fail(thread, error);
}

laze_tensor *laze_results_give_at(int32_t form, const char *name, laze_tensor *const *destinations,
                                  laze_tensor *const *results, int32_t count, const char *file, int32_t line) {
  giving self = {.form = form,
                 .name = name ? name : __func__,
                 .count = count,
                 .destinations = destinations,
                 .results = results,
                 .location = {.file = file, .line = line}};
  laze_error error;
  const bool countable = destinations && results && count > 0 && count <= LAZE_PENDING_MAX_RESULTS;
  for (int32_t i = 0; countable && i < count; i++) /* noted when it arose */
    if (destinations[i] == laze_handle_out_of_memory() || results[i] == laze_handle_out_of_memory())
      return laze_handle_out_of_memory();
  laze_lazy *lazy = countable ? laze_handle_lazy(results[0]) : NULL;
  if (!lazy) lazy = laze_lazy_get(NULL); /* whose scope is told */
  laze_thread_state *thread = lazy ? laze_lazy_lock(lazy) : NULL;
  if (!thread) return laze_handle_out_of_memory();
  laze_status status = countable ? give(&self, thread, &error)
                                 : laze_fail(&error, LAZE_INVALID_ARGUMENT,
                                             "%s: %d results are given; there are 1 to %d, each to a tensor", self.name,
                                             (int)count, LAZE_PENDING_MAX_RESULTS);
  laze_tensor *given = status == LAZE_OK ? destinations[0] : fail(&self, thread, &error);
  laze_frame_clear(thread->record);
  if (laze_backlog_exceeds(&thread->backlog, &lazy->budget)) laze_budget_cut(thread, lazy->newest);
  laze_lazy_unlock(lazy);
  return given;
}
