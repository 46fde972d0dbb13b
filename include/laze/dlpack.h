/* Exchange of memory with other libraries by DLPack (https://dmlc.github.io/dlpack): its structures, as every library
 * lays them out, written down from its specification. laze_array_to_dlpack() and laze_tensor_to_dlpack() make one,
 * laze_array_from_dlpack() and laze_tensor_from_dlpack() take one; a plugin that has tensors of its own fills one in.
 *
 * Whoever has a structure may call its deleter, once, on any thread; nothing of it is good behind that.
 */
#ifndef LAZE_DLPACK_H
#define LAZE_DLPACK_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Which of the two structures a pointer is to. */
#define LAZE_DLPACK_UNVERSIONED 0 /* laze_dlpack_unversioned: DLManagedTensor, of version 0 */
#define LAZE_DLPACK_VERSIONED 1   /* laze_dlpack_versioned: DLManagedTensorVersioned, of version 1 */

#define LAZE_DLPACK_MAJOR 1      /* of the versioned structure: another lays it out otherwise */
#define LAZE_DLPACK_READ_ONLY 1  /* of `flags` */
#define LAZE_DLPACK_CPU 1        /* of `device_type` */
#define LAZE_DLPACK_EXTENSION 12 /* of a device that DLPack does not know */

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
  int32_t ndim;
  uint8_t code, bits; /* of an element */
  uint16_t lanes;     /* 1: no vector */
  int64_t *shape;
  int64_t *strides;     /* in elements; NULL: row-major */
  uint64_t byte_offset; /* of the first element, behind `data` */
} laze_dlpack_tensor;

/* `deleter` may be NULL; `context` is its own. */
typedef struct laze_dlpack_unversioned {
  laze_dlpack_tensor tensor;
  void *context;
  void (*deleter)(struct laze_dlpack_unversioned *self);
} laze_dlpack_unversioned;

/* What stands before `flags` is the same in every version. */
typedef struct laze_dlpack_versioned {
  uint32_t major, minor;
  void *context;
  void (*deleter)(struct laze_dlpack_versioned *self);
  uint64_t flags;
  laze_dlpack_tensor tensor;
} laze_dlpack_versioned;

#ifdef __cplusplus
}
#endif
#endif
