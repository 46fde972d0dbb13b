/* Functions written by hand that entries name, looked up in what the headers declare. */
#include "ops/opgen/entry.h"

#include "ops/opgen/memory.h"

#include <ctype.h>
#include <string.h>

/* What C itself gives an element's expression, besides operators: words, and the functions of <math.h>. */
static const char *const c_words[] = {
    "true",     "false", "bool",  "float", "double",    "int32_t", "int64_t",   "uint32_t", "uint64_t", "INFINITY",
    "NAN",      "acos",  "acosh", "asin",  "asinh",     "atan",    "atan2",     "atanh",    "cbrt",     "ceil",
    "copysign", "cos",   "cosh",  "erf",   "erfc",      "exp",     "exp2",      "expm1",    "fabs",     "fdim",
    "floor",    "fma",   "fmax",  "fmin",  "fmod",      "hypot",   "isfinite",  "isinf",    "isnan",    "lgamma",
    "log",      "log10", "log1p", "log2",  "nearbyint", "pow",     "remainder", "rint",     "round",    "signbit",
    "sin",      "sinh",  "sqrt",  "tan",   "tanh",      "tgamma",  "trunc",
};

static bool is_c_word(const char *name) {
  for (size_t i = 0; i < sizeof(c_words) / sizeof(*c_words); i++)
    if (strcmp(c_words[i], name) == 0) return true;
  return false;
}

static const char *meant(const char *name) {
  return name == NULL ? "" : memory_format("; did you mean \"%s\"?", name);
}

static const char *suggest_element(const gen_table *table, const char *name) {
  const char *best = known_suggest(&table->known, KNOWN_ELEMENT, name);
  int best_distance = best == NULL ? NEAR_WORDS + 1 : word_distance(name, best);
  for (size_t i = 0; i < sizeof(c_words) / sizeof(*c_words); i++) {
    const int found = word_distance(name, c_words[i]);
    if (found >= best_distance) continue;
    best_distance = found;
    best = c_words[i];
  }
  return best;
}

void entry_check_element(gen_table *table, const gen_operator *op, gen_place at, const char *text) {
  if (!table->known.was_read[KNOWN_ELEMENT]) return;
  for (const char *c = text, *end; *c != '\0'; c = end) {
    end = c + 1;
    if (!isalnum((unsigned char)*c) && *c != '_') continue;
    while (isalnum((unsigned char)*end) || *end == '_') end++;
    if (isdigit((unsigned char)*c)) continue; /* 1e5, 0x1p-3f */
    const char *name = memory_copy(c, (size_t)(end - c));
    if (schema_find(&op->schema, name) >= 0 || is_c_word(name)) continue;
    if (known_has(&table->known, KNOWN_ELEMENT, name)) continue;
    report_error(&table->report, at,
                 "eval: \"%s\" is neither an argument nor a function of <math.h> or codegen/interp/eval_support.h%s",
                 name, meant(suggest_element(table, name)));
  }
}

/* Each key that names a function: what stands before the name, and where it is declared. */
static const struct {
  const char *before, *after, *header;
} places[KNOWN_COUNT] = {
    [KNOWN_LOWERING] = {"LAZE_LOWERING(", ")", "codegen/llvm/lowerings.h"},
    [KNOWN_JOIN] = {"laze_join_", "", "codegen/schedule/join.h"},
    [KNOWN_EXECUTE] = {"interp_execute_", "", "codegen/interp/unit.h"},
    [KNOWN_CONTROL] = {"interp_control_", "", "codegen/interp/unit.h"},
    [KNOWN_REGIONS] = {"laze_control_rule_", "", "ir/control.h"},
    [KNOWN_BY_HAND] = {"laze_composite_", "", "ir/composite/"},
};

void entry_check_function(gen_table *table, const gen_operator *op, const char *key, const char *name,
                          gen_known_kind kind) {
  if (name == NULL || *name == '\0') return; /* missing, which is another fault */
  if (!table->known.was_read[kind] || known_has(&table->known, kind, name)) return;
  gen_place at = op->at;
  at.line = tree_get(op->entry, key)->line;
  report_error(&table->report, at, "\"%s: %s\" names no function; write %s%s%s of %s%s", key,
               tree_get(op->entry, key)->text, places[kind].before, name, places[kind].after, places[kind].header,
               kind == KNOWN_BY_HAND ? "" : meant(known_suggest(&table->known, kind, name)));
}
