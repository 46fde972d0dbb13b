/* Making and reading attributes, beside those of ir/recorder.h. Text and items are borrowed. */
#ifndef LAZE_IR_ATTRIBUTE_H
#define LAZE_IR_ATTRIBUTE_H

#include "ir/op.h"

static inline laze_attribute laze_attribute_real(double value) {
  return (laze_attribute){.kind = LAZE_ARGUMENT_FLOAT, .present = true, .value.real = value};
}
static inline laze_attribute laze_attribute_literal(laze_scalar value) {
  return (laze_attribute){.kind = LAZE_ARGUMENT_LITERAL, .present = true, .value.literal = value};
}
/* NULL: absent. */
static inline laze_attribute laze_attribute_string(const char *text) {
  return (laze_attribute){.kind = LAZE_ARGUMENT_STRING, .present = text != NULL, .value.string = text};
}
/* LAZE_DTYPE_NONE: absent. */
static inline laze_attribute laze_attribute_dtype_if_any(laze_dtype dtype) {
  return (laze_attribute){.kind = LAZE_ARGUMENT_DTYPE, .present = dtype != LAZE_DTYPE_NONE, .value.integer = dtype};
}
static inline laze_attribute laze_attribute_of_list(laze_argument_kind kind, laze_size_list list) {
  return (laze_attribute){
      .kind = (uint8_t)kind, .present = list.present, .count = list.count, .value.items = list.items};
}
static inline laze_size_list laze_attribute_list(const laze_attribute *attribute) {
  return (laze_size_list){attribute->value.items, attribute->count, attribute->present};
}

#endif
