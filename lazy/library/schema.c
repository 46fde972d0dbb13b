/* Reads a schema from left to right, a piece of the grammar a function:
 *
 *   mine::clamp_.both(Tensor(a!) x, float low=0.0, *, float? high=None) -> Tensor(a!)
 *   name              argument: type, alias, name, default                result
 *
 * The grammar is that of the operator tables (ops/opgen/schema.c), of what a kernel can take. */
#include "lazy/library/schema.h"

#include "base/dtype.h"
#include "base/real.h"
#include "ir/attribute.h"
#include "ir/recorder.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_TEXT = 4000 };

typedef struct {
  const char *cursor;
  laze_arena *arena;
  laze_library_schema *schema;
  laze_argument_info *arguments; /* of the schema */
  int aliases[LAZE_MOST_ARGUMENTS];
  bool written[LAZE_MOST_ARGUMENTS];
  laze_error *error;
} reader;

/* What stands behind a type's name. */
typedef struct {
  laze_argument_kind kind;
  int32_t list_size;
  int alias; /* a number for "a", "b", "a1"; 0: none */
  bool written, optional;
} type;

static laze_status expected(const reader *self, const char *what) {
  return laze_fail(self->error, LAZE_INVALID_ARGUMENT,
                   "laze_library_define: expected %s at \"%.40s\" of the schema \"%.200s\"", what, self->cursor,
                   self->schema->text);
}

static laze_status wrong(const reader *self, laze_status status, const char *what) {
  return laze_fail(self->error, status, "laze_library_define: %s; the schema is \"%.200s\"", what, self->schema->text);
}

static void skip_blanks(reader *self) {
  while (isspace((unsigned char)*self->cursor)) self->cursor++;
}

static bool accept(reader *self, const char *text) {
  const size_t size = strlen(text);
  skip_blanks(self);
  if (strncmp(self->cursor, text, size) != 0) return false;
  self->cursor += size;
  return true;
}

static laze_status expect(reader *self, const char *text, const char *what) {
  return accept(self, text) ? LAZE_OK : expected(self, what);
}

static bool is_word(char letter) {
  return isalnum((unsigned char)letter) || letter == '_';
}

/* How many letters of a name stand here. */
static size_t word_length(const char *text) {
  size_t length = 0;
  if (isdigit((unsigned char)*text)) return 0;
  while (is_word(text[length])) length++;
  return length;
}

static laze_status copy(reader *self, size_t length, const char **out) {
  char *text = laze_arena_alloc(self->arena, (int64_t)length + 1);
  if (!text) return laze_fail_memory(self->error, "a schema", (int64_t)length);
  memcpy(text, self->cursor, length);
  text[length] = 0;
  self->cursor += length;
  *out = text;
  return LAZE_OK;
}

static laze_status read_word(reader *self, const char *what, const char **out) {
  skip_blanks(self);
  const size_t length = word_length(self->cursor);
  return length == 0 ? expected(self, what) : copy(self, length, out);
}

/* "mine::scale", with ".overload" where there is one. */
static laze_status read_name(reader *self) {
  skip_blanks(self);
  const char *cursor = self->cursor;
  const size_t space = word_length(cursor);
  const size_t base = space > 0 && strncmp(cursor + space, "::", 2) == 0 ? word_length(cursor + space + 2) : 0;
  if (base == 0) return expected(self, "a name with its namespace, as in \"mine::scale\",");
  size_t length = space + 2 + base;
  if (cursor[length] == '.') {
    const size_t overload = word_length(cursor + length + 1);
    if (overload == 0) return expected(self, "the name of an overload behind the point");
    length += 1 + overload;
  }
  if (length >= LAZE_LONGEST_NAME) return wrong(self, LAZE_INVALID_ARGUMENT, "the name is too long");
  return copy(self, length, &self->schema->name);
}

/* --- types --- */

#define NO_LIST LAZE_ARGUMENT_DATA
static const struct {
  const char *name;
  laze_argument_kind kind, list;
} type_names[] = {
    {"Tensor", LAZE_ARGUMENT_TENSOR, LAZE_ARGUMENT_TENSOR_LIST},
    {"Scalar", LAZE_ARGUMENT_SCALAR, NO_LIST},
    {"int", LAZE_ARGUMENT_INT, LAZE_ARGUMENT_INT_LIST},
    {"SymInt", LAZE_ARGUMENT_SIZE, LAZE_ARGUMENT_SIZE_LIST},
    {"float", LAZE_ARGUMENT_FLOAT, LAZE_ARGUMENT_FLOAT_LIST},
    {"bool", LAZE_ARGUMENT_BOOL, NO_LIST},
    {"ScalarType", LAZE_ARGUMENT_DTYPE, NO_LIST},
    {"str", LAZE_ARGUMENT_STRING, LAZE_ARGUMENT_STRING_LIST},
};
static const char type_list[] = "a type (Tensor, Scalar, int, SymInt, float, bool, ScalarType, str; [] and ? behind)";

/* "(a)", "(a!)" and "(a0!)". */
static laze_status read_alias(reader *self, type *out) {
  enum { MOST_NUMBER = 1000 };
  int number = 0;
  if (*self->cursor != '(') return LAZE_OK;
  if (!islower((unsigned char)self->cursor[1])) return expected(self, "a letter, as in \"Tensor(a!)\",");
  const char letter = self->cursor[1];
  self->cursor += 2;
  while (isdigit((unsigned char)*self->cursor) && number < MOST_NUMBER)
    number = number * 10 + (*self->cursor++ - '0') + 1;
  out->alias = letter * MOST_NUMBER * 11 + number;
  if (*self->cursor == '!') {
    out->written = true;
    self->cursor++;
  }
  return expect(self, ")", "\")\"");
}

static laze_status read_brackets(reader *self, laze_argument_kind list, type *out) {
  if (*self->cursor != '[') return LAZE_OK;
  if (list == NO_LIST) return expected(self, "no list: there are none of this type,");
  self->cursor++;
  while (isdigit((unsigned char)*self->cursor) && out->list_size < LAZE_MAX_RANK)
    out->list_size = out->list_size * 10 + (*self->cursor++ - '0');
  out->kind = list;
  return expect(self, "]", "\"]\"");
}

static laze_status read_type(reader *self, type *out) {
  *out = (type){0};
  skip_blanks(self);
  const size_t length = word_length(self->cursor), count = sizeof type_names / sizeof *type_names;
  size_t index = 0;
  while (index < count &&
         (strlen(type_names[index].name) != length || strncmp(type_names[index].name, self->cursor, length) != 0))
    index++;
  if (index == count) return expected(self, type_list);
  self->cursor += length;
  out->kind = type_names[index].kind;
  LAZE_TRY(read_alias(self, out));
  LAZE_TRY(read_brackets(self, type_names[index].list, out));
  if (*self->cursor == '?') {
    self->cursor++;
    out->optional = true;
  }
  if (out->alias && (out->kind != LAZE_ARGUMENT_TENSOR || out->optional))
    return wrong(self, LAZE_UNSUPPORTED, "only a Tensor, no list and none that may be absent, can share memory");
  return LAZE_OK;
}

/* --- defaults --- */

static laze_status read_integer(reader *self, int64_t *out) {
  char *end;
  errno = 0;
  skip_blanks(self);
  *out = strtoll(self->cursor, &end, 10);
  if (end == self->cursor || errno != 0) return expected(self, "an integer of 64 bits");
  self->cursor = end;
  return LAZE_OK;
}

/* *whole: it has neither point nor exponent. */
static laze_status read_real(reader *self, bool *whole, double *out) {
  const size_t length = strspn(self->cursor, "+-0123456789.eE");
  char *end;
  *whole = strcspn(self->cursor, ".eE") >= length;
  *out = laze_real_parse(LAZE_F64, self->cursor, &end);
  if (length == 0 || end != self->cursor + length) return expected(self, "a number as default");
  self->cursor = end;
  return LAZE_OK;
}

static laze_status read_list(reader *self, const laze_argument_info *argument, laze_attribute *out) {
  const bool reals = argument->kind == LAZE_ARGUMENT_FLOAT_LIST, texts = argument->kind == LAZE_ARGUMENT_STRING_LIST;
  laze_size items[LAZE_MAX_RANK] = {0};
  int32_t count = 0;
  LAZE_TRY(expect(self, "[", "a list"));
  *out = (laze_attribute){.kind = (uint8_t)argument->kind, .present = true, .value.string = ""};
  if (accept(self, "]")) return LAZE_OK;
  if (reals || texts) return expected(self, "\"]\": a default list of numbers or strings is empty, so");
  do {
    if (count == LAZE_MAX_RANK) return expected(self, "no more than 16 items");
    LAZE_TRY(read_integer(self, &items[count++]));
  } while (accept(self, ","));
  out->count = count;
  out->value.items = laze_arena_copy(self->arena, items, count * (int64_t)sizeof *items);
  if (!out->value.items) return laze_fail_memory(self->error, "a schema", -1);
  return expect(self, "]", "\"]\"");
}

static laze_status read_string(reader *self, laze_attribute *out) {
  const char quote = *self->cursor, *text;
  if (quote != '"' && quote != '\'') return expected(self, "a string in quotes");
  self->cursor++;
  const char *end = strchr(self->cursor, quote);
  if (!end) return expected(self, "a closing quote");
  LAZE_TRY(copy(self, (size_t)(end - self->cursor), &text));
  self->cursor++;
  *out = laze_attribute_string(text);
  return LAZE_OK;
}

static laze_status read_dtype(reader *self, laze_attribute *out) {
  const char *name, *cursor = self->cursor;
  LAZE_TRY(read_word(self, "a dtype, such as f32,", &name));
  const laze_dtype dtype = laze_dtype_find(name);
  *out = laze_attribute_dtype(dtype);
  if (dtype != LAZE_DTYPE_NONE) return LAZE_OK;
  self->cursor = cursor;
  return expected(self, "a dtype, such as f32,");
}

static laze_status read_bool(reader *self, int64_t *out) {
  *out = accept(self, "True");
  return *out || accept(self, "False") ? LAZE_OK : expected(self, "True or False");
}

static laze_status read_scalar(reader *self, laze_attribute *out) {
  int64_t integer;
  double real;
  bool whole;
  if (*self->cursor == 'T' || *self->cursor == 'F') {
    LAZE_TRY(read_bool(self, &integer));
    *out = laze_attribute_literal(laze_scalar_boolean(integer != 0));
    return LAZE_OK;
  }
  const char *cursor = self->cursor;
  LAZE_TRY(read_real(self, &whole, &real));
  *out = laze_attribute_literal(laze_scalar_real(real));
  if (!whole) return LAZE_OK;
  self->cursor = cursor;
  LAZE_TRY(read_integer(self, &integer));
  *out = laze_attribute_literal(laze_scalar_integer(integer));
  return LAZE_OK;
}

static laze_status read_default(reader *self, laze_argument_info *argument) {
  laze_attribute *out = &argument->default_value;
  double real;
  bool whole;
  skip_blanks(self);
  argument->has_default = true;
  *out = (laze_attribute){.kind = (uint8_t)argument->kind, .present = true};
  if (accept(self, "None")) {
    out->present = false;
    return argument->optional ? LAZE_OK
                              : wrong(self, LAZE_INVALID_ARGUMENT, "None is the default of what has no \"?\"");
  }
  switch (argument->kind) {
  case LAZE_ARGUMENT_SCALAR: return read_scalar(self, out);
  case LAZE_ARGUMENT_INT: return read_integer(self, &out->value.integer);
  case LAZE_ARGUMENT_SIZE: return read_integer(self, &out->value.size);
  case LAZE_ARGUMENT_BOOL: return read_bool(self, &out->value.integer);
  case LAZE_ARGUMENT_DTYPE: return read_dtype(self, out);
  case LAZE_ARGUMENT_STRING: return read_string(self, out);
  case LAZE_ARGUMENT_FLOAT:
    LAZE_TRY(read_real(self, &whole, &real));
    *out = laze_attribute_real(real);
    return LAZE_OK;
  case LAZE_ARGUMENT_INT_LIST:
  case LAZE_ARGUMENT_SIZE_LIST:
  case LAZE_ARGUMENT_FLOAT_LIST:
  case LAZE_ARGUMENT_STRING_LIST: return read_list(self, argument, out);
  default: return expected(self, "no default but None: a tensor has no other,");
  }
}

/* --- arguments and results --- */

static int32_t find_argument(const reader *self, const char *name) {
  for (int32_t i = 0; i < self->schema->argument_count; i++)
    if (strcmp(self->arguments[i].name, name) == 0) return i;
  return -1;
}

static laze_status read_argument(reader *self, bool keyword_only) {
  laze_library_schema *schema = self->schema;
  const int32_t index = schema->argument_count;
  laze_argument_info *argument = &self->arguments[index];
  type found;
  if (index == LAZE_MOST_ARGUMENTS) return wrong(self, LAZE_UNSUPPORTED, "it has more than 64 arguments");
  LAZE_TRY(read_type(self, &found));
  *argument = (laze_argument_info){.kind = found.kind,
                                   .optional = found.optional,
                                   .keyword_only = keyword_only,
                                   .list_size = (int16_t)found.list_size,
                                   .position = (int16_t)index};
  LAZE_TRY(read_word(self, "an argument's name", &argument->name));
  if (find_argument(self, argument->name) >= 0)
    return wrong(self, LAZE_INVALID_ARGUMENT, "two arguments have one name");
  if (accept(self, "=")) LAZE_TRY(read_default(self, argument));
  self->aliases[index] = found.alias;
  self->written[index] = found.written;
  schema->argument_count++;
  if (!found.written) return LAZE_OK;
  if (schema->write_count == LAZE_OPAQUE_MAX_RESULTS)
    return wrong(self, LAZE_UNSUPPORTED, "it writes to more than eight arguments");
  schema->writes[schema->write_count++] = index;
  return LAZE_OK;
}

static laze_status read_arguments(reader *self) {
  bool keyword_only = false;
  LAZE_TRY(expect(self, "(", "\"(\""));
  if (accept(self, ")")) return LAZE_OK;
  do {
    if (accept(self, "*"))
      keyword_only = true;
    else
      LAZE_TRY(read_argument(self, keyword_only));
  } while (accept(self, ","));
  return expect(self, ")", "\",\" or \")\"");
}

static laze_status read_result(reader *self) {
  laze_library_schema *schema = self->schema;
  type found;
  int32_t argument = schema->argument_count - 1;
  const char *name;
  LAZE_TRY(read_type(self, &found));
  if (found.kind != LAZE_ARGUMENT_TENSOR || found.optional)
    return wrong(self, LAZE_UNSUPPORTED, "a result is no Tensor; kernels give tensors, and as many as the schema says");
  if (schema->result_count == LAZE_OPAQUE_MAX_RESULTS)
    return wrong(self, LAZE_UNSUPPORTED, "it has more than eight results");
  skip_blanks(self);
  if (word_length(self->cursor) > 0) LAZE_TRY(read_word(self, "a name", &name)); /* nobody asks for it */
  while (found.alias && argument >= 0 && self->aliases[argument] != found.alias) argument--;
  if (found.alias && (argument < 0 || self->written[argument] != found.written))
    return wrong(self, LAZE_INVALID_ARGUMENT, "a result shares memory with an argument that does not say so alike");
  if (found.alias && !found.written && (argument > 0 || schema->result_count > 0))
    return wrong(self, LAZE_UNSUPPORTED, "only the first result can share memory, with the first argument");
  schema->is_view |= found.alias && !found.written;
  schema->results[schema->result_count++] = found.written ? argument : -1;
  return LAZE_OK;
}

static laze_status read_results(reader *self) {
  LAZE_TRY(expect(self, "->", "\"->\""));
  if (!accept(self, "(")) return read_result(self);
  if (accept(self, ")")) return LAZE_OK;
  do LAZE_TRY(read_result(self));
  while (accept(self, ","));
  return expect(self, ")", "\",\" or \")\"");
}

/* What the letters say of each other. */
static laze_status check_aliases(const reader *self) {
  const laze_library_schema *schema = self->schema;
  for (int32_t i = 0; i < schema->argument_count; i++)
    for (int32_t k = 0; self->aliases[i] && k < i; k++)
      if (self->aliases[k] == self->aliases[i])
        return wrong(self, LAZE_UNSUPPORTED, "two arguments share memory, which no kernel could rely on");
  if (laze_library_schema_own_results(schema) + schema->write_count > LAZE_OPAQUE_MAX_RESULTS)
    return wrong(self, LAZE_UNSUPPORTED, "it has more than eight results, with what it writes to");
  if (schema->result_count + schema->write_count == 0)
    return wrong(self, LAZE_UNSUPPORTED,
                 "it has no result and writes to nothing, so that nobody would ever need it to run");
  return LAZE_OK;
}

laze_status laze_library_schema_parse(laze_arena *arena, const char *text, laze_library_schema *out,
                                      laze_error *error) {
  laze_argument_info arguments[LAZE_MOST_ARGUMENTS + 1];
  *out = (laze_library_schema){.text = text ? text : ""};
  reader self = {.cursor = out->text, .arena = arena, .schema = out, .arguments = arguments, .error = error};
  if (strnlen(out->text, MOST_TEXT) == MOST_TEXT)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "laze_library_define: the schema has more than %d letters",
                     MOST_TEXT - 1);
  LAZE_TRY(read_name(&self));
  LAZE_TRY(read_arguments(&self));
  LAZE_TRY(read_results(&self));
  skip_blanks(&self);
  if (*self.cursor) return expected(&self, "the end");
  LAZE_TRY(check_aliases(&self));
  out->text = laze_arena_copy_string(arena, text);
  out->arguments = laze_arena_copy(arena, arguments, out->argument_count * (int64_t)sizeof *arguments);
  return out->text && out->arguments ? LAZE_OK : laze_fail_memory(error, "a schema", -1);
}

bool laze_library_schema_writes(const laze_library_schema *schema, int32_t argument) {
  for (int32_t i = 0; i < schema->write_count; i++)
    if (schema->writes[i] == argument) return true;
  return false;
}

int32_t laze_library_schema_own_results(const laze_library_schema *schema) {
  int32_t count = 0;
  for (int32_t i = 0; i < schema->result_count; i++) count += schema->results[i] < 0;
  return count;
}
