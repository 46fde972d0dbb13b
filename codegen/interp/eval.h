/* Element functions of the reference: generated from `eval` in the operator tables. */
#ifndef LAZE_CODEGEN_INTERP_EVAL_H
#define LAZE_CODEGEN_INTERP_EVAL_H

#include "ir/op.h"

#define LAZE_EVAL_MAX_OPERANDS 4

/* Computes `count` elements: result k from operand elements k. Strides are in bytes (0: the same element each time).
 * Operands have the compute dtype (bool: one byte, 0 or 1; `where`: operand 0 is bool). Pure, thread-safe. */
typedef void (*laze_eval_function)(int64_t count, const char *const *operands, const int64_t *operand_strides,
                                   char *result, int64_t result_stride);

/* The function of an elementwise operator for a compute dtype; NULL where the operator has none for it, and for `to`.
 */
laze_eval_function laze_eval_find(laze_op op, laze_dtype compute);
/* The conversion between two dtypes, as `to` does it; never NULL for valid dtypes. */
laze_eval_function laze_eval_find_conversion(laze_dtype from, laze_dtype to);

#endif
