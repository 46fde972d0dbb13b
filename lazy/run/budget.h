/* Cutting a graph that has used up its thread's budget (laze_backlog_exceeds). */
#ifndef LAZE_LAZY_RUN_BUDGET_H
#define LAZE_LAZY_RUN_BUDGET_H

typedef struct laze_pending laze_pending;
typedef struct laze_thread_state laze_thread_state;

/* Runs part of what is pending, if that helps; `newest` is what was recorded last. An error is noted in the scope.
 * Called with the lock held, which is released meanwhile and taken again. */
void laze_budget_cut(laze_thread_state *thread, laze_pending *newest);

#endif
