/* Registered kernels (laze/opaque.h): a step keeps the kernel that its node means, for as long as the step is there,
 * and calls it on the operands' and results' memory.
 *
 *   node  "scale", version 1, reals [0.5]  ──>  use: kernel, call without tensors   ──>  run(self, call)
 */
#include "codegen/interp/unit.h"

#include "base/counters.h"
#include "ir/op.gen.h"

#include <string.h>

enum { FEW_TENSORS = 24 };

laze_status interp_find_opaque(interp_unit *unit, interp_node *node, laze_error *error) {
  const laze_attribute *attributes = node->attributes;
  int32_t strings = attributes[LAZE_OPAQUE_STRINGS].count;
  interp_opaque *use = laze_arena_alloc(&unit->arena, (int64_t)sizeof *use + strings * (int64_t)sizeof *use->strings);
  if (!use) return laze_fail_memory(error, "a call of a kernel", -1);
  LAZE_TRY(laze_opaque_find(unit->arena.context, attributes[LAZE_OPAQUE_NAME].value.string,
                            attributes[LAZE_OPAQUE_VERSION].value.integer, &use->kernel, error));
  use->call = (laze_opaque_call){.struct_size = sizeof use->call};
  laze_opaque_fill_lists(attributes, use->strings, &use->call);
  use->next = unit->opaques;
  unit->opaques = use;
  node->opaque = use;
  return LAZE_OK;
}

static laze_opaque_tensor tensor_of(const interp_run *run, int32_t value) {
  interp_tensor tensor = interp_get(run, value);
  if (tensor.dtype == LAZE_DTYPE_NONE) return (laze_opaque_tensor){LAZE_DTYPE_NONE, 0, NULL, NULL};
  return (laze_opaque_tensor){tensor.dtype, tensor.rank, tensor.dims, tensor.data};
}

static void call_kernel(const interp_run *run, const interp_node *node, laze_opaque_tensor *tensors) {
  const interp_opaque *use = node->opaque;
  laze_opaque_call call = use->call;
  laze_error error;
  call.operand_count = node->operand_count;
  call.result_count = node->result_count;
  call.operands = tensors;
  call.results = tensors + node->operand_count;
  for (int32_t i = 0; i < node->operand_count; i++) tensors[i] = tensor_of(run, node->operands[i]);
  for (int32_t i = 0; i < node->result_count; i++) tensors[node->operand_count + i] = tensor_of(run, node->results[i]);
  laze_counters_add(laze_context_counters(run->unit->arena.context), "kernel", use->kernel->name, 1);
  if (laze_opaque_kernel_run(use->kernel, &call, &error) != LAZE_OK)
    laze_kernel_fail(run->failures, node->check, run->reason, &error);
}

void interp_execute_opaque(const interp_run *run, const interp_node *node) {
  laze_context *context = run->unit->arena.context;
  laze_opaque_tensor few[FEW_TENSORS], *tensors = few;
  int32_t count = node->operand_count + node->result_count;
  if (count > FEW_TENSORS) tensors = laze_alloc_array(context, count, sizeof *tensors);
  if (tensors) {
    call_kernel(run, node, tensors);
  } else {
    laze_error error;
    if (laze_fail_memory(&error, "a call of a kernel", -1) != LAZE_OK)
      laze_kernel_fail(run->failures, node->check, run->reason, &error);
  }
  if (tensors != few) laze_free(context, tensors);
}
