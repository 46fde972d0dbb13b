/* What rules are written with: questions about sizes, arithmetic on them and checks, each of which names the operator
 * in its message and answers for constants without a table. */
#include "shape_inference/rules_internal.h"

#include "base/checked.h"

#include <string.h>

laze_shape_text laze_show(const laze_inference *inference, const laze_type *type) {
  laze_shape_text shape;
  laze_type shown = {.kind = LAZE_TYPE_TENSOR, .dtype = type->dtype, .rank = type->rank}; /* rules set no kind */
  for (int i = 0; i < type->rank; i++) shown.sizes[i] = type->sizes[i];
  laze_type_format(inference->sizes, &shown, shape.text, sizeof shape.text);
  return shape;
}

laze_shape_text laze_show_size(const laze_inference *inference, laze_size size) {
  if (size == LAZE_SIZE_CONSTANT_MIN) return (laze_shape_text){"-2^62 or less"}; /* laze_size_from_number */
  laze_type type = {.kind = LAZE_TYPE_TENSOR, .dtype = LAZE_DTYPE_NONE, .rank = 1, .sizes = {size}};
  laze_shape_text shape = laze_show(inference, &type);
  size_t length = strlen(shape.text);
  if (shape.text[length - 1] == ']') shape.text[--length] = 0;
  memmove(shape.text, shape.text + 1, length); /* the bracket before; the NUL comes along */
  return shape;
}

laze_status laze_infer_named(laze_inference *inference, laze_status status) {
  if (status != LAZE_OK && inference->error) laze_error_prefix(inference->error, "%s", inference->operator_name);
  return status;
}

static laze_status check_table(laze_inference *inference) {
  if (inference->sizes) return LAZE_OK;
  return laze_fail(inference->error, LAZE_INTERNAL, "%s: a symbolic size without a size table; please report this",
                   inference->operator_name);
}

static laze_status ask(laze_inference *inference, laze_fact question, bool *out) {
  LAZE_TRY(check_table(inference));
  question.asker = inference->operator_name;
  return laze_infer_named(inference, laze_size_ask(inference->sizes, question, out, inference->error));
}

static laze_status ask_equal(laze_inference *inference, laze_size a, laze_size b, bool given, bool *out) {
  *out = a == b;
  if (*out || (laze_size_is_constant(a) && laze_size_is_constant(b))) return LAZE_OK;
  return ask(inference, (laze_fact){.kind = LAZE_FACT_EQUAL, .holds = given, .a = a, .b = b}, out);
}

static laze_status ask_less_equal(laze_inference *inference, laze_size a, laze_size b, bool given, bool *out) {
  *out = a <= b;
  if (laze_size_is_constant(a) && laze_size_is_constant(b)) return LAZE_OK;
  return ask(inference, (laze_fact){.kind = LAZE_FACT_LESS_EQUAL, .holds = given, .a = a, .b = b}, out);
}

laze_status laze_infer_equal(laze_inference *inference, laze_size a, laze_size b, bool *out) {
  return ask_equal(inference, a, b, false, out);
}

laze_status laze_infer_require_equal(laze_inference *inference, laze_size a, laze_size b, bool *out) {
  return ask_equal(inference, a, b, true, out);
}

laze_status laze_infer_less_equal(laze_inference *inference, laze_size a, laze_size b, bool *out) {
  return ask_less_equal(inference, a, b, false, out);
}

laze_status laze_infer_require_less_equal(laze_inference *inference, laze_size a, laze_size b, bool *out) {
  return ask_less_equal(inference, a, b, true, out);
}

laze_status laze_infer_binary(laze_inference *inference, laze_size_kind kind, laze_size a, laze_size b,
                              laze_size *out) {
  if (!laze_size_is_constant(a) || !laze_size_is_constant(b)) LAZE_TRY(check_table(inference));
  return laze_infer_named(inference, laze_size_binary(inference->sizes, kind, a, b, out, inference->error));
}

laze_status laze_infer_subtract(laze_inference *inference, laze_size a, laze_size b, laze_size *out) {
  laze_size negative;
  LAZE_TRY(laze_infer_binary(inference, LAZE_SIZE_MUL, b, -1, &negative));
  return laze_infer_binary(inference, LAZE_SIZE_ADD, a, negative, out);
}

laze_status laze_infer_check_size(laze_inference *inference, laze_size size, int axis) {
  bool good = size >= 0 && size <= LAZE_SIZE_CONSTANT_MAX;
  if (!laze_size_is_constant(size)) LAZE_TRY(laze_infer_require_less_equal(inference, 0, size, &good));
  if (good) return LAZE_OK;
  return laze_fail(inference->error, LAZE_OUT_OF_RANGE, "%s: axis %d has size %s; sizes are 0 to 2^62",
                   inference->operator_name, axis, laze_show_size(inference, size).text);
}

laze_status laze_infer_check_rank(laze_inference *inference, int64_t rank) {
  if (rank <= LAZE_MAX_RANK) return LAZE_OK;
  return laze_fail(inference->error, LAZE_OUT_OF_RANGE, "%s: the result would have %lld dimensions; at most %d",
                   inference->operator_name, (long long)rank, LAZE_MAX_RANK);
}

laze_status laze_infer_check_elements(laze_inference *inference, const laze_type *type) {
  int64_t elements = 1;
  bool overflow = false, zero = false;
  for (int i = 0; i < type->rank; i++) {
    if (!laze_size_is_constant(type->sizes[i])) return LAZE_OK;
    zero = zero || type->sizes[i] == 0;
    overflow = overflow || laze_mul_overflows(elements, type->sizes[i], &elements) || elements > LAZE_MAX_ELEMENTS;
  }
  if (!overflow || zero) return LAZE_OK;
  laze_type shape = *type;
  shape.dtype = LAZE_DTYPE_NONE;
  return laze_fail(inference->error, LAZE_OUT_OF_RANGE,
                   "%s: the result's shape %s is too large; its elements must number at most 2^59, which at 8 bytes "
                   "are 2^62",
                   inference->operator_name, laze_show(inference, &shape).text);
}

void laze_copy_shape(const laze_type *from, laze_type *to) {
  to->rank = from->rank;
  for (int i = 0; i < from->rank; i++) to->sizes[i] = from->sizes[i];
}

laze_status laze_infer_axis(laze_inference *inference, int64_t axis, int rank, int *out) {
  int limit = rank == 0 ? 1 : rank;
  if (axis < -limit || axis >= limit)
    return laze_fail(inference->error, LAZE_OUT_OF_RANGE, "%s: axis %lld is out of range for rank %d; use %d to %d",
                     inference->operator_name, (long long)axis, rank, -limit, limit - 1);
  *out = (int)(axis < 0 ? axis + limit : axis);
  return LAZE_OK;
}
