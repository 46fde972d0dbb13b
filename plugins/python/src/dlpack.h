/* What DLPack lays down, as far as the package looks at it: a tensor, and the table of functions by which the types of
 * other libraries show theirs (DLPackExchangeAPI, of version 1.2 on).
 */
#ifndef LAZE_PYTHON_DLPACK_H
#define LAZE_PYTHON_DLPACK_H

#include "binding.h"

#include <stdint.h>

#define DLPACK_CPU 1
#define DLPACK_EXTENSION 12 /* of a device that DLPack does not know */
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

/* Who has one may call its deleter, once. */
typedef struct dlpack_managed {
  uint32_t major, minor;
  void *context;
  void (*deleter)(struct dlpack_managed *self);
  uint64_t flags;
  dlpack_tensor tensor;
} dlpack_managed;

/* The attribute of a type, and its capsule's name. Functions that are not called here are only counted. */
#define DLPACK_EXCHANGE "__dlpack_c_exchange_api__"
#define DLPACK_EXCHANGE_CAPSULE "dlpack_exchange_api"
typedef struct dlpack_exchange {
  uint32_t major, minor;
  const struct dlpack_exchange *older;
  void (*allocate)(void);
  void (*export)(void);
  /* A tensor, a new reference, to which `managed` belongs from then on; 0, or -1 with an exception. */
  int (*import)(dlpack_managed *managed, void **out);
  /* What a tensor's memory is, valid as long as nothing happens to it; 0, or -1 with an exception. May be NULL. */
  int (*look)(void *tensor, dlpack_tensor *out);
  void (*find_stream)(void);
} dlpack_exchange;

/* program.c: the table of a type, NULL with an exception; and the code of a dtype. */
const dlpack_exchange *laze_python_find_exchange(PyTypeObject *type);
uint8_t laze_python_dlpack_code(laze_dtype dtype);

#endif
