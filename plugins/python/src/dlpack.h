/* What DLPack lays down beside its structures (laze/dlpack.h), as far as the package looks at it: the table of
 * functions by which the types of other libraries show theirs (DLPackExchangeAPI, of version 1.2 on). */
#ifndef LAZE_PYTHON_DLPACK_H
#define LAZE_PYTHON_DLPACK_H

#include "binding.h"

#include <laze/dlpack.h>
#include <stdint.h>

typedef laze_dlpack_tensor dlpack_tensor;
typedef laze_dlpack_versioned dlpack_managed;

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
