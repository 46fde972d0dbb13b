/* What a C programmer would write for the elementwise chains: one loop, compiled at -O3 -march=native. */
#ifndef BENCH_REFERENCE_LOOPS_H
#define BENCH_REFERENCE_LOOPS_H

#include <stdint.h>

/* workload_chain: reads x and y, writes out. */
void reference_chain(const float *restrict x, const float *restrict y, float *restrict out, int64_t count);
/* workload_chain_functions with the C library's expf and tanhf. */
void reference_chain_functions(const float *restrict x, const float *restrict y, float *restrict out, int64_t count);

#endif
