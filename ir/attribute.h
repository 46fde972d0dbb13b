/* Attributes: making and reading them, beside those of ir/recorder.h, and what every user of all kinds does with them.
 * attribute.c knows where the value of each kind lies; nothing else has to. Strings, items and bytes are borrowed where
 * nothing else is said. */
#ifndef LAZE_IR_ATTRIBUTE_H
#define LAZE_IR_ATTRIBUTE_H

#include "base/arena.h"
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
/* `items` and `strings` are borrowed; the strings lie behind each other, each with its 0. */
static inline laze_attribute laze_attribute_reals(const double *items, int32_t count) {
  return (laze_attribute){.kind = LAZE_ARGUMENT_FLOAT_LIST, .present = true, .count = count, .value.reals = items};
}
static inline laze_attribute laze_attribute_strings(const char *strings, int32_t count) {
  return (laze_attribute){.kind = LAZE_ARGUMENT_STRING_LIST, .present = true, .count = count, .value.string = strings};
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

/* Equal kind, presence and bits: a NaN equals itself, and 0 differs from -0. Sizes are equal as numbers of one table.
 */
bool laze_attribute_equal(const laze_attribute *a, const laze_attribute *b);
laze_hash laze_attribute_hash(const laze_attribute *attribute, laze_hash seed);

/* Bytes of what the attribute refers to: a list, a string with its 0, data. */
int64_t laze_attribute_payload_bytes(const laze_attribute *attribute);
/* Copies those to `memory`, aligned to 8, and makes the attribute refer to it. */
void laze_attribute_copy_payload(laze_attribute *attribute, void *memory);

/* String `index` of a list of them. */
const char *laze_attribute_text(const laze_attribute *attribute, int32_t index);

/* Whether it holds sizes, which may be expressions, and those: one, or a list. */
bool laze_attribute_find_sizes(const laze_attribute *attribute, const laze_size **sizes, int32_t *count);
/* The same to be changed in place, none in an attribute of another kind: a list is copied to the arena first. Fails
 * when memory is out. */
LAZE_MUST_USE laze_status laze_attribute_own_sizes(laze_attribute *attribute, laze_arena *arena, laze_size **sizes,
                                                   int32_t *count, laze_error *error);

/* An attribute as words, so that equal ones have equal words: written, and read again. Both return where the next one
 * stands; what is read borrows from the words. They take no more memory than the attribute and its payload, each
 * aligned to 8. */
uint64_t *laze_attribute_write(const laze_attribute *attribute, uint64_t *words);
const uint64_t *laze_attribute_read(const uint64_t *words, laze_attribute *out);

#endif
