/* What operators there are, and what each takes and gives: the operator tables as data, for plugins and tools that
 * build their own functions, documentation or checks from them.
 *
 * Everything here is static: it lives as long as the library, and every function may be called from any thread, without
 * a context. Numbers of operators are those of one build of the library: what outlives the process stores names.
 */
#ifndef LAZE_SCHEMA_H
#define LAZE_SCHEMA_H

#include "laze/dtype.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What an argument takes: one of the constants below. */
typedef int32_t laze_argument_type;

#define LAZE_TAKES_TENSOR 1
#define LAZE_TAKES_TENSORS 2
#define LAZE_TAKES_SCALAR 3 /* a number of any kind */
#define LAZE_TAKES_INTEGER 4
#define LAZE_TAKES_REAL 5
#define LAZE_TAKES_BOOL 6
#define LAZE_TAKES_DTYPE 7
#define LAZE_TAKES_STRING 8
#define LAZE_TAKES_INTEGERS 9
#define LAZE_TAKES_REALS 10
#define LAZE_TAKES_STRINGS 11
#define LAZE_TAKES_OPTIONAL_TENSORS 12 /* a list of tensors and None */

typedef struct laze_operator laze_operator;

/* One argument of a schema, in its order. */
typedef struct laze_operator_argument {
  const char *name;
  const char *type;          /* as the schema has it: "Tensor?", "int[1]", "SymInt" */
  const char *default_value; /* as the schema has it: "1", "None", "[]"; NULL: it has to be passed */
  laze_argument_type takes;
  int32_t list_size;    /* of "int[2]": so many numbers, for which one may stand; 0: any number of them */
  int32_t optional;     /* 1: None may be passed ("Tensor?") */
  int32_t keyword_only; /* 1: it stands behind the "*" of the schema */
} laze_operator_argument;

/* The number of operators, those that laze/functions.h has: the library's own (whose names start with "_"), and those
 * with regions, which no call can pass, are left out. */
LAZE_API int32_t laze_operator_count(void);
/* The index-th of them, in the order of the tables; NULL where there is none. Overloads of a name need not be
 * neighbours. */
LAZE_API const laze_operator *laze_operator_at(int32_t index);
/* The operator of that whole name ("add.Tensor", "relu"), or NULL. */
LAZE_API const laze_operator *laze_operator_find(const char *name);
/* The index of the operator of that whole name, by which it is called without being looked for each time
 * (laze_call_by_number()); -1: there is none. */
LAZE_API int32_t laze_operator_number(const char *name);

/* Of an operator (not NULL). "add.Tensor"; the name that its overloads share, "add"; the C function, "laze_add"; the
 * schema as the table has it; what it computes, in a sentence. */
LAZE_API const char *laze_operator_name(const laze_operator *op);
LAZE_API const char *laze_operator_base_name(const laze_operator *op);
LAZE_API const char *laze_operator_function(const laze_operator *op);
LAZE_API const char *laze_operator_schema(const laze_operator *op);
LAZE_API const char *laze_operator_doc(const laze_operator *op);
/* 1 where PyTorch has a method of tensors of that base name: it is called on the argument "self", which need not be the
 * first (where.self). */
LAZE_API int32_t laze_operator_is_method(const laze_operator *op);
/* The name of its form in place, "add_.Tensor", by which laze_call_by_name() knows it; NULL: it has none. */
LAZE_API const char *laze_operator_in_place(const laze_operator *op);
/* The index of the argument that this form changes, a Tensor: that of "self", or else the first. */
LAZE_API int32_t laze_operator_target(const laze_operator *op);
/* At least 1; -1: the call decides, and a result may be absent (laze/opaque.h). */
LAZE_API int32_t laze_operator_result_count(const laze_operator *op);
/* What the schema calls a result ("values" of max.dim); "" where it gives no name; NULL where there is no such result.
 */
LAZE_API const char *laze_operator_result_name(const laze_operator *op, int32_t index);
LAZE_API int32_t laze_operator_argument_count(const laze_operator *op);
/* NULL where there is none. */
LAZE_API const laze_operator_argument *laze_operator_argument_at(const laze_operator *op, int32_t index);

#ifdef __cplusplus
}
#endif
#endif
