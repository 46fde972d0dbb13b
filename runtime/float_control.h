/* The floating-point control word: kernels run rounding to nearest and keeping subnormals, whatever the caller set. */
#ifndef LAZE_RUNTIME_FLOAT_CONTROL_H
#define LAZE_RUNTIME_FLOAT_CONTROL_H

#include <stdint.h>

#if defined(__x86_64__)
#include <xmmintrin.h>
/* All exceptions masked, round to nearest, no flush to zero. */
#define LAZE_FLOAT_CONTROL_DEFAULT 0x1f80u
static inline uint32_t laze_float_control_set(uint32_t wanted) {
  uint32_t old = _mm_getcsr();
  if ((old & ~0x3fu) != wanted) _mm_setcsr(wanted);
  return old;
}
#else
#define LAZE_FLOAT_CONTROL_DEFAULT 0u
static inline uint32_t laze_float_control_set(uint32_t wanted) {
  (void)wanted;
  return 0;
}
#endif

#endif
