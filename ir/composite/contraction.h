/* Products of tensors whose axes have labels: an axis of a label that both have is the same axis of the result, or,
 * where nobody needs it any more, is summed over.
 *
 *   a[i, k] b[k, j]       k is summed over: a matrix product         [i, j]
 *   a[b, i, k] b[b, k]    b stays, k is summed over: bmm             [b, i]
 *   a[i] b[j]             nothing is summed over: an outer product   [i, j]
 */
#ifndef LAZE_IR_COMPOSITE_CONTRACTION_H
#define LAZE_IR_COMPOSITE_CONTRACTION_H

#include "ir/composite/composite.h"

#define LAZE_MAX_LABELS 64

typedef struct laze_labelled {
  laze_value value;
  int rank;
  uint8_t labels[LAZE_MAX_RANK]; /* of each axis, below LAZE_MAX_LABELS, each once */
} laze_labelled;

/* The labels of a tensor, a bit for each. */
uint64_t laze_labels_of(const laze_labelled *tensor);
/* Where an axis of one tensor has one element and another tensor has more with that label, drops it: all sizes of a
 * label are equal then. Those that are not are refused. */
LAZE_MUST_USE laze_status laze_compose_join_labels(laze_recorder *recorder, const laze_call *call,
                                                   laze_labelled *tensors, int count, laze_error *error);
/* Sums over the axes whose labels are not among `kept`, in `dtype` (LAZE_DTYPE_NONE: that of sums). */
LAZE_MUST_USE laze_status laze_compose_keep_labels(laze_recorder *recorder, laze_labelled *tensor, uint64_t kept,
                                                   laze_dtype dtype, laze_error *error);
/* Puts the axes in the order of `labels`, which are as many as the tensor has; one that it does not have gets size 1.
 */
LAZE_MUST_USE laze_status laze_compose_order_labels(laze_recorder *recorder, const laze_call *call,
                                                    laze_labelled *tensor, const uint8_t *labels, int count,
                                                    laze_error *error);
/* The product of two tensors with the axes of both, those of labels not among `kept` summed over: first what both have,
 * then what only `a`, then what only `b` has. */
LAZE_MUST_USE laze_status laze_compose_contract(laze_recorder *recorder, const laze_call *call, laze_labelled a,
                                                laze_labelled b, uint64_t kept, laze_labelled *out, laze_error *error);

#endif
