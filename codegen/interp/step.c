/* A unit as a step of a program, and on its own for constant folding.
 *
 *   buffers: operands, results            scratch: a pointer for each value, then the memory of values inside regions
 *   sizes:   as the unit lists them
 */
#include "codegen/interp/interp.h"

#include "codegen/interp/unit.h"

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
  interp_run run = {unit, arguments->sizes, arguments->buffers, arguments->failure};
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

static laze_status add_step(laze_program *program, const interp_unit *unit, laze_kernel *kernel, const int32_t *buffers,
                            const laze_size *sizes, bool fallback, laze_error *error) {
  const interp_node *root = &unit->root;
  laze_step step = {.kernel = kernel,
                    .buffers = buffers,
                    .buffer_count = unit->outside_count,
                    .write_count = root->result_count,
                    .sizes = sizes,
                    .size_count = (int32_t)unit->size_count,
                    .domain = 1,
                    .work = 0,
                    .label = root->info->name,
                    .fallback = fallback};
  LAZE_TRY(scratch_size(unit, laze_program_sizes(program), sizes, &step.scratch, error));
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
                                 const int32_t *operand_values, const int32_t *result_values, bool fallback,
                                 laze_error *error) {
  laze_context *context = graph->context;
  interp_unit *unit;
  laze_kernel *kernel;
  LAZE_TRY(interp_unit_create(graph, node, &unit, error));
  LAZE_TRY(
      laze_kernel_create(context, unit->root.info->name, run_kernel, unit, unit, interp_unit_destroy, &kernel, error));
  laze_size *sizes = laze_alloc_array(context, unit->size_count, sizeof *sizes);
  int32_t *buffers = laze_alloc_array(context, unit->outside_count, sizeof *buffers);
  laze_status status = sizes && buffers ? LAZE_OK : laze_fail_memory(error, "a step of the interpreter", -1);
  for (int32_t i = 0; i < unit->outside_count && status == LAZE_OK; i++)
    buffers[i] = i < node->operand_count ? operand_values[i] : result_values[i - node->operand_count];
  if (status == LAZE_OK) status = import_sizes(program, graph, unit, sizes, error);
  if (status == LAZE_OK) status = add_step(program, unit, kernel, buffers, sizes, fallback, error);
  laze_free(context, sizes);
  laze_free(context, buffers);
  laze_kernel_release(kernel); /* the step keeps its own reference */
  return status;
}

static laze_status run_folded(const interp_unit *unit, const void *const *operands, void *const *results,
                              laze_error *error) {
  laze_kernel_failure failure = {.position = INT64_MAX};
  void **data = laze_alloc_array(unit->arena.context, unit->outside_count, sizeof *data);
  if (!data) return laze_fail_memory(error, "a folded operator", -1);
  for (int32_t i = 0; i < unit->root.operand_count; i++) data[i] = (void *)(uintptr_t)operands[i];
  for (int32_t i = 0; i < unit->root.result_count; i++) data[unit->root.operand_count + i] = results[i];
  /* Sizes that are constants are their own values. */
  interp_run run = {unit, unit->sizes, data, &failure};
  interp_run_unit(&run);
  laze_free(unit->arena.context, data);
  if (failure.position == INT64_MAX) return LAZE_OK;
  return laze_fail(error, LAZE_OUT_OF_RANGE, "%s: index %lld at position %lld is out of range for an axis of size %lld",
                   unit->root.info->name, (long long)failure.index, (long long)failure.position,
                   (long long)failure.size);
}

laze_status laze_interp_fold(void *self, const laze_graph *graph, const laze_node *node, const void *const *operands,
                             void *const *results, laze_error *error) {
  interp_unit *unit;
  (void)self;
  if (node->region_count)
    return laze_fail(error, LAZE_UNSUPPORTED, "%s: operators with regions are not folded", laze_op_get(node->op)->name);
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
