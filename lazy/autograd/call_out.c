/* What all calls of the caller's code have in common. */
#include "lazy/autograd/call_out.h"

#include "lazy/lazy.h"
#include "lazy/thread.h"
#include "lazy/value/callback.h"

void laze_call_out_begin(laze_call_out *out, laze_thread_state *thread, laze_callback *callback, bool records) {
  out->thread = thread;
  out->callback = callback;
  out->error = (laze_error){.code = LAZE_OK};
  out->no_grad = thread->no_grad;
  thread->no_grad = !records;
  laze_callback_retain(callback);
  laze_lazy_unlock(thread->lazy);
}

laze_status laze_call_out_end(laze_call_out *out, laze_status status, laze_error *error) {
  laze_thread_state *thread = out->thread;
  pthread_mutex_lock(&thread->lazy->lock);
  thread->no_grad = out->no_grad;
  laze_callback_release(thread->lazy, out->callback);
  if (status == LAZE_OK) return LAZE_OK;
  if (!out->error.message[0]) return laze_fail(error, status, "%s: it failed, and did not say why", out->what);
  return laze_fail(error, status, "%s", out->error.message);
}
