/* What the formulas of all operators have in common: their gradients are made to fit what they are gradients of. */
#include "ir/derivative.h"

#include "base/dtype.h"
#include "ir/composite/composite.h"
#include "ir/composite/support.h"
#include "ir/op.gen.h"

const laze_derivative laze_derivative_none = {.differentiable = 0};

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
