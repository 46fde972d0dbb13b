#include "tests/property/strided_model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int64_t model_elements(const model_tensor *tensor) {
  int64_t elements = 1;
  for (int i = 0; i < tensor->rank; i++) elements *= tensor->sizes[i];
  return elements;
}

int model_parts(const model_tensor *tensor) {
  return tensor->dtype == MODEL_C64 ? 2 : 1;
}

model_tensor model_create(model_dtype dtype, int rank, const int64_t *sizes) {
  model_tensor tensor = {.dtype = dtype, .rank = rank};
  int64_t stride = 1;
  for (int i = rank; i-- > 0;) {
    tensor.sizes[i] = sizes[i];
    tensor.strides[i] = stride;
    stride *= sizes[i];
  }
  const int64_t count = model_elements(&tensor) * model_parts(&tensor);
  tensor.memory = calloc(1, sizeof *tensor.memory + (size_t)count * sizeof(double));
  tensor.memory->references = 1;
  tensor.memory->count = (int32_t)count;
  return tensor;
}

model_tensor model_retain(const model_tensor *tensor) {
  tensor->memory->references++;
  return *tensor;
}

void model_release(model_tensor *tensor) {
  if (tensor->memory && --tensor->memory->references == 0) free(tensor->memory);
  tensor->memory = NULL;
}

/* The place of the index-th element in row-major order. */
static int64_t place_of(const model_tensor *tensor, int64_t index) {
  int64_t place = tensor->offset;
  for (int i = tensor->rank; i-- > 0;) {
    place += index % tensor->sizes[i] * tensor->strides[i];
    index /= tensor->sizes[i];
  }
  return place;
}

void model_read(const model_tensor *tensor, double *parts) {
  const int each = model_parts(tensor);
  for (int64_t i = 0; i < model_elements(tensor); i++)
    for (int k = 0; k < each; k++) parts[i * each + k] = tensor->memory->parts[place_of(tensor, i) * each + k];
}

bool model_is_injective(const model_tensor *tensor) {
  const int64_t elements = model_elements(tensor);
  for (int64_t i = 0; i < elements; i++)
    for (int64_t k = 0; k < i; k++)
      if (place_of(tensor, i) == place_of(tensor, k)) return false;
  return true;
}

bool model_is_contiguous(const model_tensor *tensor) {
  for (int64_t i = 0; i < model_elements(tensor); i++)
    if (place_of(tensor, i) != tensor->offset + i) return false;
  return true;
}

bool model_broadcasts(const model_tensor *from, const model_tensor *to) {
  if (from->rank > to->rank) return false;
  for (int i = 0; i < from->rank; i++)
    if (from->sizes[i] != 1 && from->sizes[i] != to->sizes[to->rank - from->rank + i]) return false;
  return true;
}

void model_write(const model_tensor *destination, const model_tensor *source) {
  model_tensor wide = model_expand(source, destination->rank, destination->sizes);
  double parts[2 * MODEL_MAX_ELEMENTS];
  const int from = model_parts(source), to = model_parts(destination);
  model_read(&wide, parts);
  for (int64_t i = 0; i < model_elements(destination); i++) {
    for (int k = 0; k < to; k++) {
      double number = k < from ? parts[i * from + k] : 0;
      if (destination->dtype == MODEL_I32) number = trunc(number);
      destination->memory->parts[place_of(destination, i) * to + k] = number;
    }
  }
  model_release(&wide);
}

model_tensor model_slice(const model_tensor *self, int dim, int64_t start, int64_t end, int64_t step) {
  model_tensor result = model_retain(self);
  result.offset += start * self->strides[dim];
  result.strides[dim] *= step;
  result.sizes[dim] = end <= start ? 0 : (end - start + step - 1) / step;
  return result;
}

model_tensor model_permute(const model_tensor *self, const int64_t *dims) {
  model_tensor result = model_retain(self);
  for (int i = 0; i < self->rank; i++) {
    result.sizes[i] = self->sizes[dims[i]];
    result.strides[i] = self->strides[dims[i]];
  }
  return result;
}

model_tensor model_unsqueeze(const model_tensor *self, int dim) {
  model_tensor result = model_retain(self);
  for (int i = dim; i < self->rank; i++) {
    result.sizes[i + 1] = self->sizes[i];
    result.strides[i + 1] = self->strides[i];
  }
  result.sizes[dim] = 1;
  result.strides[dim] = dim < self->rank ? self->sizes[dim] * self->strides[dim] : 1;
  result.rank++;
  return result;
}

static model_tensor drop_dim(const model_tensor *self, int dim) {
  model_tensor result = *self;
  for (int i = dim + 1; i < self->rank; i++) {
    result.sizes[i - 1] = self->sizes[i];
    result.strides[i - 1] = self->strides[i];
  }
  result.rank--;
  return result;
}

model_tensor model_select(const model_tensor *self, int dim, int64_t index) {
  model_tensor one = model_slice(self, dim, index, index + 1, 1);
  return drop_dim(&one, dim);
}

model_tensor model_expand(const model_tensor *self, int rank, const int64_t *sizes) {
  model_tensor result = model_retain(self);
  const int added = rank - self->rank;
  result.rank = rank;
  for (int i = 0; i < rank; i++) {
    const bool repeats = i < added || self->sizes[i - added] != sizes[i];
    result.sizes[i] = sizes[i];
    result.strides[i] = repeats ? 0 : self->strides[i - added];
  }
  return result;
}

model_tensor model_diagonal(const model_tensor *self, int64_t offset, int dim1, int dim2) {
  const int64_t row = offset < 0 ? -offset : 0, column = offset > 0 ? offset : 0;
  const int64_t down = self->sizes[dim1] - row, across = self->sizes[dim2] - column;
  int64_t length = down < across ? down : across;
  if (length < 0) length = 0;
  model_tensor result = model_retain(self);
  const int64_t stride = self->strides[dim1] + self->strides[dim2];
  if (length > 0) result.offset += row * self->strides[dim1] + column * self->strides[dim2];
  result = drop_dim(&result, dim1 > dim2 ? dim1 : dim2);
  result = drop_dim(&result, dim1 > dim2 ? dim2 : dim1);
  result.sizes[result.rank] = length;
  result.strides[result.rank++] = stride;
  return result;
}

model_tensor model_unfold(const model_tensor *self, int dim, int64_t size, int64_t step) {
  model_tensor result = model_retain(self);
  result.sizes[dim] = (self->sizes[dim] - size) / step + 1;
  result.strides[dim] = self->strides[dim] * step;
  result.sizes[result.rank] = size;
  result.strides[result.rank++] = self->strides[dim];
  return result;
}

model_tensor model_as_strided(const model_tensor *self, int rank, const int64_t *sizes, const int64_t *strides,
                              int64_t offset) {
  model_tensor result = model_retain(self);
  result.rank = rank;
  result.offset = offset;
  memcpy(result.sizes, sizes, (size_t)rank * sizeof *sizes);
  memcpy(result.strides, strides, (size_t)rank * sizeof *strides);
  return result;
}

model_tensor model_part(const model_tensor *self, int part) {
  model_tensor result = model_retain(self);
  result.dtype = MODEL_F32;
  result.offset = 2 * self->offset + part;
  for (int i = 0; i < self->rank; i++) result.strides[i] *= 2;
  return result;
}

model_tensor model_view_as_real(const model_tensor *self) {
  model_tensor result = model_part(self, 0);
  result.sizes[result.rank] = 2;
  result.strides[result.rank++] = 1;
  return result;
}

model_tensor model_reshape(const model_tensor *self, int rank, const int64_t *sizes, bool *is_view) {
  model_tensor result = model_create(self->dtype, rank, sizes), same = result;
  const int64_t elements = model_elements(self);
  int64_t inner = 1;
  same.offset = self->offset;
  for (int i = rank; i-- > 0 && elements > 0; inner *= sizes[i])
    if (sizes[i] > 1) same.strides[i] = place_of(self, inner) - self->offset;
  *is_view = true;
  for (int64_t i = 0; i < elements; i++) *is_view &= place_of(&same, i) == place_of(self, i);
  if (*is_view) {
    model_release(&result);
    same.memory = self->memory;
    return model_retain(&same);
  }
  double parts[2 * MODEL_MAX_ELEMENTS];
  model_read(self, parts);
  memcpy(result.memory->parts, parts, (size_t)result.memory->count * sizeof(double));
  return result;
}
