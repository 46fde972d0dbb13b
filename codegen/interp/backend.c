/* The interpreter as a backend: a program with one step a node. */
#include "codegen/interp/interp.h"

#include "codegen/program_builder.h"

/* Constants are values of the program, not steps. */
static laze_status add_steps(laze_program_builder *builder, laze_error *error) {
  const laze_block *body = builder->graph->body;
  for (int64_t i = 0; i < body->node_count; i++)
    if (!laze_node_constant(&builder->graph->nodes[body->nodes[i]]))
      LAZE_TRY(laze_program_builder_add_node(builder, body->nodes[i], NULL, error));
  return LAZE_OK;
}

static laze_status compile(laze_context *context, laze_graph *graph, laze_program **out, laze_error *error) {
  laze_program_builder builder;
  (void)context; /* the graph's */
  laze_status status = laze_program_builder_begin(&builder, graph, error);
  if (status == LAZE_OK) status = add_steps(&builder, error);
  return laze_program_builder_end(&builder, status, out, error);
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
