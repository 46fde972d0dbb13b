/* Steps with regions while they run. Nothing is copied on the way in or around: a region's parameters are set to point
 * at what they stand for. What a round of a loop computes stays where it is and is the next round's parameter, while
 * that round writes to the other of its two places.
 *
 *   round 0    parameter -> operand     result: place 0
 *   round 1    parameter -> place 0     result: place 1
 *   round 2    parameter -> place 1     result: place 0 ...      then it is copied to the step's result, once
 */
#include "runtime/program_internal.h"

#include <string.h>

static void copy_value(const program_run *run, void *to, const void *from, int32_t value) {
  int64_t bytes = run->executable->values[value].bytes;
  if (bytes > 0 && to != from) memcpy(to, from, (size_t)bytes);
}

static const int32_t *results_of(const laze_step *step) {
  return step->buffers + step->buffer_count - step->write_count;
}

static void set_parameters(program_run *run, const laze_step_region *region, const int32_t *values) {
  for (int32_t i = 0; i < region->parameter_count; i++) run->pointers[region->parameters[i]] = run->pointers[values[i]];
}

static void store_results(program_run *run, const laze_step *step, const int32_t *values) {
  const int32_t *results = results_of(step);
  for (int32_t i = 0; i < step->write_count; i++)
    copy_value(run, run->pointers[results[i]], run->pointers[values[i]], results[i]);
}

static bool holds(const program_run *run, int32_t value) {
  return *(const char *)run->pointers[value] != 0;
}

static int32_t begin_if(program_run *run, const control_frame *frame) {
  const laze_step *step = frame->step;
  int32_t region = holds(run, step->buffers[0]) ? 0 : 1;
  set_parameters(run, &step->regions[region], step->buffers + 1);
  return region;
}
static int32_t end_if(program_run *run, const control_frame *frame) {
  store_results(run, frame->step, frame->step->regions[frame->region].results);
  return CONTROL_DONE;
}

/* The place of a value for the next round. */
static void *other_place(const program_run *run, int32_t value, const void *place) {
  const bound_value *bound = &run->executable->values[value];
  if (bound->bytes == 0) return run->pointers[value]; /* nowhere: there may be no arena */
  char *arena = run->arena->data;
  return arena + (place == arena + bound->offset ? bound->second : bound->offset);
}

/* What the body gave is what comes next: the condition's parameters, which keep it until the next time, point at it. */
static void carry(program_run *run, const laze_step *step) {
  const laze_step_region *condition = &step->regions[0], *body = &step->regions[1];
  const program_value *values = run->executable->program->values;
  for (int32_t i = 0; i < body->result_count; i++) {
    int32_t parameter = condition->parameters[i];
    void *next = run->pointers[body->results[i]];
    if (values[parameter].is_copied) {
      void *place = other_place(run, parameter, run->pointers[parameter]);
      copy_value(run, place, next, parameter);
      next = place;
    }
    run->pointers[parameter] = next;
  }
  for (int32_t i = 0; i < step->carried_count; i++)
    if (values[step->carried[i]].role == LAZE_ROLE_TEMPORARY)
      run->pointers[step->carried[i]] = other_place(run, step->carried[i], run->pointers[step->carried[i]]);
}

static int32_t begin_while(program_run *run, const control_frame *frame) {
  set_parameters(run, &frame->step->regions[0], frame->step->buffers);
  return 0;
}
static int32_t end_while(program_run *run, const control_frame *frame) {
  const laze_step *step = frame->step;
  const laze_step_region *condition = &step->regions[0];
  if (frame->region == 1) {
    carry(run, step);
    return 0;
  }
  if (holds(run, condition->results[0])) {
    set_parameters(run, &step->regions[1], condition->parameters);
    return 1;
  }
  store_results(run, step, condition->parameters);
  return CONTROL_DONE;
}

const laze_step_control laze_step_control_if = {-1, begin_if, end_if};
const laze_step_control laze_step_control_while = {1, begin_while, end_while};
