/* What groups share that write into what is there: a slice (update.c), or elements at places that an index names
 * (scatter.c). */
#ifndef LAZE_CODEGEN_SCHEDULE_UPDATE_H
#define LAZE_CODEGEN_SCHEDULE_UPDATE_H

#include "codegen/schedule/group.h"

/* The map of the source's elements through its own axes; NULL where the domain has no room for them. */
LAZE_MUST_USE laze_status laze_update_source_map(laze_scheduler *scheduler, laze_group_builder *group,
                                                 const laze_type *source, const laze_map **out);
/* Gives a slot what it needs. What is computed from the old value is stored before any of that is overwritten. */
LAZE_MUST_USE laze_status laze_update_add_operand(laze_scheduler *scheduler, laze_group_builder *group,
                                                  int32_t instance, int32_t slot, laze_value operand,
                                                  const laze_map *map);

#endif
