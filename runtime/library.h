/* Libraries that are opened when they are first needed. */
#ifndef LAZE_RUNTIME_LIBRARY_H
#define LAZE_RUNTIME_LIBRARY_H

#include <stdbool.h>

/* Calls `open` with each name of a list, names separated by colons, until one can be opened; names of 1024 bytes and
 * more cannot. Whether one was. Called with whatever lock guards what `open` writes. */
bool laze_library_open_one_of(const char *list, bool (*open)(const char *name, void *self), void *self);

#endif
