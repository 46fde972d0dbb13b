/* Arrays for people:
 *
 *   [[ 1.0  2.5]
 *    [-3.0  nan]]
 *
 * Numbers have as many digits as it takes to tell them apart, and no more. Arrays of more than 1000 elements show three
 * at each end of every long axis.
 */
#include "runtime/array_text.h"

#include "base/real.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONG_ARRAY = 1000, EDGE = 3, LINE_WIDTH = 80, NUMBER_WIDTH = 64 };

typedef struct {
  laze_text *text; /* NULL: only measuring */
  const laze_type *type;
  const void *data;
  int64_t strides[LAZE_MAX_RANK]; /* in elements */
  bool elided;
  int width; /* of the widest element shown */
  int column;
} printer;

/* Shortest digits, written out where that is no longer than it is precise. */
static void format_real(char out[NUMBER_WIDTH], laze_dtype dtype, double value) {
  int exact = 1 + (int)(laze_dtype_get(dtype)->digits * 0.30103), precision = 0; /* log10(2) a digit */
  if (!isfinite(value)) {
    snprintf(out, NUMBER_WIDTH, "%s", isnan(value) ? "nan" : value < 0 ? "-inf" : "inf");
    return;
  }
  do laze_real_format(out, NUMBER_WIDTH, 'e', precision, value);
  while (laze_real_parse(dtype, out, NULL) != value && ++precision < 17);
  int exponent = atoi(strchr(out, 'e') + 1);
  if (exponent < -4 || exponent >= exact) return;
  int decimals = precision - exponent;
  laze_real_format(out, NUMBER_WIDTH, 'f', decimals < 1 ? 1 : decimals, value);
}

/* "1.5-2.0j", each part as a float of its own. */
static void format_complex(char out[NUMBER_WIDTH], laze_dtype part, laze_scalar value) {
  char real[NUMBER_WIDTH], imaginary[NUMBER_WIDTH];
  format_real(real, part, value.value.real);
  format_real(imaginary, part, value.imaginary);
  snprintf(out, NUMBER_WIDTH, "%.30s%s%.30sj", real, *imaginary == '-' ? "" : "+", imaginary);
}

static void format_element(char out[NUMBER_WIDTH], laze_dtype dtype, laze_scalar value) {
  switch (laze_dtype_kind(dtype)) {
  case LAZE_KIND_NONE: *out = 0; break;
  case LAZE_KIND_BOOL: snprintf(out, NUMBER_WIDTH, "%s", value.value.integer ? "true" : "false"); break;
  case LAZE_KIND_SIGNED: snprintf(out, NUMBER_WIDTH, "%lld", (long long)value.value.integer); break;
  case LAZE_KIND_UNSIGNED: snprintf(out, NUMBER_WIDTH, "%llu", (unsigned long long)value.value.integer); break;
  case LAZE_KIND_FLOAT: format_real(out, dtype, value.value.real); break;
  case LAZE_KIND_COMPLEX: format_complex(out, laze_dtype_part(dtype), value); break;
  }
}

static void append(printer *self, const char *string) {
  if (self->text) laze_text_append(self->text, string);
  self->column += (int)strlen(string);
}

static void new_line(printer *self, int lines, int indent) {
  for (int i = 0; i < lines; i++) append(self, "\n");
  self->column = 0;
  for (int i = 0; i < indent; i++) append(self, " ");
}

static void show_element(printer *self, int64_t index) {
  char number[NUMBER_WIDTH], padded[2 * NUMBER_WIDTH];
  format_element(number, self->type->dtype, laze_scalar_load(self->type->dtype, self->data, index));
  int length = (int)strlen(number);
  if (!self->text && length > self->width) self->width = length;
  snprintf(padded, sizeof padded, "%*s", self->width, number);
  append(self, padded);
}

/* What stands between two entries of an axis. */
static void separate(printer *self, int axis, int width) {
  int inner = self->type->rank - 1 - axis;
  if (inner > 0)
    new_line(self, inner, axis + 1);
  else if (self->column + 1 + width >= LINE_WIDTH)
    new_line(self, 1, axis + 1);
  else
    append(self, " ");
}

/* Recursion is as deep as the rank. */
static void show_axis(printer *self, int axis, int64_t offset) {
  if (axis == self->type->rank) {
    show_element(self, offset);
    return;
  }
  int64_t size = self->type->sizes[axis];
  append(self, "[");
  for (int64_t i = 0; i < size; i++) {
    if (i > 0) separate(self, axis, self->width);
    if (self->elided && size > 2 * EDGE && i == EDGE) {
      append(self, "...");
      i = size - EDGE;
      separate(self, axis, self->width);
    }
    show_axis(self, axis + 1, offset + i * self->strides[axis]);
  }
  append(self, "]");
}

void laze_array_print(laze_text *text, const laze_type *type, const void *data) {
  printer self = {.type = type, .data = data};
  int64_t count = 1;
  for (int axis = 0; axis < type->rank; axis++)
    if (type->sizes[axis] == 0) count = 0; /* the other sizes' product may be beyond what fits */
  for (int axis = type->rank; axis-- > 0 && count > 0;) {
    self.strides[axis] = count;
    count *= type->sizes[axis];
  }
  if (count == 0) {
    laze_text_append(text, "[]");
    return;
  }
  self.elided = count > LONG_ARRAY;
  show_axis(&self, 0, 0);
  self.text = text;
  self.column = 0;
  show_axis(&self, 0, 0);
}
