/* Checkpoints: nodes that let go of what they have saved, and get it from calling the same code again.
 *
 *   forward     x ── mul ── exp ── y       nodes 0 and 1 of the checkpoint, which keep nothing; it keeps x
 *   backward    barrier(x, gradient of y) ── mul ── exp      nodes 0 and 1 of a second history: what those have saved
 *                                                            is what the first need, whose edges stay as they are
 *
 * The barrier is why nothing is saved in vain: without it the second calls were those of the first over equal operands,
 * which are computed once, and kept until the backward pass.
 */
#include "lazy/autograd/checkpoint.h"

#define LAZE_NO_MACROS
#include "laze/opaque.h"
#include "lazy/autograd/call_out.h"
#include "lazy/autograd/capture.h"
#include "lazy/autograd/kernels.h"
#include "lazy/autograd/slot.h"
#include "lazy/lazy.h"
#include "lazy/thread.h"
#include "lazy/value/cell.h"
#include "lazy/value/handle.h"
#include "lazy/value/view.h"

static const char checkpoint_name[] = "laze_checkpoint";

/* --- the second call --- */

/* What a second call is made with. Arrays of the context. */
typedef struct {
  laze_thread_state *thread;
  laze_grad_checkpoint *checkpoint;
  laze_tensor **inputs, **outputs;
  laze_tensor *after; /* a gradient that is known before; NULL: none */
} second_call;

static laze_status check_input(const laze_saved *input, laze_error *error) {
  const int64_t version = input->storage ? laze_storage_version(input->storage) : input->version;
  if (version == input->version) return LAZE_OK;
  return laze_fail(error, LAZE_FAILED_PRECONDITION,
                   "%s: an input was changed after the call, which is to be made again with it: it is at version "
                   "%lld, and was at version %lld",
                   checkpoint_name, (long long)version, (long long)input->version);
}

/* Another tensor of an input's value, with a gradient of its own where the input had one. Without the lock. */
static laze_status pass_barrier(const second_call *call, laze_tensor *input, bool required, laze_tensor **out,
                                laze_error *error) {
  laze_tensor *operands[] = {input, call->after};
  *out = input;
  if (laze_tensor_rank(input) <= LAZE_OPAQUE_MAX_RANK && call->after)
    (void)laze_opaque_record_at(call->thread->lazy->context, LAZE_KERNEL_BARRIER, operands, 2, (laze_ints){NULL, 0},
                                (laze_reals){NULL, 0}, (laze_strings){NULL, 0}, out, 1, NULL, 0);
  return required ? laze_tensor_require_grad(*out, 1, error) : LAZE_OK;
}

/* Locked; the lock is free in between. */
static laze_status make_inputs(second_call *call, laze_error *error) {
  laze_thread_state *thread = call->thread;
  for (int32_t i = 0; i < call->checkpoint->input_count; i++) {
    const laze_saved *saved = &call->checkpoint->inputs[i];
    if (!saved->cell) continue;
    LAZE_TRY(check_input(saved, error));
    const laze_gradient value = {saved->cell, {NULL, 0}};
    laze_tensor *input;
    LAZE_TRY(laze_gradient_handles(thread, &value, 1, &input, error));
    const bool required = call->checkpoint->required[i];
    laze_lazy_unlock(thread->lazy);
    const laze_status status = pass_barrier(call, input, required, &call->inputs[i], error);
    pthread_mutex_lock(&thread->lazy->lock);
    LAZE_TRY(status);
  }
  return LAZE_OK;
}

/* Whether the second history is that of the same calls. */
static laze_status compare(const laze_grad_checkpoint *checkpoint, const laze_capture *again, laze_error *error) {
  if (again->out_of_memory) return laze_fail_memory(error, "the history of a checkpoint", -1);
  if (again->count != checkpoint->node_count)
    return laze_fail(error, LAZE_FAILED_PRECONDITION,
                     "%s: the code recorded %lld calls the first time, and %lld in the backward pass; it has to do "
                     "the same each time",
                     checkpoint_name, (long long)checkpoint->node_count, (long long)again->count);
  for (int32_t i = 0; i < checkpoint->node_count; i++) {
    const laze_grad_node *first = checkpoint->nodes[i], *second = again->nodes[i];
    if (first && (first->op != second->op || first->saved_count != second->saved_count))
      return laze_fail(error, LAZE_FAILED_PRECONDITION,
                       "%s: call %d was %s the first time, and is %s in the backward pass; the code has to do the same "
                       "each time",
                       checkpoint_name, (int)i, laze_grad_node_name(first), laze_grad_node_name(second));
  }
  return LAZE_OK;
}

static void fill_node(laze_lazy *lazy, laze_grad_node *node, const laze_grad_node *from) {
  for (int32_t i = 0; i < node->saved_count; i++)
    if (node->saved[i].dropped && from->saved[i].held)
      laze_saved_keep(lazy, &node->saved[i], from->saved[i].cell, NULL);
  node->dropped = false;
}

/* Calls the code, and gives its nodes what the second call's have. */
static laze_status call_again(second_call *call, laze_error *error) {
  laze_grad_checkpoint *checkpoint = call->checkpoint;
  laze_thread_state *thread = call->thread;
  laze_capture again;
  laze_call_out out = {.what = checkpoint_name};
  laze_capture_begin(&again, thread);
  laze_call_out_begin(&out, thread, &checkpoint->callback, true);
  laze_status status = checkpoint->code(checkpoint->callback.self, call->inputs, call->outputs, &out.error);
  status = laze_call_out_end(&out, status, error);
  laze_capture_end(&again, thread);
  if (status == LAZE_OK) status = compare(checkpoint, &again, error);
  for (int32_t i = 0; i < checkpoint->node_count && status == LAZE_OK; i++)
    if (checkpoint->nodes[i] && checkpoint->nodes[i]->dropped)
      fill_node(thread->lazy, checkpoint->nodes[i], again.nodes[i]);
  checkpoint->filled = status == LAZE_OK;
  laze_capture_release(&again, thread->lazy);
  return status;
}

laze_status laze_checkpoint_fill(laze_thread_state *thread, laze_grad_checkpoint *checkpoint,
                                 const laze_gradient *gradients, int32_t gradient_count, laze_error *error) {
  laze_lazy *lazy = thread->lazy;
  second_call call = {.thread = thread, .checkpoint = checkpoint};
  const int64_t count = (int64_t)checkpoint->input_count + checkpoint->output_count + 1;
  call.inputs = laze_alloc_zero(lazy->context, count * (int64_t)sizeof *call.inputs);
  if (!call.inputs) return laze_fail_memory(error, "the call of a checkpoint", count);
  call.outputs = call.inputs + checkpoint->input_count;
  laze_lazy_unlock(lazy);
  laze_scope *scope = laze_scope_begin(lazy->context);
  pthread_mutex_lock(&lazy->lock);
  laze_status status = LAZE_OK;
  for (int32_t i = 0; i < gradient_count && !call.after && status == LAZE_OK; i++) {
    const laze_gradient value = {gradients[i].cell, {NULL, 0}};
    status = laze_gradient_handles(thread, &value, 1, &call.after, error);
  }
  if (status == LAZE_OK) status = make_inputs(&call, error);
  if (status == LAZE_OK) status = call_again(&call, error);
  laze_lazy_unlock(lazy);
  const laze_status unread = laze_scope_end_error(scope, status == LAZE_OK ? error : NULL);
  pthread_mutex_lock(&lazy->lock);
  laze_free(lazy->context, call.inputs);
  return status == LAZE_OK ? unread : status;
}

void laze_checkpoint_drop(laze_lazy *lazy, laze_grad_checkpoint *checkpoint) {
  for (int32_t i = 0; i < checkpoint->node_count && checkpoint->filled; i++)
    if (checkpoint->nodes[i] && checkpoint->nodes[i]->checkpoint == checkpoint)
      laze_grad_node_drop_saved(lazy, checkpoint->nodes[i]);
  checkpoint->filled = false;
}

/* --- the first one --- */

static laze_status check_options(const laze_checkpoint_options *options, laze_error *error) {
  if (!options || options->struct_size < sizeof *options)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: options are NULL, or struct_size is not set", checkpoint_name);
  const bool missing =
      (options->input_count > 0 && !options->inputs) || (options->output_count > 0 && !options->outputs);
  if (options->code && !missing && options->input_count >= 0 && options->output_count >= 0) return LAZE_OK;
  return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: code, inputs or outputs are NULL, or a count is negative",
                   checkpoint_name);
}

/* One that has the inputs, and no nodes yet. */
static laze_status make_checkpoint(laze_thread_state *thread, const laze_checkpoint_options *options,
                                   laze_grad_checkpoint **out, laze_error *error) {
  const int64_t inputs = options->input_count;
  const int64_t size = (int64_t)sizeof(laze_grad_checkpoint) + inputs * (int64_t)(sizeof(laze_saved) + sizeof(bool));
  laze_grad_checkpoint *made = laze_callback_create(thread->lazy, size, options->self, options->release);
  if (!made) return laze_fail_memory(error, "a checkpoint", size);
  *out = made;
  made->code = options->code;
  made->input_count = options->input_count;
  made->output_count = options->output_count;
  made->inputs = (laze_saved *)(void *)(made + 1);
  made->required = (bool *)(void *)(made->inputs + inputs);
  for (int32_t i = 0; i < options->input_count; i++) {
    laze_slot *slot;
    if (!options->inputs[i]) continue;
    LAZE_TRY(laze_grad_slot(thread, checkpoint_name, options->inputs[i], &slot, error));
    laze_saved_keep(thread->lazy, &made->inputs[i], slot->storage->cell, slot->storage);
    made->required[i] = slot->grad_node != NULL;
  }
  return LAZE_OK;
}

/* The nodes that the first call has left behind, and that somebody has, let go of what they have saved. */
static laze_status take_nodes(laze_lazy *lazy, laze_grad_checkpoint *checkpoint, const laze_capture *first,
                              laze_error *error) {
  if (first->out_of_memory || first->count > INT32_MAX)
    return laze_fail_memory(error, "the history of a checkpoint", first->count);
  checkpoint->nodes = laze_alloc_zero(lazy->context, (first->count + 1) * (int64_t)sizeof *checkpoint->nodes);
  if (!checkpoint->nodes) return laze_fail_memory(error, "the history of a checkpoint", first->count);
  checkpoint->node_count = (int32_t)first->count;
  for (int32_t i = 0; i < checkpoint->node_count; i++) {
    laze_grad_node *node = first->nodes[i];
    if (node->references == 1 || node->checkpoint || node->released) continue;
    laze_grad_checkpoint_enter(checkpoint, node, i);
    laze_grad_node_drop_saved(lazy, node);
  }
  return LAZE_OK;
}

/* Without nodes nobody needs its data. */
static void finish(laze_lazy *lazy, laze_grad_checkpoint *checkpoint) {
  if (checkpoint->nodes_alive == 0) {
    for (int32_t i = 0; i < checkpoint->input_count; i++) laze_saved_release(lazy, &checkpoint->inputs[i]);
    laze_free(lazy->context, checkpoint->nodes);
  }
  laze_callback_release(lazy, &checkpoint->callback);
}

static laze_status check_outputs(const laze_checkpoint_options *options, laze_error *error) {
  for (int32_t i = 0; i < options->output_count; i++)
    if (!options->outputs[i])
      return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: the code gave no output %d; it has to set every output",
                       checkpoint_name, (int)i);
  return LAZE_OK;
}

static laze_status call_first(laze_thread_state *thread, const laze_checkpoint_options *options,
                              laze_grad_checkpoint *checkpoint, laze_error *error) {
  laze_capture first;
  laze_call_out out = {.what = checkpoint_name};
  for (int32_t i = 0; i < options->output_count; i++) options->outputs[i] = NULL;
  laze_capture_begin(&first, thread);
  laze_call_out_begin(&out, thread, &checkpoint->callback, laze_thread_tracks(thread));
  laze_status status = options->code(options->self, options->inputs, options->outputs, &out.error);
  status = laze_call_out_end(&out, status, error);
  laze_capture_end(&first, thread);
  if (status == LAZE_OK) status = check_outputs(options, error);
  if (status == LAZE_OK) status = take_nodes(thread->lazy, checkpoint, &first, error);
  laze_capture_release(&first, thread->lazy);
  return status;
}

static laze_lazy *find_lazy(const laze_checkpoint_options *options) {
  for (int32_t i = 0; i < options->input_count; i++) {
    laze_lazy *lazy = laze_handle_lazy(options->inputs[i]);
    if (lazy) return lazy;
  }
  return laze_lazy_get(options->context);
}

laze_status laze_checkpoint(const laze_checkpoint_options *options, laze_error *error) {
  laze_error own;
  if (!error) error = &own;
  *error = (laze_error){.code = LAZE_OK};
  laze_grad_checkpoint *checkpoint = NULL;
  laze_status status = check_options(options, error);
  laze_lazy *lazy = status == LAZE_OK ? find_lazy(options) : NULL;
  if (lazy) status = laze_kernels_register(lazy->context, error);
  laze_thread_state *thread = lazy && status == LAZE_OK ? laze_lazy_lock(lazy) : NULL;
  if (!thread && status == LAZE_OK) status = laze_fail_memory(error, "a checkpoint", -1);
  if (thread) {
    status = make_checkpoint(thread, options, &checkpoint, error);
    if (status == LAZE_OK) status = call_first(thread, options, checkpoint, error);
    if (checkpoint) finish(lazy, checkpoint);
    laze_lazy_unlock(lazy);
  }
  if (!checkpoint && options && options->release) options->release(options->self);
  return status;
}
