/* The names of a list, one after the other: "liblapack.so.3:libopenblas.so.0". */
#include "runtime/library.h"

#include <string.h>

bool laze_library_open_one_of(const char *list, bool (*open)(const char *name, void *self), void *self) {
  char name[1024];
  while (*list) {
    size_t length = strcspn(list, ":");
    if (length > 0 && length < sizeof name) {
      memcpy(name, list, length);
      name[length] = '\0';
      if (open(name, self)) return true;
    }
    list += length + (list[length] == ':');
  }
  return false;
}
