/* Programs: what a compiled graph is. A program is data, generic in sizes: values whose sizes are expressions, and
 * steps that call kernels. Binding its symbols to numbers gives an *executable*, which has a memory plan and runs.
 *
 * A program is built by one thread; finished, it is immutable and shared (refcounted). An executable is immutable and
 * may run on several threads at once.
 */
#ifndef LAZE_RUNTIME_PROGRAM_H
#define LAZE_RUNTIME_PROGRAM_H

#include "runtime/buffer.h"
#include "runtime/kernel.h"
#include "shape_inference/type.h"

typedef struct laze_program laze_program;
typedef struct laze_executable laze_executable;

typedef enum { LAZE_ROLE_INPUT, LAZE_ROLE_OUTPUT, LAZE_ROLE_TEMPORARY, LAZE_ROLE_CONSTANT } laze_value_role;

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

/* One kernel call. */
typedef struct laze_step {
  laze_kernel *kernel;    /* retained by the program */
  const int32_t *buffers; /* values, in the kernel's order; copied */
  int32_t buffer_count;
  int32_t write_count;    /* the last `write_count` buffers are written */
  const laze_size *sizes; /* expressions for the kernel's run-time integers; copied */
  int32_t size_count;
  laze_size domain;  /* iterations of the outermost axis */
  laze_size scratch; /* bytes of scratch one call needs */
  laze_size work;    /* estimated bytes moved plus operations, to decide on threads */
  const char *label; /* operators it computes, for reports and errors; copied */
  bool fallback;     /* runs on the interpreter in a native program; counted */
  /* What each write depends on, where it is not everything: rows of buffer_count - write_count entries, 1 for a read
   * that the write depends on, and one of laze_check_dependence; copied. NULL: every write on all reads and checks. */
  const uint8_t *dependences;
} laze_step;
/* On how many of the kernel's checks of indices a write depends. */
typedef enum {
  LAZE_DEPENDS_ON_NO_CHECK,
  LAZE_DEPENDS_ON_SOME_CHECKS,
  LAZE_DEPENDS_ON_ALL_CHECKS
} laze_check_dependence;
LAZE_MUST_USE laze_status laze_program_add_step(laze_program *program, const laze_step *step, laze_error *error);
/* How many graph nodes a run of the program executes, for nodes_executed; 0 until set. */
void laze_program_set_node_count(laze_program *program, int64_t count);
/* Symbols' bindings are valid for the program when laze_facts_hold(laze_program_sizes(program), bindings). */

int32_t laze_program_input_count(const laze_program *program);
int32_t laze_program_output_count(const laze_program *program);
int32_t laze_program_step_count(const laze_program *program);

/* Binds symbol i to `bindings[i]`: evaluates sizes and plans memory. Microseconds; no code is generated. */
LAZE_MUST_USE laze_status laze_executable_create(laze_program *program, const int64_t *bindings, laze_executable **out,
                                                 laze_error *error);
void laze_executable_retain(laze_executable *executable);
void laze_executable_release(laze_executable *executable);          /* NULL is ignored */
laze_program *laze_executable_program(laze_executable *executable); /* borrowed */
/* The concrete type of an output. */
void laze_executable_output_type(const laze_executable *executable, int32_t index, laze_type *out);
/* Bytes of the plan's arena: what temporaries take while it runs. */
int64_t laze_executable_temporary_bytes(const laze_executable *executable);

/* Runs it: `inputs` are borrowed buffers of the inputs' types; `outputs` receives new references. On failure outputs
 * are NULL and everything else is as it was. Thread-safe. */
LAZE_MUST_USE laze_status laze_executable_run(laze_executable *executable, laze_buffer *const *inputs,
                                              laze_buffer **outputs, laze_error *error);

/* Which outputs of a run failed, and why. Zero-initialise; laze_run_report_deinit() frees it. */
typedef struct laze_run_report {
  laze_context *context;
  laze_error *errors; /* in the order of the steps they arose in */
  int64_t error_count, error_capacity;
  int32_t *causes; /* by output: its error, or one of the following */
} laze_run_report;
#define LAZE_CAUSE_NONE (-1) /* computed */
/* Not computed, because a kernel that makes several values notes one failure only: it may succeed on its own. */
#define LAZE_CAUSE_OPEN (-2)

/* Runs it like laze_executable_run(), but an index out of range, or an output for which there is no memory, fails only
 * what depends on it: such outputs are NULL, the others computed, and `report` says which. At least one output that is
 * not computed has an error. Fails, with a report that is empty, where nothing could be run. */
LAZE_MUST_USE laze_status laze_executable_run_each(laze_executable *executable, laze_buffer *const *inputs,
                                                   laze_buffer **outputs, laze_run_report *report, laze_error *error);
void laze_run_report_deinit(laze_run_report *report);

#endif
