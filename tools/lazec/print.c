/* lazec print: the canonical text of a file's graphs, with large constants as numbers, in hexadecimal or in a file
 * beside it. lazec check: nothing, or what is wrong with them. */
#include "tools/lazec/lazec.h"

#include "ir/signature.h"
#include "ir/text/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_HEX = 1000, KEY_WEIGHTS, KEY_ABOVE, KEY_LIST, KEY_SIGNATURE, KEY_DOT };

typedef struct {
  const char *file, *graph, *output, *weights;
  bool hexadecimal, limited, list, signature, dot;
  int64_t above;
} print_options;

static const struct argp_option option_table[] = {
    {"output", 'o', "FILE", 0, "Write to FILE instead of standard output", 0},
    {"hex", KEY_HEX, NULL, 0, "Constants in hexadecimal: shorter than numbers, and read faster", 0},
    {"weights", KEY_WEIGHTS, "FILE", 0,
     "Constants as bytes in FILE, which the text refers to by its name: it stays in the folder of the text", 0},
    {"above", KEY_ABOVE, "NUMBER", 0, "--hex and --weights are for constants of more elements than this (16)", 0},
    {"list", KEY_LIST, NULL, 0, "Only say which graphs and functions there are, a line each", 0},
    {"signature", KEY_SIGNATURE, NULL, 0, "Only say what inputs and results are for, a line each", 0},
    {"dot", KEY_DOT, NULL, 0, "A picture of each graph, in the language of Graphviz", 0},
    {"graph", LAZEC_KEY_GRAPH, "NAME", 0, "Only this graph, with the functions that it calls inlined", 0},
    {0},
};

static int64_t read_count(struct argp_state *state, const char *argument) {
  char *end;
  errno = 0;
  long long count = strtoll(argument, &end, 10);
  if (*argument < '0' || *argument > '9' || *end || errno)
    argp_error(state, "--above %s: a number of elements is expected", argument);
  return count;
}

/* The length of the path's folder, with the slash. */
static size_t folder_length(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? (size_t)(slash + 1 - path) : 0;
}

static void check_options(struct argp_state *state, const print_options *options) {
  const char *weights = options->weights, *output = options->output;
  if (options->dot + options->list + options->signature > 1)
    argp_error(state, "--dot, --list and --signature: one of them is expected");
  if (options->dot && (weights || options->hexadecimal))
    argp_error(state, "--dot: is expected without --hex and --weights");
  if (weights && options->hexadecimal) argp_error(state, "--hex and --weights: one of the two is expected");
  if (options->limited && !weights && !options->hexadecimal)
    argp_error(state, "--above: --hex or --weights is expected with it");
  if (!weights || !output || strcmp(output, "-") == 0) return;
  size_t length = folder_length(weights);
  if (length != folder_length(output) || memcmp(weights, output, length) != 0)
    argp_error(state, "--weights %s: is in another folder than %s, which refers to it by its name", weights, output);
}

static error_t parse_option(int key, char *argument, struct argp_state *state) {
  print_options *options = state->input;
  switch (key) {
  case 'o': options->output = argument; return 0;
  case KEY_HEX: options->hexadecimal = true; return 0;
  case KEY_WEIGHTS: options->weights = argument; return 0;
  case KEY_ABOVE:
    options->above = read_count(state, argument);
    options->limited = true;
    return 0;
  case KEY_LIST: options->list = true; return 0;
  case KEY_SIGNATURE: options->signature = true; return 0;
  case KEY_DOT: options->dot = true; return 0;
  case LAZEC_KEY_GRAPH: options->graph = argument; return 0;
  case ARGP_KEY_ARG: lazec_take_file(state, argument, &options->file); return 0;
  case ARGP_KEY_NO_ARGS: argp_usage(state); return 0;
  case ARGP_KEY_SUCCESS: check_options(state, options); return 0;
  default: return ARGP_ERR_UNKNOWN;
  }
}

static void list_signatures(laze_text *text, const laze_module *module) {
  for (int64_t i = 0; i < module->count; i++) {
    laze_graph_print_signature(text, module->graphs[i]);
    laze_text_append(text, "\n");
  }
}

/* "result 1: f32[2]  gradient of w" */
static void list_role(laze_text *text, const laze_graph *graph, const char *side, int64_t index, laze_value value,
                      laze_role role) {
  const laze_node *node = laze_graph_node(graph, value);
  laze_text_format(text, "%s %lld: ", side, (long long)index);
  laze_type_print(text, graph->sizes, laze_graph_type(graph, value));
  laze_text_format(text, "  %s", laze_role_name(role.kind));
  if (role.of) laze_text_format(text, " of %s", role.of);
  if (*side == 'i') laze_text_format(text, " %s", node->name);
  laze_text_append(text, "\n");
}

static void list_roles(laze_text *text, const laze_graph *graph) {
  laze_text_format(text, "graph @%s\n", graph->name);
  for (int32_t i = 0; i < laze_graph_input_count(graph); i++)
    list_role(text, graph, "input", i, laze_graph_input(graph, i), laze_graph_input_role(graph, i));
  for (int32_t i = 0; i < laze_graph_result_count(graph); i++)
    list_role(text, graph, "result", i, laze_graph_result(graph, i), laze_graph_result_role(graph, i));
}

static void list_all_roles(laze_text *text, const laze_module *module, const laze_graph *graph) {
  if (graph) list_roles(text, graph);
  for (int64_t i = 0; !graph && i < module->count; i++)
    if (!module->graphs[i]->is_function) list_roles(text, module->graphs[i]);
}

static void draw_all(laze_text *text, const laze_module *module, const laze_graph *graph) {
  if (graph) laze_graph_print_dot(text, graph, NULL);
  for (int64_t i = 0; !graph && i < module->count; i++) laze_graph_print_dot(text, module->graphs[i], NULL);
}

/* Appends what the options ask for. The graph, where they name one, is not the module's, but must live as long as the
 * weights. */
static void append(laze_text *text, const laze_module *module, const laze_graph *graph, const print_options *options,
                   laze_weights *weights) {
  laze_print_options form = {.hexadecimal = options->hexadecimal, .large = options->above, .weights = weights};
  if (options->weights) form.file = options->weights + folder_length(options->weights);
  if (options->dot)
    draw_all(text, module, graph);
  else if (options->signature)
    list_all_roles(text, module, graph);
  else if (options->list)
    list_signatures(text, module);
  else if (graph)
    laze_graph_print_with(text, graph, &form);
  else
    laze_module_print(text, module, &form);
}

static laze_status print(const laze_module *module, const print_options *options, laze_error *error) {
  laze_text text;
  laze_weights weights = {.context = module->context};
  laze_graph *graph = NULL;
  if (options->graph) LAZE_TRY(lazec_graph_take(module, options->file, options->graph, &graph, error));
  laze_text_init(&text, module->context);
  append(&text, module, graph, options, &weights);
  laze_status status = laze_text_check(&text, error);
  if (status == LAZE_OK && options->weights) status = laze_weights_write(&weights, options->weights, error);
  if (status == LAZE_OK) status = lazec_output_write(options->output, laze_text_get(&text), text.size, error);
  laze_weights_deinit(&weights);
  laze_text_deinit(&text);
  laze_graph_destroy(graph);
  return status;
}

/* Whether every graph can be had without calls, too. */
static laze_status check(const laze_module *module, const print_options *options, laze_error *error) {
  for (int64_t i = 0; i < module->count; i++) {
    laze_graph *graph;
    if (module->graphs[i]->is_function) continue;
    LAZE_TRY(lazec_graph_take(module, options->file, module->graphs[i]->name, &graph, error));
    laze_graph_destroy(graph);
  }
  return options->list ? print(module, options, error) : LAZE_OK;
}

/* Reads the file, and looks at it. */
static int examine(const print_options *options,
                   laze_status (*look)(const laze_module *module, const print_options *options, laze_error *error)) {
  laze_context *context = NULL;
  laze_module *module = NULL;
  laze_error error;
  laze_status status = lazec_context_create(&context, &error);
  if (status == LAZE_OK) status = lazec_module_read(context, options->file, &module, &error);
  if (status == LAZE_OK) status = look(module, options, &error);
  laze_module_destroy(module);
  laze_context_release(context);
  return status == LAZE_OK ? LAZEC_DONE : lazec_report(&error);
}

int lazec_print(int argc, char **argv) {
  static const struct argp arguments = {
      .options = option_table,
      .parser = parse_option,
      .args_doc = "FILE",
      .doc =
          "Prints the graphs in FILE (-: standard input) in canonical form: values numbered, types written out, early "
          "composites expanded. Printing that again changes nothing.",
  };
  print_options options = {.above = 16};
  if (argp_parse(&arguments, argc, argv, 0, NULL, &options) != 0) return LAZEC_WRONG_USAGE;
  return examine(&options, print);
}

static error_t parse_check(int key, char *argument, struct argp_state *state) {
  print_options *options = state->input;
  if (key == KEY_LIST)
    options->list = true;
  else if (key == ARGP_KEY_ARG)
    lazec_take_file(state, argument, &options->file);
  else if (key == ARGP_KEY_NO_ARGS)
    argp_usage(state);
  else
    return ARGP_ERR_UNKNOWN;
  return 0;
}

static const struct argp_option check_table[] = {
    {"list", KEY_LIST, NULL, 0, "Say which graphs and functions there are, a line each, when all is right", 0},
    {0},
};

int lazec_check(int argc, char **argv) {
  static const struct argp arguments = {
      .options = check_table,
      .parser = parse_check,
      .args_doc = "FILE",
      .doc =
          "Checks the graphs in FILE (-: standard input). Says nothing and exits with 0 when they are right; otherwise "
          "says what is wrong, with line and column, and exits with 1.",
  };
  print_options options = {0};
  if (argp_parse(&arguments, argc, argv, 0, NULL, &options) != 0) return LAZEC_WRONG_USAGE;
  return examine(&options, check);
}
