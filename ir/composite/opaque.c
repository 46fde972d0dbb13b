/* A call of a registered kernel gets what makes it a node: the version of the kernel that the name means now, and the
 * types of its results, which the kernel's rule gives for the operands' types.
 *
 *   opaque [%x], name="scale", reals=[0.5]
 *   opaque [%x], name="scale", reals=[0.5], version=1, dtypes=["f32"], ranks=[1], sizes=[3]
 *
 * From then on the types are data of the node, whatever its sizes become. Where sizes are expressions, only a kernel
 * without a rule of its own can be asked; for others the call says the types. */
#include "ir/opaque.h"

#include "ir/attribute.h"
#include "ir/composite.gen.h"
#include "ir/composite/composite.h"
#include "ir/composite/support.h"
#include "ir/inference.gen.h"
#include "ir/op.gen.h"
#include "shape_inference/rules.h"

#include <string.h>

/* What is recorded of the results: attributes and what they refer to. */
typedef struct {
  char dtypes[LAZE_OPAQUE_MAX_RESULTS * 8]; /* names, each with its 0 */
  laze_size ranks[LAZE_OPAQUE_MAX_RESULTS], sizes[LAZE_OPAQUE_MAX_RESULTS * LAZE_MAX_RANK];
  int32_t count, size_count;
  char *end; /* of dtypes */
} result_types;

static void add_type(result_types *types, laze_dtype dtype, int rank, const laze_size *sizes) {
  const char *name = dtype == LAZE_DTYPE_NONE ? "none" : laze_dtype_name(dtype);
  if (dtype == LAZE_DTYPE_NONE) rank = 0;
  for (; *name; name++) *types->end++ = *name;
  *types->end++ = 0;
  types->ranks[types->count++] = rank;
  for (int i = 0; i < rank; i++) types->sizes[types->size_count++] = sizes[i];
}

/* Results of the first operand's type, whose sizes may be expressions here. */
static laze_status like_first(laze_recorder *recorder, const laze_call *call, const laze_opaque_kernel *kernel,
                              result_types *out, laze_error *error) {
  LAZE_TRY(laze_opaque_check_rule(kernel, call->operand_count, error));
  laze_type type = laze_compose_type(recorder, call->operands[0]);
  for (int32_t i = 0; i < kernel->result_count; i++) add_type(out, (laze_dtype)type.dtype, type.rank, type.sizes);
  return LAZE_OK;
}

/* The operands' types as the kernel sees them: `room` has sizes for each. */
static laze_status describe_operands(laze_recorder *recorder, const laze_call *call, laze_opaque_tensor *operands,
                                     int64_t *room, laze_error *error) {
  for (int32_t i = 0; i < call->operand_count; i++, room += LAZE_MAX_RANK) {
    const laze_type *type = laze_recorder_type(recorder, call->operands[i]);
    for (int axis = 0; axis < type->rank; axis++) {
      room[axis] = type->sizes[axis];
      bool empty;
      if (laze_size_is_constant(room[axis])) continue;
      LAZE_TRY(laze_size_may_equal(recorder, room[axis], 0, &empty, error)); /* lazily, that finds it */
      return laze_fail(error, LAZE_UNSUPPORTED,
                       "opaque: size %d of operand %d is an expression, for which the kernel's rule cannot be asked; "
                       "say version, dtypes, ranks and sizes of the results",
                       axis, (int)i);
    }
    operands[i] = (laze_opaque_tensor){.dtype = (laze_dtype)type->dtype, .rank = type->rank, .sizes = room};
  }
  return LAZE_OK;
}

static laze_status ask(laze_recorder *recorder, const laze_call *call, const laze_opaque_kernel *kernel,
                       laze_arena *arena, result_types *out, laze_error *error) {
  laze_opaque_type types[LAZE_OPAQUE_MAX_RESULTS];
  laze_opaque_call asked = {
      .struct_size = sizeof asked, .operand_count = call->operand_count, .result_count = kernel->result_count};
  int64_t count = call->operand_count;
  laze_opaque_tensor *operands = laze_arena_alloc_array(arena, count, sizeof *operands);
  int64_t *room = laze_arena_alloc_array(arena, count * LAZE_MAX_RANK, sizeof *room);
  const char **strings = laze_arena_alloc_array(arena, call->attributes[LAZE_OPAQUE_STRINGS].count, sizeof *strings);
  if (!operands || !room || !strings) return laze_fail_memory(error, "a call of a kernel", -1);
  LAZE_TRY(describe_operands(recorder, call, operands, room, error));
  asked.operands = operands;
  laze_opaque_fill_lists(call->attributes, strings, &asked);
  LAZE_TRY(laze_opaque_find_types(kernel, &asked, types, error));
  for (int32_t i = 0; i < kernel->result_count; i++) add_type(out, types[i].dtype, types[i].rank, types[i].sizes);
  return LAZE_OK;
}

static laze_status find_types(laze_recorder *recorder, const laze_call *call, const laze_opaque_kernel *kernel,
                              result_types *out, laze_error *error) {
  laze_arena arena;
  *out = (result_types){0};
  out->end = out->dtypes;
  if (!kernel->infer) return like_first(recorder, call, kernel, out, error);
  laze_arena_init(&arena, recorder->context);
  laze_status status = ask(recorder, call, kernel, &arena, out, error);
  laze_arena_deinit(&arena);
  return status;
}

static laze_status record(laze_recorder *recorder, const laze_call *call, const laze_opaque_kernel *kernel,
                          laze_value *results, laze_error *error) {
  result_types types;
  laze_attribute attributes[LAZE_OPAQUE_SIZES + 1];
  laze_call node = *call;
  for (int i = 0; i <= LAZE_OPAQUE_SIZES; i++) attributes[i] = call->attributes[i];
  attributes[LAZE_OPAQUE_VERSION] = laze_attribute_integer(kernel->version);
  if (call->attributes[LAZE_OPAQUE_RANKS].count == 0) {
    LAZE_TRY(find_types(recorder, call, kernel, &types, error));
    attributes[LAZE_OPAQUE_DTYPES] = laze_attribute_strings(types.dtypes, types.count);
    attributes[LAZE_OPAQUE_RANKS] = laze_attribute_integers(types.ranks, types.count);
    attributes[LAZE_OPAQUE_SIZES] = laze_attribute_sizes(types.sizes, types.size_count);
  }
  node.attributes = attributes;
  return laze_record_here(recorder, &node, results, error);
}

laze_status laze_composite_opaque(laze_recorder *recorder, const laze_call *call, laze_value *results,
                                  laze_error *error) {
  laze_opaque_kernel *kernel;
  LAZE_TRY(laze_opaque_find(recorder->context, call->attributes[LAZE_OPAQUE_NAME].value.string,
                            call->attributes[LAZE_OPAQUE_VERSION].value.integer, &kernel, error));
  laze_status status = record(recorder, call, kernel, results, error);
  laze_opaque_kernel_release(kernel);
  return status;
}

/* The types that stand in the node. */
laze_status laze_infer_opaque(laze_inference *inference, const laze_call *call, const laze_type *const *operand_types,
                              laze_type *results) {
  const laze_attribute *dtypes = &call->attributes[LAZE_OPAQUE_DTYPES], *ranks = &call->attributes[LAZE_OPAQUE_RANKS],
                       *sizes = &call->attributes[LAZE_OPAQUE_SIZES];
  int64_t next = 0;
  (void)operand_types;
  if (dtypes->count != ranks->count || ranks->count < 1 || ranks->count > LAZE_OPAQUE_MAX_RESULTS)
    return laze_fail(inference->error, LAZE_INVALID_ARGUMENT,
                     "opaque: got %d dtypes and %d ranks, expected one each for 1 to %d results", (int)dtypes->count,
                     (int)ranks->count, LAZE_OPAQUE_MAX_RESULTS);
  for (int32_t i = 0; i < ranks->count; i++) {
    const char *name = laze_attribute_text(dtypes, i);
    int64_t rank = ranks->value.items[i];
    bool absent = strcmp(name, "none") == 0;
    laze_dtype dtype = absent ? LAZE_DTYPE_NONE : laze_dtype_find(name);
    if (rank < 0 || rank > LAZE_MAX_RANK || rank > sizes->count - next || (absent && rank > 0) ||
        (!absent && dtype == LAZE_DTYPE_NONE))
      return laze_fail(inference->error, LAZE_INVALID_ARGUMENT,
                       "opaque: result %d is '%.16s' of rank %lld, expected none of rank 0, or %s and a size for each "
                       "dim",
                       (int)i, name, (long long)rank, laze_dtype_list(LAZE_DTYPE_ALL, LAZE_NAME_SHORT, ", ").text);
    results[i] = (laze_type){.kind = absent ? LAZE_TYPE_NONE : LAZE_TYPE_TENSOR, .dtype = (uint8_t)dtype};
    if (!absent)
      LAZE_TRY(
          laze_shape_sizes(inference, (laze_size_list){sizes->value.items + next, (int32_t)rank, true}, &results[i]));
    next += rank;
  }
  if (next == sizes->count) return LAZE_OK;
  return laze_fail(inference->error, LAZE_INVALID_ARGUMENT, "opaque: got %d sizes, and ranks say %lld",
                   (int)sizes->count, (long long)next);
}
