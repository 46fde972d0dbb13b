/* Elements at distances of their own, in the row-major order of all elements. Nothing is laid over memory: the places
 * are computed, and read or written as a list.
 *
 *   size [2, 2], stride [1, 2], offset 1    1 + i + 2 j    [[1, 3], [2, 4]]
 */
#include "ir/composite/composite.h"

#include "ir/composite.gen.h"
#include "ir/composite/support.h"
#include "ir/op.gen.h"

typedef struct {
  laze_recorder *recorder;
  const laze_call *call;
  const laze_attribute *size, *stride;
  laze_size offset, elements, whole; /* how many there are of the result, and of self */
} layout;

static laze_status refuse(const layout *l, laze_error *error) {
  const laze_inference inference = {l->recorder->sizes, laze_compose_name(l->call), error};
  const laze_type type = laze_compose_type(l->recorder, l->call->operands[0]);
  return laze_fail(error, LAZE_OUT_OF_RANGE,
                   "%s: sizes and distances do not lie within the elements of %s; there must be as many of both, and "
                   "all are 0 or more",
                   inference.operator_name, laze_show(&inference, &type).text);
}

/* The place of the last element lies within those that there are. */
static laze_status check_furthest(const layout *l, laze_error *error) {
  laze_size furthest = l->offset, step;
  bool inside, empty;
  LAZE_TRY(laze_size_must_be_at_most(l->recorder, 0, l->offset, &inside, error));
  for (int i = 0; i < l->size->count && inside; i++) {
    LAZE_TRY(laze_size_must_be_at_most(l->recorder, 0, l->stride->value.items[i], &inside, error));
    LAZE_TRY(laze_size_arithmetic(l->recorder, '-', l->size->value.items[i], 1, &step, error));
    LAZE_TRY(laze_size_arithmetic(l->recorder, '*', step, l->stride->value.items[i], &step, error));
    LAZE_TRY(laze_size_arithmetic(l->recorder, '+', furthest, step, &furthest, error));
  }
  LAZE_TRY(laze_size_is_equal(l->recorder, l->elements, 0, &empty, error));
  if (inside && !empty) {
    LAZE_TRY(laze_size_arithmetic(l->recorder, '-', l->whole, 1, &step, error));
    LAZE_TRY(laze_size_must_be_at_most(l->recorder, furthest, step, &inside, error));
  }
  return inside ? LAZE_OK : refuse(l, error);
}

/* Size, stride and storage_offset are the attributes of both operators. */
static laze_status read_layout(laze_recorder *recorder, const laze_call *call, layout *out, laze_error *error) {
  const laze_attribute *attributes = call->attributes;
  const laze_type type = laze_compose_type(recorder, call->operands[0]);
  *out = (layout){.recorder = recorder, .call = call, .size = &attributes[0], .stride = &attributes[1]};
  if (attributes[2].present) out->offset = attributes[2].value.size;
  bool fits = out->size->count == out->stride->count && out->size->count <= LAZE_MAX_RANK;
  for (int i = 0; i < out->size->count && fits; i++)
    LAZE_TRY(laze_size_must_be_at_most(recorder, 0, out->size->value.items[i], &fits, error));
  if (!fits) return refuse(out, error);
  LAZE_TRY(laze_size_product(recorder->sizes, out->size->value.items, out->size->count, &out->elements, error));
  LAZE_TRY(laze_size_product(recorder->sizes, type.sizes, type.rank, &out->whole, error));
  return check_furthest(out, error);
}

/* i64 of as many places as there are elements. */
static laze_status find_places(const layout *l, laze_value *out, laze_error *error) {
  LAZE_TRY(laze_compose_size(l->recorder, l->offset, out, error));
  for (int i = 0; i < l->size->count; i++) {
    laze_value along, distance;
    LAZE_TRY(laze_compose_iota(l->recorder, l->size->value.items, l->size->count, i, LAZE_I64, &along, error));
    LAZE_TRY(laze_compose_size(l->recorder, l->stride->value.items[i], &distance, error));
    LAZE_TRY(laze_compose_binary(l->recorder, LAZE_OP_MUL, along, distance, &along, error));
    LAZE_TRY(laze_compose_binary(l->recorder, LAZE_OP_ADD, *out, along, out, error));
  }
  return laze_compose_reshape(l->recorder, *out, &l->elements, 1, out, error);
}

laze_status laze_composite_as_strided(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                      laze_error *error) {
  laze_attribute dim = laze_attribute_integer(0);
  laze_value operands[2];
  layout l;
  LAZE_TRY(read_layout(recorder, call, &l, error));
  LAZE_TRY(laze_compose_reshape(recorder, call->operands[0], &l.whole, 1, &operands[0], error));
  LAZE_TRY(find_places(&l, &operands[1], error));
  LAZE_TRY(laze_record_call(recorder, LAZE_OP_INDEX_SELECT, operands, 2, &dim, results, error));
  return laze_compose_reshape(recorder, *results, l.size->value.items, l.size->count, results, error);
}

laze_status laze_composite_as_strided_scatter(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                              laze_error *error) {
  const laze_type type = laze_compose_type(recorder, call->operands[0]),
                  src = laze_compose_type(recorder, call->operands[1]);
  laze_attribute attributes[] = {laze_attribute_integer(0), laze_attribute_string("none")};
  laze_value operands[3];
  bool same;
  layout l;
  LAZE_TRY(read_layout(recorder, call, &l, error));
  same = src.rank == l.size->count;
  for (int i = 0; i < src.rank && same; i++)
    LAZE_TRY(laze_size_must_equal(recorder, src.sizes[i], l.size->value.items[i], &same, error));
  if (!same)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: src has not the size that is given; expand it",
                     laze_compose_name(call));
  LAZE_TRY(laze_compose_reshape(recorder, call->operands[0], &l.whole, 1, &operands[0], error));
  LAZE_TRY(find_places(&l, &operands[1], error));
  LAZE_TRY(laze_compose_reshape(recorder, call->operands[1], &l.elements, 1, &operands[2], error));
  LAZE_TRY(laze_compose_to(recorder, operands[2], (laze_dtype)type.dtype, &operands[2], error));
  LAZE_TRY(laze_record_call(recorder, LAZE_OP__INDEX_UPDATE, operands, 3, attributes, results, error));
  return laze_compose_reshape(recorder, *results, type.sizes, type.rank, results, error);
}
