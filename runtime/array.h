/* Memory with its type, as callers have it (laze/buffer.h). */
#ifndef LAZE_RUNTIME_ARRAY_H
#define LAZE_RUNTIME_ARRAY_H

#include "laze/buffer.h"
#include "runtime/buffer.h"
#include "shape_inference/type.h"

struct laze_array {
  _Atomic int64_t references;
  laze_context *context; /* retained */
  laze_buffer *buffer;   /* a reference */
  laze_type type;        /* constant sizes */
};

/* An array of a buffer of that type, whose reference it takes over, also on failure. */
LAZE_MUST_USE laze_status laze_array_wrap(laze_context *context, const laze_type *type, laze_buffer *buffer,
                                          laze_array **out, laze_error *error);

#endif
