/* The native backend in order:
 *
 *   graph ── schedule ──> groups with loop IR ── kernels ──> native functions ── program ──> values and steps
 *
 * Copies of many pieces are steps of the runtime's copy kernel, and operators with regions are steps that the runtime
 * goes through. Other groups that have no loop IR (what no lowering exists for) become steps of the reference
 * interpreter in the same program, so that they cost a call and do not cut the graph.
 */
#include "codegen/native/native.h"

#include "base/fallback.h"
#include "codegen/native/kernel_batch.h"
#include "codegen/native/kernel_store.h"
#include "codegen/node_site.h"
#include "codegen/program_builder.h"
#include "codegen/schedule/rows.h"
#include "codegen/schedule/schedule.h"

static laze_status schedule_graph(laze_graph *graph, laze_arena *arena, bool kernels_only, laze_schedule *schedule,
                                  laze_error *error) {
  laze_schedule_options options = {.no_fusion = laze_context_debug(graph->context, LAZE_DEBUG_NO_FUSION),
                                   .fallbacks = laze_context_fallbacks(graph->context),
                                   .kernels_only = kernels_only};
  LAZE_TRY(laze_schedule_build(graph, arena, &options, schedule, error));
  if (!laze_context_debug(graph->context, LAZE_DEBUG_VERIFY)) return LAZE_OK;
  for (int32_t i = 0; i < schedule->group_count; i++)
    if (schedule->groups[i]->kernel) LAZE_TRY(laze_loop_verify(schedule->groups[i]->kernel, error));
  return LAZE_OK;
}

/* Refuses what the interpreter would have to run; `remedy` ends the message. */
static laze_status check_all_native(const laze_graph *graph, const laze_schedule *schedule, const char *remedy,
                                    laze_error *error) {
  for (int32_t i = 0; i < schedule->group_count; i++) {
    const laze_group *group = schedule->groups[i];
    if (group->kind != LAZE_GROUP_FALLBACK) continue;
    const laze_site site = laze_node_site(laze_graph_node(graph, group->root));
    const laze_status status =
        laze_fail(error, LAZE_UNSUPPORTED, "%s has no native code here (%s)%s", group->label,
                  group->interpreted ? group->interpreted : "no kind of kernel computes it", remedy);
    (void)laze_site_locate(error, &site);
    return status;
  }
  return LAZE_OK;
}

static laze_status check_strict(const laze_graph *graph, const laze_schedule *schedule, laze_error *error) {
  if (!atomic_load(&laze_context_fallbacks(graph->context)->strict)) return LAZE_OK;
  return check_all_native(graph, schedule,
                          ", and laze_set_strict() or LAZE_STRICT refuses what the interpreter would run; switch that "
                          "off, or use other operators",
                          error);
}

static void dump_schedule(const laze_graph *graph, const laze_schedule *schedule) {
  bool loops = laze_context_debug(graph->context, LAZE_DEBUG_LOOP);
  if (!loops && !laze_context_debug(graph->context, LAZE_DEBUG_SCHEDULE)) return;
  laze_text text;
  laze_text_init(&text, graph->context);
  laze_schedule_print(&text, graph, schedule, loops);
  laze_log_text(graph->context, LAZE_LOG_DEBUG, "schedule", laze_text_get(&text));
  laze_text_deinit(&text);
}

/* The loop kernels of a schedule, in order; groups without one are left out. */
static laze_status collect_loops(const laze_schedule *schedule, laze_arena *arena, const laze_loop_kernel ***out,
                                 int32_t *count, laze_error *error) {
  *count = 0; /* first: a compiler does not know that a failure is never LAZE_OK */
  *out = laze_arena_alloc_array(arena, schedule->group_count, sizeof **out);
  if (!*out) return laze_fail_memory(error, "a schedule", -1);
  for (int32_t i = 0; i < schedule->group_count; i++)
    if (schedule->groups[i]->kernel) (*out)[(*count)++] = schedule->groups[i]->kernel;
  return LAZE_OK;
}

static laze_status add_steps(laze_program_builder *builder, const laze_schedule *schedule, laze_kernel *const *kernels,
                             laze_error *error) {
  int32_t next = 0;
  for (int32_t i = 0; i < schedule->group_count; i++) {
    const laze_group *group = schedule->groups[i];
    laze_kernel *kernel = group->kernel ? kernels[next++] : NULL;
    LAZE_TRY(laze_program_builder_add_group(builder, group, kernel, error));
  }
  return LAZE_OK;
}

static laze_status compile_in(laze_graph *graph, laze_arena *arena, laze_program **out, laze_error *error) {
  laze_schedule schedule;
  const laze_loop_kernel **loops;
  int32_t count;
  LAZE_TRY(schedule_graph(graph, arena, false, &schedule, error));
  dump_schedule(graph, &schedule);
  LAZE_TRY(check_strict(graph, &schedule, error));
  LAZE_TRY(collect_loops(&schedule, arena, &loops, &count, error));
  laze_kernel_store *store;
  LAZE_TRY(laze_kernel_store_get(graph->context, &store, error));
  laze_kernel **kernels = laze_arena_alloc_array(arena, count, sizeof *kernels);
  if (!kernels) return laze_fail_memory(error, "the kernels of a graph", count * (int64_t)sizeof *kernels);
  LAZE_TRY(laze_kernel_store_find(store, loops, count, kernels, error));
  laze_program_builder builder;
  laze_status status = laze_program_builder_begin(&builder, graph, error);
  if (status == LAZE_OK) status = add_steps(&builder, &schedule, kernels, error);
  for (int32_t i = 0; i < count; i++) laze_kernel_release(kernels[i]);
  return laze_program_builder_end(&builder, status, out, error);
}

static laze_status compile(laze_context *context, laze_graph *graph, laze_program **out, laze_error *error) {
  laze_arena arena;
  laze_graph *scanned;
  LAZE_TRY(laze_schedule_scan_folds(graph, &scanned, error));
  laze_arena_init(&arena, context);
  laze_status status = compile_in(scanned ? scanned : graph, &arena, out, error);
  laze_arena_deinit(&arena);
  laze_graph_destroy(scanned);
  return status;
}

/* Steps that the interpreter runs are in no object, nor is what the runtime does between kernels. An object without
 * them could be called for nothing; in text the interpreter's are named, in a comment. */
static laze_status name_interpreted(const laze_graph *graph, const laze_schedule *schedule, laze_emit_kind kind,
                                    laze_text *out, laze_error *error) {
  for (int32_t i = 0; i < schedule->group_count; i++) {
    const laze_group *group = schedule->groups[i];
    bool is_step = group->control || group->defines_size; /* of the runtime */
    if (kind == LAZE_EMIT_OBJECT ? group->kernel && !group->updates : group->kernel || is_step) continue;
    const laze_site site = laze_node_site(laze_graph_node(graph, group->root));
    laze_status status = LAZE_OK;
    if (kind == LAZE_EMIT_OBJECT && group->control)
      status = laze_fail(error, LAZE_UNSUPPORTED,
                         "%s runs kernels of its regions in turns, which an object of kernels cannot say; its schedule "
                         "shows which parts are native",
                         group->label);
    else if (kind == LAZE_EMIT_OBJECT && group->defines_size)
      status = laze_fail(error, LAZE_UNSUPPORTED,
                         "%s reads a size between kernels, which an object of kernels cannot say; its schedule shows "
                         "which parts are native",
                         group->label);
    else if (kind == LAZE_EMIT_OBJECT && group->routine)
      status = laze_fail(error, LAZE_UNSUPPORTED,
                         "%s is a kernel of the library itself, so that an object of the graph's kernels could be "
                         "called for nothing; its schedule shows which parts are native",
                         group->label);
    else if (kind == LAZE_EMIT_OBJECT && group->updates)
      status = laze_fail(error, LAZE_UNSUPPORTED,
                         "%s writes a part of a value that is copied or reused before, which an object of kernels "
                         "cannot say; its schedule shows the kernels",
                         group->label);
    else if (kind == LAZE_EMIT_OBJECT)
      status = laze_fail(error, LAZE_UNSUPPORTED,
                         "%s runs on the interpreter, so that an object of the graph's kernels could be called for "
                         "nothing; its schedule shows which parts are native",
                         group->label);
    if (status != LAZE_OK) return laze_site_locate(error, &site);
    laze_text_format(
        out, kind == LAZE_EMIT_LLVM ? "; not here, for %s runs it: %s\n" : "/* not here, for %s runs it: %s */\n",
        group->routine ? "the library" : "the interpreter", group->label);
  }
  return LAZE_OK;
}

static laze_status emit_in(laze_graph *graph, laze_arena *arena, laze_emit_kind kind, laze_text *out,
                           laze_error *error) {
  laze_schedule schedule;
  const laze_loop_kernel **loops;
  int32_t count;
  LAZE_TRY(schedule_graph(graph, arena, kind != LAZE_EMIT_SCHEDULE, &schedule, error));
  if (kind == LAZE_EMIT_SCHEDULE) {
    laze_schedule_print(out, graph, &schedule, true);
    return laze_text_check(out, error);
  }
  LAZE_TRY(collect_loops(&schedule, arena, &loops, &count, error));
  LAZE_TRY(name_interpreted(graph, &schedule, kind, out, error));
  if (count == 0 && kind == LAZE_EMIT_OBJECT)
    return laze_fail(error, LAZE_UNSUPPORTED,
                     "the graph has no kernels, for it returns inputs and constants: there is nothing to put into an "
                     "object");
  laze_kernel_store *store;
  LAZE_TRY(laze_kernel_store_get(graph->context, &store, error));
  laze_llvm_output output = kind == LAZE_EMIT_OBJECT     ? LAZE_LLVM_OBJECT
                            : kind == LAZE_EMIT_ASSEMBLY ? LAZE_LLVM_ASSEMBLY
                                                         : LAZE_LLVM_IR;
  return laze_kernel_batches_emit(&store->generator, &store->target, graph->context, loops, count, output, out, error);
}

static laze_status emit(laze_context *context, laze_graph *graph, laze_emit_kind kind, laze_text *out,
                        laze_error *error) {
  laze_arena arena;
  laze_graph *scanned;
  LAZE_TRY(laze_schedule_scan_folds(graph, &scanned, error));
  laze_arena_init(&arena, context);
  laze_status status = emit_in(scanned ? scanned : graph, &arena, kind, out, error);
  laze_arena_deinit(&arena);
  laze_graph_destroy(scanned);
  return status;
}

static laze_status check(laze_context *context, laze_graph *graph, laze_error *error) {
  laze_arena arena;
  laze_graph *scanned;
  laze_schedule schedule;
  LAZE_TRY(laze_schedule_scan_folds(graph, &scanned, error));
  laze_graph *whole = scanned ? scanned : graph;
  laze_arena_init(&arena, context);
  laze_status status = schedule_graph(whole, &arena, false, &schedule, error);
  if (status == LAZE_OK)
    status = check_all_native(whole, &schedule, "; the interpreter runs it, or split the graph there", error);
  laze_arena_deinit(&arena);
  laze_graph_destroy(scanned);
  return status;
}

static laze_status pack_in(laze_graph *graph, laze_arena *arena, laze_disk_pack *out, laze_error *error) {
  laze_schedule schedule;
  const laze_loop_kernel **loops;
  laze_kernel_store *store;
  int32_t count;
  LAZE_TRY(schedule_graph(graph, arena, false, &schedule, error));
  LAZE_TRY(collect_loops(&schedule, arena, &loops, &count, error));
  LAZE_TRY(laze_kernel_store_get(graph->context, &store, error));
  return laze_kernel_store_pack(store, loops, count, out, error);
}

static laze_status pack(laze_context *context, laze_graph *graph, laze_disk_pack *out, laze_error *error) {
  laze_arena arena;
  laze_graph *scanned;
  LAZE_TRY(laze_schedule_scan_folds(graph, &scanned, error));
  laze_arena_init(&arena, context);
  laze_status status = pack_in(scanned ? scanned : graph, &arena, out, error);
  laze_arena_deinit(&arena);
  laze_graph_destroy(scanned);
  return status;
}

static laze_status unpack(laze_context *context, const void *bytes, int64_t size, laze_error *error) {
  laze_kernel_store *store;
  LAZE_TRY(laze_kernel_store_get(context, &store, error));
  return laze_kernel_store_unpack(store, bytes, size, error);
}

const laze_backend laze_backend_llvm = {
    .name = "llvm",
    .description = "native code: fused kernels compiled by LLVM, cached on disk",
    .allocate = laze_host_allocate,
    .copy_from_host = laze_host_copy_from,
    .copy_to_host = laze_host_copy_to,
    .compile = compile,
    .execute = laze_executable_run,
    .emit = emit,
    .check = check,
    .pack = pack,
    .unpack = unpack,
};
