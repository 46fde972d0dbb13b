/* Opening FFTW:
 *
 *   LAZE_FFTW=a:b, or libfftw3f.so.3, libfftw3.so.3  ──>  for f32, for f64: the first that has every function
 *
 * Libraries stay open, as the process's.
 */
#include "runtime/fft/fftw.h"
#include "runtime/library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define USUAL_LIBRARIES "libfftw3f.so.3:libfftw3.so.3"

static pthread_mutex_t open_lock = PTHREAD_MUTEX_INITIALIZER, plan_lock = PTHREAD_MUTEX_INITIALIZER;
static bool is_open[2];        /* under the lock */
static laze_fftw functions[2]; /* of f32, of f64; nobody writes those that are open */

/* One function. Objects and functions have pointers of one size where there is dlsym. */
static bool find(void *library, bool is_double, const char *name, void *function) {
  char symbol[40];
  snprintf(symbol, sizeof symbol, "%s_%s", is_double ? "fftw" : "fftwf", name);
  void *found = dlsym(library, symbol);
  memcpy(function, &found, sizeof found);
  return found != NULL;
}

static bool find_all(void *library, bool is_double, laze_fftw *out) {
  bool complete = true;
#define FIND(name, symbol, result, parameters) complete = find(library, is_double, #symbol, &out->name) && complete;
  LAZE_FFTW_FUNCTIONS(FIND)
#undef FIND
  return complete;
}

static bool open_library(const char *name, void *self) {
  const bool is_double = *(const bool *)self;
  laze_fftw found;
  void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (!library) return false;
  if (!find_all(library, is_double, &found)) {
    dlclose(library);
    return false;
  }
  functions[is_double] = found;
  return true;
}

laze_status laze_fftw_open(bool is_double, const laze_fftw **out, laze_error *error) {
  const char *chosen = getenv(LAZE_FFTW_VARIABLE);
  const char *list = chosen && *chosen ? chosen : USUAL_LIBRARIES;
  pthread_mutex_lock(&open_lock);
  if (!is_open[is_double]) is_open[is_double] = laze_library_open_one_of(list, open_library, &is_double);
  bool opened = is_open[is_double];
  pthread_mutex_unlock(&open_lock);
  *out = &functions[is_double];
  if (opened) return LAZE_OK;
  return laze_fail(error, LAZE_UNSUPPORTED,
                   "Fourier transforms of %s need FFTW, and none of the libraries %s has them; install it (the package "
                   "%s), or name one in " LAZE_FFTW_VARIABLE,
                   is_double ? "f64" : "f32", list, is_double ? "libfftw3-double3" : "libfftw3-single3");
}

void laze_fftw_lock(void) {
  pthread_mutex_lock(&plan_lock);
}

void laze_fftw_unlock(void) {
  pthread_mutex_unlock(&plan_lock);
}
