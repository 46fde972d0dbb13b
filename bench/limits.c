/* What one thread of this machine can do at most, for bench/measure_table.py: multiply-adds in registers, and memory
 * read and copied at two sizes of array, of which either may lie in a cache. Prints a name and a number a line: GFLOP/s
 * or GB/s, where a copied byte counts twice. Each is the best of several tries. */
#include "bench/measure.h"

#include <stdlib.h>
#include <string.h>

#if defined __SSE__
#include <immintrin.h>
#endif

#if defined __AVX512F__
#define VECTOR_BYTES 64
#elif defined __AVX__
#define VECTOR_BYTES 32
#else
#define VECTOR_BYTES 16
#endif
#define LANES (VECTOR_BYTES / 4)
/* Enough to fill two units for the four cycles that a multiply-add takes; with two operands they fit 16 registers. */
#define ACCUMULATORS 12
#define REPEATS 500000
#define TRIES 15

typedef float vector __attribute__((vector_size(VECTOR_BYTES)));

/* What results go to, so that they are computed. */
static volatile float kept;

static float sum_of(const vector *accumulators) {
  float sum = 0;
  for (int i = 0; i < ACCUMULATORS; i++)
    for (int lane = 0; lane < LANES; lane++) sum += accumulators[i][lane];
  return sum;
}

static double flops_once(void) {
  volatile float factor = 0.999f;
  const vector multiplier = (vector){0} + factor, addend = (vector){0} + factor;
  vector accumulators[ACCUMULATORS];
  for (int i = 0; i < ACCUMULATORS; i++) accumulators[i] = addend * (float)i; // equal ones would be computed once
  const double start = measure_now();
  for (int repeat = 0; repeat < REPEATS; repeat++) {
    for (int i = 0; i < ACCUMULATORS; i++) accumulators[i] = accumulators[i] * multiplier + addend;
  }
  const double seconds = measure_now() - start;
  kept = sum_of(accumulators);
  return 2.0 * LANES * ACCUMULATORS * REPEATS / seconds;
}

/* `count` vectors, a multiple of ACCUMULATORS. */
static void read_array(const vector *array, size_t count) {
  vector accumulators[ACCUMULATORS] = {0};
  for (size_t at = 0; at < count; at += ACCUMULATORS) {
    for (int i = 0; i < ACCUMULATORS; i++) accumulators[i] += array[at + (size_t)i];
  }
  kept = sum_of(accumulators);
}

/* Past the caches where the processor can, which saves reading what is overwritten. */
static void write_vector(vector *to, vector value) {
#if defined __AVX512F__
  _mm512_stream_ps((float *)to, (__m512)value);
#elif defined __AVX__
  _mm256_stream_ps((float *)to, (__m256)value);
#elif defined __SSE__
  _mm_stream_ps((float *)to, (__m128)value);
#else
  *to = value;
#endif
}

static double best_of(double best, double start, size_t bytes) {
  const double rate = (double)bytes / (measure_now() - start);
  return rate > best ? rate : best;
}

/* Copies by the C library and by a loop: the better one counts. */
static void measure_memory(size_t megabytes, int tries) {
  const size_t count = megabytes * 1000000 / sizeof(vector) / ACCUMULATORS * ACCUMULATORS,
               bytes = count * sizeof(vector);
  vector *from = aligned_alloc(VECTOR_BYTES, bytes), *to = aligned_alloc(VECTOR_BYTES, bytes);
  if (from == NULL || to == NULL) {
    fprintf(stderr, "limits: two arrays of %zu MB cannot be allocated: free memory\n", megabytes);
    exit(1);
  }
  memset(from, 1, bytes);
  memset(to, 1, bytes);
  double read = 0, copied = 0;
  for (int try = 0; try < tries; try++) {
    double start = measure_now();
    read_array(from, count);
    read = best_of(read, start, bytes);
    start = measure_now();
    memcpy(to, from, bytes);
    copied = best_of(copied, start, 2 * bytes);
    kept = to[(size_t)try][0];
    start = measure_now();
    for (size_t i = 0; i < count; i++) write_vector(&to[i], from[i]);
    copied = best_of(copied, start, 2 * bytes);
    kept = to[(size_t)try][0];
  }
  printf("read_%zu %.2f\ncopy_%zu %.2f\n", megabytes, read * 1e-9, megabytes, copied * 1e-9);
  free(from);
  free(to);
}

int main(void) {
  double best = 0;
  for (int try = 0; try < TRIES; try++) {
    const double flops = flops_once();
    if (flops > best) best = flops;
  }
  printf("flops %.2f\n", best * 1e-9);
  measure_memory(64, TRIES);
  measure_memory(512, 4);
  return 0;
}
