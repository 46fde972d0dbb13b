/* What life and conjugate_gradient do, in loops of C over arrays: plain_loops NAME SIZE STEPS prints what they print.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int live_around(const int32_t *cells, int64_t n, int64_t row, int64_t column) {
  int live = 0;
  for (int64_t i = n - 1; i <= n + 1; i++)
    for (int64_t j = n - 1; j <= n + 1; j++) live += cells[(row + i) % n * n + (column + j) % n];
  return live - cells[row * n + column];
}

static void life(int64_t n, int64_t turns, int32_t *cells, int32_t *next) {
  int64_t live = 0, middle = n / 2;
  cells[middle * n + middle + 1] = cells[middle * n + middle + 2] = cells[(middle + 1) * n + middle] = 1;
  cells[(middle + 1) * n + middle + 1] = cells[(middle + 2) * n + middle + 1] = 1;
  for (int64_t turn = 0; turn < turns; turn++) {
    for (int64_t row = 0; row < n; row++)
      for (int64_t column = 0; column < n; column++) {
        int around = live_around(cells, n, row, column);
        next[row * n + column] = around == 3 || (around == 2 && cells[row * n + column]);
      }
    memcpy(cells, next, (size_t)(n * n) * sizeof *cells);
  }
  for (int64_t row = 0; row < n; row++) {
    for (int64_t column = 0; column < n; column++) {
      putchar(cells[row * n + column] ? '#' : '.');
      live += cells[row * n + column];
    }
    putchar('\n');
  }
  printf("%lld cells live\n", (long long)live);
}

static double at(const double *u, int64_t n, int64_t row, int64_t column) {
  return row < 0 || row >= n || column < 0 || column >= n ? 0 : u[row * n + column];
}

static double laplace(const double *u, int64_t n, int64_t row, int64_t column) {
  return 4 * at(u, n, row, column) - at(u, n, row - 1, column) - at(u, n, row + 1, column) - at(u, n, row, column - 1) -
         at(u, n, row, column + 1);
}

static void multiply(const double *u, int64_t n, double *out) {
  for (int64_t i = 0; i < n * n; i++) out[i] = laplace(u, n, i / n, i % n);
}

static double dot(const double *a, const double *b, int64_t count) {
  double sum = 0;
  for (int64_t i = 0; i < count; i++) sum += a[i] * b[i];
  return sum;
}

static void report(const double *b, const double *x, double *q, int64_t n) {
  double least = INFINITY, most = -INFINITY;
  multiply(x, n, q);
  for (int64_t i = 0; i < n * n; i++) {
    least = fmin(least, x[i]);
    most = fmax(most, x[i]);
    q[i] = b[i] - q[i];
  }
  printf("potential from %.6f to %.6f, residual %.1e\n", least, most, sqrt(dot(q, q, n * n) / dot(b, b, n * n)));
}

static void conjugate_gradient(int64_t n, int64_t steps, double *arrays) {
  int64_t count = n * n;
  double *b = arrays, *x = b + count, *r = x + count, *p = r + count, *q = p + count;
  for (int64_t i = 0; i < count; i++) {
    double across = (double)(i / n) / (double)(n - 1), down = (double)(i % n) / (double)(n - 1) - 0.5;
    b[i] = exp(-100 * ((across - 0.3) * (across - 0.3) + down * down)) -
           exp(-100 * ((across - 0.7) * (across - 0.7) + down * down));
    r[i] = p[i] = b[i];
  }
  double rr = dot(r, r, count);
  for (int64_t step = 0; step < steps; step++) {
    multiply(p, n, q);
    double alpha = rr / dot(p, q, count);
    for (int64_t i = 0; i < count; i++) {
      x[i] += alpha * p[i];
      r[i] -= alpha * q[i];
    }
    double before = rr;
    rr = dot(r, r, count);
    for (int64_t i = 0; i < count; i++) p[i] = r[i] + rr / before * p[i];
  }
  report(b, x, q, n);
}

int main(int count, char **words) {
  int64_t n = count > 2 ? atoll(words[2]) : 0, steps = count > 3 ? atoll(words[3]) : 0;
  if (n < 8 || n > 4096) return 2;
  double *memory = calloc((size_t)(n * n) * 5, sizeof *memory);
  if (!memory) return 1;
  int32_t *cells = (int32_t *)memory;
  if (strcmp(words[1], "life") == 0)
    life(n, steps, cells, cells + n * n);
  else
    conjugate_gradient(n, steps, memory);
  free(memory);
  return 0;
}
