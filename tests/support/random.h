/* Random numbers of tests: a function of the seed alone, the same on every machine (SplitMix64); or, as long as there
 * are any, bytes of a fuzzer. Initialise with designators: {.state = seed}. */
#ifndef LAZE_TESTS_SUPPORT_RANDOM_H
#define LAZE_TESTS_SUPPORT_RANDOM_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct test_random {
  uint64_t state;
  const uint8_t *bytes;
  size_t left; /* of the bytes */
} test_random;

static inline uint64_t test_random_bits(test_random *random) {
  uint64_t z = random->state += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}
/* In [0, bound). */
static inline int64_t test_random_below(test_random *random, int64_t bound) {
  if (random->left > 0) { /* one byte for each choice of few, so that what follows means the same */
    uint64_t value = 0;
    for (int64_t reach = 1; reach < bound && random->left > 0; reach <<= 8, random->left--)
      value = value << 8 | *random->bytes++;
    return (int64_t)(value % (uint64_t)bound);
  }
  return (int64_t)(test_random_bits(random) % (uint64_t)bound);
}
/* True in one of `n` cases. */
static inline bool test_random_one_in(test_random *random, int n) {
  return test_random_below(random, n) == 0;
}
/* In [0, 1). */
static inline double test_random_unit(test_random *random) {
  return (double)(test_random_bits(random) >> 11) * 0x1p-53;
}

/* A number from the environment, so that a failing run can be repeated or made longer; `otherwise` if not set. */
static inline int64_t test_setting(const char *name, int64_t otherwise) {
  const char *text = getenv(name);
  return text ? strtoll(text, NULL, 0) : otherwise;
}
/* How many programs to draw, where a test draws `count`: LAZE_TEST_FACTOR times as many, or one of LAZE_TEST_PART. */
static inline int64_t test_count(int64_t count) {
  count = count * test_setting("LAZE_TEST_FACTOR", 1) / test_setting("LAZE_TEST_PART", 1);
  return count > 0 ? count : 1;
}
/* Whether the i-th of many that go the same way has its turn: each, or one of LAZE_TEST_PART. */
static inline bool test_has_turn(int64_t i) {
  return i % test_setting("LAZE_TEST_PART", 1) == 0;
}

/* Whether LAZE_TEST_OPERATORS, names with commas between them, has this one; any name where it is not set. */
static inline bool test_is_chosen(const char *name) {
  const char *rest = getenv("LAZE_TEST_OPERATORS");
  if (!rest) return true;
  const size_t length = strlen(name);
  while (*rest) {
    const size_t word = strcspn(rest, ",");
    if (word == length && strncmp(rest, name, length) == 0) return true;
    rest += word + (rest[word] == ',');
  }
  return false;
}

#endif
