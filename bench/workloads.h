/* The computations that the benchmarks time, so that bench, peer and the reference loops mean the same ones. */
#ifndef BENCH_WORKLOADS_H
#define BENCH_WORKLOADS_H

#include "examples/digits_network.h"

#include <laze/laze.h>

#include <stdint.h>

#define WORKLOAD_ADDS 100
#define WORKLOAD_ADD_ELEMENTS 16
#define WORKLOAD_PLACES INT64_C(1000000)
#define WORKLOAD_TOP 100
#define WORKLOAD_CHAIN_ELEMENTS (INT64_C(1) << 24)

/* Numbers in [-1, 1) that any language can make: element i is the f32 of (first + i) * 2654435761 mod 2^32, scaled. */
void workload_fill(float *out, int64_t count, uint32_t first);
/* A retained f32 tensor of workload_fill(first); a retained error handle when memory is out. */
laze_tensor *workload_tensor(laze_context *context, laze_ints shape, uint32_t first);

/* A retained i64 tensor with each of 0 to WORKLOAD_PLACES - 1 once: element i is i * 7919 mod their number. */
laze_tensor *workload_places(laze_context *context);

/* x + y + y + ..., WORKLOAD_ADDS times. */
laze_tensor *workload_adds(laze_tensor *x, laze_tensor *y);

/* max((x y + x) / 2 - y, 0)^2 x + 1: eight operators, two tensors read, one written. */
laze_tensor *workload_chain(laze_tensor *x, laze_tensor *y);
/* max(exp((tanh(x y) + x) / 2) - y, 0) + 1: eight operators with exp and tanh, the same reads and writes. */
laze_tensor *workload_chain_functions(laze_tensor *x, laze_tensor *y);

/* Ten operators on a 32 by 32 matrix that end in one number. */
laze_tensor *workload_first(laze_tensor *x);

/* The digits network with parameters from workload_fill, so that peers can start from the same ones. */
laze_status workload_network(digits_network *out, laze_context *context, laze_error *error);
/* One training step with `count` made-up images. Returns the status of the step. */
laze_status workload_digits_step(digits_network *network, int64_t count, laze_error *error);

#endif
