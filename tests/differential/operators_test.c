/* Every operator on both backends, over the dtypes its table entry names and over shapes that are awkward: no elements,
 * one, prime numbers of them, broadcast, strided. The reference interpreter says what is right: to the bit for exact
 * operators, within the entry's bound for the others. */
#include "ir/op.gen.h"
#include "tests/support/cases.h"
#include "tests/support/random_call.h"
#include "tests/support/run.h"
#include "tests/support/suite.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  const char *name;
  int32_t rank;
  int64_t sizes[4];
  bool broadcast, moved;
} variant;

static const variant variants[] = {
    {"no dims", 0, {0}, false, false},
    {"empty", 2, {3, 0}, false, false},
    {"prime", 1, {7}, false, false},
    {"two primes", 2, {13, 11}, false, false},
    {"broadcast", 3, {2, 13, 11}, true, false},
    {"strided", 2, {5, 17}, false, true},
    {"strided, three dims", 3, {3, 5, 7}, false, true},
    {"longer than a block of a reduction", 2, {2, 2100}, false, false},
    {"rows longer than a block of a reduction", 2, {130, 3}, false, false},
};
enum { VARIANTS = sizeof variants / sizeof *variants, CALLS_PER_VARIANT = 2, MOST_RESULTS = 8 };

/* Nearly all of the time goes into compiling, so an operator has each dtype at a third of the shapes, and each shape in
 * a third of the dtypes; a composite, whose kernels are those of operators tested for themselves, has a third of that.
 * Another seed draws others; LAZE_TEST_SHAPES=1 takes every one, and 9 a third of what 3 does. */
enum { SHAPE_TURNS = 3 };

typedef struct {
  laze_context *reference, *native;
  const laze_backend *interp, *llvm;
  test_random random;
  uint64_t seed;
  uint64_t turns;
} differential;

static differential setup(void) {
  differential state = {.reference = test_context(NULL), .native = test_context("verify")};
  state.seed = (uint64_t)test_setting("LAZE_TEST_SEED", 1);
  state.random.state = state.seed;
  ck_assert_int_eq(laze_backend_find(state.reference, "interp", &state.interp, NULL), LAZE_OK);
  ck_assert_int_eq(laze_backend_find(state.native, "llvm", &state.llvm, NULL), LAZE_OK);
  return state;
}

static void teardown(differential *state) {
  laze_context_release(state->reference);
  laze_context_release(state->native);
}

static uint64_t turns_of(const laze_differential_case *item) {
  const int64_t turns = test_setting("LAZE_TEST_SHAPES", SHAPE_TURNS);
  return (uint64_t)(laze_op_get(item->op)->expand && turns > 1 ? SHAPE_TURNS * turns : turns);
}

static bool is_turn(const differential *state, const laze_differential_case *item, laze_dtype dtype, int shape) {
  return (state->seed + item->op + dtype + (uint64_t)shape) % state->turns == 0;
}

/* One graph with calls at every variant whose turn it is, so that all its kernels are compiled at once. How many calls
 * were accepted. */
static int32_t build(differential *state, const laze_differential_case *item, laze_dtype dtype, laze_graph **out) {
  laze_value outputs[VARIANTS * CALLS_PER_VARIANT * MOST_RESULTS];
  int32_t accepted = 0;
  int64_t count = 0;
  test_caller caller;
  laze_error error;
  ck_assert_int_eq(laze_graph_create(state->reference, "case", out, &error), LAZE_OK);
  test_caller_init(&caller, *out, &state->random);
  caller.fresh = true;
  caller.dtype = dtype;
  int calls = laze_op_get(item->op)->attribute_count > 0 ? CALLS_PER_VARIANT : 1;
  for (int v = 0; v < VARIANTS * calls; v++) {
    const variant *shape = &variants[v / calls];
    if (!is_turn(state, item, dtype, v / calls)) continue;
    caller.rank = shape->rank;
    memcpy(caller.sizes, shape->sizes, sizeof shape->sizes);
    caller.broadcast = shape->broadcast;
    caller.moved = shape->moved;
    caller.count = 0;
    if ((*out)->body->parameter_count > TEST_MAX_VALUES - TEST_CALL_OPERANDS) break;
    if (test_random_call(&caller, item->op, &error) != LAZE_OK) continue;
    accepted++;
    for (int32_t i = laze_op_get(item->op)->result_count; i > 0; i--) outputs[count++] = caller.pool[caller.count - i];
  }
  ck_assert_int_eq(laze_block_set_results(*out, (*out)->body, outputs, count, &error), LAZE_OK);
  return accepted;
}

/* Whether an inexact result is near enough to the reference: `ulp` units of a number of its size, or of 1 where
 * cancellation made it small. Floats of 16 bits are such f32, which may lie to both sides of where rounding changes.
 * Of operands of several dtypes (`mixed`), a composite may have computed a part in f32. */
static bool is_near_to(laze_dtype dtype, double size, const void *expected, const void *got, double ulp, bool mixed) {
  double a = test_element_as_double(dtype, expected), b = test_element_as_double(dtype, got);
  if (test_same_bits(dtype, expected, got) || a == b) return true;
  if (isnan(a) || isnan(b)) return false;
  double unit = ldexp(1, 1 - laze_dtype_get(dtype)->digits);
  double largest = ldexp(2 - unit, laze_dtype_exponent_bias(dtype));
  if (isinf(a) || isinf(b)) return fabs(isinf(a) ? b : a) > largest * (1 - 2 * ulp * unit) && (a > 0) == (b > 0);
  double computed = ldexp(1, 1 - laze_dtype_get(mixed ? LAZE_F32 : laze_dtype_computes(dtype))->digits);
  double apart = laze_dtype_is_half(dtype)
                     ? fmax(unit * fmax(fabs(a), fabs(b)), ldexp(unit, 1 - laze_dtype_exponent_bias(dtype)))
                     : 0;
  return fabs(a - b) <= ulp * computed * fmax(fabs(a), size) + apart;
}

/* A part of a complex number may be what cancellation left of the other's size. */
static bool is_near(laze_dtype dtype, const void *expected, const void *got, double ulp, bool mixed) {
  const laze_dtype part = laze_dtype_part(dtype);
  if (part == dtype) return is_near_to(dtype, 1, expected, got, ulp, mixed);
  const laze_scalar value = laze_scalar_load(dtype, expected, 0);
  const double size = fmax(1, fmax(fabs(value.value.real), fabs(value.imaginary)));
  const int64_t width = laze_dtype_size(part);
  return is_near_to(part, isfinite(size) ? size : 1, expected, got, ulp, mixed) &&
         is_near_to(part, isfinite(size) ? size : 1, (const char *)expected + width, (const char *)got + width, ulp,
                    mixed);
}

static const laze_differential_case *find_case(laze_op op) {
  for (int32_t i = 0; i < laze_differential_case_count; i++)
    if (laze_differential_cases[i].op == op) return &laze_differential_cases[i];
  return NULL;
}

/* How near results have to be where operands are complex. What has a form for them is as near as that, what goes by
 * parts or moves as of real numbers. Anything else is made of such operators, quotients and magnitudes among them,
 * which are exact of real numbers and not of complex ones. */
static laze_differential_case of_complex(const laze_differential_case *item) {
  enum { ULP_OF_COMPOSITES = 64 }; /* as of a power */
  const laze_op_info *info = laze_op_get(item->op);
  const laze_differential_case *form = info->complex_op != LAZE_OP_NONE ? find_case(info->complex_op) : NULL;
  laze_differential_case bound = *item;
  const bool is_made_of_others = info->complex_form == LAZE_COMPLEX_MOVED && info->expand && !info->keeps_dtype;
  /* Sums of complex numbers cancel, and their logarithms show it. */
  const bool sums_logarithms = info->complex_form == LAZE_COMPLEX_FOLDED && info->combine == LAZE_OP_LOGADDEXP;
  if (!is_made_of_others && !sums_logarithms && !form) return bound;
  bound.exact = form && form->exact && item->exact;
  bound.ulp = fmax(item->exact ? 0 : item->ulp, !form ? ULP_OF_COMPOSITES : form->exact ? 0 : form->ulp);
  return bound;
}

static void check_near(const laze_differential_case *item, const test_arrays *expected, const test_arrays *got,
                       const laze_graph *graph, bool mixed) {
  for (int32_t i = 0; i < expected->count; i++) {
    laze_dtype dtype = expected->types[i].dtype;
    int64_t width = laze_dtype_size(dtype);
    for (int64_t k = 0; k < test_elements(&expected->types[i]); k++) {
      char left[64], right[64];
      const char *a = (const char *)expected->buffers[i]->data + k * width,
                 *b = (const char *)got->buffers[i]->data + k * width;
      bool near = item->exact ? test_same_bits(dtype, a, b) : is_near(dtype, a, b, 2 * item->ulp, mixed);
      if (!near) test_print_graph("this graph fails:", graph);
      ck_assert_msg(near, "%s: output %d, element %lld: expected %s, got %s", laze_op_get(item->op)->name, (int)i,
                    (long long)k, test_element_text(dtype, a, left), test_element_text(dtype, b, right));
    }
  }
}

/* Without the call: the native context runs a copy of the graph, after what is composite in it was expanded. */
static const char *said_of_index(const laze_error *error) {
  const char *said = strstr(error->message, ": index ");
  return said ? said : error->message;
}

static void compare(differential *state, const laze_differential_case *item, const laze_graph *graph, bool special,
                    bool mixed) {
  test_arrays inputs, expected = {0}, got = {0};
  laze_error refusal, error;
  test_range range = {.low = item->low, .high = item->high, .special = special};
  test_inputs(state->reference, graph, &state->random, &range, &inputs);
  const laze_status first = test_run(state->reference, state->interp, graph, NULL, &inputs, &expected, &refusal);
  /* What looks at its data (weights that are drawn from) may refuse a NaN: both do, and for the same reason. */
  const bool refuses = special && first == LAZE_OUT_OF_RANGE;
  ck_assert_msg(first == LAZE_OK || refuses, "%s: interp: %s", laze_op_get(item->op)->name, refusal.message);
  const laze_status second = test_run(state->native, state->llvm, graph, NULL, &inputs, &got, &error);
  if (second != first) test_print_graph("this graph fails:", graph);
  ck_assert_msg(second == first, "%s: llvm: %s", laze_op_get(item->op)->name,
                second != LAZE_OK ? error.message : "does what the interpreter refuses");
  if (refuses)
    ck_assert_str_eq(said_of_index(&error), said_of_index(&refusal));
  else
    check_near(item, &expected, &got, graph, mixed);
  test_arrays_release(&inputs);
  test_arrays_release(&expected);
  test_arrays_release(&got);
}

static int32_t check_dtype(differential *state, const laze_differential_case *item, laze_dtype dtype) {
  laze_graph *graph;
  int32_t accepted = build(state, item, dtype, &graph);
  const bool mixed = dtype == LAZE_DTYPE_NONE;
  const laze_differential_case bound = mixed || laze_dtype_is_complex(dtype) ? of_complex(item) : *item;
  /* The angle of a power of a huge number has no digits left that would say where infinity lies. */
  const bool turns = laze_dtype_is_complex(dtype) && strstr(laze_op_get(item->op)->name, "pow") != NULL;
  for (int special = 0; special < (turns ? 1 : 2) && accepted > 0; special++)
    compare(state, &bound, graph, special, mixed);
  laze_graph_destroy(graph);
  return accepted;
}

/* How many calls were accepted. */
static int32_t check_operator(differential *state, const laze_differential_case *item) {
  int32_t accepted = 0;
  for (laze_dtype dtype = 1; dtype < LAZE_DTYPE_BOUND; dtype++)
    if (item->dtypes >> dtype & 1) accepted += check_dtype(state, item, dtype);
  /* Operands of different dtypes, which are promoted. */
  if (laze_op_get(item->op)->segment_count > 1) accepted += check_dtype(state, item, LAZE_DTYPE_NONE);
  return accepted;
}

/* Parts of the table, which the argument numbers from 0; without one, all of it. */
enum { PARTS = 4, MOST_DRAWS = 8 };
static int part = -1;

/* A part of all that is many alike leaves out composites: what they consist of is tested for itself. */
static bool has_turn(const laze_differential_case *item, int64_t *composites) {
  if (laze_op_get(item->op)->op_class != LAZE_CLASS_COMPOSITE || getenv("LAZE_TEST_OPERATORS")) return true;
  return test_has_turn((*composites)++);
}

START_TEST(both_backends_agree) {
  differential state = setup();
  int64_t composites = 0;
  for (int32_t i = 0; i < laze_differential_case_count; i++) {
    if (part >= 0 && i % PARTS != part) continue;
    const laze_differential_case *item = &laze_differential_cases[i];
    int32_t accepted = 0;
    if (!test_is_callable(item->op) || !test_is_chosen(laze_op_get(item->op)->base)) continue;
    if (!has_turn(item, &composites)) continue;
    if (item->cancels) continue; /* what these compute is compared as gradients (property/derivatives_test.c) */
    state.turns = turns_of(item);
    for (int draw = 0; draw < MOST_DRAWS && accepted == 0; draw++) {
      accepted = check_operator(&state, item);
      state.turns =
          state.turns > SHAPE_TURNS ? state.turns / SHAPE_TURNS : 1; /* where no call fits, others have turns */
    }
    /* Otherwise the operator is not tested at all. */
    ck_assert_msg(accepted > 0, "no call of %s is accepted", laze_op_get(item->op)->name);
  }
  teardown(&state);
}
END_TEST

int main(int count, char **arguments) {
  if (count > 1) part = atoi(arguments[1]);
  Suite *suite = suite_create("differential");
  TCase *tests = tcase_create("operators");
  tcase_set_timeout(tests, 0);
  tcase_add_test(tests, both_backends_agree);
  suite_add_tcase(suite, tests);
  return test_run_suite(suite);
}
