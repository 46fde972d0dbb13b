/* Kernels read exactly their inputs: memory ends right behind each of them, and right before it another time; and
 * inputs may lie at any address that suits their elements. */
#include "tests/conformance/conformance.h"

#include <stdio.h>
#include <string.h>

/* Patterns with %1$d for a size: elementwise, strided, reduced along either axis, concatenated, multiplied. */
static const char *const graphs[] = {
    "graph @g(%%x: f32[%1$d], %%y: f32[%1$d]) -> f32[%1$d] {\n  %%0 = add %%x, %%y\n  %%1 = exp %%0\n  return %%1\n}\n",
    "graph @g(%%x: bool[%1$d], %%y: i32[%1$d]) -> i32[%1$d] {\n  %%0 = where %%x, %%y, 7\n  return %%0\n}\n",
    "graph @g(%%x: f64[3,%1$d]) -> f64[3], f64[%1$d] {\n  %%0 = sum %%x, dim=[1]\n  %%1 = sum %%x, dim=[0]\n"
    "  return %%0, %%1\n}\n",
    "graph @g(%%x: f32[3,%1$d]) -> f32[%1$d,3] {\n  %%0 = permute %%x, dims=[1, 0]\n  %%1 = neg %%0\n  return %%1\n}\n",
    "graph @g(%%x: f32[%1$d]) -> f32[%1$d] {\n  %%0 = cat [%%x, %%x]\n  %%1 = slice %%0, step=2\n  %%2 = neg %%1\n"
    "  return %%2\n}\n",
    "graph @g(%%x: f32[2,%1$d], %%y: f32[%1$d]) -> f32[2,%1$d] {\n  %%0 = softmax %%x, dim=-1\n  %%1 = mul %%0, %%y\n"
    "  return %%1\n}\n",
    "graph @g(%%x: f32[5,%1$d], %%y: f32[%1$d,3]) -> f32[5,3] {\n  %%0 = mm %%x, %%y\n  return %%0\n}\n",
    "graph @g(%%x: f32[%1$d,4], %%y: f32[4,%1$d]) -> f32[%1$d,%1$d] {\n  %%0 = mm %%x, %%y\n  return %%0\n}\n",
    "graph @g(%%x: f32[%1$d], %%y: i64[1]) -> f32[1] {\n  %%0 = index_select %%x, %%y, dim=0\n  return %%0\n}\n",
};
enum { GRAPHS = sizeof graphs / sizeof *graphs };

typedef laze_buffer *(*make_buffer)(laze_context *context, int64_t size);

/* Two bytes or more behind an address that suits every element. */
static laze_buffer *shifted_buffer(laze_context *context, int64_t size) {
  laze_buffer *whole = test_guarded_buffer(context, size + 64), *buffer;
  size_t shift = size % 8 == 0 ? 8 : size % 4 == 0 ? 4 : 1;
  ck_assert_int_eq(
      laze_buffer_borrow(context, (char *)whole->data + shift, size, test_release_buffer, whole, &buffer, NULL),
      LAZE_OK);
  return buffer;
}

static laze_buffer *front_buffer(laze_context *context, int64_t size) {
  return test_guarded_front_buffer(context, size);
}
static laze_buffer *end_buffer(laze_context *context, int64_t size) {
  return test_guarded_buffer(context, size);
}

static void check(int backend_index, make_buffer make) {
  static const int sizes[] = {1, 2, 3, 7, 15, 16, 17, 31, 33, 64, 65, 130};
  const laze_backend *backend = laze_backend_at(backend_index);
  laze_context *context = test_context(NULL);
  for (int g = 0; g < GRAPHS; g++) {
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
      char text[1024];
      test_arrays plain, placed, expected, got;
      laze_error error;
      char difference[256];
      snprintf(text, sizeof text, graphs[g], sizes[s]);
      laze_graph *graph = conformance_parse(context, text);
      test_random random = {.state = (uint64_t)(g * 100 + sizes[s])};
      test_inputs(context, graph, &random, &(test_range){.low = -2, .high = 2, .below = g == GRAPHS - 1}, &plain);
      placed = plain;
      for (int32_t i = 0; i < plain.count; i++) {
        placed.buffers[i] = make(context, plain.buffers[i]->size);
        memcpy(placed.buffers[i]->data, plain.buffers[i]->data, (size_t)plain.buffers[i]->size);
      }
      ck_assert_msg(test_run(context, backend, graph, NULL, &plain, &expected, &error) == LAZE_OK, "%s", error.message);
      ck_assert_msg(test_run(context, backend, graph, NULL, &placed, &got, &error) == LAZE_OK, "%s", error.message);
      ck_assert_msg(test_arrays_same(&expected, &got, difference, sizeof difference), "%s\n%s", difference, text);
      test_arrays_release(&plain);
      test_arrays_release(&placed);
      test_arrays_release(&expected);
      test_arrays_release(&got);
      laze_graph_destroy(graph);
    }
  }
  laze_context_release(context);
}

START_TEST(nothing_behind_an_input_is_read) {
  check(_i, end_buffer);
}
END_TEST

START_TEST(nothing_before_an_input_is_read) {
  check(_i, front_buffer);
}
END_TEST

START_TEST(inputs_need_no_alignment_beyond_their_elements) {
  check(_i, shifted_buffer);
}
END_TEST

int main(void) {
  TCase *tests = tcase_create("memory");
  conformance_add(tests, nothing_behind_an_input_is_read);
  conformance_add(tests, nothing_before_an_input_is_read);
  conformance_add(tests, inputs_need_no_alignment_beyond_their_elements);
  return conformance_main(tests);
}
