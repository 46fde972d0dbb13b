/* Stages of a program: what can be bound once a step has found the number of a size.
 *
 *   step 0   size_from k          defines u0                 stage 1: values and steps whose sizes have u0
 *   step 1   slice x, end=u0      value f32[min(u0,8)]
 *   step 2   size_from m          defines u1                 stage 2: those that have u1, with or without u0
 *
 *   step 3   if                   defines u3, behind its steps   stage 4: the result
 *   step 4     size_from j        defines u2                     stage 3: what the region computes, each time it runs
 *
 * Stage 0 is bound before the run. A stage is known when its step has run, and its regions: before all that it is for.
 * Stages have the order in which they become known, so that what has sizes of several belongs to the last.
 */
#include "runtime/program_internal.h"

/* The stage of each symbol, and the highest met in a size. */
typedef struct {
  const int32_t *stages;
  int32_t highest;
} stage_finder;

static void look(void *self, int64_t symbol) {
  stage_finder *finder = self;
  if (finder->stages[symbol] > finder->highest) finder->highest = finder->stages[symbol];
}

static laze_status look_at(const laze_program *program, stage_finder *finder, laze_size size, laze_error *error) {
  return laze_size_each_defined(program->sizes, size, look, finder, error);
}

static laze_status find_value_stage(laze_program *program, stage_finder finder, program_value *value,
                                    laze_error *error) {
  for (int axis = 0; axis < value->rank; axis++) LAZE_TRY(look_at(program, &finder, value->sizes[axis], error));
  value->stage = finder.highest;
  return LAZE_OK;
}

static laze_status find_step_stage(laze_program *program, stage_finder finder, laze_step *step, laze_error *error) {
  for (int32_t i = 0; i < step->size_count; i++) LAZE_TRY(look_at(program, &finder, step->sizes[i], error));
  LAZE_TRY(look_at(program, &finder, step->domain, error));
  LAZE_TRY(look_at(program, &finder, step->scratch, error));
  LAZE_TRY(look_at(program, &finder, step->work, error));
  step->stage = finder.highest;
  return LAZE_OK;
}

static void number_stage(laze_program *program, int32_t index, int32_t *stages) {
  laze_step *step = &program->steps[index];
  if (step->define_count == 0) return;
  program_stage *stage = &program->stages[program->stage_count];
  stage->step = stage->last_step = index;
  for (int32_t i = 0; i < step->define_count; i++)
    stages[laze_size_get(program->sizes, step->defines[i].size)->symbol] = program->stage_count;
  step->defined_stage = program->stage_count++;
}

/* Numbers the stages, in the order in which they become known. */
static laze_status number_stages(laze_program *program, int32_t *stages, laze_error *error) {
  int32_t count = 0, open[LAZE_PROGRAM_MAX_NESTING], depth = 0;
  for (int64_t i = 0; i < program->step_count; i++) count += program->steps[i].define_count > 0;
  program->stages = laze_arena_alloc_zero(&program->arena, (count + 1) * (int64_t)sizeof *program->stages);
  if (!program->stages) return laze_fail_memory(error, "the stages of a program", -1);
  program->stage_count = 1;
  for (int32_t i = 0; i < program->step_count; i++) {
    if (program->steps[i].control)
      open[depth++] = i;
    else
      number_stage(program, i, stages);
    while (depth > 0 && program->steps[open[depth - 1]].end == i + 1) number_stage(program, open[--depth], stages);
  }
  return LAZE_OK;
}

/* Lists what each stage completes. */
static laze_status list_members(laze_program *program, laze_error *error) {
  int32_t *values = laze_arena_alloc_array(&program->arena, program->value_count, sizeof *values);
  int32_t *steps = laze_arena_alloc_array(&program->arena, program->step_count, sizeof *steps);
  if (!values || !steps) return laze_fail_memory(error, "the stages of a program", -1);
  for (int64_t i = 0; i < program->value_count; i++) program->stages[program->values[i].stage].value_count++;
  for (int64_t i = 0; i < program->step_count; i++) program->stages[program->steps[i].stage].step_count++;
  for (int32_t s = 0; s < program->stage_count; s++) {
    program_stage *stage = &program->stages[s];
    stage->values = values;
    stage->steps = steps;
    values += stage->value_count;
    steps += stage->step_count;
    stage->value_count = stage->step_count = 0;
  }
  for (int64_t i = 0; i < program->value_count; i++) {
    program_stage *stage = &program->stages[program->values[i].stage];
    stage->values[stage->value_count++] = (int32_t)i;
    if (program->values[i].last_step > stage->last_step) stage->last_step = program->values[i].last_step;
  }
  for (int64_t i = 0; i < program->step_count; i++) {
    program_stage *stage = &program->stages[program->steps[i].stage];
    stage->steps[stage->step_count++] = (int32_t)i;
  }
  return LAZE_OK;
}

static laze_status list_facts(laze_program *program, stage_finder finder, laze_error *error) {
  int64_t count;
  const laze_fact *facts = laze_size_facts(program->sizes, &count);
  program->fact_stages = laze_arena_alloc_array(&program->arena, count, sizeof *program->fact_stages);
  if (!program->fact_stages) return laze_fail_memory(error, "the stages of a program", -1);
  for (int64_t i = 0; i < count; i++) {
    finder.highest = 0;
    LAZE_TRY(look_at(program, &finder, facts[i].a, error));
    LAZE_TRY(look_at(program, &finder, facts[i].b, error));
    program->fact_stages[i] = finder.highest;
  }
  return LAZE_OK;
}

static laze_status find_stages(laze_program *program, int32_t *stages, laze_error *error) {
  stage_finder finder = {.stages = stages};
  LAZE_TRY(number_stages(program, stages, error));
  for (int64_t i = 0; i < program->value_count; i++)
    LAZE_TRY(find_value_stage(program, finder, &program->values[i], error));
  for (int64_t i = 0; i < program->step_count; i++)
    LAZE_TRY(find_step_stage(program, finder, &program->steps[i], error));
  LAZE_TRY(list_members(program, error));
  return list_facts(program, finder, error);
}

laze_status laze_program_find_stages(laze_program *program, laze_error *error) {
  int64_t symbols = laze_size_symbol_count(program->sizes);
  bool any = false;
  for (int64_t i = 0; i < program->step_count && !any; i++) any = program->steps[i].define_count > 0;
  if (!any) return LAZE_OK;
  program_share_places(program, 0, (int32_t)program->step_count); /* which says how long memory is needed */
  int32_t *stages = laze_alloc_zero(program->context, symbols * (int64_t)sizeof *stages);
  if (!stages) return laze_fail_memory(error, "the stages of a program", -1);
  laze_status status = find_stages(program, stages, error);
  laze_free(program->context, stages);
  return status;
}
