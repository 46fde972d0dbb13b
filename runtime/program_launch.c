/* Launches: steps that call one kernel and need nothing of each other run at once, as one call over all their domains
 * (run_launch.c). So a hundred small updates cost what a large one does.
 *
 *   step 0   v4 <- k(v0, v1)
 *   step 1   v5 <- k(v2, v1)    beside step 0: one launch
 *   step 2   v6 <- k(v4, v1)    reads what step 0 writes: begins another
 *   step 3   v7 <- k(v3, v1)    beside step 2
 *
 * Which steps can is found once for a program, and how many do where sizes are bound. Those of a launch have no order,
 * so all that they touch is alive all through it: what one reads for the last time is no place for what another writes.
 * The memory which that takes is bounded by the work of a launch, beyond which nothing is gained.
 */
#include "runtime/program_internal.h"

#include <string.h>

/* The launch that touched a place last: 1 + its first step. */
typedef struct {
  int32_t read, written;
} last_touch;

/* Whether a step can stand beside others at all. What the run finds the size of is bound step by step; what writes a
 * part of a value begins with that value's other parts. */
static bool can_stand(const laze_program *program, const laze_step *step) {
  bool can = step->kernel && !step->updates && !step->needs_success && !step->interpreted && step->stage == 0 &&
             step->buffer_count <= PROGRAM_LAUNCH_BUFFERS;
  for (int32_t i = 0; can && i < step->buffer_count; i++) can = program->values[step->buffers[i]].stage == 0;
  return can;
}

/* Whether a step neither reads what those of the launch write nor writes what they read. Where two write to one value,
 * each has elements of its own. */
static bool is_independent(const laze_program *program, const laze_step *step, const last_touch *touched,
                           int32_t launch) {
  const int32_t reads = step->buffer_count - step->write_count;
  for (int32_t i = 0; i < step->buffer_count; i++) {
    const last_touch *touch = &touched[program->values[step->buffers[i]].place];
    if ((i < reads ? touch->written : touch->read) == launch) return false;
  }
  return true;
}

static void note_touches(const laze_program *program, const laze_step *step, last_touch *touched, int32_t launch) {
  const int32_t reads = step->buffer_count - step->write_count;
  for (int32_t i = 0; i < step->buffer_count; i++) {
    last_touch *touch = &touched[program->values[step->buffers[i]].place];
    *(i < reads ? &touch->read : &touch->written) = launch;
  }
}

/* Where a region begins or ends, all before it has run. */
static void begin_at_regions(laze_program *program, const laze_step *step) {
  for (int32_t i = 0; i < step->region_count; i++)
    if (step->regions[i].end < program->step_count) program->steps[step->regions[i].end].beside = false;
}

void program_find_launches(laze_program *program) {
  last_touch *touched = laze_alloc_zero(program->context, program->value_count * (int64_t)sizeof *touched);
  int32_t launch = 0;
  if (!touched) return; /* then each is a launch of its own */
  for (int64_t i = 1; i < program->step_count; i++)
    program->steps[i].beside = program->steps[i].kernel && program->steps[i].kernel == program->steps[i - 1].kernel;
  for (int64_t i = 0; i < program->step_count; i++) begin_at_regions(program, &program->steps[i]);
  for (int64_t i = 0; i < program->step_count; i++) {
    laze_step *step = &program->steps[i];
    step->beside = step->beside && can_stand(program, step) && can_stand(program, step - 1) &&
                   is_independent(program, step, touched, launch);
    if (!step->beside) launch = (int32_t)i + 1;
    note_touches(program, step, touched, launch);
  }
  laze_free(program->context, touched);
}

void program_cut_launches(const laze_program *program, bound_step *steps) {
  int64_t work = 0; /* of the launch so far; more than there may be: nothing stands beside it */
  int32_t first = 0;
  for (int32_t i = 0; i < program->step_count; i++) {
    const bound_step *step = &steps[i];
    const bool is_small = step->work <= PROGRAM_LAUNCH_WORK && step->domain <= PROGRAM_LAUNCH_WORK;
    if (!program->steps[i].beside || !is_small || step->work > PROGRAM_LAUNCH_WORK - work ||
        i - first >= PROGRAM_LAUNCH_STEPS) {
      first = i;
      work = 0;
    }
    work = is_small ? work + step->work : PROGRAM_LAUNCH_WORK + 1;
    steps[i].launch = first;
  }
}
