/* Rows that groups hand on to each other, so that they can be run a few rows at a time. */
#ifndef LAZE_CODEGEN_SCHEDULE_BANDS_H
#define LAZE_CODEGEN_SCHEDULE_BANDS_H

#include "codegen/schedule/emit.h"
#include "codegen/schedule/schedule.h"

/* Says which rows a group's iterations go through; `rows` and its list are copied. */
LAZE_MUST_USE laze_status laze_group_set_rows(struct laze_scheduler *scheduler, laze_group *group,
                                              const laze_step_rows *rows);
/* Finds those of a group of loops, once they are emitted. */
LAZE_MUST_USE laze_status laze_group_find_rows(laze_loop_emitter *emitter);
/* Forgets those that no product hands on or reads. */
void laze_schedule_keep_rows(laze_schedule *schedule);

#endif
