/* What the files of a program share: those that build it, bind it, plan its memory and run it. */
#ifndef LAZE_RUNTIME_PROGRAM_INTERNAL_H
#define LAZE_RUNTIME_PROGRAM_INTERNAL_H

#include "base/arena.h"
#include "runtime/program.h"

typedef struct program_value {
  laze_value_role role;
  uint8_t kind, dtype, rank;     /* of its type */
  const laze_size *sizes;        /* rank */
  int32_t number;                /* which input or output */
  const void *data;              /* CONSTANT */
  int32_t first_step, last_step; /* that touch it; first_step -1: none */
  int32_t place;                 /* TEMPORARY: the value at whose place it is, another one or an OUTPUT; its own number
                                    where it has one */
  bool stays;       /* TEMPORARY that goes around a loop: in one place, which each round writes a part of */
  int32_t stage;    /* when its sizes are known */
  bool is_returned; /* by a region: it is read once more behind the region's last step */
  bool is_copied;   /* PARAMETER of a loop's first region: what comes around is copied to places of its own */
} program_value;

/* What the numbers that a step finds make known, beside what was known before. Stage 0 has no step. */
typedef struct program_stage {
  int32_t step;      /* that finds it */
  int32_t last_step; /* that touches one of its values */
  int32_t *values, *steps;
  int32_t value_count, step_count;
} program_stage;

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
  int64_t most_checks;
  int32_t open[LAZE_PROGRAM_MAX_NESTING];         /* while it is built: steps whose regions are being filled */
  int32_t open_regions[LAZE_PROGRAM_MAX_NESTING]; /* and which of them, by number */
  int32_t open_count;
  const int32_t *checked; /* nodes that may fail, ascending */
  int64_t checked_count;
  program_stage *stages;   /* NULL: all is bound before a run */
  int32_t stage_count;     /* stage 0 included */
  int32_t *fact_stages;    /* of each fact of the sizes: when it can be checked */
  const uint64_t *depends; /* as in laze_program_set_checks */
  int64_t bytes;           /* that it takes; 0 until it is finished */
  _Atomic int64_t executables;
};

/* A value bound to sizes. */
typedef struct bound_value {
  int64_t bytes;
  int64_t offset; /* of a temporary in the plan's arena; -1: no step touches it */
  int64_t second; /* of one that goes around a loop: its place in every other round */
  bool returned;  /* while planning: its place is free again */
  bool banded;    /* a band at a time is all of it that there is (program_bands.c) */
} bound_value;

typedef struct bound_step {
  int64_t *sizes; /* its place stays where it is bound again */
  int64_t domain, scratch, work;
  bool unknown;   /* its sizes are not known, or not yet */
  int32_t launch; /* the first step of the launch that it is part of */
} bound_step;

/* A step of a band: iterations for the rows of one, 0 for one each, and bytes in a row of what it writes. */
typedef struct bound_link {
  int64_t blocks, row_bytes;
} bound_link;

/* Steps that run in bands, one launch: first to end - 1. */
typedef struct bound_band {
  int32_t first, end;
  int64_t batches, count, height; /* of the rows; height: of a band, within a batch */
  int64_t room;                   /* bytes of scratch for what the steps hand on, before what their kernels need */
  bound_link *links;              /* of each step */
} bound_band;

struct laze_executable {
  _Atomic int64_t references;
  laze_program *program; /* retained */
  laze_arena arena;
  bound_value *values;
  bound_step *steps;
  const int64_t *bindings; /* of symbols */
  laze_type *output_types;
  _Atomic int64_t runs;
  int64_t temporary_bytes; /* size of the plan's arena */
  int64_t scratch_bytes;   /* most that one call needs */
  bound_band *bands;       /* by ascending step */
  int64_t band_count, band_capacity;
};

/* The cause of what is not there because its sizes are unknown: among the failures is one that says why. */
#define LAZE_CAUSE_SIZE (-2)

/* A run while it goes on. */
typedef struct program_run {
  const laze_run *request;
  laze_executable *executable;
  int threads;
  void **pointers;      /* of each value */
  void **step_pointers; /* of the step at hand, where it is a launch of its own */
  char *scratch;        /* scratch_bytes for each thread */
  laze_buffer *arena, *scratch_buffer;
  laze_kernel_failure *records; /* most_checks for each thread */
  laze_check_failure *failures; /* of checks, by ascending node */
  int64_t failure_count, failure_capacity;
  laze_error
      *reason; /* of the step at hand, where its kernel says what failed: beside the run, whose fields are cleared */
  int32_t *missing; /* by value: the error of what had no memory and so is not there, or LAZE_CAUSE_SIZE; NULL: all are
                       there */
  int64_t launches, instances; /* of kernels, and their steps */
  int64_t donated_from;        /* the first step that writes to donated memory; INT64_MAX: none does */
  /* What is bound: the executable's, or, where steps define sizes, the run's own (run_stages.c). */
  bound_value *values;
  bound_step *steps;
  const int64_t *bindings;
  int64_t scratch_bytes;
  laze_arena reasons;        /* of failures that are none of an index */
  struct run_stages *stages; /* NULL: no step defines a size */
  laze_error *stopped;       /* why a step was stopped on the way; `code` LAZE_OK: none was */
} program_run;

/* What is bound, and to which sizes: all of an executable but what is known later, or a stage of a run. */
typedef struct program_binder {
  const laze_program *program;
  const int64_t *bindings;
  const laze_sites *sites;
  laze_arena *arena;      /* for the steps' sizes */
  int64_t *scratch_bytes; /* the most so far */
  laze_error *error;
} program_binder;

/* Bounds of a launch: work that keeps many threads busy for long enough, and what a call has room for. */
#define PROGRAM_LAUNCH_WORK (INT64_C(32) << 20)
#define PROGRAM_LAUNCH_STEPS 512
#define PROGRAM_LAUNCH_BUFFERS 64
/* Most steps of a band. */
#define PROGRAM_BAND_STEPS 16

/* program_launch.c. Finds the steps of a finished program that can run at once with the one before them. */
void program_find_launches(laze_program *program);
/* Says of each step, bound to sizes, which launch it is part of. */
void program_cut_launches(const laze_program *program, bound_step *steps);

/* program_bands.c. Finds steps that run in bands, once all are bound and launches are cut. */
LAZE_MUST_USE laze_status program_cut_bands(const program_binder *binder, laze_executable *executable);

/* run_bands.c. The band that begins with this step; NULL: none does. */
const bound_band *program_find_band(const laze_executable *executable, int64_t first);
/* Runs it, where all of its steps can, on threads: what it hands on is too much for one. */
LAZE_MUST_USE laze_status program_run_band(program_run *run, const bound_band *band, bool uninterrupted, bool log,
                                           laze_error *error);

/* run_launch.c. Runs the launch that begins with step *at, as much of it as can, and moves on to the step behind it. */
LAZE_MUST_USE laze_status program_run_launch(program_run *run, int64_t *at, bool log, laze_error *error);
/* program_bind.c */
LAZE_MUST_USE laze_status program_bind_value(const program_binder *binder, int32_t index, bound_value *out);
LAZE_MUST_USE laze_status program_bind_step(const program_binder *binder, const laze_step *step, bound_step *out);

/* run_stages.c. Gives a run whose steps define sizes what it binds itself. */
LAZE_MUST_USE laze_status program_run_prepare_stages(program_run *run, laze_error *error);
/* Runs a step that defines a size, or ends one with regions, of which `region` ran: checks the numbers and the facts
 * that rest on them, and binds the stage. What is wrong with a number fails what depends on it; the status is for the
 * run as a whole. */
LAZE_MUST_USE laze_status program_run_define(program_run *run, const laze_step *step, int32_t region,
                                             laze_error *error);
/* A step that defines sizes did not run: what their numbers would make known stays unknown. */
LAZE_MUST_USE laze_status program_run_skip_stage(program_run *run, const laze_step *step, laze_error *error);
/* Gives back the memory of stages whose values no step from `next` on touches. */
void program_run_leave_stages(program_run *run, int64_t next);
/* The memory in which a temporary has its place. */
char *program_run_place(const program_run *run, int32_t value);
void program_run_release_stages(program_run *run);

/* program.c. Notes that a step touches a value: the later of the steps so far. */
void program_note_use(laze_program *program, int32_t value, int32_t step);

/* program_update.c. Gives the results of updating steps [first, end) the places of what they update, where they can
 * have them. All uses of these values are known. */
void program_share_places(laze_program *program, int32_t first, int32_t end);
/* What the first step that touches an output's buffer writes a part of, which nothing needs behind that; -1: it is no
 * such step. */
int32_t program_updated_first(const laze_program *program, int32_t output);
/* Whether what a loop's region returns as `index` is its parameter, updated, which nothing else needs: then it stays in
 * one place. */
bool program_goes_around_in_place(const laze_program *program, const laze_step *step, int32_t index);

/* A step whose regions are running. */
typedef struct control_frame {
  const laze_step *step;
  int32_t region;
  const bound_step *bound;
  int64_t rounds; /* of regions that ran to their end */
  int64_t start;  /* when it began, for the log */
} control_frame;
#define CONTROL_DONE (-1)

/* control.c. Both return the region that runs next, or CONTROL_DONE, and leave its parameters set. */
struct laze_step_control {
  int32_t carrying; /* the region whose results go around; -1: none does */
  int32_t (*begin)(program_run *run, const control_frame *frame);
  int32_t (*end)(program_run *run, const control_frame *frame);
};

/* run_memory.c. Makes memory for outputs, temporaries and scratch, and sets the pointers of all values. */
LAZE_MUST_USE laze_status program_run_prepare(program_run *run, laze_error *error);
/* Where a value stands in a buffer, which may be NULL. One without memory, as empty ones are, stands at an address too,
 * to which kernels may add 0. */
void *program_run_at(const laze_buffer *buffer, int64_t offset);
/* Memory for output `index`, which is `value`. With a report a lack of it fails what depends on it, and not the run. */
LAZE_MUST_USE laze_status program_run_create_output(program_run *run, int64_t index, int32_t value, laze_error *error);
/* Scratch for all threads, of what a call needs at most. */
LAZE_MUST_USE laze_status program_run_create_scratch(program_run *run, laze_error *error);
/* Makes the list of what is missing. */
LAZE_MUST_USE laze_status program_run_list_missing(program_run *run, laze_error *error);
/* Fills outputs that repeat another value: an input or output is shared, a constant copied. */
LAZE_MUST_USE laze_status program_run_alias(program_run *run, laze_error *error);
/* Whether a step has memory for all it touches; what it writes is missing otherwise. */
bool program_run_has_memory(program_run *run, const laze_step *step);
/* Whether a step has what it needs to run. */
static inline bool program_run_can(program_run *run, const laze_step *step) {
  if ((run->missing || run->stages) && !program_run_has_memory(run, step)) return false;
  return !(step->needs_success && run->failure_count > 0);
}
/* Releases what a run holds but its outputs. */
void program_run_release(program_run *run);

/* run_failures.c. Notes what the checks of a step found in one call, which has `records`. One call at a time. */
LAZE_MUST_USE laze_status program_run_note(program_run *run, const laze_step *step, const laze_kernel_failure *records,
                                           laze_error *error);
/* Notes that a node failed for a reason of its own. */
LAZE_MUST_USE laze_status program_run_note_error(program_run *run, const laze_origin *origin, const laze_error *reason,
                                                 laze_error *error);
/* Once all steps ran: releases the outputs that failed and says why in the report. Without a report, the error of the
 * first node that failed, if any. */
LAZE_MUST_USE laze_status program_run_verdict(program_run *run, laze_error *error);
/* Adds an error to the report. */
LAZE_MUST_USE laze_status program_run_add_error(program_run *run, const laze_error *failure, int32_t *out,
                                                laze_error *error);

/* program_bind.c. Puts before an error who makes the value, and its type at these bindings: "a.c:3: mm: its value
 * f32[2,2]: ". `sites` and `error` may be NULL. */
void laze_program_name_value(const laze_program *program, int32_t value, const int64_t *bindings,
                             const laze_sites *sites, laze_error *error);
/* The same for the largest temporary: the one to look at where there is no memory for all of them. */
void laze_executable_name_temporaries(const laze_executable *executable, const laze_sites *sites, laze_error *error);

/* Fills `values[i].offset` for temporaries and returns the arena's size in *out. */
LAZE_MUST_USE laze_status laze_plan_memory(const laze_program *program, int32_t stage, const bound_step *steps,
                                           bound_value *values, int64_t *out, laze_error *error);

#endif
