/* Types as text ("f32[n,3]"), and their checks: rank, sizes that are not negative, elements that can be counted. */
#include "shape_inference/type.h"

#include "base/checked.h"
#include "shape_inference/size_internal.h"

#include <stdio.h>
#include <string.h>

enum { LONGEST_DTYPE = 15 };

bool laze_type_equal(const laze_type *a, const laze_type *b) {
  if (a->kind != b->kind) return false;
  if (a->kind == LAZE_TYPE_TOKEN) return true;
  return a->dtype == b->dtype && a->rank == b->rank &&
         memcmp(a->sizes, b->sizes, (size_t)a->rank * sizeof *a->sizes) == 0;
}

typedef void (*print_function)(laze_text *text, const laze_size_table *table, laze_size size);

static void print_type(laze_text *text, const laze_size_table *table, const laze_type *type, print_function print) {
  if (type->kind == LAZE_TYPE_TOKEN || type->kind == LAZE_TYPE_NONE) {
    laze_text_append(text, type->kind == LAZE_TYPE_TOKEN ? "token" : "none");
    return;
  }
  if (type->dtype != LAZE_DTYPE_NONE) laze_text_append(text, laze_dtype_name(type->dtype));
  laze_text_append(text, "[");
  for (int i = 0; i < type->rank; i++) {
    if (i > 0) laze_text_append(text, ",");
    print(text, table, type->sizes[i]);
  }
  laze_text_append(text, "]");
}

void laze_type_print(laze_text *text, const laze_size_table *table, const laze_type *type) {
  print_type(text, table, type, laze_size_print);
}

static bool is_constant(const laze_type *type) {
  for (int i = 0; i < type->rank; i++)
    if (!laze_size_is_constant(type->sizes[i])) return false;
  return true;
}

/* Without allocating, for messages about memory need to be made too. */
static void format_constants(const laze_type *type, char *buffer, int64_t size) {
  const char *dtype = type->dtype == LAZE_DTYPE_NONE ? "" : laze_dtype_name(type->dtype);
  int64_t at = snprintf(buffer, (size_t)size, "%s[", dtype);
  for (int i = 0; i < type->rank && at < size; i++)
    at += snprintf(buffer + at, (size_t)(size - at), i > 0 ? ",%lld" : "%lld", (long long)type->sizes[i]);
  if (at < size) snprintf(buffer + at, (size_t)(size - at), "]");
}

const char *laze_type_format(const laze_size_table *table, const laze_type *type, char *buffer, int64_t size) {
  if (size <= 0) return buffer;
  if (type->kind == LAZE_TYPE_TOKEN || type->kind == LAZE_TYPE_NONE) {
    snprintf(buffer, (size_t)size, "%s", type->kind == LAZE_TYPE_TOKEN ? "token" : "none");
  } else if (is_constant(type)) {
    format_constants(type, buffer, size);
  } else {
    laze_text text;
    laze_text_init(&text, table->context);
    print_type(&text, table, type, laze_size_show);
    snprintf(buffer, (size_t)size, "%s", laze_text_get(&text));
    laze_text_deinit(&text);
  }
  return buffer;
}

static laze_status check_elements(const char *what, const laze_type *type, laze_error *error) {
  int64_t elements = 1;
  bool overflow = false, constant = is_constant(type);
  for (int i = 0; i < type->rank; i++)
    if (type->sizes[i] == 0) elements = 0;
  for (int i = 0; constant && elements != 0 && !overflow && i < type->rank; i++)
    overflow = laze_mul_overflows(elements, type->sizes[i], &elements) || elements > LAZE_MAX_ELEMENTS;
  if (!overflow) return LAZE_OK;
  char shape[400];
  return laze_fail(error, LAZE_OUT_OF_RANGE,
                   "%s: shape %s is too large; its elements must number at most 2^59, which at 8 bytes are 2^62", what,
                   laze_type_format(NULL, type, shape, sizeof shape));
}

laze_status laze_type_init(laze_type *out, const char *what, laze_dtype dtype, int rank, const int64_t *sizes,
                           laze_error *error) {
  if (!laze_dtype_is_valid(dtype))
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: %d is no dtype; use one of %s", what, (int)dtype,
                     laze_dtype_constants());
  if (rank < 0 || rank > LAZE_MAX_RANK)
    return laze_fail(error, LAZE_OUT_OF_RANGE, "%s: rank %d; a tensor has 0 to %d dimensions", what, rank,
                     LAZE_MAX_RANK);
  if (rank > 0 && !sizes)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: no sizes for rank %d; pass an array of that many", what, rank);
  out->kind = LAZE_TYPE_TENSOR;
  out->dtype = (uint8_t)dtype;
  out->rank = (uint8_t)rank;
  for (int i = 0; i < rank; i++) {
    if (sizes[i] < 0 || sizes[i] > LAZE_SIZE_CONSTANT_MAX)
      return laze_fail(error, LAZE_OUT_OF_RANGE, "%s: axis %d has size %lld; sizes are 0 to 2^62", what, i,
                       (long long)sizes[i]);
    out->sizes[i] = sizes[i];
  }
  return check_elements(what, out, error);
}

static laze_status check_bools(const char *what, const uint8_t *bytes, int64_t count, laze_error *error) {
  for (int64_t i = 0; i < count; i++)
    if (bytes[i] > 1)
      return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: element %lld is the byte %d, but a bool is 0 or 1", what,
                       (long long)i, (int)bytes[i]);
  return LAZE_OK;
}

laze_status laze_type_of_memory(laze_type *out, const char *what, laze_dtype dtype, laze_ints sizes, const void *data,
                                size_t size, laze_error *error) {
  laze_size elements;
  LAZE_TRY(laze_type_init(out, what, dtype, sizes.count, sizes.items, error));
  LAZE_TRY(laze_type_elements(NULL, out, &elements, error));
  int64_t bytes = elements * laze_dtype_size(dtype); /* fits: laze_type_init has checked it */
  char text[128];
  if ((uint64_t)bytes != (uint64_t)size)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: %s takes %lld bytes, but size is %zu", what,
                     laze_type_format(NULL, out, text, sizeof text), (long long)bytes, size);
  if (!data && size > 0) return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: data is NULL", what);
  return LAZE_OK;
}

laze_status laze_type_of_data(laze_type *out, const char *what, laze_dtype dtype, laze_ints sizes, const void *data,
                              size_t size, laze_error *error) {
  LAZE_TRY(laze_type_of_memory(out, what, dtype, sizes, data, size, error));
  return dtype == LAZE_BOOL ? check_bools(what, data, (int64_t)size, error) : LAZE_OK;
}

laze_status laze_type_check_aligned(const char *what, laze_dtype dtype, const void *data, laze_error *error) {
  if ((uintptr_t)data % (uintptr_t)laze_dtype_size(dtype) == 0) return LAZE_OK;
  return laze_fail(error, LAZE_INVALID_ARGUMENT,
                   "%s: data at %p is not aligned to the %d bytes of a %s; align it, or have it copied", what, data,
                   (int)laze_dtype_size(dtype), laze_dtype_name(dtype));
}

laze_status laze_type_elements(laze_size_table *table, const laze_type *type, laze_size *out, laze_error *error) {
  return laze_size_product(table, type->sizes, type->rank, out, error);
}

static laze_status parse_sizes(laze_size_table *table, const char *start, const char **cursor, laze_type *out,
                               laze_error *error) {
  if (**cursor == ']') {
    ++*cursor;
    return LAZE_OK;
  }
  for (;;) {
    laze_size size;
    LAZE_TRY(laze_size_parse(table, cursor, &size, error));
    if (size < 0 && laze_size_is_constant(size))
      return laze_fail(error, LAZE_OUT_OF_RANGE, "type \"%s\": axis %d has size %lld; sizes are 0 to 2^62",
                       laze_excerpt(start, 60).text, out->rank, (long long)size);
    if (out->rank == LAZE_MAX_RANK)
      return laze_fail(error, LAZE_OUT_OF_RANGE, "type \"%s\": more than %d dimensions", laze_excerpt(start, 60).text,
                       LAZE_MAX_RANK);
    out->sizes[out->rank++] = size;
    while (**cursor == ' ') ++*cursor;
    char next = **cursor;
    if (next != ',' && next != ']')
      return laze_fail(error, LAZE_INVALID_ARGUMENT, "type \"%s\": \",\" or \"]\" was expected at \"%s\"",
                       laze_excerpt(start, 60).text, laze_excerpt(*cursor, 20).text);
    ++*cursor;
    if (next == ']') return LAZE_OK;
  }
}

laze_status laze_type_parse(laze_size_table *table, const char **cursor, laze_type *out, laze_error *error) {
  const char *start = *cursor;
  char name[LONGEST_DTYPE + 1];
  size_t length = 0;
  while (length < LONGEST_DTYPE &&
         ((start[length] >= 'a' && start[length] <= 'z') || (start[length] >= '0' && start[length] <= '9')))
    length++;
  memcpy(name, start, length);
  name[length] = 0;
  memset(out, 0, sizeof *out);
  if (strcmp(name, "token") == 0 || strcmp(name, "none") == 0) {
    out->kind = *name == 't' ? LAZE_TYPE_TOKEN : LAZE_TYPE_NONE;
    *cursor = start + length;
    return LAZE_OK;
  }
  laze_dtype dtype = laze_dtype_find(name);
  if (dtype == LAZE_DTYPE_NONE)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "type \"%s\": a dtype (%s) or \"token\" was expected",
                     laze_excerpt(start, 60).text, laze_dtype_list(LAZE_DTYPE_ALL, LAZE_NAME_SHORT, ", ").text);
  if (start[length] != '[')
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "type \"%s\": \"[\" was expected after \"%s\"",
                     laze_excerpt(start, 60).text, name);
  out->dtype = (uint8_t)dtype;
  const char *at = start + length + 1;
  LAZE_TRY(parse_sizes(table, start, &at, out, error));
  LAZE_TRY(check_elements("type", out, error));
  *cursor = at;
  return LAZE_OK;
}
