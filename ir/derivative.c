/* What the formulas of all operators have in common: their gradients are made to fit what they are gradients of. */
#include "ir/derivative.h"

#include "base/dtype.h"
#include "ir/composite/composite.h"
#include "ir/composite/support.h"
#include "ir/op.gen.h"

const laze_derivative laze_derivative_none = {.differentiable = 0};

enum { MOST_OPERANDS = 64 };

/* What moves elements, or adds up products in f32 as it is, needs no more digits. */
static bool computes(const laze_op_info *info) {
  return !info->keeps_dtype && (info->op_class == LAZE_CLASS_ELEMENTWISE || info->op_class == LAZE_CLASS_REDUCTION ||
                                info->op_class == LAZE_CLASS_SCAN || info->op_class == LAZE_CLASS_COMPOSITE);
}

/* Whether the formula reads the values of a segment of its call: of operands, of results, or gradients of these. */
static bool reads(const laze_gradient_formula *formula, const laze_op_info *info, int32_t segment) {
  if (segment < info->segment_count) return formula->operands >> segment & 1;
  if (segment < info->segment_count + info->result_count)
    return formula->results >> (segment - info->segment_count) & 1;
  return true;
}

laze_status laze_gradient_record(laze_recorder *recorder, const laze_gradient_formula *formula, const laze_call *call,
                                 laze_value *results, laze_error *error) {
  const laze_op_info *info = laze_op_get(call->op);
  laze_value operands[MOST_OPERANDS];
  laze_call wide = *call;
  if (!computes(info) || call->operand_count > MOST_OPERANDS) return formula->record(recorder, call, results, error);
  int32_t next = 0;
  for (int32_t segment = 0; segment < info->segment_count + 2 * info->result_count; segment++) {
    for (int32_t i = 0; i < call->segments[segment]; i++, next++) {
      operands[next] = call->operands[next];
      if (reads(formula, info, segment) && !laze_value_is_none(operands[next]) &&
          laze_dtype_is_half((laze_dtype)laze_recorder_type(recorder, operands[next])->dtype))
        LAZE_TRY(laze_compose_to(recorder, operands[next], LAZE_F32, &operands[next], error));
    }
  }
  wide.operands = operands;
  return formula->record(recorder, &wide, results, error);
}

/* Whether a gradient has the sizes of the value already, as far as is known. */
static laze_status has_sizes(laze_recorder *recorder, const laze_type *gradient, const laze_type *type, bool *out,
                             laze_error *error) {
  *out = gradient->rank == type->rank;
  for (int i = 0; *out && i < type->rank; i++)
    LAZE_TRY(laze_size_is_equal(recorder, gradient->sizes[i], type->sizes[i], out, error));
  return LAZE_OK;
}

laze_status laze_gradient_fit(laze_recorder *recorder, laze_value gradient, const laze_type *type, laze_value *out,
                              laze_error *error) {
  const laze_type given = *laze_recorder_type(recorder, gradient);
  bool fits;
  *out = gradient;
  LAZE_TRY(has_sizes(recorder, &given, type, &fits, error));
  if (!fits) {
    const laze_attribute size = laze_attribute_sizes(type->sizes, type->rank);
    LAZE_TRY(laze_record_call(recorder, LAZE_OP_SUM_TO_SIZE, out, 1, &size, out, error));
  }
  if (laze_dtype_is_complex(given.dtype) && !laze_dtype_is_complex(type->dtype))
    LAZE_TRY(laze_compose_unary(recorder, LAZE_OP_REAL, *out, out, error));
  if (laze_recorder_type(recorder, *out)->dtype == type->dtype) return LAZE_OK;
  return laze_compose_to(recorder, *out, type->dtype, out, error);
}
