/* Types of values. */
#ifndef LAZE_SHAPE_INFERENCE_TYPE_H
#define LAZE_SHAPE_INFERENCE_TYPE_H

#include "base/dtype.h"
#include "laze/argument.h"
#include "shape_inference/size.h"

#define LAZE_MAX_RANK 16
/* No tensor has more elements, whatever its dtype: then bytes fit 2^62 in the widest, and converting a tensor or
 * inferring a dtype after a shape needs no check of its own. */
#define LAZE_MAX_ELEMENTS ((int64_t)1 << 59)

typedef enum {
  LAZE_TYPE_TENSOR,
  LAZE_TYPE_TOKEN, /* orders effects; no data */
  LAZE_TYPE_NONE,  /* of a result that is absent: nothing uses it, and it has no data */
} laze_type_kind;

/* The type of a value: an element type and `rank` sizes, row-major, no strides. Plain data: copied by value. */
typedef struct laze_type {
  uint8_t kind; /* laze_type_kind */
  uint8_t dtype;
  uint8_t rank;
  laze_size sizes[LAZE_MAX_RANK]; /* only the first `rank` are meaningful */
} laze_type;

/* Same kind, dtype, rank and size words (of one table). */
bool laze_type_equal(const laze_type *a, const laze_type *b);
/* "f32[n,784]", "i64[]", "token", "none". `table` may be NULL when every size is a constant. */
void laze_type_print(laze_text *text, const laze_size_table *table, const laze_type *type);
/* Parses that form from *cursor and leaves *cursor after it. `table` may be NULL, which allows constant sizes only. */
LAZE_MUST_USE laze_status laze_type_parse(laze_size_table *table, const char **cursor, laze_type *out,
                                          laze_error *error);
/* A tensor type with constant sizes. Refuses a bad dtype, rank, a negative size, and sizes whose elements exceed
 * LAZE_MAX_ELEMENTS; `what` names what the type is of, in messages. */
LAZE_MUST_USE laze_status laze_type_init(laze_type *out, const char *what, laze_dtype dtype, int rank,
                                         const int64_t *sizes, laze_error *error);
/* The same for memory that a caller gives: `size` bytes at `data`, which must be what the type takes. `what` is the
 * function that was called. */
LAZE_MUST_USE laze_status laze_type_of_memory(laze_type *out, const char *what, laze_dtype dtype, laze_ints sizes,
                                              const void *data, size_t size, laze_error *error);
/* The same for elements that lie there: the bytes of bools must be 0 or 1. */
LAZE_MUST_USE laze_status laze_type_of_data(laze_type *out, const char *what, laze_dtype dtype, laze_ints sizes,
                                            const void *data, size_t size, laze_error *error);
/* Whether `data`, which is to be borrowed, is aligned to the dtype's size. */
LAZE_MUST_USE laze_status laze_type_check_aligned(const char *what, laze_dtype dtype, const void *data,
                                                  laze_error *error);
/* The number of elements as a size expression. `table` may be NULL when every size is a constant. */
LAZE_MUST_USE laze_status laze_type_elements(laze_size_table *table, const laze_type *type, laze_size *out,
                                             laze_error *error);
/* Formats the type into a buffer, for error messages; returns `buffer`. Cut when it does not fit. */
const char *laze_type_format(const laze_size_table *table, const laze_type *type, char *buffer, int64_t size);

#endif
