/* Steps that write a part of a value, the rest of which is what another value was (dynamic_update). The new value takes
 * the old one's place where nothing reads the old one any more; otherwise the old one is copied first.
 *
 *   step 3   t1 <- update t0    t0 is read here for the last time: t1 is at its place, and nothing is copied
 *   step 4   t2 <- update t1    likewise: one place for all three
 *
 * So a loop that writes a row of its state in each round copies the state once, in its first round: what comes around
 * is then in the place that the loop writes to.
 */
#include "runtime/program_internal.h"

static int32_t result_of(const laze_step *step) {
  return step->buffers[step->buffer_count - 1];
}

/* Whether a step's kernel reads a value, apart from finding it in its result. */
static bool reads(const laze_step *step, int32_t value) {
  for (int32_t i = 0; i < step->buffer_count - step->write_count; i++)
    if (step->buffers[i] == value) return true;
  return false;
}

/* Whether a step is the last to touch what it updates. */
static bool is_last(const laze_program *program, int32_t index) {
  const laze_step *step = &program->steps[index];
  const program_value *updated = &program->values[step->updated];
  bool is_returned = updated->is_returned && updated->role == LAZE_ROLE_TEMPORARY;
  return updated->last_step == index && !is_returned && !reads(step, step->updated);
}

void program_share_places(laze_program *program, int32_t first, int32_t end) {
  for (int32_t index = first; index < end; index++) {
    const laze_step *step = &program->steps[index];
    if (!step->updates || !is_last(program, index)) continue;
    program_value *result = &program->values[result_of(step)];
    const program_value *updated = &program->values[step->updated];
    if (result->role != LAZE_ROLE_TEMPORARY || updated->role != LAZE_ROLE_TEMPORARY) continue;
    result->place = updated->place;
    program_value *owner = &program->values[result->place];
    if (owner->last_step < result->last_step) owner->last_step = result->last_step;
  }
}

/* The step of a region that makes a value by an update; -1: none does. */
static int32_t find_update(const laze_program *program, const laze_step_region *region, int32_t value) {
  for (int32_t index = region->first; index < region->end; index++)
    if (program->steps[index].updates && result_of(&program->steps[index]) == value) return index;
  return -1;
}

bool program_goes_around_in_place(const laze_program *program, const laze_step *step, int32_t index) {
  const laze_step_region *region = &step->regions[step->control->carrying];
  int32_t parameter = region->parameters[index], place = program->values[region->results[index]].place;
  int32_t update = find_update(program, region, place);
  if (update < 0 || program->steps[update].updated != parameter || !is_last(program, update)) return false;
  for (int32_t i = 0; i < region->result_count; i++) {
    bool goes_around = i < (int32_t)step->sizes[0]; /* what is stacked is copied before the next round */
    if (region->results[i] == parameter) return false;
    if (i != index && goes_around && program->values[region->results[i]].place == place) return false;
  }
  return true;
}
