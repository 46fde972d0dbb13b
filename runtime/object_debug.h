/* Telling debuggers and profilers about code that no file on disk holds. Best effort: nothing here fails. */
#ifndef LAZE_RUNTIME_OBJECT_DEBUG_H
#define LAZE_RUNTIME_OBJECT_DEBUG_H

#include "runtime/object_elf.h"

typedef struct laze_object_debug laze_object_debug;

/* Registers an object with GDB's JIT interface. `addresses` has the address of each of the object's sections, 0 for
 * those that are not in memory. Copies the object. NULL when memory is out. */
laze_object_debug *laze_object_debug_register(laze_context *context, const laze_elf *elf, const uint64_t *addresses);
/* NULL is ignored. */
void laze_object_debug_unregister(laze_context *context, laze_object_debug *debug);

/* perf reads names of generated code from /tmp/perf-<pid>.map. Returns a file to append to, or -1 with errno: EPERM
 * where there is something that is not this user's own file. */
int laze_perf_map_open(void);
/* Names that perf could not read back (with spaces or control characters) are left out. */
void laze_perf_map_append(int file, const void *address, uint64_t size, const char *name);
void laze_perf_map_close(int file);

#endif
