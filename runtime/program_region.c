/* Building steps with regions. The steps of a region stand behind the step that runs it, and the lives of values are
 * intervals of steps as everywhere; but a loop comes back to its first step, so that
 *
 *   what the step reads and writes     lives until its last region ends
 *   what a region returns              lives until the region ends; where it goes around a loop, all through the loop,
 *                                      in two places: a round reads one while it writes the other
 */
#include "runtime/program_internal.h"

static laze_step *innermost(laze_program *program) {
  return &program->steps[program->open[program->open_count - 1]];
}

laze_status laze_program_begin_control(laze_program *program, const laze_step *step, laze_error *error) {
  if (program->open_count == LAZE_PROGRAM_MAX_NESTING)
    return laze_fail(error, LAZE_UNSUPPORTED, "%s: regions nest more than %d deep", step->label,
                     LAZE_PROGRAM_MAX_NESTING);
  LAZE_TRY(laze_program_add_step(program, step, error));
  laze_step *added = &program->steps[program->step_count - 1];
  added->regions = laze_arena_alloc_zero(&program->arena, step->region_count * (int64_t)sizeof *added->regions);
  if (!added->regions) return laze_fail_memory(error, "a step with regions", -1);
  program->open[program->open_count] = (int32_t)program->step_count - 1;
  program->open_regions[program->open_count++] = 0;
  return LAZE_OK;
}

static laze_step_region *region_at_hand(laze_program *program) {
  return &innermost(program)->regions[program->open_regions[program->open_count - 1]];
}

laze_status laze_program_begin_region(laze_program *program, const int32_t *parameters, int32_t count,
                                      laze_error *error) {
  laze_step_region *region = region_at_hand(program);
  region->first = (int32_t)program->step_count;
  region->parameters = laze_arena_copy(&program->arena, parameters, count * (int64_t)sizeof *parameters);
  region->parameter_count = count;
  return region->parameters ? LAZE_OK : laze_fail_memory(error, "a region", -1);
}

laze_status laze_program_end_region(laze_program *program, const int32_t *results, int32_t count, laze_error *error) {
  laze_step_region *region = region_at_hand(program);
  region->end = (int32_t)program->step_count;
  region->results = laze_arena_copy(&program->arena, results, count * (int64_t)sizeof *results);
  region->result_count = count;
  if (!region->results) return laze_fail_memory(error, "a region", -1);
  for (int32_t i = 0; i < count; i++) {
    program_value *value = &program->values[results[i]];
    value->is_returned = true;
    if (value->role == LAZE_ROLE_TEMPORARY) program_note_use(program, results[i], region->end - 1);
  }
  program->open_regions[program->open_count - 1]++;
  return LAZE_OK;
}

static bool contains(const int32_t *values, int32_t count, int32_t value) {
  for (int32_t i = 0; i < count; i++)
    if (values[i] == value) return true;
  return false;
}

/* The value that needs two places so that result `index` of the carrying region can go around; -1: none does. Where the
 * result is another parameter of the region, which its own round may replace, it is copied to the loop's parameter. */
static int32_t carried_by(laze_program *program, const laze_step *step, int32_t index) {
  const laze_step_region *region = &step->regions[step->control->carrying];
  int32_t value = program->values[region->results[index]].place;
  program_value *first = &program->values[step->regions[0].parameters[index]];
  if (program->values[value].role == LAZE_ROLE_TEMPORARY) {
    program->values[value].stays = program_goes_around_in_place(program, step, index);
    return value;
  }
  if (program->values[value].role != LAZE_ROLE_PARAMETER || value == region->parameters[index]) return -1;
  first->is_copied = true;
  return step->regions[0].parameters[index];
}

static laze_status list_carried(laze_program *program, laze_step *step, laze_error *error) {
  if (step->control->carrying < 0) return LAZE_OK;
  int32_t start = (int32_t)(step - program->steps), last = (int32_t)program->step_count - 1;
  int32_t most = (int32_t)step->sizes[0]; /* as many operands go around */
  int32_t *carried = laze_arena_alloc_array(&program->arena, most, sizeof *carried);
  if (!carried) return laze_fail_memory(error, "the values of a loop", -1);
  for (int32_t i = 0; i < most; i++) {
    int32_t value = carried_by(program, step, i);
    if (value < 0 || contains(carried, step->carried_count, value)) continue;
    carried[step->carried_count++] = value;
    program->values[value].first_step = start;
    program->values[value].last_step = last;
  }
  step->carried = carried;
  return LAZE_OK;
}

laze_status laze_program_end_control(laze_program *program, laze_error *error) {
  laze_step *step = innermost(program);
  step->end = (int32_t)program->step_count;
  program->open_count--;
  for (int32_t i = 0; i < step->buffer_count; i++) program_note_use(program, step->buffers[i], step->end - 1);
  program_share_places(program, (int32_t)(step - program->steps) + 1, step->end);
  return list_carried(program, step, error);
}
