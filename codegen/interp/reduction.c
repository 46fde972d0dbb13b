/* Reductions in the named orders of codegen/order.h, which the sizes of the operand alone decide:
 *
 *   axes of size 1 are dropped and neighbours of the same kind (reduced or kept) merged into runs;
 *   the last run is reduced:  lanes16 along it, for each element of the kept runs, earlier reduced runs around it
 *   otherwise:                rows along the last reduced run, all elements of the last kept run side by side
 *
 * Elements are converted to the dtype of states before they are combined.
 */
#include "codegen/interp/unit.h"

#include "codegen/order.h"

#include <string.h>

enum { ELEMENT_SIZE = 8, CHUNK = 64 };

typedef struct {
  int64_t extent, stride; /* of elements */
  bool reduced;
} axis_run;

typedef struct {
  int count;
  int64_t extents[LAZE_MAX_RANK], strides[LAZE_MAX_RANK], index[LAZE_MAX_RANK];
  int64_t offset; /* in elements */
} odometer;

typedef struct {
  const interp_node *node;
  interp_tensor self, result;
  laze_eval_function convert, finish; /* an element to a state, and a state to the result */
  int64_t size;                       /* of a state, in bytes */
  char initial[ELEMENT_SIZE];
  axis_run runs[LAZE_MAX_RANK + 1];
  int run_count;
} reduction;

/* States that are combined side by side, in blocks whose totals make a tree: level k holds the totals of 2^k blocks,
 * in use where `folded` has bit k. */
typedef struct {
  int64_t count, folded;
  _Alignas(16) char block[CHUNK * ELEMENT_SIZE];
  char levels[LAZE_ORDER_LEVELS][CHUNK * ELEMENT_SIZE];
} block_tree;

/* Starts at the first position; false when there is none. */
static bool odometer_begin(odometer *o) {
  o->offset = 0;
  for (int i = 0; i < o->count; i++) {
    o->index[i] = 0;
    if (o->extents[i] == 0) return false;
  }
  return true;
}

static bool odometer_next(odometer *o) {
  for (int i = o->count - 1; i >= 0; i--) {
    o->offset += o->strides[i];
    if (++o->index[i] < o->extents[i]) return true;
    o->offset -= o->strides[i] * o->extents[i];
    o->index[i] = 0;
  }
  return false;
}

/* The runs of one kind among the first `count`. */
static odometer runs_of_kind(const reduction *r, int count, bool reduced) {
  odometer o = {0};
  for (int i = 0; i < count; i++) {
    if (r->runs[i].reduced != reduced) continue;
    o.extents[o.count] = r->runs[i].extent;
    o.strides[o.count++] = r->runs[i].stride;
  }
  return o;
}

static bool names_axis(const laze_attribute *dim, int axis, int rank) {
  if (!dim->present || dim->count == 0) return true; /* none named: all */
  for (int32_t i = 0; i < dim->count; i++)
    if (dim->value.items[i] == axis || dim->value.items[i] + rank == axis) return true;
  return false;
}

static void find_runs(reduction *r) {
  const laze_attribute *dim = &r->node->attributes[laze_op_argument(r->node->info, "dim")->position];
  int64_t stride = interp_elements(&r->self);
  bool empty = stride == 0; /* then nothing is reduced, and the product of the other reduced sizes may not fit */
  for (int axis = 0; axis < r->self.rank; axis++) {
    int64_t extent = r->self.dims[axis];
    bool reduced = names_axis(dim, axis, r->self.rank);
    if (empty && reduced) extent = 0;
    if (extent != 0) stride /= extent;
    if (extent == 1) continue;
    axis_run *last = r->run_count ? &r->runs[r->run_count - 1] : NULL;
    if (last && last->reduced == reduced)
      *last = (axis_run){last->extent * extent, stride, reduced};
    else
      r->runs[r->run_count++] = (axis_run){extent, stride, reduced};
  }
}

static void fill(const reduction *r, char *states, int64_t count) {
  for (int64_t i = 0; i < count; i++) memcpy(states + i * r->size, r->initial, (size_t)r->size);
}

/* states[i] = combine(states[i], others[i]) */
static void combine(const reduction *r, char *states, const char *others, int64_t count) {
  const char *operands[] = {states, others};
  const int64_t steps[] = {r->size, r->size};
  r->node->eval(count, operands, steps, states, r->size);
}

/* `count` elements next to each other, from `offset` on, combined into states. */
static void combine_elements(const reduction *r, char *states, int64_t offset, int64_t count) {
  _Alignas(16) char values[CHUNK * ELEMENT_SIZE];
  int64_t size = laze_dtype_size(r->self.dtype);
  const char *source = r->self.data + offset * size;
  r->convert(count, &source, &size, values, r->size);
  combine(r, states, values, count);
}

static void open_tree(const reduction *r, block_tree *tree, int64_t count) {
  tree->count = count;
  tree->folded = 0;
  fill(r, tree->block, count);
}

/* Counts the block in, as a binary counter carries, and starts the next. */
static void fold(const reduction *r, block_tree *tree) {
  int level = 0;
  for (; tree->folded >> level & 1; level++) {
    combine(r, tree->levels[level], tree->block, tree->count);
    memcpy(tree->block, tree->levels[level], (size_t)(tree->count * r->size));
  }
  memcpy(tree->levels[level], tree->block, (size_t)(tree->count * r->size));
  tree->folded++;
  fill(r, tree->block, tree->count);
}

/* The states of all blocks. */
static char *close_tree(const reduction *r, block_tree *tree) {
  char *total = tree->block;
  for (int level = 0; level < LAZE_ORDER_LEVELS; level++) {
    if (!(tree->folded >> level & 1)) continue;
    combine(r, tree->levels[level], total, tree->count);
    total = tree->levels[level];
  }
  return total;
}

static void put_results(const reduction *r, const char *states, int64_t count, char *out) {
  r->finish(count, &states, &r->size, out, laze_dtype_size(r->result.dtype));
}

/* One element of the result: 16 lanes along the last run, for every position of the reduced runs before it. */
static void reduce_lanes(const reduction *r, int64_t offset, char *out) {
  block_tree tree;
  const axis_run *last = &r->runs[r->run_count - 1];
  odometer around = runs_of_kind(r, r->run_count - 1, true);
  int64_t place = 0;
  open_tree(r, &tree, LAZE_ORDER_LANES);
  bool more = odometer_begin(&around);
  for (; more; more = odometer_next(&around)) {
    for (int64_t at = 0; at < last->extent; at += LAZE_ORDER_LANES, place += LAZE_ORDER_LANES) {
      int64_t left = last->extent - at;
      if (place / LAZE_ORDER_LANES_BLOCK > tree.folded) fold(r, &tree);
      combine_elements(r, tree.block, offset + around.offset + at, left < LAZE_ORDER_LANES ? left : LAZE_ORDER_LANES);
    }
    place += place % LAZE_ORDER_LANES_RUN; /* half a step at most */
  }
  char *total = close_tree(r, &tree);
  for (int64_t half = LAZE_ORDER_LANES / 2; half > 0; half /= 2) combine(r, total, total + half * r->size, half);
  put_results(r, total, 1, out);
}

/* `count` neighbouring elements of the result: along the last reduced run (the last but one), or of one element each
 * where nothing is reduced. */
static void reduce_rows(const reduction *r, int64_t offset, int64_t count, char *out) {
  block_tree tree;
  axis_run rows = r->run_count > 1 ? r->runs[r->run_count - 2] : (axis_run){1, 0, true};
  odometer around = runs_of_kind(r, r->run_count > 1 ? r->run_count - 2 : 0, true);
  int64_t place = 0;
  open_tree(r, &tree, count);
  bool more = odometer_begin(&around);
  for (; more; more = odometer_next(&around))
    for (int64_t row = 0; row < rows.extent; row++, place++) {
      if (place / LAZE_ORDER_ROWS_BLOCK > tree.folded) fold(r, &tree);
      combine_elements(r, tree.block, offset + around.offset + row * rows.stride, count);
    }
  put_results(r, close_tree(r, &tree), count, out);
}

void interp_execute_reduction(const interp_run *run, const interp_node *node) {
  reduction r = {.node = node, .self = interp_operand(run, node, 0), .result = interp_result(run, node, 0)};
  if (interp_elements(&r.result) == 0) return;
  laze_dtype state = laze_reduction_state(node->info, r.result.dtype);
  r.convert = laze_eval_find_conversion(r.self.dtype, state);
  r.finish = laze_eval_find_conversion(state, r.result.dtype);
  r.size = laze_dtype_size(state);
  laze_scalar_store(laze_initial_value(node->info->initial, state), state, r.initial, 0);
  find_runs(&r);
  bool lanes = r.run_count > 0 && r.runs[r.run_count - 1].reduced;
  int64_t row = lanes || r.run_count == 0 ? 1 : r.runs[r.run_count - 1].extent;
  odometer kept = runs_of_kind(&r, r.run_count > 0 ? r.run_count - 1 : 0, false);
  char *out = r.result.data;
  bool more = odometer_begin(&kept);
  for (; more; more = odometer_next(&kept)) {
    for (int64_t at = 0; at < row; at += CHUNK) {
      int64_t count = row - at < CHUNK ? row - at : CHUNK;
      if (lanes)
        reduce_lanes(&r, kept.offset, out);
      else
        reduce_rows(&r, kept.offset + at, count, out);
      out += count * laze_dtype_size(r.result.dtype);
    }
  }
}
