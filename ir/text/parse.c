/* Reads a module by its structure: functions and graphs, of each its header, statements, regions on a stack of frames,
 * and `return`. Each statement becomes a call that the builder records, so shapes are inferred as everywhere; types in
 * the text are only checked. */
#include "ir/text/parser.h"

#include "base/checked.h"
#include "base/float_control.h"
#include "ir/control.h"
#include "ir/defined_size.h"
#include "ir/op.gen.h"

#include <string.h>

/* What the scratch arena may hold between two statements. */
enum { SCRATCH_BYTES = 1 << 16 };

static laze_parser_frame *top(laze_parser *parser) {
  return &parser->frames[parser->depth - 1];
}

static laze_status locate(laze_parser *parser, const char *at, laze_status status, laze_error *error) {
  return status == LAZE_OK ? LAZE_OK : laze_lexer_locate(&parser->lexer, at, error);
}

static laze_status define(laze_parser *parser, const char *name, int32_t length, const laze_value *values,
                          int32_t count, laze_error *error) {
  int32_t scope = top(parser)->scope;
  if (laze_name_find(&parser->names, scope, name, length))
    return laze_lexer_fail(&parser->lexer, name - 1, error, "%%%.*s is defined twice; choose another name",
                           length > 64 ? 64 : length, name);
  return laze_name_insert(&parser->names, scope, name, length, values, count, error);
}

/* `%x: f32[n]`, a parameter of the innermost block. */
static laze_status parse_parameter(laze_parser *parser, laze_error *error) {
  laze_lexer *lexer = &parser->lexer;
  laze_token token = lexer->token;
  laze_type type;
  laze_value value;
  if (token.kind != LAZE_TOKEN_VALUE) return laze_lexer_expected(lexer, "a parameter", error);
  laze_lexer_advance(lexer);
  LAZE_TRY(laze_lexer_expect(lexer, ':', error));
  LAZE_TRY(laze_parse_type(parser, &type, error));
  char *name = laze_arena_alloc(&parser->scratch, token.length + 1);
  if (!name) return laze_fail_memory(error, "a parameter's name", token.length);
  memcpy(name, token.start, (size_t)token.length);
  name[token.length] = 0;
  LAZE_TRY(laze_graph_add_parameter(parser->graph, top(parser)->block, name, &type, &value, error));
  return define(parser, token.start, token.length, &value, 1, error);
}

static laze_status parse_parameters(laze_parser *parser, laze_error *error) {
  LAZE_TRY(laze_lexer_expect(&parser->lexer, '(', error));
  while (!laze_lexer_at(&parser->lexer, ')')) {
    if (top(parser)->block->parameter_count > 0) LAZE_TRY(laze_lexer_expect(&parser->lexer, ',', error));
    LAZE_TRY(parse_parameter(parser, error));
  }
  laze_lexer_advance(&parser->lexer);
  return LAZE_OK;
}

static void push_frame(laze_parser *parser, laze_block *block) {
  laze_parser_frame *frame = &parser->frames[parser->depth++];
  frame->block = block;
  frame->scope = parser->next_scope++;
  frame->region_count = 0;
  parser->builder.block = block;
}

/* The statement's types, if it has them, must be what was inferred: sizes may be other expressions that are known to be
 * equal, from the values of the `sizes` line. */
static laze_status check_types(laze_parser *parser, const laze_value *values, int32_t count, laze_error *error) {
  laze_lexer *lexer = &parser->lexer;
  if (!laze_lexer_take(lexer, ':')) return LAZE_OK;
  for (int32_t i = 0; i < count; i++) {
    const char *at = lexer->token.start;
    laze_type type;
    char written[256], inferred[256];
    if (i > 0) LAZE_TRY(laze_lexer_expect(lexer, ',', error));
    if (i > 0) at = lexer->token.start;
    LAZE_TRY(laze_parse_type(parser, &type, error));
    const laze_type *real = laze_graph_type(parser->graph, values[i]);
    const laze_size_table *sizes = parser->graph->sizes;
    bool same;
    LAZE_TRY(laze_graph_same_type(parser->graph, real, &type, &same, error));
    if (!same)
      return laze_lexer_fail(lexer, at, error, "result %d has type %s, not %s", i,
                             laze_type_format(sizes, real, inferred, sizeof inferred),
                             laze_type_format(sizes, &type, written, sizeof written));
  }
  return LAZE_OK;
}

/* What a front end calls the nodes from `first` on, which the statement made. */
static laze_status parse_label(laze_parser *parser, int64_t first, laze_error *error) {
  laze_graph *graph = parser->graph;
  laze_parsed_label label;
  LAZE_TRY(laze_parse_label(&parser->lexer, &graph->arena, &label, error));
  for (int64_t i = first; i < graph->node_count; i++) {
    if (label.name) graph->nodes[i].name = label.name;
    if (label.place) graph->nodes[i].location = (laze_location){.file = label.place};
  }
  return LAZE_OK;
}

/* Behind a call: its types, its label, and its results by name. The nodes from `first` on are the call's. */
static laze_status finish_statement(laze_parser *parser, const laze_statement *statement, const laze_value *values,
                                    int32_t count, laze_error *error) {
  if (count != statement->result_count)
    return laze_lexer_fail(&parser->lexer, statement->at, error, "%s gives %d results; write %%%.*s:%d",
                           laze_op_get(statement->call.op)->name, count, statement->name_length, statement->name,
                           count);
  LAZE_TRY(check_types(parser, values, count, error));
  LAZE_TRY(parse_label(parser, statement->first_node, error));
  return define(parser, statement->name, statement->name_length, values, count, error);
}

/* The error of a call, which names the operator as the statement does. */
static laze_status fail_statement(laze_parser *parser, const laze_statement *statement, laze_error *error) {
  char name[LAZE_PARSER_NAME];
  memcpy(name, statement->at, (size_t)statement->operator_length);
  name[statement->operator_length] = 0;
  laze_op_rename_error(error, name);
  laze_parse_label_error(parser, error);
  return laze_lexer_locate(&parser->lexer, statement->at, error);
}

static laze_status record_statement(laze_parser *parser, const laze_statement *statement, laze_error *error) {
  laze_value results[LAZE_PARSER_RESULTS];
  laze_recorder *recorder = &parser->builder.recorder;
  if (statement->call.op == LAZE_OP_PARAMETER)
    return laze_lexer_fail(&parser->lexer, statement->at, error, "parameters stand in the header of a block");
  if (recorder->record(recorder, &statement->call, results, error) != LAZE_OK)
    return fail_statement(parser, statement, error);
  int32_t count = laze_op_get(statement->call.op)->result_count;
  if (count < 0) count = laze_graph_node(parser->graph, results[0])->result_count;
  return finish_statement(parser, statement, results, count, error);
}

/* The node's results by name. */
static laze_status finish_node(laze_parser *parser, const laze_statement *statement, laze_value first,
                               laze_error *error) {
  int32_t count = parser->graph->nodes[first.node].result_count;
  laze_value *results = laze_arena_alloc_array(&parser->scratch, count, sizeof *results);
  if (!results) return laze_fail_memory(error, "the results of a node", -1);
  for (int32_t i = 0; i < count; i++) results[i] = (laze_value){first.node, i};
  return finish_statement(parser, statement, results, count, error);
}

static laze_status record_call(laze_parser *parser, const laze_statement *statement, laze_error *error) {
  laze_value first;
  if (laze_module_append_call(parser->graph, top(parser)->block, statement->function, &statement->call, &first,
                              error) != LAZE_OK)
    return fail_statement(parser, statement, error);
  return finish_node(parser, statement, first, error);
}

/* All regions of the innermost frame's pending statement are read. */
static laze_status finish_regions(laze_parser *parser, laze_error *error) {
  laze_parser_frame *frame = top(parser);
  laze_value *results;
  int32_t count;
  laze_status status = laze_graph_append_capturing(parser->graph, frame->block, &frame->pending.call, frame->regions,
                                                   &frame->captures, &results, &count, error);
  LAZE_TRY(locate(parser, frame->pending.at, status, error));
  frame->pending.first_node = results[0].node; /* what stands in its regions has labels of its own */
  return finish_statement(parser, &frame->pending, results, count, error);
}

/* `(%a: f32[2]) {` of the pending statement's next region; without parameters also `{`. */
static laze_status open_region(laze_parser *parser, laze_error *error) {
  laze_parser_frame *frame = top(parser);
  laze_block *region;
  laze_status status = laze_graph_add_region(parser->graph, frame->block, &region, error);
  LAZE_TRY(locate(parser, frame->pending.at, status, error));
  frame->regions[frame->region_count++] = region;
  push_frame(parser, region);
  if (!laze_lexer_at(&parser->lexer, '{')) LAZE_TRY(parse_parameters(parser, error));
  return laze_lexer_expect(&parser->lexer, '{', error);
}

/* `%x:2 =`, with the count left out where it is 1. */
static laze_status parse_result_name(laze_parser *parser, laze_statement *statement, laze_error *error) {
  laze_lexer *lexer = &parser->lexer;
  if (lexer->token.kind != LAZE_TOKEN_VALUE) return laze_lexer_expected(lexer, "a statement or 'return'", error);
  statement->name = lexer->token.start;
  statement->name_length = lexer->token.length;
  statement->result_count = 1;
  laze_lexer_advance(lexer);
  if (laze_lexer_take(lexer, ':')) {
    const char *cursor = lexer->token.start;
    if (lexer->token.kind != LAZE_TOKEN_NUMBER ||
        !laze_text_read_element(&cursor, LAZE_I32, &statement->result_count, 0))
      return laze_lexer_expected(lexer, "the number of results", error);
    laze_lexer_advance(lexer);
  }
  return laze_lexer_expect(lexer, '=', error);
}

static laze_status parse_statement(laze_parser *parser, laze_error *error) {
  laze_statement statement;
  if (parser->depth == 1 && parser->scratch.bytes > SCRATCH_BYTES) laze_arena_deinit(&parser->scratch);
  LAZE_TRY(parse_result_name(parser, &statement, error));
  const int64_t first_node = parser->graph->node_count;
  LAZE_TRY(laze_parse_call(parser, &statement, error));
  statement.first_node = first_node; /* numbers among the operands are nodes of the statement, too */
  if (statement.function) return record_call(parser, &statement, error);
  if (laze_op_get(statement.call.op)->region_count == 0) return record_statement(parser, &statement, error);
  top(parser)->pending = statement;
  top(parser)->region_count = 0;
  top(parser)->captures = (laze_captures){.arena = &parser->scratch};
  return open_region(parser, error);
}

/* `-> f32[u0]` may name sizes that the body defines, so that it is read behind the body. */
static void skip_declared(laze_parser *parser) {
  laze_lexer *lexer = &parser->lexer;
  if (lexer->token.kind != LAZE_TOKEN_ARROW) return;
  parser->declared_at = lexer->cursor;
  while (lexer->token.kind != LAZE_TOKEN_END && !laze_lexer_at(lexer, '{')) laze_lexer_advance(lexer);
}

static laze_status parse_declared(laze_parser *parser, laze_error *error) {
  if (!parser->declared_at) return LAZE_OK;
  parser->lexer.cursor = parser->declared_at;
  laze_lexer_advance(&parser->lexer);
  do {
    LAZE_TRY(laze_grow(parser->graph->context, (void **)&parser->declared, &parser->declared_capacity,
                       parser->declared_count + 1, sizeof *parser->declared, error));
    LAZE_TRY(laze_parse_type(parser, &parser->declared[parser->declared_count], error));
    parser->declared_count++;
  } while (laze_lexer_take(&parser->lexer, ','));
  return laze_lexer_at(&parser->lexer, '{') ? LAZE_OK : laze_lexer_expected(&parser->lexer, "'{'", error);
}

static laze_status check_declared(laze_parser *parser, const char *at, laze_error *error) {
  const laze_block *body = parser->graph->body;
  const laze_size_table *sizes = parser->graph->sizes;
  char returned[256], declared[256];
  if (!parser->declared_at) return LAZE_OK;
  laze_lexer behind = parser->lexer;
  LAZE_TRY(parse_declared(parser, error));
  parser->lexer = behind;
  if (body->result_count != parser->declared_count)
    return laze_lexer_fail(&parser->lexer, at, error, "returns %lld values, but the header declares %lld",
                           (long long)body->result_count, (long long)parser->declared_count);
  for (int64_t i = 0; i < body->result_count; i++) {
    const laze_type *type = laze_graph_type(parser->graph, body->results[i]);
    bool same;
    LAZE_TRY(laze_graph_same_type(parser->graph, type, &parser->declared[i], &same, error));
    if (!same)
      return laze_lexer_fail(&parser->lexer, at, error, "returns %s as result %lld, but the header declares %s",
                             laze_type_format(sizes, type, returned, sizeof returned), (long long)i,
                             laze_type_format(sizes, &parser->declared[i], declared, sizeof declared));
  }
  return LAZE_OK;
}

static laze_status parse_return(laze_parser *parser, laze_error *error) {
  laze_lexer *lexer = &parser->lexer;
  const char *at = lexer->token.start;
  laze_lexer_advance(lexer);
  parser->value_count = 0;
  while (!laze_lexer_at(lexer, '}')) {
    laze_value value;
    if (parser->value_count > 0) LAZE_TRY(laze_lexer_expect(lexer, ',', error));
    LAZE_TRY(laze_parse_value(parser, &value, error));
    LAZE_TRY(laze_grow(parser->graph->context, (void **)&parser->values, &parser->value_capacity,
                       parser->value_count + 1, sizeof value, error));
    parser->values[parser->value_count++] = value;
  }
  LAZE_TRY(laze_block_set_results(parser->graph, top(parser)->block, parser->values, parser->value_count, error));
  laze_lexer_advance(lexer);
  if (--parser->depth == 0) return check_declared(parser, at, error);
  laze_parser_frame *frame = top(parser);
  parser->builder.block = frame->block;
  if (frame->region_count < laze_op_get(frame->pending.call.op)->region_count) return open_region(parser, error);
  return finish_regions(parser, error);
}

/* `sizes n=32, m, u0=defined`: the symbols in their order, with their hints. */
static laze_status parse_symbols(laze_parser *parser, laze_error *error) {
  laze_lexer *lexer = &parser->lexer;
  if (!laze_lexer_take_word(lexer, "sizes")) return LAZE_OK;
  do {
    const char *start = lexer->token.start, *cursor = start;
    laze_size symbol;
    int64_t hint, number = laze_size_symbol_count(parser->graph->sizes);
    if (lexer->token.kind != LAZE_TOKEN_WORD) return laze_lexer_expected(lexer, "the name of a size", error);
    LAZE_TRY(locate(parser, start, laze_size_parse(parser->graph->sizes, &cursor, &symbol, error), error));
    if (laze_size_symbol_count(parser->graph->sizes) != number + 1 ||
        laze_size_symbol_at(parser->graph->sizes, number) != symbol)
      return laze_lexer_fail(lexer, start, error, "expected the name of a size that is not listed yet");
    laze_lexer_resume(lexer, cursor);
    LAZE_TRY(laze_grow(parser->graph->context, (void **)&parser->reserved, &parser->reserved_capacity, number + 1,
                       sizeof *parser->reserved, error));
    parser->reserved[number] = false;
    parser->reserved_count = number + 1;
    if (!laze_lexer_take(lexer, '=')) continue;
    if (laze_lexer_take_word(lexer, "defined")) {
      parser->reserved[number] = true;
      continue;
    }
    cursor = lexer->token.start;
    if (lexer->token.kind != LAZE_TOKEN_NUMBER || !laze_text_read_element(&cursor, LAZE_I64, &hint, 0) || hint < 0)
      return laze_lexer_expected(lexer, "the value of a size", error);
    LAZE_TRY(locate(parser, start, laze_size_set_hint(parser->graph->sizes, number, hint, error), error));
    laze_lexer_advance(lexer);
  } while (laze_lexer_take(lexer, ','));
  return LAZE_OK;
}

static laze_status parse_version(laze_parser *parser, laze_error *error) {
  laze_lexer *lexer = &parser->lexer;
  if (!laze_lexer_take_word(lexer, "laze")) return laze_lexer_expected(lexer, "'laze 1' at the start", error);
  if (lexer->token.kind != LAZE_TOKEN_NUMBER || lexer->token.length != 1 || *lexer->token.start != '1')
    return laze_lexer_expected(lexer, "version 1, which is what this build reads", error);
  laze_lexer_advance(lexer);
  return LAZE_OK;
}

/* The name behind `graph` or `function`, in the graph's arena. */
static laze_status parse_name(laze_parser *parser, bool is_function, laze_error *error) {
  laze_lexer *lexer = &parser->lexer;
  laze_graph *graph = parser->graph;
  const laze_token token = lexer->token;
  if (token.kind != LAZE_TOKEN_GRAPH_NAME)
    return laze_lexer_expected(lexer, is_function ? "the function's name" : "the graph's name", error);
  char *name = laze_arena_alloc(&graph->arena, token.length + 1);
  if (!name) return laze_fail_memory(error, "a name", token.length);
  memcpy(name, token.start, (size_t)token.length);
  name[token.length] = 0;
  graph->name = name;
  laze_lexer_advance(lexer);
  return locate(parser, token.start - 1, laze_module_add(parser->module, graph, is_function, error), error);
}

static laze_status parse_header(laze_parser *parser, laze_error *error) {
  laze_lexer *lexer = &parser->lexer;
  LAZE_TRY(parse_symbols(parser, error));
  bool is_function = laze_lexer_take_word(lexer, "function");
  if (!is_function && !laze_lexer_take_word(lexer, "graph"))
    return laze_lexer_expected(lexer, "'graph' or 'function'", error);
  LAZE_TRY(parse_name(parser, is_function, error));
  push_frame(parser, parser->graph->body);
  LAZE_TRY(parse_parameters(parser, error));
  skip_declared(parser);
  return laze_lexer_expect(lexer, '{', error);
}

/* What uses a defined size comes behind its definer. A size of the list that no statement defines may not be used: a
 * graph whose definer went has such. */
static laze_status check_sizes(const laze_parser *parser, laze_error *error) {
  laze_size_table *sizes = parser->graph->sizes;
  for (int64_t i = 0; i < parser->reserved_count; i++) {
    laze_size symbol = laze_size_symbol_at(sizes, i);
    if (parser->reserved[i] && !laze_size_is_defined(sizes, symbol))
      LAZE_TRY(laze_size_define(sizes, symbol, 0, LAZE_SIZE_CONSTANT_MAX, error));
  }
  if (laze_graph_check_defined(parser->graph, error) == LAZE_OK) return LAZE_OK;
  return error ? laze_error_prefix(error, "%s", parser->file) : LAZE_INVALID_ARGUMENT;
}

static laze_status parse_graph(laze_parser *parser, laze_error *error) {
  LAZE_TRY(parse_header(parser, error));
  while (parser->depth > 0) {
    if (laze_lexer_at_word(&parser->lexer, "return"))
      LAZE_TRY(parse_return(parser, error));
    else
      LAZE_TRY(parse_statement(parser, error));
  }
  return check_sizes(parser, error);
}

/* A new graph, which is the module's once it has a name; before that, the parser's. */
static laze_status start_graph(laze_parser *parser, laze_error *error) {
  const char *file = parser->lexer.file;
  LAZE_TRY(laze_graph_create(parser->module->context, NULL, &parser->graph, error));
  parser->file = laze_arena_copy_string(&parser->graph->arena, file);
  if (!parser->file) return laze_fail_memory(error, "a file's name", -1);
  laze_builder_init(&parser->builder, parser->graph, parser->graph->body);
  parser->declared_at = NULL;
  parser->declared_count = parser->reserved_count = 0;
  return LAZE_OK;
}

static laze_status parse_module(laze_parser *parser, laze_error *error) {
  LAZE_TRY(parse_version(parser, error));
  do {
    laze_status status = start_graph(parser, error);
    if (status == LAZE_OK) status = parse_graph(parser, error);
    if (status != LAZE_OK && parser->graph && !parser->graph->module) laze_graph_destroy(parser->graph);
    parser->graph = NULL;
    LAZE_TRY(status);
  } while (parser->lexer.token.kind != LAZE_TOKEN_END);
  return LAZE_OK;
}

static laze_status parse_terminated(laze_context *context, const laze_text_source *source, laze_module *module,
                                    laze_error *error) {
  laze_parser *parser = laze_alloc_zero(context, sizeof *parser);
  if (!parser) return laze_fail_memory(error, "the parser", sizeof *parser);
  laze_arena_init(&parser->scratch, context);
  laze_name_table_init(&parser->names, context);
  parser->module = module;
  parser->directory = source->directory;
  laze_lexer_init(&parser->lexer, source->file ? source->file : "<text>", source->text, source->size);
  laze_status status = parse_module(parser, error);
  laze_free(context, parser->declared);
  laze_free(context, parser->reserved);
  laze_free(context, parser->values);
  laze_name_table_deinit(&parser->names);
  laze_arena_deinit(&parser->scratch);
  laze_free(context, parser);
  return status;
}

static void count_nodes(const laze_module *module) {
  for (int64_t i = 0; i < module->count; i++)
    laze_metrics_add(laze_context_metrics(module->context), LAZE_METRIC_NODES_RECORDED,
                     module->graphs[i]->node_count - module->graphs[i]->body->parameter_count);
}

laze_status laze_module_parse(laze_context *context, const laze_text_source *source, laze_module **out,
                              laze_error *error) {
  laze_error unwanted;
  int64_t bytes;
  laze_module *module;
  char *copy = laze_add_overflows(source->size, 1, &bytes) ? NULL : laze_alloc(context, bytes);
  if (!copy) return laze_fail_memory(error, "the text of a graph", source->size);
  if (source->size > 0) memcpy(copy, source->text, (size_t)source->size);
  copy[source->size] = 0;
  laze_text_source terminated = *source;
  terminated.text = copy;
  laze_float_control caller;
  laze_float_control_enter(&caller); /* numbers are rounded as they are read */
  laze_status status = laze_module_create(context, &module, error);
  if (status == LAZE_OK) {
    status = parse_terminated(context, &terminated, module, error ? error : &unwanted);
    if (status == LAZE_OK) {
      count_nodes(module);
      *out = module;
    } else {
      laze_module_destroy(module);
    }
  }
  laze_float_control_leave(&caller);
  laze_free(context, copy);
  return status;
}

laze_status laze_graph_read(laze_context *context, const laze_text_source *source, const char *name, laze_graph **out,
                            laze_error *error) {
  laze_module *module;
  laze_graph *chosen;
  LAZE_TRY(laze_module_parse(context, source, &module, error));
  laze_status status = laze_module_choose(module, name, &chosen, error);
  if (status == LAZE_OK && !laze_graph_has_calls(chosen)) {
    *out = laze_module_into_graph(module, chosen);
    return LAZE_OK;
  }
  if (status == LAZE_OK) status = laze_module_inline(chosen, out, error);
  laze_module_destroy(module);
  return status == LAZE_OK ? LAZE_OK : laze_error_prefix(error, "%s", source->file ? source->file : "<text>");
}

laze_status laze_graph_parse(laze_context *context, const char *text, int64_t size, const char *file, laze_graph **out,
                             laze_error *error) {
  const laze_text_source source = {.text = text, .size = size, .file = file};
  return laze_graph_read(context, &source, NULL, out, error);
}
