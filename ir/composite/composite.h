/* Composites written by hand: those whose expansion depends on ranks or sizes, which the expression language of the
 * operator tables does not see. Their prototypes are generated (ir/composite.gen.h); this header has what they share.
 *
 * Every size may be an expression over the recorder's symbols: sizes are combined and compared only through
 * shape_inference/size.h, so that what is recorded holds for other sizes as well.
 */
#ifndef LAZE_IR_COMPOSITE_COMPOSITE_H
#define LAZE_IR_COMPOSITE_COMPOSITE_H

#include "ir/recorder.h"

/* The operator's name for messages. */
static inline const char *laze_compose_name(const laze_call *call) {
  return laze_op_get(call->op)->name;
}

/* An operand's type, copied: recording may move what the recorder holds. */
static inline laze_type laze_compose_type(laze_recorder *recorder, laze_value value) {
  return *laze_recorder_type(recorder, value);
}

/* Wraps an axis in [-rank, rank) (rank 0 allows 0 and -1); an error names the call's operator. */
LAZE_MUST_USE laze_status laze_compose_axis(laze_recorder *recorder, const laze_call *call, int64_t axis, int rank,
                                            int *out, laze_error *error);

/* Refuses an axis without elements, of which one is to be chosen. */
LAZE_MUST_USE laze_status laze_compose_refuse_empty(laze_recorder *recorder, const laze_call *call,
                                                    const laze_type *type, int axis, laze_error *error);

/* Recorded movements, creations and elementwise operators. `sizes` and `axes` are borrowed. */
LAZE_MUST_USE laze_status laze_compose_reshape(laze_recorder *recorder, laze_value value, const laze_size *sizes,
                                               int rank, laze_value *out, laze_error *error);
LAZE_MUST_USE laze_status laze_compose_expand(laze_recorder *recorder, laze_value value, const laze_size *sizes,
                                              int rank, laze_value *out, laze_error *error);
/* The same number everywhere. */
LAZE_MUST_USE laze_status laze_compose_full(laze_recorder *recorder, laze_dtype dtype, laze_scalar number,
                                            const laze_size *sizes, int rank, laze_value *out, laze_error *error);
LAZE_MUST_USE laze_status laze_compose_permute(laze_recorder *recorder, laze_value value, const laze_size *axes,
                                               int rank, laze_value *out, laze_error *error);
LAZE_MUST_USE laze_status laze_compose_slice(laze_recorder *recorder, laze_value value, int axis, laze_size start,
                                             laze_size end, laze_value *out, laze_error *error);
LAZE_MUST_USE laze_status laze_compose_to(laze_recorder *recorder, laze_value value, laze_dtype dtype, laze_value *out,
                                          laze_error *error);
/* Each element is its index along `axis` of `sizes`. */
LAZE_MUST_USE laze_status laze_compose_iota(laze_recorder *recorder, const laze_size *sizes, int rank, int axis,
                                            laze_dtype dtype, laze_value *out, laze_error *error);
/* A size as an i64 without axes. */
LAZE_MUST_USE laze_status laze_compose_size(laze_recorder *recorder, laze_size size, laze_value *out,
                                            laze_error *error);
/* An operator of one operand, or of two, whose other arguments have their defaults. */
LAZE_MUST_USE laze_status laze_compose_unary(laze_recorder *recorder, laze_op op, laze_value a, laze_value *out,
                                             laze_error *error);
LAZE_MUST_USE laze_status laze_compose_binary(laze_recorder *recorder, laze_op op, laze_value a, laze_value b,
                                              laze_value *out, laze_error *error);
/* a op number, the number as a constant of a's dtype. */
LAZE_MUST_USE laze_status laze_compose_with_number(laze_recorder *recorder, laze_op op, laze_value a,
                                                   laze_scalar number, laze_value *out, laze_error *error);

/* Where the diagonal `offset` above the main one begins in a flattened matrix of rows by columns, and its length, which
 * is 0 where the matrix does not reach it. Places on it are columns + 1 apart. */
LAZE_MUST_USE laze_status laze_compose_diagonal(laze_recorder *recorder, laze_size rows, laze_size columns,
                                                int64_t offset, laze_size *first, laze_size *length, laze_error *error);

/* The places of what is not 0 in the flattened tensor, in order: i64[u0], whose size the run finds. */
LAZE_MUST_USE laze_status laze_compose_places(laze_recorder *recorder, laze_value self, laze_value *out,
                                              laze_error *error);

/* The same by axis: the index along each axis of the tensor, which has one at least (0-d: the place). */
LAZE_MUST_USE laze_status laze_compose_places_by_axis(laze_recorder *recorder, laze_value self, laze_value *out,
                                                      laze_error *error);

/* Puts a size of 1 before `axis` (at most the rank). */
LAZE_MUST_USE laze_status laze_compose_insert_axis(laze_recorder *recorder, laze_value value, int axis, laze_value *out,
                                                   laze_error *error);
/* Drops an axis whose size is 1. */
LAZE_MUST_USE laze_status laze_compose_drop_axis(laze_recorder *recorder, laze_value value, int axis, laze_value *out,
                                                 laze_error *error);
LAZE_MUST_USE laze_status laze_compose_swap_axes(laze_recorder *recorder, laze_value value, int a, int b,
                                                 laze_value *out, laze_error *error);

#endif
