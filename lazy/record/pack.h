/* What the generated functions of laze/functions.h pack a call's arguments with (lazy/functions_*.gen.c).
 *
 * Nothing is refused here: a value that cannot be right (a missing tensor, a list without items) is packed so that
 * laze_frame_record() sees it and reports it with the operator's name.
 */
#ifndef LAZE_LAZY_RECORD_PACK_H
#define LAZE_LAZY_RECORD_PACK_H

#include "ir/attribute.h"
#include "ir/recorder.h"
#include "lazy/record/frame.h"

#include <string.h>

/* Appends a tensor or a number that may be absent (NULL, dtype LAZE_DTYPE_NONE); returns the segment. */
static inline int32_t laze_pack_tensor(laze_frame_operand *operands, int32_t *count, laze_tensor *tensor) {
  if (tensor == NULL) return -1;
  operands[(*count)++] = (laze_frame_operand){.tensor = tensor};
  return 1;
}
static inline int32_t laze_pack_scalar(laze_frame_operand *operands, int32_t *count, laze_scalar scalar) {
  if (scalar.dtype == LAZE_DTYPE_NONE) return -1;
  operands[(*count)++] = (laze_frame_operand){.scalar = scalar};
  return 1;
}
/* Appends one that must be there. */
static inline int32_t laze_pack_required(laze_frame_operand *operands, int32_t *count, laze_frame_operand operand) {
  operands[(*count)++] = operand;
  return 1;
}

/* Room for the operands of a call: `local`, unless a tensor list needs more. Memory that is out, and a list that is not
 * there or has a negative length, make *tensors a list of one missing tensor. Released after the call. */
#define LAZE_PACK_LOCAL 32
laze_frame_operand *laze_pack_reserve(laze_frame_operand *local, int32_t others, laze_tensor *const **tensors,
                                      int32_t *tensor_count);
void laze_pack_release(laze_frame_operand *local, laze_frame_operand *operands);
static inline int32_t laze_pack_tensors(laze_frame_operand *operands, int32_t *count, laze_tensor *const *tensors,
                                        int32_t tensor_count) {
  for (int32_t i = 0; i < tensor_count; i++) operands[(*count)++] = (laze_frame_operand){.tensor = tensors[i]};
  return tensor_count;
}

/* The same where each may be absent (NULL). A list that is not there gets the segment -1, which laze_frame_record()
 * refuses. */
int32_t laze_pack_optional_tensors(laze_frame_operand *operands, int32_t *count, laze_tensor *const *tensors,
                                   int32_t tensor_count);

/* A number that may be absent, then it is `otherwise`. Only an integer can be one where the kind is not float: for a
 * real number the count is -1, which laze_frame_record() refuses. */
static inline laze_attribute laze_pack_number(laze_argument_kind kind, laze_scalar number, laze_attribute otherwise) {
  const bool is_real = number.dtype == LAZE_F64;
  if (number.dtype == LAZE_DTYPE_NONE) return otherwise;
  if (kind == LAZE_ARGUMENT_FLOAT)
    return laze_attribute_real(is_real ? number.value.real : (double)number.value.integer);
  laze_attribute attribute = laze_attribute_integer(number.value.integer);
  if (kind == LAZE_ARGUMENT_SIZE) attribute = laze_attribute_size(laze_size_from_number(number.value.integer));
  if (kind == LAZE_ARGUMENT_BOOL) attribute = laze_attribute_boolean(number.value.integer != 0);
  if (is_real || (number.dtype != LAZE_I64 && number.dtype != LAZE_BOOL)) attribute.count = -1;
  return attribute;
}

/* A list without items but with a length gets the length -1, which laze_frame_record() refuses. */
static inline laze_attribute laze_pack_ints(laze_argument_kind kind, laze_ints ints) {
  const int32_t count = ints.items == NULL && ints.count > 0 ? -1 : ints.count;
  return laze_attribute_of_list(kind, (laze_size_list){ints.items, count, true});
}
/* No items: absent. */
static inline laze_attribute laze_pack_ints_if_any(laze_argument_kind kind, laze_ints ints) {
  if (ints.items == NULL && ints.count == 0) return laze_attribute_absent(kind);
  return laze_pack_ints(kind, ints);
}
/* The same of numbers and of strings; nothing: absent where `may_be_absent`. */
laze_attribute laze_pack_reals(laze_reals reals, bool may_be_absent);
laze_attribute laze_pack_strings(const char *packed, laze_strings strings, bool may_be_absent);

/* Copies the strings to lie behind each other, in `local` unless they are longer. A list that is not there, a NULL in
 * it, and memory that is out give the list the length -1. Released after the call. */
#define LAZE_PACK_BYTES 256
char *laze_pack_reserve_strings(char *local, laze_strings *strings);
void laze_pack_release_strings(char *local, char *packed);

#endif
