/* What the files of this folder share: an optimiser has groups of parameters, and an algorithm, a row of a table.
 *
 *   laze_optimiser ── algorithm (algorithm.c): settings by name, tensors that are remembered, the formula
 *        └── groups ── settings
 *              └── parameters ── tensor, what is remembered of it, steps
 *
 * Formulas are calls of the installed headers, so that one step of all parameters is a part of the caller's graph.
 */
#ifndef LAZE_OPTIM_OPTIMISER_H
#define LAZE_OPTIM_OPTIMISER_H

#include "base/status.h"
#include "laze/optim.h"

#include <stdbool.h>

#define LAZE_OPTIM_SETTINGS 8 /* of one algorithm, at most */
#define LAZE_OPTIM_MEMORIES 3 /* tensors that are remembered of one parameter, at most */
#define LAZE_OPTIM_CARRIED 2  /* numbers, at most */

/* Which numbers a setting takes. */
typedef enum {
  LAZE_SETTING_NOT_NEGATIVE,
  LAZE_SETTING_FRACTION, /* from 0 to below 1 */
  LAZE_SETTING_FLAG,     /* 0 or 1 */
  LAZE_SETTING_FINITE,
} laze_setting_kind;

typedef struct laze_setting_info {
  const char *name; /* NULL: behind the last */
  double value;     /* the default */
  laze_setting_kind kind;
} laze_setting_info;

/* One parameter in one step: the formula replaces `parameter` and what is remembered by the tensors of the next step.
 * All are floats of 32 or 64 bits: complex tensors are here as pairs, and floats of 16 bits converted. */
typedef struct laze_update {
  const double *settings; /* by position in the algorithm's row */
  laze_tensor *numbers[LAZE_OPTIM_SETTINGS];
  laze_tensor *parameter, *gradient;
  laze_tensor *memories[LAZE_OPTIM_MEMORIES]; /* NULL: the settings need none */
} laze_update;

typedef struct laze_algorithm {
  const char *name;
  laze_setting_info settings[LAZE_OPTIM_SETTINGS + 1];
  const char *memories[LAZE_OPTIM_MEMORIES];
  const char *carried[LAZE_OPTIM_CARRIED]; /* numbers that are remembered besides */
  bool uncounted; /* its state in PyTorch has no "step": a parameter with memories has made one */
  int initial;    /* the setting that the first memory begins with; -1: 0, as all others do */
  /* Settings that do not go together; may be NULL. */
  laze_status (*check)(const double *settings, laze_error *error);
  /* What is remembered under these settings: a bit for each name. */
  unsigned (*remembers)(const double *settings);
  /* The numbers of a step (1 at the first), which all parameters share: inputs of the graph; and those that are
   * remembered, as the step leaves them. */
  void (*count)(const double *settings, int64_t step, double *carried, double *numbers);
  void (*update)(laze_update *update);
} laze_algorithm;

/* NULL: there is none of the name. */
const laze_algorithm *laze_algorithm_find(const char *name);
/* The error that there is none of the name, with the names that there are. */
laze_status laze_algorithm_missing(const char *name, laze_error *error);

typedef struct laze_parameter {
  laze_tensor *tensor;                        /* retained */
  laze_tensor *memories[LAZE_OPTIM_MEMORIES]; /* retained; NULL: none so far */
  double carried[LAZE_OPTIM_CARRIED];
  int64_t steps;
  /* While a step is recorded: its gradient, NULL where it has none, and the dtype of both and of all memories. */
  laze_tensor *gradient;
  laze_dtype dtype;
} laze_parameter;

typedef struct laze_parameter_group {
  double settings[LAZE_OPTIM_SETTINGS];
  laze_parameter *parameters;
  int32_t count;
} laze_parameter_group;

struct laze_optimiser {
  laze_context *context; /* retained */
  const laze_algorithm *algorithm;
  double settings[LAZE_OPTIM_SETTINGS]; /* of groups to come */
  laze_parameter_group *groups;
  int64_t group_count, group_capacity;
  char *names; /* of the last laze_optimiser_get_state() */
};

/* The refusal of an optimiser that is NULL. */
laze_status laze_optimiser_missing(const char *function, laze_error *error);
/* Parameters of all groups, and one of them, counted through; and its group. */
int64_t laze_optimiser_parameter_count(const laze_optimiser *optimiser);
laze_parameter *laze_optimiser_parameter(const laze_optimiser *optimiser, int64_t index, laze_parameter_group **group);

#endif
