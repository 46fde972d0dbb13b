/* Random graphs: what they print reads back as an equal graph with an equal key, before and after every pass, with
 * sizes and with symbols; passes give valid graphs and, run again, find nothing more to do. */
#include "tests/unit/ir/ir_test.h"

#include <stdarg.h>
#include <stdio.h>
#include <time.h>

enum { MAX_VALUES = 256, TEXT_SIZE = 1 << 16 };

typedef struct {
  char *text;
  size_t length;
  int32_t ranks[MAX_VALUES];
  int32_t sizes[MAX_VALUES][3];
  int count;
} generator;

static int pick(int bound) {
  return rand() % bound;
}

static void __attribute__((format(printf, 2, 3))) emit(generator *state, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  state->length += (size_t)vsnprintf(state->text + state->length, TEXT_SIZE - state->length, format, arguments);
  va_end(arguments);
  ck_assert_uint_lt(state->length, TEXT_SIZE);
}

/* A value like `source`, whose axis `axis` (-1: none) has another size. */
static void define(generator *state, int source, int axis, int32_t size) {
  state->ranks[state->count] = state->ranks[source];
  memcpy(state->sizes[state->count], state->sizes[source], sizeof state->sizes[source]);
  if (axis >= 0) state->sizes[state->count][axis] = size;
  state->count++;
}

static bool same_shape(const generator *state, int a, int b) {
  return state->ranks[a] == state->ranks[b] &&
         memcmp(state->sizes[a], state->sizes[b], (size_t)state->ranks[a] * sizeof(int32_t)) == 0;
}

static void emit_binary(generator *state, int a) {
  static const char *const names[] = {"add", "sub", "mul", "div", "maximum"};
  int b = pick(state->count);
  if (!same_shape(state, a, b)) b = a;
  emit(state, "  %%v%d = %s %%v%d, %%v%d\n", state->count, names[pick(5)], a, b);
  define(state, a, -1, 0);
}

static void emit_number(generator *state, int a) {
  static const char *const names[] = {"add", "sub", "mul", "div"};
  static const char *const numbers[] = {"1.0", "0.0", "-0.0", "1", "0", "nan(0x7ff8000000000123)", "2.5", "true"};
  emit(state, "  %%v%d = %s %%v%d, %s\n", state->count, names[pick(4)], a, numbers[pick(7)]);
  define(state, a, -1, 0);
}

static void emit_unary(generator *state, int a) {
  emit(state, "  %%v%d = ", state->count);
  switch (pick(4)) {
  case 0: emit(state, "exp %%v%d\n", a); break;
  case 1: emit(state, "neg %%v%d\n", a); break;
  case 2: emit(state, "to %%v%d, dtype=f32\n", a); break;
  default: emit(state, "relu %%v%d\n", a); break;
  }
  define(state, a, -1, 0);
}

static void emit_axis(generator *state, int a) {
  int axis = pick(state->ranks[a] ? state->ranks[a] : 1);
  if (state->ranks[a] == 0) {
    emit_unary(state, a);
    return;
  }
  int32_t size = state->sizes[a][axis];
  switch (pick(4)) {
  case 0:
    emit(state, "  %%v%d = sum %%v%d, dim=[%d], keepdim=true\n", state->count, a, axis);
    define(state, a, axis, 1);
    break;
  case 1:
    if (size > 64) return;
    emit(state, "  %%v%d = cat [%%v%d, %%v%d], dim=%d\n", state->count, a, a, axis);
    define(state, a, axis, size * 2);
    break;
  case 2:
    emit(state, "  %%v%d = slice %%v%d, dim=%d, start=%d\n", state->count, a, axis, size / 2);
    define(state, a, axis, size - size / 2);
    break;
  default:
    emit(state, "  %%v%d = _softmax %%v%d, dim=%d\n", state->count, a, axis - state->ranks[a]);
    define(state, a, -1, 0);
  }
}

static void emit_movement(generator *state, int a) {
  int rank = state->ranks[a];
  emit(state, "  %%v%d = ", state->count);
  if (rank != 2 || pick(2)) {
    emit(state, "reshape %%v%d, shape=[", a);
    for (int axis = 0; axis < rank; axis++)
      emit(state, "%s%d", axis ? ", " : "", axis == 0 && pick(2) ? -1 : state->sizes[a][axis]);
    emit(state, "]\n");
    define(state, a, -1, 0);
  } else {
    emit(state, "permute %%v%d, dims=[1, 0]\n", a);
    define(state, a, 0, state->sizes[a][1]);
    state->sizes[state->count - 1][1] = state->sizes[a][0];
  }
}

static void emit_type(generator *state, int value) {
  emit(state, "f32[");
  for (int axis = 0; axis < state->ranks[value]; axis++)
    emit(state, "%s%d", axis ? "," : "", state->sizes[value][axis]);
  emit(state, "]");
}

static void emit_if(generator *state, int a) {
  emit(state, "  %%v%d = if %%c, [%%v%d] (%%a: ", state->count, a);
  emit_type(state, a);
  emit(state, ") {\n    %%b = exp %%a\n    %%d = exp %%a\n    %%e = add %%b, %%d\n    return %%e\n  } (%%a: ");
  emit_type(state, a);
  emit(state, ") {\n    %%b = mul %%a, 1.0\n    return %%b\n  }\n");
  define(state, a, -1, 0);
}

static void generate(generator *state) {
  int inputs = 1 + pick(4), nodes = 1 + pick(40);
  state->length = 0;
  state->count = 0;
  emit(state, "laze 1\ngraph @random(%%c: bool[]");
  for (int i = 0; i < inputs; i++) {
    state->ranks[i] = pick(3);
    for (int axis = 0; axis < 3; axis++) state->sizes[i][axis] = 1 + pick(4);
    emit(state, ", %%v%d: ", i);
    emit_type(state, i);
    state->count++;
  }
  size_t header = state->length;
  emit(state, ") {\n");
  static void (*const emitters[])(generator *, int) = {emit_binary, emit_number,   emit_unary,
                                                       emit_axis,   emit_movement, emit_if};
  for (int i = 0; i < nodes; i++) emitters[pick(6)](state, pick(state->count));
  int result = state->count - 1;
  emit(state, "  return %%v%d\n}\n", result);
  /* The header's result type is known only now. */
  char rest[TEXT_SIZE];
  snprintf(rest, sizeof rest, "%s", state->text + header + 1);
  state->length = header + 1;
  emit(state, " -> ");
  emit_type(state, result);
  emit(state, "%s", rest);
}

static void assert_sound(const laze_graph *graph, const char *source) {
  laze_text difference;
  ck_assert_msg(laze_graph_verify(graph, &error) == LAZE_OK, "%s\n%s", error.message, source);
  char *text = print(graph);
  laze_graph *again = NULL;
  ck_assert_msg(laze_graph_parse(context, text, (int64_t)strlen(text), "printed", &again, &error) == LAZE_OK,
                "%s\n%s\nof\n%s", error.message, text, source);
  laze_text_init(&difference, context);
  ck_assert_msg(laze_graph_equal(graph, again, &difference), "%s\n%s", laze_text_get(&difference), text);
  ck_assert(laze_hash_equal(laze_graph_hash(graph, true), laze_graph_hash(again, true)));
  ck_assert(laze_hash_equal(laze_graph_hash(graph, false), laze_graph_hash(again, false)));
  laze_text_deinit(&difference);
  laze_graph_destroy(again);
  laze_free(context, text);
}

static void assert_passes_settle(laze_graph **graph, const char *source) {
  for (int round = 0; round < 4; round++) {
    laze_graph *before = *graph;
    ck_assert_msg(laze_passes_run(graph, NULL, &error) == LAZE_OK, "%s\n%s", error.message, source);
    assert_sound(*graph, source);
    if (*graph == before) return;
  }
  ck_abort_msg("passes do not settle\n%s", source);
}

START_TEST(random_graphs) {
  unsigned seed = (unsigned)time(NULL);
  printf("random_graphs: seed %u\n", seed);
  srand(seed);
  generator *state = calloc(1, sizeof *state);
  state->text = malloc(TEXT_SIZE);
  for (int round = 0; round < 500; round++) {
    generate(state);
    laze_graph *graph = parse(state->text), *symbolic;
    const int64_t *bindings;
    assert_sound(graph, state->text);
    ck_assert_msg(laze_graph_symbolise(graph, &symbolic, &bindings, &error) == LAZE_OK, "%s\n%s", error.message,
                  state->text);
    ck_assert_int_eq(laze_graph_bindings(graph, NULL, 0), laze_size_symbol_count(symbolic->sizes));
    assert_sound(symbolic, state->text);
    assert_passes_settle(&symbolic, state->text);
    assert_passes_settle(&graph, state->text);
    laze_graph_destroy(graph);
    laze_graph_destroy(symbolic);
  }
  free(state->text);
  free(state);
}
END_TEST

static void add_tests(TCase *tests) {
  tcase_add_test(tests, random_graphs);
}

int main(void) {
  return run_suite("random", add_tests);
}
