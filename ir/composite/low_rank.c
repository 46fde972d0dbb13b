/* Singular values of matrices that few vectors nearly span, found from random ones:
 *
 *   A [m,n], m >= n      R [n,q] random      Q R' = A R      Q R' = A' Q, Q R' = A Q, niter times
 *   Q' A [q,n] = U diag(S) Vh                ──>   Q U [m,q], S, V [n,q]
 *
 * Of a wide matrix it is the conjugate transpose that is taken, and U and V change places.
 */
#include "ir/composite/composite.h"

#include "ir/composite.gen.h"
#include "ir/composite/support.h"
#include "ir/op.gen.h"

/* How many vectors, how often they are multiplied, and the operands seed and offset. */
typedef struct {
  laze_size q;
  int64_t iterations;
  const laze_value *state;
  bool bounded; /* by the sides of the matrix */
} low_rank;

static laze_status check(laze_recorder *recorder, const laze_call *call, const low_rank *how, const laze_type *type,
                         laze_error *error) {
  const laze_inference inference = {recorder->sizes, laze_compose_name(call), error};
  bool fits = type->rank >= 2 && laze_dtype_is_inexact((laze_dtype)type->dtype) && how->iterations >= 0;
  for (int i = 1; i <= 2 && fits && how->bounded; i++)
    LAZE_TRY(laze_size_must_be_at_most(recorder, how->q, type->sizes[type->rank - i], &fits, error));
  if (fits) LAZE_TRY(laze_size_must_be_at_most(recorder, 0, how->q, &fits, error));
  if (fits) return LAZE_OK;
  return laze_fail(error, LAZE_INVALID_ARGUMENT,
                   "%s: got %s, q %s and niter %lld; expected matrices, q from 0 on%s, and niter from 0 on",
                   inference.operator_name, laze_show(&inference, type).text, laze_show_size(&inference, how->q).text,
                   (long long)how->iterations, how->bounded ? " to their lesser side" : "");
}

static laze_status decompose(laze_recorder *recorder, const laze_call *call, laze_value self, const low_rank *how,
                             laze_value *results, laze_error *error) {
  laze_type type = laze_compose_type(recorder, self);
  laze_attribute q = laze_attribute_size(how->q);
  laze_value operands[3] = {self, how->state[0], how->state[1]};
  bool tall;
  LAZE_TRY(check(recorder, call, how, &type, error));
  LAZE_TRY(laze_size_may_be_at_most(recorder, type.sizes[type.rank - 1], type.sizes[type.rank - 2], &tall, error));
  if (!tall) LAZE_TRY(laze_compose_unary(recorder, LAZE_OP_ADJOINT, self, &operands[0], error));
  LAZE_TRY(laze_record_call(recorder, LAZE_OP__RANGE_OF_RANDOM, operands, 3, &q, &operands[1], error));
  for (int64_t i = 0; i < how->iterations; i++)
    LAZE_TRY(laze_record_call(recorder, LAZE_OP__RANGE_AGAIN, operands, 2, NULL, &operands[1], error));
  LAZE_TRY(laze_record_call(recorder, LAZE_OP__SVD_WITHIN, operands, 2, NULL, results, error));
  if (tall) return LAZE_OK;
  laze_value left = results[0];
  results[0] = results[2];
  results[2] = left;
  return LAZE_OK;
}

laze_status laze_composite_svd_lowrank(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                       laze_error *error) {
  const laze_value mean = laze_call_operand(call, 1);
  laze_value state[] = {laze_call_operand(call, 2), laze_call_operand(call, 3)}, self = call->operands[0];
  const low_rank how = {call->attributes[LAZE_SVD_LOWRANK_Q].value.size,
                        call->attributes[LAZE_SVD_LOWRANK_NITER].value.integer, state, false};
  if (!laze_value_is_none(mean)) LAZE_TRY(laze_compose_binary(recorder, LAZE_OP_SUB, self, mean, &self, error));
  return decompose(recorder, call, self, &how, results, error);
}

laze_status laze_composite_pca_lowrank(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                       laze_error *error) {
  const laze_attribute *q = &call->attributes[LAZE_PCA_LOWRANK_Q];
  laze_type type = laze_compose_type(recorder, call->operands[0]);
  laze_value self = call->operands[0], mean;
  low_rank how = {q->present ? q->value.size : 6, call->attributes[LAZE_PCA_LOWRANK_NITER].value.integer,
                  call->operands + 1, true};
  laze_size rows = -2;
  laze_attribute along[] = {laze_attribute_integers(&rows, 1), laze_attribute_boolean(true),
                            laze_attribute_absent(LAZE_ARGUMENT_DTYPE)};
  for (int i = 1; i <= 2 && type.rank >= 2 && !q->present; i++)
    LAZE_TRY(laze_size_binary(recorder->sizes, LAZE_SIZE_MIN, how.q, type.sizes[type.rank - i], &how.q, error));
  if (call->attributes[LAZE_PCA_LOWRANK_CENTER].value.integer && type.rank >= 2) {
    LAZE_TRY(laze_record_call(recorder, LAZE_OP_MEAN_DIM, &self, 1, along, &mean, error));
    LAZE_TRY(laze_compose_binary(recorder, LAZE_OP_SUB, self, mean, &self, error));
  }
  return decompose(recorder, call, self, &how, results, error);
}
