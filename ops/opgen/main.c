/* opgen: reads the operator tables, checks them, and writes the code that follows from them.
 *
 *   tables, rules.yaml        inputs, tree
 *     -> entries              table, entry, operator, with schema and expression
 *     -> names                operator inside the library, function in C; known: what headers declare
 *     -> checks               entry_check, entry_rules, check, check_call
     -> derivatives          derivative: formulas, checked as composites are
 *     -> C                    write_*, emit, emit_call
 *     -> files                output
 *
 * Nothing is written while there are errors.
 */
#include "ops/opgen/allocate.h"
#include "ops/opgen/inputs.h"
#include "ops/opgen/output.h"

#include <argp.h>
#include <stdlib.h>

typedef struct gen_options {
  const char *output, *only;
  bool check, list;
  gen_inputs inputs;
} gen_options;

static const struct argp_option option_list[] = {
    {"output", 'o', "DIR", 0, "write the generated files below DIR", 0},
    {"only", 'f', "FOLDER", 0, "write the files of one folder (\"ir\"), into DIR itself", 0},
    {"rules", 'r', "FILE", 0, "the shape and dtype rules (rules.yaml)", 0},
    {"api", 'a', "FILE", 0, "a header whose names generated functions must not have; may be repeated", 0},
    {"lowerings", 'l', "FILE", 0, "the header that declares what `lower` may name in class elementwise", 0},
    {"joins", 'j', "FILE", 0, "the header that declares what `lower` may name in other classes", 0},
    {"elements", 'e', "FILE", 0, "the header that declares what `eval` may call besides <math.h>", 0},
    {"interpreter", 'i', "FILE", 0, "the header that declares what `interpret` may name", 0},
    {"rule-functions", 'u', "FILE", 0, "the header that declares the functions of the rules", 0},
    {"control-rules", 'n', "FILE", 0, "the header that declares what `infer` may name", 0},
    {"derivatives", 'd', "FILE", 0, "a table of derivatives; may be repeated", 0},
    {"composites", 'p', "FILE", 0, "a file with composites written by hand; may be repeated", 0},
    {"check", 'c', NULL, 0, "check the tables and write nothing", 0},
    {"list", 't', NULL, 0, "print the names of the files and write nothing", 0},
    {0},
};

static void add_path(const char ***paths, int *count, const char *path) {
  *paths = memory_grow(*paths, *count, sizeof(**paths));
  (*paths)[(*count)++] = path;
}

static void add_header(gen_options *options, gen_known_kind kind, const char *path) {
  gen_inputs *inputs = &options->inputs;
  inputs->headers = memory_grow(inputs->headers, inputs->header_count, sizeof(*inputs->headers));
  inputs->headers[inputs->header_count++] = (gen_header){kind, path};
}

static error_t parse_option(int key, char *argument, struct argp_state *state) {
  gen_options *options = state->input;
  switch (key) {
  case 'o': options->output = argument; break;
  case 'f': options->only = argument; break;
  case 'r': options->inputs.rules = argument; break;
  case 'a': add_header(options, KNOWN_API, argument); break;
  case 'l': add_header(options, KNOWN_LOWERING, argument); break;
  case 'j': add_header(options, KNOWN_JOIN, argument); break;
  case 'e': add_header(options, KNOWN_ELEMENT, argument); break;
  case 'i':
    add_header(options, KNOWN_EXECUTE, argument);
    add_header(options, KNOWN_CONTROL, argument);
    break;
  case 'u':
    add_header(options, KNOWN_SHAPE, argument);
    add_header(options, KNOWN_DTYPE, argument);
    break;
  case 'n': add_header(options, KNOWN_REGIONS, argument); break;
  case 'd': add_path(&options->inputs.derivatives, &options->inputs.derivative_count, argument); break;
  case 'p': add_header(options, KNOWN_BY_HAND, argument); break;
  case 'c': options->check = true; break;
  case 't': options->list = true; break;
  case ARGP_KEY_ARG: add_path(&options->inputs.tables, &options->inputs.table_count, argument); break;
  case ARGP_KEY_END:
    if (options->inputs.rules == NULL) argp_error(state, "no rules; write --rules FILE");
    if (options->inputs.table_count == 0) argp_error(state, "no tables; name the YAML files");
    if (options->output == NULL && !options->check && !options->list)
      argp_error(state, "nothing to do; write --output DIR or --check");
    break;
  default: return ARGP_ERR_UNKNOWN;
  }
  return 0;
}

int main(int argc, char **argv) {
  static const struct argp parser = {
      option_list,
      parse_option,
      "TABLE...",
      "Checks the operator tables (ops/README.md) and writes the code that follows from them.\v"
      "Exit status: 0 done, 1 the tables are wrong or a file could not be written, 2 wrong usage.",
      NULL,
      NULL,
      NULL};
  gen_options options = {0};
  argp_err_exit_status = 2;
  argp_parse(&parser, argc, argv, 0, NULL, &options);
  bool folder_known = true;
  gen_table table = {0};
  inputs_read(&table, &options.inputs);
  if (table.report.errors == 0 && options.list)
    folder_known = files_list(&table, options.only);
  else if (table.report.errors == 0 && !options.check)
    folder_known = files_write(&table, options.output, options.only);
  if (!folder_known) {
    fprintf(stderr, "opgen: nothing is generated for the folder \"%s\"; see --list\n", options.only);
    return 2;
  }
  if (table.report.errors > 0)
    fprintf(stderr, "opgen: %d error%s\n", table.report.errors, table.report.errors == 1 ? "" : "s");
  return table.report.errors > 0 ? 1 : 0;
}
