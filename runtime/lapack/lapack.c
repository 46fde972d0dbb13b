/* Opening LAPACK:
 *
 *   LAZE_LAPACK=a:b, or liblapack.so.3, libopenblas.so.0  ──>  the first that can be opened and has every function
 *
 * The library stays open, as the process's: it may have threads of its own.
 */
#include "runtime/lapack/lapack.h"
#include "runtime/library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define USUAL_LIBRARIES "liblapack.so.3:libopenblas.so.0"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool is_open;             /* under the lock */
static laze_lapack functions[4]; /* by kind of element; nobody writes them once they are open */

static const char kinds[] = "sdcz";

/* One routine, `kind` being its letter; none where it has no name. Objects and functions have pointers of one size
 * where there is dlsym. */
static bool find(void *library, char kind, const char *name, void *function) {
  char symbol[16];
  void *found = NULL;
  snprintf(symbol, sizeof symbol, "%c%s_", kind, name);
  if (*name) found = dlsym(library, symbol);
  memcpy(function, &found, sizeof found);
  return found != NULL || !*name;
}

static bool find_all(void *library, char kind, laze_lapack *out) {
  bool complete = true, is_complex = kind == 'c' || kind == 'z';
#define FIND(name, type, real, complex)                                                                                \
  complete = find(library, kind, is_complex ? complex : real, &out->name) && complete;
  LAZE_LAPACK_FUNCTIONS(FIND)
#undef FIND
  return complete;
}

static bool open_library(const char *name, void *self) {
  (void)self;
  laze_lapack found[4];
  bool complete = true;
  void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (!library) return false;
  for (int i = 0; i < 4 && complete; i++) complete = find_all(library, kinds[i], &found[i]);
  if (complete)
    memcpy(functions, found, sizeof found);
  else
    dlclose(library);
  return complete;
}

laze_status laze_lapack_open(char kind, const laze_lapack **out, laze_error *error) {
  const char *chosen = getenv(LAZE_LAPACK_VARIABLE);
  const char *list = chosen && *chosen ? chosen : USUAL_LIBRARIES;
  pthread_mutex_lock(&lock);
  if (!is_open) is_open = laze_library_open_one_of(list, open_library, NULL);
  bool opened = is_open;
  pthread_mutex_unlock(&lock);
  *out = &functions[strchr(kinds, kind) - kinds];
  if (opened) return LAZE_OK;
  return laze_fail(error, LAZE_UNSUPPORTED,
                   "linear algebra needs LAPACK, and none of the libraries %s can be opened; install one (the package "
                   "liblapack3 or libopenblas0), or name one in " LAZE_LAPACK_VARIABLE,
                   list);
}
