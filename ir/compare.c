/* Structural equality of graphs, and the first difference in words. */
#include "ir/graph.h"

#include "ir/attribute.h"
#include "ir/op.gen.h"
#include "ir/size_pairs.h"
#include "ir/walk.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

typedef struct {
  const laze_graph *a, *b;
  laze_size_pairs sizes;
  int32_t *matches; /* number in b of each node of a */
  bool any_sizes;   /* sizes that symbolising would replace may differ */
  laze_text *difference;
} comparer;

static bool __attribute__((format(printf, 2, 3))) differ(const comparer *state, const char *format, ...) {
  char message[512];
  if (!state->difference || state->sizes.failed) return false; /* without memory nothing is known to differ */
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  laze_text_append(state->difference, message);
  return false;
}

static bool sizes_equal(comparer *state, laze_size a, laze_size b, bool may_vary, bool listed) {
  bool any = may_vary && state->any_sizes;
  if (any && laze_size_is_symbolised(a, listed) && laze_size_is_symbolised(b, listed)) return true;
  return laze_size_pairs_equal(&state->sizes, a, b);
}

/* Where sizes may differ only the inputs' count: all others are inferred from them. */
static bool types_equal(comparer *state, const laze_type *a, const laze_type *b, bool input) {
  if (a->kind != b->kind || a->dtype != b->dtype || a->rank != b->rank) return false;
  for (int i = 0; i < a->rank && (input || !state->any_sizes); i++)
    if (!sizes_equal(state, a->sizes[i], b->sizes[i], true, false)) return false;
  return true;
}

static bool check_type(comparer *state, const char *what, int64_t index, const laze_type *a, const laze_type *b,
                       bool input) {
  char a_text[200], b_text[200];
  if (types_equal(state, a, b, input)) return true;
  return differ(state, "%s %lld: type %s against %s", what, (long long)index,
                laze_type_format(state->a->sizes, a, a_text, sizeof a_text),
                laze_type_format(state->b->sizes, b, b_text, sizeof b_text));
}

static bool attributes_equal(comparer *state, const laze_attribute *a, const laze_attribute *b, bool may_vary) {
  int32_t count, other_count;
  const laze_size *sizes, *others;
  bool both = laze_attribute_find_sizes(a, &sizes, &count) && laze_attribute_find_sizes(b, &others, &other_count);
  if (!both) return laze_attribute_equal(a, b);
  if (a->kind != b->kind || count != other_count) return false;
  for (int32_t i = 0; i < count; i++)
    if (!sizes_equal(state, sizes[i], others[i], may_vary, a->kind == LAZE_ARGUMENT_SIZE_LIST)) return false;
  return true;
}

static bool values_equal(const comparer *state, const laze_value *a, const laze_value *b, int64_t count,
                         int64_t *where) {
  for (*where = 0; *where < count; ++*where)
    if (state->matches[a[*where].node] != b[*where].node || a[*where].result != b[*where].result) return false;
  return true;
}

static const char *argument_name(const laze_op_info *info, int32_t attribute) {
  for (int32_t i = 0; i < info->argument_count; i++)
    if (!laze_argument_is_operand(info->arguments[i].kind) && info->arguments[i].position == attribute)
      return info->arguments[i].name;
  return "?";
}

static bool check_attributes(comparer *state, int64_t position, const laze_node *a, const laze_node *b) {
  const laze_op_info *info = laze_op_get(a->op);
  bool may_vary = true;
  for (int32_t i = 0; i < info->attribute_count; i++)
    if (a->attributes[i].kind == LAZE_ARGUMENT_DATA) may_vary = false;
  for (int32_t i = 0; i < info->attribute_count; i++)
    if (!attributes_equal(state, &a->attributes[i], &b->attributes[i], may_vary))
      return differ(state, "node %lld (%s): attribute '%s' differs", (long long)position, info->name,
                    argument_name(info, i));
  return true;
}

static bool segments_equal(const laze_node *a, const laze_node *b, int32_t count) {
  if (!a->segments || !b->segments) return a->segments == b->segments;
  return memcmp(a->segments, b->segments, (size_t)count * sizeof *a->segments) == 0;
}

static bool check_node(comparer *state, int64_t position, int32_t a_number, int32_t b_number) {
  const laze_node *a = &state->a->nodes[a_number], *b = &state->b->nodes[b_number];
  const laze_op_info *info = laze_op_get(a->op);
  int64_t where;
  state->matches[a_number] = b_number;
  if (a->op != b->op)
    return differ(state, "node %lld: operator %s against %s", (long long)position, info->name,
                  laze_op_get(b->op)->name);
  if (a->operand_count != b->operand_count || a->region_count != b->region_count ||
      a->result_count != b->result_count || !segments_equal(a, b, info->segment_count))
    return differ(state, "node %lld (%s): numbers of operands or results differ", (long long)position, info->name);
  if (!values_equal(state, a->operands, b->operands, a->operand_count, &where))
    return differ(state, "node %lld (%s): operand %lld is another value", (long long)position, info->name,
                  (long long)where);
  return check_attributes(state, position, a, b);
}

/* Types come after a node's regions, from which they may follow. */
static bool check_types(comparer *state, int64_t position, int32_t a_number, int32_t b_number) {
  const laze_node *a = &state->a->nodes[a_number], *b = &state->b->nodes[b_number];
  for (int32_t i = 0; i < a->result_count; i++)
    if (!check_type(state, "node", position, a->types[i], b->types[i], false)) return false;
  return true;
}

static bool check_block(comparer *state, const laze_block *a, const laze_block *b) {
  if (a->parameter_count != b->parameter_count)
    return differ(state, "%lld parameters against %lld", (long long)a->parameter_count, (long long)b->parameter_count);
  for (int64_t i = 0; i < a->parameter_count; i++) {
    state->matches[a->parameters[i]] = b->parameters[i];
    if (!check_type(state, "parameter", i, state->a->nodes[a->parameters[i]].types[0],
                    state->b->nodes[b->parameters[i]].types[0], a->depth == 0))
      return false;
  }
  return true;
}

static bool check_results(const comparer *state, const laze_block *a, const laze_block *b) {
  int64_t where;
  if (a->result_count != b->result_count)
    return differ(state, "%lld results against %lld", (long long)a->result_count, (long long)b->result_count);
  if (values_equal(state, a->results, b->results, a->result_count, &where)) return true;
  return differ(state, "result %lld is another value", (long long)where);
}

static bool compare(comparer *state) {
  laze_walk a, b;
  laze_walk_begin(&a, state->a);
  laze_walk_begin(&b, state->b);
  for (int64_t position = 0;;) {
    laze_walk_event event = laze_walk_next(&a), other = laze_walk_next(&b);
    if (event != other) return differ(state, "after node %lld: one graph goes on", (long long)position - 1);
    bool equal = true;
    if (event == LAZE_WALK_DONE) return true;
    if (event == LAZE_WALK_BLOCK) equal = check_block(state, a.block, b.block);
    if (event == LAZE_WALK_NODE) equal = check_node(state, position++, a.node, b.node);
    bool typed = event == LAZE_WALK_NODE_END || (event == LAZE_WALK_NODE && state->a->nodes[a.node].region_count == 0);
    if (equal && typed) equal = check_types(state, position - 1, a.node, b.node);
    if (event == LAZE_WALK_BLOCK_END) equal = check_results(state, a.block, b.block);
    if (!equal) return false;
  }
}

/* Facts that no node asks are no part of the text, but of what is compiled. */
static bool check_facts(comparer *state) {
  const laze_fact *a, *b;
  for (int64_t i = 0;; i++) {
    a = laze_size_carried_fact(state->a->sizes, i);
    b = laze_size_carried_fact(state->b->sizes, i);
    if (!a && !b) return true;
    bool equal = a && b && a->kind == b->kind && a->holds == b->holds && sizes_equal(state, a->a, b->a, true, false) &&
                 sizes_equal(state, a->b, b->b, true, false);
    if (!equal) return differ(state, "fact %lld about sizes that values give differs", (long long)i);
  }
}

static bool run(const laze_graph *a, const laze_graph *b, bool any_sizes, laze_text *difference) {
  comparer state = {.a = a, .b = b, .any_sizes = any_sizes, .difference = difference};
  state.matches = laze_alloc_array(a->context, a->node_count, sizeof *state.matches);
  if (!state.matches) return false;
  laze_size_pairs_init(&state.sizes, a->context, a->sizes, b->sizes);
  bool equal = compare(&state) && (!any_sizes || check_facts(&state));
  laze_size_pairs_deinit(&state.sizes);
  laze_free(a->context, state.matches);
  return equal;
}

bool laze_graph_equal(const laze_graph *a, const laze_graph *b, laze_text *difference) {
  return run(a, b, false, difference);
}

bool laze_graph_equal_but_sizes(const laze_graph *a, const laze_graph *b, laze_text *difference) {
  return run(a, b, true, difference);
}
