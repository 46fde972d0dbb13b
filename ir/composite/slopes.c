/* gradient: how fast elements change along each of some dims.
 *
 *   spacing   none, one number, a number for each dim, or for each dim the places of its elements [size]
 *   dim       none: all of them; one; a list
 */
#include "ir/composite/composite.h"

#include "ir/attribute.h"
#include "ir/composite.gen.h"
#include "ir/composite/support.h"
#include "ir/op.gen.h"

typedef struct {
  laze_recorder *recorder;
  const laze_call *call;
  laze_type type;
  int axes[LAZE_MAX_RANK];
  int count;
  int64_t edge_order;
} slopes;

static const laze_attribute *attribute_of(const laze_call *call, const char *name) {
  const laze_argument_info *argument = laze_op_argument(laze_op_get(call->op), name);
  return argument && !laze_argument_is_operand(argument->kind) ? &call->attributes[argument->position] : NULL;
}

static laze_status add_axis(slopes *s, int64_t dim, laze_error *error) {
  int axis;
  bool fits = s->type.rank > 0;
  if (fits) LAZE_TRY(laze_compose_axis(s->recorder, s->call, dim, s->type.rank, &axis, error));
  for (int i = 0; fits && i < s->count; i++) fits = s->axes[i] != axis;
  if (!fits)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: dim %lld of a tensor of %d dims is none, or is named twice",
                     laze_compose_name(s->call), (long long)dim, s->type.rank);
  LAZE_TRY(laze_size_must_be_at_most(s->recorder, s->edge_order + 1, s->type.sizes[axis], &fits, error));
  s->axes[s->count++] = axis;
  if (fits) return LAZE_OK;
  return laze_fail(error, LAZE_INVALID_ARGUMENT,
                   "%s: dim %d has fewer elements than the %lld that edge_order %lld needs", laze_compose_name(s->call),
                   axis, (long long)s->edge_order + 1, (long long)s->edge_order);
}

static laze_status begin(laze_recorder *recorder, const laze_call *call, slopes *s, laze_error *error) {
  const laze_attribute *dim = attribute_of(call, "dim");
  *s = (slopes){.recorder = recorder, .call = call, .type = laze_compose_type(recorder, call->operands[0])};
  s->edge_order = attribute_of(call, "edge_order")->value.integer;
  if (s->edge_order != 1 && s->edge_order != 2)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: edge_order is %lld, expected 1 or 2", laze_compose_name(call),
                     (long long)s->edge_order);
  if (dim->kind == LAZE_ARGUMENT_INT && dim->present) return add_axis(s, dim->value.integer, error);
  const int32_t count = dim->kind == LAZE_ARGUMENT_INT ? s->type.rank : dim->count;
  for (int32_t i = 0; i < count && i < LAZE_MAX_RANK; i++)
    LAZE_TRY(add_axis(s, dim->kind == LAZE_ARGUMENT_INT ? i : dim->value.items[i], error));
  if (s->count > 0) return LAZE_OK;
  return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: there is no dim along which a tensor of %d dims has slopes",
                   laze_compose_name(call), s->type.rank);
}

static laze_status need_one_each(const slopes *s, int32_t count, laze_error *error) {
  if (count == s->count) return LAZE_OK;
  return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: spacing has %d items for %d dims; expected one for each",
                   laze_compose_name(s->call), (int)count, s->count);
}

static laze_status along(const slopes *s, int index, double step, laze_value *out, laze_error *error) {
  const laze_attribute attributes[] = {laze_attribute_real(step), laze_attribute_integer(s->axes[index]),
                                       laze_attribute_integer(s->edge_order)};
  return laze_record_call(s->recorder, LAZE_OP__SLOPES, s->call->operands, 1, attributes, out, error);
}

static laze_status by_numbers(laze_recorder *recorder, const laze_call *call, laze_value *results, laze_error *error) {
  const laze_attribute *spacing = attribute_of(call, "spacing");
  slopes s;
  LAZE_TRY(begin(recorder, call, &s, error));
  const bool listed = spacing && spacing->kind == LAZE_ARGUMENT_FLOAT_LIST;
  const double same = !spacing || listed || !spacing->present ? 1 : laze_scalar_as_real(spacing->value.literal);
  if (listed) LAZE_TRY(need_one_each(&s, spacing->count, error));
  for (int i = 0; i < s.count; i++) LAZE_TRY(along(&s, i, listed ? spacing->value.reals[i] : same, &results[i], error));
  results[s.count] = LAZE_VALUE_NONE;
  return LAZE_OK;
}

/* How far the places of a dim's elements are apart, along that dim. */
static laze_status find_gaps(const slopes *s, int index, laze_value places, laze_value *out, laze_error *error) {
  const laze_type type = laze_compose_type(s->recorder, places);
  const int axis = s->axes[index];
  bool fits = type.rank == 1;
  laze_value ends[2];
  laze_size sizes[LAZE_MAX_RANK], less;
  if (fits) LAZE_TRY(laze_size_must_equal(s->recorder, type.sizes[0], s->type.sizes[axis], &fits, error));
  if (!fits)
    return laze_fail(error, LAZE_INVALID_ARGUMENT,
                     "%s: the places of the elements of dim %d are not a list of as many as there are",
                     laze_compose_name(s->call), axis);
  LAZE_TRY(laze_size_arithmetic(s->recorder, '-', type.sizes[0], 1, &less, error));
  LAZE_TRY(laze_compose_slice(s->recorder, places, 0, 0, less, &ends[0], error));
  LAZE_TRY(laze_compose_slice(s->recorder, places, 0, 1, type.sizes[0], &ends[1], error));
  LAZE_TRY(laze_compose_binary(s->recorder, LAZE_OP_SUB, ends[1], ends[0], out, error));
  for (int i = 0; i < s->type.rank; i++) sizes[i] = i == axis ? less : 1;
  return laze_compose_reshape(s->recorder, *out, sizes, s->type.rank, out, error);
}

static laze_status by_places(laze_recorder *recorder, const laze_call *call, laze_value *results, laze_error *error) {
  slopes s;
  LAZE_TRY(begin(recorder, call, &s, error));
  LAZE_TRY(need_one_each(&s, call->operand_count - 1, error));
  for (int i = 0; i < s.count; i++) {
    const laze_attribute attributes[] = {laze_attribute_integer(s.axes[i]), laze_attribute_integer(s.edge_order)};
    laze_value operands[2] = {call->operands[0]};
    LAZE_TRY(find_gaps(&s, i, call->operands[1 + i], &operands[1], error));
    LAZE_TRY(laze_record_call(recorder, LAZE_OP__SLOPES_AT, operands, 2, attributes, &results[i], error));
  }
  results[s.count] = LAZE_VALUE_NONE;
  return LAZE_OK;
}

laze_status laze_composite_gradient_scalarint(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                              laze_error *error) {
  return by_numbers(recorder, call, results, error);
}

laze_status laze_composite_gradient_scalararray(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                                laze_error *error) {
  return by_numbers(recorder, call, results, error);
}

laze_status laze_composite_gradient_array(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                          laze_error *error) {
  return by_numbers(recorder, call, results, error);
}

laze_status laze_composite_gradient_scalarrayint(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                                 laze_error *error) {
  return by_numbers(recorder, call, results, error);
}

laze_status laze_composite_gradient_scalarrayarray(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                                   laze_error *error) {
  return by_numbers(recorder, call, results, error);
}

laze_status laze_composite_gradient_tensorarrayint(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                                   laze_error *error) {
  return by_places(recorder, call, results, error);
}

laze_status laze_composite_gradient_tensorarray(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                                laze_error *error) {
  return by_places(recorder, call, results, error);
}
