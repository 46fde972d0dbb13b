/* Steps of views, recorded again, and turned round for writes. All take values of the frame that is being recorded. */
#ifndef LAZE_LAZY_VIEWS_STEPS_H
#define LAZE_LAZY_VIEWS_STEPS_H

#include "ir/recorder.h"
#include "lazy/value/view.h"

/* Steps behind `before` (NULL: from the base on), up to `last`, of which `before` is one (NULL: none at all). */
typedef struct laze_steps {
  const laze_view_step *before, *last;
} laze_steps;

/* Records what the steps give of a base, or of what the steps up to `before` gave of it. */
LAZE_MUST_USE laze_status laze_steps_apply(laze_recorder *recorder, laze_steps steps, laze_value base, laze_value *out,
                                           laze_error *error);
/* Records the base with `value` where the steps lead to, which is of the type that they give, and
 * has a place for each element. */
LAZE_MUST_USE laze_status laze_steps_write(laze_recorder *recorder, laze_steps steps, laze_value base, laze_value value,
                                           laze_value *out, laze_error *error);

#endif
