/* lanes16 and rows as they are defined: all elements into their blocks, then the trees over the blocks. */
#include "tests/support/order_sums.h"

#include <check.h>

enum { MOST_BLOCKS = 80 };

/* The tree over block totals that lie `stride` apart, from its definition. */
static float sum_tree(const float *totals, int count, int stride) {
  if (count <= 1) return totals[0];
  int half = 1;
  while (2 * half < count) half *= 2;
  return sum_tree(totals, half, stride) + sum_tree(totals + half * stride, count - half, stride);
}

float test_sum_lanes(const float *x, test_layout at) {
  float blocks[MOST_BLOCKS][16] = {{0}}, lanes[16];
  int run = (at.extent + 31) / 32 * 32, count = (at.outer * run + 2047) / 2048;
  ck_assert_int_le(count, MOST_BLOCKS);
  for (int o = 0; o < at.outer; o++)
    for (int r = 0; r < at.extent; r++) blocks[(o * run + r) / 2048][r % 16] += x[o * at.outer_stride + r * at.stride];
  for (int lane = 0; lane < 16; lane++) lanes[lane] = sum_tree(blocks[0] + lane, count, 16);
  for (int half = 8; half; half /= 2)
    for (int lane = 0; lane < half; lane++) lanes[lane] += lanes[lane + half];
  return lanes[0];
}

float test_sum_rows(const float *x, test_layout at) {
  float blocks[MOST_BLOCKS] = {0};
  int count = (at.outer * at.extent + 63) / 64;
  ck_assert_int_le(count, MOST_BLOCKS);
  for (int o = 0; o < at.outer; o++)
    for (int r = 0; r < at.extent; r++) blocks[(o * at.extent + r) / 64] += x[o * at.outer_stride + r * at.stride];
  return sum_tree(blocks, count, 1);
}
