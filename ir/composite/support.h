/* What composites are written with: the generated ones (ir/composite_*.gen.c) and those by hand in this folder.
 *
 * Values that a composite has not recorded itself are the call's operands; a Scalar is a 0-d value whose dtype promotes
 * as a plain number. Nothing here keeps a pointer to a type, which the next record would end.
 */
#ifndef LAZE_IR_COMPOSITE_SUPPORT_H
#define LAZE_IR_COMPOSITE_SUPPORT_H

#include "ir/attribute.h"
#include "ir/recorder.h"

/* Runs a composite with recorder->origin naming the outermost one, which is put back afterwards. */
LAZE_MUST_USE laze_status laze_expand_composite(laze_recorder *recorder, const laze_call *call,
                                                laze_expand_function composite, laze_value *results, laze_error *error);
/* Records a call with the recorder's location and origin, which the call leaves out. */
LAZE_MUST_USE laze_status laze_record_here(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                           laze_error *error);
/* The same for operators that take so many tensors and nothing else. Most calls of composites are of these, and
 * thousands of them are shorter for it. */
LAZE_MUST_USE laze_status laze_record_unary(laze_recorder *recorder, laze_op op, laze_value a, laze_value *result,
                                            laze_error *error);
LAZE_MUST_USE laze_status laze_record_binary(laze_recorder *recorder, laze_op op, laze_value a, laze_value b,
                                             laze_value *result, laze_error *error);
LAZE_MUST_USE laze_status laze_record_ternary(laze_recorder *recorder, laze_op op, laze_value a, laze_value b,
                                              laze_value c, laze_value *result, laze_error *error);
/* `op` converts to a dtype; a value that has it already is its own conversion, and nothing is recorded. */
LAZE_MUST_USE laze_status laze_record_conversion(laze_recorder *recorder, laze_op op, laze_value value,
                                                 laze_dtype dtype, laze_value *out, laze_error *error);
/* laze_record_number() for a number that is written as it is. */
LAZE_MUST_USE laze_status laze_record_integer(laze_recorder *recorder, laze_dtype dtype, int64_t value, laze_value *out,
                                              laze_error *error);
LAZE_MUST_USE laze_status laze_record_real(laze_recorder *recorder, laze_dtype dtype, double value, laze_value *out,
                                           laze_error *error);
/* The same in the dtype to which the number, which is weak, and another value promote. */
LAZE_MUST_USE laze_status laze_record_number_beside(laze_recorder *recorder, laze_value other, laze_scalar number,
                                                    laze_value *out, laze_error *error);
LAZE_MUST_USE laze_status laze_record_integer_beside(laze_recorder *recorder, laze_value other, int64_t value,
                                                     laze_value *out, laze_error *error);
LAZE_MUST_USE laze_status laze_record_real_beside(laze_recorder *recorder, laze_value other, double value,
                                                  laze_value *out, laze_error *error);

/* The value of the operand argument at `position`, which is no list; LAZE_VALUE_NONE when it is absent. */
laze_value laze_call_operand(const laze_call *call, int32_t position);
/* Drops absent values (LAZE_VALUE_NONE) from the operands of a call and makes their segments, which are 1 so far, -1.
 * Segments of lists and those that are -1 already stay. Returns how many values are left. */
int32_t laze_compact_operands(laze_value *operands, int32_t *segments, int32_t segment_count);

/* One operand of a promotion: a value (LAZE_VALUE_NONE is ignored), or, where `number` is not LAZE_DTYPE_NONE, a plain
 * number of that dtype. `is_number`: the value promotes as a plain number. */
typedef struct laze_promoted_operand {
  laze_value value;
  bool is_number;
  laze_dtype number;
} laze_promoted_operand;
LAZE_MUST_USE laze_status laze_promote_operands(laze_recorder *recorder, const laze_promoted_operand *operands,
                                                int32_t count, laze_dtype *out, laze_error *error);

/* The sizes of a value, copied into `storage` of LAZE_MAX_RANK. */
laze_size_list laze_value_sizes(laze_recorder *recorder, laze_value value, laze_size *storage);
/* The size of an axis (negative: from the back). Errors name the operator of `call`. */
LAZE_MUST_USE laze_status laze_value_size(laze_recorder *recorder, const laze_call *call, laze_value value,
                                          int64_t axis, laze_size *out, laze_error *error);
/* The number of elements that a reduction over `dims` joins; all where there are none or the list is absent. */
LAZE_MUST_USE laze_status laze_value_elements(laze_recorder *recorder, const laze_call *call, laze_value value,
                                              laze_size_list dims, laze_size *out, laze_error *error);
/* `a` + - * / `b` (`mark` names which; / rounds down). Overflow and division by zero are LAZE_OUT_OF_RANGE. */
LAZE_MUST_USE laze_status laze_size_arithmetic(laze_recorder *recorder, char mark, laze_size a, laze_size b,
                                               laze_size *out, laze_error *error);
/* Comparisons of sizes; facts where the sizes are not constants. */
LAZE_MUST_USE laze_status laze_size_is_equal(laze_recorder *recorder, laze_size a, laze_size b, bool *out,
                                             laze_error *error);
LAZE_MUST_USE laze_status laze_size_is_at_most(laze_recorder *recorder, laze_size a, laze_size b, bool *out,
                                               laze_error *error);
/* The same for askers to whom "no" is not a safe answer where a value gives a size. The lazy layer finds the number
 * then, and has the call recorded again; a graph goes on with one answer, which its run checks: what must be is so, and
 * what may be (and would make another graph) is not. */
LAZE_MUST_USE laze_status laze_size_must_equal(laze_recorder *recorder, laze_size a, laze_size b, bool *out,
                                               laze_error *error);
LAZE_MUST_USE laze_status laze_size_must_be_at_most(laze_recorder *recorder, laze_size a, laze_size b, bool *out,
                                                    laze_error *error);
LAZE_MUST_USE laze_status laze_size_may_equal(laze_recorder *recorder, laze_size a, laze_size b, bool *out,
                                              laze_error *error);
LAZE_MUST_USE laze_status laze_size_may_be_at_most(laze_recorder *recorder, laze_size a, laze_size b, bool *out,
                                                   laze_error *error);

#endif
