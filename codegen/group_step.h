/* A group of the schedule as a step of a program. */
#ifndef LAZE_CODEGEN_GROUP_STEP_H
#define LAZE_CODEGEN_GROUP_STEP_H

#include "codegen/schedule/schedule.h"
#include "codegen/translation.h"

/* Adds the group's step: a call of `kernel` (borrowed; the program retains it), or, where the group has no loop IR and
 * `kernel` is NULL, of the copy kernel for copies, and otherwise the reference interpreter's step for its node, counted
 * as a fallback. */
LAZE_MUST_USE laze_status laze_group_add_step(laze_translation *translation, const laze_group *group,
                                              laze_kernel *kernel, laze_error *error);

#endif
