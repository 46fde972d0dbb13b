/* What callers pass by name (laze/argument.h), as the ranking of overloads and the attributes of a call see it. Values
 * and tensors are the caller's own business: here is the rest. */
#ifndef LAZE_IR_ARGUMENT_H
#define LAZE_IR_ARGUMENT_H

#include "base/arena.h"
#include "ir/op.h"
#include "laze/argument.h"

/* More arguments than any operator takes, and a longer name than any has. */
enum { LAZE_MOST_ARGUMENTS = 64, LAZE_LONGEST_NAME = 128 };

/* What the ranking is told of one that is no tensor and no value: LAZE_PASSED_OTHER of these, and of what is wrong in
 * itself. */
laze_passed_kind laze_argument_passed(const laze_argument *argument);
/* Lists names and kinds for the ranking; `passed` has room for LAZE_MOST_ARGUMENTS. `function` is what messages about a
 * missing name are of. */
LAZE_MUST_USE laze_status laze_arguments_list(const char *function, const char *name, const laze_argument *arguments,
                                              int32_t count, laze_passed_kind (*kind_of)(const laze_argument *argument),
                                              laze_passed *passed, laze_error *error);

/* Whether it is one number, in any of the ways to pass one, and that. */
bool laze_argument_is_number(const laze_argument *argument);
laze_scalar laze_argument_scalar(const laze_argument *argument);

/* The attribute that an argument is for a schema's `info`; lists go to the arena. `argument` NULL: left out. With a
 * table of sizes, what is below -2^62 is an expression of it; without, every size is a number. LAZE_INTERNAL: it is no
 * attribute. */
LAZE_MUST_USE laze_status laze_argument_pack(laze_arena *arena, const laze_size_table *sizes,
                                             const laze_argument_info *info, const laze_argument *argument,
                                             laze_attribute *out, laze_error *error);

#endif
