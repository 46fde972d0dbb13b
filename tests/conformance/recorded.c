#include "tests/conformance/recorded.h"

#include "ir/text/text.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

recorded_file recorded_open(const char *path) {
  recorded_file from = {.file = fopen(path, "r")};
  ck_assert_ptr_nonnull(from.file);
  return from;
}

void recorded_close(recorded_file *from) {
  free(from->line);
  fclose(from->file);
}

bool recorded_next_line(recorded_file *from) {
  if (getline(&from->line, &from->capacity, from->file) < 0) return false;
  from->line[strcspn(from->line, "\n")] = 0;
  return true;
}

/* "f32[2,3] 3f800000 ..." into the next array. */
static void read_array(laze_context *context, const char *text, test_arrays *into) {
  laze_error error;
  int32_t i = into->count++;
  ck_assert_int_eq(laze_type_parse(NULL, &text, &into->types[i], &error), LAZE_OK);
  const laze_dtype dtype = into->types[i].dtype, part = laze_dtype_part(dtype);
  int64_t count = test_elements(&into->types[i]) * (part == dtype ? 1 : 2), width = laze_dtype_size(part);
  ck_assert_int_eq(laze_buffer_create(context, count * width, &into->buffers[i], &error), LAZE_OK);
  for (int64_t k = 0; k < count; k++) {
    char *end;
    uint64_t bits = strtoull(text, &end, 16);
    ck_assert_msg(end != text, "too few elements");
    memcpy((char *)into->buffers[i]->data + k * width, &bits, (size_t)width);
    text = end;
  }
  ck_assert_msg(*text == 0, "too many elements: %s", text);
}

void recorded_read(laze_context *context, recorded_file *from, recorded_case *out) {
  size_t length = 0;
  *out = (recorded_case){0};
  ck_assert_int_ge(sscanf(from->line, "case %63s %lf %63s", out->name, &out->tolerance, out->row), 2);
  while (recorded_next_line(from) && strcmp(from->line, "end")) {
    if (!strncmp(from->line, "input ", 6)) {
      read_array(context, from->line + 6, &out->inputs);
    } else if (!strncmp(from->line, "output ", 7)) {
      read_array(context, from->line + 7, &out->expected);
    } else if (!strcmp(from->line, "refused")) {
      out->refused = true;
    } else {
      size_t room = sizeof out->graph - length;
      int written = snprintf(out->graph + length, room, "%s\n", from->line);
      ck_assert_msg(written > 0 && (size_t)written < room, "%s: the graph is too long", out->name);
      length += (size_t)written;
    }
  }
}

void recorded_release(recorded_case *item) {
  test_arrays_release(&item->inputs);
  test_arrays_release(&item->expected);
}

laze_status recorded_run(laze_context *context, const laze_backend *backend, const recorded_case *item,
                         test_arrays *got, laze_error *error) {
  laze_graph *graph;
  got->count = 0;
  laze_status status = laze_graph_parse(context, item->graph, (int64_t)strlen(item->graph), item->name, &graph, error);
  if (status != LAZE_OK) return status;
  status = test_run(context, backend, graph, NULL, &item->inputs, got, error);
  laze_graph_destroy(graph);
  return status;
}

/* In units of the larger part, of which rounding leaves as much in the other. */
static bool same_parts(const recorded_case *item, laze_dtype part, const void *expected, const void *got) {
  double size = 0, apart = 0;
  for (int i = 0; i < 2; i++) {
    const double a = laze_scalar_as_real(laze_scalar_load(part, expected, i)),
                 b = laze_scalar_as_real(laze_scalar_load(part, got, i));
    if (a == b || (isnan(a) && isnan(b))) continue;
    size = fmax(size, fabs(a));
    apart = fmax(apart, isfinite(a - b) ? fabs(a - b) : INFINITY);
  }
  const double other = fmax(fabs(laze_scalar_as_real(laze_scalar_load(part, expected, 0))),
                            fabs(laze_scalar_as_real(laze_scalar_load(part, expected, 1))));
  return apart <= item->tolerance * ldexp(fmax(size, isfinite(other) ? other : 0), 1 - laze_dtype_get(part)->digits);
}

static bool same_element(const recorded_case *item, laze_dtype dtype, const void *expected, const void *got) {
  if (test_same_bits(dtype, expected, got)) return true;
  if (item->tolerance == 0) return false;
  const laze_dtype part = laze_dtype_part(dtype);
  if (part != dtype) return same_parts(item, part, expected, got);
  double a = test_element_as_double(dtype, expected), b = test_element_as_double(dtype, got);
  return test_ulp_distance(dtype, b, (long double)a) <= item->tolerance;
}

static bool same_array(const recorded_case *item, int32_t i, const test_arrays *got, char *message, size_t size) {
  const laze_type *type = &item->expected.types[i];
  char left[64], right[64];
  if (!laze_type_equal(type, &got->types[i])) {
    snprintf(message, size, "output %d is %s, not %s", (int)i,
             laze_type_format(NULL, &got->types[i], left, sizeof left),
             laze_type_format(NULL, type, right, sizeof right));
    return false;
  }
  for (int64_t k = 0, width = laze_dtype_size(type->dtype); k < test_elements(type); k++) {
    const char *a = (const char *)item->expected.buffers[i]->data + k * width,
               *b = (const char *)got->buffers[i]->data + k * width;
    if (same_element(item, type->dtype, a, b)) continue;
    snprintf(message, size, "output %d, element %lld is %s, not %s", (int)i, (long long)k,
             test_element_text(type->dtype, b, left), test_element_text(type->dtype, a, right));
    return false;
  }
  return true;
}

bool recorded_agrees(const recorded_case *item, laze_status status, const test_arrays *got, char *message,
                     size_t size) {
  bool failed = status != LAZE_OK;
  if (failed || item->refused) {
    snprintf(message, size, failed ? "fails" : "is not refused");
    return failed && item->refused;
  }
  snprintf(message, size, "%d outputs, not %d", (int)got->count, (int)item->expected.count);
  if (item->expected.count != got->count) return false;
  for (int32_t i = 0; i < got->count; i++)
    if (!same_array(item, i, got, message, size)) return false;
  return true;
}
