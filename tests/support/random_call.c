#include "tests/support/random_call.h"

#include "base/dtype.h"
#include "ir/attribute.h"
#include "ir/op.gen.h"
#include "tests/support/cases.h"

#include <stdio.h>
#include <string.h>

enum { MAX_CALL_ATTRIBUTES = 8 };

/* One call while its arguments are chosen. */
typedef struct {
  test_caller *caller;
  const laze_op_info *info;
  laze_type self; /* of operand 0; rank 0 where there is none */
  laze_value operands[TEST_CALL_OPERANDS];
  int32_t operand_count;
  int32_t segments[TEST_CALL_OPERANDS];
  laze_attribute attributes[MAX_CALL_ATTRIBUTES];
  int64_t items[MAX_CALL_ATTRIBUTES][LAZE_MAX_RANK];
  int64_t dim; /* chosen for `dim`, wrapped */
} random_call;

static int64_t below(const random_call *call, int64_t bound) {
  return test_random_below(call->caller->random, bound);
}
static bool one_in(const random_call *call, int n) {
  return test_random_one_in(call->caller->random, n);
}
static bool is_base(const random_call *call, const char *name) {
  return strcmp(call->info->base, name) == 0;
}

laze_dtype test_random_dtype(test_random *random) {
  /* A tutorial puts one more into a line (docs/extending.md). */
  /* clang-format off */
  static const laze_dtype dtypes[] = {LAZE_F32, LAZE_F32, LAZE_F32, LAZE_F64, LAZE_F64, LAZE_I32, LAZE_I32, LAZE_I64,
                                      LAZE_I64, LAZE_I8, LAZE_I16, LAZE_U8, LAZE_U16, LAZE_U32, LAZE_U64,
                                      LAZE_BOOL, LAZE_BOOL, LAZE_F16, LAZE_BF16, LAZE_C64, LAZE_C128};
  /* clang-format on */
  return dtypes[test_random_below(random, sizeof dtypes / sizeof *dtypes)];
}

int32_t test_random_shape(test_random *random, int64_t *sizes, int32_t most_rank, test_shapes shapes) {
  static const int64_t common[] = {1, 1, 2, 3, 3, 5, 7};
  static const int64_t rare[] = {0, 13, 17, 33, 70, 130, 2100};
  static const int64_t large[] = {1, 7, 33, 130, 300, 2100, 40000};
  int32_t rank = (int32_t)test_random_below(random, most_rank + 1);
  for (int32_t i = 0; i < rank; i++) {
    bool is_rare = test_random_one_in(random, shapes == TEST_SHAPES_WIDE && i == rank - 1 ? 2 : 12);
    const int64_t *sizes_from = shapes == TEST_SHAPES_LARGE ? large : is_rare ? rare : common;
    sizes[i] = sizes_from[test_random_below(random, 7)];
  }
  return rank;
}

void test_caller_init(test_caller *caller, laze_graph *graph, test_random *random) {
  *caller = (test_caller){.graph = graph, .random = random, .most_elements = 4200};
  laze_builder_init(&caller->builder, graph, graph->body);
}

static void add_to_pool(test_caller *caller, laze_value value) {
  if (caller->real && laze_dtype_is_complex((laze_dtype)laze_graph_type(caller->graph, value)->dtype)) return;
  if (caller->count < TEST_POOL) caller->pool[caller->count++] = value;
}

laze_value test_caller_parameter(test_caller *caller, laze_dtype dtype, int32_t rank, const int64_t *sizes,
                                 int64_t index_below) {
  char name[48];
  laze_type type;
  laze_value value = LAZE_VALUE_NONE;
  int number = (int)caller->graph->body->parameter_count;
  if (index_below)
    snprintf(name, sizeof name, "i%d_below%lld", number, (long long)index_below);
  else
    snprintf(name, sizeof name, "x%d", number);
  if (laze_type_init(&type, name, dtype, rank, sizes, NULL) != LAZE_OK) return LAZE_VALUE_NONE;
  if (laze_graph_add_parameter(caller->graph, caller->graph->body, name, &type, &value, NULL) != LAZE_OK)
    return LAZE_VALUE_NONE;
  add_to_pool(caller, value);
  return value;
}

static const laze_type *type_of(const random_call *call, laze_value value) {
  return laze_graph_type(call->caller->graph, value);
}

static laze_dtype operand_dtype(const random_call *call) {
  if (call->caller->dtype != LAZE_DTYPE_NONE) return call->caller->dtype;
  if (call->self.dtype && !one_in(call, 4)) return call->self.dtype;
  laze_dtype dtype = test_random_dtype(call->caller->random);
  while (call->caller->real && laze_dtype_is_complex(dtype)) dtype = test_random_dtype(call->caller->random);
  return dtype;
}

static laze_value parameter(const random_call *call, laze_dtype dtype, int32_t rank, const int64_t *sizes) {
  int64_t elements = 1;
  for (int32_t i = 0; i < rank; i++) elements *= sizes[i];
  if (elements > call->caller->most_elements) return LAZE_VALUE_NONE;
  return test_caller_parameter(call->caller, dtype, rank, sizes, 0);
}

/* A parameter of permuted and larger shape, moved into the shape asked for, so that operators meet strides. */
static laze_value moved_parameter(const random_call *call, laze_dtype dtype, int32_t rank, const int64_t *sizes) {
  int64_t larger[LAZE_MAX_RANK], order[LAZE_MAX_RANK];
  for (int32_t i = 0; i < rank; i++) {
    order[i] = (i + 1) % rank; /* result dim i is dim i + 1 of the parameter */
    larger[(i + 1) % rank] = i == 0 ? sizes[i] * 2 + 1 : sizes[i];
  }
  laze_value value = test_caller_parameter(call->caller, dtype, rank, larger, 0);
  laze_recorder *recorder = &call->caller->builder.recorder;
  laze_attribute permute[] = {laze_attribute_integers(order, rank)};
  laze_attribute slice[] = {laze_attribute_integer(0), laze_attribute_size(1), laze_attribute_size(sizes[0] * 2 + 1),
                            laze_attribute_integer(2)};
  if (laze_value_is_none(value) || laze_record_call(recorder, LAZE_OP_PERMUTE, &value, 1, permute, &value, NULL) ||
      laze_record_call(recorder, LAZE_OP_SLICE, &value, 1, slice, &value, NULL))
    return LAZE_VALUE_NONE;
  return value;
}

static laze_value first_operand(random_call *call) {
  test_caller *caller = call->caller;
  if (caller->fresh) {
    laze_dtype dtype = operand_dtype(call);
    return caller->moved && caller->rank > 0 ? moved_parameter(call, dtype, caller->rank, caller->sizes)
                                             : parameter(call, dtype, caller->rank, caller->sizes);
  }
  if (caller->count == 0 || one_in(call, 12)) {
    int64_t sizes[4];
    int32_t rank = test_random_shape(caller->random, sizes, 4, caller->shapes);
    return parameter(call, operand_dtype(call), rank, sizes);
  }
  /* Recent values more often, and those that nothing uses, so that graphs get deep and little of them is dead. */
  for (int i = 0; i < 4; i++) {
    int64_t at = caller->count - 1 - below(call, below(call, caller->count) + 1);
    if (caller->used[at] && i < 3) continue;
    return caller->pool[at];
  }
  return caller->pool[caller->count - 1];
}

static void mark_used(test_caller *caller, const laze_value *operands, int32_t count) {
  for (int32_t i = 0; i < count; i++)
    for (int32_t k = 0; k < caller->count; k++)
      if (laze_value_equal(caller->pool[k], operands[i])) caller->used[k] = true;
}

static bool broadcasts_to(const laze_type *from, const laze_type *to) {
  if (from->rank > to->rank) return false;
  for (int i = 0; i < from->rank; i++) {
    int64_t size = from->sizes[i];
    if (size != 1 && size != to->sizes[to->rank - from->rank + i]) return false;
  }
  return true;
}

static laze_value broadcast_operand(random_call *call) {
  test_caller *caller = call->caller;
  for (int i = 0; i < 6 && !caller->fresh && caller->count > 0; i++) {
    laze_value value = caller->pool[below(call, caller->count)];
    if (broadcasts_to(type_of(call, value), &call->self)) return value;
  }
  int64_t sizes[LAZE_MAX_RANK];
  int32_t rank = call->self.rank, drop = 0;
  bool varied = caller->fresh ? caller->broadcast : one_in(call, 2);
  if (varied && rank > 0) drop = (int32_t)below(call, rank + 1);
  for (int32_t i = drop; i < rank; i++) sizes[i - drop] = varied && one_in(call, 3) ? 1 : call->self.sizes[i];
  return parameter(call, operand_dtype(call), rank - drop, sizes);
}

static laze_value to_dtype(const random_call *call, laze_value value, laze_dtype dtype) {
  laze_attribute attributes[] = {laze_attribute_dtype(dtype)};
  if (laze_value_is_none(value) || type_of(call, value)->dtype == dtype) return value;
  if (laze_record_call(&call->caller->builder.recorder, LAZE_OP_TO_DTYPE, &value, 1, attributes, &value, NULL))
    return LAZE_VALUE_NONE;
  return value;
}

/* The second factor of a product, given the first. */
static laze_value factor(random_call *call) {
  const laze_type *self = &call->self;
  static const int64_t widths[] = {1, 2, 7, 16, 33};
  int64_t sizes[LAZE_MAX_RANK], inner = self->rank > 0 ? self->sizes[self->rank - 1] : 1;
  int64_t width = widths[below(call, 5)];
  int32_t rank = self->rank < 2 ? 2 : self->rank;
  for (int32_t i = 0; i < rank - 2; i++) sizes[i] = self->sizes[i];
  sizes[rank - 2] = inner;
  sizes[rank - 1] = width;
  if (is_base(call, "dot") || is_base(call, "mv") || (is_base(call, "matmul") && one_in(call, 4))) {
    rank = 1;
    sizes[0] = inner;
  }
  if (is_base(call, "linear")) {
    rank = 2;
    sizes[0] = width;
    sizes[1] = inner;
  }
  laze_value value = parameter(call, self->dtype, rank, sizes);
  if (call->caller->fresh || laze_value_is_none(value)) return value;
  /* Now and then a value of the graph instead of the parameter. */
  for (int i = 0; i < 8; i++) {
    laze_value other = call->caller->pool[below(call, call->caller->count)];
    const laze_type *type = type_of(call, other);
    if (type->rank == rank && memcmp(type->sizes, sizes, (size_t)rank * sizeof *sizes) == 0) return other;
  }
  return value;
}

/* Operators that write where an index names, for each element or for each slice. */
static bool scatters(const random_call *call) {
  return is_base(call, "_scatter") || strncmp(call->info->base, "scatter", strlen("scatter")) == 0;
}
static bool writes_slices(const random_call *call) {
  return is_base(call, "_index_update") || is_base(call, "index_add") || is_base(call, "index_copy") ||
         is_base(call, "index_reduce");
}

/* What they write, or what takes the place of a view: of self's dtype, and of the shape that the index asks for. */
static laze_value written_operand(const random_call *call) {
  const laze_type *self = &call->self, *index = call->operand_count > 1 ? type_of(call, call->operands[1]) : self;
  int64_t sizes[LAZE_MAX_RANK];
  int32_t rank = scatters(call) ? index->rank : self->rank;
  if (self->rank == 0 && !scatters(call)) return LAZE_VALUE_NONE;
  memcpy(sizes, scatters(call) ? index->sizes : self->sizes, sizeof sizes);
  if (writes_slices(call)) sizes[call->dim] = index->rank > 0 ? index->sizes[0] : 1;
  if (is_base(call, "as_strided_scatter")) return parameter(call, self->dtype, 2, (int64_t[]){2, 1});
  if (is_base(call, "select_scatter")) {
    for (int32_t i = (int32_t)call->dim; i + 1 < rank; i++) sizes[i] = sizes[i + 1];
    rank--;
  }
  if (is_base(call, "diagonal_scatter")) {
    if (rank < 2) return LAZE_VALUE_NONE;
    int64_t diagonal = sizes[0] < sizes[1] ? sizes[0] : sizes[1];
    for (int32_t i = 2; i < rank; i++) sizes[i - 2] = sizes[i];
    sizes[rank-- - 2] = diagonal;
  }
  /* The operators take the part of a larger one that the index reaches. */
  for (int32_t i = 0; i < rank && scatters(call) && !is_base(call, "_scatter"); i++) sizes[i] += one_in(call, 6);
  return parameter(call, self->dtype, rank, sizes);
}

static laze_value index_operand(random_call *call) {
  const laze_type *self = &call->self;
  int64_t sizes[LAZE_MAX_RANK] = {0}, axis = self->rank > 0 ? self->sizes[call->dim] : 1;
  int32_t rank = 1;
  sizes[0] = below(call, 6);
  if (is_base(call, "gather") || is_base(call, "take_along_dim") || scatters(call)) {
    rank = self->rank;
    for (int32_t i = 0; i < rank; i++) sizes[i] = i == call->dim ? below(call, 6) : below(call, self->sizes[i] + 1);
  } else if (is_base(call, "embedding")) {
    axis = self->rank > 0 ? self->sizes[0] : 1;
    rank = (int32_t)below(call, 3);
    sizes[1] = 3;
  } else if (one_in(call, 5) && !is_base(call, "_index_update")) {
    rank = 0;
  }
  bool empty = false;
  for (int32_t i = 0; i < self->rank; i++) empty = empty || self->sizes[i] == 0;
  if (empty) return LAZE_VALUE_NONE;
  return test_caller_parameter(call->caller, one_in(call, 2) ? LAZE_I64 : LAZE_I32, rank, sizes, axis);
}

/* The length of a slice, of an axis that has `length` elements. */
static int64_t slice_length(int64_t length) {
  return length - length / 2 - (length > 1);
}

/* Where a slice of `length` begins, now and then from the back. */
static laze_value start_operand(const random_call *call, int64_t length) {
  laze_recorder *recorder = &call->caller->builder.recorder;
  int64_t size = call->self.rank > 0 ? call->self.sizes[call->dim] : 0, most = size - length;
  laze_value operands[2];
  if (size == 0) return LAZE_VALUE_NONE;
  if (most == 0)
    return laze_record_number(recorder, LAZE_I64, laze_scalar_integer(0), operands, NULL) ? LAZE_VALUE_NONE
                                                                                          : operands[0];
  operands[0] = test_caller_parameter(call->caller, one_in(call, 2) ? LAZE_I64 : LAZE_I32, 0, NULL, most);
  if (laze_value_is_none(operands[0]) || laze_record_call(recorder, LAZE_OP_ABS, operands, 1, NULL, operands, NULL))
    return LAZE_VALUE_NONE;
  if (!one_in(call, 3)) return operands[0];
  if (laze_record_number(recorder, type_of(call, operands[0])->dtype, laze_scalar_integer(size), &operands[1], NULL) ||
      laze_record_call(recorder, LAZE_OP_SUB, operands, 2, NULL, operands, NULL))
    return LAZE_VALUE_NONE;
  return operands[0];
}

/* What is written to a slice. */
static laze_value source_operand(const random_call *call) {
  int64_t sizes[LAZE_MAX_RANK];
  if (call->self.rank == 0) return LAZE_VALUE_NONE;
  memcpy(sizes, call->self.sizes, sizeof sizes);
  sizes[call->dim] = one_in(call, 4) ? sizes[call->dim] : slice_length(sizes[call->dim]);
  return parameter(call, call->self.dtype, call->self.rank, sizes);
}

/* What dynamic_slice and dynamic_update take behind `self`. */
static laze_value slice_operand(const random_call *call) {
  if (is_base(call, "dynamic_slice"))
    return start_operand(call, slice_length(call->self.rank > 0 ? call->self.sizes[call->dim] : 0));
  if (call->operand_count == 1) return source_operand(call);
  return start_operand(call, type_of(call, call->operands[1])->sizes[call->dim]);
}

static laze_value number(const random_call *call) {
  static const double reals[] = {0, 1, 2, -1, 0.5, -1.5, 3};
  laze_value value = LAZE_VALUE_NONE;
  laze_scalar scalar =
      one_in(call, 2) ? laze_scalar_integer(below(call, 7) - 3) : laze_scalar_real(reals[below(call, 7)]);
  if (laze_record_number(&call->caller->builder.recorder, scalar.dtype, scalar, &value, NULL) != LAZE_OK)
    return LAZE_VALUE_NONE;
  return value;
}

/* How many dims have windows: of "conv2d" two. 0: none. */
static int32_t window_dims(const random_call *call) {
  const char *base = call->info->base;
  if (is_base(call, "im2col") || is_base(call, "convolution")) return 2;
  bool windows = strncmp(base, "conv", 4) == 0 || strncmp(base, "max_pool", 8) == 0 || strstr(base, "avg_pool") != NULL;
  const char *dims = windows ? strpbrk(base, "123") : NULL;
  return dims ? *dims - '0' : 0;
}

/* What windows lie in: some sizes with room for them, behind a batch now and then. */
static laze_value windowed_operand(random_call *call, int32_t dims) {
  int64_t sizes[LAZE_MAX_RANK];
  int32_t rank = 0;
  if (one_in(call, 2)) sizes[rank++] = 1 + below(call, 3);
  sizes[rank++] = 1 + below(call, 4);
  for (int32_t i = 0; i < dims; i++) sizes[rank++] = i == dims - 1 && one_in(call, 3) ? 40 : 3 + below(call, 7);
  return parameter(call, operand_dtype(call), rank, sizes);
}

/* A weight or a bias for the channels of self: as many go out as come in, which suits both forms. */
static laze_value window_weight(random_call *call, const char *name, int32_t dims) {
  int64_t sizes[LAZE_MAX_RANK], channels = call->self.sizes[call->self.rank - dims - 1];
  int32_t rank = 0;
  sizes[rank++] = channels;
  if (strcmp(name, "bias") != 0) {
    sizes[rank++] = channels;
    for (int32_t i = 0; i < dims; i++) sizes[rank++] = 1 + below(call, 3);
  }
  return parameter(call, call->self.dtype, rank, sizes);
}

static laze_value tensor_operand(random_call *call, const laze_argument_info *argument) {
  const char *name = argument->name;
  int32_t dims = window_dims(call);
  if (dims > 0) return call->operand_count == 0 ? windowed_operand(call, dims) : window_weight(call, name, dims);
  if (strcmp(name, "value") == 0) return parameter(call, call->self.dtype, 0, NULL);
  if (strcmp(name, "seed") == 0 || strcmp(name, "offset") == 0 || strcmp(name, "key") == 0)
    return test_caller_parameter(call->caller, LAZE_I64, 0, NULL, 0);
  if (strcmp(name, "condition") == 0) return to_dtype(call, first_operand(call), LAZE_BOOL);
  if (strcmp(name, "index") == 0 || strcmp(name, "indices") == 0) return index_operand(call);
  if (call->operand_count > 0 && (strcmp(name, "src") == 0 || (strcmp(name, "source") == 0 && writes_slices(call))))
    return written_operand(call);
  if (is_base(call, "index_put") && strcmp(name, "values") == 0) return parameter(call, call->self.dtype, 0, NULL);
  if (is_base(call, "index_fill") && call->operand_count > 1) return parameter(call, operand_dtype(call), 0, NULL);
  if (is_base(call, "histogram") && strcmp(name, "self") != 0) {
    bool edges = strcmp(name, "bins") == 0;
    return parameter(call, call->self.dtype, edges ? 1 : call->self.rank,
                     edges ? (int64_t[]){2 + below(call, 6)} : call->self.sizes);
  }
  if (strncmp(call->info->base, "dynamic_", 8) == 0 && call->operand_count > 0) return slice_operand(call);
  if (strcmp(name, "mat2") == 0 || strcmp(name, "weight") == 0 || strcmp(name, "vec") == 0 ||
      strcmp(name, "tensor") == 0 || (is_base(call, "matmul") && call->operand_count == 1))
    if (call->operand_count > 0 && !is_base(call, "addmm")) return factor(call);
  return call->operand_count == 0 ? first_operand(call) : broadcast_operand(call);
}

/* addmm's three operands at once: [n,m], [n,k], [k,m]. */
static bool add_addmm_operands(random_call *call) {
  int64_t n = 1 + below(call, 9), k = below(call, 9), m = 1 + below(call, 20);
  laze_dtype dtype = operand_dtype(call);
  call->operands[0] = parameter(call, dtype, 1, (int64_t[]){m});
  call->operands[1] = parameter(call, dtype, 2, (int64_t[]){n, k});
  call->operands[2] = parameter(call, dtype, 2, (int64_t[]){k, m});
  call->operand_count = 3;
  for (int32_t i = 0; i < 3; i++) call->segments[i] = 1;
  call->segments[3] = call->segments[4] = -1;
  return true;
}

static bool add_list(random_call *call, int32_t position) {
  int32_t count = (int32_t)(one_in(call, 8) ? 9 + below(call, 6) : 1 + below(call, 3));
  bool stack = is_base(call, "stack");
  for (int32_t k = 0; k < count; k++) {
    laze_value value = call->operand_count == 0 ? first_operand(call) : LAZE_VALUE_NONE;
    if (call->operand_count > 0) {
      int64_t sizes[LAZE_MAX_RANK];
      memcpy(sizes, call->self.sizes, sizeof sizes);
      if (!stack && call->self.rank > 0) sizes[call->dim] = below(call, 5);
      value = one_in(call, 3) ? call->operands[0] : parameter(call, operand_dtype(call), call->self.rank, sizes);
    }
    if (laze_value_is_none(value)) return false;
    if (call->operand_count == 0) {
      call->self = *type_of(call, value);
      call->dim = call->self.rank > 0 ? below(call, call->self.rank) : 0;
    }
    call->operands[call->operand_count++] = value;
  }
  call->segments[position] = count;
  return true;
}

/* Tensors of indices for axes of self, of one shape but for sizes of 1, and none for others. */
static bool add_indices(random_call *call, int32_t position) {
  int32_t count = (int32_t)below(call, call->self.rank + 1);
  int64_t length = 1 + below(call, 4);
  bool any = false;
  for (int32_t axis = 0; axis < count; axis++) {
    int64_t size = call->self.sizes[axis], sizes[2] = {one_in(call, 3) ? 1 : length, length};
    laze_value value = LAZE_VALUE_NONE;
    if (size > 0 && !one_in(call, 3))
      value = test_caller_parameter(call->caller, one_in(call, 2) ? LAZE_I64 : LAZE_I32, (int32_t)below(call, 3), sizes,
                                    size);
    any = any || !laze_value_is_none(value);
    call->operands[call->operand_count++] = value;
  }
  call->segments[position] = count;
  return any;
}

static bool add_operand(random_call *call, const laze_argument_info *argument) {
  bool absent = argument->optional && one_in(call, 2);
  call->segments[argument->position] = absent ? -1 : 1;
  if (absent) return true;
  if (argument->kind == LAZE_ARGUMENT_OPTIONAL_LIST) return add_indices(call, argument->position);
  if (argument->kind == LAZE_ARGUMENT_TENSOR_LIST) return add_list(call, argument->position);
  laze_value value = argument->kind == LAZE_ARGUMENT_SCALAR ? number(call) : tensor_operand(call, argument);
  if (laze_value_is_none(value)) return false;
  if (call->operand_count == 0 ||
      (call->operand_count == 1 && strcmp(call->info->arguments[0].name, "condition") == 0)) {
    call->self = *type_of(call, value);
    call->dim = call->self.rank > 0 ? below(call, call->self.rank) : 0;
  }
  call->operands[call->operand_count++] = value;
  return true;
}

/* Attributes by kind and name. */

static int64_t axis(const random_call *call, const char *name) {
  int64_t rank = call->self.rank, dim = strcmp(name, "dim") == 0 ? call->dim : rank > 0 ? below(call, rank) : 0;
  if (is_base(call, "diagonal_scatter")) return strcmp(name, "dim2") == 0;
  bool one_more = is_base(call, "unsqueeze") || is_base(call, "stack");
  if (one_more) dim = below(call, rank + 1);
  if (strcmp(name, "end_dim") == 0) dim = rank > 0 ? rank - 1 : 0;
  if (strcmp(name, "start_dim") == 0) dim = rank > 0 ? below(call, rank) : 0;
  return one_in(call, 3) ? dim - (rank > 0 || one_more ? rank + one_more : 1) : dim;
}

/* Padding of as many dims as the name says. */
static bool pads(const char *base) {
  return strstr(base, "reflection_pad") || strstr(base, "replication_pad");
}

/* One of the numbers that say how windows lie. */
static int64_t window_number(const random_call *call, const char *name) {
  if (strcmp(name, "padding") == 0) return below(call, 2);
  if (strcmp(name, "output_padding") == 0) return 0;
  return 1 + below(call, 3);
}

static int32_t window_list(const random_call *call, const laze_argument_info *argument, int64_t *items) {
  int32_t count = argument->list_size > 0 && one_in(call, 2) ? 1 : window_dims(call);
  if (pads(call->info->base)) {
    for (int32_t i = 0; i < argument->list_size; i++) items[i] = below(call, 3) - 1;
    return argument->list_size;
  }
  if (strcmp(argument->name, "pad") == 0) {
    count = 2 * (int32_t)below(call, call->self.rank + 1);
    for (int32_t i = 0; i < count; i++) items[i] = below(call, 4) - (one_in(call, 3) ? 2 : 0);
    return count;
  }
  for (int32_t i = 0; i < count; i++) items[i] = window_number(call, argument->name);
  return count;
}

static int64_t integer(const random_call *call, const char *name) {
  if (strcmp(name, "size") == 0 || strcmp(name, "stride") == 0 || strcmp(name, "dilation") == 0 ||
      strcmp(name, "divisor_override") == 0)
    return window_number(call, name);
  if (strcmp(name, "step") == 0) return 1 + below(call, 3);
  if (strcmp(name, "num_classes") == 0) return 5;
  if (strcmp(name, "bins") == 0) return 1 + below(call, 6);
  if (strcmp(name, "steps") == 0) return below(call, 9);
  return axis(call, name);
}

static laze_attribute size(const random_call *call, const laze_argument_info *argument) {
  int64_t length = call->self.rank > 0 ? call->self.sizes[call->dim] : 1;
  if (argument->optional && one_in(call, 3)) return laze_attribute_absent(argument->kind);
  if (strcmp(argument->name, "storage_offset") == 0) return laze_attribute_size(below(call, 2));
  if (is_base(call, "slice_scatter"))
    return strcmp(argument->name, "step") == 0 ? laze_attribute_size(1) : laze_attribute_absent(argument->kind);
  if (is_base(call, "slice")) return laze_attribute_size(below(call, 2 * length + 3) - length - 1);
  if (is_base(call, "select") || is_base(call, "select_scatter"))
    return laze_attribute_size(length > 0 ? below(call, 2 * length) - length : 0);
  if (strcmp(argument->name, "groups") == 0) return laze_attribute_size(1);
  if (strcmp(argument->name, "k") == 0) return laze_attribute_size(below(call, length + 1));
  if (strcmp(argument->name, "start") == 0) return laze_attribute_size(length > 0 ? length / 2 : 0);
  if (strcmp(argument->name, "length") == 0) return laze_attribute_size(slice_length(length));
  return laze_attribute_size(below(call, 9));
}

static int32_t shape_of(const random_call *call, int64_t *items) {
  const laze_type *self = &call->self;
  if (strncmp(call->info->base, "as_strided", strlen("as_strided")) == 0) {
    items[0] = 2; /* sizes and distances of two dims */
    items[1] = is_base(call, "as_strided") && one_in(call, 2) ? 2 : 1;
    return 2;
  }
  if (call->operand_count == 0 || call->info->op_class == LAZE_CLASS_CREATION || is_base(call, "full") ||
      is_base(call, "rand") || is_base(call, "randn"))
    return test_random_shape(call->caller->random, items, 3, call->caller->shapes);
  if (is_base(call, "expand")) {
    int32_t extra = (int32_t)below(call, 2), n = 0;
    for (; n < extra; n++) items[n] = 1 + below(call, 3);
    for (int i = 0; i < self->rank; i++)
      items[n++] = self->sizes[i] == 1 ? 1 + below(call, 4) : one_in(call, 3) ? -1 : self->sizes[i];
    return n;
  }
  /* reshape, view: join some neighbours, split some sizes, add ones. */
  int32_t n = 0;
  for (int i = 0; i < self->rank; i++) {
    int64_t length = self->sizes[i], divisor = 2 + below(call, 6);
    if (n > 0 && one_in(call, 3)) {
      items[n - 1] *= length;
    } else if (length > divisor && length % divisor == 0 && n < 6) {
      items[n++] = length / divisor;
      items[n++] = divisor;
    } else {
      items[n++] = length;
    }
    if (one_in(call, 6) && n < 6) items[n++] = 1;
  }
  if (one_in(call, 6) && test_random_one_in(call->caller->random, 2) && n > 0) items[n - 1] = -1;
  return n;
}

static int32_t axes(const random_call *call, int64_t *items) {
  int64_t rank = call->self.rank;
  int32_t n = 0;
  for (int64_t i = 0; i < rank; i++) items[n++] = i;
  for (int32_t i = n - 1; i > 0; i--) {
    int64_t k = below(call, i + 1), saved = items[i];
    items[i] = items[k];
    items[k] = saved;
  }
  if (!is_base(call, "permute") && n > 0) n = 1 + (int32_t)below(call, n);
  for (int32_t i = 0; i < n; i++) items[i] -= one_in(call, 4) ? rank : 0;
  return n;
}

static const char *word(const random_call *call, const char *name) {
  static const char *const ways[] = {"prod", "amax", "amin", "sum", "none", "mean"};
  static const char *const modes[] = {"constant", "reflect", "replicate", "circular"};
  if (strcmp(name, "approximate") == 0) return one_in(call, 2) ? "tanh" : "none";
  if (is_base(call, "pad")) return modes[below(call, 4)];
  if (strcmp(name, "reduce") != 0) return one_in(call, 2) ? "floor" : "trunc";
  if (is_base(call, "scatter")) return one_in(call, 2) ? "add" : "multiply";
  if (*call->info->base == '_') return ways[below(call, 5)];
  const char *way = ways[below(call, is_base(call, "index_reduce") ? 3 : 4)];
  return one_in(call, 4) ? "mean" : way;
}

static laze_attribute attribute(random_call *call, const laze_argument_info *argument) {
  int64_t *items = call->items[argument->position];
  bool absent = argument->optional && one_in(call, 2);
  if (absent && argument->kind != LAZE_ARGUMENT_SIZE) return laze_attribute_absent(argument->kind);
  static const double reals[] = {-1, 2.5};
  bool windows = window_dims(call) > 0 || strcmp(argument->name, "pad") == 0 || pads(call->info->base);
  switch (argument->kind) {
  case LAZE_ARGUMENT_INT: return laze_attribute_integer(integer(call, argument->name));
  case LAZE_ARGUMENT_SIZE: return size(call, argument);
  case LAZE_ARGUMENT_BOOL: return laze_attribute_boolean(one_in(call, 2));
  case LAZE_ARGUMENT_DTYPE: return laze_attribute_dtype(test_random_dtype(call->caller->random));
  case LAZE_ARGUMENT_STRING:
    return laze_attribute_string(window_dims(call) > 0 ? one_in(call, 2) ? "valid" : "same"
                                                       : word(call, argument->name));
  case LAZE_ARGUMENT_FLOAT: return laze_attribute_real(0.5);
  case LAZE_ARGUMENT_FLOAT_LIST: return laze_attribute_reals(reals, 2);
  case LAZE_ARGUMENT_LITERAL:
    if (strcmp(argument->name, "step") == 0) return laze_attribute_literal(laze_scalar_real(1.5));
    return laze_attribute_literal(laze_scalar_integer(below(call, 9) + (strcmp(argument->name, "end") == 0 ? 8 : 0)));
  case LAZE_ARGUMENT_INT_LIST:
    return laze_attribute_integers(items, windows ? window_list(call, argument, items) : axes(call, items));
  default:
    if (windows) return laze_attribute_sizes(items, window_list(call, argument, items));
    return laze_attribute_sizes(items, shape_of(call, items));
  }
}

bool test_is_only_recorded(laze_op op) {
  for (int32_t i = 0; i < laze_differential_case_count; i++)
    if (laze_differential_cases[i].op == op) return laze_differential_cases[i].recorded;
  return false;
}

bool test_is_callable(laze_op op) {
  const laze_op_info *info = laze_op_get(op);
  if (test_is_only_recorded(op)) return false;
  if (info->op_class == LAZE_CLASS_CONTROL || info->op_class == LAZE_CLASS_STRUCTURE) return false;
  /* What they give has a size that the run finds, and calls here are made for sizes. */
  static const char *const found[] = {"nonzero",    "argwhere", "masked_select", "unique", "unique_consecutive",
                                      "unique_dim", "_unique2"};
  for (size_t i = 0; i < sizeof found / sizeof *found; i++)
    if (strcmp(info->base, found[i]) == 0) return false;
  if (info->result_count < 0) return false; /* what it computes is registered */
  for (int32_t i = 0; i < info->argument_count; i++)
    if (info->arguments[i].kind == LAZE_ARGUMENT_DATA) return false;
  return info->attribute_count <= MAX_CALL_ATTRIBUTES;
}

static bool add_arguments(random_call *call) {
  const laze_op_info *info = call->info;
  bool addmm = is_base(call, "addmm");
  for (int32_t i = 0; i < info->argument_count && !addmm; i++)
    if (laze_argument_is_operand(info->arguments[i].kind) && !add_operand(call, &info->arguments[i])) return false;
  if (addmm && !add_addmm_operands(call)) return false;
  for (int32_t i = 0; i < info->argument_count; i++)
    if (!laze_argument_is_operand(info->arguments[i].kind))
      call->attributes[info->arguments[i].position] = attribute(call, &info->arguments[i]);
  return true;
}

laze_status test_random_call(test_caller *caller, laze_op op, laze_error *error) {
  random_call call = {.caller = caller, .info = laze_op_get(op)};
  laze_value results[8];
  if (!test_is_callable(op)) return laze_fail(error, LAZE_UNSUPPORTED, "%s is not called at random", call.info->name);
  if (!add_arguments(&call))
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: no operands of a fitting size", call.info->name);
  laze_call frame = {.op = op,
                     .operand_count = call.operand_count,
                     .operands = call.operands,
                     .segments = call.segments,
                     .attributes = call.attributes};
  laze_recorder *recorder = &caller->builder.recorder;
  LAZE_TRY(recorder->record(recorder, &frame, results, error));
  mark_used(caller, call.operands, call.operand_count);
  for (int32_t i = 0; i < call.info->result_count; i++) {
    int64_t elements = 1;
    const laze_type *type = laze_graph_type(caller->graph, results[i]);
    for (int k = 0; k < type->rank; k++) elements *= type->sizes[k];
    if (elements > caller->most_elements)
      return laze_fail(error, LAZE_OUT_OF_RANGE, "%s: a result with more elements than wanted", call.info->name);
    add_to_pool(caller, results[i]);
  }
  return LAZE_OK;
}
