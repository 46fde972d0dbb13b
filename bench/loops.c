/* What a step of a loop in a graph costs: its kernels are so small that going from one to the next is most of it. Loops
 * are graph files, which lazec runs; it says how long the run took, without reading, compiling and printing. */
#include "bench/bench.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS 11
#define STEPS 2000

typedef struct bench_loop_case {
  const char *name, *graph, *inputs;
  double target; /* microseconds a step */
} bench_loop_case;

static const bench_loop_case cases[] = {
    {"a step of a while loop",
     "laze 1\ngraph @small(%w: f32[16,16], %x: f32[16], %zero: i64[]) -> f32[16] {\n"
     "  %0:2 = while [%zero, %x] (%i: i64[], %a: f32[16]) {\n    %1 = lt %i, 2000\n    return %1\n"
     "  } (%i: i64[], %a: f32[16]) {\n    %2 = mv %w, %a\n    %3 = tanh %2\n    %4 = add %i, 1\n    return %4, %3\n  "
     "}\n"
     "  return %0#1\n}\n",
     "--input 'w=f32[16,16]:random:1' --input 'x=f32[16]:random:2' --input 'zero=i64[]:0'", 5},
    {"a step of a scan",
     "laze 1\ngraph @scanned(%w: f32[16,16], %x: f32[2000,16], %h: f32[16]) -> f32[16], f32[2000,16] {\n"
     "  %0:2 = scan [%h], [%x] (%a: f32[16], %row: f32[16]) {\n    %1 = mv %w, %a\n    %2 = add %1, %row\n"
     "    %3 = tanh %2\n    return %3, %3\n  }\n  return %0#0, %0#1\n}\n",
     "--input 'w=f32[16,16]:random:1' --input 'x=f32[2000,16]:random:2' --input 'h=f32[16]:0'", 5},
    {"a step that writes a row of f32[2000,64]",
     "laze 1\ngraph @rows(%x: f32[2000,64], %y: f32[1,64], %zero: i64[]) -> f32[2000,64] {\n"
     "  %0:2 = while [%zero, %x] (%i: i64[], %a: f32[2000,64]) {\n    %1 = lt %i, 2000\n    return %1\n"
     "  } (%i: i64[], %a: f32[2000,64]) {\n    %2 = dynamic_slice %a, %i, dim=0, length=1\n    %3 = add %2, %y\n"
     "    %4 = dynamic_update %a, %3, %i, dim=0\n    %5 = add %i, 1\n    return %5, %4\n  }\n  return %0#1\n}\n",
     "--input 'x=f32[2000,64]:random:1' --input 'y=f32[1,64]:random:2' --input 'zero=i64[]:0'", 5},
};
#define CASE_COUNT (sizeof cases / sizeof *cases)

typedef struct bench_loop_run {
  double time, kernels, fallbacks; /* microseconds; of the whole run */
} bench_loop_run;

static laze_status write_graph(const char *path, const char *text, laze_error *error) {
  FILE *file = fopen(path, "w");
  if (file == NULL) return bench_fail(error, "cannot write %s", path);
  const bool written = fputs(text, file) >= 0;
  return fclose(file) == 0 && written ? LAZE_OK : bench_fail(error, "cannot write %s", path);
}

/* Runs lazec and takes the metrics off what it reports. */
static laze_status run_graph(const char *command, bench_loop_run *out, laze_error *error) {
  char line[256], name[64];
  double value;
  int found = 0;
  FILE *metrics = popen(command, "r");
  if (metrics == NULL) return bench_fail(error, "cannot run %s", command);
  while (fgets(line, sizeof line, metrics) != NULL) {
    if (sscanf(line, "%63s %lf", name, &value) != 2) continue;
    if (strcmp(name, "time_run_us") == 0) out->time = value, found++;
    if (strcmp(name, "kernels_run") == 0) out->kernels = value, found++;
    if (strcmp(name, "fallbacks") == 0) out->fallbacks = value, found++;
  }
  if (pclose(metrics) != 0) return bench_fail(error, "this failed: %s", command);
  return found == 3 ? LAZE_OK : bench_fail(error, "no metrics came from %s", command);
}

static laze_status measure_case(bench_report *report, const bench_loop_case *what, const char *lazec,
                                const char *directory, laze_error *error) {
  char graph[PATH_MAX + 16], command[4 * PATH_MAX];
  bench_loop_run run = {0};
  bench_samples samples = {0};
  snprintf(graph, sizeof graph, "%s/loop.lz", directory);
  const int length = snprintf(command, sizeof command, "LAZE_CACHE_DIR='%s' '%s' run '%s' %s --metrics 2>&1 >/dev/null",
                              directory, lazec, graph, what->inputs);
  if (length >= (int)sizeof command) return bench_fail(error, "the path of lazec is too long");
  laze_status status = write_graph(graph, what->graph, error);
  if (status == LAZE_OK) status = run_graph(command, &run, error); /* fills the cache */
  for (int i = 0; i < ROUNDS && status == LAZE_OK; i++) {
    status = run_graph(command, &run, error);
    samples_add(&samples, run.time / STEPS);
  }
  if (status != LAZE_OK) return status;
  if (run.fallbacks > 0) return bench_fail(error, "%s runs on the interpreter", what->name);
  report_add(report, (bench_row){what->name, "us", samples_summary(&samples), TARGET_AT_MOST, what->target});
  report_add(report, (bench_row){.name = "  kernels in it", .unit = "", .value = summary_of(run.kernels / STEPS)});
  return LAZE_OK;
}

laze_status bench_loops(bench_report *report, laze_error *error) {
  char lazec[PATH_MAX], directory[PATH_MAX];
  laze_status status = bench_find_program("../tools/lazec", lazec, sizeof lazec, error);
  if (status == LAZE_OK) status = bench_make_directory(directory, sizeof directory, error);
  if (status != LAZE_OK) return status;
  for (size_t i = 0; i < CASE_COUNT && status == LAZE_OK; i++)
    status = measure_case(report, &cases[i], lazec, directory, error);
  bench_remove_directory(directory);
  return status;
}
