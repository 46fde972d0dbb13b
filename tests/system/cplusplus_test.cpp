// Includes every public header as strict C++ (tests/system/meson.build compiles it with -pedantic-errors): a program in
// C++ uses laze as it is.
#include <laze/laze.h>
#include <laze/schema.h>

laze_tensor *from_cplusplus(laze_tensor *x);

laze_tensor *from_cplusplus(laze_tensor *x) {
  laze_add_options twice = laze_add_options();
  twice.struct_size = sizeof twice;
  twice.alpha = laze_scalar_real(2);
  laze_tensor *scalar = laze_full(nullptr, LAZE_SHAPE_SCALAR, laze_scalar_integer(3));
  laze_tensor *both[] = {laze_add_with(x, scalar, &twice), laze_reshape(x, LAZE_SHAPE(2, 3))};
  return laze_mul_scalar(laze_cat(both, 2), laze_scalar_boolean(true));
}
