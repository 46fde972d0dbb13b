/* lazec COMMAND ...: each command reads its own options. */
#include "tools/lazec/lazec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct command {
  const char *name, *summary;
  int (*run)(int argc, char **argv);
} commands[] = {
    {"run", "run a graph on inputs, print or write its results", lazec_run},
    {"print", "print a graph in canonical form", lazec_print},
    {"check", "check a graph, silently if it is right", lazec_check},
    {"compile", "show what a graph is compiled to", lazec_compile},
};
enum { COMMAND_COUNT = sizeof commands / sizeof *commands };

/* Read by argp, in libc: it must be visible there. */
__attribute__((visibility("default"))) const char *argp_program_version = "lazec " LAZE_VERSION;

typedef struct {
  const struct command *command;
  int first; /* index of the command's name */
} choice;

static error_t parse_option(int key, char *argument, struct argp_state *state) {
  choice *chosen = state->input;
  if (key == ARGP_KEY_NO_ARGS) argp_usage(state);
  if (key != ARGP_KEY_ARG) return ARGP_ERR_UNKNOWN;
  for (int i = 0; i < COMMAND_COUNT; i++)
    if (strcmp(argument, commands[i].name) == 0) chosen->command = &commands[i];
  if (!chosen->command) argp_error(state, "unknown command '%s'; --help lists them", argument);
  chosen->first = state->next - 1;
  state->next = state->argc; /* the rest is the command's */
  return 0;
}

/* Puts the list of commands below the options. */
static char *add_commands(int key, const char *text, void *input) {
  (void)input;
  if (key != ARGP_KEY_HELP_POST_DOC) return (char *)text;
  size_t size = 0, used = 0;
  char *list = NULL;
  FILE *stream = open_memstream(&list, &size);
  if (!stream) return (char *)text;
  fprintf(stream, "Commands:\n");
  for (int i = 0; i < COMMAND_COUNT; i++) fprintf(stream, "  %-10s %s\n", commands[i].name, commands[i].summary);
  fprintf(stream, "\n'lazec COMMAND --help' explains one.");
  used = (size_t)ftell(stream);
  fclose(stream);
  return used ? list : (char *)text;
}

static const struct argp arguments = {
    .parser = parse_option,
    .args_doc = "COMMAND [OPTION...]",
    .doc = "Runs, checks and compiles tensor graphs in laze's text form.\v ",
    .help_filter = add_commands,
};

int main(int argc, char **argv) {
  choice chosen = {0};
  char name[32], shown[] = "lazec";
  argp_err_exit_status = LAZEC_WRONG_USAGE;
  atexit(lazec_output_close);
  if (argc > 0) argv[0] = shown;
  if (argp_parse(&arguments, argc, argv, ARGP_IN_ORDER, NULL, &chosen) != 0 || !chosen.command)
    return LAZEC_WRONG_USAGE;
  snprintf(name, sizeof name, "lazec %s", chosen.command->name);
  argv[chosen.first] = name;
  return chosen.command->run(argc - chosen.first, argv + chosen.first);
}
