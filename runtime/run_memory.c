/* The memory of a run:
 *
 *   inputs     the caller's            outputs      a buffer each
 *   constants  the program's           temporaries  places in one arena      scratch  a piece for each thread
 *
 * Where there is none, the error names the operator whose value was to be stored, and the value's type.
 */
#include "runtime/program_internal.h"

#include "base/checked.h"
#include "runtime/thread_pool.h"

#include <string.h>

laze_status program_run_list_missing(program_run *run, laze_error *error) {
  const laze_program *program = run->executable->program;
  if (run->missing) return LAZE_OK;
  run->missing = laze_alloc_array(program->context, program->value_count, sizeof *run->missing);
  if (!run->missing) return laze_fail_memory(error, "running a graph", -1);
  for (int64_t i = 0; i < program->value_count; i++) run->missing[i] = LAZE_CAUSE_NONE;
  return LAZE_OK;
}

/* Notes that there is no memory for `value`, for which output `index` stands. */
static laze_status note_missing(program_run *run, int64_t index, int32_t value, const laze_error *failure,
                                laze_error *error) {
  int32_t number;
  LAZE_TRY(program_run_add_error(run, failure, &number, error));
  LAZE_TRY(program_run_list_missing(run, error));
  run->missing[value] = run->request->report->causes[index] = number;
  return LAZE_OK;
}

/* The caller's memory for output `index`, which is `value`. */
static laze_status use_place(program_run *run, int64_t index, laze_buffer *place, int64_t bytes, laze_error *error) {
  if (place->size != bytes)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "output %lld takes %lld bytes, but its place has %lld",
                     (long long)index, (long long)bytes, (long long)place->size);
  laze_buffer_retain(place);
  run->request->outputs[index] = place;
  return LAZE_OK;
}

static bool is_returned(const laze_program *program, int32_t value) {
  for (int64_t i = 0; i < program->output_count; i++)
    if (program->outputs[i] == value) return true;
  return false;
}

static bool has_regions(const laze_program *program) {
  for (int64_t i = 0; i < program->step_count; i++)
    if (program->steps[i].control) return true;
  return false;
}

static bool comes_twice(const program_run *run, int64_t input) {
  const laze_run *request = run->request;
  for (int64_t i = 0; i < run->executable->program->input_count; i++)
    if (i != input && request->inputs[i] == request->inputs[input]) return true;
  return false;
}

static bool is_free(const program_run *run, int64_t input, int32_t value) {
  const laze_buffer *buffer = run->request->inputs[input];
  return run->request->donated[input] && buffer->size == run->values[value].bytes && laze_buffer_is_exclusive(buffer) &&
         !is_returned(run->executable->program, run->executable->program->inputs[input]) && !comes_twice(run, input);
}

/* The donated input that the first step which writes an output writes a part of, needed no more behind it; -1: none. */
static int64_t find_updated(const program_run *run, int32_t value) {
  const laze_program *program = run->executable->program;
  const int32_t updated = program_updated_first(program, value);
  const int64_t input =
      updated >= 0 && program->values[updated].role == LAZE_ROLE_INPUT ? program->values[updated].number : -1;
  return input >= 0 && is_free(run, input, value) ? input : -1;
}

/* The first step of the launch that writes an output first. */
static int32_t first_launch(const program_run *run, int32_t value) {
  return run->steps[run->executable->program->values[value].first_step].launch;
}

/* A donated input whose last step is over when the first launch writes an output; -1: none. */
static int64_t find_ended(const program_run *run, int32_t value) {
  const laze_program *program = run->executable->program;
  const int32_t first = first_launch(run, value);
  for (int64_t i = 0; i < program->input_count; i++)
    if (program->values[program->inputs[i]].last_step < first && is_free(run, i, value)) return i;
  return -1;
}

/* The memory of an input that is donated for output `index`, which is `value`; false: there is none. */
static bool take_donated(program_run *run, int64_t index, int32_t value) {
  const laze_program *program = run->executable->program;
  const laze_run *request = run->request;
  if (!request->donated || run->stages || program->values[value].role != LAZE_ROLE_OUTPUT ||
      program->values[value].first_step < 0 || run->values[value].bytes == 0 || has_regions(program))
    return false;
  int64_t input = find_updated(run, value);
  if (input < 0 && !request->for_updates) input = find_ended(run, value);
  if (input < 0) return false;
  laze_buffer_retain(request->inputs[input]);
  request->outputs[index] = request->inputs[input];
  const int32_t first = first_launch(run, value);
  if (first < run->donated_from) run->donated_from = first;
  return true;
}

static bool is_donated(const laze_run *request, int64_t input_count, const laze_buffer *output) {
  for (int64_t i = 0; i < input_count && output; i++)
    if (request->inputs[i] == output) return true;
  return false;
}

/* New memory for output `index`, which is `value`. */
static laze_status create_output(program_run *run, int64_t index, int32_t value, laze_error *error) {
  const laze_executable *executable = run->executable;
  const laze_run *request = run->request;
  laze_error failure;
  laze_status status =
      laze_buffer_create(executable->program->context, run->values[value].bytes, &request->outputs[index], &failure);
  if (status == LAZE_OK) return LAZE_OK;
  laze_program_name_value(executable->program, value, run->bindings, request->sites, &failure);
  if (request->report) return note_missing(run, index, value, &failure, error);
  if (error) *error = failure;
  return status;
}

/* Memory for output `index`, which is `value`. With a report a lack of it fails what depends on it, and not the run. */
laze_status program_run_create_output(program_run *run, int64_t index, int32_t value, laze_error *error) {
  const laze_run *request = run->request;
  laze_buffer *place = request->places ? request->places[index] : NULL;
  if (place) return use_place(run, index, place, run->values[value].bytes, error);
  return take_donated(run, index, value) ? LAZE_OK : create_output(run, index, value, error);
}

static laze_status create_arena(program_run *run, laze_error *error) {
  const laze_executable *executable = run->executable;
  if (executable->temporary_bytes == 0) return LAZE_OK; /* as where all became one kernel */
  laze_status status =
      laze_buffer_create(executable->program->context, executable->temporary_bytes, &run->arena, error);
  if (status != LAZE_OK) laze_executable_name_temporaries(executable, run->request->sites, error);
  return status;
}

/* Names the operator whose kernel asks for most scratch. */
static void name_scratch(const program_run *run, laze_error *error) {
  const laze_program *program = run->executable->program;
  for (int64_t i = 0; i < program->step_count; i++) {
    const laze_step *step = &program->steps[i];
    if (run->steps[i].scratch < run->scratch_bytes || step->origin_count == 0) continue;
    laze_site site = laze_site_find(run->request->sites, &step->origins[0]);
    (void)laze_site_name(error, &site);
    return;
  }
}

laze_status program_run_create_scratch(program_run *run, laze_error *error) {
  int64_t bytes, each = run->scratch_bytes;
  laze_status status;
  if (each == 0) return LAZE_OK;
  if (laze_mul_overflows(each, run->threads, &bytes))
    status = laze_fail(error, LAZE_OUT_OF_MEMORY, "the scratch of %d threads needs more than 2^63 bytes", run->threads);
  else
    status = laze_buffer_create(run->executable->program->context, bytes, &run->scratch_buffer, error);
  if (status != LAZE_OK)
    name_scratch(run, error);
  else
    run->scratch = run->scratch_buffer->data;
  return status;
}

static laze_status create_records(program_run *run, laze_error *error) {
  const laze_program *program = run->executable->program;
  run->pointers = laze_alloc_array(program->context, program->value_count + program->most_buffers, sizeof(void *));
  if (!run->pointers) return laze_fail_memory(error, "running a graph", -1);
  run->step_pointers = run->pointers + program->value_count;
  if (program->most_checks == 0) return LAZE_OK;
  run->records = laze_alloc_array(program->context, program->most_checks * (int64_t)run->threads, sizeof *run->records);
  return run->records ? LAZE_OK : laze_fail_memory(error, "the checks of a graph", -1);
}

void *program_run_at(const laze_buffer *buffer, int64_t offset) {
  static const char nowhere[64] __attribute__((aligned(64)));
  return offset < 0 || !buffer || !buffer->data ? (void *)nowhere : (char *)buffer->data + offset;
}

/* Counts what was donated. Where there is no memory for some output, what was is given back: a later run computes what
 * is missing, and needs it. */
static laze_status settle_donations(program_run *run, laze_error *error) {
  const laze_program *program = run->executable->program;
  const laze_run *request = run->request;
  const bool gives_back = run->missing != NULL;
  if (run->donated_from == INT64_MAX) return LAZE_OK;
  for (int64_t i = 0; i < program->output_count; i++) {
    if (!is_donated(request, program->input_count, request->outputs[i])) continue;
    if (!gives_back) {
      laze_metrics_add(laze_context_metrics(program->context), LAZE_METRIC_BUFFERS_DONATED, 1);
      continue;
    }
    laze_buffer_release(request->outputs[i]);
    request->outputs[i] = NULL;
    LAZE_TRY(create_output(run, i, program->outputs[i], error));
    run->pointers[program->outputs[i]] = program_run_at(request->outputs[i], 0);
  }
  if (gives_back) run->donated_from = INT64_MAX;
  return LAZE_OK;
}

/* Temporaries at the place of an output. */
static void place_in_outputs(program_run *run) {
  const laze_program *program = run->executable->program;
  for (int64_t i = 0; i < program->value_count; i++) {
    const int32_t place = program->values[i].place;
    if (program->values[i].role != LAZE_ROLE_TEMPORARY || program->values[place].role != LAZE_ROLE_OUTPUT) continue;
    run->pointers[i] = run->pointers[place];
    if (run->missing) run->missing[i] = run->missing[place];
  }
}

laze_status program_run_prepare(program_run *run, laze_error *error) {
  const laze_executable *executable = run->executable;
  const laze_program *program = executable->program;
  run->threads = laze_thread_pool_limit(laze_get_threads(program->context)); /* for the whole run */
  if (run->request->report) *run->request->report = (laze_run_report){.context = program->context};
  run->values = executable->values;
  run->steps = executable->steps;
  run->bindings = executable->bindings;
  run->scratch_bytes = executable->scratch_bytes;
  if (program->stages) LAZE_TRY(program_run_prepare_stages(run, error));
  LAZE_TRY(create_records(run, error));
  LAZE_TRY(create_arena(run, error));
  LAZE_TRY(program_run_create_scratch(run, error));
  for (int64_t i = 0; i < program->value_count; i++) {
    const program_value *value = &program->values[i];
    int64_t offset = run->values[i].offset;
    if (value->role == LAZE_ROLE_INPUT) run->pointers[i] = program_run_at(run->request->inputs[value->number], 0);
    if (value->role == LAZE_ROLE_CONSTANT) run->pointers[i] = (void *)value->data;
    if (value->role == LAZE_ROLE_TEMPORARY && !run->values[i].banded)
      run->pointers[i] = program_run_at(run->arena, offset);
    if (value->role == LAZE_ROLE_PARAMETER) run->pointers[i] = NULL;
    if (value->role != LAZE_ROLE_OUTPUT) continue;
    if (value->stage > 0) continue;
    LAZE_TRY(program_run_create_output(run, value->number, (int32_t)i, error));
    run->pointers[i] = program_run_at(run->request->outputs[value->number], 0);
  }
  LAZE_TRY(settle_donations(run, error));
  place_in_outputs(run);
  return LAZE_OK;
}

bool program_run_has_memory(program_run *run, const laze_step *step) {
  int32_t missing = LAZE_CAUSE_NONE;
  bool unknown = run->steps[step - run->executable->program->steps].unknown;
  if (!run->missing && !unknown) return true;
  if (unknown) missing = LAZE_CAUSE_SIZE;
  for (int32_t i = 0; i < step->buffer_count && missing == LAZE_CAUSE_NONE; i++)
    missing = run->missing[step->buffers[i]];
  if (step->updates && missing == LAZE_CAUSE_NONE) missing = run->missing[step->updated];
  if (missing == LAZE_CAUSE_NONE) return true;
  for (int32_t i = step->buffer_count - step->write_count; i < step->buffer_count; i++)
    run->missing[step->buffers[i]] = missing;
  return false;
}

/* An output that repeats value `value`. */
static laze_status repeat(program_run *run, int64_t index, int32_t value, laze_error *error) {
  const program_value *source = &run->executable->program->values[value];
  laze_buffer **outputs = run->request->outputs;
  if (source->role == LAZE_ROLE_CONSTANT) {
    LAZE_TRY(program_run_create_output(run, index, value, error));
    if (outputs[index]) memcpy(outputs[index]->data, source->data, (size_t)outputs[index]->size);
    return LAZE_OK;
  }
  laze_buffer *same = source->role == LAZE_ROLE_INPUT ? run->request->inputs[source->number] : outputs[source->number];
  if (run->request->places && run->request->places[index]) {
    LAZE_TRY(program_run_create_output(run, index, value, error));
    if (same->size > 0) memcpy(outputs[index]->data, same->data, (size_t)same->size);
    return LAZE_OK;
  }
  outputs[index] = same;
  laze_buffer_retain(same);
  return LAZE_OK;
}

laze_status program_run_alias(program_run *run, laze_error *error) {
  const laze_program *program = run->executable->program;
  laze_buffer **outputs = run->request->outputs;
  for (int64_t i = 0; i < program->output_count; i++) {
    int32_t value = program->outputs[i];
    if (run->missing && run->missing[value] != LAZE_CAUSE_NONE) {
      if (run->missing[value] != LAZE_CAUSE_SIZE) run->request->report->causes[i] = run->missing[value];
      laze_buffer_release(outputs[i]); /* of a step that lacked memory for another */
      outputs[i] = NULL;
    } else if (!outputs[i]) {
      LAZE_TRY(repeat(run, i, value, error));
    }
  }
  return LAZE_OK;
}

void program_run_release(program_run *run) {
  laze_context *context = run->executable->program->context;
  laze_buffer_release(run->arena);
  laze_buffer_release(run->scratch_buffer);
  laze_free(context, run->pointers);
  laze_free(context, run->records);
  laze_free(context, run->failures);
  laze_free(context, run->missing);
  laze_arena_deinit(&run->reasons);
  program_run_release_stages(run);
}
