/* Pieces of the text form that printer and parser share. */
#ifndef LAZE_IR_TEXT_INTERNAL_H
#define LAZE_IR_TEXT_INTERNAL_H

#include "ir/text/text.h"
#include "ir/text/lexer.h"

/* One element of a constant, by its bits, so that a NaN keeps its payload and its quiet bit. */
void laze_text_append_element(laze_text *text, laze_dtype dtype, const void *elements, int64_t index);
/* Reads what that wrote from *cursor into element `index` and moves *cursor behind it; false where there is none, or a
 * number that does not fit. */
bool laze_text_read_element(const char **cursor, laze_dtype dtype, void *elements, int64_t index);

/* A string in quotes, with what would end it, or a line, escaped. */
void laze_text_append_string(laze_text *text, const char *string);
/* The attribute of the argument, or NULL where it is left out: an operand, or the default. */
const laze_attribute *laze_text_printed_attribute(const laze_node *node, const laze_argument_info *argument);
/* The elements behind `constant`. */
void laze_constant_print(laze_text *text, const laze_node *node, const laze_print_options *options);

/* A number in the form in which it determines its kind: "true" is bool, "2" an integer, "2.0" real. */
bool laze_text_read_scalar(const char **cursor, laze_scalar *out);

/* Values by name. Each region has a scope of its own. Memory comes from the arena and the context. */
typedef struct laze_name {
  const char *text; /* borrowed */
  int32_t length, scope;
  int64_t first; /* among the values of the table */
  int32_t count;
} laze_name;

typedef struct laze_name_table {
  laze_context *context;
  laze_name *names;
  int64_t name_count, name_capacity;
  int32_t *slots; /* indices of names, -1 free; at most half full */
  int64_t slot_count;
  laze_value *values;
  int64_t value_count, value_capacity;
} laze_name_table;

void laze_name_table_init(laze_name_table *table, laze_context *context);
void laze_name_table_deinit(laze_name_table *table);
/* NULL when the scope has no such name. Borrowed until the next insertion. */
const laze_name *laze_name_find(const laze_name_table *table, int32_t scope, const char *text, int32_t length);
/* The name must be new in its scope. `text` is borrowed, `values` copied. */
LAZE_MUST_USE laze_status laze_name_insert(laze_name_table *table, int32_t scope, const char *text, int32_t length,
                                           const laze_value *values, int32_t count, laze_error *error);

#endif
