/* Why a trace was not found: its first difference from the nearest cached one. */
#ifndef LAZE_LAZY_RUN_MISS_H
#define LAZE_LAZY_RUN_MISS_H

#include "base/text.h"

typedef struct laze_cache laze_cache;
typedef struct laze_trace laze_trace;

/* Appends one line. The nearest entry is the one whose operators agree longest from the start. Where that is less than
 * half of the shorter graph, this is a new graph; where it is all of the shorter graph, the line says where one goes
 * on; and in any case the first node that differs, with its source line, what differs there, and both sides. Called
 * with the lock held. */
void laze_miss_explain(const laze_trace *trace, laze_cache *cache, laze_text *out);

#endif
