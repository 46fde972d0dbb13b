/* The header of a safetensors file: the JSON that the format allows, and no other. */
#ifndef LAZE_RUNTIME_SAFETENSORS_HEADER_H
#define LAZE_RUNTIME_SAFETENSORS_HEADER_H

#include "base/status.h"
#include "laze/safetensors.h"

#include <stdbool.h>

#define LAZE_SAFETENSORS_HEADER_MAX 100000000 /* bytes, as the format's own library has it */

typedef struct laze_safetensors_header {
  laze_context *context;        /* borrowed */
  char *text;                   /* names, keys and values, NUL-terminated; owned, as the arrays */
  laze_safetensors_item *items; /* by their elements; `data` is not set */
  int64_t item_count, item_capacity;
  laze_safetensors_note *notes; /* by key */
  int64_t note_count, note_capacity;
} laze_safetensors_header;

/* Parses `length` bytes, and checks that the tensors are exactly `elements` bytes, one behind the other. Whatever comes
 * back, *out is to be given to laze_safetensors_header_deinit(). */
LAZE_MUST_USE laze_status laze_safetensors_header_parse(laze_context *context, const char *text, int64_t length,
                                                        int64_t elements, laze_safetensors_header *out,
                                                        laze_error *error);
void laze_safetensors_header_deinit(laze_safetensors_header *header);

/* What the format calls a dtype; NULL: it does not have it. */
const char *laze_safetensors_dtype_name(laze_dtype dtype);

/* Whether text is UTF-8: no overlong forms, no halves of surrogate pairs. */
bool laze_safetensors_is_utf8(const char *text, int64_t length);

/* For qsort: pointers to, or, of notes, what begins with, a name. */
int laze_safetensors_compare_names(const void *left, const void *right);

#endif
