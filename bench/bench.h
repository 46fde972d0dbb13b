/* The parts of the benchmark. Each measures one thing, adds rows to the report, and returns nonzero (with a message in
 * `error`) when it could not. */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include "bench/measure.h"

#include <laze/laze.h>

laze_status bench_record(bench_report *report, laze_error *error);
laze_status bench_sizes(bench_report *report, laze_error *error);
laze_status bench_chain(bench_report *report, laze_error *error);
laze_status bench_first(bench_report *report, laze_error *error);
laze_status bench_memory(bench_report *report, laze_error *error);
laze_status bench_products(bench_report *report, laze_error *error);
laze_status bench_shapes(bench_report *report, laze_error *error);
laze_status bench_training(bench_report *report, laze_error *error);
laze_status bench_partition(bench_report *report, laze_error *error);
laze_status bench_loops(bench_report *report, laze_error *error);

/* A context that uses `threads` threads (0: all). */
laze_status bench_context(int32_t threads, laze_context **out, laze_error *error);
/* A metric that is known to exist. */
int64_t bench_metric(laze_context *context, const char *name);
/* Computes a tensor and ends the scope. A failed computation is returned by the call and then no longer by the scope,
 * so that both are asked. */
laze_status bench_finish(laze_scope *scope, laze_tensor *result, laze_error *error);
/* The path of a program, given from where this one lies. */
laze_status bench_find_program(const char *name, char *path, size_t size, laze_error *error);
/* A folder of its own below TMPDIR, and removing it with all that it holds. */
laze_status bench_make_directory(char *path, size_t size, laze_error *error);
void bench_remove_directory(const char *path);
/* Fills `error` and returns its code. */
laze_status bench_fail(laze_error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
