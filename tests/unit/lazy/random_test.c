/* Random programs against a model that computes at once: variables, temporaries, nested scopes, assignments, reads and
 * steps in any order. What differs, or is used after it was freed, shows here first. */
#include "support.h"

#include <stdio.h>

enum { VARIABLES = 6, TEMPORARIES = 8, DEPTH = 5, ACTIONS = 400, PROGRAMS = 60 };

typedef struct {
  laze_tensor *tensor;
  float value; /* of every element */
} entry;

typedef struct {
  laze_context *context;
  uint64_t state; /* of the generator */
  entry variables[VARIABLES];
  entry temporaries[DEPTH][TEMPORARIES];
  int count[DEPTH]; /* of temporaries in each open scope */
  laze_scope *scopes[DEPTH];
  int depth; /* open scopes - 1 */
} program;

static uint32_t draw(program *run, uint32_t below) {
  run->state = run->state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(run->state >> 33) % below;
}

/* A variable, or a temporary of any open scope. */
static entry pick(program *run) {
  int depth = (int)draw(run, (uint32_t)run->depth + 1);
  if (run->count[depth] == 0 || draw(run, 3) == 0) return run->variables[draw(run, VARIABLES)];
  return run->temporaries[depth][draw(run, (uint32_t)run->count[depth])];
}

static entry compute(program *run) {
  entry a = pick(run), b = pick(run);
  switch (draw(run, 4)) {
  case 0: return (entry){neg(a.tensor), -a.value};
  case 1: return (entry){scale(add(a.tensor, b.tensor), 0.5), (a.value + b.value) * 0.5f};
  case 2: return (entry){scale(a.tensor, -0.25), a.value * -0.25f};
  default: {
    float value = (float)draw(run, 8);
    return (entry){filled(run->context, 2, value), value};
  }
  }
}

static void begin(program *run) {
  run->depth++;
  run->count[run->depth] = 0;
  run->scopes[run->depth] = laze_scope_begin(run->context);
}

static void end(program *run) {
  laze_scope *scope = run->scopes[run->depth--];
  ck_assert_int_eq(draw(run, 2) ? laze_scope_end(scope) : laze_step_end(scope, NULL), LAZE_OK);
}

static void replace_variable(program *run, entry made) {
  entry *variable = &run->variables[draw(run, VARIABLES)];
  laze_tensor_retain(made.tensor); /* first: it may be the same handle */
  laze_tensor_release(variable->tensor);
  *variable = made;
}

static void act(program *run, uint64_t seed, int action) {
  entry made = compute(run);
  int *count = &run->count[run->depth];
  if (*count < TEMPORARIES) run->temporaries[run->depth][(*count)++] = made;
  entry seen = pick(run);
  switch (draw(run, 8)) {
  case 0: replace_variable(run, made); break;
  case 1: {
    entry *variable = &run->variables[draw(run, VARIABLES)];
    ck_assert_int_eq(laze_tensor_assign(variable->tensor, seen.tensor), LAZE_OK);
    for (int i = 0; i < VARIABLES; i++) /* the handle may be several variables */
      if (run->variables[i].tensor == variable->tensor) run->variables[i].value = seen.value;
    for (int depth = 0; depth <= run->depth; depth++)
      for (int i = 0; i < run->count[depth]; i++)
        if (run->temporaries[depth][i].tensor == variable->tensor) run->temporaries[depth][i].value = seen.value;
    break;
  }
  case 2: {
    float value = first(seen.tensor, 2);
    ck_assert_msg(value == seen.value, "seed %llu, action %d: read %g, expected %g", (unsigned long long)seed, action,
                  (double)value, (double)seen.value);
    break;
  }
  case 3:
    if (run->depth < DEPTH - 1) begin(run);
    break;
  case 4:
    if (run->depth > 0) end(run);
    break;
  default: break;
  }
}

static void run_program(uint64_t seed) {
  program run = {.context = new_context(), .state = seed * 2654435761u + 1, .depth = -1};
  if (seed % 3 == 0) laze_set_budget(run.context, 10, 0);
  begin(&run);
  for (int i = 0; i < VARIABLES; i++)
    run.variables[i] = (entry){laze_tensor_retain(filled(run.context, 2, (float)i)), (float)i};
  for (int i = 0; i < ACTIONS; i++) act(&run, seed, i);
  while (run.depth >= 0) end(&run);
  for (int i = 0; i < VARIABLES; i++) {
    float value = first(run.variables[i].tensor, 2);
    ck_assert_msg(value == run.variables[i].value, "seed %llu: variable %d is %g, expected %g",
                  (unsigned long long)seed, i, (double)value, (double)run.variables[i].value);
    laze_tensor_release(run.variables[i].tensor);
  }
  laze_context_release(run.context);
}

START_TEST(random_programs_agree_with_eager_ones) {
  for (uint64_t seed = 1; seed <= PROGRAMS; seed++) run_program(seed);
}
END_TEST

int main(void) {
  const TTest *const tests[] = {random_programs_agree_with_eager_ones};
  return run_tests("random", tests, sizeof tests / sizeof *tests);
}
