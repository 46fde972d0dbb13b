/* What happens in Python while laze compiles and runs without the GIL: signals are looked for, so that Ctrl-C stops the
 * work, and laze._progress is told of compiles, which shows those that take long.
 *
 * The library calls now and then, maybe thousands of times a second. The GIL is taken only when enough time has passed.
 */
#include "binding.h"

#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { SIGNALS_EVERY_MS = 20 };

static _Thread_local struct {
  PyObject *type, *value, *trace; /* what a signal handler raised, until the read that it stopped comes back */
} interrupt;
static _Thread_local int64_t looked;    /* for signals, in milliseconds */
static _Thread_local bool is_compiling; /* since laze._progress was told */

static int64_t now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

bool laze_python_raise_interrupt(void) {
  if (!interrupt.type) return false;
  PyErr_Restore(interrupt.type, interrupt.value, interrupt.trace);
  interrupt.type = interrupt.value = interrupt.trace = NULL;
  return true;
}

/* Signal handlers run on the main thread only. */
static bool is_main_thread(void) {
  return syscall(SYS_gettid) == getpid();
}

/* Keeps the exception that is set for the read; one that nobody asked for goes. */
static void keep_exception(void) {
  Py_XDECREF(interrupt.type);
  Py_XDECREF(interrupt.value);
  Py_XDECREF(interrupt.trace);
  PyErr_Fetch(&interrupt.type, &interrupt.value, &interrupt.trace);
}

static void look_for_signals(void) {
  PyGILState_STATE state = PyGILState_Ensure();
  if (PyErr_CheckSignals() < 0) keep_exception();
  PyGILState_Release(state);
}

/* laze._progress decides whether anybody sees it, and keeps its own errors to itself: what comes out of there is a
 * signal's, whose handler Python called on the way. */
static void call_progress(const char *function, const char *format, long long kernels) {
  PyGILState_STATE state = PyGILState_Ensure();
  PyObject *module = PyImport_ImportModule("laze._progress");
  PyObject *done = module ? PyObject_CallMethod(module, function, format, kernels) : NULL;
  if (!done) keep_exception();
  Py_XDECREF(done);
  Py_XDECREF(module);
  PyGILState_Release(state);
}

void laze_python_progress_end(void) {
  if (!is_compiling) return;
  is_compiling = false;
  call_progress("end", "", 0);
}

static void follow_progress(const laze_activity *activity) {
  bool compiles = strcmp(activity->what, "compile") == 0 && activity->done < activity->total;
  if (!compiles) laze_python_progress_end();
  if (!compiles) return;
  call_progress(is_compiling ? "reached" : "begin", "L", (long long)(is_compiling ? activity->done : activity->total));
  is_compiling = true;
}

static int32_t watch(void *self, const laze_activity *activity) {
  (void)self;
  if (!Py_IsInitialized()) return 0;
  int64_t now = now_ms();
  follow_progress(activity);
  if (now - looked >= SIGNALS_EVERY_MS && is_main_thread()) {
    looked = now;
    look_for_signals();
  }
  return interrupt.type != NULL;
}

int laze_python_watch(void) {
  laze_context *context = laze_context_default();
  if (!context) return PyErr_NoMemory(), -1;
  laze_context_watch(context, watch, NULL);
  return 0;
}
