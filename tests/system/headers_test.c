/* Calls as programs write them, for compilers to look at with all warnings (tests/system/meson.build): the macros of
 * laze/call.h are read by compilers that the library was not built with. */
#include <laze/aot.h>
#include <laze/buffer.h>
#include <laze/compile.h>
#include <laze/graph.h>
#include <laze/laze.h>
#include <laze/trace.h>

laze_tensor *from_c(laze_tensor *x, laze_tensor *y, laze_tensor **results);
laze_status graph_from_c(laze_graph *graph, laze_error *error);

laze_tensor *from_c(laze_tensor *x, laze_tensor *y, laze_tensor **results) {
  const size_t size = 3;
  const int64_t wide = 2;
  const float real = 0.5f;
  const bool yes = true;
  const laze_ints none = {NULL, 0};
  laze_tensor *(*function)(laze_tensor *, laze_tensor *) = laze_add;
  laze_max_dim(laze_cat(LAZE_TENSORS(x, laze_reshape(x, LAZE_SHAPE(2, 3))), 0), 1, false, results);
  /* A number of any type, a tensor, or none. */
  x = laze_mul(laze_mul(laze_mul(laze_mul(x, 0), size), real), yes);
  x = laze_add_with(function(x, y), 2.0, wide);
  x = laze_pow(laze_pow(2, x), laze_pow(x, wide));
  x = laze_where(laze_lt(x, y), x, laze_where(y, 1.5, LAZE_NUMBER(2)));
  x = laze_clamp(laze_clamp(laze_clamp(x, LAZE_NONE, 6), NULL, y), 0, 1L);
  x = laze_slice(laze_slice(x, 0, 1, LAZE_NONE, 1), 1, wide, size, 1);
  /* One axis, several, all; a list that is written in place. */
  x = laze_sum_dim(laze_sum_dim(laze_sum_dim(x, 1, true), LAZE_INTS(0, 1), true), LAZE_ALL_DIMS, false);
  x = laze_reshape(laze_reshape(x, (laze_ints){&wide, 1}), none);
  x = laze_sum_dim_with(laze_argmax(x, LAZE_NONE, false), 0, true, LAZE_F64);
  x = laze_rand(NULL, wide, 7, 0, LAZE_F32);
  /* Calls inside of calls. */
  x = laze_add(x, laze_mul(y, laze_add(x, laze_mul(y, laze_add(x, laze_mul(y, laze_add(x, laze_mul(y, 2))))))));
  /* Settings. */
  laze_error error;
  laze_optimiser *sgd = NULL;
  if (laze_optimiser_create(NULL, "sgd", LAZE_SETTINGS({"lr", 0.5}, {"momentum", real}), &sgd, &error) != LAZE_OK)
    return x;
  if (laze_optimiser_add(sgd, LAZE_TENSORS(x, y), LAZE_NO_SETTINGS, &error) != LAZE_OK) laze_optimiser_destroy(sgd);
  return laze_linear(x, laze_tensor_from_scalar(NULL, LAZE_F32, real), NULL);
}

laze_status graph_from_c(laze_graph *graph, laze_error *error) {
  laze_value x, y = LAZE_VALUE_NONE;
  const laze_argument arguments[] = {{.kind = LAZE_PASS_VALUE, .value.value = y}};
  const laze_graph_call call = {.struct_size = sizeof call, .name = "exp", .arguments = arguments, .argument_count = 1};
  laze_status status = laze_graph_add_input(graph, "x", LAZE_F32, LAZE_SHAPE(2, 3), &x, error);
  if (status == LAZE_OK) status = laze_graph_record(graph, "add", LAZE_VALUES(x, x), &y, error);
  if (status == LAZE_OK) status = laze_graph_record_call(graph, &call, &y, 1, NULL, error);
  return status == LAZE_OK ? laze_graph_set_results(graph, LAZE_VALUES(x, y), error) : status;
}
