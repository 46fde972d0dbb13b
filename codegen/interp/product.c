/* Matrix products in the order of codegen/order.h: for each row, blocks of k; in a block, chains over ascending k
 * that end in a fixed tree. Columns are taken some at a time, which leaves each chain as it is. */
#include "codegen/interp/unit.h"

#include "codegen/order.h"

#include <math.h>

enum { COLUMNS = 64 };

typedef struct {
  const char *a, *b;
  char *c;
  int64_t rows, depth, columns, size; /* of an element */
} matrices;

/* One row's block of k, in some columns: addresses of its first factors and of the totals. */
typedef struct {
  const char *a, *b;
  char *totals;
  int64_t depth, columns, row; /* elements from one k of b to the next */
  int64_t chains;
  bool first;
} span;

#define MULTIPLY(id, type, step, sum)                                                                                  \
  static void multiply_##id(const span *s) {                                                                           \
    type chains[LAZE_PRODUCT_LANES][COLUMNS] = {{0}}, *totals = (type *)(void *)s->totals;                             \
    const type *a = (const type *)(const void *)s->a;                                                                  \
    for (int64_t k = 0; k < s->depth; k++) {                                                                           \
      const type x = a[k], *y = (const type *)(const void *)s->b + k * s->row;                                         \
      type *z = chains[k % s->chains];                                                                                 \
      for (int64_t j = 0; j < s->columns; j++) z[j] = step;                                                            \
    }                                                                                                                  \
    for (int64_t half = s->chains / 2; half >= 1; half /= 2)                                                           \
      for (int64_t l = 0; l < half; l++)                                                                               \
        for (int64_t j = 0; j < s->columns; j++) {                                                                     \
          const type x = chains[l][j], y = chains[l + half][j];                                                        \
          chains[l][j] = sum;                                                                                          \
        }                                                                                                              \
    for (int64_t j = 0; j < s->columns; j++) {                                                                         \
      const type x = totals[j], y = chains[0][j];                                                                      \
      totals[j] = s->first ? y : sum;                                                                                  \
    }                                                                                                                  \
  }

/* Integers wrap, in 64 unsigned bits whose low ones are the result's. */
#define MULTIPLY_BOOL(id, type) MULTIPLY(id, type, (type)((x && y[j]) || z[j]), (type)(x || y))
#define MULTIPLY_SIGNED(id, type)                                                                                      \
  MULTIPLY(id, type, (type)((uint64_t)x * (uint64_t)y[j] + (uint64_t)z[j]), (type)((uint64_t)x + (uint64_t)y))
#define MULTIPLY_UNSIGNED MULTIPLY_SIGNED
#define MULTIPLY_FLOAT(id, type) MULTIPLY(id, type, _Generic((type)0, float : fmaf, double : fma)(x, y[j], z[j]), x + y)

#define MULTIPLY_HALF(id, type)
#define MULTIPLY_COMPLEX(id, type)
#define DEFINE(with, id, name, kind, bits, digits, c_type, ...) MULTIPLY_##kind(id, c_type)
LAZE_DTYPES(DEFINE, )

/* Floats of 16 bits are multiplied as f32 (ir/passes/expand.c). */
#define ENTRY_BOOL(id) [LAZE_##id] = multiply_##id,
#define ENTRY_SIGNED ENTRY_BOOL
#define ENTRY_UNSIGNED ENTRY_BOOL
#define ENTRY_FLOAT ENTRY_BOOL
#define ENTRY_HALF(id)
#define ENTRY_COMPLEX(id)
#define ENTRY(with, id, name, kind, ...) ENTRY_##kind(id)
static void (*const multiply[LAZE_DTYPE_BOUND])(const span *) = {LAZE_DTYPES(ENTRY, )};

static int64_t smaller(int64_t a, int64_t b) {
  return a < b ? a : b;
}

/* Some columns of one row. */
static void multiply_row(const matrices *m, laze_dtype dtype, int64_t row, int64_t column) {
  span s = {.columns = smaller(COLUMNS, m->columns - column), .row = m->columns};
  s.chains = m->depth < LAZE_PRODUCT_CHAIN ? 1 : LAZE_PRODUCT_LANES;
  s.totals = m->c + (row * m->columns + column) * m->size;
  for (int64_t k = 0; k == 0 || k < m->depth; k += LAZE_PRODUCT_BLOCK) { /* without depth, one empty block */
    s.a = m->a + (row * m->depth + k) * m->size;
    s.b = m->b + (k * m->columns + column) * m->size;
    s.depth = smaller(LAZE_PRODUCT_BLOCK, m->depth - k);
    s.first = k == 0;
    multiply[dtype](&s);
  }
}

void interp_execute_matrix_product(const interp_run *run, const interp_node *node) {
  interp_tensor a = interp_operand(run, node, 0), b = interp_operand(run, node, 1), c = interp_result(run, node, 0);
  int64_t batch = a.rank == 3 ? a.dims[0] : 1;
  matrices m = {.rows = a.dims[a.rank - 2], .depth = a.dims[a.rank - 1], .columns = b.dims[b.rank - 1]};
  m.size = laze_dtype_size(c.dtype);
  for (int64_t i = 0; i < batch; i++) {
    m.a = a.data + i * m.rows * m.depth * m.size;
    m.b = b.data + i * m.depth * m.columns * m.size;
    m.c = c.data + i * m.rows * m.columns * m.size;
    for (int64_t row = 0; row < m.rows; row++)
      for (int64_t column = 0; column < m.columns; column += COLUMNS) multiply_row(&m, c.dtype, row, column);
  }
}
