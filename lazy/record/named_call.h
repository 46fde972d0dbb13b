/* A call by name on its way: named_call_form.c finds which form of an operator it is, named_call_match.c the operator,
 * named_call_pack.c lays out what it takes, and call_by_name.c records the frame.
 *
 *   passed     x, [0], keepdim=true        in any order once they have names
 *   schema     self, dim, keepdim, dtype   of the operator that fits best
 *   by_schema  x, [0], true, NULL          NULL: left out
 */
#ifndef LAZE_LAZY_RECORD_NAMED_CALL_H
#define LAZE_LAZY_RECORD_NAMED_CALL_H

#include "base/arena.h"
#include "lazy/record/frame.h"

/* What the caller passes; borrowed. */
typedef struct laze_named_call {
  const char *name;                 /* of the operator, as the caller wrote it, or without the form */
  const char *called;               /* as the caller wrote it */
  laze_op op;                       /* LAZE_OP_NONE: the name says which */
  int32_t form;                     /* LAZE_IN_PLACE, LAZE_OUT; 0: results are new tensors */
  laze_tensor *const *destinations; /* of a form: what gets the results */
  int32_t destination_count;
  const laze_argument *arguments;
  int32_t count;
  laze_location location;
  const laze_argument **by_schema; /* what is passed for each argument of the schema; NULL: nothing */
} laze_named_call;

/* The arrays of a laze_frame, in the arena. */
typedef struct laze_named_frame {
  laze_arena arena;
  laze_frame_operand *operands;
  int32_t operand_count;
  laze_tensor **made; /* operands that numbers became: nobody else has these handles */
  int32_t made_count;
  int32_t *segments;
  laze_attribute *attributes;
  laze_frame_size *sizes; /* of the attributes, those that tensors say */
  int32_t size_count;
} laze_named_frame;

/* What the ranking of overloads is told of something that is passed. A NULL tensor is one, which the call itself
 * refuses where it needs it. */
laze_passed_kind laze_named_call_passed(const laze_argument *argument);

/* Finds the form: `called`, `form` and `name`, and of `out` the destinations; it is no argument from then on. */
LAZE_MUST_USE laze_status laze_named_call_form(laze_named_call *given, laze_arena *arena, laze_error *error);
/* Whether the operator that was matched has the form, with as many results as there are destinations; finds the
 * destination of a form in place. */
LAZE_MUST_USE laze_status laze_named_call_check_form(laze_named_call *given, laze_op op, laze_error *error);
/* Finds the operator, and which of its arguments each thing passed is: `by_schema`, in the arena. */
LAZE_MUST_USE laze_status laze_named_call_match(laze_named_call *given, laze_arena *arena, laze_op *out,
                                                laze_error *error);
/* Lays out what is passed by the schema of the operator that was found. */
LAZE_MUST_USE laze_status laze_named_call_pack(laze_named_frame *pack, const laze_op_info *info,
                                               const laze_named_call *given, laze_error *error);
/* Gives back what numbers became: where no scope is open, it would stay as long as the thread. */
void laze_named_frame_end(laze_named_frame *pack);

#endif
