/* Convolution: a product of matrices, of which the second one is windows, and a bias.
 *
 *   input [n, c, h, w]        ── windows ──>   [n, c, k0, o0, k1, o1]   ── reshape ──>   [n, g, c/g * k0 * k1, o0 * o1]
 *   weight [oc, c/g, k0, k1]                                            ── reshape ──>   [   g, oc/g, c/g * k0 * k1]
 *   product                                    [n, g, oc/g, o0 * o1]    ── reshape ──>   [n, oc, o0, o1]
 *
 * g stands for groups, and is left out where there is one. Groups of few channels are summed over windows, times the
 * weight, element by element. The transposed form is the same over an input with zeros between its elements and around
 * them, and places in reverse:
 *
 *   a 0 b 0 c     stride 2: the elements, stride - 1 zeros behind each but the last
 */
#include "ir/composite/window.h"

#include "ir/composite.gen.h"
#include "ir/composite/support.h"
#include "ir/op.gen.h"

#include <stdio.h>
#include <string.h>

typedef struct {
  laze_recorder *recorder;
  const laze_call *call;
  laze_windows windows;
  int64_t groups, further[LAZE_MAX_WINDOW_DIMS]; /* output_padding */
  laze_size channels, results, all_results;      /* of the input and of the result in a group, and of all groups */
  bool transposed, batched;
  laze_value input, weight, bias; /* bias NONE: there is none */
  laze_error *error;
} convolution;

static laze_status multiply_sizes(const convolution *c, laze_size a, laze_size b, laze_size *out) {
  return laze_size_arithmetic(c->recorder, '*', a, b, out, c->error);
}

static laze_status fail_shapes(const convolution *c, const char *expected) {
  const laze_inference inference = {c->recorder->sizes, laze_compose_name(c->call), c->error};
  laze_type input = laze_compose_type(c->recorder, c->input), weight = laze_compose_type(c->recorder, c->weight);
  return laze_fail(c->error, LAZE_INVALID_ARGUMENT, "%s: input is %s and weight %s in %lld groups; %s",
                   inference.operator_name, laze_show(&inference, &input).text, laze_show(&inference, &weight).text,
                   (long long)c->groups, expected);
}

/* Whether a size is `groups` times another, which *out is. */
static laze_status divide_by_groups(const convolution *c, laze_size size, laze_size *out, bool *divides) {
  laze_size whole;
  LAZE_TRY(laze_size_arithmetic(c->recorder, '/', size, c->groups, out, c->error));
  LAZE_TRY(multiply_sizes(c, *out, c->groups, &whole));
  return laze_size_must_equal(c->recorder, whole, size, divides, c->error);
}

/* Numbers, or a word: none, or what keeps sizes, of which an odd element lies behind. */
static laze_status read_padding(convolution *c, const laze_attribute *padding) {
  laze_windows *windows = &c->windows;
  bool is_word = padding->kind == LAZE_ARGUMENT_STRING, same = is_word && strcmp(padding->value.string, "same") == 0;
  if (!is_word) {
    LAZE_TRY(laze_windows_read(c->call, "padding", windows->dims, 0, windows->low, c->error));
    memcpy(windows->high, windows->low, sizeof windows->high);
    return LAZE_OK;
  }
  if (!same && strcmp(padding->value.string, "valid") != 0)
    return laze_fail(c->error, LAZE_INVALID_ARGUMENT, "%s: padding is \"%s\", expected \"valid\" or \"same\"",
                     laze_compose_name(c->call), padding->value.string);
  for (int i = 0; i < windows->dims && same; i++) {
    int64_t all = (windows->size[i] - 1) * windows->dilation[i];
    if (windows->stride[i] != 1)
      return laze_fail(c->error, LAZE_INVALID_ARGUMENT, "%s: padding \"same\" with a stride of %lld, expected 1",
                       laze_compose_name(c->call), (long long)windows->stride[i]);
    windows->low[i] = all / 2;
    windows->high[i] = all - all / 2;
  }
  return LAZE_OK;
}

/* The numbers of the call that are not sizes of its operands. */
static laze_status read_numbers(convolution *c) {
  const laze_op_info *info = laze_op_get(c->call->op);
  laze_windows *windows = &c->windows;
  int dims = windows->dims;
  laze_size groups = c->call->attributes[laze_op_argument(info, "groups")->position].value.size;
  for (int i = 0; i < dims; i++) windows->stride[i] = windows->dilation[i] = 1;
  LAZE_TRY(laze_windows_read(c->call, "stride", dims, 1, windows->stride, c->error));
  LAZE_TRY(laze_windows_read(c->call, "dilation", dims, 1, windows->dilation, c->error));
  LAZE_TRY(read_padding(c, &c->call->attributes[laze_op_argument(info, "padding")->position]));
  LAZE_TRY(laze_windows_read(c->call, "output_padding", dims, 0, c->further, c->error));
  c->groups = groups;
  if (laze_size_is_constant(groups) && groups >= 1 && groups <= INT32_MAX) return LAZE_OK;
  return laze_fail(c->error, LAZE_INVALID_ARGUMENT, "%s: groups must be a known number, 1 or more", info->name);
}

/* Operands, ranks, and the weight's places, which have to be known numbers. */
static laze_status read_operands(convolution *c) {
  laze_type weight, input = laze_compose_type(c->recorder, c->call->operands[0]);
  c->input = c->call->operands[0];
  c->weight = c->call->operands[1];
  c->bias = laze_call_operand(c->call, 2);
  weight = laze_compose_type(c->recorder, c->weight);
  c->windows.dims = weight.rank - 2;
  c->batched = input.rank == weight.rank;
  if (weight.rank < 3 || weight.rank > 2 + LAZE_MAX_WINDOW_DIMS || (!c->batched && input.rank != weight.rank - 1))
    return fail_shapes(c, "expected a weight of 3 to 5 dims, and an input of as many, or one less");
  if (input.dtype != weight.dtype || input.dtype == LAZE_BOOL)
    return fail_shapes(c, "expected equal dtypes, and not bool; convert one with to");
  for (int i = 0; i < c->windows.dims; i++) {
    laze_size size = weight.sizes[2 + i];
    if (!laze_size_is_constant(size) || size < 1 || size > INT32_MAX)
      return fail_shapes(c, "expected known sizes of the weight's places, 1 to 2147483647");
    c->windows.size[i] = size;
  }
  return c->batched ? LAZE_OK : laze_compose_insert_axis(c->recorder, c->input, 0, &c->input, c->error);
}

static laze_status check_dims(const convolution *c, int dims) {
  if (c->windows.dims == dims) return LAZE_OK;
  char expected[96];
  snprintf(expected, sizeof expected, "expected a weight of %d dims, of which two are channels", dims + 2);
  return fail_shapes(c, expected);
}

/* Channels in a group, of the input and of the result: the weight is [oc, c/g, k ...], transposed [c, oc/g, k ...]. */
static laze_status check_channels(convolution *c) {
  const laze_type weight = laze_compose_type(c->recorder, c->weight), input = laze_compose_type(c->recorder, c->input);
  laze_size within, whole;
  bool divides, fits;
  LAZE_TRY(divide_by_groups(c, weight.sizes[0], &within, &divides));
  if (c->transposed && !divides) return fail_shapes(c, "expected the weight's first size to be a multiple of groups");
  LAZE_TRY(divide_by_groups(c, input.sizes[1], &whole, &fits));
  if (!fits) return fail_shapes(c, "expected the input's channels to be a multiple of groups");
  LAZE_TRY(multiply_sizes(c, weight.sizes[1], c->groups, &whole));
  LAZE_TRY(laze_size_must_equal(c->recorder, c->transposed ? weight.sizes[0] : whole, input.sizes[1], &fits, c->error));
  c->channels = c->transposed ? within : weight.sizes[1];
  c->results = c->transposed ? weight.sizes[1] : within;
  c->all_results = c->transposed ? whole : weight.sizes[0];
  if (divides && fits) return LAZE_OK;
  return fail_shapes(c, "expected channels of the input to be those of the weight in each group, and as many channels "
                        "out for each");
}

static laze_status check_bias(const convolution *c) {
  if (laze_value_is_none(c->bias)) return LAZE_OK;
  const laze_type bias = laze_compose_type(c->recorder, c->bias), input = laze_compose_type(c->recorder, c->input);
  bool fits = bias.rank == 1 && bias.dtype == input.dtype;
  if (fits) LAZE_TRY(laze_size_must_equal(c->recorder, bias.sizes[0], c->all_results, &fits, c->error));
  return fits ? LAZE_OK : fail_shapes(c, "expected a bias of one number for each channel out, of the same dtype");
}

/* What of an operand, or a number, does not fit to the others. */
static laze_status check(convolution *c) {
  const laze_windows *windows = &c->windows;
  for (int i = 0; i < windows->dims && c->transposed; i++)
    if (c->further[i] >= windows->stride[i] && c->further[i] >= windows->dilation[i])
      return laze_fail(c->error, LAZE_INVALID_ARGUMENT,
                       "%s: output_padding is %lld, expected less than the stride, %lld, or the dilation, %lld",
                       laze_compose_name(c->call), (long long)c->further[i], (long long)windows->stride[i],
                       (long long)windows->dilation[i]);
  LAZE_TRY(check_channels(c));
  return check_bias(c);
}

/* The transposed form as the plain one */

/* Zeros behind each element of an axis but the last. */
static laze_status spread(const convolution *c, laze_value zero, int axis, int64_t stride, laze_value *value) {
  laze_type type = laze_compose_type(c->recorder, *value);
  laze_size size = type.sizes[axis];
  if (stride == 1) return LAZE_OK;
  LAZE_TRY(laze_compose_insert_axis(c->recorder, *value, axis + 1, value, c->error));
  LAZE_TRY(laze_compose_pad(c->recorder, *value, zero, axis + 1, (laze_size[]){0, stride - 1}, value, c->error));
  LAZE_TRY(multiply_sizes(c, size, stride, &type.sizes[axis]));
  LAZE_TRY(laze_compose_reshape(c->recorder, *value, type.sizes, type.rank, value, c->error));
  return laze_compose_pad(c->recorder, *value, zero, axis, (laze_size[]){0, 1 - stride}, value, c->error);
}

/* [c, oc/g, k ...] as [oc, c/g, k ...]. */
static laze_status turn_weight(convolution *c) {
  laze_type type = laze_compose_type(c->recorder, c->weight);
  laze_size cut[LAZE_MAX_RANK] = {c->groups, c->channels}, order[LAZE_MAX_RANK] = {0, 2, 1};
  laze_size joined[LAZE_MAX_RANK] = {c->all_results, c->channels};
  for (int i = 1; i < type.rank; i++) cut[i + 1] = type.sizes[i];
  for (int i = 2; i < type.rank; i++) order[i + 1] = i + 1;
  for (int i = 2; i < type.rank; i++) joined[i] = type.sizes[i];
  LAZE_TRY(laze_compose_reshape(c->recorder, c->weight, cut, type.rank + 1, &c->weight, c->error));
  LAZE_TRY(laze_compose_permute(c->recorder, c->weight, order, type.rank + 1, &c->weight, c->error));
  return laze_compose_reshape(c->recorder, c->weight, joined, type.rank, &c->weight, c->error);
}

static laze_status turn_round(convolution *c) {
  laze_windows *windows = &c->windows;
  laze_value zero;
  LAZE_TRY(laze_record_number(c->recorder, laze_compose_type(c->recorder, c->input).dtype, laze_scalar_integer(0),
                              &zero, c->error));
  for (int i = 0; i < windows->dims; i++) {
    int64_t cover = (windows->size[i] - 1) * windows->dilation[i], padding = windows->low[i];
    LAZE_TRY(spread(c, zero, 2 + i, windows->stride[i], &c->input));
    windows->low[i] = cover - padding;
    windows->high[i] = cover - padding + c->further[i];
    windows->stride[i] = 1;
  }
  return turn_weight(c);
}

/* The plain form */

/* By an operator that names no sizes, so that they stay those of the operand whatever they are. */
static laze_status insert_axis(const convolution *c, int axis, laze_value *value) {
  laze_attribute dim = laze_attribute_integer(axis);
  return laze_record_call(c->recorder, LAZE_OP_UNSQUEEZE, value, 1, &dim, value, c->error);
}

/* [n, g * r, o ...] of the axes of places, the last ones of `value`. */
static laze_status join_groups(const convolution *c, laze_value value, laze_value *out) {
  const laze_type type = laze_compose_type(c->recorder, value);
  laze_size sizes[LAZE_MAX_RANK] = {type.sizes[0], c->all_results};
  const int places = c->windows.dims;
  for (int i = 0; i < places; i++) sizes[2 + i] = type.sizes[type.rank - places + i];
  return laze_compose_reshape(c->recorder, value, sizes, 2 + places, out, c->error);
}

/* A sum of products for each element, over channels and places. */

/* [n, c, k0, o0, k1, o1] as [n, 1, c, ...], or with groups as [n, g, 1, c/g, ...]. */
static laze_status group_channels(const convolution *c, laze_value *value) {
  laze_type type = laze_compose_type(c->recorder, *value);
  laze_size sizes[LAZE_MAX_RANK] = {type.sizes[0], c->groups, 1, c->channels};
  if (c->groups == 1) return insert_axis(c, 1, value);
  for (int i = 2; i < type.rank; i++) sizes[2 + i] = type.sizes[i];
  return laze_compose_reshape(c->recorder, *value, sizes, 2 + type.rank, value, c->error);
}

/* [oc, c/g, k ...] as [oc, c, k0, 1, k1, 1], or with groups as [g, oc/g, c/g, k0, 1, k1, 1]. */
static laze_status group_weight(const convolution *c, laze_value *value) {
  laze_size sizes[LAZE_MAX_RANK] = {c->groups, c->results, c->channels};
  int rank = 3;
  for (int i = 0; i < c->windows.dims; i++) LAZE_TRY(insert_axis(c, 3 + 2 * i, value));
  if (c->groups == 1) return LAZE_OK;
  for (int i = 0; i < c->windows.dims; i++) {
    sizes[rank++] = c->windows.size[i];
    sizes[rank++] = 1;
  }
  return laze_compose_reshape(c->recorder, *value, sizes, rank, value, c->error);
}

static laze_status sum_products(const convolution *c, laze_value windows, laze_value weight, laze_value *out) {
  laze_size axes[1 + LAZE_MAX_WINDOW_DIMS];
  LAZE_TRY(group_weight(c, &weight));
  LAZE_TRY(group_channels(c, &windows));
  LAZE_TRY(laze_compose_binary(c->recorder, LAZE_OP_MUL, windows, weight, out, c->error));
  const laze_type type = laze_compose_type(c->recorder, *out);
  axes[0] = type.rank - 2 * c->windows.dims - 1;
  laze_windows_places(&c->windows, type.rank, axes + 1);
  laze_attribute attributes[] = {laze_attribute_integers(axes, 1 + c->windows.dims), laze_attribute_boolean(false),
                                 laze_attribute_dtype(type.dtype)};
  LAZE_TRY(laze_record_call(c->recorder, LAZE_OP_SUM_DIM_INTLIST, out, 1, attributes, out, c->error));
  return c->groups == 1 ? LAZE_OK : join_groups(c, *out, out);
}

/* A product of matrices. */

/* [n, c, k0, o0, k1, o1] as [n, c, k0, k1, o0, o1]. */
static laze_status part_places(const convolution *c, laze_value *value) {
  laze_size order[LAZE_MAX_RANK] = {0, 1};
  const int places = c->windows.dims;
  for (int i = 0; i < places; i++) {
    order[2 + i] = 2 + 2 * i;
    order[2 + places + i] = 3 + 2 * i;
  }
  return laze_compose_permute(c->recorder, *value, order, 2 + 2 * places, value, c->error);
}

/* The first sizes of a matrix, or of one for each group, and behind them those given. */
static laze_status reshape_matrix(const convolution *c, laze_value value, const laze_size *batch,
                                  const laze_size sizes[2], laze_value *out) {
  laze_size all[4];
  int rank = 0;
  if (batch) all[rank++] = *batch;
  if (c->groups > 1) all[rank++] = c->groups;
  for (int i = 0; i < 2; i++) all[rank++] = sizes[i];
  return laze_compose_reshape(c->recorder, value, all, rank, out, c->error);
}

static laze_status multiply_matrices(const convolution *c, laze_value windows, laze_value weight, laze_value *out) {
  const int places = c->windows.dims;
  laze_type type;
  laze_size depth, columns;
  laze_value product[2];
  LAZE_TRY(part_places(c, &windows));
  type = laze_compose_type(c->recorder, windows);
  LAZE_TRY(laze_size_product(c->recorder->sizes, type.sizes + 2, places, &depth, c->error));
  LAZE_TRY(multiply_sizes(c, depth, c->channels, &depth));
  LAZE_TRY(laze_size_product(c->recorder->sizes, type.sizes + 2 + places, places, &columns, c->error));
  LAZE_TRY(reshape_matrix(c, weight, NULL, (laze_size[]){c->results, depth}, &weight));
  LAZE_TRY(reshape_matrix(c, windows, &type.sizes[0], (laze_size[]){depth, columns}, &windows));
  product[0] = weight;
  product[1] = windows;
  LAZE_TRY(laze_record_call(c->recorder, LAZE_OP_MATMUL, product, 2, NULL, out, c->error));
  /* [n, g, r, o0 * o1], with the places of windows apart. */
  laze_size sizes[LAZE_MAX_RANK] = {type.sizes[0], c->all_results};
  for (int i = 0; i < places; i++) sizes[2 + i] = type.sizes[2 + places + i];
  return laze_compose_reshape(c->recorder, *out, sizes, 2 + places, out, c->error);
}

static laze_status add_bias(const convolution *c, laze_value *out) {
  laze_value column = c->bias;
  for (int i = 0; i < c->windows.dims; i++) LAZE_TRY(insert_axis(c, 1 + i, &column));
  return laze_compose_binary(c->recorder, LAZE_OP_ADD, *out, column, out, c->error);
}

/* The places of windows in reverse, which the transposed form has: reading them so costs nothing, as storing a weight
 * that is turned round would. */
static laze_status reverse_places(const convolution *c, laze_value *windows) {
  laze_size places[LAZE_MAX_WINDOW_DIMS];
  laze_windows_places(&c->windows, laze_compose_type(c->recorder, *windows).rank, places);
  laze_attribute dims = laze_attribute_integers(places, c->windows.dims);
  return laze_record_call(c->recorder, LAZE_OP_FLIP, windows, 1, &dims, windows, c->error);
}

static laze_status multiply(const void *self, laze_value input, laze_value weight, laze_value *out) {
  const convolution *c = self;
  laze_value zero, windows;
  LAZE_TRY(laze_record_number(c->recorder, laze_compose_type(c->recorder, input).dtype, laze_scalar_integer(0), &zero,
                              c->error));
  LAZE_TRY(laze_compose_windows(c->recorder, &c->windows, input, (laze_value[]){zero, zero}, &windows, c->error));
  if (c->transposed) LAZE_TRY(reverse_places(c, &windows));
  return laze_windows_are_thin(c->channels, c->results) ? sum_products(c, windows, weight, out)
                                                        : multiply_matrices(c, windows, weight, out);
}

static laze_status convolve(convolution *c, laze_value *out) {
  if (c->transposed) LAZE_TRY(turn_round(c));
  LAZE_TRY(laze_compose_bilinear(c->recorder, (laze_bilinear){multiply, c}, c->input, c->weight, out, c->error));
  return laze_value_is_none(c->bias) ? LAZE_OK : add_bias(c, out);
}

laze_status laze_composite_convolution(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                       laze_error *error) {
  convolution c = {.recorder = recorder, .call = call, .error = error};
  c.transposed = call->attributes[LAZE_CONVOLUTION_TRANSPOSED].value.integer != 0;
  LAZE_TRY(read_operands(&c));
  LAZE_TRY(read_numbers(&c));
  LAZE_TRY(check(&c));
  LAZE_TRY(convolve(&c, results));
  return c.batched ? LAZE_OK : laze_compose_drop_axis(recorder, *results, 0, results, error);
}

/* Padding that is not as much on either side, around the input. */
static laze_status pad_unevenly(convolution *c) {
  laze_windows *windows = &c->windows;
  laze_value zero;
  bool even = true;
  for (int i = 0; i < windows->dims; i++) even = even && windows->low[i] == windows->high[i];
  if (even) return LAZE_OK;
  LAZE_TRY(laze_record_number(c->recorder, laze_compose_type(c->recorder, c->input).dtype, laze_scalar_integer(0),
                              &zero, c->error));
  for (int i = 0; i < windows->dims; i++) {
    LAZE_TRY(laze_compose_pad(c->recorder, c->input, zero, 2 + i, (laze_size[]){windows->low[i], windows->high[i]},
                              &c->input, c->error));
    windows->low[i] = windows->high[i] = 0;
  }
  return LAZE_OK;
}

/* One of the forms for so many dims, as the general one, which has a gradient of its own. */
static laze_status convolve_along(convolution *c, int dims, laze_value *results) {
  laze_size lists[4][LAZE_MAX_WINDOW_DIMS];
  LAZE_TRY(read_operands(c));
  LAZE_TRY(read_numbers(c));
  LAZE_TRY(check_dims(c, dims));
  LAZE_TRY(check(c));
  LAZE_TRY(pad_unevenly(c));
  for (int i = 0; i < dims; i++) {
    lists[0][i] = c->windows.stride[i];
    lists[1][i] = c->windows.low[i];
    lists[2][i] = c->windows.dilation[i];
    lists[3][i] = c->further[i];
  }
  const laze_value operands[] = {c->input, c->weight, c->bias};
  laze_attribute attributes[] = {laze_attribute_sizes(lists[0], dims), laze_attribute_sizes(lists[1], dims),
                                 laze_attribute_sizes(lists[2], dims), laze_attribute_boolean(c->transposed),
                                 laze_attribute_sizes(lists[3], dims), laze_attribute_size(c->groups)};
  LAZE_TRY(laze_record_call(c->recorder, LAZE_OP_CONVOLUTION, operands, 3, attributes, results, c->error));
  return c->batched ? LAZE_OK : laze_compose_drop_axis(c->recorder, *results, 0, results, c->error);
}

laze_status laze_composite_conv1d(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                  laze_error *error) {
  return convolve_along(&(convolution){.recorder = recorder, .call = call, .error = error}, 1, results);
}
laze_status laze_composite_conv2d(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                  laze_error *error) {
  return convolve_along(&(convolution){.recorder = recorder, .call = call, .error = error}, 2, results);
}
laze_status laze_composite_conv3d(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                  laze_error *error) {
  return convolve_along(&(convolution){.recorder = recorder, .call = call, .error = error}, 3, results);
}
laze_status laze_composite_conv1d_padding(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                          laze_error *error) {
  return convolve_along(&(convolution){.recorder = recorder, .call = call, .error = error}, 1, results);
}
laze_status laze_composite_conv2d_padding(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                          laze_error *error) {
  return convolve_along(&(convolution){.recorder = recorder, .call = call, .error = error}, 2, results);
}
laze_status laze_composite_conv3d_padding(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                          laze_error *error) {
  return convolve_along(&(convolution){.recorder = recorder, .call = call, .error = error}, 3, results);
}
laze_status laze_composite_conv_transpose1d(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                            laze_error *error) {
  return convolve_along(&(convolution){.recorder = recorder, .call = call, .transposed = true, .error = error}, 1,
                        results);
}
laze_status laze_composite_conv_transpose2d_input(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                                  laze_error *error) {
  return convolve_along(&(convolution){.recorder = recorder, .call = call, .transposed = true, .error = error}, 2,
                        results);
}
laze_status laze_composite_conv_transpose3d_input(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                                  laze_error *error) {
  return convolve_along(&(convolution){.recorder = recorder, .call = call, .transposed = true, .error = error}, 3,
                        results);
}
