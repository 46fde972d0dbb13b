/* Elements at places that a grid gives, from -1 to 1 along each of the last axes, and the grid of an affine map.
 *
 *   input [n, c, h, w]   grid [n, h', w', 2]     x of a place lies along w, y along h
 *
 *   an axis   taps: the elements that a place is made of      1 nearest, 2 linear, 4 cubic
 *             each an index, a weight, and whether it is one of the axis's elements at all
 *   a place   the sum over all combinations of taps of the axes: the element at their indices times their weights
 */
#include "ir/composite/resampling.h"

#include "ir/composite.gen.h"
#include "ir/composite/support.h"
#include "ir/op.gen.h"

enum { PAD_ZEROS, PAD_BORDER, PAD_REFLECTION };
enum { MODE_LINEAR, MODE_NEAREST, MODE_CUBIC };

typedef struct {
  laze_value index, weight, inside; /* of all places; weight and inside may be LAZE_VALUE_NONE: 1, true */
} tap;

typedef struct {
  laze_recorder *recorder;
  const laze_call *call;
  int dims, mode, padding;
  bool align;
  laze_type input, grid;
  tap taps[LAZE_MAX_WINDOW_DIMS][4]; /* of each axis */
  laze_error *error;
} sampling;

static laze_status with_number(const sampling *s, laze_op op, laze_value a, double number, laze_value *out) {
  return laze_compose_with_number(s->recorder, op, a, laze_scalar_real(number), out, s->error);
}

static laze_status binary(const sampling *s, laze_op op, laze_value a, laze_value b, laze_value *out) {
  return laze_compose_binary(s->recorder, op, a, b, out, s->error);
}

static laze_status choose(const sampling *s, laze_value condition, laze_value a, laze_value b, laze_value *out) {
  laze_value operands[] = {condition, a, b};
  return laze_record_call(s->recorder, LAZE_OP_WHERE_SELF, operands, 3, NULL, out, s->error);
}

static laze_status check(const sampling *s) {
  const laze_inference inference = {s->recorder->sizes, laze_compose_name(s->call), s->error};
  const int rank = s->dims + 2;
  bool fits = s->input.rank == rank && s->grid.rank == rank && s->input.dtype == s->grid.dtype &&
              laze_dtype_is_float((laze_dtype)s->input.dtype) && s->mode >= MODE_LINEAR &&
              s->mode <= (s->dims == 2 ? MODE_CUBIC : MODE_NEAREST) && s->padding >= PAD_ZEROS &&
              s->padding <= PAD_REFLECTION;
  if (fits) LAZE_TRY(laze_size_must_equal(s->recorder, s->input.sizes[0], s->grid.sizes[0], &fits, s->error));
  if (fits) LAZE_TRY(laze_size_must_equal(s->recorder, s->grid.sizes[rank - 1], s->dims, &fits, s->error));
  for (int i = 2; i < rank && fits; i++)
    LAZE_TRY(laze_size_must_be_at_most(s->recorder, 1, s->input.sizes[i], &fits, s->error));
  if (fits) return LAZE_OK;
  return laze_fail(s->error, LAZE_INVALID_ARGUMENT,
                   "%s: input is %s, grid %s, mode %d, padding mode %d; expected floats of %d dims, as many of both in "
                   "front, %d places in the last dim of grid, and modes of 0 to 2 (bicubic, 2, for images alone)",
                   inference.operator_name, laze_show(&inference, &s->input).text, laze_show(&inference, &s->grid).text,
                   s->mode, s->padding, rank, s->dims);
}

static laze_size size_of(const sampling *s, int dim) {
  return s->input.sizes[2 + dim];
}

/* The size of an axis, more by `more`, in the dtype of the grid. */
static laze_status size_as(const sampling *s, int dim, int64_t more, laze_value *out) {
  laze_size size;
  LAZE_TRY(laze_size_arithmetic(s->recorder, '+', size_of(s, dim), more, &size, s->error));
  LAZE_TRY(laze_compose_size(s->recorder, size, out, s->error));
  return laze_compose_to(s->recorder, *out, (laze_dtype)s->grid.dtype, out, s->error);
}

/* Places from -1 to 1 as places among the elements; where they are f32, half an element is taken off before rounding.
 */
static laze_status scale_places(const sampling *s, int dim, laze_value places, laze_value *out) {
  const laze_dtype dtype = (laze_dtype)s->grid.dtype, wide = dtype == LAZE_F32 ? LAZE_F64 : dtype;
  laze_value factor;
  LAZE_TRY(with_number(s, LAZE_OP_ADD, places, 1, out));
  LAZE_TRY(size_as(s, dim, s->align ? -1 : 0, &factor));
  LAZE_TRY(with_number(s, LAZE_OP_MUL, factor, 0.5, &factor));
  if (s->align) return binary(s, LAZE_OP_MUL, *out, factor, out);
  LAZE_TRY(laze_compose_to(s->recorder, *out, wide, out, s->error));
  LAZE_TRY(laze_compose_to(s->recorder, factor, wide, &factor, s->error));
  LAZE_TRY(binary(s, LAZE_OP_MUL, *out, factor, out));
  LAZE_TRY(with_number(s, LAZE_OP_SUB, *out, 0.5, out));
  return laze_compose_to(s->recorder, *out, dtype, out, s->error);
}

/* Mirrored at the first and last element, or half an element beyond them, as often as it takes. */
static laze_status reflect(const sampling *s, int dim, laze_value *places) {
  const double low = s->align ? 0 : -0.5;
  laze_value span, whole, rest, odd, back;
  bool one = false;
  if (s->align) LAZE_TRY(laze_size_may_equal(s->recorder, size_of(s, dim), 1, &one, s->error));
  if (one) return with_number(s, LAZE_OP_MUL, *places, 0, places);
  LAZE_TRY(size_as(s, dim, s->align ? -1 : 0, &span));
  LAZE_TRY(with_number(s, LAZE_OP_SUB, *places, low, places));
  LAZE_TRY(laze_compose_unary(s->recorder, LAZE_OP_ABS, *places, places, s->error));
  LAZE_TRY(binary(s, LAZE_OP_FMOD, *places, span, &rest));
  LAZE_TRY(binary(s, LAZE_OP_DIV, *places, span, &whole));
  LAZE_TRY(laze_compose_unary(s->recorder, LAZE_OP_FLOOR, whole, &whole, s->error));
  LAZE_TRY(with_number(s, LAZE_OP_FMOD, whole, 2, &odd));
  LAZE_TRY(with_number(s, LAZE_OP_NE, odd, 0, &odd));
  LAZE_TRY(binary(s, LAZE_OP_SUB, span, rest, &back));
  LAZE_TRY(choose(s, odd, back, rest, places));
  return with_number(s, LAZE_OP_ADD, *places, low, places);
}

/* Places beyond the elements, brought back as the padding mode says. */
static laze_status bring_back(const sampling *s, int dim, laze_value *places) {
  laze_value last;
  if (s->padding == PAD_ZEROS) return LAZE_OK;
  if (s->padding == PAD_REFLECTION) LAZE_TRY(reflect(s, dim, places));
  LAZE_TRY(size_as(s, dim, -1, &last));
  LAZE_TRY(with_number(s, LAZE_OP_MAXIMUM, *places, 0, places));
  return binary(s, LAZE_OP_MINIMUM, *places, last, places);
}

/* The element at whole places. */
static laze_status find_tap(const sampling *s, int dim, laze_value places, laze_value weight, tap *out) {
  laze_value last, end, behind, index;
  laze_size size;
  out->weight = weight;
  LAZE_TRY(size_as(s, dim, -1, &last));
  LAZE_TRY(with_number(s, LAZE_OP_GE, places, 0, &out->inside));
  LAZE_TRY(binary(s, LAZE_OP_LE, places, last, &behind));
  LAZE_TRY(binary(s, LAZE_OP_LOGICAL_AND, out->inside, behind, &out->inside));
  LAZE_TRY(laze_compose_to(s->recorder, places, LAZE_I64, &index, s->error));
  LAZE_TRY(laze_size_arithmetic(s->recorder, '-', size_of(s, dim), 1, &size, s->error));
  LAZE_TRY(laze_compose_size(s->recorder, size, &end, s->error));
  LAZE_TRY(binary(s, LAZE_OP_MINIMUM, index, end, &index));
  return laze_compose_with_number(s->recorder, LAZE_OP_MAXIMUM, index, laze_scalar_integer(0), &out->index, s->error);
}

/* The weights of the elements around places, by how far these lie behind the one in front of them. */
static laze_status find_weights(const sampling *s, laze_value places, laze_value floors, laze_value *out) {
  laze_value behind;
  LAZE_TRY(binary(s, LAZE_OP_SUB, places, floors, &out[1]));
  if (s->mode == MODE_CUBIC) return laze_compose_cubic_weights(s->recorder, out[1], out, s->error);
  LAZE_TRY(with_number(s, LAZE_OP_ADD, floors, 1, &behind));
  return binary(s, LAZE_OP_SUB, behind, places, &out[0]);
}

static int count_taps(const sampling *s) {
  return s->mode == MODE_NEAREST ? 1 : s->mode == MODE_CUBIC ? 4 : 2;
}

static laze_status find_taps(sampling *s, int dim, laze_value places) {
  const int count = count_taps(s);
  laze_value floors, weights[4];
  LAZE_TRY(scale_places(s, dim, places, &places));
  if (s->mode != MODE_CUBIC) LAZE_TRY(bring_back(s, dim, &places));
  if (s->mode == MODE_NEAREST) {
    LAZE_TRY(laze_compose_unary(s->recorder, LAZE_OP_ROUND, places, &places, s->error));
    return find_tap(s, dim, places, LAZE_VALUE_NONE, &s->taps[dim][0]);
  }
  LAZE_TRY(laze_compose_unary(s->recorder, LAZE_OP_FLOOR, places, &floors, s->error));
  LAZE_TRY(find_weights(s, places, floors, weights));
  for (int i = 0; i < count; i++) {
    laze_value place;
    LAZE_TRY(with_number(s, LAZE_OP_ADD, floors, i - (count == 4), &place));
    if (s->mode == MODE_CUBIC) LAZE_TRY(bring_back(s, dim, &place));
    LAZE_TRY(find_tap(s, dim, place, weights[i], &s->taps[dim][i]));
  }
  return LAZE_OK;
}

/* One tap of each axis, by the digits of `number`: the index among all elements of an image, whether it is one of them,
 * and the product of the weights, the last axis's first. */
static laze_status combine(const sampling *s, int number, tap *out) {
  const tap *taps[LAZE_MAX_WINDOW_DIMS] = {s->taps[0]};
  for (int dim = s->dims; dim-- > 0; number /= count_taps(s)) taps[dim] = &s->taps[dim][number % count_taps(s)];
  *out = *taps[0];
  for (int dim = 1; dim < s->dims; dim++) {
    laze_value size;
    LAZE_TRY(laze_compose_size(s->recorder, size_of(s, dim), &size, s->error));
    LAZE_TRY(binary(s, LAZE_OP_MUL, out->index, size, &out->index));
    LAZE_TRY(binary(s, LAZE_OP_ADD, out->index, taps[dim]->index, &out->index));
    LAZE_TRY(binary(s, LAZE_OP_LOGICAL_AND, out->inside, taps[dim]->inside, &out->inside));
  }
  out->weight = taps[s->dims - 1]->weight;
  for (int dim = s->dims - 1; dim-- > 0 && !laze_value_is_none(out->weight);)
    LAZE_TRY(binary(s, LAZE_OP_MUL, out->weight, taps[dim]->weight, &out->weight));
  return LAZE_OK;
}

/* A value of all places [n, p] for each channel. */
static laze_status for_channels(const sampling *s, const laze_size shape[3], laze_value value, laze_value *out) {
  LAZE_TRY(laze_compose_insert_axis(s->recorder, value, 1, out, s->error));
  return laze_compose_expand(s->recorder, *out, shape, 3, out, s->error);
}

/* *sum += element * weight, where there is one, of all places. */
static laze_status add_weighted(const sampling *s, const laze_size shape[3], laze_value element, laze_value weight,
                                laze_value *sum) {
  if (!laze_value_is_none(weight)) {
    LAZE_TRY(for_channels(s, shape, weight, &weight));
    LAZE_TRY(binary(s, LAZE_OP_MUL, element, weight, &element));
  }
  if (laze_value_is_none(*sum)) {
    *sum = element;
    return LAZE_OK;
  }
  return binary(s, LAZE_OP_ADD, *sum, element, sum);
}

/* The elements of images [n, c, h * w] at a combination of taps, 0 beyond their edges. */
static laze_status find_elements(const sampling *s, laze_value images, const laze_size shape[3], const tap *t,
                                 laze_value *out) {
  laze_attribute dim = laze_attribute_integer(2);
  laze_value operands[2] = {images}, inside, zero;
  LAZE_TRY(for_channels(s, shape, t->index, &operands[1]));
  LAZE_TRY(laze_record_call(s->recorder, LAZE_OP_GATHER, operands, 2, &dim, out, s->error));
  LAZE_TRY(for_channels(s, shape, t->inside, &inside));
  LAZE_TRY(laze_record_number(s->recorder, (laze_dtype)s->input.dtype, laze_scalar_integer(0), &zero, s->error));
  return choose(s, inside, *out, zero, out);
}

/* All combinations of taps; those of curves along each row first. */
static laze_status sum_taps(const sampling *s, laze_value images, const laze_size shape[3], laze_value *out) {
  const int count = count_taps(s);
  int combinations = 1;
  for (int dim = 0; dim < s->dims; dim++) combinations *= count;
  laze_value row = LAZE_VALUE_NONE, element;
  *out = LAZE_VALUE_NONE;
  for (int i = 0; i < combinations; i++) {
    tap together;
    LAZE_TRY(combine(s, i, &together));
    LAZE_TRY(find_elements(s, images, shape, &together, &element));
    if (s->mode != MODE_CUBIC) {
      LAZE_TRY(add_weighted(s, shape, element, together.weight, out));
      continue;
    }
    LAZE_TRY(add_weighted(s, shape, element, s->taps[1][i % count].weight, &row));
    if (i % count < count - 1) continue;
    LAZE_TRY(add_weighted(s, shape, row, s->taps[0][i / count].weight, out));
    row = LAZE_VALUE_NONE;
  }
  return LAZE_OK;
}

/* The places along an axis of the images, whose number is the last of the grid's, as [n, p]. */
static laze_status read_places(const sampling *s, int dim, const laze_size shape[3], laze_value *out) {
  const laze_size sizes[] = {shape[0], shape[2]};
  const int last = s->dims + 1, number = s->dims - 1 - dim;
  LAZE_TRY(laze_compose_slice(s->recorder, s->call->operands[1], last, number, number + 1, out, s->error));
  return laze_compose_reshape(s->recorder, *out, sizes, 2, out, s->error);
}

static laze_status sample_all(sampling *s, laze_value *out) {
  laze_size shape[3] = {s->input.sizes[0], s->input.sizes[1]}, flat[3] = {shape[0], shape[1]};
  laze_size sizes[LAZE_MAX_WINDOW_DIMS + 2] = {shape[0], shape[1]};
  laze_value images, places;
  LAZE_TRY(laze_size_product(s->recorder->sizes, s->input.sizes + 2, s->dims, &flat[2], s->error));
  LAZE_TRY(laze_size_product(s->recorder->sizes, s->grid.sizes + 1, s->dims, &shape[2], s->error));
  LAZE_TRY(laze_compose_reshape(s->recorder, s->call->operands[0], flat, 3, &images, s->error));
  for (int dim = 0; dim < s->dims; dim++) {
    LAZE_TRY(read_places(s, dim, shape, &places));
    LAZE_TRY(find_taps(s, dim, places));
    sizes[2 + dim] = s->grid.sizes[1 + dim];
  }
  LAZE_TRY(sum_taps(s, images, shape, out));
  return laze_compose_reshape(s->recorder, *out, sizes, s->dims + 2, out, s->error);
}

/* The attributes of all of them stand in the same order. */
static laze_status sample(laze_recorder *recorder, const laze_call *call, int dims, laze_value *results,
                          laze_error *error) {
  sampling s = {.recorder = recorder,
                .call = call,
                .dims = dims,
                .input = laze_compose_type(recorder, call->operands[0]),
                .grid = laze_compose_type(recorder, call->operands[1]),
                .error = error};
  const int64_t mode = call->attributes[LAZE_GRID_SAMPLER_2D_INTERPOLATION_MODE].value.integer,
                padding = call->attributes[LAZE_GRID_SAMPLER_2D_PADDING_MODE].value.integer;
  s.mode = mode < 0 || mode > MODE_CUBIC ? -1 : (int)mode;
  s.padding = padding < 0 || padding > PAD_REFLECTION ? -1 : (int)padding;
  s.align = call->attributes[LAZE_GRID_SAMPLER_2D_ALIGN_CORNERS].value.integer != 0;
  LAZE_TRY(check(&s));
  return sample_all(&s, results);
}

laze_status laze_composite_grid_sampler_2d(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                           laze_error *error) {
  return sample(recorder, call, 2, results, error);
}

laze_status laze_composite_grid_sampler_3d(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                           laze_error *error) {
  return sample(recorder, call, 3, results, error);
}

laze_status laze_composite_grid_sampler(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                        laze_error *error) {
  return sample(recorder, call, laze_recorder_type(recorder, call->operands[0])->rank == 5 ? 3 : 2, results, error);
}
