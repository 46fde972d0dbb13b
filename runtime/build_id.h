/* The build id that the linker put into a shared object: names one build of the code generator, so that the disk cache
 * never hands out kernels of another. */
#ifndef LAZE_RUNTIME_BUILD_ID_H
#define LAZE_RUNTIME_BUILD_ID_H

#include "base/status.h"

/* Room for the longest build id read (32 bytes) in hexadecimal, and a NUL. */
#define LAZE_BUILD_ID_SIZE 65

/* Reads the GNU build-id note of an ELF64 file without loading it. LAZE_NOT_FOUND: no such file, or it was linked
 * without --build-id; LAZE_DATA_LOSS: it is no ELF64 file, or damaged. Thread-safe. */
LAZE_MUST_USE laze_status laze_build_id_read(const char *path, char out[LAZE_BUILD_ID_SIZE], laze_error *error);

#endif
