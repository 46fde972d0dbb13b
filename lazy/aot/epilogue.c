/* What follows a run of the forward graph: inputs are set to their new values, and outputs that share memory are made.
 *
 *   x   written to: new value of the graph ──> x          out 0   the graph's result
 *                                              │          out 1   t(x), recorded on x as it is now
 *                                              └──────────────────┘
 */
#include "ir/op.gen.h"
#include "lazy/aot/aot.h"
#include "lazy/lazy.h"
#include "lazy/record/frame.h"
#include "lazy/thread.h"
#include "lazy/value/cell.h"
#include "lazy/value/handle.h"

#include "laze/call.h"

/* --- inputs --- */

/* What a tensor without elements gets takes its shape with it. */
static laze_status give(laze_tensor *input, laze_tensor *value, laze_error *error) {
  laze_tensor *given = laze_results_give_at(LAZE_OUT, "laze_aot_call", &input, &value, 1, NULL, 0);
  const laze_status status = laze_tensor_status(given);
  return status == LAZE_OK ? LAZE_OK : laze_fail(error, status, "%s", laze_tensor_error(given));
}

static laze_status set_quietly(const laze_aot *aot, laze_tensor *input, laze_tensor *value, laze_error *error) {
  const int32_t before = laze_set_grad_enabled(aot->context, 0);
  const laze_status status = laze_tensor_write(input, value, error);
  (void)laze_set_grad_enabled(aot->context, before);
  return status;
}

static laze_status set_input(const laze_aot *aot, const laze_aot_given *given, laze_tensor *input, laze_tensor *value,
                             laze_error *error) {
  if (given->facts.mutation == LAZE_AOT_IN_GRAPH) return set_quietly(aot, input, value, error);
  if (!value) return laze_tensor_require_grad(input, 0, error); /* which is all that it can have been made to */
  if (given->resized) return give(input, value, error);
  if (given->facts.flags & LAZE_AOT_MUTATES_STORAGE) return laze_tensor_assign_error(input, value, error);
  return laze_tensor_write(input, value, error);
}

static laze_status set_inputs(const laze_aot *aot, laze_tensor *const *inputs, laze_tensor *const *values,
                              laze_error *error) {
  for (int32_t d = 0; d < aot->different_count; d++) {
    const int32_t index = aot->differents[d];
    const laze_aot_given *given = &aot->inputs[index];
    if (given->facts.mutation == LAZE_AOT_KEPT) continue;
    laze_tensor *value = given->facts.result >= 0 ? values[given->facts.result] : NULL;
    if (set_input(aot, given, inputs[index], value, error) != LAZE_OK)
      return laze_error_prefix(error, "laze_aot_call: input %d", (int)index);
  }
  return LAZE_OK;
}

/* --- views --- */

/* As which operator a step is called, of the same attributes: bits of another dtype are a view by that name alone. */
static laze_op called_as(laze_op op) {
  return op == LAZE_OP__BITCAST ? LAZE_OP_VIEW_DTYPE : op;
}

static laze_tensor *call(laze_op op, laze_tensor *tensor, const laze_attribute *attributes) {
  const laze_frame_operand operand = {.tensor = tensor};
  laze_tensor *results[1] = {NULL};
  const laze_frame frame = {
      .op = op, .called = "laze_aot_call", .operand_count = 1, .operands = &operand, .attributes = attributes};
  (void)laze_frame_record(&frame, results);
  return results[0];
}

/* A tensor on the way goes. */
static void drop(const laze_aot *aot, const laze_tensor *tensor) {
  pthread_mutex_lock(&aot->lazy->lock);
  laze_slot *slot = laze_handle_slot(tensor);
  if (slot) laze_handle_drop(aot->lazy, slot);
  laze_lazy_unlock(aot->lazy);
}

/* The steps in order, on the tensor. */
static laze_status apply(const laze_aot *aot, const laze_aot_made *made, laze_tensor *tensor, laze_tensor **out,
                         laze_error *error) {
  const int32_t count = made->steps->count;
  const laze_view_step **steps = laze_alloc_array(aot->context, count, sizeof *steps);
  if (!steps) return laze_fail_memory(error, "a view", -1);
  for (const laze_view_step *step = made->steps; step; step = step->before) steps[step->count - 1] = step;
  *out = tensor;
  for (int32_t i = 0; i < count; i++) {
    laze_tensor *before = *out;
    *out = call(called_as(steps[i]->op), before, steps[i]->attributes);
    if (before != tensor) drop(aot, before);
  }
  laze_free(aot->context, steps);
  return LAZE_OK;
}

/* One of several views stays one, to which nobody writes. */
static void set_kind(const laze_aot *aot, const laze_aot_made *made, laze_tensor *tensor) {
  pthread_mutex_lock(&aot->lazy->lock);
  laze_slot *slot = laze_handle_slot(tensor);
  if (slot && made->kind == LAZE_VIEW_ONE_OF_SEVERAL) slot->storage->kind = LAZE_VIEW_ONE_OF_SEVERAL;
  laze_lazy_unlock(aot->lazy);
}

static laze_status check_made(laze_tensor *tensor, laze_error *error) {
  const laze_status status = laze_tensor_status(tensor);
  return status == LAZE_OK ? LAZE_OK : laze_fail(error, status, "%s", laze_tensor_error(tensor));
}

/* The view of `of`, made again; no steps: all of it. */
static laze_status make_view(const laze_aot *aot, const laze_aot_made *made, laze_tensor *of, laze_tensor **out,
                             laze_error *error) {
  const bool quietly = made->kind == LAZE_VIEW_NO_GRAD;
  const int32_t before = quietly ? laze_set_grad_enabled(aot->context, 0) : 0;
  laze_status status = LAZE_OK;
  laze_tensor *from = made->detached ? laze_detach(of) : of;
  *out = from;
  if (made->steps)
    status = apply(aot, made, from, out, error);
  else if (!made->detached)
    *out = call(LAZE_OP_ALIAS, of, NULL);
  if (made->detached && *out != from) drop(aot, from);
  if (quietly) (void)laze_set_grad_enabled(aot->context, before);
  if (status == LAZE_OK) status = check_made(*out, error);
  if (status == LAZE_OK) set_kind(aot, made, *out);
  return status;
}

/* --- outputs --- */

/* The output that another is a view of, or is once more. */
static laze_status repeat(const laze_aot *aot, const laze_aot_made *made, laze_tensor **outputs, laze_tensor **out,
                          laze_error *error) {
  if (made->repeats) {
    *out = outputs[made->facts.of];
    return LAZE_OK;
  }
  return make_view(aot, made, outputs[made->facts.of], out, error);
}

static laze_status make_outputs(const laze_aot *aot, laze_tensor *const *inputs, laze_tensor *const *values,
                                laze_tensor **outputs, laze_error *error) {
  for (int32_t i = 0; i < aot->output_count; i++) {
    const laze_aot_made *made = &aot->outputs[i];
    const int32_t kind = made->facts.kind, of = made->facts.of;
    if (made->facts.result >= 0) outputs[i] = values[made->facts.result];
    if (kind == LAZE_AOT_IS_INPUT) outputs[i] = inputs[of];
    if (kind == LAZE_AOT_ALIAS_OF_INPUT) LAZE_TRY(make_view(aot, made, inputs[of], &outputs[i], error));
    if (kind == LAZE_AOT_ALIAS_OF_INTERMEDIATE)
      LAZE_TRY(make_view(aot, made, values[aot->first_base + of], &outputs[i], error));
  }
  for (int32_t i = 0; i < aot->output_count; i++)
    if (aot->outputs[i].facts.kind == LAZE_AOT_ALIAS_OF_OUTPUT)
      LAZE_TRY(repeat(aot, &aot->outputs[i], outputs, &outputs[i], error));
  return LAZE_OK;
}

laze_status laze_aot_finish(laze_aot *aot, laze_tensor *const *inputs, laze_tensor *const *values,
                            laze_tensor **outputs, laze_error *error) {
  LAZE_TRY(set_inputs(aot, inputs, values, error));
  return make_outputs(aot, inputs, values, outputs, error);
}
