/* The order of finished groups. */
#ifndef LAZE_CODEGEN_SCHEDULE_ARRANGE_H
#define LAZE_CODEGEN_SCHEDULE_ARRANGE_H

#include "codegen/schedule/schedule.h"

struct laze_scheduler;

/* Puts groups of the same code next to each other, where that is right and takes no more memory, and says which are
 * `beside` the one before them. `scratch` is for the time of the call. */
LAZE_MUST_USE laze_status laze_schedule_arrange(const struct laze_scheduler *scheduler, laze_arena *scratch,
                                                laze_schedule *schedule);

#endif
