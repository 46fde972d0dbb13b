/* Leaves in the C interface (laze/autograd.h): which tensors require gradients, and what these are. */
#include "laze/autograd.h"

#include "base/dtype.h"
#include "lazy/autograd/gradient.h"
#include "lazy/autograd/kernels.h"
#include "lazy/autograd/slot.h"
#include "lazy/lazy.h"
#include "lazy/thread.h"
#include "lazy/value/cell.h"
#include "lazy/value/failure.h"
#include "lazy/value/handle.h"
#include "lazy/value/view.h"

/* A leaf, whatever it is a view of; one that keeps a gradient goes on with that. */
static laze_status make_leaf(laze_lazy *lazy, laze_slot *slot, laze_error *error) {
  laze_grad_node *kept = slot->storage->grad_node;
  const laze_edge edge = kept ? laze_edge_retain((laze_edge){kept, 0}) : (laze_edge){laze_grad_leaf_create(lazy), 0};
  if (!edge.node) return laze_fail_memory(error, "a gradient", sizeof *edge.node);
  laze_view_detach(lazy, slot->storage);
  laze_slot_set_edge(lazy, slot, edge);
  laze_slot_keep_grad(lazy, slot, NULL);
  laze_edge_release(lazy, edge);
  return LAZE_OK;
}

static void end_leaf(laze_lazy *lazy, laze_slot *slot) {
  if (slot->grad_node->gradient) laze_slot_keep_grad(lazy, slot, slot->grad_node);
  laze_slot_set_edge(lazy, slot, (laze_edge){NULL, 0});
}

static laze_status require(laze_thread_state *thread, laze_tensor *tensor, bool required, laze_error *error) {
  laze_lazy *lazy = thread->lazy;
  const bool inference = thread->inference;
  laze_slot *slot;
  LAZE_TRY(laze_grad_slot(thread, "laze_tensor_require_grad", tensor, &slot, error));
  const laze_dtype dtype = slot->storage->cell->dtype;
  if (required && !laze_dtype_is_inexact(dtype))
    return laze_fail(error, LAZE_INVALID_ARGUMENT,
                     "laze_tensor_require_grad: the tensor is of %s; only floats and complex numbers have gradients",
                     laze_dtype_name(dtype));
  if (!required && !laze_slot_is_leaf(slot))
    return laze_fail(error, LAZE_FAILED_PRECONDITION,
                     "laze_tensor_require_grad: the tensor follows from others that require gradients; laze_detach() "
                     "gives one that does not");
  if (required && slot->storage->inference && !inference)
    return laze_fail(error, LAZE_FAILED_PRECONDITION,
                     "laze_tensor_require_grad: the tensor was made in inference mode; use a copy that is made outside "
                     "of it");
  if (required == (slot->grad_node != NULL)) return LAZE_OK;
  if (required) return make_leaf(lazy, slot, error);
  end_leaf(lazy, slot);
  return LAZE_OK;
}

laze_status laze_tensor_require_grad(laze_tensor *tensor, int32_t requires_grad, laze_error *error) {
  laze_thread_state *thread;
  LAZE_TRY(laze_grad_lock(__func__, tensor, &thread, error));
  const laze_status status = require(thread, tensor, requires_grad != 0, error);
  laze_lazy_unlock(thread->lazy);
  return status;
}

/* What a question about a slot answers; false for what is no tensor. */
static int32_t ask(laze_tensor *tensor, bool (*question)(const laze_slot *slot)) {
  laze_lazy *lazy = laze_handle_lazy(tensor);
  if (!lazy) return 0;
  pthread_mutex_lock(&lazy->lock);
  const laze_slot *slot = laze_handle_slot(tensor);
  const bool answer = slot && question(slot);
  pthread_mutex_unlock(&lazy->lock);
  return answer;
}

int32_t laze_tensor_requires_grad(laze_tensor *tensor) {
  return ask(tensor, laze_slot_requires_grad);
}

int32_t laze_tensor_is_leaf(laze_tensor *tensor) {
  return ask(tensor, laze_slot_is_leaf);
}

static bool retains_grad(const laze_slot *slot) {
  return !laze_slot_is_leaf(slot) && laze_grad_place(laze_slot_edge(slot));
}

int32_t laze_tensor_retains_grad(laze_tensor *tensor) {
  return ask(tensor, retains_grad);
}

static bool is_inference(const laze_slot *slot) {
  return slot->storage->inference;
}

int32_t laze_tensor_is_inference(laze_tensor *tensor) {
  return ask(tensor, is_inference);
}

laze_status laze_tensor_retain_grad(laze_tensor *tensor, laze_error *error) {
  laze_thread_state *thread;
  laze_slot *slot;
  LAZE_TRY(laze_grad_lock(__func__, tensor, &thread, error));
  laze_status status = laze_grad_slot(thread, __func__, tensor, &slot, error);
  if (status == LAZE_OK && !slot->grad_node)
    status = laze_fail(error, LAZE_FAILED_PRECONDITION,
                       "%s: the tensor does not require a gradient (laze_tensor_require_grad)", __func__);
  if (status == LAZE_OK && !laze_grad_retain_result(thread->lazy, laze_slot_edge(slot)))
    status = laze_fail_memory(error, "a gradient", -1);
  laze_lazy_unlock(thread->lazy);
  return status;
}

laze_tensor *laze_tensor_grad(laze_tensor *tensor) {
  laze_thread_state *thread;
  if (laze_grad_lock(__func__, tensor, &thread, NULL) != LAZE_OK) return NULL;
  laze_error error;
  const laze_slot *slot = laze_handle_slot(tensor);
  const laze_grad_node *place = slot ? laze_slot_grad_place(slot) : NULL;
  laze_tensor *handle = NULL;
  if (place && place->gradient && laze_gradient_of_leaf(thread, place, &handle, &error) != LAZE_OK)
    handle = laze_handle_fail(thread, &error);
  laze_lazy_unlock(thread->lazy);
  return handle;
}

/* Whether a tensor is all of what a leaf keeps, as laze_tensor_grad() gives it. */
static bool is_kept_already(const laze_grad_node *leaf, const laze_slot *given) {
  const laze_view *view = given->storage->view;
  if (!leaf->gradient || !view) return false;
  laze_storage *kept = leaf->gradient->storage;
  const laze_view *above = kept->view;
  laze_storage *base = above ? above->base : kept, *origin = above && above->origin ? above->origin : kept;
  return view->base == base && view->origin == origin && view->last == (above ? above->last : NULL) && !view->unsized;
}

/* What a tensor that has no gradient is told is so already. */
static void clear_grad(laze_lazy *lazy, laze_slot *slot) {
  laze_grad_node *place = laze_grad_place(laze_slot_edge(slot));
  if (place) laze_grad_leaf_set(lazy, place, NULL);
  laze_slot_keep_grad(lazy, slot, NULL);
}

/* Where the tensor's gradient is kept, or is from now on. */
static laze_status find_place(laze_lazy *lazy, laze_slot *slot, laze_grad_node **out, laze_error *error) {
  const laze_dtype dtype = slot->storage->cell->dtype;
  *out = laze_slot_grad_place(slot);
  if (*out) return LAZE_OK;
  if (slot->grad_node)
    return laze_fail(error, LAZE_FAILED_PRECONDITION,
                     "laze_tensor_set_grad: the tensor is no leaf; laze_tensor_retain_grad() has it keep a gradient");
  if (!laze_dtype_is_inexact(dtype))
    return laze_fail(error, LAZE_INVALID_ARGUMENT,
                     "laze_tensor_set_grad: the tensor is of %s; only floats and complex numbers have gradients",
                     laze_dtype_name(dtype));
  const laze_edge leaf = {laze_grad_leaf_create(lazy), 0};
  if (!leaf.node) return laze_fail_memory(error, "a gradient", sizeof *leaf.node);
  laze_slot_keep_grad(lazy, slot, leaf.node);
  laze_edge_release(lazy, leaf);
  *out = leaf.node;
  return LAZE_OK;
}

static laze_status set_grad(laze_thread_state *thread, laze_tensor *tensor, laze_tensor *gradient, laze_error *error) {
  laze_slot *slot, *given;
  laze_grad_node *place;
  LAZE_TRY(laze_grad_slot(thread, "laze_tensor_set_grad", tensor, &slot, error));
  if (!gradient) {
    clear_grad(thread->lazy, slot);
    return LAZE_OK;
  }
  LAZE_TRY(laze_grad_slot(thread, "laze_tensor_set_grad", gradient, &given, error));
  LAZE_TRY(laze_grad_check("laze_tensor_set_grad", slot->storage->cell, given->storage->cell, error));
  LAZE_TRY(find_place(thread->lazy, slot, &place, error));
  if (is_kept_already(place, given)) return LAZE_OK;
  laze_slot *own = laze_slot_create_kept(thread->lazy, given->storage->cell);
  if (!own) return laze_fail_memory(error, "a gradient", -1);
  const laze_status status = laze_view_share(thread->lazy, own, given, false, error);
  if (status == LAZE_OK)
    laze_grad_leaf_set(thread->lazy, place, own);
  else
    laze_handle_drop(thread->lazy, own);
  return status;
}

laze_status laze_tensor_set_grad(laze_tensor *tensor, laze_tensor *gradient, laze_error *error) {
  laze_thread_state *thread;
  LAZE_TRY(laze_grad_lock(__func__, tensor, &thread, error));
  laze_status status = gradient ? laze_grad_find_sizes(__func__, thread, tensor, gradient, error) : LAZE_OK;
  if (status == LAZE_OK) status = set_grad(thread, tensor, gradient, error);
  laze_lazy_unlock(thread->lazy);
  return status;
}

/* A view of all of the tensor, which has a history of its own. */
static laze_status detach(laze_thread_state *thread, const laze_slot *slot, laze_tensor **out, laze_error *error) {
  *out = laze_handle_create(thread, slot->storage->cell);
  laze_slot *own = laze_handle_slot(*out);
  return own ? laze_view_share(thread->lazy, own, slot, true, error) : LAZE_OK;
}

laze_tensor *laze_detach(laze_tensor *tensor) {
  laze_thread_state *thread;
  if (laze_grad_lock(__func__, tensor, &thread, NULL) != LAZE_OK) return tensor;
  laze_error error;
  laze_slot *slot = laze_handle_slot(tensor);
  laze_tensor *handle = tensor;
  if (slot && (laze_slot_refresh(thread, slot, &error) != LAZE_OK || detach(thread, slot, &handle, &error) != LAZE_OK))
    handle = laze_handle_fail(thread, &error);
  laze_lazy_unlock(thread->lazy);
  return handle;
}

static laze_status detach_itself(laze_thread_state *thread, laze_tensor *tensor, laze_error *error) {
  laze_slot *slot;
  LAZE_TRY(laze_grad_slot(thread, "laze_tensor_detach", tensor, &slot, error));
  if (laze_storage_is_view(slot->storage) && slot->storage->view->origin)
    return laze_fail(error, LAZE_FAILED_PRECONDITION,
                     "laze_tensor_detach: the tensor is a view, whose history is that of what it is a view of; "
                     "laze_detach() gives a tensor that has none");
  laze_slot_set_edge(thread->lazy, slot, (laze_edge){NULL, 0});
  return LAZE_OK;
}

laze_status laze_tensor_detach(laze_tensor *tensor, laze_error *error) {
  laze_thread_state *thread;
  LAZE_TRY(laze_grad_lock(__func__, tensor, &thread, error));
  const laze_status status = detach_itself(thread, tensor, error);
  laze_lazy_unlock(thread->lazy);
  return status;
}

/* The state of the calling thread, locked; NULL: memory is out. */
static laze_thread_state *lock_thread(laze_context *context) {
  laze_lazy *lazy = laze_lazy_get(context);
  return lazy ? laze_lazy_lock(lazy) : NULL;
}

int32_t laze_set_grad_enabled(laze_context *context, int32_t enabled) {
  laze_thread_state *thread = lock_thread(context);
  if (!thread) return 1;
  const int32_t before = !thread->no_grad;
  thread->no_grad = !enabled;
  laze_lazy_unlock(thread->lazy);
  return before;
}

int32_t laze_is_grad_enabled(laze_context *context) {
  laze_thread_state *thread = lock_thread(context);
  if (!thread) return 1;
  const int32_t enabled = laze_thread_tracks(thread);
  laze_lazy_unlock(thread->lazy);
  return enabled;
}

int32_t laze_set_inference_mode(laze_context *context, int32_t enabled) {
  laze_thread_state *thread = lock_thread(context);
  if (!thread) return 0;
  const int32_t before = thread->inference;
  thread->inference = enabled != 0;
  laze_lazy_unlock(thread->lazy);
  return before;
}

int32_t laze_is_inference_mode(laze_context *context) {
  laze_thread_state *thread = lock_thread(context);
  if (!thread) return 0;
  const int32_t enabled = thread->inference;
  laze_lazy_unlock(thread->lazy);
  return enabled;
}

int32_t laze_set_anomaly_mode(laze_context *context, int32_t enabled) {
  laze_thread_state *thread = lock_thread(context);
  if (!thread) return 0;
  laze_lazy *lazy = thread->lazy;
  const int32_t before = thread->anomaly;
  thread->anomaly = enabled != 0;
  laze_lazy_unlock(lazy);
  const laze_status status = enabled ? laze_kernels_register(lazy->context, NULL) : LAZE_OK;
  (void)status; /* without memory passes say what they lack */
  return before;
}

int32_t laze_is_anomaly_mode(laze_context *context) {
  laze_thread_state *thread = lock_thread(context);
  if (!thread) return 0;
  const int32_t enabled = thread->anomaly;
  laze_lazy_unlock(thread->lazy);
  return enabled;
}
