#include "support.h"

#include <stdio.h>

/* Only the first error that nobody has read is the scope's. */
START_TEST(first_unread_error_is_returned) {
  laze_context *context = new_context();
  laze_scope *scope = laze_scope_begin(context);
  ck_assert_str_eq(laze_scope_error(scope), "");
  laze_tensor *x = filled(context, 2, 1);
  laze_tensor *first_bad = add(x, filled(context, 3, 1));
  add(x, filled(context, 4, 1));
  add(x, filled(context, 5, 1));
  float data[2];
  ck_assert_int_ne(laze_tensor_read(first_bad, LAZE_F32, data, sizeof data), LAZE_OK);
  ck_assert(strstr(laze_scope_error(scope), "3"));
  laze_error error;
  ck_assert_int_eq(laze_scope_end_error(scope, &error), LAZE_INVALID_ARGUMENT);
  ck_assert_int_eq(error.code, LAZE_INVALID_ARGUMENT);
  ck_assert_msg(strstr(error.message, "4"), "%s", error.message);
  laze_context_release(context);
}
END_TEST

START_TEST(scopes_nest) {
  laze_context *context = new_context();
  laze_scope *outer = laze_scope_begin(context);
  laze_tensor *x = filled(context, 2, 1);
  laze_scope *inner = laze_scope_begin(context);
  laze_tensor *temporary = neg(x);
  laze_error error;
  ck_assert_int_eq(laze_scope_end_error(outer, &error), LAZE_FAILED_PRECONDITION);
  ck_assert(strstr(error.message, "innermost"));
  ck_assert_float_eq(first(temporary, 2), -1); /* the refusal ended nothing */
  ck_assert_int_eq(laze_scope_end_error(inner, &error), LAZE_OK);
  ck_assert_str_eq(error.message, "");
  ck_assert_str_ne(laze_tensor_error(temporary), "");
  ck_assert_float_eq(first(x, 2), 1);
  ck_assert_int_eq(laze_scope_end(outer), LAZE_OK);
  laze_context_release(context);
}
END_TEST

/* An inner scope's error is returned by its own end and no other. */
START_TEST(errors_belong_to_their_scope) {
  laze_context *context = new_context();
  laze_scope *outer = laze_scope_begin(context);
  laze_scope *inner = laze_scope_begin(context);
  add(filled(context, 2, 1), filled(context, 3, 1));
  ck_assert_int_eq(laze_scope_end(inner), LAZE_INVALID_ARGUMENT);
  ck_assert_int_eq(laze_scope_end(outer), LAZE_OK);
  laze_context_release(context);
}
END_TEST

START_TEST(many_errors_are_bounded) {
  laze_context *context = new_context();
  laze_scope *scope = laze_scope_begin(context);
  laze_tensor *x = filled(context, 2, 1);
  for (int i = 0; i < 1000; i++) add(x, NULL);
  ck_assert_int_eq(laze_scope_end(scope), LAZE_INVALID_ARGUMENT);
  laze_context_release(context);
}
END_TEST

/* A scope remembers sixteen errors. When there are more, those that a read has returned go, and none that nobody saw.
 */
START_TEST(unread_errors_are_not_forgotten) {
  enum { REMEMBERED = 16 };
  for (int unread = 0; unread < REMEMBERED; unread++) {
    laze_context *context = new_context();
    laze_scope *scope = laze_scope_begin(context);
    laze_error error;
    char expected[32];
    float data[2];
    for (int i = 0; i <= REMEMBERED; i++) {
      laze_tensor *bad = add(filled(context, 2, 1), filled(context, 3 + i, 1));
      if (i != unread) ck_assert_int_ne(laze_tensor_read(bad, LAZE_F32, data, sizeof data), LAZE_OK);
    }
    add(filled(context, 2, 1), filled(context, 100, 1));
    snprintf(expected, sizeof expected, "f32[%d]", 3 + unread);
    ck_assert_int_eq(laze_scope_end_error(scope, &error), LAZE_INVALID_ARGUMENT);
    ck_assert_msg(strstr(error.message, expected), "'%s' is not about %s", error.message, expected);
    laze_context_release(context);
  }
}
END_TEST

/* Handles made outside of every scope belong to the thread and go with the context. */
START_TEST(tensors_without_a_scope) {
  laze_context *context = new_context();
  ck_assert_float_eq(first(neg(filled(context, 2, 4)), 2), -4);
  laze_context_release(context);
}
END_TEST

START_TEST(a_scope_keeps_its_context) {
  laze_context *context = new_context();
  laze_scope *scope = laze_scope_begin(context);
  laze_context_release(context);
  ck_assert_float_eq(first(neg(filled(context, 2, 4)), 2), -4);
  ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
}
END_TEST

/* The next scope takes the place of one that has ended. An `end` too many must not end it: its handles would go while
 * they are in use. */
START_TEST(a_scope_ends_once) {
  laze_context *context = new_context();
  laze_scope *outer = laze_scope_begin(context);
  laze_error error;
  for (int i = 0; i < 1000; i++) { /* whatever place the next one takes */
    laze_scope *ended = laze_scope_begin(context);
    ck_assert_int_eq(laze_scope_end(ended), LAZE_OK);
    laze_scope *scope = laze_scope_begin(context);
    laze_tensor *x = filled(context, 2, 4);
    add(x, NULL);
    ck_assert_int_eq(laze_scope_end_error(ended, &error), LAZE_FAILED_PRECONDITION);
    ck_assert_msg(strstr(error.message, "ended already"), "%s", error.message);
    ck_assert_int_eq(laze_step_end(ended, &error), LAZE_FAILED_PRECONDITION);
    ck_assert_str_eq(laze_scope_error(ended), "");
    ck_assert_str_ne(laze_scope_error(scope), "");
    ck_assert_float_eq(first(x, 2), 4);
    ck_assert_int_eq(laze_scope_end(scope), LAZE_INVALID_ARGUMENT);
  }
  ck_assert_int_eq(laze_scope_end(outer), LAZE_OK);
  laze_context_release(context);
}
END_TEST

/* A scope whose context has gone was memory that is free. */
START_TEST(a_scope_is_known_after_its_context) {
  laze_context *context = new_context();
  laze_scope *scope = laze_scope_begin(context);
  laze_context_release(context);
  ck_assert_int_eq(laze_scope_end(scope), LAZE_OK); /* and with it the context */
  laze_error error;
  ck_assert_int_eq(laze_scope_end_error(scope, &error), LAZE_FAILED_PRECONDITION);
  ck_assert_int_eq(laze_step_end(scope, &error), LAZE_FAILED_PRECONDITION);
  ck_assert_str_eq(laze_scope_error(scope), "");
}
END_TEST

/* Neither kind of handle passes for the other: a program in C casts. */
START_TEST(a_scope_is_no_tensor) {
  laze_context *context = new_context();
  laze_scope *scope = laze_scope_begin(context);
  laze_tensor *x = filled(context, 2, 4);
  float data[2];
  ck_assert_int_eq(laze_tensor_read((laze_tensor *)scope, LAZE_F32, data, sizeof data), LAZE_INVALID_ARGUMENT);
  ck_assert_int_eq(laze_scope_end((laze_scope *)x), LAZE_FAILED_PRECONDITION);
  ck_assert_float_eq(first(x, 2), 4);
  (void)laze_scope_end(scope);
  laze_context_release(context);
}
END_TEST

/* A value of two scopes is the outer one's after the inner one's end: a step stores it, or later steps compute it
 * again and again. */
START_TEST(a_value_of_an_outer_scope_stays_its_own) {
  laze_context *context = new_context();
  laze_scope *outer = laze_scope_begin(context);
  laze_tensor *x = filled(context, 2, 4), *y = neg(x);
  laze_scope *inner = laze_scope_begin(context);
  ck_assert_int_eq(laze_tensor_assign(filled(context, 2, 1), y), LAZE_OK);
  ck_assert_int_eq(laze_scope_end(inner), LAZE_OK);
  ck_assert_int_eq(laze_step_end(laze_scope_begin(context), NULL), LAZE_OK);
  int64_t graphs = metric(context, "graphs_run");
  ck_assert_int_eq(graphs, 1);
  ck_assert_float_eq(first(y, 2), -4);
  ck_assert_int_eq(metric(context, "graphs_run"), graphs);
  ck_assert_int_eq(laze_scope_end(outer), LAZE_OK);
  laze_context_release(context);
}
END_TEST

/* Each context has its own innermost scope. */
START_TEST(scopes_of_two_contexts) {
  laze_context *one = new_context(), *two = new_context();
  laze_scope *first_scope = laze_scope_begin(one), *second_scope = laze_scope_begin(two);
  laze_tensor *x = filled(two, 2, 4);
  ck_assert_int_eq(laze_scope_end(first_scope), LAZE_OK);
  ck_assert_float_eq(first(x, 2), 4);
  ck_assert_int_eq(laze_scope_end(second_scope), LAZE_OK);
  laze_context_release(one);
  laze_context_release(two);
}
END_TEST

START_TEST(null_scope_is_an_error) {
  laze_error error;
  ck_assert_int_eq(laze_scope_end_error(NULL, &error), LAZE_OUT_OF_MEMORY);
  ck_assert_str_ne(error.message, "");
  ck_assert_str_ne(laze_scope_error(NULL), "");
}
END_TEST

START_TEST(default_context_works) {
  ck_assert_int_eq(setenv("LAZE_BACKEND", "interp", 1), 0);
  laze_scope *scope = laze_scope_begin(NULL);
  laze_tensor *x = filled(NULL, 3, 2);
  ck_assert_float_eq(first(mul(x, x), 3), 4);
  ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
}
END_TEST

int main(void) {
  const TTest *const tests[] = {
      first_unread_error_is_returned,
      scopes_nest,
      errors_belong_to_their_scope,
      many_errors_are_bounded,
      unread_errors_are_not_forgotten,
      tensors_without_a_scope,
      a_scope_keeps_its_context,
      null_scope_is_an_error,
      default_context_works,
      a_scope_ends_once,
      a_scope_is_known_after_its_context,
      a_scope_is_no_tensor,
      a_value_of_an_outer_scope_stays_its_own,
      scopes_of_two_contexts,

  };
  return run_tests("scope", tests, sizeof tests / sizeof *tests);
}
