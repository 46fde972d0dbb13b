/* Why a trace was not found: its first difference from the nearest cached one. */
#ifndef LAZE_LAZY_MISS_H
#define LAZE_LAZY_MISS_H

#include "base/text.h"
#include "lazy/lazy.h"
#include "lazy/trace_cache.h"

/* Appends one line: the node with its source line, what differs there, and both sides. The nearest entry is the one
 * whose operators agree longest. Called with the lock held. */
void laze_miss_explain(const laze_trace *trace, laze_cache *cache, laze_text *out);

#endif
