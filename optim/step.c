/* A step: each parameter's formula, and what it gives assigned.
 *
 *   gradients ok? ──> memories that are missing, computed ──> for each parameter: formula ──> assign
 *
 * New memories are computed before the first step and not in it, so that it has the graph of all others.
 */
#include "base/context.h"
#include "laze/autograd.h"
#include "laze/functions.h"
#include "optim/optimiser.h"

#include <string.h>

/* Asks each parameter for its gradient: each question to a tensor takes the lock of all. */
static void find_gradients(const laze_optimiser *optimiser) {
  laze_parameter_group *group;
  int64_t index = 0;
  for (laze_parameter *parameter; (parameter = laze_optimiser_parameter(optimiser, index, &group)); index++) {
    parameter->gradient = laze_tensor_grad(parameter->tensor);
    parameter->dtype = parameter->gradient ? laze_tensor_dtype(parameter->tensor) : LAZE_DTYPE_NONE;
  }
}

/* Finds the next parameter that has a gradient, from *index on, which is then behind it; NULL: there are no more. */
static laze_parameter *next_parameter(const laze_optimiser *optimiser, int64_t *index, laze_parameter_group **group) {
  laze_parameter *parameter;
  do parameter = laze_optimiser_parameter(optimiser, (*index)++, group);
  while (parameter && !parameter->gradient);
  return parameter;
}

static laze_status check_value(laze_tensor *tensor, laze_error *error) {
  const laze_status status = laze_tensor_status(tensor);
  return status == LAZE_OK ? LAZE_OK : laze_fail(error, status, "%s", laze_tensor_error(tensor));
}

static unsigned missing_memories(const laze_optimiser *optimiser, const laze_parameter_group *group,
                                 const laze_parameter *parameter) {
  unsigned missing = optimiser->algorithm->remembers(group->settings);
  for (int m = 0; m < LAZE_OPTIM_MEMORIES; m++)
    if (parameter->memories[m]) missing &= ~(1u << m);
  return missing;
}

/* Looks at all values that a step starts from; *missing memories have to be made. */
static laze_status check_values(const laze_optimiser *optimiser, int64_t *missing, laze_error *error) {
  laze_parameter_group *group;
  int64_t index = 0;
  *missing = 0;
  for (laze_parameter *parameter; (parameter = next_parameter(optimiser, &index, &group));) {
    LAZE_TRY(check_value(parameter->tensor, error));
    LAZE_TRY(check_value(parameter->gradient, error));
    *missing += __builtin_popcount(missing_memories(optimiser, group, parameter));
  }
  return LAZE_OK;
}

/* Of complex numbers, both parts begin with it. */
static laze_tensor *first_memory(const laze_parameter *parameter, double value) {
  if (parameter->dtype < LAZE_C64) return laze_full_like(parameter->tensor, value);
  return laze_full_like(parameter->tensor, laze_scalar_complex(value, value));
}

static int32_t fill_memories(const laze_optimiser *optimiser, laze_tensor ***places, laze_tensor **made) {
  const laze_algorithm *algorithm = optimiser->algorithm;
  laze_parameter_group *group;
  int64_t index = 0;
  int32_t count = 0;
  for (laze_parameter *parameter; (parameter = next_parameter(optimiser, &index, &group));) {
    const unsigned missing = missing_memories(optimiser, group, parameter);
    for (int m = 0; m < LAZE_OPTIM_MEMORIES; m++) {
      if (!(missing >> m & 1)) continue;
      const double first = m == 0 && algorithm->initial >= 0 ? group->settings[algorithm->initial] : 0;
      places[count] = &parameter->memories[m];
      made[count] = *places[count] = laze_tensor_retain(first_memory(parameter, first));
      count++;
    }
  }
  return count;
}

/* Makes and computes, in one graph, what is to be remembered of parameters and nobody has made yet. */
static laze_status make_memories(const laze_optimiser *optimiser, int64_t missing, laze_error *error) {
  laze_context *context = optimiser->context;
  laze_tensor ***places = laze_alloc_array(context, missing, sizeof *places);
  laze_tensor **made = laze_alloc_array(context, missing, sizeof *made);
  laze_status status = LAZE_OK;
  if (places && made) {
    const int32_t count = fill_memories(optimiser, places, made);
    status = (laze_tensors_materialise)(made, count, error); /* the caller stands elsewhere */
    for (int32_t i = 0; status != LAZE_OK && i < count; i++) laze_tensor_replace(places[i], NULL);
  } else {
    status = laze_fail_memory(error, "what an optimiser remembers", missing * (int64_t)sizeof *places);
  }
  laze_free(context, places);
  laze_free(context, made);
  return status;
}

/* A tensor as formulas see it, and the other way round. */
static laze_tensor *open_tensor(laze_tensor *tensor, laze_dtype dtype) {
  if (dtype >= LAZE_C64) return laze_view_as_real(tensor);
  return dtype < LAZE_F32 ? laze_to(tensor, LAZE_F32) : tensor;
}

static laze_status assign(laze_tensor *destination, laze_tensor *opened, laze_dtype dtype, laze_error *error) {
  if (dtype >= LAZE_C64) opened = laze_view_as_complex(opened);
  if (dtype < LAZE_F32) opened = laze_to(opened, dtype);
  return laze_tensor_assign_error(destination, opened, error);
}

/* The numbers that parameters of one group, dtype and number of steps share, unless they remember other ones. */
typedef struct {
  const laze_parameter_group *group;
  laze_dtype dtype;
  int64_t step;
  double before[LAZE_OPTIM_CARRIED], after[LAZE_OPTIM_CARRIED]; /* what is remembered of them */
  laze_tensor *tensors[LAZE_OPTIM_SETTINGS];
} shared_numbers;

static void share_numbers(const laze_optimiser *optimiser, const laze_parameter_group *group,
                          const laze_parameter *parameter, shared_numbers *shared) {
  const laze_dtype dtype = parameter->dtype == LAZE_F64 || parameter->dtype == LAZE_C128 ? LAZE_F64 : LAZE_F32;
  const int64_t step = parameter->steps + 1;
  if (shared->group == group && shared->dtype == dtype && shared->step == step &&
      memcmp(shared->before, parameter->carried, sizeof shared->before) == 0)
    return;
  double numbers[LAZE_OPTIM_SETTINGS] = {0};
  *shared = (shared_numbers){.group = group, .dtype = dtype, .step = step};
  memcpy(shared->before, parameter->carried, sizeof shared->before);
  memcpy(shared->after, parameter->carried, sizeof shared->after);
  optimiser->algorithm->count(group->settings, step, shared->after, numbers);
  for (int i = 0; i < LAZE_OPTIM_SETTINGS; i++)
    shared->tensors[i] = laze_tensor_from_scalar(optimiser->context, dtype, laze_scalar_real(numbers[i]));
}

static laze_status update(const laze_optimiser *optimiser, const laze_parameter_group *group, laze_parameter *parameter,
                          const shared_numbers *numbers, laze_error *error) {
  const unsigned remembered = optimiser->algorithm->remembers(group->settings);
  const laze_dtype dtype = parameter->dtype;
  laze_update now = {.settings = group->settings,
                     .parameter = open_tensor(parameter->tensor, dtype),
                     .gradient = open_tensor(parameter->gradient, dtype)};
  memcpy(now.numbers, numbers->tensors, sizeof now.numbers);
  for (int m = 0; m < LAZE_OPTIM_MEMORIES; m++)
    now.memories[m] = remembered >> m & 1 ? open_tensor(parameter->memories[m], dtype) : NULL;
  optimiser->algorithm->update(&now);
  LAZE_TRY(assign(parameter->tensor, now.parameter, dtype, error));
  for (int m = 0; m < LAZE_OPTIM_MEMORIES; m++)
    if (now.memories[m]) LAZE_TRY(assign(parameter->memories[m], now.memories[m], dtype, error));
  memcpy(parameter->carried, numbers->after, sizeof parameter->carried);
  parameter->steps++;
  return LAZE_OK;
}

static laze_status record(laze_optimiser *optimiser, laze_error *error) {
  laze_parameter_group *group;
  shared_numbers numbers = {.group = NULL};
  int64_t index = 0, missing;
  find_gradients(optimiser);
  LAZE_TRY(check_values(optimiser, &missing, error));
  if (missing > 0) LAZE_TRY(make_memories(optimiser, missing, error));
  for (laze_parameter *parameter; (parameter = next_parameter(optimiser, &index, &group));) {
    share_numbers(optimiser, group, parameter, &numbers);
    LAZE_TRY(update(optimiser, group, parameter, &numbers, error));
  }
  return LAZE_OK;
}

laze_status laze_optimiser_step(laze_optimiser *optimiser, laze_error *error) {
  if (!optimiser) return laze_optimiser_missing("laze_optimiser_step", error);
  laze_scope *scope = laze_scope_begin(optimiser->context); /* what formulas leave behind goes with it */
  const int32_t recorded = laze_set_grad_enabled(optimiser->context, 0);
  const laze_status status = record(optimiser, error);
  (void)laze_set_grad_enabled(optimiser->context, recorded);
  const laze_status end = laze_scope_end_error(scope, status == LAZE_OK ? error : NULL);
  return status == LAZE_OK ? end : status;
}

laze_status laze_optimiser_zero_grad(laze_optimiser *optimiser, laze_error *error) {
  if (!optimiser) return laze_optimiser_missing("laze_optimiser_zero_grad", error);
  for (int64_t i = 0; i < optimiser->group_count; i++)
    for (int32_t k = 0; k < optimiser->groups[i].count; k++) {
      laze_tensor *tensor = optimiser->groups[i].parameters[k].tensor;
      if (laze_tensor_requires_grad(tensor)) LAZE_TRY(laze_tensor_set_grad(tensor, NULL, error));
    }
  return LAZE_OK;
}
