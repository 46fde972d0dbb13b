/* Trains a network from scratch to read handwritten digits, and reports what the machinery did meanwhile.
 *
 *   read the digits -> upload them once -> for each mini-batch: record a step, run it -> test on digits held out
 *
 * Run it twice: the second process finds every kernel in the disk cache and compiles nothing.
 */
#include "examples/digits_data.h"
#include "examples/digits_network.h"

#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define HELD_OUT 360 /* digits that are not trained on, picked at random, but the same in every run */
#define BATCH 128
#define SEED 1
#define FIRST_LEARNING_RATE 0.01
#define WANTED_ACCURACY 0.95

typedef struct digits_settings {
  const char *backend; /* NULL: the best built */
  const char *data;
  long epochs;
  int quiet;
} digits_settings;

typedef struct training {
  laze_context *context;
  digits_network network;
  digits_data data;
  laze_tensor *images, *labels; /* of all digits */
  int64_t *order;               /* row numbers: first those to train on, then those held out */
  int64_t train_count, steps;
  uint64_t random;
  double seconds, first_epoch_seconds;
  long long first_epoch_kernels, later_kernels; /* compiled */
} training;

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Puts the first `count` row numbers into a random order (Fisher and Yates), the same in every run. */
static void shuffle(training *run, int64_t count) {
  for (int64_t i = count - 1; i > 0; i--) {
    run->random = run->random * 6364136223846793005u + 1442695040888963407u;
    const int64_t other = (int64_t)((run->random >> 33) % (uint64_t)(i + 1));
    const int64_t moved = run->order[i];
    run->order[i] = run->order[other];
    run->order[other] = moved;
  }
}

/* Splits the digits into those to train on and those held out. */
static laze_status split(training *run) {
  run->random = SEED;
  run->order = malloc((size_t)run->data.count * sizeof *run->order);
  if (run->order == NULL) return LAZE_OUT_OF_MEMORY;
  for (int64_t i = 0; i < run->data.count; i++) run->order[i] = i;
  shuffle(run, run->data.count);
  return LAZE_OK;
}

/* Copies the digits into tensors that stay for the whole run; each batch is then picked from them by row number. */
static laze_status upload(training *run, laze_error *error) {
  const int64_t count = run->data.count;
  laze_scope *scope = laze_scope_begin(run->context);
  run->images = laze_tensor_retain(laze_tensor_from_data(run->context, LAZE_F32, LAZE_SHAPE(count, DIGITS_PIXELS),
                                                         run->data.images, (size_t)(count * DIGITS_PIXELS) * 4));
  run->labels = laze_tensor_retain(
      laze_tensor_from_data(run->context, LAZE_I64, LAZE_SHAPE(count), run->data.labels, (size_t)count * 8));
  return laze_scope_end_error(scope, error);
}

/* `count` rows of the digits, from place `first` in the order. */
static void pick(training *run, int64_t first, int64_t count, laze_tensor **images, laze_tensor **labels) {
  laze_tensor *rows =
      laze_tensor_from_data(run->context, LAZE_I64, LAZE_SHAPE(count), run->order + first, (size_t)count * 8);
  *images = laze_index_select(run->images, 0, rows);
  *labels = laze_index_select(run->labels, 0, rows);
}

static laze_status train_epoch(training *run, laze_error *error) {
  shuffle(run, run->train_count);
  for (int64_t first = 0; first < run->train_count; first += BATCH) {
    const int64_t left = run->train_count - first;
    const int64_t size = left < BATCH ? left : BATCH; /* the last batch is smaller: same kernels, other sizes */
    const double learning_rate = FIRST_LEARNING_RATE / (1 + 0.005 * (double)run->steps);
    laze_tensor *images, *labels;
    laze_scope *scope = laze_scope_begin(run->context);
    pick(run, first, size, &images, &labels);
    const laze_status status = digits_network_step(&run->network, scope, images, labels, learning_rate, error);
    if (status != LAZE_OK) return status;
    run->steps++;
  }
  return LAZE_OK;
}

static long long metric(training *run, const char *name) {
  int64_t value = -1;
  return laze_metric_read(run->context, name, &value, NULL) == LAZE_OK ? (long long)value : -1;
}

/* On a terminal one line that changes; in a pipe nothing. */
static laze_status show_progress(training *run, long epoch, long epochs, laze_error *error) {
  laze_scope *scope = laze_scope_begin(run->context);
  const double loss = laze_tensor_item(run->network.loss); /* computed by the step already */
  printf("\repoch %ld of %ld, loss %.4f ", epoch, epochs, loss);
  fflush(stdout);
  return laze_scope_end_error(scope, error);
}

static laze_status train(training *run, const digits_settings *settings, laze_error *error) {
  laze_status status = LAZE_OK;
  const int visible = !settings->quiet && isatty(STDOUT_FILENO);
  const double start = now();
  for (long epoch = 1; status == LAZE_OK && epoch <= settings->epochs; epoch++) {
    status = train_epoch(run, error);
    if (epoch == 1) run->first_epoch_seconds = now() - start;
    if (epoch == 1) run->first_epoch_kernels = metric(run, "kernels_compiled");
    if (status == LAZE_OK && visible) status = show_progress(run, epoch, settings->epochs, error);
  }
  run->seconds = now() - start;
  run->later_kernels = metric(run, "kernels_compiled") - run->first_epoch_kernels;
  if (visible) printf("\r\033[K");
  return status;
}

/* The share of the held-out digits that the network reads right. */
static laze_status test(training *run, double *accuracy, laze_error *error) {
  laze_scope *scope = laze_scope_begin(run->context);
  laze_tensor *images, *labels;
  pick(run, run->train_count, HELD_OUT, &images, &labels);
  laze_tensor *read = laze_argmax(digits_network_logits(&run->network, images), 1, false);
  *accuracy = laze_tensor_item(laze_sum(laze_eq(read, labels))) / HELD_OUT;
  return laze_scope_end_error(scope, error);
}

static void report(training *run, double accuracy) {
  const int64_t epoch_steps = (run->train_count + BATCH - 1) / BATCH;
  const double later = run->seconds - run->first_epoch_seconds;
  printf("held-out accuracy   %.4f (%d digits never trained on; at least %.2f wanted)\n", accuracy, HELD_OUT,
         WANTED_ACCURACY);
  printf("steps               %lld in %.3f s: %.0f a second", (long long)run->steps, run->seconds,
         (double)run->steps / run->seconds);
  if (run->steps > epoch_steps && later > 0)
    printf(", %.0f a second after the first epoch", (double)(run->steps - epoch_steps) / later);
  printf("\noperations recorded %lld, in %lld graphs run\n", metric(run, "nodes_recorded"), metric(run, "graphs_run"));
  printf("trace cache         %lld hits, %lld misses (%lld of them a known graph with other sizes)\n",
         metric(run, "trace_cache_hits"), metric(run, "trace_cache_misses"), metric(run, "program_cache_hits"));
  printf("kernels             %lld compiled (%lld after the first epoch), %lld from the disk cache, %lld operations "
         "interpreted instead\n",
         metric(run, "kernels_compiled"), run->later_kernels, metric(run, "disk_cache_hits"), metric(run, "fallbacks"));
  printf("time                tracing %.1f ms, planning %.1f ms, compiling %.1f ms, running %.1f ms\n",
         1e-3 * (double)metric(run, "time_trace_us"), 1e-3 * (double)metric(run, "time_plan_us"),
         1e-3 * (double)metric(run, "time_compile_us"), 1e-3 * (double)metric(run, "time_run_us"));
  if (metric(run, "kernels_compiled") == 0 && metric(run, "disk_cache_hits") > 0)
    printf("No kernel was compiled: all of them came from the disk cache.\n");
}

static laze_status run_all(training *run, const digits_settings *settings, double *accuracy, laze_error *error) {
  laze_status status = split(run);
  if (status == LAZE_OK) status = upload(run, error);
  if (status == LAZE_OK) status = digits_network_init(&run->network, run->context, SEED, error);
  if (status == LAZE_OK) status = train(run, settings, error);
  if (status == LAZE_OK) status = test(run, accuracy, error);
  return status;
}

static error_t parse_option(int key, char *argument, struct argp_state *state) {
  digits_settings *settings = state->input;
  char *end;
  switch (key) {
  case 'b': settings->backend = argument; return 0;
  case 'd': settings->data = argument; return 0;
  case 'q': settings->quiet = 1; return 0;
  case 'e':
    settings->epochs = strtol(argument, &end, 10);
    if (*end != '\0' || settings->epochs < 1 || settings->epochs > 100000)
      argp_error(state, "--epochs takes a number from 1 to 100000, not \"%s\"", argument);
    return 0;
  default: return ARGP_ERR_UNKNOWN;
  }
}

static const struct argp_option option_list[] = {
    {"backend", 'b', "NAME", 0, "llvm or interp (default: the best that was built)", 0},
    {"data", 'd', "FILE", 0, "the digits, .csv or .csv.gz (default: examples/data/digits.csv.gz)", 0},
    {"epochs", 'e', "N", 0, "how often each digit is seen (default: 30)", 0},
    {"quiet", 'q', NULL, 0, "no progress line", 0},
    {0},
};

int main(int argc, char **argv) {
  static const struct argp parser = {option_list,
                                     parse_option,
                                     NULL,
                                     "Trains a network that reads handwritten digits, with laze.\v"
                                     "Exit status: 0 trained to the wanted accuracy, 1 not, 2 wrong usage.",
                                     NULL,
                                     NULL,
                                     NULL};
  digits_settings settings = {.data = "examples/data/digits.csv.gz", .epochs = 30};
  argp_err_exit_status = 2;
  argp_parse(&parser, argc, argv, 0, NULL, &settings);

  training run = {0};
  if (digits_data_read(settings.data, &run.data)) return 1;
  run.train_count = run.data.count - HELD_OUT;
  if (run.train_count < 1) {
    fprintf(stderr, "%s: %lld digits; more than %d are needed\n", settings.data, (long long)run.data.count, HELD_OUT);
    digits_data_deinit(&run.data);
    return 1;
  }
  printf("digits: training on %lld, testing on %d, batches of %d, %ld epochs\n", (long long)run.train_count, HELD_OUT,
         BATCH, settings.epochs);

  laze_error error = {0};
  double accuracy = 0;
  const laze_context_options options = {.struct_size = sizeof options, .backend = settings.backend};
  laze_status status = laze_context_create(&options, &run.context, &error);
  if (status == LAZE_OK) status = run_all(&run, &settings, &accuracy, &error);
  if (status == LAZE_OK) report(&run, accuracy);
  if (status != LAZE_OK)
    fprintf(stderr, "digits: %s: %s\n", laze_status_name(status), error.message);
  else if (accuracy < WANTED_ACCURACY)
    fprintf(stderr, "digits: the accuracy is too low; train longer (--epochs)\n");

  digits_network_deinit(&run.network);
  laze_tensor_release(run.images);
  laze_tensor_release(run.labels);
  laze_context_release(run.context);
  free(run.order);
  digits_data_deinit(&run.data);
  return status != LAZE_OK || accuracy < WANTED_ACCURACY;
}
