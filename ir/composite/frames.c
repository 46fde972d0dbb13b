/* Spectra of a signal's frames, and the signal of spectra:
 *
 *   stft     [b, len] ──windows──> [b, frames, n_fft] * window ──transform──> [b, frames, freqs] ──> [b, freqs, frames]
 *   istft    [b, freqs, frames] ──back──> [b, frames, n_fft] * window ──frames added where they overlap──> [b, len]
 *            divided by the squares of the window, added in the same way
 */
#include "ir/composite/composite.h"

#include "ir/attribute.h"
#include "ir/composite.gen.h"
#include "ir/composite/support.h"
#include "ir/op.gen.h"

typedef struct {
  laze_recorder *recorder;
  const laze_call *call;
  int64_t points, hop, length; /* of a frame; from one to the next; of the window in its middle */
  laze_value window;           /* of `length`, or none */
  int64_t scale;               /* a primitive's normalization */
} frames;

static laze_shape_text show(const frames *f, laze_value value) {
  const laze_inference inference = {f->recorder->sizes, laze_compose_name(f->call), NULL};
  return laze_show(&inference, laze_recorder_type(f->recorder, value));
}

static laze_status refuse_number(const frames *f, const char *name, int64_t number, int64_t most, laze_error *error) {
  if (number > 0 && number <= most) return LAZE_OK;
  return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: %s is %lld; 1 to %lld was expected", laze_compose_name(f->call),
                   name, (long long)number, (long long)most);
}

/* n_fft, hop_length and win_length are the first three attributes, the window is the second operand. */
static laze_status read_frames(frames *f, laze_error *error) {
  const laze_attribute *numbers = f->call->attributes;
  bool fits = true;
  f->points = numbers[0].value.integer;
  LAZE_TRY(refuse_number(f, "n_fft", f->points, INT32_MAX, error));
  f->hop = numbers[1].present ? numbers[1].value.integer : f->points / 4;
  f->length = numbers[2].present ? numbers[2].value.integer : f->points;
  LAZE_TRY(refuse_number(f, "win_length", f->length, f->points, error));
  LAZE_TRY(refuse_number(f, numbers[1].present ? "hop_length" : "n_fft / 4, the hop_length", f->hop, INT32_MAX, error));
  f->window = laze_call_operand(f->call, 1);
  if (laze_value_is_none(f->window)) return LAZE_OK;
  const laze_type type = laze_compose_type(f->recorder, f->window);
  if (type.rank == 1) LAZE_TRY(laze_size_must_equal(f->recorder, type.sizes[0], f->length, &fits, error));
  if (type.rank == 1 && fits) return LAZE_OK;
  return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: window is %s; as many numbers as win_length, %lld, were expected",
                   laze_compose_name(f->call), show(f, f->window).text, (long long)f->length);
}

/* Zeros in front of an axis and behind it. */
static laze_status put_around(const frames *f, laze_value *value, int axis, laze_size low, laze_size high,
                              laze_error *error) {
  const laze_dtype dtype = (laze_dtype)laze_recorder_type(f->recorder, *value)->dtype;
  const laze_attribute attributes[] = {laze_attribute_integer(axis), laze_attribute_size(low),
                                       laze_attribute_size(high)};
  laze_value operands[] = {*value, *value};
  LAZE_TRY(laze_record_number(f->recorder, dtype, laze_scalar_integer(0), &operands[1], error));
  return laze_record_call(f->recorder, LAZE_OP__PAD, operands, 2, attributes, value, error);
}

/* The window in the middle of a frame; of ones, where there is none. None where every point counts as it is. */
static laze_status place_window(frames *f, laze_dtype dtype, laze_error *error) {
  const laze_size length = f->length;
  const int64_t low = (f->points - f->length) / 2;
  if (laze_value_is_none(f->window)) {
    if (f->length == f->points) return LAZE_OK;
    LAZE_TRY(laze_compose_full(f->recorder, dtype, laze_scalar_integer(1), &length, 1, &f->window, error));
  }
  if (f->length == f->points) return LAZE_OK;
  return put_around(f, &f->window, 0, low, f->points - f->length - low, error);
}

static laze_status swap_last(const frames *f, laze_value *value, laze_error *error) {
  const int rank = laze_recorder_type(f->recorder, *value)->rank;
  return laze_compose_swap_axes(f->recorder, *value, rank - 2, rank - 1, value, error);
}

static bool is_complex(const frames *f, laze_value value) {
  return !laze_value_is_none(value) && laze_dtype_is_complex((laze_dtype)laze_recorder_type(f->recorder, value)->dtype);
}

/* One axis at least, two at most, of which the first counts signals; *out has both. */
static laze_status read_signal(const frames *f, laze_value *out, laze_error *error) {
  const laze_type type = laze_compose_type(f->recorder, f->call->operands[0]);
  *out = f->call->operands[0];
  if (!laze_dtype_is_inexact((laze_dtype)type.dtype) || laze_dtype_is_half((laze_dtype)type.dtype))
    return laze_fail(error, LAZE_INVALID_ARGUMENT,
                     "%s: self is %s; f32, f64 or complex numbers were expected; convert it with to(f32)",
                     laze_compose_name(f->call), show(f, *out).text);
  if (type.rank != 1 && type.rank != 2)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: self is %s; a signal or a list of signals was expected",
                     laze_compose_name(f->call), show(f, *out).text);
  return type.rank == 2 ? LAZE_OK : laze_compose_insert_axis(f->recorder, *out, 0, out, error);
}

/* What stands around the signals: half a frame, so that the first frame's middle is its first point; or, where the
 * window's beginning is to be there, what a frame has around its window. */
static laze_status extend(const frames *f, const char *mode, bool aligned, laze_value *signal, laze_error *error) {
  const int64_t low = (f->points - f->length) / 2;
  const laze_size around[] = {f->points / 2, f->points / 2};
  if (mode) {
    const laze_attribute attributes[] = {
        laze_attribute_sizes(around, 2), laze_attribute_string(mode), {.kind = LAZE_ARGUMENT_FLOAT}};
    return laze_record_call(f->recorder, LAZE_OP_PAD, signal, 1, attributes, signal, error);
  }
  return aligned ? put_around(f, signal, 1, low, f->points - f->length - low, error) : LAZE_OK;
}

/* The frames [b, frames, n_fft] of signals [b, len]. */
static laze_status cut(const frames *f, laze_value *signal, laze_error *error) {
  const laze_attribute attributes[] = {laze_attribute_integer(1), laze_attribute_integer(f->points),
                                       laze_attribute_integer(f->hop)};
  const laze_size length = laze_recorder_type(f->recorder, *signal)->sizes[1];
  bool fits;
  LAZE_TRY(laze_size_must_be_at_most(f->recorder, f->points, length, &fits, error));
  if (!fits)
    return laze_fail(error, LAZE_INVALID_ARGUMENT,
                     "%s: n_fft is %lld, more than the points of self, %s; pass a smaller one, or pad self",
                     laze_compose_name(f->call), (long long)f->points, show(f, *signal).text);
  return laze_record_call(f->recorder, LAZE_OP_UNFOLD, signal, 1, attributes, signal, error);
}

static laze_status transform(const frames *f, const laze_attribute *onesided, laze_value *value, laze_error *error) {
  const bool complex = is_complex(f, *value), half = onesided->present ? onesided->value.integer != 0 : !complex;
  const laze_size axis = 2;
  const laze_attribute attributes[] = {laze_attribute_integers(&axis, 1), laze_attribute_integer(f->scale),
                                       laze_attribute_boolean(complex || half)};
  if (complex && half)
    return laze_fail(error, LAZE_INVALID_ARGUMENT,
                     "%s: onesided is true, but self or window is complex, so that no half of a spectrum gives the "
                     "other; pass onesided=false",
                     laze_compose_name(f->call));
  return laze_record_call(f->recorder, complex ? LAZE_OP__FFT_C2C : LAZE_OP__FFT_R2C, value, 1, attributes, value,
                          error);
}

/* `mode`: how signals are extended, NULL: not. `options`: normalized, onesided, return_complex, align_to_window. */
static laze_status make_spectra(laze_recorder *recorder, const laze_call *call, const char *mode,
                                const laze_attribute *options, laze_value *results, laze_error *error) {
  frames f = {.recorder = recorder, .call = call, .scale = options[0].value.integer != 0};
  const bool one = laze_recorder_type(recorder, call->operands[0])->rank == 1;
  const bool aligned = options[3].present && options[3].value.integer != 0;
  LAZE_TRY(read_frames(&f, error));
  LAZE_TRY(read_signal(&f, results, error));
  if (mode && options[3].present)
    return laze_fail(error, LAZE_INVALID_ARGUMENT,
                     "%s: align_to_window is given where frames are centered; pass one of both, or center=false",
                     laze_compose_name(call));
  if (!options[2].present && !is_complex(&f, *results) && !is_complex(&f, f.window))
    return laze_fail(error, LAZE_INVALID_ARGUMENT,
                     "%s: return_complex is not given; pass true, or false for real and imaginary parts",
                     laze_compose_name(call));
  LAZE_TRY(extend(&f, mode, aligned, results, error));
  LAZE_TRY(cut(&f, results, error));
  LAZE_TRY(place_window(&f, laze_dtype_part((laze_dtype)laze_recorder_type(recorder, *results)->dtype), error));
  if (!laze_value_is_none(f.window))
    LAZE_TRY(laze_compose_binary(recorder, LAZE_OP_MUL, *results, f.window, results, error));
  LAZE_TRY(transform(&f, &options[1], results, error));
  LAZE_TRY(swap_last(&f, results, error));
  if (one) LAZE_TRY(laze_compose_drop_axis(recorder, *results, 0, results, error));
  if (!options[2].present || options[2].value.integer != 0) return LAZE_OK;
  return laze_compose_unary(recorder, LAZE_OP_VIEW_AS_REAL, *results, results, error);
}

laze_status laze_composite_stft(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                laze_error *error) {
  return make_spectra(recorder, call, NULL, &call->attributes[LAZE_STFT_NORMALIZED], results, error);
}

laze_status laze_composite_stft_center(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                       laze_error *error) {
  const bool center = call->attributes[LAZE_STFT_CENTER_CENTER].value.integer != 0;
  const char *mode = call->attributes[LAZE_STFT_CENTER_PAD_MODE].value.string;
  return make_spectra(recorder, call, center ? mode : NULL, &call->attributes[LAZE_STFT_CENTER_NORMALIZED], results,
                      error);
}

/* Spectra [b, freqs, frames] as [b, frames, freqs]; whether they are halves. */
static laze_status read_spectra(const frames *f, laze_value *out, bool *half, laze_error *error) {
  const laze_attribute *onesided = &f->call->attributes[LAZE_ISTFT_ONESIDED];
  const laze_type type = laze_compose_type(f->recorder, f->call->operands[0]);
  const laze_size points = f->points;
  bool fits = type.rank == 2 || type.rank == 3;
  *out = f->call->operands[0];
  if (!fits || !laze_dtype_is_complex((laze_dtype)type.dtype))
    return laze_fail(error, LAZE_INVALID_ARGUMENT,
                     "%s: self is %s; complex numbers were expected, frequencies by frames, as stft gives them",
                     laze_compose_name(f->call), show(f, *out).text);
  const laze_size freqs = type.sizes[type.rank - 2];
  LAZE_TRY(laze_size_is_equal(f->recorder, freqs, points, &fits, error));
  *half = onesided->present ? onesided->value.integer != 0 : !fits;
  LAZE_TRY(laze_size_must_equal(f->recorder, freqs, *half ? points / 2 + 1 : points, &fits, error));
  if (fits) LAZE_TRY(laze_size_must_be_at_most(f->recorder, 1, type.sizes[type.rank - 1], &fits, error));
  if (!fits)
    return laze_fail(error, LAZE_INVALID_ARGUMENT,
                     "%s: self is %s; %lld frequencies, and a frame at least, were expected for n_fft %lld with "
                     "onesided=%s",
                     laze_compose_name(f->call), show(f, *out).text, (long long)(*half ? points / 2 + 1 : points),
                     (long long)points, *half ? "true" : "false");
  if (type.rank == 2) LAZE_TRY(laze_compose_insert_axis(f->recorder, *out, 0, out, error));
  return swap_last(f, out, error);
}

/* Frames [b, frames, n_fft] of spectra, real ones where they are not asked to be complex. */
static laze_status transform_back(const frames *f, bool half, laze_value *value, laze_error *error) {
  const bool complex = f->call->attributes[LAZE_ISTFT_RETURN_COMPLEX].value.integer != 0;
  const laze_size axis = 2;
  const laze_attribute attributes[] = {laze_attribute_integers(&axis, 1), laze_attribute_integer(f->scale),
                                       complex ? laze_attribute_boolean(false) : laze_attribute_size(f->points)};
  if (complex ? half : is_complex(f, f->window))
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: return_complex is %s, but %s; pass %s, or return_complex=%s",
                     laze_compose_name(f->call), complex ? "true" : "false",
                     complex ? "halves of spectra give real numbers" : "window is complex",
                     complex ? "all frequencies, onesided=false" : "a real one", complex ? "false" : "true");
  if (!complex && !half) LAZE_TRY(laze_compose_slice(f->recorder, *value, axis, 0, f->points / 2 + 1, value, error));
  return laze_record_call(f->recorder, complex ? LAZE_OP__FFT_C2C : LAZE_OP__FFT_C2R, value, 1, attributes, value,
                          error);
}

/* Frames [b, frames, n_fft] added where they overlap: [b, length]. */
static laze_status overlap(const frames *f, laze_value value, laze_size length, laze_value *out, laze_error *error) {
  const laze_size batch = laze_recorder_type(f->recorder, value)->sizes[0], size[] = {1, length};
  const laze_size kernel[] = {1, f->points}, none[] = {0, 0}, ones[] = {1, 1}, stride[] = {1, f->hop};
  const laze_size shape[] = {batch, length};
  const laze_attribute attributes[] = {laze_attribute_sizes(size, 2), laze_attribute_integers(kernel, 2),
                                       laze_attribute_integers(ones, 2), laze_attribute_integers(none, 2),
                                       laze_attribute_integers(stride, 2)};
  LAZE_TRY(swap_last(f, &value, error));
  LAZE_TRY(laze_record_call(f->recorder, LAZE_OP_COL2IM, &value, 1, attributes, out, error));
  return laze_compose_reshape(f->recorder, *out, shape, 2, out, error);
}

/* The squares of the window, added as frames are: [1, length]. */
static laze_status make_envelope(const frames *f, laze_size count, laze_size length, laze_value *out,
                                 laze_error *error) {
  const laze_size shape[] = {1, count, f->points};
  LAZE_TRY(laze_compose_unary(f->recorder, LAZE_OP_SQUARE, f->window, out, error));
  LAZE_TRY(laze_compose_expand(f->recorder, *out, shape, 3, out, error));
  return overlap(f, *out, length, out, error);
}

/* The points that are wanted: `start` to `end`, with zeros where there are none. */
static laze_status trim(const frames *f, laze_value *signal, laze_size length, laze_error *error) {
  const laze_attribute *wanted = &f->call->attributes[LAZE_ISTFT_LENGTH];
  const bool center = f->call->attributes[LAZE_ISTFT_CENTER].value.integer != 0;
  const laze_size start = center ? f->points / 2 : 0;
  laze_size end, missing;
  bool fits;
  LAZE_TRY(laze_size_arithmetic(f->recorder, wanted->present ? '+' : '-',
                                wanted->present ? wanted->value.integer : length, start, &end, error));
  LAZE_TRY(laze_size_may_be_at_most(f->recorder, end, length, &fits, error));
  LAZE_TRY(laze_compose_slice(f->recorder, *signal, 1, start, fits ? end : length, signal, error));
  if (fits) return LAZE_OK;
  LAZE_TRY(laze_size_arithmetic(f->recorder, '-', end, length, &missing, error));
  return put_around(f, signal, 1, 0, missing, error);
}

/* What a signal is divided by, and the signal, before it is cut to what is wanted. */
static laze_status join(frames *f, laze_value *value, laze_error *error) {
  const laze_type type = laze_compose_type(f->recorder, *value);
  const laze_size points = f->points;
  laze_size length;
  laze_value envelope;
  LAZE_TRY(laze_size_arithmetic(f->recorder, '-', type.sizes[1], 1, &length, error));
  LAZE_TRY(laze_size_arithmetic(f->recorder, '*', length, f->hop, &length, error));
  LAZE_TRY(laze_size_arithmetic(f->recorder, '+', length, points, &length, error));
  LAZE_TRY(place_window(f, laze_dtype_part((laze_dtype)type.dtype), error));
  if (laze_value_is_none(f->window)) {
    LAZE_TRY(laze_compose_full(f->recorder, laze_dtype_part((laze_dtype)type.dtype), laze_scalar_integer(1), &points, 1,
                               &f->window, error));
  }
  LAZE_TRY(laze_compose_binary(f->recorder, LAZE_OP_MUL, *value, f->window, value, error));
  LAZE_TRY(overlap(f, *value, length, value, error));
  LAZE_TRY(make_envelope(f, type.sizes[1], length, &envelope, error));
  LAZE_TRY(laze_compose_binary(f->recorder, LAZE_OP_DIV, *value, envelope, value, error));
  return trim(f, value, length, error);
}

laze_status laze_composite_istft(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                 laze_error *error) {
  const bool normalized = call->attributes[LAZE_ISTFT_NORMALIZED].value.integer != 0;
  const laze_attribute *length = &call->attributes[LAZE_ISTFT_LENGTH];
  const bool one = laze_recorder_type(recorder, call->operands[0])->rank == 2;
  frames f = {.recorder = recorder, .call = call, .scale = normalized ? 1 : 2};
  bool half;
  LAZE_TRY(read_frames(&f, error));
  LAZE_TRY(refuse_number(&f, "hop_length", f.hop, f.length, error));
  if (length->present) LAZE_TRY(refuse_number(&f, "length", length->value.integer, LAZE_MAX_ELEMENTS, error));
  LAZE_TRY(read_spectra(&f, results, &half, error));
  LAZE_TRY(transform_back(&f, half, results, error));
  LAZE_TRY(join(&f, results, error));
  return one ? laze_compose_drop_axis(recorder, *results, 0, results, error) : LAZE_OK;
}
