/* Running an executable: memory for outputs and temporaries, then the steps in order, through regions with a stack.
 *
 *   inputs  ─┐
 *   outputs ─┼─> pointer of each value ─> step: pointers + sizes ─> kernel over [0, domain), on threads if it pays
 *   arena   ─┘                                                      └─> records of its checks ─> failures of the run
 */
#include "runtime/program_internal.h"

#include "base/counters.h"
#include "base/float_control.h"
#include "runtime/runtime.h"
#include "runtime/thread_pool.h"

#include <pthread.h>
#include <string.h>

/* Work (bytes moved plus operations) below which waking a thread costs more than it saves; about 50 microseconds. */
enum { SERIAL_WORK = 1 << 20, PARTS_PER_THREAD = 4 };

/* One step while it runs, shared by the threads that take part. */
typedef struct {
  const laze_step *step;
  const bound_step *bound;
  program_run *run;
  bool uninterrupted;           /* nobody stops it */
  pthread_mutex_t lock;         /* of what follows, where there are several parts */
  laze_kernel_failure *records; /* what all parts found */
} step_run;

static void clear_records(laze_kernel_failure *records, int32_t count) {
  for (int32_t i = 0; i < count; i++) records[i] = (laze_kernel_failure){.position = INT64_MAX};
}

static void merge_records(step_run *step, const laze_kernel_failure *found) {
  pthread_mutex_lock(&step->lock);
  for (int32_t i = 0; i < step->step->check_count; i++)
    if (found[i].position < step->records[i].position) step->records[i] = found[i];
  pthread_mutex_unlock(&step->lock);
}

static void call_kernel(const step_run *step, int worker, int64_t begin, int64_t end, laze_kernel_failure *records) {
  const laze_kernel *kernel = step->step->kernel;
  laze_kernel_arguments arguments = {.buffers = step->run->step_pointers,
                                     .sizes = step->bound->sizes,
                                     .failures = records,
                                     .closure = kernel->closure,
                                     .reason = step->run->reason,
                                     .stopped = step->uninterrupted ? NULL : step->run->stopped};
  char *scratch = step->run->scratch;
  if (scratch) scratch += worker * step->run->scratch_bytes;
  clear_records(records, step->step->check_count);
  kernel->function(&arguments, begin, end, scratch);
}

static void run_part(void *self, int worker, int64_t begin, int64_t end) {
  step_run *step = self;
  const int64_t most = step->run->executable->program->most_checks;
  laze_kernel_failure *records = step->step->check_count > 0 ? step->run->records + worker * most : NULL;
  call_kernel(step, worker, begin, end, records);
  if (records) merge_records(step, records);
}

static laze_status run_parts(step_run *step, laze_error *error) {
  const int64_t domain = step->bound->domain, parts = (int64_t)step->run->threads * PARTS_PER_THREAD;
  /* Multiples of 64 iterations keep vector loops whole where the outermost axis is the vector axis. */
  int64_t grain = (domain + parts - 1) / parts;
  if (grain > 64) grain = (grain + 63) / 64 * 64;
  laze_runtime *runtime;
  LAZE_TRY(laze_runtime_get(step->run->executable->program->context, &runtime, error));
  clear_records(step->records, step->step->check_count);
  pthread_mutex_init(&step->lock, NULL);
  laze_thread_pool_run(runtime->threads, &(laze_thread_loop){run_part, step, 0, domain, grain, step->run->threads});
  pthread_mutex_destroy(&step->lock);
  return LAZE_OK;
}

static void log_step(const program_run *run, const laze_step *step, const bound_step *bound, int64_t start) {
  laze_context *context = run->executable->program->context;
  double microseconds = (double)(laze_clock() - start) / 1000;
  laze_text text;
  laze_text_init(&text, context);
  laze_site_list from = {.text = &text};
  for (int32_t i = 0; i < step->origin_count; i++) {
    laze_site site = laze_site_find(run->request->sites, &step->origins[i]);
    laze_site_list_add(&from, &site);
  }
  if (step->interpreted) laze_text_format(&text, "  interpreted: %s", step->interpreted);
  laze_log_message(context, LAZE_LOG_DEBUG, "run: %8.1f us  %-24s domain %lld  %s  from %s", microseconds,
                   step->kernel->name, (long long)bound->domain, step->label, laze_text_get(&text));
  laze_text_deinit(&text);
}

/* Has the result of a step hold what it updates: at the place of that, or as a copy. */
static void begin_update(program_run *run, const laze_step *step) {
  const program_value *values = run->executable->program->values;
  int32_t result = step->buffers[step->buffer_count - 1];
  int64_t bytes = run->values[result].bytes;
  if (values[result].place == values[step->updated].place)
    run->pointers[result] = run->pointers[step->updated];
  else if (bytes > 0 && run->pointers[result] != run->pointers[step->updated]) {
    memcpy(run->pointers[result], run->pointers[step->updated], (size_t)bytes);
    laze_metrics_add(laze_context_metrics(run->executable->program->context), LAZE_METRIC_WRITE_COPIES, 1);
  }
}

static laze_status run_step(program_run *run, int64_t index, bool log, laze_error *error) {
  const laze_program *program = run->executable->program;
  step_run step = {.step = &program->steps[index], .bound = &run->steps[index], .run = run};
  step.uninterrupted = index >= run->donated_from;
  if (step.uninterrupted && run->request->overwritten) *run->request->overwritten = true;
  if (step.step->define_count > 0) return program_run_define(run, step.step, -1, error);
  if (step.step->updates) begin_update(run, step.step);
  if (step.bound->domain <= 0) return LAZE_OK;
  run->kernels_run++;
  int64_t start = log ? laze_clock() : 0;
  for (int32_t i = 0; i < step.step->buffer_count; i++) run->step_pointers[i] = run->pointers[step.step->buffers[i]];
  if (step.step->check_count > 0) step.records = run->records + run->threads * program->most_checks;
  if (run->threads == 1 || step.bound->work < SERIAL_WORK || step.bound->domain == 1)
    call_kernel(&step, 0, 0, step.bound->domain, step.records);
  else
    LAZE_TRY(run_parts(&step, error));
  if (log) log_step(run, step.step, step.bound, start);
  if (run->stopped->code != LAZE_OK) return laze_fail(error, run->stopped->code, "%s", run->stopped->message);
  return step.step->check_count > 0 ? program_run_note(run, step.step, error) : LAZE_OK;
}

/* Steps whose regions are running, the innermost last. */
typedef struct {
  control_frame frames[LAZE_PROGRAM_MAX_NESTING];
  int depth;
  bool log;
  int64_t iterations; /* of loops, since the outermost began */
} control_stack;

static void log_control(const program_run *run, const control_frame *frame) {
  laze_context *context = run->executable->program->context;
  laze_log_message(context, LAZE_LOG_DEBUG, "run: %8.1f us  %s, regions ran %lld times",
                   (double)(laze_clock() - frame->start) / 1000, frame->step->label, (long long)frame->rounds);
}

/* The sizes that a step defines by the region that ended, or that it did not come to define. */
static laze_status define_sizes(program_run *run, const control_frame *top, laze_error *error) {
  if (top->step->define_count == 0) return LAZE_OK;
  if (run->failure_count > 0) return program_run_skip_stage(run, top->step, error);
  return program_run_define(run, top->step, top->region, error);
}

/* What goes on after a region ended, and the step behind it: the first of the region that is next, or the one behind
 * all of them. */
static laze_status leave_region(program_run *run, control_stack *stack, int64_t *at, laze_error *error) {
  control_frame *top = &stack->frames[stack->depth - 1];
  top->rounds++;
  LAZE_TRY(define_sizes(run, top, error));
  int32_t next = run->failure_count > 0 ? CONTROL_DONE : top->step->control->end(run, top);
  if (next != CONTROL_DONE) {
    top->region = next;
    *at = top->step->regions[next].first;
    return LAZE_OK;
  }
  if (stack->log) log_control(run, top);
  stack->depth--;
  *at = top->step->end;
  return LAZE_OK;
}

static int64_t enter_control(program_run *run, int64_t index, control_stack *stack) {
  const laze_step *step = &run->executable->program->steps[index];
  control_frame *top = &stack->frames[stack->depth];
  *top = (control_frame){.step = step, .bound = &run->steps[index], .start = stack->log ? laze_clock() : 0};
  top->region = step->control->begin(run, top);
  if (top->region == CONTROL_DONE) return step->end;
  stack->depth++;
  return step->regions[top->region].first;
}

static bool ends_region(const control_stack *stack, int64_t at) {
  if (stack->depth == 0) return false;
  const control_frame *top = &stack->frames[stack->depth - 1];
  return at == top->step->regions[top->region].end;
}

/* Tells whoever watches how often loops inside the outermost step went around, where a region ends. */
static laze_status report_round(const laze_program *program, control_stack *stack, laze_error *error) {
  const control_frame *top = &stack->frames[stack->depth - 1];
  if (top->region != top->step->control->carrying) return LAZE_OK;
  return laze_context_report(program->context, "loop", ++stack->iterations, -1, error);
}

/* Tells whoever watches which step is next, and may stop the run: as long as all that it was given is as it was. */
static laze_status report_step(const program_run *run, int64_t at, laze_error *error) {
  const laze_program *program = run->executable->program;
  if (at > run->donated_from) return LAZE_OK;
  return laze_context_report(program->context, "run", at, program->step_count, error);
}

static bool can_run(program_run *run, const laze_step *step) {
  if ((run->missing || run->stages) && !program_run_has_memory(run, step)) return false;
  return !(step->needs_success && run->failure_count > 0);
}

/* A failed check keeps operators with regions from starting, and from going on: a loop over wrong values might not end.
 * The steps of the region in which it failed run to the region's end, so that of several checks there the same one is
 * reported whatever their order. */
static laze_status run_steps(program_run *run, bool log, laze_error *error) {
  const laze_program *program = run->executable->program;
  control_stack stack;
  stack.depth = 0;
  stack.log = log;
  for (int64_t at = 0; at < program->step_count || stack.depth > 0;) {
    if (ends_region(&stack, at)) {
      LAZE_TRY(report_round(program, &stack, error));
      LAZE_TRY(leave_region(run, &stack, &at, error));
      continue;
    }
    if (stack.depth == 0) {
      stack.iterations = 0;
      LAZE_TRY(report_step(run, at, error));
    }
    const laze_step *step = &program->steps[at];
    const bool runs = can_run(run, step);
    if (runs && step->control) {
      at = enter_control(run, at, &stack);
      continue;
    }
    if (runs) LAZE_TRY(run_step(run, at, log && stack.depth == 0, error));
    if (!runs && step->define_count > 0) LAZE_TRY(program_run_skip_stage(run, step, error));
    at = step->control ? step->end : at + 1;
    if (run->stages && stack.depth == 0) program_run_leave_stages(run, at);
  }
  return LAZE_OK;
}

/* The types of outputs that are there. */
static laze_status give_types(const program_run *run, laze_error *error) {
  const laze_executable *executable = run->executable;
  const laze_program *program = executable->program;
  for (int64_t i = 0; run->request->output_types && i < program->output_count; i++) {
    laze_type *type = &run->request->output_types[i];
    *type = executable->output_types[i];
    for (int axis = 0; axis < type->rank && run->request->outputs[i]; axis++)
      LAZE_TRY(laze_size_evaluate(program->sizes, type->sizes[axis], run->bindings, &type->sizes[axis], error));
  }
  return LAZE_OK;
}

static laze_status run_all(program_run *run, laze_error *error) {
  const laze_program *program = run->executable->program;
  bool log = laze_context_debug(program->context, LAZE_DEBUG_RUN);
  LAZE_TRY(program_run_prepare(run, error));
  LAZE_TRY(run_steps(run, log, error));
  LAZE_TRY(report_step(run, program->step_count, error));
  LAZE_TRY(program_run_alias(run, error));
  LAZE_TRY(program_run_verdict(run, error));
  return give_types(run, error);
}

/* Of steps in a loop's region once, as their number is. */
static void count_fallbacks(const laze_program *program) {
  for (int64_t i = 0; i < program->step_count && program->fallback_count > 0; i++)
    if (program->steps[i].interpreted)
      laze_counters_add(laze_context_counters(program->context), "fallback", program->steps[i].label, 1);
}

/* Says so when a graph that is run again and again has operators without native code in it. */
static void count_run(laze_executable *executable) {
  enum { LOOP_RUNS = 16 };
  const laze_program *program = executable->program;
  laze_metrics *metrics = laze_context_metrics(program->context);
  laze_metrics_add(metrics, LAZE_METRIC_NODES_EXECUTED, program->node_count);
  laze_metrics_add(metrics, LAZE_METRIC_FALLBACKS, program->fallback_count);
  count_fallbacks(program);
  laze_metrics_add(metrics, LAZE_METRIC_GRAPHS_RUN, 1);
  laze_metrics_sample(metrics, LAZE_SAMPLE_GRAPH_NODES, program->node_count);
  laze_metrics_sample(metrics, LAZE_SAMPLE_TEMPORARY_BYTES, executable->temporary_bytes);
  int64_t runs = atomic_fetch_add_explicit(&executable->runs, 1, memory_order_relaxed) + 1;
  if (program->fallback_count == 0 || runs != LOOP_RUNS) return;
  const laze_step *step = program->steps;
  while (!step->interpreted) step++;
  laze_log_advice(program->context, LAZE_ADVICE_FALLBACK,
                  "a graph that ran %d times has no native code for %lld of its operators, %s among them, which the "
                  "interpreter runs: slowly; LAZE_DEBUG=schedule shows them",
                  LOOP_RUNS, (long long)program->fallback_count, step->label);
}

/* Leaves nothing of a run that failed as a whole. */
static void drop_all(const program_run *run) {
  for (int64_t i = 0; i < run->executable->program->output_count; i++) {
    laze_buffer_release(run->request->outputs[i]);
    run->request->outputs[i] = NULL;
  }
  if (run->request->report) laze_run_report_deinit(run->request->report);
}

laze_status laze_executable_run(laze_executable *executable, const laze_run *request, laze_error *error) {
  const laze_program *program = executable->program;
  laze_metrics *metrics = laze_context_metrics(program->context);
  int64_t start = laze_clock();
  for (int64_t i = 0; i < program->output_count; i++) request->outputs[i] = NULL;
  laze_error stopped, reason;
  stopped.code = reason.code = LAZE_OK;
  program_run run = {
      .request = request, .executable = executable, .reason = &reason, .stopped = &stopped, .donated_from = INT64_MAX};
  laze_arena_init(&run.reasons, program->context);
  laze_float_control caller;
  laze_float_control_enter(&caller); /* workers have the word they started with */
  laze_status status = run_all(&run, error);
  laze_float_control_leave(&caller);
  if (status != LAZE_OK) drop_all(&run);
  program_run_release(&run);
  laze_metrics_add(metrics, LAZE_METRIC_KERNELS_RUN, run.kernels_run);
  const int64_t time = laze_clock() - start;
  laze_metrics_add(metrics, LAZE_METRIC_TIME_RUN_US, time);
  laze_metrics_sample(metrics, LAZE_SAMPLE_RUN_NS, time);
  if (status == LAZE_OK) count_run(executable);
  return status;
}
