/* The generator behind laze.rand(2, 3): a seed, and the number of random numbers that were drawn under it. An operator
 * whose schema takes `seed` and `offset` is given both where the call names neither; they are numbers that the graph
 * takes when it runs, so that nothing is compiled again.
 */
#include "binding.h"

#include <sys/random.h>

static struct {
  int64_t seed, offset;
  bool seeded;
} generator;

void laze_python_generator_next(int64_t *seed, int64_t *offset) {
  /* Without a seed of the program's, each process draws others, as in PyTorch and NumPy. */
  if (!generator.seeded && getrandom(&generator.seed, sizeof generator.seed, 0) == (ssize_t)sizeof generator.seed)
    generator.seed &= INT64_MAX;
  generator.seeded = true;
  *seed = generator.seed;
  *offset = generator.offset;
}

void laze_python_generator_advance(int64_t elements) {
  if (elements > 0) generator.offset = (int64_t)((uint64_t)generator.offset + (uint64_t)elements);
}

PyObject *laze_python_get_generator(PyObject *module, PyObject *unused) {
  (void)module, (void)unused;
  int64_t state[2];
  laze_python_generator_next(&state[0], &state[1]);
  return laze_python_tensor(laze_tensor_from_data(NULL, LAZE_I64, LAZE_INTS(2), state, sizeof state));
}

PyObject *laze_python_set_generator(PyObject *module, PyObject *tensor) {
  (void)module;
  int64_t state[2];
  laze_tensor *handle = laze_python_is_tensor(tensor) ? laze_python_handle(tensor) : NULL;
  if (!handle || laze_tensor_dtype(handle) != LAZE_I64 || laze_tensor_elements(handle) != 2)
    return laze_python_raise_type("set_rng_state: %R is not what get_rng_state() gave", tensor);
  if (laze_tensor_read(handle, LAZE_I64, state, sizeof state) != LAZE_OK) return laze_python_raise_tensor(handle);
  generator.seed = state[0];
  generator.offset = state[1];
  generator.seeded = true;
  return laze_python_share(Py_None);
}

PyObject *laze_python_manual_seed(PyObject *module, PyObject *seed) {
  (void)module;
  int64_t value;
  if (!laze_python_integer(seed, "manual_seed", &value)) return NULL;
  generator.seed = value;
  generator.offset = 0;
  generator.seeded = true;
  return laze_python_share(Py_None);
}
