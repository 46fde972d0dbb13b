/* What DLPack lays down, as far as the package looks at it: a tensor, and the table of functions by which the types of
 * other libraries show theirs (DLPackExchangeAPI, of version 1.2 on).
 */
#ifndef LAZE_PYTHON_DLPACK_H
#define LAZE_PYTHON_DLPACK_H

#include <stdint.h>

#define DLPACK_CPU 1
#define DLPACK_MAJOR 1
/* Codes of an element's kind. */
#define DLPACK_SIGNED 0
#define DLPACK_UNSIGNED 1
#define DLPACK_FLOAT 2
#define DLPACK_BFLOAT 4
#define DLPACK_COMPLEX 5
#define DLPACK_BOOL 6

typedef struct dlpack_tensor {
  void *data;
  int32_t device_type, device_id;
  int32_t ndim;
  uint8_t code, bits;
  uint16_t lanes;
  int64_t *shape;
  int64_t *strides; /* in elements; NULL: row-major */
  uint64_t byte_offset;
} dlpack_tensor;

/* The attribute of a type, and its capsule's name. Functions that are not called here are only counted. */
#define DLPACK_EXCHANGE "__dlpack_c_exchange_api__"
#define DLPACK_EXCHANGE_CAPSULE "dlpack_exchange_api"
typedef struct dlpack_exchange {
  uint32_t major, minor;
  const struct dlpack_exchange *older;
  void (*allocate)(void);
  void (*export)(void);
  void (*import)(void);
  /* What a tensor's memory is, valid as long as nothing happens to it; 0, or -1 with an exception. May be NULL. */
  int (*look)(void *tensor, dlpack_tensor *out);
  void (*find_stream)(void);
} dlpack_exchange;

#endif
