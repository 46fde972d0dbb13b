#include "ops/opgen/function.h"

#include "ops/opgen/memory.h"
#include "ops/opgen/output.h"

bool function_has_options(const gen_operator *op) {
  for (int i = 0; i < op->schema.count; i++)
    if (argument_is_option(&op->schema.arguments[i])) return true;
  return false;
}

bool function_takes_context(const gen_operator *op) {
  for (int i = 0; i < op->schema.count; i++)
    if (op->schema.arguments[i].kind <= KIND_TENSOR_LIST) return false;
  return true;
}

bool function_has_flag(const gen_argument *argument) {
  const gen_literal *value = &argument->value;
  switch (argument->kind) {
  case KIND_INT:
  case KIND_SIZE:
  case KIND_BOOL: return value->form == LITERAL_NONE || value->integer != 0;
  case KIND_FLOAT: return value->form == LITERAL_NONE || value->real != 0;
  default: return false;
  }
}

const char *function_result(const gen_operator *op) {
  return op->schema.result_count == 1 ? "laze_tensor *" : "void ";
}

const char *function_declaration(const gen_argument *argument) {
  const char *name = c_name(argument->name);
  /* A number that may be absent and has no default is passed by address; in options, a flag says so. */
  const char *pointer = argument->optional && !argument_is_option(argument) ? "const " : "";
  const char *star = *pointer == '\0' ? "" : "*";
  switch (argument->kind) {
  case KIND_TENSOR: return memory_format("laze_tensor *%s", name);
  case KIND_TENSOR_LIST: return memory_format("laze_tensor *const *%s, int32_t %s_count", name, name);
  case KIND_SCALAR:
  case KIND_LITERAL: return memory_format("laze_scalar %s", name);
  case KIND_FLOAT: return memory_format("%sdouble %s%s", pointer, star, name);
  case KIND_BOOL: return memory_format("%sbool %s%s", pointer, star, name);
  case KIND_DTYPE: return memory_format("laze_dtype %s", name);
  case KIND_STRING: return memory_format("const char *%s", name);
  case KIND_INT_LIST:
  case KIND_SIZE_LIST: return memory_format("laze_ints %s", name);
  default: return memory_format("%sint64_t %s%s", pointer, star, name);
  }
}

static const char *join(const char *list, const char *item) {
  return *list == '\0' ? item : memory_format("%s, %s", list, item);
}

const char *function_parameters(const gen_operator *op) {
  const char *list = function_takes_context(op) ? "laze_context *context" : "";
  for (int i = 0; i < op->schema.count; i++)
    if (!argument_is_option(&op->schema.arguments[i]))
      list = join(list, function_declaration(&op->schema.arguments[i]));
  return op->schema.result_count > 1 ? join(list, "laze_tensor **results") : list;
}

const char *function_arguments(const gen_operator *op) {
  const char *list = function_takes_context(op) ? "context" : "";
  for (int i = 0; i < op->schema.count; i++) {
    const gen_argument *argument = &op->schema.arguments[i];
    if (argument_is_option(argument)) continue;
    list = join(list, c_name(argument->name));
    if (argument->kind == KIND_TENSOR_LIST) list = join(list, memory_format("%s_count", c_name(argument->name)));
  }
  return op->schema.result_count > 1 ? join(list, "results") : list;
}
