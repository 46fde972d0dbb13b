#include "tests/support/run.h"

#include "codegen/interp/interp.h"
#include "ir/pass.h"
#include "ir/text/text.h"
#include "tests/support/fallbacks.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void stop(const char *what, const laze_error *error) {
  fprintf(stderr, "%s: %s\n", what, error->message);
  exit(1);
}

laze_context *test_context(const char *debug) {
  laze_context_options options = {
      .struct_size = sizeof options, .cache_directory = "", .threads = 1, .debug = debug ? debug : ""};
  laze_context *context;
  laze_error error;
  if (laze_context_create(&options, &context, &error) != LAZE_OK) stop("a context for tests", &error);
  return context;
}

int64_t test_elements(const laze_type *type) {
  int64_t count = 1;
  for (int i = 0; i < type->rank; i++) count *= type->sizes[i];
  return count;
}

typedef struct {
  void *memory;
  size_t length;
} mapping;

static void unmap(void *self, void *data) {
  mapping *map = self;
  (void)data;
  munmap(map->memory, map->length);
  free(map);
}

/* Between two pages that cannot be accessed. */
static laze_buffer *map_guarded(laze_context *context, int64_t size, bool at_end) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE), inner = ((size_t)size + page) / page * page;
  mapping *map = malloc(sizeof *map);
  laze_buffer *buffer;
  laze_error error = {.message = "no memory"};
  map->length = inner + 2 * page;
  map->memory = mmap(NULL, map->length, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  char *start = (char *)map->memory + page;
  if (map->memory == MAP_FAILED || mprotect(start, inner, PROT_READ | PROT_WRITE)) stop("a guarded buffer", &error);
  char *data = at_end ? start + inner - size : start;
  if (laze_buffer_borrow(context, data, size, unmap, map, &buffer, &error) != LAZE_OK) stop("a guarded buffer", &error);
  return buffer;
}

laze_buffer *test_guarded_buffer(laze_context *context, int64_t size) {
  return map_guarded(context, size, true);
}
laze_buffer *test_guarded_front_buffer(laze_context *context, int64_t size) {
  return map_guarded(context, size, false);
}

void test_release_buffer(void *buffer, void *data) {
  (void)data;
  laze_buffer_release(buffer);
}

void test_inputs(laze_context *context, const laze_graph *graph, test_random *random, const test_range *range,
                 test_arrays *out) {
  out->count = (int32_t)graph->body->parameter_count;
  if (out->count > TEST_MAX_VALUES) {
    fprintf(stderr, "a test graph has more than %d inputs\n", TEST_MAX_VALUES);
    exit(1);
  }
  for (int32_t i = 0; i < out->count; i++) {
    const laze_node *node = &graph->nodes[graph->body->parameters[i]];
    const char *below = strstr(node->name, "_below");
    test_range own = *range;
    if (below) own.below = strtoll(below + strlen("_below"), NULL, 10);
    out->types[i] = *node->types[0];
    int64_t count = test_elements(&out->types[i]);
    out->buffers[i] = test_guarded_buffer(context, count * laze_dtype_size(out->types[i].dtype));
    test_fill(random, out->types[i].dtype, &own, out->buffers[i]->data, count);
  }
}

void test_arrays_release(test_arrays *arrays) {
  for (int32_t i = 0; i < arrays->count; i++) laze_buffer_release(arrays->buffers[i]);
  arrays->count = 0;
}

static laze_status compile_without(laze_context *context, const laze_backend *backend, const laze_graph *graph,
                                   const char *without, laze_executable **out, laze_error *error) {
  const laze_pass_options options = {.fold = laze_interp_fold, .without = without};
  laze_graph *symbolic;
  const int64_t *bindings;
  laze_program *program = NULL;
  LAZE_TRY(laze_graph_symbolise(graph, &symbolic, &bindings, error));
  laze_status status = laze_passes_run(&symbolic, &options, error);
  if (status == LAZE_OK) status = backend->compile(context, symbolic, &program, error);
  if (status == LAZE_OK) status = laze_executable_create(program, bindings, NULL, out, error);
  laze_program_release(program);
  laze_graph_destroy(symbolic);
  return status;
}

static laze_status check_types(const laze_graph *graph, const laze_executable *executable, const test_arrays *out,
                               laze_error *error) {
  for (int32_t i = 0; i < out->count; i++) {
    char expected[128], got[128];
    const laze_type *inferred = laze_graph_type(graph, graph->body->results[i]);
    laze_type actual, known;
    laze_executable_output_type(executable, i, &known);
    actual = out->types[i]; /* with what the run found */
    for (int axis = 0; axis < known.rank && axis < inferred->rank; axis++)
      if (!laze_size_is_constant(inferred->sizes[axis])) known.sizes[axis] = inferred->sizes[axis];
    if (!laze_type_equal(inferred, &known))
      return laze_fail(error, LAZE_INTERNAL, "output %d: inferred %s, but the program gives %s", (int)i,
                       laze_type_format(graph->sizes, inferred, expected, sizeof expected),
                       laze_type_format(NULL, &actual, got, sizeof got));
    if (out->buffers[i]->size != test_elements(&actual) * laze_dtype_size(actual.dtype))
      return laze_fail(error, LAZE_INTERNAL, "output %d: a buffer of %lld bytes for %s", (int)i,
                       (long long)out->buffers[i]->size, laze_type_format(NULL, &actual, got, sizeof got));
  }
  return LAZE_OK;
}

/* The graph in another context: what is compiled belongs to the context of its graph. */
static laze_status copy_to(laze_context *context, const laze_graph *graph, laze_graph **out, laze_error *error) {
  laze_text text;
  laze_text_init(&text, graph->context);
  laze_graph_print(&text, graph, true);
  laze_status status = laze_graph_parse(context, laze_text_get(&text), text.size, "copy", out, error);
  laze_text_deinit(&text);
  return status;
}

laze_status test_run(laze_context *context, const laze_backend *backend, const laze_graph *graph, const char *without,
                     const test_arrays *inputs, test_arrays *out, laze_error *error) {
  laze_executable *executable = NULL;
  laze_graph *copy = NULL;
  laze_status status = LAZE_OK;
  out->count = 0;
  if (graph->context != context) status = copy_to(context, graph, &copy, error);
  if (copy) graph = copy;
  if (status == LAZE_OK)
    status = without ? compile_without(context, backend, graph, without, &executable, error)
                     : laze_compile(context, backend, graph, &executable, error);
  if (status == LAZE_OK) status = test_check_fallbacks(laze_executable_program(executable), error);
  laze_sites sites = laze_graph_sites(graph);
  laze_run run = {.inputs = inputs->buffers, .outputs = out->buffers, .output_types = out->types, .sites = &sites};
  if (status == LAZE_OK) status = backend->execute(executable, &run, error);
  if (status == LAZE_OK) {
    out->count = (int32_t)graph->body->result_count;
    status = check_types(graph, executable, out, error);
    if (status != LAZE_OK) test_arrays_release(out);
  }
  laze_executable_release(executable);
  laze_graph_destroy(copy);
  return status;
}

bool test_arrays_same(const test_arrays *a, const test_arrays *b, char *message, size_t size) {
  if (a->count != b->count) {
    snprintf(message, size, "%d and %d outputs", (int)a->count, (int)b->count);
    return false;
  }
  for (int32_t i = 0; i < a->count; i++) {
    char left[64], right[64];
    laze_dtype dtype = a->types[i].dtype;
    int64_t width = laze_dtype_size(dtype);
    if (!laze_type_equal(&a->types[i], &b->types[i])) {
      snprintf(message, size, "output %d has two types", (int)i);
      return false;
    }
    int64_t at = test_first_difference(dtype, a->buffers[i]->data, b->buffers[i]->data, test_elements(&a->types[i]));
    if (at < 0) continue;
    snprintf(message, size, "output %d, element %lld: %s and %s", (int)i, (long long)at,
             test_element_text(dtype, (const char *)a->buffers[i]->data + at * width, left),
             test_element_text(dtype, (const char *)b->buffers[i]->data + at * width, right));
    return false;
  }
  return true;
}

void test_print_graph(const char *title, const laze_graph *graph) {
  laze_text text;
  laze_text_init(&text, graph->context);
  laze_graph_print(&text, graph, true);
  fprintf(stderr, "%s\n%s\n", title, laze_text_get(&text));
  laze_text_deinit(&text);
}
