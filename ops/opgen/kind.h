/* Kinds of arguments and values: those of base/overload.h, and what expressions have besides. */
#ifndef OPGEN_KIND_H
#define OPGEN_KIND_H

#include "base/dtype_table.h"
#include "base/overload.h"

#include <stdbool.h>

typedef enum {
  KIND_TENSOR = LAZE_ARGUMENT_TENSOR,
  KIND_TENSOR_LIST = LAZE_ARGUMENT_TENSOR_LIST,
  KIND_OPTIONAL_LIST = LAZE_ARGUMENT_OPTIONAL_LIST,
  KIND_SCALAR = LAZE_ARGUMENT_SCALAR,
  KIND_INT = LAZE_ARGUMENT_INT,
  KIND_SIZE = LAZE_ARGUMENT_SIZE,
  KIND_FLOAT = LAZE_ARGUMENT_FLOAT,
  KIND_BOOL = LAZE_ARGUMENT_BOOL,
  KIND_DTYPE = LAZE_ARGUMENT_DTYPE,
  KIND_STRING = LAZE_ARGUMENT_STRING,
  KIND_INT_LIST = LAZE_ARGUMENT_INT_LIST,
  KIND_SIZE_LIST = LAZE_ARGUMENT_SIZE_LIST,
  KIND_FLOAT_LIST = LAZE_ARGUMENT_FLOAT_LIST,
  KIND_STRING_LIST = LAZE_ARGUMENT_STRING_LIST,
  KIND_LITERAL = LAZE_ARGUMENT_LITERAL,
  KIND_DATA = LAZE_ARGUMENT_DATA,
  KIND_ABSENT,  /* the literal `none` */
  KIND_SEVERAL, /* a call with several results */
  KIND_WRONG,   /* of an expression whose fault was reported */
} gen_kind;

static inline bool kind_is_operand(gen_kind kind) {
  return kind <= KIND_SCALAR;
}
/* Of operands. */
static inline bool kind_is_tensors(gen_kind kind) {
  return kind == KIND_TENSOR_LIST || kind == KIND_OPTIONAL_LIST;
}
/* Of integers. */
static inline bool kind_is_list(gen_kind kind) {
  return kind == KIND_INT_LIST || kind == KIND_SIZE_LIST;
}
static inline bool kind_is_integer(gen_kind kind) {
  return kind == KIND_INT || kind == KIND_SIZE;
}
/* A plain number that is no value of the graph. */
static inline bool kind_is_number(gen_kind kind) {
  return kind_is_integer(kind) || kind == KIND_FLOAT || kind == KIND_BOOL || kind == KIND_LITERAL;
}

/* As messages and schemas write it ("SymInt[]"). */
const char *kind_name(gen_kind kind);
/* The enumerator of laze_argument_kind. */
const char *kind_enumerator(gen_kind kind);

/* How a laze_scalar holds a plain number. */
typedef struct gen_number {
  const char *dtype; /* "LAZE_F64" */
  const char *maker; /* "laze_scalar_real" */
} gen_number;
/* Of FLOAT, BOOL, and the integer kinds. */
const gen_number *kind_number(gen_kind kind);

/* Element types, in the order of base/dtype_table.h. */
typedef struct gen_dtype_info {
  const char *name;       /* "f32" */
  const char *enumerator; /* "LAZE_F32" */
  laze_kind kind;
  const char *c_type;    /* "float" */
  const char *eval_kind; /* "float": the key of `eval` */
  bool is_half;          /* kept in 16 bits and computed as f32 */
} gen_dtype_info;
#define COUNT_DTYPE(with, ...) +1
enum { DTYPE_COUNT = 0 LAZE_DTYPES(COUNT_DTYPE, ) };
extern const gen_dtype_info dtype_infos[DTYPE_COUNT];
#define DTYPE_ALL ((1u << DTYPE_COUNT) - 1)
/* The position in dtype_infos, or -1. */
int dtype_find(const char *name);
/* All of them: "bool, i32 or f32". */
const char *dtype_names(void);
/* Mask of the positions of one kind. */
unsigned dtype_mask_of(laze_kind kind);
/* Mask of the floats that are kept in 16 bits. */
unsigned dtype_mask_of_halves(void);
/* "1u << LAZE_F32 | 1u << LAZE_F64" for a mask of positions; "0" for none. */
const char *dtype_mask_text(unsigned mask);

#endif
