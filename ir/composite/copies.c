/* What PyTorch does to memory, as values: copies and other shapes of the same elements, and what is known of a layout,
 * which here is always that of elements in order. */
#include "ir/composite/composite.h"

#include "ir/composite.gen.h"
#include "ir/composite/support.h"
#include "ir/op.gen.h"

laze_status laze_composite_copy(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                laze_error *error) {
  const laze_type type = laze_compose_type(recorder, call->operands[0]);
  LAZE_TRY(laze_compose_to(recorder, call->operands[1], (laze_dtype)type.dtype, results, error));
  return laze_compose_expand(recorder, *results, type.sizes, type.rank, results, error);
}

laze_status laze_composite__to_copy(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                    laze_error *error) {
  const laze_attribute *dtype = &call->attributes[LAZE__TO_COPY_DTYPE];
  *results = call->operands[0];
  return dtype->present ? laze_compose_to(recorder, *results, (laze_dtype)dtype->value.integer, results, error)
                        : LAZE_OK;
}

/* The number of elements of a value. */
static laze_status count_elements(laze_recorder *recorder, laze_value value, laze_size *out, laze_error *error) {
  const laze_type type = laze_compose_type(recorder, value);
  return laze_size_product(recorder->sizes, type.sizes, type.rank, out, error);
}

laze_status laze_composite__local_scalar_dense(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                               laze_error *error) {
  const laze_type type = laze_compose_type(recorder, call->operands[0]);
  const laze_inference inference = {recorder->sizes, laze_compose_name(call), error};
  laze_size elements;
  bool one;
  LAZE_TRY(count_elements(recorder, call->operands[0], &elements, error));
  LAZE_TRY(laze_size_must_equal(recorder, elements, 1, &one, error));
  if (!one)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: self is %s, expected one element", inference.operator_name,
                     laze_show(&inference, &type).text);
  return laze_compose_reshape(recorder, call->operands[0], NULL, 0, results, error);
}

static laze_status check_sizes(laze_recorder *recorder, const laze_call *call, const laze_attribute *size,
                               laze_error *error) {
  for (int32_t i = 0; i < size->count; i++) {
    bool fits;
    LAZE_TRY(laze_size_must_be_at_most(recorder, 0, size->value.items[i], &fits, error));
    if (!fits)
      return laze_fail(error, LAZE_OUT_OF_RANGE, "%s: axis %d has a negative size; sizes are 0 to 2^62",
                       laze_compose_name(call), (int)i);
  }
  return LAZE_OK;
}

/* [.., ..] as a list, zeros behind it or its end cut off, in the other shape. */
laze_status laze_composite_resize_(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                   laze_error *error) {
  const laze_attribute *size = &call->attributes[LAZE_RESIZE__SIZE];
  const laze_dtype dtype = (laze_dtype)laze_recorder_type(recorder, call->operands[0])->dtype;
  laze_size elements, wanted, kept, missing;
  laze_value zero;
  LAZE_TRY(check_sizes(recorder, call, size, error));
  LAZE_TRY(count_elements(recorder, call->operands[0], &elements, error));
  LAZE_TRY(laze_size_product(recorder->sizes, size->value.items, size->count, &wanted, error));
  LAZE_TRY(laze_size_binary(recorder->sizes, LAZE_SIZE_MIN, elements, wanted, &kept, error));
  LAZE_TRY(laze_size_arithmetic(recorder, '-', wanted, kept, &missing, error));
  LAZE_TRY(laze_compose_reshape(recorder, call->operands[0], &elements, 1, results, error));
  LAZE_TRY(laze_compose_slice(recorder, *results, 0, 0, kept, results, error));
  if (missing != 0) {
    laze_attribute attributes[] = {laze_attribute_integer(0), laze_attribute_size(0), laze_attribute_size(missing)};
    LAZE_TRY(laze_record_number(recorder, dtype, laze_scalar_integer(0), &zero, error));
    LAZE_TRY(laze_record_call(recorder, LAZE_OP__PAD, (laze_value[]){*results, zero}, 2, attributes, results, error));
  }
  return laze_compose_reshape(recorder, *results, size->value.items, size->count, results, error);
}

laze_status laze_composite_sym_size_int(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                        laze_error *error) {
  laze_size size;
  LAZE_TRY(laze_value_size(recorder, call, call->operands[0], call->attributes[LAZE_SYM_SIZE_INT_DIM].value.integer,
                           &size, error));
  return laze_compose_size(recorder, size, results, error);
}

laze_status laze_composite_sym_stride_int(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                          laze_error *error) {
  const laze_type type = laze_compose_type(recorder, call->operands[0]);
  laze_size size;
  int axis;
  LAZE_TRY(laze_value_size(recorder, call, call->operands[0], call->attributes[LAZE_SYM_STRIDE_INT_DIM].value.integer,
                           &size, error));
  LAZE_TRY(laze_compose_axis(recorder, call, call->attributes[LAZE_SYM_STRIDE_INT_DIM].value.integer, type.rank, &axis,
                             error));
  LAZE_TRY(laze_size_product(recorder->sizes, type.sizes + axis + 1, type.rank - axis - 1, &size, error));
  return laze_compose_size(recorder, size, results, error);
}

laze_status laze_composite_sym_numel(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                     laze_error *error) {
  laze_size elements;
  LAZE_TRY(count_elements(recorder, call->operands[0], &elements, error));
  return laze_compose_size(recorder, elements, results, error);
}

laze_status laze_composite_sym_storage_offset(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                              laze_error *error) {
  (void)call;
  return laze_record_number(recorder, LAZE_I64, laze_scalar_integer(0), results, error);
}

laze_status laze_composite_sym_is_contiguous(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                             laze_error *error) {
  (void)call;
  return laze_record_number(recorder, LAZE_BOOL, laze_scalar_integer(1), results, error);
}
