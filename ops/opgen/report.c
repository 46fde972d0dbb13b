/* How a fault is printed:
 *
 *   arithmetic.yaml:12: add.Tensor: "lower: ad" names no function; write ...
 */
#include "ops/opgen/report.h"

#include "ops/opgen/allocate.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdbool.h>

/* Further lines of a message are indented, whatever of a table it quotes. */
static void put_message(FILE *stream, const char *text) {
  for (; *text != '\0'; text++) {
    const bool continues = text[0] == '\n' && text[1] == ' ';
    fputc(iscntrl((unsigned char)*text) && !continues ? ' ' : *text, stream);
  }
  fputc('\n', stream);
}

void report_error(gen_report *report, gen_place at, const char *format, ...) {
  FILE *stream = report->stream == NULL ? stderr : report->stream;
  char *text;
  size_t size;
  FILE *message = memory_stream(&text, &size);
  va_list arguments;
  va_start(arguments, format);
  vfprintf(message, format, arguments);
  va_end(arguments);
  memory_stream_close(message, &text);
  fprintf(stream, "%s:%d: ", at.file, at.line);
  if (at.name != NULL) fprintf(stream, "%s: ", at.name);
  put_message(stream, text);
  report->errors++;
}
