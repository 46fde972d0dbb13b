/* A call of an operator on tensors, as the generated functions of the C interface pack it. */
#ifndef LAZE_LAZY_RECORD_FRAME_H
#define LAZE_LAZY_RECORD_FRAME_H

#include "ir/op.h"
#include "laze/tensor.h"

/* A tensor, or a number where `tensor` is NULL. */
typedef struct laze_frame_operand {
  laze_tensor *tensor;
  laze_scalar scalar;
} laze_frame_operand;

/* A tensor that says what a size of the frame's attributes is: `attribute` has that size, or `items`, its list, as item
 * `item`, or, where that is -1, as the whole list, of at most `room`. Both are written. */
typedef struct laze_frame_size {
  laze_tensor *tensor;
  laze_attribute *attribute;
  laze_size *items; /* NULL: a single size */
  int32_t item, room;
} laze_frame_size;

/* Borrowed arrays. Absent optionals have segment -1 and no operand. A Scalar with a default that the caller left out is
 * absent. `context` is used where no operand is a tensor (NULL: the default). `called` is what the caller wrote, the C
 * function or the operator's name, and what messages name (NULL: the operator's name). */
typedef struct laze_frame {
  laze_context *context;
  const char *called;
  laze_op op;
  int32_t operand_count;
  const laze_frame_operand *operands;
  const int32_t *segments;          /* one per operand argument; NULL: each is 1 */
  const laze_attribute *attributes; /* one per attribute, defaults filled in */
  const laze_frame_size *sizes;     /* which of those are tensors */
  int32_t size_count;
  laze_location location;
} laze_frame;

/* Records the call: writes its results, handles that belong to the calling thread's current scope (`results` may be
 * NULL, and has room for LAZE_MAX_LISTED where the operator lists them), and returns how many. An absent result is
 * NULL. Never fails: what is wrong becomes error handles, one where the operator does not say how many results it has.
 * A NULL tensor in a segment that must be present is such an error.
 */
int32_t laze_frame_record(const laze_frame *frame, laze_tensor **results);

#endif
