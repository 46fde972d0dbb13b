/* The formulas of optimisers, in the order of operations that torch.optim has, so that results agree to the last bits.
 *
 * What differs from step to step is among the numbers, tensors without dimensions that all parameters of a step share:
 * inputs of the graph, and not a part of it. */
#include "laze/functions.h"
#include "optim/optimiser.h"

#include <math.h>
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

static void sgd_count(const double *settings, int64_t step, double *numbers) {
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

static void adam_count(const double *settings, int64_t step, double *numbers) {
  numbers[ADAM_RATE] = -(settings[LR] / (1 - pow(settings[ADAM_BETA1], (double)step)));
  numbers[ADAM_ADD] = nearer(1 - settings[ADAM_BETA1]);
  numbers[ADAM_KEEP_SQUARE] = settings[ADAM_BETA2];
  numbers[ADAM_ADD_SQUARE] = 1 - settings[ADAM_BETA2];
  numbers[ADAM_LACKS] = sqrt(1 - pow(settings[ADAM_BETA2], (double)step));
  numbers[ADAM_LEAST] = settings[ADAM_EPS];
  numbers[ADAM_DECAY] = settings[ADAM_WEIGHT_DECAY];
}

static void adam_by(laze_update *update, laze_tensor *gradient) {
  laze_tensor *const *numbers = update->numbers, **memories = update->memories, *square;
  memories[ADAM_MEAN] = approach(memories[ADAM_MEAN], gradient, 1 - update->settings[ADAM_BETA1], numbers[ADAM_ADD]);
  square = memories[ADAM_SQUARE] =
      add_square(memories[ADAM_SQUARE], numbers[ADAM_KEEP_SQUARE], gradient, numbers[ADAM_ADD_SQUARE]);
  if (memories[ADAM_LARGEST]) square = memories[ADAM_LARGEST] = laze_maximum(memories[ADAM_LARGEST], square);
  laze_tensor *root = add(div(laze_sqrt(square), numbers[ADAM_LACKS]), numbers[ADAM_LEAST]);
  update->parameter = move(update->parameter, numbers[ADAM_RATE], memories[ADAM_MEAN], root);
}

static void adam_update(laze_update *update) {
  adam_by(update, prepare(update, ADAM_MAXIMIZE, ADAM_WEIGHT_DECAY, ADAM_DECAY));
}

static void adamw_count(const double *settings, int64_t step, double *numbers) {
  adam_count(settings, step, numbers);
  numbers[ADAM_DECAY] = 1 - settings[LR] * settings[ADAM_WEIGHT_DECAY];
}

static void adamw_update(laze_update *update) {
  const double *settings = update->settings;
  if (settings[ADAM_WEIGHT_DECAY] != 0) update->parameter = mul(update->parameter, update->numbers[ADAM_DECAY]);
  adam_by(update, settings[ADAM_MAXIMIZE] != 0 ? laze_neg(update->gradient) : update->gradient);
}

/* ---- parameter = parameter - lr gradient / (sqrt(mean of squares) + eps) */

enum { RMS_ALPHA = 1, RMS_EPS, RMS_WEIGHT_DECAY, RMS_MOMENTUM, RMS_CENTERED, RMS_MAXIMIZE };
enum { RMS_RATE, RMS_KEEP, RMS_ADD, RMS_ADD_MEAN, RMS_LEAST, RMS_DECAY, RMS_KEEP_VELOCITY };
enum { RMS_SQUARE, RMS_VELOCITY, RMS_MEAN };

static unsigned rms_remembers(const double *settings) {
  return 1 | (settings[RMS_MOMENTUM] != 0 ? 1 << RMS_VELOCITY : 0) | (settings[RMS_CENTERED] != 0 ? 1 << RMS_MEAN : 0);
}

static void rms_count(const double *settings, int64_t step, double *numbers) {
  (void)step;
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

static unsigned adagrad_remembers(const double *settings) {
  (void)settings;
  return 1;
}

static void adagrad_count(const double *settings, int64_t step, double *numbers) {
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

/* ---- The table. */

#define ADAM_SETTINGS(decay)                                                                                           \
  {                                                                                                                    \
    [LR] = {"lr", 1e-3, LAZE_SETTING_NOT_NEGATIVE}, [ADAM_BETA1] = {"beta1", 0.9, LAZE_SETTING_FRACTION},              \
    [ADAM_BETA2] = {"beta2", 0.999, LAZE_SETTING_FRACTION}, [ADAM_EPS] = {"eps", 1e-8, LAZE_SETTING_NOT_NEGATIVE},     \
    [ADAM_WEIGHT_DECAY] = {"weight_decay", decay, LAZE_SETTING_NOT_NEGATIVE},                                          \
    [ADAM_AMSGRAD] = {"amsgrad", 0, LAZE_SETTING_FLAG}, [ADAM_MAXIMIZE] = {                                            \
      "maximize",                                                                                                      \
      0,                                                                                                               \
      LAZE_SETTING_FLAG                                                                                                \
    }                                                                                                                  \
  }

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
     .settings = ADAM_SETTINGS(0),
     .memories = {"exp_avg", "exp_avg_sq", "max_exp_avg_sq"},
     .initial = -1,
     .remembers = adam_remembers,
     .count = adam_count,
     .update = adam_update},
    {.name = "adamw",
     .settings = ADAM_SETTINGS(1e-2),
     .memories = {"exp_avg", "exp_avg_sq", "max_exp_avg_sq"},
     .initial = -1,
     .remembers = adam_remembers,
     .count = adamw_count,
     .update = adamw_update},
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
     .remembers = adagrad_remembers,
     .count = adagrad_count,
     .update = adagrad_update},
};

const laze_algorithm *laze_algorithm_find(const char *name) {
  for (size_t i = 0; name && i < sizeof algorithms / sizeof *algorithms; i++)
    if (strcmp(algorithms[i].name, name) == 0) return &algorithms[i];
  return NULL;
}
