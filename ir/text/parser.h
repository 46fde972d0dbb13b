/* The parser's state: parse.c reads modules and headers, body.c statements and regions, call.c the arguments of one
 * operator. */
#ifndef LAZE_IR_TEXT_PARSER_H
#define LAZE_IR_TEXT_PARSER_H

#include "base/external.h"
#include "ir/builder.h"
#include "ir/call_resolve.h"
#include "ir/capture.h"
#include "ir/module.h"
#include "ir/text/text_internal.h"

/* Bounds of what a schema may have; larger ones are refused. */
enum { LAZE_PARSER_ARGUMENTS = 64, LAZE_PARSER_RESULTS = 8 };
enum { LAZE_PARSER_NAME = 128 }; /* of an operator, with the 0 at its end */

/* What one argument says: values, or the text of an attribute, read once the operator is known. */
typedef struct laze_parsed_argument {
  int64_t first_value;
  int32_t value_count;
  const char *start, *end;
} laze_parsed_argument;

/* One statement: `%name:count = operator arguments`. Arrays live in the parser's scratch arena. */
typedef struct laze_statement {
  const char *name;
  int32_t name_length, result_count;
  const char *at; /* where the operator stands, and its name as it is written */
  int32_t operator_length;
  int64_t first_node;         /* of those that it makes */
  const laze_graph *function; /* that it calls; NULL: it is no `call` */
  laze_call call;
} laze_statement;

typedef struct laze_parser_frame {
  laze_block *block;
  int32_t scope;
  laze_statement pending; /* the node whose regions are being read */
  laze_block *regions[LAZE_MAX_REGIONS];
  int32_t region_count;   /* read so far */
  laze_captures captures; /* of these regions */
} laze_parser_frame;

typedef struct laze_parser {
  laze_lexer lexer;
  laze_module *module;
  laze_graph *graph; /* that is being read: the module's last */
  laze_builder builder;
  const char *file;      /* in the graph's arena: for locations */
  const char *directory; /* where files are that constants refer to; NULL: there are none */
  laze_external weights; /* `bytes` not NULL: what they are */
  laze_name_table names;
  int32_t next_scope;
  laze_arena scratch;
  bool *reserved; /* by symbol of the `sizes` line: a statement is to define it */
  int64_t reserved_count, reserved_capacity;
  laze_role *roles; /* of the `signature` line: inputs, then results */
  int64_t role_count, role_inputs, role_capacity;
  const char *signature_at; /* NULL: there is no such line */
  const char *declared_at;  /* behind `->`: the types are read once the sizes in them are defined; NULL: none */
  laze_type *declared;      /* result types in the header */
  int64_t declared_count, declared_capacity;
  laze_value *values; /* of the current statement's arguments */
  int64_t value_count, value_capacity;
  laze_passed passed[LAZE_PARSER_ARGUMENTS];
  laze_parsed_argument arguments[LAZE_PARSER_ARGUMENTS];
  int32_t argument_count;
  int depth; /* of open frames */
  laze_parser_frame frames[LAZE_MAX_NESTING + 1];
} laze_parser;

/* An error of the library, if it is one, gets the place of what asked for it. */
static inline laze_status laze_parser_locate(laze_parser *parser, const char *at, laze_status status,
                                             laze_error *error) {
  return status == LAZE_OK ? LAZE_OK : laze_lexer_locate(&parser->lexer, at, error);
}
/* Makes a block the innermost one. */
void laze_parser_enter(laze_parser *parser, laze_block *block);
/* Reads `(%x: f32[n], ...)`, the parameters of the innermost block. */
LAZE_MUST_USE laze_status laze_parse_parameters(laze_parser *parser, laze_error *error);
/* Reads a graph from behind its `{` to its `}`; *returns is where its `return` stands, for messages. */
LAZE_MUST_USE laze_status laze_parse_body(laze_parser *parser, const char **returns, laze_error *error);

/* Reads operator and arguments behind `=` and fills in the call, recording a constant for each literal operand. */
LAZE_MUST_USE laze_status laze_parse_call(laze_parser *parser, laze_statement *statement, laze_error *error);
/* Reads `@function %x, %y` behind `call`. */
LAZE_MUST_USE laze_status laze_parse_function_call(laze_parser *parser, laze_statement *statement, laze_error *error);
/* Reads `%x` or `%x#1`. A value of a block around the innermost one is captured by the regions between. */
LAZE_MUST_USE laze_status laze_parse_value(laze_parser *parser, laze_value *out, laze_error *error);
LAZE_MUST_USE laze_status laze_parse_type(laze_parser *parser, laze_type *out, laze_error *error);

/* Takes the text of an attribute's value, and says what it looks like. */
LAZE_MUST_USE laze_status laze_parse_attribute_text(laze_parser *parser, laze_passed *passed,
                                                    laze_parsed_argument *argument, laze_error *error);
/* Sizes for an attribute whose values the argument names. */
LAZE_MUST_USE laze_status laze_parse_sizes_from_values(laze_parser *parser, const laze_argument_info *info,
                                                       const laze_parsed_argument *argument, laze_attribute *out,
                                                       laze_error *error);
/* Reads that text as what the schema says; lists and strings go to the scratch arena. */
LAZE_MUST_USE laze_status laze_parse_attribute(laze_parser *parser, const laze_argument_info *info,
                                               const laze_parsed_argument *argument, laze_attribute *out,
                                               laze_error *error);
/* Reads a string from *cursor, where its quote stands, into the arena and moves *cursor behind it. */
LAZE_MUST_USE laze_status laze_parse_string(laze_arena *arena, const char **cursor, const char **out,
                                            laze_error *error);

/* `name("dense/MatMul") loc("model.onnx:12")`, either or both or none, at the end of a statement. */
typedef struct laze_parsed_label {
  const char *name, *place; /* NULL: not given */
} laze_parsed_label;
/* Reads what stands here; strings go to the arena. */
LAZE_MUST_USE laze_status laze_parse_label(laze_lexer *lexer, laze_arena *arena, laze_parsed_label *out,
                                           laze_error *error);
/* Whether one starts at `at`, or is the next token. */
bool laze_text_at_label(const char *at);
bool laze_lexer_at_label(const laze_lexer *lexer);
/* Puts the label of the statement that is being read before the message of `error`, wherever it stands behind. */
void laze_parse_label_error(laze_parser *parser, laze_error *error);

/* Reads what stands behind `constant`, up to its type, which is left to be read again and checked. */
LAZE_MUST_USE laze_status laze_parse_constant(laze_parser *parser, laze_statement *statement, laze_error *error);

/* How a constant says its elements. */
typedef struct laze_parsed_constant {
  enum { LAZE_CONSTANT_NUMBERS, LAZE_CONSTANT_HEX, LAZE_CONSTANT_FILE } form;
  const char *start, *end; /* of the numbers, or of the hexadecimal digits; `start` is the place for messages */
  int64_t count;           /* of the numbers */
  const char *path;
  int64_t offset, length; /* in the file; -1: not given */
} laze_parsed_constant;
LAZE_MUST_USE laze_status laze_parse_constant_form(laze_parser *parser, laze_parsed_constant *out, laze_error *error);
/* Whether there are `size` bytes, in the text or in the file, which is opened. */
LAZE_MUST_USE laze_status laze_parse_hex_check(laze_parser *parser, const laze_parsed_constant *constant,
                                               const laze_type *type, int64_t size, laze_error *error);
LAZE_MUST_USE laze_status laze_parse_file_open(laze_parser *parser, const laze_parsed_constant *constant,
                                               const laze_type *type, int64_t size, laze_external *out,
                                               laze_error *error);
/* Reads them into what `out` refers to. */
LAZE_MUST_USE laze_status laze_parse_bytes(laze_parser *parser, const laze_parsed_constant *constant,
                                           const laze_type *type, const laze_external *external, const laze_data *out,
                                           laze_error *error);

const char *laze_text_skip_blanks(const char *at);
/* Behind the string that starts at `at`. */
const char *laze_text_skip_string(const char *at);

#endif
