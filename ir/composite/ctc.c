/* Connectionist temporal classification: the likelihood of labels that are said in this order, each for some steps,
 * with or without a blank in between (Graves et al. 2006, equations 5 to 8).
 *
 *   labels a b      places  -  a  -  b  -        2 S + 1 of them, - is the blank
 *   step            place l comes from l, from l - 1, and from l - 2 where that has another label, and no blank
 *
 * The state is the logarithm of the likelihood of each place, [N, 2 S + 1], from step to step. Impossible is a number
 * far below all others and not the logarithm of 0, so that gradients of what is impossible are 0.
 */
#include "ir/composite/composite.h"

#include "ir/attribute.h"
#include "ir/composite.gen.h"
#include "ir/composite/support.h"
#include "ir/op.gen.h"

static const double impossible = -1e30;

typedef struct {
  laze_recorder *recorder;
  laze_dtype dtype;
  laze_size batch, places;
  int64_t steps;
  laze_value labels;    /* i64[N, 2 S + 1] */
  laze_value skips;     /* bool[N, 2 S + 1] */
  laze_value emissions; /* [T, N, 2 S + 1] */
  laze_value lengths;   /* of inputs, i64[N, 1] */
} paths;

static laze_status fill(laze_recorder *recorder, laze_dtype dtype, laze_scalar number, const laze_size *sizes, int rank,
                        laze_value *out, laze_error *error) {
  return laze_compose_full(recorder, dtype, number, sizes, rank, out, error);
}

static laze_status join(laze_recorder *recorder, laze_value a, laze_value b, laze_value *out, laze_error *error) {
  const laze_attribute last = laze_attribute_integer(-1);
  return laze_record_call(recorder, LAZE_OP_CAT, (const laze_value[]){a, b}, 2, &last, out, error);
}

/* Values of each place moved `by` places on, with `filler` in front. */
static laze_status shift(const paths *p, laze_value value, laze_dtype dtype, laze_scalar filler, int64_t by,
                         laze_value *out, laze_error *error) {
  const laze_size front[] = {p->batch, by};
  laze_value edge, whole;
  LAZE_TRY(fill(p->recorder, dtype, filler, front, 2, &edge, error));
  LAZE_TRY(join(p->recorder, edge, value, &whole, error));
  return laze_compose_slice(p->recorder, whole, 1, 0, p->places, out, error);
}

/* - a - b -, with blanks for what lies behind the end of the labels. */
static laze_status write_labels(paths *p, laze_value targets, laze_value counts, laze_size most, int64_t blank,
                                laze_error *error) {
  const laze_size one[] = {p->batch, most, 1}, column[] = {p->batch, 1}, row[] = {p->batch, most};
  laze_size sizes[] = {p->batch, 0};
  laze_value at, some, blanks, first;
  LAZE_TRY(laze_size_arithmetic(p->recorder, '-', p->places, 1, &sizes[1], error));
  LAZE_TRY(laze_compose_iota(p->recorder, row, 2, 1, LAZE_I64, &at, error));
  LAZE_TRY(laze_compose_binary(p->recorder, LAZE_OP_LT, at, counts, &some, error));
  LAZE_TRY(fill(p->recorder, LAZE_I64, laze_scalar_integer(blank), row, 2, &blanks, error));
  LAZE_TRY(laze_record_ternary(p->recorder, LAZE_OP_WHERE_SELF, some, targets, blanks, &targets, error));
  LAZE_TRY(laze_compose_reshape(p->recorder, targets, one, 3, &targets, error));
  LAZE_TRY(laze_compose_reshape(p->recorder, blanks, one, 3, &blanks, error));
  LAZE_TRY(join(p->recorder, targets, blanks, &targets, error));
  LAZE_TRY(laze_compose_reshape(p->recorder, targets, sizes, 2, &targets, error));
  LAZE_TRY(fill(p->recorder, LAZE_I64, laze_scalar_integer(blank), column, 2, &first, error));
  return join(p->recorder, first, targets, &p->labels, error);
}

/* Whether a place may be entered from the last but one: it has a label, and that has another. */
static laze_status find_skips(paths *p, int64_t blank, laze_error *error) {
  laze_value before, differs, blanks;
  LAZE_TRY(shift(p, p->labels, LAZE_I64, laze_scalar_integer(blank), 2, &before, error));
  LAZE_TRY(laze_compose_binary(p->recorder, LAZE_OP_NE, p->labels, before, &differs, error));
  LAZE_TRY(laze_compose_with_number(p->recorder, LAZE_OP_NE, p->labels, laze_scalar_integer(blank), &blanks, error));
  return laze_compose_binary(p->recorder, LAZE_OP_LOGICAL_AND, differs, blanks, &p->skips, error);
}

static laze_status find_emissions(paths *p, laze_value log_probs, laze_error *error) {
  const laze_size sizes[] = {p->steps, p->batch, p->places};
  const laze_attribute dim = laze_attribute_integer(2);
  laze_value operands[] = {log_probs, p->labels};
  LAZE_TRY(laze_compose_expand(p->recorder, p->labels, sizes, 3, &operands[1], error));
  LAZE_TRY(laze_record_call(p->recorder, LAZE_OP_GATHER, operands, 2, &dim, &p->emissions, error));
  return laze_compose_with_number(p->recorder, LAZE_OP_MAXIMUM, p->emissions, laze_scalar_real(impossible),
                                  &p->emissions, error);
}

/* The state one step on, where the input is as long. */
static laze_status advance(const paths *p, int64_t step, laze_value *state, laze_error *error) {
  const laze_size sizes[] = {p->batch, p->places};
  const laze_scalar never = laze_scalar_real(impossible);
  laze_value near, far, none, next, emission, goes_on;
  LAZE_TRY(shift(p, *state, p->dtype, never, 1, &near, error));
  LAZE_TRY(shift(p, *state, p->dtype, never, 2, &far, error));
  LAZE_TRY(laze_record_number(p->recorder, p->dtype, never, &none, error));
  LAZE_TRY(laze_record_ternary(p->recorder, LAZE_OP_WHERE_SELF, p->skips, far, none, &far, error));
  LAZE_TRY(laze_compose_binary(p->recorder, LAZE_OP_LOGADDEXP, *state, near, &next, error));
  LAZE_TRY(laze_compose_binary(p->recorder, LAZE_OP_LOGADDEXP, next, far, &next, error));
  LAZE_TRY(laze_compose_slice(p->recorder, p->emissions, 0, step, step + 1, &emission, error));
  LAZE_TRY(laze_compose_reshape(p->recorder, emission, sizes, 2, &emission, error));
  LAZE_TRY(laze_compose_binary(p->recorder, LAZE_OP_ADD, next, emission, &next, error));
  LAZE_TRY(laze_compose_with_number(p->recorder, LAZE_OP_GT, p->lengths, laze_scalar_integer(step), &goes_on, error));
  return laze_record_ternary(p->recorder, LAZE_OP_WHERE_SELF, goes_on, next, *state, state, error);
}

/* Before the first step, at the place before all others. */
static laze_status begin(const paths *p, laze_value *state, laze_error *error) {
  const laze_size row[] = {p->batch, p->places};
  laze_value at, first, zero, none;
  LAZE_TRY(laze_compose_iota(p->recorder, row, 2, 1, LAZE_I64, &at, error));
  LAZE_TRY(laze_compose_with_number(p->recorder, LAZE_OP_EQ, at, laze_scalar_integer(0), &first, error));
  LAZE_TRY(laze_record_number(p->recorder, p->dtype, laze_scalar_real(0), &zero, error));
  LAZE_TRY(laze_record_number(p->recorder, p->dtype, laze_scalar_real(impossible), &none, error));
  return laze_record_ternary(p->recorder, LAZE_OP_WHERE_SELF, first, zero, none, state, error);
}

/* The last label or the blank behind it, of which there is the blank alone where there are no labels. */
static laze_status finish(const paths *p, laze_value state, laze_value counts, laze_value *out, laze_error *error) {
  const laze_attribute dim = laze_attribute_integer(1);
  laze_value end, last, none, any, both[2];
  LAZE_TRY(laze_compose_with_number(p->recorder, LAZE_OP_MUL, counts, laze_scalar_integer(2), &end, error));
  LAZE_TRY(laze_compose_with_number(p->recorder, LAZE_OP_SUB, end, laze_scalar_integer(1), &last, error));
  LAZE_TRY(laze_compose_with_number(p->recorder, LAZE_OP_MAXIMUM, last, laze_scalar_integer(0), &last, error));
  LAZE_TRY(laze_record_call(p->recorder, LAZE_OP_GATHER, (const laze_value[]){state, end}, 2, &dim, &both[0], error));
  LAZE_TRY(laze_record_call(p->recorder, LAZE_OP_GATHER, (const laze_value[]){state, last}, 2, &dim, &both[1], error));
  LAZE_TRY(laze_compose_with_number(p->recorder, LAZE_OP_GT, counts, laze_scalar_integer(0), &any, error));
  LAZE_TRY(laze_record_number(p->recorder, p->dtype, laze_scalar_real(impossible), &none, error));
  LAZE_TRY(laze_record_ternary(p->recorder, LAZE_OP_WHERE_SELF, any, both[1], none, &both[1], error));
  LAZE_TRY(laze_compose_binary(p->recorder, LAZE_OP_LOGADDEXP, both[0], both[1], out, error));
  return laze_compose_reshape(p->recorder, *out, &p->batch, 1, out, error);
}

laze_status laze_composite__ctc_likelihood(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                           laze_error *error) {
  const laze_type log_probs = laze_compose_type(recorder, call->operands[0]),
                  targets = laze_compose_type(recorder, call->operands[1]);
  const int64_t blank = call->attributes[LAZE__CTC_LIKELIHOOD_BLANK].value.integer;
  paths p = {.recorder = recorder, .dtype = (laze_dtype)log_probs.dtype, .batch = log_probs.sizes[1]};
  laze_value counts, state;
  if (!laze_size_is_constant(log_probs.sizes[0]))
    return laze_fail(error, LAZE_UNSUPPORTED,
                     "ctc_loss: the number of steps of log_probs is not known; pass a tensor of a "
                     "known size");
  p.steps = log_probs.sizes[0];
  LAZE_TRY(laze_size_arithmetic(recorder, '*', targets.sizes[1], 2, &p.places, error));
  LAZE_TRY(laze_size_arithmetic(recorder, '+', p.places, 1, &p.places, error));
  LAZE_TRY(laze_compose_insert_axis(recorder, call->operands[2], 1, &p.lengths, error));
  LAZE_TRY(laze_compose_insert_axis(recorder, call->operands[3], 1, &counts, error));
  LAZE_TRY(write_labels(&p, call->operands[1], counts, targets.sizes[1], blank, error));
  LAZE_TRY(find_skips(&p, blank, error));
  LAZE_TRY(find_emissions(&p, call->operands[0], error));
  LAZE_TRY(begin(&p, &state, error));
  for (int64_t step = 0; step < p.steps; step++) LAZE_TRY(advance(&p, step, &state, error));
  return finish(&p, state, counts, results, error);
}

/* --- what is called */

static laze_status refuse(const laze_call *call, const char *what, laze_error *error) {
  return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: %s", laze_compose_name(call), what);
}

/* Lengths as i64[N]. */
static laze_status take_lengths(laze_recorder *recorder, const laze_call *call, int operand, laze_size batch,
                                laze_value *out, laze_error *error) {
  const laze_type type = laze_compose_type(recorder, call->operands[operand]);
  laze_size elements;
  bool fits;
  if (laze_dtype_is_inexact((laze_dtype)type.dtype) || type.dtype == LAZE_BOOL || type.rank > 1)
    return refuse(call, "lengths are integers, one for each sequence", error);
  LAZE_TRY(laze_size_product(recorder->sizes, type.sizes, type.rank, &elements, error));
  LAZE_TRY(laze_size_must_equal(recorder, elements, batch, &fits, error));
  if (!fits) return refuse(call, "there are not as many lengths as sequences in log_probs", error);
  LAZE_TRY(laze_compose_to(recorder, call->operands[operand], LAZE_I64, out, error));
  return laze_compose_reshape(recorder, *out, &batch, 1, out, error);
}

/* Targets as i64[N, S]: those that stand one behind the other are found by where each sequence's begin. */
static laze_status take_targets(laze_recorder *recorder, const laze_call *call, laze_value counts, laze_size batch,
                                laze_value *out, laze_error *error) {
  const laze_type type = laze_compose_type(recorder, call->operands[1]);
  const laze_attribute along[] = {laze_attribute_integer(0), laze_attribute_absent(LAZE_ARGUMENT_DTYPE)};
  const laze_size most = type.rank > 0 ? type.sizes[type.rank - 1] : 1, grid[] = {batch, most}, column[] = {batch, 1};
  laze_value flat, starts, at, last;
  laze_size before;
  bool fits;
  if (laze_dtype_is_inexact((laze_dtype)type.dtype) || type.dtype == LAZE_BOOL || type.rank < 1 || type.rank > 2)
    return refuse(call, "targets are integers, of 1 or 2 dims", error);
  LAZE_TRY(laze_compose_to(recorder, call->operands[1], LAZE_I64, out, error));
  if (type.rank == 2) {
    LAZE_TRY(laze_size_must_equal(recorder, type.sizes[0], batch, &fits, error));
    return fits ? LAZE_OK : refuse(call, "targets have not a row for each sequence in log_probs", error);
  }
  LAZE_TRY(laze_record_call(recorder, LAZE_OP_CUMSUM, &counts, 1, along, &starts, error));
  LAZE_TRY(laze_compose_binary(recorder, LAZE_OP_SUB, starts, counts, &starts, error));
  LAZE_TRY(laze_compose_reshape(recorder, starts, column, 2, &starts, error));
  LAZE_TRY(laze_compose_iota(recorder, grid, 2, 1, LAZE_I64, &at, error));
  LAZE_TRY(laze_compose_binary(recorder, LAZE_OP_ADD, at, starts, &at, error));
  /* What lies behind the last label is none, and not read. */
  LAZE_TRY(laze_size_arithmetic(recorder, '-', most, 1, &before, error));
  LAZE_TRY(laze_compose_size(recorder, before, &last, error));
  LAZE_TRY(laze_compose_binary(recorder, LAZE_OP_MINIMUM, at, last, &at, error));
  flat = *out;
  return laze_record_binary(recorder, LAZE_OP_TAKE, flat, at, out, error);
}

/* What both overloads have. */
typedef struct {
  laze_value lengths[2]; /* of inputs and of targets, i64[N] */
  int64_t blank;
  laze_attribute reduction, zero_infinity;
} request;

static laze_status read_log_probs(laze_recorder *recorder, const laze_call *call, int64_t blank, laze_value *out,
                                  laze_size *batch, laze_error *error) {
  const laze_type type = laze_compose_type(recorder, call->operands[0]);
  bool is_label;
  *out = call->operands[0];
  if (!laze_dtype_is_float((laze_dtype)type.dtype) || type.rank < 2 || type.rank > 3)
    return refuse(call, "log_probs are floats of 3 dims, steps, sequences and labels, or 2 of one sequence", error);
  LAZE_TRY(laze_size_must_be_at_most(recorder, blank + 1, type.sizes[type.rank - 1], &is_label, error));
  if (blank < 0 || !is_label) return refuse(call, "blank is no label of log_probs", error);
  if (type.rank == 2) LAZE_TRY(laze_compose_insert_axis(recorder, *out, 1, out, error));
  *batch = laze_compose_type(recorder, *out).sizes[1];
  return LAZE_OK;
}

static laze_status record_loss(laze_recorder *recorder, const laze_call *call, const request *asked,
                               laze_value log_probs, laze_size batch, laze_value *result, laze_error *error) {
  const bool single = laze_compose_type(recorder, call->operands[0]).rank == 2;
  const laze_attribute blank = laze_attribute_integer(asked->blank);
  const laze_attribute ends[] = {asked->reduction, asked->zero_infinity};
  laze_value operands[4] = {log_probs, log_probs, asked->lengths[0], asked->lengths[1]};
  LAZE_TRY(take_targets(recorder, call, asked->lengths[1], batch, &operands[1], error));
  LAZE_TRY(laze_record_unary(recorder, LAZE_OP__LOG_SHARES, log_probs, &operands[0], error));
  LAZE_TRY(laze_record_call(recorder, LAZE_OP__CTC_LIKELIHOOD, operands, 4, &blank, result, error));
  laze_value both[] = {*result, asked->lengths[1]};
  LAZE_TRY(laze_record_call(recorder, LAZE_OP__CTC_REDUCED, both, 2, ends, result, error));
  const bool drops = single && asked->reduction.value.integer == 0;
  return drops ? laze_compose_drop_axis(recorder, *result, 0, result, error) : LAZE_OK;
}

laze_status laze_composite_ctc_loss(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                    laze_error *error) {
  request asked = {.blank = call->attributes[LAZE_CTC_LOSS_BLANK].value.integer,
                   .reduction = call->attributes[LAZE_CTC_LOSS_REDUCTION],
                   .zero_infinity = call->attributes[LAZE_CTC_LOSS_ZERO_INFINITY]};
  laze_value log_probs;
  laze_size batch;
  LAZE_TRY(read_log_probs(recorder, call, asked.blank, &log_probs, &batch, error));
  for (int i = 0; i < 2; i++) LAZE_TRY(take_lengths(recorder, call, 2 + i, batch, &asked.lengths[i], error));
  return record_loss(recorder, call, &asked, log_probs, batch, results, error);
}

/* Lengths that are numbers, each from 0 to the most that there are. */
static laze_status write_lengths(laze_recorder *recorder, const laze_call *call, const laze_attribute *list,
                                 laze_size batch, laze_size most, laze_value *out, laze_error *error) {
  bool fits;
  LAZE_TRY(laze_size_must_equal(recorder, list->count, batch, &fits, error));
  if (!fits) return refuse(call, "there are not as many lengths as sequences in log_probs", error);
  for (int32_t i = 0; i < list->count; i++) {
    LAZE_TRY(laze_size_must_be_at_most(recorder, list->value.items[i], most, &fits, error));
    if (list->value.items[i] < 0 || !fits)
      return laze_fail(
          error, LAZE_INVALID_ARGUMENT,
          "%s: length %d is %lld; 0 or more were expected, and no more than log_probs has steps, or targets "
          "has labels",
          laze_compose_name(call), (int)i, (long long)list->value.items[i]);
  }
  const laze_size sizes = list->count;
  const laze_attribute attributes[] = {
      laze_attribute_dtype(LAZE_I64),
      laze_attribute_sizes(&sizes, 1),
      {.kind = LAZE_ARGUMENT_DATA,
       .present = true,
       .value.data = laze_data_of(list->value.items, list->count * (int64_t)sizeof *list->value.items)}};
  return laze_record_call(recorder, LAZE_OP_CONSTANT, NULL, 0, attributes, out, error);
}

laze_status laze_composite_ctc_loss_intlist(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                            laze_error *error) {
  const laze_attribute *lists = &call->attributes[LAZE_CTC_LOSS_INTLIST_INPUT_LENGTHS];
  const laze_type targets = laze_compose_type(recorder, call->operands[1]);
  request asked = {.blank = call->attributes[LAZE_CTC_LOSS_INTLIST_BLANK].value.integer,
                   .reduction = call->attributes[LAZE_CTC_LOSS_INTLIST_REDUCTION],
                   .zero_infinity = call->attributes[LAZE_CTC_LOSS_INTLIST_ZERO_INFINITY]};
  laze_value log_probs;
  laze_size batch, labels = 0;
  bool fits = targets.rank == 1 || targets.rank == 2;
  LAZE_TRY(read_log_probs(recorder, call, asked.blank, &log_probs, &batch, error));
  if (!fits) return refuse(call, "targets are integers, of 1 or 2 dims", error);
  const laze_size steps = laze_compose_type(recorder, log_probs).sizes[0];
  LAZE_TRY(write_lengths(recorder, call, &lists[0], batch, steps, &asked.lengths[0], error));
  LAZE_TRY(write_lengths(recorder, call, &lists[1], batch, targets.sizes[targets.rank - 1], &asked.lengths[1], error));
  for (int32_t i = 0; i < lists[1].count && targets.rank == 1; i++)
    LAZE_TRY(laze_size_arithmetic(recorder, '+', labels, lists[1].value.items[i], &labels, error));
  if (targets.rank == 1) LAZE_TRY(laze_size_must_equal(recorder, labels, targets.sizes[0], &fits, error));
  if (!fits) return refuse(call, "target_lengths do not add up to the labels in targets", error);
  return record_loss(recorder, call, &asked, log_probs, batch, results, error);
}
