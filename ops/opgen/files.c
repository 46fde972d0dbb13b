#include "ops/opgen/files.h"

#include "ops/opgen/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define LINE_LIMIT 2000

/* Long files by first letters; ops/meson.build names the same ones. */
static const gen_shard a_to_d = {'a', 'd'}, e_to_l = {'e', 'l'}, m_to_r = {'m', 'r'}, s_to_z = {'s', 'z'};

static const struct {
  const char *folder, *name;
  gen_writer write;
  const gen_shard *shard;
  int line_limit;
} files[] = {
    {"ir", "op.gen.h", write_op_header, NULL, 0},
    {"ir", "op.gen.c", write_op_table, NULL, 0},
    {"ir", "inference.gen.h", write_inference_header, NULL, 0},
    {"ir", "inference.gen.c", write_inference, NULL, LINE_LIMIT},
    {"ir", "control.gen.c", write_control_rules, NULL, 0},
    {"ir", "composite.gen.h", write_composite_header, NULL, 0},
    {"ir", "composite_a_d.gen.c", write_composite, &a_to_d, LINE_LIMIT},
    {"ir", "composite_e_l.gen.c", write_composite, &e_to_l, LINE_LIMIT},
    {"ir", "composite_m_r.gen.c", write_composite, &m_to_r, LINE_LIMIT},
    {"ir", "composite_s_z.gen.c", write_composite, &s_to_z, LINE_LIMIT},
    {"codegen/interp", "eval.gen.c", write_eval, NULL, LINE_LIMIT},
    {"codegen/interp", "execute.gen.c", write_execute, NULL, 0},
    {"codegen/schedule", "joins.gen.c", write_joins, NULL, 0},
    {"codegen/llvm", "lowerings.gen.c", write_lowerings, NULL, LINE_LIMIT},
    {"include/laze", "functions.h", write_functions_header, NULL, 0},
    {"lazy", "functions_a_d.gen.c", write_functions, &a_to_d, LINE_LIMIT},
    {"lazy", "functions_e_l.gen.c", write_functions, &e_to_l, LINE_LIMIT},
    {"lazy", "functions_m_r.gen.c", write_functions, &m_to_r, LINE_LIMIT},
    {"lazy", "functions_s_z.gen.c", write_functions, &s_to_z, LINE_LIMIT},
    {"docs", "operators.md", write_page, NULL, 0},
    {"tests/support", "cases.gen.c", write_cases, NULL, LINE_LIMIT},
};
#define FILE_COUNT (sizeof(files) / sizeof(*files))

static void make_folders(gen_report *report, const char *path) {
  for (const char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
    const char *folder = memory_copy(path, (size_t)(slash - path));
    if (mkdir(folder, 0777) != 0 && errno != EEXIST)
      report_error(report, (gen_place){folder, 1, NULL}, "cannot be made: %s", strerror(errno));
  }
}

static void write_file(gen_table *table, size_t index, const char *path) {
  char *text = NULL;
  size_t size = 0;
  FILE *out = open_memstream(&text, &size);
  if (out == NULL) exit(1);
  files[index].write(table, files[index].shard, out);
  fclose(out);
  make_folders(&table->report, path);
  output_write(&table->report, path, text, files[index].line_limit);
  free(text);
}

bool files_write(gen_table *table, const char *directory, const char *only) {
  bool found = false;
  for (size_t i = 0; i < FILE_COUNT; i++) {
    if (only != NULL && strcmp(only, files[i].folder) != 0) continue;
    found = true;
    write_file(table, i,
               only != NULL ? memory_format("%s/%s", directory, files[i].name)
                            : memory_format("%s/%s/%s", directory, files[i].folder, files[i].name));
  }
  return found;
}

bool files_list(const char *only) {
  bool found = false;
  for (size_t i = 0; i < FILE_COUNT; i++) {
    if (only != NULL && strcmp(only, files[i].folder) != 0) continue;
    found = true;
    if (only != NULL)
      puts(files[i].name);
    else
      printf("%s/%s\n", files[i].folder, files[i].name);
  }
  return found;
}
