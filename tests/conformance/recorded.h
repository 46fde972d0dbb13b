/* Cases that were recorded from another system (numpy.txt, torch.txt): a graph in text form, inputs, and the results
 * that the other system gives, or that it refuses the call.
 *
 *   case NAME TOLERANCE [ROW]        how far results may be off, in units in the last place
 *   laze 1 ...                       the graph, whose inputs have constant sizes
 *   input f32[2] 3f800000 0          bits of elements, hexadecimal
 *   output f32[2] ...                or the one line "refused"
 *   end
 */
#ifndef LAZE_TESTS_CONFORMANCE_RECORDED_H
#define LAZE_TESTS_CONFORMANCE_RECORDED_H

#include "tests/support/run.h"

#include <stdio.h>

typedef struct recorded_file {
  FILE *file;
  char *line; /* the last one read, without its end */
  size_t capacity;
} recorded_file;

typedef struct recorded_case {
  char name[64], row[64]; /* row: "" where there is none */
  double tolerance;
  char graph[4096];
  bool refused;
  test_arrays inputs, expected;
} recorded_case;

/* Everything fails the running Check test where it does not succeed. */
recorded_file recorded_open(const char *path);
void recorded_close(recorded_file *from);
bool recorded_next_line(recorded_file *from);
/* The case whose first line was read last; the caller calls recorded_release(). */
void recorded_read(laze_context *context, recorded_file *from, recorded_case *out);
void recorded_release(recorded_case *item);

/* Runs a case's graph; a graph that is refused before it runs counts as a run that fails. `got` is empty then. */
laze_status recorded_run(laze_context *context, const laze_backend *backend, const recorded_case *item,
                         test_arrays *got, laze_error *error);
/* Whether a run that ended with `status` gave what was recorded; otherwise what differs first. */
bool recorded_agrees(const recorded_case *item, laze_status status, const test_arrays *got, char *message, size_t size);

#endif
