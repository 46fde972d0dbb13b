/* The structures of DLPack as other libraries lay them out in memory, written down from its specification. */
#ifndef LAZE_LAZY_RUN_DLPACK_H
#define LAZE_LAZY_RUN_DLPACK_H

#include <stdint.h>

#define LAZE_DLPACK_CPU 1       /* device_type */
#define LAZE_DLPACK_MAJOR 1     /* of the versioned structure: another lays it out otherwise */
#define LAZE_DLPACK_READ_ONLY 1 /* of `flags` */

/* Codes of an element's kind. */
#define LAZE_DLPACK_SIGNED 0
#define LAZE_DLPACK_UNSIGNED 1
#define LAZE_DLPACK_FLOAT 2
#define LAZE_DLPACK_BFLOAT 4
#define LAZE_DLPACK_COMPLEX 5
#define LAZE_DLPACK_BOOL 6

typedef struct laze_dlpack_tensor {
  void *data;
  int32_t device_type, device_id;
  int32_t rank;
  struct {
    uint8_t code, bits;
    uint16_t lanes; /* 1: no vector */
  } dtype;
  int64_t *sizes;
  int64_t *strides;     /* in elements; NULL: row-major */
  uint64_t byte_offset; /* of the first element, behind `data` */
} laze_dlpack_tensor;

/* DLManagedTensor. `deleter` may be NULL. */
typedef struct laze_dlpack_unversioned {
  laze_dlpack_tensor tensor;
  void *manager;
  void (*deleter)(struct laze_dlpack_unversioned *self);
} laze_dlpack_unversioned;

/* DLManagedTensorVersioned. What stands before `flags` is the same in every version. */
typedef struct laze_dlpack_versioned {
  uint32_t major, minor;
  void *manager;
  void (*deleter)(struct laze_dlpack_versioned *self);
  uint64_t flags;
  laze_dlpack_tensor tensor;
} laze_dlpack_versioned;

#endif
