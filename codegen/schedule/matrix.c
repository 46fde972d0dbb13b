/* Groups that are a matrix product, in loop IR: blocks of rows, each one MATRIX instruction.
 *
 *   for t in 0 ... batches * ceil(rows / 72)          RANGE: what threads share
 *     batch = t / ceil(rows / 72), first = t % ceil(rows / 72) * 72
 *     c[batch, first ... first + 72, :] = a[batch, first ... first + 72, :] . b[batch, :, :]
 *
 * Operands are read through their access maps, so a transposed or broadcast one is strides and no copy.
 */
#include "codegen/schedule/emit.h"
#include "codegen/schedule/group.h"
#include "codegen/schedule/join.h"
#include "codegen/schedule/kind.h"

#include <string.h>

/* A multiple of the lowering's register block of 6 rows. */
enum { ROW_BLOCK = 72 };

/* The axes of the domain, and their letters in a laze_product. */
enum { BATCH, ROWS, COLUMNS, DEPTH, AXES };
static const char letters[] = "bmnk";

/* Axes never split. Component i stands for axis i. */
static laze_status add_axes(laze_scheduler *scheduler, laze_group_builder *group, const laze_size extents[AXES],
                            laze_component axes[AXES]) {
  for (int i = 0; i < AXES; i++) {
    laze_term *term = laze_arena_alloc(scheduler->arena, sizeof *term);
    if (!term) return laze_scheduler_memory_error(scheduler);
    *term = (laze_term){laze_domain_add_axis(&group->domain, extents[i], -1), 1};
    group->domain.axes[term->axis].whole = true;
    axes[i] = (laze_component){.terms = term, .term_count = 1, .dynamic = -1};
  }
  return LAZE_OK;
}

/* The size of an axis: in the result, or in the first operand that has it. */
static laze_size extent_of(int axis, const char *const layouts[3], const laze_type *const types[3]) {
  static const int order[3] = {2, 0, 1};
  for (int i = 0; i < 3; i++) {
    const char *letter = strchr(layouts[order[i]], letters[axis]);
    if (letter) return types[order[i]]->sizes[letter - layouts[order[i]]];
  }
  return 1;
}

/* The maps of both operands and the result. */
static laze_status find_maps(laze_scheduler *scheduler, laze_group_builder *group, const laze_node *node,
                             const laze_map *maps[3]) {
  const laze_product *product = laze_schedule_join_of(node->op)->product;
  const char *const layouts[3] = {product->operands[0], product->operands[1], product->result};
  const laze_type *const types[3] = {laze_graph_type(scheduler->graph, node->operands[0]),
                                     laze_graph_type(scheduler->graph, node->operands[1]), node->types[0]};
  laze_mapper mapper = laze_scheduler_mapper(scheduler, group);
  laze_size extents[AXES];
  laze_component axes[AXES], components[AXES];
  for (int axis = 0; axis < AXES; axis++) extents[axis] = extent_of(axis, layouts, types);
  LAZE_TRY(add_axes(scheduler, group, extents, axes));
  for (int i = 0; i < 3; i++) {
    for (int c = 0; c < types[i]->rank; c++) components[c] = axes[strchr(letters, layouts[i][c]) - letters];
    LAZE_TRY(laze_map_create(&mapper, types[i]->sizes, components, types[i]->rank, NULL, &maps[i]));
  }
  return LAZE_OK;
}

static laze_status claim(laze_scheduler *scheduler, int32_t node_index, laze_split why, bool *done,
                         const char **refusal) {
  const laze_node *node = &scheduler->graph->nodes[node_index];
  laze_group_builder *group = NULL;
  const laze_map *maps[3];
  int32_t instance;
  (void)why, (void)refusal; /* it would be stored in any case */
  *done = laze_schedule_join_of(node->op)->product != NULL;
  if (!*done) return LAZE_OK;
  LAZE_TRY(laze_schedule_create_group(scheduler, LAZE_GROUP_MATRIX, (laze_value){node_index, 0}, LAZE_SPLIT_PRODUCT,
                                      &group));
  laze_schedule_add_group(scheduler, group);
  LAZE_TRY(find_maps(scheduler, group, node, maps));
  LAZE_TRY(laze_schedule_add_instance(scheduler, group, LAZE_INSTANCE_MATRIX, group->group.root, maps[2], &instance));
  group->instances[instance].operand_count = 2;
  for (int32_t i = 0; i < 2; i++)
    LAZE_TRY(laze_schedule_add_use(scheduler, group, instance, i, node->operands[i], maps[i]));
  return LAZE_OK;
}

typedef struct {
  laze_scheduler *scheduler;
  laze_loop_kernel *kernel;
  laze_size_numbers numbers;
  int32_t batch, first; /* index values; batch -1: one batch only */
} matrix_emitter;

static int32_t emit_size(matrix_emitter *emitter, laze_size size) {
  return laze_group_emit_size(emitter->scheduler, emitter->kernel, &emitter->numbers, size);
}

static laze_size coefficient(const laze_offset *offset, int32_t axis) {
  for (int32_t i = 0; i < offset->affine.term_count; i++)
    if (offset->affine.terms[i].axis == axis) return offset->affine.terms[i].coefficient;
  return 0;
}

/* Where the operand's block begins: its offset, the batch, and the first row where it has rows. */
static int32_t block_offset(matrix_emitter *emitter, const laze_offset *offset) {
  laze_loop_kernel *kernel = emitter->kernel;
  int32_t value = emit_size(emitter, offset->affine.offset);
  const int32_t inductions[2] = {emitter->batch, emitter->first};
  for (int axis = BATCH; axis <= ROWS; axis++) {
    laze_size stride = coefficient(offset, axis);
    if (stride == 0 || inductions[axis] < 0) continue;
    int32_t step = laze_loop_index(kernel, LAZE_LOOP_INDEX_MUL, inductions[axis], emit_size(emitter, stride));
    value = laze_loop_index(kernel, LAZE_LOOP_INDEX_ADD, value, step);
  }
  return value;
}

/* Opens the loop over blocks and finds batch and first row. */
static int32_t open_blocks(matrix_emitter *emitter, const laze_domain *domain, laze_size blocks, laze_size extent) {
  laze_loop_kernel *kernel = emitter->kernel;
  bool batched = domain->axes[BATCH].extent != 1;
  int32_t block = laze_loop_begin(kernel, emit_size(emitter, extent), LAZE_LOOP_RANGE);
  emitter->batch = -1;
  if (batched) {
    int32_t count = emit_size(emitter, blocks);
    emitter->batch = laze_loop_index(kernel, LAZE_LOOP_INDEX_FLOOR_DIV, block, count);
    block = laze_loop_index(kernel, LAZE_LOOP_INDEX_MOD, block, count);
  }
  if (domain->axes[ROWS].extent == 1) { /* known to be one block, and one row */
    emitter->first = -1;
    return laze_loop_index_constant(kernel, 1);
  }
  int32_t height = laze_loop_index_constant(kernel, ROW_BLOCK);
  emitter->first = laze_loop_index(kernel, LAZE_LOOP_INDEX_MUL, block, height);
  int32_t rest =
      laze_loop_index(kernel, LAZE_LOOP_INDEX_SUB, emit_size(emitter, domain->axes[ROWS].extent), emitter->first);
  return laze_loop_index(kernel, LAZE_LOOP_INDEX_MIN, rest, height);
}

static laze_status find_extents(laze_scheduler *scheduler, const laze_domain *domain, laze_size *blocks,
                                laze_size *extent, laze_size *operations) {
  laze_size_table *sizes = scheduler->graph->sizes;
  LAZE_TRY(laze_size_binary(sizes, LAZE_SIZE_CEIL_DIV, domain->axes[ROWS].extent, ROW_BLOCK, blocks, scheduler->error));
  LAZE_TRY(laze_size_binary(sizes, LAZE_SIZE_MUL, *blocks, domain->axes[BATCH].extent, extent, scheduler->error));
  *operations = 2;
  for (int axis = 0; axis < AXES; axis++)
    LAZE_TRY(
        laze_size_estimate(sizes, LAZE_SIZE_MUL, *operations, domain->axes[axis].extent, operations, scheduler->error));
  return LAZE_OK;
}

static void emit_product(matrix_emitter *emitter, const laze_domain *domain, const laze_offset offsets[3],
                         const int32_t buffers[2], laze_dtype dtype, int32_t rows) {
  const laze_offset *a = &offsets[0], *b = &offsets[1], *c = &offsets[2];
  int32_t operands[11];
  operands[0] = block_offset(emitter, a);
  operands[1] = emit_size(emitter, coefficient(a, ROWS));
  operands[2] = emit_size(emitter, coefficient(a, DEPTH));
  operands[3] = block_offset(emitter, b);
  operands[4] = emit_size(emitter, coefficient(b, DEPTH));
  operands[5] = emit_size(emitter, coefficient(b, COLUMNS));
  operands[6] = block_offset(emitter, c);
  operands[7] = emit_size(emitter, coefficient(c, ROWS));
  operands[8] = rows;
  operands[9] = emit_size(emitter, domain->axes[COLUMNS].extent);
  operands[10] = emit_size(emitter, domain->axes[DEPTH].extent);
  int64_t written = emitter->kernel->buffer_count - 1;
  laze_loop_instruction product = {
      .code = LAZE_LOOP_MATRIX, .dtype = (uint8_t)dtype, .imm = buffers[0] | (int64_t)buffers[1] << 16 | written << 32};
  laze_loop_emit(emitter->kernel, product, operands, 11);
}

static laze_status emit(laze_scheduler *scheduler, laze_group_builder *group) {
  laze_mapper mapper = laze_scheduler_mapper(scheduler, group);
  matrix_emitter emitter = {.scheduler = scheduler};
  int32_t *order = laze_arena_alloc_array(scheduler->arena, 2 * group->instance_count, sizeof *order);
  emitter.kernel = laze_arena_alloc(scheduler->arena, sizeof *emitter.kernel);
  laze_value *write = laze_arena_copy(scheduler->arena, &group->group.root, sizeof *write);
  if (!order || !emitter.kernel || !write) return laze_fail_memory(scheduler->error, "a schedule", -1);
  int32_t *buffers = order + group->instance_count, operand_buffers[2];
  laze_offset offsets[3];
  laze_loop_init(emitter.kernel, scheduler->arena);
  group->group.kernel = emitter.kernel;
  group->group.writes = write;
  group->group.write_count = 1;
  for (int64_t i = 0; i < group->instance_count; i++) order[i] = (int32_t)i;
  LAZE_TRY(laze_group_emit_buffers(scheduler, group, order, (int32_t)group->instance_count, buffers));
  for (int i = 0; i < 2; i++) {
    int32_t load = group->instances[0].operands[i];
    LAZE_TRY(laze_map_offset(&mapper, group->instances[load].map, &offsets[i]));
    operand_buffers[i] = buffers[load];
  }
  LAZE_TRY(laze_map_offset(&mapper, group->instances[0].map, &offsets[2]));
  laze_size blocks;
  LAZE_TRY(find_extents(scheduler, &group->domain, &blocks, &group->group.domain, &group->group.operations));
  int32_t rows = open_blocks(&emitter, &group->domain, blocks, group->group.domain);
  laze_dtype dtype = laze_graph_type(scheduler->graph, group->group.root)->dtype;
  emit_product(&emitter, &group->domain, offsets, operand_buffers, dtype, rows);
  laze_loop_end(emitter.kernel);
  LAZE_TRY(laze_loop_finish(emitter.kernel, scheduler->error));
  group->group.sizes = emitter.numbers.items;
  group->group.size_count = (int32_t)emitter.numbers.count;
  group->group.label = laze_op_get(laze_graph_node(scheduler->graph, group->group.root)->op)->base;
  return laze_group_emit_root(scheduler, group);
}

const laze_group_rules laze_group_matrix = {.claim = claim, .emit = emit};
