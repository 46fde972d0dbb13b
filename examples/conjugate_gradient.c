/* Poisson's equation on a square, by conjugate gradients.
 *
 * Shows a matrix that is never made: its product with a grid is five slices added. The step lengths are quotients of
 * tensors that stay where they are; nothing is read before the end. What goes on from step to step (x, r, p and r r) is
 * assigned, all of it in the one graph of the step.
 *
 *   conjugate_gradient [POINTS ON A SIDE] [STEPS]
 */
#include <laze/laze.h>

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* exp(-100 ((x - left)^2 + (y - 0.5)^2)) */
static laze_tensor *charge(laze_tensor *x, laze_tensor *y, double left) {
  laze_tensor *square = laze_add(laze_square(laze_sub(x, left)), laze_square(laze_sub(y, 0.5)));
  return laze_exp(laze_mul(square, -100));
}

/* Two charges of opposite sign; the potential is zero around the square. */
static laze_tensor *charges(int64_t n) {
  laze_tensor *line = laze_linspace(NULL, 0, 1, n, LAZE_F64);
  laze_tensor *x = laze_reshape(line, LAZE_SHAPE(n, 1)), *y = laze_reshape(line, LAZE_SHAPE(1, n));
  return laze_sub(charge(x, y, 0.3), charge(x, y, 0.7));
}

/* u with a border of zeros. */
static laze_tensor *framed(laze_tensor *u) {
  int64_t n = laze_tensor_size(u, 0), m = laze_tensor_size(u, 1);
  laze_tensor *row = laze_zeros(NULL, LAZE_SHAPE(1, m), LAZE_F64);
  laze_tensor *column = laze_zeros(NULL, LAZE_SHAPE(n + 2, 1), LAZE_F64);
  return laze_cat(LAZE_TENSORS(column, laze_cat(LAZE_TENSORS(row, u, row), 0), column), 1);
}

static laze_tensor *laplace(laze_tensor *u) {
  int64_t n = laze_tensor_size(u, 0), m = laze_tensor_size(u, 1);
  laze_tensor *f = framed(u), *inner = laze_narrow(f, 1, 1, m), *middle = laze_narrow(f, 0, 1, n);
  laze_tensor *above = laze_narrow(inner, 0, 0, n), *below = laze_narrow(inner, 0, 2, n);
  laze_tensor *left = laze_narrow(middle, 1, 0, m), *right = laze_narrow(middle, 1, 2, m);
  return laze_sub(laze_sub(laze_sub(laze_sub(laze_mul(u, 4), above), below), left), right);
}

static laze_tensor *dot(laze_tensor *a, laze_tensor *b) {
  return laze_sum(laze_mul(a, b));
}

/* x, r, p and r r, held; each goes on from the old values of all. */
typedef struct {
  laze_tensor *x, *r, *p, *rr;
} state;

static void advance(const state *s) {
  laze_tensor *q = laplace(s->p);
  laze_tensor *alpha = laze_div(s->rr, dot(s->p, q));
  laze_tensor *r = laze_sub(s->r, laze_mul(alpha, q));
  laze_tensor *rr = dot(r, r);
  laze_tensor *p = laze_add(r, laze_mul(laze_div(rr, s->rr), s->p));
  laze_tensor_assign(s->x, laze_add(s->x, laze_mul(alpha, s->p)));
  laze_tensor_assign(s->r, r);
  laze_tensor_assign(s->p, p);
  laze_tensor_assign(s->rr, rr);
}

int main(int count, char **words) {
  int64_t n = count > 1 ? atoll(words[1]) : 128, steps = count > 2 ? atoll(words[2]) : 200;
  if (n < 1 || n > 4096 || steps < 0) return fprintf(stderr, "usage: conjugate_gradient [POINTS] [STEPS]\n"), 2;
  laze_error error;
  laze_scope *whole = laze_scope_begin(NULL);
  laze_tensor *b = laze_tensor_retain(charges(n));
  state s = {laze_tensor_retain(laze_zeros(NULL, LAZE_SHAPE(n, n), LAZE_F64)), laze_tensor_retain(laze_mul(b, 1)),
             laze_tensor_retain(laze_mul(b, 1)), laze_tensor_retain(dot(b, b))};
  for (int64_t i = 0; i < steps; i++) {
    laze_scope *step = laze_scope_begin(NULL);
    advance(&s);
    if (laze_step_end(step, &error) != LAZE_OK) return fprintf(stderr, "%s\n", error.message), 1;
  }
  laze_tensor *rest = laze_sub(b, laplace(s.x));
  double residual = sqrt(laze_tensor_item(dot(rest, rest)) / laze_tensor_item(dot(b, b)));
  printf("potential from %.6f to %.6f, residual %.1e\n", laze_tensor_item(laze_min(s.x)),
         laze_tensor_item(laze_max(s.x)), residual);
  laze_tensor *held[] = {b, s.x, s.r, s.p, s.rr};
  for (int i = 0; i < 5; i++) laze_tensor_release(held[i]);
  return laze_scope_end(whole) != LAZE_OK;
}
