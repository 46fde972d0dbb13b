/* Overload resolution: which operator a call by name means (base/overload.h has the ranking). */
#ifndef LAZE_IR_CALL_RESOLVE_H
#define LAZE_IR_CALL_RESOLVE_H

#include "ir/op.h"

/* `call->name` is a base name ("add") or a full one ("add.Tensor"). Sets *op and the `argument` of each thing passed.
 * LAZE_NOT_FOUND where there is no such operator; otherwise the message of a refusal lists the operators of that name,
 * each with what it lacks. */
LAZE_MUST_USE laze_status laze_call_resolve(const laze_overload_call *call, laze_op *op, laze_error *error);

#endif
