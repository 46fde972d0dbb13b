#include "codegen/group_step.h"

#include "codegen/interp/interp.h"
#include "runtime/copy_kernel.h"

static laze_status add_kernel_step(laze_translation *translation, const laze_group *group, laze_kernel *kernel,
                                   laze_error *error) {
  int32_t count = group->read_count + group->write_count;
  int32_t *buffers = laze_arena_alloc_array(&translation->arena, count, sizeof *buffers);
  if (!buffers) return laze_fail_memory(error, "a step", count);
  for (int32_t i = 0; i < count; i++) {
    laze_value value = i < group->read_count ? group->reads[i] : group->writes[i - group->read_count];
    LAZE_TRY(laze_translation_value(translation, value, &buffers[i], error));
  }
  laze_step step = {.kernel = kernel,
                    .buffers = buffers,
                    .buffer_count = count,
                    .write_count = group->write_count,
                    .sizes = group->sizes,
                    .size_count = group->size_count,
                    .domain = group->domain,
                    .label = group->label,
                    .dependences = group->dependences};
  LAZE_TRY(laze_size_binary(laze_program_sizes(translation->program), LAZE_SIZE_ADD, group->bytes, group->operations,
                            &step.work, error));
  return laze_program_add_step(translation->program, &step, error);
}

laze_status laze_group_add_step(laze_translation *translation, const laze_group *group, laze_kernel *kernel,
                                laze_error *error) {
  if (kernel) return add_kernel_step(translation, group, kernel, error);
  if (group->kind != LAZE_GROUP_COPY) return laze_interp_add_node(translation, group->root.node, true, error);
  LAZE_TRY(laze_copy_kernel_create(translation->graph->context, &kernel, error));
  laze_status status = add_kernel_step(translation, group, kernel, error);
  laze_kernel_release(kernel);
  return status;
}
