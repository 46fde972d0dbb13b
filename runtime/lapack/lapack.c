/* Opening LAPACK:
 *
 *   LAZE_LAPACK=a:b, or liblapack.so.3, libopenblas.so.0  ──>  the first that can be opened and has every function
 *
 * The library stays open, as the process's: it may have threads of its own.
 */
#include "runtime/lapack/lapack.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define USUAL_LIBRARIES "liblapack.so.3:libopenblas.so.0"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool is_open;             /* under the lock */
static laze_lapack functions[2]; /* of f32, of f64; nobody writes them once they are open */

/* One function: `kind` is s or d. Objects and functions have pointers of one size where there is dlsym. */
static bool find(void *library, char kind, const char *name, void *function) {
  char symbol[16];
  snprintf(symbol, sizeof symbol, "%c%s_", kind, name);
  void *found = dlsym(library, symbol);
  memcpy(function, &found, sizeof found);
  return found != NULL;
}

static bool find_all(void *library, char kind, laze_lapack *out) {
  bool complete = true;
#define FIND(name, symbol, parameters) complete = find(library, kind, #symbol, &out->name) && complete;
  LAZE_LAPACK_FUNCTIONS(FIND)
#undef FIND
  return complete;
}

static bool open_library(const char *name) {
  laze_lapack found[2];
  void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (!library) return false;
  if (!find_all(library, 's', &found[0]) || !find_all(library, 'd', &found[1])) {
    dlclose(library);
    return false;
  }
  memcpy(functions, found, sizeof found);
  return true;
}

/* Tries each name of a list. */
static bool open_one_of(const char *list) {
  char name[1024];
  while (*list) {
    size_t length = strcspn(list, ":");
    if (length > 0 && length < sizeof name) {
      memcpy(name, list, length);
      name[length] = '\0';
      if (open_library(name)) return true;
    }
    list += length + (list[length] == ':');
  }
  return false;
}

laze_status laze_lapack_open(int is_double, const laze_lapack **out, laze_error *error) {
  const char *chosen = getenv(LAZE_LAPACK_VARIABLE);
  const char *list = chosen && *chosen ? chosen : USUAL_LIBRARIES;
  pthread_mutex_lock(&lock);
  if (!is_open) is_open = open_one_of(list);
  bool opened = is_open;
  pthread_mutex_unlock(&lock);
  *out = &functions[is_double != 0];
  if (opened) return LAZE_OK;
  return laze_fail(error, LAZE_UNSUPPORTED,
                   "linear algebra needs LAPACK, and none of the libraries %s can be opened; install one (the package "
                   "liblapack3 or libopenblas0), or name one in " LAZE_LAPACK_VARIABLE,
                   list);
}
