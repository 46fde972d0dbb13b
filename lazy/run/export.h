/* What keeps the memory of an export. */
#ifndef LAZE_LAZY_RUN_EXPORT_H
#define LAZE_LAZY_RUN_EXPORT_H

#include "laze/tensor.h"
#include "lazy/run/force.h"

typedef struct laze_buffer laze_buffer;

/* The `owner` of a laze_export. */
typedef struct laze_export_owner {
  laze_context *context; /* retained */
  laze_buffer *buffer;   /* referenced, so that nothing writes it in place; NULL: the element is `number` */
  int64_t number;
  int64_t sizes[];
} laze_export_owner;

/* laze_tensor_export() for another function, that of `force`, which messages name. */
LAZE_MUST_USE laze_status laze_export_take(const laze_force *force, laze_tensor *tensor, laze_export *out,
                                           laze_error *error);

#endif
