#include "codegen/group_step.h"

#include "codegen/interp/interp.h"
#include "runtime/copy_kernel.h"

/* The place of a node among those of the group. */
static int32_t place_of(const laze_group *group, int32_t node) {
  int32_t place = 0;
  while (place < group->node_count - 1 && group->nodes[place].node != node) place++;
  return place;
}

/* Where what the step computes, writes and checks comes from. */
static laze_status add_origins(const laze_translation *translation, laze_arena *arena, const laze_group *group,
                               laze_step *step, laze_error *error) {
  laze_origin *origins = laze_arena_alloc_array(arena, group->node_count, sizeof *origins);
  int32_t *makers = laze_arena_alloc_array(arena, group->write_count, sizeof *makers);
  int32_t *checks = laze_arena_alloc_array(arena, group->check_count, sizeof *checks);
  if (!origins || !makers || !checks) return laze_fail_memory(error, "a step", group->node_count);
  for (int32_t i = 0; i < group->node_count; i++)
    origins[i] = laze_node_origin(&translation->graph->nodes[group->nodes[i].node]);
  for (int32_t i = 0; i < group->write_count; i++) makers[i] = place_of(group, group->writes[i].node);
  for (int32_t i = 0; i < group->check_count; i++) checks[i] = place_of(group, group->checked[i]);
  step->origins = origins;
  step->origin_count = group->node_count;
  step->makers = makers;
  step->checks = checks;
  step->check_count = group->check_count;
  return LAZE_OK;
}

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
                    .label = group->label};
  LAZE_TRY(add_origins(translation, &translation->arena, group, &step, error));
  LAZE_TRY(laze_size_estimate(laze_program_sizes(translation->program), LAZE_SIZE_ADD, group->bytes, group->operations,
                              &step.work, error));
  return laze_program_add_step(translation->program, &step, error);
}

laze_status laze_group_add_step(laze_translation *translation, const laze_group *group, laze_kernel *kernel,
                                laze_error *error) {
  if (kernel) return add_kernel_step(translation, group, kernel, error);
  if (group->kind != LAZE_GROUP_COPY)
    return laze_interp_add_node(translation, group->root.node, group->interpreted, error);
  LAZE_TRY(laze_copy_kernel_create(translation->graph->context, &kernel, error));
  laze_status status = add_kernel_step(translation, group, kernel, error);
  laze_kernel_release(kernel);
  return status;
}
