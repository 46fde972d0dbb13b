/* Folding on the interpreter, and what the backend refuses. */
#include "tests/unit/codegen/interp_support.h"

#include <stdlib.h>
#include <string.h>

static lab l;
static void setup(void) {
  lab_open(&l);
}
static void teardown(void) {
  lab_close(&l);
}

static const laze_node *node_of(laze_value value) {
  return laze_graph_node(l.graph, value);
}

/* Operands of another dtype than the one computed in, so that the fold must convert as a run does. */
START_TEST(folds_a_node) {
  const int32_t a[] = {1, 2, 3};
  const float b[] = {0.5f};
  float result[3];
  laze_value sum =
      lab_binary(&l, "add.Tensor", lab_input(&l, LAZE_I32, DIMS(3), a), lab_input(&l, LAZE_F32, DIMS(1), b));
  laze_status status =
      laze_interp_fold(NULL, l.graph, node_of(sum), (const void *[]){a, b}, (void *[]){result}, &l.error);
  ck_assert_msg(status == LAZE_OK, "%s", l.error.message);
  ck_assert(result[0] == 1.5f && result[1] == 2.5f && result[2] == 3.5f);
}
END_TEST

/* What may fail must do so when it runs, and say where: folding it would need a way to report that. */
START_TEST(refuses_to_fold_what_may_fail) {
  const int64_t index[] = {4};
  const float self[] = {1, 2};
  float result[1];
  laze_value operands[] = {lab_input(&l, LAZE_F32, DIMS(2), self), lab_input(&l, LAZE_I64, DIMS(1), index)};
  laze_attribute dim = laze_attribute_integer(0);
  laze_value chosen = lab_call(&l, "gather", operands, 2, &dim);
  ck_assert_int_eq(
      laze_interp_fold(NULL, l.graph, node_of(chosen), (const void *[]){self, index}, (void *[]){result}, &l.error),
      LAZE_UNSUPPORTED);
  ck_assert_ptr_nonnull(strstr(l.error.message, "gather"));
}
END_TEST

/* There is nothing between the graph and the interpreter to show. */
START_TEST(has_nothing_to_emit) {
  laze_text text;
  laze_text_init(&text, l.context);
  ck_assert_int_eq(laze_backend_interp.emit(l.context, l.graph, LAZE_EMIT_LLVM, &text, &l.error), LAZE_UNSUPPORTED);
  ck_assert_ptr_nonnull(strstr(l.error.message, "llvm"));
  laze_text_deinit(&text);
}
END_TEST

START_TEST(copies_stay_within_the_buffer) {
  laze_buffer *buffer;
  char data[8] = "abcdefg";
  ck_assert_int_eq(laze_backend_interp.allocate(l.context, 8, &buffer, &l.error), LAZE_OK);
  ck_assert_int_eq(laze_backend_interp.copy_from_host(buffer, data, 8, &l.error), LAZE_OK);
  ck_assert_int_eq(laze_backend_interp.copy_to_host(buffer, data, 9, &l.error), LAZE_OUT_OF_RANGE);
  ck_assert_int_eq(memcmp(buffer->data, "abcdefg", 8), 0);
  laze_buffer_release(buffer);
}
END_TEST

/* A long chain compiles and runs one step a node; the last value shows that every one ran. */
START_TEST(long_chain) {
  enum { LENGTH = 20000 };
  laze_value one = lab_input(&l, LAZE_I64, DIMS(1), (int64_t[]){1}), sum = one;
  for (int i = 1; i < LENGTH; i++) sum = lab_binary(&l, "add.Tensor", sum, one);
  lab_run(&l, sum);
  lab_expect(&l, int64_t, LENGTH);
}
END_TEST

/* Memory that runs out after `left` allocations. */
static int64_t left;
static void *allocate(void *self, size_t size) {
  (void)self;
  return left-- > 0 ? malloc(size) : NULL;
}
static void release(void *self, void *memory) {
  (void)self;
  free(memory);
}

/* Wherever memory runs out while a graph is compiled, that is an error, and nothing is lost (seen by the sanitizer). */
START_TEST(memory_runs_out) {
  laze_allocator allocator = {allocate, release, NULL};
  laze_context_options options = {
      .struct_size = sizeof options, .allocator = &allocator, .cache_directory = "", .threads = 1};
  lab m = {0};
  left = INT64_MAX;
  ck_assert_int_eq(laze_context_create(&options, &m.context, &m.error), LAZE_OK);
  ck_assert_int_eq(laze_graph_create(m.context, "test", &m.graph, &m.error), LAZE_OK);
  laze_builder_init(&m.builder, m.graph, m.graph->body);
  laze_value a = lab_input(&m, LAZE_F32, DIMS(2, 3), (float[6]){0});
  laze_attribute shape = laze_attribute_sizes(SIZES(3, 2), 2);
  laze_value results[] = {lab_binary(&m, "add.Tensor", a, a), lab_call(&m, "reshape", &a, 1, &shape)};
  ck_assert_int_eq(laze_block_set_results(m.graph, m.graph->body, results, 2, &m.error), LAZE_OK);
  laze_status status = LAZE_OUT_OF_MEMORY;
  for (int64_t allowed = 0; status != LAZE_OK; allowed++) {
    laze_program *program = NULL;
    left = allowed;
    status = laze_backend_interp.compile(m.context, m.graph, &program, &m.error);
    left = INT64_MAX;
    ck_assert(status == LAZE_OK || status == LAZE_OUT_OF_MEMORY);
    ck_assert_int_lt(allowed, 1000);
    laze_program_release(program);
  }
  lab_close(&m);
}
END_TEST

int main(void) {
  const TTest *const tests[] = {folds_a_node,        refuses_to_fold_what_may_fail,
                                has_nothing_to_emit, copies_stay_within_the_buffer,
                                long_chain,          memory_runs_out};
  return lab_main("interp_step", setup, teardown, tests, (int)(sizeof tests / sizeof *tests));
}
