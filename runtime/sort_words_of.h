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
  const MASK minus_zero = PICK(cmpeq)(bits, rule->sign), nan = PICK(cmpgt)(magnitude, rule->infinity);
  __m512i keys = bits ^ (negative | rule->sign);
  keys = LANEWISE(mask_mov)(keys, minus_zero, rule->sign);
  keys = LANEWISE(mask_mov)(keys, nan, NAMED(all)(UINT64_MAX));
  rule->merged |= nan | minus_zero;
  return keys ^ rule->turned;
}

/* The bits of elements that have these keys. */
static INLINE __m512i NAMED(bits_of)(const NAMED(rule) * rule, __m512i keys) {
  keys ^= rule->turned;
  if (!rule->floats) return keys ^ rule->sign;
  return keys ^ (~LANEWISE(srai)(keys, 8 * sizeof(WORD) - 1) | rule->sign);
}

/* Each lane and its partner among `others`, whose number differs in the bits of `distance`: the lower of both, or, in
 * the `upper` lanes, the higher. */
static INLINE __m512i NAMED(meet)(__m512i words, __m512i others, int distance, MASK upper) {
  const __m512i other = LANEWISE(permutexvar)((__m512i)(NUMBERS ^ (WORD)distance), others);
  const __m512i low = UNSIGNED(min)(words, other);
  return LANEWISE(mask_ternarylogic)(low, upper, words, other, OTHER_OF);
}

static INLINE __m512i NAMED(exchange)(__m512i words, int distance, MASK upper) {
  return NAMED(meet)(words, words, distance, upper);
}

/* Lanes whose number has the bit `distance`. */
static INLINE MASK NAMED(lanes_with)(int distance) {
  return (MASK)(distance == 1 ? 0xaaaa : distance == 2 ? 0xcccc : distance == 4 ? 0xf0f0 : 0xff00);
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
  *high = LANEWISE(ternarylogic)(*low, a, b, OTHER_OF);
}

/* Of two rows, the lower words go to the first. */
static INLINE void NAMED(put_in_order)(__m512i *rows, int first, int second) {
  NAMED(order)(&rows[first], &rows[second], rows[first], rows[second]);
}

/* Sorts each lane down the rows. */
static INLINE void NAMED(sort_columns)(__m512i *rows) {
  UNROLLED for (int i = 0; i < COMPARISONS; i++) NAMED(put_in_order)(rows, network[i][0], network[i][1]);
}

/* Puts rows `distance` apart in order. */
static INLINE void NAMED(halve)(__m512i *rows, int distance) {
  UNROLLED for (int i = 0; i < BLOCK; i++) if (!(i & distance)) NAMED(put_in_order)(rows, i, i + distance);
}

/* Joins pairs of runs of `run` columns each, one below the other, into runs of twice as many: every word meets that as
 * far from the pair's other end, and then those at half of the distance, as long as there are any. */
static INLINE void NAMED(join_columns)(__m512i *rows, int run) {
  const MASK upper = NAMED(lanes_with)(run);
  UNROLLED for (int i = 0; i < BLOCK / 2; i++) {
    const __m512i near = rows[i], far = rows[BLOCK - 1 - i];
    rows[i] = NAMED(meet)(near, far, 2 * run - 1, upper);
    rows[BLOCK - 1 - i] = NAMED(meet)(far, near, 2 * run - 1, upper);
  }
  UNROLLED for (int i = 0; i < BLOCK; i++) {
    if (run > 4) rows[i] = NAMED(exchange)(rows[i], 4, NAMED(lanes_with)(4));
    if (run > 2) rows[i] = NAMED(exchange)(rows[i], 2, NAMED(lanes_with)(2));
    if (run > 1) rows[i] = NAMED(exchange)(rows[i], 1, NAMED(lanes_with)(1));
  }
  NAMED(halve)(rows, 8);
  NAMED(halve)(rows, 4);
  NAMED(halve)(rows, 2);
  NAMED(halve)(rows, 1);
}

/* Lanes whose number has the bits of `distance` change places with the rows whose number has them. */
static INLINE void NAMED(turn)(__m512i *rows, int distance) {
  const MASK upper = NAMED(lanes_with)(distance);
  const __m512i partners = (__m512i)(NUMBERS ^ (WORD)distance);
  UNROLLED for (int i = 0; i < BLOCK; i++) if (!(i & distance)) {
    const __m512i a = rows[i], b = rows[i + distance];
    rows[i] = LANEWISE(mask_permutexvar)(a, upper, partners, b);
    rows[i + distance] = LANEWISE(mask_permutexvar)(b, (MASK)~upper, partners, a);
  }
}

/* As many of the first lanes: none below 0, all from LANES on. */
static INLINE MASK NAMED(first_lanes)(int64_t count) {
  return count >= LANES ? (MASK)-1 : count > 0 ? (MASK)((1u << count) - 1) : 0;
}

/* Some words, and the highest behind them. */
static INLINE __m512i NAMED(load_some)(const WORD *from, int64_t count) {
  return LANEWISE(mask_loadu)(NAMED(all)(UINT64_MAX), NAMED(first_lanes)(count), from);
}

static INLINE void NAMED(store_some)(const NAMED(rule) * rule, WORD *to, int64_t count, __m512i keys) {
  LANEWISE(mask_storeu)(to, NAMED(first_lanes)(count), NAMED(bits_of)(rule, keys));
}

/* At most BLOCK vectors, in as few columns as will do. Which word is where does not matter before they are in order. */
static VECTORS void NAMED(sort_block)(const NAMED(rule) * rule, WORD *words, int64_t count) {
  if (count <= LANES) {
    NAMED(store_some)(rule, words, count, NAMED(sort_lanes)(NAMED(load_some)(words, count)));
    return;
  }
  __m512i rows[BLOCK];
  int columns = 2;
  while (columns * BLOCK < count) columns *= 2;
  UNROLLED for (int i = 0; i < BLOCK; i++) {
    const int64_t left = count - i * columns;
    rows[i] = NAMED(load_some)(words + i * columns, left < columns ? left : columns);
  }
  NAMED(sort_columns)(rows);
  NAMED(join_columns)(rows, 1);
  if (columns > 2) NAMED(join_columns)(rows, 2);
  if (columns > 4) NAMED(join_columns)(rows, 4);
  if (LANES == 16 && columns > 8) NAMED(join_columns)(rows, 8);
  /* Lane l of row r is word BLOCK l + r, and goes to vector r % LANES. */
  NAMED(turn)(rows, 1);
  NAMED(turn)(rows, 2);
  NAMED(turn)(rows, 4);
  if (LANES == 16) NAMED(turn)(rows, 8);
  UNROLLED for (int i = 0; i < BLOCK; i++) {
    const int at = i % LANES * BLOCK + i / LANES * LANES;
    NAMED(store_some)(rule, words + at, count - at, rows[i]);
  }
}

/* The one in the middle of three, in each lane. */
static INLINE __m512i NAMED(median)(__m512i a, __m512i b, __m512i c) {
  return UNSIGNED(max)(UNSIGNED(min)(a, b), UNSIGNED(min)(UNSIGNED(max)(a, b), c));
}

/* Medians of three lanes that are `distance` apart. */
static INLINE __m512i NAMED(median_across)(__m512i words, int distance) {
  const __m512i next = LANEWISE(permutexvar)((__m512i)(NUMBERS + (WORD)distance), words);
  const __m512i last = LANEWISE(permutexvar)((__m512i)(NUMBERS + (WORD)(2 * distance)), words);
  return NAMED(median)(words, next, last);
}

/* In all lanes a median of medians: of nine vectors, and of nine lanes. */
static INLINE __m512i NAMED(pivot)(NAMED(rule) * rule, bool fresh, const WORD *words, int64_t count) {
  __m512i some[9];
  UNROLLED for (int i = 0; i < 9; i++) {
    some[i] = _mm512_loadu_si512(words + count / 9 * i);
    if (fresh) some[i] = NAMED(keys_of)(rule, some[i]);
  }
  UNROLLED for (int i = 0; i < 3; i++) some[i] = NAMED(median)(some[i], some[3 + i], some[6 + i]);
  const __m512i medians = NAMED(median)(some[0], some[1], some[2]);
  return LANEWISE(permutexvar)(NAMED(all)(0), NAMED(median_across)(NAMED(median_across)(medians, LANES / 3), 1));
}

/* How words are split: those below the pivot are stored from `low` on, and the others up to `high`. */
typedef struct {
  WORD *low, *high;
  __m512i pivots;
} NAMED(split);

static INLINE void NAMED(split_vector)(NAMED(split) * split, __m512i some, int64_t count) {
  const MASK there = NAMED(first_lanes)(count);
  const MASK below = PICK(mask_cmplt)(there, some, split->pivots);
  const int of_low = __builtin_popcount(below);
  LANEWISE(mask_compressstoreu)(split->low, below, some);
  split->low += of_low;
  split->high -= (count < LANES ? count : LANES) - of_low;
  LANEWISE(mask_compressstoreu)(split->high, there & (MASK)~below, some);
}

/* Elements become keys, elsewhere. Returns how many are below. */
static VECTORS int64_t NAMED(split_fresh)(NAMED(rule) * rule, const WORD *from, WORD *to, int64_t count,
                                          __m512i pivots) {
  NAMED(split) split = {to, to + count, pivots};
  int64_t i = 0;
  for (; i + LANES <= count; i += LANES)
    NAMED(split_vector)(&split, NAMED(keys_of)(rule, _mm512_loadu_si512(from + i)), LANES);
  if (i < count) {
    const __m512i rest = LANEWISE(maskz_loadu)(NAMED(first_lanes)(count - i), from + i);
    NAMED(split_vector)(&split, NAMED(keys_of)(rule, rest), count - i);
  }
  return split.low - to;
}

/* The same of keys where they are. Of TOGETHER vectors at each end, and what is too much for groups of so many, there
 * are copies, so that both ends have room; it is read next at the end that has less. */
static VECTORS __attribute__((noinline)) int64_t NAMED(split_here)(WORD *words, int64_t count, __m512i pivots) {
  NAMED(split) split = {words, words + count, pivots};
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
    UNROLLED for (int i = 0; i < TOGETHER; i++) some[i] = _mm512_loadu_si512(from + i * LANES);
    UNROLLED for (int i = 0; i < TOGETHER; i++) NAMED(split_vector)(&split, some[i], LANES);
  }
  for (int i = 0; i < 2 * TOGETHER; i++) NAMED(split_vector)(&split, ends[i], LANES);
  for (int i = 0; i * LANES < rest; i++) NAMED(split_vector)(&split, ends[2 * TOGETHER + i], rest - i * LANES);
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
  if (fresh && count <= BLOCK * LANES) { /* one block, of keys in any order */
    (void)NAMED(split_fresh)(&rule, from, words, count, NAMED(all)(0));
    fresh = false;
  }
  for (;;) {
    while (count > BLOCK * LANES) {
      const __m512i pivot = NAMED(pivot)(&rule, fresh, fresh ? from : words, count);
      const int64_t low =
          fresh ? NAMED(split_fresh)(&rule, from, words, count, pivot) : NAMED(split_here)(words, count, pivot);
      budget -= count;
      if (budget < 0) return false;
      fresh = false;
      if (low == 0) { /* the pivot is the lowest: those equal to it are where they belong, once it is the elements */
        const NAMED(lanes) next = (NAMED(lanes))pivot + 1; /* 0: nothing is above it */
        const int64_t equal = next[0] == 0 ? count : NAMED(split_here)(words, count, (__m512i)next);
        const NAMED(lanes) lowest = (NAMED(lanes))NAMED(bits_of)(&rule, pivot);
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
    NAMED(sort_block)(&rule, words, count);
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
