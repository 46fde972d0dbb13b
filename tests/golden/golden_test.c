/* Runs passes on the graphs in tests/golden/<pass>/ and compares with what each file expects.
 *
 * A file holds a graph in text form, a line `---`, and the expected graph. The folder names the pass; `all` runs the
 * whole pipeline, `print` only reads and prints, `inline` prints the graph to run without calls, `symbolise` makes
 * sizes symbols. In `schedule` the expectation is what `lazec compile --emit schedule` shows: the kernels, why each
 * ends where it does, and their loops.
 *
 *   golden_test FOLDER [DOCUMENT] [--update]     --update rewrites what the files expect; read the difference
 *
 * Of a document (docs/ir.md) every block marked ```lz is read, verified, printed and read again.
 */
#include "codegen/codegen.h"
#include "codegen/schedule/schedule.h"
#include "ir/ir.h"
#include "ir/op.gen.h"

#include <check.h>
#include <dirent.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_FILES = 512, PATH_SIZE = 512 };

typedef struct {
  char path[PATH_SIZE], folder[64];
} golden_file;

static golden_file files[MAX_FILES];
static int file_count;
static const char *document; /* NULL: none */
static const char separator[] = "---\n";

/* Folding needs an evaluator; this one knows what the examples use. */
static bool evaluate_one(laze_op op, laze_scalar a, laze_scalar b, laze_scalar *out) {
  bool real = a.dtype == LAZE_F64;
  double x = a.value.real, y = b.value.real;
  uint64_t m = (uint64_t)a.value.integer, n = (uint64_t)b.value.integer;
  switch (op) {
  case LAZE_OP_ADD: *out = real ? laze_scalar_real(x + y) : laze_scalar_integer((int64_t)(m + n)); return true;
  case LAZE_OP_MUL: *out = real ? laze_scalar_real(x * y) : laze_scalar_integer((int64_t)(m * n)); return true;
  case LAZE_OP_NEG: *out = real ? laze_scalar_real(-x) : laze_scalar_integer((int64_t)(0 - m)); return true;
  case LAZE_OP_TO_DTYPE: *out = a; return true;
  default: return false;
  }
}

static laze_status evaluate(void *self, const laze_graph *graph, const laze_node *node, const void *const *operands,
                            void *const *results, laze_error *error) {
  const laze_type *result = node->types[0];
  laze_size count, given;
  (void)self;
  LAZE_TRY(laze_type_elements(NULL, result, &count, error));
  for (int64_t i = 0; i < count; i++) {
    laze_scalar values[2] = {laze_scalar_integer(0), laze_scalar_integer(0)}, out;
    for (int32_t k = 0; k < node->operand_count && k < 2; k++) {
      const laze_type *type = laze_graph_type(graph, node->operands[k]);
      if (node->op != LAZE_OP_TO_DTYPE && type->dtype != result->dtype)
        return laze_fail(error, LAZE_UNSUPPORTED, "mixed dtypes");
      LAZE_TRY(laze_type_elements(NULL, type, &given, error));
      if (given != 1 && given != count) return laze_fail(error, LAZE_UNSUPPORTED, "broadcasting");
      values[k] = laze_scalar_load(type->dtype, operands[k], given == 1 ? 0 : i);
    }
    if (!evaluate_one(node->op, values[0], values[1], &out)) return laze_fail(error, LAZE_UNSUPPORTED, "operator");
    laze_scalar_store(out, result->dtype, results[0], i);
  }
  return LAZE_OK;
}

static laze_status transform(laze_graph **graph, const char *folder, laze_error *error) {
  laze_pass_options options = {.fold = evaluate};
  if (strcmp(folder, "inline") == 0) return LAZE_OK;
  if (strcmp(folder, "symbolise") == 0) {
    laze_graph *symbolic;
    const int64_t *bindings;
    laze_status status = laze_graph_symbolise(*graph, &symbolic, &bindings, error);
    if (status != LAZE_OK) return status;
    laze_graph_destroy(*graph);
    *graph = symbolic;
    return LAZE_OK;
  }
  if (strcmp(folder, "all") != 0) options.only = folder;
  return laze_passes_run(graph, &options, error);
}

/* Ends the program, or the process of one test, unless the condition holds. */
static void __attribute__((format(printf, 2, 3))) require(bool condition, const char *format, ...) {
  va_list arguments;
  if (condition) return;
  va_start(arguments, format);
  vfprintf(stderr, format, arguments);
  va_end(arguments);
  fputc('\n', stderr);
  exit(1);
}

/* The file as a string. */
static char *read_file(const char *path) {
  FILE *file = fopen(path, "rb");
  require(file != NULL, "%s cannot be read", path);
  char *text = calloc(1, 1 << 16);
  size_t size = fread(text, 1, (1 << 16) - 1, file);
  fclose(file);
  require(size < (1 << 16) - 1, "%s is too long", path);
  return text;
}

/* What `lazec --emit schedule` shows, which needs no code generator. */
static laze_status show_schedule(const laze_graph *graph, laze_text *text, laze_error *error) {
  const laze_schedule_options options = {0};
  laze_schedule schedule;
  laze_arena arena;
  laze_graph *symbolic;
  const int64_t *bindings;
  laze_status status = laze_compile_passes(graph->context, graph, &symbolic, &bindings, error);
  if (status != LAZE_OK) return status;
  laze_arena_init(&arena, graph->context);
  status = laze_schedule_build(symbolic, &arena, &options, &schedule, error);
  if (status == LAZE_OK) laze_schedule_print(text, symbolic, &schedule, true);
  laze_arena_deinit(&arena);
  laze_graph_destroy(symbolic);
  return status;
}

/* Appends a module as it is read. */
static laze_status show_module(laze_context *context, const laze_text_source *source, laze_text *text,
                               laze_error *error) {
  laze_module *module;
  laze_status status = laze_module_parse(context, source, &module, error);
  if (status != LAZE_OK) return status;
  status = laze_module_verify(module, error);
  if (status == LAZE_OK) laze_module_print(text, module, &(laze_print_options){0});
  laze_module_destroy(module);
  return status;
}

/* Appends the schedule of a graph, or the graph itself after the pass that the folder names. */
static laze_status show(laze_graph **graph, const char *folder, laze_text *text, laze_error *error) {
  if (strcmp(folder, "schedule") == 0) return show_schedule(*graph, text, error);
  laze_status status = transform(graph, folder, error);
  if (status == LAZE_OK) status = laze_graph_verify(*graph, error);
  if (status == LAZE_OK) laze_graph_print(text, *graph, true);
  return status;
}

/* Writes what the pass makes of the first `size` bytes to `out`. */
static void run_case(const golden_file *golden, const char *input, size_t size, char *out, size_t capacity) {
  laze_context *context;
  laze_error error;
  laze_graph *graph = NULL;
  laze_text text;
  const char *name = strrchr(golden->path, '/') + 1;
  const laze_text_source source = {.text = input, .size = (int64_t)size, .file = name};
  const bool whole = strcmp(golden->folder, "print") == 0;
  require(laze_context_create(NULL, &context, &error) == LAZE_OK, "%s", error.message);
  laze_text_init(&text, context);
  laze_status status =
      whole ? show_module(context, &source, &text, &error) : laze_graph_read(context, &source, NULL, &graph, &error);
  if (status == LAZE_OK && !whole) status = show(&graph, golden->folder, &text, &error);
  require(status == LAZE_OK, "%s: %s", name, error.message);
  snprintf(out, capacity, "%s", laze_text_get(&text));
  laze_text_deinit(&text);
  laze_graph_destroy(graph);
  laze_context_release(context);
}

START_TEST(matches_its_file) {
  static char result[1 << 16];
  char *text = read_file(files[_i].path), *line = strstr(text, "\n---\n");
  ck_assert_msg(line != NULL, "%s has no line '---'", files[_i].path);
  run_case(&files[_i], text, (size_t)(line + 1 - text), result, sizeof result);
  ck_assert_msg(strcmp(line + 1 + strlen(separator), result) == 0, "%s\ngot\n%s\nexpected\n%s", files[_i].path, result,
                line + 1 + strlen(separator));
  free(text);
}
END_TEST

/* One example: it must be valid, what it prints must read back as an equal module, and its graphs must do without
 * calls. */
static void check_example(laze_context *context, const char *example, size_t size) {
  laze_error error;
  laze_module *module, *again;
  laze_text text, difference;
  const laze_text_source source = {.text = example, .size = (int64_t)size, .file = document};
  laze_status status = laze_module_parse(context, &source, &module, &error);
  ck_assert_msg(status == LAZE_OK, "%s in\n%.*s", error.message, (int)size, example);
  ck_assert_msg(laze_module_verify(module, &error) == LAZE_OK, "%s", error.message);
  laze_text_init(&text, context);
  laze_text_init(&difference, context);
  laze_module_print(&text, module, &(laze_print_options){0});
  const laze_text_source printed = {.text = laze_text_get(&text), .size = text.size, .file = "printed"};
  status = laze_module_parse(context, &printed, &again, &error);
  ck_assert_msg(status == LAZE_OK, "%s in\n%s", error.message, laze_text_get(&text));
  ck_assert_msg(laze_module_equal(module, again, &difference), "%s in\n%s", laze_text_get(&difference),
                laze_text_get(&text));
  for (int64_t i = 0; i < module->count; i++) {
    laze_graph *graph;
    ck_assert_msg(laze_module_inline(module->graphs[i], &graph, &error) == LAZE_OK, "%s", error.message);
    ck_assert_msg(laze_graph_verify(graph, &error) == LAZE_OK, "%s", error.message);
    laze_graph_destroy(graph);
  }
  laze_text_deinit(&text);
  laze_text_deinit(&difference);
  laze_module_destroy(module);
  laze_module_destroy(again);
}

START_TEST(examples_of_the_document) {
  static const char opening[] = "\n```lz\n";
  laze_context *context;
  laze_error error;
  int count = 0;
  ck_assert_int_eq(laze_context_create(NULL, &context, &error), LAZE_OK);
  char *text = read_file(document);
  for (char *at = text; (at = strstr(at, opening)) != NULL; count++) {
    at += strlen(opening);
    char *end = strstr(at, "\n```");
    ck_assert_msg(end != NULL, "%s has a block without an end", document);
    check_example(context, at, (size_t)(end + 1 - at));
    at = end;
  }
  ck_assert_int_gt(count, 0);
  free(text);
  laze_context_release(context);
}
END_TEST

static void update(const golden_file *golden) {
  static char result[1 << 16];
  char *text = read_file(golden->path), *line = strstr(text, "\n---\n");
  size_t size = line ? (size_t)(line + 1 - text) : strlen(text);
  run_case(golden, text, size, result, sizeof result);
  FILE *file = fopen(golden->path, "wb");
  require(file != NULL, "%s cannot be written", golden->path);
  fwrite(text, 1, size, file);
  fprintf(file, "%s%s", separator, result);
  fclose(file);
  free(text);
}

static int ends_with_lz(const struct dirent *entry) {
  size_t length = strlen(entry->d_name);
  return length > 3 && strcmp(entry->d_name + length - 3, ".lz") == 0;
}

static void collect(const char *root, const char *folder) {
  char path[PATH_SIZE];
  struct dirent **entries;
  snprintf(path, sizeof path, "%s/%s", root, folder);
  int count = scandir(path, &entries, ends_with_lz, alphasort);
  for (int i = 0; i < count; i++) {
    golden_file *file = &files[file_count];
    if (file_count < MAX_FILES &&
        snprintf(file->path, sizeof file->path, "%s/%s", path, entries[i]->d_name) < (int)sizeof file->path) {
      snprintf(file->folder, sizeof file->folder, "%s", folder);
      file_count++;
    }
    free(entries[i]);
  }
  if (count >= 0) free(entries);
}

int main(int argc, char **argv) {
  const char *root = "tests/golden";
  bool updating = false;
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--update") == 0)
      updating = true;
    else if (strstr(argv[i], ".md"))
      document = argv[i];
    else
      root = argv[i];
  }
  static const char *const others[] = {
      "all", "inline", "print", "symbolise", "schedule",
  };
  for (int i = 0; laze_pass_name(i); i++) collect(root, laze_pass_name(i));
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) collect(root, others[i]);
  for (int i = 0; updating && i < file_count; i++) update(&files[i]);
  Suite *suite = suite_create("golden");
  TCase *tests = tcase_create("golden");
  tcase_set_timeout(tests, 0);
  tcase_add_loop_test(tests, matches_its_file, 0, file_count);
  if (document) tcase_add_test(tests, examples_of_the_document);
  suite_add_tcase(suite, tests);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_NORMAL);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  if (file_count == 0) fprintf(stderr, "no .lz files below %s\n", root);
  return failed == 0 && file_count > 0 ? 0 : 1;
}
