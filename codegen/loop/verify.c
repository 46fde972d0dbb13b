/* One walk over the instructions with a stack of open loops. For each value it keeps the loop it stands in, whether it
 * may differ between the lanes of an open LANES loop (`varying`), and whether it is computed from such a loop's
 * induction variable by index arithmetic (`lane_index`). */
#include "codegen/loop/loop.h"

#include "codegen/order.h"

#include <inttypes.h>
#include <string.h>

#define MAX_DEPTH 16
#define MAX_ELEMENT_OPERANDS 4

typedef struct {
  int32_t scope; /* the loop (index of BEGIN) it stands in, -1: none */
  bool varying, lane_index;
  bool closed;     /* BEGIN: ended; ACCUMULATOR: its result was taken */
  int32_t partner; /* ACCUMULATOR: the loop that updates it; BEGIN: an accumulator that it updates; 0: none yet */
} value_state;

typedef struct {
  const laze_loop_kernel *kernel;
  value_state *values;
  int32_t open[MAX_DEPTH];
  int depth;
  bool ranged; /* the RANGE loop was seen */
  int32_t index;
  laze_error *error;
} verifier;

typedef laze_status (*verify_function)(verifier *v, const laze_loop_instruction *i);

static laze_status fault(verifier *v, const char *what) {
  return laze_fail(v->error, LAZE_INTERNAL, "loop IR: instruction %%%d: %s; print the kernel and mend its builder",
                   v->index, what);
}

static const laze_loop_instruction *instruction_of(const verifier *v, int32_t index) {
  return &v->kernel->instructions[index];
}

static int32_t operand(const verifier *v, const laze_loop_instruction *i, int32_t k) {
  return v->kernel->operands[i->first + k];
}

static laze_dtype operand_dtype(const verifier *v, const laze_loop_instruction *i, int32_t k) {
  return (laze_dtype)instruction_of(v, operand(v, i, k))->dtype;
}

static int32_t innermost(const verifier *v) {
  return v->depth ? v->open[v->depth - 1] : -1;
}

static bool is_lanes(const verifier *v, int32_t begin) {
  return instruction_of(v, begin)->flags & LAZE_LOOP_LANES;
}

/* The open LANES loop, -1 if none. */
static int32_t lanes_loop(const verifier *v) {
  for (int k = 0; k < v->depth; k++)
    if (is_lanes(v, v->open[k])) return v->open[k];
  return -1;
}

static bool makes_value(uint8_t code) {
  return code != LAZE_LOOP_END && code != LAZE_LOOP_STORE && code != LAZE_LOOP_UPDATE &&
         code != LAZE_LOOP_ACCUMULATOR && code != LAZE_LOOP_MATRIX && code != LAZE_LOOP_VARIABLE &&
         code != LAZE_LOOP_SET;
}

/* What an instruction's first operand is where it is no value. */
static uint8_t state_code(uint8_t code) {
  if (code == LAZE_LOOP_UPDATE || code == LAZE_LOOP_RESULT) return LAZE_LOOP_ACCUMULATOR;
  return code == LAZE_LOOP_GET || code == LAZE_LOOP_SET ? LAZE_LOOP_VARIABLE : 0;
}

static bool in_scope(const verifier *v, int32_t value) {
  int32_t scope = v->values[value].scope;
  return scope < 0 || !v->values[scope].closed;
}

static laze_status check_operands(verifier *v, const laze_loop_instruction *i) {
  if (i->first < 0 || i->count < 0 || i->first > v->kernel->operand_count - i->count)
    return fault(v, "its operands lie outside the kernel's list");
  for (int32_t k = 0; k < i->count; k++) {
    int32_t value = operand(v, i, k);
    if (value < 0 || value >= v->index) return fault(v, "an operand stands after its use or nowhere");
    if (!in_scope(v, value)) return fault(v, "an operand belongs to a loop that has ended");
    uint8_t wanted = k == 0 ? state_code(i->code) : 0, code = instruction_of(v, value)->code;
    if (wanted ? code != wanted : !makes_value(code))
      return fault(v, !wanted                           ? "an operand is not a value"
                      : wanted == LAZE_LOOP_ACCUMULATOR ? "its first operand is not an accumulator"
                                                        : "its first operand is not a variable");
  }
  return LAZE_OK;
}

static laze_status want_dtype(verifier *v, const laze_loop_instruction *i, int32_t k, laze_dtype dtype) {
  if (operand_dtype(v, i, k) == dtype) return LAZE_OK;
  return laze_fail(v->error, LAZE_INTERNAL, "loop IR: instruction %%%d: operand %d is %s, expected %s", v->index, k,
                   laze_dtype_name(operand_dtype(v, i, k)), laze_dtype_name(dtype));
}

static laze_status want_result(verifier *v, const laze_loop_instruction *i, laze_dtype dtype) {
  if (i->dtype == dtype) return LAZE_OK;
  return laze_fail(v->error, LAZE_INTERNAL, "loop IR: instruction %%%d: its dtype is %s, expected %s", v->index,
                   laze_dtype_name(i->dtype), laze_dtype_name(dtype));
}

static laze_status want_count(verifier *v, const laze_loop_instruction *i, int32_t low, int32_t high) {
  if (i->count >= low && i->count <= high) return LAZE_OK;
  return laze_fail(v->error, LAZE_INTERNAL, "loop IR: instruction %%%d: %d operands, expected %d to %d", v->index,
                   i->count, low, high);
}

static laze_status want_indices(verifier *v, const laze_loop_instruction *i, int32_t from, int32_t to) {
  for (int32_t k = from; k < to; k++) LAZE_TRY(want_dtype(v, i, k, LAZE_I64));
  return LAZE_OK;
}

static laze_status want_buffer(verifier *v, int64_t buffer, laze_dtype dtype, bool written) {
  if (buffer < 0 || buffer >= v->kernel->buffer_count) return fault(v, "its buffer does not exist");
  if (v->kernel->buffers[buffer].dtype != dtype) return fault(v, "its buffer has another dtype");
  if (written && !v->kernel->buffers[buffer].written) return fault(v, "it writes a buffer that is only read");
  return LAZE_OK;
}

static laze_status verify_begin(verifier *v, const laze_loop_instruction *i) {
  LAZE_TRY(want_count(v, i, 1, 1));
  LAZE_TRY(want_dtype(v, i, 0, LAZE_I64));
  LAZE_TRY(want_result(v, i, LAZE_I64));
  bool range = i->flags & LAZE_LOOP_RANGE, lanes = i->flags & LAZE_LOOP_LANES;
  if (i->flags & ~(LAZE_LOOP_RANGE | LAZE_LOOP_LANES)) return fault(v, "a loop has an unknown flag");
  if (v->depth == MAX_DEPTH) return fault(v, "loops nest deeper than 16");
  if (range != (v->depth == 0)) return fault(v, "the outermost loop, and no other, is the RANGE loop");
  if (range && v->ranged) return fault(v, "there is more than one outermost loop");
  if (lanes && lanes_loop(v) >= 0) return fault(v, "a LANES loop stands inside a LANES loop");
  if (v->values[operand(v, i, 0)].varying) return fault(v, "the extent differs between lanes");
  v->ranged |= range;
  v->values[v->index].scope = v->index; /* the induction variable lives inside the loop */
  v->values[v->index].varying = v->values[v->index].lane_index = lanes;
  v->open[v->depth++] = v->index;
  return LAZE_OK;
}

static laze_status verify_end(verifier *v, const laze_loop_instruction *i) {
  LAZE_TRY(want_count(v, i, 0, 0));
  if (v->depth == 0) return fault(v, "no loop is open");
  v->values[v->open[--v->depth]].closed = true;
  return LAZE_OK;
}

static laze_status verify_index_constant(verifier *v, const laze_loop_instruction *i) {
  LAZE_TRY(want_count(v, i, 0, 0));
  return want_result(v, i, LAZE_I64);
}

static laze_status verify_size(verifier *v, const laze_loop_instruction *i) {
  LAZE_TRY(verify_index_constant(v, i));
  return i->imm >= 0 && i->imm < v->kernel->size_count ? LAZE_OK : fault(v, "its size does not exist");
}

static laze_status verify_index(verifier *v, const laze_loop_instruction *i) {
  LAZE_TRY(want_count(v, i, 2, 2));
  LAZE_TRY(want_indices(v, i, 0, 2));
  LAZE_TRY(want_result(v, i, i->code == LAZE_LOOP_INDEX_LESS ? LAZE_BOOL : LAZE_I64));
  bool lanes = v->values[operand(v, i, 0)].lane_index || v->values[operand(v, i, 1)].lane_index;
  if (lanes && (i->code == LAZE_LOOP_INDEX_FLOOR_DIV || i->code == LAZE_LOOP_INDEX_MOD))
    return fault(v, "it divides by or into a LANES loop's induction variable; use nested loops");
  v->values[v->index].lane_index = lanes;
  return LAZE_OK;
}

static laze_status verify_and(verifier *v, const laze_loop_instruction *i) {
  LAZE_TRY(want_count(v, i, 2, 2));
  LAZE_TRY(want_dtype(v, i, 0, LAZE_BOOL));
  LAZE_TRY(want_dtype(v, i, 1, LAZE_BOOL));
  return want_result(v, i, LAZE_BOOL);
}

static laze_status verify_constant(verifier *v, const laze_loop_instruction *i) {
  LAZE_TRY(want_count(v, i, 0, 0));
  int64_t size = laze_dtype_size(i->dtype);
  if (size == 0) return fault(v, "a constant without a dtype");
  if (laze_dtype_is_complex(i->dtype)) return fault(v, "a complex constant, which is a pair of two");
  if (size < 8 && (uint64_t)i->imm >> 8 * size) return fault(v, "a constant has bits beyond its dtype");
  if (i->dtype == LAZE_BOOL && i->imm > 1) return fault(v, "a bool that is neither 0 nor 1");
  return LAZE_OK;
}

static laze_status verify_load(verifier *v, const laze_loop_instruction *i) {
  LAZE_TRY(want_count(v, i, 1, 2));
  LAZE_TRY(want_dtype(v, i, 0, LAZE_I64));
  if (i->count > 1) LAZE_TRY(want_dtype(v, i, 1, LAZE_BOOL));
  return want_buffer(v, i->imm, i->dtype, false);
}

static laze_status verify_store(verifier *v, const laze_loop_instruction *i) {
  LAZE_TRY(want_count(v, i, 2, 3));
  LAZE_TRY(want_dtype(v, i, 0, LAZE_I64));
  LAZE_TRY(want_dtype(v, i, 1, i->dtype));
  if (i->count > 2) LAZE_TRY(want_dtype(v, i, 2, LAZE_BOOL));
  if (v->depth == 0) return fault(v, "a store outside the RANGE loop would run once a thread");
  return want_buffer(v, i->imm, i->dtype, true);
}

/* Whether the operator is elementwise, and the dtypes are those of its rule. */
static laze_status verify_operator(verifier *v, const laze_loop_instruction *i, const laze_op_info *info) {
  bool logical = info->compute == LAZE_COMPUTE_LOGICAL, compare = info->compute == LAZE_COMPUTE_COMPARE;
  if (info->compute == LAZE_COMPUTE_NONE || info->compute == LAZE_COMPUTE_CONVERT)
    return laze_fail(v->error, LAZE_INTERNAL, "loop IR: instruction %%%d: '%s' is not an elementwise operator",
                     v->index, info->name);
  if (logical && i->compute != LAZE_BOOL) return fault(v, "a logical operator computes in bool");
  if (laze_dtype_is_half(i->compute) && info->compute != LAZE_COMPUTE_SELECT)
    return fault(v, "a float of 16 bits computes in f32");
  if (laze_dtype_is_complex(i->compute) && info->complex_form != LAZE_COMPLEX_MOVED)
    return fault(v, "a complex number is moved or taken apart, and its parts compute");
  if (logical || compare) return want_result(v, i, LAZE_BOOL);
  if (info->compute == LAZE_COMPUTE_PART) return want_result(v, i, laze_dtype_part(i->compute));
  if (info->compute == LAZE_COMPUTE_PAIR) return want_result(v, i, laze_dtype_paired(i->compute));
  return info->compute == LAZE_COMPUTE_BITS ? LAZE_OK : want_result(v, i, i->compute);
}

/* Operands that every call has: an optional one (the alpha of add) was expanded away if it was given. */
static int32_t required_operands(const laze_op_info *info) {
  int32_t count = 0;
  for (int32_t i = 0; i < info->argument_count; i++)
    count += laze_argument_is_operand(info->arguments[i].kind) && !info->arguments[i].optional;
  return count;
}

static laze_status verify_element(verifier *v, const laze_loop_instruction *i) {
  if (i->op == LAZE_OP_NONE || i->op >= laze_op_count) return fault(v, "its operator does not exist");
  if (laze_dtype_size(i->dtype) == 0 || laze_dtype_size(i->compute) == 0) return fault(v, "a dtype does not exist");
  const laze_op_info *info = laze_op_get(i->op);
  LAZE_TRY(want_count(v, i, 0, MAX_ELEMENT_OPERANDS));
  if (i->count != required_operands(info))
    return laze_fail(v->error, LAZE_INTERNAL, "loop IR: instruction %%%d: %d operands, but '%s' has %d", v->index,
                     i->count, info->name, required_operands(info));
  LAZE_TRY(verify_operator(v, i, info));
  for (int32_t k = 0; k < i->count; k++) {
    bool condition = info->compute == LAZE_COMPUTE_SELECT && k == 0;
    LAZE_TRY(want_dtype(v, i, k, condition ? LAZE_BOOL : i->compute));
  }
  return LAZE_OK;
}

static laze_status verify_convert(verifier *v, const laze_loop_instruction *i) {
  LAZE_TRY(want_count(v, i, 1, 1));
  return laze_dtype_size(i->dtype) ? LAZE_OK : fault(v, "a conversion to no dtype");
}

static laze_status verify_bitcast(verifier *v, const laze_loop_instruction *i) {
  LAZE_TRY(want_count(v, i, 1, 1));
  const laze_dtype_info *from = laze_dtype_get(laze_loop_dtype(v->kernel, v->kernel->operands[i->first]));
  return from->bits > 0 && from->bits == laze_dtype_get(i->dtype)->bits ? LAZE_OK
                                                                        : fault(v, "a bitcast to another width");
}

static laze_status verify_check(verifier *v, const laze_loop_instruction *i) {
  int32_t count = i->code == LAZE_LOOP_CHECK ? 3 : 4;
  LAZE_TRY(want_count(v, i, count, count));
  LAZE_TRY(want_indices(v, i, 0, count));
  LAZE_TRY(want_result(v, i, LAZE_I64));
  if (i->imm < 0 || i->imm >= v->kernel->check_count) return fault(v, "its check number does not exist");
  return v->depth ? LAZE_OK : fault(v, "a check outside the RANGE loop");
}

static laze_status verify_accumulator(verifier *v, const laze_loop_instruction *i) {
  LAZE_TRY(want_count(v, i, 0, 0));
  if (i->op == LAZE_OP_NONE || i->op >= laze_op_count) return fault(v, "its operator does not exist");
  if (laze_dtype_size(i->dtype) == 0) return fault(v, "an accumulator without a dtype");
  if (i->order > LAZE_ORDER_SEQUENCE || i->initial > LAZE_INITIAL_HIGHEST) return fault(v, "its order is unknown");
  if (laze_dtype_is_complex(i->dtype)) return fault(v, "a complex accumulator; each part has its own");
  if (v->depth == 0) return fault(v, "an accumulator outside the RANGE loop would be split between threads");
  if (i->order == LAZE_ORDER_LANES16 && lanes_loop(v) >= 0)
    return fault(v, "a lanes16 accumulator stands inside a LANES loop");
  return LAZE_OK;
}

static laze_status verify_update(verifier *v, const laze_loop_instruction *i) {
  LAZE_TRY(want_count(v, i, 3, 3));
  int32_t accumulator = operand(v, i, 0), loop = operand(v, i, 2);
  const laze_loop_instruction *state = instruction_of(v, accumulator);
  LAZE_TRY(want_dtype(v, i, 1, state->dtype));
  if (v->values[accumulator].closed) return fault(v, "its accumulator's result was already taken");
  if (instruction_of(v, loop)->code != LAZE_LOOP_BEGIN || loop != innermost(v) || loop < accumulator)
    return fault(v, "its last operand is not the induction variable of the innermost loop, after the accumulator");
  bool lanes = state->order == LAZE_ORDER_LANES16;
  if (is_lanes(v, loop) != lanes) return fault(v, "lanes16 updates stand in a LANES loop, others in a serial one");
  int32_t around = lanes_loop(v);
  if (!lanes && around > accumulator) return fault(v, "a LANES loop lies between the accumulator and its update");
  value_state *updated = &v->values[accumulator], *updating = &v->values[loop];
  if (updated->partner && updated->partner != loop) return fault(v, "another loop updates its accumulator as well");
  if (updating->partner && v->values[updating->partner].scope != updated->scope)
    return fault(v, "its loop updates accumulators that stand in different loops");
  updated->partner = loop;
  updating->partner = accumulator;
  return LAZE_OK;
}

static laze_status verify_result(verifier *v, const laze_loop_instruction *i) {
  LAZE_TRY(want_count(v, i, 1, 1));
  int32_t accumulator = operand(v, i, 0);
  bool sequence = instruction_of(v, accumulator)->order == LAZE_ORDER_SEQUENCE;
  LAZE_TRY(want_result(v, i, instruction_of(v, accumulator)->dtype));
  v->values[v->index].varying = lanes_loop(v) >= 0;
  if (sequence && (!v->values[accumulator].partner || v->values[accumulator].partner != innermost(v)))
    return fault(v, "a state of a sequence is taken before its update or outside the loop that makes it");
  if (sequence) return LAZE_OK;
  if (v->values[accumulator].scope != innermost(v)) return fault(v, "it stands in another loop than its accumulator");
  v->values[accumulator].closed = true;
  return LAZE_OK;
}

static laze_status verify_variable(verifier *v, const laze_loop_instruction *i) {
  LAZE_TRY(want_count(v, i, 1, 1));
  LAZE_TRY(want_result(v, i, operand_dtype(v, i, 0)));
  return v->depth ? LAZE_OK : fault(v, "a variable outside the RANGE loop would be split between threads");
}

static laze_status verify_variable_use(verifier *v, int32_t variable) {
  if (lanes_loop(v) > variable) return fault(v, "a LANES loop lies between the variable and its use");
  v->values[v->index].varying = lanes_loop(v) >= 0;
  return LAZE_OK;
}

static laze_status verify_get(verifier *v, const laze_loop_instruction *i) {
  LAZE_TRY(want_count(v, i, 1, 1));
  LAZE_TRY(want_result(v, i, operand_dtype(v, i, 0)));
  return verify_variable_use(v, operand(v, i, 0));
}

static laze_status verify_set(verifier *v, const laze_loop_instruction *i) {
  LAZE_TRY(want_count(v, i, 2, 2));
  LAZE_TRY(want_dtype(v, i, 1, operand_dtype(v, i, 0)));
  return verify_variable_use(v, operand(v, i, 0));
}

static laze_status verify_matrix(verifier *v, const laze_loop_instruction *i) {
  const laze_loop_product product = laze_loop_read_product(i->imm);
  const int32_t digits = product.depth_digits + product.column_digits + product.result_digits;
  const int32_t count = LAZE_LOOP_PRODUCT_FIXED + 2 * digits;
  if (digits > LAZE_LOOP_PRODUCT_DIGITS || i->imm >> 60) return fault(v, "a matrix product of too many digits");
  LAZE_TRY(want_count(v, i, count, count));
  LAZE_TRY(want_indices(v, i, 0, count));
  if (i->dtype == LAZE_BOOL) return fault(v, "a matrix product of bool");
  if (laze_dtype_is_complex(i->dtype)) return fault(v, "a matrix product of complex numbers, which is four of floats");
  if (laze_dtype_is_half(i->dtype)) return fault(v, "a matrix product of floats of 16 bits, which are computed in f32");
  if (v->depth == 0) return fault(v, "a matrix product outside the RANGE loop");
  if (lanes_loop(v) >= 0) return fault(v, "a matrix product inside a LANES loop");
  LAZE_TRY(want_buffer(v, product.a, i->dtype, false));
  LAZE_TRY(want_buffer(v, product.b, i->dtype, false));
  LAZE_TRY(want_buffer(v, product.c, i->dtype, true));
  bool in_place = product.c == product.a || product.c == product.b;
  return in_place ? fault(v, "it writes one of its factors") : LAZE_OK;
}

static const verify_function rules[] = {
    [LAZE_LOOP_BEGIN] = verify_begin,
    [LAZE_LOOP_END] = verify_end,
    [LAZE_LOOP_INDEX_CONSTANT] = verify_index_constant,
    [LAZE_LOOP_INDEX_SIZE] = verify_size,
    [LAZE_LOOP_INDEX_ADD] = verify_index,
    [LAZE_LOOP_INDEX_SUB] = verify_index,
    [LAZE_LOOP_INDEX_MUL] = verify_index,
    [LAZE_LOOP_INDEX_FLOOR_DIV] = verify_index,
    [LAZE_LOOP_INDEX_MOD] = verify_index,
    [LAZE_LOOP_INDEX_MIN] = verify_index,
    [LAZE_LOOP_INDEX_MAX] = verify_index,
    [LAZE_LOOP_INDEX_LESS] = verify_index,
    [LAZE_LOOP_AND] = verify_and,
    [LAZE_LOOP_CONSTANT] = verify_constant,
    [LAZE_LOOP_LOAD] = verify_load,
    [LAZE_LOOP_STORE] = verify_store,
    [LAZE_LOOP_ELEMENT] = verify_element,
    [LAZE_LOOP_CONVERT] = verify_convert,
    [LAZE_LOOP_BITCAST] = verify_bitcast,
    [LAZE_LOOP_CHECK] = verify_check,
    [LAZE_LOOP_CHECK_SLICE] = verify_check,
    [LAZE_LOOP_ACCUMULATOR] = verify_accumulator,
    [LAZE_LOOP_UPDATE] = verify_update,
    [LAZE_LOOP_RESULT] = verify_result,
    [LAZE_LOOP_VARIABLE] = verify_variable,
    [LAZE_LOOP_GET] = verify_get,
    [LAZE_LOOP_SET] = verify_set,
    [LAZE_LOOP_MATRIX] = verify_matrix,
};

static laze_status verify_instruction(verifier *v) {
  const laze_loop_instruction *i = instruction_of(v, v->index);
  if (i->code > LAZE_LOOP_MATRIX) return fault(v, "its code does not exist");
  LAZE_TRY(check_operands(v, i));
  value_state *state = &v->values[v->index];
  state->scope = innermost(v);
  for (int32_t k = 0; k < i->count; k++) state->varying |= v->values[operand(v, i, k)].varying;
  return rules[i->code](v, i);
}

static laze_status verify_all(verifier *v) {
  for (v->index = 0; v->index < v->kernel->instruction_count; v->index++) LAZE_TRY(verify_instruction(v));
  v->index--;
  if (v->depth) return fault(v, "a loop is still open at the end");
  return v->ranged ? LAZE_OK : fault(v, "the kernel has no RANGE loop");
}

laze_status laze_loop_verify(const laze_loop_kernel *kernel, laze_error *error) {
  LAZE_TRY(laze_loop_finish(kernel, error));
  laze_context *context = kernel->arena->context;
  verifier v = {.kernel = kernel, .error = error};
  int64_t size = (int64_t)kernel->instruction_count * (int64_t)sizeof *v.values;
  v.values = laze_alloc_zero(context, size);
  if (!v.values) return laze_fail_memory(error, "verifying a kernel", size);
  laze_status status = verify_all(&v);
  laze_free(context, v.values);
  return status;
}
