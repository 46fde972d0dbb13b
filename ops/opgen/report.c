/* How a fault is printed:
 *
 *   arithmetic.yaml:12: add.Tensor: "lower: ad" names no function; write ...
 */
#include "ops/opgen/report.h"

#include <stdarg.h>
#include <stdio.h>

void report_error(gen_report *report, gen_place at, const char *format, ...) {
  fprintf(stderr, "%s:%d: ", at.file, at.line);
  if (at.name != NULL) fprintf(stderr, "%s: ", at.name);
  va_list arguments;
  va_start(arguments, format);
  vfprintf(stderr, format, arguments);
  va_end(arguments);
  fputc('\n', stderr);
  report->errors++;
}
