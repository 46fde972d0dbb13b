/* lazec run, in order:
 *
 *   graph file ── inputs read ── sizes bound ── specialised ── compiled ── run ── results printed or written
 */
#include "tools/lazec/lazec.h"

#include "ir/specialise.h"
#include "runtime/array_text.h"

#include <stdio.h>
#include <string.h>

typedef struct {
  const char *file, *graph, *backend;
  lazec_list inputs, outputs, dims;
  bool metrics, json;
} run_options;

static const struct argp_option option_table[] = {
    {"input", 'i', "NAME=VALUE", 0,
     "An input of the graph: NAME=@FILE.npy, or NAME=DTYPE[SIZES]:ELEMENTS such as 'x=f32[2,3]:1,2,3,4,5,6'. One "
     "element "
     "stands for all of them; instead of elements: arange, random:SEED",
     0},
    {"output", 'o', "FILE", 0,
     "Write a result to FILE in .npy format; given once for each result, in their order. -: print it", 0},
    {"backend", LAZEC_KEY_BACKEND, "NAME", 0, "llvm (native code) or interp (reference interpreter)", 0},
    {"dim", LAZEC_KEY_DIM, "NAME=NUMBER", 0, "The value of a symbolic size that no input gives", 0},
    {"metrics", LAZEC_KEY_METRICS, NULL, 0, "Report on standard error what was done, one 'name value' a line", 0},
    {"json", LAZEC_KEY_JSON, NULL, 0, "The same as one JSON object", 0},
    LAZEC_OPTION_GRAPH,
    {0},
};

static error_t parse_option(int key, char *argument, struct argp_state *state) {
  run_options *options = state->input;
  switch (key) {
  case 'i':
    if (!strchr(argument, '=') || *argument == '=')
      argp_error(state, "--input %s: NAME=@FILE or NAME=TYPE:ELEMENTS is expected", argument);
    lazec_list_add(&options->inputs, argument);
    return 0;
  case 'o': lazec_list_add(&options->outputs, argument); return 0;
  case LAZEC_KEY_GRAPH: options->graph = argument; return 0;
  case LAZEC_KEY_DIM:
    lazec_check_dim(state, argument);
    lazec_list_add(&options->dims, argument);
    return 0;
  case LAZEC_KEY_BACKEND:
    lazec_check_backend(state, argument);
    options->backend = argument;
    return 0;
  case LAZEC_KEY_METRICS: options->metrics = true; return 0;
  case LAZEC_KEY_JSON: options->metrics = options->json = true; return 0;
  case ARGP_KEY_ARG: lazec_take_file(state, argument, &options->file); return 0;
  case ARGP_KEY_NO_ARGS: argp_usage(state); return 0;
  default: return ARGP_ERR_UNKNOWN;
  }
}

/* Everything a run holds, released together. */
typedef struct {
  laze_context *context;
  const laze_backend *backend;
  laze_graph *graph, *constant; /* as read; with numbers for sizes */
  lazec_input *inputs;          /* one per input of the graph; no array: not given */
  laze_compiled *compiled;
  laze_array **results;
  int32_t result_count;
} job;

static int64_t input_count(const job *self) {
  return self->graph ? self->graph->body->parameter_count : 0;
}

static const laze_node *input_node(const job *self, int64_t index) {
  return &self->graph->nodes[self->graph->body->parameters[index]];
}

static void deinit(job *self) {
  for (int32_t i = 0; self->results && i < self->result_count; i++) laze_array_release(self->results[i]);
  for (int64_t i = 0; self->inputs && i < input_count(self); i++) lazec_input_deinit(&self->inputs[i]);
  laze_compiled_release(self->compiled);
  laze_graph_destroy(self->constant);
  laze_graph_destroy(self->graph);
  if (!self->context) return;
  laze_free(self->context, self->results);
  laze_free(self->context, self->inputs);
  laze_context_release(self->context);
}

/* --- Inputs --- */

static laze_status unknown_input(const job *self, const char *text, int length, laze_error *error) {
  laze_text names;
  laze_text_init(&names, self->context);
  for (int64_t i = 0; i < input_count(self); i++)
    laze_text_format(&names, "%s%s", i ? ", " : "; it has ", input_node(self, i)->name);
  laze_status status = laze_fail(error, LAZE_NOT_FOUND, "input %.*s: graph %s has no such input%s", length, text,
                                 self->graph->name, laze_text_get(&names));
  laze_text_deinit(&names);
  return status;
}

static laze_status read_input(job *self, const char *text, laze_error *error) {
  int length = (int)strcspn(text, "=");
  for (int64_t i = 0; i < input_count(self); i++) {
    const char *name = input_node(self, i)->name;
    if (strlen(name) != (size_t)length || memcmp(name, text, (size_t)length) != 0) continue;
    if (self->inputs[i].array)
      return laze_fail(error, LAZE_INVALID_ARGUMENT, "input %s: is given twice; once is expected", name);
    return lazec_input_read(self->context, name, text + length + 1, &self->inputs[i], error);
  }
  return unknown_input(self, text, length, error);
}

static laze_status read_inputs(job *self, const lazec_list *given, laze_error *error) {
  int64_t count = input_count(self);
  self->inputs = laze_alloc_zero(self->context, count * (int64_t)sizeof *self->inputs);
  if (!self->inputs) return laze_fail_memory(error, "the inputs", -1);
  for (int i = 0; i < given->count; i++) LAZE_TRY(read_input(self, given->items[i], error));
  for (int64_t i = 0; i < count; i++) {
    const laze_node *node = input_node(self, i);
    char type[256];
    if (!self->inputs[i].array)
      return laze_fail(error, LAZE_INVALID_ARGUMENT, "input %s: is missing; give its %s with --input %s=@FILE.npy",
                       node->name, laze_type_format(self->graph->sizes, node->types[0], type, sizeof type), node->name);
  }
  return LAZE_OK;
}

/* --- Sizes --- */

static laze_status type_of(const laze_array *array, laze_type *out, laze_error *error) {
  const laze_ints sizes = laze_array_sizes(array);
  return laze_type_init(out, "an array", laze_array_dtype(array), sizes.count, sizes.items, error);
}

static laze_status bind_types(job *self, int64_t *bindings, laze_error *error) {
  int64_t count = input_count(self);
  laze_type *types = laze_alloc_array(self->context, count, sizeof *types);
  if (!types) return laze_fail_memory(error, "the types of inputs", -1);
  laze_status status = LAZE_OK;
  for (int64_t i = 0; i < count && status == LAZE_OK; i++) status = type_of(self->inputs[i].array, &types[i], error);
  if (status == LAZE_OK) status = laze_graph_bind_inputs(self->graph, types, bindings, error);
  laze_free(self->context, types);
  if (status != LAZE_OK) return status;
  for (int64_t i = 0; i < laze_size_symbol_count(self->graph->sizes); i++) {
    const char *name = laze_size_symbol_name(self->graph->sizes, i);
    if (bindings[i] < 0 && !laze_size_is_defined(self->graph->sizes, laze_size_symbol_at(self->graph->sizes, i)))
      return laze_fail(error, LAZE_INVALID_ARGUMENT, "size %s: no input gives it; give it with --dim %s=NUMBER", name,
                       name);
  }
  return laze_graph_specialise(self->graph, bindings, &self->constant, error);
}

static laze_status specialise(job *self, const lazec_list *dims, laze_error *error) {
  int64_t *bindings;
  LAZE_TRY(lazec_dims_create(self->graph, dims, &bindings, error));
  laze_status status = bind_types(self, bindings, error);
  laze_free(self->context, bindings);
  return status;
}

/* --- Running --- */

static laze_status compile(job *self, laze_error *error) {
  const laze_compile_options options = {.struct_size = sizeof options, .backend = self->backend};
  return laze_compile_graph(self->constant, &options, &self->compiled, error);
}

static laze_status execute(job *self, laze_error *error) {
  const int32_t inputs = (int32_t)input_count(self), results = laze_graph_result_count(self->constant);
  laze_array **arrays = laze_alloc_array(self->context, inputs, sizeof *arrays);
  self->results = laze_alloc_zero(self->context, results * (int64_t)sizeof *self->results);
  self->result_count = results;
  laze_status status = LAZE_OK;
  if (!arrays || !self->results) status = laze_fail_memory(error, "inputs and results", -1);
  for (int32_t i = 0; arrays && i < inputs; i++) arrays[i] = self->inputs[i].array;
  if (status == LAZE_OK) status = laze_compiled_run(self->compiled, arrays, inputs, self->results, results, error);
  laze_free(self->context, arrays);
  return status;
}

/* --- Results --- */

static laze_status print_result(const job *self, int32_t index, laze_error *error) {
  char name[256];
  laze_type type;
  laze_text text;
  LAZE_TRY(type_of(self->results[index], &type, error));
  laze_text_init(&text, self->context);
  laze_text_format(&text, "result %d: %s\n", (int)index, laze_type_format(NULL, &type, name, sizeof name));
  laze_array_print(&text, &type, laze_array_data(self->results[index]));
  laze_text_append(&text, "\n");
  laze_status status = laze_text_check(&text, error);
  if (status == LAZE_OK) status = lazec_output_write(NULL, laze_text_get(&text), text.size, error);
  laze_text_deinit(&text);
  return status;
}

static laze_status write_result(const job *self, int32_t index, const char *path, laze_error *error) {
  const laze_array *result = self->results[index];
  const laze_ints sizes = laze_array_sizes(result);
  laze_npy array = {
      .dtype = laze_array_dtype(result), .rank = sizes.count, .data = (void *)(uintptr_t)laze_array_data(result)};
  for (int axis = 0; axis < sizes.count; axis++) array.dims[axis] = sizes.items[axis];
  return laze_npy_write(path, &array, error);
}

static laze_status output(const job *self, const lazec_list *files, laze_error *error) {
  for (int32_t i = 0; i < self->result_count; i++) {
    const char *file = files->count > 0 ? files->items[i] : "-";
    if (strcmp(file, "-") == 0)
      LAZE_TRY(print_result(self, i, error));
    else
      LAZE_TRY(write_result(self, i, file, error));
  }
  return LAZE_OK;
}

static laze_status check_outputs(const job *self, const lazec_list *files, laze_error *error) {
  int64_t results = self->graph->body->result_count;
  if (files->count == 0 || files->count == results) return LAZE_OK;
  return laze_fail(error, LAZE_INVALID_ARGUMENT,
                   "%d --output for the %lld result%s of graph %s; give one for each, '-' prints it", files->count,
                   (long long)results, results == 1 ? "" : "s", self->graph->name);
}

static laze_status print_metrics(laze_context *context, int32_t form, laze_error *error) {
  size_t size;
  LAZE_TRY(laze_metric_report(context, form, NULL, 0, &size, error));
  size += 1024; /* numbers may be longer by then */
  char *text = laze_alloc(context, (int64_t)size);
  if (!text) return laze_fail_memory(error, "the metrics", (int64_t)size);
  const laze_status status = laze_metric_report(context, form, text, size, NULL, error);
  if (status == LAZE_OK) fputs(text, stderr);
  laze_free(context, text);
  return status;
}

static laze_status run(job *self, const run_options *options, laze_error *error) {
  LAZE_TRY(lazec_context_create(&self->context, error));
  LAZE_TRY(laze_backend_find(self->context, options->backend, &self->backend, error));
  LAZE_TRY(lazec_graph_read(self->context, options->file, options->graph, &self->graph, error));
  LAZE_TRY(check_outputs(self, &options->outputs, error));
  LAZE_TRY(read_inputs(self, &options->inputs, error));
  LAZE_TRY(specialise(self, &options->dims, error));
  LAZE_TRY(compile(self, error));
  LAZE_TRY(execute(self, error));
  LAZE_TRY(output(self, &options->outputs, error));
  if (!options->metrics) return LAZE_OK;
  return print_metrics(self->context, options->json ? LAZE_REPORT_JSON : LAZE_REPORT_TEXT, error);
}

int lazec_run(int argc, char **argv) {
  static const struct argp arguments = {
      .options = option_table,
      .parser = parse_option,
      .args_doc = "FILE",
      .doc = "Runs the graph in FILE (-: standard input) on the given inputs and prints its results, or writes them to "
             "files.",
  };
  run_options options = {0};
  job self = {0};
  laze_error error;
  if (argp_parse(&arguments, argc, argv, 0, NULL, &options) != 0) return LAZEC_WRONG_USAGE;
  laze_status status = run(&self, &options, &error);
  deinit(&self);
  lazec_list_free(&options.inputs);
  lazec_list_free(&options.outputs);
  lazec_list_free(&options.dims);
  return status == LAZE_OK ? LAZEC_DONE : lazec_report(&error);
}
