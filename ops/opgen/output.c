#include "ops/opgen/output.h"

#include "ops/opgen/memory.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define COLUMNS 120

void write_origin(const gen_operator *op, FILE *out) {
  fprintf(out, "/* %s: %s */\n", operator_source(op), op->schema.text);
}

const char *c_string(const char *text) {
  char *out = memory_take(4 * strlen(text) + 3), *end = out;
  *end++ = '"';
  for (; *text != '\0'; text++) {
    if (*text == '\n') {
      *end++ = '\\';
      *end++ = 'n';
      continue;
    }
    if (*text == '"' || *text == '\\') *end++ = '\\';
    *end++ = *text;
  }
  *end++ = '"';
  return out;
}

const char *c_real(double value) {
  const char *text = "";
  for (int digits = 1; digits <= 17; digits++) {
    text = memory_format("%.*g", digits, value);
    if (strtod(text, NULL) == value) break;
  }
  return strpbrk(text, ".en") != NULL ? text : memory_format("%s.0", text);
}

const char *c_integer(int64_t value) {
  if (value == INT64_MIN) return "INT64_MIN";
  if (value > INT32_MAX || value < -INT32_MAX) return memory_format("INT64_C(%" PRId64 ")", value);
  return memory_format("%" PRId64, value);
}

const char *c_scalar_call(const gen_literal *value) {
  if (value->form == LITERAL_REAL) return memory_format("laze_scalar_real(%s)", c_real(value->real));
  if (value->form == LITERAL_BOOL) return memory_format("laze_scalar_boolean(%s)", value->integer ? "true" : "false");
  return memory_format("laze_scalar_integer(%s)", c_integer(value->integer));
}

const char *c_name(const char *name) {
  static const char *const taken[] = {
      "auto",     "break",   "case",     "char",     "class",      "const",   "continue",  "default",  "delete",
      "do",       "double",  "else",     "enum",     "extern",     "float",   "for",       "goto",     "if",
      "inline",   "int",     "long",     "new",      "operator",   "private", "protected", "public",   "register",
      "restrict", "return",  "short",    "signed",   "sizeof",     "static",  "struct",    "switch",   "template",
      "this",     "typedef", "union",    "unsigned", "using",      "virtual", "void",      "volatile", "while",
      "bool",     "true",    "false",    "and",      "or",         "not",     "xor",       "recorder", "call",
      "results",  "error",   "operands", "segments", "attributes", "options", "file",      "line",     "context",
      "given",    "count"};
  for (size_t i = 0; i < sizeof(taken) / sizeof(*taken); i++)
    if (strcmp(taken[i], name) == 0) return memory_format("%s_", name);
  return name;
}

/* Brackets open at some place of a line that is being broken: where what is inside each starts. */
typedef struct gen_brackets {
  int depth;
  size_t columns[64];
  bool quoted;
} gen_brackets;

/* Takes the character at text[i] into account; returns how many characters that was. */
static size_t advance(gen_brackets *brackets, const char *text, size_t i) {
  if (brackets->quoted && text[i] == '\\') return 2;
  if (text[i] == '"') brackets->quoted = !brackets->quoted;
  if (brackets->quoted) return 1;
  if (strchr("([{", text[i]) != NULL && brackets->depth < 64) brackets->columns[brackets->depth++] = i + 1;
  if (strchr(")]}", text[i]) != NULL && brackets->depth > 0) brackets->depth--;
  return 1;
}

/* Where to break a line: at the last blank before the right margin that is nested least deeply; after a comma or
 * before ? and : where `commas` says so. 0: nowhere. */
static size_t find_break(gen_brackets brackets, const char *line, bool commas) {
  size_t best = 0;
  int best_depth = 1000;
  size_t i = strspn(line, " ");
  while (i <= COLUMNS && line[i] != '\0') {
    const bool breaks = line[i] == ' ' && !brackets.quoted && brackets.depth <= best_depth;
    const bool before_arm = line[i + 1] != '\0' && strchr("?:", line[i + 1]) != NULL && line[i + 2] == ' ';
    if (breaks && (!commas || line[i - 1] == ',' || before_arm)) {
      best = i;
      best_depth = brackets.depth;
    }
    i += advance(&brackets, line, i);
  }
  return best;
}

/* Breaks a line as a person would: inside the outermost brackets, what follows aligned with what they hold. */
static void write_broken(FILE *out, const char *line, size_t size) {
  const size_t indent = strspn(line, " ");
  gen_brackets brackets = {0};
  const char *rest = memory_copy(line, size);
  while (strlen(rest) > COLUMNS) {
    size_t at = find_break(brackets, rest, true);
    if (at == 0) at = find_break(brackets, rest, false);
    if (at == 0) break;
    for (size_t i = 0; i < at;) i += advance(&brackets, rest, i);
    size_t column = brackets.depth > 0 ? brackets.columns[brackets.depth - 1] : indent + 4;
    if (column > COLUMNS - 36 || column >= at) column = indent + 8;
    if (column >= at) break;
    fprintf(out, "%.*s\n", (int)at, rest);
    rest = memory_format("%*s%s", (int)column, "", rest + at + 1);
  }
  fprintf(out, "%s\n", rest);
}

static void write_comment_line(FILE *out, const char *line, size_t size) {
  const size_t indent = strspn(line, " ");
  while (size > COLUMNS) {
    size_t at = COLUMNS;
    while (at > indent + 3 && line[at] != ' ') at--;
    if (at <= indent + 3) break;
    fprintf(out, "%.*s\n", (int)at, line);
    const char *rest = memory_format("%*s%s%.*s", (int)indent, "", line[indent] == '/' ? " * " : "* ",
                                     (int)(size - at - 1), line + at + 1);
    size = strlen(rest);
    line = rest;
  }
  fprintf(out, "%.*s\n", (int)size, line);
}

static void write_line(FILE *out, const char *line, size_t size) {
  const size_t indent = strspn(line, " ");
  if (size <= COLUMNS || line[indent] == '#') {
    fprintf(out, "%.*s\n", (int)size, line);
    return;
  }
  if (line[indent] == '*' || strncmp(line + indent, "/*", 2) == 0) {
    write_comment_line(out, line, size);
    return;
  }
  write_broken(out, line, size);
}

/* The text with long lines broken, and its number of lines. Markdown has no long lines to break. */
static char *format_text(const char *text, bool is_c, int *lines) {
  char *formatted = NULL;
  size_t size = 0;
  FILE *out = memory_stream(&formatted, &size);
  while (*text != '\0') {
    const size_t length = strcspn(text, "\n");
    if (is_c)
      write_line(out, text, length);
    else
      fprintf(out, "%.*s\n", (int)length, text);
    text += length + (text[length] == '\n');
  }
  memory_stream_close(out, &formatted);
  *lines = 0;
  for (const char *c = formatted; c != NULL && *c != '\0'; c++) *lines += *c == '\n';
  return formatted;
}

static bool file_has(const char *path, const char *text) {
  FILE *file = fopen(path, "rb");
  if (file == NULL) return false;
  char *old = NULL;
  size_t capacity = 0;
  const bool same = getdelim(&old, &capacity, '\0', file) >= 0 && strcmp(old, text) == 0;
  free(old);
  fclose(file);
  return same;
}

void output_write(gen_report *report, const char *path, const char *text, int line_limit) {
  int lines = 0;
  const size_t size = strlen(path);
  const char *formatted = format_text(text, size < 3 || strcmp(path + size - 3, ".md") != 0, &lines);
  const gen_place at = {path, 1, NULL};
  if (formatted == NULL) {
    report_error(report, at, "memory is out");
    return;
  }
  if (line_limit > 0 && lines > line_limit) {
    report_error(report, at, "%d lines, more than %d; split its letters in ops/opgen/files.c and ops/meson.build",
                 lines, line_limit);
    return;
  }
  if (file_has(path, formatted)) return;
  FILE *file = fopen(path, "wb");
  if (file == NULL) {
    report_error(report, at, "cannot be written: %s", strerror(errno));
    return;
  }
  const bool written = fputs(formatted, file) >= 0;
  if (fclose(file) != 0 || !written) report_error(report, at, "cannot be written: %s", strerror(errno));
}
