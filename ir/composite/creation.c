/* Sequences: numbers computed from the index, in i64 or f64, and converted once. */
#include "ir/composite/composite.h"

#include "ir/composite.gen.h"
#include "ir/op.gen.h"

#include <math.h>

static double as_real(laze_scalar number) {
  return number.dtype == LAZE_F64 ? number.value.real : (double)number.value.integer;
}
static bool is_whole(laze_scalar number) {
  return number.dtype != LAZE_F64;
}

typedef struct {
  laze_scalar start, end, step;
  laze_dtype dtype; /* NONE: follows from the numbers */
} sequence;

/* ceil((end - start) / step), at least 0. */
static laze_status sequence_count(const sequence *s, bool whole, laze_size *out, laze_error *error) {
  double start = as_real(s->start), end = as_real(s->end), step = as_real(s->step);
  if (!isfinite(start) || !isfinite(end) || !isfinite(step) || step == 0)
    return laze_fail(error, LAZE_INVALID_ARGUMENT,
                     "arange: got start %g, end %g, step %g, expected finite numbers and a step other than 0", start,
                     end, step);
  if ((end - start) / step < 0)
    return laze_fail(error, LAZE_INVALID_ARGUMENT,
                     "arange: a step of %g does not lead from %g to %g: give the step the other sign", step, start,
                     end);
  double count = ceil((end - start) / step);
  if (count > 4e18)
    return laze_fail(error, LAZE_OUT_OF_RANGE, "arange: %g numbers from %g to %g do not fit in memory", count, start,
                     end);
  *out = (laze_size)count;
  if (whole) {
    __int128 distance = (__int128)s->end.value.integer - s->start.value.integer, by = s->step.value.integer;
    *out = (laze_size)((distance + by - (by > 0 ? 1 : -1)) / by);
  }
  return LAZE_OK;
}

static laze_status record_sequence(laze_recorder *recorder, const sequence *s, laze_value *out, laze_error *error) {
  bool whole = is_whole(s->start) && is_whole(s->end) && is_whole(s->step);
  laze_dtype dtype = s->dtype ? s->dtype : whole ? LAZE_I64 : LAZE_F32;
  laze_size count;
  LAZE_TRY(sequence_count(s, whole, &count, error));
  LAZE_TRY(laze_compose_iota(recorder, &count, 1, 0, whole ? LAZE_I64 : LAZE_F64, out, error));
  if (as_real(s->step) != 1) LAZE_TRY(laze_compose_with_number(recorder, LAZE_OP_MUL, *out, s->step, out, error));
  if (as_real(s->start) != 0) LAZE_TRY(laze_compose_with_number(recorder, LAZE_OP_ADD, *out, s->start, out, error));
  return laze_compose_to(recorder, *out, dtype, out, error);
}

laze_status laze_composite_arange(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                  laze_error *error) {
  sequence s = {laze_scalar_integer(0), call->attributes[LAZE_ARANGE_END].value.literal, laze_scalar_integer(1),
                (laze_dtype)call->attributes[LAZE_ARANGE_DTYPE].value.integer};
  return record_sequence(recorder, &s, results, error);
}

laze_status laze_composite_arange_start(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                        laze_error *error) {
  sequence s = {call->attributes[LAZE_ARANGE_START_START].value.literal,
                call->attributes[LAZE_ARANGE_START_END].value.literal, laze_scalar_integer(1),
                (laze_dtype)call->attributes[LAZE_ARANGE_START_DTYPE].value.integer};
  return record_sequence(recorder, &s, results, error);
}

laze_status laze_composite_arange_start_step(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                             laze_error *error) {
  sequence s = {call->attributes[LAZE_ARANGE_START_STEP_START].value.literal,
                call->attributes[LAZE_ARANGE_START_STEP_END].value.literal,
                call->attributes[LAZE_ARANGE_START_STEP_STEP].value.literal,
                (laze_dtype)call->attributes[LAZE_ARANGE_START_STEP_DTYPE].value.integer};
  return record_sequence(recorder, &s, results, error);
}

/* number + sign * step * index, in f64. */
static laze_status line(laze_recorder *recorder, laze_value index, double number, double step, laze_value *out,
                        laze_error *error) {
  LAZE_TRY(laze_compose_with_number(recorder, LAZE_OP_MUL, index, laze_scalar_real(step), out, error));
  return laze_compose_with_number(recorder, LAZE_OP_ADD, *out, laze_scalar_real(number), out, error);
}

/* The first half counts from the start and the second from the end, so that both ends are met exactly. */
laze_status laze_composite_linspace(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                    laze_error *error) {
  double start = as_real(call->attributes[LAZE_LINSPACE_START].value.literal),
         end = as_real(call->attributes[LAZE_LINSPACE_END].value.literal);
  int64_t steps = call->attributes[LAZE_LINSPACE_STEPS].value.integer;
  laze_dtype dtype = call->attributes[LAZE_LINSPACE_DTYPE].present
                         ? (laze_dtype)call->attributes[LAZE_LINSPACE_DTYPE].value.integer
                         : LAZE_F32;
  double step = steps > 1 ? (end - start) / (double)(steps - 1) : 0;
  laze_value index, from_end, choice[3];
  laze_size count = steps;
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
