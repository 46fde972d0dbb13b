#include "lazy/value/handle_table.h"
#include "support.h"

#include <math.h>

/* Use after release has to be reported, never to reach another tensor's value. */
START_TEST(stale_handle_is_an_error) {
  laze_context *context = new_context();
  laze_scope *scope = laze_scope_begin(context);
  laze_tensor *old = filled(context, 2, 1);
  ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);

  scope = laze_scope_begin(context);
  laze_tensor *fresh = filled(context, 2, 5); /* takes the slot that `old` had */
  float data[2];
  ck_assert_int_eq(laze_tensor_read(old, LAZE_F32, data, sizeof data), LAZE_INVALID_ARGUMENT);
  ck_assert(strstr(laze_tensor_error(old), "released"));
  laze_tensor *sum = add(fresh, old);
  ck_assert_int_eq(laze_tensor_rank(sum), -1);
  ck_assert(strstr(laze_tensor_error(sum), "'other' is a released handle"));
  ck_assert_float_eq(first(fresh, 2), 5);
  laze_error error;
  ck_assert_int_eq(laze_scope_end_error(scope, &error), LAZE_INVALID_ARGUMENT);
  ck_assert(strstr(error.message, "released"));
  laze_context_release(context);
}
END_TEST

static bool is_refused(laze_tensor *tensor) {
  float data[2];
  return laze_tensor_rank(tensor) == -1 && laze_tensor_dtype(tensor) == LAZE_DTYPE_NONE &&
         laze_tensor_size(tensor, 0) == -1 && laze_tensor_elements(tensor) == -1 &&
         laze_tensor_read(tensor, LAZE_F32, data, sizeof data) == LAZE_INVALID_ARGUMENT &&
         laze_tensor_materialise(tensor) == LAZE_INVALID_ARGUMENT && strstr(laze_tensor_error(tensor), "released");
}

/* Makes one handle and releases it. */
static laze_tensor *use_slot_once(laze_context *context) {
  laze_scope *scope = laze_scope_begin(context);
  laze_tensor *tensor = filled(context, 2, 7);
  ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
  return tensor;
}

/* However often a slot was used since: also when it is free just now, at counts at which a short generation is the old
 * one again, and at those that a loop cannot reach and the slot's own field is set for. */
START_TEST(a_handle_is_stale_for_ever) {
  static const uint64_t uses[] = {1, 2, 31, 32, 62, 63, 64, 65, 127, 128, 255, 256, 65535, 65536, 1 << 18};
  laze_context *context = new_context();
  for (size_t i = 0; i < sizeof uses / sizeof *uses; i++) {
    laze_tensor *old = use_slot_once(context);
    const laze_slot *slot = laze_slot_at(old);
    for (uint64_t n = 0; n < uses[i]; n++) ck_assert_ptr_eq(laze_slot_at(use_slot_once(context)), slot);
    ck_assert_msg(is_refused(old), "while its slot is free, after %llu uses", (unsigned long long)uses[i]);
    laze_scope *scope = laze_scope_begin(context);
    laze_tensor *fresh = filled(context, 2, 5);
    ck_assert_ptr_eq(laze_slot_at(fresh), slot); /* the case is the one it should be */
    ck_assert_msg(is_refused(old), "after %llu uses", (unsigned long long)uses[i]);
    laze_tensor_release(laze_tensor_retain(old)); /* touches nothing */
    ck_assert_float_eq(first(fresh, 2), 5);
    ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
  }
  for (int bits = 20; bits < 64 - LAZE_SLOT_INDEX_BITS; bits++) {
    laze_tensor *old = use_slot_once(context);
    laze_slot *slot = laze_slot_at(old);
    if (slot->generation + (UINT64_C(1) << bits) >= LAZE_SLOT_GENERATIONS) break;
    slot->generation += UINT64_C(1) << bits;
    ck_assert_msg(is_refused(old), "after 2^%d uses", bits - 1);
    ck_assert_ptr_eq(laze_slot_at(use_slot_once(context)), slot);
    ck_assert_msg(is_refused(old), "after 2^%d uses", bits - 1);
  }
  laze_context_release(context);
}
END_TEST

/* A slot whose generations are used up is never used again, so that none of its handles comes back. */
START_TEST(a_worn_slot_is_left_out) {
  laze_context *context = new_context();
  laze_tensor *first_handle = use_slot_once(context);
  laze_slot *slot = laze_slot_at(first_handle);
  slot->generation = LAZE_SLOT_GENERATIONS - 2;
  laze_tensor *last = use_slot_once(context);
  ck_assert_ptr_eq(laze_slot_at(last), slot);
  ck_assert_uint_eq((uintptr_t)last >> LAZE_SLOT_INDEX_BITS, LAZE_SLOT_GENERATIONS - 1);
  ck_assert(is_refused(last));
  for (int i = 0; i < 3; i++) ck_assert_ptr_ne(laze_slot_at(use_slot_once(context)), slot);
  ck_assert(is_refused(first_handle));
  ck_assert(is_refused(last));
  laze_context_release(context);
}
END_TEST

/* Contexts come and go at the same place of the table; a handle of one that is gone is none of a later one's. */
START_TEST(a_handle_does_not_outlive_its_context) {
  laze_tensor *old[8];
  for (int i = 0; i < 8; i++) {
    laze_context *context = new_context();
    old[i] = use_slot_once(context);
    laze_scope *scope = laze_scope_begin(context);
    laze_tensor *fresh = filled(context, 2, 5);
    for (int j = 0; j < i; j++) {
      ck_assert_ptr_ne(old[j], fresh);
      ck_assert(is_refused(old[j]));
      ck_assert_int_eq(laze_tensor_rank(add(fresh, old[j])), -1);
      ck_assert_int_eq(laze_tensor_assign(laze_tensor_retain(fresh), old[j]), LAZE_INVALID_ARGUMENT);
      laze_tensor_release(fresh);
    }
    ck_assert_float_eq(first(fresh, 2), 5);
    ck_assert_int_eq(laze_scope_end(scope), i ? LAZE_INVALID_ARGUMENT : LAZE_OK);
    laze_context_release(context);
  }
  for (int i = 0; i < 8; i++) ck_assert(is_refused(old[i])); /* no context has a slot there */
  laze_scope *scope = laze_scope_begin(NULL);
  ck_assert(isnan(laze_tensor_item(old[0])));
  ck_assert_int_eq(laze_tensor_assign(old[0], old[1]), LAZE_INVALID_ARGUMENT);
  ck_assert_int_eq(laze_tensor_rank(neg(old[0])), -1);
  ck_assert_int_ne(laze_scope_end(scope), LAZE_OK);
  laze_tensor_release(laze_tensor_retain(old[0]));
}
END_TEST

/* Pointers that never were handles: into the stack, the heap, code and constants, and bits at random. */
START_TEST(what_is_no_handle_is_refused) {
  laze_context *context = new_context();
  laze_scope *scope = laze_scope_begin(context);
  laze_tensor *live = filled(context, 2, 5);
  int local = 0;
  char *block = malloc(100);
  const uintptr_t values[] = {(uintptr_t)&local,
                              (uintptr_t)block,
                              (uintptr_t) "text",
                              (uintptr_t)live ^ (UINT64_C(1) << 63),
                              (uintptr_t)context,
                              (uintptr_t)laze_slot_at(live),
                              UINTPTR_MAX,
                              1,
                              (uintptr_t)live + 1,
                              (uintptr_t)live - 1,
                              (uintptr_t)live + (UINT64_C(1) << 26)};
  for (size_t i = 0; i < sizeof values / sizeof *values; i++)
    ck_assert_msg(is_refused((laze_tensor *)values[i]), "value %zu: %llx", i, (unsigned long long)values[i]);
  uint64_t state = 1;
  for (int i = 0; i < 100000; i++) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    uint64_t bits = state ^ state >> 29;
    if (i % 2) bits = (bits & ~UINT64_C(0xfff)) | ((uintptr_t)live & 0xfff); /* of an index that is in use */
    if (bits == (uintptr_t)live) continue;
    ck_assert_int_eq(laze_tensor_rank((laze_tensor *)(uintptr_t)bits), -1);
  }
  free(block);
  ck_assert_float_eq(first(live, 2), 5);
  ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
  laze_context_release(context);
}
END_TEST

/* More handles than one chunk has, of two contexts in turn. */
START_TEST(handles_of_many_chunks_are_told_apart) {
  enum { COUNT = 3 * LAZE_SLOT_CHUNK };
  static laze_tensor *handles[2][COUNT];
  laze_context *contexts[2] = {new_context(), new_context()};
  laze_scope *scopes[2] = {laze_scope_begin(contexts[0]), laze_scope_begin(contexts[1])};
  for (int i = 0; i < COUNT; i++)
    for (int c = 0; c < 2; c++)
      handles[c][i] = laze_tensor_from_scalar(contexts[c], LAZE_I32, laze_scalar_integer(2 * i + c));
  for (int i = 0; i < COUNT; i++)
    for (int c = 0; c < 2; c++) ck_assert_double_eq(laze_tensor_item(handles[c][i]), 2 * i + c);
  for (int c = 0; c < 2; c++) {
    ck_assert_int_eq(laze_scope_end(scopes[c]), LAZE_OK);
    laze_context_release(contexts[c]);
    for (int i = 0; i < COUNT; i++) ck_assert_int_eq(laze_tensor_rank(handles[c][i]), -1);
  }
}
END_TEST

START_TEST(null_is_an_error_where_a_tensor_must_be) {
  laze_context *context = new_context();
  laze_scope *scope = laze_scope_begin(context);
  laze_tensor *x = filled(context, 2, 1);
  laze_tensor *sum = add(x, NULL);
  ck_assert_int_eq(laze_tensor_dtype(sum), LAZE_DTYPE_NONE);
  ck_assert(strstr(laze_tensor_error(sum), "'other' is NULL"));
  ck_assert_int_eq(laze_tensor_read(NULL, LAZE_F32, NULL, 0), LAZE_INVALID_ARGUMENT);
  ck_assert_int_eq(laze_tensor_materialise(NULL), LAZE_INVALID_ARGUMENT);
  ck_assert_int_eq(laze_tensor_rank(NULL), -1);
  ck_assert_int_eq(laze_tensor_elements(NULL), -1);
  ck_assert_str_eq(laze_tensor_error(NULL), "the tensor is NULL");
  laze_tensor_release(NULL);
  ck_assert_ptr_null(laze_tensor_retain(NULL));
  ck_assert_int_ne(laze_scope_end(scope), LAZE_OK);
  laze_context_release(context);
}
END_TEST

/* laze_tensor_item has no status to tell: without a tensor to keep the error, the scope has it. */
START_TEST(item_of_no_tensor_is_the_scopes_error) {
  laze_context *context = new_context();
  laze_scope *scope = laze_scope_begin(context);
  laze_tensor *old = filled(context, 1, 1);
  ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);

  laze_error error;
  scope = laze_scope_begin(context);
  ck_assert(isnan(laze_tensor_item(old)));
  ck_assert_int_eq(laze_scope_end_error(scope, &error), LAZE_INVALID_ARGUMENT);
  ck_assert_msg(strstr(error.message, "a released handle"), "%s", error.message);

  scope = laze_scope_begin(NULL);
  ck_assert(isnan(laze_tensor_item(NULL)));
  ck_assert_int_eq(laze_scope_end_error(scope, &error), LAZE_INVALID_ARGUMENT);
  ck_assert_msg(strstr(error.message, "NULL"), "%s", error.message);
  laze_context_release(context);
}
END_TEST

/* Each mistake in an assignment has a message of its own, in the scope. */
START_TEST(assignments_say_what_is_wrong) {
  laze_context *context = new_context(), *other = new_context();
  laze_scope *scope = laze_scope_begin(context);
  laze_tensor *old = filled(context, 2, 1);
  ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
  scope = laze_scope_begin(other);
  laze_tensor *foreign = filled(other, 2, 1);
  laze_scope *own = laze_scope_begin(context);
  laze_tensor *x = laze_tensor_retain(filled(context, 2, 1));
  const struct {
    laze_tensor *destination, *source;
    const char *message;
  } cases[] = {{x, NULL, "the source is NULL"},
               {NULL, x, "the destination is NULL"},
               {x, old, "the source is a released handle"},
               {old, x, "the destination is a released handle"},
               {x, foreign, "the source belongs to another context"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    laze_scope *inner = laze_scope_begin(context);
    ck_assert_int_eq(laze_tensor_assign(cases[i].destination, cases[i].source), LAZE_INVALID_ARGUMENT);
    laze_error error;
    ck_assert_int_eq(laze_scope_end_error(inner, &error), LAZE_INVALID_ARGUMENT);
    ck_assert_msg(strstr(error.message, cases[i].message), "case %zu: %s", i, error.message);
  }
  ck_assert_float_eq(first(x, 2), 1);
  laze_tensor_release(x);
  ck_assert_int_eq(laze_scope_end(own), LAZE_OK);
  ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
  laze_context_release(other);
  laze_context_release(context);
}
END_TEST

/* A chain of calls reports the first error, once, and not one error per call. */
START_TEST(errors_chain) {
  laze_context *context = new_context();
  laze_scope *scope = laze_scope_begin(context);
  laze_tensor *bad = add(filled(context, 2, 1), filled(context, 3, 1));
  laze_tensor *later = neg(mul(bad, filled(context, 2, 1)));
  ck_assert_int_eq(laze_tensor_dtype(later), LAZE_DTYPE_NONE);
  ck_assert_str_eq(laze_tensor_error(later), laze_tensor_error(bad));
  ck_assert(strstr(laze_tensor_error(bad), "add.Tensor"));
  float data[2];
  ck_assert_int_ne(laze_tensor_read(later, LAZE_F32, data, sizeof data), LAZE_OK);
  ck_assert_int_eq(laze_scope_end(scope), LAZE_OK); /* a read has reported it */
  laze_context_release(context);
}
END_TEST

START_TEST(retained_handles_outlive_scope_and_context) {
  laze_context *context = new_context();
  laze_scope *scope = laze_scope_begin(context);
  laze_tensor *x = laze_tensor_retain(neg(filled(context, 2, 3)));
  laze_tensor *bad = laze_tensor_retain(add(x, NULL));
  ck_assert_int_ne(laze_scope_end(scope), LAZE_OK);
  laze_context_release(context); /* x keeps it */
  ck_assert_float_eq(first(x, 2), -3);
  ck_assert_ptr_nonnull(strstr(laze_tensor_error(bad), "NULL"));
  laze_tensor_release(bad);
  laze_tensor_release(x);
}
END_TEST

/* Each retain needs a release; a release too many is ignored as long as the scope owns the handle. */
START_TEST(retains_are_counted) {
  laze_context *context = new_context();
  laze_scope *scope = laze_scope_begin(context);
  laze_tensor *x = filled(context, 2, 3);
  laze_tensor_retain(laze_tensor_retain(x));
  laze_tensor_release(x);
  laze_tensor_release(x);
  laze_tensor_release(x);
  ck_assert_float_eq(first(x, 2), 3);
  laze_tensor_retain(x);
  ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
  ck_assert_float_eq(first(x, 2), 3);
  laze_tensor_retain(x);
  laze_tensor_release(x);
  laze_tensor_release(x);
  ck_assert(strstr(laze_tensor_error(x), "released"));
  laze_context_release(context);
}
END_TEST

START_TEST(metadata_is_known_without_running) {
  laze_context *context = new_context();
  laze_scope *scope = laze_scope_begin(context);
  float data[6] = {0};
  laze_tensor *x = laze_tensor_from_data(context, LAZE_F32, LAZE_SHAPE(2, 3), data, sizeof data);
  laze_tensor *y = add(x, laze_tensor_from_data(context, LAZE_F32, LAZE_SHAPE(3), data, 12));
  ck_assert_int_eq(laze_tensor_dtype(y), LAZE_F32);
  ck_assert_int_eq(laze_tensor_rank(y), 2);
  ck_assert_int_eq(laze_tensor_size(y, 0), 2);
  ck_assert_int_eq(laze_tensor_size(y, -1), 3);
  ck_assert_int_eq(laze_tensor_size(y, 2), -1);
  ck_assert_int_eq(laze_tensor_size(y, -3), -1);
  ck_assert_int_eq(laze_tensor_elements(y), 6);
  ck_assert_int_eq(metric(context, "graphs_run"), 0);
  ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
  laze_context_release(context);
}
END_TEST

/* Tensors of two contexts cannot meet: their locks and memory differ. */
START_TEST(contexts_do_not_mix) {
  laze_context *a = new_context(), *b = new_context();
  laze_scope *of_a = laze_scope_begin(a), *of_b = laze_scope_begin(b);
  laze_tensor *sum = add(filled(a, 2, 1), filled(b, 2, 1));
  ck_assert(strstr(laze_tensor_error(sum), "another context"));
  ck_assert_int_ne(laze_scope_end(of_a), LAZE_OK);
  ck_assert_int_eq(laze_scope_end(of_b), LAZE_OK);
  laze_context_release(a);
  laze_context_release(b);
}
END_TEST

static void count_call(void *self) {
  ++*(int *)self;
}

START_TEST(data_is_copied_or_borrowed) {
  laze_context *context = new_context();
  int released = 0;
  float data[2] = {1, 2};
  laze_scope *scope = laze_scope_begin(context);
  laze_tensor *copied = laze_tensor_from_data(context, LAZE_F32, LAZE_SHAPE(2), data, sizeof data);
  laze_tensor *borrowed =
      laze_tensor_borrow(context, LAZE_F32, LAZE_SHAPE(2), data, sizeof data, count_call, &released);
  data[0] = 7;
  ck_assert_float_eq(first(copied, 2), 1);
  ck_assert_float_eq(first(borrowed, 2), 7);
  ck_assert_float_eq(first(neg(borrowed), 2), -7);
  ck_assert_int_eq(released, 0);
  ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
  ck_assert_int_eq(released, 1);
  /* A refused loan is given back at once. */
  scope = laze_scope_begin(context);
  laze_tensor *bad = laze_tensor_borrow(context, LAZE_F32, LAZE_SHAPE(3), data, sizeof data, count_call, &released);
  ck_assert_int_eq(released, 2);
  ck_assert(strstr(laze_tensor_error(bad), "12 bytes"));
  ck_assert_int_eq(laze_scope_end(scope), LAZE_INVALID_ARGUMENT);
  laze_context_release(context);
}
END_TEST

START_TEST(bad_data_is_refused) {
  laze_context *context = new_context();
  laze_scope *scope = laze_scope_begin(context);
  float data[2] = {1, 2};
  const struct {
    laze_dtype dtype;
    laze_ints shape;
    size_t size;
  } cases[] = {
      {LAZE_F32, LAZE_SHAPE(3), sizeof data},
      {LAZE_F32, LAZE_SHAPE(-2), sizeof data},
      {LAZE_F32, LAZE_SHAPE((int64_t)1 << 61), sizeof data},
      {LAZE_F32, LAZE_SHAPE((int64_t)1 << 32, (int64_t)1 << 32), sizeof data},
      {LAZE_DTYPE_NONE, LAZE_SHAPE(2), sizeof data},
      {99, LAZE_SHAPE(2), sizeof data},
      {LAZE_F32, LAZE_SHAPE(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2), sizeof data},
      {LAZE_F32, {NULL, -1}, sizeof data},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    laze_tensor *x = laze_tensor_from_data(context, cases[i].dtype, cases[i].shape, data, cases[i].size);
    ck_assert_msg(laze_tensor_rank(x) == -1, "case %zu was taken", i);
    ck_assert_str_ne(laze_tensor_error(x), "");
  }
  ck_assert_int_eq(laze_tensor_rank(laze_tensor_from_data(context, LAZE_F32, LAZE_SHAPE(2), NULL, 8)), -1);
  ck_assert_int_eq(laze_tensor_rank(laze_tensor_from_data(context, LAZE_F32, LAZE_SHAPE(0, 3), NULL, 0)), 2);
  ck_assert_int_ne(laze_scope_end(scope), LAZE_OK);
  laze_context_release(context);
}
END_TEST

START_TEST(reads_convert_and_check) {
  laze_context *context = new_context();
  laze_scope *scope = laze_scope_begin(context);
  float data[2] = {1.75f, -2.5f};
  laze_tensor *x = laze_tensor_from_data(context, LAZE_F32, LAZE_SHAPE(2), data, sizeof data);
  double wide[2];
  int32_t narrow[2];
  ck_assert_int_eq(laze_tensor_read(x, LAZE_F64, wide, sizeof wide), LAZE_OK);
  ck_assert_double_eq(wide[1], -2.5);
  ck_assert_int_eq(laze_tensor_read(x, LAZE_I32, narrow, sizeof narrow), LAZE_OK);
  ck_assert_int_eq(narrow[1], -2);
  ck_assert_int_eq(laze_tensor_read(x, LAZE_F32, wide, 4), LAZE_INVALID_ARGUMENT);
  ck_assert(strstr(laze_tensor_error(x), "8 bytes"));
  ck_assert_int_eq(laze_tensor_read(x, LAZE_DTYPE_NONE, wide, 8), LAZE_INVALID_ARGUMENT);
  laze_tensor *empty = neg(laze_tensor_from_data(context, LAZE_F32, LAZE_SHAPE(0, 3), NULL, 0));
  ck_assert_int_eq(laze_tensor_read(empty, LAZE_F64, NULL, 0), LAZE_OK);
  laze_tensor *seven = laze_tensor_from_scalar(context, LAZE_I32, laze_scalar_real(7.9));
  ck_assert_double_eq(laze_tensor_item(seven), 7);
  ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
  laze_context_release(context);
}
END_TEST

/* laze_tensor_item has no status to return, so that its error stays the scope's. */
START_TEST(item_of_many_elements_is_an_error) {
  laze_context *context = new_context();
  laze_scope *scope = laze_scope_begin(context);
  double value = laze_tensor_item(filled(context, 2, 1));
  ck_assert(value != value);
  ck_assert_int_eq(laze_scope_end(scope), LAZE_INVALID_ARGUMENT);
  laze_context_release(context);
}
END_TEST

int main(void) {
  const TTest *const tests[] = {
      stale_handle_is_an_error,
      a_handle_is_stale_for_ever,
      a_worn_slot_is_left_out,
      a_handle_does_not_outlive_its_context,
      what_is_no_handle_is_refused,
      handles_of_many_chunks_are_told_apart,
      null_is_an_error_where_a_tensor_must_be,
      item_of_no_tensor_is_the_scopes_error,
      assignments_say_what_is_wrong,
      errors_chain,
      retained_handles_outlive_scope_and_context,
      retains_are_counted,
      metadata_is_known_without_running,
      contexts_do_not_mix,
      data_is_copied_or_borrowed,
      bad_data_is_refused,
      reads_convert_and_check,
      item_of_many_elements_is_an_error,
  };
  return run_tests("handle", tests, sizeof tests / sizeof *tests);
}
