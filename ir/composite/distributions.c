/* Random numbers that need more than a formula: ranges of integers, places drawn by weight, dropout.
 *
 *   multinomial    each once: the places of the largest w / e, where e are exponential numbers, which is a race that
 *                  each place wins as often as its weight says
 *                  with replacement: where u times the sum of all lies among the running sums of w
 *                  a row without a weight above 0, or with one that is none, is an error: its places are none
 *   dropout        input * keep / (1 - p), keep = u >= p; of the shape of the input, or one for each channel
 *   alpha_dropout  what is not kept becomes -alpha, the limit of selu (alpha = 1.7581), and the whole is scaled and
 *                  shifted so that numbers of mean 0 and deviation 1 keep both (Klambauer et al. 2017, section 3.2)
 */
#include "ir/composite/composite.h"

#include "ir/composite.gen.h"
#include "ir/composite/support.h"
#include "ir/op.gen.h"

#include <math.h>

laze_status laze_composite_randint_low(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                       laze_error *error) {
  const laze_attribute *of = call->attributes, *dtype = &of[LAZE_RANDINT_LOW_DTYPE];
  laze_size low = of[LAZE_RANDINT_LOW_LOW].value.integer, high = of[LAZE_RANDINT_LOW_HIGH].value.integer, first, span;
  laze_value bound;
  bool some;
  LAZE_TRY(laze_size_arithmetic(recorder, '+', low, 1, &first, error));
  LAZE_TRY(laze_size_must_be_at_most(recorder, first, high, &some, error));
  if (!some)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: high is not above low; integers are drawn from [low, high)",
                     laze_compose_name(call));
  LAZE_TRY(laze_size_arithmetic(recorder, '-', high, low, &span, error));
  LAZE_TRY(
      laze_record_call(recorder, LAZE_OP__RANDOM_BITS, call->operands, 2, &of[LAZE_RANDINT_LOW_SIZE], results, error));
  LAZE_TRY(laze_compose_size(recorder, span, &bound, error));
  LAZE_TRY(laze_compose_binary(recorder, LAZE_OP_REMAINDER, *results, bound, results, error));
  LAZE_TRY(laze_compose_size(recorder, low, &bound, error));
  LAZE_TRY(laze_compose_binary(recorder, LAZE_OP_ADD, *results, bound, results, error));
  return laze_compose_to(recorder, *results, dtype->present ? (laze_dtype)dtype->value.integer : LAZE_I64, results,
                         error);
}

/* Uniform numbers of [0, 1); `state` are seed and offset. */
static laze_status draw(laze_recorder *recorder, const laze_value *state, const laze_size *sizes, int rank,
                        laze_dtype dtype, laze_value *out, laze_error *error) {
  laze_attribute attributes[] = {laze_attribute_sizes(sizes, rank), laze_attribute_dtype(dtype)};
  return laze_record_call(recorder, LAZE_OP_RAND_SEED, state, 2, attributes, out, error);
}

/* --- Places by weight --- */

static laze_status each_once(laze_recorder *recorder, const laze_call *call, laze_value weights, laze_value *out,
                             laze_error *error) {
  const laze_value operands[] = {weights, call->operands[1], call->operands[2]};
  laze_attribute rate[] = {laze_attribute_real(1)};
  laze_attribute largest[] = {call->attributes[LAZE_MULTINOMIAL_NUM_SAMPLES], laze_attribute_integer(-1),
                              laze_attribute_boolean(true), laze_attribute_boolean(true)};
  laze_value race, found[2];
  LAZE_TRY(laze_record_call(recorder, LAZE_OP_EXPONENTIAL, operands, 3, rate, &race, error));
  /* An exponential number may be 0, and a weight too: their quotient is to be none. */
  LAZE_TRY(laze_compose_with_number(recorder, LAZE_OP_ADD, race, laze_scalar_real(1e-30), &race, error));
  LAZE_TRY(laze_compose_binary(recorder, LAZE_OP_DIV, weights, race, &race, error));
  LAZE_TRY(laze_record_call(recorder, LAZE_OP_TOPK, &race, 1, largest, found, error));
  *out = found[1];
  return LAZE_OK;
}

static laze_status with_replacement(laze_recorder *recorder, const laze_call *call, laze_value weights, laze_value *out,
                                    laze_error *error) {
  const laze_type type = laze_compose_type(recorder, weights);
  const laze_size places = type.sizes[type.rank - 1],
                  drawn = call->attributes[LAZE_MULTINOMIAL_NUM_SAMPLES].value.integer;
  laze_size sizes[2] = {type.sizes[0], drawn}, before, last = -1;
  laze_attribute along[] = {laze_attribute_integer(-1), laze_attribute_absent(LAZE_ARGUMENT_DTYPE)};
  laze_attribute over[] = {laze_attribute_integers(&last, 1), laze_attribute_boolean(false),
                           laze_attribute_absent(LAZE_ARGUMENT_DTYPE)};
  laze_value sums, whole, at, most;
  LAZE_TRY(laze_record_call(recorder, LAZE_OP_CUMSUM, &weights, 1, along, &sums, error));
  LAZE_TRY(laze_size_arithmetic(recorder, '-', places, 1, &before, error));
  LAZE_TRY(laze_compose_slice(recorder, sums, type.rank - 1, before, places, &whole, error));
  LAZE_TRY(draw(recorder, call->operands + 1, type.rank == 1 ? &drawn : sizes, type.rank, (laze_dtype)type.dtype, &at,
                error));
  LAZE_TRY(laze_compose_binary(recorder, LAZE_OP_MUL, at, whole, &at, error));
  LAZE_TRY(laze_compose_insert_axis(recorder, at, type.rank, &at, error));
  LAZE_TRY(laze_compose_insert_axis(recorder, sums, type.rank - 1, &sums, error));
  LAZE_TRY(laze_compose_binary(recorder, LAZE_OP_LE, sums, at, out, error));
  LAZE_TRY(laze_record_call(recorder, LAZE_OP_SUM_DIM_INTLIST, out, 1, over, out, error));
  LAZE_TRY(laze_compose_size(recorder, before, &most, error)); /* where u times the sum is rounded up to the sum */
  return laze_compose_binary(recorder, LAZE_OP_MINIMUM, *out, most, out, error);
}

/* Whether the weights of each row are such: 0 or more, with a sum that is neither 0 nor infinite. NaN is none. */
static laze_status are_weights(laze_recorder *recorder, laze_value weights, laze_value *out, laze_error *error) {
  laze_size last = -1;
  laze_attribute over[] = {laze_attribute_integers(&last, 1), laze_attribute_boolean(true),
                           laze_attribute_absent(LAZE_ARGUMENT_DTYPE)};
  laze_value sum, least, below;
  LAZE_TRY(laze_record_call(recorder, LAZE_OP_SUM_DIM_INTLIST, &weights, 1, over, &sum, error));
  LAZE_TRY(laze_record_call(recorder, LAZE_OP_AMIN, &weights, 1, over, &least, error));
  LAZE_TRY(laze_compose_with_number(recorder, LAZE_OP_GE, least, laze_scalar_real(0), &least, error));
  LAZE_TRY(laze_compose_with_number(recorder, LAZE_OP_LT, sum, laze_scalar_real(INFINITY), &below, error));
  LAZE_TRY(laze_compose_with_number(recorder, LAZE_OP_GT, sum, laze_scalar_real(0), &sum, error));
  LAZE_TRY(laze_compose_binary(recorder, LAZE_OP_LOGICAL_AND, sum, below, &sum, error));
  return laze_compose_binary(recorder, LAZE_OP_LOGICAL_AND, sum, least, out, error);
}

/* Places of a row that has none to be drawn lie behind it, so that taking them fails. */
static laze_status check_places(laze_recorder *recorder, laze_value weights, laze_value *places, laze_error *error) {
  const laze_type type = laze_compose_type(recorder, weights);
  const laze_size count = type.sizes[type.rank - 1];
  laze_value chosen[3], all[2];
  LAZE_TRY(are_weights(recorder, weights, &chosen[0], error));
  chosen[1] = *places;
  LAZE_TRY(laze_compose_size(recorder, count, &chosen[2], error));
  LAZE_TRY(laze_record_call(recorder, LAZE_OP_WHERE_SELF, chosen, 3, NULL, &all[1], error));
  LAZE_TRY(laze_compose_iota(recorder, &count, 1, 0, LAZE_I64, &all[0], error));
  return laze_record_call(recorder, LAZE_OP_TAKE, all, 2, NULL, places, error);
}

laze_status laze_composite_multinomial(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                       laze_error *error) {
  const laze_type type = laze_compose_type(recorder, call->operands[0]);
  const laze_attribute *replacement = &call->attributes[LAZE_MULTINOMIAL_REPLACEMENT];
  laze_value weights;
  bool some;
  if (type.rank < 1 || type.rank > 2 || !laze_dtype_is_float((laze_dtype)type.dtype))
    return laze_fail(error, LAZE_INVALID_ARGUMENT,
                     "%s: self has dtype %s and %d dims; expected floats as a vector, or "
                     "as a matrix with weights in each row",
                     laze_compose_name(call), laze_dtype_name((laze_dtype)type.dtype), (int)type.rank);
  LAZE_TRY(laze_compose_refuse_empty(recorder, call, &type, type.rank - 1, error));
  LAZE_TRY(laze_size_must_be_at_most(recorder, 1, call->attributes[LAZE_MULTINOMIAL_NUM_SAMPLES].value.integer, &some,
                                     error));
  if (!some)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: num_samples is 0 or less; draw one place or more",
                     laze_compose_name(call));
  LAZE_TRY(laze_compose_to(recorder, call->operands[0], type.dtype == LAZE_F64 ? LAZE_F64 : LAZE_F32, &weights, error));
  LAZE_TRY(replacement->value.integer ? with_replacement(recorder, call, weights, results, error)
                                      : each_once(recorder, call, weights, results, error));
  return check_places(recorder, weights, results, error);
}

/* --- Dropout --- */

typedef struct {
  laze_recorder *recorder;
  const laze_call *call;
  laze_type type;
  double p;
  bool features; /* one number for each channel */
} dropout;

/* `nothing`: the input is the result. */
static laze_status begin(laze_recorder *recorder, const laze_call *call, bool features, dropout *out, bool *nothing,
                         laze_error *error) {
  const laze_attribute *train = &call->attributes[1]; /* of all of them */
  *out = (dropout){recorder, call, laze_compose_type(recorder, call->operands[0]), call->attributes[0].value.real,
                   features};
  *nothing = train->present && !train->value.integer;
  if (!(out->p >= 0 && out->p <= 1))
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: p is %g, expected a probability from 0 to 1",
                     laze_compose_name(call), out->p);
  if (!*nothing && !laze_dtype_is_float((laze_dtype)out->type.dtype))
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: the input is %s, expected floats; convert it with to(f32)",
                     laze_compose_name(call), laze_dtype_name((laze_dtype)out->type.dtype));
  if (!*nothing && features && out->type.rank < 2)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: the input has %d dims, expected 2 or more: a batch of channels",
                     laze_compose_name(call), (int)out->type.rank);
  return LAZE_OK;
}

/* Whether each element, or each channel, is kept: bool. */
static laze_status keep(const dropout *d, laze_value *out, laze_error *error) {
  laze_size sizes[LAZE_MAX_RANK];
  for (int i = 0; i < d->type.rank; i++) sizes[i] = d->features && i > 1 ? 1 : d->type.sizes[i];
  LAZE_TRY(draw(d->recorder, d->call->operands + 1, sizes, d->type.rank, LAZE_F32, out, error));
  return laze_compose_with_number(d->recorder, LAZE_OP_GE, *out, laze_scalar_real(d->p), out, error);
}

/* factor * kept, in the dtype of the input. */
static laze_status scaled(const dropout *d, laze_value kept, double factor, laze_value *out, laze_error *error) {
  LAZE_TRY(laze_compose_to(d->recorder, kept, (laze_dtype)d->type.dtype, out, error));
  return laze_compose_with_number(d->recorder, LAZE_OP_MUL, *out, laze_scalar_real(factor), out, error);
}

static laze_status drop(const dropout *d, laze_value kept, laze_value *out, laze_error *error) {
  LAZE_TRY(scaled(d, kept, d->p < 1 ? 1 / (1 - d->p) : 0, out, error));
  return laze_compose_binary(d->recorder, LAZE_OP_MUL, d->call->operands[0], *out, out, error);
}

static laze_status drop_to_alpha(const dropout *d, laze_value kept, laze_value *out, laze_error *error) {
  const double alpha = 1.7580993408473766, a = d->p < 1 ? 1 / sqrt((alpha * alpha * d->p + 1) * (1 - d->p)) : 0;
  laze_value shift;
  LAZE_TRY(scaled(d, kept, alpha * a, &shift, error));
  LAZE_TRY(laze_compose_with_number(d->recorder, LAZE_OP_ADD, shift, laze_scalar_real(alpha * a * (d->p - 1)), &shift,
                                    error));
  LAZE_TRY(scaled(d, kept, a, out, error));
  LAZE_TRY(laze_compose_binary(d->recorder, LAZE_OP_MUL, d->call->operands[0], *out, out, error));
  return laze_compose_binary(d->recorder, LAZE_OP_ADD, *out, shift, out, error);
}

typedef laze_status dropping(const dropout *d, laze_value kept, laze_value *out, laze_error *error);

static laze_status apply(laze_recorder *recorder, const laze_call *call, bool features, dropping *how,
                         laze_value *results, laze_error *error) {
  dropout d;
  laze_value kept;
  bool nothing;
  LAZE_TRY(begin(recorder, call, features, &d, &nothing, error));
  *results = call->operands[0];
  if (nothing || d.p == 0) return LAZE_OK;
  LAZE_TRY(keep(&d, &kept, error));
  return how(&d, kept, results, error);
}

laze_status laze_composite_dropout(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                   laze_error *error) {
  return apply(recorder, call, false, drop, results, error);
}

laze_status laze_composite_feature_dropout(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                           laze_error *error) {
  return apply(recorder, call, true, drop, results, error);
}

laze_status laze_composite_alpha_dropout(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                         laze_error *error) {
  return apply(recorder, call, false, drop_to_alpha, results, error);
}

laze_status laze_composite_feature_alpha_dropout(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                                 laze_error *error) {
  return apply(recorder, call, true, drop_to_alpha, results, error);
}

laze_status laze_composite_native_dropout(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                          laze_error *error) {
  dropout d;
  bool nothing;
  LAZE_TRY(begin(recorder, call, false, &d, &nothing, error));
  results[0] = call->operands[0];
  if (!nothing) {
    LAZE_TRY(keep(&d, &results[1], error));
    return drop(&d, results[1], &results[0], error);
  }
  return laze_compose_full(recorder, LAZE_BOOL, laze_scalar_integer(1), d.type.sizes, d.type.rank, &results[1], error);
}
