/* Conway's Game of Life on a torus, in integers.
 *
 * Shows shifted slices: the eight neighbours of all cells are sums of rows and columns that were moved by one, and no
 * moved copy is stored. Each turn is a step, the same graph every time.
 *
 *   life [CELLS ON A SIDE] [TURNS]
 */
#include <laze/laze.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* The sum of x and of x moved by one, forwards and backwards, along dim. */
static laze_tensor *three(laze_tensor *x, int64_t dim) {
  int64_t n = laze_tensor_size(x, (int32_t)dim);
  laze_tensor *first = laze_narrow(x, dim, 0, 1), *last = laze_narrow(x, dim, n - 1, 1);
  laze_tensor *forwards = laze_cat(LAZE_TENSORS(last, laze_narrow(x, dim, 0, n - 1)), dim);
  laze_tensor *backwards = laze_cat(LAZE_TENSORS(laze_narrow(x, dim, 1, n - 1), first), dim);
  return laze_add(laze_add(forwards, x), backwards);
}

static laze_tensor *turn(laze_tensor *cells) {
  laze_tensor *square = three(three(cells, 0), 1); /* the cell itself is counted as well */
  laze_tensor *stays = laze_bitwise_and(laze_eq(square, 4), laze_eq(cells, 1));
  return laze_to(laze_bitwise_or(laze_eq(square, 3), stays), LAZE_I32);
}

/* An R-pentomino in the middle, which goes on for more than a thousand turns. */
static laze_tensor *pentomino(int64_t n, int32_t *cells) {
  static const int places[][2] = {{0, 1}, {0, 2}, {1, 0}, {1, 1}, {2, 1}};
  for (int i = 0; i < 5; i++) cells[(n / 2 + places[i][0]) * n + n / 2 + places[i][1]] = 1;
  return laze_tensor_from_data(NULL, LAZE_I32, LAZE_SHAPE(n, n), cells, (size_t)(n * n) * sizeof *cells);
}

static int play(int64_t n, int64_t turns, int32_t *data) {
  laze_error error;
  laze_scope *whole = laze_scope_begin(NULL);
  laze_tensor *cells = laze_tensor_retain(pentomino(n, data));
  for (int64_t i = 0; i < turns; i++) {
    laze_scope *step = laze_scope_begin(NULL);
    laze_tensor_assign(cells, turn(cells));
    if (laze_step_end(step, &error) != LAZE_OK) return fprintf(stderr, "%s\n", error.message), 1;
  }
  size_t size = (size_t)(n * n) * sizeof *data;
  if (laze_tensor_read(cells, LAZE_I32, data, size) != LAZE_OK) fprintf(stderr, "%s\n", laze_tensor_error(cells));
  for (int64_t row = 0; row < n; row++) {
    for (int64_t column = 0; column < n; column++) putchar(data[row * n + column] ? '#' : '.');
    putchar('\n');
  }
  printf("%.0f cells live\n", laze_tensor_item(laze_sum(cells)));
  laze_tensor_release(cells);
  return laze_scope_end(whole) != LAZE_OK;
}

int main(int count, char **words) {
  int64_t n = count > 1 ? atoll(words[1]) : 40, turns = count > 2 ? atoll(words[2]) : 100;
  if (n < 8 || n > 10000 || turns < 0) return fprintf(stderr, "usage: life [CELLS ON A SIDE] [TURNS]\n"), 2;
  int32_t *data = calloc((size_t)(n * n), sizeof *data);
  int status = data ? play(n, turns, data) : 1;
  free(data);
  return status;
}
