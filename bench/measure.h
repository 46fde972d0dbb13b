/* Taking times, and saying what they were. */
#ifndef BENCH_MEASURE_H
#define BENCH_MEASURE_H

#include <stdbool.h>
#include <stdio.h>

#define SAMPLES_MOST 1024
#define REPORT_NAME_SIZE 96

/* Seconds on the monotonic clock. */
double measure_now(void);

typedef struct bench_samples {
  int count;
  double values[SAMPLES_MOST];
} bench_samples;

/* Ignored once there are SAMPLES_MOST. */
void samples_add(bench_samples *samples, double value);

/* The middle value and the quartiles around it; zeros when there are no samples. */
typedef struct bench_summary {
  double low, median, high;
} bench_summary;
bench_summary samples_summary(const bench_samples *samples);
/* All three multiplied by `factor`. */
bench_summary summary_scaled(bench_summary summary, double factor);
/* One number that was not measured several times. */
bench_summary summary_of(double value);

/* What a row is held against. */
#define TARGET_NONE 0
#define TARGET_AT_MOST 1
#define TARGET_AT_LEAST 2

typedef struct bench_row {
  const char *name, *unit; /* need no escapes in JSON; a name that begins with spaces is a detail of the row before */
  bench_summary value;
  int target_kind;
  double target;
} bench_row;

typedef struct bench_report {
  FILE *file;
  bool json;                 /* one object a line; otherwise a table for people */
  char of[REPORT_NAME_SIZE]; /* the name of the last row that was no detail */
  int missed;
} bench_report;

/* A heading with a line that says what was done. */
void report_section(bench_report *report, const char *name, const char *what);
void report_add(bench_report *report, bench_row row);
/* A remark below the rows. */
void report_note(bench_report *report, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The processor, its cores and the compiler. */
void report_machine(bench_report *report);

#endif
