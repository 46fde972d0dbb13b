/* Runs the passes, and is the only place that verifies, times and dumps. */
#include "ir/passes/passes.h"

#include "ir/graph_internal.h"
#include "ir/text/text.h"

#include <stdio.h>
#include <string.h>

typedef struct {
  const char *name;
  laze_pass_function run;
  bool again; /* once more after an expansion */
} pass;

static const pass passes[] = {
    {"fold", laze_pass_fold, true}, /* first: simplify looks for numbers */
    {"branches", laze_pass_branches, true},
    {"simplify", laze_pass_simplify, true},
    {"transposes", laze_pass_transposes, true},
    {"common_nodes", laze_pass_common_nodes, true},
    {"dead_nodes", laze_pass_dead_nodes, true},
    {"expand", laze_pass_expand, false},
};

enum { PASS_COUNT = sizeof passes / sizeof *passes };

const char *laze_pass_name(int index) {
  return index >= 0 && index < PASS_COUNT ? passes[index].name : NULL;
}

static bool is_wanted(const pass *which, const laze_pass_options *options) {
  if (options->only && strcmp(options->only, which->name) != 0) return false;
  return !options->without || strcmp(options->without, which->name) != 0;
}

static laze_status check_round_trip(const laze_graph *graph, const laze_text *text, laze_error *error) {
  laze_graph *parsed;
  laze_text difference;
  LAZE_TRY(laze_graph_parse(graph->context, laze_text_get(text), text->size, "<round trip>", &parsed, error));
  laze_text_init(&difference, graph->context);
  laze_status status = LAZE_OK;
  if (!laze_graph_equal(graph, parsed, &difference))
    status = laze_fail(error, LAZE_INTERNAL, "graph %s: prints as text that reads back as another graph: %.400s",
                       graph->name, laze_text_get(&difference));
  laze_text_deinit(&difference);
  laze_graph_destroy(parsed);
  return status;
}

static laze_status show(const laze_graph *graph, const pass *which, int64_t nanoseconds, laze_error *error) {
  bool dump = laze_context_debug(graph->context, LAZE_DEBUG_PASSES);
  bool round_trip = laze_context_debug(graph->context, LAZE_DEBUG_ROUND_TRIP);
  char title[96];
  laze_text text;
  if (!dump && !round_trip) return LAZE_OK;
  laze_text_init(&text, graph->context);
  laze_graph_print(&text, graph, true);
  laze_status status = laze_text_check(&text, error);
  snprintf(title, sizeof title, "after %s (%.1f us):", which->name, (double)nanoseconds / 1000);
  if (status == LAZE_OK && dump) laze_log_text(graph->context, LAZE_LOG_DEBUG, title, laze_text_get(&text));
  if (status == LAZE_OK && round_trip) status = check_round_trip(graph, &text, error);
  laze_text_deinit(&text);
  return status;
}

/* Runs one pass and checks what it made; *out is NULL where it changed nothing. */
static laze_status run_pass(const pass *which, const laze_graph *graph, const laze_pass_options *options,
                            laze_graph **out, laze_error *error) {
  bool timed = laze_context_debug(graph->context, LAZE_DEBUG_PASSES);
  int64_t start = timed ? laze_clock() : 0;
  *out = NULL;
  LAZE_TRY(which->run(graph, options, out, error));
  if (!*out) return LAZE_OK;
  int64_t elapsed = timed ? laze_clock() - start : 0;
  laze_status status = LAZE_OK;
  if (laze_context_debug(graph->context, LAZE_DEBUG_VERIFY)) status = laze_graph_verify(*out, error);
  if (status == LAZE_OK) status = show(*out, which, elapsed, error);
  if (status == LAZE_OK) return LAZE_OK;
  laze_error_prefix(error, "pass %s", which->name);
  laze_graph_destroy(*out);
  *out = NULL;
  return status;
}

/* *current is the graph so far: `original`, or one of ours that shares memory with it. */
static laze_status run_round(const laze_graph *original, laze_graph **current, const laze_pass_options *options,
                             bool again, bool *expanded, laze_error *error) {
  for (int i = 0; i < PASS_COUNT; i++) {
    laze_graph *next;
    if (!is_wanted(&passes[i], options) || (again && !passes[i].again)) continue;
    LAZE_TRY(run_pass(&passes[i], *current, options, &next, error));
    if (!next) continue;
    if (!passes[i].again) *expanded = true;
    if (*current != original) laze_graph_take(next, *current);
    *current = next;
  }
  return LAZE_OK;
}

laze_status laze_passes_run(laze_graph **graph, const laze_pass_options *options, laze_error *error) {
  laze_pass_options defaults = {0};
  laze_graph *current = *graph;
  bool expanded = false;
  if (!options) options = &defaults;
  laze_status status = run_round(*graph, &current, options, false, &expanded, error);
  if (status == LAZE_OK && expanded) status = run_round(*graph, &current, options, true, &expanded, error);
  if (status != LAZE_OK) {
    if (current != *graph) laze_graph_destroy(current);
    return status;
  }
  if (current != *graph) laze_graph_take(current, *graph);
  *graph = current;
  return LAZE_OK;
}
