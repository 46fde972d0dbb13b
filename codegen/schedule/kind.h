/* Kinds of group, and what each of them does: one row for each laze_group_kind, in one file of its own.
 *
 *   copy.c       COPY      a concatenation of many pieces
 *   matrix.c     MATRIX    a matrix product
 *   routine.c    ROUTINE   what a kernel of the runtime computes
 *   fold.c       FOLD      a reduction by a region
 *   loops.c      LOOPS     everything that loops compute
 *   size.c       SIZE      a size that a value defines
 *   control.c    CONTROL   operators with regions that the runtime goes through
 *   fallback.c   FALLBACK  the rest
 */
#ifndef LAZE_CODEGEN_SCHEDULE_KIND_H
#define LAZE_CODEGEN_SCHEDULE_KIND_H

#include "codegen/schedule/schedule.h"

struct laze_scheduler;
struct laze_group_builder;
struct laze_use;
struct laze_map;

typedef struct laze_group_rules {
  /* Starts what stores a node, whose uses are loads by now; `why` it is stored is known. *done is false where this kind
   * does not, and nothing is changed then; *refusal says why not (static storage), and holds the reason of the kinds
   * asked before. */
  laze_status (*claim)(struct laze_scheduler *scheduler, int32_t node_index, laze_split why, bool *done,
                       const char **refusal);
  /* Computes a node in the group of one of its uses: *instance is it, or *possible is false. NULL: such groups read all
   * that they use from memory. */
  laze_status (*grow)(struct laze_scheduler *scheduler, const struct laze_use *use, int32_t node_index,
                      int32_t *instance, bool *possible);
  /* Whether a use of a view may become one of its operand, at `map`; otherwise the view is stored. NULL: it may. */
  laze_status (*reads)(struct laze_scheduler *scheduler, const struct laze_use *use, int32_t view,
                       const struct laze_map *map, bool *possible);
  /* Finishes a group: its loop IR, where it has any, and what else its laze_group says. */
  laze_status (*emit)(struct laze_scheduler *scheduler, struct laze_group_builder *group);
} laze_group_rules;

extern const laze_group_rules laze_group_copy, laze_group_matrix, laze_group_fold, laze_group_routine, laze_group_loops,
    laze_group_size, laze_group_control, laze_group_fallback;

const laze_group_rules *laze_group_rules_of(const struct laze_group_builder *group);
/* Whether the context leaves a node's operator to the interpreter, whatever could be done with it. */
bool laze_schedule_is_forced(const struct laze_scheduler *scheduler, int32_t node_index);
/* Starts what stores a node: the first kind that claims it does. */
LAZE_MUST_USE laze_status laze_schedule_claim(struct laze_scheduler *scheduler, int32_t node_index, laze_split why);

#endif
