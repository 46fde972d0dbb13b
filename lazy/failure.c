#include "lazy/lazy.h"

#include <string.h>

laze_failure *laze_failure_create(laze_lazy *lazy, const laze_error *error) {
  size_t length = strlen(error->message);
  laze_failure *failure = laze_alloc(lazy->context, (int64_t)(sizeof *failure + length + 1));
  if (!failure) return NULL;
  *failure = (laze_failure){.references = 1, .code = error->code};
  memcpy(failure->message, error->message, length + 1);
  return failure;
}

void laze_failure_release(laze_lazy *lazy, laze_failure *failure) {
  if (failure && --failure->references == 0) laze_free(lazy->context, failure);
}
