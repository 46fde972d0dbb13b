/* Inputs of compiled functions: how they lie in memory, which are one tensor, and which share memory. */
#include "base/dtype.h"
#include "lazy/aot/aot.h"
#include "lazy/lazy.h"
#include "lazy/thread.h"
#include "lazy/value/cell.h"
#include "lazy/value/failure.h"
#include "lazy/value/handle.h"

static laze_status find_slot(const char *function, laze_thread_state *thread, int32_t index, laze_tensor *tensor,
                             laze_slot **out, laze_error *error) {
  *out = tensor && laze_handle_lazy(tensor) == thread->lazy ? laze_handle_slot(tensor) : NULL;
  if (tensor == laze_handle_out_of_memory())
    return laze_fail(error, LAZE_OUT_OF_MEMORY, "%s: there was no memory for input %d", function, (int)index);
  if (!*out)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: input %d is %s", function, (int)index,
                     tensor ? "a released handle, or of another context" : "NULL");
  LAZE_TRY(laze_slot_refresh(thread, *out, error));
  laze_cell *cell = (*out)->storage->cell;
  if (cell->state != LAZE_CELL_ERROR) return LAZE_OK;
  cell->value.failure->reported = true;
  return laze_fail(error, cell->value.failure->code, "%s", cell->value.failure->message);
}

static laze_status look_at(const char *function, laze_thread_state *thread, int32_t index, laze_tensor *tensor,
                           laze_aot_given *out, laze_error *error) {
  laze_slot *slot;
  laze_type type;
  LAZE_TRY(find_slot(function, thread, index, tensor, &slot, error));
  laze_slot_type(slot, &type);
  *out = (laze_aot_given){.facts = {.struct_size = sizeof out->facts, .same_as = index}};
  if (!laze_view_geometry(slot->storage, &type, &out->geometry) &&
      !laze_view_geometry(&(laze_storage){0}, &type, &out->geometry))
    return laze_fail(error, LAZE_INTERNAL, "%s: input %d is computed, and has sizes that are not known", function,
                     (int)index);
  out->facts.flags =
      (laze_slot_is_leaf(slot) ? LAZE_AOT_LEAF : 0) | (laze_slot_requires_grad(slot) ? LAZE_AOT_REQUIRES_GRAD : 0);
  out->facts.result = out->facts.gradient = out->facts.tangent = -1;
  return LAZE_OK;
}

laze_status laze_aot_look(const char *function, laze_thread_state *thread, laze_tensor *const *inputs, int32_t count,
                          laze_aot_given *given, laze_error *error) {
  int32_t different = 0;
  for (int32_t i = 0; i < count; i++) {
    int32_t first = 0;
    LAZE_TRY(look_at(function, thread, i, inputs[i], &given[i], error));
    while (inputs[first] != inputs[i]) first++;
    given[i].facts.same_as = first;
    given[i].place = first < i ? given[first].place : different++;
  }
  return LAZE_OK;
}

/* Whose memory it is; NULL: it was released meanwhile. */
static const laze_storage *memory_of(const laze_tensor *tensor) {
  const laze_slot *slot = laze_handle_slot(tensor);
  if (!slot) return NULL;
  return slot->storage->view ? slot->storage->view->base : slot->storage;
}

/* Whether two inputs may have elements in common. */
static bool overlap(const laze_tensor *a, const laze_tensor *b) {
  if (a == b || !memory_of(a) || memory_of(a) != memory_of(b)) return false;
  const laze_view *views[] = {laze_handle_slot(a)->storage->view, laze_handle_slot(b)->storage->view};
  return !views[0] || !views[1] || !laze_views_apart(views[0], views[1]);
}

laze_status laze_aot_check_shared(const char *function, laze_tensor *const *inputs, const laze_aot_given *given,
                                  int32_t count, laze_error *error) {
  for (int32_t i = 0; i < count; i++) {
    if (given[i].facts.result < 0) continue;
    for (int32_t k = 0; k < count; k++)
      if (overlap(inputs[i], inputs[k]))
        return laze_fail(
            error, LAZE_UNSUPPORTED,
            "%s: input %d is written to, and may have elements in common with input %d, as both are in the "
            "memory of one tensor; pass that, and make the views in the function, or pass a copy "
            "(laze_clone)",
            function, (int)i, (int)k);
  }
  return LAZE_OK;
}

/* --- calls --- */

static void describe(const laze_geometry *geometry, laze_text *out) {
  laze_text_format(out, "%s[", laze_dtype_name(geometry->dtype));
  for (int i = 0; i < geometry->rank; i++) laze_text_format(out, "%s%lld", i ? "," : "", (long long)geometry->sizes[i]);
  laze_text_append(out, "] of strides (");
  for (int i = 0; i < geometry->rank; i++)
    laze_text_format(out, "%s%lld", i ? "," : "", (long long)geometry->strides[i]);
  laze_text_append(out, ")");
}

/* Strides of sizes 0 and 1 lead nowhere. */
static bool same_layout(const laze_geometry *a, const laze_geometry *b) {
  if (a->dtype != b->dtype || a->rank != b->rank) return false;
  bool same = true, empty = false;
  for (int i = 0; i < a->rank; i++) {
    if (a->sizes[i] != b->sizes[i]) return false;
    same &= a->sizes[i] <= 1 || a->strides[i] == b->strides[i];
    empty |= a->sizes[i] == 0;
  }
  return same || empty;
}

static laze_status refuse_layout(const laze_aot *aot, int32_t index, const laze_geometry *given, laze_error *error) {
  laze_text texts[2];
  for (int i = 0; i < 2; i++) {
    laze_text_init(&texts[i], aot->context);
    describe(i ? &aot->inputs[index].geometry : given, &texts[i]);
  }
  const laze_status status =
      laze_fail(error, LAZE_INVALID_ARGUMENT,
                "laze_aot_call: input %d is %s, and the function was compiled for %s; compile it "
                "for this one as well, or pass a copy (laze_contiguous) of the same shape",
                (int)index, laze_text_get(&texts[0]), laze_text_get(&texts[1]));
  for (int i = 0; i < 2; i++) laze_text_deinit(&texts[i]);
  return status;
}

static laze_status check_input(const laze_aot *aot, const laze_thread_state *thread, int32_t index,
                               const laze_aot_given *given, laze_error *error) {
  const laze_aot_given *traced = &aot->inputs[index];
  const int32_t flags = given->facts.flags;
  if (!same_layout(&given->geometry, &traced->geometry)) return refuse_layout(aot, index, &given->geometry, error);
  if (given->facts.same_as != traced->facts.same_as)
    return laze_fail(error, LAZE_INVALID_ARGUMENT,
                     "laze_aot_call: input %d is the tensor of input %d, and was that of input %d when the function "
                     "was compiled; compile it for these inputs as well",
                     (int)index, (int)given->facts.same_as, (int)traced->facts.same_as);
  if (!laze_thread_tracks(thread) || !(flags & LAZE_AOT_REQUIRES_GRAD)) return LAZE_OK;
  if (!(traced->facts.flags & LAZE_AOT_REQUIRES_GRAD))
    return laze_fail(error, LAZE_INVALID_ARGUMENT,
                     "laze_aot_call: input %d requires a gradient, which it did not, or where none was recorded, when "
                     "the function was compiled; compile it for this one as well, or call it where none is recorded",
                     (int)index);
  const bool changes = traced->facts.mutation == LAZE_AOT_AFTER;
  if (changes && flags & LAZE_AOT_LEAF && !(traced->facts.flags & LAZE_AOT_LEAF))
    return laze_fail(error, LAZE_FAILED_PRECONDITION,
                     "laze_aot_call: input %d is a leaf that requires a gradient, and is written to; write where no "
                     "gradients are recorded, or pass a tensor that was computed from it",
                     (int)index);
  return LAZE_OK;
}

laze_status laze_aot_check_inputs(const laze_aot *aot, laze_thread_state *thread, laze_tensor *const *inputs,
                                  int32_t count, laze_error *error) {
  laze_aot_given *given = laze_alloc_array(aot->context, count, sizeof *given);
  if (!given) return laze_fail_memory(error, "the inputs of a function", -1);
  laze_status status = laze_aot_look("laze_aot_call", thread, inputs, count, given, error);
  for (int32_t i = 0; i < count && status == LAZE_OK; i++) status = check_input(aot, thread, i, &given[i], error);
  if (status == LAZE_OK) status = laze_aot_check_shared("laze_aot_call", inputs, aot->inputs, count, error);
  laze_free(aot->context, given);
  return status;
}
