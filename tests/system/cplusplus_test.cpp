// Includes every public header as strict C++ (tests/system/meson.build compiles it with -pedantic-errors, as C++11 and
// C++17): a program in C++ uses laze as it is, with the calls of C.
#include <laze/aot.h>
#include <laze/buffer.h>
#include <laze/compile.h>
#include <laze/graph.h>
#include <laze/laze.h>
#include <laze/trace.h>
#include <laze/schema.h>

laze_tensor *from_cplusplus(laze_tensor *x, laze_tensor *y, laze_tensor **results);

laze_tensor *from_cplusplus(laze_tensor *x, laze_tensor *y, laze_tensor **results) {
  const std::size_t size = 3;
  const int64_t wide = 2;
  const float real = 0.5F;
  laze_tensor *scalar = laze_full(nullptr, LAZE_SHAPE_SCALAR, 3, LAZE_F32);
  laze_tensor *whole = laze_cat(LAZE_TENSORS(laze_add_with(x, scalar, 2), laze_reshape(x, LAZE_SHAPE(2, 3))), 0);
  laze_max_dim(whole, 1, false, results);
  // A number of any type, a tensor, or none.
  x = laze_mul(laze_mul(laze_mul(laze_mul(x, 0), size), real), true);
  x = laze_add_with(x, 2.0, LAZE_NONE);
  x = laze_pow(laze_pow(2, x), laze_pow(x, wide));
  x = laze_where(laze_lt(x, y), x, laze_where(y, 1.5, LAZE_NUMBER(2)));
  x = laze_clamp(laze_clamp(laze_clamp(x, LAZE_NONE, 6), nullptr, y), 0, 1L);
  x = laze_slice(laze_slice(x, 0, 1, LAZE_NONE, 1), 1, wide, size, 1);
  // One axis, several, all.
  x = laze_sum_dim(laze_sum_dim(laze_sum_dim(x, 1, true), LAZE_INTS(0, 1), true), LAZE_ALL_DIMS, false);
  x = laze_sum_dim_with(laze_argmax(x, LAZE_NONE, false), 0, true, LAZE_F64);
  x = laze_rand(nullptr, wide, 7, 0, LAZE_F32);
  // Settings.
  laze_error error;
  laze_optimiser *sgd = nullptr;
  if (laze_optimiser_create(nullptr, "sgd", LAZE_SETTINGS({"lr", 0.5}, {"momentum", real}), &sgd, &error) != LAZE_OK)
    return x;
  if (laze_optimiser_add(sgd, LAZE_TENSORS(x, y), LAZE_NO_SETTINGS, &error) != LAZE_OK) laze_optimiser_destroy(sgd);
  return laze_linear(x, laze_tensor_from_scalar(nullptr, LAZE_F32, real), nullptr);
}

laze_status graph_from_cplusplus(laze_graph *graph, laze_error *error);

laze_status graph_from_cplusplus(laze_graph *graph, laze_error *error) {
  laze_value x, y = LAZE_VALUE_NONE;
  laze_status status = laze_graph_add_input(graph, "x", LAZE_F32, LAZE_SHAPE(2, 3), &x, error);
  if (status == LAZE_OK) status = laze_graph_record(graph, "add", LAZE_VALUES(x, x), &y, error);
  return status == LAZE_OK ? laze_graph_set_results(graph, LAZE_VALUES(x, y), error) : status;
}
