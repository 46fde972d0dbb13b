/* Reads a module: functions and graphs, of each its sizes, its header and, by body.c, what stands between its braces.
 *
 *   laze 1
 *   sizes n=32, u0=defined
 *   graph @g(%x: f32[n]) -> f32[u0] {     what stands behind the arrow is read last, for the body defines u0
 *     ...
 *   }
 */
#include "ir/text/parser.h"

#include "base/checked.h"
#include "base/float_control.h"
#include "ir/control.h"
#include "ir/defined_size.h"
#include "ir/op.gen.h"
#include "ir/signature.h"
#include "laze/graph.h"

#include <string.h>

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

/* `sizes n=32, m, u0=defined`: the symbols in their order, with their hints. */
static laze_status parse_symbols(laze_parser *parser, laze_error *error) {
  laze_lexer *lexer = &parser->lexer;
  if (!laze_lexer_take_word(lexer, "sizes")) return LAZE_OK;
  do {
    const char *start = lexer->token.start, *cursor = start;
    laze_size symbol;
    int64_t hint, number = laze_size_symbol_count(parser->graph->sizes);
    if (lexer->token.kind != LAZE_TOKEN_WORD) return laze_lexer_expected(lexer, "the name of a size", error);
    LAZE_TRY(laze_parser_locate(parser, start, laze_size_parse(parser->graph->sizes, &cursor, &symbol, error), error));
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
    LAZE_TRY(laze_parser_locate(parser, start, laze_size_set_hint(parser->graph->sizes, number, hint, error), error));
    laze_lexer_advance(lexer);
  } while (laze_lexer_take(lexer, ','));
  return LAZE_OK;
}

/* `gradient(w)` */
static laze_status parse_role(laze_parser *parser, laze_role *out, laze_error *error) {
  laze_lexer *lexer = &parser->lexer;
  const laze_token token = lexer->token;
  *out = (laze_role){.kind = token.kind == LAZE_TOKEN_WORD ? laze_role_find(token.start, token.length) : -1};
  if (out->kind < 0) return laze_lexer_expected(lexer, "what an input or result is for, such as parameter", error);
  laze_lexer_advance(lexer);
  if (!laze_lexer_take(lexer, '(')) return LAZE_OK;
  if (lexer->token.kind != LAZE_TOKEN_WORD) return laze_lexer_expected(lexer, "the name of an input", error);
  char *of = laze_arena_alloc(&parser->scratch, lexer->token.length + 1);
  if (!of) return laze_fail_memory(error, "a signature", -1);
  memcpy(of, lexer->token.start, (size_t)lexer->token.length);
  of[lexer->token.length] = 0;
  out->of = of;
  laze_lexer_advance(lexer);
  return laze_lexer_expect(lexer, ')', error);
}

/* `(parameter, input)` */
static laze_status parse_roles(laze_parser *parser, laze_error *error) {
  laze_lexer *lexer = &parser->lexer;
  LAZE_TRY(laze_lexer_expect(lexer, '(', error));
  while (!laze_lexer_take(lexer, ')')) {
    LAZE_TRY(laze_grow(parser->graph->context, (void **)&parser->roles, &parser->role_capacity, parser->role_count + 1,
                       sizeof *parser->roles, error));
    LAZE_TRY(parse_role(parser, &parser->roles[parser->role_count], error));
    parser->role_count++;
    if (!laze_lexer_at(lexer, ')')) LAZE_TRY(laze_lexer_expect(lexer, ',', error));
  }
  return LAZE_OK;
}

/* `signature (parameter, input) -> (loss, gradient(w))`: for the graph that follows. */
static laze_status parse_signature(laze_parser *parser, laze_error *error) {
  laze_lexer *lexer = &parser->lexer;
  const char *at = lexer->token.start;
  parser->role_count = 0;
  parser->signature_at = NULL;
  if (!laze_lexer_take_word(lexer, "signature")) return LAZE_OK;
  parser->signature_at = at;
  LAZE_TRY(parse_roles(parser, error));
  parser->role_inputs = parser->role_count;
  if (lexer->token.kind != LAZE_TOKEN_ARROW) return laze_lexer_expected(lexer, "'->'", error);
  laze_lexer_advance(lexer);
  return parse_roles(parser, error);
}

static laze_status set_signature(laze_parser *parser, laze_error *error) {
  if (!parser->signature_at) return LAZE_OK;
  const laze_status status = laze_graph_set_signature(parser->graph, parser->roles, (int32_t)parser->role_inputs,
                                                      parser->roles + parser->role_inputs,
                                                      (int32_t)(parser->role_count - parser->role_inputs), error);
  return laze_parser_locate(parser, parser->signature_at, status, error);
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
  return laze_parser_locate(parser, token.start - 1, laze_module_add(parser->module, graph, is_function, error), error);
}

static laze_status parse_header(laze_parser *parser, laze_error *error) {
  laze_lexer *lexer = &parser->lexer;
  LAZE_TRY(parse_symbols(parser, error));
  LAZE_TRY(parse_signature(parser, error));
  bool is_function = laze_lexer_take_word(lexer, "function");
  if (!is_function && !laze_lexer_take_word(lexer, "graph"))
    return laze_lexer_expected(lexer, "'graph' or 'function'", error);
  LAZE_TRY(parse_name(parser, is_function, error));
  laze_parser_enter(parser, parser->graph->body);
  LAZE_TRY(laze_parse_parameters(parser, error));
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
  const char *returns;
  LAZE_TRY(parse_header(parser, error));
  LAZE_TRY(laze_parse_body(parser, &returns, error));
  LAZE_TRY(check_declared(parser, returns, error));
  LAZE_TRY(check_sizes(parser, error));
  LAZE_TRY(set_signature(parser, error));
  if (parser->graph->is_function) laze_graph_trim(parser->graph); /* a module may have very many small ones */
  return LAZE_OK;
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
  parser->weights = (laze_external){.file = -1, .size = source->weights_size, .bytes = source->weights};
  laze_lexer_init(&parser->lexer, source->file ? source->file : "<text>", source->text, source->size);
  laze_status status = parse_module(parser, error);
  laze_free(context, parser->declared);
  laze_free(context, parser->reserved);
  laze_free(context, parser->roles);
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
  if (!text || size < 0 || !out)
    return laze_fail(error, LAZE_INVALID_ARGUMENT,
                     "laze_graph_parse: text and out must not be NULL, nor the size negative");
  if (!context) context = laze_context_default();
  if (!context) return laze_fail_memory(error, "the default context", -1);
  return laze_graph_read(context, &source, NULL, out, error);
}
