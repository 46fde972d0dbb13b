/* lazec print: the canonical text of a graph. lazec check: nothing, or what is wrong with it. */
#include "tools/lazec/lazec.h"

#include "ir/text/text.h"

#include <stdlib.h>

static error_t parse_option(int key, char *argument, struct argp_state *state) {
  const char **file = state->input;
  if (key == ARGP_KEY_ARG)
    lazec_take_file(state, argument, file);
  else if (key == ARGP_KEY_NO_ARGS)
    argp_usage(state);
  else
    return ARGP_ERR_UNKNOWN;
  return 0;
}

static laze_status print(const laze_graph *graph, laze_error *error) {
  laze_text text;
  laze_text_init(&text, graph->context);
  laze_graph_print(&text, graph, true);
  laze_status status = laze_text_check(&text, error);
  if (status == LAZE_OK) status = lazec_output_write(NULL, laze_text_get(&text), text.size, error);
  laze_text_deinit(&text);
  return status;
}

/* Reads the graph, and prints it where `printed`. */
static int examine(const char *file, bool printed) {
  laze_context *context = NULL;
  laze_graph *graph = NULL;
  laze_error error;
  laze_status status = lazec_context_create(&context, &error);
  if (status == LAZE_OK) status = lazec_graph_read(context, file, &graph, &error);
  if (status == LAZE_OK && printed) status = print(graph, &error);
  laze_graph_destroy(graph);
  laze_context_release(context);
  return status == LAZE_OK ? LAZEC_DONE : lazec_report(&error);
}

int lazec_print(int argc, char **argv) {
  static const struct argp arguments = {
      .parser = parse_option,
      .args_doc = "FILE",
      .doc =
          "Prints the graph in FILE (-: standard input) in canonical form: values numbered, types written out, early "
          "composites expanded. Printing that again changes nothing.",
  };
  const char *file = NULL;
  if (argp_parse(&arguments, argc, argv, 0, NULL, &file) != 0) return LAZEC_WRONG_USAGE;
  return examine(file, true);
}

int lazec_check(int argc, char **argv) {
  static const struct argp arguments = {
      .parser = parse_option,
      .args_doc = "FILE",
      .doc = "Checks the graph in FILE (-: standard input). Says nothing and exits with 0 when it is right; otherwise "
             "says what is wrong, with line and column, and exits with 1.",
  };
  const char *file = NULL;
  if (argp_parse(&arguments, argc, argv, 0, NULL, &file) != 0) return LAZEC_WRONG_USAGE;
  return examine(file, false);
}
