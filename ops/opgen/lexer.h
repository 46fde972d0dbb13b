/* Words and marks of expressions. */
#ifndef OPGEN_LEXER_H
#define OPGEN_LEXER_H

#include "ops/opgen/report.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum {
  TOKEN_END,
  TOKEN_NAME,
  TOKEN_INTEGER,
  TOKEN_REAL,
  TOKEN_STRING,
  TOKEN_MARK,
  TOKEN_NEWLINE
} gen_token_form;

typedef struct gen_token {
  gen_token_form form;
  int line;
  const char *text; /* as written; a string without its quotes */
  int64_t integer;
  double real;
} gen_token;

/* All tokens of a text, TOKEN_END last. Newlines inside brackets, and those before anything was written, are left out.
 * NULL when a fault was reported. */
gen_token *lexer_read(const char *text, gen_place at, gen_report *report);

#endif
