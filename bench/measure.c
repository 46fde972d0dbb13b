#include "bench/measure.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

double measure_now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

void samples_add(bench_samples *samples, double value) {
  if (samples->count < SAMPLES_MOST) samples->values[samples->count++] = value;
}

static int compare(const void *left, const void *right) {
  const double a = *(const double *)left, b = *(const double *)right;
  return (a > b) - (a < b);
}

bench_summary samples_summary(const bench_samples *samples) {
  double sorted[SAMPLES_MOST];
  const int count = samples->count;
  if (count == 0) return summary_of(0);
  memcpy(sorted, samples->values, (size_t)count * sizeof *sorted);
  qsort(sorted, (size_t)count, sizeof *sorted, compare);
  return (bench_summary){sorted[count / 4], sorted[count / 2], sorted[3 * count / 4]};
}

bench_summary summary_scaled(bench_summary summary, double factor) {
  summary.low *= factor;
  summary.median *= factor;
  summary.high *= factor;
  return summary;
}

bench_summary summary_of(double value) {
  return (bench_summary){value, value, value};
}

void report_section(bench_report *report, const char *name, const char *what) {
  if (!report->json) fprintf(report->file, "\n%s: %s\n", name, what);
}

static bool is_met(const bench_row *row) {
  if (row->target_kind == TARGET_AT_MOST) return row->value.median <= row->target;
  return row->target_kind == TARGET_NONE || row->value.median >= row->target;
}

static void write_json(const bench_report *report, const bench_row *row) {
  const char *name = row->name + strspn(row->name, " ");
  fprintf(report->file, "{\"name\": \"%s\", ", name);
  if (name != row->name) fprintf(report->file, "\"of\": \"%s\", ", report->of);
  fprintf(report->file, "\"unit\": \"%s\", \"low\": %.9g, \"median\": %.9g, \"high\": %.9g", row->unit, row->value.low,
          row->value.median, row->value.high);
  if (row->target_kind != TARGET_NONE)
    fprintf(report->file, ", \"%s\": %.9g, \"met\": %s", row->target_kind == TARGET_AT_MOST ? "at_most" : "at_least",
            row->target, is_met(row) ? "true" : "false");
  fprintf(report->file, "}\n");
}

void report_add(bench_report *report, bench_row row) {
  if (!is_met(&row)) report->missed++;
  if (row.name[0] != ' ') snprintf(report->of, sizeof report->of, "%s", row.name);
  if (report->json) {
    write_json(report, &row);
    return;
  }
  fprintf(report->file, "  %-58s %10.4g %-8s", row.name, row.value.median, row.unit);
  if (row.value.low != row.value.high) fprintf(report->file, " (%.4g .. %.4g)", row.value.low, row.value.high);
  if (row.target_kind != TARGET_NONE)
    fprintf(report->file, "  %s %g: %s", row.target_kind == TARGET_AT_MOST ? "at most" : "at least", row.target,
            is_met(&row) ? "yes" : "NO");
  fprintf(report->file, "\n");
  fflush(report->file);
}

void report_note(bench_report *report, const char *format, ...) {
  if (report->json) return;
  va_list arguments;
  va_start(arguments, format);
  fprintf(report->file, "  ");
  vfprintf(report->file, format, arguments);
  fprintf(report->file, "\n");
  va_end(arguments);
}

void report_machine(bench_report *report) {
  char line[256], model[256] = "unknown";
  FILE *file = fopen("/proc/cpuinfo", "r");
  while (file != NULL && fgets(line, sizeof line, file) != NULL) {
    const char *colon = strchr(line, ':');
    if (strncmp(line, "model name", 10) != 0 || colon == NULL) continue;
    snprintf(model, sizeof model, "%s", colon + 2);
    model[strcspn(model, "\"\\\n")] = '\0';
    break;
  }
  if (file != NULL) fclose(file);
  const long cores = sysconf(_SC_NPROCESSORS_ONLN);
  if (report->json)
    fprintf(report->file, "{\"machine\": \"%s\", \"processors\": %ld, \"compiler\": \"%s\"}\n", model, cores,
            __VERSION__);
  else
    fprintf(report->file, "%s, %ld processors; C loops compiled with %s\nMedians, with the quartiles in brackets.\n",
            model, cores, __VERSION__);
}
