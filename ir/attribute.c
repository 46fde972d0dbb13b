/* Where the value of an attribute lies, and all that follows from it alone: comparing, hashing, copying, packing into
 * words. What a value means (how it prints, what a call may pass for it) is a matter of its kind: such a switch stands
 * where the meaning is needed.
 *
 *   in place      INT BOOL DTYPE SIZE FLOAT   one word
 *                 LITERAL                     two: its dtype and its value
 *   referred to   INT_LIST SIZE_LIST          `count` sizes
 *                 STRING                      bytes and a 0
 *                 DATA                        bytes
 */
#include "ir/attribute.h"

#include <string.h>

typedef enum { IN_PLACE_WORD, IN_PLACE_SCALAR, REFERRED_SIZES, REFERRED_STRING, REFERRED_BYTES } place;

static place place_of(uint8_t kind) {
  switch ((laze_argument_kind)kind) {
  case LAZE_ARGUMENT_TENSOR: /* operands are no attributes */
  case LAZE_ARGUMENT_TENSOR_LIST:
  case LAZE_ARGUMENT_SCALAR:
  case LAZE_ARGUMENT_INT:
  case LAZE_ARGUMENT_SIZE:
  case LAZE_ARGUMENT_FLOAT:
  case LAZE_ARGUMENT_BOOL:
  case LAZE_ARGUMENT_DTYPE: break;
  case LAZE_ARGUMENT_LITERAL: return IN_PLACE_SCALAR;
  case LAZE_ARGUMENT_INT_LIST:
  case LAZE_ARGUMENT_SIZE_LIST: return REFERRED_SIZES;
  case LAZE_ARGUMENT_STRING: return REFERRED_STRING;
  case LAZE_ARGUMENT_DATA: return REFERRED_BYTES;
  }
  return IN_PLACE_WORD;
}

/* An attribute taken apart. Words are compared and hashed as they are: a NaN equals itself, and 0 differs from -0. */
typedef struct {
  place place;
  int word_count; /* in place; an absent attribute has none */
  uint64_t words[2];
  const void *bytes; /* referred to */
  int64_t size;
} parts;

static parts take_apart(const laze_attribute *attribute) {
  parts p = {.place = place_of(attribute->kind)};
  if (!attribute->present) return p;
  switch (p.place) {
  case IN_PLACE_WORD:
    p.word_count = 1;
    memcpy(p.words, &attribute->value, sizeof *p.words);
    break;
  case IN_PLACE_SCALAR:
    p.word_count = 2;
    p.words[0] = (uint64_t)attribute->value.literal.dtype;
    memcpy(&p.words[1], &attribute->value.literal.value, sizeof *p.words);
    break;
  case REFERRED_SIZES:
    p.bytes = attribute->value.items;
    p.size = attribute->count * (int64_t)sizeof *attribute->value.items;
    break;
  case REFERRED_STRING:
    p.bytes = attribute->value.string;
    p.size = (int64_t)strlen(attribute->value.string) + 1;
    break;
  case REFERRED_BYTES:
    p.bytes = attribute->value.data.bytes;
    p.size = attribute->value.data.size;
    break;
  }
  return p;
}

static bool same_bytes(const void *a, const void *b, int64_t size) {
  return size == 0 || memcmp(a, b, (size_t)size) == 0;
}

bool laze_attribute_equal(const laze_attribute *a, const laze_attribute *b) {
  if (a->kind != b->kind || a->present != b->present || a->count != b->count) return false;
  if (!a->present) return true;
  place where = place_of(a->kind);
  if (where == IN_PLACE_WORD) return same_bytes(&a->value, &b->value, sizeof a->value.integer); /* most */
  const laze_scalar *one = &a->value.literal, *other = &b->value.literal;
  if (where == IN_PLACE_SCALAR)
    return one->dtype == other->dtype && same_bytes(&one->value, &other->value, sizeof one->value);
  parts left = take_apart(a), right = take_apart(b);
  return left.size == right.size && same_bytes(left.bytes, right.bytes, left.size);
}

laze_hash laze_attribute_hash(const laze_attribute *attribute, laze_hash seed) {
  parts p = take_apart(attribute);
  seed = laze_hash_add(seed, (uint64_t)attribute->kind << 33 | (uint64_t)attribute->present << 32 |
                                 (uint32_t)attribute->count);
  for (int i = 0; i < p.word_count; i++) seed = laze_hash_add(seed, p.words[i]);
  if (!attribute->present) return seed;
  switch (p.place) {
  case IN_PLACE_WORD:
  case IN_PLACE_SCALAR: break;
  case REFERRED_SIZES:
    for (int32_t i = 0; i < attribute->count; i++) seed = laze_hash_add(seed, (uint64_t)attribute->value.items[i]);
    break;
  case REFERRED_STRING:
  case REFERRED_BYTES: return laze_hash_combine(seed, laze_hash_bytes(p.bytes, (size_t)p.size));
  }
  return seed;
}

/* --- What an attribute refers to --- */

int64_t laze_attribute_payload_bytes(const laze_attribute *attribute) {
  return take_apart(attribute).size;
}

static void refer_to(laze_attribute *attribute, const void *payload, int64_t size) {
  switch (place_of(attribute->kind)) {
  case IN_PLACE_WORD:
  case IN_PLACE_SCALAR: break;
  case REFERRED_SIZES: attribute->value.items = payload; break;
  case REFERRED_STRING: attribute->value.string = payload; break;
  case REFERRED_BYTES: attribute->value.data = (laze_data){payload, size}; break;
  }
}

void laze_attribute_copy_payload(laze_attribute *attribute, void *memory) {
  parts p = take_apart(attribute);
  if (!attribute->present) return;
  if (p.size > 0) memcpy(memory, p.bytes, (size_t)p.size);
  refer_to(attribute, p.size > 0 ? memory : NULL, p.size); /* an empty list does not point to the caller's either */
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
 *                          sizes: each
 *                          string, data: bytes, as a number | the bytes, filled up with 0
 */

static bool is_measured(place where) {
  return where == REFERRED_STRING || where == REFERRED_BYTES;
}

static int64_t padded_words(int64_t bytes) {
  return (bytes + 7) / 8;
}

int64_t laze_attribute_words(const laze_attribute *attribute) {
  if (!attribute->present) return 1;
  place where = place_of(attribute->kind);
  if (where == IN_PLACE_WORD) return 2;
  if (where == IN_PLACE_SCALAR) return 3;
  return 1 + is_measured(where) + padded_words(take_apart(attribute).size);
}

uint64_t *laze_attribute_write(const laze_attribute *attribute, uint64_t *words) {
  *words++ = (uint64_t)attribute->kind | (uint64_t)attribute->present << 8 | (uint64_t)(uint32_t)attribute->count << 32;
  if (!attribute->present) return words;
  place where = place_of(attribute->kind);
  if (where == IN_PLACE_WORD) {
    memcpy(words, &attribute->value, sizeof *words);
    return words + 1;
  }
  if (where == IN_PLACE_SCALAR) {
    words[0] = (uint64_t)attribute->value.literal.dtype;
    memcpy(&words[1], &attribute->value.literal.value, sizeof *words);
    return words + 2;
  }
  parts p = take_apart(attribute);
  if (is_measured(where)) *words++ = (uint64_t)p.size;
  if (p.size == 0) return words;
  words[padded_words(p.size) - 1] = 0;
  memcpy(words, p.bytes, (size_t)p.size);
  return words + padded_words(p.size);
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
    return words + 2;
  case REFERRED_SIZES: refer_to(out, words, 0); return words + out->count;
  case REFERRED_STRING:
  case REFERRED_BYTES: break;
  }
  size = (int64_t)*words++;
  refer_to(out, words, size);
  return words + padded_words(size);
}
