/* Products of several matrices.
 *
 *   multi_dot      a [10,100] b [100,5] c [5,50]    (a b) c takes 7,500 products, a (b c) 75,000
 *   matrix_power   a^13 = a^8 * a^4 * a^1           squares, and the product of those that 13 has bits for
 */
#include "ir/composite/composite.h"

#include "ir/composite.gen.h"
#include "ir/composite/support.h"
#include "ir/op.gen.h"

enum { MAX_MATRICES = 32 };

typedef struct {
  laze_recorder *recorder;
  const laze_call *call;
  laze_value matrices[MAX_MATRICES];
  int count;
  int split[MAX_MATRICES][MAX_MATRICES]; /* of the product [i .. j]: the last matrix of its left factor */
  laze_error *error;
} chain;

/* The cheapest order, where sizes are numbers; otherwise, or beyond what can be counted, from left to right. */
static void find_order(chain *c) {
  double sizes[MAX_MATRICES + 1], cost[MAX_MATRICES][MAX_MATRICES] = {{0}};
  bool known = true;
  for (int i = 0; i < c->count; i++) {
    const laze_type type = laze_compose_type(c->recorder, c->matrices[i]);
    known = known && laze_size_is_constant(type.sizes[0]) && laze_size_is_constant(type.sizes[1]);
    sizes[i] = (double)type.sizes[0];
    sizes[i + 1] = (double)type.sizes[1];
  }
  for (int length = 1; length < c->count; length++)
    for (int i = 0; i + length < c->count; i++) {
      const int j = i + length;
      c->split[i][j] = j - 1;
      for (int k = i; k < j && known; k++) {
        const double here = cost[i][k] + cost[k + 1][j] + sizes[i] * sizes[k + 1] * sizes[j + 1];
        if (k > i && here >= cost[i][j]) continue;
        cost[i][j] = here;
        c->split[i][j] = k;
      }
    }
}

typedef struct {
  int first, last;
  bool ready; /* both factors are on the stack of values */
} span;

/* The products of a span come after those of its factors. */
static laze_status multiply_in_order(const chain *c, laze_value *out) {
  span spans[2 * MAX_MATRICES] = {{0, c->count - 1, false}};
  laze_value values[MAX_MATRICES];
  for (int left = 1, count = 0; left > 0;) {
    span *top = &spans[left - 1];
    if (top->first == top->last) {
      values[count++] = c->matrices[top->first];
      left--;
    } else if (top->ready) {
      LAZE_TRY(laze_compose_binary(c->recorder, LAZE_OP_MM, values[count - 2], values[count - 1], &values[count - 2],
                                   c->error));
      count--;
      left--;
    } else {
      const int middle = c->split[top->first][top->last];
      const span right = {middle + 1, top->last, false}, first = {top->first, middle, false};
      top->ready = true;
      spans[left++] = right;
      spans[left++] = first;
    }
  }
  *out = values[0];
  return LAZE_OK;
}

static laze_status refuse_chain(const chain *c) {
  return laze_fail(c->error, LAZE_INVALID_ARGUMENT,
                   "%s: %d operands; expected %d to %d matrices whose sizes go together, of which the first and the "
                   "last of multi_dot may be vectors",
                   laze_compose_name(c->call), c->call->operand_count, c->call->op == LAZE_OP_LINALG_MULTI_DOT ? 2 : 1,
                   MAX_MATRICES);
}

/* A vector in front is a row, one behind is a column. */
static laze_status read_matrices(chain *c, bool vectors, bool added[2]) {
  for (int i = 0; i < c->count; i++) {
    const int rank = laze_recorder_type(c->recorder, c->call->operands[i])->rank;
    const bool first = i == 0, is_end = first || i == c->count - 1;
    c->matrices[i] = c->call->operands[i];
    if (rank == 1 && vectors && is_end) {
      added[!first] = true;
      LAZE_TRY(laze_compose_insert_axis(c->recorder, c->matrices[i], first ? 0 : 1, &c->matrices[i], c->error));
    } else if (rank != 2) {
      return refuse_chain(c);
    }
  }
  for (int i = 1; i < c->count; i++) {
    const laze_type a = laze_compose_type(c->recorder, c->matrices[i - 1]),
                    b = laze_compose_type(c->recorder, c->matrices[i]);
    bool fits;
    LAZE_TRY(laze_size_must_equal(c->recorder, a.sizes[1], b.sizes[0], &fits, c->error));
    if (!fits || a.dtype != b.dtype) return refuse_chain(c);
  }
  return LAZE_OK;
}

static laze_status multiply_chain(laze_recorder *recorder, const laze_call *call, bool vectors, laze_value *results,
                                  laze_error *error) {
  chain c = {.recorder = recorder, .call = call, .count = call->operand_count, .error = error};
  bool added[2] = {false, false};
  if (c.count < (vectors ? 2 : 1) || c.count > MAX_MATRICES) return refuse_chain(&c);
  LAZE_TRY(read_matrices(&c, vectors, added));
  find_order(&c);
  LAZE_TRY(multiply_in_order(&c, results));
  if (added[1]) LAZE_TRY(laze_compose_drop_axis(recorder, *results, 1, results, error));
  return added[0] ? laze_compose_drop_axis(recorder, *results, 0, results, error) : LAZE_OK;
}

laze_status laze_composite_linalg_multi_dot(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                            laze_error *error) {
  return multiply_chain(recorder, call, true, results, error);
}

laze_status laze_composite_chain_matmul(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                        laze_error *error) {
  return multiply_chain(recorder, call, false, results, error);
}

/* Powers */

static laze_status check_square(laze_recorder *recorder, const laze_call *call, const laze_type *type,
                                laze_error *error) {
  const laze_inference inference = {recorder->sizes, laze_compose_name(call), error};
  bool square = type->rank >= 2;
  if (square)
    LAZE_TRY(laze_size_must_equal(recorder, type->sizes[type->rank - 2], type->sizes[type->rank - 1], &square, error));
  if (!square)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: got %s, expected square matrices", inference.operator_name,
                     laze_show(&inference, type).text);
  return LAZE_OK;
}

static laze_status identity(laze_recorder *recorder, const laze_type *type, laze_value *out, laze_error *error) {
  const laze_size size = type->sizes[type->rank - 1];
  laze_attribute attributes[] = {laze_attribute_size(size), laze_attribute_size(size),
                                 laze_attribute_dtype((laze_dtype)type->dtype)};
  LAZE_TRY(laze_record_call(recorder, LAZE_OP_EYE_M, NULL, 0, attributes, out, error));
  return laze_compose_expand(recorder, *out, type->sizes, type->rank, out, error);
}

static laze_status raise_to(laze_recorder *recorder, const laze_call *call, int64_t n, laze_value *out,
                            laze_error *error) {
  const laze_type type = laze_compose_type(recorder, call->operands[0]);
  laze_value square = call->operands[0];
  bool any = false;
  LAZE_TRY(check_square(recorder, call, &type, error));
  if (n < 0) {
    if (n == INT64_MIN)
      return laze_fail(error, LAZE_OUT_OF_RANGE, "%s: n is %lld; expected more", laze_compose_name(call), (long long)n);
    LAZE_TRY(laze_compose_unary(recorder, LAZE_OP_LINALG_INV, square, &square, error));
    n = -n;
  }
  *out = square;
  if (n == 0) return identity(recorder, &type, out, error);
  if (n == 3) {
    LAZE_TRY(laze_compose_binary(recorder, LAZE_OP_MATMUL, square, square, out, error));
    return laze_compose_binary(recorder, LAZE_OP_MATMUL, *out, square, out, error);
  }
  for (;;) {
    if (n & 1) {
      if (any) LAZE_TRY(laze_compose_binary(recorder, LAZE_OP_MATMUL, *out, square, out, error));
      if (!any) *out = square;
      any = true;
    }
    n >>= 1;
    if (n == 0) return LAZE_OK;
    LAZE_TRY(laze_compose_binary(recorder, LAZE_OP_MATMUL, square, square, &square, error));
  }
}

laze_status laze_composite_linalg_matrix_power(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                               laze_error *error) {
  return raise_to(recorder, call, call->attributes[LAZE_LINALG_MATRIX_POWER_N].value.integer, results, error);
}

laze_status laze_composite_matrix_power(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                        laze_error *error) {
  return raise_to(recorder, call, call->attributes[LAZE_MATRIX_POWER_N].value.integer, results, error);
}
