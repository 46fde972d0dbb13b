/* Quicksort by vectors of AVX-512, which stores side by side those lanes that a mask names:
 *
 *   words     5 2 9 1 7 3 8 4     pivot 5
 *             2 1 3 4 | 8 7 9 5   those below it from the front, the others from the back
 *
 * What is stored is behind what was read, at either end. A few vectors are sorted by a network, as rows of a block:
 *
 *   5 2     1 2    columns in order, then joined,     1 4     turned: 1 2 3 4 5 9
 *   1 9     4 3    pairs of runs, until there is      2 5
 *   4 3     5 9    one                                3 9
 *
 * The first split makes keys of elements, and networks make elements of them again.
 *
 * A key says all about an element that is kept, so that it is the same which of two equal ones comes first. Pivots are
 * medians of samples; an order for which they are bad takes up a budget, and is left to the caller. */
#include "runtime/sort_words.h"

#include <immintrin.h>

enum { BLOCK = 16, TOGETHER = 8, WAITING = 64 };

/* The truth table of a ^ b ^ c. Of two words and the lower one it makes the higher one, on a port that minima and
 * maxima have no use of. */
enum { OTHER_OF = 0x96 };

/* Of a loop over vectors that are to stay in registers. */
#ifdef __clang__
#define UNROLLED _Pragma("unroll")
#else
#define UNROLLED _Pragma("GCC unroll 64")
#endif
/* Pairs of rows of a block, in the order in which they are compared: the network that M. W. Green found. */
enum { COMPARISONS = 60 };
static const uint8_t network[COMPARISONS][2] = {
    {0, 1},  {2, 3},  {4, 5},   {6, 7},   {8, 9},  {10, 11}, {12, 13}, {14, 15}, {0, 2},  {1, 3},   {4, 6},   {5, 7},
    {8, 10}, {9, 11}, {12, 14}, {13, 15}, {0, 4},  {1, 5},   {2, 6},   {3, 7},   {8, 12}, {9, 13},  {10, 14}, {11, 15},
    {0, 8},  {1, 9},  {2, 10},  {3, 11},  {4, 12}, {5, 13},  {6, 14},  {7, 15},  {5, 10}, {6, 9},   {3, 12},  {13, 14},
    {4, 8},  {7, 11}, {1, 2},   {1, 4},   {7, 13}, {2, 8},   {11, 14}, {5, 6},   {9, 10}, {2, 4},   {11, 13}, {3, 8},
    {7, 12}, {6, 8},  {10, 12}, {3, 5},   {7, 9},  {3, 4},   {5, 6},   {7, 8},   {9, 10}, {11, 12}, {6, 7},   {8, 9}};

#define VECTORS __attribute__((target("avx512f,popcnt")))
#define INLINE VECTORS __attribute__((always_inline)) inline

#define WORD uint32_t
#define LANES 16
#define MASK __mmask16
#define NAMED(name) name##_of_4
#define UNSIGNED(name) _mm512_##name##_epu32
#define LANEWISE(name) _mm512_##name##_epi32
#define PICK(name) _mm512_##name##_epu32_mask
#define NUMBERS ((lanes_of_4){0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15})
#include "runtime/sort_words_of.h"

#define WORD uint64_t
#define LANES 8
#define MASK __mmask8
#define NAMED(name) name##_of_8
#define UNSIGNED(name) _mm512_##name##_epu64
#define LANEWISE(name) _mm512_##name##_epi64
#define PICK(name) _mm512_##name##_epu64_mask
#define NUMBERS ((lanes_of_8){0, 1, 2, 3, 4, 5, 6, 7})
#include "runtime/sort_words_of.h"

bool laze_sort_words(const laze_sort_rule *rule, const void *from, void *to, int64_t count, bool *merged) {
  if (!__builtin_cpu_supports("avx512f")) return false;
  return rule->size == 4 ? sort_of_4(rule, from, to, count, merged) : sort_of_8(rule, from, to, count, merged);
}
