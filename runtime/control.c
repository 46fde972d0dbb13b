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
  int64_t bytes = run->values[value].bytes;
  if (bytes > 0 && to != from) memcpy(to, from, (size_t)bytes);
}

static const int32_t *results_of(const laze_step *step) {
  return step->buffers + step->buffer_count - step->write_count;
}

static void set_parameters(program_run *run, const laze_step_region *region, const int32_t *values) {
  for (int32_t i = 0; i < region->parameter_count; i++) run->pointers[region->parameters[i]] = run->pointers[values[i]];
}

/* The first `count` results. */
static void store_results(program_run *run, const laze_step *step, const int32_t *values, int32_t count) {
  const int32_t *results = results_of(step);
  for (int32_t i = 0; i < count; i++) copy_value(run, run->pointers[results[i]], run->pointers[values[i]], results[i]);
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
  store_results(run, frame->step, frame->step->regions[frame->region].results, frame->step->write_count);
  return CONTROL_DONE;
}

/* The place of a value for the next round. */
static void *other_place(const program_run *run, int32_t value, const void *place) {
  const bound_value *bound = &run->values[value];
  if (bound->bytes == 0) return run->pointers[value]; /* nowhere: there may be no arena */
  char *arena = program_run_place(run, value);
  return arena + (place == arena + bound->offset ? bound->second : bound->offset);
}

/* What the last region gave is what comes next: the parameters of the first one, which keep it until then, point at it.
 */
static void carry(program_run *run, const control_frame *frame) {
  const laze_step *step = frame->step;
  const laze_step_region *first = &step->regions[0], *last = &step->regions[step->control->carrying];
  const program_value *values = run->executable->program->values;
  void **next = run->step_pointers; /* nobody's between two steps */
  int32_t count = (int32_t)frame->bound->sizes[0];
  for (int32_t i = 0; i < count; i++) next[i] = run->pointers[last->results[i]];
  for (int32_t i = 0; i < count; i++) {
    int32_t parameter = first->parameters[i];
    if (!values[parameter].is_copied) continue;
    void *place = other_place(run, parameter, run->pointers[parameter]);
    copy_value(run, place, next[i], parameter);
    next[i] = place;
  }
  for (int32_t i = 0; i < count; i++) run->pointers[first->parameters[i]] = next[i];
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
    carry(run, frame);
    return 0;
  }
  if (holds(run, condition->results[0])) {
    set_parameters(run, &step->regions[1], condition->parameters);
    return 1;
  }
  store_results(run, step, condition->parameters, step->write_count);
  return CONTROL_DONE;
}

/* Points the parameters behind the states at the slices of round `round`. */
static void set_slices(program_run *run, const control_frame *frame, int64_t round) {
  const laze_step_region *region = &frame->step->regions[0];
  for (int32_t i = (int32_t)frame->bound->sizes[0]; i < region->parameter_count; i++) {
    int32_t parameter = region->parameters[i];
    char *input = run->pointers[frame->step->buffers[i]];
    run->pointers[parameter] = input + round * run->values[parameter].bytes;
  }
}

static void stack_results(program_run *run, const control_frame *frame, int64_t round) {
  const laze_step_region *region = &frame->step->regions[0];
  const int32_t *results = results_of(frame->step);
  for (int32_t i = (int32_t)frame->bound->sizes[0]; i < region->result_count; i++) {
    int32_t value = region->results[i];
    char *stack = run->pointers[results[i]];
    copy_value(run, stack + round * run->values[value].bytes, run->pointers[value], value);
  }
}

static int32_t begin_scan(program_run *run, const control_frame *frame) {
  const laze_step *step = frame->step;
  int32_t states = (int32_t)frame->bound->sizes[0];
  if (frame->bound->sizes[1] == 0) {
    store_results(run, step, step->buffers, states);
    return CONTROL_DONE;
  }
  for (int32_t i = 0; i < states; i++) run->pointers[step->regions[0].parameters[i]] = run->pointers[step->buffers[i]];
  set_slices(run, frame, 0);
  return 0;
}
static int32_t end_scan(program_run *run, const control_frame *frame) {
  const laze_step *step = frame->step;
  stack_results(run, frame, frame->rounds - 1);
  carry(run, frame);
  if (frame->rounds < frame->bound->sizes[1]) {
    set_slices(run, frame, frame->rounds);
    return 0;
  }
  store_results(run, step, step->regions[0].parameters, (int32_t)frame->bound->sizes[0]);
  return CONTROL_DONE;
}

const laze_step_control laze_step_control_if = {-1, begin_if, end_if};
const laze_step_control laze_step_control_while = {1, begin_while, end_while};
const laze_step_control laze_step_control_scan = {0, begin_scan, end_scan};
