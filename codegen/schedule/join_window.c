/* Windows and padding.
 *
 *   _window   dim becomes (place, count): their components, times dilation and stride, add up to the operand's
 *   _pad      the operand's component is the result's less `low`, guarded by its size; elsewhere the other operand
 *
 * So a convolution or a pooling reads what it is of through a map, with a guard where it is padded, and no window is
 * written to memory.
 */
#include "codegen/schedule/join.h"

#include "codegen/schedule/joiner.h"
#include "ir/op.gen.h"

static laze_status find_axis(const laze_joiner *join, int32_t attribute, int *axis) {
  laze_inference inference = {join->scheduler->graph->sizes, laze_op_get(join->node->op)->name, join->scheduler->error};
  return laze_infer_axis(&inference, join->node->attributes[attribute].value.integer, operand_type(join, 0)->rank,
                         axis);
}

static laze_status window_needs(laze_joiner *join, laze_needs *out, bool *possible) {
  const laze_attribute *attributes = join->node->attributes;
  const laze_type *operand = operand_type(join, 0);
  const laze_map *own;
  int axis;
  LAZE_TRY(own_axes(join, &own));
  LAZE_TRY(find_axis(join, LAZE__WINDOW_DIM, &axis));
  /* A component adds one index from memory at most. */
  *possible = own != NULL && own->components[axis].dynamic < 0;
  if (!*possible) return LAZE_OK;
  laze_component components[LAZE_MAX_RANK], place, window;
  laze_size stride, dilation;
  for (int i = 0; i < operand->rank; i++) components[i] = own->components[i + (i > axis)];
  LAZE_TRY(slice_step(join, operand->sizes[axis], attributes[LAZE__WINDOW_DILATION].value.integer, &dilation));
  LAZE_TRY(slice_step(join, operand->sizes[axis], attributes[LAZE__WINDOW_STRIDE].value.integer, &stride));
  LAZE_TRY(laze_component_scale(&join->mapper, &own->components[axis], dilation, &place));
  LAZE_TRY(laze_component_scale(&join->mapper, &own->components[axis + 1], stride, &window));
  LAZE_TRY(laze_component_add(&join->mapper, &place, &window, &components[axis]));
  return laze_map_create(&join->mapper, operand->sizes, components, operand->rank, own->guards, &out->maps[0]);
}

static laze_status pad_needs(laze_joiner *join, laze_needs *out, bool *possible) {
  const laze_type *operand = operand_type(join, 0);
  laze_size_table *sizes = join->scheduler->graph->sizes;
  laze_error *error = join->scheduler->error;
  laze_size low = join->node->attributes[LAZE__PAD_LOW].value.size;
  const laze_map *own;
  int axis;
  LAZE_TRY(own_axes(join, &own));
  LAZE_TRY(find_axis(join, LAZE__PAD_DIM, &axis));
  *possible = own != NULL && own->components[axis].dynamic < 0;
  if (!*possible) return LAZE_OK;
  laze_guard *guard = laze_arena_alloc_zero(join->mapper.arena, sizeof *guard);
  if (!guard) return laze_fail_memory(error, "a schedule", sizeof *guard);
  *guard = (laze_guard){.next = own->guards, .component = own->components[axis], .low = low};
  LAZE_TRY(laze_size_binary(sizes, LAZE_SIZE_ADD, low, operand->sizes[axis], &guard->high, error));
  laze_component components[LAZE_MAX_RANK], offset = {.dynamic = -1};
  for (int i = 0; i < operand->rank; i++) components[i] = own->components[i];
  LAZE_TRY(laze_size_binary(sizes, LAZE_SIZE_MUL, low, -1, &offset.offset, error));
  LAZE_TRY(laze_component_add(&join->mapper, &own->components[axis], &offset, &components[axis]));
  out->kind = LAZE_INSTANCE_PAD;
  out->count = 2;
  LAZE_TRY(laze_map_create(&join->mapper, NULL, NULL, 0, NULL, &out->maps[1]));
  return laze_map_create(&join->mapper, operand->sizes, components, operand->rank, guard, &out->maps[0]);
}

const laze_join laze_join_window = {.needs = window_needs, .pass_through = true};
const laze_join laze_join_pad = {.needs = pad_needs, .pads = true};
