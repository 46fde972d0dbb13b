/* What tensors are where operators run at once: strides over memory that views share. Written for the tests of views,
 * from the definition alone: a reshape is a view if the places of its elements are those of some strides, which is
 * found out by looking at all of them. Elements are numbers that a double holds exactly; a complex one is two of them.
 */
#ifndef LAZE_TESTS_PROPERTY_STRIDED_MODEL_H
#define LAZE_TESTS_PROPERTY_STRIDED_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#define MODEL_MAX_RANK 6
#define MODEL_MAX_ELEMENTS 512

typedef enum { MODEL_F32, MODEL_I32, MODEL_C64 } model_dtype;

typedef struct model_memory {
  int32_t references;
  int32_t count;
  double parts[]; /* of a complex tensor two for each element */
} model_memory;

typedef struct model_tensor {
  model_memory *memory; /* referenced */
  model_dtype dtype;
  int rank;
  int64_t sizes[MODEL_MAX_RANK], strides[MODEL_MAX_RANK], offset; /* counted in elements of the dtype */
} model_tensor;

/* A tensor with memory of its own, in row-major order, all 0. */
model_tensor model_create(model_dtype dtype, int rank, const int64_t *sizes);
/* The same memory, seen in the same way. */
model_tensor model_retain(const model_tensor *tensor);
void model_release(model_tensor *tensor);

int64_t model_elements(const model_tensor *tensor);
/* Numbers of each element: 2 of a complex one. */
int model_parts(const model_tensor *tensor);
/* Copies all elements out, in row-major order. */
void model_read(const model_tensor *tensor, double *parts);
/* Whether all elements have places of their own. */
bool model_is_injective(const model_tensor *tensor);
/* Whether the elements lie one after the other. */
bool model_is_contiguous(const model_tensor *tensor);
/* Whether `from` broadcasts to the shape of `to`. */
bool model_broadcasts(const model_tensor *from, const model_tensor *to);
/* Writes what `source` is now to `destination`, element by element: broadcast, and converted to its dtype. */
void model_write(const model_tensor *destination, const model_tensor *source);

/* Views: the operand's memory, seen in another way. Arguments are right. */
model_tensor model_slice(const model_tensor *self, int dim, int64_t start, int64_t end, int64_t step);
model_tensor model_permute(const model_tensor *self, const int64_t *dims);
model_tensor model_unsqueeze(const model_tensor *self, int dim);
model_tensor model_select(const model_tensor *self, int dim, int64_t index);
model_tensor model_expand(const model_tensor *self, int rank, const int64_t *sizes);
model_tensor model_diagonal(const model_tensor *self, int64_t offset, int dim1, int dim2);
model_tensor model_unfold(const model_tensor *self, int dim, int64_t size, int64_t step);
model_tensor model_as_strided(const model_tensor *self, int rank, const int64_t *sizes, const int64_t *strides,
                              int64_t offset);
/* The real part (0) or the imaginary one (1) of a complex tensor; both, as a last dim. */
model_tensor model_part(const model_tensor *self, int part);
model_tensor model_view_as_real(const model_tensor *self);
/* A view where there are strides for it, and otherwise a copy; *is_view says which. */
model_tensor model_reshape(const model_tensor *self, int rank, const int64_t *sizes, bool *is_view);

#endif
