/* Generated files: which there are, and how their text is laid out. Writers give C without care for its width; here
 * long lines are broken, and files that have not changed are left alone, so that nothing is built again for them. */
#include "ops/opgen/output.h"

#include "ops/opgen/allocate.h"
#include "ops/opgen/report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define COLUMNS 120

void write_origin(const gen_operator *op, FILE *out) {
  fprintf(out, "/* %s: %s */\n", operator_source(op), op->schema.text);
}

void write_entry_line(const gen_operator *op, int line, FILE *out) {
  fprintf(out, "#line %d %s\n", line, c_string(op->at.file));
}

void write_own_line(FILE *out) {
  fprintf(out, "#line\n");
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
  const char *number = value->form == LITERAL_REAL   ? c_real(value->real)
                       : value->form == LITERAL_BOOL ? (value->integer ? "true" : "false")
                                                     : c_integer(value->integer);
  return memory_format("%s(%s)", kind_number(literal_kind(value))->maker, number);
}

const char *c_name(const char *name) {
  static const char *const taken[] = {
      "auto",     "break",   "case",     "char",     "class",      "const",   "continue",  "default",  "delete",
      "do",       "double",  "else",     "enum",     "extern",     "float",   "for",       "goto",     "if",
      "inline",   "int",     "long",     "new",      "operator",   "private", "protected", "public",   "register",
      "restrict", "return",  "short",    "signed",   "sizeof",     "static",  "struct",    "switch",   "template",
      "this",     "typedef", "union",    "unsigned", "using",      "virtual", "void",      "volatile", "while",
      "bool",     "true",    "false",    "and",      "or",         "not",     "xor",       "recorder", "call",
      "results",  "error",   "operands", "segments", "attributes", "file",    "line",      "context",  "count"};
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

/* Breaks a line as a person would: inside the outermost brackets, what follows aligned with what they hold. Returns how
 * many lines it has become. */
static int write_broken(FILE *out, const char *line, size_t size) {
  const size_t indent = strspn(line, " ");
  gen_brackets brackets = {0};
  const char *rest = memory_copy(line, size);
  int lines = 1;
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
    lines++;
  }
  fprintf(out, "%s\n", rest);
  return lines;
}

static int write_comment_line(FILE *out, const char *line, size_t size) {
  const size_t indent = strspn(line, " ");
  int lines = 1;
  while (size > COLUMNS) {
    size_t at = COLUMNS;
    while (at > indent + 3 && line[at] != ' ') at--;
    if (at <= indent + 3) break;
    fprintf(out, "%.*s\n", (int)at, line);
    const char *rest = memory_format("%*s%s%.*s", (int)indent, "", line[indent] == '/' ? " * " : "* ",
                                     (int)(size - at - 1), line + at + 1);
    size = strlen(rest);
    line = rest;
    lines++;
  }
  fprintf(out, "%.*s\n", (int)size, line);
  return lines;
}

static int write_line(FILE *out, const char *line, size_t size) {
  const size_t indent = strspn(line, " ");
  if (size <= COLUMNS || line[indent] == '#') {
    fprintf(out, "%.*s\n", (int)size, line);
    return 1;
  }
  if (line[indent] == '*' || strncmp(line + indent, "/*", 2) == 0) return write_comment_line(out, line, size);
  return write_broken(out, line, size);
}

/* Where a compiler believes itself to be that reads what was written so far. */
typedef struct gen_position {
  const char *name;  /* of the generated file */
  int lines;         /* written */
  const char *table; /* what the last #line names, in quotes; NULL: the generated file */
  int table_line;    /* of the line written next */
} gen_position;

/* Writes a #line (output.h) where it makes a difference. */
static void write_position(FILE *out, gen_position *position, const char *text, size_t size) {
  char *file;
  const int line = (int)strtol(text + sizeof("#line") - 1, &file, 10);
  if (size == sizeof("#line") - 1) {
    if (position->table == NULL) return;
    position->table = NULL;
    position->lines++;
    fprintf(out, "#line %d %s\n", position->lines + 1, c_string(position->name));
    return;
  }
  const char *table = memory_copy(file + 1, size - (size_t)(file + 1 - text));
  if (position->table != NULL && strcmp(position->table, table) == 0 && position->table_line == line) return;
  position->table = table;
  position->table_line = line;
  position->lines++;
  fprintf(out, "#line %d %s\n", line, table);
}

/* C with long lines broken, and its number of lines. */
static char *format_code(const char *text, const char *name, int *lines) {
  char *formatted = NULL;
  size_t size = 0;
  FILE *out = memory_stream(&formatted, &size);
  gen_position position = {.name = name};
  while (*text != '\0') {
    const size_t length = strcspn(text, "\n");
    if (strncmp(text, "#line", sizeof("#line") - 1) == 0) {
      write_position(out, &position, text, length);
    } else {
      const int written = write_line(out, text, length);
      position.lines += written;
      position.table_line += written;
    }
    text += length + (text[length] == '\n');
  }
  memory_stream_close(out, &formatted);
  *lines = position.lines;
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

void output_write(gen_report *report, const gen_output *output, const char *text) {
  int lines = 0;
  const size_t size = strlen(output->path);
  const gen_place at = {output->path, 1, NULL};
  /* Markdown has no long lines to break. */
  if (size < 3 || strcmp(output->path + size - 3, ".md") != 0) text = format_code(text, output->name, &lines);
  if (output->line_limit > 0 && lines > output->line_limit) {
    report_error(report, at, "%d lines, more than %d; make two tables of it", lines, output->line_limit);
    return;
  }
  if (file_has(output->path, text)) return;
  FILE *file = fopen(output->path, "wb");
  if (file == NULL) {
    report_error(report, at, "cannot be written: %s", strerror(errno));
    return;
  }
  const bool written = fputs(text, file) >= 0;
  if (fclose(file) != 0 || !written) report_error(report, at, "cannot be written: %s", strerror(errno));
}

#define LINE_LIMIT 2500

static const struct {
  const char *folder, *name; /* with %s: one for each table, whose name stands there */
  gen_writer write;
  int line_limit;
  enum { OF_TABLES, OF_FUNCTIONS, OF_DERIVATIVES } kind; /* which tables: of operators, those with C functions */
} files[] = {
    {"ir", "op.gen.h", write_op_header, 0, OF_TABLES},
    {"ir", "op.gen.c", write_op_table, 0, OF_TABLES},
    {"ir", "schema.gen.c", write_schema, 0, OF_TABLES},
    {"ir", "inference.gen.h", write_inference_header, 0, OF_TABLES},
    {"ir", "inference.gen.c", write_inference, LINE_LIMIT, OF_TABLES},
    {"ir", "control.gen.c", write_control_rules, 0, OF_TABLES},
    {"ir", "composite.gen.h", write_composite_header, 0, OF_TABLES},
    {"ir", "composite_%s.gen.c", write_composite, LINE_LIMIT, OF_TABLES},
    {"ir", "derivative.gen.h", write_derivative_header, 0, OF_TABLES},
    {"ir", "derivative_%s.gen.c", write_derivatives, LINE_LIMIT, OF_DERIVATIVES},
    {"codegen/interp", "eval.gen.c", write_eval, 2 * LINE_LIMIT, OF_TABLES}, /* one for all tables */
    {"codegen/interp", "execute.gen.c", write_execute, 0, OF_TABLES},
    {"codegen/schedule", "joins.gen.c", write_joins, 0, OF_TABLES},
    {"codegen/llvm", "lowerings.gen.c", write_lowerings, LINE_LIMIT, OF_TABLES},
    {"include/laze", "functions.h", write_functions_header, 0, OF_TABLES},
    {"include/laze/functions", "%s.h", write_family_header, 0, OF_FUNCTIONS},
    {"lazy", "functions_%s.gen.c", write_functions, LINE_LIMIT, OF_TABLES},
    {"docs", "operators.md", write_page, 0, OF_TABLES},
    {"tests/support", "cases.gen.c", write_cases, 0, OF_TABLES},
};
#define FILE_COUNT (sizeof(files) / sizeof(*files))

static void make_folders(gen_report *report, const char *path) {
  for (const char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
    const char *folder = memory_copy(path, (size_t)(slash - path));
    if (mkdir(folder, 0777) != 0 && errno != EEXIST)
      report_error(report, (gen_place){folder, 1, NULL}, "cannot be made: %s", strerror(errno));
  }
}

static void write_file(gen_table *table, size_t index, const gen_shard *shard, const char *path) {
  char *text = NULL;
  size_t size = 0;
  FILE *out = open_memstream(&text, &size);
  if (out == NULL) exit(1);
  files[index].write(table, shard, out);
  fclose(out);
  make_folders(&table->report, path);
  const gen_output output = {path, memory_format("%s/%s", files[index].folder, strrchr(path, '/') + 1),
                             files[index].line_limit};
  output_write(&table->report, &output, text);
  free(text);
}

const char *array_name(gen_arrays *arrays, const char *type, const char *items, const char *name, FILE *out) {
  const char *text = memory_format("%s %s", type, items);
  for (int i = 0; i < arrays->count; i++)
    if (strcmp(arrays->texts[i], text) == 0) return arrays->names[i];
  arrays->texts = memory_grow(arrays->texts, arrays->count, sizeof(*arrays->texts));
  arrays->names = memory_grow(arrays->names, arrays->count, sizeof(*arrays->names));
  arrays->texts[arrays->count] = text;
  arrays->names[arrays->count++] = name;
  fprintf(out, "static const %s %s[] = {%s};\n", type, name, items);
  return name;
}

const char *output_family(const char *table_path) {
  const char *name = strrchr(table_path, '/') == NULL ? table_path : strrchr(table_path, '/') + 1;
  return memory_copy(name, strcspn(name, "."));
}

bool output_starts_family(const gen_table *table, int index) {
  if (!operator_has_function(table->operators[index])) return false;
  for (int i = 0; i < index; i++)
    if (operator_has_function(table->operators[i]) &&
        strcmp(table->operators[i]->at.file, table->operators[index]->at.file) == 0)
      return false;
  return true;
}

bool shard_holds(const gen_shard *shard, const gen_operator *op) {
  return shard == NULL || strcmp(op->at.file, shard->table) == 0;
}

static bool starts_table(const gen_table *table, int index) {
  return index == 0 || strcmp(table->operators[index - 1]->at.file, table->operators[index]->at.file) != 0;
}

static bool is_for_each_table(size_t index) {
  return strchr(files[index].name, '%') != NULL;
}

/* How many things there may be a file for, and the table of the k-th; NULL: another one stands for it. */
static int count_parts(const gen_table *table, size_t index) {
  return files[index].kind == OF_DERIVATIVES ? table->derivative_file_count : table->count;
}

static const char *table_of_part(const gen_table *table, size_t index, int k) {
  if (files[index].kind == OF_DERIVATIVES) return table->derivative_files[k];
  const bool starts = files[index].kind == OF_FUNCTIONS ? output_starts_family(table, k) : starts_table(table, k);
  return starts ? table->operators[k]->at.file : NULL;
}

/* The name of a file that is there for each table. */
static const char *name_for(size_t index, const char *table_path) {
  const int before = (int)strcspn(files[index].name, "%");
  return memory_format("%.*s%s%s", before, files[index].name, output_family(table_path),
                       files[index].name + before + 2);
}

static void write_for_tables(gen_table *table, size_t index, const char *folder) {
  for (int i = 0; i < count_parts(table, index); i++) {
    const gen_shard shard = {table_of_part(table, index, i)};
    if (shard.table != NULL)
      write_file(table, index, &shard, memory_format("%s/%s", folder, name_for(index, shard.table)));
  }
}

bool files_write(gen_table *table, const char *directory, const char *only) {
  bool found = false;
  for (size_t i = 0; i < FILE_COUNT; i++) {
    if (only != NULL && strcmp(only, files[i].folder) != 0) continue;
    const char *folder = only != NULL ? directory : memory_format("%s/%s", directory, files[i].folder);
    found = true;
    if (is_for_each_table(i))
      write_for_tables(table, i, folder);
    else
      write_file(table, i, NULL, memory_format("%s/%s", folder, files[i].name));
  }
  return found;
}

static void list_file(const char *only, const char *folder, const char *name) {
  if (only != NULL)
    puts(name);
  else
    printf("%s/%s\n", folder, name);
}

bool files_list(const gen_table *table, const char *only) {
  bool found = false;
  for (size_t i = 0; i < FILE_COUNT; i++) {
    if (only != NULL && strcmp(only, files[i].folder) != 0) continue;
    found = true;
    if (!is_for_each_table(i)) list_file(only, files[i].folder, files[i].name);
    for (int k = 0; is_for_each_table(i) && k < count_parts(table, i); k++)
      if (table_of_part(table, i, k) != NULL) list_file(only, files[i].folder, name_for(i, table_of_part(table, i, k)));
  }
  return found;
}
