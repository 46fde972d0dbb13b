/* Small integer contents that are known while a graph is recorded, so that sizes given by such a value are expressions,
 * and nothing has to be waited for.
 *
 *   %0 = size_tensor value=n          n
 *   %1 = mul %0, 2                    n*2
 *   %2 = stack [%1, %0]               [n*2, n]
 *   %3 = reshape %x, shape=%2         shape=[n*2, n]
 *
 * An entry says by `contents: NAME` what its elements are: laze_contents_<name> below.
 */
#ifndef LAZE_IR_KNOWN_SIZE_H
#define LAZE_IR_KNOWN_SIZE_H

#include "ir/recorder.h"

/* Element `index`, row-major, of an integer value as a size; *known false where it does not follow from the calls that
 * are looked through, of which there are a bounded number: constants, what defines a size, and operators whose entry
 * has `contents`. */
LAZE_MUST_USE laze_status laze_find_known_size(laze_recorder *recorder, laze_value value, int64_t index, laze_size *out,
                                               bool *known, laze_error *error);

/* What an element is: a size, or what `kind` makes of elements of operands, the second one times `scale`. */
typedef struct laze_content {
  bool is_size, is_pair; /* neither: an element of an operand */
  laze_size size;
  laze_size_kind kind;
  int64_t scale;
  laze_value values[2];
  int64_t indices[2];
} laze_content;

/* Says what element `index` of the call's result 0 is; false: nothing is known. */
typedef bool (*laze_contents_function)(laze_recorder *recorder, const laze_call *call, const laze_type *type,
                                       int64_t index, laze_content *out);
bool laze_contents_size(laze_recorder *recorder, const laze_call *call, const laze_type *type, int64_t index,
                        laze_content *out);
bool laze_contents_same(laze_recorder *recorder, const laze_call *call, const laze_type *type, int64_t index,
                        laze_content *out);
bool laze_contents_slice(laze_recorder *recorder, const laze_call *call, const laze_type *type, int64_t index,
                         laze_content *out);
bool laze_contents_cat(laze_recorder *recorder, const laze_call *call, const laze_type *type, int64_t index,
                       laze_content *out);
bool laze_contents_add(laze_recorder *recorder, const laze_call *call, const laze_type *type, int64_t index,
                       laze_content *out);
bool laze_contents_sub(laze_recorder *recorder, const laze_call *call, const laze_type *type, int64_t index,
                       laze_content *out);
bool laze_contents_mul(laze_recorder *recorder, const laze_call *call, const laze_type *type, int64_t index,
                       laze_content *out);
bool laze_contents_maximum(laze_recorder *recorder, const laze_call *call, const laze_type *type, int64_t index,
                           laze_content *out);
bool laze_contents_minimum(laze_recorder *recorder, const laze_call *call, const laze_type *type, int64_t index,
                           laze_content *out);

#endif
