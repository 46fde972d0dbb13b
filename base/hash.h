/* 128-bit hashing (XXH3). */
#ifndef LAZE_BASE_HASH_H
#define LAZE_BASE_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct laze_hash {
  uint64_t low, high;
} laze_hash;

/* The hash of `size` bytes. Structures with padding must be hashed field by field or cleared first. */
laze_hash laze_hash_bytes(const void *data, size_t size);
/* Order-dependent combination, cheap enough for every node of a graph. */
static inline uint64_t laze_hash_mix(uint64_t a, uint64_t b) {
  __uint128_t product = (__uint128_t)(a ^ 0x9e3779b97f4a7c15u) * (b ^ 0xe7037ed1a0b428dbu);
  return (uint64_t)product ^ (uint64_t)(product >> 64);
}
static inline laze_hash laze_hash_combine(laze_hash a, laze_hash b) {
  laze_hash result = {laze_hash_mix(a.low ^ 0x2d358dccaa6c78a5u, b.low) + a.high,
                      laze_hash_mix(a.high ^ 0x8bb84b93962eacc9u, b.high) ^ (b.low + 0x4b33a62ed433d4a3u)};
  return result;
}
static inline laze_hash laze_hash_add(laze_hash hash, uint64_t value) {
  laze_hash word = {value, ~value};
  return laze_hash_combine(hash, word);
}
static inline bool laze_hash_equal(laze_hash a, laze_hash b) {
  return a.low == b.low && a.high == b.high;
}
/* 32 hexadecimal digits and a NUL. */
void laze_hash_format(laze_hash hash, char out[33]);

#endif
