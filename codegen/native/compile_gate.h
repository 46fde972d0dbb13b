/* The gate that every use of LLVM goes through, so that exit() on another thread finds nobody inside: exit handlers let
 * no more in and wait for those who are. (LLVM's own exit handlers are not registered, codegen/llvm/process_life.c, but
 * other libraries' are, and a process that ends inside of a write leaves half of it.)
 *
 * A thread that is inside and calls exit() itself, from a callback, does not wait for itself, nor do two of them for
 * each other. A child of fork() has only the stays of its own thread.
 */
#ifndef LAZE_CODEGEN_NATIVE_COMPILE_GATE_H
#define LAZE_CODEGEN_NATIVE_COMPILE_GATE_H

#include "base/status.h"

#include <pthread.h>
#include <stdbool.h>

/* One use, on the stack of the thread that is inside; stays where it is until that thread leaves. */
typedef struct laze_compile_gate_stay {
  struct laze_compile_gate_stay *next, *previous;
  pthread_t thread;
  bool exits; /* its thread is in exit() */
} laze_compile_gate_stay;

/* LAZE_FAILED_PRECONDITION: the process is exiting. After success laze_compile_gate_leave() must be called. */
LAZE_MUST_USE laze_status laze_compile_gate_enter(laze_compile_gate_stay *stay, laze_error *error);
void laze_compile_gate_leave(laze_compile_gate_stay *stay);
/* The gate stands from when the library is loaded. Once LLVM is in the process: registers its exit handler again, so
 * that it also runs before those that LLVM's libraries have registered since. Any thread, any number of times. */
void laze_compile_gate_arm(void);

#endif
