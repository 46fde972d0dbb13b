/* Matrix products. Each element is one chain: accumulator = a * b + accumulator with one rounding, from 0, k ascending.
 * The loop over columns is inside the one over k, which leaves each chain as it is. */
#include "codegen/interp/unit.h"

#include <math.h>
#include <string.h>

typedef struct {
  const char *a, *b;
  char *c;
  int64_t rows, depth, columns;
} matrices;

#define MULTIPLY(name, type, step)                                                                                     \
  static void multiply_##name(const matrices *m) {                                                                     \
    const type *a = (const type *)(const void *)m->a, *b = (const type *)(const void *)m->b;                           \
    type *c = (type *)(void *)m->c;                                                                                    \
    for (int64_t row = 0; row < m->rows; row++, c += m->columns) {                                                     \
      for (int64_t j = 0; j < m->columns; j++) c[j] = 0;                                                               \
      for (int64_t k = 0; k < m->depth; k++) {                                                                         \
        const type x = a[row * m->depth + k], *y = b + k * m->columns;                                                 \
        for (int64_t j = 0; j < m->columns; j++) c[j] = step;                                                          \
      }                                                                                                                \
    }                                                                                                                  \
  }

MULTIPLY(f32, float, fmaf(x, y[j], c[j]))
MULTIPLY(f64, double, fma(x, y[j], c[j]))
MULTIPLY(i32, int32_t, (int32_t)((uint32_t)x *(uint32_t)y[j] + (uint32_t)c[j]))
MULTIPLY(i64, int64_t, (int64_t)((uint64_t)x *(uint64_t)y[j] + (uint64_t)c[j]))
MULTIPLY(bool, uint8_t, (uint8_t)((x && y[j]) || c[j]))

static void (*const multiply[LAZE_DTYPE_COUNT])(const matrices *) = {
    [LAZE_BOOL] = multiply_bool, [LAZE_I32] = multiply_i32, [LAZE_I64] = multiply_i64,
    [LAZE_F32] = multiply_f32,   [LAZE_F64] = multiply_f64,
};

void interp_execute_matrix_product(const interp_run *run, const interp_node *node) {
  interp_tensor a = interp_operand(run, node, 0), b = interp_operand(run, node, 1), c = interp_result(run, node, 0);
  int64_t size = laze_dtype_size(c.dtype), batch = a.rank == 3 ? a.dims[0] : 1;
  matrices m = {.rows = a.dims[a.rank - 2], .depth = a.dims[a.rank - 1], .columns = b.dims[b.rank - 1]};
  for (int64_t i = 0; i < batch; i++) {
    m.a = a.data + i * m.rows * m.depth * size;
    m.b = b.data + i * m.depth * m.columns * size;
    m.c = c.data + i * m.rows * m.columns * size;
    multiply[c.dtype](&m);
  }
}
