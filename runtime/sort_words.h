/* Sorting by keys, with the processor's vectors.
 *
 * A *key* is an unsigned number in the order of the elements. Signs are turned round, zeros are one, NaNs the highest;
 * where it is descending, keys are complements:
 *
 *   row          -1.5   2.0  nan   -0.0
 *   keys         403f.. c000.. ffff.. 8000..
 */
#ifndef LAZE_RUNTIME_SORT_WORDS_H
#define LAZE_RUNTIME_SORT_WORDS_H

#include <stdbool.h>
#include <stdint.h>

/* How the bits of an element become its key. */
typedef struct laze_sort_rule {
  int size;          /* of an element, in bytes */
  uint64_t mask;     /* the bits that keys have */
  uint64_t sign;     /* the bit that is turned round; 0: none */
  uint64_t infinity; /* of floats: above it are NaNs; otherwise 0 */
  uint64_t turned;   /* all of the mask where descending */
} laze_sort_rule;

/* Of a float: laze_sort_float_key_of_4() and laze_sort_float_key_of_8(), by the size of words. One body for both,
 * because vectors hold twice as many of 4 bytes, which a compiler makes of nothing wider; `turns` is the bits that
 * are turned round of a negative one, all that it has, and otherwise 0. Signs come at random, so that they are no
 * branch. */
#define LAZE_SORT_FLOAT_KEY(name, word, turns)                                                                         \
  static inline word name(const laze_sort_rule *rule, word bits) {                                                     \
    const word sign = (word)rule->sign, mask = (word)rule->mask, magnitude = bits & ~sign;                             \
    word key = bits ^ (sign | (turns));                                                                                \
    key = magnitude == 0 ? sign : key;                                                                                 \
    key = magnitude > (word)rule->infinity ? mask : key;                                                               \
    return key ^ (word)rule->turned;                                                                                   \
  }
LAZE_SORT_FLOAT_KEY(laze_sort_float_key_of_4, uint32_t, 0u - (bits >> 31))
LAZE_SORT_FLOAT_KEY(laze_sort_float_key_of_8, uint64_t, (bits & sign) != 0 ? mask : 0)
#undef LAZE_SORT_FLOAT_KEY

/* Of any element, of at most 8 bytes. */
static inline uint64_t laze_sort_key(const laze_sort_rule *rule, uint64_t bits) {
  return rule->infinity ? laze_sort_float_key_of_8(rule, bits) : bits ^ rule->sign ^ rule->turned;
}

/* Sorts `count` elements of 4 or 8 bytes into `to`, which may be `from` where keys are the elements. Of those that have
 * one key all become the same: *merged says whether some lost bits so, -0 or a NaN. False: it has not been done, for
 * the processor has no such vectors, or the order of the elements is such that it would take long; in `to` is nothing
 * of use then, or where it is `from`, the elements in some order. */
bool laze_sort_words(const laze_sort_rule *rule, const void *from, void *to, int64_t count, bool *merged);

#endif
