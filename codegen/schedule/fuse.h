/* Computing a value where it is used instead of storing it.
 *
 * The scheduler is borrowed for the call. What is made (instances, uses, maps) lies in its arena, hangs on its groups,
 * and lives as long as the schedule. */
#ifndef LAZE_CODEGEN_SCHEDULE_FUSE_H
#define LAZE_CODEGEN_SCHEDULE_FUSE_H

#include "codegen/schedule/schedule.h"

struct laze_scheduler;

/* Whether all uses of a node can and should be computed in the groups they are in. *done is false, with *why set, where
 * it must be stored. Nothing but splits of axes is changed then. */
LAZE_MUST_USE laze_status laze_schedule_try_fuse(struct laze_scheduler *scheduler, int32_t node_index, bool *done,
                                                 laze_split *why);
/* Computes the node in the groups of its uses. A split made for one use may leave another that can no longer be
 * expressed: *done is then false, and only such uses are left, to be loads. */
LAZE_MUST_USE laze_status laze_schedule_fuse_uses(struct laze_scheduler *scheduler, int32_t node_index, bool *done);
/* Movement: every use becomes a use of the operand. *done is false, with *why set, where a group cannot express some
 * map. */
LAZE_MUST_USE laze_status laze_schedule_pass_uses(struct laze_scheduler *scheduler, int32_t node_index, bool *done,
                                                  laze_split *why);

#endif
