/* The first program: y = relu(x + x x), computed when it is read. */
#include <laze/laze.h>

#include <stdio.h>

int main(void) {
  const float data[] = {1, -2, 3, -4};
  float result[4];
  laze_scope *scope = laze_scope_begin(NULL); /* NULL: the default context */
  laze_tensor *x = laze_tensor_from_data(NULL, LAZE_F32, LAZE_SHAPE(2, 2), data, sizeof data);
  laze_tensor *y = laze_relu(laze_add(x, laze_mm(x, x))); /* recorded, not run */
  if (laze_tensor_read(y, LAZE_F32, result, sizeof result) != LAZE_OK) fprintf(stderr, "%s\n", laze_tensor_error(y));
  printf("%g %g\n%g %g\n", result[0], result[1], result[2], result[3]);
  return laze_scope_end(scope) != LAZE_OK;
}
