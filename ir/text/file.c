/* Graph files: read, checked, and written with the elements of large constants beside them.
 *
 *   dense.lz            laze 1
 *                       graph @dense(...) { %0 = constant file="dense.lz.weights", offset=64, length=31360 : ...
 *   dense.lz.weights    elements, each at a multiple of 64
 */
#include "ir/text/text.h"

#include "base/file.h"
#include "laze/graph.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LARGE = 16 }; /* elements: larger constants stand beside the text */

static laze_status read_stream(laze_text *text, FILE *file, const char *name, laze_error *error) {
  char block[16384];
  size_t count;
  while ((count = fread(block, 1, sizeof block, file)) > 0) laze_text_append_bytes(text, block, (int64_t)count);
  if (ferror(file)) return laze_fail(error, LAZE_IO_ERROR, "%s: cannot be read (%s)", name, strerror(errno));
  return laze_text_check(text, error);
}

static laze_status parse(laze_context *context, const laze_text_source *source, laze_module **out, laze_error *error) {
  LAZE_TRY(laze_module_parse(context, source, out, error));
  const laze_status status = laze_module_verify(*out, error);
  if (status == LAZE_OK) return LAZE_OK;
  (void)laze_error_prefix(error, "%s", source->file);
  laze_module_destroy(*out);
  *out = NULL;
  return status;
}

laze_status laze_module_read(laze_context *context, FILE *file, const char *name, const char *directory,
                             laze_module **out, laze_error *error) {
  laze_text text;
  *out = NULL;
  laze_text_init(&text, context);
  laze_status status = read_stream(&text, file, name, error);
  const laze_text_source source = {
      .text = laze_text_get(&text), .size = text.size, .file = name, .directory = directory};
  if (status == LAZE_OK) status = parse(context, &source, out, error);
  laze_text_deinit(&text);
  return status;
}

laze_status laze_module_load(laze_context *context, const char *path, laze_module **out, laze_error *error) {
  *out = NULL;
  FILE *file = fopen(path, "re");
  if (!file)
    return laze_fail(error, errno == ENOENT ? LAZE_NOT_FOUND : LAZE_IO_ERROR, "%s: cannot be opened (%s)", path,
                     strerror(errno));
  const char *slash = strrchr(path, '/');
  char *directory = strndup(path, slash ? (size_t)(slash + 1 - path) : 0);
  laze_status status =
      directory ? laze_module_read(context, file, path, directory, out, error) : laze_fail_memory(error, "a path", -1);
  free(directory);
  fclose(file);
  return status;
}

laze_status laze_module_take(const laze_module *module, const char *file, const char *name, laze_graph **out,
                             laze_error *error) {
  laze_graph *chosen;
  *out = NULL;
  laze_status status = laze_module_choose(module, name, &chosen, error);
  if (status == LAZE_OK) status = laze_module_inline(chosen, out, error);
  if (status == LAZE_OK) status = laze_graph_verify(*out, error);
  if (status == LAZE_OK) return LAZE_OK;
  laze_graph_destroy(*out);
  *out = NULL;
  return laze_error_prefix(error, "%s", file);
}

laze_status laze_graph_load(laze_context *context, const char *path, const char *name, laze_graph **out,
                            laze_error *error) {
  laze_module *module;
  if (!path || !out) return laze_fail(error, LAZE_INVALID_ARGUMENT, "laze_graph_load: path and out must not be NULL");
  *out = NULL;
  if (!context) context = laze_context_default();
  if (!context) return laze_fail_memory(error, "the default context", -1);
  LAZE_TRY(laze_module_load(context, path, &module, error));
  const laze_status status = laze_module_take(module, path, name, out, error);
  laze_module_destroy(module);
  return status;
}

/* --- Writing --- */

static bool write_weights(const void *self, int file) {
  static const char zeros[64];
  const laze_weights *weights = self;
  int64_t done = 0;
  for (int64_t i = 0; i < weights->count; i++) {
    const laze_weight *weight = &weights->items[i];
    if (!laze_file_write(file, zeros, weight->offset - done)) return false; /* less than the alignment */
    if (!laze_file_write(file, weight->bytes, weight->size)) return false;
    done = weight->offset + weight->size;
  }
  return true;
}

laze_status laze_weights_write(const laze_weights *weights, const char *path, laze_error *error) {
  return laze_file_replace(path, write_weights, weights, error);
}

static bool write_text(const void *self, int file) {
  const laze_text *text = self;
  return laze_file_write(file, laze_text_get(text), text->size);
}

static laze_status save(const laze_graph *graph, const char *path, const char *beside, laze_text *text,
                        laze_weights *weights, laze_error *error) {
  const char *slash = strrchr(beside, '/');
  const laze_print_options options = {.large = LARGE, .file = slash ? slash + 1 : beside, .weights = weights};
  laze_graph_print_with(text, graph, &options);
  LAZE_TRY(laze_text_check(text, error));
  if (weights->count > 0) LAZE_TRY(laze_weights_write(weights, beside, error));
  return laze_file_replace(path, write_text, text, error);
}

laze_status laze_graph_save(const laze_graph *graph, const char *path, laze_error *error) {
  laze_text text, beside;
  if (!graph || !path)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "laze_graph_save: graph and path must not be NULL");
  laze_weights weights = {.context = graph->context};
  laze_text_init(&text, graph->context);
  laze_text_init(&beside, graph->context);
  laze_text_format(&beside, "%s.weights", path);
  laze_status status = laze_text_check(&beside, error);
  if (status == LAZE_OK) status = save(graph, path, laze_text_get(&beside), &text, &weights, error);
  laze_weights_deinit(&weights);
  laze_text_deinit(&beside);
  laze_text_deinit(&text);
  return status;
}
