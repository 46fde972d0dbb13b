/* Follows an element through the calls behind it. A call that makes it of two others waits on a stack:
 *
 *   mul %0, %1     waits for %0's element, then, with that in hand, for %1's
 */
#include "ir/known_size.h"

#include "ir/attribute.h"
#include "ir/op.gen.h"

enum { MOST_CALLS = 64, MOST_WAITING = 16 };

/* A pair, of which the first element is looked for, or, once `has_first`, the second. */
typedef struct {
  laze_content content;
  laze_size first;
  bool has_first;
} waiting_pair;

typedef struct {
  laze_recorder *recorder;
  waiting_pair pairs[MOST_WAITING];
  int count;
} search;

static const laze_data *find_data(const laze_call *call) {
  for (int32_t i = 0; i < laze_op_get(call->op)->attribute_count; i++)
    if (call->attributes[i].kind == LAZE_ARGUMENT_DATA) return &call->attributes[i].value.data;
  return NULL;
}

/* What one element is. */
static bool look(laze_recorder *recorder, laze_value value, int64_t index, laze_content *out) {
  laze_call call;
  const laze_type type = *laze_recorder_type(recorder, value);
  if (value.result != 0 || !recorder->call_of || !recorder->call_of(recorder, value, &call)) return false;
  const laze_op_info *info = laze_op_get(call.op);
  const laze_data *data = find_data(&call);
  *out = (laze_content){.is_size = true};
  if (data && laze_dtype_is_index(type.dtype) && index < data->size / laze_dtype_size(type.dtype)) {
    out->size = laze_size_from_number(laze_scalar_load(type.dtype, data->bytes, index).value.integer);
    return true;
  }
  if (call.op == LAZE_OP_SIZE_FROM) out->size = call.attributes[LAZE_SIZE_FROM_SIZE].value.size;
  return call.op == LAZE_OP_SIZE_FROM || (info->contents && info->contents(recorder, &call, &type, index, out));
}

/* The size that a pair's elements make; false where it is none. */
static bool join(const search *s, const laze_content *content, laze_size a, laze_size b, laze_size *out) {
  laze_size_table *sizes = s->recorder->sizes;
  bool constant = laze_size_is_constant(a) && laze_size_is_constant(b);
  if (!sizes && !constant) return false;
  return laze_size_binary(sizes, LAZE_SIZE_MUL, b, content->scale, &b, NULL) == LAZE_OK &&
         laze_size_binary(sizes, content->kind, a, b, out, NULL) == LAZE_OK;
}

/* An element was found: goes to who waits for it. *next is the element to look for then; false: all is known. */
static bool deliver(search *s, laze_size *size, laze_content *next, bool *known) {
  while (s->count > 0) {
    waiting_pair *top = &s->pairs[s->count - 1];
    if (!top->has_first) {
      top->has_first = true;
      top->first = *size;
      *next = (laze_content){.values = {top->content.values[1]}, .indices = {top->content.indices[1]}};
      return true;
    }
    *known = join(s, &top->content, top->first, *size, size);
    if (!*known) return false;
    s->count--;
  }
  return false;
}

laze_status laze_find_known_size(laze_recorder *recorder, laze_value value, int64_t index, laze_size *out, bool *known,
                                 laze_error *error) {
  search s = {.recorder = recorder};
  laze_content wanted = {.values = {value}, .indices = {index}}, found;
  (void)error;
  *known = false;
  for (int calls = 0; calls < MOST_CALLS; calls++) {
    if (!look(recorder, wanted.values[0], wanted.indices[0], &found)) return LAZE_OK;
    if (found.is_pair) {
      if (s.count == MOST_WAITING) return LAZE_OK;
      s.pairs[s.count++] = (waiting_pair){.content = found};
    }
    wanted = found;
    if (!found.is_size) continue;
    *out = found.size;
    *known = true;
    if (!deliver(&s, out, &wanted, known)) return LAZE_OK;
    *known = false;
  }
  return LAZE_OK;
}
