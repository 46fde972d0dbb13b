/* Status codes and error messages: how every laze function reports what went wrong.
 *
 * A function that input can make fail returns a `laze_status` and takes a `laze_error *` as its last
 * parameter. The caller owns the `laze_error` (usually on its stack); it holds the message by value, so
 * reporting an error never allocates and works when memory is out. NULL is accepted where the message is
 * not wanted. Nothing here has shared state: every function may be called from any thread.
 */
#ifndef LAZE_STATUS_H
#define LAZE_STATUS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Marks the functions that the shared library exports. */
#define LAZE_API __attribute__((visibility("default")))
/* Marks functions whose status must be looked at. */
#define LAZE_MUST_USE __attribute__((warn_unused_result))

/* One of the constants below. An int32_t and not an enum, so that the ABI does not depend on the compiler. */
typedef int32_t laze_status;

#define LAZE_OK 0
#define LAZE_INVALID_ARGUMENT 1    /* a value the caller passed is wrong in itself (shape, dtype, name, text) */
#define LAZE_OUT_OF_RANGE 2        /* an index, axis or size lies outside what the operand allows */
#define LAZE_OUT_OF_MEMORY 3       /* an allocation failed, or a size does not fit the address space */
#define LAZE_NOT_FOUND 4           /* no such operator, file, metric or backend */
#define LAZE_UNSUPPORTED 5         /* well-formed, but this build or backend cannot do it */
#define LAZE_IO_ERROR 6            /* the operating system refused a file operation */
#define LAZE_DATA_LOSS 7           /* a file is damaged */
#define LAZE_FAILED_PRECONDITION 8 /* the object is not in a state that allows the call */
#define LAZE_INTERNAL 9            /* a fault of laze itself: please report it */
#define LAZE_CANCELLED 10          /* the caller's watch function stopped the work (laze/context.h) */
#define LAZE_OVERFLOW 11           /* a number is none of those that the dtype which is to hold it has */

#define LAZE_ERROR_MESSAGE_SIZE 1020

/* A status with its message. `message` is NUL-terminated UTF-8, cut at the end when it would not fit. */
typedef struct laze_error {
  laze_status code;
  char message[LAZE_ERROR_MESSAGE_SIZE];
} laze_error;

/* The name of a status code, such as "INVALID_ARGUMENT"; "UNKNOWN" for a number that is none. Static storage. */
LAZE_API const char *laze_status_name(laze_status code);

#ifdef __cplusplus
}
#endif
#endif
