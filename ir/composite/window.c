/* Windows of the last axes, padding, and windows as columns. */
#include "ir/composite/window.h"

#include "ir/composite.gen.h"
#include "ir/composite/support.h"
#include "ir/op.gen.h"

static laze_status fail_item(const laze_call *call, const char *name, laze_size item, int64_t least,
                             laze_error *error) {
  if (!laze_size_is_constant(item))
    return laze_fail(error, LAZE_UNSUPPORTED,
                     "%s: %s holds a size that is not known when the call is made; pass numbers",
                     laze_compose_name(call), name);
  return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: %s holds %lld, expected %lld to %d", laze_compose_name(call),
                   name, (long long)item, (long long)least, INT32_MAX);
}

laze_status laze_windows_read(const laze_call *call, const char *name, int dims, int64_t least, int64_t *out,
                              laze_error *error) {
  const laze_argument_info *argument = laze_op_argument(laze_op_get(call->op), name);
  if (!argument) return LAZE_OK;
  const laze_attribute *list = &call->attributes[argument->position];
  if (!list->present || list->count == 0) return LAZE_OK;
  if (list->count != 1 && list->count != dims)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: %s has %d numbers, expected %d, or one for all of them",
                     laze_compose_name(call), name, list->count, dims);
  for (int i = 0; i < dims; i++) {
    laze_size item = list->value.items[list->count == 1 ? 0 : i];
    if (!laze_size_is_constant(item) || item < least || item > INT32_MAX)
      return fail_item(call, name, item, least, error);
    out[i] = item;
  }
  return LAZE_OK;
}

/* Cuts off what negative numbers ask for, and makes them 0. */
static laze_status crop(laze_recorder *recorder, laze_value *self, int axis, laze_size around[2], laze_error *error) {
  laze_type type = laze_compose_type(recorder, *self);
  laze_size bounds[2] = {0, type.sizes[axis]};
  bool cut[2], fits;
  for (int side = 0; side < 2; side++) {
    LAZE_TRY(laze_size_may_be_at_most(recorder, around[side], -1, &cut[side], error));
    if (!cut[side]) continue;
    LAZE_TRY(laze_size_arithmetic(recorder, side == 0 ? '-' : '+', bounds[side], around[side], &bounds[side], error));
    around[side] = 0;
  }
  if (!cut[0] && !cut[1]) return LAZE_OK;
  LAZE_TRY(laze_size_must_be_at_most(recorder, bounds[0], bounds[1], &fits, error));
  const laze_inference inference = {recorder->sizes, laze_op_get(recorder->origin)->name, error};
  if (!fits)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: dim %d of %s has fewer elements than padding below 0 cuts off",
                     inference.operator_name, axis, laze_show(&inference, &type).text);
  return laze_compose_slice(recorder, *self, axis, bounds[0], bounds[1], self, error);
}

laze_status laze_compose_pad(laze_recorder *recorder, laze_value self, laze_value value, int axis,
                             const laze_size around[2], laze_value *out, laze_error *error) {
  laze_size left[2] = {around[0], around[1]};
  LAZE_TRY(crop(recorder, &self, axis, left, error));
  *out = self;
  if (left[0] == 0 && left[1] == 0) return LAZE_OK;
  laze_attribute attributes[] = {laze_attribute_integer(axis), laze_attribute_size(left[0]),
                                 laze_attribute_size(left[1])};
  return laze_record_call(recorder, LAZE_OP__PAD, (laze_value[]){self, value}, 2, attributes, out, error);
}

/* How many windows there are where those count that end behind the padding: as many as begin before it, of those that
 * are covered with further padding. */
static laze_status keep_begun(laze_recorder *recorder, const laze_windows *windows, int dim, laze_size size, int axis,
                              laze_value *value, laze_error *error) {
  laze_size most, count = laze_recorder_type(recorder, *value)->sizes[axis];
  LAZE_TRY(laze_size_arithmetic(recorder, '+', size, windows->low[dim], &most, error));
  LAZE_TRY(laze_size_binary(recorder->sizes, LAZE_SIZE_CEIL_DIV, most, windows->stride[dim], &most, error));
  LAZE_TRY(laze_size_binary(recorder->sizes, LAZE_SIZE_MIN, most, count, &most, error));
  return most == count ? LAZE_OK : laze_compose_slice(recorder, *value, axis, 0, most, value, error);
}

laze_status laze_compose_windows(laze_recorder *recorder, const laze_windows *windows, laze_value self,
                                 const laze_value values[2], laze_value *out, laze_error *error) {
  laze_type type = laze_compose_type(recorder, self);
  int first = type.rank - windows->dims;
  *out = self;
  bool together = windows->up && laze_value_equal(values[0], values[1]);
  for (int i = 0; i < windows->dims; i++) {
    laze_size around[2] = {windows->low[i], windows->high[i] + (together ? windows->stride[i] - 1 : 0)};
    LAZE_TRY(laze_compose_pad(recorder, *out, values[0], first + i, around, out, error));
  }
  /* Last, so that what lies behind one axis is that beside the padding of another, too. */
  for (int i = 0; i < windows->dims && windows->up && !together; i++) {
    laze_size behind[2] = {0, windows->stride[i] - 1};
    LAZE_TRY(laze_compose_pad(recorder, *out, values[1], first + i, behind, out, error));
  }
  for (int i = windows->dims; i-- > 0;) {
    laze_attribute attributes[] = {laze_attribute_integer(first + i), laze_attribute_integer(windows->size[i]),
                                   laze_attribute_integer(windows->stride[i]),
                                   laze_attribute_integer(windows->dilation[i])};
    LAZE_TRY(laze_record_call(recorder, LAZE_OP__WINDOW, out, 1, attributes, out, error));
    if (windows->up) LAZE_TRY(keep_begun(recorder, windows, i, type.sizes[first + i], first + i + 1, out, error));
  }
  return LAZE_OK;
}

void laze_windows_places(const laze_windows *windows, int rank, laze_size *axes) {
  for (int i = 0; i < windows->dims; i++) axes[i] = rank - 2 * (windows->dims - i);
}

laze_status laze_compose_bilinear(laze_recorder *recorder, laze_bilinear product, laze_value a, laze_value b,
                                  laze_value *out, laze_error *error) {
  laze_value parts[2][2], products[2][2], made[2];
  if (!laze_dtype_is_complex((laze_dtype)laze_compose_type(recorder, a).dtype))
    return product.multiply(product.self, a, b, out);
  for (int i = 0; i < 2; i++) {
    LAZE_TRY(laze_compose_unary(recorder, i == 0 ? LAZE_OP_REAL : LAZE_OP_IMAG, a, &parts[0][i], error));
    LAZE_TRY(laze_compose_unary(recorder, i == 0 ? LAZE_OP_REAL : LAZE_OP_IMAG, b, &parts[1][i], error));
  }
  for (int i = 0; i < 2; i++)
    for (int j = 0; j < 2; j++) LAZE_TRY(product.multiply(product.self, parts[0][i], parts[1][j], &products[i][j]));
  LAZE_TRY(laze_compose_binary(recorder, LAZE_OP_SUB, products[0][0], products[1][1], &made[0], error));
  LAZE_TRY(laze_compose_binary(recorder, LAZE_OP_ADD, products[0][1], products[1][0], &made[1], error));
  return laze_compose_binary(recorder, LAZE_OP_COMPLEX, made[0], made[1], out, error);
}

bool laze_windows_are_thin(laze_size channels, laze_size results) {
  enum {
    FEW = 8
  }; /* rows of a tile and a bit; 4 by 4 in 32 groups took 1.4 times as long by products, and 64 to 2 1.3 */
  const bool few[2] = {laze_size_is_constant(channels) && channels < FEW,
                       laze_size_is_constant(results) && results < FEW};
  return channels == 1 || results == 1 || results == 2 || (few[0] && few[1]);
}

laze_status laze_composite_constant_pad_nd(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                           laze_error *error) {
  laze_type type = laze_compose_type(recorder, call->operands[0]);
  const laze_attribute *pad = &call->attributes[LAZE_CONSTANT_PAD_ND_PAD];
  laze_value value = laze_call_operand(call, 1);
  if (pad->count % 2 != 0 || pad->count / 2 > type.rank)
    return laze_fail(error, LAZE_INVALID_ARGUMENT,
                     "constant_pad_nd: pad has %d numbers for %d dims, expected two for each of some of the last dims",
                     pad->count, type.rank);
  if (laze_value_is_none(value))
    LAZE_TRY(laze_record_number(recorder, type.dtype, laze_scalar_integer(0), &value, error));
  LAZE_TRY(laze_compose_to(recorder, value, type.dtype, &value, error));
  *results = call->operands[0];
  for (int i = 0; i < pad->count / 2; i++)
    LAZE_TRY(laze_compose_pad(recorder, *results, value, type.rank - 1 - i, &pad->value.items[2 * i], results, error));
  return LAZE_OK;
}

/* [n, c, h, w] ──> [n, c, k0, o0, k1, o1] ──> [n, c * k0 * k1, o0 * o1], or without n. */
laze_status laze_composite_im2col(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                  laze_error *error) {
  laze_type type = laze_compose_type(recorder, call->operands[0]);
  laze_windows windows = {.dims = 2};
  laze_value zero;
  if (type.rank != 3 && type.rank != 4)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "im2col: self has %d dims, expected 3 or 4", type.rank);
  LAZE_TRY(laze_windows_read(call, "kernel_size", 2, 1, windows.size, error));
  LAZE_TRY(laze_windows_read(call, "stride", 2, 1, windows.stride, error));
  LAZE_TRY(laze_windows_read(call, "dilation", 2, 1, windows.dilation, error));
  LAZE_TRY(laze_windows_read(call, "padding", 2, 0, windows.low, error));
  for (int i = 0; i < 2; i++) windows.high[i] = windows.low[i];
  LAZE_TRY(laze_record_number(recorder, type.dtype, laze_scalar_integer(0), &zero, error));
  LAZE_TRY(laze_compose_windows(recorder, &windows, call->operands[0], (laze_value[]){zero, zero}, results, error));
  int first = type.rank - 2;
  laze_size axes[6], sizes[3];
  for (int i = 0; i < first; i++) axes[i] = i;
  for (int i = 0; i < 2; i++) {
    axes[first + i] = first + 2 * i;
    axes[first + 2 + i] = first + 2 * i + 1;
  }
  LAZE_TRY(laze_compose_permute(recorder, *results, axes, first + 4, results, error));
  laze_type moved = laze_compose_type(recorder, *results);
  sizes[0] = moved.sizes[0];
  LAZE_TRY(laze_size_product(recorder->sizes, moved.sizes + first - 1, 3, &sizes[first - 1], error));
  LAZE_TRY(laze_size_product(recorder->sizes, moved.sizes + first + 2, 2, &sizes[first], error));
  return laze_compose_reshape(recorder, *results, sizes, first + 1, results, error);
}
