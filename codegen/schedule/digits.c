/* The digits of an axis, by walking over what it was split into. */
#include "codegen/schedule/digits.h"

/* Whether one stride serves for all of an axis: that of what it was split into. */
static laze_status has_stride(laze_mapper *mapper, const laze_component *offset, int32_t axis, laze_size *stride,
                              bool *out) {
  int32_t innermost = axis;
  laze_component whole = {.dynamic = -1, .term_count = 1}, parts;
  while (mapper->domain->axes[innermost].outer >= 0) innermost = mapper->domain->axes[innermost].inner;
  *stride = laze_component_coefficient(offset, innermost);
  whole.terms = &(laze_term){axis, *stride};
  LAZE_TRY(laze_component_normalise(mapper, &whole, &parts));
  *out = true;
  for (int32_t i = 0; i < parts.term_count; i++)
    *out = *out && laze_component_coefficient(offset, parts.terms[i].axis) == parts.terms[i].coefficient;
  return LAZE_OK;
}

/* Adds a digit, or makes the last one longer. *fits is false where there is no room. */
static laze_status add_digit(laze_mapper *mapper, laze_digits *out, laze_size extent, laze_size stride, bool *fits) {
  laze_size reach, longer, last = out->count - 1;
  if (out->count > 0) {
    LAZE_TRY(
        laze_size_binary(mapper->sizes, LAZE_SIZE_MUL, out->strides[last], out->extents[last], &reach, mapper->error));
    LAZE_TRY(laze_size_binary(mapper->sizes, LAZE_SIZE_MUL, extent, out->extents[last], &longer, mapper->error));
    if (reach == stride) out->extents[last] = longer;
    if (reach == stride) return LAZE_OK;
  }
  *fits = out->count < LAZE_MAX_DIGITS;
  if (!*fits) return LAZE_OK;
  out->extents[out->count] = extent;
  out->strides[out->count++] = stride;
  return LAZE_OK;
}

laze_status laze_map_digits(laze_mapper *mapper, const laze_component *offset, int32_t axis, laze_digits *out,
                            bool *fits) {
  int32_t waiting[LAZE_MAX_AXES], depth = 0;
  out->count = 0;
  *fits = true;
  for (waiting[depth++] = axis; depth > 0 && *fits;) {
    const int32_t next = waiting[--depth];
    const laze_axis *is = &mapper->domain->axes[next];
    laze_size stride;
    bool whole;
    LAZE_TRY(has_stride(mapper, offset, next, &stride, &whole));
    if (!whole) {
      waiting[depth++] = is->outer;
      waiting[depth++] = is->inner;
    } else if (is->extent != 1 || out->count == 0) {
      if (out->count == 1 && out->extents[0] == 1) out->count = 0;
      LAZE_TRY(add_digit(mapper, out, is->extent, stride, fits));
    }
  }
  return LAZE_OK;
}

laze_status laze_digits_append(laze_mapper *mapper, laze_digits *digits, const laze_digits *further, bool *fits) {
  *fits = true;
  for (int32_t i = 0; i < further->count && *fits; i++)
    LAZE_TRY(add_digit(mapper, digits, further->extents[i], further->strides[i], fits));
  return LAZE_OK;
}
