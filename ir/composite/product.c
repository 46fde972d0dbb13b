/* matmul and its relatives over mm and bmm:
 *
 *   [k] x [k]            mm([1,k], [k,1]), then []
 *   [k] x [k,n]          mm([1,k], [k,n]), then [n]
 *   [..., m, k] x [k,n]  mm([...*m, k], [k,n]), then [..., m, n]
 *   otherwise            batch dims are broadcast and joined: bmm([b,m,k], [b,k,n]), then [..., m, n]
 */
#include "ir/composite/composite.h"

#include "ir/composite.gen.h"
#include "ir/composite/support.h"
#include "ir/op.gen.h"

typedef struct {
  laze_recorder *recorder;
  const laze_call *call;
  laze_value self, other;
} product;

/* [..., m, k] x [k, n]: rows of all matrices in one. */
static laze_status multiply_rows(const product *p, laze_value *out, laze_error *error) {
  laze_type self = laze_compose_type(p->recorder, p->self), other = laze_compose_type(p->recorder, p->other);
  if (self.rank == 2) return laze_compose_binary(p->recorder, LAZE_OP_MM, p->self, p->other, out, error);
  laze_size flat[2] = {0, self.sizes[self.rank - 1]};
  laze_value rows;
  LAZE_TRY(laze_size_product(p->recorder->sizes, self.sizes, self.rank - 1, &flat[0], error));
  LAZE_TRY(laze_compose_reshape(p->recorder, p->self, flat, 2, &rows, error));
  LAZE_TRY(laze_compose_binary(p->recorder, LAZE_OP_MM, rows, p->other, out, error));
  self.sizes[self.rank - 1] = other.sizes[1];
  return laze_compose_reshape(p->recorder, *out, self.sizes, self.rank, out, error);
}

/* Expands the batch dims of a matrix operand to `batch` and joins them into one. */
static laze_status join_batch(laze_recorder *recorder, laze_value value, const laze_type *batch, laze_value *out,
                              laze_error *error) {
  laze_type type = laze_compose_type(recorder, value), expanded = *batch;
  laze_size flat[3] = {0, type.sizes[type.rank - 2], type.sizes[type.rank - 1]};
  expanded.sizes[expanded.rank++] = flat[1];
  expanded.sizes[expanded.rank++] = flat[2];
  LAZE_TRY(laze_compose_expand(recorder, value, expanded.sizes, expanded.rank, out, error));
  LAZE_TRY(laze_size_product(recorder->sizes, batch->sizes, batch->rank, &flat[0], error));
  return laze_compose_reshape(recorder, *out, flat, 3, out, error);
}

static laze_status multiply_batches(const product *p, laze_value *out, laze_error *error) {
  laze_type self = laze_compose_type(p->recorder, p->self), other = laze_compose_type(p->recorder, p->other);
  laze_inference inference = {p->recorder->sizes, laze_compose_name(p->call), error};
  laze_size rows = self.sizes[self.rank - 2], columns = other.sizes[other.rank - 1];
  laze_type batch = {.kind = LAZE_TYPE_TENSOR, .dtype = self.dtype};
  laze_value left, right;
  self.rank -= 2;
  other.rank -= 2;
  LAZE_TRY(laze_infer_broadcast_into(&inference, &self, &batch));
  LAZE_TRY(laze_infer_broadcast_into(&inference, &other, &batch));
  LAZE_TRY(join_batch(p->recorder, p->self, &batch, &left, error));
  LAZE_TRY(join_batch(p->recorder, p->other, &batch, &right, error));
  LAZE_TRY(laze_compose_binary(p->recorder, LAZE_OP_BMM, left, right, out, error));
  batch.sizes[batch.rank++] = rows;
  batch.sizes[batch.rank++] = columns;
  return laze_compose_reshape(p->recorder, *out, batch.sizes, batch.rank, out, error);
}

static laze_status refuse_operands(const product *p, const laze_type *self, const laze_type *other,
                                   const char *expected, laze_error *error) {
  char first[160], second[160];
  return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: got %s and %s%s", laze_compose_name(p->call),
                   laze_type_format(p->recorder->sizes, self, first, sizeof first),
                   laze_type_format(p->recorder->sizes, other, second, sizeof second), expected);
}

static laze_status check_inner(const product *p, const laze_type *self, const laze_type *other, laze_error *error) {
  bool same;
  if (self->rank == 0 || other->rank == 0)
    return refuse_operands(p, self, other, ", expected at least one dim each: use mul", error);
  laze_size inner = self->sizes[self->rank - 1], rows = other->sizes[other->rank == 1 ? 0 : other->rank - 2];
  LAZE_TRY(laze_size_must_equal(p->recorder, inner, rows, &same, error));
  if (same) return LAZE_OK;
  return refuse_operands(p, self, other,
                         other->rank == 1
                             ? "; the last size of the first must equal the size of the second"
                             : "; the last size of the first must equal the last size but one of the second",
                         error);
}

laze_status laze_composite_matmul(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                  laze_error *error) {
  product p = {recorder, call, call->operands[0], call->operands[1]};
  laze_type self = laze_compose_type(recorder, p.self), other = laze_compose_type(recorder, p.other);
  LAZE_TRY(check_inner(&p, &self, &other, error));
  if (self.rank == 1) LAZE_TRY(laze_compose_insert_axis(recorder, p.self, 0, &p.self, error));
  if (other.rank == 1) LAZE_TRY(laze_compose_insert_axis(recorder, p.other, 1, &p.other, error));
  LAZE_TRY(other.rank <= 2 ? multiply_rows(&p, results, error) : multiply_batches(&p, results, error));
  int rank = laze_recorder_type(recorder, *results)->rank;
  if (other.rank == 1) LAZE_TRY(laze_compose_drop_axis(recorder, *results, --rank, results, error));
  if (self.rank == 1)
    LAZE_TRY(laze_compose_drop_axis(recorder, *results, other.rank == 1 ? rank - 1 : rank - 2, results, error));
  return LAZE_OK;
}

/* dot and mv are matmul for ranks that they insist on. */
static laze_status matmul_of_ranks(laze_recorder *recorder, const laze_call *call, const int ranks[2],
                                   laze_value *results, laze_error *error) {
  for (int i = 0; i < 2; i++) {
    int rank = laze_recorder_type(recorder, call->operands[i])->rank;
    if (rank != ranks[i])
      return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: operand %d has %d dims, expected %d: matmul takes any",
                       laze_compose_name(call), i, rank, ranks[i]);
  }
  return laze_composite_matmul(recorder, call, results, error);
}

laze_status laze_composite_dot(laze_recorder *recorder, const laze_call *call, laze_value *results, laze_error *error) {
  return matmul_of_ranks(recorder, call, (const int[]){1, 1}, results, error);
}

laze_status laze_composite_mv(laze_recorder *recorder, const laze_call *call, laze_value *results, laze_error *error) {
  return matmul_of_ranks(recorder, call, (const int[]){2, 1}, results, error);
}
