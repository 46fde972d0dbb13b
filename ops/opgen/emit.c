/* Values of expressions as C: what needs statements writes them and gives the name that holds the value.
 *
 *   present(dtype) ? to(self, dtype) : self     laze_value chosen_1;
 *                                               if (dtype != LAZE_DTYPE_NONE) {
 *                                                 LAZE_TRY(... &chosen_1 ...);
 *                                               } else {
 *                                                 chosen_1 = self;
 *                                               }
 */
#include "ops/opgen/emit.h"

#include "ops/opgen/allocate.h"
#include "ops/opgen/output.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void emit_line(gen_emitter *emitter, const char *format, ...) {
  va_list arguments;
  write_entry_line(emitter->op, emitter->line, emitter->out);
  fprintf(emitter->out, "%*s", 2 * emitter->depth, "");
  va_start(arguments, format);
  vfprintf(emitter->out, format, arguments);
  va_end(arguments);
  fputc('\n', emitter->out);
}

const char *emit_temporary(gen_emitter *emitter, const char *stem) {
  return memory_format("%s_%d", stem, ++emitter->temporaries);
}

const char *emit_type(gen_kind kind) {
  switch (kind) {
  case KIND_INT: return "int64_t ";
  case KIND_SIZE: return "laze_size ";
  case KIND_FLOAT: return "double ";
  case KIND_BOOL: return "bool ";
  case KIND_DTYPE: return "laze_dtype ";
  case KIND_STRING: return "const char *";
  case KIND_INT_LIST:
  case KIND_SIZE_LIST: return "laze_size_list ";
  case KIND_LITERAL: return "laze_scalar ";
  default: return "laze_value ";
  }
}

void emit_declare(gen_emitter *emitter, gen_target *target, gen_kind kind) {
  if (!target->declared) emit_line(emitter, "%s%s;", emit_type(kind), target->name);
  target->declared = true;
}

const char *emit_bare(const char *value) {
  const size_t size = strlen(value);
  int depth = 0;
  if (size < 2 || value[0] != '(' || value[size - 1] != ')') return value;
  for (size_t i = 0; i + 1 < size; i++) {
    if (value[i] == '"') return value; /* brackets in a string would be counted */
    depth += (value[i] == '(') - (value[i] == ')');
    if (depth == 0) return value;
  }
  return memory_copy(value + 1, size - 2);
}

void emit_into(gen_emitter *emitter, const gen_expression *expression, gen_target *target) {
  const char *value = emit_value(emitter, expression, target);
  if (strcmp(value, target->name) == 0 && target->declared) return;
  if (target->declared)
    emit_line(emitter, "%s = %s;", target->name, emit_bare(value));
  else
    emit_line(emitter, "%s%s%s = %s;", expression->kind == KIND_STRING ? "" : "const ", emit_type(expression->kind),
              target->name, emit_bare(value));
  target->declared = true;
}

const char *emit_scalar(gen_emitter *emitter, const gen_expression *number) {
  const char *value = emit_value(emitter, number, NULL);
  if (number->kind == KIND_LITERAL) return value;
  return memory_format("%s(%s)", kind_number(number->kind)->maker, value);
}

static const char *emit_name(gen_emitter *emitter, const gen_expression *name) {
  if (name->variable != NULL) return c_name(name->text);
  const gen_argument *argument = &emitter->op->schema.arguments[name->argument];
  const bool known = (emitter->known >> name->argument & 1) != 0;
  if (argument->kind == KIND_SCALAR && argument->has_default && argument->value.form != LITERAL_NONE && !known) {
    emitter->defaulted |= (uint64_t)1 << name->argument;
    return memory_format("%s_or_default", argument->name);
  }
  emitter->loaded |= (uint64_t)1 << name->argument;
  return c_name(argument->name);
}

static const char *emit_items(gen_emitter *emitter, const gen_expression *list) {
  const char *items = "";
  for (int i = 0; i < list->count; i++)
    items = memory_format("%s%s%s", items, i == 0 ? "" : ", ", emit_value(emitter, list->items[i], NULL));
  return items;
}

const char *emit_list(gen_emitter *emitter, const gen_expression *list) {
  if (list->count == 0) return "(laze_size_list){.present = true}";
  if (emitter->depth == 1)
    return memory_format("(laze_size_list){(const laze_size[]){%s}, %d, true}", emit_items(emitter, list), list->count);
  /* A compound literal would end with this block; the list may be used after it. */
  const char *name = emit_temporary(emitter, "items");
  fprintf(emitter->storage, "  laze_size %s[%d];\n", name, list->count);
  for (int i = 0; i < list->count; i++)
    emit_line(emitter, "%s[%d] = %s;", name, i, emit_value(emitter, list->items[i], NULL));
  return memory_format("(laze_size_list){%s, %d, true}", name, list->count);
}

/* Starts writing statements of an inner block into a buffer of its own. */
typedef struct gen_block {
  FILE *outer;
  char *text;
  size_t size;
} gen_block;

static void block_begin(gen_emitter *emitter, gen_block *block) {
  *block = (gen_block){.outer = emitter->out};
  emitter->out = memory_stream(&block->text, &block->size);
  emitter->depth++;
}

static void block_end(gen_emitter *emitter, gen_block *block) {
  memory_stream_close(emitter->out, &block->text);
  emitter->out = block->outer;
  emitter->depth--;
}

static const char *absent_value(gen_kind kind) {
  if (kind == KIND_DTYPE) return "LAZE_DTYPE_NONE";
  if (kind == KIND_STRING) return "NULL";
  return kind_is_list(kind) ? "(laze_size_list){.present = false}" : "LAZE_VALUE_NONE";
}

/* Writes one arm of a value of `kind` into a block, as it is or (with a target) assigned. */
static const char *emit_arm(gen_emitter *emitter, const gen_expression *arm, gen_kind kind, gen_target *target,
                            gen_block *block) {
  block_begin(emitter, block);
  const char *value = arm->kind == KIND_ABSENT ? absent_value(kind) : emit_value(emitter, arm, target);
  if (target != NULL && strcmp(value, target->name) != 0)
    emit_line(emitter, "%s = %s;", target->name, emit_bare(value));
  block_end(emitter, block);
  return value;
}

/* Arms are tried without a target first, to see whether they need statements. What they store is kept only then. */
typedef struct gen_trial {
  FILE *storage;
  char *text;
  size_t size;
  int temporaries;
} gen_trial;

static void trial_begin(gen_emitter *emitter, gen_trial *trial) {
  *trial = (gen_trial){.storage = emitter->storage, .temporaries = emitter->temporaries};
  emitter->storage = memory_stream(&trial->text, &trial->size);
}

static void trial_end(gen_emitter *emitter, gen_trial *trial, bool keep) {
  memory_stream_close(emitter->storage, &trial->text);
  emitter->storage = trial->storage;
  if (keep)
    fputs(trial->text, emitter->storage);
  else
    emitter->temporaries = trial->temporaries;
}

static void emit_branch(gen_emitter *emitter, const gen_expression *arm, uint64_t known, const gen_target *target,
                        gen_kind kind) {
  const uint64_t before = emitter->known;
  gen_block block;
  gen_target inner = {target->name, true};
  emitter->known = known;
  (void)emit_arm(emitter, arm, kind, &inner, &block);
  emitter->known = before;
  fputs(block.text, emitter->out);
}

static const char *emit_conditional(gen_emitter *emitter, const gen_expression *conditional, gen_target *target) {
  const gen_expression *condition = conditional->items[0], *left = conditional->items[1],
                       *right = conditional->items[2];
  const char *test = emit_value(emitter, condition, NULL);
  const uint64_t known = emitter->known;
  const uint64_t if_true = known | check_presence(condition, true), if_false = known | check_presence(condition, false);
  gen_trial trial;
  gen_block then, otherwise;
  trial_begin(emitter, &trial);
  emitter->known = if_true;
  const char *a = emit_arm(emitter, left, conditional->kind, NULL, &then);
  emitter->known = if_false;
  const char *b = emit_arm(emitter, right, conditional->kind, NULL, &otherwise);
  emitter->known = known;
  const bool plain = then.size == 0 && otherwise.size == 0;
  trial_end(emitter, &trial, plain);
  if (plain) return memory_format("(%s ? %s : %s)", test, a, b);
  gen_target own = {emit_temporary(emitter, "chosen"), false};
  if (target == NULL) target = &own;
  emit_declare(emitter, target, conditional->kind);
  emit_line(emitter, "if (%s) {", emit_bare(test));
  emit_branch(emitter, left, if_true, target, conditional->kind);
  emit_line(emitter, "} else {");
  emit_branch(emitter, right, if_false, target, conditional->kind);
  emit_line(emitter, "}");
  return target->name;
}

/* && and ||, whose right side is looked at only when the left does not decide. */
static const char *emit_logical(gen_emitter *emitter, const gen_expression *binary) {
  const bool is_and = *binary->text == '&';
  const char *left = emit_value(emitter, binary->items[0], NULL);
  const uint64_t before = emitter->known, known = before | check_presence(binary->items[0], is_and);
  gen_trial trial;
  gen_block block;
  trial_begin(emitter, &trial);
  emitter->known = known;
  const char *right = emit_arm(emitter, binary->items[1], KIND_BOOL, NULL, &block);
  emitter->known = before;
  trial_end(emitter, &trial, block.size == 0);
  if (block.size == 0) return memory_format("(%s %s %s)", left, binary->text, right);
  const gen_target target = {emit_temporary(emitter, "holds"), true};
  emit_line(emitter, "bool %s = %s;", target.name, emit_bare(left));
  emit_line(emitter, "if (%s%s) {", is_and ? "" : "!", target.name);
  emit_branch(emitter, binary->items[1], known, &target, KIND_BOOL);
  emit_line(emitter, "}");
  return target.name;
}

/* a < b is not (b <= a), and so on: sizes know two questions. */
static const char *emit_size_comparison(gen_emitter *emitter, const char *mark, const char *a, const char *b) {
  const bool equality = mark[1] == '=' && (mark[0] == '=' || mark[0] == '!');
  const bool swapped = strcmp(mark, ">=") == 0 || strcmp(mark, "<") == 0;
  const bool negated = strcmp(mark, "!=") == 0 || strcmp(mark, "<") == 0 || strcmp(mark, ">") == 0;
  const char *name = emit_temporary(emitter, "holds");
  emit_line(emitter, "bool %s;", name);
  emit_line(emitter, "LAZE_TRY(laze_size_may_%s(recorder, %s, %s, &%s, error));", equality ? "equal" : "be_at_most",
            swapped ? b : a, swapped ? a : b, name);
  return negated ? memory_format("!%s", name) : name;
}

static const char *emit_comparison(gen_emitter *emitter, const gen_expression *binary) {
  const gen_expression *left = binary->items[0], *right = binary->items[1];
  const char *a = emit_value(emitter, left, NULL), *b = emit_value(emitter, right, NULL);
  if (left->kind == KIND_SIZE || right->kind == KIND_SIZE) return emit_size_comparison(emitter, binary->text, a, b);
  if (left->kind == KIND_STRING) return memory_format("(strcmp(%s, %s) %s 0)", a, b, binary->text);
  if (left->kind == KIND_LITERAL) a = memory_format("laze_scalar_as_real(%s)", a);
  if (right->kind == KIND_LITERAL) b = memory_format("laze_scalar_as_real(%s)", b);
  return memory_format("(%s %s %s)", a, binary->text, b);
}

static const char *emit_arithmetic(gen_emitter *emitter, char mark, const char *a, const char *b) {
  const char *name = emit_temporary(emitter, "size");
  emit_line(emitter, "laze_size %s;", name);
  emit_line(emitter, "LAZE_TRY(laze_size_arithmetic(recorder, '%c', %s, %s, &%s, error));", mark, a, b, name);
  return name;
}

static const char *emit_binary(gen_emitter *emitter, const gen_expression *binary) {
  if (strcmp(binary->text, "&&") == 0 || strcmp(binary->text, "||") == 0) return emit_logical(emitter, binary);
  if (binary->kind == KIND_BOOL) return emit_comparison(emitter, binary);
  const char *a = emit_value(emitter, binary->items[0], NULL), *b = emit_value(emitter, binary->items[1], NULL);
  return emit_arithmetic(emitter, *binary->text, a, b);
}

static const char *emit_unary(gen_emitter *emitter, const gen_expression *unary) {
  const char *value = emit_value(emitter, unary->items[0], NULL);
  if (unary->kind == KIND_BOOL) return memory_format("!%s", value);
  if (unary->kind == KIND_FLOAT) return memory_format("-%s", value);
  return emit_arithmetic(emitter, '-', "0", value);
}

static const char *emit_operator(gen_emitter *emitter, const gen_expression *call, gen_target *target) {
  gen_target own = {NULL, false};
  if (target == NULL) {
    own.name = emit_temporary(emitter, call->callee->schema.base);
    target = &own;
  }
  const char *record = emit_record(emitter, call, memory_format("&%s", target->name));
  emit_declare(emitter, target, KIND_TENSOR);
  emit_line(emitter, "LAZE_TRY(%s);", record);
  return target->name;
}

const char *emit_value(gen_emitter *emitter, const gen_expression *expression, gen_target *target) {
  if (expression->callee != NULL) return emit_operator(emitter, expression, target);
  switch (expression->form) {
  case FORM_INTEGER: return c_integer(expression->integer);
  case FORM_REAL: return c_real(expression->real);
  case FORM_BOOL: return expression->integer ? "true" : "false";
  case FORM_STRING: return c_string(expression->text);
  case FORM_DTYPE: return dtype_infos[dtype_find(expression->text)].enumerator;
  case FORM_NONE: return "";
  case FORM_NAME: return emit_name(emitter, expression);
  case FORM_LIST: return emit_list(emitter, expression);
  case FORM_CALL: return emit_builtin(emitter, expression);
  case FORM_CONDITIONAL: return emit_conditional(emitter, expression, target);
  case FORM_UNARY: return emit_unary(emitter, expression);
  default: return emit_binary(emitter, expression);
  }
}
