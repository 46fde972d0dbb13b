/* Tables of operators, and behind a line "# derivatives" one of derivatives: what opgen finds wrong is said with a
 * place and a remedy, and what it finds right becomes code, or is too long for it. */
#include "ops/opgen/allocate.h"
#include "ops/opgen/inputs.h"
#include "ops/opgen/output.h"
#include "tests/fuzz/fuzz.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DERIVATIVES "\n# derivatives\n"

static gen_header headers[] = {
    {KNOWN_LOWERING, SOURCE_ROOT "/codegen/llvm/lowerings.h"},
    {KNOWN_ELEMENT, SOURCE_ROOT "/codegen/interp/eval_support.h"},
    {KNOWN_EXECUTE, SOURCE_ROOT "/codegen/interp/unit.h"},
    {KNOWN_CONTROL, SOURCE_ROOT "/codegen/interp/unit.h"},
    {KNOWN_JOIN, SOURCE_ROOT "/codegen/schedule/join.h"},
    {KNOWN_SHAPE, SOURCE_ROOT "/shape_inference/rules.h"},
    {KNOWN_DTYPE, SOURCE_ROOT "/shape_inference/rules.h"},
    {KNOWN_REGIONS, SOURCE_ROOT "/ir/control.h"},
    {KNOWN_BY_HAND, SOURCE_ROOT "/ir/composite/product.c"},
};

/* Each error of a report begins with "file:line: " and says something then; its further lines are indented. */
static void check_line(const char *line) {
  const char *at = strchr(line, ':');
  if (at == NULL || !isdigit((unsigned char)at[1])) fuzz_fail("an error without a place: %s", line);
  at = strstr(at, ": ");
  if (at == NULL || at[2] == '\0') fuzz_fail("an error without a message: %s", line);
}

static void check_report(char *text, int errors) {
  int lines = 0;
  for (char *rest = NULL, *line = strtok_r(text, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest)) {
    if (line[0] == ' ') continue;
    check_line(line);
    lines++;
  }
  if (lines != errors) fuzz_fail("%d errors in %d lines", errors, lines);
}

static void generate(gen_inputs *inputs) {
  char *text = NULL;
  size_t size = 0;
  gen_table table = {.report = {.stream = open_memstream(&text, &size)}};
  inputs_read(&table, inputs);
  if (table.report.errors == 0) {
    files_write(&table, fuzz_folder(), NULL);
    fuzz_note_accepted();
  }
  fclose(table.report.stream);
  check_report(text, table.report.errors);
  free(text);
  memory_free_all();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char table[256], derivatives[256];
  const char *tables[] = {table}, *derivative_tables[] = {derivatives};
  const uint8_t *split = memmem(data, size, DERIVATIVES, strlen(DERIVATIVES));
  const size_t before = split == NULL ? size : (size_t)(split - data) + 1;
  gen_inputs inputs = {.rules = SOURCE_ROOT "/ops/rules.yaml",
                       .table_count = 1,
                       .derivative_count = split != NULL,
                       .header_count = (int)(sizeof(headers) / sizeof(*headers)),
                       .tables = tables,
                       .derivatives = derivative_tables,
                       .headers = headers};
  fuzz_write_file("input.yaml", data, before, table);
  fuzz_write_file("derivatives.yaml", data + before, size - before, derivatives);
  generate(&inputs);
  return 0;
}
