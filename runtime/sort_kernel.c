/* Sorts rows by keys (runtime/sort_words.h), which go with the place that their element had:
 *
 *   row          -1.5   2.0  nan   -0.0
 *   result       -1.5  -0.0  2.0  nan      places 0 3 1 2
 *
 * Keys of up to 4 bytes share a word with their place, unless a row is too long for that: words are different then, and
 * in order they are stable whatever sorts them, which vectors do best.
 *
 *   1 word   key in the high half, place in the low one
 *   2 words  key, place
 *
 * Two words, and one where there are no such vectors, are sorted by the bytes of the keys, the lowest first: a pass
 * moves them behind those with a lower byte. It keeps the order of equal bytes, and so all passes that of equal keys. A
 * byte that all keys share takes none. Short rows are sorted by insertion.
 *
 * Where nobody asks for places, elements side by side are sorted as they are. What has one key and is not the same, a
 * zero of either sign or a NaN, is written again then, in the order of the row.
 *
 * Where a few of many are wanted, only candidates are sorted, those up to a key that a sample makes likely to have
 * enough below it. Where they are too few, all are.
 */
#include "runtime/sort_kernel.h"

#include "base/dtype.h"
#include "runtime/sort_words.h"

#include <string.h>

/* Rows of so many elements at most by insertion: the counts of the passes would cost more. */
enum { SHORT_ROW = 40, DIGITS = 256, MAX_BYTES = 8 };
/* Rows from so many elements on, of which one in so many is wanted, are searched for candidates, by blocks. */
enum { LONG_ROW = 4096, FEW = 8, SAMPLES = 1024, SEARCHED = 64 };

#define ALWAYS_INLINE __attribute__((always_inline)) inline

typedef struct {
  laze_context *context;
  laze_sort_rule rule;
  bool places; /* somebody asks for them */
} sort_closure;

/* One row: its elements, and the values and places of those that are kept, lie `stride` of them apart. It has a rule of
 * its own, so that the compiler knows that no key is written over it. */
typedef struct {
  laze_sort_rule rule;
  const char *from;
  char *values;
  int64_t *places; /* NULL: not asked for */
  int64_t count, kept, stride;
} sort_row;

static inline uint64_t load_bits(const char *from, int size) {
  uint64_t bits = 0;
  switch (size) {
  case 1: return *(const uint8_t *)from;
  case 2: {
    uint16_t quarter;
    memcpy(&quarter, from, sizeof quarter);
    return quarter;
  }
  case 4: {
    uint32_t half;
    memcpy(&half, from, sizeof half);
    return half;
  }
  default: memcpy(&bits, from, (size_t)size); return bits;
  }
}

/* `words`, and `size` for the dtypes of 4 and 8 bytes, are constants wherever the following are called, and inlined for
 * each. */

static inline uint64_t key_at(const sort_row *row, int64_t i, int size) {
  return laze_sort_key(&row->rule, load_bits(row->from + i * row->stride * size, size));
}

static inline void put_key(uint64_t *keys, int64_t at, uint64_t key, int64_t place, int words) {
  keys[at * words] = words == 1 ? key << 32 | (uint64_t)place : key;
  if (words == 2) keys[at * words + 1] = (uint64_t)place;
}

static inline int64_t load_row(const sort_row *row, uint64_t *keys, int words, int size) {
  for (int64_t i = 0; i < row->count; i++) put_key(keys, i, key_at(row, i, size), i, words);
  return row->count;
}

static inline void store_row(const sort_row *row, const uint64_t *keys, int words, int size) {
  for (int64_t i = 0; i < row->kept; i++) {
    int64_t place = words == 1 ? (int64_t)(keys[i] & UINT32_MAX) : (int64_t)keys[i * words + 1];
    uint64_t bits = load_bits(row->from + place * row->stride * size, size);
    memcpy(row->values + i * row->stride * size, &bits, (size_t)size);
    if (row->places) row->places[i * row->stride] = place;
  }
}

static inline void insert_all(uint64_t *keys, int64_t count, int words) {
  for (int64_t i = 1; i < count; i++) {
    uint64_t key = keys[i * words], place = keys[i * words + words - 1];
    int64_t to = i;
    for (; to > 0 && keys[(to - 1) * words] > key; to--) {
      keys[to * words] = keys[(to - 1) * words];
      if (words == 2) keys[to * words + 1] = keys[(to - 1) * words + 1];
    }
    keys[to * words] = key;
    if (words == 2) keys[to * words + 1] = place;
  }
}

static inline unsigned digit_of(uint64_t word, int byte, int words) {
  return (unsigned)(word >> (8 * byte + (words == 1 ? 32 : 0))) & (DIGITS - 1);
}

/* Moves all keys behind those whose byte is lower. `counts`, of each value of the byte, become where the next goes. */
static inline void pass(const uint64_t *from, uint64_t *to, int64_t count, int byte, int64_t *counts, int words) {
  int64_t next = 0;
  for (int digit = 0; digit < DIGITS; digit++) {
    int64_t own = counts[digit];
    counts[digit] = next;
    next += own;
  }
  for (int64_t i = 0; i < count; i++) {
    int64_t at = counts[digit_of(from[i * words], byte, words)]++;
    to[at * words] = from[i * words];
    if (words == 2) to[at * words + 1] = from[i * words + 1];
  }
}

/* Returns where the sorted keys are: in `keys` or in `spare`. */
static inline uint64_t *pass_all(uint64_t *keys, uint64_t *spare, int64_t count, int bytes, int words) {
  int64_t counts[MAX_BYTES][DIGITS];
  memset(counts, 0, (size_t)bytes * sizeof *counts);
  for (int64_t i = 0; i < count; i++)
    for (int byte = 0; byte < bytes; byte++) counts[byte][digit_of(keys[i * words], byte, words)]++;
  for (int byte = 0; byte < bytes; byte++) {
    if (counts[byte][digit_of(keys[0], byte, words)] == count) continue;
    pass(keys, spare, count, byte, counts[byte], words);
    uint64_t *sorted = spare;
    spare = keys;
    keys = sorted;
  }
  return keys;
}

/* A key that is likely to have as many as are kept up to it, and not many more: of an element in each of SAMPLES pieces
 * of the row, at no regular distance. `keys` is for the sample. */
static uint64_t guess_last(const sort_row *row, uint64_t *keys, int size) {
  const int64_t piece = row->count / SAMPLES, expected = SAMPLES * row->kept / row->count;
  for (uint32_t i = 0; i < SAMPLES; i++)
    put_key(keys, i, key_at(row, i * piece + (int64_t)(i * UINT32_C(2654435769) >> 8) % piece, size), 0, 2);
  return pass_all(keys, keys + 2 * SAMPLES, SAMPLES, size, 2)[2 * (expected + expected / 2 + 6)];
}

/* Whether some of SEARCHED elements of 4 bytes, side by side, have keys up to `last`. There is no branch, for vectors.
 */
static inline bool has_candidates(const laze_sort_rule *rule, const char *from, uint32_t last) {
  const uint32_t changed = (uint32_t)(rule->sign ^ rule->turned);
  const bool floats = rule->infinity != 0;
  uint32_t bits[SEARCHED], found = 0;
  memcpy(bits, from, sizeof bits);
  for (int i = 0; i < SEARCHED && !floats; i++) found |= (bits[i] ^ changed) <= last;
  for (int i = 0; i < SEARCHED && floats; i++) found |= laze_sort_float_key_of_4(rule, bits[i]) <= last;
  return found != 0;
}

/* Loads those that may be among the kept, in the order of their places. Returns how many, which may be too few. */
static ALWAYS_INLINE int64_t load_candidates(const sort_row *row, uint64_t *keys, int words, int size) {
  const uint64_t last = guess_last(row, keys, size);
  const bool is_searched = size == 4 && row->stride == 1;
  int64_t count = 0;
  for (int64_t first = 0; first < row->count; first += SEARCHED) {
    const int64_t end = first + SEARCHED < row->count ? first + SEARCHED : row->count;
    if (is_searched && end == first + SEARCHED && !has_candidates(&row->rule, row->from + first * size, (uint32_t)last))
      continue;
    /* Every key is written, and only a candidate's stays. */
    for (int64_t i = first; i < end; i++) {
      uint64_t key = key_at(row, i, size);
      put_key(keys, count, key, i, words);
      count += key <= last;
    }
  }
  return count;
}

static ALWAYS_INLINE void sort_words(const sort_row *row, uint64_t *keys, int words, int size) {
  static const laze_sort_rule as_they_are = {.size = 8, .mask = UINT64_MAX};
  const bool few = row->count >= LONG_ROW && row->kept <= row->count / FEW;
  int64_t count = few ? load_candidates(row, keys, words, size) : 0;
  bool merged;
  if (count < row->kept) count = load_row(row, keys, words, size);
  const bool is_sorted = words == 1 && laze_sort_words(&as_they_are, keys, keys, count, &merged);
  if (!is_sorted && count <= SHORT_ROW) insert_all(keys, count, words);
  if (!is_sorted && count > SHORT_ROW) keys = pass_all(keys, keys + count * words, count, size, words);
  store_row(row, keys, words, size);
}

/* The first place in order of an element with a key. */
static int64_t find_key(const sort_row *row, uint64_t key) {
  const int size = row->rule.size;
  int64_t low = 0, high = row->count;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (laze_sort_key(&row->rule, load_bits(row->values + middle * size, size)) < key)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* Writes zeros and NaNs, of which there are as many in order already, as they come in the row. */
static void restore_merged(const sort_row *row) {
  const laze_sort_rule *rule = &row->rule;
  int64_t zero = find_key(row, laze_sort_key(rule, 0)), nan = find_key(row, rule->mask ^ rule->turned);
  for (int64_t i = 0; i < row->count; i++) {
    const uint64_t bits = load_bits(row->from + i * rule->size, rule->size), magnitude = bits & ~rule->sign;
    int64_t *to = magnitude == 0 ? &zero : magnitude > rule->infinity ? &nan : NULL;
    if (to) memcpy(row->values + (*to)++ * rule->size, &bits, (size_t)rule->size);
  }
}

/* Elements side by side of which all are kept, without their places. False: it has not been done. */
static bool sort_values(const sort_row *row) {
  bool merged;
  if (row->places || row->stride != 1 || row->kept != row->count || row->rule.size < 4 ||
      !laze_sort_words(&row->rule, row->from, row->values, row->count, &merged))
    return false;
  if (merged) restore_merged(row);
  return true;
}

static void sort_rows(const laze_kernel_arguments *arguments, int64_t begin, int64_t end, void *scratch) {
  const sort_closure *closure = arguments->closure;
  const laze_sort_rule *rule = &closure->rule;
  const int64_t count = arguments->sizes[0], stride = arguments->sizes[1], kept = arguments->sizes[2];
  if (kept == 0) return;
  for (int64_t i = begin; i < end; i++) {
    int64_t outer = i / stride * stride, inner = i % stride;
    int64_t first = outer * count + inner, kept_first = outer * kept + inner;
    sort_row row = {.rule = *rule,
                    .from = (const char *)arguments->buffers[0] + first * rule->size,
                    .values = (char *)arguments->buffers[1] + kept_first * rule->size,
                    .places = closure->places ? (int64_t *)arguments->buffers[2] + kept_first : NULL,
                    .count = count,
                    .kept = kept,
                    .stride = stride};
    const bool shares = rule->size <= 4 && count <= UINT32_MAX;
    if (sort_values(&row)) continue;
    if (shares && rule->size == 4)
      sort_words(&row, scratch, 1, 4);
    else if (shares)
      sort_words(&row, scratch, 1, rule->size);
    else if (rule->size == 8)
      sort_words(&row, scratch, 2, 8);
    else
      sort_words(&row, scratch, 2, rule->size);
  }
}

static void free_closure(void *owner) {
  sort_closure *closure = owner;
  laze_free(closure->context, closure);
}

laze_status laze_sort_kernel_create(laze_context *context, laze_dtype dtype, bool descending, bool places,
                                    laze_kernel **out, laze_error *error) {
  const laze_dtype_info *info = laze_dtype_get(dtype);
  if (info->size > MAX_BYTES) /* complex numbers, which inference refuses */
    return laze_fail(error, LAZE_INTERNAL, "sort: %s has no order", info->name);
  sort_closure *closure = laze_alloc(context, sizeof *closure);
  if (!closure) return laze_fail_memory(error, "a kernel", sizeof *closure);
  *closure = (sort_closure){.context = context, .places = places};
  laze_sort_rule *rule = &closure->rule;
  *rule = (laze_sort_rule){.size = info->size, .mask = UINT64_MAX >> (64 - 8 * info->size)};
  if (info->kind == LAZE_KIND_SIGNED || info->kind == LAZE_KIND_FLOAT) rule->sign = UINT64_C(1) << (info->bits - 1);
  if (info->kind == LAZE_KIND_FLOAT) rule->infinity = laze_dtype_infinity_bits(dtype);
  if (descending) rule->turned = rule->mask;
  return laze_kernel_create(context, "sort", sort_rows, closure, closure, free_closure, out, error);
}
