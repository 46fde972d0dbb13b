/* Which steps lead from an argument to a result of its call:
 *
 *   select(x, 0, 2)      was recorded as     slice x, 2:3    reshape %0
 *                        read back as        <── step 1      <── step 2
 *
 * Nearly all operators that give views are composites of a few movements, each of one operand: the nodes that were
 * recorded, from the result back to the argument, are the steps. The others (`whole`) are a step themselves. A result
 * with anything else on the way is a copy.
 */
#include "lazy/record/alias.h"

#include "ir/attribute.h"
#include "ir/op.gen.h"
#include "ir/recorder.h"
#include "lazy/lazy.h"
#include "lazy/record/frame.h"
#include "lazy/record/record_state.h"
#include "lazy/thread.h"
#include "lazy/value/cell.h"
#include "lazy/value/pending.h"
#include "lazy/value/view.h"
#include "lazy/views/geometry.h"

/* Whether each result is a view of a tensor of its own, of the list that the argument is. */
static bool is_pairwise(const laze_op_info *info) {
  int32_t segment = 0, i = 0;
  for (; segment < info->aliased; i++) segment += laze_argument_is_operand(info->arguments[i].kind);
  return info->arguments[i - 1].kind == LAZE_ARGUMENT_TENSOR_LIST;
}

/* The argument whose memory a result is; false: there is none in this call. */
static bool find_argument(const laze_frame *frame, const laze_call *call, int32_t result, int32_t *operand,
                          laze_slot **out) {
  const laze_op_info *info = laze_op_get(frame->op);
  const int32_t count = laze_call_segment(call, info->aliased - 1, operand);
  if (count < 1) return false;
  if (is_pairwise(info)) *operand += result;
  *out = frame->operands[*operand].tensor ? laze_handle_slot(frame->operands[*operand].tensor) : NULL;
  return *out != NULL;
}

/* Whether a view that is its own base lies as a tensor does that never was a view. */
static bool is_row_major(const laze_slot *slot) {
  laze_geometry geometry;
  laze_type type;
  if (laze_storage_is_view(slot->storage)) return false;
  laze_slot_type(slot, &type);
  return laze_view_geometry(slot->storage, &type, &geometry) && geometry.offset == 0 &&
         laze_geometry_is_contiguous(&geometry);
}

laze_status laze_alias_begin(laze_thread_state *thread, const laze_frame *frame, laze_call *call, laze_alias_room *room,
                             laze_error *error) {
  laze_slot *slot;
  int32_t operand;
  if (frame->op != LAZE_OP_AS_STRIDED || !find_argument(frame, call, 0, &operand, &slot) || !slot->storage->view ||
      is_row_major(slot))
    return LAZE_OK;
  const laze_view *view = slot->storage->view;
  const laze_storage *base = view->base;
  laze_frame_value *value = &thread->record->values[call->operands[operand].node];
  if (view->unsized || view->dtype != base->cell->dtype || base == view->own)
    return laze_fail(error, LAZE_UNSUPPORTED,
                     "as_strided: the tensor is a view of one that is gone, of another dtype, or of sizes that follow "
                     "from values; call it on what it is a view of, or on a copy");
  const bool has_history = slot->grad_node || (view->origin && laze_storage_edge(view->origin).node);
  if (view->origin != base && has_history && laze_thread_tracks(thread))
    return laze_fail(error, LAZE_UNSUPPORTED,
                     "as_strided: the tensor shares the memory of another and has a history of its own, as what detach "
                     "gave; call it on a copy");
  for (int i = 0; i < 3; i++) room->attributes[i] = call->attributes[i];
  if (!room->attributes[LAZE_AS_STRIDED_STORAGE_OFFSET].present)
    room->attributes[LAZE_AS_STRIDED_STORAGE_OFFSET] = laze_attribute_size(view->offset);
  call->attributes = room->attributes;
  laze_cell_retain(base->cell);
  laze_cell_release(thread->lazy, value->cell);
  value->cell = base->cell;
  laze_cell_type(base->cell, &value->type);
  laze_edge_release(thread->lazy, value->edge);
  value->edge = (laze_edge){NULL, 0};
  if (view->origin && laze_thread_tracks(thread)) value->edge = laze_edge_retain(laze_storage_edge(view->origin));
  return LAZE_OK;
}

/* --- the steps of a result --- */

typedef struct {
  laze_thread_state *thread;
  const laze_call *call;
  const laze_slot *argument;
  const laze_cell *from; /* the argument's */
  laze_view_recipe recipe;
  laze_geometry geometry;
} alias;

/* Operators that are a step themselves, and as which operator, whose attributes are the same ones. */
static laze_op whole_step(laze_op op) {
  static const laze_op steps[][2] = {
      {LAZE_OP_DIAGONAL, LAZE_OP_DIAGONAL},
      {LAZE_OP_LINALG_DIAGONAL, LAZE_OP_DIAGONAL},
      {LAZE_OP_AS_STRIDED, LAZE_OP_AS_STRIDED},
      {LAZE_OP_VIEW_AS_REAL, LAZE_OP_VIEW_AS_REAL},
      {LAZE_OP_VIEW_AS_COMPLEX, LAZE_OP_VIEW_AS_COMPLEX},
  };
  for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
    if (steps[i][0] == op) return steps[i][1];
  return LAZE_OP_NONE;
}

static bool has_unknown_sizes(laze_op op, const laze_attribute *attributes) {
  for (int32_t i = 0; i < laze_op_get(op)->attribute_count; i++) {
    const laze_size *sizes;
    int32_t count;
    if (!laze_attribute_find_sizes(&attributes[i], &sizes, &count)) continue;
    for (int32_t k = 0; k < count; k++)
      if (!laze_size_is_constant(sizes[k])) return true;
  }
  return false;
}

/* Adds a step. *follows false: it is no movement, or strides do not allow it. */
static laze_status add_step(alias *self, laze_op op, const laze_attribute *attributes, const laze_type *result,
                            bool *follows, laze_error *error) {
  laze_lazy *lazy = self->thread->lazy;
  *follows = laze_geometry_is_movement(op);
  self->recipe.whole = false;
  self->recipe.unsized |= laze_type_is_unknown(result) || has_unknown_sizes(op, attributes);
  if (!*follows || self->recipe.unsized) return LAZE_OK;
  *follows = laze_geometry_follow(&self->geometry, op, attributes, result);
  if (!*follows) return LAZE_OK;
  laze_view_step *step =
      laze_view_step_create(lazy, self->recipe.last, op, attributes, !laze_geometry_is_injective(&self->geometry));
  if (!step) return laze_fail_memory(error, "a view", -1);
  laze_view_step_release(lazy, self->recipe.last);
  self->recipe.last = step;
  return LAZE_OK;
}

/* A conversion to the dtype that is there already moves nothing, nor does the real part of what is real. */
static bool is_identity(const laze_pending *node) {
  return (node->op == LAZE_OP_TO_DTYPE || node->op == LAZE_OP_REAL) && node->operands[0]->dtype == node->cells[0].dtype;
}

/* The movements from the argument to the result. */
static laze_status add_movements(alias *self, const laze_cell *result, bool *follows, laze_error *error) {
  enum { MOST = 8 };
  const laze_pending *nodes[MOST];
  int count = 0;
  for (const laze_cell *cell = result; cell != self->from; cell = cell->node->operands[0]) {
    const laze_pending *node = cell->node;
    *follows = count < MOST && node && laze_cell_is_pending(cell) && node->result_count == 1 &&
               laze_pending_call_operands(node) == 1;
    if (!*follows) return LAZE_OK;
    if (!is_identity(node)) nodes[count++] = node;
  }
  while (count-- > 0 && *follows) {
    laze_type type;
    laze_cell_type(&nodes[count]->cells[0], &type);
    LAZE_TRY(add_step(self, nodes[count]->op, nodes[count]->attributes, &type, follows, error));
  }
  return LAZE_OK;
}

/* --- views --- */

/* PyTorch's view refuses where reshape copies. */
static laze_status refuse_copy(const alias *self, const laze_type *result, laze_error *error) {
  char text[128];
  if (self->call->op != LAZE_OP_VIEW && self->call->op != LAZE_OP_VIEW_AS) return LAZE_OK;
  return laze_fail(
      error, LAZE_INVALID_ARGUMENT,
      "%s: elements of the tensor, which is a view, lie in another order than %s needs; use reshape, which "
      "copies then",
      laze_op_get(self->call->op)->name, laze_type_format(NULL, result, text, sizeof text));
}

static laze_status find_steps(alias *self, laze_value value, bool *follows, laze_error *error) {
  const laze_frame_value *result = &self->thread->record->values[value.node];
  const laze_op op = whole_step(self->call->op);
  if (self->call->op == LAZE_OP_CONTIGUOUS) {
    laze_type type;
    laze_slot_type(self->argument, &type);
    *follows = laze_view_is_contiguous(self->argument->storage, &type);
  }
  if (!*follows) return LAZE_OK;
  return op == LAZE_OP_NONE ? add_movements(self, result->cell, follows, error)
                            : add_step(self, op, self->call->attributes, &result->type, follows, error);
}

/* Makes one result a view of the argument, if it is one. */
static laze_status attach(alias *self, laze_value value, laze_slot *slot, laze_error *error) {
  const laze_storage *parent = self->argument->storage;
  const laze_frame_value *result = &self->thread->record->values[value.node];
  laze_lazy *lazy = self->thread->lazy;
  laze_type type;
  bool follows = result->cell->state != LAZE_CELL_ERROR;
  laze_slot_type(self->argument, &type);
  self->recipe.unsized = !laze_view_geometry(parent, &type, &self->geometry);
  const bool of_base = self->call->op == LAZE_OP_AS_STRIDED;
  self->recipe.whole = laze_storage_is_whole(parent);
  if (of_base && laze_storage_is_view(parent)) /* its steps do not lead through a part that has a history of its own */
    self->recipe.detached = parent->view->origin != parent->view->base;
  self->recipe.last = parent->view && !of_base ? parent->view->last : NULL;
  if (self->recipe.last) self->recipe.last->references++;
  laze_status status = find_steps(self, value, &follows, error);
  if (status == LAZE_OK && follows) status = laze_view_attach(lazy, slot, &self->recipe, error);
  if (status == LAZE_OK && !follows) status = refuse_copy(self, &result->type, error);
  laze_view_step_release(lazy, self->recipe.last);
  return status;
}

laze_status laze_alias_end(laze_thread_state *thread, const laze_frame *frame, const laze_call *call,
                           const laze_value *values, laze_tensor *const *results, int32_t count, laze_error *error) {
  const laze_op_info *info = laze_op_get(frame->op);
  const bool several = info->result_count < 0 && !is_pairwise(info);
  const uint64_t family = several ? ++thread->lazy->mark : 0;
  const laze_view_kind kind = !laze_thread_tracks(thread) ? LAZE_VIEW_NO_GRAD
                              : several                   ? LAZE_VIEW_ONE_OF_SEVERAL
                                                          : LAZE_VIEW_DEFAULT;
  for (int32_t i = 0; i < count; i++) {
    laze_slot *slot = results[i] ? laze_handle_slot(results[i]) : NULL, *argument;
    int32_t operand;
    if (!slot || !find_argument(frame, call, i, &operand, &argument)) continue;
    alias self = {.thread = thread, .call = call, .argument = argument, .from = argument->storage->cell};
    self.recipe =
        (laze_view_recipe){.parent = argument->storage, .geometry = &self.geometry, .family = family, .kind = kind};
    LAZE_TRY(attach(&self, values[i], slot, error));
  }
  return LAZE_OK;
}
