/* Signals and images at other sizes: the last axes, one after the other.
 *
 *   x f32[n, c, h, w]   along w: elements at places of x, times weights     [n, c, h, w']
 *                       along h: the same                                   [n, c, h', w']
 *
 *   place of output i     i * (w - 1) / (w' - 1)          align_corners: the ends lie on each other
 *                         (i + 0.5) * w / w' - 0.5        otherwise, also where a scale is given in place of w / w'
 *   nearest               the element at i * w / w', rounded down; exact: at (i + 0.5) * w / w'
 *   linear                the elements on both sides, by how near they are
 *   cubic                 the two elements on both sides
 */
#include "ir/composite/resampling.h"

#include "ir/composite.gen.h"
#include "ir/composite/support.h"
#include "ir/op.gen.h"

#include <math.h>

typedef struct {
  laze_recorder *recorder;
  const laze_call *call;
  laze_resampling how;
  bool align, antialias;
  int dims;
  laze_type type;                        /* of self */
  laze_size sizes[LAZE_MAX_WINDOW_DIMS]; /* of the result */
  double scales[LAZE_MAX_WINDOW_DIMS];   /* how much larger it is, 0: as the sizes say */
  laze_error *error;
} resampling;

static laze_dtype compute_dtype(const resampling *r) {
  return r->type.dtype == LAZE_F64 ? LAZE_F64 : LAZE_F32;
}

static laze_status with_number(const resampling *r, laze_op op, laze_value a, double number, laze_value *out) {
  return laze_compose_with_number(r->recorder, op, a, laze_scalar_real(number), out, r->error);
}

static laze_status size_as(const resampling *r, laze_size size, laze_dtype dtype, laze_value *out) {
  LAZE_TRY(laze_compose_size(r->recorder, size, out, r->error));
  return laze_compose_to(r->recorder, *out, dtype, out, r->error);
}

/* How far one element of the result goes in self, 0-d. */
static laze_status find_step(const resampling *r, int dim, laze_size size, laze_value *out) {
  const laze_dtype dtype = compute_dtype(r);
  laze_size from = size, to = r->sizes[dim];
  laze_value divisor;
  bool one;
  if (r->how != LAZE_RESAMPLE_NEAREST && r->how != LAZE_RESAMPLE_NEAREST_EXACT && r->align) {
    LAZE_TRY(laze_size_may_be_at_most(r->recorder, to, 1, &one, r->error));
    if (one) return laze_record_number(r->recorder, dtype, laze_scalar_integer(0), out, r->error);
    LAZE_TRY(laze_size_arithmetic(r->recorder, '-', from, 1, &from, r->error));
    LAZE_TRY(laze_size_arithmetic(r->recorder, '-', to, 1, &to, r->error));
  } else if (r->scales[dim] > 0) {
    return laze_record_number(r->recorder, dtype, laze_scalar_real(1 / r->scales[dim]), out, r->error);
  }
  LAZE_TRY(size_as(r, from, dtype, out));
  LAZE_TRY(size_as(r, to, dtype, &divisor));
  return laze_compose_binary(r->recorder, LAZE_OP_DIV, *out, divisor, out, r->error);
}

/* (i + 0.5) * step - 0.5, rounded once. */
static laze_status find_middles(const resampling *r, laze_value step, laze_value *places) {
  LAZE_TRY(laze_compose_to(r->recorder, *places, LAZE_F64, places, r->error));
  LAZE_TRY(laze_compose_to(r->recorder, step, LAZE_F64, &step, r->error));
  LAZE_TRY(laze_compose_binary(r->recorder, LAZE_OP_MUL, *places, step, places, r->error));
  LAZE_TRY(with_number(r, LAZE_OP_SUB, *places, 0.5, places));
  if (r->how == LAZE_RESAMPLE_LINEAR) LAZE_TRY(with_number(r, LAZE_OP_MAXIMUM, *places, 0, places));
  return laze_compose_to(r->recorder, *places, compute_dtype(r), places, r->error);
}

/* Where each element of the result lies in self. */
static laze_status find_places(const resampling *r, int dim, laze_size size, laze_value *out) {
  const bool nearest = r->how == LAZE_RESAMPLE_NEAREST, exact = r->how == LAZE_RESAMPLE_NEAREST_EXACT;
  const bool centred = !nearest && (exact || !r->align);
  laze_value step;
  LAZE_TRY(find_step(r, dim, size, &step));
  LAZE_TRY(laze_compose_iota(r->recorder, &r->sizes[dim], 1, 0, compute_dtype(r), out, r->error));
  if (centred) LAZE_TRY(with_number(r, LAZE_OP_ADD, *out, 0.5, out));
  if (centred && !exact) return find_middles(r, step, out);
  return laze_compose_binary(r->recorder, LAZE_OP_MUL, *out, step, out, r->error);
}

/* Elements of an axis at places, i64, moved by `offset` and then kept within the axis. */
static laze_status take(const resampling *r, laze_value self, int axis, laze_value places, int64_t offset,
                        laze_value *out) {
  const laze_size size = laze_recorder_type(r->recorder, self)->sizes[axis];
  laze_attribute dim = laze_attribute_integer(axis);
  laze_value last, operands[2] = {self, places};
  laze_size end;
  LAZE_TRY(laze_size_arithmetic(r->recorder, '-', size, 1, &end, r->error));
  LAZE_TRY(laze_compose_size(r->recorder, end, &last, r->error));
  if (offset != 0)
    LAZE_TRY(laze_compose_with_number(r->recorder, LAZE_OP_ADD, operands[1], laze_scalar_integer(offset), &operands[1],
                                      r->error));
  LAZE_TRY(laze_compose_binary(r->recorder, LAZE_OP_MINIMUM, operands[1], last, &operands[1], r->error));
  LAZE_TRY(laze_compose_with_number(r->recorder, LAZE_OP_MAXIMUM, operands[1], laze_scalar_integer(0), &operands[1],
                                    r->error));
  return laze_record_call(r->recorder, LAZE_OP_INDEX_SELECT, operands, 2, &dim, out, r->error);
}

/* sum += elements * weights, the weights along an axis. */
static laze_status add_weighted(const resampling *r, laze_value elements, int axis, laze_value weights,
                                laze_value *sum) {
  const laze_type type = laze_compose_type(r->recorder, elements);
  laze_size sizes[LAZE_MAX_RANK];
  int rank = 0;
  for (int i = axis; i < type.rank; i++) sizes[rank++] = i == axis ? type.sizes[i] : 1;
  LAZE_TRY(laze_compose_reshape(r->recorder, weights, sizes, rank, &weights, r->error));
  LAZE_TRY(laze_compose_to(r->recorder, elements, compute_dtype(r), &elements, r->error));
  LAZE_TRY(laze_compose_binary(r->recorder, LAZE_OP_MUL, elements, weights, &elements, r->error));
  if (laze_value_is_none(*sum)) {
    *sum = elements;
    return LAZE_OK;
  }
  return laze_compose_binary(r->recorder, LAZE_OP_ADD, *sum, elements, sum, r->error);
}

laze_status laze_compose_polynomial(laze_recorder *recorder, laze_value x, const double *coefficients, int count,
                                    laze_value *out, laze_error *error) {
  const resampling r = {.recorder = recorder, .error = error};
  LAZE_TRY(with_number(&r, LAZE_OP_MUL, x, coefficients[0], out));
  for (int i = 1; i < count; i++) {
    if (coefficients[i] != 0) LAZE_TRY(with_number(&r, LAZE_OP_ADD, *out, coefficients[i], out));
    if (i + 1 < count) LAZE_TRY(laze_compose_binary(recorder, LAZE_OP_MUL, *out, x, out, error));
  }
  return LAZE_OK;
}

laze_status laze_compose_cubic_weights(laze_recorder *recorder, laze_value part, laze_value out[4], laze_error *error) {
  static const double near[] = {1.25, -2.25, 0, 1}, far[] = {-0.75, 3.75, -6, 3};
  const resampling r = {.recorder = recorder, .error = error};
  laze_value distance[4];
  LAZE_TRY(with_number(&r, LAZE_OP_ADD, part, 1, &distance[0]));
  distance[1] = part;
  LAZE_TRY(laze_compose_unary(recorder, LAZE_OP_NEG, part, &distance[2], error));
  LAZE_TRY(with_number(&r, LAZE_OP_ADD, distance[2], 2, &distance[3]));
  LAZE_TRY(with_number(&r, LAZE_OP_ADD, distance[2], 1, &distance[2]));
  for (int i = 0; i < 4; i++)
    LAZE_TRY(laze_compose_polynomial(recorder, distance[i], i == 1 || i == 2 ? near : far, 4, &out[i], error));
  return LAZE_OK;
}

/* As a float of 16 bits where self is one, but along lines of images. */
static laze_status round_weight(const resampling *r, laze_value *weight) {
  const laze_dtype dtype = (laze_dtype)r->type.dtype;
  if (!laze_dtype_is_float(dtype) || (r->how == LAZE_RESAMPLE_LINEAR && r->dims == 2)) return LAZE_OK;
  LAZE_TRY(laze_compose_to(r->recorder, *weight, dtype, weight, r->error));
  return laze_compose_to(r->recorder, *weight, compute_dtype(r), weight, r->error);
}

/* The weights of the elements from `first` on, of which there are 2 or 4. */
static laze_status find_weights(const resampling *r, laze_value part, laze_value *out) {
  if (r->how == LAZE_RESAMPLE_CUBIC) {
    LAZE_TRY(laze_compose_cubic_weights(r->recorder, part, out, r->error));
    for (int i = 0; i < 4; i++) LAZE_TRY(round_weight(r, &out[i]));
    return LAZE_OK;
  }
  out[1] = part;
  LAZE_TRY(round_weight(r, &out[1]));
  LAZE_TRY(laze_compose_unary(r->recorder, LAZE_OP_NEG, out[1], &out[0], r->error));
  LAZE_TRY(with_number(r, LAZE_OP_ADD, out[0], 1, &out[0]));
  return round_weight(r, &out[0]);
}

/* Sums along an axis of images of integers are integers again, rounded and within what these hold. */
static laze_status round_elements(const resampling *r, laze_value *value) {
  const laze_dtype dtype = (laze_dtype)r->type.dtype;
  if (laze_dtype_is_float(dtype) || r->dims != 2) return LAZE_OK;
  LAZE_TRY(with_number(r, LAZE_OP_ADD, *value, 0.5, value));
  LAZE_TRY(laze_compose_unary(r->recorder, LAZE_OP_FLOOR, *value, value, r->error));
  LAZE_TRY(with_number(r, LAZE_OP_MAXIMUM, *value, 0, value));
  return with_number(r, LAZE_OP_MINIMUM, *value, 255, value);
}

static laze_status resample_axis(const resampling *r, int dim, laze_value *value) {
  const int axis = r->type.rank - r->dims + dim, count = r->how == LAZE_RESAMPLE_CUBIC ? 4 : 2;
  const laze_size size = r->type.sizes[axis];
  laze_value places, floors, index, weights[4], sum = LAZE_VALUE_NONE;
  LAZE_TRY(find_places(r, dim, size, &places));
  LAZE_TRY(laze_compose_unary(r->recorder, LAZE_OP_FLOOR, places, &floors, r->error));
  LAZE_TRY(laze_compose_to(r->recorder, floors, LAZE_I64, &index, r->error));
  if (r->how == LAZE_RESAMPLE_NEAREST || r->how == LAZE_RESAMPLE_NEAREST_EXACT)
    return take(r, *value, axis, index, 0, value);
  LAZE_TRY(laze_compose_binary(r->recorder, LAZE_OP_SUB, places, floors, &places, r->error));
  LAZE_TRY(find_weights(r, places, weights));
  for (int i = 0; i < count; i++) {
    laze_value elements;
    LAZE_TRY(take(r, *value, axis, index, i - (count == 4), &elements));
    LAZE_TRY(add_weighted(r, elements, axis, weights[i], &sum));
  }
  *value = sum;
  return round_elements(r, value);
}

static laze_status resample_under_curves(const resampling *r, int dim, laze_value *value) {
  const int axis = r->type.rank - r->dims + dim;
  laze_value step;
  LAZE_TRY(find_step(r, dim, r->type.sizes[axis], &step));
  LAZE_TRY(laze_compose_to(r->recorder, *value, compute_dtype(r), value, r->error));
  LAZE_TRY(
      laze_compose_antialiased(r->recorder, r->how == LAZE_RESAMPLE_CUBIC, axis, r->sizes[dim], step, value, r->error));
  return round_elements(r, value);
}

/* The innermost axis first, in the dtype that it is computed in. Floats of 16 bits are f32 from the start, also where
 * elements are only chosen: a gradient adds up what went to several places, axis by axis. */
static laze_status resample_all(const resampling *r, laze_value *out) {
  *out = r->call->operands[0];
  if (laze_dtype_is_half((laze_dtype)r->type.dtype))
    LAZE_TRY(laze_compose_to(r->recorder, *out, compute_dtype(r), out, r->error));
  for (int dim = r->dims; dim-- > 0;)
    LAZE_TRY(r->antialias ? resample_under_curves(r, dim, out) : resample_axis(r, dim, out));
  return laze_compose_to(r->recorder, *out, (laze_dtype)r->type.dtype, out, r->error);
}

static laze_status refuse(const resampling *r) {
  const laze_inference inference = {r->recorder->sizes, laze_compose_name(r->call), r->error};
  return laze_fail(
      r->error, LAZE_INVALID_ARGUMENT,
      "%s: got %s; expected %d dims of 1 element or more, but the first, and to come of them %d sizes of 1 "
      "or more, or as many scales above 0",
      inference.operator_name, laze_show(&inference, &r->type).text, r->dims + 2, r->dims);
}

static laze_status check_sizes(const resampling *r) {
  const bool fits = r->type.rank == r->dims + 2 && r->type.dtype != LAZE_BOOL &&
                    (laze_dtype_is_float((laze_dtype)r->type.dtype) || r->type.dtype == LAZE_U8);
  if (!fits) return refuse(r);
  for (int i = 1; i < r->dims + 2; i++) {
    bool any;
    LAZE_TRY(laze_size_must_be_at_most(r->recorder, 1, r->type.sizes[i], &any, r->error));
    if (any && i > 1) LAZE_TRY(laze_size_must_be_at_most(r->recorder, 1, r->sizes[i - 2], &any, r->error));
    if (!any) return refuse(r);
  }
  return LAZE_OK;
}

laze_status laze_compose_scaled_size(laze_recorder *recorder, const laze_call *call, laze_size size, double scale,
                                     laze_size *out, laze_error *error) {
  if (!(scale > 0))
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: a scale is %g, expected a number above 0",
                     laze_compose_name(call), scale);
  if (scale == floor(scale) && scale < INT32_MAX)
    return laze_size_arithmetic(recorder, '*', size, (laze_size)scale, out, error);
  if (!laze_size_is_constant(size) || scale * (double)size > (double)LAZE_MAX_ELEMENTS)
    return laze_fail(error, LAZE_UNSUPPORTED,
                     "%s: scale %g of a size that is not known, or too much; pass the size of the result",
                     laze_compose_name(call), scale);
  *out = (laze_size)((double)size * scale);
  return LAZE_OK;
}

/* output_size, or what scale_factors make of the sizes. */
static laze_status read_sizes(resampling *r) {
  const laze_op_info *info = laze_op_get(r->call->op);
  const laze_attribute *attributes = r->call->attributes;
  const laze_argument_info *factors = laze_op_argument(info, "scale_factors");
  const laze_attribute *given = &attributes[laze_op_argument(info, "output_size")->position];
  const laze_attribute *scales = factors ? &attributes[factors->position] : NULL;
  const bool by_scale = scales && scales->present;
  const int count = by_scale ? scales->count : given->count;
  if (r->type.rank != r->dims + 2 || (by_scale && given->present) || (!by_scale && !given->present)) return refuse(r);
  if (count != r->dims && (by_scale || count != 1)) return refuse(r);
  for (int i = 0; i < r->dims; i++) {
    r->scales[i] = by_scale ? scales->value.reals[i] : 0;
    if (by_scale)
      LAZE_TRY(
          laze_compose_scaled_size(r->recorder, r->call, r->type.sizes[2 + i], r->scales[i], &r->sizes[i], r->error));
    else
      r->sizes[i] = given->value.items[count == 1 ? 0 : i];
  }
  return LAZE_OK;
}

/* The scales of single axes, where there are such arguments: the last ones. */
static void read_scales(resampling *r) {
  static const char *const names[] = {"scales_d", "scales_h", "scales_w"};
  const laze_op_info *info = laze_op_get(r->call->op);
  for (int i = 0; i < r->dims; i++) {
    const laze_argument_info *argument = laze_op_argument(info, r->dims == 1 ? "scales" : names[3 - r->dims + i]);
    if (argument && r->call->attributes[argument->position].present)
      r->scales[i] = r->call->attributes[argument->position].value.real;
  }
}

static laze_status run(resampling *r, laze_value *results) {
  const laze_argument_info *align = laze_op_argument(laze_op_get(r->call->op), "align_corners");
  r->align = align && r->call->attributes[align->position].value.integer != 0;
  r->type = laze_compose_type(r->recorder, r->call->operands[0]);
  LAZE_TRY(read_sizes(r));
  LAZE_TRY(check_sizes(r));
  read_scales(r);
  return resample_all(r, results);
}

static laze_status resample(laze_recorder *recorder, const laze_call *call, laze_resampling how, int dims,
                            laze_value *results, laze_error *error) {
  return run(&(resampling){.recorder = recorder, .call = call, .how = how, .dims = dims, .error = error}, results);
}

static laze_status antialias(laze_recorder *recorder, const laze_call *call, laze_resampling how, laze_value *results,
                             laze_error *error) {
  return run(
      &(resampling){.recorder = recorder, .call = call, .how = how, .antialias = true, .dims = 2, .error = error},
      results);
}

laze_status laze_composite_upsample_nearest1d(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                              laze_error *error) {
  return resample(recorder, call, LAZE_RESAMPLE_NEAREST, 1, results, error);
}
laze_status laze_composite_upsample_nearest1d_vec(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                                  laze_error *error) {
  return resample(recorder, call, LAZE_RESAMPLE_NEAREST, 1, results, error);
}
laze_status laze_composite_upsample_nearest2d(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                              laze_error *error) {
  return resample(recorder, call, LAZE_RESAMPLE_NEAREST, 2, results, error);
}
laze_status laze_composite_upsample_nearest2d_vec(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                                  laze_error *error) {
  return resample(recorder, call, LAZE_RESAMPLE_NEAREST, 2, results, error);
}
laze_status laze_composite_upsample_nearest3d(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                              laze_error *error) {
  return resample(recorder, call, LAZE_RESAMPLE_NEAREST, 3, results, error);
}
laze_status laze_composite_upsample_nearest3d_vec(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                                  laze_error *error) {
  return resample(recorder, call, LAZE_RESAMPLE_NEAREST, 3, results, error);
}
laze_status laze_composite__upsample_nearest_exact1d(laze_recorder *recorder, const laze_call *call,
                                                     laze_value *results, laze_error *error) {
  return resample(recorder, call, LAZE_RESAMPLE_NEAREST_EXACT, 1, results, error);
}
laze_status laze_composite__upsample_nearest_exact1d_vec(laze_recorder *recorder, const laze_call *call,
                                                         laze_value *results, laze_error *error) {
  return resample(recorder, call, LAZE_RESAMPLE_NEAREST_EXACT, 1, results, error);
}
laze_status laze_composite__upsample_nearest_exact2d(laze_recorder *recorder, const laze_call *call,
                                                     laze_value *results, laze_error *error) {
  return resample(recorder, call, LAZE_RESAMPLE_NEAREST_EXACT, 2, results, error);
}
laze_status laze_composite__upsample_nearest_exact2d_vec(laze_recorder *recorder, const laze_call *call,
                                                         laze_value *results, laze_error *error) {
  return resample(recorder, call, LAZE_RESAMPLE_NEAREST_EXACT, 2, results, error);
}
laze_status laze_composite__upsample_nearest_exact3d(laze_recorder *recorder, const laze_call *call,
                                                     laze_value *results, laze_error *error) {
  return resample(recorder, call, LAZE_RESAMPLE_NEAREST_EXACT, 3, results, error);
}
laze_status laze_composite__upsample_nearest_exact3d_vec(laze_recorder *recorder, const laze_call *call,
                                                         laze_value *results, laze_error *error) {
  return resample(recorder, call, LAZE_RESAMPLE_NEAREST_EXACT, 3, results, error);
}
laze_status laze_composite_upsample_linear1d(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                             laze_error *error) {
  return resample(recorder, call, LAZE_RESAMPLE_LINEAR, 1, results, error);
}
laze_status laze_composite_upsample_linear1d_vec(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                                 laze_error *error) {
  return resample(recorder, call, LAZE_RESAMPLE_LINEAR, 1, results, error);
}
laze_status laze_composite_upsample_bilinear2d(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                               laze_error *error) {
  return resample(recorder, call, LAZE_RESAMPLE_LINEAR, 2, results, error);
}
laze_status laze_composite_upsample_bilinear2d_vec(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                                   laze_error *error) {
  return resample(recorder, call, LAZE_RESAMPLE_LINEAR, 2, results, error);
}
laze_status laze_composite_upsample_trilinear3d(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                                laze_error *error) {
  return resample(recorder, call, LAZE_RESAMPLE_LINEAR, 3, results, error);
}
laze_status laze_composite_upsample_trilinear3d_vec(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                                    laze_error *error) {
  return resample(recorder, call, LAZE_RESAMPLE_LINEAR, 3, results, error);
}
laze_status laze_composite_upsample_bicubic2d(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                              laze_error *error) {
  return resample(recorder, call, LAZE_RESAMPLE_CUBIC, 2, results, error);
}
laze_status laze_composite_upsample_bicubic2d_vec(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                                  laze_error *error) {
  return resample(recorder, call, LAZE_RESAMPLE_CUBIC, 2, results, error);
}
laze_status laze_composite__upsample_bilinear2d_aa(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                                   laze_error *error) {
  return antialias(recorder, call, LAZE_RESAMPLE_LINEAR, results, error);
}
laze_status laze_composite__upsample_bilinear2d_aa_vec(laze_recorder *recorder, const laze_call *call,
                                                       laze_value *results, laze_error *error) {
  return antialias(recorder, call, LAZE_RESAMPLE_LINEAR, results, error);
}
laze_status laze_composite__upsample_bicubic2d_aa(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                                  laze_error *error) {
  return antialias(recorder, call, LAZE_RESAMPLE_CUBIC, results, error);
}
laze_status laze_composite__upsample_bicubic2d_aa_vec(laze_recorder *recorder, const laze_call *call,
                                                      laze_value *results, laze_error *error) {
  return antialias(recorder, call, LAZE_RESAMPLE_CUBIC, results, error);
}
