/* Memory of last resort. LLVM cannot fail: where an allocation does, it ends the process, and what it holds at that
 * moment (locks, half-made tables that live as long as the process) keeps anybody from leaving it half way. So it does
 * not learn that memory is out:
 *
 *   open     maps address space, untouched, for more than LLVM will need from here on; fails as anything of laze does
 *   LLVM     its malloc and new are sent to wrap_memory.c (the linker's --wrap): the C library's, and where that has
 *            nothing, the reserve of this thread; so what was begun is always finished
 *   close    gives the reserve back, but for pieces that LLVM still has
 *
 * Should a reserve be used up, or LLVM call something a fatal error, the thread leaves LLVM by a jump to `escape`, and
 * LLVM is not entered again in this process: that is the one thing that can be lost.
 *
 * Other threads, and what of the process is not LLVM, allocate as if none of this were here.
 */
#ifndef LAZE_CODEGEN_LLVM_RESERVE_H
#define LAZE_CODEGEN_LLVM_RESERVE_H

#include "base/status.h"

#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct laze_reserve {
  struct laze_reserve *outer; /* of the same thread: a callback of the caller's may compile as well */
  char *base, *end;
  int region;         /* where it is listed once it is used; -1 before */
  laze_status status; /* why the thread has escaped */
  char reason[256];
  sigjmp_buf escape; /* set before LLVM is called, after open */
} laze_reserve;

/* Reserves `bytes` for what this thread does until laze_reserve_close(). LAZE_OUT_OF_MEMORY: there is no such space. Or
 * LLVM was escaped from before (LAZE_UNSUPPORTED). Then there is nothing to close. */
LAZE_MUST_USE laze_status laze_reserve_open(laze_reserve *reserve, size_t bytes, laze_error *error);
void laze_reserve_close(laze_reserve *reserve);

/* Leaves LLVM: jumps to this thread's `escape`, after which no reserve can be opened. Returns where none is open. */
void laze_reserve_escape(laze_status status, const char *reason);

/* For the allocation functions. Memory from this thread's reserve, or, where none is open (LLVM's static constructors),
 * from a fixed piece; escapes when it is used up, or gives NULL where that cannot be. */
void *laze_reserve_take(size_t size, size_t alignment);
/* Whether memory comes from any reserve. Any thread may ask, and give it back. */
bool laze_reserve_owns(const void *memory);
void laze_reserve_give(void *memory);
/* The size that was asked for. */
size_t laze_reserve_size(const void *memory);

#endif
