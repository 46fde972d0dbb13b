/* Each graph that is compiled in files of its own, numbered in the order of compilation; the key behind the number
 * tells graphs of several contexts, and processes, apart:
 *
 *   graphs/0001-8a0f51c2e77d9b34.lz     // forced by laze_tensor_item at train.c:40
 *          0001-8a0f51c2e77d9b34.dot    // trace cache miss (6 nodes): new graph, the first one
 *          0002-...                     laze 1 ...
 */
#include "lazy/run/save.h"

#include "base/file.h"
#include "ir/graph.h"
#include "ir/text/text.h"
#include "lazy/lazy.h"
#include "lazy/run/compile.h"

#include <stdio.h>
#include <sys/stat.h>

static const struct {
  const char *suffix, *comment; /* what begins a line that is none of the form; NULL: it has a title instead */
} forms[LAZE_SAVE_COUNT] = {
    [LAZE_SAVE_TEXT] = {"lz", "// "}, [LAZE_SAVE_DOT] = {"dot", NULL},    [LAZE_SAVE_SCHEDULE] = {"schedule", "// "},
    [LAZE_SAVE_LLVM] = {"ll", "; "},  [LAZE_SAVE_ASSEMBLY] = {"s", "# "},
};

/* One line, whatever a file's name holds. */
static void append_line(laze_text *text, const char *line) {
  for (; *line; line++) laze_text_append_bytes(text, (unsigned char)*line < 0x20 ? "?" : line, 1);
}

static void append_force(laze_text *text, const laze_force *force) {
  laze_text_append(text, "forced by ");
  laze_text_append(text,
                   force->reason == LAZE_FORCE_BUDGET ? "the budget (laze_set_budget), used up" : force->function);
  if (!force->file) return;
  laze_text_append(text, " at ");
  append_line(text, force->file);
  laze_text_format(text, ":%d", (int)force->line);
}

static laze_status write_form(laze_lazy *lazy, const laze_graph *graph, laze_save_form form, const laze_force *force,
                              const char *why, laze_text *out, laze_error *error) {
  const char *comment = forms[form].comment;
  laze_text title;
  laze_text_init(&title, lazy->context);
  append_force(&title, force);
  laze_text_append(&title, "\n");
  if (comment) {
    laze_text_append(out, comment);
    laze_text_append(out, laze_text_get(&title));
    laze_text_append(out, comment);
    append_line(out, why);
    laze_text_append(out, "\n");
  }
  laze_status status = LAZE_OK;
  if (form == LAZE_SAVE_TEXT)
    laze_graph_print(out, graph, true);
  else if (form == LAZE_SAVE_DOT)
    laze_graph_print_dot(out, graph, laze_text_get(&title));
  else
    status = laze_lazy_emit(lazy, graph, form, out, error);
  laze_text_deinit(&title);
  return status == LAZE_OK ? laze_text_check(out, error) : status;
}

static bool write_text(const void *self, int file) {
  const laze_text *text = self;
  return laze_file_write(file, laze_text_get(text), text->size);
}

static laze_status save_form(laze_lazy *lazy, const laze_graph *graph, laze_save_form form, const char *name,
                             const laze_force *force, const char *why, laze_error *error) {
  laze_text path, text;
  laze_text_init(&path, lazy->context);
  laze_text_init(&text, lazy->context);
  laze_text_format(&path, "%s/%s.%s", laze_context_save_directory(lazy->context), name, forms[form].suffix);
  laze_status status = write_form(lazy, graph, form, force, why, &text, error);
  if (status == LAZE_OK) status = laze_text_check(&path, error);
  if (status == LAZE_OK) status = laze_file_replace(laze_text_get(&path), write_text, &text, error);
  laze_text_deinit(&text);
  laze_text_deinit(&path);
  return status;
}

void laze_save_graph(laze_lazy *lazy, const laze_graph *graph, laze_hash key, const laze_force *force,
                     const char *why) {
  char name[64];
  laze_error error;
  const long long number = (long long)laze_context_next_saved(lazy->context);
  snprintf(name, sizeof name, "%04lld-%016llx", number, (unsigned long long)key.low);
  (void)mkdir(laze_context_save_directory(lazy->context), 0777); /* where it cannot be made, the file says why */
  for (laze_save_form form = 0; form < LAZE_SAVE_COUNT; form++) {
    if (!laze_context_saves(lazy->context, form)) continue;
    if (save_form(lazy, graph, form, name, force, why, &error) != LAZE_OK)
      laze_log_advice(lazy->context, LAZE_ADVICE_SAVE, "graph %s was not saved: %s", name, error.message);
  }
}
