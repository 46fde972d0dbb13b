/* Why a graph is run: what a caller asked for, and where. */
#ifndef LAZE_LAZY_RUN_FORCE_H
#define LAZE_LAZY_RUN_FORCE_H

#include <stdint.h>

/* Those before LAZE_FORCE_BUDGET are counted in the metrics runs_for_..., in their order. */
typedef enum {
  LAZE_FORCE_READ,
  LAZE_FORCE_VALUE,
  LAZE_FORCE_STEP,
  LAZE_FORCE_PRINT,
  LAZE_FORCE_EXPORT,
  LAZE_FORCE_SAVE,
  LAZE_FORCE_CALL,
  LAZE_FORCE_BUDGET, /* budget_cuts */
  LAZE_FORCE_SIZE    /* size_syncs */
} laze_force_reason;

typedef struct laze_force {
  laze_force_reason reason;
  const char *function; /* that was called; static */
  const char *file;     /* of the call; NULL: not known */
  int32_t line;
} laze_force;

#endif
