/* Calls by name: which operator one means (base/overload.h has the ranking), and what numbers in it become. */
#ifndef LAZE_IR_CALL_RESOLVE_H
#define LAZE_IR_CALL_RESOLVE_H

#include "ir/op.h"

/* `call->name` is a base name ("add") or a full one ("add.Tensor"). Sets *op and the `argument` of each thing passed.
 * LAZE_NOT_FOUND where there is no such operator; otherwise the message of a refusal lists the operators of that name,
 * each with what it lacks. */
LAZE_MUST_USE laze_status laze_call_resolve(const laze_overload_call *call, laze_op *op, laze_error *error);
/* The same of one operator, which the call knows already: nothing is looked up. */
LAZE_MUST_USE laze_status laze_call_fit(const laze_overload_call *call, laze_op op, laze_error *error);

/* The dtype of the tensor without dimensions that a number becomes where a tensor is wanted, so that it decides no more
 * about results than a plain number: that of the call's tensors where it is of the number's kind (an integer beside
 * i32), or else i64, f32 or bool. */
laze_dtype laze_call_number_dtype(laze_dtype number, const laze_promotion *tensors);

#endif
