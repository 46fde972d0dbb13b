/* What the tests of modules share. */
#ifndef LAZE_TESTS_MODULE_TEST_H
#define LAZE_TESTS_MODULE_TEST_H

#include "tests/unit/ir/ir_test.h"

/* The digits of 64 bytes. */
#define HEX16 "000102030405060708090a0b0c0d0e0f"
#define HEX64 HEX16 HEX16 HEX16 HEX16

static inline laze_status read_module(const char *text, laze_module **out) {
  const laze_text_source source = {.text = text, .size = (int64_t)strlen(text), .file = "m.lz"};
  error.message[0] = 0;
  *out = NULL;
  return laze_module_parse(context, &source, out, &error);
}

static inline laze_module *parse_module(const char *text) {
  laze_module *module;
  assert_ok(read_module(text, &module));
  assert_ok(laze_module_verify(module, &error));
  return module;
}

static inline char *print_module(const laze_module *module) {
  laze_text text;
  laze_text_init(&text, context);
  laze_module_print(&text, module, &(laze_print_options){0});
  ck_assert(!text.failed);
  return text.data;
}

/* The graph `name` (NULL: the one to run) with its calls inlined. */
static inline laze_graph *inlined(const laze_module *module, const char *name) {
  laze_graph *chosen, *graph;
  assert_ok(laze_module_choose(module, name, &chosen, &error));
  assert_ok(laze_module_inline(chosen, &graph, &error));
  assert_ok(laze_graph_verify(graph, &error));
  ck_assert(!laze_graph_has_calls(graph));
  return graph;
}

static const char layers[] =
    "laze 1\n"
    "function @dense(%x: f32[n,m], %w: f32[m,k], %b: f32[k]) -> f32[n,k] {\n"
    "  %0 = mm %x, %w : f32[n,k] name(\"MatMul\")\n"
    "  %1 = add %0, %b : f32[n,k]\n"
    "  return %1\n"
    "}\n"
    "\n"
    "function @twice(%x: f32[n]) -> f32[n*2,2], f32[1,n] {\n"
    "  %0 = expand %x, size=[2, n] : f32[2,n] loc(\"model.onnx:5\")\n"
    "  %1 = reshape %x, shape=[1, n] : f32[1,n]\n"
    "  %2 = cat [%0, %0] : f32[4,n]\n"
    "  %3 = reshape %2, shape=[n*2, 2] : f32[n*2,2]\n"
    "  return %3, %1\n"
    "}\n"
    "\n"
    "graph @main(%x: f32[b,784], %w: f32[784,10], %u: f32[10,10], %c: f32[10]) -> f32[b,10], f32[20,2], f32[1,10] {\n"
    "  %0 = call @dense %x, %w, %c : f32[b,10] name(\"layer1\")\n"
    "  %1 = call @dense %0, %u, %c : f32[b,10]\n"
    "  %2:2 = call @twice %c : f32[20,2], f32[1,10] name(\"split\")\n"
    "  return %1, %2#0, %2#1\n"
    "}\n"
    "\n"
    "sizes n=4\n"
    "graph @other(%x: f32[n]) -> f32[n] {\n"
    "  %0 = neg %x : f32[n]\n"
    "  return %0\n"
    "}\n";

#endif
