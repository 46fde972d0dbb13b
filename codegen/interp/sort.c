/* Sorting, as a heap of places: the last of them in order stands at the top, and goes to the back again and again.
 *
 *   self 3 1 2    places 0 1 2  ──>  1 2 0    values 1 2 3
 *
 * Where the first elements of the order are wanted alone, the heap has as many: what comes before its top takes that
 * one's place. Of equal elements the one that was behind comes later, so that no two are equal and the order is one
 * only.
 */
#include "codegen/interp/unit.h"

#include "ir/op.gen.h"

#include <math.h>
#include <string.h>

/* A row: elements `first`, `first + stride`, ... of the tensor, and places of those that are kept from `kept_first` on.
 */
typedef struct {
  const interp_tensor *self;
  int64_t *places;
  int64_t first, count, kept_first, kept, stride;
  bool descending;
} sort_row;

/* -1, 0 or 1; NaNs are equal and above all numbers. */
static int compare(laze_scalar a, laze_scalar b) {
  if (a.dtype == LAZE_U64 || b.dtype == LAZE_U64) { /* above all that is an I64 */
    uint64_t x = (uint64_t)a.value.integer, y = (uint64_t)b.value.integer;
    return (x > y) - (x < y);
  }
  if (a.dtype != LAZE_F64) return (a.value.integer > b.value.integer) - (a.value.integer < b.value.integer);
  if (isnan(a.value.real) || isnan(b.value.real)) return !!isnan(a.value.real) - !!isnan(b.value.real);
  return (a.value.real > b.value.real) - (a.value.real < b.value.real);
}

static int64_t *place_at(const sort_row *row, int64_t i) {
  return &row->places[row->kept_first + i * row->stride];
}

static bool comes_later(const sort_row *row, int64_t a, int64_t b) {
  const interp_tensor *self = row->self;
  int order = compare(laze_scalar_load(self->dtype, self->data, row->first + a * row->stride),
                      laze_scalar_load(self->dtype, self->data, row->first + b * row->stride));
  if (order == 0) return a > b;
  return row->descending ? order < 0 : order > 0;
}

/* Puts a place into the heap of `count`, from `at` downwards. */
static void sift(const sort_row *row, int64_t place, int64_t at, int64_t count) {
  for (int64_t below; (below = 2 * at + 1) < count; at = below) {
    if (below + 1 < count && comes_later(row, *place_at(row, below + 1), *place_at(row, below))) below++;
    if (!comes_later(row, *place_at(row, below), place)) break;
    *place_at(row, at) = *place_at(row, below);
  }
  *place_at(row, at) = place;
}

static void sort(const sort_row *row) {
  for (int64_t i = 0; i < row->kept; i++) *place_at(row, i) = i;
  for (int64_t i = row->kept / 2; i-- > 0;) sift(row, *place_at(row, i), i, row->kept);
  for (int64_t i = row->kept; i < row->count; i++)
    if (comes_later(row, *place_at(row, 0), i)) sift(row, i, 0, row->kept);
  for (int64_t count = row->kept; count-- > 1;) {
    int64_t moved = *place_at(row, count);
    *place_at(row, count) = *place_at(row, 0);
    sift(row, moved, 0, count);
  }
}

/* How many elements of a row are kept is what the results have room for. */
static void sort_rows(const interp_run *run, const interp_node *node, int64_t dim, bool descending) {
  interp_tensor self = interp_operand(run, node, 0), values = interp_result(run, node, 0);
  interp_tensor places = interp_result(run, node, 1);
  int axis = (int)(dim < 0 ? dim + self.rank : dim);
  int64_t total = interp_elements(&self), size = laze_dtype_size(self.dtype);
  sort_row row = {.self = &self,
                  .places = (int64_t *)(void *)places.data,
                  .count = self.rank > 0 ? self.dims[axis] : 1,
                  .kept = self.rank > 0 ? places.dims[axis] : 1,
                  .stride = 1,
                  .descending = descending};
  if (total == 0 || row.kept == 0) return;
  for (int i = axis + 1; i < self.rank; i++) row.stride *= self.dims[i];
  for (int64_t i = 0; i < total / row.count; i++) {
    row.first = i / row.stride * row.stride * row.count + i % row.stride;
    row.kept_first = i / row.stride * row.stride * row.kept + i % row.stride;
    sort(&row);
    for (int64_t k = 0; k < row.kept; k++) {
      int64_t from = row.first + *place_at(&row, k) * row.stride, to = row.kept_first + k * row.stride;
      memcpy(values.data + to * size, self.data + from * size, (size_t)size);
    }
  }
}

void interp_execute_sort(const interp_run *run, const interp_node *node) {
  sort_rows(run, node, node->attributes[LAZE_SORT_DIM].value.integer,
            node->attributes[LAZE_SORT_DESCENDING].value.integer != 0);
}

void interp_execute_sorted_head(const interp_run *run, const interp_node *node) {
  sort_rows(run, node, node->attributes[LAZE__SORTED_HEAD_DIM].value.integer,
            node->attributes[LAZE__SORTED_HEAD_DESCENDING].value.integer != 0);
}
