/* The interpreter as a backend: a program with one step a node. A step with regions runs these itself, in memory that
 * is planned before; where sizes are defined in them or by the node, the runtime goes through its regions, whose nodes
 * are steps as well. */
#include "codegen/interp/interp.h"

#include "codegen/program_builder.h"
#include "ir/defined_size.h"
#include "ir/walk.h"

/* Marks the nodes with regions that the runtime goes through. */
static void mark_walked(const laze_graph *graph, bool *walked) {
  laze_walk walk;
  laze_walk_begin(&walk, graph);
  for (laze_walk_event event; (event = laze_walk_next(&walk)) != LAZE_WALK_DONE;) {
    const laze_node *node = event == LAZE_WALK_NODE ? &graph->nodes[walk.node] : NULL;
    if (!node || !laze_node_defines_size(node)) continue;
    if (node->region_count > 0) walked[walk.node] = true;
    for (int32_t i = 0; i < walk.depth - 1; i++) walked[walk.frames[i].block->nodes[walk.frames[i].next]] = true;
  }
}

/* Constants are values of the program, not steps. */
static laze_status add_steps(laze_program_builder *builder, const bool *walked, laze_error *error) {
  const laze_graph *graph = builder->graph;
  laze_walk walk;
  laze_walk_begin(&walk, graph);
  for (laze_walk_event event; (event = laze_walk_next(&walk)) != LAZE_WALK_DONE;) {
    if (event == LAZE_WALK_BLOCK_END && walk.block->depth > 0)
      LAZE_TRY(laze_program_builder_end_region(builder, error));
    if (event != LAZE_WALK_NODE || laze_node_constant(&graph->nodes[walk.node])) continue;
    if (walked[walk.node]) {
      LAZE_TRY(laze_program_builder_begin_control(builder, walk.node, error));
      continue;
    }
    LAZE_TRY(laze_program_builder_add_node(builder, walk.node, NULL, error));
    if (graph->nodes[walk.node].region_count > 0) laze_walk_skip(&walk);
  }
  return LAZE_OK;
}

static laze_status add_all(laze_program_builder *builder, laze_error *error) {
  bool *walked = laze_arena_alloc_zero(&builder->arena, builder->graph->node_count);
  if (!walked) return laze_fail_memory(error, "the regions of a graph", -1);
  mark_walked(builder->graph, walked);
  return add_steps(builder, walked, error);
}

static laze_status compile(laze_context *context, laze_graph *graph, laze_program **out, laze_error *error) {
  laze_program_builder builder;
  (void)context; /* the graph's */
  laze_status status = laze_program_builder_begin(&builder, graph, error);
  if (status == LAZE_OK) status = add_all(&builder, error);
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
