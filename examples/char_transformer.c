/* Trains a small transformer to write text, character by character, and shows what it writes.
 *
 *   read a text -> upload it once -> for each step: pick a batch, record forward, backward and update, run -> write
 *
 * With --checkpoint FILE, everything that a training consists of (parameters, what the optimiser remembers, where the
 * random numbers are, the step) is saved as safetensors, and --resume goes on from there, to the same bits as a
 * training that was never interrupted.
 */
#include "examples/char_network.h"

#include <argp.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SEED 1
#define WARMUP 20 /* steps in which the learning rate rises */
#define FIRST_RATE 3e-3
#define REPORT 50 /* steps between two lines of progress */
#define MOST_TENSORS (5 * CHAR_MOST_PARAMETERS)

typedef struct settings {
  const char *text, *checkpoint;
  long steps, batch, sample;
  int resume, quiet;
} settings;

typedef struct training {
  laze_context *context;
  char_network network;
  laze_optimiser *optimiser;
  laze_tensor *text, *loss;
  int64_t *characters;         /* of the text */
  int64_t count, step, offset; /* of random numbers that dropout has taken */
} training;

/* The characters of ASCII in a file. */
static int read_text(const char *path, training *run) {
  FILE *file = fopen(path, "rb");
  if (file == NULL) return perror(path), 1;
  int64_t room = 0;
  for (int letter; (letter = fgetc(file)) != EOF;) {
    if (letter >= CHAR_SYMBOLS) continue;
    if (run->count == room) {
      room = room == 0 ? 4096 : 2 * room;
      int64_t *grown = realloc(run->characters, (size_t)room * sizeof *grown);
      if (grown == NULL) return fclose(file), 1;
      run->characters = grown;
    }
    run->characters[run->count++] = letter;
  }
  fclose(file);
  if (run->count > run->network.length + 1) return 0;
  fprintf(stderr, "%s: %lld characters; more than %lld are needed\n", path, (long long)run->count,
          (long long)run->network.length + 1);
  return 1;
}

/* Places in the text, which follow from the step alone, so that a training that goes on sees what it would have seen.
 */
static void pick_places(const training *run, int64_t *places, long count) {
  uint64_t random = (uint64_t)run->step * 0x9e3779b97f4a7c15u + SEED;
  for (long i = 0; i < count; i++) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    places[i] = (int64_t)((random >> 33) % (uint64_t)(run->count - run->network.length));
  }
}

/* A batch: characters [batch, length], and those that come next. */
static void pick(training *run, long batch, laze_tensor **inputs, laze_tensor **targets) {
  int64_t places[256];
  const int64_t length = run->network.length;
  pick_places(run, places, batch);
  laze_tensor *first =
      laze_tensor_from_data(run->context, LAZE_I64, LAZE_SHAPE(batch, 1), places, (size_t)batch * sizeof *places);
  laze_tensor *rows = laze_add(first, laze_arange(run->context, length, LAZE_I64));
  *inputs = laze_take(run->text, rows);
  *targets = laze_take(run->text, laze_add(rows, 1));
}

/* ---- Checkpoints. */

/* All that a training consists of, with names; how many there are. */
static int32_t list_state(training *run, laze_named_tensor *all, char (*names)[48], laze_error *error) {
  int32_t count = 0, remembered = MOST_TENSORS - CHAR_MOST_PARAMETERS - 1;
  laze_named_tensor *of_optimiser = all + CHAR_MOST_PARAMETERS + 1;
  for (int32_t i = 0; i < run->network.count; i++)
    all[count++] = (laze_named_tensor){run->network.names[i], run->network.parameters[i]};
  if (laze_optimiser_get_state(run->optimiser, of_optimiser, &remembered, error) != LAZE_OK) return -1;
  const int64_t random[] = {SEED, run->offset, run->step};
  all[count++] = (laze_named_tensor){
      "training", laze_tensor_from_data(run->context, LAZE_I64, LAZE_SHAPE(3), random, sizeof random)};
  for (int32_t i = 0; i < remembered; i++, count++) {
    snprintf(names[i], sizeof names[i], "optimiser.%s", of_optimiser[i].name);
    all[count] = (laze_named_tensor){names[i], of_optimiser[i].tensor};
  }
  return count;
}

static laze_status save(training *run, const char *path, laze_error *error) {
  static laze_named_tensor all[MOST_TENSORS];
  static char names[MOST_TENSORS][48];
  laze_scope *scope = laze_scope_begin(run->context);
  const int32_t count = list_state(run, all, names, error);
  laze_status status = count < 0 ? error->code : laze_tensors_save(run->context, all, count, NULL, 0, path, error);
  const laze_status end = laze_scope_end_error(scope, status == LAZE_OK ? error : NULL);
  return status == LAZE_OK ? end : status;
}

/* Gives parameters, optimiser and counters what the file has. */
static laze_status take_state(training *run, laze_safetensors *file, laze_error *error) {
  static laze_named_tensor state[MOST_TENSORS];
  int32_t count = 0;
  int64_t counters[3];
  laze_status status = LAZE_OK;
  for (int32_t i = 0; i < run->network.count && status == LAZE_OK; i++)
    status = laze_tensor_assign_error(run->network.parameters[i],
                                      laze_tensor_from_safetensors(run->context, file, run->network.names[i]), error);
  for (int32_t i = 0; i < laze_safetensors_count(file) && count < MOST_TENSORS; i++) {
    const char *name = laze_safetensors_get(file, i)->name;
    if (strncmp(name, "optimiser.", 10) == 0)
      state[count++] = (laze_named_tensor){name + 10, laze_tensor_from_safetensors(run->context, file, name)};
  }
  if (status == LAZE_OK) status = laze_optimiser_set_state(run->optimiser, state, count, error);
  laze_tensor *numbers = laze_tensor_from_safetensors(run->context, file, "training");
  if (status == LAZE_OK) status = laze_tensor_read(numbers, LAZE_I64, counters, sizeof counters);
  if (status != LAZE_OK) return status;
  run->offset = counters[1];
  run->step = counters[2];
  return LAZE_OK;
}

static laze_status load(training *run, const char *path, laze_error *error) {
  laze_safetensors *file;
  laze_status status = laze_safetensors_open(run->context, path, &file, error);
  if (status != LAZE_OK) return status;
  laze_scope *scope = laze_scope_begin(run->context);
  status = take_state(run, file, error);
  const laze_status end = laze_scope_end_error(scope, status == LAZE_OK ? error : NULL);
  laze_safetensors_release(file);
  return status == LAZE_OK ? end : status;
}

/* ---- Training and writing. */

static laze_status train_step(training *run, const settings *wanted, laze_error *error) {
  laze_tensor *inputs, *targets;
  laze_scope *scope = laze_scope_begin(run->context);
  pick(run, wanted->batch, &inputs, &targets);
  laze_tensor *logits = char_network_logits(&run->network, inputs, true, SEED, &run->offset);
  laze_tensor *loss = laze_cross_entropy(laze_reshape(logits, LAZE_SHAPE(-1, CHAR_SYMBOLS)),
                                         laze_reshape(targets, LAZE_SHAPE(-1)), NULL, -100, "mean", 0);
  const double rate = laze_schedule_warmup(FIRST_RATE, run->step + 1, WARMUP, 0);
  laze_status status = laze_optimiser_set(run->optimiser, LAZE_ALL_GROUPS, LAZE_SETTINGS({"lr", rate}), error);
  if (status == LAZE_OK) status = laze_backward(loss, error);
  if (status == LAZE_OK)
    status = laze_clip_grad_norm(run->context, run->network.parameters, run->network.count, 1, 2, NULL, error);
  if (status == LAZE_OK) status = laze_optimiser_step(run->optimiser, error);
  if (status == LAZE_OK) status = laze_optimiser_zero_grad(run->optimiser, error);
  (void)laze_tensor_assign(run->loss, laze_detach(loss)); /* a failure changes nothing, and the end reports it */
  const laze_status end = laze_step_end(scope, status == LAZE_OK ? error : NULL);
  run->step++;
  return status == LAZE_OK ? end : status;
}

static laze_status train(training *run, const settings *wanted, laze_error *error) {
  laze_status status = LAZE_OK;
  while (status == LAZE_OK && run->step < wanted->steps) {
    status = train_step(run, wanted, error);
    if (status != LAZE_OK || wanted->quiet || run->step % REPORT != 0) continue;
    laze_scope *scope = laze_scope_begin(run->context);
    printf("step %5lld  loss %.4f\n", (long long)run->step, laze_tensor_item(run->loss));
    fflush(stdout);
    status = laze_scope_end_error(scope, error);
  }
  if (status == LAZE_OK && wanted->checkpoint != NULL) status = save(run, wanted->checkpoint, error);
  return status;
}

/* A character by what the network says of each: 0.8 makes likely ones likelier. */
static int draw(const float *logits, uint64_t *random) {
  double weights[CHAR_SYMBOLS], sum = 0;
  float most = logits[0];
  for (int i = 1; i < CHAR_SYMBOLS; i++) most = fmaxf(most, logits[i]);
  for (int i = 0; i < CHAR_SYMBOLS; i++) sum += weights[i] = exp((double)(logits[i] - most) / 0.8);
  *random = *random * 6364136223846793005u + 1442695040888963407u;
  double left = (double)(*random >> 11) * 0x1p-53 * sum;
  int drawn = 0;
  while (drawn < CHAR_SYMBOLS - 1 && (left -= weights[drawn]) > 0) drawn++;
  return drawn;
}

/* Writes text behind the beginning of that which was learnt: the window moves on by a character at a time. */
static laze_status write_text(training *run, const settings *wanted, laze_error *error) {
  const int64_t length = run->network.length;
  int64_t window[256], unused = 0;
  float logits[CHAR_SYMBOLS];
  uint64_t random = SEED;
  laze_status status = LAZE_OK;
  memcpy(window, run->characters, (size_t)length * sizeof *window);
  const int32_t recorded = laze_set_grad_enabled(run->context, 0);
  for (long i = 0; i < wanted->sample && status == LAZE_OK; i++) {
    laze_scope *scope = laze_scope_begin(run->context);
    laze_tensor *inputs =
        laze_tensor_from_data(run->context, LAZE_I64, LAZE_SHAPE(1, length), window, (size_t)length * sizeof *window);
    laze_tensor *all = char_network_logits(&run->network, inputs, false, 0, &unused);
    status = laze_tensor_read(laze_select(laze_select(all, 0, 0), 0, -1), LAZE_F32, logits, sizeof logits);
    const laze_status end = laze_scope_end_error(scope, error);
    if (status == LAZE_OK) status = end;
    memmove(window, window + 1, (size_t)(length - 1) * sizeof *window);
    window[length - 1] = draw(logits, &random);
    if (status == LAZE_OK) putchar((int)window[length - 1]);
  }
  if (wanted->sample > 0) putchar('\n');
  (void)laze_set_grad_enabled(run->context, recorded);
  return status;
}

static laze_status run_all(training *run, const settings *wanted, laze_error *error) {
  laze_scope *scope = laze_scope_begin(run->context);
  run->text = laze_tensor_retain(laze_tensor_from_data(run->context, LAZE_I64, LAZE_SHAPE(run->count), run->characters,
                                                       (size_t)run->count * sizeof *run->characters));
  run->loss = laze_tensor_retain(laze_zeros(run->context, LAZE_SHAPE_SCALAR, LAZE_F32));
  laze_status status = laze_step_end(scope, error);
  if (status == LAZE_OK) status = char_network_init(&run->network, run->context, SEED, error);
  if (status == LAZE_OK)
    status = laze_optimiser_create(run->context, "adamw", LAZE_SETTINGS({"beta2", 0.99}), &run->optimiser, error);
  if (status == LAZE_OK)
    status = laze_optimiser_add(run->optimiser, run->network.parameters, run->network.count, LAZE_NO_SETTINGS, error);
  if (status == LAZE_OK && wanted->resume) status = load(run, wanted->checkpoint, error);
  if (status == LAZE_OK) status = train(run, wanted, error);
  if (status == LAZE_OK) status = write_text(run, wanted, error);
  return status;
}

static error_t parse_option(int key, char *argument, struct argp_state *state) {
  settings *wanted = state->input;
  switch (key) {
  case 't': wanted->text = argument; return 0;
  case 'c': wanted->checkpoint = argument; return 0;
  case 's': wanted->steps = strtol(argument, NULL, 10); return 0;
  case 'n': wanted->sample = strtol(argument, NULL, 10); return 0;
  case 'b': wanted->batch = strtol(argument, NULL, 10); return 0;
  case 'r': wanted->resume = 1; return 0;
  case 'q': wanted->quiet = 1; return 0;
  case ARGP_KEY_END:
    if (wanted->batch < 1 || wanted->batch > 256) argp_error(state, "--batch takes a number from 1 to 256");
    if (wanted->resume && wanted->checkpoint == NULL) argp_error(state, "--resume goes with --checkpoint");
    return 0;
  default: return ARGP_ERR_UNKNOWN;
  }
}

static const struct argp_option option_list[] = {
    {"text", 't', "FILE", 0, "what is to be learnt (default: docs/guide.md)", 0},
    {"steps", 's', "N", 0, "steps in all (default: 500)", 0},
    {"batch", 'b', "N", 0, "pieces of text in a step (default: 16)", 0},
    {"sample", 'n', "N", 0, "how many characters are written at the end (default: 300)", 0},
    {"checkpoint", 'c', "FILE", 0, "where the training is saved at its end", 0},
    {"resume", 'r', NULL, 0, "goes on from the checkpoint", 0},
    {"quiet", 'q', NULL, 0, "no progress", 0},
    {0},
};

int main(int argc, char **argv) {
  static const struct argp parser = {
      option_list, parse_option, NULL, "Trains a transformer that writes text, with laze.", NULL, NULL, NULL};
  settings wanted = {.text = "docs/guide.md", .steps = 500, .batch = 16, .sample = 300};
  argp_err_exit_status = 2;
  argp_parse(&parser, argc, argv, 0, NULL, &wanted);

  training run = {.network = {.width = 64, .heads = 4, .layers = 2, .length = 64, .dropout = 0.1}};
  laze_error error = {0};
  laze_status status =
      read_text(wanted.text, &run) ? LAZE_INVALID_ARGUMENT : laze_context_create(NULL, &run.context, &error);
  if (status == LAZE_OK) status = run_all(&run, &wanted, &error);
  if (status != LAZE_OK && error.message[0] != '\0')
    fprintf(stderr, "char_transformer: %s: %s\n", laze_status_name(status), error.message);
  laze_optimiser_destroy(run.optimiser);
  char_network_deinit(&run.network);
  laze_tensor_release(run.text);
  laze_tensor_release(run.loss);
  if (run.context != NULL) laze_context_release(run.context);
  free(run.characters);
  return status != LAZE_OK;
}
