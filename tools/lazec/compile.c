/* lazec compile: what a graph becomes on its way to native code. */
#include "tools/lazec/lazec.h"

#include "codegen/codegen.h"
#include "ir/specialise.h"
#include "ir/text/text.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Kernels are generic in sizes, so that any value does for a size that nobody gave; they differ from each other, for
 * sizes that have names of their own are rarely equal. */
enum { CHOSEN_SIZE = 64, CHOSEN_STEP = 16 };

typedef struct {
  const char *name;
  bool is_graph; /* not the backend's: the graph after all passes */
  laze_emit_kind kind;
} emit_form;

static const emit_form forms[] = {
    {"ir", true, LAZE_EMIT_SCHEDULE},   {"schedule", false, LAZE_EMIT_SCHEDULE}, {"llvm", false, LAZE_EMIT_LLVM},
    {"asm", false, LAZE_EMIT_ASSEMBLY}, {"obj", false, LAZE_EMIT_OBJECT},
};
enum { FORM_COUNT = sizeof forms / sizeof *forms };

typedef struct {
  const char *file, *graph, *backend, *output;
  const emit_form *form;
  lazec_list dims;
} compile_options;

static const struct argp_option option_table[] = {
    {"emit", LAZEC_KEY_EMIT, "FORM", 0,
     "ir (the graph after all passes), schedule (kernels, with their loops), llvm, asm, or obj (a relocatable object)",
     0},
    {"output", 'o', "FILE", 0, "Write to FILE instead of standard output", 0},
    {"backend", LAZEC_KEY_BACKEND, "NAME", 0, "llvm (native code) or interp (reference interpreter)", 0},
    {"dim", LAZEC_KEY_DIM, "NAME=NUMBER", 0,
     "The value of a symbolic size; code is generic in sizes, so that it matters only for what is asked about them", 0},
    LAZEC_OPTION_GRAPH,
    {0},
};

static const emit_form *find_form(struct argp_state *state, const char *name) {
  for (int i = 0; i < FORM_COUNT; i++)
    if (strcmp(name, forms[i].name) == 0) return &forms[i];
  argp_error(state, "--emit %s: ir, schedule, llvm, asm or obj is expected", name);
  return NULL;
}

/* What does not fit together once all options are read. */
static void check_options(struct argp_state *state, const compile_options *options) {
  if (!options->form) argp_error(state, "--emit is missing: ir, schedule, llvm, asm or obj");
  bool to_stdout = !options->output || strcmp(options->output, "-") == 0;
  if (options->form && options->form->kind == LAZE_EMIT_OBJECT && to_stdout && isatty(STDOUT_FILENO))
    argp_error(state, "--emit obj: standard output is a terminal; name a file with -o");
}

static error_t parse_option(int key, char *argument, struct argp_state *state) {
  compile_options *options = state->input;
  switch (key) {
  case LAZEC_KEY_EMIT: options->form = find_form(state, argument); return 0;
  case 'o': options->output = argument; return 0;
  case LAZEC_KEY_BACKEND:
    lazec_check_backend(state, argument);
    options->backend = argument;
    return 0;
  case LAZEC_KEY_GRAPH: options->graph = argument; return 0;
  case LAZEC_KEY_DIM:
    lazec_check_dim(state, argument);
    lazec_list_add(&options->dims, argument);
    return 0;
  case ARGP_KEY_ARG: lazec_take_file(state, argument, &options->file); return 0;
  case ARGP_KEY_NO_ARGS: argp_usage(state); return 0;
  case ARGP_KEY_SUCCESS: check_options(state, options); return 0;
  default: return ARGP_ERR_UNKNOWN;
  }
}

/* The graph with numbers for sizes: those given, or the file's hints, or any. */
static laze_status specialise(const laze_graph *graph, const lazec_list *dims, laze_graph **out, laze_error *error) {
  int64_t *bindings, chosen = CHOSEN_SIZE;
  LAZE_TRY(lazec_dims_create(graph, dims, &bindings, error));
  for (int64_t i = 0; i < laze_size_symbol_count(graph->sizes); i++) {
    if (bindings[i] < 0) bindings[i] = laze_size_hint(graph->sizes, i);
    if (bindings[i] >= 0 || laze_size_is_defined(graph->sizes, laze_size_symbol_at(graph->sizes, i))) continue;
    bindings[i] = chosen;
    chosen += CHOSEN_STEP;
  }
  laze_status status = laze_graph_specialise(graph, bindings, out, error);
  laze_free(graph->context, bindings);
  return status;
}

static laze_status emit_graph(laze_context *context, const laze_graph *graph, laze_text *out, laze_error *error) {
  laze_graph *result;
  const int64_t *bindings;
  LAZE_TRY(laze_compile_passes(context, graph, &result, &bindings, error));
  laze_graph_print(out, result, true);
  laze_graph_destroy(result);
  return laze_text_check(out, error);
}

static laze_status emit(laze_context *context, const compile_options *options, const laze_graph *graph,
                        laze_error *error) {
  const laze_backend *backend;
  laze_text text;
  LAZE_TRY(laze_backend_find(context, options->backend, &backend, error));
  laze_text_init(&text, context);
  laze_status status = options->form->is_graph
                           ? emit_graph(context, graph, &text, error)
                           : laze_compile_emit(context, backend, graph, options->form->kind, &text, error);
  if (status == LAZE_OK) status = lazec_output_write(options->output, laze_text_get(&text), text.size, error);
  laze_text_deinit(&text);
  return status;
}

int lazec_compile(int argc, char **argv) {
  static const struct argp arguments = {
      .options = option_table,
      .parser = parse_option,
      .args_doc = "FILE",
      .doc = "Shows what the graph in FILE (-: standard input) is compiled to.",
  };
  compile_options options = {0};
  laze_context *context = NULL;
  laze_graph *graph = NULL, *constant = NULL;
  laze_error error;
  if (argp_parse(&arguments, argc, argv, 0, NULL, &options) != 0) return LAZEC_WRONG_USAGE;
  laze_status status = lazec_context_create(&context, &error);
  if (status == LAZE_OK) status = lazec_graph_read(context, options.file, options.graph, &graph, &error);
  if (status == LAZE_OK) status = specialise(graph, &options.dims, &constant, &error);
  if (status == LAZE_OK) status = emit(context, &options, constant, &error);
  laze_graph_destroy(constant);
  laze_graph_destroy(graph);
  laze_context_release(context);
  lazec_list_free(&options.dims);
  return status == LAZE_OK ? LAZEC_DONE : lazec_report(&error);
}
