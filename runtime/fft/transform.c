/* Fourier transforms by FFTW: one plan for a whole tensor, whatever its axes are.
 *
 *   c64[2,3,4], axes [2,0]   ──>   dims {4, apart 1}, {2, apart 12}      transformed together
 *                                  batch {3, apart 4}                    so many transforms
 *
 * Of real numbers FFTW makes the first half of the last axis. Where all of it is wanted, the other half follows:
 *
 *   X[i, n-k] = conj X[-i, k]      i: along the other axes
 */
#include "runtime/fft/transform.h"

#include "shape_inference/type.h"

#include <math.h>
#include <string.h>

/* A plan's memory, besides operand and result, as a multiple of what one transform has; and what small ones take. */
enum { PLAN_SHARES = 4, PLAN_BYTES = 1 << 20 };

typedef struct {
  laze_fftw_loop dims[LAZE_MAX_RANK], batch[LAZE_MAX_RANK];
  int batch_count;
  double points; /* of one transform */
} transform_loops;

static int64_t element_bytes(const laze_transform *transform, bool real) {
  return (transform->is_double ? 8 : 4) * (real ? 1 : 2);
}

static int64_t element_count(const int64_t *sizes, int rank) {
  uint64_t count = 1; /* may wrap before it meets a size of 0 */
  for (int i = 0; i < rank; i++) count *= (uint64_t)sizes[i];
  return (int64_t)count;
}

static void row_major(const int64_t *sizes, int rank, int64_t *strides) {
  int64_t stride = 1;
  for (int i = rank - 1; i >= 0; i--) {
    strides[i] = stride;
    stride *= sizes[i];
  }
}

/* The axes that are transformed, in their order, and those that count transforms. */
static void describe(const laze_transform *transform, transform_loops *out) {
  const int64_t *points = transform->kind == LAZE_TRANSFORM_TO_REAL ? transform->out_sizes : transform->in_sizes;
  int64_t in[LAZE_MAX_RANK], made[LAZE_MAX_RANK];
  bool transformed[LAZE_MAX_RANK] = {false};
  row_major(transform->in_sizes, transform->rank, in);
  row_major(transform->out_sizes, transform->rank, made);
  out->points = 1;
  out->batch_count = 0;
  for (int i = 0; i < transform->axis_count; i++) {
    int axis = transform->axes[i];
    out->dims[i] = (laze_fftw_loop){points[axis], in[axis], made[axis]};
    out->points *= (double)points[axis];
    transformed[axis] = true;
  }
  for (int i = 0; i < transform->rank; i++)
    if (!transformed[i]) out->batch[out->batch_count++] = (laze_fftw_loop){transform->in_sizes[i], in[i], made[i]};
}

static void *make_plan(const laze_transform *transform, const laze_fftw *fftw, const transform_loops *loops, void *in) {
  int rank = transform->axis_count, sign = transform->forward ? LAZE_FFTW_FORWARD : LAZE_FFTW_BACKWARD;
  bool keeps = transform->kind != LAZE_TRANSFORM_TO_REAL || rank == 1;
  unsigned flags = LAZE_FFTW_ESTIMATE | (keeps ? LAZE_FFTW_PRESERVE_INPUT : 0);
  switch (transform->kind) {
  case LAZE_TRANSFORM_FROM_REAL:
    return fftw->plan_from_real(rank, loops->dims, loops->batch_count, loops->batch, in, transform->out, flags);
  case LAZE_TRANSFORM_TO_REAL:
    return fftw->plan_to_real(rank, loops->dims, loops->batch_count, loops->batch, in, transform->out, flags);
  default:
    return fftw->plan_complex(rank, loops->dims, loops->batch_count, loops->batch, in, transform->out, sign, flags);
  }
}

/* FFTW ends the process where its own memory ends: what it may take is asked for first. */
static laze_status check_memory(const laze_transform *transform, const transform_loops *loops, laze_error *error) {
  double bytes = loops->points * (double)element_bytes(transform, false) * PLAN_SHARES + PLAN_BYTES;
  void *memory = laze_alloc(transform->context, (int64_t)bytes);
  if (!memory) return laze_fail_memory(error, "a plan of FFTW", (int64_t)bytes);
  laze_free(transform->context, memory);
  return LAZE_OK;
}

/* `in` is the operand, or a copy that may be written. */
static laze_status execute(const laze_transform *transform, const laze_fftw *fftw, const transform_loops *loops,
                           void *in, laze_error *error) {
  LAZE_TRY(check_memory(transform, loops, error));
  laze_fftw_lock();
  void *plan = make_plan(transform, fftw, loops, in);
  laze_fftw_unlock();
  if (!plan)
    return laze_fail(error, LAZE_UNSUPPORTED,
                     "FFTW has no plan for a transform of %.0f points; transform one axis after the other, or name "
                     "another library in " LAZE_FFTW_VARIABLE,
                     loops->points);
  fftw->execute(plan);
  laze_fftw_lock();
  fftw->destroy(plan);
  laze_fftw_unlock();
  return LAZE_OK;
}

/* Of several axes back to real numbers, FFTW writes to its operand on the way. */
static laze_status execute_on_copy(const laze_transform *transform, const laze_fftw *fftw, const transform_loops *loops,
                                   laze_error *error) {
  int64_t bytes = element_count(transform->in_sizes, transform->rank) * element_bytes(transform, false);
  void *copy = laze_alloc(transform->context, bytes);
  if (!copy) return laze_fail_memory(error, "a copy of a spectrum", bytes);
  memcpy(copy, transform->in, (size_t)bytes);
  laze_status status = execute(transform, fftw, loops, copy, error);
  laze_free(transform->context, copy);
  return status;
}

static void conjugate(const laze_transform *transform, int64_t from, int64_t to) {
  if (transform->is_double) {
    double *values = (double *)(void *)transform->out;
    values[2 * to] = values[2 * from];
    values[2 * to + 1] = -values[2 * from + 1];
  } else {
    float *values = (float *)(void *)transform->out;
    values[2 * to] = values[2 * from];
    values[2 * to + 1] = -values[2 * from + 1];
  }
}

/* Moves to the next row along the last transformed axis: where it begins, and where its mirror image does, whose
 * indices along the other transformed axes count backwards. False behind the last one. */
static bool next_row(const transform_loops *loops, int dim_count, int64_t *index, int64_t *row, int64_t *mirror) {
  *row = *mirror = 0;
  bool moved = false;
  for (int i = 0; i < loops->batch_count + dim_count - 1; i++) {
    bool transformed = i >= loops->batch_count;
    const laze_fftw_loop *loop = transformed ? &loops->dims[i - loops->batch_count] : &loops->batch[i];
    if (!moved) {
      index[i] = index[i] + 1 < loop->count ? index[i] + 1 : 0;
      moved = index[i] != 0;
    }
    *row += index[i] * loop->out;
    *mirror += (transformed && index[i] != 0 ? loop->count - index[i] : index[i]) * loop->out;
  }
  return moved;
}

/* Writes the half of the last axis that FFTW leaves out. */
static void mirror_half(const laze_transform *transform, const transform_loops *loops) {
  const laze_fftw_loop *last = &loops->dims[transform->axis_count - 1];
  int64_t index[LAZE_MAX_RANK] = {0}, row = 0, mirror = 0;
  do {
    for (int64_t k = 1; k < last->count - last->count / 2; k++)
      conjugate(transform, mirror + k * last->out, row + (last->count - k) * last->out);
  } while (next_row(loops, transform->axis_count, index, &row, &mirror));
}

static void multiply(const laze_transform *transform, double factor) {
  int64_t parts = element_count(transform->out_sizes, transform->rank);
  if (transform->kind != LAZE_TRANSFORM_TO_REAL) parts *= 2;
  if (transform->is_double) {
    double *values = (double *)(void *)transform->out;
    for (int64_t i = 0; i < parts; i++) values[i] *= factor;
  } else {
    float *values = (float *)(void *)transform->out, narrow = (float)factor;
    for (int64_t i = 0; i < parts; i++) values[i] *= narrow;
  }
}

laze_status laze_transform_run(const laze_transform *transform, laze_error *error) {
  const laze_fftw *fftw;
  transform_loops loops;
  int64_t elements = element_count(transform->out_sizes, transform->rank);
  if (elements == 0) return LAZE_OK;
  if (transform->axis_count == 0) {
    memcpy(transform->out, transform->in, (size_t)(elements * element_bytes(transform, false)));
    return LAZE_OK;
  }
  LAZE_TRY(laze_fftw_open(transform->is_double, &fftw, error));
  describe(transform, &loops);
  if (transform->kind == LAZE_TRANSFORM_TO_REAL && transform->axis_count > 1)
    LAZE_TRY(execute_on_copy(transform, fftw, &loops, error));
  else
    LAZE_TRY(execute(transform, fftw, &loops, (void *)(uintptr_t)transform->in, error));
  int last = transform->axes[transform->axis_count - 1];
  if (transform->kind == LAZE_TRANSFORM_FROM_REAL && transform->in_sizes[last] == transform->out_sizes[last])
    mirror_half(transform, &loops);
  if (transform->scale == LAZE_TRANSFORM_ROOT) multiply(transform, 1 / sqrt(loops.points));
  if (transform->scale == LAZE_TRANSFORM_MEAN) multiply(transform, 1 / loops.points);
  return LAZE_OK;
}
