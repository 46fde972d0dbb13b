/* A band of steps while it runs (program_bands.c): bands of rows are shared by threads, and each goes through all
 * steps.
 *
 *   scratch of a thread   | rows of v2 | rows of v3 | what a kernel needs |
 *
 * A kernel finds a row by its number among all rows: what is handed on is given as if its first row were there.
 */
#include "runtime/program_internal.h"

#include "runtime/runtime.h"
#include "runtime/thread_pool.h"

typedef struct {
  program_run *run;
  const bound_band *band;
  bool uninterrupted; /* nobody stops it */
} band_loop;

/* The band at hand: its number, its first row among all of them, and how many it has. */
typedef struct {
  int64_t number, first, rows;
} band_place;

static int64_t bands_of_batch(const bound_band *band) {
  return (band->count + band->height - 1) / band->height;
}

static band_place find_place(const bound_band *band, int64_t number) {
  const int64_t each = bands_of_batch(band), row = number % each * band->height, left = band->count - row;
  return (band_place){number, number / each * band->count + row, left < band->height ? left : band->height};
}

/* What is handed on: which value, and where its first row of all would be. */
typedef struct {
  int32_t value;
  char *start;
} handed_rows;

static void call_step(const band_loop *loop, int32_t index, const band_place *place, const handed_rows *from,
                      const handed_rows *to, char *scratch) {
  program_run *run = loop->run;
  const laze_step *step = &run->executable->program->steps[index];
  const bound_link *link = &loop->band->links[index - loop->band->first];
  void *buffers[PROGRAM_LAUNCH_BUFFERS];
  for (int32_t i = 0; i < step->buffer_count; i++) {
    buffers[i] = run->pointers[step->buffers[i]];
    if (step->buffers[i] == from->value) buffers[i] = from->start;
    if (step->buffers[i] == to->value) buffers[i] = to->start;
  }
  const laze_kernel_arguments arguments = {.buffers = buffers,
                                           .sizes = run->steps[index].sizes,
                                           .closure = step->kernel->closure,
                                           .reason = run->reason,
                                           .stopped = loop->uninterrupted ? NULL : run->stopped};
  const int64_t begin = link->blocks > 0 ? place->number * link->blocks : place->first;
  step->kernel->function(&arguments, begin, begin + (link->blocks > 0 ? link->blocks : place->rows), scratch);
}

static void run_place(const band_loop *loop, const band_place *place, char *room) {
  const bound_band *band = loop->band;
  char *scratch = room + band->room;
  handed_rows from = {-1, NULL};
  for (int32_t i = band->first; i < band->end; i++) {
    const laze_step *step = &loop->run->executable->program->steps[i];
    const int64_t row_bytes = band->links[i - band->first].row_bytes;
    handed_rows to = {-1, NULL};
    if (i + 1 < band->end) {
      to.value = step->buffers[step->buffer_count - 1];
      to.start = (char *)((uintptr_t)room - (uintptr_t)(place->first * row_bytes));
    }
    call_step(loop, i, place, &from, &to, scratch);
    room += laze_buffer_aligned(band->height * row_bytes);
    from = to;
  }
}

static void run_part(void *self, int worker, int64_t begin, int64_t end) {
  const band_loop *loop = self;
  char *scratch = loop->run->scratch + worker * loop->run->scratch_bytes;
  for (int64_t number = begin; number < end; number++) {
    const band_place place = find_place(loop->band, number);
    run_place(loop, &place, scratch);
  }
}

static void log_band(const program_run *run, const bound_band *band, int64_t start) {
  const laze_program *program = run->executable->program;
  const double microseconds = (double)(laze_clock() - start) / 1000;
  laze_text text;
  laze_text_init(&text, program->context);
  for (int32_t i = band->first; i < band->end; i++)
    laze_text_format(&text, "%s%s", i > band->first ? ", then " : "", program->steps[i].label);
  laze_log_message(program->context, LAZE_LOG_DEBUG, "run: %8.1f us  in bands of %lld of %lld rows  %s", microseconds,
                   (long long)band->height, (long long)(band->batches * band->count), laze_text_get(&text));
  laze_text_deinit(&text);
}

const bound_band *program_find_band(const laze_executable *executable, int64_t first) {
  for (int64_t i = 0; i < executable->band_count; i++)
    if (executable->bands[i].first == first) return &executable->bands[i];
  return NULL;
}

/* What one of them cannot write the others miss. */
static bool can_run(program_run *run, const bound_band *band) {
  bool can = true;
  for (int32_t i = band->first; i < band->end; i++)
    can = program_run_can(run, &run->executable->program->steps[i]) && can;
  return can;
}

laze_status program_run_band(program_run *run, const bound_band *band, bool uninterrupted, bool log,
                             laze_error *error) {
  if (!can_run(run, band)) return LAZE_OK;
  const int64_t start = log ? laze_clock() : 0, count = band->batches * bands_of_batch(band);
  band_loop loop = {run, band, uninterrupted};
  laze_runtime *runtime;
  run->launches += band->end - band->first;
  run->instances += band->end - band->first;
  LAZE_TRY(laze_runtime_get(run->executable->program->context, &runtime, error));
  laze_thread_pool_run(runtime->threads, &(laze_thread_loop){run_part, &loop, 0, count, 1, run->threads});
  if (log) log_band(run, band, start);
  if (run->stopped->code != LAZE_OK) return laze_fail(error, run->stopped->code, "%s", run->stopped->message);
  return LAZE_OK;
}
