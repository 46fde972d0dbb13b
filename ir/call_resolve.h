/* Overload resolution: which operator a call by name means.
 *
 * Operands are passed by position (operand arguments in schema order) or by name, attributes by name. The first
 * operator that accepts everything passed is chosen: one of exactly that name before others of that base name, in table
 * order; those where each number meets a Scalar or an attribute before those where one must become a tensor. */
#ifndef LAZE_IR_CALL_RESOLVE_H
#define LAZE_IR_CALL_RESOLVE_H

#include "ir/op.h"

typedef enum {
  LAZE_PASSED_ABSENT,     /* none */
  LAZE_PASSED_VALUE,      /* %x */
  LAZE_PASSED_VALUES,     /* [%x, %y] */
  LAZE_PASSED_EMPTY_LIST, /* []: of values or of integers */
  LAZE_PASSED_NUMBER,     /* 1.5 */
  LAZE_PASSED_WORD,       /* true, f32, n*2 */
  LAZE_PASSED_LIST,       /* [1, n] */
  LAZE_PASSED_STRING,
} laze_passed_kind;

typedef struct laze_passed {
  const char *name; /* NULL: by position. Not NUL-terminated */
  int32_t name_length;
  laze_passed_kind kind;
  bool zero_dimensional; /* VALUE: it may stand for a Scalar */
  int32_t argument;      /* result: index of the argument in the chosen operator's schema */
} laze_passed;

/* `name` is a base name ("add") or a full one ("add.Tensor"). Sets *op and the `argument` of each passed one. The
 * message of a refusal names what does not fit, and the schemas where there are several. */
LAZE_MUST_USE laze_status laze_call_resolve(const char *name, laze_passed *passed, int32_t count, laze_op *op,
                                            laze_error *error);

#endif
