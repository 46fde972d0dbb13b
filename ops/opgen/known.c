/* Names that hand-written headers declare. Nothing of C is understood: comments are passed over, and a word counts by
 * how it begins and what stands around it:
 *
 *   LAZE_LOWERING(add);                            -> a lowering "add"
 *   laze_status interp_execute_slice(interp_...    -> what the interpreter may run: "slice"
 */
#include "ops/opgen/known.h"

#include "ops/opgen/allocate.h"
#include "ops/opgen/report.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* How a header writes a name of each kind. */
static const struct {
  const char *prefix; /* of the word */
  size_t dropped;     /* letters of the prefix that the name lacks */
  const char *before; /* the word in front, with the bracket between: LAZE_LOWERING(add) */
  bool is_called;     /* "(" stands right behind it */
} forms[KNOWN_COUNT] = {
    [KNOWN_API] = {.prefix = "laze_"},
    [KNOWN_LOWERING] = {.prefix = "", .before = "LAZE_LOWERING"},
    [KNOWN_ELEMENT] = {.prefix = "", .is_called = true},
    [KNOWN_EXECUTE] = {.prefix = "interp_execute_", .dropped = sizeof("interp_execute_") - 1},
    [KNOWN_CONTROL] = {.prefix = "interp_control_", .dropped = sizeof("interp_control_") - 1},
    [KNOWN_JOIN] = {.prefix = "laze_join_", .dropped = sizeof("laze_join_") - 1},
    [KNOWN_REGIONS] = {.prefix = "laze_control_rule_", .dropped = sizeof("laze_control_rule_") - 1},
    [KNOWN_SHAPE] = {.prefix = "laze_shape_", .dropped = sizeof("laze_shape_") - 1},
    [KNOWN_DTYPE] = {.prefix = "laze_dtype_", .dropped = sizeof("laze_dtype_") - 1},
    [KNOWN_BY_HAND] = {.prefix = "laze_composite_", .dropped = sizeof("laze_composite_") - 1},
};

static char *read_text(const char *path, gen_report *report) {
  FILE *file = fopen(path, "rb");
  char *text = NULL;
  size_t size = 0;
  if (file == NULL || getdelim(&text, &size, '\0', file) < 0) {
    report_error(report, (gen_place){path, 1, NULL}, "cannot be read: %s", strerror(errno));
    free(text);
    text = NULL;
  }
  if (file != NULL) fclose(file);
  return text;
}

static bool is_word_letter(char c) {
  return isalnum((unsigned char)c) || c == '_';
}

/* Whether `before` and a bracket end at `at`. */
static bool stands_behind(const char *text, const char *at, const char *before) {
  const size_t size = strlen(before) + 1;
  return (size_t)(at - text) >= size && at[-1] == '(' && strncmp(at - size, before, size - 1) == 0;
}

static void add_word(gen_known *known, gen_known_kind kind, const char *text, const char *start, const char *end) {
  const size_t size = (size_t)(end - start), prefix = strlen(forms[kind].prefix);
  if (strncmp(start, forms[kind].prefix, prefix) != 0 || size == forms[kind].dropped) return;
  if (forms[kind].before != NULL && !stands_behind(text, start, forms[kind].before)) return;
  if (forms[kind].is_called && *end != '(') return;
  known->names[kind] = memory_grow(known->names[kind], known->counts[kind], sizeof(*known->names[kind]));
  known->names[kind][known->counts[kind]++] = memory_copy(start + forms[kind].dropped, size - forms[kind].dropped);
}

void known_read(gen_known *known, gen_known_kind kind, const char *path, gen_report *report) {
  char *text = read_text(path, report);
  known->was_read[kind] = true;
  for (const char *c = text; c != NULL && *c != '\0';) {
    const char *end = c + 1;
    if (strncmp(c, "/*", 2) == 0) {
      end = strstr(c + 2, "*/");
      if (end == NULL) break;
      end += 2; /* past the whole mark, so that its slash starts no other comment */
    } else if (is_word_letter(*c)) {
      while (is_word_letter(*end)) end++;
      if (!isdigit((unsigned char)*c)) add_word(known, kind, text, c, end);
    }
    c = end;
  }
  free(text);
}

bool known_has(const gen_known *known, gen_known_kind kind, const char *name) {
  for (int i = 0; i < known->counts[kind]; i++)
    if (strcmp(known->names[kind][i], name) == 0) return true;
  return false;
}

const char *known_suggest(const gen_known *known, gen_known_kind kind, const char *name) {
  const char *best = NULL;
  int best_distance = NEAR_WORDS + 1;
  for (int i = 0; i < known->counts[kind]; i++) {
    const int found = word_distance(name, known->names[kind][i]);
    if (found >= best_distance) continue;
    best_distance = found;
    best = known->names[kind][i];
  }
  return best;
}

/* Levenshtein's distance, for words of at most 31 letters. */
int word_distance(const char *a, const char *b) {
  int row[32];
  const size_t size = strlen(b);
  if (size > 31) return 99;
  for (size_t k = 0; k <= size; k++) row[k] = (int)k;
  for (size_t i = 0; a[i] != '\0'; i++) {
    int corner = row[0];
    row[0] = (int)i + 1;
    for (size_t k = 0; k < size; k++) {
      const int replaced = corner + (a[i] != b[k]);
      corner = row[k + 1];
      const int moved = (row[k] < corner ? row[k] : corner) + 1;
      row[k + 1] = replaced < moved ? replaced : moved;
    }
  }
  return row[size];
}
