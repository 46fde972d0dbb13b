/* How much a thread has recorded that is not computed yet, and how much it may. */
#ifndef LAZE_LAZY_VALUE_BACKLOG_H
#define LAZE_LAZY_VALUE_BACKLOG_H

#include <stdbool.h>
#include <stdint.h>

/* What is pending of one thread: nodes, and bytes of their results. */
typedef struct laze_backlog {
  int64_t nodes, bytes;
  int64_t cut_nodes, cut_bytes; /* what was pending after the last cut: the budget counts from there */
  int64_t unpaid_bytes;         /* what was pending when a cut for its bytes would not have paid */
} laze_backlog;

/* What may be pending of each thread; 0: as much as it likes. */
typedef struct laze_budget {
  int64_t nodes, bytes;
} laze_budget;

/* A node whose results have so many bytes becomes pending. */
static inline void laze_backlog_add(laze_backlog *backlog, int64_t bytes) {
  backlog->nodes++;
  backlog->bytes += bytes;
}

/* ... and is no longer. */
static inline void laze_backlog_remove(laze_backlog *backlog, int64_t bytes) {
  backlog->nodes--;
  backlog->bytes -= bytes;
  if (backlog->cut_nodes > backlog->nodes) backlog->cut_nodes = backlog->nodes;
  if (backlog->cut_bytes > backlog->bytes) backlog->cut_bytes = backlog->bytes;
  if (backlog->unpaid_bytes > backlog->bytes) backlog->unpaid_bytes = backlog->bytes;
}

static inline bool laze_backlog_exceeds_nodes(const laze_backlog *backlog, const laze_budget *budget) {
  return budget->nodes > 0 && backlog->nodes - backlog->cut_nodes > budget->nodes;
}
static inline bool laze_backlog_exceeds_bytes(const laze_backlog *backlog, const laze_budget *budget) {
  return budget->bytes > 0 && backlog->bytes - backlog->cut_bytes > budget->bytes;
}
/* Whether more is pending than the budget allows: asked for each call, and so inlined. */
static inline bool laze_backlog_exceeds(const laze_backlog *backlog, const laze_budget *budget) {
  return laze_backlog_exceeds_nodes(backlog, budget) || laze_backlog_exceeds_bytes(backlog, budget);
}

#endif
