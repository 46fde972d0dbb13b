/* Fourier transforms of tensors, f32 or f64: what the operators _fft_c2c, _fft_r2c and _fft_c2r run. */
#ifndef LAZE_RUNTIME_FFT_TRANSFORM_H
#define LAZE_RUNTIME_FFT_TRANSFORM_H

#include "base/context.h"
#include "base/dtype.h"
#include "runtime/fft/fftw.h"

#include <stdbool.h>

typedef enum laze_transform_kind {
  LAZE_TRANSFORM_COMPLEX,   /* complex numbers to complex numbers */
  LAZE_TRANSFORM_FROM_REAL, /* real numbers forward to complex ones */
  LAZE_TRANSFORM_TO_REAL,   /* complex numbers, of which the last axis has the first half or all, back to real ones */
} laze_transform_kind;

/* What the values are divided by, in PyTorch's numbers: nothing, the root of the number of points, that number. */
typedef enum laze_transform_scale {
  LAZE_TRANSFORM_WHOLE,
  LAZE_TRANSFORM_ROOT,
  LAZE_TRANSFORM_MEAN
} laze_transform_scale;

/* Elements by rows. Types are those of the operators (ops/native_functions/fft.yaml), whose inference has checked them.
 */
typedef struct laze_transform {
  laze_context *context;
  laze_transform_kind kind;
  laze_transform_scale scale;
  bool forward; /* of complex numbers */
  bool is_double;
  int rank, axis_count;
  const int *axes; /* each once; the last one is the one of which a half is enough */
  const int64_t *in_sizes, *out_sizes;
  const char *in; /* is not written */
  char *out;
} laze_transform;

/* Fails where FFTW is missing or has no plan, or memory is out. */
LAZE_MUST_USE laze_status laze_transform_run(const laze_transform *transform, laze_error *error);

#endif
