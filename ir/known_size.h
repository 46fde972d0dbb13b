/* Small integer contents that are known while a graph is recorded, so that sizes given by such a value are expressions,
 * and nothing has to be waited for. */
#ifndef LAZE_IR_KNOWN_SIZE_H
#define LAZE_IR_KNOWN_SIZE_H

#include "ir/recorder.h"

/* Element `index`, row-major, of an integer value as a size; *known false where it does not follow from the calls that
 * are looked through: constants, and what defines a size. */
LAZE_MUST_USE laze_status laze_find_known_size(laze_recorder *recorder, laze_value value, int64_t index, laze_size *out,
                                               bool *known, laze_error *error);

#endif
