/* How many elements lie in each of some bins, side by side along an axis of numbers:
 *
 *   elements f32[n] ──> [n, 1] ──> lower <= element < upper, for all bins ──> bool[n, bins] ──> sum over elements
 *   edges    f32[bins + 1] ──> lower: all but the last, upper: all but the first
 *
 * The last bin has its upper edge as well. Nothing of [n, bins] is stored: it is read by the sum alone. */
#include "ir/composite/composite.h"

#include "ir/composite.gen.h"
#include "ir/composite/support.h"
#include "ir/op.gen.h"

#include <math.h>

/* What both operators say, and the values of one call. */
typedef struct {
  laze_recorder *recorder;
  const char *name;
  laze_type self;
  laze_value elements; /* flat */
  laze_value weights;  /* flat; LAZE_VALUE_NONE: each counts 1 */
  laze_value edges;
  laze_size edge_count, bins;
  bool density;
} histogram;

static laze_status flat(const histogram *h, laze_value value, laze_value *out, laze_error *error) {
  laze_size count;
  LAZE_TRY(laze_size_product(h->recorder->sizes, h->self.sizes, h->self.rank, &count, error));
  return laze_compose_reshape(h->recorder, value, &count, 1, out, error);
}

static laze_status add_weights(histogram *h, laze_value weights, laze_error *error) {
  h->weights = weights;
  if (laze_value_is_none(weights)) return LAZE_OK;
  laze_type type = laze_compose_type(h->recorder, weights);
  bool same = type.rank == h->self.rank && type.dtype == h->self.dtype;
  for (int i = 0; same && i < type.rank; i++)
    LAZE_TRY(laze_size_must_equal(h->recorder, type.sizes[i], h->self.sizes[i], &same, error));
  if (same) return flat(h, weights, &h->weights, error);
  return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: weight has another shape or dtype than self, expected the same",
                   h->name);
}

static laze_status begin(laze_recorder *recorder, const laze_call *call, int32_t weight, bool density, histogram *h,
                         laze_error *error) {
  *h = (histogram){.recorder = recorder, .name = laze_compose_name(call), .density = density};
  h->self = laze_compose_type(recorder, call->operands[0]);
  if (h->self.dtype != LAZE_F32 && h->self.dtype != LAZE_F64)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: self is %s, expected f32 or f64", h->name,
                     laze_dtype_name((laze_dtype)h->self.dtype));
  LAZE_TRY(flat(h, call->operands[0], &h->elements, error));
  return add_weights(h, laze_call_operand(call, weight), error);
}

static laze_status number(const histogram *h, double value, laze_value *out, laze_error *error) {
  return laze_record_number(h->recorder, LAZE_F64, laze_scalar_real(value), out, error);
}

/* --- Edges at equal distances --- */

/* The least and the greatest element, in f64; 0 and 1 where there is none. */
static laze_status find_bounds(const histogram *h, laze_value *bounds, laze_error *error) {
  laze_type type = laze_compose_type(h->recorder, h->elements);
  bool empty;
  LAZE_TRY(laze_size_may_equal(h->recorder, type.sizes[0], 0, &empty, error));
  for (int i = 0; i < 2; i++) {
    if (empty) {
      LAZE_TRY(number(h, i, &bounds[i], error));
      continue;
    }
    LAZE_TRY(laze_compose_unary(h->recorder, i ? LAZE_OP_AMAX : LAZE_OP_AMIN, h->elements, &bounds[i], error));
    LAZE_TRY(laze_compose_to(h->recorder, bounds[i], LAZE_F64, &bounds[i], error));
  }
  return LAZE_OK;
}

static laze_status given_bounds(const histogram *h, const laze_attribute *range, laze_value *bounds,
                                laze_error *error) {
  const double *ends = range->value.reals;
  if (range->count != 2)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: range has %d numbers, expected 2: the ends", h->name,
                     (int)range->count);
  if (!isfinite(ends[0]) || !isfinite(ends[1]) || ends[0] > ends[1])
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: range is %g to %g, expected finite numbers in that order",
                     h->name, ends[0], ends[1]);
  for (int i = 0; i < 2; i++) LAZE_TRY(number(h, ends[i], &bounds[i], error));
  return LAZE_OK;
}

/* Half a unit is added on both sides where the two are one number. */
static laze_status part_bounds(const histogram *h, laze_value *bounds, laze_error *error) {
  laze_value same;
  LAZE_TRY(laze_compose_binary(h->recorder, LAZE_OP_EQ, bounds[0], bounds[1], &same, error));
  for (int i = 0; i < 2; i++) {
    laze_value choice[3] = {same, LAZE_VALUE_NONE, bounds[i]};
    laze_scalar half = laze_scalar_real(i ? 0.5 : -0.5);
    LAZE_TRY(laze_compose_with_number(h->recorder, LAZE_OP_ADD, bounds[i], half, &choice[1], error));
    LAZE_TRY(laze_record_call(h->recorder, LAZE_OP_WHERE_SELF, choice, 3, NULL, &bounds[i], error));
  }
  return LAZE_OK;
}

/* The first half is counted from the lower end and the second from the upper one, so that both are met exactly. */
static laze_status place_edges(histogram *h, const laze_value *bounds, laze_error *error) {
  laze_recorder *r = h->recorder;
  laze_value step, index, offset, choice[3];
  double bins = (double)h->bins;
  LAZE_TRY(laze_compose_binary(r, LAZE_OP_SUB, bounds[1], bounds[0], &step, error));
  LAZE_TRY(laze_compose_with_number(r, LAZE_OP_DIV, step, laze_scalar_real(bins), &step, error));
  LAZE_TRY(laze_compose_iota(r, &h->edge_count, 1, 0, LAZE_F64, &index, error));
  LAZE_TRY(laze_compose_with_number(r, LAZE_OP_LT, index, laze_scalar_real(floor((bins + 1) / 2)), &choice[0], error));
  LAZE_TRY(laze_compose_binary(r, LAZE_OP_MUL, index, step, &offset, error));
  LAZE_TRY(laze_compose_binary(r, LAZE_OP_ADD, bounds[0], offset, &choice[1], error));
  LAZE_TRY(laze_compose_with_number(r, LAZE_OP_SUB, index, laze_scalar_real(bins), &offset, error));
  LAZE_TRY(laze_compose_binary(r, LAZE_OP_MUL, offset, step, &offset, error));
  LAZE_TRY(laze_compose_binary(r, LAZE_OP_ADD, bounds[1], offset, &choice[2], error));
  LAZE_TRY(laze_record_call(r, LAZE_OP_WHERE_SELF, choice, 3, NULL, &h->edges, error));
  return laze_compose_to(r, h->edges, (laze_dtype)h->self.dtype, &h->edges, error);
}

/* --- Counting --- */

/* bool[n, bins]: which elements lie in which bins. */
static laze_status mark_members(const histogram *h, laze_value lower, laze_value upper, laze_value *out,
                                laze_error *error) {
  laze_recorder *r = h->recorder;
  laze_value column, number, last, below, at;
  laze_size highest;
  LAZE_TRY(laze_size_arithmetic(r, '-', h->bins, 1, &highest, error));
  laze_attribute attributes[] = {laze_attribute_size(highest), laze_attribute_dtype(LAZE_I64)};
  LAZE_TRY(laze_compose_insert_axis(r, h->elements, 1, &column, error));
  LAZE_TRY(laze_compose_iota(r, &h->bins, 1, 0, LAZE_I64, &number, error));
  LAZE_TRY(laze_record_call(r, LAZE_OP_SIZE_TENSOR, NULL, 0, attributes, &last, error));
  LAZE_TRY(laze_compose_binary(r, LAZE_OP_EQ, number, last, &last, error));
  LAZE_TRY(laze_compose_binary(r, LAZE_OP_LT, column, upper, &below, error));
  LAZE_TRY(laze_compose_binary(r, LAZE_OP_EQ, column, upper, &at, error));
  LAZE_TRY(laze_compose_binary(r, LAZE_OP_LOGICAL_AND, at, last, &at, error));
  LAZE_TRY(laze_compose_binary(r, LAZE_OP_LOGICAL_OR, below, at, &below, error));
  LAZE_TRY(laze_compose_binary(r, LAZE_OP_GE, column, lower, out, error));
  return laze_compose_binary(r, LAZE_OP_LOGICAL_AND, *out, below, out, error);
}

static laze_status sum_members(const histogram *h, laze_value members, laze_value *out, laze_error *error) {
  const laze_size first = 0;
  laze_attribute over[] = {laze_attribute_integers(&first, 1), laze_attribute_boolean(false),
                           laze_attribute_absent(LAZE_ARGUMENT_DTYPE)};
  laze_value choice[3] = {members};
  LAZE_TRY(laze_record_number(h->recorder, (laze_dtype)h->self.dtype, laze_scalar_real(1), &choice[1], error));
  if (!laze_value_is_none(h->weights))
    LAZE_TRY(laze_compose_insert_axis(h->recorder, h->weights, 1, &choice[1], error));
  LAZE_TRY(laze_record_number(h->recorder, (laze_dtype)h->self.dtype, laze_scalar_real(0), &choice[2], error));
  LAZE_TRY(laze_record_call(h->recorder, LAZE_OP_WHERE_SELF, choice, 3, NULL, out, error));
  return laze_record_call(h->recorder, LAZE_OP_SUM_DIM_INTLIST, out, 1, over, out, error);
}

static laze_status count_members(const histogram *h, laze_value *results, laze_error *error) {
  laze_recorder *r = h->recorder;
  laze_value lower, upper, members, total, width;
  LAZE_TRY(laze_compose_slice(r, h->edges, 0, 0, h->bins, &lower, error));
  LAZE_TRY(laze_compose_slice(r, h->edges, 0, 1, h->edge_count, &upper, error));
  LAZE_TRY(mark_members(h, lower, upper, &members, error));
  LAZE_TRY(sum_members(h, members, &results[0], error));
  results[1] = h->edges;
  if (!h->density) return LAZE_OK;
  LAZE_TRY(laze_compose_unary(r, LAZE_OP_SUM, results[0], &total, error));
  LAZE_TRY(laze_compose_binary(r, LAZE_OP_DIV, results[0], total, &results[0], error));
  LAZE_TRY(laze_compose_binary(r, LAZE_OP_SUB, upper, lower, &width, error));
  return laze_compose_binary(r, LAZE_OP_DIV, results[0], width, &results[0], error);
}

laze_status laze_composite_histogram_bin_ct(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                            laze_error *error) {
  const laze_attribute *attributes = call->attributes, *range = &attributes[LAZE_HISTOGRAM_BIN_CT_RANGE];
  histogram h;
  laze_value bounds[2];
  LAZE_TRY(begin(recorder, call, 1, attributes[LAZE_HISTOGRAM_BIN_CT_DENSITY].value.integer != 0, &h, error));
  h.bins = attributes[LAZE_HISTOGRAM_BIN_CT_BINS].value.integer;
  if (h.bins < 1 || h.bins >= LAZE_MAX_ELEMENTS)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: bins is %lld, expected 1 or more, and fewer than 2^59", h.name,
                     (long long)h.bins);
  h.edge_count = h.bins + 1;
  LAZE_TRY(range->present ? given_bounds(&h, range, bounds, error) : find_bounds(&h, bounds, error));
  LAZE_TRY(part_bounds(&h, bounds, error));
  LAZE_TRY(place_edges(&h, bounds, error));
  return count_members(&h, results, error);
}

laze_status laze_composite_histogram_bins_tensor(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                                 laze_error *error) {
  histogram h;
  bool density = call->attributes[LAZE_HISTOGRAM_BINS_TENSOR_DENSITY].value.integer != 0, enough = false;
  LAZE_TRY(begin(recorder, call, 2, density, &h, error));
  h.edges = laze_call_operand(call, 1);
  laze_type type = laze_compose_type(recorder, h.edges);
  if (type.rank == 1) LAZE_TRY(laze_size_must_be_at_most(recorder, 2, type.sizes[0], &enough, error));
  if (!enough || type.dtype != h.self.dtype)
    return laze_fail(error, LAZE_INVALID_ARGUMENT,
                     "%s: bins is %s with %d dims, expected the dtype of self, and one dim of 2 edges or more", h.name,
                     laze_dtype_name((laze_dtype)type.dtype), type.rank);
  h.edge_count = type.sizes[0];
  LAZE_TRY(laze_size_arithmetic(recorder, '-', h.edge_count, 1, &h.bins, error));
  return count_members(&h, results, error);
}
