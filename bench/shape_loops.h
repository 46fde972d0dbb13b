/* What a C programmer would write for the workloads of shapes.c, compiled at -O3 -march=native. */
#ifndef BENCH_SHAPE_LOOPS_H
#define BENCH_SHAPE_LOOPS_H

#include <stdint.h>

float loop_sum(const float *x, int64_t count);
void loop_softmax(const float *restrict x, float *restrict out, int64_t count);
/* Sums over (2 radius + 1)^2 neighbours of an n by n image with zeros around it, rows first; `rows` is n by n. */
void loop_blur(const float *restrict x, float *restrict rows, float *restrict out, int64_t n, int64_t radius);
/* A generation of the Game of Life on an n by n board with dead cells around it; `frame` is (n + 2) by (n + 2). */
void loop_life(const uint8_t *restrict x, uint8_t *restrict frame, uint8_t *restrict out, int64_t n);
/* out[i][j][c] = x[j][c] - y[i][c]. */
void loop_distances(const float *restrict x, const float *restrict y, float *restrict out, int64_t n, int64_t c);
/* out[i][j][c] = x[i][j] - y[j][c]. */
void loop_outer(const float *restrict x, const float *restrict y, float *restrict out, int64_t n, int64_t c);

#endif
