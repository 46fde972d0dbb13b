/* The memory plan: an offset in one arena for each temporary, such that two that are alive at once do not overlap.
 *
 *   step     0    1    2    3          offsets
 *   t0       w----r                    t0  [0, 64)
 *   t1            w----r               t1  [64, 192)
 *   t2                 w----r          t2  [0, 64)    t0's place again
 *
 * One walk over the steps with a list of free ranges sorted by offset. A value takes the smallest range it fits (so
 * that large holes stay for large values), or the arena grows, extending a free range at its end. After a step the
 * ranges of the values it was the last to touch return and join their neighbours. What a step with regions keeps all
 * through them returns where they end. Steps of one launch count as one. Values whose sizes a step defines are planned
 * apart, when it has run.
 */
#include "runtime/program_internal.h"

#include "base/checked.h"

#include <string.h>

typedef struct {
  int64_t begin, end;
} free_range;

typedef struct {
  laze_context *context;
  free_range *ranges;
  int64_t count, capacity;
  int64_t end;                            /* of the arena so far */
  int32_t open[LAZE_PROGRAM_MAX_NESTING]; /* steps whose regions are being walked */
  int32_t open_count;
  int32_t stage;
} memory_plan;

static void remove_range(memory_plan *plan, int64_t index) {
  memmove(&plan->ranges[index], &plan->ranges[index + 1], (size_t)(plan->count - index - 1) * sizeof *plan->ranges);
  plan->count--;
}

static laze_status place(memory_plan *plan, int64_t bytes, int64_t *offset, laze_error *error) {
  int64_t best = -1;
  for (int64_t i = 0; i < plan->count; i++) {
    int64_t length = plan->ranges[i].end - plan->ranges[i].begin;
    if (length >= bytes && (best < 0 || length < plan->ranges[best].end - plan->ranges[best].begin)) best = i;
  }
  if (best >= 0) {
    *offset = plan->ranges[best].begin;
    plan->ranges[best].begin += bytes;
    if (plan->ranges[best].begin == plan->ranges[best].end) remove_range(plan, best);
    return LAZE_OK;
  }
  bool extends = plan->count > 0 && plan->ranges[plan->count - 1].end == plan->end;
  *offset = extends ? plan->ranges[--plan->count].begin : plan->end;
  if (laze_add_overflows(*offset, bytes, &plan->end))
    return laze_fail(error, LAZE_OUT_OF_MEMORY,
                     "with the other temporaries of its graph it needs more than 2^63 bytes");
  return LAZE_OK;
}

static laze_status give_back(memory_plan *plan, int64_t begin, int64_t end, laze_error *error) {
  int64_t at = 0, high = plan->count;
  while (at < high) {
    int64_t middle = (at + high) / 2;
    if (plan->ranges[middle].begin < begin)
      at = middle + 1;
    else
      high = middle;
  }
  bool joins_before = at > 0 && plan->ranges[at - 1].end == begin;
  bool joins_after = at < plan->count && plan->ranges[at].begin == end;
  if (joins_before && joins_after) {
    plan->ranges[at - 1].end = plan->ranges[at].end;
    remove_range(plan, at);
    return LAZE_OK;
  }
  if (joins_before) plan->ranges[at - 1].end = end;
  if (joins_after) plan->ranges[at].begin = begin;
  if (joins_before || joins_after) return LAZE_OK;
  LAZE_TRY(
      laze_grow(plan->context, (void **)&plan->ranges, &plan->capacity, plan->count + 1, sizeof *plan->ranges, error));
  memmove(&plan->ranges[at + 1], &plan->ranges[at], (size_t)(plan->count - at) * sizeof *plan->ranges);
  plan->ranges[at] = (free_range){begin, end};
  plan->count++;
  return LAZE_OK;
}

static laze_status place_value(memory_plan *plan, const bound_value *bound, int64_t *offset, laze_error *error) {
  if (bound->bytes > INT64_MAX - LAZE_BUFFER_ALIGNMENT) return laze_fail_memory(error, "a temporary", bound->bytes);
  return place(plan, laze_buffer_aligned(bound->bytes), offset, error);
}

/* A step may name a value twice; it goes back once. */
static laze_status return_value(memory_plan *plan, bound_value *bound, laze_error *error) {
  if (bound->offset < 0 || bound->bytes == 0 || bound->returned) return LAZE_OK;
  bound->returned = true;
  LAZE_TRY(give_back(plan, bound->offset, bound->offset + laze_buffer_aligned(bound->bytes), error));
  if (bound->second < 0 || bound->second == bound->offset) return LAZE_OK;
  return give_back(plan, bound->second, bound->second + laze_buffer_aligned(bound->bytes), error);
}

/* Gives the values that `index` is the last step to touch back; one at another's place as part of that. */
static laze_status return_values(const laze_program *program, memory_plan *plan, int32_t index, const int32_t *numbers,
                                 int32_t count, bound_value *values, laze_error *error) {
  for (int32_t i = 0; i < count; i++) {
    int32_t place = program->values[numbers[i]].place;
    if (program->values[place].last_step == index && program->values[place].stage == plan->stage)
      LAZE_TRY(return_value(plan, &values[place], error));
  }
  return LAZE_OK;
}

static laze_status begin_step(const laze_program *program, memory_plan *plan, int32_t index, bound_value *values,
                              laze_error *error) {
  const laze_step *step = &program->steps[index];
  for (int32_t i = 0; i < step->buffer_count; i++) {
    const program_value *value = &program->values[step->buffers[i]];
    bound_value *bound = &values[step->buffers[i]];
    if (value->role != LAZE_ROLE_TEMPORARY || value->first_step != index || bound->offset >= 0) continue;
    if (value->stage != plan->stage || bound->banded) continue;
    if (value->place == step->buffers[i]) LAZE_TRY(place_value(plan, bound, &bound->offset, error));
  }
  for (int32_t i = 0; i < step->carried_count; i++) {
    bound_value *bound = &values[step->carried[i]];
    if (program->values[step->carried[i]].stage != plan->stage) continue;
    LAZE_TRY(place_value(plan, bound, &bound->offset, error));
    bound->second = bound->offset;
    if (!program->values[step->carried[i]].stays) LAZE_TRY(place_value(plan, bound, &bound->second, error));
  }
  if (step->control) plan->open[plan->open_count++] = index;
  return LAZE_OK;
}

/* What a step with regions, the last of which ends with step `index`, has kept. */
static laze_status end_control(const laze_program *program, memory_plan *plan, int32_t index, bound_value *values,
                               laze_error *error) {
  const laze_step *step = &program->steps[plan->open[--plan->open_count]];
  LAZE_TRY(return_values(program, plan, index, step->buffers, step->buffer_count, values, error));
  LAZE_TRY(return_values(program, plan, index, step->carried, step->carried_count, values, error));
  for (int32_t i = 0; i < step->region_count; i++) {
    const laze_step_region *region = &step->regions[i];
    LAZE_TRY(return_values(program, plan, region->end - 1, region->results, region->result_count, values, error));
  }
  return LAZE_OK;
}

/* Steps [first, end), which are one launch: nothing that one of them needs is another's. */
static laze_status plan_launch(const laze_program *program, memory_plan *plan, int32_t first, int32_t end,
                               bound_value *values, laze_error *error) {
  for (int32_t i = first; i < end; i++) LAZE_TRY(begin_step(program, plan, i, values, error));
  for (int32_t i = first; i < end; i++) {
    const laze_step *step = &program->steps[i];
    if (!step->control) LAZE_TRY(return_values(program, plan, i, step->buffers, step->buffer_count, values, error));
  }
  while (plan->open_count > 0 && program->steps[plan->open[plan->open_count - 1]].end == end)
    LAZE_TRY(end_control(program, plan, end - 1, values, error));
  return LAZE_OK;
}

static void forget_place(bound_value *value) {
  value->offset = value->second = -1;
  value->returned = false;
}

laze_status laze_plan_memory(const laze_program *program, int32_t stage, const bound_step *steps, bound_value *values,
                             int64_t *out, laze_error *error) {
  memory_plan plan = {.context = program->context, .stage = stage};
  laze_status status = LAZE_OK;
  int64_t begin = stage > 0 ? program->stages[stage].step : 0;
  int64_t end = stage > 0 ? program->stages[stage].last_step + 1 : program->step_count;
  for (int64_t i = 0; stage == 0 && i < program->value_count; i++) forget_place(&values[i]);
  for (int32_t i = 0; stage > 0 && i < program->stages[stage].value_count; i++)
    forget_place(&values[program->stages[stage].values[i]]); /* of the last round of a loop */
  for (int64_t first = begin, next; first < end && status == LAZE_OK; first = next) {
    for (next = first + 1; next < end && steps[next].launch == steps[first].launch;) next++;
    status = plan_launch(program, &plan, (int32_t)first, (int32_t)next, values, error);
  }
  laze_free(plan.context, plan.ranges);
  *out = plan.end;
  return status;
}
