/* What gradients make of a call of a declared operator: the fallback in its three modes, the kernel that refuses, and
 * gradients that the program computes.
 *
 *   nothing   y = f(x)                       y requires no gradient
 *   warn      y = f(x) <── node f ── x       a pass logs a warning at the node, and gives x none
 *   error     y = f(x) <── node f ── x       a pass ends there with an error
 */
#define LAZE_NO_MACROS
#include "base/dtype.h"
#include "laze/autograd.h"
#include "laze/gradient_node.h"
#include "lazy/library/arguments.h"
#include "lazy/library/dispatch.h"

#include <string.h>

/* --- who asks for gradients --- */

/* The tensors of a call. */
typedef struct {
  laze_tensor **items;
  int32_t count;
  bool required; /* the thread records histories, and one of them has one */
} inputs;

static laze_status find_inputs(const laze_library_state *state, inputs *out, laze_error *error) {
  const laze_library_schema *schema = &state->op->schema;
  out->count = laze_library_tensors(schema, state->bound, NULL);
  out->items = laze_arena_alloc_array(state->arena, out->count, sizeof *out->items);
  out->required = false;
  if (!out->items) return laze_fail_memory(error, "a call", -1);
  (void)laze_library_tensors(schema, state->bound, out->items);
  if (!laze_is_grad_enabled(state->library->context)) return LAZE_OK;
  for (int32_t i = 0; i < out->count; i++) out->required |= laze_tensor_requires_grad(out->items[i]) != 0;
  return LAZE_OK;
}

static void release_operator(void *self) {
  laze_library_operator_release(self);
}

static laze_library_operator *retain(laze_library_operator *op) {
  atomic_fetch_add_explicit(&op->references, 1, memory_order_relaxed);
  return op;
}

/* Has outputs come from a node of the operator's name, which has `backward`. */
static laze_status attach(const laze_library_state *state, const inputs *from, laze_tensor **outputs, int32_t count,
                          laze_function_code backward, laze_error *error) {
  const laze_function_options options = {.struct_size = sizeof options,
                                         .name = state->op->schema.name,
                                         .input_count = from->count,
                                         .output_count = count,
                                         .inputs = from->items,
                                         .outputs = outputs,
                                         .backward = backward,
                                         .self = retain(state->op),
                                         .release = release_operator};
  return laze_function_attach(&options, error);
}

static bool can_have_gradient(laze_tensor *tensor) {
  return laze_dtype_is_inexact(laze_tensor_dtype(tensor));
}

/* --- warnings --- */

static void warn(const laze_library_operator *op) {
  laze_log_message(op->context, LAZE_LOG_WARNING,
                   "%s: a backward pass came to this operator, which has no gradient (laze_library_differentiate): "
                   "gradients of its arguments are silently none, and may be wrong",
                   op->schema.name);
}

static laze_status warn_backward(void *self, const laze_function_call *call, laze_tensor **results, laze_error *error) {
  (void)call, (void)results, (void)error;
  warn(self);
  return LAZE_OK;
}

static laze_status warn_hook(void *self, laze_tensor *gradient, laze_tensor **replacement, laze_error *error) {
  (void)gradient, (void)replacement, (void)error;
  warn(self);
  return LAZE_OK;
}

/* A result that requires a gradient already, because code below records histories, or because it is written to, says
 * so in a hook; one that is written to gets no node; the others get one. */
static laze_status warn_results(const laze_library_state *state, const inputs *from, laze_tensor **results,
                                laze_error *error) {
  const laze_library_schema *schema = &state->op->schema;
  laze_tensor *outputs[LAZE_OPAQUE_MAX_RESULTS];
  int32_t places[LAZE_OPAQUE_MAX_RESULTS], count = 0;
  for (int32_t i = 0; i < schema->result_count; i++) {
    if (!can_have_gradient(results[i])) continue;
    if (laze_tensor_requires_grad(results[i])) {
      LAZE_TRY(laze_tensor_register_hook(results[i], LAZE_HOOK_GRADIENT, warn_hook, retain(state->op), release_operator,
                                         NULL, error));
    } else if (schema->results[i] < 0) {
      places[count] = i;
      outputs[count++] = results[i];
    }
  }
  if (count > 0) LAZE_TRY(attach(state, from, outputs, count, warn_backward, error));
  for (int32_t i = 0; i < count; i++) results[places[i]] = outputs[i];
  return LAZE_OK;
}

/* --- errors --- */

static laze_status fail_backward(void *self, const laze_function_call *call, laze_tensor **results, laze_error *error) {
  const laze_library_operator *op = self;
  (void)call, (void)results;
  return laze_fail(
      error, LAZE_UNSUPPORTED,
      "%s: it has no gradient; give it one (laze_library_differentiate), or call it where no gradients are "
      "recorded",
      op->schema.name);
}

laze_status laze_library_refuse_gradients(const laze_library_state *state, laze_tensor **values, int32_t count,
                                          laze_error *error) {
  inputs from;
  laze_tensor *outputs[2 * LAZE_OPAQUE_MAX_RESULTS];
  int32_t places[2 * LAZE_OPAQUE_MAX_RESULTS], kept = 0;
  LAZE_TRY(find_inputs(state, &from, error));
  for (int32_t i = 0; i < count; i++) {
    if (!can_have_gradient(values[i]) || laze_tensor_requires_grad(values[i])) continue;
    places[kept] = i;
    outputs[kept++] = values[i];
  }
  if (!from.required || kept == 0) return LAZE_OK;
  LAZE_TRY(attach(state, &from, outputs, kept, fail_backward, error));
  for (int32_t i = 0; i < kept; i++) values[places[i]] = outputs[i];
  return LAZE_OK;
}

/* What is written to must be no leaf: it would lose its place. */
static laze_status check_destinations(const laze_library_state *state, laze_error *error) {
  const laze_library_schema *schema = &state->op->schema;
  for (int32_t i = 0; i < schema->write_count; i++) {
    laze_tensor *tensor = state->bound[schema->writes[i]].value.tensor;
    if (laze_tensor_requires_grad(tensor) && laze_tensor_is_leaf(tensor))
      return laze_fail(
          error, LAZE_FAILED_PRECONDITION,
          "%s: argument '%s', a leaf that requires a gradient, is written to; write where no gradients are "
          "recorded, or to a tensor that was computed from it",
          schema->name, schema->arguments[schema->writes[i]].name);
  }
  return LAZE_OK;
}

laze_status laze_library_not_implemented(void *self, const laze_library_dispatch *call, laze_tensor **results,
                                         laze_error *error) {
  (void)self;
  inputs from;
  if (!call || !call->state || !results)
    return laze_fail(error, LAZE_INVALID_ARGUMENT,
                     "laze_library_not_implemented: it is code for a key, and called with a call");
  const laze_library_state *state = call->state;
  LAZE_TRY(find_inputs(state, &from, error));
  if (!from.required) return laze_library_redispatch(call, results, error);
  LAZE_TRY(check_destinations(state, error));
  laze_library_state below = *state;
  below.refuses_gradients = true;
  return laze_library_enter(&below, LAZE_KEY_VIEWS, results, error);
}

laze_status laze_library_fallback_autograd(void *self, const laze_library_dispatch *call, laze_tensor **results,
                                           laze_error *error) {
  const laze_library_state *state = call->state;
  const int32_t mode = atomic_load(&state->library->mode);
  inputs from;
  if (mode == LAZE_FALLBACK_ERROR) return laze_library_not_implemented(self, call, results, error);
  LAZE_TRY(laze_library_redispatch(call, results, error));
  if (mode == LAZE_FALLBACK_NOTHING) return LAZE_OK;
  LAZE_TRY(find_inputs(state, &from, error));
  return from.required ? warn_results(state, &from, results, error) : LAZE_OK;
}

/* --- gradients of the program's --- */

/* What a node keeps of a call: the arguments but for tensors, which the node has saved. */
typedef struct {
  laze_arena arena;
  laze_context *context;
  laze_library_hook *backward;
  laze_library_operator *op;
  laze_argument *arguments;
  int32_t input_count;
} kept_call;

static void release_kept(void *self) {
  kept_call *kept = self;
  laze_context *context = kept->context;
  laze_library_hook_release(kept->backward);
  laze_library_operator_release(kept->op);
  laze_arena_deinit(&kept->arena);
  laze_free(context, kept);
}

/* Copies what an argument refers to; of tensors, room for as many. */
static bool copy_argument(laze_arena *arena, laze_argument *argument) {
  const int64_t count = argument->count;
  switch (argument->kind) {
  case LAZE_PASS_TENSORS:
    argument->value.tensors = laze_arena_alloc_array(arena, count, sizeof *argument->value.tensors);
    return argument->value.tensors != NULL;
  case LAZE_PASS_INTEGERS:
    argument->value.integers =
        laze_arena_copy(arena, argument->value.integers, count * (int64_t)sizeof *argument->value.integers);
    return argument->value.integers != NULL;
  case LAZE_PASS_REALS:
    argument->value.reals =
        laze_arena_copy(arena, argument->value.reals, count * (int64_t)sizeof *argument->value.reals);
    return argument->value.reals != NULL;
  case LAZE_PASS_STRING:
    argument->value.string = laze_arena_copy_string(arena, argument->value.string);
    return argument->value.string != NULL;
  case LAZE_PASS_STRINGS: {
    const char **items = laze_arena_alloc_array(arena, count, sizeof *items);
    bool whole = items != NULL;
    for (int32_t i = 0; whole && i < count; i++) {
      items[i] = laze_arena_copy_string(arena, argument->value.strings[i]);
      whole = items[i] != NULL;
    }
    argument->value.strings = items;
    return whole;
  }
  default: return true;
  }
}

static laze_status keep_call(const laze_library_state *state, laze_library_hook *backward, int32_t inputs_count,
                             kept_call **out, laze_error *error) {
  const laze_library_schema *schema = &state->op->schema;
  kept_call *kept = laze_alloc_zero(state->op->context, sizeof *kept);
  if (!kept) return laze_fail_memory(error, "what a gradient needs", sizeof *kept);
  kept->context = state->op->context;
  laze_arena_init(&kept->arena, kept->context);
  kept->backward = laze_library_hook_retain(backward);
  kept->op = retain(state->op);
  kept->input_count = inputs_count;
  kept->arguments = laze_arena_copy(&kept->arena, state->bound, schema->argument_count * (int64_t)sizeof *state->bound);
  bool whole = kept->arguments != NULL;
  for (int32_t i = 0; whole && i < schema->argument_count; i++)
    whole = copy_argument(&kept->arena, &kept->arguments[i]);
  *out = kept;
  if (whole) return LAZE_OK;
  release_kept(kept);
  return laze_fail_memory(error, "what a gradient needs", -1);
}

/* Puts saved tensors into the copies of the arguments, which are another copy for each call. */
static bool restore(laze_arena *arena, const kept_call *kept, laze_tensor *const *saved, laze_argument *out) {
  for (int32_t i = 0; i < kept->op->schema.argument_count; i++) {
    out[i] = kept->arguments[i];
    if (out[i].kind == LAZE_PASS_TENSOR) out[i].value.tensor = *saved++;
    if (out[i].kind != LAZE_PASS_TENSORS) continue;
    laze_tensor **items = laze_arena_copy(arena, saved, out[i].count * (int64_t)sizeof *saved);
    if (!items) return false;
    out[i].value.tensors = items;
    saved += out[i].count;
  }
  return true;
}

static laze_status call_backward(void *self, const laze_function_call *call, laze_tensor **results, laze_error *error) {
  const kept_call *kept = self;
  laze_argument arguments[LAZE_MOST_ARGUMENTS];
  laze_arena arena;
  laze_arena_init(&arena, kept->context);
  const laze_library_gradient_call passed = {.struct_size = sizeof passed,
                                             .argument_count = kept->op->schema.argument_count,
                                             .input_count = call->input_count,
                                             .output_count = call->output_count,
                                             .arguments = arguments,
                                             .inputs = call->saved,
                                             .outputs = call->saved + call->input_count,
                                             .given = call->given,
                                             .needed = call->needed};
  const laze_status status = restore(&arena, kept, call->saved, arguments)
                                 ? kept->backward->function.backward(kept->backward->self, &passed, results, error)
                                 : laze_fail_memory(error, "the arguments of a call", -1);
  laze_arena_deinit(&arena);
  return status;
}

static laze_status attach_backward(const laze_library_state *state, laze_library_hook *backward, const inputs *from,
                                   laze_tensor **results, laze_error *error) {
  const int32_t outputs = state->op->schema.result_count;
  kept_call *kept = NULL; /* a compiler does not know that a failure is never LAZE_OK */
  laze_tensor **saved = laze_arena_alloc_array(state->arena, from->count + outputs, sizeof *saved);
  if (!saved) return laze_fail_memory(error, "what a gradient needs", -1);
  for (int32_t i = 0; i < from->count; i++) saved[i] = from->items[i];
  for (int32_t i = 0; i < outputs; i++) saved[from->count + i] = results[i];
  LAZE_TRY(keep_call(state, backward, from->count, &kept, error));
  const laze_function_options options = {.struct_size = sizeof options,
                                         .name = state->op->schema.name,
                                         .input_count = from->count,
                                         .output_count = outputs,
                                         .saved_count = from->count + outputs,
                                         .inputs = from->items,
                                         .outputs = results,
                                         .saved = saved,
                                         .backward = call_backward,
                                         .self = kept,
                                         .release = release_kept};
  return laze_function_attach(&options, error);
}

/* Code for the key: `self` is a hook with the program's function. */
static laze_status differentiate(void *self, const laze_library_dispatch *call, laze_tensor **results,
                                 laze_error *error) {
  const laze_library_state *state = call->state;
  inputs from;
  LAZE_TRY(find_inputs(state, &from, error));
  if (!from.required) return laze_library_redispatch(call, results, error);
  const int32_t tracks = laze_set_grad_enabled(state->library->context, 0);
  const laze_status status = laze_library_redispatch(call, results, error);
  laze_set_grad_enabled(state->library->context, tracks);
  return status == LAZE_OK ? attach_backward(state, self, &from, results, error) : status;
}

static void release_hook(void *self) {
  laze_library_hook_release(self);
}

static laze_status check_differentiable(laze_context *context, const char *name, laze_library **library,
                                        laze_error *error) {
  laze_library_operator *op;
  LAZE_TRY(laze_library_get(context, library, error));
  LAZE_TRY(laze_library_find(*library, name, &op, error));
  const bool aliases = laze_library_schema_aliases(&op->schema);
  laze_library_operator_release(op);
  if (!aliases) return LAZE_OK;
  return laze_fail(error, LAZE_UNSUPPORTED,
                   "laze_library_differentiate: %.64s writes to arguments or shares their memory; give it code at "
                   "LAZE_KEY_AUTOGRAD that calls operators with gradients",
                   name);
}

laze_status laze_library_differentiate(laze_context *context, const char *name, laze_library_backward backward,
                                       void *self, void (*release)(void *self), laze_error *error) {
  laze_library *library;
  laze_library_hook *hook = NULL;
  laze_status status = check_differentiable(context, name, &library, error);
  if (status == LAZE_OK && !backward)
    status = laze_fail(error, LAZE_INVALID_ARGUMENT, "laze_library_differentiate: the function is NULL");
  if (status == LAZE_OK) {
    hook = laze_library_hook_create(library->context, self, release);
    if (!hook) status = laze_fail_memory(error, "an operator's code", -1);
  }
  if (!hook && release) release(self);
  if (status != LAZE_OK) return status;
  hook->function.backward = backward;
  return laze_library_override(context, name, LAZE_KEY_AUTOGRAD, differentiate, hook, release_hook, error);
}
