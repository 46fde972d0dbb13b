/* Sequences: numbers computed from the index, in i64 or f64, and converted once. */
#include "ir/composite/composite.h"

#include "ir/attribute.h"
#include "ir/composite.gen.h"
#include "ir/op.gen.h"

#include <math.h>
#include <stdio.h>

static bool is_whole(laze_scalar number) {
  return number.dtype != LAZE_F64;
}

typedef struct {
  laze_scalar start, end, step;
  laze_dtype dtype; /* NONE: follows from the numbers */
} sequence;

/* A number as text, for messages. */
typedef struct {
  char text[32];
} number_text;

static number_text show(laze_scalar number) {
  number_text shown;
  if (is_whole(number))
    snprintf(shown.text, sizeof shown.text, "%lld", (long long)number.value.integer);
  else
    snprintf(shown.text, sizeof shown.text, "%.15g", number.value.real);
  return shown;
}

static laze_status fail_sequence(const sequence *s, laze_status status, const char *why, laze_error *error) {
  return laze_fail(error, status, "arange: from %s to %s by %s in %s: %s", show(s->start).text, show(s->end).text,
                   show(s->step).text, laze_dtype_name(s->dtype), why);
}

static bool is_above(laze_scalar a, laze_scalar b) {
  return is_whole(a) && is_whole(b) ? a.value.integer > b.value.integer
                                    : laze_scalar_as_real(a) > laze_scalar_as_real(b);
}

static laze_status check_sequence(const sequence *s, laze_error *error) {
  const laze_scalar zero = laze_scalar_integer(0);
  if (s->dtype == LAZE_BOOL)
    return fail_sequence(s, LAZE_INVALID_ARGUMENT, "bool counts no further than 1; give another dtype", error);
  if (!isfinite(laze_scalar_as_real(s->start)) || !isfinite(laze_scalar_as_real(s->end)) ||
      !isfinite(laze_scalar_as_real(s->step)))
    return fail_sequence(s, LAZE_INVALID_ARGUMENT, "the numbers must be finite", error);
  if (laze_scalar_as_real(s->step) == 0)
    return fail_sequence(s, LAZE_INVALID_ARGUMENT, "the step must not be 0", error);
  if (is_above(s->step, zero) ? is_above(s->start, s->end) : is_above(s->end, s->start))
    return fail_sequence(s, LAZE_INVALID_ARGUMENT, "the step does not lead there; give it the other sign", error);
  return LAZE_OK;
}

/* Truncates a number that is to be used in i64. */
static laze_status truncate_number(const sequence *s, laze_scalar *number, laze_error *error) {
  if (is_whole(*number)) return LAZE_OK;
  if (fabs(number->value.real) >= 0x1p63)
    return fail_sequence(s, LAZE_OUT_OF_RANGE, "the numbers must fit i64, in which integers are computed", error);
  *number = laze_scalar_integer((int64_t)number->value.real);
  return LAZE_OK;
}

/* ceil((end - start) / step), in integers where the numbers are integers. */
static laze_status sequence_count(const sequence *s, laze_size *out, laze_error *error) {
  double count = ceil((laze_scalar_as_real(s->end) - laze_scalar_as_real(s->start)) / laze_scalar_as_real(s->step));
  if (is_whole(s->start) && is_whole(s->end) && is_whole(s->step)) {
    __int128 distance = (__int128)s->end.value.integer - s->start.value.integer, by = s->step.value.integer;
    distance = (distance + by - (by > 0 ? 1 : -1)) / by;
    count = (double)distance; /* beyond the limit below where it is not exact */
    *out = (laze_size)distance;
  } else if (count <= (double)LAZE_MAX_ELEMENTS) {
    *out = (laze_size)count;
  }
  if (count <= (double)LAZE_MAX_ELEMENTS) return LAZE_OK;
  return fail_sequence(s, LAZE_OUT_OF_RANGE, "no tensor has so many elements", error);
}

/* Refuses numbers that the dtype does not hold: the ends hold all others between them. Start and step are integers. */
static laze_status check_ends(const sequence *s, laze_size count, laze_error *error) {
  if (count == 0 || laze_dtype_is_float(s->dtype)) return LAZE_OK;
  const __int128 first = s->start.value.integer, last = first + (__int128)s->step.value.integer * (count - 1);
  const int64_t low = laze_dtype_lowest(s->dtype).value.integer, high = laze_dtype_highest(s->dtype).value.integer;
  if (first >= low && first <= high && last >= low && last <= high) return LAZE_OK;
  char why[128];
  snprintf(why, sizeof why, "not all of these fit in %s, which holds %lld to %lld; give a dtype that does",
           laze_dtype_name(s->dtype), (long long)low, (long long)high);
  return fail_sequence(s, LAZE_OVERFLOW, why, error);
}

/* i64 converts the bounds before it counts. The other dtypes count with the numbers as they were given, and integers
 * then convert start and step. */
static laze_status record_sequence(laze_recorder *recorder, sequence s, laze_value *out, laze_error *error) {
  const bool whole = is_whole(s.start) && is_whole(s.end) && is_whole(s.step);
  if (!s.dtype) s.dtype = whole ? LAZE_I64 : LAZE_F32;
  const bool in_integers = whole || !laze_dtype_is_float(s.dtype);
  const sequence given = s;
  laze_size count;
  LAZE_TRY(check_sequence(&s, error));
  if (in_integers) {
    LAZE_TRY(truncate_number(&given, &s.start, error));
    LAZE_TRY(truncate_number(&given, &s.step, error));
    if (s.dtype == LAZE_I64) LAZE_TRY(truncate_number(&given, &s.end, error));
    if (s.step.value.integer == 0) return fail_sequence(&given, LAZE_INVALID_ARGUMENT, "the step becomes 0", error);
  }
  LAZE_TRY(sequence_count(s.dtype == LAZE_I64 ? &s : &given, &count, error));
  if (in_integers) LAZE_TRY(check_ends(&s, count, error));
  LAZE_TRY(laze_compose_iota(recorder, &count, 1, 0, in_integers ? LAZE_I64 : LAZE_F64, out, error));
  if (laze_scalar_as_real(s.step) != 1)
    LAZE_TRY(laze_compose_with_number(recorder, LAZE_OP_MUL, *out, s.step, out, error));
  /* Adding a start of 0 matters where a negative step made -0.0 of the first index. */
  if (laze_scalar_as_real(s.start) != 0 || (!in_integers && laze_scalar_as_real(s.step) < 0))
    LAZE_TRY(laze_compose_with_number(recorder, LAZE_OP_ADD, *out, s.start, out, error));
  return laze_compose_to(recorder, *out, s.dtype, out, error);
}

laze_status laze_composite_arange(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                  laze_error *error) {
  sequence s = {laze_scalar_integer(0), call->attributes[LAZE_ARANGE_END].value.literal, laze_scalar_integer(1),
                (laze_dtype)call->attributes[LAZE_ARANGE_DTYPE].value.integer};
  return record_sequence(recorder, s, results, error);
}

laze_status laze_composite_arange_start(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                        laze_error *error) {
  sequence s = {call->attributes[LAZE_ARANGE_START_START].value.literal,
                call->attributes[LAZE_ARANGE_START_END].value.literal, laze_scalar_integer(1),
                (laze_dtype)call->attributes[LAZE_ARANGE_START_DTYPE].value.integer};
  return record_sequence(recorder, s, results, error);
}

laze_status laze_composite_arange_start_step(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                             laze_error *error) {
  sequence s = {call->attributes[LAZE_ARANGE_START_STEP_START].value.literal,
                call->attributes[LAZE_ARANGE_START_STEP_END].value.literal,
                call->attributes[LAZE_ARANGE_START_STEP_STEP].value.literal,
                (laze_dtype)call->attributes[LAZE_ARANGE_START_STEP_DTYPE].value.integer};
  return record_sequence(recorder, s, results, error);
}

/* number + sign * step * index, in f64. */
static laze_status line(laze_recorder *recorder, laze_value index, double number, double step, laze_value *out,
                        laze_error *error) {
  LAZE_TRY(laze_compose_with_number(recorder, LAZE_OP_MUL, index, laze_scalar_real(step), out, error));
  return laze_compose_with_number(recorder, LAZE_OP_ADD, *out, laze_scalar_real(number), out, error);
}

/* Numbers from and to complex ones: the parts are at equal distances, too. */
static laze_status complex_line(laze_recorder *recorder, const laze_call *call, laze_value *out, laze_error *error) {
  const laze_attribute *dtype = &call->attributes[LAZE_LINSPACE_DTYPE];
  const laze_dtype wanted = dtype->present ? (laze_dtype)dtype->value.integer : LAZE_C64;
  laze_value parts[2];
  if (!laze_dtype_is_complex(wanted))
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "linspace: from or to a complex number in %s; expected c64 or c128",
                     laze_dtype_name(wanted));
  for (int i = 0; i < 2; i++) {
    const laze_scalar start = call->attributes[LAZE_LINSPACE_START].value.literal,
                      end = call->attributes[LAZE_LINSPACE_END].value.literal;
    const double from = i ? start.imaginary : laze_scalar_as_real(start),
                 to = i ? end.imaginary : laze_scalar_as_real(end);
    const laze_attribute attributes[] = {
        laze_attribute_literal(laze_scalar_real(from)), laze_attribute_literal(laze_scalar_real(to)),
        call->attributes[LAZE_LINSPACE_STEPS], laze_attribute_dtype(laze_dtype_part(wanted))};
    LAZE_TRY(laze_record_call(recorder, LAZE_OP_LINSPACE, NULL, 0, attributes, &parts[i], error));
  }
  return laze_compose_binary(recorder, LAZE_OP_COMPLEX, parts[0], parts[1], out, error);
}

/* The first half counts from the start and the second from the end, so that both ends are met exactly. */
laze_status laze_composite_linspace(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                    laze_error *error) {
  double start = laze_scalar_as_real(call->attributes[LAZE_LINSPACE_START].value.literal),
         end = laze_scalar_as_real(call->attributes[LAZE_LINSPACE_END].value.literal);
  int64_t steps = call->attributes[LAZE_LINSPACE_STEPS].value.integer;
  laze_dtype dtype = call->attributes[LAZE_LINSPACE_DTYPE].present
                         ? (laze_dtype)call->attributes[LAZE_LINSPACE_DTYPE].value.integer
                         : LAZE_F32;
  if (!laze_dtype_is_float(dtype)) start = trunc(start), end = trunc(end); /* both ends are among the results */
  double step = steps > 1 ? (end - start) / (double)(steps - 1) : 0;
  laze_value index, from_end, choice[3];
  laze_size count = steps;
  if (laze_dtype_is_complex(dtype) ||
      laze_dtype_is_complex(call->attributes[LAZE_LINSPACE_START].value.literal.dtype) ||
      laze_dtype_is_complex(call->attributes[LAZE_LINSPACE_END].value.literal.dtype))
    return complex_line(recorder, call, results, error);
  if (dtype == LAZE_BOOL && steps > 1)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "linspace: dtype is bool, expected a dtype of numbers");
  if (steps < 0)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "linspace: steps is %lld, expected 0 or more", (long long)steps);
  LAZE_TRY(laze_compose_iota(recorder, &count, 1, 0, LAZE_F64, &index, error));
  LAZE_TRY(laze_compose_with_number(recorder, LAZE_OP_LT, index, laze_scalar_real((double)(steps + 1) / 2), &choice[0],
                                    error));
  LAZE_TRY(
      laze_compose_with_number(recorder, LAZE_OP_SUB, index, laze_scalar_real((double)steps - 1), &from_end, error));
  LAZE_TRY(line(recorder, index, start, step, &choice[1], error));
  LAZE_TRY(line(recorder, from_end, end, step, &choice[2], error));
  LAZE_TRY(laze_record_call(recorder, LAZE_OP_WHERE_SELF, choice, 3, NULL, results, error));
  return laze_compose_to(recorder, *results, dtype, results, error);
}

/* Zeros of the size that both operators name first; distances and orders mean nothing to values. */
static laze_status zeros(laze_recorder *recorder, const laze_call *call, laze_value *out, laze_error *error) {
  const laze_attribute *size = &call->attributes[0], *dtype = &call->attributes[2];
  return laze_compose_full(recorder, dtype->present ? (laze_dtype)dtype->value.integer : LAZE_F32,
                           laze_scalar_integer(0), size->value.items, size->count, out, error);
}

laze_status laze_composite_empty_strided(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                         laze_error *error) {
  const laze_attribute *size = &call->attributes[LAZE_EMPTY_STRIDED_SIZE],
                       *stride = &call->attributes[LAZE_EMPTY_STRIDED_STRIDE];
  if (size->count == stride->count) return zeros(recorder, call, results, error);
  return laze_fail(error, LAZE_INVALID_ARGUMENT, "empty_strided: %d sizes and %d distances; expected as many of both",
                   size->count, stride->count);
}

laze_status laze_composite_empty_permuted(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                          laze_error *error) {
  const laze_attribute *size = &call->attributes[LAZE_EMPTY_PERMUTED_SIZE],
                       *order = &call->attributes[LAZE_EMPTY_PERMUTED_PHYSICAL_LAYOUT];
  uint32_t seen = 0;
  bool fits = size->count == order->count && size->count <= LAZE_MAX_RANK;
  for (int32_t i = 0; i < order->count && fits; i++) {
    const laze_size axis = order->value.items[i];
    fits = axis >= 0 && axis < order->count && !(seen >> axis & 1);
    if (fits) seen |= 1u << axis;
  }
  if (fits) return zeros(recorder, call, results, error);
  return laze_fail(error, LAZE_INVALID_ARGUMENT, "empty_permuted: physical_layout must name each dim once");
}
