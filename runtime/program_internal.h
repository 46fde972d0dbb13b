/* What program.c, plan.c and execute.c share. */
#ifndef LAZE_RUNTIME_PROGRAM_INTERNAL_H
#define LAZE_RUNTIME_PROGRAM_INTERNAL_H

#include "base/arena.h"
#include "runtime/program.h"

typedef struct program_value {
  laze_value_role role;
  laze_type type;
  int32_t number;                /* which input or output */
  const void *data;              /* CONSTANT */
  int32_t first_step, last_step; /* that touch it; first_step -1: none */
} program_value;

struct laze_program {
  _Atomic int64_t references;
  laze_context *context; /* borrowed */
  laze_arena arena;
  laze_size_table *sizes;
  program_value *values;
  int64_t value_count, value_capacity;
  laze_step *steps;
  int64_t step_count, step_capacity;
  int32_t *inputs; /* value of each input */
  int64_t input_count, input_capacity;
  int32_t *outputs; /* value of each output */
  int64_t output_count, output_capacity;
  int64_t node_count; /* graph nodes that a run executes */
  int64_t fallback_count;
  int64_t most_buffers; /* of any step */
};

/* A value bound to sizes. */
typedef struct bound_value {
  int64_t bytes;
  int64_t offset; /* of a temporary in the plan's arena; -1: no step touches it */
  bool returned;  /* while planning: its place is free again */
} bound_value;

typedef struct bound_step {
  const int64_t *sizes;
  int64_t domain, scratch, work;
} bound_step;

struct laze_executable {
  _Atomic int64_t references;
  laze_program *program; /* retained */
  laze_arena arena;
  bound_value *values;
  bound_step *steps;
  laze_type *output_types;
  _Atomic int64_t runs;
  int64_t temporary_bytes; /* size of the plan's arena */
  int64_t scratch_bytes;   /* most that one call needs */
};

/* run_causes.c. What has failed so far in a run, by value: its error in the report, or LAZE_CAUSE_... Without a report
 * nothing is kept: the first failure ends the run. */
typedef struct run_causes {
  laze_run_report *report; /* borrowed; NULL: none */
  int32_t *of_value;
} run_causes;
LAZE_MUST_USE laze_status laze_causes_init(run_causes *causes, laze_run_report *report, const laze_program *program,
                                           laze_error *error);
void laze_causes_deinit(run_causes *causes);
/* A value fails by itself. */
LAZE_MUST_USE laze_status laze_causes_fail_value(run_causes *causes, int64_t value, const laze_error *failure,
                                                 laze_error *error);
/* Before a step: what it writes fails with what it reads. False where nothing is left that it could compute. */
bool laze_causes_pass_on(run_causes *causes, const laze_step *step);
/* After a step in which a check of an index failed. */
LAZE_MUST_USE laze_status laze_causes_fail_check(run_causes *causes, const laze_step *step, const laze_error *failure,
                                                 laze_error *error);
/* Fills in the report's causes. */
void laze_causes_report(const run_causes *causes, const laze_program *program);

/* Fills `values[i].offset` for temporaries and returns the arena's size in *out. */
LAZE_MUST_USE laze_status laze_plan_memory(const laze_program *program, bound_value *values, int64_t *out,
                                           laze_error *error);

#endif
