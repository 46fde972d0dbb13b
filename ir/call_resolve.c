/* Shows the operator table to base/overload.h as candidates with parameters, and makes the message of a refusal; the
 * dtype of numbers that stand for tensors. */
#include "ir/call_resolve.h"

#include <stdio.h>

enum { REASON_SIZE = 200 };

/* The operators that a name may mean: looked up once for each call. */
typedef struct {
  const laze_op *ops;
  int32_t count;
  laze_op exact; /* what `ops` points to where the name is a full one */
} meanings;

static void find_meanings(const char *name, meanings *out) {
  out->ops = laze_op_overloads(name, &out->count);
  if (out->count > 0) return;
  out->exact = laze_op_find(name);
  out->ops = &out->exact;
  out->count = out->exact != LAZE_OP_NONE;
}

static bool candidate_of(const void *self, const char *name, int32_t index, laze_candidate *out) {
  const meanings *found = self;
  (void)name;
  if (index >= found->count) return false;
  const laze_op_info *info = laze_op_get(found->ops[index]);
  *out = (laze_candidate){info, info->name, info->schema, info->argument_count};
  return true;
}

static void parameter_of(const void *op, int32_t index, laze_parameter *out) {
  const laze_argument_info *argument = &((const laze_op_info *)op)->arguments[index];
  bool apart = argument->kind == LAZE_ARGUMENT_DATA; /* elements stand in the text in a way of their own */
  *out = (laze_parameter){.name = argument->name,
                          .kind = argument->kind,
                          .may_be_absent = argument->optional,
                          .may_be_left_out = argument->optional || argument->has_default || apart,
                          .keyword_only = argument->keyword_only,
                          .list_size = argument->list_size};
}

static laze_status refuse(const laze_overloads *overloads, const laze_overload_call *call, laze_error *error) {
  laze_candidate candidate;
  char reason[REASON_SIZE], list[800] = "";
  size_t length = 0;
  int32_t count = 0;
  for (; candidate_of(overloads->self, call->name, count, &candidate) && length < sizeof list; count++)
    length += (size_t)snprintf(list + length, sizeof list - length, "\n  %s: %s", candidate.schema,
                               laze_overload_reason(overloads, call, &candidate, reason, sizeof reason));
  if (count == 0)
    return laze_fail(error, LAZE_NOT_FOUND, "there is no operator '%.64s'; docs list them by name", call->name);
  if (count == 1)
    return laze_fail(error, LAZE_INVALID_ARGUMENT, "%s: %s; the schema is %s", candidate.name, reason,
                     candidate.schema);
  return laze_fail(error, LAZE_INVALID_ARGUMENT, "%.64s: no overload takes these arguments:%s", call->name, list);
}

static laze_status choose(const meanings *among, const laze_overload_call *call, laze_op *op, laze_error *error) {
  laze_candidate chosen;
  const laze_overloads overloads = {.self = among, .candidate = candidate_of, .parameter = parameter_of};
  *op = LAZE_OP_NONE;
  if (!laze_overload_choose(&overloads, call, &chosen))
    return error ? refuse(&overloads, call, error) : LAZE_INVALID_ARGUMENT;
  *op = (laze_op)((const laze_op_info *)chosen.op - laze_op_infos);
  return LAZE_OK;
}

laze_status laze_call_resolve(const laze_overload_call *call, laze_op *op, laze_error *error) {
  meanings found;
  find_meanings(call->name, &found);
  return choose(&found, call, op, error);
}

laze_status laze_call_fit(const laze_overload_call *call, laze_op op, laze_error *error) {
  const meanings one = {.ops = &op, .count = 1};
  laze_op chosen;
  return choose(&one, call, &chosen, error);
}

laze_dtype laze_call_number_dtype(laze_dtype number, const laze_promotion *tensors) {
  laze_dtype promoted = laze_promotion_result(tensors);
  if (laze_dtype_category(promoted) == laze_dtype_category(number)) return promoted;
  if (laze_dtype_is_complex(number)) return laze_dtype_paired(promoted);
  if (number == LAZE_F64 && laze_dtype_is_complex(promoted)) return laze_dtype_part(promoted);
  return number == LAZE_F64 ? LAZE_F32 : number;
}
