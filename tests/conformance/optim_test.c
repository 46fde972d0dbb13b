/* Optimisers beside those of PyTorch, after 20 steps on the same gradients (optim.txt, which record_optim.py writes).
 */
#include "tests/unit/autograd/support.h"

enum { STEPS = 20, ELEMENTS = 5 };

/* Results differ in their last bits: PyTorch's vectorised loops contract products and sums, laze's do not. In units in
 * the last place of the largest element, which the smaller ones of a sum cancel to. */
#define MOST_ULP 4

typedef struct {
  char *algorithm, *settings, *dtype, *tensors;
} recorded_line;

/* "name k=v k=v | f32 | tensor numbers | tensor numbers" */
static recorded_line split(char *line) {
  recorded_line out;
  char *rest = line;
  line[strcspn(line, "\n")] = '\0';
  out.algorithm = strsep(&rest, "|");
  out.settings = out.algorithm + strcspn(out.algorithm, " ");
  *out.settings++ = '\0';
  out.dtype = strsep(&rest, "|") + 1;
  out.dtype[3] = '\0';
  out.tensors = rest;
  return out;
}

static laze_optimiser *create(autograd_fixture *at, recorded_line *line) {
  laze_setting items[8];
  laze_settings settings = {items, 0};
  laze_optimiser *optimiser;
  laze_error error;
  for (char *word; (word = strsep(&line->settings, " ")) != NULL;) {
    char *value = strchr(word, '=');
    if (value == NULL) continue;
    *value++ = '\0';
    items[settings.count++] = (laze_setting){word, strtod(value, NULL)};
  }
  ck_assert_msg(laze_optimiser_create(at->context, line->algorithm, settings, &optimiser, &error) == LAZE_OK, "%s",
                error.message);
  return optimiser;
}

/* The numbers of record_optim.py. */
static laze_tensor *numbers(autograd_fixture *at, laze_dtype dtype, int step) {
  double values[ELEMENTS];
  for (int i = 0; i < ELEMENTS; i++)
    values[i] = step < 0 ? (i * 5 % 7 + 4) / 8.0 : ((step * 7 + i * 11) % 23 - 9) / 8.0;
  return laze_to(laze_tensor_from_data(at->context, LAZE_F64, LAZE_SHAPE(ELEMENTS), values, sizeof values), dtype);
}

static void compare(const char *name, laze_tensor *tensor, char *expected, double epsilon) {
  double got[ELEMENTS], largest = 0;
  double wanted[ELEMENTS];
  ck_assert_msg(laze_tensor_read(tensor, LAZE_F64, got, sizeof got) == LAZE_OK, "%s", laze_tensor_error(tensor));
  for (int i = 0; i < ELEMENTS; i++) {
    wanted[i] = strtod(expected, &expected);
    largest = fmax(largest, fabs(wanted[i]));
  }
  for (int i = 0; i < ELEMENTS; i++)
    ck_assert_msg(fabs(got[i] - wanted[i]) <= MOST_ULP * epsilon * largest, "%s, element %d: %a, expected %a (%g ULP)",
                  name, i, got[i], wanted[i], fabs(got[i] - wanted[i]) / (epsilon * largest));
}

static laze_tensor *find_state(const laze_named_tensor *state, int32_t count, const char *name) {
  for (int32_t i = 0; i < count; i++)
    if (strcmp(state[i].name + 2, name) == 0) return state[i].tensor;
  ck_abort_msg("%s is not remembered", name);
  return NULL;
}

static void compare_all(const char *label, laze_optimiser *optimiser, laze_tensor *x, recorded_line *line,
                        double epsilon) {
  laze_named_tensor state[6];
  int32_t count = 6;
  ck_assert_int_eq(laze_optimiser_get_state(optimiser, state, &count, NULL), LAZE_OK);
  for (char *part; (part = strsep(&line->tensors, "|")) != NULL;) {
    char *name = part + 1, *elements = name + strcspn(name, " ");
    *elements++ = '\0';
    char text[160];
    snprintf(text, sizeof text, "%s: %s", label, name);
    compare(text, strcmp(name, "parameter") == 0 ? x : find_state(state, count, name), elements, epsilon);
  }
  ck_assert_double_eq(laze_tensor_item(find_state(state, count, "step")), STEPS);
}

/* Runs a line, and checks that its steps are one graph, that only the first compiled. */
static void check_line(char *text) {
  char label[128];
  snprintf(label, sizeof label, "%.*s", (int)strcspn(text, "|") + 5, text);
  autograd_fixture at = begin();
  recorded_line line = split(text);
  const laze_dtype dtype = laze_dtype_find(line.dtype);
  laze_optimiser *optimiser = create(&at, &line);
  laze_tensor *x = numbers(&at, dtype, -1);
  laze_error error;
  ck_assert_int_eq(laze_tensor_materialise(x), LAZE_OK);
  ck_assert_int_eq(laze_tensor_require_grad(x, 1, NULL), LAZE_OK);
  ck_assert_int_eq(laze_optimiser_add(optimiser, &x, 1, LAZE_NO_SETTINGS, NULL), LAZE_OK);
  int64_t misses = 0;
  for (int step = 0; step < STEPS; step++) {
    laze_scope *scope = laze_scope_begin(at.context);
    laze_tensor *gradient = numbers(&at, dtype, step);
    ck_assert_int_eq(laze_tensor_set_grad(x, gradient, NULL), LAZE_OK);
    ck_assert_msg(laze_optimiser_step(optimiser, &error) == LAZE_OK, "%s", error.message);
    ck_assert_int_eq(laze_optimiser_zero_grad(optimiser, NULL), LAZE_OK);
    ck_assert_msg(laze_step_end(scope, &error) == LAZE_OK, "%s", error.message);
    if (step == 0) misses = metric(at.context, "trace_cache_misses");
  }
  ck_assert_int_eq(metric(at.context, "trace_cache_misses"), misses);
  compare_all(label, optimiser, x, &line, dtype == LAZE_F32 ? 0x1p-23 : 0x1p-52);
  laze_optimiser_destroy(optimiser);
  ck_assert_int_eq(laze_tensor_require_grad(x, 0, NULL), LAZE_OK);
  end(&at);
}

START_TEST(twenty_steps_lead_where_they_lead_in_torch) {
  FILE *file = fopen(LAZE_TEST_RECORDED "/optim.txt", "r");
  char *line = NULL;
  size_t capacity = 0;
  int count = 0;
  ck_assert_msg(file != NULL, LAZE_TEST_RECORDED "/optim.txt is missing");
  for (; getline(&line, &capacity, file) > 0; count++) check_line(line);
  fclose(file);
  free(line);
  ck_assert_int_ge(count, 92); /* the file is whole */
}
END_TEST

int main(void) {
  const TTest *tests[] = {twenty_steps_lead_where_they_lead_in_torch};
  return run_tests("optim", tests, 1);
}
