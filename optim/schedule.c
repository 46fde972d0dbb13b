/* Learning rates by the number of steps. */
#include "laze/optim.h"

#include <math.h>

double laze_schedule_step(double lr, int64_t step, int64_t every, double gamma) {
  return lr * pow(gamma, (double)(every > 0 ? step / every : 0));
}

double laze_schedule_exponential(double lr, int64_t step, double gamma) {
  return lr * pow(gamma, (double)step);
}

double laze_schedule_cosine(double lr, int64_t step, int64_t steps, double least) {
  if (steps <= 0) return lr;
  return least + (lr - least) * (1 + cos(M_PI * (double)step / (double)steps)) / 2;
}

double laze_schedule_warmup(double lr, int64_t step, int64_t steps, double start_factor) {
  if (step >= steps) return lr;
  return lr * (start_factor + (1 - start_factor) * (double)step / (double)steps);
}
