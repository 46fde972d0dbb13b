/* What the generated functions of features.yaml pack: every kind of argument, given and left out. The operators cannot
 * be recorded here, so the test takes the place of laze_frame_record(). */
#include "laze/functions.h"

#include "ir/attribute.h"
#include "lazy/record/pack.h"
#include "tests/support/suite.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

static char packed[2048];
static size_t length;

__attribute__((format(printf, 1, 2))) static void append(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  length += (size_t)vsnprintf(packed + length, sizeof packed - length, format, arguments);
  va_end(arguments);
  ck_assert_uint_lt(length, sizeof packed);
}

static void append_scalar(laze_scalar scalar) {
  if (scalar.dtype == LAZE_F64)
    append("%g", scalar.value.real);
  else
    append("%s%lld", scalar.dtype == LAZE_BOOL ? "bool " : "", (long long)scalar.value.integer);
}

static void append_attribute(const laze_attribute *attribute) {
  if (!attribute->present) {
    append("none");
    return;
  }
  if (attribute->count < 0) {
    append("wrong");
    return;
  }
  switch ((laze_argument_kind)attribute->kind) {
  case LAZE_ARGUMENT_FLOAT: append("%g", attribute->value.real); break;
  case LAZE_ARGUMENT_BOOL: append(attribute->value.integer ? "true" : "false"); break;
  case LAZE_ARGUMENT_STRING: append("'%s'", attribute->value.string); break;
  case LAZE_ARGUMENT_LITERAL: append_scalar(attribute->value.literal); break;
  case LAZE_ARGUMENT_DTYPE: append("%s", laze_dtype_name((laze_dtype)attribute->value.integer)); break;
  case LAZE_ARGUMENT_INT_LIST:
  case LAZE_ARGUMENT_SIZE_LIST:
    append(attribute->kind == LAZE_ARGUMENT_INT_LIST ? "i[" : "s[");
    for (int32_t i = 0; i < attribute->count; i++) append("%s%lld", i ? "," : "", (long long)attribute->value.items[i]);
    append("]");
    break;
  case LAZE_ARGUMENT_FLOAT_LIST:
    append("f[");
    for (int32_t i = 0; i < attribute->count; i++) append("%s%g", i ? "," : "", attribute->value.reals[i]);
    append("]");
    break;
  case LAZE_ARGUMENT_STRING_LIST:
    append("[");
    for (int32_t i = 0; i < attribute->count; i++) append("%s'%s'", i ? "," : "", laze_attribute_text(attribute, i));
    append("]");
    break;
  case LAZE_ARGUMENT_SIZE: append("size %lld", (long long)attribute->value.size); break;
  default: append("%lld", (long long)attribute->value.integer);
  }
}

/* "name(operands; attributes)", tensors as the letters that the test made them of, lists in brackets. */
int32_t laze_frame_record(const laze_frame *frame, laze_tensor **results) {
  const laze_op_info *info = laze_op_get(frame->op);
  const laze_frame_operand *operand = frame->operands;
  length = 0;
  append("%s(", info->name);
  for (int32_t i = 0, position = 0; i < info->argument_count; i++) {
    if (!laze_argument_is_operand(info->arguments[i].kind)) continue;
    int32_t count = frame->segments ? frame->segments[position] : 1;
    append(position++ ? ", " : "");
    if (count < 0) append("none");
    if (info->arguments[i].kind == LAZE_ARGUMENT_TENSOR_LIST) append("[");
    for (int32_t k = 0; k < count; k++, operand++) {
      if (operand->tensor)
        append("%s", (const char *)operand->tensor);
      else
        append_scalar(operand->scalar);
    }
    if (info->arguments[i].kind == LAZE_ARGUMENT_TENSOR_LIST) append("]");
  }
  ck_assert_int_eq(operand - frame->operands, frame->operand_count);
  append(";");
  for (int32_t i = 0; i < info->attribute_count; i++) {
    append(i ? ", " : " ");
    append_attribute(&frame->attributes[i]);
  }
  append(")%s", frame->context ? " with context" : "");
  if (frame->location.file) append(" at %s:%d", frame->location.file, (int)frame->location.line);
  for (int i = 0; i < info->result_count; i++) results[i] = (laze_tensor *)(uintptr_t) "result";
  return info->result_count;
}

static laze_tensor *tensor(const char *name) {
  return (laze_tensor *)(uintptr_t)name;
}

#define assert_packs(call, expected)                                                                                   \
  do {                                                                                                                 \
    packed[0] = 0;                                                                                                     \
    (void)(call);                                                                                                      \
    ck_assert_str_eq(packed, expected);                                                                                \
  } while (0)

/* The functions themselves, without the macros that add a place. */
START_TEST(defaults_are_packed) {
  laze_tensor *a = tensor("a"), *b = tensor("b");
  assert_packs((laze_pool)(a, (laze_ints){NULL, 0}, (laze_ints){NULL, 0}),
               "pool(a; i[1,1], i[1,1], none, 1e-05, 'mean', 0, true)");
  assert_packs((laze_sum)(a, LAZE_ALL_DIMS, false), "sum(a; none, false, none)");
  assert_packs((laze_padded)(a, LAZE_ALL_DIMS, LAZE_ALL_DIMS, LAZE_ALL_DIMS), "padded(a; i[3], i[], s[7])");
  assert_packs((laze_cat)((laze_tensor *[]){a, b}, 2, 0), "cat([ab]; 0)");
  assert_packs((laze_pair)(a, NULL, (laze_tensor *[]){b}, 1), "pair(a, none, [b];)");
  assert_packs((laze_optional_things)(a, NULL, LAZE_ALL_DIMS), "optional_things(a, none, none, none; none, none)");
  assert_packs((laze_numbers)(a, LAZE_NUMBER(2.5), b, 0.5), "numbers(a, 2.5, b; 0.5)");
  assert_packs((laze_sizes_and_conditions)(a, 3, LAZE_NONE, NULL), "sizes_and_conditions(a; 3, none, 'none', none)");
  assert_packs((laze_defaulted)(a, LAZE_NONE), "defaulted(a, none;)");
  assert_packs((laze_either)(a, NULL, 0), "either(a, none; 0)");
  assert_packs((laze_compared)(a, 7, 8, NULL), "compared(a; size 7, 8, 'plain')");
  assert_packs((laze_labelled)(a, LAZE_NO_REALS, LAZE_NO_STRINGS, LAZE_REALS(0, 1)),
               "labelled(a; f[], [], f[0,1], none, none)");
  assert_packs((laze_size_tensor)(laze_context_default(), 5), "size_tensor(; size 5, none) with context");
}
END_TEST

#define NOWHERE NULL, 0

START_TEST(given_arguments_are_packed) {
  laze_tensor *a = tensor("a"), *b = tensor("b"), *c = tensor("c"), *results[2];
  assert_packs(
      laze_pool_at(a, LAZE_INTS(2, 3), LAZE_INTS(4, 5), LAZE_NUMBER(INT64_MAX), 0, "", LAZE_NUMBER(-1), false, NOWHERE),
      "pool(a; i[2,3], i[4,5], size 9223372036854775807, 0, '', -1, false)");
  assert_packs(laze_sum_at(a, LAZE_INTS(-1), true, LAZE_F64, NOWHERE), "sum(a; i[-1], true, f64)");
  assert_packs((laze_cat)((laze_tensor *[]){a, b, c}, 3, -2), "cat([abc]; -2)");
  assert_packs((laze_pair)(a, c, NULL, 0), "pair(a, c, [];)");
  assert_packs(laze_optional_things_at(a, b, LAZE_INTS(0, 1), LAZE_NUMBER(0.5), LAZE_NUMBER(3), LAZE_I32, NOWHERE),
               "optional_things(a, b, 0.5, 3; i[0,1], i32)");
  assert_packs(laze_sizes_and_conditions_at(a, -1, LAZE_NUMBER(9), "some", LAZE_BOOL, NOWHERE),
               "sizes_and_conditions(a; -1, size 9, 'some', bool)");
  assert_packs((laze_defaulted)(a, LAZE_NUMBER(2)), "defaulted(a, 2;)");
  assert_packs((laze_expand)(a, LAZE_INTS(3, -1)), "expand(a; s[3,-1])");
  assert_packs((laze_to)(a, LAZE_I64), "to.dtype(a; i64)");
  assert_packs((laze_where)(a, b, c), "where.self(a, b, c;)");
  assert_packs((laze_no_dims)(a, true), "no_dims(a; true)");
  assert_packs((laze_pooled)(a, LAZE_NUMBER(1.5), 2, -3, 0.25), "pooled(a; 1.5, 2, size -3, 0.25)");
  assert_packs((laze_literal_case)(a, LAZE_NUMBER(2)), "literal_case(a; 2)");
  assert_packs(laze_labelled_at(a, LAZE_REALS(0.5, -2), LAZE_STRINGS("x", "", "y z"), LAZE_REALS(1, 2), LAZE_REALS(3),
                                LAZE_STRINGS("t"), NOWHERE),
               "labelled(a; f[0.5,-2], ['x','','y z'], f[1,2], f[3], ['t'])");
  results[0] = results[1] = NULL;
  assert_packs(((laze_halves)(a, LAZE_NUMBER(4), results), 0), "halves(a, 4;)");
  ck_assert_str_eq((const char *)results[1], "result");
  assert_packs(((laze_passes)((laze_tensor *[]){a, b}, 2, 1, results), 0), "passes([ab]; 1)");
}
END_TEST

/* Strings that do not fit the room of the call are packed all the same, and what is no list has a mark. */
START_TEST(lists_of_strings_are_packed) {
  char text[LAZE_PACK_BYTES + 2], expected[LAZE_PACK_BYTES + 64];
  const char *const missing[] = {"a", NULL};
  memset(text, 'x', sizeof text - 1);
  text[sizeof text - 1] = 0;
  snprintf(expected, sizeof expected, "labelled(a; f[], ['%s','b'], f[1,2], none, none)", text);
  assert_packs((laze_labelled)(tensor("a"), LAZE_NO_REALS, LAZE_STRINGS(text, "b"), LAZE_REALS(1, 2)), expected);
  assert_packs((laze_labelled)(tensor("a"), (laze_reals){NULL, 2}, (laze_strings){missing, 2}, LAZE_REALS(1, 2)),
               "labelled(a; wrong, wrong, f[1,2], none, none)");
  assert_packs((laze_labelled)(tensor("a"), (laze_reals){NULL, -1}, (laze_strings){NULL, 2}, LAZE_REALS(1, 2)),
               "labelled(a; wrong, wrong, f[1,2], none, none)");
}
END_TEST

/* A number where only an integer may stand has a mark that laze_frame_record() refuses. */
START_TEST(numbers_of_the_wrong_kind_are_marked) {
  assert_packs((laze_sizes_and_conditions)(tensor("a"), 3, LAZE_NUMBER(2.0), NULL),
               "sizes_and_conditions(a; 3, wrong, 'none', none)");
  assert_packs((laze_sizes_and_conditions)(tensor("a"), 3, (laze_scalar){.dtype = 99}, NULL),
               "sizes_and_conditions(a; 3, wrong, 'none', none)");
}
END_TEST

/* The macros of the header pass where they stand. */
START_TEST(places_are_passed) {
  char expected[256];
  laze_tensor *a = tensor("a");
  snprintf(expected, sizeof expected, "neg(a;) at %s:%d", __FILE__, __LINE__ + 1);
  assert_packs(laze_neg(a), expected);
  snprintf(expected, sizeof expected, "cat([a]; 0) at %s:%d", __FILE__, __LINE__ + 1);
  assert_packs(laze_cat(&a, 1, 0), expected);
  assert_packs(laze_neg_at(a, "file.py", 12), "neg(a;) at file.py:12");
  snprintf(expected, sizeof expected, "pool(a; i[2], i[1,1], none, 1e-05, 'mean', 0, true) at %s:%d", __FILE__,
           __LINE__ + 1);
  assert_packs(laze_pool(a, 2, LAZE_ALL_DIMS), expected);
  snprintf(expected, sizeof expected, "pool(a; i[2], i[3,4], size 5, 0.25, 'max', 6, false) at %s:%d", __FILE__,
           __LINE__ + 1);
  assert_packs(laze_pool_with(a, 2, LAZE_INTS(3, 4), 5, 0.25, "max", 6, false), expected);
}
END_TEST

/* More tensors than fit the local array; a list that is not there is one missing tensor. */
START_TEST(lists_of_any_length_are_packed) {
  enum { COUNT = 100 };
  laze_tensor *many[COUNT];
  char expected[COUNT + 32] = "cat([";
  for (int i = 0; i < COUNT; i++) {
    many[i] = tensor("x");
    if (i % 33 == 31) {
      snprintf(expected, sizeof expected, "cat([%.*s]; 0)", i + 1,
               "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx");
      assert_packs((laze_cat)(many, i + 1, 0), expected);
    }
  }
  assert_packs((laze_cat)(NULL, 0, 0), "cat([]; 0)");
  assert_packs((laze_cat)(NULL, 2, 0), "cat([0]; 0)");
  assert_packs((laze_cat)(many, -1, 0), "cat([0]; 0)");
}
END_TEST

int main(void) {
  Suite *suite = suite_create("features functions");
  TCase *tests = tcase_create("features functions");
  tcase_add_test(tests, defaults_are_packed);
  tcase_add_test(tests, given_arguments_are_packed);
  tcase_add_test(tests, lists_of_strings_are_packed);
  tcase_add_test(tests, numbers_of_the_wrong_kind_are_marked);
  tcase_add_test(tests, places_are_passed);
  tcase_add_test(tests, lists_of_any_length_are_packed);
  suite_add_tcase(suite, tests);
  return test_run_suite(suite);
}
