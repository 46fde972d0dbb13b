/* Folds whose regions do more than compute single elements, as scans, whose regions are scheduled as any others. */
#ifndef LAZE_CODEGEN_SCHEDULE_ROWS_H
#define LAZE_CODEGEN_SCHEDULE_ROWS_H

#include "ir/graph.h"

/* *out is a graph that shares memory and size table with `graph`, which outlives it, or NULL where nothing changes. */
LAZE_MUST_USE laze_status laze_schedule_scan_folds(const laze_graph *graph, laze_graph **out, laze_error *error);

/* fold.c */
/* Why loops cannot fold by the region of `node`, which is a fold; NULL: they can. */
const char *laze_schedule_find_fold_refusal(const laze_graph *graph, const laze_node *node);

#endif
