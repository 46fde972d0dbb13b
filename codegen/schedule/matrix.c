/* Groups that are a matrix product, in loop IR: blocks of rows and columns, each one MATRIX instruction.
 *
 *   for t in 0 ... batches * ceil(rows / height) * ceil(columns / 256)          RANGE: what threads share
 *     c[batch, height rows, 256 columns] = a[batch, height rows, :] . b[batch, :, 256 columns]
 *
 * Each block copies its part of the second operand once, so that tall blocks copy less. They are 72 rows high, or, of
 * more than 384 rows, up to 288, so that three or more lie below each other.
 *
 * Operands are read through their access maps, so a transposed or broadcast one is strides and no copy. An axis of the
 * second one may have digits, each with a stride of its own, so that windows are read where they lie:
 *
 *   k = (channel * 3 + place) * 3 + place'     steps of channels, of rows of the image, and of 1
 *
 * Where the first would have some, what it is of is stored.
 */
#include "codegen/order.h"
#include "codegen/schedule/bands.h"
#include "codegen/schedule/digits.h"
#include "codegen/schedule/emit.h"
#include "codegen/schedule/group.h"
#include "codegen/schedule/join.h"
#include "codegen/schedule/kind.h"
#include "ir/op.gen.h"

#include <assert.h>
#include <string.h>

/* Of a block: rows, a multiple of the lowering's tile of 6, for each so many of the result, and columns. */
enum { ROW_UNIT = 72, MOST_UNITS = 4, ROWS_OF_UNIT = 384, COLUMN_BLOCK = 256 };

/* The axes of the domain, and their letters in a laze_product. */
enum { BATCH, ROWS, COLUMNS, DEPTH, AXES };
static const char letters[] = "bmnk";

/* Component i stands for axis i. Rows are not split. */
static laze_status add_axes(laze_scheduler *scheduler, laze_group_builder *group, const laze_size extents[AXES],
                            laze_component axes[AXES]) {
  for (int i = 0; i < AXES; i++) {
    laze_term *term = laze_arena_alloc(scheduler->arena, sizeof *term);
    if (!term) return laze_scheduler_memory_error(scheduler);
    *term = (laze_term){laze_domain_add_axis(&group->domain, extents[i], -1), 1};
    group->domain.axes[term->axis].whole = i == ROWS;
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

/* The digits of all axes; *fits is false where an operand that lies like this cannot be read. */
static laze_status find_all(laze_scheduler *scheduler, laze_group_builder *group, const laze_map *map,
                            laze_digits along[AXES], bool *fits) {
  laze_mapper mapper = laze_scheduler_mapper(scheduler, group);
  laze_offset offset;
  LAZE_TRY(laze_map_offset(&mapper, map, &offset));
  *fits = offset.dynamic_count == 0 && !map->guards;
  for (int axis = 0; axis < AXES && *fits; axis++)
    LAZE_TRY(laze_map_digits(&mapper, &offset.affine, axis, &along[axis], fits));
  return LAZE_OK;
}

static bool is_plain(const laze_digits along[AXES]) {
  return along[DEPTH].count == 1 && along[COLUMNS].count == 1;
}

/* What a use of the view, whose operand it reads at `map`, comes to read, as far as that is another view of something;
 * *repeats is set where elements are in several windows. */
static laze_status look_through(laze_scheduler *scheduler, laze_group_builder *group, int32_t view,
                                const laze_map **map, bool *repeats) {
  *repeats = false;
  for (bool possible = true; possible;) {
    const laze_node *node = &scheduler->graph->nodes[view];
    laze_needs needs;
    *repeats = *repeats || (node->op == LAZE_OP__WINDOW && node->attributes[LAZE__WINDOW_SIZE].value.integer > 1);
    view = node->operands[0].node;
    node = &scheduler->graph->nodes[view];
    if (!laze_schedule_join_of(node->op)->pass_through) return LAZE_OK;
    LAZE_TRY(laze_schedule_needs(scheduler, group, node, *map, &needs, &possible));
    if (possible) *map = needs.maps[0];
  }
  return LAZE_OK;
}

/* Digits are copied into panels where they lie. Far columns are a matrix's transpose, which is copied faster by squares
 * from where it is stored; but windows, which would be stored several times over. */
enum { FAR_COLUMNS = 16 };

static bool is_near(const laze_digits *columns) {
  const laze_size apart = columns->strides[0];
  return laze_size_is_constant(apart) && apart >= 1 && apart <= FAR_COLUMNS;
}

static laze_status reads(laze_scheduler *scheduler, const laze_use *use, int32_t view, const laze_map *map,
                         bool *possible) {
  laze_digits before[AXES], along[AXES];
  bool fits, repeats;
  LAZE_TRY(find_all(scheduler, use->group, map, along, possible));
  if (!*possible || is_plain(along)) return LAZE_OK;
  *possible = use->slot == 1;
  LAZE_TRY(find_all(scheduler, use->group, use->map, before, &fits));
  if (!*possible || (fits && !is_plain(before))) return LAZE_OK; /* storing it would leave digits as well */
  LAZE_TRY(look_through(scheduler, use->group, view, &map, &repeats));
  LAZE_TRY(find_all(scheduler, use->group, map, along, possible));
  *possible = *possible && (is_near(&along[COLUMNS]) || repeats);
  return LAZE_OK;
}

typedef struct {
  laze_scheduler *scheduler;
  laze_loop_kernel *kernel;
  laze_mapper mapper;
  laze_size_numbers numbers;
  laze_digits along[3][AXES]; /* of the factors and the result */
  laze_size extents[AXES];
  int32_t batch, row, column; /* index values: where the block begins; batch -1: there is one, row -1: likewise */
} matrix_emitter;

static int32_t emit_size(matrix_emitter *emitter, laze_size size) {
  return laze_group_emit_size(emitter->scheduler, emitter->kernel, &emitter->numbers, size);
}

static int32_t emit_index(matrix_emitter *emitter, laze_loop_code code, int32_t a, int32_t b) {
  return laze_loop_index(emitter->kernel, code, a, b);
}

/* value + index along an axis that has these digits. */
static int32_t add_along(matrix_emitter *emitter, int32_t value, int32_t index, const laze_digits *along) {
  for (int32_t i = 0; i < along->count && index >= 0; i++) {
    const int32_t extent = emit_size(emitter, along->extents[i]);
    const bool last = i + 1 == along->count;
    if (along->strides[i] != 0) {
      const int32_t digit = last ? index : emit_index(emitter, LAZE_LOOP_INDEX_MOD, index, extent);
      value = emit_index(emitter, LAZE_LOOP_INDEX_ADD, value,
                         emit_index(emitter, LAZE_LOOP_INDEX_MUL, digit, emit_size(emitter, along->strides[i])));
    }
    if (!last) index = emit_index(emitter, LAZE_LOOP_INDEX_FLOOR_DIV, index, extent);
  }
  return value;
}

/* Blocks of an axis, of which the index names one: where it begins, and how much of it there is. */
static int32_t open_axis(matrix_emitter *emitter, laze_size extent, laze_size block, int32_t index, int32_t *first) {
  const int32_t height = emit_size(emitter, block);
  *first = emit_index(emitter, LAZE_LOOP_INDEX_MUL, index, height);
  return emit_index(emitter, LAZE_LOOP_INDEX_MIN,
                    emit_index(emitter, LAZE_LOOP_INDEX_SUB, emit_size(emitter, extent), *first), height);
}

typedef struct {
  laze_size rows, columns, all; /* how many there are: along an axis, and in all batches */
  laze_size height;             /* rows of one */
} block_counts;

/* Opens the loop over blocks, those of columns innermost, and finds where each begins and its extents. */
static void open_blocks(matrix_emitter *emitter, const block_counts *counts, int32_t *rows, int32_t *columns) {
  laze_loop_kernel *kernel = emitter->kernel;
  const laze_size *extents = emitter->extents;
  int32_t block = laze_loop_begin(kernel, emit_size(emitter, counts->all), LAZE_LOOP_RANGE), index = block;
  const int32_t across = emit_size(emitter, counts->columns);
  if (counts->columns != 1) {
    index = emit_index(emitter, LAZE_LOOP_INDEX_MOD, block, across);
    block = emit_index(emitter, LAZE_LOOP_INDEX_FLOOR_DIV, block, across);
  } else {
    index = laze_loop_index_constant(kernel, 0);
  }
  *columns = open_axis(emitter, extents[COLUMNS], COLUMN_BLOCK, index, &emitter->column);
  emitter->batch = emitter->row = -1;
  if (extents[BATCH] != 1) {
    const int32_t count = emit_size(emitter, counts->rows);
    emitter->batch = emit_index(emitter, LAZE_LOOP_INDEX_FLOOR_DIV, block, count);
    block = emit_index(emitter, LAZE_LOOP_INDEX_MOD, block, count);
  }
  *rows = extents[ROWS] == 1 ? laze_loop_index_constant(kernel, 1) /* known to be one block, and one row */
                             : open_axis(emitter, extents[ROWS], counts->height, block, &emitter->row);
}

/* How high blocks are: a number that each product of other rows has anew, so it is a short one. */
static laze_status find_height(laze_scheduler *scheduler, laze_size rows, laze_size *out) {
  laze_size_table *sizes = scheduler->graph->sizes;
  laze_error *error = scheduler->error;
  laze_size units;
  LAZE_TRY(laze_size_binary(sizes, LAZE_SIZE_CEIL_DIV, rows, ROWS_OF_UNIT, &units, error));
  LAZE_TRY(laze_size_binary(sizes, LAZE_SIZE_MAX, units, 1, &units, error));
  LAZE_TRY(laze_size_binary(sizes, LAZE_SIZE_MIN, units, MOST_UNITS, &units, error));
  return laze_size_binary(sizes, LAZE_SIZE_MUL, units, ROW_UNIT, out, error);
}

static laze_status find_blocks(laze_scheduler *scheduler, const laze_size extents[AXES], block_counts *blocks) {
  laze_size_table *sizes = scheduler->graph->sizes;
  laze_error *error = scheduler->error;
  LAZE_TRY(find_height(scheduler, extents[ROWS], &blocks->height));
  LAZE_TRY(laze_size_binary(sizes, LAZE_SIZE_CEIL_DIV, extents[ROWS], blocks->height, &blocks->rows, error));
  LAZE_TRY(laze_size_binary(sizes, LAZE_SIZE_CEIL_DIV, extents[COLUMNS], COLUMN_BLOCK, &blocks->columns, error));
  LAZE_TRY(laze_size_binary(sizes, LAZE_SIZE_MUL, blocks->rows, blocks->columns, &blocks->all, error));
  return laze_size_binary(sizes, LAZE_SIZE_MUL, blocks->all, extents[BATCH], &blocks->all, error);
}

static laze_status count_operations(laze_scheduler *scheduler, const laze_domain *domain, laze_size *out) {
  *out = 2;
  for (int axis = 0; axis < AXES; axis++)
    LAZE_TRY(laze_size_estimate(scheduler->graph->sizes, LAZE_SIZE_MUL, *out, domain->axes[axis].extent, out,
                                scheduler->error));
  return LAZE_OK;
}

/* Bytes for what is copied of both factors: of the first, where the lowering (copies_a) does. */
static laze_status measure_scratch(const matrix_emitter *emitter, laze_dtype dtype, laze_size height, laze_size *out) {
  laze_size_table *sizes = emitter->mapper.sizes;
  laze_error *error = emitter->scheduler->error;
  const laze_digits *rows = &emitter->along[0][ROWS];
  laze_size of_rows, units;
  *out = LAZE_PANEL_BYTES;
  if (rows->count == 1 && rows->strides[0] == 1) {
    LAZE_TRY(laze_size_binary(sizes, LAZE_SIZE_MIN, emitter->extents[ROWS], height, &of_rows, error));
    LAZE_TRY(
        laze_size_binary(sizes, LAZE_SIZE_MUL, of_rows, LAZE_PANEL_ROWS * laze_dtype_size(dtype), &of_rows, error));
    LAZE_TRY(laze_size_binary(sizes, LAZE_SIZE_ADD, of_rows, *out, out, error));
  }
  LAZE_TRY(laze_size_binary(sizes, LAZE_SIZE_MIN, emitter->extents[DEPTH], LAZE_PRODUCT_BLOCK, &units, error));
  LAZE_TRY(laze_size_binary(sizes, LAZE_SIZE_CEIL_DIV, units, LAZE_PANEL_ROWS, &units, error));
  return laze_size_binary(sizes, LAZE_SIZE_MUL, units, *out, out, error);
}

static_assert(3 * (LAZE_MAX_DIGITS - 1) <= LAZE_LOOP_PRODUCT_DIGITS, "the instruction has room for three axes' digits");

/* The digits of all that is read and written. */
static laze_status find_along(matrix_emitter *emitter, const laze_offset offsets[3]) {
  for (int i = 0; i < 3; i++)
    for (int axis = 0; axis < AXES; axis++) {
      bool fits;
      LAZE_TRY(laze_map_digits(&emitter->mapper, &offsets[i].affine, axis, &emitter->along[i][axis], &fits));
      if (!fits)
        return laze_fail(emitter->scheduler->error, LAZE_INTERNAL, "a factor or the result has too many digits");
    }
  return LAZE_OK;
}

static bool stays(const laze_digits *along) {
  for (int32_t i = 0; i < along->count; i++)
    if (along->strides[i] != 0) return false;
  return true;
}

/* Batches that have the first factor in common are columns, so that few columns of each fill registers together, and
 * the factor is read once. */
static laze_status fold_batches(matrix_emitter *emitter) {
  laze_digits columns[3];
  laze_size *extents = emitter->extents;
  if (extents[BATCH] == 1 || extents[COLUMNS] == 1 || extents[ROWS] == 0) return LAZE_OK;
  bool fits = stays(&emitter->along[0][BATCH]) && is_near(&emitter->along[1][COLUMNS]);
  for (int i = 1; i < 3 && fits; i++) {
    columns[i] = emitter->along[i][COLUMNS];
    LAZE_TRY(laze_digits_append(&emitter->mapper, &columns[i], &emitter->along[i][BATCH], &fits));
  }
  if (!fits) return LAZE_OK;
  for (int i = 1; i < 3; i++) emitter->along[i][COLUMNS] = columns[i];
  LAZE_TRY(laze_size_binary(emitter->mapper.sizes, LAZE_SIZE_MUL, extents[COLUMNS], extents[BATCH], &extents[COLUMNS],
                            emitter->scheduler->error));
  extents[BATCH] = 1;
  return LAZE_OK;
}

/* The instruction's operands while they are listed. */
typedef struct {
  int32_t items[LAZE_LOOP_PRODUCT_MOST];
  int32_t count;
} operand_list;

static void add_operand(operand_list *list, int32_t value) {
  list->items[list->count++] = value;
}

/* An extent and the stride beyond it for each further digit. */
static void add_digits(matrix_emitter *emitter, operand_list *list, const laze_digits *along) {
  for (int32_t i = 1; i < along->count; i++) {
    add_operand(list, emit_size(emitter, along->extents[i - 1]));
    add_operand(list, emit_size(emitter, along->strides[i]));
  }
}

/* Where a factor's block begins, and its strides along two axes. */
static void add_factor(matrix_emitter *emitter, operand_list *list, laze_size offset, int factor) {
  const laze_digits *along = emitter->along[factor], *first = &along[factor == 0 ? ROWS : DEPTH];
  int32_t start = add_along(emitter, emit_size(emitter, offset), emitter->batch, &along[BATCH]);
  if (factor == 0) start = add_along(emitter, start, emitter->row, first);
  add_operand(list, start);
  add_operand(list, emit_size(emitter, first->strides[0]));
  add_operand(list, emit_size(emitter, along[factor == 0 ? DEPTH : COLUMNS].strides[0]));
}

/* Where the block lies in the result, whose columns are contiguous, or have digits that say where they lie. */
static void add_result(matrix_emitter *emitter, operand_list *list, laze_size offset) {
  const laze_digits *along = emitter->along[2];
  int32_t start = add_along(emitter, emit_size(emitter, offset), emitter->batch, &along[BATCH]);
  start = add_along(emitter, start, emitter->row, &along[ROWS]);
  if (along[COLUMNS].count == 1) start = emit_index(emitter, LAZE_LOOP_INDEX_ADD, start, emitter->column);
  add_operand(list, start);
  add_operand(list, emit_size(emitter, along[ROWS].strides[0]));
}

static void emit_product(matrix_emitter *emitter, const laze_offset offsets[3], const int32_t buffers[2],
                         laze_dtype dtype, const int32_t extents[2]) {
  operand_list list = {.count = 0};
  const laze_digits *depth = &emitter->along[1][DEPTH], *columns = &emitter->along[1][COLUMNS],
                    *results = &emitter->along[2][COLUMNS];
  for (int i = 0; i < 2; i++) add_factor(emitter, &list, offsets[i].affine.offset, i);
  add_result(emitter, &list, offsets[2].affine.offset);
  add_operand(&list, extents[0]);
  add_operand(&list, extents[1]);
  add_operand(&list, emit_size(emitter, emitter->extents[DEPTH]));
  add_operand(&list, emitter->column);
  add_digits(emitter, &list, depth);
  add_digits(emitter, &list, columns);
  add_digits(emitter, &list, results);
  const laze_loop_product product = {.a = buffers[0],
                                     .b = buffers[1],
                                     .c = emitter->kernel->buffer_count - 1,
                                     .depth_digits = depth->count - 1,
                                     .column_digits = columns->count - 1,
                                     .result_digits = results->count - 1};
  laze_loop_instruction made = {
      .code = LAZE_LOOP_MATRIX, .dtype = (uint8_t)dtype, .imm = laze_loop_pack_product(&product)};
  laze_loop_emit(emitter->kernel, made, list.items, list.count);
}

/* Rows of the first factor, where it has strides and is not the second one as well, make those of the result. */
static laze_status set_rows(matrix_emitter *emitter, laze_group *group, const block_counts *blocks,
                            const laze_offset offsets[3], const int32_t buffers[2]) {
  const laze_digits *first = emitter->along[0], *result = emitter->along[2];
  laze_row_strides strides[3] = {{0, 0}, {0, 0}, {0, 0}};
  const bool plain = first[BATCH].count == 1 && first[ROWS].count == 1 && offsets[0].affine.offset == 0;
  if (result[COLUMNS].count > 1 || result[BATCH].count > 1 || result[ROWS].count > 1) return LAZE_OK;
  if (plain && buffers[0] != buffers[1])
    strides[buffers[0]] = (laze_row_strides){first[BATCH].strides[0], first[ROWS].strides[0]};
  strides[group->read_count] = (laze_row_strides){result[BATCH].strides[0], result[ROWS].strides[0]};
  const laze_step_rows rows = {.batches = emitter->extents[BATCH],
                               .count = emitter->extents[ROWS],
                               .height = blocks->height,
                               .blocks = blocks->columns,
                               .buffers = strides};
  return laze_group_set_rows(emitter->scheduler, group, &rows);
}

static laze_status emit(laze_scheduler *scheduler, laze_group_builder *group) {
  laze_mapper mapper = laze_scheduler_mapper(scheduler, group);
  matrix_emitter emitter = {.scheduler = scheduler, .mapper = mapper};
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
  block_counts blocks;
  int32_t extents[2];
  for (int axis = 0; axis < AXES; axis++) emitter.extents[axis] = group->domain.axes[axis].extent;
  LAZE_TRY(find_along(&emitter, offsets));
  LAZE_TRY(fold_batches(&emitter));
  LAZE_TRY(find_blocks(scheduler, emitter.extents, &blocks));
  LAZE_TRY(count_operations(scheduler, &group->domain, &group->group.operations));
  group->group.domain = blocks.all;
  open_blocks(&emitter, &blocks, &extents[0], &extents[1]);
  laze_dtype dtype = laze_graph_type(scheduler->graph, group->group.root)->dtype;
  LAZE_TRY(measure_scratch(&emitter, dtype, blocks.height, &group->group.scratch));
  emit_product(&emitter, offsets, operand_buffers, dtype, extents);
  laze_loop_end(emitter.kernel);
  LAZE_TRY(laze_loop_finish(emitter.kernel, scheduler->error));
  LAZE_TRY(set_rows(&emitter, &group->group, &blocks, offsets, operand_buffers));
  group->group.sizes = emitter.numbers.items;
  group->group.size_count = (int32_t)emitter.numbers.count;
  group->group.label = laze_op_get(laze_graph_node(scheduler->graph, group->group.root)->op)->base;
  return laze_group_emit_root(scheduler, group);
}

const laze_group_rules laze_group_matrix = {.claim = claim, .reads = reads, .emit = emit};
