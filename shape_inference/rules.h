/* The shape and dtype rules that ops/rules.yaml declares; the adaptors that opgen writes call them.
 *
 * A shape rule fills out->rank and out->sizes and nothing else, a dtype rule gives the dtype. `out` is none of the
 * operands. An error names inference->operator_name, the shapes, and what was expected; `out` is then undefined.
 * Shapes with constant sizes never touch inference->sizes. A result with more than LAZE_MAX_ELEMENTS is
 * LAZE_OUT_OF_RANGE.
 *
 * All pointers are the caller's and borrowed for the call; nothing is kept or freed. What is written to `out` are size
 * words, which hold as long as the table inference->sizes.
 */
#ifndef LAZE_SHAPE_INFERENCE_RULES_H
#define LAZE_SHAPE_INFERENCE_RULES_H

#include "shape_inference/inference.h"

/* All operands broadcast together; rank 0 for none. */
LAZE_MUST_USE laze_status laze_shape_broadcast(laze_inference *inference, const laze_type *const *operands,
                                               int32_t operand_count, laze_type *out);
LAZE_MUST_USE laze_status laze_shape_same(laze_inference *inference, const laze_type *self, laze_type *out);
/* The shape of `self`, of which `dim` must be an axis. */
LAZE_MUST_USE laze_status laze_shape_along(laze_inference *inference, const laze_type *self, int64_t dim,
                                           laze_type *out);
/* Rank 0. */
LAZE_MUST_USE laze_status laze_shape_scalar(laze_inference *inference, laze_type *out);
/* No dimensions, for the size `value` itself, which must be within 2^62. */
LAZE_MUST_USE laze_status laze_shape_size_value(laze_inference *inference, laze_size value, laze_type *out);
/* No dimensions, for element `index` of `value`, 0-d or 1-d, which defines the symbol `size` from `low` to `high`. */
LAZE_MUST_USE laze_status laze_shape_size_from(laze_inference *inference, const laze_type *value, laze_size size,
                                               int64_t index, int64_t low, int64_t high, laze_type *out);
/* The sizes given, each 0 or more. */
LAZE_MUST_USE laze_status laze_shape_sizes(laze_inference *inference, laze_size_list size, laze_type *out);
/* The same; `dim` must be one of their axes. */
LAZE_MUST_USE laze_status laze_shape_iota(laze_inference *inference, laze_size_list size, int64_t dim, laze_type *out);
/* `self` without the axes of `dim` (absent or empty: all axes), which keep size 1 with `keepdim`. */
LAZE_MUST_USE laze_status laze_shape_reduce(laze_inference *inference, const laze_type *self, laze_size_list dim,
                                            bool keepdim, laze_type *out);
/* The same, where each reduced axis must have an element: it is a fact that none is empty. */
LAZE_MUST_USE laze_status laze_shape_reduce_some(laze_inference *inference, const laze_type *self, laze_size_list dim,
                                                 bool keepdim, laze_type *out);
/* Axes of size 1 grow to `size`, which may add axes in front; -1 keeps an axis. */
LAZE_MUST_USE laze_status laze_shape_expand(laze_inference *inference, const laze_type *self, laze_size_list size,
                                            laze_type *out);
/* Axis i of the result is axis dims[i] of `self`. */
LAZE_MUST_USE laze_status laze_shape_permute(laze_inference *inference, const laze_type *self, laze_size_list dims,
                                             laze_type *out);
/* The shape of `self`, of which `dims` must be axes, each listed once. */
LAZE_MUST_USE laze_status laze_shape_flip(laze_inference *inference, const laze_type *self, laze_size_list dims,
                                          laze_type *out);
/* The same number of elements in another shape; one size may be -1 and follows from the others. */
LAZE_MUST_USE laze_status laze_shape_reshape(laze_inference *inference, const laze_type *self, laze_size_list shape,
                                             laze_type *out);
/* `self` with an axis of size 1 put in before axis `dim`, which counts the result's axes. */
LAZE_MUST_USE laze_status laze_shape_unsqueeze(laze_inference *inference, const laze_type *self, int64_t dim,
                                               laze_type *out);
/* Elements start, start + step, ... below end of axis `dim`, with bounds as laze_slice_bounds() reads them. */
LAZE_MUST_USE laze_status laze_shape_slice(laze_inference *inference, const laze_type *self, int64_t dim,
                                           const laze_size *start, const laze_size *end, int64_t step, laze_type *out);
/* The first index and the length of a slice of an axis of size `size`. Negative bounds count from the end, bounds
 * outside are clamped, absent ones (NULL) are 0 and `size`; `step` is 1 or more. With symbols and hints, where the
 * bounds lie is asked as facts, which keeps the results simple; without hints min and max stand in the results. */
LAZE_MUST_USE laze_status laze_slice_bounds(laze_inference *inference, laze_size size, const laze_size *start,
                                            const laze_size *end, int64_t step, laze_size *first, laze_size *length);
/* One after the other along `dim`; all other sizes are equal. Empty lists, of one axis and size 0, have a place only in
 * a result of one axis, and are left out otherwise: a tensor of another rank than the result adds nothing to it. `dim`
 * need not be an axis where all are empty lists. */
LAZE_MUST_USE laze_status laze_shape_cat(laze_inference *inference, const laze_type *const *tensors,
                                         int32_t tensor_count, int64_t dim, laze_type *out);
/* The axis along which `result` was put together, and how much of it a tensor is. */
LAZE_MUST_USE laze_status laze_cat_axis(laze_inference *inference, const laze_type *result, int64_t dim, int *out);
static inline laze_size laze_cat_length(const laze_type *tensor, const laze_type *result, int axis) {
  return tensor->rank == result->rank ? tensor->sizes[axis] : 0;
}
/* The shape of `index`, which has the rank of `self` and is no larger than it on the other axes. */
LAZE_MUST_USE laze_status laze_shape_gather(laze_inference *inference, const laze_type *self, int64_t dim,
                                            const laze_type *index, laze_type *out);
/* `self` with axis `dim` as long as the 0-d or 1-d `index`. */
LAZE_MUST_USE laze_status laze_shape_index_select(laze_inference *inference, const laze_type *self, int64_t dim,
                                                  const laze_type *index, laze_type *out);
/* `self` with axis `dim` of `length`, which is a fact to be no longer; `start` has no dimensions. */
LAZE_MUST_USE laze_status laze_shape_dynamic_slice(laze_inference *inference, const laze_type *self, int64_t dim,
                                                   const laze_type *start, laze_size length, laze_type *out);
/* The shape of `self`, of which `source` has all sizes but that of axis `dim`, where it is no longer. */
LAZE_MUST_USE laze_status laze_shape_dynamic_update(laze_inference *inference, const laze_type *self,
                                                    const laze_type *source, int64_t dim, const laze_type *start,
                                                    laze_type *out);
/* The shape of `self`; `index` and `src` have one shape, no larger than that of `self` but along axis `dim`. */
LAZE_MUST_USE laze_status laze_shape_scatter(laze_inference *inference, const laze_type *self, int64_t dim,
                                             const laze_type *index, const laze_type *src, const char *reduce,
                                             laze_type *out);
/* The shape of `self`, of which `source` has all sizes but that of axis `dim`: as long as the list `index` there. */
LAZE_MUST_USE laze_status laze_shape_index_update(laze_inference *inference, const laze_type *self, int64_t dim,
                                                  const laze_type *index, const laze_type *source, const char *reduce,
                                                  laze_type *out);
/* [n,k] x [k,m] -> [n,m] */
LAZE_MUST_USE laze_status laze_shape_mm(laze_inference *inference, const laze_type *self, const laze_type *mat2,
                                        laze_type *out);
/* [b,n,k] x [b,k,m] -> [b,n,m] */
LAZE_MUST_USE laze_status laze_shape_bmm(laze_inference *inference, const laze_type *self, const laze_type *mat2,
                                         laze_type *out);

LAZE_MUST_USE laze_status laze_dtype_same(laze_inference *inference, const laze_type *self, laze_dtype *out);
/* f32 when absent. */
LAZE_MUST_USE laze_status laze_dtype_given(laze_inference *inference, laze_dtype dtype, laze_dtype *out);
/* i64 when absent, for positions and sizes, which f32 would round. */
LAZE_MUST_USE laze_status laze_dtype_given_or_index(laze_inference *inference, laze_dtype dtype, laze_dtype *out);
LAZE_MUST_USE laze_status laze_dtype_given_or_same(laze_inference *inference, laze_dtype dtype, const laze_type *self,
                                                   laze_dtype *out);
/* Bool and integers are summed as i64 unless a dtype is given. */
LAZE_MUST_USE laze_status laze_dtype_sum(laze_inference *inference, const laze_type *self, laze_dtype dtype,
                                         laze_dtype *out);
/* i64, what positions are. */
LAZE_MUST_USE laze_status laze_dtype_index(laze_inference *inference, laze_dtype *out);
LAZE_MUST_USE laze_status laze_dtype_boolean(laze_inference *inference, laze_dtype *out);
LAZE_MUST_USE laze_status laze_dtype_promote(laze_inference *inference, const laze_type *const *tensors,
                                             int32_t tensor_count, laze_dtype *out);
/* The same of floats alone. */
LAZE_MUST_USE laze_status laze_dtype_promote_floats(laze_inference *inference, const laze_type *const *tensors,
                                                    int32_t tensor_count, laze_dtype *out);
/* `dtype`, which must be as wide as that of `self`. */
LAZE_MUST_USE laze_status laze_dtype_bitcast(laze_inference *inference, const laze_type *self, laze_dtype dtype,
                                             laze_dtype *out);
/* The dtype of `self`; that of `index` must be one that positions have. */
LAZE_MUST_USE laze_status laze_dtype_indexed(laze_inference *inference, const laze_type *self, const laze_type *index,
                                             laze_dtype *out);
/* The dtype of `self`, which `source` must have; that of `start` must be one that positions have. */
LAZE_MUST_USE laze_status laze_dtype_updated(laze_inference *inference, const laze_type *self, const laze_type *source,
                                             const laze_type *start, laze_dtype *out);
/* The common dtype of two matrices; bool is refused. */
LAZE_MUST_USE laze_status laze_dtype_product(laze_inference *inference, const laze_type *self, const laze_type *mat2,
                                             laze_dtype *out);
/* The dtype of `self`, which must be a float. */
LAZE_MUST_USE laze_status laze_dtype_float_only(laze_inference *inference, const laze_type *self, laze_dtype *out);
/* The dtype of what has bits and no digits: integers and bool. */
LAZE_MUST_USE laze_status laze_dtype_bits(laze_inference *inference, const laze_type *self, laze_dtype *out);
LAZE_MUST_USE laze_status laze_dtype_float_or_complex(laze_inference *inference, const laze_type *self,
                                                      laze_dtype *out);
/* The same; converting on the way is left to the caller. */
LAZE_MUST_USE laze_status laze_dtype_softmax(laze_inference *inference, const laze_type *self, bool half_to_float,
                                             laze_dtype *out);

/* Axis `dim` becomes two: the places in a window, of which there are `size`, `dilation` apart, and the windows, which
 * begin `stride` apart and lie within it. */
LAZE_MUST_USE laze_status laze_shape_window(laze_inference *inference, const laze_type *self, int64_t dim, int64_t size,
                                            int64_t stride, int64_t dilation, laze_type *out);
/* Axis `dim` has `low` more elements in front and `high` more behind, all of them `value`, which has no axes. */
LAZE_MUST_USE laze_status laze_shape_pad(laze_inference *inference, const laze_type *self, const laze_type *value,
                                         int64_t dim, laze_size low, laze_size high, laze_type *out);

/* Linear algebra (rules_matrix.c). The shape of `self`, which must have two axes at least, or be square besides. */
LAZE_MUST_USE laze_status laze_shape_matrix(laze_inference *inference, const laze_type *self, laze_type *out);
LAZE_MUST_USE laze_status laze_shape_square(laze_inference *inference, const laze_type *self, laze_type *out);
/* The axes that count matrices, and behind them sides of one: 0 its rows, 1 its columns, 2 the lesser of both, which
 * `full` makes what the other of two sides is. [0] where it is not wanted. */
LAZE_MUST_USE laze_status laze_shape_matrix_part(laze_inference *inference, const laze_type *self, laze_size_list sides,
                                                 bool full, bool wanted, laze_type *out);
/* A number for each row of square matrices. */
LAZE_MUST_USE laze_status laze_shape_square_rows(laze_inference *inference, const laze_type *self, laze_type *out);
/* One number for each side of a square matrix, of which UPLO names a triangle; one for each of its lesser side. No
 * driver is known (NULL: none is named). */
LAZE_MUST_USE laze_status laze_shape_eigenvalues(laze_inference *inference, const laze_type *self, const char *UPLO,
                                                 laze_type *out);
LAZE_MUST_USE laze_status laze_shape_singular_values(laze_inference *inference, const laze_type *self,
                                                     const char *driver, laze_type *out);
/* The same of a matrix of factors, to which `pivots` must belong: the lesser of both sides of each. */
LAZE_MUST_USE laze_status laze_shape_factor_part(laze_inference *inference, const laze_type *self,
                                                 const laze_type *pivots, laze_size_list sides, bool wanted,
                                                 laze_type *out);
/* The shape of `self`, reflections in columns, of which `tau` has a factor each. */
LAZE_MUST_USE laze_status laze_shape_householder(laze_inference *inference, const laze_type *self, const laze_type *tau,
                                                 laze_type *out);
/* The shape of `other`, which reflections are applied to from the left or the right. */
LAZE_MUST_USE laze_status laze_shape_reflected(laze_inference *inference, const laze_type *self, const laze_type *tau,
                                               const laze_type *other, bool left, laze_type *out);
/* What solves self X = other, or X self = other: the shape of `other` with both batches broadcast. */
LAZE_MUST_USE laze_status laze_shape_solution(laze_inference *inference, const laze_type *self, const laze_type *other,
                                              bool left, laze_type *out);
/* The same with factors of a matrix. */
LAZE_MUST_USE laze_status laze_shape_factor_solution(laze_inference *inference, const laze_type *self,
                                                     const laze_type *pivots, const laze_type *other, bool left,
                                                     laze_type *out);
/* What least squares find: X of self X = other, for each column of `other` the sum of squares that is left (where there
 * are more equations than unknowns, and not by driver gelsy), a rank (not by gels), and singular values (by gelsd and
 * gelss). Drivers of other names are refused. */
LAZE_MUST_USE laze_status laze_shape_least_solution(laze_inference *inference, const laze_type *self,
                                                    const laze_type *other, laze_type *out);
LAZE_MUST_USE laze_status laze_shape_least_residuals(laze_inference *inference, const laze_type *self,
                                                     const laze_type *other, const char *driver, laze_type *out);
LAZE_MUST_USE laze_status laze_shape_least_rank(laze_inference *inference, const laze_type *self,
                                                const laze_type *other, const char *driver, laze_type *out);
LAZE_MUST_USE laze_status laze_shape_least_values(laze_inference *inference, const laze_type *self,
                                                  const laze_type *other, const char *driver, laze_type *out);
/* The one dtype of all of them, f32, f64, c64 or c128, which is what LAPACK has. */
LAZE_MUST_USE laze_status laze_dtype_matrix(laze_inference *inference, const laze_type *const *tensors,
                                            int32_t tensor_count, laze_dtype *out);
/* The float of which such a number is made, and the complex numbers that are made of it. */
LAZE_MUST_USE laze_status laze_dtype_matrix_real(laze_inference *inference, const laze_type *self, laze_dtype *out);
LAZE_MUST_USE laze_status laze_dtype_matrix_complex(laze_inference *inference, const laze_type *self, laze_dtype *out);
/* The same beside pivots, which must be i32. */
LAZE_MUST_USE laze_status laze_dtype_factor(laze_inference *inference, const laze_type *pivots,
                                            const laze_type *const *tensors, int32_t tensor_count, laze_dtype *out);

/* Fourier transforms (rules_fft.c). The shape of `self`, of which `dim` are axes, each listed once, that have an
 * element; `normalization` is 0, 1 or 2. */
LAZE_MUST_USE laze_status laze_shape_spectrum(laze_inference *inference, const laze_type *self, laze_size_list dim,
                                              int64_t normalization, laze_type *out);
/* The same, where there is an axis at least: with `onesided`, n / 2 + 1 elements of the n along the last one of `dim`.
 */
LAZE_MUST_USE laze_status laze_shape_half_spectrum(laze_inference *inference, const laze_type *self, laze_size_list dim,
                                                   int64_t normalization, bool onesided, laze_type *out);
/* The other way round: `last_dim_size` elements along the last axis of `dim`, of which `self` has the first
 * last_dim_size / 2 + 1, or all. */
LAZE_MUST_USE laze_status laze_shape_signal(laze_inference *inference, const laze_type *self, laze_size_list dim,
                                            int64_t normalization, laze_size last_dim_size, laze_type *out);
/* The dtype of `self`, which must be complex; the complex dtype of a float, f32 or f64; the float of a complex dtype.
 */
LAZE_MUST_USE laze_status laze_dtype_spectrum(laze_inference *inference, const laze_type *self, laze_dtype *out);
LAZE_MUST_USE laze_status laze_dtype_spectrum_of_real(laze_inference *inference, const laze_type *self,
                                                      laze_dtype *out);
LAZE_MUST_USE laze_status laze_dtype_signal(laze_inference *inference, const laze_type *self, laze_dtype *out);

#endif
