/* Words for kinds of arguments, as schemas and C write them, and the dtypes of the library with their C types. */
#include "ops/opgen/kind.h"

#include "ops/opgen/allocate.h"

#include <string.h>

static const struct {
  const char *name, *enumerator;
} names[] = {
    [KIND_TENSOR] = {"Tensor", "LAZE_ARGUMENT_TENSOR"},
    [KIND_TENSOR_LIST] = {"Tensor[]", "LAZE_ARGUMENT_TENSOR_LIST"},
    [KIND_OPTIONAL_LIST] = {"Tensor?[]", "LAZE_ARGUMENT_OPTIONAL_LIST"},
    [KIND_SCALAR] = {"Scalar", "LAZE_ARGUMENT_SCALAR"},
    [KIND_INT] = {"int", "LAZE_ARGUMENT_INT"},
    [KIND_SIZE] = {"SymInt", "LAZE_ARGUMENT_SIZE"},
    [KIND_FLOAT] = {"float", "LAZE_ARGUMENT_FLOAT"},
    [KIND_BOOL] = {"bool", "LAZE_ARGUMENT_BOOL"},
    [KIND_DTYPE] = {"ScalarType", "LAZE_ARGUMENT_DTYPE"},
    [KIND_STRING] = {"str", "LAZE_ARGUMENT_STRING"},
    [KIND_INT_LIST] = {"int[]", "LAZE_ARGUMENT_INT_LIST"},
    [KIND_SIZE_LIST] = {"SymInt[]", "LAZE_ARGUMENT_SIZE_LIST"},
    [KIND_FLOAT_LIST] = {"float[]", "LAZE_ARGUMENT_FLOAT_LIST"},
    [KIND_STRING_LIST] = {"str[]", "LAZE_ARGUMENT_STRING_LIST"},
    [KIND_LITERAL] = {"literal Scalar", "LAZE_ARGUMENT_LITERAL"},
    [KIND_DATA] = {"Data", "LAZE_ARGUMENT_DATA"},
    [KIND_ABSENT] = {"none", ""},
    [KIND_SEVERAL] = {"several results", ""},
    [KIND_WRONG] = {"wrong", ""},
};

const char *kind_name(gen_kind kind) {
  return names[kind].name;
}
const char *kind_enumerator(gen_kind kind) {
  return names[kind].enumerator;
}

const gen_number *kind_number(gen_kind kind) {
  static const gen_number real = {"LAZE_F64", "laze_scalar_real"}, boolean = {"LAZE_BOOL", "laze_scalar_boolean"},
                          integer = {"LAZE_I64", "laze_scalar_integer"};
  return kind == KIND_FLOAT ? &real : kind == KIND_BOOL ? &boolean : &integer;
}

/* In C, elements of an expression are bool where memory holds a byte. */
#define EVAL_BOOL(c_type) "bool", "bool", false
#define EVAL_SIGNED(c_type) c_type, "int", false
#define EVAL_UNSIGNED(c_type) c_type, "int", false
#define EVAL_FLOAT(c_type) c_type, "float", false
#define EVAL_COMPLEX(c_type) c_type, "complex", false
#define EVAL_HALF(c_type) c_type, "float", true
#define INFO(with, id, name, kind, bits, digits, c_type, ...)                                                          \
  {name, "LAZE_" #id, LAZE_KIND_##kind, EVAL_##kind(#c_type)},
const gen_dtype_info dtype_infos[DTYPE_COUNT] = {LAZE_DTYPES(INFO, )};

int dtype_find(const char *name) {
  for (int i = 0; i < DTYPE_COUNT; i++)
    if (strcmp(dtype_infos[i].name, name) == 0) return i;
  return -1;
}

const char *dtype_names(void) {
  const char *text = dtype_infos[0].name;
  for (int i = 1; i < DTYPE_COUNT; i++)
    text = memory_format(i + 1 < DTYPE_COUNT ? "%s, %s" : "%s or %s", text, dtype_infos[i].name);
  return text;
}

unsigned dtype_mask_of(laze_kind kind) {
  unsigned mask = 0;
  for (int i = 0; i < DTYPE_COUNT; i++)
    if (dtype_infos[i].kind == kind) mask |= 1u << i;
  return mask;
}

unsigned dtype_mask_of_halves(void) {
  unsigned mask = 0;
  for (int i = 0; i < DTYPE_COUNT; i++)
    if (dtype_infos[i].is_half) mask |= 1u << i;
  return mask;
}

const char *dtype_mask_text(unsigned mask) {
  const char *text = NULL;
  for (int i = 0; i < DTYPE_COUNT; i++) {
    if ((mask >> i & 1) == 0) continue;
    text = text == NULL ? memory_format("1u << %s", dtype_infos[i].enumerator)
                        : memory_format("%s | 1u << %s", text, dtype_infos[i].enumerator);
  }
  return text == NULL ? "0" : text;
}
