/* What the rules_*.c files share. */
#ifndef LAZE_SHAPE_INFERENCE_RULES_INTERNAL_H
#define LAZE_SHAPE_INFERENCE_RULES_INTERNAL_H

#include "shape_inference/rules.h"

/* Puts the operator before the message of a failed size operation; returns `status`. */
laze_status laze_infer_named(laze_inference *inference, laze_status status);
/* Questions about sizes and arithmetic on them. Constants are answered at once, without the table. */
LAZE_MUST_USE laze_status laze_infer_equal(laze_inference *inference, laze_size a, laze_size b, bool *out);
LAZE_MUST_USE laze_status laze_infer_less_equal(laze_inference *inference, laze_size a, laze_size b, bool *out);
/* The same for what must hold, so that "no" is refused: a size that a value defines is taken to be as it must, which
 * the run checks. In the two above it is taken to be larger than 1 and different from all others. */
LAZE_MUST_USE laze_status laze_infer_require_equal(laze_inference *inference, laze_size a, laze_size b, bool *out);
LAZE_MUST_USE laze_status laze_infer_require_less_equal(laze_inference *inference, laze_size a, laze_size b, bool *out);
LAZE_MUST_USE laze_status laze_infer_binary(laze_inference *inference, laze_size_kind kind, laze_size a, laze_size b,
                                            laze_size *out);
LAZE_MUST_USE laze_status laze_infer_subtract(laze_inference *inference, laze_size a, laze_size b, laze_size *out);
/* Refuses a size that is negative (by itself, or by its answer where it could be). `axis` is for the message. */
LAZE_MUST_USE laze_status laze_infer_check_size(laze_inference *inference, laze_size size, int axis);
/* Refuses a rank above LAZE_MAX_RANK. */
LAZE_MUST_USE laze_status laze_infer_check_rank(laze_inference *inference, int64_t rank);
/* Refuses constant sizes with more than LAZE_MAX_ELEMENTS. Symbolic ones are checked when they get values. */
LAZE_MUST_USE laze_status laze_infer_check_elements(laze_inference *inference, const laze_type *type);
/* The dtype that a message offers two to be converted to. */
laze_dtype laze_dtype_convertible(laze_dtype a, laze_dtype b);
void laze_copy_shape(const laze_type *from, laze_type *to);

#endif
