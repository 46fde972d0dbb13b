/* Training: what changes parameters by their gradients, and how fast.
 *
 *   laze_optimiser *adamw;
 *   laze_optimiser_create(NULL, "adamw", LAZE_SETTINGS({"lr", 3e-4}, {"weight_decay", 0.1}), &adamw, &error);
 *   laze_optimiser_add(adamw, parameters, count, LAZE_NO_SETTINGS, &error);
 *   for (each batch) {
 *     laze_scope *scope = laze_scope_begin(NULL);
 *     laze_backward(loss_of(batch), &error);
 *     laze_optimiser_step(adamw, &error);
 *     laze_optimiser_zero_grad(adamw, &error);
 *     laze_step_end(scope, &error);                 forward, backward and update in one graph
 *   }
 *   laze_optimiser_destroy(adamw);
 *
 * Names, formulas and defaults are those of PyTorch's torch.optim. Numbers among the settings, and the number of the
 * step, are inputs of the graph: changing them compiles nothing. What switches a part of a formula on or off (a
 * momentum or weight decay of 0, a flag) is another graph. Threads: one at a time uses an optimiser. An optimiser,
 * a list or a place for results that is NULL is LAZE_INVALID_ARGUMENT, where nothing else is said.
 */
#ifndef LAZE_OPTIM_H
#define LAZE_OPTIM_H

#include "laze/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct laze_optimiser laze_optimiser;

/* A setting; what is a flag is 0 or 1. */
typedef struct laze_setting {
  const char *name;
  double value;
} laze_setting;
/* LAZE_SETTINGS({"lr", 0.1}, {"momentum", 0.9}); borrowed during the call. */
typedef struct laze_settings {
  const laze_setting *items;
  int32_t count;
} laze_settings;
#ifdef __cplusplus
static inline laze_settings laze_settings_of(std::initializer_list<laze_setting> items) {
  return {items.begin(), static_cast<int32_t>(items.size())};
}
#define LAZE_SETTINGS(...) laze_settings_of({__VA_ARGS__})
#define LAZE_NO_SETTINGS laze_settings()
#else
#define LAZE_SETTINGS(...)                                                                                             \
  ((laze_settings){(const laze_setting[]){__VA_ARGS__},                                                                \
                   (int32_t)(sizeof((const laze_setting[]){__VA_ARGS__}) / sizeof(laze_setting))})
#define LAZE_NO_SETTINGS ((laze_settings){0, 0})
#endif

/* Makes an optimiser without parameters; `settings` are those of groups that say nothing else.
 *
 *   "sgd"      lr 1e-3, momentum 0, dampening 0, weight_decay 0, nesterov 0, maximize 0
 *   "adam"     lr 1e-3, beta1 0.9, beta2 0.999, eps 1e-8, weight_decay 0, amsgrad 0, maximize 0
 *   "adamw"    the same with a weight_decay of 1e-2, which is taken from parameters and not added to gradients
 *   "adamax"   lr 2e-3, beta1 0.9, beta2 0.999, eps 1e-8, weight_decay 0, maximize 0
 *   "nadam"    the same, and momentum_decay 4e-3, decoupled_weight_decay 0
 *   "radam"    lr 1e-3, otherwise as adamax, and decoupled_weight_decay 0
 *   "rmsprop"  lr 1e-2, alpha 0.99, eps 1e-8, weight_decay 0, momentum 0, centered 0, maximize 0
 *   "adagrad"  lr 1e-2, lr_decay 0, weight_decay 0, initial_accumulator_value 0, eps 1e-10, maximize 0
 *   "adadelta" lr 1, rho 0.9, eps 1e-6, weight_decay 0, maximize 0
 *   "asgd"     lr 1e-2, lambd 1e-4, alpha 0.75, t0 1e6, weight_decay 0, maximize 0
 *   "rprop"    lr 1e-2, etaminus 0.5, etaplus 1.2, step_size_min 1e-6, step_size_max 50, maximize 0
 *
 * NULL context: the default, otherwise that of the parameters; the optimiser keeps it. LAZE_NOT_FOUND: no such
 * algorithm; LAZE_INVALID_ARGUMENT: it has no such setting, or not of this value. On failure *out is NULL. */
LAZE_API LAZE_MUST_USE laze_status laze_optimiser_create(laze_context *context, const char *algorithm,
                                                         laze_settings settings, laze_optimiser **out,
                                                         laze_error *error);
/* NULL is ignored. */
LAZE_API void laze_optimiser_destroy(laze_optimiser *optimiser);

/* Adds a group of parameters, with settings of its own: leaves of a float or complex dtype, each of which is in one
 * group. They are retained. The groups are counted from 0. On failure there is no new group. */
LAZE_API LAZE_MUST_USE laze_status laze_optimiser_add(laze_optimiser *optimiser, laze_tensor *const *parameters,
                                                      int32_t count, laze_settings settings, laze_error *error);
/* 0 of NULL. */
LAZE_API int32_t laze_optimiser_groups(const laze_optimiser *optimiser);

#define LAZE_ALL_GROUPS (-1)
/* Settings of a group from the next step on; with LAZE_ALL_GROUPS, of all there are and of those to come. All or none
 * of them change. */
LAZE_API LAZE_MUST_USE laze_status laze_optimiser_set(laze_optimiser *optimiser, int32_t group, laze_settings settings,
                                                      laze_error *error);
/* The setting of a group (LAZE_ALL_GROUPS: of those to come); NaN where there is none of the name, or no optimiser. */
LAZE_API double laze_optimiser_get(const laze_optimiser *optimiser, int32_t group, const char *name);

/* Records a step: each parameter that has a gradient is assigned its next value, and so is what is remembered of it.
 * Nothing is computed, and no history is left behind. Where a gradient is an error, it is returned, and nothing was
 * changed; where memory is out, parameters before may have been. */
LAZE_API LAZE_MUST_USE laze_status laze_optimiser_step(laze_optimiser *optimiser, laze_error *error);
/* Takes all gradients away. Behind the step, and before the end of laze's step, they need no memory that lasts. */
LAZE_API LAZE_MUST_USE laze_status laze_optimiser_zero_grad(laze_optimiser *optimiser, laze_error *error);

/* What is remembered of parameters, which are counted through all groups: "0.step" (f32, without dimensions,
 * as all numbers), "0.momentum_buffer", "0.exp_avg" and so on, in the words of PyTorch; nothing of a parameter that
 * never had a gradient. With `state` NULL, *count is how many there are; otherwise its capacity, and then how many
 * there are. Names live until the next call on the optimiser, tensors are handles of the current scope or the
 * optimiser's own. */
LAZE_API LAZE_MUST_USE laze_status laze_optimiser_get_state(laze_optimiser *optimiser, laze_named_tensor *state,
                                                            int32_t *count, laze_error *error);
/* Has it remember `state` instead of what it did. LAZE_INVALID_ARGUMENT: a name, shape or dtype that fits no parameter,
 * or a name that is given twice; LAZE_NOT_FOUND: one that the settings need is missing of a parameter, or the "step" of
 * one of which there is more (sgd's may be, as in PyTorch: it is 1 then). Nothing has changed then. */
LAZE_API LAZE_MUST_USE laze_status laze_optimiser_set_state(laze_optimiser *optimiser, const laze_named_tensor *state,
                                                            int32_t count, laze_error *error);

/* Multiplies the gradients of the parameters that have one by max_norm / (norm + 1e-6), where that is below 1, with the
 * norm of all of them together: of `order` 2, 1, HUGE_VAL or another that is neither 0 nor NaN. A parameter that is
 * NULL, or an error, is refused before anything changes. *norm (may be NULL) is what it was before, a handle of the
 * current scope; computes nothing. NULL context: the default, otherwise that of the parameters. */
LAZE_API LAZE_MUST_USE laze_status laze_clip_grad_norm(laze_context *context, laze_tensor *const *parameters,
                                                       int32_t count, double max_norm, double order, laze_tensor **norm,
                                                       laze_error *error);
/* Limits each element of the gradients to -limit to limit; of parameters as above. */
LAZE_API LAZE_MUST_USE laze_status laze_clip_grad_value(laze_context *context, laze_tensor *const *parameters,
                                                        int32_t count, double limit, laze_error *error);

/* How wide first values are to be spread: the standard deviation of a weight [out, in, ...], by which laze_randn() is
 * multiplied, or, times sqrt(12), uniform numbers from -1/2 to 1/2. `gain` is 1, or what makes up for an activation:
 * sqrt(2) for relu, 5/3 for tanh. NaN for shapes of fewer than two axes, or NULL. Glorot and Bengio (2010), He and
 * others (2015). */
LAZE_API double laze_xavier_std(laze_ints shape, double gain);
/* By the inputs of each output (where a weight is [in, out], these are its outputs), or the outputs of each input. */
#define LAZE_FAN_IN 0
#define LAZE_FAN_OUT 1
LAZE_API double laze_kaiming_std(laze_ints shape, int32_t fan, double gain);

/* Learning rates by the number of steps (or epochs) that were made, 0 at first: `lr` is the first or highest one.
 * Anything else is an expression of yours. */
/* lr gamma^k, k one larger after each `every` steps. */
LAZE_API double laze_schedule_step(double lr, int64_t step, int64_t every, double gamma);
/* lr gamma^step */
LAZE_API double laze_schedule_exponential(double lr, int64_t step, double gamma);
/* From lr down to `least` after `steps` steps, along half a cosine, and up again after that. */
LAZE_API double laze_schedule_cosine(double lr, int64_t step, int64_t steps, double least);
/* From lr start_factor to lr, in a line of `steps` steps. */
LAZE_API double laze_schedule_warmup(double lr, int64_t step, int64_t steps, double start_factor);

#ifdef __cplusplus
}
#endif
#endif
