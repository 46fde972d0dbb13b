#include "bench/reference_loops.h"

#include <math.h>

void reference_chain(const float *restrict x, const float *restrict y, float *restrict out, int64_t count) {
  for (int64_t i = 0; i < count; i++) {
    const float difference = (x[i] * y[i] + x[i]) * 0.5f - y[i];
    const float positive = difference > 0 ? difference : 0;
    out[i] = positive * positive * x[i] + 1;
  }
}

void reference_chain_functions(const float *restrict x, const float *restrict y, float *restrict out, int64_t count) {
  for (int64_t i = 0; i < count; i++) {
    const float difference = expf((tanhf(x[i] * y[i]) + x[i]) * 0.5f) - y[i];
    out[i] = (difference > 0 ? difference : 0) + 1;
  }
}
