/* Views of a value by sizes and strides, as PyTorch has them, in operators that a graph tells apart:
 *
 *   f32[4,6], row-major ── sizes 2, 3 strides 12, 1 from 6 on ──> slice of rows, from 1, every second; slice of columns
 *                       ── sizes 6, 4 strides 1, 6            ──> permute
 *                       ── sizes 3, 3 strides 1, 1            ──> as_strided: elements overlap
 */
#include "binding.h"

enum { MAX_PARTS = 2 * LAZE_PYTHON_MAX_RANK + 2 };

/* The next step of a view: takes the reference of what it begins at, unless that is the cell's own value. */
static laze_tensor *follow(laze_tensor *from, const laze_tensor *kept, const char *name, laze_argument *arguments,
                           int32_t count) {
  laze_tensor *made = NULL;
  arguments[0] = (laze_argument){.kind = LAZE_PASS_TENSOR, .value.tensor = from};
  laze_call_by_name(NULL, name, arguments, count, &made, 1);
  if (from != kept) laze_tensor_release(from);
  return laze_tensor_take(made);
}

static laze_argument pass_integer(int64_t integer) {
  return (laze_argument){.kind = LAZE_PASS_SCALAR, .value.scalar = laze_scalar_integer(integer)};
}

static laze_tensor *follow_list(laze_tensor *from, const laze_tensor *kept, const char *name, const int64_t *items,
                                int32_t count) {
  laze_argument arguments[2] = {[1] = {.kind = LAZE_PASS_INTEGERS, .count = count, .value.integers = items}};
  return follow(from, kept, name, arguments, 2);
}

/* A memory cut into dims, and which part of each a tensor is: `parts` are row-major, the tensor's dim `dim` goes along
 * part `part_of[dim]` (-1: along none). */
typedef struct {
  int32_t count, part_of[LAZE_PYTHON_MAX_RANK];
  int64_t sizes[MAX_PARTS], steps[MAX_PARTS]; /* elements of a part, and from one of its places to the next */
  int64_t starts[MAX_PARTS], taken[MAX_PARTS], every[MAX_PARTS];
} cut;

/* Whether the tensor is a box of these parts. */
static bool fits(cut *self, const laze_python_layout *wanted) {
  int64_t step = 1;
  for (int32_t part = self->count - 1; part >= 0; part--) {
    self->steps[part] = step;
    self->starts[part] = wanted->offset / step % (self->sizes[part] ? self->sizes[part] : 1);
    self->taken[part] = self->every[part] = 1;
    step *= self->sizes[part];
  }
  bool used[MAX_PARTS] = {false};
  for (int32_t dim = 0; dim < wanted->rank; dim++) {
    const int64_t size = wanted->sizes[dim], stride = wanted->strides[dim];
    self->part_of[dim] = -1;
    if (size == 1 || stride == 0) continue;
    int32_t part = self->count - 1;
    while (part >= 0 && (self->sizes[part] == 1 || stride >= self->steps[part] * self->sizes[part])) part--;
    if (part < 0 || used[part] || stride % self->steps[part] != 0) return false;
    self->every[part] = stride / self->steps[part];
    self->taken[part] = size;
    if (self->starts[part] + (size - 1) * self->every[part] >= self->sizes[part]) return false;
    used[part] = true;
    self->part_of[dim] = part;
  }
  return wanted->offset < step;
}

/* Parts that the strides say: [n/s0, s0/s1, ...]. */
static bool cut_by_strides(cut *self, const laze_python_layout *wanted, int64_t elements) {
  int64_t before = elements, last = -1;
  self->count = 0;
  while (before != 1) {
    int64_t next = 1; /* the widest stride below the last one */
    for (int32_t dim = 0; dim < wanted->rank; dim++)
      if (wanted->sizes[dim] != 1 && wanted->strides[dim] > next && (last < 0 || wanted->strides[dim] < last))
        next = wanted->strides[dim];
    if (before % next != 0) return false;
    self->sizes[self->count++] = before / next;
    before = last = next;
  }
  return fits(self, wanted);
}

/* The parts of a value as a view: slices, the order of dims, those of one place, and those without steps. */
static laze_tensor *look_at_parts(laze_tensor *from, const laze_tensor *kept, const cut *parts,
                                  const laze_python_layout *wanted) {
  int64_t order[MAX_PARTS], sizes[LAZE_PYTHON_MAX_RANK];
  bool placed[MAX_PARTS] = {false}, in_order = true, plain = true, whole = true;
  int32_t count = 0;
  for (int32_t part = 0; part < parts->count; part++) {
    const int64_t end = parts->starts[part] + (parts->taken[part] - 1) * parts->every[part] + 1;
    if (parts->taken[part] == parts->sizes[part]) continue;
    laze_argument slice[5] = {[1] = pass_integer(part),
                              [2] = pass_integer(parts->starts[part]),
                              [3] = pass_integer(end),
                              [4] = pass_integer(parts->every[part])};
    from = follow(from, kept, "slice.Tensor", slice, 5);
  }
  for (int32_t dim = 0; dim < wanted->rank; dim++) {
    if (parts->part_of[dim] >= 0) placed[order[count++] = parts->part_of[dim]] = true;
    sizes[dim] = parts->part_of[dim] >= 0 ? wanted->sizes[dim] : 1;
    plain = plain && parts->part_of[dim] == dim;
    whole = whole && sizes[dim] == wanted->sizes[dim];
  }
  for (int32_t part = 0; part < parts->count; part++)
    if (!placed[part]) order[count++] = part;
  for (int32_t i = 0; i < count; i++) in_order = in_order && order[i] == i;
  if (!in_order) from = follow_list(from, kept, "permute", order, count);
  plain = parts->count == wanted->rank && in_order && plain;
  if (!plain) from = follow_list(from, kept, "reshape", sizes, wanted->rank);
  return whole ? from : follow_list(from, kept, "expand", wanted->sizes, wanted->rank);
}

laze_tensor *laze_python_view(laze_tensor *value, const laze_python_layout *wanted) {
  const int32_t rank = laze_tensor_rank(value);
  int64_t elements = 1, own = laze_tensor_elements(value);
  bool same = rank == wanted->rank, row_major = wanted->offset == 0;
  for (int32_t dim = wanted->rank - 1; dim >= 0; dim--) {
    row_major = row_major && (wanted->sizes[dim] == 1 || wanted->strides[dim] == elements);
    elements *= wanted->sizes[dim];
    same = same && laze_tensor_size(value, dim) == wanted->sizes[dim];
  }
  if (same && row_major) return value;
  if (row_major && elements == own) return follow_list(value, value, "reshape", wanted->sizes, wanted->rank);
  cut parts = {.count = rank};
  for (int32_t axis = 0; axis < rank; axis++) parts.sizes[axis] = laze_tensor_size(value, axis);
  if (fits(&parts, wanted)) return look_at_parts(value, value, &parts, wanted);
  if (cut_by_strides(&parts, wanted, own))
    return look_at_parts(follow_list(value, value, "reshape", parts.sizes, parts.count), value, &parts, wanted);
  laze_argument strided[4] = {
      [1] = {.kind = LAZE_PASS_INTEGERS, .count = wanted->rank, .value.integers = wanted->sizes},
      [2] = {.kind = LAZE_PASS_INTEGERS, .count = wanted->rank, .value.integers = wanted->strides},
      [3] = pass_integer(wanted->offset)};
  return follow(value, value, "as_strided", strided, 4);
}

laze_tensor *laze_python_view_bytes(laze_tensor *value, laze_dtype dtype) {
  const int64_t all = -1;
  laze_tensor *flat = follow_list(value, value, "reshape", &all, 1);
  laze_argument arguments[2] = {[1] = {.kind = LAZE_PASS_DTYPE, .value.integer = dtype}};
  return follow(flat, NULL, "view.dtype", arguments, 2);
}
