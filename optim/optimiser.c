/* Optimisers, their groups and settings. */
#include "optim/optimiser.h"

#include "base/context.h"
#include "laze/autograd.h"
#include "laze/functions.h"

#include <math.h>
#include <string.h>

/* ---- Settings. */

static const char *const wanted[] = {
    [LAZE_SETTING_NOT_NEGATIVE] = "0 or more",
    [LAZE_SETTING_FRACTION] = "from 0 to below 1",
    [LAZE_SETTING_FLAG] = "0 or 1",
    [LAZE_SETTING_FINITE] = "a finite number",
};

static bool takes(laze_setting_kind kind, double value) {
  switch (kind) {
  case LAZE_SETTING_NOT_NEGATIVE: return value >= 0 && isfinite(value);
  case LAZE_SETTING_FRACTION: return value >= 0 && value < 1;
  case LAZE_SETTING_FLAG: return value == 0 || value == 1;
  default: return isfinite(value);
  }
}

/* Where a setting stands; -1: nowhere. */
static int find_setting(const laze_algorithm *algorithm, const char *name) {
  for (int i = 0; name && algorithm->settings[i].name; i++)
    if (strcmp(algorithm->settings[i].name, name) == 0) return i;
  return -1;
}

static laze_status refuse_name(const laze_algorithm *algorithm, const char *name, laze_error *error) {
  char names[160] = "";
  for (int i = 0; algorithm->settings[i].name; i++) {
    const size_t used = strlen(names);
    snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "", algorithm->settings[i].name);
  }
  return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s has no setting \"%s\"; it has %s", algorithm->name,
                   name ? name : "(NULL)", names);
}

/* Changes settings, all or none. */
static laze_status change(const laze_algorithm *algorithm, double *settings, laze_settings given, laze_error *error) {
  double next[LAZE_OPTIM_SETTINGS];
  if (given.count < 0 || (given.count > 0 && !given.items))
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: %d settings at %p are no list; use LAZE_SETTINGS",
                     algorithm->name, (int)given.count, (const void *)given.items);
  memcpy(next, settings, sizeof next);
  for (int32_t i = 0; i < given.count; i++) {
    const int at = find_setting(algorithm, given.items[i].name);
    if (at < 0) return refuse_name(algorithm, given.items[i].name, error);
    next[at] = given.items[i].value;
    if (!takes(algorithm->settings[at].kind, next[at]))
      return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: %s is %g: expected %s", algorithm->name, given.items[i].name,
                       next[at], wanted[algorithm->settings[at].kind]);
  }
  if (algorithm->check) LAZE_TRY(algorithm->check(next, error));
  memcpy(settings, next, sizeof next);
  return LAZE_OK;
}

/* What one group refuses, none gets. */
static laze_status change_all(laze_optimiser *optimiser, laze_settings settings, laze_error *error) {
  double next[LAZE_OPTIM_SETTINGS];
  for (int64_t i = 0; i < optimiser->group_count; i++) {
    memcpy(next, optimiser->groups[i].settings, sizeof next);
    LAZE_TRY(change(optimiser->algorithm, next, settings, error));
  }
  LAZE_TRY(change(optimiser->algorithm, optimiser->settings, settings, error));
  for (int64_t i = 0; i < optimiser->group_count; i++)
    LAZE_TRY(change(optimiser->algorithm, optimiser->groups[i].settings, settings, error));
  return LAZE_OK;
}

laze_status laze_optimiser_set(laze_optimiser *optimiser, int32_t group, laze_settings settings, laze_error *error) {
  if (!optimiser) return laze_optimiser_missing("laze_optimiser_set", error);
  if (group == LAZE_ALL_GROUPS) return change_all(optimiser, settings, error);
  if (group < 0 || group >= optimiser->group_count)
    return laze_fail(error, LAZE_OUT_OF_RANGE,
                     "laze_optimiser_set: there is no group %d: expected 0 to %d, or "
                     "LAZE_ALL_GROUPS",
                     (int)group, (int)optimiser->group_count - 1);
  return change(optimiser->algorithm, optimiser->groups[group].settings, settings, error);
}

double laze_optimiser_get(const laze_optimiser *optimiser, int32_t group, const char *name) {
  const int at = optimiser ? find_setting(optimiser->algorithm, name) : -1;
  if (at < 0 || group < LAZE_ALL_GROUPS || group >= optimiser->group_count) return NAN;
  return group == LAZE_ALL_GROUPS ? optimiser->settings[at] : optimiser->groups[group].settings[at];
}

/* ---- Life. */

laze_status laze_optimiser_missing(const char *function, laze_error *error) {
  return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: the optimiser is NULL", function);
}

laze_status laze_optimiser_create(laze_context *context, const char *algorithm, laze_settings settings,
                                  laze_optimiser **out, laze_error *error) {
  if (!out) return laze_fail(error, LAZE_INVALID_ARGUMENT, "laze_optimiser_create: out must not be NULL");
  *out = NULL;
  const laze_algorithm *found = laze_algorithm_find(algorithm);
  if (!found) return laze_algorithm_missing(algorithm, error);
  if (!context) context = laze_context_default();
  laze_optimiser *optimiser = context ? laze_alloc_zero(context, sizeof *optimiser) : NULL;
  if (!optimiser) return laze_fail_memory(error, "an optimiser", sizeof *optimiser);
  *optimiser = (laze_optimiser){.context = context, .algorithm = found};
  for (int i = 0; found->settings[i].name; i++) optimiser->settings[i] = found->settings[i].value;
  const laze_status status = change(found, optimiser->settings, settings, error);
  if (status != LAZE_OK) {
    laze_free(context, optimiser);
    return status;
  }
  laze_context_retain(context);
  *out = optimiser;
  return LAZE_OK;
}

static void release_group(laze_context *context, laze_parameter_group *group) {
  for (int32_t i = 0; i < group->count; i++) {
    laze_tensor_release(group->parameters[i].tensor);
    for (int m = 0; m < LAZE_OPTIM_MEMORIES; m++) laze_tensor_release(group->parameters[i].memories[m]);
  }
  laze_free(context, group->parameters);
}

void laze_optimiser_destroy(laze_optimiser *optimiser) {
  if (!optimiser) return;
  laze_context *context = optimiser->context;
  for (int64_t i = 0; i < optimiser->group_count; i++) release_group(context, &optimiser->groups[i]);
  laze_free(context, optimiser->groups);
  laze_free(context, optimiser->names);
  laze_free(context, optimiser);
  laze_context_release(context);
}

/* ---- Groups. */

static bool has_parameter(const laze_optimiser *optimiser, laze_tensor *tensor) {
  for (int64_t i = 0; i < optimiser->group_count; i++)
    for (int32_t k = 0; k < optimiser->groups[i].count; k++)
      if (optimiser->groups[i].parameters[k].tensor == tensor) return true;
  return false;
}

/* A call with a tensor of the optimiser's context fails for one of another: as each step would. */
static laze_status check_context(laze_context *context, laze_tensor *tensor, laze_error *error) {
  laze_error unread;
  laze_scope *scope = laze_scope_begin(context);
  laze_tensor *own = laze_tensor_from_scalar(context, laze_tensor_dtype(tensor), laze_scalar_real(0));
  const laze_status status = laze_tensor_status(laze_mul(own, tensor));
  const laze_status ended = laze_scope_end_error(scope, &unread);
  if (status == LAZE_INVALID_ARGUMENT)
    return laze_fail(error, status, "is of another context than the optimiser: make it there");
  return ended == LAZE_OK || status != LAZE_OK ? status : laze_fail(error, ended, "%s", unread.message);
}

static laze_status check_parameter(laze_context *context, laze_tensor *tensor, laze_error *error) {
  if (!tensor) return laze_fail(error, LAZE_INVALID_ARGUMENT, "is NULL");
  const laze_status status = laze_tensor_status(tensor);
  if (status != LAZE_OK) return laze_fail(error, status, "is an error: %s", laze_tensor_error(tensor));
  const laze_dtype dtype = laze_tensor_dtype(tensor);
  if (dtype < LAZE_F16)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "is a %s: expected a float or complex dtype",
                     laze_dtype_name(dtype));
  if (laze_tensor_is_leaf(tensor)) return check_context(context, tensor, error);
  return laze_fail(error, LAZE_INVALID_ARGUMENT,
                   "is no leaf, but follows from others: give the optimiser those, or what laze_detach() makes of it");
}

static laze_status fill_group(const laze_optimiser *optimiser, laze_tensor *const *parameters, int32_t count,
                              laze_parameter_group *group, laze_error *error) {
  for (int32_t i = 0; i < count; i++) {
    laze_status status = check_parameter(optimiser->context, parameters[i], error);
    bool again = status == LAZE_OK && has_parameter(optimiser, parameters[i]);
    for (int32_t k = 0; k < i; k++) again = again || parameters[k] == parameters[i];
    if (again)
      status =
          laze_fail(error, LAZE_INVALID_ARGUMENT, "is a parameter of the optimiser already; give it each one once");
    if (status != LAZE_OK) return laze_error_prefix(error, "laze_optimiser_add: parameter %d", (int)i);
    group->parameters[group->count++] = (laze_parameter){.tensor = laze_tensor_retain(parameters[i])};
  }
  return LAZE_OK;
}

laze_status laze_optimiser_add(laze_optimiser *optimiser, laze_tensor *const *parameters, int32_t count,
                               laze_settings settings, laze_error *error) {
  if (!optimiser) return laze_optimiser_missing("laze_optimiser_add", error);
  laze_context *context = optimiser->context;
  laze_parameter_group group = {.count = 0};
  laze_error local; /* prefixes need a message */
  if (!error) error = &local;
  if (count < 0 || (count > 0 && !parameters))
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "laze_optimiser_add: %d tensors at %p are no list", (int)count,
                     (const void *)parameters);
  memcpy(group.settings, optimiser->settings, sizeof group.settings);
  LAZE_TRY(change(optimiser->algorithm, group.settings, settings, error));
  LAZE_TRY(laze_grow(context, (void **)&optimiser->groups, &optimiser->group_capacity, optimiser->group_count + 1,
                     sizeof *optimiser->groups, error));
  group.parameters = laze_alloc_array(context, count, sizeof *group.parameters);
  if (!group.parameters) return laze_fail_memory(error, "a group of parameters", count * (int64_t)sizeof group);
  const laze_status status = fill_group(optimiser, parameters, count, &group, error);
  if (status == LAZE_OK)
    optimiser->groups[optimiser->group_count++] = group;
  else
    release_group(context, &group);
  return status;
}

int32_t laze_optimiser_groups(const laze_optimiser *optimiser) {
  return optimiser ? (int32_t)optimiser->group_count : 0;
}

int64_t laze_optimiser_parameter_count(const laze_optimiser *optimiser) {
  int64_t count = 0;
  for (int64_t i = 0; i < optimiser->group_count; i++) count += optimiser->groups[i].count;
  return count;
}

laze_parameter *laze_optimiser_parameter(const laze_optimiser *optimiser, int64_t index, laze_parameter_group **group) {
  for (int64_t i = 0; i < optimiser->group_count; i++) {
    *group = &optimiser->groups[i];
    if (index < (*group)->count) return &(*group)->parameters[index];
    index -= (*group)->count;
  }
  return NULL;
}
