/* How the arguments of laze/functions/ are written: numbers as numbers, one axis as an integer, a tensor or a number
 * where an operator takes either. The macros here choose by the type of what is written (C11 _Generic, overloads in
 * C++); all of it becomes plain arguments of plain functions.
 *
 *   laze_mul(x, 2)  laze_mul(x, 0.5)  laze_mul(x, y)
 *   laze_sum_dim(x, 1, false)  laze_sum_dim(x, LAZE_INTS(0, 1), false)
 *   laze_slice(x, 0, 1, LAZE_NONE, 1)
 */
#ifndef LAZE_CALL_H
#define LAZE_CALL_H

#include "laze/tensor.h"

#ifdef __cplusplus
#include <cstddef>
#else
#include <stdbool.h>
#endif

/* Where a call stands: what the macros of functions pass to the library, for messages and dumps. With
 * LAZE_NO_LOCATIONS, nothing, which makes recording a little faster. */
#ifdef LAZE_NO_LOCATIONS
#define LAZE_HERE (const char *)0, 0
#else
#define LAZE_HERE __FILE__, __LINE__
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* All axes, where a list of them is wanted. */
#define LAZE_ALL_DIMS LAZE_SHAPE_SCALAR

/* What stands for a number where only a tensor may: a call with it is an error. */
#define LAZE_NOT_A_TENSOR ((laze_tensor *)(uintptr_t)1)

/* A tensor (`is_tensor`, NULL where it is absent) or a number. */
typedef struct laze_operand {
  laze_tensor *tensor;
  laze_scalar number;
  bool is_tensor;
} laze_operand;

static inline laze_operand laze_operand_from_tensor(laze_tensor *tensor) {
  laze_operand operand = {tensor, {LAZE_DTYPE_NONE, 0, {0}, 0}, true};
  return operand;
}
static inline laze_operand laze_operand_from_scalar(laze_scalar number) {
  laze_operand operand = {NULL, {LAZE_DTYPE_NONE, 0, {0}, 0}, false};
  operand.number = number;
  return operand;
}
/* For functions that take nothing but a tensor there. */
static inline laze_tensor *laze_operand_tensor(laze_operand operand) {
  if (operand.is_tensor || operand.number.dtype == LAZE_DTYPE_NONE) return operand.tensor;
  return LAZE_NOT_A_TENSOR;
}

/* --- forms that give results to tensors there are --- */

/* Which form of a call gives its results away. */
#define LAZE_IN_PLACE 1 /* laze_add_(x, y): to the argument "self", or else the first */
#define LAZE_OUT 2      /* laze_out(z, laze_add(x, y)): to the tensor of the caller's, as out= of PyTorch */

/* Gives the `count` results of a call, handles that are just made, to as many tensors, and returns the first of these:
 * each has the value of its result from now on, and the handle of the result goes, unless it is retained. What was
 * recorded from a tensor before has the old value still, so that tensors may be arguments of the call as well.
 *
 * A tensor keeps its dtype and shape. The result is cast, but no complex number to a real one, no float to an integer
 * and nothing but bools to bool; its shape has to be the tensor's. With LAZE_OUT a tensor without elements takes the
 * shape of the result. While gradients are recorded, a tensor that gets a result in place has its history, and may be
 * no leaf that requires a gradient; with LAZE_OUT neither the tensor nor the result may require one.
 *
 * A result in place that is a view of its tensor is what the tensor becomes (laze_t_(), laze_squeeze_()): no element
 * changes, and other views of its memory stay as they are.
 *
 * What is wrong is an error handle, which names `name` and the place; a result that is an error handle itself is passed
 * on. Then no tensor has changed. At most 8 results. */
LAZE_API laze_tensor *laze_results_give_at(int32_t form, const char *name, laze_tensor *const *tensors,
                                           laze_tensor *const *results, int32_t count, const char *file, int32_t line);
/* The same of one. */
static inline laze_tensor *laze_result_give_at(int32_t form, const char *name, laze_tensor *tensor, laze_tensor *result,
                                               const char *file, int32_t line) {
  return laze_results_give_at(form, name, &tensor, &result, 1, file, line);
}
/* laze_out(z, laze_add(x, y)): z has the sum from now on, and is returned. */
static inline laze_tensor *laze_out_at(laze_tensor *tensor, laze_tensor *result, const char *file, int32_t line) {
  return laze_results_give_at(LAZE_OUT, "laze_out", &tensor, &result, 1, file, line);
}
#ifndef LAZE_NO_MACROS
#define laze_out(tensor, ...) laze_out_at(tensor, __VA_ARGS__, LAZE_HERE)
#endif

static inline laze_scalar laze_scalar_same(laze_scalar number) {
  return number;
}

static inline laze_ints laze_ints_same(laze_ints list, const int64_t *item) {
  (void)item;
  return list;
}

#ifdef __cplusplus
} /* extern "C" */

/* No template for all of them: it would take NULL for a number without a warning. */
#define LAZE_NUMBER_TYPE(type, make)                                                                                   \
  static inline laze_scalar laze_number(type value) {                                                                  \
    return make(value);                                                                                                \
  }                                                                                                                    \
  static inline laze_operand laze_operand_of(type value) {                                                             \
    return laze_operand_from_scalar(make(value));                                                                      \
  }
LAZE_NUMBER_TYPE(laze_scalar, laze_scalar_same)
LAZE_NUMBER_TYPE(bool, laze_scalar_boolean)
LAZE_NUMBER_TYPE(int, laze_scalar_integer)
LAZE_NUMBER_TYPE(long, laze_scalar_integer)
LAZE_NUMBER_TYPE(long long, laze_scalar_integer)
LAZE_NUMBER_TYPE(unsigned, laze_scalar_unsigned)
LAZE_NUMBER_TYPE(unsigned long, laze_scalar_unsigned)
LAZE_NUMBER_TYPE(unsigned long long, laze_scalar_unsigned)
LAZE_NUMBER_TYPE(double, laze_scalar_real)
#undef LAZE_NUMBER_TYPE
static inline laze_operand laze_operand_of(laze_tensor *tensor) {
  return laze_operand_from_tensor(tensor);
}
static inline laze_operand laze_operand_of(std::nullptr_t) {
  return laze_operand_from_tensor(nullptr);
}
template <class Item> laze_scalar laze_number(Item *) = delete; /* or a pointer would be a bool */

/* LAZE_NUMBER(x): a laze_scalar of any number; LAZE_NONE: of none. */
#define LAZE_NUMBER(...) laze_number(__VA_ARGS__)
#define LAZE_NONE (laze_scalar())
/* A laze_operand of a tensor or of any number. */
#define LAZE_OPERAND(...) laze_operand_of(__VA_ARGS__)

/* An item lives as long as the other arguments of the call, in the temporary that `room` is. */
static inline laze_ints laze_list_of(laze_ints list) {
  return list;
}
static inline laze_ints laze_list_of(int64_t item, int64_t (&&room)[1] = {}) {
  room[0] = item;
  laze_ints list = {room, 1};
  return list;
}
/* A laze_ints of one or of an integer; more are too many arguments. */
#define LAZE_LIST(...) laze_list_of(__VA_ARGS__)

/* Two arguments, the tensors and their number: laze_cat(LAZE_TENSORS(a, b), 0). */
static inline laze_tensor *const *laze_tensors_of(std::initializer_list<laze_tensor *> items) {
  return items.begin();
}
template <class... Items> char (&laze_count_of(Items...))[sizeof...(Items)];
#define LAZE_TENSORS(...) laze_tensors_of({__VA_ARGS__}), static_cast<int32_t>(sizeof(laze_count_of(__VA_ARGS__)))

#else

static inline laze_operand laze_operand_from_boolean(bool value) {
  return laze_operand_from_scalar(laze_scalar_boolean(value));
}
static inline laze_operand laze_operand_from_real(double value) {
  return laze_operand_from_scalar(laze_scalar_real(value));
}
static inline laze_operand laze_operand_from_integer(int64_t value) {
  return laze_operand_from_scalar(laze_scalar_integer(value));
}
static inline laze_operand laze_operand_from_unsigned(uint64_t value) {
  return laze_operand_from_scalar(laze_scalar_unsigned(value));
}
#ifndef __STDC_NO_COMPLEX__
/* A complex number is two numbers behind each other, as C says. */
static inline laze_scalar laze_scalar_from_complex(double _Complex value) {
  const double *parts = (const double *)&value;
  return laze_scalar_complex(parts[0], parts[1]);
}
static inline laze_operand laze_operand_from_complex(double _Complex value) {
  return laze_operand_from_scalar(laze_scalar_from_complex(value));
}
#endif
static inline laze_ints laze_ints_of_one(int64_t item, int64_t *room) {
  laze_ints list = {room, 1};
  *room = item;
  return list;
}

/* clang-format off */
#ifdef __STDC_NO_COMPLEX__
#define LAZE_COMPLEX_TYPES(make)
#else
#define LAZE_COMPLEX_TYPES(make) float _Complex: make, double _Complex: make, long double _Complex: make,
#endif
/* LAZE_NUMBER(x): a laze_scalar of any number; LAZE_NONE: of none. (In C11 `true` is an int: (bool)1 is a bool.) */
#define LAZE_NUMBER(...)                                                                                               \
  _Generic((__VA_ARGS__),                                                                                              \
    laze_scalar: laze_scalar_same,                                                                                     \
    bool: laze_scalar_boolean,                                                                                         \
    float: laze_scalar_real, double: laze_scalar_real, long double: laze_scalar_real,                                  \
    LAZE_COMPLEX_TYPES(laze_scalar_from_complex)                                                                       \
    unsigned long: laze_scalar_unsigned, unsigned long long: laze_scalar_unsigned,                                     \
    default: laze_scalar_integer)(__VA_ARGS__)
#define LAZE_NONE ((laze_scalar){LAZE_DTYPE_NONE, 0, {0}, 0})

/* A laze_operand of a tensor or of any number. */
#define LAZE_OPERAND(...)                                                                                              \
  _Generic((__VA_ARGS__),                                                                                              \
    laze_tensor *: laze_operand_from_tensor, void *: laze_operand_from_tensor,                                         \
    laze_scalar: laze_operand_from_scalar,                                                                             \
    bool: laze_operand_from_boolean,                                                                                   \
    float: laze_operand_from_real, double: laze_operand_from_real, long double: laze_operand_from_real,                \
    LAZE_COMPLEX_TYPES(laze_operand_from_complex)                                                                      \
    unsigned long: laze_operand_from_unsigned, unsigned long long: laze_operand_from_unsigned,                         \
    default: laze_operand_from_integer)(__VA_ARGS__)

/* A laze_ints of one or of an integer; more are too many arguments. */
#define LAZE_LIST(...)                                                                                                 \
  _Generic((__VA_ARGS__), laze_ints: laze_ints_same, default: laze_ints_of_one)(__VA_ARGS__, &(int64_t){0})
/* clang-format on */

/* Two arguments, the tensors and their number: laze_cat(LAZE_TENSORS(a, b), 0). */
#define LAZE_TENSORS(...)                                                                                              \
  (laze_tensor *const[]){__VA_ARGS__}, (int32_t)(sizeof((laze_tensor *const[]){__VA_ARGS__}) / sizeof(laze_tensor *))

#endif
#ifndef LAZE_NO_MACROS
/* A number as it is: laze_tensor_from_scalar(NULL, LAZE_F32, 0.5). */
#define laze_tensor_from_scalar(context, dtype, ...) laze_tensor_from_scalar(context, dtype, LAZE_NUMBER(__VA_ARGS__))
/* Where values are asked for. */
#define laze_tensor_read(...) laze_tensor_read_at(__VA_ARGS__, LAZE_HERE)
#define laze_tensor_item(...) laze_tensor_item_at(__VA_ARGS__, LAZE_HERE)
#define laze_tensor_materialise(...) laze_tensor_materialise_at(__VA_ARGS__, LAZE_HERE)
#define laze_tensors_materialise(...) laze_tensors_materialise_at(__VA_ARGS__, LAZE_HERE)
#define laze_tensor_export(...) laze_tensor_export_at(__VA_ARGS__, LAZE_HERE)
#define laze_tensor_format(...) laze_tensor_format_at(__VA_ARGS__, LAZE_HERE)
#define laze_tensor_print(...) laze_tensor_print_at(__VA_ARGS__, LAZE_HERE)
#define laze_step_end(...) laze_step_end_at(__VA_ARGS__, LAZE_HERE)
#endif
#endif
