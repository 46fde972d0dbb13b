/* Largest elements of windows that lie as far apart, more or less, as makes so many of them: where each begins is
 * drawn.
 *
 *   begin of window i along an axis of n, for a sample from 0 to 1:    floor((i + sample) * a) - floor(sample * a)
 *   a = (n - size) / (windows - 1)                                     the last one: n - size
 *
 *   self [n, c, h, w]   places of elements in windows, [n, c, k0, o0, k1, o1]   ── amax over axes 2 and 4 ──>
 */
#include "ir/composite/window.h"

#include "ir/composite.gen.h"
#include "ir/composite/support.h"
#include "ir/op.gen.h"

typedef struct {
  laze_recorder *recorder;
  const laze_call *call;
  laze_windows windows; /* of which only dims and size say something */
  int64_t counts[LAZE_MAX_WINDOW_DIMS];
  laze_type self, samples;
  bool batched;
  laze_size planes[2]; /* batches, channels */
  laze_error *error;
} fractions;

static laze_size size_of(const fractions *f, int dim) {
  return f->self.sizes[f->self.rank - f->windows.dims + dim];
}

static laze_status binary(const fractions *f, laze_op op, laze_value a, laze_value b, laze_value *out) {
  return laze_compose_binary(f->recorder, op, a, b, out, f->error);
}

static laze_status check(fractions *f) {
  const laze_inference inference = {f->recorder->sizes, laze_compose_name(f->call), f->error};
  const int dims = f->windows.dims;
  bool fits = (f->self.rank == dims + 1 || f->self.rank == dims + 2) && f->samples.rank == 3 &&
              f->samples.dtype == f->self.dtype && laze_dtype_is_float((laze_dtype)f->self.dtype);
  f->batched = f->self.rank == dims + 2;
  f->planes[0] = f->batched ? f->self.sizes[0] : 1;
  f->planes[1] = f->self.sizes[f->batched];
  const laze_size expected[] = {f->planes[0], f->planes[1], dims};
  for (int i = 0; i < 3 && fits; i++)
    LAZE_TRY(laze_size_must_equal(f->recorder, f->samples.sizes[i], expected[i], &fits, f->error));
  if (fits) LAZE_TRY(laze_size_must_be_at_most(f->recorder, 1, f->planes[1], &fits, f->error));
  for (int i = 0; i < dims && fits; i++) {
    const laze_size least = f->windows.size[i] + f->counts[i] - 1;
    LAZE_TRY(laze_size_must_be_at_most(f->recorder, least, size_of(f, i), &fits, f->error));
  }
  if (fits) return LAZE_OK;
  return laze_fail(
      f->error, LAZE_INVALID_ARGUMENT,
      "%s: self is %s, samples %s; expected floats of %d or %d dims, samples [n, c, %d] of the same dtype, "
      "and along each dim kernel_size + output_size - 1 elements at least",
      inference.operator_name, laze_show(&inference, &f->self).text, laze_show(&inference, &f->samples).text, dims + 1,
      dims + 2, dims);
}

/* (i + sample) * a, rounded down, for each window, or sample * a: i64 [n, c, windows] or [n, c, 1]. */
static laze_status floor_of(const fractions *f, laze_value sample, laze_value apart, laze_value windows,
                            laze_value *out) {
  *out = sample;
  if (!laze_value_is_none(windows)) LAZE_TRY(binary(f, LAZE_OP_ADD, windows, sample, out));
  LAZE_TRY(binary(f, LAZE_OP_MUL, *out, apart, out));
  return laze_compose_to(f->recorder, *out, LAZE_I64, out, f->error);
}

/* How far apart windows begin, in the dtype of the samples. */
static laze_status find_distance(const fractions *f, int dim, laze_value last, laze_value *out) {
  laze_value count;
  const laze_dtype dtype = (laze_dtype)f->samples.dtype;
  LAZE_TRY(laze_record_number(f->recorder, dtype, laze_scalar_integer(f->counts[dim] > 1 ? f->counts[dim] - 1 : 1),
                              &count, f->error));
  LAZE_TRY(laze_compose_to(f->recorder, last, dtype, out, f->error));
  return binary(f, LAZE_OP_DIV, *out, count, out);
}

/* Where the windows of each plane begin along a dim, i64 [n, c, windows]. The samples of the last dim come first where
 * there are two, and last where there are three. */
static laze_status find_begins(const fractions *f, int dim, laze_value *out) {
  const int dims = f->windows.dims, column = dims == 2 ? 1 - dim : dim;
  const laze_size count = f->counts[dim];
  laze_value sample, windows, apart, first, numbers, chosen[3];
  laze_size last;
  LAZE_TRY(laze_size_arithmetic(f->recorder, '-', size_of(f, dim), f->windows.size[dim], &last, f->error));
  LAZE_TRY(laze_compose_size(f->recorder, last, &chosen[1], f->error));
  LAZE_TRY(find_distance(f, dim, chosen[1], &apart));
  LAZE_TRY(laze_compose_slice(f->recorder, f->call->operands[1], 2, column, column + 1, &sample, f->error));
  LAZE_TRY(laze_compose_iota(f->recorder, &count, 1, 0, (laze_dtype)f->samples.dtype, &windows, f->error));
  LAZE_TRY(laze_compose_iota(f->recorder, &count, 1, 0, LAZE_I64, &numbers, f->error));
  LAZE_TRY(floor_of(f, sample, apart, windows, &chosen[2]));
  LAZE_TRY(floor_of(f, sample, apart, LAZE_VALUE_NONE, &first));
  LAZE_TRY(binary(f, LAZE_OP_SUB, chosen[2], first, &chosen[2]));
  LAZE_TRY(
      laze_compose_with_number(f->recorder, LAZE_OP_EQ, numbers, laze_scalar_integer(count - 1), &chosen[0], f->error));
  return laze_record_call(f->recorder, LAZE_OP_WHERE_SELF, chosen, 3, NULL, out, f->error);
}

/* The number among those of its plane of each element of each window, [n, c, k0, o0, ...]. */
static laze_status find_numbers(const fractions *f, laze_value *out) {
  const int dims = f->windows.dims;
  for (int dim = 0; dim < dims; dim++) {
    laze_size sizes[2 + 2 * LAZE_MAX_WINDOW_DIMS] = {f->planes[0], f->planes[1]}, places = f->windows.size[dim];
    laze_value begins, within, along, size;
    for (int i = 0; i < 2 * dims; i++) sizes[2 + i] = i == 2 * dim + 1 ? f->counts[dim] : 1;
    LAZE_TRY(find_begins(f, dim, &begins));
    LAZE_TRY(laze_compose_reshape(f->recorder, begins, sizes, 2 + 2 * dims, &begins, f->error));
    LAZE_TRY(laze_compose_iota(f->recorder, &places, 1, 0, LAZE_I64, &within, f->error));
    for (int i = 0; i < 2 * dims; i++) sizes[i] = i == 2 * dim ? places : 1;
    LAZE_TRY(laze_compose_reshape(f->recorder, within, sizes, 2 * dims, &within, f->error));
    LAZE_TRY(binary(f, LAZE_OP_ADD, begins, within, &along));
    if (dim > 0) {
      LAZE_TRY(laze_compose_size(f->recorder, size_of(f, dim), &size, f->error));
      LAZE_TRY(binary(f, LAZE_OP_MUL, *out, size, out));
      LAZE_TRY(binary(f, LAZE_OP_ADD, *out, along, &along));
    }
    *out = along;
  }
  return LAZE_OK;
}

/* The elements of those numbers. */
static laze_status find_elements(const fractions *f, laze_value numbers, laze_value *out) {
  const laze_type type = laze_compose_type(f->recorder, numbers);
  laze_size flat[3] = {f->planes[0], f->planes[1]};
  laze_attribute dim = laze_attribute_integer(2);
  laze_value operands[2];
  const int dims = f->windows.dims;
  LAZE_TRY(laze_size_product(f->recorder->sizes, type.sizes + 2, 2 * dims, &flat[2], f->error));
  LAZE_TRY(laze_compose_reshape(f->recorder, numbers, flat, 3, &operands[1], f->error));
  LAZE_TRY(laze_size_product(f->recorder->sizes, f->self.sizes + f->self.rank - dims, dims, &flat[2], f->error));
  LAZE_TRY(laze_compose_reshape(f->recorder, f->call->operands[0], flat, 3, &operands[0], f->error));
  LAZE_TRY(laze_record_call(f->recorder, LAZE_OP_GATHER, operands, 2, &dim, out, f->error));
  return laze_compose_reshape(f->recorder, *out, type.sizes, type.rank, out, f->error);
}

static laze_status pool(laze_recorder *recorder, const laze_call *call, int dims, laze_value *results,
                        laze_error *error) {
  fractions f = {.recorder = recorder,
                 .call = call,
                 .windows = {.dims = dims},
                 .self = laze_compose_type(recorder, call->operands[0]),
                 .samples = laze_compose_type(recorder, call->operands[1]),
                 .error = error};
  laze_value numbers, elements;
  LAZE_TRY(laze_windows_read(call, "kernel_size", dims, 1, f.windows.size, error));
  LAZE_TRY(laze_windows_read(call, "output_size", dims, 1, f.counts, error));
  LAZE_TRY(check(&f));
  LAZE_TRY(find_numbers(&f, &numbers));
  LAZE_TRY(find_elements(&f, numbers, &elements));
  LAZE_TRY(laze_compose_over_places(recorder, &f.windows, LAZE_OP_AMAX, elements, &results[0], error));
  LAZE_TRY(laze_compose_largest_number(recorder, &f.windows, elements, numbers, results[0], &results[1], error));
  for (int i = 0; i < 2 && !f.batched; i++)
    LAZE_TRY(laze_compose_drop_axis(recorder, results[i], 0, &results[i], error));
  return LAZE_OK;
}

laze_status laze_composite_fractional_max_pool2d(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                                 laze_error *error) {
  return pool(recorder, call, 2, results, error);
}

laze_status laze_composite_fractional_max_pool3d(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                                 laze_error *error) {
  return pool(recorder, call, 3, results, error);
}
