/* The interpreter as a backend: a program with one step a node. */
#include "codegen/interp/interp.h"

#include "codegen/translation.h"
#include "ir/op.gen.h"

laze_status laze_interp_add_node(laze_translation *t, int32_t number, const char *why, laze_error *error) {
  const laze_node *node = &t->graph->nodes[number];
  int32_t *operands = laze_arena_alloc_array(&t->arena, node->operand_count, sizeof *operands);
  int32_t *results = laze_arena_alloc_array(&t->arena, node->result_count, sizeof *results);
  if (!operands || !results) return laze_fail_memory(error, "a step", -1);
  for (int32_t i = 0; i < node->operand_count; i++)
    LAZE_TRY(laze_translation_value(t, node->operands[i], &operands[i], error));
  for (int32_t i = 0; i < node->result_count; i++)
    LAZE_TRY(laze_translation_value(t, (laze_value){number, i}, &results[i], error));
  return laze_interp_add_step(t->program, t->graph, node, operands, results, why, error);
}

/* Constants are values of the program, not steps. */
static laze_status add_steps(laze_translation *t, laze_error *error) {
  const laze_block *body = t->graph->body;
  for (int64_t i = 0; i < body->node_count; i++)
    if (t->graph->nodes[body->nodes[i]].op != LAZE_OP_CONSTANT)
      LAZE_TRY(laze_interp_add_node(t, body->nodes[i], NULL, error));
  return LAZE_OK;
}

static laze_status compile(laze_context *context, laze_graph *graph, laze_program **out, laze_error *error) {
  laze_translation translation;
  (void)context; /* the graph's */
  laze_status status = laze_translation_begin(&translation, graph, error);
  if (status == LAZE_OK) status = add_steps(&translation, error);
  return laze_translation_end(&translation, status, out);
}

static laze_status emit(laze_context *context, laze_graph *graph, laze_emit_kind kind, laze_text *out,
                        laze_error *error) {
  static const char *const names[] = {[LAZE_EMIT_SCHEDULE] = "schedule",
                                      [LAZE_EMIT_LLVM] = "llvm",
                                      [LAZE_EMIT_ASSEMBLY] = "asm",
                                      [LAZE_EMIT_OBJECT] = "obj"};
  (void)context, (void)graph, (void)out;
  return laze_fail(error, LAZE_UNSUPPORTED,
                   "the backend 'interp' runs graphs as they are and has no %s to show: use the backend 'llvm'",
                   names[kind]);
}

const laze_backend laze_backend_interp = {
    .name = "interp",
    .description = "reference interpreter: plain loops, one operator at a time",
    .allocate = laze_host_allocate,
    .copy_from_host = laze_host_copy_from,
    .copy_to_host = laze_host_copy_to,
    .compile = compile,
    .execute = laze_executable_run,
    .emit = emit,
};
