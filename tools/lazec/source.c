/* Graph files, the sizes given with --dim, and the rest of what every command line has in common. */
#include "tools/lazec/lazec.h"

#include "codegen/codegen.h"
#include "ir/text/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int lazec_report(const laze_error *error) {
  fflush(stdout);
  fprintf(stderr, "lazec: %s\n", error->message);
  return LAZEC_FAILED;
}

void lazec_list_add(lazec_list *list, const char *item) {
  const char **items = realloc(list->items, ((size_t)list->count + 1) * sizeof *items);
  if (!items) {
    fprintf(stderr, "lazec: out of memory for the command line\n");
    exit(LAZEC_FAILED);
  }
  list->items = items;
  list->items[list->count++] = item;
}

void lazec_list_free(lazec_list *list) {
  free(list->items);
}

void lazec_take_file(struct argp_state *state, const char *argument, const char **file) {
  if (*file) argp_error(state, "one graph file is expected, not '%s' and '%s'", *file, argument);
  *file = argument;
}

void lazec_check_backend(struct argp_state *state, const char *name) {
  char known[128] = "";
  size_t length = 0;
  const laze_backend *backend;
  for (int i = 0; (backend = laze_backend_at(i)) != NULL; i++) {
    if (strcmp(backend->name, name) == 0) return;
    length += (size_t)snprintf(known + length, sizeof known - length, "%s%s", i ? ", " : "", backend->name);
  }
  argp_error(state, "--backend %s: this build has %s", name, known);
}

/* --- Sizes --- */

/* "n=8": the length of the name, and the number; false for anything else. */
static bool read_dim(const char *text, int *name_length, int64_t *value) {
  const char *equals = strchr(text, '=');
  char *end;
  if (!equals || equals == text || equals[1] < '0' || equals[1] > '9') return false;
  errno = 0;
  *value = strtoll(equals + 1, &end, 10);
  *name_length = (int)(equals - text);
  return *end == 0 && errno == 0 && *value <= LAZE_SIZE_CONSTANT_MAX;
}

void lazec_check_dim(struct argp_state *state, const char *text) {
  int length;
  int64_t value;
  if (!read_dim(text, &length, &value)) argp_error(state, "--dim %s: NAME=NUMBER is expected, such as n=8", text);
}

static laze_status set_dim(const laze_graph *graph, const char *text, int64_t *bindings, laze_error *error) {
  int64_t count = laze_size_symbol_count(graph->sizes), value = 0, found = -1;
  int length = 0;
  if (!read_dim(text, &length, &value)) return laze_fail(error, LAZE_INVALID_ARGUMENT, "--dim %s", text);
  for (int64_t i = 0; i < count && found < 0; i++) {
    const char *name = laze_size_symbol_name(graph->sizes, i);
    if (strlen(name) == (size_t)length && memcmp(name, text, (size_t)length) == 0) found = i;
  }
  if (found >= 0 && bindings[found] >= 0 && bindings[found] != value)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "--dim %s: %.*s was given as %lld before", text, length, text,
                     (long long)bindings[found]);
  if (found >= 0) {
    bindings[found] = value;
    return LAZE_OK;
  }
  laze_text names;
  laze_text_init(&names, graph->context);
  for (int64_t i = 0; i < count; i++)
    laze_text_format(&names, "%s%s", i ? ", " : "; it has ", laze_size_symbol_name(graph->sizes, i));
  laze_status status = laze_fail(error, LAZE_NOT_FOUND, "--dim %s: graph %s has no size %.*s%s", text, graph->name,
                                 length, text, laze_text_get(&names));
  laze_text_deinit(&names);
  return status;
}

laze_status lazec_dims_create(const laze_graph *graph, const lazec_list *dims, int64_t **out, laze_error *error) {
  int64_t count = laze_size_symbol_count(graph->sizes);
  laze_status status = LAZE_OK;
  *out = laze_alloc_array(graph->context, count, sizeof **out);
  if (!*out) return laze_fail_memory(error, "the sizes of a graph", -1);
  for (int64_t i = 0; i < count; i++) (*out)[i] = -1;
  for (int i = 0; i < dims->count && status == LAZE_OK; i++) status = set_dim(graph, dims->items[i], *out, error);
  if (status == LAZE_OK) return LAZE_OK;
  laze_free(graph->context, *out);
  *out = NULL;
  return status;
}

/* --- Context and graph --- */

static void log_warning(void *self, int32_t severity, const char *message) {
  (void)self;
  if (severity == LAZE_LOG_WARNING) fprintf(stderr, "lazec: warning: %s\n", message);
  if (severity == LAZE_LOG_ERROR) fprintf(stderr, "lazec: %s\n", message);
}

laze_status lazec_context_create(laze_context **out, laze_error *error) {
  const char *debug = getenv("LAZE_DEBUG");
  laze_context_options options = {.struct_size = sizeof options};
  if (!debug || !*debug) options.log = log_warning; /* with a switch, the library's own log says everything */
  return laze_context_create(&options, out, error);
}

static laze_status read_stream(laze_text *text, FILE *file, const char *path, laze_error *error) {
  char block[16384];
  size_t count;
  while ((count = fread(block, 1, sizeof block, file)) > 0) laze_text_append_bytes(text, block, (int64_t)count);
  if (ferror(file)) return laze_fail(error, LAZE_IO_ERROR, "%s: cannot be read (%s)", path, strerror(errno));
  return laze_text_check(text, error);
}

static laze_status read_file(laze_text *text, const char *path, laze_error *error) {
  if (strcmp(path, "-") == 0) return read_stream(text, stdin, "standard input", error);
  FILE *file = fopen(path, "re");
  if (!file)
    return laze_fail(error, errno == ENOENT ? LAZE_NOT_FOUND : LAZE_IO_ERROR, "%s: cannot be opened (%s)", path,
                     strerror(errno));
  laze_status status = read_stream(text, file, path, error);
  fclose(file);
  return status;
}

static const char *shown_name(const char *path) {
  return strcmp(path, "-") == 0 ? "standard input" : path;
}

/* Files that the text refers to are beside it; those of standard input, in the working directory. */
static laze_status parse(laze_context *context, const laze_text *text, const char *path, laze_module **out,
                         laze_error *error) {
  const char *slash = strrchr(path, '/');
  char *directory = strndup(path, slash ? (size_t)(slash + 1 - path) : 0);
  if (!directory) return laze_fail_memory(error, "a path", -1);
  laze_text_source source = {laze_text_get(text), text->size, shown_name(path), directory};
  laze_status status = laze_module_parse(context, &source, out, error);
  free(directory);
  if (status != LAZE_OK) return status;
  status = laze_module_verify(*out, error);
  if (status == LAZE_OK) return LAZE_OK;
  laze_error_prefix(error, "%s", shown_name(path));
  laze_module_destroy(*out);
  *out = NULL;
  return status;
}

laze_status lazec_module_read(laze_context *context, const char *path, laze_module **out, laze_error *error) {
  laze_text text;
  *out = NULL;
  laze_text_init(&text, context);
  laze_status status = read_file(&text, path, error);
  if (status == LAZE_OK) status = parse(context, &text, path, out, error);
  laze_text_deinit(&text);
  return status;
}

laze_status lazec_graph_take(const laze_module *module, const char *path, const char *name, laze_graph **out,
                             laze_error *error) {
  laze_graph *chosen;
  laze_status status = laze_module_choose(module, name, &chosen, error);
  if (status == LAZE_OK) status = laze_module_inline(chosen, out, error);
  if (status != LAZE_OK) return laze_error_prefix(error, "%s", shown_name(path));
  status = laze_graph_verify(*out, error);
  if (status == LAZE_OK) return LAZE_OK;
  laze_graph_destroy(*out);
  *out = NULL;
  return laze_error_prefix(error, "%s", shown_name(path));
}

laze_status lazec_graph_read(laze_context *context, const char *path, const char *name, laze_graph **out,
                             laze_error *error) {
  laze_module *module;
  *out = NULL;
  LAZE_TRY(lazec_module_read(context, path, &module, error));
  laze_status status = lazec_graph_take(module, path, name, out, error);
  laze_module_destroy(module);
  return status;
}
