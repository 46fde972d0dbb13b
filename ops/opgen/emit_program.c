/* Programs as C: the body of the function that records one, which loads the arguments that its statements use.
 *
 *   shifted = sub(self, other)      const laze_value self = call->operands[0];
 *   return exp(shifted)             const laze_value other = call->operands[1];
 *                                   laze_value shifted;
 *                                   LAZE_TRY(... &shifted ...);
 *                                   return laze_record_here(... results ...);
 */
#include "ops/opgen/emit.h"

#include "ops/opgen/allocate.h"
#include "ops/opgen/output.h"

#include <stdlib.h>
#include <string.h>

static void load_operand(const gen_emitter *emitter, int index, FILE *out) {
  const gen_argument *argument = &emitter->op->schema.arguments[index];
  const char *name = c_name(argument->name);
  if (kind_is_tensors(argument->kind)) {
    fprintf(out, "  int32_t %s_first;\n  const int32_t %s_count = laze_call_segment(call, %d, &%s_first);\n", name,
            name, argument->position, name);
    return;
  }
  if (operator_is_fixed(emitter->op, index) && !argument_may_be_absent(argument))
    fprintf(out, "  const laze_value %s = call->operands[%d];\n", name, argument->position);
  else
    fprintf(out, "  const laze_value %s = laze_call_operand(call, %d);\n", name, argument->position);
}

static void load_default(const gen_emitter *emitter, int index, FILE *out) {
  const gen_argument *argument = &emitter->op->schema.arguments[index];
  const char *dtype = kind_number(literal_kind(&argument->value))->dtype;
  fprintf(out, "  laze_value %s_or_default = laze_call_operand(call, %d);\n", argument->name, argument->position);
  fprintf(out, "  if (laze_value_is_none(%s_or_default))\n", argument->name);
  fprintf(out, "    LAZE_TRY(%s);\n",
          emit_constant(dtype, c_scalar_call(&argument->value), memory_format("&%s_or_default", argument->name)));
}

static void load_attribute(const gen_emitter *emitter, int index, FILE *out) {
  const gen_argument *argument = &emitter->op->schema.arguments[index];
  const char *name = c_name(argument->name);
  const char *source = memory_format("call->attributes[%s]", operator_attribute_name(emitter->op, index));
  const char *type = memory_format("%s%s", argument->kind == KIND_STRING ? "" : "const ", emit_type(argument->kind));
  switch (argument->kind) {
  case KIND_SIZE: fprintf(out, "  %s%s = %s.value.size;\n", type, name, source); break;
  case KIND_FLOAT: fprintf(out, "  %s%s = %s.value.real;\n", type, name, source); break;
  case KIND_BOOL: fprintf(out, "  %s%s = %s.value.integer != 0;\n", type, name, source); break;
  case KIND_DTYPE: fprintf(out, "  %s%s = (laze_dtype)%s.value.integer;\n", type, name, source); break;
  case KIND_STRING: fprintf(out, "  %s%s = %s.value.string;\n", type, name, source); break;
  case KIND_INT_LIST:
  case KIND_SIZE_LIST: fprintf(out, "  %s%s = laze_attribute_list(&%s);\n", type, name, source); break;
  case KIND_LITERAL: fprintf(out, "  %s%s = %s.value.literal;\n", type, name, source); break;
  default: fprintf(out, "  %s%s = %s.value.integer;\n", type, name, source); break;
  }
}

static void write_loads(const gen_emitter *emitter, FILE *out) {
  for (int i = 0; i < emitter->op->schema.count; i++) {
    if (emitter->defaulted >> i & 1) load_default(emitter, i, out);
    if ((emitter->loaded >> i & 1) == 0) continue;
    if (kind_is_operand(emitter->op->schema.arguments[i].kind))
      load_operand(emitter, i, out);
    else
      load_attribute(emitter, i, out);
  }
}

static void emit_several(gen_emitter *emitter, const gen_statement *statement) {
  const char *name = emit_temporary(emitter, statement->value->callee->schema.base);
  const char *record = emit_record(emitter, statement->value, name);
  emit_line(emitter, "laze_value %s[%d];", name, statement->count);
  emit_line(emitter, "LAZE_TRY(%s);", record);
  for (int i = 0; i < statement->count; i++)
    if (statement->variables[i]->used)
      emit_line(emitter, "const laze_value %s = %s[%d];", c_name(statement->variables[i]->name), name, i);
}

/* The numbers that a condition looks at, for a message: what each is, and, behind `values`, the C expressions. */
static const char *name_numbers(const gen_expression *condition, const char **values) {
  const char *names = "";
  if (condition->form == FORM_NAME && (condition->kind == KIND_INT || condition->kind == KIND_FLOAT)) {
    const bool real = condition->kind == KIND_FLOAT;
    *values = memory_format("%s, %s%s", *values, real ? "" : "(long long)", c_name(condition->text));
    return memory_format("%s is %s", condition->text, real ? "%g" : "%lld");
  }
  for (int i = 0; i < condition->count; i++) {
    const char *name = name_numbers(condition->items[i], values);
    if (*name != '\0') names = memory_format("%s%s%s", names, *names == '\0' ? "" : " and ", name);
  }
  return names;
}

static void emit_requirement(gen_emitter *emitter, const gen_statement *statement) {
  const char *values = "", *numbers = name_numbers(statement->value, &values);
  const char *condition = emit_value(emitter, statement->value, NULL);
  emit_line(emitter, "if (!(%s))", emit_bare(condition));
  emit_line(emitter, "  return laze_fail(error, LAZE_INVALID_ARGUMENT, \"%%s: %s%sexpected %s\",", numbers,
            *numbers == '\0' ? "" : "; ", statement->text);
  emit_line(emitter, "                   laze_compose_name(call)%s);", values);
}

static void emit_results(gen_emitter *emitter, const gen_program *program) {
  const gen_expression *first = program->results[0];
  emitter->line = first->line;
  if (program->result_count == 1 && first->callee != NULL) {
    const char *record = emit_record(emitter, first, "results");
    emit_line(emitter, "return %s;", record);
    return;
  }
  for (int i = 0; i < program->result_count; i++) {
    gen_target target = {memory_format("results[%d]", i), true};
    emitter->line = program->results[i]->line;
    if (program->results[i]->form == FORM_NONE)
      emit_line(emitter, "%s = LAZE_VALUE_NONE;", target.name);
    else
      emit_into(emitter, program->results[i], &target);
  }
  emit_line(emitter, "return LAZE_OK;");
}

static void emit_program(gen_emitter *emitter, const gen_program *program) {
  for (int i = 0; i < program->count; i++) {
    const gen_statement *statement = &program->statements[i];
    emitter->line = statement->value->line;
    if (statement->count == 0) {
      emit_requirement(emitter, statement);
    } else if (statement->count > 1) {
      emit_several(emitter, statement);
    } else {
      gen_target target = {c_name(statement->variables[0]->name), false};
      emit_into(emitter, statement->value, &target);
    }
  }
  emit_results(emitter, program);
}

void emit_quoted(const char *text, FILE *out) {
  while (*text != '\0') {
    const size_t size = strcspn(text, "\n");
    if (size > 0) fprintf(out, " *   %.*s\n", (int)size, text);
    text += size + (text[size] == '\n');
  }
  fprintf(out, " */\n");
}

/* Writes the statements into buffers, since they tell which arguments to load above them. */
void emit_body(gen_emitter *emitter, const gen_program *program, const gen_expression *condition, FILE *out) {
  char *body = NULL, *storage = NULL;
  size_t body_size = 0, storage_size = 0;
  emitter->out = memory_stream(&body, &body_size);
  emitter->storage = memory_stream(&storage, &storage_size);
  emitter->depth = 1;
  if (program != NULL)
    emit_program(emitter, program);
  else {
    emitter->line = condition->line;
    const char *value = emit_value(emitter, condition, NULL);
    emit_line(emitter, "return %s;", emit_bare(value));
  }
  memory_stream_close(emitter->out, &body);
  memory_stream_close(emitter->storage, &storage);
  const bool needs_call = (emitter->loaded | emitter->defaulted) != 0 || strstr(body, "call->") != NULL ||
                          strstr(body, "(recorder, call,") != NULL || strstr(body, "(call)") != NULL;
  const bool records = emitter->defaulted != 0 || strstr(body, "recorder") != NULL || program == NULL;
  if (!needs_call) fprintf(out, "  (void)call;\n");
  if (!records) fprintf(out, "  (void)recorder, (void)error;\n");
  write_loads(emitter, out);
  fprintf(out, "%s%s", storage, body);
  write_own_line(out);
  fprintf(out, "}\n\n");
}
