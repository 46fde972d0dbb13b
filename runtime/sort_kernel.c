/* Sorts rows by the bytes of keys, the lowest byte first. A key is an unsigned number in the order of the elements, and
 * goes with the place that its element had:
 *
 *   row          -1.5   2.0  nan   -0.0
 *   keys         403f.. c000.. ffff.. 8000..      signs turned round, zeros as one, NaN above all
 *   by byte 0    keys move, with their places, behind those with a lower byte; and so on up to the highest byte
 *   result       -1.5  -0.0  2.0  nan      places 0 3 1 2
 *
 * A pass keeps the order of equal bytes, and so all passes that of equal keys. A byte that all keys share takes none.
 * Short rows are sorted by insertion. Descending, keys are complements.
 *
 * Where a few of many are wanted, only candidates are sorted: keys in the same or a lower one of 4096 ranges than the
 * last that is wanted. Counting the keys of each range says which that is.
 *
 *   keys    0 ... range 17 ... range 18 ... highest      wanted: 100; below range 18: 90, up to its end: 130
 *           sorted                 |    not looked at again
 *
 * Keys of up to 4 bytes share a word with their place, unless a row is too long for that: half the memory to move.
 *
 *   1 word   key in the high half, place in the low one
 *   2 words  key, place
 */
#include "runtime/sort_kernel.h"

#include "base/dtype.h"

#include <string.h>

/* Rows of so many elements at most by insertion: the counts of the passes would cost more. */
enum { SHORT_ROW = 40, DIGITS = 256, MAX_BYTES = 8 };
/* Rows from so many elements on, of which one in so many is wanted, are searched for candidates. */
enum { LONG_ROW = 4096, FEW = 8, RANGES = 4096, RANGE_BITS = 12 };

#define ALWAYS_INLINE __attribute__((always_inline)) inline

/* How the bits of an element become its key. */
typedef struct {
  laze_context *context;
  int size;          /* of an element, in bytes */
  uint64_t mask;     /* the bits that keys have */
  uint64_t sign;     /* the bit that is turned round; 0: none */
  uint64_t infinity; /* of floats: above it are NaNs; otherwise 0 */
  uint64_t turned;   /* all of the mask where descending */
} sort_rule;

/* One row: its elements, and the values and places of those that are kept, lie `stride` of them apart. It has a rule of
 * its own, so that the compiler knows that no key is written over it. */
typedef struct {
  sort_rule rule;
  const char *from;
  char *values;
  int64_t *places;
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

/* Signs come at random, so that they are no branch. */
static inline uint64_t key_of(const sort_rule *rule, uint64_t bits) {
  if (!rule->infinity) return bits ^ rule->sign ^ rule->turned;
  uint64_t magnitude = bits & ~rule->sign, negative = -(uint64_t)((bits & rule->sign) != 0);
  uint64_t key = bits ^ (rule->sign | (negative & rule->mask));
  key = magnitude == 0 ? rule->sign : key;
  key = magnitude > rule->infinity ? rule->mask : key;
  return key ^ rule->turned;
}

/* `words`, and `size` for the dtypes of 4 and 8 bytes, are constants wherever the following are called, and inlined for
 * each. */

static inline uint64_t key_at(const sort_row *row, int64_t i, int size) {
  return key_of(&row->rule, load_bits(row->from + i * row->stride * size, size));
}

static inline void put_key(uint64_t *keys, int64_t at, uint64_t key, int64_t place, int words) {
  keys[at * words] = words == 1 ? key << 32 | (uint64_t)place : key;
  if (words == 2) keys[at * words + 1] = (uint64_t)place;
}

static inline int64_t load_row(const sort_row *row, uint64_t *keys, int words, int size) {
  for (int64_t i = 0; i < row->count; i++) put_key(keys, i, key_at(row, i, size), i, words);
  return row->count;
}

/* Ranges of keys: number n has those from lowest + (n << shift) on. Keys behind `last` are not wanted. */
typedef struct {
  uint64_t lowest;
  int shift;
  int64_t last;
} key_ranges;

/* Finds the last range that is wanted. Returns how many keys there are up to its end. */
static ALWAYS_INLINE int64_t count_ranges(const sort_row *row, key_ranges *ranges, int size) {
  int64_t counts[RANGES] = {0}, count = 0;
  for (int64_t i = 0; i < row->count; i++) counts[(key_at(row, i, size) - ranges->lowest) >> ranges->shift]++;
  for (ranges->last = 0; (count += counts[ranges->last]) < row->kept;) ranges->last++;
  return count;
}

/* The narrowest ranges that have all keys. */
static ALWAYS_INLINE key_ranges fit_ranges(const sort_row *row, int size) {
  uint64_t lowest = UINT64_MAX, highest = 0;
  for (int64_t i = 0; i < row->count; i++) {
    uint64_t key = key_at(row, i, size);
    lowest = key < lowest ? key : lowest;
    highest = key > highest ? key : highest;
  }
  int shift = 0;
  while ((highest - lowest) >> shift >= RANGES) shift++;
  return (key_ranges){lowest, shift, 0};
}

/* Loads those that may be among the kept, at least as many, in the order of their places. Returns how many. */
static ALWAYS_INLINE int64_t load_candidates(const sort_row *row, uint64_t *keys, int words, int size) {
  const int bits = 8 * size;
  key_ranges ranges = {0, bits > RANGE_BITS ? bits - RANGE_BITS : 0, 0};
  int64_t count = 0;
  if (count_ranges(row, &ranges, size) > row->count / FEW) {
    ranges = fit_ranges(row, size);
    count_ranges(row, &ranges, size);
  }
  /* Every key is written, and only a candidate's stays. */
  for (int64_t i = 0; i < row->count; i++) {
    uint64_t key = key_at(row, i, size);
    put_key(keys, count, key, i, words);
    count += (int64_t)((key - ranges.lowest) >> ranges.shift) <= ranges.last;
  }
  return count;
}

static inline void store_row(const sort_row *row, const uint64_t *keys, int words, int size) {
  for (int64_t i = 0; i < row->kept; i++) {
    int64_t place = words == 1 ? (int64_t)(keys[i] & UINT32_MAX) : (int64_t)keys[i * words + 1];
    uint64_t bits = load_bits(row->from + place * row->stride * size, size);
    memcpy(row->values + i * row->stride * size, &bits, (size_t)size);
    row->places[i * row->stride] = place;
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

static ALWAYS_INLINE void sort_words(const sort_row *row, uint64_t *keys, int words, int size) {
  bool few = row->count >= LONG_ROW && row->kept <= row->count / FEW;
  int64_t count = few ? load_candidates(row, keys, words, size) : load_row(row, keys, words, size);
  if (count <= SHORT_ROW)
    insert_all(keys, count, words);
  else
    keys = pass_all(keys, keys + row->count * words, count, size, words);
  store_row(row, keys, words, size);
}

static void sort_rows(const laze_kernel_arguments *arguments, int64_t begin, int64_t end, void *scratch) {
  const sort_rule *rule = arguments->closure;
  const int64_t count = arguments->sizes[0], stride = arguments->sizes[1], kept = arguments->sizes[2];
  if (kept == 0) return;
  for (int64_t i = begin; i < end; i++) {
    int64_t outer = i / stride * stride, inner = i % stride;
    int64_t first = outer * count + inner, kept_first = outer * kept + inner;
    sort_row row = {.rule = *rule,
                    .from = (const char *)arguments->buffers[0] + first * rule->size,
                    .values = (char *)arguments->buffers[1] + kept_first * rule->size,
                    .places = (int64_t *)arguments->buffers[2] + kept_first,
                    .count = count,
                    .kept = kept,
                    .stride = stride};
    bool shares = rule->size <= 4 && count <= UINT32_MAX;
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

static void free_rule(void *owner) {
  sort_rule *rule = owner;
  laze_free(rule->context, rule);
}

laze_status laze_sort_kernel_create(laze_context *context, laze_dtype dtype, bool descending, laze_kernel **out,
                                    laze_error *error) {
  const laze_dtype_info *info = laze_dtype_get(dtype);
  if (info->size > MAX_BYTES) /* complex numbers, which inference refuses */
    return laze_fail(error, LAZE_INTERNAL, "sort: %s has no order", info->name);
  sort_rule *rule = laze_alloc(context, sizeof *rule);
  if (!rule) return laze_fail_memory(error, "a kernel", sizeof *rule);
  *rule = (sort_rule){.context = context, .size = info->size, .mask = UINT64_MAX >> (64 - 8 * info->size)};
  if (info->kind == LAZE_KIND_SIGNED || info->kind == LAZE_KIND_FLOAT) rule->sign = UINT64_C(1) << (info->bits - 1);
  if (info->kind == LAZE_KIND_FLOAT) rule->infinity = laze_dtype_infinity_bits(dtype);
  if (descending) rule->turned = rule->mask;
  return laze_kernel_create(context, "sort", sort_rows, rule, rule, free_rule, out, error);
}
