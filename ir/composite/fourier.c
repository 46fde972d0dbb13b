/* Fourier transforms, made of three primitives with axes and a scale:
 *
 *   fft, fftn      _fft_c2c forward        of real numbers _fft_r2c, both halves
 *   ifft, ifftn    _fft_c2c backward       of real numbers the conjugate of the same
 *   rfft, rfftn    _fft_r2c, one half      ihfft, ihfftn   its conjugate
 *   irfft, irfftn  _fft_c2r                hfft, hfftn     of the conjugate
 *
 * All are one composite, which has s, dim and norm of them. Before that the axes that are transformed are cut, or
 * filled up with zeros, to the points that are asked for.
 */
#include "ir/composite/composite.h"

#include "ir/attribute.h"
#include "ir/composite.gen.h"
#include "ir/composite/support.h"
#include "ir/op.gen.h"

#include <string.h>

typedef enum { COMPLEX, FROM_REAL, TO_REAL } form;

typedef struct {
  laze_recorder *recorder;
  const char *name; /* of the operator that was called, for messages */
  laze_size_list s, dim;
  const laze_attribute *norm;
  form form;
  bool forward, several; /* several: a size of -1 in `s` is what the axis has */
  laze_value value;
  int count;
  laze_size axes[LAZE_MAX_RANK];
  laze_size points[LAZE_MAX_RANK]; /* along each axis */
  bool given[LAZE_MAX_RANK];       /* whether they were asked for */
} transform;

static laze_shape_text show(const transform *t) {
  const laze_inference inference = {t->recorder->sizes, t->name, NULL};
  return laze_show(&inference, laze_recorder_type(t->recorder, t->value));
}

/* The dtypes that the primitives have: integers become f32, and real numbers complex ones where those are needed. */
static laze_status convert(transform *t, laze_error *error) {
  const laze_dtype dtype = (laze_dtype)laze_recorder_type(t->recorder, t->value)->dtype;
  const laze_dtype computed = laze_dtype_is_inexact(dtype) ? dtype : LAZE_F32;
  if (laze_dtype_is_half(dtype))
    return laze_fail(error, LAZE_INVALID_ARGUMENT,
                     "%s: self is %s; there are no transforms of floats of 16 bits; convert it with to(f32)", t->name,
                     show(t).text);
  if (t->form == FROM_REAL && laze_dtype_is_complex(dtype))
    return laze_fail(error, LAZE_INVALID_ARGUMENT,
                     "%s: self is %s; real numbers were expected; pass real(self), or use %s for complex ones", t->name,
                     show(t).text, t->forward ? "fft_fftn" : "fft_ifftn");
  return laze_compose_to(t->recorder, t->value, t->form == TO_REAL ? laze_dtype_paired(computed) : computed, &t->value,
                         error);
}

/* The axes: those of the list, or the last ones, of which `s` has points, or all. */
static laze_status read_axes(transform *t, laze_error *error) {
  const int rank = laze_recorder_type(t->recorder, t->value)->rank;
  const int32_t count = t->dim.present ? t->dim.count : t->s.present ? t->s.count : rank;
  laze_inference inference = {t->recorder->sizes, t->name, error};
  uint32_t seen = 0;
  if (t->s.present && t->s.count != count)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: s has %d sizes and dim %d axes; pass as many of both", t->name,
                     t->s.count, count);
  if (count > rank)
    return laze_fail(error, LAZE_INVALID_ARGUMENT,
                     "%s: %s has %d axes, fewer than the %d that are to be transformed; name others, or reshape it",
                     t->name, show(t).text, rank, count);
  if (count == 0 && t->form != COMPLEX)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: no axis of %s is transformed; name one at least", t->name,
                     show(t).text);
  t->count = count;
  for (int i = 0; i < count; i++) {
    int axis = rank - count + i;
    if (t->dim.present) LAZE_TRY(laze_infer_axis(&inference, t->dim.items[i], rank, &axis));
    if (seen >> axis & 1)
      return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: axis %d of %s is listed twice in dim; list each axis once",
                       t->name, axis, show(t).text);
    seen |= 1u << axis;
    t->axes[i] = axis;
  }
  return LAZE_OK;
}

/* Points that were not asked for, of a spectrum's last axis: that of an even number. */
static laze_status points_of_half(transform *t, laze_size half, laze_size *out, laze_error *error) {
  LAZE_TRY(laze_size_arithmetic(t->recorder, '-', half, 1, out, error));
  return laze_size_arithmetic(t->recorder, '*', *out, 2, out, error);
}

static laze_status read_points(transform *t, laze_error *error) {
  const laze_type type = laze_compose_type(t->recorder, t->value);
  const laze_inference inference = {t->recorder->sizes, t->name, error};
  for (int i = 0; i < t->count; i++) {
    const bool half = t->form == TO_REAL && i == t->count - 1;
    bool some;
    t->given[i] = t->s.present && !(t->several && t->s.items[i] == -1);
    t->points[i] = t->given[i] ? t->s.items[i] : type.sizes[t->axes[i]];
    if (!t->given[i] && half) LAZE_TRY(points_of_half(t, t->points[i], &t->points[i], error));
    LAZE_TRY(laze_size_must_be_at_most(t->recorder, 1, t->points[i], &some, error));
    if (!some)
      return laze_fail(error, LAZE_INVALID_ARGUMENT,
                       "%s: a transform of %s points along axis %d of %s; 1 or more were expected%s",
                       inference.operator_name, laze_show_size(&inference, t->points[i]).text, (int)t->axes[i],
                       laze_show(&inference, &type).text, half && !t->given[i] ? ", which n or s gives" : "");
  }
  return LAZE_OK;
}

/* Cuts an axis to its first elements, or puts zeros behind them. */
static laze_status resize(transform *t, int axis, laze_size wanted, laze_error *error) {
  const laze_type type = laze_compose_type(t->recorder, t->value);
  laze_attribute attributes[] = {laze_attribute_integer(axis), laze_attribute_size(0), laze_attribute_size(0)};
  laze_value operands[] = {t->value, t->value};
  bool fits;
  LAZE_TRY(laze_size_may_equal(t->recorder, wanted, type.sizes[axis], &fits, error));
  if (fits) return LAZE_OK;
  LAZE_TRY(laze_size_may_be_at_most(t->recorder, wanted, type.sizes[axis], &fits, error));
  if (fits) return laze_compose_slice(t->recorder, t->value, axis, 0, wanted, &t->value, error);
  LAZE_TRY(laze_size_arithmetic(t->recorder, '-', wanted, type.sizes[axis], &attributes[2].value.size, error));
  LAZE_TRY(laze_record_number(t->recorder, (laze_dtype)type.dtype, laze_scalar_integer(0), &operands[1], error));
  return laze_record_call(t->recorder, LAZE_OP__PAD, operands, 2, attributes, &t->value, error);
}

static laze_status resize_all(transform *t, laze_error *error) {
  for (int i = 0; i < t->count; i++) {
    laze_size wanted = t->points[i];
    if (!t->given[i]) continue;
    if (t->form == TO_REAL && i == t->count - 1) { /* the half that is read */
      LAZE_TRY(laze_size_arithmetic(t->recorder, '/', wanted, 2, &wanted, error));
      LAZE_TRY(laze_size_arithmetic(t->recorder, '+', wanted, 1, &wanted, error));
    }
    LAZE_TRY(resize(t, (int)t->axes[i], wanted, error));
  }
  return LAZE_OK;
}

/* "backward" divides on the way back, "forward" on the way there, "ortho" by a root each time. */
static laze_status read_norm(const transform *t, int64_t *out, laze_error *error) {
  const char *name = t->norm->present ? t->norm->value.string : "backward";
  *out = 1;
  if (!strcmp(name, "ortho")) return LAZE_OK;
  *out = t->forward == !strcmp(name, "forward") ? 2 : 0;
  if (!strcmp(name, "backward") || !strcmp(name, "forward")) return LAZE_OK;
  return laze_fail(error, LAZE_INVALID_ARGUMENT,
                   "%s: norm is \"%s\"; \"backward\", \"forward\" or \"ortho\" was expected", t->name, name);
}

static laze_status conjugate(transform *t, laze_error *error) {
  return laze_compose_unary(t->recorder, LAZE_OP__CONJ, t->value, &t->value, error);
}

/* Records the primitive. Real numbers are transformed forward, and spectra to real numbers backward: the other
 * direction is that of the conjugate. */
static laze_status transform_axes(transform *t, laze_error *error) {
  const bool real = !laze_dtype_is_complex((laze_dtype)laze_recorder_type(t->recorder, t->value)->dtype);
  laze_attribute attributes[3] = {laze_attribute_integers(t->axes, t->count), laze_attribute_integer(0)};
  LAZE_TRY(read_norm(t, &attributes[1].value.integer, error));
  if (t->form == TO_REAL) {
    if (t->forward) LAZE_TRY(conjugate(t, error));
    attributes[2] = laze_attribute_size(t->points[t->count - 1]);
    return laze_record_call(t->recorder, LAZE_OP__FFT_C2R, &t->value, 1, attributes, &t->value, error);
  }
  if (real && t->count > 0) {
    attributes[2] = laze_attribute_boolean(t->form == FROM_REAL);
    LAZE_TRY(laze_record_call(t->recorder, LAZE_OP__FFT_R2C, &t->value, 1, attributes, &t->value, error));
    return t->forward ? LAZE_OK : conjugate(t, error);
  }
  const laze_dtype dtype = laze_dtype_paired((laze_dtype)laze_recorder_type(t->recorder, t->value)->dtype);
  attributes[2] = laze_attribute_boolean(t->forward);
  LAZE_TRY(laze_compose_to(t->recorder, t->value, dtype, &t->value, error));
  return laze_record_call(t->recorder, LAZE_OP__FFT_C2C, &t->value, 1, attributes, &t->value, error);
}

laze_status laze_composite__fourier(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                    laze_error *error) {
  const char *name = call->attributes[LAZE__FOURIER_FORM].value.string;
  transform t = {.recorder = recorder,
                 .name = laze_op_get(recorder->origin)->base,
                 .s = laze_attribute_list(&call->attributes[LAZE__FOURIER_S]),
                 .dim = laze_attribute_list(&call->attributes[LAZE__FOURIER_DIM]),
                 .norm = &call->attributes[LAZE__FOURIER_NORM],
                 .form = !strcmp(name, "to_real")     ? TO_REAL
                         : !strcmp(name, "from_real") ? FROM_REAL
                                                      : COMPLEX,
                 .forward = call->attributes[LAZE__FOURIER_FORWARD].value.integer != 0,
                 .several = call->attributes[LAZE__FOURIER_SEVERAL].value.integer != 0,
                 .value = call->operands[0]};
  LAZE_TRY(convert(&t, error));
  LAZE_TRY(read_axes(&t, error));
  LAZE_TRY(read_points(&t, error));
  LAZE_TRY(resize_all(&t, error));
  LAZE_TRY(transform_axes(&t, error));
  *results = t.value;
  return LAZE_OK;
}
