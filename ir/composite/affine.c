/* The grid of an affine map: for each place of an image, where the map takes it.
 *
 *   theta [n, 2, 3]   size [n, c, h, w]     [n, h, w, 2] = x * theta[.., 0] + y * theta[.., 1] + theta[.., 2]
 *
 * x and y go from -1 to 1, through the middles of the first and last elements (align_corners) or their outer edges. */
#include "ir/composite/window.h"

#include "ir/composite.gen.h"
#include "ir/composite/support.h"
#include "ir/op.gen.h"

typedef struct {
  laze_recorder *recorder;
  laze_value theta;
  laze_dtype dtype;
  const laze_size *size; /* of the image: n, c, and `dims` more */
  int dims;
  laze_error *error;
} affine;

/* Places along an axis of the image: (2i + 1 - count) / count, or with align_corners (2i + 1 - count) / (count - 1). */
static laze_status find_places(const affine *a, int dim, bool align, laze_value *out) {
  const laze_size size = a->size[2 + dim];
  laze_size shape[LAZE_MAX_WINDOW_DIMS + 2], less;
  laze_value divisor, offset;
  bool one = false;
  LAZE_TRY(laze_size_arithmetic(a->recorder, '-', size, 1, &less, a->error));
  if (align) LAZE_TRY(laze_size_may_equal(a->recorder, size, 1, &one, a->error));
  LAZE_TRY(laze_compose_size(a->recorder, less, &offset, a->error));
  LAZE_TRY(laze_compose_size(a->recorder, align && !one ? less : size, &divisor, a->error));
  LAZE_TRY(laze_compose_to(a->recorder, divisor, a->dtype, &divisor, a->error));
  LAZE_TRY(laze_compose_iota(a->recorder, &size, 1, 0, LAZE_I64, out, a->error));
  LAZE_TRY(laze_compose_with_number(a->recorder, LAZE_OP_MUL, *out, laze_scalar_integer(2), out, a->error));
  LAZE_TRY(laze_compose_binary(a->recorder, LAZE_OP_SUB, *out, offset, out, a->error));
  LAZE_TRY(laze_compose_to(a->recorder, *out, a->dtype, out, a->error));
  LAZE_TRY(laze_compose_binary(a->recorder, LAZE_OP_DIV, *out, divisor, out, a->error));
  for (int i = 0; i < a->dims + 1; i++) shape[i] = i == dim ? size : 1;
  return laze_compose_reshape(a->recorder, *out, shape, a->dims + 1, out, a->error);
}

/* Column `number` of theta, [n, 1, .., 1, dims]. */
static laze_status column(const affine *a, int number, laze_value *out) {
  laze_size shape[LAZE_MAX_WINDOW_DIMS + 2] = {a->size[0]};
  for (int i = 0; i < a->dims; i++) shape[1 + i] = 1;
  shape[1 + a->dims] = a->dims;
  LAZE_TRY(laze_compose_slice(a->recorder, a->theta, 2, number, number + 1, out, a->error));
  return laze_compose_reshape(a->recorder, *out, shape, a->dims + 2, out, a->error);
}

static laze_status map_places(const affine *a, bool align, laze_value *out) {
  laze_size shape[LAZE_MAX_WINDOW_DIMS + 2] = {a->size[0]};
  LAZE_TRY(column(a, a->dims, out));
  for (int dim = 0; dim < a->dims; dim++) {
    laze_value places, factor;
    LAZE_TRY(find_places(a, dim, align, &places));
    LAZE_TRY(column(a, a->dims - 1 - dim, &factor));
    LAZE_TRY(laze_compose_binary(a->recorder, LAZE_OP_MUL, places, factor, &places, a->error));
    LAZE_TRY(laze_compose_binary(a->recorder, LAZE_OP_ADD, *out, places, out, a->error));
    shape[1 + dim] = a->size[2 + dim];
  }
  shape[1 + a->dims] = a->dims;
  return laze_compose_expand(a->recorder, *out, shape, a->dims + 2, out, a->error);
}

laze_status laze_composite_affine_grid_generator(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                                 laze_error *error) {
  const laze_attribute *size = &call->attributes[LAZE_AFFINE_GRID_GENERATOR_SIZE];
  const bool align = call->attributes[LAZE_AFFINE_GRID_GENERATOR_ALIGN_CORNERS].value.integer != 0;
  const laze_type theta = laze_compose_type(recorder, call->operands[0]);
  const laze_inference inference = {recorder->sizes, laze_compose_name(call), error};
  affine a = {recorder, call->operands[0], (laze_dtype)theta.dtype, size->value.items, size->count - 2, error};
  bool fits = (a.dims == 2 || a.dims == 3) && theta.rank == 3 && laze_dtype_is_float(a.dtype);
  const laze_size expected[] = {fits ? a.size[0] : 0, a.dims, a.dims + 1};
  for (int i = 0; i < 3 && fits; i++)
    LAZE_TRY(laze_size_must_equal(recorder, theta.sizes[i], expected[i], &fits, error));
  for (int i = 2; i < size->count && fits; i++)
    LAZE_TRY(laze_size_must_be_at_most(recorder, 1, a.size[i], &fits, error));
  if (fits) return map_places(&a, align, results);
  return laze_fail(error, LAZE_INVALID_ARGUMENT,
                   "%s: theta is %s for %d sizes; expected floats [n, 2, 3] for the sizes n, c, h, w, or [n, 3, 4] for "
                   "those of a volume",
                   inference.operator_name, laze_show(&inference, &theta).text, size->count);
}
