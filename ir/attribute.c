/* Where the value of an attribute lies, and all that follows from it alone: comparing, hashing, copying, packing into
 * words. What a value means (how it prints, what a call may pass for it) is a matter of its kind: such a switch stands
 * where the meaning is needed.
 *
 *   in place      INT BOOL DTYPE SIZE FLOAT   one word
 *                 LITERAL                     two: its dtype and its value
 *   referred to   INT_LIST SIZE_LIST          `count` sizes
 *                 FLOAT_LIST                  `count` numbers
 *                 STRING                      bytes and a 0
 *                 STRING_LIST                 the same `count` times, one behind the other
 *                 DATA                        bytes
 */
#include "ir/attribute.h"

#include <string.h>

typedef enum { IN_PLACE_WORD, IN_PLACE_SCALAR, REFERRED_SIZES, REFERRED_REALS, REFERRED_STRINGS, REFERRED_BYTES } place;

static place place_of(uint8_t kind) {
  switch ((laze_argument_kind)kind) {
  case LAZE_ARGUMENT_TENSOR: /* operands are no attributes */
  case LAZE_ARGUMENT_TENSOR_LIST:
  case LAZE_ARGUMENT_OPTIONAL_LIST:
  case LAZE_ARGUMENT_SCALAR:
  case LAZE_ARGUMENT_INT:
  case LAZE_ARGUMENT_SIZE:
  case LAZE_ARGUMENT_FLOAT:
  case LAZE_ARGUMENT_BOOL:
  case LAZE_ARGUMENT_DTYPE: break;
  case LAZE_ARGUMENT_LITERAL: return IN_PLACE_SCALAR;
  case LAZE_ARGUMENT_INT_LIST:
  case LAZE_ARGUMENT_SIZE_LIST: return REFERRED_SIZES;
  case LAZE_ARGUMENT_FLOAT_LIST: return REFERRED_REALS;
  case LAZE_ARGUMENT_STRING:
  case LAZE_ARGUMENT_STRING_LIST: return REFERRED_STRINGS;
  case LAZE_ARGUMENT_DATA: return REFERRED_BYTES;
  }
  return IN_PLACE_WORD;
}

/* What is in place is compared and hashed as the bits that it is: a NaN equals itself, and 0 differs from -0. */
static uint64_t bits_of(const void *value) {
  uint64_t bits;
  memcpy(&bits, value, sizeof bits);
  return bits;
}

/* One string, or those of a list. */
static int64_t string_bytes(const laze_attribute *attribute) {
  int32_t count = attribute->kind == LAZE_ARGUMENT_STRING ? 1 : attribute->count;
  const char *end = attribute->value.string;
  for (int32_t i = 0; i < count; i++) end += strlen(end) + 1;
  return end - attribute->value.string;
}

/* What a present attribute refers to. */
static laze_data payload_of(const laze_attribute *attribute, place where) {
  switch (where) {
  case IN_PLACE_WORD:
  case IN_PLACE_SCALAR: break;
  case REFERRED_SIZES:
    return laze_data_of(attribute->value.items, attribute->count * (int64_t)sizeof *attribute->value.items);
  case REFERRED_REALS:
    return laze_data_of(attribute->value.reals, attribute->count * (int64_t)sizeof *attribute->value.reals);
  case REFERRED_STRINGS: return laze_data_of(attribute->value.string, string_bytes(attribute));
  case REFERRED_BYTES: return attribute->value.data;
  }
  return (laze_data){0};
}

static bool scalar_equal(const laze_scalar *a, const laze_scalar *b) {
  return a->dtype == b->dtype && bits_of(&a->value) == bits_of(&b->value) &&
         bits_of(&a->imaginary) == bits_of(&b->imaginary);
}

bool laze_attribute_equal(const laze_attribute *a, const laze_attribute *b) {
  if (a->kind != b->kind || a->present != b->present || a->count != b->count) return false;
  if (!a->present) return true;
  place where = place_of(a->kind);
  if (where == IN_PLACE_WORD) return bits_of(&a->value) == bits_of(&b->value); /* most */
  const laze_scalar *one = &a->value.literal, *other = &b->value.literal;
  if (where == IN_PLACE_SCALAR) return scalar_equal(one, other);
  laze_data left = payload_of(a, where), right = payload_of(b, where);
  return left.size == right.size && (left.size == 0 || memcmp(left.bytes, right.bytes, (size_t)left.size) == 0);
}

laze_hash laze_attribute_hash(const laze_attribute *attribute, laze_hash seed) {
  const laze_scalar *scalar = &attribute->value.literal;
  seed = laze_hash_add(seed, (uint64_t)attribute->kind << 33 | (uint64_t)attribute->present << 32 |
                                 (uint32_t)attribute->count);
  if (!attribute->present) return seed;
  place where = place_of(attribute->kind);
  switch (where) {
  case IN_PLACE_WORD: return laze_hash_add(seed, bits_of(&attribute->value));
  case IN_PLACE_SCALAR:
    seed = laze_hash_add(laze_hash_add(seed, (uint64_t)scalar->dtype), bits_of(&scalar->value));
    return laze_hash_add(seed, bits_of(&scalar->imaginary));
  case REFERRED_SIZES:
    for (int32_t i = 0; i < attribute->count; i++) seed = laze_hash_add(seed, (uint64_t)attribute->value.items[i]);
    return seed;
  case REFERRED_REALS:
  case REFERRED_STRINGS:
  case REFERRED_BYTES: break;
  }
  laze_data payload = payload_of(attribute, where);
  return laze_hash_combine(seed, laze_hash_bytes(payload.bytes, (size_t)payload.size));
}

/* --- What an attribute refers to --- */

int64_t laze_attribute_payload_bytes(const laze_attribute *attribute) {
  return attribute->present ? payload_of(attribute, place_of(attribute->kind)).size : 0;
}

static void refer_to(laze_attribute *attribute, const void *payload, int64_t size) {
  switch (place_of(attribute->kind)) {
  case IN_PLACE_WORD:
  case IN_PLACE_SCALAR: break;
  case REFERRED_SIZES: attribute->value.items = payload; break;
  case REFERRED_REALS: attribute->value.reals = payload; break;
  case REFERRED_STRINGS: attribute->value.string = payload; break;
  case REFERRED_BYTES: attribute->value.data = laze_data_of(payload, size); break;
  }
}

void laze_attribute_copy_payload(laze_attribute *attribute, void *memory) {
  if (!attribute->present) return;
  laze_data payload = payload_of(attribute, place_of(attribute->kind));
  if (payload.size > 0) memcpy(memory, payload.bytes, (size_t)payload.size);
  /* An empty list does not point to the caller's either. */
  refer_to(attribute, payload.size > 0 ? memory : NULL, payload.size);
}

const char *laze_attribute_text(const laze_attribute *attribute, int32_t index) {
  const char *text = attribute->value.string;
  for (int32_t i = 0; i < index; i++) text += strlen(text) + 1;
  return text;
}

bool laze_attribute_find_sizes(const laze_attribute *attribute, const laze_size **sizes, int32_t *count) {
  bool list = attribute->kind == LAZE_ARGUMENT_SIZE_LIST;
  *count = 0;
  if (!attribute->present || (!list && attribute->kind != LAZE_ARGUMENT_SIZE)) return false;
  *sizes = list ? attribute->value.items : &attribute->value.size;
  *count = list ? attribute->count : 1;
  return true;
}

laze_status laze_attribute_own_sizes(laze_attribute *attribute, laze_arena *arena, laze_size **sizes, int32_t *count,
                                     laze_error *error) {
  const laze_size *shared;
  *sizes = &attribute->value.size;
  if (!laze_attribute_find_sizes(attribute, &shared, count) || shared == *sizes || *count == 0) return LAZE_OK;
  int64_t bytes = *count * (int64_t)sizeof **sizes;
  *sizes = laze_arena_copy(arena, shared, bytes);
  if (!*sizes) return laze_fail_memory(error, "the sizes of an attribute", bytes);
  attribute->value.items = *sizes;
  return LAZE_OK;
}

/* --- Words ---
 *
 *   kind, present, count   in place: its words
 *                          sizes, numbers: each
 *                          strings, data: bytes, as a number | the bytes, filled up with 0
 */

static bool is_measured(place where) {
  return where == REFERRED_STRINGS || where == REFERRED_BYTES;
}

static int64_t padded_words(int64_t bytes) {
  return (bytes + 7) / 8;
}

uint64_t *laze_attribute_write(const laze_attribute *attribute, uint64_t *words) {
  *words++ = (uint64_t)attribute->kind | (uint64_t)attribute->present << 8 | (uint64_t)(uint32_t)attribute->count << 32;
  if (!attribute->present) return words;
  place where = place_of(attribute->kind);
  if (where == IN_PLACE_WORD) {
    *words = bits_of(&attribute->value);
    return words + 1;
  }
  if (where == IN_PLACE_SCALAR) {
    words[0] = (uint64_t)attribute->value.literal.dtype;
    words[1] = bits_of(&attribute->value.literal.value);
    words[2] = bits_of(&attribute->value.literal.imaginary);
    return words + 3;
  }
  laze_data payload = payload_of(attribute, where);
  if (is_measured(where)) *words++ = (uint64_t)payload.size;
  if (payload.size == 0) return words;
  words[padded_words(payload.size) - 1] = 0;
  memcpy(words, payload.bytes, (size_t)payload.size);
  return words + padded_words(payload.size);
}

const uint64_t *laze_attribute_read(const uint64_t *words, laze_attribute *out) {
  int64_t size;
  *out = (laze_attribute){
      .kind = (uint8_t)*words, .present = (*words >> 8 & 1) != 0, .count = (int32_t)(uint32_t)(*words >> 32)};
  words++;
  if (!out->present) return words;
  switch (place_of(out->kind)) {
  case IN_PLACE_WORD: memcpy(&out->value, words, sizeof *words); return words + 1;
  case IN_PLACE_SCALAR:
    out->value.literal.dtype = (laze_dtype)words[0];
    memcpy(&out->value.literal.value, &words[1], sizeof *words);
    memcpy(&out->value.literal.imaginary, &words[2], sizeof *words);
    return words + 3;
  case REFERRED_SIZES:
  case REFERRED_REALS: refer_to(out, words, 0); return words + out->count;
  case REFERRED_STRINGS:
  case REFERRED_BYTES: break;
  }
  size = (int64_t)*words++;
  refer_to(out, words, size);
  return words + padded_words(size);
}
