/* The caller may round, flush and trap as it likes: no result depends on it, whichever entry computes, folds, converts,
 * reads, prints or compiles; and its settings and exception flags come back as they were. */
#include "tests/conformance/conformance.h"

#include "ir/op.gen.h"
#include "ir/text/text.h"
#include "laze/laze.h"
#include "lazy/record/frame.h"
#include "lazy/value/pending.h"
#include "tests/support/random_call.h"

#include <fenv.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* --- Modes --- */

typedef struct {
  const char *name;
  int rounding;
  int traps;       /* exceptions that end the process */
  unsigned flags;  /* x86: further bits of the control word */
  bool everywhere; /* every operator is tried on native code, too, which takes seconds a mode */
} float_mode;

enum { FLUSH_TO_ZERO = 0x8000, DENORMALS_ARE_ZERO = 0x40, FLAG_DIVIDE_BY_ZERO = 0x04 };

static const float_mode modes[] = {
    {"as usual", FE_TONEAREST, 0, 0, true},
    {"flush to zero", FE_TONEAREST, 0, FLUSH_TO_ZERO, false},
    {"denormals are zero", FE_TONEAREST, 0, DENORMALS_ARE_ZERO, false},
    {"round up", FE_UPWARD, 0, 0, true},
    {"round down", FE_DOWNWARD, 0, 0, false},
    {"round to zero, flush", FE_TOWARDZERO, 0, FLUSH_TO_ZERO | DENORMALS_ARE_ZERO, true},
    {"trap", FE_TONEAREST, FE_ALL_EXCEPT, 0, true},
};
enum { MODES = sizeof modes / sizeof *modes };

/* Everything of the environment that laze must give back. */
typedef struct {
  unsigned word;
  uint16_t x87;
  int rounding, flags;
} float_state;

static float_state state_now(void) {
  float_state state = {.rounding = fegetround(), .flags = fetestexcept(FE_ALL_EXCEPT)};
#if defined(__x86_64__)
  state.word = __builtin_ia32_stmxcsr();
  __asm__ volatile("fnstcw %0" : "=m"(state.x87));
#endif
  return state;
}

static float_state before;

/* Nothing between enter and leave may compute with floats. One flag is up, so that a lost one is noticed. */
static void enter(const float_mode *mode) {
  fesetenv(FE_DFL_ENV);
  fesetround(mode->rounding);
#if defined(__x86_64__)
  feenableexcept(mode->traps);
  __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | mode->flags | FLAG_DIVIDE_BY_ZERO);
#endif
  before = state_now();
}

static void leave(const float_mode *mode, const char *entry) {
  float_state after = state_now();
  fesetenv(FE_DFL_ENV);
  bool same = after.word == before.word && after.x87 == before.x87 && after.rounding == before.rounding &&
              after.flags == before.flags;
  ck_assert_msg(same, "%s changed the mode '%s': the word was %x and is %x, x87's %x and %x, flags %x and %x", entry,
                mode->name, before.word, after.word, before.x87, after.x87, (unsigned)before.flags,
                (unsigned)after.flags);
}

/* --- Every operator --- */

enum { MAX_RESULTS = 4096, MAX_OPERANDS = 16 };

/* One world for each mode: its own context, hence its own code. */
typedef struct {
  laze_context *context;
  laze_scope *scope;
  laze_tensor *results[MAX_RESULTS];
} world;

typedef struct {
  test_caller caller; /* first: the recorder that the hook gets is part of it */
  laze_status (*record)(laze_recorder *self, const laze_call *call, laze_value *results, laze_error *error);
  laze_op op;               /* that is called; what its operands are made with is not looked at */
  bool inside;              /* of the call: nor is what it expands into */
  world worlds[MODES];      /* context NULL: the mode is left out */
  laze_op ops[MAX_RESULTS]; /* of results */
  int32_t count;
  bool special;
} sweep;

static void *operand_data(sweep *self, laze_value value, const laze_type **type) {
  const laze_graph *graph = self->caller.graph;
  *type = laze_graph_type(graph, value);
  const char *name = graph->nodes[value.node].name; /* of a parameter; a number is a constant without one */
  const char *below = name ? strstr(name, "_below") : NULL;
  bool is_start = !name && (*type)->rank == 0 && laze_dtype_is_index((*type)->dtype); /* of a slice: 0 is one */
  const bool weighs = self->op == LAZE_OP_MULTINOMIAL; /* which looks at its weights */
  test_range range = {.low = weighs ? 0 : -2, .high = 2, .special = self->special && !weighs};
  if (below) range.below = strtoll(below + strlen("_below"), NULL, 10);
  void *data = calloc((size_t)test_elements(*type) + 1, 8);
  if (is_start) return data;
  test_fill(self->caller.random, (*type)->dtype, &range, data, test_elements(*type));
  return data;
}

static laze_scalar scalar_from(const laze_type *type, const void *data) {
  return laze_scalar_load(type->dtype, data, 0);
}

/* Records the call in every world, under its mode. */
static void record_everywhere(sweep *self, const laze_call *call) {
  const laze_op_info *info = laze_op_get(call->op);
  const laze_type *types[MAX_OPERANDS];
  void *data[MAX_OPERANDS];
  bool scalars[MAX_OPERANDS] = {false};
  int32_t next = 0;
  for (int i = 0; i < info->argument_count; i++) {
    const laze_argument_info *argument = &info->arguments[i];
    if (!laze_argument_is_operand(argument->kind)) continue;
    int32_t count = call->segments ? call->segments[argument->position] : 1;
    for (int32_t j = 0; j < count; j++) scalars[next++] = argument->kind == LAZE_ARGUMENT_SCALAR;
  }
  ck_assert_int_eq(next, call->operand_count);
  for (int i = 0; i < next; i++) {
    bool absent = laze_value_is_none(call->operands[i]); /* in a list where each may be */
    data[i] = absent ? NULL : operand_data(self, call->operands[i], &types[i]);
  }
  for (int m = 0; m < MODES; m++) {
    world *own = &self->worlds[m];
    if (!own->context) continue;
    laze_frame_operand operands[MAX_OPERANDS];
    laze_tensor *results[LAZE_PENDING_MAX_RESULTS];
    for (int i = 0; i < next; i++) {
      operands[i] = (laze_frame_operand){0};
      if (!data[i]) continue;
      size_t size = (size_t)(test_elements(types[i]) * laze_dtype_size(types[i]->dtype));
      operands[i] = (laze_frame_operand){.scalar = scalar_from(types[i], data[i])};
      if (scalars[i]) continue;
      enter(&modes[m]);
      operands[i].tensor = laze_tensor_from_data(own->context, types[i]->dtype,
                                                 (laze_ints){types[i]->sizes, types[i]->rank}, data[i], size);
      leave(&modes[m], "laze_tensor_from_data");
    }
    laze_frame frame = {.context = own->context,
                        .op = call->op,
                        .operand_count = next,
                        .operands = operands,
                        .segments = call->segments,
                        .attributes = call->attributes};
    enter(&modes[m]);
    laze_frame_record(&frame, results);
    leave(&modes[m], info->name);
    for (int i = 0; i < info->result_count; i++) own->results[self->count + i] = laze_tensor_retain(results[i]);
  }
  for (int i = 0; i < next; i++) free(data[i]);
  for (int i = 0; i < info->result_count; i++) self->ops[self->count++] = call->op;
  ck_assert_int_lt(self->count, MAX_RESULTS - LAZE_PENDING_MAX_RESULTS);
}

static laze_status record_hook(laze_recorder *recorder, const laze_call *call, laze_value *results, laze_error *error) {
  sweep *self = (sweep *)recorder;
  if (self->inside || call->op != self->op) return self->record(recorder, call, results, error);
  self->inside = true;
  laze_status status = self->record(recorder, call, results, error);
  self->inside = false;
  if (status == LAZE_OK) record_everywhere(self, call);
  return status;
}

/* Calls with operands of a dtype and rank; how many were accepted. */
static int32_t record_calls(sweep *self, laze_op op, laze_dtype dtype, int32_t rank) {
  static const int64_t sizes[] = {3, 5, 2, 4};
  laze_graph *graph;
  laze_error error;
  int32_t accepted = 0;
  test_random *random = self->caller.random;
  self->op = op;
  ck_assert_int_eq(laze_graph_create(self->worlds[0].context, "calls", &graph, &error), LAZE_OK);
  for (int special = 0; special < 2; special++) {
    test_caller_init(&self->caller, graph, random);
    self->record = self->caller.builder.recorder.record;
    self->caller.builder.recorder.record = record_hook;
    self->caller.fresh = true;
    self->caller.dtype = dtype;
    self->caller.rank = rank;
    memcpy(self->caller.sizes, sizes, sizeof sizes);
    self->special = special;
    accepted += test_random_call(&self->caller, op, &error) == LAZE_OK;
  }
  laze_graph_destroy(graph);
  return accepted;
}

static void compare_reads(const sweep *self, int mode, int32_t number, laze_dtype dtype) {
  void *data[2];
  int64_t count = laze_tensor_elements(self->worlds[0].results[number]);
  for (int i = 0; i < 2; i++) {
    const float_mode *under = &modes[i ? mode : 0];
    data[i] = calloc((size_t)count + 1, 16);
    enter(under);
    laze_status status = laze_tensor_read(self->worlds[i ? mode : 0].results[number], dtype, data[i],
                                          (size_t)(count * laze_dtype_size(dtype)));
    leave(under, "laze_tensor_read");
    ck_assert_int_eq(status, LAZE_OK);
  }
  int64_t at = test_first_difference(dtype, data[0], data[1], count);
  if (at >= 0) {
    char text[2][64];
    const char *a = (const char *)data[0] + at * laze_dtype_size(dtype),
               *b = (const char *)data[1] + at * laze_dtype_size(dtype);
    ck_abort_msg("%s under '%s', read as %s: element %lld is %s and not %s", laze_op_get(self->ops[number])->name,
                 modes[mode].name, laze_dtype_name(dtype), (long long)at, test_element_text(dtype, b, text[1]),
                 test_element_text(dtype, a, text[0]));
  }
  free(data[0]);
  free(data[1]);
}

/* Of composites, whose kernels are those of operators that have turns themselves, natively a third is tried. */
static bool has_native_turn(laze_op op) {
  return test_has_turn(op) && (!laze_op_get(op)->expand || op % 3 == 0);
}

/* Every operator, recorded, compiled, run and read under a mode in a context of its own, so that no code is shared. */
START_TEST(no_operator_sees_the_mode) {
  static sweep self;
  test_random random = {.state = (uint64_t)test_setting("LAZE_TEST_SEED", 1)};
  memset(&self, 0, sizeof self);
  self.caller.random = &random;
  bool interpreted = strcmp(laze_backend_at(_i)->name, "interp") == 0;
  for (int m = 0; m < MODES; m++) {
    laze_context_options options = {.struct_size = sizeof options,
                                    .backend = laze_backend_at(_i)->name,
                                    .cache_directory = "",
                                    .debug = "",
                                    .threads = m % 2 + 1};
    if (!interpreted && !modes[m].everywhere) continue;
    ck_assert_int_eq(laze_context_create(&options, &self.worlds[m].context, NULL), LAZE_OK);
    self.worlds[m].scope = laze_scope_begin(self.worlds[m].context);
  }
  for (laze_op op = 1; op < laze_op_count; op++) {
    if (!test_is_callable(op) || !test_is_chosen(laze_op_get(op)->base)) continue;
    if (!interpreted && !has_native_turn(op)) continue;
    static const int32_t ranks[] = {2, 3, 1, 4};
    int32_t accepted = 0;
    for (int r = 0; r < 16 && accepted == 0; r++) { /* arguments are drawn anew each time */
      const int32_t rank = ranks[r % 4];
      accepted = record_calls(&self, op, LAZE_F32, rank) + record_calls(&self, op, LAZE_F64, rank);
      if (accepted == 0) accepted = record_calls(&self, op, LAZE_I64, rank);
      if (accepted == 0) accepted = record_calls(&self, op, LAZE_BOOL, rank);
      if (accepted == 0) accepted = record_calls(&self, op, LAZE_C64, rank);
    }
    ck_assert_msg(accepted > 0, "no call of %s is accepted", laze_op_get(op)->name);
  }
  for (int m = 0; m < MODES; m++) {
    laze_error error;
    if (!self.worlds[m].context) continue;
    enter(&modes[m]);
    laze_status status = laze_step_end(self.worlds[m].scope, &error);
    leave(&modes[m], "laze_step_end");
    ck_assert_msg(status == LAZE_OK, "%s", error.message);
  }
  for (int m = 1; m < MODES; m++)
    for (int32_t i = 0; i < self.count && self.worlds[m].context; i++) {
      compare_reads(&self, m, i, laze_tensor_dtype(self.worlds[0].results[i]));
      compare_reads(&self, m, i, LAZE_F32);
      compare_reads(&self, m, i, LAZE_F64);
      compare_reads(&self, m, i, LAZE_I32);
    }
  for (int m = 0; m < MODES; m++) {
    for (int32_t i = 0; i < self.count && self.worlds[m].context; i++) laze_tensor_release(self.worlds[m].results[i]);
    laze_context_release(self.worlds[m].context);
  }
}
END_TEST

/* --- Every entry that is no operator --- */

typedef struct {
  laze_context *context;
  const float_mode *mode;
  char *text; /* what was computed, as bits */
  size_t length;
} script;

static void note_bytes(script *self, const void *bytes, size_t size) {
  for (size_t i = 0; i < size; i++)
    self->length += (size_t)sprintf(self->text + self->length, "%02x", ((const unsigned char *)bytes)[i]);
  self->text[self->length++] = '\n';
  self->text[self->length] = 0;
}

/* The value of an expression, computed under the script's mode. */
#define UNDER(self, result, expression)                                                                                \
  do {                                                                                                                 \
    enter((self)->mode);                                                                                               \
    result = expression;                                                                                               \
    leave((self)->mode, #expression);                                                                                  \
  } while (0)

static void note_read(script *self, laze_tensor *tensor, laze_dtype dtype) {
  unsigned char data[64] = {0};
  laze_status status;
  size_t size = (size_t)(laze_tensor_elements(tensor) * laze_dtype_size(dtype));
  UNDER(self, status, laze_tensor_read(tensor, dtype, data, size));
  ck_assert_msg(status == LAZE_OK, "%s", laze_tensor_error(tensor));
  note_bytes(self, data, size);
}

/* Numbers that every wrong mode changes: a subnormal f32, an integer that f32 rounds, one third. */
static void convert_numbers(script *self) {
  static const double reals[] = {1e-40, 16777217, 1.0 / 3, -1.0 / 3, 1e-310};
  static const int64_t integers[] = {16777217, -16777219, INT64_MAX, 9007199254740993};
  laze_tensor *scalar, *copied, *borrowed;
  for (size_t i = 0; i < sizeof reals / sizeof *reals; i++) {
    double item;
    UNDER(self, scalar, laze_tensor_from_scalar(self->context, LAZE_F32, reals[i]));
    note_read(self, scalar, LAZE_F32);
    note_read(self, scalar, LAZE_F64);
    UNDER(self, scalar, laze_add(scalar, 0.0));
    note_read(self, scalar, LAZE_F32);
    UNDER(self, item, laze_tensor_item(scalar));
    note_bytes(self, &item, sizeof item);
  }
  for (laze_dtype dtype = LAZE_F32; dtype <= LAZE_F64; dtype++) {
    UNDER(self, copied, laze_tensor_from_data(self->context, LAZE_I64, LAZE_SHAPE(4), integers, sizeof integers));
    UNDER(self, borrowed, laze_tensor_borrow(self->context, LAZE_F64, LAZE_SHAPE(5), reals, sizeof reals, NULL, NULL));
    note_read(self, copied, dtype);
    note_read(self, borrowed, dtype);
    UNDER(self, copied, laze_to(copied, dtype));
    laze_status status;
    UNDER(self, status, laze_tensor_materialise(copied));
    ck_assert_int_eq(status, LAZE_OK);
    note_read(self, copied, LAZE_F64);
  }
}

/* Expansions and inference compute with the numbers of a call; so do boxed calls. */
static void record_numbers(script *self) {
  laze_tensor *made;
  UNDER(self, made, laze_linspace(self->context, 0.0, 0.7, 8, LAZE_F32));
  note_read(self, made, LAZE_F32);
  UNDER(self, made, laze_arange(self->context, 0.7, LAZE_F32));
  note_read(self, made, LAZE_F32);
  const laze_argument arguments[] = {
      {.kind = LAZE_PASS_TENSOR, .value.tensor = made},
      {.kind = LAZE_PASS_INTEGER, .value.integer = 9007199254740993},
  };
  int32_t count;
  UNDER(self, count, laze_call_by_name(self->context, "mul", arguments, 2, &made, 1));
  ck_assert_int_eq(count, 1);
  note_read(self, made, LAZE_F64);
  UNDER(self, made, laze_gelu(laze_tensor_from_scalar(self->context, LAZE_F32, 1.0)));
  note_read(self, made, LAZE_F32);
}

/* A budget cut compiles and runs inside of a recording call. */
static void cut_budget(script *self) {
  laze_scope *scope = laze_scope_begin(self->context);
  laze_tensor *sum = laze_tensor_from_scalar(self->context, LAZE_F32, 0.1);
  laze_status status;
  laze_set_budget(self->context, 3, 0);
  for (int i = 0; i < 8; i++) UNDER(self, sum, laze_mul(sum, laze_add(sum, 1e-38)));
  note_read(self, sum, LAZE_F32);
  laze_set_budget(self->context, 0, 0);
  UNDER(self, status, laze_scope_end(scope));
  ck_assert_int_eq(status, LAZE_OK);
}

/* Graphs in text: parsing rounds, printing searches for the shortest digits, passes fold, LLVM folds. */
static void compile_text(script *self, const laze_backend *backend) {
  static const char text[] =
      "laze 1\ngraph @g(%x: f32[2]) -> f32[2], f32[2], f64[] {\n  %0 = constant 0.1 : f32[]\n"
      "  %1 = constant 3e-39 : f32[]\n  %2 = mul %0, %1 : f32[]\n  %3 = mul %x, %2\n  %4 = exp %x\n"
      "  %5 = constant 0.7 : f64[]\n  %6 = div %5, 3.0\n  return %3, %4, %6\n}\n";
  static const float x[] = {1e-3f, 77.7f};
  laze_graph *graph = NULL;
  laze_executable *executable = NULL;
  laze_error error;
  laze_status status;
  laze_text printed;
  laze_buffer *input = conformance_buffer(self->context, backend, x, sizeof x), *outputs[3];
  UNDER(self, status, laze_graph_parse(self->context, text, sizeof text - 1, "test", &graph, &error));
  ck_assert_msg(status == LAZE_OK, "%s", error.message);
  laze_text_init(&printed, self->context);
  UNDER(self, status, (laze_graph_print(&printed, graph, true), LAZE_OK));
  UNDER(self, status, laze_compile_emit(self->context, backend, graph, LAZE_EMIT_SCHEDULE, &printed, &error));
  if (laze_text_check(&printed, NULL) == LAZE_OK) note_bytes(self, printed.data, (size_t)printed.size);
  laze_text_deinit(&printed);
  UNDER(self, status, laze_compile(self->context, backend, graph, &executable, &error));
  ck_assert_msg(status == LAZE_OK, "%s", error.message);
  UNDER(self, status, backend->execute(executable, &(laze_run){.inputs = &input, .outputs = outputs}, &error));
  ck_assert_msg(status == LAZE_OK, "%s", error.message);
  for (int i = 0; i < 3; i++) {
    note_bytes(self, outputs[i]->data, 8);
    laze_buffer_release(outputs[i]);
  }
  laze_buffer_release(input);
  laze_executable_release(executable);
  laze_graph_destroy(graph);
}

enum { TEXT_BYTES = 1 << 16 };

/* What the script computes in a context of its own; owned by the caller. */
static char *run_script(const laze_backend *backend, const float_mode *mode, laze_context **context) {
  laze_context_options options = {
      .struct_size = sizeof options, .backend = backend->name, .cache_directory = "", .debug = "", .threads = 1};
  if (!*context) ck_assert_int_eq(laze_context_create(&options, context, NULL), LAZE_OK);
  script self = {.context = *context, .mode = mode, .text = calloc(1, TEXT_BYTES)};
  laze_scope *scope = laze_scope_begin(*context);
  convert_numbers(&self);
  record_numbers(&self);
  cut_budget(&self);
  compile_text(&self, backend);
  ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
  return self.text;
}

/* Each entry gives the usual bits, and so it does to a later caller of the process who finds in the caches what was
 * compiled and kept under another mode. */
START_TEST(no_entry_sees_the_mode) {
  const laze_backend *backend = laze_backend_at(_i);
  laze_context *usual = NULL;
  char *expected = run_script(backend, &modes[0], &usual);
  ck_assert_msg(strncmp(expected, "c2160100\n", 9) == 0, "from_scalar(1e-40) reads %.8s", expected); /* 71362 */
  for (int m = 1; m < MODES; m++) {
    laze_context *context = NULL;
    char *got = run_script(backend, &modes[m], &context), *later = run_script(backend, &modes[0], &context);
    ck_assert_msg(strcmp(expected, got) == 0, "under '%s':\n%s\nexpected\n%s", modes[m].name, got, expected);
    ck_assert_msg(strcmp(expected, later) == 0, "after '%s':\n%s\nexpected\n%s", modes[m].name, later, expected);
    free(got);
    free(later);
    laze_context_release(context);
  }
  free(expected);
  laze_context_release(usual);
}
END_TEST

/* Workers are started by a caller in another mode, and inherit it. */
START_TEST(workers_do_not_inherit_the_mode) {
  enum { COUNT = 1 << 20 };
  static float x[COUNT], results[MODES][COUNT];
  for (int i = 0; i < COUNT; i++) x[i] = (float)(i % 1000) * 1e-41f + (float)(i % 3);
  for (int m = 0; m < MODES; m++) {
    laze_context_options options = {.struct_size = sizeof options,
                                    .backend = laze_backend_at(_i)->name,
                                    .cache_directory = "",
                                    .debug = "",
                                    .threads = 4};
    laze_context *context = NULL;
    ck_assert_int_eq(laze_context_create(&options, &context, NULL), LAZE_OK);
    laze_scope *scope = laze_scope_begin(context);
    laze_tensor *y = laze_tensor_borrow(context, LAZE_F32, LAZE_SHAPE(COUNT), x, sizeof x, NULL, NULL);
    y = laze_div(laze_mul(y, y), 3.0);
    enter(&modes[m]);
    laze_status status = laze_tensor_read(y, LAZE_F32, results[m], sizeof x);
    leave(&modes[m], "laze_tensor_read");
    ck_assert_int_eq(status, LAZE_OK);
    ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
    laze_context_release(context);
    ck_assert_msg(memcmp(results[0], results[m], sizeof x) == 0, "on threads started under '%s'", modes[m].name);
  }
}
END_TEST

int main(void) {
  TCase *tests = tcase_create("float control");
  conformance_add(tests, no_operator_sees_the_mode);
  conformance_add(tests, no_entry_sees_the_mode);
  conformance_add(tests, workers_do_not_inherit_the_mode);
  return conformance_main(tests);
}
