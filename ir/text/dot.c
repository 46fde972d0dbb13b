/* Prints a graph for Graphviz: a box for each node, an arrow for each operand, a cluster for each region.
 *
 *   %1 = add %x, %0 : f32[2]        n0 [label="%x: f32[2]", shape=ellipse]
 *   return %1                       n2 [label="add\nf32[2]\nmodel.c:12"]
 *                                   n0 -> n2
 *                                   n2 -> r0
 */
#include "ir/text/text_internal.h"

#include "ir/op.gen.h"
#include "ir/walk.h"

enum { SHOWN_ELEMENTS = 4 };

typedef struct {
  laze_text *text, label;
  const laze_graph *graph;
  int32_t blocks; /* begun so far */
  int32_t numbers[LAZE_MAX_NESTING + 1];
} dot_printer;

static void indent(dot_printer *printer, int32_t depth) {
  for (int32_t i = 0; i <= depth; i++) laze_text_append(printer->text, "  ");
}

/* Appends the label that was collected, in quotes, and empties it. */
static void append_label(dot_printer *printer) {
  laze_text_append(printer->text, "\"");
  for (const char *c = laze_text_get(&printer->label); *c; c++) {
    if (*c == '\n')
      laze_text_append(printer->text, "\\n");
    else if ((unsigned char)*c < 0x20 || *c == 0x7f)
      laze_text_append(printer->text, "?");
    else
      laze_text_format(printer->text, *c == '"' || *c == '\\' ? "\\%c" : "%c", *c);
  }
  laze_text_append(printer->text, "\"");
  printer->text->failed |= printer->label.failed;
  printer->label.size = 0;
  if (printer->label.data) *printer->label.data = 0;
}

static void add_types(dot_printer *printer, const laze_node *node) {
  for (int32_t i = 0; i < node->result_count; i++) {
    laze_text_append(&printer->label, i ? ", " : "");
    laze_type_print(&printer->label, printer->graph->sizes, node->types[i]);
  }
}

static bool is_small(const laze_node *node) {
  const laze_type *type = node->types[0];
  int64_t elements = 1;
  for (int i = 0; i < type->rank && elements <= SHOWN_ELEMENTS; i++) elements *= type->sizes[i];
  return elements <= SHOWN_ELEMENTS;
}

static void add_arguments(dot_printer *printer, const laze_node *node) {
  const laze_op_info *info = laze_op_get(node->op);
  const laze_print_options all = {0};
  if (node->op == LAZE_OP_CONSTANT && is_small(node)) laze_constant_print(&printer->label, node, &all);
  if (node->op == LAZE_OP_CALL)
    laze_text_format(&printer->label, " @%s", node->attributes[LAZE_CALL_FUNCTION].value.string);
  for (int32_t i = 0; i < info->argument_count && node->op != LAZE_OP_CONSTANT && node->op != LAZE_OP_CALL; i++) {
    const laze_attribute *attribute = laze_text_printed_attribute(node, &info->arguments[i]);
    if (!attribute) continue;
    laze_text_format(&printer->label, "\n%s=", info->arguments[i].name);
    laze_attribute_print(&printer->label, printer->graph->sizes, attribute);
  }
}

/* Where the call stands: a line of a program, or what a front end says. */
static void add_place(dot_printer *printer, const laze_node *node) {
  if (!node->location.file) return;
  laze_text_format(&printer->label, "\n%s", node->location.file);
  if (node->location.line > 0) laze_text_format(&printer->label, ":%d", (int)node->location.line);
}

/* An arrow to `target`, with the result that it comes from where there are several. */
static void print_arrow(dot_printer *printer, int32_t depth, laze_value from, char kind, int32_t target) {
  indent(printer, depth);
  laze_text_format(printer->text, "n%d -> %c%d", from.node, kind, target);
  if (printer->graph->nodes[from.node].result_count > 1)
    laze_text_format(printer->text, " [label=\"#%d\"]", from.result);
  laze_text_append(printer->text, "\n");
}

static void print_node(dot_printer *printer, int32_t number, int32_t depth) {
  const laze_node *node = &printer->graph->nodes[number];
  laze_text_append(&printer->label, laze_op_get(node->op)->name);
  add_arguments(printer, node);
  laze_text_append(&printer->label, "\n");
  add_types(printer, node);
  add_place(printer, node);
  indent(printer, depth);
  laze_text_format(printer->text, "n%d [label=", number);
  append_label(printer);
  laze_text_append(printer->text, "]\n");
  for (int32_t i = 0; i < node->operand_count; i++) print_arrow(printer, depth, node->operands[i], 'n', number);
}

static void print_parameters(dot_printer *printer, const laze_block *block) {
  for (int64_t i = 0; i < block->parameter_count; i++) {
    const int32_t number = block->parameters[i];
    const laze_node *node = &printer->graph->nodes[number];
    laze_text_format(&printer->label, "%s%s", node->name && block->depth == 0 ? "%" : "",
                     node->name && block->depth == 0 ? node->name : "parameter");
    laze_text_append(&printer->label, ": ");
    add_types(printer, node);
    indent(printer, block->depth);
    laze_text_format(printer->text, "n%d [shape=ellipse, label=", number);
    append_label(printer);
    laze_text_append(printer->text, "]\n");
  }
}

static void begin_block(dot_printer *printer, const laze_walk *walk) {
  const int32_t depth = walk->block->depth, number = printer->blocks++;
  printer->numbers[depth] = number;
  if (depth > 0) {
    indent(printer, depth - 1);
    laze_text_format(printer->text, "subgraph cluster_%d {\n", number);
    indent(printer, depth);
    laze_text_format(printer->text, "label=\"a region of %s, n%d\"\n",
                     laze_op_get(printer->graph->nodes[laze_walk_owner(walk)].op)->name, laze_walk_owner(walk));
  }
  print_parameters(printer, walk->block);
}

static void end_block(dot_printer *printer, const laze_block *block) {
  const int32_t number = printer->numbers[block->depth];
  indent(printer, block->depth);
  laze_text_format(printer->text, "r%d [shape=plaintext, label=\"return\"]\n", number);
  for (int64_t i = 0; i < block->result_count; i++) print_arrow(printer, block->depth, block->results[i], 'r', number);
  if (block->depth > 0) indent(printer, block->depth - 1);
  laze_text_append(printer->text, "}\n");
}

void laze_graph_print_dot(laze_text *text, const laze_graph *graph, const char *title) {
  dot_printer printer = {.text = text, .graph = graph};
  laze_walk walk;
  laze_text_init(&printer.label, graph->context);
  laze_text_append(text, "digraph ");
  laze_text_append(&printer.label, graph->name);
  append_label(&printer);
  laze_text_append(text, " {\n  node [shape=box, fontname=\"monospace\"]\n  labelloc=t\n  label=");
  laze_text_append(&printer.label, title ? title : graph->name);
  append_label(&printer);
  laze_text_append(text, "\n");
  laze_walk_begin(&walk, graph);
  for (laze_walk_event event; (event = laze_walk_next(&walk)) != LAZE_WALK_DONE && !text->failed;) {
    if (event == LAZE_WALK_BLOCK) begin_block(&printer, &walk);
    if (event == LAZE_WALK_NODE) print_node(&printer, walk.node, walk.block->depth);
    if (event == LAZE_WALK_BLOCK_END) end_block(&printer, walk.block);
  }
  laze_text_deinit(&printer.label);
}
