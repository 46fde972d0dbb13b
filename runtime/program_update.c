/* Steps that write a part of a value, the rest of which is what another value was (dynamic_update). The new value takes
 * the old one's place where nothing reads the old one any more; otherwise the old one is copied first.
 *
 *   step 3   t1 <- update t0    t0 is read here for the last time: t1 is at its place, and nothing is copied
 *   step 4   t2 <- update t1    likewise: one place for all three
 *
 * So a loop that writes a row of its state in each round copies the state once, in its first round: what comes around
 * is then in the place that the loop writes to. Where the last of such values is an output, all are in its buffer, and
 * that may be the one of an input, which is donated (run_memory.c):
 *
 *   step 0   t0 <- update input 0       the input's buffer: written to where it is, if nobody else needs it
 *   step 1   output 0 <- update t0      likewise
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

/* Has a temporary, and what is at its place, be in the buffer of an output. */
static void place_in_output(laze_program *program, int32_t place, int32_t output) {
  program_value *owner = &program->values[output];
  for (int64_t i = 0; i < program->value_count; i++) {
    program_value *value = &program->values[i];
    if (value->place != place) continue;
    value->place = output;
    if (value->first_step < owner->first_step) owner->first_step = value->first_step;
  }
}

/* Whether the place of an updated temporary can be an output's buffer. One that goes around a loop is at two places; and
 * where steps define sizes, there may be no buffer yet. */
static bool can_be_in_output(const laze_program *program, int32_t place) {
  const program_value *owner = &program->values[place];
  if (owner->role != LAZE_ROLE_TEMPORARY || owner->is_returned || owner->stays) return false;
  for (int64_t i = 0; i < program->step_count; i++)
    if (program->steps[i].control || program->steps[i].define_count > 0) return false;
  return true;
}

int32_t program_updated_first(const laze_program *program, int32_t output) {
  const int32_t index = program->values[output].first_step;
  const laze_step *step = index >= 0 ? &program->steps[index] : NULL;
  if (!step || !step->updates || program->values[result_of(step)].place != output || !is_last(program, index))
    return -1;
  return step->updated;
}

void program_share_places(laze_program *program, int32_t first, int32_t end) {
  for (int32_t index = first; index < end; index++) {
    const laze_step *step = &program->steps[index];
    if (!step->updates || !is_last(program, index)) continue;
    program_value *result = &program->values[result_of(step)];
    const program_value *updated = &program->values[step->updated];
    if (updated->role != LAZE_ROLE_TEMPORARY) continue;
    if (result->role == LAZE_ROLE_OUTPUT && can_be_in_output(program, updated->place))
      place_in_output(program, updated->place, result_of(step));
    if (result->role != LAZE_ROLE_TEMPORARY) continue;
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
