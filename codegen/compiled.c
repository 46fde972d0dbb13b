/* Graphs that callers compile once and run for many sizes (laze/compile.h):
 *
 *   arrays ── sizes of inputs ── numbers of symbols ── bound before ──────────────────────> run
 *                                       │ not yet                                         ^
 *                                       v specialise, laze_compile: a program that is there   │
 *                                     bound: graph with numbers, executable ──────────────┘
 *
 * What is bound is kept for the last few combinations of numbers; programs are in the context's cache.
 */
#include "codegen/compiled.h"

#include "base/float_control.h"
#include "codegen/codegen.h"
#include "ir/specialise.h"
#include "runtime/array.h"

#include <pthread.h>
#include <string.h>

enum { MOST_BOUND = 32 };
/* Any number does for a size that nobody gave, as kernels are generic in sizes; they differ from each other, for sizes
 * that have names of their own are rarely equal. */
enum { CHOSEN_SIZE = 64, CHOSEN_STEP = 16 };

/* The graph at numbers for its sizes. */
typedef struct bound_graph {
  _Atomic int64_t references;
  laze_graph *graph; /* without symbols, for who called its nodes */
  laze_executable *executable;
  uint64_t used; /* when it was, last */
  int64_t numbers[];
} bound_graph;

struct laze_compiled {
  _Atomic int64_t references;
  laze_graph *graph;     /* retained; it keeps the context */
  laze_context *context; /* the graph's */
  const laze_backend *backend;
  int64_t symbol_count;
  int64_t *given;       /* what the caller said of sizes; -1: nothing */
  pthread_mutex_t lock; /* of what follows */
  bound_graph *bound[MOST_BOUND];
  int32_t bound_count;
  uint64_t clock;
};

/* --- Binding --- */

static void bound_release(laze_context *context, bound_graph *bound) {
  if (!bound || atomic_fetch_sub_explicit(&bound->references, 1, memory_order_acq_rel) != 1) return;
  laze_executable_release(bound->executable);
  laze_graph_destroy(bound->graph);
  laze_free(context, bound);
}

static size_t numbers_size(const laze_compiled *self) {
  return (size_t)self->symbol_count * sizeof(int64_t);
}

/* A reference of what is bound to such numbers; NULL: nothing is. Called locked. */
static bound_graph *find_bound(laze_compiled *self, const int64_t *numbers) {
  for (int32_t i = 0; i < self->bound_count; i++) {
    bound_graph *bound = self->bound[i];
    if (numbers_size(self) > 0 && memcmp(bound->numbers, numbers, numbers_size(self)) != 0) continue;
    bound->used = ++self->clock;
    atomic_fetch_add_explicit(&bound->references, 1, memory_order_relaxed);
    return bound;
  }
  return NULL;
}

/* Keeps it, in the place of what was not used for longest. Called locked. */
static bound_graph *keep_bound(laze_compiled *self, bound_graph *bound) {
  bound_graph *dropped = NULL;
  int32_t place = self->bound_count;
  if (place < MOST_BOUND) {
    self->bound_count++;
  } else {
    place = 0;
    for (int32_t i = 1; i < MOST_BOUND; i++)
      if (self->bound[i]->used < self->bound[place]->used) place = i;
    dropped = self->bound[place];
  }
  bound->used = ++self->clock;
  atomic_fetch_add_explicit(&bound->references, 1, memory_order_relaxed);
  self->bound[place] = bound;
  return dropped;
}

/* *specialised: whether the graph allows the numbers. */
static laze_status create_bound(laze_compiled *self, const int64_t *numbers, bound_graph **out, bool *specialised,
                                laze_error *error) {
  const int64_t size = (int64_t)(sizeof(bound_graph) + numbers_size(self));
  bound_graph *bound = laze_alloc_zero(self->context, size);
  *specialised = false;
  if (!bound) return laze_fail_memory(error, "a compiled graph", size);
  bound->references = 1;
  if (self->symbol_count > 0) memcpy(bound->numbers, numbers, numbers_size(self));
  laze_status status = laze_graph_specialise(self->graph, numbers, &bound->graph, error);
  *specialised = status == LAZE_OK;
  if (status == LAZE_OK && self->graph->borrows_context) laze_graph_give_to_context(bound->graph);
  if (status == LAZE_OK) status = laze_compile(self->context, self->backend, bound->graph, &bound->executable, error);
  if (status != LAZE_OK) bound_release(self->context, bound);
  *out = status == LAZE_OK ? bound : NULL;
  return status;
}

/* What is bound to numbers for all symbols; the caller's reference. */
static laze_status take_bound(laze_compiled *self, const int64_t *numbers, bound_graph **out, bool *specialised,
                              laze_error *error) {
  pthread_mutex_lock(&self->lock);
  *out = find_bound(self, numbers);
  pthread_mutex_unlock(&self->lock);
  *specialised = true;
  if (*out) return LAZE_OK;
  LAZE_TRY(create_bound(self, numbers, out, specialised, error));
  pthread_mutex_lock(&self->lock);
  bound_graph *same = find_bound(self, numbers), *dropped = *out; /* of another thread meanwhile */
  if (same)
    *out = same;
  else
    dropped = keep_bound(self, *out);
  pthread_mutex_unlock(&self->lock);
  bound_release(self->context, dropped);
  return LAZE_OK;
}

static bool is_defined(const laze_compiled *self, int64_t symbol) {
  return laze_size_is_defined(self->graph->sizes, laze_size_symbol_at(self->graph->sizes, symbol));
}

/* --- Life --- */

static laze_status set_sizes(int64_t *numbers, int64_t count, const int64_t *sizes, int32_t size_count,
                             const char *what, laze_error *error) {
  if (size_count < 0 || size_count > count || (size_count > 0 && !sizes))
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: %d sizes at %p, but the graph has %lld", what, (int)size_count,
                     (const void *)sizes, (long long)count);
  for (int64_t i = 0; i < count; i++) numbers[i] = i < size_count && sizes[i] >= 0 ? sizes[i] : -1;
  return LAZE_OK;
}

/* Numbers that are given, hinted or chosen; *chosen is beyond CHOSEN_SIZE where there are such. */
static laze_status choose_numbers(const laze_compiled *self, int64_t *chosen, int64_t **out, laze_error *error) {
  int64_t *numbers = laze_alloc_array(self->context, self->symbol_count, sizeof *numbers);
  if (!numbers) return laze_fail_memory(error, "the sizes of a graph", -1);
  *chosen = CHOSEN_SIZE;
  *out = numbers;
  for (int64_t i = 0; i < self->symbol_count; i++) {
    numbers[i] = self->given[i] >= 0 ? self->given[i] : laze_size_hint(self->graph->sizes, i);
    if (numbers[i] >= 0 || is_defined(self, i)) continue;
    numbers[i] = *chosen;
    *chosen += CHOSEN_STEP;
  }
  return LAZE_OK;
}

/* Numbers that were chosen and do not fit are nobody's fault. */
static laze_status compile_first(laze_compiled *self, laze_error *error) {
  int64_t chosen, *numbers;
  bound_graph *bound;
  bool specialised;
  laze_error refusal;
  LAZE_TRY(choose_numbers(self, &chosen, &numbers, error));
  laze_status status = take_bound(self, numbers, &bound, &specialised, &refusal);
  laze_free(self->context, numbers);
  if (status == LAZE_OK)
    bound_release(self->context, bound);
  else if (specialised || chosen == CHOSEN_SIZE || status == LAZE_OUT_OF_MEMORY)
    return laze_fail(error, status, "%s", refusal.message);
  return LAZE_OK;
}

static laze_status create(laze_graph *graph, laze_compiled **out, laze_error *error) {
  laze_compiled *self = laze_alloc_zero(graph->context, sizeof *self);
  if (!self) return laze_fail_memory(error, "a compiled graph", sizeof *self);
  self->references = 1;
  self->graph = graph;
  self->context = graph->context;
  laze_graph_retain(graph);
  self->symbol_count = laze_size_symbol_count(graph->sizes);
  pthread_mutex_init(&self->lock, NULL);
  *out = self;
  self->given = laze_alloc_array(self->context, self->symbol_count, sizeof *self->given);
  return self->given ? LAZE_OK : laze_fail_memory(error, "the sizes of a graph", -1);
}

/* Everything but code; to be released, also on failure. */
static laze_status prepare(const char *what, laze_graph *graph, const laze_compile_options *options,
                           laze_compiled **out, laze_error *error) {
  static const laze_compile_options defaults = {.struct_size = sizeof defaults};
  if (!options) options = &defaults;
  if (options->struct_size < sizeof *options)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: struct_size is %zu; set it to sizeof(laze_compile_options)",
                     what, options->struct_size);
  LAZE_TRY(laze_graph_verify(graph, error));
  LAZE_TRY(create(graph, out, error));
  laze_compiled *self = *out;
  LAZE_TRY(set_sizes(self->given, self->symbol_count, options->sizes, options->size_count, what, error));
  self->backend = options->backend;
  return self->backend ? LAZE_OK : laze_backend_find(self->context, NULL, &self->backend, error);
}

laze_status laze_compile_graph(laze_graph *graph, const laze_compile_options *options, laze_compiled **out,
                               laze_error *error) {
  static const char what[] = "laze_compile_graph";
  laze_compiled *self = NULL;
  if (out) *out = NULL;
  if (!graph || !out) return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: graph and out must not be NULL", what);
  laze_status status = prepare(what, graph, options, &self, error);
  if (status == LAZE_OK) status = compile_first(self, error);
  if (status == LAZE_OK)
    *out = self;
  else
    laze_compiled_release(self);
  return status;
}

static laze_status check_native(const laze_compiled *self, laze_error *error) {
  int64_t chosen, *numbers;
  laze_graph *graph;
  LAZE_TRY(choose_numbers(self, &chosen, &numbers, error));
  laze_status status = laze_graph_specialise(self->graph, numbers, &graph, error);
  laze_free(self->context, numbers);
  LAZE_TRY(status);
  status = laze_compile_check_native(self->context, self->backend, graph, error);
  laze_graph_destroy(graph);
  return status;
}

laze_status laze_compile_check(laze_graph *graph, const laze_compile_options *options, laze_error *error) {
  laze_compiled *self = NULL;
  if (!graph) return laze_fail(error, LAZE_INVALID_ARGUMENT, "laze_compile_check: graph must not be NULL");
  laze_status status = prepare("laze_compile_check", graph, options, &self, error);
  if (status == LAZE_OK) status = check_native(self, error);
  laze_compiled_release(self);
  return status;
}

void laze_compiled_retain(laze_compiled *compiled) {
  if (compiled) atomic_fetch_add_explicit(&compiled->references, 1, memory_order_relaxed);
}

void laze_compiled_release(laze_compiled *compiled) {
  if (!compiled || atomic_fetch_sub_explicit(&compiled->references, 1, memory_order_acq_rel) != 1) return;
  laze_graph *graph = compiled->graph;
  for (int32_t i = 0; i < compiled->bound_count; i++) bound_release(compiled->context, compiled->bound[i]);
  pthread_mutex_destroy(&compiled->lock);
  laze_free(compiled->context, compiled->given);
  laze_free(compiled->context, compiled);
  laze_graph_release(graph); /* with it may go the context */
}

laze_graph *laze_compiled_graph(const laze_compiled *compiled) {
  return compiled ? compiled->graph : NULL;
}

const laze_backend *laze_compiled_backend(const laze_compiled *compiled) {
  return compiled->backend;
}

const int64_t *laze_compiled_given(const laze_compiled *compiled) {
  return compiled->given;
}

laze_status laze_compiled_bind(laze_compiled *compiled, const int64_t *numbers, laze_error *error) {
  bound_graph *bound;
  bool specialised;
  LAZE_TRY(take_bound(compiled, numbers, &bound, &specialised, error));
  bound_release(compiled->context, bound);
  return LAZE_OK;
}

/* References of all that is bound. */
static int32_t take_all(laze_compiled *self, bound_graph *out[MOST_BOUND]) {
  pthread_mutex_lock(&self->lock);
  const int32_t count = self->bound_count;
  for (int32_t i = 0; i < count; i++) {
    out[i] = self->bound[i];
    atomic_fetch_add_explicit(&out[i]->references, 1, memory_order_relaxed);
  }
  pthread_mutex_unlock(&self->lock);
  return count;
}

laze_status laze_compiled_each(laze_compiled *compiled, laze_bound_visitor visit, void *self, laze_error *error) {
  bound_graph *all[MOST_BOUND];
  const int32_t count = take_all(compiled, all);
  laze_status status = LAZE_OK;
  for (int32_t i = 0; i < count && status == LAZE_OK; i++) {
    const laze_program *program = laze_executable_program(all[i]->executable);
    bool is_new = true;
    for (int32_t k = 0; k < i; k++) is_new = is_new && laze_executable_program(all[k]->executable) != program;
    status = visit(self, all[i]->numbers, all[i]->graph, is_new, error);
  }
  for (int32_t i = 0; i < count; i++) bound_release(compiled->context, all[i]);
  return status;
}

/* --- Running --- */

/* Everything a run has besides, in one block of the context's memory. */
typedef struct {
  laze_compiled *compiled;
  int32_t input_count, output_count;
  laze_type *input_types, *output_types, *place_types;
  laze_buffer **inputs, **outputs, **places; /* a place NULL: the run makes one */
  laze_buffer *lent;                         /* of memory, inputs' and then outputs' */
  bool *donated;                             /* by input */
  int64_t *numbers;
  void *block;
  bound_graph *bound;
} compiled_run;

static laze_status allocate(compiled_run *run, laze_error *error) {
  const laze_compiled *self = run->compiled;
  const int64_t values = (int64_t)run->input_count + run->output_count, all = values + run->output_count;
  const int64_t size = all * (int64_t)(sizeof(laze_type) + sizeof(laze_buffer *)) +
                       values * (int64_t)sizeof(laze_buffer) + (int64_t)numbers_size(self) + run->input_count;
  run->block = laze_alloc_zero(self->context, size);
  if (!run->block) return laze_fail_memory(error, "running a graph", size);
  run->input_types = run->block;
  run->output_types = run->input_types + run->input_count;
  run->place_types = run->output_types + run->output_count;
  run->lent = (laze_buffer *)(void *)(run->place_types + run->output_count);
  run->inputs = (laze_buffer **)(void *)(run->lent + values);
  run->outputs = run->inputs + run->input_count;
  run->places = run->outputs + run->output_count;
  run->numbers = (int64_t *)(void *)(run->places + run->output_count);
  run->donated = (bool *)(run->numbers + self->symbol_count);
  return LAZE_OK;
}

static laze_status take_arrays(compiled_run *run, laze_array *const *inputs, laze_array *const *outputs,
                               laze_error *error) {
  for (int32_t i = 0; i < run->input_count; i++) {
    if (!inputs[i]) return laze_fail(error, LAZE_INVALID_ARGUMENT, "laze_compiled_run: input %d is NULL", (int)i);
    run->input_types[i] = inputs[i]->type;
    run->inputs[i] = inputs[i]->buffer;
  }
  for (int32_t i = 0; i < run->output_count; i++) {
    if (!outputs[i]) continue;
    run->place_types[i] = outputs[i]->type;
    run->places[i] = outputs[i]->buffer;
  }
  return LAZE_OK;
}

static laze_status take_memory(const laze_memory *memory, int32_t count, laze_type *types, laze_buffer *lent,
                               laze_buffer **buffers, laze_error *error) {
  static const char what[] = "laze_compiled_run_on_memory";
  for (int32_t i = 0; i < count; i++) {
    const laze_memory *one = &memory[i];
    LAZE_TRY(laze_type_of_memory(&types[i], what, one->dtype, one->sizes, one->data, one->size, error));
    LAZE_TRY(laze_type_check_aligned(what, one->dtype, one->data, error));
    laze_buffer_init_lent(&lent[i], one->data, (int64_t)one->size);
    buffers[i] = &lent[i];
  }
  return LAZE_OK;
}

/* Numbers for all symbols: those that inputs bring, and what was given for the others. */
static laze_status find_numbers(compiled_run *run, laze_error *error) {
  laze_compiled *self = run->compiled;
  for (int64_t i = 0; i < self->symbol_count; i++) run->numbers[i] = -1;
  LAZE_TRY(laze_graph_bind_inputs(self->graph, run->input_types, run->numbers, error));
  for (int64_t i = 0; i < self->symbol_count; i++) {
    if (run->numbers[i] >= 0 || is_defined(self, i)) continue;
    run->numbers[i] = self->given[i];
    if (run->numbers[i] < 0)
      return laze_fail(error, LAZE_INVALID_ARGUMENT,
                       "size %s: no input gives it; give it with the sizes of laze_compile_options",
                       laze_size_symbol_name(self->graph->sizes, i));
  }
  return LAZE_OK;
}

static bool overlaps(const laze_buffer *a, const laze_buffer *b) {
  const uintptr_t first = (uintptr_t)a->data, second = (uintptr_t)b->data;
  return a->size > 0 && b->size > 0 && first < second + (uintptr_t)b->size && second < first + (uintptr_t)a->size;
}

/* A place for result `index` is of its type, and memory of its own. */
static laze_status check_place(const compiled_run *run, int32_t index, laze_error *error) {
  const laze_type *place = &run->place_types[index];
  laze_type type;
  char expected[128], given[128];
  laze_executable_output_type(run->bound->executable, index, &type);
  for (int axis = 0; axis < type.rank && axis < place->rank; axis++)
    if (!laze_size_is_constant(type.sizes[axis])) type.sizes[axis] = place->sizes[axis]; /* the run finds it */
  if (!laze_type_equal(&type, place))
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "result %d is %s, but the array for it is %s", (int)index,
                     laze_type_format(NULL, &type, expected, sizeof expected),
                     laze_type_format(NULL, place, given, sizeof given));
  for (int32_t i = 0; i < run->input_count; i++)
    if (overlaps(run->inputs[i], run->places[index]))
      return laze_fail(error, LAZE_INVALID_ARGUMENT, "result %d and input %d share memory; give the result its own",
                       (int)index, (int)i);
  for (int32_t i = 0; i < index; i++)
    if (run->places[i] && overlaps(run->places[i], run->places[index]))
      return laze_fail(error, LAZE_INVALID_ARGUMENT, "results %d and %d share memory; give each its own", (int)i,
                       (int)index);
  return LAZE_OK;
}

static laze_status check_places(const compiled_run *run, laze_error *error) {
  for (int32_t i = 0; i < run->output_count; i++)
    if (run->places[i]) LAZE_TRY(check_place(run, i, error));
  return LAZE_OK;
}

/* A size that the run found may be another than the place's. */
static laze_status check_found(const compiled_run *run, laze_error *error) {
  char found[128], given[128];
  for (int32_t i = 0; i < run->output_count; i++)
    if (run->places[i] && !laze_type_equal(&run->output_types[i], &run->place_types[i]))
      return laze_fail(error, LAZE_INVALID_ARGUMENT, "result %d is %s, as its data say, but the array for it is %s",
                       (int)i, laze_type_format(NULL, &run->output_types[i], found, sizeof found),
                       laze_type_format(NULL, &run->place_types[i], given, sizeof given));
  return LAZE_OK;
}

/* New arrays for results that have no place; all or none. */
static laze_status give(compiled_run *run, laze_array **outputs, laze_error *error) {
  laze_status status = LAZE_OK;
  for (int32_t i = 0; i < run->output_count && status == LAZE_OK; i++) {
    if (run->places[i]) continue;
    status = laze_array_wrap(run->compiled->context, &run->output_types[i], run->outputs[i], &outputs[i], error);
    run->outputs[i] = NULL;
  }
  for (int32_t i = 0; i < run->output_count && status != LAZE_OK; i++) {
    if (run->places[i]) continue;
    laze_array_release(outputs[i]);
    outputs[i] = NULL;
  }
  return status;
}

/* What is donated is the caller's alone. */
static void find_donated(compiled_run *run, laze_array *const *inputs, const int32_t *donated) {
  for (int32_t i = 0; donated && i < run->input_count; i++)
    run->donated[i] = donated[i] && atomic_load_explicit(&inputs[i]->references, memory_order_acquire) == 1;
}

/* Runs it on the inputs and places that it has. */
static laze_status execute(compiled_run *run, laze_error *error) {
  bool specialised;
  LAZE_TRY(find_numbers(run, error));
  LAZE_TRY(take_bound(run->compiled, run->numbers, &run->bound, &specialised, error));
  LAZE_TRY(check_places(run, error));
  const laze_sites sites = laze_graph_sites(run->bound->graph);
  const laze_run request = {.inputs = run->inputs,
                            .outputs = run->outputs,
                            .places = run->places,
                            .donated = run->donated,
                            .output_types = run->output_types,
                            .sites = &sites};
  LAZE_TRY(run->compiled->backend->execute(run->bound->executable, &request, error));
  return check_found(run, error);
}

static laze_status begin(compiled_run *run, const char *what, laze_compiled *compiled, int32_t input_count,
                         int32_t output_count, laze_error *error) {
  *run = (compiled_run){.compiled = compiled,
                        .input_count = laze_graph_input_count(compiled->graph),
                        .output_count = laze_graph_result_count(compiled->graph)};
  if (run->input_count != input_count || run->output_count != output_count)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: %d inputs and %d outputs are given, but graph %s has %d and %d",
                     what, (int)input_count, (int)output_count, compiled->graph->name, (int)run->input_count,
                     (int)run->output_count);
  return allocate(run, error);
}

static void end(compiled_run *run) {
  laze_context *context = run->compiled->context;
  for (int32_t i = 0; run->block && i < run->output_count; i++) laze_buffer_release(run->outputs[i]);
  bound_release(context, run->bound);
  laze_free(context, run->block);
}

laze_status laze_compiled_run(laze_compiled *compiled, laze_array *const *inputs, int32_t input_count,
                              laze_array **outputs, int32_t output_count, laze_error *error) {
  return laze_compiled_run_donating(compiled, inputs, NULL, input_count, outputs, output_count, error);
}

laze_status laze_compiled_run_donating(laze_compiled *compiled, laze_array *const *inputs, const int32_t *donated,
                                       int32_t input_count, laze_array **outputs, int32_t output_count,
                                       laze_error *error) {
  if (!compiled || (input_count > 0 && !inputs) || (output_count > 0 && !outputs))
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "laze_compiled_run: compiled, inputs and outputs must not be NULL");
  compiled_run run;
  laze_status status = begin(&run, "laze_compiled_run", compiled, input_count, output_count, error);
  if (status == LAZE_OK) status = take_arrays(&run, inputs, outputs, error);
  if (status == LAZE_OK) find_donated(&run, inputs, donated);
  if (status == LAZE_OK) status = execute(&run, error);
  if (status == LAZE_OK) status = give(&run, outputs, error);
  end(&run);
  return status;
}

laze_status laze_compiled_run_on_memory(laze_compiled *compiled, const laze_memory *inputs, int32_t input_count,
                                        const laze_memory *outputs, int32_t output_count, laze_error *error) {
  if (!compiled || (input_count > 0 && !inputs) || (output_count > 0 && !outputs))
    return laze_fail(error, LAZE_INVALID_ARGUMENT,
                     "laze_compiled_run_on_memory: compiled, inputs and outputs must not be NULL");
  compiled_run run;
  laze_status status = begin(&run, "laze_compiled_run_on_memory", compiled, input_count, output_count, error);
  if (status == LAZE_OK) status = take_memory(inputs, run.input_count, run.input_types, run.lent, run.inputs, error);
  if (status == LAZE_OK)
    status = take_memory(outputs, run.output_count, run.place_types, run.lent + run.input_count, run.places, error);
  if (status == LAZE_OK) status = execute(&run, error);
  end(&run);
  return status;
}

/* --- Costs --- */

static int64_t constant_bytes(const laze_graph *graph) {
  int64_t bytes = 0;
  for (int64_t i = 0; i < graph->node_count; i++) {
    const laze_data *data = laze_node_constant(&graph->nodes[i]);
    if (data) bytes += data->size;
  }
  return bytes;
}

static laze_status find_cost(laze_compiled *compiled, const int64_t *numbers, laze_cost *out, laze_error *error) {
  bound_graph *bound;
  bool specialised;
  LAZE_TRY(take_bound(compiled, numbers, &bound, &specialised, error));
  *out = (laze_cost){.struct_size = sizeof *out, .constant_bytes = constant_bytes(compiled->graph)};
  laze_executable_add_cost(bound->executable, out);
  out->operations = out->work == INT64_MAX ? INT64_MAX : out->work - out->bytes;
  bound_release(compiled->context, bound);
  return LAZE_OK;
}

laze_status laze_compiled_cost(laze_compiled *compiled, const int64_t *sizes, int32_t size_count, laze_cost *out,
                               laze_error *error) {
  if (!compiled || !out || out->struct_size < sizeof *out)
    return laze_fail(error, LAZE_INVALID_ARGUMENT,
                     "laze_compiled_cost: compiled or out is NULL, or struct_size is not sizeof(laze_cost)");
  int64_t *numbers = laze_alloc_array(compiled->context, compiled->symbol_count, sizeof *numbers);
  if (!numbers) return laze_fail_memory(error, "the sizes of a graph", -1);
  laze_status status = set_sizes(numbers, compiled->symbol_count, sizes, size_count, "laze_compiled_cost", error);
  for (int64_t i = 0; i < compiled->symbol_count; i++)
    if (numbers[i] < 0) numbers[i] = compiled->given[i];
  if (status == LAZE_OK) status = find_cost(compiled, numbers, out, error);
  laze_free(compiled->context, numbers);
  return status;
}
