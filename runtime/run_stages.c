/* Sizes that a run finds: a step reads a number, or has regions of which one ran, and what has that size gets its
 * numbers and memory then.
 *
 *   step     size_from k       u0 = 5          check bounds and facts ── bind values and steps ── plan ── a buffer
 *            slice x, end=u0   f32[min(u0,8)]                                                      └─> pointers
 *
 * Bindings, numbers and memory belong to the run: an executable is shared. Each stage has a buffer of its own, given
 * back behind the last step that touches it; one in a loop is bound anew each round, in the same buffer where it is
 * large enough. After a number that is wrong all that has the size is missing, and the
 * steps of it do not run; which outputs that fails, and why, is said as for any other check.
 */
#include "runtime/program_internal.h"

#include <string.h>

struct run_stages {
  laze_arena arena;
  int64_t *bindings;
  bool *bound;          /* by symbol: it has a number */
  laze_buffer **memory; /* of the temporaries of each stage */
  bool any_lost;        /* a stage has no number */
};

static int64_t *copy_bindings(laze_arena *arena, const laze_executable *executable, int64_t count) {
  int64_t *copy = laze_arena_alloc_array(arena, count, sizeof *copy);
  if (copy && count > 0) memcpy(copy, executable->bindings, (size_t)count * sizeof *copy);
  return copy;
}

laze_status program_run_prepare_stages(program_run *run, laze_error *error) {
  const laze_executable *executable = run->executable;
  const laze_program *program = executable->program;
  int64_t symbols = laze_size_symbol_count(program->sizes);
  struct run_stages *stages = run->stages = laze_alloc_zero(program->context, sizeof *stages);
  if (!stages) return laze_fail_memory(error, "running a graph", sizeof *stages);
  laze_arena *arena = &stages->arena;
  laze_arena_init(arena, program->context);
  stages->bindings = copy_bindings(arena, executable, symbols);
  stages->bound = laze_arena_alloc_zero(arena, symbols);
  stages->memory = laze_arena_alloc_zero(arena, program->stage_count * (int64_t)sizeof *stages->memory);
  run->values = laze_arena_copy(arena, executable->values, program->value_count * (int64_t)sizeof *run->values);
  run->steps = laze_arena_copy(arena, executable->steps, program->step_count * (int64_t)sizeof *run->steps);
  if (!stages->bindings || !stages->bound || !stages->memory || !run->values || !run->steps)
    return laze_fail_memory(error, "running a graph", -1);
  for (int64_t i = 0; i < symbols; i++)
    stages->bound[i] = !laze_size_is_defined(program->sizes, laze_size_symbol_at(program->sizes, i));
  run->bindings = stages->bindings;
  return LAZE_OK;
}

void program_run_release_stages(program_run *run) {
  if (!run->stages) return;
  laze_context *context = run->executable->program->context;
  for (int32_t s = 0; run->stages->memory && s < run->executable->program->stage_count; s++)
    laze_buffer_release(run->stages->memory[s]);
  laze_arena_deinit(&run->stages->arena);
  laze_free(context, run->stages);
}

char *program_run_place(const program_run *run, int32_t value) {
  int32_t stage = run->executable->program->values[value].stage;
  return stage > 0 ? run->stages->memory[stage]->data : run->arena->data;
}

void program_run_leave_stages(program_run *run, int64_t next) {
  const laze_program *program = run->executable->program;
  for (int32_t s = 1; s < program->stage_count; s++) {
    if (program->stages[s].last_step >= next || !run->stages->memory[s]) continue;
    laze_buffer_release(run->stages->memory[s]);
    run->stages->memory[s] = NULL;
  }
}

/* --- Stages without a number --- */

static laze_status lose_value(program_run *run, int32_t value, laze_error *error) {
  LAZE_TRY(program_run_list_missing(run, error));
  run->missing[value] = LAZE_CAUSE_SIZE;
  return LAZE_OK;
}

static int64_t symbol_of(const laze_program *program, const laze_step_size *defined) {
  return laze_size_get(program->sizes, defined->size)->symbol;
}

laze_status program_run_skip_stage(program_run *run, const laze_step *step, laze_error *error) {
  const laze_program *program = run->executable->program;
  const program_stage *stage = &program->stages[step->defined_stage];
  run->stages->any_lost = true;
  for (int32_t i = 0; i < step->define_count; i++) run->stages->bound[symbol_of(program, &step->defines[i])] = false;
  for (int32_t i = step->buffer_count - step->write_count; i < step->buffer_count; i++)
    LAZE_TRY(lose_value(run, step->buffers[i], error));
  for (int32_t i = 0; i < stage->value_count; i++) LAZE_TRY(lose_value(run, stage->values[i], error));
  for (int32_t i = 0; i < stage->step_count; i++) run->steps[stage->steps[i]].unknown = true;
  return LAZE_OK;
}

/* Fails the stage of a step for `reason`, which goes to whatever depends on its node. */
static laze_status lose(program_run *run, const laze_step *step, const laze_error *reason, laze_error *error) {
  if (reason->code == LAZE_CANCELLED) return laze_fail(error, reason->code, "%s", reason->message);
  LAZE_TRY(program_run_note_error(run, &step->origins[0], reason, error));
  return program_run_skip_stage(run, step, error);
}

/* --- Binding one --- */

typedef struct {
  const bool *bound;
  bool known;
} known_finder;

static void look(void *self, int64_t symbol) {
  known_finder *finder = self;
  finder->known = finder->known && finder->bound[symbol];
}

/* Whether each size has a number: one of another stage may have none. */
static laze_status are_known(const program_run *run, const laze_size *sizes, int64_t count, bool *known,
                             laze_error *error) {
  known_finder finder = {run->stages->bound, *known};
  for (int64_t i = 0; i < count && run->stages->any_lost; i++)
    LAZE_TRY(laze_size_each_defined(run->executable->program->sizes, sizes[i], look, &finder, error));
  *known = finder.known;
  return LAZE_OK;
}

static laze_status bind_values(program_run *run, const program_stage *stage, const program_binder *binder) {
  for (int32_t i = 0; i < stage->value_count; i++) {
    int32_t value = stage->values[i];
    const program_value *source = &binder->program->values[value];
    bool known = true;
    LAZE_TRY(are_known(run, source->sizes, source->rank, &known, binder->error));
    LAZE_TRY(known ? program_bind_value(binder, value, &run->values[value]) : lose_value(run, value, binder->error));
  }
  return LAZE_OK;
}

static laze_status bind_steps(program_run *run, const program_stage *stage, const program_binder *binder) {
  for (int32_t i = 0; i < stage->step_count; i++) {
    const laze_step *step = &binder->program->steps[stage->steps[i]];
    const laze_size others[] = {step->domain, step->scratch, step->work};
    bool known = true;
    LAZE_TRY(are_known(run, step->sizes, step->size_count, &known, binder->error));
    LAZE_TRY(are_known(run, others, 3, &known, binder->error));
    if (known) LAZE_TRY(program_bind_step(binder, step, &run->steps[stage->steps[i]]));
  }
  return LAZE_OK;
}

/* The buffer of a stage's temporaries: that of the last round, where it is large enough. */
static laze_status create_memory(program_run *run, int32_t number, int64_t bytes, laze_error *error) {
  laze_buffer **memory = &run->stages->memory[number];
  if (bytes == 0 || (*memory && (*memory)->size >= bytes)) return LAZE_OK;
  laze_buffer_release(*memory);
  *memory = NULL;
  return laze_buffer_create(run->executable->program->context, bytes, memory, error);
}

/* Memory for what the stage makes known: its temporaries' buffer, its outputs, and scratch for its steps. */
static laze_status place_stage(program_run *run, int32_t number, int64_t scratch_bytes, laze_error *error) {
  const laze_program *program = run->executable->program;
  const program_stage *stage = &program->stages[number];
  int64_t bytes;
  LAZE_TRY(laze_plan_memory(program, number, run->steps, run->values, &bytes, error));
  LAZE_TRY(create_memory(run, number, bytes, error));
  const laze_buffer *memory = run->stages->memory[number];
  for (int32_t i = 0; i < stage->value_count; i++) {
    int32_t value = stage->values[i];
    const program_value *source = &program->values[value];
    int64_t offset = run->values[value].offset;
    if (run->missing && run->missing[value] != LAZE_CAUSE_NONE) continue;
    if (source->role == LAZE_ROLE_TEMPORARY) run->pointers[value] = program_run_at(memory, offset);
    if (source->role != LAZE_ROLE_OUTPUT) continue;
    LAZE_TRY(program_run_create_output(run, source->number, value, error));
    run->pointers[value] = program_run_at(run->request->outputs[source->number], 0);
  }
  if (scratch_bytes <= run->scratch_bytes) return LAZE_OK;
  laze_buffer_release(run->scratch_buffer); /* no step is running */
  run->scratch_buffer = NULL;
  run->scratch_bytes = scratch_bytes;
  return program_run_create_scratch(run, error);
}

/* The symbol of a fact that its stage defines. */
typedef struct {
  const laze_program *program;
  const laze_step *step;
  int64_t symbol;
} cause_finder;

static void look_for_cause(void *self, int64_t symbol) {
  cause_finder *finder = self;
  for (int32_t i = 0; i < finder->step->define_count; i++)
    if (symbol_of(finder->program, &finder->step->defines[i]) == symbol) finder->symbol = symbol;
}

static laze_status find_cause(const program_run *run, const program_stage *stage, const laze_fact *fact, int64_t *out,
                              laze_error *error) {
  const laze_program *program = run->executable->program;
  cause_finder finder = {program, &program->steps[stage->step], -1};
  LAZE_TRY(laze_size_each_defined(program->sizes, fact->a, look_for_cause, &finder, error));
  LAZE_TRY(laze_size_each_defined(program->sizes, fact->b, look_for_cause, &finder, error));
  *out = finder.symbol;
  return LAZE_OK;
}

static laze_status fail_fact(const program_run *run, const program_stage *stage, const laze_fact *fact,
                             laze_error *error) {
  const laze_program *program = run->executable->program;
  int64_t a, b, symbol = -1;
  LAZE_TRY(laze_size_evaluate(program->sizes, fact->a, run->bindings, &a, error));
  LAZE_TRY(laze_size_evaluate(program->sizes, fact->b, run->bindings, &b, error));
  LAZE_TRY(find_cause(run, stage, fact, &symbol, error));
  laze_text text;
  laze_text_init(&text, program->context);
  laze_fact_print_at(&text, program->sizes, fact, run->bindings);
  laze_status status = laze_fail(
      error, LAZE_OUT_OF_RANGE,
      "%s is %lld here, so that %s does not hold (the sides are %lld and %lld), as %s needs it; give a number "
      "with which it does",
      laze_size_symbol_name(program->sizes, symbol), (long long)run->bindings[symbol], laze_text_get(&text),
      (long long)a, (long long)b, fact->asker ? fact->asker : "an operator behind it");
  laze_text_deinit(&text);
  return status;
}

static laze_status check_facts(const program_run *run, int32_t number, laze_error *error) {
  const laze_program *program = run->executable->program;
  int64_t count;
  const laze_fact *facts = laze_size_facts(program->sizes, &count);
  for (int64_t i = 0; i < count; i++) {
    const laze_size sizes[] = {facts[i].a, facts[i].b};
    bool known = program->fact_stages[i] == number;
    if (known) LAZE_TRY(are_known(run, sizes, 2, &known, error));
    if (!known || laze_fact_holds(program->sizes, &facts[i], run->bindings)) continue;
    return fail_fact(run, &program->stages[number], &facts[i], error);
  }
  return LAZE_OK;
}

/* What lies beyond what a size can be means the same as that ("to the end"). */
static int64_t read_number(const program_run *run, const laze_step *step) {
  const program_value *value = &run->executable->program->values[step->buffers[0]];
  int64_t index = run->steps[step - run->executable->program->steps].sizes[0];
  return laze_size_saturate(
      laze_scalar_load((laze_dtype)value->dtype, run->pointers[step->buffers[0]], index).value.integer);
}

static laze_status check_number(const laze_program *program, laze_size size, int64_t number, laze_error *error) {
  const laze_size_node *symbol = laze_size_get(program->sizes, size);
  if (number >= symbol->low && number <= symbol->high) return LAZE_OK;
  return laze_fail(error, LAZE_OUT_OF_RANGE, "the size %s would be %lld; it must be from %lld to %lld", symbol->name,
                   (long long)number, (long long)symbol->low, (long long)symbol->high);
}

/* The number of a size: read by the step, or that of what a region of it returned. */
static laze_status find_number(const program_run *run, const laze_step *step, const laze_step_size *defined,
                               int32_t region, int64_t *out, laze_error *error) {
  const laze_program *program = run->executable->program;
  if (!step->control) {
    *out = read_number(run, step);
    return LAZE_OK;
  }
  const program_value *value = &program->values[step->regions[region].results[defined->result]];
  return laze_size_evaluate(program->sizes, value->sizes[defined->axis], run->bindings, out, error);
}

static laze_status bind_symbols(program_run *run, const laze_step *step, int32_t region, laze_error *error) {
  const laze_program *program = run->executable->program;
  for (int32_t i = 0; i < step->define_count; i++) {
    int64_t value, symbol = symbol_of(program, &step->defines[i]);
    LAZE_TRY(find_number(run, step, &step->defines[i], region, &value, error));
    LAZE_TRY(check_number(program, step->defines[i].size, value, error));
    if (!step->control) memcpy(run->pointers[step->buffers[1]], &value, sizeof value);
    run->stages->bindings[symbol] = value;
    run->stages->bound[symbol] = true;
  }
  return LAZE_OK;
}

/* `reason`: why the stage has no numbers that serve. */
static laze_status define(program_run *run, const laze_step *step, int32_t region, laze_error *reason) {
  const laze_program *program = run->executable->program;
  int32_t number = step->defined_stage;
  const program_stage *stage = &program->stages[number];
  int64_t scratch_bytes = run->scratch_bytes;
  const program_binder binder = {program,        run->bindings, run->request->sites, &run->stages->arena,
                                 &scratch_bytes, reason};
  LAZE_TRY(bind_symbols(run, step, region, reason));
  LAZE_TRY(check_facts(run, number, reason));
  LAZE_TRY(bind_values(run, stage, &binder));
  LAZE_TRY(bind_steps(run, stage, &binder));
  return place_stage(run, number, scratch_bytes, reason);
}

laze_status program_run_define(program_run *run, const laze_step *step, int32_t region, laze_error *error) {
  laze_error reason;
  return define(run, step, region, &reason) == LAZE_OK ? LAZE_OK : lose(run, step, &reason, error);
}
