/* The formulas of optimisers, in the order of operations that torch.optim has, so that results agree to the last bits.
 *
 * What differs from step to step is among the numbers, tensors without dimensions that all parameters of a step share:
 * inputs of the graph, and not a part of it. */
#include "laze/functions.h"
#include "optim/optimiser.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LR }; /* the first setting of all */

/* Macros that take numbers as well are a lot of code where they are used. */
static laze_tensor *add(laze_tensor *a, laze_tensor *b) {
  return laze_add(a, b);
}

static laze_tensor *sub(laze_tensor *a, laze_tensor *b) {
  return laze_sub(a, b);
}

static laze_tensor *mul(laze_tensor *a, laze_tensor *b) {
  return laze_mul(a, b);
}

static laze_tensor *div(laze_tensor *a, laze_tensor *b) {
  return laze_div(a, b);
}

static laze_tensor *add_product(laze_tensor *sum, laze_tensor *factor, laze_tensor *number) {
  return add(sum, mul(factor, number));
}

/* mean += weight (value - mean), from the nearer end; `number` is the weight where that is below 1/2, otherwise what it
 * lacks to 1. */
static laze_tensor *approach(laze_tensor *mean, laze_tensor *value, double weight, laze_tensor *number) {
  laze_tensor *change = mul(sub(value, mean), number);
  return weight < 0.5 ? add(mean, change) : sub(value, change);
}

static double nearer(double weight) {
  return weight < 0.5 ? weight : 1 - weight;
}

/* keep mean + share gradient^2 */
static laze_tensor *add_square(laze_tensor *mean, laze_tensor *keep, laze_tensor *gradient, laze_tensor *share) {
  return add(mul(mean, keep), mul(mul(gradient, share), gradient));
}

/* parameter + number direction / root */
static laze_tensor *move(laze_tensor *parameter, laze_tensor *number, laze_tensor *direction, laze_tensor *root) {
  return add(parameter, div(mul(direction, number), root));
}

/* The gradient with its sign turned (maximize), and with a part of the parameter (weight decay). */
static laze_tensor *prepare(const laze_update *update, int maximize, int weight_decay, int number) {
  laze_tensor *gradient = update->gradient;
  if (update->settings[maximize] != 0) gradient = laze_neg(gradient);
  if (update->settings[weight_decay] == 0) return gradient;
  return add_product(gradient, update->parameter, update->numbers[number]);
}

/* The gradient with its sign turned; it is the parameter of which a part goes, by a number that says what stays. */
static laze_tensor *prepare_apart(laze_update *update, int maximize, int weight_decay, int number) {
  if (update->settings[weight_decay] != 0) update->parameter = mul(update->parameter, update->numbers[number]);
  return update->settings[maximize] != 0 ? laze_neg(update->gradient) : update->gradient;
}

static double kept(const double *settings, int weight_decay) {
  return 1 - settings[LR] * settings[weight_decay];
}

static unsigned remembers_one(const double *settings) {
  (void)settings;
  return 1;
}

static unsigned remembers_two(const double *settings) {
  (void)settings;
  return 3;
}

/* ---- velocity = momentum velocity + (1 - dampening) gradient; parameter = parameter - lr velocity */

enum { SGD_MOMENTUM = 1, SGD_DAMPENING, SGD_WEIGHT_DECAY, SGD_NESTEROV, SGD_MAXIMIZE };
enum { SGD_RATE, SGD_KEEP, SGD_SHARE, SGD_DECAY };

static laze_status sgd_check(const double *settings, laze_error *error) {
  if (settings[SGD_NESTEROV] == 0 || (settings[SGD_MOMENTUM] > 0 && settings[SGD_DAMPENING] == 0)) return LAZE_OK;
  return laze_fail(error, LAZE_INVALID_ARGUMENT,
                   "sgd: nesterov with momentum %g and dampening %g: expected a momentum above 0 and no dampening",
                   settings[SGD_MOMENTUM], settings[SGD_DAMPENING]);
}

static unsigned sgd_remembers(const double *settings) {
  return settings[SGD_MOMENTUM] != 0;
}

static void sgd_count(const double *settings, int64_t step, double *carried, double *numbers) {
  (void)carried;
  numbers[SGD_RATE] = -settings[LR];
  numbers[SGD_KEEP] = settings[SGD_MOMENTUM];
  numbers[SGD_SHARE] = step == 1 ? 1 : 1 - settings[SGD_DAMPENING]; /* the first velocity is the gradient */
  numbers[SGD_DECAY] = settings[SGD_WEIGHT_DECAY];
}

static void sgd_update(laze_update *update) {
  laze_tensor *const *numbers = update->numbers, *gradient = prepare(update, SGD_MAXIMIZE, SGD_WEIGHT_DECAY, SGD_DECAY);
  if (update->memories[0]) {
    laze_tensor *velocity = mul(update->memories[0], numbers[SGD_KEEP]);
    velocity = update->memories[0] = add_product(velocity, gradient, numbers[SGD_SHARE]);
    gradient = update->settings[SGD_NESTEROV] != 0 ? add_product(gradient, velocity, numbers[SGD_KEEP]) : velocity;
  }
  update->parameter = add_product(update->parameter, gradient, numbers[SGD_RATE]);
}

/* ---- parameter = parameter - lr mean / (sqrt(mean of squares) + eps), both divided by what they lack at first */

enum { ADAM_BETA1 = 1, ADAM_BETA2, ADAM_EPS, ADAM_WEIGHT_DECAY, ADAM_AMSGRAD, ADAM_MAXIMIZE };
enum { ADAM_RATE, ADAM_ADD, ADAM_KEEP_SQUARE, ADAM_ADD_SQUARE, ADAM_LACKS, ADAM_LEAST, ADAM_DECAY };
enum { ADAM_MEAN, ADAM_SQUARE, ADAM_LARGEST };

static unsigned adam_remembers(const double *settings) {
  return settings[ADAM_AMSGRAD] != 0 ? 7 : 3;
}

static void adam_count(const double *settings, int64_t step, double *carried, double *numbers) {
  (void)carried;
  numbers[ADAM_RATE] = -(settings[LR] / (1 - pow(settings[ADAM_BETA1], (double)step)));
  numbers[ADAM_ADD] = nearer(1 - settings[ADAM_BETA1]);
  numbers[ADAM_KEEP_SQUARE] = settings[ADAM_BETA2];
  numbers[ADAM_ADD_SQUARE] = 1 - settings[ADAM_BETA2];
  numbers[ADAM_LACKS] = sqrt(1 - pow(settings[ADAM_BETA2], (double)step));
  numbers[ADAM_LEAST] = settings[ADAM_EPS];
  numbers[ADAM_DECAY] = settings[ADAM_WEIGHT_DECAY];
}

/* With weight decay of one kind or the other. */
static laze_tensor *adam_prepare(laze_update *update, int decoupled, int maximize) {
  return update->settings[decoupled] != 0 ? prepare_apart(update, maximize, ADAM_WEIGHT_DECAY, ADAM_DECAY)
                                          : prepare(update, maximize, ADAM_WEIGHT_DECAY, ADAM_DECAY);
}

/* Has both means move on; gives that of squares. */
static laze_tensor *adam_means(laze_update *update, laze_tensor *gradient) {
  laze_tensor *const *numbers = update->numbers, **memories = update->memories;
  memories[ADAM_MEAN] = approach(memories[ADAM_MEAN], gradient, 1 - update->settings[ADAM_BETA1], numbers[ADAM_ADD]);
  return memories[ADAM_SQUARE] =
             add_square(memories[ADAM_SQUARE], numbers[ADAM_KEEP_SQUARE], gradient, numbers[ADAM_ADD_SQUARE]);
}

/* The most frequent step by far, as one call. */
static void adam_at_once(laze_update *update, laze_tensor *gradient) {
  laze_tensor *const *numbers = update->numbers, **memories = update->memories, *results[3];
  laze_adam_step(update->parameter, gradient, memories[ADAM_MEAN], memories[ADAM_SQUARE], numbers[ADAM_ADD],
                 numbers[ADAM_KEEP_SQUARE], numbers[ADAM_ADD_SQUARE], numbers[ADAM_LACKS], numbers[ADAM_LEAST],
                 numbers[ADAM_RATE], results);
  update->parameter = results[0];
  memories[ADAM_MEAN] = results[1];
  memories[ADAM_SQUARE] = results[2];
}

static void adam_by(laze_update *update, laze_tensor *gradient) {
  if (!update->memories[ADAM_LARGEST] && 1 - update->settings[ADAM_BETA1] < 0.5) {
    adam_at_once(update, gradient);
    return;
  }
  laze_tensor *const *numbers = update->numbers, **memories = update->memories, *square = adam_means(update, gradient);
  if (memories[ADAM_LARGEST]) square = memories[ADAM_LARGEST] = laze_maximum(memories[ADAM_LARGEST], square);
  laze_tensor *root = add(div(laze_sqrt(square), numbers[ADAM_LACKS]), numbers[ADAM_LEAST]);
  update->parameter = move(update->parameter, numbers[ADAM_RATE], memories[ADAM_MEAN], root);
}

static void adam_update(laze_update *update) {
  adam_by(update, prepare(update, ADAM_MAXIMIZE, ADAM_WEIGHT_DECAY, ADAM_DECAY));
}

static void adamw_count(const double *settings, int64_t step, double *carried, double *numbers) {
  adam_count(settings, step, carried, numbers);
  numbers[ADAM_DECAY] = kept(settings, ADAM_WEIGHT_DECAY);
}

static void adamw_update(laze_update *update) {
  adam_by(update, prepare_apart(update, ADAM_MAXIMIZE, ADAM_WEIGHT_DECAY, ADAM_DECAY));
}

/* ---- Adam over the largest gradient, which fades, in place of the root */

enum { MAX_MAXIMIZE = ADAM_WEIGHT_DECAY + 1 };
enum { MAX_LARGEST = ADAM_SQUARE };

static void adamax_update(laze_update *update) {
  laze_tensor *const *numbers = update->numbers, **memories = update->memories;
  laze_tensor *gradient = prepare(update, MAX_MAXIMIZE, ADAM_WEIGHT_DECAY, ADAM_DECAY);
  memories[ADAM_MEAN] = approach(memories[ADAM_MEAN], gradient, 1 - update->settings[ADAM_BETA1], numbers[ADAM_ADD]);
  laze_tensor *faded = mul(memories[MAX_LARGEST], numbers[ADAM_KEEP_SQUARE]);
  memories[MAX_LARGEST] = laze_maximum(faded, add(laze_abs(gradient), numbers[ADAM_LEAST]));
  update->parameter = move(update->parameter, numbers[ADAM_RATE], memories[ADAM_MEAN], memories[MAX_LARGEST]);
}

/* ---- Adam by the mean as it will be: what a gradient is worth, and the mean, are numbers that grow */

enum { NADAM_MOMENTUM_DECAY = ADAM_WEIGHT_DECAY + 1, NADAM_DECOUPLED, NADAM_MAXIMIZE };
enum { NADAM_MEAN_RATE = ADAM_DECAY + 1 };
enum { NADAM_PRODUCT };

static double nadam_worth(const double *settings, int64_t step) {
  return settings[ADAM_BETA1] * (1 - 0.5 * pow(0.96, (double)step * settings[NADAM_MOMENTUM_DECAY]));
}

static void nadam_count(const double *settings, int64_t step, double *carried, double *numbers) {
  const double now = nadam_worth(settings, step), next = nadam_worth(settings, step + 1);
  const double product = carried[NADAM_PRODUCT] = (step == 1 ? 1 : carried[NADAM_PRODUCT]) * now;
  adam_count(settings, step, carried, numbers);
  numbers[ADAM_RATE] = -settings[LR] * (1 - now) / (1 - product);
  numbers[NADAM_MEAN_RATE] = -settings[LR] * next / (1 - product * next);
  numbers[ADAM_LACKS] = 1 - pow(settings[ADAM_BETA2], (double)step);
  if (settings[NADAM_DECOUPLED] != 0) numbers[ADAM_DECAY] = kept(settings, ADAM_WEIGHT_DECAY);
}

static void nadam_update(laze_update *update) {
  laze_tensor *gradient = adam_prepare(update, NADAM_DECOUPLED, NADAM_MAXIMIZE);
  laze_tensor *square = adam_means(update, gradient), *const *numbers = update->numbers;
  laze_tensor *root = add(laze_sqrt(div(square, numbers[ADAM_LACKS])), numbers[ADAM_LEAST]);
  update->parameter = move(update->parameter, numbers[ADAM_RATE], gradient, root);
  update->parameter = move(update->parameter, numbers[NADAM_MEAN_RATE], update->memories[ADAM_MEAN], root);
}

/* ---- Adam that leaves the root out as long as it follows from too few squares, and makes less of it at first */

enum { RADAM_DECOUPLED = ADAM_WEIGHT_DECAY + 1, RADAM_MAXIMIZE };
enum { RADAM_RECTIFIED = ADAM_DECAY + 1 };

/* RADAM_RECTIFIED is 0 for as long. */
static void radam_count(const double *settings, int64_t step, double *carried, double *numbers) {
  const double power = pow(settings[ADAM_BETA2], (double)step), most = 2 / (1 - settings[ADAM_BETA2]) - 1;
  const double length = most - 2 * (double)step * power / (1 - power); /* of the mean, in squares */
  const double share = (length - 4) * (length - 2) * most / ((most - 4) * (most - 2) * length);
  adam_count(settings, step, carried, numbers);
  numbers[ADAM_RATE] = -settings[LR];
  numbers[ADAM_LACKS] = 1 - pow(settings[ADAM_BETA1], (double)step);
  numbers[RADAM_RECTIFIED] = length > 5 ? -settings[LR] * sqrt(share) * sqrt(1 - power) : 0;
  if (settings[RADAM_DECOUPLED] != 0) numbers[ADAM_DECAY] = kept(settings, ADAM_WEIGHT_DECAY);
}

static void radam_update(laze_update *update) {
  laze_tensor *gradient = adam_prepare(update, RADAM_DECOUPLED, RADAM_MAXIMIZE);
  laze_tensor *const *numbers = update->numbers, *rectified = numbers[RADAM_RECTIFIED];
  laze_tensor *root = add(laze_sqrt(adam_means(update, gradient)), numbers[ADAM_LEAST]);
  laze_tensor *mean = div(update->memories[ADAM_MEAN], numbers[ADAM_LACKS]), *is_rectified = laze_ne(rectified, 0);
  laze_tensor *way = laze_where(is_rectified, div(mul(mean, rectified), root), mul(mean, numbers[ADAM_RATE]));
  update->parameter = add(update->parameter, way);
}

/* ---- parameter = parameter - lr gradient / (sqrt(mean of squares) + eps) */

enum { RMS_ALPHA = 1, RMS_EPS, RMS_WEIGHT_DECAY, RMS_MOMENTUM, RMS_CENTERED, RMS_MAXIMIZE };
enum { RMS_RATE, RMS_KEEP, RMS_ADD, RMS_ADD_MEAN, RMS_LEAST, RMS_DECAY, RMS_KEEP_VELOCITY };
enum { RMS_SQUARE, RMS_VELOCITY, RMS_MEAN };

static unsigned rms_remembers(const double *settings) {
  return 1 | (settings[RMS_MOMENTUM] != 0 ? 1 << RMS_VELOCITY : 0) | (settings[RMS_CENTERED] != 0 ? 1 << RMS_MEAN : 0);
}

static void rms_count(const double *settings, int64_t step, double *carried, double *numbers) {
  (void)step, (void)carried;
  numbers[RMS_RATE] = -settings[LR];
  numbers[RMS_KEEP] = settings[RMS_ALPHA];
  numbers[RMS_ADD] = 1 - settings[RMS_ALPHA];
  numbers[RMS_ADD_MEAN] = nearer(1 - settings[RMS_ALPHA]);
  numbers[RMS_LEAST] = settings[RMS_EPS];
  numbers[RMS_DECAY] = settings[RMS_WEIGHT_DECAY];
  numbers[RMS_KEEP_VELOCITY] = settings[RMS_MOMENTUM];
}

static void rms_update(laze_update *update) {
  laze_tensor *const *numbers = update->numbers, **memories = update->memories;
  laze_tensor *gradient = prepare(update, RMS_MAXIMIZE, RMS_WEIGHT_DECAY, RMS_DECAY);
  laze_tensor *square = add_square(memories[RMS_SQUARE], numbers[RMS_KEEP], gradient, numbers[RMS_ADD]);
  memories[RMS_SQUARE] = square;
  if (memories[RMS_MEAN]) { /* the variance in place of the mean square */
    laze_tensor *mean = approach(memories[RMS_MEAN], gradient, 1 - update->settings[RMS_ALPHA], numbers[RMS_ADD_MEAN]);
    memories[RMS_MEAN] = mean;
    square = sub(square, mul(mean, mean));
  }
  laze_tensor *root = add(laze_sqrt(square), numbers[RMS_LEAST]);
  if (!memories[RMS_VELOCITY]) {
    update->parameter = move(update->parameter, numbers[RMS_RATE], gradient, root);
    return;
  }
  laze_tensor *velocity = mul(memories[RMS_VELOCITY], numbers[RMS_KEEP_VELOCITY]);
  velocity = memories[RMS_VELOCITY] = add(velocity, div(gradient, root));
  update->parameter = add_product(update->parameter, velocity, numbers[RMS_RATE]);
}

/* ---- parameter = parameter - lr gradient / (sqrt(sum of squares) + eps) */

enum { GRAD_LR_DECAY = 1, GRAD_WEIGHT_DECAY, GRAD_INITIAL, GRAD_EPS, GRAD_MAXIMIZE };
enum { GRAD_RATE, GRAD_LEAST, GRAD_DECAY };

static void adagrad_count(const double *settings, int64_t step, double *carried, double *numbers) {
  (void)carried;
  numbers[GRAD_RATE] = -(settings[LR] / (1 + (double)(step - 1) * settings[GRAD_LR_DECAY]));
  numbers[GRAD_LEAST] = settings[GRAD_EPS];
  numbers[GRAD_DECAY] = settings[GRAD_WEIGHT_DECAY];
}

static void adagrad_update(laze_update *update) {
  laze_tensor *gradient = prepare(update, GRAD_MAXIMIZE, GRAD_WEIGHT_DECAY, GRAD_DECAY);
  laze_tensor *sum = update->memories[0] = add(update->memories[0], mul(gradient, gradient));
  laze_tensor *root = add(laze_sqrt(sum), update->numbers[GRAD_LEAST]);
  update->parameter = move(update->parameter, update->numbers[GRAD_RATE], gradient, root);
}

/* ---- parameter = parameter - lr gradient sqrt(mean of squared changes + eps) / sqrt(mean of squares + eps) */

enum { DELTA_RHO = 1, DELTA_EPS, DELTA_WEIGHT_DECAY, DELTA_MAXIMIZE };
enum { DELTA_RATE, DELTA_KEEP, DELTA_ADD, DELTA_LEAST, DELTA_DECAY };
enum { DELTA_SQUARE, DELTA_CHANGE };

static void adadelta_count(const double *settings, int64_t step, double *carried, double *numbers) {
  (void)step, (void)carried;
  numbers[DELTA_RATE] = -settings[LR];
  numbers[DELTA_KEEP] = settings[DELTA_RHO];
  numbers[DELTA_ADD] = 1 - settings[DELTA_RHO];
  numbers[DELTA_LEAST] = settings[DELTA_EPS];
  numbers[DELTA_DECAY] = settings[DELTA_WEIGHT_DECAY];
}

static void adadelta_update(laze_update *update) {
  laze_tensor *const *numbers = update->numbers, **memories = update->memories;
  laze_tensor *gradient = prepare(update, DELTA_MAXIMIZE, DELTA_WEIGHT_DECAY, DELTA_DECAY);
  laze_tensor *keep = numbers[DELTA_KEEP], *share = numbers[DELTA_ADD], *least = numbers[DELTA_LEAST];
  laze_tensor *square = memories[DELTA_SQUARE] = add_square(memories[DELTA_SQUARE], keep, gradient, share);
  laze_tensor *root = laze_sqrt(add(memories[DELTA_CHANGE], least));
  laze_tensor *change = mul(div(root, laze_sqrt(add(square, least))), gradient);
  memories[DELTA_CHANGE] = add_square(memories[DELTA_CHANGE], keep, change, share);
  update->parameter = add_product(update->parameter, change, numbers[DELTA_RATE]);
}

/* ---- Steps down the gradient that become shorter, and the mean of where they led from step t0 on */

enum { MEAN_LAMBD = 1, MEAN_ALPHA, MEAN_T0, MEAN_WEIGHT_DECAY, MEAN_MAXIMIZE };
enum { MEAN_RATE, MEAN_SHRINK, MEAN_LEFT, MEAN_DECAY };
enum { MEAN_ETA, MEAN_MU };

/* The rate, and how much of the mean is new, are those that the step before has left. */
static void asgd_count(const double *settings, int64_t step, double *carried, double *numbers) {
  const double eta = step == 1 ? settings[LR] : carried[MEAN_ETA], mu = step == 1 ? 1 : carried[MEAN_MU];
  numbers[MEAN_RATE] = -eta;
  numbers[MEAN_SHRINK] = 1 - settings[MEAN_LAMBD] * eta;
  numbers[MEAN_LEFT] = 1 - mu;
  numbers[MEAN_DECAY] = settings[MEAN_WEIGHT_DECAY];
  carried[MEAN_ETA] = settings[LR] / pow(1 + settings[MEAN_LAMBD] * settings[LR] * (double)step, settings[MEAN_ALPHA]);
  carried[MEAN_MU] = 1 / fmax(1, (double)step - settings[MEAN_T0]);
}

static void asgd_update(laze_update *update) {
  laze_tensor *const *numbers = update->numbers, *gradient;
  gradient = prepare(update, MEAN_MAXIMIZE, MEAN_WEIGHT_DECAY, MEAN_DECAY);
  laze_tensor *next = add_product(mul(update->parameter, numbers[MEAN_SHRINK]), gradient, numbers[MEAN_RATE]);
  update->parameter = next;
  update->memories[0] = add_product(next, sub(update->memories[0], next), numbers[MEAN_LEFT]);
}

/* ---- Steps of an element's own size, which grows where its gradient keeps its sign */

enum { SIGN_LESS = 1, SIGN_MORE, SIGN_SMALLEST, SIGN_LARGEST, SIGN_MAXIMIZE };
enum { SIGN_SIZE, SIGN_BEFORE };

static laze_status rprop_check(const double *settings, laze_error *error) {
  if (settings[SIGN_LESS] > 0 && settings[SIGN_LESS] < 1 && settings[SIGN_MORE] > 1) return LAZE_OK;
  return laze_fail(error, LAZE_INVALID_ARGUMENT,
                   "rprop: etaminus is %g and etaplus %g: expected one between 0 and 1, and one above 1",
                   settings[SIGN_LESS], settings[SIGN_MORE]);
}

static void rprop_count(const double *settings, int64_t step, double *carried, double *numbers) {
  (void)step, (void)carried;
  for (int i = SIGN_LESS; i <= SIGN_LARGEST; i++) numbers[i] = settings[i];
}

/* Where the sign has changed, there is no step, and none to compare the next one with. */
static void rprop_update(laze_update *update) {
  laze_tensor *const *numbers = update->numbers, **memories = update->memories, *gradient = update->gradient;
  if (update->settings[SIGN_MAXIMIZE] != 0) gradient = laze_neg(gradient);
  laze_tensor *both = mul(gradient, memories[SIGN_BEFORE]), *turned = laze_lt(both, 0);
  laze_tensor *factor = laze_where(turned, numbers[SIGN_LESS], laze_add(both, 1)); /* of 0, or NaN */
  factor = laze_where(laze_gt(both, 0), numbers[SIGN_MORE], factor);
  laze_tensor *size = laze_maximum(mul(memories[SIGN_SIZE], factor), numbers[SIGN_SMALLEST]);
  size = memories[SIGN_SIZE] = laze_minimum(size, numbers[SIGN_LARGEST]);
  gradient = memories[SIGN_BEFORE] = laze_where(turned, laze_zeros_like(gradient), gradient);
  update->parameter = sub(update->parameter, mul(laze_sign(gradient), size));
}

/* ---- The table. */

/* Without the last ones. */
#define ADAM_SETTINGS(rate, decay)                                                                                     \
  [LR] = {"lr", rate, LAZE_SETTING_NOT_NEGATIVE}, [ADAM_BETA1] = {"beta1", 0.9, LAZE_SETTING_FRACTION},                \
  [ADAM_BETA2] = {"beta2", 0.999, LAZE_SETTING_FRACTION}, [ADAM_EPS] = {"eps", 1e-8, LAZE_SETTING_NOT_NEGATIVE},       \
  [ADAM_WEIGHT_DECAY] = {"weight_decay", decay, LAZE_SETTING_NOT_NEGATIVE}

static const laze_algorithm algorithms[] = {
    {.name = "sgd",
     .settings = {[LR] = {"lr", 1e-3, LAZE_SETTING_NOT_NEGATIVE},
                  [SGD_MOMENTUM] = {"momentum", 0, LAZE_SETTING_NOT_NEGATIVE},
                  [SGD_DAMPENING] = {"dampening", 0, LAZE_SETTING_FINITE},
                  [SGD_WEIGHT_DECAY] = {"weight_decay", 0, LAZE_SETTING_NOT_NEGATIVE},
                  [SGD_NESTEROV] = {"nesterov", 0, LAZE_SETTING_FLAG},
                  [SGD_MAXIMIZE] = {"maximize", 0, LAZE_SETTING_FLAG}},
     .memories = {"momentum_buffer"},
     .uncounted = true,
     .initial = -1,
     .check = sgd_check,
     .remembers = sgd_remembers,
     .count = sgd_count,
     .update = sgd_update},
    {.name = "adam",
     .settings = {ADAM_SETTINGS(1e-3, 0), [ADAM_AMSGRAD] = {"amsgrad", 0, LAZE_SETTING_FLAG},
                  [ADAM_MAXIMIZE] = {"maximize", 0, LAZE_SETTING_FLAG}},
     .memories = {"exp_avg", "exp_avg_sq", "max_exp_avg_sq"},
     .initial = -1,
     .remembers = adam_remembers,
     .count = adam_count,
     .update = adam_update},
    {.name = "adamw",
     .settings = {ADAM_SETTINGS(1e-3, 1e-2), [ADAM_AMSGRAD] = {"amsgrad", 0, LAZE_SETTING_FLAG},
                  [ADAM_MAXIMIZE] = {"maximize", 0, LAZE_SETTING_FLAG}},
     .memories = {"exp_avg", "exp_avg_sq", "max_exp_avg_sq"},
     .initial = -1,
     .remembers = adam_remembers,
     .count = adamw_count,
     .update = adamw_update},
    {.name = "adamax",
     .settings = {ADAM_SETTINGS(2e-3, 0), [MAX_MAXIMIZE] = {"maximize", 0, LAZE_SETTING_FLAG}},
     .memories = {"exp_avg", "exp_inf"},
     .initial = -1,
     .remembers = remembers_two,
     .count = adam_count,
     .update = adamax_update},
    {.name = "nadam",
     .settings = {ADAM_SETTINGS(2e-3, 0), [NADAM_MOMENTUM_DECAY] = {"momentum_decay", 4e-3, LAZE_SETTING_NOT_NEGATIVE},
                  [NADAM_DECOUPLED] = {"decoupled_weight_decay", 0, LAZE_SETTING_FLAG},
                  [NADAM_MAXIMIZE] = {"maximize", 0, LAZE_SETTING_FLAG}},
     .memories = {"exp_avg", "exp_avg_sq"},
     .carried = {"mu_product"},
     .initial = -1,
     .remembers = remembers_two,
     .count = nadam_count,
     .update = nadam_update},
    {.name = "radam",
     .settings = {ADAM_SETTINGS(1e-3, 0), [RADAM_DECOUPLED] = {"decoupled_weight_decay", 0, LAZE_SETTING_FLAG},
                  [RADAM_MAXIMIZE] = {"maximize", 0, LAZE_SETTING_FLAG}},
     .memories = {"exp_avg", "exp_avg_sq"},
     .initial = -1,
     .remembers = remembers_two,
     .count = radam_count,
     .update = radam_update},
    {.name = "rmsprop",
     .settings = {[LR] = {"lr", 1e-2, LAZE_SETTING_NOT_NEGATIVE},
                  [RMS_ALPHA] = {"alpha", 0.99, LAZE_SETTING_NOT_NEGATIVE},
                  [RMS_EPS] = {"eps", 1e-8, LAZE_SETTING_NOT_NEGATIVE},
                  [RMS_WEIGHT_DECAY] = {"weight_decay", 0, LAZE_SETTING_NOT_NEGATIVE},
                  [RMS_MOMENTUM] = {"momentum", 0, LAZE_SETTING_NOT_NEGATIVE},
                  [RMS_CENTERED] = {"centered", 0, LAZE_SETTING_FLAG},
                  [RMS_MAXIMIZE] = {"maximize", 0, LAZE_SETTING_FLAG}},
     .memories = {"square_avg", "momentum_buffer", "grad_avg"},
     .initial = -1,
     .remembers = rms_remembers,
     .count = rms_count,
     .update = rms_update},
    {.name = "adagrad",
     .settings = {[LR] = {"lr", 1e-2, LAZE_SETTING_NOT_NEGATIVE},
                  [GRAD_LR_DECAY] = {"lr_decay", 0, LAZE_SETTING_NOT_NEGATIVE},
                  [GRAD_WEIGHT_DECAY] = {"weight_decay", 0, LAZE_SETTING_NOT_NEGATIVE},
                  [GRAD_INITIAL] = {"initial_accumulator_value", 0, LAZE_SETTING_NOT_NEGATIVE},
                  [GRAD_EPS] = {"eps", 1e-10, LAZE_SETTING_NOT_NEGATIVE},
                  [GRAD_MAXIMIZE] = {"maximize", 0, LAZE_SETTING_FLAG}},
     .memories = {"sum"},
     .initial = GRAD_INITIAL,
     .remembers = remembers_one,
     .count = adagrad_count,
     .update = adagrad_update},
    {.name = "adadelta",
     .settings = {[LR] = {"lr", 1, LAZE_SETTING_NOT_NEGATIVE},
                  [DELTA_RHO] = {"rho", 0.9, LAZE_SETTING_NOT_NEGATIVE},
                  [DELTA_EPS] = {"eps", 1e-6, LAZE_SETTING_NOT_NEGATIVE},
                  [DELTA_WEIGHT_DECAY] = {"weight_decay", 0, LAZE_SETTING_NOT_NEGATIVE},
                  [DELTA_MAXIMIZE] = {"maximize", 0, LAZE_SETTING_FLAG}},
     .memories = {"square_avg", "acc_delta"},
     .initial = -1,
     .remembers = remembers_two,
     .count = adadelta_count,
     .update = adadelta_update},
    {.name = "asgd",
     .settings = {[LR] = {"lr", 1e-2, LAZE_SETTING_NOT_NEGATIVE},
                  [MEAN_LAMBD] = {"lambd", 1e-4, LAZE_SETTING_NOT_NEGATIVE},
                  [MEAN_ALPHA] = {"alpha", 0.75, LAZE_SETTING_FINITE},
                  [MEAN_T0] = {"t0", 1e6, LAZE_SETTING_FINITE},
                  [MEAN_WEIGHT_DECAY] = {"weight_decay", 0, LAZE_SETTING_NOT_NEGATIVE},
                  [MEAN_MAXIMIZE] = {"maximize", 0, LAZE_SETTING_FLAG}},
     .memories = {"ax"},
     .carried = {"eta", "mu"},
     .initial = -1,
     .remembers = remembers_one,
     .count = asgd_count,
     .update = asgd_update},
    {.name = "rprop",
     .settings = {[LR] = {"lr", 1e-2, LAZE_SETTING_NOT_NEGATIVE},
                  [SIGN_LESS] = {"etaminus", 0.5, LAZE_SETTING_FINITE},
                  [SIGN_MORE] = {"etaplus", 1.2, LAZE_SETTING_FINITE},
                  [SIGN_SMALLEST] = {"step_size_min", 1e-6, LAZE_SETTING_NOT_NEGATIVE},
                  [SIGN_LARGEST] = {"step_size_max", 50, LAZE_SETTING_NOT_NEGATIVE},
                  [SIGN_MAXIMIZE] = {"maximize", 0, LAZE_SETTING_FLAG}},
     .memories = {"step_size", "prev"},
     .initial = LR,
     .check = rprop_check,
     .remembers = remembers_two,
     .count = rprop_count,
     .update = rprop_update},
};

const laze_algorithm *laze_algorithm_find(const char *name) {
  for (size_t i = 0; name && i < sizeof algorithms / sizeof *algorithms; i++)
    if (strcmp(algorithms[i].name, name) == 0) return &algorithms[i];
  return NULL;
}

laze_status laze_algorithm_missing(const char *name, laze_error *error) {
  char names[sizeof algorithms / sizeof *algorithms * 16] = "";
  size_t length = 0;
  for (size_t i = 0; i < sizeof algorithms / sizeof *algorithms && length < sizeof names; i++)
    length += (size_t)snprintf(names + length, sizeof names - length, "%s%s", i == 0 ? "" : ", ", algorithms[i].name);
  return laze_fail(error, LAZE_NOT_FOUND, "there is no optimiser \"%s\": expected one of %s", name ? name : "(NULL)",
                   names);
}
