/* Tensors as objects of another language: taken out of their scopes, asked for their errors, and their memory lent. */
#include "support.h"
#include "tests/support/failing_allocator.h"

/* What is taken is its owner's alone: its end is the release, whether the scope is open or not. */
START_TEST(a_taken_tensor_ends_with_its_release) {
  laze_context *context = new_context();
  laze_scope *scope = laze_scope_begin(context);
  laze_tensor *first_made = filled(context, 2, 1), *middle = filled(context, 2, 2), *last = filled(context, 2, 3);
  ck_assert_ptr_eq(laze_tensor_take(middle), middle);
  laze_tensor_release(middle);
  ck_assert_int_eq(laze_tensor_rank(middle), -1); /* with the scope still open */
  ck_assert_ptr_eq(laze_tensor_take(last), last);
  ck_assert_ptr_eq(laze_tensor_take(last), last); /* once more is a retain */
  ck_assert_ptr_eq(laze_tensor_take(first_made), first_made);
  laze_tensor *kept = filled(context, 2, 4);
  ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
  ck_assert_int_eq(laze_tensor_rank(kept), -1);
  ck_assert_float_eq(first(first_made, 2), 1);
  laze_tensor_release(first_made);
  laze_tensor_release(last);
  ck_assert_float_eq(first(last, 2), 3);
  laze_tensor_release(last);
  ck_assert_int_eq(laze_tensor_rank(last), -1);
  ck_assert_ptr_null(laze_tensor_take(NULL));
  ck_assert_ptr_eq(laze_tensor_take(kept), kept); /* a stale one stays stale */
  ck_assert_int_eq(laze_tensor_rank(kept), -1);
  laze_context_release(context);
}
END_TEST

/* A program that opens no scope and takes whatever it makes runs for long in the same memory. */
START_TEST(a_long_loop_of_taken_tensors_does_not_grow) {
  test_failing_allocator state = {0};
  laze_context *context;
  ck_assert_int_eq(test_failing_context(&state, "interp", "", "", &context), LAZE_OK);
  laze_tensor *x = laze_tensor_take(filled(context, 2, 1));
  int64_t live = 0;
  for (int i = 0; i < 20000; i++) {
    laze_tensor *half = laze_tensor_take(scale(x, 0.5)), *whole = laze_tensor_take(add(half, half));
    laze_tensor *wrong = laze_tensor_take(unary("no_such_operator", x));
    ck_assert_int_eq(laze_tensor_status(wrong), LAZE_NOT_FOUND);
    laze_tensor_release(wrong);
    if (i % 10 == 0) ck_assert_float_eq(first(whole, 2), 1);
    laze_tensor_release(half);
    laze_tensor_release(x);
    x = whole;
    if (i == 1000) live = state.live;
    if (i > 1000) ck_assert_int_le(state.live, live + 64);
  }
  laze_tensor_release(x);
  laze_context_release(context);
  ck_assert_int_eq(state.live, 0);
}
END_TEST

/* The status decides the exception; asking for it is reading it. */
START_TEST(an_error_that_was_asked_for_is_read) {
  laze_context *context = new_context();
  laze_scope *scope = laze_scope_begin(context);
  laze_tensor *x = filled(context, 2, 1), *wrong = add(x, filled(context, 3, 1)), *late = out_of_range(context, x);
  ck_assert_int_eq(laze_tensor_status(x), LAZE_OK);
  ck_assert_int_eq(laze_tensor_status(wrong), LAZE_INVALID_ARGUMENT);
  ck_assert_int_eq(laze_tensor_status(neg(wrong)), LAZE_INVALID_ARGUMENT);
  ck_assert_int_eq(laze_tensor_status(late), LAZE_OK); /* nobody has looked yet */
  ck_assert_int_ne(laze_tensor_materialise(late), LAZE_OK);
  ck_assert_int_eq(laze_tensor_status(late), LAZE_OUT_OF_RANGE);
  float three[3];
  ck_assert_int_ne(laze_tensor_read(x, LAZE_F32, three, sizeof three), LAZE_OK);
  ck_assert_int_eq(laze_tensor_status(x), LAZE_INVALID_ARGUMENT); /* of the last failed read, as its message is */
  ck_assert_int_eq(laze_tensor_status(NULL), LAZE_INVALID_ARGUMENT);
  ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
  ck_assert_int_eq(laze_tensor_status(x), LAZE_INVALID_ARGUMENT);

  scope = laze_scope_begin(context);
  (void)unary("no_such_operator", filled(context, 2, 1)); /* nobody asked */
  ck_assert_int_eq(laze_scope_end(scope), LAZE_NOT_FOUND);
  laze_context_release(context);
}
END_TEST

static laze_export export_of(laze_tensor *tensor) {
  laze_export out;
  laze_error error;
  ck_assert_msg(laze_tensor_export(tensor, &out, &error) == LAZE_OK, "%s", error.message);
  return out;
}

START_TEST(an_export_shows_the_elements) {
  laze_context *context = new_context();
  laze_scope *scope = laze_scope_begin(context);
  const float elements[] = {1, 2, 3, 4, 5, 6};
  laze_tensor *x = laze_tensor_from_data(context, LAZE_F32, LAZE_SHAPE(2, 3), elements, sizeof elements);
  laze_export out = export_of(neg(x)); /* computed for it */
  ck_assert(out.dtype == LAZE_F32 && out.rank == 2 && out.sizes[0] == 2 && out.sizes[1] == 3);
  ck_assert_int_eq(out.size, sizeof elements);
  for (int i = 0; i < 6; i++) ck_assert_float_eq(((const float *)out.data)[i], -elements[i]);
  laze_export_release(&out);
  ck_assert(!out.data && !out.owner && out.size == 0);
  laze_export_release(&out);
  laze_export_release(NULL);

  laze_export number = export_of(laze_tensor_from_scalar(context, LAZE_I32, laze_scalar_integer(-7)));
  ck_assert(number.rank == 0 && number.size == 4 && *(const int32_t *)number.data == -7);
  laze_export_release(&number);

  laze_export empty = export_of(laze_tensor_from_data(context, LAZE_F64, LAZE_SHAPE(0, 5), NULL, 0));
  ck_assert(empty.size == 0 && empty.data != NULL && empty.sizes[1] == 5);
  laze_export_release(&empty);
  laze_export none = export_of(laze_tensor_borrow(context, LAZE_F64, LAZE_SHAPE(0), NULL, 0, NULL, NULL));
  ck_assert(none.size == 0 && none.data != NULL);
  laze_export_release(&none);
  ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
  laze_context_release(context);
}
END_TEST

/* Lent memory is another's: assignments, steps and the end of everything but the export leave it as it is. */
START_TEST(an_export_outlives_what_it_was_taken_from) {
  laze_context *context = new_context();
  laze_scope *scope = laze_scope_begin(context);
  laze_tensor *weight = laze_tensor_retain(scale(filled(context, 64, 2), 2));
  ck_assert_int_eq(laze_step_end(scope, NULL), LAZE_OK);
  laze_export out = export_of(weight);
  const float *data = out.data;
  for (int i = 0; i < 5; i++) {
    scope = laze_scope_begin(context);
    ck_assert_int_eq(laze_tensor_assign(weight, scale(weight, 0.5)), LAZE_OK);
    ck_assert_int_eq(laze_step_end(scope, NULL), LAZE_OK);
    for (int k = 0; k < 64; k++) ck_assert_float_eq(data[k], 4);
  }
  ck_assert_float_eq(first(weight, 64), 0.125f);
  laze_tensor_release(weight);
  laze_context_release(context); /* the export has it still */
  for (int k = 0; k < 64; k++) ck_assert_float_eq(data[k], 4);
  laze_export_release(&out);
}
END_TEST

static void count_release(void *self) {
  ++*(int *)self;
}

/* Borrowed memory goes through: no copy on the way in or out, and its owner hears when both are done. */
START_TEST(borrowed_memory_is_lent_on) {
  laze_context *context = new_context();
  laze_scope *scope = laze_scope_begin(context);
  static const float elements[] = {1, 2};
  int released = 0;
  laze_tensor *x = laze_tensor_take(
      laze_tensor_borrow(context, LAZE_F32, LAZE_SHAPE(2), elements, sizeof elements, count_release, &released));
  laze_export out = export_of(x);
  ck_assert_ptr_eq(out.data, elements);
  laze_tensor_release(x);
  ck_assert_int_eq(released, 0);
  laze_export_release(&out);
  ck_assert_int_eq(released, 1);
  ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
  laze_context_release(context);
}
END_TEST

START_TEST(an_export_of_an_error_says_it) {
  laze_context *context = new_context();
  laze_scope *scope = laze_scope_begin(context);
  laze_tensor *x = filled(context, 2, 1);
  laze_export out = {.size = 5};
  laze_error error;
  ck_assert_int_eq(laze_tensor_export(out_of_range(context, x), &out, &error), LAZE_OUT_OF_RANGE);
  ck_assert(!out.data && !out.owner && out.size == 0);
  ck_assert_ptr_nonnull(strstr(error.message, "index"));
  ck_assert_int_eq(laze_tensor_export(unary("nothing", x), &out, &error), LAZE_NOT_FOUND);
  ck_assert_int_eq(laze_tensor_export(NULL, &out, &error), LAZE_INVALID_ARGUMENT);
  ck_assert_str_eq(error.message, "laze_tensor_export: the tensor is NULL");
  ck_assert_int_eq(laze_tensor_export(x, NULL, &error), LAZE_INVALID_ARGUMENT);
  ck_assert_int_eq(laze_scope_end(scope), LAZE_OK); /* all of it was read */
  ck_assert_int_eq(laze_tensor_export(x, &out, &error), LAZE_INVALID_ARGUMENT);
  ck_assert_ptr_nonnull(strstr(error.message, "released handle"));
  ck_assert_int_eq(laze_tensor_export(x, &out, NULL), LAZE_INVALID_ARGUMENT);
  laze_context_release(context);
}
END_TEST

/* At every allocation that can fail: an error and nothing kept, or the export. */
START_TEST(memory_may_run_out_during_an_export) {
  bool done = false;
  for (int64_t at = 1; !done; at++) {
    test_failing_allocator state = {0};
    laze_context *context;
    ck_assert_int_eq(test_failing_context(&state, "interp", "", "", &context), LAZE_OK);
    laze_tensor *x = laze_tensor_take(scale(filled(context, 4, 3), 2));
    laze_export out;
    void *managed;
    state.refuse_at = state.calls + at;
    laze_status status = laze_tensor_export(x, &out, NULL);
    ck_assert(status == LAZE_OK || (status == LAZE_OUT_OF_MEMORY && !out.owner));
    laze_export_release(&out);
    status = laze_tensor_to_dlpack(x, LAZE_DLPACK_VERSIONED, &managed, NULL);
    ck_assert(status == LAZE_OK || (status == LAZE_OUT_OF_MEMORY && !managed));
    if (status == LAZE_OK) laze_tensor_release(laze_tensor_take(laze_tensor_from_dlpack(context, 1, managed)));
    done = state.calls < state.refuse_at;
    state.refuse_at = 0;
    laze_tensor_release(x);
    laze_context_release(context);
    ck_assert_int_eq(state.live, 0);
  }
}
END_TEST

int main(void) {
  const TTest *const tests[] = {a_taken_tensor_ends_with_its_release,
                                a_long_loop_of_taken_tensors_does_not_grow,
                                an_error_that_was_asked_for_is_read,
                                an_export_shows_the_elements,
                                an_export_outlives_what_it_was_taken_from,
                                borrowed_memory_is_lent_on,
                                an_export_of_an_error_says_it,
                                memory_may_run_out_during_an_export};
  return run_tests("export", tests, sizeof tests / sizeof *tests);
}
