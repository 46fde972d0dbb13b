/* Optimisers: what they refuse, what they remember, and how much is compiled for them. The formulas are compared with
 * PyTorch's in tests/conformance/optim_test.c. */
#include "laze/compile.h"
#include "tests/support/failing_allocator.h"
#include "tests/unit/autograd/support.h"

static laze_optimiser *make(autograd_fixture *at, const char *algorithm, laze_settings settings) {
  laze_optimiser *optimiser;
  laze_error error;
  ck_assert_msg(laze_optimiser_create(at->context, algorithm, settings, &optimiser, &error) == LAZE_OK, "%s",
                error.message);
  return optimiser;
}

static void add(laze_optimiser *optimiser, laze_tensor *const *parameters, int32_t count) {
  laze_error error;
  ck_assert_msg(laze_optimiser_add(optimiser, parameters, count, LAZE_NO_SETTINGS, &error) == LAZE_OK, "%s",
                error.message);
}

static void step(laze_optimiser *optimiser) {
  laze_error error;
  ck_assert_msg(laze_optimiser_step(optimiser, &error) == LAZE_OK, "%s", error.message);
  ck_assert_msg(laze_optimiser_zero_grad(optimiser, &error) == LAZE_OK, "%s", error.message);
}

/* A step down the sum of squares. */
static void descend(autograd_fixture *at, laze_optimiser *optimiser, laze_tensor *x) {
  laze_error error;
  laze_scope *scope = laze_scope_begin(at->context);
  backward(laze_sum(laze_mul(x, x)));
  step(optimiser);
  ck_assert_msg(laze_step_end(scope, &error) == LAZE_OK, "%s", error.message);
}

static void refuses(laze_status status, const laze_error *error, laze_status wanted, const char *part) {
  ck_assert_int_eq(status, wanted);
  ck_assert_msg(strstr(error->message, part) != NULL, "\"%s\" does not say \"%s\"", error->message, part);
}

START_TEST(settings_are_checked) {
  autograd_fixture at = begin();
  laze_optimiser *none;
  laze_error error;
  refuses(laze_optimiser_create(at.context, "sdg", LAZE_NO_SETTINGS, &none, &error), &error, LAZE_NOT_FOUND, "adamw");
  ck_assert_ptr_null(none);
  refuses(laze_optimiser_create(at.context, "sgd", LAZE_SETTINGS({"beta1", 0.9}), &none, &error), &error,
          LAZE_INVALID_ARGUMENT, "it has lr, momentum");
  refuses(laze_optimiser_create(at.context, "adam", LAZE_SETTINGS({"beta1", 1}), &none, &error), &error,
          LAZE_INVALID_ARGUMENT, "beta1 is 1: expected from 0 to below 1");
  refuses(laze_optimiser_create(at.context, "adam", LAZE_SETTINGS({"lr", NAN}), &none, &error), &error,
          LAZE_INVALID_ARGUMENT, "lr is nan");
  refuses(laze_optimiser_create(at.context, "sgd", LAZE_SETTINGS({"nesterov", 1}), &none, &error), &error,
          LAZE_INVALID_ARGUMENT, "momentum above 0");
  refuses(laze_optimiser_create(at.context, "rprop", LAZE_SETTINGS({"etaplus", 0.5}), &none, &error), &error,
          LAZE_INVALID_ARGUMENT, "etaminus is 0.5 and etaplus 0.5: expected");
  laze_optimiser *sgd = make(&at, "sgd", LAZE_SETTINGS({"momentum", 0.9}, {"nesterov", 1}));
  laze_tensor *x = leaf(&at, (float[]){1, 2});
  ck_assert_int_eq(laze_optimiser_add(sgd, &x, 1, LAZE_SETTINGS({"lr", 0.5}), NULL), LAZE_OK);
  /* What one group refuses, none gets. */
  refuses(laze_optimiser_set(sgd, LAZE_ALL_GROUPS, LAZE_SETTINGS({"momentum", 0}), &error), &error,
          LAZE_INVALID_ARGUMENT, "nesterov");
  ck_assert_double_eq(laze_optimiser_get(sgd, 0, "momentum"), 0.9);
  refuses(laze_optimiser_set(sgd, 1, LAZE_SETTINGS({"lr", 0}), &error), &error, LAZE_OUT_OF_RANGE, "no group 1");
  ck_assert_double_eq(laze_optimiser_get(sgd, 0, "lr"), 0.5);
  ck_assert_double_eq(laze_optimiser_get(sgd, LAZE_ALL_GROUPS, "lr"), 1e-3);
  ck_assert(isnan(laze_optimiser_get(sgd, 0, "alpha")));
  laze_optimiser_destroy(sgd);
  laze_optimiser_destroy(NULL);
  end(&at);
}
END_TEST

/* A NULL is an error to show, and no crash. */
START_TEST(no_optimiser_and_no_list_are_refused) {
  autograd_fixture at = begin();
  laze_optimiser *none, *sgd = make(&at, "sgd", LAZE_NO_SETTINGS);
  laze_error error;
  int32_t count = 0;
  refuses(laze_optimiser_create(at.context, "sgd", LAZE_NO_SETTINGS, NULL, &error), &error, LAZE_INVALID_ARGUMENT,
          "out must not be NULL");
  const laze_settings lists[] = {{NULL, 3}, {NULL, -3}};
  for (int i = 0; i < 2; i++) {
    refuses(laze_optimiser_create(at.context, "sgd", lists[i], &none, &error), &error, LAZE_INVALID_ARGUMENT,
            "no list");
    ck_assert_ptr_null(none);
    refuses(laze_optimiser_set(sgd, LAZE_ALL_GROUPS, lists[i], &error), &error, LAZE_INVALID_ARGUMENT, "no list");
    refuses(laze_optimiser_add(sgd, NULL, 0, lists[i], &error), &error, LAZE_INVALID_ARGUMENT, "no list");
  }
  refuses(laze_optimiser_add(NULL, NULL, 0, LAZE_NO_SETTINGS, &error), &error, LAZE_INVALID_ARGUMENT, "is NULL");
  refuses(laze_optimiser_set(NULL, 0, LAZE_NO_SETTINGS, &error), &error, LAZE_INVALID_ARGUMENT, "is NULL");
  refuses(laze_optimiser_step(NULL, &error), &error, LAZE_INVALID_ARGUMENT, "is NULL");
  refuses(laze_optimiser_zero_grad(NULL, &error), &error, LAZE_INVALID_ARGUMENT, "is NULL");
  refuses(laze_optimiser_get_state(NULL, NULL, &count, &error), &error, LAZE_INVALID_ARGUMENT, "is NULL");
  refuses(laze_optimiser_get_state(sgd, NULL, NULL, &error), &error, LAZE_INVALID_ARGUMENT, "count must not be NULL");
  refuses(laze_optimiser_set_state(NULL, NULL, 0, &error), &error, LAZE_INVALID_ARGUMENT, "is NULL");
  ck_assert_int_eq(laze_optimiser_groups(NULL), 0);
  ck_assert(isnan(laze_optimiser_get(NULL, 0, "lr")));
  laze_optimiser_destroy(sgd);
  end(&at);
}
END_TEST

START_TEST(parameters_are_checked) {
  autograd_fixture at = begin();
  laze_optimiser *sgd = make(&at, "sgd", LAZE_NO_SETTINGS);
  laze_tensor *x = leaf(&at, (float[]){1, 2}), *follows = laze_mul(x, 2),
              *numbers = laze_arange(at.context, 3, LAZE_I64);
  laze_error error;
  refuses(laze_optimiser_add(sgd, (laze_tensor *[]){x, follows}, 2, LAZE_NO_SETTINGS, &error), &error,
          LAZE_INVALID_ARGUMENT, "parameter 1: is no leaf");
  refuses(laze_optimiser_add(sgd, &numbers, 1, LAZE_NO_SETTINGS, &error), &error, LAZE_INVALID_ARGUMENT, "is a i64");
  refuses(laze_optimiser_add(sgd, (laze_tensor *[]){NULL}, 1, LAZE_NO_SETTINGS, &error), &error, LAZE_INVALID_ARGUMENT,
          "is NULL");
  refuses(laze_optimiser_add(sgd, (laze_tensor *[]){x, x}, 2, LAZE_NO_SETTINGS, &error), &error, LAZE_INVALID_ARGUMENT,
          "already");
  ck_assert_int_eq(laze_optimiser_groups(sgd), 0);
  add(sgd, &x, 1);
  refuses(laze_optimiser_add(sgd, &x, 1, LAZE_NO_SETTINGS, &error), &error, LAZE_INVALID_ARGUMENT, "already");
  ck_assert_int_eq(laze_optimiser_groups(sgd), 1);
  autograd_fixture other = begin(); /* each step would fail */
  laze_tensor *foreign = leaf(&other, (float[]){1, 2});
  refuses(laze_optimiser_add(sgd, &foreign, 1, LAZE_NO_SETTINGS, &error), &error, LAZE_INVALID_ARGUMENT,
          "laze_optimiser_add: parameter 0: is of another context");
  ck_assert_int_eq(laze_optimiser_groups(sgd), 1);
  end(&other);
  laze_optimiser_destroy(sgd);
  end(&at);
}
END_TEST

/* Neither a learning rate nor the number of the step is a part of the graph: a long training finds its code. */
START_TEST(numbers_that_change_compile_nothing) {
  const char *const names[] = {"sgd",     "adam",    "adamw",    "adamax", "nadam", "radam",
                               "rmsprop", "adagrad", "adadelta", "asgd",   "rprop"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    autograd_fixture at = begin();
    laze_tensor *x = leaf(&at, (float[]){1, -2});
    ck_assert_int_eq(laze_tensor_materialise(x), LAZE_OK);
    laze_optimiser *optimiser = make(&at, names[i], LAZE_SETTINGS({"lr", 0.1}));
    add(optimiser, &x, 1);
    descend(&at, optimiser, x);
    const int64_t misses = metric(at.context, "trace_cache_misses");
    for (int k = 0; k < 10; k++) {
      ck_assert_int_eq(laze_optimiser_set(optimiser, LAZE_ALL_GROUPS, LAZE_SETTINGS({"lr", 0.1 / (k + 1)}), NULL),
                       LAZE_OK);
      descend(&at, optimiser, x);
    }
    ck_assert_msg(metric(at.context, "trace_cache_misses") == misses, "%s", names[i]);
    ck_assert_double_lt(fabs(laze_tensor_item(laze_select(x, 0, 0))), 1);
    laze_optimiser_destroy(optimiser);
    end(&at);
  }
}
END_TEST

/* Groups have settings of their own; a parameter without a gradient stays, with nothing remembered of it. */
START_TEST(groups_and_parameters_apart) {
  autograd_fixture at = begin();
  laze_tensor *x = leaf(&at, (float[]){1}), *y = leaf(&at, (float[]){1}), *still = leaf(&at, (float[]){1});
  laze_optimiser *sgd = make(&at, "sgd", LAZE_SETTINGS({"lr", 0.5}, {"momentum", 0.9}));
  add(sgd, (laze_tensor *[]){still, x}, 2);
  ck_assert_int_eq(laze_optimiser_add(sgd, &y, 1, LAZE_SETTINGS({"lr", 0.25}), NULL), LAZE_OK);
  laze_error error;
  laze_scope *scope = laze_scope_begin(at.context);
  backward(laze_sum(laze_add(x, y)));
  step(sgd);
  ck_assert_ptr_null(laze_tensor_grad(x));
  ck_assert_msg(laze_step_end(scope, &error) == LAZE_OK, "%s", error.message);
  expect(x, 0, (float[]){0.5f});
  expect(y, 0, (float[]){0.75f});
  expect(still, 0, (float[]){1});
  laze_named_tensor state[8];
  int32_t count = 8;
  ck_assert_int_eq(laze_optimiser_get_state(sgd, state, &count, NULL), LAZE_OK);
  ck_assert_int_eq(count, 4);
  ck_assert_str_eq(state[0].name, "1.step");
  ck_assert_str_eq(state[3].name, "2.momentum_buffer");
  ck_assert(!laze_tensor_requires_grad(state[3].tensor)); /* the update has no history */
  laze_optimiser_destroy(sgd);
  end(&at);
}
END_TEST

/* Training that goes on from a state is the training that was never interrupted, to the bit. */
START_TEST(state_goes_on) {
  autograd_fixture at = begin();
  laze_tensor *x = leaf(&at, (float[]){1, -2}), *other = leaf(&at, (float[]){0, 0});
  laze_optimiser *first = make(&at, "adam", LAZE_SETTINGS({"lr", 0.1}, {"amsgrad", 1}));
  laze_optimiser *second = make(&at, "adam", LAZE_SETTINGS({"lr", 0.1}, {"amsgrad", 1}));
  laze_named_tensor state[4];
  int32_t count = 4;
  laze_error error;
  add(first, &x, 1);
  add(second, &other, 1);
  for (int i = 0; i < 3; i++) descend(&at, first, x);
  ck_assert_int_eq(laze_optimiser_get_state(first, state, &count, NULL), LAZE_OK);
  ck_assert_int_eq(count, 4);
  ck_assert_int_eq(laze_tensor_assign(other, laze_detach(x)), LAZE_OK);
  ck_assert_msg(laze_optimiser_set_state(second, state, count, &error) == LAZE_OK, "%s", error.message);
  for (int i = 0; i < 3; i++) {
    descend(&at, first, x);
    descend(&at, second, other);
  }
  float values[2][2];
  ck_assert_int_eq(laze_tensor_read(x, LAZE_F32, values[0], sizeof values[0]), LAZE_OK);
  ck_assert_int_eq(laze_tensor_read(other, LAZE_F32, values[1], sizeof values[1]), LAZE_OK);
  ck_assert_mem_eq(values[0], values[1], sizeof values[0]);
  laze_optimiser_destroy(first);
  laze_optimiser_destroy(second);
  end(&at);
}
END_TEST

START_TEST(state_is_checked) {
  autograd_fixture at = begin();
  laze_tensor *x = leaf(&at, (float[]){1, -2});
  laze_tensor *three = laze_tensor_from_scalar(at.context, LAZE_F32, laze_scalar_integer(3));
  laze_tensor *large = laze_zeros(at.context, 3, LAZE_F32), *fits = laze_zeros(at.context, 2, LAZE_F32);
  laze_optimiser *sgd = make(&at, "sgd", LAZE_SETTINGS({"momentum", 0.9}));
  add(sgd, &x, 1);
  const struct {
    laze_named_tensor item;
    laze_status status;
    const char *part;
  } cases[] = {
      {{"1.step", three}, LAZE_INVALID_ARGUMENT, "none of the parameters"},
      {{"99999999999999999999.step", three}, LAZE_INVALID_ARGUMENT, "none of the parameters"},
      {{"step", three}, LAZE_INVALID_ARGUMENT, "none of the parameters"},
      {{NULL, three}, LAZE_INVALID_ARGUMENT, "(NULL)"},
      {{"0.step", NULL}, LAZE_INVALID_ARGUMENT, "is NULL"},
      {{"0.step", fits}, LAZE_INVALID_ARGUMENT, "no number of steps"},
      {{"0.exp_avg", fits}, LAZE_INVALID_ARGUMENT, "nothing that the optimiser remembers"},
      {{"0.momentum_buffer", large}, LAZE_INVALID_ARGUMENT, "another shape or dtype"},
      {{"0.step", three}, LAZE_NOT_FOUND, "\"0.momentum_buffer\" is missing"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    laze_error error;
    refuses(laze_optimiser_set_state(sgd, &cases[i].item, 1, &error), &error, cases[i].status, cases[i].part);
    int32_t count;
    ck_assert_int_eq(laze_optimiser_get_state(sgd, NULL, &count, NULL), LAZE_OK);
    ck_assert_int_eq(count, 0);
  }
  laze_optimiser_destroy(sgd);
  end(&at);
}
END_TEST

/* What is refused as a whole leaves what was remembered before. */
START_TEST(a_state_with_gaps_is_refused) {
  autograd_fixture at = begin();
  laze_tensor *x = leaf(&at, (float[]){1, -2});
  laze_optimiser *adam = make(&at, "adam", LAZE_NO_SETTINGS);
  laze_named_tensor state[3];
  int32_t count = 3;
  laze_error error;
  add(adam, &x, 1);
  descend(&at, adam, x);
  ck_assert_int_eq(laze_optimiser_get_state(adam, state, &count, NULL), LAZE_OK);
  ck_assert_int_eq(count, 3);
  const laze_named_tensor steps[] = {state[0], state[1], state[2], state[0]};
  const laze_named_tensor means[] = {state[0], state[1], state[2], {"00.exp_avg", state[1].tensor}};
  refuses(laze_optimiser_set_state(adam, NULL, 1, &error), &error, LAZE_INVALID_ARGUMENT, "no list");
  refuses(laze_optimiser_set_state(adam, state, -1, &error), &error, LAZE_INVALID_ARGUMENT, "no list");
  refuses(laze_optimiser_set_state(adam, state + 1, 2, &error), &error, LAZE_NOT_FOUND, "\"0.step\" is missing");
  refuses(laze_optimiser_set_state(adam, steps, 4, &error), &error, LAZE_INVALID_ARGUMENT, "\"0.step\" is given twice");
  refuses(laze_optimiser_set_state(adam, means, 4, &error), &error, LAZE_INVALID_ARGUMENT, "is given twice");
  laze_named_tensor now[3];
  ck_assert_int_eq(laze_optimiser_get_state(adam, now, &count, NULL), LAZE_OK);
  ck_assert_int_eq(count, 3);
  ck_assert_double_eq(laze_tensor_item(now[0].tensor), 1);
  ck_assert_ptr_eq(now[1].tensor, state[1].tensor);
  laze_optimiser_destroy(adam);
  end(&at);
}
END_TEST

/* Memories beside 0 steps, as adagrad has them in PyTorch before the first, come back as they were given. */
START_TEST(a_state_without_steps_goes_both_ways) {
  autograd_fixture at = begin();
  laze_tensor *x = leaf(&at, (float[]){1, -2});
  laze_optimiser *adagrad = make(&at, "adagrad", LAZE_NO_SETTINGS);
  const laze_named_tensor given[] = {{"0.step", laze_zeros(at.context, LAZE_SHAPE_SCALAR, LAZE_F32)},
                                     {"0.sum", laze_zeros(at.context, 2, LAZE_F32)}};
  laze_named_tensor state[2];
  int32_t count = 2;
  laze_error error;
  add(adagrad, &x, 1);
  ck_assert_msg(laze_optimiser_set_state(adagrad, given, 2, &error) == LAZE_OK, "%s", error.message);
  ck_assert_int_eq(laze_optimiser_get_state(adagrad, state, &count, NULL), LAZE_OK);
  ck_assert_int_eq(count, 2);
  ck_assert_msg(laze_optimiser_set_state(adagrad, state, count, &error) == LAZE_OK, "%s", error.message);
  laze_optimiser_destroy(adagrad);
  end(&at);
}
END_TEST

/* What a training goes on from is all in the state, numbers besides tensors too, or it would go on otherwise. */
START_TEST(numbers_are_a_part_of_the_state) {
  const struct {
    const char *algorithm, *number;
  } cases[] = {{"nadam", "0.mu_product"}, {"asgd", "0.eta"}, {"asgd", "0.mu"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    autograd_fixture at = begin();
    const laze_settings settings = LAZE_SETTINGS({"lr", 0.25});
    laze_tensor *x = leaf(&at, (float[]){1, -2});
    laze_optimiser *first = make(&at, cases[i].algorithm, settings), *second;
    laze_named_tensor state[6], other[6];
    laze_error error;
    int32_t count = 6, at_number = 0;
    add(first, &x, 1);
    for (int k = 0; k < 3; k++) descend(&at, first, x);
    ck_assert_int_eq(laze_optimiser_get_state(first, state, &count, NULL), LAZE_OK);
    while (at_number < count && strcmp(state[at_number].name, cases[i].number) != 0) at_number++;
    ck_assert_int_lt(at_number, count);
    laze_tensor *y = laze_clone(laze_detach(x));
    ck_assert_int_eq(laze_tensor_require_grad(y, 1, NULL), LAZE_OK);
    second = make(&at, cases[i].algorithm, settings);
    add(second, &y, 1);
    memcpy(other, state, sizeof other);
    other[at_number] = state[count - 1];
    refuses(laze_optimiser_set_state(second, other, count - 1, &error), &error, LAZE_NOT_FOUND, "is missing");
    memcpy(other, state, sizeof other);
    other[at_number].tensor = laze_full(at.context, LAZE_SHAPE_SCALAR, NAN, LAZE_F32);
    refuses(laze_optimiser_set_state(second, other, count, &error), &error, LAZE_INVALID_ARGUMENT, "is no number");
    ck_assert_msg(laze_optimiser_set_state(second, state, count, &error) == LAZE_OK, "%s", error.message);
    descend(&at, first, x);
    descend(&at, second, y);
    float values[2];
    ck_assert_int_eq(laze_tensor_read(x, LAZE_F32, values, sizeof values), LAZE_OK);
    expect_all(y, values, 2, 1e-6f);
    laze_optimiser_destroy(first);
    laze_optimiser_destroy(second);
    end(&at);
  }
}
END_TEST

/* PyTorch counts no steps of sgd: a momentum says that there was a first one, which alone is not dampened. */
START_TEST(momentum_comes_without_steps) {
  autograd_fixture at = begin();
  laze_tensor *x = leaf(&at, (float[]){1});
  laze_optimiser *sgd = make(&at, "sgd", LAZE_SETTINGS({"lr", 1}, {"momentum", 0.5}, {"dampening", 0.5}));
  const laze_named_tensor given = {"0.momentum_buffer", constant(&at, (float[]){2})};
  laze_error error;
  add(sgd, &x, 1);
  ck_assert_msg(laze_optimiser_set_state(sgd, &given, 1, &error) == LAZE_OK, "%s", error.message);
  descend(&at, sgd, x);
  expect(x, 0, (float[]){1 - (0.5f * 2 + 0.5f * 2)});
  laze_optimiser_destroy(sgd);
  end(&at);
}
END_TEST

/* One allocation fails in laze_optimiser_set_state(), which then has changed nothing; false: it was not reached. */
static bool fails_whole(int64_t allocation) {
  enum { PARAMETERS = 200, ITEMS = 3 * PARAMETERS }; /* more copies than there is room for without an allocation */
  test_failing_allocator allocator = {0};
  autograd_fixture at = {NULL, NULL};
  ck_assert_int_eq(test_failing_context(&allocator, "interp", "", "", &at.context), LAZE_OK);
  at.scope = laze_scope_begin(at.context);
  laze_optimiser *adam = make(&at, "adam", LAZE_NO_SETTINGS);
  static laze_named_tensor given[ITEMS], before[ITEMS], now[ITEMS];
  static char names[ITEMS][24];
  laze_tensor *parameters[PARAMETERS], *zero = constant(&at, (float[]){0});
  for (int i = 0; i < ITEMS; i++) {
    snprintf(names[i], sizeof names[i], "%d.%s", i / 3, (const char *[]){"step", "exp_avg", "exp_avg_sq"}[i % 3]);
    given[i] = (laze_named_tensor){names[i], zero};
  }
  for (int i = 0; i < PARAMETERS; i++) parameters[i] = laze_zeros(at.context, 1, LAZE_F32);
  add(adam, parameters, PARAMETERS);
  ck_assert_int_eq(laze_optimiser_set_state(adam, given, ITEMS, NULL), LAZE_OK);
  int32_t count = ITEMS;
  ck_assert_int_eq(laze_optimiser_get_state(adam, before, &count, NULL), LAZE_OK);
  allocator.refuse_at = allocator.calls + allocation;
  const laze_status status = laze_optimiser_set_state(adam, given, ITEMS, NULL);
  const bool reached = allocator.calls >= allocator.refuse_at;
  allocator.refuse_at = 0;
  ck_assert_int_eq(laze_optimiser_get_state(adam, now, &count, NULL), LAZE_OK);
  for (int i = 0; i < ITEMS; i++)
    ck_assert_msg(i % 3 == 0 || (now[i].tensor == before[i].tensor) == (status != LAZE_OK), "allocation %lld: %s",
                  (long long)allocation, names[i]);
  ck_assert(reached || status == LAZE_OK);
  laze_optimiser_destroy(adam);
  (void)laze_scope_end(at.scope);
  laze_context_release(at.context);
  ck_assert_int_eq(allocator.live, 0);
  return reached;
}

/* A state that is replaced in part is that of no training. */
START_TEST(without_memory_the_state_stays) {
  int64_t allocation = 1;
  while (fails_whole(allocation)) allocation++;
  ck_assert_int_gt(allocation, 4);
}
END_TEST

/* A gradient that is an error is returned by the step, which then has changed no parameter, neither before nor behind.
 */
START_TEST(a_gradient_that_failed_changes_nothing) {
  autograd_fixture at = begin();
  laze_tensor *x = leaf(&at, (float[]){1, -2}), *y = leaf(&at, (float[]){1, 2});
  laze_tensor *wrong = laze_index_select(
      y, 0, laze_tensor_from_data(at.context, LAZE_I64, LAZE_SHAPE(2), (int64_t[]){0, 5}, 2 * sizeof(int64_t)));
  laze_optimiser *adam = make(&at, "adam", LAZE_NO_SETTINGS);
  laze_error error;
  add(adam, (laze_tensor *[]){x, y}, 2);
  ck_assert_int_eq(laze_tensor_set_grad(x, laze_mul(laze_detach(x), 2), NULL), LAZE_OK);
  ck_assert_int_eq(laze_tensor_set_grad(y, laze_detach(wrong), NULL), LAZE_OK);
  ck_assert_int_ne(laze_tensor_materialise(laze_tensor_grad(y)), LAZE_OK);
  refuses(laze_optimiser_step(adam, &error), &error, LAZE_OUT_OF_RANGE, "index_select");
  expect(x, 0, (float[]){1, -2});
  expect(y, 0, (float[]){1, 2});
  laze_optimiser_destroy(adam);
  ck_assert_int_eq(laze_tensor_set_grad(x, NULL, NULL), LAZE_OK);
  ck_assert_int_eq(laze_tensor_set_grad(y, NULL, NULL), LAZE_OK);
  ck_assert_int_eq(laze_scope_end(at.scope), LAZE_OK); /* all that failed was asked for */
  laze_context_release(at.context);
}
END_TEST

/* A complex parameter moves as its two parts would. */
START_TEST(complex_parameters_are_pairs) {
  autograd_fixture at = begin();
  float pairs[] = {1, 2, -3, 0.5f}, gradients[] = {0.5f, -1, 2, 0.25f}, got[2][4];
  laze_tensor *z = laze_tensor_from_data(at.context, LAZE_C64, LAZE_SHAPE(2), pairs, sizeof pairs);
  laze_tensor *x = leaf(&at, pairs);
  laze_optimiser *adam = make(&at, "adam", LAZE_SETTINGS({"lr", 0.1}));
  ck_assert_int_eq(laze_tensor_require_grad(z, 1, NULL), LAZE_OK);
  add(adam, (laze_tensor *[]){z, x}, 2);
  laze_tensor *gradient = laze_tensor_from_data(at.context, LAZE_C64, LAZE_SHAPE(2), gradients, sizeof gradients);
  ck_assert_int_eq(laze_tensor_set_grad(z, gradient, NULL), LAZE_OK);
  ck_assert_int_eq(laze_tensor_set_grad(x, constant(&at, gradients), NULL), LAZE_OK);
  step(adam);
  ck_assert_int_eq(laze_tensor_read(z, LAZE_C64, got[0], sizeof got[0]), LAZE_OK);
  ck_assert_int_eq(laze_tensor_read(x, LAZE_F32, got[1], sizeof got[1]), LAZE_OK);
  ck_assert_mem_eq(got[0], got[1], sizeof got[0]);
  laze_optimiser_destroy(adam);
  end(&at);
}
END_TEST

/* Many parameters of many sizes: one run for a step, a kernel each, and as many compiled as there are kinds. */
START_TEST(a_hundred_parameters) {
  autograd_fixture at = begin();
  laze_tensor *parameters[100], *loss = NULL;
  laze_optimiser *adamw = make(&at, "adamw", LAZE_NO_SETTINGS);
  laze_error error;
  for (int i = 0; i < 100; i++) {
    parameters[i] = laze_full(at.context, LAZE_SHAPE(i + 2), 1, LAZE_F32);
    ck_assert_int_eq(laze_tensor_materialise(parameters[i]), LAZE_OK);
    ck_assert_int_eq(laze_tensor_require_grad(parameters[i], 1, NULL), LAZE_OK);
  }
  add(adamw, parameters, 100);
  for (int k = 0; k < 3; k++) {
    const int64_t graphs = metric(at.context, "graphs_run");
    laze_scope *scope = laze_scope_begin(at.context);
    loss = laze_zeros(at.context, LAZE_SHAPE_SCALAR, LAZE_F32);
    for (int i = 0; i < 100; i++) loss = laze_add(loss, laze_sum(parameters[i]));
    backward(loss);
    const int64_t nodes = metric(at.context, "nodes_recorded");
    step(adamw);
    /* The decay and the rest: what is recorded is time in front of the kernels. */
    if (k > 0) ck_assert_int_eq(metric(at.context, "nodes_recorded") - nodes, 200);
    ck_assert_msg(laze_step_end(scope, &error) == LAZE_OK, "%s", error.message);
    ck_assert_int_eq(metric(at.context, "graphs_run") - graphs, k == 0 ? 2 : 1); /* the first makes the memories */
  }
  ck_assert_double_lt(laze_tensor_item(laze_select(parameters[99], 0, 0)), 1);
  laze_optimiser_destroy(adamw);
  for (int i = 0; i < 100; i++) ck_assert_int_eq(laze_tensor_require_grad(parameters[i], 0, NULL), LAZE_OK);
  end(&at);
}
END_TEST

/* Beside the optimiser, who calls the step may pass anything. */
START_TEST(a_step_of_adam_takes_floats) {
  autograd_fixture at = begin();
  laze_tensor *results[3], *x = laze_full(at.context, LAZE_SHAPE(2), 1, LAZE_F32);
  laze_tensor *whole = laze_full(at.context, LAZE_SHAPE(2), 1, LAZE_I32);
  laze_tensor *number = laze_tensor_from_scalar(at.context, LAZE_F32, laze_scalar_real(0.5));
  laze_adam_step(x, whole, x, x, number, number, number, number, number, number, results);
  for (int i = 0; i < 3; i++) ck_assert_int_eq(laze_tensor_status(results[i]), LAZE_INVALID_ARGUMENT);
  ck_assert_ptr_nonnull(strstr(laze_tensor_error(results[0]), "adam_step: a tensor is i32"));
  laze_adam_step(x, laze_to(x, LAZE_F64), x, x, number, number, number, number, number, number, results);
  ck_assert_int_eq(laze_tensor_dtype(results[0]), LAZE_F64);
  ck_assert_int_eq(laze_tensor_materialise(results[0]), LAZE_OK);
  end(&at);
}
END_TEST

/* ---- Lists: a step over many small parameters is a handful of kernels, each of them run at once for all that are
 * alike, and gives what a step over each parameter alone gives, to the bit. */

enum { LIST = 100, LIST_MOST = 200 * 40, LIST_KERNELS = 8 };

typedef struct {
  laze_context *context;
  laze_tensor *parameters[LIST], *gradients[LIST];
} parameter_list;

/* The interpreter has a kernel of its own for each operator: none are alike. */
static bool is_native(void) {
  return strcmp(laze_backend_name(laze_backend_at(0)), "llvm") == 0;
}

static laze_ints list_shape(int index) {
  static const int64_t sizes[8][2] = {{3}, {64, 3}, {1}, {200, 40}, {17}, {33, 31}, {5, 1}, {2048}};
  const int64_t *shape = sizes[index % 8];
  return (laze_ints){shape, shape[1] > 0 ? 2 : 1};
}

static size_t list_bytes(int index) {
  const laze_ints shape = list_shape(index);
  return (size_t)(shape.items[0] * (shape.count > 1 ? shape.items[1] : 1)) * sizeof(float);
}

static laze_tensor *list_tensor(laze_context *context, int index, int seed) {
  float data[LIST_MOST];
  for (size_t k = 0; k < list_bytes(index) / sizeof(float); k++)
    data[k] = (float)((k * 31 + (size_t)(index * 17 + seed)) % 97) / 97 - 0.5f;
  return laze_tensor_retain(laze_tensor_from_data(context, LAZE_F32, list_shape(index), data, list_bytes(index)));
}

static parameter_list begin_list(const char *backend, int threads) {
  laze_context_options options = {
      .struct_size = sizeof options, .backend = backend, .cache_directory = "", .threads = threads};
  parameter_list list;
  ck_assert_int_eq(laze_context_create(&options, &list.context, NULL), LAZE_OK);
  laze_scope *scope = laze_scope_begin(list.context);
  for (int i = 0; i < LIST; i++) {
    list.parameters[i] = list_tensor(list.context, i, 1);
    list.gradients[i] = list_tensor(list.context, i, 50);
    ck_assert_int_eq(laze_tensor_require_grad(list.parameters[i], 1, NULL), LAZE_OK);
  }
  ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
  return list;
}

static void end_list(parameter_list *list) {
  for (int i = 0; i < LIST; i++) {
    laze_tensor_release(list->parameters[i]);
    laze_tensor_release(list->gradients[i]);
  }
  laze_context_release(list->context);
}

/* Parameters [first, end) get a step of it; the clipped norm of all gradients is its limit before, where that is not 0.
 */
static void step_list(parameter_list *list, laze_optimiser *optimiser, int first, int end, double clip) {
  laze_scope *scope = laze_scope_begin(list->context);
  laze_error error;
  for (int i = first; i < end; i++)
    ck_assert_int_eq(
        laze_tensor_set_grad(list->parameters[i], laze_mul(list->gradients[i], laze_detach(list->parameters[i])), NULL),
        LAZE_OK);
  if (clip > 0)
    ck_assert_int_eq(laze_clip_grad_norm(list->context, list->parameters + first, end - first, clip, 2, NULL, NULL),
                     LAZE_OK);
  step(optimiser);
  ck_assert_msg(laze_step_end(scope, &error) == LAZE_OK, "%s", error.message);
}

static laze_optimiser *list_optimiser(parameter_list *list, const char *algorithm, laze_settings settings, int first,
                                      int end) {
  laze_optimiser *optimiser;
  ck_assert_int_eq(laze_optimiser_create(list->context, algorithm, settings, &optimiser, NULL), LAZE_OK);
  add(optimiser, list->parameters + first, end - first);
  return optimiser;
}

static void assert_same_list(const parameter_list *list, const parameter_list *wanted, const char *what, int threads) {
  static float got[LIST_MOST], expected[LIST_MOST];
  for (int i = 0; i < LIST; i++) {
    ck_assert_int_eq(laze_tensor_read(list->parameters[i], LAZE_F32, got, list_bytes(i)), LAZE_OK);
    ck_assert_int_eq(laze_tensor_read(wanted->parameters[i], LAZE_F32, expected, list_bytes(i)), LAZE_OK);
    ck_assert_msg(memcmp(got, expected, list_bytes(i)) == 0, "%s, parameter %d, on %d threads", what, i, threads);
  }
}

static const struct {
  const char *algorithm;
  laze_settings settings;
} listed[] = {
    {"sgd", {(const laze_setting[]){{"lr", 0.1}}, 1}},
    {"sgd", {(const laze_setting[]){{"lr", 0.1}, {"momentum", 0.9}, {"nesterov", 1}, {"weight_decay", 0.1}}, 4}},
    {"adam", {(const laze_setting[]){{"weight_decay", 0.1}, {"amsgrad", 1}}, 2}},
    {"adamw", {NULL, 0}},
    {"adamax", {NULL, 0}},
    {"nadam", {NULL, 0}},
    {"radam", {NULL, 0}},
    {"rmsprop", {(const laze_setting[]){{"momentum", 0.9}, {"centered", 1}}, 2}},
    {"adagrad", {NULL, 0}},
    {"adadelta", {NULL, 0}},
    {"asgd", {NULL, 0}},
    {"rprop", {NULL, 0}},
};
static void step_over_list(const char *name, laze_settings settings) {
  static const int threads[] = {1, 2, 7};
  parameter_list each = begin_list("llvm", 1);
  laze_optimiser *own[LIST];
  for (int i = 0; i < LIST; i++) own[i] = list_optimiser(&each, name, settings, i, i + 1);
  for (int k = 0; k < 3; k++)
    for (int i = 0; i < LIST; i++) step_list(&each, own[i], i, i + 1, 0);
  for (size_t t = 0; t < sizeof threads / sizeof *threads; t++) {
    parameter_list list = begin_list("llvm", threads[t]);
    laze_optimiser *optimiser = list_optimiser(&list, name, settings, 0, LIST);
    for (int k = 0; k < 3; k++) {
      const int64_t ran = metric(list.context, "kernels_run"), instances = metric(list.context, "kernel_instances");
      step_list(&list, optimiser, 0, LIST, 0);
      ck_assert_int_ge(metric(list.context, "kernel_instances") - instances, LIST);
      if (k == 0) continue; /* makes the memories, too */
      ck_assert_msg(metric(list.context, "kernels_run") - ran <= LIST_KERNELS, "%s: %lld kernels", name,
                    (long long)(metric(list.context, "kernels_run") - ran));
    }
    assert_same_list(&list, &each, name, threads[t]);
    laze_optimiser_destroy(optimiser);
    end_list(&list);
  }
  for (int i = 0; i < LIST; i++) laze_optimiser_destroy(own[i]);
  end_list(&each);
}

START_TEST(a_step_over_a_list_is_a_handful_of_kernels) {
  for (size_t i = 0; is_native() && i < sizeof listed / sizeof *listed; i++)
    step_over_list(listed[i].algorithm, listed[i].settings);
}
END_TEST

/* The norm of a hundred gradients, and what follows from it for each, in the graph of the step: as the interpreter
 * computes it, one operator after the other. */
START_TEST(clipping_a_list_is_a_handful_of_kernels) {
  static const int threads[] = {1, 2, 7};
  if (!is_native()) return;
  parameter_list wanted = begin_list("interp", 1);
  laze_optimiser *reference = list_optimiser(&wanted, "sgd", LAZE_SETTINGS({"momentum", 0.9}), 0, LIST);
  for (int k = 0; k < 3; k++) step_list(&wanted, reference, 0, LIST, 0.5);
  for (size_t t = 0; t < sizeof threads / sizeof *threads; t++) {
    parameter_list list = begin_list("llvm", threads[t]);
    laze_optimiser *optimiser = list_optimiser(&list, "sgd", LAZE_SETTINGS({"momentum", 0.9}), 0, LIST);
    int64_t ran = 0;
    for (int k = 0; k < 3; k++) {
      ran = metric(list.context, "kernels_run");
      step_list(&list, optimiser, 0, LIST, 0.5);
      ran = metric(list.context, "kernels_run") - ran;
    }
    ck_assert_msg(ran <= LIST_KERNELS, "%lld kernels", (long long)ran);
    assert_same_list(&list, &wanted, "clipped", threads[t]);
    laze_optimiser_destroy(optimiser);
    end_list(&list);
  }
  laze_optimiser_destroy(reference);
  end_list(&wanted);
}
END_TEST

START_TEST(gradients_are_clipped) {
  autograd_fixture at = begin();
  laze_tensor *x = leaf(&at, (float[]){0, 0}), *y = leaf(&at, (float[]){0}), *none = leaf(&at, (float[]){1}), *norm;
  laze_tensor *all[] = {x, none, y};
  laze_error error;
  ck_assert_int_eq(laze_tensor_set_grad(x, constant(&at, (float[]){2, -4}), NULL), LAZE_OK);
  ck_assert_int_eq(laze_tensor_set_grad(y, constant(&at, (float[]){4}), NULL), LAZE_OK);
  ck_assert_int_eq(laze_clip_grad_norm(at.context, all, 3, 100, 2, &norm, NULL), LAZE_OK); /* is below */
  expect(norm, 1e-6f, (float[]){6});
  expect(laze_tensor_grad(x), 0, (float[]){2, -4});
  ck_assert_int_eq(laze_clip_grad_norm(at.context, all, 3, 3, 2, NULL, NULL), LAZE_OK);
  expect(laze_tensor_grad(x), 1e-6f, (float[]){1, -2});
  expect(laze_tensor_grad(y), 1e-6f, (float[]){2});
  ck_assert_ptr_null(laze_tensor_grad(none));
  ck_assert_int_eq(laze_clip_grad_norm(at.context, all, 3, 1, HUGE_VAL, &norm, NULL), LAZE_OK);
  expect(norm, 1e-6f, (float[]){2});
  expect(laze_tensor_grad(x), 1e-6f, (float[]){0.5f, -1});
  ck_assert_int_eq(laze_clip_grad_value(at.context, all, 3, 0.75, NULL), LAZE_OK);
  expect(laze_tensor_grad(x), 1e-6f, (float[]){0.5f, -0.75f});
  ck_assert_int_eq(laze_clip_grad_norm(at.context, all, 0, 1, 2, &norm, NULL), LAZE_OK); /* of no gradients */
  expect(norm, 0, (float[]){0});
  refuses(laze_clip_grad_value(at.context, all, 3, -1, &error), &error, LAZE_INVALID_ARGUMENT, "the limit is -1");
  refuses(laze_clip_grad_norm(at.context, NULL, 3, 1, 2, &norm, &error), &error, LAZE_INVALID_ARGUMENT, "no list");
  end(&at);
}
END_TEST

/* What is no parameter, or no norm, is refused before the gradients of others change. */
START_TEST(clipping_is_all_or_nothing) {
  autograd_fixture at = begin();
  char junk[64] = {0};
  laze_tensor *x = leaf(&at, (float[]){0, 0}), *norm;
  laze_error error;
  ck_assert_int_eq(laze_tensor_set_grad(x, constant(&at, (float[]){2, -4}), NULL), LAZE_OK);
  laze_tensor *const wrong[] = {NULL, (laze_tensor *)(void *)junk};
  for (int i = 0; i < 2; i++) {
    laze_tensor *all[] = {x, wrong[i]};
    refuses(laze_clip_grad_norm(at.context, all, 2, 1, 2, &norm, &error), &error, LAZE_INVALID_ARGUMENT, "parameter 1");
    refuses(laze_clip_grad_value(at.context, all, 2, 1, &error), &error, LAZE_INVALID_ARGUMENT, "parameter 1");
  }
  refuses(laze_clip_grad_norm(at.context, &x, 1, 1, 0, &norm, &error), &error, LAZE_INVALID_ARGUMENT, "order is 0");
  refuses(laze_clip_grad_norm(at.context, &x, 1, 1, NAN, &norm, &error), &error, LAZE_INVALID_ARGUMENT, "order is nan");
  ck_assert_ptr_null(norm);
  expect(laze_tensor_grad(x), 0, (float[]){2, -4});
  end(&at);
}
END_TEST

START_TEST(schedules) {
  ck_assert_double_eq(laze_schedule_step(1, 9, 10, 0.5), 1);
  ck_assert_double_eq(laze_schedule_step(1, 20, 10, 0.5), 0.25);
  ck_assert_double_eq_tol(laze_schedule_exponential(2, 3, 0.9), 2 * 0.729, 1e-15);
  ck_assert_double_eq(laze_schedule_cosine(1, 0, 10, 0.1), 1);
  ck_assert_double_eq_tol(laze_schedule_cosine(1, 5, 10, 0.1), 0.55, 1e-15);
  ck_assert_double_eq_tol(laze_schedule_cosine(1, 10, 10, 0.1), 0.1, 1e-15);
  ck_assert_double_eq_tol(laze_schedule_warmup(2, 0, 4, 0.25), 0.5, 1e-15);
  ck_assert_double_eq_tol(laze_schedule_warmup(2, 2, 4, 0.25), 1.25, 1e-15);
  ck_assert_double_eq(laze_schedule_warmup(2, 4, 4, 0.25), 2);
  ck_assert_double_eq(laze_schedule_warmup(2, 0, 0, 0.25), 2);
}
END_TEST

START_TEST(spreads_of_first_values) {
  const laze_ints weight = LAZE_SHAPE(8, 3, 2), bias = LAZE_SHAPE(8);
  ck_assert_double_eq_tol(laze_xavier_std(weight, 2), 2 * sqrt(2.0 / (16 + 6)), 1e-15);
  ck_assert_double_eq_tol(laze_kaiming_std(weight, LAZE_FAN_IN, 1), sqrt(1.0 / 6), 1e-15);
  ck_assert_double_eq_tol(laze_kaiming_std(weight, LAZE_FAN_OUT, sqrt(2)), sqrt(2.0 / 16), 1e-15);
  ck_assert(isnan(laze_xavier_std(bias, 1)) && isnan(laze_kaiming_std(bias, LAZE_FAN_IN, 1)));
  const laze_ints none = {NULL, 2};
  ck_assert(isnan(laze_xavier_std(none, 1)) && isnan(laze_kaiming_std(none, LAZE_FAN_IN, 1)));
}
END_TEST

int main(void) {
  const TTest *tests[] = {settings_are_checked,
                          no_optimiser_and_no_list_are_refused,
                          parameters_are_checked,
                          numbers_that_change_compile_nothing,
                          groups_and_parameters_apart,
                          state_goes_on,
                          state_is_checked,
                          a_state_with_gaps_is_refused,
                          a_state_without_steps_goes_both_ways,
                          numbers_are_a_part_of_the_state,
                          momentum_comes_without_steps,
                          without_memory_the_state_stays,
                          a_gradient_that_failed_changes_nothing,
                          complex_parameters_are_pairs,
                          a_hundred_parameters,
                          a_step_of_adam_takes_floats,
                          a_step_over_a_list_is_a_handful_of_kernels,
                          clipping_a_list_is_a_handful_of_kernels,
                          gradients_are_clipped,
                          clipping_is_all_or_nothing,
                          schedules,
                          spreads_of_first_values};
  return run_tests("optim", tests, sizeof tests / sizeof *tests);
}
