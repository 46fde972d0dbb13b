/* Views among calls: what operators whose results are in the memory of an argument have besides (laze_op_info.aliased).
 * Implemented in lazy/views/alias.c. Called with the context's lock held. */
#ifndef LAZE_LAZY_RECORD_ALIAS_H
#define LAZE_LAZY_RECORD_ALIAS_H

#include "ir/op.h"
#include "laze/tensor.h"

typedef struct laze_frame laze_frame;
typedef struct laze_thread_state laze_thread_state;

/* Room for attributes of a call that laze_alias_begin() changes. */
typedef struct laze_alias_room {
  laze_attribute attributes[3];
} laze_alias_room;

/* Before the call is recorded: as_strided is one of the memory, and so of the base, whatever its operand is of that. */
LAZE_MUST_USE laze_status laze_alias_begin(laze_thread_state *thread, const laze_frame *frame, laze_call *call,
                                           laze_alias_room *room, laze_error *error);
/* After it: makes the handles of the results views of their argument, as far as its strides allow. Where they do not,
 * the result is a copy, and of `view` an error. */
LAZE_MUST_USE laze_status laze_alias_end(laze_thread_state *thread, const laze_frame *frame, const laze_call *call,
                                         const laze_value *values, laze_tensor *const *results, int32_t count,
                                         laze_error *error);

#endif
