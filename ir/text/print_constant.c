/* Prints the elements of a constant: as numbers, in hexadecimal, or as a place in a file that the caller writes. */
#include "ir/text/text_internal.h"

#include "base/checked.h"

enum { ALIGNMENT = 64, PIECE = 2048 };

void laze_weights_deinit(laze_weights *weights) {
  laze_free(weights->context, weights->items);
  *weights = (laze_weights){.context = weights->context};
}

/* Gives the bytes a place in the file; false when memory is out. */
static bool add_weight(laze_weights *weights, const laze_data *data, int64_t *offset) {
  *offset = (weights->size + ALIGNMENT - 1) & -(int64_t)ALIGNMENT;
  if (laze_grow(weights->context, (void **)&weights->items, &weights->capacity, weights->count + 1,
                sizeof *weights->items, NULL) != LAZE_OK)
    return false;
  weights->items[weights->count++] = (laze_weight){data->bytes, *offset, data->size};
  return !laze_add_overflows(*offset, data->size, &weights->size);
}

static void print_place(laze_text *text, const laze_data *data, const laze_print_options *options) {
  int64_t offset;
  if (!add_weight(options->weights, data, &offset)) {
    text->failed = true;
    return;
  }
  laze_text_append(text, " file=");
  laze_text_append_string(text, options->file);
  laze_text_format(text, ", offset=%lld, length=%lld", (long long)offset, (long long)data->size);
}

static void print_hex(laze_text *text, const laze_data *data) {
  static const char digits[] = "0123456789abcdef";
  char piece[2 * PIECE];
  const unsigned char *bytes = data->bytes;
  laze_text_append(text, " hex=\"");
  for (int64_t done = 0; done < data->size;) {
    int64_t count = 0;
    for (; count < PIECE && done < data->size; count++, done++) {
      piece[2 * count] = digits[bytes[done] >> 4];
      piece[2 * count + 1] = digits[bytes[done] & 15];
    }
    laze_text_append_bytes(text, piece, 2 * count);
  }
  laze_text_append(text, "\"");
}

static void print_numbers(laze_text *text, const laze_type *type, const laze_data *data, int64_t count) {
  laze_text_append(text, type->rank ? " [" : " ");
  for (int64_t i = 0; i < count; i++) {
    if (i > 0) laze_text_append(text, ", ");
    laze_text_append_element(text, type->dtype, data->bytes, i);
  }
  if (type->rank) laze_text_append(text, "]");
}

void laze_constant_print(laze_text *text, const laze_node *node, const laze_print_options *options) {
  const laze_type *type = node->types[0];
  const laze_data none = {0}, *given = laze_node_constant(node), *data = given ? given : &none;
  int64_t count = data->size / laze_dtype_size(type->dtype);
  if (options->file && count > options->large)
    print_place(text, data, options);
  else if (options->hexadecimal && count > options->large)
    print_hex(text, data);
  else
    print_numbers(text, type, data, count);
}
