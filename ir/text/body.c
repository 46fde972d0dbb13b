/* Reads what stands between the braces of a graph: statements, regions on a stack of frames, and `return`. Each
 * statement becomes a call that the builder records, so shapes are inferred as everywhere; types in the text are only
 * checked.
 *
 *   %0 = if %c, [%x] (%a: f32[n]) {      frame 0: the `if` is pending until its regions are read
 *     %1 = exp %a                        frame 1: a region
 *     return %1
 *   } ...
 */
#include "ir/text/parser.h"

#include "ir/control.h"
#include "ir/op.gen.h"

#include <string.h>

/* What the scratch arena may hold between two statements. */
enum { SCRATCH_BYTES = 1 << 16 };

static laze_parser_frame *top(laze_parser *parser) {
  return &parser->frames[parser->depth - 1];
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

laze_status laze_parse_parameters(laze_parser *parser, laze_error *error) {
  LAZE_TRY(laze_lexer_expect(&parser->lexer, '(', error));
  while (!laze_lexer_at(&parser->lexer, ')')) {
    if (top(parser)->block->parameter_count > 0) LAZE_TRY(laze_lexer_expect(&parser->lexer, ',', error));
    LAZE_TRY(parse_parameter(parser, error));
  }
  laze_lexer_advance(&parser->lexer);
  return LAZE_OK;
}

void laze_parser_enter(laze_parser *parser, laze_block *block) {
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
  const laze_op_info *info = laze_op_get(statement->call.op);
  laze_value few[LAZE_PARSER_RESULTS], *results = few;
  laze_recorder *recorder = &parser->builder.recorder;
  if (statement->call.op == LAZE_OP_PARAMETER)
    return laze_lexer_fail(&parser->lexer, statement->at, error, "parameters stand in the header of a block");
  if (laze_op_lists_results(info))
    results = laze_arena_alloc_array(&parser->scratch, LAZE_MAX_LISTED + 1, sizeof *results);
  if (!results) return laze_fail_memory(error, "the results of a call", -1);
  if (recorder->record(recorder, &statement->call, results, error) != LAZE_OK)
    return fail_statement(parser, statement, error);
  int32_t count = info->result_count;
  if (laze_op_lists_results(info))
    count = laze_count_listed(results);
  else if (count < 0)
    count = laze_graph_node(parser->graph, results[0])->result_count;
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
  LAZE_TRY(laze_parser_locate(parser, frame->pending.at, status, error));
  frame->pending.first_node = results[0].node; /* what stands in its regions has labels of its own */
  return finish_statement(parser, &frame->pending, results, count, error);
}

/* `(%a: f32[2]) {` of the pending statement's next region; without parameters also `{`. */
static laze_status open_region(laze_parser *parser, laze_error *error) {
  laze_parser_frame *frame = top(parser);
  laze_block *region;
  laze_status status = laze_graph_add_region(parser->graph, frame->block, &region, error);
  LAZE_TRY(laze_parser_locate(parser, frame->pending.at, status, error));
  frame->regions[frame->region_count++] = region;
  laze_parser_enter(parser, region);
  if (!laze_lexer_at(&parser->lexer, '{')) LAZE_TRY(laze_parse_parameters(parser, error));
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

static laze_status parse_return(laze_parser *parser, laze_error *error) {
  laze_lexer *lexer = &parser->lexer;
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
  if (--parser->depth == 0) return LAZE_OK;
  laze_parser_frame *frame = top(parser);
  parser->builder.block = frame->block;
  if (frame->region_count < laze_op_get(frame->pending.call.op)->region_count) return open_region(parser, error);
  return finish_regions(parser, error);
}

laze_status laze_parse_body(laze_parser *parser, const char **returns, laze_error *error) {
  while (parser->depth > 0) {
    *returns = parser->lexer.token.start;
    if (laze_lexer_at_word(&parser->lexer, "return"))
      LAZE_TRY(parse_return(parser, error));
    else
      LAZE_TRY(parse_statement(parser, error));
  }
  return LAZE_OK;
}
