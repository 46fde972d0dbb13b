/* What an optimiser remembers, as tensors with names: "3.exp_avg" is the first mean of the fourth parameter. */
#include "base/context.h"
#include "laze/autograd.h"
#include "laze/functions.h"
#include "optim/optimiser.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NAME_SIZE 48 /* digits, a point and the longest name */
static const char step_name[] = "step";

/* What there is of a parameter: steps, memories, numbers. */
enum {
  FIRST_MEMORY = 1,
  FIRST_CARRIED = FIRST_MEMORY + LAZE_OPTIM_MEMORIES,
  PLACES = FIRST_CARRIED + LAZE_OPTIM_CARRIED
};

static bool has_state(const laze_optimiser *optimiser, const laze_parameter *parameter, int place) {
  bool remembered = parameter->steps > 0;
  if (place >= FIRST_CARRIED) return remembered && optimiser->algorithm->carried[place - FIRST_CARRIED];
  if (place >= FIRST_MEMORY) return parameter->memories[place - FIRST_MEMORY] != NULL;
  for (int m = 0; m < LAZE_OPTIM_MEMORIES; m++) remembered = remembered || parameter->memories[m];
  return remembered; /* also 0 steps, beside memories: they are not taken without */
}

static const char *state_name(const laze_optimiser *optimiser, int place) {
  if (place >= FIRST_CARRIED) return optimiser->algorithm->carried[place - FIRST_CARRIED];
  return place >= FIRST_MEMORY ? optimiser->algorithm->memories[place - FIRST_MEMORY] : step_name;
}

static laze_tensor *state_tensor(const laze_optimiser *optimiser, const laze_parameter *parameter, int place) {
  if (place >= FIRST_MEMORY && place < FIRST_CARRIED) return parameter->memories[place - FIRST_MEMORY];
  const double number = place == 0 ? (double)parameter->steps : parameter->carried[place - FIRST_CARRIED];
  return laze_tensor_from_scalar(optimiser->context, LAZE_F32, laze_scalar_real(number));
}

laze_status laze_optimiser_get_state(laze_optimiser *optimiser, laze_named_tensor *state, int32_t *count,
                                     laze_error *error) {
  if (!optimiser) return laze_optimiser_missing("laze_optimiser_get_state", error);
  if (!count) return laze_fail(error, LAZE_INVALID_ARGUMENT, "laze_optimiser_get_state: count must not be NULL");
  const int64_t parameters = laze_optimiser_parameter_count(optimiser);
  const int32_t capacity = state ? *count : 0;
  laze_parameter_group *group;
  *count = 0;
  if (state) {
    laze_free(optimiser->context, optimiser->names);
    optimiser->names = laze_alloc_array(optimiser->context, parameters * PLACES, NAME_SIZE);
    if (!optimiser->names) return laze_fail_memory(error, "names of tensors", parameters * NAME_SIZE);
  }
  for (int64_t i = 0; i < parameters; i++) {
    const laze_parameter *parameter = laze_optimiser_parameter(optimiser, i, &group);
    for (int place = 0; place < PLACES; place++) {
      if (!has_state(optimiser, parameter, place)) continue;
      const int32_t at = (*count)++;
      if (!state || at >= capacity) continue;
      char *name = optimiser->names + (int64_t)at * NAME_SIZE;
      snprintf(name, NAME_SIZE, "%" PRId64 ".%s", i, state_name(optimiser, place));
      state[at] = (laze_named_tensor){name, state_tensor(optimiser, parameter, place)};
    }
  }
  return LAZE_OK;
}

/* What comes in place of what a parameter has. */
typedef struct {
  laze_tensor *memories[LAZE_OPTIM_MEMORIES]; /* borrowed; NULL: none */
  double carried[LAZE_OPTIM_CARRIED];
  int64_t steps;
  bool counted;   /* steps were given */
  unsigned given; /* a bit for each of `carried` */
} replacement;

static laze_status refuse(const laze_named_tensor *item, laze_status code, const char *why, laze_error *error) {
  return laze_fail(error, code, "laze_optimiser_set_state: \"%s\" %s", item->name ? item->name : "(NULL)", why);
}

/* Whether a tensor fits into a memory of the parameter: of the same shape and dtype. */
static bool fits(laze_tensor *memory, laze_tensor *parameter) {
  if (laze_tensor_dtype(memory) != laze_tensor_dtype(parameter)) return false;
  if (laze_tensor_rank(memory) != laze_tensor_rank(parameter)) return false;
  for (int32_t axis = 0; axis < laze_tensor_rank(memory); axis++)
    if (laze_tensor_size(memory, axis) != laze_tensor_size(parameter, axis)) return false;
  return true;
}

static laze_status refuse_again(const laze_named_tensor *item, laze_error *error) {
  return refuse(item, LAZE_INVALID_ARGUMENT, "is given twice; give each name once", error);
}

static laze_status take_step(const laze_named_tensor *item, replacement *out, laze_error *error) {
  if (out->counted) return refuse_again(item, error);
  const double steps = laze_tensor_elements(item->tensor) == 1 ? laze_tensor_item(item->tensor) : -1;
  if (!(steps >= 0 && steps <= 0x1p52))
    return refuse(item, LAZE_INVALID_ARGUMENT, "is no number of steps: expected one element, 0 or more", error);
  out->steps = (int64_t)steps;
  out->counted = true;
  return LAZE_OK;
}

static laze_status take_carried(const laze_named_tensor *item, int place, replacement *out, laze_error *error) {
  if (out->given >> place & 1) return refuse_again(item, error);
  const double number = laze_tensor_elements(item->tensor) == 1 ? laze_tensor_item(item->tensor) : NAN;
  if (!isfinite(number)) return refuse(item, LAZE_INVALID_ARGUMENT, "is no number: expected one element", error);
  out->carried[place] = number;
  out->given |= 1u << place;
  return LAZE_OK;
}

static laze_status take_item(const laze_optimiser *optimiser, const laze_named_tensor *item, replacement *all,
                             laze_error *error) {
  char *end = NULL;
  laze_parameter_group *group;
  const long long index = item->name && *item->name >= '0' && *item->name <= '9' ? strtoll(item->name, &end, 10) : -1;
  const laze_parameter *parameter = index >= 0 ? laze_optimiser_parameter(optimiser, index, &group) : NULL;
  if (!parameter || *end != '.')
    return refuse(item, LAZE_INVALID_ARGUMENT, "names none of the parameters; expected such as \"0.step\"", error);
  if (!item->tensor || laze_tensor_status(item->tensor) != LAZE_OK)
    return refuse(item, LAZE_INVALID_ARGUMENT, item->tensor ? laze_tensor_error(item->tensor) : "is NULL", error);
  if (strcmp(end + 1, step_name) == 0) return take_step(item, &all[index], error);
  for (int c = 0; c < LAZE_OPTIM_CARRIED; c++) {
    const char *name = optimiser->algorithm->carried[c];
    if (name && strcmp(end + 1, name) == 0) return take_carried(item, c, &all[index], error);
  }
  for (int m = 0; m < LAZE_OPTIM_MEMORIES; m++) {
    const char *name = optimiser->algorithm->memories[m];
    if (!name || strcmp(end + 1, name) != 0) continue;
    if (all[index].memories[m]) return refuse_again(item, error);
    all[index].memories[m] = item->tensor;
    if (fits(item->tensor, parameter->tensor)) return LAZE_OK;
    return refuse(item, LAZE_INVALID_ARGUMENT, "has another shape or dtype than its parameter", error);
  }
  return refuse(item, LAZE_INVALID_ARGUMENT, "is nothing that the optimiser remembers", error);
}

static laze_status refuse_without(const laze_optimiser *optimiser, int64_t index, const char *name, laze_error *error) {
  return laze_fail(error, LAZE_NOT_FOUND,
                   "laze_optimiser_set_state: \"%" PRId64 ".%s\" is missing, which %s remembers of a parameter", index,
                   name, optimiser->algorithm->name);
}

/* Memories come with the number of steps, and steps with all memories that the settings ask for, and numbers. */
static laze_status complete(const laze_optimiser *optimiser, replacement *all, laze_error *error) {
  const laze_algorithm *algorithm = optimiser->algorithm;
  laze_parameter_group *group;
  for (int64_t i = 0; laze_optimiser_parameter(optimiser, i, &group); i++) {
    bool remembered = false;
    for (int m = 0; m < LAZE_OPTIM_MEMORIES; m++) remembered = remembered || all[i].memories[m];
    if (remembered && !all[i].counted) {
      if (!algorithm->uncounted) return refuse_without(optimiser, i, step_name, error);
      all[i].steps = 1;
    }
    const unsigned wanted = all[i].steps > 0 ? algorithm->remembers(group->settings) : 0;
    for (int m = 0; m < LAZE_OPTIM_MEMORIES; m++)
      if (wanted >> m & 1 && !all[i].memories[m]) return refuse_without(optimiser, i, algorithm->memories[m], error);
    for (int c = 0; c < LAZE_OPTIM_CARRIED && all[i].steps > 0; c++)
      if (algorithm->carried[c] && !(all[i].given >> c & 1))
        return refuse_without(optimiser, i, algorithm->carried[c], error);
  }
  return LAZE_OK;
}

/* Makes the memories copies without history, which later changes of the given tensors do not reach. */
static laze_status copy_memories(replacement *all, int64_t count, laze_error *error) {
  for (int64_t i = 0; i < count; i++)
    for (int m = 0; m < LAZE_OPTIM_MEMORIES; m++) {
      if (!all[i].memories[m]) continue;
      all[i].memories[m] = laze_clone(laze_detach(all[i].memories[m]));
      const laze_status status = laze_tensor_status(all[i].memories[m]);
      if (status != LAZE_OK)
        return laze_fail(error, status, "laze_optimiser_set_state: %s", laze_tensor_error(all[i].memories[m]));
    }
  return LAZE_OK;
}

static void replace(laze_parameter *parameter, const replacement *with) {
  for (int m = 0; m < LAZE_OPTIM_MEMORIES; m++) laze_tensor_replace(&parameter->memories[m], with->memories[m]);
  memcpy(parameter->carried, with->carried, sizeof parameter->carried);
  parameter->steps = with->steps;
}

laze_status laze_optimiser_set_state(laze_optimiser *optimiser, const laze_named_tensor *state, int32_t count,
                                     laze_error *error) {
  if (!optimiser) return laze_optimiser_missing("laze_optimiser_set_state", error);
  if (count < 0 || (count > 0 && !state))
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "laze_optimiser_set_state: %d tensors at %p are no list", (int)count,
                     (const void *)state);
  const int64_t parameters = laze_optimiser_parameter_count(optimiser);
  replacement *all = laze_alloc_zero(optimiser->context, parameters * (int64_t)sizeof *all);
  if (!all) return laze_fail_memory(error, "what an optimiser remembers", parameters * (int64_t)sizeof *all);
  laze_parameter_group *group;
  laze_scope *scope = laze_scope_begin(optimiser->context);
  laze_status status = LAZE_OK;
  for (int32_t i = 0; i < count && status == LAZE_OK; i++) status = take_item(optimiser, &state[i], all, error);
  if (status == LAZE_OK) status = complete(optimiser, all, error);
  if (status == LAZE_OK) status = copy_memories(all, parameters, error);
  for (int64_t i = 0; i < parameters && status == LAZE_OK; i++)
    replace(laze_optimiser_parameter(optimiser, i, &group), &all[i]);
  laze_free(optimiser->context, all);
  const laze_status end = laze_scope_end_error(scope, status == LAZE_OK ? error : NULL);
  return status == LAZE_OK ? end : status;
}
