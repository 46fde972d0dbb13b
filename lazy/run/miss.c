/* Two sequences of words are read side by side, node by node (lazy/run/trace.h gives the form). Reading stops at the
 * first word that differs; which part of a node it belongs to says what to report. */
#include "lazy/run/miss.h"

#include "ir/attribute.h"
#include "ir/text/text.h"
#include "lazy/run/trace.h"
#include "lazy/run/trace_cache.h"
#include "lazy/value/pending.h"

#include <string.h>

/* A cursor over the words of one trace. */
typedef struct {
  const uint64_t *words;
  int64_t count, at;
} cursor;

/* What the reader saw of one node. */
typedef struct {
  const uint64_t *operands, *segments, *attributes, *results, *end;
  const laze_op_info *info;
  int32_t operand_count, segment_count, result_count;
} node_words;

static const uint64_t *skip_type(const uint64_t *word) {
  return word + 1 + (*word >> 16 & 255);
}

/* The operand after this one; `inputs` counts the inputs seen so far. */
static const uint64_t *skip_operand(const uint64_t *word, int64_t *inputs) {
  bool first = laze_trace_is_input(*word) && laze_trace_input(*word) == *inputs;
  if (first) ++*inputs;
  return first ? skip_type(word + 1) : word + 1;
}

/* Reads the node at `word`; advances *inputs over the inputs it names first. */
static node_words read_node(const uint64_t *word, int64_t *inputs) {
  node_words node = {.info = laze_op_get((laze_op)(word[0] & 0xffff)),
                     .result_count = (int32_t)(word[0] >> 32),
                     .operand_count = (int32_t)(word[1] & 0xffffffff),
                     .segment_count = (int32_t)(word[1] >> 32)};
  laze_attribute skipped;
  word += 2;
  node.operands = word;
  for (int32_t i = 0; i < node.operand_count; i++) word = skip_operand(word, inputs);
  node.segments = word;
  node.attributes = word += (node.segment_count + 1) / 2;
  for (int i = 0; i < node.info->attribute_count; i++) word = laze_attribute_read(word, &skipped);
  node.results = word;
  for (int32_t i = 0; i < node.result_count; i++) word = skip_type(word);
  node.end = word;
  return node;
}

static bool same_words(const uint64_t *a, const uint64_t *a_end, const uint64_t *b, const uint64_t *b_end) {
  return a_end - a == b_end - b && memcmp(a, b, (size_t)(a_end - a) * sizeof *a) == 0;
}

/* The nodes are followed by the outputs: one count, and one word each. */
static bool ends(const uint64_t *word, const uint64_t *end) {
  return (int64_t)*word == (end - word) - 1;
}

/* Behind the outputs of a cached trace. */
static const uint64_t *end_of(const laze_trace_entry *entry) {
  return entry->words + laze_trace_output_end(entry->words, entry->word_count);
}

/* How many operators agree from the start, whatever their types and wiring. */
static int64_t common_operators(const laze_trace *trace, const laze_trace_entry *entry) {
  const uint64_t *a = trace->words + 1, *b = entry->words + 1, *b_end = end_of(entry);
  int64_t a_inputs = 0, b_inputs = 0, count = 0;
  for (; count < trace->node_count && b < b_end && *a == *b; count++) {
    if (ends(b, b_end)) break;
    a = read_node(a, &a_inputs).end;
    b = read_node(b, &b_inputs).end;
  }
  return count;
}

static int64_t count_nodes(const laze_trace_entry *entry) {
  const uint64_t *word = entry->words + 1, *end = end_of(entry);
  int64_t inputs = 0, count = 0;
  for (; !ends(word, end); count++) word = read_node(word, &inputs).end;
  return count;
}

static void print_type(laze_text *out, const uint64_t *word) {
  laze_type type = {.kind = (uint8_t)*word, .dtype = (uint8_t)(*word >> 8), .rank = (uint8_t)(*word >> 16)};
  bool unknown = false;
  for (int i = 0; i < type.rank; i++) {
    type.sizes[i] = (laze_size)word[1 + i];
    unknown |= !laze_size_is_constant(type.sizes[i]);
  }
  if (unknown)
    laze_text_format(out, "%s of %d dims, not all known", laze_dtype_name(type.dtype), (int)type.rank);
  else
    laze_type_print(out, NULL, &type);
}

static void print_operand(laze_text *out, const uint64_t *word, bool first) {
  if (!laze_trace_is_input(*word)) {
    laze_text_format(out, "the result of node %lld", (long long)laze_trace_position(*word));
    return;
  }
  laze_text_format(out, "input %lld", (long long)laze_trace_input(*word));
  if (!first) return;
  laze_text_append(out, " of type ");
  print_type(out, word + 1);
}

/* Finds the first operand that differs and reports it; false when all agree. */
static bool explain_operands(laze_text *out, const node_words *a, const node_words *b, int64_t a_inputs,
                             int64_t b_inputs) {
  const uint64_t *left = a->operands, *right = b->operands;
  if (a->operand_count != b->operand_count) {
    laze_text_format(out, "has %d operands where the cached graph has %d", (int)a->operand_count,
                     (int)b->operand_count);
    return true;
  }
  for (int32_t i = 0; i < a->operand_count; i++) {
    int64_t left_before = a_inputs, right_before = b_inputs;
    const uint64_t *left_end = skip_operand(left, &a_inputs), *right_end = skip_operand(right, &b_inputs);
    if (!same_words(left, left_end, right, right_end)) {
      laze_text_format(out, "operand %d is ", (int)i);
      print_operand(out, left, a_inputs > left_before);
      laze_text_append(out, " where the cached graph has ");
      print_operand(out, right, b_inputs > right_before);
      return true;
    }
    left = left_end;
    right = right_end;
  }
  return false;
}

static const char *attribute_name(const laze_op_info *info, int position) {
  for (int i = 0; i < info->argument_count; i++)
    if (!laze_argument_is_operand(info->arguments[i].kind) && info->arguments[i].position == position)
      return info->arguments[i].name;
  return "?";
}

static bool is_unknown(const laze_attribute *attribute) {
  const laze_size *sizes;
  int32_t count;
  if (!laze_attribute_find_sizes(attribute, &sizes, &count)) return false;
  for (int32_t i = 0; i < count; i++)
    if (!laze_size_is_constant(sizes[i])) return true;
  return false;
}

static void print_attribute(laze_text *out, const laze_attribute *attribute) {
  if (attribute->kind == LAZE_ARGUMENT_DATA && attribute->present)
    laze_text_format(out, "%lld bytes of data", (long long)attribute->value.data.size);
  else if (is_unknown(attribute))
    laze_text_append(out, "what values say");
  else
    laze_attribute_print(out, NULL, attribute); /* its sizes are constants */
}

static bool explain_attributes(laze_text *out, const node_words *a, const node_words *b) {
  const uint64_t *left = a->attributes, *right = b->attributes;
  for (int i = 0; i < a->info->attribute_count; i++) {
    laze_attribute one, other;
    const uint64_t *left_end = laze_attribute_read(left, &one), *right_end = laze_attribute_read(right, &other);
    if (!same_words(left, left_end, right, right_end)) {
      laze_text_format(out, "%s is ", attribute_name(a->info, i));
      print_attribute(out, &one);
      laze_text_append(out, " where the cached graph has ");
      print_attribute(out, &other);
      return true;
    }
    left = left_end;
    right = right_end;
  }
  return false;
}

static void explain_node(laze_text *out, const node_words *a, const node_words *b, int64_t a_inputs, int64_t b_inputs) {
  if (a->info != b->info) {
    laze_text_format(out, "the cached graph has %s here", b->info->name);
  } else if (explain_operands(out, a, b, a_inputs, b_inputs) || explain_attributes(out, a, b)) {
    return;
  } else if (!same_words(a->segments, a->attributes, b->segments, b->attributes)) {
    laze_text_append(out, "other optional arguments are present than in the cached graph");
  } else {
    laze_text_append(out, "the result is ");
    print_type(out, a->results);
    laze_text_append(out, " where the cached graph has ");
    print_type(out, b->results);
  }
}

/* The cached trace that begins like this one for longest; of several the most recently used. */
typedef struct {
  const laze_trace *trace;
  const laze_trace_entry *best;
  int64_t common;
} nearest_search;

static bool compare_with(void *self, void *object) {
  nearest_search *search = self;
  laze_trace_entry *entry = object;
  int64_t common = common_operators(search->trace, entry);
  if (common > search->common) search->best = entry, search->common = common;
  return true;
}

static void print_place(laze_text *out, const laze_trace *trace, int64_t position) {
  const laze_pending *node = trace->nodes[trace->node_count - 1 - position];
  laze_text_format(out, "node %lld, %s", (long long)position, laze_op_get(node->op)->name);
  if (node->location.file) laze_text_format(out, " at %s:%d", node->location.file, (int)node->location.line);
  laze_text_append(out, ": ");
}

/* The first node that differs from the cached graph's, and how. */
static void explain_difference(const laze_trace *trace, const laze_trace_entry *entry, laze_text *out) {
  const uint64_t *a = trace->words + 1, *b = entry->words + 1, *b_end = end_of(entry);
  int64_t a_inputs = 0, b_inputs = 0;
  for (int64_t position = 0; position < trace->node_count && !ends(b, b_end); position++) {
    int64_t a_before = a_inputs, b_before = b_inputs;
    node_words left = read_node(a, &a_inputs), right = read_node(b, &b_inputs);
    if (!same_words(a, left.end, b, right.end)) {
      print_place(out, trace, position);
      explain_node(out, &left, &right, a_before, b_before);
      return;
    }
    a = left.end;
    b = right.end;
  }
  laze_text_append(out, trace->words[0] != entry->words[0]
                            ? "the cached graph is of another backend, or of other settings"
                            : "other values are stored than in the cached graph");
}

/* How many nodes agree in every word. */
static int64_t common_nodes(const laze_trace *trace, const laze_trace_entry *entry) {
  const uint64_t *a = trace->words + 1, *b = entry->words + 1, *b_end = end_of(entry);
  int64_t a_inputs = 0, b_inputs = 0, count = 0;
  for (; count < trace->node_count && !ends(b, b_end); count++) {
    node_words left = read_node(a, &a_inputs), right = read_node(b, &b_inputs);
    if (!same_words(a, left.end, b, right.end)) break;
    a = left.end;
    b = right.end;
  }
  return count;
}

static void explain_against(const nearest_search *search, laze_text *out) {
  const laze_trace *trace = search->trace;
  int64_t common = search->common, nodes = count_nodes(search->best);
  int64_t shorter = nodes < trace->node_count ? nodes : trace->node_count;
  if (common == 0 || common < shorter / 2) {
    laze_text_append(out, "new graph");
    return;
  }
  if (common == shorter && nodes != trace->node_count) {
    bool equal = common_nodes(trace, search->best) == common;
    laze_text_format(out, "the same%s up to node %lld, %s", equal ? "" : " operators", (long long)common - 1,
                     nodes < trace->node_count ? "then longer" : "where the cached graph goes on");
    if (equal) return;
    laze_text_append(out, "; first difference: ");
  }
  explain_difference(trace, search->best, out);
}

void laze_miss_explain(const laze_trace *trace, laze_cache *cache, laze_text *out) {
  nearest_search search = {trace, NULL, -1};
  laze_text_format(out, "trace cache miss (%lld nodes): ", (long long)trace->node_count);
  /* Entries stay while the lazy lock is held: nobody else inserts, and so evicts. */
  laze_cache_each(cache, compare_with, &search);
  if (search.best)
    explain_against(&search, out);
  else
    laze_text_append(out, "new graph, the first one");
}
