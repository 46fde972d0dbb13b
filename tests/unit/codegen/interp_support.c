#include "tests/unit/codegen/interp_support.h"
#include "tests/support/suite.h"

#include <stdlib.h>
#include <string.h>

#define OK(status) ck_assert_msg((status) == LAZE_OK, "%s", l->error.message)

void lab_open(lab *l) {
  *l = (lab){0};
  laze_context_options options = {.struct_size = sizeof options, .cache_directory = "", .threads = 1};
  OK(laze_context_create(&options, &l->context, &l->error));
  OK(laze_graph_create(l->context, "test", &l->graph, &l->error));
  laze_builder_init(&l->builder, l->graph, l->graph->body);
  l->builder.expand_late = true;
}

static void release_outputs(lab *l) {
  for (int i = 0; i < l->output_count; i++) laze_buffer_release(l->outputs[i]);
  l->output_count = 0;
}

void lab_close(lab *l) {
  release_outputs(l);
  for (int i = 0; i < l->input_count; i++) laze_buffer_release(l->inputs[i]);
  laze_graph_destroy(l->graph);
  laze_context_release(l->context);
}

laze_value lab_input(lab *l, laze_dtype dtype, int rank, const int64_t *dims, const void *data) {
  laze_type type;
  laze_value value;
  int64_t bytes = laze_dtype_size(dtype);
  OK(laze_type_init(&type, "a test's input", dtype, rank, dims, &l->error));
  for (int i = 0; i < rank; i++) bytes *= dims[i];
  OK(laze_graph_add_parameter(l->graph, l->graph->body, NULL, &type, &value, &l->error));
  laze_buffer **buffer = &l->inputs[l->input_count++];
  OK(laze_buffer_create(l->context, bytes, buffer, &l->error));
  if (bytes > 0) memcpy((*buffer)->data, data, (size_t)bytes);
  return value;
}

laze_status lab_try_call(lab *l, const char *name, const laze_value *operands, int count,
                         const laze_attribute *attributes, laze_value *out) {
  laze_op op = laze_op_find(name);
  ck_assert_msg(op != LAZE_OP_NONE, "no operator %s", name);
  return laze_record_call(&l->builder.recorder, op, operands, count, attributes, out, &l->error);
}

laze_value lab_call(lab *l, const char *name, const laze_value *operands, int count, const laze_attribute *attributes) {
  laze_value out[4];
  OK(lab_try_call(l, name, operands, count, attributes, out));
  return out[0];
}

/* Compiles a graph, binds it and runs it. */
static laze_status run_graph(lab *l, laze_graph *graph, const int64_t *bindings, laze_buffer **outputs) {
  laze_program *program;
  laze_executable *executable;
  LAZE_TRY(laze_backend_interp.compile(l->context, graph, &program, &l->error));
  laze_status status = laze_executable_create(program, bindings, NULL, &executable, &l->error);
  laze_program_release(program);
  if (status != LAZE_OK) return status;
  status = laze_backend_interp.execute(executable, &(laze_run){.inputs = l->inputs, .outputs = outputs}, &l->error);
  for (int i = 0; i < l->output_count; i++) laze_executable_output_type(executable, i, &l->types[i]);
  laze_executable_release(executable);
  return status;
}

static void compare_with_symbols(lab *l) {
  laze_graph *symbolic;
  const int64_t *bindings;
  laze_buffer *outputs[LAB_MAX];
  OK(laze_graph_symbolise(l->graph, &symbolic, &bindings, &l->error));
  OK(run_graph(l, symbolic, bindings, outputs));
  for (int i = 0; i < l->output_count; i++) {
    ck_assert_int_eq(outputs[i]->size, l->outputs[i]->size);
    ck_assert_msg(memcmp(outputs[i]->data, l->outputs[i]->data, (size_t)outputs[i]->size) == 0,
                  "output %d differs when sizes are symbols", i);
    laze_buffer_release(outputs[i]);
  }
  laze_graph_destroy(symbolic);
}

laze_status lab_try_run(lab *l, const laze_value *results, int count) {
  release_outputs(l);
  LAZE_TRY(laze_block_set_results(l->graph, l->graph->body, results, count, &l->error));
  LAZE_TRY(laze_graph_verify(l->graph, &l->error));
  l->output_count = count;
  laze_status status = run_graph(l, l->graph, NULL, l->outputs);
  if (status == LAZE_OK)
    compare_with_symbols(l);
  else
    l->output_count = 0;
  return status;
}

const void *lab_run(lab *l, laze_value result) {
  OK(lab_try_run(l, &result, 1));
  return l->outputs[0]->data;
}

void lab_expect_bytes(const lab *l, const void *expected, int64_t size) {
  ck_assert_int_eq(l->outputs[0]->size, size);
  const unsigned char *got = l->outputs[0]->data, *wanted = expected;
  for (int64_t i = 0; i < size; i++)
    ck_assert_msg(got[i] == wanted[i], "byte %lld of the result is %02x, expected %02x", (long long)i, got[i],
                  wanted[i]);
}

void lab_expect_dims(const lab *l, int rank, const int64_t *dims) {
  ck_assert_int_eq(l->types[0].rank, rank);
  for (int i = 0; i < rank; i++) ck_assert_int_eq(l->types[0].sizes[i], dims[i]);
}

int lab_main(const char *name, void (*setup)(void), void (*teardown)(void), const TTest *const *tests, int count) {
  Suite *suite = suite_create(name);
  TCase *cases = tcase_create(name);
  tcase_add_checked_fixture(cases, setup, teardown);
  for (int i = 0; i < count; i++) tcase_add_test(cases, tests[i]);
  suite_add_tcase(suite, cases);
  return test_run_suite(suite);
}
