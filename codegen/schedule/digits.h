/* How a value lies along an axis that others have split: a stride for each part, the digits of the index.
 *
 *   axis 6 of extents 2, 3     index = 3 * outer + inner     lies at 100 * outer + inner     digits (3: 1), (2: 100)
 *                                                            at 30 * outer + 10 * inner      one digit (6: 10)
 */
#ifndef LAZE_CODEGEN_SCHEDULE_DIGITS_H
#define LAZE_CODEGEN_SCHEDULE_DIGITS_H

#include "codegen/schedule/map.h"

#define LAZE_MAX_DIGITS 4

/* The innermost first; the index runs over the product of their extents. At least one. */
typedef struct laze_digits {
  laze_size extents[LAZE_MAX_DIGITS], strides[LAZE_MAX_DIGITS];
  int32_t count;
} laze_digits;

/* Those of an axis, split or not, in an offset without dynamic parts. *fits is false where there are too many. */
LAZE_MUST_USE laze_status laze_map_digits(laze_mapper *mapper, const laze_component *offset, int32_t axis,
                                          laze_digits *out, bool *fits);
/* Those of an axis that runs slower behind those of another: of both as one. *fits as above. */
LAZE_MUST_USE laze_status laze_digits_append(laze_mapper *mapper, laze_digits *digits, const laze_digits *further,
                                             bool *fits);

#endif
