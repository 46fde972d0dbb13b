/* Gradients of a convolution, by convolutions and windows.
 *
 *   input      what the transposed form makes of the gradient; of the transposed form, a plain one
 *   weight     windows of the larger one, [n, g, 1, c/g, k0, o0, k1, o1],
 *              times the smaller one,     [n, g, m/g, 1,  1, o0,  1, o1], summed over n, o0 and o1: as a product of
 *              matrices, but where groups are thin
 *   bias       the sum over all but channels
 *
 * A plain convolution has the larger one as its input and the smaller one as its result, the transposed form the other
 * way round; the weight is [m, c/g, k0, k1] in both.
 */
#include "ir/composite/gradients.h"

#include "ir/attribute.h"
#include "ir/composite.gen.h"
#include "ir/composite/support.h"
#include "ir/composite/window.h"
#include "ir/op.gen.h"

typedef struct {
  laze_recorder *recorder;
  const laze_call *call;
  laze_windows windows;
  int64_t further[LAZE_MAX_WINDOW_DIMS]; /* output_padding */
  laze_size groups;
  bool transposed;
  laze_type grad, input, weight;
  laze_value zero;
  laze_error *error;
} convolved;

static laze_status fail_shapes(const convolved *c) {
  const laze_inference inference = {c->recorder->sizes, laze_compose_name(c->call), c->error};
  return laze_fail(
      c->error, LAZE_INVALID_ARGUMENT,
      "%s: grad_output is %s, input %s and weight %s; expected the same float, 3 to 5 dims, known sizes of "
      "the weight's places and groups, and grad_output with the shape of the convolution of the others",
      inference.operator_name, laze_show(&inference, &c->grad).text, laze_show(&inference, &c->input).text,
      laze_show(&inference, &c->weight).text);
}

/* The larger one's size along an axis of places, and how many windows it has, against those of both. */
static laze_status check_places(const convolved *c, int dim, bool *fits) {
  const laze_windows *w = &c->windows;
  const laze_size input = c->input.sizes[2 + dim], grad = c->grad.sizes[2 + dim];
  const int64_t cover = (w->size[dim] - 1) * w->dilation[dim] + 1, padding = 2 * w->low[dim];
  laze_size size;
  if (c->transposed) {
    LAZE_TRY(laze_size_arithmetic(c->recorder, '-', input, 1, &size, c->error));
    LAZE_TRY(laze_size_arithmetic(c->recorder, '*', size, w->stride[dim], &size, c->error));
    LAZE_TRY(laze_size_arithmetic(c->recorder, '+', size, cover - padding + c->further[dim], &size, c->error));
  } else {
    LAZE_TRY(laze_size_arithmetic(c->recorder, '+', input, padding - cover, &size, c->error));
    LAZE_TRY(laze_size_arithmetic(c->recorder, '/', size, w->stride[dim], &size, c->error));
    LAZE_TRY(laze_size_arithmetic(c->recorder, '+', size, 1, &size, c->error));
  }
  return laze_size_must_equal(c->recorder, size, grad, fits, c->error);
}

static laze_status check_shapes(const convolved *c) {
  const laze_type *out = c->transposed ? &c->input : &c->grad, *in = c->transposed ? &c->grad : &c->input;
  laze_size channels, within, whole;
  bool fits[4] = {false};
  LAZE_TRY(laze_size_arithmetic(c->recorder, '*', c->weight.sizes[1], c->groups, &channels, c->error));
  LAZE_TRY(laze_size_arithmetic(c->recorder, '/', c->weight.sizes[0], c->groups, &within, c->error));
  LAZE_TRY(laze_size_arithmetic(c->recorder, '*', within, c->groups, &whole, c->error));
  LAZE_TRY(laze_size_must_equal(c->recorder, c->grad.sizes[0], c->input.sizes[0], &fits[0], c->error));
  LAZE_TRY(laze_size_must_equal(c->recorder, out->sizes[1], c->weight.sizes[0], &fits[1], c->error));
  LAZE_TRY(laze_size_must_equal(c->recorder, in->sizes[1], channels, &fits[2], c->error));
  LAZE_TRY(laze_size_must_equal(c->recorder, whole, c->weight.sizes[0], &fits[3], c->error));
  bool all = fits[0] && fits[1] && fits[2] && fits[3];
  for (int i = 0; all && i < c->windows.dims; i++) LAZE_TRY(check_places(c, i, &all));
  return all ? LAZE_OK : fail_shapes(c);
}

static laze_status read_call(convolved *c) {
  const laze_attribute *attributes = c->call->attributes;
  laze_windows *w = &c->windows;
  c->grad = laze_compose_type(c->recorder, c->call->operands[0]);
  c->input = laze_compose_type(c->recorder, c->call->operands[1]);
  c->weight = laze_compose_type(c->recorder, c->call->operands[2]);
  c->groups = attributes[LAZE_CONVOLUTION_BACKWARD_GROUPS].value.size;
  c->transposed = attributes[LAZE_CONVOLUTION_BACKWARD_TRANSPOSED].value.integer != 0;
  w->dims = c->weight.rank - 2;
  bool fits =
      w->dims >= 1 && w->dims <= LAZE_MAX_WINDOW_DIMS && c->grad.rank == c->weight.rank &&
      c->input.rank == c->weight.rank && c->grad.dtype == c->weight.dtype && c->input.dtype == c->weight.dtype &&
      (laze_dtype_is_float((laze_dtype)c->weight.dtype) || laze_dtype_is_complex((laze_dtype)c->weight.dtype)) &&
      laze_size_is_constant(c->groups) && c->groups >= 1 && c->groups <= INT32_MAX;
  for (int i = 0; fits && i < w->dims; i++) {
    w->size[i] = c->weight.sizes[2 + i];
    w->stride[i] = w->dilation[i] = 1;
    fits = laze_size_is_constant(c->weight.sizes[2 + i]) && w->size[i] >= 1 && w->size[i] <= INT32_MAX;
  }
  if (!fits) return fail_shapes(c);
  LAZE_TRY(laze_windows_read(c->call, "stride", w->dims, 1, w->stride, c->error));
  LAZE_TRY(laze_windows_read(c->call, "dilation", w->dims, 1, w->dilation, c->error));
  LAZE_TRY(laze_windows_read(c->call, "padding", w->dims, 0, w->low, c->error));
  LAZE_TRY(laze_windows_read(c->call, "output_padding", w->dims, 0, c->further, c->error));
  for (int i = 0; i < w->dims; i++) w->high[i] = w->low[i];
  LAZE_TRY(laze_record_number(c->recorder, (laze_dtype)c->weight.dtype, laze_scalar_integer(0), &c->zero, c->error));
  return check_shapes(c);
}

/* Elements of an axis from `first` on, as many as `size`: the end cut off, or zeros behind it. */
static laze_status fit(const convolved *c, laze_value zero, int axis, int64_t first, laze_size size,
                       laze_value *value) {
  laze_size around[2] = {-first, 0};
  LAZE_TRY(laze_size_arithmetic(c->recorder, '-', size, laze_compose_type(c->recorder, *value).sizes[axis], &around[1],
                                c->error));
  LAZE_TRY(laze_size_arithmetic(c->recorder, '+', around[1], first, &around[1], c->error));
  return laze_compose_pad(c->recorder, *value, zero, axis, around, value, c->error);
}

/* The padding that a transposed form leaves out by itself, and the elements behind the last window, its output_padding.
 * Both are 0 where these are no known numbers below the stride; then the caller cuts and pads. */
static laze_status find_edges(const convolved *c, laze_size *padding, laze_size *further) {
  const laze_windows *w = &c->windows;
  bool known = true;
  for (int i = 0; i < w->dims; i++) {
    const int64_t cover = (w->size[i] - 1) * w->dilation[i] + 1;
    laze_size steps;
    padding[i] = w->low[i];
    LAZE_TRY(laze_size_arithmetic(c->recorder, '-', c->grad.sizes[2 + i], 1, &steps, c->error));
    LAZE_TRY(laze_size_arithmetic(c->recorder, '*', steps, w->stride[i], &steps, c->error));
    LAZE_TRY(
        laze_size_arithmetic(c->recorder, '+', c->input.sizes[2 + i], 2 * w->low[i] - cover, &further[i], c->error));
    LAZE_TRY(laze_size_arithmetic(c->recorder, '-', further[i], steps, &further[i], c->error));
    if (w->stride[i] == 1) further[i] = 0;
    known = known && laze_size_is_constant(further[i]) && further[i] >= 0 && further[i] < w->stride[i];
  }
  for (int i = 0; i < w->dims && !known; i++) padding[i] = further[i] = 0;
  return LAZE_OK;
}

static laze_status find_input(const convolved *c, laze_value *out) {
  const laze_windows *w = &c->windows;
  const laze_value operands[] = {c->call->operands[0], c->call->operands[2], LAZE_VALUE_NONE};
  laze_size stride[LAZE_MAX_WINDOW_DIMS], dilation[LAZE_MAX_WINDOW_DIMS], padding[LAZE_MAX_WINDOW_DIMS];
  laze_size further[LAZE_MAX_WINDOW_DIMS] = {0};
  for (int i = 0; i < w->dims; i++) {
    stride[i] = w->stride[i];
    dilation[i] = w->dilation[i];
    padding[i] = w->low[i];
  }
  if (!c->transposed) LAZE_TRY(find_edges(c, padding, further));
  laze_attribute attributes[] = {laze_attribute_sizes(stride, w->dims),   laze_attribute_sizes(padding, w->dims),
                                 laze_attribute_sizes(dilation, w->dims), laze_attribute_boolean(!c->transposed),
                                 laze_attribute_sizes(further, w->dims),  laze_attribute_size(c->groups)};
  LAZE_TRY(laze_record_call(c->recorder, LAZE_OP_CONVOLUTION, operands, 3, attributes, out, c->error));
  for (int i = 0; i < w->dims; i++)
    LAZE_TRY(fit(c, c->zero, 2 + i, c->transposed ? 0 : w->low[i] - padding[i], c->input.sizes[2 + i], out));
  return LAZE_OK;
}

/* The weight by sums of products, where groups are thin. */

/* [n, c, ..] as [n, g, 1, c/g, ..], or with `first` as [n, g, c/g, 1, ..]. */
static laze_status group(const convolved *c, bool first, laze_value *value) {
  const laze_type type = laze_compose_type(c->recorder, *value);
  laze_size sizes[LAZE_MAX_RANK] = {type.sizes[0], c->groups, 1, 1};
  LAZE_TRY(laze_size_arithmetic(c->recorder, '/', type.sizes[1], c->groups, &sizes[first ? 2 : 3], c->error));
  for (int i = 2; i < type.rank; i++) sizes[2 + i] = type.sizes[i];
  return laze_compose_reshape(c->recorder, *value, sizes, type.rank + 2, value, c->error);
}

static laze_status sum_products(const convolved *c, laze_value windows, laze_value elements, laze_value *out) {
  const int dims = c->windows.dims;
  laze_size axes[1 + LAZE_MAX_WINDOW_DIMS] = {0};
  for (int i = 0; i < dims; i++) {
    LAZE_TRY(laze_compose_insert_axis(c->recorder, elements, 2 + 2 * i, &elements, c->error));
    axes[1 + i] = 5 + 2 * i;
  }
  LAZE_TRY(group(c, false, &windows));
  LAZE_TRY(group(c, true, &elements));
  laze_attribute attributes[] = {laze_attribute_integers(axes, 1 + dims), laze_attribute_boolean(false),
                                 laze_attribute_dtype((laze_dtype)laze_compose_type(c->recorder, windows).dtype)};
  LAZE_TRY(laze_compose_binary(c->recorder, LAZE_OP_MUL, windows, elements, out, c->error));
  return laze_record_call(c->recorder, LAZE_OP_SUM_DIM_INTLIST, out, 1, attributes, out, c->error);
}

/* The weight by a product of matrices, [g, m/g, n * o] times [g, n * o, c/g * k]. */

/* [n, g * r, ...] as [n, g, r, ...]. */
static laze_status part_groups(const convolved *c, laze_size within, laze_value *value) {
  const laze_type type = laze_compose_type(c->recorder, *value);
  laze_size sizes[LAZE_MAX_RANK] = {type.sizes[0], c->groups, within};
  for (int i = 2; i < type.rank; i++) sizes[1 + i] = type.sizes[i];
  return laze_compose_reshape(c->recorder, *value, sizes, type.rank + 1, value, c->error);
}

/* A batch of matrices, whose rows are the axes up to `middle` behind the batch, and whose columns are the rest. */
static laze_status join_axes(const convolved *c, const laze_size *order, int middle, laze_value *value) {
  LAZE_TRY(
      laze_compose_permute(c->recorder, *value, order, laze_compose_type(c->recorder, *value).rank, value, c->error));
  const laze_type type = laze_compose_type(c->recorder, *value);
  laze_size sizes[3] = {type.sizes[0]};
  LAZE_TRY(laze_size_product(c->recorder->sizes, type.sizes + 1, middle - 1, &sizes[1], c->error));
  LAZE_TRY(laze_size_product(c->recorder->sizes, type.sizes + middle, type.rank - middle, &sizes[2], c->error));
  return laze_compose_reshape(c->recorder, *value, sizes, 3, value, c->error);
}

static laze_status multiply_matrices(const convolved *c, laze_value windows, laze_value elements, laze_size results,
                                     laze_value *out) {
  const int dims = c->windows.dims;
  laze_size of_elements[LAZE_MAX_RANK] = {1, 2, 0}, of_windows[LAZE_MAX_RANK] = {1, 0};
  LAZE_TRY(part_groups(c, results, &elements));
  LAZE_TRY(part_groups(c, c->weight.sizes[1], &windows));
  of_windows[2 + dims] = 2;
  for (int i = 0; i < dims; i++) {
    of_elements[3 + i] = 3 + i;
    of_windows[2 + i] = 4 + 2 * i;
    of_windows[3 + dims + i] = 3 + 2 * i;
  }
  LAZE_TRY(join_axes(c, of_elements, 2, &elements));
  LAZE_TRY(join_axes(c, of_windows, 2 + dims, &windows));
  return laze_record_call(c->recorder, LAZE_OP_MATMUL, (laze_value[]){elements, windows}, 2, NULL, out, c->error);
}

static laze_status multiply(const void *self, laze_value larger, laze_value elements, laze_value *out) {
  const convolved *c = self;
  const laze_type *small = c->transposed ? &c->input : &c->grad;
  laze_value zero, windows;
  laze_size results;
  LAZE_TRY(laze_size_arithmetic(c->recorder, '/', c->weight.sizes[0], c->groups, &results, c->error));
  LAZE_TRY(laze_record_number(c->recorder, laze_compose_type(c->recorder, larger).dtype, laze_scalar_integer(0), &zero,
                              c->error));
  LAZE_TRY(laze_compose_windows(c->recorder, &c->windows, larger, (laze_value[]){zero, zero}, &windows, c->error));
  for (int i = 0; i < c->windows.dims; i++) LAZE_TRY(fit(c, zero, 3 + 2 * i, 0, small->sizes[2 + i], &windows));
  return laze_windows_are_thin(c->weight.sizes[1], results) ? sum_products(c, windows, elements, out)
                                                            : multiply_matrices(c, windows, elements, results, out);
}

static laze_status find_weight(const convolved *c, laze_value *out) {
  const laze_value larger = c->call->operands[c->transposed ? 0 : 1],
                   smaller = c->call->operands[c->transposed ? 1 : 0];
  LAZE_TRY(laze_compose_bilinear(c->recorder, (laze_bilinear){multiply, c}, larger, smaller, out, c->error));
  return laze_compose_reshape(c->recorder, *out, c->weight.sizes, c->weight.rank, out, c->error);
}

static laze_status find_bias(const convolved *c, laze_value *out) {
  laze_size axes[1 + LAZE_MAX_WINDOW_DIMS] = {0};
  for (int i = 0; i < c->windows.dims; i++) axes[1 + i] = 2 + i;
  laze_attribute attributes[] = {laze_attribute_integers(axes, 1 + c->windows.dims), laze_attribute_boolean(false),
                                 laze_attribute_dtype((laze_dtype)c->weight.dtype)};
  return laze_record_call(c->recorder, LAZE_OP_SUM_DIM_INTLIST, c->call->operands, 1, attributes, out, c->error);
}

laze_status laze_composite_convolution_backward(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                                laze_error *error) {
  const laze_attribute *mask = &call->attributes[LAZE_CONVOLUTION_BACKWARD_OUTPUT_MASK];
  convolved c = {.recorder = recorder, .call = call, .error = error};
  LAZE_TRY(laze_compose_wanted(recorder, call, results, error));
  LAZE_TRY(read_call(&c));
  if (mask->value.items[0] != 0) LAZE_TRY(find_input(&c, &results[0]));
  if (mask->value.items[1] != 0) LAZE_TRY(find_weight(&c, &results[1]));
  return mask->value.items[2] != 0 ? find_bias(&c, &results[2]) : LAZE_OK;
}
