/* Shape and dtype rules. A rule receives types and attribute values and returns a type, or an error that names the
 * operator (`inference->operator_name`), the values and what was expected. Rules know no operator: which rule an
 * operator uses stands in its YAML entry, `ops/rules.yaml` declares the rules' parameters, and the generated adaptors
 * (ir/inference.gen.c) call them.
 *
 * Size arithmetic may create expressions in `inference->sizes`; it may be NULL when all sizes are constants (the lazy
 * layer's hot path). All rules are thread-safe for distinct tables.
 */
#ifndef LAZE_SHAPE_INFERENCE_INFERENCE_H
#define LAZE_SHAPE_INFERENCE_INFERENCE_H

#include "shape_inference/type.h"

typedef struct laze_inference {
  laze_size_table *sizes;    /* NULL: every size is a constant */
  const char *operator_name; /* for messages */
  laze_error *error;
} laze_inference;

/* A list of integers that may be size expressions, as attributes hold them. */
typedef struct laze_size_list {
  const laze_size *items;
  int32_t count;
  bool present; /* false: an absent optional, which differs from an empty list */
} laze_size_list;

/* dtype promotion (PyTorch's rules): by category first, where tensors with dimensions outrank 0-d tensors, which
 * outrank plain numbers (`is_number`: a Scalar argument); within a category the wider. The default float dtype is f32.
 */
typedef struct laze_promotion {
  laze_dtype dimensioned, zero_dimensional, number; /* running result of each class; zero-initialise */
  laze_dtype apart[2]; /* two that promote to nothing together, the first ones met; LAZE_DTYPE_NONE: none */
} laze_promotion;
void laze_promotion_add(laze_promotion *promotion, const laze_type *operand, bool is_number);
/* LAZE_DTYPE_NONE when nothing was added, or when the dtypes promote to nothing together. */
laze_dtype laze_promotion_result(const laze_promotion *promotion);
/* The same, which fails in the latter case. */
LAZE_MUST_USE laze_status laze_promotion_check(const laze_promotion *promotion, const char *operator_name,
                                               laze_dtype *out, laze_error *error);
/* f32 for bool and integers, the dtype itself for floats. */
laze_dtype laze_float_dtype(laze_dtype dtype);

/* Wraps an axis in [-rank, rank) to [0, rank) (rank 0 allows -1 and 0, both 0). */
LAZE_MUST_USE laze_status laze_infer_axis(laze_inference *inference, int64_t axis, int rank, int *out);
/* Broadcasts `operand` into `out` (which holds the result so far, with a dtype for messages or none; start with rank
 * 0). Sizes are compared as facts. */
LAZE_MUST_USE laze_status laze_infer_broadcast_into(laze_inference *inference, const laze_type *operand,
                                                    laze_type *out);

/* A shape or a size as text, for messages. */
typedef struct laze_shape_text {
  char text[300];
} laze_shape_text;
laze_shape_text laze_show(const laze_inference *inference, const laze_type *type);
laze_shape_text laze_show_size(const laze_inference *inference, laze_size size);

#endif
