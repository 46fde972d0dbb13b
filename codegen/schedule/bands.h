/* Rows that groups hand on to each other, so that they can be run a few rows at a time. */
#ifndef LAZE_CODEGEN_SCHEDULE_BANDS_H
#define LAZE_CODEGEN_SCHEDULE_BANDS_H

#include "codegen/schedule/emit.h"
#include "codegen/schedule/schedule.h"

/* Says which rows a group's iterations go through: `rows`, with strides for each buffer that it reads, then writes, is
 * copied to the schedule's arena. LAZE_OUT_OF_MEMORY. */
LAZE_MUST_USE laze_status laze_group_set_rows(struct laze_scheduler *scheduler, laze_group *group,
                                              const laze_step_rows *rows);
/* Finds those of a group of loops, once they are emitted; there may be none. Likewise. */
LAZE_MUST_USE laze_status laze_group_find_rows(laze_loop_emitter *emitter);
/* Forgets those that no product hands on or reads. */
void laze_schedule_keep_rows(laze_schedule *schedule);

#endif
