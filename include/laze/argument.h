/* What calls take: lists, and the arguments of a call by name, of tensors (laze/tensor.h) and of values of graphs
 * (laze/graph.h).
 */
#ifndef LAZE_ARGUMENT_H
#define LAZE_ARGUMENT_H

#include "laze/dtype.h"

#ifdef __cplusplus
#include <initializer_list>
extern "C" {
#endif

typedef struct laze_tensor laze_tensor;

/* A value of a graph (laze/graph.h): result `result` of node `node`. LAZE_VALUE_NONE is none. */
typedef struct laze_value {
  int32_t node, result;
} laze_value;
#ifdef __cplusplus
#define LAZE_VALUE_NONE (laze_value{-1, 0})
#else
#define LAZE_VALUE_NONE ((laze_value){-1, 0})
#endif

/* A list of integers (sizes, axes). LAZE_INTS(2, 3) makes one in place; LAZE_SHAPE is the same word for sizes, and
 * LAZE_SHAPE_SCALAR the empty one. Borrowed during the call. */
typedef struct laze_ints {
  const int64_t *items;
  int32_t count;
} laze_ints;
#ifdef __cplusplus
static inline laze_ints laze_ints_of(std::initializer_list<int64_t> items) {
  return {items.begin(), static_cast<int32_t>(items.size())};
}
#define LAZE_INTS(...) laze_ints_of({__VA_ARGS__})
#define LAZE_SHAPE_SCALAR laze_ints_of({})
#else
#define LAZE_INTS(...)                                                                                                 \
  ((laze_ints){(const int64_t[]){__VA_ARGS__}, (int32_t)(sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t))})
#define LAZE_SHAPE_SCALAR ((laze_ints){0, 0})
#endif
#define LAZE_SHAPE(...) LAZE_INTS(__VA_ARGS__)

/* Lists of numbers and of strings: LAZE_REALS(0.5, 2), LAZE_STRINGS("a", "b"); none: LAZE_NO_REALS, LAZE_NO_STRINGS.
 * Borrowed during the call, strings as well. */
typedef struct laze_reals {
  const double *items;
  int32_t count;
} laze_reals;
typedef struct laze_strings {
  const char *const *items;
  int32_t count;
} laze_strings;
#ifdef __cplusplus
static inline laze_reals laze_reals_of(std::initializer_list<double> items) {
  return {items.begin(), static_cast<int32_t>(items.size())};
}
static inline laze_strings laze_strings_of(std::initializer_list<const char *> items) {
  return {items.begin(), static_cast<int32_t>(items.size())};
}
#define LAZE_REALS(...) laze_reals_of({__VA_ARGS__})
#define LAZE_STRINGS(...) laze_strings_of({__VA_ARGS__})
#define LAZE_NO_REALS laze_reals()
#define LAZE_NO_STRINGS laze_strings()
#else
#define LAZE_REALS(...)                                                                                                \
  ((laze_reals){(const double[]){__VA_ARGS__}, (int32_t)(sizeof((const double[]){__VA_ARGS__}) / sizeof(double))})
#define LAZE_STRINGS(...)                                                                                              \
  ((laze_strings){(const char *const[]){__VA_ARGS__},                                                                  \
                  (int32_t)(sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))})
#define LAZE_NO_REALS ((laze_reals){0, 0})
#define LAZE_NO_STRINGS ((laze_strings){0, 0})
#endif

/* A list of values: LAZE_VALUES(x, y). Borrowed during the call. */
typedef struct laze_values {
  const laze_value *items;
  int32_t count;
} laze_values;
#ifdef __cplusplus
static inline laze_values laze_values_of(std::initializer_list<laze_value> items) {
  return {items.begin(), static_cast<int32_t>(items.size())};
}
#define LAZE_VALUES(...) laze_values_of({__VA_ARGS__})
#else
#define LAZE_VALUES(...)                                                                                               \
  ((laze_values){(const laze_value[]){__VA_ARGS__},                                                                    \
                 (int32_t)(sizeof((const laze_value[]){__VA_ARGS__}) / sizeof(laze_value))})
#endif

/* One of a list of sizes: a number, or (`tensor` not NULL) the value of a 0-d tensor of integers. */
typedef struct laze_size_item {
  laze_tensor *tensor;
  int64_t number;
} laze_size_item;

/* Arguments are those of the schema in its order, keyword-only ones as well, or have a name. */
typedef struct laze_argument {
  const char *name; /* of the schema's argument; NULL: by position. What follows one with a name has one, too */
  int32_t kind;     /* LAZE_PASS_... */
  int32_t count;
  union {
    laze_tensor *tensor;
    laze_tensor *const *tensors; /* count; NULL: one that is absent, where each may be */
    laze_value value;
    const laze_value *values; /* count; LAZE_VALUE_NONE: one that is absent, where each may be */
    laze_scalar scalar;
    int64_t integer;
    double real;
    const int64_t *integers;     /* count */
    const double *reals;         /* count */
    const laze_size_item *sizes; /* count */
    const char *string;
    const char *const *strings; /* count */
  } value;
} laze_argument;
#define LAZE_PASS_DEFAULT 0 /* the schema's default, or absent */
#define LAZE_PASS_TENSOR 1  /* of calls on tensors, as TENSORS and SIZES */
#define LAZE_PASS_TENSORS 2
#define LAZE_PASS_SCALAR 3  /* a number; an integer among them is no bool and no dtype */
#define LAZE_PASS_INTEGER 4 /* int, SymInt, and, as C has it, bool and ScalarType */
#define LAZE_PASS_REAL 5
#define LAZE_PASS_INTEGERS 6
#define LAZE_PASS_STRING 7
#define LAZE_PASS_BOOL 8  /* value.integer: 0 or 1, and only for what takes a bool or a number */
#define LAZE_PASS_DTYPE 9 /* value.integer */
#define LAZE_PASS_NONE 10 /* an optional argument that is absent, said so */
#define LAZE_PASS_REALS 11
#define LAZE_PASS_STRINGS 12
#define LAZE_PASS_SIZES 13
#define LAZE_PASS_VALUE 14 /* of calls in graphs, as VALUES */
#define LAZE_PASS_VALUES 15

#ifdef __cplusplus
}
#endif
#endif
