/* What resampling.c, antialias.c, interpolate.c and grid.c share. */
#ifndef LAZE_IR_COMPOSITE_RESAMPLING_H
#define LAZE_IR_COMPOSITE_RESAMPLING_H

#include "ir/composite/window.h"

typedef enum laze_resampling {
  LAZE_RESAMPLE_NEAREST,
  LAZE_RESAMPLE_NEAREST_EXACT,
  LAZE_RESAMPLE_LINEAR,
  LAZE_RESAMPLE_CUBIC,
} laze_resampling;

/* The weights of the four elements around a place that lies `part`, from 0 to 1, behind the second of them. */
LAZE_MUST_USE laze_status laze_compose_cubic_weights(laze_recorder *recorder, laze_value part, laze_value out[4],
                                                     laze_error *error);
/* A polynomial by Horner's rule, highest coefficient first. */
LAZE_MUST_USE laze_status laze_compose_polynomial(laze_recorder *recorder, laze_value x, const double *coefficients,
                                                  int count, laze_value *out, laze_error *error);
/* size * scale, rounded down; the scale is above 0. */
LAZE_MUST_USE laze_status laze_compose_scaled_size(laze_recorder *recorder, const laze_call *call, laze_size size,
                                                   double scale, laze_size *out, laze_error *error);
/* An axis at another size, whose elements lie `step` (0-d, of the dtype of value) apart in it, by lines or curves that
 * are as wide as that. */
LAZE_MUST_USE laze_status laze_compose_antialiased(laze_recorder *recorder, bool cubic, int axis, laze_size to,
                                                   laze_value step, laze_value *value, laze_error *error);

#endif
