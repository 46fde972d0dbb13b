#include "bench/shape_loops.h"

#include <math.h>
#include <string.h>

float loop_sum(const float *x, int64_t count) {
  float sums[16] = {0}, sum = 0;
  for (int64_t i = 0; i + 16 <= count; i += 16)
    for (int k = 0; k < 16; k++) sums[k] += x[i + k];
  for (int64_t i = count / 16 * 16; i < count; i++) sum += x[i];
  for (int k = 0; k < 16; k++) sum += sums[k];
  return sum;
}

void loop_softmax(const float *restrict x, float *restrict out, int64_t count) {
  float most = -INFINITY, sum = 0;
  for (int64_t i = 0; i < count; i++) most = x[i] > most ? x[i] : most;
  for (int64_t i = 0; i < count; i++) sum += out[i] = expf(x[i] - most);
  for (int64_t i = 0; i < count; i++) out[i] /= sum;
}

void loop_blur(const float *restrict x, float *restrict rows, float *restrict out, int64_t n, int64_t radius) {
  memset(rows, 0, (size_t)(n * n) * sizeof *rows);
  memset(out, 0, (size_t)(n * n) * sizeof *out);
  for (int64_t i = 0; i < n; i++)
    for (int64_t d = -radius; d <= radius; d++)
      for (int64_t j = 0; i + d >= 0 && i + d < n && j < n; j++) rows[i * n + j] += x[(i + d) * n + j];
  for (int64_t i = 0; i < n; i++)
    for (int64_t d = -radius; d <= radius; d++)
      for (int64_t j = d < 0 ? -d : 0; j < (d > 0 ? n - d : n); j++) out[i * n + j] += rows[i * n + j + d];
}

void loop_life(const uint8_t *restrict x, uint8_t *restrict frame, uint8_t *restrict out, int64_t n) {
  const int64_t pitch = n + 2;
  memset(frame, 0, (size_t)(pitch * pitch));
  for (int64_t i = 0; i < n; i++) memcpy(frame + (i + 1) * pitch + 1, x + i * n, (size_t)n);
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < n; j++) {
      const uint8_t *at = frame + i * pitch + j;
      const uint8_t around = (uint8_t)(at[0] + at[1] + at[2] + at[pitch] + at[pitch + 2] + at[2 * pitch] +
                                       at[2 * pitch + 1] + at[2 * pitch + 2]);
      out[i * n + j] = around == 3 || (around == 2 && at[pitch + 1]);
    }
}

void loop_distances(const float *restrict x, const float *restrict y, float *restrict out, int64_t n, int64_t c) {
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < n; j++)
      for (int64_t k = 0; k < c; k++) out[(i * n + j) * c + k] = x[j * c + k] - y[i * c + k];
}

void loop_outer(const float *restrict x, const float *restrict y, float *restrict out, int64_t n, int64_t c) {
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < n; j++)
      for (int64_t k = 0; k < c; k++) out[(i * n + j) * c + k] = x[i * n + j] - y[j * c + k];
}
