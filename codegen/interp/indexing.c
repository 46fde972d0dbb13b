/* Operators that read and write at computed places. An index out of range is noted, and 0 read instead, where there is
 * one. */
#include "codegen/interp/unit.h"

#include "codegen/combine.h"
#include "codegen/interp/walk.h"
#include "ir/op.gen.h"

#include <string.h>

static int64_t load_index(const interp_tensor *index, int64_t position) {
  return laze_scalar_load(index->dtype, index->data, position).value.integer;
}

/* A valid index, wrapped once from the back, for `length` elements from there on; -1 when there is none at all.
 * `position` is where it was read. */
static int64_t check_range(laze_kernel_failure *failure, int64_t index, int64_t size, int64_t length,
                           int64_t position) {
  int64_t wrapped = index < 0 ? index + size : index;
  if (wrapped >= 0 && wrapped <= size - length) return wrapped;
  if (position < failure->position) *failure = (laze_kernel_failure){position, index, size, length};
  return size > 0 ? 0 : -1;
}

static int64_t check_index(laze_kernel_failure *failure, int64_t index, int64_t size, int64_t position) {
  return check_range(failure, index, size, 1, position);
}

/* The product of dims [begin, end). */
static int64_t extent(const int64_t *dims, int begin, int end) {
  uint64_t product = 1; /* may wrap where another size is 0 */
  for (int i = begin; i < end; i++) product *= (uint64_t)dims[i];
  return (int64_t)product;
}

static void move(char *to, const char *from, int64_t bytes) {
  if (from)
    memcpy(to, from, (size_t)bytes);
  else
    memset(to, 0, (size_t)bytes);
}

/* result[o, i, k] = self[o, index[i], k] */
void interp_execute_index_select(const interp_run *run, const interp_node *node) {
  interp_tensor self = interp_operand(run, node, 0), index = interp_operand(run, node, 1);
  interp_tensor result = interp_result(run, node, 0);
  laze_kernel_failure *failure = &run->failures[node->check];
  int axis = interp_axis(node, LAZE_INDEX_SELECT_DIM, self.rank);
  if (interp_elements(&result) == 0) return;
  int64_t outer = extent(self.dims, 0, axis), inner = extent(self.dims, axis + 1, self.rank);
  int64_t size = self.rank ? self.dims[axis] : 1, count = interp_elements(&index);
  int64_t bytes = inner * laze_dtype_size(self.dtype);
  for (int64_t o = 0; o < outer && bytes > 0; o++) {
    for (int64_t i = 0; i < count; i++) {
      int64_t row = o * count + i, from = check_index(failure, load_index(&index, i), size, i);
      move(result.data + row * bytes, from < 0 ? NULL : self.data + (o * size + from) * bytes, bytes);
    }
  }
}

/* result[p] = self[p, but index[p] along the axis]; other sizes of index may be smaller than those of self. */
void interp_execute_gather(const interp_run *run, const interp_node *node) {
  interp_tensor self = interp_operand(run, node, 0), index = interp_operand(run, node, 1);
  interp_tensor result = interp_result(run, node, 0);
  laze_kernel_failure *failure = &run->failures[node->check];
  int axis = interp_axis(node, LAZE_GATHER_DIM, self.rank);
  int64_t bytes = laze_dtype_size(self.dtype), count = interp_elements(&index);
  int64_t strides[LAZE_MAX_RANK], size = self.rank ? self.dims[axis] : 1;
  interp_row_major(self.dims, self.rank, 1, strides);
  for (int64_t position = 0; position < count; position++) {
    int64_t from = check_index(failure, load_index(&index, position), size, position), rest = position;
    int64_t offset = self.rank ? from * strides[axis] : 0;
    for (int i = index.rank - 1; i >= 0; i--) {
      if (i != axis) offset += rest % index.dims[i] * strides[i];
      rest /= index.dims[i];
    }
    move(result.data + position * bytes, from < 0 ? NULL : self.data + offset * bytes, bytes);
  }
}

/* Both sides of a slice of an axis, whole[o, start + i, k] and slice[o, i, k], copied one way or the other. The slice
 * has an element. */
static void copy_slice(const interp_run *run, const interp_node *node, int axis, const interp_tensor *start,
                       const interp_tensor *whole, const interp_tensor *slice, bool update) {
  int64_t outer = extent(whole->dims, 0, axis), inner = extent(whole->dims, axis + 1, whole->rank);
  int64_t size = whole->dims[axis], length = slice->dims[axis], bytes = inner * laze_dtype_size(whole->dtype);
  int64_t from = check_range(&run->failures[node->check], load_index(start, 0), size, length, 0);
  for (int64_t o = 0; o < outer; o++) {
    char *part = whole->data + (o * size + from) * bytes, *piece = slice->data + o * length * bytes;
    memcpy(update ? part : piece, update ? piece : part, (size_t)(length * bytes));
  }
}

void interp_execute_dynamic_slice(const interp_run *run, const interp_node *node) {
  interp_tensor self = interp_operand(run, node, 0), start = interp_operand(run, node, 1);
  interp_tensor result = interp_result(run, node, 0);
  if (interp_elements(&result) == 0) return;
  copy_slice(run, node, interp_axis(node, LAZE_DYNAMIC_SLICE_DIM, self.rank), &start, &self, &result, false);
}

void interp_execute_dynamic_update(const interp_run *run, const interp_node *node) {
  interp_tensor self = interp_operand(run, node, 0), source = interp_operand(run, node, 1);
  interp_tensor start = interp_operand(run, node, 2), result = interp_result(run, node, 0);
  if (interp_elements(&result) == 0) return;
  memcpy(result.data, self.data, (size_t)interp_bytes(&self));
  if (interp_elements(&source) == 0) return;
  copy_slice(run, node, interp_axis(node, LAZE_DYNAMIC_UPDATE_DIM, self.rank), &start, &result, &source, true);
}

/* Joins an element with the one at its place; where no operator does it takes that place. */
typedef struct {
  laze_eval_function eval;
  laze_dtype dtype, computed;
  int64_t bytes;
} placing;

static placing find_placing(const interp_tensor *self, const char *reduce) {
  laze_op op = laze_combine_operator(reduce);
  laze_dtype computed = laze_dtype_computes(self->dtype);
  return (placing){.eval = op == LAZE_OP_NONE ? NULL : laze_eval_find(op, computed),
                   .dtype = self->dtype,
                   .computed = computed,
                   .bytes = laze_dtype_size(self->dtype)};
}

/* One element that is not computed in its own dtype. */
static void put_rounded(const placing *how, char *to, const char *from) {
  double wide[2] = {0};
  char *const places[2] = {(char *)&wide[0], (char *)&wide[1]};
  const char *const operands[2] = {places[0], places[1]}, *const old = to;
  const int64_t none[2] = {0};
  laze_eval_find_conversion(how->dtype, how->computed)(1, &old, none, places[0], 0);
  laze_eval_find_conversion(how->dtype, how->computed)(1, &from, none, places[1], 0);
  how->eval(1, operands, none, places[0], 0);
  laze_eval_find_conversion(how->computed, how->dtype)(1, operands, none, to, 0);
}

static void put(const placing *how, char *to, const char *from, int64_t count) {
  const char *operands[2] = {to, from};
  const int64_t steps[2] = {how->bytes, how->bytes};
  if (how->eval && how->computed != how->dtype)
    for (int64_t i = 0; i < count; i++) put_rounded(how, to + i * how->bytes, from + i * how->bytes);
  else if (how->eval)
    how->eval(count, operands, steps, to, how->bytes);
  else
    memcpy(to, from, (size_t)(count * how->bytes));
}

/* result[p, but index[p] along the axis] = src[p], for each element p of the index in its order */
void interp_execute_scatter(const interp_run *run, const interp_node *node) {
  interp_tensor self = interp_operand(run, node, 0), index = interp_operand(run, node, 1);
  interp_tensor src = interp_operand(run, node, 2), result = interp_result(run, node, 0);
  int axis = interp_axis(node, LAZE__SCATTER_DIM, self.rank);
  placing how = find_placing(&self, node->attributes[LAZE__SCATTER_REDUCE].value.string);
  int64_t strides[LAZE_MAX_RANK], count = interp_elements(&index);
  interp_row_major(self.dims, self.rank, how.bytes, strides);
  if (interp_elements(&self) > 0) memcpy(result.data, self.data, (size_t)interp_bytes(&self));
  for (int64_t position = 0; position < count; position++) {
    int64_t to = check_index(&run->failures[node->check], load_index(&index, position), self.dims[axis], position);
    int64_t offset = to * strides[axis], rest = position;
    for (int i = index.rank - 1; i >= 0; i--) {
      if (i != axis) offset += rest % index.dims[i] * strides[i];
      rest /= index.dims[i];
    }
    if (to >= 0) put(&how, result.data + offset, src.data + position * how.bytes, 1);
  }
}

/* result[o, index[i], k] = source[o, i, k], for each i in order */
void interp_execute_index_update(const interp_run *run, const interp_node *node) {
  interp_tensor self = interp_operand(run, node, 0), index = interp_operand(run, node, 1);
  interp_tensor source = interp_operand(run, node, 2), result = interp_result(run, node, 0);
  int axis = interp_axis(node, LAZE__INDEX_UPDATE_DIM, self.rank);
  placing how = find_placing(&self, node->attributes[LAZE__INDEX_UPDATE_REDUCE].value.string);
  int64_t outer = extent(self.dims, 0, axis), inner = extent(self.dims, axis + 1, self.rank);
  int64_t size = self.dims[axis], count = interp_elements(&index), bytes = inner * how.bytes;
  if (interp_elements(&self) > 0) memcpy(result.data, self.data, (size_t)interp_bytes(&self));
  if (interp_elements(&source) == 0) return;
  for (int64_t o = 0; o < outer; o++)
    for (int64_t i = 0; i < count; i++) {
      int64_t to = check_index(&run->failures[node->check], load_index(&index, i), size, i);
      if (to >= 0) put(&how, result.data + (o * size + to) * bytes, source.data + (o * count + i) * bytes, inner);
    }
}
