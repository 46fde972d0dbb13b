/* Tensors as text: what a prompt shows. How arrays are laid out is shown by the tests of lazec, which prints so too. */
#include "support.h"

#include <locale.h>
#include <math.h>

static void assert_shows(laze_tensor *tensor, const char *expected) {
  char text[512];
  size_t needed;
  laze_error error;
  ck_assert_msg(laze_tensor_format(tensor, text, sizeof text, &needed, &error) == LAZE_OK, "%s", error.message);
  ck_assert_str_eq(text, expected);
  ck_assert_uint_eq(needed, strlen(expected));
}

START_TEST(values_are_shown) {
  laze_context *context = new_context();
  laze_scope *scope = laze_scope_begin(context);
  const float floats[] = {1, -2.5f, 0.1f, NAN, INFINITY, 1e-45f};
  assert_shows(laze_tensor_from_data(context, LAZE_F32, LAZE_SHAPE(2, 3), floats, sizeof floats),
               "[[  1.0  -2.5   0.1]\n [  nan   inf 1e-45]]");
  const double pi = 3.141592653589793;
  assert_shows(laze_tensor_from_data(context, LAZE_F64, LAZE_SHAPE_SCALAR, &pi, sizeof pi), "3.141592653589793");
  assert_shows(neg(laze_tensor_from_scalar(context, LAZE_F32, laze_scalar_real(0.1))), "-0.1");
  assert_shows(laze_tensor_from_scalar(context, LAZE_I32, laze_scalar_integer(-7)), "-7");
  const uint8_t truths[] = {1, 0};
  assert_shows(laze_tensor_from_data(context, LAZE_BOOL, LAZE_SHAPE(2), truths, 2), "[ true false]");
  assert_shows(laze_tensor_from_data(context, LAZE_I64, LAZE_SHAPE(3, 0), NULL, 0), "[]");
  assert_shows(filled(context, 1001, 2), "[2.0 2.0 2.0 ... 2.0 2.0 2.0]");
  ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
  laze_context_release(context);
}
END_TEST

/* A buffer of any size gets as much as fits, and the caller learns how much there is. */
START_TEST(text_is_cut_where_it_does_not_fit) {
  laze_context *context = new_context();
  laze_scope *scope = laze_scope_begin(context);
  laze_tensor *x = filled(context, 2, 1.5f);
  const char whole[] = "[1.5 1.5]";
  for (size_t size = 0; size < sizeof whole + 2; size++) {
    char text[16];
    memset(text, '#', sizeof text);
    size_t needed, kept = size < sizeof whole ? size : sizeof whole;
    ck_assert_int_eq(laze_tensor_format(x, size > 0 ? text : NULL, size, &needed, NULL), LAZE_OK);
    ck_assert_uint_eq(needed, sizeof whole - 1);
    if (kept > 0) ck_assert(memcmp(text, whole, kept - 1) == 0 && text[kept - 1] == 0);
    ck_assert(text[kept] == '#');
  }
  ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
  laze_context_release(context);
}
END_TEST

/* Text that a program reads back must not depend on its user's language. */
START_TEST(the_decimal_point_is_a_point) {
  laze_context *context = new_context();
  laze_scope *scope = laze_scope_begin(context);
  (void)(setlocale(LC_ALL, "de_DE.UTF-8") || setlocale(LC_ALL, "fr_FR.UTF-8"));
  assert_shows(filled(context, 2, 0.25f), "[0.25 0.25]");
  setlocale(LC_ALL, "C");
  ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
  laze_context_release(context);
}
END_TEST

START_TEST(what_has_no_value_has_no_text) {
  laze_context *context = new_context();
  laze_scope *scope = laze_scope_begin(context);
  laze_tensor *x = filled(context, 2, 1);
  char text[8] = "before";
  size_t needed = 7;
  laze_error error;
  ck_assert_int_eq(laze_tensor_format(out_of_range(context, x), text, sizeof text, &needed, &error), LAZE_OUT_OF_RANGE);
  ck_assert(text[0] == 0 && needed == 0);
  ck_assert_ptr_nonnull(strstr(error.message, "index"));
  ck_assert_int_eq(laze_tensor_format(NULL, text, sizeof text, NULL, &error), LAZE_INVALID_ARGUMENT);
  ck_assert_str_eq(error.message, "laze_tensor_format: the tensor is NULL");
  ck_assert_int_eq(laze_tensor_format(x, NULL, 5, NULL, &error), LAZE_INVALID_ARGUMENT);
  ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
  laze_context_release(context);
}
END_TEST

int main(void) {
  const TTest *const tests[] = {values_are_shown, text_is_cut_where_it_does_not_fit, the_decimal_point_is_a_point,
                                what_has_no_value_has_no_text};
  return run_tests("format", tests, sizeof tests / sizeof *tests);
}
