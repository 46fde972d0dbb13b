/* The header of a .npy file: a Python dictionary in ASCII. Inside of npy.c and npy_header.c. */
#ifndef LAZE_RUNTIME_NPY_HEADER_H
#define LAZE_RUNTIME_NPY_HEADER_H

#include "base/status.h"
#include "laze/npy.h"

/* Most bytes of a header that is read: 16 sizes and the keys take under 500. */
#define LAZE_NPY_HEADER_MAX 65536

typedef struct laze_npy_header {
  laze_dtype dtype;
  int32_t rank;
  int64_t dims[LAZE_NPY_MAX_RANK];
  bool fortran_order;
} laze_npy_header;

/* Parses `length` bytes such as "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }\n". The message says what
 * stood there and what was expected, without the file's name. */
LAZE_MUST_USE laze_status laze_npy_header_parse(const char *text, int64_t length, laze_npy_header *out,
                                                laze_error *error);
/* Elements, and bytes, of an array. LAZE_OUT_OF_MEMORY when they do not fit 63 bits, also when another size is 0. */
LAZE_MUST_USE laze_status laze_npy_count(laze_dtype dtype, int32_t rank, const int64_t *dims, int64_t *count,
                                         int64_t *bytes, laze_error *error);

#endif
