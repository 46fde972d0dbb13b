/* What gradients share. */
#ifndef LAZE_IR_COMPOSITE_GRADIENTS_H
#define LAZE_IR_COMPOSITE_GRADIENTS_H

#include "ir/composite/composite.h"

/* Puts nothing in the place of results that the call's output_mask does not want. */
LAZE_MUST_USE laze_status laze_compose_wanted(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                              laze_error *error);

#endif
