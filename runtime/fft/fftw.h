/* FFTW 3, opened when a Fourier transform first runs: nothing is linked with it or compiled against it.
 *
 * The functions have the interface for 64-bit sizes ("guru64"). Those of f32 (fftwf_...) and f64 (fftw_...), which are
 * two libraries, differ in what they point to alone, so that one table serves both.
 */
#ifndef LAZE_RUNTIME_FFT_FFTW_H
#define LAZE_RUNTIME_FFT_FFTW_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

/* Names or paths of libraries, separated by colons, that are looked through instead of the usual ones: one of them has
 * to have the functions of f32 and one (the same, or another) those of f64. */
#define LAZE_FFTW_VARIABLE "LAZE_FFTW"

/* A loop: how often, and how far apart its elements lie in the operand and in the result, in elements. */
typedef struct laze_fftw_loop {
  ptrdiff_t count, in, out;
} laze_fftw_loop;

/* What a plan is made with: FFTW_ESTIMATE measures nothing, and so touches no data and always plans the same. */
enum { LAZE_FFTW_PRESERVE_INPUT = 1 << 4, LAZE_FFTW_ESTIMATE = 1 << 6 };

/* The sign of the exponent. */
enum { LAZE_FFTW_FORWARD = -1, LAZE_FFTW_BACKWARD = 1 };

/* f(name in the table, name of the function behind fftw_ or fftwf_, its result, its parameters) */
#define LAZE_FFTW_FUNCTIONS(f)                                                                                         \
  f(plan_complex, plan_guru64_dft, void *,                                                                             \
    (int rank, const laze_fftw_loop *dims, int batch_rank, const laze_fftw_loop *batch, void *in, void *out, int sign, \
     unsigned flags)) f(plan_from_real, plan_guru64_dft_r2c, void *,                                                   \
                        (int rank, const laze_fftw_loop *dims, int batch_rank, const laze_fftw_loop *batch, void *in,  \
                         void *out, unsigned flags))                                                                   \
      f(plan_to_real, plan_guru64_dft_c2r, void *,                                                                     \
        (int rank, const laze_fftw_loop *dims, int batch_rank, const laze_fftw_loop *batch, void *in, void *out,       \
         unsigned flags)) f(execute, execute, void, (void *plan)) f(destroy, destroy_plan, void, (void *plan))

typedef struct laze_fftw {
#define LAZE_FFTW_FIELD(name, symbol, result, parameters) result(*name) parameters;
  LAZE_FFTW_FUNCTIONS(LAZE_FFTW_FIELD)
#undef LAZE_FFTW_FIELD
} laze_fftw;

/* The functions for f32, or for f64; valid for as long as the process lives. Opens libraries the first time; where
 * there are none (LAZE_UNSUPPORTED), the next call looks again. Thread-safe, as `execute` is; whoever makes or destroys
 * plans holds the lock below. */
LAZE_MUST_USE laze_status laze_fftw_open(bool is_double, const laze_fftw **out, laze_error *error);

/* FFTW's planner has state of the whole process. */
void laze_fftw_lock(void);
void laze_fftw_unlock(void);

#endif
