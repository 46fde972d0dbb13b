/* Buffers, compiling, running, and the shapes that graphs' outputs can take. */
#include "tests/conformance/conformance.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <xmmintrin.h>

START_TEST(copies_come_back) {
  const laze_backend *backend = laze_backend_at(_i);
  laze_context *context = test_context(NULL);
  uint8_t sent[77], got[77] = {0};
  for (size_t i = 0; i < sizeof sent; i++) sent[i] = (uint8_t)(i * 31);
  laze_buffer *buffer = conformance_buffer(context, backend, sent, sizeof sent);
  ck_assert_int_eq(backend->copy_to_host(buffer, got, sizeof got, NULL), LAZE_OK);
  ck_assert_mem_eq(sent, got, sizeof sent);
  laze_buffer_release(buffer);
  laze_context_release(context);
}
END_TEST

/* Whoever copies more than there is would write over somebody's memory. */
START_TEST(copies_of_another_size_are_refused) {
  const laze_backend *backend = laze_backend_at(_i);
  laze_context *context = test_context(NULL);
  char data[64] = {0};
  laze_error error;
  laze_buffer *buffer = conformance_buffer(context, backend, data, 16);
  ck_assert_int_ne(backend->copy_from_host(buffer, data, 17, &error), LAZE_OK);
  ck_assert_ptr_nonnull(strstr(error.message, "17"));
  ck_assert_int_ne(backend->copy_to_host(buffer, data, 17, &error), LAZE_OK);
  ck_assert_int_ne(backend->copy_to_host(buffer, data, -1, &error), LAZE_OK);
  laze_buffer_release(buffer);
  laze_context_release(context);
}
END_TEST

START_TEST(impossible_sizes_are_refused) {
  const laze_backend *backend = laze_backend_at(_i);
  laze_context *context = test_context(NULL);
  laze_buffer *buffer;
  laze_error error;
  ck_assert_int_eq(backend->allocate(context, INT64_C(1) << 62, &buffer, &error), LAZE_OUT_OF_MEMORY);
  ck_assert_int_eq(backend->allocate(context, -1, &buffer, &error), LAZE_OUT_OF_RANGE);
  ck_assert_int_eq(backend->allocate(context, 0, &buffer, &error), LAZE_OK);
  laze_buffer_release(buffer);
  laze_context_release(context);
}
END_TEST

/* A result that does not fit memory is an error of that run, and nothing else. */
START_TEST(a_result_too_large_for_memory_is_an_error) {
  const laze_backend *backend = laze_backend_at(_i);
  laze_context *context = test_context(NULL);
  laze_executable *executable =
      conformance_compile(context, backend,
                          "graph @g(%x: f32[1]) -> f32[1099511627776,1024], f32[1] {\n"
                          "  %0 = add %x, %x : f32[1]\n"
                          "  %1 = expand %0, size=[1099511627776, 1024] : f32[1099511627776,1024]\n"
                          "  %2 = add %1, %x : f32[1099511627776,1024]\n"
                          "  return %2, %0\n}\n");
  float one = 1;
  laze_error error;
  laze_buffer *input = conformance_buffer(context, backend, &one, sizeof one), *outputs[2];
  ck_assert_int_eq(backend->execute(executable, &(laze_run){.inputs = &input, .outputs = outputs}, &error),
                   LAZE_OUT_OF_MEMORY);
  ck_assert_ptr_null(outputs[0]);
  ck_assert_ptr_null(outputs[1]);
  laze_executable_release(executable);
  executable = conformance_compile(context, backend,
                                   "graph @g(%x: f32[1]) -> f32[1] {\n  %0 = add %x, %x : f32[1]\n  return %0\n}\n");
  conformance_execute(backend, executable, &input, outputs);
  ck_assert_float_eq(((float *)outputs[0]->data)[0], 2);
  laze_buffer_release(outputs[0]);
  laze_buffer_release(input);
  laze_executable_release(executable);
  laze_context_release(context);
}
END_TEST

START_TEST(a_graph_computes) {
  const laze_backend *backend = laze_backend_at(_i);
  laze_context *context = test_context(NULL);
  laze_executable *executable =
      conformance_compile(context, backend,
                          "graph @dense(%x: f32[2,3], %w: f32[3,2], %b: f32[2]) -> f32[2,2] {\n"
                          "  %0 = mm %x, %w : f32[2,2]\n"
                          "  %1 = add %0, %b : f32[2,2]\n"
                          "  return %1\n}\n");
  float x[] = {1, 2, 3, 4, 5, 6}, w[] = {1, 0, 0, 1, 1, 1}, b[] = {10, 20}, got[4];
  laze_buffer *inputs[] = {conformance_buffer(context, backend, x, sizeof x),
                           conformance_buffer(context, backend, w, sizeof w),
                           conformance_buffer(context, backend, b, sizeof b)};
  laze_buffer *output;
  conformance_execute(backend, executable, inputs, &output);
  ck_assert_int_eq(backend->copy_to_host(output, got, sizeof got, NULL), LAZE_OK);
  ck_assert_mem_eq(got, ((float[]){14, 25, 20, 31}), sizeof got);
  for (int i = 0; i < 3; i++) laze_buffer_release(inputs[i]);
  laze_buffer_release(output);
  laze_executable_release(executable);
  laze_context_release(context);
}
END_TEST

/* Inputs, constants, views of inputs and one value several times: none of them has a kernel that writes it. */
START_TEST(outputs_may_be_anything) {
  const laze_backend *backend = laze_backend_at(_i);
  laze_context *context = test_context(NULL);
  laze_executable *executable = conformance_compile(
      context, backend,
      "graph @g(%x: f32[2,2], %y: i64[]) -> f32[2,2], f32[4], f32[2], f32[2,2], f32[2,2], f32[2,2], i64[] {\n"
      "  %0 = reshape %x, shape=[4] : f32[4]\n"
      "  %1 = constant [5.0, 6.0] : f32[2]\n"
      "  %2 = neg %x : f32[2,2]\n"
      "  return %x, %0, %1, %2, %2, %x, %y\n}\n");
  float x[] = {1, -2, 3, -4}, negative[] = {-1, 2, -3, 4};
  int64_t y = 9;
  laze_buffer *inputs[] = {conformance_buffer(context, backend, x, sizeof x),
                           conformance_buffer(context, backend, &y, sizeof y)};
  laze_buffer *outputs[7];
  conformance_execute(backend, executable, inputs, outputs);
  ck_assert_mem_eq(outputs[0]->data, x, sizeof x);
  ck_assert_mem_eq(outputs[1]->data, x, sizeof x);
  ck_assert_mem_eq(outputs[2]->data, ((float[]){5, 6}), 8);
  ck_assert_mem_eq(outputs[3]->data, negative, sizeof x);
  ck_assert_mem_eq(outputs[4]->data, negative, sizeof x);
  ck_assert_mem_eq(outputs[5]->data, x, sizeof x);
  ck_assert_mem_eq(outputs[6]->data, &y, sizeof y);
  /* Each output is a reference of its own; the input outlives them. */
  for (int i = 0; i < 7; i++) laze_buffer_release(outputs[i]);
  ck_assert_mem_eq(inputs[0]->data, x, sizeof x);
  for (int i = 0; i < 2; i++) laze_buffer_release(inputs[i]);
  laze_executable_release(executable);
  laze_context_release(context);
}
END_TEST

/* No element to compute, none to combine, none to multiply. */
START_TEST(empty_tensors_work) {
  const laze_backend *backend = laze_backend_at(_i);
  laze_context *context = test_context(NULL);
  laze_executable *executable = conformance_compile(context, backend,
                                                    "graph @g(%x: f32[0,3], %y: f32[3,0], %i: i64[0]) -> f32[0,3], "
                                                    "f32[3], f32[3], f32[3,3], f32[0,0], f32[0,3], bool[3] {\n"
                                                    "  %0 = add %x, %x : f32[0,3]\n"
                                                    "  %1 = sum %x, dim=[0] : f32[3]\n"
                                                    "  %2 = prod %x, dim=[0] : f32[3]\n"
                                                    "  %3 = mm %y, %x : f32[3,3]\n"
                                                    "  %4 = mm %x, %y : f32[0,0]\n"
                                                    "  %5 = index_select %x, %i, dim=0 : f32[0,3]\n"
                                                    "  %6 = all %x, dim=[0] : bool[3]\n"
                                                    "  return %0, %1, %2, %3, %4, %5, %6\n}\n");
  laze_buffer *inputs[] = {conformance_buffer(context, backend, "", 0), conformance_buffer(context, backend, "", 0),
                           conformance_buffer(context, backend, "", 0)};
  laze_buffer *outputs[7];
  float zeros[9] = {0}, ones[] = {1, 1, 1};
  conformance_execute(backend, executable, inputs, outputs);
  ck_assert_int_eq(outputs[0]->size, 0);
  ck_assert_mem_eq(outputs[1]->data, zeros, 12);
  ck_assert_mem_eq(outputs[2]->data, ones, 12);
  ck_assert_mem_eq(outputs[3]->data, zeros, 36);
  ck_assert_int_eq(outputs[4]->size, 0);
  ck_assert_int_eq(outputs[5]->size, 0);
  ck_assert_mem_eq(outputs[6]->data, ((uint8_t[]){1, 1, 1}), 3);
  for (int i = 0; i < 7; i++) laze_buffer_release(outputs[i]);
  for (int i = 0; i < 3; i++) laze_buffer_release(inputs[i]);
  laze_executable_release(executable);
  laze_context_release(context);
}
END_TEST

/* Operators with regions run on every backend, beside others in one program. */
START_TEST(control_flow_runs) {
  const laze_backend *backend = laze_backend_at(_i);
  laze_context *context = test_context(NULL);
  laze_executable *executable = conformance_compile(context, backend,
                                                    "graph @g(%c: bool[], %x: f32[2]) -> f32[2] {\n"
                                                    "  %0 = add %x, %x : f32[2]\n"
                                                    "  %1 = if %c, [%0] (%a: f32[2]) {\n"
                                                    "    %2 = mul %a, %a : f32[2]\n"
                                                    "    return %2\n"
                                                    "  } (%a: f32[2]) {\n"
                                                    "    return %a\n"
                                                    "  } : f32[2]\n"
                                                    "  %3 = neg %1 : f32[2]\n"
                                                    "  return %3\n}\n");
  for (uint8_t condition = 0; condition < 2; condition++) {
    float x[] = {1, 2}, expected[2][2] = {{-2, -4}, {-4, -16}};
    laze_buffer *inputs[] = {conformance_buffer(context, backend, &condition, 1),
                             conformance_buffer(context, backend, x, sizeof x)};
    laze_buffer *output;
    conformance_execute(backend, executable, inputs, &output);
    ck_assert_mem_eq(output->data, expected[condition], 8);
    laze_buffer_release(output);
    for (int i = 0; i < 2; i++) laze_buffer_release(inputs[i]);
  }
  laze_executable_release(executable);
  laze_context_release(context);
}
END_TEST

/* A caller may round and flush as it likes: results do not depend on it, and its settings come back. */
START_TEST(the_callers_rounding_mode_does_not_matter) {
  const laze_backend *backend = laze_backend_at(_i);
  laze_context *context = test_context(NULL);
  laze_executable *executable =
      conformance_compile(context, backend,
                          "graph @g(%x: f32[3]) -> f32[3], f32[3] {\n"
                          "  %0 = mul %x, 0.1 : f32[3]\n  %1 = mul %x, 1e-39 : f32[3]\n  return %0, %1\n}\n");
  float x[] = {1.1f, 3.3f, -7.7f};
  laze_buffer *input = conformance_buffer(context, backend, x, sizeof x), *plain[2], *odd[2];
  conformance_execute(backend, executable, &input, plain);
  unsigned saved = _mm_getcsr(), strange = (saved | 0x8040) | 0x6000; /* flush, denormals are zero, towards zero */
  _mm_setcsr(strange);
  laze_status status = backend->execute(executable, &(laze_run){.inputs = &input, .outputs = odd}, NULL);
  unsigned after = _mm_getcsr();
  _mm_setcsr(saved);
  ck_assert_int_eq(status, LAZE_OK);
  ck_assert_uint_eq(after & ~0x3fu, strange & ~0x3fu);
  for (int i = 0; i < 2; i++) {
    ck_assert_mem_eq(plain[i]->data, odd[i]->data, sizeof x);
    laze_buffer_release(plain[i]);
    laze_buffer_release(odd[i]);
  }
  laze_buffer_release(input);
  laze_executable_release(executable);
  laze_context_release(context);
}
END_TEST

/* What a backend cannot show it says, and what it shows is not empty. */
START_TEST(emit_shows_or_refuses) {
  const laze_backend *backend = laze_backend_at(_i);
  laze_context *context = test_context(NULL);
  laze_graph *graph =
      conformance_parse(context, "graph @g(%x: f32[3]) -> f32[3] {\n  %0 = neg %x : f32[3]\n  return %0\n}\n");
  for (int kind = LAZE_EMIT_SCHEDULE; kind <= LAZE_EMIT_OBJECT; kind++) {
    laze_text text;
    laze_error error;
    laze_text_init(&text, context);
    laze_status status = laze_compile_emit(context, backend, graph, (laze_emit_kind)kind, &text, &error);
    ck_assert(status == LAZE_OK ? text.size > 0 : status == LAZE_UNSUPPORTED && error.message[0] != 0);
    laze_text_deinit(&text);
  }
  laze_graph_destroy(graph);
  laze_context_release(context);
}
END_TEST

/* The scratch of all threads together, which the interpreter keeps a region's values in: that of one is beyond any
 * memory, and 16 of it wrap to a few bytes. Native code keeps them among its temporaries. */
START_TEST(scratch_for_many_threads_does_not_wrap) {
  const laze_backend *backend = laze_backend_at(_i);
  laze_context_options options = {.struct_size = sizeof options, .cache_directory = "", .debug = "", .threads = 16};
  laze_context *context;
  laze_error error;
  ck_assert_int_eq(laze_context_create(&options, &context, NULL), LAZE_OK);
  laze_executable *executable = conformance_compile(context, backend,
                                                    "graph @g(%c: bool[], %x: f32[1,1]) -> f32[] {\n"
                                                    "  %0 = if %c, [%x] (%a: f32[1,1]) {\n"
                                                    "    %1 = expand %a, size=[536870912, 536870912]\n"
                                                    "    %2 = mm %1, %1\n    %3 = sum %2 : f32[]\n    return %3\n"
                                                    "  } (%a: f32[1,1]) {\n"
                                                    "    %4 = sum %a : f32[]\n    return %4\n"
                                                    "  } : f32[]\n"
                                                    "  return %0\n}\n");
  laze_buffer *inputs[] = {conformance_buffer(context, backend, &(uint8_t){1}, 1),
                           conformance_buffer(context, backend, &(float){1}, 4)};
  laze_buffer *output;
  ck_assert_int_eq(backend->execute(executable, &(laze_run){.inputs = inputs, .outputs = &output}, &error),
                   LAZE_OUT_OF_MEMORY);
  for (int i = 0; i < 2; i++) laze_buffer_release(inputs[i]);
  laze_executable_release(executable);
  laze_context_release(context);
}
END_TEST

/* The named order drops axes of size 1, also one that another size of the same program would make a run of its own:
 * rows along the first axis, in blocks of 64, and not lanes of one element. */
START_TEST(an_axis_of_one_element_is_not_a_run) {
  static const int sizes[] = {5, 1};
  laze_context *context = test_context(NULL);
  const laze_backend *reference;
  ck_assert_int_eq(laze_backend_find(context, "interp", &reference, NULL), LAZE_OK);
  for (int i = 0; i < 2; i++) {
    char text[256], difference[256];
    test_arrays inputs, results[2];
    test_random random = {.state = 7};
    snprintf(text, sizeof text,
             "graph @g(%%x: f32[300,3,%d]) -> f32[3] {\n  %%0 = sum %%x, dim=[0, 2]\n  return %%0\n}\n", sizes[i]);
    laze_graph *graph = conformance_parse(context, text);
    test_inputs(context, graph, &random, &(test_range){.low = -2, .high = 2}, &inputs);
    ck_assert_int_eq(test_run(context, laze_backend_at(_i), graph, NULL, &inputs, &results[0], NULL), LAZE_OK);
    ck_assert_int_eq(test_run(context, reference, graph, NULL, &inputs, &results[1], NULL), LAZE_OK);
    ck_assert_msg(test_arrays_same(&results[0], &results[1], difference, sizeof difference), "%s", difference);
    for (int k = 0; k < 2; k++) test_arrays_release(&results[k]);
    test_arrays_release(&inputs);
    laze_graph_destroy(graph);
  }
  laze_context_release(context);
}
END_TEST

/* More kernels than one module holds: all of them are compiled and shown, and an object that would lack some is
 * refused.
 */
START_TEST(many_kernels_take_several_modules) {
  enum { KERNELS = 70 };
  const laze_backend *backend = laze_backend_at(_i);
  laze_context *context = test_context("nofusion");
  char text[8192];
  int length = snprintf(text, sizeof text, "graph @g(%%x: f32[3]) -> f32[3] {\n  %%c0 = add %%x, %%x\n");
  for (int i = 1; i <= KERNELS; i++)
    length += snprintf(text + length, sizeof text - (size_t)length,
                       "  %%k%d = constant %d.5 : f32[]\n  %%c%d = pow %%c%d, %%k%d\n", i, i, i, i - 1, i);
  snprintf(text + length, sizeof text - (size_t)length, "  return %%c%d\n}\n", KERNELS);
  laze_graph *graph = conformance_parse(context, text);
  laze_text out;
  laze_error error;
  laze_text_init(&out, context);
  laze_status status = laze_compile_emit(context, backend, graph, LAZE_EMIT_LLVM, &out, &error);
  int found = 0;
  for (const char *at = laze_text_get(&out); (at = strstr(at, "\ndefine ")) != NULL; at++) found++;
  ck_assert_msg(status == LAZE_OK ? found > KERNELS : status == LAZE_UNSUPPORTED, "%d kernels", found);
  ck_assert_int_eq(laze_compile_emit(context, backend, graph, LAZE_EMIT_OBJECT, &out, &error), LAZE_UNSUPPORTED);
  laze_executable *executable;
  int64_t compiled;
  ck_assert_msg(laze_compile(context, backend, graph, &executable, &error) == LAZE_OK, "%s", error.message);
  ck_assert_int_eq(laze_metric_read(context, "kernels_compiled", &compiled, NULL), LAZE_OK);
  ck_assert_int_eq(compiled, status == LAZE_OK ? KERNELS + 1 : 0);
  laze_executable_release(executable);
  laze_text_deinit(&out);
  laze_graph_destroy(graph);
  laze_context_release(context);
}
END_TEST

int main(void) {
  TCase *tests = tcase_create("backend");
  conformance_add(tests, copies_come_back);
  conformance_add(tests, copies_of_another_size_are_refused);
  conformance_add(tests, impossible_sizes_are_refused);
  conformance_add(tests, a_result_too_large_for_memory_is_an_error);
  conformance_add(tests, a_graph_computes);
  conformance_add(tests, outputs_may_be_anything);
  conformance_add(tests, empty_tensors_work);
  conformance_add(tests, control_flow_runs);
  conformance_add(tests, the_callers_rounding_mode_does_not_matter);
  conformance_add(tests, emit_shows_or_refuses);
  conformance_add(tests, scratch_for_many_threads_does_not_wrap);
  conformance_add(tests, an_axis_of_one_element_is_not_a_run);
  conformance_add(tests, many_kernels_take_several_modules);
  return conformance_main(tests);
}
