/* Computes ten operators once and prints the result: a whole process, as a user waits for it. */
#include "bench/workloads.h"

#include <stdio.h>

int main(void) {
  static float data[32 * 32];
  workload_fill(data, 32 * 32, 0);
  laze_scope *scope = laze_scope_begin(NULL);
  laze_tensor *x = laze_tensor_from_data(NULL, LAZE_F32, LAZE_SHAPE(32, 32), data, sizeof data);
  printf("%.6g\n", laze_tensor_item(workload_first(x)));
  laze_error error = {0};
  if (laze_scope_end_error(scope, &error) == LAZE_OK) return 0;
  fprintf(stderr, "first_result: %s\n", error.message);
  return 1;
}
