/* What happens in Python while laze compiles and runs without the GIL: signals are looked for, so that Ctrl-C stops the
 * work, and a line on a terminal says that a compile takes long.
 *
 * The library calls now and then, maybe thousands of times a second. The GIL is taken only when enough time has passed.
 */
#include "binding.h"

#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { SIGNALS_EVERY_MS = 20, PROGRESS_AFTER_MS = 1000, PROGRESS_EVERY_MS = 200 };

static _Thread_local struct {
  PyObject *type, *value, *trace; /* what a signal handler raised, until the read that it stopped comes back */
} interrupt;
static _Thread_local struct { int64_t looked, compiling_since, shown; /* milliseconds; 0: not */ } times;

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

static bool is_interrupted(void) {
  PyGILState_STATE state = PyGILState_Ensure();
  bool raised = PyErr_CheckSignals() < 0;
  if (raised) {
    laze_python_raise_interrupt(); /* one that nobody asked for goes */
    PyErr_Fetch(&interrupt.type, &interrupt.value, &interrupt.trace);
  }
  PyGILState_Release(state);
  return raised;
}

/* laze._progress decides whether anybody sees it. */
static void call_progress(const char *function, const laze_activity *activity) {
  PyGILState_STATE state = PyGILState_Ensure();
  PyObject *module = PyImport_ImportModule("laze._progress");
  PyObject *done =
      module ? PyObject_CallMethod(module, function, "LL", (long long)activity->done, (long long)activity->total)
             : NULL;
  PyErr_Clear(); /* no reason to fail a computation */
  Py_XDECREF(done);
  Py_XDECREF(module);
  PyGILState_Release(state);
}

static void show_progress(const laze_activity *activity, int64_t now) {
  bool ended = activity->done == activity->total || strcmp(activity->what, "compile") != 0;
  if (ended) {
    if (times.shown) call_progress("clear", activity);
    times.compiling_since = times.shown = 0;
    return;
  }
  if (!times.compiling_since || activity->done == 0) times.compiling_since = now;
  int64_t since = times.shown ? times.shown + PROGRESS_EVERY_MS : times.compiling_since + PROGRESS_AFTER_MS;
  if (now < since) return;
  times.shown = now;
  call_progress("show", activity);
}

static int32_t watch(void *self, const laze_activity *activity) {
  (void)self;
  if (!Py_IsInitialized()) return 0;
  int64_t now = now_ms();
  show_progress(activity, now);
  if (now - times.looked < SIGNALS_EVERY_MS || !is_main_thread()) return 0;
  times.looked = now;
  return is_interrupted();
}

int laze_python_watch(void) {
  laze_context *context = laze_context_default();
  if (!context) return PyErr_NoMemory(), -1;
  laze_context_watch(context, watch, NULL);
  return 0;
}
