/* What a kernel says about itself besides its loops: buffers, run-time integers, estimates and a label. */
#include "codegen/schedule/emit.h"

#include "codegen/schedule/group.h"

#include <stdio.h>
#include <string.h>

int32_t laze_group_emit_size(laze_scheduler *scheduler, laze_loop_kernel *kernel, laze_size_numbers *numbers,
                             laze_size size) {
  if (laze_size_is_constant(size)) return laze_loop_index_constant(kernel, size);
  int64_t number = 0;
  while (number < numbers->count && numbers->items[number] != size) number++;
  if (number == numbers->count) {
    if (number == numbers->capacity) {
      int64_t capacity = numbers->capacity ? numbers->capacity * 2 : 16;
      laze_size *items = laze_arena_alloc_array(scheduler->arena, capacity, sizeof *items);
      if (!items) {
        kernel->failed = true;
        return -1;
      }
      if (number > 0) memcpy(items, numbers->items, (size_t)number * sizeof *items);
      numbers->items = items;
      numbers->capacity = capacity;
    }
    numbers->items[numbers->count++] = size;
    kernel->size_count = (int32_t)numbers->count;
  }
  return laze_loop_index_size(kernel, (int32_t)number);
}

/* `each` times the points of the group's domain. */
static laze_status count_points(laze_scheduler *scheduler, const laze_domain *domain, laze_size each, laze_size *out) {
  *out = each;
  for (int32_t i = 0; i < domain->order_count; i++)
    LAZE_TRY(laze_size_estimate(scheduler->graph->sizes, LAZE_SIZE_MUL, *out, domain->axes[domain->order[i]].extent,
                                out, scheduler->error));
  return LAZE_OK;
}

/* Whether an index chooses what is loaded of a value: then an element for each point is read, of however many. */
static bool is_chosen(const laze_group_builder *group, laze_value value) {
  bool chosen = false;
  for (int64_t i = 0; i < group->instance_count; i++) {
    const laze_instance *instance = &group->instances[i];
    if (instance->kind != LAZE_INSTANCE_LOAD || !laze_value_equal(instance->value, value)) continue;
    chosen = false;
    for (int32_t c = 0; c < instance->map->rank; c++) chosen = chosen || instance->map->components[c].dynamic >= 0;
    if (!chosen) return false;
  }
  return chosen;
}

/* Elements of a value that the group touches: all, but for what an index chooses, for what is updated, and for pieces,
 * of which each group reads and writes a part. */
static laze_status count_elements(laze_scheduler *scheduler, laze_group_builder *builder, laze_value value,
                                  bool is_read, laze_size *out) {
  laze_size points;
  LAZE_TRY(
      laze_type_elements(scheduler->graph->sizes, laze_graph_type(scheduler->graph, value), out, scheduler->error));
  bool in_part = is_read ? is_chosen(builder, value) : builder->group.updates;
  if (!builder->piece && !in_part) return LAZE_OK;
  LAZE_TRY(count_points(scheduler, &builder->domain, 1, &points));
  if (!builder->piece) *out = points;
  return laze_size_binary(scheduler->graph->sizes, LAZE_SIZE_MIN, points, *out, out, scheduler->error);
}

static laze_status count_bytes(laze_scheduler *scheduler, laze_group_builder *builder) {
  laze_size_table *sizes = scheduler->graph->sizes;
  laze_group *group = &builder->group;
  group->bytes = 0;
  for (int32_t i = 0; i < group->read_count + group->write_count; i++) {
    bool is_read = i < group->read_count;
    laze_value value = is_read ? group->reads[i] : group->writes[i - group->read_count];
    laze_size bytes = laze_dtype_size(laze_graph_type(scheduler->graph, value)->dtype), elements;
    LAZE_TRY(count_elements(scheduler, builder, value, is_read, &elements));
    LAZE_TRY(laze_size_estimate(sizes, LAZE_SIZE_MUL, elements, bytes, &bytes, scheduler->error));
    LAZE_TRY(laze_size_estimate(sizes, LAZE_SIZE_ADD, group->bytes, bytes, &group->bytes, scheduler->error));
  }
  return LAZE_OK;
}

/* Whether an instance is part of what the kernel computes. */
static bool is_computed(const laze_loop_emitter *emitter, const laze_instance *instance) {
  if (instance->kind == LAZE_INSTANCE_LOAD || instance->kind == LAZE_INSTANCE_CONSTANT ||
      instance->kind == LAZE_INSTANCE_CHECK)
    return false;
  if (instance->kind != LAZE_INSTANCE_PASS) return true;
  /* Where an iota is stored, the iota is counted. */
  const laze_instance *passed = laze_group_instance_at(emitter, instance->operands[0]);
  return passed->kind != LAZE_INSTANCE_IOTA || passed->value.node != instance->value.node;
}

laze_status laze_group_emit_root(laze_scheduler *scheduler, laze_group_builder *group) {
  laze_group_node root = {group->group.root.node, 1};
  group->group.nodes = laze_arena_copy(scheduler->arena, &root, sizeof root);
  group->group.node_count = 1;
  return group->group.nodes ? LAZE_OK : laze_fail_memory(scheduler->error, "a schedule", sizeof root);
}

/* The nodes that the instances compute, each once. */
static laze_status list_nodes(laze_loop_emitter *emitter) {
  laze_scheduler *scheduler = emitter->scheduler;
  laze_group *group = &emitter->group->group;
  laze_group_node *nodes = laze_arena_alloc_array(scheduler->arena, emitter->count, sizeof *nodes);
  if (!nodes) return laze_fail_memory(emitter->error, "a schedule", -1);
  for (int32_t i = 0; i < emitter->count; i++) {
    const laze_instance *instance = laze_group_instance_at(emitter, emitter->order[i]);
    int32_t *place = &scheduler->listed[instance->value.node];
    if (!is_computed(emitter, instance)) continue;
    if (*place == 0) {
      nodes[group->node_count++] = (laze_group_node){instance->value.node, 0};
      *place = group->node_count;
    }
    nodes[*place - 1].times++;
  }
  for (int32_t i = 0; i < group->node_count; i++) scheduler->listed[nodes[i].node] = 0;
  group->nodes = nodes;
  return LAZE_OK;
}

static laze_status write_label(laze_loop_emitter *emitter) {
  char label[128];
  size_t length = 0;
  for (int32_t i = 0; i < emitter->count; i++) {
    const laze_instance *instance = laze_group_instance_at(emitter, emitter->order[i]);
    if (!is_computed(emitter, instance)) continue;
    const char *name = laze_op_get(laze_graph_node(emitter->scheduler->graph, instance->value)->op)->base;
    if (length + strlen(name) + 5 > sizeof label) {
      if (label[length - 1] != '.') length += (size_t)sprintf(label + length, "...");
      continue;
    }
    length += (size_t)sprintf(label + length, "%s%s", length ? "+" : "", name);
  }
  label[length] = 0;
  emitter->group->group.label = laze_arena_copy_string(emitter->scheduler->arena, label);
  return emitter->group->group.label ? LAZE_OK : laze_fail_memory(emitter->error, "a schedule", -1);
}

laze_status laze_group_emit_buffers(laze_scheduler *scheduler, laze_group_builder *group, const int32_t *order,
                                    int32_t count, int32_t *buffer_of_instance) {
  laze_group *result = &group->group;
  laze_value *reads = laze_arena_alloc_array(scheduler->arena, count, sizeof *reads);
  if (!reads) return laze_fail_memory(scheduler->error, "a schedule", -1);
  for (int32_t i = 0; i < count; i++) {
    const laze_instance *instance = &group->instances[order[i]];
    if (instance->kind != LAZE_INSTANCE_LOAD) continue;
    int32_t buffer = 0;
    while (buffer < result->read_count && !laze_value_equal(reads[buffer], instance->value)) buffer++;
    if (buffer == result->read_count) {
      reads[result->read_count++] = instance->value;
      laze_loop_add_buffer(result->kernel, laze_graph_type(scheduler->graph, instance->value)->dtype, false);
    }
    buffer_of_instance[order[i]] = buffer;
  }
  result->reads = reads;
  for (int32_t i = 0; i < result->write_count; i++)
    laze_loop_add_buffer(result->kernel, laze_graph_type(scheduler->graph, result->writes[i])->dtype, true);
  return count_bytes(scheduler, group);
}

laze_status laze_group_emit_summary(laze_loop_emitter *emitter) {
  const laze_group_builder *group = emitter->group;
  laze_size each = group->elements > 0 ? group->elements : 1;
  LAZE_TRY(count_points(emitter->scheduler, &group->domain, each, &emitter->group->group.operations));
  LAZE_TRY(list_nodes(emitter));
  return write_label(emitter);
}
