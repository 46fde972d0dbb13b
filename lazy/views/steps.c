/* Steps forwards, from the base to the view, and backwards, from what is written to the view to what the base is then:
 *
 *   base ──slice──> %0 ──permute──> view          read
 *   %2 <──slice_scatter── %1 <──permute── value   write: %2 is the base's next value
 */
#include "lazy/views/steps.h"

#include "ir/attribute.h"
#include "ir/composite/composite.h"
#include "ir/op.gen.h"
#include "lazy/views/geometry.h"

/* The steps in order, and the values before each. */
typedef struct {
  const laze_view_step **steps;
  laze_value *values;
  int32_t count;
} chain;

static laze_status chain_init(chain *self, laze_recorder *recorder, laze_steps steps, laze_error *error) {
  const int32_t skipped = steps.before ? steps.before->count : 0;
  self->count = steps.last ? steps.last->count - skipped : 0;
  self->steps = laze_alloc_array(recorder->context, self->count + 1, sizeof *self->steps);
  self->values = laze_alloc_array(recorder->context, self->count + 1, sizeof *self->values);
  if (!self->steps || !self->values) return laze_fail_memory(error, "the steps of a view", self->count);
  for (const laze_view_step *step = steps.last; step != steps.before; step = step->before)
    self->steps[step->count - skipped - 1] = step;
  return LAZE_OK;
}

static void chain_deinit(chain *self, laze_recorder *recorder) {
  laze_free(recorder->context, self->steps);
  laze_free(recorder->context, self->values);
}

/* Records the first `count` steps. */
static laze_status record_forwards(chain *self, laze_recorder *recorder, int32_t count, laze_value base,
                                   laze_error *error) {
  self->values[0] = base;
  for (int32_t i = 0; i < count; i++)
    LAZE_TRY(laze_record_call(recorder, self->steps[i]->op, &self->values[i], 1, self->steps[i]->attributes,
                              &self->values[i + 1], error));
  return LAZE_OK;
}

laze_status laze_steps_apply(laze_recorder *recorder, laze_steps steps, laze_value base, laze_value *out,
                             laze_error *error) {
  chain self = {0};
  laze_status status = chain_init(&self, recorder, steps, error);
  if (status == LAZE_OK) status = record_forwards(&self, recorder, self.count, base, error);
  if (status == LAZE_OK) *out = self.values[self.count];
  chain_deinit(&self, recorder);
  return status;
}

/* --- backwards: `before` with `value` in place of what the step gives of it --- */

typedef laze_status (*write_function)(laze_recorder *recorder, const laze_view_step *step, laze_value before,
                                      laze_value value, laze_value *out, laze_error *error);

static laze_status write_slice(laze_recorder *recorder, const laze_view_step *step, laze_value before, laze_value value,
                               laze_value *out, laze_error *error) {
  const laze_type whole = laze_compose_type(recorder, before), part = laze_compose_type(recorder, value);
  const laze_value operands[] = {before, value};
  laze_attribute attributes[4];
  *out = value;
  if (laze_type_equal(&whole, &part)) return LAZE_OK;
  for (int i = 0; i < 4; i++) attributes[i] = step->attributes[i];
  attributes[LAZE_SLICE_SCATTER_STEP] = laze_attribute_size(step->attributes[LAZE_SLICE_STEP].value.integer);
  return laze_record_call(recorder, LAZE_OP_SLICE_SCATTER, operands, 2, attributes, out, error);
}

static laze_status write_diagonal(laze_recorder *recorder, const laze_view_step *step, laze_value before,
                                  laze_value value, laze_value *out, laze_error *error) {
  const laze_value operands[] = {before, value};
  return laze_record_call(recorder, LAZE_OP_DIAGONAL_SCATTER, operands, 2, step->attributes, out, error);
}

static laze_status write_strided(laze_recorder *recorder, const laze_view_step *step, laze_value before,
                                 laze_value value, laze_value *out, laze_error *error) {
  const laze_value operands[] = {before, value};
  return laze_record_call(recorder, LAZE_OP_AS_STRIDED_SCATTER, operands, 2, step->attributes, out, error);
}

/* Windows that do not overlap, at the places that they have in row-major order. */
static laze_status write_window(laze_recorder *recorder, const laze_view_step *step, laze_value before,
                                laze_value value, laze_value *out, laze_error *error) {
  const laze_type whole = laze_compose_type(recorder, before), part = laze_compose_type(recorder, value);
  const laze_value operands[] = {before, value};
  laze_geometry geometry;
  if (!laze_view_geometry(&(laze_storage){0}, &whole, &geometry) ||
      !laze_geometry_follow(&geometry, step->op, step->attributes, &part))
    return laze_fail(error, LAZE_INTERNAL, "a view of windows has lost its sizes");
  const laze_attribute attributes[] = {laze_attribute_sizes(geometry.sizes, geometry.rank),
                                       laze_attribute_sizes(geometry.strides, geometry.rank),
                                       laze_attribute_size(geometry.offset)};
  return laze_record_call(recorder, LAZE_OP_AS_STRIDED_SCATTER, operands, 2, attributes, out, error);
}

static laze_status write_permute(laze_recorder *recorder, const laze_view_step *step, laze_value before,
                                 laze_value value, laze_value *out, laze_error *error) {
  (void)before;
  const laze_attribute *dims = &step->attributes[LAZE_PERMUTE_DIMS];
  laze_size inverse[LAZE_MAX_RANK];
  for (int32_t i = 0; i < dims->count; i++) {
    const int64_t axis = dims->value.items[i];
    inverse[axis < 0 ? axis + dims->count : axis] = i;
  }
  return laze_compose_permute(recorder, value, inverse, dims->count, out, error);
}

static laze_status write_reshape(laze_recorder *recorder, const laze_view_step *step, laze_value before,
                                 laze_value value, laze_value *out, laze_error *error) {
  (void)step;
  const laze_type whole = laze_compose_type(recorder, before);
  return laze_compose_reshape(recorder, value, whole.sizes, whole.rank, out, error);
}

static laze_status write_part(laze_recorder *recorder, const laze_view_step *step, laze_value before, laze_value value,
                              laze_value *out, laze_error *error) {
  const laze_type whole = laze_compose_type(recorder, before), part = laze_compose_type(recorder, value);
  const bool is_real = step->op == LAZE_OP_REAL;
  laze_value parts[2];
  *out = value;
  if (whole.dtype == part.dtype) return LAZE_OK;
  parts[is_real ? 0 : 1] = value;
  LAZE_TRY(laze_compose_unary(recorder, is_real ? LAZE_OP_IMAG : LAZE_OP_REAL, before, &parts[is_real ? 1 : 0], error));
  return laze_compose_binary(recorder, LAZE_OP_COMPLEX, parts[0], parts[1], out, error);
}

static laze_status write_pairs(laze_recorder *recorder, const laze_view_step *step, laze_value before, laze_value value,
                               laze_value *out, laze_error *error) {
  (void)before;
  const laze_op opposite = step->op == LAZE_OP_VIEW_AS_REAL ? LAZE_OP_VIEW_AS_COMPLEX : LAZE_OP_VIEW_AS_REAL;
  return laze_compose_unary(recorder, opposite, value, out, error);
}

static laze_status write_bits(laze_recorder *recorder, const laze_view_step *step, laze_value before, laze_value value,
                              laze_value *out, laze_error *error) {
  (void)step;
  const laze_attribute dtype = laze_attribute_dtype(laze_compose_type(recorder, before).dtype);
  return laze_record_call(recorder, LAZE_OP__BITCAST, &value, 1, &dtype, out, error);
}

static const struct {
  laze_op op;
  write_function write;
} writes[] = {
    {LAZE_OP_SLICE, write_slice},       {LAZE_OP_RESHAPE, write_reshape},    {LAZE_OP_PERMUTE, write_permute},
    {LAZE_OP_UNSQUEEZE, write_reshape}, {LAZE_OP_EXPAND, write_reshape},     {LAZE_OP_DIAGONAL, write_diagonal},
    {LAZE_OP__WINDOW, write_window},    {LAZE_OP_AS_STRIDED, write_strided}, {LAZE_OP_REAL, write_part},
    {LAZE_OP_IMAG, write_part},         {LAZE_OP_VIEW_AS_REAL, write_pairs}, {LAZE_OP_VIEW_AS_COMPLEX, write_pairs},
    {LAZE_OP__BITCAST, write_bits},
};

static laze_status record_backwards(laze_recorder *recorder, const laze_view_step *step, laze_value before,
                                    laze_value *value, laze_error *error) {
  for (size_t i = 0; i < sizeof writes / sizeof *writes; i++)
    if (writes[i].op == step->op) return writes[i].write(recorder, step, before, *value, value, error);
  return laze_fail(error, LAZE_INTERNAL, "%s: a view of it cannot be written to", laze_op_get(step->op)->name);
}

/* Where a step gives several elements one place, what is written to a part of these does not say what they are. Then
 * strides do, those that the view has in its base, if it has some. */
static laze_status write_at_strides(const chain *self, laze_recorder *recorder, laze_value value, laze_value *out,
                                    laze_error *error) {
  const laze_type whole = laze_compose_type(recorder, self->values[0]), part = laze_compose_type(recorder, value);
  const laze_value operands[] = {self->values[0], value};
  laze_geometry geometry;
  bool follows = whole.dtype == part.dtype && laze_view_geometry(&(laze_storage){0}, &whole, &geometry);
  for (int32_t i = 0; i < self->count && follows; i++) {
    const laze_type type = i + 1 < self->count ? laze_compose_type(recorder, self->values[i + 1]) : part;
    follows = laze_geometry_follow(&geometry, self->steps[i]->op, self->steps[i]->attributes, &type);
  }
  if (!follows)
    return laze_fail(
        error, LAZE_UNSUPPORTED,
        "a part of a view is written to several of whose elements are one place of memory; write to a copy "
        "(laze_clone)");
  const laze_attribute attributes[] = {laze_attribute_sizes(geometry.sizes, geometry.rank),
                                       laze_attribute_sizes(geometry.strides, geometry.rank),
                                       laze_attribute_size(geometry.offset)};
  return laze_record_call(recorder, LAZE_OP_AS_STRIDED_SCATTER, operands, 2, attributes, out, error);
}

laze_status laze_steps_write(laze_recorder *recorder, laze_steps steps, laze_value base, laze_value value,
                             laze_value *out, laze_error *error) {
  chain self = {0};
  laze_status status = chain_init(&self, recorder, steps, error);
  if (status == LAZE_OK) status = record_forwards(&self, recorder, self.count - 1, base, error);
  if (status == LAZE_OK && steps.last && steps.last->repeats)
    status = write_at_strides(&self, recorder, value, &value, error);
  else
    for (int32_t i = self.count; i-- > 0 && status == LAZE_OK;)
      status = record_backwards(recorder, self.steps[i], self.values[i], &value, error);
  *out = value;
  chain_deinit(&self, recorder);
  return status;
}
