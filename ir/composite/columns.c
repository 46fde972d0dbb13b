/* Columns of windows put back to where they came from: the opposite of im2col.
 *
 *   [n, c * k * k, windows]    each element is added at its place in the padded image, whose padding is cut off
 */
#include "ir/composite/composite.h"

#include "ir/composite.gen.h"
#include "ir/composite/support.h"
#include "ir/composite/window.h"
#include "ir/op.gen.h"

typedef struct {
  int64_t size[2], dilation[2], padding[2], stride[2];
  laze_size output[2], windows[2], padded[2];
} columns;

/* The windows along dim i, which lie within the padded output. */
static laze_status count_windows(laze_recorder *recorder, const laze_call *call, columns *c, int i, laze_error *error) {
  const int64_t span = (c->size[i] - 1) * c->dilation[i] + 1;
  laze_size rest;
  bool fits;
  LAZE_TRY(laze_size_arithmetic(recorder, '+', c->output[i], 2 * c->padding[i], &c->padded[i], error));
  LAZE_TRY(laze_size_arithmetic(recorder, '-', c->padded[i], span, &rest, error));
  LAZE_TRY(laze_size_must_be_at_most(recorder, 0, rest, &fits, error));
  if (!fits)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: dim %d of the output with its padding is smaller than a window",
                     laze_compose_name(call), i);
  LAZE_TRY(laze_size_arithmetic(recorder, '/', rest, c->stride[i], &rest, error));
  return laze_size_arithmetic(recorder, '+', rest, 1, &c->windows[i], error);
}

/* i64 with the place in the padded image of each element, [size, size, windows, windows]. */
static laze_status find_places(laze_recorder *recorder, const columns *c, laze_value *out, laze_error *error) {
  const laze_size sizes[4] = {c->size[0], c->size[1], c->windows[0], c->windows[1]};
  laze_size elements;
  for (int i = 0; i < 4; i++) {
    const int dim = i % 2;
    laze_value along, distance;
    laze_size apart = i < 2 ? c->dilation[dim] : c->stride[dim];
    if (dim == 0) LAZE_TRY(laze_size_arithmetic(recorder, '*', apart, c->padded[1], &apart, error));
    LAZE_TRY(laze_compose_iota(recorder, sizes, 4, i, LAZE_I64, &along, error));
    LAZE_TRY(laze_compose_size(recorder, apart, &distance, error));
    LAZE_TRY(laze_compose_binary(recorder, LAZE_OP_MUL, along, distance, &along, error));
    *out = i == 0 ? along : *out;
    if (i > 0) LAZE_TRY(laze_compose_binary(recorder, LAZE_OP_ADD, *out, along, out, error));
  }
  LAZE_TRY(laze_size_product(recorder->sizes, sizes, 4, &elements, error));
  return laze_compose_reshape(recorder, *out, &elements, 1, out, error);
}

static laze_status read_columns(laze_recorder *recorder, const laze_call *call, columns *c, laze_error *error) {
  const laze_attribute *output = &call->attributes[LAZE_COL2IM_OUTPUT_SIZE];
  LAZE_TRY(laze_windows_read(call, "kernel_size", 2, 1, c->size, error));
  LAZE_TRY(laze_windows_read(call, "dilation", 2, 1, c->dilation, error));
  LAZE_TRY(laze_windows_read(call, "padding", 2, 0, c->padding, error));
  LAZE_TRY(laze_windows_read(call, "stride", 2, 1, c->stride, error));
  if (output->count != 2)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: output_size has %d numbers, expected 2",
                     laze_compose_name(call), output->count);
  for (int i = 0; i < 2; i++) {
    c->output[i] = output->value.items[i];
    LAZE_TRY(count_windows(recorder, call, c, i, error));
  }
  return LAZE_OK;
}

/* [n, c * size * size, windows * windows], or without n, to [n * c, elements of a window in all windows]. */
static laze_status flatten_columns(laze_recorder *recorder, const laze_call *call, const columns *c, laze_type *type,
                                   laze_value *out, laze_error *error) {
  laze_size sizes[2], rest, windows;
  bool fits = type->rank == 2 || type->rank == 3, equal = false;
  const int channel = type->rank - 2;
  if (fits) {
    LAZE_TRY(laze_size_product(recorder->sizes, c->windows, 2, &windows, error));
    LAZE_TRY(laze_size_must_equal(recorder, windows, type->sizes[channel + 1], &equal, error));
    LAZE_TRY(
        laze_size_binary(recorder->sizes, LAZE_SIZE_MOD, type->sizes[channel], c->size[0] * c->size[1], &rest, error));
    LAZE_TRY(laze_size_must_equal(recorder, rest, 0, &fits, error));
  }
  const laze_inference inference = {recorder->sizes, laze_compose_name(call), error};
  if (!fits || !equal)
    return laze_fail(error, LAZE_INVALID_ARGUMENT,
                     "%s: %s does not hold the windows that the output has; im2col gives them", inference.operator_name,
                     laze_show(&inference, type).text);
  LAZE_TRY(
      laze_size_arithmetic(recorder, '/', type->sizes[channel], c->size[0] * c->size[1], &type->sizes[channel], error));
  LAZE_TRY(laze_size_product(recorder->sizes, type->sizes, channel + 1, &sizes[0], error));
  LAZE_TRY(laze_size_arithmetic(recorder, '*', windows, c->size[0] * c->size[1], &sizes[1], error));
  return laze_compose_reshape(recorder, call->operands[0], sizes, 2, out, error);
}

laze_status laze_composite_col2im(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                  laze_error *error) {
  laze_type type = laze_compose_type(recorder, call->operands[0]);
  laze_attribute add[] = {laze_attribute_integer(1), laze_attribute_string("sum")};
  laze_value operands[3];
  columns c = {0};
  LAZE_TRY(read_columns(recorder, call, &c, error));
  LAZE_TRY(flatten_columns(recorder, call, &c, &type, &operands[2], error));
  LAZE_TRY(find_places(recorder, &c, &operands[1], error));
  laze_size image[2] = {laze_compose_type(recorder, operands[2]).sizes[0], 0};
  LAZE_TRY(laze_size_product(recorder->sizes, c.padded, 2, &image[1], error));
  LAZE_TRY(laze_record_number(recorder, (laze_dtype)type.dtype, laze_scalar_integer(0), &operands[0], error));
  LAZE_TRY(laze_compose_expand(recorder, operands[0], image, 2, &operands[0], error));
  LAZE_TRY(laze_record_call(recorder, LAZE_OP__INDEX_UPDATE, operands, 3, add, results, error));
  const int first = type.rank - 1;
  for (int i = 0; i < 2; i++) type.sizes[first + i] = c.padded[i];
  type.rank = (uint8_t)(first + 2);
  LAZE_TRY(laze_compose_reshape(recorder, *results, type.sizes, type.rank, results, error));
  for (int i = 0; i < 2; i++) {
    laze_size end;
    LAZE_TRY(laze_size_arithmetic(recorder, '+', c.output[i], c.padding[i], &end, error));
    LAZE_TRY(laze_compose_slice(recorder, *results, first + i, c.padding[i], end, results, error));
  }
  return LAZE_OK;
}
