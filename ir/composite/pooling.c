/* Pooling: reductions over the places of windows.
 *
 *   x [n, c, h, w]  ── windows ──>  [n, c, k0, o0, k1, o1]  ── amax, or sum, over axes 2 and 4 ──>  [n, c, o0, o1]
 */
#include "ir/composite/window.h"

#include "ir/composite.gen.h"
#include "ir/composite/support.h"
#include "ir/op.gen.h"

#include <math.h>

static laze_status check_self(const laze_call *call, const laze_type *type, int dims, laze_error *error) {
  if (type->dtype == LAZE_BOOL)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: self is bool, expected numbers; convert it with to(f32) first",
                     laze_compose_name(call));
  if (type->rank == dims + 1 || type->rank == dims + 2) return LAZE_OK;
  return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: self has %d dims, expected %d or %d", laze_compose_name(call),
                   type->rank, dims + 1, dims + 2);
}

laze_status laze_windows_read_pool(const laze_call *call, laze_windows *windows, laze_error *error) {
  int dims = windows->dims;
  for (int i = 0; i < dims; i++) windows->dilation[i] = 1;
  LAZE_TRY(laze_windows_read(call, "kernel_size", dims, 1, windows->size, error));
  for (int i = 0; i < dims; i++) windows->stride[i] = windows->size[i];
  LAZE_TRY(laze_windows_read(call, "stride", dims, 1, windows->stride, error));
  LAZE_TRY(laze_windows_read(call, "dilation", dims, 1, windows->dilation, error));
  LAZE_TRY(laze_windows_read(call, "padding", dims, 0, windows->low, error));
  windows->up = call->attributes[laze_op_argument(laze_op_get(call->op), "ceil_mode")->position].value.integer != 0;
  for (int i = 0; i < dims; i++) {
    windows->high[i] = windows->low[i];
    if (windows->size[i] < 1)
      return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: kernel_size is empty, expected %d numbers, or one for all",
                       laze_compose_name(call), dims);
    /* Otherwise a window could lie within the padding. */
    if (windows->low[i] > ((windows->size[i] - 1) * windows->dilation[i] + 1) / 2)
      return laze_fail(error, LAZE_INVALID_ARGUMENT,
                       "%s: padding is %lld for windows that cover %lld elements, expected at most half of them",
                       laze_compose_name(call), (long long)windows->low[i],
                       (long long)((windows->size[i] - 1) * windows->dilation[i] + 1));
  }
  return LAZE_OK;
}

laze_status laze_compose_over_places(laze_recorder *recorder, const laze_windows *windows, laze_op op, laze_value value,
                                     laze_value *out, laze_error *error) {
  laze_type type = laze_compose_type(recorder, value);
  laze_size axes[LAZE_MAX_WINDOW_DIMS];
  laze_windows_places(windows, type.rank, axes);
  laze_attribute attributes[] = {laze_attribute_integers(axes, windows->dims), laze_attribute_boolean(false),
                                 laze_attribute_dtype(type.dtype)}; /* the last for sums alone */
  return laze_record_call(recorder, op, &value, 1, attributes, out, error);
}

/* Largest elements */

laze_status laze_compose_element_numbers(laze_recorder *recorder, const laze_size *sizes, int dims, laze_value *out,
                                         laze_error *error) {
  laze_value row;
  LAZE_TRY(laze_compose_iota(recorder, sizes, dims, 0, LAZE_I64, out, error));
  for (int i = 1; i < dims; i++) {
    laze_value count;
    LAZE_TRY(laze_compose_size(recorder, sizes[i], &count, error));
    LAZE_TRY(laze_compose_binary(recorder, LAZE_OP_MUL, *out, count, out, error));
    LAZE_TRY(laze_compose_iota(recorder, sizes, dims, i, LAZE_I64, &row, error));
    LAZE_TRY(laze_compose_binary(recorder, LAZE_OP_ADD, *out, row, out, error));
  }
  return LAZE_OK;
}

/* Elements of windows and their numbers, over whose places something is reduced. */
typedef struct {
  laze_recorder *recorder;
  const laze_windows *windows;
  laze_value elements, numbers;
  laze_error *error;
} search;

/* The numbers where a condition holds, and `other` elsewhere, over the places by a reduction. */
static laze_status choose_numbers(const search *s, laze_op op, laze_value condition, int64_t other, laze_value *out) {
  laze_value operands[3] = {condition, s->numbers};
  LAZE_TRY(laze_record_number(s->recorder, LAZE_I64, laze_scalar_integer(other), &operands[2], s->error));
  LAZE_TRY(laze_record_call(s->recorder, LAZE_OP_WHERE_SELF, operands, 3, NULL, out, s->error));
  return laze_compose_over_places(s->recorder, s->windows, op, *out, out, s->error);
}

laze_status laze_compose_largest_number(laze_recorder *recorder, const laze_windows *windows, laze_value elements,
                                        laze_value numbers, laze_value largest, laze_value *out, laze_error *error) {
  const search s = {recorder, windows, elements, numbers, error};
  const laze_type type = laze_compose_type(recorder, elements);
  laze_value same, first, last, chosen[3], kept = largest;
  laze_size axes[LAZE_MAX_WINDOW_DIMS];
  laze_windows_places(windows, type.rank, axes);
  for (int i = 0; i < windows->dims; i++)
    LAZE_TRY(laze_compose_insert_axis(recorder, kept, (int)axes[i], &kept, error));
  LAZE_TRY(laze_compose_binary(recorder, LAZE_OP_EQ, elements, kept, &same, error));
  LAZE_TRY(choose_numbers(&s, LAZE_OP_AMIN, same, INT64_MAX, &first));
  *out = first;
  if (!laze_dtype_is_float((laze_dtype)type.dtype)) return LAZE_OK;
  LAZE_TRY(laze_compose_unary(recorder, LAZE_OP_ISNAN, elements, &same, error));
  LAZE_TRY(choose_numbers(&s, LAZE_OP_AMAX, same, -1, &last));
  LAZE_TRY(laze_compose_unary(recorder, LAZE_OP_ISNAN, largest, &chosen[0], error));
  chosen[1] = last;
  chosen[2] = first;
  return laze_record_call(recorder, LAZE_OP_WHERE_SELF, chosen, 3, NULL, out, error);
}

/* The elements' numbers in windows; where there is padding, one above all of them. */
static laze_status number_windows(laze_recorder *recorder, const laze_windows *windows, const laze_type *type,
                                  laze_value *out, laze_error *error) {
  laze_value beyond;
  LAZE_TRY(laze_record_number(recorder, LAZE_I64, laze_scalar_integer(INT64_MAX), &beyond, error));
  LAZE_TRY(laze_compose_element_numbers(recorder, type->sizes + type->rank - windows->dims, windows->dims, out, error));
  return laze_compose_windows(recorder, windows, *out, (laze_value[]){beyond, beyond}, out, error);
}

static laze_status pool_largest(laze_recorder *recorder, const laze_call *call, int dims, bool indices,
                                laze_value *results, laze_error *error) {
  const laze_type type = laze_compose_type(recorder, call->operands[0]);
  laze_windows windows = {.dims = dims};
  laze_value lowest, elements, numbers;
  LAZE_TRY(check_self(call, &type, dims, error));
  LAZE_TRY(laze_windows_read_pool(call, &windows, error));
  LAZE_TRY(laze_record_number(recorder, type.dtype, laze_dtype_lowest(type.dtype), &lowest, error));
  LAZE_TRY(
      laze_compose_windows(recorder, &windows, call->operands[0], (laze_value[]){lowest, lowest}, &elements, error));
  LAZE_TRY(laze_compose_over_places(recorder, &windows, LAZE_OP_AMAX, elements, &results[0], error));
  if (!indices) return LAZE_OK;
  LAZE_TRY(number_windows(recorder, &windows, &type, &numbers, error));
  return laze_compose_largest_number(recorder, &windows, elements, numbers, results[0], &results[1], error);
}

laze_status laze_composite_max_pool1d(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                      laze_error *error) {
  return pool_largest(recorder, call, 1, false, results, error);
}
laze_status laze_composite_max_pool2d(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                      laze_error *error) {
  return pool_largest(recorder, call, 2, false, results, error);
}
laze_status laze_composite_max_pool3d(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                      laze_error *error) {
  return pool_largest(recorder, call, 3, false, results, error);
}
laze_status laze_composite_max_pool1d_with_indices(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                                   laze_error *error) {
  return pool_largest(recorder, call, 1, true, results, error);
}
laze_status laze_composite_max_pool2d_with_indices(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                                   laze_error *error) {
  return pool_largest(recorder, call, 2, true, results, error);
}
laze_status laze_composite_max_pool3d_with_indices(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                                   laze_error *error) {
  return pool_largest(recorder, call, 3, true, results, error);
}

/* Means */

/* How many elements each window holds: of self, and with `padding` around it, but not of what lies behind that. They
 * are counted in self, so that their sizes are its own whatever they are. */
static laze_status count_elements(laze_recorder *recorder, const laze_windows *windows, laze_value self, bool padding,
                                  laze_value *out, laze_error *error) {
  laze_dtype dtype = laze_recorder_type(recorder, self)->dtype;
  laze_value zero, one, equal, different;
  LAZE_TRY(laze_record_number(recorder, dtype, laze_scalar_integer(0), &zero, error));
  LAZE_TRY(laze_record_number(recorder, dtype, laze_scalar_integer(1), &one, error));
  LAZE_TRY(laze_compose_binary(recorder, LAZE_OP_EQ, self, self, &equal, error));
  LAZE_TRY(laze_compose_binary(recorder, LAZE_OP_NE, self, self, &different, error));
  LAZE_TRY(laze_compose_binary(recorder, LAZE_OP_LOGICAL_OR, equal, different, out, error));
  LAZE_TRY(laze_compose_to(recorder, *out, dtype, out, error));
  LAZE_TRY(laze_compose_windows(recorder, windows, *out, (laze_value[]){padding ? one : zero, zero}, out, error));
  return laze_compose_over_places(recorder, windows, LAZE_OP_SUM_DIM_INTLIST, *out, out, error);
}

/* By what the sums of windows are divided. */
static laze_status find_divisor(laze_recorder *recorder, const laze_call *call, const laze_windows *windows,
                                const laze_type *type, laze_value *out, laze_error *error) {
  const laze_op_info *info = laze_op_get(call->op);
  const laze_argument_info *override = laze_op_argument(info, "divisor_override");
  bool padding = call->attributes[laze_op_argument(info, "count_include_pad")->position].value.integer != 0,
       any = false;
  int64_t places = 1;
  for (int i = 0; i < windows->dims; i++) {
    places *= windows->size[i];
    any = any || windows->low[i] > 0;
  }
  if (override && call->attributes[override->position].present) {
    places = call->attributes[override->position].value.integer;
    if (places == 0) return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: divisor_override is 0", info->name);
  } else if (windows->up || (any && !padding)) {
    return count_elements(recorder, windows, call->operands[0], padding, out, error);
  }
  return laze_record_number(recorder, type->dtype, laze_scalar_integer(places), out, error);
}

static laze_status pool_mean(laze_recorder *recorder, const laze_call *call, int dims, laze_value *results,
                             laze_error *error) {
  laze_windows windows = {.dims = dims};
  laze_type type = laze_compose_type(recorder, call->operands[0]);
  laze_value zero, divisor;
  LAZE_TRY(check_self(call, &type, dims, error));
  LAZE_TRY(laze_windows_read_pool(call, &windows, error));
  LAZE_TRY(laze_record_number(recorder, type.dtype, laze_scalar_integer(0), &zero, error));
  LAZE_TRY(laze_compose_windows(recorder, &windows, call->operands[0], (laze_value[]){zero, zero}, results, error));
  LAZE_TRY(laze_compose_over_places(recorder, &windows, LAZE_OP_SUM_DIM_INTLIST, *results, results, error));
  LAZE_TRY(find_divisor(recorder, call, &windows, &type, &divisor, error));
  laze_op divide = laze_dtype_is_float(type.dtype) ? LAZE_OP_DIV : LAZE_OP_TRUNC_DIVIDE;
  return laze_compose_binary(recorder, divide, *results, divisor, results, error);
}

laze_status laze_composite_avg_pool1d(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                      laze_error *error) {
  return pool_mean(recorder, call, 1, results, error);
}
laze_status laze_composite_avg_pool2d(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                      laze_error *error) {
  return pool_mean(recorder, call, 2, results, error);
}
laze_status laze_composite_avg_pool3d(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                      laze_error *error) {
  return pool_mean(recorder, call, 3, results, error);
}
