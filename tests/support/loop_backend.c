#include "tests/support/loop_backend.h"

#include "tests/support/loop_interpreter.h"
#include "codegen/program_builder.h"
#include "codegen/schedule/rows.h"
#include "codegen/schedule/schedule.h"

#include <stdio.h>
#include <stdlib.h>

/* The schedule's arena, shared by its kernels. */
typedef struct {
  _Atomic int64_t references;
  laze_context *context;
  laze_arena arena;
} shared_schedule;

typedef struct {
  shared_schedule *shared;
  const laze_loop_kernel *loop;
} loop_closure;

static void release_shared(void *self) {
  shared_schedule *shared = self;
  if (atomic_fetch_sub(&shared->references, 1) != 1) return;
  laze_context *context = shared->context;
  laze_arena_deinit(&shared->arena);
  laze_free(context, shared);
}

static void run_loop(const laze_kernel_arguments *arguments, int64_t begin, int64_t end, void *scratch) {
  const loop_closure *closure = arguments->closure;
  (void)scratch;
  laze_error error;
  /* Later ranges first: no iteration may rely on an earlier one. */
  int64_t third = (end - begin + 2) / 3;
  for (int part = 2; part >= 0; part--) {
    int64_t from = begin + part * third, to = from + third < end ? from + third : end;
    if (from >= to) continue;
    if (test_interpret_loop(closure->loop, closure->shared->context, arguments, from, to, &error) == LAZE_OK) continue;
    fprintf(stderr, "loop IR: %s\n", error.message);
    abort();
  }
}

static laze_status create_kernel(shared_schedule *shared, const laze_loop_kernel *loop, laze_kernel **out,
                                 laze_error *error) {
  LAZE_TRY(laze_loop_verify(loop, error));
  loop_closure *closure = laze_arena_alloc(&shared->arena, sizeof *closure);
  if (!closure) return laze_fail_memory(error, "a kernel", sizeof *closure);
  *closure = (loop_closure){shared, loop};
  atomic_fetch_add(&shared->references, 1);
  return laze_kernel_create(shared->context, "loop", run_loop, closure, shared, release_shared, out, error);
}

static laze_status add_step(laze_program_builder *builder, shared_schedule *shared, const laze_group *group,
                            laze_error *error) {
  laze_kernel *kernel = NULL;
  if (group->kernel) LAZE_TRY(create_kernel(shared, group->kernel, &kernel, error));
  laze_status status = laze_program_builder_add_group(builder, group, kernel, error);
  laze_kernel_release(kernel);
  return status;
}

static laze_status translate(laze_graph *graph, shared_schedule *shared, laze_program **out, laze_error *error) {
  laze_schedule schedule;
  laze_schedule_options options = {.no_fusion = laze_context_debug(graph->context, LAZE_DEBUG_NO_FUSION)};
  laze_program_builder builder;
  LAZE_TRY(laze_schedule_build(graph, &shared->arena, &options, &schedule, error));
  laze_status status = laze_program_builder_begin(&builder, graph, error);
  for (int32_t i = 0; i < schedule.group_count && status == LAZE_OK; i++)
    status = add_step(&builder, shared, schedule.groups[i], error);
  return laze_program_builder_end(&builder, status, out, error);
}

static laze_status compile(laze_context *context, laze_graph *graph, laze_program **out, laze_error *error) {
  shared_schedule *shared = laze_alloc(context, sizeof *shared);
  if (!shared) return laze_fail_memory(error, "a schedule", sizeof *shared);
  shared->references = 1;
  shared->context = context;
  laze_arena_init(&shared->arena, context);
  laze_graph *scanned;
  laze_status status = laze_schedule_scan_folds(graph, &scanned, error);
  if (status == LAZE_OK) status = translate(scanned ? scanned : graph, shared, out, error);
  laze_graph_destroy(scanned);
  release_shared(shared);
  return status;
}

static laze_status emit(laze_context *context, laze_graph *graph, laze_emit_kind kind, laze_text *out,
                        laze_error *error) {
  (void)context, (void)graph, (void)kind, (void)out;
  return laze_fail(error, LAZE_UNSUPPORTED, "the loop backend of the tests shows nothing");
}

const laze_backend test_backend_loop = {
    .name = "loop",
    .description = "tests only: loop IR on its interpreter",
    .allocate = laze_host_allocate,
    .copy_from_host = laze_host_copy_from,
    .copy_to_host = laze_host_copy_to,
    .compile = compile,
    .execute = laze_executable_run,
    .emit = emit,
};
