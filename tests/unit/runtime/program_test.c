/* Programs whose kernels are C functions of the test: where the memory plan puts temporaries, what binding refuses, and
 * what a run does with domains, scratch, aliases and failures. */
#include "runtime/program.h"
#include "tests/support/status.h"
#include "tests/support/suite.h"

#include <check.h>
#include <string.h>

static laze_context *context;
static laze_program *program;
static laze_error error;
static laze_size width; /* a symbol: bound when the program is */

static void set_up(void) {
  laze_context_options options = {.struct_size = sizeof options, .cache_directory = "", .threads = 2};
  laze_size_table *sizes;
  ck_assert_int_eq(laze_context_create(&options, &context, NULL), LAZE_OK);
  assert_ok(laze_size_table_create(context, &sizes, &error));
  assert_ok(laze_size_symbol(sizes, "n", &width, &error));
  assert_ok(laze_program_create(context, sizes, &program, &error));
}

static void tear_down(void) {
  laze_program_release(program);
  laze_context_release(context);
}

static laze_status try_value(laze_value_role role, laze_size elements, const void *data, int32_t *out) {
  laze_type type = {.kind = LAZE_TYPE_TENSOR, .dtype = LAZE_F32, .rank = 1, .sizes = {elements}};
  return laze_program_add_value(program, role, &type, data, out, &error);
}

static int32_t add_value(laze_value_role role, laze_size elements) {
  int32_t value;
  assert_ok(try_value(role, elements, NULL, &value));
  return value;
}

/* Adds a step; `buffers` ends with the one that is written. `sizes[0]` is the elements of each buffer. */
static void add_step(laze_kernel_function function, const void *closure, const int32_t *buffers, int32_t buffer_count,
                     laze_step step) {
  static const laze_size none = 0;
  assert_ok(laze_kernel_create(context, "test", function, closure, NULL, NULL, &step.kernel, &error));
  step.buffers = buffers;
  step.buffer_count = buffer_count;
  step.write_count = 1;
  step.label = "test";
  if (!step.sizes) step.sizes = &none;
  assert_ok(laze_program_add_step(program, &step, &error));
  laze_kernel_release(step.kernel);
}

static laze_executable *bind(int64_t n) {
  laze_executable *executable = NULL;
  assert_ok(laze_executable_create(program, &n, NULL, &executable, &error));
  return executable;
}

static laze_status run(laze_executable *executable, laze_buffer *const *inputs, laze_buffer **outputs) {
  return laze_executable_run(executable, &(laze_run){.inputs = inputs, .outputs = outputs}, &error);
}

/* The plan. Each kernel fills what it writes with its number and finds in what it reads the number of its writer. */

typedef struct {
  int64_t number, reads; /* of the kernel, of the one it reads from; -1: none */
  int64_t elements, read_elements;
} chain_link;

static int64_t bad_addresses, bad_values;

static void fill(const laze_kernel_arguments *arguments, int64_t begin, int64_t end, void *scratch) {
  const chain_link *link = arguments->closure;
  float *to = arguments->buffers[link->reads >= 0 ? 1 : 0];
  (void)begin, (void)end, (void)scratch;
  bad_addresses += (uintptr_t)to % LAZE_BUFFER_ALIGNMENT != 0;
  for (int64_t i = 0; i < link->elements; i++) to[i] = (float)link->number;
  for (int64_t i = 0; link->reads >= 0 && i < link->read_elements; i++)
    bad_values += ((const float *)arguments->buffers[0])[i] != (float)link->reads;
}

/* Kernels load whole aligned vectors from temporaries, and a cache line must not be shared by two: whatever the sizes
 * before it, each begins at a multiple of 64 bytes. */
START_TEST(temporaries_are_aligned_and_apart) {
  static const int64_t elements[] = {1, 17, 3, 16, 100, 5, 33, 2, 15, 1};
  enum { COUNT = sizeof elements / sizeof *elements };
  chain_link links[COUNT];
  int32_t values[COUNT];
  bad_addresses = bad_values = 0;
  for (int i = 0; i < COUNT; i++) {
    values[i] = add_value(i == COUNT - 1 ? LAZE_ROLE_OUTPUT : LAZE_ROLE_TEMPORARY, elements[i]);
    /* Each reads the value two before: two are alive at once. */
    int from = i >= 2 ? i - 2 : -1;
    links[i] = (chain_link){i, from, elements[i], from >= 0 ? elements[from] : 0};
    add_step(fill, &links[i], from >= 0 ? (int32_t[]){values[from], values[i]} : &values[i], from >= 0 ? 2 : 1,
             (laze_step){.domain = 1});
  }
  laze_executable *executable = bind(1);
  laze_buffer *output;
  assert_ok(run(executable, NULL, &output));
  ck_assert_int_eq(bad_addresses, 0);
  ck_assert_int_eq(bad_values, 0);
  /* 64 and 128 bytes for the first two; the third, beside them, takes 64 more; later ones fit in what is free, but for
   * 400 and 132 bytes. Without any reuse it would be 1408. */
  ck_assert_int_eq(laze_executable_temporary_bytes(executable) % LAZE_BUFFER_ALIGNMENT, 0);
  ck_assert_int_lt(laze_executable_temporary_bytes(executable), 1024);
  laze_buffer_release(output);
  laze_executable_release(executable);
}
END_TEST

static void nothing(const laze_kernel_arguments *arguments, int64_t begin, int64_t end, void *scratch) {
  (void)arguments, (void)begin, (void)end, (void)scratch;
}

/* The example of runtime/plan.c: the third temporary takes the first one's place. */
START_TEST(a_place_is_used_again) {
  int32_t t0 = add_value(LAZE_ROLE_TEMPORARY, 16), t1 = add_value(LAZE_ROLE_TEMPORARY, 32),
          t2 = add_value(LAZE_ROLE_TEMPORARY, 16), out = add_value(LAZE_ROLE_OUTPUT, 1);
  add_step(nothing, NULL, &t0, 1, (laze_step){.domain = 1});
  add_step(nothing, NULL, (int32_t[]){t0, t1}, 2, (laze_step){.domain = 1});
  add_step(nothing, NULL, (int32_t[]){t1, t2}, 2, (laze_step){.domain = 1});
  add_step(nothing, NULL, (int32_t[]){t2, out}, 2, (laze_step){.domain = 1});
  laze_executable *executable = bind(1);
  ck_assert_int_eq(laze_executable_temporary_bytes(executable), 64 + 128);
  laze_executable_release(executable);
}
END_TEST

/* Two free places side by side are one: 64 and 64 bytes hold a value of 128, on either side of which others live. */
START_TEST(free_places_join) {
  int32_t t[5], out = add_value(LAZE_ROLE_OUTPUT, 1);
  static const int64_t elements[] = {16, 16, 16, 16, 48};
  for (int i = 0; i < 5; i++) t[i] = add_value(LAZE_ROLE_TEMPORARY, elements[i]);
  for (int i = 0; i < 4; i++) add_step(nothing, NULL, &t[i], 1, (laze_step){.domain = 1});
  /* 0 and 2 go, then 1 between them; 3 stays. */
  add_step(nothing, NULL, (int32_t[]){t[0], out}, 2, (laze_step){.domain = 1});
  add_step(nothing, NULL, (int32_t[]){t[2], out}, 2, (laze_step){.domain = 1});
  add_step(nothing, NULL, (int32_t[]){t[1], out}, 2, (laze_step){.domain = 1});
  add_step(nothing, NULL, &t[4], 1, (laze_step){.domain = 1});
  add_step(nothing, NULL, (int32_t[]){t[3], t[4], out}, 3, (laze_step){.domain = 1});
  laze_executable *executable = bind(1);
  ck_assert_int_eq(laze_executable_temporary_bytes(executable), 4 * 64);
  laze_executable_release(executable);
}
END_TEST

/* A step may name a value twice; its place goes back once, or two later values would share it. */
START_TEST(a_value_named_twice_goes_back_once) {
  int32_t t[3], out = add_value(LAZE_ROLE_OUTPUT, 1);
  for (int i = 0; i < 3; i++) t[i] = add_value(LAZE_ROLE_TEMPORARY, 16);
  add_step(nothing, NULL, &t[0], 1, (laze_step){.domain = 1});
  add_step(nothing, NULL, (int32_t[]){t[0], t[0], out}, 3, (laze_step){.domain = 1});
  add_step(nothing, NULL, &t[1], 1, (laze_step){.domain = 1});
  add_step(nothing, NULL, &t[2], 1, (laze_step){.domain = 1});
  add_step(nothing, NULL, (int32_t[]){t[1], t[2], out}, 3, (laze_step){.domain = 1});
  laze_executable *executable = bind(1);
  ck_assert_int_eq(laze_executable_temporary_bytes(executable), 2 * 64);
  laze_executable_release(executable);
}
END_TEST

/* What a kernel writes and nobody reads (one of two results, say) makes room as soon as it is written. */
START_TEST(an_unread_value_goes_back_at_once) {
  int32_t t[3], out = add_value(LAZE_ROLE_OUTPUT, 1);
  for (int i = 0; i < 3; i++) t[i] = add_value(LAZE_ROLE_TEMPORARY, 16);
  for (int i = 0; i < 3; i++) add_step(nothing, NULL, (int32_t[]){out, t[i]}, 2, (laze_step){.domain = 1});
  laze_executable *executable = bind(1);
  ck_assert_int_eq(laze_executable_temporary_bytes(executable), 64);
  laze_executable_release(executable);
}
END_TEST

/* Sizes whose bytes, or whose sum, no 64-bit number holds are refused where they are bound, naming what is too large.
 */
START_TEST(sizes_beyond_memory_are_refused) {
  int32_t t[3], out = add_value(LAZE_ROLE_OUTPUT, 1);
  for (int i = 0; i < 3; i++) t[i] = add_value(LAZE_ROLE_TEMPORARY, width);
  add_step(nothing, NULL, (int32_t[]){t[0], t[1], t[2], out}, 4, (laze_step){.domain = 1});
  laze_executable *executable;
  int64_t n = INT64_C(1) << 61; /* times 4 bytes: 2^63 */
  ck_assert_int_eq(laze_executable_create(program, &n, NULL, &executable, &error), LAZE_OUT_OF_MEMORY);
  ck_assert_ptr_null(executable);
  ck_assert_ptr_nonnull(strstr(error.message, "2^63 bytes"));
  n--; /* 2^63 - 4: fits, rounded up to 64 it does not */
  ck_assert_int_eq(laze_executable_create(program, &n, NULL, &executable, &error), LAZE_OUT_OF_MEMORY);
  n = INT64_C(1) << 60; /* one fits, three do not */
  ck_assert_int_eq(laze_executable_create(program, &n, NULL, &executable, &error), LAZE_OUT_OF_MEMORY);
  ck_assert_ptr_nonnull(strstr(error.message, "temporaries"));
  n = -1;
  ck_assert_int_eq(laze_executable_create(program, &n, NULL, &executable, &error), LAZE_OUT_OF_RANGE);
  ck_assert_ptr_nonnull(strstr(error.message, "-1"));
  executable = bind(0); /* no elements need no memory, */
  ck_assert_int_eq(laze_executable_temporary_bytes(executable), 0);
  laze_executable_release(executable);
  executable = bind(INT64_C(1) << 58); /* and these do, but only when it runs */
  ck_assert_int_eq(laze_executable_temporary_bytes(executable), 3 * (INT64_C(1) << 60));
  laze_buffer *output = NULL;
  ck_assert_int_eq(run(executable, NULL, &output), LAZE_OUT_OF_MEMORY);
  ck_assert_ptr_null(output);
  laze_executable_release(executable);
}
END_TEST

/* Running */

static _Atomic int64_t iterations, calls, shared_scratch;

static void count(const laze_kernel_arguments *arguments, int64_t begin, int64_t end, void *scratch) {
  (void)arguments;
  iterations += end - begin;
  calls++;
  if (!scratch) return;
  /* Nobody else writes here meanwhile, and it is aligned for vectors. */
  volatile int64_t *own = scratch;
  *own = begin;
  for (volatile int spin = 0; spin < 10000; spin++) continue;
  shared_scratch += *own != begin || (uintptr_t)scratch % LAZE_BUFFER_ALIGNMENT != 0;
}

/* Every iteration runs once, on one thread or in parts with scratch of their own; none runs where there is none. */
START_TEST(a_domain_is_covered_once) {
  static const int64_t domains[] = {0, 1, 2, 7, 64, 65, 1000, 100003};
  int32_t out = add_value(LAZE_ROLE_OUTPUT, 1);
  add_step(count, NULL, &out, 1, (laze_step){.domain = width, .work = INT64_C(1) << 30, .scratch = 9});
  for (size_t i = 0; i < sizeof domains / sizeof *domains; i++) {
    laze_executable *executable = bind(domains[i]);
    laze_buffer *output;
    iterations = calls = shared_scratch = 0;
    assert_ok(run(executable, NULL, &output));
    ck_assert_int_eq(iterations, domains[i]);
    ck_assert_int_eq(shared_scratch, 0);
    if (domains[i] == 0) ck_assert_int_eq(calls, 0);
    if (domains[i] >= 1000) ck_assert_int_gt(calls, 1); /* it is worth threads */
    laze_buffer_release(output);
    laze_executable_release(executable);
  }
}
END_TEST

/* Fails at the iterations that are multiples of 1000, but not at 0. */
static void fail_at_thousands(const laze_kernel_arguments *arguments, int64_t begin, int64_t end, void *scratch) {
  (void)scratch;
  for (int64_t i = begin; i < end; i++)
    if (i > 0 && i % 1000 == 0 && i < arguments->failures[0].position)
      arguments->failures[0] = (laze_kernel_failure){.position = i, .index = -i, .size = 7, .length = 1};
}

/* The lowest position is told, whatever part of the domain fails first; outputs are NULL. */
START_TEST(the_first_failure_is_reported) {
  int32_t out = add_value(LAZE_ROLE_OUTPUT, 1), other = add_value(LAZE_ROLE_OUTPUT, 1);
  const laze_origin origin = {1, "embedding"};
  const int32_t first = 0;
  add_step(fail_at_thousands, NULL, (int32_t[]){out, other}, 2,
           (laze_step){.domain = width,
                       .work = INT64_C(1) << 30,
                       .origins = &origin,
                       .origin_count = 1,
                       .checks = &first,
                       .check_count = 1});
  for (int64_t n = 1000; n <= 1001; n++) {
    laze_executable *executable = bind(n);
    laze_buffer *outputs[2];
    laze_status status = run(executable, NULL, outputs);
    ck_assert_int_eq(status, n == 1000 ? LAZE_OK : LAZE_OUT_OF_RANGE);
    laze_buffer_release(outputs[0]);
    laze_buffer_release(outputs[1]);
    laze_executable_release(executable);
  }
  laze_executable *executable = bind(100000);
  laze_buffer *outputs[2];
  ck_assert_int_eq(run(executable, NULL, outputs), LAZE_OUT_OF_RANGE);
  ck_assert_msg(strstr(error.message, "embedding: index -1000 at position 1000 ") && strstr(error.message, "size 7"),
                "%s", error.message);
  ck_assert_ptr_null(outputs[0]);
  ck_assert_ptr_null(outputs[1]);
  laze_executable_release(executable);
}
END_TEST

/* An input or an output returned again is shared, a constant copied: the program keeps its own. */
START_TEST(aliases_share_or_copy) {
  const float numbers[2] = {3, 4};
  int32_t in = add_value(LAZE_ROLE_INPUT, 2), out = add_value(LAZE_ROLE_OUTPUT, 2), constant;
  assert_ok(try_value(LAZE_ROLE_CONSTANT, 2, numbers, &constant));
  ck_assert_int_eq(try_value(LAZE_ROLE_CONSTANT, width, numbers, &constant), LAZE_INTERNAL);
  add_step(nothing, NULL, (int32_t[]){in, out}, 2, (laze_step){.domain = 1});
  assert_ok(laze_program_add_output_alias(program, in, &error));
  assert_ok(laze_program_add_output_alias(program, out, &error));
  assert_ok(laze_program_add_output_alias(program, constant, &error));
  ck_assert_int_eq(laze_program_input_count(program), 1);
  ck_assert_int_eq(laze_program_output_count(program), 4);
  ck_assert_int_eq(laze_program_step_count(program), 1);
  laze_executable *executable = bind(1);
  laze_buffer *input, *outputs[4], *again[4];
  laze_type type;
  laze_executable_output_type(executable, 3, &type);
  ck_assert_int_eq(type.sizes[0], 2);
  assert_ok(laze_buffer_create(context, sizeof numbers, &input, &error));
  assert_ok(run(executable, &input, outputs));
  ck_assert_ptr_eq(outputs[1], input);
  ck_assert_ptr_eq(outputs[2], outputs[0]);
  ck_assert_int_eq(outputs[3]->size, sizeof numbers);
  ck_assert_mem_eq(outputs[3]->data, numbers, sizeof numbers);
  memset(outputs[3]->data, 0, sizeof numbers);
  assert_ok(run(executable, &input, again));
  ck_assert_mem_eq(again[3]->data, numbers, sizeof numbers);
  for (int i = 0; i < 4; i++) {
    laze_buffer_release(outputs[i]);
    laze_buffer_release(again[i]);
  }
  ck_assert(laze_buffer_is_exclusive(input));
  laze_buffer_release(input);
  laze_executable_release(executable);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("program");
  TCase *tests = tcase_create("program");
  tcase_set_timeout(tests, 0);
  tcase_add_checked_fixture(tests, set_up, tear_down);
  tcase_add_test(tests, temporaries_are_aligned_and_apart);
  tcase_add_test(tests, a_place_is_used_again);
  tcase_add_test(tests, free_places_join);
  tcase_add_test(tests, a_value_named_twice_goes_back_once);
  tcase_add_test(tests, an_unread_value_goes_back_at_once);
  tcase_add_test(tests, sizes_beyond_memory_are_refused);
  tcase_add_test(tests, a_domain_is_covered_once);
  tcase_add_test(tests, the_first_failure_is_reported);
  tcase_add_test(tests, aliases_share_or_copy);
  suite_add_tcase(suite, tests);
  return test_run_suite(suite);
}
