/* Calls by name over lists of tensors. Called without the lock. */
#ifndef LAZE_LAZY_RECORD_CALL_EACH_H
#define LAZE_LAZY_RECORD_CALL_EACH_H

#include "laze/tensor.h"

#include <stdbool.h>

typedef struct laze_call_site {
  const char *name, *file;
  int32_t line;
} laze_call_site;

/* Whether a name is that of an operator over lists. */
bool laze_calls_each(const char *name);
/* laze_call_by_name_at() with such a name: one result for each element, or one error handle. */
int32_t laze_call_each(laze_context *context, const laze_call_site *site, const laze_argument *arguments, int32_t count,
                       laze_tensor **results, int32_t capacity);

#endif
