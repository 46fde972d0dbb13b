/* What resampling.c and grid.c share. */
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

#endif
