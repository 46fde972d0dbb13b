/* Calls. Of operators: operands with their segments, plain numbers where tensors are wanted, and attributes. Of the
 * functions of the language. */
#include "ops/opgen/emit.h"

#include "ops/opgen/allocate.h"
#include "ops/opgen/output.h"

#include <stdlib.h>
#include <string.h>

static const char *join(const char *list, const char *item) {
  return *list == '\0' ? item : memory_format("%s, %s", list, item);
}

/* One operand argument of a call being written. */
typedef struct gen_operand {
  const gen_argument *parameter;
  const gen_expression *item;     /* NULL: left out */
  const char *value;              /* a laze_value; NULL: certainly absent, or a plain number yet to be recorded */
  bool may_be_absent;             /* the value may be LAZE_VALUE_NONE */
  bool is_number;                 /* becomes a 0-d value of the promoted dtype */
  const gen_expression *promoted; /* a plain number that the callee converts to this dtype; NULL: another operand */
} gen_operand;

static const char *dtype_of_number(gen_emitter *emitter, const gen_expression *number) {
  if (number->kind == KIND_LITERAL) return memory_format("%s.dtype", emit_value(emitter, number, NULL));
  return kind_number(number->kind)->dtype;
}

/* A size becomes a value through size_tensor, since it may be known only when the graph runs. */
static const char *emit_size_value(gen_emitter *emitter, const gen_expression *size, const char *dtype) {
  const char *value = emit_value(emitter, size, NULL), *name = emit_temporary(emitter, "number");
  emit_line(emitter, "laze_value %s;", name);
  emit_line(emitter, "const laze_attribute %s_attributes[] = {laze_attribute_size(%s), laze_attribute_dtype(%s)};",
            name, value, dtype);
  emit_line(emitter,
            "LAZE_TRY(laze_record_here(recorder, &(laze_call){.op = LAZE_OP_SIZE_TENSOR, .attributes = %s_attributes}, "
            "&%s, error));",
            name, name);
  return name;
}

/* What records a laze_scalar, with what its dtype follows from. */
static const char *emit_recorded(const char *scalar, const char *form, const char *from, const char *results) {
  static const char *const makers[] = {"integer", "real"};
  for (size_t i = 0; i < sizeof(makers) / sizeof(*makers); i++) {
    const char *start = memory_format("laze_scalar_%s(", makers[i]);
    const size_t size = strlen(start);
    if (strncmp(scalar, start, size) != 0) continue;
    const char *value = memory_copy(scalar + size, strlen(scalar) - size - 1);
    return memory_format("laze_record_%s%s(recorder, %s, %s, %s, error)", makers[i], form, from, value, results);
  }
  return memory_format("laze_record_number%s(recorder, %s, %s, %s, error)", form, from, scalar, results);
}

const char *emit_constant(const char *dtype, const char *scalar, const char *results) {
  return emit_recorded(scalar, "", dtype, results);
}

/* A plain number as a 0-d value of `dtype`. */
static const char *emit_number(gen_emitter *emitter, const gen_expression *number, const char *dtype) {
  if (number->kind == KIND_SIZE) return emit_size_value(emitter, number, dtype);
  const char *scalar = emit_scalar(emitter, number), *name = emit_temporary(emitter, "number");
  emit_line(emitter, "laze_value %s;", name);
  emit_line(emitter, "LAZE_TRY(%s);", emit_constant(dtype, scalar, memory_format("&%s", name)));
  return name;
}

/* A value that has the dtype already is its own conversion, and nothing is recorded. */
static const char *conversion(const gen_emitter *emitter, const char *value, const char *dtype, const char *result) {
  const gen_operator *op = table_conversion(emitter->table);
  return memory_format("laze_record_conversion(recorder, LAZE_OP_%s, %s, %s, %s, error)",
                       op == NULL ? "NONE" : op->upper, value, dtype, result);
}

static const char *emit_conversion(gen_emitter *emitter, const char *value, const char *dtype) {
  const char *name = emit_temporary(emitter, "number");
  emit_line(emitter, "laze_value %s;", name);
  emit_line(emitter, "LAZE_TRY(%s);", conversion(emitter, value, dtype, memory_format("&%s", name)));
  return name;
}

/* Whether the number takes part in promotion with the other tensors of the call. A conversion takes it as it is. */
static bool is_weak(const gen_operator *callee, const gen_argument *parameter, const gen_expression *item) {
  return callee->compute != COMPUTE_CONVERT && parameter->kind == KIND_TENSOR &&
         (kind_is_number(item->kind) || item->kind == KIND_SCALAR);
}

/* An argument of ours may be passed on as absent when the other operator has the same default for it. */
static bool passes_absence(const gen_emitter *emitter, const gen_argument *parameter, const gen_expression *item) {
  if (item->form != FORM_NAME || item->argument < 0 || (emitter->known >> item->argument & 1) != 0) return false;
  const gen_argument *argument = &emitter->op->schema.arguments[item->argument];
  if (argument->kind != parameter->kind) return false;
  if (!argument_may_be_absent(argument) || !argument_may_be_absent(parameter)) return false;
  const gen_literal none = {.form = LITERAL_NONE};
  return literal_equal(argument->has_default ? &argument->value : &none,
                       parameter->has_default ? &parameter->value : &none);
}

/* The dtype, promoted(...), to which the callee converts a Scalar before anything else; NULL: it does something else.
 * One that computes floats of 16 bits in f32 sees other dtypes than its callers. */
static const gen_expression *promotion_of(const gen_operator *callee, const gen_argument *scalar) {
  const gen_program *program = callee->composite;
  if (!callee->keeps_dtype || program == NULL || program->count > 0 || program->result_count > 1) return NULL;
  for (int i = 0; i < program->results[0]->count; i++) {
    const gen_expression *item = program->results[0]->items[i];
    if (item->callee == NULL || item->callee->compute != COMPUTE_CONVERT || item->bound[0]->form != FORM_NAME) continue;
    const gen_expression *dtype = item->bound[1];
    if (&callee->schema.arguments[item->bound[0]->argument] == scalar && dtype != NULL && dtype->builtin != NULL &&
        dtype->builtin->number == BUILTIN_PROMOTED)
      return dtype;
  }
  return NULL;
}

static void emit_operand(gen_emitter *emitter, const gen_operator *callee, gen_operand *operand) {
  const gen_expression *item = operand->item;
  if (item == NULL || item->kind == KIND_ABSENT) return;
  if (passes_absence(emitter, operand->parameter, item)) {
    emitter->loaded |= (uint64_t)1 << item->argument;
    operand->value = c_name(item->text);
    operand->may_be_absent = true;
  } else if (is_weak(callee, operand->parameter, item)) {
    operand->is_number = true;
    if (item->kind == KIND_SCALAR) operand->value = emit_value(emitter, item, NULL);
  } else if (kind_is_number(item->kind)) {
    operand->promoted = promotion_of(callee, operand->parameter);
    if (operand->promoted == NULL) operand->value = emit_number(emitter, item, dtype_of_number(emitter, item));
  } else {
    operand->value = emit_value(emitter, item, NULL);
    operand->may_be_absent = item->optional;
  }
}

static const char *promoted_operand(gen_emitter *emitter, const gen_operand *operand) {
  if (operand->value == NULL) return memory_format("{.number = %s}", dtype_of_number(emitter, operand->item));
  const bool is_number = operand->is_number || operand->item->kind == KIND_SCALAR;
  return memory_format("{.value = %s%s}", operand->value, is_number ? ", .is_number = true" : "");
}

/* The dtype called `name` of the operands. */
static void emit_promotion(gen_emitter *emitter, const char *name, const char *operands, int count) {
  emit_line(emitter, "laze_dtype %s;", name);
  emit_line(emitter, "LAZE_TRY(laze_promote_operands(recorder, (const laze_promoted_operand[]){%s}, %d, &%s, error));",
            operands, count, name);
}

/* Operands whose dtypes promote with each other, of one call. */
typedef struct gen_promotion {
  const gen_operand **items;
  int count;
} gen_promotion;

static gen_promotion promotion_with_room(int most) {
  return (gen_promotion){memory_take((size_t)most * sizeof(const gen_operand *)), 0};
}

/* What a plain number stands alone beside; NULL: there are others, or it is a number, too. */
static const gen_operand *only_other(const gen_promotion *promotion) {
  if (promotion->count != 2) return NULL;
  const bool is_first = promotion->items[0]->value == NULL;
  const gen_operand *number = promotion->items[is_first ? 0 : 1], *other = promotion->items[is_first ? 1 : 0];
  if (number->value != NULL || number->item->kind == KIND_SIZE) return NULL;
  return other->value == NULL || other->is_number || other->item->kind == KIND_SCALAR ? NULL : other;
}

/* The dtype of them all, in a variable. */
static const char *emit_promotion_of(gen_emitter *emitter, const gen_promotion *promotion) {
  const char *list = "", *dtype = emit_temporary(emitter, "dtype");
  for (int i = 0; i < promotion->count; i++) list = join(list, promoted_operand(emitter, promotion->items[i]));
  emit_promotion(emitter, dtype, list, promotion->count);
  return dtype;
}

/* A plain number beside one value. */
static const char *emit_number_beside(gen_emitter *emitter, const gen_expression *number, const gen_operand *other) {
  const char *scalar = emit_scalar(emitter, number), *name = emit_temporary(emitter, "number");
  emit_line(emitter, "laze_value %s;", name);
  emit_line(emitter, "LAZE_TRY(%s);", emit_recorded(scalar, "_beside", other->value, memory_format("&%s", name)));
  return name;
}

/* A plain number is a constant of the dtype to which the callee would convert it. */
static void emit_promoted_number(gen_emitter *emitter, const gen_operator *callee, const gen_operand *operands,
                                 int count, gen_operand *number) {
  gen_promotion promotion = promotion_with_room(number->promoted->count);
  for (int i = 0; i < number->promoted->count; i++)
    for (int k = 0; k < count; k++)
      if (operands[k].parameter == &callee->schema.arguments[number->promoted->items[i]->argument])
        promotion.items[promotion.count++] = &operands[k];
  const gen_operand *other = only_other(&promotion);
  number->value = other != NULL ? emit_number_beside(emitter, number->item, other)
                                : emit_number(emitter, number->item, emit_promotion_of(emitter, &promotion));
}

/* Numbers where tensors are wanted become 0-d values of the dtype to which they and the tensors promote. */
static void emit_numbers(gen_emitter *emitter, const gen_operator *callee, gen_operand *operands, int count) {
  gen_promotion promotion = promotion_with_room(count);
  int numbers = 0;
  for (int i = 0; i < count; i++) {
    numbers += operands[i].is_number;
    const bool present = operands[i].value != NULL || operands[i].is_number;
    if (!present || kind_is_tensors(operands[i].parameter->kind) || (callee->compute == COMPUTE_SELECT && i == 0))
      continue;
    promotion.items[promotion.count++] = &operands[i];
  }
  if (numbers == 0) return;
  const gen_operand *other = only_other(&promotion);
  const char *dtype = other == NULL ? emit_promotion_of(emitter, &promotion) : NULL;
  for (int i = 0; i < count; i++) {
    if (!operands[i].is_number) continue;
    if (other != NULL)
      operands[i].value = emit_number_beside(emitter, operands[i].item, other);
    else
      operands[i].value = operands[i].value == NULL ? emit_number(emitter, operands[i].item, dtype)
                                                    : emit_conversion(emitter, operands[i].value, dtype);
  }
}

/* A list passed on as it was received: its values lie side by side among ours. */
static const char *emit_whole_list(gen_emitter *emitter, const gen_operand *operand) {
  const char *name = c_name(operand->item->text);
  emitter->loaded |= (uint64_t)1 << operand->item->argument;
  return memory_format(".operand_count = %s_count, .operands = %s_count > 0 ? call->operands + %s_first : NULL, "
                       ".segments = (const int32_t[]){%s_count}",
                       name, name, name, name);
}

/* What the call gives for each operand argument: the values in one list, their numbers in another. */
typedef struct gen_layout {
  const char *values, *segments;
  int value_count;
  bool plain; /* one value for each */
} gen_layout;

/* An operand that may be absent takes a place that LAZE_VALUE_NONE can fill. */
static gen_layout lay_out(gen_emitter *emitter, const gen_operand *operands, int count) {
  gen_layout out = {"", "", 0, true};
  for (int i = 0; i < count; i++) {
    const gen_expression *item = operands[i].item;
    int size = operands[i].value == NULL ? -1 : 1;
    if (item != NULL && item->form == FORM_LIST) {
      size = item->count;
      for (int k = 0; k < size; k++) out.values = join(out.values, emit_value(emitter, item->items[k], NULL));
    } else if (operands[i].value != NULL) {
      out.values = join(out.values, operands[i].value);
    }
    out.value_count += size > 0 ? size : 0;
    out.plain = out.plain && size == 1 && !kind_is_tensors(operands[i].parameter->kind);
    out.segments = join(out.segments, memory_format("%d", size));
  }
  return out;
}

/* Operands of which some may be absent only when the program runs. */
static const char *emit_compacted(gen_emitter *emitter, const gen_layout *layout, int count) {
  const char *name = emit_temporary(emitter, "operands");
  const char *number = memory_format("%s_count", name), *segments = memory_format("%s_segments", name);
  emit_line(emitter, "laze_value %s[] = {%s};", name, layout->values);
  emit_line(emitter, "int32_t %s[] = {%s};", segments, layout->segments);
  emit_line(emitter, "const int32_t %s = laze_compact_operands(%s, %s, %d);", number, name, segments, count);
  return memory_format(".operand_count = %s, .operands = %s, .segments = %s", number, name, segments);
}

/* A call of an operator that takes one to three tensors and nothing else; NULL: of another one. */
static const char *emit_tensors_alone(const gen_operator *callee, const gen_operand *operands, const char *results) {
  static const char *const names[] = {"unary", "binary", "ternary"};
  const int count = callee->schema.count;
  const char *values = "";
  if (count < 1 || count > 3) return NULL;
  for (int i = 0; i < count; i++) {
    const gen_kind kind = callee->schema.arguments[i].kind;
    if (!kind_is_operand(kind) || kind_is_tensors(kind) || operands[i].may_be_absent || operands[i].value == NULL)
      return NULL;
    values = join(values, operands[i].value);
  }
  return memory_format("laze_record_%s(recorder, LAZE_OP_%s, %s, %s, error)", names[count - 1], callee->upper, values,
                       results);
}

/* A conversion of a plain number, which is a constant of that dtype, or of what another call gave; NULL: of another
 * value, or another call. A result is a value of its own, so that a conversion of an argument is recorded. */
static const char *emit_plain_conversion(gen_emitter *emitter, const gen_expression *call, const char *results) {
  if (call->callee != table_conversion(emitter->table)) return NULL;
  const gen_expression *item = call->bound[0], *dtype = call->bound[1];
  if (item == NULL || item->optional || dtype == NULL || dtype->optional) return NULL;
  const bool is_number = kind_is_number(item->kind) && item->kind != KIND_SIZE;
  if (!is_number && (!kind_is_operand(item->kind) || (*results != '&' && item->callee == NULL))) return NULL;
  const char *value = is_number ? emit_scalar(emitter, item) : emit_value(emitter, item, NULL);
  const char *wanted = emit_bare(emit_value(emitter, dtype, NULL));
  return is_number ? emit_constant(wanted, value, results) : conversion(emitter, value, wanted, results);
}

static const char *emit_operands(gen_emitter *emitter, const gen_operand *operands, int count) {
  const gen_expression *first = operands[0].item;
  if (count == 1 && first != NULL && kind_is_tensors(first->kind) && first->form == FORM_NAME)
    return emit_whole_list(emitter, &operands[0]);
  const gen_layout layout = lay_out(emitter, operands, count);
  for (int i = 0; i < count; i++)
    if (operands[i].may_be_absent) return emit_compacted(emitter, &layout, count);
  const char *text = "";
  if (layout.value_count > 0)
    text =
        memory_format(".operand_count = %d, .operands = (const laze_value[]){%s}", layout.value_count, layout.values);
  if (!layout.plain) text = join(text, memory_format(".segments = (const int32_t[]){%s}", layout.segments));
  return text;
}

static const char *default_items(const gen_literal *value) {
  const char *items = "";
  for (int i = 0; i < value->count; i++) items = join(items, c_integer(value->items[i]));
  return items;
}

static const char *default_attribute(const gen_argument *parameter) {
  const gen_literal *value = &parameter->value;
  if (value->form == LITERAL_NONE) return memory_format("laze_attribute_absent(%s)", kind_enumerator(parameter->kind));
  switch (parameter->kind) {
  case KIND_SIZE: return memory_format("laze_attribute_size(%s)", c_integer(value->integer));
  case KIND_FLOAT: return memory_format("laze_attribute_real(%s)", c_real(value->real));
  case KIND_BOOL: return memory_format("laze_attribute_boolean(%s)", value->integer ? "true" : "false");
  case KIND_DTYPE: return memory_format("laze_attribute_dtype(%s)", dtype_infos[dtype_find(value->text)].enumerator);
  case KIND_STRING: return memory_format("laze_attribute_string(%s)", c_string(value->text));
  case KIND_LITERAL: return memory_format("laze_attribute_literal(%s)", c_scalar_call(value));
  case KIND_FLOAT_LIST: return "laze_attribute_reals(NULL, 0)";
  case KIND_STRING_LIST: return "laze_attribute_strings(NULL, 0)";
  case KIND_INT_LIST:
  case KIND_SIZE_LIST: {
    const char *family = parameter->kind == KIND_INT_LIST ? "integers" : "sizes";
    if (value->count == 0) return memory_format("laze_attribute_%s(NULL, 0)", family);
    return memory_format("laze_attribute_%s((const laze_size[]){%s}, %d)", family, default_items(value), value->count);
  }
  default: return memory_format("laze_attribute_integer(%s)", c_integer(value->integer));
  }
}

/* Items of a list of a fixed length: a list written out, or one integer for all. */
static const char *emit_list_attribute(gen_emitter *emitter, const gen_argument *parameter,
                                       const gen_expression *item) {
  const char *family = parameter->kind == KIND_INT_LIST ? "integers" : "sizes";
  const char *items = "";
  if (item->form == FORM_LIST && item->count == 0) return memory_format("laze_attribute_%s(NULL, 0)", family);
  if (item->form == FORM_LIST) {
    for (int i = 0; i < item->count; i++) items = join(items, emit_value(emitter, item->items[i], NULL));
    return memory_format("laze_attribute_%s((const laze_size[]){%s}, %d)", family, items, item->count);
  }
  const char *value = emit_value(emitter, item, NULL);
  if (kind_is_list(item->kind))
    return memory_format("laze_attribute_of_list(%s, %s)", kind_enumerator(parameter->kind), value);
  for (int i = 0; i < parameter->list_size; i++) items = join(items, value);
  return memory_format("laze_attribute_%s((const laze_size[]){%s}, %d)", family, items, parameter->list_size);
}

/* A list of numbers that are written out, or an empty list; what else there is was passed on as it is. */
static const char *emit_items_attribute(gen_emitter *emitter, const gen_argument *parameter,
                                        const gen_expression *item) {
  const char *items = "";
  const int count = item->form == FORM_LIST ? item->count : parameter->list_size;
  if (count == 0)
    return default_attribute(&(const gen_argument){.kind = parameter->kind, .value = {.form = LITERAL_LIST}});
  for (int i = 0; i < count; i++)
    items = join(items, emit_value(emitter, item->form == FORM_LIST ? item->items[i] : item, NULL));
  return memory_format("laze_attribute_reals((const double[]){%s}, %d)", items, count);
}

static const char *emit_attribute(gen_emitter *emitter, const gen_argument *parameter, const gen_expression *item) {
  if (item == NULL) return default_attribute(parameter);
  if (item->kind == KIND_ABSENT) return memory_format("laze_attribute_absent(%s)", kind_enumerator(parameter->kind));
  if (item->form == FORM_NAME && item->argument >= 0 && item->kind == parameter->kind)
    return memory_format("call->attributes[%s]", operator_attribute_name(emitter->op, item->argument));
  if (parameter->kind == KIND_FLOAT_LIST || parameter->kind == KIND_STRING_LIST)
    return emit_items_attribute(emitter, parameter, item);
  if (kind_is_list(parameter->kind)) return emit_list_attribute(emitter, parameter, item);
  if (parameter->kind == KIND_LITERAL) return memory_format("laze_attribute_literal(%s)", emit_scalar(emitter, item));
  const char *value = emit_bare(emit_value(emitter, item, NULL));
  switch (parameter->kind) {
  case KIND_SIZE: return memory_format("laze_attribute_size(%s)", value);
  case KIND_FLOAT: return memory_format("laze_attribute_real(%s)", value);
  case KIND_BOOL: return memory_format("laze_attribute_boolean(%s)", value);
  case KIND_DTYPE: return memory_format("laze_attribute_dtype%s(%s)", item->optional ? "_if_any" : "", value);
  case KIND_STRING: return memory_format("laze_attribute_string(%s)", value);
  default: return memory_format("laze_attribute_integer(%s)", value);
  }
}

static const char *emit_attributes(gen_emitter *emitter, const gen_expression *call) {
  const gen_operator *callee = call->callee;
  const char *attributes = "";
  for (int i = 0; i < callee->schema.count; i++)
    if (!kind_is_operand(callee->schema.arguments[i].kind))
      attributes = join(attributes, emit_attribute(emitter, &callee->schema.arguments[i], call->bound[i]));
  if (*attributes == '\0') return "";
  const char *name = emit_temporary(emitter, "attributes");
  emit_line(emitter, "const laze_attribute %s[] = {%s};", name, attributes);
  return memory_format(".attributes = %s", name);
}

const char *emit_record(gen_emitter *emitter, const gen_expression *call, const char *results) {
  const char *plain = emit_plain_conversion(emitter, call, results);
  if (plain != NULL) return plain;
  const gen_operator *callee = call->callee;
  gen_operand *operands = memory_take((size_t)callee->schema.count * sizeof(*operands));
  int count = 0;
  for (int i = 0; i < callee->schema.count; i++) {
    if (!kind_is_operand(callee->schema.arguments[i].kind)) continue;
    operands[count] = (gen_operand){.parameter = &callee->schema.arguments[i], .item = call->bound[i]};
    if (!kind_is_tensors(operands[count].parameter->kind)) emit_operand(emitter, callee, &operands[count]);
    count++;
  }
  for (int i = 0; i < count; i++)
    if (operands[i].promoted != NULL) emit_promoted_number(emitter, callee, operands, count, &operands[i]);
  emit_numbers(emitter, callee, operands, count);
  const char *alone = emit_tensors_alone(callee, operands, results);
  if (alone != NULL) return alone;
  const char *fields = memory_format(".op = LAZE_OP_%s", callee->upper);
  const char *given = count > 0 ? emit_operands(emitter, operands, count) : "";
  if (*given != '\0') fields = join(fields, given);
  const char *attributes = emit_attributes(emitter, call);
  if (*attributes != '\0') fields = join(fields, attributes);
  return memory_format("laze_record_here(recorder, &(laze_call){%s}, %s, error)", fields, results);
}

static const char *emit_present(gen_emitter *emitter, const gen_expression *item) {
  if (!kind_is_operand(item->kind))
    return memory_format("call->attributes[%s].present", operator_attribute_name(emitter->op, item->argument));
  emitter->loaded |= (uint64_t)1 << item->argument;
  return memory_format("!laze_value_is_none(%s)", c_name(item->text));
}

static const char *emit_size(gen_emitter *emitter, const gen_expression *call) {
  const char *value = emit_value(emitter, call->items[0], NULL), *axis = emit_value(emitter, call->items[1], NULL);
  const char *name = emit_temporary(emitter, "size");
  emit_line(emitter, "laze_size %s;", name);
  emit_line(emitter, "LAZE_TRY(laze_value_size(recorder, call, %s, %s, &%s, error));", value, axis, name);
  return name;
}

static const char *emit_sizes(gen_emitter *emitter, const gen_expression *call) {
  const char *value = emit_value(emitter, call->items[0], NULL), *storage = emit_temporary(emitter, "sizes");
  if (emitter->depth == 1)
    emit_line(emitter, "laze_size %s[LAZE_MAX_RANK];", storage);
  else
    fprintf(emitter->storage, "  laze_size %s[LAZE_MAX_RANK];\n", storage);
  return memory_format("laze_value_sizes(recorder, %s, %s)", value, storage);
}

static const char *emit_numel(gen_emitter *emitter, const gen_expression *call) {
  const char *value = emit_value(emitter, call->items[0], NULL), *dims = "(laze_size_list){.present = false}";
  if (call->count == 2) {
    dims = emit_value(emitter, call->items[1], NULL);
    if (call->items[1]->kind == KIND_INT)
      dims = memory_format("(laze_size_list){(const laze_size[]){%s}, 1, true}", dims);
  }
  const char *name = emit_temporary(emitter, "numel");
  emit_line(emitter, "laze_size %s;", name);
  emit_line(emitter, "LAZE_TRY(laze_value_elements(recorder, call, %s, %s, &%s, error));", value, dims, name);
  return name;
}

static const char *promoted_item(gen_emitter *emitter, const gen_expression *item) {
  if (kind_is_number(item->kind)) return memory_format("{.number = %s}", dtype_of_number(emitter, item));
  return memory_format("{.value = %s%s}", emit_value(emitter, item, NULL),
                       item->kind == KIND_SCALAR ? ", .is_number = true" : "");
}

static const char *emit_promoted(gen_emitter *emitter, const gen_expression *call) {
  const char *items = "";
  for (int i = 0; i < call->count; i++)
    items = memory_format("%s%s%s", items, i == 0 ? "" : ", ", promoted_item(emitter, call->items[i]));
  const char *name = emit_temporary(emitter, "dtype");
  emit_promotion(emitter, name, items, call->count);
  return name;
}

const char *emit_builtin(gen_emitter *emitter, const gen_expression *call) {
  const gen_expression *item = call->items[0];
  switch (call->builtin->number) {
  case BUILTIN_PRESENT: return emit_present(emitter, item);
  case BUILTIN_SIZE: return emit_size(emitter, call);
  case BUILTIN_SIZES: return emit_sizes(emitter, call);
  case BUILTIN_NUMEL: return emit_numel(emitter, call);
  case BUILTIN_PROMOTED: return emit_promoted(emitter, call);
  case BUILTIN_COUNT:
    return memory_format("call->attributes[%s].count", operator_attribute_name(emitter->op, item->argument));
  default: break;
  }
  const char *value = emit_value(emitter, item, NULL);
  const char *dtype =
      item->kind == KIND_DTYPE ? value : memory_format("laze_recorder_type(recorder, %s)->dtype", value);
  switch (call->builtin->number) {
  case BUILTIN_RANK: return memory_format("laze_recorder_type(recorder, %s)->rank", value);
  case BUILTIN_IS_FLOAT: return memory_format("laze_dtype_is_float(%s)", dtype);
  case BUILTIN_IS_COMPLEX: return memory_format("laze_dtype_is_complex(%s)", dtype);
  case BUILTIN_PART_OF: return memory_format("laze_dtype_part(%s)", dtype);
  case BUILTIN_COMPLEX_OF: return memory_format("laze_dtype_paired(%s)", dtype);
  case BUILTIN_FLOAT_OF: return memory_format("laze_float_dtype(%s)", dtype);
  default: return dtype;
  }
}
