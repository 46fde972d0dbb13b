/* Channels and elements of images swapped, by views of both as several dims:
 *
 *   pixel_shuffle by 2    [n, 4 c, h, w]   as [n, c, 2, 2, h, w]   to [n, c, h, 2, w, 2]   as [n, c, 2 h, 2 w]
 *   channel_shuffle by g  [n, g k, ...]    as [n, g, k, ...]       to [n, k, g, ...]       as [n, g k, ...]
 */
#include "ir/composite/composite.h"

#include "ir/composite.gen.h"
#include "ir/composite/support.h"
#include "ir/op.gen.h"

static laze_status check_divides(laze_recorder *recorder, const laze_call *call, laze_size divisor, int axis,
                                 laze_size *quotient, laze_error *error) {
  const laze_type type = laze_compose_type(recorder, call->operands[0]);
  const laze_inference inference = {recorder->sizes, laze_compose_name(call), error};
  laze_size rest;
  bool fits;
  LAZE_TRY(laze_size_must_be_at_most(recorder, 1, divisor, &fits, error));
  if (fits) {
    LAZE_TRY(laze_size_binary(recorder->sizes, LAZE_SIZE_MOD, type.sizes[axis], divisor, &rest, error));
    LAZE_TRY(laze_size_must_equal(recorder, rest, 0, &fits, error));
  }
  if (fits) return laze_size_arithmetic(recorder, '/', type.sizes[axis], divisor, quotient, error);
  return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: dim %d of %s is no multiple of %s", inference.operator_name, axis,
                   laze_show(&inference, &type).text, laze_show_size(&inference, divisor).text);
}

laze_status laze_composite_channel_shuffle(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                           laze_error *error) {
  const laze_type type = laze_compose_type(recorder, call->operands[0]);
  const laze_size groups = call->attributes[LAZE_CHANNEL_SHUFFLE_GROUPS].value.size;
  laze_size sizes[4];
  if (type.rank < 3)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: got a tensor of %d dims, expected 3 or more",
                     laze_compose_name(call), type.rank);
  sizes[0] = type.sizes[0];
  sizes[1] = groups;
  LAZE_TRY(check_divides(recorder, call, groups, 1, &sizes[2], error));
  LAZE_TRY(laze_size_product(recorder->sizes, type.sizes + 2, type.rank - 2, &sizes[3], error));
  LAZE_TRY(laze_compose_reshape(recorder, call->operands[0], sizes, 4, results, error));
  LAZE_TRY(laze_compose_swap_axes(recorder, *results, 1, 2, results, error));
  return laze_compose_reshape(recorder, *results, type.sizes, type.rank, results, error);
}

static laze_status check_image(const laze_call *call, const laze_type *type, int64_t factor, laze_error *error) {
  if (type->rank >= 3 && factor >= 1 && factor <= INT32_MAX) return LAZE_OK;
  return laze_fail(error, LAZE_INVALID_ARGUMENT,
                   "%s: a factor of %lld for a tensor of %d dims; expected 1 or more, and 3 dims or more",
                   laze_compose_name(call), (long long)factor, type->rank);
}

/* `sizes` of six dims, the first of which are the others of the tensor; the last three in another order; then `type`.
 */
static laze_status rearrange(laze_recorder *recorder, laze_value value, const laze_size *sizes, const laze_size *order,
                             const laze_type *type, laze_value *out, laze_error *error) {
  LAZE_TRY(laze_compose_reshape(recorder, value, sizes, 6, out, error));
  LAZE_TRY(laze_compose_permute(recorder, *out, order, 6, out, error));
  return laze_compose_reshape(recorder, *out, type->sizes, type->rank, out, error);
}

laze_status laze_composite_pixel_shuffle(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                         laze_error *error) {
  const int64_t factor = call->attributes[LAZE_PIXEL_SHUFFLE_UPSCALE_FACTOR].value.integer;
  laze_type type = laze_compose_type(recorder, call->operands[0]);
  LAZE_TRY(check_image(call, &type, factor, error));
  const int channel = type.rank - 3;
  laze_size *last = type.sizes + channel, sizes[6] = {0, 0, factor, factor, last[1], last[2]};
  LAZE_TRY(laze_size_product(recorder->sizes, type.sizes, channel, &sizes[0], error));
  LAZE_TRY(check_divides(recorder, call, factor * factor, channel, &sizes[1], error));
  last[0] = sizes[1];
  for (int i = 1; i < 3; i++) LAZE_TRY(laze_size_arithmetic(recorder, '*', last[i], factor, &last[i], error));
  return rearrange(recorder, call->operands[0], sizes, (laze_size[]){0, 1, 4, 2, 5, 3}, &type, results, error);
}

laze_status laze_composite_pixel_unshuffle(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                           laze_error *error) {
  const int64_t factor = call->attributes[LAZE_PIXEL_UNSHUFFLE_DOWNSCALE_FACTOR].value.integer;
  laze_type type = laze_compose_type(recorder, call->operands[0]);
  LAZE_TRY(check_image(call, &type, factor, error));
  const int channel = type.rank - 3;
  laze_size *last = type.sizes + channel, sizes[6] = {0, last[0], 0, factor, 0, factor};
  LAZE_TRY(laze_size_product(recorder->sizes, type.sizes, channel, &sizes[0], error));
  for (int i = 1; i < 3; i++) {
    LAZE_TRY(check_divides(recorder, call, factor, channel + i, &sizes[2 * i], error));
    last[i] = sizes[2 * i];
  }
  LAZE_TRY(laze_size_arithmetic(recorder, '*', last[0], factor * factor, &last[0], error));
  return rearrange(recorder, call->operands[0], sizes, (laze_size[]){0, 1, 3, 5, 2, 4}, &type, results, error);
}
