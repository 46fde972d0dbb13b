/* Python's objects that laze keeps, for their memory or to call them, and their way back.
 *
 *   any thread, GIL or not                       the next thread with the GIL
 *   laze lets go ── loan_end ──> list of ended ── loans_settle ──> PyBuffer_Release, Py_DECREF
 *                                     └── pending call, where the list was empty
 *
 * Taking the GIL in the callback would stop laze's threads behind Python's, and while the interpreter goes away it ends
 * the thread that asks for it, in the middle of laze. So the callback only pushes onto a list.
 */
#include "binding.h"

#include <stdatomic.h>
#include <stdlib.h>

static _Atomic(laze_python_loan *) ended;

void laze_python_loans_settle(void) {
  if (!atomic_load_explicit(&ended, memory_order_relaxed)) return;
  laze_python_loan *loan = atomic_exchange(&ended, NULL);
  while (loan) {
    laze_python_loan *next = loan->next;
    if (loan->object)
      Py_DECREF(loan->object);
    else
      PyBuffer_Release(&loan->view);
    free(loan);
    loan = next;
  }
}

static int settle_pending(void *unused) {
  (void)unused;
  laze_python_loans_settle();
  return 0;
}

void laze_python_loan_end(void *self) {
  laze_python_loan *loan = self;
  laze_python_loan *first = atomic_load(&ended);
  do loan->next = first;
  while (!atomic_compare_exchange_weak(&ended, &first, loan));
  /* It may fail, where too much is pending: the next tensor that is made settles as well. */
  if (!first && Py_IsInitialized()) Py_AddPendingCall(settle_pending, NULL);
}

void laze_python_object_end(PyObject *object) {
  laze_python_loan *loan = calloc(1, sizeof *loan);
  if (!loan) return; /* then the object stays */
  loan->object = object;
  laze_python_loan_end(loan);
}
