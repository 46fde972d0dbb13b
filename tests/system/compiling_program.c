/* What cache_test.c runs in processes of its own: computes something on native code and prints one line about it:
 *
 *   result 42 kernels_compiled 3 disk_cache_hits 0 llvm_mapped 1
 *
 * The argument chooses the graph; LAZE_CACHE_DIR the cache. */
#include <laze/laze.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Whether the process has the code generator, or LLVM, in its memory. */
static int llvm_is_mapped(void) {
  char line[4096];
  int found = 0;
  FILE *maps = fopen("/proc/self/maps", "r");
  while (maps && fgets(line, sizeof line, maps))
    if (strstr(line, "liblaze-llvm") || strstr(line, "libLLVM")) found = 1;
  if (maps) fclose(maps);
  return maps ? found : -1;
}

static long long metric(const char *name) {
  int64_t value = -1;
  return laze_metric_read(NULL, name, &value, NULL) == LAZE_OK ? (long long)value : -1;
}

int main(int argc, char **argv) {
  float data[64], result = 0;
  int links = argc > 1 ? atoi(argv[1]) : 1;
  for (int i = 0; i < 64; i++) data[i] = (float)(i % 5);
  laze_scope *scope = laze_scope_begin(NULL);
  laze_tensor *x = laze_tensor_from_data(NULL, LAZE_F32, LAZE_SHAPE(8, 8), data, sizeof data);
  /* The product between them makes each link kernels of its own. */
  laze_tensor *y = x;
  for (int i = 0; i < links; i++) y = laze_minimum(laze_abs(laze_sub(laze_mm(y, x), y)), laze_add(x, x));
  y = laze_sum(y);
  if (laze_tensor_read(y, LAZE_F32, &result, sizeof result)) fprintf(stderr, "%s\n", laze_tensor_error(y));
  printf("result %g kernels_compiled %lld disk_cache_hits %lld llvm_mapped %d\n", (double)result,
         metric("kernels_compiled"), metric("disk_cache_hits"), llvm_is_mapped());
  return laze_scope_end(scope) != LAZE_OK;
}
