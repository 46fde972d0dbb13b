/* Windows of signals: weights that rise and fall, computed in f64 from the index n.
 *
 *   t = start + n * step    bartlett     1 - |t|        cosine         sin(t)
 *                           gaussian     e^(-t * t)     exponential    e^-|t|
 *                           a sum of cosines            a0 - a1 cos(t) + a2 cos(2 t) - ...
 */
#include "ir/composite/composite.h"

#include "ir/attribute.h"
#include "ir/composite.gen.h"
#include "ir/composite/support.h"
#include "ir/op.gen.h"

#include <math.h>

static const double PI = 3.14159265358979323846;

typedef struct {
  laze_recorder *recorder;
  laze_dtype dtype;
  int64_t length;
  bool symmetric;
} taper;

/* The first attribute is the length, the last two are sym and dtype. */
static laze_status begin(laze_recorder *recorder, const laze_call *call, taper *out, laze_error *error) {
  const laze_attribute *last = &call->attributes[laze_op_get(call->op)->attribute_count - 1];
  *out = (taper){.recorder = recorder,
                 .dtype = last->present ? (laze_dtype)last->value.integer : LAZE_F32,
                 .length = call->attributes[0].value.integer,
                 .symmetric = last[-1].value.integer != 0};
  if (out->length < 0 || out->length > LAZE_MAX_ELEMENTS)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: a window of %lld elements, expected 0 or more",
                     laze_compose_name(call), (long long)out->length);
  if (out->dtype == LAZE_F32 || out->dtype == LAZE_F64) return LAZE_OK;
  return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: dtype is %s, expected f32 or f64; convert the window to others",
                   laze_compose_name(call), laze_dtype_name(out->dtype));
}

/* What the period is divided into; of one element, the window is what its first element would be if it were the
 * middle. */
static double divisions(const taper *t) {
  return (double)(t->symmetric ? t->length - 1 : t->length);
}

static laze_status line(const taper *t, double start, double step, laze_value *out, laze_error *error) {
  const laze_size count = t->length;
  LAZE_TRY(laze_compose_iota(t->recorder, &count, 1, 0, LAZE_F64, out, error));
  LAZE_TRY(laze_compose_with_number(t->recorder, LAZE_OP_MUL, *out, laze_scalar_real(step), out, error));
  return laze_compose_with_number(t->recorder, LAZE_OP_ADD, *out, laze_scalar_real(start), out, error);
}

static laze_status finish(const taper *t, laze_value *value, laze_error *error) {
  return laze_compose_to(t->recorder, *value, t->dtype, value, error);
}

static laze_status one(const taper *t, laze_value *out, laze_error *error) {
  const laze_size sizes[1] = {t->length};
  return laze_compose_full(t->recorder, t->dtype, laze_scalar_integer(1), sizes, 1, out, error);
}

static laze_status cosines(const taper *t, const double *weights, int32_t count, laze_value *out, laze_error *error) {
  laze_value angle, term;
  if (t->length <= 1) return one(t, out, error);
  LAZE_TRY(line(t, 0, 2 * PI / divisions(t), &angle, error));
  LAZE_TRY(line(t, weights[0], 0, out, error));
  for (int32_t i = 1; i < count; i++) {
    const laze_scalar weight = laze_scalar_real(i % 2 == 0 ? weights[i] : -weights[i]);
    LAZE_TRY(laze_compose_with_number(t->recorder, LAZE_OP_MUL, angle, laze_scalar_real(i), &term, error));
    LAZE_TRY(laze_compose_unary(t->recorder, LAZE_OP_COS, term, &term, error));
    LAZE_TRY(laze_compose_with_number(t->recorder, LAZE_OP_MUL, term, weight, &term, error));
    LAZE_TRY(laze_compose_binary(t->recorder, LAZE_OP_ADD, *out, term, out, error));
  }
  return finish(t, out, error);
}

laze_status laze_composite_signal_windows_general_cosine(laze_recorder *recorder, const laze_call *call,
                                                         laze_value *results, laze_error *error) {
  const laze_attribute *weights = &call->attributes[LAZE_SIGNAL_WINDOWS_GENERAL_COSINE_A];
  taper t;
  LAZE_TRY(begin(recorder, call, &t, error));
  if (weights->count < 1)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: there are no weights, expected one at least",
                     laze_compose_name(call));
  return cosines(&t, weights->value.reals, weights->count, results, error);
}

laze_status laze_composite_signal_windows_general_hamming(laze_recorder *recorder, const laze_call *call,
                                                          laze_value *results, laze_error *error) {
  const double alpha = call->attributes[LAZE_SIGNAL_WINDOWS_GENERAL_HAMMING_ALPHA].value.real;
  taper t;
  LAZE_TRY(begin(recorder, call, &t, error));
  return cosines(&t, (double[]){alpha, 1 - alpha}, 2, results, error);
}

/* Its `periodic`, and alpha and beta behind that, stand where the others have `sym`. */
laze_status laze_composite_hamming_window(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                          laze_error *error) {
  const laze_attribute *attributes = call->attributes;
  taper t;
  LAZE_TRY(begin(recorder, call, &t, error));
  t.symmetric = attributes[LAZE_HAMMING_WINDOW_PERIODIC].value.integer == 0;
  return cosines(
      &t, (double[]){attributes[LAZE_HAMMING_WINDOW_ALPHA].value.real, attributes[LAZE_HAMMING_WINDOW_BETA].value.real},
      2, results, error);
}

laze_status laze_composite_signal_windows_blackman(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                                   laze_error *error) {
  static const double weights[] = {0.42, 0.5, 0.08};
  taper t;
  LAZE_TRY(begin(recorder, call, &t, error));
  return cosines(&t, weights, 3, results, error);
}

laze_status laze_composite_signal_windows_nuttall(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                                  laze_error *error) {
  static const double weights[] = {0.3635819, 0.4891775, 0.1365995, 0.0106411};
  taper t;
  LAZE_TRY(begin(recorder, call, &t, error));
  return cosines(&t, weights, 4, results, error);
}

laze_status laze_composite_signal_windows_bartlett(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                                   laze_error *error) {
  taper t;
  LAZE_TRY(begin(recorder, call, &t, error));
  if (t.length <= 1) return one(&t, results, error);
  LAZE_TRY(line(&t, -1, 2 / divisions(&t), results, error));
  LAZE_TRY(laze_compose_unary(recorder, LAZE_OP_ABS, *results, results, error));
  LAZE_TRY(laze_compose_unary(recorder, LAZE_OP_NEG, *results, results, error));
  LAZE_TRY(laze_compose_with_number(recorder, LAZE_OP_ADD, *results, laze_scalar_real(1), results, error));
  return finish(&t, results, error);
}

laze_status laze_composite_signal_windows_cosine(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                                 laze_error *error) {
  taper t;
  LAZE_TRY(begin(recorder, call, &t, error));
  if (t.length <= 1) return one(&t, results, error);
  const double step = PI / (double)(t.symmetric ? t.length : t.length + 1);
  LAZE_TRY(line(&t, 0.5 * step, step, results, error));
  LAZE_TRY(laze_compose_unary(recorder, LAZE_OP_SIN, *results, results, error));
  return finish(&t, results, error);
}

/* The middle, between the first element and the last, or the one behind it. */
static double middle(const taper *t) {
  return (double)(!t->symmetric && t->length > 1 ? t->length : t->length - 1) / 2;
}

laze_status laze_composite_signal_windows_exponential(laze_recorder *recorder, const laze_call *call,
                                                      laze_value *results, laze_error *error) {
  const laze_attribute *center = &call->attributes[LAZE_SIGNAL_WINDOWS_EXPONENTIAL_CENTER];
  const double tau = call->attributes[LAZE_SIGNAL_WINDOWS_EXPONENTIAL_TAU].value.real;
  taper t;
  LAZE_TRY(begin(recorder, call, &t, error));
  if (!(tau > 0) || (center->present && t.symmetric))
    return laze_fail(error, LAZE_INVALID_ARGUMENT,
                     "%s: tau is %g%s; expected a number above 0, and a center only without sym",
                     laze_compose_name(call), tau, center->present ? ", with a center" : "");
  const double from = center->present ? center->value.real : middle(&t);
  LAZE_TRY(line(&t, -from / tau, 1 / tau, results, error));
  LAZE_TRY(laze_compose_unary(recorder, LAZE_OP_ABS, *results, results, error));
  LAZE_TRY(laze_compose_unary(recorder, LAZE_OP_NEG, *results, results, error));
  LAZE_TRY(laze_compose_unary(recorder, LAZE_OP_EXP, *results, results, error));
  return finish(&t, results, error);
}

laze_status laze_composite_signal_windows_gaussian(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                                   laze_error *error) {
  const double std = call->attributes[LAZE_SIGNAL_WINDOWS_GAUSSIAN_STD].value.real;
  taper t;
  LAZE_TRY(begin(recorder, call, &t, error));
  if (!(std > 0))
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: std is %g, expected a number above 0", laze_compose_name(call),
                     std);
  LAZE_TRY(line(&t, -middle(&t) / (std * sqrt(2)), 1 / (std * sqrt(2)), results, error));
  LAZE_TRY(laze_compose_binary(recorder, LAZE_OP_MUL, *results, *results, results, error));
  LAZE_TRY(laze_compose_unary(recorder, LAZE_OP_NEG, *results, results, error));
  LAZE_TRY(laze_compose_unary(recorder, LAZE_OP_EXP, *results, results, error));
  return finish(&t, results, error);
}

laze_status laze_composite_signal_windows_kaiser(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                                 laze_error *error) {
  const double beta = call->attributes[LAZE_SIGNAL_WINDOWS_KAISER_BETA].value.real;
  laze_value whole;
  taper t;
  LAZE_TRY(begin(recorder, call, &t, error));
  if (!(beta >= 0))
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: beta is %g, expected 0 or more", laze_compose_name(call), beta);
  if (t.length <= 1) return one(&t, results, error);
  LAZE_TRY(line(&t, -1, 2 / divisions(&t), results, error));
  LAZE_TRY(laze_compose_binary(recorder, LAZE_OP_MUL, *results, *results, results, error));
  LAZE_TRY(laze_compose_unary(recorder, LAZE_OP_NEG, *results, results, error));
  LAZE_TRY(laze_compose_with_number(recorder, LAZE_OP_ADD, *results, laze_scalar_real(1), results, error));
  LAZE_TRY(laze_compose_with_number(recorder, LAZE_OP_MAXIMUM, *results, laze_scalar_real(0), results, error));
  LAZE_TRY(laze_compose_unary(recorder, LAZE_OP_SQRT, *results, results, error));
  LAZE_TRY(laze_compose_with_number(recorder, LAZE_OP_MUL, *results, laze_scalar_real(beta), results, error));
  LAZE_TRY(laze_compose_unary(recorder, LAZE_OP_I0, *results, results, error));
  LAZE_TRY(laze_record_number(recorder, LAZE_F64, laze_scalar_real(beta), &whole, error));
  LAZE_TRY(laze_compose_unary(recorder, LAZE_OP_I0, whole, &whole, error));
  LAZE_TRY(laze_compose_binary(recorder, LAZE_OP_DIV, *results, whole, results, error));
  return finish(&t, results, error);
}
