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

static bool is_stdin(const char *path) {
  return strcmp(path, "-") == 0;
}

/* Files that the text refers to are beside it; those of standard input, in the working directory. */
laze_status lazec_module_read(laze_context *context, const char *path, laze_module **out, laze_error *error) {
  return is_stdin(path) ? laze_module_read(context, stdin, "standard input", "", out, error)
                        : laze_module_load(context, path, out, error);
}

laze_status lazec_graph_take(const laze_module *module, const char *path, const char *name, laze_graph **out,
                             laze_error *error) {
  return laze_module_take(module, is_stdin(path) ? "standard input" : path, name, out, error);
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
