/* Prints a graph:
 *
 *   graph @dense(%x: f32[n,784], %w: f32[784,10]) -> f32[n,10] {
 *     %0 = mm %x, %w : f32[n,10]
 *     return %0
 *   }
 */
#include "ir/text/text_internal.h"

#include "base/float_control.h"
#include "ir/attribute.h"
#include "ir/call_resolve.h"
#include "ir/defined_size.h"
#include "ir/op.gen.h"
#include "ir/signature.h"
#include "ir/walk.h"

#include <string.h>

enum { FEW_PASSED = 32 };

typedef struct {
  laze_text *text;
  const laze_graph *graph;
  const laze_print_options *options;
  /* How each node is called: at least 0, its number; below, ~i for the i-th input of the graph, which has a name. */
  int32_t *labels;
  const char **input_names;
  uint8_t *overloads; /* per operator: 0 not looked up, 1 the only one of its base name, 2 one of several */
  laze_arena arena;
  laze_name_table names;
  int32_t next_number;
} laze_printer;

static bool is_word_character(char c, bool first) {
  bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  return letter || (!first && ((c >= '0' && c <= '9') || c == '.'));
}

/* The name with what the text form does not allow replaced. Numbers are names of nodes, and so no input's. */
static char *clean_name(laze_arena *arena, const char *name, bool is_input) {
  char *clean = laze_arena_format(arena, "%s%s", is_word_character(*name, is_input) ? "" : "_", name);
  for (char *c = clean; c && *c; c++)
    if (!is_word_character(*c, false)) *c = '_';
  return clean;
}

/* Inputs that share a name get a number behind it. */
static bool choose_input_names(laze_printer *printer) {
  const laze_block *body = printer->graph->body;
  printer->input_names = laze_arena_alloc_array(&printer->arena, body->parameter_count, sizeof(char *));
  if (!printer->input_names) return false;
  for (int64_t i = 0; i < body->parameter_count; i++) {
    int32_t number = body->parameters[i];
    const char *name = printer->graph->nodes[number].name;
    const char *clean = clean_name(&printer->arena, name ? name : "arg", true), *chosen = clean;
    for (int64_t k = i; chosen && laze_name_find(&printer->names, 0, chosen, (int32_t)strlen(chosen)); k++)
      chosen = laze_arena_format(&printer->arena, "%s.%lld", clean, (long long)k);
    if (!chosen || laze_name_insert(&printer->names, 0, chosen, (int32_t)strlen(chosen), NULL, 0, NULL) != LAZE_OK)
      return false;
    printer->input_names[i] = chosen;
    printer->labels[number] = (int32_t)~i;
  }
  return true;
}

static void print_value(laze_printer *printer, laze_value value) {
  int32_t label = printer->labels[value.node];
  if (label < 0)
    laze_text_format(printer->text, "%%%s", printer->input_names[~label]);
  else
    laze_text_format(printer->text, "%%%d", label);
  if (printer->graph->nodes[value.node].result_count > 1) laze_text_format(printer->text, "#%d", value.result);
}

static void print_values(laze_printer *printer, const laze_value *values, int64_t count) {
  for (int64_t i = 0; i < count; i++) {
    if (i > 0) laze_text_append(printer->text, ", ");
    print_value(printer, values[i]);
  }
}

static void print_type(laze_printer *printer, const laze_type *type) {
  laze_type_print(printer->text, printer->graph->sizes, type);
}

static void print_types(laze_printer *printer, const char *before, const laze_node *node) {
  laze_text_append(printer->text, before);
  for (int32_t i = 0; i < node->result_count; i++) {
    if (i > 0) laze_text_append(printer->text, ", ");
    print_type(printer, node->types[i]);
  }
}

static void print_indent(laze_printer *printer, int32_t depth) {
  for (int32_t i = 0; i < depth; i++) laze_text_append(printer->text, "  ");
}

static void print_parameters(laze_printer *printer, const laze_block *block) {
  laze_text_append(printer->text, "(");
  for (int64_t i = 0; i < block->parameter_count; i++) {
    int32_t number = block->parameters[i];
    if (block->depth > 0) printer->labels[number] = printer->next_number++;
    if (i > 0) laze_text_append(printer->text, ", ");
    print_value(printer, (laze_value){number, 0});
    laze_text_append(printer->text, ": ");
    print_type(printer, printer->graph->nodes[number].types[0]);
  }
  laze_text_append(printer->text, ")");
}

/* Whether the symbols from `next` on are those that nodes define, in their order. */
static bool definers_follow(const laze_graph *graph, int64_t next) {
  int64_t all = laze_size_symbol_count(graph->sizes);
  laze_walk walk;
  laze_walk_begin(&walk, graph);
  for (laze_walk_event event; next < all && (event = laze_walk_next(&walk)) != LAZE_WALK_DONE;) {
    if (event != LAZE_WALK_NODE) continue;
    laze_call call = laze_node_call(&graph->nodes[walk.node]);
    int32_t count;
    const laze_size *sizes = laze_call_defined_sizes(&call, &count);
    for (int32_t i = 0; i < count; i++)
      if (laze_size_get(graph->sizes, sizes[i])->symbol != next++) return false;
  }
  return next == all;
}

/* Whether reading the graph without a list creates the symbols in the order they have here, and no hint is lost. */
static bool symbols_follow(const laze_graph *graph) {
  int64_t count = laze_size_symbol_count(graph->sizes), next = 0;
  for (int64_t i = 0; i < count; i++)
    if (laze_size_hint(graph->sizes, i) >= 0) return false;
  for (int64_t i = 0; i < graph->body->parameter_count && next < count; i++) {
    const laze_type *type = graph->nodes[graph->body->parameters[i]].types[0];
    for (int axis = 0; axis < type->rank && next < count; axis++)
      if (!laze_size_is_constant(type->sizes[axis])) {
        int64_t last = laze_size_get(graph->sizes, type->sizes[axis])->last;
        if (last > next) return false; /* reading this expression meets a later symbol first, or might */
        if (last == next) next++;
      }
  }
  return definers_follow(graph, next);
}

static void print_symbols(laze_printer *printer) {
  const laze_size_table *sizes = printer->graph->sizes;
  if (symbols_follow(printer->graph)) return;
  laze_text_append(printer->text, "sizes");
  for (int64_t i = 0; i < laze_size_symbol_count(sizes); i++) {
    laze_text_format(printer->text, "%s %s", i ? "," : "", laze_size_symbol_name(sizes, i));
    if (laze_size_is_defined(sizes, laze_size_symbol_at(sizes, i))) laze_text_append(printer->text, "=defined");
    if (laze_size_hint(sizes, i) >= 0) laze_text_format(printer->text, "=%lld", (long long)laze_size_hint(sizes, i));
  }
  laze_text_append(printer->text, "\n");
}

static void print_header(laze_printer *printer) {
  const laze_block *body = printer->graph->body;
  const char *name = clean_name(&printer->arena, printer->graph->name, false);
  if (!name) printer->text->failed = true;
  laze_text_format(printer->text, "%s @%s", printer->graph->is_function ? "function" : "graph", name ? name : "");
  print_parameters(printer, body);
  for (int64_t i = 0; i < body->result_count; i++) {
    laze_text_append(printer->text, i ? ", " : " -> ");
    print_type(printer, laze_graph_type(printer->graph, body->results[i]));
  }
}

void laze_text_append_string(laze_text *text, const char *string) {
  laze_text_append(text, "\"");
  for (const char *c = string; *c; c++) {
    if (*c == '"' || *c == '\\')
      laze_text_format(text, "\\%c", *c);
    else if ((unsigned char)*c < 0x20 || *c == 0x7f)
      laze_text_format(text, "\\x%02x", (unsigned char)*c);
    else
      laze_text_append_bytes(text, c, 1);
  }
  laze_text_append(text, "\"");
}

static void print_items(laze_text *text, const laze_size_table *sizes, const laze_attribute *attribute) {
  laze_text_append(text, "[");
  for (int32_t i = 0; i < attribute->count; i++) {
    if (i > 0) laze_text_append(text, ", ");
    laze_size_print(text, sizes, attribute->value.items[i]);
  }
  laze_text_append(text, "]");
}

static void print_reals(laze_text *text, const laze_attribute *attribute) {
  laze_text_append(text, "[");
  for (int32_t i = 0; i < attribute->count; i++) {
    if (i > 0) laze_text_append(text, ", ");
    laze_text_append_element(text, LAZE_F64, attribute->value.reals, i);
  }
  laze_text_append(text, "]");
}

static void print_strings(laze_text *text, const laze_attribute *attribute) {
  laze_text_append(text, "[");
  for (int32_t i = 0; i < attribute->count; i++) {
    if (i > 0) laze_text_append(text, ", ");
    laze_text_append_string(text, laze_attribute_text(attribute, i));
  }
  laze_text_append(text, "]");
}

static void print_literal(laze_text *text, laze_scalar literal) {
  const double parts[] = {literal.value.real, literal.imaginary};
  if (laze_dtype_is_inexact(literal.dtype))
    laze_text_append_element(text, literal.dtype, parts, 0);
  else
    laze_text_append_scalar(text, literal.dtype, literal);
}

void laze_attribute_print(laze_text *text, const laze_size_table *sizes, const laze_attribute *attribute) {
  if (!attribute->present) {
    laze_text_append(text, "none");
    return;
  }
  switch ((laze_argument_kind)attribute->kind) {
  case LAZE_ARGUMENT_TENSOR: /* operands are no attributes; elements stand behind `constant` */
  case LAZE_ARGUMENT_TENSOR_LIST:
  case LAZE_ARGUMENT_OPTIONAL_LIST:
  case LAZE_ARGUMENT_SCALAR:
  case LAZE_ARGUMENT_DATA: break;
  case LAZE_ARGUMENT_INT: laze_text_format(text, "%lld", (long long)attribute->value.integer); break;
  case LAZE_ARGUMENT_SIZE: laze_size_print(text, sizes, attribute->value.size); break;
  case LAZE_ARGUMENT_FLOAT: laze_text_append_element(text, LAZE_F64, &attribute->value.real, 0); break;
  case LAZE_ARGUMENT_BOOL: laze_text_append(text, attribute->value.integer ? "true" : "false"); break;
  case LAZE_ARGUMENT_DTYPE: laze_text_append(text, laze_dtype_name((laze_dtype)attribute->value.integer)); break;
  case LAZE_ARGUMENT_STRING: laze_text_append_string(text, attribute->value.string); break;
  case LAZE_ARGUMENT_INT_LIST:
  case LAZE_ARGUMENT_SIZE_LIST: print_items(text, sizes, attribute); break;
  case LAZE_ARGUMENT_FLOAT_LIST: print_reals(text, attribute); break;
  case LAZE_ARGUMENT_STRING_LIST: print_strings(text, attribute); break;
  case LAZE_ARGUMENT_LITERAL: print_literal(text, attribute->value.literal); break;
  }
}

const laze_attribute *laze_text_printed_attribute(const laze_node *node, const laze_argument_info *argument) {
  if (laze_argument_is_operand(argument->kind)) return NULL;
  const laze_attribute *attribute = &node->attributes[argument->position];
  if (argument->has_default && laze_attribute_equal(attribute, &argument->default_value)) return NULL;
  if (!attribute->present && !argument->default_value.present) return NULL;
  return attribute;
}

/* The node's arguments as a call would pass them, trailing absent operands left out; returns how many. */
static int32_t passed_arguments(laze_printer *printer, const laze_node *node, laze_passed *passed) {
  const laze_op_info *info = laze_op_get(node->op);
  int32_t count = 0, kept = 0, operand = 0;
  for (int32_t i = 0; i < info->argument_count; i++) {
    const laze_argument_info *argument = &info->arguments[i];
    if (!laze_argument_is_operand(argument->kind)) continue;
    int32_t segment = node->segments ? node->segments[argument->position] : 1;
    passed[count] = (laze_passed){.kind = LAZE_PASSED_ABSENT, .argument = segment};
    if (argument->kind == LAZE_ARGUMENT_TENSOR_LIST && segment >= 0)
      passed[count].kind = segment ? LAZE_PASSED_TENSOR_LIST : LAZE_PASSED_EMPTY_LIST;
    else if (segment > 0)
      passed[count].kind = laze_graph_type(printer->graph, node->operands[operand])->rank == 0
                               ? LAZE_PASSED_SCALAR_TENSOR
                               : LAZE_PASSED_TENSOR;
    operand += segment > 0 ? segment : 0;
    count++;
    if (segment >= 0) kept = count;
  }
  return kept;
}

static laze_passed_kind list_kind(const laze_attribute *attribute) {
  for (int32_t i = 0; i < attribute->count; i++)
    if (!laze_size_is_constant(attribute->value.items[i])) return LAZE_PASSED_SIZE_LIST;
  return attribute->count ? LAZE_PASSED_INT_LIST : LAZE_PASSED_EMPTY_LIST;
}

/* What the parser takes the attribute's text for. */
static laze_passed_kind passed_kind(const laze_attribute *attribute) {
  if (!attribute->present) return LAZE_PASSED_ABSENT;
  switch ((laze_argument_kind)attribute->kind) {
  case LAZE_ARGUMENT_TENSOR: /* operands are no attributes */
  case LAZE_ARGUMENT_TENSOR_LIST:
  case LAZE_ARGUMENT_OPTIONAL_LIST:
  case LAZE_ARGUMENT_SCALAR:
  case LAZE_ARGUMENT_DATA:
  case LAZE_ARGUMENT_INT: break;
  case LAZE_ARGUMENT_SIZE: return laze_size_is_constant(attribute->value.size) ? LAZE_PASSED_INTEGER : LAZE_PASSED_SIZE;
  case LAZE_ARGUMENT_FLOAT: return LAZE_PASSED_REAL;
  case LAZE_ARGUMENT_BOOL: return LAZE_PASSED_BOOL;
  case LAZE_ARGUMENT_DTYPE: return LAZE_PASSED_DTYPE;
  case LAZE_ARGUMENT_STRING: return LAZE_PASSED_STRING;
  case LAZE_ARGUMENT_INT_LIST:
  case LAZE_ARGUMENT_SIZE_LIST: return list_kind(attribute);
  case LAZE_ARGUMENT_FLOAT_LIST: return attribute->count ? LAZE_PASSED_FLOAT_LIST : LAZE_PASSED_EMPTY_LIST;
  case LAZE_ARGUMENT_STRING_LIST: return attribute->count ? LAZE_PASSED_STRING_LIST : LAZE_PASSED_EMPTY_LIST;
  case LAZE_ARGUMENT_LITERAL: return LAZE_PASSED_LITERAL;
  }
  return LAZE_PASSED_INTEGER;
}

/* Whether the base name alone, with these arguments, means this operator. */
static bool base_name_suffices(laze_printer *printer, const laze_node *node, const laze_passed *operands,
                               int32_t count) {
  const laze_op_info *info = laze_op_get(node->op);
  uint8_t *known = &printer->overloads[node->op];
  if (*known == 0) *known = laze_op_overload(info->base, 1) == LAZE_OP_NONE ? 1 : 2;
  if (*known == 1) return true;
  laze_passed passed[2 * FEW_PASSED];
  memcpy(passed, operands, (size_t)count * sizeof *passed);
  for (int32_t i = 0; i < info->argument_count; i++) {
    const laze_attribute *attribute = laze_text_printed_attribute(node, &info->arguments[i]);
    if (!attribute) continue;
    const char *name = info->arguments[i].name;
    passed[count++] = (laze_passed){.name = name, .name_length = (int32_t)strlen(name), .kind = passed_kind(attribute)};
  }
  laze_op op;
  laze_overload_call call = {info->base, LAZE_POSITIONS_OPERANDS, passed, count, true, false};
  return laze_call_resolve(&call, &op, NULL) == LAZE_OK && op == node->op;
}

static void print_operands(laze_printer *printer, const laze_node *node, const laze_passed *passed, int32_t count) {
  const laze_value *next = node->operands;
  for (int32_t i = 0; i < count; i++) {
    int32_t segment = passed[i].argument;
    laze_text_append(printer->text, i ? ", " : " ");
    if (segment < 0) {
      laze_text_append(printer->text, "none");
    } else if (passed[i].kind == LAZE_PASSED_TENSOR || passed[i].kind == LAZE_PASSED_SCALAR_TENSOR) {
      print_value(printer, *next++);
    } else {
      laze_text_append(printer->text, "[");
      print_values(printer, next, segment);
      laze_text_append(printer->text, "]");
      next += segment;
    }
  }
}

static void print_arguments(laze_printer *printer, const laze_node *node) {
  const laze_op_info *info = laze_op_get(node->op);
  laze_passed passed[FEW_PASSED];
  int32_t count = passed_arguments(printer, node, passed);
  laze_text_append(printer->text, base_name_suffices(printer, node, passed, count) ? info->base : info->name);
  print_operands(printer, node, passed, count);
  for (int32_t i = 0; i < info->argument_count; i++) {
    const laze_attribute *attribute = laze_text_printed_attribute(node, &info->arguments[i]);
    if (!attribute) continue;
    laze_text_format(printer->text, "%s%s=", count++ ? ", " : " ", info->arguments[i].name);
    laze_attribute_print(printer->text, printer->graph->sizes, attribute);
  }
}

/* What a front end calls the node. The lines of a program's source, which it may have instead, stay out. */
static void print_label(laze_text *text, const laze_node *node) {
  if (node->name) {
    laze_text_append(text, " name(");
    laze_text_append_string(text, node->name);
    laze_text_append(text, ")");
  }
  if (node->location.file && node->location.line == 0) {
    laze_text_append(text, " loc(");
    laze_text_append_string(text, node->location.file);
    laze_text_append(text, ")");
  }
  laze_text_append(text, "\n");
}

/* Types and label of a node, behind its arguments or its regions. */
static void print_end(laze_printer *printer, const laze_node *node) {
  print_types(printer, " : ", node);
  print_label(printer->text, node);
}

static void print_node(laze_printer *printer, int32_t number, int32_t depth) {
  const laze_node *node = &printer->graph->nodes[number];
  int32_t label = printer->labels[number] = printer->next_number++;
  print_indent(printer, depth + 1);
  laze_text_format(printer->text, "%%%d", label);
  if (node->result_count != 1) laze_text_format(printer->text, ":%d", node->result_count);
  laze_text_append(printer->text, " = ");
  if (node->op == LAZE_OP_CONSTANT) {
    laze_text_append(printer->text, laze_op_get(node->op)->name);
    laze_constant_print(printer->text, node, printer->options);
  } else if (node->op == LAZE_OP_CALL) {
    laze_text_format(printer->text, "%s @%s", laze_op_get(node->op)->name,
                     node->attributes[LAZE_CALL_FUNCTION].value.string);
    laze_text_append(printer->text, node->operand_count ? " " : "");
    print_values(printer, node->operands, node->operand_count);
  } else if (laze_op_get(node->op)->argument_count <= FEW_PASSED) {
    print_arguments(printer, node);
  }
  if (node->region_count == 0) print_end(printer, node);
}

static void print_return(laze_printer *printer, const laze_block *block) {
  print_indent(printer, block->depth + 1);
  laze_text_append(printer->text, block->result_count ? "return " : "return");
  print_values(printer, block->results, block->result_count);
  laze_text_append(printer->text, "\n");
  print_indent(printer, block->depth);
  laze_text_append(printer->text, block->depth ? "}" : "}\n");
}

static void print_graph(laze_printer *printer) {
  laze_walk walk;
  laze_walk_begin(&walk, printer->graph);
  for (laze_walk_event event; (event = laze_walk_next(&walk)) != LAZE_WALK_DONE && !printer->text->failed;) {
    if (event == LAZE_WALK_BLOCK) {
      if (walk.block->depth == 0) print_symbols(printer);
      if (walk.block->depth == 0) laze_signature_print(printer->text, printer->graph);
      if (walk.block->depth == 0) print_header(printer);
      if (walk.block->depth > 0) laze_text_append(printer->text, " ");
      if (walk.block->depth > 0) print_parameters(printer, walk.block);
      laze_text_append(printer->text, " {\n");
    } else if (event == LAZE_WALK_NODE) {
      print_node(printer, walk.node, walk.block->depth);
    } else if (event == LAZE_WALK_NODE_END) {
      print_end(printer, &printer->graph->nodes[walk.node]);
    } else {
      print_return(printer, walk.block);
    }
  }
}

static void print_guarded(laze_text *text, const laze_graph *graph, const laze_print_options *options,
                          void (*print)(laze_printer *printer)) {
  laze_printer printer = {.text = text, .graph = graph, .options = options};
  laze_float_control caller;
  laze_float_control_enter(&caller); /* the shortest digits are found by reading them back */
  laze_arena_init(&printer.arena, graph->context);
  laze_name_table_init(&printer.names, graph->context);
  printer.labels = laze_arena_alloc_array(&printer.arena, graph->node_count, sizeof *printer.labels);
  printer.overloads = laze_arena_alloc_zero(&printer.arena, laze_op_count);
  if (printer.labels && printer.overloads && choose_input_names(&printer))
    print(&printer);
  else
    text->failed = true;
  laze_name_table_deinit(&printer.names);
  laze_arena_deinit(&printer.arena);
  laze_float_control_leave(&caller);
}

void laze_graph_print_with(laze_text *text, const laze_graph *graph, const laze_print_options *options) {
  if (!options->without_version) laze_text_append(text, "laze 1\n");
  print_guarded(text, graph, options, print_graph);
}

void laze_graph_print(laze_text *text, const laze_graph *graph, bool with_version) {
  const laze_print_options options = {.without_version = !with_version};
  laze_graph_print_with(text, graph, &options);
}

void laze_module_print(laze_text *text, const laze_module *module, const laze_print_options *options) {
  if (!options->without_version) laze_text_append(text, "laze 1\n");
  for (int64_t i = 0; i < module->count; i++) {
    if (i > 0) laze_text_append(text, "\n");
    print_guarded(text, module->graphs[i], options, print_graph);
  }
}

void laze_graph_print_signature(laze_text *text, const laze_graph *graph) {
  const laze_print_options options = {0};
  print_guarded(text, graph, &options, print_header);
}
