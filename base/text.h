/* A growing text buffer, for printers. Not thread-safe. Appending after memory ran out does nothing; `failed` says so,
 * and is checked once at the end. */
#ifndef LAZE_BASE_TEXT_H
#define LAZE_BASE_TEXT_H

#include "base/context.h"

typedef struct laze_text {
  laze_context *context; /* borrowed */
  char *data;            /* NUL-terminated once something was appended; owned */
  int64_t size, capacity;
  bool failed;
} laze_text;

void laze_text_init(laze_text *text, laze_context *context);
void laze_text_deinit(laze_text *text);
void laze_text_append(laze_text *text, const char *string);
void laze_text_append_bytes(laze_text *text, const char *data, int64_t size);
void laze_text_format(laze_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The text so far, never NULL; borrowed until the next append. */
const char *laze_text_get(const laze_text *text);
/* Appends a number in the shortest form that reads back to the same bits (floats: "1.5", "inf", "nan", "-0.0", or
 * "nan(0x7fc00001)" where the bits are not the default NaN's; bool: "true"). `dtype` says which precision to read back.
 */
void laze_text_append_scalar(laze_text *text, laze_dtype dtype, laze_scalar value);
/* Appends a NaN given by its bits in `dtype`: widening one that signals would change them. */
void laze_text_append_nan(laze_text *text, laze_dtype dtype, uint64_t bits);
/* Gives a caller the text: into `size` bytes, NUL-terminated and cut where it does not fit (`text` may be NULL where
 * size is 0); *needed (may be NULL) gets the bytes of the whole text without NUL. Fails as laze_text_check(). */
LAZE_MUST_USE laze_status laze_text_give(const laze_text *from, char *text, size_t size, size_t *needed,
                                         laze_error *error);
/* LAZE_OK, or LAZE_OUT_OF_MEMORY when an append failed. */
LAZE_MUST_USE laze_status laze_text_check(const laze_text *text, laze_error *error);

#endif
