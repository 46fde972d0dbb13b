/* Arrays: tensors in memory, with their type, which graphs run on (laze/compile.h).
 *
 * An array is row-major memory of a dtype and sizes that are numbers. It is counted, and its elements do not change
 * while anybody else has it, so that a run may give back an input as it is, and two results may be one memory.
 * laze_array_writable() is the exception, for memory that only the caller has. All functions may be called from any
 * thread.
 */
#ifndef LAZE_BUFFER_H
#define LAZE_BUFFER_H

#include "laze/argument.h"
#include "laze/context.h"
#include "laze/dlpack.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct laze_array laze_array;

/* An array of a context (NULL: the default), which it keeps. The first has elements that nobody has written yet; the
 * second a copy of `data`, row-major, `size` bytes, which must be what the type takes (the bytes of a bool are 0 or 1).
 * *out is the caller's, who gives it back with laze_array_release(); NULL on failure. */
LAZE_API LAZE_MUST_USE laze_status laze_array_create(laze_context *context, laze_dtype dtype, laze_ints sizes,
                                                     laze_array **out, laze_error *error);
LAZE_API LAZE_MUST_USE laze_status laze_array_from_data(laze_context *context, laze_dtype dtype, laze_ints sizes,
                                                        const void *data, size_t size, laze_array **out,
                                                        laze_error *error);
/* The same without a copy: `data`, aligned to the dtype's size, is lent until `release` (may be NULL) is called, once,
 * on any thread: when the last user of the memory has gone, or, where the call fails, before it returns. What lends it
 * must not change it meanwhile, unless it is the place for a result (laze_compiled_run), which laze writes. */
LAZE_API LAZE_MUST_USE laze_status laze_array_borrow(laze_context *context, laze_dtype dtype, laze_ints sizes,
                                                     void *data, size_t size, void (*release)(void *self), void *self,
                                                     laze_array **out, laze_error *error);
/* NULL is ignored. */
LAZE_API void laze_array_retain(laze_array *array);
/* NULL is ignored. */
LAZE_API void laze_array_release(laze_array *array);

LAZE_API laze_dtype laze_array_dtype(const laze_array *array);
/* Borrowed as long as the array. */
LAZE_API laze_ints laze_array_sizes(const laze_array *array);
/* Bytes of its elements. */
LAZE_API int64_t laze_array_bytes(const laze_array *array);
/* The elements, to be read; not NULL where there are none, but of a NULL array. */
LAZE_API const void *laze_array_data(const laze_array *array);
/* The elements, to be written: NULL, unless the caller's reference is the only one and the memory is laze's own. */
LAZE_API void *laze_array_writable(laze_array *array);
/* Copies the elements, converted to `dtype`, into `data` of exactly `size` bytes. */
LAZE_API LAZE_MUST_USE laze_status laze_array_read(const laze_array *array, laze_dtype dtype, void *data, size_t size,
                                                   laze_error *error);

/* Exchange with other libraries (laze/dlpack.h): `version` is LAZE_DLPACK_VERSIONED or LAZE_DLPACK_UNVERSIONED. The
 * array's memory as *managed, on the CPU, without a copy; a versioned one says that it is read-only. It counts as a
 * reference of the array until its deleter is called: meanwhile laze_array_writable() is NULL, and no run takes the
 * memory as donated. On failure *managed is NULL. */
LAZE_API LAZE_MUST_USE laze_status laze_array_to_dlpack(laze_array *array, int32_t version, void **managed,
                                                        laze_error *error);
/* An array of `managed`, which is laze's from now on, also on failure: its deleter is called once, when the memory is
 * not needed any more, on any thread. Row-major memory of the CPU, aligned to its elements, is not copied, and must
 * stay unchanged; other strides are copied, and bools of other bytes than 0 and 1, which become true. LAZE_UNSUPPORTED:
 * a dtype that laze does not have, or another device. (Of another `version` nobody knows the deleter: it is not
 * called.) *out is the caller's, NULL on failure. */
LAZE_API LAZE_MUST_USE laze_status laze_array_from_dlpack(laze_context *context, int32_t version, void *managed,
                                                          laze_array **out, laze_error *error);

#ifdef __cplusplus
}
#endif
#endif
