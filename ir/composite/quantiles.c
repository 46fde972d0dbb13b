/* Quantiles: rows in order along the last dim, and as many elements of each as there are parts q.
 *
 *   self [a, n, b]  dim 1  ->  rows [a, b, n], sorted  ->  [a, b, k]  ->  [k, a, b], with keepdim [k, a, 1, b]
 *   self, no dim           ->  rows [a n b]            ->  [k]
 */
#include "ir/composite/composite.h"

#include "ir/attribute.h"
#include "ir/composite.gen.h"
#include "ir/composite/support.h"
#include "ir/op.gen.h"

#include <string.h>

typedef struct {
  laze_recorder *recorder;
  const laze_call *call;
  laze_type self;
  laze_value parts;
  int part_rank;
  int axis; /* -1: all of them */
  bool skips_nan, keepdim;
  const char *interpolation;
} quantile;

static laze_status check(const quantile *q, laze_error *error) {
  static const char *const known[] = {"linear", "lower", "higher", "nearest", "midpoint"};
  const laze_type parts = laze_compose_type(q->recorder, q->parts);
  bool named = false;
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) named = named || strcmp(known[i], q->interpolation) == 0;
  if (!named)
    return laze_fail(error, LAZE_INVALID_ARGUMENT,
                     "%s: interpolation is \"%s\"; expected linear, lower, higher, nearest or midpoint",
                     laze_compose_name(q->call), q->interpolation);
  if ((q->self.dtype == LAZE_F32 || q->self.dtype == LAZE_F64) && parts.dtype == q->self.dtype && parts.rank <= 1)
    return LAZE_OK;
  return laze_fail(error, LAZE_INVALID_ARGUMENT,
                   "%s: self is %s, and q %s with %d dims; expected f32 or f64 for both, and q a number or a list",
                   laze_compose_name(q->call), laze_dtype_name((laze_dtype)q->self.dtype),
                   laze_dtype_name((laze_dtype)parts.dtype), parts.rank);
}

/* The rows, sorted along the last dim. */
static laze_status order(quantile *q, laze_value *out, laze_error *error) {
  laze_attribute attributes[] = {laze_attribute_integer(-1), laze_attribute_boolean(false)};
  laze_value rows = q->call->operands[0], sorted[2];
  laze_size dims[LAZE_MAX_RANK], count;
  if (q->axis < 0 || q->self.rank == 0) {
    LAZE_TRY(laze_size_product(q->recorder->sizes, q->self.sizes, q->self.rank, &count, error));
    LAZE_TRY(laze_compose_reshape(q->recorder, rows, &count, 1, &rows, error));
  } else {
    for (int i = 0; i < q->self.rank; i++) dims[i] = i < q->axis ? i : i + 1 < q->self.rank ? i + 1 : q->axis;
    LAZE_TRY(laze_compose_permute(q->recorder, rows, dims, q->self.rank, &rows, error));
  }
  const laze_type type = laze_compose_type(q->recorder, rows);
  LAZE_TRY(laze_compose_refuse_empty(q->recorder, q->call, &type, type.rank - 1, error));
  LAZE_TRY(laze_record_call(q->recorder, LAZE_OP_SORT, &rows, 1, attributes, sorted, error));
  *out = sorted[0];
  return LAZE_OK;
}

/* Puts the dim of parts in front, or drops it, and brings the others back. */
static laze_status place(const quantile *q, laze_value found, laze_value *out, laze_error *error) {
  const int rank = laze_recorder_type(q->recorder, found)->rank;
  laze_size dims[LAZE_MAX_RANK];
  *out = found;
  for (int i = 0; i < rank; i++) dims[i] = i == 0 ? rank - 1 : i - 1;
  if (q->part_rank == 0) LAZE_TRY(laze_compose_drop_axis(q->recorder, *out, rank - 1, out, error));
  if (q->part_rank == 1 && rank > 1) LAZE_TRY(laze_compose_permute(q->recorder, *out, dims, rank, out, error));
  for (int i = 0; q->keepdim && i < q->self.rank; i++)
    if (q->axis < 0 || i == q->axis)
      LAZE_TRY(laze_compose_insert_axis(q->recorder, *out, q->part_rank + i, out, error));
  return LAZE_OK;
}

static laze_status find(quantile *q, laze_value *out, laze_error *error) {
  laze_attribute attributes[] = {laze_attribute_boolean(q->skips_nan), laze_attribute_string(q->interpolation)};
  laze_value operands[2];
  LAZE_TRY(check(q, error));
  LAZE_TRY(order(q, &operands[0], error));
  operands[1] = q->parts;
  if (q->part_rank == 0) LAZE_TRY(laze_compose_insert_axis(q->recorder, q->parts, 0, &operands[1], error));
  LAZE_TRY(laze_record_call(q->recorder, LAZE_OP__QUANTILE_ALONG, operands, 2, attributes, out, error));
  return place(q, *out, out, error);
}

/* The attributes dim, keepdim and interpolation follow one another in all of them. */
static laze_status begin(laze_recorder *recorder, const laze_call *call, int dim, bool skips_nan, quantile *out,
                         laze_error *error) {
  const laze_attribute *attributes = &call->attributes[dim];
  *out = (quantile){.recorder = recorder,
                    .call = call,
                    .self = laze_compose_type(recorder, call->operands[0]),
                    .axis = -1,
                    .skips_nan = skips_nan,
                    .keepdim = attributes[1].value.integer != 0,
                    .interpolation = attributes[2].value.string};
  if (!attributes[0].present) return LAZE_OK;
  return laze_compose_axis(recorder, call, attributes[0].value.integer, out->self.rank, &out->axis, error);
}

static laze_status of_tensor(laze_recorder *recorder, const laze_call *call, bool skips_nan, laze_value *results,
                             laze_error *error) {
  quantile q;
  LAZE_TRY(begin(recorder, call, LAZE_QUANTILE_DIM, skips_nan, &q, error));
  q.parts = call->operands[1];
  q.part_rank = laze_recorder_type(recorder, q.parts)->rank;
  return find(&q, results, error);
}

static laze_status of_number(laze_recorder *recorder, const laze_call *call, bool skips_nan, laze_value *results,
                             laze_error *error) {
  const double part = call->attributes[LAZE_QUANTILE_SCALAR_Q].value.real;
  quantile q;
  LAZE_TRY(begin(recorder, call, LAZE_QUANTILE_SCALAR_DIM, skips_nan, &q, error));
  if (!(part >= 0 && part <= 1))
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: q is %g, expected 0 to 1", laze_compose_name(call), part);
  LAZE_TRY(laze_record_number(recorder, (laze_dtype)q.self.dtype, laze_scalar_real(part), &q.parts, error));
  return find(&q, results, error);
}

laze_status laze_composite_quantile(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                    laze_error *error) {
  return of_tensor(recorder, call, false, results, error);
}

laze_status laze_composite_nanquantile(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                       laze_error *error) {
  return of_tensor(recorder, call, true, results, error);
}

laze_status laze_composite_quantile_scalar(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                           laze_error *error) {
  return of_number(recorder, call, false, results, error);
}

laze_status laze_composite_nanquantile_scalar(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                              laze_error *error) {
  return of_number(recorder, call, true, results, error);
}
