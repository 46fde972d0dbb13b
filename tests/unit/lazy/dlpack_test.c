/* DLPack, with structures as another library fills them: strides of any sign, offsets, and what laze does not have. */
#include "laze/buffer.h"
#include "laze/trace.h"
#include "support.h"

#include <stddef.h>

static laze_context *context;
static laze_scope *scope;
static int deleted; /* calls of the deleter */

static void begin(void) {
  context = new_context();
  scope = laze_scope_begin(context);
  deleted = 0;
}

static void end(laze_status expected) {
  ck_assert_int_eq(laze_scope_end(scope), expected);
  laze_context_release(context);
}

static void delete_unversioned(laze_dlpack_unversioned *self) {
  (void)self;
  deleted++;
}

static void delete_versioned(laze_dlpack_versioned *self) {
  (void)self;
  deleted++;
}

/* f32 of any rank. */
static laze_dlpack_tensor of_floats(void *data, int32_t rank, int64_t *sizes, int64_t *strides) {
  return (laze_dlpack_tensor){.data = data,
                              .device_type = LAZE_DLPACK_CPU,
                              .ndim = rank,
                              .code = LAZE_DLPACK_FLOAT,
                              .bits = 32,
                              .lanes = 1,
                              .shape = sizes,
                              .strides = strides};
}

/* The structure must stay until the tensor has gone. */
static laze_tensor *import(laze_dlpack_versioned *managed, laze_dlpack_tensor tensor) {
  *managed = (laze_dlpack_versioned){.major = 1, .minor = 1, .deleter = delete_versioned, .tensor = tensor};
  return laze_tensor_from_dlpack(context, LAZE_DLPACK_VERSIONED, managed);
}

static void assert_reads(laze_tensor *tensor, const double *expected, int64_t count) {
  double values[64];
  ck_assert_msg(laze_tensor_elements(tensor) == count, "%s", laze_tensor_error(tensor));
  ck_assert_int_eq(laze_tensor_read(tensor, LAZE_F64, values, (size_t)count * sizeof *values), LAZE_OK);
  for (int64_t i = 0; i < count; i++) ck_assert_msg(values[i] == expected[i], "%d: %g", (int)i, values[i]);
}

/* Out and in again, in both layouts: the same memory, and its release is heard. */
START_TEST(memory_goes_round_without_a_copy) {
  begin();
  static const float elements[] = {1, 2, 3, 4, 5, 6};
  const double expected[] = {1, 2, 3, 4, 5, 6};
  for (int32_t version = 0; version < 2; version++) {
    laze_tensor *x = laze_tensor_borrow(context, LAZE_F32, LAZE_SHAPE(2, 3), elements, sizeof elements, NULL, NULL);
    void *managed;
    ck_assert_int_eq(laze_tensor_to_dlpack(x, version, &managed, NULL), LAZE_OK);
    const laze_dlpack_versioned *versioned = managed;
    const laze_dlpack_tensor *tensor = version ? &versioned->tensor : &((laze_dlpack_unversioned *)managed)->tensor;
    if (version) ck_assert(versioned->major == 1 && (versioned->flags & LAZE_DLPACK_READ_ONLY));
    ck_assert_ptr_eq(tensor->data, elements);
    ck_assert(tensor->ndim == 2 && tensor->shape[0] == 2 && tensor->shape[1] == 3);
    ck_assert(tensor->strides[0] == 3 && tensor->strides[1] == 1 && tensor->byte_offset == 0);
    ck_assert(tensor->device_type == LAZE_DLPACK_CPU && tensor->device_id == 0);
    ck_assert(tensor->code == LAZE_DLPACK_FLOAT && tensor->bits == 32 && tensor->lanes == 1);
    laze_tensor *back = laze_tensor_from_dlpack(context, version, managed);
    laze_export out;
    ck_assert_int_eq(laze_tensor_export(back, &out, NULL), LAZE_OK);
    ck_assert_ptr_eq(out.data, elements);
    laze_export_release(&out);
    assert_reads(back, expected, 6);
  }
  end(LAZE_OK);
}
END_TEST

/* The layout is an ABI: a pointer in the wrong place would be followed by another library. */
START_TEST(structures_lie_as_specified) {
  ck_assert_uint_eq(sizeof(laze_dlpack_tensor), 48);
  ck_assert_uint_eq(offsetof(laze_dlpack_tensor, ndim), 16);
  ck_assert_uint_eq(offsetof(laze_dlpack_tensor, shape), 24);
  ck_assert_uint_eq(offsetof(laze_dlpack_tensor, byte_offset), 40);
  ck_assert_uint_eq(offsetof(laze_dlpack_unversioned, context), 48);
  ck_assert_uint_eq(offsetof(laze_dlpack_unversioned, deleter), 56);
  ck_assert_uint_eq(offsetof(laze_dlpack_versioned, deleter), 16);
  ck_assert_uint_eq(offsetof(laze_dlpack_versioned, flags), 24);
  ck_assert_uint_eq(offsetof(laze_dlpack_versioned, tensor), 32);
}
END_TEST

static laze_dlpack_tensor tensor_of(void *managed) {
  return ((laze_dlpack_versioned *)managed)->tensor;
}

START_TEST(dtypes_have_their_codes) {
  static const struct {
    laze_dtype dtype;
    uint8_t code, bits;
  } rows[] = {{LAZE_BOOL, 6, 8}, {LAZE_I8, 0, 8},   {LAZE_I16, 0, 16}, {LAZE_U8, 1, 8},    {LAZE_U16, 1, 16},
              {LAZE_U32, 1, 32}, {LAZE_U64, 1, 64}, {LAZE_F16, 2, 16}, {LAZE_BF16, 4, 16}, {LAZE_I32, 0, 32},
              {LAZE_I64, 0, 64}, {LAZE_F32, 2, 32}, {LAZE_F64, 2, 64}};
  begin();
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    void *managed;
    laze_tensor *x = laze_tensor_from_scalar(context, rows[i].dtype, laze_scalar_integer(1));
    ck_assert_int_eq(laze_tensor_to_dlpack(x, LAZE_DLPACK_VERSIONED, &managed, NULL), LAZE_OK);
    ck_assert_int_eq(tensor_of(managed).code, rows[i].code);
    ck_assert_int_eq(tensor_of(managed).bits, rows[i].bits);
    laze_tensor *back = laze_tensor_from_dlpack(context, LAZE_DLPACK_VERSIONED, managed);
    ck_assert_int_eq(laze_tensor_dtype(back), rows[i].dtype);
    ck_assert_int_eq(laze_tensor_rank(back), 0);
    ck_assert(laze_tensor_item(back) == 1);
  }
  void *empty;
  laze_tensor *none = laze_tensor_from_data(context, LAZE_F32, LAZE_SHAPE(3, 0), NULL, 0);
  ck_assert_int_eq(laze_tensor_to_dlpack(none, LAZE_DLPACK_VERSIONED, &empty, NULL), LAZE_OK);
  ck_assert_ptr_null(tensor_of(empty).data);
  ck_assert_int_eq(laze_tensor_size(laze_tensor_from_dlpack(context, LAZE_DLPACK_VERSIONED, empty), 0), 3);
  end(LAZE_OK);
}
END_TEST

/* Views of other libraries: transposed, reversed, repeated, cut out, and one row of many. */
START_TEST(strides_are_copied) {
  begin();
  float data[] = {0, 1, 2, 3, 4, 5};
  const struct {
    int32_t rank;
    int64_t sizes[3], strides[3];
    int64_t first; /* element */
    int64_t count;
    double expected[8];
  } views[] = {
      {2, {3, 2}, {1, 3}, 0, 6, {0, 3, 1, 4, 2, 5}},
      {1, {6}, {-1}, 5, 6, {5, 4, 3, 2, 1, 0}},
      {2, {2, 2}, {-3, -2}, 5, 4, {5, 3, 2, 0}},
      {2, {2, 3}, {0, 1}, 0, 6, {0, 1, 2, 0, 1, 2}},
      {1, {4}, {0}, 3, 4, {3, 3, 3, 3}},
      {2, {2, 2}, {3, 1}, 1, 4, {1, 2, 4, 5}},
      {3, {2, 1, 2}, {2, 100, 3}, 0, 4, {0, 3, 2, 5}},
  };
  for (size_t i = 0; i < sizeof views / sizeof *views; i++) {
    int64_t sizes[3], strides[3];
    memcpy(sizes, views[i].sizes, sizeof sizes);
    memcpy(strides, views[i].strides, sizeof strides);
    laze_dlpack_versioned managed;
    laze_dlpack_tensor view = of_floats(data, views[i].rank, sizes, strides);
    view.byte_offset = (uint64_t)views[i].first * sizeof(float);
    deleted = 0;
    laze_tensor *x = import(&managed, view);
    ck_assert_int_eq(deleted, 1); /* copied: given back at once */
    assert_reads(x, views[i].expected, views[i].count);
  }
  end(LAZE_OK);
}
END_TEST

/* Where an axis of one element has its stride does not matter, nor do strides without elements. */
START_TEST(what_is_row_major_is_borrowed) {
  begin();
  float data[] = {0, 1, 2, 3, 4, 5};
  const double expected[] = {2, 3, 4, 5};
  int64_t sizes[] = {1, 4}, strides[] = {77, 1};
  laze_dlpack_tensor row = of_floats(data, 2, sizes, strides);
  row.byte_offset = 2 * sizeof(float);
  laze_dlpack_versioned managed;
  laze_tensor *x = import(&managed, row);
  ck_assert_int_eq(deleted, 0);
  assert_reads(x, expected, 4);
  int64_t none[] = {3, 0}, odd[] = {INT64_MIN, 9};
  laze_dlpack_versioned empty;
  ck_assert_int_eq(laze_tensor_elements(import(&empty, of_floats(NULL, 2, none, odd))), 0);
  laze_dlpack_unversioned simple = {.tensor = of_floats(data, 1, &sizes[1], NULL)}; /* without strides or deleter */
  const double start[] = {0, 1, 2, 3};
  assert_reads(laze_tensor_from_dlpack(context, LAZE_DLPACK_UNVERSIONED, &simple), start, 4);
  ck_assert_int_eq(laze_scope_end(scope), LAZE_OK);
  ck_assert_int_eq(deleted, 2);
  laze_context_release(context);
}
END_TEST

/* Memory that is not aligned, or bools of any byte, are for others to have: here they are copied. */
START_TEST(what_kernels_cannot_read_is_copied) {
  begin();
  _Alignas(8) char bytes[1 + 2 * sizeof(float)];
  const float elements[] = {1.5f, -2};
  const double expected[] = {1.5, -2}, truths[] = {1, 0, 1};
  memcpy(bytes + 1, elements, sizeof elements);
  int64_t two[] = {2}, three[] = {3}, one[] = {1};
  laze_dlpack_versioned managed;
  laze_tensor *x = import(&managed, of_floats(bytes + 1, 1, two, one));
  ck_assert_int_eq(deleted, 1);
  assert_reads(x, expected, 2);
  uint8_t odd[] = {255, 0, 2};
  laze_dlpack_tensor bools = of_floats(odd, 1, three, NULL);
  bools.code = LAZE_DLPACK_BOOL;
  bools.bits = 8;
  x = import(&managed, bools);
  ck_assert_int_eq(deleted, 2);
  assert_reads(x, truths, 3);
  end(LAZE_OK);
}
END_TEST

static void refuses(laze_dlpack_tensor tensor, laze_status expected, const char *part) {
  laze_dlpack_versioned managed;
  deleted = 0;
  laze_tensor *x = import(&managed, tensor);
  ck_assert_int_eq(deleted, 1);
  ck_assert_msg(strstr(laze_tensor_error(x), part) != NULL, "'%s' lacks '%s'", laze_tensor_error(x), part);
  ck_assert_int_eq(laze_tensor_status(x), expected);
}

START_TEST(wrong_structures_are_errors) {
  begin();
  float data[6] = {0};
  int64_t sizes[] = {2, 3}, strides[] = {3, 1}, negative[] = {2, -3}, far[] = {INT64_MAX / 2, 1}, many[17] = {1};
  laze_dlpack_tensor good = of_floats(data, 2, sizes, strides), bad = good;
  bad.device_type = 2;
  refuses(bad, LAZE_UNSUPPORTED, "device of type 2");
  bad = good;
  bad.lanes = 4;
  refuses(bad, LAZE_UNSUPPORTED, "4 lanes");
  bad = good;
  bad.code = 5; /* complex */
  refuses(bad, LAZE_UNSUPPORTED, "code 5 with 32 bits");
  bad = good;
  bad.bits = 7;
  refuses(bad, LAZE_UNSUPPORTED, "7 bits");
  bad = good;
  bad.data = NULL;
  refuses(bad, LAZE_INVALID_ARGUMENT, "data is NULL");
  bad = good;
  bad.shape = NULL;
  refuses(bad, LAZE_INVALID_ARGUMENT, "without sizes");
  bad = good;
  bad.ndim = -1;
  refuses(bad, LAZE_OUT_OF_RANGE, "rank");
  refuses(of_floats(data, 17, many, NULL), LAZE_OUT_OF_RANGE, "rank");
  refuses(of_floats(data, 2, negative, NULL), LAZE_OUT_OF_RANGE, "-3");
  refuses(of_floats(data, 2, sizes, far), LAZE_INVALID_ARGUMENT, "leads out of memory");

  laze_dlpack_versioned newer = {.major = 2, .deleter = delete_versioned, .tensor = good};
  deleted = 0;
  laze_tensor *x = laze_tensor_from_dlpack(context, LAZE_DLPACK_VERSIONED, &newer);
  ck_assert_ptr_nonnull(strstr(laze_tensor_error(x), "DLPack 2.0"));
  ck_assert_int_eq(deleted, 1);
  laze_dlpack_unversioned older = {.deleter = delete_unversioned, .tensor = bad};
  ck_assert_int_eq(laze_tensor_rank(laze_tensor_from_dlpack(context, LAZE_DLPACK_UNVERSIONED, &older)), -1);
  ck_assert_int_eq(deleted, 2);
  ck_assert_int_eq(laze_tensor_rank(laze_tensor_from_dlpack(context, 7, &older)), -1);
  ck_assert_int_eq(deleted, 2);
  ck_assert_int_eq(laze_tensor_rank(laze_tensor_from_dlpack(context, LAZE_DLPACK_VERSIONED, NULL)), -1);
  void *managed = &older;
  laze_error error;
  laze_tensor *number = laze_tensor_from_scalar(context, LAZE_F32, laze_scalar_real(1));
  ck_assert_int_eq(laze_tensor_to_dlpack(number, 7, &managed, &error), LAZE_INVALID_ARGUMENT);
  ck_assert_ptr_null(managed);
  ck_assert_int_eq(laze_tensor_to_dlpack(NULL, LAZE_DLPACK_VERSIONED, &managed, &error), LAZE_INVALID_ARGUMENT);
  ck_assert_int_eq(laze_tensor_to_dlpack(number, 1, NULL, &error), LAZE_INVALID_ARGUMENT);
  ck_assert_int_ne(laze_scope_end(scope), LAZE_OK);
  laze_context_release(context);
}
END_TEST

/* What others may look at is neither written nor given to another value as long as they may: an export counts as a
 * reference of its array, from whichever thread it comes back. */
START_TEST(arrays_go_round_without_a_copy) {
  begin();
  for (int32_t version = 0; version < 2; version++) {
    laze_array *x, *back;
    void *managed;
    ck_assert_int_eq(laze_array_from_data(context, LAZE_I16, LAZE_SHAPE(3), (int16_t[]){1, 2, 3}, 6, &x, NULL),
                     LAZE_OK);
    ck_assert_ptr_nonnull(laze_array_writable(x));
    ck_assert_int_eq(laze_array_to_dlpack(x, version, &managed, NULL), LAZE_OK);
    ck_assert_ptr_null(laze_array_writable(x));
    ck_assert_int_eq(laze_array_from_dlpack(context, version, managed, &back, NULL), LAZE_OK);
    ck_assert_ptr_eq(laze_array_data(back), laze_array_data(x));
    ck_assert(laze_array_dtype(back) == LAZE_I16 && laze_array_sizes(back).count == 1);
    ck_assert_ptr_null(laze_array_writable(back)); /* it is somebody else's */
    laze_array_release(back);
    ck_assert_ptr_nonnull(laze_array_writable(x));
    ck_assert_int_eq(laze_array_to_dlpack(x, version, &managed, NULL), LAZE_OK);
    laze_array_release(x); /* the export keeps the memory */
    ck_assert_int_eq(laze_array_from_dlpack(context, version, managed, &x, NULL), LAZE_OK);
    ck_assert_int_eq(((const int16_t *)laze_array_data(x))[2], 3);
    laze_array_release(x);
  }
  end(LAZE_OK);
}
END_TEST

/* A structure belongs to the library whatever it thinks of it. */
START_TEST(arrays_refuse_wrong_structures) {
  begin();
  int64_t size = 2;
  float data[2] = {1, 2};
  laze_array *out = (laze_array *)(void *)data;
  laze_error error;
  laze_dlpack_versioned managed = {.major = 1, .deleter = delete_versioned, .tensor = of_floats(data, 1, &size, NULL)};
  managed.tensor.device_type = 2;
  ck_assert_int_eq(laze_array_from_dlpack(context, LAZE_DLPACK_VERSIONED, &managed, &out, &error), LAZE_UNSUPPORTED);
  ck_assert_ptr_nonnull(strstr(error.message, "laze_array_from_dlpack: the memory is on a device of type 2"));
  ck_assert_ptr_null(out);
  ck_assert_int_eq(deleted, 1);
  managed.tensor.device_type = LAZE_DLPACK_CPU;
  ck_assert_int_eq(laze_array_from_dlpack(context, LAZE_DLPACK_VERSIONED, &managed, NULL, &error),
                   LAZE_INVALID_ARGUMENT);
  ck_assert_int_eq(deleted, 2);
  ck_assert_int_eq(laze_array_from_dlpack(context, 7, &managed, &out, &error), LAZE_INVALID_ARGUMENT);
  ck_assert_int_eq(laze_array_from_dlpack(context, LAZE_DLPACK_VERSIONED, NULL, &out, &error), LAZE_INVALID_ARGUMENT);
  ck_assert_int_eq(deleted, 2); /* nobody knows what would delete these */
  void *given = data;
  ck_assert_int_eq(laze_array_to_dlpack(NULL, LAZE_DLPACK_VERSIONED, &given, &error), LAZE_INVALID_ARGUMENT);
  ck_assert_ptr_null(given);
  laze_array *x;
  ck_assert_int_eq(laze_array_create(context, LAZE_F32, LAZE_SHAPE(2), &x, NULL), LAZE_OK);
  ck_assert_int_eq(laze_array_to_dlpack(x, 7, &given, &error), LAZE_INVALID_ARGUMENT);
  ck_assert_ptr_nonnull(strstr(error.message, "laze_array_to_dlpack: version is 7"));
  ck_assert_ptr_nonnull(laze_array_writable(x)); /* nothing holds it */
  laze_array_release(x);
  end(LAZE_OK);
}
END_TEST

int main(void) {
  const TTest *const tests[] = {memory_goes_round_without_a_copy, structures_lie_as_specified,
                                dtypes_have_their_codes,          strides_are_copied,
                                what_is_row_major_is_borrowed,    what_kernels_cannot_read_is_copied,
                                wrong_structures_are_errors,      arrays_go_round_without_a_copy,
                                arrays_refuse_wrong_structures};
  return run_tests("dlpack", tests, sizeof tests / sizeof *tests);
}
