/* What laze/schema.h shows of an operator, beside its row of ir/op.h. */
#ifndef LAZE_IR_SCHEMA_H
#define LAZE_IR_SCHEMA_H

#include "ir/op.h"
#include "laze/schema.h"

/* One that users can call: it has a C function. */
struct laze_operator {
  laze_op op;
  const char *function; /* "laze_add" */
  const char *doc;
  bool is_method;
  const laze_operator_argument *arguments;
  const char *const *result_names; /* "" where the schema gives none */
};

/* The generated table, by ascending `op`. */
extern const laze_operator laze_operators[];
extern const int32_t laze_operators_count;

#endif
