/* The gradient of a product: for each element what the others make together, also where one of them is zero.
 *
 *   self         2  0  3              moved to one axis behind the others, [kept axes, elements]
 *   before       1  2  0              products of those in front of it
 *   behind       0  3  1              products of those behind it
 *   gradient     grad * before * behind
 */
#include "base/dtype.h"
#include "ir/composite/composite.h"
#include "ir/composite/support.h"
#include "ir/derivative.gen.h"
#include "ir/op.gen.h"

/* Products of the elements in front of each along the last axis, or (reversed) behind it. */
static laze_status record_products(laze_recorder *recorder, laze_value self, bool behind, laze_value *out,
                                   laze_error *error) {
  const laze_type type = *laze_recorder_type(recorder, self);
  const int last = type.rank - 1;
  const laze_size axis = last;
  const laze_attribute dims = laze_attribute_integers(&axis, 1);
  laze_value shifted, *parts = (laze_value[2]){0};
  laze_size sizes[LAZE_MAX_RANK];
  for (int i = 0; i < type.rank; i++) sizes[i] = i == last ? 1 : type.sizes[i];
  if (behind) LAZE_TRY(laze_record_call(recorder, LAZE_OP_FLIP, &self, 1, &dims, &self, error));
  LAZE_TRY(
      laze_compose_full(recorder, (laze_dtype)type.dtype, laze_scalar_integer(1), sizes, type.rank, &parts[0], error));
  parts[1] = self;
  const laze_attribute along = laze_attribute_integer(last);
  LAZE_TRY(laze_record_call(recorder, LAZE_OP_CAT, parts, 2, &along, &shifted, error));
  LAZE_TRY(laze_compose_slice(recorder, shifted, last, 0, type.sizes[last], &shifted, error)); /* also of no element */
  const laze_attribute attributes[] = {along, laze_attribute_absent(LAZE_ARGUMENT_DTYPE)};
  LAZE_TRY(laze_record_call(recorder, LAZE_OP_CUMPROD, &shifted, 1, attributes, out, error));
  return behind ? laze_record_call(recorder, LAZE_OP_FLIP, out, 1, &dims, out, error) : LAZE_OK;
}

/* Which axes are reduced, and the order that has them behind the others. */
static laze_status order_axes(laze_recorder *recorder, const laze_call *call, int rank, laze_size *order, int *kept,
                              laze_error *error) {
  const laze_attribute *dims = &call->attributes[LAZE_PROD_DIMS_DIM];
  bool reduced[LAZE_MAX_RANK];
  int axis, count = 0;
  for (int i = 0; i < rank; i++) reduced[i] = !dims->present || dims->count == 0;
  for (int i = 0; i < dims->count; i++) {
    LAZE_TRY(laze_compose_axis(recorder, call, dims->value.items[i], rank, &axis, error));
    if (rank > 0) reduced[axis] = true;
  }
  for (int i = 0; i < rank; i++)
    if (!reduced[i]) order[count++] = i;
  *kept = count;
  for (int i = 0; i < rank; i++)
    if (reduced[i]) order[count++] = i;
  return LAZE_OK;
}

laze_status laze_gradient_prod_dims_self(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                         laze_error *error) {
  const laze_value result = laze_call_operand(call, 1), gradient = laze_call_operand(call, 2);
  laze_value self = laze_call_operand(call, 0), before, behind, whole;
  const laze_dtype dtype = laze_recorder_type(recorder, result)->dtype;
  LAZE_TRY(laze_compose_to(recorder, self, dtype, &self, error));
  const laze_type type = *laze_recorder_type(recorder, self);
  laze_size order[LAZE_MAX_RANK], back[LAZE_MAX_RANK], rows[LAZE_MAX_RANK], moved[LAZE_MAX_RANK];
  int kept;
  LAZE_TRY(order_axes(recorder, call, type.rank, order, &kept, error));
  for (int i = 0; i < type.rank; i++) {
    back[order[i]] = i;
    moved[i] = type.sizes[order[i]];
    rows[i] = moved[i];
  }
  LAZE_TRY(laze_size_product(recorder->sizes, moved + kept, type.rank - kept, &rows[kept], error));
  LAZE_TRY(laze_compose_permute(recorder, self, order, type.rank, &self, error));
  LAZE_TRY(laze_compose_reshape(recorder, self, rows, kept + 1, &self, error));
  LAZE_TRY(record_products(recorder, self, false, &before, error));
  LAZE_TRY(record_products(recorder, self, true, &behind, error));
  LAZE_TRY(laze_compose_binary(recorder, LAZE_OP_MUL, before, behind, &whole, error));
  LAZE_TRY(laze_compose_unary(recorder, LAZE_OP_CONJ, whole, &whole, error));
  LAZE_TRY(laze_compose_reshape(recorder, whole, moved, type.rank, &whole, error));
  LAZE_TRY(laze_compose_permute(recorder, whole, back, type.rank, &whole, error));
  const laze_attribute attributes[] = {call->attributes[LAZE_PROD_DIMS_DIM], call->attributes[LAZE_PROD_DIMS_KEEPDIM],
                                       laze_attribute_sizes(type.sizes, type.rank)};
  LAZE_TRY(laze_record_call(recorder, LAZE_OP__UNREDUCE, &gradient, 1, attributes, results, error));
  return laze_compose_binary(recorder, LAZE_OP_MUL, *results, whole, results, error);
}
