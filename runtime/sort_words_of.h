/* What sort_words_x86_64.c, which has the picture, needs for one width of words. It is included once for each, with
 *
 *   WORD, LANES, MASK        the type, how many of it a vector has, and of a bit for each lane
 *   NAMED(name)              the name for this width
 *   UNSIGNED(name), LANEWISE(name)   operations on vectors: of unsigned words, and of any
 *   PICK(name)               a comparison of unsigned words, which gives a mask
 *   NUMBERS                  0, 1, 2 ... in the lanes
 */

typedef WORD NAMED(lanes) __attribute__((vector_size(64)));

/* A rule, in all lanes, and whether bits of some element were lost. */
typedef struct {
  __m512i sign, infinity, turned;
  bool floats;
  MASK merged;
} NAMED(rule);

static INLINE __m512i NAMED(all)(uint64_t word) {
  return (__m512i)((NAMED(lanes)){0} + (WORD)word);
}

/* laze_sort_key() of each lane. */
static INLINE __m512i NAMED(keys_of)(NAMED(rule) * rule, __m512i bits) {
  if (!rule->floats) return bits ^ rule->sign ^ rule->turned;
  const __m512i magnitude = _mm512_andnot_si512(rule->sign, bits);
  const __m512i negative = LANEWISE(srai)(bits, 8 * sizeof(WORD) - 1);
  const MASK zero = PICK(cmpeq)(magnitude, NAMED(all)(0)), nan = PICK(cmpgt)(magnitude, rule->infinity);
  __m512i keys = bits ^ (negative | rule->sign);
  keys = LANEWISE(mask_mov)(keys, zero, rule->sign);
  keys = LANEWISE(mask_mov)(keys, nan, NAMED(all)(UINT64_MAX));
  rule->merged |= nan | PICK(mask_cmpneq)(zero, bits, NAMED(all)(0));
  return keys ^ rule->turned;
}

/* The bits of elements that have these keys. */
static INLINE __m512i NAMED(bits_of)(const NAMED(rule) * rule, __m512i keys) {
  keys ^= rule->turned;
  if (!rule->floats) return keys ^ rule->sign;
  return keys ^ (~LANEWISE(srai)(keys, 8 * sizeof(WORD) - 1) | rule->sign);
}

/* Each lane and its partner, whose number differs in the bits of `distance`: the higher of both goes to the `upper`
 * one. */
static INLINE __m512i NAMED(exchange)(__m512i words, int distance, MASK upper) {
  const __m512i other = LANEWISE(permutexvar)((__m512i)(NUMBERS ^ (WORD)distance), words);
  return UNSIGNED(mask_max)(UNSIGNED(min)(words, other), upper, words, other);
}

/* Brings lanes in order that rise and then fall, or fall and then rise. */
static INLINE __m512i NAMED(merge_lanes)(__m512i words) {
  if (LANES == 16) words = NAMED(exchange)(words, 8, (MASK)0xff00);
  words = NAMED(exchange)(words, 4, (MASK)0xf0f0);
  words = NAMED(exchange)(words, 2, (MASK)0xcccc);
  return NAMED(exchange)(words, 1, (MASK)0xaaaa);
}

static INLINE __m512i NAMED(sort_lanes)(__m512i words) {
  words = NAMED(exchange)(words, 1, (MASK)0xaaaa);
  words = NAMED(exchange)(words, 3, (MASK)0xcccc);
  words = NAMED(exchange)(words, 1, (MASK)0xaaaa);
  words = NAMED(exchange)(words, 7, (MASK)0xf0f0);
  words = NAMED(exchange)(words, 2, (MASK)0xcccc);
  words = NAMED(exchange)(words, 1, (MASK)0xaaaa);
  if (LANES == 8) return words;
  words = NAMED(exchange)(words, 15, (MASK)0xff00);
  words = NAMED(exchange)(words, 4, (MASK)0xf0f0);
  words = NAMED(exchange)(words, 2, (MASK)0xcccc);
  return NAMED(exchange)(words, 1, (MASK)0xaaaa);
}

static INLINE void NAMED(order)(__m512i *low, __m512i *high, __m512i a, __m512i b) {
  *low = UNSIGNED(min)(a, b);
  *high = UNSIGNED(max)(a, b);
}

/* Joins pairs of runs of `run` vectors, each in order. Of `rows` vectors, those from `used` on have the highest words.
 */
static INLINE void NAMED(merge_runs)(__m512i *vectors, int rows, int used, int run) {
  const __m512i backwards = (__m512i)(NUMBERS ^ (WORD)(LANES - 1));
  for (int first = 0; first < rows; first += 2 * run)
    for (int i = 0; i < (run + 1) / 2; i++) {
      __m512i *a = vectors + first, *b = a + run;
      const int last = run - 1 - i;
      const __m512i near = a[i], far = a[last];
      const __m512i of_near = LANEWISE(permutexvar)(backwards, b[last]);
      const __m512i of_far = LANEWISE(permutexvar)(backwards, b[i]);
      NAMED(order)(&a[i], &b[i], near, of_near);
      NAMED(order)(&a[last], &b[last], far, of_far);
    }
  for (int distance = run / 2; distance > 0; distance /= 2)
    for (int first = 0; first < rows; first += 2 * distance)
      for (int i = first; i < first + distance; i++)
        NAMED(order)(&vectors[i], &vectors[i + distance], vectors[i], vectors[i + distance]);
  for (int i = 0; i < used; i++) vectors[i] = NAMED(merge_lanes)(vectors[i]);
}

/* As many of the first lanes: none below 0, all from LANES on. */
static INLINE MASK NAMED(first_lanes)(int64_t count) {
  return count >= LANES ? (MASK)-1 : count > 0 ? (MASK)((1u << count) - 1) : 0;
}

/* At most BLOCK vectors. `fresh`: they are elements, and no keys yet. */
static VECTORS void NAMED(sort_block)(NAMED(rule) * rule, bool fresh, const WORD *from, WORD *to, int64_t count) {
  __m512i vectors[BLOCK];
  const int used = (int)((count + LANES - 1) / LANES);
  int rows = 1;
  while (rows < used) rows *= 2;
  for (int i = 0; i < rows; i++) vectors[i] = NAMED(all)(UINT64_MAX);
  for (int i = 0; i < used; i++) {
    const MASK there = NAMED(first_lanes)(count - i * LANES);
    const __m512i some = LANEWISE(maskz_loadu)(there, from + i * LANES);
    const __m512i keys = fresh ? NAMED(keys_of)(rule, some) : some;
    vectors[i] = NAMED(sort_lanes)(LANEWISE(mask_mov)(vectors[i], there, keys));
  }
  for (int run = 1; run < rows; run *= 2) NAMED(merge_runs)(vectors, rows, used, run);
  for (int i = 0; i < used; i++) LANEWISE(mask_storeu)
  (to + i * LANES, NAMED(first_lanes)(count - i * LANES), NAMED(bits_of)(rule, vectors[i]));
}

/* The median of as many medians of three as there are lanes: at a quarter, half and three quarters. */
static VECTORS WORD NAMED(pivot)(NAMED(rule) * rule, bool fresh, const WORD *words, int64_t count) {
  __m512i some[3];
  for (int i = 0; i < 3; i++) {
    some[i] = _mm512_loadu_si512(words + count / 4 * (i + 1));
    if (fresh) some[i] = NAMED(keys_of)(rule, some[i]);
  }
  NAMED(order)(&some[0], &some[1], some[0], some[1]);
  const NAMED(lanes) medians = (NAMED(lanes))NAMED(sort_lanes)(UNSIGNED(max)(some[0], UNSIGNED(min)(some[1], some[2])));
  return medians[LANES / 2];
}

/* How words are split: those below the pivot, or, with `ties`, not above it, are stored from `low` on, and the others
 * up to `high`. */
typedef struct {
  WORD *low, *high;
  __m512i pivots;
  bool ties;
} NAMED(split);

static INLINE void NAMED(split_vector)(NAMED(split) * split, __m512i some, MASK there) {
  const MASK fits = split->ties ? PICK(cmple)(some, split->pivots) : PICK(cmplt)(some, split->pivots);
  const MASK below = there & fits, above = there & (MASK)~fits;
  LANEWISE(mask_compressstoreu)(split->low, below, some);
  split->low += __builtin_popcount(below);
  split->high -= __builtin_popcount(above);
  LANEWISE(mask_compressstoreu)(split->high, above, some);
}

/* Elements become keys, elsewhere. Returns how many are below. */
static VECTORS int64_t NAMED(split_fresh)(NAMED(rule) * rule, const WORD *from, WORD *to, int64_t count, WORD pivot) {
  NAMED(split) split = {to, to + count, NAMED(all)(pivot), false};
  for (int64_t i = 0; i < count; i += LANES) {
    const MASK there = NAMED(first_lanes)(count - i);
    const __m512i keys = NAMED(keys_of)(rule, LANEWISE(maskz_loadu)(there, from + i));
    NAMED(split_vector)(&split, keys, there);
  }
  return split.low - to;
}

/* The same of keys where they are. Of TOGETHER vectors at each end, and what is too much for groups of so many, there
 * are copies, so that both ends have room; it is read next at the end that has less. */
static INLINE int64_t NAMED(split_here)(WORD *words, int64_t count, WORD pivot, bool ties) {
  NAMED(split) split = {words, words + count, NAMED(all)(pivot), ties};
  enum { GROUP = TOGETHER * LANES };
  const int64_t rest = count % GROUP;
  const WORD *left = words + GROUP, *right = words + count - rest - GROUP;
  __m512i ends[3 * TOGETHER];
  for (int i = 0; i < TOGETHER; i++) {
    ends[i] = _mm512_loadu_si512(words + i * LANES);
    ends[TOGETHER + i] = _mm512_loadu_si512(right + i * LANES);
    ends[2 * TOGETHER + i] = LANEWISE(maskz_loadu)(NAMED(first_lanes)(rest - i * LANES), right + GROUP + i * LANES);
  }
  while (left < right) {
    __m512i some[TOGETHER];
    const bool from_right = split.high - right < left - split.low;
    const WORD *from = from_right ? (right -= GROUP) : left;
    if (!from_right) left += GROUP;
    for (int i = 0; i < TOGETHER; i++) some[i] = _mm512_loadu_si512(from + i * LANES);
    for (int i = 0; i < TOGETHER; i++) NAMED(split_vector)(&split, some[i], (MASK)-1);
  }
  for (int i = 0; i < 3 * TOGETHER; i++) NAMED(split_vector)
  (&split, ends[i], i < 2 * TOGETHER ? (MASK)-1 : NAMED(first_lanes)(rest - (i - 2 * TOGETHER) * LANES));
  return split.low - words;
}

static VECTORS bool NAMED(sort)(const laze_sort_rule *given, const void *from, void *to, int64_t count, bool *merged) {
  NAMED(rule)
  rule = {.sign = NAMED(all)(given->sign),
          .infinity = NAMED(all)(given->infinity),
          .turned = NAMED(all)(given->turned),
          .floats = given->infinity != 0};
  struct {
    WORD *words;
    int64_t count;
  } waiting[WAITING];
  int waits = 0;
  bool fresh = from != to;
  int64_t budget = 4 * count;
  WORD *words = to;
  for (int64_t n = count; n > 1; n /= 2) budget += 2 * count;
  for (;;) {
    while (count > BLOCK * LANES) {
      const WORD pivot = NAMED(pivot)(&rule, fresh, fresh ? from : words, count);
      const int64_t low =
          fresh ? NAMED(split_fresh)(&rule, from, words, count, pivot) : NAMED(split_here)(words, count, pivot, false);
      budget -= count;
      if (budget < 0) return false;
      fresh = false;
      if (low == 0) { /* the pivot is the lowest: those equal to it are where they belong, once it is the elements */
        const int64_t equal = NAMED(split_here)(words, count, pivot, true);
        const NAMED(lanes) lowest = (NAMED(lanes))NAMED(bits_of)(&rule, NAMED(all)(pivot));
        for (int64_t i = 0; i < equal; i++) words[i] = lowest[0];
        words += equal;
        count -= equal;
        continue;
      }
      const bool rises = low <= count - low;
      waiting[waits].words = rises ? words + low : words;
      waiting[waits++].count = rises ? count - low : low;
      words = rises ? words : words + low;
      count = rises ? low : count - low;
    }
    NAMED(sort_block)(&rule, fresh, fresh ? from : words, words, count);
    if (waits == 0) break;
    words = waiting[--waits].words;
    count = waiting[waits].count;
  }
  *merged = rule.merged != 0;
  return true;
}

#undef WORD
#undef LANES
#undef MASK
#undef NAMED
#undef UNSIGNED
#undef LANEWISE
#undef PICK
#undef NUMBERS
