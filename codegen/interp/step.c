/* A unit as a step of a program, and on its own for constant folding.
 *
 *   buffers: operands, results            scratch: a pointer for each value, then the memory of values inside regions
 *   sizes:   as the unit lists them
 */
#include "codegen/interp/interp.h"

#include "codegen/interp/unit.h"
#include "codegen/node_site.h"

#include <string.h>

enum { ALIGNMENT = 16 };

static bool has_regions(const interp_unit *unit) {
  return unit->value_count > unit->outside_count;
}

/* Gives memory in scratch to the values inside regions. */
static void *const *place_values(const interp_unit *unit, const laze_kernel_arguments *arguments, char *scratch) {
  void **data = (void **)(void *)scratch;
  char *next = scratch + unit->value_count * (int64_t)sizeof *data;
  for (int32_t i = 0; i < unit->outside_count; i++) data[i] = arguments->buffers[i];
  for (int64_t i = unit->outside_count; i < unit->value_count; i++) {
    const interp_value *value = &unit->values[i];
    interp_tensor tensor = {value->dtype, value->rank, arguments->sizes + value->first_size, NULL};
    next += -(uintptr_t)next & (ALIGNMENT - 1);
    data[i] = next;
    next += interp_bytes(&tensor);
  }
  return data;
}

static void run_kernel(const laze_kernel_arguments *arguments, int64_t begin, int64_t end, void *scratch) {
  const interp_unit *unit = arguments->closure;
  interp_run run = {
      unit, arguments->sizes, arguments->buffers, arguments->failures, arguments->reason, arguments->stopped};
  if (begin >= end) return;
  if (has_regions(unit)) run.data = place_values(unit, arguments, scratch);
  interp_run_unit(&run);
}

/* Bytes that place_values needs. */
static laze_status scratch_size(const interp_unit *unit, laze_size_table *table, const laze_size *sizes, laze_size *out,
                                laze_error *error) {
  *out = 0;
  if (!has_regions(unit)) return LAZE_OK;
  *out = unit->value_count * (int64_t)(sizeof(void *) + ALIGNMENT);
  for (int64_t i = unit->outside_count; i < unit->value_count; i++) {
    const interp_value *value = &unit->values[i];
    laze_size bytes;
    LAZE_TRY(laze_size_product(table, sizes + value->first_size, value->rank, &bytes, error));
    LAZE_TRY(laze_size_binary(table, LAZE_SIZE_MUL, bytes, laze_dtype_size(value->dtype), &bytes, error));
    LAZE_TRY(laze_size_binary(table, LAZE_SIZE_ADD, *out, bytes, out, error));
  }
  return LAZE_OK;
}

/* The arrays of a step: the unit's sizes and values in the program, and whence they come. The root's origin is first,
 * then those of checks in its regions. */
typedef struct {
  laze_size *sizes;
  int32_t *buffers, *checks;
  laze_origin *origins;
} step_arrays;

static laze_status make_arrays(laze_arena *arena, const interp_unit *unit, const laze_node *node, step_arrays *out,
                               laze_error *error) {
  int32_t checks = (int32_t)unit->check_count;
  out->sizes = laze_arena_alloc_array(arena, unit->size_count, sizeof *out->sizes);
  out->buffers = laze_arena_alloc_array(arena, unit->outside_count, sizeof *out->buffers);
  out->checks = laze_arena_alloc_zero(arena, checks * (int64_t)sizeof *out->checks);
  out->origins = laze_arena_alloc_array(arena, 1 + unit->check_count, sizeof *out->origins);
  if (!out->sizes || !out->buffers || !out->checks || !out->origins)
    return laze_fail_memory(error, "a step of the interpreter", -1);
  out->origins[0] = laze_node_origin(node);
  for (int32_t i = 0; has_regions(unit) && i < checks; i++) {
    out->origins[1 + i] = unit->checked[i];
    out->checks[i] = 1 + i;
  }
  return LAZE_OK;
}

static laze_status add_step(laze_program *program, const interp_unit *unit, laze_kernel *kernel,
                            const step_arrays *arrays, const char *why, laze_error *error) {
  const interp_node *root = &unit->root;
  laze_step step = {.kernel = kernel,
                    .buffers = arrays->buffers,
                    .buffer_count = unit->outside_count,
                    .write_count = root->result_count,
                    .sizes = arrays->sizes,
                    .size_count = (int32_t)unit->size_count,
                    .domain = 1,
                    .work = 0,
                    .label = root->info->name,
                    .origins = arrays->origins,
                    .origin_count = has_regions(unit) ? 1 + (int32_t)unit->check_count : 1,
                    .checks = arrays->checks,
                    .check_count = (int32_t)unit->check_count,
                    .interpreted = why,
                    .needs_success = has_regions(unit)};
  LAZE_TRY(scratch_size(unit, laze_program_sizes(program), arrays->sizes, &step.scratch, error));
  return laze_program_add_step(program, &step, error);
}

/* The unit's sizes in the program's table. */
static laze_status import_sizes(laze_program *program, const laze_graph *graph, const interp_unit *unit,
                                laze_size *sizes, laze_error *error) {
  for (int64_t i = 0; i < unit->size_count; i++)
    LAZE_TRY(laze_size_import(laze_program_sizes(program), graph->sizes, unit->sizes[i], NULL, &sizes[i], error));
  return LAZE_OK;
}

laze_status laze_interp_add_step(laze_program *program, const laze_graph *graph, const laze_node *node,
                                 const int32_t *operand_values, const int32_t *result_values, const char *why,
                                 laze_error *error) {
  laze_context *context = graph->context;
  interp_unit *unit;
  laze_kernel *kernel;
  LAZE_TRY(interp_unit_create(graph, node, &unit, error));
  LAZE_TRY(
      laze_kernel_create(context, unit->root.info->name, run_kernel, unit, unit, interp_unit_destroy, &kernel, error));
  kernel->bytes = interp_unit_bytes(unit);
  laze_arena arena;
  step_arrays arrays;
  laze_arena_init(&arena, context);
  laze_status status = make_arrays(&arena, unit, node, &arrays, error);
  for (int32_t i = 0; i < unit->outside_count && status == LAZE_OK; i++)
    arrays.buffers[i] = i < node->operand_count ? operand_values[i] : result_values[i - node->operand_count];
  if (status == LAZE_OK) status = import_sizes(program, graph, unit, arrays.sizes, error);
  if (status == LAZE_OK) status = add_step(program, unit, kernel, &arrays, why, error);
  laze_arena_deinit(&arena);
  laze_kernel_release(kernel); /* the step keeps its own reference */
  return status;
}

static laze_status run_folded(const interp_unit *unit, const void *const *operands, void *const *results,
                              laze_error *error) {
  void **data = laze_alloc_array(unit->arena.context, unit->outside_count, sizeof *data);
  if (!data) return laze_fail_memory(error, "a folded operator", -1);
  for (int32_t i = 0; i < unit->root.operand_count; i++) data[i] = (void *)(uintptr_t)operands[i];
  for (int32_t i = 0; i < unit->root.result_count; i++) data[unit->root.operand_count + i] = results[i];
  /* Sizes that are constants are their own values. */
  interp_run run = {unit, unit->sizes, data, NULL, NULL, NULL};
  interp_run_unit(&run);
  laze_free(unit->arena.context, data);
  return LAZE_OK;
}

laze_status laze_interp_fold(void *self, const laze_graph *graph, const laze_node *node, const void *const *operands,
                             void *const *results, laze_error *error) {
  interp_unit *unit;
  (void)self;
  if (node->region_count || laze_op_get(node->op)->effect != LAZE_EFFECT_NONE)
    return laze_fail(error, LAZE_UNSUPPORTED, "%s: operators with regions or effects are not folded",
                     laze_op_get(node->op)->name);
  LAZE_TRY(interp_unit_create(graph, node, &unit, error));
  laze_status status = LAZE_OK;
  for (int64_t i = 0; i < unit->size_count && status == LAZE_OK; i++)
    if (!laze_size_is_constant(unit->sizes[i]))
      status =
          laze_fail(error, LAZE_UNSUPPORTED, "%s: only operators of constant sizes are folded", unit->root.info->name);
  if (status == LAZE_OK) status = run_folded(unit, operands, results, error);
  interp_unit_destroy(unit);
  return status;
}
