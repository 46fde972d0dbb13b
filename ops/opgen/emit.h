/* Composites as C: an expression becomes statements and a C expression for its value. */
#ifndef OPGEN_EMIT_H
#define OPGEN_EMIT_H

#include "ops/opgen/check.h"

#include <stdio.h>

typedef struct gen_emitter {
  const gen_table *table;
  const gen_operator *op;
  FILE *out;          /* statements of the block that is being written */
  FILE *storage;      /* declarations of the function's block, for lists that outlive an inner block */
  int depth;          /* blocks around `out`: 1 is the function's */
  int line;           /* of the entry's text that is being written */
  int temporaries;    /* made so far */
  uint64_t known;     /* bit i: argument i is known to be present here */
  uint64_t loaded;    /* bit i: the function needs argument i as a local variable */
  uint64_t defaulted; /* bit i: argument i with its default where absent */
} gen_emitter;

/* Where a value shall go: a variable, declared by whoever writes it first unless it is already. NULL: anywhere. */
typedef struct gen_target {
  const char *name;
  bool declared;
} gen_target;

/* Writes the statements of a checked expression and returns its value as C. With a target, a value that needs
 * statements of its own is put there, and the target's name returned. */
const char *emit_value(gen_emitter *emitter, const gen_expression *expression, gen_target *target);
/* The same, with the value in the target in any case. */
void emit_into(gen_emitter *emitter, const gen_expression *expression, gen_target *target);
/* The call of an operator (or arithmetic on tensors) that writes its results to `results`, a C pointer, as an
 * expression of type laze_status. */
const char *emit_record(gen_emitter *emitter, const gen_expression *call, const char *results);
/* A function of the language. */
const char *emit_builtin(gen_emitter *emitter, const gen_expression *call);
/* A value that is a list, as a laze_size_list that lives as long as the function. */
const char *emit_list(gen_emitter *emitter, const gen_expression *list);

/* What functions that record programs take. */
#define EMIT_PARAMETERS "(laze_recorder *recorder, const laze_call *call, laze_value *results, laze_error *error)"
/* The body of one, with the bracket that ends it, or, with a condition in the place of a program, of a function of the
 * call alone that tells whether it holds. */
void emit_body(gen_emitter *emitter, const gen_program *program, const gen_expression *condition, FILE *out);
/* Lines of a table in a comment that was begun, and its end. */
void emit_quoted(const char *text, FILE *out);

/* An expression without the brackets around all of it. */
const char *emit_bare(const char *value);
/* "laze_value" and so on: the C type of a kind's values. */
const char *emit_type(gen_kind kind);
/* A fresh name, "exp_1". */
const char *emit_temporary(gen_emitter *emitter, const char *stem);
/* Writes an indented line. */
void emit_line(gen_emitter *emitter, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Declares the target unless it is. */
void emit_declare(gen_emitter *emitter, gen_target *target, gen_kind kind);
/* A number (attribute, literal) as a laze_scalar. */
const char *emit_scalar(gen_emitter *emitter, const gen_expression *number);
/* What records a laze_scalar as a 0-d value of `dtype`, in what `results` points to. */
const char *emit_constant(const char *dtype, const char *scalar, const char *results);

#endif
