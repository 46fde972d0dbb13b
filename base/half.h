/* Floats of 16 bits, in memory: to f32, which has all their numbers, and from there, in one rounding to nearest, halves
 * to even. Of a NaN the sign and the digits that fit are kept, and it becomes a quiet one. Names end as dtypes do in
 * base/dtype_table.h, whose expansions call them.
 *
 *   f16     sign, 5 of exponent, 10 of fraction      largest 65504
 *   bf16    sign, 8 of exponent,  7 of fraction      the upper half of an f32
 *   f32     sign, 8 of exponent, 23 of fraction
 */
#ifndef LAZE_BASE_HALF_H
#define LAZE_BASE_HALF_H

#include <stdint.h>
#include <string.h>

static inline float laze_float_of_bits(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static inline uint32_t laze_bits_of_float(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

static inline float laze_half_load_BF16(uint16_t bits) {
  return laze_float_of_bits((uint32_t)bits << 16);
}

static inline uint16_t laze_half_store_BF16(float value) {
  uint32_t bits = laze_bits_of_float(value);
  if ((bits & 0x7fffffff) > 0x7f800000) return (uint16_t)(bits >> 16 | 0x40);
  return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/* A subnormal is its fraction in units of 2^-24. */
static inline float laze_half_load_F16(uint16_t bits) {
  uint32_t sign = (uint32_t)(bits & 0x8000) << 16, magnitude = bits & 0x7fff;
  if (magnitude < 0x400) return laze_float_of_bits(sign | laze_bits_of_float((float)magnitude * 0x1p-24f));
  uint32_t rebased = (magnitude << 13) + (magnitude < 0x7c00 ? (127 - 15) << 23 : 0x7f800000 - (0x7c00 << 13));
  return laze_float_of_bits(sign | rebased);
}

/* Below the least normal number the unit is 2^-24, which is the last place of 0.5: adding that rounds as it should. */
static inline uint16_t laze_half_store_F16(float value) {
  uint32_t bits = laze_bits_of_float(value), sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return (uint16_t)(sign | 0x7e00 | (magnitude >> 13 & 0x3ff));
  if (magnitude >= 0x47800000) return (uint16_t)(sign | 0x7c00); /* 65536 and more */
  if (magnitude < 0x38800000)
    return (uint16_t)(sign | (laze_bits_of_float(laze_float_of_bits(magnitude) + 0.5f) - 0x3f000000));
  return (uint16_t)(sign | ((magnitude - ((127 - 15) << 23) + 0xfff + (magnitude >> 13 & 1)) >> 13));
}

#endif
