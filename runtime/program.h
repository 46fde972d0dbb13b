/* Programs: what a compiled graph is. A program is data, generic in sizes: values whose sizes are expressions, and
 * steps that call kernels or go through regions, blocks of further steps. Binding its symbols to numbers gives an
 * *executable*, which has a memory plan and runs.
 *
 * A program is built by one thread; finished, it is immutable and shared (refcounted). An executable is immutable and
 * may run on several threads at once.
 */
#ifndef LAZE_RUNTIME_PROGRAM_H
#define LAZE_RUNTIME_PROGRAM_H

#include "laze/compile.h"
#include "runtime/buffer.h"
#include "runtime/kernel.h"
#include "runtime/site.h"
#include "shape_inference/type.h"

typedef struct laze_program laze_program;
typedef struct laze_executable laze_executable;

typedef enum {
  LAZE_ROLE_INPUT,
  LAZE_ROLE_OUTPUT,
  LAZE_ROLE_TEMPORARY,
  LAZE_ROLE_CONSTANT,
  LAZE_ROLE_PARAMETER, /* of a region: it stands for another value each time the region runs */
} laze_value_role;

/* Creates an empty program. Takes ownership of `sizes`, also on failure. */
LAZE_MUST_USE laze_status laze_program_create(laze_context *context, laze_size_table *sizes, laze_program **out,
                                              laze_error *error);
void laze_program_retain(laze_program *program);
void laze_program_release(laze_program *program); /* NULL is ignored */
laze_size_table *laze_program_sizes(laze_program *program);

/* Adds a value; its number goes to *out. Inputs, and outputs, are numbered by the order in which they are added. `data`
 * is a CONSTANT's elements (copied), NULL otherwise. */
LAZE_MUST_USE laze_status laze_program_add_value(laze_program *program, laze_value_role role, const laze_type *type,
                                                 const void *data, int32_t *out, laze_error *error);
/* Declares that the next output is value `value` again: an input returned as it is, a constant, or an output repeated.
 */
LAZE_MUST_USE laze_status laze_program_add_output_alias(laze_program *program, int32_t value, laze_error *error);

/* How a step goes through its regions: which runs first, and what follows the end of each (control.c). The last
 * `write_count` buffers of such a step are its results, those before them its operands; sizes[0], a constant, is how
 * many of these a loop carries around.
 *
 *   if     condition, inputs   one of its two regions, on the inputs; what it returns are the results
 *   while  inputs              region 0 (a condition), region 1 (the next values), 0, 1, ... until the condition fails
 *   scan   states, inputs      its region, sizes[1] times, on the states and a slice of each input; it returns the next
 *                              states, and slices of the other results
 */
typedef struct laze_step_control laze_step_control;
extern const laze_step_control laze_step_control_if, laze_step_control_while, laze_step_control_scan;

/* A size that a step defines, and with regions where its number stands: axis `axis` of result `result` of whichever
 * region ran last. */
typedef struct laze_step_size {
  laze_size size;
  int32_t result;
  int axis;
} laze_step_size;

/* A region of a step: steps [first, end) behind it, on values of their own. */
typedef struct laze_step_region {
  int32_t first, end;
  int32_t parameter_count, result_count;
  const int32_t *parameters; /* values, LAZE_ROLE_PARAMETER */
  const int32_t *results;    /* values: of the region's steps, parameters of it, constants */
} laze_step_region;

/* Elements from one batch of rows, and from one row, to the next; `row` 0: it is not by rows that they are touched. */
typedef struct laze_row_strides {
  laze_size batch, row;
} laze_row_strides;

/* Rows that the iterations of a step go through, `blocks` of them for each `height` of the `count` rows of a batch. */
typedef struct laze_step_rows {
  laze_size batches, count, height, blocks;
  const laze_row_strides *buffers; /* of each: where it has no strides, an iteration may touch any of its elements */
} laze_step_rows;

/* One kernel call, or a walk through regions. Where several steps write to one value, each has elements of its own,
 * but for one that `updates`. */
typedef struct laze_step {
  laze_kernel *kernel;    /* retained by the program; NULL with `control` or sizes that it defines */
  const int32_t *buffers; /* values, in the kernel's order; copied */
  int32_t buffer_count;
  int32_t write_count;    /* the last `write_count` buffers are written */
  const laze_size *sizes; /* expressions for the kernel's run-time integers; copied */
  int32_t size_count;
  int32_t check_count;
  laze_size domain;           /* iterations of the outermost axis */
  laze_size scratch;          /* bytes of scratch one call needs */
  laze_size work;             /* estimated bytes moved plus operations, to decide on threads */
  laze_size bytes;            /* of these, the bytes */
  const char *label;          /* operators it computes, for reports; copied */
  const laze_origin *origins; /* nodes it computes or checks; copied */
  const int32_t *makers;   /* of each written buffer: the index among `origins` of the node whose value it is; copied.
                              NULL: of every one the first */
  const int32_t *checks;   /* of each of the kernel's checks: the index of the node that it checks; copied */
  const char *interpreted; /* in a native program: why the interpreter runs it, static; NULL: it does not */
  int32_t origin_count;
  int32_t define_count;
  const laze_step_size *defines; /* the sizes whose numbers it finds; copied. Without regions it has no kernel, and one:
                                    element sizes[0] of its first buffer, which its second one receives */
  const laze_step_rows *rows;    /* copied; NULL: none that a neighbour could share */
  int32_t updated;               /* with `updates`; of the result's type */
  bool updates;       /* it writes a part of its result, the last buffer, which holds value `updated` when it begins */
  bool needs_success; /* does not run once a check has failed: a loop over wrong values might not end */
  /* The program's own (program_launch.c): */
  bool beside; /* it can run at once with the step before it, and with those that this one is beside */
  /* The program's own (program_stages.c): */
  int32_t stage;                    /* when its sizes are known */
  int32_t defined_stage;            /* with `defines`: what its numbers make known */
  const laze_step_control *control; /* NULL: it calls its kernel */
  int32_t region_count;             /* with `control` */
  /* The program's own, set by laze_program_end_control: */
  int32_t end; /* the step behind its regions */
  laze_step_region *regions;
  const int32_t *carried; /* values that go around the loop: each has two places, for this round and for the last */
  int32_t carried_count;
} laze_step;
LAZE_MUST_USE laze_status laze_program_add_step(laze_program *program, const laze_step *step, laze_error *error);
/* A step with regions: between begin and end, each of its regions in order, and in a region further steps, with regions
 * as well, at most LAZE_PROGRAM_MAX_NESTING deep. `parameters` and `results` are copied. */
#define LAZE_PROGRAM_MAX_NESTING 64
LAZE_MUST_USE laze_status laze_program_begin_control(laze_program *program, const laze_step *step, laze_error *error);
LAZE_MUST_USE laze_status laze_program_begin_region(laze_program *program, const int32_t *parameters, int32_t count,
                                                    laze_error *error);
LAZE_MUST_USE laze_status laze_program_end_region(laze_program *program, const int32_t *results, int32_t count,
                                                  laze_error *error);
LAZE_MUST_USE laze_status laze_program_end_control(laze_program *program, laze_error *error);
/* How many graph nodes a run of the program executes, for nodes_executed; 0 until set. */
void laze_program_set_node_count(laze_program *program, int64_t count);
/* Which outputs fail with which nodes. `nodes`, ascending, are those that may fail, as in laze_origin; bit k mod 64 of
 * depends[i * words + k / 64] says that output i needs nodes[k], with words = ceil(count / 64). `depends` may be NULL:
 * every output needs every node. Copied. */
LAZE_MUST_USE laze_status laze_program_set_checks(laze_program *program, const int32_t *nodes, int64_t count,
                                                  const uint64_t *depends, laze_error *error);
/* Once all steps are there, where one defines a size: finds what its number makes known. */
LAZE_MUST_USE laze_status laze_program_find_stages(laze_program *program, laze_error *error);
/* Nothing is added any more: finds the steps that can run at once, gives back memory to spare, and counts the rest in
 * program_cache_bytes for as long as the program lives. */
void laze_program_finish(laze_program *program);
/* Bytes that a finished program takes, kernels that only it uses included. */
int64_t laze_program_bytes(const laze_program *program);
/* Symbols' bindings are valid for the program when laze_facts_hold(laze_program_sizes(program), bindings). */

int32_t laze_program_input_count(const laze_program *program);
int32_t laze_program_output_count(const laze_program *program);
int32_t laze_program_step_count(const laze_program *program);
/* The index-th step; borrowed. */
const laze_step *laze_program_step(const laze_program *program, int32_t index);

/* Binds symbol i to `bindings[i]`: evaluates sizes and plans memory. Microseconds; no code is generated. `sites` is for
 * messages, and may be NULL. What has symbols that steps define is bound while it runs, by each run for itself; their
 * bindings are ignored. */
LAZE_MUST_USE laze_status laze_executable_create(laze_program *program, const int64_t *bindings,
                                                 const laze_sites *sites, laze_executable **out, laze_error *error);
void laze_executable_retain(laze_executable *executable);
void laze_executable_release(laze_executable *executable);          /* NULL is ignored */
laze_program *laze_executable_program(laze_executable *executable); /* borrowed */
/* Bytes to count for keeping it: its own, and its share of the program's among the executables that there are. */
int64_t laze_executable_weight(const laze_executable *executable);
/* Bytes that it takes, without the program. */
int64_t laze_executable_bytes(const laze_executable *executable);
/* The type of an output: a size that the run finds is an expression over the program's sizes, any other is a number. */
void laze_executable_output_type(const laze_executable *executable, int32_t index, laze_type *out);
/* Bytes of the plan's arena: what temporaries take while it runs. */
int64_t laze_executable_temporary_bytes(const laze_executable *executable);

/* Adds what a run takes (laze/compile.h), but for constants and operations. */
void laze_executable_add_cost(const laze_executable *executable, laze_cost *cost);

/* Which outputs of a run failed, and why. Zero-initialise; laze_run_report_deinit() frees it. */
typedef struct laze_run_report {
  laze_context *context;
  laze_error *errors; /* each the cause of some output */
  int64_t error_count, error_capacity;
  int32_t *causes; /* by output: its error, or LAZE_CAUSE_NONE; NULL where all were computed */
} laze_run_report;
#define LAZE_CAUSE_NONE (-1) /* computed */
void laze_run_report_deinit(laze_run_report *report);

typedef struct laze_run {
  laze_buffer *const *inputs; /* borrowed, of the inputs' types */
  laze_buffer **outputs;      /* receives new references */
  laze_buffer *const *places; /* by output: memory of the caller's in which it is to be written, no input's; NULL, also
                                 for all: a new buffer */
  const bool *donated;        /* by input: nobody reads it behind the run, so that an output may be written to its
                                 memory, where that is the run's alone; NULL: none */
  bool for_updates;           /* only by steps that write a part of a donated input, which keep the rest of it */
  bool *overwritten;          /* receives whether donated memory was written to; NULL: not wanted */
  laze_type *output_types;    /* receives the types, with the sizes that the run found, of outputs that are there; NULL:
                                 not wanted */
  const laze_sites *sites;    /* who called the operators, for messages; NULL: not known */
  laze_run_report *report;    /* NULL: all outputs or none */
} laze_run;

/* Runs it. On failure outputs are NULL and everything else is as it was; of several checks of indices that failed, the
 * error names the node that comes first in the graph. With a report, a check that fails, or an output for which there
 * is no memory, fails only what depends on it: such outputs are NULL, the others computed, and the report says which.
 * An output that depends on several failed nodes has the error of the first. The run fails then, with a report that is
 * empty, where nothing could be run. Donated memory is written to only once there is memory for everything, and from
 * then on nobody stops the run any more. Thread-safe. */
LAZE_MUST_USE laze_status laze_executable_run(laze_executable *executable, const laze_run *run, laze_error *error);

#endif
