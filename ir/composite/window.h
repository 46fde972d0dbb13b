/* What composites over windows share: pooling.c, adaptive.c, convolution.c and window.c itself.
 *
 * The windows of the last `dims` axes make two axes of each, [places, windows], so that a reduction over the places
 * leaves the windows as its last axis:
 *
 *   x f32[n, c, 6, 8]    2x3 windows, every 2    ──>   f32[n, c, 2, 3, 3, 3]      axes 2 and 4 are places
 */
#ifndef LAZE_IR_COMPOSITE_WINDOW_H
#define LAZE_IR_COMPOSITE_WINDOW_H

#include "ir/composite/composite.h"

#define LAZE_MAX_WINDOW_DIMS 3

/* The windows of the last axes, a number for each. */
typedef struct laze_windows {
  int dims;
  int64_t size[LAZE_MAX_WINDOW_DIMS], stride[LAZE_MAX_WINDOW_DIMS], dilation[LAZE_MAX_WINDOW_DIMS];
  int64_t low[LAZE_MAX_WINDOW_DIMS], high[LAZE_MAX_WINDOW_DIMS]; /* padding in front and behind */
  bool up; /* windows that begin within the axis, or in front of it, and end behind its padding count as well */
} laze_windows;

/* Reads the list argument `name`, whose items are known numbers of `least` to INT32_MAX: `dims` of them, or one for all
 * of them. An absent or empty list leaves `out` as it is. */
LAZE_MUST_USE laze_status laze_windows_read(const laze_call *call, const char *name, int dims, int64_t least,
                                            int64_t *out, laze_error *error);
/* The windows of a pooling, by the arguments that all of them have. */
LAZE_MUST_USE laze_status laze_windows_read_pool(const laze_call *call, laze_windows *windows, laze_error *error);
/* The last `dims` axes as one. */
LAZE_MUST_USE laze_status laze_compose_flat_places(laze_recorder *recorder, laze_value value, int dims, laze_value *out,
                                                   laze_error *error);
/* `low` and `high` elements of `value` (0-d) around an axis; negative numbers cut off. */
LAZE_MUST_USE laze_status laze_compose_pad(laze_recorder *recorder, laze_value self, laze_value value, int axis,
                                           const laze_size around[2], laze_value *out, laze_error *error);
/* The windows of the last axes of `self`, padded with values[0]; what lies behind the padding is values[1]. Both have
 * the dtype of self. */
LAZE_MUST_USE laze_status laze_compose_windows(laze_recorder *recorder, const laze_windows *windows, laze_value self,
                                               const laze_value values[2], laze_value *out, laze_error *error);
/* The axes of what that gives, whose rank is `rank`, that are places: `windows->dims` of them. */
void laze_windows_places(const laze_windows *windows, int rank, laze_size *axes);
/* The number that the largest of a window's elements has: the first of equal ones, and of elements with a NaN the last
 * one's. Elements and their numbers lie in windows; `largest` is the largest of each. */
LAZE_MUST_USE laze_status laze_compose_largest_number(laze_recorder *recorder, const laze_windows *windows,
                                                      laze_value elements, laze_value numbers, laze_value largest,
                                                      laze_value *out, laze_error *error);
/* What is linear in two values: a product of sorts, of floats. */
typedef struct laze_bilinear {
  laze_status (*multiply)(const void *self, laze_value a, laze_value b, laze_value *out);
  const void *self;
} laze_bilinear;
/* The same of complex numbers too, by their parts, so that it is parts that windows are taken of. */
LAZE_MUST_USE laze_status laze_compose_bilinear(laze_recorder *recorder, laze_bilinear product, laze_value a,
                                                laze_value b, laze_value *out, laze_error *error);
/* Whether a group of a convolution, of so many channels in and out, has too few of them for a product of matrices to
 * gain by its tiles: each element is summed by itself then. A size that is no known number is taken for a large one. */
bool laze_windows_are_thin(laze_size channels, laze_size results);
/* What a reduction leaves of the places of windows. */
LAZE_MUST_USE laze_status laze_compose_over_places(laze_recorder *recorder, const laze_windows *windows, laze_op op,
                                                   laze_value value, laze_value *out, laze_error *error);
/* The elements of the last `dims` axes of that size, numbered in row-major order, i64. */
LAZE_MUST_USE laze_status laze_compose_element_numbers(laze_recorder *recorder, const laze_size *sizes, int dims,
                                                       laze_value *out, laze_error *error);

#endif
