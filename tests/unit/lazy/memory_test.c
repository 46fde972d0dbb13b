#include "lazy/record/frame.h"

#include "support.h"
#include "tests/support/failing_allocator.h"

typedef test_failing_allocator counting;

static laze_status counting_context(counting *state, const char *debug, laze_context **out) {
  return test_failing_context(state, "interp", debug, "", out);
}

static void step(laze_context *context, laze_tensor *weight) {
  laze_scope *scope = laze_scope_begin(context);
  laze_tensor *x = scale(weight, 0.5);
  ck_assert_int_eq(laze_tensor_assign(weight, add(x, x)), LAZE_OK);
  ck_assert_int_eq(laze_step_end(scope, NULL), LAZE_OK);
}

enum { STEPS = 100000 };

/* Everything that a step makes is used again by the next: blocks alive before and after 100,000 steps are the same. */
START_TEST(a_long_loop_does_not_grow) {
  counting state = {0};
  laze_context *context;
  ck_assert_int_eq(counting_context(&state, "", &context), LAZE_OK);
  laze_scope *scope = laze_scope_begin(context);
  laze_tensor *weight = laze_tensor_retain(filled(context, 2, 1));
  ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
  for (int i = 0; i < 100; i++) step(context, weight);
  int64_t live = state.live;
  for (int i = 0; i < STEPS; i++) step(context, weight);
  ck_assert_int_eq(state.live, live);
  ck_assert_float_eq(first(weight, 2), 1);
  laze_tensor_release(weight);
  laze_context_release(context);
  ck_assert_int_eq(state.live, 0);
}
END_TEST

/* Records 1,000 negations of x. */
static void record_many(laze_context *context, laze_tensor *x) {
  for (int i = 0; i < 1000; i++) {
    laze_frame_operand operand = {.tensor = x};
    laze_frame frame = {.context = context, .op = laze_op_find("neg"), .operand_count = 1, .operands = &operand};
    laze_frame_record(&frame, &x);
  }
  ck_assert_int_eq(laze_tensor_rank(x), 1);
}

/* Recording alone takes no memory from the allocator once the pools are warm. */
START_TEST(recording_does_not_allocate) {
  counting state = {0};
  laze_context *context;
  ck_assert_int_eq(counting_context(&state, "", &context), LAZE_OK);
  laze_scope *outer = laze_scope_begin(context);
  laze_tensor *x = filled(context, 2, 1);
  int64_t calls[2] = {0, 0};
  for (int round = 0; round < 2; round++) {
    laze_scope *scope = laze_scope_begin(context);
    record_many(context, x);
    ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
    calls[round] = state.calls;
  }
  ck_assert_int_eq(calls[1], calls[0]);
  ck_assert_int_eq(laze_scope_end(outer), LAZE_OK);
  laze_context_release(context);
  ck_assert_int_eq(state.live, 0);
}
END_TEST

/* A small program in which any single allocation, or all from some point on, may fail. It must end without a crash or
 * a leak, with the right numbers or with an error. */
static void run_program(counting *state, bool *succeeded) {
  laze_context *context;
  *succeeded = false;
  if (counting_context(state, "noarenas", &context) != LAZE_OK) return;
  laze_scope *scope = laze_scope_begin(context);
  laze_tensor *x = filled(context, 2, 3);
  const int64_t axis = 0;
  laze_argument arguments[] = {pass(x), {.kind = LAZE_PASS_INTEGERS, .count = 1, .value.integers = &axis}};
  laze_tensor *sum = call("sum", arguments, 2);
  laze_tensor *y = laze_tensor_retain(add(add(scale(x, 3), x), scale(sum, -0.5)));
  laze_tensor *bad = add(x, filled(context, 3, 1));
  float data[2] = {0, 0};
  laze_status read = laze_tensor_read(mul(y, x), LAZE_F32, data, sizeof data);
  laze_status failed = laze_tensor_read(bad, LAZE_F32, data + 1, sizeof data);
  laze_status end = laze_step_end(scope, NULL);
  laze_tensor_release(y);
  laze_context_release(context);
  if (read == LAZE_OK) ck_assert_float_eq(data[0], 27);
  ck_assert_int_ne(failed, LAZE_OK);
  *succeeded = read == LAZE_OK && end == LAZE_OK && failed == LAZE_INVALID_ARGUMENT;
}

static void fail_everywhere(bool all_after) {
  bool done = false;
  for (int64_t at = 1; !done; at++) {
    counting state = {.refuse_at = at, .refuse_all_after = all_after};
    bool succeeded;
    run_program(&state, &succeeded);
    ck_assert_msg(state.live == 0, "%lld blocks are left when allocation %lld fails", (long long)state.live,
                  (long long)at);
    done = state.calls < at; /* none was refused. (Some may be, without harm: a trace is not cached then.) */
    ck_assert_msg(succeeded || !done, "it fails although there is memory");
  }
}

START_TEST(any_allocation_may_fail) {
  fail_everywhere(false);
}
END_TEST
START_TEST(memory_may_run_out_at_any_point) {
  fail_everywhere(true);
}
END_TEST

int main(void) {
  const TTest *const tests[] = {a_long_loop_does_not_grow, recording_does_not_allocate, any_allocation_may_fail,
                                memory_may_run_out_at_any_point};
  return run_tests("memory", tests, sizeof tests / sizeof *tests);
}
