/* Hashes of bytes by XXH3, and their form in names of files and kernels. */
#include "base/hash.h"

#include <stdio.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

laze_hash laze_hash_bytes(const void *data, size_t size) {
  XXH128_hash_t hash = XXH3_128bits(data, size);
  laze_hash result = {hash.low64, hash.high64};
  return result;
}

void laze_hash_format(laze_hash hash, char out[33]) {
  snprintf(out, 33, "%016llx%016llx", (unsigned long long)hash.high, (unsigned long long)hash.low);
}
