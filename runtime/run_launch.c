/* A launch while it runs: one kernel, over the domains of steps that need nothing of each other, side by side.
 *
 *   step 3       step 4                 step 5
 *   |---- 10 ----|--------- 30 ---------|---------------- 60 ----------------|     as long as each is work
 *   |---- part ----|---- part ----|---- part ----|---- part ----| ...           of equal length, on threads if it pays
 *
 * A part is a call for each step that it lies in, over as much of that one's domain. A step alone is as long as its
 * domain, and a part of it that many iterations.
 */
#include "runtime/program_internal.h"

#include "runtime/runtime.h"
#include "runtime/thread_pool.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* Work (bytes moved plus operations) below which waking a thread costs more than it saves; about 50 microseconds. */
enum { SERIAL_WORK = 1 << 20, PARTS_PER_THREAD = 4 };

/* Shared by the threads that take part. */
typedef struct {
  program_run *run;
  bool uninterrupted; /* nobody stops it */
  int32_t count;
  int64_t work, grain;
  void **buffers; /* of the only step; NULL: each call finds those of its own */
  const int32_t *steps;
  const int64_t *ends;   /* where each ends among them */
  pthread_mutex_t *lock; /* of what follows; NULL: one thread runs it */
  laze_status status;
  laze_error *error;
} kernel_launch;

/* A step's checks as one call found them. */
static void note_checks(kernel_launch *launch, const laze_step *step, const laze_kernel_failure *records) {
  if (launch->lock) pthread_mutex_lock(launch->lock);
  if (launch->status == LAZE_OK) launch->status = program_run_note(launch->run, step, records, launch->error);
  if (launch->lock) pthread_mutex_unlock(launch->lock);
}

static void find_buffers(const program_run *run, const laze_step *step, void **out) {
  for (int32_t i = 0; i < step->buffer_count; i++) out[i] = run->pointers[step->buffers[i]];
}

/* Iterations [begin, end) of step `index`. */
static inline void call_kernel(kernel_launch *launch, int32_t index, int worker, int64_t begin, int64_t end) {
  program_run *run = launch->run;
  const laze_program *program = run->executable->program;
  const laze_step *step = &program->steps[index];
  laze_kernel_failure *records = step->check_count > 0 ? run->records + worker * program->most_checks : NULL;
  void *own[PROGRAM_LAUNCH_BUFFERS], **buffers = launch->buffers ? launch->buffers : own;
  if (buffers == own) find_buffers(run, step, own);
  const laze_kernel_arguments arguments = {.buffers = buffers,
                                           .sizes = run->steps[index].sizes,
                                           .failures = records,
                                           .closure = step->kernel->closure,
                                           .reason = run->reason,
                                           .stopped = launch->uninterrupted ? NULL : run->stopped};
  bool failed = false;
  for (int32_t i = 0; i < step->check_count; i++) records[i] = (laze_kernel_failure){.position = INT64_MAX};
  step->kernel->function(&arguments, begin, end, run->scratch ? run->scratch + worker * run->scratch_bytes : NULL);
  for (int32_t i = 0; i < step->check_count; i++) failed = failed || records[i].position != INT64_MAX;
  if (failed) note_checks(launch, step, records);
}

/* The iteration at which a step is cut, `at` of `length` into it. Multiples of 64 keep vector loops whole where the
 * outermost axis is the vector axis. */
static int64_t cut(const kernel_launch *launch, int64_t at, int64_t length, int64_t domain) {
  const int64_t iteration = at * domain / length, part = launch->grain * domain / length;
  return at == length || part <= 64 ? iteration : iteration / 64 * 64;
}

/* The first step that ends behind `at`. */
static int32_t find_step(const kernel_launch *launch, int64_t at) {
  int32_t low = 0, high = launch->count - 1;
  while (low < high) {
    const int32_t middle = (low + high) / 2;
    if (launch->ends[middle] <= at)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static void run_part(void *self, int worker, int64_t begin, int64_t end) {
  kernel_launch *launch = self;
  if (launch->buffers) {
    call_kernel(launch, launch->steps[0], worker, begin, end);
    return;
  }
  for (int32_t i = find_step(launch, begin); i < launch->count; i++) {
    const int64_t start = i > 0 ? launch->ends[i - 1] : 0, length = launch->ends[i] - start;
    if (start >= end) return;
    const int64_t domain = launch->run->steps[launch->steps[i]].domain;
    const int64_t from = begin > start ? cut(launch, begin - start, length, domain) : 0;
    const int64_t to = end < start + length ? cut(launch, end - start, length, domain) : domain;
    if (from < to) call_kernel(launch, launch->steps[i], worker, from, to);
  }
}

static laze_status run_parts(kernel_launch *launch, laze_error *error) {
  program_run *run = launch->run;
  const int64_t length = launch->ends[launch->count - 1], parts = (int64_t)run->threads * PARTS_PER_THREAD;
  launch->grain = (length + parts - 1) / parts;
  if (launch->buffers && launch->grain > 64) launch->grain = (launch->grain + 63) / 64 * 64;
  laze_runtime *runtime;
  LAZE_TRY(laze_runtime_get(run->executable->program->context, &runtime, error));
  pthread_mutex_t lock;
  pthread_mutex_init(&lock, NULL);
  launch->lock = &lock;
  laze_thread_pool_run(runtime->threads, &(laze_thread_loop){run_part, launch, 0, length, launch->grain, run->threads});
  launch->lock = NULL;
  pthread_mutex_destroy(&lock);
  return LAZE_OK;
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

static void log_launch(const kernel_launch *launch, int64_t start) {
  const program_run *run = launch->run;
  const laze_program *program = run->executable->program;
  const double microseconds = (double)(laze_clock() - start) / 1000;
  const laze_step *first = &program->steps[launch->steps[0]];
  laze_text text;
  laze_text_init(&text, program->context);
  laze_site_list from = {.text = &text};
  int64_t domain = 0;
  for (int32_t i = 0; i < launch->count; i++) {
    const laze_step *step = &program->steps[launch->steps[i]];
    domain += run->steps[launch->steps[i]].domain;
    for (int32_t k = 0; k < step->origin_count; k++) {
      laze_site site = laze_site_find(run->request->sites, &step->origins[k]);
      laze_site_list_add(&from, &site);
    }
  }
  if (first->interpreted) laze_text_format(&text, "  interpreted: %s", first->interpreted);
  char instances[32] = "";
  if (launch->count > 1) snprintf(instances, sizeof instances, " in %d instances", launch->count);
  laze_log_message(program->context, LAZE_LOG_DEBUG, "run: %8.1f us  %-24s domain %lld%s  %s  from %s", microseconds,
                   first->kernel->name, (long long)domain, instances, first->label, laze_text_get(&text));
  laze_text_deinit(&text);
}

static inline laze_status call_all(kernel_launch *launch, bool log, laze_error *error) {
  program_run *run = launch->run;
  const int64_t start = log ? laze_clock() : 0;
  run->launches++;
  run->instances += launch->count;
  const bool pays = run->threads > 1 && launch->work >= SERIAL_WORK && launch->ends[launch->count - 1] > 1;
  if (pays) LAZE_TRY(run_parts(launch, error));
  for (int32_t i = 0; i < launch->count && !pays; i++)
    call_kernel(launch, launch->steps[i], 0, 0, run->steps[launch->steps[i]].domain);
  if (log) log_launch(launch, start);
  if (run->stopped->code != LAZE_OK) return laze_fail(error, run->stopped->code, "%s", run->stopped->message);
  return launch->status;
}

/* Whether a step can run and has something to do; what it updates is there then. */
static bool begin_step(program_run *run, int32_t index) {
  const laze_step *step = &run->executable->program->steps[index];
  if (!program_run_can(run, step)) return false;
  if (step->updates) begin_update(run, step);
  return run->steps[index].domain > 0;
}

/* A step that is a launch of its own, as most are. */
static laze_status run_alone(program_run *run, int32_t index, bool uninterrupted, bool log, laze_error *error) {
  if (!begin_step(run, index)) return LAZE_OK;
  find_buffers(run, &run->executable->program->steps[index], run->step_pointers);
  kernel_launch launch = {.run = run,
                          .uninterrupted = uninterrupted,
                          .count = 1,
                          .work = run->steps[index].work,
                          .buffers = run->step_pointers,
                          .steps = &index,
                          .ends = &run->steps[index].domain,
                          .error = error};
  return call_all(&launch, log, error);
}

/* Steps [first, end), as many of them as can. */
static laze_status run_several(program_run *run, int64_t first, int64_t end, bool uninterrupted, bool log,
                               laze_error *error) {
  int32_t steps[PROGRAM_LAUNCH_STEPS];
  int64_t ends[PROGRAM_LAUNCH_STEPS];
  kernel_launch launch = {.run = run, .uninterrupted = uninterrupted, .steps = steps, .ends = ends, .error = error};
  for (int32_t i = (int32_t)first; i < end; i++) {
    if (!begin_step(run, i)) continue;
    launch.work += run->steps[i].work > 0 ? run->steps[i].work : 1;
    steps[launch.count] = i;
    ends[launch.count++] = launch.work;
  }
  return launch.count > 0 ? call_all(&launch, log, error) : LAZE_OK;
}

laze_status program_run_launch(program_run *run, int64_t *at, bool log, laze_error *error) {
  const int64_t first = *at, count = run->executable->program->step_count;
  const bool uninterrupted = first >= run->donated_from;
  if (uninterrupted && run->request->overwritten) *run->request->overwritten = true;
  const bound_band *band = program_find_band(run->executable, first);
  int64_t end = band ? band->end : first + 1;
  while (end < count && run->steps[end].launch == first) end++;
  *at = end;
  if (band) return program_run_band(run, band, uninterrupted, log, error);
  if (end == first + 1) return run_alone(run, (int32_t)first, uninterrupted, log, error);
  return run_several(run, first, end, uninterrupted, log, error);
}
