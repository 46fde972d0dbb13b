/* Measures how fast laze records, launches, compiles and computes, beside plain C, and how much memory it takes.
 *
 * Nothing here is a test: a missed target is printed and counted, and the exit status says only whether it could be
 * measured.
 */
#include "bench/bench.h"

#include <argp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

typedef struct bench_part {
  const char *name, *what;
  laze_status (*run)(bench_report *report, laze_error *error);
} bench_part;

static const bench_part parts[] = {
    {"record", "a steady loop of 100 adds of 16 elements, and one read", bench_record},
    {"sizes", "the digits step at batch sizes not seen before", bench_sizes},
    {"chain", "8 elementwise operators on 16M floats, beside a plain C loop (interleaved)", bench_chain},
    {"first", "10 operators in a new process, beside an empty one (interleaved)", bench_first},
    {"memory", "peak of a chain of matrix products, growth of a long loop, caches over many lengths", bench_memory},
    {"products", "f32 matrix products, one thread", bench_products},
    {"shapes", "reductions, joins, stencils and broadcasts of awkward shapes, beside plain C loops", bench_shapes},
    {"training", "recording passes and updates, and a step of the digits at batch 512", bench_training},
    {"partition", "memory of a transformer's step whose backward pass computes cheap values again", bench_partition},
    {"loops", "graphs with loops of 2,000 small steps, run by lazec", bench_loops},
};
#define PART_COUNT (sizeof parts / sizeof *parts)

typedef struct bench_options {
  const char *only; /* NULL: all */
  bool json;
} bench_options;

laze_status bench_context(int32_t threads, laze_context **out, laze_error *error) {
  const laze_context_options options = {.struct_size = sizeof options, .threads = threads};
  return laze_context_create(&options, out, error);
}

int64_t bench_metric(laze_context *context, const char *name) {
  int64_t value = 0;
  if (laze_metric_read(context, name, &value, NULL) != LAZE_OK) fprintf(stderr, "bench: no metric \"%s\"\n", name);
  return value;
}

laze_status bench_finish(laze_scope *scope, laze_tensor *result, laze_error *error) {
  laze_status status = laze_tensor_materialise(result);
  if (status != LAZE_OK) (void)bench_fail(error, "%s", laze_tensor_error(result));
  const laze_status end = laze_scope_end_error(scope, status == LAZE_OK ? error : NULL);
  return status == LAZE_OK ? end : status;
}

laze_status bench_fail(laze_error *error, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(error->message, sizeof error->message, format, arguments);
  va_end(arguments);
  return error->code = LAZE_INTERNAL;
}

static const bench_part *find_part(const char *name) {
  for (size_t i = 0; i < PART_COUNT; i++)
    if (strcmp(parts[i].name, name) == 0) return &parts[i];
  return NULL;
}

static error_t parse_option(int key, char *argument, struct argp_state *state) {
  bench_options *options = state->input;
  switch (key) {
  case 'j': options->json = true; return 0;
  case 'o':
    options->only = argument;
    if (find_part(argument) == NULL)
      argp_error(
          state,
          "no part \"%s\"; there are record, sizes, chain, first, memory, products, shapes, training, partition and "
          "loops",
          argument);
    return 0;
  default: return ARGP_ERR_UNKNOWN;
  }
}

static const struct argp_option option_list[] = {
    {"json", 'j', NULL, 0, "one JSON object a line, for programs", 0},
    {"only", 'o', "NAME", 0,
     "one part: record, sizes, chain, first, memory, products, shapes, training, partition or loops", 0},
    {0},
};

int main(int argc, char **argv) {
  static const struct argp parser = {.options = option_list,
                                     .parser = parse_option,
                                     .doc = "Measures laze: medians, spread and ratios.\v"
                                            "./dev bench --peers measures it beside other libraries, and ./dev bench "
                                            "--against OLD_BUILD beside another build; --help behind either says more. "
                                            "Exit status: 0 measured, 1 something failed, 2 wrong usage."};
  bench_options options = {0};
  argp_err_exit_status = 2;
  argp_parse(&parser, argc, argv, 0, NULL, &options);
  bench_report report = {.file = stdout, .json = options.json};
  int failed = 0;
  report_machine(&report);
  for (size_t i = 0; i < PART_COUNT; i++) {
    if (options.only != NULL && strcmp(options.only, parts[i].name) != 0) continue;
    laze_error error = {0};
    report_section(&report, parts[i].name, parts[i].what);
    if (parts[i].run(&report, &error) == LAZE_OK) continue;
    fprintf(stderr, "bench: %s: %s\n", parts[i].name, error.message);
    failed++;
  }
  if (!report.json) printf("\n%d targets missed\n", report.missed);
  return failed > 0;
}
