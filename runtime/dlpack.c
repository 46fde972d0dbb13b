/* DLPack both ways.
 *
 *   out   a reference of an array, in a structure whose deleter gives it back
 *   in    row-major memory of the CPU is borrowed, and the deleter called when its buffer goes; what lies otherwise is
 *         copied, and the deleter called at once:
 *
 *         strides (1, 3)   0 3  ->  0 3 1 4 2 5
 *                          1 4
 *                          2 5
 */
#include "runtime/dlpack.h"

#include "base/checked.h"
#include "base/context.h"
#include "base/dtype.h"

#include <string.h>

/* Of a dtype: -1 where DLPack has none. */
static int code_of(laze_dtype dtype) {
  switch (laze_dtype_kind(dtype)) {
  case LAZE_KIND_NONE: break;
  case LAZE_KIND_BOOL: return LAZE_DLPACK_BOOL;
  case LAZE_KIND_SIGNED: return LAZE_DLPACK_SIGNED;
  case LAZE_KIND_UNSIGNED: return LAZE_DLPACK_UNSIGNED;
  case LAZE_KIND_FLOAT: return dtype == LAZE_BF16 ? LAZE_DLPACK_BFLOAT : LAZE_DLPACK_FLOAT;
  case LAZE_KIND_COMPLEX: return LAZE_DLPACK_COMPLEX;
  }
  return -1;
}

static uint8_t bits_of(laze_dtype dtype) {
  return (uint8_t)(8 * laze_dtype_size(dtype)); /* of its memory, which a bool has a byte of */
}

/* Out */

/* A structure that was given out; the one its deleter gets is the first member. */
typedef struct {
  union {
    laze_dlpack_unversioned unversioned;
    laze_dlpack_versioned versioned;
  } managed;
  laze_array *array;
  int64_t strides[];
} given_out;

static void give_back(given_out *given) {
  laze_array *array = given->array;
  laze_free(array->context, given);
  laze_array_release(array); /* with it may go the context */
}

static void delete_unversioned(laze_dlpack_unversioned *self) {
  give_back((given_out *)self);
}

static void delete_versioned(laze_dlpack_versioned *self) {
  give_back((given_out *)self);
}

static laze_dlpack_tensor describe(given_out *given) {
  const laze_type *type = &given->array->type;
  const int64_t size = laze_array_bytes(given->array);
  int64_t stride = 1; /* of one behind another without a gap; without elements any will do */
  for (int32_t i = type->rank; i-- > 0;) {
    given->strides[i] = stride;
    if (size > 0) stride *= type->sizes[i];
  }
  return (laze_dlpack_tensor){.data = size > 0 ? given->array->buffer->data : NULL,
                              .device_type = LAZE_DLPACK_CPU,
                              .ndim = type->rank,
                              .code = (uint8_t)code_of(type->dtype),
                              .bits = bits_of(type->dtype),
                              .lanes = 1,
                              .shape = given->array->type.sizes,
                              .strides = given->strides};
}

static laze_status check_version(const char *function, int32_t version, laze_error *error) {
  if (version == LAZE_DLPACK_UNVERSIONED || version == LAZE_DLPACK_VERSIONED) return LAZE_OK;
  return laze_fail(error, LAZE_INVALID_ARGUMENT,
                   "%s: version is %d; use LAZE_DLPACK_VERSIONED, or LAZE_DLPACK_UNVERSIONED for older libraries",
                   function, (int)version);
}

static laze_status make(laze_array *array, int32_t version, void **managed, laze_error *error) {
  const int64_t size = (int64_t)sizeof(given_out) + array->type.rank * (int64_t)sizeof(int64_t);
  given_out *given = laze_alloc_zero(array->context, size);
  if (!given) return laze_fail_memory(error, "a DLPack structure", size);
  given->array = array;
  if (version == LAZE_DLPACK_VERSIONED)
    given->managed.versioned = (laze_dlpack_versioned){.major = LAZE_DLPACK_MAJOR,
                                                       .deleter = delete_versioned,
                                                       .flags = LAZE_DLPACK_READ_ONLY,
                                                       .tensor = describe(given)};
  else
    given->managed.unversioned = (laze_dlpack_unversioned){.deleter = delete_unversioned, .tensor = describe(given)};
  *managed = given;
  return LAZE_OK;
}

laze_status laze_dlpack_give(const char *function, laze_array *array, int32_t version, void **managed,
                             laze_error *error) {
  *managed = NULL;
  laze_status status = check_version(function, version, error);
  if (status == LAZE_OK) status = make(array, version, managed, error);
  if (status != LAZE_OK) laze_array_release(array);
  return status;
}

laze_status laze_array_to_dlpack(laze_array *array, int32_t version, void **managed, laze_error *error) {
  if (managed) *managed = NULL;
  if (!array || !managed)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "laze_array_to_dlpack: array and managed must not be NULL");
  laze_array_retain(array);
  return laze_dlpack_give("laze_array_to_dlpack", array, version, managed, error);
}

/* In */

static void release_unversioned(void *self) {
  laze_dlpack_unversioned *managed = self;
  if (managed->deleter) managed->deleter(managed);
}

static void release_versioned(void *self) {
  laze_dlpack_versioned *managed = self;
  if (managed->deleter) managed->deleter(managed);
}

/* What was taken in. */
typedef struct {
  const char *function;
  const laze_dlpack_tensor *tensor; /* NULL: a structure of another layout */
  laze_type type;
  const char *data; /* the first element */
  int64_t elements, size;
} taken_in;

static laze_status find_tensor(int32_t version, const void *managed, taken_in *out, laze_error *error) {
  LAZE_TRY(check_version(out->function, version, error));
  if (!managed) return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: managed is NULL", out->function);
  const laze_dlpack_versioned *versioned = version == LAZE_DLPACK_VERSIONED ? managed : NULL;
  if (versioned && versioned->major != LAZE_DLPACK_MAJOR)
    return laze_fail(error, LAZE_UNSUPPORTED, "%s: the structure is of DLPack %u.%u; ask for version %d of it",
                     out->function, (unsigned)versioned->major, (unsigned)versioned->minor, LAZE_DLPACK_MAJOR);
  out->tensor = versioned ? &versioned->tensor : &((const laze_dlpack_unversioned *)managed)->tensor;
  return LAZE_OK;
}

static laze_status find_dtype(const taken_in *in, laze_dtype *out, laze_error *error) {
  const laze_dlpack_tensor *tensor = in->tensor;
  for (laze_dtype dtype = 1; dtype < LAZE_DTYPE_BOUND; dtype++) {
    if (!laze_dtype_is_valid(dtype) || code_of(dtype) != tensor->code) continue;
    *out = dtype;
    if (bits_of(dtype) == tensor->bits && tensor->lanes == 1) return LAZE_OK;
  }
  return laze_fail(error, LAZE_UNSUPPORTED,
                   "%s: elements of DLPack's type code %d with %d bits and %d lanes; there are %s here: convert them "
                   "first",
                   in->function, (int)tensor->code, (int)tensor->bits, (int)tensor->lanes,
                   laze_dtype_list(LAZE_DTYPE_ALL, LAZE_NAME_SHORT, " and ").text);
}

static laze_status check_tensor(taken_in *in, laze_error *error) {
  const laze_dlpack_tensor *tensor = in->tensor;
  laze_dtype dtype = LAZE_DTYPE_NONE;
  if (tensor->device_type != LAZE_DLPACK_CPU)
    return laze_fail(error, LAZE_UNSUPPORTED,
                     "%s: the memory is on a device of type %d, not the CPU's (%d): copy it there", in->function,
                     (int)tensor->device_type, LAZE_DLPACK_CPU);
  LAZE_TRY(find_dtype(in, &dtype, error));
  if (tensor->ndim > 0 && !tensor->shape)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: rank %d without sizes", in->function, (int)tensor->ndim);
  LAZE_TRY(laze_type_init(&in->type, in->function, dtype, tensor->ndim, tensor->shape, error));
  LAZE_TRY(laze_type_elements(NULL, &in->type, &in->elements, error));
  in->size = in->elements * laze_dtype_size(dtype); /* fits: laze_type_init has checked it */
  if (in->elements > 0 && !tensor->data)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: data is NULL", in->function);
  if (in->elements > 0) in->data = (const char *)((uintptr_t)tensor->data + (uintptr_t)tensor->byte_offset);
  return LAZE_OK;
}

/* Whether the elements follow one another without a gap. */
static bool is_row_major(const taken_in *in) {
  int64_t expected = 1;
  if (in->elements == 0 || !in->tensor->strides) return true;
  for (int i = in->type.rank; i-- > 0;) {
    if (in->type.sizes[i] == 1) continue;
    if (in->tensor->strides[i] != expected) return false;
    expected *= in->type.sizes[i];
  }
  return true;
}

/* Kernels rely on bools to be 0 or 1. */
static bool has_valid_bools(const taken_in *in) {
  if (in->type.dtype != LAZE_BOOL) return true;
  for (int64_t i = 0; i < in->size; i++)
    if ((uint8_t)in->data[i] > 1) return false;
  return true;
}

static bool can_be_borrowed(const taken_in *in) {
  return (uintptr_t)in->data % (uintptr_t)laze_dtype_size(in->type.dtype) == 0 && is_row_major(in) &&
         has_valid_bools(in);
}

/* Bytes from one element to the next along each axis, of which no sum leaves 63 bits. There are elements. */
static laze_status find_steps(const taken_in *in, int64_t steps[LAZE_MAX_RANK], laze_error *error) {
  int64_t low = 0, high = 0, next = laze_dtype_size(in->type.dtype);
  for (int i = in->type.rank; i-- > 0;) {
    int64_t extent, *end;
    steps[i] = next;
    if (!in->tensor->strides) next *= in->type.sizes[i]; /* fits, as the tensor's bytes do */
    bool fits =
        !in->tensor->strides || !laze_mul_overflows(in->tensor->strides[i], laze_dtype_size(in->type.dtype), &steps[i]);
    fits = fits && !laze_mul_overflows(steps[i], in->type.sizes[i], &extent);
    if (fits) {
      end = extent < 0 ? &low : &high;
      fits = !laze_add_overflows(*end, extent, end);
    }
    if (!fits)
      return laze_fail(error, LAZE_INVALID_ARGUMENT,
                       "%s: axis %d of size %lld has the stride %lld, which leads out of memory", in->function, i,
                       (long long)in->type.sizes[i], (long long)in->tensor->strides[i]);
  }
  return LAZE_OK;
}

/* One run along the last axis. */
static void copy_run(const laze_type *type, const char *from, int64_t step, int64_t count, char *to) {
  size_t size = (size_t)laze_dtype_size(type->dtype);
  for (int64_t i = 0; i < count; i++, to += size) {
    if (type->dtype == LAZE_BOOL)
      *to = from[i * step] != 0;
    else
      memcpy(to, from + i * step, size);
  }
}

/* There are elements. */
static void copy_elements(const taken_in *in, const int64_t steps[LAZE_MAX_RANK], char *to) {
  const laze_type *type = &in->type;
  int last = type->rank - 1;
  int64_t index[LAZE_MAX_RANK] = {0}, offset = 0, run = type->rank > 0 ? type->sizes[last] : 1;
  for (int64_t done = 0; done < in->elements; done += run) {
    copy_run(type, in->data + offset, type->rank > 0 ? steps[last] : 0, run, to);
    to += run * laze_dtype_size(type->dtype);
    for (int i = last - 1; i >= 0; i--) {
      offset += steps[i];
      if (++index[i] < type->sizes[i]) break;
      offset -= steps[i] * type->sizes[i];
      index[i] = 0;
    }
  }
}

static laze_status copy_in(laze_context *context, const taken_in *in, laze_buffer **out, laze_error *error) {
  int64_t steps[LAZE_MAX_RANK];
  LAZE_TRY(find_steps(in, steps, error));
  LAZE_TRY(laze_buffer_create(context, in->size, out, error));
  copy_elements(in, steps, (*out)->data);
  return LAZE_OK;
}

laze_status laze_dlpack_take(const char *function, laze_context *context, int32_t version, void *managed,
                             laze_type *type, laze_buffer **out, laze_error *error) {
  void (*release)(void *self) = version == LAZE_DLPACK_VERSIONED ? release_versioned : release_unversioned;
  const bool is_known = managed && check_version(function, version, NULL) == LAZE_OK; /* or else, what deletes it? */
  taken_in in = {.function = function};
  *out = NULL;
  laze_status status =
      context ? find_tensor(version, managed, &in, error) : laze_fail_memory(error, "the default context", -1);
  if (status == LAZE_OK) status = check_tensor(&in, error);
  *type = in.type;
  if (status == LAZE_OK && can_be_borrowed(&in)) {
    status = laze_buffer_lend(context, (void *)(uintptr_t)in.data, in.size, release, managed, out, error);
    if (status == LAZE_OK) return LAZE_OK;
  } else if (status == LAZE_OK) {
    status = copy_in(context, &in, out, error);
  }
  if (is_known) release(managed);
  return status;
}

laze_status laze_array_from_dlpack(laze_context *context, int32_t version, void *managed, laze_array **out,
                                   laze_error *error) {
  static const char function[] = "laze_array_from_dlpack";
  laze_type type;
  laze_buffer *buffer;
  laze_array *unwanted;
  if (!context) context = laze_context_default();
  if (out) *out = NULL;
  LAZE_TRY(laze_dlpack_take(function, context, version, managed, &type, &buffer, error));
  const laze_status status = laze_array_wrap(context, &type, buffer, out ? out : &unwanted, error);
  if (out || status != LAZE_OK) return status;
  laze_array_release(unwanted);
  return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: out is NULL", function);
}
