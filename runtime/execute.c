/* Running an executable: memory for outputs and temporaries, then the steps in order, through regions with a stack.
 *
 *   inputs  ─┐
 *   outputs ─┼─> pointer of each value ─> steps of a launch: pointers + sizes ─> kernel over all their domains, on
 *   arena   ─┘                                                      │            threads if it pays (run_launch.c)
 *                                                                   └─> records of checks ─> failures of the run
 */
#include "runtime/program_internal.h"

#include "base/counters.h"
#include "base/float_control.h"

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

/* A step that defines a size, or one with regions that do not run. */
static laze_status pass_step(program_run *run, int64_t *at, bool runs, laze_error *error) {
  const laze_step *step = &run->executable->program->steps[*at];
  *at = step->control ? step->end : *at + 1;
  if (step->define_count == 0) return LAZE_OK;
  return runs ? program_run_define(run, step, -1, error) : program_run_skip_stage(run, step, error);
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
    const bool runs = step->kernel || program_run_can(run, step);
    if (runs && step->control) {
      at = enter_control(run, at, &stack);
      continue;
    }
    if (step->kernel)
      LAZE_TRY(program_run_launch(run, &at, log && stack.depth == 0, error));
    else
      LAZE_TRY(pass_step(run, &at, runs, error));
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
  laze_metrics_add(metrics, LAZE_METRIC_KERNELS_RUN, run.launches);
  laze_metrics_add(metrics, LAZE_METRIC_KERNEL_INSTANCES, run.instances);
  const int64_t time = laze_clock() - start;
  laze_metrics_add(metrics, LAZE_METRIC_TIME_RUN_US, time);
  laze_metrics_sample(metrics, LAZE_SAMPLE_RUN_NS, time);
  if (status == LAZE_OK) count_run(executable);
  return status;
}
