/* Calls that compilers have to refuse, one for each CASE but 0, which they take (refused_calls.py). */
#include <laze/laze.h>

laze_tensor *call(laze_tensor *x);

laze_tensor *call(laze_tensor *x) {
#if CASE == 0
  const int64_t wide = 3;
  const laze_ints list = {&wide, 1};
  x = laze_expand(laze_reshape(x, list), LAZE_SHAPE(6, 2));
  return laze_sum_dim(laze_expand(laze_reshape(x, wide), 6), 0, 1);
#elif CASE == 1
  return laze_expand(x, LAZE_SHAPE(6), 0);
#elif CASE == 2
  return laze_expand(x, 6, 0);
#elif CASE == 3
  return laze_reshape(x, 2, LAZE_SHAPE(3));
#elif CASE == 4
  return laze_reshape(x, LAZE_SHAPE(2), LAZE_SHAPE(3));
#elif CASE == 5
  return laze_add(x, x, 2);
#elif CASE == 6
  return laze_add(x, 1, 2);
#elif CASE == 7
  return laze_sum_dim(x, 0, 1, 2);
#elif CASE == 8
  return laze_tensor_from_scalar(NULL, LAZE_F32, 1, 2);
#endif
}
