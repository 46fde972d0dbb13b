/* The floating-point control word (rounding, flush to zero, trapped exceptions) belongs to the caller, and a thread
 * starts with that of the thread that made it. Whatever laze computes, folds, converts, reads, prints or compiles (LLVM
 * folds constants on the host) stands between enter and leave: in between numbers round to nearest, subnormals are kept
 * and nothing traps.
 *
 * leave gives the word back whole, with the exception flags as they were: what laze computes sets none that the caller
 * sees, and clears none. Callbacks of the caller run in between.
 *
 * Cheap where the word is right already: two words are read and one is written, 10 ns together on Zen 4. (It is written
 * without being read again, which would take longer.) Recording a call of a primitive that is predicted computes
 * nothing, and pays nothing.
 */
#ifndef LAZE_BASE_FLOAT_CONTROL_H
#define LAZE_BASE_FLOAT_CONTROL_H

#include <stdint.h>

/* What the caller had. */
typedef struct laze_float_control laze_float_control;

#if defined(__x86_64__)

#include <xmmintrin.h>

#define LAZE_FLOAT_FLAGS 0x3fu
#define LAZE_FLOAT_DEFAULT 0x1f80u     /* every exception masked, round to nearest, no flush to zero */
#define LAZE_FLOAT_X87_DEFAULT 0x037fu /* the same, 64 bits of precision */

/* No code of laze uses the x87 unit, but the C library's conversions between text and numbers ask it for the rounding
 * direction. Its flags are looked at only where its control word is unusual. */
struct laze_float_control {
  uint32_t word;
  uint16_t x87;
  uint32_t x87_environment[7];
};

/* Written in place: a copy of the words just stored would wait for them. */
static inline void laze_float_control_enter(laze_float_control *caller) {
  caller->word = _mm_getcsr();
  __asm__ volatile("fnstcw %0" : "=m"(caller->x87));
  if ((caller->word & ~LAZE_FLOAT_FLAGS) != LAZE_FLOAT_DEFAULT) _mm_setcsr(LAZE_FLOAT_DEFAULT);
  if (caller->x87 != LAZE_FLOAT_X87_DEFAULT) {
    static const uint16_t usual = LAZE_FLOAT_X87_DEFAULT;
    __asm__ volatile("fnstenv %0\n\tfnclex\n\tfldcw %1" : "=m"(caller->x87_environment) : "m"(usual));
  }
  __asm__ volatile("" ::: "memory"); /* what follows reads its operands from memory, hence after this */
}

static inline void laze_float_control_leave(const laze_float_control *caller) {
  __asm__ volatile("" ::: "memory");
  if (caller->x87 != LAZE_FLOAT_X87_DEFAULT) __asm__ volatile("fldenv %0" : : "m"(caller->x87_environment));
  _mm_setcsr(caller->word);
}

#elif defined(__aarch64__)

/* FPCR has the modes, 0 where they are usual; FPSR the flags. */
struct laze_float_control {
  uint64_t modes, flags;
};

static inline void laze_float_control_enter(laze_float_control *caller) {
  __asm__ volatile("mrs %0, fpcr\n\tmrs %1, fpsr" : "=r"(caller->modes), "=r"(caller->flags) : : "memory");
  if (caller->modes != 0) __asm__ volatile("msr fpcr, xzr" : : : "memory");
}

static inline void laze_float_control_leave(const laze_float_control *caller) {
  uint64_t flags;
  __asm__ volatile("mrs %0, fpsr" : "=r"(flags) : : "memory");
  if (caller->modes != 0) __asm__ volatile("msr fpcr, %0" : : "r"(caller->modes) : "memory");
  if (flags != caller->flags) __asm__ volatile("msr fpsr, %0" : : "r"(caller->flags) : "memory");
}

#else

#include <fenv.h>

struct laze_float_control {
  fenv_t environment;
};

static inline void laze_float_control_enter(laze_float_control *caller) {
  fegetenv(&caller->environment);
  fesetenv(FE_DFL_ENV);
}

static inline void laze_float_control_leave(const laze_float_control *caller) {
  fesetenv(&caller->environment);
}

#endif

#endif
