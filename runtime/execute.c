/* Running an executable: memory for outputs and temporaries, then the steps in order.
 *
 *   inputs  ─┐
 *   outputs ─┼─> pointer of each value ─> step: pointers + sizes ─> kernel over [0, domain), on threads if it pays
 *   arena   ─┘
 */
#include "runtime/program_internal.h"

#include "base/checked.h"
#include "base/float_control.h"
#include "runtime/runtime.h"
#include "runtime/thread_pool.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* Work (bytes moved plus operations) below which waking a thread costs more than it saves; about 50 microseconds. */
enum { SERIAL_WORK = 1 << 20, PARTS_PER_THREAD = 4 };

typedef struct {
  laze_executable *executable;
  laze_runtime *runtime;
  void **pointers;      /* of each value */
  void **step_pointers; /* of the step at hand */
  char *scratch;        /* scratch_bytes for each thread */
  laze_buffer *arena, *scratch_buffer;
  run_causes causes;
  int64_t kernels_run;
} program_run;

/* One step while it runs, shared by the threads that take part. */
typedef struct {
  const laze_step *step;
  const bound_step *bound;
  program_run *run;
  pthread_mutex_t lock; /* of failure */
  laze_kernel_failure failure;
} step_run;

static void run_part(void *self, int worker, int64_t begin, int64_t end) {
  step_run *step = self;
  const laze_kernel *kernel = step->step->kernel;
  laze_kernel_failure failure = {.position = INT64_MAX};
  laze_kernel_arguments arguments = {step->run->step_pointers, step->bound->sizes, &failure, kernel->closure};
  char *scratch = step->run->scratch;
  if (scratch) scratch += worker * step->run->executable->scratch_bytes;
  kernel->function(&arguments, begin, end, scratch);
  if (failure.position == INT64_MAX) return;
  pthread_mutex_lock(&step->lock);
  if (failure.position < step->failure.position) step->failure = failure;
  pthread_mutex_unlock(&step->lock);
}

static laze_status report_failure(const step_run *step, laze_error *error) {
  const laze_kernel_failure *failure = &step->failure;
  if (failure->size == 0)
    return laze_fail(
        error, LAZE_OUT_OF_RANGE,
        "%s: index %lld at position %lld is out of range for an axis of size 0, which has nothing to index",
        step->step->label, (long long)failure->index, (long long)failure->position);
  return laze_fail(error, LAZE_OUT_OF_RANGE,
                   "%s: index %lld at position %lld is out of range for an axis of size %lld; expected %lld to %lld",
                   step->step->label, (long long)failure->index, (long long)failure->position, (long long)failure->size,
                   (long long)-failure->size, (long long)failure->size - 1);
}

static void log_step(const program_run *run, const laze_step *step, const bound_step *bound, int64_t start) {
  laze_log_message(run->executable->program->context, LAZE_LOG_DEBUG, "run: %8.1f us  %-24s domain %lld  %s",
                   (double)(laze_clock() - start) / 1000, step->kernel->name, (long long)bound->domain, step->label);
}

static laze_status run_step(program_run *run, int64_t index, bool log, laze_error *error) {
  const laze_program *program = run->executable->program;
  step_run step = {.step = &program->steps[index],
                   .bound = &run->executable->steps[index],
                   .run = run,
                   .failure = {.position = INT64_MAX}};
  if (step.bound->domain <= 0) return LAZE_OK;
  run->kernels_run++;
  int64_t start = log ? laze_clock() : 0;
  for (int32_t i = 0; i < step.step->buffer_count; i++) run->step_pointers[i] = run->pointers[step.step->buffers[i]];
  pthread_mutex_init(&step.lock, NULL);
  int threads = laze_thread_pool_threads(run->runtime->threads);
  if (threads == 1 || step.bound->work < SERIAL_WORK || step.bound->domain == 1) {
    run_part(&step, 0, 0, step.bound->domain);
  } else {
    int64_t parts = (int64_t)threads * PARTS_PER_THREAD;
    /* Multiples of 64 iterations keep vector loops whole where the outermost axis is the vector axis. */
    int64_t grain = (step.bound->domain + parts - 1) / parts;
    if (grain > 64) grain = (grain + 63) / 64 * 64;
    laze_thread_pool_run(run->runtime->threads, run_part, &step, 0, step.bound->domain, grain);
  }
  pthread_mutex_destroy(&step.lock);
  if (log) log_step(run, step.step, step.bound, start);
  return step.failure.position == INT64_MAX ? LAZE_OK : report_failure(&step, error);
}

/* Runs a step unless everything it makes has failed. Without a report its failure is that of the run. */
static laze_status run_or_skip(program_run *run, int64_t index, bool log, laze_error *error) {
  const laze_step *step = &run->executable->program->steps[index];
  if (!run->causes.report) return run_step(run, index, log, error);
  laze_error failure;
  if (!laze_causes_pass_on(&run->causes, step) || run_step(run, index, log, &failure) == LAZE_OK) return LAZE_OK;
  return laze_causes_fail_check(&run->causes, step, &failure, error);
}

/* Memory for the output that value `index` is. */
static laze_status create_output(program_run *run, int64_t index, laze_buffer **output, laze_error *error) {
  laze_context *context = run->executable->program->context;
  int64_t bytes = run->executable->values[index].bytes;
  laze_error failure;
  laze_status status = laze_buffer_create(context, bytes, output, &failure);
  if (status == LAZE_OK)
    run->pointers[index] = (*output)->data;
  else if (run->causes.report)
    return laze_causes_fail_value(&run->causes, index, &failure, error);
  else if (error)
    *error = failure;
  return status;
}

/* Sets pointers of inputs and constants, and makes memory for outputs and temporaries. */
static laze_status prepare(program_run *run, laze_buffer *const *inputs, laze_buffer **outputs, laze_error *error) {
  const laze_executable *executable = run->executable;
  const laze_program *program = executable->program;
  LAZE_TRY(laze_buffer_create(program->context, executable->temporary_bytes, &run->arena, error));
  int threads = laze_thread_pool_threads(run->runtime->threads);
  if (executable->scratch_bytes > 0) {
    int64_t bytes;
    if (laze_mul_overflows(executable->scratch_bytes, threads, &bytes))
      return laze_fail(error, LAZE_OUT_OF_MEMORY, "the scratch of %d threads needs more than 2^63 bytes", threads);
    LAZE_TRY(laze_buffer_create(program->context, bytes, &run->scratch_buffer, error));
    run->scratch = run->scratch_buffer->data;
  }
  for (int64_t i = 0; i < program->value_count; i++) {
    const program_value *value = &program->values[i];
    if (value->role == LAZE_ROLE_INPUT) run->pointers[i] = inputs[value->number]->data;
    if (value->role == LAZE_ROLE_CONSTANT) run->pointers[i] = (void *)value->data;
    if (value->role == LAZE_ROLE_TEMPORARY)
      run->pointers[i] =
          executable->values[i].offset < 0 ? NULL : (char *)run->arena->data + executable->values[i].offset;
    if (value->role == LAZE_ROLE_OUTPUT) LAZE_TRY(create_output(run, i, &outputs[value->number], error));
  }
  return LAZE_OK;
}

/* Drops the outputs that failed. */
static void finish_failed(const program_run *run, laze_buffer **outputs) {
  const laze_program *program = run->executable->program;
  if (!run->causes.report) return;
  laze_causes_report(&run->causes, program);
  for (int64_t i = 0; i < program->output_count; i++) {
    if (run->causes.report->causes[i] == LAZE_CAUSE_NONE) continue;
    laze_buffer_release(outputs[i]);
    outputs[i] = NULL;
  }
}

/* Outputs that repeat another value: an input or output is shared, a constant copied. */
static laze_status finish_aliases(const program_run *run, laze_buffer *const *inputs, laze_buffer **outputs,
                                  laze_error *error) {
  const laze_program *program = run->executable->program;
  for (int64_t i = 0; i < program->output_count; i++) {
    if (outputs[i] || (run->causes.report && run->causes.report->causes[i] != LAZE_CAUSE_NONE)) continue;
    const program_value *value = &program->values[program->outputs[i]];
    if (value->role == LAZE_ROLE_CONSTANT) {
      int64_t bytes = run->executable->values[program->outputs[i]].bytes;
      LAZE_TRY(laze_buffer_create(program->context, bytes, &outputs[i], error));
      memcpy(outputs[i]->data, value->data, (size_t)bytes);
      continue;
    }
    outputs[i] = value->role == LAZE_ROLE_INPUT ? inputs[value->number] : outputs[value->number];
    laze_buffer_retain(outputs[i]);
  }
  return LAZE_OK;
}

static laze_status run_all(program_run *run, laze_buffer *const *inputs, laze_buffer **outputs, laze_error *error) {
  const laze_program *program = run->executable->program;
  bool log = laze_context_debug(program->context, LAZE_DEBUG_RUN);
  LAZE_TRY(prepare(run, inputs, outputs, error));
  for (int64_t i = 0; i < program->step_count; i++) LAZE_TRY(run_or_skip(run, i, log, error));
  finish_failed(run, outputs);
  return finish_aliases(run, inputs, outputs, error);
}

/* Says so when a graph that is run again and again has operators without native code in it. */
static void count_run(laze_executable *executable) {
  enum { LOOP_RUNS = 16 };
  const laze_program *program = executable->program;
  laze_metrics *metrics = laze_context_metrics(program->context);
  laze_metrics_add(metrics, LAZE_METRIC_NODES_EXECUTED, program->node_count);
  laze_metrics_add(metrics, LAZE_METRIC_FALLBACKS, program->fallback_count);
  laze_metrics_add(metrics, LAZE_METRIC_GRAPHS_RUN, 1);
  int64_t runs = atomic_fetch_add_explicit(&executable->runs, 1, memory_order_relaxed) + 1;
  if (program->fallback_count == 0 || runs != LOOP_RUNS) return;
  const laze_step *step = program->steps;
  while (!step->fallback) step++;
  laze_log_advice(program->context, LAZE_ADVICE_FALLBACK,
                  "a graph that ran %d times has no native code for %lld of its operators, %s among them, which the "
                  "interpreter runs: slowly; LAZE_DEBUG=schedule shows them",
                  LOOP_RUNS, (long long)program->fallback_count, step->label);
}

/* `report` NULL: all outputs or none. */
static laze_status run_executable(laze_executable *executable, laze_buffer *const *inputs, laze_buffer **outputs,
                                  laze_run_report *report, laze_error *error) {
  const laze_program *program = executable->program;
  laze_metrics *metrics = laze_context_metrics(program->context);
  int64_t start = laze_clock();
  for (int64_t i = 0; i < program->output_count; i++) outputs[i] = NULL;
  program_run run = {.executable = executable, .runtime = laze_runtime_get(program->context, error)};
  if (!run.runtime) return LAZE_OUT_OF_MEMORY;
  run.pointers = laze_alloc_array(program->context, program->value_count + program->most_buffers, sizeof(void *));
  if (!run.pointers) return laze_fail_memory(error, "running a graph", program->value_count);
  run.step_pointers = run.pointers + program->value_count;
  laze_float_control caller = laze_float_control_enter(); /* workers have the word they started with */
  laze_status status = laze_causes_init(&run.causes, report, program, error);
  if (status == LAZE_OK) status = run_all(&run, inputs, outputs, error);
  laze_float_control_leave(&caller);
  for (int64_t i = 0; status != LAZE_OK && i < program->output_count; i++) {
    laze_buffer_release(outputs[i]);
    outputs[i] = NULL;
  }
  laze_buffer_release(run.arena);
  laze_buffer_release(run.scratch_buffer);
  laze_causes_deinit(&run.causes);
  laze_free(program->context, run.pointers);
  laze_metrics_add(metrics, LAZE_METRIC_KERNELS_RUN, run.kernels_run);
  laze_metrics_add(metrics, LAZE_METRIC_TIME_RUN_US, laze_clock() - start);
  if (status == LAZE_OK) count_run(executable);
  return status;
}

laze_status laze_executable_run(laze_executable *executable, laze_buffer *const *inputs, laze_buffer **outputs,
                                laze_error *error) {
  return run_executable(executable, inputs, outputs, NULL, error);
}

laze_status laze_executable_run_each(laze_executable *executable, laze_buffer *const *inputs, laze_buffer **outputs,
                                     laze_run_report *report, laze_error *error) {
  laze_status status = run_executable(executable, inputs, outputs, report, error);
  if (status != LAZE_OK) laze_run_report_deinit(report);
  return status;
}
