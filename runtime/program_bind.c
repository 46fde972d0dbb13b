/* Binding a program to sizes: every size expression becomes a number, and memory is planned. */
#include "runtime/program_internal.h"

#include "base/checked.h"

#include <string.h>

/* The node whose value this is; NULL where no step makes it. */
static const laze_origin *find_maker(const laze_program *program, int32_t value) {
  if (program->values[value].first_step < 0) return NULL;
  const laze_step *step = &program->steps[program->values[value].first_step];
  int32_t first = step->buffer_count - step->write_count;
  if (step->origin_count == 0 || !step->makers) return step->origin_count == 0 ? NULL : &step->origins[0];
  for (int32_t i = first; i < step->buffer_count; i++)
    if (step->buffers[i] == value) return &step->origins[step->makers[i - first]];
  return NULL;
}

/* The value's type, whose sizes are expressions. */
static void get_type(const program_value *value, laze_type *out) {
  *out = (laze_type){.kind = value->kind, .dtype = value->dtype, .rank = value->rank};
  if (value->rank > 0) memcpy(out->sizes, value->sizes, (size_t)value->rank * sizeof *out->sizes);
}

void laze_program_name_value(const laze_program *program, int32_t value, const int64_t *bindings,
                             const laze_sites *sites, laze_error *error) {
  char text[200];
  laze_type type;
  get_type(&program->values[value], &type);
  const laze_origin *maker = find_maker(program, value);
  for (int axis = 0; axis < type.rank; axis++)
    if (laze_size_evaluate(program->sizes, type.sizes[axis], bindings, &type.sizes[axis], NULL) != LAZE_OK) return;
  (void)laze_error_prefix(error, "its value %s", laze_type_format(NULL, &type, text, sizeof text));
  if (!maker) return;
  laze_site site = laze_site_find(sites, maker);
  (void)laze_site_name(error, &site);
}

static laze_status evaluate(const program_binder *b, laze_size size, int64_t *out) {
  return laze_size_evaluate(b->program->sizes, size, b->bindings, out, b->error);
}

laze_status program_bind_value(const program_binder *b, int32_t index, bound_value *out) {
  const program_value *value = &b->program->values[index];
  int64_t bytes = laze_dtype_size(value->dtype);
  bool empty = false, overflows = false;
  laze_status status = LAZE_OK;
  for (int axis = 0; axis < value->rank; axis++) {
    int64_t size;
    LAZE_TRY(evaluate(b, value->sizes[axis], &size));
    empty = empty || size == 0;
    if (size < 0) status = laze_fail(b->error, LAZE_OUT_OF_RANGE, "a size is negative");
    overflows = overflows || (size > 0 && laze_mul_overflows(bytes, size, &bytes));
  }
  if (overflows && !empty) status = laze_fail(b->error, LAZE_OUT_OF_MEMORY, "more than 2^63 bytes do not fit memory");
  out->bytes = empty ? 0 : bytes;
  if (status != LAZE_OK) laze_program_name_value(b->program, index, b->bindings, b->sites, b->error);
  return status;
}

/* An estimate that does not fit is as good as the largest number that does. */
static laze_status bind_work(const program_binder *b, laze_size work, int64_t *out) {
  laze_status status = laze_size_evaluate(b->program->sizes, work, b->bindings, out, b->error);
  if (status != LAZE_OUT_OF_RANGE) return status;
  *out = INT64_MAX;
  return LAZE_OK;
}

static laze_status bind_sizes(const program_binder *b, const laze_step *step, bound_step *out) {
  int64_t *sizes = out->sizes;
  if (!sizes) sizes = laze_arena_alloc_array(b->arena, step->size_count, sizeof *sizes);
  if (!sizes) return laze_fail_memory(b->error, "the sizes of a step", -1);
  for (int32_t i = 0; i < step->size_count; i++) LAZE_TRY(evaluate(b, step->sizes[i], &sizes[i]));
  out->sizes = sizes;
  LAZE_TRY(evaluate(b, step->domain, &out->domain));
  LAZE_TRY(evaluate(b, step->scratch, &out->scratch));
  if (out->scratch <= INT64_MAX - LAZE_BUFFER_ALIGNMENT) return bind_work(b, step->work, &out->work);
  return laze_fail(b->error, LAZE_OUT_OF_MEMORY, "its scratch of more than 2^63 bytes does not fit memory");
}

laze_status program_bind_step(const program_binder *b, const laze_step *step, bound_step *out) {
  out->unknown = false;
  laze_status status = bind_sizes(b, step, out);
  if (status != LAZE_OK && step->origin_count > 0) {
    laze_site site = laze_site_find(b->sites, &step->origins[0]);
    (void)laze_site_name(b->error, &site);
  }
  LAZE_TRY(status);
  out->scratch = laze_buffer_aligned(out->scratch);
  if (out->scratch > *b->scratch_bytes) *b->scratch_bytes = out->scratch;
  return LAZE_OK;
}

static laze_status bind_output(const program_binder *b, int64_t index, laze_type *out) {
  get_type(&b->program->values[b->program->outputs[index]], out);
  for (int axis = 0; axis < out->rank; axis++)
    if (!laze_size_is_defined(b->program->sizes, out->sizes[axis]))
      LAZE_TRY(evaluate(b, out->sizes[axis], &out->sizes[axis]));
  return LAZE_OK;
}

/* All that an executable's arena has to hold. */
static int64_t arena_size(const laze_program *program) {
  int64_t bytes = laze_arena_rounded(program->value_count * (int64_t)sizeof(bound_value)) +
                  laze_arena_rounded(program->step_count * (int64_t)sizeof(bound_step)) +
                  laze_arena_rounded(program->output_count * (int64_t)sizeof(laze_type)) +
                  laze_arena_rounded(laze_size_symbol_count(program->sizes) * (int64_t)sizeof(int64_t));
  for (int64_t i = 0; i < program->step_count; i++)
    bytes += laze_arena_rounded(program->steps[i].size_count * (int64_t)sizeof(int64_t));
  return bytes;
}

static laze_status allocate(const program_binder *b, laze_executable *executable) {
  const laze_program *program = b->program;
  laze_arena *arena = &executable->arena;
  if (!laze_arena_reserve(arena, arena_size(program))) return laze_fail_memory(b->error, "an executable", -1);
  executable->values = laze_arena_alloc_array(arena, program->value_count, sizeof *executable->values);
  executable->steps = laze_arena_alloc_array(arena, program->step_count, sizeof *executable->steps);
  executable->output_types = laze_arena_alloc_array(arena, program->output_count, sizeof *executable->output_types);
  int64_t symbols = laze_size_symbol_count(program->sizes);
  executable->bindings = laze_arena_copy(arena, b->bindings, symbols * (int64_t)sizeof *b->bindings);
  if (executable->values && executable->steps && executable->output_types && executable->bindings) return LAZE_OK;
  return laze_fail_memory(b->error, "an executable", -1);
}

void laze_executable_name_temporaries(const laze_executable *executable, const laze_sites *sites, laze_error *error) {
  const laze_program *program = executable->program;
  int64_t largest = -1;
  for (int64_t i = 0; i < program->value_count; i++) {
    if (program->values[i].role != LAZE_ROLE_TEMPORARY) continue;
    if (largest < 0 || executable->values[i].bytes > executable->values[largest].bytes) largest = i;
  }
  if (largest >= 0) laze_program_name_value(program, (int32_t)largest, executable->bindings, sites, error);
}

/* What a later stage completes takes nothing yet. */
static laze_status bind(const program_binder *b, laze_executable *executable) {
  const laze_program *program = b->program;
  LAZE_TRY(allocate(b, executable));
  for (int64_t i = 0; i < program->value_count; i++) {
    executable->values[i] = (bound_value){.bytes = 0};
    if (program->values[i].stage == 0) LAZE_TRY(program_bind_value(b, (int32_t)i, &executable->values[i]));
  }
  for (int64_t i = 0; i < program->step_count; i++) {
    executable->steps[i] = (bound_step){.unknown = true};
    if (program->steps[i].stage == 0) LAZE_TRY(program_bind_step(b, &program->steps[i], &executable->steps[i]));
  }
  for (int64_t i = 0; i < b->program->output_count; i++) LAZE_TRY(bind_output(b, i, &executable->output_types[i]));
  program_cut_launches(program, executable->steps);
  LAZE_TRY(program_cut_bands(b, executable));
  laze_status status =
      laze_plan_memory(program, 0, executable->steps, executable->values, &executable->temporary_bytes, b->error);
  if (status != LAZE_OK) laze_executable_name_temporaries(executable, b->sites, b->error);
  return status;
}

laze_status laze_executable_create(laze_program *program, const int64_t *bindings, const laze_sites *sites,
                                   laze_executable **out, laze_error *error) {
  laze_executable *executable = laze_alloc_zero(program->context, sizeof *executable);
  *out = NULL;
  if (!executable) return laze_fail_memory(error, "an executable", sizeof *executable);
  executable->references = 1;
  executable->program = program;
  laze_program_retain(program);
  atomic_fetch_add_explicit(&program->executables, 1, memory_order_relaxed);
  laze_arena_init(&executable->arena, program->context);
  const program_binder binder = {program, bindings, sites, &executable->arena, &executable->scratch_bytes, error};
  laze_status status = bind(&binder, executable);
  if (status != LAZE_OK)
    laze_executable_release(executable);
  else
    *out = executable;
  return status;
}

/* Estimates of large sizes add up to the largest number there is. */
static void add_estimate(int64_t *sum, int64_t more) {
  if (laze_add_overflows(*sum, more, sum)) *sum = INT64_MAX;
}

/* What does not fit is the largest number there is. */
static int64_t bytes_of(const laze_executable *executable, const laze_step *step) {
  int64_t bytes;
  const laze_status status =
      laze_size_evaluate(executable->program->sizes, step->bytes, executable->bindings, &bytes, NULL);
  return status == LAZE_OK ? bytes : INT64_MAX;
}

void laze_executable_add_cost(const laze_executable *executable, laze_cost *cost) {
  const laze_program *program = executable->program;
  for (int64_t i = 0; i < program->step_count; i++) {
    if (!program->steps[i].kernel) continue;
    cost->kernels += executable->steps[i].launch == i || !program->steps[i].beside; /* also in a band */
    cost->instances++;
    cost->interpreted += program->steps[i].interpreted != NULL;
    if (executable->steps[i].unknown) continue;
    add_estimate(&cost->work, executable->steps[i].work);
    add_estimate(&cost->bytes, bytes_of(executable, &program->steps[i]));
  }
  add_estimate(&cost->temporary_bytes, executable->temporary_bytes);
  for (int64_t i = 0; i < executable->band_count; i++)
    add_estimate(&cost->temporary_bytes, executable->bands[i].room); /* of a thread */
  for (int64_t i = 0; i < program->output_count; i++)
    add_estimate(&cost->output_bytes, executable->values[program->outputs[i]].bytes);
  for (int64_t i = 0; i < program->value_count; i++)
    if (program->values[i].role == LAZE_ROLE_INPUT) add_estimate(&cost->input_bytes, executable->values[i].bytes);
  add_estimate(&cost->peak_bytes, cost->constant_bytes);
  add_estimate(&cost->peak_bytes, cost->input_bytes);
  add_estimate(&cost->peak_bytes, cost->temporary_bytes);
  add_estimate(&cost->peak_bytes, cost->output_bytes);
}

void laze_executable_retain(laze_executable *executable) {
  atomic_fetch_add_explicit(&executable->references, 1, memory_order_relaxed);
}

void laze_executable_release(laze_executable *executable) {
  if (!executable || atomic_fetch_sub_explicit(&executable->references, 1, memory_order_acq_rel) != 1) return;
  laze_context *context = executable->program->context;
  laze_arena_deinit(&executable->arena);
  laze_free(context, executable->bands);
  atomic_fetch_sub_explicit(&executable->program->executables, 1, memory_order_relaxed);
  laze_program_release(executable->program);
  laze_free(context, executable);
}

laze_program *laze_executable_program(laze_executable *executable) {
  return executable->program;
}
int64_t laze_executable_bytes(const laze_executable *executable) {
  return (int64_t)sizeof *executable + executable->arena.bytes +
         executable->band_capacity * (int64_t)sizeof *executable->bands;
}

int64_t laze_executable_weight(const laze_executable *executable) {
  const laze_program *program = executable->program;
  int64_t sharing = atomic_load_explicit(&program->executables, memory_order_relaxed);
  return laze_executable_bytes(executable) + program->bytes / (sharing > 0 ? sharing : 1);
}

int64_t laze_executable_temporary_bytes(const laze_executable *executable) {
  return executable->temporary_bytes;
}
void laze_executable_output_type(const laze_executable *executable, int32_t index, laze_type *out) {
  *out = executable->output_types[index];
}
