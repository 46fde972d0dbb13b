/* How wide first values are spread. */
#include "laze/optim.h"

#include <math.h>

/* Inputs of an output (axis 1), or outputs of an input (axis 0), of a weight [out, in, ...]. */
static double fan_of(laze_ints shape, int axis) {
  if (shape.count < 2 || !shape.items) return NAN;
  double fan = (double)shape.items[axis];
  for (int32_t i = 2; i < shape.count; i++) fan *= (double)shape.items[i];
  return fan;
}

double laze_xavier_std(laze_ints shape, double gain) {
  return gain * sqrt(2 / (fan_of(shape, 0) + fan_of(shape, 1)));
}

double laze_kaiming_std(laze_ints shape, int32_t fan, double gain) {
  return gain / sqrt(fan_of(shape, fan == LAZE_FAN_IN ? 1 : 0));
}
