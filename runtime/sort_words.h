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

/* Signs come at random, so that they are no branch. */
static inline uint64_t laze_sort_key(const laze_sort_rule *rule, uint64_t bits) {
  if (!rule->infinity) return bits ^ rule->sign ^ rule->turned;
  uint64_t magnitude = bits & ~rule->sign, negative = -(uint64_t)((bits & rule->sign) != 0);
  uint64_t key = bits ^ (rule->sign | (negative & rule->mask));
  key = magnitude == 0 ? rule->sign : key;
  key = magnitude > rule->infinity ? rule->mask : key;
  return key ^ rule->turned;
}

/* Sorts `count` elements of 4 or 8 bytes into `to`, which may be `from` where keys are the elements. Of those that have
 * one key all become the same: *merged says whether some lost bits so, -0 or a NaN. False: it has not been done, for
 * the processor has no such vectors, or the order of the elements is such that it would take long; in `to` is nothing
 * of use then, or where it is `from`, the elements in some order. */
bool laze_sort_words(const laze_sort_rule *rule, const void *from, void *to, int64_t count, bool *merged);

#endif
