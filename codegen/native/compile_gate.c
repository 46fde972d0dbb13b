/* The gate around LLVM: who is inside, and how exit() and fork() find it (compile_gate.h). */
#include "codegen/native/compile_gate.h"

#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards what follows */
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static laze_compile_gate_stay *inside;
static bool exiting;

static bool somebody_compiles(void) {
  for (const laze_compile_gate_stay *stay = inside; stay; stay = stay->next)
    if (!stay->exits) return true;
  return false;
}

static void on_exit_of_process(void) {
  pthread_mutex_lock(&lock);
  exiting = true;
  for (laze_compile_gate_stay *stay = inside; stay; stay = stay->next)
    if (pthread_equal(stay->thread, pthread_self())) stay->exits = true;
  pthread_cond_broadcast(&changed);
  while (somebody_compiles()) pthread_cond_wait(&changed, &lock);
  pthread_mutex_unlock(&lock);
}

static void before_fork(void) {
  pthread_mutex_lock(&lock);
}

static void in_parent(void) {
  pthread_mutex_unlock(&lock);
}

static void in_child(void) {
  laze_compile_gate_stay *stay = inside;
  inside = NULL;
  for (laze_compile_gate_stay *next; stay; stay = next) {
    next = stay->next;
    if (!pthread_equal(stay->thread, pthread_self())) continue;
    stay->next = inside;
    stay->previous = NULL;
    if (inside) inside->previous = stay;
    inside = stay;
  }
  pthread_cond_init(&changed, NULL); /* the parent's threads wait there */
  pthread_mutex_unlock(&lock);
}

static void handle_exit(void) {
  (void)atexit(on_exit_of_process); /* without memory for it, exiting is as it would be without a gate */
}

/* When the library is loaded, so that no exit() comes first: a handler that a thread registers while exit() runs may be
 * called only after libraries were taken down. */
__attribute__((constructor)) static void prepare(void) {
  (void)pthread_atfork(before_fork, in_parent, in_child);
  handle_exit();
}

void laze_compile_gate_arm(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, handle_exit);
}

laze_status laze_compile_gate_enter(laze_compile_gate_stay *stay, laze_error *error) {
  *stay = (laze_compile_gate_stay){.thread = pthread_self()};
  pthread_mutex_lock(&lock);
  bool closed = exiting;
  if (!closed) {
    stay->next = inside;
    if (inside) inside->previous = stay;
    inside = stay;
  }
  pthread_mutex_unlock(&lock);
  return closed ? laze_fail(error, LAZE_FAILED_PRECONDITION, "the process is exiting: nothing is compiled any more")
                : LAZE_OK;
}

void laze_compile_gate_leave(laze_compile_gate_stay *stay) {
  pthread_mutex_lock(&lock);
  if (stay->previous)
    stay->previous->next = stay->next;
  else
    inside = stay->next;
  if (stay->next) stay->next->previous = stay->previous;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&lock);
}
